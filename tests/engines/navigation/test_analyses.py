"""Outlines, imports, graphs, maps and calls."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest

from engines.navigation.sample import call, make_engine, rows
from sourcelight.backends.embedded import open_engine
from sourcelight.client.methods.navigation import DependencyGraph
from sourcelight.core.errors import ToolError
from sourcelight.display.frames.facts import answer_frame
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import make_repo

PLANE = "src/shapes/plane.py"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Three repositories that import each other."""
    return make_engine(tmp_path_factory.mktemp("analyses"))


def test_symbols_are_listed_by_kind(engine: LocalEngine) -> None:
    """Only classes are asked for; an unknown kind is refused."""
    result = rows(call(engine, "symbols", repo="shapes", kind=["class"]))
    assert [row["symbol"] for row in result] == ["Shape", "Circle", "Square"]
    assert result[0]["documentation"] == "Anything with an area."
    with pytest.raises(ToolError, match="not a kind of symbol"):
        call(engine, "symbols", repo="shapes", kind=["gadget"])


def test_an_outline_has_depths(engine: LocalEngine) -> None:
    """Methods stand one below their class."""
    result = rows(call(engine, "outline", repo="shapes", path=PLANE))
    depths = {row["symbol"]: row["depth"] for row in result}
    assert (depths["Circle"], depths["largest"]) == (0, 1)


def test_imports_name_their_files(engine: LocalEngine) -> None:
    """Imports of this repository and of another one have targets; those of neither have none."""
    result = rows(call(engine, "imports", repo="drawing"))
    targets = {(row["module"], row["member"]): (row["target_repository"], row["target_path"]) for row in result}
    assert targets["shapes.plane", "Square"] == ("shapes", PLANE)
    inner = rows(call(engine, "imports", repo="shapes", path=PLANE))
    assert {(row["module"], row["target_path"]) for row in inner} >= {("math", None)}


def test_the_graph_has_edges_between_repositories(engine: LocalEngine) -> None:
    """Who imports whom, and what nobody here has."""
    answer = call(engine, "dependency_graph")
    results = {(row["source"], row["target"], row["external"]) for row in rows(answer)}
    assert ("drawing", "shapes", False) in results
    assert ("shapes", "math", True) in results
    graph = DependencyGraph(answer_frame(answer))
    assert "1 edge among them" in repr(graph)
    if importlib.util.find_spec("networkx") is not None:
        assert graph.to_networkx().has_edge("drawing", "shapes")


def test_packages_are_told_from_paths_of_a_crate(tmp_path: Path) -> None:
    """`supertest` begins as `super` does, and had no edge."""
    files = {
        "app.js": 'import request from "supertest";\nimport agent from "superagent";\nrequest(agent);\n',
        "app.py": "import crate\nimport selfies\n",
        "lib.rs": "use crate::a::b;\nuse self::c::d;\nuse super::e;\nuse serde::Serialize;\n",
    }
    repo = make_repo(tmp_path / "mixed", files)
    engine = open_engine([repo.path], index=tmp_path / "index")
    targets = {row["target"] for row in rows(call(engine, "dependency_graph"))}
    assert targets == {"supertest", "superagent", "crate", "selfies", "serde"}


def test_a_map_keeps_to_its_lines(engine: LocalEngine) -> None:
    """What is imported most comes first, and the budget holds."""
    result = rows(call(engine, "repo_map", repo="shapes", budget_lines=8))
    assert 2 <= len(result) <= 8
    assert PLANE in {row["path"] for row in result}
    assert any("class Shape" in row["text"] for row in result)


def test_a_class_with_members_comes_first_in_a_map(tmp_path: Path) -> None:
    """Members were looked for at wrong places behind names that a map doesn't show, such as these numbers."""
    numbers = "".join(f"number_{index} = {index}\n" for index in range(5))
    short = "class Plain:\n" + "    print()\n" * 8
    full = "class Full:\n" + "".join(f"    def method_{index}(self):\n        pass\n" for index in range(4))
    make_repo(tmp_path / "code" / "one", {"one.py": f"{numbers}{short}{full}"})
    engine = open_engine([tmp_path / "code"], index=tmp_path / "index")
    texts = [row["text"].strip() for row in rows(call(engine, "repo_map", repo="one", budget_lines=2))]
    assert texts == ["one.py", "class Full"]


def test_a_map_of_a_generated_file_is_quick(tmp_path: Path) -> None:
    """Each definition was compared with all others of its file."""
    functions = "".join(f"def f{index}(): pass\n" for index in range(20_000))
    make_repo(tmp_path / "code" / "one", {"one.py": functions})
    engine = open_engine([tmp_path / "code"], index=tmp_path / "index")
    began = time.process_time()
    assert len(rows(call(engine, "repo_map", repo="one", budget_lines=100))) == 100
    assert time.process_time() - began < 3


def test_calls_are_followed_to_a_depth(engine: LocalEngine) -> None:
    """Callers of callers, and callees of callees, once each."""
    up = rows(call(engine, "callers", repo="shapes", path="src/shapes/tools.py", symbol="total", depth=2))
    assert {(row["caller"], row["caller_repository"]) for row in up if row["depth"] == 1} >= {
        ("draw", "drawing"),
        ("unused", "shapes"),
    }
    down = rows(call(engine, "callees", repo="drawing", path="drawing/board.py", symbol="draw", depth=2))
    assert {"Circle", "total", "first"} <= {row["callee"] for row in down if row["depth"] == 1}
    assert ("total", "area") in {(row["caller"], row["callee"]) for row in down if row["depth"] == 2}


def test_only_fixtures_are_named_by_an_argument(tmp_path: Path) -> None:
    """Any decorator with `name="db"` was one, and none in single quotes."""
    conftest = (
        'import click\nimport pytest\n\n\n@click.command(name="db")\ndef command():\n    pass\n\n\n'
        "@pytest.fixture(name='db')\ndef _db():\n    return 1\n"
    )
    test = "def test_it(db):\n    assert db\n"
    make_repo(tmp_path / "code" / "one", {"conftest.py": conftest, "test_it.py": test})
    best = rows(
        call(
            open_engine([tmp_path / "code"], index=tmp_path / "index"),
            "go_to_definition",
            repo="one",
            path="test_it.py",
            symbol="db",
            line=1,
        )
    )[0]
    assert (best["path"], best["line_number"]) == ("conftest.py", 11)


def test_a_file_with_a_name_of_the_standard_library_is_not_imported_instead(tmp_path: Path) -> None:
    """Python finds the module of the standard library first, but for files beside a script."""
    files = {
        "pkg/__init__.py": "",
        "pkg/warnings.py": "import warnings\nimport helpers\n",
        "pkg/helpers.py": "import types\n",
        "scripts/types.py": "x = 1\n",
        "scripts/run.py": "import types\nfrom json import decoder\n",
    }
    make_repo(tmp_path / "src" / "app", files)
    make_repo(tmp_path / "src" / "backport", {"json/__init__.py": "", "json/decoder.py": ""})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    result = rows(call(engine, "imports", repo="app"))

    targets = {(row["path"], row["module"]): row["target_path"] for row in result}
    assert targets == {
        ("pkg/warnings.py", "warnings"): None,
        ("pkg/warnings.py", "helpers"): "pkg/helpers.py",  # as Python 2 did
        ("pkg/helpers.py", "types"): None,
        ("scripts/run.py", "types"): "scripts/types.py",
        ("scripts/run.py", "json"): None,
    }
