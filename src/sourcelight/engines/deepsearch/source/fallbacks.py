"""Read what replaces an absent value: ``x || 5``, ``x.unwrap_or(5)``, ``5 if x is None else x``.

A fallback is a default of the name that it is for, if it is a literal, or made of literals alone such as a duration.
Operators and calls have the name and the value on one line. A choice has a condition, which must ask for nothing but
whether the name has a value: a limit such as ``size > 10 ? 10 : size`` is no default. Each pattern reads a bounded part
of a line, since the text of a repository is hostile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_MAX_CHOICE, _MAX_BODY_LINES, _MAX_LINE = 240, 400, 600
"""Characters of a conditional expression, lines of a body, and characters of a line that are read."""

# Values.
_NAME = r"[@$]{0,2}[A-Za-z_][\w$]*"
"""A name with the sign of its language: `size`, `$size`, `@size`."""

_PATH = rf"(?:{_NAME}(?:\??\.|->|::)){{0,3}}"
"""Objects before a name: `options.`, `this->options->`, `Dam::`."""

_LITERAL = (
    r"(?:-?\.?\d[\w.]*(?:\s*(?:\*\*?|<<|\+|-|/|\^)\s*\d[\w.]*){0,4}|\"[^\"\n]{0,120}\"|'[^'\n]{0,120}'|`[^`$\n]{0,120}`"
    r"|(?i:true|false|none|nil|null|undefined)\b|:[a-z_]\w*|Infinity\b)"
)
LITERAL = re.compile(_LITERAL)
"""A literal: `5`, `60 * 60`, `"text"`, `nil`, `:symbol`."""

_ARGUMENTS = rf"(?:\w{{1,20}}\s*[=:]\s*)?{_LITERAL}(?:\s*,\s*(?:\w{{1,20}}\s*[=:]\s*)?{_LITERAL}){{0,3}}"
_MADE_OF_LITERALS = re.compile(
    r"(?:Some\(\s*)?"
    rf"(?:{_LITERAL}(?:\.(?:freeze|to_string\(\)|to_owned\(\)|into\(\)|(?:mega|kilo|giga)bytes?"
    r"|(?:milli)?seconds?|minutes?|hours?|days?|weeks?))?"
    r"|(?:[A-Za-z_]\w*(?:::|\.)){0,3}(?:Duration|TimeSpan|timedelta|DataSize|Some|int64|int32|uint64|uint32|float64"
    r"|float32|int|uint|String|Decimal|BigDecimal|BigInteger)(?:(?:::|\.)[A-Za-z_]\w*)?"
    rf"\(\s*{_ARGUMENTS}\s*\)"
    r"|(?:[A-Z]\w{0,40}(?:::|\.)){1,3}(?:from|new|parse|of|valueOf)(?:_[a-z]\w{0,30}|[A-Z]\w{0,30})?"
    rf"\(\s*{_ARGUMENTS}\s*\)|new\s+[A-Z]\w{{0,40}}\(\s*{_ARGUMENTS}\s*\)"
    rf"|(?:[A-Z]\w{{0,40}}\.){{1,4}}[a-z]\w{{0,40}} {_LITERAL})"
    r"\s*\)?"
)
"""A value that literals alone make: a duration, an optional value, a number of a type, ``Span.of_sec 2.`` of OCaml."""
# Operators and calls.
_REPLACED = re.compile(
    rf"(?:[\"':](?P<key>[A-Za-z_][\w.-]{{0,60}})[\"']?\s*[\])]?|(?<![\w$]){_NAME}(?:\.|->|\?\.)(?P<member>\w+)"
    rf"|(?<![\w$.])(?P<name>{_NAME}))\s*(?:\|\||\?\?|\?:|\bor\b|//|%\|\|%)\s*(?P<value>{_LITERAL})"
)
"""A literal behind an operator: `options["size"] || 5`, `options.size ?? 5`, `size or 5`, `size // 5` of Perl."""

_FETCHED = re.compile(
    r"\b\w{0,30}(?:[gG]et|[fF]etch|[eE]nv|[dD]efault|[oO]ption|[pP]aram|[sS]etting|[cC]onfig)\w{0,30}\s*\(\s*"
    r"(?:[\w.$@:]{1,40}\s*,\s*)?[\"':](?P<key>[A-Za-z_][\w.-]{0,60})[\"']?\s*,\s*"
    rf"(?P<value>{_LITERAL})\s*\)"
)
"""A literal as the second argument of a look-up: `config.get("size", 5)`, `fetch(:size, 5)`."""

_OPTIONAL = re.compile(
    rf"\bdefaultArg\s+(?P<argument>{_NAME})\s+(?P<value>{_LITERAL})"
    rf"|(?:(?<![\w$])(?P<name>{_NAME})|[\"'](?P<key>[A-Za-z_][\w.-]{{0,60}})[\"']\))"
    rf"\.(?:unwrap_or|getOrElse|orElse|map_or)\(\s*(?:(?:Ok|Some)\(\s*)?(?P<other>{_LITERAL})\s*[),]"
    rf"|\b(?:fromMaybe|Maybe\.withDefault)\s+(?P<first>{_LITERAL})\s+\(?(?P<maybe>{_NAME})\b"
)
"""A value for an absent optional one, in F#, Rust, Scala, Java, Haskell and Elm: `size.unwrap_or(5)`."""

