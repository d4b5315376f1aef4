"""Attacks on edges: names that only begin rightly, hidden characters, logs that say nothing of who did what."""

from __future__ import annotations

import io
import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

from server.running_service import BOUND_S, TOKEN, ScriptedEngine, running
from sourcelight.backends.cluster.transport.connections import check_address, check_listening
from sourcelight.cli.startup import search
from sourcelight.core.batches import Event
from sourcelight.core.errors import ConfigurationError
from sourcelight.core.wire.events import Done
from sourcelight.display.notebook.frame_views.table import show_hidden_characters
from sourcelight.repos.state import State
from sourcelight.server.http.app import create_app
from sourcelight.server.http.middleware.credential_uses import CredentialUses
from sourcelight.server.http.middleware.guards import host_name
from sourcelight.server.http.settings import Settings

HIDDEN = "\x1b[31m\u202e"


def _quiet(*_: object) -> Iterator[Event]:
    yield Done()


@pytest.mark.parametrize(
    "host",
    [
        "[::1]evil", "[::1]evil.example", "[::1]:80evil", "[::1", "::1]", "[]", "localhost:", "localhost:99999999",
        "localhost@evil", "localhost/evil", "[::1]evil:80", "[localhost]", "127.0.0.1:x", "",
    ],
)  # fmt: skip
def test_a_host_that_only_begins_like_ours_is_refused(host: str) -> None:
    """The parser of addresses takes the name in brackets and drops what follows it."""
    assert host_name(host) == ""
    with running(ScriptedEngine(_quiet)) as service:
        location = urlsplit(service.url)
        with socket.create_connection((str(location.hostname), int(location.port or 0)), timeout=BOUND_S) as connection:
            connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_hosts_of_ours_are_read() -> None:
    for host, name in (("[::1]", "::1"), ("[::1]:80", "::1"), ("LocalHost:7080", "localhost"), ("a-b.c_d", "a-b.c_d")):
        assert host_name(host) == name


@pytest.mark.parametrize(
    "origin", ["http://[::1]evil", "http://[::1]evil.example", "http://localhost/x", "http://a@[::1]"]
)
def test_an_origin_that_only_begins_like_ours_is_refused(origin: str) -> None:
    with running(ScriptedEngine(_quiet)) as service:
        for value, status in ((origin, 403), ("http://[::1]:80", 400)):
            answer = service.client.post("/.api/mcp", content=b"x", headers={"Origin": value})
            assert (answer.status_code == 403) is (status == 403)


