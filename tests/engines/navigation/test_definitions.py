"""Going to definitions: Python by rules, other languages by rank, and what can go wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines.navigation.sample import DRAWING, SHAPES, call, line_with, make_engine, open_engine, rows
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, PathNotFound, RepositoryNotFound, RevisionNotFound, ToolError
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing import make_repo

BOARD = "drawing/board.py"
PLANE = "src/shapes/plane.py"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Three repositories that import each other."""
    return make_engine(tmp_path_factory.mktemp("navigation"))


CASES = [
    pytest.param("drawing", BOARD, 'Circle("c"', "Circle", PLANE, "class Circle", "import", id="re-exported"),
    pytest.param("drawing", BOARD, "Box(str", "Box", PLANE, "class Square", "import", id="renamed"),
    pytest.param("drawing", BOARD, "total([", "total", "src/shapes/tools.py", "def total", "import", id="starred"),
    pytest.param("drawing", BOARD, "first(", "first", "src/shapes/tools.py", "def first", "import", id="module"),
    pytest.param("drawing", BOARD, "outer.area", "outer", PLANE, "def outer", "type", id="with-and-typevar"),
    pytest.param("drawing", BOARD, "area()", "area", PLANE, "class Square", "type", id="property"),
    pytest.param("drawing", BOARD, "scale=scale", "scale", PLANE, "def __init__", "type", id="keyword"),
    pytest.param("shapes", "src/shapes/tools.py", "shape.area", "area", PLANE, "def area", "type", id="element"),
    pytest.param("shapes", PLANE, "parent:\n", "parent", PLANE, "self.parent:", "type", id="own-attribute"),
    pytest.param("shapes", "tests/test_plane.py", "scale", "scale", PLANE, "self.scale = scale", "type", id="fixture"),
    pytest.param("shapes", PLANE, "Square:", "Square", PLANE, "class Square", "scope", id="annotation"),
]


@pytest.mark.parametrize(("repo", "path", "use", "symbol", "to", "line_text", "method"), CASES)
def test_python_uses_lead_to_their_definitions(
    engine: LocalEngine, repo: str, path: str, use: str, symbol: str, to: str, line_text: str, method: str
) -> None:
    """Scopes, imports over repositories, and types name one place each."""
    files = {"drawing": DRAWING, "shapes": SHAPES}[repo]
    line = line_with(files, path, use)
    text = files[path].split("\n")[line - 1]
    column = text.index(use.split("\n", maxsplit=1)[0]) + use.index(symbol)
    answer = call(engine, "go_to_definition", repo=repo, path=path, symbol=symbol, line=line, column=column)
    best = rows(answer)[0]
    required = line_with(SHAPES, to, line_text)
    if line_text == "class Square" and symbol == "area":
        required += 1
    assert (best["path"], best["line_number"], best["how"]) == (to, required, method)
    assert best["line"][best["start"] : best["end"]] == symbol or symbol == "Box"
    assert not best["precise"]


def test_a_name_alone_goes_where_most_of_its_uses_go(engine: LocalEngine) -> None:
    """Without a position every use votes, and what only shares the name comes later or not at all."""
    answer = call(engine, "go_to_definition", repo="drawing", path=BOARD, symbol="area")
    result = rows(answer)
    assert result[0]["path"] == PLANE
    assert [row["rank"] for row in result] == list(range(1, len(result) + 1))
    assert len(result) <= 10


def test_definitions_come_with_signature_documentation_and_code(engine: LocalEngine) -> None:
    """The head of a function is one line, its docstring and code ride along."""
    row = rows(call(engine, "go_to_definition", repo="drawing", path=BOARD, symbol="total"))[0]
    assert row["signature"] == "def total(shapes: list[Shape]) -> float"
    assert row["documentation"] == "Add areas."
    assert row["code"].startswith("def total")
    assert row["code"].endswith("return result")
    assert (row["kind"], row["container"]) == ("function", "")


def test_languages_without_rules_get_names_ranked(engine: LocalEngine) -> None:
    """C's function is found behind its header, and the answer says that it is a guess."""
    result = rows(call(engine, "go_to_definition", repo="other", path="main.c", symbol="helper"))
    assert result
    assert {row["path"] for row in result} <= {"util.c", "util.h"}
    assert result[0]["documentation"] in {"Adds one.", ""}


def test_files_without_a_grammar_are_answered_by_their_text(engine: LocalEngine) -> None:
    """A text file names what it mentions: the definition elsewhere, or its own first mention."""
    result = rows(call(engine, "go_to_definition", repo="other", path="notes.txt", symbol="helper"))
    assert result[0]["how"] in {"name", "text"}
    assert result[0]["score"] < 0.7


def test_broken_files_still_lead_somewhere(engine: LocalEngine) -> None:
    """What can be read of a file that is no valid Python is used."""
    result = rows(call(engine, "go_to_definition", repo="other", path="broken.py", symbol="ok"))
    assert (result[0]["path"], result[0]["line_number"]) == ("broken.py", 1)


