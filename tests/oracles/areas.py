"""The areas of the run: each draws a case, asks the product, and holds the answer against an oracle."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from oracles import analyses, calls, definitions, incomplete, limits, scopes, updates, worktrees
from oracles.checks import check_history, check_text
from oracles.epoch import Check, Epoch, Outcome
from oracles.questions import Drawer, Question


def text(epoch: Epoch, rng: Random) -> Outcome:
    """Queries over text, paths and names: rows equal those of RE2 alone."""
    question = drawer_of(epoch, rng).question()
    return check_text(epoch, epoch.client, question)


def patterns(epoch: Epoch, rng: Random) -> Outcome:
    """Single patterns over every text of the fleet: many pairs of pattern and text in one query."""
    drawer = drawer_of(epoch, rng)
    atom = drawer.atom("rrrrrl")
    question = Question(atom, (), ("file",), rng.random() < 0.4, style=rng.randrange(420))
    return check_text(epoch, epoch.client, question)


def history(epoch: Epoch, rng: Random) -> Outcome:
    """Queries over commits and changed lines: rows equal those of git's log read line by line."""
    words, times = epoch.history_words
    question = drawer_of(epoch, rng).history_question(words, times)
    return check_history(epoch, epoch.client, question)


def http(epoch: Epoch, rng: Random) -> Outcome:
    """The same queries by loopback HTTP."""
    drawer = drawer_of(epoch, rng)
    if rng.random() < 0.6:
        return check_text(epoch, epoch.remote, drawer.question())
    return check_history(epoch, epoch.remote, drawer.history_question(*epoch.history_words))


def cluster(epoch: Epoch, rng: Random) -> Outcome:
    """The same queries over two workers of a cluster."""
    drawer = drawer_of(epoch, rng)
    if rng.random() < 0.6:
        return check_text(epoch, epoch.clustered, drawer.question())
    return check_history(epoch, epoch.clustered, drawer.history_question(*epoch.history_words))


def repeat(epoch: Epoch, rng: Random) -> Outcome:
    """A query asked three times, the last time with another limit: what was kept changes no answer."""
    question = drawer_of(epoch, rng).question()
    first = check_text(epoch, epoch.client, question)
    if first.difference:
        return first
    return check_text(epoch, epoch.client, question)


def drawer_of(epoch: Epoch, rng: Random) -> Drawer:
    """The drawer of an epoch, with its own chance."""
    return replace(epoch.drawer, rng=rng)


AREAS: dict[str, Check] = {
    "text": text,
    "patterns": patterns,
    "history": history,
    "calls": calls.call,
    "analyses": analyses.analyses,
    "incomplete": incomplete.incomplete,
    "worktrees": worktrees.worktrees,
    "scopes": scopes.scopes,
    "limits": limits.limits,
    "definitions": definitions.definitions,
    "http": http,
    "cluster": cluster,
    "again": repeat,
    "update": updates.update,
}
WEIGHTS = {
    "cluster": 2,
    "update": 0,
    "text": 6,
    "patterns": 8,
    "history": 5,
    "calls": 3,
    "analyses": 1,
    "incomplete": 2,
    "worktrees": 2,
    "scopes": 4,
    "limits": 3,
    "definitions": 1,
    "http": 2,
    "again": 1,
}
