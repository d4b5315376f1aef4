"""`keyword_search` and `nls_search` of a service.

The tools give 15 files at most, with pieces of them. All that a keyword search finds comes from the stream endpoint
instead, with ``count:all``; where that is closed to the credential, and for questions in natural language, the tools
answer, and truncation is reported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa

from sourcelight.backends.remote.mcp import text_forms
from sourcelight.backends.remote.mcp.payloads import is_cut, keep_text, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolResult, file_url
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import Forbidden, NotFound, SearchFailed, Unauthorized
from sourcelight.core.query.build import files_query
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.chunk_table import table_of_batches
from sourcelight.core.wire.events import Alert, ErrorEvent, Progress
from sourcelight.core.wire.request import SearchRequest

_MAX_FILES = 15
_MAX_CHUNKS = 3
_MAX_CHUNK_CHARACTERS = 1024
"""Documented limits of the tools: files of an answer, chunks of a file, and the length of a chunk."""


async def _keyword_search(request: ToolRequest) -> ToolResult:
    query = files_query(request.arguments["query"])
    search_request = SearchRequest(query, pattern_type="keyword", chunk_matches=True, context_lines=1)
    try:
        return await _collect(request, search_request)
    except (Forbidden, Unauthorized, NotFound) as exc:
        closed = f"The stream of the service has all matches, but refuses this credential (status {exc.status})."
        return await _ask_tool(request, closed)


async def _nls_search(request: ToolRequest) -> ToolResult:
    """Ask for the best chunks. A service without a limit returns all it has, and the best are selected here."""
    limit = request.arguments.get("limit")
    if limit is not None and (await request.accepted_arguments()).name_of("limit") is None:
        arguments = {name: value for name, value in request.arguments.items() if name != "limit"}
        request = replace(request, arguments=arguments)

    answer = await _ask_tool(request)
    if answer.columns != "found_chunks":
        return answer
    return replace(answer, table=_best_first(answer.table, limit))


def _best_first(table: pa.Table, limit: int | None) -> pa.Table:
    """Order the chunks as ranking does, at most `limit`; a service gives those of one file together."""
    rows = table.to_pylist()

    def rank(index: int) -> tuple[Any, ...]:
        row = rows[index]
        return -row["score"], row["repository"] or "", row["revision"] or "", row["path"] or ""

    order = list(range(len(rows)))
    # A service without scores returns the best first.
    if all(row["score"] is not None for row in rows):
        order.sort(key=rank)

    # An empty list alone would be an array of nulls, which takes nothing.
    return table.take(pa.array(order[:limit], pa.int64()))


async def _collect(request: ToolRequest, search_request: SearchRequest) -> ToolResult:
    batches: list[Any] = []
    messages: list[str] = []
    complete = True
    async with aclosing(request.stream(search_request)) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                batches.append(event.batch)
            elif isinstance(event, Progress):
                request.report("searching", event.match_count, 0, "matches")
                if event.done:
                    limiting = [item for item in event.skipped if is_limiting(item)]
                    messages += [" ".join(item.message.split()) or item.title for item in limiting]
                    complete = not limiting
            elif isinstance(event, ErrorEvent):
                raise SearchFailed(f"{request.name}: {event.message}")
            elif isinstance(event, Alert):
                messages.append(f"{event.title}: {event.description}".rstrip(": "))

    info = {"query": request.arguments["query"]}
    return ToolResult(
        columns="found_chunks",
        table=table_of_batches(batches),
        attributes=info,
        complete=complete,
        notices=tuple(dict.fromkeys(messages)),
    )


async def _ask_tool(request: ToolRequest, *initial_messages: str) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("blocks",))
    if isinstance(value, str):
        blocks = _text_blocks(value)
        messages = text_forms.unnumbered_lines(value) if blocks else ()
        is_truncated, says_limit = bool(messages), False
        if not blocks and not text_forms.means_empty(value):
            return keep_text(request.name, value, *initial_messages, query=request.arguments["query"])
    else:
        blocks = [_typed_block(request, block) for block in value.get("blocks") or ()]
        messages = notices(value)
        is_truncated, says_limit = is_cut(value), "limitHit" in value

    rows = list(chain.from_iterable(blocks))
    is_truncated = is_truncated or any(row["truncated"] or row["chunks_left_out"] for row in rows)
    if not says_limit:
        # The service doesn't say whether it truncates: a result as large as the limits counts as truncated.
        at_limit = len(blocks) >= _MAX_FILES or any(len(block) >= _MAX_CHUNKS for block in blocks)
        is_truncated = is_truncated or at_limit

    if is_truncated and not messages:
        messages = (f"The service returns at most {_MAX_FILES} files and the best {_MAX_CHUNKS} chunks of each.",)

    return ToolResult(
        columns="found_chunks",
        table=table_of_rows("found_chunks", rows),
        attributes={"query": request.arguments["query"]},
        complete=not is_truncated,
        notices=(*initial_messages, *messages) if is_truncated else messages,
    )


def _typed_block(request: ToolRequest, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a file: one a chunk, or one without a chunk if only its path matched."""
    url = str(block.get("url") or "")
    blob = request.blob(url)
    location = {
        "repository": str(block.get("repo") or blob.repository),
        "revision": str(block.get("rev") or ""),
        "commit": blob.commit or None,
        "path": str(block.get("file") or block.get("path") or blob.path),
        "url": request.relative(url),
        "score": block.get("score"),
        "chunks_left_out": int(block.get("chunksLeftOut") or 0),
    }
    if not block.get("chunks"):
        return [_path_row(location)]

    rows = []
    for chunk, content, text_chunks in request.chunks_of(block):
        for text_chunk in _without_counted_end(text_chunks, content):
            row = _chunk_row(location, text_chunk)
            row["match_count"] = chunk.get("matchCount")
            row["truncated"] = row["truncated"] or bool(chunk.get("truncated"))
            if chunk.get("score") is not None:
                row["score"] = chunk["score"]
            rows.append(row)

    return rows


def _without_counted_end(chunks: list[text_forms.TextChunk], content: str) -> list[text_forms.TextChunk]:
    if chunks and chunks[-1].lines[-1] == "" and not content.endswith("\n"):
        # One generation of services counts the text after the last newline as a line.
        chunks[-1].lines.pop()
    return [chunk for chunk in chunks if chunk.lines]


def _text_blocks(text: str) -> list[list[dict[str, Any]]]:
    """Return the rows of each file of a text."""
    blocks = []
    for file in text_forms.parse_files(text):
        location = {
            "repository": file.repository,
            "revision": "",
            "commit": None,
            "path": file.path,
            "url": file_url("", file.repository, "", file.path),
            "score": None,
            "chunks_left_out": 0,
        }
        rows = [_chunk_row(location, chunk) for chunk in file.chunks]
        blocks.append(rows or [_path_row(location)])

    return blocks


def _path_row(location: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a file whose path alone matched."""
    return {**location, "match_count": 0, "truncated": False}


def _chunk_row(location: Mapping[str, Any], chunk: text_forms.TextChunk) -> dict[str, Any]:
    text = "\n".join(chunk.lines)
    return {
        **location,
        "start_line": chunk.first,
        "end_line": chunk.last,
        "chunk": text,
        "match_count": None,
        "truncated": len(text) >= _MAX_CHUNK_CHARACTERS,
    }


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "keyword_search": _keyword_search,
    "nls_search": _nls_search,
}
