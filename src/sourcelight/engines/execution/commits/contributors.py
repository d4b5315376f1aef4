"""``file:has.contributor``: the files that someone has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.errors import SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query import Predicate
from sourcelight.engines.execution.commits.search import WORKTREE, CommitSearch
from sourcelight.engines.history import History
from sourcelight.engines.history.model import RENAMED
from sourcelight.engines.history.search.find import filter_people
from sourcelight.engines.history.search.query import AnyPattern
from sourcelight.engines.search import Target
from sourcelight.repos import resolve


class ContributorPredicate:
    """Selects files with an author whose name or address matches, in any commit behind the searched one.

    A file takes the authors of the file that it was renamed from with it. Merges have no changes of their own.

    Parameters
    ----------
    histories
        Told of what a history lacks; its store is up to date for what is searched.

    Attributes
    ----------
    failed
        Repositories whose history was not there, and why.
    """

    def __init__(self, histories: CommitSearch) -> None:
        self._histories = histories
        self._paths_by_key: dict[tuple[str, str, str, bool], frozenset[str]] = {}
        self.failed: dict[str, str] = {}

    def filter_rows(self, batch: Any, target: Target, predicates: Sequence[Predicate], *, case_sensitive: bool) -> Any:
        """Filter `batch`, all of `target`, to rows whose file passes every predicate of `predicates`."""
        for predicate in predicates:
            try:
                paths = self._paths(target, predicate.args["regexp"], case_sensitive=case_sensitive)
            except (SourcelightError, KeyError):
                self.failed[target.repository.name] = "its history was not read in time, so no file of it is shown"
                return batch.slice(0, 0)
            texts = MatchRows(batch).texts("path")
            mask = [path is not None and (path in paths) != predicate.negated for path in texts]
            batch = batch.filter(pa.array(mask, pa.bool_()))
        return batch

    def _paths(self, target: Target, regexp: str, *, case_sensitive: bool) -> frozenset[str]:
        commit = resolve(target.repository, "") if target.revision == WORKTREE else target.commit
        key = (target.repository.key, commit, regexp, case_sensitive)
        if key not in self._paths_by_key:
            pattern = compile_pattern(regexp, kind="regexp", case_sensitive=case_sensitive)
            history = self._histories.histories.store.open(target.repository)
            self._paths_by_key[key] = paths_changed_by(history, commit, AnyPattern((pattern,)))
            self._histories.note(history, target.repository.name, (commit,))
        return self._paths_by_key[key]


def paths_changed_by(history: History, commit: str, who: AnyPattern) -> frozenset[str]:
    """Return paths, present and former, that someone in `who` changed in `commit` or before.

    Raises KeyError for a commit that is not there.
    """
    changes = history.changes
    reached = history.reachable(commit)[changes.commit]
    people = filter_people(history, who)
    theirs = people[history.commits.author[changes.commit]] & reached
    is_contributor = np.zeros(len(history.paths), np.bool_)
    is_contributor[changes.path[theirs]] = True
    # Renames in the order of commits, parents first: a chain of renames passes the contribution on in one pass.
    moved = np.flatnonzero(reached & (changes.status == RENAMED))
    for old, new in zip(changes.old_path[moved].tolist(), changes.path[moved].tolist(), strict=True):
        if is_contributor[old]:
            is_contributor[new] = True
    return frozenset(history.paths.text(number) for number in np.flatnonzero(is_contributor).tolist())