_MAX_BEFORE = 80
_CHOSEN = re.compile(r"(?:\band|&&)\s+[\w.():\[\]]*$|(?:[=!]==?|[<>]=|(?<![-=])[<>])\s*$")
"""Text before a name that a condition chooses: in `open and delay or 0`, the number is no value of an absent delay."""

_COMPARED = re.compile(r"\s*(?:[<>]=?|[!=]==?)\s")
"""Text behind a number that is compared: `limit === null || 1 <= limit`."""

# Choices.
_CHOICE = re.compile(r"(?P<condition>[^?]{1,120}?)\s\?\s(?P<yes>[^?:]{1,100}?)\s:\s(?P<no>[^?:]{1,100})")
"""A choice with its condition first: `size != null ? size : 5`."""

_CHOICE_BEHIND = re.compile(
    r"(?P<yes>.{1,100}?)(?<!\s)\s++if\s++(?P<condition>.{1,120}?)(?<!\s)\s++else\s++(?P<no>.{1,100})"
)
"""A choice with its condition in the middle: `size if size is not None else 5`."""

_ABSENT = r"(?:undefined|null|nil|None|NULL|nullptr|\"undefined\"|'undefined'|0|-1|\"\"|'')"
"""A value that means that there is none."""

_CONDITION_LINE = re.compile(r"\s*(?:\}\s*)?(?:if|unless|when|elif|else\s+if|\[\[?|test)\b|\s*\[")
"""The beginning of a condition on a line of its own: `if`, `} else if`, `[[` of a shell."""


@dataclass(frozen=True, slots=True)
class FallbackValue:
    """A name, the value that replaces an absent one, and the column of the name, from 0."""

    name: str
    value: str
    column: int


def is_made_of_literals(text: str) -> bool:
    """Return whether a value is a literal, or a duration, an optional value or a number made of literals."""
    return (
        len(text) <= _MAX_CHOICE
        and _MADE_OF_LITERALS.fullmatch(text) is not None
        and text.count("(") == text.count(")")
    )


def read_fallbacks(text: str) -> Iterator[FallbackValue]:
    """Yield what a line gives to names that have no value: behind ``||``, ``??`` or ``or``, or as a second argument."""
    for pattern in (_REPLACED, _FETCHED):
        for match in pattern.finditer(text):
            is_compared = _COMPARED.match(text, match.end()) is not None
            if is_compared or _CHOSEN.search(text[max(0, match.start() - _MAX_BEFORE) : match.start()]) is not None:
                continue
            yield FallbackValue(_first_group(match, "key", "member", "name"), match["value"], match.start())

    for match in _OPTIONAL.finditer(text):
        name = _first_group(match, "argument", "name", "key", "maybe")
        value = _first_group(match, "value", "other", "first")
        yield FallbackValue(name, value, match.start())


def _first_group(match: re.Match[str], *names: str) -> str:
    """Return the first of some groups that has matched; one has."""
    groups = match.groupdict()
    return next(group for name in names if (group := groups.get(name)))


class ChosenFallback(NamedTuple):
    """The name that a choice is about, and the literal that replaces it."""

    name: str
    value: str


