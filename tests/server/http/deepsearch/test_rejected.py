"""Citations that did not hold: out of the answer, and told to whoever reads it, on every way to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import httpx2
import pytest

import sourcelight as sl
from engines.deepsearch.asking import OPEN, SECRET, add_account, desk_context
from server.http.deepsearch.conftest import WAIT_S
from server.loopback_tls import TLS
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import EmbeddedBackend
from sourcelight.client import Client
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.research import Draft, Emit, ResearchBudget, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import Paragraph
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State

WRONG = f"{OPEN}@{{commit}} shop/cart.py#L1-L1: the file has no such text"
INVENTED = "E9: not from a tool"


class Careless:
    """Cites lines that hold, lines that do not say that, lines that moved, and what nobody gave it."""

    def __init__(self, name: str = "model") -> None:
        self.name = name

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        del budget, emit
        draft = Draft(researcher=self.name, model="careless")
        position = {pin.repository: pin.commit for pin in inquiry.pins}
        reply = '    """Round a price to whole cents, half a cent to the even one."""'
        for path, line, text in (
            ("shop/prices.py", 5, reply), ("shop/cart.py", 1, "import magic"), ("shop/prices.py", 3, '"""Prices."""'),
        ):  # fmt: skip
            draft.ledger.add(FileEvidence(OPEN, position[OPEN], path, line, line, text))
        draft.ledger.add(FileEvidence(SECRET, position[SECRET], "vault/ledger.py", 1, 1, "nothing"))
        draft.parts.append(
            Paragraph("Cents [E1]. Magic [E2]. Moved [E3]. A secret [E4]. Invented [E9]. Both [E1, E9].")
        )
        return draft


@pytest.fixture(scope="module")
def desk() -> Iterator[ConversationService]:
    with State() as state, closing(ConversationService(state, Careless())) as desk:
        yield desk


@pytest.fixture(scope="module")
def service(asked_engine: LocalEngine, desk: ConversationService) -> Iterator[Service]:
    with running(asked_engine, state=desk.state, conversations=desk) as service:
        yield service


def test_tables_of_both_backends_have_what_was_rejected(
    asked_engine: LocalEngine, desk: ConversationService, service: Service
) -> None:
    client = Client(EmbeddedBackend(asked_engine, conversations=desk)).deepsearch("how?", cache=False)
    there = sl.connect(service.url, token=TOKEN).deepsearch("how?", cache=False)
    for answer in (client, there):
        result = answer.citations
        assert result["status"].tolist() == ["verified", "moved", "rejected", "rejected", "rejected"]
        assert result["link"].tolist()[2:] == ["", "", ""]
        commit = result["commit"][0]
        assert result["label"].tolist()[2:] == [
            WRONG.format(commit=commit[:12]),
            f"{SECRET}@{result['commit'][3][:12]} vault/ledger.py#L1-L1: the file has no such text",
            INVENTED,
        ]
        assert result["type"].tolist()[4] == "unknown"
        assert "rejected" in set(answer.sources["status"].dropna())
        assert answer.stats["citations_rejected"] == 3
        assert "Magic (unverified)" in answer.text
        assert "Both [" in answer.text
        assert "[E" not in answer.text
        for text in (repr(answer), answer.to_markdown(), answer.to_html(), answer._repr_mimebundle_()["text/html"]):
            assert INVENTED in text
            assert "the file has no such text" in text
    assert client.text == there.text
    assert client.citations["label"].tolist() == there.citations["label"].tolist()


def test_pages_and_markdown_name_them(service: Service) -> None:
    answer = sl.connect(service.url, token=TOKEN).deepsearch("how?", cache=False)
    headers = {"Authorization": f"token {TOKEN}"}
    with httpx2.Client(headers=headers, timeout=WAIT_S, trust_env=False, verify=TLS) as client:
        page = client.get(answer.url).text
        text = client.get(f"{answer.url}.md").text
    assert f'{INVENTED} <span class="bad">rejected</span>' in page
    listing = text.partition("## Removed citations\n\n")[2]
    assert f"- `{INVENTED}`\n" in listing
    assert INVENTED not in text.partition("## Removed citations")[0]


@pytest.mark.parametrize(("researcher", "expected"), [("extractive", [OPEN]), ("model", [])])
def test_a_reader_learns_nothing_of_what_was_rejected_elsewhere(
    asked_engine: LocalEngine, researcher: str, expected: list[str]
) -> None:
    """Whoever may not see a repository of the question sees what was rejected in visible ones; of a model nothing."""
    with State() as state, closing(ConversationService(state, Careless(researcher))) as desk:
        owner = desk_context(asked_engine, desk)
        request = desk.ask("how?", owner).attributes
        link = desk.share(request["id"], owner)
        reader = add_account(desk.state, "reader")
        result = desk.read(link, desk_context(asked_engine, desk, reader))
        assert SECRET not in str(result.attributes) + str(result.table.to_pylist())
        rejected = [source["label"] for source in result.attributes["questions"][0]["rejected"]]
        assert [label.partition("@")[0] for label in rejected] == expected
        allowed = replace(reader, granted=frozenset({SECRET}))
        everything = desk.read(link, desk_context(asked_engine, desk, allowed)).attributes["questions"][0]["rejected"]
        assert [source["status"] for source in everything] == ["rejected"] * 3
