"""Tools about commits and changed lines over MCP: texts and structured content of a service as tables.

Connections and arguments are one room up, and analyses are in `analyses` there. Start at `calls`; `paging` asks on
where a service answers in parts.
"""
