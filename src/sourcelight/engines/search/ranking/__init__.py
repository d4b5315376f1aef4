"""Ranking code for questions in words: BM25F over chunks cut where definitions start.

A table of terms stands beside each shard and its definitions, found again by blob id; a revision is a mask over such
tables, and how frequent a term is is counted under the mask. No query language, no git history and no viewer is known
here: targets come checked, and further lists of scores come in as `Scorer` objects.
"""

from sourcelight.engines.search.ranking.model import FileSpace, RankedChunk, RankedFile, Ranking, Scorer

__all__ = ["FileSpace", "RankedChunk", "RankedFile", "Ranking", "Scorer"]
