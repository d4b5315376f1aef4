"""Answers and ranked chunks quote the cells of notebooks: never their JSON, and nothing of an image."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import sourcelight as sl
from engines.execution.test_cells import code, markdown, notebook, stream
from sourcelight.core.cells.json_lines import cell_language, cell_location, source_lines, with_cell_line
from sourcelight.engines.deepsearch.evidence.quotes import fence_name
from sourcelight.testing import make_repo

IMAGE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORretry" + "A" * 400}}
ANALYSIS = notebook(
    markdown(["# Retry policy\n", "\n", "How long we wait before a retry."]),
    code("import time"),
    code(
        [
            "def retry_delay(attempt):\n",
            '    """Seconds to wait before the next retry."""\n',
            "    return 2**attempt\n",
        ],
        IMAGE,
    ),
    code(["RETRY_BASE = 0.25\n", "print(retry_delay(3))"], stream("done, retry 8\n")),
    indent=1,
)
ONE_STRING = notebook(code('def once_only(y):\n    """Run a single time."""\n    return y\n\nonce_only(3)'), indent=1)
JSON = re.compile(r'"source"|"cell_type"|\\n|iVBOR|AAAA')


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    folder = tmp_path_factory.mktemp("quoted")
    make_repo(folder / "work", {"analysis.ipynb": ANALYSIS, "one.ipynb": ONE_STRING, "no.ipynb": '{"retry": "delay"}'})
    with sl.open(folder) as client:
        yield client


@pytest.mark.parametrize(
    ("question", "quoted", "label"),
    [
        ("Where is retry_delay defined?", "def retry_delay(attempt):", "analysis.ipynb@.*, cell 3, lines 1-3"),
        ("What is the value of RETRY_BASE?", "RETRY_BASE = 0.25", "analysis.ipynb@.*, cell 4, line 1"),
        ("What calls once_only?", "`once_only(3)`", "one.ipynb@.*, cell 1, lines 1-5"),
        ("Which functions use retry_delay?", "print(retry_delay(3))", "analysis.ipynb@.*, cell 4, line 2"),
        ("How long does it wait before the next retry?", "Seconds to wait", "analysis.ipynb@.*, cell 3, lines 1-3"),
    ],
)
def test_answers_quote_cells_and_cite_them_by_number(client: sl.Client, question: str, quoted: str, label: str) -> None:
    answer = client.deepsearch(question)
    text = answer.text
    assert quoted in text
    assert not JSON.search(text), text
    labels = answer.sources["label"].tolist()
    assert any(re.search(f"{label}$", str(entry)) for entry in labels), labels


def test_fences_have_the_language_of_the_cells(client: sl.Client) -> None:
    """The file's own would be that of its JSON."""
    code_answer = client.deepsearch("How long does it wait before the next retry?").text
    assert "```python\ndef retry_delay(attempt):" in code_answer
    sources = source_lines("analysis.ipynb", ANALYSIS.encode())
    assert sources is not None
    first_lines = {cell: line for line, (cell, number) in sources.cells.items() if number == 1}
    assert cell_language(sources, first_lines[3], first_lines[3] + 2) == "Python"
    assert cell_language(sources, first_lines[1], first_lines[1]) == "Markdown"
    assert cell_language(sources, first_lines[1], first_lines[3]) == ""
    assert cell_language(sources, 1, 1) == ""
    assert fence_name("a.ipynb", "Python") == "python"
    assert fence_name("a.ipynb", "`\n# x") == fence_name("a.ipynb") == ""


def test_ranked_and_keyword_search_give_the_lines_of_cells(client: sl.Client) -> None:
    ranked = client.nls_search("how long to wait before the next retry")
    assert "# Retry policy\n\nHow long we wait before a retry." in ranked["chunk"].tolist()
    matches = client.keyword_search("retry")
    for frame in (ranked, matches):
        chunks = frame[frame["chunk"].notna()]
        for _, row in chunks.iterrows():
            assert not JSON.search(row["chunk"]), row["chunk"]
            first = ANALYSIS.split("\n")[row["start_line"] - 1]
            assert row["path"] == "analysis.ipynb"
            assert row["chunk"].split("\n")[0].replace('"', '\\"') in first
    # The image is a match of the file, and no text.
    assert matches["chunk"].isna().sum() == 2
    assert "done, retry 8" in matches["chunk"].tolist()


def test_lines_of_a_notebook_are_those_of_its_sources() -> None:
    sources = source_lines("a.ipynb", ANALYSIS.encode())
    assert sources is not None
    assert len(sources.lines) == ANALYSIS.count("\n") + 1
    text = "\n".join(line.decode() for line in sources.lines if line)
    function = 'def retry_delay(attempt):\n    """Seconds to wait before the next retry."""\n    return 2**attempt\n'
    prose = "# Retry policy\nHow long we wait before a retry.\n"
    assert text == f"{prose}import time\n{function}RETRY_BASE = 0.25\nprint(retry_delay(3))"
    first = next(line for line, cell in sources.cells.items() if cell == (3, 1))
    assert cell_location(sources, first, first) == "cell 3, line 1"
    assert cell_location(sources, first - 1, first + 2) == "cell 3, lines 1-3"
    assert cell_location(sources, 1, len(sources.lines)) == "cells 1-4"
    assert cell_location(sources, 1, 1) == ""
    assert source_lines("a.py", b"x") is None
    assert set((source_lines("a.ipynb", b"{\n}") or sources).lines) == {b""}


def test_rows_have_the_line_of_their_cell() -> None:
    row: dict[str, Any] = {"path": "a.ipynb", "cell": 1, "cell_line": 2, "line": r' "source": "a\nb\nc",'}
    assert with_cell_line(row)["line"] == "b"
    assert with_cell_line(row | {"cell_line": 1, "line": r'    "x = \"1\"\n",'})["line"] == 'x = "1"'
    assert with_cell_line(row | {"cell": None})["line"] == ""
    assert with_cell_line(row | {"path": "a.py"})["line"] == row["line"]
