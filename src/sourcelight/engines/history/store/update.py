"""Bringing one repository's history up to date: what is new is read into a segment, then the manifest is swapped."""

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

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, RepositoryError, SearchIndexError
from sourcelight.engines.history.git import SETTINGS
from sourcelight.engines.history.history import History, Mask
from sourcelight.engines.history.segment import Segment
from sourcelight.engines.history.store import compaction
from sourcelight.engines.history.store.allowance import EFFORT, AllowanceUse, Cost, allowance_of
from sourcelight.engines.history.store.commit_log import (
    NewCommits,
    mapped_identities,
    open_history,
    read_commits,
    united_people,
)
from sourcelight.engines.history.store.compaction import merged_changes, order_of
from sourcelight.engines.history.store.folder import HistoryFolder, HistoryManifest, SegmentEntry
from sourcelight.engines.history.store.worker import MODULE, PATCHES, ExtractionRequest, carry_out
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.sections import Array, SectionFile, write_sections
from sourcelight.repos import Repository, matching_refs, resolve
from sourcelight.repos.git_command import git_version
from sourcelight.repos.handles import mailmap_blob
from sourcelight.repos.private_files import make_private_folder
from sourcelight.repos.repository import common_dir

CHUNK = 1000
"""Commits that a worker is told at once."""

FEW = 300
"""Commits that are read in this process: starting others would take longer."""

MOST_PINS = 16
"""Commits that are kept besides those that refs lead to, for who asked for them by name."""

