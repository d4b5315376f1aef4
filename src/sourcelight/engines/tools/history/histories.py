"""Open the histories that a tool call names, and update them first.

Revisions are resolved first, so that a wrong name costs no build. A history is updated only if it lacks one of the
commits, and tools that need commits alone read them without a build. What a history lacks becomes a notice of the
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sourcelight.core import errors
from sourcelight.core.arrays import BoolArray
from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import OLDER_HISTORY_MISSING
from sourcelight.engines.history import History, HistoryProgress, HistoryStore
from sourcelight.engines.history.model import CommitNumbers, UnbuiltHistory
from sourcelight.engines.history.subtrees import Layout, layout_of
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import PartialResult
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.filters import Dates, dates_of
from sourcelight.repos import Repository, resolve


@dataclass(eq=False)
class OpenedHistory:
    """A repository's history, and the commits that count, with all of their ancestors.

    Ancestors of `without` don't count. If `unbuilt` is set, the history has commits only, and `unbuilt` reads changes.
    """

    repository: Repository
    history: History
    commits: tuple[CommitId, ...]
    without: tuple[CommitId, ...] = ()
    unbuilt: UnbuiltHistory | None = None

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name

    @cached_property
    def mask(self) -> BoolArray:
        """A mask of the commits that count."""
        reached = [self.history.reachable(commit) for commit in self.commits]
        mask = reached[0] if len(reached) == 1 else np.logical_or.reduce(reached)
        for commit in self.without:
            mask = mask & ~self.history.reachable(commit)
        return mask

    def with_changes(self, commits: CommitNumbers, context: ToolContext) -> OpenedHistory:
        """Return the history with the changes of at least `commits`; raises as `UnbuiltHistory.with_changes`."""
        if self.unbuilt is None:
            return self
        return replace(self, history=self.unbuilt.with_changes(commits, context.cancellation), unbuilt=None)

    def layout(self, context: ToolContext) -> Layout:
        """Return the paths of all changes; paths of a merged subtree are in the tree that it was merged into."""
        return layout_of(self.history, self.repository, self.commits[0], context.cancellation)


@dataclass(slots=True)
class OpenedHistories:
    """Opened histories, with notices about missing and incomplete ones."""

    partial: PartialResult
    selections: list[OpenedHistory] = field(default_factory=list)

    @property
    def notices(self) -> list[str]:
        """Notices about missing or incomplete histories, one sentence each."""
        return self.partial.notices

    @property
    def complete(self) -> bool:
        """Whether all histories are available and complete."""
        return self.partial.complete

    def without_rows(self, columns: str, attributes: dict[str, Any]) -> ToolResult:
        """Return the answer of a tool about one repository whose history is not there: no rows, and the reason."""
        return ToolResult(
            columns=columns,
            table=tables.table(columns, {}, 0),
            attributes=attributes,
            complete=self.complete,
            notices=tuple(self.notices),
        )

    def to_partial_result(self, results: dict[str, Any], dates: dict[str, str] | None = None) -> PartialResult:
        """Return the results of each history, with the notices about gaps."""
        self.partial.results, self.partial.dates = results, dates or {}
        return self.partial


class DatedArguments(Protocol):
    """Arguments of a tool over histories between two dates."""

    @property
    def repos(self) -> Sequence[str] | None:
        """Exact names of repositories."""

    @property
    def revisions(self) -> Sequence[str] | None:
        """Revisions as `revisions_of` reads them."""

    @property
    def after(self) -> str | None:
        """Earliest committer date, exclusive."""

    @property
    def before(self) -> str | None:
        """Latest committer date, exclusive."""


def gather_dated(
    tool: str,
    arguments: DatedArguments,
    context: ToolContext,
    find: Callable[[OpenedHistory, Dates], Any],
    *,
    commits_alone: bool = False,
) -> PartialResult:
    """Call `find` for each repository between two dates, and return a partial result; see `open_histories`."""
    after, before, dates = dates_of(tool, arguments.after, arguments.before)
    revisions, without = revisions_of(arguments.revisions)
    histories = open_histories(tool, context, arguments.repos or (), revisions, without, commits_alone=commits_alone)
    return gather_each(histories, context, lambda selection: find(selection, (after, before)), dates)


def gather_each(
    histories: OpenedHistories,
    context: ToolContext,
    find: Callable[[OpenedHistory], Any],
    dates: dict[str, str] | None = None,
) -> PartialResult:
    """Call `find` for each history, and return a partial result."""
    results = {}
    for selection in histories.selections:
        context.cancellation.check()
        results[selection.name] = find(selection)
    return histories.to_partial_result(results, dates)


def revisions_of(revisions: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Split the argument `revisions` into included revisions and revisions excluded by ``^``."""
    names = revisions or ()
    return [name for name in names if name[:1] != "^"], [name[1:] for name in names if name[:1] == "^"]


