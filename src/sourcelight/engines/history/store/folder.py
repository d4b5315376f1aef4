"""The folder of one repository's history: its manifest, which files it needs, and how they are opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.history.history import History
from sourcelight.engines.history.segment import Segment, open_segment
from sourcelight.engines.history.store.identities import identity_texts, make_identities, merge_identities
from sourcelight.engines.storage.folder import MANIFEST, IndexFolder, Stamp
from sourcelight.engines.storage.sections import SectionFile

FORMAT = 3
"""Raised by one whenever older files can't be read by this code, or would be filled otherwise."""

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
        Identity of a shallow clone's border or a grafts file; empty without either.
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


class HistoryFolder(IndexFolder[HistoryManifest]):
    """The folder of one repository's history."""

    SUBJECT = "history"
    SYNC_NAMES = True  # a large history takes hours to read

    def __init__(self, path: Path) -> None:
        super().__init__(path, _parse)

    def stamp(self) -> Stamp | None:
        """Return a value that changes with every new manifest, or None without a manifest."""
        return self.manifest_file.current_stamp()

    def manifest(self) -> HistoryManifest | None:
        """Read the manifest; return None without one. Raises `IndexDamaged`."""
        return self.manifest_file.read()

    def replace_manifest(self, manifest: HistoryManifest) -> None:
        """Replace the manifest atomically; raises `IndexWriteFailed`."""
        self.replace_file(MANIFEST, asdict(manifest))
        self.manifest_file.forget()

    def discard_unneeded(self) -> None:
        """Delete all files that the manifest doesn't list, also from dead builders; call it with the lock held."""
        try:
            manifest = self.manifest()
        except IndexDamaged:
            # Without a readable manifest no file can be trusted, so all of them go.
            manifest = None

        current_names = set()
        if manifest is not None:
            current_names = manifest.names | {f"{OWNERSHIP}{oid}" for oid in manifest.tips.values()}
            # The next replay continues from the newest.
            by_age = [(file.stat().st_mtime_ns, file.name) for file in self.path.glob(f"{OWNERSHIP}*")]
            current_names |= {name for _, name in sorted(by_age)[-1:]}

        self.delete_except(current_names)


def _parse(path: Path, content: Any) -> HistoryManifest:
    try:
        if content["format"] != FORMAT:
            raise IndexDamaged(str(path), f"format {content['format']}, this version reads {FORMAT}")
        segments = tuple(SegmentEntry(**entry) for entry in content.pop("segments"))
        return replace(HistoryManifest(**content), segments=segments)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexDamaged(str(path), f"the manifest can't be read ({error})") from error


def open_history(
    folder: Path, manifest: HistoryManifest, shallow: str = "", reusable: Sequence[Segment] = ()
) -> History:
    """Open the files of a manifest.

    Parameters
    ----------
    folder, manifest
        The folder and its manifest.
    shallow
        Why the repository has no older commits; empty if it has all.
    reusable
        Segments that are open already. Those that the manifest lists are not opened again.

    Raises
    ------
    IndexDamaged
        A file can't be read.
    FileNotFoundError
        The manifest has been replaced, and its files are deleted.
    """
    open_segments = {segment.file.path.name: segment for segment in reusable}
    segments = []
    for entry in manifest.segments:
        # Segments never change, so an open one is reused by its name: its mapped pages and caches stay.
        segment = open_segments.get(entry.name)
        if segment is None:
            segment = open_segment(folder / entry.name)
        segments.append(segment)

    identities, numbers = merge_identities(segments)
    if manifest.people:
        raw = SectionFile(folder / manifest.people, "history").bytes_of("people")
        # The file has one mapped identity a line, in the order of `identities`: it was written for exactly these
        # segments.
        mapped = bytes(raw).split(b"\n")[:-1]
    else:
        mapped = identity_texts(identities)

    return History(
        repository=manifest.repository,
        tips=dict(manifest.tips),
        segments=tuple(segments),
        identities=make_identities(identities, mapped),
        identity_numbers=numbers,
        mailmap=manifest.mailmap,
        shallow=shallow,
    )
