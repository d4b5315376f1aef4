"""Helpers to open indexes: groups of targets, loose documents, damage, checked manifests.

`IndexStore` keeps the state; these functions take it as arguments.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sourcelight.core.batches.codecs.raw_matches import RepositoryRevision
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, SearchIndexError, SourcelightError
from sourcelight.engines.search.index.build import recent_views
from sourcelight.engines.search.index.document_buffer import DocumentBuffer
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import LooseShard, Shard, is_loose
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import SearchPart, Target
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.repos import ObjectReader, Repository, RepositoryKey

_MAX_OPEN_FILES = 400
"""Mapped files that stay open; the least recently used are closed first."""

_MAX_LOOSE_BYTES = 512 * 1024 * 1024
"""Bytes of loose documents that opened commits may hold in memory."""

MAX_MEMBERS = 64
"""Maximum repositories of one corpus: beyond that, building it costs more than it saves."""

_MAX_FILES = 400_000
"""About how many files a corpus has at most, for the same reason."""

_MAX_CORPORA = 8
"""Corpora of several repositories that stay open."""

_MAX_SINGLE_CORPORA = 32
"""Corpora of one repository that stay open: queries in one repository after another find theirs again."""

_MAX_CACHED_SHARDS = 400
"""Shards of all corpora that stay open."""

Opener = Callable[[Target], tuple[OpenedCommit, str]]
"""Opens a target and returns its commit; raises `SearchIndexError` or another `SourcelightError`."""

_MIN_AGE_S = 60
"""Seconds since the last use of a view below which the use is not written again."""

RECHECK_INTERVAL_S = 0.25
"""Seconds for which manifests are not checked again while their repositories are at the same commits."""

MARK_INTERVAL_S = 20.0
"""Seconds between two updates of a view's mtime, which is the time of its last use."""


class CorpusCache:
    """Corpora of recent searches. Safe to share between threads."""

    def __init__(self) -> None:
        # Weighed so that both limits hold: no corpus weighs less than its share of the shards.
        self._corpora: LruCache[tuple[int, ...], Corpus] = LruCache(_MAX_CACHED_SHARDS, weigh=_weight)

    def get(self, members: Sequence[OpenedCommit]) -> Corpus:
        """Return the corpus of these opened commits."""
        # By ids: a corpus holds its members, so no other object gets theirs.
        return self._corpora.get_or_make(tuple(map(id, members)), lambda: Corpus(members))

    def clear(self) -> None:
        """Remove all of them: an index was replaced."""
        self._corpora.clear()


