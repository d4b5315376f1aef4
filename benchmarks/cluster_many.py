"""Very many repositories in one cell of a cluster: open, search, kill a worker in the middle, and recover.

`benchmarks/cluster.py --part many` runs it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cluster_processes import Cell, memory_mb, wait_until
from corpus import cpu_s, markdown, timed

from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.backends.cluster.engine import ClusterEngine
from sourcelight.backends.cluster.messages import HELLO
from sourcelight.backends.cluster.placement import REPLICAS
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Engine
from sourcelight.repos import Viewer

RARE, COMMON = "ThreadPoolExecutor count:all", "import count:all type:file"
_EVERYTHING = Viewer("", sees_private=True)
_NAMED = " did not answer"
"""End of the title of a notice that names a missing repository."""


class Answer(NamedTuple):
    """A search: rows by repository, repositories that a notice names as missing, and seconds."""

    rows: Counter[str]
    missing: frozenset[str]
    first_s: float
    all_s: float


def ask(engine: Engine, query: str, on_rows: Callable[[int], None] = lambda _: None) -> Answer:
    """Search to the end; `on_rows` gets the number of rows so far after each batch."""
    rows: Counter[str] = Counter()
    missing: set[str] = set()
    first_s = 0.0
    began = time.perf_counter()
    for event in engine.stream(SearchRequest(query), _EVERYTHING, Cancellation()):
        if isinstance(event, MatchBatch):
            first_s = first_s or time.perf_counter() - began
            values = event.batch.column("repository").value_counts().to_pylist()
            rows.update({value["values"]: value["counts"] for value in values})
            on_rows(rows.total())
        if isinstance(event, Progress):
            missing |= {item.title.removesuffix(_NAMED) for item in event.skipped if item.title.endswith(_NAMED)}
    return Answer(rows, frozenset(missing), first_s, time.perf_counter() - began)


def measure(
    cell: Cell, names: tuple[str, ...], generation: Generation, storage: str, single: Engine, rounds: int
) -> None:
    """Print the costs of a cell of the workers `names`, beside `single`, the engine of one process."""
    entries = generation.searchable
    text_mb, shard_mb = (sum(getattr(entry, name) for entry in entries) / 1e6 for name in ("text_bytes", "size"))
    print(f"{len(entries):,} repositories, {text_mb:.0f} MB of text, shards of {shard_mb:.0f} MB\n")
    rows = []
    cell.start(*names)
    before_mb = _own_mb("self")
    open_cpu_s, open_s, engine = timed(lambda: ClusterEngine(ClusterConnection([cell.address], storage)))
    try:
        rows.append(["open: read the generation, connect", f"{open_s:.2f}", f"{open_cpu_s:.2f}", ""])
        wait_until(lambda: len(engine.cluster.workers) == len(names), "workers join")
        cpu, wall, _ = timed(engine.fleet.holders)
        rows.append(["place the shards", f"{wall:.2f}", f"{cpu:.2f}", ""])
        for label in ("first search: workers fetch and open their shards", "the same search again"):
            wall, cpu, workers, answer = _costs(engine, cell, RARE)
            rows.append([label, f"{wall:.2f}", f"{cpu:.2f}", f"{workers:.2f}"])
            if answer.missing:
                sys.exit(f"{RARE}: {len(answer.missing)} repositories are missing")
        # Searches compete with the copies that workers fetch in the background, so these come first.
        began, workers_s = time.perf_counter(), cell.cpu_s()[1]
        copies = len({entry.shard for entry in entries}) * REPLICAS
        wait_until(lambda: engine.fleet.run(_count_shards(engine)) >= copies, "workers hold all replicas")
        replica_cpu_s = cell.cpu_s()[1] - workers_s
        label = "until workers hold both replicas of each shard"
        rows.append([label, f"{time.perf_counter() - began:.2f}", "", f"{replica_cpu_s:.2f}"])
        print(markdown(["step", "wall s", "CPU s, this process", "CPU s, workers"], rows))
        _searches(engine, single, cell, rounds)
        _memory(cell, before_mb)
        _killed(engine, cell, names, ask(single, COMMON).rows)
    finally:
        engine.close()


async def _count_shards(engine: ClusterEngine) -> int:
    """Number of shards that all workers have on their disks."""
    members, count = engine.fleet.members, 0
    for member in members.live:
        async for hello in members.connections.ask(member.address, HELLO):
            count += len(hello["shards"])
    return count


def _costs(engine: Engine, cell: Cell, query: str) -> tuple[float, float, float, Answer]:
    """Wall seconds, CPU seconds of this process and of the workers, and the answer."""
    used_s, workers_s = cpu_s(), cell.cpu_s()[1]
    answer = ask(engine, query)
    return answer.all_s, cpu_s() - used_s, cell.cpu_s()[1] - workers_s, answer


def _searches(engine: ClusterEngine, single: Engine, cell: Cell, rounds: int) -> None:
    rows = []
    for query in (RARE, COMMON):
        expected = ask(single, query).rows
        if ask(engine, query).rows != expected:
            sys.exit(f"{query}: the cluster has other rows than one process")
        turns = rounds if query == RARE else max(rounds // 8, 3)
        measured: dict[str, list[tuple[float, float, float, float]]] = {"one process": [], "cluster": []}
        for _ in range(turns):
            for name, item in (("one process", single), ("cluster", engine)):
                wall, cpu, workers, answer = _costs(item, cell, query)
                measured[name].append((answer.first_s, wall, cpu, workers))
        for name, values in measured.items():
            medians = [statistics.median(column) * 1e3 for column in zip(*values, strict=True)]
            cells = [f"{median:.1f}" for median in medians]
            rows.append(
                [f"`{query}`", name, f"{expected.total():,}", *cells[:3], cells[3] if name == "cluster" else ""]
            )
    head = ["query", "where", "rows", "first ms", "all ms", "CPU ms, this process", "CPU ms, workers"]
    print(f"\n{markdown(head, rows, left=2)}")


def _memory(cell: Cell, before_mb: float) -> None:
    rows = [["this process, since before it was opened", "", f"{_own_mb('self') - before_mb:.0f}"]]
    processes = {"scheduler": cell.scheduler, **{f"worker {name}": item for name, item in cell.workers.items()}}
    for name, process in processes.items():
        rows.append([name, *(f"{value:.0f}" for value in memory_mb(process.pid))])
    print(f"\n{markdown(['process', 'memory MB', 'without mapped files'], rows)}")


def _killed(engine: ClusterEngine, cell: Cell, names: tuple[str, ...], expected: Counter[str]) -> None:
    """Kill a worker at several moments of a search, and check that the answer is complete or names what it lacks."""
    rows = []
    for share in (0.0, 0.1, 0.5):
        alive = set(cell.workers)

        def kill(count: int, share: float = share) -> None:
            if len(cell.workers) == len(names) and count >= expected.total() * share:
                cell.kill(names[0])

        if not share:
            kill(0)
        answer = ask(engine, COMMON, kill)
        wrong = [name for name in expected if answer.rows[name] != expected[name] and name not in answer.missing]
        if wrong or alive == set(cell.workers):
            sys.exit(f"{len(wrong)} repositories lack rows, and no notice names them: {wrong[:3]}")
        next_answer = ask(engine, COMMON)
        began = time.perf_counter()
        cell.start(names[0])
        wait_until(lambda: len(engine.cluster.workers) == len(names), "the worker is back")
        back_s = time.perf_counter() - began
        last_answer = ask(engine, COMMON)
        if next_answer.missing or next_answer.rows != expected or last_answer.rows != expected:
            sys.exit("an answer after the failure is not complete")
        moment = f"after {share:.0%} of the rows" if share else "just before the search"
        texts = [f"{answer.rows.total():,}", f"{len(answer.missing)}"]
        rows.append(
            [
                moment,
                *texts,
                *(f"{value:.2f}" for value in (answer.all_s, next_answer.all_s, back_s, last_answer.all_s)),
            ]
        )
    head = ["a worker is killed", "rows", "repositories named as missing", "answer s", "next answer s"]
    print(f"\n{markdown([*head, 'worker back after s', 'answer then s'], rows)}")


def _own_mb(pid: str) -> float:
    """Memory of a process without mapped files."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024
