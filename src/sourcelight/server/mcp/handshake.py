"""The first answers over standard input and output, before the SDK is loaded, which takes a second of computing.

Clients give up if `initialize` or the list of tools takes long, and on a busy machine a second becomes six. So this
module answers a plain `initialize` and the plain `tools/list` after it. The SDK still receives `initialize`; its own
answer, which is the same, is dropped. The SDK alone answers all other messages.

This module is imported before all others, so that it imports little: `json`, but neither `dataclasses` nor orjson,
which would double the time to the first answer.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from sourcelight import __version__

INSTRUCTIONS = (
    "Tools to search and read the git repositories of this service. repo: an exact name from list_repos, such as "
    "github.com/owner/name. path: within the repository. revision: a branch, tag or commit, perhaps with ~2 or ^; else "
    "the default branch. revisions: commits reachable from them, but not from those with ^, such as v2.0, ^v1.0. Lines "
    "count from 1, ends included. files: globs or path prefixes, such as src/**/*.py, docs/. after, before: committer "
    "dates, such as 2024-06-28, 2 weeks ago. useRegex: case-sensitive RE2; else literal, in any case. Find code with "
    "keyword_search (words of the code) or nls_search (a description), then read lines with read_file. An answer says "
    "what a limit left out; call again with its cursor and the same arguments for the rest. maxTokens (300 or more): "
    "length of an answer."
)
"""Instructions that apply to all tools, so that their descriptions don't repeat them."""

NAME = "sourcelight"
# Without pathlib, which takes longer to load than the answer to be written.
LIST_FILE = __file__.rpartition(os.sep)[0] + "/tool_list.json"
"""The result of ``tools/list`` for the default options, one tool a line. `scripts/docs` writes it."""

PATIENCE_S = 0.1
"""Seconds without a message after which others load. A client that goes on does so in milliseconds, and loading in
parallel would delay its answers: each needs the interpreter's lock."""

PROTOCOL_VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""Versions whose `initialize` is answered here."""


_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
"""The message of a client that has read the answer to ``initialize``."""

_MAX_EXACT_ID = 2**53
"""Limit above which JSON numbers aren't exact in other parsers."""


class FirstMessages(NamedTuple):
    """Lines of a client for the SDK; `answered_id` is the id of a request that is already answered, or None."""

    lines: tuple[bytes, ...]
    answered_id: int | str | None = None


class EarlyAnswers:
    """Answers the first messages of a client, at first alone, then in a thread while this process loads the rest.

    Parameters
    ----------
    list_tools
        Returns the result of ``tools/list`` as JSON without line breaks.
    input_fd, output_fd
        Where messages come from and answers go to. Not a byte is read beyond the last of `FirstMessages`.
    """

    def __init__(self, list_tools: Callable[[], bytes], input_fd: int = 0, output_fd: int = 1) -> None:
        self._list_tools = list_tools
        self._input_fd, self._output_fd = input_fd, output_fd
        self._lines: list[bytes] = []
        self._answered_id: int | str | None = None
        self._is_open = False
        # A daemon: it blocks in `os.read` until the client writes, which must not keep the process alive.
        self._thread = threading.Thread(target=self._answer_remaining, name="sourcelight-first-answers", daemon=True)

    def start(self) -> None:
        """Answer the first line if it is a plain `initialize`, and those that follow at once; then start the thread.

        Raises
        ------
        BrokenPipeError
            The client no longer reads.
        """
        line = self._read_line()
        self._lines.append(line)
        self._answered_id, answer = make_answer(line)
        self._write(answer)
        self._is_open = self._answered_id is not None
        while self._is_open and self._has_input():
            self._answer_next()

        self._thread.start()

    def wait(self) -> FirstMessages:
        """Return the messages for the SDK after the last of them was read; only then may others read."""
        self._thread.join()
        return FirstMessages(tuple(line for line in self._lines if line), self._answered_id)

    def _answer_remaining(self) -> None:
        try:
            while self._is_open:
                self._answer_next()
        except BrokenPipeError:
            # Who watches the reader ends this process.
            self._is_open = False

    def _answer_next(self) -> None:
        """Answer a list of tools; any other message ends these answers, and is for the SDK."""
        line = self._read_line()
        answer = make_list(line, self._list_tools)
        self._write(answer)
        if not answer:
            self._lines.append(line)
        self._is_open = bool(answer) or is_initialized(line)

    def _has_input(self) -> bool:
        # On Windows, `select` works for sockets only.
        return sys.platform != "win32" and bool(select.select([self._input_fd], [], [], PATIENCE_S)[0])

    def _read_line(self) -> bytes:
        line = bytearray()
        # One byte at a time: bytes read beyond the line would be lost for the SDK, which opens the same descriptor.
        # Messages here are short.
        while not line.endswith(b"\n") and (byte := os.read(self._input_fd, 1)):
            line += byte
        return bytes(line)

    def _write(self, answer: bytes) -> None:
        while answer:
            # A pipe may take only a part.
            answer = answer[os.write(self._output_fd, answer) :]


