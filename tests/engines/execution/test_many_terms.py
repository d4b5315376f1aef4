"""Alternatives of many literals are looked for together, and find what they find one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.engines.execution.plan import MANY_TERMS
from sourcelight.testing import make_repo

TERMS = [
    *("ab", "abc", "bcd", "K", "straße", "a.b", "(x", "x)", "[", "\\d", "^", "$HOME", "a|b", "50%", "#if", "naïve"),
    *("é", "zz top", "e\u0301", "{2}", "term1", "term10", "*", "?", "\u017f", "--", "/path", "'", "~", "&amp;"),
]
LINES = [
    *("abcd", "xabcx", "a kelvin \u212a", "STRASSE straße", "a.b axb", "f(x) [", r"\d+ ^ $HOME", "a|b a b", "50% #if"),
    *("naïve é e\u0301", "zz  top", "zz top", "a{2}", "term100 term1", "*?*", "la\u017ft S", "--/path~'&amp;", "O, U"),
]
TEXT = "\n".join([*LINES, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terms")
    make_repo(folder / "src", {"a.txt": TEXT, "term1.txt": "by name\n", "b c.txt": "zz top\n"})
    return folder / "src"


def _rows(code: sl.Client, terms: list[str], filters: str) -> set[tuple[str, str, int]]:
    query = " or ".join('"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"' for term in terms)
    table = code.search(f"({query}) {filters} count:all", pattern_type="keyword", progress=False).arrow
    columns = (table[name].to_pylist() for name in ("type", "path", "line_number"))
    return {(kind, path, line or 0) for kind, path, line in zip(*columns, strict=True)}


@pytest.mark.parametrize("filters", ["", "case:yes", "type:path", "file:a", "NOT U"])
def test_many_terms_find_what_each_finds(code: sl.Client, filters: str) -> None:
    assert len(TERMS) > MANY_TERMS
    few = [_rows(code, TERMS[index : index + 1], filters) for index in range(len(TERMS))]
    content = {row for rows in few for row in rows if row[0] == "content"}
    # A file whose text matches too is no match by name alone.
    result = _rows(code, TERMS, filters)
    assert {row for row in result if row[0] == "content"} == content
    assert {row[1] for row in result} == {row[1] for rows in few for row in rows}


def test_the_longest_of_those_that_begin_at_one_place_is_marked(code: sl.Client) -> None:
    query = " or ".join(["term1", "term10", *(f"other{number}" for number in range(MANY_TERMS))])
    table = code.search(f"{query} type:file", progress=False).arrow
    line = next(row for row in table.to_pylist() if row["line"] == "term100 term1")
    assert list(zip(line["start"], line["end"], strict=True)) == [(0, 6), (8, 13)]


def test_terms_that_are_too_many_for_one_are_cut_in_halves(code: sl.Client) -> None:
    """A hundred thousand characters of letters that fold to several others."""
    words = ["abcd", *("ksksk\u017f\u212a" * 4 + f"{number:06}" * 3 for number in range(2_000))]
    assert {row[1] for row in _rows(code, words, "")} == {"a.txt"}
