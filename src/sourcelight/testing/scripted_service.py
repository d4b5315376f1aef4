"""A service that answers from a script, for tests of clients against slow networks and odd services."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self
from urllib.parse import parse_qsl, urlsplit

SILENCE: Literal["silence"] = "silence"
"""A step: send nothing until the client hangs up or the service is closed."""

RESET: Literal["reset"] = "reset"
"""A step: break the connection off, so that the client sees a reset instead of an end."""

Step = bytes | Literal["silence", "reset"]

_MAX_REQUEST_BYTES = 1 << 20
"""Bytes of a request."""


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """Reply to one request: a status line, headers, then each step; the connection closes at the end.

    `headers` replace the default ones (``Content-Type: text/event-stream``) of the same name. `status` 0 sends neither
    status line nor headers.
    """

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came. `headers` have lower-case names; `params` keep the first value of a name."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        """The path without its query."""
        return urlsplit(self.target).path

    @property
    def params(self) -> dict[str, str]:
        """The query's parameters."""
        params: dict[str, str] = {}
        for name, value in parse_qsl(urlsplit(self.target).query, keep_blank_values=True):
            params.setdefault(name, value)
        return params


class ScriptedService:
    r"""A real HTTP server on a loopback port that plays answers in order; the last one is repeated.

    Parameters
    ----------
    answers
        One for each request to come.

    Attributes
    ----------
    url
        Address of the service.
    received
        The requests so far.
    hung_up
        Set when a client hung up during a `SILENCE`.

    Examples
    --------
    >>> with ScriptedService(ScriptedReply([b"event: done\ndata: {}\n\n"])) as service:
    ...     service.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, *answers: ScriptedReply) -> None:
        self._answers = list(answers) or [ScriptedReply()]
        self.received: list[ReceivedRequest] = []
        self.hung_up = threading.Event()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and wait (at most 5 s a thread) for running work."""
        self._closing.set()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            try:
                head = _read_head(connection)
                if head is None:
                    return

                with self._lock:
                    self.received.append(head)
                    answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

                if answer.status:
                    connection.sendall(_head(answer))

                for step in answer.steps:
                    self._play(connection, step)
            except OSError:
                return

    def _play(self, connection: socket.socket, step: Step) -> None:
        if isinstance(step, bytes):
            connection.sendall(step)
        elif step == RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        else:
            connection.settimeout(0.05)
            while not self._closing.is_set():
                try:
                    if not connection.recv(1024):
                        self.hung_up.set()
                        return
                except TimeoutError:
                    continue
                except OSError:
                    self.hung_up.set()
                    raise

            connection.settimeout(5)


def _head(answer: ScriptedReply) -> bytes:
    headers = {"Content-Type": "text/event-stream", "Connection": "close"} | dict(answer.headers)
    lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in headers.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode()


def _read_head(connection: socket.socket) -> ReceivedRequest | None:
    data = b""
    while b"\r\n\r\n" not in data:
        portion = connection.recv(65536)
        data += portion
        if not portion or len(data) > _MAX_REQUEST_BYTES:
            return None

    first, *lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()

    return ReceivedRequest(method, target, headers)
