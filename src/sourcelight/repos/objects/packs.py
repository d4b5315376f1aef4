"""Limit the size of objects that packs store as differences: libgit2 expands the base object first.

An object of ten bytes can be a difference to one of gigabytes, which libgit2 expands in this process. So the chain of
differences is checked before libgit2 reads an object: the heads of its entries have the sizes. Source: gitformat-pack.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.repos.boundary import object_directories
from sourcelight.repos.objects import pack_files

if TYPE_CHECKING:
    import pygit2

MAX_UNFOLDED_BYTES = 64 * 1024 * 1024
"""Bytes of the largest content that an object is stored as a difference to, directly or not."""

_BEFORE_ALL = 1_000_000
"""Priority before libgit2's own readers of loose objects and packs."""

_UNREADABLE = (pack_files.DamagedPack, OSError, struct.error, IndexError)
"""Errors of a pack that is damaged or deleted. libgit2 finds them, too, and reads no object from it."""

_types: list[type[pygit2.OdbBackend]] = []
"""The class of `_backend_type`, after its first call: pygit2 is loaded late."""


def refuse_unfolding(odb: pygit2.Odb, git_common_dir: str) -> None:
    """Make an object database refuse objects whose chain expands beyond `MAX_UNFOLDED_BYTES`.

    Parameters
    ----------
    odb
        The database, before its first use.
    git_common_dir
        Git directory with the objects.
    """
    odb.add_backend(_backend_type()(PackGuard(git_common_dir)), _BEFORE_ALL)


def _backend_type() -> type[pygit2.OdbBackend]:
    import pygit2

    if not _types:
        kind: type = pygit2.OdbBackend

        class Backend(kind):  # type: ignore[misc]
            """Backend that reads nothing and only refuses."""

            def __init__(self, guard: PackGuard) -> None:
                super().__init__()
                self._guard = guard

            def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
                self._check(oid.raw)
                # KeyError makes libgit2 ask its own readers next; GitError would end the read.
                raise KeyError(oid)

            def read_prefix_cb(self, prefix: str) -> tuple[int, bytes, object]:
                # libgit2 also passes full names of 40 digits.
                if len(prefix) == pack_files.DIGITS:
                    self._check(bytes.fromhex(prefix))
                else:
                    for name in self._guard.names(prefix):
                        self._check(name)
                raise KeyError(prefix)

            def _check(self, name: bytes) -> None:
                if self._guard.largest(name) > MAX_UNFOLDED_BYTES:
                    raise pygit2.GitError(f"{name.hex()} is stored as a delta against a much larger object")

            def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
                raise KeyError(oid)

            def exists_cb(self, oid: pygit2.Oid) -> bool:  # noqa: ARG002 - of the interface
                return False

            def exists_prefix_cb(self, *prefix: object) -> object:
                raise KeyError(prefix)

            def refresh_cb(self) -> None:
                pass

        _types.append(Backend)

    return _types[0]


class PackGuard:
    """The packs of some object directories, listed again when a directory of packs changes."""

    def __init__(self, git_common_dir: str) -> None:
        self._git_common_dir = git_common_dir
        self._folders: list[str] | None = None
        self._stamp: tuple[int, ...] = ()
        self._packs: list[pack_files.PackKey] = []
        # Sizes by object id, which never change for the same packs; cleared when it grows too large.
        self._size_by_id: dict[bytes, int] = {}

    def largest(self, object_id: bytes) -> int:
        """Return the bytes of the largest content in an object's chain, in any pack that has it."""
        self._refresh()
        size = self._size_by_id.get(object_id)
        if size is not None:
            return size

        size = self._largest_in_packs(object_id)
        if len(self._size_by_id) >= pack_files.MAX_REMEMBERED:
            self._size_by_id.clear()
        self._size_by_id[object_id] = size
        return size

    def _largest_in_packs(self, object_id: bytes) -> int:
        size = 0
        for pack in self._open_packs():
            with contextlib.suppress(*_UNREADABLE):
                # libgit2 may choose any pack that has the object, so the largest counts.
                size = max(size, pack.largest(object_id))
        return size

    def names(self, prefix: str) -> list[bytes]:
        """Return the ids of packed objects that begin with some hex digits."""
        self._refresh()
        matches: list[bytes] = []
        for pack in self._open_packs():
            with contextlib.suppress(*_UNREADABLE):
                matches += pack.names(prefix)
        return matches

    def _open_packs(self) -> Iterator[pack_files.Pack]:
        for key in self._packs:
            pack = pack_files.open_pack(key)
            # git may have deleted it.
            if pack is not None:
                yield pack

    def _refresh(self) -> None:
        if self._folders is None:
            self._folders = [os.path.join(directory, "pack") for directory in object_directories(self._git_common_dir)]
        stamp = tuple(pack_files.changed_ns(folder) for folder in self._folders)
        if stamp != self._stamp:
            self._packs = []
            for folder in self._folders:
                self._packs += pack_files.pack_keys(folder)
            self._size_by_id.clear()
            self._stamp = stamp
