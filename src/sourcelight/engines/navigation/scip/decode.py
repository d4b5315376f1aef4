"""Read SCIP index files: protobuf by hand, one document after another.

Field numbers follow ``scip.proto``: Index.metadata=1, documents=2; Metadata.project_root=3,
text_document_encoding=4; Document.relative_path=1, occurrences=2, position_encoding=6; Occurrence.range=1, symbol=2,
symbol_roles=3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

DEFINITION = 1
"""Bit of `ScipOccurrence.roles` for a definition."""

UTF8, UTF16, UTF32 = 1, 2, 3
"""Values of `ScipDocument.encoding`, the unit of columns; 0: not stated."""

MAX_DOCUMENT_OCCURRENCES = 500_000
"""Occurrences in one file; a file large enough for more is not parsed either."""

_MAX_NUMBER = 1 << 31

_DESCRIPTOR = re.compile(
    r"(?:`((?:[^`]|``)+)`|([\w$+-]+))"  # the name, escaped or plain
    r"(?:\([^()]*\)\.|[.#/:!\])])?$"  # a method, or another suffix
)
"""The last descriptor of a symbol, see the grammar of SCIP."""


class ScipError(ValueError):
    """The bytes aren't a SCIP index, or are truncated; the message has the byte offset."""


@dataclass(frozen=True, slots=True)
class ScipOccurrence:
    """A symbol at a place: 0-based lines and columns, the end exclusive."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    symbol: str
    roles: int

    @property
    def is_definition(self) -> bool:
        """Whether the symbol is defined here."""
        return bool(self.roles & DEFINITION)


@dataclass(slots=True)
class ScipDocument:
    """A file of the index."""

    path: str = ""
    encoding: int = 0
    occurrences: list[ScipOccurrence] = field(default_factory=list)


def read_documents(data: bytes) -> Iterator[ScipDocument]:
    """Yield the documents of an index file.

    Raises
    ------
    ScipError
        If it isn't an index: truncated, of another format, or without any document.
    """
    seen = False
    for number, value, start, end in _fields(data, 0, len(data)):
        if number == 2 and value is None:
            seen = True
            yield _document(data, start, end)
        # Any bytes may look like protobuf; an unknown field at the top level means that it is another format.
        elif number not in {1, 3}:
            raise ScipError(f"byte {start:,} is of field {number}, which an index does not have")

    if not seen:
        raise ScipError("it has no documents")


def _fields(data: bytes, offset: int, end: int) -> Iterator[tuple[int, int | None, int, int]]:
    """Yield number, value (None for bytes), and the range of bytes of each field."""
    while offset < end:
        key, offset = _varint(data, offset, end)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, next_offset = _varint(data, offset, end)
            yield number, value, offset, next_offset
            offset = next_offset
        elif kind == 2:
            length, offset = _varint(data, offset, end)
            if length > end - offset:
                raise ScipError(
                    f"it is truncated: byte {offset:,} announces {length:,} bytes, and {end - offset:,} are left"
                )
            yield number, None, offset, offset + length
            offset += length
        # Fixed 64 and 32 bits: unused by SCIP, but a later version may have such fields. Kinds 3 and 4, groups, are
        # obsolete.
        elif kind in {1, 5}:
            size = 8 if kind == 1 else 4
            if size > end - offset:
                raise ScipError(f"it is truncated at byte {offset:,}")
            yield number, 0, offset, offset + size
            offset += size
        else:
            raise ScipError(f"byte {offset:,} starts with a kind of field that is not in use")


def _varint(data: bytes, offset: int, end: int) -> tuple[int, int]:
    value = shift = 0
    # A protobuf varint has at most ten bytes of seven bits.
    while offset < end and shift < 70:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7

    raise ScipError(f"it is truncated or not an index: a number at byte {offset:,} does not end")


def _document(data: bytes, offset: int, end: int) -> ScipDocument:
    document = ScipDocument()
    for number, value, start, value_end in _fields(data, offset, end):
        if number == 1 and value is None:
            document.path = _text(data, start, value_end)
        elif number == 2 and value is None:
            occurrence = _occurrence(data, start, value_end)
            if occurrence is not None:
                document.occurrences.append(occurrence)
                if len(document.occurrences) > MAX_DOCUMENT_OCCURRENCES:
                    raise ScipError(f"a file has more than {MAX_DOCUMENT_OCCURRENCES:,} occurrences")
        elif number == 6 and value is not None:
            document.encoding = value

    return document


def _occurrence(data: bytes, offset: int, end: int) -> ScipOccurrence | None:
    numbers: list[int] = []
    symbol, roles = "", 0
    for number, value, start, value_end in _fields(data, offset, end):
        if number == 1:
            # Encoders may write repeated numbers packed into one field, or one field each; decoders must accept both.
            if value is not None:
                numbers.append(value)
            offset = start
            while value is None and offset < value_end:
                part, offset = _varint(data, offset, value_end)
                numbers.append(part)
        elif number == 2 and value is None:
            symbol = _text(data, start, value_end)
        elif number == 3 and value is not None:
            roles = value

    if len(numbers) == 3:
        # `scip.proto`: three numbers are a range on one line.
        numbers = [numbers[0], numbers[1], numbers[0], numbers[2]]

    if len(numbers) != 4 or not symbol or max(numbers) > _MAX_NUMBER:
        return None

    return ScipOccurrence(
        start_line=numbers[0],
        start_column=numbers[1],
        end_line=numbers[2],
        end_column=numbers[3],
        symbol=symbol,
        roles=roles,
    )


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode(errors="replace")


def last_descriptor(symbol: str) -> str:
    """Return the name that a symbol ends in: ``pkg `mod`/Class#method().`` names ``method``; empty for none."""
    match = None if symbol.startswith("local ") else _DESCRIPTOR.search(symbol)
    return "" if match is None else (match[1] or match[2]).replace("``", "`")
