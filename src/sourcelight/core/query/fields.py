"""The fields of the language: names, aliases, how often they may occur, negation, and the form of their values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

RESULT_TYPES = ("file", "path", "repo", "symbol", "commit", "diff")
COUNT_ALL = 99_999_999

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_YES_NO_ONLY = {
    **dict.fromkeys(["y", "Y", "yes", "YES", "Yes", *_TRUE], "yes"),
    **dict.fromkeys(["n", "N", "no", "NO", "No", *_FALSE], "no"),
    **dict.fromkeys(["o", "only", "ONLY", "Only"], "only"),
}
SYMBOL_KINDS: tuple[str, ...] = (
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enum-member", "struct", "event", "operator", "type-parameter",
)  # fmt: skip
_SELECT: Mapping[str, Mapping[str, object]] = {
    "repo": {},
    "file": {"path": {}, "directory": {}, "owners": {}},
    "content": {},
    "symbol": {kind: {} for kind in SYMBOL_KINDS},
    "commit": {"diff": {"added": {}, "removed": {}}},
}
_VALUES: Mapping[str, tuple[str, ...]] = {
    "type": RESULT_TYPES,
    "visibility": ("any", "public", "private"),
    "patterntype": ("keyword", "standard", "regexp", "literal"),
    "case": ("yes", "no"),
    "count": ("all",),
    **dict.fromkeys(("fork", "archived", "index"), ("yes", "no", "only")),
}
"""The values of fields that take nothing else, in the spelling that is offered."""

_MAX_COMPARED_CHARS = 40
"""Characters of a value that are compared with a vocabulary: more than the longest name, and the time is quadratic."""

_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)\Z", re.ASCII)
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_MAX_DURATION_S = 2**63 / 1e9


@dataclass(frozen=True, slots=True)
class Field:
    """One field: may it `repeat` within an alternative, may it be `negatable`, and what its value must satisfy.

    `check` gets the value and the present time and returns (message, hint) for a bad value, else None.
    """

    name: str
    aliases: tuple[str, ...] = ()
    repeat: bool = False
    negatable: bool = False
    value_first: bool = False
    check: Callable[[str, datetime], tuple[str, str] | None] | None = None


def quote_text(text: str) -> str:
    """Return `text` in double quotes, as messages of the reference show values."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"')
    for char, name in (("\n", "n"), ("\r", "r"), ("\t", "t"), ("\0", "x00")):
        inner = inner.replace(char, f"\\{name}")
    return f'"{inner}"'


def boolean(value: str) -> bool | None:
    """Return what a ``case:`` value means, None when it is no boolean."""
    folded = value.lower()
    if folded in {"y", "yes"} or value in _TRUE:
        return True
    return False if folded in {"n", "no"} or value in _FALSE else None


def yes_no_only(value: str) -> str | None:
    """Return ``yes``, ``no`` or ``only``, None when `value` is none of their spellings."""
    return _YES_NO_ONLY.get(value)


def duration_s(value: str) -> float | None:
    """Return the seconds of a duration such as ``1m30s``, None when it is not one (a unit is required)."""
    if _DURATION.match(value) is None:
        return None
    seconds = sum(float(number) * _UNITS_S[unit] for number, unit in _DURATION_PART.findall(value))
    if seconds >= _MAX_DURATION_S:
        return None
    return -seconds if value.startswith("-") else seconds


def nearest_value(name: str, value: str) -> str | None:
    """Return the value of a field with a closed vocabulary that a misspelled `value` may mean; None when none is near.

    Parameters
    ----------
    name
        A field: ``lang``, ``type``, ``visibility``, ``case`` … Others have no vocabulary, and the answer is None.
    """
    from sourcelight.core.query.languages import find_language, names_and_aliases

    spellings = names_and_aliases() if name == "lang" else _VALUES.get(name, ())
    near = difflib.get_close_matches(value.lower()[:_MAX_COMPARED_CHARS], spellings, 1)
    return (find_language(near[0]) if name == "lang" else near[0]) if near else None


def _did_you_mean(name: str, value: str, otherwise: str) -> str:
    near = nearest_value(name, value)
    return f"did you mean {name}:{near}?" if near else otherwise


def _check_case(value: str, _now: datetime) -> tuple[str, str] | None:
    if boolean(value) is not None:
        return None
    return f"invalid boolean {quote_text(value)}", _did_you_mean("case", value, "write case:yes or case:no")


