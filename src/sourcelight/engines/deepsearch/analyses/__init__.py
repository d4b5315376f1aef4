"""Analyses of history and code that answer a question: complexity, hotspots, people, related tests.

Counts of a search are in `facts`. Start with `answering`.
"""
