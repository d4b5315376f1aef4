"""One small engine, asked in the library and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sourcelight as sl
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import EmbeddedBackend, open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ANSWER_S = 30.0


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Engine over two repositories; the second one has lines of a megabyte and of two."""
    folder = tmp_path_factory.mktemp("faults")
    repository = RepositoryBuilder(folder / "src" / "one")
    repository.commit(
        {
            "runs.txt": "a" * 100_000 + "\nneedle\n" + "aaaa needle b\n" * 2_000,
            "code.py": "def needle():\n    return 'nul'\n",
            "words.txt": "".join(f"term{number}\n" for number in range(0, 10_000, 100)),
            "latin.txt": b"caf\xe9 needle\n",
        }
    )
    RepositoryBuilder(folder / "src" / "two").commit(
        {"mega.txt": "a" * 1_000_000 + "!\n", "huge.txt": "a" * 2_000_000 + "\n"}
    )
    return open_engine([folder / "src"], index=folder / "index")


@pytest.fixture(scope="package")
def service(engine: LocalEngine) -> Iterator[Service]:
    """The same engine behind a loopback port."""
    with running(engine) as service:
        service.client.timeout = ANSWER_S
        yield service


@pytest.fixture(scope="package")
def embedded(engine: LocalEngine) -> Iterator[sl.Client]:
    """Client of the engine in this process."""
    backend: Any = EmbeddedBackend(engine)
    with sl.Client(backend) as client:
        yield client


@pytest.fixture(scope="package")
def remote(service: Service) -> Iterator[sl.Client]:
    """Client of the service by URL."""
    with sl.connect(service.url, TOKEN, retries=0) as client:
        yield client


@pytest.fixture(params=["embedded", "remote"])
def code(request: pytest.FixtureRequest) -> sl.Client:
    """Each of the two in turn."""
    client = request.getfixturevalue(request.param)
    assert isinstance(client, sl.Client)
    return client
