"""`benchmarks/agent.py`: what its tasks hold, that no policy knows one, and what its grader counts."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import agent  # noqa: E402 - a script, not a module of the package

sys.path.pop(0)  # other scripts there have names of packages of tests

AT, TASKS = agent.read_tasks(ROOT / "benchmarks" / "truth" / "agent.json")
PARTS: tuple[Callable[..., Any], ...] = (
    *(agent.shell_policy, agent.default_policy, agent.all_policy),
    *(agent.definition, agent.locate, agent.compare, agent.ranked, agent.is_test),
)
POLICIES = "\n".join(map(inspect.getsource, PARTS))


def test_forty_tasks_of_five_kinds_have_gold_at_fixed_commits() -> None:
    assert len(TASKS) == 40
    assert set(Counter(task.kind for task in TASKS)) == {"locate", "trace", "count", "who", "compare"}
    assert Counter(task.group for task in TASKS) == {"first half": 20, "second half": 20}
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in AT.values())
    for task in TASKS:
        assert task.repository in AT
        assert task.gold
        assert bool(task.base) == bool(task.head) == (task.kind == "compare")


def test_no_policy_names_a_repository_or_a_term_of_a_task() -> None:
    words = set(re.findall(r"\w+", POLICIES))
    assert not words & set(AT)
    assert not words & {term for task in TASKS if task.kind != "locate" for term in task.terms}
    assert not words & {Path(str(gold["path"])).stem for task in TASKS for gold in task.gold if "path" in gold} - {
        "core"
    }


@pytest.mark.parametrize(
    ("kind", "units", "transcript", "share"),
    [
        ("locate", [("a.py", "x = one()"), ("a.py", "y = two()")], "# r – a.py\n3: x = one()\n", 0.5),  # noqa: RUF001
        ("locate", [("a.py", "x = one()")], "3: x = one()\nb.py\n", 0.0),
        ("locate", [("a.py", "x = one()")], "3: x = one()\na.py\n", 0.0),
        ("count", [("a.py", r"(?<!\d)12(?!\d)")], "a.py:12\n", 1.0),
        ("count", [("a.py", r"(?<!\d)12(?!\d)")], "a.py:112\nb.py:12\n", 0.0),
        ("who", [("", "abcdef1")], "abcdef1234 2020-01-01 Ada: start\n", 1.0),
    ],
)
def test_the_grader_counts_what_a_transcript_shows(
    kind: str, units: list[tuple[str, str]], transcript: str, share: float
) -> None:
    task = agent.Task("r", kind, "?", ("t",), ({},), "g")
    assert agent.covered(task, units, transcript) == share


def test_a_start_is_whole_lines_within_the_budget() -> None:
    transcript = agent.Transcript(["alpha beta\ngamma delta\n", "epsilon\n"])
    whole = transcript.start(1_000)
    assert whole.split() == ["alpha", "beta", "gamma", "delta", "epsilon"]
    assert transcript.start(5) == "alpha beta"
    assert (transcript.calls, transcript.start(0)) == (2, "")
