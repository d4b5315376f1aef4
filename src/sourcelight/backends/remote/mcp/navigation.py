"""`go_to_definition` and `find_references` of a service."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.backends.remote.mcp import text_forms
from sourcelight.backends.remote.mcp.payloads import is_cut, keep_text, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import table_of_rows

_HEX = re.compile(r"[0-9a-f]{40}")
"""A commit."""

_MAX_REFERENCES = 10_000
"""References to ask for where a service has a limit without saying how large it may be."""

_USUAL_PAGES = frozenset({10, 20, 50, 100})  # 10 is documented without a limit; others are round numbers

_LINES_ABOVE_REFERENCE, _LINES_ABOVE_DEFINITION = 4, 2
"""Lines of context that services of the text form show above a reference, and above a definition."""

_DEFINITION_FIELDS = ("kind", "how", "score", "start", "end", "container", "signature", "documentation", "reason")
_REFERENCE_FIELDS = ("role", "container", "how", "score", "reason")
"""Fields of an entry that are columns under the same name."""

_BODY_COLUMNS = {"beginLine": "start_line", "endLine": "end_line"}
_CELL_COLUMNS = {"cell": "cell", "cellLine": "cell_line"}
"""Columns by the field of an entry: the lines of a definition, and the place of a name in a notebook."""


async def _go_to_definition(request: ToolRequest) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("definitions",))
    entries = _entries(value, "definitions")
    if isinstance(value, str) and not entries and not text_forms.means_empty(value):
        return keep_text(request.name, value, symbol=request.arguments["symbol"])
    rows = [_definition(request, rank, entry) for rank, entry in enumerate(entries, 1)]
    return _answer(request, "definitions", rows, value)


async def _find_references(request: ToolRequest) -> ToolResult:
    arguments = dict(request.arguments)
    accepted = await request.accepted_arguments()
    limit = accepted.name_of("limit")
    if "limit" not in arguments and limit is not None:
        arguments[limit] = accepted.maximums.get(limit) or _MAX_REFERENCES

    value = (await request.ask(arguments)).read(("references",))
    entries = _entries(value, "references")
    if isinstance(value, str) and not entries and not text_forms.means_empty(value):
        return keep_text(request.name, value, symbol=request.arguments["symbol"])

    rows: list[dict[str, Any]] = []
    for entry in entries:
        rows += _references(request, entry)

    answer = _answer(request, "references", rows, value)
    page = arguments.get(limit or "limit")
    says_limit = "limit" in request.arguments or (not isinstance(value, str) and "limitHit" in value)
    if answer.complete and not says_limit and len(rows) in {page, *_USUAL_PAGES}:
        notice = f"The service returns {len(rows):,} references, which may be as many as it returns at once."
        return replace(answer, complete=False, notices=(*answer.notices, notice))

    return answer


def _entries(value: Mapping[str, Any] | str, key: str) -> list[Mapping[str, Any]]:
    """Return the entries of a typed object, or those of a text in the same shape."""
    if not isinstance(value, str):
        return list(value.get(key) or ())

    entries: list[Mapping[str, Any]] = []
    for file in text_forms.parse_files(value):
        chunks = [_to_typed_chunk(chunk) for chunk in file.chunks]
        entries.append({"repo": file.repository, "path": file.path, "chunks": chunks})
    return entries


def _to_typed_chunk(chunk: text_forms.TextChunk) -> dict[str, Any]:
    numbered = "".join(f"{number}: {line}\n" for number, line in enumerate(chunk.lines, chunk.first))
    return {"startLine": chunk.first, "content": numbered}


def _definition(request: ToolRequest, rank: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    chunk = _definition_chunk(entry)
    row = {
        **_location(request, entry),
        **_find_symbol(chunk, request.arguments["symbol"], _LINES_ABOVE_DEFINITION).columns(),
        "rank": rank,
        "code": "\n".join(chunk.lines),
        "start_line": chunk.first,
        "end_line": chunk.last,
        "precise": entry.get("precise", _is_precise(entry)),
    }
    if "how" in entry:
        # A service that sends `how` omits texts that are empty; others don't have them.
        row |= {"container": "", "signature": "", "documentation": ""}

    number = entry.get("line")
    if isinstance(number, int):
        line = chunk.line(number) if chunk.has_line(number) else ""
        row |= {"line_number": number, "line": str(entry.get("text") or line), "start": None, "end": None}

    row |= {name: entry[name] for name in _DEFINITION_FIELDS if name in entry}
    return row | _rename(entry, _BODY_COLUMNS) | _rename(entry, _CELL_COLUMNS)


def _definition_chunk(entry: Mapping[str, Any]) -> text_forms.TextChunk:
    """Return the first chunk of a definition; one empty line without any."""
    chunks: Sequence[Mapping[str, Any]] = entry.get("chunks") or ({},)
    text_chunks = text_forms.parse_chunks(str(chunks[0].get("content") or ""))
    return text_chunks[0] if text_chunks else text_forms.TextChunk(int(chunks[0].get("startLine") or 1), [""])


@dataclass(frozen=True, slots=True)
class _SymbolLine:
    """A line with a symbol, and the characters of the symbol in it; None for a line that seems not to have it."""

    number: int
    line: str
    start: int | None = None
    end: int | None = None

    def columns(self) -> dict[str, Any]:
        """Return the values of the columns of a table."""
        return {"line_number": self.number, "line": self.line, "start": self.start, "end": self.end}


def _find_symbol(chunk: text_forms.TextChunk, symbol: str, likely: int) -> _SymbolLine:
    """Find the line of a symbol in a chunk: the most likely one by its index, then the others from the top."""
    name = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    for index in sorted(range(len(chunk.lines)), key=lambda index: (index != likely, index)):
        match = name.search(chunk.lines[index])
        if match is not None:
            return _SymbolLine(chunk.first + index, chunk.lines[index], match.start(), match.end())

    index = min(likely, len(chunk.lines) - 1)
    return _SymbolLine(chunk.first + index, chunk.lines[index])


def _location(request: ToolRequest, entry: Mapping[str, Any]) -> dict[str, Any]:
    url = request.blob(str(entry.get("url") or ""))
    # The requested revision is one of the requested repository alone.
    revision = ""
    if str(entry.get("repo")) == request.arguments["repo"]:
        revision = request.arguments.get("revision") or ""

    commit = str(entry.get("rev") or "")
    if not _HEX.fullmatch(commit):
        commit = url.commit

    return {
        "repository": str(entry.get("repo") or url.repository),
        "revision": revision,
        "commit": commit or None,
        "path": str(entry.get("path") or url.path),
        "symbol": request.arguments["symbol"],
    }


def _rename(entry: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of an entry under the names of their columns, those that it has."""
    return {column: entry[name] for name, column in columns.items() if name in entry}


