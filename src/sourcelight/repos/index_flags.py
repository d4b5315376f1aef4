"""Files of a work tree that git was told not to look at: assume-unchanged and skip-worktree.

libgit2's status takes such files for unchanged, so that their content on disk must be compared here. pygit2 gives no
flags of index entries; source of the layout: git's gitformat-index manual, versions 2 to 4.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

_HEAD = struct.Struct(">4sII")
_FIXED = 62  # bytes of an entry before its name
_MODE, _OID, _FLAGS = 24, 40, 60
_ASSUME_VALID, _EXTENDED, _NAME_LENGTH = 0x8000, 0x4000, 0x0FFF
_SKIP_WORKTREE = 0x4000
_MOST_KEPT = 256

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class HiddenEntry:
    """A file that git does not compare with the disk.

    `oid` are the 20 bytes of its content in the index, `mode` is git's. `sparse` says that it may be missing on disk
    (skip-worktree, as in a sparse checkout).
    """

    path: bytes
    oid: bytes
    mode: int
    sparse: bool


_known: dict[str, tuple[_Stamp, tuple[HiddenEntry, ...]]] = {}


def hidden_entries(git_dir: str) -> tuple[HiddenEntry, ...]:
    """List them, by path; none where the index is absent or of a form that libgit2 refuses as well.

    An index of 30,000 files takes 40 to 80 ms to read on a busy machine, once for each of its states.
    """
    path = os.path.join(git_dir, "index")
    try:
        info = os.stat(path)
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        kept = _known.get(path)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        with open(path, "rb") as file:
            raw = file.read(info.st_size)
        found = tuple(_hidden(raw))
    except (OSError, IndexError, ValueError, struct.error):
        return ()
    while len(_known) >= _MOST_KEPT:
        _known.pop(next(iter(_known)), None)
    _known[path] = stamp, found
    return found


def _hidden(raw: bytes) -> list[HiddenEntry]:
    magic, version, count = _HEAD.unpack_from(raw)
    if magic != b"DIRC" or version not in {2, 3, 4}:
        return []
    found = []
    at, name = _HEAD.size, b""
    for _ in range(min(count, len(raw) // _FIXED)):
        flags = raw[at + _FLAGS] << 8 | raw[at + _FLAGS + 1]
        more = raw[at + _FIXED] << 8 | raw[at + _FIXED + 1] if flags & _EXTENDED else 0
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        if version < 4:
            size = flags & _NAME_LENGTH
            end = start + size if size < _NAME_LENGTH else raw.index(b"\0", start + size)
            after = at + (end - at + 8) // 8 * 8
        else:
            dropped, start = _varint(raw, start)
            end = raw.index(b"\0", start)
            name = name[: len(name) - dropped] + raw[start:end]
            after = end + 1
        if flags & _ASSUME_VALID or more & _SKIP_WORKTREE:
            mode = int.from_bytes(raw[at + _MODE : at + _MODE + 4], "big")
            path = name if version == 4 else raw[start:end]
            found.append(HiddenEntry(path, raw[at + _OID : at + _FLAGS], mode, sparse=bool(more & _SKIP_WORKTREE)))
        at = after
    return found


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Read a number in git's offset encoding, and where it ends."""
    byte = raw[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = raw[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1
