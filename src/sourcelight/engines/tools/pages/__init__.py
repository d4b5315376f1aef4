"""Pages of answers over MCP: whole items within a number of tokens, and a cursor for the next page.

Handlers write the text of an answer, never its pages. Start at `items`, which says what an item of an answer is; `page`
cuts an answer between them.
"""