def read_tool_list() -> bytes:
    """Return the result of ``tools/list`` for the default options as JSON."""
    with open(LIST_FILE, "rb") as file:  # noqa: PTH123 - see LIST_FILE
        return file.read().replace(b"\n", b"")


def make_list(line: bytes, list_tools: Callable[[], bytes]) -> bytes:
    """Return the line that answers a plain ``tools/list``; nothing if the SDK has to decide."""
    message = _parse_request(line, "tools/list")
    if message is None or message.get("params", {}) != {}:
        return b""
    return _answer(message["id"], list_tools())


def make_answer(line: bytes) -> tuple[int | str | None, bytes]:
    """Return the id of an `initialize` and the line that answers it; None and nothing if the SDK has to decide."""
    message = _parse_request(line, "initialize")
    if message is None or not _is_plain(message.get("params")):
        return None, b""

    request_id, params = message["id"], message["params"]
    result = {
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": INSTRUCTIONS,
        "protocolVersion": params["protocolVersion"],
        "serverInfo": {"name": NAME, "title": NAME, "version": __version__},
    }
    return request_id, _answer(request_id, json.dumps(result).encode())


def _answer(request_id: int | str, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (json.dumps(request_id).encode(), result)


def _parse_request(line: bytes, method: str) -> dict[str, Any] | None:
    """Parse a request of a method; return None for anything that the SDK might refuse."""
    message = _parse_object(line)
    # Unknown members are left to the SDK, whose behavior may change.
    if message is None or not {"jsonrpc", "id", "method"} <= set(message) <= {"jsonrpc", "id", "method", "params"}:
        return None

    request_id = message["id"]
    # JSON's `true` is an int in Python. MCP forbids null as an id.
    is_number = isinstance(request_id, int) and not isinstance(request_id, bool) and abs(request_id) < _MAX_EXACT_ID
    is_id = is_number or isinstance(request_id, str)
    if is_id and (message["jsonrpc"], message["method"]) == ("2.0", method):
        return message
    return None


def is_initialized(line: bytes) -> bool:
    """Return whether a message is the notification after `initialize`."""
    message = _parse_object(line)
    return message in ({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}, _INITIALIZED)


def _parse_object(line: bytes) -> dict[str, Any] | None:
    # This parser takes surrogates without their pair, which the SDK refuses.
    if b"\\ud" in line.lower():
        return None
    try:
        message = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _is_plain(params: Any) -> bool:
    """Return whether the SDK is sure to take the parameters of an `initialize`."""
    if not isinstance(params, dict) or set(params) != {"protocolVersion", "capabilities", "clientInfo"}:
        return False

    version, capabilities, info = params["protocolVersion"], params["capabilities"], params["clientInfo"]
    return (
        isinstance(version, str)
        and version in PROTOCOL_VERSIONS
        and _is_tree_of_flags(capabilities)
        and isinstance(info, dict)
        and {"name", "version"} <= set(info) <= {"name", "version", "title", "description", "websiteUrl"}
        and all(isinstance(value, str) for value in info.values())
    )


def _is_tree_of_flags(capabilities: Any) -> bool:
    """Return whether capabilities are objects of objects and flags, such as ``{"roots": {"listChanged": true}}``."""
    return isinstance(capabilities, dict) and all(map(_has_only_flags, capabilities.values()))


def _has_only_flags(capability: Any) -> bool:
    if not isinstance(capability, dict):
        return False
    return all(isinstance(flag, bool) or flag == {} for flag in capability.values())
