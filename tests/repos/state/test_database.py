"""The file itself: one policy for connections, crashes, versions, several processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from sourcelight.core.errors import StateUnusable
from sourcelight.repos.state import FILE_NAME, Database, State
from sourcelight.repos.state.database import header_of
from sourcelight.repos.state.migrations import MIGRATIONS

WRITER = """
import sys
from sourcelight.repos.state import State
with State(sys.argv[1]) as state:
    print("ready", flush=True)
    number = 0
    while True:
        with state.database.write() as connection:
            connection.execute("INSERT INTO accounts (name, created_at) VALUES (?, 1)", (f"left{number}",))
            connection.execute("INSERT INTO roles (name, created_at) VALUES (?, 1)", (f"left{number}",))
        number += 1
        print(number, flush=True)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SQLite tells elsewhere")

_STEPS = {
    "a commit": "INSERT INTO roles (name, created_at) VALUES (hex(randomblob(9)), 1)",
    "a commit without a change of rows": "UPDATE roles SET created_at = created_at WHERE id = -1",
    "a checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)",
    "a new layout": "VACUUM",
    "a number in the head of the file": "PRAGMA user_version = {}",
}


def test_the_file_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / FILE_NAME
    with State(str(path)) as state:
        state.accounts.create("ann")
        assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
        assert path.parent.stat().st_mode & 0o077 == 0
    path.chmod(0o644)
    with State(str(path)):
        assert path.stat().st_mode & 0o777 == 0o600


def test_the_policy_holds_for_both_connections(tmp_path: Path) -> None:
    with Database(str(tmp_path / FILE_NAME)) as database, database.read() as reader, database.write() as writer:
        for connection in (reader, writer):
            settings = {
                name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "foreign_keys")
            }
            assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        with pytest.raises(sqlite3.OperationalError):
            reader.execute("DELETE FROM accounts")


def test_a_write_is_whole_or_nothing() -> None:
    with Database() as database:
        with pytest.raises(sqlite3.IntegrityError), database.write() as connection:
            connection.executemany("INSERT INTO accounts (name, created_at) VALUES (?, 1)", [("ann",), ("ann",)])
        assert database.first_row("SELECT count(*) FROM accounts") == (1,)


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_process_killed_while_writing_leaves_whole_transactions(tmp_path: Path) -> None:
    path = str(tmp_path / FILE_NAME)
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            count = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
        with State(path) as state:
            accounts = {item.name for item in state.accounts.all() if not item.built_in}
            roles = {role.name for role in state.roles.all() if not role.built_in}
            assert accounts == roles
            assert len(accounts) >= count
            assert state.database.first_row("PRAGMA integrity_check") == ("ok",)
            with state.database.write() as connection:
                connection.execute("DELETE FROM accounts WHERE built_in = 0")
                connection.execute("DELETE FROM roles WHERE built_in = 0")


def test_many_openers_at_once_make_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / FILE_NAME)
    barrier = threading.Barrier(6)
    problems: list[BaseException] = []

    def open_and_write(number: int) -> None:
        try:
            barrier.wait(10)
            with State(path) as state:
                state.accounts.create(f"user{number}")
        except BaseException as exc:  # noqa: BLE001 - told by the test's own thread
            problems.append(exc)

    threads = [threading.Thread(target=open_and_write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert problems == []
    with State(path) as state:
        assert len(state.accounts.all()) == 7


def test_a_process_that_opens_the_file_twice_keeps_its_locks(tmp_path: Path) -> None:
    """The second opening dropped the locks of the first: another process deleted the log, and a write was lost."""
    path = str(tmp_path / FILE_NAME)
    reader = (
        "import sys; from sourcelight.repos.state import State\nwith State(sys.argv[1]) as s: print(s.accounts.all())"
    )

    def read_elsewhere() -> str:
        return subprocess.run([sys.executable, "-c", reader, path], check=True, capture_output=True, text=True).stdout

    with State(path) as first, State(path):
        # Its last connection closes here: it would checkpoint and delete the log of a file that nobody has locked.
        read_elsewhere()
        assert (tmp_path / f"{FILE_NAME}-wal").exists()
        first.accounts.create("ann")
        assert "'ann'" in read_elsewhere()
    with State(path) as state:
        assert {account.name for account in state.accounts.all()} >= {"ann"}


def test_what_one_process_writes_another_sees_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / FILE_NAME)
    with State(path) as first, State(path) as second:
        account = first.accounts.create("ann")
        assert second.accounts.get("ann") == account
        rights = second.rights.for_account(account.id)
        assert rights is not None
        assert rights.repositories == frozenset()
        first.grants.add("a/b", account="ann")
        rights = second.rights.for_account(account.id)
        assert rights is not None
        assert rights.repositories == {"a/b"}


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with State(str(path)) as state, state.database.write() as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(StateUnusable, match="later version"):
        State(str(path))
    assert path.read_bytes() == before


def test_an_earlier_version_is_brought_forward(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    early = sqlite3.connect(path, isolation_level=None)
    for statement in MIGRATIONS[0].statements:
        early.execute(statement)
    early.execute("INSERT INTO accounts (name, created_at) VALUES ('ann', 1)")
    early.execute("PRAGMA user_version = 1")
    early.close()
    with State(str(path)) as state:
        assert [account.name for account in state.accounts.all()] == ["owner", "ann"]
        assert state.clients.all() == []
        assert state.database.first_row("PRAGMA user_version") == (len(MIGRATIONS),)


@pytest.mark.parametrize("content", [b"not a database, but long enough to look like one" * 100, b"\0" * 5000])
def test_a_damaged_file_is_named_and_never_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    with pytest.raises(StateUnusable, match=FILE_NAME):
        State(str(path))
    assert path.read_bytes() == content


def test_a_place_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(StateUnusable, match="can't be used"):
        State(str(tmp_path / "file" / FILE_NAME))


def test_a_closed_state_says_so() -> None:
    state = State()
    state.close()
    state.close()
    with pytest.raises(StateUnusable):
        state.accounts.all()


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
