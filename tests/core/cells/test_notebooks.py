"""Cells are those that `json` and nbformat read, and each line of them has its line of the file."""

from __future__ import annotations

import json
import random
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.cells import CellDocument, UnreadableNotebook, read_cells
from sourcelight.core.cells.json_places import InvalidJson, JsonNode, JsonScalar, JsonString, read_json, unescape
from sourcelight.core.cells.notebook import quick_text, read_notebook
from sourcelight.core.cells.notebook_nodes import read_slowly

words = st.sampled_from(
    ["a", 'print("x")', "\\", "\n", "\n\n", "é", "\U0001f600", "\t", "\x7f", "\u2028", '"', "/", "{", "]"]
)
texts = st.lists(words, max_size=12).map("".join)
sources = texts | st.lists(texts, max_size=5)
outputs = st.one_of(
    st.builds(lambda text: {"output_type": "stream", "name": "stdout", "text": text}, sources),
    st.builds(
        lambda text: {
            "output_type": "display_data",
            "metadata": {},
            "data": {"image/png": "aGVsbG8=" * 40, "text/plain": text, "application/json": {"a": [1, 2.5, -3e8]}},
        },
        sources,
    ),
)
cells = st.one_of(
    st.builds(
        lambda source, output: {
            "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": output, "source": source
        },
        sources,
        st.lists(outputs, max_size=2),
    ),
    st.builds(lambda source: {"cell_type": "markdown", "metadata": {}, "source": source}, sources),
    st.builds(lambda source: {"cell_type": "raw", "metadata": {}, "source": source}, sources),
)  # fmt: skip
notebooks = st.builds(
    lambda cells, name: {
        "cells": cells, "metadata": {"language_info": {"name": name}}, "nbformat": 4, "nbformat_minor": 4
    },
    st.lists(cells, max_size=4),
    st.sampled_from(["python", "R", "julia"]),
)  # fmt: skip
layouts = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 1, 4]), "ensure_ascii": st.booleans(), "sort_keys": st.booleans()}
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def value_of(data: bytes, node: JsonNode) -> Any:
    if isinstance(node, JsonString):
        return unescape(data[node.start : node.end]).decode()
    if isinstance(node, JsonScalar):
        return json.loads(data[node.start : node.end])
    if isinstance(node, list):
        return [value_of(data, item) for item in node]
    return {key.decode(): value_of(data, item) for key, item in node.items()}


def without_numbers(value: Any) -> Any:
    """Numbers in lists may be left out, but for the last value."""
    if isinstance(value, list):
        last = len(value) - 1
        is_number = [isinstance(item, int | float) and not isinstance(item, bool) for item in value]
        finite = [
            number and str(item) not in {"nan", "inf", "-inf"} for number, item in zip(is_number, value, strict=True)
        ]
        return [without_numbers(item) for index, item in enumerate(value) if index == last or not finite[index]]
    return {key: without_numbers(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(values, layouts)
def test_json_is_that_of_the_standard_library(value: Any, layout: dict[str, Any]) -> None:
    text = json.dumps(value, **layout)
    read = value_of(text.encode(), read_json(text.encode()))
    assert repr(without_numbers(read)) == repr(without_numbers(json.loads(text)))


@settings(deadline=None)  # the first example loads the schemas of nbformat
@given(notebooks, layouts)
def test_sources_are_those_of_nbformat(notebook: dict[str, Any], layout: dict[str, Any]) -> None:
    text = json.dumps(notebook, **layout)
    document = read_cells("a.ipynb", text.encode())
    read = [(item.cell, item.kind, item.text.decode()) for item in document.texts if item.kind != "output"]
    expected = nbformat.reads(text, as_version=4).cells
    assert read == [(index, cell.cell_type, cell.source) for index, cell in enumerate(expected, 1) if cell.source]
    assert document.cells == len(expected)


@given(notebooks, layouts)
def test_places_in_the_file_are_those_of_the_text(notebook: dict[str, Any], layout: dict[str, Any]) -> None:
    """From the text to the file and back: the byte at which each line starts belongs to that line."""
    data = json.dumps(notebook, **layout).encode()
    document = read_cells("a.ipynb", data)
    for text in document.texts:
        for number in range(len(text.line_starts)):
            offset = text.file_offset(number)
            assert text.file_lines[number] == data.count(b"\n", 0, offset) + 1
            line = text.line(number)
            end = text.fragment_at(text.line_starts[number]).end
            displayed = unescape(data[offset:end]).partition(b"\n")[0]
            assert line.startswith(displayed)  # the rest is in the next string of the list
            if line:
                position = document.text_at(offset)
                assert position is not None
                assert position[0] is text
                assert text.line_at(position[1], offset) == number


def one_cell(source: Any, **extra: Any) -> CellDocument:
    return read_cells("a.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": source, **extra}]}).encode())


