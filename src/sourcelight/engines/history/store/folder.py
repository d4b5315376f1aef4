"""The folder of one repository's history: its manifest, its lock, and deletion of files that no manifest names.

The manifest names every file of the history. It is replaced atomically, so a reader sees the old history or the new
one, even when the builder is killed. The next builder deletes files that are no longer named; open ones stay readable.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.storage.folder import lock_file, manifest_bytes, read_manifest, write_failed
from sourcelight.repos.private_files import make_private_folder, open_private

FORMAT = 3
"""Raised by one whenever older files can't be read by this code, or would be filled otherwise."""

MANIFEST = "manifest.json"
LOCK = "lock"
OWNERSHIP = "own-"
"""Prefix of files with the line ownership of a commit; the commit's id follows."""


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment that the manifest lists: its file, its size in commits and rows, and its bytes on disk."""

    name: str
    commits: int
    rows: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class HistoryManifest:
    """The files of a history, and the sources they were made from.

    Attributes
    ----------
    repository
        Its name when it was built.
    made_with
        Version of git and options that decide what a patch looks like.
    borders
        What tells a shallow clone's border, or a file of grafts, from another one; empty for a clone without them.
    tips
        Refs, or pinned commits (by their own name), and the commit of each.
    segments
        In the order of their commits.
    people
        File of the identities as mailmap maps them; `mailmap` is the blob.
    unread
        Commits whose changes could not be read.
    """

    repository: str = ""
    made_with: str = ""
    borders: str = ""
    tips: Mapping[str, str] = field(default_factory=dict)
    segments: tuple[SegmentEntry, ...] = ()
    people: str = ""
    mailmap: str = ""
    unread: int = 0
    format: int = FORMAT

    @property
    def names(self) -> set[str]:
        """Names of all files that the manifest lists."""
        return {segment.name for segment in self.segments} | ({self.people} if self.people else set())

    @property
    def commits(self) -> int:
        """Number of commits in all segments."""
        return sum(segment.commits for segment in self.segments)


def _parse(path: Path) -> HistoryManifest:
    raw: dict[str, Any] = read_manifest(path)
    try:
        if raw["format"] != FORMAT:
            raise IndexDamaged(str(path), f"format {raw['format']}, this version reads {FORMAT}")
        segments = tuple(SegmentEntry(**entry) for entry in raw.pop("segments"))
        return replace(HistoryManifest(**raw), segments=segments)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexDamaged(str(path), f"the manifest can't be read ({error})") from error


@dataclass(frozen=True, slots=True)
class HistoryFolder:
    """The folder of one repository's history."""

    path: Path

    def stamp(self) -> tuple[int, int, int] | None:
        """Return a value that changes with every new manifest; None without a manifest."""
        try:
            info = (self.path / MANIFEST).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        # The inode alone isn't enough, as file systems reuse it; the time alone isn't where clocks are coarse.
        return info.st_ino, info.st_mtime_ns, info.st_size

    def manifest(self) -> HistoryManifest | None:
        """Read the manifest; None without one. Raises `IndexDamaged`."""
        file = self.path / MANIFEST
        try:
            return _parse(file)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def replace_manifest(self, manifest: HistoryManifest) -> None:
        """Replace the manifest atomically; raises `IndexWriteFailed`."""
        temporary = self.path / f"tmp-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            with open_private(temporary, "xb") as file:
                file.write(manifest_bytes(asdict(manifest)))
                file.flush()
                os.fsync(file.fileno())
            # The names of new segments must be on disk before the manifest that lists them.
            self._sync()
            temporary.replace(self.path / MANIFEST)
            self._sync()
        except OSError as error:
            raise write_failed(self.path, error, "history") from error
        finally:
            temporary.unlink(missing_ok=True)

    def _sync(self) -> None:
        """Sync the directory, so that the names of files are on disk too; Windows does so by itself."""
        if os.name == "nt":
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def discard_unneeded(self) -> None:
        """Delete all files that the manifest doesn't list, also those of dead builders; call it with the lock held."""
        try:
            manifest = self.manifest()
        except IndexDamaged:
            # Without a readable manifest no file can be trusted, so all of them go.
            manifest = None
        needed = {MANIFEST, LOCK}
        if manifest is not None:
            needed |= manifest.names | {f"{OWNERSHIP}{oid}" for oid in manifest.tips.values()}
            # The next replay goes on from the newest.
            by_age = [(file.stat().st_mtime_ns, file.name) for file in self.path.glob(f"{OWNERSHIP}*")]
            needed |= {name for _, name in sorted(by_age)[-1:]}
        for file in self.path.iterdir():
            if file.name in needed:
                continue
            with contextlib.suppress(OSError):
                # Windows refuses to delete a file that a reader has mapped; the next builder tries again.
                if file.is_dir():
                    shutil.rmtree(file)
                else:
                    file.unlink()

    def disk_bytes(self) -> int:
        """Return the bytes that the folder takes on disk."""
        total = 0
        with contextlib.suppress(OSError):
            for file in self.path.iterdir():
                with contextlib.suppress(OSError):
                    total += file.stat().st_size
        return total

    @contextlib.contextmanager
    def lock(self, stop: Callable[[], None]) -> Iterator[None]:
        """Hold the history's lock, which dies with its process; `stop` is called while waiting and may raise."""
        try:
            make_private_folder(self.path)
            # The lock file is never deleted: a second builder could lock a new file beside the old one.
            file = open_private(self.path / LOCK, "a+b")
        except OSError as error:
            raise write_failed(self.path, error, "history") from error
        with file, lock_file(file, stop):
            yield
