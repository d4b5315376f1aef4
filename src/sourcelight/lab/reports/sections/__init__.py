"""Sections of the reports: their tables, figures and metrics, and the data behind them.

The order of sections is one room up, in `contributors`, `changes` and `story`, and so is what writes files. Start at
`contributors`, whose tables come from `contributor_data`.
"""
