"""``file:has.contributor``: the files that someone has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query import Predicate
from sourcelight.engines.execution.commits.search import WORKTREE, CommitSearch
from sourcelight.engines.history import History
from sourcelight.engines.history.file_history import follow_files
from sourcelight.engines.history.search.filters import filter_people
from sourcelight.engines.history.search.query import AnyPattern
from sourcelight.engines.history.subtrees import layout_of
from sourcelight.engines.search import Target
from sourcelight.repos import ObjectReader, Repository, resolve


class ContributorPredicate:
    """Selects files with an author whose name or address matches, in any commit behind the searched one.

    The commits of a file come from `sourcelight.engines.history.file_history`, as in `path_history` and `hotspots`.

    Parameters
    ----------
    histories
        The search of commits, with a store of histories that is up to date for the searched commits.

    Attributes
    ----------
    failed
        Repositories whose history was not available, with reasons.
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
                # Without a history no contributor is known: no file passes, not even with a negated predicate.
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
            self._paths_by_key[key] = contributed_paths(
                history, target.repository, commit, AnyPattern((pattern,)), self._histories.cancellation
            )
            self._histories.note(history, target.repository.name, (commit,))

        return self._paths_by_key[key]


def contributed_paths(
    history: History, repository: Repository, commit: CommitId, people: AnyPattern, cancellation: Cancellation
) -> frozenset[str]:
    """Return the paths of a commit's files that one of `people` changed, under any name that a file had.

    Raises KeyError for an unknown commit.
    """
    layout, reachable = layout_of(history, repository, commit, cancellation), history.reachable(commit)
    with ObjectReader(repository) as reader:
        paths = reader.tree(commit).paths

    # Following renames is the costly step, and it is the same for every person.
    changes = history.remember(
        f"changes of files of {commit}", lambda: follow_files(history, layout, reachable, paths, cancellation)
    )
    # The author of each change of a file, through its commit.
    authors = history.commits.author[history.changes.commit[changes.change]]
    files = np.unique(changes.file[filter_people(history, people)[authors]])
    return frozenset(paths[file].decode("utf-8", "replace") for file in files.tolist())
