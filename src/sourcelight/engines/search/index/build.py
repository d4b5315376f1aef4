"""Build the index of a repository at one commit; only blobs that no shard holds yet are read.

Shards are immutable. An update writes new blobs into a *delta* shard and a new view. Blobs that no view uses any more
are *dead*; when they and the deltas become too many, the repository is written into new shards in path order.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from sourcelight.core.batches import CommitId
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.core.query.languages import LANGUAGES, language_of, languages_of_path
from sourcelight.engines.search.index.folder import (
    EMPTY,
    PROTECTED,
    IndexManifest,
    ShardEntry,
    TextIndexFolder,
    ViewEntry,
)
from sourcelight.engines.search.index.shard import (
    BLOB_ID_BYTES,
    MAX_DOCUMENT_BYTES,
    MAX_LOOSE_BYTES,
    Shard,
    ShardBuilder,
    is_loose,
    loose_name,
)
from sourcelight.engines.search.index.view import NO_SHARD, REASONS, CommitView, ViewContent, write_view

_MAX_DELTA_FRACTION = 0.2
"""Fraction of dead and delta documents above which all shards are rewritten."""

_MAX_DEAD_FRACTION = 0.5
"""Fraction of dead documents above which shards are rewritten while views of other revisions use the old ones.

The old shards then stay on disk beside the new ones.
"""

_MAX_DELTAS = 8
"""Delta shards beyond which an update merges them: every search reads the posting lists of each shard."""

MAX_VIEWS = 64
"""Number of stored views of revisions other than the default; the least recently used are deleted first."""

_IN_USE_S = 3600
"""Seconds for which a used view is never deleted, because one query may name many revisions."""

_MAX_VIEWS_READ = 4
"""Unprotected views that are read for blobs without content, such as binary files: not reading one costs a git read."""

_PROGRESS_BYTES = 4 * 1024 * 1024
"""Bytes read between two progress reports."""

_BINARY, _TOO_LARGE, _MISSING = (REASONS.index(reason) for reason in ("binary", "too-large", "missing"))


class FileTree(Protocol):
    """The files of a commit: paths in order, and 20 bytes of blob id for each."""

    @property
    def paths(self) -> list[bytes]:
        """Paths, sorted bytewise."""
        ...

    @property
    def blob_ids(self) -> bytes:
        """Blob ids in the order of `paths`."""
        ...


class BlobSource(Protocol):
    """Source of files, such as `repos.ObjectReader`."""

    def tree(self, commit: CommitId) -> FileTree:
        """Return the files of a commit."""
        ...

    def blobs(self, ids: Iterable[bytes], limit: int = ..., /) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the content of each blob; None when it is missing or exceeds `limit` bytes."""
        ...

    def size(self, blob_id: bytes) -> int | None:
        """Return the size of a blob, or None when it is missing."""
        ...


@dataclass(slots=True)
class BuildOptions:
    """Commit, limits and callbacks of a build.

    `check_cancelled` is called between files and raises to end the build; `on_progress` gets the files and bytes read
    so far. `budget_bytes` is how much the index may grow, None: no limit. `rebuild` ignores the existing index.
    """

    repository: str
    commit: CommitId
    revision: str
    max_file_size: int
    check_cancelled: Callable[[], None]
    on_progress: Callable[[int, int], None]
    budget_bytes: int | None = None
    rebuild: bool = False


class _Position(NamedTuple):
    """The document of a blob: the number of its shard, and its number there."""

    shard: int
    document: int


class _Unindexed(NamedTuple):
    """A blob without content in the index, such as a binary file: an index in `REASONS`, and its size or -1."""

    reason: int
    size: int


class _LooseBlob(NamedTuple):
    """A blob whose content stays with git: its number among loose documents, and its size."""

    document: int
    size: int


