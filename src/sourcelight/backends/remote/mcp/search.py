"""`keyword_search` and `nls_search` of a service.

The tools give 15 files at most, with pieces of them. All that a keyword search finds comes from the stream endpoint
instead, with ``count:all``; where that is closed to the credential, and for questions in natural language, the tools
answer, and what they cut is said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from sourcelight.backends.remote.mcp.payloads import TextChunk, files, is_cut, notes, notices, numbered_chunks
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolResult, file_url
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import Forbidden, NotFound, SearchFailed, Unauthorized
from sourcelight.core.query.files_query import files_query
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.chunk_table import found_table
from sourcelight.core.wire.events import Alert, ErrorEvent, Progress
from sourcelight.core.wire.request import SearchRequest

_MOST_FILES = 15
_MOST_CHUNKS = 3
_MOST_CHUNK_CHARACTERS = 1024


async def _keyword_search(asked: ToolRequest) -> ToolResult:
    query = files_query(asked.arguments["query"], everything=True)
    try:
        return await _streamed(asked, SearchRequest(query, pattern_type="keyword", chunk_matches=True, context_lines=1))
    except (Forbidden, Unauthorized, NotFound) as exc:
        closed = f"The stream of the service, which has everything, is closed to this credential (status {exc.status})."
        return await _asked(asked, closed)


async def _nls_search(asked: ToolRequest) -> ToolResult:
    return await _asked(asked)


async def _streamed(asked: ToolRequest, request: SearchRequest) -> ToolResult:
    batches: list[Any] = []
    said: list[str] = []
    whole = True
    async with aclosing(asked.stream(request)) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                batches.append(event.batch)
            elif isinstance(event, Progress):
                asked.tell("searching", event.match_count, 0, "matches")
                if event.done:
                    limiting = [item for item in event.skipped if is_limiting(item)]
                    said += [" ".join(item.message.split()) or item.title for item in limiting]
                    whole = not limiting
            elif isinstance(event, ErrorEvent):
                raise SearchFailed(f"{asked.name}: {event.message}")
            elif isinstance(event, Alert):
                said.append(f"{event.title}: {event.description}".rstrip(": "))
    facts = {"query": asked.arguments["query"]}
    return ToolResult("found_chunks", found_table(batches), facts, whole, tuple(dict.fromkeys(said)))


async def _asked(asked: ToolRequest, *said: str) -> ToolResult:
    value = (await asked.ask(asked.arguments)).read(("blocks",))
    blocks = _text_blocks(value) if isinstance(value, str) else [_block(asked, b) for b in value.get("blocks") or ()]
    rows = [row for block in blocks for row in block]
    told = notes(value) if isinstance(value, str) else notices(value)
    cut = bool(told) if isinstance(value, str) else is_cut(value)
    cut = cut or any(row["truncated"] or row["chunks_left_out"] for row in rows)
    at_limit = len(blocks) >= _MOST_FILES or any(len(block) >= _MOST_CHUNKS for block in blocks)
    if isinstance(value, str) or "limitHit" not in value:
        # A service that does not say whether it cut: an answer as large as the limits is taken for cut.
        cut = cut or at_limit
    if cut and not told:
        told = (f"The service gives at most {_MOST_FILES} files and the best {_MOST_CHUNKS} pieces of each.",)
    names = rows[0].keys() if rows else ()
    table = table_of("found_chunks", len(rows), **{name: [row[name] for row in rows] for name in names})
    facts = {"query": asked.arguments["query"]}
    return ToolResult("found_chunks", table, facts, not cut, (*said, *told) if cut else told)


def _block(asked: ToolRequest, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    url = str(block.get("url") or "")
    where = asked.blob(url)
    place = {
        "repository": str(block.get("repo") or where.repository),
        "revision": str(block.get("rev") or ""),
        "commit": where.commit or None,
        "path": str(block.get("file") or block.get("path") or where.path),
        "url": asked.relative(url),
        "score": block.get("score"),
        "chunks_left_out": int(block.get("chunksLeftOut") or 0),
    }
    chunks = block.get("chunks")
    if not chunks:
        return [_row(place, None, matches=0)]
    rows = []
    for chunk in chunks:
        content = str(chunk.get("content") or "")
        pieces = numbered_chunks(content)
        if pieces and pieces[-1].lines[-1] == "" and not content.endswith("\n"):
            # One generation of services numbers what follows the last newline as a line of its own.
            pieces[-1].lines.pop()
        facts = {"matches": chunk.get("matchCount"), "score": chunk.get("score")}
        cut = bool(chunk.get("truncated"))
        rows += [_row(place, piece, truncated=cut, **facts) for piece in pieces if piece.lines]
    return rows


def _text_blocks(text: str) -> list[list[dict[str, Any]]]:
    blocks = []
    for file in files(text):
        url = file_url("", file.repository, "", file.path)
        place = {
            "repository": file.repository,
            "revision": "",
            "commit": None,
            "path": file.path,
            "url": url,
            "score": None,
            "chunks_left_out": 0,
        }
        blocks.append([_row(place, chunk) for chunk in file.chunks] or [_row(place, None, matches=0)])
    return blocks


def _row(
    place: Mapping[str, Any],
    piece: TextChunk | None,
    *,
    matches: int | None = None,
    truncated: bool = False,
    score: float | None = None,
) -> dict[str, Any]:
    """A row of the table; `piece` None: only the path matched."""
    text = None if piece is None else "\n".join(piece.lines)
    return {
        **place,
        "start_line": None if piece is None else piece.first,
        "end_line": None if piece is None else piece.first + len(piece.lines) - 1,
        "chunk": text,
        "match_count": matches,
        "truncated": truncated or len(text or "") >= _MOST_CHUNK_CHARACTERS,
        "score": place["score"] if score is None else score,
    }


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "keyword_search": _keyword_search,
    "nls_search": _nls_search,
}
