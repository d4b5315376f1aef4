"""Patterns of code against ast-grep's own binding, run over every file without an index."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.core.errors import QueryError, UnsupportedQuery
from sourcelight.core.query.languages import language_of
from sourcelight.engines.structure.pattern import LANGUAGES, expando_of
from sourcelight.engines.structure.pool import SourceText, StructurePool, shared_pool
from sourcelight.engines.structure.worker import rule_of
from sourcelight.engines.symbols import LANGUAGES as DEFINED_LANGUAGES
from sourcelight.repos import Catalog
from sourcelight.testing import make_repo

ast_grep = pytest.importorskip("ast_grep_py", reason="the extra `structural` is not installed")

Match = tuple[str, str, int, int, int, int]
"""Repository, path, then line and column of its start and of its end, both from 0 and in code points."""


def naive(repository: str, path: str, text: str, pattern: str, language: str) -> set[Match]:
    root = ast_grep.SgRoot(text, LANGUAGES[language]).root()
    results = set()
    rule = rule_of(pattern, language)
    in_context = {"rule": {"pattern": {"context": rule.context, "selector": rule.selector}}}
    for node in root.find_all(in_context) if rule.context else root.find_all(pattern=pattern):
        node_range = node.range()
        if node_range.start.index < node_range.end.index:
            results.add(
                (
                    repository,
                    path,
                    node_range.start.line,
                    node_range.start.column,
                    node_range.end.line,
                    node_range.end.column,
                )
            )
    return results


def matches_of(frame: Any) -> set[Match]:
    """Matches put together from rows: what goes on in the next line comes first there, the outer ones before."""
    results: set[Match] = set()
    unfinished: list[tuple[int, int]] = []
    rows = frame[["repository", "path", "line_number", "line", "start", "end", "match_count"]].to_dict("records")
    for row in rows:
        number, going_on = row["line_number"] - 1, []
        spans = list(zip(row["start"], row["end"], strict=True))
        continued = len(spans) - row["match_count"]
        for index, (start, end) in enumerate(spans):
            match_start = unfinished[index] if index < continued else (number, int(start))
            if end > len(row["line"]):
                going_on.append(match_start)
            position = (number + 1, 0) if end > len(row["line"]) else (number, int(end))
            # The last piece of a match is its end: pieces before it are taken back.
            results.discard((row["repository"], row["path"], *match_start, number, 0))
            results.add((row["repository"], row["path"], *match_start, *position))
        unfinished = going_on
    return results


def sources(folder: Path) -> dict[tuple[str, str], str]:
    """The text of every file with a syntax that is read, at HEAD of all repositories, as git has it."""
    texts = {}
    for repository in Catalog.open(folder).repositories:
        git = ["git", "--git-dir", repository.git_dir]
        names = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout
        for entry in names.split(b"\0")[:-1]:
            attributes, name = entry.split(b"\t", 1)
            _, kind, blob = attributes.decode().split()
            if kind == "blob" and language_of(name.decode(errors="replace")) in LANGUAGES:
                data = subprocess.run([*git, "cat-file", "blob", blob], capture_output=True, check=True).stdout
                if b"\0" not in data:
                    texts[repository.name, name.decode(errors="replace")] = data.decode("utf-8", "replace")
    return texts


@pytest.fixture(scope="module")
def texts(fleet: Path) -> dict[tuple[str, str], str]:
    return sources(fleet)


def drawn_pattern(draw: random.Random, text: str, language: str) -> str:
    """A piece of a file with some of its parts instead of which anything may stand."""
    nodes = [ast_grep.SgRoot(text, LANGUAGES[language]).root()]
    for node in nodes:
        nodes += node.children()
    nodes = [node for node in nodes[1:] if node.is_named() and 3 <= len(node.text()) <= 200]
    node = draw.choice(nodes)
    base: int = node.range().start.index
    code: str = node.text()
    inner = [child for child in node.children() if child.is_named()]
    for child in list(inner):
        inner += [grandchild for grandchild in child.children() if grandchild.is_named()]
    gaps: list[tuple[int, int]] = []
    for child in draw.sample(inner, min(len(inner), draw.randint(0, 3))):
        start, end = child.range().start.index - base, child.range().end.index - base
        if all(end <= a or b <= start for a, b in gaps):
            gaps.append((start, end))
    for number, (start, end) in enumerate(sorted(gaps, reverse=True)):
        code = f"{code[:start]}{draw.choice(['$X', '$_', '$$$'])}{number if code else ''}{code[end:]}"
    return code.replace("$_0", "$_").replace("$$$0", "$$$").replace("$$$1", "$$$A").replace("$$$2", "$$$B")


def query_of(pattern: str, *filters: str) -> str:
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return " ".join(["patternType:ast-grep", *filters, f'content:"{quoted}"', "count:all", "fork:yes", "archived:yes"])


@pytest.mark.parametrize("seed", range(6))
def test_no_match_is_lost_and_none_is_made_up(
    embedded: sl.Client, texts: dict[tuple[str, str], str], seed: int
) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases, no secrets
    files = [(location, text, language_of(location[1])) for location, text in texts.items()]
    files = [(location, text, language) for location, text, language in files if language in LANGUAGES and text.strip()]
    compared = 0
    for location, text, language in draw.sample(files, 6):
        pattern = drawn_pattern(draw, text, language)
        try:
            expected = {
                match
                for (repository, path), other, file_language in files
                if file_language == language
                for match in naive(repository, path, other, pattern, language)
            }
        except RuntimeError:  # ast-grep says that it is no pattern
            with pytest.raises(QueryError, match="a pattern of code"):
                embedded.search(query_of(pattern, f"lang:{language}"), progress=False)
            continue
        result = embedded.search(query_of(pattern, f'lang:"{language}"'), progress=False)
        assert matches_of(result.matches) == expected, (location, pattern)
        in_part = shared_pool().read(pattern, [language])[language].has_errors
        assert result.status == ("limited" if in_part else "complete")
        assert result.match_count == len(expected)
        compared += 1
    assert compared


@pytest.mark.parametrize(
    "pattern",
    ["$F($A)", "$A = $B", "return $X", "$A.$B($$$)", "if ($A) { $$$ }", "def $F($$$): $$$", "func $F($$$) { $$$ }"],
)
def test_without_a_language_each_file_is_read_in_its_own(
    embedded: sl.Client, texts: dict[tuple[str, str], str], pattern: str
) -> None:
    readings = shared_pool().read(pattern, list(LANGUAGES))
    usable = {name for name, entry in readings.items() if not entry.problem and not entry.has_errors}
    expected = {
        match
        for (repository, path), text in texts.items()
        if (language := language_of(path)) in usable
        for match in naive(repository, path, text, pattern, language)
    }
    result = embedded.search(query_of(pattern), progress=False)
    assert matches_of(result.matches) == expected
    assert result.status == "complete"
    left_out = [item for item in result.skipped.to_dict("records") if item["reason"] == "structure-language"]
    assert bool(left_out) == (len(usable) < len(LANGUAGES))


@pytest.mark.parametrize(
    ("pattern", "language", "expected"),
    [
        ("try { $$$ } catch ($E) { $$$ }", "JavaScript", {b"try", b"catch"}),
        ("lambda $A: $B", "Python", {b"lambda"}),
        ("$A not in $B", "Python", {b"not", b"in"}),
        ("foreach ($A as $B) { $$$ }", "PHP", set()),
        ("$F($A, $B)", "Python", set()),
    ],
)
def test_keywords_choose_files_where_case_matters(pattern: str, language: str, expected: set[bytes]) -> None:
    assert set(shared_pool().read(pattern, [language])[language].texts) == expected


def test_keywords_are_found_in_any_case_and_spacing(tmp_path: Path) -> None:
    make_repo(tmp_path / "one", {"a.php": "<?php\nFOREACH ($a AS $b) { x(); }\n", "b.py": "a not   \\\n in b\n"})
    with sl.open(tmp_path) as client:
        for pattern, path in (("foreach ($A as $B) { $$$ }", "a.php"), ("$A not in $B", "b.py")):
            rows = client.search(query_of(pattern), progress=False).matches
            assert set(rows["path"]) == {path}


def test_every_language_with_definitions_has_structures() -> None:
    assert list(LANGUAGES) == list(DEFINED_LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_metavariables_are_parsed_as_ast_grep_parses_them(language: str) -> None:
    """ast-grep quotes what it has made of a pattern where that is more than one piece of code."""
    pattern = "a; $A; b" if language in {"Kotlin", "Python"} else "$A $B; $C ) ("
    read = re.escape(pattern.replace("$", expando_of(language)))
    with pytest.raises(RuntimeError, match=rf"pattern source `{read}`"):
        ast_grep.SgRoot("", LANGUAGES[language]).root().find(pattern=pattern)


CALLS = {
    "main.go": """package main

