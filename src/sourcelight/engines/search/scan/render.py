"""Record batches from matching files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.model import SearchOptions, Target
from sourcelight.engines.search.scan.chunks import chunk_columns
from sourcelight.engines.search.scan.evaluate import Found, RepositorySearch
from sourcelight.engines.search.scan.hits import without_overlaps
from sourcelight.engines.search.scan.rows import Rows, rows_of
from sourcelight.engines.search.scan.text import Texts, code_points, column, gather, strings_of

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Batches of one `Found`, and how many matches and files they hold."""

    batches: tuple[Any, ...]
    matches: int
    files: int


class Renderer:
    """Makes record batches for one query over one repository at one commit."""

    def __init__(self, search: RepositorySearch, target: Target, commit: str, options: SearchOptions) -> None:
        self._search = search
        self._view = search.snapshot.view
        self._options = options
        facts = target.repository.facts
        self._constants = {
            "repository": facts.name,
            "repository_id": facts.id,
            "revision": target.revision,
            "commit": commit,
        }
        self._name_spans = self._spans_in_paths()

    def render(self, found: Found) -> Rendered:
        """Make a batch of matched lines and one of matched paths, each only if it has rows."""
        batches = []
        matches = 0
        if not self._options.lines:
            files = np.sort(np.concatenate((found.content_files, found.path_files))).astype(np.int64)
            return Rendered((self._paths(files),) if len(files) else (), len(files), len(files))
        if len(found.content_files) and found.shard is not None:
            batch, matches = self._content(found.shard, found)
            batches.append(batch)
        if len(found.path_files):
            batches.append(self._paths(found.path_files.astype(np.int64)))
            matches += len(found.path_files)
        return Rendered(tuple(batches), matches, len(found.content_files) + len(found.path_files))

    def _content(self, shard: Shard, found: Found) -> tuple[Any, int]:
        import pyarrow as pa

        rows = rows_of(shard, found.hits)
        row_document = shard.docs_of(rows.begin)
        texts = gather(shard.arrow_content, rows.begin, rows.stop)
        columns = self._line_columns(shard, rows, row_document, texts)
        documents = found.documents.astype(np.int64)
        low, high = np.searchsorted(row_document, documents), np.searchsorted(row_document, documents, side="right")
        lengths = high - low
        count = int(lengths.sum())
        matches = int(rows.count.sum())
        order = np.arange(count) + np.repeat(low - (np.cumsum(lengths) - lengths), lengths)
        if count != len(rows) or not np.array_equal(order, np.arange(count)):
            matches = int(rows.count[order].sum())
            taken = pa.RecordBatch.from_pydict(columns).take(column(order))
            columns = {name: taken.column(name) for name in columns}
        if self._options.chunk_matches:
            file = np.repeat(np.arange(len(documents)), lengths)
            columns |= chunk_columns(
                shard, rows.line[order], file, documents, self._options.context_lines, self._options.max_line_len
            )
        files = found.content_files.astype(np.int64)
        return self.finish("content", files, lengths, columns), matches

    def _line_columns(self, shard: Shard, rows: Rows, row_document: Places, texts: Texts) -> dict[str, Any]:
        import pyarrow as pa

        first = column(rows.first.astype(np.int32))

        def lists(values: Places) -> Any:
            return pa.ListArray.from_arrays(first, column(values.astype(np.int32)))

        byte_start, byte_end = lists(rows.start), lists(rows.end)
        start, end = byte_start, byte_end
        if len(texts.beyond_ascii):
            row = np.repeat(np.arange(len(rows)), np.diff(rows.first))
            start, end = lists(code_points(texts, row, rows.start)), lists(code_points(texts, row, rows.end))
        number = rows.line - shard.doc_line[row_document] + 1
        return {
            "line_number": column(number.astype(np.int32)),
            "line": texts.strings,
            "start": start,
            "end": end,
            "match_count": column(rows.count.astype(np.int32)),
            "line_offset": column(rows.begin - shard.doc_start[row_document]),
            "byte_start": byte_start,
            "byte_end": byte_end,
        }

    def _paths(self, files: Places) -> Any:

        ones = np.ones(len(files), dtype=np.int32)
        return self.finish("path", files, ones.astype(np.int64), {"match_count": column(ones)})

    def finish(self, kind: str, files: Places, lengths: Places, columns: dict[str, Any]) -> Any:
        """Add the columns that say where: `lengths` rows for each of the files."""
        import pyarrow as pa

        count = int(lengths.sum())
        zeros = column(np.zeros(count, dtype=np.int32))
        codes = np.repeat(np.arange(len(files), dtype=np.int32), lengths)
        languages, language = np.unique(self._view.language[files], return_inverse=True)
        names = [self._view.languages[code][0] or None for code in languages.tolist()]
        language = np.repeat(language.astype(np.int32), lengths)
        known = np.array([name is not None for name in names])[language] if None in names else None
        name_start, name_end = self._names(files, lengths)
        where: dict[str, Any] = {
            "type": pa.DictionaryArray.from_arrays(column(np.zeros(count, dtype=np.int8)), strings_of([kind])),
        }
        for name in ("repository", "revision", "commit"):
            where[name] = pa.DictionaryArray.from_arrays(zeros, strings_of([str(self._constants[name])]))
        where["repository_id"] = column(np.full(count, self._constants["repository_id"], dtype=np.int32))
        where["path"] = pa.DictionaryArray.from_arrays(column(codes), self._path_texts(files).strings)
        where["language"] = pa.DictionaryArray.from_arrays(
            column(language, valid=known),
            strings_of([name or "" for name in names]),
        )
        return pa.RecordBatch.from_pydict({**where, **columns, "name_start": name_start, "name_end": name_end})

    def _path_texts(self, files: Places) -> Texts:
        import pyarrow as pa

        starts = self._view.path_start
        return gather(
            pa.py_buffer(self._view.file.bytes_of("paths")),
            starts[files].astype(np.int64),
            starts[files + 1].astype(np.int64) - 1,
        )

    def _names(self, files: Places, lengths: Places) -> tuple[Any, Any]:
        """Give the spans in each file's path, repeated on each of its rows."""
        import pyarrow as pa

        count = int(lengths.sum())
        if self._name_spans is None:
            empty = column(np.zeros(0, dtype=np.int32))
            none = pa.ListArray.from_arrays(column(np.zeros(count + 1, dtype=np.int32)), empty)
            return none, none
        file, start, end = self._name_spans
        low, high = np.searchsorted(file, files), np.searchsorted(file, files, side="right")
        low, spans = np.repeat(low, lengths), np.repeat(high - low, lengths)
        first = np.concatenate(([0], np.cumsum(spans)))
        order = np.arange(int(first[-1])) + np.repeat(low - first[:-1], spans)
        offsets = column(first.astype(np.int32))
        return (
            pa.ListArray.from_arrays(offsets, column(start[order].astype(np.int32))),
            pa.ListArray.from_arrays(offsets, column(end[order].astype(np.int32))),
        )

    def _spans_in_paths(self) -> tuple[Places, Places, Places] | None:
        """Give all spans in paths as (file, start, end) in code points, sorted, overlaps removed; None without any."""
        parts = [
            hits
            for number, hits in enumerate(self._search.path_hits)
            if hits is not None and number in self._search.plan.shown and len(hits.file)
        ]
        if not parts:
            return None
        file = np.concatenate([hits.file for hits in parts])
        start = np.concatenate([hits.start for hits in parts])
        end = np.concatenate([hits.end for hits in parts])
        if len(parts) > 1:
            base = self._view.path_start[file].astype(np.int64)
            order = np.lexsort((-end, start, file))
            kept = order[without_overlaps((base + start)[order], (base + end)[order])]
            file, start, end = file[kept], start[kept], end[kept]
        return self._in_code_points(file, start, end)

    def _in_code_points(self, file: Places, start: Places, end: Places) -> tuple[Places, Places, Places]:
        files, row = np.unique(file, return_inverse=True)
        texts = self._path_texts(files)
        return file, code_points(texts, row, start), code_points(texts, row, end)
