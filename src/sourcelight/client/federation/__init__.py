"""Several services searched as one: a backend over the backends of other clients.

`stream_merge` and `row_merge` merge streams, find duplicate rows and order them; `tool_calls` and `fan_out` send tools
to the services that can answer and merge their tables. The room knows services only as backends: no socket, no engine.
"""
