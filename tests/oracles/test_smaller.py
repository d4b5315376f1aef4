"""What is found is shown as the smallest case: tried with an answer that loses some rows on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracles import answers, checks, smaller
from oracles.epoch import Epoch
from oracles.meaning import Row
from oracles.questions import Atom, Filter, Question
from oracles.repositories import Shape


@pytest.fixture
def epoch(tmp_path: Path) -> Iterator[Epoch]:
    epoch = Epoch("smaller", tmp_path, (Shape("alpha", commits=6, files=8),))
    yield epoch
    epoch.close()


@pytest.mark.timeout(120)
def test_a_finding_in_history_is_made_one_commit_of_one_file(epoch: Epoch, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = answers.history_rows

    def losing(result: Any) -> Counter[Row]:
        return Counter({row: count for row, count in everything(result).items() if "a" not in (row[6] or "")})

    monkeypatch.setattr(answers, "history_rows", losing)
    monkeypatch.setattr(smaller, "BOUND_S", 8.0)
    question = Question(Atom("a"), (Filter("repo", "alpha"),), ("diff",))
    outcome = checks.check_history(epoch, epoch.client, question)
    assert outcome.difference
    finding = smaller.smallest(epoch, "history", outcome)["smaller"]
    assert "search('type:diff count:all a'" in finding
    example = finding.rpartition("alone: ")[2]
    assert "a" in example.rpartition("->")[0] + example.rpartition("->")[2]
    assert len(example) < 1500
