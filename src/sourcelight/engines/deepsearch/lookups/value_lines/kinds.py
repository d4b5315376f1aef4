"""Decide whether a value is of the kind that a question asks for: a number, a port, a URL, yes or no."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from sourcelight.engines.deepsearch.lookups.value_lines.request import ValueRequest

_TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "t", "nil", "enabled", "disabled"})
_NULL = re.compile(r"(?i:none|null|undefined|nullptr|\[\]|\{\}|\(\)|\"\"|''|``|nothing)")
_NUMBER = re.compile(
    r"(?=.*\d)(?:[\"'`]?[+-]?\.?[\d_.,']+(?:e\d+)?(?:\s?[a-z%]{0,12})?[\"'`]?|0x[\da-f]+"
    r"|[\w.:]+(?:\s*(?:\*\*?|<<|\+|-|/)\s*[\w.:()]+){1,4}|[\w.:]+\(.*\)|\d[\d_]*\.\w+(?:\(\))?)"
    r"|[\"'`:]?-?inf(?:inity)?[\"'`]?|[\"'`]unlimited[\"'`]|(?-i:(?:[\w.:]+[.:])?[A-Z][A-Z\d_]{3,})"
    r"|(?-i:[a-z]\w*\.[A-Z]\w+)|(?:\w+\.)?(?:inf(?:inite)?|max_?value|zero)",
    re.IGNORECASE,
)
_MAX_PORT = 65_536
_PORT = re.compile(r"[\"'`]?(?:[\w.*\[\]:/-]*:)?(?P<port>\d{2,5})(?:/tcp|/udp)?[\"'`]?")
_FORMS: Mapping[str, str] = {
    "url": r"\w{2,8}://.*",
    "uri": r"\w{2,8}://.*",
    "endpoint": r"\w{2,8}://.*",
    "website": r"\w{2,8}://.*",
    "address": r"\w{2,8}://.*|[\da-f.:]{3,40}|localhost(?::\d+)?|[\w.-]*:\d+",
    "host": r"[\da-f.:]{4,40}|localhost|[\w-]+(?:\.[\w-]+)+",
    "path": r".*/.*|\.[\w-]+|\.{1,2}",
    "directory": r".*/.*|[\w.-]+",
    "folder": r".*/.*|[\w.-]+",
    "color": r"#[\da-f]{3,8}|[a-z_ -]{3,24}",
    "colour": r"#[\da-f]{3,8}|[a-z_ -]{3,24}",
    "character": r"\\?.",
    "char": r"\\?.",
    "symbol": r"\\?.",
    "sign": r"\\?.",
    "separator": r"\W{1,3}",
    "delimiter": r"\W{1,3}",
    "entity": r"&#?\w+;",
    "extension": r"\.?[a-z\d]{1,12}",
    "mime": r"[\w.-]+/[\w.+-]+.*",
    "version": r"v?\d+(?:\.[\w-]+)*",
    "port": r"[\w.*-]*:\d{2,5}",
    "image": r"[\w./-]+(?::[\w.-]+)?",
    "regex": r".*[\\*+?\[(^$].*",
    "pattern": r".*[\\*+?\[(^$%{].*",
    "charset": r"[\w-]*\d[\w-]*",
    "encoding": r"[\w-]*\d[\w-]*",
    "message": r".*\s.*",
    "text": r".*",
}
"""Nouns that a value shows by its form, and this form without quotation marks."""


def is_of_kind(kind: str, value: str) -> bool:
    """Return whether a value is of the kind that a question asks for."""
    value = value.strip()
    bare = value.strip("\"'`").strip().lower()
    if kind == "truth":
        return bare in _TRUTHS
    if _NULL.fullmatch(value) is not None or not bare or bare in _TRUTHS:
        return False
    if value.startswith("(") and value.endswith(")"):
        value = value[1:-1].strip()
    if kind == "port":
        port = _PORT.fullmatch(value)
        return port is not None and 0 < int(port["port"]) < _MAX_PORT
    return kind == "thing" or _NUMBER.fullmatch(value) is not None


def words_of_value(words: Sequence[str], value: str) -> frozenset[str]:
    """Return the words that a value shows by its form: a URL, a color, an HTML entity."""
    bare = value.strip("\"'`")
    forms = [word for word in words if word in _FORMS]
    return frozenset(word for word in forms if re.fullmatch(_FORMS[word], bare, re.IGNORECASE) is not None)


_DIMENSIONS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(["tall", "high"], frozenset({"height", "rows", "lines", "row"})),
    "wide": frozenset({"width", "columns", "cols", "column"}),
    **dict.fromkeys(["deep", "deeply"], frozenset({"depth", "level", "levels", "nesting"})),
}
_ALL_DIMENSIONS = frozenset().union(*_DIMENSIONS.values())


def is_of_dimension(request: ValueRequest, parts: Collection[str]) -> bool:
    """Return whether parts of a name say that it is of the dimension that is asked for: the width of "how wide"."""
    return not _DIMENSIONS.get(request.measure, frozenset()).isdisjoint(parts)


def is_of_measure(request: ValueRequest, parts: Collection[str]) -> bool:
    """Return whether parts of a name are of no other dimension, and of no other end of a range, than is asked for."""
    other = {"min": {"max", "maximum"}, "max": {"min", "minimum"}}.get(request.bound, set())
    dimensions = _ALL_DIMENSIONS.intersection(parts) if request.measure in _DIMENSIONS else frozenset()
    return other.isdisjoint(parts) and (not dimensions or bool(dimensions & _DIMENSIONS[request.measure]))
