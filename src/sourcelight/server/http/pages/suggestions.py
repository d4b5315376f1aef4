"""Suggestions of the query box: filters, their values, and names of repositories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sourcelight.core.query.fields import ALIASES, FIELDS
from sourcelight.core.query.languages import LANGUAGES

MAX_SUGGESTIONS = 12
_MAX_CHARS = 2_000
_WORD = re.compile(r"(?P<not>-?)(?:(?P<field>[A-Za-z]+):)?(?P<value>[^\s]*)$")


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
    before = text[: match.start()]
    negation, name, value = match["not"], match["field"], match["value"]
    if name is None:
        if not value:
            return []
        fields = (field for field in FIELDS.values() if field.is_offered and field.name.startswith(value.lower()))
        return [
            _entry(f"{before}{negation}{field.label or field.name}:", f"{field.label or field.name}:", field.meaning)
            for field in fields
            if field.negatable or not negation
        ][:MAX_SUGGESTIONS]

    field = FIELDS.get(ALIASES.get(name.lower(), ""))
    if field is None:
        return []

    head = f"{before}{negation}{name}:"
    suggestions = list(dict.fromkeys(_values(field, value, repositories)))[:MAX_SUGGESTIONS]
    return [_entry(f"{head}{suggestion} ", suggestion, "") for suggestion in suggestions if suggestion != value]


def _values(field: Any, value: str, repositories: Iterable[str]) -> Iterator[str]:
    prefix = value.lower()
    for candidate in (*field.values, *field.examples):
        if candidate.lower().startswith(prefix):
            yield f'"{candidate}"' if " " in candidate else candidate

    if field.names == "repository":
        prefix = prefix.lstrip("^").replace("\\", "")
        for name in repositories:
            if prefix in name.lower():
                yield f"^{re.escape(name)}$"

    if field.names == "language":
        for language in LANGUAGES:
            if language.lower().startswith(prefix):
                yield f'"{language}"' if " " in language else language


def _entry(text: str, label: str, meaning: str) -> dict[str, Any]:
    return {"text": text, "label": label, "meaning": meaning}
