"""The phases of an answer, and the order of its repositories within each, which the merge of workers relies on.

An answer goes through the repositories by name once for each phase: their own rows first, then commits, definitions and
files. Definitions have a phase only if they come before the files of all repositories; otherwise they come with their
file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from sourcelight.backends.cluster.messages import ResultBatch
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.engines.execution.plan import Plan

REPOSITORIES, COMMITS, SYMBOLS, FILES = range(4)
"""Phases of an answer, in their order."""

_PHASES_OF_KINDS = {"repo": REPOSITORIES, "commit": COMMITS, "diff": COMMITS}
"""The phase of a search in which rows of a type come; all others come with files."""


@dataclass(slots=True)
class Phases:
    """Finds the phase and the repository of rows.

    Parameters
    ----------
    matching_names
        Repositories whose names match: their own rows come first.
    with_commits
        Whether commits are searched.
    symbols_first
        Whether definitions come before the files of all repositories.
    """

    matching_names: frozenset[str]
    with_commits: bool
    symbols_first: bool
    _last: tuple[int, str] = (REPOSITORIES, "")

    def results(self, batch: Any) -> Iterator[ResultBatch]:
        """Yield a batch with the repositories that its rows are of, cut where a new phase begins."""
        if not batch.num_rows:
            return

        rows = MatchRows(batch)
        runs = boundaries(len(rows), [rows.codes("repository"), rows.codes("type")])
        run_starts = [start for start, _ in runs]
        names, kinds = _values(batch, "repository", run_starts), _values(batch, "type", run_starts)
        phases = [self._phase(kind, name) for kind, name in zip(kinds, names, strict=True)]
        for first, end in boundaries(len(phases), [np.array(phases, np.int64)]):
            start, end_row = runs[first][0], runs[end - 1][1]
            # Rows of one repository may be of several types, as paths beside contents.
            # Later runs of the same name overwrite earlier ones, so each repository ends with its last row.
            ends: dict[str, int] = {}
            for name, (_, run_end) in zip(names[first:end], runs[first:end], strict=True):
                ends[name] = run_end - start

            yield ResultBatch(
                phase=phases[first],
                repositories=tuple(ends),
                ends=tuple(ends.values()),
                batch=batch.slice(start, end_row - start),
            )

    def raw_result(self, matches: RawMatches) -> ResultBatch:
        """Return matches with the repositories that their files are of; all of them are of files."""
        ends = np.cumsum(matches.lengths).tolist()
        runs = boundaries(len(ends), [matches.location_index])

        # A repository at two revisions has two runs, of which the later one ends it.
        # Later runs of a name overwrite earlier ones.
        ends_by_name: dict[str, int] = {}
        for start, end in runs:
            location = matches.locations[int(matches.location_index[start])]
            ends_by_name[location.repository] = ends[end - 1]

        names = tuple(ends_by_name)
        return ResultBatch(
            phase=self._phase("content", names[-1]),
            repositories=names,
            ends=tuple(ends_by_name.values()),
            batch=matches,
        )

    def _phase(self, kind: str, name: str) -> int:
        if kind == "repo" and name not in self.matching_names:
            phase = COMMITS if self.with_commits else FILES
        elif kind == "symbol" and self.symbols_first:
            phase = SYMBOLS
        else:
            phase = _PHASES_OF_KINDS.get(kind, FILES)

        # Repositories found by commits, and then by files, are rows of the same type: the second list begins where
        # the names start again.
        last, previous_name = self._last
        if phase == last == COMMITS and name < previous_name:
            phase = FILES

        # Phases only ever rise, as the merge requires.
        phase = max(phase, last)
        self._last = phase, name
        return phase


def phases_of(plans: Sequence[Plan]) -> Phases:
    """Return the phases of the answer to some plans, before its first row."""
    searching = [plan for plan in plans if plan.searches]
    name_matches = chain.from_iterable(plan.repository_hits for plan in plans)
    return Phases(
        matching_names=frozenset(target.repository.name for target, _ in name_matches),
        with_commits=any(plan.commits is not None for plan in plans),
        symbols_first=len(searching) == 1 and has_two_runs(searching[0]) and not searching[0].alternative.select(),
    )


def has_two_runs(plan: Plan) -> bool:
    """Return whether a plan searches text and definitions, each in a run of its own through the repositories."""
    return plan.text is not None and plan.symbols is not None


def _values(batch: Any, name: str, row_indices: list[int]) -> list[str]:
    """Return some rows of a column with a dictionary and no nulls."""
    column = batch.column(batch.schema.get_field_index(name))
    values = column.dictionary.to_pylist()
    return [values[code] for code in column.indices.to_numpy(zero_copy_only=False)[row_indices].tolist()]