@dataclass(slots=True)
class _IndexedBlobs:
    """Blobs that the index has, by id.

    Attributes
    ----------
    shards
        The shards, in the order of their numbers.
    positions
        Blobs with content in a shard.
    unindexed
        Blobs that are matched by the names of their files only.
    loose
        Blobs of the view that is being built whose content stays with git.
    """

    shards: list[ShardEntry] = field(default_factory=list)
    positions: dict[bytes, _Position] = field(default_factory=dict)
    unindexed: dict[bytes, _Unindexed] = field(default_factory=dict)
    loose: dict[bytes, _LooseBlob] = field(default_factory=dict)

    def has(self, blob_id: bytes) -> bool:
        """Return whether the blob need not be read."""
        return blob_id in self.positions or blob_id in self.unindexed


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Result of a build: files and bytes that were read, and files in the view."""

    read_files: int
    read_bytes: int
    files: int


def build(
    folder: TextIndexFolder, source: BlobSource, options: BuildOptions, tree: FileTree | None = None
) -> BuildResult:
    """Index `options.commit`, whose files are `tree` (None: read them). The caller holds the folder's lock.

    Raises `IndexWriteFailed`, or what `options.check_cancelled` raises; the previous index then stays in place.
    """
    try:
        return _build(folder, source, options, tree)
    except IndexDamaged:
        # Damage that is found only when an old shard is copied: build everything again instead of failing.
        return _build(folder, source, replace(options, rebuild=True), tree)
    finally:
        # Also after a failure: no manifest names the shards written so far.
        folder.discard_unneeded()


def _build(folder: TextIndexFolder, source: BlobSource, options: BuildOptions, tree: FileTree | None) -> BuildResult:
    previous = _usable_manifest(folder, options)
    folder.discard_unneeded()
    tree = tree or source.tree(options.commit)
    try:
        existing = _read_indexed_blobs(folder.path, previous, options.check_cancelled)
    except (IndexDamaged, FileNotFoundError):
        previous, existing = EMPTY, _IndexedBlobs()

    ids = [tree.blob_ids[offset : offset + BLOB_ID_BYTES] for offset in range(0, len(tree.blob_ids), BLOB_ID_BYTES)]
    builder = _Builder(folder.path, source, options, existing)

    # The new view replaces the view of its revision and any other view of its commit.
    views = [view for view in previous.views if view.revision != options.revision and view.commit != options.commit]
    views = recent_views(folder.path, views, in_use_s=_IN_USE_S)
    protected = [view for view in views if view.protected]
    if options.revision not in PROTECTED:
        builder.extend_loose(ids)
    elif previous.shards and _should_rewrite(existing, ids, folder=folder.path, other_views=protected):
        builder.rewrite(ids)
        views = protected  # other views would keep the old shards on disk, and are cheap to build again
    elif builder.extend(ids):
        views = protected

    entry, used_names = builder.write_view(tree.paths, ids)
    for view in views:
        used_names.update(name for name in CommitView(folder.path / view.name).shards if not is_loose(name))
    shards = {shard.name: shard for shard in (*previous.shards, *builder.existing.shards) if shard.name in used_names}

    # The last step makes all of it visible at once. If a build dies before, the old index stays unchanged.
    folder.replace_manifest(
        IndexManifest(
            repository=options.repository,
            max_file_size=options.max_file_size,
            shards=tuple(shards.values()),
            views=(*views, entry),
        )
    )
    return BuildResult(builder.read_files, builder.read_bytes, len(ids))


def recent_views(folder: Path, views: list[ViewEntry], *, in_use_s: float = 0.0) -> list[ViewEntry]:
    """Drop the least recently used views beyond `MAX_VIEWS`, except those used within `in_use_s` seconds.

    The mtime of a view's file is the time of its last use. Protected views always stay.
    """
    last_used_s: dict[str, float] = {}
    for view in views:
        with contextlib.suppress(OSError):
            last_used_s[view.name] = (folder / view.name).stat().st_mtime

    unprotected = [view for view in views if not view.protected]
    unprotected.sort(key=lambda view: last_used_s.get(view.name, 0.0))
    last_use_s = time.time() - in_use_s
    old = {view.name for view in unprotected[:-MAX_VIEWS] if last_used_s.get(view.name, 0.0) <= last_use_s}
    return [view for view in views if view.name not in old]


def _usable_manifest(folder: TextIndexFolder, options: BuildOptions) -> IndexManifest:
    try:
        previous = folder.manifest()
    except IndexDamaged:
        return EMPTY
    if options.rebuild or previous.max_file_size != options.max_file_size:
        return EMPTY
    return previous


def _read_indexed_blobs(folder: Path, manifest: IndexManifest, check_cancelled: Callable[[], None]) -> _IndexedBlobs:
    existing = _IndexedBlobs(list(manifest.shards))
    for shard_index, entry in enumerate(manifest.shards):
        check_cancelled()
        for document, blob_id in enumerate(Shard(folder / entry.name).blob_ids()):
            existing.positions[blob_id] = _Position(shard_index, document)

    protected = [view for view in manifest.views if view.protected]
    unprotected = [view for view in manifest.views if not view.protected]
    for view_entry in (*protected, *unprotected[-_MAX_VIEWS_READ:]):
        view = CommitView(folder / view_entry.name)
        view.file.verify(check_cancelled)
        # A missing blob may have been fetched by now, so it is read again.
        without_content = np.flatnonzero((view.reason != 0) & (view.reason != _MISSING))
        if len(without_content):
            ids = view.blob_ids()
            sizes = view.file.array("size")
            for file in without_content.tolist():
                existing.unindexed[ids[file]] = _Unindexed(int(view.reason[file]), int(sizes[file]))

    return existing


def _should_rewrite(
    existing: _IndexedBlobs, ids: list[bytes], *, folder: Path, other_views: Sequence[ViewEntry]
) -> bool:
    """Return whether so many blobs are dead, or in delta shards, that all shards are written again."""
    current_ids = set(ids)
    for view in other_views:
        current_ids.update(CommitView(folder / view.name).blob_ids())

    # HEAD never needed the blobs of other revisions: they are not dead.
    indexed = [
        blob_id
        for blob_id, position in existing.positions.items()
        if not existing.shards[position.shard].for_other_revisions
    ]
    dead_count = sum(blob_id not in current_ids for blob_id in indexed)
    if other_views:
        return dead_count > _MAX_DEAD_FRACTION * len(indexed)

    new_count = sum(not existing.has(blob_id) for blob_id in current_ids)
    delta_count = sum(entry.documents for entry in existing.shards if entry.delta)
    return dead_count + delta_count + new_count > _MAX_DELTA_FRACTION * (len(indexed) + new_count)


class _Builder:
    """Writes the shards and the view of one build; `existing` has the blobs that the index has by then."""

    def __init__(self, folder: Path, source: BlobSource, options: BuildOptions, existing: _IndexedBlobs) -> None:
        self.existing = existing
        self.read_files = 0
        self.read_bytes = 0
        self._folder = folder
        self._source = source
        self._options = options
        self._budget_bytes = options.budget_bytes
        self._reported_bytes = 0

    def extend(self, ids: list[bytes]) -> bool:
        """Write missing blobs into a delta shard; returns True when delta shards were merged."""
        missing = self._missing(ids)
        # The first shards of an index are no deltas.
        is_delta = bool(self.existing.shards)
        deltas = [entry.name for entry in self.existing.shards if entry.delta]
        if missing and len(deltas) >= _MAX_DELTAS:
            self._write(chain(self._texts_of_shards(deltas, set(ids)), self._texts(missing)), delta=True)
            return True

        self._write(self._texts(missing), delta=is_delta)
        return False

    def _texts_of_shards(self, names: Sequence[str], current_ids: AbstractSet[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield the blobs of a commit that some shards have: those that later commits have changed are left out."""
        for name in names:
            shard = Shard(self._folder / name)
            for document, blob_id in enumerate(shard.blob_ids()):
                if blob_id in current_ids:
                    yield blob_id, shard.text(document)

    def extend_loose(self, ids: list[bytes]) -> None:
        """Leave missing blobs to git, as loose documents; write them into a shard only beyond `MAX_LOOSE_BYTES`."""
        texts = self._texts(self._missing(ids))
        contents: list[tuple[bytes, bytes]] = []
        size = 0
        for blob_id, text in texts:
            contents.append((blob_id, text))
            size += len(text)
            if size > MAX_LOOSE_BYTES:
                # `texts` is an iterator: it continues with the blobs that have not been read yet.
                self._write(chain(contents, texts), delta=True, for_other_revisions=True)
                return

        for document, (blob_id, text) in enumerate(contents):
            self.existing.loose[blob_id] = _LooseBlob(document, len(text))

    def _missing(self, ids: list[bytes]) -> list[bytes]:
        return [blob_id for blob_id in dict.fromkeys(ids) if not self.existing.has(blob_id)]

    def rewrite(self, ids: list[bytes]) -> None:
        """Write all blobs of the commit into new shards, in path order; indexed ones are copied from the old shards."""
        previous = self.existing
        self.existing = _IndexedBlobs(unindexed=previous.unindexed)
        self._write(self._texts_in_order(ids, previous), delta=False)

    def _texts_in_order(self, ids: Iterable[bytes], previous: _IndexedBlobs) -> Iterator[tuple[bytes, bytes]]:
        """Yield the blobs of a commit, in order: those of previous shards are copied, and all others are read."""
        shards = [Shard(self._folder / entry.name) for entry in previous.shards]
        blob_ids = [blob_id for blob_id in dict.fromkeys(ids) if blob_id not in previous.unindexed]
        new_texts = self._texts([blob_id for blob_id in blob_ids if blob_id not in previous.positions])
        # Not all new blobs have a text: the next blob with a text waits for its position in the order of paths.
        next_id, next_text = next(new_texts, (b"", b""))
        for blob_id in blob_ids:
            position = previous.positions.get(blob_id)
            if position is not None:
                self._options.check_cancelled()
                yield blob_id, shards[position.shard].text(position.document)
            elif blob_id == next_id:
                yield blob_id, next_text
                next_id, next_text = next(new_texts, (b"", b""))

    def _texts(self, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        limit = document_limit(self._options.max_file_size)
        for blob_id, text in self._source.blobs(ids, limit):
            self._options.check_cancelled()
            self.read_files += 1
            if text is None:
                # None means missing or too large; the size decides which.
                size = self._source.size(blob_id)
                if size is None or size <= limit:
                    self.existing.unindexed[blob_id] = _Unindexed(_MISSING, -1)
                else:
                    self.existing.unindexed[blob_id] = _Unindexed(_TOO_LARGE, size)
                continue

            self.read_bytes += len(text)
            if self.read_bytes - self._reported_bytes >= _PROGRESS_BYTES:
                self._reported_bytes = self.read_bytes
                self._options.on_progress(self.read_files, self.read_bytes)

            if len(text) > limit:
                self.existing.unindexed[blob_id] = _Unindexed(_TOO_LARGE, len(text))
            # Anywhere in the text, unlike git, which looks at the first 8,000 bytes.
            elif b"\0" in text:
                self.existing.unindexed[blob_id] = _Unindexed(_BINARY, len(text))
            else:
                yield blob_id, text

    def _write(self, texts: Iterable[tuple[bytes, bytes]], *, delta: bool, for_other_revisions: bool = False) -> None:
        builder = ShardBuilder()
        for blob_id, text in texts:
            if not builder.has_room(len(text)):
                self._finish(builder, delta=delta, for_other_revisions=for_other_revisions)
                builder = ShardBuilder()
            document = builder.add(blob_id, text)
            self.existing.positions[blob_id] = _Position(len(self.existing.shards), document)

        if builder.documents:
            self._finish(builder, delta=delta, for_other_revisions=for_other_revisions)

    def _finish(self, builder: ShardBuilder, *, delta: bool, for_other_revisions: bool) -> None:
        self._options.check_cancelled()
        name = builder.write(self._folder)
        shard = Shard(self._folder / name)
        # Checked before a manifest names it, so that no index has a shard that was not written whole.
        shard.file.verify(self._options.check_cancelled)
        self._spend(shard.file.size)
        self.existing.shards.append(ShardEntry(name, shard.documents, shard.text_bytes, delta, for_other_revisions))

    def _spend(self, size: int) -> None:
        if self._budget_bytes is not None:
            self._budget_bytes -= size
            if self._budget_bytes < 0:
                raise IndexWriteFailed(str(self._folder), "the index has reached its size limit (max_bytes)")

    def write_view(self, paths: list[bytes], ids: list[bytes]) -> tuple[ViewEntry, set[str]]:
        """Write the view of the commit, whose blobs are all indexed; returns its entry and the shards it uses."""
        existing = self.existing
        files = len(paths)
        shard = np.full(files, NO_SHARD, dtype=np.uint16)
        document = np.zeros(files, dtype=np.uint32)
        reason = np.zeros(files, dtype=np.uint8)
        size = np.zeros(files, dtype=np.int64)
        document_sizes = [Shard(self._folder / entry.name).doc_size for entry in existing.shards]
        for file, blob_id in enumerate(ids):
            position = existing.positions.get(blob_id)
            if position is None and blob_id in existing.loose:
                shard[file] = len(existing.shards)
                document[file], size[file] = existing.loose[blob_id]
            elif position is None:
                reason[file], size[file] = existing.unindexed[blob_id]
            else:
                shard[file], document[file] = position
                size[file] = document_sizes[position.shard][position.document]

        # A view lists only shards that it uses, so the numbers of the build become indexes into its own list. Loose
        # documents count as one more shard, the last.
        # Not with `np.unique`, which imports the masked arrays of numpy on its first call.
        used_shards = np.flatnonzero(np.bincount(shard[shard != NO_SHARD]))
        index_of_shard = np.full(NO_SHARD + 1, NO_SHARD, dtype=np.uint16)
        index_of_shard[used_shards] = np.arange(len(used_shards))
        loose = loose_name(existing.loose) if existing.loose else ""
        all_names = [*(entry.name for entry in existing.shards), loose]
        names = [all_names[number] for number in used_shards.tolist()]
        language, languages = languages_of_paths(paths)
        content = ViewContent(
            commit=self._options.commit,
            paths=paths,
            blob_ids=b"".join(ids),
            shards=names,
            shard=index_of_shard[shard],
            document=document,
            reason=reason,
            size=size,
            language=language,
            languages=languages,
        )
        name = write_view(self._folder, content)
        self._spend((self._folder / name).stat().st_size)
        text_bytes = int(size[reason == 0].sum())
        return ViewEntry(name, self._options.commit, self._options.revision, files, text_bytes, loose), set(names)


def document_limit(max_file_size: int) -> int:
    """Return the bytes above which a file is matched by its name only."""
    # Units are numbered with 16 bits, which bounds every setting.
    return min(max_file_size, MAX_DOCUMENT_BYTES)


def languages_of_paths(
    paths: Sequence[bytes],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint16]], list[tuple[str, list[str]]]]:
    """Return the number of each path's language, and the languages as in `ViewContent`.

    A number stands for the language that is displayed, and all that the path may be in: a header ``a.h`` is shown as C,
    and is found by C++ and Objective-C, too.
    """
    codes_by_language: dict[tuple[str, tuple[str, ...]], int] = {}
    by_name: dict[bytes, int] = {}
    file_names = {name.lower().encode() for language in LANGUAGES.values() for name in language.filenames}
    codes = np.zeros(len(paths), dtype=np.uint16)
    for file, path in enumerate(paths):
        # A language depends on the whole file name, or on its extensions: one look-up per distinct extension.
        name = path[path.rfind(b"/") + 1 :]
        if name.lower() not in file_names:
            dot = name.find(b".")
            # All other names without an extension are of no language.
            name = name[dot:] if dot >= 0 else b""

        code = by_name.get(name)
        if code is None:
            text = name.decode(errors="replace")
            languages = (language_of(text), tuple(languages_of_path(text)))
            code = by_name[name] = codes_by_language.setdefault(languages, len(codes_by_language))

        codes[file] = code

    return codes, [(name, list(names)) for name, names in codes_by_language]
