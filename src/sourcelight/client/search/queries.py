"""Queries of a client: text or expressions, narrowed, or split into parts that match the same files.

Each split makes parts for the values seen so far, and one part that excludes all of them. So no match can be lost,
however the service interprets a name or a language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, TypeAlias

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Query, parse
from sourcelight.core.query.build import Expression
from sourcelight.core.query.languages import find_language
from sourcelight.core.query.narrowing import narrow as narrow  # noqa: PLC0414 - callers take it from here
from sourcelight.core.query.regexps import escape_name, escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.core.wire.request import CLIENT_MATCHES, SearchRequest

_PIECES = 16
_FILES = frozenset({"file", "path", "symbol"})


@dataclass(frozen=True, slots=True)
class ObservedValues:
    """The repositories, languages and paths of a capped answer, in order of arrival."""

    repositories: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A part of a query.

    `names` are the repositories, or entries of a directory (``src/``, ``setup.py``), that it covers. Without names, it
    covers everything except `but`. `step` is the attribute that it can be split by next.
    """

    filters: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    step: str = "repository"

    @property
    def label(self) -> str:
        """The filters that make the part, to be read."""
        return " ".join(f"{name}:{quote_value(value)}" for name, value in self._all_filters()) or "the whole query"

    def text(self, query: Query) -> str:
        """Return text of the query for this part."""
        added = [*self._all_filters()]
        if not any(alternative.first("count") for alternative in query.plan):
            added.append(("count", "all"))
        return narrow(query, added)

    def _all_filters(self) -> tuple[tuple[str, str], ...]:
        if self.step not in {"repository", "path"}:
            return self.filters
        field, pattern = ("repo", _names_regexp) if self.step == "repository" else ("file", _below)
        name_filters = ((field, pattern(self.names)),) if self.names else ()
        left_out = ((f"-{field}", pattern(self.but)),) if self.but else ()
        return (*self.filters, *name_filters, *left_out)

    def split(self, query: Query, seen: ObservedValues) -> tuple[QueryPart, ...]:
        """Return smaller parts that together equal this one; empty if it can't be split any further."""
        if len(self.names) > 1:
            return tuple(replace(self, names=names) for names in _batches(self.names))

        if self.step == "repository":
            if self.names:
                return self._by_language(query, seen)
            return self._named_and_rest(seen.repositories)

        if self.step == "language":
            return self._by_language(query, seen)

        return self._by_path(seen.paths) if self.step == "path" else ()

    def _named_and_rest(self, all_names: Iterable[str]) -> tuple[QueryPart, ...]:
        new = tuple(name for name in dict.fromkeys(all_names) if name and name not in self.but)
        if not new:
            return ()
        by_names = tuple(replace(self, names=names, but=()) for names in _batches(new))
        return (*by_names, replace(self, but=(*self.but, *new)))

    def _by_language(self, query: Query, seen: ObservedValues) -> tuple[QueryPart, ...]:
        if not all(_FILES & set(alternative.types) for alternative in query.plan):
            return ()

        path_part = QueryPart(self._all_filters(), step="path")
        # Queries with a filter on files don't match repository names, so these need a part of their own.
        names = () if not finds_names(query) else (QueryPart((*self._all_filters(), ("type", "repo")), step="end"),)
        languages = tuple(dict.fromkeys(name for name in seen.languages if name and find_language(name)))
        if not languages:
            return (*names, *path_part.split(query, seen))

        of_one = tuple(replace(path_part, filters=(*path_part.filters, ("lang", name))) for name in languages)
        remaining = replace(path_part, filters=(*path_part.filters, *(("-lang", name) for name in languages)))
        return (*names, *of_one, remaining)

    def _by_path(self, paths: Sequence[str]) -> tuple[QueryPart, ...]:
        below = self.names[0] if self.names else ""
        if below and not below.endswith("/"):
            return ()

        inside = [path for path in paths if path.startswith(below)]
        inside = [path for path in inside if not any(_is_below(path, entry) for entry in self.but)]
        if not inside:
            return ()

        folder = _common([path.rpartition("/")[0] for path in inside])
        # A query can't contain bytes that aren't text, so the entry ends before them.
        entries = dict.fromkeys(_entry(path, len(folder)).partition("\ufffd")[0] for path in inside)
        new = tuple(entry for entry in entries if entry and entry != below)
        if not new:
            return ()

        remaining = replace(self, but=(*self.but, *new))
        return (*(replace(self, names=names, but=()) for names in _batches(new)), remaining)


