"""The directory of one index: manifests (JSON with a checksum), a lock between processes, and build errors.

A manifest names every file of an index and is replaced atomically, so a reader sees the old index or the new one, even
when the builder is killed. The next builder deletes files that no manifest names; open ones stay readable.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import xxhash

from sourcelight.core.errors import IndexDamaged, IndexWriteFailed, SearchIndexError, SourcelightError
from sourcelight.repos.file_locks import lock_file
from sourcelight.repos.private_files import make_private_folder, open_private

MANIFEST = "manifest.json"
LOCK = "lock"

Stamp: TypeAlias = tuple[int, int, int]
"""Inode, modification time in ns and size of a file."""

M = TypeVar("M")

_MAX_MANIFEST_BYTES = 256 * 1024 * 1024
"""Bytes above which a file is no manifest: it is read as a whole."""


_TEMPORARY = "tmp-"
"""Start of the name of a file that is being written."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a disk, a quota or a file system without space."""


def temporary_path(folder: Path) -> Path:
    """Return a new path in the directory of an index; the next builder deletes files of a killed builder."""
    return folder / f"{_TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"


def manifest_bytes(content: Any) -> bytes:
    """Encode a JSON value as a manifest."""
    # Readable, since people look at it when something is wrong; it is small compared with the files that it names.
    return json.dumps({"checksum": _checksum(content), "content": content}, indent=1).encode()


def read_manifest(path: Path) -> Any:
    """Read what `manifest_bytes` wrote.

    Raises
    ------
    IndexDamaged
        When the file is altered, or was written by another version of this package.
    OSError
        When it can't be read; FileNotFoundError when there is none.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > _MAX_MANIFEST_BYTES:
            raise IndexDamaged(str(path), "it is too large to be a manifest")
        text = file.read()

    try:
        parsed = json.loads(text)
        content = parsed["content"]
        is_intact = parsed["checksum"] == _checksum(content)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IndexDamaged(str(path), f"it can't be read ({error})") from error

    if not is_intact:
        raise IndexDamaged(str(path), "it is damaged")

    return content


def _checksum(content: Any) -> str:
    # Of the canonical form, so that white space doesn't matter. It guards against damage, not against forgery.
    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def reason_of(error: Exception) -> str:
    """Return why a build failed, without paths: remote callers read it."""
    if isinstance(error, SearchIndexError):
        return error.reason
    if isinstance(error, SourcelightError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror:
        is_full = error.errno in _FULL  # no path: remote callers read this text
        if is_full:
            return f"no room left on the disk ({error.strerror})"
        return error.strerror

    return f"{type(error).__name__}: {error}"


def write_failed(path: Path, error: OSError, subject: str = "index") -> IndexWriteFailed:
    """Convert a failed write to an `IndexWriteFailed` with a message."""
    if error.errno in _FULL:
        return IndexWriteFailed(str(path), f"no room left for the {subject} ({error.strerror}); the previous one stays")
    return IndexWriteFailed(str(path), f"cannot write the {subject}: {error.strerror or error}")


class ManifestFile(Generic[M]):
    """A manifest on disk, parsed again only when the file has changed. Safe to share between threads.

    Parameters
    ----------
    path
        The file.
    parse
        Makes the manifest of the content that `read_manifest` returns; raises `IndexDamaged`.
    """

    def __init__(self, path: Path, parse: Callable[[Path, Any], M]) -> None:
        self.path = os.fspath(path)
        self._parse = parse
        self._cached: tuple[Stamp, M] | None = None

    @property
    def stamp(self) -> Stamp | None:
        """The stamp of the file when it was last read; None before."""
        cached = self._cached
        return None if cached is None else cached[0]

    def read(self) -> M | None:
        """Return the manifest, or None without one; raises `IndexDamaged`, or OSError when it can't be read."""
        stamp = self.current_stamp()
        if stamp is None:
            return None

        # One attribute, replaced as a whole: a reader in another thread gets a stamp and the manifest that belongs to
        # it, without a lock.
        cached = self._cached
        if cached is not None and cached[0] == stamp:
            return cached[1]

        try:
            # The stamp is older than the content: a manifest that is replaced in between is read again next time.
            manifest = self._parse(Path(self.path), read_manifest(Path(self.path)))
        except (FileNotFoundError, NotADirectoryError):
            return None

        self._cached = stamp, manifest
        return manifest

    def current_stamp(self) -> Stamp | None:
        """Return a value that changes with every new manifest, or None without one."""
        try:
            info = os.stat(self.path)  # noqa: PTH116 - for every search and repository, in half the time
        except (FileNotFoundError, NotADirectoryError):
            return None
        # A new manifest is renamed over the old one and so has another inode. File systems reuse inodes, so the time
        # is needed as well, and clocks can be coarse, so the size is.
        return info.st_ino, info.st_mtime_ns, info.st_size

    def forget(self) -> None:
        """Read the file again next time, regardless of its stamp."""
        self._cached = None


