"""Questions for an explanation: the sentence or statement that answers is shown first, with its line."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.deepsearch.asking import first_place, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.explanations.question import read_explanation
from sourcelight.engines.deepsearch.source.comments import MAX_LINES, prose_lines
from sourcelight.engines.deepsearch.source.paragraphs import comment_paragraphs, document_paragraphs
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

LOOM = '''"""Weave cloth on a loom."""

import os


def open_pattern(path):
    """Read a pattern of stripes."""
    if not os.path.exists(path):
        raise OSError(f"pattern {path} was not found")

    with open(path) as file:
        lines = file.read().splitlines()

    # Reverse the stripes, because the warp runs from the bottom to the top.
    return lines[::-1]


def tighten_warp(threads, tension=3):
    """Pull the threads of the warp straight.

    A tension above ten tears the threads, so that it is lowered to ten.
    """
    return [min(tension, 10) for _ in threads]


def count_selvages(cloth):
    # The message "Reverse the shuttle because the bobbin is empty" is only a text here.
    note = "Reverse the shuttle because the bobbin is empty"
    return len(cloth) + len(note)
'''
SHUTTLE = """/*
 * Copyright of the weavers. The bobbin is winded under this license.
 */

/* Throw the shuttle to the other side.
 *
 * If the bobbin is empty, the shuttle stays where it is and -1 is returned. */
int throw_shuttle(int bobbin) {
    return bobbin == 0 ? -1 : 1;
}
"""
TESTS = """from loom import open_pattern


def test_a_missing_pattern_is_reported():
    assert open_pattern


def test_stripes_are_reversed():
    assert open_pattern
"""
DOCS = """# Loom

## Dyeing

Cloth is dyed before it is woven.

## Turning off the treadle

Set `TREADLE=off` to turn off the treadle. The loom then waits for a hand.
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("mill")
    RepositoryBuilder(root / "mill").commit(
        {"loom.py": LOOM, "src/shuttle.c": SHUTTLE, "tests/test_loom.py": TESTS, "README.md": DOCS}, "Weave"
    )
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Why are the stripes reversed?", "line 14"),
        ("What happens if the pattern was not found?", "line 9"),
        ("What happens when the tension is above ten?", "line 21"),
        ("Which test checks that a missing pattern is reported?", "line 4"),
        ("Which function pulls the threads of the warp straight?", "line 19"),
    ],
)
def test_the_sentence_that_answers_comes_first(engine: LocalEngine, question: str, line: str) -> None:
    lead = re.sub(r"^Most relevant:\n\n1\. ", "", research(engine, question).text)
    assert line in lead.split("\n")[0].replace("Line", "line")


def test_the_sentence_that_answers_is_shown_beside_code_with_the_same_words(engine: LocalEngine) -> None:
    lead = research(engine, "What happens when the bobbin is empty?").text.split("\n## ")[0]
    assert "If the bobbin is empty, the shuttle stays where it is" in lead


def test_a_definition_is_shown_with_the_sentence_in_it_that_answers(engine: LocalEngine) -> None:
    """And once: the sentence is no second place."""
    lead = research(engine, "What happens when the tension is above ten?").text.split("\n## ")[0]
    assert "`tighten_warp` in `loom.py`: “Pull the threads of the warp straight.”" in lead
    assert lead.count("A tension above ten tears the threads") == 1


def test_history_in_a_question_about_code_asks_for_no_commit(engine: LocalEngine) -> None:
    assert "the commit of" not in research(engine, "Which function returns the most recent cloth?").text
    assert "Most relevant: the commit of" in research(engine, "What is the history of the stripes?").text


def test_a_license_is_no_answer(engine: LocalEngine) -> None:
    assert "Copyright" not in first_place(engine, "Why is the bobbin winded?")


@pytest.mark.parametrize(
    ("question", "kind", "terms"),
    [
        ("Why doesn't it use sockets?", "why", {"socket"}),
        ("What happens if the file is missing?", "happens", {"file", "miss"}),
        ("What's the difference between open and close?", "difference", {"open", "close"}),
        ("Which option keeps stale items?", "which", {"keep", "stale", "item"}),
        ("Can you show me an example of a custom hook?", "example", {"custom", "hook"}),
        ("Is there a test for empty carts?", "test", {"empti", "cart"}),
        ("How do I disable colors?", "how", {"disabl", "color"}),
        ("When is the cache cleared?", "when", {"cach", "clear"}),
    ],
)
def test_a_question_is_read(question: str, kind: str, terms: set[str]) -> None:
    explanation = read_explanation(question, {})
    assert explanation is not None
    assert (explanation.kind, set(explanation.weights)) == (kind, terms)


@pytest.mark.parametrize("question", ["", "Where is the loom?", "Who wrote it?", "Why?", "Why " + "weave " * 100])
def test_other_questions_are_left_alone(question: str) -> None:
    assert read_explanation(question, {}) is None


@pytest.mark.parametrize(
    ("language", "text", "prose"),
    [
        ("Python", 'x = 1  # count\ny = "# none"\n"""One line."""', ["count", "One line."]),
        ("C", 'char *s = "/* no */";\n/* a\n * b */\nint x; // c', ["a", "b", "c"]),
        ("Haskell", "-- | Says so.\nf = 1 -- why", ["Says so.", "why"]),
        ("Clojure", '(defn f\n  "Adds\n  things."\n  [x] x) ; end', ["Adds", "things.", "end"]),
        ("Elixir", '@doc """\n# Title\nText.\n"""', ["", "# Title", "Text.", ""]),
        ("Lua", "--[[ a\nb ]]\nlocal x = 1 -- c", ["a", "b", "c"]),
        ("Brainfuck", "# nothing is certain", []),
    ],
)
def test_prose_is_told_from_code(language: str, text: str, prose: list[str]) -> None:
    assert [line.text for line in prose_lines(text.split("\n"), language)] == prose


