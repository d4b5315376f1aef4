"""Files that an earlier state of this version wrote open and answer: names of code may change, names on disk not."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import sourcelight as sl
from frozen.formats import CHEAP, PASSWORD, answer, make_repository
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage, read_current
from sourcelight.repos import Catalog
from sourcelight.repos.repository import key_of
from sourcelight.repos.state import State

FROZEN = Path(__file__).parent / "formats.tar.gz"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The frozen files, below the keys that the repository has in this folder."""
    repository = make_repository(tmp_path / "lamps")
    home = tmp_path / "home"
    with tarfile.open(FROZEN) as archive:
        archive.extractall(home, filter="data")
    for folder in (home / "index", home / "index-history"):
        (former,) = (item for item in folder.iterdir() if item.is_dir() and item.name.startswith("lamps-"))
        former.rename(folder / key_of(str(repository.path.resolve() / ".git")))
    return home


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_an_index_and_a_history_answer_and_are_not_built_anew(home: Path) -> None:
    before = files(home / "index") | files(home / "index-history")
    with sl.open(home.parent / "lamps", index_dir=home / "index") as code:
        assert answer(code) == {
            "text": ["lamp.py"],
            "symbol": ["go/lamp.go", "lamp.py"],
            "words": ["README.md"],
            "commit": ["Light them"],
            "diff": ["lamp.py"],
        }
    assert files(home / "index") | files(home / "index-history") == before


def test_a_generation_is_read_and_no_shard_of_it_is_built_anew(home: Path) -> None:
    storage = ShardStorage(str(home / "shards"))
    generation = read_current(storage)
    assert generation is not None
    before = files(home / "shards")
    report = build_generation(Catalog.open(home.parent / "lamps"), storage)
    assert not report.failures
    shards = {name for name in files(home / "shards") if name.startswith("shards/")}
    assert shards == {name for name in before if name.startswith("shards/")}


def test_a_state_file_is_taken_up(home: Path) -> None:
    state = State(str(home / "state.sqlite"), cost=CHEAP)
    try:
        assert state.accounts.check_password("grace", PASSWORD) is not None
        assert [(grant.repository, grant.account) for grant in state.grants.all()] == [("host/lamps", "grace")]
    finally:
        state.close()


def test_a_recording_is_replayed(home: Path) -> None:
    with sl.replay(home / "session.jsonl"), sl.connect() as code:
        assert code.search("lamp").matches["path"].tolist() == ["lamp.py"]
