"""A line of a notebook is shown as the line of its cell, with the same text marked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sourcelight as sl
from display.front_end import say
from sourcelight.core.cells.json_lines import cell_text, context_lines, item_text, row_line
from sourcelight.display.notebook.frame_views.table import frame_html
from sourcelight.display.notebook.views import LinkResolver
from sourcelight.testing.repositories import RepositoryBuilder

SOURCE = ["if x:\n", '    print("naïve <b>")\n', "y = 2"]


def notebook(*sources: Any) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    return {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("notebooks")
    builder = RepositoryBuilder(folder / "one")
    builder.commit(
        {
            "a.ipynb": json.dumps(notebook(SOURCE, ["z = 3"]), indent=1, ensure_ascii=False),
            "line.ipynb": json.dumps(notebook("first\nprint(1)\nlast")),
        }
    )
    with sl.open(folder) as client:
        yield client


texts = st.text(st.sampled_from('ab "\\\n\té\U0001f600/'), max_size=12)


@given(texts, st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_spans_mark_the_same_text(text: str, first: int, second: int, ensure_ascii: bool) -> None:  # noqa: FBT001
    start, end = sorted((min(first, len(text)), min(second, len(text))))
    line_end = text.find("\n", start)
    end = end if line_end < 0 else min(end, line_end)

    def dump(part: str) -> str:
        return json.dumps(part, ensure_ascii=ensure_ascii)[1:-1]

    line = f'    "{dump(text)}",'
    shift = 5
    display = cell_text(line, [shift + len(dump(text[:start]))], [shift + len(dump(text[:end]))])
    assert display is not None
    assert display.text[display.starts[0] : display.ends[0]] == text[start:end]
    assert display.text == text[text.rfind("\n", 0, start) + 1 :].split("\n", maxsplit=1)[0]


def test_of_a_notebook_on_one_line_the_string_with_the_match_is_shown() -> None:
    line = json.dumps(notebook("first\nprint(1)\nlast", "print(2)"))
    offsets = [line.index("print(1)"), line.index("print(2)")]
    display = cell_text(line, offsets, [offset + 5 for offset in offsets])
    assert display == ("print(1)", [0], [5])
    assert cell_text(line, [line.index('"cells"')], [line.index('"cells"') + 2]) is None


def test_only_strings_of_lists_are_context() -> None:
    lines = ['   "source": [', '    "a = 1\\n",', '    "b"', "   ],", '   "cell_type": "code",', "  }"]
    assert context_lines(enumerate(lines, 1)) == [(2, "a = 1"), (3, "b")]
    assert item_text('"a": "b"') is None


def test_the_line_of_a_cell_search_stays_as_it_is() -> None:
    row = {"line": '    "a",', "language": "Python", "cell_kind": "code", "start": [5], "end": [6]}
    assert row_line(row) == ('    "a",', [5], [6])


@pytest.mark.parametrize("query", ["print file:a.ipynb", "print file:a.ipynb cell:code"])
def test_results_show_the_line_of_the_cell(client: sl.Client, query: str) -> None:
    result, chunks = client.search(query), client.search(query, context_lines=1)
    pages = [view._repr_mimebundle_()["text/html"] for view in (result, chunks)]
    pages.append(frame_html(result.matches, lambda _: LinkResolver()))
    for html in pages:
        assert '<mark>print</mark>("na' in html.replace("&quot;", '"')
        assert "\\n" not in html
    assert "(cell 1, line 2)" in repr(result)


@pytest.mark.parametrize("query", ["type:diff print file:a.ipynb", "type:diff print file:a.ipynb cell:code"])
def test_changed_lines_show_the_line_of_the_cell(client: sl.Client, query: str) -> None:
    result = client.search(query)
    page = result._repr_mimebundle_()["text/html"]
    assert all(f">{name}</th>" in page for name in ("cell", "cell_kind", "cell_line"))
    for html in (page, frame_html(result.matches, lambda _: LinkResolver())):
        assert '<mark>print</mark>("na' in html.replace("&quot;", '"')
        assert "\\n" not in html
    assert "(cell 1, line 2)" in repr(result)


def test_the_file_is_shown_by_cells(client: sl.Client) -> None:
    row = client.search("print file:a.ipynb").matches
    repository = row["repository"].iloc[0]
    view = row.code.open(0)
    html = view._repr_mimebundle_()["text/html"]
    assert '<mark>print</mark>(<span class="sl-s">&quot;na\u00efve &lt;b&gt;&quot;' in html
    assert "Cell 1 (code, Python)" in html
    assert "cell_type" not in html
    assert ">" in repr(view)
    assert "> 2     print(" in repr(view)
    assert "Cell 2 (code, Python)" in repr(client.view_file(repository, "a.ipynb"))
    # A line that is in no cell has JSON around.
    assert "execution_count" in repr(client.view_file(repository, "a.ipynb", lines=4))


def test_a_notebook_on_one_line_shows_the_line_of_the_match(client: sl.Client) -> None:
    view = repr(client.view_file(client.list_repos()["repository"].iloc[0], "line.ipynb"))
    assert "  2 print(1)" in view


def test_the_explorer_shows_cells(client: sl.Client) -> None:
    def answer(query: str, kind: str, **bounds: int) -> dict[str, Any]:
        explorer = client.search(query).explore()
        messages: list[dict[str, Any]] = []
        explorer.send = lambda content, buffers=None: messages.append(content)  # noqa: ARG005
        ask = {"from": "page", "id": 1, "start": 0, "count": 5, "row": 0, "asked": {}, **bounds}
        while not messages or "pending" in messages[-1]:
            say(explorer, {**ask, "kind": kind})
        return messages[-1]

    assert answer("print file:a.ipynb", "view")["rows"][0]["text"][0] == ("print", True)
    message = answer("print file:a.ipynb", "lines", above=2, below=9)
    lines = ["".join(text for text, _ in blocks) for _, blocks, _ in message["lines"]]
    assert lines == ["if x:", '    print("na\u00efve <b>")', "y = 2"]
    assert message["about"] == "cell 1 (code), line 2"
    for query in ("type:diff print file:a.ipynb", "type:diff print file:a.ipynb cell:code"):
        message = answer(query, "lines", above=0, below=0)
        assert message["about"].endswith(", added, cell 1 (code), line 2")
