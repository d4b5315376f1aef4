"""A running service with accounts, and a browser at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from server.oauth.flow import PASSWORD, Clock, Flow
from server.running_service import ScriptedEngine, Service, running
from sourcelight.core.batches import Event
from sourcelight.core.wire.events import Done, Progress
from sourcelight.repos.state import ScryptCost, State


def _quiet(*_: Any) -> Iterator[Event]:
    yield Progress(done=True, match_count=0, duration_ms=1)
    yield Done()


@pytest.fixture(scope="session")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def state(clock: Clock) -> Iterator[State]:
    with State(clock=clock, cost=ScryptCost(2, 1, 1)) as state:
        state.accounts.create("ann", PASSWORD)
        yield state


@pytest.fixture(scope="session")
def shared_service(state: State) -> Iterator[Service]:
    with running(ScriptedEngine(_quiet), state=state) as service:
        yield service


@pytest.fixture
def service(shared_service: Service, state: State) -> Service:
    """The service, with nothing counted against its callers yet."""
    state.database.change("DELETE FROM attempts")
    return shared_service


@pytest.fixture
def flow(service: Service) -> Iterator[Flow]:
    flow = Flow(service.url)
    with flow.browser:
        yield flow
