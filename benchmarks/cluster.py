"""A cluster of processes on this machine, beside the engine of one process.

    benchmarks/cluster.py --corpus FOLDER --home FOLDER [--part rare|rows|many|endpoints|sizes|build]... [--rounds N]
        [--workers N] [--pin]

FOLDER of the corpus holds git repositories, bare or not; that of `home` keeps shards, and a cache of them, between
runs.
With ``--pin`` each worker may use one core only, core 0 the first. Parts, in one run each, all of them without
``--part``:

- ``rare``: a query with few matches over ``--workers`` (four), the same in this process, and an empty fan-out to the
  same workers (their shortest answer), in turns;
- ``rows``: a query with very many matches to record batches, over the workers and in this process, in turns;
- ``many``: time and memory to open and search a cell with many repositories, and answers while a worker is killed;
- ``endpoints``: what a search costs the client and the scheduler over 4, 25, 100 and 400 workers. They are simulated:
  Dask's workers in four processes, which answer each search at once with nothing found;
- ``sizes``: memory, start and searches per second of workers, and bytes of shards;
- ``build``: all shards built by three workers, and again while the one with most work in hand is killed.

Gates are ratios within one run. CPU time of other processes is counted in ticks of 10 ms, so over many searches, and
without what they use at rest.
It exits with 1 if a gate is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import cluster_many
import cluster_processes
from cluster_processes import Cell, memory_mb, wait_until
from corpus import cpu_s, machine, markdown, timed

from sourcelight.backends.cluster.build.generations import BuildProgress, BuildReport, build_generation
from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.backends.cluster.engine import ClusterEngine
from sourcelight.backends.cluster.messages import HELLO
from sourcelight.backends.cluster.storage.generation import Generation, StoredShard, read_current, write_generation
from sourcelight.backends.cluster.storage.objects import ShardId, ShardStorage
from sourcelight.backends.cluster.worker.engines import EngineCache
from sourcelight.backends.cluster.worker.shard_cache import ShardCache
from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import WorkersUnreachable
from sourcelight.core.wire.events import Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Engine, LocalEngine
from sourcelight.repos import Catalog, Viewer

WORKERS = ("a", "b", "c", "d", "e", "f", "g", "h")
RARE = ("ThreadPoolExecutorFactoryBean count:all", "segmentation fault count:all", "ThreadPoolExecutor count:all")
MANY = "to count:all type:file"
MAX_LIMITED = 6
ENDPOINTS = (4, 25, 100, 400)
PER_ENDPOINT = 5
RARE_TIMES, FIRST_MS, ROWS_TIMES, BUILD_TIMES = 1.2, 30.0, 1.3, 1.5
IN_FLIGHT, SECONDS = 16, 8.0
EVERYTHING = Viewer("", sees_private=True)


class Bench:
    """What was measured, and whether a gate was missed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.rounds = options.rounds
        self.home = Path(options.home)
        self.folder = options.corpus
        self.storage = str(self.home / "shards")
        self.workers = WORKERS[: options.workers]
        self.pin = options.pin
        self.missed = False

    def gate(self, *, is_met: bool) -> str:
        """How a cell ends."""
        self.missed = self.missed or not is_met
        return "" if is_met else " **missed**"


class Limited(Exception):
    """Raised for an answer that says that something is missing: it is measured once more."""


def run_whole(engine: Engine, query: str) -> tuple[int, float]:
    """As `answered`; an answer that says that something is missing is printed, and asked for again."""
    for _ in range(MAX_LIMITED):
        try:
            return answered(engine, query)
        except Limited as limited:
            print(f"limited: {str(limited)[:500]}", file=sys.stderr, flush=True)
    sys.exit(f"{query}: limited again and again")


def answered(engine: Engine, query: str) -> tuple[int, float]:
    """Search to the end; rows, and seconds until the first ones."""
    began = time.perf_counter()
    first = 0.0
    rows = 0
    last: Any = None
    messages: list[str] = []
    for event in engine.stream(SearchRequest(query), EVERYTHING, Cancellation()):
        last = event
        if isinstance(event, Progress):
            messages = [f"{item.title}: {item.message}" for item in event.skipped if item.severity != "info"]
        if isinstance(event, MatchBatch):
            first = first or time.perf_counter() - began
            rows += event.batch.num_rows
    if type(last).__name__ != "Done":
        sys.exit(f"{query}: the search did not end")
    if messages:
        raise Limited(query, rows, messages)
    return rows, first


