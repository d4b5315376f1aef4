"""Record batches to wire JSON and back."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batches.generated import NAMES, TEXT, Row, batch_of, chunked, facts_of, files
from core.wire.strategies import MATCH, tuples_of
from core.wire.strict_decoder import read_strictly
from sourcelight.core.batches import MatchBatch, RepositoryInfo, conform
from sourcelight.core.batches.codecs.decode import MatchDecoder
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire import decode_matches, encode, frame
from sourcelight.core.wire import events as e

# The first example loads Arrow, which no deadline should judge.
DRAWN = settings(deadline=None, max_examples=40)
LINE_COLUMNS = (
    "type",
    "repository",
    "repository_id",
    "revision",
    "commit",
    "path",
    "language",
    "name_start",
    "name_end",
)


def wire(rows: list[Row], **options: Any) -> list[bytes]:
    results = list(encode_matches(MatchBatch(batch_of(rows)), facts_of(rows), **options))
    read_strictly(b"".join(frame("matches", data) for data in results)) if options.get(
        "diff_type"
    ) == "commit" else None
    return results


def back(payloads: list[bytes]) -> list[Row]:
    decoder = MatchDecoder()
    return [row for data in payloads for b in decoder.decode(data) for row in b.batch.to_pylist()]


def expected_lines(rows: list[Row]) -> list[Row]:
    """What the line form can carry: no newline in a span, no places in the file, every span a match."""
    out = []
    for row in rows:
        line = row["line"]
        clipped = [(a, min(b, len(line))) for a, b in zip(row["start"], row["end"], strict=True)]
        retained = [(a, b) for a, b in clipped if b > a]
        new = {name: row[name] for name in LINE_COLUMNS} | {"line_number": row["line_number"], "line": line}
        new["start"], new["end"] = [a for a, _ in retained], [b for _, b in retained]
        new["match_count"] = len(retained)
        new["byte_start"] = [len(line[:a].encode()) for a, _ in retained]
        new["byte_end"] = [len(line[:b].encode()) for _, b in retained]
        out.append(new)
    return out


@DRAWN
@given(chunked())
def test_lines_come_back_as_they_went(rows: list[Row]) -> None:
    if rows:
        assert back(wire(rows)) == expected_lines(rows)


@DRAWN
@given(chunked(), st.sampled_from(["both", "context", "content"]))
def test_chunks_come_back_as_they_went(rows: list[Row], chunk_text: str) -> None:
    if rows:
        assert back(wire(rows, chunk_matches=True, chunk_text=chunk_text)) == rows


@DRAWN
@given(chunked(), st.booleans())
def test_the_typed_reader_agrees(rows: list[Row], chunk_matches: bool) -> None:  # noqa: FBT001 - drawn
    if not rows:
        return
    payloads = wire(rows, chunk_matches=chunk_matches)
    typed = [m for data in payloads for m in decode_matches(data)]
    assert all(isinstance(m, e.ContentMatch) for m in typed)
    stream = encode(e.Matches(tuple(typed)))
    assert back([stream.split(b"data: ", 1)[1]]) == back(payloads)


@DRAWN
@given(files("path"))
def test_paths_come_back_as_they_went(rows: list[Row]) -> None:
    rows = [row | {"match_count": 1} for row in rows]
    assert back(wire(rows)) == [{k: r[k] for k in r} for r in rows]


@DRAWN
@given(st.lists(NAMES, min_size=1, max_size=3, unique=True))
def test_repositories_come_back_with_their_facts(names: list[str]) -> None:
    rows = [
        {
            "type": "repo",
            "repository": name,
            "repository_id": 7,
            "revision": "",
            "match_count": 1,
            "name_start": [0],
            "name_end": [1],
        }
        for name in names
    ]
    info = {
        name: RepositoryInfo(
            name,
            7,
            1,
            "2024-01-01T00:00:00Z",
            "text",
            True,
            True,
            True,
            ("a",),
            {"k": None, "l": "v"},
        )
        for name in names
    }
    (data,) = encode_matches(MatchBatch(batch_of(rows)), info)
    (event,) = MatchDecoder().decode(data)
    assert event.batch.to_pylist() == rows
    assert {f.name: f for f in event.repositories} == info


@DRAWN
@given(files("symbol"), st.lists(st.tuples(TEXT, st.integers(1, 9), TEXT), min_size=1, max_size=3))
def test_symbols_come_back_as_they_went(heads: list[Row], symbols: list[tuple[str, int, str]]) -> None:
    rows = [
        {k: v for k, v in head.items() if not k.startswith("name_")}
        | {
            "line_number": line,
            "match_count": 1,
            "symbol": name,
            "symbol_kind": "enummember",
            "container": container,
            "url": f"/x?L{line}:1-{line}:2",
        }
        for head in heads
        for name, line, container in symbols
    ]
    assert back(wire(rows)) == rows


@st.composite
def commits(draw: st.DrawFn, kind: str) -> list[Row]:
    rows: list[Row] = []
    when = dt.datetime(2024, 2, 29, 12, 30, 0, 123000, tzinfo=dt.UTC)
    for i in range(draw(st.integers(1, 3))):
        lines = draw(st.lists(TEXT.filter(bool), min_size=1, max_size=4))
        message = "\n".join(lines)
        head = {
            "type": kind,
            "repository": draw(NAMES),
            "repository_id": 5,
            "revision": "",
            "commit": f"{i:040x}",
            "author": draw(TEXT),
            "author_date": when,
            "committer": "c",
            "commit_date": when,
            "message": message,
            "agent": draw(st.sampled_from(["Aider", "", None])),
            "url": "/u",
            "detail": "d",
            "label": "l",
        }
        if kind == "commit":
            rows += [
                head
                | {"path": None, "side": None, "line_number": n, "line": t, "start": [0], "end": [1], "match_count": 1}
                for n, t in enumerate(lines, start=1)
            ]
        else:
            for path in draw(st.lists(st.sampled_from(["a b", "c\\d", "é"]), min_size=1, unique=True)):
                rows += [
                    head
                    | {
                        "path": path,
                        "side": draw(st.sampled_from(["added", "removed", "context"])),
                        "line_number": n,
                        "line": t,
                        "start": [0],
                        "end": [len(t)],
                        "match_count": 1,
                    }
                    for n, t in enumerate(lines, start=draw(st.integers(1, 50)))
                ]
    return rows


@DRAWN
@given(commits("commit"))
def test_commits_come_back_as_they_went(rows: list[Row]) -> None:
    assert back(wire(rows)) == [{k: r[k] for k in r} for r in rows]


@DRAWN
@given(commits("diff"), st.sampled_from(["diff", "commit"]))
def test_diffs_come_back_under_either_type(rows: list[Row], diff_type: str) -> None:
    assert back(wire(rows, diff_type=diff_type)) == rows


@DRAWN
@given(tuples_of(MATCH, 5))
def test_every_match_that_typed_code_writes_can_be_read(matches: tuple[e.Match, ...]) -> None:
    data = encode(e.Matches(matches)).split(b"data: ", 1)[1]
    try:
        decoder = MatchDecoder().decode(data)
    except ProtocolError as exc:
        assert "out of range" in str(exc)  # noqa: PT017 - either outcome is right
        return
    conform([b.batch for b in decoder])


LINE = "naïve 😀 grüße\tx\r"


def test_offsets_are_code_points_of_lines_with_accents_emoji_tabs_and_a_carriage_return() -> None:
    index = LINE.index("grüße")
    match = {
        "type": "content",
        "repository": "r",
        "path": "p",
        "lineMatches": [{"line": LINE, "lineNumber": 4, "offsetAndLengths": [[index, 5], [6, 1], [15, 2]]}],
    }
    (row,) = back([json.dumps([match]).encode()])
    assert row["line_number"] == 5
    assert row["line"] == LINE
    spans = list(zip(row["start"], row["end"], strict=True))
    assert [LINE[a:b] for a, b in spans] == ["grüße", "😀", "\rx"[:0] + LINE[15:17]]
    raw = LINE.encode()
    in_bytes = list(zip(row["byte_start"], row["byte_end"], strict=True))
    assert [raw[a:b].decode() for a, b in in_bytes] == [LINE[a:b] for a, b in spans]


def test_chunk_ranges_are_code_points_too_and_bytes_of_the_file() -> None:
    text = f"first\n{LINE}\nlast"
    before = len("first\n".encode())  # noqa: UP012 - bytes are the point
    index = LINE.index("grüße")
    start = {"offset": 100 + before + len(LINE[:index].encode()), "line": 8, "column": index}
    end = {"offset": start["offset"] + 7, "line": 8, "column": index + 5}
    chunk = {
        "content": text,
        "contentStart": {"offset": 100, "line": 7, "column": 0},
        "ranges": [{"start": start, "end": end}],
    }
    (row,) = back([json.dumps([{"repository": "r", "path": "p", "chunkMatches": [chunk]}]).encode()])
    assert (row["line_number"], row["line"], row["chunk"], row["chunk_start_line"]) == (9, LINE, text, 8)
    assert LINE[row["start"][0] : row["end"][0]] == "grüße"
    assert (row["line_offset"], row["chunk_offset"]) == (106, 100)
    assert row["byte_end"][0] - row["byte_start"][0] == 7


def place(line: int, column: int, offset: int = 0) -> dict[str, int]:
    return {"offset": offset, "line": line, "column": column}


def test_a_range_over_lines_becomes_a_row_for_each_and_counts_once() -> None:
    chunk = {
        "context": "ab\ncd\nef\n",
        "contentStart": place(0, 0),
        "ranges": [{"start": place(0, 1, 1), "end": place(2, 1, 7)}],
    }
    rows = back([json.dumps([{"repository": "r", "path": "p", "chunkMatches": [chunk]}]).encode()])
    assert [(r["start"], r["end"], r["match_count"]) for r in rows] == [([1], [3], 1), ([0], [3], 0), ([0], [1], 0)]


def test_ranges_past_a_cut_text_end_with_it() -> None:
    chunk = {
        "content": "abc...truncated",
        "contentStart": place(0, 0),
        "contentTruncated": True,
        "ranges": [{"start": place(0, 50, 50), "end": place(0, 60, 60)}, {"start": place(9, 0), "end": place(9, 1)}],
    }
    (row,) = back([json.dumps([{"repository": "r", "path": "p", "chunkMatches": [chunk]}]).encode()])
    assert row["truncated"]
    assert (row["start"], row["end"], row["match_count"]) == ([15], [15], 1)


def test_chunks_that_come_best_first_become_rows_in_line_order() -> None:
    def chunk(line: int) -> dict[str, Any]:
        start, end = place(line, 0, line), place(line, 1, line + 1)
        return {"content": "x", "contentStart": place(line, 0, line), "ranges": [{"start": start, "end": end}]}

    match = {"repository": "r", "path": "p", "chunkMatches": [chunk(9), chunk(2)]}
    assert [r["line_number"] for r in back([json.dumps([match]).encode()])] == [3, 10]
    lines = [{"line": "x", "lineNumber": n, "offsetAndLengths": [[0, 1]]} for n in (7, 3)]
    match = {"repository": "r", "path": "p", "lineMatches": lines}
    assert [r["line_number"] for r in back([json.dumps([match]).encode()])] == [4, 8]


def chunk_match(chunk: dict[str, Any]) -> bytes:
    return json.dumps([{"repository": "r", "path": "p", "chunkMatches": [chunk]}]).encode()


def test_ranges_in_any_order_that_lie_over_each_other_become_rows_in_line_order() -> None:
    ranges = [(place(2, 0, 6), place(2, 2, 8)), (place(0, 1, 1), place(2, 1, 7)), (place(1, 0, 3), place(1, 1, 4))]
    results = [{"start": a, "end": b} for a, b in ranges]
    chunk = {"content": "ab\ncd\nef", "contentStart": place(0, 0), "ranges": results}
    rows = back([chunk_match(chunk)])
    assert [(r["line"], r["line_offset"], r["start"], r["end"], r["match_count"]) for r in rows] == [
        ("ab", 0, [1], [3], 1),
        ("cd", 3, [0, 0], [3, 1], 1),
        ("ef", 6, [0, 0], [1, 2], 1),
    ]


def test_ranges_that_can_be_no_matches_are_refused_before_they_fill_the_memory() -> None:
    chunk = {
        "content": "\n" * 2**12,
        "contentStart": place(0, 0),
        "ranges": [{"start": place(0, 0), "end": place(2**12, 0)}] * 2**12,
    }
    decoder = MatchDecoder()
    assert decoder.decode(chunk_match(chunk)) == []
    (other,) = decoder.take_other()
    assert "overlap too often" in other.reason


@DRAWN
@given(chunked(), st.booleans())
def test_events_at_once_say_what_they_say_one_by_one(rows: list[Row], chunk_matches: bool) -> None:  # noqa: FBT001 - drawn
    if not rows:
        return
    payloads = [data for row in rows for data in wire([row], chunk_matches=chunk_matches)]
    at_once = MatchDecoder().decode(*payloads)
    assert [row for b in at_once for row in b.batch.to_pylist()] == back(payloads)
    assert [f.name for b in at_once for f in b.repositories] == list(dict.fromkeys(r["repository"] for r in rows))


_FORMS: dict[str, dict[str, Any]] = {
    "path": {"type": "path"},
    "lines": {
        "type": "content",
        "lineMatches": [{"line": "x", "lineNumber": n, "offsetAndLengths": [[0, 1]]} for n in (3, 1)],
    },
    "chunks": {
        "type": "content",
        "chunkMatches": [
            {
                "content": "x",
                "contentStart": {"offset": 0, "line": 0, "column": 0},
                "ranges": [
                    {"start": {"offset": 0, "line": 0, "column": 0}, "end": {"offset": 1, "line": 0, "column": 1}}
                ],
            }
        ],
    },
    "symbol": {"type": "symbol", "symbols": [{"name": "f", "kind": "function"}] * 2},
    "none": {"type": "symbol", "symbols": []},
    "unknown": {"type": "team"},
}


@settings(DRAWN, max_examples=60)
@given(st.lists(st.lists(st.sampled_from(sorted(_FORMS)), max_size=60), max_size=4))
def test_kinds_that_alternate_keep_the_order_of_the_wire(events: list[list[str]]) -> None:
    sizes = {"path": 1, "lines": 2, "chunks": 1, "symbol": 2, "none": 0, "unknown": 0}
    payloads: list[bytes] = []
    order: list[tuple[str, int]] = []
    for event in events:
        records = []
        for kind in event:
            path = f"{len(order)}-{kind}"
            order.append((path, sizes[kind]))
            records.append(_FORMS[kind] | {"repository": f"r{len(order) % 3}", "path": path})
        payloads.append(json.dumps(records).encode())
    batches = MatchDecoder().decode(*payloads)
    rows = [row for batch in batches for row in batch.batch.to_pylist()]
    assert [row["path"] for row in rows] == [path for path, size in order for _ in range(size)]
    kinds = [row["path"].partition("-")[2] for row in rows]
    assert [row["type"] for row in rows] == [_FORMS[kind]["type"] for kind in kinds]
    described: set[str] = set()
    for batch in batches:
        described.update(repository.name for repository in batch.repositories)
        assert {row["repository"] for row in batch.batch.to_pylist()} <= described
    assert len(batches) <= 32


def test_chunks_that_touch_are_sent_as_one() -> None:
    def row(number: int, chunk: str, first: int) -> Row:
        offset = 2 * (number - 1)
        positions = {"line_offset": offset, "byte_start": [0], "byte_end": [1], "chunk_offset": 2 * (first - 1)}
        spans = {"start": [0], "end": [1], "match_count": 1, "name_start": [], "name_end": []}
        head = {"type": "content", "repository": "r", "repository_id": 1, "revision": "", "commit": None, "path": "p"}
        tail = {"line_number": number, "line": "x", "chunk": chunk, "chunk_start_line": first, "truncated": False}
        return head | {"language": None} | spans | tail | positions

    rows = [row(2, "a\nx\nb\n", 1), row(4, "b\nx\nc\n", 3), row(9, "x", 9)]
    (match,) = decode_matches(wire(rows, chunk_matches=True)[0])
    assert isinstance(match, e.ContentMatch)
    assert [c.content for c in match.chunk_matches] == ["a\nx\nb\nx\nc\n", "x"]
    assert [len(c.ranges) for c in match.chunk_matches] == [2, 1]


def test_nulls_absences_and_unknown_kinds_take_the_forgiving_way() -> None:
    data = json.dumps(
        [
            {"type": "team", "handle": "x"},
            {"repository": "r", "path": "p", "branches": None, "novelty": [1], "hunks": None}
            | {"lineMatches": [{"line": "x", "lineNumber": 0, "offsetAndLengths": [[0, 1, 9], [0]]}, None]},
            {"type": "repo", "repository": "r", "repoStars": None, "topics": None, "metadata": None},
            {"type": "content", "repository": "r", "path": "empty"},
        ]
    ).encode()
    batches = MatchDecoder().decode(data)
    assert [b.batch.column("type")[0].as_py() for b in batches] == ["content", "repo"]
    assert batches[0].repositories == (RepositoryInfo("r"),)
    assert batches[1].repositories == ()
    for nothing in (b"null", b"[]", b""):
        assert MatchDecoder().decode(nothing) == []


def test_what_is_not_json_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        MatchDecoder().decode(b"[{")


_GOOD = {"type": "content", "repository": "r", "path": "p"}
_LINE = {"line": "tide", "lineNumber": 3, "offsetAndLengths": [[0, 4]]}
_CHUNK = {"content": "tide\nwind", "contentStart": {"offset": 0, "line": 3, "column": 0}}


def _range(first: int, last: int) -> dict[str, dict[str, int]]:
    return {
        "start": {"offset": 0, "line": first, "column": 0},
        "end": {"offset": 4, "line": last, "column": 4},
    }


_BAD: dict[str, tuple[bytes, str]] = {
    "a line beyond 32 bits": (
        json.dumps(_GOOD | {"lineMatches": [_LINE | {"lineNumber": 99_999_999_999}]}).encode(),
        "a number out of range",
    ),
    "a line before the first": (
        json.dumps(_GOOD | {"lineMatches": [_LINE | {"lineNumber": -5}]}).encode(),
        "a number out of range",
    ),
    "a span before its line": (
        json.dumps(_GOOD | {"lineMatches": [_LINE | {"offsetAndLengths": [[-1, 2]]}]}).encode(),
        "a number out of range",
    ),
    "a chunk before the file": (
        json.dumps(
            _GOOD | {"chunkMatches": [_CHUNK | {"contentStart": {"offset": 0, "line": -3, "column": 0}}]}
        ).encode(),
        "a number out of range",
    ),
    "a range after its chunk": (
        json.dumps(_GOOD | {"chunkMatches": [_CHUNK | {"ranges": [_range(30, 31)]}]}).encode(),
        "a number out of range: no range lies in",
    ),
    "a chunk without a range": (
        json.dumps(_GOOD | {"chunkMatches": [_CHUNK | {"ranges": []}]}).encode(),
        "a number out of range: no range lies in",
    ),
    "a range that ends before it starts": (
        json.dumps(_GOOD | {"chunkMatches": [_CHUNK | {"ranges": [_range(4, 3)]}]}).encode(),
        "a number out of range: a range ends before",
    ),
    "a definition before the file": (
        json.dumps(_GOOD | {"type": "symbol", "symbols": [{"name": "x", "url": "", "line": -7}]}).encode(),
        "a number out of range",
    ),
    "no path": (json.dumps({"type": "content", "repository": "r", "lineMatches": [_LINE]}).encode(), "no path"),
    "no repository": (json.dumps({"type": "path", "path": "p"}).encode(), "no repository"),
    "no lines": (json.dumps(_GOOD).encode(), "no matched lines"),
    "an unknown type": (b'{"type": "person", "handle": "ada", "repository": "r"}', "a type that"),
    "no object": (b"17", "no repository"),
    "an id beyond 64 bits": (
        json.dumps(_GOOD | {"repositoryID": 10**30, "lineMatches": [_LINE]}).encode(),
        "a number out of range",
    ),
}


@pytest.mark.parametrize("bad", _BAD)
def test_a_bad_match_costs_no_other(bad: str) -> None:
    data, reason = _BAD[bad]
    good = json.dumps(_GOOD | {"lineMatches": [_LINE]}).encode()
    decoder = MatchDecoder()
    batches = decoder.decode(b"[" + b",".join([good, data, good]) + b"]")
    assert sum(batch.rows for batch in batches) == 2
    (other,) = decoder.take_other()
    assert other.reason.startswith(reason)


def test_fields_that_services_leave_out_or_name_otherwise_cost_nothing() -> None:
    start = {"offset": 0, "line": 4, "column": 0}
    old = {"type": "content", "repository": "r", "name": "p", "version": "0" * 40, "lineMatches": [_LINE]}
    rangeless = _GOOD | {"repositoryID": 2**40, "chunkMatches": [{"content": "tide\n", "contentStart": start}]}
    decoder = MatchDecoder()
    rows = [row for b in decoder.decode(json.dumps([old, rangeless]).encode()) for row in b.batch.to_pylist()]
    assert [(row["path"], row["commit"], row["line"]) for row in rows] == [("p", "0" * 40, "tide"), ("p", None, "tide")]
    assert rows[1]["repository_id"] == 2**40
    assert decoder.take_other() == ()


@pytest.mark.parametrize("kind", ["lines", "chunks"])
def test_a_type_that_is_no_type_of_the_wire_is_kept_as_sent(kind: str) -> None:
    """Names of kinds of rows within the decoder are no types of matches."""
    sent = _GOOD | {"type": kind, "lineMatches": [_LINE]}
    decoder = MatchDecoder()
    assert decoder.decode(json.dumps([sent]).encode()) == []
    (other,) = decoder.take_other()
    assert (other.type, other.payload) == (kind, sent)


def test_invalid_utf8_costs_its_bytes_alone() -> None:
    data = json.dumps([_GOOD | {"lineMatches": [_LINE]}]).encode().replace(b"tide", b"ti\xffe")
    decoder = MatchDecoder()
    (batch,) = decoder.decode(data)
    assert batch.batch.to_pylist()[0]["line"] == "ti\ufffde"
    assert decoder.replaced_events == 1


def test_a_diff_in_a_commit_match_is_a_diff_with_sides_and_numbers() -> None:
    content = (
        "```diff\nold\\ name.go new\\ name.go\n@@ -10,3 +20,3 @@ func x()\n context\n-removed\n+added\n"
        "/dev/null made.go\n@@ -0,0 +1,1 @@\n+first\n\n```"
    )
    ranges = [[3, 1, 7], [4, 1, 7], [5, 2, 3], [8, 1, 5]]
    match = {"type": "commit", "repository": "r", "oid": "1" * 40, "content": content, "ranges": ranges}
    rows = back([json.dumps([match]).encode()])
    assert [(r["type"], r["path"], r["side"], r["line_number"], r["line"]) for r in rows] == [
        ("diff", "new name.go", "context", 20, "context"),
        ("diff", "new name.go", "removed", 11, "removed"),
        ("diff", "new name.go", "added", 21, "added"),
        ("diff", "made.go", "added", 1, "first"),
    ]
    assert rows[2]["line"][rows[2]["start"][0] : rows[2]["end"][0]] == "dde"


def test_a_commit_without_highlights_is_one_row_with_its_subject() -> None:
    match = {
        "type": "commit",
        "repository": "r",
        "oid": "1",
        "message": "subject\n\nbody",
        "content": "",
        "ranges": None,
    }
    (row,) = back([json.dumps([match]).encode()])
    assert (row["line"], row["start"], row["match_count"]) == ("subject", [], 1)


def test_a_symbol_line_is_read_from_its_address_if_need_be() -> None:
    symbols = [{"name": "f", "kind": "FUNCTION", "url": "/r/-/blob/p?L10:6-10:9"}, {"name": "g"}]
    rows = back([json.dumps([{"type": "symbol", "repository": "r", "path": "p", "symbols": symbols}]).encode()])
    assert [(r["line_number"], r["symbol_kind"]) for r in rows] == [(10, "function"), (None, "")]


def test_an_ascii_batch_shares_its_offsets() -> None:
    match = {
        "repository": "r",
        "path": "p",
        "lineMatches": [{"line": "x", "lineNumber": 0, "offsetAndLengths": [[0, 1]]}],
    }
    (event,) = MatchDecoder().decode(json.dumps([match]).encode())
    assert event.batch.column("start").buffers()[1].address == event.batch.column("byte_start").buffers()[1].address


def content_row(path: str, line: str) -> Row:
    head = {"type": "content", "repository": "r", "repository_id": 1, "revision": "", "commit": None, "path": path}
    tail = {"line_number": 1, "line": line, "start": [0], "end": [1], "match_count": 1, "line_offset": 0}
    chunk = {"chunk": line, "chunk_start_line": 1, "chunk_offset": 0, "truncated": False}
    return head | {"language": None, "name_start": [], "name_end": []} | tail | chunk


@pytest.mark.parametrize("chunk_matches", [True, False])
def test_no_event_grows_above_ten_mebibytes(chunk_matches: bool) -> None:  # noqa: FBT001 - drawn
    rows = [content_row(f"p{i}", "<" * 2**21) for i in range(2)] + [content_row("small", "x")]
    rows += [content_row("many", "y" * 2**20) | {"line_number": 3 * n, "chunk_start_line": 3 * n} for n in range(1, 15)]
    payloads = wire(rows, chunk_matches=chunk_matches)
    assert all(len(frame("matches", data)) <= 10 * 2**20 for data in payloads)
    result = back(payloads)
    assert [r["path"] for r in result] == [r["path"] for r in rows]
    assert result[2]["line"] == "x"
    assert result[0]["line"].startswith("<" * 1000)


def test_kinds_mixed_in_one_batch_keep_their_order() -> None:
    rows = [content_row("a", "x"), content_row("b", "y") | {"type": "path", "line": None}, content_row("c", "z")]
    assert [m.type for data in wire(rows) for m in decode_matches(data)] == ["content", "path", "content"]


def test_an_empty_batch_says_nothing() -> None:
    empty = pa.RecordBatch.from_pydict({"type": pa.array([], pa.string())})
    assert list(encode_matches(MatchBatch(empty), {})) == []


def test_a_match_that_is_read_the_forgiving_way_keeps_its_cells_and_assistant() -> None:
    # Null in the place of a number makes no record at once, so each match is read by itself.
    cells = {"cells": [[3, "code", 1]], "repoStars": "many"}
    line = {"line": "x", "lineNumber": 1, "offsetAndLengths": [[0, 1]]}
    (row,) = back([json.dumps([{"repository": "r", "path": "p", "lineMatches": [line]} | cells]).encode()])
    assert (row["cell"], row["cell_kind"], row["cell_line"]) == (3, "code", 1)
    commit = {"type": "commit", "repository": "r", "oid": "0" * 40, "agent": "Aider", "repoStars": "many"}
    (row,) = back([json.dumps([commit]).encode()])
    assert row["agent"] == "Aider"
    (row,) = back([json.dumps([commit | {"agent": 7}]).encode()])
    assert row["agent"] is None
