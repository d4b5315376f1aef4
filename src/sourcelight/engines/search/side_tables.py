"""Definition tables: one file beside each shard, with the same document numbers.

``symbols.json`` in a repository's folder names them. It is replaced atomically, under the folder's lock, when a table
is complete on disk. Parsing runs without the lock, so it never delays an update of the text. Tables are keyed by blob
id: the table of a rewritten shard takes over the definitions that older tables have.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, UInt8Array
from sourcelight.core.caching import LruCache
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.search.index.folder import IndexFolder, IndexManifest
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.view import REASONS, CommitView
from sourcelight.engines.storage.sections import SectionFile, write_sections
from sourcelight.engines.symbols import LANGUAGES, SymbolTable, TableBuilder, definitions, version

_MAX_OPEN_TABLES = 400
_PROGRESS_BYTES = 1024 * 1024


@dataclass(slots=True)
class TableBuildOptions:
    """The shard whose table to build, limits and callbacks.

    `check_cancelled` is called between files and raises to end the build; `on_progress` gets the files and bytes parsed
    so far. `budget_bytes` is the maximum size of the table, None: no limit.
    """

    shard: str
    check_cancelled: Callable[[], None]
    on_progress: Callable[[int, int], None]
    budget_bytes: int | None = None


def build_table(
    folder: IndexFolder, options: TableBuildOptions, loose: LooseShard | None = None
) -> tuple[int, int] | None:
    """Build the table of one shard; returns files and bytes parsed, None when the shard is no longer in the index.

    A `loose` shard has no file, so the caller passes it.

    Raises `IndexWriteFailed`, or what `options.check_cancelled` raises; the previous tables then stay in place.
    """
    try:
        manifest = folder.manifest()
        shard = loose or Shard(folder.path / options.shard)
        languages = _document_languages(folder, manifest, shard)
    except FileNotFoundError:
        return None
    builder = TableBuilder()
    parsed = _fill(builder, shard, languages, _previous_tables(folder), options)
    with folder.lock(options.check_cancelled):
        current = folder.manifest()
        if options.shard not in current.names:
            return None
        name = write_sections(folder.path, "symbols", builder.facts(), builder.sections())
        path = folder.path / name
        if options.budget_bytes is not None and path.stat().st_size > options.budget_bytes:
            path.unlink(missing_ok=True)
            raise IndexWriteFailed(str(folder.path), "the limit set for the index (max_bytes) is reached")
        tables = folder.symbol_tables() | {options.shard: name}
        shards = current.shard_names
        if shards <= set(tables):
            tables = {shard: table for shard, table in tables.items() if shard in shards}
        folder.replace_symbol_tables(tables)
        folder.discard_unneeded()
    return parsed


def _fill(
    builder: TableBuilder,
    shard: Shard,
    languages: UInt8Array,
    previous: Sequence[SymbolTable],
    options: TableBuildOptions,
) -> tuple[int, int]:
    files = size = reported_bytes = 0
    was_enabled = gc.isenabled()
    gc.disable()  # parsing makes many objects and no cycles: the collector took a third of the time
    try:
        for document, key in enumerate(shard.blob_ids()):
            options.check_cancelled()
            code = int(languages[document])
            language = LANGUAGES[code - 1] if code else ""
            previous_table = next((table for table in previous if key in table.by_key), None)
            if previous_table is not None:
                position = previous_table.by_key[key]
                if language in {"", previous_table.language(position)}:
                    builder.add(key, previous_table.language(position), previous_table.definitions(position))
                    continue
            text = shard.text(document) if language else b""
            builder.add(key, language, definitions(language, text))
            files, size = files + bool(language), size + len(text)
            if size - reported_bytes >= _PROGRESS_BYTES:
                reported_bytes = size
                options.on_progress(files, size)
    finally:
        if was_enabled:
            gc.enable()
    return files, size


def _previous_tables(folder: IndexFolder) -> list[SymbolTable]:
    """Open the existing tables that were made by the current rules; damaged ones are left out."""
    tables = []
    for name in dict.fromkeys(folder.symbol_tables().values()):
        table = open_table(folder, name)
        if table is not None and table.rules == version():
            tables.append(table)
    return tables


def open_table(folder: IndexFolder, name: str) -> SymbolTable | None:
    """Open a table and check all of its bytes; None for one that is missing, damaged or of another format."""
    try:
        file = SectionFile(folder.path / name, "symbols")
        file.verify()
        return SymbolTable(file)
    except (IndexDamaged, OSError, ValueError, KeyError):
        return None


def _document_languages(folder: IndexFolder, manifest: IndexManifest, shard: Shard) -> UInt8Array:
    """Return the language code to parse each document with, from its first path in the newest view; 0: none."""
    codes_of_documents = np.zeros(shard.documents, dtype=np.uint8)
    for entry in reversed(manifest.views):
        view = CommitView(folder.path / entry.name)
        if shard.name in view.shards:
            documents, codes = _documents_with_grammar(view, view.shards.index(shard.name))
            is_unset = codes_of_documents[documents] == 0
            documents, codes = documents[is_unset], codes[is_unset]
            codes_of_documents[documents[::-1]] = codes[::-1]
    return codes_of_documents


def _documents_with_grammar(
    view: CommitView, shard: int, mask: BoolArray | None = None
) -> tuple[NDArray[np.uint32], UInt8Array]:
    """Return the documents of files in a shard that have a grammar, and the grammar's number plus one."""
    in_shard = view.shard == shard
    files = np.flatnonzero(in_shard if mask is None else in_shard & mask)
    codes = _grammar_codes(view)[view.language[files]]
    documents = view.document[files]
    return documents[codes > 0], codes[codes > 0]


