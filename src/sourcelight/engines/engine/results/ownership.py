"""Owners of files in searched repositories: which files an owner has, and which repositories say nothing of owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.errors import SourcelightError
from sourcelight.core.query import Predicate
from sourcelight.core.wire.events import Alert
from sourcelight.engines.engine.limits import names
from sourcelight.engines.engine.results.codeowners import PLACES, CodeOwners, owned_by
from sourcelight.engines.search import Target


@dataclass(frozen=True, slots=True)
class Owners:
    """A file of owners: its path, its content and the rules in it."""

    path: str
    content: bytes
    rules: CodeOwners = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", CodeOwners(self.content.decode(errors="replace")))


ReadFile = Callable[[Target, str], bytes | None]
"""Gives a file of a target by its path, None when there is none."""

LacksFile = Callable[[Target, str], bool]
"""Tells whether a target has a file at a path whose content is not there."""


class Ownership:
    """Reads the CODEOWNERS file of each searched commit once.

    `unknown` holds the repositories that were asked about and have no such file, `unowned` counts by repository files
    that have no owner where owners were asked for, `later` holds repositories of which commits were asked about that
    have no such file. `missing` holds the repositories whose file is there, but not its content (a partial clone).
    """

    def __init__(self, read: ReadFile, lacks: LacksFile) -> None:
        self._read = read
        self._lacks = lacks
        self._known: dict[tuple[str, str, str], Owners | None] = {}
        self.unknown: set[str] = set()
        self.unowned: Counter[str] = Counter()
        self.later: set[str] = set()
        self.missing: set[str] = set()

    def of(self, target: Target) -> CodeOwners | None:
        """The owners of the target's files; None when it has no such file."""
        found = self.file_of(target)
        return None if found is None else found.rules

    def file_of(self, target: Target) -> Owners | None:
        """The target's file of owners; None when it has none."""
        key = (target.repository.key, target.revision, target.commit)
        if key not in self._known:
            self._known[key] = self._load(target)
        name = target.repository.facts.name
        if self._known[key] is None and name not in self.missing:
            self.unknown.add(name)
        return self._known[key]

    def _load(self, target: Target) -> Owners | None:
        try:
            for place in PLACES:
                text = self._read(target, place)
                if text is not None:
                    return Owners(place, text)
                if self._lacks(target, place):
                    self.missing.add(target.repository.facts.name)
                    return None
        except (SourcelightError, OSError):
            pass
        return None

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
        said = []
        if self.unknown:
            said.append(
                f"{len(self.unknown):,} of {searched:,} searched repositories have no CODEOWNERS file (looked for at "
                f"{', '.join(PLACES)}), so none of their files has an owner:\n{names(list(self.unknown))}"
            )
        if unowned := self.unowned.total():
            said.append(f"No rule of a CODEOWNERS file gives an owner to {unowned:,} of the files found.")
        if self.later:
            said.append(f"In these repositories some commits have no CODEOWNERS file yet:\n{names(list(self.later))}")
        if not said:
            return None
        every = bool(self.unknown) and len(self.unknown) >= searched
        return Alert(
            title="No ownership data" if every else "Some results have no owners",
            description="\n\n".join(said),
            kind="warning",
        )
