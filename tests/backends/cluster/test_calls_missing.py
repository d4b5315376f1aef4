"""Calls over a cluster whose workers die: what others can answer is whole, and what nobody can is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from backends.cluster.test_calls import ALL, BOARD, PYTIDE, frame
from equal_frames import assert_frame_equal
from server.running_service import TOKEN, running
from sourcelight.core.errors import ClusterError, ToolError

pytestmark = pytest.mark.timeout(300)

REST = [name for name in ALL if name != BOARD]
SYMBOL = {"repo": PYTIDE, "path": "src/pytide/client.py", "symbol": "Hub"}
QUESTION = "how are failed requests retried"
CALLS: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("commit_search", {"repos": ALL}, {"repos": REST}),
    ("diff_search", {"repos": ALL, "pattern": "retry", "count": 3}, {"repos": REST, "pattern": "retry", "count": 3}),
    ("contributors", {"repos": ALL, "by": ["repository"]}, {"repos": REST, "by": ["repository"]}),
    ("nls_search", {"query": QUESTION}, {"query": f"-repo:/board$ {QUESTION}"}),
    ("find_references", SYMBOL, SYMBOL),
]


@pytest.fixture(scope="module")
def without_board(shards: str, embedded: sl.Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    """Client over a cluster of three workers, of which the two that had the shard of one repository were killed."""
    embedded.search("type:symbol e count:all fork:yes archived:yes")
    folder = tmp_path_factory.mktemp("harmed")
    storage = folder / "storage"
    copytree(shards, storage)
    cell = Cell(str(storage), folder, ("w1", "w2", "w3"))
    try:
        with sl.open_cluster(cell.address, str(storage)) as client:
            wait_until(lambda: len(client.cluster.workers) == len(cell.workers), "workers join")
            names = {address: name for name, address in client.cluster.workers.items()}
            holders = [names[address] for address in client.cluster.replicas(BOARD)]
            assert len(holders) == 2
            entries = client.backend.engine.generation.entries  # type: ignore[attr-defined]
            (shard,) = (entry.shard for entry in entries if entry.name == BOARD)
            _forget(storage, shard)
            for holder in holders:
                cell.kill(holder)
            yield client
    finally:
        cell.close()


def _forget(storage: Path, shard: str) -> None:
    results = [path for path in storage.rglob("*") if path.is_file() and shard in str(path).replace("/", "")]
    assert results
    for path in results:
        path.unlink()


@pytest.mark.parametrize(("name", "arguments", "rest"), CALLS, ids=[case[0] for case in CALLS])
def test_a_call_names_the_repository_whose_workers_are_gone(
    without_board: sl.Client, embedded: sl.Client, name: str, arguments: Mapping[str, Any], rest: Mapping[str, Any]
) -> None:
    ours, theirs = frame(without_board, name, arguments), frame(embedded, name, rest)
    assert_frame_equal(ours, theirs, check_categorical=False)
    assert ours.attrs["status"] == "limited"
    (skipped,) = ours.attrs["skipped"]
    assert (skipped["reason"], skipped["repository"]) == ("backend-missing", BOARD)
    assert BOARD in skipped["message"]
    assert [item for item in ours.attrs["notices"] if BOARD in item]


def test_a_call_of_the_lost_repository_alone_fails_by_name(without_board: sl.Client) -> None:
    for name, arguments in (("list_files", {"repo": BOARD}), ("commit_search", {"repos": [BOARD]})):
        with pytest.raises(ClusterError, match=name):
            frame(without_board, name, arguments)


def test_a_service_says_so_to_its_callers(without_board: sl.Client) -> None:
    engine = without_board.backend.engine  # type: ignore[attr-defined]
    with running(engine) as service, sl.connect(service.url, TOKEN) as remote:
        with pytest.raises(ToolError, match=r"list_files could not be answered\. Tried: ") as error:
            remote.list_files(BOARD)
        page = service.client.get(f"/{BOARD}/-/blob/README.md", timeout=30)
    assert page.status_code == 503
    assert "read_file could not be answered" in page.text
    assert "tcp:" not in page.text + str(error.value)


def test_an_explanation_and_an_answer_name_it_too(without_board: sl.Client) -> None:
    assert BOARD in str(without_board.explain("tide"))
    answer = without_board.deepsearch("How many repositories mention tide?", cache=False)
    assert answer.status == "complete"
    assert BOARD in answer.text
