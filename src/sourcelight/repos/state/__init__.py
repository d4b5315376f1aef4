"""`state.sqlite`: one connection policy, one list of migrations; accounts, roles, grants, tokens, conversations.

Knows nothing of repositories but their names, and nothing of HTTP.
"""