def fan_out(fleet: ClusterConnection) -> None:
    """Ask every worker for its shortest answer, at once, and wait for all."""
    import asyncio

    async def ask(address: str) -> None:
        with suppress(WorkersUnreachable):  # a busy machine takes no connection in time; the next turn asks again
            async for _ in fleet.members.connections.ask(address, HELLO):
                pass

    async def every() -> None:
        await asyncio.gather(*(ask(member.address) for member in fleet.members.live))

    fleet.run(every())


def shards(bench: Bench) -> Generation:
    """The generation of the corpus; built here if there is none."""
    result = read_current(ShardStorage(bench.storage))
    if result is None:
        report = build_generation(Catalog.open([bench.folder]), ShardStorage(bench.storage), workers=2)
        if report.failures:
            sys.exit(f"not built: {dict(report.failures)}")
        result = report.generation
    return result


@contextmanager
def one_process(bench: Bench) -> Iterator[LocalEngine]:
    """The engine of this process over the same shards, all of them on its disk."""
    generation = shards(bench)
    storage = ShardStorage(bench.storage)
    cache = ShardCache(storage, bench.home / "cache")
    try:
        names = [entry.name for entry in generation.searchable]
        with EngineCache(storage, cache).over(generation.id, names, Cancellation()) as (engine, failed):
            if failed:
                sys.exit(f"not opened: {failed}")
            for query in (*RARE, MANY):
                answered(engine, query)
            yield engine
    finally:
        cache.close()


@contextmanager
def clustered(bench: Bench) -> Iterator[tuple[Cell, ClusterEngine]]:
    """Workers that hold the corpus, each shard opened once."""
    with cluster_processes.cell(bench.storage, pin=bench.pin) as cell:
        cell.start(*bench.workers)
        engine = ClusterEngine(ClusterConnection([cell.address], bench.storage))
        try:
            wait_until(lambda: len(engine.cluster.workers) == len(bench.workers), "workers join")
            engine.fleet.holders()
            for query in (*RARE, MANY):
                run_whole(engine, query)
            yield cell, engine
        finally:
            engine.close()


def cpu_of(work: Callable[[], Any], times: int, cell: Cell) -> tuple[float, float, float]:
    """CPU milliseconds of one turn of `work`: of this process, of the scheduler, of the workers.

    What Dask's processes use at rest is taken off: heartbeats and watching themselves, however long a turn takes.
    """
    rest_s = 2.0
    before = cell.cpu_s()
    time.sleep(rest_s)
    began, start = time.monotonic(), cell.cpu_s()
    remaining = [(now - then) / rest_s for now, then in zip(start, before, strict=True)]
    used_s = cpu_s()
    for _ in range(times):
        work()
    used_s = cpu_s() - used_s
    wall = time.monotonic() - began
    usage = [now - then - idle * wall for now, then, idle in zip(cell.cpu_s(), start, remaining, strict=True)]
    scheduler, workers = (max(value, 0.0) / times * 1e3 for value in usage)
    return used_s / times * 1e3, scheduler, workers


