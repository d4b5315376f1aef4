"""Parameters of a search stream, both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.errors import BadParameter, QueryError, UnsupportedQuery
from sourcelight.core.wire.request import SearchRequest, display_limit, match_limit

REQUESTS = st.builds(
    SearchRequest,
    query=st.text(min_size=1),
    pattern_type=st.sampled_from(["standard", "keyword", "regexp", "literal"]),
    version=st.sampled_from(["V1", "V2", "V3"]),
    display=st.integers(-1, 2**40),
    chunk_matches=st.just(True),  # context_lines says nothing without it
    context_lines=st.integers(0, 2**32 - 1),
    max_line_len=st.just(-1) | st.integers(1, 2**40),
    trace=st.booleans(),
)


@given(REQUESTS)
def test_reading_undoes_writing(request: SearchRequest) -> None:
    assert SearchRequest.from_params(request.to_params().items()) == request


def test_version_and_pattern_type_are_always_sent() -> None:
    assert SearchRequest("x").to_params() == {"q": "x", "v": "V3", "t": "standard"}
    assert SearchRequest("x", pattern_type="", version="V1").to_params()["t"] == "regexp"


def test_display_zero_is_sent_and_context_travels_with_chunks_only() -> None:
    assert SearchRequest("x", display=0).to_params()["display"] == "0"
    assert "cl" not in SearchRequest("x", context_lines=5).to_params()


@pytest.mark.parametrize(
    ("given_type", "read"),
    [
        ("standard", "standard"),
        ("keyword", "keyword"),
        ("regexp", "regexp"),
        ("literal", "literal"),
        ("lucky", "standard"),
        ("codycontext", "keyword"),
    ],
)
def test_accepted_pattern_types(given_type: str, read: str) -> None:
    request = SearchRequest.from_params([("q", "x"), ("t", given_type), ("v", "nonsense")])
    assert (request.pattern_type, request.version) == (read, "V3")


@pytest.mark.parametrize(
    ("version", "read"), [("V1", "regexp"), ("V2", "literal"), ("V3", "standard"), ("", "standard")]
)
def test_the_version_picks_the_pattern_type_when_none_is_given(version: str, read: str) -> None:
    assert SearchRequest.from_params([("q", "x"), ("v", version), ("t", "")]).pattern_type == read


def test_structural_is_refused_in_clear_text() -> None:
    with pytest.raises(UnsupportedQuery, match="structural search isn't supported"):
        SearchRequest.from_params([("q", "x"), ("t", "structural")])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("t", "regex", 'unrecognized patternType "regex"'),
        ("t", "Standard", 'unrecognized patternType "Standard"'),
        ("v", "v3", 'unrecognized version "v3"'),
        ("display", "ten", 'display must be an integer, got "ten": invalid syntax'),
        ("display", " 1", 'display must be an integer, got " 1": invalid syntax'),
        ("display", "1_0", 'display must be an integer, got "1_0": invalid syntax'),
        ("display", "٣", 'display must be an integer, got "٣": invalid syntax'),
        ("display", "9" * 19, "value out of range"),
        ("display", "9" * 5000, "value out of range"),
        ("cm", "yes", 'cm must be a boolean (true or false), got "yes": invalid syntax'),
        ("cl", "some", 'cl must be a number of lines from 0 to 4294967295, got "some": invalid syntax'),
        ("cl", "-1", 'got "-1": invalid syntax'),
        ("cl", "4294967296", "value out of range"),
        ("max-line-len", "1.5", 'max-line-len must be an integer, got "1.5": invalid syntax'),
        ("sm", "smart", 'sm must be an integer, got "smart": invalid syntax'),
    ],
)
def test_bad_values_are_answered_by_name_with_the_value(name: str, value: str, message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        SearchRequest.from_params([("q", "x"), (name, value)])
    assert message in str(caught.value)
    assert caught.value.parameter == name
    assert isinstance(caught.value, QueryError)


@pytest.mark.parametrize("params", [[], [("q", "")], [("q", ""), ("q", "second")]])
def test_a_missing_query_is_told(params: list[tuple[str, str]]) -> None:
    with pytest.raises(BadParameter, match="no query found"):
        SearchRequest.from_params(params)


def test_empty_is_absent_first_wins_unknown_is_ignored_and_a_blank_is_a_query() -> None:
    params = [("q", " "), ("q", "b"), ("display", ""), ("cm", "T"), ("cm", "oops"), ("patternType", "x"), ("cl", "0")]
    request = SearchRequest.from_params(params)
    assert request == SearchRequest(" ", chunk_matches=True, context_lines=0)
    assert SearchRequest.from_params([("q", "x"), ("display", "-7")]).display == -1
    assert SearchRequest.from_params([("q", "x"), ("display", "+7")]).display == 7


def test_a_time_limit_that_would_be_lost_is_refused() -> None:
    with pytest.raises(ValueError, match="timeout_s can't be sent"):
        SearchRequest("x", timeout_s=1.5).to_params()


@given(REQUESTS, st.text(min_size=1))
def test_another_query_leaves_all_else(request: SearchRequest, query: str) -> None:
    assert request.with_query(query) == replace(request, query=query)


def test_limits_are_counted_in_the_singular_and_the_plural() -> None:
    texts = [
        match_limit(1).message,
        match_limit(2_000).message,
        display_limit(1, 1).message,
        display_limit(1, 2).message,
    ]
    assert [text.partition(";")[0] for text in texts] == [
        "The search stopped after 1 match",
        "The search stopped after 2,000 matches",
        "1 match, of which 1 is shown, as `display` requested.",
        "2 matches, of which 1 is shown, as `display` requested.",
    ]
