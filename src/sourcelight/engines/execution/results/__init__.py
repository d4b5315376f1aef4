"""What happens to record batches between the scan and the events of a search: unite, select, own, rank, count.

Nothing here reads an index. Start at `sourcelight.engines.execution.pipeline`, which puts these steps in order.
"""
