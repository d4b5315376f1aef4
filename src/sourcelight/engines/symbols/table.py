"""Tables of definitions and imports: those of many documents as arrays, with every name once.

Names stand joined in one text, sorted, a newline after each, so that a pattern is run over all of them at once; the
rows that bear a name are found by sorting them by name, once. Rows of a document stand together, as `definitions`
orders them.

Arrays of a table, made small: differences where numbers ascend, bytes of equal weight together, then deflated.

Tables are read as a whole once and kept open, so they need not be mapped.
"""

from __future__ import annotations

import bisect
import functools
import zlib
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.symbols.definition_parser import COLUMNS, FileDefinitions
from sourcelight.engines.symbols.grammars import LANGUAGES, version
from sourcelight.engines.symbols.import_parser import Import

Array: TypeAlias = AnyArray

_LEVEL = 6


def packed(values: AnyArray, *, ascending: bool = False) -> UInt8Array:
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
    kind = np.min_scalar_type(int(values.max())) if len(values) else np.dtype(np.uint8)
    weights = values.astype(kind).view(np.uint8).reshape(-1, kind.itemsize).T
    body = zlib.compress(weights.tobytes(), _LEVEL)
    return np.frombuffer(bytes([kind.itemsize, ascending]) + body, np.uint8)


def unpacked(data: memoryview) -> Array:
    """Give the numbers back, in the narrowest type that held them; what ascends as uint32.

    Raises ValueError for what `packed` did not make.
    """
    size, ascending = data[:2] if len(data) > 1 else (0, 0)
    if size not in {1, 2, 4}:
        raise ValueError(f"a damaged array: numbers of {size} bytes")
    try:
        body = np.frombuffer(zlib.decompress(data[2:]), np.uint8)
    except zlib.error as fault:
        raise ValueError(f"a damaged array: {fault}") from fault
    values: Array = np.ascontiguousarray(body.reshape(size, -1).T).view(f"u{size}").reshape(-1)
    return np.cumsum(values, dtype=np.uint32) if ascending else values


FORMAT = 4
"""Raised by one whenever older tables can't be read by this code."""

STATES = ("", "too-large", "timed-out", "unparsable")
"""What `FileDefinitions.incomplete` may say, in stored order."""

KEY_BYTES = 20

_NEWLINE = 10

_MOST_CHECKED = 20_000
"""Names that are checked one by one; beyond, looking at all of them at once is quicker."""


