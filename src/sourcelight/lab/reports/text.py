"""Text of reports: values of cells, dates and shares in words, and the addresses that cells lead to."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sourcelight.core.markup import count_of, join_words, name_in_sentence, one_line
from sourcelight.display.notebook.views.links import Link, LinkResolver
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable

if TYPE_CHECKING:
    from sourcelight.client import Client

MAX_CHARS = 200
"""Characters of a cell: a table of a report isn't the place for a whole message."""

_COMMIT_DIGITS = 12
"""Digits of a commit in a cell."""

_NAMES = frozenset({"author", "last_author", "status", "path", "directory", "organization"})
_USUAL_NAME = 24
"""Columns of names, and characters up to which a name stays on one line."""

_USUAL = {"exact": True}
"""The usual value of columns with yes or no, which isn't written; it is no for all others."""

_WITHOUT_SEPARATORS = frozenset({"cohort", "line_number", "pull_request", "year"})
"""Columns whose whole numbers name something, such as a year, and count nothing."""

_BY_DAY = frozenset({"period", "first_date", "last_date", "oldest_date", "newest_date"})
"""Columns of times that are shown as days: an hour says nothing about the first commit of a person."""

_DAYS_OF_MONTH = 30.44
_DAYS_OF_YEAR = 365.25
"""Days of a month and of a year on average."""

# Bounds of `compare_counts`, which says why.
_MIN_COMPARED = 10
_MIN_TIMES = 2
_MAX_TIMES = 10


def format_cell(value: Any, column: str = "") -> str:
    """Return a value as one line of visible text: numbers with separators, times to the minute, nothing for null.

    A fraction is a percentage where the column is named a share, a commit its first digits, and the ends of a time
    are days. A year and other numbers that count nothing have no separators.
    """
    import numpy as np
    import pandas as pd

    if isinstance(value, (list, tuple, np.ndarray)):
        return one_line(", ".join(str(item) for item in value), MAX_CHARS)
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return _boolean_text(bool(value), column)
    if is_number(value):
        return _number_text(value, column)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d" if column in _BY_DAY else "%Y-%m-%d %H:%M")

    text = str(value)
    if column == "commit":
        text = text[:_COMMIT_DIGITS]
    return one_line(text, MAX_CHARS)


def _boolean_text(value: bool, column: str) -> str:  # noqa: FBT001 - the value of a cell
    # Only exceptions are marked: a column of "no" says nothing.
    if value == _USUAL.get(column, False):
        return ""
    return "yes" if value else "no"


def _number_text(value: Any, column: str) -> str:
    # In a row with a share, pandas makes floats of all numbers.
    if float(value).is_integer() and column in _WITHOUT_SEPARATORS:
        return str(int(value))
    if isinstance(value, numbers.Integral):
        return f"{value:,}"
    if "share" in column:
        return f"{value:,.1%}"
    return f"{value:,.2f}"


def shown_rows(table: ReportTable) -> tuple[list[str], list[dict[str, Any]]]:
    """Return columns and first rows as a page shows them; the rows have all columns.

    No column without a value or an exception, and no repository if there is but one.
    """
    frame = table.frame.head(table.max_rows)
    columns = [str(column) for column in frame.columns if str(column) not in table.hidden]
    if len(frame):
        columns = [column for column in columns if _has_values(frame[column], column)]
    if "repository" in columns and len(columns) > 1 and len(table.frame["repository"].unique()) <= 1:
        columns.remove("repository")
    return columns, frame.to_dict("records")


def _has_values(values: Any, column: str) -> bool:
    import pandas as pd

    known_values = values.dropna()
    if not len(known_values):
        return False
    if pd.api.types.is_bool_dtype(known_values.dtype):
        return bool((known_values.astype("bool") != _USUAL.get(column, False)).any())
    return True


def row_count_text(table: ReportTable) -> str:
    """Return the note of a page with only a part of a table's rows; empty if it has all."""
    total = len(table.frame)
    if total <= table.max_rows:
        return ""
    if table.max_rows:
        count_text = f"First {table.max_rows:,} of {total:,} rows"
    else:
        count_text = f"{count_of(total, 'row')}, not shown here"
    return f"{count_text}; the table and its file have all of them."


def is_unbroken(value: Any, column: str = "") -> bool:
    """Return whether a value stays on one line: numbers, times, booleans, commits, and names of usual length."""
    if column in _NAMES and isinstance(value, str) and len(value) <= _USUAL_NAME:
        return True
    return column == "commit" or is_number(value) or isinstance(value, (bool, datetime))


def is_number(value: Any) -> bool:
    """Return whether a value is set right-aligned."""
    import numpy as np

    if isinstance(value, (bool, np.bool_)):
        return False
    return isinstance(value, (int, float, np.integer, np.floating)) and not np.isnan(value)


