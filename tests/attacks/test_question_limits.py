"""Questions about files that someone wrote to keep deep search busy: they end, and state nothing unproven."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from engines.deepsearch.asking import Researched, engine_with
from sourcelight.core.cancellation import Cancellation, WorkLimitReached
from sourcelight.core.errors import Cancelled
from sourcelight.engines.complexity.measure import measure_file
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.requests import open_inquiry
from sourcelight.engines.deepsearch.research import ExtractiveResearcher, ResearchBudget, ResearchEvent
from sourcelight.engines.deepsearch.research.answer import finish
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.navigation import definitions
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

INCOMPLETE = "This answer is incomplete: reading the searched files took too long"
QUESTIONS = [
    "How many classes are there?",
    "Which classes inherit from Mill?",
    "What calls open_gate?",
    "Is open_gate used anywhere?",
    "Does it support websockets?",
    "What is the default of grain_limit?",
    "Which dependencies does it have?",
    "When was open_gate added?",
    "Where is Mill defined?",
]


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    code = "".join(
        f"class Mill{index}(Mill):\n    def grind(self, grain_limit={index}):\n        open_gate({index})\n\n"
        for index in range(20)
    )
    files: dict[str | bytes, str | bytes | None] = {
        "mill.py": f"class Mill:\n    pass\n\n\n{code}",
        "requirements.txt": "flour>=1\n",
    }
    yield from engine_with(tmp_path_factory, "mill", files)


def ask(engine: LocalEngine, question: str, budget: ResearchBudget | None = None) -> Researched:
    events: list[ResearchEvent] = []
    inquiry = open_inquiry(question, "", ToolContext(engine, Viewer.owner()))
    draft = ExtractiveResearcher().research(inquiry, budget, events.append)
    return Researched(draft, finish(draft, inquiry, events.append), events)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_takes_too_long_states_nothing(mill: LocalEngine, question: str) -> None:
    full_answer = ask(mill, question)
    assert INCOMPLETE not in full_answer.text
    assert "cut_short" not in full_answer.finished.stats

    answer = ask(mill, question, ResearchBudget(facts_s=0.0))
    first, second = answer.text.split("\n\n")[:2]
    assert first.startswith(INCOMPLETE)
    assert second.startswith(("Most relevant:", "No direct answer found"))
    assert not answer.draft.confident
    assert answer.finished.stats["states_fact"] is False
    assert "took too long" in answer.finished.stats["cut_short"]
    assert "No searched" not in answer.text
    assert not answer.draft.tables


def test_a_question_without_time_says_what_was_searched(mill: LocalEngine) -> None:
    answer = ask(mill, "How many classes are there?", ResearchBudget(facts_s=0.0, passages_s=0.0))
    assert answer.text.startswith(INCOMPLETE)
    assert "## Searched\n\n- `mill` at `" in answer.text
    assert not answer.draft.confident


def test_a_limit_counts_the_time_of_one_thread_alone() -> None:
    cancellation = Cancellation()
    with cancellation.work_limit(0.05):
        time.sleep(0.1)
        cancellation.check()
        start_s = time.thread_time()
        while time.thread_time() - start_s < 0.05:
            pass
        for _ in range(2):
            with pytest.raises(WorkLimitReached):
                cancellation.check()
        with cancellation.work_limit(10.0):
            cancellation.check()
        assert not cancellation.stopped, "searches are not cut short"
    cancellation.check()
    assert issubclass(WorkLimitReached, Cancelled), "no handler of errors may take it for a failed look-up"


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("mill.py", "class Mill{0}(Base):\n    def grind(self, grain_limit={0}):\n        return open_gate({0})\n\n"),
        ("mill.jl", "function grind{0}(x; grain_limit={0})\n    open_gate({0})\nend\n\n"),
        ("mill.sh", "grind{0}() {{\n  open_gate {0}\n}}\n\n"),
    ],
)
def test_a_file_of_a_thousand_definitions_takes_seconds(
    tmp_path_factory: pytest.TempPathFactory, path: str, part: str
) -> None:
    """For each call, all definitions of its file were read, and all of its lines: 10,000 took hours."""
    code = "".join(part.format(index) for index in range(1_000))
    for engine in engine_with(tmp_path_factory, "mill", {path: code}):
        for question in ("What calls open_gate?", "What is the default of grain_limit?"):
            start_s = time.process_time()
            answer = ask(engine, question)
            assert time.process_time() - start_s < 5, question
            assert "cut_short" not in answer.finished.stats


@pytest.mark.parametrize(
    ("language", "head", "operator", "end"),
    [
        ("JavaScript", "function open() {", "||", "}"),
        ("Python", "def open():", "or", ""),
        ("Go", "package a\nfunc open() {", "&&", "}"),
    ],
)
def test_a_chain_of_operators_is_measured_in_linear_time(language: str, head: str, operator: str, end: str) -> None:
    """For each operator, the tree was walked from its root to see whether another one is around it."""
    head = {"JavaScript": "function open() {\n", "Python": "def open():\n", "Go": "package a\nfunc open() {\n"}[
        language
    ]
    end = "" if language == "Python" else "\n}\n"
    code = f"{head}\n  x = a{f' {operator} a' * 30_000}\n{end}"
    start_s = time.process_time()
    measures = measure_file(language, code.encode())
    assert time.process_time() - start_s < 5
    assert measures.functions[0].cyclomatic == 30_001


def test_a_search_with_too_many_rows_ends_the_question(mill: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of 16 bytes takes two kilobytes: a repository of 50 MB took 9 GB of the service."""
    monkeypatch.setattr("sourcelight.engines.deepsearch.facts.searches.MAX_SEARCH_ROWS", 10)
    answer = ask(mill, "What calls open_gate?")
    assert answer.text.startswith(INCOMPLETE)
    assert not answer.draft.confident
    assert "cut_short" not in ask(mill, "Which dependencies does it have?").finished.stats


