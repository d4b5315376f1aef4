"""Files whose content is not there: what a partial clone lacks, as its index knows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcelight.engines.search.index.view import REASONS
from sourcelight.engines.search.model import Target, TextQuery
from sourcelight.engines.search.store import IndexStore

_MISSING = REASONS.index("missing")


def lacks_contents(store: IndexStore, targets: Sequence[Target], query: TextQuery) -> bool:
    """Whether any file that passes the filters of `query` has no content. Raises as `IndexStore.open`."""
    for target in targets:
        snapshot, _ = store.open(target)
        missing = snapshot.view.reason == _MISSING
        if missing.any():
            mask = snapshot.filtered(query.files, query.languages)
            if mask is None or bool(np.any(missing & mask)):
                return True
    return False


def lacks_file(store: IndexStore, target: Target, path: str) -> bool:
    """Whether there is a file at a path that has no content. Raises as `IndexStore.open`."""
    return store.open(target)[0].reason_of(path) == REASONS[_MISSING]
