"""Building a repository's index at one commit: only blobs that no shard holds yet are read."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.core.query.languages import LANGUAGES, language_of, languages_of_path
from sourcelight.engines.search.index.folder import EMPTY, PROTECTED, IndexFolder, IndexManifest, ShardEntry, ViewEntry
from sourcelight.engines.search.index.postings import KeyExtractor
from sourcelight.engines.search.index.shard import (
    BLOB_ID_BYTES,
    LARGEST_DOCUMENT,
    LOOSE_BYTES,
    Shard,
    ShardBuilder,
    is_loose,
    loose_name,
)
from sourcelight.engines.search.index.view import NO_SHARD, REASONS, CommitView, ViewContent, write_view

_LARGEST_DELTA_SHARE = 0.2
"""Share of dead and late documents above which a repository is written anew."""

_LARGEST_DEAD_SHARE = 0.5
"""The same where other revisions are kept, whose shards then stay beside the new ones."""

_MOST_DELTAS = 8
MOST_VIEWS = 64
"""Views of revisions beside the default ones that are kept; what was used longest ago goes first."""

_IN_USE_S = 3600
"""Seconds for which a view that was used stays, whatever their number: one query may ask for many."""

_VIEWS_READ = 4
_TELL_BYTES = 4 * 1024 * 1024

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
    """Where files come from; `repos.ObjectReader` is one."""

    def tree(self, commit: str) -> FileTree:
        """Give the files of a commit."""
        ...

    def read(self, blob_id: bytes, limit: int = ..., /) -> bytes | None:
        """Give a content, None when it is missing or has more than `limit` bytes."""
        ...

    def size(self, blob_id: bytes) -> int | None:
        """Give the size of a content, None when it is missing."""
        ...


@dataclass(slots=True)
class BuildOptions:
    """What to build, and whom to tell.

    `stop` is called between files and raises to end the build; `tell` gets (files, bytes) read so far; `room` is how
    many bytes the index may still grow, None for no limit;
    `afresh` trusts nothing that is there.
    """

    repository: str
    commit: str
    revision: str
    max_file_size: int
    stop: Callable[[], None]
    tell: Callable[[int, int], None]
    room: int | None = None
    afresh: bool = False


@dataclass(slots=True)
class _ExistingBlobs:
    """Where each blob stands: shard and document, or loose document and size, or why it has no content and size."""

    shards: list[ShardEntry] = field(default_factory=list)
    places: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    reasons: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    loose: dict[bytes, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build did: bytes and files read anew, files in the view."""

    read_files: int
    read_bytes: int
    files: int


def build(folder: IndexFolder, source: BlobSource, order: BuildOptions, tree: FileTree | None = None) -> BuildResult:
    """Make the folder answer for `order.commit`, whose files are `tree` (None: to be read). Hold the folder's lock.

    Raises `IndexWriteFailed`, or what `order.stop` raises; the former index then stays as it was.
    """
    try:
        return _build(folder, source, order, tree)
    except IndexDamaged:
        return _build(folder, source, replace(order, afresh=True), tree)
    finally:
        folder.discard_unneeded()


def _build(folder: IndexFolder, source: BlobSource, order: BuildOptions, tree: FileTree | None) -> BuildResult:
    former = _former(folder, order)
    folder.discard_unneeded()
    tree = tree or source.tree(order.commit)
    try:
        known = _known(folder.path, former, order.stop)
    except (IndexDamaged, FileNotFoundError):
        former, known = EMPTY, _ExistingBlobs()
    ids = [tree.blob_ids[at : at + BLOB_ID_BYTES] for at in range(0, len(tree.blob_ids), BLOB_ID_BYTES)]
    work = _BuildStep(folder.path, source, order, known)
    views = [view for view in former.views if view.revision != order.revision and view.commit != order.commit]
    views = recent_views(folder.path, views, in_use_s=_IN_USE_S)
    lasting = [view for view in views if view.protected]
    if order.revision not in PROTECTED:
        work.extend_loosely(ids)
    elif former.shards and _worth_rewriting(folder.path, known, ids, lasting):
        work.rewrite(ids)
        views = lasting  # others would keep the former shards on disk; they are cheap to make again
    elif work.extend(ids):
        views = lasting
    entry, used = work.write_view(tree.paths, ids)
    used.update(name for view in views for name in CommitView(folder.path / view.name).shards if not is_loose(name))
    shards = {shard.name: shard for shard in (*former.shards, *work.known.shards) if shard.name in used}
    folder.replace_manifest(
        IndexManifest(order.repository, order.max_file_size, tuple(shards.values()), (*views, entry))
    )
    return BuildResult(work.read_files, work.read_bytes, len(ids))


