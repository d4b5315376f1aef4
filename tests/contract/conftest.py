"""The same fleet behind both backends: in this process, and behind `sourcelight serve` by URL."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from server.served import serving

TOKEN = "slo_the-owner-of-the-contract"


@pytest.fixture(scope="session")
def service(fleet: Path, shut_environment: Path) -> Iterator[str]:
    """Address of `sourcelight serve` on the fleet."""
    with serving(str(fleet), home=shut_environment / "service", token=TOKEN, is_forked=True) as (_, address):
        yield address


@pytest.fixture(scope="session")
def remote(service: str) -> Iterator[sl.Client]:
    """Client of the service by URL."""
    with sl.connect(service, TOKEN) as client:
        yield client


@pytest.fixture(scope="session")
def clustered(cell: Cell, shards: str) -> Iterator[sl.Client]:
    """Client over three workers of a cluster, which hold the fleet."""
    with sl.open_cluster(cell.address, shards) as client:
        wait_until(lambda: len(client.cluster.workers) == 3, "workers join")
        yield client


@pytest.fixture(scope="session")
def federated(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    """Client over two services that have parts of the fleet each, and one repository both."""
    parts = {
        "harbour": ("board", "gauge", "hub", "hub-fork", "collector.git", "repos.toml"),
        "office": ("hub", "handbook.git", "pytide", "repos.toml"),
    }
    with ExitStack() as stack:
        clients = {}
        for name, entries in parts.items():
            folder = tmp_path_factory.mktemp(name)
            for entry in entries:
                (folder / entry).symlink_to(fleet / entry)
            # Each part has the settings of the whole fleet, which describe repositories of the other part too.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".* describes .* there is no such repository")
                clients[name] = stack.enter_context(sl.open(folder))
        yield stack.enter_context(sl.federate(clients))


@pytest.fixture(scope="session", params=["remote", "clustered"])
def other(request: pytest.FixtureRequest) -> sl.Client:
    """Each backend that is not in this process, to be held against the one that is."""
    client = request.getfixturevalue(request.param)
    assert isinstance(client, sl.Client)
    return client


@pytest.fixture(params=["embedded", "remote", "clustered", "federated"])
def code(request: pytest.FixtureRequest) -> sl.Client:
    """Each backend in turn."""
    client = request.getfixturevalue(request.param)
    assert isinstance(client, sl.Client)
    return client