def test_worksheets_of_nbformat_3_are_read() -> None:
    code = {"cell_type": "code", "language": "python", "input": ["a = 1\n", "b"], "outputs": [
        {"output_type": "pyout", "text": ["1"], "png": "xxx"}, {"output_type": "pyerr", "traceback": ["t1", "t2"]}
    ]}  # fmt: skip
    sheets = [{"cells": [{"cell_type": "heading", "level": 1, "source": "Top"}, code]}, {"cells": [code]}]
    document = read_cells("a.ipynb", json.dumps({"nbformat": 3, "worksheets": sheets}).encode())
    assert [(item.cell, item.kind, item.text) for item in document.texts] == [
        (1, "markdown", b"Top"),
        (2, "code", b"a = 1\nb"),
        (2, "output", b"1\nt1\nt2"),
        (3, "code", b"a = 1\nb"),
        (3, "output", b"1\nt1\nt2"),
    ]
    assert document.language == "Python"


def old_notebook(draw: random.Random, version: int) -> str:
    """A notebook of nbformat 2 or 3, whose lines may lack their newlines."""

    def source() -> Any:
        lines = draw.choices(["a = 1", "", "é", "  b\\", "two\nlines"], k=draw.randrange(5))
        if version > 2 and draw.random() < 0.3:
            lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
        return lines if draw.random() < 0.8 else "\n".join(lines)

    def cell() -> dict[str, Any]:
        if draw.random() < 0.5:
            return {"cell_type": "markdown", "source": source()}
        output = {"output_type": "stream", "stream": "stdout", "text": source()}
        return {"cell_type": "code", "language": "python", "input": source(), "outputs": [output]}

    root = {
        "metadata": {},
        "nbformat": version,
        "worksheets": [{"cells": [cell() for _ in range(draw.randrange(1, 4))]}],
    }
    return json.dumps(root | ({"nbformat_minor": 0} if version > 2 else {}), indent=draw.choice([None, 1]))


@pytest.mark.parametrize("version", [2, 3])
def test_lines_of_old_notebooks_are_joined_as_nbformat_does(version: int) -> None:
    draw = random.Random(version)  # noqa: S311 - examples, no secrets
    for _ in range(300):
        text = old_notebook(draw, version)
        notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
        every = enumerate((cell for sheet in notebook.worksheets for cell in sheet.cells), 1)
        expected = [(number, cell.get("source", cell.get("input"))) for number, cell in every]
        quick, slow = read_notebook(text.encode()), read_slowly(text.encode())
        for document in (quick, slow):
            sources = sorted((item.cell, item.text.decode()) for item in document.sources)
            assert sources == [(number, source) for number, source in expected if source]
        assert [list(item.file_lines) for item in quick.texts] == [list(item.file_lines) for item in slow.texts]
        for item in quick.texts:
            for number, _ in enumerate(item.line_starts):
                if item.line(number):
                    position = quick.place_at(item.file_offset(number))
                    assert position is not None
                    assert position[:3] == (item.cell, item.kind, number + 1)


def test_escapes_are_those_of_json() -> None:
    data = rb'{"cells": [{"cell_type": "code", "source": ["\u0069mport \"\\n\"\u000a", "\ud83d\ude00 \ud800 \/"]}]}'
    (text,) = read_cells("a.ipynb", data).texts
    assert text.text.decode() == 'import "\\n"\n\U0001f600 \ufffd /'
    assert [text.file_offset(0), text.file_offset(1)] == [data.index(rb"\u0069"), data.index(rb"\ud83d")]


def test_of_repeated_keys_the_last_one_counts() -> None:
    data = b'{"cells": [], "cells": [{"source": "a", "cell_type": "code", "source": "b"}]}'
    assert [text.text for text in read_cells("a.ipynb", data).texts] == [b"b"]


