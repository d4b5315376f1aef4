"""`clone --list` and `sync` as an operator runs them: lists, status, signals, kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backends.cluster.processes import wait_until
from cli.conftest import Run
from sourcelight.cli import main
from sourcelight.repos.mirrors.schedule import MirrorSchedule, read_states
from sourcelight.testing import RepositoryBuilder, make_repo

COMMAND = [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())", "sync"]


@pytest.fixture
def origin(tmp_path: Path) -> RepositoryBuilder:
    return make_repo(tmp_path / "origin" / "app", {"a": "1"})


@contextmanager
def syncing(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`sync` in a process of its own, once it has the lock."""
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("fetching mirrors in ")
            yield process
        finally:
            process.kill()


def ref(path: Path, origin: RepositoryBuilder) -> str:
    return origin.git("-C", str(path), "rev-parse", "--verify", "-q", "refs/heads/main").strip()


def test_a_list_is_cloned_and_its_bad_lines_are_named_by_number_alone(
    run: Run, tmp_path: Path, origin: RepositoryBuilder
) -> None:
    (tmp_path / "list.txt").write_text(f"# ours\n{origin.path.as_uri()}\nme:t0ken@h.org/a\n--upload-pack=touch x\n")
    listing = ("--list", tmp_path / "list.txt", "--dest", tmp_path / "mirrors")
    status, out, err = run("clone", *listing)
    assert (status, out) == (2, "")
    assert [line.partition(", ")[2].partition(":")[0] for line in err.splitlines()] == ["line 2", "line 3", "line 4"]
    status, out, err = run("clone", *listing, "--allow-local")
    assert status == 2, "two lines are no address"
    assert out == f"{tmp_path}/mirrors/app.git\n"
    assert "t0ken" not in err
    status, out, _ = run("clone", origin.path.as_uri(), "--list", os.devnull, "--dest", tmp_path / "mirrors")
    assert (status, out) == (0, f"{tmp_path}/mirrors/app.git\n")
    assert run("clone", "--dest", tmp_path)[0] == 2
    assert run("clone", "--list", tmp_path / "absent")[0] == 2


def test_a_run_once_says_what_failed_and_status_shows_it(run: Run, tmp_path: Path, origin: RepositoryBuilder) -> None:
    dest = ("--dest", tmp_path / "mirrors")
    absent = (tmp_path / "absent").as_uri()
    status, out, err = run("sync", "--once", *dest, origin.path.as_uri(), absent)
    assert (status, out) == (2, f"fetched {origin.path.as_uri()}\n2 mirrors, 1 failing\n")
    assert err.startswith(f"sourcelight: {absent}: git clone")
    assert "(1 failure in a row, next at 20" in err
    status, out, err = run("sync", "--status", *dest)
    assert (status, err) == (0, "")
    head, first, second, last = out.splitlines()
    assert head.split() == ["address", "fetched", "failures", "next", "error"]
    assert first.startswith(absent)
    assert second.startswith(origin.path.as_uri())
    assert last == f"2 mirrors in {tmp_path}/mirrors; sync is not running"
    assert run("sync", "--once", *dest)[:2] == (0, f"fetched {origin.path.as_uri()}\n1 mirror, 0 failing\n")
    for wrong in (("--every", "soon"), ("--timeout", "0s"), ("--jobs", "0")):
        assert run("sync", *dest, *wrong)[0] == 2


def test_status_shows_what_only_clone_has_fetched(run: Run, tmp_path: Path, origin: RepositoryBuilder) -> None:
    dest = ("--dest", tmp_path / "mirrors")
    assert run("clone", *dest, origin.path.as_uri())[0] == 0
    status, out, err = run("sync", "--status", *dest)
    assert (status, err) == (0, "")
    _, row, last = out.splitlines()
    assert row.split() == [origin.path.as_uri(), "0", "next", "sync"]
    assert last == f"1 mirror in {tmp_path}/mirrors; sync is not running"


