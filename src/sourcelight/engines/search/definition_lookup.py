"""Look up the positions of all definitions in given files, to rank matches that are definitions first.

Definitions are found in the background after a repository is opened. Ranking by those that are known would let
``count:5`` keep other matches a second later. So a search whose limit is reached parses the files that it ranks itself,
as long as they have no table: what it keeps depends on the files alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import Int64Array, UInt8Array, distinct, runs
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search.definition_tables import document_languages, missing_files
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import NO_SHARD, REASONS, CommitView
from sourcelight.engines.search.model import FileFilter, SearchPart, Target
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.search.updates import stale_shards
from sourcelight.engines.symbols import PARSED_LANGUAGES, SymbolTable, definitions
from sourcelight.engines.symbols.definition_parser import COLUMNS

UNRANKED = "unranked"
"""Reason of `SearchPart.skipped` for a file that was ranked without its definitions."""

_MAX_PARSED_ROWS = 1 << 20
"""Maximum cached definitions of files without a table, 24 bytes each."""

_MISSING_CODE = REASONS.index("missing")
_PARSED: LruCache[tuple[str, int], _Names] = LruCache(_MAX_PARSED_ROWS, weigh=lambda names: 1 + len(names.start))


@dataclass(frozen=True, slots=True)
class DefinitionPositions:
    """Names of definitions.

    The file of each is an index into the paths asked for, `start` and `end` are bytes in that file, and the kind is an
    index into `symbols.KINDS`.
    """

    file: Int64Array
    start: Int64Array
    end: Int64Array
    kind: Int64Array


class _Names(NamedTuple):
    """Names of definitions of some documents: how many each has, and start, end and kind of all."""

    lengths: Int64Array
    start: Int64Array
    end: Int64Array
    kind: Int64Array


@dataclass(slots=True)
class RankedDefinitions:
    """Look-up of the definitions in files of a search.

    Parameters
    ----------
    store
        Store of the tables of definitions.
    targets
        Targets of the search by repository and revision.
    request
        Called with targets whose definitions are to be indexed in the background, for later searches; None if a limit
        may keep other matches each time.
    cancellation
        Cancellation of parsing.
    note
        Called with files that were ranked without definitions although a limit drops matches.
    """

    store: IndexStore
    targets: Mapping[tuple[str, str], Target]
    request: Callable[[Sequence[Target]], object] | None
    cancellation: Cancellation
    note: Callable[[SearchPart], None]
    _complete: set[tuple[str, str]] = field(init=False, default_factory=set)

    def complete(self, keys: Collection[tuple[str, str]]) -> None:
        """Make `positions` find all definitions of `keys`, because a limit keeps only the best of their matches."""
        if self.request is not None and (incomplete := [key for key in keys if key not in self._complete]):
            self._complete.update(incomplete)
            self.request([self.targets[key] for key in incomplete])

    def positions(self, repository: str, revision: str, paths: Sequence[str]) -> DefinitionPositions | None:
        """Return the definitions in some files, or None while definitions of the repository are being indexed."""
        key = repository, revision
        try:
            return self._positions(self.targets[key], paths, parses=key in self._complete)
        except (SourcelightError, OSError):
            if key in self._complete:
                self.note(SearchPart(skipped={repository: {UNRANKED: len(paths)}}))
            return None

    def _positions(self, target: Target, paths: Sequence[str], *, parses: bool) -> DefinitionPositions | None:
        """Return the positions of all definitions in files of a target."""
        snapshot, _, tables = self.store.open_symbols(target)
        # Keyed by the tables, since a table may arrive while the snapshot stays open.
        stale = frozenset(snapshot.remember(("stale", tuple(tables)), lambda: stale_shards(snapshot, tables)))
        if stale and not parses:
            return None

        view = snapshot.view
        path_indexes, file_numbers = _find_files(view, paths)
        shards = view.shard[file_numbers]
        files, names_by_shard = [_empty()], list[_Names]()

        # By shard, because each has its own table. The order of names is that of the shards, and `files` follows the
        # same order.
        for number in distinct(shards[shards != NO_SHARD]).tolist():
            selected = np.flatnonzero(shards == number)
            documents = view.document[file_numbers[selected]].astype(np.int64)
            table, shard = tables[number], snapshot.shards[number]
            if number in stale or table is None:
                folder = self.store.repository_folder(target.repository.key)
                languages = snapshot.remember(("document languages", number), partial(_language_codes, folder, shard))
                blob_ids = map(view.blob_id, file_numbers[selected].tolist())
                codes = languages[documents].tolist()
                names = self._parse(shard, zip(blob_ids, documents.tolist(), codes, strict=True))
            else:
                names = _names_of(table, documents)

            files.append(np.repeat(path_indexes[selected], names.lengths))
            names_by_shard.append(names)

        names = _join_names(names_by_shard)
        return DefinitionPositions(np.concatenate(files), names.start, names.end, names.kind)

    def _parse(self, shard: Shard, files: Iterable[tuple[str, int, int]]) -> _Names:
        """Return definitions of files without a table, each a blob id, document and language; raises `Cancelled`."""
        parsed = []
        for blob_id, document, code in files:
            if self.cancellation.stopped:
                raise Cancelled("the search for definitions timed out")
            find = partial(_parse, shard, document, PARSED_LANGUAGES[code - 1])
            # By blob id, so that other revisions and copies of the file are not parsed again.
            parsed.append(_PARSED.get_or_make((blob_id, code), find) if code else _NO_DEFINITIONS)

        return _join_names(parsed)


def _join_names(names: Sequence[_Names]) -> _Names:
    return _Names(*map(np.concatenate, zip(_NO_NAMES, *names, strict=True)))


def _names_of(table: SymbolTable, documents: Int64Array) -> _Names:
    """Return the definitions of documents that have a table."""
    first_rows = table.doc_first[documents].astype(np.int64)
    lengths = table.doc_first[documents + 1].astype(np.int64) - first_rows
    rows = runs(first_rows, lengths)
    name = table.name[rows].astype(np.int64)
    start = table.offset[rows].astype(np.int64)

    # Names are one text with a newline after each; the 1 is for this newline.
    end = start + table.name_start[name + 1] - table.name_start[name] - 1
    return _Names(lengths, start, end, table.kind[rows].astype(np.int64))


def _language_codes(folder: TextIndexFolder, shard: Shard) -> UInt8Array:
    """Return the grammar that a table would use for each document: by its first path if it has several."""
    return document_languages(folder, folder.manifest(), shard)


def _parse(shard: Shard, document: int, language: str) -> _Names:
    """Find the definitions of a document in its text."""
    parsed = definitions(language, shard.text(document))
    columns = parsed.rows.astype(np.int64)
    start = columns[:, COLUMNS.index("offset")]
    lengths = np.fromiter(map(len, parsed.names), np.int64, len(parsed))
    return _Names(
        lengths=np.array([len(parsed)], dtype=np.int64),
        start=start,
        end=start + lengths,
        kind=columns[:, COLUMNS.index("kind")],
    )


def _find_files(view: CommitView, paths: Sequence[str]) -> tuple[Int64Array, Int64Array]:
    """Return which of the paths are in the view (as indexes), and their file numbers."""
    text = bytes(view.path_text)
    path_indexes, offsets = [], []
    position = 0
    for index, path in enumerate(paths):
        line = b"\n" + path.encode(errors="replace") + b"\n"
        # Paths mostly come in order: a search from the last offset reads the text of all paths once.
        offset = text.find(line, position)
        if offset < 0:
            offset = text.find(line, 0, position + len(line))
        if offset >= 0:
            path_indexes.append(index)
            offsets.append(offset + 1)
            position = offset

    starts = np.array(offsets, dtype=np.uint32)
    return np.array(path_indexes, dtype=np.int64), np.searchsorted(view.path_start, starts).astype(np.int64)


def _empty() -> Int64Array:
    return np.zeros(0, dtype=np.int64)


def count_missing_definitions(store: IndexStore, target: Target, directory: bytes = b"") -> int:
    """Count the files without content, at or below a path, that a grammar could parse; raises as `IndexStore.open`."""
    snapshot, _ = store.open(target)
    view = snapshot.view
    if not (view.reason == _MISSING_CODE).any():
        return 0
    if not directory:
        return len(missing_files(view))

    pattern = compile_pattern(
        f"^{re.escape(directory.decode(errors='replace'))}(?:/|$)", kind="regexp", case_sensitive=True, whole_text=True
    )
    return len(missing_files(view, snapshot.passing_files((FileFilter(pattern),), ())))


def is_missing(store: IndexStore, target: Target, path: str) -> bool:
    """Return whether the clone lacks the content of the file at a path; raises as `IndexStore.open`."""
    return store.open(target)[0].reason_of(path) == REASONS[_MISSING_CODE]


_NO_NAMES = _Names(lengths=_empty(), start=_empty(), end=_empty(), kind=_empty())
_NO_DEFINITIONS = _Names(lengths=np.zeros(1, dtype=np.int64), start=_empty(), end=_empty(), kind=_empty())
