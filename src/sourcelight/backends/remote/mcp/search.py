"""`keyword_search` and `nls_search` of a service.

The tools give 15 files at most, with pieces of them. All that a keyword search finds comes from the stream endpoint
instead, with ``count:all``; where that is closed to the credential, and for questions in natural language, the tools
answer, and truncation is reported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sourcelight.backends.remote.mcp.arguments import accepted_name
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
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolResult, file_url
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import Forbidden, NotFound, SearchFailed, Unauthorized
from sourcelight.core.query.build import files_query
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.chunk_table import table_of_batches
from sourcelight.core.wire.events import Alert, ErrorEvent, Progress
from sourcelight.core.wire.request import SearchRequest

_MAX_FILES = 15
_MAX_CHUNKS = 3
_MAX_CHUNK_CHARACTERS = 1024


async def _keyword_search(request: ToolRequest) -> ToolResult:
    query = files_query(request.arguments["query"])
    try:
        return await _collect(
            request, SearchRequest(query, pattern_type="keyword", chunk_matches=True, context_lines=1)
        )
    except (Forbidden, Unauthorized, NotFound) as exc:
        closed = f"The stream of the service has all matches, but refuses this credential (status {exc.status})."
        return await _ask_tool(request, closed)


async def _nls_search(request: ToolRequest) -> ToolResult:
    """Ask for the best places; a service that takes no limit gives all that it gives, and the best are taken here."""
    limit = request.arguments.get("limit")
    if limit is not None and accepted_name(await request.schema(), "limit") is None:
        arguments = {name: value for name, value in request.arguments.items() if name != "limit"}
        return _best_first(await _ask_tool(replace(request, arguments=arguments)), limit)
    return _best_first(await _ask_tool(request), limit)


def _best_first(answer: ToolResult, limit: int | None) -> ToolResult:
    """Order the chunks as ranking does, at most `limit`; a service gives those of one file together."""
    if answer.columns != "found_chunks":
        return answer

    rows = answer.table.to_pylist()
    scores = [row["score"] for row in rows]
    order = list(range(len(rows)))
    if None not in scores:
        order.sort(
            key=lambda position: (
                -scores[position],
                *(rows[position][name] or "" for name in ("repository", "revision", "path")),
            )
        )

    # An empty list alone would be an array of nulls, which takes nothing.
    return replace(answer, table=answer.table.take(pa.array(order[:limit], pa.int64())))


async def _collect(request: ToolRequest, search_request: SearchRequest) -> ToolResult:
    batches: list[Any] = []
    messages: list[str] = []
    is_whole = True
    async with aclosing(request.stream(search_request)) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                batches.append(event.batch)
            elif isinstance(event, Progress):
                request.report("searching", event.match_count, 0, "matches")
                if event.done:
                    limiting = [item for item in event.skipped if is_limiting(item)]
                    messages += [" ".join(item.message.split()) or item.title for item in limiting]
                    is_whole = not limiting
            elif isinstance(event, ErrorEvent):
                raise SearchFailed(f"{request.name}: {event.message}")
            elif isinstance(event, Alert):
                messages.append(f"{event.title}: {event.description}".rstrip(": "))

    info = {"query": request.arguments["query"]}
    return ToolResult(
        columns="found_chunks",
        table=table_of_batches(batches),
        attributes=info,
        complete=is_whole,
        notices=tuple(dict.fromkeys(messages)),
    )


async def _ask_tool(request: ToolRequest, *initial_messages: str) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("blocks",))
    blocks = (
        _text_blocks(value)
        if isinstance(value, str)
        else [_block(request, block) for block in value.get("blocks") or ()]
    )
    if isinstance(value, str) and not blocks and not means_empty(value):
        return keep_text(request.name, value, *initial_messages, query=request.arguments["query"])

    rows = [row for block in blocks for row in block]
    messages = (unnumbered_lines(value) if blocks else ()) if isinstance(value, str) else notices(value)
    is_truncated = bool(messages) if isinstance(value, str) else is_cut(value)
    is_truncated = is_truncated or any(row["truncated"] or row["chunks_left_out"] for row in rows)
    at_limit = len(blocks) >= _MAX_FILES or any(len(block) >= _MAX_CHUNKS for block in blocks)
    if isinstance(value, str) or "limitHit" not in value:
        # The service doesn't say whether it truncates: a result as large as the limits counts as truncated.
        is_truncated = is_truncated or at_limit

    if is_truncated and not messages:
        messages = (f"The service returns at most {_MAX_FILES} files and the best {_MAX_CHUNKS} chunks of each.",)

    names = rows[0].keys() if rows else ()
    table = table_of("found_chunks", len(rows), **{name: [row[name] for row in rows] for name in names})
    info = {"query": request.arguments["query"]}
    return ToolResult(
        columns="found_chunks",
        table=table,
        attributes=info,
        complete=not is_truncated,
        notices=(*initial_messages, *messages) if is_truncated else messages,
    )


def _block(request: ToolRequest, block: Mapping[str, Any]) -> list[dict[str, Any]]:
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
    chunks = block.get("chunks")
    if not chunks:
        return [_row(location, None, matches=0)]

    rows = []
    for chunk in chunks:
        content = str(chunk.get("content") or "")
        text_chunks = numbered_chunks(content)
        if text_chunks and text_chunks[-1].lines[-1] == "" and not content.endswith("\n"):
            # One generation of services counts the text after the last newline as a line.
            text_chunks[-1].lines.pop()

        info = {"matches": chunk.get("matchCount"), "score": chunk.get("score")}
        is_truncated = bool(chunk.get("truncated"))
        rows += [
            _row(location, text_chunk, truncated=is_truncated, **info) for text_chunk in text_chunks if text_chunk.lines
        ]

    return rows


def _text_blocks(text: str) -> list[list[dict[str, Any]]]:
    blocks = []
    for file in files(text):
        url = file_url("", file.repository, "", file.path)
        location = {
            "repository": file.repository,
            "revision": "",
            "commit": None,
            "path": file.path,
            "url": url,
            "score": None,
            "chunks_left_out": 0,
        }
        blocks.append([_row(location, chunk) for chunk in file.chunks] or [_row(location, None, matches=0)])

    return blocks


def _row(
    location: Mapping[str, Any],
    chunk: TextChunk | None,
    *,
    matches: int | None = None,
    truncated: bool = False,
    score: float | None = None,
) -> dict[str, Any]:
    """Return a row of the table; without a chunk, only the path matched."""
    text = None if chunk is None else "\n".join(chunk.lines)
    return {
        **location,
        "start_line": None if chunk is None else chunk.first,
        "end_line": None if chunk is None else chunk.first + len(chunk.lines) - 1,
        "chunk": text,
        "match_count": matches,
        "truncated": truncated or len(text or "") >= _MAX_CHUNK_CHARACTERS,
        "score": location["score"] if score is None else score,
    }


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "keyword_search": _keyword_search,
    "nls_search": _nls_search,
}
