"""Searches of commits and changed lines, repository after repository, as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.engines.execution.commits import line_matches
from sourcelight.engines.execution.commits.changed_files import ChangedFilePredicates
from sourcelight.engines.execution.commits.histories import SearchedHistories
from sourcelight.engines.execution.commits.query import CommitPlan
from sourcelight.engines.execution.indexes.background import HistoryRequest, HistoryUpdater
from sourcelight.engines.history import History
from sourcelight.engines.history.history import UnreadCommits
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers
from sourcelight.engines.history.search.cell_matches import cell_diff_matches
from sourcelight.engines.history.search.cells import CellDiffMatches, CellDiffSearch
from sourcelight.engines.history.search.filters import filter_changes
from sourcelight.engines.history.search.find import DiffMatches, find_commits, find_diffs
from sourcelight.engines.history.search.line_cells import LineCells
from sourcelight.engines.history.search.matches import commit_matches, diff_matches
from sourcelight.engines.history.search.order import newest_first
from sourcelight.engines.history.search.previews import DiffPreviews
from sourcelight.engines.history.search.query import CellDiffQuery, CommitQuery, DiffQuery
from sourcelight.engines.history.search.structures import StructureQuery, StructureSearch
from sourcelight.engines.search import Target
from sourcelight.repos import Repository, resolve

WORKTREE = "WORKTREE"
MAX_NAMED_UNREAD = 5
"""Commits that are named of those whose changes could not be read."""


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    """A repository, the commits whose history is searched, and the commits whose history is excluded."""

    repository: Repository
    revisions: tuple[str, ...]
    without: tuple[str, ...] = ()

    @property
    def request(self) -> HistoryRequest:
        """The history that must be open before the search."""
        return HistoryRequest(self.repository, tuple(dict.fromkeys((*self.revisions, *self.without))))


def history_commits_of(
    targets: Sequence[Target], without: Callable[[Repository], Sequence[str]]
) -> tuple[HistoryCommit, ...]:
    """Group the revisions of each repository, because they are searched together."""
    targets_by_repository: dict[str, list[Target]] = {}
    for target in targets:
        targets_by_repository.setdefault(target.repository.key, []).append(target)

    history_commits = []
    for targets_of_repository in targets_by_repository.values():
        repository = targets_of_repository[0].repository
        commits = dict.fromkeys(map(_commit, targets_of_repository))
        history_commits.append(HistoryCommit(repository, tuple(commits), tuple(without(repository))))

    return tuple(history_commits)


def _commit(target: Target) -> str:
    """Return the commit of a target; for a work tree, its HEAD."""
    if target.revision != WORKTREE or target.repository.kind != "git":
        return target.commit
    try:
        # The "commit" of a work tree is a hash of its files, which no history has.
        return resolve(target.repository, "")
    except RepositoryError:
        return target.repository.info.commit


@dataclass(slots=True)
class CommitSearch:
    """Searches histories for the plans.

    Attributes
    ----------
    with_previews
        Whether diffs get a preview.
    with_cells
        Whether changed lines of notebooks say in which cell they are.
    unread
        By repository with unread commits: the number of unread commits among the searched ones, and some hashes.
    shallow
        Repositories whose oldest commits seem to add every file, and why.
    done
        Repositories that were searched to the end.
    without_owners
        Repositories with a searched commit that has no CODEOWNERS file, if the query filters by owner.
    unread_owners
        Path of a CODEOWNERS file that can't be read, by repository.
    """

    updater: InitVar[HistoryUpdater]
    cancellation: Cancellation
    with_previews: bool = False
    with_cells: bool = False
    unread: dict[str, UnreadCommits] = field(default_factory=dict)
    shallow: dict[str, str] = field(default_factory=dict)
    histories: SearchedHistories = field(init=False)
    done: list[str] = field(default_factory=list)
    without_owners: set[str] = field(default_factory=set)
    unread_owners: dict[str, str] = field(default_factory=dict)
    _yielded: dict[str, frozenset[str]] = field(init=False, default_factory=dict)
    _line_cells: LineCells | None = field(init=False, default=None)

    def __post_init__(self, updater: HistoryUpdater) -> None:
        self.histories = SearchedHistories(updater, self.cancellation)

    @property
    def failed(self) -> dict[str, str]:
        """Repositories whose history can't be read, and why."""
        return self.histories.failed

    def batches(
        self, plans: Sequence[tuple[CommitPlan, Sequence[HistoryCommit]]]
    ) -> Iterator[tuple[HistoryCommit, CommitPlan, Any]]:
        """Yield batches of all plans, each commit once for each kind of result."""
        by_repository: dict[str, list[tuple[CommitPlan, HistoryCommit]]] = {}
        for plan, of_plan in plans:
            for history_commit in of_plan:
                by_repository.setdefault(history_commit.repository.key, []).append((plan, history_commit))

        # By name, as `newest` chooses its repository; rows would otherwise jump once the histories are built.
        for pairs in sorted(by_repository.values(), key=lambda pairs: pairs[0][1].repository.name):
            if self.cancellation.stopped:
                return

            name = pairs[0][1].repository.name
            # Its history could not be read before the search, and `failed` says why.
            if name in self.failed:
                continue

            try:
                yield from self._search_repository(pairs)
            except (ScanStopped, KeyError):  # out of time, or its history was not read in time
                continue
            except (SourcelightError, OSError) as exc:
                self.failed[name] = str(exc)

            self.done.append(name)

    def take_parts(
        self, requests: Sequence[HistoryRequest], plans: Sequence[tuple[CommitPlan, Sequence[HistoryCommit]]]
    ) -> None:
        """Read the changes only of commits that pass the filters by date, person and message, if these are few."""
        for request in requests:
            filters = []
            for plan, of_plan in plans:
                for position in of_plan:
                    if position.repository.key == request.repository.key:
                        filters.append(plan.history_query(position.revisions, position.without).commits)

            if filters:
                self.histories.take_part(request, filters)

    def newest(
        self, plan: CommitPlan, of_plan: Sequence[HistoryCommit]
    ) -> Iterator[tuple[HistoryCommit, CommitPlan, Any]]:
        """Yield batches of the first repository's newest commits if its history isn't built; `batches` has the rest.

        Of the first repository alone, so that rows come in the same order with a history and without.
        """
        if plan.repositories_only or not plan.needs_changes or not isinstance(plan.query, CommitQuery | DiffQuery):
            return

        position = min(of_plan, key=lambda position: position.repository.name)
        query = plan.history_query(position.revisions, position.without)
        try:
            newest = self.histories.open_newest(position.request, query.commits)
            if newest is None:
                return
            history, oids = newest
            self.note(history, position.repository.name, position.revisions)
            for batch in self._match_batches(history, plan.kind, [(plan, position)]):
                yield position, plan, batch
        except ScanStopped:
            return

        self._yielded[position.repository.key] = frozenset(oids)

    def _search_repository(
        self, pairs: Sequence[tuple[CommitPlan, HistoryCommit]]
    ) -> Iterator[tuple[HistoryCommit, CommitPlan, Any]]:
        target = pairs[0][1]
        info = target.repository.info

        # All alternatives see one history, so that their commits have the same numbers.
        oids = (commit for _, position in pairs for commit in position.request.commits)
        request = HistoryRequest(target.repository, tuple(dict.fromkeys(oids)))
        commits_alone = not any(plan.needs_changes for plan, _ in pairs)
        history = self.histories.open(request, commits_alone=commits_alone)
        self.note(history, target.repository.name, target.revisions, changes=not commits_alone)

        # Rows of the two kinds have different columns, so a batch has one of them, and commits come first.
        kinds: tuple[Literal["commit", "diff"], ...] = ("commit", "diff")
        for kind in kinds:
            of_kind = [(plan, position) for plan, position in pairs if plan.kind == kind]
            # Cells have lines of their own, so that they share no rows with lines of files.
            of_cells = [pair for pair in of_kind if isinstance(pair[0].query, CellDiffQuery)]
            yield from self._batches_of(target, of_cells, self._cells(history, info, of_cells))
            mine = [pair for pair in of_kind if not isinstance(pair[0].query, CellDiffQuery)]
            if not mine:
                continue

            if any(isinstance(plan.query, StructureQuery) for plan, _ in mine):
                batches: Iterator[Any] = self._structures(history, info, kind, mine)
            else:
                batches = self._match_batches(history, kind, mine)

            yield from self._batches_of(target, mine, batches)

    def _match_batches(
        self, history: History, kind: Literal["commit", "diff"], pairs: Sequence[tuple[CommitPlan, HistoryCommit]]
    ) -> Iterator[Any]:
        """Return commits by their messages and files, or changed lines, of one repository."""
        repository = pairs[0][1].repository
        stopped = lambda: self.cancellation.stopped  # noqa: E731 - what scans ask every 10 ms
        if kind == "diff":
            matches_of_plans = [self._diffs(history, plan, position) for plan, position in pairs]
            previews = DiffPreviews(repository.git_dir) if self.with_previews and repository.git_dir else None
            if self.with_cells and self._line_cells is None:
                self._line_cells = LineCells()
            cells = None if self._line_cells is None else self._line_cells.of_repository(repository)
            united = line_matches.unite(history, matches_of_plans)
            return diff_matches(history, repository.info, united, stopped, previews, cells)

        queries = [plan.history_query(position.revisions, position.without) for plan, position in pairs]
        matches = [
            self._commits(history, plan, history_commit=position, commits=find_commits(history, q, stopped), query=q)
            for (plan, position), q in zip(pairs, queries, strict=True)
            if isinstance(q, CommitQuery)
        ]
        trees = [query.tree for query in queries if isinstance(query, CommitQuery) and query.tree is not None]
        if len(matches) == 1:
            commits = matches[0]
        else:
            commits = newest_first(history, CommitNumbers(np.unique(np.concatenate(matches))))
        return commit_matches(history, repository.info, commits, line_matches.unite_trees(trees))

    def _batches_of(
        self, target: HistoryCommit, plans: Sequence[tuple[CommitPlan, HistoryCommit]], batches: Iterator[Any]
    ) -> Iterator[tuple[HistoryCommit, CommitPlan, Any]]:
        for batch in batches:
            yield target, plans[0][0], batch
            if all(plan.repositories_only for plan, _ in plans):
                break
            if self.cancellation.stopped:
                raise ScanStopped

    def _cells(
        self, history: History, info: RepositoryInfo, plans: Sequence[tuple[CommitPlan, HistoryCommit]]
    ) -> Iterator[Any]:
        """Yield changed lines in cells as they arrive; with several alternatives, only after all have finished."""
        cell_matches = chain.from_iterable(self._cell_matches(history, plan, position) for plan, position in plans)
        if len(plans) > 1:
            yield from cell_diff_matches(history, info, list(cell_matches))
            return
        for matches in cell_matches:
            yield from cell_diff_matches(history, info, [matches])

    def _cell_matches(
        self, history: History, plan: CommitPlan, history_commit: HistoryCommit
    ) -> Iterator[CellDiffMatches]:
        query = plan.history_query(history_commit.revisions, history_commit.without)
        if not isinstance(query, CellDiffQuery):
            raise TypeError(f"expected a CellDiffQuery, got {query!r}")

        search = CellDiffSearch(history_commit.repository, history, query, lambda: self.cancellation.stopped)
        for matches in search.matches():
            # Predicates read contents: only of changes that match already.
            if plan.predicates:
                changes = ChangeNumbers(np.array(matches.changes, dtype=np.int64))
                passing = set(self._passing(history, plan, history_commit, changes).tolist())
                yield matches.of_changes(passing)
            else:
                yield matches
            self._note_unread(history, history_commit.repository.name, search.unread)

    def _structures(
        self,
        history: History,
        info: RepositoryInfo,
        kind: str,
        plans: Sequence[tuple[CommitPlan, HistoryCommit]],
    ) -> Iterator[Any]:
        """Yield commits, or changed lines, of changes that add or remove structures, as they are found.

        Commits and lines that two alternatives find are yielded once. To unite lines, it waits for all alternatives.
        """
        structure_matches: Iterator[DiffMatches] = chain.from_iterable(
            self._structure_matches(history, plan, position) for plan, position in plans
        )
        if kind == "commit":
            yielded: set[int] = set()
            for matches in structure_matches:
                # Alternatives run one after another over the same numbers of commits, so a set is enough to drop
                # repeats.
                new = [number for number in matches.commits.tolist() if number not in yielded]
                yielded.update(new)
                yield from commit_matches(history, info, CommitNumbers(np.array(new, dtype=np.int64)), None)
            return

        git_dir = plans[0][1].repository.git_dir if self.with_previews else ""
        if len(plans) > 1:
            all_hits = list(structure_matches)
            structure_matches = iter([line_matches.unite(history, all_hits)] if all_hits else [])

        for matches in structure_matches:
            previews = DiffPreviews(git_dir) if git_dir else None
            yield from diff_matches(history, info, matches, lambda: self.cancellation.stopped, previews)

    def _structure_matches(
        self, history: History, plan: CommitPlan, history_commit: HistoryCommit
    ) -> Iterator[DiffMatches]:
        query = plan.history_query(history_commit.revisions, history_commit.without)
        if not isinstance(query, StructureQuery):
            return

        search = StructureSearch(history_commit.repository, history, query, lambda: self.cancellation.stopped)
        for matches in search.matches():
            if plan.predicates:
                passing = self._passing(history, plan, history_commit, matches.changes)
                yield line_matches.select_rows(history, matches, np.isin(matches.row_changes, passing), passing)
            else:
                yield matches
            self._note_unread(history, history_commit.repository.name, search.unread)

    def _note_unread(self, history: History, name: str, commits: set[int]) -> None:
        """Record commits with a file that could not be searched for structures."""
        if commits:
            cached = self.unread.get(name, (0, ()))
            unread = len(commits), tuple(history.oid(number) for number in sorted(commits)[-MAX_NAMED_UNREAD:])
            # Alternatives see the same commits: the largest count is kept, because a sum would count commits twice.
            self.unread[name] = max(cached, unread)

    def _diffs(self, history: History, plan: CommitPlan, history_commit: HistoryCommit) -> DiffMatches:
        query = plan.history_query(history_commit.revisions, history_commit.without)
        if not isinstance(query, DiffQuery):
            raise TypeError(f"expected a DiffQuery, got {query!r}")

        # Rows cost memory per changed line. Only a choice between added and removed lines needs them here.
        query = replace(query, with_rows=plan.side is not None)
        matches = find_diffs(history, query, lambda: self.cancellation.stopped)
        yielded = self._yielded_numbers(history, history_commit)
        if yielded is not None:
            matches = line_matches.drop_commits(history, matches, yielded)

        if plan.predicates:
            passing = self._passing(history, plan, history_commit, matches.changes)
            matches = line_matches.select_rows(history, matches, np.isin(matches.row_changes, passing), passing)

        return matches if plan.side is None else line_matches.select_side(history, matches, plan.side)

    def _commits(
        self,
        history: History,
        plan: CommitPlan,
        *,
        history_commit: HistoryCommit,
        commits: CommitNumbers,
        query: CommitQuery,
    ) -> CommitNumbers:
        """Return the commits that changed a file which passes the predicates and the filters on files."""
        yielded = self._yielded_numbers(history, history_commit)
        if yielded is not None:
            commits = CommitNumbers(commits[~np.isin(commits, yielded)])

        if not plan.predicates:
            return commits

        # `changes.commit` has the commit of each change, so the mask is over changes, not over commits.
        every = np.isin(history.changes.commit, commits)
        files = filter_changes(history, query.files, lambda: self.cancellation.stopped)
        changes = ChangeNumbers(np.flatnonzero(every if files is None else every & files))
        passing_commits = history.changes.commit[self._passing(history, plan, history_commit, changes)]
        return CommitNumbers(commits[np.isin(commits, passing_commits)])

    def _yielded_numbers(self, history: History, history_commit: HistoryCommit) -> CommitNumbers | None:
        """Return the commits whose rows `newest` has yielded, or None if it yielded none."""
        oids = self._yielded.get(history_commit.repository.key)
        if oids is None:
            return None
        # The newest commits were numbered by a history of their own, so their hashes are looked up in this one.
        positions = [position for position in map(history.position, oids) if position is not None]
        return CommitNumbers(np.array(positions, dtype=np.int64))

    def _passing(
        self, history: History, plan: CommitPlan, history_commit: HistoryCommit, changes: ChangeNumbers
    ) -> ChangeNumbers:
        files = ChangedFilePredicates(
            history_commit.repository, history, plan.predicates, self.cancellation, case_sensitive=plan.case_sensitive
        )
        passing_changes = ChangeNumbers(files.passing(changes))
        if files.without_owners:
            self.without_owners.add(history_commit.repository.name)

        if files.unread_owners:
            self.unread_owners[history_commit.repository.name] = files.unread_owners

        return passing_changes

    def note(self, history: History, name: str, revisions: Sequence[str], *, changes: bool = True) -> None:
        """Record what the history of a repository lacks behind some revisions; raises KeyError for an unknown one.

        Without `changes`, commits whose changes are unread don't count: their messages and dates were read.
        """
        # Reachability costs a walk over the graph, and nearly all histories have no unread commit.
        if changes and history.commits.unread.any():
            reached = np.logical_or.reduce([history.reachable(oid) for oid in revisions])
            unread = history.unread(reached)
            if unread[0]:
                self.unread[name] = max(self.unread.get(name, (0, ())), unread)
        if history.shallow:
            self.shallow[name] = history.shallow
