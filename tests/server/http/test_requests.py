"""A search is read from an address in two ways, which agree."""

from __future__ import annotations

import random
from dataclasses import replace
from urllib.parse import parse_qsl

from sourcelight.core.errors import QueryError
from sourcelight.core.wire.request import SearchRequest
from sourcelight.server.http.requests import TRACE_HEADER, pairs_of, read_request, shows_diffs

TEXTS = (
    "needle",
    "a+b",
    "a%20b",
    "%00",
    "%ff",
    "caf%C3%A9",
    "caf\u00e9",
    "a=b",
    "%26v=V1",
    "a;b",
    "",
    "+",
    "%",
    "x%zz",
)
OTHERS = (
    "v=V3", "v=V1", "v=V9", "t=standard", "t=regexp", "t=structural", "t=odd", "display=-1", "display=10", "display=x",
    "cm=true", "cm=maybe", "cl=3", "max-line-len=80", "trace=true", "trace=0", "q=second", "q=", "sm=1", "x=y", "v", "",
)  # fmt: skip
HEADERS: tuple[dict[str, str], ...] = (
    {}, {"user-agent": "sourcelight/0.2"}, {"user-agent": "src-cli"}, {TRACE_HEADER: "1"}, {TRACE_HEADER: "odd"},
)  # fmt: skip
WORDS = {"1": True, "": None, "odd": None}


def expected(query: bytes, headers: dict[str, str]) -> SearchRequest:
    request = SearchRequest.from_params(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    trace = WORDS[headers.get(TRACE_HEADER, "")]
    return replace(request, diff_previews=shows_diffs(headers), trace=request.trace if trace is None else trace)


def test_a_search_is_read_as_from_all_its_parameters() -> None:
    chance = random.Random(3)  # noqa: S311 - to draw the same again
    requests = errors = 0
    for _ in range(4000):
        parts = [f"q={chance.choice(TEXTS)}", *chance.sample(OTHERS, chance.randrange(5))]
        if chance.random() < 0.2:
            chance.shuffle(parts)
        query, headers = "&".join(parts).encode("latin-1"), chance.choice(HEADERS)
        answers: list[SearchRequest | str] = []
        for read in (expected, read_request):
            try:
                answers.append(read(query, headers))
            except QueryError as exc:
                answers.append(f"{type(exc).__name__}: {exc}")
        assert answers[0] == answers[1], query
        errors += isinstance(answers[0], str)
        requests += not isinstance(answers[0], str)
    assert requests > 1000
    assert errors > 1000


def test_a_long_address_is_read() -> None:
    query = b"q=needle&x=" + b"y" * 5000 + b"&display=7"
    assert read_request(query, {}) == expected(query, {})
    assert dict(pairs_of(query))["display"] == "7"
