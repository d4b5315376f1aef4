"""Additions to the matches of an answer: what it leaves out, notices, proposals for the query, explanations of a plan.

It reads fields of plans and runs, and decides nothing about a search. Start at `skipped_items`, then at `notices`.
"""
