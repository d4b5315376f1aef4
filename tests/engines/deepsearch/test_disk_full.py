"""A full disk is told by its name, and what was there before stays."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import OPEN, desk_context
from sourcelight.core.errors import StateFull, ToolError
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.research import Draft, Emit, ResearchBudget, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import Paragraph
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State

QUESTION = f"repo:^{OPEN}$ how is the checkout total computed"


def fill(state: State) -> None:
    """No page can be added to the file any more, as on a full disk."""
    with state.database.write() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StateFull, match="no space left on the disk"):  # noqa: PT012 - which of them it is, is open
        for number in range(1_000):
            state.accounts.create(f"a{number}{'x' * 50}")


def empty(state: State) -> None:
    with state.database.write() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")


class Writer:
    """Its answer comes when the disk has become full."""

    def __init__(self, state: State) -> None:
        self.state = state

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        del inquiry, budget, emit
        fill(self.state)
        return Draft([Paragraph("Long. " * 10_000)])


def test_a_question_that_finds_no_room_says_so_and_others_work_later(engine: LocalEngine, state: State) -> None:
    desk = ConversationService(state, Writer(state))
    context = desk_context(engine, desk)
    number = desk.open(QUESTION, context)
    attributes = desk.wait(desk.ask_in(number, QUESTION, context), context, 30).attributes
    assert attributes["state"] == "error"
    assert "No room left: the disk of the service is full" in attributes["answer"]
    assert "sqlite" not in attributes["answer"], "and no path"
    with pytest.raises(ToolError, match="the disk of the service is full"):  # noqa: PT012 - as above
        for _ in range(200):
            desk.open(QUESTION, context)
    empty(state)
    assert desk.open(QUESTION, context) > 0
    desk.close()