def rare(bench: Bench) -> None:
    """A query with few matches."""
    rows = []
    with one_process(bench) as single, clustered(bench) as (cell, engine):
        for query in RARE:
            times: dict[str, list[float]] = {"one": [], "empty": [], "cluster": []}
            results = {answered(item, query)[0] for item in (single, engine)}
            if len(results) != 1:
                sys.exit(f"{query}: {results} rows")
            for _ in range(bench.rounds):
                times["one"].append(timed(lambda query=query: answered(single, query))[1])  # type: ignore[misc]
                times["empty"].append(timed(lambda: fan_out(engine.fleet))[1])
                times["cluster"].append(timed(lambda query=query: answered(engine, query))[1])  # type: ignore[misc]
            item, empty, ours = (statistics.median(times[name]) * 1e3 for name in times)
            best = [min(times[name]) * 1e3 for name in times]
            allowed = item + 2 * empty
            service_ms, _, _ = cpu_of(lambda query=query: answered(single, query), bench.rounds, cell)  # type: ignore[misc]
            cpu = cpu_of(lambda query=query: answered(engine, query), bench.rounds, cell)  # type: ignore[misc]
            nothing = cpu_of(lambda: fan_out(engine.fleet), bench.rounds, cell)
            rows.append(
                [f"`{query.removesuffix(' count:all')}`", f"{results.pop():,}"]
                + [f"{value:.1f} ({start:.1f})" for value, start in zip((item, empty, ours), best, strict=True)]
                + [
                    f"{ours / allowed:.2f}{bench.gate(is_met=ours <= RARE_TIMES * allowed)}",
                    f"{best[2] / (best[0] + 2 * best[1]):.2f}",
                ]
                + [f"{service_ms:.1f}", f"{nothing[0]:.1f} + {nothing[2]:.1f}", f"{cpu[0]:.1f} + {cpu[2]:.1f}"]
            )
    head = ["query", "rows", "one process ms", "empty fan-out ms", "cluster ms"]
    head += ["÷ (one + 2 x empty)", "of the quickest", "CPU ms: one", "empty", "cluster"]
    print(markdown(head, rows))