def recent_views(folder: Path, views: list[ViewEntry], *, in_use_s: float = 0.0) -> list[ViewEntry]:
    """Leave out the views beyond `MOST_VIEWS` that were used longest ago, but none that was used `in_use_s` ago.

    A view's time of change on disk says when it was used. Those of default revisions always stay.
    """
    used: dict[str, float] = {}
    for view in views:
        with contextlib.suppress(OSError):
            used[view.name] = (folder / view.name).stat().st_mtime
    others = sorted((view for view in views if not view.protected), key=lambda view: used.get(view.name, 0.0))
    now = time.time()
    old = {view.name for view in others[:-MOST_VIEWS] if now - used.get(view.name, 0.0) >= in_use_s}
    return [view for view in views if view.name not in old]


def _former(folder: IndexFolder, order: BuildOptions) -> IndexManifest:
    try:
        former = folder.manifest()
    except IndexDamaged:
        return EMPTY
    return EMPTY if order.afresh or former.max_file_size != order.max_file_size else former


def _known(folder: Path, manifest: IndexManifest, stop: Callable[[], None]) -> _ExistingBlobs:
    known = _ExistingBlobs(list(manifest.shards))
    for number, entry in enumerate(manifest.shards):
        stop()
        for document, blob_id in enumerate(Shard(folder / entry.name).blob_ids()):
            known.places[blob_id] = (number, document)
    lasting = [view for view in manifest.views if view.protected]
    others = [view for view in manifest.views if not view.protected]
    for view_entry in (*lasting, *others[-_VIEWS_READ:]):
        view = CommitView(folder / view_entry.name)
        view.file.verify(stop)
        nameless = np.flatnonzero((view.reason != 0) & (view.reason != _MISSING))
        if len(nameless):
            ids, sizes = view.blob_ids(), view.file.array("size")
            known.reasons |= {ids[at]: (int(view.reason[at]), int(sizes[at])) for at in nameless.tolist()}
    return known


def _worth_rewriting(folder: Path, known: _ExistingBlobs, ids: list[bytes], others: list[ViewEntry]) -> bool:
    wanted = set(ids)
    for view in others:
        wanted.update(CommitView(folder / view.name).blob_ids())
    places = [blob_id for blob_id, (shard, _) in known.places.items() if not known.shards[shard].late]
    dead = sum(1 for blob_id in places if blob_id not in wanted)
    if others:
        return dead > _LARGEST_DEAD_SHARE * len(places)
    fresh = sum(1 for blob_id in wanted if blob_id not in known.places and blob_id not in known.reasons)
    late = sum(entry.documents for entry in known.shards if entry.delta)
    return dead + late + fresh > _LARGEST_DELTA_SHARE * (len(places) + fresh)


