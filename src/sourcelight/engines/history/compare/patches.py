"""Patches made in this process, worded as git words them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sourcelight.core.batches.diff_text import is_odd, quote_name
from sourcelight.engines.history.commands import MAX_BLOB_BYTES
from sourcelight.engines.history.compare.changes import NO_MODE, SUBMODULE, FileChange

if TYPE_CHECKING:
    import pygit2

_BINARY_BYTES = 8000  # git looks for a NUL among so many
_HUNK = re.compile(rb"^@@ -", re.MULTILINE)
_HUNK_END = re.compile(rb"^(@@ -[^\n]*?)[ \t\r\f\v]+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What changed in one file.

    Attributes
    ----------
    change
        Which file.
    additions, deletions
        Changed lines; 0 for a binary file; None when a content is missing.
    binary
        Whether git takes it for binary: a NUL byte near its start, or more than 32 MiB.
    patch
        Header and hunks with three lines around each change, as ``git diff`` gives them; None when a content is
        missing from the clone.
    """

    change: FileChange
    additions: int | None
    deletions: int | None
    binary: bool
    patch: bytes | None


def make_patch(handle: pygit2.Repository, change: FileChange) -> FileDiff:
    """Compare the contents of one changed file."""
    if change.status != "type changed":
        return _one(handle, change)
    # git shows a file that becomes a link, or the other way round, as one that went and one that came.
    gone = replace(change, status="deleted", mode=NO_MODE, object_id="0" * 40)
    came = replace(change, status="added", old_mode=NO_MODE, old_object_id="0" * 40)
    return joined(change, [_one(handle, gone), _one(handle, came)])


def joined(change: FileChange, parts: list[FileDiff]) -> FileDiff:
    """One diff of a file that git shows in several parts."""
    if any(part.patch is None for part in parts):
        return FileDiff(change, None, None, binary=False, patch=None)
    # As git's numstat, which has no numbers for a file where either side is binary.
    binary = any(part.binary for part in parts)
    return FileDiff(
        change,
        0 if binary else sum(part.additions or 0 for part in parts),
        0 if binary else sum(part.deletions or 0 for part in parts),
        binary=binary,
        patch=b"".join(part.patch or b"" for part in parts),
    )


def _one(handle: pygit2.Repository, change: FileChange) -> FileDiff:
    import pygit2

    top = header(change)
    if change.object_id == change.old_object_id:
        return FileDiff(change, 0, 0, binary=is_binary_unchanged(handle, change), patch=top)
    try:
        if _is_large(handle, change):
            return FileDiff(change, 0, 0, binary=True, patch=top + binary_line(change))
        old, new = (_content(handle, change, old=old) for old in (True, False))
        made = pygit2.Patch.create_from(old, new, flag=pygit2.enums.DiffOption.INDENT_HEURISTIC)
    except (KeyError, ValueError, pygit2.GitError):
        return FileDiff(change, None, None, binary=False, patch=None)
    if made.delta.is_binary:
        return FileDiff(change, 0, 0, binary=True, patch=top + binary_line(change))
    _, additions, deletions = made.line_stats
    text = made.data
    hunk = _HUNK.search(text)
    body = b"" if hunk is None else names(change) + _HUNK_END.sub(rb"\1", text[hunk.start() :])
    return FileDiff(change, additions, deletions, binary=False, patch=top + body)


def is_binary_unchanged(handle: pygit2.Repository, change: FileChange) -> bool:
    """Whether git takes a file for binary whose content did not change (a rename, a new mode): no patch says it."""
    import pygit2

    if change.object_id != change.old_object_id or change.mode in {NO_MODE, SUBMODULE}:
        return False
    try:
        if _is_large(handle, change):
            return True
        return b"\0" in handle.odb.read(pygit2.Oid(hex=change.object_id))[1][:_BINARY_BYTES]
    except (KeyError, ValueError, pygit2.GitError):
        return False


def _is_large(handle: pygit2.Repository, change: FileChange) -> bool:
    """Whether a side has so many bytes that git, too, is told to take it for binary."""
    import pygit2

    sides = ((change.old_mode, change.old_object_id), (change.mode, change.object_id))
    return any(
        handle.odb.read_header(pygit2.Oid(hex=name))[1] > MAX_BLOB_BYTES
        for mode, name in sides
        if mode not in {NO_MODE, SUBMODULE}
    )


def _content(handle: pygit2.Repository, change: FileChange, *, old: bool) -> pygit2.Blob | bytes | None:
    import pygit2

    mode, name = (change.old_mode, change.old_object_id) if old else (change.mode, change.object_id)
    if mode == NO_MODE:
        return None
    if mode == SUBMODULE:
        return b"Subproject commit " + name.encode() + b"\n"
    found = handle[pygit2.Oid(hex=name)]
    if not isinstance(found, pygit2.Blob):
        raise KeyError(name)
    return found


def header(change: FileChange) -> bytes:
    """The lines of a patch before the names of its files, as git writes them with ``--full-index``."""
    lines = [b"diff --git " + quoted(b"a/" + change.old_path) + b" " + quoted(b"b/" + change.path)]
    old_mode, mode = change.old_mode.encode(), change.mode.encode()
    if change.added:
        lines.append(b"new file mode " + mode)
    elif change.deleted:
        lines.append(b"deleted file mode " + old_mode)
    elif old_mode != mode:
        lines += [b"old mode " + old_mode, b"new mode " + mode]
    if change.score is not None:
        verb = b"copy" if change.status == "copied" else b"rename"
        lines.append(b"similarity index %d%%" % change.score)
        lines += [verb + b" from " + quoted(change.old_path), verb + b" to " + quoted(change.path)]
    if change.object_id != change.old_object_id:
        same = b" " + mode if old_mode == mode else b""
        lines.append(b"index " + change.old_object_id.encode() + b".." + change.object_id.encode() + same)
    return b"\n".join(lines) + b"\n"


def names(change: FileChange) -> bytes:
    """The two lines that name the files of the hunks that follow."""
    old, new = _sides(change)
    # A name with a blank gets a tab behind it, so that a date can't be taken for part of it.
    old_end, new_end = (b"\t\n" if b" " in side and not side.startswith(b'"') else b"\n" for side in (old, new))
    return b"--- " + old + old_end + b"+++ " + new + new_end


def binary_line(change: FileChange) -> bytes:
    """What stands in the place of hunks of a binary file."""
    old, new = _sides(change)
    return b"Binary files " + old + b" and " + new + b" differ\n"


def _sides(change: FileChange) -> tuple[bytes, bytes]:
    old = b"/dev/null" if change.added else quoted(b"a/" + change.old_path)
    new = b"/dev/null" if change.deleted else quoted(b"b/" + change.path)
    return old, new


def quoted(name: bytes) -> bytes:
    """A name as git writes it with ``core.quotePath=false``: in quotes when it holds controls, quotes, backslashes."""
    return quote_name(name) if is_odd(name) else name
