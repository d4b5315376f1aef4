"""Questions for an option that no line has as it is written, although other lines have its words."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.absence.words import without_modifiers
from sourcelight.engines.deepsearch.question.lookups.existence_wording import absent_option, absent_subjects
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

FILES = {
    "press.py": (
        "import argparse\n\n\ndef main():\n    parser = argparse.ArgumentParser()\n"
        '    parser.add_argument("--worker-class")\n    parser.add_argument("--jobs-count")\n'
        "    # The workers stop with the press.\n    if parser.parse_args().quiet:\n        return\n"
    ),
    "cli.go": 'package cli\n\nfunc flags() {\n\tBoolVar(&shout, "shout", false, "")\n}\n',
    "args.rs": "struct Args {\n    dry_run: bool,\n}\n",
    "press.pl": "GetOptions('tidy!' => \\$tidy);\n",
    "opts.rb": 'opts.on("--[no-]fade") { }\noption :steep\n',
    "press.1": ".TH PRESS 1\n.B \\-\\-ink\\-level\nSets it.\n",
    "press.sh": "case $1 in\n  fold) fold ;;\nesac\n",
    "pyproject.toml": "[tool.mypy]\nstrict = true\n",
    "data.txt": f"{'x' * 3000} glaze\n",
    "README.md": "# Press\n\nIt presses several jobs. A protocol of pressing is written.\n",
}


@pytest.fixture(scope="module")
def press(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with options in several languages."""
    folder = tmp_path_factory.mktemp("press")
    repo = RepositoryBuilder(folder / "press")
    repo.commit(FILES, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "Is there a --workers option?",
            "No searched line has `--workers`; `workers` stands without dashes, such as in line 8 of `press.py`",
        ),
        ("does press take --jobs?", "No searched line has `--jobs`; `jobs` stands without dashes, such as in line 3"),
        ("how do I set --tocol", "No searched line has `--tocol`, nor `tocol` as a word of its own"),
        (
            "Is there a --strict flag?",
            "No searched line has `--strict`; `strict` stands without dashes, such as in line 2 of `pyproject.toml`",
        ),
        ("Can it run in parallel, e.g. with --lanes", "No searched line has `--lanes`, nor `lanes` as a word"),
    ],
)
def test_an_option_that_no_line_has_is_said_to_be_absent(press: LocalEngine, question: str, sentence: str) -> None:
    text = research(press, question).text
    assert text.startswith(sentence)
    assert ("The nearest option there is `--worker-class`" in text) == ("--workers" in question)


@pytest.mark.parametrize(
    "option",
    [
        "worker-class",  # as it is written
        "shout",  # a text
        "dry-run",  # a field
        "tidy",  # a text with a sign of Getopt
        "no-fade",  # a form that may be negated
        "fade",
        "steep",  # a symbol
        "ink-level",  # with the backslashes of a manual
        "quiet",  # a member of the arguments
        "fold",  # a case of a shell
        "glaze",  # a line that is too long to be read
    ],
)
def test_an_option_that_a_line_may_declare_is_not_denied(press: LocalEngine, option: str) -> None:
    assert "No searched" not in research(press, f"Is there a --{option} option?").text.split("\n")[0]


def test_an_option_of_an_event_is_left_to_the_history() -> None:
    assert absent_option("Is there a --jobs flag") == "jobs"
    assert absent_option("Is there `--jobs`?") == "jobs"
    assert absent_option("When was --jobs removed?") == ""
    assert absent_option("How many lines have --jobs?") == ""
    assert absent_option("Is there --jobs or --lanes?") == ""
    assert absent_option("Is a -- b or a--b there?") == ""


def test_a_repository_is_the_subject_of_a_question() -> None:
    """The name of a repository is taken out of a question before it is read."""
    assert absent_subjects("does \u00b7 have a statsd exporter?", frozenset()) == ("statsd",)
    assert absent_subjects("is there a statsd exporter \u00b7 in ?", frozenset()) == ("statsd",)
    assert absent_subjects("Is there an option readHeaders?", frozenset()) == ("readHeaders",)


def test_a_word_of_many_things_is_not_announced() -> None:
    words = ["flyspell", "integration"]
    assert without_modifiers(["integration"], words, "Is there flyspell integration?") == ()
