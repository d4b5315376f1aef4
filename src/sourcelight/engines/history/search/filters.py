"""Filters of a history: masks of the commits, people and changed files that pass.

A search applies these before it looks at changed lines (`find`), because each is a pass over arrays of commits, paths
or people, which are few compared with lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Stopped, never
from sourcelight.engines.history.history import History
from sourcelight.engines.history.search import lines
from sourcelight.engines.history.search.query import AnyPattern, ChangedFileFilter, CommitFilter
from sourcelight.engines.history.subtrees import Layout


def filter_commits(history: History, commit_filter: CommitFilter, stopped: Stopped = never) -> BoolArray:
    """Return a mask of the commits that pass."""
    commits = history.commits
    mask: BoolArray = np.ones(len(commits), np.bool_)
    if commit_filter.revisions:
        # The masks are cached by the history, so they are combined into new arrays and never written to.
        reachable = [history.reachable(oid) for oid in commit_filter.revisions]
        mask = reachable[0] if len(reachable) == 1 else np.logical_or.reduce(reachable)

    for oid in commit_filter.excluded:
        mask = mask & ~history.reachable(oid)

    if commit_filter.merges is not None:
        mask = mask & (commits.is_merge == commit_filter.merges)

    if commit_filter.after is not None:
        mask = mask & (commits.commit_time > commit_filter.after)

    if commit_filter.before is not None:
        mask = mask & (commits.commit_time < commit_filter.before)

    # Patterns are matched against distinct identities, and the mask is spread over commits by number.
    for any_pattern in commit_filter.authors:
        mask = (
            mask
            & filter_people(history, any_pattern, whole_person=commit_filter.whole_person, stopped=stopped)[
                commits.author
            ]
        )

    for any_pattern in commit_filter.committers:
        mask = (
            mask
            & filter_people(history, any_pattern, whole_person=commit_filter.whole_person, stopped=stopped)[
                commits.committer
            ]
        )

    for any_pattern in commit_filter.messages:
        mask = mask & (match_messages(history, any_pattern, stopped) != any_pattern.negated)

    return mask


def filter_people(
    history: History, any_pattern: AnyPattern, *, whole_person: bool = False, stopped: Stopped = never
) -> BoolArray:
    """Return a mask of the identities that pass."""
    matched: BoolArray = np.zeros(len(history.identities), np.bool_)
    for raw, starts in history.remember(
        f"people {whole_person}", lambda: _people_texts(history, whole_person=whole_person)
    ):
        matched |= lines.texts_matching_any(any_pattern.patterns, raw, starts, stopped)
    passing: BoolArray = matched != any_pattern.negated
    return passing


def _people_texts(history: History, *, whole_person: bool) -> list[tuple[memoryview, Int64Array]]:
    people = history.identities
    columns: list[Sequence[str]] = [
        [f"{name} <{email}>" for name, email in zip(names, emails, strict=True)]
        for names, emails in ((people.names, people.emails), (people.mapped_names, people.mapped_emails))
    ]
    if not whole_person:
        columns += [people.names, people.emails, people.mapped_names, people.mapped_emails]

    return [lines.join_texts(item.encode() for item in column) for column in columns]


def filter_changes(
    history: History, files: ChangedFileFilter, stopped: Stopped = never, *, layout: Layout | None = None
) -> BoolArray | None:
    """Return a mask of the changes whose file passes, or None when all do.

    With a `layout`, a file of a merged subtree passes under the path where the merge put it, too.
    """
    mask: BoolArray | None = None
    for any_pattern in files.paths:
        raw, starts = history.remember("paths", lambda: lines.join_texts(history.paths))
        matched_paths = lines.texts_matching_any(any_pattern.patterns, raw, starts, stopped)
        for path_number, path in history.remember(
            "paths with newlines", lambda: lines.with_newlines(history.paths)
        ).items():
            matched_paths[path_number] = any(
                bool(pattern.match_many(path, [0], [len(path)])[0]) for pattern in any_pattern.patterns
            )

        # The old path counts too, so that a filter finds the commit that moved a file away.
        passing = matched_paths[history.changes.path] | matched_paths[history.changes.old_path]
        if layout is not None and layout.moved.any():
            passing |= _filter_moved(layout, any_pattern, stopped)

        passing = passing != any_pattern.negated
        mask = passing if mask is None else mask & passing

    return mask


def _filter_moved(layout: Layout, any_pattern: AnyPattern, stopped: Stopped) -> BoolArray:
    """Return a mask of the changes whose path after a subtree merge passes."""
    passing: BoolArray = np.zeros(len(layout.moved), np.bool_)
    moved = np.flatnonzero(layout.moved)
    for numbers in (layout.path[moved], layout.old_path[moved]):
        # Each path is matched once, however many changes it has.
        distinct, which = np.unique(numbers, return_inverse=True)
        raw, starts = lines.join_texts(layout.names[path_number] for path_number in distinct.tolist())
        passing[moved] |= lines.texts_matching_any(any_pattern.patterns, raw, starts, stopped)[which]

    return passing


def match_messages(history: History, any_pattern: AnyPattern, stopped: Stopped) -> BoolArray:
    """Return a mask of the commits whose messages have a match of any of the patterns."""
    masks = []
    for segment in history.segments:
        starts = segment["message_starts"].view(np.int64)
        masks.append(lines.texts_matching_any(any_pattern.patterns, segment.bytes_of("messages"), starts, stopped))
    return np.concatenate([np.zeros(0, np.bool_), *masks])
