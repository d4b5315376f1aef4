"""From a number in an answer about history to the call that lists the commits behind it.

An answer says in its attribute ``drill_down`` how: ``call`` and ``arguments`` that hold for all rows, and ``columns``,
which maps further arguments to the columns that they are taken from.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_LISTS = frozenset({"repos", "authors", "files", "revisions", "messageTerms", "contentTerms"})


def drill_down(attributes: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name the call, and its arguments, that lists what is behind a row.

    Parameters
    ----------
    attributes
        Those of the answer (of a frame: its ``attrs``).
    row
        Values by column; of a frame, ``row._asdict()`` or ``frame.loc[i].to_dict()``.

    Raises
    ------
    KeyError
        If the answer has no ``drill_down``.
    """
    rule = attributes["drill_down"]
    arguments = dict(rule["arguments"])
    for name, column in rule["columns"].items():
        value = _person(row) if column == "author" else row.get(column)
        if value is None or value != value:  # noqa: PLR0124 - a missing value of pandas is not itself
            continue
        if isinstance(value, datetime):
            instant = _instant(value, name)
            narrower = max if name == "after" else min
            arguments[name] = narrower(instant, arguments.get(name, instant))
        elif name == "authors":
            arguments[name] = attributes.get("aliases", {}).get(value, [value])
        else:
            arguments[name] = [str(value)] if name in _LISTS else value
    return rule["call"], arguments


def _person(row: Mapping[str, Any]) -> str | None:
    name, email = row.get("author"), row.get("author_email")
    if not isinstance(email, str):
        return None
    return f"{name} <{email}>"


def _instant(value: datetime, argument: str) -> str:
    """A bound as calls read it; both of theirs are exclusive, while a period holds its first second."""
    instant = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if argument == "after":
        instant -= timedelta(seconds=1)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
