"""Questions in other languages are read by a few forms, or said not to be understood."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.translation import read_foreign_question
from sourcelight.testing import RepositoryBuilder


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Wo ist Schema definiert?", "Where is Schema defined?"),
        ("Wo ist die Klasse Schema definiert?", "Where is Schema defined?"),
        ("Où est définie la classe Schema ?", "Where is Schema defined?"),
        ("¿Dónde está definida la función load?", "Where is load defined?"),
        ("Wie viele Tests gibt es?", "How many tests are there?"),
        ("Combien de fichiers y a-t-il ?", "How many files are there?"),
        ("¿Cuántos commits hay?", "How many commits are there?"),
        ("Was macht dieses Projekt?", "What does this project do?"),
        ("Que fait ce projet ?", "What does this project do?"),
        ("¿Quién mantiene este proyecto?", "Who maintains this project?"),
        ("Wer hat parse_config hinzugefügt?", "Who added parse_config?"),
        ("Qui a écrit `parse`?", "Who added `parse`?"),
        ("Was ist der Standardwert von timeout?", "What is the default of timeout?"),
        ("Was ruft parse auf?", "What calls parse?"),
        # In another language, but in no form.
        ("Wie werden die Felder validiert?", ""),
        ("Pourquoi les champs sont-ils triés ?", ""),
        ("¿Cómo se validan los campos?", ""),
        ("模式在哪里定义?", ""),
        ("Где определён класс Schema?", ""),
    ],
)
def test_a_question_in_another_language_is_told(question: str, english: str) -> None:
    read = read_foreign_question(question)
    assert read is not None
    assert read.english == english


@pytest.mark.parametrize(
    "question",
    [
        "Where is Schema defined?", "Was the Schema class renamed?", "Was parse added in 2020?", "Why?", "MAX_DEPTH?",
        "Comment parser", "What does `wie` do?", "How are Umlaute such as für handled?", "default timeout",
        "Para size of a document", "What is 模式 in the docs?", "como library version", "Qui parser", "",
    ],
)  # fmt: skip
def test_english_questions_are_no_foreign_ones(question: str) -> None:
    assert read_foreign_question(question) is None


def test_an_answer_says_how_the_question_was_read(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "mill")
    builder.commit(
        {"mill.py": "class Wheel:\n    pass\n", "README.md": "# Mill\n\nA mill that turns wheels.\n"}, "begin"
    )
    engine = open_engine([builder.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Wo ist die Klasse Wheel definiert?")
    assert answer.text.startswith("`Wheel` is defined in `mill.py`, line 1, as a class")
    assert "The question was read as “Where is Wheel defined?”" in answer.text
    unread = research(engine, "Wie werden die Räder gedreht?")
    assert unread.text.startswith("Questions are read in English. This one was not understood, so its words were ")
    assert "No searched file has" not in unread.text
    assert unread.finished.stats["confident"] is False
    engine.close()


def test_hostile_questions_take_little_time() -> None:
    started = time.process_time()
    for text in ("wo ist " * 60, "qui a écrit " * 40, "où est " + "l'" * 10_000, "wie viele " + "tests " * 50_000):
        read_foreign_question(text)
    assert time.process_time() - started < 0.5
