"""Shared state of navigation calls, and the workspace of one call.

`ProjectCache` outlives calls: open projects, parsed files by content and language, and answers that are complete. A
`Workspace` is one call of one viewer, who sees no other repository; it collects what the call could not read, so that
an answer with gaps says so and is not cached. Limits of memory count what fills it: paths of a project, bytes of parsed
source. Values that a call infers keep syntax trees alive, so they are dropped after as many bytes of source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.cells.magics import mask_script
from sourcelight.core.errors import SearchIndexError
from sourcelight.core.markup.counts import count_of
from sourcelight.engines.navigation.model import Document, Project, SymbolQuery
from sourcelight.engines.navigation.parsed_file import MAX_PARSE_S, MAX_PARSED_BYTES, ParsedFile
from sourcelight.engines.search import IndexStore, Target
from sourcelight.engines.search.definition_lookup import count_missing_definitions
from sourcelight.engines.symbols import LANGUAGES as GRAMMAR_LANGUAGES
from sourcelight.engines.symbols import parse_tree
from sourcelight.repos import Catalog, ObjectReader, Repository, Viewer, resolve

REFERENCE_CACHE_BYTES = 16 * 1024 * 1024
"""Maximum bytes of cached Arrow tables; 10,000 references take about 1 MB."""

_TEMPORARY_NOTICES = frozenset({"symbols-pending", "not-indexed", "time", "limit", "unlikely", "missing"})
"""Notices of answers that may be more complete next time, and so aren't cached."""

Table = Any

_T = TypeVar("_T")

CACHE_BYTES = 4 * 1024 * 1024
"""Maximum source bytes of cached parsed files; a tree takes about 26 times its source, so some 100 MB."""

_MAX_LISTED_NAMES = 10
"""Repositories that a notice names."""

MAX_PATHS = 3_000_000
"""Maximum paths of all open projects."""


@dataclass(frozen=True, slots=True)
class CachedReferences:
    """A complete answer to a reference query.

    Parameters
    ----------
    table
        Rows in the order in which they were found.
    order
        Row numbers in display order.
    definitions, left_out
        Counts of `References`.
    notices
        Notices for the reader, as in `Workspace.notices`.
    """

    table: Table
    order: Int64Array
    definitions: int
    left_out: int
    notices: Mapping[str, str]

    def first(self, limit: int | None) -> Table:
        """Return the first rows that the search found, in display order."""
        # Rows are numbered in the order in which they were found, so smaller numbers came first.
        rows = self.order if limit is None else self.order[self.order < limit]
        return self.table.take(rows)


class ReferenceCache(LruCache[Hashable, CachedReferences]):
    """Cached references by query and commits, up to a number of bytes."""

    def __init__(self, max_bytes: int = REFERENCE_CACHE_BYTES) -> None:
        super().__init__(max_bytes, weigh=_size)
        self._max_bytes = max_bytes

    def put(self, key: Hashable, value: CachedReferences) -> None:
        """Cache an answer, unless it alone exceeds the size: it would evict all others."""
        if _size(value) <= self._max_bytes:
            super().put(key, value)


def _size(references: CachedReferences) -> int:
    return int(references.table.nbytes) + int(references.order.nbytes) + 1024


def question_key(query: SymbolQuery, revision: str, workspace: Workspace) -> Hashable:
    """Return the cache key of a query: the query, and every visible repository with its commit."""
    project = query.document.project
    # The repositories that the viewer may see are part of the key: two accounts share an answer only if they see the
    # same repositories at the same commits.
    visible = tuple(
        (repository.name, repository.key, workspace.navigator.commit_of(repository))
        for repository in workspace.repositories
    )
    return (project.name, project.key, project.commit, query.document.path, query.name, query.line_number,
            query.column, revision, visible)  # fmt: skip


def is_lasting(workspace: Workspace) -> bool:
    """Return whether the same query would give the same answer again."""
    return not workspace.unparsed and not _TEMPORARY_NOTICES & set(workspace.notices)


@dataclass(slots=True)
class TimeBudget:
    """The limits of one call, with notices about what it left out because of them.

    Parameters
    ----------
    cancellation
        Checked before each file.
    timeout_s
        Seconds for the whole call; None: no limit.
    """

    cancellation: Cancellation = field(default_factory=Cancellation)
    timeout_s: float | None = None
    _deadline: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._deadline = None if self.timeout_s is None else time.monotonic() + self.timeout_s

    @property
    def is_spent(self) -> bool:
        """Whether the time is used up."""
        return self._deadline is not None and time.monotonic() > self._deadline

    def check(self) -> None:
        """Raise `Cancelled` when the caller asked to stop."""
        self.cancellation.check()


@dataclass(frozen=True, slots=True)
class ParsedEntry:
    """A cached parse: the file, None if it took too long, and the bytes of its source."""

    parsed: ParsedFile | None
    source_bytes: int