def _check_count(value: str, _now: datetime) -> tuple[str, str] | None:
    hint = _did_you_mean("count", value, "write a number above zero, or count:all")
    if _INTEGER.match(value) is None:
        return f"field count has value {value}, {value} is not a number", hint
    if len(value) > 12 or not -(2**31) <= int(value) < 2**31:
        return "field count has a value that is out of range, try making it smaller", hint
    return None if int(value) > 0 else ("field count requires a positive number", hint)


def _check_timeout(value: str, _now: datetime) -> tuple[str, str] | None:
    if duration_s(value) is not None:
        return None
    return (
        'invalid value for field \'timeout\' (examples: "timeout:2s", "timeout:200ms")',
        "add a unit: ms, s, m or h",
    )


def _check_yes_no_only(name: str) -> Callable[[str, datetime], tuple[str, str] | None]:
    def check(value: str, _now: datetime) -> tuple[str, str] | None:
        if yes_no_only(value) is not None:
            return None
        message = f'invalid value {quote_text(value)} for field "{name}". Valid values are: yes, only, no'
        return message, _did_you_mean(name, value, f"write {name}:yes")

    return check


def _check_select(value: str, _now: datetime) -> tuple[str, str] | None:
    allowed: object = _SELECT
    for part in value.split("."):
        if not isinstance(allowed, Mapping) or part not in allowed:
            names = sorted(allowed) if isinstance(allowed, Mapping) else []
            near = difflib.get_close_matches(part, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"possible: {', '.join(names)}" if names else ""
            return f"invalid field {quote_text(part)} on select path {quote_text(value)}", hint
        allowed = allowed[part]
    return None


def _check_language(value: str, _now: datetime) -> tuple[str, str] | None:
    from sourcelight.core.query.languages import find_language

    if find_language(value) is not None:
        return None
    return f"unknown language: {quote_text(value)}", _did_you_mean("lang", value, "")


def _check_date(value: str, now: datetime) -> tuple[str, str] | None:
    from sourcelight.core.query.dates import ACCEPTED, parse_date

    try:
        parse_date(value, now)
    except ValueError:
        return "invalid date format", ACCEPTED
    return None


def _check_regexp(value: str, _now: datetime) -> tuple[str, str] | None:
    from sourcelight.core.query.regexps import regexp_problem

    problem = regexp_problem(value)
    return (problem, "put a backslash before characters that should stand for themselves") if problem else None


FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field("repo", ("r",), repeat=True, negatable=True, check=_check_regexp),
        Field("rev", ("revision",)),
        Field("file", ("f", "path"), repeat=True, negatable=True, check=_check_regexp),
        Field("lang", ("l", "language"), repeat=True, negatable=True, check=_check_language),
        Field("content", (), repeat=True, negatable=True),
        Field("case", (), value_first=True, check=_check_case),
        Field("type", (), repeat=True),
        Field("select", (), check=_check_select),
        Field("count", (), value_first=True, check=_check_count),
        Field("timeout", (), check=_check_timeout),
        Field("fork", (), check=_check_yes_no_only("fork")),
        Field("archived", (), check=_check_yes_no_only("archived")),
        Field("index", (), check=_check_yes_no_only("index")),
        Field("visibility"),
        Field("context"),
        Field("patterntype"),
        Field("author", (), repeat=True, negatable=True, check=_check_regexp),
        Field("committer", (), repeat=True, negatable=True, check=_check_regexp),
        Field("message", ("m", "msg"), repeat=True, negatable=True, check=_check_regexp),
        Field("before", ("until",), repeat=True, check=_check_date),
        Field("after", ("since",), repeat=True, check=_check_date),
        Field("repohasfile", (), repeat=True, negatable=True, check=_check_regexp),
        Field("repohascommitafter"),
        Field("rule"),
        Field("g"),
    )
}
ALIASES: Mapping[str, str] = {
    spelling: field.name for field in FIELDS.values() for spelling in (field.name, *field.aliases)
}
PREDICATE_NAMES: Mapping[str, frozenset[str]] = {
    "repo": frozenset({
        "has.file", "contains.file", "has.path", "contains.path", "has.content", "contains.content",
        "has.commit.after", "contains.commit.after", "has.description", "has.topic", "has.meta",
        "has", "has.tag", "has.key", "contains",
    }),
    "file": frozenset({"has.content", "contains.content", "has.owner", "has.contributor"}),
    "rev": frozenset({"at.time"}),
}  # fmt: skip


def current_time() -> datetime:
    """Return the time that relative dates count from."""
    return datetime.now(tz=UTC)