def _weight(corpus: Corpus) -> int:
    corpora = _MAX_CORPORA if len(corpus.members) > 1 else _MAX_SINGLE_CORPORA
    return max(len(corpus.shards), _MAX_CACHED_SHARDS // corpora)


@dataclass(slots=True)
class OpenedTargets:
    """Targets that are searched together, with their opened commits; `failed` says why others could not be opened."""

    targets: list[Target] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    snapshots: list[OpenedCommit] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    _names: tuple[str, ...] = ()
    _locations: tuple[RepositoryRevision, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the repositories, one for each target."""
        if len(self._names) != len(self.targets):
            self._names = tuple(target.repository.name for target in self.targets)
        return self._names

    @property
    def locations(self) -> tuple[RepositoryRevision, ...]:
        """Repository and revision of each target."""
        if len(self._locations) != len(self.targets):
            pairs = zip(self.targets, self.commits, strict=True)
            self._locations = tuple(_location(target, commit) for target, commit in pairs)
        return self._locations


def _location(target: Target, commit: str) -> RepositoryRevision:
    info = target.repository.info
    return RepositoryRevision(repository=info.name, repository_id=info.id, revision=target.revision, commit=commit)


def open_targets(
    open_target: Opener, targets: Sequence[Target], cancellation: Cancellation, *, max_members: int = MAX_MEMBERS
) -> Iterator[OpenedTargets]:
    """Open targets in groups that are searched together; ends early when cancelled."""
    group = OpenedTargets()
    files = 0
    for target in targets:
        if cancellation.stopped:
            return

        try:
            snapshot, commit = open_target(target)
        except (SourcelightError, OSError) as error:
            reason = error.reason if isinstance(error, SearchIndexError) else str(error)
            group.failed[target.repository.name] = reason
            continue

        group.targets.append(target)
        group.commits.append(commit)
        group.snapshots.append(snapshot)
        files += snapshot.view.files
        if len(group.targets) >= max_members or files >= _MAX_FILES:
            yield group
            group = OpenedTargets()
            files = 0

    if group.targets or group.failed:
        yield group


def mark_used(view: Path) -> None:
    """Set the mtime of a view to now, the time of its last use; skip read-only directories."""
    with contextlib.suppress(OSError):
        if time.time() - view.stat().st_mtime > _MIN_AGE_S:
            os.utime(view)


def open_loose(repository: Repository, view: CommitView) -> LooseShard:
    """Read the loose documents of a view from git; raises `SearchIndexError` when git lacks one."""
    # They are the last shard of a view, in no file.
    number = next(index for index, name in enumerate(view.shards) if is_loose(name))
    ids = view.blob_ids()
    documents = view.document
    blob_by_document: dict[int, bytes] = {}
    for file in np.flatnonzero(view.shard == number).tolist():
        blob_by_document.setdefault(int(documents[file]), ids[file])

    with ObjectReader(repository) as reader:
        texts = list(reader.blobs(blob_by_document[document] for document in sorted(blob_by_document)))

    contents = [(blob_id, text) for blob_id, text in texts if text is not None]
    if len(contents) < len(texts):
        raise SearchIndexError(str(view.file.path), "the repository no longer has a file of this revision")

    return LooseShard(view.shards[number], DocumentBuffer.of(contents))


def loose_bytes(snapshot: OpenedCommit) -> int:
    """Return the bytes of text that an opened commit holds in memory."""
    return sum(shard.text_bytes for shard in snapshot.shards if isinstance(shard, LooseShard))


class OpenCommits:
    """The opened commits of a store, those used longest ago closed first. Safe to share between threads.

    No `LruCache`: opened commits of a repository share its shards, so they are looked up by repository too, and two
    limits hold, of mapped files and of loose text.

    Parameters
    ----------
    on_evict
        Called before commits are closed for others, so that whatever else holds them lets them go.
    """

    def __init__(self, on_evict: Callable[[], None]) -> None:
        self._on_evict = on_evict
        self._commits: OrderedDict[tuple[RepositoryKey, str], OpenedCommit] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: RepositoryKey, name: str) -> OpenedCommit | None:
        """Return the commit of a repository by the name of its view, if it is open; it doesn't count as used."""
        return self._commits.get((key, name))

    def of_repositories(self, keys: Collection[RepositoryKey]) -> list[OpenedCommit]:
        """Return the open commits of some repositories."""
        with self._lock:
            return [snapshot for (owner, _), snapshot in self._commits.items() if owner in keys]

    def open(self, folder: TextIndexFolder, repository: Repository, name: str) -> OpenedCommit:
        """Return the commit of a view, opened if it is not; raises as opening files does."""
        key = repository.key
        with self._lock:
            cached = self._commits.get((key, name))
            if cached is not None:
                self._commits.move_to_end((key, name))
                return cached

        # Without the lock: mapping a file may wait for the disk, and loose documents are read from git. If two threads
        # do it at once, both views are equal and the later one stays.
        view = CommitView(folder.path / name)
        snapshot = OpenedCommit(view, self._open_shards(folder, repository, view))
        with self._lock:
            self._commits[key, name] = snapshot
            files = sum(1 + len(commit.shards) for commit in self._commits.values())
            loose = sum(loose_bytes(commit) for commit in self._commits.values())
            # Running searches hold their own references, so evicting a commit here closes no file under them.
            while (files > _MAX_OPEN_FILES or loose > _MAX_LOOSE_BYTES) and len(self._commits) > 1:
                self._on_evict()
                _, oldest = self._commits.popitem(last=False)
                files -= 1 + len(oldest.shards)
                loose -= loose_bytes(oldest)

        return snapshot

    def _open_shards(self, folder: TextIndexFolder, repository: Repository, view: CommitView) -> list[Shard]:
        # Commits of one repository share shards: an open one is reused, with its checked sections.
        open_shards: dict[str, Shard] = {}
        for commit in self.of_repositories((repository.key,)):
            open_shards |= {shard.name: shard for shard in commit.shards}

        shards: list[Shard] = []
        for name in view.shards:
            shard = open_shards.get(name)
            if shard is None:
                shard = open_loose(repository, view) if is_loose(name) else Shard(folder.path / name)
            shards.append(shard)
        return shards

    def close(self, key: RepositoryKey, keep: Collection[str] = ()) -> None:
        """Close the commits of a repository, except the views named in `keep`."""
        with self._lock:
            for owner, name in list(self._commits):
                if owner == key and name not in keep:
                    del self._commits[owner, name]


def delete_old_views(folder: TextIndexFolder) -> None:
    """Delete the views beyond `MAX_VIEWS`; raises `IndexWriteFailed`."""
    try:
        manifest = folder.manifest()
        views = recent_views(folder.path, list(manifest.views))
        if len(views) == len(manifest.views):
            return
        shard_names: set[str] = set()
        for entry in views:
            shard_names.update(CommitView(folder.path / entry.name).shards)
    except (IndexDamaged, FileNotFoundError):
        return

    shards = tuple(shard for shard in manifest.shards if shard.name in shard_names)
    folder.replace_manifest(replace(manifest, views=tuple(views), shards=shards))


RunSearch = Callable[[Sequence[Target]], Iterator[SearchPart]]


def retry_without_damaged(
    run: RunSearch, targets: Sequence[Target], on_damage: Callable[[IndexDamaged], str]
) -> Generator[SearchPart, None, None]:
    """Search targets; when an index turns out to be damaged, search the others again without it.

    Parameters
    ----------
    run
        Searches targets; may raise `IndexDamaged` at any point.
    targets
        Targets to search.
    on_damage
        Marks the index for a rebuild, and returns the key of its repository.

    Yields
    ------
    SearchPart
        The parts of `run`, and the targets that failed. After the first matches, a second search could return rows
        twice: the remaining targets then fail as well, with a reason.
    """
    while True:
        finished: set[str] = set()
        matched = False
        try:
            for part in run(targets):
                finished.update(part.repositories_done, part.failed)
                matched = matched or bool(part.batches)
                yield part
        except IndexDamaged as error:
            key = on_damage(error)
            reason = error.reason
        else:
            return

        failed: dict[str, str] = {}
        remaining: list[Target] = []
        for target in targets:
            name = target.repository.name
            if name in finished:
                continue
            if target.repository.key == key:
                failed[name] = f"its index is damaged ({reason}); ask again"
            else:
                remaining.append(target)

        if matched or not failed:
            for target in remaining:
                failed[target.repository.name] = "it was searched beside a damaged index; ask again"
            remaining = []

        yield SearchPart(failed=failed)
        if not remaining:
            return

        targets = remaining


@dataclass(slots=True)
class CheckedManifests:
    """The last check of the manifests of some targets: its time, and the path, inode, mtime and size of each."""

    targets: tuple[Target, ...] | None = None
    files: list[tuple[str, int, int, int]] = field(default_factory=list)
    target_keys: frozenset[tuple[RepositoryKey, str]] = frozenset()
    checked_s: float = -RECHECK_INTERVAL_S

    @classmethod
    def of(
        cls, targets: tuple[Target, ...], folder_of: Callable[[RepositoryKey], TextIndexFolder]
    ) -> CheckedManifests | None:
        """Return a check of now for targets whose indexes are current; None if a manifest was deleted meanwhile."""
        files = []
        for target in targets:
            manifest_file = folder_of(target.repository.key).manifest_file
            stamp = manifest_file.stamp
            if stamp is None:
                return None
            files.append((manifest_file.path, *stamp))

        target_keys = frozenset((target.repository.key, target.commit) for target in targets)
        return cls(targets, files, target_keys, time.monotonic())

    @property
    def is_fresh(self) -> bool:
        """Whether it was a moment ago."""
        return time.monotonic() - self.checked_s < RECHECK_INTERVAL_S

    def has_same_files(self) -> bool:
        """Return whether no manifest was replaced or deleted."""
        try:
            # Manifests are replaced by rename, so a change shows in the inode even within one tick of the clock.
            for file, inode, modified, size in self.files:
                info = os.stat(file)  # noqa: PTH116 - for every search and repository
                if info.st_mtime_ns != modified or info.st_ino != inode or info.st_size != size:
                    return False
        except OSError:
            return False

        return True

    @property
    def keys(self) -> set[RepositoryKey]:
        """Keys of the targets' repositories."""
        return {key for key, _ in self.target_keys}

    def covers(self, targets: Sequence[Target]) -> bool:
        """Return whether all of these targets were checked."""
        return self.target_keys.issuperset((target.repository.key, target.commit) for target in targets)


@dataclass(slots=True)
class CheckedTargets:
    """Opened targets, valid while their `manifests` are unchanged; `marked_s` is when their views were marked used.

    `corpus` is the corpus of their only group, made on first use.
    """

    targets: Sequence[Target]
    groups: Sequence[OpenedTargets]
    manifests: CheckedManifests
    marked_s: float
    corpus: Corpus | None = None

    def holds_for(self, targets: Sequence[Target], manifests: CheckedManifests) -> bool:
        """Return whether these targets are the open ones, and their manifests were checked a moment ago."""
        # Identity, not equality: the engine passes the same tuple while nothing changed, and comparing 10,000 targets
        # would cost more than the search.
        return (
            self.targets is targets
            and self.manifests is manifests
            and manifests.is_fresh
            and time.monotonic() - self.marked_s < MARK_INTERVAL_S
        )

    def open_corpus(self, corpora: CorpusCache) -> Corpus:
        """Return the corpus of the only group."""
        self.corpus = corpora.get(self.groups[0].snapshots)
        return self.corpus
