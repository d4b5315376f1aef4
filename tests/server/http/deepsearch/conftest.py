"""A service with deep search over two repositories, one of them private, and two users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from engines.deepsearch.asking import OPEN, SECRET, engine_of, make_fleet
from server.loopback_tls import TLS
from server.running_service import Service, running
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import ScryptCost, State

API = "/.api/deepsearch/v1"
PASSWORD = "a password of some length"
WAIT_S = 20.0


@dataclass
class World:
    """The service, and what opens it."""

    service: Service
    state: State
    desk: ConversationService
    tokens: dict[str, str]

    def client(self, user: str = "") -> httpx2.Client:
        headers = {"X-Requested-With": "tests 1"}
        if user:
            headers["Authorization"] = f"token {self.tokens[user]}"
        return httpx2.Client(base_url=self.service.url, headers=headers, timeout=WAIT_S, trust_env=False, verify=TLS)

    def ask_question(self, user: str, question: str) -> dict[str, Any]:
        """Ask, follow the events to their end, and give the conversation."""
        with self.client(user) as client:
            response = client.post(API, json={"question": question})
            assert response.status_code == 202
            body = response.json()
            client.get(f"{API}/{body['id']}/questions/{body['questions'][0]['id']}/events")
            conversation: dict[str, Any] = client.get(f"{API}/{body['id']}").json()
            return conversation


@pytest.fixture(scope="session")
def asked_engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("asked")
    make_fleet(folder / "fleet")
    return engine_of(folder / "fleet", folder)


@pytest.fixture(scope="module")
def world(asked_engine: LocalEngine) -> Iterator[World]:
    with State(cost=ScryptCost(2, 1, 1)) as state, closing(ConversationService(state)) as desk:
        for name in ("ann", "bob"):
            state.accounts.create(name, PASSWORD)
        state.grants.add(SECRET, account="ann")
        tokens = {name: state.tokens.create(name)[1] for name in ("ann", "bob")}
        with running(asked_engine, state=state, conversations=desk) as service:
            yield World(service, state, desk, tokens)


__all__ = ["OPEN", "SECRET"]
