"""Resolve the revisions of a query in a repository: names, globs, a moment in time, named contexts."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError, RepositoryError
from sourcelight.core.query import Alternative, Filter, Predicate, parse
from sourcelight.core.query.dates import parse_date
from sourcelight.core.query.fields import FIELDS, FilterScope, current_time
from sourcelight.engines.search import Target
from sourcelight.repos import Repository, is_revision, matching_refs, newest_before, resolve

_BRANCH = "refs/heads/"
_EXCLUDED = "*!"

RevisionCommit = tuple[str, CommitId]
"""A revision as displayed, and its commit."""

_SCOPES = frozenset({FilterScope.REPOSITORY, FilterScope.FILE, FilterScope.TEXT})
"""Scopes of the filters that a context may have."""

_FIELDS = tuple(
    item.name for item in FIELDS.values() if item.is_offered and item.scope in _SCOPES and item.name != "context"
)
"""Filters that the query of a context may have; patterns, including ``content:``, are refused separately."""

_PREDICATES = frozenset({"has.meta", "has.topic", "has.description"})
"""Predicates that a context may have."""

_EVERYTHING = frozenset({"", "global"})
"""Values of ``context:`` that mean all repositories."""


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


@dataclass(frozen=True, slots=True)
class ScopedAlternative:
    """An alternative whose context is resolved.

    `revisions_by_name` maps each repository of a context with a list to its revisions (empty: the default one); None
    if no list narrows the search. `context` is the context's name, empty without one. `query` is the text of the
    query, and `context_alternatives` are the alternatives of the context's own query.
    """

    alternative: Alternative
    revisions_by_name: Mapping[str, tuple[str, ...]] | None = None
    context: str = field(default="")
    query: str = ""
    context_alternatives: tuple[Alternative, ...] = ()


def context_missing(name: str, query: str) -> QueryError:
    """Return the error of a context that doesn't exist, or contains no repository that is visible to the viewer."""
    hint = "contexts are named in repos.toml; context:global means every repository"
    return QueryError(f'search context "{name}" not found', query=query, hint=hint)


def resolve_context(
    alternative: Alternative, contexts: Mapping[str, Mapping[str, object]], query: str
) -> tuple[ScopedAlternative, ...]:
    """Resolve the ``context:`` of an alternative; returns several if the context's own query has an ``or``.

    If a filter can be given only once, the filter of `alternative` wins over the context's.

    Raises
    ------
    QueryError
        The context doesn't exist, or its query has a filter or pattern that contexts may not have.
    """
    context_filter = alternative.first("context")
    if context_filter is None or context_filter.value in _EVERYTHING:
        return (ScopedAlternative(alternative),)

    context = contexts.get(context_filter.value)
    if context is None:
        raise context_missing(context_filter.value, query)

    own_filters = tuple(item for item in alternative.filters if item is not context_filter)
    if "query" not in context:
        revisions_by_name: dict[str, tuple[str, ...]] = {}
        items = context.get("repositories", ())
        for item in items if isinstance(items, list) else ():
            # The form of `repo:` in queries, `name@one:two`. A list may name a repository twice.
            name, _, revisions = str(item).partition("@")
            revisions_so_far = revisions_by_name.get(name, ())
            new = tuple(revision for revision in revisions.split(":") if revision and revision not in revisions_so_far)
            revisions_by_name[name] = (*revisions_so_far, *new)

        return (
            ScopedAlternative(
                alternative=replace(alternative, filters=own_filters),
                revisions_by_name=revisions_by_name,
                context=context_filter.value,
                query=query,
            ),
        )

    # Always as regular expressions: the meaning of a context must not change with the pattern type of its user.
    parsed = parse(str(context["query"]), "regexp")
    filter_lists = []
    for item in parsed.plan:
        _check(item, context_filter.value, query)
        filter_lists.append(_with_revisions(item))

    context_alternatives = tuple(replace(alternative, filters=filters) for filters in filter_lists)
    narrowed = [replace(alternative, filters=(*own_filters, *filters)) for filters in filter_lists]

    # An empty query has no alternatives, and narrows nothing.
    narrowed = narrowed or [replace(alternative, filters=own_filters)]
    return tuple(
        ScopedAlternative(
            alternative=item,
            revisions_by_name=None,
            context=context_filter.value,
            query=query,
            context_alternatives=context_alternatives,
        )
        for item in narrowed
    )


def _check(alternative: Alternative, name: str, query: str) -> None:
    refused_item = ""
    if alternative.pattern is not None:
        refused_item = "a pattern"

    for item in alternative.filters:
        if isinstance(item, Predicate):
            if item.on != "repo" or item.name not in _PREDICATES:
                refused_item = f"{item.on}:{item.name}(…)"
        elif item.name not in _FIELDS:
            refused_item = f"{item.name}:"
        elif any(revision.startswith("*") for revision in item.revs or ()):
            refused_item = "a glob of refs"

    if refused_item:
        *names, last = (f"{name}:" for name in _FIELDS if name not in {"content", "patterntype"})
        hint = f"its query may contain {', '.join(names)} and {last}"
        raise QueryError(
            f'the query of search context "{name}" has {refused_item}, which is not allowed', query=query, hint=hint
        )


def _with_revisions(alternative: Alternative) -> tuple[Filter | Predicate, ...]:
    """Return the filters of a context's query, with its ``rev:`` moved behind each repository as ``@revision``.

    The query that uses the context may have its own ``rev:``, and only one counts.
    """
    filters: list[Filter | Predicate] = []
    for item in alternative.filters:
        if isinstance(item, Filter) and item.name in {"rev", "patterntype"}:
            continue
        if isinstance(item, Filter) and item.name == "repo" and not item.negated and alternative.revisions(item):
            filters.append(replace(item, revs=alternative.revisions(item)))
        else:
            filters.append(item)

    return tuple(filters)
