"""A question as ranking reads it: weighted terms, names of code, files, quoted texts.

Nothing is searched or scored here. `reader` takes the text apart, and `rank_query` weighs its terms. Start with
`analyze`.
"""

from sourcelight.engines.search.ranking.question.rank_query import RankQuery, analyze

__all__ = ["RankQuery", "analyze"]