def finds_names(query: Query) -> bool:
    """Return whether a query matches names of repositories as well as files, without selecting a kind of result."""
    return any(
        "repo" in alternative.types and not alternative.first("type") and not alternative.select()
        for alternative in query.plan
    )


def _batches(names: Sequence[str]) -> list[tuple[str, ...]]:
    # Rounded up: at most `_PIECES` batches, each one query.
    size = -(-len(names) // _PIECES)
    return [tuple(names[i : i + size]) for i in range(0, len(names), size)]


def _names_regexp(names: Sequence[str]) -> str:
    escaped = [escape_name(name) for name in names]
    return f"^{escaped[0]}$" if len(escaped) == 1 else f"^(?:{'|'.join(escaped)})$"


def _below(entries: Sequence[str]) -> str:
    escaped = [escape_regexp(entry) for entry in entries]
    return f"^{escaped[0]}" if len(escaped) == 1 else f"^(?:{'|'.join(escaped)})"


def _common(folders: Sequence[str]) -> str:
    """Return the deepest directory that contains all of `folders`, with its slash; empty for the root."""
    # All paths share the common prefix of the first and the last path in sorted order.
    first_parts, last_parts = min(folders).split("/"), max(folders).split("/")
    same = list(takewhile(lambda pair: pair[0] == pair[1], zip(first_parts, last_parts, strict=False)))
    return "".join(f"{name}/" for name, _ in same if name)


def _entry(path: str, position: int) -> str:
    slash = path.find("/", position)
    return path if slash < 0 else path[: slash + 1]


def _is_below(path: str, entry: str) -> bool:
    return path.startswith(entry)


def seen_in(batches: Iterable[Any], filters: Iterable[Any]) -> ObservedValues:
    """Return repositories, languages and paths of record batches and suggested filters, for completion."""
    observed: dict[str, dict[str, None]] = {"repository": {}, "language": {}, "path": {}}
    for batch in batches:
        for name, values in observed.items():
            index = batch.schema.get_field_index(name)
            if index >= 0:
                values.update(dict.fromkeys(value for value in batch.column(index).unique().to_pylist() if value))

    for item in filters:
        if item.kind in {"repo", "lang"} and item.label:
            name = "repository" if item.kind == "repo" else "language"
            observed[name][item.label] = None

    return ObservedValues(tuple(observed["repository"]), tuple(observed["language"]), tuple(observed["path"]))


QueryText: TypeAlias = str | Expression


def query_text(query: object) -> str:
    """Return the text of a query.

    Raises
    ------
    QueryError
        For anything else, such as a list: its Python form would be searched, and found nowhere.
    """
    if isinstance(query, (str, Expression)):
        return str(query)
    hint = "; search_many() takes several queries" if isinstance(query, (list, tuple, dict)) else ""
    message = f"a query must be text or an expression of sourcelight.q, got {type(query).__name__}{hint}"
    raise QueryError(message)


def everything(text: str, pattern_type: str, version: str = "V3") -> str:
    """Return text of a query without a limit on the number of matches, unless it sets one itself.

    An invalid query is left to the backend, which reports the error.
    """
    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return f"count:all {text}"
    if query.root is None or any(alternative.first("count") for alternative in query.plan):
        return text
    return narrow(query, [("count", "all")])


def is_bounded(text: str, pattern_type: str, version: str = "V3") -> bool:
    """Return whether a query limits its matches or its time, or False if it can't be parsed."""
    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return False
    return any(
        alternative.first("timeout") or alternative.count_limit(default=None) is not None for alternative in query.plan
    )


def search_request(
    query: QueryText,
    *,
    pattern_type: str = "standard",
    limit: int | None = None,
    context_lines: int | None = None,
    max_line_bytes: int | None = None,
    timeout_s: float | None = None,
) -> SearchRequest:
    """Return the request of a search, with the parameters of `AsyncClient.search`."""
    for name, value in (("limit", limit), ("context_lines", context_lines)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"{name} must be a whole number of 0 or more, got {value!r}")

    if max_line_bytes is not None and max_line_bytes < 1:
        raise ValueError(f"max_line_bytes must be 1 or more, got {max_line_bytes}")
    if timeout_s is not None and not timeout_s >= 0:
        raise ValueError(f"timeout_s must be 0 seconds or more, got {timeout_s!r}")

    return SearchRequest(
        query_text(query),
        pattern_type=pattern_type,
        display=-1 if limit is None else limit,
        chunk_matches=context_lines is not None,
        context_lines=1 if context_lines is None else context_lines,
        max_line_len=-1 if max_line_bytes is None else max_line_bytes,
        timeout_s=timeout_s,
        default_matches=CLIENT_MATCHES,
        cells=True,
        symbol_lines=True,
    )