class _BuildStep:
    """One build: the shards it writes, and what it knows by then."""

    def __init__(self, folder: Path, source: BlobSource, order: BuildOptions, known: _ExistingBlobs) -> None:
        self.known = known
        self.read_files = 0
        self.read_bytes = 0
        self._folder = folder
        self._source = source
        self._order = order
        self._room = order.room
        self._told = 0

    def extend(self, ids: list[bytes]) -> bool:
        """Write the blobs that are not known yet into further shards; True when shards were merged for it."""
        wanted = self._unknown(ids)
        delta = bool(self.known.shards)
        deltas = [number for number, entry in enumerate(self.known.shards) if entry.delta]
        if wanted and len(deltas) >= _MOST_DELTAS:
            old = [Shard(self._folder / self.known.shards[number].name) for number in deltas]
            live = set(ids)
            moved = [
                (blob_id, shard, at) for shard in old for at, blob_id in enumerate(shard.blob_ids()) if blob_id in live
            ]
            texts = ((blob_id, shard.text(at)) for blob_id, shard, at in moved)
            self._write(_chain(texts, self._texts(wanted)), delta=True)
            return True
        self._write(self._texts(wanted), delta=delta)
        return False

    def extend_loosely(self, ids: list[bytes]) -> None:
        """Leave the blobs that are not known yet to git; write them into shards only where there are too many."""
        texts = self._texts(self._unknown(ids))
        held: list[tuple[bytes, bytes]] = []
        size = 0
        for blob_id, text in texts:
            held.append((blob_id, text))
            size += len(text)
            if size > LOOSE_BYTES:
                self._write(_chain(held, texts), delta=True, late=True)
                return
        self.known.loose = {blob_id: (number, len(text)) for number, (blob_id, text) in enumerate(held)}

    def _unknown(self, ids: list[bytes]) -> list[bytes]:
        return [b for b in dict.fromkeys(ids) if b not in self.known.places and b not in self.known.reasons]

    def rewrite(self, ids: list[bytes]) -> None:
        """Write all blobs of this commit anew, those that a shard holds from there."""
        old = self.known
        shards = [Shard(self._folder / entry.name) for entry in old.shards]
        wanted = [blob_id for blob_id in dict.fromkeys(ids) if blob_id not in old.reasons]
        self.known = _ExistingBlobs(reasons=old.reasons)

        def texts() -> Iterator[tuple[bytes, bytes]]:
            for blob_id in wanted:
                place = old.places.get(blob_id)
                if place is None:
                    yield from self._texts([blob_id])
                else:
                    self._order.stop()
                    yield blob_id, shards[place[0]].text(place[1])

        self._write(texts(), delta=False)

    def _texts(self, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        limit = min(self._order.max_file_size, LARGEST_DOCUMENT)
        for blob_id in ids:
            self._order.stop()
            text = self._source.read(blob_id, limit)
            self.read_files += 1
            if text is None:
                size = self._source.size(blob_id)
                self.known.reasons[blob_id] = (_MISSING, -1) if size is None or size <= limit else (_TOO_LARGE, size)
                continue
            self.read_bytes += len(text)
            if self.read_bytes - self._told >= _TELL_BYTES:
                self._told = self.read_bytes
                self._order.tell(self.read_files, self.read_bytes)
            if len(text) > limit:
                self.known.reasons[blob_id] = (_TOO_LARGE, len(text))
            elif b"\0" in text:
                self.known.reasons[blob_id] = (_BINARY, len(text))
            else:
                yield blob_id, text

    def _write(self, texts: Iterable[tuple[bytes, bytes]], *, delta: bool, late: bool = False) -> None:
        finder = KeyExtractor()
        builder = ShardBuilder(finder)
        for blob_id, text in texts:
            if not builder.has_room(len(text)):
                self._finish(builder, delta=delta, late=late)
                builder = ShardBuilder(finder)
            self.known.places[blob_id] = (len(self.known.shards), builder.add(blob_id, text))
        if builder.documents:
            self._finish(builder, delta=delta, late=late)

    def _finish(self, builder: ShardBuilder, *, delta: bool, late: bool) -> None:
        self._order.stop()
        name = builder.write(self._folder)
        shard = Shard(self._folder / name)
        shard.file.verify(self._order.stop)
        self._take_room(shard.file.size)
        self.known.shards.append(ShardEntry(name, shard.documents, shard.text_bytes, delta, late))

    def _take_room(self, size: int) -> None:
        if self._room is not None:
            self._room -= size
            if self._room < 0:
                raise IndexWriteFailed(str(self._folder), "the limit set for the index (max_bytes) is reached")

    def write_view(self, paths: list[bytes], ids: list[bytes]) -> tuple[ViewEntry, set[str]]:
        """Write the view of the commit, all of whose blobs are known by now; give it and the shards it uses."""
        known = self.known
        files = len(paths)
        shard = np.full(files, NO_SHARD, dtype=np.uint16)
        document = np.zeros(files, dtype=np.uint32)
        reason = np.zeros(files, dtype=np.uint8)
        size = np.zeros(files, dtype=np.int64)
        sizes = [Shard(self._folder / entry.name).doc_size for entry in known.shards]
        for number, blob_id in enumerate(ids):
            place = known.places.get(blob_id)
            if place is None and blob_id in known.loose:
                shard[number] = len(known.shards)
                document[number], size[number] = known.loose[blob_id]
            elif place is None:
                reason[number], size[number] = known.reasons[blob_id]
            else:
                shard[number], document[number] = place
                size[number] = sizes[place[0]][place[1]]
        used = np.unique(shard[shard != NO_SHARD])
        renumbered = np.full(NO_SHARD + 1, NO_SHARD, dtype=np.uint16)
        renumbered[used] = np.arange(len(used))
        loose = loose_name(known.loose) if known.loose else ""
        every = [*(entry.name for entry in known.shards), loose]
        names = [every[number] for number in used.tolist()]
        language, languages = _languages(paths)
        content = ViewContent(
            commit=self._order.commit,
            paths=paths,
            blob_ids=b"".join(ids),
            shards=names,
            shard=renumbered[shard],
            document=document,
            reason=reason,
            size=size,
            language=language,
            languages=languages,
        )
        name = write_view(self._folder, content)
        self._take_room((self._folder / name).stat().st_size)
        text_bytes = int(size[reason == 0].sum())
        return ViewEntry(name, self._order.commit, self._order.revision, files, text_bytes, loose), set(names)


def _chain(*parts: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    for part in parts:
        yield from part


def _languages(paths: list[bytes]) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint16]], list[tuple[str, list[str]]]]:
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}
    by_name: dict[bytes, int] = {}
    whole_names = {name.lower().encode() for one in LANGUAGES.values() for name in one.filenames}
    codes = np.zeros(len(paths), dtype=np.uint16)
    for at, path in enumerate(paths):
        # A language is told by a file's whole name or by its endings, and endings repeat.
        name = path[path.rfind(b"/") + 1 :]
        if name.lower() not in whole_names:
            name = name[max(name.find(b"."), 0) :]
        code = by_name.get(name)
        if code is None:
            shown = name.decode(errors="replace")
            known = (language_of(shown), tuple(languages_of_path(shown)))
            code = by_name[name] = numbers.setdefault(known, len(numbers))
        codes[at] = code
    return codes, [(name, list(names)) for name, names in numbers]