class FileParser(Protocol):
    """Parses the files of a language."""

    def parse(self, language: str, text: bytes) -> ParsedFile | None:
        """Parse a file; return None when it takes too long."""
        ...


class _GrammarParser:
    """Parses the files of languages that have a grammar but no resolver."""

    def parse(self, language: str, text: bytes) -> ParsedFile | None:
        """Parse a file; return None when it takes too long."""
        tree = parse_tree(language, text, time.monotonic() + MAX_PARSE_S)
        return None if tree is None else ParsedFile(text, tree)


_GRAMMARS = _GrammarParser()


class ProjectCache:
    """Shared state of calls: open projects, parsed files and answers; safe to share between threads.

    Parameters
    ----------
    catalog
        Repositories, and who may see them.
    store
        The text index with its tables of definitions and imports.
    parser_of
        Parses the files of a language; None if a file can't be parsed.
    target_of
        Returns the target of a repository's default revision; None for its HEAD.
    cache_bytes
        Maximum source bytes of cached parsed files.
    """

    def __init__(
        self,
        catalog: Catalog,
        store: IndexStore,
        parser_of: Callable[[str], FileParser | None],
        *,
        target_of: Callable[[Repository], Target] | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.catalog = catalog
        self.store = store
        self.parser_of = parser_of
        self._target_of = target_of or (lambda repository: Target(repository, "", repository.info.commit))
        self.cache_bytes = cache_bytes
        self.parsed_files: LruCache[tuple[bytes, str], ParsedEntry] = LruCache(
            cache_bytes, weigh=lambda entry: entry.source_bytes
        )
        self.answers = ReferenceCache()

        # The weight of a project is its number of paths: they fill its memory, while file contents are read on demand.
        self._projects: LruCache[tuple[str, str], Project] = LruCache(
            MAX_PATHS, weigh=lambda project: len(project.paths)
        )

    def workspace(self, viewer: Viewer, budget: TimeBudget | None = None) -> Workspace:
        """Return the workspace of one call."""
        return Workspace(self, viewer, budget or TimeBudget())

    def commit_of(self, repository: Repository) -> CommitId:
        """Return the commit of a repository's default revision."""
        return self._target_of(repository).commit

    def project(self, repository: Repository, revision: str, budget: TimeBudget) -> Project:
        """Open a repository at a revision; a commit that isn't indexed is indexed first.

        All revisions with the same commit share one project.

        Raises
        ------
        RevisionNotFound
            If the revision does not exist.
        """
        if revision:
            target = Target(repository, revision, resolve(repository, revision))
        else:
            target = self._target_of(repository)

        key = repository.key, target.commit
        project = self._projects.get(key)
        if project is None:
            project = self._open(target, budget)
            # A project without an index reads from git. It isn't cached, so the next call can find the index.
            if project.snapshot is not None:
                self._projects.put(key, project)

        return project

    def forget_project(self, project: Project) -> None:
        """Open a project again for the next call, and forget all answers."""
        self._projects.pop((project.key, project.commit))
        # Answers refer to files of the project; which of them do isn't recorded.
        self.answers.clear()

    def _open(self, target: Target, budget: TimeBudget) -> Project:
        try:
            if not self.store.is_current(target):
                self.store.update([target], cancellation=budget.cancellation)
            snapshot, _ = self.store.open(target)
        except SearchIndexError:
            with ObjectReader(target.repository) as reader:
                tree = reader.tree(target.commit)
            return Project(target=target, paths=tree.paths, snapshot=None, blob_ids=tree.blob_ids)

        view = snapshot.view
        # Copied: a mapped view would be unusable once the index is replaced, while a project lives as long as its cache
        # entry.
        text, starts = bytes(view.file.bytes_of("paths")), view.path_start.tolist()
        paths = [text[start : end - 1] for start, end in pairwise(starts)]
        return Project(target, paths, snapshot, bytes(view.file.bytes_of("blobs")))


@dataclass(slots=True)
class Workspace:
    """The workspace of one call: the repositories of a viewer, each at a commit, within a budget.

    `unparsed` collects files that were needed but could not be parsed, with reasons. `notices` has other sentences for
    the reader, one per key. Resolvers add occurrences (file and offset) to `outside` if their definition is known to be
    in no repository, so that it isn't guessed by name.
    """

    navigator: ProjectCache
    viewer: Viewer
    budget: TimeBudget
    unparsed: dict[Document, str] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    outside: set[tuple[tuple[str, str, bytes], int]] = field(default_factory=set)
    _cache: dict[Hashable, Any] = field(default_factory=dict)
    _facts_bytes: int = 0
    _projects: dict[tuple[str, str], Project] = field(default_factory=dict)
    _visible: tuple[Repository, ...] | None = None

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the cached value of a key in this call, or make it.

        The cache is cleared after `cache_bytes` of parsed source: inferred values keep syntax trees alive.
        """
        if key not in self._cache:
            self._cache[key] = make()
        value: _T = self._cache[key]
        return value

    def notice(self, key: str, message: str) -> None:
        """Add a notice for the reader; the first sentence for a key counts."""
        self.notices.setdefault(key, message)

    def project(self, name: str, revision: str = "") -> Project:
        """Open a repository by its name.

        Raises
        ------
        RepositoryNotFound
            If there is none that the viewer may see.
        RevisionNotFound
            If it has no such revision.
        """
        return self._open(self.navigator.catalog.get(name, self.viewer), revision)

    def _open(self, repository: Repository, revision: str) -> Project:
        key = repository.key, revision
        project = self._projects.get(key)
        if project is None:
            self.budget.check()
            project = self._projects[key] = self.navigator.project(repository, revision, self.budget)
        return project

    def open_projects(self, name: str) -> list[Project]:
        """Return the projects of a repository that were opened in this call."""
        return [project for project in self._projects.values() if project.name == name]

    def note_unreadable(self, document: Document) -> None:
        """Record a notebook that can't be parsed, so that its cells are unknown."""
        if document.unread_reason:
            self.unparsed[document] = document.unread_reason

    def note_missing(self, projects: Iterable[Project], below: bytes = b"") -> None:
        """Record missing files of projects, at a path or below it: their definitions are unknown."""
        self._note_missing([project.target for project in projects if project.snapshot is not None], below)

    def note_missing_anywhere(self) -> None:
        """Record missing files of the projects opened in this call, and of all partial clones."""
        targets = {
            (project.key, project.commit): project.target
            for project in self._projects.values()
            if project.snapshot is not None
        }
        for repository in self.repositories:
            if "partial" in repository.incomplete:
                project = self._open(repository, "")
                if project.snapshot is not None:
                    targets.setdefault((project.key, project.commit), project.target)

        self._note_missing(list(targets.values()))

    def _note_missing(self, targets: Sequence[Target], below: bytes = b"") -> None:
        counts: dict[str, int] = {}
        for target in targets:
            try:
                count = count_missing_definitions(self.navigator.store, target, below)
            except SearchIndexError:
                continue  # the calls that need the index add the notice
            if count:
                counts[target.repository.name] = max(count, counts.get(target.repository.name, 0))

        if counts:
            total, names = sum(counts.values()), ", ".join(sorted(counts)[:_MAX_LISTED_NAMES])
            files = count_of(total, "missing or unreadable file")
            self.notice(
                "missing",
                f"{files} in these clones; definitions and uses in them are unknown: {names}"
                + (" and others." if len(counts) > _MAX_LISTED_NAMES else "."),
            )

    @property
    def repositories(self) -> tuple[Repository, ...]:
        """Repositories that the viewer may see, by name."""
        if self._visible is None:
            self._visible = self.navigator.catalog.visible(self.viewer)
        return self._visible

    def other_projects(self, project: Project) -> Iterator[Project]:
        """Return all other repositories, at their default revision, in order of names."""
        for repository in self.repositories:
            if repository.key != project.key and repository.info.commit:
                yield self._open(repository, "")

    def parsed_file(self, document: Document) -> ParsedFile | None:
        """Return the parsed file, or None when its language has no resolver, or it can't be parsed (see `unparsed`)."""
        self.note_unreadable(document)
        parser = self.navigator.parser_of(document.language)
        return None if parser is None else self._parsed_by(parser, document)

    def syntax_of(self, document: Document) -> ParsedFile | None:
        """Return a file whose language has a grammar but no resolver; None if another one, or if it can't be parsed."""
        has_resolver = self.navigator.parser_of(document.language) is not None
        if has_resolver or document.language not in GRAMMAR_LANGUAGES:
            return None

        return self._parsed_by(_GRAMMARS, document)

    def _parsed_by(self, parser: FileParser, document: Document) -> ParsedFile | None:
        key = document.blob_id, document.language
        entry = self.navigator.parsed_files.get(key)
        if entry is None:
            self.budget.check()
            text = mask_script(document.text, document.language)
            if len(text) > MAX_PARSED_BYTES:
                self.unparsed[document] = "too-large"
                return None

            self._facts_bytes += len(text)
            # The shared cache of parsed files can't free trees that inferred values of this call still refer to.
            if self._facts_bytes > self.navigator.cache_bytes:
                self._cache.clear()
                self._facts_bytes = 0

            # 256 bytes more: an empty file takes memory for its tree and cache entry, too.
            entry = ParsedEntry(parser.parse(document.language, text), len(text) + 256)
            self.navigator.parsed_files.put(key, entry)

        if entry.parsed is None:
            self.unparsed[document] = "timed-out"

        return entry.parsed
