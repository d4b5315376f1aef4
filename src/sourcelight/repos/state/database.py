"""Open, read and write `state.sqlite` with one policy for connections.

Write-ahead log, full synchronisation, foreign keys, one connection that reads and one that writes. Several processes
may share the file (a service and ``sourcelight admin``); a killed process leaves the last whole transaction.

Triggers write the log of changes within the transaction of each change. SQLite finds the newest transaction in the
header of the log's index, a file that each process maps. Each commit changes that header, and ``PRAGMA data_version``
compares it, between two locks of the file. `LogHeader` compares the same bytes in a twentieth of the time, for a check
of each request.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sourcelight.core.errors import StateError, StateFull, StateUnusable
from sourcelight.repos.state.migrations import MIGRATIONS

BUSY_S = 10.0
"""Seconds to wait for another process that writes."""

_APPLICATION_ID = 0x736C7374  # "slst": identifies the file type, for example to `file`

_FORMAT = 3_007_000
"""The first number of the header. Formats of the index have been compatible since SQLite has a write-ahead log."""

_HEADER_BYTES = 96
"""Two copies of the header. A writer changes one after the other, so that no reader takes a part of a new one."""

_lock = threading.Lock()
_headers: dict[Hashable, LogHeader] = {}


class LogHeader:
    """The header of the log of one state file, for all its connections in this process: see `header_of`.

    Its file stays open while this process has a connection. POSIX drops all locks of a process on a file when it closes
    any descriptor of it, and SQLite locks this file.
    """

    def __init__(self, path: str, key: Hashable) -> None:
        self._path, self._key = f"{path}-shm", key
        self._users = 0
        self._descriptor = -1
        self._map: mmap.mmap | None = None
        self._is_known = False

    def read(self) -> bytes | None:
        """Return bytes that differ after each commit of any process; None if only SQLite can tell."""
        if self._descriptor < 0:
            self._open()
        return self._map[:] if self._is_known and self._map is not None else None

    def add_user(self) -> None:
        """Keep the file open for a database."""
        self._users += 1

    def release(self) -> None:
        """Close the file if no other database of this process needs it; the caller has closed its connections."""
        with _lock:
            self._users -= 1
            if self._users:
                return
            del _headers[self._key]
            self._is_known = False
            if self._map is not None:
                self._map.close()
            if self._descriptor >= 0:
                os.close(self._descriptor)

    def _open(self) -> None:
        with _lock:
            if self._descriptor >= 0 or not self._users:
                return
            # There is no such file without a log, as on file systems of a network.
            with contextlib.suppress(OSError, ValueError):
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
                self._map = mmap.mmap(self._descriptor, _HEADER_BYTES, access=mmap.ACCESS_READ)
                self._is_known = int.from_bytes(self._map[:4], sys.byteorder) == _FORMAT


def header_of(path: str) -> LogHeader | None:
    """Return the header of the log of a file for one more user, who releases it; None where only SQLite can tell.

    It must be requested before a connection is opened, and released after the last one was closed.
    """
    if os.name != "posix":
        return None
    with _lock:
        status = os.stat(path)
        # By the file and not its name: another one may have its name by now.
        key = status.st_dev, status.st_ino
        header = _headers.setdefault(key, LogHeader(path, key))
        header.add_user()
        return header


class Database:
    """One open state file; safe to use from several threads.

    Parameters
    ----------
    path
        The file; it and its directory are made for their user alone. Empty: in memory, for tests and trials.
    actor
        The writer in the audit log: ``admin:NAME`` for a user of this machine, or ``service``.

    Raises
    ------
    StateUnusable
        If the file is damaged, written by a later version, or can't be read and written.
    """

    def __init__(self, path: str = "", actor: str = "") -> None:
        self.path = path
        self._actor = actor
        self._has_audit = False

        # Reentrant: `replace_from` migrates, and `close` may run in a finalizer of the thread that writes. Lock order
        # where both are needed: writing, then reading.
        self._writing = threading.RLock()
        # A database in memory has one connection only, so it needs only one lock.
        self._reading = threading.RLock() if path else self._writing

        # Mode before content: SQLite would create the file with the umask of the process.
        with self._mapping_errors():
            if path:
                _make_private(path)
            self._header = header_of(path) if path else None

        # The version of the file, and the header of its log from before that was read.
        self._latest: tuple[bytes | None, int] = (None, 0)

        # A finalizer and no `__del__`: it runs once, also at exit, and holds the connections but not this object.
        connections: list[sqlite3.Connection] = []
        self._closing = weakref.finalize(self, _close, connections, self._header)
        try:
            with self._mapping_errors():
                self._writer = self._connect()
                connections.append(self._writer)
                self._reader = self._connect() if path else self._writer
                connections.append(self._reader)

            self._migrate()
            if path:
                # A guard against mistakes in this package: a write over the reading connection would bypass the write
                # lock.
                self._reader.execute("PRAGMA query_only = ON")
        except BaseException:
            self._closing()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        with self._writing, self._reading:
            self._closing()

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Return a connection for single reads; no reader waits for a writer."""
        with self._reading, self._mapping_errors():
            yield self._reader

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: committed at the end, rolled back on an exception.

        `sqlite3.IntegrityError` passes through: the caller knows which constraint failed.
        """
        with self._writing, self._mapping_errors():
            # Takes the write lock now. A deferred transaction that reads first can fail with SQLITE_BUSY at its first
            # write, and waiting doesn't help then, because its snapshot is outdated.
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                # Triggers can't read Python values, so they read the name from a table within the transaction.
                self._name_actor(self._actor)
                yield self._writer
                self._name_actor("")
                self._writer.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _name_actor(self, name: str) -> None:
        """Name the writer for the triggers of the audit log, once the log exists."""
        if self._actor and self._has_audit:
            self._writer.execute("UPDATE actor SET name = ?", (name,))

    def first_row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        with self.read() as connection:
            row: tuple[Any, ...] | None = connection.execute(sql, values).fetchone()
            return row

    def all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self.read() as connection:
            return connection.execute(sql, values).fetchall()

    def change(self, sql: str, *values: Any) -> int:
        """Run one statement in its own transaction; return how many rows it changed."""
        with self.write() as connection:
            return connection.execute(sql, values).rowcount

    def copy_to(self, target: str) -> None:
        """Write a checked copy of the file to `target`, also while others use it.

        Raises
        ------
        StateError
            If `target` exists, or the copy is damaged.
        """
        if os.path.lexists(target):
            raise StateError(f"{target} already exists: choose another name")

        partial = f"{target}.partial-{os.getpid()}"
        try:
            # Private from the start: the file will hold hashes of credentials, and a key.
            os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(partial)) as copy:
                with self.read() as connection:
                    connection.backup(copy)
                # One file: a copy with a log beside it would lose the log when a user moves the file.
                copy.execute("PRAGMA journal_mode = DELETE")
                _check_copy(copy, target)
            os.link(partial, target)  # fails, unlike a rename, if the target was created meanwhile
        except (OSError, sqlite3.Error) as exc:
            raise StateError(f"can't write {target}: {exc}") from exc
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(partial)

    def replace_from(self, source: str) -> None:
        """Replace all contents by the contents of a copy, in one transaction.

        Other processes see the new contents at their next request.

        Raises
        ------
        StateError
            If `source` is damaged, or a later version wrote it. Nothing has changed then.
        """
        # Immutable: SQLite takes no locks and looks for no log, so the file may be on a read-only disk.
        address = f"{Path(source).absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with contextlib.closing(sqlite3.connect(address, uri=True)) as copy:
                # Before anything else: views and triggers of an untrusted file could call functions.
                copy.execute("PRAGMA trusted_schema = OFF")
                _check_copy(copy, source)
                with self._writing, self._mapping_errors():
                    copy.backup(self._writer)
        except sqlite3.Error as exc:
            raise StateError(f"{source} can't be read as a copy of {os.path.basename(self.path)}: {exc}") from exc

        # The copy may be of a version without the audit tables, until `_migrate` has added them.
        self._has_audit = False
        self._migrate()

    @property
    def version(self) -> int:
        """Return a number that differs after any process has written, to validate caches."""
        if not self.path:
            # `data_version` ignores writes of the same connection, and a database in memory has only one.
            return self._writer.total_changes

        # Every request calls this, so it asks SQLite only after a change.
        header = None if self._header is None else self._header.read()
        if header is not None and header == self._latest[0]:
            return self._latest[1]

        with self.read() as connection:
            version = int(connection.execute("PRAGMA data_version").fetchone()[0])
        self._latest = header, version
        return version

    def _connect(self) -> sqlite3.Connection:
        # `isolation_level=None`: only `write` begins transactions. The locks above protect connections that threads
        # share, so the module's own thread check is off.
        connection = sqlite3.connect(
            self.path or ":memory:", timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            # trusted_schema: a planted view can't call functions. secure_delete: deleted tokens are overwritten.
            # synchronous = FULL: a granted right survives a power cut.
            for pragma in ("foreign_keys = ON", "trusted_schema = OFF", "secure_delete = ON", "synchronous = FULL"):
                connection.execute(f"PRAGMA {pragma}")
            _use_log(connection)
        except BaseException:
            connection.close()
            raise

        return connection

    def _migrate(self) -> None:
        with self._mapping_errors():
            if _version_of(self._reader) == len(MIGRATIONS):
                self._has_audit = True
                return

        # Read again inside the transaction: another process may have migrated since the check above.
        with self.write() as connection:
            version = _version_of(connection)
            # An older version must not write: it would miss columns that the newer one relies on.
            if version > len(MIGRATIONS):
                raise StateUnusable(
                    self.path,
                    f"was written by a later version (its number is {version}, this version knows {len(MIGRATIONS)}); "
                    "update sourcelight or restore a backup",
                )

            for migration in MIGRATIONS[version:]:
                for statement in migration.statements:
                    connection.execute(statement)

            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")

        self._has_audit = True

    @contextlib.contextmanager
    def _mapping_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as exc:
            text = str(exc)
            if getattr(exc, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                raise StateFull(self.path or "state in memory") from exc
            if "malformed" in text or "not a database" in text:
                text += "; restore a backup, or move it away to start over"
            raise StateUnusable(self.path or "state in memory", text) from exc
        except OSError as exc:
            if exc.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise StateFull(self.path) from exc
            if exc.filename is None or not str(exc.filename).startswith(os.path.dirname(self.path) or "."):
                raise
            raise StateUnusable(self.path, f"can't be used: {exc.strerror}") from exc


def _check_copy(copy: sqlite3.Connection, name: str) -> None:
    """Raise `StateError` if a copy is damaged, or a later version wrote it."""
    if copy.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise StateError(f"{name} is not a copy of a sourcelight state file")
    if _version_of(copy) > len(MIGRATIONS):
        raise StateError(f"{name} was written by a later version: update sourcelight first")
    problem = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise StateError(f"{name} is damaged: {problem}; use another copy")


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; retries, since SQLite doesn't wait for another process that switches too."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as exc:
            if "locked" not in str(exc) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make_private(path: str) -> None:
    """Create the file with mode 0600 before it has content; SQLite copies the mode to the files beside it."""
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    # Only a new file is opened: POSIX drops all locks of a process on a file when it closes any descriptor of it. Those
    # of another connection in this process would go, and the next process that closes the file would delete its log.
    # `open` applies the umask, which can only remove bits, so the mode is never wider than this.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    if os.name == "posix":
        for name in (path, f"{path}-wal", f"{path}-shm"):
            with contextlib.suppress(FileNotFoundError):
                if os.stat(name).st_mode & 0o077:
                    os.chmod(name, 0o600)


def _close(connections: list[sqlite3.Connection], header: LogHeader | None) -> None:
    for connection in connections:
        connection.close()
    if header is not None:
        header.release()


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change: its number, time (seconds since 1970, UTC), actor, action and subject.

    `actor` is ``admin:NAME`` (a user of the machine), ``service``, or empty if another program wrote to the file.
    """

    id: int
    recorded_at: int
    actor: str
    action: str
    subject: str


class AuditLog:
    """Reads the log of one state file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, limit: int = 1_000) -> list[AuditEntry]:
        """Return the newest `limit` entries, oldest first."""
        rows = self._database.all("SELECT id, at, actor, action, subject FROM audit ORDER BY id DESC LIMIT ?", limit)
        return [AuditEntry(*row) for row in reversed(rows)]
