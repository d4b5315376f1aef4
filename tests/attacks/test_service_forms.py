"""Answers of a service in hostile forms: texts that slow expressions down, odd numbers, and JSON of other types."""

from __future__ import annotations

import json
import random
import re
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import sourcelight as sl
from backends.remote.loopback_app import served
from sourcelight.backends.remote.endpoint import retry_after_seconds
from sourcelight.backends.remote.mcp import conversations, payloads, text_forms
from sourcelight.backends.remote.mcp.history.texts import parse_contributions
from sourcelight.client.service_tools import file_links
from sourcelight.core.errors import SourcelightError
from sourcelight.testing.scripted_service import ScriptedReply, ScriptedService

_CHARS = 200_000


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda text: payloads.tool_error("read_file", text), "revision not found: a" + "@" * _CHARS + "\n"),
        (lambda text: payloads.tool_error("read_file", text), "path not found in a" + ": " * _CHARS + "\n"),
        (lambda text: payloads.tool_error("read_file", text), "path not found in a" + ": " * _CHARS + ";x"),
        (text_forms.is_no_list, "A" + " a" * _CHARS + "/"),
        (text_forms.is_no_list, "[" * _CHARS),
        (payloads.blob, "https://host/" + "@a/" * _CHARS),
        (payloads.blob, "https://host/" + "@a/" * _CHARS + "/-/blob/x"),
        (conversations.parse_sources, "## Sources\n- [" + "](" * _CHARS),
        (file_links, "](" + ".csv?" * _CHARS),
        (parse_contributions, f"a/b{' ' * 1_900}x\n" * (_CHARS // 1_000)),
        (parse_contributions, f"a/b{'-' * 1_900}x\n" * (_CHARS // 1_000)),
        (parse_contributions, f"a/b 1 commit{' first: a' * 200}\n" * (_CHARS // 1_000)),
    ],
)
def test_no_text_takes_more_time_than_its_length(read: Callable[[str], Any], text: str) -> None:
    """Quadratic expressions took minutes to hours of a blocked event loop for these."""
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 2


_BLOB = re.compile(r"/(?P<repo>.+?)(?:@(?P<rev>[^/@]+(?:/[^/]+)*?))?/-/blob/(?P<path>.*)")
_SOURCE = re.compile(r"^- \[(.*)\]\((\S*)\)$", re.MULTILINE)
_SENTENCE = re.compile(r"[A-Z][^/\n]*(?: [^/\n ]+){3,}[.!]")
_FILE_LINK = re.compile(r"\]\(<?([^()<>\s]+\.(?:csv|json|svg)(?:\?[^()<>\s]*)?)>?\)", re.IGNORECASE)


def test_addresses_and_links_mean_what_the_slow_expressions_said() -> None:
    draw = random.Random(7)  # noqa: S311 - forms, not secrets
    for _ in range(20_000):
        path = "/r" + "".join(draw.choices(["a", "/", "@", "/-/blob/", "b/"], k=draw.randint(1, 9)))
        match, read = _BLOB.fullmatch(path), payloads.blob(f"https://host{path}")
        expected = None if match is None else (match["repo"], match["rev"] or "", match["path"])
        assert (None if read is None else (read.repository, read.revision, read.path)) == expected, path

        text = "".join(draw.choices(["- [", "](", ")", "a", " ", "\n", "<", ">", ".csv", "?", "x.json"], k=12))
        sources = [(source["label"], source["link"]) for source in conversations.parse_sources(f"## Sources\n{text}")]
        assert sources == _SOURCE.findall(text), text
        links = [
            link for link in dict.fromkeys(_FILE_LINK.findall(text)) if re.search(r"^[^?]+\.(csv|json)(\?|$)", link)
        ]
        assert file_links(text) == links, text

        words = "".join(draw.choices(["A", " ", "b", ".", "!", "/"], k=12))
        assert bool(_SENTENCE.fullmatch(words.strip())) == text_forms.is_no_list(words), words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path not found in github.com/a/b@v1: x;y", "x;y"),
        ("x" * 100_000, "x" * 1_000),
        ("revision not found: a/b@c\nand more", "and more"),
    ],
)
def test_an_error_of_a_tool_is_read_and_bounded(text: str, message: str) -> None:
    error = payloads.tool_error("read_file", text)
    assert message in str(error)
    assert len(str(error)) < 21_000


def test_line_numbers_of_thousands_of_digits_are_no_line_numbers() -> None:
    assert text_forms.parse_chunks("9" * 5_000 + ": x") == []
    assert payloads.Payload(None, ['{"a":' * 100_000]).read(("text",)) == '{"a":' * 100_000


@pytest.mark.parametrize(
    "value",
    [
        "9" * 70_000,
        "Mon, 01 Jan 99999999999 00:00:00 GMT",
        "Mon, 01 Jan 2020 99999999999:00:00 GMT",
        "\0",
        "\u00b2",
        "-1",
    ],
)
def test_an_odd_retry_after_is_no_error(value: str) -> None:
    seconds = retry_after_seconds(value)
    assert seconds is None or seconds >= 0


def _replying(body: bytes) -> Any:
    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})

    return app


