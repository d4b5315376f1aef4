"""The definition that a question for an explanation begins with: the step itself, and not what it stands in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.evidence.model import EvidenceLedger, FileEvidence
from sourcelight.engines.deepsearch.explanations.question import weigh_denied
from sourcelight.engines.deepsearch.research.evidence_lines import write_document, write_test
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FERRY = '''"""Ferries and their berths."""

LIMIT = 40


class Ferry:
    """A ferry that crosses the river."""

    def __init__(self, berth):
        self.berth = berth
        self.waiting = []

    def board(self, car):
        """Let a car on deck."""
        self.waiting.append(car)
        return car

    def weigh(self, cars):
        """Return the weight of the cars."""
        return sum(car.weight for car in cars)

    def _shed(self, cars):
        # Heavy cars are turned away when the deck is overloaded.
        while self.weigh(cars) > LIMIT:
            cars.remove(max(cars, key=lambda car: car.weight))
        return cars

    def moor(self, rope=2):
        """moor(rope=2)

        Tie the ferry to the quay.
        """
        return self.berth.tie(rope)

    def depart(self, cars):
        """Leave the berth with the cars on deck."""
        return self.berth.leave(cars)
'''
SCRIPT = """export DECK_OVERLOADED=40
export HEAVY_CARS_TURNED_AWAY=deck
"""

TIDE = """#include "tide.h"

/* Close a few of the open sluices. The cycle is adaptive: it closes more of them while the tide rises.
 *
 * A slow cycle (TIDE_CYCLE_SLOW) looks at all sluices that nobody has used. */

#define TIDE_CYCLE_SLOW 0
#define TIDE_CYCLE_FAST 1

struct scan {
    int sluices;
};

static void scan_sluice(struct scan *scan) {
    scan->sluices++;
}

void tideCycle(int type) {
    struct scan scan = {0};
    for (int i = 0; i < 8; i++)
        scan_sluice(&scan);
}
"""


@pytest.fixture(scope="module")
def river(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with a class whose methods have the words of a question together, and a script with all of them."""
    folder = tmp_path_factory.mktemp("river")
    repo = RepositoryBuilder(folder / "river")
    files = {"src/ferry.py": FERRY, "deck.sh": SCRIPT, "src/tide.c": TIDE}
    repo.commit({**files, "README.md": "# River\n\nA model of a ferry.\n"}, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How does the deck turn heavy cars away?", "_shed"),  # not the class, and not the script
        ("How are heavy cars turned away from the deck?", "_shed"),
        ("How does a ferry leave its berth?", "depart"),
    ],
)
def test_an_answer_begins_with_the_method_that_does_it(river: LocalEngine, question: str, name: str) -> None:
    assert research(river, question).text.split("1. ", 1)[1].startswith(f"`{name}` in `src/ferry.py`")


def test_a_comment_above_constants_explains_the_function_that_it_names(river: LocalEngine) -> None:
    text = research(river, "How does the tide close sluices?").text
    assert text.split("1. ", 1)[1].startswith("`tideCycle` in `src/tide.c`")
    assert "Line 3: “Close a few of the open sluices.”" in text
    assert text.index("* A slow cycle (TIDE_CYCLE_SLOW)") < text.index("## Searched")


def test_a_document_without_the_subject_is_not_listed(river: LocalEngine) -> None:
    assert "A model of a ferry" not in research(river, "How does the tide close sluices?").text


def test_a_call_at_the_beginning_of_a_docstring_describes_nothing(river: LocalEngine) -> None:
    text = research(river, "How is the ferry moored to the quay?").text
    assert text.split("1. ", 1)[1].startswith("`moor` in `src/ferry.py`: “Tie the ferry to the quay.”")


@pytest.mark.parametrize(
    ("text", "quotation"),
    [
        ("of the gate. Lift it by hand. A gate that is", "Lift it by hand."),
        ("Lift the gate. Then wait for:", "Lift the gate. Then wait for:"),
        ("lift the gate by hand", "lift the gate by hand"),
    ],
)
def test_a_paragraph_is_quoted_without_halves_of_sentences(text: str, quotation: str) -> None:
    document = FileEvidence("dam", "1" * 40, "guide.md", 4, 6, text, role="doc")
    assert write_document(document, EvidenceLedger()) == f"- “{quotation}” [E1]"


def test_a_helper_in_a_file_of_tests_is_no_test() -> None:
    test = FileEvidence("dam", "1" * 40, "tests/gates.py", 4, 6, "", role="test", symbols=("_gate", "test_lift"))
    assert write_test(test, EvidenceLedger()) == "Test: `test_lift` in `tests/gates.py` [E1]"
    assert write_test(replace(test, symbols=("_gate",)), EvidenceLedger()) == "Test: `tests/gates.py` [E1]"


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("keys that are never read again when memory is full", {"read"}),
        ("requests whose body nobody has read, and their headers", {"read"}),
        ("what happens if a file doesn't exist", set()),
        ("how are keys expired", set()),
    ],
)
def test_denied_words_are_told_from_others(text: str, denied: set[str]) -> None:
    weights = dict.fromkeys(("key", "read", "memori", "full", "file", "exist", "request", "bodi", "header"), 1.0)
    assert {term for term, weight in weigh_denied(weights, text).items() if weight < 1.0} == denied