def test_sentences_have_their_lines() -> None:
    lines = ["# One, e.g. this. Two", "# goes on.", "#", "# Three."]
    paragraphs = list(comment_paragraphs(lines, "Python"))
    assert [[(s.text, s.begin_line, s.end_line) for s in paragraph.sentences] for paragraph in paragraphs] == [
        [("One, e.g. this.", 1, 1), ("Two goes on.", 1, 2)],
        [("Three.", 4, 4)],
    ]


def test_paragraphs_of_documents_have_their_headings() -> None:
    paragraphs = list(document_paragraphs("README.md", DOCS.split("\n")))
    assert [(paragraph.titles, paragraph.begin_line) for paragraph in paragraphs] == [
        (("Loom", "Dyeing"), 5),
        (("Loom", "Turning off the treadle"), 9),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "# " + "." * 900,
        '"' * 901,
        "/*" * 450,
        "- " * 450,
        "` " * 450,
        "=" * 900,
        "\\\\" * 900 + '"',
        "'" + "\\\\'" * 440,
    ],
)
@pytest.mark.parametrize("language", ["Python", "C", "Clojure", "Perl"])
def test_hostile_lines_take_linear_time(line: str, language: str) -> None:
    """Twice the lines take about twice the time: 400 of them well below a second."""
    started_s = time.process_time()
    list(comment_paragraphs([line] * 400, language))
    list(document_paragraphs("a.rst", [line] * 400))
    assert time.process_time() - started_s < 3.0


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "Why are the stripes of the warp reversed?",
            "A comment in `loom.py`, line 14, in `open_pattern`, says: “Reverse the",
        ),
        (
            "Which function pulls the threads of the warp straight?",
            "The documentation of `tighten_warp` in `loom.py`, line 19, says: “Pull the threads of the warp straight.”",
        ),
        (
            "What happens if the shuttle's bobbin is empty?",
            "The documentation of `throw_shuttle` in `src/shuttle.c`, line 7, says: “If the bobbin is empty, the",
        ),
        (
            "How can I turn off the treadle?",
            "`README.md` says under “Turning off the treadle”: “Set \\`TREADLE=off\\` to turn off the treadle.”",
        ),
    ],
)
def test_a_sentence_that_has_all_of_a_question_is_stated(engine: LocalEngine, question: str, sentence: str) -> None:
    assert research(engine, question).text.startswith(sentence)


@pytest.mark.parametrize(
    "question",
    [
        # Two words may meet by chance, the bobbin is the condition and not what follows, the number is another one, no
        # reason is given, a word is missing, the class is a function, and what isn't empty isn't asked about.
        "When is the bobbin empty?",
        "When will throw_shuttle return?",
        "Why are the stripes reversed?",
        "What happens if a bobbin of 12 is empty and the shuttle stays?",
        "Why are the threads of the warp pulled straight?",
        "Why are the stripes of the carpet reversed?",
        "Which class pulls the threads of the warp straight?",
        "What happens if the shuttle's bobbin is not winded?",
        "What happens if the shuttle's bobbin is not empty?",
        "Why are the stripes not reversed?",
    ],
)
def test_a_sentence_that_answers_another_question_is_not_stated(engine: LocalEngine, question: str) -> None:
    assert "Most relevant:" in research(engine, question).text.split("\n## ")[0]


KNOTS = """module Knots
  # Ties two threads with a flat knot.
  #
%s  def tie_flat(first, second)
    first + second
  end

  # Ties two threads with a
  # loop that opens again.
  def tie_loop(first, second)
    second + first
  end

  # This comment is of nothing.

  def cut(thread)
    thread
  end
end
""" % ("  # Long threads need more room.\n" * 30)
REEDS = """(ns reeds)

(defn wide-reed
  "Makes a reed for wool."
  [size]
  size)

(defn- fine-reed
  "Makes a reed for silk,
  which needs more teeth."
  [size]
  size)
"""


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        (
            "What's the difference between tie_flat and tie_loop?",
            ["“Ties two threads with a flat knot.”", "“Ties two threads with a loop that opens again.”"],
        ),
        ("How does tie_flat differ from cut?", ["“Ties two threads with a flat knot.”", "`cut` is a method"]),
        (
            "What's the difference between wide-reed and fine-reed?",
            ["“Makes a reed for wool.”", "“Makes a reed for silk, which needs more teeth.”"],
        ),
    ],
)
def test_a_difference_is_told_by_documentation(tmp_path: Path, question: str, sentences: list[str]) -> None:
    repo = RepositoryBuilder(tmp_path / "knots")
    repo.commit({"lib/knots.rb": KNOTS, "src/reeds.clj": REEDS}, "Tie knots")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = research(engine, question).text.split("\n\n")[0]

    assert all(sentence in lead for sentence in sentences)
    assert "of nothing" not in lead


def test_definitions_beyond_the_lines_that_are_read_are_left_out(tmp_path: Path) -> None:
    """nlohmann/json.hpp has a comment shortly before line 20,000, and a function shortly after it."""
    above = "int weir;\n" * (MAX_LINES - 6)
    weir = "// Opens the weir for the mill race.\nOPEN_WEIR(race);\n"
    below = "\n" * 8 + "void OPEN_WEIR_late(int race) {\n    OPEN_WEIR(race);\n}\n"
    repo = RepositoryBuilder(tmp_path / "weir")
    repo.commit({"weir.hpp": above + weir + below}, "Dam")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = research(engine, "What happens when the weir for the mill race opens?").text

    assert "Opens the weir for the mill race" in lead
    engine.close()
