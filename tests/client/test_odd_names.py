"""Names that patterns stumble over: newlines in paths, and ``@`` inside expressions."""

from __future__ import annotations

from pathlib import Path

import pytest
import re2

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

PATHS = ("plain.txt", "a b/n\newline.txt", "\nfirst.txt", "last.txt\n", "two\n\nlines", "tab\there", "dot\n.txt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repositories, so that they are searched as one; the second one has no such names."""
    folder = tmp_path_factory.mktemp("names")
    builder = RepositoryBuilder(folder / "src" / "odd")
    for path in PATHS:
        builder.commit({path: "foo@bar\n"})
    RepositoryBuilder(folder / "src" / "even").commit({"newline.txt": "foo@bar a@b\n"})
    return folder / "src"


EXPRESSIONS = (
    r"\n",
    r"n.ewline",
    r"n\sewline",
    r"^first",
    r"^\nfirst",
    r"txt$",
    r"t\n$",
    r"\s\s",
    r"[^a]\.txt",
    "line",
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_path_with_a_newline_is_matched_as_it_is(code: sl.Client, expression: str) -> None:
    pattern = re2.compile(f"(?i){expression}")
    truth = sorted(path for path in (*PATHS, "newline.txt") if pattern.search(path))
    by_pattern = code.search(f"patternType:regexp type:path count:all /{expression}/", progress=False)
    assert sorted(by_pattern.matches["path"]) == truth
    by_filter = code.search(f"type:path count:all file:{expression}", progress=False)
    assert sorted(by_filter.matches["path"]) == truth
    without = code.search(f"type:path count:all -file:{expression}", progress=False)
    assert sorted([*without.matches["path"], *truth]) == sorted([*PATHS, "newline.txt"])
    assert by_pattern.status == by_filter.status == without.status == "complete"


def test_marks_in_such_a_path_stand_where_the_match_is(code: sl.Client) -> None:
    (row,) = code.search(r"patternType:regexp type:path count:all /n\newline/", progress=False).matches.to_dict(
        "records"
    )
    assert (row["path"], list(row["name_start"]), list(row["name_end"])) == ("a b/n\newline.txt", [4], [12])


AT_SIGNS = ("(foo@bar)", "[a-z@]+r", "(a@)?b", "f[^@]+@", "@bar", r"\w+@\w+", "a{1,2}(@|!)b")


@pytest.mark.parametrize("expression", AT_SIGNS)
def test_an_expression_with_an_at_sign_finds_contents(code: sl.Client, expression: str) -> None:
    result = code.search(f"patternType:regexp count:all /{expression}/", progress=False)
    texts = {("odd", path): "foo@bar" for path in PATHS} | {("even", "newline.txt"): "foo@bar a@b"}
    truth = {location for location, text in texts.items() if re2.search(expression, text)}
    lines = result.matches[result.matches["type"] == "content"]
    assert result.status == "complete"
    assert set(zip(lines["repository"], lines["path"], strict=True)) == truth
