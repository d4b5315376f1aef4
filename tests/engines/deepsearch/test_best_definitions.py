"""The definition that a question for an explanation begins with: the step itself, and not what it stands in."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
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

    def depart(self, cars):
        """Leave the berth with the cars on deck."""
        return self.berth.leave(cars)
'''
SCRIPT = """export DECK_OVERLOADED=40
export HEAVY_CARS_TURNED_AWAY=deck
"""


@pytest.fixture(scope="module")
def river(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with a class whose methods have the words of a question together, and a script with all of them."""
    folder = tmp_path_factory.mktemp("river")
    repo = RepositoryBuilder(folder / "river")
    repo.commit({"src/ferry.py": FERRY, "deck.sh": SCRIPT, "README.md": "# River\n\nA model of a ferry.\n"}, "Start")
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
