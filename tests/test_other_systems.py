"""What Windows and macOS do otherwise, forced here: flags of files, locks, signals, and the end of processes.

They take away what the other system lacks, or stand in for its library; the workflow `test.yml` runs all tests there.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.repos import file_locks
from sourcelight.repos.boundary import read_flags, read_small_file
from sourcelight.repos.git.command import end_process
from sourcelight.server.http.middleware.credential_uses import CredentialUses
from sourcelight.testing import RepositoryBuilder

_BINARY = 1 << 27
"""Stands for `O_BINARY`, which is 0x8000 on Windows; no flag of this system."""
_ONLY_POSIX = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")
posix = pytest.mark.skipif(os.name == "nt", reason="stands in for Windows elsewhere")


@pytest.fixture
def text_files(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Open files as Windows does; give the paths whose content would have been read or written as text."""
    paths: set[str] = set()
    original_open = os.open

    def windows_open(path: os.PathLike[str] | str | bytes, flags: int, *rest: int, **options: int) -> int:
        caller = sys._getframe(1).f_code
        # `open` gives its opener the flag where there is one.
        if "sourcelight" in caller.co_filename and caller.co_name != "_opener" and not flags & _BINARY:
            paths.add(os.fsdecode(path))
        return original_open(path, flags & ~_BINARY, *rest, **options)

    for name in _ONLY_POSIX:
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(os, "O_BINARY", _BINARY, raising=False)
    monkeypatch.setattr(os, "open", windows_open)
    return paths


@posix
def test_content_is_read_as_bytes_where_files_are_text_by_default(text_files: set[str], tmp_path: Path) -> None:
    """Read as text, CR LF is LF and Ctrl-Z the end: each file with CR LF would differ from its commit."""
    content = b"needle one\r\nneedle two\x1a\r\nneedle three\r\n"
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": content, "b.txt": b"plain\n"}, "write")
    repo.git("update-index", "--assume-unchanged", "a.txt")  # compared by content, not by git's times
    with sl.open(tmp_path / "src", background_index=False) as code:
        assert len(code.search("needle count:all").matches) == 3
    with sl.open(tmp_path / "src", worktree=True, background_index=False) as code:
        result = code.search("needle count:all")
        assert result.matches["path"].tolist() == ["a.txt"] * 3
    (repo.path / "b.txt").write_bytes(b"needle four\r\n")
    with sl.open(tmp_path / "src", worktree=True, background_index=False) as code:
        assert len(code.search("needle count:all").matches) == 4
    assert read_small_file(str(repo.path / "a.txt")) == content
    # A folder is opened to write its names down, and the database to be there before SQLite opens it.
    assert {path for path in text_files if Path(path).is_file() and not path.endswith(".db")} == set()


@posix
@pytest.mark.usefixtures("text_files")
def test_what_a_system_lacks_is_no_flag() -> None:
    assert read_flags() == read_flags(follow=False) == os.O_RDONLY | _BINARY


@posix
def test_the_access_log_is_written_as_bytes(text_files: set[str], tmp_path: Path) -> None:
    log = CredentialUses(str(tmp_path / "access.log"))
    log.append('{"status": 200}')
    log.close()
    assert (tmp_path / "access.log").read_bytes() == b'{"status": 200}\n'
    assert text_files == set()


class RegionLocks(types.ModuleType):
    """The library `msvcrt`, as far as locks go: one holder for each file, told by `OSError` at once."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.descriptors: dict[int, int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        """Lock or unlock the bytes from the position on."""
        assert (os.lseek(descriptor, 0, os.SEEK_CUR), count) == (0, 1), "each process locks the same byte"
        inode = os.fstat(descriptor).st_ino
        if mode == self.LK_UNLCK:
            assert self.descriptors.pop(inode) == descriptor
        elif inode in self.descriptors:
            raise OSError(errno.EDEADLOCK, "locked")
        else:
            self.descriptors[inode] = descriptor


@pytest.fixture
def windows_locks(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The module of locks, loaded once more as Windows would."""
    monkeypatch.setitem(sys.modules, "msvcrt", RegionLocks())
    spec = util.spec_from_file_location("windows_locks", file_locks.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        spec.loader.exec_module(module)
    return module


def test_locks_of_windows_keep_a_second_builder_out_until_the_first_is_done(
    windows_locks: types.ModuleType, tmp_path: Path
) -> None:
    assert windows_locks.msvcrt is sys.modules["msvcrt"]
    waited = threading.Event()
    order: list[str] = []

    def second() -> None:
        with (tmp_path / "lock").open("a+b") as file, windows_locks.lock_file(file, waited.set):
            order.append("second")

    with (tmp_path / "lock").open("a+b") as file:
        file.write(b"x")  # appending moves the position away from the byte that is locked
        with windows_locks.lock_file(file, lambda: None):
            builder = threading.Thread(target=second)
            builder.start()
            assert waited.wait(60)
            order.append("first")
        builder.join(60)
    assert order == ["first", "second"]
    assert sys.modules["msvcrt"].descriptors == {}


class LoopWithoutSignals(asyncio.SelectorEventLoop):
    """As the loops of Windows."""

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        """Refuse."""
        raise NotImplementedError


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Put the handlers of signals back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("make_loop", [LoopWithoutSignals, asyncio.SelectorEventLoop])
def test_a_worker_stops_in_order_at_a_signal(
    number: signal.Signals, make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    process = pytest.importorskip("sourcelight.backends.cluster.worker.process")

    async def serve(loop: asyncio.AbstractEventLoop) -> None:
        stopped = asyncio.Event()
        process.call_on_signals(loop, stopped.set)
        loop.call_soon(os.kill, os.getpid(), number)
        await asyncio.wait_for(stopped.wait(), 60)

    loop = make_loop()
    with handlers_kept():
        try:
            loop.run_until_complete(serve(loop))
        finally:
            loop.close()


@posix
@pytest.mark.parametrize("there", ["taskkill", ""])
def test_git_and_what_it_started_end_together_on_windows(
    there: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """There are no groups of processes: `taskkill` ends a tree. Where it is missing, git itself ends all the same."""
    if there:
        program = tmp_path / "System32" / "taskkill.exe"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n', "utf-8")
        program.chmod(0o755)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        end_process(process)
    assert process.returncode == -signal.SIGKILL
    if there:
        assert (tmp_path / "asked").read_text("utf-8").split() == ["/F", "/T", "/PID", str(process.pid)]
