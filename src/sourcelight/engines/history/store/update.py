"""Update the history of one repository: new commits become a segment, then the manifest is replaced."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, IndexDamaged, RepositoryError, SearchIndexError
from sourcelight.engines.history.git import SETTINGS
from sourcelight.engines.history.history import History
from sourcelight.engines.history.segment import Segment
from sourcelight.engines.history.store import compaction
from sourcelight.engines.history.store.allowance import EFFORT, AllowanceUse, Cost, allowance_of
from sourcelight.engines.history.store.commit_log import (
    NewCommits,
    map_identities,
    merge_people,
    open_history,
    read_commits,
)
from sourcelight.engines.history.store.compaction import merge_parts, oid_order_section
from sourcelight.engines.history.store.folder import HistoryFolder, HistoryManifest, SegmentEntry
from sourcelight.engines.history.store.worker import MODULE, PATCHES, ExtractionRequest, extract_to_files
from sourcelight.engines.storage.folder import temporary_path
from sourcelight.engines.storage.index_update import BuildCallbacks, Event, LocalBuild, run_jobs
from sourcelight.engines.storage.sections import SectionFile, write_sections
from sourcelight.engines.storage.worker_pool import WorkerJob
from sourcelight.repos import Repository, matching_refs, resolve
from sourcelight.repos.git_command import git_version
from sourcelight.repos.handles import mailmap_blob
from sourcelight.repos.private_files import make_private_folder
from sourcelight.repos.repository import common_dir

MAX_REQUEST_COMMITS = 1000
"""Maximum commits of one request to a worker."""

MAX_LOCAL_COMMITS = 300
"""Commits up to which they are read in this process: starting workers takes longer."""

MAX_PINS = 16
"""Commits, requested by id, that stay in the history although no ref reaches them."""

_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(slots=True)
class HistoryUpdate:
    """One repository's update, made with its lock held.

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
        tips = self._tips(manifest)
        missing = sorted({oid for oid in tips.values() if history.position(oid) is None})
        mailmap = mailmap_blob(self.repository.git_dir)
        updated = replace(manifest, repository=self.repository.name, tips=tips)
        if not missing and updated == manifest and mailmap == manifest.mailmap:
            self.manifest = manifest
            return False
        if missing:
            updated = self._extend(updated, history, missing)
        updated = self._compact(updated)
        updated = self._map_people(updated, mailmap, manifest)
        self.folder.replace_manifest(updated)
        # After the new manifest: until then, the old one lists these files and readers open them.
        self.folder.discard_unneeded()
        self.manifest = updated
        return bool(missing)

    def _previous(self, new_manifest: HistoryManifest) -> tuple[HistoryManifest, History]:
        """Return the stored manifest and history, or empty ones when they can't be used."""
        try:
            manifest = self.folder.manifest()
            # Another major version of git or other options give other diffs, and a deepened clone other parents.
            # Segments can't be mixed then, so all are built again.
            if manifest is not None and (manifest.made_with, manifest.borders) == (
                new_manifest.made_with,
                new_manifest.borders,
            ):
                history = open_history(self.folder.path, manifest)
                for segment in history.segments:
                    # New commits get numbers behind the old ones, so a damaged segment would spoil the new one too.
                    segment.file.verify()
                return manifest, history
        except (IndexDamaged, FileNotFoundError):
            pass
        self.folder.discard_unneeded()
        return new_manifest, open_history(self.folder.path, new_manifest)

    def _tips(self, manifest: HistoryManifest) -> dict[str, str]:
        # A ref that was once asked for stays: its new commits come in with every update.
        patterns = [*manifest.tips, *self.refs]
        tips = {"HEAD": resolve(self.repository, "")} if "HEAD" in patterns else {}
        ref_patterns = [pattern for pattern in patterns if pattern.startswith("refs/")]
        if ref_patterns:
            globs = re.compile("|".join(fnmatch.translate(pattern) for pattern in ref_patterns))
            tips |= matching_refs(self.repository, lambda name: globs.match(name) is not None)
        # Requested pins come first, so old ones are dropped when there are more than MAX_PINS.
        pins = [oid for oid in dict.fromkeys([*self.refs, *manifest.tips]) if _OID.fullmatch(oid)]
        for oid in pins[:MAX_PINS]:
            try:
                tips[oid] = resolve(self.repository, oid)
            except RepositoryError:
                continue
        return tips

    def _extend(self, manifest: HistoryManifest, history: History, missing: Sequence[str]) -> HistoryManifest:
        # `^tip` lets git stop at commits that are stored already: the walk costs only what is new.
        known_tips = [oid for oid in dict.fromkeys(history.tips.values()) if history.position(oid) is not None]
        first = history.bases.commits[-1]
        new_commits = read_commits(
            self.repository.git_dir, missing, known_tips, history.position, first, self.cancellation
        )
        self.added = len(new_commits.oids)
        if not new_commits.oids:
            return manifest
        allowance = allowance_of(self.repository.git_dir)
        # In the history's own folder: the next builder deletes what a killed one leaves there.
        scratch = temporary_path(self.folder.path)
        make_private_folder(scratch)
        try:
            # The allowance is for the whole history. Earlier bytes of patches are not stored, so files and lines stand
            # for them.
            spent = Cost(history.bases.changes[-1], history.bases.rows[-1])
            parts, unread = self._read(new_commits, scratch, AllowanceUse(allowance, spent))
            arrays = segment_arrays(new_commits, parts, unread)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        entry = self._write(arrays)
        return replace(manifest, segments=(*manifest.segments, entry), unread=manifest.unread + len(unread))

    def _read(
        self, new_commits: NewCommits, scratch: Path, account: AllowanceUse
    ) -> tuple[list[SectionFile], list[int]]:
        """Read the changes of the new commits; return parts in order, and the commits that could not be read."""
        # Merges have no changes in the history, as in `git log -p`, so git isn't asked about them.
        single_numbers = [number for number in range(len(new_commits.oids)) if number not in new_commits.merges]
        requests = []
        # Eight requests for each worker, so that all workers are busy to the end; at least 50 commits, as git starts
        # once for each request.
        size = max(50, min(MAX_REQUEST_COMMITS, len(single_numbers) // (8 * self.workers)))
        for start in range(0, len(single_numbers), size):
            numbers = single_numbers[start : start + size]
            oids = tuple(new_commits.oids[number].decode() for number in numbers)
            # All requests share the scratch folder, and with it the file that sums up the effort.
            effort = EFFORT * account.allowance.bytes
            requests.append(
                ExtractionRequest(
                    self.repository.git_dir, str(scratch), numbers[0], tuple(numbers), oids, account.allowance, effort
                )
            )
        files_by_first: dict[int, list[str]] = {}
        unread: list[int] = []
        done = len(new_commits.merges)
        self.on_progress(done, len(new_commits.oids))

        def on_event(job: _ExtractionJob, event: Event) -> None:
            nonlocal done
            if event["event"] == "failed":
                # Nothing of a history that lacks commits is stored; the exception ends the workers too.
                raise SearchIndexError(str(self.folder.path), event["reason"])
            files_by_first[job.request.first] = event["files"]
            unread.extend(event["unread"])
            done += len(job.request.oids)
            self.on_progress(done, len(new_commits.oids))

        is_small = len(single_numbers) <= MAX_LOCAL_COMMITS
        jobs = [_ExtractionJob(request, is_small, self.cancellation) for request in requests]
        if not run_jobs(MODULE, jobs, self.workers, on_event, self.cancellation, done="read"):
            raise Cancelled("stopped on request")
        # Workers finish in any order. Paying in the order of commits makes the result the same in every run.
        parts = []
        for part in (
            SectionFile(Path(name), "history") for first in sorted(files_by_first) for name in files_by_first[first]
        ):
            if account.spend(Cost(part.facts["files"], part.facts["lines"], part.facts["bytes"])):
                parts.append(part)
            else:
                unread += np.unique(part.array("commit")).tolist()
        return parts, sorted(set(unread))

    def _write(self, arrays: Mapping[str, AnyArray]) -> SegmentEntry:
        counts = {
            "commits": len(arrays["author"]),
            "changes": len(arrays["status"]),
            "rows": len(arrays["rows"]),
            "blocks": len(arrays["block_row"]),
        }
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
        rows = np.array([segment.rows for segment in history.segments])
        first = compaction.first_segment_to_merge(rows.tolist()) if len(rows) > compaction.MAX_SEGMENTS else len(rows)
        # Renumbering commits rewrites parents in all segments, so unreachable commits only go in a merge of everything.
        if not keep.all():
            changes = history.changes
            unreachable_rows = np.diff(changes.row_starts)[~keep[changes.commit]].sum()
            if unreachable_rows > compaction.MAX_UNREACHABLE_FRACTION * rows.sum():
                first = 0
        if first == len(rows):
            return manifest
        drops_commits = first == 0
        entry = self._write(compaction.merge_segments(history, first, keep if drops_commits else np.ones_like(keep)))
        compacted = replace(manifest, segments=(*manifest.segments[:first], entry))
        return replace(compacted, unread=int(history.commits.unread[keep].sum())) if drops_commits else compacted

    def _lost_refs(self, manifest: HistoryManifest) -> bool:
        """Return whether a tip is gone, so that a single segment may hold unreachable commits."""
        # The manifest on disk is still the one before this update.
        previous = self.folder.manifest()
        return previous is not None and not set(previous.tips.values()) <= set(manifest.tips.values())

    def _map_people(self, manifest: HistoryManifest, mailmap: str, previous: HistoryManifest) -> HistoryManifest:
        if manifest.segments == previous.segments and mailmap == previous.mailmap:
            return manifest
        # Numbers of people depend on the order of segments, so the file is written again whenever segments change.
        people, _ = merge_people([Segment(self.folder.path / entry.name) for entry in manifest.segments])
        if not mailmap:
            return replace(manifest, people="", mailmap="")
        mapped = map_identities(self.repository.git_dir, mailmap, people, self.cancellation)
        name = f"people-{os.urandom(12).hex()}"
        raw = np.frombuffer(b"".join(item + b"\n" for item in mapped), np.uint8)
        write_sections(self.folder.path, "history", {}, {"people": raw}, name=name)
        return replace(manifest, people=name, mailmap=mailmap)


@dataclass(frozen=True, slots=True)
class _ExtractionJob:
    """The changes of some commits, written to files of the scratch folder."""

    request: ExtractionRequest
    is_small: bool
    cancellation: Cancellation

    def local_build(self) -> LocalBuild | None:
        return self._extract if self.is_small else None

    def _extract(self, _callbacks: BuildCallbacks) -> dict[str, Any]:
        files, unread = extract_to_files(self.request, self.cancellation)
        return {"files": files, "unread": unread}

    def worker_job(self, key: str) -> WorkerJob:
        return WorkerJob(key, self.request.line(), _identity(self.request))


def segment_arrays(new_commits: NewCommits, parts: Sequence[SectionFile], unread: Sequence[int]) -> dict[str, AnyArray]:
    """Return the arrays of a segment from its commits and the parts that hold their changes."""
    is_unread = np.zeros(len(new_commits.oids), np.uint8)
    is_unread[list(unread)] = 1
    return {
        **new_commits.arrays,
        "unread": is_unread,
        **oid_order_section(new_commits.arrays["oid"]),
        **merge_parts([{name: part.array(name) for name in part.names()} for part in parts], len(new_commits.oids)),
    }


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
    shared = Path(common_dir(git_dir))
    contents = []
    for name in ("shallow", "info/grafts"):
        with contextlib.suppress(FileNotFoundError):
            contents.append((shared / name).read_bytes())
    return hashlib.sha256(b"\0".join(contents)).hexdigest() if contents else ""


def _identity(request: ExtractionRequest) -> str:
    return f"history {hashlib.sha256(repr((request.git_dir, request.oids)).encode()).hexdigest()}"
