"""The views of revisions as a store opens them: loose documents read from git, use noted, old ones dropped."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from sourcelight.core.errors import IndexDamaged, IndexFault
from sourcelight.engines.search.index.build import recent_views
from sourcelight.engines.search.index.folder import RepositoryFolder
from sourcelight.engines.search.index.loose import LooseShard, is_loose
from sourcelight.engines.search.index.view import View
from sourcelight.engines.search.scan.snapshot import Snapshot
from sourcelight.repos import ObjectReader, Repository

_USED_AGAIN_S = 60


def mark_used(view: Path) -> None:
    """Let a view's time of change say when it was used; a folder that can't be written does without."""
    with contextlib.suppress(OSError):
        if time.time() - view.stat().st_mtime > _USED_AGAIN_S:
            os.utime(view)


def read_loose(repository: Repository, view: View) -> LooseShard:
    """Read the documents of a view that no file of the index holds; raises `IndexFault` when git has one no more."""
    number = next(at for at, name in enumerate(view.shards) if is_loose(name))
    ids, documents = view.blob_ids(), view.document
    wanted: dict[int, bytes] = {}
    for file in np.flatnonzero(view.shard == number).tolist():
        wanted.setdefault(int(documents[file]), ids[file])
    with ObjectReader(repository) as reader:
        texts = list(reader.blobs(wanted[document] for document in sorted(wanted)))
    found = [(blob_id, text) for blob_id, text in texts if text is not None]
    if len(found) < len(texts):
        raise IndexFault(str(view.file.path), "a file of this revision is gone from the repository")
    return LooseShard(view.shards[number], found)


def loose_bytes(snapshot: Snapshot) -> int:
    """Bytes of text that an open revision holds in memory."""
    return sum(shard.text_bytes for shard in snapshot.shards if isinstance(shard, LooseShard))


def drop_old_views(folder: RepositoryFolder) -> None:
    """Forget the views beyond the number that is kept; raises `IndexWriteFailed`."""
    try:
        manifest = folder.manifest()
        views = recent_views(folder.path, list(manifest.views))
        if len(views) == len(manifest.views):
            return
        used = {name for entry in views for name in View(folder.path / entry.name).shards}
    except (IndexDamaged, FileNotFoundError):
        return
    shards = tuple(shard for shard in manifest.shards if shard.name in used)
    folder.replace_manifest(replace(manifest, views=tuple(views), shards=shards))
