"""Votes: other texts that describe a file in a person's words raise its score.

Each module has one kind of text: names of `tests`, subjects of `commits`, `comments` in the code, and the `names` of a
question. Words of the code itself are scored by `bm25`, names in other words by `name_scores`.
"""
