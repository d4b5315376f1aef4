"""A server with OpenAI's chat completions API that answers from a script, for tests without a model.

A script is a list of turns. Each request takes the next one; the last one is repeated.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with text after `pause_s` seconds; a stream has `chunks` pieces, with a pause before each."""

    text: str
    pause_s: float = 0.0
    chunks: int = 3
    tokens: tuple[int, int] = (100, 20)


@dataclass(frozen=True, slots=True)
class Use:
    """Call tools, given as pairs of name and arguments; a text instead of arguments is sent unchanged."""

    calls: Sequence[tuple[str, Mapping[str, Any] | str]]
    tokens: tuple[int, int] = (100, 20)


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an error status."""

    status: int
    body: Mapping[str, Any] = field(default_factory=lambda: {"error": {"message": "no"}})
    headers: Mapping[str, str] = field(default_factory=dict)


Turn: TypeAlias = Say | Use | Fail
Script: TypeAlias = Sequence[Turn | Callable[[dict[str, Any]], Turn]]


class ScriptedModel:
    """The server; listens on a free port inside its ``with`` block. `requests` has the received bodies."""

    def __init__(self, script: Script) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Log nothing."""

            def do_POST(self) -> None:
                outer._answer(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Address to give to a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5.0)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers.get("Content-Length", "0"))))
        with self._guard:
            index = min(len(self.requests), len(self.script) - 1)
            self.requests.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})

        step = self.script[index]
        turn = step(body) if callable(step) else step
        try:
            if isinstance(turn, Fail):
                _send(handler, turn.status, json.dumps(turn.body).encode(), turn.headers)
            elif body.get("stream"):
                self._stream(handler, turn, body["model"])
            # Waiting for the event rather than sleeping: a test that ends early doesn't wait for the pause.
            elif not (isinstance(turn, Say) and turn.pause_s and self._stopped.wait(turn.pause_s)):
                _send(handler, 200, json.dumps(_completion(turn, body["model"])).encode(), {})
        except OSError:  # the client hung up
            handler.close_connection = True

    def _stream(self, handler: BaseHTTPRequestHandler, turn: Say | Use, model: str) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        for delta in _deltas(turn):
            if isinstance(turn, Say) and turn.pause_s and self._stopped.wait(turn.pause_s):
                return
            _event(handler, _chunk(model, {"index": 0, "delta": delta, "finish_reason": None}))

        reason = "tool_calls" if isinstance(turn, Use) else "stop"
        _event(handler, _chunk(model, {"index": 0, "delta": {}, "finish_reason": reason}))
        _event(handler, _chunk(model, None, _usage(turn)))
        handler.wfile.write(b"data: [DONE]\n\n")


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def _event(handler: BaseHTTPRequestHandler, data: Mapping[str, Any]) -> None:
    handler.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
    handler.wfile.flush()


def _deltas(turn: Say | Use) -> list[dict[str, Any]]:
    if isinstance(turn, Use):
        return [{"role": "assistant", "content": None, "tool_calls": _calls(turn)}]
    size = max(1, -(-len(turn.text) // turn.chunks))
    texts = [turn.text[index : index + size] for index in range(0, len(turn.text), size)] or [""]
    return [{"role": "assistant", "content": text} for text in texts]


def _calls(turn: Use) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": f"call_{index}_{name}",
            "type": "function",
            "function": {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(turn.calls)
    ]


def _usage(turn: Say | Use) -> dict[str, int]:
    input_tokens, output_tokens = turn.tokens
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


def _chunk(model: str, choice: Mapping[str, Any] | None, usage: Mapping[str, int] | None = None) -> dict[str, Any]:
    return {
        "id": "scripted",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": [] if choice is None else [choice],
        "usage": usage,
    }


def _completion(turn: Say | Use, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text if isinstance(turn, Say) else None}
    if isinstance(turn, Use):
        message["tool_calls"] = _calls(turn)

    reason = "tool_calls" if isinstance(turn, Use) else "stop"
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": _usage(turn),
    }
