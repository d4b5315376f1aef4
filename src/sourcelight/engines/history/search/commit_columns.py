"""Columns of the ``matches`` table that describe commits, and the sizes of batches of a history."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import RepositoryInfo
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.tables import Column
from sourcelight.engines.history.search.trailer_columns import agent_texts

FIRST_BATCH_ROWS = 50
"""Rows of the first batch of a repository; each further one has twice as many, up to `MAX_BATCH_ROWS`."""

MAX_BATCH_ROWS = 2000
"""Rows of a batch."""

_MAX_LABEL_CHARS = 1000
"""Characters of a subject in a label, far more than a subject of one line has."""

_HOST = re.compile(r"(?<![^/])[^/.]*+\.[^/]*+/(?=[^/]+/)")
"""A part of a repository's name that is a host: ``github.com/`` of ``github.com/owner/name``."""

_AGES = ((60, "minute"), (60, "hour"), (24, "day"), (7, "week"), (4.345, "month"), (12, "year"))
"""Units of an age, each with how many of the unit before it make one: 4.345 weeks are a twelfth of 365.25 days."""


def batch_sizes() -> Iterator[int]:
    """Yield the sizes of batches in rows, without end.

    The first batch is small, so that rows appear soon; later ones double, so that their number stays small.
    """
    size = FIRST_BATCH_ROWS
    while True:
        yield size
        size = min(2 * size, MAX_BATCH_ROWS)


def commit_columns(
    history: History,
    repository_info: RepositoryInfo,
    kind: str,
    commits: CommitNumbers,
    messages: Column,
    commit_of_row: Int64Array,
) -> dict[str, Column]:
    """Return the columns that describe commits, for the rows of a batch.

    Parameters
    ----------
    history, repository_info
        The history, and the repository that it is of.
    kind
        Type of the rows: ``commit`` or ``diff``.
    commits
        The commits of the batch.
    messages
        Their messages.
    commit_of_row
        Index into `commits` of each row.
    """
    columns = history.commits
    count = len(commit_of_row)
    oids = tables.hex_texts(columns.oid[commits])
    names = tables.author_names(history, columns.author[commits]).cast(pa.string())
    links = _make_links(history, repository_info.name, commits=commits, oids=oids, names=names)

    # Texts are made once a commit, and taken for each of its rows.
    rows = pa.array(commit_of_row)

    # Dictionary-encoded: a commit with a thousand changed lines has one copy of its message.
    def dictionary(values: Column) -> Column:
        return values.dictionary_encode().take(rows)

    return {
        "type": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([kind])),
        "repository": tables.constant(repository_info.name, count),
        "repository_id": pa.array(np.full(count, repository_info.id, np.int64)),
        "revision": tables.constant("", count),
        "commit": dictionary(oids),
        "author": dictionary(names),
        "author_email": tables.author_emails(history, columns.author[commits]).take(rows),
        "author_date": tables.times(columns.author_time[commits]).take(rows),
        "committer": tables.author_names(history, columns.committer[commits]).take(rows),
        "commit_date": tables.times(columns.commit_time[commits]).take(rows),
        "message": dictionary(messages),
        "agent": dictionary(agent_texts(history, commits, messages)),
        "url": pa.array(links.urls, pa.string()).take(rows),
        "detail": pa.array(links.details, pa.string()).take(rows),
        "label": pa.array(links.labels, pa.string()).take(rows),
    }


@dataclass(frozen=True, slots=True)
class _CommitLinks:
    """Of each commit its path on a service, and two Markdown texts that link to it.

    A label is ``[owner/name](url) > [author](url): [subject](url)``, a detail the abbreviated id and the age.
    """

    urls: list[str]
    labels: list[str]
    details: list[str]


def _make_links(
    history: History, repository: str, *, commits: CommitNumbers, oids: Column, names: Column
) -> _CommitLinks:
    # The label shows OWNER/NAME; the host stays in the link.
    short_name = repository
    if repository.count("/") > 1:
        short_name = _HOST.sub("", repository, count=1)

    # The clock is read once, so that commits of one time have one age.
    now = time.time()
    author_times = history.commits.author_time[commits].tolist()
    subjects = tables.subject_texts(history, commits).to_pylist()
    links = _CommitLinks(urls=[], labels=[], details=[])
    for oid, name, subject, author_time in zip(
        oids.to_pylist(), names.to_pylist(), subjects, author_times, strict=True
    ):
        url = f"/{repository}/-/commit/{oid}"
        links.urls.append(url)
        links.labels.append(f"[{short_name}](/{repository}) \u203a [{name}]({url}): [{shorten(subject)}]({url})")
        links.details.append(f"[`{oid[:7]}` {format_age(now - author_time)}]({url})")

    return links


def shorten(subject: str) -> str:
    """Return a subject for a label: each row has it, and a subject may have megabytes."""
    if len(subject) <= _MAX_LABEL_CHARS:
        return subject
    return f"{subject[: _MAX_LABEL_CHARS - 1]}\u2026"


def format_age(seconds: float) -> str:
    """Return an age in the largest unit that fits: ``3 weeks ago``; a negative one as ``3 weeks from now``."""
    count, unit = abs(seconds), "second"
    for size, larger_unit in _AGES:
        if count < size:
            break
        count, unit = count / size, larger_unit

    # Not by `count_of`, which takes twice as long: each commit of a result has an age.
    rounded = int(count)
    noun = unit if rounded == 1 else f"{unit}s"
    if seconds < 0:
        return f"{rounded} {noun} from now"
    return f"{rounded} {noun} ago"
