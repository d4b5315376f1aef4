"""The first questions about a repository are answered from its documents, files and commits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups.project import as_count_question, read_project_question
from sourcelight.engines.deepsearch.source.documents import first_paragraph, sections_of, without_markup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

README = """<p align="center"><img src="logo.png"></p>

# Loom

[![build](https://ci/badge.svg)](https://ci) ![version](v.svg)

<!-- a comment -->

[Website](https://loom) | [Chat](https://chat)

Loom is a **small** [weaver] of [patterns](https://w).
It reads `pattern.yaml`.

## Installation

```sh
pip install loom
```

## Usage

Call `weave` with a pattern.

## Running the tests

Run `pytest` in the top directory.

## Documentation

- [Manual](docs/manual.md)

## License

MIT
"""
RST = """Loom
====

.. image:: logo.png
   :alt: logo, which is no prose at all, even if it is long

:Author: Ann

Loom weaves patterns for people who like them.

Install
-------

Type ``pip install loom`` in a shell.

Not a heading
--
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    builder = RepositoryBuilder(tmp_path_factory.mktemp("src") / "loom")
    builder.commit({"README.md": README}, "begin", author="Ann <ann@example.org>", date=1_612_346_400)
    builder.tag("v0.9")
    builder.commit(
        {
            "CONTRIBUTING.md": "# How to help\n\nOpen a pull request with one change.\n",
            "SECURITY.md": "Write to security@example.org about vulnerabilities, please.\n",
            "loom/__init__.py": "",
            "loom/weave.py": "def weave(pattern):\n    return pattern\n",
            "loom/README.md": "The package that weaves everything.\n",
            "tests/test_weave.py": "def test_weave(): ...\n",
            "docs/manual.md": "# Manual\n\nEverything about looms is here.\n",
            ".github/workflows/build.yml": "name: build\n",
        },
        "grow",
        author="Bob <bob@example.org>",
        date=1_643_882_400,
    )
    builder.tag("v1.0")
    builder.commit(
        {"loom/weave.py": "def weave(pattern):\n    return [pattern]\n"},
        "Return a list",
        author="Bob <bob@example.org>",
        date=1_646_301_600,
    )
    for number in range(4):
        builder.commit(
            {"loom/version": str(number)},
            f"Bump {number}",
            author="dependabot[bot] <bot@example.org>",
            date=1_646_388_000,
        )
    engine = open_engine([builder.path], index=tmp_path_factory.mktemp("index"))
    yield engine
    engine.close()


def lead(engine: LocalEngine, question: str) -> str:
    return research(engine, question).text.strip().split("\n\n")[0].split("\n")[0]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does this project do?", "`README.md` says: “Loom is a small weaver of patterns. It reads"),
        ("What is loom?", "`README.md` says: “Loom is a small weaver of patterns. It reads pattern.yaml.”"),
        ("Can you give me a short overview of this repo?", "`README.md` says: “Loom is a small weaver"),
        ("How do I install it?", "`README.md` has the command `pip install loom` below the heading “Installation”"),
        ("how to use loom", "`README.md` says under “Usage”: “Call weave with a pattern.”"),
        ("How do I run the tests?", "`README.md` has the command `pytest` below the heading “Running the tests”"),
        ("How can I contribute?", "`CONTRIBUTING.md` says: “Open a pull request with one change.”"),
        ("How do I report a vulnerability?", "`SECURITY.md` says: “Write to security@example.org"),
        ("Where is the documentation?", "`README.md` has the section “Documentation”"),
        ("How is the code organized?", "at the top with the most files are `loom/`, `docs/` and `tests/`"),
        ("Where are the tests?", "Most test files are in `tests/`"),
        ("Which CI does it use?", "`.github/workflows/build.yml` configures GitHub Actions"),
        ("What is the latest version?", "The newest tag is `v1.0`, of the commit by Bob on 2022-02-03"),
        ("When did this project start?", "The first commit is “begin” by Ann on 2021-02-03"),
        ("Is this project still active?", "The last commit is “Bump 3” by dependabot"),
        ("Who maintains it?", "Bob has the most commits: 2"),
        ("Who created it?", "The first commit is “begin” by Ann on 2021-02-03"),
        ("who wrote this?", "Bob has the most commits: 2"),
        ("Which languages is it written in?", "**3** languages have files: Markdown (5), Python (3) and YAML (1)"),
        ("Which files change most often?", "`loom/version` was changed by the most commits: 4"),
        ("What changed since 2022?", "**6** commits"),
    ],
)  # fmt: skip
def test_the_first_questions_have_answers(engine: LocalEngine, question: str, expected: str) -> None:
    assert expected in lead(engine, question)


def test_an_overview_has_the_newest_tag_and_commit(engine: LocalEngine) -> None:
    answer = research(engine, "What does this project do?").text
    below = answer[answer.index("## At a glance") :]
    assert "- The newest tag is `v1.0`, of the commit by Bob on 2022-02-03" in below
    assert "- The last commit is “Bump 3” by dependabot" in below


def test_who_asks_for_a_person(engine: LocalEngine) -> None:
    answer = research(engine, "Who has the most commits?").text
    assert answer.startswith("Apart from bots, Bob has the most commits: 2.")
    assert "dependabot\\[bot\\], a bot, has more: 4." in answer


def test_an_offset_of_days_is_no_time_zone(tmp_path: Path) -> None:
    """Commits of real repositories have such offsets, as clocks and tools once wrote them."""
    builder = RepositoryBuilder(tmp_path / "loom")
    builder.commit({"a.txt": "a\n"}, "begin")
    person = b"Ann <ann@example.org> 1300000000 +51800"
    header = b"tree %s\nauthor %s\ncommitter %s\n\nodd\n" % (
        builder.git("rev-parse", "HEAD^{tree}").encode(),
        person,
        person,
    )
    commit = builder.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=header)
    builder.git("update-ref", "HEAD", commit)
    engine = open_engine([builder.path], index=tmp_path / "index")
    assert "The first commit is “odd” by Ann on 2011-03-13" in research(engine, "When was the first commit?").text
    assert "The last commit is “odd” by Ann on 2011-03-13" in research(engine, "What changed recently?").text
    engine.close()


@pytest.mark.parametrize(
    "question",
    [
        "How do I install the plugins?", "What does weave do?", "What is a pattern?", "Where are the tests of weave?",
        "Who wrote weave?", "How is weave used?", "When was weave added?", "What is the version of yarn?",
    ],
)  # fmt: skip
def test_questions_about_a_part_are_left_alone(question: str) -> None:
    assert read_project_question(question, ["loom"]) == ""
    assert as_count_question("", question) == ""


def test_a_pronoun_after_another_answer_is_not_the_project() -> None:
    assert read_project_question("How do I use it?", ["loom"]) == "use"
    assert read_project_question("How do I use it?", ["loom"], is_follow_up=True) == ""
    assert read_project_question("How do I use loom?", ["loom"], is_follow_up=True) == "use"


def test_several_repositories_are_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("fleet")
    RepositoryBuilder(folder / "hub").commit({"README.md": "# Hub\n\nHub collects all patterns of people.\n"}, "a")
    RepositoryBuilder(folder / "rim").commit({"README.rst": RST}, "b")
    engine = open_engine([folder], index=tmp_path_factory.mktemp("index"))
    for question in ("What do these projects do?", "Give me an overview of the code"):
        answer = research(engine, question).text
        assert "`README.md` of `hub` says: “Hub collects all patterns of people.”" in answer
        assert "`README.rst` of `rim` says: “Loom weaves patterns for people who like them.”" in answer
    engine.close()


def test_a_readme_about_itself_and_documents_without_headings(tmp_path: Path) -> None:
    readme = "This README is just a start.\n\nWhat is Loom?\n---\n\nLoom weaves patterns of all kinds.\n"
    builder = RepositoryBuilder(tmp_path / "loom")
    builder.commit({"README.md": readme, "BUILD": "cc(name)\n", "INSTALL": "no heading\n", "CONTRIBUTING": ""}, "begin")
    engine = open_engine([builder.path], index=tmp_path / "index")
    assert lead(engine, "What does it do?").startswith("`README.md` says: “Loom weaves patterns of all kinds.”")
    for question in ("How do I build it?", "How do I install it?", "How do I run the tests?", "How do I contribute?"):
        assert "Internal error" not in research(engine, question).text
    engine.close()


def test_sections_of_restructured_text() -> None:
    lines = RST.splitlines()
    assert [(section.title, section.level, section.begin_line) for section in sections_of("README.rst", lines)] == [
        ("Loom", 1, 1), ("Install", 2, 11),
    ]  # fmt: skip
    paragraph = first_paragraph("README.rst", lines, 1, len(lines))
    assert paragraph is not None
    assert paragraph.text == "Loom weaves patterns for people who like them."


def test_headings_in_code_are_no_sections() -> None:
    lines = ["# A", "", "```", "# not a heading", "```", "", "Setext", "------", "> # quoted"]
    assert [section.title for section in sections_of("a.md", lines)] == ["A", "Setext"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60_000, "![" * 30_000, "<" * 60_000, "*" * 60_000, "`" * 60_000, "> " * 30_000, "- " * 30_000,
        "[a](" * 20_000, "# " + "[" * 50_000, "_a" * 30_000, "\n".join(["=" * 5] * 20_000), "a\n===\n" * 10_000,
        "[a]: " + "<" * 40_000, "\n".join(".. image:: a" for _ in range(10_000)), "|" * 60_000, ":a" * 30_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["README.md", "README.rst"])
def test_hostile_documents_take_little_time(path: str, text: str) -> None:
    started = time.process_time()
    lines = text.split("\n")
    sections_of(path, lines)
    first_paragraph(path, lines, 1, len(lines))
    without_markup(text)
    assert time.process_time() - started < 2


def test_hostile_questions_take_little_time() -> None:
    started = time.process_time()
    for text in ("please " * 40, "what is the latest " * 10, "· " * 300, "in @ " * 60, "how do i " * 40, "a" * 100_000):
        read_project_question(text, ["loom", "@", "the"])
        as_count_question("", text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("question", "count_question"),
    [
        ("What changed between v0.9 and v1.0?", "Which commits were made between v0.9 and v1.0?"),
        ("what changed in loom/Weave.py since v0.9", "Which commits changed loom/Weave.py since v0.9?"),
        ("What changed since 1.2.3?", "Which commits were made since 1.2.3?"),
        ("What changed last week?", "Which commits were made last week?"),
        ("What changed between us?", ""),
    ],
)
def test_changes_are_counted_by_revision(question: str, count_question: str) -> None:
    assert as_count_question(read_project_question(question, ["loom"]), question) == count_question


def test_one_thing_asked_twice_is_one_question() -> None:
    assert read_project_question("What is this and what does it do?", []) == "overview"
    assert read_project_question("How do I build and install it?", []) == ""


def test_a_changelog_is_shown_from_its_newest_version(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "loom")
    builder.commit(
        {"HISTORY.md": "# History\n\nAll changes are here.\n\n## 1.1 (2020)\n\nFaster looms than before.\n\n## 1.0\n"}
    )
    engine = open_engine([builder.path], index=tmp_path / "index")
    assert lead(engine, "Where is the changelog?").startswith("`HISTORY.md` says under “1.1 (2020)”: “Faster looms")
    assert lead(engine, "What is this?").startswith("No file at the top is called README.")
    engine.close()


def test_guides_for_users_say_nothing_about_the_project(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "loom")
    guide = "# Guide\n\nLoom helps you with the tests and the security of what you weave.\n"
    builder.commit(
        {"README.md": "# Loom\n\nLoom weaves patterns.\n", "docs/testing.md": guide, "docs/security.md": guide}
    )
    engine = open_engine([builder.path], index=tmp_path / "index")
    assert lead(engine, "How do I run the tests?").startswith("No title in `README.md` is about running its tests.")
    assert lead(engine, "What is the security policy?").startswith("No title in `README.md` is about security.")
    assert lead(engine, "How big is it?").startswith("**9** lines in 3 files")
    engine.close()
