"""Named groups of regular expressions as columns, matched by RE2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import PatternError, QueryError, ToolError
from sourcelight.core.query import And, Or, Pattern, parse
from sourcelight.core.query.regexps import regexp_problem

if TYPE_CHECKING:
    from pandas import DataFrame

_PLACE = (
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
_OWN = ("row", "start", "end", "match")


@dataclass(frozen=True, slots=True)
class _Grouping:
    """A compiled expression and its groups: name and number."""

    regexp: Any
    groups: tuple[tuple[str, int], ...]


def match_groups(frame: DataFrame, pattern: str | None, *, case_sensitive: bool | None, typed: bool) -> DataFrame:
    """Return one row per match with its groups; see `CodeAccessor.groups`."""
    import pandas as pd

    if pattern is None:
        groupings = _query_groupings(frame.attrs, case_sensitive)
    else:
        groupings = [_compile(pattern, case_sensitive=bool(case_sensitive))]

    groupings = [grouping for grouping in groupings if grouping.groups]
    if not groupings:
        raise ToolError(
            "groups: no named group, such as (?P<name>…): search with one, as in /v(?P<major>\\d+)/, or give a pattern",
            tool="groups",
            argument="pattern",
        )

    names = list(dict.fromkeys(name for grouping in groupings for name, _ in grouping.groups))
    matches: list[tuple[int, int, int, str, dict[str, str | None]]] = []
    unmatched_count = 0
    for row, line in enumerate(frame["line"].astype("object")):
        match_count = len(matches)
        if isinstance(line, str):
            matches.extend((row, *match) for grouping in groupings for match in _matches(grouping, line))
        unmatched_count += len(matches) == match_count

    positions = [match[0] for match in matches]
    carried = frame[[name for name in _PLACE if name in frame.columns]].iloc[positions].reset_index(drop=True)
    result = pd.DataFrame({"row": pd.array(positions, dtype="int64")})
    result = pd.concat([result, carried], axis=1)
    result["start"] = pd.array([match[1] for match in matches], dtype="int32")
    result["end"] = pd.array([match[2] for match in matches], dtype="int32")
    result["match"] = pd.array([match[3] for match in matches], dtype="str")
    used_names = {*_OWN, *carried.columns}
    for name in names:
        texts = [match[4].get(name) for match in matches]
        result[f"group_{name}" if name in used_names else name] = (
            _with_type(texts) if typed else pd.array(texts, dtype="str")
        )

    result.attrs = {**frame.attrs, "unmatched_rows": unmatched_count}
    return result


def _matches(grouping: _Grouping, line: str) -> Iterator[tuple[int, int, str, dict[str, str | None]]]:
    for match in grouping.regexp.finditer(line):
        start, end = match.span()
        if start < end:
            yield start, end, match.group(), {name: match.group(number) for name, number in grouping.groups}


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

    patterns: dict[tuple[str, bool], None] = {}
    for alternative in tree.plan:
        case = alternative.case_sensitive() if case_sensitive is None else case_sensitive
        patterns.update(dict.fromkeys((text, case) for text in _regexps(alternative.pattern)))

    return [_compile(text, case_sensitive=case) for text, case in patterns]


def _regexps(node: Any) -> Iterator[str]:
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
    return _Grouping(regexp, tuple(sorted(regexp.groupindex.items(), key=lambda item: item[1])))


def _with_type(texts: Sequence[str | None]) -> Any:
    """Return numbers where every text is what its number is written as, else text."""
    import pandas as pd

    present = [text for text in texts if text is not None]
    for kind, dtype in ((int, "Int64"), (float, "Float64")):
        if present and all(_is_exact_text(text, kind) for text in present):
            return pd.array([None if text is None else kind(text) for text in texts], dtype=dtype)  # type: ignore[call-overload]
    return pd.array(list(texts), dtype="str")


def _is_exact_text(text: str, kind: type[int | float]) -> bool:
    """Return whether a text converts to a number and back without loss; Python and pandas accept more than these."""
    if len(text) > 18 or not text.isascii() or not set(text) <= set("+-.0123456789"):
        return False
    try:
        is_equal = str(kind(text)) == text
    except ValueError:
        return False
    return is_equal or (kind is float and "." not in text and _is_exact_text(text, int))
