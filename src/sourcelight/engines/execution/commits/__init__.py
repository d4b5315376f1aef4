"""Searches of ``type:commit`` and ``type:diff``.

Filters of files and contributors that need a history are here too; histories themselves are in
`sourcelight.engines.history`. Start at `query`, which reads the terms of a query for histories, then at `search`.
"""
