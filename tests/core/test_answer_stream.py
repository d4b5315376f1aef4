"""Answers of analyses as events: what is sent is read again, and what is hostile is refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
import pyarrow as pa
import pytest

from sourcelight.core import errors
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.tools import answer_stream
from sourcelight.core.tools.answer_stream import (
    AnswerReader,
    encode_answer,
    encode_error,
    encode_progress,
    limit_answer,
)
from sourcelight.core.tools.catalog import COLUMNS, TOOLS, analysis_tools, table_of
from sourcelight.core.wire.sse import RawEvent, SseDecoder

SAMPLES: Mapping[str, list[Any]] = {
    "bool": [True, False],
    "int32": [1, -5],
    "int64": [2**40, 0],
    "float64": [0.25, -1e300],
    "string": ['é"\n<\u2028', ""],
    "dict8": ["added", "removed"],
    "dict32": ["a", "b"],
    "list": [[1, 2], []],
    "strings": [["x"], []],
    "timestamp": [datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)],
}


def read(tool: str, sent: Iterable[bytes]) -> ToolResult:
    reader, decoder = AnswerReader(TOOLS[tool]), SseDecoder()
    for portion in sent:
        for event in decoder.feed(portion):
            reader.read(event)
    assert reader.answer is not None
    return reader.answer


def rows_event(**changed: Any) -> RawEvent:
    table = table_of("blame_lines", 1, line="x")
    (event,) = SseDecoder().feed(next(iter(encode_answer(ToolResult("blame_lines", table)))))
    columns = orjson.loads(event.data)["columns"] | changed
    return RawEvent("rows", orjson.dumps({"columns": columns}))


@pytest.mark.parametrize("name", list(analysis_tools()))
def test_tables_of_all_types_come_back_with_nulls(name: str) -> None:
    columns = TOOLS[name].columns
    schema = table_of(columns, 0).schema
    arrays = []
    for column in COLUMNS[columns]:
        values, kind = [*SAMPLES[column.type], None], arrow_type(column.type)
        is_code = pa.types.is_dictionary(kind)
        arrays.append(pa.array(values).dictionary_encode().cast(kind) if is_code else pa.array(values, kind))
    table = pa.Table.from_arrays(arrays, schema=schema)
    sent = ToolResult(columns, table, {"total": 3, "of": ["a"]}, complete=False, notices=("cut",))
    came = read(name, encode_answer(sent))
    assert came.table.equals(table)
    assert came.table.schema == table.schema
    assert (came.columns, came.attributes, came.complete, came.notices) == (columns, sent.attributes, False, ("cut",))
    empty = ToolResult(columns, table.slice(0, 0))
    assert read(name, encode_answer(empty)).table.schema == table.schema


def test_many_rows_travel_in_portions_and_keep_their_order() -> None:
    texts = [f"line {number}" for number in range(50_000)]
    table = table_of("blame_lines", len(texts), line=texts, path=[f"f{n % 7}" for n in range(len(texts))])
    sent = list(encode_answer(ToolResult("blame_lines", table)))
    assert len(sent) > 3
    data = b"".join(sent)
    came = read("blame", [data[start : start + 100_000] for start in range(0, len(data), 100_000)])
    assert came.table.column("line").to_pylist() == texts
    assert came.table.column("path").to_pylist() == table.column("path").to_pylist()


def test_long_repeated_texts_are_sent_with_the_rows_that_need_them() -> None:
    # 9 MB: up to 8 MB, all of them are sent before the first row.
    paths = [f"{number:05}" * 40 for number in range(45_000)]
    table = table_of("blame_lines", len(paths), path=paths)
    sent = list(encode_answer(ToolResult("blame_lines", table)))
    assert max(map(len, sent)) < sum(map(len, paths)) / 2
    assert read("blame", sent).table.column("path").to_pylist() == paths


def test_a_slice_of_a_table_sends_its_own_rows() -> None:
    table = table_of("blame_lines", 4, path=["a", "b", "a", "c"], line_number=[1, 2, 3, 4]).slice(1, 2)
    came = read("blame", encode_answer(ToolResult("blame_lines", table)))
    assert came.table.column("path").to_pylist() == ["b", "a"]
    assert came.table.column("line_number").to_pylist() == [2, 3]


@pytest.mark.parametrize(("max_rows", "max_bytes"), [(10, 1 << 30), (10_000, 4_000)])
def test_a_cut_answer_is_not_complete_and_says_so(max_rows: int, max_bytes: int) -> None:
    answer = ToolResult("blame_lines", table_of("blame_lines", 1000, line=["x" * 100] * 1000))
    partial = limit_answer(answer, max_rows, max_bytes)
    assert 0 < partial.table.num_rows < 100
    assert not partial.complete
    assert f"the first {partial.table.num_rows:,} of 1,000 rows" in partial.notices[0]
    assert limit_answer(answer) is answer


@pytest.mark.parametrize(
    "changed",
    [
        {"line": [1]},
        {"line": "x"},
        {"line": {"a": 1}},
        {"line": ["x", "y"]},
        {"line": [["x"]]},
        {"line_number": ["1"]},
        {"line_number": [2**31]},
        {"line_number": [1.5]},
        {"author_date": ["2024-01-01"]},
        {"path": ["a"]},
        {"path": {"codes": [0]}},
        {"path": {"codes": [5], "values": ["a"]}},
        {"path": {"codes": [-1], "values": ["a"]}},
        {"path": {"codes": [0], "values": [7]}},
        {"path": {"codes": [0], "values": "a"}},
        {"more": [1]},
    ],
    ids=str,
)
def test_hostile_columns_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(errors.ProtocolError):
        AnswerReader(TOOLS["blame"]).read(rows_event(**changed))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows", b"[]"),
        ("rows", b"{"),
        ("rows", b'{"columns": null}'),
        ("rows", b"[" * 5000),
        ("done", b"{}"),
        ("done", b'{"columns":"churn","rows":0,"attributes":{},"complete":true,"notices":[]}'),
        ("done", b'{"columns":"blame_lines","rows":4,"attributes":{},"complete":true,"notices":[]}'),
        ("done", b'{"columns":"blame_lines","rows":0,"attributes":{},"complete":1,"notices":[]}'),
    ],
)
def test_events_that_fit_nothing_are_refused(name: str, data: bytes) -> None:
    with pytest.raises(errors.ProtocolError):
        AnswerReader(TOOLS["blame"]).read(RawEvent(name, data))


def test_a_service_says_nothing_in_the_place_of_the_client() -> None:
    """`backend_id` names another client of the process, which a later call on the frame would ask."""
    attributes = {"backend_id": "x", "endpoint": "evil", "status": "complete", "commit": "c"}
    end = {"columns": "blame_lines", "rows": 0, "attributes": attributes, "complete": True, "notices": []}
    reader = AnswerReader(TOOLS["blame"])
    reader.read(RawEvent("done", orjson.dumps(end)))
    assert reader.answer is not None
    assert reader.answer.attributes == {"commit": "c"}


@pytest.mark.parametrize("limit", ["MAX_READ_ROWS", "MAX_READ_BYTES"])
def test_an_endless_answer_is_refused(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(answer_stream, limit, 3 if limit.endswith("ROWS") else 5_000)
    reader, event = AnswerReader(TOOLS["blame"]), rows_event()
    read_many: Any = partial(deque, (reader.read(event) for _ in range(100)), maxlen=0)
    with pytest.raises(errors.ProtocolError, match="more than"):
        read_many()


@pytest.mark.parametrize(
    "error",
    [
        errors.RepositoryNotFound("a/b", ["a/c"]),
        errors.RevisionNotFound("a/b", "main", ["mine"]),
        errors.PathNotFound("a/b", "HEAD", "x.py"),
        errors.ToolError("no", tool="blame", argument="path", accepted=("a", "b")),
        errors.QueryError("bad", query="a(", position=1, hint="quote it", stage="parse"),
        errors.PatternError("(", "missing )"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_keep_their_kind_and_facts(error: errors.SourcelightError) -> None:
    encoded = encode_error(error)
    assert encoded is not None
    with pytest.raises(type(error)) as caught:
        read("blame", [encoded])
    assert str(caught.value) == str(error)
    info = {name: value for name, value in vars(error).items() if name not in {"__notes__", "message"}}
    assert {name: vars(caught.value)[name] for name in info} == info


@pytest.mark.parametrize(
    "error", [OSError("/srv/x"), errors.GitFailed(["git"], 1, "/srv"), errors.IndexDamaged("/srv/i", "cut")]
)
def test_errors_that_may_name_paths_of_the_service_are_not_sent(error: Exception) -> None:
    assert encode_error(error) is None


@pytest.mark.parametrize("kind", ["SystemExit", "StateUnusable", "Unauthorized", "", None, 3, "ConfigurationError"])
def test_other_errors_of_a_service_are_errors_of_the_tool(kind: Any) -> None:
    data = {"type": kind, "message": "secret-token is wrong", "facts": {"__class__": "x"}}
    reader = AnswerReader(TOOLS["blame"], lambda text: text.replace("secret-token", "***"))
    with pytest.raises(errors.ToolError, match=r"blame: \*\*\* is wrong"):
        reader.read(RawEvent("error", orjson.dumps(data)))


def test_progress_is_read_and_bounded() -> None:
    reader = AnswerReader(TOOLS["blame"])
    (event,) = SseDecoder().feed(encode_progress(ToolProgress("blaming", 3, 7, "a.txt")))
    assert reader.read(event) == ToolProgress("blaming", 3, 7, "a.txt")
    odd = reader.read(RawEvent("progress", orjson.dumps({"stage": "x" * 9000, "done": -1, "total": "many"})))
    assert odd == ToolProgress("x" * 500, 0, 0, "")
    assert reader.read(RawEvent("of-a-newer-service", b"!")) is None


def test_names_that_are_no_unicode_are_sent_with_a_question_mark() -> None:
    sent = ToolResult("blame_lines", table_of("blame_lines", 0), {"path": "a\udcff", "of": [("b\ud800",)]})
    assert read("blame", encode_answer(sent)).attributes == {"path": "a?", "of": [["b?"]]}


def test_a_table_in_chunks_is_sent_whole() -> None:
    table = pa.concat_tables([table_of("blame_lines", 1, path=[p]) for p in ("a", "b", "a")])
    assert read("blame", encode_answer(ToolResult("blame_lines", table))).table.column("path").to_pylist() == [
        "a", "b", "a",
    ]  # fmt: skip
