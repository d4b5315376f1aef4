"""The file of a recording: every line comes back as it was, and every beginning of a file is a file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sourcelight as sl
from sourcelight.backends.remote.recording.format import (
    FORM,
    Line,
    RecordedReply,
    RecordedRequest,
    encode_line,
    error_from_json,
    error_to_json,
    head,
    lines_of,
    parse_line,
)
from sourcelight.core import errors

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NUMBERS = st.integers(1, 5)
ASKED = st.builds(
    RecordedRequest, NUMBERS, st.integers(1, 99), st.sampled_from(["stream", "json", "tools", "tool"]), st.text(), PLAIN
)
BYTES = st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
SAID = st.builds(
    RecordedReply, NUMBERS, st.integers(1, 99), st.integers(0, 10**9), st.just("bytes"), BYTES
) | st.builds(
    RecordedReply,
    NUMBERS,
    st.integers(1, 99),
    st.integers(0, 10**9),
    st.sampled_from(["note", "value", "fault", "end"]),
    PLAIN,
)


@given(ASKED | SAID)
def test_every_line_comes_back_as_it_was(line: Line) -> None:
    text = encode_line(line)
    assert text.count(b"\n") == 1
    assert text.endswith(b"\n")
    assert parse_line(text) == line


@given(st.lists(SAID, max_size=6), st.data())
def test_every_beginning_of_a_file_is_a_shorter_file(replies: list[RecordedReply], data: st.DataObject) -> None:
    lines: list[Line] = [
        *(RecordedRequest(n, n, "stream", "https://host", {"q": str(n)}) for n in range(1, 6)),
        *replies,
    ]
    everything = head() + b"".join(encode_line(line) for line in lines)
    assert list(lines_of(everything, "f")) == lines
    size = data.draw(st.integers(len(head()), len(everything)))
    results = list(lines_of(everything[:size], "f"))
    assert results == lines[: len(results)]
    assert len(results) == everything[:size].count(b"\n") - 1


@given(st.binary(max_size=200))
def test_what_is_no_recording_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(sl.RecordingInvalid):
        list(lines_of(b"x" + data, "f"))


@given(PLAIN)
def test_no_other_line_is_read(value: Any) -> None:
    import json

    try:
        line = parse_line(json.dumps(value).encode())
    except ValueError:
        return
    assert line.number >= 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"{}\n", "is not a recording"),
        (b'{"sourcelight":"recording","form":%d}\n' % (FORM + 1), "update sourcelight"),
        (head() + b"nonsense\n", "line 2 can't be read"),
        (
            head() + encode_line(RecordedReply(1, 1, 0, "end", "done")),
            "answers request 1, which isn't in the recording",
        ),
    ],
)
def test_a_damaged_file_says_where(data: bytes, reason: str) -> None:
    with pytest.raises(sl.RecordingInvalid, match=reason):
        list(lines_of(data, "f"))


FAULTS = [
    errors.RateLimited("slow", text="wait", retry_after_s=3.5),
    errors.StreamBroken("broke", events_seen=4),
    errors.RepositoryNotFound("r"),
    errors.PathNotFound("r", "v1", "p"),
    errors.ToolError("no", tool="read_file", argument="path", accepted=("a", "b")),
    errors.QueryError("no", query="q", position=3, hint="h"),
    errors.Unauthorized("401", status=401, text="t"),
]


@pytest.mark.parametrize("error", FAULTS, ids=lambda f: type(f).__name__)
def test_a_fault_comes_back_with_all_that_it_says(error: sl.SourcelightError) -> None:
    line = parse_line(encode_line(RecordedReply(1, 1, 0, "fault", error_to_json(error))))
    assert isinstance(line, RecordedReply)
    repeated = error_from_json(line.content)
    assert type(repeated) is type(error)
    assert str(repeated) == str(error)
    assert vars(repeated) == vars(error)


def test_an_unknown_fault_is_one_of_ours() -> None:
    assert type(error_from_json({"type": "OfTheFuture", "message": "m"})) is sl.SourcelightError
    assert type(error_from_json({"type": "Mapping", "message": "m"})) is sl.SourcelightError
