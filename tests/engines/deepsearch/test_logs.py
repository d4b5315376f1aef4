"""Logs have sizes and hashes: nothing that was asked, answered or read."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import OPEN, desk_context
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.llm.provider import ModelConfig
from sourcelight.engines.deepsearch.llm.researcher import ModelResearcher
from sourcelight.engines.deepsearch.redaction import format_error
from sourcelight.engines.deepsearch.research import (
    Draft,
    Emit,
    ExtractiveResearcher,
    ResearchBudget,
    Researcher,
    ResearchRequest,
)
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State
from sourcelight.testing.scripted_model import Fail, Say, ScriptedModel, Use

pytestmark = pytest.mark.timeout(90)

QUESTION = f"repo:^{OPEN}$ how is the checkout total of zebrawood carts computed"
TEXTS = ("zebrawood", "how is the", "negative total", "sum(self", "Add up the prices", "hunter2", "A model said")


class Careless:
    """Fails with what it was asked and what it read in its messages."""

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        del budget, emit
        try:
            return Draft(model=dict[str, str]()["sum(self.items.values())"])
        except KeyError as cause:
            raise ValueError(f"{inquiry.question}: Add up the prices") from cause


def logged(
    engine: LocalEngine, state: State, researcher: Researcher, caplog: pytest.LogCaptureFixture
) -> tuple[str, str]:
    """Ask; give the state of the question, and all that was logged as it is formatted for people: no text is in it."""
    caplog.set_level("INFO")
    caplog.set_level("DEBUG", logger="sourcelight")
    desk = ConversationService(state, researcher)
    attributes = desk.ask(QUESTION, desk_context(engine, desk)).attributes
    desk.close()
    assert not [part for part in TEXTS if part in caplog.text]
    return attributes["state"], caplog.text


def test_a_question_and_its_answer_are_not_logged(
    engine: LocalEngine, state: State, caplog: pytest.LogCaptureFixture
) -> None:
    status, _ = logged(engine, state, ExtractiveResearcher(), caplog)
    assert status == "completed"


@pytest.mark.parametrize("good", [True, False], ids=["answers", "fails"])
def test_what_goes_to_a_model_and_comes_from_it_is_not_logged(
    engine: LocalEngine, state: State, caplog: pytest.LogCaptureFixture, *, good: bool
) -> None:
    reading = Use([("read_file", {"repo": OPEN, "path": "shop/cart.py"})])
    error = Fail(400, {"error": {"message": "zebrawood: Add up the prices"}})
    with ScriptedModel([reading, Say("A model said so [E1].") if good else error]) as server:
        researcher = ModelResearcher(ModelConfig("scripted", server.url))
        status, _ = logged(engine, state, researcher, caplog)
        assert "zebrawood" in str(server.requests)
    assert status == "completed"


def test_a_fault_is_logged_with_its_place_and_without_its_text(
    engine: LocalEngine, state: State, caplog: pytest.LogCaptureFixture
) -> None:
    status, text = logged(engine, state, Careless(), caplog)
    assert status == "error"
    for part in ("question 1 failed: builtins.ValueError (", " characters) at run.py:", "> test_logs.py:"):
        assert part in text
    assert "; because of builtins.KeyError (" in text


def test_causes_without_end_are_cut() -> None:
    first, second = ValueError("one"), ValueError("two")
    first.__cause__, second.__cause__ = second, first
    assert format_error(first).count("ValueError (3 characters) at no frame") == 8
