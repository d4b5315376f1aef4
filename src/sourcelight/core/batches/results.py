"""From a number in an answer about history to the call that lists the commits behind it.

An answer says in its attribute ``drill_down`` how: ``call`` and ``arguments`` that hold for all rows, and ``columns``,
which maps further arguments to the columns that they are taken from.

The answer to a tool call or an analysis, and the progress of one: the same embedded and remote.

Addresses of repositories and files at a service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

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


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A table with what is to be known about it.

    Attributes
    ----------
    columns
        Name of the table's columns in `sourcelight.core.tools.catalog.COLUMNS`.
    table
        Arrow table with exactly these columns, in order; the same for an empty answer.
    attributes
        JSON-like facts beside the rows: what was asked, the resolved commits and dates, totals, cursors.
    complete
        Whether the table is all there is.
    notices
        Why not, and what else the reader has to know: one sentence each, safe to show as text.
    """

    columns: str
    table: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    notices: tuple[str, ...] = ()


REPOSITORIES_COUNTED = b"repositories"
"""In the metadata of a table of counts: how many repositories have matches, whatever was counted by."""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """How far a call has come: `done` of `total` units (0: not known) of `stage`, such as "reading history".

    `rows` is an Arrow table of the rows that were found since the last time that some were told, for calls that give
    them as they are found; with the columns of the answer.
    """

    stage: str
    done: int = 0
    total: int = 0
    detail: str = ""
    rows: Any = None


CallObserver = Callable[[ToolProgress], None]
"""Called from the thread that works, a few times a second at most; has to return at once."""


def repository_url(base_url: str, repository: str, commit: str = "") -> str:
    """Address of a repository, at a commit if one is given; relative to the service where `base_url` is empty."""
    return f"{base_url}/{quote(repository, safe='/ ()@').replace(' ', '%20')}{'@' + commit if commit else ''}"


def file_url(base_url: str, repository: str, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
    """Address of a file at a commit, with the lines `lines` (first and last, 1-based) if given."""
    url = f"{repository_url(base_url, repository, commit)}/-/blob/{quote(path)}"
    return url if lines is None else f"{url}?L{lines[0]}-{lines[1]}"
