"""Resolve the revisions of a query in one repository: names, globs of refs, a moment in time.

Each filter of a repository may have a list of revisions; a commit must be in all of them. A revision that doesn't exist
in a repository is no error, since another one may have it: it is returned as missing, and the search reports it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError
from sourcelight.core.query import Alternative, Filter, Predicate
from sourcelight.core.query.dates import current_time, parse_date
from sourcelight.engines.search import Target
from sourcelight.repos import Repository, is_revision, matching_refs, newest_before, resolve

_BRANCH = "refs/heads/"
_EXCLUDED = "*!"

RevisionCommit = tuple[str, CommitId]
"""A revision as displayed, and its commit."""


@dataclass(slots=True)
class RevisionRequest:
    """The result of a list of revisions in one repository: `revision_commits` in requested order, and missing ones."""

    revision_commits: list[RevisionCommit] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)


def lists_of(alternative: Alternative, filters: Iterable[Filter]) -> list[tuple[str, ...]]:
    """Return one list of revisions per filter of a repository; a filter without revisions gives none."""
    lists = [searched_revisions(alternative.revisions(item)) for item in filters if not item.negated]
    return list(dict.fromkeys(revisions for revisions in lists if revisions))


def searched_revisions(revisions: Iterable[str]) -> tuple[str, ...]:
    """Return the revisions whose files are searched: ``^name`` only narrows a search of commits."""
    return tuple(revision for revision in revisions if revision and not revision.startswith("^"))


def taken_out(
    repository: Repository, alternative: Alternative, filters: Iterable[Filter]
) -> tuple[tuple[CommitId, ...], list[str]]:
    """Resolve each ``^name`` in the filters of a repository; return the commits, and the names that don't exist."""
    commits: list[CommitId] = []
    missing: list[str] = []
    for item in filters:
        for revision in () if item.negated else alternative.revisions(item):
            if revision.startswith("^"):
                try:
                    commits.append(resolve(repository, revision[1:]))
                except RepositoryError:
                    missing.append(revision[1:])

    return tuple(dict.fromkeys(commits)), missing


def moment(alternative: Alternative) -> Predicate | None:
    """Return the ``rev:at.time(…)`` of an alternative."""
    return next((predicate for predicate in alternative.predicates("rev") if predicate.name == "at.time"), None)


def targets_of(
    repository: Repository, lists: Sequence[Sequence[str]], at_time: Predicate | None, cancellation: Cancellation
) -> tuple[tuple[Target, ...], RevisionRequest]:
    """Resolve the revisions of one repository.

    Parameters
    ----------
    repository
        The repository to resolve them in.
    lists
        One list for each filter that names revisions; a commit must be in all of them.
    at_time
        A ``rev:at.time(…)`` that must hold as well; None without one.
    cancellation
        Ends a walk through refs or history early.

    Returns
    -------
    tuple of Target, RevisionRequest
        Targets in the order of the first list, with the revisions as they were requested; and the revisions that are
        missing or invalid. Both are empty if the lists have no commit in common.
    """
    requests = [_resolve(repository, revisions, cancellation) for revisions in lists]
    if at_time is not None:
        requests.append(_commit_before(repository, at_time, cancellation))

    first = requests[0] if requests else RevisionRequest()
    common = [{commit for _, commit in request_after_first.revision_commits} for request_after_first in requests[1:]]
    revision_commits = [pair for pair in first.revision_commits if all(pair[1] in commits for commits in common)]
    missing = [name for request in requests for name in request.missing]
    invalid = [name for request in requests for name in request.invalid]
    targets = tuple(Target(repository, revision, commit) for revision, commit in dict.fromkeys(revision_commits))
    return targets, RevisionRequest(revision_commits, list(dict.fromkeys(missing)), list(dict.fromkeys(invalid)))


def fault_of(revision: str) -> str:
    """Explain why `revision` can't exist in any repository; empty when it may exist."""
    if revision.startswith(_EXCLUDED):
        if revision.startswith(f"{_EXCLUDED}refs/"):
            return ""
        return "a glob of excluded refs begins with `*!refs/`"
    if revision.startswith("*"):
        return "" if revision != "*" else "a glob of refs needs a pattern after its `*`"
    if is_revision(revision):
        return ""
    return "it is not a branch, tag or commit, with or without `~n` or `^n` at the end"


def _resolve(repository: Repository, revisions: Sequence[str], cancellation: Cancellation) -> RevisionRequest:
    request = RevisionRequest()
    globs = [revision for revision in revisions if revision.startswith("*")]
    for revision in revisions:
        if fault_of(revision):
            request.invalid.append(revision)
        elif revision.startswith("*"):
            # Globs are evaluated together, at the place of the first: a later exclusion takes refs out of an earlier
            # glob.
            if revision == globs[0]:
                _glob(repository, globs, request, cancellation)
        else:
            try:
                request.revision_commits.append((revision, resolve(repository, revision)))
            except RepositoryError:
                request.missing.append(revision)

    return request


def _glob(repository: Repository, globs: Sequence[str], request: RevisionRequest, cancellation: Cancellation) -> None:
    tests = [(not glob.startswith(_EXCLUDED), _compile(glob)) for glob in globs if not fault_of(glob)]

    def is_wanted(name: str) -> bool:
        selected = False
        # The last glob that matches a ref decides, as in git's own lists of refs to fetch.
        for includes, test in tests:
            if test.fullmatch(name):
                selected = includes
        return selected

    try:
        refs = matching_refs(repository, is_wanted, cancellation)
        # All tags, whether requested or not: they decide which branches need their full name.
        tags = {name for name, _ in matching_refs(repository, _is_tag, cancellation)}
    except RepositoryError:
        refs, tags = [], set()

    if not refs:
        request.missing.append(":".join(globs))

    for name, commit in refs:
        short = name.removeprefix(_BRANCH)
        # `v1` may be a tag as well, and git would take that one.
        is_unambiguous = name.startswith(_BRANCH) and f"refs/tags/{short}" not in tags and is_revision(short)
        request.revision_commits.append((short if is_unambiguous else name, commit))


def _is_tag(name: str) -> bool:
    return name.startswith("refs/tags/")


def _compile(glob: str) -> re.Pattern[str]:
    """Compile a glob of refs as git reads it: ``*`` crosses slashes, and a plain name includes all refs below it."""
    text = glob.removeprefix(_EXCLUDED) if glob.startswith(_EXCLUDED) else glob[1:]
    if not text.startswith("refs/"):
        text = f"refs/{text}"

    # Git negates a set of characters by a caret, `fnmatch` by an exclamation mark.
    text = text.replace("[^", "[!")
    if text.endswith("/"):
        text += "*"

    if any(sign in text for sign in "?*["):
        return re.compile(fnmatch.translate(text), re.DOTALL)

    return re.compile(re.escape(text) + "(?:/.*)?", re.DOTALL)


def _commit_before(repository: Repository, predicate: Predicate, cancellation: Cancellation) -> RevisionRequest:
    """Return the newest commit before a time, shown as its hash, which names it again."""
    before_s = parse_date(predicate.args["time"], current_time()).timestamp()
    start = predicate.args["rev"]
    try:
        commit = newest_before(repository, resolve(repository, start), before_s, cancellation)
    except RepositoryError:
        commit = None

    if commit is None:
        return RevisionRequest(missing=[f"{start} before {predicate.args['time']}"])

    return RevisionRequest([(commit, commit)])
