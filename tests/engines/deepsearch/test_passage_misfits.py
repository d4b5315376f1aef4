"""Sentences with all words of a question that say something else: they are shown, and not stated as its answer."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.explanations.misfits import is_misfit
from sourcelight.engines.deepsearch.explanations.question import read_explanation
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

KILN = '''"""Fire pots in a kiln."""


class Kiln:
    def is_lit(self):
        """Return whether the burner of the kiln is lit."""
        return self.lit

    def wait_until_cold(self):
        """Wait until the kiln reaches the temperature of the room.

        The draft of the chimney is measured first.
        """
        while self.heat > 20:
            self.heat -= 1
        return self.heat

    def glaze(self, pot):
        """Convert a dull pot to a shiny vessel."""
        return pot

    def empty_shelf(self):
        """Remove the cracked shards from the shelf before firing."""
        return []

    def open_door(self):
        """Open the door of the furnace. The exception is a furnace under pressure."""
        return True

    def ring_bell(self):
        """Ring the copper bell to detect when the apprentice sleeps in the shed."""
        return True

    def stack(self):
        """Stack the unfired bricks that nobody ordered, not the tiles."""
        return True


# Bring the wheelbarrow around the eastern yard.

def sweep():
    return 1


# Clay is bought dry. The potter adds rain water because most river clay is salty in spring.
def mix():
    return 2
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("yard")
    RepositoryBuilder(root / "yard").commit({"kiln.py": KILN}, "Build a kiln")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "name"),
    [
        # The docstring of a method is of the nearest head, not of an earlier method within 14 lines.
        ("Which method waits until the kiln reaches the temperature of the room?", "wait_until_cold"),
        ("Which method converts a dull pot to a shiny vessel?", "glaze"),
        ("Which method removes the cracked shards from the shelf before firing?", "empty_shelf"),
    ],
)
def test_a_docstring_is_of_the_nearest_head(engine: LocalEngine, question: str, name: str) -> None:
    assert research(engine, question).text.startswith(f"The documentation of `{name}` in `kiln.py`")


@pytest.mark.parametrize(
    "question",
    [
        # The sides of "to" are exchanged.
        "Which method converts a shiny vessel to a dull pot?",
        # Another limit, and a limit that the sentence doesn't have.
        "Which method removes the cracked shards from the shelf after firing?",
        "Which method opens the door of the furnace without pressure?",
        # The next sentence names an exception.
        "Which method opens the door of the furnace?",
        # The condition is what the bell detects, not when it rings.
        "What happens when the apprentice sleeps in the shed?",
        # The sentence denies something, or the question does.
        "Which method stacks the unfired bricks that nobody ordered, the tiles?",
        "Which method does not convert a dull pot to a shiny vessel?",
        # The comment stands before a blank line.
        "Which function brings the wheelbarrow around the eastern yard?",
        # What is asked is the reason.
        "Why is most river clay salty in spring?",
    ],
)
def test_a_sentence_that_says_something_else_is_not_stated(engine: LocalEngine, question: str) -> None:
    first = research(engine, question).text.split("\n## ")[0]
    assert "says: “" not in first.partition("Most relevant:")[0]


@pytest.mark.parametrize(
    ("question", "text", "is_other"),
    [
        ("Which method grows a sds to a length?", "Grow the sds to have the length.", False),
        (
            "What happens if the current size is smaller than the limit?",
            "If the limit is smaller than the current size, nothing happens.",
            True,
        ),
        ("What happens if bufferedAmount is zero?", "If _bufferedAmount is zero, the queue is closed.", True),
        ("Which method closes the errors channel?", "Close the events channel.", True),
        ("What happens if a callback throws an error?", "If a callback throws an error, it is logged.", False),
    ],
)
def test_a_misfit_is_told_by_roles_limits_and_names(question: str, text: str, *, is_other: bool) -> None:
    explanation = read_explanation(question, {})
    assert explanation is not None
    assert is_misfit(text, "", "", explanation) == is_other


@pytest.mark.parametrize("text", ["to " * 400, "if " * 400, "a, " * 400, "(" * 900, "size to _size " * 60])
def test_hostile_sentences_take_little_time(text: str) -> None:
    explanation = read_explanation("Which method converts the size to _size if it is empty?", {})
    assert explanation is not None
    started_s = time.process_time()
    is_misfit(text, "", "", explanation)
    assert time.process_time() - started_s < 1.0
