"""References by other names than asked for: renamed imports, modules, fixtures; and bodies before prototypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engines.navigation.sample import call, open_engine, rows
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import make_repo

_FIXTURE = "import pytest\n\n@pytest.fixture\n"
_SOURCES: Mapping[str, Mapping[str, str]] = {
    "fixtures": {
        "conftest.py": _FIXTURE + "def db():\n    return 1\n\n@pytest.fixture\ndef user(db):\n    return db\n",
        "tests/test_a.py": """def test_one(db):
    assert db

def test_two(user, db):
    print(db)

class TestThing:
    def test_three(self, db):
        assert db
""",
        "tests/sub/conftest.py": _FIXTURE + "def db(db):\n    return db\n",
        "tests/sub/test_b.py": "def test_four(db):\n    assert db\n",
        "app.py": "def run(db):\n    return db\n",
        "plug/__init__.py": "",
        "plug/given.py": _FIXTURE + "def net():\n    return 1\n",
        "plug/more.py": _FIXTURE + "def far():\n    return 1\n",
        "other/conftest.py": "from plug.given import net\npytest_plugins = ['plug.more']\n",
        "other/test_c.py": """import pytest

def test_five(net, far):
    assert net

class TestFar:
    @pytest.fixture
    def far(self):
        return 3

    def test_six(self, far):
        assert far
""",
    },
    "python": {
        "pkg/__init__.py": "",
        "pkg/core.py": "LIMIT = 3\n\ndef make():\n    return LIMIT\n",
        "pkg/use.py": """import pkg.core as engine
from pkg.core import make as build
from pkg import core
import pkg

def go():
    with open("x") as build_log:
        build()
    engine.make()
    core.make()
    return pkg.core.LIMIT