def open_history(tool: str, context: ToolContext, repo: str, revision: str | None) -> OpenedHistories:
    """Open the history of one repository at a revision, its default branch if there is none; see `open_histories`."""
    return open_histories(tool, context, (repo,), [revision] if revision else ())


def open_histories(
    tool: str,
    context: ToolContext,
    repos: Sequence[str],
    revisions: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    commits_alone: bool = False,
) -> OpenedHistories:
    """Read new commits of repositories, and open their histories.

    Parameters
    ----------
    tool
        Name of the tool, for errors.
    context
        The context, whose viewer's permissions apply.
    repos
        Exact names; if empty, every repository that the viewer may see.
    revisions
        Branches, tags or commits, whose ancestors count. If empty, the default branch.
    without
        Branches, tags or commits, whose ancestors don't count.
    commits_alone
        Whether only commits are needed, without changes. Then an unbuilt history stays unbuilt, and there is no notice
        about commits whose changes can't be read.

    Raises
    ------
    RepositoryNotFound
        No repository has this name, or the viewer may not see it.
    RevisionNotFound
        No repository has one of the revisions.
    ToolError
        A served call names no repository.
    Cancelled
        ``context.cancellation.cancel()`` was called.
    """
    # Without names, the histories of all repositories would be built before the first answer.
    if not repos and context.served:
        raise errors.ToolError(f"{tool}: repos is empty; name the repositories, list_repos finds them", tool=tool)

    repositories = named_repositories(context, repos)
    partial = PartialResult(tuple(repository.name for repository in repositories))
    histories = OpenedHistories(partial)
    requests: list[_OpenRequest] = []
    is_single = len(repositories) == 1 and not context.parted
    for repository in repositories:
        if repository.kind != "git":
            partial.omit("kind", repository.name, f"{repository.name} is a directory without git and has no history.")
            continue
        commits, excluded = (
            _resolve(repository, names, partial.missing_revisions, is_single=is_single)
            for names in (revisions or ("",), without)
        )
        if commits:
            requests.append(_OpenRequest(repository, commits, excluded))

    # A worker sees some of the repositories only; the coordinator checks this over all.
    if not context.parted:
        partial.check_revisions()

    for request in requests:
        unbuilt = _read_commits(context, request) if commits_alone else None
        if unbuilt is None:
            _update(context, request, partial)
        _open(context, request, histories, unbuilt, commits_alone=commits_alone)

    return histories


def named_repositories(context: ToolContext, repos: Sequence[str]) -> list[Repository]:
    """Return the repositories of exact names, or all that the viewer may see; raises `RepositoryNotFound`."""
    catalog = context.engine.catalog
    names = dict.fromkeys(name.strip("/") for name in repos)
    return [catalog.get(name, context.viewer) for name in names] or list(catalog.visible(context.viewer))


@dataclass(frozen=True, slots=True)
class _OpenRequest:
    """A repository, and commits that count and that don't."""

    repository: Repository
    commits: tuple[CommitId, ...]
    without: tuple[CommitId, ...]