def test_an_absent_symbol_says_where_it_occurs(engine: LocalEngine) -> None:
    """The answer names the files that have it, and ranks its definitions."""
    answer = call(engine, "go_to_definition", repo="shapes", path="src/shapes/__init__.py", symbol="unused")
    assert "does not occur in src/shapes/__init__.py" in answer.notices[0]
    assert "src/shapes/tools.py" in answer.notices[0]
    assert rows(answer)[0]["path"] == "src/shapes/tools.py"


def test_cyclic_imports_come_to_an_end(engine: LocalEngine) -> None:
    """A name that two modules import from each other is left at an import."""
    result = rows(call(engine, "go_to_definition", repo="shapes", path="src/shapes/loop_b.py", symbol="ghost"))
    assert all(row["path"].startswith("src/shapes/loop_") for row in result)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param({"repo": "absent"}, RepositoryNotFound, id="repository"),
        pytest.param({"path": "no/such.py"}, PathNotFound, id="path"),
        pytest.param({"path": "drawing"}, ToolError, id="folder"),
        pytest.param({"revision": "no-such-branch"}, RevisionNotFound, id="revision"),
        pytest.param({"symbol": "  "}, ToolError, id="no-symbol"),
        pytest.param({"column": 3}, ToolError, id="column-without-line"),
    ],
)
def test_what_is_not_there_is_said(engine: LocalEngine, change: dict[str, Any], error: type[Exception]) -> None:
    """Each mistake has its own error."""
    arguments: dict[str, Any] = {"repo": "drawing", "path": BOARD, "symbol": "draw"}
    with pytest.raises(error):
        call(engine, "go_to_definition", **(arguments | change))


def test_private_repositories_are_never_reached(tmp_path: Path) -> None:
    """For who may not see it, a module of a private repository is in no repository."""
    make_repo(tmp_path / "code" / "hidden", {"secretive/__init__.py": "def key():\n    return 1\n"})
    make_repo(tmp_path / "code" / "open", {"use.py": "from secretive import key\nkey()\n"})
    (tmp_path / "code" / "repos.toml").write_text("[repositories.hidden]\nprivate = true\n")
    engine = open_engine(tmp_path)
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    seen = {
        who.name: rows(call(engine, "go_to_definition", viewer=who, repo="open", path="use.py", symbol="key"))
        for who in (Viewer.owner(), Viewer.anonymous())
    }
    assert seen["owner"][0]["repository"] == "hidden"
    assert all(row["repository"] == "open" for row in seen[""])


def test_any_revision_can_be_asked(tmp_path: Path) -> None:
    """An older commit is read as it was."""
    repo = make_repo(tmp_path / "code" / "one", {"m.py": "def old():\n    pass\n\n\nold()\n"})
    repo.tag("v1")
    repo.commit({"m.py": "def new():\n    pass\n\n\nnew()\n"})
    engine = open_engine(tmp_path)
    row = rows(call(engine, "go_to_definition", repo="one", path="m.py", symbol="old", revision="v1"))[0]
    assert (row["line_number"], row["revision"], row["how"]) == (1, "v1", "scope")
    assert rows(call(engine, "go_to_definition", repo="one", path="m.py", symbol="new"))[0]["how"] == "scope"


def test_huge_files_are_searched_as_text(tmp_path: Path) -> None:
    """Beyond a megabyte nothing is parsed, and the answer says so."""
    big = "def target():\n    pass\n\n\ntarget()\n" + "x = 1  # filler to make it large\n" * 40_000
    make_repo(tmp_path / "code" / "one", {"big.py": big})
    answer = call(open_engine(tmp_path), "go_to_definition", repo="one", path="big.py", symbol="target")
    assert any("too large to be parsed" in notice for notice in answer.notices)


def test_a_cancelled_call_ends(engine: LocalEngine) -> None:
    """A caller who has gone is not worked for."""
    cancellation = Cancellation()
    cancellation.cancel()
    context = tools.ToolContext(engine, Viewer.owner(), cancellation)
    with pytest.raises(Cancelled):
        tools.call("find_references", {"repo": "shapes", "path": PLANE, "symbol": "area"}, context)


def test_tools_render_text_and_typed_rows(engine: LocalEngine) -> None:
    """MCP gets numbered lines as text, and the same as data."""
    context = tools.ToolContext(engine, Viewer.owner(), served=True, base_url="https://host")
    tool = TOOLS["go_to_definition"]
    answer = tools.answer(tool, {"repo": "drawing", "path": BOARD, "symbol": "total"}, context)
    payload, text = tools.render(tool, answer, context)
    assert text.startswith("# shapes – src/shapes/tools.py\n4: def total")  # noqa: RUF001 - the service's own dash
    assert payload["definitions"][0]["chunks"][0]["startLine"] == 4
    assert payload["limitHit"] is False
