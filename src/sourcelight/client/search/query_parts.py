"""Parts of a query that together match what the query matches, for services that limit an answer.

Each split makes parts for the values seen so far, and one part that excludes all of them. So no match can be lost,
however the service interprets a name or a language. A part is split by repository, then by language, then by path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from sourcelight.core.query import Query
from sourcelight.core.query.languages import find_language
from sourcelight.core.query.narrowing import narrow
from sourcelight.core.query.regexps import escape_name, escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value

if TYPE_CHECKING:
    import pyarrow as pa

    from sourcelight.core.wire.events import SuggestedFilter

_MAX_PIECES = 16
"""Maximum parts of one split by names; each is a query of its own."""

_FILES = frozenset({"file", "path", "symbol"})
"""Types of rows that have a path and a language."""

_Filter: TypeAlias = tuple[str, str]
"""A field, with a dash in front when negated, and its value."""

_Step: TypeAlias = Literal["repository", "language", "path", "end"]


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

    filters: tuple[_Filter, ...] = ()
    names: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    step: _Step = "repository"

    @property
    def label(self) -> str:
        """The filters that make the part, to be read."""
        texts = [f"{name}:{quote_value(value)}" for name, value in self._all_filters()]
        return " ".join(texts) or "the whole query"

    def text(self, query: Query) -> str:
        """Return text of the query for this part."""
        added = list(self._all_filters())
        if not any(alternative.first("count") for alternative in query.plan):
            added.append(("count", "all"))
        return narrow(query, added)

    def _all_filters(self) -> tuple[_Filter, ...]:
        """Return the filters, those of the names included."""
        filters = list(self.filters)
        if self.step == "repository":
            if self.names:
                filters.append(("repo", _names_regexp(self.names)))
            if self.but:
                filters.append(("-repo", _names_regexp(self.but)))
        elif self.step == "path":
            if self.names:
                filters.append(("file", _below_regexp(self.names)))
            if self.but:
                filters.append(("-file", _below_regexp(self.but)))

        return tuple(filters)

    def split(self, query: Query, seen: ObservedValues) -> tuple[QueryPart, ...]:
        """Return smaller parts that together equal this one; empty if it can't be split any further."""
        if len(self.names) > 1:
            return tuple(replace(self, names=names) for names in _batches(self.names))

        match self.step:
            case "repository" if not self.names:
                return self._by_name(seen.repositories)
            case "repository" | "language":
                return self._by_language(query, seen)
            case "path":
                return self._by_path(seen.paths)
            case _:
                return ()

    def _by_name(self, all_names: Iterable[str]) -> tuple[QueryPart, ...]:
        """Return parts for some names, and one for all others; empty without a new name."""
        names = [name for name in dict.fromkeys(all_names) if name and name not in self.but]
        if not names:
            return ()

        parts = [replace(self, names=batch, but=()) for batch in _batches(names)]
        parts.append(replace(self, but=(*self.but, *names)))
        return tuple(parts)

    def _by_language(self, query: Query, seen: ObservedValues) -> tuple[QueryPart, ...]:
        """Return parts for the languages seen, and one for all others; parts by path if there are none."""
        for alternative in query.plan:
            # Commits have no language, and not one path.
            if _FILES.isdisjoint(alternative.types):
                return ()

        filters = self._all_filters()
        parts: list[QueryPart] = []
        # Queries with a filter on files don't match repository names, so these need a part of their own.
        if finds_names(query):
            parts.append(QueryPart((*filters, ("type", "repo")), step="end"))

        languages = [name for name in dict.fromkeys(seen.languages) if name and find_language(name)]
        if not languages:
            parts += QueryPart(filters, step="path").split(query, seen)
            return tuple(parts)

        for language in languages:
            parts.append(QueryPart((*filters, ("lang", language)), step="path"))
        excluded = [("-lang", language) for language in languages]
        parts.append(QueryPart((*filters, *excluded), step="path"))
        return tuple(parts)

    def _by_path(self, paths: Sequence[str]) -> tuple[QueryPart, ...]:
        below = self.names[0] if self.names else ""
        # A file can't be split.
        if below and not below.endswith("/"):
            return ()

        inside = [path for path in paths if path.startswith(below) and not path.startswith(self.but)]
        if not inside:
            return ()

        # A query can't contain bytes that aren't text, so the entry ends before them.
        directory = _common_directory(inside)
        entries = [_entry(path, len(directory)).partition("\ufffd")[0] for path in inside]
        return self._by_name(entry for entry in entries if entry != below)


def finds_names(query: Query) -> bool:
    """Return whether a query matches names of repositories as well as files, without selecting a kind of result."""
    for alternative in query.plan:
        if "repo" in alternative.types and not alternative.first("type") and not alternative.select():
            return True
    return False


def seen_in(batches: Iterable[pa.RecordBatch], filters: Iterable[SuggestedFilter]) -> ObservedValues:
    """Return repositories, languages and paths of record batches and suggested filters, for completion."""
    # Dictionaries, because they keep the order of arrival.
    observed: dict[str, dict[str, None]] = {"repository": {}, "language": {}, "path": {}}
    for batch in batches:
        for name, values in observed.items():
            if name in batch.schema.names:
                distinct = batch.column(name).unique().to_pylist()
                values.update(dict.fromkeys(filter(None, distinct)))

    for item in filters:
        if item.kind == "repo" and item.label:
            observed["repository"][item.label] = None
        elif item.kind == "lang" and item.label:
            observed["language"][item.label] = None

    return ObservedValues(tuple(observed["repository"]), tuple(observed["language"]), tuple(observed["path"]))


def _batches(names: Sequence[str]) -> list[tuple[str, ...]]:
    # Rounded up: at most `_MAX_PIECES` batches, each one query.
    size = -(-len(names) // _MAX_PIECES)
    return [tuple(names[i : i + size]) for i in range(0, len(names), size)]


def _names_regexp(names: Sequence[str]) -> str:
    return f"^{_any_of([escape_name(name) for name in names])}$"


def _below_regexp(entries: Sequence[str]) -> str:
    return f"^{_any_of([escape_regexp(entry) for entry in entries])}"


def _any_of(regexps: Sequence[str]) -> str:
    if len(regexps) == 1:
        return regexps[0]
    return f"(?:{'|'.join(regexps)})"


def _common_directory(paths: Sequence[str]) -> str:
    """Return the deepest directory that contains all of `paths`, with its slash; empty for the root."""
    directories = [path.rpartition("/")[0] for path in paths]

    # All have the prefix in common that the first and the last in sorted order share.
    common = ""
    for first, last in zip(min(directories).split("/"), max(directories).split("/"), strict=False):
        if first != last:
            break
        if first:
            common += f"{first}/"

    return common


def _entry(path: str, position: int) -> str:
    """Return a path up to its first slash from `position` on."""
    slash = path.find("/", position)
    if slash < 0:
        return path
    return path[: slash + 1]
