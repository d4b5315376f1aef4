"""Ranked search as a stream: the best files for a description, with the lines that share a word with it.

`events` reads the request and writes the events, `rows` makes Arrow rows of ranked chunks. Ranking itself lives in
`sourcelight.engines.search.ranking`. Start with `events.ranked_events`.
"""

from sourcelight.server.http.ranked_search.events import is_ranked, ranked_events

__all__ = ["is_ranked", "ranked_events"]
