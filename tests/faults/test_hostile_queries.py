"""Queries that are too long, too deep, too slow for other engines, or no text: an answer or a clear refusal, soon."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from urllib.parse import quote

import httpx2
import pytest

import sourcelight as sl
from core.wire.strict_decoder import read_strictly
from server.running_service import TOKEN, Service
from sourcelight.core.errors import QueryError

BOUND_S = 40.0  # of wall time on a busy machine; each takes a small part of it on an idle one
LONG = {
    "one word": "needle" * 17_000,
    "one phrase": "needle " * 14_000,
    "ten thousand alternatives": " or ".join(f"term{number}" for number in range(10_000)),
    "negations": "not " * 24_001 + "/./",
}
BACKTRACKING = {
    "nested plus": (r"(a+)+$", 1),
    "nested star": (r"(a*)*$", 1),
    "twofold": (r"(a|aa)+$", 1),
    "twenty runs": (r"(.*a){20}", 2),
    "no match after runs": (r"(x+x+)+y", 0),
    "counted": (r"a{900}b{900}", 0),
}


def ask(code: sl.Client, query: str, pattern_type: str = "standard") -> sl.SearchResult:
    start = time.monotonic()
    result = code.search(query, pattern_type=pattern_type)
    assert time.monotonic() - start < BOUND_S
    assert result.status in {"complete", "limited"}
    return result


def get(service: Service, raw_query: str) -> tuple[int, bytes]:
    """Status and body for an address that is sent as it is; no client library has a say."""
    host, port = service.url.removeprefix("http://").split(":")
    head = f"GET /.api/search/stream?{raw_query} HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {TOKEN}\r\n"
    with socket.create_connection((host, int(port)), timeout=BOUND_S) as connection:
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode("latin-1"))
        answer = b""
        while portion := connection.recv(1 << 16):
            answer += portion
    headers, _, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in headers.lower():
        content = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            content += body[: int(size, 16)]
            body = body[int(size, 16) + 2 :]
        body = content
    return int(headers.split()[1]), body


@pytest.mark.parametrize("query", LONG.values(), ids=list(LONG))
def test_a_hundred_kilobytes_are_searched_in_the_library(embedded: sl.Client, query: str) -> None:
    assert len(query) > 90_000
    answer = ask(embedded, query)
    assert len(answer) == (100 if "term" in query else 0)


@pytest.mark.parametrize("query", LONG.values(), ids=list(LONG))
def test_a_hundred_kilobytes_are_too_long_for_an_address_and_both_ends_say_so(
    service: Service, remote: sl.Client, query: str
) -> None:
    status, body = get(service, f"q={quote(query)}")
    assert (status, body) == (414, b"The address is longer than 65536 bytes.\n")
    with pytest.raises(QueryError, match=r"too long for a request: [0-9,]+ bytes .* 65,536") as caught:
        remote.search(query)
    assert len(str(caught.value)) < 200


def test_as_much_as_an_address_may_hold_is_searched_over_http(remote: sl.Client) -> None:
    assert len(ask(remote, "needle" + "x" * 64_000)) == 0
    assert len(ask(remote, " or ".join(f"term{number}" for number in range(1_000)))) == 100


@pytest.mark.parametrize(("pattern", "lines"), BACKTRACKING.values(), ids=list(BACKTRACKING))
def test_what_explodes_elsewhere_is_linear_here(code: sl.Client, pattern: str, lines: int) -> None:
    assert len(ask(code, f"{pattern} count:all file:runs|mega", "regexp")) == lines


@pytest.mark.parametrize(
    "pattern",
    ["a{1000000}", "(((a{30}){30}){30})", "(?:[^x]{0,900}needle){3}", r"(\pL{1,300}\s){5}", "(a{1,1000}){1,1000}"],
)
def test_a_regexp_that_is_too_large_is_refused_with_its_part(code: sl.Client, pattern: str) -> None:
    with pytest.raises(QueryError, match=r"(?i)error parsing regexp: .*`.+`"):
        code.search(pattern, pattern_type="regexp")


def test_a_regexp_beyond_the_fast_scanner_is_answered_all_the_same(code: sl.Client) -> None:
    assert len(ask(code, r"(.{1000}a){1} file:runs", "regexp")) == 1
    assert len(ask(code, r"[a-z]{500}[^a]{500}x", "regexp")) == 0
    assert len(ask(code, r"(?:\bneedle|caf\x{E9}|[\x{80}-\x{10FFFF}]{1,200}z)\(", "regexp")) == 1


@pytest.mark.parametrize("depth", [50, 1_000, 5_000])
def test_deep_groups_are_answered_or_refused(code: sl.Client, depth: int) -> None:
    nested = "(" * depth + "needle" + ")" * depth
    for pattern_type in ("standard", "keyword", "regexp", "literal"):
        with suppress(QueryError):
            ask(code, f"{nested} file:code", pattern_type)


def test_nul_is_a_character_like_any_other(code: sl.Client, service: Service) -> None:
    assert len(ask(code, "a\0b")) == 0
    assert len(ask(code, r"needle|\x00", "regexp")) > 1
    status, body = get(service, "q=needle%00&t=literal")
    assert status == 200
    assert [name for name, _ in read_strictly(body)][-1] == "done"


def test_text_that_is_not_unicode_is_refused_on_both_sides_with_its_place(code: sl.Client) -> None:
    with pytest.raises(QueryError, match="not valid Unicode") as caught:
        code.search("caf\xe9 \udc80")
    assert caught.value.position == 6


@pytest.mark.parametrize("raw", ["q=needle%FF", "q=%C3%28", "q=%ED%B2%80x", "q=caf\xe9", "q=%zz", "q=%", "q=%F0%9F"])
def test_bad_bytes_in_an_address_are_read_as_the_replacement_character(service: Service, raw: str) -> None:
    status, body = get(service, raw)
    if status == 400:
        assert raw == "q=caf\xe9"  # a raw byte in an address is no HTTP
        return
    assert status == 200
    events = read_strictly(body)
    assert events[-1][0] == "done"
    assert "error" not in {name for name, _ in events}


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [("^", 0), ("$", 0), ("(?:)", 0), ("x*", 0), (r"\b", 0), (".*", 2), (".", 2), (r"(?s).*", 2), (r"[\s\S]", 2)],
)
def test_a_pattern_that_matches_everything_or_nothing_is_bounded(code: sl.Client, pattern: str, rows: int) -> None:
    assert len(ask(code, f"{pattern} file:code.py count:all", "regexp")) == rows


def test_a_line_of_a_megabyte_arrives_whole_or_cut_as_asked(code: sl.Client) -> None:
    everything = ask(code, "a! count:all case:yes").matches.iloc[0]
    assert (len(everything["line"]), list(everything["start"]), list(everything["end"])) == (
        1_000_001,
        [999_999],
        [1_000_001],
    )
    result = code.search("a! count:all", context_lines=1, max_line_bytes=200)
    assert len(result.matches["chunk"].iloc[0]) < 1_000


def test_the_service_still_answers(service: Service) -> None:
    """Stands last in the file: what came before did no lasting harm."""
    assert service.client.get("/healthz").status_code == httpx2.codes.OK
    assert service.app.state.search.running == 0