@pytest.mark.parametrize("host", ["127.evil.example", "localhost.evil.example", "0.0.0.0", "192.0.2.1", "::"])  # noqa: S104 - refused
def test_a_cluster_without_certificates_stays_on_loopback(host: str) -> None:
    """A name that begins like a loopback address is none, and a worker listened wherever it was told to."""
    location = f"[{host}]" if ":" in host else host
    with pytest.raises(ConfigurationError, match="not encrypted"):
        check_address(f"tcp://{location}:8786", None)
    with pytest.raises(ConfigurationError, match="loopback only"):
        check_listening("tcp", host)
    check_listening("tls", host)
    for ours in ("127.0.0.1", "localhost", "[::1]"):
        check_address(f"tcp://{ours}:8786", None)
        check_listening("tcp", ours)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_hidden_characters_are_shown_on_a_terminal_and_kept_in_files(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A committed line could clear the screen of whoever printed matches as CSV."""
    from sourcelight.testing import RepositoryBuilder

    RepositoryBuilder(tmp_path / "src" / "one").commit({"a.txt": f"wanderer {HIDDEN} end\n"})
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    terminal = _Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    result = search.SearchCommand(paths=(str(tmp_path / "src"),), output_format=form)
    assert search.search("wanderer", result) == 0
    displayed = terminal.getvalue()
    assert "wanderer" in displayed
    assert "\x1b" not in displayed
    assert "\u202e" not in displayed
    out = tmp_path / f"out.{form}"
    search.search("wanderer", search.SearchCommand(paths=result.paths, output_format=form, output=str(out)))
    assert "\u202e" in out.read_text()


def test_hidden_characters_are_shown_in_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    try:
        show_hidden_characters()
        frame = pd.DataFrame({"line": [f"a{HIDDEN}<b>"]})
        bundle, _ = shell.display_formatter.format(frame)
        for kind in ("text/html", "text/plain"):
            assert "\x1b" not in bundle[kind], kind
            assert "\u202e" not in bundle[kind], kind
            assert "\u241b[31m" in bundle[kind]
        assert "&lt;b&gt;" in bundle["text/html"]
        assert frame["line"][0] == f"a{HIDDEN}<b>", "the data stays"
        series, _ = shell.display_formatter.format(frame["line"])
        assert "\x1b" not in series["text/plain"]
    finally:
        InteractiveShell.clear_instance()
    del monkeypatch


def test_each_use_of_a_credential_is_noted(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    path = tmp_path / "uses.jsonl"
    with State() as state:
        state.accounts.create("ann")
        token, secret = state.tokens.create("ann", ("user:all",))
        uses = CredentialUses(str(path))
        app = create_app(ScriptedEngine(_quiet), Settings(), state=state, owner_token=TOKEN, uses=uses)
        client = TestClient(app, base_url="http://localhost")
        for credential in (secret, TOKEN, "slo_wrong"):
            client.get(
                "/.api/search/stream", params={"q": "secret words"}, headers={"Authorization": f"token {credential}"}
            )
        path.rename(tmp_path / "moved.jsonl")
        client.get("/.api/search/stream", params={"q": "x"}, headers={"Authorization": f"token {secret}"})
        client.get("/healthz")
        uses.close()
    lines = [json.loads(line) for line in (tmp_path / "moved.jsonl").read_text().splitlines()]
    assert [line["credential"] for line in lines] == [f"token:{token.id}", "owner"]
    assert [line["viewer"] for line in lines] == ["ann", "owner"]
    assert "secret words" not in str(lines)
    assert secret not in str(lines)
    assert len(path.read_text().splitlines()) == 1, "a file that was moved away is begun anew"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_uses_of_credentials_take_a_bounded_space(tmp_path: Path) -> None:
    """Two processes append to one file, and no line is lost but with the oldest file."""
    path = tmp_path / "uses.jsonl"
    writers = [CredentialUses(str(path), max_bytes=1_000, max_files=3) for _ in range(2)]
    for number in range(200):
        writers[number % 2].append(json.dumps({"number": number, "text": "x" * 20}))
    for writer in writers:
        writer.close()
    files = [path, *(tmp_path / f"uses.jsonl.{number}" for number in (1, 2, 3))]
    assert sorted(path for path in tmp_path.iterdir() if path.suffix != ".lock") == sorted(files)
    lines = [json.loads(line)["number"] for file in reversed(files) for line in file.read_text().splitlines()]
    assert lines == list(range(lines[0], 200))
    assert len(lines) > 60
    assert all(file.stat().st_size < 1_100 for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_a_file_of_uses_that_cannot_be_renamed_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "uses.jsonl"
    (tmp_path / "uses.jsonl.1").mkdir()
    (tmp_path / "uses.jsonl.1" / "occupied").mkdir()
    uses = CredentialUses(str(path), max_bytes=100, max_files=1)
    for _ in range(10):
        uses.append("x" * 30)
    uses.close()
    assert len(path.read_text().splitlines()) == 10


def test_a_log_that_cannot_be_written_keeps_nobody_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    uses = CredentialUses(str(tmp_path / "missing" / "uses.jsonl"))
    for _ in range(3):
        uses.append("{}")
    assert len([record for record in caplog.records if "can't write" in record.message]) == 1
