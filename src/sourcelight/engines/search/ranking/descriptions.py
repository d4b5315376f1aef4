"""Describe ranked files and chunks: from their numbers in a collection to paths, lines and names of definitions.

Ranking works with numbers; only what a ranking returns is described, as each path and name is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sourcelight.engines.search.ranking.chunk_definitions import definition_names
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import RankedChunk, RankedFile
from sourcelight.engines.search.ranking.order import BestChunks, RankOrder, ScoredChunk
from sourcelight.engines.search.ranking.paths import reported_kind


def describe_files(order: RankOrder, files: Sequence[int]) -> list[RankedFile]:
    """Return ranked files by their numbers, with the share of each list in their scores."""
    collection, lists = order.collection, order.lists
    ranked_files = []
    for file, score in zip(files, order.scores_of(files), strict=True):
        target, view_file = collection.view_file(file)
        open_terms = collection.open_terms[target]
        kind = int(collection.kinds[file])
        factor = float(lists.factors[kind]) / order.max_total
        ranked_files.append(
            RankedFile(
                target=replace(open_terms.target, commit=open_terms.commit),
                path=open_terms.snapshot.view.path(view_file),
                score=score,
                kind=reported_kind(kind),
                lists={name: float(scores[file]) * factor for name, scores in lists.lists.items()},
            )
        )

    return ranked_files


def describe_chunks(
    collection: ChunkCollection, best: BestChunks, ranked_files: Sequence[RankedFile]
) -> list[RankedChunk]:
    """Return the best chunks.

    Parameters
    ----------
    collection
        The collection of the chunks.
    best
        Numbers of the chunks and of their files.
    ranked_files
        The files of `best`, in the same order.
    """
    file_index = {file: index for index, file in enumerate(best.files)}
    names_of = _definition_names(collection, best.chunks)
    ranked_chunks = []
    for chunk, score in best.chunks:
        block, row = collection.table_chunk(chunk)
        start, end = collection.blocks[block].lines_of(row)
        index = file_index[int(collection.file_of[chunk])]
        file = ranked_files[index]
        ranked_chunks.append(
            RankedChunk(
                target=file.target,
                path=file.path,
                begin_line=start,
                end_line=end,
                score=score,
                kind=file.kind,
                symbols=names_of[chunk],
                file=index,
            )
        )

    return ranked_chunks


def _definition_names(collection: ChunkCollection, chunks: Sequence[ScoredChunk]) -> dict[int, tuple[str, ...]]:
    """Return the names of the definitions that begin in each chunk, by its number."""
    # Ascending, so that the names of each block are read in one call.
    numbers = np.array(sorted(chunk for chunk, _ in chunks), dtype=np.int64)
    names_of_chunks = definition_names(collection, numbers)
    return {
        number: tuple(name.decode(errors="replace") for name in names)
        for number, names in zip(numbers.tolist(), names_of_chunks, strict=True)
    }