def million_rows(bench: Bench) -> None:
    """A query with very many matches."""
    rows = []
    with one_process(bench) as single, clustered(bench) as (cell, engine):
        results: dict[str, list[tuple[float, float, float, float]]] = {"one process": [], "cluster": []}
        counts = set()
        for _ in range(max(bench.rounds // 8, 3)):
            for name, item in (("one process", single), ("cluster", engine)):
                workers = cell.cpu_s()[1]
                cpu, wall, (count, first) = timed(lambda item=item: run_whole(item, MANY))  # type: ignore[misc]
                results[name].append((wall, first, cpu, cell.cpu_s()[1] - workers))
                counts.add(count)
        if len(counts) != 1:
            sys.exit(f"{MANY}: {counts} rows")
        for name, measured in results.items():
            wall, first, service_ms, workers_ms = (statistics.median(column) for column in zip(*measured, strict=True))
            best, first_best, _, _ = (min(column) for column in zip(*measured, strict=True))
            rows.append(
                [
                    name,
                    f"{counts.copy().pop():,}",
                    f"{first * 1e3:.1f} ({first_best * 1e3:.1f})",
                    f"{wall:.2f} ({best:.2f})",
                    f"{service_ms:.2f}",
                    f"{workers_ms:.2f}",
                ]
            )
        medians = {name: statistics.median(item[0] for item in measured) for name, measured in results.items()}
        ratio = medians["cluster"] / medians["one process"]
        first = statistics.median(item[1] for item in results["cluster"]) * 1e3
    print(markdown(["where", "rows", "first batch ms", "all s", "CPU s, this process", "CPU s, workers"], rows))
    print(
        f"\ncluster ÷ one process: {ratio:.2f} (at most {ROWS_TIMES}){bench.gate(is_met=ratio <= ROWS_TIMES)}", end="; "
    )
    print(f"first batch: {first:.1f} ms (below {FIRST_MS:.0f}){bench.gate(is_met=first < FIRST_MS)}")


def many(bench: Bench) -> None:
    """All repositories of a folder with very many of them, and a worker that is killed."""
    with one_process(bench) as single, cluster_processes.cell(bench.storage, pin=bench.pin) as cell:
        cluster_many.measure(cell, bench.workers, shards(bench), bench.storage, single, bench.rounds)


def endpoints(bench: Bench) -> None:
    """What a search over many workers costs the client and the scheduler."""
    rows = []
    for count in ENDPOINTS:
        with tempfile.TemporaryDirectory() as folder:
            names = [f"example.org/o/r{number}" for number in range(count * PER_ENDPOINT)]
            entries = tuple(
                StoredShard(RepositoryInfo(name), ShardId(f"{index:064x}"), 10**8) for index, name in enumerate(names)
            )
            write_generation(ShardStorage(folder), Generation(entries=entries), "")
            rows.append(_endpoints(bench, folder, count))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ["endpoints", "repositories", "empty fan-out ms p50/p95", "search ms p50/p95", "CPU ms, client: fan-out"]
    head += ["search", "CPU ms, scheduler, for a search", "scheduler at rest, ms in a second", "placed in s", "limited"]
    print(markdown(head, rows))


def _endpoints(bench: Bench, storage: str, count: int) -> list[str]:
    query = "zzqqxxyy_absent OR xq count:1"  # two alternatives: no hint is looked for when nothing is found
    with cluster_processes.cell(storage) as cell:
        cell.simulate(count, min(count, 4))
        engine = ClusterEngine(ClusterConnection([cell.address], storage))
        try:
            wait_until(lambda: len(engine.cluster.workers) == count, "endpoints join")
            _, placed_s, holders = timed(engine.fleet.holders)
            request = len({members[0] for members in holders.values()})
            for _ in range(3):
                run_whole(engine, query)
                fan_out(engine.fleet)
            limited = 0

            def ask() -> None:
                nonlocal limited
                try:
                    answered(engine, query)
                except Limited:  # a process with a hundred endpoints and no core to run on says nothing for seconds
                    limited += 1

            times: list[list[float]] = [[], []]
            for _ in range(bench.rounds):
                times[0].append(timed(lambda: fan_out(engine.fleet))[1] * 1e3)
                times[1].append(timed(ask)[1] * 1e3)
            empty = cpu_of(lambda: fan_out(engine.fleet), bench.rounds, cell)
            search = cpu_of(ask, bench.rounds * 2, cell)
            before, began = cell.cpu_s()[0], time.monotonic()
            time.sleep(5)
            remaining = (cell.cpu_s()[0] - before) / (time.monotonic() - began) * 1e3
        finally:
            engine.close()
    return [
        f"{count} ({request} asked)",
        f"{count * PER_ENDPOINT:,}",
        *(f"{statistics.median(item):.1f}/{statistics.quantiles(item, n=20)[-1]:.1f}" for item in times),
        f"{empty[0]:.1f}",
        f"{search[0]:.1f}",
        f"{search[1]:.2f}",
        f"{remaining:.1f}",
        f"{placed_s:.2f}",
        f"{limited} of {bench.rounds * 3}",
    ]


def sizes(bench: Bench) -> None:
    """Bytes, memory, start, and searches per second."""
    generation = shards(bench)
    text = sum(entry.text_bytes for entry in generation.searchable)
    size = sum(entry.size for entry in generation.searchable)
    rows = [
        ["shards", f"{len(generation.searchable)} of {text / 1e6:.0f} MB of text in {size / 1e6:.0f} MB"],
        ["bytes of a shard ÷ its text", f"{size / text:.2f}"],
    ]
    with cluster_processes.cell(bench.storage) as cell:
        began = time.monotonic()
        cell.start("first")
        engine = ClusterEngine(ClusterConnection([cell.address], bench.storage))
        try:
            wait_until(lambda: engine.cluster.workers, "a worker joins")
            rows.append(["start of a worker until it joined, s", f"{time.monotonic() - began:.1f}"])
            pid = cell.workers["first"].pid
            rows.append(["memory of a worker without shards, MB (of its own)", _memory(pid)])
            rows.append(["memory of the scheduler, MB (of its own)", _memory(cell.scheduler.pid)])
            _, wall, _ = timed(lambda: run_whole(engine, RARE[0]))
            rows.append([f"first search: all {len(generation.searchable)} shards fetched and opened, s", f"{wall:.1f}"])
            rows.append(["memory after it, MB (of its own)", _memory(pid)])
            for query in (*RARE[1:], "type:symbol decode count:all", MANY):
                run_whole(engine, query)
            rows.append(["memory after larger ones, MB (of its own)", _memory(pid)])
        finally:
            engine.close()
    with one_process(bench) as single, clustered(bench) as (cell, engine):
        for query in (RARE[0], "fmt.Errorf count:all"):
            rate, service_ms, workers_ms = _rate(engine, query, cell)
            single_rate, single_ms, _ = _rate(single, query, cell)
            second_rate, _, _ = _rate(engine, query, cell)
            rows += [
                [
                    f"`{query}`, {len(bench.workers)} workers, {IN_FLIGHT} at once: searches a second",
                    (
                        f"{rate:.0f} and {second_rate:.0f} (CPU ms: {service_ms:.1f} of the service, "
                        f"{workers_ms:.1f} of the workers)"
                    ),
                ],
                [
                    "the same in one process, in between: searches a second",
                    f"{single_rate:.0f} ({single_ms:.1f} ms of CPU)",
                ],
            ]
    print(markdown(["what", "figure"], rows))


def _memory(pid: int) -> str:
    total_mb, own_mb = memory_mb(pid)
    return f"{total_mb:.0f} ({own_mb:.0f})"


def _rate(engine: Engine, query: str, cell: Cell) -> tuple[float, float, float]:
    counts = [0] * IN_FLIGHT
    deadline = time.monotonic() + SECONDS

    def run(index: int) -> None:
        while time.monotonic() < deadline:
            run_whole(engine, query)
            counts[index] += 1

    workers, start_cpu_s, began = cell.cpu_s()[1], cpu_s(), time.monotonic()
    threads = [threading.Thread(target=run, args=(index,)) for index in range(IN_FLIGHT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = sum(counts)
    return (
        done / (time.monotonic() - began),
        (cpu_s() - start_cpu_s) / done * 1e3,
        (cell.cpu_s()[1] - workers) / done * 1e3,
    )


def build(bench: Bench) -> None:
    """All shards built on three workers, and with one of them killed."""
    rows, took = [], []
    for killed in (False, True):
        cpu, wall, report, second_s = _built(bench.folder, killed=killed)
        took.append(wall)
        name = "one worker killed when a third was built" if killed else "undisturbed"
        rows.append([name, f"{len(report.built)}", f"{len(report.failures)}", f"{wall:.0f}", f"{cpu:.0f}", second_s])
    print(markdown(["build", "shards", "failed", "wall s", "CPU s of workers that lived", "the same again, s"], rows))
    ratio = took[1] / took[0]
    print(f"\nkilled ÷ undisturbed: {ratio:.2f} (at most {BUILD_TIMES}){bench.gate(is_met=ratio <= BUILD_TIMES)}")


def _built(folder: str, *, killed: bool) -> tuple[float, float, BuildReport, str]:
    catalog = Catalog.open([folder])
    with tempfile.TemporaryDirectory() as storage, cluster_processes.cell(storage) as cell:
        cell.start(*WORKERS[:3])
        from distributed import Client

        with Client(cell.address, set_as_default=False) as client:
            wait_until(lambda: len(client.nthreads()) == 3, "workers join")

        def on_progress(progress: BuildProgress) -> None:
            if killed and len(cell.workers) == 3 and progress.done >= progress.total // 3:
                cell.kill(WORKERS[0])

        options = {"cluster": cell.address, "progress": on_progress}
        _, wall, report = timed(lambda: build_generation(catalog, ShardStorage(storage), **options))  # type: ignore[arg-type]
        cpu = cell.cpu_s()[1]
        _, second_wall, second = timed(lambda: build_generation(catalog, ShardStorage(storage), cluster=cell.address))
        if len(second.current) != len(catalog.repositories):
            sys.exit(f"built again: {second.built}, failed: {dict(second.failures)}")
    return cpu, wall, report, f"{second_wall:.1f}"


PARTS = {"rare": rare, "rows": million_rows, "many": many, "endpoints": endpoints, "sizes": sizes, "build": build}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4, choices=range(2, len(WORKERS) + 1))
    parser.add_argument("--pin", action="store_true", help="one core for each worker")
    selected = parser.parse_args()
    bench = Bench(selected)
    for name in selected.part or PARTS:
        print(f"\n### {name}\n", flush=True)
        PARTS[name](bench)
    print(f"\n{machine()}")
    sys.exit(bench.missed)


if __name__ == "__main__":
    main()
