"""The index after an answer: a process builds it in the background for people, and jobs wait for it or do without."""

from __future__ import annotations

import base64
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.cli.startup import background_index
from sourcelight.cli.startup.background_index import IndexTime, index_time
from sourcelight.core.errors import ConfigurationError
from sourcelight.engines.storage import worker_pool
from sourcelight.repos.file_locks import lock_file
from sourcelight.testing import RepositoryBuilder

pty = pytest.importorskip("pty")

SEARCH = [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())", "search"]
STARTED = "being built in the background"
BOUND_S = 120.0
AUTHOR = {f"GIT_{role}_{part}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that is too large to be indexed before its first answer."""
    chance = random.Random(8)  # noqa: S311 - the same texts each time
    folder = tmp_path_factory.mktemp("large") / "books"
    texts = {f"{n}.txt": base64.encodebytes(chance.randbytes(90_000)) + b"needle\n" for n in range(60)}
    RepositoryBuilder(folder).commit(texts, "start")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path / "home"
    # A relative path is as of the command for the process in the background, too.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCELIGHT_HOME", "home")
    for name in ("CI", "JPY_PARENT_PID", background_index.SETTING):
        monkeypatch.delenv(name, raising=False)
    yield home
    wait_for_process(home)


def search(folder: Path, *options: str, terminal: bool = True, status: int = 0) -> tuple[list[str], str]:
    """Search for a word; return the rows, and the messages on standard error."""
    ours, theirs = pty.openpty()
    stream = theirs if terminal else subprocess.PIPE
    with subprocess.Popen(
        [*SEARCH, "needle count:all", str(folder), "--format", "jsonl", *options],
        stdin=theirs if terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stream,
        text=True,
    ) as process:
        os.close(theirs)
        rows, messages = process.communicate(timeout=BOUND_S)
        if terminal:
            messages = read_terminal(ours)
        os.close(ours)
        assert process.returncode == status, messages
    return sorted(rows.splitlines()), messages


def read_terminal(descriptor: int) -> str:
    """Return what programs that have ended wrote to a terminal."""
    messages = b""
    # The end of a terminal is an error on Linux.
    try:
        while portion := os.read(descriptor, 65536):
            messages += portion
    except OSError:
        pass
    return messages.decode(errors="replace")


def files_in(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def note(home: Path) -> Path:
    return home / "index-background"


def wait_for_process(home: Path) -> None:
    """Wait until no process builds an index in the background."""
    if note(home).exists():
        deadline = time.monotonic() + BOUND_S

        def check() -> None:
            assert time.monotonic() < deadline

        with note(home).open("a+b") as file, lock_file(file, check):
            pass


def is_indexed(folder: Path) -> bool:
    return open_engine([folder], index_now=False).is_indexed()


def wait_for_index(folder: Path) -> None:
    deadline = time.monotonic() + BOUND_S
    while not is_indexed(folder):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_person_gets_the_prompt_before_the_index(folder: Path, home: Path) -> None:
    rows, messages = search(folder)
    assert len(rows) == 60
    assert messages.count(STARTED) == 1
    assert "--index never" in messages
    wait_for_index(folder)
    wait_for_process(home)
    rows_again, messages = search(folder)
    assert rows_again == rows
    assert STARTED not in messages


@pytest.mark.parametrize("name", ["", "CI", "JPY_PARENT_PID"])
def test_a_job_leaves_no_process_behind(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name:
        monkeypatch.setenv(name, "1")
    rows, messages = search(folder, terminal=bool(name))
    assert len(rows) == 60
    assert STARTED not in messages
    assert is_indexed(folder)
    assert not note(home).exists()


def test_without_an_index_nothing_is_written(folder: Path, home: Path, tmp_path: Path) -> None:
    rows, messages = search(folder, "--index", "never")
    assert STARTED not in messages
    assert not files_in(home)
    small = tmp_path / "small"
    RepositoryBuilder(small).commit({"a.txt": "needle\n"}, "start")
    folder_without_git = tmp_path / "folder_without_git"
    folder_without_git.mkdir()
    (folder_without_git / "a.txt").write_text("needle\n")
    assert [len(search(path, "--index=never")[0]) for path in (small, folder_without_git)] == [1, 1]
    assert not files_in(home)
    assert rows == search(folder, "--index", "wait")[0]
    assert is_indexed(folder)


@pytest.mark.usefixtures("home")
def test_a_query_that_needs_an_index_gets_it(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    RepositoryBuilder(folder).commit({"a.py": "def needle(): pass\n"}, "start")
    command = [*SEARCH, "type:symbol needle", str(folder), "--index", "never", "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S)
    assert '"needle"' in done.stdout, done.stderr


def test_one_process_builds_at_a_time(folder: Path, home: Path) -> None:
    home.mkdir()
    with note(home).open("a+b") as file, lock_file(file, lambda: None):
        rows, messages = search(folder)
        assert len(rows) == 60
        assert STARTED not in messages
        # One that was started at the same time ends at once.
        command = [*worker_pool.python_command(background_index.MODULE), "committed", str(folder)]
        assert subprocess.run(command, check=False, timeout=BOUND_S).returncode == 0
    assert not is_indexed(folder)


def test_a_process_that_is_killed_leaves_what_searches_can_read(folder: Path, home: Path) -> None:
    home.mkdir()
    expected, _ = search(folder, "--index", "never")
    command = [*worker_pool.python_command(background_index.MODULE), "committed", str(folder)]
    for seconds in (0.6, 1.2, 1.8):
        with subprocess.Popen(command, start_new_session=True) as process:
            time.sleep(seconds)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert search(folder, "--index", "never")[0] == expected
    assert subprocess.run(command, check=False, timeout=BOUND_S).returncode == 0
    assert is_indexed(folder)
    assert search(folder)[0] == expected


def test_what_can_not_be_indexed_is_said_and_not_tried_each_time(folder: Path, home: Path, tmp_path: Path) -> None:
    builder = RepositoryBuilder(folder).clone(tmp_path / "odd" / "books")
    # A path that is too long for a commit to be searched.
    blob = builder.git("rev-parse", "HEAD:0.txt")
    tree = builder.git("mktree", stdin=f"100644 blob {blob}\t{'x' * 5000}\n".encode())
    builder.git("update-ref", "HEAD", builder.git("commit-tree", tree, "-m", "odd", env=AUTHOR))
    messages = search(tmp_path / "odd", terminal=True, status=2)[1]
    assert STARTED in messages
    deadline = time.monotonic() + BOUND_S
    while not note(home).stat().st_size:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    messages = search(tmp_path / "odd", status=2)[1]
    assert "still without an index: " in messages
    assert "`sourcelight index` tries again" in messages
    assert STARTED not in messages
    old_s = time.time() - background_index.RETRY_S
    os.utime(note(home), (old_s, old_s))
    assert STARTED in search(tmp_path / "odd", status=2)[1]


def test_the_time_is_that_of_the_option_then_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(background_index.SETTING, "never")
    assert index_time("background") is IndexTime.BACKGROUND
    assert index_time("") is IndexTime.NEVER
    monkeypatch.setenv(background_index.SETTING, "later")
    with pytest.raises(ConfigurationError, match="SOURCELIGHT_INDEX must be background, wait or never; got 'later'"):
        index_time("")
