"""Rank code for questions in plain words: BM25F over chunks that start where definitions start.

A term table is stored beside each shard, keyed by blob id; a revision is a mask over such tables. Query text, git
history and viewers live elsewhere: other scores come in as `Scorer` objects. Start with `ranker`, then `bm25`.
"""

from sourcelight.engines.search.ranking.model import FileSpace, RankedChunk, RankedFile, Ranking, Scorer

__all__ = ["FileSpace", "RankedChunk", "RankedFile", "Ranking", "Scorer"]
