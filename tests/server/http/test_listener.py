"""Tests of listening: a service accepts connections before it has loaded what answers them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sourcelight.core.errors import ConfigurationError
from sourcelight.server.http.listener import address_of, bind, is_loopback

CLI = "import sys; from sourcelight.cli import main; sys.exit(main())"


def test_a_service_listens_before_it_loads_what_answers(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as listener:
        port = str(listener.getsockname()[1])
        environment = {**os.environ, "SOURCELIGHT_HOME": str(tmp_path)}
        command = [sys.executable, "-X", "importtime", "-c", CLI, "serve", "--port", port, str(tmp_path)]
        process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode
    assert f"can't listen on 127.0.0.1:{port}" in process.stderr
    imports = {
        line.rpartition("|")[2].strip() for line in process.stderr.splitlines() if line.startswith("import time:")
    }
    assert "sourcelight.server.http.listener" in imports
    assert not imports & {"uvicorn", "starlette", "numpy", "pyarrow", "sourcelight.server.http.settings"}


def test_a_connection_before_the_service_runs_is_accepted() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
        with socket.create_connection(listener.getsockname(), timeout=5) as client:
            client.sendall(b"GET / HTTP/1.1\r\n")  # the system keeps it


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="choose another port"):
        bind("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("localhost", True), ("127.0.0.9", True), ("[::1]", True), ("0.0.0.0", False), ("example.org", False)],  # noqa: S104 - not bound
)
def test_only_this_machine_reaches_a_loopback_address(host: str, *, is_local: bool) -> None:
    assert is_loopback(host) is is_local
