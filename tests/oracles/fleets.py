"""A fleet of hostile repositories on disk, as git reads it, and clients of the product over it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from oracles import git_reader, repositories
from oracles.meaning import Commit, Reader
from oracles.questions import Drawer
from oracles.repositories import Made, Shape
from server.running_service import TOKEN, running
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.repos import Catalog

SHAPES = (
    Shape("alpha", commits=8, files=16, sources=6),
    Shape("Beta.x", commits=5, files=10, loose=True),
    Shape("gamma-2", commits=4, files=8),
    Shape("shallow", commits=6, files=8, clone="shallow"),
    Shape("shared", commits=3, files=6, clone="shared"),
    Shape("linked", commits=3, files=6, clone="worktree"),
    Shape("replaced", commits=4, files=8, replace=True),
    Shape("void", commits=1, files=0),
)


@dataclass
class Fleet:
    """Repositories below one folder, and what git says of them."""

    folder: Path
    repositories: list[Made]
    commits: list[Commit] = field(default_factory=list)

    def read(self) -> Reader:
        """Read every tree again by git; gives a reader that knows no answers yet."""
        self.commits = []
        for repository in self.repositories:
            for revision in ["", *repository.revisions]:
                try:
                    commit = git_reader.resolve(repository.folder, revision or "HEAD")
                except AssertionError:
                    continue
                documents = git_reader.documents(repository.folder, commit)
                self.commits.append(Commit(repository.name, revision, documents))
        return Reader(self.commits)

    def drawer(self, rng: Random) -> Drawer:
        """Draws questions about these repositories."""
        samples, paths = [], []
        for commit in self.commits:
            for document in commit.documents:
                paths.append(document.display_path.replace("\ufffd", "") or "x")
                if document.searchable and document.data:
                    position = rng.randrange(max(1, len(document.data) - 400))
                    text = document.data[position : position + 400].decode(errors="ignore")
                    if text:
                        samples.append(text)
        common = set.intersection(
            *({c.revision for c in self.commits if c.repository == m.name} for m in self.repositories)
        )
        return Drawer(rng, samples, paths, [repository.name for repository in self.repositories], sorted(common - {""}))


def build(rng: Random, folder: Path, shapes: tuple[Shape, ...] = SHAPES) -> Fleet:
    """Write repositories of these shapes."""
    folder.mkdir(parents=True)
    return Fleet(folder, [repositories.write(rng, folder, shape) for shape in shapes])


@contextmanager
def open_client(fleet: Fleet, index: Path, **options: Any) -> Iterator[sl.Client]:
    """Client over engines in this process."""
    with sl.open(fleet.folder, index_dir=index, progress=False, background_index=False, **options) as client:
        yield client


@contextmanager
def served(client: sl.Client) -> Iterator[sl.Client]:
    """Client by loopback HTTP of a service over the engines of another client."""
    with running(client.backend.engine) as service, sl.connect(service.url, TOKEN) as remote:  # type: ignore[attr-defined]
        yield remote


_JOIN_S = 300.0
"""Seconds in which workers join: long runs go beside other work, and this is no claim about speed."""


@contextmanager
def clustered(fleet: Fleet, folder: Path) -> Iterator[sl.Client]:
    """Client over two workers of a cluster, which hold the fleet as it is now."""
    storage = str(folder / "shards")
    report = build_generation(Catalog.open([str(fleet.folder)]), ShardStorage(storage))
    assert not report.failures, report.failures
    cell = Cell(storage, folder / "caches", names=("w1", "w2"))
    try:
        with sl.open_cluster(cell.address, storage) as client:
            wait_until(lambda: len(client.cluster.workers) == 2, "workers join", within_s=_JOIN_S)
            yield client
    finally:
        cell.close()


def quiet_home(folder: Path) -> None:
    """Let the product keep its files below a folder, and draw nothing."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "SRC_", "SOURCELIGHT_"))]:
        del os.environ[name]
    os.environ |= {
        "SOURCELIGHT_HOME": str(folder),
        "SOURCELIGHT_PROGRESS": "off",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def remove(folder: Path) -> None:
    """Remove a folder, whatever is in it."""
    shutil.rmtree(folder, ignore_errors=True)
