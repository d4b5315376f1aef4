"""Files of named sections: immutable, memory-mapped, with a checksum on every part.

Layout: a fixed head (magic, format version, length and checksum of the table), a JSON table (free facts, and for each
section its offset, length, item type and CRC-32), then the sections, each on an 8-byte bound, then a tail of zeros, so
that eight bytes may be read from any place in a section.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.processes.faults import write_failed

FORMAT = 2
"""Raised by one whenever an older file can't be read by this code."""

TAIL = 16
_HEAD = struct.Struct("<8sIIII")
_ALIGNMENT = 8
_LARGEST_TABLE = 64 * 1024 * 1024

Kind: TypeAlias = Literal["shard", "view", "symbols", "terms"]
_MAGIC = {"shard": b"SLshard\n", "view": b"SLview \n", "symbols": b"SLsymbs\n", "terms": b"SLterms\n"}
Array: TypeAlias = NDArray[Any]


def write_sections(
    folder: Path, kind: Kind, facts: Mapping[str, Any], sections: Mapping[str, Iterable[Array] | Array]
) -> str:
    """Write a file of sections into `folder` and give its name, which is made from its content.

    The file has its name only once all of it is on disk. Raises `IndexWriteFailed`, leaving nothing behind.
    """
    temporary = folder / f"tmp-{os.getpid()}-{os.urandom(6).hex()}"
    try:
        with temporary.open("xb") as file:
            name = _write(file, kind, facts, sections)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / name)
    except OSError as fault:
        raise write_failed(folder, fault) from fault
    finally:
        temporary.unlink(missing_ok=True)
    return name


def _write(file: Any, kind: Kind, facts: Mapping[str, Any], sections: Mapping[str, Iterable[Array] | Array]) -> str:
    table: dict[str, list[Any]] = {}
    arrays = {name: [part] if isinstance(part, np.ndarray) else list(part) for name, part in sections.items()}
    offset = 0
    for name, parts in arrays.items():
        length = sum(part.nbytes for part in parts)
        crc = 0
        for part in parts:
            crc = zlib.crc32(_bytes_of(part), crc)
        table[name] = [offset, length, parts[0].dtype.str if parts else "|u1", crc]
        offset += length + (-length) % _ALIGNMENT
    text = json.dumps({"facts": dict(facts), "sections": table}, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * ((-len(text) - _HEAD.size) % _ALIGNMENT)
    file.write(_HEAD.pack(_MAGIC[kind], FORMAT, len(text), zlib.crc32(text), 0))
    file.write(text)
    for parts in arrays.values():
        length = 0
        for part in parts:
            file.write(_bytes_of(part))
            length += part.nbytes
        file.write(b"\0" * ((-length) % _ALIGNMENT))
    file.write(b"\0" * TAIL)
    return f"{kind}-{hashlib.sha256(text).hexdigest()[:32]}"


def _bytes_of(part: Array) -> memoryview:
    whole: Any = np.ascontiguousarray(part)
    return memoryview(whole).cast("B") if part.nbytes else memoryview(b"")


class SectionFile:
    """A mapped file of sections. The head, the table and the size are checked on opening, the rest by `verify`.

    Raises `IndexDamaged` for a file that is truncated, altered or of another format, and FileNotFoundError.
    """

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path = path
        with path.open("rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            if self.size < _HEAD.size:
                raise IndexDamaged(str(path), "the file ends within its head")
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, length, crc, _ = _HEAD.unpack_from(self.map)
        if magic != _MAGIC[kind]:
            raise IndexDamaged(str(path), f"not a {kind} file")
        if version != FORMAT:
            raise IndexDamaged(str(path), f"format {version}, this version reads {FORMAT}")
        text = self.map[_HEAD.size : _HEAD.size + min(length, _LARGEST_TABLE)]
        if len(text) != length or zlib.crc32(text) != crc:
            raise IndexDamaged(str(path), "the table of sections is damaged")
        table = json.loads(text)
        self.facts: dict[str, Any] = table["facts"]
        self._sections: dict[str, list[Any]] = table["sections"]
        self._body = _HEAD.size + length
        end = max((entry[0] + entry[1] + (-entry[1]) % _ALIGNMENT for entry in self._sections.values()), default=0)
        if self.size != self._body + end + TAIL:
            raise IndexDamaged(str(path), f"{self.size} bytes instead of {self._body + end + TAIL}")

    def bytes_of(self, name: str) -> memoryview:
        """Give the bytes of a section, not copied."""
        offset, length, _, _ = self._sections[name]
        return memoryview(self.map)[self._body + offset : self._body + offset + length]

    def array(self, name: str) -> Array:
        """Give a section as a read-only array, not copied."""
        offset, length, dtype, _ = self._sections[name]
        kind = np.dtype(dtype)
        return np.frombuffer(self.map, kind, length // kind.itemsize, self._body + offset)

    def verify(self, stop: Callable[[], None] | None = None) -> None:
        """Check every section against its checksum; raises `IndexDamaged`."""
        for name, (_, _, _, crc) in self._sections.items():
            if stop is not None:
                stop()
            if zlib.crc32(self.bytes_of(name)) != crc:
                raise IndexDamaged(str(self.path), f"section {name} is altered")
