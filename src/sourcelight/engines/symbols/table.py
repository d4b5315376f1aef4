"""Tables of the definitions and imports of many documents, as arrays with every name once.

Names are one sorted text with a newline after each, so one scan matches a pattern in all of them. Rows of a document
are adjacent, in the order of `definitions`. Arrays are packed: differences where numbers ascend, bytes of equal weight
together, then deflate. A table is read as a whole once and stays open, so it need not be mapped.
"""

from __future__ import annotations

import bisect
import functools
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array
from sourcelight.engines.symbols.definition_parser import COLUMNS, FileDefinitions
from sourcelight.engines.symbols.grammars import PARSED_LANGUAGES, version
from sourcelight.engines.symbols.import_parser import Import

if TYPE_CHECKING:
    from sourcelight.core.patterns.compiled import CompiledPattern

Array: TypeAlias = AnyArray

_LEVEL = 6

FORMAT = 4
"""Raised by one whenever older tables can't be read by this code."""

STATES = ("", "too-large", "timed-out", "unparsable")
"""Values of `FileDefinitions.incomplete`, in stored order."""

KEY_BYTES = 20
_NEWLINE = 10

_MAX_CHECKED = 20_000
"""Maximum names to check one by one; for more, matching all names in one call is faster."""


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
    dtype = np.min_scalar_type(int(values.max())) if len(values) else np.dtype(np.uint8)
    weights = values.astype(dtype).view(np.uint8).reshape(-1, dtype.itemsize).T
    body = zlib.compress(weights.tobytes(), _LEVEL)
    return np.frombuffer(bytes([dtype.itemsize, ascending]) + body, np.uint8)


def unpack(data: memoryview) -> Array:
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

    # Bytes are stored by significance, all lowest ones first: zlib compresses runs of equal bytes far better.
    values: Array = np.ascontiguousarray(body.reshape(size, -1).T).view(f"u{size}").reshape(-1)
    # Differences wrap at 2^32, so a column that falls at the start of each document is exact, too.
    return np.cumsum(values, dtype=np.uint32) if ascending else values


class SectionSource(Protocol):
    """Named arrays and values, as `TableBuilder` writes them; a mapped file is one."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The facts."""
        ...

    def array(self, name: str) -> Array:
        """Return an array by name."""
        ...

    def bytes_of(self, name: str) -> memoryview:
        """Return the bytes of an array by name."""
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
        ids = self._ids
        self._keys.append(key)
        self._languages.append(PARSED_LANGUAGES.index(language) + 1 if language in PARSED_LANGUAGES else 0)
        self._states.append(STATES.index(definitions.incomplete))
        self._counts.append(len(definitions))
        texts = self._texts
        self._import_counts.append(len(definitions.imports))

        for entry in definitions.imports:
            module, member, alias = (
                texts.setdefault(text, len(texts)) for text in (entry.module, entry.member, entry.alias)
            )
            self._imports.append((module, member, alias, entry.line))

        if definitions.names:
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

    def sections(self) -> dict[str, Array]:
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

    def _import_sections(self) -> dict[str, Array]:
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
    return pack(np.frombuffer(b"".join(part for line in lines for part in (line, b"\n")), np.uint8))


def _offsets(lengths: AnyArray) -> NDArray[np.uint32]:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)


def names_with(pattern: CompiledPattern, names: Any, name_start: Int64Array) -> Int64Array:
    """Return the numbers of the names in which a pattern is found, ascending.

    Parameters
    ----------
    pattern
        The pattern to find.
    names, name_start
        The names, a newline after each; the start of each, and the end of the last newline.
    """
    starts = name_start[:-1]
    # Such patterns refer to the ends of the text or match newlines, so they need each name as a text of its own; one
    # that matches the empty text matches every line.
    if pattern.whole_text or pattern.multi_line or pattern.matches_empty:
        return np.flatnonzero(pattern.match_many(names, starts, name_start[1:] - 1))

    # One scan over all names as lines finds the few that can match; the others are never looked at one by one.
    offsets = pattern.lines(names, np.array([[0, len(names)]], dtype=np.int64))
    matching = starts.searchsorted(offsets, side="right") - 1

    # Offsets ascend, so equal numbers are adjacent.
    matching = matching[np.append(True, matching[1:] != matching[:-1])] if len(matching) else matching
    if pattern.exact:
        return matching
    if len(matching) > _MAX_CHECKED:
        return np.flatnonzero(pattern.match_many(names, starts, name_start[1:] - 1))

    return matching[np.unique(pattern.spans(names, starts[matching], name_start[matching + 1] - 1)[0])]


