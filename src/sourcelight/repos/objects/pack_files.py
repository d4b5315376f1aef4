"""Read the sizes in packs and their indexes, without libgit2: names, chains of differences, heads of entries.

Files are opened by inode and time, at most some at once; a replaced pack is noticed and read again. An object store is
measured by its directory and the indexes of its packs.
"""

from __future__ import annotations

import array
import contextlib
import os
import stat
import struct
import threading
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sourcelight.core.caching import LruCache
from sourcelight.repos.boundary import object_directories, read_flags
from sourcelight.repos.repository import Repository, common_dir

_MAX_CHAIN = 10_000
"""Deltas from an object to its base; git writes at most 4,095."""

_MAX_OPEN_PACKS = 64
"""Maximum number of packs with open files. For the others, only their fanout tables stay in memory."""

# Descriptions of more packs are not cached: a repository that is never repacked may have tens of thousands.
_MAX_PACKS = 4096
_HEAD_BYTES = 64
"""Bytes that have the head of each entry: its type, its size, and the offset or the id of its base."""

_DIFFERENCE_BYTES = 600
"""Bytes of a packed difference that have its leading sizes: Deflate's tables come before them."""

_OFFSET_DELTA, _NAME_DELTA = 6, 7
"""Types of entries that differ from another one, named by its distance or its id (gitformat-pack)."""

_FANOUT_BYTES = 1024
"""Bytes of the first table of an index: for each first byte of an id, the number of ids up to it."""

DIGITS = 40
"""Hexadecimal digits of an id (SHA-1)."""

_MIN_DIGITS = 4
"""The shortest abbreviation that git accepts."""

_MAX_NAMES = 100
"""Ids that are returned for a prefix."""

_WINDOW = 100
"""Ids that are read on each side of a guess: ids are evenly distributed, so that it is rarely far off."""

_MAGIC = b"\xfftOc\0\0\0\2"
MAX_REMEMBERED = 200_000
"""Sizes of objects that are remembered."""

PackKey: TypeAlias = tuple[str, int, int]
"""Path of a pack's index, with inode and time to notice a file that replaced it."""

_packs: LruCache[PackKey, Pack | None] = LruCache(_MAX_PACKS)
_open_files: LruCache[PackKey, tuple[_File, _File]] = LruCache(_MAX_OPEN_PACKS)

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


def _renew_caches() -> None:
    # A forked worker must not inherit a lock that another thread held.
    global _packs, _open_files
    _packs, _open_files = LruCache(_MAX_PACKS), LruCache(_MAX_OPEN_PACKS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_caches)


class DamagedPack(Exception):
    """Raised inside this module where a pack can't be parsed: libgit2 then reports it, or reads another copy."""


def changed_ns(folder: str) -> int:
    """Return when a directory changed last, in nanoseconds; 0 if there is none."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def pack_keys(folder: str) -> Iterator[PackKey]:
    """Yield the key of each pack in a directory."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".idx"):
                with contextlib.suppress(OSError):
                    info = entry.stat()
                    yield entry.path, info.st_ino, info.st_mtime_ns


def open_pack(key: PackKey) -> Pack | None:
    """Return a pack of `pack_keys`, or None if it can't be read."""
    return _packs.get_or_make(key, lambda: _read_pack(key))


def _read_pack(key: PackKey) -> Pack | None:
    try:
        return Pack(key)
    except (OSError, struct.error, DamagedPack):
        return None


