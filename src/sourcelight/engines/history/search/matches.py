"""Commits and changed lines as rows of the table of matches, which queries answer with."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import RepositoryInfo, arrow_type
from sourcelight.core.boolean import Not
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History, Ints
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import DiffMatches, removed_rows
from sourcelight.engines.history.search.lines import distinct
from sourcelight.engines.history.search.query import PatternTerm, Tree

FIRST_ROWS = 50
"""Rows of the first batch of a repository; each further one has twice as many, up to `MOST_ROWS`."""

MOST_ROWS = 2000

_HOST = re.compile(r"[^/]*\.[^/]*/(?=[^/]+/)")
_AGES = ((60, "minute"), (60, "hour"), (24, "day"), (7, "week"), (4.345, "month"), (12, "year"))

_Row = tuple[int, int, str, list[int], list[int]]


def commit_matches(history: History, facts: RepositoryInfo, commits: Ints, tree: Tree | None) -> Iterator[Any]:
    """Batches of rows of type ``commit``, in the given order.

    A row is a line of the message with matches; a commit without any has one row, for the first line.
    """
    patterns = shown_patterns(tree)
    size = FIRST_ROWS
    low = 0
    while low < len(commits):
        part = commits[low : low + size]
        low, size = low + size, min(2 * size, MOST_ROWS)
        messages = tables.message_texts(history, part)
        rows = [row for at, text in enumerate(messages.to_pylist()) for row in _message_rows(at, text, patterns)]
        which = np.array([row[0] for row in rows], np.int64)
        columns = _columns(history, facts, "commit", part, messages, which)
        columns |= {
            "line_number": pa.array([row[1] for row in rows], pa.int32()),
            "line": pa.array([row[2] for row in rows], pa.string()),
            "start": pa.array([row[3] for row in rows], arrow_type("list")),
            "end": pa.array([row[4] for row in rows], arrow_type("list")),
            "match_count": pa.array([max(1, len(row[3])) for row in rows], pa.int32()),
        }
        yield pa.record_batch(columns)


def _message_rows(at: int, message: str, patterns: Sequence[CompiledPattern]) -> list[_Row]:
    """Lines of a message with the places of matches; a match over several lines has a place in each."""
    raw = message.encode()
    spans = sorted({span for pattern in patterns for span in pattern.find_document(raw)}, key=lambda s: (s[0], -s[1]))
    by_line: dict[int, tuple[list[int], list[int]]] = {}
    end = 0
    for low, high in spans:
        if low < end:
            continue
        end = high
        number, first = raw.count(b"\n", 0, low), raw.rfind(b"\n", 0, low) + 1
        for text in raw[low:high].split(b"\n"):
            if text:
                starts, ends = by_line.setdefault(number, ([], []))
                start = len(raw[first:low].decode("utf-8", "replace"))
                starts.append(start)
                ends.append(start + len(text.decode("utf-8", "replace")))
            number += 1
            low = first = low + len(text) + 1  # noqa: PLW2901 - goes on in the next line
    lines = message.split("\n")
    rows = [(at, number + 1, lines[number], starts, ends) for number, (starts, ends) in sorted(by_line.items())]
    return rows or [(at, 1, lines[0], [], [])]


def diff_matches(history: History, facts: RepositoryInfo, hits: DiffMatches, stopped: Stopped = never) -> Iterator[Any]:
    """Batches of rows of type ``diff``, newest commit first.

    A row is a changed line with matches; a commit without any has one row, without path and line.
    """
    rows, changes = (hits.rows, hits.row_changes) if hits.patterns else (hits.rows[:0], hits.row_changes[:0])
    rank = np.zeros(len(history.commits), np.int64)
    rank[hits.commits] = np.arange(len(hits.commits))
    counts = np.bincount(rank[history.changes.commit[changes]], minlength=len(hits.commits))
    row_ends = np.concatenate(([0], np.cumsum(counts)))
    weights = np.concatenate(([0], np.cumsum(np.maximum(counts, 1))))
    size, low = FIRST_ROWS, 0
    while low < len(hits.commits):
        high = min(int(np.searchsorted(weights, weights[low] + size)), len(hits.commits))
        own = slice(int(row_ends[low]), int(row_ends[high]))
        yield _diff_batch(history, facts, hits.commits[low:high], rows[own], changes[own], hits.patterns, stopped)
        low, size = high, min(2 * size, MOST_ROWS)


def _diff_batch(
    history: History,
    facts: RepositoryInfo,
    commits: Ints,
    rows: Ints,
    changes: Ints,
    patterns: Sequence[CompiledPattern],
    stopped: Stopped,
) -> Any:
    lines, of_row = tables.distinct_lines(history, rows)
    starts, ends = tables.line_spans(lines, patterns, stopped)
    counts = np.diff(tables.int32_of(starts.offsets))[tables.int32_of(of_row)]
    kept = np.flatnonzero(counts)
    rows, changes, counts, of_row = rows[kept], changes[kept], counts[kept], of_row.take(pa.array(kept))
    of_commit = history.changes.commit[changes].astype(np.int64)
    place = np.argsort(commits, kind="stable")
    which = place[np.searchsorted(commits[place], of_commit)]
    bare = np.setdiff1d(np.arange(len(commits)), distinct(np.sort(which)))
    # Rows of matches and rows of commits without any, in the order of the commits.
    order = np.argsort(np.concatenate((which, bare)), kind="stable")
    nothing = pa.array([None] * len(bare), pa.int32())
    removed = removed_rows(history, rows)
    sides = pa.array(np.where(removed, "removed", "added").tolist() + [None] * len(bare), pa.string())
    take = pa.array(order)
    messages = tables.message_texts(history, commits)
    columns = _columns(history, facts, "diff", commits, messages, np.concatenate((which, bare))[order])
    numbers = tables.line_numbers(history, rows, removed).astype(np.int32)
    filled = pa.concat_arrays([pa.array(np.arange(len(rows), dtype=np.int32)), nothing]).take(take)
    empty = pa.array([[]] * len(bare), arrow_type("list"))
    columns |= {
        "path": tables.paths(history, history.changes.path[changes]).take(filled),
        "line_number": pa.array(numbers).take(filled),
        "line": tables.as_text(tables.without_newlines(lines)).take(of_row).take(filled),
        "start": pa.concat_arrays([starts.take(of_row), empty]).take(take),
        "end": pa.concat_arrays([ends.take(of_row), empty]).take(take),
        "match_count": pa.array(np.concatenate((counts, np.ones(len(bare))))[order].astype(np.int32)),
        "side": sides.take(take).dictionary_encode().cast(arrow_type("dict8")),
    }
    return pa.record_batch(columns)


def shown_patterns(tree: Tree | None) -> tuple[CompiledPattern, ...]:
    """Patterns whose places are shown: those that are not denied."""
    if tree is None or isinstance(tree, Not):
        return ()
    if isinstance(tree, PatternTerm):
        return (tree.pattern,) if tree.shown else ()
    return tuple(dict.fromkeys(pattern for arg in tree.args for pattern in shown_patterns(arg)))


def _columns(
    history: History, facts: RepositoryInfo, kind: str, commits: Ints, messages: Any, which: Ints
) -> dict[str, Any]:
    """What rows say of their commits; `which` is the commit of each row."""
    found = history.commits
    oids = tables.hex_texts(found.oid[commits])
    names = tables.author_names(history, found.author[commits]).cast(pa.string()).to_pylist()
    repository = facts.name
    shown = _HOST.sub("", repository, count=1) if repository.count("/") > 1 else repository
    urls = [f"/{repository}/-/commit/{oid}" for oid in oids.to_pylist()]
    subjects = tables.subject_texts(history, commits).to_pylist()
    now = time.time()
    ages = [age(now - seconds) for seconds in found.author_time[commits].tolist()]
    labels = [
        f"[{shown}](/{repository}) \u203a [{name}]({url}): [{subject}]({url})"
        for name, url, subject in zip(names, urls, subjects, strict=True)
    ]
    details = [f"[`{url[-40:-33]}` {when}]({url})" for url, when in zip(urls, ages, strict=True)]
    take = pa.array(which)

    def dictionary(values: Any) -> Any:
        return values.dictionary_encode().take(take)

    count = len(which)
    return {
        "type": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([kind])),
        "repository": tables.constant(repository, count),
        "repository_id": pa.array(np.full(count, facts.id, np.int32)),
        "revision": tables.constant("", count),
        "commit": dictionary(oids),
        "author": dictionary(pa.array(names, pa.string())),
        "author_date": tables.times(found.author_time[commits]).take(take),
        "committer": tables.author_names(history, found.committer[commits]).take(take),
        "commit_date": tables.times(found.commit_time[commits]).take(take),
        "message": dictionary(messages),
        "url": pa.array(urls, pa.string()).take(take),
        "detail": pa.array(details, pa.string()).take(take),
        "label": pa.array(labels, pa.string()).take(take),
    }


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits: ``3 weeks ago``."""
    count, unit = abs(seconds), "second"
    for size, name in _AGES:
        if count < size:
            break
        count, unit = count / size, name
    whole = int(count)
    if seconds < 0:
        return f"{whole} {unit}{'' if whole == 1 else 's'} from now"
    return f"{whole} {unit}{'' if whole == 1 else 's'} ago"
