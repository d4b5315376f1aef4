"""Open and update the histories that a tool call names, and convert its arguments to filters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.batches.results import ToolProgress
from sourcelight.core.errors import PatternError, RevisionNotFound, SearchIndexError, ToolError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.patterns.engines import PatternKind
from sourcelight.core.query.dates import parse_date
from sourcelight.core.query.regexps import file_pattern
from sourcelight.engines.history import History, HistoryProgress, HistoryStore
from sourcelight.engines.history.search.query import AnyPattern, ChangedFileFilter, fits_a_line
from sourcelight.engines.history.subtrees import Layout, layout_of
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import PartialResult
from sourcelight.repos import Repository, resolve

Dates = tuple[int | None, int | None]
"""Bounds of committer times in seconds, both exclusive."""


def pattern_of(
    call: str, argument: str, text: str, *, regexp: bool, whole_text: bool = False, one_line: bool = False
) -> CompiledPattern:
    """Compile a text of the caller: literal without regard to case, or RE2.

    `one_line` says that it is looked for in texts without newlines. Raises `ToolError` for what RE2 refuses, for an
    empty text, and for what could only be found across lines where they are looked at one by one.
    """
    if not text:
        raise ToolError(f"{call}: {argument} holds an empty text", tool=call, argument=argument)
    try:
        kind: PatternKind = "regexp" if regexp else "literal"
        pattern = compile_pattern(text, kind=kind, case_sensitive=regexp, whole_text=whole_text)
    except PatternError as error:
        raise ToolError(f"{call}: {argument}: {error}", tool=call, argument=argument) from error
    if one_line and not fits_a_line(pattern):
        raise ToolError(
            f"{call}: {argument} {text!r} can't match without a newline, but lines are searched one by one; "
            "search for one of the lines",
            tool=call,
            argument=argument,
        )
    return pattern


def any_of(
    call: str, argument: str, texts: Sequence[str] | None, *, regexp: bool, one_line: bool = False
) -> tuple[AnyPattern, ...]:
    """Any of some texts; nothing for no texts. `one_line` as for `pattern_of`."""
    if not texts:
        return ()
    return (AnyPattern(tuple(pattern_of(call, argument, text, regexp=regexp, one_line=one_line) for text in texts)),)


def files_of(call: str, files: Sequence[str] | None, *, regexp: bool) -> ChangedFileFilter:
    """Any of some globs or path prefixes; with `regexp`, RE2 found anywhere in the path."""
    if not files:
        return ChangedFileFilter()
    if regexp:
        patterns = [pattern_of(call, "files", text, regexp=True, whole_text=True) for text in files]
    else:
        patterns = [pattern_of(call, "files", file_pattern(text), regexp=True, whole_text=True) for text in files]
    return ChangedFileFilter((AnyPattern(tuple(patterns)),))


def dates_of(call: str, after: str | None, before: str | None) -> tuple[int | None, int | None, dict[str, str]]:
    """The bounds of committer times in seconds, both exclusive, and the instants as they were understood.

    Raises `ToolError` for what is no date.
    """
    bounds: list[int | None] = []
    echoed: dict[str, str] = {}
    for name, text in (("after", after), ("before", before)):
        if not text:
            bounds.append(None)
            continue
        try:
            instant = parse_date(text, datetime.now(UTC))
        except ValueError as error:
            raise ToolError(f"{call}: {name}: {error}", tool=call, argument=name) from error
        echoed[name] = instant.isoformat().replace("+00:00", "Z")
        seconds = instant.timestamp()
        bounds.append(math.floor(seconds) if name == "after" else math.ceil(seconds))
    start, end = bounds
    if start is not None and end is not None and start + 1 >= end:
        raise ToolError(
            f"{call}: nothing is after {echoed['after']} and before {echoed['before']}", tool=call, argument="after"
        )
    return start, end, echoed


@dataclass(eq=False)
class OpenedHistory:
    """A repository's history, and the commits (40 hex digits) that count with all that is behind them.

    What is behind `without` does not count.
    """

    repository: Repository
    history: History
    commits: tuple[str, ...]
    without: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name

    @cached_property
    def mask(self) -> BoolArray:
        """Which commits of the history count."""
        reached = [self.history.reachable(commit) for commit in self.commits]
        mask = reached[0] if len(reached) == 1 else np.logical_or.reduce(reached)
        for commit in self.without:
            mask = mask & ~self.history.reachable(commit)
        return mask

    def layout(self, context: ToolContext) -> Layout:
        """Paths of all changes, those of merged subtrees where they were merged to."""
        return layout_of(self.history, self.repository, self.commits[0], context.cancellation)


@dataclass(slots=True)
class OpenedHistories:
    """Opened histories, and what the reader has to know about those that are missing or not whole."""

    partial: PartialResult
    opened: list[OpenedHistory] = field(default_factory=list)

    @property
    def notices(self) -> list[str]:
        """What is missing or not whole, one sentence each."""
        return self.partial.notices

    @property
    def complete(self) -> bool:
        """Whether all of them are here and whole."""
        return self.partial.complete

    def part(self, results: dict[str, Any], dates: dict[str, str] | None = None) -> PartialResult:
        """Return the results of each history, with what is missing or not whole."""
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
    call: str, arguments: DatedArguments, context: ToolContext, find: Callable[[OpenedHistory, Dates], Any]
) -> PartialResult:
    """Make a partial result of what `find` gives for each repository between two dates; raises as `open_histories`."""
    after, before, echoed = dates_of(call, arguments.after, arguments.before)
    histories = open_histories(call, context, arguments.repos or (), *revisions_of(arguments.revisions))
    return gather_each(histories, context, lambda opened: find(opened, (after, before)), echoed)


def gather_each(
    histories: OpenedHistories,
    context: ToolContext,
    find: Callable[[OpenedHistory], Any],
    echoed: dict[str, str] | None = None,
) -> PartialResult:
    """Make a partial result of what `find` gives for each history."""
    results = {}
    for opened in histories.opened:
        context.cancellation.check()
        results[opened.name] = find(opened)
    return histories.part(results, echoed)


def revisions_of(revisions: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Part the argument `revisions` into what counts and what, with ``^`` before it, does not count."""
    names = revisions or ()
    return [name for name in names if name[:1] != "^"], [name[1:] for name in names if name[:1] == "^"]


