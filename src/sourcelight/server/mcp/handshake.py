"""The first answer over standard input and output, before the SDK is loaded, which takes a second of computing.

Clients give up when `initialize` takes long, and on a busy machine a second becomes six. So the answer to a plain
`initialize` is written here. The message still goes to the SDK, whose own answer, the same, is then left out. All else
is for the SDK alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import orjson

from sourcelight import __version__

INSTRUCTIONS = (
    "Tools to search and read the repositories of this service. list_repos gives exact names of repositories, which "
    "the other tools need. Find code with keyword_search (words of the code) or nls_search (a description), then read "
    "it with read_file. Every answer says when a limit cut it."
)
NAME = "sourcelight"
PROTOCOL_VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""Versions whose `initialize` is answered here."""


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """The first line of a client; `answered_id` is the id of a request that has its answer already, else None."""

    line: bytes
    answered_id: int | str | None = None


def answer_first_message(input_fd: int, output_fd: int) -> FirstMessage:
    """Read one line, not a byte more, and answer it if it is a plain `initialize`; the line is empty at the end."""
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(input_fd, 1)):
        line += byte
    request_id, answer = make_answer(bytes(line))
    while answer:
        answer = answer[os.write(output_fd, answer) :]
    return FirstMessage(bytes(line), request_id)


def make_answer(line: bytes) -> tuple[int | str | None, bytes]:
    """Return the id of an `initialize` and the line that answers it; None and nothing where the SDK has to decide."""
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None, b""
    if not isinstance(message, dict) or set(message) != {"jsonrpc", "id", "method", "params"}:
        return None, b""
    request_id, params = message["id"], message["params"]
    is_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    if message["jsonrpc"] != "2.0" or message["method"] != "initialize" or not is_id or not _is_plain(params):
        return None, b""
    result = {
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": INSTRUCTIONS,
        "protocolVersion": params["protocolVersion"],
        "serverInfo": {"name": NAME, "title": NAME, "version": __version__},
    }
    return request_id, orjson.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}) + b"\n"


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
    return isinstance(capabilities, dict) and all(
        isinstance(value, dict) and all(isinstance(flag, bool) or flag == {} for flag in value.values())
        for value in capabilities.values()
    )
