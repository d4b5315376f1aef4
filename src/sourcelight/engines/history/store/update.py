"""Update the history of one repository: new commits become a segment, then the manifest is replaced.

Every step before the last one only adds files, so that a crash leaves the history as it was. New commits are those that
the refs reach and the stored history does not. Segments are merged when there are many, and unreachable commits are
dropped when they take much of the rows; a change of git's major version, of the options, or of the border of a shallow
clone builds everything again. People are mapped after that, because their numbers depend on the segments, and then the
new manifest replaces the old one.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray
from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, RepositoryError
from sourcelight.engines.history.git import SETTINGS
from sourcelight.engines.history.history import History
from sourcelight.engines.history.segment import open_segment
from sourcelight.engines.history.store import compaction
from sourcelight.engines.history.store.allowance import AllowanceUse, Cost, allowance_of
from sourcelight.engines.history.store.change_reader import ChangeReader, segment_arrays, segment_counts
from sourcelight.engines.history.store.commit_log import read_commits
from sourcelight.engines.history.store.extraction import PATCHES
from sourcelight.engines.history.store.folder import HistoryFolder, HistoryManifest, SegmentEntry, open_history
from sourcelight.engines.history.store.identities import map_identities, merge_identities
from sourcelight.engines.storage.folder import temporary_path
from sourcelight.engines.storage.sections import write_sections
from sourcelight.repos import Repository, matching_refs, resolve
from sourcelight.repos.git.command import git_version
from sourcelight.repos.handles import mailmap_blob
from sourcelight.repos.private_files import make_private_folder
from sourcelight.repos.repository import common_dir

MAX_PINS = 16
"""Maximum number of commits, requested by id, that stay in the history although no ref reaches them."""

# A commit.
_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(slots=True)
class HistoryUpdate:
    """An update of one repository, run while its lock is held.

    Attributes
    ----------
    on_progress
        Called with commits done and commits in all.
    """

    repository: Repository
    folder: HistoryFolder
    refs: Sequence[str]
    workers: int
    cancellation: Cancellation
    on_progress: Callable[[int, int], None]
    added: int = 0
    manifest: HistoryManifest = field(default_factory=HistoryManifest)

    def run(self) -> bool:
        """Update the history; return whether there were new commits.

        Raises `GitFailed`, `RepositoryError`, `SearchIndexError` and `Cancelled`; the old history then stays as it is.
        """
        # Steps before replace_manifest() only add files: a crash or an error in any of them leaves the old history
        # intact.
        new_manifest = HistoryManifest(self.repository.name, patch_settings(), shallow_borders(self.repository.git_dir))
        manifest, history = self._previous(new_manifest)

        # Resolved once: the next update reads a ref that moves during this one.
        tips = self._tips(manifest)
        missing = sorted({oid for oid in tips.values() if history.position(oid) is None})
        mailmap = mailmap_blob(self.repository.git_dir)
        updated = replace(manifest, repository=self.repository.name, tips=tips)

        # The usual case after a search: without a write, other processes don't have to open the files again.
        if not missing and updated == manifest and mailmap == manifest.mailmap:
            self.manifest = manifest
            return False

        if missing:
            updated = self._extend(updated, history, missing)

        updated = self._compact(updated)
        updated = self._map_people(updated, mailmap, manifest)
        self.folder.replace_manifest(updated)

        # Only after the new manifest: until then, readers open these files by the old one.
        self.folder.discard_unneeded()
        self.manifest = updated
        return bool(missing)

    def _previous(self, new_manifest: HistoryManifest) -> tuple[HistoryManifest, History]:
        """Return the stored manifest and history, or empty ones when they can't be used."""
        try:
            manifest = self.folder.manifest()
            # Another major version of git or other options give other diffs; a deepened clone has other parents.
            # Segments can't be mixed then, so all are built again.
            if manifest is not None and _has_same_form(manifest, new_manifest):
                history = open_history(self.folder.path, manifest)
                for segment in history.segments:
                    # New commits are numbered after the old ones, so a damaged segment would damage the new one too.
                    segment.file.verify()
                return manifest, history
        except (IndexDamaged, FileNotFoundError):
            pass

        self.folder.discard_unneeded()
        return new_manifest, open_history(self.folder.path, new_manifest)

    def _tips(self, manifest: HistoryManifest) -> dict[str, CommitId]:
        # A ref that was requested once stays: every update adds its new commits.
        patterns = [*manifest.tips, *self.refs]
        tips = {"HEAD": resolve(self.repository, "")} if "HEAD" in patterns else {}
        ref_patterns = [pattern for pattern in patterns if pattern.startswith("refs/")]
        if ref_patterns:
            # `fnmatch`, as `git for-each-ref` matches patterns of a whole name.
            globs = re.compile("|".join(fnmatch.translate(pattern) for pattern in ref_patterns))
            tips |= matching_refs(self.repository, lambda name: globs.match(name) is not None, self.cancellation)

        # Requested pins come first, so old ones are dropped when there are more than MAX_PINS.
        pins = [oid for oid in dict.fromkeys([*self.refs, *manifest.tips]) if _OID.fullmatch(oid)]
        for oid in pins[:MAX_PINS]:
            try:
                tips[oid] = resolve(self.repository, oid)
            except RepositoryError:
                continue

        return tips

    def _extend(self, manifest: HistoryManifest, history: History, missing: Sequence[str]) -> HistoryManifest:
        # `^tip` lets git stop at stored commits, so the walk visits only new ones.
        known_tips = [oid for oid in dict.fromkeys(history.tips.values()) if history.position(oid) is not None]
        first = history.bases.commits[-1]
        new_commits = read_commits(
            self.repository.git_dir, missing, known_tips, history.position, first, self.cancellation
        )
        self.added = len(new_commits.oids)
        if not new_commits.oids:
            return manifest

        allowance = allowance_of(self.repository.git_dir)
        # In the history's directory, where the next builder deletes files that a killed one left.
        scratch = temporary_path(self.folder.path)
        make_private_folder(scratch)

        try:
            # The allowance is for the whole history. The sizes of earlier patches aren't stored, so they are estimated
            # from files and lines.
            spent = Cost(history.bases.changes[-1], history.bases.rows[-1])
            account = AllowanceUse(allowance, spent)
            # Merges have no changes in the history, as in `git log -p`, so git isn't asked about them.
            numbers = [number for number in range(self.added) if number not in new_commits.merges]
            done = len(new_commits.merges)
            self.on_progress(done, self.added)
            reader = ChangeReader(self.repository.git_dir, new_commits, scratch, self.workers, self.cancellation)
            parts, unread = reader.read(numbers, account, lambda read: self.on_progress(done + read, self.added))
            arrays = segment_arrays(new_commits, parts, unread)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

        entry = self._write(arrays)
        return replace(manifest, segments=(*manifest.segments, entry), unread=manifest.unread + len(unread))

    def _write(self, arrays: dict[str, AnyArray]) -> SegmentEntry:
        counts = segment_counts(arrays)
        # A random name, because two updates after a crash may write different contents for the same commits.
        name = f"segment-{os.urandom(12).hex()}"
        write_sections(self.folder.path, "history", counts, arrays, name=name)
        size = (self.folder.path / name).stat().st_size
        return SegmentEntry(name, counts["commits"], counts["rows"], size)

    def _compact(self, manifest: HistoryManifest) -> HistoryManifest:
        if len(manifest.segments) < 2 and not self._lost_refs(manifest):
            return manifest

        history = open_history(self.folder.path, manifest)
        keep = reachable_from_all(history)
        rows = [segment.rows for segment in history.segments]
        # The first segment to merge; as many as there are: none.
        first = len(rows)
        if len(rows) > compaction.MAX_SEGMENTS:
            first = compaction.first_segment_to_merge(rows)

        # Renumbering commits rewrites parents in all segments, so only a full merge drops unreachable commits.
        if not keep.all():
            changes = history.changes
            unreachable_rows = np.diff(changes.row_starts)[~keep[changes.commit]].sum()
            if unreachable_rows > compaction.MAX_UNREACHABLE_FRACTION * sum(rows):
                first = 0

        if first == len(rows):
            return manifest

        if first > 0:
            entry = self._write(compaction.merge_segments(history, first, np.ones_like(keep)))
            return replace(manifest, segments=(*manifest.segments[:first], entry))

        entry = self._write(compaction.merge_segments(history, first, keep))
        return replace(manifest, segments=(entry,), unread=int(history.commits.unread[keep].sum()))

    def _lost_refs(self, manifest: HistoryManifest) -> bool:
        """Return whether a tip has disappeared, so that a single segment may hold unreachable commits."""
        # The manifest on disk is still the one before this update.
        previous = self.folder.manifest()
        return previous is not None and not set(previous.tips.values()) <= set(manifest.tips.values())

    def _map_people(self, manifest: HistoryManifest, mailmap: str, previous: HistoryManifest) -> HistoryManifest:
        if manifest.segments == previous.segments and mailmap == previous.mailmap:
            return manifest

        # Numbers of people depend on the order of segments, so a change of segments rewrites the file.
        segments = [open_segment(self.folder.path / entry.name) for entry in manifest.segments]
        identities, _ = merge_identities(segments)
        if not mailmap:
            return replace(manifest, people="", mailmap="")

        mapped = map_identities(self.repository.git_dir, mailmap, identities, self.cancellation)
        # A new name for each version: a reader may have the old file mapped.
        name = f"people-{os.urandom(12).hex()}"
        raw = np.frombuffer(b"".join(item + b"\n" for item in mapped), np.uint8)
        write_sections(self.folder.path, "history", {}, {"people": raw}, name=name)
        return replace(manifest, people=name, mailmap=mailmap)


