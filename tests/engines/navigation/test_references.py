"""Finding references, over repositories too."""

from __future__ import annotations

import pytest

from engines.navigation.sample import SHAPES, call, line_with, make_engine, rows
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer

PLANE = "src/shapes/plane.py"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Three repositories that import each other."""
    return make_engine(tmp_path_factory.mktemp("references"))


def test_references_cross_repositories_and_leave_out_what_shares_the_name(engine: LocalEngine) -> None:
    """A class is found where it is imported and used; its definition comes along."""
    result = rows(call(engine, "find_references", repo="shapes", path=PLANE, symbol="Circle"))
    locations = {(row["repository"], row["path"], row["role"]) for row in result}
    assert ("shapes", PLANE, "definition") in locations
    assert ("drawing", "drawing/board.py", "call") in locations
    assert ("drawing", "drawing/board.py", "import") in locations
    assert all(row["line"][row["start"] : row["end"]] == "Circle" for row in result)


def test_methods_are_told_apart_by_the_type_before_the_dot(engine: LocalEngine) -> None:
    """Of five definitions named area, one line asks for that of Square."""
    line = line_with(SHAPES, PLANE, "class Square") + 1
    answer = call(engine, "find_references", repo="shapes", path=PLANE, symbol="area", line=line)
    result = rows(answer)
    lines = {(row["path"], row["line"].strip()) for row in result if row["role"] != "definition"}
    assert ("drawing/board.py", "boxes[0].area()") in lines
    assert ("drawing/board.py", "mystery.area()") not in lines
    assert not any(path == "area.py" for path, _ in lines)
    assert answer.attributes["left_out"] >= 0


def test_attributes_are_one_with_all_their_assignments(engine: LocalEngine) -> None:
    """A field is found where it is set and read, and where it is passed by keyword it is the parameter."""
    result = rows(call(engine, "find_references", repo="shapes", path=PLANE, symbol="parent"))
    assert {row["line"].strip() for row in result} >= {
        "self.parent: Optional[Shape] = None",
        "while found.parent:",
        "found = found.parent",
    }


def test_a_limit_is_said(engine: LocalEngine) -> None:
    """What is cut off is no complete answer."""
    answer = call(engine, "find_references", repo="shapes", path=PLANE, symbol="area", limit=2)
    assert answer.table.num_rows == 2
    assert not answer.complete
    assert "first 2 references" in " ".join(answer.notices)


def test_an_unknown_symbol_says_so(engine: LocalEngine) -> None:
    """The service's own words stand in the notice."""
    answer = call(engine, "find_references", repo="shapes", path=PLANE, symbol="nothing_like_this")
    assert answer.table.num_rows == 0
    assert any("Symbol not found" in notice for notice in answer.notices)


def test_other_languages_rank_names(engine: LocalEngine) -> None:
    """A function of C is found in the files of C, not in prose."""
    result = rows(call(engine, "find_references", repo="other", path="util.c", symbol="helper"))
    assert ("main.c", "call") in {(row["path"], row["role"]) for row in result}
    assert "notes.txt" not in {row["path"] for row in result}


def test_the_payload_has_lines_around_each_place(engine: LocalEngine) -> None:
    """Four lines above, two below, and where the name stands."""
    context = tools.ToolContext(engine, Viewer.owner(), served=True)
    tool = TOOLS["find_references"]
    answer = tools.answer(tool, {"repo": "shapes", "path": "src/shapes/tools.py", "symbol": "total"}, context)
    payload, text = tools.render(tool, answer, context)
    chunk = payload["references"][0]["chunks"][0]
    assert chunk["startLine"] <= chunk["ranges"][0]["line"] <= chunk["endLine"]
    assert "total(" in text
