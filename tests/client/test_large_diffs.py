"""Changed lines of commits with more files and hunks than a service shows at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from server.served import serving
from sourcelight.testing import RepositoryBuilder

TOKEN = "slo_the-owner-of-large-diffs"
NAME = "example.org/large"
HUGE = "2024-01-01T00:00:00Z"
HUGE_AT = 1_704_153_600  # a day later


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    repository = RepositoryBuilder(root / "large", origin=f"https://{NAME}.git")
    numbered_lines = "".join(f"line {number}\n" for number in range(100))
    repository.commit(
        {f"{index:02}.txt": f"needle {index}\n" for index in range(12)} | {"hunks.txt": numbered_lines}, "files"
    )
    changed = "".join(f"line {number}{' needle' if number % 20 == 0 else ''}\n" for number in range(100))
    repository.commit({"hunks.txt": changed}, "hunks")
    repository.commit(
        {f"{index:02}.txt": f"other {index}\n" for index in range(12)} | {"blob.bin": b"\0" * 50}, "removed"
    )
    repository.commit({f"many/{index:03}.txt": f"needle {index}\n" for index in range(130)}, "many")
    repository.commit(
        {"long.txt": "".join(f"needle {index}\n" for index in range(6_000)), "short.txt": "needle\n"}, "long"
    )
    repository.git("mv", "hunks.txt", "moved.txt")
    repository.commit(None, "move")
    huge = "".join(f"needle {index}\n" for index in range(12_000))
    repository.commit({"huge.txt": huge, "beside.txt": "needle\n"}, "huge", date=HUGE_AT)
    return root


@pytest.fixture(scope="module")
def clients(
    folder: Path, shut_environment: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[sl.Client]]:
    with (
        serving(str(folder), home=shut_environment / "large", token=TOKEN) as (_, address),
        sl.connect(address, TOKEN) as remote,
        sl.open(folder, index_dir=tmp_path_factory.mktemp("index")) as embedded,
    ):
        yield [embedded, remote]


KEYS = ["commit", "path", "side", "line_number"]


def test_a_service_gives_every_changed_line_of_many_files_and_hunks(clients: list[sl.Client]) -> None:
    local, remote = (client.diff_search("needle", NAME, files=["*.txt", "many/*"], before=HUGE) for client in clients)
    assert local[KEYS].astype(str).to_numpy().tolist() == remote[KEYS].astype(str).to_numpy().tolist()
    assert len(local) == 12 + 5 + 12 + 130 + 6_001
    assert local.attrs["status"] == remote.attrs["status"] == "complete"


def test_lines_that_a_service_cuts_off_are_told_with_numbers(clients: list[sl.Client]) -> None:
    local = clients[0].diff_search("needle", NAME, after=HUGE)
    reply = r"truncates the patches of 1 of 2 files with 12,000 changed lines"
    with pytest.warns(sl.IncompleteResultWarning, match=reply):
        remote = clients[1].diff_search("needle", NAME, after=HUGE)
    assert (len(local), local.attrs["status"]) == (12_001, "complete")
    assert 0 < len(remote) < len(local)
    assert remote.attrs["status"] == "limited"
