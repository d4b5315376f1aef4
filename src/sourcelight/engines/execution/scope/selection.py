"""Select the repositories of a query, by filters and ``repo:has.…`` predicates, and find which need no index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.caching import IdentityCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.exact import NameTest, name_test
from sourcelight.core.query import Alternative, Filter, Predicate
from sourcelight.core.query.dates import ACCEPTED, current_time, parse_date
from sourcelight.core.query.fields import FILE_FIELDS
from sourcelight.engines.execution.structures import structures_of
from sourcelight.engines.search import FileFilter, FileTerm, Searcher, SearchOptions, Target, TextQuery
from sourcelight.repos import Repository, has_commit_after

_OF_INFO = {"has.topic": "topics", "has.meta": "metadata", "has.description": "description"}
"""The attribute of `RepositoryInfo` that each predicate reads."""

TargetKey = tuple[str, str, str]
"""Identity of a target: the repository's key, the requested revision, the commit."""

_OF_FILES = frozenset({"has.path", "has.content", "has.file"})
"""Predicates that the text index answers."""

_AS_PREDICATES = {
    "repohasfile": ("has.path", "path"),
    "repohascommitafter": ("has.commit.after", "time"),
}
"""Filters that mean the same as a predicate, with its name and the argument for their value."""

_COMMITS = {"commit", "diff"}
"""Types of rows that are commits."""

_SELECTS_BY_INDEX = {"symbol", "owners"}

_SELECTIONS: IdentityCache[Sequence[Repository], RepositorySelection] = IdentityCache(8)
"""Selections by fork, archived and visibility alone."""

# `repo:^github\.com/a/b$` names one repository: no operator of a regular expression between the anchors.
# An at sign in a name can only be written as its number: the character itself begins a revision.
_EXACT = re.compile(r"\^(?:\\[^a-zA-Z0-9]|\\x40|[^\\.*+?()\[\]{}|^$])+\$")


def predicates_of(alternative: Alternative) -> tuple[Predicate, ...]:
    """Return all predicates on repositories, the older fields ``repohasfile:`` and ``repohascommitafter:`` among them.

    Of several ``has.commit.after`` the last one counts (query-language reference, predicates).
    """
    predicates = list(alternative.predicates("repo"))
    for item in alternative.filters:
        if isinstance(item, Filter) and item.value and item.name in _AS_PREDICATES:
            name, argument = _AS_PREDICATES[item.name]
            predicates.append(Predicate("repo", name, {argument: item.value}, negated=item.negated))

    if len(predicates) < 2:
        return tuple(predicates)

    dated = [item for item in predicates if item.name == "has.commit.after"]
    return tuple(item for item in predicates if item not in dated[:-1])


def check_dates(alternative: Alternative, query: str) -> None:
    """Raise `QueryError` for a date of ``has.commit.after`` that can't be read, which parsing lets pass."""
    for predicate in predicates_of(alternative):
        if predicate.name == "has.commit.after":
            try:
                parse_date(predicate.args["time"], current_time())
            except ValueError as exc:
                raise QueryError("invalid date format", query=query, hint=ACCEPTED) from exc


def info_test(predicates: Iterable[Predicate]) -> Callable[[RepositoryInfo], bool] | None:
    """Make one test of all predicates on attributes of a repository; return None if there are none."""
    tests = [(_attribute_test(item), item.negated) for item in predicates if item.name in _OF_INFO]
    if not tests:
        return None
    return lambda info: all(test(info) is not negated for test, negated in tests)


def absent_attributes(predicates: Iterable[Predicate], visible: Sequence[Repository]) -> tuple[str, ...]:
    """Name the attributes that `predicates` ask for and no repository has: topics, metadata or description."""
    columns = dict.fromkeys(_OF_INFO[item.name] for item in predicates if item.name in _OF_INFO)
    return tuple(name for name in columns if not any(getattr(row.info, name) for row in visible))


def _attribute_test(predicate: Predicate) -> Callable[[RepositoryInfo], bool]:
    args = predicate.args
    if predicate.name == "has.topic":
        return lambda info: args["topic"] in info.topics
    if predicate.name == "has.description":
        pattern = compile_pattern(f"(?s:{args['regexp']})", kind="regexp", case_sensitive=False, whole_text=True)
        return lambda info: bool(pattern.find(info.description.encode()))

    # Compiled once for all repositories: this runs for each of thousands.
    is_key = _name_test(args["key"], is_regexp=bool(args.get("keyRegexp")))
    if args["mode"] == "key":
        return lambda info: any(is_key(key) for key in info.metadata)
    if args["mode"] == "tag":
        return lambda info: any(is_key(key) and value is None for key, value in info.metadata.items())

    is_value = _name_test(args["value"], is_regexp=bool(args.get("valueRegexp")))
    return lambda info: any(
        is_key(key) and value is not None and is_value(value) for key, value in info.metadata.items()
    )


