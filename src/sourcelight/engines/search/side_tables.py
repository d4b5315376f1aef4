"""Files of definitions: one table beside each shard, with the same numbers of documents.

``symbols.json`` in a repository's folder names them and is replaced in one step, under the folder's lock, only once a
table is wholly on disk. Parsing goes on without the lock, so it holds up no update of the text. A table knows its
documents by blob id, and a shard that is written anew takes over what the former tables knew.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.search.index.folder import IndexFolder, IndexManifest
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.view import REASONS, CommitView
from sourcelight.engines.storage.sections import SectionFile, write_sections
from sourcelight.engines.symbols import LANGUAGES, SymbolTable, TableBuilder, definitions, version

_MOST_OPEN_TABLES = 400
_TELL_BYTES = 1024 * 1024

Codes = NDArray[np.uint8]


@dataclass(slots=True)
class TableBuildOptions:
    """Which shard's table to build, and whom to tell.

    `stop` is called between files and raises to end the build; `tell` gets (files, bytes) parsed so far; `room` is how
    many bytes the table may take, None for no limit.
    """

    shard: str
    stop: Callable[[], None]
    tell: Callable[[int, int], None]
    room: int | None = None


def build_table(
    folder: IndexFolder, order: TableBuildOptions, loose: LooseShard | None = None
) -> tuple[int, int] | None:
    """Build the table of one shard; give the files and bytes parsed, None when nobody needs the shard any more.

    A `loose` shard has no file, so it is passed open.

    Raises `IndexWriteFailed`, or what `order.stop` raises; the former tables then stay as they were.
    """
    try:
        manifest = folder.manifest()
        shard = loose or Shard(folder.path / order.shard)
        languages = _wanted_languages(folder, manifest, shard)
    except FileNotFoundError:
        return None
    builder = TableBuilder()
    read = _fill(builder, shard, languages, _former_tables(folder), order)
    with folder.locked(order.stop):
        current = folder.manifest()
        if order.shard not in current.names:
            return None
        name = write_sections(folder.path, "symbols", builder.facts(), builder.sections())
        path = folder.path / name
        if order.room is not None and path.stat().st_size > order.room:
            path.unlink(missing_ok=True)
            raise IndexWriteFailed(str(folder.path), "the limit set for the index (max_bytes) is reached")
        tables = folder.symbol_tables() | {order.shard: name}
        shards = current.shard_names
        if shards <= set(tables):
            tables = {shard: table for shard, table in tables.items() if shard in shards}
        folder.replace_symbol_tables(tables)
        folder.discard_unneeded()
    return read


def _fill(
    builder: TableBuilder, shard: Shard, languages: Codes, former: Sequence[SymbolTable], order: TableBuildOptions
) -> tuple[int, int]:
    files = size = told = 0
    collecting = gc.isenabled()
    gc.disable()  # parsing makes many objects and no cycles; a third of the time went into looking for them
    try:
        for document, key in enumerate(shard.blob_ids()):
            order.stop()
            code = int(languages[document])
            language = LANGUAGES[code - 1] if code else ""
            known = next((table for table in former if key in table.by_key), None)
            if known is not None:
                place = known.by_key[key]
                if language in {"", known.language(place)}:
                    builder.add(key, known.language(place), known.definitions(place))
                    continue
            text = shard.text(document) if language else b""
            builder.add(key, language, definitions(language, text))
            files, size = files + bool(language), size + len(text)
            if size - told >= _TELL_BYTES:
                told = size
                order.tell(files, size)
    finally:
        if collecting:
            gc.enable()
    return files, size


def _former_tables(folder: IndexFolder) -> list[SymbolTable]:
    """Open the tables there are that were made by the same rules; damaged ones don't count."""
    found = []
    for name in dict.fromkeys(folder.symbol_tables().values()):
        table = open_table(folder, name)
        if table is not None and table.rules == version():
            found.append(table)
    return found


def open_table(folder: IndexFolder, name: str) -> SymbolTable | None:
    """Open a table, every byte of it checked; None for one that is missing, damaged or of another format."""
    try:
        file = SectionFile(folder.path / name, "symbols")
        file.verify()
        return SymbolTable(file)
    except (IndexDamaged, OSError, ValueError, KeyError):
        return None


def _wanted_languages(folder: IndexFolder, manifest: IndexManifest, shard: Shard) -> Codes:
    """Tell in which language each document is to be read: that of its first path in the newest view, 0 for none."""
    wanted = np.zeros(shard.documents, dtype=np.uint8)
    for entry in reversed(manifest.views):
        view = CommitView(folder.path / entry.name)
        if shard.name in view.shards:
            documents, codes = _readable(view, view.shards.index(shard.name))
            late = wanted[documents] == 0
            documents, codes = documents[late], codes[late]
            wanted[documents[::-1]] = codes[::-1]
    return wanted


def _readable(
    view: CommitView, shard: int, chosen: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.uint32], Codes]:
    """Give the documents of a view's (chosen) files in one shard that have a grammar, and its number plus one."""
    held = view.shard == shard
    files = np.flatnonzero(held if chosen is None else held & chosen)
    codes = _grammars(view)[view.language[files]]
    documents = view.document[files]
    return documents[codes > 0], codes[codes > 0]


def _grammars(view: CommitView) -> Codes:
    """The number plus one of the grammar of each language of a view, 0 for none."""
    places = {name: number for number, name in enumerate(LANGUAGES, 1)}
    return np.array([places.get(name, 0) for name, _ in view.languages] or [0], dtype=np.uint8)


def missing(view: CommitView, chosen: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """Give the numbers of the (chosen) files of a view that have a grammar and whose content is not there."""
    lacking = view.reason == REASONS.index("missing")
    files = np.flatnonzero(lacking if chosen is None else lacking & chosen)
    return files[_grammars(view)[view.language[files]] > 0]


def pending(view: CommitView, shard: int, table: SymbolTable | None, chosen: NDArray[np.bool_] | None = None) -> int:
    """Count the (chosen) files of a view in one shard whose definitions are still to be found."""
    documents, _ = _readable(view, shard, chosen)
    return len(documents) if table is None else int(np.count_nonzero(table.doc_language[documents] == 0))


class SideTables:
    """The open tables of a store. Safe to share between threads."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, str], SymbolTable] = OrderedDict()
        self._guard = threading.Lock()

    def tables(self, folder: IndexFolder, shards: Iterable[Shard]) -> list[SymbolTable | None]:
        """Open the table of each shard, None where there is none that can be used."""
        names = folder.symbol_tables()
        return [self._table(folder, names[shard.name], shard) if shard.name in names else None for shard in shards]

    def forget(self, folder: IndexFolder) -> None:
        """Let go of the tables of a folder."""
        with self._guard:
            for place in [place for place in self._open if place[0] == str(folder.path)]:
                del self._open[place]

    def _table(self, folder: IndexFolder, name: str, shard: Shard) -> SymbolTable | None:
        place = str(folder.path), name
        with self._guard:
            found = self._open.get(place)
            if found is not None:
                self._open.move_to_end(place)
        if found is None:
            found = open_table(folder, name)
            if found is None:
                return None
            with self._guard:
                self._open[place] = found
                if len(self._open) > _MOST_OPEN_TABLES:
                    self._open.popitem(last=False)
        return found if found.documents == shard.documents else None