def _grammar_codes(view: CommitView) -> UInt8Array:
    """Return the number plus one of the grammar of each language of a view; 0: none."""
    codes = {name: number for number, name in enumerate(LANGUAGES, 1)}
    return np.array([codes.get(name, 0) for name, _ in view.languages] or [0], dtype=np.uint8)


def missing_files(view: CommitView, mask: BoolArray | None = None) -> NDArray[np.intp]:
    """Return the files of a view under the mask that have a grammar and whose content the clone lacks."""
    is_missing = view.reason == REASONS.index("missing")
    files = np.flatnonzero(is_missing if mask is None else is_missing & mask)
    return files[_grammar_codes(view)[view.language[files]] > 0]


def pending_count(view: CommitView, shard: int, table: SymbolTable | None, mask: BoolArray | None = None) -> int:
    """Count the files of a view under the mask, in one shard, whose definitions have not been parsed yet."""
    documents, _ = _documents_with_grammar(view, shard, mask)
    return len(documents) if table is None else int(np.count_nonzero(table.doc_language[documents] == 0))


class SideTables:
    """The open definition tables of a store. Safe to share between threads."""

    def __init__(self) -> None:
        self._open: LruCache[tuple[str, str], SymbolTable | None] = LruCache(_MAX_OPEN_TABLES)

    def tables(self, folder: IndexFolder, shards: Iterable[Shard]) -> list[SymbolTable | None]:
        """Open the table of each shard; None where there is no usable one."""
        names = folder.symbol_tables()
        return [self._table(folder, names[shard.name], shard) if shard.name in names else None for shard in shards]

    def forget(self, folder: IndexFolder) -> None:
        """Close the tables of a folder."""
        path = str(folder.path)
        self._open.discard_where(lambda key: key[0] == path)

    def _table(self, folder: IndexFolder, name: str, shard: Shard) -> SymbolTable | None:
        key = str(folder.path), name
        table = self._open.get_or_make(key, lambda: open_table(folder, name), keep=lambda table: table is not None)
        return table if table is not None and table.documents == shard.documents else None
