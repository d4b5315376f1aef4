"""Match objects of the wire as typed records, for fast decoding. Their keys are spelled as on the wire.

Absent and null are the same. `sourcelight.core.wire.decode` reads values that don't fit these types.

The key ``cells`` is an addition to the wire reference, whose readers ignore unknown keys. A file or a commit has it
beside its lines or chunks, with one entry for each matched line in order: ``[cell, kind, line in the cell]``, or null
for a line outside of cells. It is sent only if a line is in a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

import msgspec


class WireLocation(msgspec.Struct, gc=False):
    """A position: byte offset, 0-based line, column in code points."""

    offset: int = 0
    line: int = 0
    column: int = 0


class WireRange(msgspec.Struct, gc=False):
    """A range; the end is exclusive."""

    start: WireLocation
    end: WireLocation


class WireLine(msgspec.Struct, gc=False, rename="camel"):
    """A matched line and the (start, length) pairs of its matches, in code points."""

    line: str
    line_number: int
    offset_and_lengths: list[tuple[int, int]]


class WireChunk(msgspec.Struct, gc=False, rename="camel"):
    """Whole lines around matches; their text is in `content` or in `context`."""

    content_start: WireLocation
    ranges: list[WireRange]
    content: str | None = None
    context: str | None = None
    content_truncated: bool | None = None


WireCell: TypeAlias = tuple[int, str, int]
"""Number and kind of a cell, and the line in it: the location of a matched line in a notebook."""


class WireSymbol(msgspec.Struct, gc=False, rename="camel"):
    """A definition; `line` is 1-based.

    Services of this package add `cell`, the line as `text`, and the spans of matches in the text and in the path.
    """

    name: str
    kind: str = ""
    url: str = ""
    container_name: str | None = None
    line: int | None = None
    text: str | None = None
    spans: list[tuple[int, int]] | None = None
    name_spans: list[tuple[int, int]] | None = None
    cell: WireCell | None = None


class WireRecord(msgspec.Struct, gc=False, rename="camel"):
    """A match of any kind: the keys of all kinds together."""

    repository: str
    type: str = "content"
    path: str | None = None
    name: str | None = None
    """The key of `path` at services of 2021."""
    version: str | None = None
    """The key of `commit` at services of 2021."""
    repository_id: int | None = msgspec.field(name="repositoryID", default=None)
    repo_stars: int | None = None
    repo_last_fetched: str | None = None
    branches: list[str] | None = None
    commit: str | None = None
    language: str | None = None
    path_matches: list[WireRange] | None = None
    line_matches: list[WireLine] | None = None
    chunk_matches: list[WireChunk] | None = None
    cells: list[WireCell | None] | None = None
    symbols: list[WireSymbol] | None = None
    repository_matches: list[WireRange] | None = None
    description: str | None = None
    fork: bool | None = None
    archived: bool | None = None
    private: bool | None = None
    metadata: dict[str, str | None] | None = None
    topics: list[str] | None = None
    label: str | None = None
    url: str | None = None
    detail: str | None = None
    oid: str | None = None
    message: str | None = None
    author_name: str | None = None
    author_date: str | None = None
    committer_name: str | None = None
    committer_date: str | None = None
    agent: str | None = None
    content: str | None = None
    ranges: list[tuple[int, int, int]] | None = None

    @property
    def revision(self) -> str:
        """The requested revision; empty for the default branch."""
        return self.branches[0] if self.branches else ""


@cache
def attributes_of(record: type[msgspec.Struct]) -> Mapping[str, str]:
    """Return the attributes of a record by their keys on the wire."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(record)}


DECODER = msgspec.json.Decoder(list[WireRecord] | None)
"""Reads the array of a ``matches`` event."""

RECORD_DECODER = msgspec.json.Decoder(WireRecord)
"""Reads one match."""
