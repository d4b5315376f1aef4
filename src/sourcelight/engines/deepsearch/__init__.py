"""Deep search: questions in words, answered from pinned commits with checked citations.

Ranking of chunks lives in `search.ranking`, the tools that answers call in `tools`; no accounts and no HTTP here.
Start with `requests` (a question and its commits), then `facts` (counts) or `research` (drafts), then `citations`.
"""
