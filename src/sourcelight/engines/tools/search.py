"""Handlers of `keyword_search` and `nls_search`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.json_lines import source_lines
from sourcelight.core.tools.files import KEYWORD_SEARCH, NLS_SEARCH, KeywordSearchArguments, NlsSearchArguments
from sourcelight.engines.execution import natural_language
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk, Ranking
from sourcelight.engines.search.ranking.embedding import EmbeddingScorer
from sourcelight.engines.search.ranking.model import LOCAL_ONLY, RankLimits, StatsExchange, join_rankings
from sourcelight.engines.tools.chunks import (
    FILE_KEY,
    MAX_CHARACTERS,
    MAX_CHUNK_CHARACTERS,
    MAX_CHUNKS,
    MAX_FILES,
    ResultChunk,
    search_chunks,
    shortened_answer,
    table_of_chunks,
)
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Handler, file_heading, number_lines, tail, with_notices
from sourcelight.engines.tools.pages.items import TableItems

_WEAK = 0.25
"""Share of the query's weight in the best chunks below which a notice says that they may not answer it."""

_PLACES = TableItems("places", "chunk", "start_line")


@dataclass(frozen=True, slots=True)
class RankedPartial:
    """A ranking of some of the requested repositories, and the lines of each of its chunks."""

    ranking: Ranking
    texts: list[str]


def rank_chunks(text: str, context: ToolContext, limit: int | None = None) -> ToolResult:
    """Find the chunks that fit a description best, at most `limit`.

    Raises
    ------
    QueryError
        When its filters can't be read, or it has no word to look for.
    """
    ranking = _rank(text, context, LOCAL_ONLY, limit)
    return _answer(text, ranking, chunks=_with_text(ranking.chunks, context), context=context, limit=limit)


def rank_nothing(text: str, context: ToolContext) -> ToolResult:
    """Make the answer over no repository, for a coordinator without workers; raises as `rank_chunks`."""
    return _answer(text, natural_language.rank_nothing(text), chunks=[], context=context, limit=None)


def gather_ranked(text: str, context: ToolContext, exchange: StatsExchange, limit: int | None) -> RankedPartial:
    """Rank the local repositories as a part of the request; raises as `rank_chunks`."""
    ranking = _rank(text, context, exchange, limit)
    return RankedPartial(ranking, [chunk.text for chunk in _with_text(ranking.chunks, context)])


def combine_ranked(
    text: str, parts: Sequence[RankedPartial], missing: Mapping[str, str], context: ToolContext, limit: int | None
) -> ToolResult:
    """Merge parts that exchanged their statistics into one answer; `missing` are repositories without one, and why."""
    rankings = [part.ranking for part in parts]
    ranking, positions = join_rankings(rankings[0].question, rankings, _limits(context, limit))
    ranking = replace(ranking, failed={**ranking.failed, **missing})
    texts = [parts[part].texts[position] for part, position in positions]
    chunks = [_chunk(chunk, lines) for chunk, lines in zip(ranking.chunks, texts, strict=True)]
    return _answer(text, ranking, chunks=chunks, context=context, limit=limit)


def _limits(context: ToolContext, limit: int | None) -> RankLimits:
    """Return the limits of an answer: the requested limits, and the file limit of a service."""
    if not context.served:
        return RankLimits(limit)
    if limit is None:
        return RankLimits(None, MAX_FILES, MAX_CHUNKS)
    if limit > MAX_FILES:
        return RankLimits(limit, MAX_FILES)
    # So few chunks can't be of more files: without a limit of files, only the best chunks are settled.
    return RankLimits(limit)


def _rank(text: str, context: ToolContext, exchange: StatsExchange, limit: int | None) -> Ranking:
    limits = _limits(context, limit)
    embedder = context.local.embedder
    scorers: tuple[EmbeddingScorer, ...] = ()
    # Parts of an answer exchange numbers of words alone.
    if embedder is not None and exchange is LOCAL_ONLY:
        scorers = (EmbeddingScorer(embedder),)

    request = natural_language.RankedSearch(
        text, limits.chunks, limits.files, limits.per_file, scorers=scorers, exchange=exchange
    )
    return natural_language.rank(context.local, request, context.viewer, context.cancellation, context.observer)


def _answer(
    text: str, ranking: Ranking, *, chunks: Sequence[ResultChunk], context: ToolContext, limit: int | None
) -> ToolResult:
    if context.served:
        return _served_answer(text, ranking, chunks, limit)

    attributes = {
        "query": text,
        "coverage": ranking.coverage,
        "matched_files": ranking.matched_files,
        "searched_files": ranking.searched_files,
        "unknown": list(ranking.unknown),
    }
    return ToolResult(
        columns="found_chunks",
        table=table_of_chunks(chunks),
        attributes=attributes,
        complete=not ranking.failed,
        notices=tuple(_notices(ranking)),
    )


