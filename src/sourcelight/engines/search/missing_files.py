"""Files whose content a partial clone lacks, as recorded in its index."""

from __future__ import annotations

import re

from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search.definition_tables import missing_files
from sourcelight.engines.search.index.view import REASONS
from sourcelight.engines.search.model import FileFilter, Target
from sourcelight.engines.search.store import IndexStore

_MISSING_CODE = REASONS.index("missing")


def count_missing_definitions(store: IndexStore, target: Target, directory: bytes = b"") -> int:
    """Count the files without content, at or below a path, that a grammar could parse; raises as `IndexStore.open`."""
    snapshot, _ = store.open(target)
    view = snapshot.view
    if not (view.reason == _MISSING_CODE).any():
        return 0
    if not directory:
        return len(missing_files(view))
    pattern = compile_pattern(
        f"^{re.escape(directory.decode(errors='replace'))}(?:/|$)", kind="regexp", case_sensitive=True, whole_text=True
    )
    return len(missing_files(view, snapshot.passing_files((FileFilter(pattern),), ())))


def is_missing(store: IndexStore, target: Target, path: str) -> bool:
    """Return whether the clone lacks the content of the file at a path; raises as `IndexStore.open`."""
    return store.open(target)[0].reason_of(path) == REASONS[_MISSING_CODE]
