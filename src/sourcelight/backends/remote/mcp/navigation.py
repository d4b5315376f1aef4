"""`go_to_definition` and `find_references` of a service."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.backends.remote.mcp.payloads import (
    TextChunk,
    bounds,
    files,
    is_cut,
    notes,
    notices,
    numbered_chunks,
    taken,
)
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import COLUMNS, table_of

_HEX = re.compile(r"[0-9a-f]{40}")
_MOST_REFERENCES = 10_000
_ABOVE = 4  # lines that services of the text form show over a reference
_SHOWN_ABOVE = 2  # and over a definition


async def _go_to_definition(asked: ToolRequest) -> ToolResult:
    value = (await asked.ask(asked.arguments)).read(("definitions",))
    entries = _entries(value, "definitions")
    rows = [_definition(asked, rank, entry) for rank, entry in enumerate(entries, 1)]
    return _answer(asked, "definitions", rows, value)


async def _find_references(asked: ToolRequest) -> ToolResult:
    given = dict(asked.arguments)
    schema = await asked.schema()
    limit = taken(schema, "limit")
    if "limit" not in given and limit is not None:
        given[limit] = bounds(schema, limit)[1] or _MOST_REFERENCES
    value = (await asked.ask(given)).read(("references",))
    rows = [row for entry in _entries(value, "references") for row in _references(asked, entry)]
    return _answer(asked, "references", rows, value)


def _entries(value: Mapping[str, Any] | str, key: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, str):
        return list(value.get(key) or ())
    return [
        {"repo": file.repository, "path": file.path, "chunks": [_as_object(chunk) for chunk in file.chunks]}
        for file in files(value)
    ]


def _as_object(chunk: TextChunk) -> dict[str, Any]:
    numbered = "".join(f"{number}: {line}\n" for number, line in enumerate(chunk.lines, chunk.first))
    return {"startLine": chunk.first, "content": numbered}


def _place(asked: ToolRequest, entry: Mapping[str, Any]) -> dict[str, Any]:
    said, url = str(entry.get("rev") or ""), asked.blob(str(entry.get("url") or ""))
    asked_there = str(entry.get("repo")) == asked.arguments["repo"]
    return {
        "repository": str(entry.get("repo") or url.repository),
        "revision": (asked.arguments.get("revision") or "") if asked_there else "",
        "commit": said if _HEX.fullmatch(said) else url.commit or None,
        "path": str(entry.get("path") or url.path),
        "symbol": asked.arguments["symbol"],
    }


def _symbol_on(lines: list[str], first: int, symbol: str, likely: int) -> tuple[int, str, int | None, int | None]:
    """Line, text and span of a symbol in some lines; where services give none, the likely line is looked at first."""
    name = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    order = sorted(range(len(lines)), key=lambda at: (at != likely, at))
    for at in order:
        if found := name.search(lines[at]):
            return first + at, lines[at], found.start(), found.end()
    at = min(likely, len(lines) - 1)
    return first + at, lines[at], None, None


def _definition(asked: ToolRequest, rank: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    chunks: Sequence[Mapping[str, Any]] = entry.get("chunks") or ({},)
    pieces = numbered_chunks(str(chunks[0].get("content") or ""))
    piece = pieces[0] if pieces else TextChunk(int(chunks[0].get("startLine") or 1), [""])
    lines = piece.lines
    number, line, start, end = _symbol_on(lines, piece.first, asked.arguments["symbol"], _SHOWN_ABOVE)
    row = {
        **_place(asked, entry),
        "rank": rank,
        "line_number": number,
        "line": line,
        "start": start,
        "end": end,
        "code": "\n".join(lines),
        "start_line": piece.first,
        "end_line": piece.first + len(lines) - 1,
        "precise": False,
    }
    if isinstance(entry.get("line"), int):
        row |= {"line_number": entry["line"], "line": str(entry.get("text") or ""), "start": None, "end": None}
    same = ("kind", "how", "precise", "score", "start", "end", "container", "signature", "documentation", "reason")
    row |= {name: entry[name] for name in same if name in entry}
    row |= {ours: entry[name] for name, ours in (("beginLine", "start_line"), ("endLine", "end_line")) if name in entry}
    return row


def _references(asked: ToolRequest, entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    place = _place(asked, entry)
    for chunk in entry.get("chunks") or ():
        facts = {
            name: chunk[name] for name in ("role", "container", "how", "precise", "score", "reason") if name in chunk
        }
        for piece in numbered_chunks(str(chunk.get("content") or "")):
            spans = [span for span in chunk.get("ranges") or () if 0 <= span["line"] - piece.first < len(piece.lines)]
            for span in spans:
                line = piece.lines[span["line"] - piece.first]
                where = {"line_number": span["line"], "line": line, "start": span.get("start"), "end": span.get("end")}
                yield {**place, "precise": False, **where, **facts}
            if not spans:
                number, line, start, end = _symbol_on(piece.lines, piece.first, asked.arguments["symbol"], _ABOVE)
                where = {"line_number": number, "line": line, "start": start, "end": end}
                yield {**place, "precise": False, **where, **facts}


def _answer(asked: ToolRequest, columns: str, rows: list[dict[str, Any]], value: Mapping[str, Any] | str) -> ToolResult:
    said = notes(value) if isinstance(value, str) else notices(value)
    cut = bool(said) if isinstance(value, str) else is_cut(value)
    names = [column.name for column in COLUMNS[columns]]
    table = table_of(columns, len(rows), **{name: [row.get(name) for row in rows] for name in names})
    given = asked.arguments
    commits = [row["commit"] for row in rows if row["repository"] == given["repo"] and row["commit"]]
    facts = {
        "repository": given["repo"],
        "revision": given.get("revision") or "",
        "commit": commits[0] if commits else "",
        "path": given["path"],
        "symbol": given["symbol"],
    }
    return ToolResult(columns, table, facts, not cut, said)


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "go_to_definition": _go_to_definition,
    "find_references": _find_references,
}
