"""Definitions in cells are those that `ast` finds in each cell, at the lines of the file."""

from __future__ import annotations

import ast
import json
import random

import pytest

from engines.execution.test_cells import code, markdown, notebook, stream
from sourcelight.core.cells import read_cells
from sourcelight.engines.symbols import definitions
from sourcelight.engines.symbols.file_definitions import read_programs

STATEMENTS = [
    "%matplotlib inline",
    "!ls {name}",
    "import os",
    "def f{n}(x):\n    return x",
    'def g{n}():\n    """Say "x\\n"."""\n\n    def inner{n}():\n        pass\n',
    "class C{n}:\n    é = 1\n\n    def m{n}(self):\n        return '\\\\'",
    "@property\ndef d{n}(): pass",
    "x{n}.head()",
    "async def a{n}(): pass",
]
FUNCTIONS = {"function", "method", "class", "constructor"}


@pytest.mark.parametrize("seed", range(150))
def test_cells_define_what_ast_finds_in_them(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a seed for the test
    cells, expected = [], set()
    for number in range(1, draw.randrange(2, 8)):
        statements = [draw.choice(STATEMENTS).replace("{n}", f"{number}_{i}") for i in range(draw.randrange(1, 5))]
        source = "\n".join(statements) + draw.choice(["", "\n"])
        python = "\n".join("pass" if line[:1] in {"%", "!"} else line for line in source.split("\n"))
        expected |= {
            (node.name, number, node.lineno)
            for node in ast.walk(ast.parse(python))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        cells.append(code(draw.choice([source, source.splitlines(keepends=True)]), stream("def no(): pass")))
        if draw.random() < 0.1:
            cells[-1] = markdown(source)
            expected = {entry for entry in expected if entry[1] != number}
    data = notebook(*cells, indent=draw.choice([None, 1]), ensure_ascii=draw.random() < 0.5).encode()
    document = read_cells("a.ipynb", data)
    names = set()
    for row in definitions("Jupyter Notebook", data).definitions():
        match = document.text_at(row.offset)
        assert match is not None
        assert json.loads(b'"' + data[row.offset :].split(b'"')[0].split(b"\\n")[0] + b'"').startswith(row.name)
        assert row.line == data.count(b"\n", 0, row.offset) + 1
        if row.kind in FUNCTIONS:
            names.add((row.name, match[0].cell, match[0].line_at(match[1], row.offset) + 1))
    assert names == expected


@pytest.mark.parametrize(
    "broken", ["f(", 'x = """no end', "if x:", "def f(x:\n    return [1", "f(]\n)", "what is this?!"]
)
def test_a_broken_cell_hides_no_other(broken: str) -> None:
    data = notebook(code("def first(): pass"), code(broken), code("def last():\n    def inner(): pass")).encode()
    rows = list(definitions("Jupyter Notebook", data).definitions())
    by_name = {row.name: row for row in rows}
    assert {"first", "last", "inner"} <= set(by_name)
    assert rows[by_name["inner"].parent].name == "last"


def test_chunks_are_read_in_their_own_languages() -> None:
    text = (
        b"# def no\n```{python}\ndef f(): pass\n```\n```{bash}\ng() { ls; }\n```\n```{python}\nclass K:\n  a = 1\n```\n"
    )
    rows = list(definitions("RMarkdown", text).definitions())
    assert [(row.name, row.line, row.parent) for row in rows] == [
        ("f", 3, -1),
        ("g", 6, -1),
        ("K", 9, -1),
        ("a", 10, 2),
    ]
    assert [code.program.language for code in read_programs("RMarkdown", text)] == ["Python", "Shell"]


def test_the_kernel_names_the_language() -> None:
    data = notebook(code("int twice(int x) { return 2 * x; }"), language="c++").encode()
    assert definitions("Jupyter Notebook", data).names == [b"twice"]
    assert definitions("Jupyter Notebook", notebook(code("f <- 1"), language="R").encode()).names == []
    nameless = json.dumps({"cells": [code("def f(): pass")], "nbformat": 4, "metadata": {}}).encode()
    assert definitions("Jupyter Notebook", nameless).names == [b"f"]


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b"[" * 100_000, b'{"cells": ' + b'[{"a": ' * 50_000, b"\xff"])
def test_what_is_no_notebook_is_said_to_be_unparsable(data: bytes) -> None:
    table = definitions("Jupyter Notebook", data)
    assert (len(table), table.incomplete) == (0, "unparsable")


def test_code_above_the_limit_is_said_to_be_too_large() -> None:
    data = notebook(code("def f(): pass\n" * 90_000)).encode()
    assert definitions("Jupyter Notebook", data).incomplete == "too-large"
