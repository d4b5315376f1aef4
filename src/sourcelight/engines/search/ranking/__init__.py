"""Rank code for questions in plain words: BM25F over chunks that start where definitions start.

A term table is stored beside each shard, keyed by blob id; a revision is a mask over such tables. Query text, git
history and viewers live elsewhere: other scores come in as `Scorer` objects. Start with `ranker`, then `bm25`.
"""

from sourcelight.engines.search.ranking.model import RankedChunk, RankedFile, Ranking, Scorer, ScoreRequest

__all__ = ["RankedChunk", "RankedFile", "Ranking", "ScoreRequest", "Scorer"]
