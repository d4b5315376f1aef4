"""Engines that answer from repositories on this machine: text, symbols, history, navigation and deep search.

Each engine knows repositories and a viewer, and nothing of HTTP, sessions or DataFrames. Start reading in `execution`,
which plans and runs a query, or in `tools`, which has the handler of every tool.
"""