class SectionSource(Protocol):
    """Named arrays and facts, as they were given by `TableBuilder`; a mapped file is one."""

    @property
    def facts(self) -> dict[str, Any]:
        """The facts."""
        ...

    def array(self, name: str) -> Array:
        """Give an array by name."""
        ...

    def bytes_of(self, name: str) -> memoryview:
        """Give the bytes of an array by name."""
        ...


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
        self._texts: dict[str, int] = {"": 0}
        self._imports: list[tuple[int, int, int, int]] = []
        self._import_counts: list[int] = []

    @property
    def documents(self) -> int:
        """Documents added so far."""
        return len(self._keys)

    def add(self, key: bytes, language: str, found: FileDefinitions) -> None:
        """Add the next document.

        Parameters
        ----------
        key
            20 bytes that stand for the document's text (its blob id), by which it is found again.
        language
            Display name; one without a grammar counts as none.
        found
            Its definitions.
        """
        ids = self._ids
        self._keys.append(key)
        self._languages.append(LANGUAGES.index(language) + 1 if language in LANGUAGES else 0)
        self._states.append(STATES.index(found.incomplete))
        self._counts.append(len(found))
        texts = self._texts
        self._import_counts.append(len(found.imports))
        for one in found.imports:
            module, member, alias = (texts.setdefault(text, len(texts)) for text in (one.module, one.member, one.alias))
            self._imports.append((module, member, alias, one.line))
        if found.names:
            self._names += [ids.setdefault(name, len(ids)) for name in found.names]
            self._containers += [ids.setdefault(name, len(ids)) for name in found.containers]
            self._rows.append(found.rows)

    def facts(self) -> dict[str, Any]:
        """Say what the arrays of `sections` are."""
        return {
            "documents": len(self._keys),
            "definitions": len(self._names),
            "imports": len(self._imports),
            "table_format": FORMAT,
            "rules": version(),
            "languages": list(LANGUAGES),
        }

    def sections(self) -> dict[str, Array]:
        """Give the table as arrays by name."""
        ordered = sorted(self._ids)
        renumbered = np.zeros(len(ordered), dtype=np.uint32)
        renumbered[[self._ids[name] for name in ordered]] = np.arange(len(ordered), dtype=np.uint32)
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, len(COLUMNS)), dtype=np.uint32)
        columns = dict(zip(COLUMNS, rows.T, strict=True))
        return {
            "names": _packed_text(ordered),
            "name": packed(renumbered[np.array(self._names, dtype=np.int64)]),
            "container": packed(renumbered[np.array(self._containers, dtype=np.int64)]),
            "offset": packed(columns["offset"], ascending=True),
            "line": packed(columns["line"], ascending=True),
            "lines_before": packed(columns["line"] - columns["begin_line"]),
            "lines_after": packed(columns["end_line"] - columns["line"]),
            "parent": packed(columns["parent"], ascending=True),
            "kind": packed(columns["kind"]),
            "flags": packed(columns["flags"]),
            "doc_first": packed(_bounds(np.array(self._counts, dtype=np.int64)), ascending=True),
            "doc_language": packed(np.array(self._languages, dtype=np.uint8)),
            "doc_state": packed(np.array(self._states, dtype=np.uint8)),
            "keys": np.frombuffer(b"".join(self._keys), np.uint8),
            **self._import_sections(),
        }

    def _import_sections(self) -> dict[str, Array]:
        rows = np.array(self._imports, dtype=np.uint32).reshape(-1, 4)
        renamed = np.flatnonzero(rows[:, 2])
        return {
            "import_texts": _packed_text([text.encode() for text in self._texts]),
            "import_module": packed(rows[:, 0]),
            "import_member": packed(rows[:, 1]),
            "import_line": packed(rows[:, 3], ascending=True),
            "import_renamed": packed(renamed, ascending=True),
            "import_alias": packed(rows[renamed, 2]),
            "doc_import": packed(_bounds(np.array(self._import_counts, dtype=np.int64)), ascending=True),
        }


def _packed_text(lines: Sequence[bytes]) -> UInt8Array:
    """Pack names, a newline after each; none holds one."""
    return packed(np.frombuffer(b"".join(part for line in lines for part in (line, b"\n")), np.uint8))


def _starts(text: Array) -> Int64Array:
    """Give where each line begins, and where the last one ends."""
    return np.concatenate(([0], np.flatnonzero(text == _NEWLINE) + 1))


def _bounds(lengths: AnyArray) -> NDArray[np.uint32]:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)


def _wide(values: Array) -> NDArray[np.uint32]:
    return values.astype(np.uint32, copy=False)


def _sums(lengths: Array) -> Int64Array:
    found = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def names_with(pattern: CompiledPattern, names: Any, name_start: Int64Array) -> Int64Array:
    """Give the numbers of the names in which a pattern is found, ascending.

    Parameters
    ----------
    pattern
        What to look for.
    names, name_start
        The names, a newline after each; where each begins, and where the last one's newline ends.
    """
    starts = name_start[:-1]
    if pattern.whole_text or pattern.multi_line or pattern.matches_empty:
        return np.flatnonzero(pattern.match_many(names, starts, name_start[1:] - 1))
    # Names are lines: scanning them as such leaves few to look at, and spares a look at where each one ends.
    offsets = pattern.lines(names, np.array([[0, len(names)]], dtype=np.int64))
    held = starts.searchsorted(offsets, side="right") - 1
    held = held[np.append(True, held[1:] != held[:-1])] if len(held) else held
    if pattern.exact:
        return held
    if len(held) > _MOST_CHECKED:
        return np.flatnonzero(pattern.match_many(names, starts, name_start[1:] - 1))
    return held[np.unique(pattern.spans(names, starts[held], name_start[held + 1] - 1)[0])]