def test_it_runs_beside_a_service_until_it_is_stopped_and_reads_its_list_again(
    tmp_path: Path, origin: RepositoryBuilder
) -> None:
    mirror, second = (tmp_path / "mirrors" / f"{name}.git" for name in ("app", "lib"))
    listing = tmp_path / "list.txt"
    listing.write_text(f"{origin.path.as_uri()}\n")
    dest = ("--dest", tmp_path / "mirrors")
    with syncing("--list", listing, "--allow-local", "--every", "1s", *dest) as process:
        wait_until(lambda: mirror.is_dir() and ref(mirror, origin) == origin.head, "the mirror is there")
        head = origin.commit({"a": "2"})
        wait_until(lambda: ref(mirror, origin) == head, "the new commit is fetched")
        listing.write_text(f"{origin.path.as_uri()}\n{make_repo(tmp_path / 'lib', {'b': '1'}).path.as_uri()}\n")
        wait_until(second.is_dir, "the list is read again")
        assert MirrorSchedule.is_locked(str(tmp_path / "mirrors"))
        assert main(["sync", "--once", *map(str, dest)]) == 2
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
    assert not MirrorSchedule.is_locked(str(tmp_path / "mirrors"))
    assert read_states(str(tmp_path / "mirrors"))[origin.path.as_uri()].failures == 0


@pytest.mark.skipif(sys.platform != "linux", reason="stands in for git with a script, and reads /proc")
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_a_kill_in_the_middle_leaves_what_the_next_run_can_go_on_with(
    tmp_path: Path, origin: RepositoryBuilder, monkeypatch: pytest.MonkeyPatch, run: Run, kill: signal.Signals
) -> None:
    mirrors, started = tmp_path / "mirrors", tmp_path / "started"
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo git version 2.40.0; exit; fi\n'
        'for last; do :; done; mkdir -p "$last/objects"; echo ref: x > "$last/HEAD"\n'
        f"echo $$ > {started}.new; mv {started}.new {started}; sleep 60 & wait\n"
    )
    script.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        with syncing("--dest", mirrors, origin.path.as_uri()) as process:
            wait_until(started.exists, "git runs")
            process.send_signal(kill)
            _, err = process.communicate(timeout=60)
            assert process.returncode == {signal.SIGINT: 130, signal.SIGKILL: -9}[kill]
            assert "Traceback" not in err
    git = int(started.read_text())
    if kill == signal.SIGKILL:
        os.killpg(git, signal.SIGKILL)  # nobody was left to do so
    else:
        assert [entry for entry in mirrors.iterdir() if not entry.name.startswith(".sourcelight-sync")] == []
    wait_until(lambda: not Path(f"/proc/{git}").exists() or "Z" in Path(f"/proc/{git}/stat").read_text(), "git ends")
    assert read_states(str(mirrors)).get(origin.path.as_uri()) is None or (
        read_states(str(mirrors))[origin.path.as_uri()].failures == 0
    ), "a fetch that was stopped is no failure"
    assert run("sync", "--once", "--dest", mirrors, origin.path.as_uri())[0] == 0
    assert sorted(entry.name for entry in mirrors.iterdir() if entry.is_dir()) == ["app.git"]


def test_a_service_that_runs_finds_what_sync_adds(tmp_path: Path, origin: RepositoryBuilder, run: Run) -> None:
    import sourcelight as sl

    mirrors = tmp_path / "mirrors"
    assert run("sync", "--once", "--dest", mirrors, origin.path.as_uri())[0] == 0
    with sl.open(mirrors) as code:
        assert list(code.list_repos()["repository"]) == ["app"]
        other = make_repo(tmp_path / "origin" / "lib", {"b": "needle"})
        assert run("sync", "--once", "--dest", mirrors, other.path.as_uri())[0] == 0
        # The folder is looked at some times a second.
        deadline = time.monotonic() + 20
        while (names := sorted(code.list_repos()["repository"])) == ["app"] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert names == ["app", "lib"]
        assert len(code.search("needle")) == 1
