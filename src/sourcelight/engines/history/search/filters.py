"""Filters of a history: masks of the commits, people and changed files that pass.

A search applies these before it looks at changed lines, because each is a pass over arrays of commits, paths or
people, which are few compared with lines. Each distinct text is matched once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.search.lines import join_texts, texts_matching_any, with_newlines
from sourcelight.engines.history.search.query import AnyPattern, ChangedFileFilter, CommitFilter
from sourcelight.engines.history.subtrees import Layout


def filter_commits(history: History, commit_filter: CommitFilter, stopped: Stopped = never) -> BoolArray:
    """Return a mask of the commits that pass.

    Raises
    ------
    KeyError
        For a revision that the history doesn't have.
    ScanStopped
        Once `stopped` returns True.
    """
    commits = history.commits
    mask = _filter_reachable(history, commit_filter)
    if commit_filter.merges is not None:
        mask = mask & (commits.is_merge == commit_filter.merges)

    if commit_filter.after is not None:
        mask = mask & (commits.commit_time > commit_filter.after)

    if commit_filter.before is not None:
        mask = mask & (commits.commit_time < commit_filter.before)

    # The mask of people is spread over commits by the number of their author.
    whole_person = commit_filter.whole_person
    for any_pattern in commit_filter.authors:
        people = filter_people(history, any_pattern, whole_person=whole_person, stopped=stopped)
        mask = mask & people[commits.author]

    for any_pattern in commit_filter.committers:
        people = filter_people(history, any_pattern, whole_person=whole_person, stopped=stopped)
        mask = mask & people[commits.committer]

    for any_pattern in commit_filter.messages:
        mask = mask & (match_messages(history, any_pattern.patterns, stopped) != any_pattern.negated)

    return mask


def _filter_reachable(history: History, commit_filter: CommitFilter) -> BoolArray:
    """Return a mask of the commits that are reachable from a revision and from no excluded one."""
    mask: BoolArray = np.ones(len(history.commits), np.bool_)
    if commit_filter.revisions:
        # The history caches these masks, so they are combined into new arrays and never written to.
        first, *other_revisions = commit_filter.revisions
        mask = history.reachable(first)
        for oid in other_revisions:
            mask = mask | history.reachable(oid)

    for oid in commit_filter.excluded:
        mask = mask & ~history.reachable(oid)

    return mask


def filter_people(
    history: History, any_pattern: AnyPattern, *, whole_person: bool = False, stopped: Stopped = never
) -> BoolArray:
    """Return a mask of the identities that pass.

    Parameters
    ----------
    whole_person
        Whether to match ``Name <address>`` alone, as git does, and not the name and the address, too.
    """
    # Patterns are matched against distinct identities, of which a history has far fewer than commits.
    columns = history.remember(f"people {whole_person}", lambda: _people_texts(history, whole_person=whole_person))
    matched: BoolArray = np.zeros(len(history.identities), np.bool_)
    for raw, starts in columns:
        matched |= texts_matching_any(any_pattern.patterns, raw, starts, stopped)

    passing: BoolArray = matched != any_pattern.negated
    return passing


def _people_texts(history: History, *, whole_person: bool) -> list[tuple[memoryview, Int64Array]]:
    """Return the texts of each identity in which patterns are looked for, joined for `texts_matching_any`."""
    people = history.identities
    columns = [_whole_persons(people.names, people.emails), _whole_persons(people.mapped_names, people.mapped_emails)]
    if not whole_person:
        columns += [people.names, people.emails, people.mapped_names, people.mapped_emails]

    return [join_texts(text.encode() for text in column) for column in columns]


def _whole_persons(names: Sequence[str], emails: Sequence[str]) -> Sequence[str]:
    return [f"{name} <{email}>" for name, email in zip(names, emails, strict=True)]


def filter_changes(
    history: History, files: ChangedFileFilter, stopped: Stopped = never, *, layout: Layout | None = None
) -> BoolArray | None:
    """Return a mask of the changes whose file passes, or None when all do.

    With a `layout`, a file of a merged subtree passes under the path where the merge put it, too.
    """
    mask: BoolArray | None = None
    for any_pattern in files.paths:
        matched = _match_paths(history, any_pattern.patterns, stopped)

        # The old path counts too, so that a filter finds the commit that moved a file away.
        passing = matched[history.changes.path] | matched[history.changes.old_path]
        if layout is not None and layout.moved.any():
            passing |= _match_moved_paths(layout, any_pattern.patterns, stopped)

        passing = passing != any_pattern.negated
        mask = passing if mask is None else mask & passing

    return mask


def _match_paths(history: History, patterns: Sequence[CompiledPattern], stopped: Stopped) -> BoolArray:
    """Return a mask of the paths of a history that any of the patterns matches."""
    raw, starts = history.remember("paths", lambda: join_texts(history.paths))
    matched = texts_matching_any(patterns, raw, starts, stopped)

    # A path may contain a newline, which separates the joined texts. Such a path is matched by itself.
    unusual_paths = history.remember("paths with newlines", lambda: with_newlines(history.paths))
    for number, path in unusual_paths.items():
        matched[number] = any(pattern.match_many(path, [0], [len(path)])[0] for pattern in patterns)

    return matched


def _match_moved_paths(layout: Layout, patterns: Sequence[CompiledPattern], stopped: Stopped) -> BoolArray:
    """Return a mask of the changes whose path after a subtree merge any of the patterns matches."""
    matched: BoolArray = np.zeros(len(layout.moved), np.bool_)
    moved = np.flatnonzero(layout.moved)
    for numbers in (layout.path[moved], layout.old_path[moved]):
        # Each path is matched once, however many changes it has.
        distinct, index_of_change = np.unique(numbers, return_inverse=True)
        raw, starts = join_texts(layout.names[number] for number in distinct.tolist())
        matched[moved] |= texts_matching_any(patterns, raw, starts, stopped)[index_of_change]

    return matched


def match_messages(history: History, patterns: Sequence[CompiledPattern], stopped: Stopped) -> BoolArray:
    """Return a mask of the commits whose messages any of the patterns matches."""
    masks = [np.zeros(0, np.bool_)]
    for segment in history.segments:
        starts = segment["message_starts"].view(np.int64)
        masks.append(texts_matching_any(patterns, segment.bytes_of("messages"), starts, stopped))

    return np.concatenate(masks)