def _has_same_form(manifest: HistoryManifest, other: HistoryManifest) -> bool:
    """Return whether the segments of two manifests come from the same form of patches and the same border."""
    return manifest.made_with == other.made_with and manifest.borders == other.borders


def reachable_from_all(history: History) -> BoolArray:
    """Return a mask of the commits that are reachable from any tip."""
    reachable = np.zeros(history.bases.commits[-1], np.bool_)
    for oid in dict.fromkeys(history.tips.values()):
        position = history.position(oid)
        if position is not None and not reachable[position]:
            reachable |= history.reachable(oid)
    return reachable


@cache
def patch_settings() -> str:
    """Return a text that changes with the form of patches: git's major version and a hash of the options."""
    options = hashlib.sha256("\0".join([*SETTINGS, *PATCHES]).encode()).hexdigest()[:16]
    return f"git {git_version()[0]} {options}"


def shallow_borders(git_dir: str) -> str:
    """Return a hash of a shallow clone's border and of grafts (replaced parents); empty for a clone without them."""
    git_common_dir = Path(common_dir(git_dir))
    contents = []
    for name in ("shallow", "info/grafts"):
        with contextlib.suppress(FileNotFoundError):
            contents.append((git_common_dir / name).read_bytes())
    return hashlib.sha256(b"\0".join(contents)).hexdigest() if contents else ""
