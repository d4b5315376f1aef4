"""The HTTP service: the search stream, pages, conversations, site configuration.

It has protocol, identity and permission only; engines search, and nothing here reads git or writes an index. Start with
`app`, then `stream`.
"""
