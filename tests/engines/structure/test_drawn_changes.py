"""Drawn combinations of patterns of code over changes, against ast-grep over both versions of each changed file."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from engines.structure.test_combinations import NAMES, PATTERNS, ast_grep, drawn_text, drawn_tree
from engines.structure.test_history import changed_files
from git_output import git, git_bytes
from sourcelight.core.query.languages import language_of
from sourcelight.engines.structure.pattern import LANGUAGES
from sourcelight.testing import RepositoryBuilder

AUTHORS = ["Ada Example <ada@example.org>", "Bo Example <bo@example.org>"]
COMMITS = 14


@dataclass(frozen=True)
class Change:
    """A changed file: its commit by number, its paths, and the matches that came and went."""

    number: int
    old_path: str
    path: str
    surplus: dict[str, dict[str, list[tuple[int, int]]]]
    """By pattern and side the first and last lines of matches, from 1."""
    changed_lines: dict[str, set[int]]


FILTERS: dict[str, Callable[[Change], bool]] = {
    "": lambda _: True,
    "file:^lib/": lambda change: change.path.startswith("lib/") or change.old_path.startswith("lib/"),
    r"-file:\.js$": lambda change: not change.path.endswith(".js") and not change.old_path.endswith(".js"),
    "lang:python": lambda change: change.path.endswith(".py") or change.old_path.endswith(".py"),
    "author:ada@": lambda change: change.number % 2 == 0,
    "-author:ada@": lambda change: change.number % 2 == 1,
    "message:commit.1": lambda change: change.number == 1 or change.number >= 10,
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(27)  # noqa: S311 - cases, no secrets
    builder = RepositoryBuilder(tmp_path_factory.mktemp("changes") / "one")
    texts: dict[str, Any] = {}
    for number in range(COMMITS):
        files: dict[str, Any] = {}
        for name in NAMES if not number else draw.sample(NAMES, 2):
            text = drawn_text(draw)
            if texts.get(name) and draw.random() < 0.5:
                # An edit, with the other lines as they were, at times indented.
                lines = texts[name].splitlines(keepends=True)
                lines.insert(draw.randrange(len(lines) + 1), draw.choice(["load(1)\n", "save(load(2))\n", "y = 2\n"]))
                text = "".join(lines)
            files[name] = None if texts.get(name) and draw.random() < 0.1 else text
        texts.update(files)
        builder.commit(files, message=f"commit {number}", author=AUTHORS[number % 2])
    return builder.path


@pytest.fixture(scope="module")
def client(repository: Path) -> Iterator[sl.Client]:
    with sl.open(repository) as client:
        yield client


def matches(repository: Path, blob: str, path: str) -> dict[str, list[tuple[str, int, int]]]:
    """By pattern the texts of matches, white space aside, with first and last line, by place."""
    results: dict[str, list[tuple[str, int, int]]] = {pattern: [] for pattern in PATTERNS}
    if not int(blob, 16) or language_of(path) not in LANGUAGES:
        return results
    text = git_bytes(repository, "cat-file", "blob", blob).decode()
    root = ast_grep.SgRoot(text, LANGUAGES[language_of(path)]).root()
    for pattern in PATTERNS:
        ranges = [node.range() for node in root.find_all(pattern=pattern)]
        spans = {(item.start.index, -item.end.index): (item.start.line, item.end.line) for item in ranges}
        results[pattern] = [
            (" ".join(text[start:-end].split()), first + 1, last + 1)
            for (start, end), (first, last) in sorted(spans.items())
        ]
    return results


def surplus(ours: list[tuple[str, int, int]], other_matches: list[tuple[str, int, int]]) -> list[tuple[int, int]]:
    remaining = Counter(text for text, _, _ in other_matches)
    lines = []
    for text, first, last in ours:
        if remaining[text]:
            remaining[text] -= 1
        else:
            lines.append((first, last))
    return lines


@pytest.fixture(scope="module")
def changes(repository: Path) -> list[Change]:
    result = []
    commits = git(repository, "rev-list", "--reverse", "HEAD").split()
    for number, commit in enumerate(commits):
        for old, old_path, new, path in changed_files(str(repository), commit):
            before, after = matches(repository, old, old_path), matches(repository, new, path)
            of_pattern = {
                pattern: {
                    "added": surplus(after[pattern], before[pattern]),
                    "removed": surplus(before[pattern], after[pattern]),
                }
                for pattern in PATTERNS
            }
            patch = git(repository, "show", "-U0", "-M", "--format=", commit, "--", *{old_path, path})
            lines: dict[str, set[int]] = {"added": set(), "removed": set()}
            for hunk in re.finditer(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", patch, re.MULTILINE):
                for side, start, count in (("removed", hunk[1], hunk[2]), ("added", hunk[3], hunk[4])):
                    lines[side] |= set(range(int(start), int(start) + (1 if count is None else int(count))))
            result.append(Change(number, old_path, path, of_pattern, lines))
    return result


@pytest.mark.parametrize("seed", range(60))
def test_changes_and_lines_are_those_of_ast_grep(client: sl.Client, changes: list[Change], seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases, no secrets
    tree, holds = drawn_tree(draw)
    names = draw.sample(list(FILTERS), 2)
    side = draw.choice(["", "", "added", "removed"])
    sides = [side] if side else ["added", "removed"]
    patterns = set(re.findall(r'content:"([^"]*)"', tree))
    expected: dict[int, set[tuple[str, str, int]]] = {}
    for change in changes:
        values = {pattern: any(of_side[side] for side in sides) for pattern, of_side in change.surplus.items()}
        if not all(FILTERS[name](change) for name in names) or not holds(values):
            continue
        lines = expected.setdefault(change.number, set())
        for pattern in patterns:
            for of_side in sides:
                for first, last in change.surplus[pattern][of_side]:
                    touched = change.changed_lines[of_side].intersection(range(first, last + 1))
                    lines |= {(of_side, change.path, line) for line in touched}
    select = f"select:commit.diff.{side}" if side else ""
    query = f"patternType:ast-grep type:diff {' '.join(names)} {select} {tree} count:all"
    rows = client.search(query, progress=False).matches
    assert set(rows["message"]) == {f"commit {number}" for number in expected}, query
    if "NOT" not in tree:
        lines_by_message: dict[str, set[tuple[str, str, int]]] = {}
        for row in rows[rows["path"].notna()].itertuples():
            lines_by_message.setdefault(row.message, set()).add((str(row.side), row.path, row.line_number))
        assert lines_by_message == {f"commit {number}": lines for number, lines in expected.items() if lines}, query
