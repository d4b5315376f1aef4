"""Watches report every change that the times of files show; `stat` is the oracle."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sourcelight.repos import Catalog
from sourcelight.repos.catalog import watches
from sourcelight.repos.catalog.watches import FileWatch, Watches, why_unwatched
from sourcelight.testing import RepositoryBuilder, make_repo
from sourcelight.testing.repositories import BareBuilder

pytestmark = pytest.mark.skipif(bool(why_unwatched()), reason=f"files can't be watched here: {why_unwatched()}")

Change = Callable[[Path], object]


def stamps(paths: list[str]) -> list[tuple[int, ...] | None]:
    """What a look compares."""
    result: list[tuple[int, ...] | None] = []
    for path in paths:
        try:
            info = os.stat(path)  # noqa: PTH116 - as the catalog does
        except OSError:
            result.append(None)
        else:
            result.append((info.st_mtime_ns, info.st_ino, info.st_size))
    return result


def is_watched(catalog: Catalog) -> bool:
    """Ask anew: a property's value stays, for a type checker."""
    return catalog.is_watched


def names(catalog: Catalog) -> list[tuple[object, ...]]:
    """The facts about each repository that depend on its files, without times."""
    return [(item.name, item.git_dir, item.info.commit, item.info.stars) for item in catalog.repositories]