class _File:
    """A file read by offset; not mapped, since a truncated map would end the process. Closed when unused."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._fd = os.open(path, read_flags())
        weakref.finalize(self, os.close, self._fd)
        info = os.fstat(self._fd)
        if not stat.S_ISREG(info.st_mode):
            raise DamagedPack

        self.size = info.st_size
        self.identity = info.st_ino, info.st_mtime_ns

    def read(self, offset: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._fd, size, offset)
        with self._lock:
            os.lseek(self._fd, offset, os.SEEK_SET)
            return os.read(self._fd, size)


class Pack:
    """A pack and its index, of format 1 or 2."""

    def __init__(self, key: PackKey) -> None:
        self._key = key
        index, pack = _open_pack_files(key)
        head = index.read(0, 8 + _FANOUT_BYTES)
        self._is_new = head.startswith(_MAGIC)
        start = 8 if self._is_new else 0

        # A zero in front: names that begin with byte b are between entries b and b + 1.
        self._fanout = array.array("I", (0, *struct.unpack_from(">256I", head, start)))
        self._names = start + _FANOUT_BYTES

        # gitformat-pack: format 1 has rows of offset and name; format 2 has all names, then checksums, then offsets.
        self._stride, self._lead = (20, 0) if self._is_new else (24, 4)
        # A fanout table that lies would send reads beyond the file; everything after this check stays within it.
        if self._names + self._fanout[-1] * self._stride > index.size:
            raise DamagedPack

        self._size = pack.size
        self._largest: dict[int, int] = {}

    def _read_index(self, offset: int, size: int) -> bytes:
        return _open_pack_files(self._key)[0].read(offset, size)

    def largest(self, object_id: bytes) -> int:
        """Return the bytes of the largest content in an object's chain; 0 when it is not here."""
        if self._fanout[object_id[0]] == self._fanout[object_id[0] + 1]:
            return 0
        number = self._find(object_id)
        return 0 if number is None else self._largest_of_chain(self._offset(number))

    def names(self, prefix: str) -> list[bytes]:
        """Return ids that begin with at least `_MIN_DIGITS` hex digits; at most `_MAX_NAMES`."""
        if len(prefix) < _MIN_DIGITS:
            return []

        # gitformat-pack: the fanout table gives, for each first byte, the end of its names; a binary search finds the
        # smallest name with the prefix.
        first = bytes.fromhex(prefix.ljust(DIGITS, "0"))
        start, end = self._fanout[first[0]], self._fanout[first[0] + 1]
        while start < end:
            middle = (start + end) // 2
            if self._name(middle) < first:
                start = middle + 1
            else:
                end = middle

        matches: list[bytes] = []
        while (
            start < self._fanout[-1]
            and len(matches) < _MAX_NAMES
            and (name := self._name(start)).hex().startswith(prefix)
        ):
            matches.append(name)
            start += 1

        return matches

    def _name(self, number: int) -> bytes:
        return self._read_index(self._names + number * self._stride + self._lead, 20)

    def _find(self, object_id: bytes) -> int | None:
        start, end = self._fanout[object_id[0]], self._fanout[object_id[0] + 1]
        # Names are hashes, evenly spread: the first guess is nearly always within the window.
        guess = start + ((end - start) * int.from_bytes(object_id[1:5], "big") >> 32)
        while start < end:
            window_start = max(start, guess - _WINDOW)
            window_end = min(end, guess + _WINDOW)
            rows = self._read_index(
                self._names + window_start * self._stride, (window_end - window_start) * self._stride
            )
            if object_id < rows[self._lead : self._lead + 20]:
                end = window_start
            elif object_id > rows[-20:]:
                start = window_end
            else:
                return self._find_within(rows, object_id, window_start)

            guess = (start + end) // 2

        return None

    def _find_within(self, rows: bytes, object_id: bytes, start: int) -> int | None:
        position = rows.find(object_id)
        # The bytes of one name may also occur across two rows; only a match at the start of a row counts.
        while position >= 0 and (position - self._lead) % self._stride:
            position = rows.find(object_id, position + 1)
        return None if position < 0 else start + (position - self._lead) // self._stride

    def _offset(self, number: int) -> int:
        if not self._is_new:
            return int(struct.unpack(">I", self._read_index(self._names + number * 24, 4))[0])

        count = self._fanout[-1]
        table = self._names + count * 24
        (offset,) = struct.unpack(">I", self._read_index(table + number * 4, 4))

        # The highest bit marks the rest as an index into the table of 64-bit offsets.
        if offset >> 31:
            (offset,) = struct.unpack(">Q", self._read_index(table + count * 4 + (offset & 0x7FFFFFFF) * 8, 8))

        return int(offset)

    def _largest_of_chain(self, offset: int) -> int:
        """Return the largest size among an entry and all entries that it is a difference to."""
        chain: list[tuple[int, int]] = []
        max_size = 0
        while offset not in self._largest:
            size, base = self._read_entry(offset)
            chain.append((offset, size))
            # git writes chains of at most 4,095; a longer or circular one is damage.
            if len(chain) > _MAX_CHAIN:
                raise DamagedPack
            if base is None:
                break
            offset = base
        else:
            max_size = self._largest[offset]

        if len(self._largest) >= MAX_REMEMBERED:
            self._largest.clear()

        # From the base outwards, so every entry of the chain is remembered with the largest size below it.
        for entry_offset, size in reversed(chain):
            max_size = self._largest[entry_offset] = max(max_size, size)

        return max_size

    def _read_entry(self, offset: int) -> tuple[int, int | None]:
        """Return the expanded size of an entry and the offset of its base, or None without a base."""
        head = _open_pack_files(self._key)[1].read(offset, _HEAD_BYTES)
        # gitformat-pack: three bits of type and four of size, then seven bits of size in each byte, the lowest first.
        kind, size, position = head[0] >> 4 & 7, head[0] & 15, 1
        shift = 4
        while head[position - 1] & 0x80:
            size |= (head[position] & 0x7F) << shift
            shift += 7
            position += 1

        if kind == _OFFSET_DELTA:
            distance = head[position] & 0x7F
            while head[position] & 0x80:
                position += 1
                # The added one is part of the encoding: no distance can be written in two ways.
                distance = (distance + 1 << 7) | (head[position] & 0x7F)
            position += 1
            base: int = offset - distance
        elif kind == _NAME_DELTA:
            # The base is in the same pack: git completes thin packs when it stores them.
            number = self._find(head[position : position + 20])
            if number is None:
                raise DamagedPack
            base = self._offset(number)
            position += 20
        else:
            return size, None

        # A base at or beyond the end, or an entry that is its own base, is damage. Longer circles end by `_MAX_CHAIN`.
        if not 0 < base < self._size or base == offset:
            raise DamagedPack

        return max(size, *self._read_sizes(offset + position)), base

    def _read_sizes(self, offset: int) -> tuple[int, int]:
        """Return the sizes of base and result from the head of a packed difference."""
        try:
            # Two sizes of at most ten bytes each: 64 bits in groups of seven.
            text = zlib.decompressobj().decompress(_open_pack_files(self._key)[1].read(offset, _DIFFERENCE_BYTES), 20)
        except zlib.error as error:
            raise DamagedPack from error

        sizes = []
        position = 0
        for _ in range(2):
            size = shift = 0
            while True:
                byte = text[position]
                size |= (byte & 0x7F) << shift
                shift += 7
                position += 1
                if not byte & 0x80:
                    break
            sizes.append(size)

        return sizes[0], sizes[1]


def _open_pack_files(key: PackKey) -> tuple[_File, _File]:
    """Return a pack's index and the pack; open them again if they were closed."""

    def open_files() -> tuple[_File, _File]:
        path, *identity = key
        files = _File(path), _File(path[:-4] + ".pack")
        if list(files[0].identity) != identity:
            raise DamagedPack  # another file has the name now: the directory is listed again for the next object
        return files

    # Files that make room for others, or that two threads opened at once, are closed with their last reference.
    return _open_files.get_or_make(key, open_files)
