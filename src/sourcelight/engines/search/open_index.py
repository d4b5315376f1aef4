"""The views of revisions as a store opens them: loose documents read from git, use noted, old ones dropped.

Searching beside a damaged index: its repository is named as failed, and the others are searched without it.

Looks at the manifests of many repositories at once, and the targets that were opened since.
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

_USED_AGAIN_S = 60


def mark_used(view: Path) -> None:
    """Let a view's time of change say when it was used; a folder that can't be written does without."""
    with contextlib.suppress(OSError):
        if time.time() - view.stat().st_mtime > _USED_AGAIN_S:
            os.utime(view)


def read_loose(repository: Repository, view: CommitView) -> LooseShard:
    """Read the documents of a view that no file of the index holds; raises `SearchIndexError` when git lacks one."""
    number = next(at for at, name in enumerate(view.shards) if is_loose(name))
    ids, documents = view.blob_ids(), view.document
    wanted: dict[int, bytes] = {}
    for file in np.flatnonzero(view.shard == number).tolist():
        wanted.setdefault(int(documents[file]), ids[file])
    with ObjectReader(repository) as reader:
        texts = list(reader.blobs(wanted[document] for document in sorted(wanted)))
    found = [(blob_id, text) for blob_id, text in texts if text is not None]
    if len(found) < len(texts):
        raise SearchIndexError(str(view.file.path), "a file of this revision is gone from the repository")
    return LooseShard(view.shards[number], found)


def loose_bytes(snapshot: OpenedCommit) -> int:
    """Bytes of text that an open revision holds in memory."""
    return sum(shard.text_bytes for shard in snapshot.shards if isinstance(shard, LooseShard))


def drop_old_views(folder: IndexFolder) -> None:
    """Forget the views beyond the number that is kept; raises `IndexWriteFailed`."""
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


Run = Callable[[Sequence[Target]], Iterator[SearchPart]]


def without_damaged(run: Run, targets: Sequence[Target], note: Callable[[IndexDamaged], str]) -> Iterator[SearchPart]:
    """Search targets, and those whose index is whole once more where another one turns out to be damaged.

    Parameters
    ----------
    run
        Searches targets; may raise `IndexDamaged` at any point.
    targets
        What to search.
    note
        Takes the fault, so that the index is built anew, and gives the key of its repository.

    Yields
    ------
    SearchPart
        What `run` gives, and the targets that failed. Once matches were given the rest can't be searched again, since
        their rows might come twice: those targets fail as well, and say so.
    """
    while True:
        ended: set[str] = set()
        matched = False
        try:
            for part in run(targets):
                ended.update(part.repositories_done, part.failed)
                matched = matched or bool(part.batches)
                yield part
        except IndexDamaged as fault:
            key, reason = note(fault), fault.reason
        else:
            return
        waiting = [target for target in targets if target.repository.name not in ended]
        damaged = [target for target in waiting if target.repository.key == key]
        others = [target for target in waiting if target.repository.key != key]
        failed = {target.repository.name: f"its index is damaged ({reason}); ask again" for target in damaged}
        if matched or not damaged:
            failed |= {t.repository.name: "it was searched beside a damaged index; ask again" for t in others}
            others = []
        yield SearchPart(failed=failed)
        if not others:
            return
        targets = others


LOOK_S = 0.25
"""Seconds after which manifests are looked at again while their repositories are at the same commits."""


@dataclass(slots=True)
class Looked:
    """When manifests were looked at last, all of the targets' together: each one's file, identity, time and size."""

    of: tuple[Target, ...] | None = None
    files: list[tuple[str, int, int, int]] = field(default_factory=list)
    places: frozenset[tuple[str, str]] = frozenset()
    at: float = -LOOK_S

    @property
    def keys(self) -> set[str]:
        """The folders of the targets."""
        return {key for key, _ in self.places}

    def holds(self, targets: Sequence[Target]) -> bool:
        """Whether all of these are among them."""
        return self.places.issuperset((target.repository.key, target.commit) for target in targets)


@dataclass(frozen=True, slots=True)
class CheckedTargets:
    """Targets as they were opened, since manifests were first `looked` at, and noted as used."""

    targets: Sequence[Target]
    groups: Sequence[searcher.OpenedTargets]
    looked: Looked
    marked: float