def _name_test(text: str, *, is_regexp: bool) -> Callable[[str], bool]:
    if not is_regexp:
        return lambda value: value == text
    pattern = compile_pattern(text, kind="regexp", case_sensitive=True, whole_text=True)
    return lambda value: bool(pattern.find(value.encode()))


def target_key(target: Target) -> TargetKey:
    """Return the key of a target."""
    return target.repository.key, target.revision, target.commit


@dataclass(slots=True)
class FilePredicates:
    """Evaluates predicates on the history and the files of repositories, each question once.

    Parameters
    ----------
    searcher
        The text index.
    cancellation
        Ends a search or a walk early; `passes` then gives None.

    Attributes
    ----------
    failed
        Targets that could not be searched, and why.
    missing
        Number of files by repository whose contents could decide but are missing (a partial clone).
    """

    searcher: Searcher
    cancellation: Cancellation
    failed: dict[TargetKey, str] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    _cache: dict[tuple[TargetKey, TextQuery], tuple[bool, int]] = field(default_factory=dict)

    def passes(self, target: Target, predicates: Iterable[Predicate], *, case_sensitive: bool) -> bool | None:
        """Return whether a target satisfies all predicates on history and files, or None when unknown.

        A partial clone may lack the file that would match. Such files are counted in `missing`, unless another
        predicate excludes the target in any case.
        """
        passes_all, missing = True, 0
        for predicate in predicates:
            if predicate.name == "has.commit.after":
                after_s = parse_date(predicate.args["time"], current_time()).timestamp()
                holds = has_commit_after(target.repository, target.commit, after_s, self.cancellation)
                lacking = 0
            elif predicate.name in _OF_FILES:
                file_result = self._holds(target, _question(predicate, case_sensitive=case_sensitive))
                if file_result is None:
                    return None
                holds, lacking = file_result
            else:
                continue

            # With missing files a positive predicate may still hold, so only a complete look can rule the target out.
            if holds is predicate.negated and not lacking:
                return False

            passes_all = passes_all and holds is not predicate.negated
            missing = max(missing, lacking)

        if missing:
            name = target.repository.name
            self.missing[name] = max(self.missing.get(name, 0), missing)

        return passes_all

    def _holds(self, target: Target, question: TextQuery) -> tuple[bool, int] | None:
        """Return whether any file satisfies a predicate; if none does, how many were unreadable. None if stopped."""
        cached = self._cache.get((target_key(target), question))
        if cached is not None:
            return cached

        # One match decides, and its line is never shown.
        options = SearchOptions(max_matches=1, lines=False)
        missing = 0
        for part in self.searcher.search((target,), question, options, self.cancellation):
            if part.failed:
                self.failed[target_key(target)] = next(iter(part.failed.values()))
                return None
            if part.files:
                return self._cache.setdefault((target_key(target), question), (True, 0))
            # Without a pattern only paths count, and those of missing contents are known.
            if question.tree is not None:
                missing += sum(counts.get("missing", 0) for counts in part.skipped.values())

        if self.cancellation.stopped:
            return None

        return self._cache.setdefault((target_key(target), question), (False, missing))


def reads_files(predicates: Iterable[Predicate]) -> bool:
    """Return whether any predicate reads files or history, and so needs a revision."""
    return any(item.name in _OF_FILES or item.name == "has.commit.after" for item in predicates)


def _question(predicate: Predicate, *, case_sensitive: bool) -> TextQuery:
    path, content = predicate.args.get("path"), predicate.args.get("content")
    files: tuple[FileFilter, ...] = ()
    if path:
        test = compile_pattern(path, kind="regexp", case_sensitive=case_sensitive, whole_text=True)
        files = (FileFilter(test),)

    if not content:
        return TextQuery(None, files)

    compiled = compile_pattern(content, kind="regexp", case_sensitive=case_sensitive)
    return TextQuery(FileTerm(compiled, content=True, path=False), files)


@dataclass(frozen=True, slots=True)
class RepositorySelection:
    """Repositories to search in name order, and the repositories that only a default left out."""

    repositories: tuple[Repository, ...]
    forks_left_out: tuple[str, ...]
    archived_left_out: tuple[str, ...]


