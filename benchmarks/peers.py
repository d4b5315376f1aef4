"""The other searchers: ripgrep in a folder, zoekt and our own service over HTTP, each as its own users run it."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE

RIPGREP = (
    "rg", "-uu", "--no-config", "--max-filesize", str(DEFAULT_MAX_FILE_SIZE), "-E", "none", "--no-messages",
    "--color=never", "-n", "-H", "--no-heading",
)  # fmt: skip
_MAX_READ_BYTES = 1 << 20
_PATIENCE_S = 600.0
_ALL = {"ShardMaxMatchCount": 10**9, "TotalMaxMatchCount": 10**9, "MaxWallTime": 2 * 10**11}
Row = tuple[str, int]


def ripgrep_bytes(arguments: Sequence[str], folder: Path) -> int:
    """Bytes that ripgrep writes, read through a pipe and dropped."""
    with subprocess.Popen([*RIPGREP, "--column", *arguments, "."], cwd=folder, stdout=subprocess.PIPE) as peer:
        size = 0
        while peer.stdout is not None and (block := peer.stdout.read(_MAX_READ_BYTES)):
            size += len(block)
    return size


def ripgrep_rows(arguments: Sequence[str], folder: Path) -> set[Row]:
    """Path and 1-based line of everything that ripgrep finds below `folder`."""
    command = [*RIPGREP, "--null", *arguments, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_PATIENCE_S)
    if done.returncode not in {0, 1}:
        sys.exit(f"ripgrep: {done.stderr.decode(errors='replace')}")
    rows = set()
    for line in done.stdout.split(b"\n"):
        path, matched, remaining = line.partition(b"\0")
        if matched:
            number = remaining[: remaining.index(b":")]
            rows.add((path.removeprefix(b"./").decode("utf-8", "replace"), int(number)))
    return rows


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service sent: seconds until the first byte of the body, until its end, and the body."""

    first_s: float
    whole_s: float
    body: bytes


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Any = None,
    open_connection: http.client.HTTPConnection | None = None,
) -> Answer:
    """One request on a connection of its own, or on one that is `kept`; the whole body is read and not looked at."""
    began = time.perf_counter()
    connection = open_connection or http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        blocks = [response.read1(_MAX_READ_BYTES)]
        first_s = time.perf_counter() - began
        while block := response.read1(_MAX_READ_BYTES):
            blocks.append(block)
        whole_s = time.perf_counter() - began
        # Without this, a kept connection takes no request after a short body: no read has come upon its end.
        response.close()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {blocks[0][:300]!r}")
    finally:
        if open_connection is None:
            connection.close()
    return Answer(first_s, whole_s, b"".join(blocks))


def keep_connection(service: Service | Zoekt) -> None:
    """Ask a service on one connection from now on."""
    service.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=_PATIENCE_S)


class Service:
    """Our own service, in a process of its own."""

    def __init__(self, port: int, token: str, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.connection: http.client.HTTPConnection | None = None
        self._headers = {"Authorization": f"token {token}", "Accept": "text/event-stream"}

    def search(self, query: str) -> Answer:
        """Search, reading the whole stream."""
        values = urlencode({"q": query, "v": "V3", "t": "standard", "display": "-1"}, quote_via=quote)
        return ask(
            self.port, "GET", f"/.api/search/stream?{values}", headers=self._headers, open_connection=self.connection
        )


@contextmanager
def serving(folders: Sequence[str], home: str, *, forgetful: bool = False) -> Iterator[Service]:
    """Run ``sourcelight serve`` over `folders`, with the index below `home`; `forgetful`: see `forgetful`."""
    token, port = secrets.token_hex(16), _free_port()
    environment = os.environ | {"SOURCELIGHT_HOME": home, "SOURCELIGHT_OWNER_TOKEN": token}
    launch = (
        [str(Path(__file__).with_name("forgetful.py"))]
        if forgetful
        else ["-c", "from sourcelight.cli import main; main()"]
    )
    command = [sys.executable, *launch, "serve", *folders]
    command += ["--port", str(port), "--config", _config(home)]
    with _running(command, environment, Path(home, "serve.log")) as pid:
        service = Service(port, token, pid)
        _wait(port, "/readyz")
        yield service


class Zoekt:
    """A zoekt web server."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.connection: http.client.HTTPConnection | None = None

    def search(self, query: str) -> Answer:
        """Search, reading the whole answer."""
        body = json.dumps({"Q": query, "Opts": _ALL}).encode()
        return ask(self.port, "POST", "/api/search", body, {"Content-Type": "application/json"}, self.connection)

    def matches(self, query: str) -> int:
        """How many matches in contents it finds."""
        files = json.loads(self.search(query).body)["Result"]["Files"] or ()
        return sum(
            len(line["LineFragments"] or ())
            for file in files
            for line in file.get("LineMatches") or ()
            if not line["FileName"]
        )


@contextmanager
def zoekt(repositories: Sequence[str], home: Path) -> Iterator[Zoekt | None]:
    """Run zoekt over bare repositories; None where no binary's path is given.

    The environment names the binaries: ``ZOEKT_WEBSERVER``, and ``ZOEKT_GIT_INDEX`` for the index unless
    ``ZOEKT_INDEX`` names a folder that holds one. Its default bound on trigrams would leave out files.
    """
    server, indexer = os.environ.get("ZOEKT_WEBSERVER"), os.environ.get("ZOEKT_GIT_INDEX")
    index = os.environ.get("ZOEKT_INDEX") or str(home / "zoekt")
    if not server or not (indexer or "ZOEKT_INDEX" in os.environ):
        yield None
        return
    if "ZOEKT_INDEX" not in os.environ:
        command = [str(indexer), "-index", index, "-incremental=false", "-max_trigram_count", "1000000"]
        with (home / "zoekt-index.log").open("wb") as log:
            subprocess.run([*command, "-disable_ctags", *repositories], stdout=log, stderr=log, check=True)
    port = _free_port()
    options = ["-index", index, "-rpc", "-html=false", "-listen", f"127.0.0.1:{port}"]
    with _running([server, *options], dict(os.environ), home / "zoekt.log") as pid:
        _wait(port, "/healthz")
        yield Zoekt(port, pid)


def _config(home: str) -> str:
    path = Path(home, "serve.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"search.limits.maxTimeoutSeconds": 600}', "utf-8")
    return str(path)


@contextmanager
def _running(command: Sequence[str], environment: dict[str, str], log_path: Path) -> Iterator[int]:
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(port: int, path: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        try:
            ask(port, "GET", path)
        except (OSError, RuntimeError, http.client.HTTPException):
            time.sleep(0.1)
        else:
            return
    sys.exit(f"no service answers on port {port}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
