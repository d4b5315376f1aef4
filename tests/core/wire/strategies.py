"""Events and matches for property tests."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

from sourcelight.core.wire import events as e

TEXT = st.text(max_size=12)
NAME = st.sampled_from(["a", "github.com/a/b", "é/😀", "<b>&\u2028"])
NUMBER = st.integers(0, 2**31 - 1)
LOCATION = st.builds(e.Location, NUMBER, NUMBER, NUMBER)
RANGE = st.builds(e.Range, LOCATION, LOCATION)


T = TypeVar("T")


def tuples_of(elements: st.SearchStrategy[T], max_size: int = 3) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(elements, max_size=max_size).map(tuple)


FACTS = {"repository": NAME, "repository_id": NUMBER, "repo_stars": NUMBER, "repo_last_fetched": TEXT}
FILE = FACTS | {"path": TEXT, "branches": tuples_of(TEXT), "commit": TEXT, "language": TEXT}
LINE = st.builds(e.LineMatch, TEXT, NUMBER, tuples_of(st.tuples(NUMBER, NUMBER)))
CHUNK = st.builds(e.ChunkMatch, TEXT, LOCATION, tuples_of(RANGE), st.booleans())
SYMBOL = st.builds(e.SymbolItem, TEXT, TEXT, TEXT, TEXT, st.none() | NUMBER)
MATCH: st.SearchStrategy[e.Match] = st.one_of(
    st.builds(e.ContentMatch, path_matches=tuples_of(RANGE), line_matches=tuples_of(LINE), **FILE),
    st.builds(e.ContentMatch, path_matches=tuples_of(RANGE), chunk_matches=tuples_of(CHUNK), **FILE),
    st.builds(e.PathMatch, path_matches=tuples_of(RANGE), **FILE),
    st.builds(e.SymbolMatch, symbols=tuples_of(SYMBOL), **FILE),
    st.builds(
        e.RepoMatch,
        repository_matches=tuples_of(RANGE),
        branches=tuples_of(TEXT),
        description=TEXT,
        description_matches=tuples_of(RANGE),
        fork=st.booleans(),
        archived=st.booleans(),
        private=st.booleans(),
        metadata=st.dictionaries(TEXT, st.none() | TEXT, max_size=2),
        topics=tuples_of(TEXT),
        **FACTS,
    ),
    st.builds(
        e.CommitMatch,
        oid=TEXT,
        label=TEXT,
        url=TEXT,
        detail=TEXT,
        message=TEXT,
        author_name=TEXT,
        author_date=TEXT,
        committer_name=TEXT,
        committer_date=TEXT,
        content=TEXT,
        ranges=tuples_of(st.tuples(NUMBER, NUMBER, NUMBER)),
        type=st.sampled_from(["commit", "diff"]),
        **FACTS,
    ),
    TEXT.map(lambda handle: e.UnknownMatch("person", {"type": "person", "handle": handle, "user": None})),
)
SKIPPED = st.builds(
    e.Skipped,
    TEXT,
    TEXT,
    TEXT,
    st.sampled_from(["info", "warn", "error"]),
    st.none() | st.builds(e.QuerySuggestion, TEXT, TEXT),
)
PROPOSED = st.builds(e.ProposedQuery, TEXT, TEXT, tuples_of(st.tuples(TEXT, TEXT)))
EVENT: st.SearchStrategy[e.Event] = st.one_of(
    st.builds(e.Matches, tuples_of(MATCH)),
    st.builds(e.Progress, st.booleans(), NUMBER, NUMBER, st.none() | NUMBER, tuples_of(SKIPPED), TEXT),
    st.builds(e.Filters, tuples_of(st.builds(e.SuggestedFilter, TEXT, TEXT, NUMBER, st.booleans(), TEXT))),
    st.builds(e.Alert, TEXT, TEXT, TEXT, tuples_of(PROPOSED)),
    st.builds(e.ErrorEvent, TEXT),
    st.just(e.Done()),
    st.builds(e.UnknownEvent, st.just("novelty"), st.none() | TEXT | st.lists(NUMBER, max_size=2)),
)
