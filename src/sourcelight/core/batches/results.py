"""Results and progress of tool calls, embedded and remote alike, with their order of rows and addresses.

The attribute ``drill_down`` leads from a number to the commits behind it: ``call`` and ``arguments`` that hold for all
rows, and ``columns``, which maps further arguments to the columns that have their values.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

_LISTS = frozenset({"repos", "authors", "files", "revisions", "messageTerms", "contentTerms"})
"""Arguments with several values, which an address has as one each."""

TIES = ("repository", "directory", "path", "other_path", "author", "author_email")
"""Columns that distinguish groups, in the order in which they break ties; text by code points, null last."""

FILE_BYTES, LAST_LINE_IS_OPEN = b"bytes", b"last_line_is_open"
"""In the metadata of a table of lines: the size of the whole file, and ``1`` if its last line has no newline."""

REPOSITORIES_COUNTED = b"repositories"
"""In the metadata of a table of counts: the number of repositories with matches, for any grouping."""

COUNT_SKIPPED = b"skipped"
"""In the metadata of an incomplete table of counts: what it leaves out, as JSON of `wire.encode.encode_skipped`."""

_ADDRESS = re.compile(
    r"/(?P<repository>[^?]+?)(?:@(?P<commit>[0-9a-f]{40,64}))?(?:/-/(?P<kind>blob|tree|commit)/(?P<rest>.*))?",
    re.DOTALL,
)
"""The path of an address: ``/owner/name@1f4c…/-/blob/src/retry.py``."""


def drill_down(attributes: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the call, with its arguments, that lists the rows behind a row.

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
    """Return a bound as calls read it; both of theirs are exclusive, while a period holds its first second."""
    instant = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if argument == "after":
        instant -= timedelta(seconds=1)
    return time_text(instant)


def time_text(instant: datetime) -> str:
    """Return a time in UTC as RFC 3339, to the second."""
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_time(text: str) -> datetime | None:
    """Return an RFC 3339 text as a time in UTC, or None without a text, for Go's zero time, and for unparsable text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time.astimezone(UTC) if time.year > 1 else None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A table and its attributes.

    Attributes
    ----------
    columns
        Name of the table's columns in `sourcelight.core.tools.catalog.COLUMNS`.
    table
        Arrow table with exactly these columns, in order; the same for an empty answer.
    attributes
        JSON-like values beside the rows: what was asked, the resolved commits and dates, totals, cursors.
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


@dataclass(frozen=True, slots=True)
class AdvertisedTool:
    """A tool of a service, as the service describes it: `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ToolReply(NamedTuple):
    """The answer of a tool of a service, as sent; `other` names the kinds of content that aren't text."""

    structured: Mapping[str, Any] | None
    texts: Sequence[str]
    other: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Progress of a call: `done` of `total` units (0: not known) of `stage`, such as "reading history".

    `rows` is an Arrow table of the rows since the last report, with the columns of the answer, for calls that yield
    rows as they arrive.
    """

    stage: str
    done: int = 0
    total: int = 0
    detail: str = ""
    rows: Any = None


CallObserver = Callable[[ToolProgress], None]
"""Called from the thread that works, a few times a second at most; has to return at once."""


def repository_url(base_url: str, repository: str, commit: str = "") -> str:
    """Return the address of a repository, optionally at a commit; relative to the service if `base_url` is empty."""
    return f"{base_url}/{quote(repository, safe='/ ()@').replace(' ', '%20')}{'@' + commit if commit else ''}"


def place_name(url: str) -> str:
    """Return the short name of a file's lines or of a commit at an address, for a link that needs few letters.

    Empty for any other address.

    Examples
    --------
    >>> place_name(file_url("", "host/owner/name", "f" * 40, "src/a b.py", (3, 9)))
    'a b.py:3-9'
    >>> place_name("/host/owner/name/-/commit/" + "f" * 40)
    'commit ffffffffffff'
    """
    path, _, query = url.partition("?")
    match = _ADDRESS.fullmatch(unquote(path))
    if match is None:
        return ""
    if match["kind"] == "commit":
        return f"commit {match['rest'][:12]}"

    first, _, last = query.removeprefix("L").partition("-")
    lines = first if last in {"", first} else f"{first}-{last}"
    name = (match["rest"] or "").rpartition("/")[2]
    return f"{name}:{lines}" if name and query.startswith("L") and lines else name


def place_text(url: str) -> str:
    """Return a text for an address of the service, for readers without its pages.

    Parameters
    ----------
    url
        An address relative to the service, as `file_url` and `repository_url` give it.

    Examples
    --------
    >>> place_text(file_url("", "host/owner/name", "f" * 40, "src/a b.py", (3, 9)))[-24:]
    'ffffffff:src/a b.py#L3-9'
    """
    path, _, query = url.partition("?")
    match = _ADDRESS.fullmatch(unquote(path))
    if match is None or path.startswith("/deepsearch/"):
        return url

    name, commit, kind, remaining = match["repository"], match["commit"], match["kind"], match["rest"]
    if kind == "commit":
        return f"{name}@{remaining}"
    if name == "search" and query.startswith("q="):
        return f"search: {unquote(query[2:])}"

    text = f"{name}@{commit}" if commit else name
    text += f":{remaining}" if remaining else ""
    return f"{text}#{query}" if query.startswith("L") else text


def file_url(base_url: str, repository: str, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
    """Return the address of a file at a commit, with the lines `lines` (first and last, 1-based) if given."""
    url = f"{repository_url(base_url, repository, commit)}/-/blob/{quote(path)}"
    return url if lines is None else f"{url}?L{lines[0]}-{lines[1]}"


def group_order(keys: Sequence[Any], columns: Mapping[str, Any]) -> Any:
    """Return the indices that sort groups by `keys`, ascending, then by the columns of `TIES` among `columns`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = {f"key {number}": pa.array(key) for number, key in enumerate(keys)}
    for name in TIES:
        if name in columns:
            arrays[name] = columns[name].cast(pa.string())

    order = [(name, "ascending") for name in arrays]
    return pc.sort_indices(pa.table(arrays), sort_keys=order)


def columns_of(table: Any) -> dict[str, Any]:
    """Return the columns of an Arrow table that break ties, by name."""
    return {name: table.column(name) for name in TIES if name in table.column_names}


def tie_key(row: Mapping[str, Any]) -> tuple[tuple[bool, str], ...]:
    """Return the key that breaks ties between rows, in the order of `group_order`."""
    return tuple((row.get(name) is None, row.get(name) or "") for name in TIES)


def most_frequent(counts: Mapping[Any, int], limit: int) -> list[tuple[Any, int]]:
    """Return the `limit` keys with the highest counts and those, ties by key; an order of arrival plays no part."""
    return heapq.nsmallest(limit, counts.items(), key=lambda item: (-item[1], str(item[0])))
