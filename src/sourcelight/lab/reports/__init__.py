"""Contributor and change reports: tables, figures and files, each number traced to its commits.

Asks a `Client` for everything; never an engine.
"""
