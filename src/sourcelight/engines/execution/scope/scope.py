"""The scope of a query: its contexts, repositories and revisions resolved to targets of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, RepositoryError, SourcelightError
from sourcelight.core.query import Alternative, Filter
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories, label_of
from sourcelight.engines.execution.scope import revisions, selection
from sourcelight.engines.execution.scope.contexts import ScopedAlternative, context_missing
from sourcelight.engines.execution.scope.selection import (
    FilePredicates,
    RepositorySelection,
    TargetKey,
    filters_matching,
    predicates_of,
    select_repositories,
    target_key,
)
from sourcelight.engines.search import Target
from sourcelight.repos import Catalog, Repository, Viewer


@dataclass(frozen=True, slots=True)
class Scope:
    """One alternative with its context resolved, and the repositories and targets that it searches.

    `without` has the commits of ``@^revision`` by the key of a repository. A search of commits leaves these out, with
    all of their ancestors.
    """

    alternative: Alternative
    selection: RepositorySelection
    targets: tuple[Target, ...]
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class ScopeSelector:
    """Selects repositories for the alternatives of a query by context, filters and attributes; reads no ref or file.

    Parameters
    ----------
    catalog
        The repositories.
    viewer
        The account that searches. Repositories that it may not see are ignored.

    Attributes
    ----------
    unsearchable
        Repositories that are left out, with ``@`` and the revision if it was given, and why.
    invalid
        Texts that were given as revisions and can't be one, and why.
    absent
        Attributes in the query's predicates that no repository has.
    undecided
        Repositories that could not be decided in time.
    """

    __slots__ = ("absent", "catalog", "invalid", "undecided", "unsearchable", "viewer")

    def __init__(self, catalog: Catalog, viewer: Viewer) -> None:
        self.catalog = catalog
        self.viewer = viewer
        self.unsearchable: dict[str, str] = {}
        self.invalid: dict[str, str] = {}
        self.absent: set[str] = set()
        self.undecided: set[str] = set()

    @property
    def clean(self) -> bool:
        """Whether no repository has a notice."""
        return not (self.unsearchable or self.invalid or self.absent or self.undecided)

    def select(self, scoped: Sequence[ScopedAlternative]) -> list[Scope]:
        """Resolve only filters and contexts, for a planner whose workers read refs and files."""
        visible = self.catalog.visible(self.viewer)
        scopes = []
        for item in scoped:
            selected = self.choose(item, visible)
            targets = tuple(Target(repository, "", repository.info.commit) for repository in selected.repositories)
            scopes.append(Scope(item.alternative, selected, targets))

        return scopes

    def choose(self, item: ScopedAlternative, visible: Sequence[Repository]) -> RepositorySelection:
        """Return the repositories of an alternative, by context, filters, and predicates on attributes."""
        predicates = predicates_of(item.alternative)
        self.absent.update(selection.absent_attributes(predicates, visible))
        if item.context and not self.viewer.sees_private:
            self._require_visible(item, visible)

        if item.revisions_by_name is not None:
            names = {repository.name for repository in visible}
            # Other viewers don't learn which names are missing: it would tell them that the repositories exist.
            if self.viewer.sees_private:
                for name in item.revisions_by_name.keys() - names:
                    self.unsearchable[name] = f"the context {item.context} names it, and it is not here"
            visible = [repository for repository in visible if repository.name in item.revisions_by_name]

        return select_repositories(item.alternative, visible, selection.info_test(predicates))

    def _require_visible(self, item: ScopedAlternative, visible: Sequence[Repository]) -> None:
        """Raise the error of an unknown context if the viewer can see none of its repositories."""
        if item.revisions_by_name is not None:
            if any(repository.name in item.revisions_by_name for repository in visible):
                return
        elif not item.context_alternatives or any(
            select_repositories(alternative, visible, selection.info_test(predicates_of(alternative))).repositories
            for alternative in item.context_alternatives
        ):
            return

        # The same error as for a context that doesn't exist: the name alone may be secret.
        raise context_missing(item.context, item.query)


class ScopeResolver(ScopeSelector):
    """Resolves the alternatives of one query, in three steps, since the second can take long.

    `scopes` reads repositories and refs; `index` indexes revisions that are not indexed yet; `narrow` evaluates
    predicates on files. Each step records what can't be searched, and why.

    Parameters
    ----------
    repositories
        The repositories, with their catalog and index.
    viewer
        The account that searches.
    cancellation
        Ends each step early.
    """

    __slots__ = (
        "_default_lists",
        "_defaults",
        "_files",
        "_has_revisions",
        "_store",
        "_target_of",
        "_targets_of",
        "cancellation",
    )

    def __init__(self, repositories: IndexedRepositories, viewer: Viewer, cancellation: Cancellation) -> None:
        super().__init__(repositories.catalog, viewer)
        self.cancellation = cancellation
        self._store = repositories.store
        self._target_of = repositories.target_of
        self._targets_of = repositories.targets_of
        self._files = FilePredicates(repositories.store, cancellation)
        self._defaults: set[TargetKey] = set()
        self._default_lists: list[tuple[Target, ...]] = []
        self._has_revisions = False

    @property
    def missing(self) -> Mapping[str, int]:
        """Number of files that predicates on repositories need and a partial clone lacks, by repository."""
        return self._files.missing

    def scopes(self, scoped: Sequence[ScopedAlternative]) -> list[Scope]:
        """Resolve filters, contexts and revisions; some targets may not be indexed yet."""
        visible = self.catalog.visible(self.viewer)
        return [self._scope(item, visible) for item in scoped]

    def unindexed_targets(self, scopes: Sequence[Scope]) -> list[Target]:
        """Return the targets that must be indexed, each commit once; alternatives with ``index:only`` add none."""
        targets: dict[tuple[str, str], Target] = {}
        for scope in scopes:
            if scope.alternative.yes_no_only("index") == "only" or not _needs_index(scope.alternative):
                continue
            for target in self._new(scope.targets):
                # Two revisions of one commit are indexed once.
                targets.setdefault((target.repository.key, target.commit), target)

        return list(targets.values())

    def index(
        self,
        targets: Sequence[Target],
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> None:
        """Index `targets`; failures go into `unsearchable`."""
        if not targets:
            return

        report = self._store.update(targets, progress=progress, cancellation=cancellation or self.cancellation)
        for target in targets:
            if not self._store.is_current(target):
                name = target.repository.name
                # Not a failure: the time ended first, and a later search may have it.
                if report.cancelled and name not in report.failures:
                    self.undecided.add(name)
                else:
                    self.unsearchable[label_of(target)] = report.failures.get(name, "it could not be indexed")

    def narrow(self, scopes: Sequence[Scope]) -> list[Scope]:
        """Leave out targets that could not be indexed, or don't satisfy the predicates on files."""
        return [self._narrow_scope(scope) for scope in scopes]

    def resolve(self, scoped: Sequence[ScopedAlternative]) -> list[Scope]:
        """Run all three steps, for a caller without progress, and return the scopes."""
        scopes = self.scopes(scoped)
        self.index(self.unindexed_targets(scopes))
        return self.narrow(scopes)

    def at_head(self, repositories: Iterable[Repository]) -> list[Repository]:
        """Return the repositories that are searched at their default revision."""
        candidates = list(repositories)
        if not candidates:
            return []
        keys = {default[0] for default in self._defaults}
        keys.update(target.repository.key for targets in self._default_lists for target in targets)
        return [repository for repository in candidates if repository.key in keys]

    def _scope(self, item: ScopedAlternative, visible: Sequence[Repository]) -> Scope:
        alternative = item.alternative
        predicates = predicates_of(alternative)
        selected = self.choose(item, visible)
        if item.revisions_by_name is None and not predicates and not _names_revisions(alternative):
            # The usual case in one step: the same tuple comes back while nothing has changed, which lets caches compare
            # by identity.
            defaults = self._targets_of(selected.repositories)
            self._default_lists.append(defaults)
            return Scope(alternative, selected, defaults)

        targets: list[Target] = []
        without: dict[str, tuple[str, ...]] = {}
        for repository in selected.repositories:
            filters = list(filters_matching(alternative, repository))
            lists = revisions.lists_of(alternative, filters)
            without[repository.key] = self._without(repository, alternative, filters)
            searched = revisions.searched_revisions((item.revisions_by_name or {}).get(repository.name, ()))
            own_targets = self._targets(repository, [*lists, *([searched] if searched else [])], alternative)
            targets += (target for target in own_targets if self._recent(target, alternative))

        return Scope(alternative=alternative, selection=selected, targets=tuple(targets), without=without)

    def _without(self, repository: Repository, alternative: Alternative, filters: Iterable[Filter]) -> tuple[str, ...]:
        excluded_commits, missing = revisions.taken_out(repository, alternative, filters)
        for revision in missing:
            self.unsearchable[f"{repository.name}@^{revision}"] = "no such revision"
        return excluded_commits

    def _targets(
        self, repository: Repository, lists: Sequence[Sequence[str]], alternative: Alternative
    ) -> Iterable[Target]:
        # `rev:` applies to the positive repo filters; without one it has no repository to apply to.
        is_named = any(not item.negated for item in alternative.all("repo"))
        at_time = revisions.moment(alternative) if is_named else None
        if not lists and at_time is None:
            target = self._target_of(repository)
            self._defaults.add(target_key(target))
            return (target,)

        self._has_revisions = True
        try:
            targets, requests = revisions.targets_of(repository, lists, at_time, self.cancellation)
        except Cancelled:
            self.undecided.add(repository.name)
            return ()

        for revision in requests.invalid:
            self.invalid[revision] = revisions.fault_of(revision)

        for revision in requests.missing:
            self.unsearchable[f"{repository.name}@{revision}"] = "no such revision"

        if not targets and not requests.missing and not requests.invalid:
            self.unsearchable[repository.name] = "the requested lists of revisions have none in common"

        return targets

    def _recent(self, target: Target, alternative: Alternative) -> bool:
        """Return whether ``has.commit.after`` holds, which needs no index."""
        # Evaluated before indexing, since it reads only dates: old revisions then need no index.
        dated = [item for item in predicates_of(alternative) if item.name == "has.commit.after"]
        if not dated:
            return True

        try:
            return bool(self._files.passes(target, dated, case_sensitive=False))
        except Cancelled:
            self.undecided.add(target.repository.name)
        except RepositoryError as exc:
            self.unsearchable[label_of(target)] = str(exc)

        return False

    def _new(self, targets: Iterable[Target]) -> Iterator[Target]:
        """Yield targets that are not indexed; default revisions were indexed when the search began."""
        # Most queries have the whole list of defaults, which has nothing new.
        if any(targets is defaults for defaults in self._default_lists):
            return

        default_keys = self._defaults.union(
            target_key(target) for defaults in self._default_lists for target in defaults
        )
        for target in targets:
            if target_key(target) not in default_keys and not self._is_current(target):
                yield target

    def _is_current(self, target: Target) -> bool:
        try:
            return self._store.is_current(target)
        except (SourcelightError, OSError):
            return False

    def _narrow_scope(self, scope: Scope) -> Scope:
        # If nothing can change the targets, they stay the same object, which caches compare by identity.
        if not self._has_revisions and not predicates_of(scope.alternative):
            return scope
        return replace(scope, targets=tuple(self._narrow(scope)))

    def _narrow(self, scope: Scope) -> Iterator[Target]:
        needs_index = _needs_index(scope.alternative)
        left_out = {target_key(target) for target in self._new(scope.targets)} if needs_index else set()
        about_files = [item for item in predicates_of(scope.alternative) if item.name != "has.commit.after"]
        asks = selection.reads_files(about_files)
        sensitive = scope.alternative.case_sensitive()
        for target in scope.targets:
            name = target.repository.name
            if target_key(target) in left_out:
                if scope.alternative.yes_no_only("index") == "only":
                    self.unsearchable[label_of(target)] = "it is not indexed, and index:only excludes it"
                continue

            passes = not asks or self._files.passes(target, about_files, case_sensitive=sensitive)
            if passes:
                yield target
            # A failure will recur and gets its reason; running out of time may not, and counts as undecided.
            elif passes is None and target_key(target) in self._files.failed:
                self.unsearchable[label_of(target)] = self._files.failed[target_key(target)]
            elif passes is None:
                self.undecided.add(name)


def _names_revisions(alternative: Alternative) -> bool:
    """Return whether the query names revisions, so that each repository must be resolved separately."""
    return bool(
        alternative.all("rev")
        or alternative.predicates("rev")
        or any(item.revs is not None for item in alternative.all("repo"))
    )


def _needs_index(alternative: Alternative) -> bool:
    """Return whether the query reads files, instead of only listing repositories or commits."""
    types = set(alternative.types)
    if types <= {"commit", "diff"} or types == {"repo"} or selection.finds_only_repositories(alternative):
        return selection.reads_files(item for item in predicates_of(alternative) if item.name != "has.commit.after")
    return True
