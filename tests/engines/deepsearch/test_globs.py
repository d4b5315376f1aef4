"""Globs in questions count what git counts, and a directory that is called as a language is a directory."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("globs")
    repo = RepositoryBuilder(folder / "loom")
    names = [
        "R/hooks-a.R", "R/hooks-b.R", "R/plot.R", "R/deep/hooks-c.R", "man/plot.Rd", "tests/testit/test-a.R",
        "tests/testit/test-b.R", "tests/testit/latest-c.R", "tests/other/test-d.R", "hooks-top.R", "docs/a.md",
        "loom.toml", "R/loom.toml", "R/deep/loom.toml",
    ]  # fmt: skip
    repo.commit({name: f"# {name}\n" for name in names}, "Add them")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many test-*.R files are in tests/testit?", 2),
        ("How many files named test-*.R are in tests/testit?", 2),
        ("How many files match tests/testit/test-*.R?", 2),
        ("How many files called test-*.R are there?", 3),
        ("How many hooks-*.R files are in R/?", 3),
        ("How many files named hooks-*.R are in R?", 3),
        ("How many files match R/hooks-*.R?", 2),
        ("How many files match R/**/hooks-*.R?", 3),
        ("How many *.R files are in R?", 4),
        ("How many files are in R?", 6),
        # A name that stands at the top, too, is no path in a count of files.
        ("How many loom.toml files are there?", 3),
        ("How many files are named loom.toml?", 3),
        ("How many R/loom.toml files are there?", 1),
        ("How many *.R files are there?", 9),
    ],
)
def test_a_glob_counts_what_it_means(engine: LocalEngine, question: str, count: int) -> None:
    text = research(engine, question).text
    assert text.startswith(f"**{count}** "), text


@pytest.mark.parametrize("question", ["How many zzz-*.R files are there?", "How many files named zzz-*.R are in R?"])
def test_a_glob_without_a_file_is_not_zero_of_a_name(engine: LocalEngine, question: str) -> None:
    assert not research(engine, question).text.startswith("**0**")


def test_a_long_glob_is_read_at_once(engine: LocalEngine) -> None:
    for word in ("a*" * 150, "*" * 250, "a/" * 120 + "*", "named " * 40 + "*"):
        assert research(engine, f"How many {word} files are there?").text
