"""Ranking of files: matches that are whole words, file names or definitions come first, and exact phrases.

Files are collected until the search ends or has `CANDIDATES` matches. They are yielded best first, and later files in
the order of arrival. After `WINDOW_S` seconds, the files collected so far are yielded if the limit keeps all of them; a
limit below `CANDIDATES` waits, so that time never decides which files it keeps. The score of a file is that of its best
match:

- in a line, `BOTH_ENDS` when the match is a whole word, `ONE_END` when it begins or ends one;
- in its path, `NAME` when the match is the whole base name, less when it begins or ends it or lies within;
- a match in the name of a definition likewise, and more for kinds that matter more, once definitions are known;
- all of that times `PHRASE` when a line or the path holds the query as a phrase.

Of equal files those in repositories with more stars come first, then main sources before tests, vendored and generated
files, then shorter base names, then repository and path, so that the order of the same files never varies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, arrow_array, arrow_strings, runs, to_numpy
from sourcelight.core.batches.rows import MatchRows, match_count
from sourcelight.core.batches.schema import schema_of
from sourcelight.engines.execution.results.scores import (
    IN_NAME,
    KIND_SCORES,
    NAME,
    PHRASE,
    best_first,
    definition_scores,
    name_scores,
    place_scores,
    word_scores,
)
from sourcelight.engines.search.definition_lookup import DefinitionPositions

CANDIDATES = 3_000
"""Matches that are collected before the best are given."""

WINDOW_S = 0.5
"""Seconds after which those that were found are given."""

SCORE = "score"
"""Column of the scores of files that another process ranks."""

_RANKED = frozenset({"content", "path", "symbol"})
"""Types of rows that have a score."""

_MAX_OF_ONE_BATCH = 1024
"""Matches of a batch, so that a reader gets the best ones soon."""

DefinitionsOf = Callable[[str, str, Sequence[str]], DefinitionPositions | None]


@dataclass(frozen=True, slots=True)
class FileRanker:
    """The ranking of the files of one search.

    Parameters
    ----------
    phrases
        Texts that lift a file when they occur in one of its matched lines or in its path.
    case_sensitive
        Whether phrases are searched for in their own case.
    stars
        Stars by repository name.
    limit
        Matches after which the caller stops reading.
    definitions
        Gives the definitions in the files of a repository at a revision, None when they are not known.
    complete
        Called before files of which the limit keeps a part are ranked, with their repositories and revisions: from
        then on `definitions` must know all, so that what is kept does not depend on those that happen to be known.
    is_settled
        Whether the order is the same each time although no limit cuts: `complete` is called for what is ranked, and
        the window does not end by time.
    """

    phrases: tuple[str, ...]
    case_sensitive: bool
    stars: Mapping[str, int]
    limit: int
    definitions: DefinitionsOf | None = None
    complete: Callable[[Collection[tuple[str, str]]], None] | None = None
    is_settled: bool = False

    def rank(self, batches: Iterable[Any], *, window_s: float | None = None) -> Iterator[Any]:
        """Yield `batches` with files ranked within `window_s`, by default `WINDOW_S`; the rest is unchanged."""
        collected: list[Any] = []
        remaining, match_total = self.limit, 0
        deadline = time.monotonic() + (WINDOW_S if window_s is None else window_s)
        source = iter(batches)
        rest: Any = None
        for batch in source:
            if not _has_score(batch):
                remaining -= match_count(batch)
                yield batch
                continue

            # The limit has to keep all that is collected, so that the time decides on nothing but order.
            is_timed = remaining >= CANDIDATES
            first, rest = _first_files(
                batch, CANDIDATES - match_total, remaining - match_total if is_timed else None, match_total
            )
            collected.append(first)
            match_total += match_count(first)
            is_late = is_timed and not self.is_settled and time.monotonic() >= deadline
            if rest is not None or match_total >= CANDIDATES or is_late:
                break

        # Only if the limit cuts: then definitions decide which files stay, so all of them have to be known.
        if match_total > remaining or self.is_settled:
            self._complete(collected)

        yield from self._sort(collected)
        if rest is not None:
            yield rest

        yield from source

    def add_scores(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield `batches` with a column `SCORE` added: the score of each row's file."""
        match_total = 0
        for batch in batches:
            if not _has_score(batch) or not batch.num_rows:
                yield batch
                continue
            # Files after the candidates aren't ranked when answers are merged.
            if self.limit < CANDIDATES or (self.is_settled and match_total < CANDIDATES):
                self._complete([batch])
            match_total += match_count(batch)
            files = self._files(batch)
            yield batch.append_column(SCORE, arrow_array(np.repeat(files.score, files.end - files.start)))

    def _complete(self, batches: Iterable[Any]) -> None:
        if self.complete is not None:
            rows_of_batches = map(MatchRows, batches)
            self.complete(dict.fromkeys((rows.first("repository"), rows.first("revision")) for rows in rows_of_batches))

    def _sort(self, batches: list[Any]) -> Iterable[Any]:
        if not batches:
            return ()

        files = [self._files(batch) for batch in batches]
        # One entry per file from here on: its batch, its first and last row, its score.
        batch_of = np.repeat(np.arange(len(files)), [len(of_batch.score) for of_batch in files])
        start = np.concatenate([of_batch.start for of_batch in files])
        end = np.concatenate([of_batch.end for of_batch in files])
        score = np.concatenate([of_batch.score for of_batch in files])

        # Batches come in the order of repositories and paths.
        order = best_first(score, [path for of_batch in files for path in of_batch.paths])
        return _take(batches, batch_of[order], start[order], end[order])

    def _files(self, batch: Any) -> _Files:
        """Return the files of a batch with their scores: those that another process gave them, if it did."""
        rows = MatchRows(batch)
        bounds = np.array(rows.files(), dtype=np.int64).reshape(-1, 2)
        start, end = bounds[:, 0], bounds[:, 1]
        paths = [path or "" for path in rows.texts("path", start.tolist())]
        if SCORE in rows:
            return _Files(start, end, rows.column(SCORE).to_numpy(zero_copy_only=False)[start], paths)

        score = _name_scores(rows, start, paths)
        if rows.first("type") == "symbol":
            # A row with a definition scores higher than its line, but at most as high as the definition.
            score = np.maximum(score, np.maximum.reduceat(_symbol_scores(rows), start))
        elif "line" in rows and len(start):
            in_lines = _line_scores(rows)
            score = np.maximum(score, np.maximum.reduceat(in_lines, start))
            score = np.maximum(score, self._definition_scores(rows, start, paths))

        if self.phrases and len(start):
            score = np.where(self._has_phrase(rows, start, paths), score * PHRASE, score)

        score = score + place_scores(self.stars.get(rows.first("repository"), 0), paths)
        return _Files(start, end, score, paths)

    def _definition_scores(self, rows: MatchRows, start: Int64Array, paths: list[str]) -> Float64Array:
        """Return the score of each file from matches in names of definitions."""
        score = np.zeros(len(start), dtype=np.float64)
        if self.definitions is None or "line_offset" not in rows:
            return score

        counts, starts = rows.lists("byte_start")
        # Files with a match in a line; definitions of the others can't be matched.
        in_content = np.flatnonzero(np.add.reduceat(np.asarray(counts), start))
        of_files = [paths[file] for file in in_content.tolist()]
        definitions = self.definitions(rows.first("repository"), rows.first("revision"), of_files) if of_files else None
        if definitions is None or not len(definitions.file):
            return score

        _, ends = rows.lists("byte_end")
        row = np.repeat(np.arange(len(rows)), counts)
        base = rows.numbers("line_offset")[row]
        file = np.searchsorted(start, row, side="right") - 1
        file_of = in_content[definitions.file]
        np.maximum.at(score, file, definition_scores(definitions, file_of, file, base + starts, base + ends))
        return score

    def _has_phrase(self, rows: MatchRows, start: Int64Array, paths: list[str]) -> BoolArray:
        has_phrase = np.zeros(len(start), dtype=np.bool_)
        for phrase in self.phrases:
            ignore = not self.case_sensitive
            in_path = pc.match_substring(arrow_strings(paths), phrase, ignore_case=ignore)
            has_phrase |= to_numpy(in_path)
            if "line" in rows:
                matches_phrase = pc.match_substring(rows.column("line"), phrase, ignore_case=ignore)
                if matches_phrase.null_count:
                    matches_phrase = pc.fill_null(matches_phrase, fill_value=False)
                in_line = to_numpy(matches_phrase)
                has_phrase |= np.logical_or.reduceat(in_line, start)

        return has_phrase


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a batch, in its order: first row and row behind the last one, score, path."""

    start: Int64Array
    end: Int64Array
    score: Float64Array
    paths: list[str]


def _has_score(batch: Any) -> bool:
    return MatchRows(batch).first("type") in _RANKED


def _line_scores(rows: MatchRows) -> Float64Array:
    """Return the score of each row from the bytes before and after its matches."""
    lines = rows.column("line")
    counts, starts = rows.lists("byte_start" if "byte_start" in rows else "start")
    _, ends = rows.lists("byte_end" if "byte_end" in rows else "end")
    score = np.zeros(len(rows), dtype=np.float64)
    if not len(starts):
        return score

    _, offset_buffer, data = lines.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[lines.offset : lines.offset + len(lines) + 1].astype(np.int64)

    # Where every match is a newline of an empty line there is no byte of text at all.
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    row = np.repeat(np.arange(len(rows)), counts)
    line_start, line_end = offsets[row], offsets[row + 1]

    # `maximum.at`, since a row may have several matches: plain indexing would keep only the last one.
    np.maximum.at(score, row, word_scores(text, line_start, line_end, line_start + starts, line_start + ends))
    return score


def _name_scores(rows: MatchRows, start: Int64Array, paths: list[str]) -> Float64Array:
    """Return the score of each file from matches in its path."""
    score = np.zeros(len(start), dtype=np.float64)
    counts, starts = rows.lists("name_start")
    _, ends = rows.lists("name_end")
    if not len(starts):
        return score

    # Every row of a file has the matches in its path, so those of its first row are enough.
    lengths = counts[start]
    if not lengths.sum():
        return score

    matches = runs(np.cumsum(counts)[start] - lengths, lengths)
    return name_scores(paths, np.repeat(np.arange(len(start)), lengths), starts[matches], ends[matches])


def _symbol_scores(rows: MatchRows) -> Float64Array:
    """Return the score of each definition from where its name matches, and from its kind."""
    counts, starts = rows.lists("start")
    _, ends = rows.lists("end")
    lengths = np.asarray(pc.fill_null(pc.utf8_length(rows.column("symbol").cast(pa.string())), 0)).astype(np.int64)
    row = np.repeat(np.arange(len(rows)), counts)
    scores = np.where(ends - starts >= lengths[row], NAME, IN_NAME)
    score = np.full(len(rows), IN_NAME, dtype=np.float64)
    np.maximum.at(score, row, scores)
    kinds = rows.texts("symbol_kind")
    return np.asarray(score + 100 * np.array([KIND_SCORES.get(kind or "", 1.0) for kind in kinds]))


def _first_files(batch: Any, match_count: int, remaining: int | None, before: int) -> tuple[Any, Any]:
    """Return the first files of a batch, which reach `match_count` matches, and the others; None for no others.

    The files have at most `remaining` matches together, unless that is None. Without matches `before` the batch, its
    first file is always among them.
    """
    rows = MatchRows(batch)
    bounds = rows.files()
    if not bounds:
        return batch, None

    starts = np.array([start for start, _ in bounds], dtype=np.int64)
    total = np.cumsum(np.add.reduceat(rows.numbers("match_count").astype(np.int64), starts))
    files = min(int(total.searchsorted(match_count)) + 1, len(bounds))
    if remaining is not None:
        files = min(files, max(int(total.searchsorted(remaining, side="right")), 0 if before else 1))

    if files == len(bounds):
        return batch, None

    index = int(starts[files])
    return batch.slice(0, index), batch.slice(index)


def _take(batches: list[Any], batch_of: Int64Array, start: Int64Array, end: Int64Array) -> Iterator[Any]:
    """Return the files, each the rows ``start:end`` of its batch, in the order of the arguments."""
    table = _join(batches)
    base = np.concatenate(([0], np.cumsum([batch.num_rows for batch in batches])))
    lengths = end - start
    first = base[batch_of] + start
    rows = runs(first, lengths)
    ends = np.cumsum(lengths)
    start_row = 0
    while start_row < len(lengths):
        done = int(ends[start_row - 1]) if start_row else 0
        last = max(int(np.searchsorted(ends, done + _MAX_OF_ONE_BATCH, side="right")), start_row + 1)
        table_part = table.take(arrow_array(rows[done : int(ends[last - 1])]))
        if isinstance(table_part, pa.RecordBatch):
            yield table_part
        else:
            yield from table_part.combine_chunks().to_batches()
        start_row = last


def _join(batches: list[Any]) -> Any:
    """Return all rows in one batch or table, with the columns in the order of the schema."""
    names = {name for batch in batches for name in batch.schema.names}
    schema = schema_of(names)
    if len(batches) == 1:
        # The usual case of a small search: nothing to join, and one set of dictionaries.
        arrays = [_cast(batches[0].column(column.name), column.type) for column in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    columns = []
    for column in schema:
        parts = []
        for batch in batches:
            index = batch.schema.get_field_index(column.name)
            array = batch.column(index) if index >= 0 else pa.nulls(batch.num_rows, column.type)
            parts.append(_cast(array, column.type))
        columns.append(pa.chunked_array(parts, type=column.type))

    return pa.Table.from_arrays(columns, schema=schema).unify_dictionaries().combine_chunks()


def _cast(array: Any, dtype: Any) -> Any:
    return array if array.type == dtype else array.cast(dtype)