_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(slots=True)
class HistoryUpdate:
    """One repository's update, made with its lock held.

    Attributes
    ----------
    tell
        Called with commits done and commits in all.
    """

    repository: Repository
    folder: HistoryFolder
    refs: Sequence[str]
    workers: int
    stop: Cancellation
    tell: Callable[[int, int], None]
    added: int = 0
    manifest: HistoryManifest = field(default_factory=HistoryManifest)

    def run(self) -> bool:
        """Do it; True when there was something to do.

        Raises `GitFailed`, `RepositoryError`, `SearchIndexError` and `Cancelled`; what was there before then still is.
        """
        fresh = HistoryManifest(self.repository.name, made_with(), borders_of(self.repository.git_dir))
        manifest, history = self._former(fresh)
        tips = self._tips(manifest)
        missing = sorted({oid for oid in tips.values() if history.position(oid) is None})
        mailmap = mailmap_blob(self.repository.git_dir)
        wanted = replace(manifest, repository=self.repository.name, tips=tips)
        if not missing and wanted == manifest and mailmap == manifest.mailmap:
            self.manifest = manifest
            return False
        if missing:
            wanted = self._extended(wanted, history, missing)
        wanted = self._compacted(wanted)
        wanted = self._with_people(wanted, mailmap, manifest)
        self.folder.replace_manifest(wanted)
        self.folder.discard_unneeded()
        self.manifest = wanted
        return bool(missing)

    def _former(self, fresh: HistoryManifest) -> tuple[HistoryManifest, History]:
        """What is there already, as far as it can be used."""
        try:
            found = self.folder.manifest()
            if found is not None and (found.made_with, found.borders) == (fresh.made_with, fresh.borders):
                history = open_history(self.folder.path, found)
                for segment in history.segments:
                    segment.file.verify()
                return found, history
        except (IndexDamaged, FileNotFoundError):
            pass
        self.folder.discard_unneeded()
        return fresh, open_history(self.folder.path, fresh)

    def _tips(self, manifest: HistoryManifest) -> dict[str, str]:
        patterns = [*manifest.tips, *self.refs]
        tips = {"HEAD": resolve(self.repository, "")} if "HEAD" in patterns else {}
        named = [pattern for pattern in patterns if pattern.startswith("refs/")]
        if named:
            globs = re.compile("|".join(fnmatch.translate(pattern) for pattern in named))
            tips |= matching_refs(self.repository, lambda name: globs.match(name) is not None)
        pins = [oid for oid in dict.fromkeys([*self.refs, *manifest.tips]) if _OID.fullmatch(oid)]
        for oid in pins[:MOST_PINS]:
            try:
                tips[oid] = resolve(self.repository, oid)
            except RepositoryError:
                continue
        return tips

    def _extended(self, manifest: HistoryManifest, history: History, missing: Sequence[str]) -> HistoryManifest:
        known = [oid for oid in dict.fromkeys(history.tips.values()) if history.position(oid) is not None]
        first = history.bases.commits[-1]
        new = read_commits(self.repository.git_dir, missing, known, history.position, first, self.stop)
        self.added = len(new.oids)
        if not new.oids:
            return manifest
        allowance = allowance_of(self.repository.git_dir)
        scratch = self.folder.path / f"tmp-{os.getpid()}-{os.urandom(6).hex()}"
        make_private_folder(scratch)
        try:
            spent = Cost(history.bases.changes[-1], history.bases.rows[-1])
            parts, unread = self._read(new, scratch, AllowanceUse(allowance, spent))
            arrays = segment_arrays(new, parts, unread)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        entry = self._write(arrays)
        return replace(manifest, segments=(*manifest.segments, entry), unread=manifest.unread + len(unread))

    def _read(self, new: NewCommits, scratch: Path, account: AllowanceUse) -> tuple[list[SectionFile], list[int]]:
        """Have the changes of the new commits read; parts in order, and the commits that could not be read.

        In that order the account pays for them, so that it does not matter who was first.
        """
        singles = [at for at in range(len(new.oids)) if at not in new.merges]
        orders = []
        # Few commits a chunk, so that all workers have some to the end.
        size = max(50, min(CHUNK, len(singles) // (8 * self.workers)))
        for low in range(0, len(singles), size):
            numbers = singles[low : low + size]
            oids = tuple(new.oids[at].decode() for at in numbers)
            effort = EFFORT * account.allowance.bytes
            orders.append(
                ExtractionRequest(
                    self.repository.git_dir, str(scratch), numbers[0], tuple(numbers), oids, account.allowance, effort
                )
            )
        found: dict[int, list[str]] = {}
        unread: list[int] = []
        done = len(new.merges)
        self.tell(done, len(new.oids))

        def keep(order: ExtractionRequest, files: list[str], failed: list[int]) -> None:
            nonlocal done
            found[order.first] = files
            unread.extend(failed)
            done += len(order.oids)
            self.tell(done, len(new.oids))

        if len(singles) <= FEW:
            for order in orders:
                keep(order, *carry_out(order, self.stop))
        else:
            self._by_workers(orders, keep)
        parts = []
        for part in (SectionFile(Path(name), "history") for first in sorted(found) for name in found[first]):
            if account.take(Cost(part.facts["files"], part.facts["lines"], part.facts["bytes"])):
                parts.append(part)
            else:
                unread += np.unique(part.array("commit")).tolist()
        return parts, sorted(set(unread))

    def _by_workers(
        self, orders: Sequence[ExtractionRequest], keep: Callable[[ExtractionRequest, list[str], list[int]], None]
    ) -> None:
        """Have the orders carried out in processes; raises `SearchIndexError` when one can't be, and `Cancelled`."""
        by_key = {str(order.first): order for order in orders}

        def told(key: str, event: Mapping[str, Any]) -> None:
            if event["event"] == "failed":
                raise SearchIndexError(by_key[key].folder, event["reason"])
            keep(by_key[key], event["files"], event["unread"])

        def stopped() -> bool:
            self.stop.check()
            return False

        jobs = [worker_pool.WorkerJob(key, order.line(), _identity(order)) for key, order in by_key.items()]
        worker_pool.run(MODULE, jobs, self.workers, told, stopped, done="read")

    def _write(self, arrays: Mapping[str, Array]) -> SegmentEntry:
        counts = {
            "commits": len(arrays["author"]),
            "changes": len(arrays["status"]),
            "rows": len(arrays["rows"]),
            "blocks": len(arrays["block_row"]),
        }
        name = f"segment-{os.urandom(12).hex()}"
        write_sections(self.folder.path, "history", counts, arrays, name=name)
        size = (self.folder.path / name).stat().st_size
        return SegmentEntry(name, counts["commits"], counts["rows"], size)

    def _compacted(self, manifest: HistoryManifest) -> HistoryManifest:
        if len(manifest.segments) < 2 and not self._lost_refs(manifest):
            return manifest
        history = open_history(self.folder.path, manifest)
        keep = reachable_from_all(history)
        rows = np.array([segment.rows for segment in history.segments])
        first = compaction.first_to_merge(rows.tolist()) if len(rows) > compaction.MOST_SEGMENTS else len(rows)
        if not keep.all():
            changes = history.changes
            lost = np.diff(changes.row_starts)[~keep[changes.commit]].sum()
            if lost > compaction.MOST_UNREACHABLE * rows.sum():
                first = 0
        if first == len(rows):
            return manifest
        dropping = first == 0
        entry = self._write(compaction.merged(history, first, keep if dropping else np.ones_like(keep)))
        compacted = replace(manifest, segments=(*manifest.segments[:first], entry))
        return replace(compacted, unread=int(history.commits.unread[keep].sum())) if dropping else compacted

    def _lost_refs(self, manifest: HistoryManifest) -> bool:
        """Whether a single segment may hold commits that no ref leads to."""
        former = self.folder.manifest()
        return former is not None and not set(former.tips.values()) <= set(manifest.tips.values())

    def _with_people(self, manifest: HistoryManifest, mailmap: str, former: HistoryManifest) -> HistoryManifest:
        if manifest.segments == former.segments and mailmap == former.mailmap:
            return manifest
        people, _ = united_people([Segment(self.folder.path / entry.name) for entry in manifest.segments])
        if not mailmap:
            return replace(manifest, people="", mailmap="")
        mapped = mapped_identities(self.repository.git_dir, mailmap, people, self.stop)
        name = f"people-{os.urandom(12).hex()}"
        raw = np.frombuffer(b"".join(item + b"\n" for item in mapped), np.uint8)
        write_sections(self.folder.path, "history", {}, {"people": raw}, name=name)
        return replace(manifest, people=name, mailmap=mailmap)


def segment_arrays(new: NewCommits, parts: Sequence[SectionFile], unread: Sequence[int]) -> dict[str, Array]:
    """Arrays of a segment from its commits and the parts that hold their changes."""
    failed = np.zeros(len(new.oids), np.uint8)
    failed[list(unread)] = 1
    return {
        **new.arrays,
        "unread": failed,
        **order_of(new.arrays["oid"]),
        **merged_changes([{name: part.array(name) for name in part.names()} for part in parts], len(new.oids)),
    }


def reachable_from_all(history: History) -> Mask:
    """Tell for each commit whether a tip has it behind it."""
    found = np.zeros(history.bases.commits[-1], np.bool_)
    for oid in dict.fromkeys(history.tips.values()):
        at = history.position(oid)
        if at is not None and not found[at]:
            found |= history.reachable(oid)
    return found


@cache
def made_with() -> str:
    """Name what decides how patches look: options, and the first number of git's version."""
    options = hashlib.sha256("\0".join([*SETTINGS, *PATCHES]).encode()).hexdigest()[:16]
    return f"git {git_version()[0]} {options}"


def borders_of(git_dir: str) -> str:
    """Tell the border of a shallow clone, and parents that git was told of in place of those of commits.

    Empty for a clone that has none.
    """
    shared = Path(common_dir(git_dir))
    found = []
    for name in ("shallow", "info/grafts"):
        with contextlib.suppress(FileNotFoundError):
            found.append((shared / name).read_bytes())
    return hashlib.sha256(b"\0".join(found)).hexdigest() if found else ""


def _identity(order: ExtractionRequest) -> str:
    return f"history {hashlib.sha256(repr((order.git_dir, order.oids)).encode()).hexdigest()}"