def open_history(call: str, context: ToolContext, repo: str, revision: str | None) -> OpenedHistories:
    """Open the history of one repository at a revision, its default branch if there is none; see `open_histories`."""
    return open_histories(call, context, (repo,), [revision] if revision else ())


def open_histories(
    call: str, context: ToolContext, repos: Sequence[str], revisions: Sequence[str] = (), without: Sequence[str] = ()
) -> OpenedHistories:
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
    without
        Branches, tags or commits; what is behind any of them does not count.

    Raises
    ------
    RepositoryNotFound
        For a name that is none, or not for this viewer.
    RevisionNotFound
        When no repository has a revision.
    ToolError
        When a served call names no repository.
    Cancelled
        After ``context.cancellation.cancel()``.
    """
    if not repos and context.served:
        raise ToolError(f"{call}: repos is empty; name the repositories, list_repos finds them", tool=call)
    repositories = named_repositories(context, repos)
    partial = PartialResult(tuple(repository.name for repository in repositories))
    histories = OpenedHistories(partial)
    requests: list[_OpenRequest] = []
    is_single = len(repositories) == 1 and not context.parted
    for repository in repositories:
        if repository.kind != "git":
            partial.omit("kind", repository.name, f"{repository.name} is a directory without git and has no history.")
            continue
        commits, denied = (
            _resolve(repository, named, partial.missing_revisions, is_single=is_single)
            for named in (revisions or ("",), without)
        )
        if commits:
            requests.append(_OpenRequest(repository, commits, denied))
    if not context.parted:
        partial.check_revisions()
    _update(context, requests, partial)
    for request in requests:
        _open(context, request, histories)
    return histories


def named_repositories(context: ToolContext, repos: Sequence[str]) -> list[Repository]:
    """The repositories of exact names, or all that the viewer may see; raises `RepositoryNotFound`."""
    catalog = context.engine.catalog
    names = dict.fromkeys(name.strip("/") for name in repos)
    return [catalog.get(name, context.viewer) for name in names] or list(catalog.visible(context.viewer))


@dataclass(frozen=True, slots=True)
class _OpenRequest:
    """A repository, and commits that count and that don't."""

    repository: Repository
    commits: tuple[str, ...]
    without: tuple[str, ...]


def _resolve(
    repository: Repository, revisions: Sequence[str], missing: dict[str, int], *, is_single: bool
) -> tuple[str, ...]:
    """The commits of revisions; those that the repository has not got are counted, or raise where there is no other."""
    commits: dict[str, None] = {}
    for revision in revisions:
        try:
            commits[resolve(repository, revision)] = None
        except RevisionNotFound:
            missing[revision] = missing.get(revision, 0) + 1
            if is_single:
                raise
    return tuple(commits)


def _update(context: ToolContext, requests: Sequence[_OpenRequest], partial: PartialResult) -> None:
    store = context.local.history
    observer = context.observer

    def tell(progress: HistoryProgress) -> None:
        if observer is not None:
            observer(
                ToolProgress("reading history", progress.commits_done, progress.commits_total, progress.repository)
            )

    for request in requests:
        context.cancellation.check()
        repository = request.repository
        stale = [commit for commit in (*request.commits, *request.without) if not _holds(store, repository, commit)]
        if not stale:
            continue
        refs = ("HEAD", *stale)
        report = store.update([repository], refs=refs, progress=tell, cancellation=context.cancellation)
        context.cancellation.check()
        for name, reason in report.failures.items():
            partial.omit("update", name, f"The history of {name} could not be brought up to date: {reason}.")


def _holds(store: HistoryStore, repository: Repository, commit: str) -> bool:
    try:
        return store.open(repository).position(commit) is not None
    except (SearchIndexError, OSError):
        return False


def _open(context: ToolContext, request: _OpenRequest, histories: OpenedHistories) -> None:
    repository, commits = request.repository, request.commits

    def lack(sentence: str) -> None:
        histories.partial.omit("open", repository.name, sentence)

    try:
        history = context.local.history.open(repository)
    except SearchIndexError as exc:
        lack(f"The history of {repository.name} can't be read: {exc.reason}.")
        return
    there, denied = (
        tuple(commit for commit in named if history.position(commit) is not None)
        for named in (commits, request.without)
    )
    lacking = len(commits) - len(there) + len(request.without) - len(denied)
    if lacking:
        lack(f"The history of {repository.name} lacks {lacking} of the revisions.")
    if not there:
        return
    opened = OpenedHistory(repository, history, there, denied)
    histories.opened.append(opened)
    unread, names = history.unread(opened.mask)
    if unread:
        listed = ", ".join(name[:12] for name in names) + (", …" if unread > len(names) else "")
        lack(
            f"{repository.name}: the changes of {unread:,} commits are not counted: objects are missing or too large "
            f"({listed})."
        )
    if "shallow" in history.shallow:
        lack(f"{repository.name} is a shallow clone: its older history is missing.")
    if "partial" in history.shallow:
        lack(f"{repository.name} is a partial clone: it may lack files and directories of its commits.")