def settle(catalog: Catalog) -> None:
    """Look until the catalog watches."""
    bound = time.monotonic() + 20
    while not is_watched(catalog):
        assert time.monotonic() < bound
        threading.Event().wait(0.01)
        catalog.refresh(brief=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a work tree, a bare repository, a mirror with packed refs, and a link to all of them."""
    app = make_repo(tmp_path / "real" / "app", {"a": "1"})
    app.commit({"a": "2"})
    app.branch("side")
    app.switch("main")
    bare = BareBuilder(tmp_path / "real" / "bare.git")
    app.git("push", "-q", str(bare.path), "main", "side")
    mirror = app.clone(tmp_path / "real" / "mirror.git", "--mirror")
    mirror.git("pack-refs", "--all")
    app.clone(tmp_path / "spare")
    shutil.copytree(tmp_path / "real", tmp_path / "copy", symlinks=True)
    make_repo(tmp_path / "copy" / "app", {}).commit({"a": "of the copy"})
    (tmp_path / "repos").symlink_to("real")
    return tmp_path


def app(home: Path) -> RepositoryBuilder:
    return RepositoryBuilder(home / "real" / "app")


def git(home: Path, name: str, *arguments: str) -> None:
    RepositoryBuilder.git(BareBuilder(home / "real" / name), *arguments)


def swap_link(home: Path) -> None:
    (home / "new").symlink_to("copy")
    (home / "new").replace(home / "repos")


def swap_folders(home: Path) -> None:
    (home / "real").rename(home / "old")
    (home / "copy").rename(home / "real")


def write_through_other_name(home: Path) -> None:
    ref = home / "real" / "app" / ".git" / "refs" / "heads" / "main"
    (home / "other").hardlink_to(ref)
    (home / "other").write_text(f"{'1' * 40}\n")


def fetch(home: Path) -> None:
    app(home).commit({"a": "3"})
    git(home, "mirror.git", "fetch", "-q")


def borrow_objects(home: Path) -> None:
    folder = home / "real" / "bare.git" / "objects" / "info"
    folder.mkdir(exist_ok=True)
    (folder / "alternates").write_text(f"{home}/spare/.git/objects\n")


CHANGES: dict[str, Change] = {
    "commit": lambda home: app(home).commit({"a": "3"}),
    "amend": lambda home: app(home).git(
        "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--amend", "-m", "b"
    ),
    "reset": lambda home: app(home).git("reset", "-q", "--hard", "HEAD~"),
    "switch": lambda home: app(home).git("switch", "-q", "side"),
    "symbolic-ref": lambda home: app(home).git("symbolic-ref", "HEAD", "refs/heads/side"),
    "detach": lambda home: app(home).git("checkout", "-q", "--detach", "HEAD~"),
    "pack-refs": lambda home: app(home).git("pack-refs", "--all"),
    "gc": lambda home: app(home).git("gc", "-q", "--prune=now"),
    "delete the branch": lambda home: app(home).git("update-ref", "-d", "refs/heads/main"),
    "delete a packed branch": lambda home: git(home, "mirror.git", "update-ref", "-d", "refs/heads/main"),
    "update-ref of a packed branch": lambda home: git(
        home, "mirror.git", "update-ref", "refs/heads/main", "refs/heads/main~"
    ),
    "tag": lambda home: app(home).tag("v1"),
    "push": lambda home: app(home).git("push", "-q", "--force", "../bare.git", "main~:refs/heads/main"),
    "fetch": fetch,
    "settings": lambda home: app(home).git("config", "x.y", "z"),
    "description": lambda home: (home / "real" / "bare.git" / "description").write_text("a thing"),
    "alternates": borrow_objects,
    "replacement": lambda home: app(home).git("replace", "HEAD", "HEAD~"),
    "in home": lambda home: (home / "real" / "app" / ".git" / "refs" / "heads" / "main").write_text("1" * 40),
    "in home, by another name": write_through_other_name,
    "deleted": lambda home: shutil.rmtree(home / "real" / "app"),
    "renamed": lambda home: (home / "real" / "app").rename(home / "real" / "app2"),
    "moved away": lambda home: (home / "real" / "app").rename(home / "app2"),
    "git directory replaced": lambda home: (
        (home / "real" / "app" / ".git").rename(home / "old"),
        (home / "copy" / "app" / ".git").rename(home / "real" / "app" / ".git"),
    ),
    "a new one": lambda home: make_repo(home / "real" / "new", {"a": "1"}),
    "repos.toml": lambda home: (home / "real" / "repos.toml").write_text("[repositories.app]\nstars = 3\n"),
    "link leads elsewhere": swap_link,
    "folder replaced": swap_folders,
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_seen_at_once(home: Path, name: str) -> None:
    catalog, other = Catalog.open([home / "repos"]), Catalog.open([home / "repos"])
    settle(catalog)
    assert catalog.is_unchanged(brief=False)
    assert not catalog.refresh()
    assert is_watched(catalog)
    CHANGES[name](home)
    assert not is_watched(catalog)
    for twin in (catalog, other):
        twin.refresh()
    assert names(catalog) == names(other)


def test_what_is_beside_the_repositories_wakes_nobody(home: Path) -> None:
    catalog = Catalog.open([home / "repos"])
    settle(catalog)
    (home / "file").write_text("1")
    (home / "file").unlink()
    (home / "spare" / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    (home / "real" / "app" / "a").write_text("changed in the work tree")
    (home / "real" / "app" / ".git" / "objects" / "12").mkdir(exist_ok=True)
    assert is_watched(catalog)


def test_a_change_before_the_watches_were_made_is_seen(home: Path) -> None:
    # The look that follows the watches finds it.
    file = FileWatch()
    changed = [False]
    for _ in range(20):
        file.note_calm(lambda: [str(home / "real")], lambda: not changed[0])
        if file.is_quiet:
            break
        changed[0] = True
    assert not file.is_quiet


def test_files_are_looked_at_again_after_a_while(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog.open([home / "repos"])
    settle(catalog)
    monkeypatch.setattr(watches, "MAX_QUIET_S", 0.0)
    assert not is_watched(catalog)
    assert catalog.is_unchanged()
    monkeypatch.setattr(watches, "MAX_QUIET_S", 60.0)
    assert is_watched(catalog)
    app(home).commit({"a": "3"})
    assert not is_watched(catalog)


def test_changes_all_the_time_make_watches_rarer(home: Path) -> None:
    file, looks = FileWatch(), []
    for _ in range(4):
        count = 0
        while not file.is_quiet:
            file.note_calm(lambda: [str(home / "real")], lambda: True)
            count += 1
        looks.append(count)
        (home / "real" / f"{count}").write_text("1")
        assert not file.is_quiet
    assert looks == [8, 16, 32, 64]


def test_too_many_files_are_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "MAX_WATCHES", 5)
    with pytest.raises(OSError, match="more than 5"):
        Watches([str(home / "real" / "app" / ".git" / "HEAD"), *map(str, (home / "real").glob("*"))])


def test_other_file_systems_are_looked_at() -> None:
    with pytest.raises(OSError, match="file system of type"):
        Watches(["/proc/self/status"])


def test_a_child_process_takes_no_event_of_its_parent(home: Path) -> None:
    catalog = Catalog.open([home / "repos"])
    settle(catalog)
    child = os.fork()
    if child == 0:  # pragma: no cover - coverage ends with the process
        quiet = is_watched(catalog)
        os._exit(int(quiet))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert is_watched(catalog)
    app(home).commit({"a": "3"})
    assert not is_watched(catalog)


def test_watches_hold_no_descriptors_when_they_are_gone(home: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        Watches([str(home / "real")])
        with pytest.raises(OSError, match="file system"):
            Watches(["/proc/self/status"])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def _steps(chance: random.Random, home: Path) -> Iterator[Change]:
    """Changes below a directory: of git, and of files and links as an operator makes them."""
    commits = 0

    def write(home: Path) -> None:
        names = [path for path in (home / "real").rglob("*") if path.is_file()]
        chance.choice(names).write_text(str(chance.random()))

    def move(home: Path) -> None:
        path = chance.choice([path for path in (home / "real").rglob("*") if path.is_dir()])
        path.rename(path.with_name(f"{path.name}~{chance.random()}"))

    def commit(home: Path) -> None:
        nonlocal commits
        commits += 1
        if (home / "real" / "app" / ".git" / "HEAD").exists():
            with contextlib.suppress(AssertionError):  # an earlier step broke it
                app(home).commit({"a": f"{commits}"})

    def link(home: Path) -> None:
        target = chance.choice(["real", "copy", str(home / "real"), "nothing", "repos2/../real"])
        (home / "new").symlink_to(target)
        (home / "new").replace(home / "repos")

    def delete(home: Path) -> None:
        path = chance.choice(list((home / "real").rglob("*")))
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def renew(home: Path) -> None:
        shutil.rmtree(home / "real")
        shutil.copytree(home / "copy", home / "real", symlinks=True)

    def touch(home: Path) -> None:
        os.utime(chance.choice(list((home / "real").rglob("*"))))

    def beside(home: Path) -> None:
        (home / f"{chance.random()}").mkdir()

    choices = [write, move, commit, commit, link, delete, touch, touch, beside]
    while True:
        yield renew
        for _ in range(chance.randint(1, 8)):
            yield chance.choice(choices) if any((home / "real").iterdir()) else renew


@pytest.mark.parametrize("seed", range(4))
def test_whatever_stat_sees_is_reported(home: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to take the same steps again
    steps = _steps(chance, home)
    names = ["HEAD", "packed-refs", "config", "refs/heads", "refs/heads/main", "refs/tags", "refs/replace", "objects"]
    paths = [str(home / "repos"), str(home / "repos" / "repos.toml")]
    for git_dir in ("app/.git", "bare.git", "mirror.git"):
        paths += [str(home / "repos" / git_dir), *(str(home / "repos" / git_dir / name) for name in names)]

    changes = quiet = 0
    for _ in range(120):
        paths_watched = chance.sample(paths, 12)
        watched = Watches(paths_watched)
        before = stamps(paths_watched)
        step = next(steps)
        step(home)
        if stamps(paths_watched) != before:
            changes += 1
            assert not watched.are_quiet, (seed, step)
        quiet += watched.are_quiet
        watched.close()
    assert min(changes, quiet) > 5


_MOUNT = """
import subprocess, sys, threading, time
from sourcelight.repos import Catalog

catalog = Catalog.open([sys.argv[1]])
bound = time.monotonic() + 20
while not catalog.is_watched and time.monotonic() < bound:
    threading.Event().wait(0.01)
    catalog.refresh(brief=True)
print(catalog.is_watched)
subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[1] + "/app"], check=True)
print(catalog.is_watched)
"""


def _can_mount() -> bool:
    """Whether a process may have mounts of its own, which no other test sees."""
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return bool(shutil.which("unshare")) and not subprocess.run(command, check=False, capture_output=True).returncode


@pytest.mark.skipif(not _can_mount(), reason="needs mount and unshare")
def test_a_mount_over_a_repository_is_seen(home: Path) -> None:
    command = ["unshare", "-m", sys.executable, "-c", _MOUNT, str(home / "real")]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert answer.stdout.split() == ["True", "False"]