class IndexFolder(Generic[M]):
    """The directory of one index: its manifest, its lock, and what is written and deleted in it.

    Safe to share between threads.

    Parameters
    ----------
    path
        The directory; `lock` makes it when needed.
    parse
        Makes a manifest of its content, as for `ManifestFile`.
    """

    SUBJECT: ClassVar[str] = "index"
    """Name of the contents, for error messages."""

    SYNC_NAMES: ClassVar[bool] = False
    """Whether the directory is synced before and after the manifest is written: for contents that take long to build.

    Without it, a power cut can leave a manifest whose files are missing; the index is then built again.
    """

    def __init__(self, path: Path, parse: Callable[[Path, Any], M]) -> None:
        self.path = path
        self.manifest_file = ManifestFile(path / MANIFEST, parse)

    def replace_file(self, name: str, content: Any) -> None:
        """Replace a manifest atomically; raises `IndexWriteFailed`, and the old one then stays."""
        temporary = temporary_path(self.path)
        try:
            with open_private(temporary, "xb") as file:
                file.write(manifest_bytes(content))
                file.flush()
                # On disk before the rename: after a power cut, the name must not refer to an empty file.
                os.fsync(file.fileno())
            self._sync()
            temporary.replace(self.path / name)
            self._sync()
        except OSError as error:
            raise write_failed(self.path, error, self.SUBJECT) from error
        finally:
            temporary.unlink(missing_ok=True)

    def _sync(self) -> None:
        if not self.SYNC_NAMES or os.name == "nt":  # Windows does so by itself
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def delete_except(self, names: Collection[str]) -> int:
        """Delete all files except these names, and return the bytes freed; call it with the lock held.

        Of directories, only the temporary ones of killed builders go. A file that can't be deleted (on Windows: one
        that a reader has mapped) stays until the next call.
        """
        freed = 0
        for file in self.path.iterdir():
            if file.name in names or file.name in {MANIFEST, LOCK}:
                continue

            with contextlib.suppress(OSError):
                if file.is_dir():
                    if file.name.startswith(_TEMPORARY):
                        shutil.rmtree(file)
                    continue
                size = file.stat().st_size
                file.unlink()
                freed += size

        return freed

    def remove(self) -> None:
        """Delete the whole directory, manifest first: a kill in between leaves no index rather than a damaged one."""
        with contextlib.suppress(OSError):
            (self.path / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def disk_bytes(self) -> int:
        """Return the bytes that the directory takes on disk."""
        total = 0
        with contextlib.suppress(OSError):
            for file in self.path.iterdir():
                with contextlib.suppress(OSError):
                    total += file.stat().st_size
        return total

    @contextlib.contextmanager
    def lock(self, check_stopped: Callable[[], None]) -> Iterator[None]:
        """Hold the lock of the index, which dies with its process.

        `check_stopped` is called while waiting and may raise.
        """
        try:
            make_private_folder(self.path)
            # The lock file is never deleted: a second builder could lock a new file beside the old one.
            file = open_private(self.path / LOCK, "a+b")
        except OSError as error:
            raise write_failed(self.path, error, self.SUBJECT) from error

        with file, lock_file(file, check_stopped):
            yield
