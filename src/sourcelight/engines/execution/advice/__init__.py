"""Additions to the matches of an answer: skipped items, notices, proposals for the query, and explanations.

It reads fields of plans and runs, and decides nothing about a search. Start at `skipped_items`, then at `notices`.
"""