class SymbolTable:
    """A table of definitions, read in place. Safe to share between threads.

    The arrays hold an entry for each row: `name` and `container` (numbers of names; 0 is the empty one), `kind` (place
    in `KINDS`), `flags`, `offset` (byte of the name in its document), `line`, `begin_line`, `end_line` (1-based),
    `parent` (place in the document plus one, 0 for none).

    Raises ValueError for arrays of another format.
    """

    def __init__(self, source: SectionSource) -> None:
        facts = source.facts
        if facts.get("table_format") != FORMAT:
            raise ValueError(f"a table of format {facts.get('table_format')}, this version reads {FORMAT}")
        self.source = source
        self.documents: int = facts["documents"]
        self.rules: str = facts["rules"]
        self._languages: list[str] = facts["languages"]

        def held(name: str) -> Array:
            return unpacked(source.bytes_of(name))

        names, texts = held("names"), held("import_texts")
        self._names = names.data
        self.name_start = _starts(names)
        self._name_end = self.name_start[1:] - 1
        self.name = _wide(held("name"))
        self.container = _wide(held("container"))
        self.kind = held("kind")
        self.flags = held("flags")
        self.offset = held("offset")
        self.line = held("line")
        self.begin_line = self.line - held("lines_before")
        self.end_line = self.line + held("lines_after")
        self.parent = held("parent")
        self.doc_first = held("doc_first")
        self.doc_language = held("doc_language")
        self.doc_state = held("doc_state")
        self._import_texts = texts.data
        self._import_text_start = _starts(texts)
        self.import_module = _wide(held("import_module"))
        self.import_member = _wide(held("import_member"))
        self._import_line = held("import_line")
        self._import_renamed = held("import_renamed")
        self._import_alias = held("import_alias")
        self._doc_import = held("doc_import")

    def __len__(self) -> int:
        return len(self.name)

    @functools.cached_property
    def _name_rows(self) -> Int64Array:
        """The rows, sorted by name."""
        return np.argsort(self.name, kind="stable")

    @functools.cached_property
    def _name_first(self) -> Int64Array:
        """The first place of each name in `_name_rows`."""
        return _sums(np.bincount(self.name, minlength=len(self._name_end)))

    @functools.cached_property
    def by_key(self) -> dict[bytes, int]:
        """The document of each key."""
        data = bytes(self.source.bytes_of("keys"))
        return {data[at : at + KEY_BYTES]: at // KEY_BYTES for at in range(0, len(data), KEY_BYTES)}

    def language(self, document: int) -> str:
        """Give the language in which a document was read; empty for none."""
        code = int(self.doc_language[document])
        return self._languages[code - 1] if code else ""

    def state(self, document: int) -> str:
        """Say why a document's definitions may not be all; empty when they are."""
        return STATES[int(self.doc_state[document])]

    @property
    def names(self) -> memoryview:
        """The names, a newline after each."""
        return self._names

    def rows_named(self, pattern: CompiledPattern) -> Int64Array:
        """Give the rows, ascending, in whose names the pattern is found."""
        return self.rows_of_names(names_with(pattern, self._names, self.name_start))

    def rows_of_names(self, held: Int64Array) -> Int64Array:
        """Give the rows, ascending, that bear one of the names with these numbers."""
        first = self._name_first[held].astype(np.int64)
        lengths = self._name_first[held + 1] - first
        bounds = np.cumsum(lengths)
        if not len(bounds) or not bounds[-1]:
            return np.zeros(0, dtype=np.int64)
        places = np.arange(int(bounds[-1])) + np.repeat(first - (bounds - lengths), lengths)
        return np.sort(self._name_rows[places].astype(np.int64))

    def rows_of_name(self, name: bytes) -> Int64Array:
        """Give the rows, ascending, that bear exactly this name."""
        found = bisect.bisect_left(range(len(self._name_end)), name, key=self._text)
        if found == len(self._name_end) or self._text(found) != name:
            return np.zeros(0, dtype=np.int64)
        return self._name_rows[int(self._name_first[found]) : int(self._name_first[found + 1])].astype(np.int64)

    def _text(self, number: int) -> bytes:
        return bytes(self._names[int(self.name_start[number]) : int(self._name_end[number])])

    def rows_of(self, name: bytes) -> Int64Array:
        """Give the rows, ascending, that bear exactly this name."""
        number = self.number_of(name)
        if number is None:
            return np.zeros(0, dtype=np.int64)
        low, high = (int(at) for at in self._name_first[number : number + 2])
        return self._name_rows[low:high].astype(np.int64)

    def number_of(self, name: bytes) -> int | None:
        """Give the number of a name, None when nothing bears it."""
        starts, text = self.name_start, self._names
        found = bisect.bisect_left(
            range(len(self._name_end)), name, key=lambda at: bytes(text[int(starts[at]) : int(starts[at + 1]) - 1])
        )
        held = found < len(self._name_end) and bytes(text[int(starts[found]) : int(starts[found + 1]) - 1]) == name
        return found if held else None

    def documents_of(self, rows: Int64Array) -> Int64Array:
        """Give the document of each row."""
        return np.searchsorted(self.doc_first, rows.astype(np.uint32), side="right").astype(np.int64) - 1

    def texts(self, numbers: AnyArray) -> list[bytes]:
        """Give names by their numbers."""
        chosen = numbers.astype(np.int64)
        pairs = zip(self.name_start[chosen].tolist(), self.name_start[chosen + 1].tolist(), strict=True)
        return [bytes(self._names[low : high - 1]) for low, high in pairs]

    def definitions(self, document: int) -> FileDefinitions:
        """Give the definitions of a document as they were added."""
        low, high = (int(at) for at in self.doc_first[document : document + 2])
        columns: Sequence[Array] = [getattr(self, column)[low:high] for column in COLUMNS]
        rows = np.stack([column.astype(np.uint32) for column in columns], axis=1)
        names, containers = self.texts(self.name[low:high]), self.texts(self.container[low:high])
        return FileDefinitions(names, containers, rows, self.state(document), self.imports(document))

    @functools.cached_property
    def importing(self) -> BoolArray:
        """Which documents import anything."""
        return np.asarray(self._doc_import[1:] > self._doc_import[:-1])

    def imports(self, document: int) -> list[Import]:
        """Give what a document imports, in order."""
        low, high = (int(at) for at in self._doc_import[document : document + 2])
        first, last = np.searchsorted(self._import_renamed, np.array([low, high], dtype=np.uint32)).tolist()
        aliases = dict(
            zip(self._import_renamed[first:last].tolist(), self._import_alias[first:last].tolist(), strict=True)
        )
        columns = (self.import_module[low:high], self.import_member[low:high], self._import_line[low:high])
        return [
            Import(self.import_text(module), self.import_text(member), self.import_text(aliases.get(row, 0)), line)
            for row, module, member, line in zip(
                range(low, high), *(column.tolist() for column in columns), strict=True
            )
        ]

    def import_text(self, number: int) -> str:
        """Give a text of the table of imports by its number: a module, a member or an alias."""
        low, high = (int(at) for at in self._import_text_start[number : number + 2])
        return bytes(self._import_texts[low : high - 1]).decode()

    def imported_modules(self) -> dict[str, int]:
        """Give every module that is imported, as written, and how many imports name it."""
        numbers, counts = np.unique(self.import_module, return_counts=True)
        return {
            self.import_text(number): count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
        }