def _served_answer(text: str, ranking: Ranking, chunks: Sequence[ResultChunk], limit: int | None) -> ToolResult:
    """Return the answer within the limits of a service."""
    is_complete = not ranking.failed
    cut_notice = ""
    if ranking.matched_files > MAX_FILES and (limit is None or limit > MAX_FILES):
        is_complete = False
        cut_notice = f"{ranking.matched_files:,} files share a word with the query; the best {MAX_FILES} are shown."

    characters = MAX_CHUNK_CHARACTERS
    if limit is not None:
        # A few places are shown in full, so that an agent needs no second call to read the rest.
        characters = max(MAX_CHUNK_CHARACTERS, MAX_CHARACTERS // limit)

    return shortened_answer(
        text,
        _sort_by_file(ranking.chunks, chunks),
        _notices(ranking),
        is_complete=is_complete,
        per_file=limit or MAX_CHUNKS,
        characters=characters,
        cut_notice=cut_notice,
    )


def _sort_by_file(ranked: Sequence[RankedChunk], chunks: Sequence[ResultChunk]) -> list[ResultChunk]:
    """Return the chunks file by file, in the order of the best chunk of each: so a notebook shows them, too."""
    positions: dict[int, int] = {}
    for chunk in ranked:
        positions.setdefault(chunk.file, len(positions))

    pairs = zip(ranked, chunks, strict=True)
    sorted_pairs = sorted(pairs, key=lambda pair: (positions[pair[0].file], -pair[0].score))
    return [chunk for _, chunk in sorted_pairs]


def _notices(ranking: Ranking) -> list[str]:
    notices = [f"{name} was not searched in full: {reason}" for name, reason in sorted(ranking.failed.items())]
    if ranking.unknown:
        notices.append(f"No file has these words: {', '.join(ranking.unknown)}.")
    if ranking.chunks and ranking.coverage < _WEAK:
        notices.append("The results have little in common with the query and may not answer it.")
    return notices


def _with_text(ranked: Sequence[RankedChunk], context: ToolContext) -> list[ResultChunk]:
    """Return the chunks with their lines; a file is read once for all of its adjacent chunks."""
    chunks: list[ResultChunk] = []
    last: tuple[Target, str] | None = None
    lines: list[bytes] = []
    for chunk in ranked:
        context.cancellation.check()
        if last is None or last[0] is not chunk.target or last[1] != chunk.path:
            last = chunk.target, chunk.path
            lines = _read_lines(chunk, context)

        lines_of_chunk = [line.removesuffix(b"\r") for line in lines[chunk.begin_line - 1 : chunk.end_line]]
        chunks.append(_chunk(chunk, b"\n".join(lines_of_chunk).decode("utf-8", "replace")))

    return chunks


def _read_lines(chunk: RankedChunk, context: ToolContext) -> list[bytes]:
    """Return the lines of a chunk's file; of a notebook those of its cells, and empty ones for its JSON."""
    data = context.local.store.read(chunk.target, chunk.path) or b""
    sources = source_lines(chunk.path, data)
    if sources is None:
        return data.split(b"\n")
    return sources.lines


def _chunk(ranked: RankedChunk, text: str) -> ResultChunk:
    target = ranked.target
    first_line = ranked.begin_line
    if is_jupyter(ranked.path):
        # The lines of JSON around a cell are empty.
        stripped = text.lstrip("\n")
        first_line += len(text) - len(stripped)
        text = stripped.rstrip("\n")

    return ResultChunk(
        repository=target.repository.name,
        revision=target.revision,
        commit=target.commit,
        path=ranked.path,
        first_line=first_line if text else 0,
        text=text,
        matches=None,
        score=ranked.score,
    )


def _keyword_search(arguments: KeywordSearchArguments, context: ToolContext) -> ToolResult:
    return search_chunks(arguments.query, context)


def _nls_search(arguments: NlsSearchArguments, context: ToolContext) -> ToolResult:
    return rank_chunks(arguments.query, context, arguments.limit)


def _render_chunks(answer: ToolResult, context: ToolContext) -> tuple[dict[str, Any], str]:
    """Return the chunks as JSON blocks by file, and as text."""
    blocks: list[dict[str, Any]] = []
    texts: list[str] = []
    rows = answer.table.to_pylist()
    for _, group in groupby(rows, key=lambda row: [row[name] for name in FILE_KEY]):
        block = _file_block(list(group), context)
        blocks.append(block)
        heading = file_heading(block["repo"], block["file"])
        contents = [chunk["content"] for chunk in block["chunks"] or ()]
        texts.append(f"{heading}\n" + "".join(contents))

    payload: dict[str, Any] = {"blocks": blocks}
    # A ranked search counts no matches.
    counts = [row["match_count"] for row in rows if row["match_count"] is not None]
    if counts or not rows:
        payload["matchCount"] = sum(counts)

    payload |= tail(answer)
    return payload, with_notices("\n".join(texts) or NOTHING, answer)


def _file_block(rows: Sequence[dict[str, Any]], context: ToolContext) -> dict[str, Any]:
    """Return the chunks of one file as JSON."""
    first_row = rows[0]
    block: dict[str, Any] = {"type": "file", "repo": first_row["repository"], "file": first_row["path"]}
    if first_row["revision"]:
        block["rev"] = first_row["revision"]

    block["url"] = context.link(first_row["url"])
    if first_row["score"] is not None:
        block["score"] = round(first_row["score"], 6)

    chunk_rows = [row for row in rows if row["chunk"] is not None]
    chunks = [_chunk_payload(row) for row in chunk_rows]
    # The score of the file is that of its first chunk, so that equal scores say nothing more.
    if len({row["score"] for row in chunk_rows}) > 1:
        for chunk, row in zip(chunks, chunk_rows, strict=True):
            chunk["score"] = round(row["score"], 6)

    block["chunks"] = chunks or None
    if first_row["chunks_left_out"]:
        block["chunksLeftOut"] = first_row["chunks_left_out"]

    return block


def _chunk_payload(row: dict[str, Any]) -> dict[str, Any]:
    payload = {
        "startLine": row["start_line"],
        "endLine": row["end_line"],
        "content": number_lines(row["start_line"], row["chunk"].split("\n")),
    }
    if row["truncated"]:
        payload["truncated"] = True

    return payload


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(KEYWORD_SEARCH, _keyword_search, _render_chunks, _PLACES),
    Handler(NLS_SEARCH, _nls_search, _render_chunks, _PLACES),
)
