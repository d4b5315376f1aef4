"""The filters of the language, each defined once with its names, values, scope and meaning.

Everything that lists filters derives its list from here: the parser, what engines support, ranked search, explanations,
contexts, completion, and the table in the reference.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sourcelight.core.query.dates import date_advice, duration_s, parse_date

RESULT_TYPES = ("file", "path", "repo", "symbol", "commit", "diff")

STRUCTURE = "ast-grep"
"""The pattern type of structural search, whose patterns are code of the searched language."""

OTHER_STRUCTURE = "structural"
"""The pattern type of structural search in other services, whose patterns have another syntax."""

PATTERN_TYPES = ("keyword", "standard", "regexp", "literal", STRUCTURE)

NAMED_TYPES: Mapping[str, str] = {**{name: name for name in PATTERN_TYPES}, "lucky": "standard", "regex": "regexp"}
"""The pattern type that each value of ``patternType:`` names."""

# The value of ``count:all``, as services define it.
COUNT_ALL = 99_999_999

COUNT_RANKED = COUNT_ALL - 1
"""All matches, best first; with `COUNT_ALL`, rows are in the order of repository and path."""

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
"""Spellings of the two booleans in Go's `strconv.ParseBool`, which other services use."""

_YES_NO_ONLY: Mapping[str, frozenset[str]] = {
    "yes": frozenset({"y", "Y", "yes", "YES", "Yes"}) | _TRUE,
    "no": frozenset({"n", "N", "no", "NO", "No"}) | _FALSE,
    "only": frozenset({"o", "only", "ONLY", "Only"}),
}
"""The meanings of values such as that of ``fork:``, with their spellings."""

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
_CHOICES = ("yes", "no", "only")

_MAX_COMPARED_CHARS = 40
"""Maximum characters of a value that are compared with known values: comparing is quadratic, and no name is longer."""

# Likeness, from 0 to 1, above which a known value is proposed for an unknown one; the default of `difflib`.
_MIN_LIKENESS = 0.6

_MIN_LIKENESS_OF_LANGUAGES = 0.7
"""Higher, because some of several hundred names are always somewhat like a word: at 0.6, `nosuch` may mean `posh`."""

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")

CODE, MARKDOWN, RAW, OUTPUT = "code", "markdown", "raw", "output"

CELL_FILTERS: Mapping[str, frozenset[str]] = {
    CODE: frozenset({CODE}),
    MARKDOWN: frozenset({MARKDOWN}),
    RAW: frozenset({RAW}),
    OUTPUT: frozenset({OUTPUT}),
    "any": frozenset({CODE, MARKDOWN, RAW, OUTPUT}),
}
"""The values of ``cell:``, with the kinds of text that each searches."""

_REPO_PREDICATES = (
    "has.file", "contains.file", "has.path", "contains.path", "has.content", "contains.content",
    "has.commit.after", "contains.commit.after", "has.description", "has.topic", "has.meta",
    "has", "has.tag", "has.key", "contains",
)  # fmt: skip

_FILE_PREDICATES = ("has.content", "contains.content", "has.owner", "has.contributor")
_SELECTIONS = ("repo", "file", "file.directory", "content", "symbol", "commit.diff.added", "commit.diff.removed")


class FilterScope(Enum):
    """The kind of things that a filter selects."""

    REPOSITORY = "repositories and revisions"
    FILE = "files"
    COMMIT = "commits"
    TEXT = "text to find"
    RESULT = "results"


