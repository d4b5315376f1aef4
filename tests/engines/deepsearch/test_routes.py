"""Kinds of questions and what answers them: calls, bases, differences, tests, examples, settings, dependencies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.deepsearch.asking import Researched, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.evidence import FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import Target
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

CODE = '''"""Tanks and pumps."""

import os
from abc import ABC

LEVEL_LIMIT = 40


class Tank(ABC):
    """Holds water."""


class DeepTank(Tank, metaclass=type):
    """Holds more water."""


class Bucket:
    """Has no base."""


def fill_tank(tank, amount, fast=False):
    """Put water into a tank."""
    check_level(amount)
    open_valve()
    return amount


def drain_tank(tank, amount):
    """Let water out of a tank."""
    return -amount


def check_level(amount):
    return amount < LEVEL_LIMIT


def open_valve():
    return os.environ.get("VALVE_PORT", "1")


def run_pump(target):
    """Run a pump, whose target can read the level::

        level = os.environ["PUMP_LEVEL"]
    """
    return target


def lonely_helper():
    return None


def set_port(value):
    os.environ["VALVE_PORT"] = value
'''
FILES: dict[str | bytes, str | bytes | None] = {
    "tanks.py": CODE,
    "src/Pump.java": "class Pump<T extends Comparable<T>>\n  extends Machine<T>\n  implements Runnable, Part {\n}\n",
    "src/pump.cpp": "class Rotor : public Wheel, private virtual Axle<int, 2> {\n};\n",
    "lib/gate.rb": "class Gate < Barrier\n  def shut\n  end\nend\n",
    "tests/test_tanks.py": (
        "from tanks import fill_tank\n\n\ndef test_fill_tank():\n    # fill_tank in a comment\n"
        "    assert fill_tank(None, 3) == 3\n"
    ),
    "examples/start.py": "from tanks import fill_tank\n\nfill_tank(None, 5)\n",
    "docs/use.md": "# Use\n\nCall fill_tank (twice).\n\n```python\ndrain_tank(None, 2)\n```\n",
    "CHANGES.md": "```\ndrain_tank(old)\n```\n",
    "pyproject.toml": (
        '[project]\nname = "tanks"\ndependencies = ["idna>=2", "certifi"]\n\n[tool.lint]\nline-length = 99 # wide\n'
        "\n[tool.other]\nmax-items = 3\n\n[tool.more]\nmax-items = 4\n"
    ),
}


@pytest.fixture(scope="module")
def tanks(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("tanks")
    repo = RepositoryBuilder(root / "tanks")
    repo.commit(FILES, "Build tanks")
    return open_engine([repo.path], index=root / "index", workers=1)


def lead_of(answer: Researched) -> str:
    return re.sub(r"\\([_*])", r"\1", answer.text.split("\n\n")[0])


STATED = [
    ("What does fill_tank call?", ["`fill_tank` calls `check_level` and `open_valve`", "#L23-L24"]),
    ("Which functions are called by fill_tank in tanks?", ["`check_level` and `open_valve`"]),
    ("What is the base class of Tank?", ["names the base `ABC` in `tanks.py`, line 9"]),
    ("What does DeepTank extend?", ["`Tank` in `tanks.py`"]),
    ("Which class does Bucket inherit from?", ["names no base class in `tanks.py`, line 17"]),
    ("What are the parents of Pump?", ["`Machine<T>`, `Runnable` and `Part`"]),
    ("What is the superclass of Gate in tanks?", ["`Barrier` in `lib/gate.rb`"]),
    ("What are the base classes of Rotor?", ["`Wheel` and `Axle<int, 2>`"]),
    (
        "What is the difference between fill_tank and drain_tank?",
        ["`fill_tank` is a function in `tanks.py`, line 21: “Put water", "`drain_tank` is a function in `tanks.py`"],
    ),
    (
        "Which tests cover fill_tank?",
        ["1 line of 1 test file has the name `fill_tank`", "`test_fill_tank` of `tests/test_tanks.py`"],
    ),
    ("Where is fill_tank tested in tanks?", ["tests/test_tanks.py#L6-"]),
    ("Are there tests for lonely_helper?", ["No searched test file has the name `lonely_helper`"]),
    ("Show me an example of fill_tank", ["in `examples/start.py`, line 3: `fill_tank(None, 5)`"]),
    ("How do I use drain_tank in tanks?", ["in `docs/use.md`, line 6: `drain_tank(None, 2)`"]),
    ("Where is the environment variable VALVE_PORT read?", ["is read from the environment in `open_valve`", "line 38"]),
    (
        "Which environment variables does tanks read?",
        ["Code reads this environment variable by name: `VALVE_PORT`"],
    ),
    ("What is line-length set to?", ["`line-length` is set to `99` in `pyproject.toml`, line 6"]),
    ("What is tool.more.max-items set to in tanks?", ["is set to `4` in `pyproject.toml`, line 12"]),
    ("What is max-items set to?", ["is set on 2 lines: `3` in", "`4` in"]),
    ("What does tanks depend on?", ["`pyproject.toml` lists 2 dependencies: `idna` and `certifi`", "#L3-"]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "parts"), STATED)
def test_the_first_sentence_answers(tanks: LocalEngine, question: str, parts: list[str]) -> None:
    answer = research(tanks, question)
    for part in parts:
        assert part in lead_of(answer), answer.text
    assert answer.finished.rejected == ()


def test_every_cited_line_has_what_the_sentence_says(tanks: LocalEngine) -> None:
    """Of calls and uses, the cited line names what is called or used; of bases, the lines hold all of the head."""
    for question, name in (
        ("What does fill_tank call?", "check_level"),
        ("Show me an example of fill_tank", "fill_tank"),
        ("Which tests cover fill_tank?", "fill_tank"),
        ("What are the parents of Pump?", "implements Runnable, Part"),
    ):
        first = research(tanks, question).finished.citations[0].evidence
        assert isinstance(first, FileEvidence)
        assert name in first.text


@pytest.mark.parametrize(
    "question",
    [
        "What is the difference between fill_tank and nothing_known?",
        "What does LEVEL_LIMIT call?",
        "Show me an example of lonely_helper",
        "What is the base class of fill_tank?",
    ],
)
def test_what_no_line_proves_is_left_to_the_ranking(tanks: LocalEngine, question: str) -> None:
    assert "Most relevant" in research(tanks, question).text.split("\n## ")[0]


def test_no_example_in_a_docstring_reads_a_variable(tanks: LocalEngine) -> None:
    assert "PUMP_LEVEL" not in lead_of(research(tanks, "Which environment variables does tanks read?"))
    assert "is read" not in lead_of(research(tanks, "Where is the environment variable PUMP_LEVEL read?"))


def test_a_quote_ends_with_the_function_around_the_line(tanks: LocalEngine) -> None:
    """What stands below is about something else."""
    answer = research(tanks, "Where is the environment variable VALVE_PORT read?")
    quote = answer.text.split("```python\n")[1].split("```")[0]
    assert quote == 'def open_valve():\n    return os.environ.get("VALVE_PORT", "1")\n'


def test_a_file_has_its_definitions_before_the_index_has_them(tmp_path: Path) -> None:
    """A first question quoted what stands below a function, since the index is searched before it has definitions."""
    repo = RepositoryBuilder(tmp_path / "tanks")
    repo.commit(FILES)
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    target = Target(engine.catalog.repositories[0])
    assert not engine.store.symbols_current(target)
    paths = ("tanks.py", "src/Pump.java", "lib/gate.rb")

    def outlines() -> list[list[tuple[str, int, int]]]:
        texts = FileTexts(ToolContext(engine, Viewer.owner()))
        files = [texts.definitions(target, path) for path in paths]
        return [
            [(definition.name, definition.begin_line, definition.end_line) for definition in file.definitions()]
            for file in files
            if file is not None
        ]

    parsed = outlines()
    assert not engine.store.update_symbols([target]).failures
    assert engine.store.symbols_current(target)
    assert parsed == outlines()
    assert all(parsed)


def test_a_place_has_only_words_that_stand_there(tanks: LocalEngine) -> None:
    """A part of a name that was asked for is not the name."""
    answer = research(tanks, "How does NestedTankFiller work?")
    assert answer.text.startswith("No searched file has `NestedTankFiller`.")
    assert "Matches `NestedTankFiller`" not in answer.text


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What does it do?", None),
        ("What is the difference between a thread and a process?", "difference"),
        ("Which tests fail?", None),
        ("How are requests used?", "example"),
        ("What does the server call when a client disconnects?", None),
    ],
)
def test_forms_are_read_or_left(question: str, kind: str | None) -> None:
    lookup = read_lookup(question)
    assert (lookup.kind if lookup else None) == kind


def test_packages_of_php_are_read() -> None:
    """The language and its extensions are told apart."""
    text = '{\n "require": {\n  "php": ">=8.1",\n  "psr/log": "^2.0"\n },\n "require-dev": {\n  "a/b": "1"\n }\n}'
    listing = read_requirements("composer.json", text.split("\n")) or []
    assert [(dependency.name, dependency.version, dependency.group, dependency.line) for dependency in listing] == [
        ("php", ">=8.1", "platform", 3),
        ("psr/log", "^2.0", "", 4),
        ("a/b", "1", "require-dev", 7),
    ]
