"""Stages between the scan and the events of a search: union, selection, owners, ranking, counts.

Nothing here reads an index. Start at `sourcelight.engines.execution.pipeline`, which puts these steps in order.
"""
