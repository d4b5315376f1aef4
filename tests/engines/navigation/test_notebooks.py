"""Definitions and uses in cells: a notebook is one scope, in the order of its cells, and imports what modules have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from engines.execution.test_cells import code, markdown, notebook, stream
from engines.navigation.sample import call, open_engine, rows
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing import make_repo

ANALYSIS = notebook(
    markdown("# square"),
    code(["%matplotlib inline\n", "!pip install \\\n", "  shapes\n", "import helpers\n", "from shapes import area"]),
    code(["def square(x):\n", '    """Give the "area"."""\n', "    return area(x)\n"]),
    code("%%bash\nsquare 1"),
    code(['print("é\\n", square(2))\n', "data = helpers.load(square(3))"]),
    indent=1,
)
ONE_STRING = notebook(code("import helpers\n\ndef once(y):\n    return helpers.load(y)"), code("z = once(1)\nonce(2)"))
WORK = {
    "helpers.py": "def load(path):\n    return path\n",
    "analysis.ipynb": ANALYSIS,
    "one.ipynb": ONE_STRING,
    "book.qmd": "# inner\n\n```{python}\ndef inner():\n    return 1\n```\n\n```{r}\ninner\n```\n\n"
    "```{python}\ninner()\n```\n",
    "pair.py": "# %%\nimport helpers\n# %%\n%time 1\ndef script():\n    return helpers.load(1)\n# %%\nscript()\n",
    "broken.ipynb": '{"cells": [',
    "huge.ipynb": notebook(code("def huge(): pass", stream("x" * 2_200_000))),
}
LIBRARY = {"shapes/__init__.py": "from .plane import area\n", "shapes/plane.py": "def area(x):\n    return x * x\n"}


@pytest.fixture(scope="module", params=["tables", "no tables"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository of notebooks and the library that they use; with tables of definitions, and before there are any."""
    folder = tmp_path_factory.mktemp("notebooks")
    make_repo(folder / "code" / "work", WORK)
    make_repo(folder / "code" / "library", LIBRARY)
    engine = open_engine(folder)
    if request.param == "tables":
        engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    return engine


def locations(
    engine: LocalEngine, tool: str, repo: str, path: str, symbol: str, **options: Any
) -> list[tuple[Any, ...]]:
    answer = rows(call(engine, tool, repo=repo, path=path, symbol=symbol, **options))
    for row in answer:
        assert row["line"][row["start"] : row["end"]] == symbol
        if row["repository"] == "work":
            assert WORK[row["path"]].split("\n")[row["line_number"] - 1] == row["line"]
    return [(row["path"], row["cell"], row["cell_line"]) for row in answer]


def file_line(path: str, text: str) -> int:
    return WORK[path][: WORK[path].index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("path", "symbol", "definition"),
    [
        ("analysis.ipynb", "square", ("analysis.ipynb", 3, 1)),
        ("analysis.ipynb", "load", ("helpers.py", None, None)),
        ("analysis.ipynb", "area", ("shapes/plane.py", None, None)),
        ("one.ipynb", "once", ("one.ipynb", 1, 3)),
        ("book.qmd", "inner", ("book.qmd", 2, 1)),
        ("pair.py", "script", ("pair.py", 2, 2)),
    ],
)
def test_names_in_cells_lead_to_their_definitions(
    engine: LocalEngine, path: str, symbol: str, definition: tuple[Any, ...]
) -> None:
    assert locations(engine, "go_to_definition", "work", path, symbol)[0] == definition


def test_a_line_and_column_of_the_file_choose_the_use(engine: LocalEngine) -> None:
    line = file_line("analysis.ipynb", "data =")
    text = WORK["analysis.ipynb"].split("\n")[line - 1]
    position = {"line": line, "column": text.index("square")}
    assert locations(engine, "go_to_definition", "work", "analysis.ipynb", "square", **position) == [
        ("analysis.ipynb", 3, 1)
    ]
    assert locations(engine, "go_to_definition", "work", "analysis.ipynb", "load", line=line)[0][0] == "helpers.py"


def test_uses_in_cells_are_references(engine: LocalEngine) -> None:
    assert locations(engine, "find_references", "work", "analysis.ipynb", "square") == [
        ("analysis.ipynb", 3, 1), ("analysis.ipynb", 5, 1), ("analysis.ipynb", 5, 2),
    ]  # fmt: skip
    assert set(locations(engine, "find_references", "work", "helpers.py", "load")) == {
        ("helpers.py", None, None), ("analysis.ipynb", 5, 2), ("one.ipynb", 1, 4), ("pair.py", 2, 3),
    }  # fmt: skip


