"""Measure an object store by its directory and pack indexes, without reading objects."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sourcelight.repos.boundary import object_directories
from sourcelight.repos.repository import Repository, common_dir

# gitformat-pack: the fanout table follows a header of 8 bytes; its last entry is the number of objects.
_LAST_OF_TABLE = 8 + 255 * 4

_MIN_INDEX_BYTES = 24
"""Bytes of an object in the smallest index of a pack (format 1: an offset and a name)."""

_TWO_DIGITS = frozenset(f"{number:02x}" for number in range(256))


@dataclass(frozen=True, slots=True)
class StoreSize:
    """The size of an object store, with those it borrows from.

    Attributes
    ----------
    objects
        Number of objects; an object that is stored twice counts twice.
    bytes
        Bytes of packs and loose objects on disk.
    """

    objects: int
    bytes: int


def packed_objects(repository: Repository) -> int:
    """Count the objects in packs, by the tables of contents of their indexes (format 2: gitformat-pack).

    Loose objects are not counted: they are few, and found by listing directories only.
    """
    return sum(count for _, count in _list_packs(os.path.join(common_dir(repository.git_dir), "objects")))


def store_size(git_dir: str) -> StoreSize:
    """Measure the object store of a repository, loose and borrowed objects included; 0 if it can't be read.

    Holes of sparse files do not count, so that no author can claim more than the disk has.
    """
    objects = size = 0
    for directory in object_directories(common_dir(git_dir)):
        for pack, count in _list_packs(directory):
            objects += count
            size += _dense_bytes(pack)
        for loose in _loose_directories(directory):
            with contextlib.suppress(OSError), os.scandir(loose) as entries:
                for entry in entries:
                    objects += 1
                    size += entry.stat(follow_symlinks=False).st_size

    return StoreSize(objects, size)


def _list_packs(objects: str) -> Iterator[tuple[str, int]]:
    """Yield the packs of an object directory, and how many objects each has."""
    folder = Path(objects, "pack")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))
    except OSError:
        return

    for name in names:
        try:
            with Path(folder, name).open("rb") as file:
                file.seek(_LAST_OF_TABLE)
                count = struct.unpack(">I", file.read(4))[0]
            # The count comes from the file: it is bounded by what a file of that size can hold, since limits grow with
            # it.
            limit = _dense_bytes(str(Path(folder, name))) // _MIN_INDEX_BYTES
            yield str(Path(folder, name[:-4] + ".pack")), min(count, limit)
        except (OSError, struct.error):
            continue


def _dense_bytes(path: str) -> int:
    """Return bytes of a file up to its first hole; 0 if it can't be read."""
    try:
        with open(path, "rb") as file:
            if hasattr(os, "SEEK_HOLE"):
                return os.lseek(file.fileno(), 0, os.SEEK_HOLE)
            return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def _loose_directories(objects: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(objects) as entries:
        yield from [entry.path for entry in entries if entry.name in _TWO_DIGITS]
