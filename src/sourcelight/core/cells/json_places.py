"""Parse untrusted JSON with the place of each string, and decode strings only on request.

Matches in a cell need their line in the file, and `json` has no places. A notebook is mostly base64; here a string of
megabytes is one step. The parser accepts whatever `json.loads` accepts, with the same result: repeated keys (the last
one counts), NaN, a byte order mark. It also accepts some errors in strings, such as tabs and unknown escapes. Depth and
number of values are limited, and nothing recurses.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple, TypeAlias

MAX_DEPTH = 200
"""Maximum levels of lists and objects; a notebook has about ten."""

MAX_VALUES = 500_000
"""Maximum values of one file, without numbers in lists: a second of work, and some hundred megabytes."""

_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_WHITE = rb"[ \t\n\r]*+"
_EMPTY = rb"\{" + _WHITE + rb"\}|\[" + _WHITE + rb"\]"
_WORDS = rb"true|false|null|NaN|-?Infinity"
_VALUE = re.compile(_WHITE + rb'(?:(")|(' + _EMPTY + rb")|([{\[])|(" + _NUMBER + b"|" + _WORDS + b"))")
_STRING, _CONTAINER, _OPENING, _SCALAR = 1, 2, 3, 4
"""Groups of the pattern of a value."""

_KEY = re.compile(_WHITE + b'"')
"""The start of a key, of what is behind it, and of what is behind a value."""

_COLON = re.compile(_WHITE + b":")
_NEXT = re.compile(_WHITE + rb"([,}\]])")
# Possessive quantifiers store no states for backtracking, so a list of a million numbers takes no memory.
_NUMBERS = re.compile(b"(?:" + _WHITE + _NUMBER + _WHITE + b",)++")
# Sources are lists of short strings: one expression per string takes a fifth of the time of the general steps.
_ITEM = re.compile(_WHITE + rb'"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"' + _WHITE + b",")
_BACKSLASH = ord("\\")
_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL
)
"""An escape in a string, of which two together write a character beyond U+FFFF."""

_SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}
"""The character of each escape with a letter."""

_REPLACEMENT = "\ufffd".encode()
_SURROGATES = range(0xD800, 0xE000)


class InvalidJson(ValueError):
    """Raised for invalid JSON, and for JSON that exceeds a limit; the message has the reason."""


class JsonString(NamedTuple):
    """An undecoded string: its byte range in the file, without the quotes."""

    start: int
    end: int


class JsonScalar(NamedTuple):
    """A number, a boolean or null: its byte range in the file."""

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
        The JSON is invalid, or has more than `MAX_DEPTH` levels or `MAX_VALUES` values.
    """
    position = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    stack: list[list[JsonNode] | dict[bytes, JsonNode]] = []
    keys: list[bytes] = []
    values = 0
    while True:
        # Here the next value begins; in an object, its key comes first.
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
        # A value may end its list or object, which in turn may end the next one around it.
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
    """Read the key of a value, or skip numbers and read strings of a list; return where the next value begins."""
    if isinstance(container, dict):
        start = _expect(_KEY, data, position).end()
        end = _string_end(data, start)
        keys.append(unescape(data[start:end]))
        return _expect(_COLON, data, end + 1).end()

    # Plots have lists of a hundred thousand numbers, which no search needs.
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
    """Return a value without inner values, and where it ends."""
    end = match.end()
    if match.lastindex == _STRING:
        text = JsonString(end, _string_end(data, end))
        return text, text.end + 1
    if match.lastindex == _SCALAR:
        return JsonScalar(*match.span(_SCALAR)), end
    return {} if match[_CONTAINER].startswith(b"{") else [], end


def _string_end(data: bytes, start: int) -> int:
    """Return the position of the quote that ends a string, whose text begins at `start`."""
    # `find` runs at the speed of memory; a regular expression would take half of the time of reading a notebook.
    end = data.find(b'"', start)
    while end > start and data[end - 1] == _BACKSLASH:
        first = end - 1
        while first > start and data[first - 1] == _BACKSLASH:
            first -= 1
        if (end - first) % 2 == 0:
            break  # the backslashes escape each other, so the quote ends the string
        end = data.find(b'"', end + 1)

    # A newline inside a string is invalid JSON, and the lines of a notebook are counted only between strings.
    if end < 0 or data.find(b"\n", start, end) >= 0:
        raise InvalidJson(f"a string at byte {start:,} has no end")

    return end


def _expect(pattern: re.Pattern[bytes], data: bytes, position: int) -> re.Match[bytes]:
    match = pattern.match(data, position)
    if match is None:
        raise InvalidJson(f"invalid JSON at byte {position:,}")
    return match
