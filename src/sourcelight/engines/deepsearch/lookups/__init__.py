"""Facts that a line proves: definitions, values and defaults, callers, dependencies, authors of lines.

Questions are read in `question.lookups`, counts are made in `facts`, answers are written in `research.citing`. Start
with `answering`.
"""
