"""The format of tables of definitions and imports, and its writer: every name of many documents is stored once.

Names are one sorted text with a newline after each, so one scan matches a pattern in all of them. Rows of a document
are adjacent, in the order of `definitions`. Arrays are packed: differences where numbers ascend, bytes of equal weight
together, then deflate.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, UInt8Array
from sourcelight.engines.symbols.definition_parser import COLUMNS, FileDefinitions
from sourcelight.engines.symbols.grammars import PARSED_LANGUAGES, version

_LEVEL = 6
"""Level of compression, the default of zlib."""

FORMAT = 4
"""Raised by one whenever older tables can't be read by this code."""

STATES = ("", "too-large", "timed-out", "unparsable")
"""Values of `FileDefinitions.incomplete`, in stored order."""


def pack(values: AnyArray, *, ascending: bool = False) -> UInt8Array:
    """Pack unsigned numbers.

    Parameters
    ----------
    values
        One dimension, at most four bytes each.
    ascending
        Whether each is mostly close to the one before it.
    """
    if ascending:
        values = np.diff(values.astype(np.uint32), prepend=np.uint32(0))

    dtype = np.dtype(np.uint8)
    if len(values):
        dtype = np.min_scalar_type(int(values.max()))

    # All lowest bytes first, then the next: zlib compresses runs of equal bytes far better.
    weights = values.astype(dtype).view(np.uint8).reshape(-1, dtype.itemsize).T
    body = zlib.compress(weights.tobytes(), _LEVEL)
    return np.frombuffer(bytes([dtype.itemsize, ascending]) + body, np.uint8)


def unpack(data: memoryview) -> AnyArray:
    """Return the numbers in the narrowest type that holds them; ascending ones as uint32.

    Raises ValueError for data that `pack` did not make.
    """
    size, ascending = data[:2] if len(data) > 1 else (0, 0)
    if size not in {1, 2, 4}:
        raise ValueError(f"a damaged array: numbers of {size} bytes")

    try:
        body = np.frombuffer(zlib.decompress(data[2:]), np.uint8)
    except zlib.error as error:
        raise ValueError(f"a damaged array: {error}") from error

    values: AnyArray = np.ascontiguousarray(body.reshape(size, -1).T).view(f"u{size}").reshape(-1)
    # Differences wrap at 2^32, so a column that falls at the start of each document is exact, too.
    return np.cumsum(values, dtype=np.uint32) if ascending else values


class TableBuilder:
    """Gathers definitions, document after document."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {b"": 0}
        self._keys: list[bytes] = []
        self._languages: list[int] = []
        self._states: list[int] = []
        self._counts: list[int] = []
        self._names: list[int] = []
        self._containers: list[int] = []
        self._rows: list[NDArray[np.uint32]] = []

        # Number 0 is the empty text, so a zero in the column of aliases means that there is no alias.
        self._texts: dict[str, int] = {"": 0}
        self._imports: list[tuple[int, int, int, int]] = []
        self._import_counts: list[int] = []

    @property
    def documents(self) -> int:
        """Documents added so far."""
        return len(self._keys)

    def add(self, key: bytes, language: str, definitions: FileDefinitions) -> None:
        """Add the next document.

        Parameters
        ----------
        key
            20 bytes that identify the text (its blob id); lookups use them.
        language
            Display name of the language; without a grammar it is stored as none.
        definitions
            Its definitions.
        """
        self._keys.append(key)
        # 0 is no language, so the others count from 1.
        self._languages.append(PARSED_LANGUAGES.index(language) + 1 if language in PARSED_LANGUAGES else 0)
        self._states.append(STATES.index(definitions.incomplete))
        self._counts.append(len(definitions))
        self._import_counts.append(len(definitions.imports))

        texts = self._texts
        for statement in definitions.imports:
            module = texts.setdefault(statement.module, len(texts))
            member = texts.setdefault(statement.member, len(texts))
            alias = texts.setdefault(statement.alias, len(texts))
            self._imports.append((module, member, alias, statement.line))

        if definitions.names:
            ids = self._ids
            self._names += [ids.setdefault(name, len(ids)) for name in definitions.names]
            self._containers += [ids.setdefault(name, len(ids)) for name in definitions.containers]
            self._rows.append(definitions.rows)

    def metadata(self) -> dict[str, Any]:
        """Describe the arrays of `sections`."""
        return {
            "documents": len(self._keys),
            "definitions": len(self._names),
            "imports": len(self._imports),
            "table_format": FORMAT,
            "rules": version(),
            "languages": list(PARSED_LANGUAGES),
        }

    def sections(self) -> dict[str, AnyArray]:
        """Return the table as arrays by name."""
        # Sorted names allow a binary search. The empty name sorts first, so its number stays 0.
        ordered = sorted(self._ids)
        renumbered = np.zeros(len(ordered), dtype=np.uint32)
        renumbered[[self._ids[name] for name in ordered]] = np.arange(len(ordered), dtype=np.uint32)
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, len(COLUMNS)), dtype=np.uint32)
        columns = dict(zip(COLUMNS, rows.T, strict=True))
        return {
            "names": _pack_text(ordered),
            "name": pack(renumbered[np.array(self._names, dtype=np.int64)]),
            "container": pack(renumbered[np.array(self._containers, dtype=np.int64)]),
            "offset": pack(columns["offset"], ascending=True),
            "line": pack(columns["line"], ascending=True),
            # Relative lines are small numbers, mostly equal, and compress to almost nothing.
            "lines_before": pack(columns["line"] - columns["begin_line"]),
            "lines_after": pack(columns["end_line"] - columns["line"]),
            "parent": pack(columns["parent"], ascending=True),
            "kind": pack(columns["kind"]),
            "flags": pack(columns["flags"]),
            "doc_first": pack(_offsets(np.array(self._counts, dtype=np.int64)), ascending=True),
            "doc_language": pack(np.array(self._languages, dtype=np.uint8)),
            "doc_state": pack(np.array(self._states, dtype=np.uint8)),
            "keys": np.frombuffer(b"".join(self._keys), np.uint8),
            **self._import_sections(),
        }

    def _import_sections(self) -> dict[str, AnyArray]:
        rows = np.array(self._imports, dtype=np.uint32).reshape(-1, 4)
        # Few imports have an alias: only those are stored, with their positions.
        renamed = np.flatnonzero(rows[:, 2])
        return {
            "import_texts": _pack_text([text.encode() for text in self._texts]),
            "import_module": pack(rows[:, 0]),
            "import_member": pack(rows[:, 1]),
            "import_line": pack(rows[:, 3], ascending=True),
            "import_renamed": pack(renamed, ascending=True),
            "import_alias": pack(rows[renamed, 2]),
            "doc_import": pack(_offsets(np.array(self._import_counts, dtype=np.int64)), ascending=True),
        }


def _pack_text(lines: Sequence[bytes]) -> UInt8Array:
    """Pack names, a newline after each; none holds one."""
    text = b"".join(line + b"\n" for line in lines)
    return pack(np.frombuffer(text, np.uint8))


def _offsets(lengths: AnyArray) -> NDArray[np.uint32]:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)