""",
        "pkg/other.py": "from pkg.use import build as again\nfrom . import core as motor\n\nagain()\nmotor.make()\n",
        "pkg/stranger.py": "def build():\n    return 1\n\nbuild()\nengine = 1\n",
    },
    "go": {
        "go.mod": "module example.org/m\n\ngo 1.21\n",
        "lib/lib.go": "package lib\n\nfunc Make() int { return 1 }\n",
        "main.go": 'package main\n\nimport l "example.org/m/lib"\n\nfunc main() {\n\tl.Make()\n}\n',
        "cmd/x.go": 'package cmd\n\nimport "example.org/m/lib"\n\nfunc X() int { return lib.Make() }\n',
        "cmd/y.go": "package cmd\n\nfunc Y(l int) int { return l }\n",
    },
    "typescript": {
        "src/core.ts": "export function make() { return 1 }\nexport const limit = 3\n",
        "src/use.ts": "import { make as build } from './core'\nimport * as engine from './core'\n\n"
        "build()\nengine.make()\n",
        "src/other.ts": "import * as motor from './core'\nexport { make as produce } from './core'\nmotor.limit\n",
        "src/last.ts": "import { produce } from './other'\nproduce()\n",
        "src/stranger.ts": "function build() {}\nbuild()\nconst core = 1\n",
    },
    "c": {
        "util.h": "int helper(int x);\nint nowhere(void);\n",
        "util.c": '#include "util.h"\nint helper(int x) { return x + 1; }\n',
    },
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("names")
    for name, files in _SOURCES.items():
        make_repo(folder / "code" / name, files)
    result = open_engine(folder)
    result.store.update_symbols([result.target_of(repository) for repository in result.catalog.repositories])
    return result


def locations(engine: LocalEngine, repo: str, path: str, symbol: str, **arguments: Any) -> set[str]:
    """Path and line of each reference."""
    result = rows(call(engine, "find_references", repo=repo, path=path, symbol=symbol, **arguments))
    assert len({(row["path"], row["line_number"], row["start"]) for row in result}) == len(result)
    return {f"{row['path']}:{row['line_number']}" for row in result}


_PARAMETERS = {"conftest.py:4", "conftest.py:8", "tests/sub/conftest.py:4", "tests/test_a.py:1", "tests/test_a.py:4",
               "tests/test_a.py:8"}  # fmt: skip


@pytest.mark.parametrize(("path", "line", "local_uses"), [
    ("conftest.py", 4, set()),
    ("conftest.py", 8, {"conftest.py:9"}),
    ("tests/test_a.py", 1, {"tests/test_a.py:2"}),
    ("tests/test_a.py", 5, {"tests/test_a.py:5"}),
    ("tests/test_a.py", 8, {"tests/test_a.py:9"}),
])  # fmt: skip
def test_a_fixture_is_one_with_the_parameters_that_ask_for_it(
    engine: LocalEngine, path: str, line: int, local_uses: set[str]
) -> None:
    """Asked at a parameter, or where it is used, the uses in that function come along."""
    assert locations(engine, "fixtures", path, "db", line=line) == _PARAMETERS | local_uses


def test_a_nearer_fixture_hides_one_further_up(engine: LocalEngine) -> None:
    near = {"tests/sub/conftest.py:4", "tests/sub/test_b.py:1", "tests/sub/test_b.py:2"}
    assert locations(engine, "fixtures", "tests/sub/test_b.py", "db", line=1) == near
    # Its own parameter asks for the one that it hides.
    upper = locations(engine, "fixtures", "tests/sub/conftest.py", "db", line=4, column=7)
    assert upper == _PARAMETERS | {"tests/sub/conftest.py:5"}
    assert locations(engine, "fixtures", "app.py", "db") == {"app.py:1", "app.py:2"}


def test_fixtures_are_imported_named_as_plugins_and_held_by_classes(engine: LocalEngine) -> None:
    net = locations(engine, "fixtures", "other/test_c.py", "net", line=3)
    assert net == {"plug/given.py:4", "other/conftest.py:1", "other/test_c.py:3", "other/test_c.py:4"}
    assert locations(engine, "fixtures", "other/test_c.py", "far", line=3) == {"plug/more.py:4", "other/test_c.py:3"}
    of_class = {"other/test_c.py:8", "other/test_c.py:11", "other/test_c.py:12"}
    assert locations(engine, "fixtures", "other/test_c.py", "far", line=11) == of_class


_MAKE = {"pkg/core.py:3", "pkg/use.py:2", "pkg/use.py:8", "pkg/use.py:9", "pkg/use.py:10", "pkg/other.py:1",
         "pkg/other.py:4", "pkg/other.py:5"}  # fmt: skip
_CORE = {"pkg/use.py:1", "pkg/use.py:2", "pkg/use.py:3", "pkg/use.py:9", "pkg/use.py:10", "pkg/use.py:11",
         "pkg/other.py:2", "pkg/other.py:5"}  # fmt: skip
_TS_MAKE = {"src/core.ts:1", "src/use.ts:1", "src/use.ts:4", "src/use.ts:5", "src/other.ts:2", "src/last.ts:1",
            "src/last.ts:2"}  # fmt: skip
_GO_LIB = {"lib/lib.go:1", "main.go:3", "main.go:6", "cmd/x.go:5"}


@pytest.mark.parametrize(("repo", "path", "symbol", "line", "expected"), [
    ("python", "pkg/core.py", "make", None, _MAKE),
    ("python", "pkg/use.py", "build", None, _MAKE),
    ("python", "pkg/other.py", "again", None, _MAKE),
    ("python", "pkg/use.py", "engine", None, _CORE),
    ("python", "pkg/use.py", "core", 3, _CORE),
    ("python", "pkg/other.py", "motor", 5, _CORE),
    ("python", "pkg/core.py", "LIMIT", None, {"pkg/core.py:1", "pkg/core.py:4", "pkg/use.py:11"}),
    ("go", "main.go", "l", None, _GO_LIB),
    ("go", "cmd/x.go", "lib", None, _GO_LIB),
    ("go", "lib/lib.go", "lib", None, _GO_LIB),
    ("typescript", "src/core.ts", "make", None, _TS_MAKE),
    ("typescript", "src/use.ts", "build", None, _TS_MAKE),
    ("typescript", "src/last.ts", "produce", None, _TS_MAKE),
    ("typescript", "src/use.ts", "engine", None, {"src/use.ts:2", "src/use.ts:5", "src/other.ts:1", "src/other.ts:3"}),
])  # fmt: skip
def test_references_follow_what_imports_rename(
    engine: LocalEngine, repo: str, path: str, symbol: str, line: int | None, expected: set[str]
) -> None:
    """The same references, whichever name is asked for; a stranger that bears one of them is none."""
    assert locations(engine, repo, path, symbol, **({"line": line} if line else {})) == expected


def test_a_body_stands_before_the_prototype_that_announces_it(engine: LocalEngine) -> None:
    result = rows(call(engine, "go_to_definition", repo="c", path="util.h", symbol="helper"))
    assert [row["path"] for row in result] == ["util.c", "util.h"]
    assert [row["rank"] for row in result] == [1, 2]
    only = rows(call(engine, "go_to_definition", repo="c", path="util.h", symbol="nowhere"))
    assert [row["path"] for row in only] == ["util.h"]
