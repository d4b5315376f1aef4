"""What workers may do while they are asked: stop, vanish, fall silent, talk nonsense. No search ever raises for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from backends.cluster.desks import DeskCell, Harm, Messages
from backends.cluster.processes import wait_until
from backends.cluster.questions import QUERY, Line, searched
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.backends.cluster.coordinator.requests import NoWorkerAnswered
from sourcelight.backends.cluster.coordinator.slots import MAX_BYTES, OrderedMerge
from sourcelight.backends.cluster.engine import ClusterEngine
from sourcelight.backends.cluster.messages import ResultBatch, error_to_plain
from sourcelight.backends.cluster.search import ClusterSource
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.backends.cluster.worker.outbox import BEAT_S
from sourcelight.backends.cluster.worker.phases import FILES
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError, StorageError
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines import tools
from sourcelight.engines.execution.query_reader import QueryReader
from sourcelight.engines.execution.source import SearchTask
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def cell(shards: str, tmp_path: Path) -> Iterator[DeskCell]:
    """Three workers of this process, which each test harms in its own way."""
    cell = DeskCell(shards, tmp_path)
    try:
        yield cell
    finally:
        cell.close()


@pytest.fixture
def engine(cell: DeskCell, shards: str) -> Iterator[ClusterEngine]:
    """The engine over them. It takes no worker for dead within a test: what is quicker was asked of another one."""
    engine = ClusterEngine(ClusterConnection([cell.address], shards, silence_s=100.0))
    try:
        yield engine
    finally:
        engine.close()


def harmed(cell: DeskCell, harm: Harm, *names: str) -> None:
    for name in names or cell.desks:
        cell.desks[name].harm = harm


async def as_dask_says(messages: Messages) -> Messages:
    """What a server of Dask answers when a handler raises."""
    async for _ in messages:
        raise RuntimeError("cannot schedule new futures after shutdown")
    yield {}


async def nonsense(_: Messages) -> Messages:
    yield {"kind": "results", "results": []}
    yield {"kind": "end", "outcome": {"nosuch": 1}}


async def truncate(messages: Messages) -> Messages:
    """The connection ends with the first rows."""
    async for message in messages:
        if not message.get("results"):
            yield message
            continue
        yield {"kind": "results", "results": message["results"]}  # a short answer has its last word in the same message
        raise OSError("gone")


async def silent(_: Messages) -> Messages:
    await asyncio.Event().wait()
    yield {}


async def beating(_: Messages) -> Messages:
    """A search that goes on and on."""
    while True:
        yield {"kind": "beat"}
        await asyncio.sleep(BEAT_S)


async def running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


@pytest.mark.parametrize("harm", [as_dask_says, nonsense, truncate, silent], ids=lambda harm: harm.__name__)
def test_what_one_worker_does_costs_no_row(
    harm: Harm, cell: DeskCell, engine: ClusterEngine, all_lines: list[Line]
) -> None:
    # Hashes of shards decide who holds what: one of three may hold nothing.
    request = next(iter(engine.snapshot().holders().values()))[0].name
    harmed(cell, harm, request)
    for _ in range(2):
        lines, search = searched(engine)
        assert lines == all_lines
        assert not search.accounting.skipped
    assert cell.desks[request].request_count


def test_a_worker_that_shuts_down_costs_no_row(cell: DeskCell, engine: ClusterEngine, all_lines: list[Line]) -> None:
    assert searched(engine)[0] == all_lines
    cell.desks["w2"].desk.close()  # its connections are still answered for a moment
    assert searched(engine)[0] == all_lines
    cell.vanish("w2")
    assert searched(engine)[0] == all_lines


@pytest.mark.parametrize("harm", [as_dask_says, nonsense, truncate], ids=lambda harm: harm.__name__)
def test_what_all_workers_do_is_named_and_not_tried_for_ever(harm: Harm, cell: DeskCell, engine: ClusterEngine) -> None:
    harmed(cell, harm)
    _, search = searched(engine)
    result = search.accounting
    assert result.skipped is not None
    assert result.skipped.keys() == result.planned
    for attempts in result.skipped.values():
        assert 2 <= len(attempts) <= 4
        assert all(item.worker in cell.desks and item.reason for item in attempts)


def test_a_query_that_fails_alike_on_two_workers_is_not_tried_on_a_third(cell: DeskCell, engine: ClusterEngine) -> None:
    searched(engine)

    async def failing(_: Messages) -> Messages:
        yield {"kind": "fault", **error_to_plain(ClusterError("the engine fails"))}

    harmed(cell, failing)
    _, search = searched(engine)
    assert search.accounting.skipped
    assert all(len(attempts) == 2 for attempts in search.accounting.skipped.values())


def test_a_query_that_two_workers_died_of_is_not_tried_on_a_third(cell: DeskCell, engine: ClusterEngine) -> None:
    searched(engine)
    harmed(cell, truncate)
    _, search = searched(engine)
    assert search.accounting.skipped
    for attempts in search.accounting.skipped.values():
        assert [item.died for item in attempts] == [True, True]


def test_storage_that_two_workers_can_not_read_is_asked_for_at_a_third(
    cell: DeskCell, engine: ClusterEngine, all_lines: list[Line]
) -> None:
    async def unreadable(_: Messages) -> Messages:
        yield {"kind": "fault", **error_to_plain(StorageError("s3://bucket", "no route"))}

    harmed(cell, unreadable, "w1", "w2")
    lines, search = searched(engine)
    assert lines == all_lines
    assert not search.accounting.skipped


def test_a_generation_that_comes_while_a_search_is_planned_is_left_to_the_next(tmp_path: Path) -> None:
    first, second = (RepositoryBuilder(tmp_path / "src" / name) for name in ("one", "two"))
    first.commit({"a.txt": "tide\n"})
    second.commit({"a.txt": "tide\n"})
    storage = ShardStorage(str(tmp_path / "storage"))
    build_generation(Catalog.open(tmp_path / "src"), storage)
    cell = DeskCell(str(tmp_path / "storage"), tmp_path / "caches")
    engine = ClusterEngine(ClusterConnection([cell.address], str(tmp_path / "storage")))

    class Swapped(ClusterSource):
        def resolve(self) -> Iterator[Skipped]:
            yield from super().resolve()
            build_generation(Catalog.open(tmp_path / "src" / "one"), storage)
            engine.fleet.refresh()
            engine.refresh()

    try:
        lines, search = searched(engine, "tide type:file", Swapped)
        assert len(lines) == 2
        assert not search.accounting.skipped
        assert len(searched(engine, "tide type:file")[0]) == 1
    finally:
        engine.close()
        cell.close()


def test_workers_of_another_version_are_refused_by_name_and_left_out(
    cell: DeskCell, engine: ClusterEngine, all_lines: list[Line]
) -> None:
    for name in ("w1", "w2"):
        cell.desks[name].versions = "sourcelight 0.0.1 (Python 3.9, pyarrow 1)"
    assert searched(engine)[0] == all_lines
    engine.fleet.run(engine.fleet.members.refresh())
    assert [member.name for member in engine.fleet.members.live] == ["w3"]
    cell.desks["w3"].versions = "sourcelight 0.0.1 (Python 3.9, pyarrow 1)"
    _, search = searched(engine)
    assert search.accounting.skipped
    for attempts in search.accounting.skipped.values():
        assert "it runs sourcelight " in attempts[0].reason
        assert "the request comes from sourcelight 0.0.1" in attempts[0].reason
    # From now on nobody is asked; the reason is still known, to searches and to calls.
    engine.fleet.run(engine.fleet.members.refresh())
    assert not engine.fleet.members.live
    _, search = searched(engine)
    results = {item.worker: item.reason for attempts in (search.accounting.skipped or {}).values() for item in attempts}
    assert sorted(results) == ["w1", "w2", "w3"]
    (name, *_) = search.accounting.planned
    for call in ("list_files", "commit_search"):
        arguments = {"repo": name} if call == "list_files" else {"repos": [name]}
        with pytest.raises(NoWorkerAnswered, match=rf"{call} could not be answered.*w3: it runs sourcelight"):
            tools.call(call, arguments, ToolContext(engine, Viewer.owner()))


def test_workers_stop_when_whoever_asked_goes_away(cell: DeskCell, engine: ClusterEngine) -> None:
    harmed(cell, beating)
    cancellation = Cancellation()

    def ask() -> None:
        for _ in engine.stream(SearchRequest(QUERY), Viewer.owner(), cancellation):
            pass

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: any(desk.busy for desk in cell.desks.values()), "a worker is asked")
    cancellation.cancel()
    thread.join(30)
    assert not thread.is_alive()
    wait_until(lambda: not any(desk.busy for desk in cell.desks.values()), "workers stop")
    harmed(cell, lambda messages: messages)
    assert searched(engine)[0]


def test_a_search_that_ends_early_returns_after_its_connections_are_closed(
    cell: DeskCell, engine: ClusterEngine
) -> None:
    searched(engine)
    harmed(cell, beating)
    request, cluster = SearchRequest(QUERY), engine.snapshot()
    loop, cancellation = engine.fleet.run(running_loop()), Cancellation()
    read = QueryReader(engine.limits).parse(request, cluster.catalog.contexts)
    search = ClusterSource(cluster, SearchTask(*read, request, Viewer.owner(), cancellation))
    assert not list(search.resolve())

    def stop() -> None:
        wait_until(lambda: any(desk.busy for desk in cell.desks.values()), "a worker is asked")
        # The loop is busy when the search ends, as it is under a load.
        loop.call_soon_threadsafe(time.sleep, 0.3)
        cancellation.cancel()

    stopper = threading.Thread(target=stop)
    stopper.start()
    assert not list(search.batches(100))
    assert not [task for task in asyncio.all_tasks(loop) if "WorkerStreams" in repr(task)]
    stopper.join(30)


def test_a_repository_that_no_worker_finished_before_the_limit_does_not_count_as_done(
    cell: DeskCell, engine: ClusterEngine
) -> None:
    searched(engine)
    holders = {name: members[0].name for name, members in engine.snapshot().holders().items()}
    first = holders[min(holders)]  # rows come by name, so this worker alone reaches the limit
    slow = {name for name, worker in holders.items() if worker != first}
    assert slow
    harmed(cell, beating, *{holders[name] for name in slow})
    lines, search = searched(engine, "e count:1 fork:yes archived:yes")
    assert len(lines) == 1
    assert search.accounting.unfinished >= slow
    assert not search.accounting.done & slow
    assert not search.accounting.skipped


def test_a_reader_that_stops_is_sent_no_more_than_a_bounded_number_of_bytes() -> None:
    slots = OrderedMerge(["a", "b"])
    first, second = slots.open(["a"]), slots.open(["b"])
    assert not slots.full(first)
    slots.add(first, ResultBatch(FILES, ("a",), (1,), pa.record_batch({"line": pa.array(["x" * MAX_BYTES])})))
    assert slots.full(first)
    assert slots.full(second)
    slots.complete(first)
    slots.complete(second)
    assert sum(batch.num_rows for batch in slots.batches(lambda: False)) == 1
    assert not slots.full(second)
