"""Questions about one name in an order of words that no form has, and those that another word makes different."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_for, lead_of
from sourcelight.engines.deepsearch.question.lookups.word_order import order_words


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("RESOLUTION is set to what in src/clock.jl", "what is RESOLUTION set to in src/clock.jl"),
        ("What URL is VERSION_URL set to", "what is VERSION_URL set to"),
        ("use-kiln-version is which string at the moment", "what is use-kiln-version set to"),
        ("max_age in cors.ml is how many seconds", "what is max_age set to in cors.ml"),
        ("I'm looking for the definition of `fireTwice`", "where is `fireTwice` defined"),
        ("In which file is the Halt exception declared", "where is Halt defined"),
        ("Where in src/ is fire_twice called", "what calls fire_twice"),
        ("What's the default maxSize for KilnServer.new", "what is the default value of maxSize in KilnServer.new"),
        (
            "What same_site value does Cookie.make use when none is given",
            "what is the default value of same_site in Cookie.make",
        ),
    ],
)
def test_the_words_around_a_name_tell_the_form(question: str, form: str) -> None:
    assert order_words(question) == form


@pytest.mark.parametrize(
    "question",
    [
        "What does fire_twice use",
        "Why is MAX_AGE set to 5",
        "Which commit set MAX_AGE",
        "How many files import fire_twice",
        "Who calls fire_twice before burn_down",
        "What is MAX_AGE set to in tests",
        "Where is fire_twice not called",
        "Which version of kiln_core is used",
        "What does fire_twice return",
        "How many lines contain MAX_AGE",
        "How is max_age set",
    ],
)
def test_any_other_word_leaves_a_question_as_it_is(question: str) -> None:
    assert order_words(question) == question


def test_a_question_in_another_order_is_answered(tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "kiln.py": "MAX_AGE = 5\n\n\ndef fire_twice(same_site='lax'):\n    return same_site\n",
        "main.py": "from kiln import fire_twice\n\n\ndef burn():\n    fire_twice()\n",
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "MAX_AGE in kiln.py is how many days?").startswith("`MAX_AGE` is set to `5`")
    assert "`burn`" in lead_of(engine, "Where in the code is fire_twice called?")
    assert "is `'lax'`" in lead_of(engine, "What same_site value does fire_twice use when none is given?")
    assert lead_of(engine, "I'm looking for the definition of fire_twice.").startswith("`fire_twice` is defined")


def test_no_word_stands_before_a_name_at_the_beginning() -> None:
    """The last word did: "fire_twice" was read as the owner of `Kiln::fire`, as the question ends with "for"."""
    question = "fire_twice default when Kiln::fire is what for"
    assert order_words(question) == question
