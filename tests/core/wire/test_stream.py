"""The stream protocol, both ways."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.wire.strategies import EVENT, MATCH
from core.wire.strict_decoder import Malformed, read_strictly
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire import RawEvent, SseDecoder, decode_event, decode_match, decode_matches, encode, encode_match
from sourcelight.core.wire import events as e

STREAM = (
    b'event: filters\ndata: [{"value":"lang:go","label":"Go","count":3,"limitHit":false,"kind":"lang"}]\n\n'
    b'event: progress\r\ndata:{\r\ndata: "done": false}\r\n\r\n'
    b": a comment\nid: 7\nretry: 10\n\nevent:novelty\ndata: 1\n\n"
    b"event: matches\ndata: null\n\ndata: {}\n\nevent: done\n\n"
)
EXPECTED = [
    RawEvent("filters", b'[{"value":"lang:go","label":"Go","count":3,"limitHit":false,"kind":"lang"}]'),
    RawEvent("progress", b'{\n"done": false}'),
    RawEvent("novelty", b"1"),
    RawEvent("matches", b"null"),
    RawEvent("message", b"{}"),
    RawEvent("done", b""),
]


def read(*portions: bytes, limit: int = 10**6) -> list[RawEvent]:
    decoder = SseDecoder(max_event_bytes=limit)
    results = [event for portion in portions for event in decoder.feed(portion)]
    results += decoder.close()
    return results


def portions(stream: bytes, cuts: list[int]) -> list[bytes]:
    position = [0, *sorted(c % (len(stream) + 1) for c in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(position)]


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_any_split_of_the_bytes_decodes_alike(cuts: list[int]) -> None:
    assert read(*portions(STREAM, cuts)) == EXPECTED


def test_single_bytes_decode_alike() -> None:
    assert read(*(bytes([b]) for b in STREAM)) == EXPECTED


def events_of_whole_lines(stream: bytes) -> list[RawEvent]:
    """What the standard of event streams makes of a whole stream; events without data count here."""
    events, name, data = [], b"", list[bytes]()
    *lines, _ = re.split(rb"\r\n|\r|\n", stream)
    for line in lines:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value
        elif field == b"data":
            data.append(value)
        elif not line:
            if name or data:
                events.append(RawEvent(name.decode() or "message", b"\n".join(data)))
            name, data = b"", []
    return events


LINES = st.sampled_from([b"event: matches", b"event:done", b"data: {}", b"data:[1,", b"data", b": ping", b"id: 7", b""])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS), max_size=30), st.lists(st.integers(0, 10**6), max_size=12))
def test_lines_end_with_any_of_the_three_ends_however_cut(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    stream = b"".join(line + end for line, end in lines)
    decoder = SseDecoder()
    assert [event for part in portions(stream, cuts) for event in decoder.feed(part)] == events_of_whole_lines(stream)


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\n"])
def test_an_event_is_there_with_its_blank_line_and_not_later(end: bytes) -> None:
    decoder = SseDecoder()
    assert [*decoder.feed(b"event: done" + end + b"data: {}" + end + end)] == [RawEvent("done", b"{}")]
    assert not decoder.incomplete
    assert [*decoder.feed(b""), *decoder.feed(b"event: x" + end + end)] == [RawEvent("x", b"")]


@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
def test_blank_lines_of_every_kind_are_bounded(end: bytes) -> None:
    decoder = SseDecoder(max_event_lines=100)
    assert list(decoder.feed(end * 100)) == []
    with pytest.raises(ProtocolError, match="more than 100 lines"):
        list(decoder.feed(end))


@given(st.lists(EVENT, max_size=4), st.lists(st.integers(0, 10**6), max_size=8))
def test_decoding_undoes_encoding_however_cut(events: list[e.Event], cuts: list[int]) -> None:
    stream = b"".join(map(encode, events))
    assert [decode_event(raw) for raw in read(*portions(stream, cuts))] == events


@given(MATCH, st.sampled_from(["both", "context", "content"]))
def test_decoding_undoes_encoding_of_every_kind_of_match(match: e.Match, chunk_text: e.Json) -> None:
    assert decode_match(json.loads(json.dumps(encode_match(match, chunk_text=chunk_text)))) == match


@given(st.lists(EVENT, max_size=4))
def test_a_strict_client_reads_what_we_encode(events: list[e.Event]) -> None:
    retained = [
        x for x in events if not isinstance(x, e.Matches) or all(m.type not in {"diff", "person"} for m in x.matches)
    ]
    names = [name for name, _ in read_strictly(b"".join(map(encode, [*retained, e.Done()])))]
    assert names[-1] == "done"


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5), st.integers(10, 200))
def test_garbage_decodes_alike_under_any_split_and_raises_nothing_else(
    data: bytes, cuts: list[int], limit: int
) -> None:
    def outcome(parts: list[bytes]) -> tuple[list[RawEvent], bool]:
        decoder, events = SseDecoder(max_event_bytes=limit), []
        try:
            for part in parts:
                for event in decoder.feed(part):
                    events.append(event)  # noqa: PERF402 - what came before an error counts
            events += decoder.close()
        except ProtocolError:
            return events, True
        return events, False

    data = data.replace(b"\x00", b"\n").replace(b"\x01", b"data: ")
    assert outcome(portions(data, cuts)) == outcome([data])


def test_the_exact_form_on_the_wire() -> None:
    alert = e.Alert(title="a<b>&\u2028\u2029é", kind="info")
    assert encode(alert) == (
        b"event: alert\n"
        b'data: {"title":"a\\u003cb\\u003e\\u0026\\u2028\\u2029\xc3\xa9","kind":"info","proposedQueries":null}\n\n'
    )
    assert encode(e.Done()) == b"event: done\ndata: {}\n\n"
    assert encode(e.Progress(done=False, match_count=0, duration_ms=1)) == (
        b'event: progress\ndata: {"done":false,"matchCount":0,"durationMs":1,"skipped":[]}\n\n'
    )


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert b"\xef\xbf\xbd" in encode(e.ErrorEvent("x\ud800y"))
    assert decode_event(RawEvent("error", b'{"message":"x\\ud800y"}')) == e.ErrorEvent("x\ud800y")


def test_a_content_match_says_that_there_are_no_hunks() -> None:
    value = encode_match(e.ContentMatch("r", "p"))
    assert value["hunks"] is None
    assert "lineMatches" not in value


def test_both_names_of_chunk_text_are_read() -> None:
    for key in ("content", "context"):
        match = decode_match({"type": "content", "chunkMatches": [{key: "text", "contentStart": None, "ranges": None}]})
        assert isinstance(match, e.ContentMatch)
        start = e.Location(0, 0, 0)  # without ranges, the first line stands for the match
        assert match.chunk_matches == (e.ChunkMatch("text", start, (e.Range(start, start),)),)


@pytest.mark.parametrize("limit_hit", [True, False])
def test_an_older_limit_hit_is_the_opposite_of_exhaustive(limit_hit: bool) -> None:  # noqa: FBT001
    raw = RawEvent("filters", json.dumps([{"value": "x", "limitHit": limit_hit}]).encode())
    assert decode_event(raw) == e.Filters((e.SuggestedFilter("x", "", 0, not limit_hit, ""),))


@pytest.mark.parametrize("name", ["matches", "progress", "filters", "alert", "error"])
@pytest.mark.parametrize("data", [b"null", b"", b"[]", b"{}", b"7", b'"text"', b"[null,1,[],{}]"])
def test_unexpected_json_is_read_as_absent(name: str, data: bytes) -> None:
    event = decode_event(RawEvent(name, data))
    assert decode_event(next(SseDecoder().feed(encode(event)))) == event


@pytest.mark.parametrize("name", ["matches", "progress", "filters", "alert", "error"])
def test_what_is_not_json_is_refused_with_its_event_and_an_excerpt(name: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_event(RawEvent(name, b"<html>" + b"x" * 1000))
    assert caught.value.event == name
    assert len(caught.value.excerpt) <= 120


def test_an_unknown_event_keeps_its_data_even_when_that_is_not_json() -> None:
    assert decode_event(RawEvent("novelty", b'{"a":1}')) == e.UnknownEvent("novelty", {"a": 1})
    assert decode_event(RawEvent("novelty", b"<x>")) == e.UnknownEvent("novelty", "<x>")


def test_done_may_carry_anything() -> None:
    assert decode_event(RawEvent("done", b"null")) == e.Done()
    assert decode_event(RawEvent("done", b"oops")) == e.Done()


def test_a_match_without_type_is_a_content_match() -> None:
    assert decode_matches(b'[{"repository":"r","path":"p","novelty":1}]') == (e.ContentMatch("r", "p"),)


def test_an_event_above_the_limit_is_refused_after_those_before_it() -> None:
    events = SseDecoder(max_event_bytes=50).feed(b"event: done\ndata: {}\n\nevent: matches\ndata: [" + b" " * 60)
    assert next(events) == RawEvent("done", b"{}")
    with pytest.raises(ProtocolError, match="more than 50 bytes"):
        next(events)


def test_a_large_event_in_many_portions_is_read_in_linear_time() -> None:
    data = b'["' + b"x" * (12 * 1024 * 1024) + b'"]'
    stream = b"event: matches\ndata: " + data + b"\n\n"
    decoder = SseDecoder()
    results = [x for i in range(0, len(stream), 4096) for x in decoder.feed(stream[i : i + 4096])]
    assert results == [RawEvent("matches", data)]


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r\n", b"\r", b"\n\n"])
def test_a_last_event_without_its_blank_line_is_read(tail: bytes) -> None:
    decoder = SseDecoder()
    results = [*decoder.feed(b"event: done\ndata: {}" + tail), *decoder.close()]
    assert results == [RawEvent("done", b"{}")]
    assert not decoder.incomplete


@pytest.mark.parametrize(
    "portion", [b"event: mat", b"event: matches\n", b"event: matches\ndata: [{", b"event: m\ndata: {}\ndata: {"]
)
def test_an_event_cut_inside_is_not_read_and_is_told(portion: bytes) -> None:
    decoder = SseDecoder()
    assert [*decoder.feed(portion), *decoder.close()] == []
    assert decoder.incomplete


@pytest.mark.parametrize(
    "stream",
    [
        b"Private mode requires authentication.\n",
        b"oops",
        b"event: done\r\ndata: {}\r\n\r\n",
        b": comment\nevent: done\ndata: {}\n\n",
        b"event: alert\ndata: {\ndata: }\n\n",
        b'event: matches\ndata: [{"type":"diff"}]\n\n',
        b'event: matches\ndata: [{"type":"team"}]\n\n',
        b"event: matches\ndata: [" + b" " * 10 * 1024 * 1024 + b"]\n\n",
    ],
)
def test_the_strict_reader_refuses_what_strict_clients_refuse(stream: bytes) -> None:
    with pytest.raises(Malformed):
        read_strictly(stream)


def test_the_strict_reader_accepts_what_strict_clients_accept() -> None:
    assert read_strictly(b"") == []
    assert read_strictly(
        b'event:novelty\ndata:1\n\nevent:error\ndata:{"message":"x"}\n\nevent: done\ndata: {}\n\nrest\n'
    ) == [
        ("error", {"message": "x"}),
        ("done", None),
    ]
