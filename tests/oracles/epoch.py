"""A stretch of the run: one fleet, what git says of it, and the clients that are asked about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import sourcelight as sl
from oracles import fleets, git_history, git_reader
from oracles.fleets import SHAPES, Fleet
from oracles.history_meaning import History, HistoryReader
from oracles.meaning import Reader
from oracles.questions import Drawer
from oracles.repositories import Shape


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case.

    Parameters
    ----------
    subject
        The query or call, as one would type it.
    difference
        How the product differs from the oracle; empty: not at all.
    pairs
        How many texts the oracle read for it.
    question
        What can be minimised, if anything.
    """

    subject: str
    difference: str = ""
    pairs: int = 0
    question: Any = None


Check = Callable[["Epoch", Random], Outcome]


@dataclass
class Epoch:
    """One fleet and everything that was opened over it.

    Parameters
    ----------
    seed
        What the fleet and every case are drawn from.
    folder
        Where the fleet, the index and the product's other files go.
    shapes
        Repositories of the fleet.
    """

    seed: str
    folder: Path
    shapes: tuple[Shape, ...] = SHAPES
    stack: ExitStack = field(default_factory=ExitStack)
    blames: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)

    def rng(self, *names: object) -> Random:
        """Chance that depends on the seed and on names alone."""
        return Random("/".join([self.seed, *map(str, names)]))

    @cached_property
    def fleet(self) -> Fleet:
        """The repositories."""
        return fleets.build(self.rng("fleet"), self.folder / "fleet", self.shapes)

    @cached_property
    def reader(self) -> Reader:
        """Oracle of searches in text."""
        return self.fleet.read()

    @cached_property
    def drawer(self) -> Drawer:
        """Draws questions; its chance is replaced for every case."""
        assert self.reader.commits
        return self.fleet.drawer(self.rng("drawer"))

    @cached_property
    def histories(self) -> HistoryReader:
        """Oracle of searches in history."""
        results = []
        for repository in self.fleet.repositories:
            existing: dict[str, list[git_history.FileChange]] = {}
            for revision in ["", *repository.revisions]:
                try:
                    git_reader.resolve(repository.folder, revision or "HEAD")
                except AssertionError:
                    continue
                commits = git_history.log(repository.folder, revision or "HEAD", cached=existing)
                results.append(History(repository.name, revision, commits))
        return HistoryReader(results)

    @cached_property
    def history_words(self) -> tuple[list[str], list[int]]:
        """Texts of messages and changed lines, and times of commits."""
        words, times = [], []
        for history in self.histories.histories:
            for commit in history.commits:
                times.append(commit.commit_time)
                words.append(commit.message.decode(errors="ignore"))
                words += [
                    line.text[:200].decode(errors="ignore") for change in commit.changes for line in change.lines[:20]
                ]
        return [word for word in words if word.strip()], times

    @cached_property
    def incomplete(self) -> Any:
        """A fleet of repositories that lack objects or can't be read; see `oracles.incomplete`."""
        from oracles import incomplete

        return incomplete.build(self)

    @cached_property
    def worktrees(self) -> Epoch:
        """Work trees that are searched as they are on disk; see `oracles.worktrees`."""
        from oracles import worktrees

        return worktrees.build(self)

    @cached_property
    def annotated(self) -> sl.Client:
        """Client over engines in this process that know more about the repositories; see `oracles.scopes`."""
        from oracles import scopes

        return scopes.client(self)

    @cached_property
    def refs(self) -> tuple[Reader, dict[str, list[str]]]:
        """Oracle of every branch and tag, and their names by repository."""
        from oracles import scopes

        return scopes.read_refs(self)

    @cached_property
    def client(self) -> sl.Client:
        """Client over engines in this process."""
        assert self.fleet.repositories
        return self.stack.enter_context(fleets.open_client(self.fleet, self.folder / "index"))

    @cached_property
    def remote(self) -> sl.Client:
        """Client of a service over the same engines, by loopback HTTP."""
        return self.stack.enter_context(fleets.served(self.client))

    @cached_property
    def clustered(self) -> sl.Client:
        """Client over workers of a cluster."""
        return self.stack.enter_context(fleets.clustered(self.fleet, self.folder / "cluster"))

    def forget(self) -> None:
        """Forget what git said, after the fleet has changed."""
        for name in ("reader", "drawer", "histories", "history_words", "refs"):
            self.__dict__.pop(name, None)

    def close(self) -> None:
        """Close every client and remove the folder."""
        self.stack.close()
        fleets.remove(self.folder)
        fleets.remove(self.folder / "fleet-sources")
