"""Conditions of a question: a first sentence applies them and says so, or says nothing as a fact."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.prose_values.question import read_value_question
from sourcelight.engines.deepsearch.question.events import read_bare_subject
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.deepsearch.question.marks import MarkedText
from sourcelight.engines.deepsearch.question.periods import take_period
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)


def day(year: int) -> int:
    """Return the first of March of a year, in seconds since 1970."""
    return int(datetime(year, 3, 1, tzinfo=UTC).timestamp())


ADA, GRACE, LIN = "Ada <ada@example.org>", "Grace <grace@example.org>", "Lin <lin@example.org>"


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with commits of three years: one adds names, one moves a line, one drops a file."""
    folder = tmp_path_factory.mktemp("mill")
    repo = RepositoryBuilder(folder / "mill")
    code = "MAX_WHEELS = 4\n\n\nclass Wheel:\n    def turn_once(self):\n        pass\n"
    repo.commit({"mill.py": code, "old.py": "GONE = 1\n"}, "Start", author=ADA, date=day(2019))
    repo.commit(
        {"mill.py": f"{code}\n\ndef grind_corn():\n    Wheel().turn_once()\n"},
        "Grind",
        author=GRACE,
        date=day(2020),
    )
    repo.commit(
        {"tests/test_mill.py": "def test_turn():\n    Wheel().turn_once()\n", "old.py": None},
        "Test turns and drop the old",
        author=LIN,
        date=day(2021),
    )
    return open_engine([repo.path], index=folder / "index", workers=1)


def first_sentence(engine: LocalEngine, question: str) -> str:
    return research(engine, question).text.split("\n\n")[0]


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Who added turn_once?", "A line with `turn_once` was first added by Ada"),
        (
            "Who added turn_once in 2020?",
            "Among commits from 2020-01-01 to 2020-12-31, a line with `turn_once` was first added by Grace",
        ),
        ("Who added turn_once in 2022?", "No commit from 2022-01-01 to 2022-12-31 added a line with `turn_once`"),
        ("Who added turn_once to the tests?", "A line with `turn_once` in `tests/` was first added by Lin"),
        ("Who last changed mill.py before 2020?", "Among commits before 2020-01-01, `mill.py` was last changed by Ada"),
        (
            "Who added mill.py in 2020?",
            "Among commits from 2020-01-01 to 2020-12-31, `mill.py` was first changed by Grace",
        ),
        ("Who changed mill.py before 2019?", "No author has commits that change `mill.py` before 2019-01-01"),
    ],
)
def test_a_period_is_part_of_the_sentence(mill: LocalEngine, question: str, beginning: str) -> None:
    assert first_sentence(mill, question).startswith(beginning)


def test_two_names_have_two_events(mill: LocalEngine) -> None:
    """The first line with either of two names says nothing of the other one."""
    sentence = first_sentence(mill, "Who added turn_once and grind_corn?")
    assert "A line with `turn_once` was first added by Ada" in sentence
    assert "a line with `grind_corn` was first added by Grace" in sentence


def test_what_is_still_there_was_not_removed(mill: LocalEngine) -> None:
    assert "it still exists in the searched commit" in first_sentence(mill, "Who deleted mill.py?")
    assert "still" not in first_sentence(mill, "Who deleted old.py?")


def test_a_plain_word_is_a_name_if_the_code_defines_it(mill: LocalEngine) -> None:
    assert first_sentence(mill, "When was Wheel introduced?").startswith("A line with `Wheel` was first added by Ada")
    assert "first added" not in first_sentence(mill, "When was Flour introduced?")


def test_a_misspelled_name_of_an_event_is_corrected(mill: LocalEngine) -> None:
    assert "nearest spelling there is `turn_once`" in research(mill, "Who added trun_once?").text


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Who added the class Command?", "Command"),
        ("When was the skip function removed?", "skip"),
        ("Who wrote Usage and when?", "Usage"),
        ("Who added support for logging?", ""),
        ("Who changed it?", ""),
        ("What calls skip?", ""),
    ],
)
def test_the_only_word_of_a_question_for_an_event_is_its_subject(question: str, word: str) -> None:
    assert read_bare_subject(question) == word


def test_callers_in_tests_are_not_all_callers() -> None:
    for question in ("which tests call turn_once", "which specs call turn_once", "which users call turn_once"):
        lookup = read_lookup(question)
        assert lookup is None or lookup.kind != "callers"
    lookup = read_lookup("which functions call turn_once")
    assert lookup is not None
    assert lookup.kind == "callers"


@pytest.mark.parametrize(
    "question",
    [
        "What is MAX_WHEELS on Windows?",
        "What is MAX_WHEELS in the tests?",
        "What was MAX_WHEELS in 2015?",
        "What was MAX_WHEELS before?",
        "What is MAX_WHEELS not?",
        "How many classes without tests are there?",
    ],
)
def test_a_condition_that_nothing_applies_leaves_no_fact(mill: LocalEngine, question: str) -> None:
    sentence = first_sentence(mill, question)
    assert "set to" not in sentence
    assert "**" not in sentence


def test_a_value_of_another_time_is_not_asked_of_the_code() -> None:
    assert read_value_question("What is MAX_WHEELS?") is not None
    for question in ("What was MAX_WHEELS in 2015?", "What was MAX_WHEELS in v1.2?", "What did MAX_WHEELS use to be?"):
        assert read_value_question(question) is None


@pytest.mark.parametrize(
    ("phrase", "period"),
    [
        ("since last year", "since 2023-01-01"),
        ("in last year", "from 2023-01-01 to 2023-12-31"),
        ("before this year", "before 2024-01-01"),
        ("after last month", "since 2024-05-01"),
    ],
)
def test_a_preposition_opens_a_calendar_period(phrase: str, period: str) -> None:
    now = datetime(2024, 5, 15, 12, tzinfo=UTC)
    assert take_period(MarkedText.from_text(f"what changed {phrase}"), now).text == period


def test_files_that_change_together_in_a_period_are_not_those_that_changed(mill: LocalEngine) -> None:
    assert "**" not in first_sentence(mill, "Which files changed together in 2020?")


def test_a_name_with_digits_among_its_capitals_is_a_name(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "log")
    repo.commit({"A.java": "class SLF4JSystemLoggerFinder {}\nclass JDK14LoggerAdapter {}\n"}, "Start", author=ADA)
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for name in ("SLF4JSystemLoggerFinder", "JDK14LoggerAdapter"):
        assert f"A line with `{name}` was first added by Ada" in first_sentence(engine, f"Who added {name} and when?")