@dataclass(frozen=True, slots=True)
class Field:
    """One filter: everything known about it, for all lists of filters.

    Parameters
    ----------
    name
        The canonical name, lower case.
    scope
        What it selects. Ranked search, exhaustive search, repository results and contexts depend on it.
    meaning
        What it does, in a few words: shown by explanations and in the reference.
    aliases
        Other names that it may be written with.
    repeat
        Whether it may occur several times within an alternative.
    negatable
        Whether it may be negated.
    value_first
        Whether a bad value is reported before a negation that isn't allowed.
    check
        Called with the value and the current time; returns (message, hint) for an invalid value, else None.
    values
        All values of a filter with a fixed set, or its named ones, in the spelling for completion.
    examples
        Further values that completion offers.
    names
        Kind of names that completion offers as values: ``repository``, ``language``, ``author`` or ``path``.
    predicates
        Names of its predicates, as in ``repo:has.path(…)``, with all spellings.
    replaced_by
        The predicate that replaces a legacy filter.
    label
        Spelling of the name in messages, if it isn't `name`.
    path_regexp
        Of a filter by path: returns the regular expression for paths. It is case-sensitive if the query is. Searches of
        files, definitions, commits and changed lines use it.
    needs_value
        Whether a missing value is an error. Other filters without a value are dropped: ``count: x`` means ``x``.
    supported
        Whether an engine supports it. The parser knows unsupported filters too, so that errors can name them.
    """

    name: str
    scope: FilterScope
    meaning: str
    aliases: tuple[str, ...] = ()
    repeat: bool = False
    negatable: bool = False
    value_first: bool = False
    check: Callable[[str, datetime], tuple[str, str] | None] | None = None
    values: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    names: str = ""
    predicates: tuple[str, ...] = ()
    replaced_by: str = ""
    label: str = ""
    path_regexp: Callable[[str], str] | None = None
    needs_value: bool = False
    supported: bool = True

    @property
    def is_offered(self) -> bool:
        """Whether completion and the reference show it: an engine supports it, and it isn't deprecated."""
        return self.supported and not self.replaced_by


def quote_text(text: str) -> str:
    """Return `text` in double quotes, as messages of the reference show values."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"')
    for char, name in (("\n", "n"), ("\r", "r"), ("\t", "t"), ("\0", "x00")):
        inner = inner.replace(char, f"\\{name}")
    return f'"{inner}"'


def boolean(value: str) -> bool | None:
    """Return the boolean of a ``case:`` value, or None if it isn't one."""
    lowered = value.lower()
    if lowered in {"y", "yes"} or value in _TRUE:
        return True
    if lowered in {"n", "no"} or value in _FALSE:
        return False
    return None


def yes_no_only(value: str) -> str | None:
    """Return ``yes``, ``no`` or ``only``, or None if `value` isn't one of their spellings."""
    return next((meaning for meaning, spellings in _YES_NO_ONLY.items() if value in spellings), None)


def nearest_value(name: str, value: str) -> str | None:
    """Return the known value of a field that a misspelled `value` may mean, or None if none is similar.

    Parameters
    ----------
    name
        A field with a fixed set of values, such as ``lang``, ``type`` or ``case``; for other fields the result is None.
    """
    if name == "lang":
        return _nearest_language(value)
    near = difflib.get_close_matches(value.lower()[:_MAX_COMPARED_CHARS], FIELDS[name].values, 1, _MIN_LIKENESS)
    return near[0] if near else None


def _nearest_language(value: str) -> str | None:
    from sourcelight.core.query.languages import find_language, names_and_aliases

    spellings = names_and_aliases()
    near = difflib.get_close_matches(value.lower()[:_MAX_COMPARED_CHARS], spellings, 1, _MIN_LIKENESS_OF_LANGUAGES)
    return find_language(near[0]) if near else None


def _check_case(value: str, _now: datetime) -> tuple[str, str] | None:
    if boolean(value) is not None:
        return None
    return f"invalid boolean {quote_text(value)}", _did_you_mean("case", value, "write case:yes or case:no")


def _did_you_mean(name: str, value: str, otherwise: str) -> str:
    near = nearest_value(name, value)
    if near is None:
        return otherwise
    return f"did you mean {label_of(name)}:{near}?"


