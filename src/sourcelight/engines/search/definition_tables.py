"""Definition tables: the definitions of each document of a shard, and which files still need parsing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, UInt8Array
from sourcelight.engines.search import side_tables
from sourcelight.engines.search.index.folder import IndexManifest, TextIndexFolder
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.view import REASONS, CommitView
from sourcelight.engines.symbols import CELL_FORMATS, PARSED_LANGUAGES, SymbolTable, TableBuilder, definitions, version

DEFINITIONS = side_tables.SideTable("symbols", version, SymbolTable)
"""The kind of table; ``symbols`` is its name on disk."""


def build_table(
    folder: TextIndexFolder, options: side_tables.TableBuildOptions, loose: LooseShard | None = None
) -> tuple[int, int] | None:
    """Build the table of one shard; returns files and bytes parsed, None when the shard is no longer in the index.

    A `loose` shard has no file, so the caller passes it.

    Raises `IndexWriteFailed`, or what `options.check_cancelled` raises; the previous tables then stay in place.
    """
    try:
        manifest = folder.manifest()
        shard = loose or Shard(folder.path / options.shard)
        languages = document_languages(folder, manifest, shard)
    except FileNotFoundError:
        return None

    builder = TableBuilder()
    parsed = _fill(builder, shard, languages=languages, previous=DEFINITIONS.previous(folder), options=options)
    return parsed if DEFINITIONS.store(folder, options, builder) else None


def _fill(
    builder: TableBuilder,
    shard: Shard,
    *,
    languages: UInt8Array,
    previous: Sequence[SymbolTable],
    options: side_tables.TableBuildOptions,
) -> tuple[int, int]:
    progress = side_tables.TableProgress(options)
    with side_tables.paused_collector():
        for document, key in enumerate(shard.blob_ids()):
            options.check_cancelled()
            code = int(languages[document])
            language = PARSED_LANGUAGES[code - 1] if code else ""
            previous_table = side_tables.table_with(previous, key)
            if previous_table is not None:
                position = previous_table.by_key[key]
                if language in {"", previous_table.language(position)}:
                    builder.add(key, previous_table.language(position), previous_table.definitions(position))
                    continue

            text = shard.text(document) if language else b""
            builder.add(key, language, definitions(language, text))
            progress.add(len(text), files=int(bool(language)))

    return progress.files, progress.bytes


def document_languages(folder: TextIndexFolder, manifest: IndexManifest, shard: Shard) -> UInt8Array:
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
    codes = {name: number for number, name in enumerate(PARSED_LANGUAGES, 1)}
    return np.array([codes.get(name, 0) for name, _ in view.languages] or [0], dtype=np.uint8)


def missing_files(view: CommitView, mask: BoolArray | None = None) -> NDArray[np.intp]:
    """Return the files of a view under the mask that have a grammar and whose content the clone lacks."""
    is_missing = view.reason == REASONS.index("missing")
    files = np.flatnonzero(is_missing if mask is None else is_missing & mask)
    return files[_grammar_codes(view)[view.language[files]] > 0]


def count_large_notebooks(view: CommitView, mask: BoolArray | None = None) -> int:
    """Count the notebooks of a view under the mask that the index leaves out for their size."""
    formats = [number for number, (name, _) in enumerate(view.languages) if name in CELL_FORMATS]
    if not formats:
        return 0
    is_large = (view.reason == REASONS.index("too-large")) & np.isin(view.language, formats)
    return int(np.count_nonzero(is_large if mask is None else is_large & mask))


def pending_count(view: CommitView, shard: int, table: SymbolTable | None, mask: BoolArray | None = None) -> int:
    """Count the files of a view under the mask, in one shard, whose definitions have not been parsed yet."""
    documents, _ = _documents_with_grammar(view, shard, mask)
    if table is None:
        return len(documents)
    return int(np.count_nonzero(table.doc_language[documents] == 0))
