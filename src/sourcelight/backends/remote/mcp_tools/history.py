"""`commit_search`, `diff_search`, `compare_revisions` and `get_contributor_repos` of a service."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from sourcelight.backends.remote.mcp_tools.asking import Asked
from sourcelight.backends.remote.mcp_tools.dated import Entry, everything, instant
from sourcelight.backends.remote.mcp_tools.fitting import bounds, taken
from sourcelight.backends.remote.mcp_tools.payload import is_cut, notices
from sourcelight.core.batches.answers import Answer
from sourcelight.core.batches.tables import TABLES
from sourcelight.core.batches.tables.building import table_of
from sourcelight.core.errors import ProtocolError

_MOST_PAGES = 10_000
# Names of payloads that are not the camelCase of a column.
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
}
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


def _row(entry: Entry, columns: str) -> dict[str, Any]:
    """Values of an entry by column, dates as moments in UTC."""
    row: dict[str, Any] = {}
    for column in TABLES[columns]:
        row[column.name] = None
    for key, value in entry.items():
        name = _COLUMNS.get(key) or _HUMP.sub(lambda found: f"_{found[1].lower()}", key)
        if name in row and value is not None:
            row[name] = value
    for column in TABLES[columns]:
        if column.type == "timestamp" and isinstance(row[column.name], str):
            row[column.name] = instant(row[column.name])
    return row


def _table(columns: str, rows: list[dict[str, Any]]) -> Any:
    return table_of(columns, len(rows), **{c.name: [row[c.name] for row in rows] for c in TABLES[columns]})


def _commit_date(entry: Entry) -> datetime | None:
    return instant(entry.get("committerDate") or entry.get("commitDate"))


async def _commit_search(asked: Asked) -> Answer:
    found = await everything(asked, "commits", _commit_date)
    rows = [_commit(asked, entry) for entry in found.entries]
    return Answer("commits", _table("commits", rows), _facts(asked), found.complete, tuple(found.notices))


def _commit(asked: Asked, entry: Entry) -> dict[str, Any]:
    row = _row(entry, "commits")
    subject, body = str(entry.get("subject") or ""), str(entry.get("body") or "").strip("\n")
    row["message"] = row["message"] or (f"{subject}\n\n{body}" if body else subject)
    row["subject"] = subject
    for date, offset in (("author_date", "author_utc_offset"), ("commit_date", "commit_utc_offset")):
        moment = row[date]
        if row[offset] is None and moment is not None and moment.utcoffset() is not None:
            row[offset] = int(moment.utcoffset().total_seconds() // 60)
    if isinstance(row["files"], list):
        row["files"] = len(row["files"])
    row["url"] = asked.relative(str(entry.get("url") or ""))
    row["co_authors"] = row["co_authors"] or []
    return row


async def _diff_search(asked: Asked) -> Answer:
    found = await everything(asked, "results", _commit_date)
    rows = [row for entry in found.entries for row in _lines(entry)]
    return Answer("diff_lines", _table("diff_lines", rows), _facts(asked), found.complete, tuple(found.notices))


def _lines(entry: Entry) -> Iterator[dict[str, Any]]:
    """Matched lines of a commit's diff; where a service marks none, all added and removed ones."""
    commit = _row(entry, "diff_lines")
    for file in entry.get("files") or ():
        path = file.get("newPath") or file.get("path") or file.get("oldPath")
        place = {**commit, "path": path, "old_path": file.get("oldPath") or path}
        for hunk in file.get("hunks") or ():
            marked = {match["line"]: match for match in hunk.get("matches") or ()}
            old, new = int(hunk.get("oldStart") or 0), int(hunk.get("newStart") or 0)
            for at, text in enumerate(hunk.get("lines") or ()):
                sign = text[:1]
                spans = marked.get(at)
                if sign in {"+", "-"} and (spans is not None or not marked):
                    yield {
                        **place,
                        "side": "added" if sign == "+" else "removed",
                        "line_number": new if sign == "+" else old,
                        "line": text[1:],
                        "start": list((spans or {}).get("starts") or ()),
                        "end": list((spans or {}).get("ends") or ()),
                    }
                old += sign != "+"
                new += sign != "-"


