"""Rows of matches as columns of codes, so that filtering 100,000 rows takes less than a key stroke.

`RowSource` is the interface to the search or result whose rows an explorer shows.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches.schema import arrow_type, matches_schema
from sourcelight.display.notebook.state import Phase
from sourcelight.display.notebook.views import LinkResolver

_COLUMNS = (
    "type", "repository", "revision", "commit", "path", "language", "line_number", "line", "start", "end",
    "name_start", "name_end", "symbol", "symbol_kind", "author", "author_date", "message", "side", "url",
    "cell", "cell_kind", "cell_line",
)  # fmt: skip
SORTS = ("repository", "path", "line_number", "language", "text")


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query for the rows to show.

    `repository` and `language` are exact; empty means all, and `language` None means rows without one. `path` has words
    that must all be in the repository's name or the path, or must not be there after a dash; ``*`` and ``?`` work as in
    file names. `text` must be in the line. Both ignore case. `sort` is one of `SORTS`; empty: order of arrival.
    """

    repository: str = ""
    language: str | None = ""
    path: str = ""
    text: str = ""
    sort: str = ""
    descending: bool = False


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Numbers of the selected rows, in order, and the filter values with their counts.

    The counts of a filter are those of the rows that match all other filters, the highest first.
    """

    numbers: Int64Array
    repositories: tuple[tuple[str | None, int], ...]
    languages: tuple[tuple[str | None, int], ...]


class _Codes:
    """A growing column of texts as numbers; 0 means null."""

    def __init__(self) -> None:
        self.values: list[str | None] = [None]
        self.lowered: list[str] = [""]
        self._code_by_value: dict[str | None, int] = {None: 0}
        self._parts: list[NDArray[np.int32]] = []

    def add(self, column: Any) -> None:
        """Add a dictionary-encoded array."""
        # Each batch has its own dictionary, so its codes are translated. The last element is for null and stays 0.
        translation = np.zeros(len(column.dictionary) + 1, np.int32)
        for index, value in enumerate(column.dictionary.to_pylist()):
            code = self._code_by_value.get(value)
            if code is None:
                code = len(self.values)
                self._code_by_value[value] = code
                self.values.append(value)
                self.lowered.append((value or "").lower())
            translation[index] = code

        indices = column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)
        self._parts.append(translation[indices])

    @property
    def codes(self) -> NDArray[np.int32]:
        """One code per row."""
        # Joined on request: joining at each batch would copy all rows each time.
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        if not self._parts:
            return np.zeros(0, np.int32)
        return self._parts[0]

    def code(self, value: str | None) -> int:
        """Return the code of a value, or -1 for one that does not occur."""
        return self._code_by_value.get(value, -1)

    def find_rows(self, matcher: Callable[[str], bool]) -> BoolArray:
        """Return the rows whose text, in lower case, `matcher` accepts."""
        # Matched once per distinct value, then spread over rows by code: 100,000 rows have few repositories and a few
        # thousand paths.
        accepted = np.fromiter(map(matcher, self.lowered), np.bool_, len(self.lowered))
        return accepted[self.codes]

    def ranks(self) -> Int64Array:
        """Return for each code its rank among the sorted values."""
        order = sorted(range(len(self.values)), key=lambda code: self.values[code] or "")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    def counts(self, among: BoolArray) -> tuple[tuple[str | None, int], ...]:
        """Return the values with their numbers of rows `among` all, the highest number first."""
        row_counts = np.bincount(self.codes[among], minlength=len(self.values))
        # Stable, so equal counts stay in order of arrival and don't jump while rows come in.
        order = np.argsort(-row_counts, kind="stable")
        return tuple((self.values[code], int(row_counts[code])) for code in order.tolist() if row_counts[code])


class ExplorerRows:
    """Rows of matches that can be filtered and sorted; batches come in as they arrive."""

    def __init__(self) -> None:
        self._tables: list[Any] = []
        self._row_offsets: list[int] = [0]
        self._batch_count = 0
        self._codes = {name: _Codes() for name in ("repository", "path", "language")}
        self._line_numbers: list[Int64Array] = []

    def __len__(self) -> int:
        return self._row_offsets[-1]

    def take_in(self, batches: Sequence[Any]) -> None:
        """Add the `batches` that arrived since the last call; the sequence only grows at its end."""
        # The number first: more may arrive meanwhile.
        batch_count = len(batches)
        new_batches = [batch for batch in batches[self._batch_count : batch_count] if batch.num_rows]
        self._batch_count = batch_count
        if not new_batches:
            return

        table = _conform(new_batches)
        for name, codes in self._codes.items():
            codes.add(table.column(name).chunk(0))

        numbers = table.column("line_number").chunk(0).fill_null(0)
        self._line_numbers.append(numbers.to_numpy(zero_copy_only=False).astype(np.int64))
        self._tables.append(table)
        self._row_offsets.append(self._row_offsets[-1] + table.num_rows)

    def select(self, query: RowQuery) -> RowSelection:
        """Select and sort the rows of a query, and count the values of its filters."""
        repositories = self._codes["repository"]
        languages = self._codes["language"]
        mask = self._at_path(query.path)

        # The slowest condition, since it reads all lines; skipped if no path matches.
        if query.text and mask.any():
            mask &= self._with_text(query.text)

        # The counts of a filter ignore that filter; otherwise it would offer only the selected value.
        in_repository = mask
        if query.repository:
            in_repository = mask & (repositories.codes == repositories.code(query.repository))
        in_language = mask
        if query.language != "":
            in_language = mask & (languages.codes == languages.code(query.language))

        return RowSelection(
            numbers=self._sort(np.flatnonzero(in_repository & in_language), query),
            repositories=repositories.counts(in_language),
            languages=languages.counts(in_repository),
        )

    def _at_path(self, words: str) -> BoolArray:
        """Return the rows whose repository or path has each of the words, or lacks it after a dash."""
        mask = np.ones(len(self), np.bool_)
        for word in words.lower().split():
            # A dash alone is a word.
            is_excluded = word.startswith("-") and len(word) > 1
            matcher = _matcher(word[1:] if is_excluded else word)
            has_word = self._codes["repository"].find_rows(matcher) | self._codes["path"].find_rows(matcher)
            mask &= ~has_word if is_excluded else has_word

        return mask

    def _with_text(self, text: str) -> BoolArray:
        masks = []
        for table in self._tables:
            has_text = pc.match_substring(table.column("text").chunk(0), text, ignore_case=True)
            masks.append(pc.fill_null(has_text, fill_value=False).to_numpy(zero_copy_only=False))
        return np.concatenate(masks)

    def _sort(self, numbers: Int64Array, query: RowQuery) -> Int64Array:
        if query.sort not in SORTS or not len(numbers):
            return numbers

        if query.sort == "text":
            texts = pa.chunked_array([table.column("text").chunk(0) for table in self._tables]).take(pa.array(numbers))
            order: Int64Array = pc.sort_indices(texts, sort_keys=[("", "ascending")]).to_numpy().astype(np.int64)
            if query.descending:
                order = order[::-1]
            return numbers[order]

        if len(self._line_numbers) > 1:
            # Joined when first needed, and kept: sorting again must not copy all batches.
            self._line_numbers = [np.concatenate(self._line_numbers)]

        # Ranks and not codes, which are in order of arrival. They change with each new value, so they aren't stored.
        ranks = {"line_number": self._line_numbers[0][numbers]}
        for name, codes in self._codes.items():
            if name in {query.sort, "repository", "path"}:
                ranks[name] = codes.ranks()[codes.codes[numbers]]

        primary = ranks[query.sort]
        if query.descending:
            primary = -primary
        tie_breakers = [ranks[name] for name in ("repository", "path", "line_number") if name != query.sort]

        # `lexsort` takes its main key last.
        by_rank: Int64Array = np.lexsort((*reversed(tie_breakers), primary)).astype(np.int64)
        return numbers[by_rank]

    def rows(self, numbers: Sequence[int] | Int64Array) -> list[dict[str, Any]]:
        """Return the rows of some numbers, in their order, as dicts with ``row`` for the number."""
        row_numbers = np.asarray(numbers, np.int64)
        table_indices = np.searchsorted(np.asarray(self._row_offsets[1:]), row_numbers, side="right")
        by_number: dict[int, dict[str, Any]] = {}

        # One `take` per table: the few rows of a page are often in the same table.
        for table in np.unique(table_indices).tolist():
            in_table = row_numbers[table_indices == table]
            selected = self._tables[table].take(pa.array(in_table - self._row_offsets[table]))
            by_number.update(zip(in_table.tolist(), selected.to_pylist(), strict=True))

        return [{"row": number, **by_number[number]} for number in row_numbers.tolist()]


def _matcher(word: str) -> Callable[[str], bool]:
    """Return a function for whether a lowercase text contains a word, or matches a pattern of file names."""
    if "*" not in word and "?" not in word:
        return lambda text: word in text
    # A word may begin anywhere but must reach the end, so `*.py` matches the end of a path.
    pattern = re.compile(fnmatch.translate(f"*{word}"))
    return lambda text: pattern.match(text) is not None


def _conform(batches: Sequence[Any]) -> Any:
    """Return one table with one chunk a column, and `text`: the line, else the message, else nothing."""
    schema = matches_schema(visible_only=True)
    # One call for all of many small batches, unless they differ in their columns.
    parts: Sequence[Any] = batches
    if all(batch.schema.equals(batches[0].schema) for batch in batches):
        parts = [pa.Table.from_batches(batches)]

    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        kind = schema.field(name).type
        chunks: list[Any] = []
        for part in parts:
            chunks += _chunks_of(part, name, kind)
        columns[name] = _single_chunk(pa.chunked_array(chunks))

    columns["text"] = pc.coalesce(columns["line"], columns["message"].cast(arrow_type("string")))
    return pa.table(columns)


def _chunks_of(part: Any, name: str, kind: Any) -> list[Any]:
    """Return the arrays of a column of a record batch or a table; nulls if it has none."""
    if name not in part.schema.names:
        return [pa.nulls(part.num_rows, kind)]
    column = part.column(name)
    if isinstance(column, pa.ChunkedArray):
        return list(column.chunks)
    return [column]


def _single_chunk(column: Any) -> Any:
    """Return one array of a chunked one."""
    if column.num_chunks == 1:
        return column.chunk(0)

    if pa.types.is_dictionary(column.type):
        try:
            column = column.unify_dictionaries()
        # A dictionary of a service has a value twice, or a null.
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            values = column.cast(column.type.value_type)
            return values.combine_chunks().dictionary_encode().cast(column.type)

    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0)
    return combined


def facts_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as `LinkResolver.of` takes it."""
    return {name: row[name] for name in ("type", "repository", "commit", "path", "line_number", "url")}


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """One moment of the work behind the rows: its phase, its numbers in words, and (severity, text) notes."""

    phase: Phase
    headline: str
    notes: tuple[tuple[str, str], ...] = ()


class RowSource(Protocol):
    """Rows of one answer, finished or still arriving; safe to ask from the thread that draws."""

    @property
    def query(self) -> str:
        """Text of the query."""

    @property
    def links(self) -> LinkResolver:
        """Resolver of links for rows."""

    def batches(self) -> Sequence[Any]:
        """Return the record batches so far; the sequence only grows at its end."""

    def update(self) -> SourceUpdate:
        """Return the current state of the work."""

    def result(self) -> Any:
        """Return the answer as far as it has come."""

    def stop(self) -> None:
        """Stop the work and keep its rows."""

    def read(self, repository: str, commit: str, path: str, first: int, last: int) -> Future[list[tuple[int, str]]]:
        """Return numbered lines of a file, from `first` to `last` or the file's end; the future may fail."""

    def text(self) -> str:
        """Return the text shown without widgets."""

    def html(self) -> str:
        """Return that text as escaped HTML, with the first page of rows."""
