"""A reader of streams as strict as the strictest client in the field; what we serve must pass it.

Its rules: an event is the two lines ``event`` and ``data`` (LF, the blank after the colon optional) and an empty
line; nothing else may stand in the stream; unknown events are skipped, unknown kinds of matches are not; ``filters``
are not looked at; an event is at most 10 MiB; what follows ``done`` is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MAX_EVENT_BYTES = 10 * 1024 * 1024
KINDS = frozenset({"content", "path", "symbol", "repo", "commit"})


class Malformed(Exception):
    """The stream breaks a rule."""


def read_strictly(stream: bytes) -> list[tuple[str, Any]]:
    """Known events up to ``done`` as (name, JSON) pairs; raises `Malformed` for what a strict client refuses."""
    results = []
    for name, data in _events(stream):
        if name == "done":
            results.append((name, None))
            return results
        if name in {"matches", "progress", "alert", "error"}:
            value = _json(name, data)
            _check(name, value)
            results.append((name, value))
        elif name == "filters":
            results.append((name, _json(name, data)))
    return results


def _events(stream: bytes) -> Iterator[tuple[str, bytes]]:
    if not stream:
        return
    if not stream.endswith(b"\n"):
        raise Malformed(f"malformed event, no newline: {stream[-60:]!r}")
    for block in stream.removesuffix(b"\n\n").removesuffix(b"\n").split(b"\n\n"):
        if len(block) + 2 > MAX_EVENT_BYTES:
            raise Malformed("token too long")
        if b"\r" in block:
            raise Malformed("carriage return in the stream")
        lines = block.split(b"\n")
        if len(lines) != 2:
            raise Malformed(f"malformed event of {len(lines)} lines: {block[:60]!r}")
        yield _field(lines[0], b"event").decode("ascii"), _field(lines[1], b"data")


def _field(line: bytes, name: bytes) -> bytes:
    key, colon, value = line.partition(b":")
    if key != name or not colon:
        raise Malformed(f"malformed event, expected {name.decode()}: {line[:60]!r}")
    return value.removeprefix(b" ")


def _json(name: str, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except ValueError as exc:
        raise Malformed(f"{name}: {exc}") from exc


def _check(name: str, value: Any) -> None:
    if name == "matches":
        for match in value or []:
            _check_match(match)
    elif name == "progress":
        _need(value, done=bool, matchCount=int, durationMs=int, skipped=list)
        for item in value["skipped"]:
            _need(item, reason=str, title=str, message=str, severity=str)
    elif name == "alert":
        _need(value, title=str)
    elif name == "error":
        _need(value, message=str)


def _check_match(match: Any) -> None:
    kind = match.get("type", "content")
    if kind not in KINDS:
        raise Malformed(f"unknown MatchType {kind!r}")
    _need(match, repository=str, repositoryID=int)
    if kind in {"content", "path", "symbol"}:
        _need(match, path=str)
    for chunk in match.get("chunkMatches") or []:
        _need(chunk, content=str, contentStart=dict, ranges=list)
        _check_location(chunk["contentStart"])
        for r in chunk["ranges"]:
            _check_location(r["start"])
            _check_location(r["end"])
    for line in match.get("lineMatches") or []:
        _need(line, line=str, lineNumber=int, offsetAndLengths=list)
        if any(len(pair) != 2 for pair in line["offsetAndLengths"]):
            raise Malformed("offsetAndLengths holds no pair")
    if kind == "symbol":
        for symbol in match["symbols"]:
            _need(symbol, url=str, name=str, containerName=str, kind=str)
    if kind == "commit":
        _need(match, oid=str, message=str, content=str, ranges=list, label=str, url=str, detail=str)
        if any(len(triple) != 3 for triple in match["ranges"]):
            raise Malformed("ranges holds no triple")


def _check_location(location: Any) -> None:
    _need(location, offset=int, line=int, column=int)


def _need(value: Any, **types: type) -> None:
    if not isinstance(value, dict):
        raise Malformed(f"an object was expected: {value!r}")
    for key, kind in types.items():
        if not isinstance(value.get(key), kind):
            raise Malformed(f"{key} must be {kind.__name__}: {value.get(key)!r}")
