"""Counts, people and dates that a question asks for, each with the query or call that repeats it.

Questions are read in `question`, and facts are written as an answer in `research.counting`. Start with `answering`.
"""
