"""Steps that read the contents of files: the filter ``file:has.content``, and cells of notebooks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.boolean import And
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.cells import CellDocument
from sourcelight.engines.execution.plan import Plan, required_content
from sourcelight.engines.execution.results.select import FileKey, file_key
from sourcelight.engines.search import IndexStore, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.cells.rows import add_cells

_READ_BYTES = 32 * 1024 * 1024
"""Bytes of notebooks in which a search that doesn't ask for cells looks them up: 0.3 s of work, 10 ms a megabyte."""


def in_files_with_content(
    store: IndexStore,
    plan: Plan,
    query: TextQuery,
    targets: Sequence[Target],
    search: Callable[[Sequence[Target]], Iterator[SearchPart]],
    cancellation: Cancellation,
) -> Iterator[SearchPart]:
    """Yield the parts of `search`, with matches only in files that ``file:has.content`` of the plan accepts."""
    content = required_content(plan.alternative)
    if not content:
        yield from search(targets)
        return

    languages = () if query.cells else query.languages  # lines of cells aren't lines of files
    content_query = TextQuery(And(tuple(content)), query.files, languages)
    for target in targets:
        parts = list(store.search((target,), content_query, SearchOptions(lines=False), cancellation))
        paths: set[str | None] = set()
        for part in parts:
            for batch in part.batches:
                paths.update(MatchRows(batch).texts("path"))

        yield from (SearchPart(skipped=part.skipped) for part in parts if part.skipped)
        for part in search((target,)):
            filtered_batches = (_with_paths(batch, paths) for batch in part.batches)
            yield replace(part, batches=tuple(batch for batch in filtered_batches if batch.num_rows))


def _with_paths(batch: Any, paths: set[str | None]) -> Any:
    return batch.filter(pa.array([path in paths for path in MatchRows(batch).texts("path")], pa.bool_()))


class FileReader(Protocol):
    """Reads files of targets: an `IndexStore`, or its replacement until there is an index."""

    def read(self, target: Target, path: str) -> bytes | None:
        """Return the content of a file, or None if it doesn't exist or matches by name only."""
        ...

    def cells_of(self, target: Target, path: str) -> CellDocument | None:
        """Return the cells of a file, or None if it isn't a readable notebook."""
        ...


def parts_with_cells(
    store: FileReader, targets: Sequence[Target], parts: Generator[SearchPart, None, None]
) -> Generator[SearchPart, None, None]:
    """Yield the parts, with the cell of each line of a notebook, until `_READ_BYTES` are read."""
    target_of_file: dict[FileKey, Target] = {}
    remaining = _READ_BYTES

    def cells_of(repository: str, revision: str, path: str) -> CellDocument | None:
        nonlocal remaining
        if not target_of_file:
            target_of_file.update((file_key(target), target) for target in targets)

        target = target_of_file[repository, revision]
        # Files that are in a cache count too, so that the same query always gives the same cells.
        data = store.read(target, path) if remaining > 0 else None
        if data is None:
            return None

        remaining -= len(data)
        return store.cells_of(target, path)

    with closing(parts):
        for part in parts:
            batches = tuple(add_cells(batch, cells_of) for batch in part.batches)
            is_same = all(new is old for new, old in zip(batches, part.batches, strict=True))
            yield part if is_same else replace(part, batches=batches)