async def _compare_revisions(asked: Asked) -> Answer:
    given = dict(asked.arguments)
    schema = await asked.schema()
    size = taken(schema, "first")
    wanted: int | None = given.get("first")
    if wanted is None and size is not None and (most := bounds(schema, size)[1]) is not None:
        given[size] = most
    rows: list[dict[str, Any]] = []
    value: Mapping[str, Any] = {}
    for _ in range(_MOST_PAGES):
        read = (await asked.ask(given)).read(("fileDiffs",))
        if isinstance(read, str):
            raise ProtocolError(
                "the service answered compare_revisions with text that is not known to this version", excerpt=read[:120]
            )
        value = read
        rows += [_file_diff(asked, value, entry, len(rows)) for entry in value.get("fileDiffs") or ()]
        page = value.get("pageInfo") or {}
        asked.tell("comparing", len(rows), int((value.get("totals") or {}).get("files") or 0), "files")
        if wanted is not None or not page.get("hasNextPage") or not page.get("endCursor"):
            break
        given["after"] = page["endCursor"]
    page = value.get("pageInfo") or {}
    facts = {
        **_facts(asked),
        "base_commit": (value.get("base") or {}).get("oid", ""),
        "head_commit": (value.get("head") or {}).get("oid", ""),
        "totals": dict(value.get("totals") or {}),
        "end_cursor": page.get("endCursor"),
        "has_next_page": bool(page.get("hasNextPage")),
    }
    complete = not page.get("hasNextPage") and not any(row["truncated"] for row in rows)
    return Answer("file_diffs", _table("file_diffs", rows), facts, complete, notices(value))


def _file_diff(asked: Asked, value: Mapping[str, Any], entry: Entry, ordinal: int) -> dict[str, Any]:
    row = _row(entry, "file_diffs")
    path, old = entry.get("newPath"), entry.get("oldPath")
    row |= {
        "repository": asked.arguments["repo"],
        "base": (value.get("base") or {}).get("oid", ""),
        "head": (value.get("head") or {}).get("oid", ""),
        "path": path or old,
        "old_path": old or path,
        "truncated": bool(entry.get("truncated")),
        "binary": bool(entry.get("binary")),
        "status": str(entry.get("status") or "modified"),
    }
    row["ordinal"] = ordinal if row["ordinal"] is None else row["ordinal"]
    return row


async def _get_contributor_repos(asked: Asked) -> Answer:
    given = dict(asked.arguments)
    schema = await asked.schema()
    size = taken(schema, "limit")
    if "limit" not in given and size is not None and (most := bounds(schema, size)[1]) is not None:
        given[size] = most
    value = (await asked.ask(given)).read(("repos",))
    if isinstance(value, str):
        raise ProtocolError(
            "the service answered get_contributor_repos with text that is not known to this version",
            excerpt=value[:120],
        )
    entries = list(value.get("repos") or ())
    rows = [_row(entry, "contributor_repositories") for entry in entries]
    cut = is_cut(value) if "limitHit" in value else len(rows) == given.get(size or "limit", 20)
    said = notices(value) or (("The service gives no more than these.",) if cut else ())
    return Answer("contributor_repositories", _table("contributor_repositories", rows), _facts(asked), not cut, said)


def _facts(asked: Asked) -> dict[str, Any]:
    return dict(asked.arguments)


ANSWERS: Mapping[str, Callable[[Asked], Awaitable[Answer]]] = {
    "commit_search": _commit_search,
    "diff_search": _diff_search,
    "compare_revisions": _compare_revisions,
    "get_contributor_repos": _get_contributor_repos,
}
