"""Options of Lisp with their defaults: ``(or (:size opts) 5)``, ``(get opts :size 5)``, maps called defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sourcelight.engines.deepsearch.source.fallbacks import FallbackValue
from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA

LISP_FILE = re.compile(r"\.(?:clj|cljs|cljc|edn|bb)$")
_KEY = r"[a-zA-Z*][\w*?!-]{0,60}"
_HOLDER = r"[\w*?!-]{1,60}"
_VALUE = r"(?:-?\d[\w./]*|\"[^\"\n]{0,120}\"|true|false|nil|:[a-z][\w.-]{0,60}|[A-Z]\w{0,60}/[A-Z]\w{0,60})"
_REPLACED = re.compile(
    rf"\(or\s+(?:\(:(?P<member>{_KEY})\s+{_HOLDER}\)|(?P<variable>{_KEY}))\s+(?P<or>{_VALUE})\)"
    rf"|\(get\s+{_HOLDER}\s+:(?P<key>{_KEY})\s+(?P<get>{_VALUE})\)"
    rf"|\(:(?P<keyword>{_KEY})\s+{_HOLDER}\s+(?P<call>{_VALUE})\)"
)
_OR_MAP = re.compile(r":or\s+\{")
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"?")
_CLOSED_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
_PAIR = re.compile(rf"(?<![\w:*?!/\"-])(?P<name>{_KEY})\s+(?P<value>{_VALUE})(?=[\s,}}]|$)")
_KEYWORD_PAIR = re.compile(rf"(?<![\w:*?!/\"-]):(?P<name>{_KEY})\s+(?P<value>{_VALUE})(?=[\s,}})\]]|$)")
_DEFAULTS_HEAD = re.compile(rf"\((?:def|defonce)\s+{LISP_METADATA}(?P<name>\S*defaults?\S*)")
_MAX_LINE, _MAP_LINES, _FORM_LINES = 600, 12, 60
"""Characters of a line, and lines of a map or a form above a line, that are read."""


def read_lisp_options(lines: Sequence[str], number: int) -> Iterator[FallbackValue]:
    """Yield what a line (from 1) gives to names and keys that have no value."""
    text = lines[number - 1]
    if len(text) > _MAX_LINE or _is_in_text(lines, number):
        return

    code_text = _without_texts(text)
    for match in _REPLACED.finditer(text):
        # A docstring and a comment give nothing.
        if code_text[match.start() : match.start() + 1] != "(":
            continue

        groups = match.groupdict()
        name = next(key for part in ("member", "variable", "key", "keyword") if (key := groups[part]))
        value = groups["or"] or groups["get"] or groups["call"]
        yield FallbackValue(name, value, match.start())

    start = _begin_of_or_map(lines, number)
    pairs = _PAIR.finditer(text, start) if start >= 0 else _KEYWORD_PAIR.finditer(text)
    if start < 0 and not _is_in_defaults(lines, number):
        return

    for match in pairs:
        yield FallbackValue(match["name"], match["value"], match.start("name"))


def _is_in_text(lines: Sequence[str], number: int) -> bool:
    """Return whether a text that begins further up in a form, such as a docstring, goes on to a line."""
    above: list[str] = []
    for line in reversed(lines[max(0, number - 1 - _FORM_LINES) : number - 1]):
        above.append(line[:_MAX_LINE])
        if line.startswith("("):
            break

    return '"' in _CLOSED_TEXT.sub("", "\n".join(reversed(above)))


def _begin_of_or_map(lines: Sequence[str], number: int) -> int:
    """Return the column from which a line is in a map behind ``:or``; -1 if it is in none."""
    first = max(1, number - _MAP_LINES)
    for opening_number in range(number, first - 1, -1):
        opening_line = _without_texts(lines[opening_number - 1])
        opening = _OR_MAP.search(opening_line)
        if opening is None:
            continue

        between = "\n".join(
            [opening_line[opening.end() :], *(_without_texts(line) for line in lines[opening_number : number - 1])]
        )
        if opening_number == number:
            return opening.end()
        return 0 if _stays_open(between) else -1

    return -1


def _stays_open(text: str) -> bool:
    """Return whether the bracket before a text is still open behind it."""
    depth = 1
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return False

    return depth == 1


def _without_texts(line: str) -> str:
    """Return a line whose texts and comment are blank, so that columns stay; an overlong line is empty."""
    if len(line) > _MAX_LINE:
        return ""

    blanked = _TEXT.sub(lambda match: " " * len(match[0]), line)
    return blanked.partition(";")[0]


def _is_in_defaults(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is in the value of a name such as ``default-options``."""
    for line in reversed(lines[max(0, number - _FORM_LINES) : number]):
        # A form in the first column is no part of another one.
        if line.startswith("("):
            return _DEFAULTS_HEAD.match(line[:_MAX_LINE]) is not None

    return False
