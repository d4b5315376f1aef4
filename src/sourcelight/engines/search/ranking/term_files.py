"""Term tables on disk: build and open the table of a shard."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.search.index.folder import IndexFolder, IndexManifest
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.term_table import PROSE, TermTable, TermTableBuilder, rules
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.engines.search.side_tables import TableBuildOptions, open_table
from sourcelight.engines.storage.sections import SectionFile, write_sections
from sourcelight.engines.symbols import SymbolTable

KIND = "terms"
_TELL_BYTES = 1024 * 1024


def build_table(
    folder: IndexFolder, options: TableBuildOptions, loose: LooseShard | None = None
) -> tuple[int, int] | None:
    """Build the table of one shard, whose definitions are known; None when the index has dropped the shard.

    Returns the files and bytes read. Raises `IndexWriteFailed`, or what `options.check_cancelled` raises; the former
    tables then stay as they were.
    """
    try:
        manifest = folder.manifest()
        shard = loose or Shard(folder.path / options.shard)
        prose = _prose(folder, manifest, shard)
    except FileNotFoundError:
        return None
    name = folder.symbol_tables().get(options.shard, "")
    symbols = open_table(folder, name) if name else None
    if symbols is None or symbols.documents != shard.documents:
        raise IndexWriteFailed(str(folder.path), "the definitions of a shard are not known yet")
    builder = TermTableBuilder()
    read = _fill(builder, shard, symbols, prose, _former_tables(folder), options)
    # The table was built without the lock; the shard may be gone by now.
    with folder.lock(options.check_cancelled):
        current = folder.manifest()
        if options.shard not in current.names:
            return None
        name = write_sections(folder.path, "terms", builder.facts(), builder.sections())
        path = folder.path / name
        if options.budget_bytes is not None and path.stat().st_size > options.budget_bytes:
            path.unlink(missing_ok=True)
            raise IndexWriteFailed(str(folder.path), "the limit set for the index (max_bytes) is reached")
        tables = folder.side_tables(KIND) | {options.shard: name}
        if current.shard_names <= set(tables):
            tables = {shard: table for shard, table in tables.items() if shard in current.shard_names}
        folder.replace_side_tables(KIND, tables)
        folder.discard_unneeded()
    return read


def _fill(
    builder: TermTableBuilder,
    shard: Shard,
    symbols: SymbolTable,
    prose: BoolArray,
    previous: Sequence[TermTable],
    options: TableBuildOptions,
) -> tuple[int, int]:
    files = size = reported_bytes = 0
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for document, key in enumerate(shard.blob_ids()):
            options.check_cancelled()
            language = int(symbols.doc_language[document])
            previous_table = next((table for table in previous if key in table.by_key), None)
            if previous_table is not None and int(previous_table.doc_language[previous_table.by_key[key]]) == language:
                builder.take_over(key, language, previous_table, previous_table.by_key[key])
                continue
            text = shard.text(document)
            definitions = symbols.definitions(document) if language else None
            builder.add(key, language, text, definitions, prose=bool(prose[document]))
            files, size = files + 1, size + len(text)
            if size - reported_bytes >= _TELL_BYTES:
                reported_bytes = size
                options.on_progress(files, size)
    finally:
        if was_enabled:
            gc.enable()
    return files, size


def _former_tables(folder: IndexFolder) -> list[TermTable]:
    """Open the existing tables that were made by the same rules, without damaged ones."""
    opened = [open_terms(folder, name) for name in dict.fromkeys(folder.side_tables(KIND).values())]
    return [table for table in opened if table is not None and table.rules == rules()]


def open_terms(folder: IndexFolder, name: str) -> TermTable | None:
    """Open a table, every byte of it checked; None for one that is missing, damaged or of another format."""
    try:
        file = SectionFile(folder.path / name, "terms")
        file.verify()
        return TermTable(file)
    except (IndexDamaged, OSError, ValueError, KeyError):
        return None


def _prose(folder: IndexFolder, manifest: IndexManifest, shard: Shard) -> BoolArray:
    """Return which documents are texts with headings, by their first path in the newest view."""
    is_prose = np.zeros(shard.documents, dtype=np.bool_)
    for entry in manifest.views:
        view = CommitView(folder.path / entry.name)
        if shard.name in view.shards:
            is_prose_language = np.array([name in PROSE for name, _ in view.languages] or [False])
            # Reversed: with repeated documents, the last assignment wins, which is that of the first path.
            files = np.flatnonzero(view.shard == view.shards.index(shard.name))[::-1]
            is_prose[view.document[files]] = is_prose_language[view.language[files]]
    return is_prose


@dataclass(frozen=True, slots=True)
class OpenedTerms:
    """A target with its definition and term tables."""

    target: Target
    commit: str
    snapshot: OpenedCommit
    symbols: list[SymbolTable | None]
    terms: list[TermTable | None]

    @property
    def stale(self) -> list[int]:
        """The shards whose terms are missing, were made by other rules, or without definitions known by now."""
        stale_shards = []
        for number, (table, symbols) in enumerate(zip(self.terms, self.symbols, strict=True)):
            if (
                table is None
                or table.rules != rules()
                or (symbols is not None and not np.array_equal(table.doc_language, symbols.doc_language))
            ):
                stale_shards.append(number)
        return stale_shards
