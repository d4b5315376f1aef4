"""Files of named sections: immutable, memory-mapped, with a checksum for every section.

Layout: a fixed head (magic, format version, length and CRC-32 of the table), a JSON table (metadata, and offset,
length, dtype and XXH3-64 checksum of each section), then the sections, each 8-byte aligned, then a tail of zeros, so
that eight bytes can be read from any offset of a section.

A section is checked on first use, so a search pays for what it reads. A long section may also have a checksum for each
block (`section_blocks`), in a section of their own; then each block is checked on first use. Readers that don't know
these, and files without them, check whole sections. A damaged file is deleted: its manifest then names a missing file,
and any process rebuilds it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import xxhash

from sourcelight.core.arrays import AnyArray
from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.storage.folder import temporary_path, write_failed
from sourcelight.engines.storage.section_blocks import BLOCK_BYTES, SectionBlocks, block_checksums
from sourcelight.repos.private_files import open_private

FORMAT = 3
"""Raised by one whenever an older file can't be read by this code."""

TAIL = 16
_HEAD = struct.Struct("<8sIIII")
_ALIGNMENT = 8
_MAX_TABLE_BYTES = 64 * 1024 * 1024
"""Bytes of the table of sections, which a damaged head may say wrong."""

_BLOCKS = "block_checksums"
"""The section with the checksums of all blocks."""

Kind: TypeAlias = Literal["shard", "view", "symbols", "terms", "subjects", "history"]
_MAGIC = {
    "shard": b"SLshard\n",
    "view": b"SLview \n",
    "symbols": b"SLsymbs\n",
    "terms": b"SLterms\n",
    "subjects": b"SLsubjcs",
    "history": b"SLhistry",
}
"""The first bytes of a file of each kind."""


def write_sections(
    folder: Path,
    kind: Kind,
    metadata: Mapping[str, Any],
    sections: Mapping[str, Iterable[AnyArray] | AnyArray],
    *,
    name: str = "",
    durable: bool = True,
    by_block: Collection[str] = (),
) -> str:
    """Write a file of sections into `folder` and return its name.

    The file is renamed to its name when it is complete.

    Parameters
    ----------
    folder
        Where the file goes; it exists.
    kind
        What the file holds: a reader asks for the same kind.
    metadata
        JSON values that the reader finds in `SectionFile.metadata`.
    sections
        Arrays by name; several arrays of one name are joined.
    name
        The file's name; empty: made from its content.
    durable
        False leaves it to the operating system when the bytes reach the disk.
    by_block
        Sections that are checked block by block, if they are longer than a block.

    Raises
    ------
    IndexWriteFailed
        When the disk refuses; nothing is left behind.
    """
    temporary = temporary_path(folder)
    try:
        with open_private(temporary, "xb") as file:
            name = _write(file, kind, metadata=metadata, sections=sections, name=name, by_block=by_block)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(folder / name)
    except OSError as error:
        raise write_failed(folder, error, "history" if kind == "history" else "index") from error
    finally:
        temporary.unlink(missing_ok=True)

    return name


def _write(
    file: Any,
    kind: Kind,
    *,
    metadata: Mapping[str, Any],
    sections: Mapping[str, Iterable[AnyArray] | AnyArray],
    name: str,
    by_block: Collection[str],
) -> str:
    table: dict[str, list[Any]] = {}
    arrays = {section: [array] if isinstance(array, np.ndarray) else list(array) for section, array in sections.items()}
    blocks = _add_blocks(arrays, by_block)
    offset = 0
    for section, section_arrays in arrays.items():
        length = sum(array.nbytes for array in section_arrays)
        checksum = xxhash.xxh3_64()
        for array in section_arrays:
            checksum.update(_bytes_of(array))

        table[section] = [
            offset,
            length,
            section_arrays[0].dtype.str if section_arrays else "|u1",
            checksum.intdigest(),
        ]
        offset += length + (-length) % _ALIGNMENT

    all_facts = {**metadata, "name": name} if name else dict(metadata)
    content = {"facts": all_facts, "sections": table} | ({"blocks": blocks} if blocks else {})
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * ((-len(text) - _HEAD.size) % _ALIGNMENT)
    file.write(_HEAD.pack(_MAGIC[kind], FORMAT, len(text), zlib.crc32(text), 0))
    file.write(text)

    for section_arrays in arrays.values():
        length = 0
        for array in section_arrays:
            file.write(_bytes_of(array))
            length += array.nbytes
        file.write(b"\0" * ((-length) % _ALIGNMENT))

    file.write(b"\0" * TAIL)
    return name or _content_name(kind, text)


