"""Named groups of regular expressions as columns, matched by RE2.

The expression is given, or is that of the query that found the lines; a query with ``OR`` has several. `_Grouping` is
one compiled expression with its groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import PatternError, QueryError, ToolError
from sourcelight.core.query import And, Or, Pattern, parse
from sourcelight.core.query.regexps import regexp_problem

if TYPE_CHECKING:
    from pandas import DataFrame

_CARRIED = (
    "name",
    "repository",
    "revision",
    "commit",
    "path",
    "language",
    "line_number",
    "author",
    "author_date",
    "side",
)
"""Columns of the lines that each of their matches repeats."""

_OWN = ("row", "start", "end", "match")
"""Columns of the result that no group may be named like."""

_MAX_NUMBER_CHARS = 18
"""Maximum digits of a number: one more can exceed 64 bits."""


@dataclass(frozen=True, slots=True)
class _Grouping:
    """A compiled expression and its groups: name and number."""

    regexp: Any
    groups: tuple[tuple[str, int], ...]

    def matches_in(self, row: int, line: str) -> Iterator[_GroupMatch]:
        """Yield the matches in a line; an empty match has no group to show."""
        for match in self.regexp.finditer(line):
            start, end = match.span()
            if start < end:
                texts = {name: match.group(number) for name, number in self.groups}
                yield _GroupMatch(row, start, end, match.group(), texts)


@dataclass(frozen=True, slots=True)
class _GroupMatch:
    """A match in a row: its span in characters, its text, and the texts of its groups (None: not part of it)."""

    row: int
    start: int
    end: int
    text: str
    groups: dict[str, str | None]


def match_groups(frame: DataFrame, pattern: str | None, *, case_sensitive: bool | None, typed: bool) -> DataFrame:
    """Return one row per match with its groups; see `CodeAccessor.groups`."""
    import pandas as pd

    if pattern is None:
        groupings = _query_groupings(frame.attrs, case_sensitive)
    else:
        groupings = [_compile(pattern, case_sensitive=bool(case_sensitive))]

    # Expressions without groups have nothing to show.
    groupings = [grouping for grouping in groupings if grouping.groups]
    if not groupings:
        raise ToolError(
            "groups: no named group, such as (?P<name>…): search with one, as in /v(?P<major>\\d+)/, or give a pattern",
            tool="groups",
            argument="pattern",
        )

    matches: list[_GroupMatch] = []
    for row, line in enumerate(frame["line"].astype("object")):
        if isinstance(line, str):
            for grouping in groupings:
                matches += grouping.matches_in(row, line)

    rows = [match.row for match in matches]
    carried_columns = [name for name in _CARRIED if name in frame.columns]
    carried = frame[carried_columns].iloc[rows].reset_index(drop=True)
    result = pd.DataFrame({"row": pd.array(rows, dtype="int64")})
    result = pd.concat([result, carried], axis=1)
    result["start"] = pd.array([match.start for match in matches], dtype="int32")
    result["end"] = pd.array([match.end for match in matches], dtype="int32")
    result["match"] = pd.array([match.text for match in matches], dtype="str")

    used_names = {*_OWN, *carried.columns}
    for name in _group_names(groupings):
        texts = [match.groups.get(name) for match in matches]
        column = f"group_{name}" if name in used_names else name
        result[column] = _with_type(texts) if typed else pd.array(texts, dtype="str")

    result.attrs = {**frame.attrs, "unmatched_rows": len(frame) - len(set(rows))}
    return result


def _group_names(groupings: Sequence[_Grouping]) -> list[str]:
    """Return the names of the groups of some expressions, each once, in order."""
    names: dict[str, None] = {}
    for grouping in groupings:
        names.update(dict.fromkeys(name for name, _ in grouping.groups))
    return list(names)


def _query_groupings(attrs: Any, case_sensitive: bool | None) -> list[_Grouping]:  # noqa: FBT001 - None is an answer of its own
    query = attrs.get("query")
    if not isinstance(query, str) or "call" in attrs:
        raise ToolError(
            "groups: the query of this DataFrame is unknown; pass a pattern", tool="groups", argument="pattern"
        )

    try:
        tree = parse(query, str(attrs.get("pattern_type") or "standard"))
    except QueryError as error:
        raise ToolError(
            f"groups: this DataFrame has no single query ({error}); pass a pattern", tool="groups", argument="pattern"
        ) from error

    # A dictionary without values, as a set that keeps the order.
    patterns: dict[tuple[str, bool], None] = {}
    for alternative in tree.plan:
        is_sensitive = alternative.case_sensitive() if case_sensitive is None else case_sensitive
        for text in _regexps(alternative.pattern):
            patterns[text, is_sensitive] = None

    return [_compile(text, case_sensitive=is_sensitive) for text, is_sensitive in patterns]


def _regexps(node: Any) -> Iterator[str]:
    """Yield the regular expressions of a pattern that a line must match, or may."""
    if isinstance(node, And | Or):
        for part in node.args:
            yield from _regexps(part)
    elif isinstance(node, Pattern) and node.kind == "regexp" and not node.negated:
        yield node.value


def _compile(pattern: str, *, case_sensitive: bool) -> _Grouping:
    import re2

    problem = regexp_problem(pattern)
    if problem is not None:
        raise PatternError(pattern, problem.removeprefix("error parsing regexp: "))

    options: Any = re2.Options()
    options.log_errors = False
    options.case_sensitive = case_sensitive
    regexp = re2.compile(pattern, options)
    groups = sorted(regexp.groupindex.items(), key=lambda item: item[1])
    return _Grouping(regexp, tuple(groups))


def _with_type(texts: Sequence[str | None]) -> Any:
    """Return numbers where every text is what its number is written as, else text."""
    import pandas as pd

    if _are_exact_texts(texts, int):
        return pd.array([None if text is None else int(text) for text in texts], dtype="Int64")
    if _are_exact_texts(texts, float):
        return pd.array([None if text is None else float(text) for text in texts], dtype="Float64")
    return pd.array(list(texts), dtype="str")


def _are_exact_texts(texts: Sequence[str | None], kind: type[int | float]) -> bool:
    """Return whether there are texts, and all are as `_is_exact_text` says."""
    present = [text for text in texts if text is not None]
    return bool(present) and all(_is_exact_text(text, kind) for text in present)


def _is_exact_text(text: str, kind: type[int | float]) -> bool:
    """Return whether a text converts to a number and back without loss; Python and pandas accept more than these."""
    if len(text) > _MAX_NUMBER_CHARS or not text.isascii() or not set(text) <= set("+-.0123456789"):
        return False
    try:
        is_equal = str(kind(text)) == text
    except ValueError:
        return False
    return is_equal or (kind is float and "." not in text and _is_exact_text(text, int))