def test_a_notebook_is_a_user_of_a_library(engine: LocalEngine) -> None:
    uses = locations(engine, "find_references", "library", "shapes/plane.py", "area")
    assert {location for location in uses if location[0] == "analysis.ipynb"} == {
        ("analysis.ipynb", 2, 5), ("analysis.ipynb", 3, 3),
    }  # fmt: skip


def test_calls_and_outlines_name_cells(engine: LocalEngine) -> None:
    (caller,) = rows(call(engine, "callers", repo="library", path="shapes/plane.py", symbol="area"))
    line = file_line("analysis.ipynb", "return area")
    assert (caller["caller"], caller["line_number"], caller["cell"], caller["cell_line"]) == ("square", line, 3, 3)
    assert caller["caller_line"] == file_line("analysis.ipynb", "def square")
    outline = rows(call(engine, "outline", repo="work", path="analysis.ipynb"))
    assert [(row["symbol"], row["cell"], row["cell_line"], row["signature"]) for row in outline] == [
        ("square", 3, 1, "def square(x)"),
        ("data", 5, 2, "data = helpers.load(square(3))"),
    ]
    assert outline[0]["documentation"] == 'Give the "area".'


def test_imports_of_notebooks_have_targets(engine: LocalEngine) -> None:
    imports = rows(call(engine, "imports", repo="work", path="analysis.ipynb"))
    assert [(row["module"], row["line_number"], row["target_path"]) for row in imports] == [
        ("helpers", file_line("analysis.ipynb", "import helpers"), "helpers.py"),
        ("shapes", file_line("analysis.ipynb", "from shapes"), "shapes/__init__.py"),
    ]


@pytest.mark.parametrize(
    ("path", "reason"), [("broken", "no notebook that can be read"), ("huge", "too large to be parsed")]
)
def test_a_notebook_that_can_not_be_read_is_reported(engine: LocalEngine, path: str, reason: str) -> None:
    answer = call(engine, "outline", repo="work", path=f"{path}.ipynb")
    assert not answer.complete
    assert answer.notices == (f"{path}.ipynb is {reason}; it was searched as text.",)


def test_symbols_are_found_in_cells_and_unread_notebooks_are_counted(tmp_path: Path) -> None:
    make_repo(tmp_path / "work", WORK)
    with sl.open(tmp_path) as client:
        result = client.search("type:symbol square|once|inner|script patterntype:regexp count:all")
        matches = result.matches
        assert set(matches["language"]) == {"Jupyter Notebook", "Python", "RMarkdown"}
        in_cells = matches[matches["cell"].notna()]
        assert set(zip(in_cells["symbol"], in_cells["path"], in_cells["cell"], in_cells["cell_line"], strict=True)) == {
            ("square", "analysis.ipynb", 3, 1), ("once", "one.ipynb", 1, 3), ("inner", "book.qmd", 2, 1),
        }  # fmt: skip
        for _, row in matches.iterrows():
            assert row["line"][row["start"][0] : row["end"][0]] == row["symbol"]
            assert WORK[row["path"]].split("\n")[row["line_number"] - 1] == row["line"]
        assert result.status == "limited"
        assert result.skipped["reason"].tolist() == ["symbols-incomplete"]
        assert result.skipped["title"].tolist() == ["2 files parsed in part"]
        with pytest.warns(Warning, match="symbols-incomplete: 2 files"):
            counts = client.count_by("type:symbol square select:symbol.function", "repository")
        assert counts["matches"].tolist() == [1]


@pytest.mark.parametrize(("tool", "symbol"), [("go_to_definition", "square"), ("find_references", "square")])
def test_agents_read_code_of_cells_and_no_json(engine: LocalEngine, tool: str, symbol: str) -> None:
    arguments = {"repo": "work", "path": "analysis.ipynb", "symbol": symbol}
    context = tools.ToolContext(engine, Viewer.owner(), served=True)
    payload, text = tools.render(TOOLS[tool], tools.call(tool, arguments, context), context)
    assert f"{file_line('analysis.ipynb', 'def square')}: def square(x):\n" in text
    assert '"def' not in text
    assert "\\n" not in text.replace('"é\\n"', "")
    first = next(iter(payload.values()))[0]
    location = first if tool == "go_to_definition" else first["chunks"][0]
    assert (location["cell"], location["cellLine"]) == (3, 1)
