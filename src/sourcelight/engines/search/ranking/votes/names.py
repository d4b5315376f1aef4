"""Votes of names: files that define a name of the question, and files that the question names.

A question with `Gate.lift` is about the file that defines `lift`, and one with `gate.py`, or with `Gate` where there is
a `Gate.java`, about that file. Both are looked up in tables, without reading a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sourcelight.engines.search.ranking.chunk_block import ChunkBlock
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.paths import PathWords
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.symbols import SymbolTable

MAX_DEFINING_FILES = 20
"""Maximum files that define a name of the question: a name with more definitions is too common to score them."""

BODILESS_SHARE = 0.25
"""Factor for a file that only declares a name, or defines it in one line: constants, fields, prototypes."""


def defining_files(collection: ChunkCollection, name: str) -> dict[int, float]:
    """Return the files that define a name, each with 1 if a definition has a body of lines, else `BODILESS_SHARE`.

    Beyond `MAX_DEFINING_FILES`, some files may be missing.
    """
    encoded = name.encode()
    shares_by_file: dict[int, float] = {}
    for number, block in enumerate(collection.blocks):
        symbols = collection.symbols_of(number)
        if symbols is not None:
            for index, share in _defining_in_block(block, symbols, encoded):
                shares_by_file[collection.file_base[number] + index] = share
        # A caller ignores so common a name, and needs only to see that there are too many.
        if len(shares_by_file) > MAX_DEFINING_FILES:
            break

    return shares_by_file


def _defining_in_block(block: ChunkBlock, symbols: SymbolTable, name: bytes) -> Sequence[tuple[int, float]]:
    """Return the files of a block that define a name, by their index in the block, each with its share."""
    rows = symbols.rows_of(name)
    if not len(rows):
        return ()

    documents = symbols.documents_of(rows)
    has_body = symbols.end_line[rows] > symbols.line[rows]
    shares_of_documents = np.zeros(block.table.documents)
    # In this order: a document may both declare a name and define it.
    shares_of_documents[documents] = BODILESS_SHARE
    shares_of_documents[documents[has_body]] = 1.0

    shares = shares_of_documents.take(block.documents)
    indices = shares.nonzero()[0]
    return list(zip(indices.tolist(), shares.take(indices).tolist(), strict=True))


def mentioned_files(collection: ChunkCollection, question: RankQuery) -> Iterator[int]:
    """Yield the files whose path, or whose name without its extension, is in the question."""
    paths = [path.strip("/") for path in question.files]
    if not paths and not question.names:
        return

    for target, open_terms in enumerate(collection.open_terms):
        view_files = _files_in_view(open_terms.snapshot, collection.words[target], paths, question.names)
        if view_files:
            for number in collection.blocks_of[target]:
                indices = np.isin(collection.blocks[number].files, view_files).nonzero()[0]
                yield from (collection.file_base[number] + indices).tolist()


def _files_in_view(
    snapshot: OpenedCommit, words: PathWords, paths: Sequence[str], names: Sequence[str]
) -> Sequence[int]:
    """Return the files of a view whose path ends with one of some paths, or whose name is one of some names."""
    view = snapshot.view
    files: list[int] = []
    # Both look-ups compare hashes, so the text itself is compared again here.
    for path in paths:
        candidates = words.files_named(path.rpartition("/")[2])
        files += [file for file in candidates if f"/{view.path(file)}".endswith(f"/{path}")]
    for name in names:
        candidates = words.with_stem(name)
        files += [file for file in candidates if view.path(file).rpartition("/")[2].startswith(f"{name}.")]
    return files