_ODD: list[Any] = [
    None,
    True,
    -1,
    1e308,
    2**70,
    "",
    "\ud83d",
    [],
    [[]],
    {},
    {"id": []},
    [{"id": "x"}],
    {"questions": 3},
]


def _odd(draw: random.Random, depth: int) -> Any:
    if depth == 0 or draw.random() < 0.3:
        return draw.choice(_ODD)
    keys = ["id", "title", "questions", "status", "share_url", "read_token", "is_starred", "created_at", "error"]
    if draw.random() < 0.3:
        return [_odd(draw, depth - 1) for _ in range(draw.randint(0, 3))]
    return {key: _odd(draw, depth - 1) for key in draw.sample(keys, draw.randint(0, 5))}


def test_conversations_of_any_form_raise_nothing_but_errors_of_this_package() -> None:
    draw = random.Random(11)  # noqa: S311 - forms, not secrets
    bodies = [b"[" * 100_000, b'{"conversations":' * 50_000, b"1e999", b"NaN", b'{"conversations":{"a":1}}']
    for _ in range(30):
        page = {"conversations": [_odd(draw, 3), {"id": draw.choice(_ODD), "questions": _odd(draw, 2)}]}
        bodies.append(json.dumps(page | {"page_info": draw.choice(_ODD)}).encode())
    outcomes = set()
    for body in bodies:
        with served(_replying(body)) as url, sl.connect(url, "token", retries=0, check=False) as code:
            for ask in (code.deepsearch_list, lambda: code.deepsearch_read("1"), lambda: code.deepsearch_cancel("1")):
                try:
                    ask()
                    outcomes.add("answer")
                except SourcelightError as error:
                    outcomes.add(type(error).__name__)
    assert outcomes >= {"answer", "ProtocolError"}


_ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e"
"""Writes to the clipboard, colors and reverses text, in terminals that obey it."""


def _events(*events: tuple[str, Any]) -> bytes:
    return b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in events)


@pytest.mark.parametrize(
    "reply",
    [
        ScriptedReply([_ESCAPES.encode()], status=400, headers={"Content-Type": "text/plain"}),
        ScriptedReply([_ESCAPES.encode()], headers={"Content-Type": "text/\x9bx"}),
        ScriptedReply([_events(("error", {"message": _ESCAPES}), ("done", {}))]),
        ScriptedReply([_events(("progress", {}), ("alert", {"title": _ESCAPES, "kind": "error"}), ("done", {}))]),
        ScriptedReply([b"event: progress\ndata: " + _ESCAPES.encode() + b"\n\n"]),
    ],
)
def test_no_error_has_escape_sequences_in_its_text(reply: ScriptedReply) -> None:
    """Python prints a traceback as it is; only IPython asks this package how an error looks."""
    with (
        ScriptedService(reply) as played,
        sl.connect(played.url, "token", check=False, retries=0) as code,
        pytest.raises(SourcelightError) as raised,
    ):
        code.search("x")
    lines = "".join(traceback.format_exception_only(raised.value))
    assert not set(_ESCAPES[:1] + "\x07\x9b\u202e") & set(lines), ascii(lines)


def test_no_warning_has_escape_sequences_in_its_text() -> None:
    message = f"list_repos: {_ESCAPES}"
    for warning in (sl.IncompleteResultWarning(message), sl.IncompleteCountWarning(message)):
        assert str(warning) == "list_repos: \u241b]52;c;ZXZpbA==\u2407\u27e8U+009B\u27e931m\u27e8U+202E\u27e9"