def heading(column: str) -> str:
    """Return a column's name for readers."""
    return column.replace("_", " ")


def date_text(value: Any) -> str:
    """Return a day as ``6 December 2024``; empty if it is not known."""
    import pandas as pd

    if value is None or pd.isna(value):
        return ""
    return f"{value.day} {value.strftime('%B %Y')}"


def duration_text(days: float) -> str:
    """Return a length of time in the unit that a reader thinks in."""
    if days < 60:
        return count_of(max(round(days), 1), "day")
    months = round(days / _DAYS_OF_MONTH)
    if months < 24:
        return count_of(months, "month")
    years = f"{days / _DAYS_OF_YEAR:.1f}".removesuffix(".0")
    return f"{years} years"


def compare_counts(count: int, earlier_count: int, span: str) -> str:
    """Compare a number with the number of an earlier `span`: ``12% more than in the year before, which had 50``.

    Shares and multiples of fewer than 10, and multiples of 10 and more, mislead: then both numbers are shown.
    """
    if not earlier_count:
        return f"against none in {span}"

    times = count / earlier_count
    if count == earlier_count:
        return f"as many as in {span}"
    if earlier_count < _MIN_COMPARED or times >= _MAX_TIMES:
        return f"against {earlier_count:,} in {span}"
    if times >= _MIN_TIMES:
        ratio = f"{times:.1f}".removesuffix(".0")
        return f"{ratio} times as many as in {span}, which had {earlier_count:,}"

    change = f"{abs(count - earlier_count) / earlier_count:.0%}"
    # Rounded: neither is true.
    if change in {"0%", "100%"}:
        return f"against {earlier_count:,} in {span}"

    direction = "more" if count > earlier_count else "fewer"
    return f"{change} {direction} than in {span}, which had {earlier_count:,}"


def compare_commits(commits: Frame, before: Frame, span: str) -> tuple[str, str]:
    """Compare the commits by people with those of an earlier `span`.

    Bots would hide a team that stopped: 117 commits of theirs and 1 by a person are no busy year.

    Returns
    -------
    comparison, bots
        ``4 commits by people, against 9 in the year before`` and ``bots wrote 117 more``; without bots,
        ``4 commits, against 9 in the year before`` and an empty text.
    """
    count, earlier_count = len(people_commits(commits)), len(people_commits(before))
    bot_count, earlier_bot_count = len(commits) - count, len(before) - earlier_count
    noun = count_of(count, "commit")
    if bot_count or earlier_bot_count:
        noun += " by people"
    bots = f"bots wrote {bot_count:,} more" if bot_count else ""
    return f"{noun}, {compare_counts(count, earlier_count, span)}", bots


def people_commits(commits: Frame) -> Frame:
    """Return the commits whose author is not a bot."""
    return commits[~commits["bot"].fillna(value=False).astype("bool")]


def share_text(share: float) -> str:
    """Return a share in whole percent; only exact values become 0% or 100%."""
    text = f"{share:.0%}"
    if text == "0%" and share > 0:
        return "less than 1%"
    if text == "100%" and share < 1:
        return "more than 99%"
    return text


def shares_text(names: Sequence[str], amounts: Sequence[float], total: float, limit: int = 3) -> str:
    """Return the largest parts of a total with their shares: ``src/ (60%) and tests/ (30%)``; empty for no total.

    Parts that are equal are all named or none of them: those that don't fit are counted, ``2 more with 4% each``. Where
    more than `limit` parts are equally the largest, the text is empty.
    """
    parts = [(name, amount) for name, amount in zip(names, amounts, strict=True) if amount]
    if not total or not parts:
        return ""

    parts.sort(key=lambda part: -part[1])
    largest = parts[:limit]
    tied_count = 0
    _, smallest_amount = largest[-1]
    if len(parts) > limit and parts[limit][1] == smallest_amount:
        # A tie over the limit: all that are equal to the first one beyond it are counted.
        largest = [(name, amount) for name, amount in largest if amount > smallest_amount]
        tied_count = sum(amount == smallest_amount for _, amount in parts)

    texts = [f"{name} ({share_text(amount / total)})" for name, amount in largest]
    if texts and tied_count:
        texts.append(f"{tied_count:,} more with {share_text(smallest_amount / total)} each")

    return join_words(texts)


def first_directory(path: str) -> str:
    """Return the directory at the top that a file is in, as a sentence names it: ``src/`` or ``the top directory``."""
    directory, slash, _ = path.partition("/")
    if not slash:
        return "the top directory"
    return f"{directory}/"


