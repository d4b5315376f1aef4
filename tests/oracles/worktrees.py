"""Work trees as they are on disk: changed, staged, untracked, ignored, hidden and removed files."""
# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH113, PTH114, PTH118, PTH120

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from oracles import checks, fleets, repositories, texts
from oracles.epoch import Epoch, Outcome
from oracles.git_reader import MAX_FILE_BYTES, Document, git
from oracles.meaning import Commit, Reader
from oracles.questions import Atom, Question
from oracles.repositories import Shape

SHAPES = (
    Shape("desk", commits=3, files=10, attributes=False),
    Shape("linked", commits=3, files=8, clone="worktree", attributes=False),
)
REVISION = "WORKTREE"


def build(epoch: Epoch) -> Epoch:
    """Write such a fleet below the folder of an epoch, and check it out."""
    inner_epoch = Epoch(f"{epoch.seed}/worktrees", epoch.folder / "worktrees", SHAPES)
    for repository in inner_epoch.fleet.repositories:
        git(repository.folder, "reset", "-q", "--hard")
    inner_epoch.__dict__["reader"] = read(inner_epoch)
    epoch.stack.callback(inner_epoch.close)
    inner_epoch.__dict__["client"] = inner_epoch.stack.enter_context(
        fleets.open_client(
            inner_epoch.fleet, inner_epoch.folder / "index", worktree=True
        )  # every other area opens commits
    )
    return inner_epoch


def read(epoch: Epoch) -> Reader:
    """Files on disk that git tracks or would add."""
    epoch.fleet.commits = [
        Commit(repository.name, "", documents(repository.folder)) for repository in epoch.fleet.repositories
    ]
    return Reader(epoch.fleet.commits)


def documents(folder: Path) -> list[Document]:
    """Regular files of a work tree that are not ignored; nothing behind a link is one."""
    out = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    results = []
    for path in sorted(set(out.split(b"\0")[:-1])):
        location = os.path.join(os.fsencode(folder), path)
        above = os.path.dirname(location)
        if os.path.realpath(above) != above:
            continue
        try:
            regular = stat.S_ISREG(os.lstat(location).st_mode)
        except OSError:
            continue
        if regular:
            data = Path(os.fsdecode(location)).read_bytes()
            results.append(Document(path, data, searchable=b"\0" not in data and len(data) <= MAX_FILE_BYTES))
    return results


def disturb(rng: Random, folder: Path) -> str:
    """Change something on disk or in the index; gives it in words."""
    tracked = [path for path in git(folder, "ls-files", "-z").split(b"\0")[:-1]
               if os.path.isfile(os.path.join(os.fsencode(folder), path))
               and not os.path.islink(os.path.join(os.fsencode(folder), path))]  # fmt: skip
    new = b"fresh-%d" % rng.randrange(1000) + rng.choice((b".txt", b".py", b".log", b".tmp"))
    kind = rng.choice(
        ("change", "change", "add", "stage", "ignore", "remove", "assume", "skip", "link", "bare", "restore")
    )
    if not tracked and kind in {"change", "remove", "assume", "skip", "link"}:
        kind = "add"
    path = rng.choice(tracked) if tracked else new
    position = Path(os.fsdecode(os.path.join(os.fsencode(folder), path)))
    match kind:
        case "change":
            position.write_bytes(texts.small(rng))
        case "add" | "stage":
            (folder / os.fsdecode(new)).write_bytes(texts.small(rng))
            if kind == "stage":
                git(folder, "add", "-f", "--", new)
        case "bare":
            bare(rng, folder)
        case "ignore":
            (folder / ".gitignore").write_bytes(rng.choice((b"*.log\n", b"*.tmp\nfresh-1*\n", b"/src/\n", b"foo*\n")))
        case "remove":
            position.unlink()
        case "assume" | "skip":
            flag = "--assume-unchanged" if kind == "assume" else "--skip-worktree"
            git(folder, "update-index", "-z", flag, "--stdin", stdin=path + b"\0")
            if rng.random() < 0.7:
                position.write_bytes(texts.small(rng))
            elif rng.random() < 0.5:
                position.unlink()
        case "link":
            position.unlink()
            position.symlink_to(rng.choice(("/etc/hostname", "..", "nowhere")))
        case _:
            out = git(folder, "ls-files", "-z").split(b"\0")[:-1]
            git(
                folder, "update-index", "-z", "--no-assume-unchanged", "--stdin", stdin=b"".join(p + b"\0" for p in out)
            )
            git(folder, "update-index", "-z", "--no-skip-worktree", "--stdin", stdin=b"".join(p + b"\0" for p in out))
            git(folder, "reset", "-q", "--hard")
    return f"{kind} {path!r}"


def bare(rng: Random, folder: Path) -> None:
    """A bare repository below the work tree: nothing but files to git, and to whoever reads the work tree."""
    inner = folder / rng.choice(("mirror.git", "src/mirror", "lib/deep/bare.git"))
    if inner.exists():
        return
    inner.mkdir(parents=True)
    git(inner, "init", "-q", "--bare", ".")
    repositories.make_simple(inner, {b"inner.txt": texts.small(rng)})
    if rng.random() < 0.5:
        git(inner, "repack", "-a", "-d", "-q")


def worktrees(epoch: Epoch, rng: Random) -> Outcome:
    """Something is changed in a work tree, and a question asked about all."""
    inner_epoch = epoch.worktrees
    did = ""
    if rng.random() < 0.5:
        did = disturb(rng, rng.choice(inner_epoch.fleet.repositories).folder)
        inner_epoch.__dict__["reader"] = read(inner_epoch)
        inner_epoch.__dict__.pop("drawer", None)
    drawer = replace(inner_epoch.drawer, rng=rng)
    drawing = drawer.question() if rng.random() < 0.6 else Question(drawer.atom(), types=("file",))
    question: Question = replace(drawing, revision="", tree=drawing.tree or Atom("foo"))
    outcome = checks.check_text(inner_epoch, inner_epoch.client, question, transform=unnamed)
    return replace(outcome, subject=f"{did}: {outcome.subject}", question=None)


def unnamed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row without the name that work trees have in place of a revision."""
    return (*row[:2], "", *row[3:]) if row[2] == REVISION else row
