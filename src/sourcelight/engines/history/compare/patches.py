"""Patches of changed files: made by libgit2 one by one, or read from git's own stream."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sourcelight.core.batches.git_names import needs_quotes, quote_name
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.compare.changes import NO_MODE, OPTIONS, SUBMODULE, FileChange
from sourcelight.engines.history.git import MAX_BLOB_BYTES, git_chunks

if TYPE_CHECKING:
    import pygit2

# git looks for a NUL among so many bytes (`FIRST_FEW_BYTES` in its xdiff-interface.c).
_BINARY_BYTES = 8000
# The head of a hunk.
_HUNK = re.compile(rb"^@@ -", re.MULTILINE)
# libgit2 keeps blanks behind the function in the header of a hunk; git drops them.
_HUNK_END = re.compile(rb"^(@@ -[^\n]*?)[ \t\r\f\v]+$", re.MULTILINE)
_FILE = b"diff --git "
# The first line behind the header of a file.
_BODY = re.compile(rb"^(?:@@ -|Binary files )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The difference of one file.

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


def make_patch(handle: pygit2.Repository, change: FileChange, context_lines: int = 3) -> FileDiff:
    """Compare the contents of one changed file; hunks have `context_lines` lines around each change."""
    parts = change_parts(change)
    if len(parts) == 1:
        return _diff_of(handle, change, context_lines)
    return join_diffs(change, [_diff_of(handle, part, context_lines) for part in parts])


def change_parts(change: FileChange) -> tuple[FileChange, ...]:
    """Return the changes that a patch shows for one change: two where a file becomes a link, or the other way round."""
    if change.status != "type changed":
        return (change,)
    # git shows a change of type as a removed file and an added file.
    deletion = replace(change, status="deleted", mode=NO_MODE, object_id="0" * 40)
    addition = replace(change, status="added", old_mode=NO_MODE, old_object_id="0" * 40)
    return deletion, addition


def join_diffs(change: FileChange, parts: list[FileDiff]) -> FileDiff:
    """Join the diffs of a file that git shows in several parts."""
    if any(part.patch is None for part in parts):
        return FileDiff(change, None, None, binary=False, patch=None)

    # As git's numstat, which has no numbers for a file where either side is binary.
    patch = b"".join(part.patch or b"" for part in parts)
    if any(part.binary for part in parts):
        return FileDiff(change, 0, 0, binary=True, patch=patch)

    additions = sum(part.additions or 0 for part in parts)
    deletions = sum(part.deletions or 0 for part in parts)
    return FileDiff(change, additions, deletions, binary=False, patch=patch)


def _diff_of(handle: pygit2.Repository, change: FileChange, context_lines: int) -> FileDiff:
    import pygit2

    header_bytes = patch_header(change)
    if change.object_id == change.old_object_id:
        return FileDiff(change, 0, 0, binary=is_binary_unchanged(handle, change), patch=header_bytes)

    try:
        if _is_large(handle, change):
            return FileDiff(change, 0, 0, binary=True, patch=header_bytes + binary_line(change))

        old = _blob_or_text(handle, change.old_mode, change.old_object_id)
        new = _blob_or_text(handle, change.mode, change.object_id)
        # git uses the indent heuristic by default; libgit2 needs the flag to place hunks alike.
        flag = pygit2.enums.DiffOption.INDENT_HEURISTIC
        patch = pygit2.Patch.create_from(old, new, flag=flag, context_lines=context_lines)
    except (KeyError, ValueError, pygit2.GitError):
        return FileDiff(change, None, None, binary=False, patch=None)

    if patch.delta.is_binary:
        return FileDiff(change, 0, 0, binary=True, patch=header_bytes + binary_line(change))

    _, additions, deletions = patch.line_stats
    text = patch.data
    hunk = _HUNK.search(text)
    body = b"" if hunk is None else file_name_lines(change) + _HUNK_END.sub(rb"\1", text[hunk.start() :])
    return FileDiff(change, additions, deletions, binary=False, patch=header_bytes + body)


def is_binary_unchanged(handle: pygit2.Repository, change: FileChange) -> bool:
    """Return whether git treats a file with unchanged content (a rename, a new mode) as binary."""
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
    """Return whether a side is above the size at which git is configured to treat a file as binary, too."""
    import pygit2

    sides = ((change.old_mode, change.old_object_id), (change.mode, change.object_id))
    return any(
        handle.odb.read_header(pygit2.Oid(hex=name))[1] > MAX_BLOB_BYTES
        for mode, name in sides
        if mode not in {NO_MODE, SUBMODULE}
    )


def _blob_or_text(handle: pygit2.Repository, mode: str, name: str) -> pygit2.Blob | bytes | None:
    """Return the content of one side of a change: the text that git shows for a submodule, None for no file."""
    import pygit2

    if mode == NO_MODE:
        return None
    if mode == SUBMODULE:
        return b"Subproject commit " + name.encode() + b"\n"

    blob = handle[pygit2.Oid(hex=name)]
    if not isinstance(blob, pygit2.Blob):
        raise KeyError(name)

    return blob


def patch_header(change: FileChange) -> bytes:
    """Return the lines of a patch before its file names, as git writes them with ``--full-index``."""
    lines = [b"diff --git " + quote_path(b"a/" + change.old_path) + b" " + quote_path(b"b/" + change.path)]
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
        lines += [verb + b" from " + quote_path(change.old_path), verb + b" to " + quote_path(change.path)]

    if change.object_id != change.old_object_id:
        same = b" " + mode if old_mode == mode else b""
        lines.append(b"index " + change.old_object_id.encode() + b".." + change.object_id.encode() + same)

    return b"\n".join(lines) + b"\n"


def file_name_lines(change: FileChange) -> bytes:
    """Return the two lines with file names before the hunks."""
    old, new = _sides(change)
    # A name with a blank gets a tab behind it, so that a date can't be taken for part of it.
    old_end, new_end = (b"\t\n" if b" " in side else b"\n" for side in (old, new))
    return b"--- " + old + old_end + b"+++ " + new + new_end


def binary_line(change: FileChange) -> bytes:
    """Return the line that replaces the hunks of a binary file."""
    old, new = _sides(change)
    return b"Binary files " + old + b" and " + new + b" differ\n"


def _sides(change: FileChange) -> tuple[bytes, bytes]:
    old = b"/dev/null" if change.added else quote_path(b"a/" + change.old_path)
    new = b"/dev/null" if change.deleted else quote_path(b"b/" + change.path)
    return old, new


def quote_path(name: bytes) -> bytes:
    """Quote a name as git does with ``core.quotePath=false``: if it has controls, quotes or backslashes."""
    return quote_name(name) if needs_quotes(name) else name


def decode_patch(diff: FileDiff) -> str:
    """Return a patch as text, invalid UTF-8 in lines as U+FFFD.

    Names that aren't UTF-8 are in quotes with octal escapes, as git writes them by default, so that `git apply` reads
    the text.
    """
    patch, change = diff.patch or b"", diff.change
    if is_utf8(change.path) and is_utf8(change.old_path):
        return patch.decode("utf-8", "replace")

    text = []
    for part in _split_patches(iter((patch,))):
        hunk = _HUNK.search(part)
        end = len(part) if hunk is None else hunk.start()
        text += [_quote_names(part[:end], change), part[end:].decode("utf-8", "replace")]

    return "".join(text)


def _quote_names(header: bytes, change: FileChange) -> str:
    names = {b"a/" + change.old_path, b"b/" + change.path}
    for name in names:
        header = header.replace(quote_path(name), quote_name(name, ascii_only=True))

    for name in {change.old_path, change.path}:
        line = re.compile(rb"^((?:rename|copy) (?:from|to) )" + re.escape(quote_path(name)) + rb"$", re.MULTILINE)
        quoted = quote_name(name, ascii_only=True)
        header = line.sub(lambda match, quoted=quoted: match[1] + quoted, header)  # type: ignore[misc]

    return header.decode("utf-8", "replace")


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def stream_patches(
    git_dir: str,
    base_tree: str,
    head_tree: str,
    changes: Sequence[FileChange],
    cancellation: Cancellation | None = None,
) -> Generator[FileDiff, None, None]:
    """Yield the diff of each of `changes`, the first of git's list for the same two trees, as git gets to it.

    Raises
    ------
    GitFailed
        If a content is missing; patches yielded before are right.
    """
    chunks = git_chunks(git_dir, [*OPTIONS, "-p", "-M", base_tree, head_tree], cancellation=cancellation)
    texts = _split_patches(chunks)
    try:
        for change in changes:
            # A type change is one record of the list, and two parts of the patch.
            count = 2 if change.status == "type changed" else 1
            file_diffs = [_parse_patch(change, text) for _, text in zip(range(count), texts, strict=False)]
            if not file_diffs:
                return
            yield file_diffs[0] if count == 1 else join_diffs(change, file_diffs)
    finally:
        chunks.close()


def _split_patches(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the text of each file. No line inside a hunk begins as a file does."""
    pending: list[bytes] = []
    for chunk in chunks:
        text = b"".join([*pending, chunk])
        start = 0
        # A mark at the very start belongs to the part that is being collected.
        search_start = max(1, sum(map(len, pending)) - len(_FILE))
        while (end := text.find(b"\n" + _FILE, search_start)) >= 0:
            yield text[start : end + 1]
            start, search_start = end + 1, end + 2
        pending = [text[start:]]

    if any(pending):
        yield b"".join(pending)


def _parse_patch(change: FileChange, part: bytes) -> FileDiff:
    body = _BODY.search(part)
    if body is None:
        return FileDiff(change, 0, 0, binary=False, patch=part)
    if body[0].startswith(b"B"):
        return FileDiff(change, 0, 0, binary=True, patch=part)

    # Counting starts at the first hunk: the head of a patch has lines with +++ and ---.
    additions, deletions = part.count(b"\n+", body.start()), part.count(b"\n-", body.start())
    return FileDiff(change, additions, deletions, binary=False, patch=part)
