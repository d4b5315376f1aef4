"""Which commits pass: reachability, people, times, messages and the files they changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcelight.core.cancellation import Stopped, never
from sourcelight.engines.history.search import texts
from sourcelight.engines.history.search.lines import changes_with
from sourcelight.engines.history.search.model import AllOf, CommitQuery, Commits, Files, Not, OneOf, Term, Tree
from sourcelight.engines.history.snapshot import History, Ints, Mask
from sourcelight.engines.history.subtrees import Layout

_MANY = 64
"""When one in so many commits is wanted, taking them from the order of all is quicker than sorting them."""


def find_commits(
    history: History, query: CommitQuery, stopped: Stopped = never, *, layout: Layout | None = None
) -> Ints:
    """Give the numbers of the commits that pass, newest first; `layout` as for `changes_passing`.

    Raises KeyError for a revision that is not here, and `Halted` once `stopped` says so.
    """
    mask = commits_passing(history, query.commits, stopped)
    if query.tree is not None:
        mask = mask & _tree(history, query.tree, stopped)
    if query.files.paths or query.changed:
        changes = changes_passing(history, query.files, stopped, layout=layout)
        for one in query.changed:
            hit = np.zeros(len(history.changes), np.bool_)
            for pattern in one.patterns:
                hit |= changes_with(history, pattern, stopped)
            if changes is not None:
                hit &= changes
            mask = mask & (_of_commits(history, hit) != one.negated)
        if not query.changed and changes is not None:
            mask = mask & _of_commits(history, changes)
    return newest_first(history, np.flatnonzero(mask))


def newest_first(history: History, commits: Ints) -> Ints:
    """Sort commits by committer time, the latest first; of those of one second, children come before parents."""
    if len(commits) * _MANY < len(history.commits):
        return commits[np.lexsort((-commits, -history.commits.commit_time[commits]))]
    mask = np.zeros(len(history.commits), np.bool_)
    mask[commits] = True
    return history.newest_first[mask[history.newest_first]]


def commits_passing(history: History, which: Commits, stopped: Stopped = never) -> Mask:
    """Tell for each commit whether it passes."""
    commits = history.commits
    mask: Mask = np.ones(len(commits), np.bool_)
    if which.revisions:
        reached = [history.reachable(oid) for oid in which.revisions]
        mask = reached[0] if len(reached) == 1 else np.logical_or.reduce(reached)
    for oid in which.without:
        mask = mask & ~history.reachable(oid)
    if which.merges is not None:
        mask = mask & (commits.is_merge == which.merges)
    if which.after is not None:
        mask = mask & (commits.commit_time > which.after)
    if which.before is not None:
        mask = mask & (commits.commit_time < which.before)
    for one in which.authors:
        mask = mask & people_passing(history, one, whole=which.whole_people, stopped=stopped)[commits.author]
    for one in which.committers:
        mask = mask & people_passing(history, one, whole=which.whole_people, stopped=stopped)[commits.committer]
    for one in which.messages:
        mask = mask & (_messages(history, one, stopped) != one.negated)
    return mask


def people_passing(history: History, one: OneOf, *, whole: bool = False, stopped: Stopped = never) -> Mask:
    """Tell for each identity whether it passes."""
    found: Mask = np.zeros(len(history.identities), np.bool_)
    for raw, starts in history.memory(f"people {whole}", lambda: _people(history, whole=whole)):
        found |= texts.any_of(one.patterns, raw, starts, stopped)
    passing: Mask = found != one.negated
    return passing


def _people(history: History, *, whole: bool) -> list[tuple[memoryview, Ints]]:
    people = history.identities
    columns: list[Sequence[str]] = [
        [f"{name} <{email}>" for name, email in zip(names, emails, strict=True)]
        for names, emails in ((people.names, people.emails), (people.mapped_names, people.mapped_emails))
    ]
    if not whole:
        columns += [people.names, people.emails, people.mapped_names, people.mapped_emails]
    return [texts.joined(item.encode() for item in column) for column in columns]


def changes_passing(
    history: History, files: Files, stopped: Stopped = never, *, layout: Layout | None = None
) -> Mask | None:
    """Tell for each change whether its file passes; None when all do.

    With a `layout`, a file of a merged subtree passes under the path where the merge put it, too.
    """
    mask: Mask | None = None
    for one in files.paths:
        raw, starts = history.memory("paths", lambda: texts.joined(history.paths))
        held = texts.any_of(one.patterns, raw, starts, stopped)
        for at, path in history.memory("paths with newlines", lambda: texts.with_newlines(history.paths)).items():
            held[at] = any(bool(pattern.match_many(path, [0], [len(path)])[0]) for pattern in one.patterns)
        passed = held[history.changes.path] | held[history.changes.old_path]
        if layout is not None and layout.moved.any():
            passed |= _moved_passing(layout, one, stopped)
        passed = passed != one.negated
        mask = passed if mask is None else mask & passed
    return mask


def _moved_passing(layout: Layout, one: OneOf, stopped: Stopped) -> Mask:
    """Tell for each change whether the path where a merge put its file passes."""
    passed: Mask = np.zeros(len(layout.moved), np.bool_)
    moved = np.flatnonzero(layout.moved)
    for numbers in (layout.path[moved], layout.old_path[moved]):
        used, which = np.unique(numbers, return_inverse=True)
        raw, starts = texts.joined(layout.names[at] for at in used.tolist())
        passed[moved] |= texts.any_of(one.patterns, raw, starts, stopped)[which]
    return passed


def _of_commits(history: History, changes: Mask) -> Mask:
    mask: Mask = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[changes]] = True
    return mask


def _messages(history: History, one: OneOf, stopped: Stopped) -> Mask:
    found = []
    for segment in history.segments:
        starts = segment["message_starts"].view(np.int64)
        found.append(texts.any_of(one.patterns, segment.bytes_of("messages"), starts, stopped))
    return np.concatenate([np.zeros(0, np.bool_), *found])


def _tree(history: History, tree: Tree, stopped: Stopped) -> Mask:
    if isinstance(tree, Term):
        return _messages(history, OneOf((tree.pattern,)), stopped)
    if isinstance(tree, Not):
        return ~_tree(history, tree.arg, stopped)
    every = isinstance(tree, AllOf)
    held: Mask = np.full(len(history.commits), every)
    for arg in tree.args:
        mask = _tree(history, arg, stopped)
        held = held & mask if every else held | mask
    return held