def select_repositories(
    alternative: Alternative,
    visible: Sequence[Repository],
    info_test: Callable[[RepositoryInfo], bool] | None = None,
) -> RepositorySelection:
    """Apply the filters ``repo fork archived visibility`` of `alternative`, and `info_test`.

    Forks and archived repositories are left out unless requested, or unless the only positive ``repo:`` filter names
    exactly one repository (query-language reference, repositories and revisions). Names match without regard to case.
    """
    repo_filters = alternative.all("repo")
    patterns = [_name_pattern(item) for item in repo_filters if not item.negated and item.value]
    unwanted = [_name_pattern(item) for item in repo_filters if item.negated and item.value]
    positive = [item for item in repo_filters if not item.negated]
    names_one = len(positive) == 1 and bool(_EXACT.fullmatch(positive[0].value))
    fork = alternative.yes_no_only("fork") or ("yes" if names_one else "no")
    archived = alternative.yes_no_only("archived") or ("yes" if names_one else "no")
    fork_is_default = alternative.yes_no_only("fork") is None
    archived_is_default = alternative.yes_no_only("archived") is None
    visibility = alternative.visibility()

    # Encoding ten thousand names takes longer than all other checks.
    names_matter = bool(patterns or unwanted)
    # Most queries select all repositories, or leave out forks and archived ones. The same tuple has the same
    # repositories, which are those that its viewer may see.
    key = (fork, archived, fork_is_default, archived_is_default, visibility)
    may_cache = isinstance(visible, tuple) and not names_matter and info_test is None
    cached = _SELECTIONS.get(visible, key) if may_cache else None
    if cached is not None:
        return cached

    selected: list[Repository] = []
    forks: list[str] = []
    archives: list[str] = []
    for repository in visible:
        info = repository.info
        if names_matter:
            name = info.name.encode()
            if not all(test(name) for test in patterns) or any(test(name) for test in unwanted):
                continue

        if (visibility == "private" and not info.private) or (visibility == "public" and info.private):
            continue
        if info_test is not None and not info_test(info):
            continue

        if not _passes(fork, has=info.fork):
            if info.fork and fork_is_default:
                forks.append(info.name)
            continue

        if not _passes(archived, has=info.archived):
            if info.archived and archived_is_default:
                archives.append(info.name)
            continue

        selected.append(repository)

    selection = RepositorySelection(tuple(selected), tuple(forks), tuple(archives))
    if may_cache:
        _SELECTIONS.put(visible, selection, key)

    return selection


def filters_matching(alternative: Alternative, repository: Repository) -> tuple[Filter, ...]:
    """Return the positive ``repo:`` filters that the name of a selected repository satisfies: all of them."""
    name = repository.info.name.encode()
    positive = (item for item in alternative.all("repo") if not item.negated)
    return tuple(item for item in positive if not item.value or _name_pattern(item)(name))


def _passes(choice: str, *, has: bool) -> bool:
    return has if choice == "only" else not has or choice == "yes"


def _name_pattern(item: Filter) -> NameTest:
    return name_test(literal_dots(item.value))


def literal_dots(pattern: str) -> str:
    """Escape the dots of host names such as ``github.com/`` in a pattern, because the service reads them literally."""
    return re.sub(r"(?<![\\.])\.(?=(?:com|org|net|io|dev)(?:/|$|\\))", r"\\.", pattern)


def finds_only_repositories(alternative: Alternative) -> bool:
    """Return whether it has filters on repositories alone: no pattern, no filter on files, and no kind of results."""
    has_file_filter = bool(fields_of(alternative) & set(FILE_FIELDS) or alternative.all("cell"))
    return alternative.pattern is None and not has_file_filter and not alternative.all("type")


def fields_of(alternative: Alternative) -> set[str]:
    """Return the names of its filters, and the filters that its predicates belong to."""
    return {item.name if isinstance(item, Filter) else item.on for item in alternative.filters}


def needs_no_index(alternative: Alternative) -> bool:
    """Return whether contents, paths and commits are enough to answer the query.

    Definitions, cells, structures, owners and contributors need the index, and so do predicates on the files of a
    repository.
    """
    types = set(alternative.types)
    if reads_files(item for item in predicates_of(alternative) if item.name != "has.commit.after"):
        return False
    if types and types <= _COMMITS:
        return True

    return (
        "symbol" not in types
        and not _SELECTS_BY_INDEX.intersection(alternative.select())
        and alternative.first("cell") is None
        and alternative.yes_no_only("index") != "only"
        and all(predicate.name == "has.content" for predicate in alternative.predicates("file"))
        and not structures_of(alternative)
    )
