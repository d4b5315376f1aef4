"""Some lines of a file, taken from its content as it comes, and the lines that a text quotes.

A file of gigabytes is neither held nor split whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.git import git_chunks
from sourcelight.repos import ObjectReader
from sourcelight.repos.objects import MAX_CONTENT_BYTES

MAX_RANGE_BYTES = 32 << 20
"""Bytes of lines that are given at once."""

_CHUNK_BYTES = 1 << 18
"""Bytes of a content that are split into lines at a time."""

_STREAM_DATA_BYTES = 256 << 20
"""Bytes of memory that git may take."""


@dataclass(slots=True)
class LineRange:
    """Lines of a file.

    Attributes
    ----------
    lines
        Content of the requested lines, without their ends; fewer when they have more than `MAX_RANGE_BYTES`.
    range_bytes
        Bytes of all requested lines, with one for the end of each.
    total_lines, total_bytes
        Of the whole file.
    is_open
        Whether the last line of the file has no newline.
    is_binary
        Whether a NUL byte was met; nothing else counts then.
    """

    lines: list[bytes] = field(default_factory=list)
    range_bytes: int = 0
    total_lines: int = 0
    total_bytes: int = 0
    is_open: bool = False
    is_binary: bool = False


def read_lines(
    reader: ObjectReader, blob_id: bytes, first: int, last: int | None, cancellation: Cancellation | None = None
) -> LineRange | None:
    """Read the lines `first` to `last` (from 1, both included; None: to the end); None when git can't give the file.

    A file above `MAX_CONTENT_BYTES` is read by git, which passes on large contents piece by piece.
    """
    size = reader.size(blob_id)
    if size is None:
        return None
    if size <= MAX_CONTENT_BYTES:
        data = reader.read(blob_id)
        return None if data is None else select_lines(_split(data), first, last)
    if reader.repository.kind != "git":
        return None

    chunks = git_chunks(
        reader.repository.git_dir,
        ["cat-file", "blob", blob_id.hex()],
        cancellation=cancellation,
        data_bytes=_STREAM_DATA_BYTES,
    )
    try:
        return select_lines(chunks, first, last)
    except GitFailed:
        return None


def select_lines(chunks: Iterable[bytes], first: int, last: int | None) -> LineRange:
    """Select lines `first` to `last` (from 1, both included; None: to the end) of a content that arrives in blocks."""
    selection = LineRange()
    kept_bytes = 0
    line: list[bytes] = []
    number = 1
    ends_open = False
    for chunk in chunks:
        selection.total_bytes += len(chunk)
        if b"\0" in chunk:
            selection.is_binary = True
            break

        after = number + chunk.count(b"\n")
        if kept_bytes > MAX_RANGE_BYTES and (last is None or after <= last):
            # Lines that are no longer kept are only counted: to split 300 MB of them took 4 s of a core.
            selection.range_bytes += len(chunk)
        elif after >= first and (last is None or number <= last):
            *complete_lines, remainder = chunk.split(b"\n")
            for line_number, line_text in enumerate(complete_lines, number):
                if first <= line_number and (last is None or line_number <= last):
                    selection.range_bytes += len(line_text) + 1
                    kept_bytes += len(line_text)
                    if kept_bytes <= MAX_RANGE_BYTES:
                        selection.lines.append(b"".join([*line, line_text]))
                    line = []

            if remainder and first <= after and (last is None or after <= last):
                selection.range_bytes += len(remainder)
                kept_bytes += len(remainder)
                if kept_bytes <= MAX_RANGE_BYTES:
                    line.append(remainder)

        number = after
        ends_open = not chunk.endswith(b"\n")

    selection.is_open = ends_open
    selection.total_lines = number if ends_open else number - 1
    if ends_open and first <= number and (last is None or number <= last):
        selection.range_bytes += 1
        if kept_bytes <= MAX_RANGE_BYTES:
            selection.lines.append(b"".join(line))

    return selection


def _split(data: bytes) -> Iterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(data), _CHUNK_BYTES):
        yield bytes(view[start : start + _CHUNK_BYTES])


def normalize_lines(lines: Sequence[str]) -> list[str]:
    """Remove the indentation that all lines share, and trailing blanks."""
    lines = [line.rstrip() for line in lines]
    margins = [len(line) - len(line.lstrip()) for line in lines if line]
    margin = min(margins, default=0)
    return [line[margin:] for line in lines]


def find_lines(lines: Sequence[str], quoted: Sequence[str]) -> list[int]:
    """Return the positions, from 0, of quoted lines (which are normalized) in a file."""
    size = len(quoted)
    # The first line that isn't blank is compared first, because most positions fail there.
    anchor = next((index for index, line in enumerate(quoted) if line), None)
    if anchor is None:
        return []

    anchor_text = quoted[anchor].strip()
    return [
        index
        for index in range(len(lines) - size + 1)
        if lines[index + anchor].strip() == anchor_text and normalize_lines(lines[index : index + size]) == quoted
    ]
