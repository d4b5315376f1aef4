"""What a query may go on with: filters and their values, from what is known already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sourcelight.core.query import PATTERN_TYPES
from sourcelight.core.query.fields import ALIASES, FIELDS, PREDICATE_NAMES, RESULT_TYPES
from sourcelight.core.query.quoting import quote_value
from sourcelight.core.query.regexps import escape_name

_OTHERS = {
    "type": RESULT_TYPES,
    "case": ("yes", "no"),
    "fork": ("yes", "no", "only"),
    "archived": ("yes", "no", "only"),
    "visibility": ("any", "public", "private"),
    "patterntype": tuple(PATTERN_TYPES),
    "count": ("all", "100", "1000"),
    "timeout": ("10s", "1m", "5m"),
    "select": ("repo", "file", "file.directory", "content", "symbol", "commit.diff.added", "commit.diff.removed"),
    "before": ("yesterday", "last week", "last month"),
    "after": ("yesterday", "1 week ago", "1 month ago", "1 year ago"),
}
_HIDDEN = frozenset({"rule", "g", "repohasfile", "repohascommitafter"})
_KINDS = {"repo": "repository", "author": "author", "committer": "author", "file": "path"}
_MOST = 100
_REGEXP = re.compile(r"([\\.+*?()|\[\]{}^$])")
_FIELD = re.compile(r"(?P<dash>-?)(?P<name>[A-Za-z]+):(?P<value>.*)", re.DOTALL)
_PREFIX = re.compile(r"(?P<dash>-?)(?P<name>[A-Za-z]*)")
Names = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text that may stand in place of the fragment, and what it is: ``filter`` or ``value``."""

    text: str
    kind: str


def term_of(query: str) -> str:
    """The term that a query ends with, as far as it goes; empty behind a blank.

    Examples
    --------
    >>> term_of('repo:x author:"Ann B')
    'author:"Ann B'
    >>> term_of("/a b/ (la")
    'la'
    """
    at = begin = 0
    closing = ""
    while at < len(query):
        char = query[at]
        if closing:
            if char == "\\":
                at += 1
            elif char == closing:
                closing = ""
        elif char.isspace() or (char in "()" and ":" not in query[begin:at]):
            begin = at + 1
        elif (char in "\"'" and (at == begin or query[at - 1] == ":")) or (char == "/" and at == begin):
            closing = char
        at += 1
    return query[begin:]


def suggest(query: str, names: Names) -> tuple[str, list[Suggestion]]:
    """The fragment at the end of `query`, and what may stand in its place, the likeliest first.

    Parameters
    ----------
    query
        Text of the query up to the cursor.
    names
        Gives the names known of a kind: ``repository``, ``language``, ``author`` or ``path``.
    """
    term = term_of(query)
    found = _FIELD.fullmatch(term)
    if found and found["name"].lower() in ALIASES:
        field = ALIASES[found["name"].lower()]
        return found["value"], list(_values(field, found["value"], names))
    bare = _PREFIX.fullmatch(term)
    if bare is None:
        return term, []
    wanted = bare["name"].lower()
    fields = [
        Suggestion(f"{bare['dash']}{name}:", "filter")
        for name, field in FIELDS.items()
        if name not in _HIDDEN and (field.negatable or not bare["dash"])
        and any(spelling.startswith(wanted) for spelling in (name, *field.aliases))
    ]  # fmt: skip
    return term, fields


def _values(field: str, typed: str, names: Names) -> Iterator[Suggestion]:
    wanted = _plain(typed)
    found: dict[str, None] = {}
    for text in _of(field, names):
        name, written = text
        if wanted in name.lower() and written not in found:
            found[written] = None
            if len(found) >= _MOST:
                break
    for name in sorted(PREDICATE_NAMES.get(field, ())):
        if typed and name.startswith(typed.lower()):
            found[f"{name}("] = None
    for written in found:
        if written != typed:
            yield Suggestion(written, "value")


def _of(field: str, names: Names) -> Iterator[tuple[str, str]]:
    """Names of values of a field, and how they are written behind its colon."""
    if field == "lang":
        from sourcelight.core.query.languages import LANGUAGES

        for name in (*names("language"), *LANGUAGES):
            yield name, quote_value(name.lower())
    elif field in _KINDS:
        for name in names(_KINDS[field]):
            escaped = escape_name(name) if field == "repo" else _REGEXP.sub(r"\\\1", name)
            yield name, quote_value(f"^{escaped}$" if field in {"repo", "file"} else escaped)
    else:
        for value in _OTHERS.get(field, ()):
            yield value, quote_value(value)


def _plain(typed: str) -> str:
    """What was typed of a value, without the signs of quotes and regular expressions."""
    return re.sub(r"\\(.)", r"\1", typed.lstrip("\"'^").rstrip("$")).lower()
