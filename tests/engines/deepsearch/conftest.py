from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_of, make_fleet
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[RepositoryBuilder, RepositoryBuilder]:
    return make_fleet(tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="session")
def engine(fleet: tuple[RepositoryBuilder, RepositoryBuilder], tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return engine_of(Path(fleet[0].path).parent, tmp_path_factory.mktemp("home"))


@pytest.fixture
def state() -> Iterator[State]:
    with State() as state:
        yield state


@pytest.fixture
def desk(state: State) -> Iterator[ConversationService]:
    service = ConversationService(state)
    yield service
    service.close()
