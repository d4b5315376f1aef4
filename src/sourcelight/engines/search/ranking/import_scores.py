"""Centrality of files: the number of other files that import each, by the last part of the imported names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.symbols import SymbolTable

MAX_MEANT = 12
"""Maximum files that share the vote of an import's last name; beyond it, the name is ignored."""

_SUFFIX = re.compile(r"\.(?:h|hh|hpp|hxx|js|mjs|cjs|ts|rb|php|sh)$")
_LAST_NAME = re.compile(r"[^./\\:]+$")


def import_scores(target_terms: OpenedTerms) -> Float64Array:
    """Return for each file of a view the logarithm of the files that import it, divided by the greatest.

    An import is taken by the last name of its module, or of what it takes from it: a file that is called so, else the
    files of a folder. This doesn't follow the rules of a language, but is enough to order files.
    """
    key = "import scores", *map(id, target_terms.symbols)
    scores: Float64Array = target_terms.snapshot.remember(key, lambda: _scores(target_terms))
    return scores


def _scores(open_terms: OpenedTerms) -> Float64Array:
    snapshot = open_terms.snapshot
    files = snapshot.view.files
    files_by_name = _files_by_name(snapshot)
    counts: Float64Array = np.zeros(files)
    for shard, symbols in enumerate(open_terms.symbols):
        if symbols is None:
            continue

        importer, text = _imports(snapshot, shard, symbols)
        first, sizes, meant = _meant_files(symbols, text, files_by_name)
        many = sizes.take(text)
        rows = np.arange(len(text)).repeat(many)
        positions = np.arange(len(rows)) - (many.cumsum() - many).repeat(many)
        file = meant.take(first.take(text.take(rows)) + positions)

        # A file that imports another one twice counts once.
        _, distinct = np.unique(importer.take(rows) * files + file, return_index=True)
        distinct = distinct[importer.take(rows.take(distinct)) != file.take(distinct)]
        np.add.at(counts, file.take(distinct), 1.0 / many.take(rows.take(distinct)))

    greatest = float(counts.max(initial=0.0))
    return np.log1p(counts) / np.log1p(greatest) if greatest else counts


def _imports(snapshot: OpenedCommit, shard: int, symbols: SymbolTable) -> tuple[Int64Array, Int64Array]:
    """Return the importing file of each name that is imported, and the number of the name: modules, then members."""
    placement = snapshot.placement(shard)
    file_of = np.full(symbols.documents, -1, dtype=np.int64)

    # Reversed, so that the first file of a repeated document remains.
    file_of[placement.documents[::-1]] = placement.files[::-1]
    importer = file_of.take(symbols.import_documents)
    is_importer_present = importer >= 0
    modules, members = symbols.import_module[is_importer_present], symbols.import_member[is_importer_present]
    return np.tile(importer[is_importer_present], 2), np.concatenate([modules, members]).astype(np.int64)


def _files_by_name(snapshot: OpenedCommit) -> Mapping[str, Sequence[int]]:
    """Return the files by their name up to its first dot, and by ``/`` and the name of their folder, in lower case."""
    files_by_name: dict[str, list[int]] = {}
    for file, path in enumerate(snapshot.view.path_texts()):
        folder, _, name = path.lower().rpartition("/")
        files_by_name.setdefault(name.partition(".")[0], []).append(file)
        if folder:
            files_by_name.setdefault("/" + folder.rpartition("/")[2], []).append(file)

    return files_by_name


def _meant_files(
    symbols: SymbolTable, texts: Int64Array, files_by_name: Mapping[str, Sequence[int]]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return where the files that each text may mean begin, how many they are, and all of them."""
    count = int(texts.max(initial=-1)) + 1
    first, sizes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    meant: list[int] = []
    for number in np.unique(texts).tolist():
        match = _LAST_NAME.search(_SUFFIX.sub("", symbols.import_text(number).strip("\"'<>").lower()))
        if match is None:
            continue
        files = files_by_name.get(match[0]) or files_by_name.get("/" + match[0], ())
        if len(files) <= MAX_MEANT:
            first[number], sizes[number] = len(meant), len(files)
            meant += files

    return first, sizes, np.array(meant, dtype=np.int64)
