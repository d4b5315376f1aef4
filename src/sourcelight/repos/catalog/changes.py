"""Whether any repository of a catalog has changed since it was read, for every search: without reading a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from sourcelight.repos.catalog.entries import CatalogEntry
from sourcelight.repos.catalog.settings_files import SettingsFiles
from sourcelight.repos.catalog.watches import MIN_CALM_LOOKS, FileWatch


class ChangeDetector:
    """Compares the files of a catalog with what they were, or asks the kernel. The lock of the catalog guards it."""

    def __init__(self) -> None:
        self._settings: SettingsFiles | None = None
        self._entries: Sequence[CatalogEntry] = ()
        self._folders: Mapping[str, int] = {}
        self._present: list[tuple[str, int, int, int]] = []
        self._absent: list[str] = []
        self._watch: FileWatch | None = None
        self._calm_looks = 0

    def forget(self) -> None:
        """Forget all files: until the next `remember`, any may have changed."""
        self._settings = None
        if self._watch is not None:
            self._watch.stop()

    def remember(self, settings: SettingsFiles, entries: Sequence[CatalogEntry], folders: Mapping[str, int]) -> None:
        """Record the files of a catalog that was just found unchanged, unless one of them changes right now."""
        stamps, is_racy = settings.stamp
        # A file changed in the same clock tick as its stamp was taken may change again with the same stamp
        # (git's technical note racy-git).
        if is_racy:
            return

        stamped = [*zip(settings.paths, stamps, strict=True)]
        for entry in entries:
            if not entry.is_stable:
                return
            stamped += zip(entry.commit_files, entry.commit_stamp or (), strict=True)

        self._settings, self._entries, self._folders = settings, entries, folders
        self._present = [(file, *stamp) for file, stamp in stamped if stamp is not None]
        self._absent = [file for file, stamp in stamped if stamp is None]

    @property
    def is_quiet(self) -> bool:
        """Whether the kernel watches all files, and none has changed."""
        return self._watch is not None and self._watch.is_quiet

    def has_same_commits(self) -> bool:
        """Return whether no ref and no settings have changed; False also if that isn't known."""
        if self._settings is None:
            return False

        look = os.stat
        try:
            for file, modified, inode, size in self._present:
                info = look(file)
                if info.st_mtime_ns != modified or info.st_ino != inode or info.st_size != size:
                    return False
        except OSError:
            return False

        # A file that was absent, such as packed-refs, matters as soon as it appears.
        return not any(map(os.path.lexists, self._absent))

    def has_same_files(self) -> bool:
        """Return whether nothing has changed that a full refresh looks at; False also if that isn't known."""
        return (
            self.has_same_commits()
            and not has_modified(self._folders)
            and not any(entry.may_have_changed for entry in self._entries)
        )

    def note_calm(self) -> None:
        """Note a look that found no change: from the eighth on, the files are watched."""
        self._calm_looks += 1
        if self._calm_looks < MIN_CALM_LOOKS or self._settings is None or self.is_quiet:
            return
        if self._watch is None:
            self._watch = FileWatch()
        self._watch.note_calm(self._files, self.has_same_files)

    def _files(self) -> Iterator[str]:
        if self._settings is not None:
            yield from self._settings.paths
        yield from self._folders
        for entry in self._entries:
            yield from entry.files
            yield from entry.commit_files


def has_modified(folders: Mapping[str, int]) -> bool:
    """Return whether a directory has another time (ns) than it had, so that a repository may be new or gone."""
    return any(_is_modified(folder, modified_ns) for folder, modified_ns in folders.items())


def _is_modified(folder: str, modified_ns: int) -> bool:
    try:
        return os.stat(folder).st_mtime_ns != modified_ns
    except OSError:
        return True
