"""Entries of a service about commits: their dates, and their fields as columns of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.commit_messages import CO_AUTHORS, REVIEWERS, people_of_trailers
from sourcelight.core.batches.persons import is_bot
from sourcelight.core.tools.catalog import COLUMNS

Entry = Mapping[str, Any]

_COLUMNS = {
    "repo": "repository",
    "name": "repository",
    "oid": "commit",
    "authorName": "author",
    "committerName": "committer",
    "committerDate": "commit_date",
    "firstCommit": "first_date",
    "lastCommit": "last_date",
    "newPath": "path",
    "filesChanged": "files",
    "authorUtcOffset": "author_utc_offset_min",
    "commitUtcOffset": "commit_utc_offset_min",
    "ordinal": "position",
    "similarity": "score",
}
"""Columns by the field of an entry, where a column's name isn't the field's in snake_case."""

_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
"""A capital letter within a key: the ``N`` of ``authorName``."""

_UTC_OFFSETS = {"author_date": "author_utc_offset_min", "commit_date": "commit_utc_offset_min"}
"""The column with the offset from UTC of each column of dates."""

_TRAILERS = {"co_authors": CO_AUTHORS, "reviewers": REVIEWERS}
"""The trailers that name the people in a column."""


class UnparsedText(Exception):
    """Raised for a text in an unknown form; `text` is all of it."""

    def __init__(self, text: str) -> None:
        super().__init__("a text in an unknown form")
        self.text = text


def commit_date(entry: Entry) -> datetime | None:
    """Return the date of a commit, by which services sort."""
    return parse_instant(entry.get("committerDate") or entry.get("commitDate"))


def parse_instant(text: Any) -> datetime | None:
    """Parse a moment of RFC 3339; return None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def row_of(entry: Entry, columns: str) -> dict[str, Any]:
    """Return the values of an entry by column, dates as moments; None for columns that it lacks."""
    row: dict[str, Any] = {column.name: None for column in COLUMNS[columns]}
    for key, value in entry.items():
        name = _COLUMNS.get(key) or _HUMP.sub(lambda match: f"_{match[1].lower()}", key)
        if name in row and value is not None:
            row[name] = value

    for column in COLUMNS[columns]:
        if column.type == "timestamp" and isinstance(row[column.name], str):
            row[column.name] = parse_instant(row[column.name])

    return row


def commit_row(request: ToolRequest, entry: Entry) -> dict[str, Any]:
    """Return the row of a commit, with the columns that its message and its dates imply."""
    row = row_of(entry, "commits")
    subject, body = str(entry.get("subject") or ""), str(entry.get("body") or "").strip("\n")
    row["message"] = row["message"] or (f"{subject}\n\n{body}" if body else subject)
    row["subject"] = subject
    for date, offset in _UTC_OFFSETS.items():
        moment = row[date]
        if row[offset] is None and moment is not None and moment.utcoffset() is not None:
            row[offset] = int(moment.utcoffset().total_seconds() // 60)

    if isinstance(row["files"], list):
        row["files"] = len(row["files"])

    row["url"] = request.relative(str(entry.get("url") or ""))
    for column, tokens in _TRAILERS.items():
        people = people_of_trailers(row["message"], tokens)
        row[column] = row[column] or [f"{name} <{address}>" for name, address in people]

    if row["bot"] is None and row["author"] is not None:
        row["bot"] = is_bot(row["author"], row["author_email"] or "")

    return row
