"""Rank code for questions in plain words: BM25F over chunks that start where definitions start.

A term table is stored beside each shard, keyed by blob id; a revision is a mask over such tables. Query text, git
history and viewers live elsewhere: other scores come in as `Scorer` objects. Start with `ranker`, then `bm25`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.search.ranking.model import RankedChunk, RankedFile, Ranking, Scorer, ScoreRequest

__all__ = ["RankedChunk", "RankedFile", "Ranking", "ScoreRequest", "Scorer"]


def __getattr__(name: str) -> object:
    if name in __all__:  # loaded with the first ranked search: an index opens without its dozen modules
        from sourcelight.engines.search.ranking import model

        return getattr(model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
