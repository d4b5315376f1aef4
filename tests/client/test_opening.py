"""Repositories on this machine open without a server, drawn and stoppable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from client.scripted import run
from sourcelight.display.notebook import ProgressSnapshot
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one repository, and a home of its own for the index."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    RepositoryBuilder(tmp_path / "src" / "demo").commit({"a.py": "foo = 1\nbar = 2\n"}, "begin")
    return tmp_path / "src"


def test_a_folder_opens_and_is_searched(folder: Path) -> None:
    shown: list[ProgressSnapshot] = []
    with sl.open(folder, workers=1, progress=shown.append) as client:
        assert shown[-1].phase == "complete"
        result = client.search("foo")
        assert result.matches["path"].tolist() == ["a.py"]
        assert client.count("foo") == 1
        assert client.count_by("foo", "language").to_dict("list") == {
            "language": ["Python"],
            "matches": [1],
            "files": [1],
        }
        assert client.repositories()["repository"].tolist() == ["demo"]


def test_a_folder_opens_for_await(folder: Path) -> None:
    async def main() -> int:
        async with await sl.aopen(folder, workers=1) as client:
            return len(await client.search("foo"))

    assert run(main()) == 1


def test_definitions_are_found_in_the_background_without_a_search(folder: Path) -> None:
    with sl.open(folder, workers=1) as client:
        engine: Any = client.backend
        deadline = time.monotonic() + 30
        target = engine.engine.target_of(engine.engine.catalog.repositories[0])
        while not engine.engine.store.symbols_current(target) and time.monotonic() < deadline:
            time.sleep(0.01)  # nothing tells that the background is done: it is nobody's call
        assert engine.engine.store.symbols_current(target)


def test_an_address_is_mirrored_first(folder: Path) -> None:
    with sl.open((folder / "demo").as_uri(), workers=1) as client:
        assert client.search("foo").match_count == 1
    assert list((folder.parent / "home" / "mirrors").rglob("HEAD"))


def test_opening_nothing_says_where_it_looked(tmp_path: Path) -> None:
    shown: list[ProgressSnapshot] = []
    with pytest.raises(sl.NoRepositories, match="absent"):
        sl.open(tmp_path / "absent", index=tmp_path / "index", progress=shown.append)
    assert shown[-1].phase == "failed"
    assert "absent" in shown[-1].notices[0][1]


def test_opening_can_be_interrupted(folder: Path) -> None:
    shown: list[Any] = []

    def press(snapshot: ProgressSnapshot) -> None:
        shown.append(snapshot)
        if len(shown) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.open(folder, workers=1, progress=press)
    assert shown[-1].phase == "interrupted"
