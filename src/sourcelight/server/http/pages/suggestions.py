"""Suggestions of the query box: filters, their values, and names of repositories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sourcelight.core.query.fields import ALIASES, FIELDS, Field, label_of
from sourcelight.core.query.languages import LANGUAGES

MAX_SUGGESTIONS = 12
"""Suggestions that fit below the box without scrolling."""

_MAX_CHARS = 2_000
_WORD = re.compile(r"(?P<not>-?)(?:(?P<field>[A-Za-z]+):)?(?P<value>[^\s]*)$")
"""The last word of a query: ``-lang:py`` in ``retry -lang:py``."""


def suggest(text: str, repositories: Iterable[str]) -> list[dict[str, Any]]:
    """Return completions of the last word of `text`.

    Parameters
    ----------
    text
        The query up to the cursor.
    repositories
        Names of the repositories that the reader may see.

    Returns
    -------
    list of dict
        ``text``: the query with the suggestion; ``label`` and ``meaning``: what to show of it.

    Examples
    --------
    >>> suggest("retry la", [])[0]["text"]
    'retry lang:'
    >>> suggest("retry case:", [])[0]["text"]
    'retry case:yes '
    >>> suggest("retry -repo:exa", ["example/lamp"])[0]["label"]
    '^example/lamp$'
    """
    text = text[:_MAX_CHARS]
    match = _WORD.search(text)
    assert match is not None  # noqa: S101 - an empty word matches everywhere
    before = text[: match.start()] + match["not"]
    name = match["field"]
    value = match["value"]
    if name is None:
        return _filters(before, value, is_negated=bool(match["not"]))

    field = FIELDS.get(ALIASES.get(name.lower(), ""))
    if field is None:
        return []

    head = f"{before}{name}:"
    suggestions = list(dict.fromkeys(_values(field, value, repositories)))[:MAX_SUGGESTIONS]
    return [_entry(f"{head}{suggestion} ", suggestion, "") for suggestion in suggestions if suggestion != value]


def _filters(before: str, start: str, *, is_negated: bool) -> list[dict[str, Any]]:
    """Return the filters whose name begins with `start`; `before` is the query in front of it."""
    if not start:
        return []

    entries: list[dict[str, Any]] = []
    for field in FIELDS.values():
        if not field.is_offered or not field.name.startswith(start.lower()):
            continue
        if is_negated and not field.negatable:
            continue
        label = f"{label_of(field.name)}:"
        entries.append(_entry(before + label, label, field.meaning))
    return entries[:MAX_SUGGESTIONS]


def _values(field: Field, value: str, repositories: Iterable[str]) -> Iterator[str]:
    """Yield values of a filter that begin with `value`; of repositories, those that have it in their name."""
    prefix = value.lower()
    for candidate in (*field.values, *field.examples):
        if candidate.lower().startswith(prefix):
            yield _quote(candidate)

    if field.names == "repository":
        prefix = prefix.lstrip("^").replace("\\", "")
        for name in repositories:
            if prefix in name.lower():
                yield f"^{re.escape(name)}$"

    if field.names == "language":
        for language in LANGUAGES:
            if language.lower().startswith(prefix):
                yield _quote(language)


def _quote(value: str) -> str:
    """Return a value as a query has it: in quotes if it has a blank."""
    if " " in value:
        return f'"{value}"'
    return value


def _entry(text: str, label: str, meaning: str) -> dict[str, Any]:
    return {"text": text, "label": label, "meaning": meaning}
