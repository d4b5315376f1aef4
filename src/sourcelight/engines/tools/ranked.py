"""Answers of `nls_search`: chunks of code ranked for a description in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sourcelight.core.batches.answers import Answer
from sourcelight.engines.engine import natural
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk, Ranking
from sourcelight.engines.tools.found import MOST_CHUNKS, MOST_FILES, Chunk, chunk_table, served_answer
from sourcelight.engines.tools.model import CallContext

_WEAK = 0.25


def ranked_answer(text: str, context: CallContext) -> Answer:
    """Find the chunks that fit a description best.

    Raises
    ------
    QueryError
        When its filters can't be read, or it has no word to look for.
    """
    request = natural.RankRequest(text)
    if context.served:
        request = natural.RankRequest(text, files=MOST_FILES, per_file=MOST_CHUNKS)
    ranking = natural.rank(context.engine, request, context.viewer, context.cancellation, context.observer)
    notices = _notices(ranking)
    whole = not ranking.failed
    if context.served:
        best_first = sorted(ranking.chunks, key=lambda chunk: (chunk.file, -chunk.score))
        chunks = list(_with_text(best_first, context))
        if ranking.matched_files > MOST_FILES:
            whole = False
            told = f"{ranking.matched_files:,} files share a word with the query; the best {MOST_FILES} are shown."
            notices = [*notices, told]
        return served_answer(text, chunks, notices, whole=whole)
    table = chunk_table(list(_with_text(ranking.chunks, context)))
    facts = {
        "query": text,
        "coverage": ranking.coverage,
        "matched_files": ranking.matched_files,
        "searched_files": ranking.searched_files,
        "unknown": list(ranking.unknown),
    }
    return Answer("found_chunks", table, facts, whole, tuple(notices))


def _notices(ranking: Ranking) -> list[str]:
    notices = [f"{name} could not be searched: {why}" for name, why in sorted(ranking.failed.items())]
    if ranking.unknown:
        notices.append(f"No file has these words: {', '.join(ranking.unknown)}.")
    if ranking.chunks and ranking.coverage < _WEAK:
        notices.append("What was found has little in common with the query: it may well be no answer.")
    return notices


def _with_text(ranked: Sequence[RankedChunk], context: CallContext) -> Iterator[Chunk]:
    """The chunks with their lines; a file is read once for those of its chunks that stand together."""
    last: tuple[Target, str] | None = None
    lines: list[bytes] = []
    for chunk in ranked:
        context.cancellation.check()
        if last is None or last[0] is not chunk.target or last[1] != chunk.path:
            last = chunk.target, chunk.path
            lines = (context.engine.store.read(chunk.target, chunk.path) or b"").split(b"\n")
        shown = b"\n".join(line.removesuffix(b"\r") for line in lines[chunk.begin_line - 1 : chunk.end_line])
        yield Chunk(
            chunk.target.repository.name,
            chunk.target.revision,
            chunk.target.commit,
            chunk.path,
            chunk.begin_line,
            shown.decode("utf-8", "replace"),
            None,
            score=chunk.score,
        )
