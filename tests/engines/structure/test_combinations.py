"""Drawn combinations of patterns of code with operators, filters and revisions, against ast-grep over ``git show``."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from git_output import git
from sourcelight.core.query.languages import language_of
from sourcelight.engines.structure.pattern import LANGUAGES
from sourcelight.testing import RepositoryBuilder

ast_grep = pytest.importorskip("ast_grep_py", reason="the extra `structural` is not installed")

PIECES = [
    "load(1)\n", "load(x, 2)\n", "x = load(3)\n", "save(load(x))\n", "# load(4)\n", "text = 'load(5)'\n",
    "save(x)\n", "y = 1\n", "raise_it(x)\n",
]  # fmt: skip
PATTERNS = ["load($A)", "load($$$)", "save($A)", "$X = $Y", "save(load($A))", "$F($A, $B)", "absent($A)"]
NAMES = ["a.py", "lib/b.py", "lib/c.js", "d.js", "notes.txt"]
FILTERS: dict[str, Callable[[str], bool]] = {
    "": lambda _: True,
    r"file:^lib/": lambda path: path.startswith("lib/"),
    r"-file:\.js$": lambda path: not path.endswith(".js"),
    "lang:python": lambda path: path.endswith(".py"),
    "-lang:python": lambda path: not path.endswith(".py"),
}
Holds = Callable[[dict[str, bool]], bool]


def drawn_text(draw: random.Random) -> str:
    return "".join(draw.choices(PIECES, k=draw.randrange(6))) or "\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(26)  # noqa: S311 - cases, no secrets
    builder = RepositoryBuilder(tmp_path_factory.mktemp("drawn") / "one")
    for number in range(5):
        names = NAMES if not number else draw.sample(NAMES, 2)
        texts = {name: drawn_text(draw) for name in names}
        texts = {name: text if name.endswith("py") else text.replace("#", "//") for name, text in texts.items()}
        builder.commit(texts, f"commit {number}")
    return builder.path


@pytest.fixture(scope="module")
def client(repository: Path) -> Iterator[sl.Client]:
    with sl.open(repository) as client:
        yield client


def drawn_tree(draw: random.Random, depth: int = 2) -> tuple[str, Holds]:
    """A query of patterns, and whether it holds for a file with some of them."""
    if not depth or draw.random() < 0.3:
        pattern = draw.choice(PATTERNS)
        return f'content:"{pattern}"', lambda values: values[pattern]
    (left, holds_left), (right, holds_right) = drawn_tree(draw, depth - 1), drawn_tree(draw, depth - 1)
    match draw.choice(["AND", "OR", "AND NOT"]):
        case "AND":
            return f"({left} AND {right})", lambda values: holds_left(values) and holds_right(values)
        case "OR":
            return f"({left} OR {right})", lambda values: holds_left(values) or holds_right(values)
        case _:
            pattern = draw.choice(PATTERNS)  # NOT takes one pattern
            return f'({left} AND NOT content:"{pattern}")', lambda values: holds_left(values) and not values[pattern]


def lines_by_pattern(repository: Path, revision: str, path: str) -> dict[str, set[int]]:
    """The lines, from 1, that each pattern matches in a file, by ast-grep."""
    text = git(repository, "show", f"{revision}:{path}")
    root = ast_grep.SgRoot(text, LANGUAGES[language_of(path)]).root()
    results: dict[str, set[int]] = {}
    for pattern in PATTERNS:
        ranges = [node.range() for node in root.find_all(pattern=pattern)]
        results[pattern] = {line + 1 for item in ranges for line in range(item.start.line, item.end.line + 1)}
    return results


@pytest.mark.parametrize("seed", range(40))
def test_files_and_lines_are_those_of_ast_grep(client: sl.Client, repository: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases, no secrets
    tree, holds = drawn_tree(draw)
    revision = draw.choice(["HEAD", "HEAD~1", "HEAD~3"])
    name, passes = draw.choice(list(FILTERS.items()))
    expected: dict[str, set[int]] = {}
    patterns = set(re.findall(r'content:"([^"]*)"', tree))
    for path in git(repository, "ls-tree", "-r", "--name-only", revision).split():
        if passes(path) and language_of(path) in LANGUAGES:
            lines = lines_by_pattern(repository, revision, path)
            if holds({pattern: bool(of_pattern) for pattern, of_pattern in lines.items()}):
                expected[path] = set().union(*(lines[pattern] for pattern in patterns))
    query = f"patternType:ast-grep repo:one rev:{revision} {name} {tree} count:all"
    result = client.search(query, progress=False)
    assert result.status == "complete"
    rows: Any = result.matches
    assert set(rows["path"]) == set(expected), query
    if "NOT" not in tree:
        for path, lines_of_path in expected.items():
            assert set(rows.loc[rows["path"] == path, "line_number"]) == lines_of_path, (query, path)