def _check_count(value: str, _now: datetime) -> tuple[str, str] | None:
    if _INTEGER.match(value) is None:
        message = f"field count has value {value}, {value} is not a number"
    # The length first, because Python refuses to convert a text of thousands of digits.
    elif len(value) > 12 or not -(2**31) <= int(value) < 2**31:
        message = "field count has a value that is out of range, try making it smaller"
    elif int(value) > 0:
        return None
    else:
        message = "field count requires a positive number"

    return message, _did_you_mean("count", value, "write a number above zero, or count:all")


def _check_timeout(value: str, _now: datetime) -> tuple[str, str] | None:
    if duration_s(value) is not None:
        return None
    message = 'invalid value for field \'timeout\' (examples: "timeout:2s", "timeout:200ms")'
    return message, "add a unit: ms, s, m or h"


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
            hint = ""
            if near:
                hint = f"did you mean {near[0]}?"
            elif names:
                hint = f"possible: {', '.join(names)}"
            return f"invalid field {quote_text(part)} on select path {quote_text(value)}", hint
        allowed = allowed[part]

    return None


def _check_cell(value: str, _now: datetime) -> tuple[str, str] | None:
    if value in CELL_FILTERS:
        return None
    hint = _did_you_mean("cell", value, f"possible: {', '.join(CELL_FILTERS)}")
    return f'invalid value {quote_text(value)} for field "cell"', hint


def _check_pattern_type(value: str, _now: datetime) -> tuple[str, str] | None:
    # Clients of other services send `structural`. It is ignored, and an alert names the type to use instead.
    if value in NAMED_TYPES or value == OTHER_STRUCTURE:
        return None
    if value == "nls":
        hint = "nls_search ranks files for a question"
    else:
        hint = _did_you_mean("patterntype", value, f"possible: {', '.join(PATTERN_TYPES)}")
    return f"unrecognized patternType {quote_text(value)}", hint


def _check_language(value: str, _now: datetime) -> tuple[str, str] | None:
    from sourcelight.core.query.languages import find_language

    if find_language(value) is not None:
        return None
    return f"unknown language: {quote_text(value)}", _did_you_mean("lang", value, "")


def _check_date(value: str, now: datetime) -> tuple[str, str] | None:
    try:
        parse_date(value, now)
    except ValueError:
        return "invalid date format", date_advice(value)
    return None


def _check_regexp(value: str, _now: datetime) -> tuple[str, str] | None:
    from sourcelight.core.query.regexps import regexp_problem

    problem = regexp_problem(value)
    if problem:
        return (problem, "put a backslash before literal special characters")
    return None


FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field("repo", FilterScope.REPOSITORY, "repositories by name", ("r",), repeat=True, negatable=True,
              check=_check_regexp, names="repository", predicates=_REPO_PREDICATES),
        Field("rev", FilterScope.REPOSITORY, "revisions to search", ("revision",), predicates=("at.time",)),
        Field("file", FilterScope.FILE, "files by path", ("f", "path"), repeat=True, negatable=True,
              check=_check_regexp, names="path", predicates=_FILE_PREDICATES, path_regexp=str),
        Field("lang", FilterScope.FILE, "files of a language", ("l", "language"), repeat=True, negatable=True,
              check=_check_language, names="language"),
        Field("cell", FilterScope.TEXT, "text in cells of notebooks, by kind", check=_check_cell,
              values=tuple(CELL_FILTERS), needs_value=True),
        Field("content", FilterScope.TEXT, "text in files, not in their paths", repeat=True, negatable=True),
        Field("case", FilterScope.TEXT, "whether case matters", value_first=True, check=_check_case,
              values=("yes", "no")),
        Field("type", FilterScope.RESULT, "kinds of results", repeat=True, values=RESULT_TYPES),
        Field("select", FilterScope.RESULT, "what results are reduced to", check=_check_select, examples=_SELECTIONS),
        Field("count", FilterScope.RESULT, "maximum number of matches", value_first=True, check=_check_count,
              values=("all",), examples=("100", "1000")),
        Field("timeout", FilterScope.RESULT, "time limit of the search", check=_check_timeout,
              examples=("10s", "1m", "5m")),
        Field("fork", FilterScope.REPOSITORY, "whether forks are searched", check=_check_yes_no_only("fork"),
              values=_CHOICES),
        Field("archived", FilterScope.REPOSITORY, "whether archives are searched", check=_check_yes_no_only("archived"),
              values=_CHOICES),
        Field("index", FilterScope.RESULT, "whether revisions that are not indexed yet are searched too",
              check=_check_yes_no_only("index"), values=_CHOICES),
        Field("visibility", FilterScope.REPOSITORY, "private or public repositories",
              values=("any", "public", "private")),
        Field("context", FilterScope.REPOSITORY, "a named set of repositories"),
        Field("patterntype", FilterScope.TEXT, "how patterns are read", check=_check_pattern_type,
              values=PATTERN_TYPES, label="patternType"),
        Field("author", FilterScope.COMMIT, "commits whose author matches", repeat=True, negatable=True,
              check=_check_regexp, names="author"),
        Field("committer", FilterScope.COMMIT, "commits whose committer matches", repeat=True, negatable=True,
              check=_check_regexp, names="author"),
        Field("message", FilterScope.COMMIT, "commits whose message matches", ("m", "msg"), repeat=True, negatable=True,
              check=_check_regexp),
        Field("before", FilterScope.COMMIT, "commits with an earlier committer date", ("until",), repeat=True,
              check=_check_date, examples=("yesterday", "last week", "last month")),
        Field("after", FilterScope.COMMIT, "commits with a later committer date", ("since",), repeat=True,
              check=_check_date, examples=("yesterday", "1 week ago", "1 month ago", "1 year ago")),
        Field("repohasfile", FilterScope.REPOSITORY, "repositories with such a file", repeat=True, negatable=True,
              check=_check_regexp, replaced_by="repo:has.path"),
        Field("repohascommitafter", FilterScope.REPOSITORY, "repositories with a commit after a date",
              replaced_by="repo:has.commit.after"),
        Field("rule", FilterScope.FILE, "files that fit a rule", supported=False),
        Field("g", FilterScope.REPOSITORY, "a group of repositories", supported=False),
    )
}  # fmt: skip

ALIASES: Mapping[str, str] = {
    spelling: field.name for field in FIELDS.values() for spelling in (field.name, *field.aliases)
}
"""The name of each filter by its spellings, the name included."""

NEED_VALUES = frozenset(spelling for spelling, name in ALIASES.items() if FIELDS[name].needs_value)
"""Spellings of the filters for which a missing value is an error."""

PATH_REGEXPS: Mapping[str, Callable[[str], str]] = {
    field.name: field.path_regexp for field in FIELDS.values() if field.path_regexp is not None
}
"""The function that returns the regular expression, for each filter by path."""

FILE_FIELDS = tuple(field.name for field in FIELDS.values() if field.supported and field.scope is FilterScope.FILE)
"""Names of the filters that select files."""

PREDICATE_NAMES: Mapping[str, frozenset[str]] = {
    field.name: frozenset(field.predicates) for field in FIELDS.values() if field.predicates
}

DATED: frozenset[str] = frozenset(spelling for spelling, name in ALIASES.items() if FIELDS[name].check is _check_date)
"""Spellings of the filters whose value may be a relative date."""


def names_of(*scopes: FilterScope) -> frozenset[str]:
    """Return the names of the filters with one of `scopes` that an engine answers."""
    return frozenset(field.name for field in FIELDS.values() if field.supported and field.scope in scopes)


def label_of(name: str) -> str:
    """Return the name of a filter as messages write it: ``patternType`` for ``patterntype``."""
    return FIELDS[name].label or name
