"""Regular expressions in every place of a query, on texts where a scanner lost matches: RE2 reads the same texts.

The reader takes names, contents, messages and lines from git and asks google-re2 about each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import re2

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

PATTERNS = [r"\d$", "^ *}", "^x*y", r"(?:a|\d)$", r"[ab]$|y1", r"\w$", r"^\S+\d\b", "[a-c]+$", r"^[^ ]+\d$"]

FILES = {
    "todo": b"# TODO\nvalue = 1\n",
    "y1": b"xxy\nno\n  }\n",
    "xxy/a": b"func f() {\n\treturn 1\n}\n",
    "src/end1": b"x = a\n  \n\n}",
    "src/b.py": b"def alpha1():\n    pass\n\n\nclass Beta:\n    def gamma_b(self):\n        return 2\n",
    "src/c.go": b"package y1\n\nfunc Handle1() {\n}\n\nfunc x_a() int {\n\treturn 1\n}\n",
    "crlf9": b"one1\r\ntwo 2\n}\r\n",
    "bad a": b"caf\xe9 1\n\xff\n9\n",
    "plain.txt": b"nothing here.\n",
}
MESSAGES = ["add 1", "fix it\n\nrefs 22\n }\n", "xxy", "no.", "a\n\ny b!"]
AUTHORS = ["Ada <ada@example.org>", "Bob1 <bob@example.org>", "xy <x@example.org>", "Eve B <eve@example.com>"]


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RepositoryBuilder]:
    folder = tmp_path_factory.mktemp("filters")
    built = {}
    for name, paths in {"one1": list(FILES), "two": ["todo", "plain.txt"], "yb": ["y1", "src/b.py"]}.items():
        repository = RepositoryBuilder(folder / name)
        repository.commit({path: FILES[path] for path in paths}, "first")
        for number, message in enumerate(MESSAGES):
            line = (b"y = 1\n", b"x\n }\n", b"xy\n", b"end a\n", b"z.\n")[number]
            before = repository.file("log").read_bytes() if number else b""
            repository.commit({"log": before + line}, message, author=AUTHORS[number % len(AUTHORS)])
        built[name] = repository
    return built


@pytest.fixture(scope="module")
def folder(repositories: dict[str, RepositoryBuilder]) -> Path:
    folder: Path = repositories["two"].path.parent
    return folder


def holds(pattern: str, text: str | bytes, flags: str = "") -> bool:
    """Whether RE2 finds a pattern in a text: one without flags names its ends with ``^`` and ``$``."""
    raw = text.encode() if isinstance(text, str) else text
    return re2.search(f"(?{flags}){pattern}".encode() if flags else pattern.encode(), raw) is not None


def contents(repositories: dict[str, RepositoryBuilder]) -> Iterator[tuple[str, str, bytes]]:
    for name, repository in repositories.items():
        for path in repository.git("-c", "core.quotePath=off", "ls-files", "-z").split("\0")[:-1]:
            yield name, path, repository.file(path).read_bytes()


def commits(repositories: dict[str, RepositoryBuilder]) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    for name, repository in repositories.items():
        for row in repository.git("log", "--format=%H%x01%an%x01%ae%x01%B%x02").split("\x02")[:-1]:
            commit, author, address, message = row.strip("\n").split("\x01")
            yield name, commit, (author, address, f"{author} <{address}>"), message


def rows(code: sl.Client, query: str, *columns: str) -> set[tuple[Any, ...]]:
    result = code.search(f"patternType:regexp count:all {query}", progress=False)
    assert result.status == "complete"
    table = result.arrow.select(list(columns))
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("case", ["yes", "no"])
@pytest.mark.parametrize("pattern", [*PATTERNS, r"^\s+$", r"}\s+$", r"\s\d$"])
def test_contents(code: sl.Client, repositories: dict[str, RepositoryBuilder], pattern: str, case: str) -> None:
    flags = "m" if case == "yes" else "im"
    expected = set()
    for name, path, raw in contents(repositories):
        text = raw.removesuffix(b"\n")
        for match in re2.finditer(f"(?{flags}){pattern}".encode(), raw):
            if match.end() > match.start() and match.start() < max(len(text), 1):
                expected.add((name, path, raw.count(b"\n", 0, match.start()) + 1))
    found_rows = rows(code, f"type:file case:{case} /{pattern}/ fork:yes", "repository", "path", "line_number")
    first_lines = {(name, path) for name, path, number in found_rows if number is not None}
    if r"\s" in pattern:  # a match over several lines has a row for each
        assert first_lines == {row[:2] for row in expected}
    else:
        assert {row for row in found_rows if row[2] is not None} == expected


@pytest.mark.parametrize("pattern", PATTERNS)
def test_paths(code: sl.Client, repositories: dict[str, RepositoryBuilder], pattern: str) -> None:
    everything = {(name, path) for name, path, _ in contents(repositories)}
    passing = {row for row in everything if holds(pattern, row[1], "i")}
    assert rows(code, f"type:path file:{_format_pattern(pattern)}", "repository", "path") == passing
    assert rows(code, f"type:path -file:{_format_pattern(pattern)}", "repository", "path") == everything - passing
    assert rows(code, f"type:path {_format_pattern(pattern)}", "repository", "path") == {
        row for row in everything if holds(pattern, row[1], "im")
    }


@pytest.mark.parametrize("pattern", PATTERNS)
def test_repositories(code: sl.Client, repositories: dict[str, RepositoryBuilder], pattern: str) -> None:
    names = {(name,) for name in repositories}
    passing = {row for row in names if holds(pattern, row[0], "i")}
    assert rows(code, f"type:repo repo:{_format_pattern(pattern)}", "repository") == passing
    assert rows(code, f"type:repo -repo:{_format_pattern(pattern)}", "repository") == names - passing
    assert rows(code, f"type:repo {_format_pattern(pattern)}", "repository") == passing
    with_path = {(name,) for name, path, _ in contents(repositories) if holds(pattern, path, "i")}
    assert rows(code, f"type:repo repo:has.path({_format_pattern(pattern)})", "repository") == with_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_files_by_their_contents(code: sl.Client, repositories: dict[str, RepositoryBuilder], pattern: str) -> None:
    everything = list(contents(repositories))
    passing = {(name, path) for name, path, raw in everything if holds(pattern, raw, "im")}
    query = f"type:path file:has.content({_format_pattern(pattern)})"
    assert rows(code, query, "repository", "path") == passing


@pytest.mark.parametrize("pattern", PATTERNS)
def test_commits(code: sl.Client, repositories: dict[str, RepositoryBuilder], pattern: str) -> None:
    history = list(commits(repositories))
    by_message = {(name, commit) for name, commit, _, message in history if holds(pattern, message, "im")}
    assert rows(code, f"type:commit {_format_pattern(pattern)}", "repository", "commit") == by_message
    assert rows(code, f"type:commit message:{_format_pattern(pattern)}", "repository", "commit") == by_message
    everyone = {(name, commit) for name, commit, _, _ in history}
    assert (
        rows(code, f"type:commit -message:{_format_pattern(pattern)}", "repository", "commit") == everyone - by_message
    )
    by_author = {(name, commit) for name, commit, who, _ in history if any(holds(pattern, item, "im") for item in who)}
    assert rows(code, f"type:commit author:{_format_pattern(pattern)}", "repository", "commit") == by_author


@pytest.mark.parametrize("pattern", PATTERNS)
def test_changed_lines(code: sl.Client, repositories: dict[str, RepositoryBuilder], pattern: str) -> None:
    expected = set()
    for name, commit, _, _ in commits(repositories):
        displayed = repositories[name].git("show", "--format=", "-U0", commit).encode(errors="surrogateescape")
        lines = [line[1:] for line in displayed.split(b"\n") if line[:1] in b"+-" and line[:3] not in (b"+++", b"---")]
        if any(holds(pattern, line, "im") for line in lines if line):
            expected.add((name, commit))
    assert rows(code, f"type:diff {_format_pattern(pattern)}", "repository", "commit") == expected


def test_tools_of_history(code: sl.Client, repositories: dict[str, RepositoryBuilder]) -> None:
    for pattern in (r"\d$", "^ *}", "^x*y", r"(?:a|\d)$"):
        history = list(commits(repositories))
        by_message = {commit for _, commit, _, message in history if holds(pattern, message, "m")}
        frame = code.commit_search(list(repositories), message_terms=[pattern], use_regex=True)
        assert set(frame["commit"]) == by_message
        diffs = code.diff_search(pattern, list(repositories), use_regex=True)
        assert set(diffs["commit"]) == {
            row[0] for row in rows(code, f"type:diff case:yes {_format_pattern(pattern)}", "commit")
        }


@pytest.mark.parametrize("pattern", [r"\d$", "^x*_?a$", r"(?:a|\d)$", "[ab]$"])
def test_symbols(code: sl.Client, pattern: str) -> None:
    names = {row[0] for row in rows(code, "type:symbol .", "symbol")}
    assert {"alpha1", "Beta", "gamma_b", "Handle1", "x_a"} <= names
    results = {row[0] for row in rows(code, f"type:symbol {_format_pattern(pattern)}", "symbol")}
    assert results == {name for name in names if holds(pattern, name, "im")}


def _format_pattern(pattern: str) -> str:
    r"""A pattern as a query holds it where spaces end a term."""
    return pattern.replace(" ", r"\x20")
