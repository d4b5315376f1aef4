"""Files of named arrays: immutable and memory-mapped.

Layout: a fixed head (magic, format, length and CRC-32 of the table), a JSON table (facts; offset, bytes and item type
of each array), then the arrays on 8-byte bounds.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.processes.faults import write_failed

FORMAT = 1
"""Raised by one whenever older files can't be read by this code, or would be filled otherwise."""

Array: TypeAlias = NDArray[Any]

_MAGIC = b"SLhistry"
_HEAD = struct.Struct("<8sIIII")
_ALIGNMENT = 8


def write_arrays(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, Array], *, durable: bool = True) -> int:
    """Write a file that is at `path` only once all of it is on disk; give its bytes.

    With `durable` False the operating system may still have it in memory. Raises `IndexWriteFailed`, leaving nothing
    behind.
    """
    temporary = path.with_name(f"tmp-{os.getpid()}-{os.urandom(6).hex()}")
    try:
        with temporary.open("xb") as file:
            size = _write(file, facts, arrays)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as fault:
        raise write_failed(path, fault, "history") from fault
    finally:
        temporary.unlink(missing_ok=True)
    return size


def _write(file: Any, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> int:
    table: dict[str, list[Any]] = {}
    offset = 0
    for name, array in arrays.items():
        table[name] = [offset, array.nbytes, array.dtype.str]
        offset += array.nbytes + (-array.nbytes) % _ALIGNMENT
    text = json.dumps({"facts": dict(facts), "arrays": table}, separators=(",", ":")).encode()
    text += b" " * ((-len(text) - _HEAD.size) % _ALIGNMENT)
    file.write(_HEAD.pack(_MAGIC, FORMAT, len(text), zlib.crc32(text), 0))
    file.write(text)
    for array in arrays.values():
        whole: Any = np.ascontiguousarray(array)
        if array.nbytes:
            file.write(memoryview(whole.reshape(-1)).cast("B"))
        file.write(b"\0" * ((-array.nbytes) % _ALIGNMENT))
    return _HEAD.size + len(text) + offset


class ArrayFile:
    """A mapped file of arrays; head, table and size are checked on opening.

    Raises `IndexDamaged` for a file that is truncated, altered or of another format, and FileNotFoundError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            if self.size < _HEAD.size:
                raise IndexDamaged(str(path), "the file ends within its head")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, length, crc, _ = _HEAD.unpack_from(self._map)
        if magic != _MAGIC or version != FORMAT:
            raise IndexDamaged(str(path), f"no history of format {FORMAT}")
        self._body = _HEAD.size + length
        text = self._map[_HEAD.size : self._body]
        if len(text) != length or zlib.crc32(text) != crc:
            raise IndexDamaged(str(path), "the table of arrays is damaged")
        table = json.loads(text)
        self.facts: dict[str, Any] = table["facts"]
        self._arrays: dict[str, list[Any]] = table["arrays"]
        end = max((offset + size + (-size) % _ALIGNMENT for offset, size, _ in self._arrays.values()), default=0)
        if self.size != self._body + end:
            raise IndexDamaged(str(path), f"{self.size} bytes instead of {self._body + end}")

    def array(self, name: str) -> Array:
        """Give an array, read-only and not copied."""
        offset, size, dtype = self._arrays[name]
        kind = np.dtype(dtype)
        return np.frombuffer(self._map, kind, size // kind.itemsize, self._body + offset)

    def bytes_of(self, name: str) -> memoryview:
        """Give the bytes of an array, not copied."""
        offset, size, _ = self._arrays[name]
        return memoryview(self._map)[self._body + offset : self._body + offset + size]

    def arrays(self) -> dict[str, Array]:
        """Give all arrays by their names."""
        return {name: self.array(name) for name in self._arrays}
