"""Parts of opening indexes that need no lock of the store: views, loose documents, damage, and checked manifests.

`IndexStore` keeps the state; what is here takes it as arguments.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sourcelight.core.errors import IndexDamaged, SearchIndexError
from sourcelight.engines.search import searcher
from sourcelight.engines.search.index.build import recent_views
from sourcelight.engines.search.index.folder import IndexFolder
from sourcelight.engines.search.index.shard import LooseShard, is_loose
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import SearchPart, Target
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.repos import ObjectReader, Repository

_MARK_INTERVAL_S = 60


def mark_used(view: Path) -> None:
    """Set the mtime of a view to now, the time of its last use; a read-only folder is left as it is."""
    with contextlib.suppress(OSError):
        if time.time() - view.stat().st_mtime > _MARK_INTERVAL_S:
            os.utime(view)


def open_loose(repository: Repository, view: CommitView) -> LooseShard:
    """Read the loose documents of a view from git; raises `SearchIndexError` when git lacks one."""
    number = next(index for index, name in enumerate(view.shards) if is_loose(name))
    ids, documents = view.blob_ids(), view.document
    blob_by_document: dict[int, bytes] = {}
    for file in np.flatnonzero(view.shard == number).tolist():
        blob_by_document.setdefault(int(documents[file]), ids[file])
    with ObjectReader(repository) as reader:
        texts = list(reader.blobs(blob_by_document[document] for document in sorted(blob_by_document)))
    contents = [(blob_id, text) for blob_id, text in texts if text is not None]
    if len(contents) < len(texts):
        raise SearchIndexError(str(view.file.path), "a file of this revision is gone from the repository")
    return LooseShard(view.shards[number], contents)


def loose_bytes(snapshot: OpenedCommit) -> int:
    """Return the bytes of text that an opened commit holds in memory."""
    return sum(shard.text_bytes for shard in snapshot.shards if isinstance(shard, LooseShard))


def delete_old_views(folder: IndexFolder) -> None:
    """Delete the views beyond `MAX_VIEWS`; raises `IndexWriteFailed`."""
    try:
        manifest = folder.manifest()
        views = recent_views(folder.path, list(manifest.views))
        if len(views) == len(manifest.views):
            return
        used = {name for entry in views for name in CommitView(folder.path / entry.name).shards}
    except (IndexDamaged, FileNotFoundError):
        return
    shards = tuple(shard for shard in manifest.shards if shard.name in used)
    folder.replace_manifest(replace(manifest, views=tuple(views), shards=shards))


RunSearch = Callable[[Sequence[Target]], Iterator[SearchPart]]


def retry_without_damaged(
    run: RunSearch, targets: Sequence[Target], on_damage: Callable[[IndexDamaged], str]
) -> Iterator[SearchPart]:
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
            key, reason = on_damage(error), error.reason
        else:
            return
        unfinished = [target for target in targets if target.repository.name not in finished]
        damaged = [target for target in unfinished if target.repository.key == key]
        remaining = [target for target in unfinished if target.repository.key != key]
        failed = {target.repository.name: f"its index is damaged ({reason}); ask again" for target in damaged}
        if matched or not damaged:
            failed |= {t.repository.name: "it was searched beside a damaged index; ask again" for t in remaining}
            remaining = []
        yield SearchPart(failed=failed)
        if not remaining:
            return
        targets = remaining


RECHECK_INTERVAL_S = 0.25
"""Seconds for which manifests are not checked again while their repositories are at the same commits."""


@dataclass(slots=True)
class CheckedManifests:
    """The last check of the manifests of a tuple of targets: when, and path, inode, mtime and size of each."""

    targets: tuple[Target, ...] | None = None
    files: list[tuple[str, int, int, int]] = field(default_factory=list)
    target_keys: frozenset[tuple[str, str]] = frozenset()
    checked_s: float = -RECHECK_INTERVAL_S

    @property
    def keys(self) -> set[str]:
        """Keys of the targets' repositories."""
        return {key for key, _ in self.target_keys}

    def covers(self, targets: Sequence[Target]) -> bool:
        """Return whether all of these targets were checked."""
        return self.target_keys.issuperset((target.repository.key, target.commit) for target in targets)


@dataclass(frozen=True, slots=True)
class CheckedTargets:
    """Opened targets, valid while their `manifests` are unchanged; `marked_s` is when their views were marked used."""

    targets: Sequence[Target]
    groups: Sequence[searcher.OpenedTargets]
    manifests: CheckedManifests
    marked_s: float
