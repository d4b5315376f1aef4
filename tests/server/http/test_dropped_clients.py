"""A thousand clients that hang up in the middle of a stream leave nothing behind in a real `sourcelight serve`."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from fork_server import Process
from server.served import serving
from sourcelight.testing import RepositoryBuilder

TOKEN = "slo_the-owner-of-the-dropped"
CLIENTS, AT_ONCE = 1_000, 20
BOUND_S = 30.0
MAX_GROWTH_BYTES = 64 * 2**20
"""Bytes that the second half may add; 1,000 leaked streams of 128 KiB would be twice that."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Process, str, int]]:
    """A served repository whose answers are larger than any buffer of a connection."""
    repository = RepositoryBuilder(tmp_path / "src" / "one")
    # Long lines: with ten times as many of a tenth of the length, each search took ten milliseconds more of a core.
    repository.commit({f"{number}.txt": f"wanderer {number} {'x' * 1_200}\n" * 50 for number in range(4)})
    with serving(str(tmp_path / "src"), home=tmp_path / "home", token=TOKEN) as (process, address):
        position = urlsplit(address)
        yield process, str(position.hostname), int(position.port or 0)


def drop(host: str, port: int, number: int) -> int:
    """Ask for a stream, take some of it or nothing, hang up; gives the bytes taken."""
    query = "count:all%20wanderer" if number % 4 else "count:all%20/w.nderer/"
    head = f"GET /.api/search/stream?q={query}&cm=t HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {TOKEN}\r\n\r\n"
    with socket.create_connection((host, port), timeout=BOUND_S) as connection:
        connection.sendall(head.encode()[: -1 if number % 10 == 0 else None])
        if number % 10 == 0 or number % 3 == 0:
            return 0
        return len(connection.recv(4096))


def wave(host: str, port: int, clients: int) -> int:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(map(bool, pool.map(lambda number: drop(host, port, number), range(clients))))


def resources_of(process: Any) -> tuple[int, int, int]:
    """Threads, descriptors and connections."""
    return process.num_threads(), process.num_fds(), len(process.net_connections(kind="tcp"))


def settled(process: Any) -> tuple[int, int, int]:
    """What the process holds once that has not changed for a second."""
    bound = time.monotonic() + BOUND_S
    since, last = time.monotonic(), resources_of(process)
    while time.monotonic() - since < 1.0:
        assert time.monotonic() < bound
        threading.Event().wait(0.1)
        if (now := resources_of(process)) != last:
            since, last = time.monotonic(), now
    return last


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are counted by the POSIX way")
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_thousand_dropped_clients_leave_nothing_behind(server: tuple[Process, str, int]) -> None:
    served, host, port = server
    process = psutil.Process(served.pid)
    wave(host, port, CLIENTS // 10)  # pools and caches fill
    before = settled(process)
    growth = MAX_GROWTH_BYTES
    for _ in range(3):  # pages of freed memory come and go; what leaks grows every time
        resident = process.memory_info().rss
        begun = wave(host, port, CLIENTS)
        assert begun > CLIENTS // 3
        bound = time.monotonic() + BOUND_S
        while any(now > then for now, then in zip(resources_of(process), before, strict=True)):
            assert time.monotonic() < bound, (before, resources_of(process))
            threading.Event().wait(0.05)
        growth = process.memory_info().rss - resident
        if growth < MAX_GROWTH_BYTES:
            break
    assert growth < MAX_GROWTH_BYTES
    assert not process.children()
    with socket.create_connection((host, port), timeout=BOUND_S) as connection:
        connection.sendall(f"GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 200")
