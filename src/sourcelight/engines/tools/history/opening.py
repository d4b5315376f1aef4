"""From repository names in a call to opened histories, brought up to date on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.core.batches.answers import CallProgress
from sourcelight.core.errors import CallError, IndexFault, RevisionNotFound
from sourcelight.engines.history import History, HistoryProgress, HistoryStore
from sourcelight.engines.history.snapshot import Mask
from sourcelight.engines.tools.model import CallContext
from sourcelight.repos import Repository, resolve


@dataclass(eq=False)
class Opened:
    """A repository's history, and the commits (40 hex digits) that count with all that is behind them."""

    repository: Repository
    history: History
    commits: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name

    @cached_property
    def mask(self) -> Mask:
        """Which commits of the history count."""
        reached = [self.history.reachable(commit) for commit in self.commits]
        return reached[0] if len(reached) == 1 else np.logical_or.reduce(reached)


@dataclass(slots=True)
class Histories:
    """Opened histories, and what the reader has to know about those that are missing or not whole."""

    opened: list[Opened] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    complete: bool = True

    def lack(self, notice: str) -> None:
        """Note something that makes the answer less than whole."""
        self.notices.append(notice)
        self.complete = False


def open_histories(call: str, context: CallContext, repos: Sequence[str], revisions: Sequence[str] = ()) -> Histories:
    """Open the histories of repositories, and read what is new in them first.

    Parameters
    ----------
    call
        Name of the call, for errors.
    context
        Whose permissions hold.
    repos
        Exact names; none: every repository that the viewer may see.
    revisions
        Branches, tags or commits; what is behind any of them counts. None: the default branch.

    Raises
    ------
    RepositoryNotFound
        For a name that is none, or not for this viewer.
    RevisionNotFound
        When no repository has a revision.
    CallError
        When a served call names no repository.
    Cancelled
        After ``context.cancellation.cancel()``.
    """
    catalog = context.engine.catalog
    if not repos and context.served:
        raise CallError(f"{call}: repos is empty; name the repositories, list_repos finds them", call=call)
    names = dict.fromkeys(name.strip("/") for name in repos)
    repositories = [catalog.get(name, context.viewer) for name in names] or list(catalog.visible(context.viewer))
    found = Histories()
    wanted: list[tuple[Repository, tuple[str, ...]]] = []
    missing: dict[str, int] = {}
    for repository in repositories:
        if repository.kind != "git":
            found.lack(f"{repository.name} is a folder without git and has no history.")
            continue
        commits = []
        for revision in revisions or ("",):
            try:
                commits.append(resolve(repository, revision))
            except RevisionNotFound:
                missing[revision] = missing.get(revision, 0) + 1
                if len(repositories) == 1:
                    raise
        if commits:
            wanted.append((repository, tuple(dict.fromkeys(commits))))
    for revision, count in missing.items():
        if count == len(repositories):
            raise RevisionNotFound(repositories[0].name, revision)
        found.notices.append(f"{count} of {len(repositories)} repositories have no revision {revision}.")
    _update(context, wanted, found)
    for repository, named in wanted:
        _open(context, repository, named, found)
    return found


def _update(context: CallContext, wanted: list[tuple[Repository, tuple[str, ...]]], found: Histories) -> None:
    store = context.engine.history
    observer = context.observer

    def tell(progress: HistoryProgress) -> None:
        if observer is not None:
            observer(
                CallProgress("reading history", progress.commits_done, progress.commits_total, progress.repository)
            )

    for repository, commits in wanted:
        context.cancellation.check()
        stale = [commit for commit in commits if not _holds(store, repository, commit)]
        if not stale:
            continue
        refs = ("HEAD", *stale)
        report = store.update([repository], refs=refs, progress=tell, cancellation=context.cancellation)
        context.cancellation.check()
        for name, reason in report.failures.items():
            found.lack(f"The history of {name} could not be brought up to date: {reason}.")


def _holds(store: HistoryStore, repository: Repository, commit: str) -> bool:
    try:
        return store.open(repository).position(commit) is not None
    except (IndexFault, OSError):
        return False


def _open(context: CallContext, repository: Repository, commits: tuple[str, ...], found: Histories) -> None:
    try:
        history = context.engine.history.open(repository)
    except IndexFault as fault:
        found.lack(f"The history of {repository.name} can't be read: {fault.reason}.")
        return
    there = tuple(commit for commit in commits if history.position(commit) is not None)
    if len(there) < len(commits):
        found.lack(f"The history of {repository.name} lacks {len(commits) - len(there)} of the revisions.")
    if not there:
        return
    opened = Opened(repository, history, there)
    found.opened.append(opened)
    unread = int((history.commits.unread & opened.mask).sum())
    if unread:
        found.lack(f"{repository.name}: the changes of {unread:,} commits are not counted, as objects are missing.")
    if history.shallow:
        found.lack(f"{repository.name} is a {history.shallow} clone: its older history is missing.")
