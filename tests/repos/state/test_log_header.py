"""The header of the log tells each commit of any process, and no lock is lost for it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sourcelight.core.errors import StateUnusable
from sourcelight.repos.state import FILE_NAME, Database, State
from sourcelight.repos.state.log_header import header_of
from sourcelight.repos.state.migrations import MIGRATIONS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SQLite tells elsewhere")

_STEPS = {
    "a commit": "INSERT INTO roles (name, created_at) VALUES (hex(randomblob(9)), 1)",
    "a commit without a change of rows": "UPDATE roles SET created_at = created_at WHERE id = -1",
    "a checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)",
    "a new layout": "VACUUM",
    "a number in the head of the file": "PRAGMA user_version = {}",
}


def _run_elsewhere(path: Path, statement: str) -> None:
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(path), statement], check=True)


@pytest.mark.parametrize("step", _STEPS)
def test_the_version_changes_whenever_sqlite_says_so(tmp_path: Path, step: str) -> None:
    path = tmp_path / FILE_NAME
    with Database(str(path)) as database, closing(sqlite3.connect(path, isolation_level=None)) as other:
        statement = _STEPS[step].format(len(MIGRATIONS))
        for is_elsewhere in (True, False) * 3:
            with closing(sqlite3.connect(path)) as oracle:
                before, seen = database.version, oracle.execute("PRAGMA data_version").fetchone()
                assert database.version == before
                if is_elsewhere:
                    _run_elsewhere(path, statement)
                else:
                    other.execute(statement)
                if oracle.execute("PRAGMA data_version").fetchone() != seen:
                    assert database.version != before


def test_a_header_is_read_without_sqlite_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with Database(str(path)) as database:
        header = header_of(str(path))
        assert header is not None
        first = header.read()
        assert first is not None
        assert header.read() == first
        database.change("INSERT INTO roles (name, created_at) VALUES ('a', 1)")
        assert header.read() != first
        header.release()
        assert database.version == database.version


def test_locks_stay_while_another_object_closes_the_file(tmp_path: Path) -> None:
    """A closed descriptor would drop the locks of all: the next process would then delete the log."""
    path = tmp_path / FILE_NAME
    with State(str(path)) as first:
        with State(str(path)) as second:
            assert first.database.version
            assert second.database.version
        _run_elsewhere(path, "SELECT 1 FROM roles")
        assert path.with_name(f"{FILE_NAME}-wal").exists()
        before = first.database.version
        _run_elsewhere(path, _STEPS["a commit"])
        assert first.database.version != before


def test_another_file_of_the_same_name_has_a_header_of_its_own(tmp_path: Path) -> None:
    path, moved = tmp_path / FILE_NAME, tmp_path / "moved"
    with Database(str(path)) as before:
        assert before.version
        for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
            (tmp_path / name).rename(moved.with_name(f"moved{name}"))
        with Database(str(path)) as after:
            version = after.version
            _run_elsewhere(path, _STEPS["a commit"])
            assert after.version != version


def test_a_closed_database_has_no_version(tmp_path: Path) -> None:
    database = Database(str(tmp_path / FILE_NAME))
    assert database.version
    database.close()
    with pytest.raises(StateUnusable):
        _ = database.version


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = _descriptors()
    for number in range(5):
        with Database(str(tmp_path / f"{number}.sqlite")) as database:
            assert database.version
    (tmp_path / "damaged").write_bytes(b"\1" * 5000)
    with pytest.raises(StateUnusable):
        Database(str(tmp_path / "damaged"))
    assert _descriptors() == before


def _descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0