def person_labels(people: Sequence[str], limit: int = 3) -> list[str]:
    """Return names of people that are given as ``Name <address>``, for `shares_text`: as sentences have them.

    People among the first `limit` who share a name keep their address, which distinguishes them, as in figures.
    """
    names = [person.rpartition(" <")[0] for person in people]
    first_names = names[:limit]
    labels = [name_in_sentence(name) for name in names]
    for index, name in enumerate(first_names):
        if first_names.count(name) > 1:
            address = people[index][len(name) :]
            labels[index] += address
    return labels


def namesake_texts(counts: Sequence[tuple[tuple[str, str], int]], total: int, limit: int = 3) -> list[str]:
    """Return a sentence for each name that several of the first people have: only readers can tell who is who.

    Parameters
    ----------
    counts
        Commits by person (as ``Name <address>``) and name, the most first.
    total
        Commits of all.
    limit
        Number of the first people.
    """
    first_names = [name for (_, name), _ in counts[:limit]]
    texts = []
    for name in dict.fromkeys(first_names):
        # Authors without a name have nothing in common.
        if name.strip() and first_names.count(name) > 1:
            commits = [count for (_, other_name), count in counts if other_name == name]
            share = share_text(sum(commits) / total)
            shown_name = name_in_sentence(name)
            texts.append(
                f"The {len(commits):,} people named {shown_name} wrote {share} together, and may be one person."
            )

    return texts


class Links:
    """Addresses of commits, files, people and pull requests; empty texts where no page is known.

    Parameters
    ----------
    links
        The known pages.
    heads
        The commit of each repository, by name, at which its files and people are shown.
    """

    def __init__(self, links: LinkResolver, heads: Mapping[str, str]) -> None:
        self._links = links
        self._heads = heads

    def commit(self, repository: str, commit: str, url: str = "") -> str:
        """Return the page of a commit; `url` is the service's, if it sent one."""
        row = {"type": "commit", "repository": repository, "commit": commit, "url": url}
        return _first(self._links.of(row))

    def file(self, repository: str, path: str) -> str:
        """Return the page of a file or, with a slash at its end, nothing: only some hosts have pages of folders."""
        commit = self._heads.get(repository, "")
        if not path or path.endswith("/") or not commit:
            return ""
        return _first(self._links.file(repository, commit, path))

    def request(self, repository: str, number: int) -> str:
        """Return the page of a pull or merge request."""
        return self._links.request(repository, number)

    def person(self, repository: str, address: str) -> str:
        """Return the page with someone's commits."""
        return self._links.person(repository, self._heads.get(repository, ""), address)

    def of_commits(self) -> LinkOf:
        """Return links of rows of commits."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column not in {"commit", "subject"}:
                return ""
            return self.commit(_text(row, "repository"), _text(row, "commit"), _text(row, "url"))

        return link

    def of_files(self, repository: str = "") -> LinkOf:
        """Return links of rows of files, of one repository where the rows name none."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column != "path" or _text(row, "status") == "deleted":
                return ""
            return self.file(_text(row, "repository") or repository, _text(row, "path"))

        return link

    def of_symbols(self, repository: str, base: str) -> LinkOf:
        """Return links of rows of changed symbols: to their files in the head, and in the commit `base`."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column == "path":
                return self.file(repository, _text(row, "path"))
            old = _text(row, "old_path")
            if column == "old_path" and old and base:
                return _first(self._links.file(repository, base, old))
            return ""

        return link

    def of_people(self, repository: str = "") -> LinkOf:
        """Return links of rows of people; none if it isn't known in which one repository they are searched for."""

        def link(column: str, row: Mapping[str, Any]) -> str:
            if column != "author":
                return ""
            return self.person(_text(row, "repository") or repository, _text(row, "author_email"))

        return link


def links_of(code: Client, heads: Mapping[str, str]) -> Links:
    """Return the links to pages for the repositories of a client."""
    # The name of a backend is its address, if it has one.
    names = {name: client.backend.name for name, client in code.services.items()}
    if names:
        addresses = {name: address for name, address in names.items() if "://" in address}
        return Links(LinkResolver(services=addresses), heads)
    if not code.backend.local:
        address = code.backend.name if "://" in code.backend.name else ""
        return Links(LinkResolver(address), heads)

    repositories = code.list_repos(progress=False)
    urls = zip(repositories["repository"], repositories["url"].fillna(""), strict=True)
    hosts = {str(name): str(url) for name, url in urls if str(url)}
    return Links(LinkResolver("", hosts), heads)


def _first(links: tuple[Link, ...] | list[Link]) -> str:
    """Return the best address that works for the report's readers: not one of this machine's JupyterLab."""
    return next((link.href for link in links if link.kind != "lab"), "")


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    return value if isinstance(value, str) else ""
