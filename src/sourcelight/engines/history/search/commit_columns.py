"""Columns of the ``matches`` table that describe commits, and the sizes of batches of a history."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import RepositoryInfo
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.trailer_columns import agent_texts

FIRST_BATCH_ROWS = 50
"""Rows of the first batch of a repository; each further one has twice as many, up to `MAX_BATCH_ROWS`."""

MAX_BATCH_ROWS = 2000

_MAX_LABEL_CHARS = 1000
"""Characters of a subject in a label, far more than a subject of one line has."""


_HOST = re.compile(r"(?<![^/])[^/.]*+\.[^/]*+/(?=[^/]+/)")
# 4.345 weeks are a twelfth of 365.25 days.
_AGES = ((60, "minute"), (60, "hour"), (24, "day"), (7, "week"), (4.345, "month"), (12, "year"))
"""Units of an age, each with how many of the unit before it make one."""


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
    messages: Any,
    commit_of_row: Int64Array,
) -> dict[str, Any]:
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
    commit_columns = history.commits
    oids = tables.hex_texts(commit_columns.oid[commits])
    names = tables.author_names(history, commit_columns.author[commits]).cast(pa.string()).to_pylist()
    repository = repository_info.name

    # The label shows OWNER/NAME; the host stays in the link.
    short_name = _HOST.sub("", repository, count=1) if repository.count("/") > 1 else repository
    urls = [f"/{repository}/-/commit/{oid}" for oid in oids.to_pylist()]
    subjects = [shorten(subject) for subject in tables.subject_texts(history, commits).to_pylist()]
    # The clock is read once, so that commits of one time have one age.
    now = time.time()
    ages = [format_age(now - seconds) for seconds in commit_columns.author_time[commits].tolist()]
    labels = [
        f"[{short_name}](/{repository}) \u203a [{name}]({url}): [{subject}]({url})"
        for name, url, subject in zip(names, urls, subjects, strict=True)
    ]
    details = [f"[`{url[-40:-33]}` {when}]({url})" for url, when in zip(urls, ages, strict=True)]
    # Texts are made once a commit, and taken for each of its rows.
    take = pa.array(commit_of_row)

    def dictionary(values: Any) -> Any:
        return values.dictionary_encode().take(take)

    count = len(commit_of_row)
    return {
        "type": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([kind])),
        "repository": tables.constant(repository, count),
        "repository_id": pa.array(np.full(count, repository_info.id, np.int64)),
        "revision": tables.constant("", count),
        "commit": dictionary(oids),
        "author": dictionary(pa.array(names, pa.string())),
        "author_email": tables.author_emails(history, commit_columns.author[commits]).take(take),
        "author_date": tables.times(commit_columns.author_time[commits]).take(take),
        "committer": tables.author_names(history, commit_columns.committer[commits]).take(take),
        "commit_date": tables.times(commit_columns.commit_time[commits]).take(take),
        "message": dictionary(messages),
        "agent": dictionary(agent_texts(history, commits, messages)),
        "url": pa.array(urls, pa.string()).take(take),
        "detail": pa.array(details, pa.string()).take(take),
        "label": pa.array(labels, pa.string()).take(take),
    }


def shorten(subject: str) -> str:
    """Return a subject for a label: each row has it, and a subject may have megabytes."""
    return subject if len(subject) <= _MAX_LABEL_CHARS else f"{subject[: _MAX_LABEL_CHARS - 1]}\u2026"


def format_age(seconds: float) -> str:
    """Return an age in the largest unit that fits: ``3 weeks ago``."""
    count, unit = abs(seconds), "second"
    for size, name in _AGES:
        if count < size:
            break
        count, unit = count / size, name

    # Not by `count_of`, which takes twice as long: each commit of a result has an age.
    rounded = int(count)
    noun = unit if rounded == 1 else f"{unit}s"
    return f"{rounded} {noun} {'from now' if seconds < 0 else 'ago'}"