import "net/http"

type T struct{ rw http.ResponseWriter }

func (t *T) serve(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(404)
	t.rw.WriteHeader(code(r))
	defer w.WriteHeader(http.StatusOK)
	http.NotFound(w, r)
	// w.WriteHeader(1)
	if r == nil {
		panic("no request")
	}
	panic(errors.New("x"))
	b := []byte(r.Host)
	f := http.HandlerFunc(serve)
}
""",
    "main.c": "void g(char *p) {\n  free(p);\n  if (malloc(3)) free(g(p));\n  // free(p)\n}\n",
    "main.cpp": "int g(T p) {\n  auto q = std::move(p);\n  return h(std::move(q));\n}\n",
    "A.java": "class A {\n  int g() {\n    log(1);\n    return log(log(2));\n  }\n}\n",
    "main.rs": "fn g() {\n    drop(a);\n    let b = drop(c);\n}\n",
}
"""Code by its file, in languages that read a call alone otherwise than in a function."""


@pytest.mark.parametrize(
    ("language", "path", "pattern", "context", "selector", "count"),
    [
        ("go", "main.go", "$W.WriteHeader($C)", "func _() { $W.WriteHeader($C) }", "call_expression", 3),
        ("go", "main.go", "http.NotFound($$$)", "func _() { http.NotFound($$$) }", "call_expression", 1),
        ("go", "main.go", "panic($X)", "func _() { panic($X) }", "call_expression", 2),
        ("go", "main.go", 'errors.New("x")', 'func _() { errors.New("x") }', "call_expression", 1),
        ("go", "main.go", "http.StatusOK", "func _() { http.StatusOK }", "selector_expression", 1),
        ("go", "main.go", "[]byte($X)", "func _() { []byte($X) }", "type_conversion_expression", 1),
        ("c", "main.c", "free($X)", "void _() { free($X); }", "call_expression", 2),
        ("c", "main.c", "free($X);", "void _() { free($X); }", "expression_statement", 2),
        ("c", "main.c", "malloc($$$)", "void _() { malloc($$$); }", "call_expression", 1),
        ("c++", "main.cpp", "std::move($X)", "void _() { std::move($X); }", "call_expression", 2),
        ("java", "A.java", "log($X)", "class A { void a() { log($X); } }", "method_invocation", 3),
        ("rust", "main.rs", "drop($X)", "fn a() { drop($X); }", "call_expression", 2),
    ],
)
def test_a_call_alone_is_read_as_in_a_function(
    tmp_path: Path, language: str, path: str, pattern: str, context: str, selector: str, count: int
) -> None:
    make_repo(tmp_path / "one", CALLS)
    root = ast_grep.SgRoot(CALLS[path], LANGUAGES[language_of(path)]).root()
    nodes = root.find_all({"rule": {"pattern": {"context": context, "selector": selector}}})
    expected = {
        (
            "one",
            path,
            node.range().start.line,
            node.range().start.column,
            node.range().end.line,
            node.range().end.column,
        )
        for node in nodes
    }
    assert len(expected) == count
    with sl.open(tmp_path) as client:
        result = client.search(query_of(pattern, f"lang:{language}"), progress=False)
        assert matches_of(result.matches) == expected
        assert (result.status, list(result.skipped["reason"])) == ("complete", [])


@pytest.mark.parametrize(
    ("language", "pattern"), [("go", "import $X"), ("go", "case $X:"), ("go", "w.WriteHeader($X"), ("c", "$A * $B")]
)
def test_a_pattern_that_is_read_in_part_is_not_complete(tmp_path: Path, language: str, pattern: str) -> None:
    make_repo(tmp_path / "one", CALLS)
    with sl.open(tmp_path) as client:
        result = client.search(query_of(pattern, f"lang:{language}"), progress=False)
        assert (result.status, list(result.skipped["reason"])) == ("limited", ["structure-in-part"])
        assert "parses only a part of the pattern" in result.skipped["title"].iloc[0]


FILES = {
    "a.py": "def f(x):\n    wraps(x, 'é', wraps(1))\n    return wraps(\n        wraps(x),\n        2)\n",
    "b.js": "wraps(1); none(2)\n",
    "b.ts": "wraps(1); none(2)\n",
    "same.txt": "wraps(1); none(2)\n",
    "lib/deep.py": "# wraps(3)\ntext = 'wraps(4)'\n",
    "latin.py": "caf = wraps('\udcff\udcfe', 5)\n",
    "crlf.py": "wraps(6,\r\n  7)\r\n",
    "head.h": "int wraps(int);\nint x = wraps(1);\n",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    folder = tmp_path_factory.mktemp("small")
    files = {name: text.encode("utf-8", "surrogateescape") for name, text in FILES.items()}
    make_repo(folder / "one", files)
    with sl.open(folder) as client:
        yield client


def locations(client: sl.Client, query: str) -> list[tuple[str, int]]:
    frame = client.search(f"patternType:ast-grep {query}", progress=False).matches
    return [(row["path"], row["line_number"]) for row in frame.to_dict("records")]


def test_matches_in_matches_keep_their_places(small: sl.Client) -> None:
    frame = small.search("patternType:ast-grep file:a.py wraps($$$A)", progress=False).matches
    rows = frame[["line_number", "start", "end", "match_count"]].to_dict("records")
    assert [(r["line_number"], list(r["start"]), list(r["end"]), r["match_count"]) for r in rows] == [
        (2, [4, 18], [27, 26], 2),
        (3, [11], [18], 1),
        (4, [0, 8], [18, 16], 1),
        (5, [0], [10], 0),
    ]


def test_bytes_that_are_no_text_move_no_place(small: sl.Client) -> None:
    row = small.search("patternType:ast-grep file:latin wraps($A, $B)", progress=False).matches.iloc[0]
    assert row["line"][row["start"][0] : row["end"][0]].startswith("wraps(")
    assert row["end"][0] == len(row["line"])


def test_comments_and_strings_are_no_code(small: sl.Client) -> None:
    assert locations(small, "file:deep wraps($A)") == []


def test_files_of_one_content_have_each_their_language(small: sl.Client) -> None:
    assert locations(small, "file:^(b|same) wraps($A)") == [("b.js", 1), ("b.ts", 1)]
    assert locations(small, "lang:typescript wraps($A)") == [("b.ts", 1)]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("wraps($A) AND none($B)", {"b.js", "b.ts"}),
        ("file:py$ wraps($A) AND NOT wraps($A, $B)", set()),
        ("file:^b wraps($A) OR none($B)", {"b.js", "b.ts"}),
        ("file:py$ NOT wraps($$$)", {"lib/deep.py"}),
        ("-lang:typescript none($B)", {"b.js"}),
        ("(lang:typescript none($B)) OR (lang:javascript wraps(1))", {"b.js", "b.ts"}),
        ("lang:python select:file wraps($$$)", {"a.py", "latin.py", "crlf.py"}),
    ],
)
def test_operators_and_filters_hold_for_files(small: sl.Client, query: str, paths: set[str]) -> None:
    assert {path for path, _ in locations(small, query)} == paths


def test_a_limit_is_told_as_everywhere(small: sl.Client) -> None:
    result = small.search("patternType:ast-grep count:2 wraps($$$)", progress=False)
    assert (result.match_count, result.status) == (2, "partial")


def test_a_pattern_can_be_asked_for_beside_the_query(small: sl.Client) -> None:
    frame = small.search("file:crlf wraps($A, $B)", pattern_type="ast-grep", progress=False).matches
    assert frame["line_number"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("lang:python a b c", "isn't a pattern of code in Python: Multiple AST nodes are detected"),
        ("lang:python $$$", r"Standalone multi meta variable `\$\$\$` is invalid"),
        ("lang:c $$$ARGS", r"Standalone multi meta variable `\$\$\$ARGS` is invalid"),
        ("lang:markdown $A", "structural search doesn't support Markdown"),
        ("type:symbol f($A)", "a pattern of code matches none"),
        ("lang:python " + "(" * 101 + "a" + ")" * 101, "100 brackets"),
        ("lang:python " + "a" * 5_001, "at most 5,000 characters"),
    ],
)
def test_what_is_no_pattern_is_a_fault_of_the_query(small: sl.Client, query: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        small.search(f"patternType:ast-grep {query}", progress=False)


def test_a_missing_package_is_one_sentence(small: sl.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcelight.engines.structure.pattern.importlib.util.find_spec", lambda _: None)
    with pytest.raises(UnsupportedQuery, match=r"install sourcelight with the extra `structural`"):
        small.search("patternType:ast-grep not_cached($A)", progress=False)


def test_a_text_of_thirty_thousand_levels_costs_nothing_else() -> None:
    deep = b"x = " + b"(" * 30_000 + b"f(1)" + b")" * 30_000 + b"\n"
    brackets = b"[" * 30_000
    texts = [SourceText("Python", item) for item in (b"f(1)\n", deep, brackets, b"f(2)\n")]
    result = shared_pool().find("f($A)", texts)
    assert [len(item.starts) for item in (result[0], result[3])] == [1, 1]
    assert len(result[1].starts) == 1 or result[1].problem in {"failed", "timed-out"}
    assert [item.problem for item in (result[0], result[3])] == ["", ""]


def test_a_text_that_takes_too_long_is_told_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repo(tmp_path / "one", {"slow.py": "f(1)\n", "other.py": "g(1)\n"})
    monkeypatch.setattr("sourcelight.engines.structure.pool.MAX_TEXT_S", -1.0)
    pool = StructurePool(1)
    assert pool.find("f($A)", [SourceText("Python", b"f(1)\n")])[0].problem == "timed-out"
    monkeypatch.undo()
    assert pool.find("f($A)", [SourceText("Python", b"f(1)\n")])[0].problem == "timed-out"
    assert len(pool.find("f($A)", [SourceText("Python", b"f(2)\n")])[0].starts) == 1
    pool.close()
    monkeypatch.setattr("sourcelight.engines.search.scan.structures.shared_pool", lambda: pool)
    with sl.open(tmp_path) as client:
        result = client.search("patternType:ast-grep f($A)", progress=False)
        assert result.status == "limited"
        assert "structure-unread" in set(result.skipped["reason"])
