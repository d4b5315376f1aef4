"""Scan: one prepared query over a corpus, from candidates to spans to rows.

Query text, ranking and files on disk live elsewhere: `search/model`, `search/ranking` and `search/index`. Start with
`corpus`, which numbers everything, then `evaluate`, which runs the query batch by batch.
"""
