"""Additions to the matches of an answer: notices, proposals to change the query, and explanations of a plan.

It reads fields of plans and runs, and decides nothing about a search. Start at `notices`, then at `proposals`.
"""
