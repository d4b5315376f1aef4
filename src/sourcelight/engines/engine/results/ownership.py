"""Owners of files in searched repositories: which files an owner has, and which repositories say nothing of owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.errors import SourcelightError
from sourcelight.core.query import Predicate
from sourcelight.core.wire.events import Alert
from sourcelight.engines.engine.limits import names
from sourcelight.engines.engine.results.codeowners import PLACES, CodeOwners, owned_by
from sourcelight.engines.search import Target

ReadFile = Callable[[Target, str], bytes | None]
"""Gives a file of a target by its path, None when there is none."""


class Ownership:
    """Reads the CODEOWNERS file of each searched commit once.

    `unknown` holds the repositories that were asked about and have no such file.
    """

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._known: dict[tuple[str, str, str], CodeOwners | None] = {}
        self.unknown: set[str] = set()

    def of(self, target: Target) -> CodeOwners | None:
        """The owners of the target's files; None when it has no such file."""
        key = (target.repository.key, target.revision, target.commit)
        if key not in self._known:
            self._known[key] = self._load(target)
        if self._known[key] is None:
            self.unknown.add(target.repository.facts.name)
        return self._known[key]

    def _load(self, target: Target) -> CodeOwners | None:
        try:
            texts = (self._read(target, place) for place in PLACES)
            found = next((text for text in texts if text is not None), None)
        except (SourcelightError, OSError):
            return None
        return None if found is None else CodeOwners(found.decode(errors="replace"))

    def filtered(self, batch: Any, target: Target, wanted: tuple[Predicate, ...]) -> Any:
        """Keep the rows of `batch` whose file passes every ``file:has.owner`` predicate of `wanted`."""
        index = batch.schema.get_field_index("path")
        if index < 0:
            return batch.slice(0, 0)
        rules = self.of(target)
        column = batch.column(index)
        codes = np.asarray(column.indices.fill_null(0))
        used = np.unique(codes)
        passes = np.zeros(len(column.dictionary), dtype=np.bool_)
        for code, path in zip(used.tolist(), column.dictionary.take(pa.array(used)).to_pylist(), strict=True):
            owners = rules.owners(path) if rules is not None else ()
            passes[code] = all(owned_by(owners, p.args["owner"]) is not p.negated for p in wanted)
        return batch.filter(pa.array(passes[codes]))

    def alert(self, searched: int) -> Alert | None:
        """What to say when repositories have no owners written down; `searched` is how many were searched."""
        if not self.unknown:
            return None
        every = len(self.unknown) >= searched
        return Alert(
            title="No ownership data" if every else "Some results have no owners",
            description=f"{len(self.unknown):,} of {searched:,} searched repositories have no CODEOWNERS file "
            f"(looked for at {', '.join(PLACES)}), so none of their files has an owner:\n{names(list(self.unknown))}",
            kind="warning",
        )
