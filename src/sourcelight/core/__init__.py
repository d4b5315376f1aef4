"""Foundations without I/O: queries, patterns, record batches, the wire protocol, tools, errors and caches.

Nothing here opens a file, socket, process or event loop, and nothing knows an engine, a backend or a framework. Start
with `errors` and `cancellation`, then `query` for the language and `batches` for the tables that everything exchanges.
"""