def test_long_lines_that_throw_and_describe_take_seconds(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A part of these lines took cubic time in forms of thrown exceptions, and quadratic time in those of comments."""
    spaces = " " * 100_000
    files: dict[str | bytes, str | bytes | None] = {
        "mill.js": f"{'throw$0.' * 5_000} LeakError\n// The leak{spaces}error of the mill.\nfunction leak() {{}}\n",
        "mill.java": f"class Mill {{ void f() {{ throw{spaces}x LeakError; throw new LeakError(); }} }}\n",
        "mill.h": f"int leak{spaces}(*)\nint open_leak(int a) {'*)' * 50_000}\n",
    }
    for engine in engine_with(tmp_path_factory, "mill", files):
        for question in ("Where is LeakError raised?", "How does the leak error work?", "What does leak do?"):
            start_s = time.process_time()
            answer = ask(engine, question)
            assert time.process_time() - start_s < 5, question
            assert "cut_short" not in answer.finished.stats


def test_files_beyond_the_memory_of_a_question_are_read_again(
    mill: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3,000 files of a megabyte of short lines took 9 GB within the time limit."""
    expected = [ask(mill, question).text for question in QUESTIONS]
    monkeypatch.setattr("sourcelight.engines.deepsearch.evidence.quotes.MAX_CACHED_BYTES", 1)
    assert [ask(mill, question).text for question in QUESTIONS] == expected
    texts = FileTexts(ToolContext(mill, Viewer.owner()))
    (target,) = open_inquiry("x", "", texts.context).pins.targets
    assert texts.lines(target, "mill.py") is texts.lines(target, "mill.py")
    first = texts.lines(target, "mill.py")
    assert texts.lines(target, "requirements.txt") == ["flour>=1"]
    assert texts.lines(target, "mill.py") is not first


def test_references_in_deeply_nested_code_end_and_say_that_they_are_not_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at what is around a name starts at the root: 20,000 calls within one another took minutes."""
    monkeypatch.setattr(definitions, "MAX_FILE_S", 0.5)
    depth = 10_000
    repo = RepositoryBuilder(tmp_path / "mill")
    nested = "def lift(x):\n    return x\n\n\nGATE = " + "lift(" * depth + "1" + ")" * depth + "\n"
    repo.commit({"mill.py": nested}, "Nest")
    with sl.open(repo.path, index_dir=tmp_path / "index") as code:
        started_s = time.monotonic()
        with pytest.warns(sl.IncompleteResultWarning):
            frame = code.find_references("mill", "mill.py", "lift")
        assert frame.attrs["status"] == "limited"
        assert time.monotonic() - started_s < 30