def _is_precise(entry: Mapping[str, Any]) -> bool:
    """Return whether the answer is from a compiler's index file."""
    return bool(entry.get("how") == "scip")


def _references(request: ToolRequest, entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    location = _location(request, entry)
    for chunk, _, text_chunks in request.chunks_of(entry):
        columns = {"precise": chunk.get("precise", _is_precise(chunk))}
        if "how" in chunk:
            columns["container"] = ""  # omitted where it is empty
        columns |= {name: chunk[name] for name in _REFERENCE_FIELDS if name in chunk}
        columns |= _rename(chunk, _CELL_COLUMNS)
        for line in _reference_lines(chunk, text_chunks, request.arguments["symbol"]):
            yield {**location, **line.columns(), **columns}


def _reference_lines(
    chunk: Mapping[str, Any], text_chunks: Sequence[text_forms.TextChunk], symbol: str
) -> Iterator[_SymbolLine]:
    """Yield the lines of a chunk that its ranges name; without ranges, the one that is most likely."""
    for text_chunk in text_chunks:
        spans = [span for span in chunk.get("ranges") or () if text_chunk.has_line(span["line"])]
        for span in spans:
            line = chunk.get("text") or text_chunk.line(span["line"])
            yield _SymbolLine(span["line"], line, span.get("start"), span.get("end"))

        if not spans:
            yield _find_symbol(text_chunk, symbol, _LINES_ABOVE_REFERENCE)


def _answer(
    request: ToolRequest, columns: str, rows: list[dict[str, Any]], value: Mapping[str, Any] | str
) -> ToolResult:
    if isinstance(value, str):
        messages = text_forms.unnumbered_lines(value) if rows else ()
        is_truncated = bool(messages)
    else:
        messages = notices(value)
        is_truncated = is_cut(value)

    arguments = request.arguments
    commits = [row["commit"] for row in rows if row["repository"] == arguments["repo"] and row["commit"]]
    info = {
        "repository": arguments["repo"],
        "revision": arguments.get("revision") or "",
        "commit": commits[0] if commits else "",
        "path": arguments["path"],
        "symbol": arguments["symbol"],
    }
    return ToolResult(
        columns=columns,
        table=table_of_rows(columns, rows),
        attributes=info,
        complete=not is_truncated,
        notices=messages,
    )


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "go_to_definition": _go_to_definition,
    "find_references": _find_references,
}
