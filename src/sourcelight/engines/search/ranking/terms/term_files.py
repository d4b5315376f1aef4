"""Term tables on disk: build and open the table of a shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.batches import CommitId
from sourcelight.core.errors import IndexWriteFailed
from sourcelight.engines.search.definition_tables import DEFINITIONS
from sourcelight.engines.search.index.folder import IndexManifest, TextIndexFolder
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.terms.subject_table import SubjectTable
from sourcelight.engines.search.ranking.terms.table_builder import PROSE, TermTableBuilder
from sourcelight.engines.search.ranking.terms.term_table import TermTable, rules
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.side_tables import (
    SideTable,
    TableBuildOptions,
    TableProgress,
    paused_collector,
    table_with,
)
from sourcelight.engines.symbols import SymbolTable

TERMS = SideTable("terms", rules, TermTable)
"""The kind of table."""


def build_table(
    folder: TextIndexFolder, options: TableBuildOptions, loose: LooseShard | None = None
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

    name = folder.side_tables(DEFINITIONS.kind).get(options.shard, "")
    symbols = DEFINITIONS.open(folder, name) if name else None
    if symbols is None or symbols.documents != shard.documents:
        raise IndexWriteFailed(str(folder.path), "the definitions of a shard are not indexed yet")

    builder = TermTableBuilder()
    totals = _fill(builder, shard, symbols, prose, TERMS.previous(folder), options)
    return totals if TERMS.store(folder, options, builder) else None


def _fill(
    builder: TermTableBuilder,
    shard: Shard,
    symbols: SymbolTable,
    prose: BoolArray,
    previous: Sequence[TermTable],
    options: TableBuildOptions,
) -> tuple[int, int]:
    progress = TableProgress(options)
    with paused_collector():
        for document, key in enumerate(shard.blob_ids()):
            options.check_cancelled()
            language = int(symbols.doc_language[document])
            previous_table = table_with(previous, key)
            if previous_table is not None and int(previous_table.doc_language[previous_table.by_key[key]]) == language:
                builder.take_over(key, language, previous_table, previous_table.by_key[key])
                continue

            text = shard.text(document)
            definitions = symbols.definitions(document) if language else None
            builder.add(key, language, text, definitions, prose=bool(prose[document]))
            progress.add(len(text))

    return progress.files, progress.bytes


def _prose(folder: TextIndexFolder, manifest: IndexManifest, shard: Shard) -> BoolArray:
    """Return which documents are texts with headings, by their first path in the newest view."""
    is_prose = np.zeros(shard.documents, dtype=np.bool_)
    for entry in manifest.views:
        view = CommitView(folder.path / entry.name)
        if shard.name in view.shards:
            is_prose_language = np.array([name in PROSE for name, _ in view.languages] or [False])
            # Reversed: with repeated documents, the last assignment wins, which belongs to the first path.
            files = np.flatnonzero(view.shard == view.shards.index(shard.name))[::-1]
            is_prose[view.document[files]] = is_prose_language[view.language[files]]

    return is_prose


@dataclass(frozen=True, slots=True)
class OpenedTerms:
    """A target with its definition and term tables, and the subjects of its last commits, where they are known."""

    target: Target
    commit: CommitId
    snapshot: OpenedCommit
    symbols: list[SymbolTable | None]
    terms: list[TermTable | None]
    subjects: SubjectTable | None = None

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
