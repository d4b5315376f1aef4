"""Files whose content is not there: what a partial clone lacks, as its index knows it."""

from __future__ import annotations

import re

from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search.index.view import REASONS
from sourcelight.engines.search.model import FileFilter, Target
from sourcelight.engines.search.side_tables import missing
from sourcelight.engines.search.store import IndexStore

_MISSING = REASONS.index("missing")


def lacking_definitions(store: IndexStore, target: Target, below: bytes = b"") -> int:
    """Count the files with definitions, at a path or below it, that have no content. Raises as `IndexStore.open`."""
    snapshot, _ = store.open(target)
    view = snapshot.view
    if not (view.reason == _MISSING).any():
        return 0
    if not below:
        return len(missing(view))
    pattern = compile_pattern(
        f"^{re.escape(below.decode(errors='replace'))}(?:/|$)", kind="regexp", case_sensitive=True, whole_text=True
    )
    return len(missing(view, snapshot.passing_files((FileFilter(pattern),), ())))


def lacks_file(store: IndexStore, target: Target, path: str) -> bool:
    """Whether there is a file at a path that has no content. Raises as `IndexStore.open`."""
    return store.open(target)[0].reason_of(path) == REASONS[_MISSING]