def _resolve(
    repository: Repository, revisions: Sequence[str], missing: dict[str, int], *, is_single: bool
) -> tuple[CommitId, ...]:
    """Return the commits of revisions; a missing one is counted, or raises if there is only one repository."""
    commits: dict[CommitId, None] = {}
    for revision in revisions:
        try:
            commits[resolve(repository, revision)] = None
        except errors.RevisionNotFound:
            missing[revision] = missing.get(revision, 0) + 1
            if is_single:
                raise

    return tuple(commits)


def _read_commits(context: ToolContext, request: _OpenRequest) -> UnbuiltHistory | None:
    """Read the commits of an unbuilt history; return None if it is built, or if they can't be read."""
    context.cancellation.check()
    commits = (*request.commits, *request.without)
    if context.observer is not None:
        context.observer(ToolProgress(stage="reading commits", done=0, total=0, detail=request.repository.name))

    try:
        return context.local.history.open_unbuilt(request.repository, commits, context.cancellation)
    except (errors.GitFailed, errors.RepositoryError, errors.SearchIndexError, OSError):
        # The build meets the same obstacle, and reports it.
        return None


def _update(context: ToolContext, request: _OpenRequest, partial: PartialResult) -> None:
    store, repository = context.local.history, request.repository
    observer = context.observer

    def report_progress(progress: HistoryProgress) -> None:
        if observer is not None:
            observer(
                ToolProgress(
                    stage="reading history",
                    done=progress.commits_done,
                    total=progress.commits_total,
                    detail=progress.repository,
                )
            )

    context.cancellation.check()
    # A commit that the store has needs no update: the history behind a commit never changes.
    stale = [commit for commit in (*request.commits, *request.without) if not _holds(store, repository, commit)]
    if not stale:
        return

    # HEAD as well, so that the next call on the default branch finds its history built.
    refs = ("HEAD", *stale)
    report = store.update([repository], refs=refs, progress=report_progress, cancellation=context.cancellation)
    context.cancellation.check()
    for name, reason in report.failures.items():
        partial.omit("update", name, f"The history of {name} could not be brought up to date: {reason}.")


def _holds(store: HistoryStore, repository: Repository, commit: str) -> bool:
    try:
        return store.open(repository).position(commit) is not None
    except (errors.SearchIndexError, OSError):
        return False


def _open(
    context: ToolContext,
    request: _OpenRequest,
    histories: OpenedHistories,
    unbuilt: UnbuiltHistory | None,
    *,
    commits_alone: bool,
) -> None:
    repository, commits = request.repository, request.commits

    def omit(message: str) -> None:
        histories.partial.omit("open", repository.name, message)

    try:
        history = unbuilt.history if unbuilt is not None else context.local.history.open(repository)
    except errors.SearchIndexError as exc:
        omit(f"The history of {repository.name} can't be read: {exc.reason}.")
        return

    included = tuple(commit for commit in commits if history.position(commit) is not None)
    excluded = tuple(commit for commit in request.without if history.position(commit) is not None)
    missing_count = len(commits) - len(included) + len(request.without) - len(excluded)
    if missing_count:
        omit(f"The history of {repository.name} lacks {count_of(missing_count, 'revision')}.")

    # Without a commit that counts, the mask would have nothing to start from.
    if not included:
        return

    selection = OpenedHistory(
        repository=repository, history=history, commits=included, without=excluded, unbuilt=unbuilt
    )
    histories.selections.append(selection)
    if not commits_alone:
        omit_unread(histories.partial, selection, selection.mask)

    if "shallow" in history.shallow:
        omit(f"{repository.name} {OLDER_HISTORY_MISSING}")

    if "partial" in history.shallow:
        omit(f"{repository.name} is a partial clone: it may lack files and directories of its commits.")


def omit_unread(partial: PartialResult, selection: OpenedHistory, mask: BoolArray) -> None:
    """Add a notice if the changes of some commits of `mask` can't be read."""
    unread, names = selection.history.unread(mask)
    if unread:
        name_list = ", ".join(name[:12] for name in names) + (", …" if unread > len(names) else "")
        partial.omit(
            "open",
            selection.name,
            f"{selection.name}: the changes of {count_of(unread, 'commit')} are not counted: "
            f"objects are missing or too large ({name_list}).",
        )
