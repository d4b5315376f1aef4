"""`go_to_definition` and `find_references` of a service."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.backends.remote.mcp.arguments import accepted_name, limits_of
from sourcelight.backends.remote.mcp.payloads import (
    TextChunk,
    files,
    is_cut,
    keep_text,
    means_empty,
    notices,
    numbered_chunks,
    unnumbered_lines,
)
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import COLUMNS, table_of

_HEX = re.compile(r"[0-9a-f]{40}")
_MAX_REFERENCES = 10_000
_USUAL_PAGES = frozenset({10, 20, 50, 100})  # 10 is documented without a limit; others are round numbers

_LINES_ABOVE_REFERENCE, _LINES_ABOVE_DEFINITION = 4, 2
"""Lines of context that services of the text form show above a reference, and above a definition."""


async def _go_to_definition(request: ToolRequest) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("definitions",))
    entries = _entries(value, "definitions")
    if isinstance(value, str) and not entries and not means_empty(value):
        return keep_text(request.name, value, symbol=request.arguments["symbol"])
    rows = [_definition(request, rank, entry) for rank, entry in enumerate(entries, 1)]
    return _answer(request, "definitions", rows, value)


async def _find_references(request: ToolRequest) -> ToolResult:
    arguments = dict(request.arguments)
    schema = await request.schema()
    limit = accepted_name(schema, "limit")
    if "limit" not in arguments and limit is not None:
        arguments[limit] = limits_of(schema, limit)[1] or _MAX_REFERENCES

    value = (await request.ask(arguments)).read(("references",))
    entries = _entries(value, "references")
    if isinstance(value, str) and not entries and not means_empty(value):
        return keep_text(request.name, value, symbol=request.arguments["symbol"])

    rows = [row for entry in entries for row in _references(request, entry)]
    answer = _answer(request, "references", rows, value)
    page = arguments.get(limit or "limit")
    has_limit_hit = not isinstance(value, str) and "limitHit" in value
    if (
        answer.complete
        and not has_limit_hit
        and "limit" not in request.arguments
        and len(rows) in {page, *_USUAL_PAGES}
    ):
        notice = f"The service returns {len(rows):,} references, which may be as many as it returns at once."
        return replace(answer, complete=False, notices=(*answer.notices, notice))

    return answer


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


def _definition(request: ToolRequest, rank: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    chunks: Sequence[Mapping[str, Any]] = entry.get("chunks") or ({},)
    text_chunks = numbered_chunks(str(chunks[0].get("content") or ""))
    text_chunk = text_chunks[0] if text_chunks else TextChunk(int(chunks[0].get("startLine") or 1), [""])
    lines = text_chunk.lines
    number, line, start, end = _symbol_on(lines, text_chunk.first, request.arguments["symbol"], _LINES_ABOVE_DEFINITION)
    row = {
        **_position(request, entry),
        "rank": rank,
        "line_number": number,
        "line": line,
        "start": start,
        "end": end,
        "code": "\n".join(lines),
        "start_line": text_chunk.first,
        "end_line": text_chunk.first + len(lines) - 1,
        "precise": entry.get("precise", _is_precise(entry)),
        **({"container": "", "signature": "", "documentation": ""} if "how" in entry else {}),
    }
    own_number = entry.get("line")
    if isinstance(own_number, int):
        own_line = lines[own_number - text_chunk.first] if 0 <= own_number - text_chunk.first < len(lines) else ""
        row |= {"line_number": own_number, "line": str(entry.get("text") or own_line), "start": None, "end": None}

    shared_names = ("kind", "how", "score", "start", "end", "container", "signature", "documentation", "reason")
    row |= {name: entry[name] for name in shared_names if name in entry}
    renamed = (("beginLine", "start_line"), ("endLine", "end_line"))
    row |= {column: entry[name] for name, column in renamed if name in entry}
    return row | _cell(entry)


def _symbol_on(lines: list[str], first: int, symbol: str, likely: int) -> tuple[int, str, int | None, int | None]:
    """Return line, text and span of a symbol in some lines, starting with the most likely line."""
    name = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    order = sorted(range(len(lines)), key=lambda position: (position != likely, position))
    for position in order:
        if match := name.search(lines[position]):
            return first + position, lines[position], match.start(), match.end()
    position = min(likely, len(lines) - 1)
    return first + position, lines[position], None, None


def _position(request: ToolRequest, entry: Mapping[str, Any]) -> dict[str, Any]:
    revision, url = str(entry.get("rev") or ""), request.blob(str(entry.get("url") or ""))
    is_requested_repository = str(entry.get("repo")) == request.arguments["repo"]
    return {
        "repository": str(entry.get("repo") or url.repository),
        "revision": (request.arguments.get("revision") or "") if is_requested_repository else "",
        "commit": revision if _HEX.fullmatch(revision) else url.commit or None,
        "path": str(entry.get("path") or url.path),
        "symbol": request.arguments["symbol"],
    }


def _cell(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a name in a notebook."""
    return {column: entry[name] for name, column in (("cell", "cell"), ("cellLine", "cell_line")) if name in entry}


def _is_precise(entry: Mapping[str, Any]) -> bool:
    """Return whether the answer is from a compiler's index file; with `how`, empty texts are absent."""
    return bool(entry.get("how") == "scip")


def _references(request: ToolRequest, entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    location = _position(request, entry)
    for chunk in entry.get("chunks") or ():
        info = {
            "precise": chunk.get("precise", _is_precise(chunk)),
            **({"container": ""} if "how" in chunk else {}),
            **{name: chunk[name] for name in ("role", "container", "how", "score", "reason") if name in chunk},
            **_cell(chunk),
        }
        for text_chunk in numbered_chunks(str(chunk.get("content") or "")):
            spans = [
                span
                for span in chunk.get("ranges") or ()
                if 0 <= span["line"] - text_chunk.first < len(text_chunk.lines)
            ]
            for span in spans:
                line = chunk.get("text") or text_chunk.lines[span["line"] - text_chunk.first]
                start, end = span.get("start"), span.get("end")
                yield {**location, "line_number": span["line"], "line": line, "start": start, "end": end, **info}

            if not spans:
                number, line, start, end = _symbol_on(
                    text_chunk.lines, text_chunk.first, request.arguments["symbol"], _LINES_ABOVE_REFERENCE
                )
                yield {**location, "line_number": number, "line": line, "start": start, "end": end, **info}


def _answer(
    request: ToolRequest, columns: str, rows: list[dict[str, Any]], value: Mapping[str, Any] | str
) -> ToolResult:
    messages = (unnumbered_lines(value) if rows else ()) if isinstance(value, str) else notices(value)
    is_truncated = bool(messages) if isinstance(value, str) else is_cut(value)
    names = [column.name for column in COLUMNS[columns]]
    table = table_of(columns, len(rows), **{name: [row.get(name) for row in rows] for name in names})
    arguments = request.arguments
    commits = [row["commit"] for row in rows if row["repository"] == arguments["repo"] and row["commit"]]
    info = {
        "repository": arguments["repo"],
        "revision": arguments.get("revision") or "",
        "commit": commits[0] if commits else "",
        "path": arguments["path"],
        "symbol": arguments["symbol"],
    }
    return ToolResult(columns=columns, table=table, attributes=info, complete=not is_truncated, notices=messages)


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "go_to_definition": _go_to_definition,
    "find_references": _find_references,
}