def read_choice(expression: str) -> ChosenFallback | None:
    """Return the fallback in a conditional expression; None for another one.

    The condition asks whether the name has a value, one branch is the name, and the other one is the literal, as in
    ``options.size !== undefined ? options.size : 5``. A limit, such as ``size > 10 ? 10 : size``, is none.
    """
    if len(expression) > _MAX_CHOICE:
        return None

    match = _CHOICE.fullmatch(expression) or _CHOICE_BEHIND.fullmatch(expression)
    if match is None:
        return None

    # Either branch may be the name.
    condition = match["condition"].strip("() ")
    for present, absent in ((match["yes"], match["no"]), (match["no"], match["yes"])):
        option = re.fullmatch(rf"{_PATH}({_NAME})[!]?", present.strip())
        if option is None or not is_made_of_literals(absent.strip()):
            continue
        if LITERAL.fullmatch(present.strip()) is None and _asks_for(condition, option[1]):
            return ChosenFallback(option[1], absent.strip())

    return None


def _asks_for(condition: str, name: str) -> bool:
    """Return whether a condition only asks whether a name has a value."""
    option = rf"{_PATH}{re.escape(name)}"
    tests = (
        rf"!?\s*{option}",
        rf"(?:typeof\s+)?{option}\s*(?:[!=]==?|is(?:\s+not)?|>|>=|<=?)\s*{_ABSENT}",
        rf"[\"']{re.escape(name)}[\"']\s+in\s+[\w.$]+",
        rf"[\w.]*(?:isset|empty|defined|has|isNullOrEmpty|IsNullOrEmpty|hasOwnProperty)\(\s*[\"':]?{option}[\"']?",
        rf"{option}\.(?:nil\?|blank\?|present\?|empty\?|isEmpty\(|is_some\(|is_none\()",
    )
    return any(re.fullmatch(test, condition) is not None for test in tests)


def asks_whether_absent(line: str, name: str) -> bool:
    """Return whether a line is a condition that holds if a name has no value, as in ``if options.size == 0 {``."""
    if len(line) > _MAX_LINE:
        return False

    option = rf"{_PATH}[@$]{{0,2}}{re.escape(name)}(?![\w$])"
    absent = (
        rf"{option}\s*(?:===?|is|<=)\s*(?:{_ABSENT}|time\.Duration\(0\))(?![\w.])",
        rf"{option}\s*<\s*1(?![\w.])",
        rf"(?:!|\bnot)\s*\(?{option}(?!\s*(?:\.|->|\(|==))",
        rf"\bunless\s+(?:defined\s+)?{option}",
        rf"{option}\.(?:nil\?|blank\?|empty\?|isEmpty\b|is_none\b|is_empty\b|IsZero\b)",
        rf"\b(?:len|empty|is_null|is\.null|missing|IsNullOrEmpty|isEmpty|isNaN|!isset|is_nil)\s*\(\s*{option}\s*\)(?:\s*==\s*0)?",
        rf"-z\s+\"?\$\{{?{re.escape(name)}\b",
    )
    is_condition = _CONDITION_LINE.match(line) is not None
    return is_condition and name in line and any(re.search(test, line) is not None for test in absent)


def replaces_absent(lines: Sequence[str], first: int, last: int, name: str) -> bool:
    """Return whether a body (lines from 1) may give a parameter a value if its caller gives none."""
    word = re.escape(name)
    # An operator behind the name, a negation or a condition before it, or a look-up of it.
    replacement = re.compile(
        rf"(?<![\w$]){word}\s*(?:\|\||\?\?|\?:|\bor\b|//|%\|\|%|\|\|=|\?\?=|===?|!==?|\bis\b|\?)"
        rf"|(?:!|\bnot|\bunless|\bmissing\(|\bis\.null\(|\bempty\(|\bisset\(|-z)\s*\(?\s*[\"$@]{{0,3}}{word}(?![\w$])"
        rf"|\b(?:if|unless|elif|elseif|when)\s*\(?\s*[$@]?{word}(?![\w$])"
        rf"|\bmatch\.arg\(\s*{word}\b|\.get\(\s*[\"']{word}[\"']|\$\{{{word}:?[-=]"
    )
    return any(
        name in line and len(line) <= _MAX_LINE and replacement.search(line) is not None
        for line in lines[first - 1 : min(last, first + _MAX_BODY_LINES)]
    )