def test_invalid_bytes_stay_for_the_reader_to_replace() -> None:
    (text,) = read_cells("a.ipynb", b'{"cells": [{"cell_type": "code", "source": "x\xff\xfey"}]}').texts
    assert text.text == b"x\xff\xfey"


@pytest.mark.parametrize("source", [5, None, {"a": "b"}, [1, None, ["x"]], True])
def test_a_source_that_is_no_text_is_empty(source: Any) -> None:
    assert one_cell(source).texts == ()


@pytest.mark.parametrize("extra", [{"outputs": 5}, {"outputs": [5, {"data": 7}, {"text": {}}]}, {"metadata": []}])
def test_strange_outputs_hide_no_source(extra: dict[str, Any]) -> None:
    assert [text.text for text in one_cell("x", **extra).texts] == [b"x"]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"null", b'{"cells": 1}', b'{"worksheets": []}', b'{"cells": []} x', b"{}", b"[[", b"\x00"),
        *(
            b'{"cells": ["a\nb"]}',
            b'{"cells": [}',
            b'{"cells": [1,]}',
            b'{"cells" []}',
            b'{"a": "\\"}',
            b"<<<<<<< HEAD",
        ),
    ],
)
def test_broken_notebooks_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(UnreadableNotebook):
        read_cells("a.ipynb", data)


@pytest.mark.parametrize("data", [b"[" * 1_000_000, b'{"a":' * 100_000, b"[" + b"{}," * 600_000 + b"{}]"])
def test_depth_and_size_are_bounded(data: bytes) -> None:
    with pytest.raises(InvalidJson):
        read_json(data)


def test_backslashes_and_quotes_take_linear_time() -> None:
    data = b'{"cells": [{"cell_type": "code", "source": "' + b"\\\\" * 500_000 + b'\\"' * 500_000 + b'"}]}'
    (text,) = read_notebook(data).texts
    assert text.text == b"\\" * 500_000 + b'"' * 500_000


@given(notebooks, layouts)
def test_the_quick_reader_reads_what_the_slow_one_reads(notebook: dict[str, Any], layout: dict[str, Any]) -> None:
    data = json.dumps(notebook, **layout).encode()
    quick, slow = read_notebook(data), read_slowly(data)
    assert (quick.language, quick.cells) == (slow.language, slow.cells)
    as_tuples = [
        [
            (
                cell_text.cell,
                cell_text.kind,
                cell_text.language,
                cell_text.text,
                cell_text.fragments,
                list(cell_text.file_lines),
            )
            for cell_text in document.texts
        ]
        for document in (quick, slow)
    ]
    assert as_tuples[0] == as_tuples[1]
    for kind in ("code", "markdown", "raw", "output"):
        lines = (quick_text(data, frozenset({kind})) or b"").split(b"\n")
        assert {line for cell_text in slow.texts if cell_text.kind == kind for line in cell_text.text.split(b"\n")} <= {
            *lines,
            b"",
        }
    sources = read_notebook(data, with_outputs=False).texts
    assert [(source.cell, source.text) for source in sources] == [
        (source.cell, source.text) for source in quick.sources
    ]


def test_a_place_is_not_taken_from_a_neighbor_of_a_repeated_key() -> None:
    """A value that a later one replaces leaves its strings in the file."""
    data = b'{"metadata": {"a": "x", "a": "y"}, "cells": [{"cell_type": "code", "source": ["one\\n", "two"]}]}'
    (text,) = read_notebook(data).texts
    assert [text.file_offset(number) for number in (0, 1)] == [data.index(b"one"), data.index(b"two")]


def test_strings_that_are_no_lines_have_their_places() -> None:
    data = b'{"cells": [{"cell_type": "code", "source": ["a\\n\\u0000b", "", "c\\nd\\n"]}]}'
    (text,) = read_notebook(data).texts
    assert [text.file_offset(number) for number in (0, 1, 2)] == [
        data.index(b"a\\"),
        data.index(b"\\u0"),
        data.index(b"d\\"),
    ]


def test_an_unknown_escape_of_an_n_is_no_newline() -> None:
    data = rb'{"nbformat":4,"cells":[{"cell_type":"code","source":"a\Nb\nx\u000Ay"}]}'
    (text,) = read_slowly(data).texts
    assert isinstance(text.source_map, tuple)
    (fragment,) = text.source_map
    assert text.text == b"aNb\nx\ny"
    assert [data[position : fragment.end] for position in fragment.breaks] == [rb"x\u000Ay", b"y"]