class SymbolTable:
    """A table of definitions, read in place. Safe to share between threads.

    The arrays hold an entry for each row: `name` and `container` (numbers of names; 0 is the empty one), `kind` (index
    in `KINDS`), `flags`, `offset` (byte of the name in its document), `line`, `begin_line`, `end_line` (1-based),
    `parent` (index in the document plus one, 0 for none).

    Raises ValueError for arrays of another format.
    """

    def __init__(self, source: SectionSource) -> None:
        metadata = source.metadata
        if metadata.get("table_format") != FORMAT:
            raise ValueError(f"a table of format {metadata.get('table_format')}, this version reads {FORMAT}")

        self.source = source
        self.documents: int = metadata["documents"]
        self.rules: str = metadata["rules"]
        self._languages: list[str] = metadata["languages"]

        def unpack_column(name: str) -> Array:
            return unpack(source.bytes_of(name))

        names, texts = unpack_column("names"), unpack_column("import_texts")
        self._names = names.data
        self.name_start = _starts(names)
        self._name_end = self.name_start[1:] - 1
        self.name = _as_uint32(unpack_column("name"))
        self.container = _as_uint32(unpack_column("container"))
        self.kind = unpack_column("kind")
        self.flags = unpack_column("flags")
        self.offset = unpack_column("offset")
        self.line = unpack_column("line")
        self.begin_line = self.line - unpack_column("lines_before")
        self.end_line = self.line + unpack_column("lines_after")
        self.parent = unpack_column("parent")
        self.doc_first = unpack_column("doc_first")
        self.doc_language = unpack_column("doc_language")
        self.doc_state = unpack_column("doc_state")
        self._import_texts = texts.data
        self._import_text_start = _starts(texts)
        self.import_module = _as_uint32(unpack_column("import_module"))
        self.import_member = _as_uint32(unpack_column("import_member"))
        self._import_line = unpack_column("import_line")
        self._import_renamed = unpack_column("import_renamed")
        self._import_alias = unpack_column("import_alias")
        self._doc_import = unpack_column("doc_import")

    def __len__(self) -> int:
        return len(self.name)

    @functools.cached_property
    def _name_rows(self) -> Int64Array:
        """The rows, sorted by name."""
        # Stable: the rows of one name stay ascending, which `rows_of` relies on.
        return np.argsort(self.name, kind="stable")

    @functools.cached_property
    def _name_first(self) -> Int64Array:
        """The first place of each name in `_name_rows`."""
        return _sums(np.bincount(self.name, minlength=len(self._name_end)))

    @functools.cached_property
    def by_key(self) -> dict[bytes, int]:
        """The document of each key."""
        data = bytes(self.source.bytes_of("keys"))
        return {data[offset : offset + KEY_BYTES]: offset // KEY_BYTES for offset in range(0, len(data), KEY_BYTES)}

    def language(self, document: int) -> str:
        """Return the language in which a document was read; empty for none."""
        code = int(self.doc_language[document])
        return self._languages[code - 1] if code else ""

    def state(self, document: int) -> str:
        """Return why a document's definitions may be incomplete; empty when they are complete."""
        return STATES[int(self.doc_state[document])]

    @property
    def names(self) -> memoryview:
        """The names, a newline after each."""
        return self._names

    def rows_named(self, pattern: CompiledPattern) -> Int64Array:
        """Return the rows, ascending, in whose names the pattern is found."""
        return self.rows_of_names(names_with(pattern, self._names, self.name_start))

    def rows_of_names(self, name_numbers: Int64Array) -> Int64Array:
        """Return the rows, ascending, that bear one of the names with these numbers."""
        first_rows = self._name_first[name_numbers].astype(np.int64)
        lengths = self._name_first[name_numbers + 1] - first_rows
        ends = np.cumsum(lengths)
        if not len(ends) or not ends[-1]:
            return np.zeros(0, dtype=np.int64)

        # Joins the ranges of all names without a loop: `ends - lengths` is where a range begins in the output, and each
        # of its places is shifted from there to the first row of the name.
        positions = np.arange(int(ends[-1])) + np.repeat(first_rows - (ends - lengths), lengths)
        return np.sort(self._name_rows[positions].astype(np.int64))

    def rows_of_name(self, name: bytes) -> Int64Array:
        """Return the rows, ascending, that bear exactly this name."""
        number = bisect.bisect_left(range(len(self._name_end)), name, key=self._text)
        if number == len(self._name_end) or self._text(number) != name:
            return np.zeros(0, dtype=np.int64)
        return self._name_rows[int(self._name_first[number]) : int(self._name_first[number + 1])].astype(np.int64)

    def _text(self, number: int) -> bytes:
        return bytes(self._names[int(self.name_start[number]) : int(self._name_end[number])])

    def rows_of(self, name: bytes) -> Int64Array:
        """Return the rows, ascending, that bear exactly this name."""
        number = self.number_of(name)
        if number is None:
            return np.zeros(0, dtype=np.int64)
        start, end = (int(offset) for offset in self._name_first[number : number + 2])
        return self._name_rows[start:end].astype(np.int64)

    def number_of(self, name: bytes) -> int | None:
        """Return the number of a name, None when no definition has it."""
        starts, text = self.name_start, self._names

        def name_at(number: int) -> bytes:
            return bytes(text[int(starts[number]) : int(starts[number + 1]) - 1])

        number = bisect.bisect_left(range(len(self._name_end)), name, key=name_at)
        is_match = number < len(self._name_end) and name_at(number) == name
        return number if is_match else None

    def documents_of(self, rows: Int64Array) -> Int64Array:
        """Return the document of each row."""
        # The same type on both sides, or numpy converts all of `doc_first` on each call. Documents without definitions
        # begin at the same row as the next document; `side="right"` skips them.
        return self.doc_first.searchsorted(rows.astype(np.uint32), side="right").astype(np.int64) - 1

    def texts(self, numbers: AnyArray) -> list[bytes]:
        """Return names by their numbers."""
        indexes = numbers.astype(np.int64)
        pairs = zip(self.name_start[indexes].tolist(), self.name_start[indexes + 1].tolist(), strict=True)
        return [bytes(self._names[start : end - 1]) for start, end in pairs]

    def definitions(self, document: int) -> FileDefinitions:
        """Return the definitions of a document as they were added."""
        start, end = (int(offset) for offset in self.doc_first[document : document + 2])
        columns: Sequence[Array] = [getattr(self, column)[start:end] for column in COLUMNS]
        rows = np.stack([column.astype(np.uint32) for column in columns], axis=1)
        names, containers = self.texts(self.name[start:end]), self.texts(self.container[start:end])
        return FileDefinitions(
            names=names,
            containers=containers,
            rows=rows,
            incomplete=self.state(document),
            imports=self.imports(document),
        )

    @functools.cached_property
    def importing(self) -> BoolArray:
        """Mask of the documents with imports."""
        return np.asarray(self._doc_import[1:] > self._doc_import[:-1])

    @property
    def import_documents(self) -> Int64Array:
        """The document of each import."""
        bounds = self._doc_import.astype(np.int64)
        return np.arange(self.documents).repeat(bounds[1:] - bounds[:-1])

    def imports(self, document: int) -> list[Import]:
        """Return the imports of a document, in order."""
        start, end = (int(offset) for offset in self._doc_import[document : document + 2])
        # Aliases are stored apart, for the few imports that have one.
        first_alias, end_alias = np.searchsorted(self._import_renamed, np.array([start, end], dtype=np.uint32)).tolist()
        aliases = dict(
            zip(
                self._import_renamed[first_alias:end_alias].tolist(),
                self._import_alias[first_alias:end_alias].tolist(),
                strict=True,
            )
        )
        columns = (self.import_module[start:end], self.import_member[start:end], self._import_line[start:end])
        return [
            Import(
                module=self.import_text(module),
                member=self.import_text(member),
                alias=self.import_text(aliases.get(row, 0)),
                line=line,
            )
            for row, module, member, line in zip(
                range(start, end), *(column.tolist() for column in columns), strict=True
            )
        ]

    def import_text(self, number: int) -> str:
        """Return a text of the table of imports by its number: a module, a member or an alias."""
        start, end = (int(offset) for offset in self._import_text_start[number : number + 2])
        return bytes(self._import_texts[start : end - 1]).decode()

    def imported_modules(self) -> dict[str, int]:
        """Return every module that is imported, as written, and how many imports name it."""
        numbers, counts = np.unique(self.import_module, return_counts=True)
        return {
            self.import_text(number): count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
        }


def _starts(text: Array) -> Int64Array:
    """Return the start offset of each line, and the end of the last one."""
    return np.concatenate(([0], np.flatnonzero(text == _NEWLINE) + 1))


def _as_uint32(values: Array) -> NDArray[np.uint32]:
    return values.astype(np.uint32, copy=False)


def _sums(lengths: Array) -> Int64Array:
    sums = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=sums[1:])
    return sums
