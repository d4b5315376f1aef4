"""What a model wrote after reading a private repository reaches nobody to whom that repository does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from engines.deepsearch.asking import OPEN, SECRET, add_account, desk_context
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.llm.provider import ModelConfig
from sourcelight.engines.deepsearch.llm.researcher import ModelResearcher
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.repos.state import State
from sourcelight.testing.scripted_model import Say, ScriptedModel

pytestmark = pytest.mark.timeout(90)

LEAKS = "quorum-of-seven"
ANSWER = f"""## How the {LEAKS} heading tells

Totals are summed [E1]. The {LEAKS} applies to prices, too [E1].

- The {LEAKS} in a list of {OPEN} [E1]

| {LEAKS} | {OPEN} |
|---|---|
| 1 | 2 |

## Follow-up questions

- Who set the {LEAKS}?
"""
PUBLIC_ANSWER = f"The {LEAKS} again [E1]."


@pytest.fixture
def model(state: State) -> Iterator[tuple[ConversationService, ScriptedModel]]:
    with ScriptedModel([Say(ANSWER), Say(PUBLIC_ANSWER)]) as server:
        service = ConversationService(state, ModelResearcher(ModelConfig("scripted", server.url)))
        yield service, server
        service.close()


def read_as(viewer: Viewer, link: str, engine: LocalEngine, desk: ConversationService) -> str:
    answer = desk.read(link, desk_context(engine, desk, viewer))
    return str(answer.attributes) + str(answer.table.to_pylist()) + str(answer.notices)


def test_a_models_answer_is_withheld_whole(
    engine: LocalEngine, state: State, model: tuple[ConversationService, ScriptedModel]
) -> None:
    """Headings, prose, lists and tables that name only visible repositories, or none, are withheld as well."""
    desk, _ = model
    reader, owner = add_account(state, "reader"), desk_context(engine, desk)
    attributes = desk.ask("how is the checkout total of a cart or of the vault computed", owner).attributes
    assert LEAKS in attributes["answer"]
    link = desk.share(attributes["id"], owner)
    text = read_as(reader, link, engine, desk)
    for private in (LEAKS, SECRET, "vault/ledger.py", "cart.py"):
        assert private not in text
    assert "withheld" in text
    granted = replace(reader, granted=frozenset({SECRET}))
    assert LEAKS in read_as(granted, link, engine, desk)


def test_an_answer_that_rests_on_a_withheld_one_is_withheld_too(
    engine: LocalEngine, state: State, model: tuple[ConversationService, ScriptedModel]
) -> None:
    """A follow-up of narrower scope was still told of the answer before it."""
    desk, server = model
    reader, owner = add_account(state, "reader"), desk_context(engine, desk)
    attributes = desk.ask("how is the checkout total of a cart or of the vault computed", owner).attributes
    follow_up = f"repo:^{OPEN}$ and how is it rounded?"
    answer = desk.follow_up(str(attributes["id"]), follow_up, owner).attributes
    assert LEAKS in str(server.requests[-1]), "the model is told of the conversation"
    assert LEAKS in answer["answer"]
    link = desk.share(attributes["id"], owner)
    assert LEAKS not in read_as(reader, link, engine, desk)


def test_who_lost_access_learns_nothing_by_asking_on(
    engine: LocalEngine, state: State, model: tuple[ConversationService, ScriptedModel]
) -> None:
    """What an account may no longer read is not told to the model on its behalf."""
    desk, server = model
    account = add_account(state, "reader")
    before = desk_context(engine, desk, replace(account, granted=frozenset({SECRET})))
    attributes = desk.ask("how is the checkout total of a cart or of the vault computed", before).attributes
    assert LEAKS in attributes["answer"]
    after = desk_context(engine, desk, account)
    desk.follow_up(str(attributes["id"]), f"repo:^{OPEN}$ what was that again?", after)
    assert "Earlier in this conversation" not in str(server.requests[-1])
    assert LEAKS not in read_as(account, str(attributes["id"]), engine, desk)
