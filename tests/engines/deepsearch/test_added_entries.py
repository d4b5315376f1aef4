"""Who added a word to a file: the first line with it there, also under a former name of the file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ADA, BO, CY, DEE = "Ada <ada@m.example>", "Bo <bo@m.example>", "Cy <cy@m.example>", "Dee <dee@m.example>"
OLD = "".join(f'  "Grain{number}": {{"sacks": {number}}},\n' for number in range(20))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("grains")
    builder = RepositoryBuilder(root / "mill")
    builder.commit({"lib/grains.json": f'{{\n{OLD}  "Rye": {{"sacks": 5}}\n}}\n'}, "Start", author=ADA)
    text = f'{{\n{OLD}  "Rye": {{"sacks": 5}}\n}}\n'
    builder.commit({"lib/grains.json": None, "grains.json": text, "Millfile": "grind:\n"}, "Move", author=BO)
    text = f'{{\n{OLD}  "Rye": {{"sacks": 5}},\n  "Spelt": {{"sacks": 7}}\n}}\n'
    builder.commit({"grains.json": text, "src/gate.py": "def gate():\n    pass  # Spelt\n"}, "More", author=CY)
    builder.commit({"settings.yml": "gate:\n  mill.gate_scope: 1\n"}, "Set it", author=CY)
    builder.commit({"settings.yml": "gate:\n  mill.gate_scope: 2\n"}, "Restrict", author=DEE)
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who added Spelt support to grains.json?", "A line with `Spelt` in `grains.json` was first added by Cy"),
        ("When was Spelt added to grains.json?", "A line with `Spelt` in `grains.json` was first added by Cy"),
        ("Who added Rye to grains.json?", "A line with `Rye` in `grains.json` was first added by Ada"),
        ("When was the Millfile added, and who wrote it?", "`Millfile` was added by Bo"),
        ("Who changed mill.gate_scope to 2, and in which commit?", "A line with `mill.gate_scope` set to `2` was firs"),
    ],
)
def test_the_first_line_of_a_file_with_a_word_is_stated(engine: LocalEngine, question: str, sentence: str) -> None:
    assert research(engine, question).text.startswith(sentence)


def test_a_word_of_prose_is_no_entry_of_code(engine: LocalEngine) -> None:
    assert "A line with" not in research(engine, "Who added caching to src/gate.py?").text
