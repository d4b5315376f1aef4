"""Commits that bring or remove code of a structure, against a comparison of every changed file by git and ast-grep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from git_output import git_bytes
from sourcelight.core.query.languages import language_of
from sourcelight.engines.structure.pattern import LANGUAGES
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

ast_grep = pytest.importorskip("ast_grep_py", reason="the extra `structural` is not installed")

VERSIONS = (
    ("first", "x = 1\n"),
    ("brings", "x = 1\nfoo(1)\n"),
    ("indents", "x = 1\nif x:\n    foo(1)\n"),
    ("changes", "x = 1\nif x:\n    foo(\n        'é', 2,\n\n    )\n"),
    ("quotes", "x = 1\n'''\nif x:\n    foo(\n        'é', 2,\n\n    )\n'''\n"),
    ("replaces", "x = 1\nbar(3)\n"),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    folder = tmp_path_factory.mktemp("history")
    builder = RepositoryBuilder(folder / "one")
    for message, text in VERSIONS:
        builder.commit({"a.py": text, "a.txt": text}, message=message)
    with sl.open(folder) as client:
        yield client


def rows(client: sl.Client, query: str) -> list[tuple[object, ...]]:
    frame = client.search(f"patternType:ast-grep {query}", progress=False).matches
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        (r["message"], r["side"], r["line_number"], [r["line"][a:b] for a, b in zip(r["start"], r["end"], strict=True)])
        for r in records
    ]


def test_changed_lines_are_those_of_what_came_or_went(client: sl.Client) -> None:
    assert rows(client, "type:diff foo($$$)") == [
        ("quotes", None, None, []),  # no line of it was changed
        ("changes", "removed", 3, ["foo(1)"]),
        ("changes", "added", 3, ["foo("]),
        ("changes", "added", 4, ["        'é', 2,"]),
        ("changes", "added", 6, ["    )"]),
        ("brings", "added", 2, ["foo(1)"]),
    ]


def test_a_line_that_two_alternatives_find_comes_once(client: sl.Client) -> None:
    """Different filters make alternatives; a line of both has the spans of both."""
    both = rows(client, "type:diff ((file:py foo($$$)) OR (lang:python foo($A)))")
    assert both == rows(client, "type:diff foo($$$)")
    either = rows(client, "type:diff ((file:py bar($$$)) OR (lang:python foo($A)))")
    assert [row[0] for row in either] == ["replaces", "changes", "brings"]
    assert rows(client, "type:diff ((file:none bar($$$)) OR (lang:go foo($A)))") == []


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("type:commit foo($$$)", ["quotes", "changes", "brings"]),
        ("type:diff select:commit.diff.added foo($$$)", ["changes", "brings"]),
        ("type:diff select:commit.diff.removed foo($$$)", ["quotes", "changes"]),
        ("type:commit foo($$$) OR bar($A)", ["replaces", "quotes", "changes", "brings"]),
        ("type:commit bar($A) AND NOT foo($$$)", ["replaces"]),
        ("type:commit lang:go foo($$$)", []),
        ("type:commit file:txt foo($$$)", []),
        ("type:commit message:chan foo($$$)", ["changes"]),
    ],
)
def test_filters_and_operators_hold_for_changed_files(client: sl.Client, query: str, messages: list[str]) -> None:
    assert list(dict.fromkeys(row[0] for row in rows(client, query))) == messages


def texts_of(directory: str, blob: str, path: str, pattern: str, language: str) -> Counter[str]:
    """The matches in a content, white space aside."""
    if not int(blob, 16) or language_of(path) != language:
        return Counter()
    text = git_bytes(directory, "cat-file", "blob", blob).decode("utf-8", "replace")
    nodes = ast_grep.SgRoot(text, LANGUAGES[language]).root().find_all(pattern=pattern)
    spans = {(node.range().start.index, node.range().end.index) for node in nodes}
    return Counter(" ".join(text[start:end].split()) for start, end in spans if start < end)


def changed_files(directory: str, commit: str) -> Iterator[tuple[str, str, str, str]]:
    """The content and the path of each changed file, before and after."""
    raw = git_bytes(directory, "diff-tree", "-r", "-M", "--root", "--no-commit-id", "-z", commit).split(b"\0")[:-1]
    while raw:
        _, _, old, new, status = raw.pop(0).decode().split(" ")
        before = after = raw.pop(0).decode(errors="replace")
        if status[0] in "RC":
            after = raw.pop(0).decode(errors="replace")
        yield old, before, new, after


@pytest.mark.parametrize(("pattern", "language"), [("print($$$)", "Python"), ("return $X", "TypeScript")])
def test_commits_are_those_of_a_comparison_of_all_files(fleet: Path, pattern: str, language: str) -> None:
    expected = set()
    with sl.open(fleet) as client:
        scope = f'type:commit lang:{language} fork:yes archived:yes count:all timeout:50s content:"{pattern}"'
        frame = client.search(f"patternType:ast-grep {scope}", progress=False).matches
    for repository in Catalog.open(fleet).repositories:
        directory = repository.git_dir
        for commit in git_bytes(directory, "rev-list", "--no-merges", "HEAD").decode().split():
            for old, before, new, after in changed_files(directory, commit):
                was = texts_of(directory, old, before, pattern, language)
                if was != texts_of(directory, new, after, pattern, language):
                    expected.add((repository.name, commit))
    assert set(zip(frame["repository"], frame["commit"], strict=True)) == expected
    assert len(expected) > 1
