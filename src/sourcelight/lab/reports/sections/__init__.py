"""Sections of the reports: their tables, figures and metrics, and the data behind them.

The order of a report's sections is one room up, in `contributors`, `changes` and `story`, and so is the writing of files.
Start at `contributors`, whose tables come from `contributor_data`.
"""
