"""Pages of answers over MCP: whole items within a number of tokens, and a cursor for the next page.

Handlers write the text of an answer, never its pages. Start at `items`, the parts of an answer; `page` divides an
answer between them.
"""
