"""Votes: other texts that describe a file in a person's words raise its score.

Each module has one kind of text: names of `tests`, subjects of `commits`, and `comments` in the code. Words of the code
itself are scored by `bm25`, names by `name_scores`.
"""