def _add_blocks(arrays: dict[str, list[AnyArray]], by_block: Collection[str]) -> dict[str, int]:
    """Add the section with the checksums of blocks; returns the number of the first block of each section."""
    first_blocks: dict[str, int] = {}
    checksums: list[int] = []
    for section in by_block:
        if sum(array.nbytes for array in arrays[section]) > BLOCK_BYTES:
            first_blocks[section] = len(checksums)
            checksums += block_checksums(map(_bytes_of, arrays[section]))

    if checksums:
        arrays[_BLOCKS] = [np.array(checksums, dtype=np.uint64)]
    return first_blocks


def _content_name(kind: Kind, table: bytes) -> str:
    return f"{kind}-{hashlib.sha256(table).hexdigest()[:32]}"


def _bytes_of(array: AnyArray) -> memoryview:
    contiguous: Any = np.ascontiguousarray(array)
    if array.nbytes:
        return memoryview(contiguous.reshape(-1)).cast("B")
    return memoryview(b"")


class SectionFile:
    """A mapped file of sections. Safe to share between threads.

    The head, the table, the size and the name are checked on opening, and each section when it is first used.

    Raises `IndexDamaged` for a file that is truncated, altered, of another format or of another name, and
    FileNotFoundError.

    Attributes
    ----------
    path
        Where the file is.
    size
        Its bytes.
    metadata
        What its writer noted.
    """

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path = path
        self._path_text = os.fspath(path)
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            self.size = info.st_size
            self._inode = (info.st_dev, info.st_ino)
            if self.size < _HEAD.size + TAIL:
                raise self._damage_error("the file ends inside its header")
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

        # The time of a view's file is its last use, and doesn't describe its content.
        self.identity = (info.st_ino, info.st_size, 0 if kind == "view" else info.st_mtime_ns)
        self._checked: set[str] = set()
        magic, version, length, crc, _ = _HEAD.unpack_from(self.map)
        if magic != _MAGIC[kind]:
            raise self._damage_error(f"not a {kind} file")
        if version != FORMAT:
            raise IndexDamaged(str(path), f"its format is {version}; this version reads {FORMAT}")

        text = self.map[_HEAD.size : _HEAD.size + min(length, _MAX_TABLE_BYTES)]
        if len(text) != length or zlib.crc32(text) != crc:
            raise self._damage_error("the table of sections is damaged")

        table = json.loads(text)
        self.metadata: dict[str, Any] = table["facts"]
        if path.name != self.metadata.get("name", _content_name(kind, text)):
            raise self._damage_error("another file has this name")

        self._sections: dict[str, list[Any]] = table["sections"]
        self._first_blocks: dict[str, int] = table.get("blocks", {})
        self._body = _HEAD.size + length
        end = max((entry[0] + entry[1] + (-entry[1]) % _ALIGNMENT for entry in self._sections.values()), default=0)
        if self.size != self._body + end + TAIL:
            raise self._damage_error(f"{self.size} bytes instead of {self._body + end + TAIL}")

    def __contains__(self, name: str) -> bool:
        return name in self._sections

    def length(self, name: str) -> int:
        """Return the size of a section in bytes, without reading it."""
        return int(self._section(name)[1])

    def items(self, name: str) -> int:
        """Return the number of items of a section, without reading them."""
        _, length, dtype, _ = self._section(name)
        return int(length // int(np.dtype(dtype).itemsize))

    def names(self) -> tuple[str, ...]:
        """Return the names of all sections."""
        return tuple(self._sections)

    def bytes_of(self, name: str) -> memoryview:
        """Return the bytes of a section without copying; raises `IndexDamaged`."""
        self._check_once(name)
        return self._unchecked_bytes(name)

    def array(self, name: str) -> AnyArray:
        """Return a section as a read-only array without copying; raises `IndexDamaged`."""
        self._check_once(name)
        return self._unchecked_array(name)

    def blocks(self, name: str) -> SectionBlocks:
        """Return a section whose blocks are checked when they are read: all of it at once in a file without them."""
        items = self._unchecked_array(name)
        first_block = self._first_blocks.get(name)
        if first_block is None:
            return SectionBlocks(items, 1, lambda _: self._check_once(name))

        content = self._unchecked_bytes(name)
        block_count = -(-len(content) // BLOCK_BYTES)
        checksums: list[int] = self.array(_BLOCKS)[first_block : first_block + block_count].tolist()

        def check_block(number: int) -> None:
            self.check_size()
            block = content[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]
            if xxhash.xxh3_64_intdigest(block) != checksums[number]:
                raise self._damage_error(f"section {name} is damaged")

        return SectionBlocks(items, block_count, check_block)

    def check_size(self) -> None:
        """Raise `IndexDamaged` when the file has been truncated: reading the lost bytes would end the process."""
        if self.map.size() < self.size:
            raise self._damage_error(f"{self.map.size()} bytes instead of {self.size}")

    def is_unchanged(self) -> bool:
        """Return whether the file at the path is still the mapped file, unchanged."""
        try:
            info = os.stat(self._path_text)  # noqa: PTH116 - before every search, in half the time
        except OSError:
            return False
        inode, size, modified = self.identity
        return info.st_ino == inode and info.st_size == size and modified in {0, info.st_mtime_ns}

    def verify(self, check_stopped: Callable[[], None] | None = None) -> None:
        """Check every section again; raises `IndexDamaged`, or what `check_stopped` raises between two sections."""
        self.check_size()
        for name in self._sections:
            if check_stopped is not None:
                check_stopped()
            self._check(name)

    def _section(self, name: str) -> list[Any]:
        try:
            return self._sections[name]
        except KeyError:
            raise self._damage_error(f"no section {name}") from None

    def _unchecked_bytes(self, name: str) -> memoryview:
        offset, length, _, _ = self._section(name)
        return memoryview(self.map)[self._body + offset : self._body + offset + length]

    def _unchecked_array(self, name: str) -> AnyArray:
        offset, length, dtype, _ = self._section(name)
        kind = np.dtype(dtype)
        return np.frombuffer(self.map, kind, length // kind.itemsize, self._body + offset)

    def _check_once(self, name: str) -> None:
        if name not in self._checked:
            self.check_size()
            self._check(name)
            self._checked.add(name)

    def _check(self, name: str) -> None:
        if xxhash.xxh3_64_intdigest(self._unchecked_bytes(name)) != self._section(name)[3]:
            raise self._damage_error(f"section {name} is damaged")

    def _damage_error(self, reason: str) -> IndexDamaged:
        # The name may refer to a file built again since this one was opened; a mapped file's inode is not used again.
        with contextlib.suppress(OSError):  # a shared index that can't be written stays unchanged
            info = self.path.stat()
            if (info.st_dev, info.st_ino) == self._inode:
                self.path.unlink()
        return IndexDamaged(str(self.path), reason)


class MemorySections:
    """Sections that were never written, for readers of a `SectionFile`; nothing can damage them.

    Parameters
    ----------
    name
        Stands where errors name a file.
    metadata, sections
        As for `write_sections`, one array for each section.
    """

    size = 0

    def __init__(self, name: str, metadata: Mapping[str, Any], sections: Mapping[str, AnyArray]) -> None:
        self.path = Path(name)
        self.metadata: dict[str, Any] = dict(metadata)
        self._sections = dict(sections)

    def bytes_of(self, name: str) -> memoryview:
        """Return the bytes of a section without copying."""
        return _bytes_of(self._sections[name])

    def array(self, name: str) -> AnyArray:
        """Return a section."""
        return self._sections[name]

    def check_size(self) -> None:
        """Do nothing: there is no file."""

    def is_unchanged(self) -> bool:
        """Return True: there is no file."""
        return True

    def verify(self, check_stopped: Callable[[], None] | None = None) -> None:
        """Do nothing: there is no file."""
