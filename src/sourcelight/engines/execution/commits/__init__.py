"""Searches of ``type:commit`` and ``type:diff``.

Filters of files and contributors that need a history are here too; histories themselves are in
`sourcelight.engines.history`. Start at `query`, which reads what a query asks of histories, then at `search`.
"""
