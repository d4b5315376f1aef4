"""Read JSON of a stranger with the place of each string, without decoding what is not requested.

A notebook is mostly base64: a string of megabytes is one step here. `json` gives no places, and a text that is found in
a cell must be shown with its line of the file. What `json.loads` accepts is accepted, with the same result: repeated
keys (the last one counts), NaN, a byte order mark. So are some slips within strings, such as tabs and unknown escapes.
Depth and the number of values are bounded, and nothing recurses.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple, TypeAlias

MAX_DEPTH = 200
"""Levels of lists and objects; a notebook has about ten."""

MAX_VALUES = 500_000
"""Values of one file, numbers in lists excepted: a second of work, and some hundred megabytes at most."""

_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_WHITE = rb"[ \t\n\r]*+"
_EMPTY = rb"\{" + _WHITE + rb"\}|\[" + _WHITE + rb"\]"
_WORDS = rb"true|false|null|NaN|-?Infinity"
_VALUE = re.compile(_WHITE + rb'(?:(")|(' + _EMPTY + rb")|([{\[])|(" + _NUMBER + b"|" + _WORDS + b"))")
_STRING, _CONTAINER, _OPENING, _SCALAR = 1, 2, 3, 4
_KEY = re.compile(_WHITE + b'"')
_COLON = re.compile(_WHITE + b":")
_NEXT = re.compile(_WHITE + rb"([,}\]])")
# Possessive quantifiers keep no states to go back to: a list of a million numbers takes no memory.
_NUMBERS = re.compile(b"(?:" + _WHITE + _NUMBER + _WHITE + b",)++")
# Sources are lists of short strings: one expression for each costs a fifth of the steps of a value.
_ITEM = re.compile(_WHITE + rb'"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"' + _WHITE + b",")
_BACKSLASH = ord("\\")
_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL
)
_SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}
_REPLACEMENT = "\ufffd".encode()
_SURROGATES = range(0xD800, 0xE000)


class InvalidJson(ValueError):
    """Raised for what is no JSON, or too much of it; the text says which."""


class JsonString(NamedTuple):
    """A string that is not decoded: its bytes in the file, quotes excluded."""

    start: int
    end: int


class JsonScalar(NamedTuple):
    """A number, a boolean or null: its bytes in the file."""

    start: int
    end: int


JsonNode: TypeAlias = "JsonString | JsonScalar | list[JsonNode] | dict[bytes, JsonNode]"


def unescape(raw: bytes) -> bytes:
    """Return the text of a JSON string in UTF-8; invalid bytes stay, and a lone surrogate becomes U+FFFD."""
    first = raw.find(b"\\")
    if first < 0:
        return raw
    if first == len(raw) - 2 and raw.endswith(b"n"):
        return raw[:-2] + b"\n"  # most lines of most notebooks
    return _ESCAPE.sub(_unescape_match, raw)


def _unescape_match(match: re.Match[bytes]) -> bytes:
    high_surrogate, low_surrogate, single, simple = match.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    if high_surrogate is not None:
        return chr(0x10000 + ((int(high_surrogate, 16) - 0xD800) << 10) + (int(low_surrogate, 16) - 0xDC00)).encode()
    code = int(single, 16)
    return _REPLACEMENT if code in _SURROGATES else chr(code).encode()


def read_json(data: bytes) -> JsonNode:
    """Return the value of a JSON text, with its strings undecoded. Numbers in lists may be left out.

    Raises
    ------
    InvalidJson
        For broken JSON, more than `MAX_DEPTH` levels or more than `MAX_VALUES` values.
    """
    position = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    stack: list[list[JsonNode] | dict[bytes, JsonNode]] = []
    keys: list[bytes] = []
    values = 0
    while True:
        # A value is due, in an object after its key.
        if stack:
            position = _before_value(data, position, stack[-1], keys)
        match = _expect(_VALUE, data, position)
        values += 1
        if values > MAX_VALUES:
            raise InvalidJson(f"it has more than {MAX_VALUES:,} values")
        if match.lastindex == _OPENING:
            if len(stack) >= MAX_DEPTH:
                raise InvalidJson(f"it has more than {MAX_DEPTH} levels")
            stack.append({} if match[_OPENING] == b"{" else [])
            position = match.end()
            continue
        value, position = _leaf(data, match)
        # A value may be the last one of the list or object around it, and this the last one of the next.
        while stack:
            parent = stack[-1]
            if isinstance(parent, dict):
                parent[keys.pop()] = value
            else:
                parent.append(value)
            match = _expect(_NEXT, data, position)
            position = match.end()
            if match[1] == b",":
                break
            if (match[1] == b"}") != isinstance(parent, dict):
                raise InvalidJson(f"invalid JSON at byte {position - 1:,}")
            value = stack.pop()
            values += len(value)
        else:
            if data[position:].strip(b" \t\n\r"):
                raise InvalidJson(f"extra data after the JSON, at byte {position:,}")
            return value


def _before_value(
    data: bytes, position: int, container: list[JsonNode] | dict[bytes, JsonNode], keys: list[bytes]
) -> int:
    """Read what stands before a value that is of use, and return where that begins."""
    if isinstance(container, dict):
        start = _expect(_KEY, data, position).end()
        end = _string_end(data, start)
        keys.append(unescape(data[start:end]))
        return _expect(_COLON, data, end + 1).end()
    # Plots hold lists of a hundred thousand numbers.
    numbers = _NUMBERS.match(data, position)
    if numbers is not None:
        return numbers.end()
    item = _ITEM.match(data, position)
    while item is not None and len(container) < MAX_VALUES:
        container.append(JsonString(*item.span(1)))
        position = item.end()
        item = _ITEM.match(data, position)
    return position


def _leaf(data: bytes, match: re.Match[bytes]) -> tuple[JsonNode, int]:
    """Return a value that holds no other, and where it ends."""
    end = match.end()
    if match.lastindex == _STRING:
        text = JsonString(end, _string_end(data, end))
        return text, text.end + 1
    if match.lastindex == _SCALAR:
        return JsonScalar(*match.span(_SCALAR)), end
    return {} if match[_CONTAINER].startswith(b"{") else [], end


def _string_end(data: bytes, start: int) -> int:
    """Return the place of the quote that ends a string, whose text begins at `start`."""
    # `find` runs at the speed of memory, a regular expression takes half of the time of reading a notebook.
    end = data.find(b'"', start)
    while end > start and data[end - 1] == _BACKSLASH:
        first = end - 1
        while first > start and data[first - 1] == _BACKSLASH:
            first -= 1
        if (end - first) % 2 == 0:
            break  # each of them escapes another one
        end = data.find(b'"', end + 1)
    # A line that ends within a string is broken JSON, and lines of the file are counted between strings only.
    if end < 0 or data.find(b"\n", start, end) >= 0:
        raise InvalidJson(f"a string at byte {start:,} has no end")
    return end


def _expect(pattern: re.Pattern[bytes], data: bytes, position: int) -> re.Match[bytes]:
    match = pattern.match(data, position)
    if match is None:
        raise InvalidJson(f"invalid JSON at byte {position:,}")
    return match
