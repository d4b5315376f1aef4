"""Read the options of Lisp with their defaults.

Three forms on a line give a key a value for when it has none: ``(or (:size opts) 5)``, ``(get opts :size 5)`` and
``(:size opts 5)``. Two kinds of maps do so for all their keys: one behind ``:or`` in a list of parameters, and the
value of a name such as ``default-options``. A map may begin on a line further up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sourcelight.engines.deepsearch.source.fallbacks import FallbackValue
from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA

LISP_FILE = re.compile(r"\.(?:clj|cljs|cljc|edn|bb)$")
"""Paths of Clojure and its dialects."""
_MAX_LINE = 600
"""Characters of a line that is read."""
_MAP_LINES = 12
"""Lines above a line in which the map that it is in may begin: lists of parameters are short."""
_FORM_LINES = 200
"""Lines above a line in which the form that it is in may begin: a docstring may list dozens of options."""

# Forms.

_KEY = r"[a-zA-Z*][\w*?!-]{0,60}"
_HOLDER = r"[\w*?!-]{1,60}"
_VALUE = r"(?:-?\d[\w./]*|\"[^\"\n]{0,120}\"|true|false|nil|:[a-z][\w.-]{0,60}|[A-Z]\w{0,60}/[A-Z]\w{0,60})"
"""A number, a text, a keyword or a constant of Java, such as ``TimeUnit/SECONDS``."""
_FORMS = re.compile(
    rf"\(or\s+(?:\(:(?P<member>{_KEY})\s+{_HOLDER}\)|(?P<variable>{_KEY}))\s+(?P<or_value>{_VALUE})\)"
    rf"|\(get\s+{_HOLDER}\s+:(?P<key>{_KEY})\s+(?P<get_value>{_VALUE})\)"
    rf"|\(:(?P<keyword>{_KEY})\s+{_HOLDER}\s+(?P<call_value>{_VALUE})\)"
)
"""``(or (:size opts) 5)`` or ``(or size 5)``, ``(get opts :size 5)``, ``(:size opts 5)``."""

# Maps.

_OR_MAP = re.compile(r":or\s+\{")
"""The beginning of the defaults in a list of parameters: ``{:keys [size] :or {size 5}}``."""
_PAIR = re.compile(rf"(?<![\w:*?!/\"-])(?P<name>{_KEY})\s+(?P<value>{_VALUE})(?=[\s,}}]|$)")
"""A pair of such a map: ``size 5``."""
_DEFAULTS_HEAD = re.compile(rf"\((?:def|defonce)\s+{LISP_METADATA}(?P<name>\S*defaults?\S*)")
"""``(def ^:private default-options``."""
_KEYWORD_PAIR = re.compile(
    rf"(?<![\w:*?!/\"-]):(?P<name>{_KEY})\s+(?P<value>{_VALUE}|[a-z][\w./-]{{2,60}}[*?!]?)(?=[\s,}})\]]|$)"
)
"""A pair of a map of defaults: ``:size 5``, ``:resolver find-nearest``."""

_DEFAULT_NAME = re.compile(rf"\((?:def|defonce)\s+{LISP_METADATA}(?P<name>\*?default-[\w*-]{{1,60}})\s*$")
_VALUE_ALONE = re.compile(rf"\s*(?P<value>{_VALUE})\)+\s*$")
_VALUE_LINES = 4
"""A definition whose docstring and value are on lines of their own."""

# Texts.

_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"?")
"""A text on one line, which may go on below."""
_CLOSED_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
"""A whole text, a comment, or a letter such as ``\\"``."""


def read_lisp_options(lines: Sequence[str], number: int) -> Iterator[FallbackValue]:
    """Yield what a line (from 1) gives to names and keys that have no value."""
    line = lines[number - 1]
    if len(line) > _MAX_LINE or _is_in_text(lines, number):
        return

    yield from _values_of_forms(line)
    yield from _value_of_definition(lines, number)
    map_start = _or_map_start(lines, number)
    if map_start is not None:
        yield from _values_of_pairs(_PAIR.finditer(line, map_start))
    elif _is_in_defaults(lines, number):
        yield from _values_of_pairs(_KEYWORD_PAIR.finditer(line))


def _values_of_forms(line: str) -> Iterator[FallbackValue]:
    """Yield the values of the forms on a line, but not of those in a docstring or a comment."""
    code = _without_texts(line)
    for form in _FORMS.finditer(line):
        is_code = code[form.start() : form.start() + 1] == "("
        if is_code:
            name = form["member"] or form["variable"] or form["key"] or form["keyword"]
            value = form["or_value"] or form["get_value"] or form["call_value"]
            yield FallbackValue(name, value, form.start())


def _value_of_definition(lines: Sequence[str], number: int) -> Iterator[FallbackValue]:
    """Yield the value of a name such as ``default-timeout`` below its docstring."""
    head = _DEFAULT_NAME.match(lines[number - 1])
    below = lines[number : number + _VALUE_LINES] if head is not None else []
    values = [line for line in below if not line.lstrip().startswith(('"', ";")) and line.strip()]
    value = _VALUE_ALONE.match(values[0]) if values and len(values[0]) <= _MAX_LINE else None
    if head is not None and value is not None:
        yield FallbackValue(head["name"], value["value"], head.start("name"))


def _values_of_pairs(pairs: Iterator[re.Match[str]]) -> Iterator[FallbackValue]:
    for pair in pairs:
        yield FallbackValue(pair["name"], pair["value"], pair.start("name"))


def _or_map_start(lines: Sequence[str], number: int) -> int | None:
    """Return the column from which a line is in a map behind ``:or``; None if it is in none."""
    for opening_number in range(number, max(0, number - _MAP_LINES - 1), -1):
        opening_line = _without_texts(lines[opening_number - 1])
        opening = _OR_MAP.search(opening_line)
        if opening is None:
            continue
        if opening_number == number:
            return opening.end()

        between = [opening_line[opening.end() :], *map(_without_texts, lines[opening_number : number - 1])]
        return 0 if _stays_open("\n".join(between)) else None

    return None


def _stays_open(text: str) -> bool:
    """Return whether the bracket before a text is still open behind it, and no other one is."""
    depth = 1
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return False

    return depth == 1


def _is_in_defaults(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is in the value of a name such as ``default-options``."""
    form = _form_above(lines, number + 1)
    return _DEFAULTS_HEAD.match(form[0][:_MAX_LINE]) is not None


def _is_in_text(lines: Sequence[str], number: int) -> bool:
    """Return whether a text that begins further up in a form, such as a docstring, goes on to a line."""
    above = "\n".join(line[:_MAX_LINE] for line in _form_above(lines, number))
    return '"' in _CLOSED_TEXT.sub("", above)


def _form_above(lines: Sequence[str], number: int) -> Sequence[str]:
    """Return the lines above a line from the nearest form in the first column, which is no part of another one."""
    above = lines[max(0, number - 1 - _FORM_LINES) : number - 1]
    start = next((index for index in range(len(above) - 1, -1, -1) if above[index].startswith("(")), 0)
    return above[start:]


def _without_texts(line: str) -> str:
    """Return a line whose texts and comment are blank, so that columns stay; an overlong line is empty."""
    if len(line) > _MAX_LINE:
        return ""

    blanked = _TEXT.sub(lambda match: " " * len(match[0]), line)
    return blanked.partition(";")[0]
