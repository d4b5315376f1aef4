"""Tables of the definitions and imports of many documents: the reader, and the search for names in them.

`table_builder` describes the format. A table is read as a whole once and stays open, so it need not be mapped.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, runs, unique_sorted
from sourcelight.engines.symbols.definition_parser import COLUMNS, FileDefinitions
from sourcelight.engines.symbols.import_parser import Import
from sourcelight.engines.symbols.table_builder import FORMAT, STATES, unpack

if TYPE_CHECKING:
    from sourcelight.core.patterns.compiled import CompiledPattern

KEY_BYTES = 20
"""Bytes of the key of a document, which is the id of its blob."""

_NEWLINE = 10

_MAX_CHECKED = 20_000
"""Maximum names to check one by one; for more, matching all names in one call is faster."""


class SectionSource(Protocol):
    """Named arrays and values, as `TableBuilder` writes them; a mapped file is one."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The facts."""
        ...

    def array(self, name: str) -> AnyArray:
        """Return an array by name."""
        ...

    def bytes_of(self, name: str) -> memoryview:
        """Return the bytes of an array by name."""
        ...


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
    # Offsets ascend, and so do the numbers.
    matching = unique_sorted(starts.searchsorted(offsets, side="right") - 1)
    if pattern.exact:
        return matching
    if len(matching) > _MAX_CHECKED:
        return np.flatnonzero(pattern.match_many(names, starts, name_start[1:] - 1))

    # A scan of lines may find more than a match within one name, so each is checked by itself.
    with_match, _, _ = pattern.spans(names, starts[matching], name_start[matching + 1] - 1)
    return matching[np.unique(with_match)]


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

        def unpack_column(name: str) -> AnyArray:
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

    def rows_of_names(self, name_numbers: Int64Array) -> Int64Array:
        """Return the rows, ascending, that bear one of the names with these numbers."""
        first_rows = self._name_first[name_numbers].astype(np.int64)
        lengths = self._name_first[name_numbers + 1] - first_rows
        return np.sort(self._name_rows[runs(first_rows, lengths)].astype(np.int64))

    def rows_of(self, name: bytes) -> Int64Array:
        """Return the rows, ascending, that bear exactly this name."""
        number = self.number_of(name)
        if number is None:
            return np.zeros(0, dtype=np.int64)

        start, end = self._name_first[number : number + 2].tolist()
        return self._name_rows[start:end].astype(np.int64)

    def number_of(self, name: bytes) -> int | None:
        """Return the number of a name, None when no definition has it."""
        number = bisect.bisect_left(range(len(self._name_end)), name, key=self._name_at)
        if number == len(self._name_end) or self._name_at(number) != name:
            return None
        return number

    def _name_at(self, number: int) -> bytes:
        return bytes(self._names[int(self.name_start[number]) : int(self._name_end[number])])

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
        columns: Sequence[AnyArray] = [getattr(self, column)[start:end] for column in COLUMNS]
        return FileDefinitions(
            names=self.texts(self.name[start:end]),
            containers=self.texts(self.container[start:end]),
            rows=np.stack([column.astype(np.uint32) for column in columns], axis=1),
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
        aliases = self._aliases_between(start, end)
        modules = self.import_module[start:end].tolist()
        members = self.import_member[start:end].tolist()
        lines = self._import_line[start:end].tolist()
        imports = []
        for row, module, member, line in zip(range(start, end), modules, members, lines, strict=True):
            imports.append(
                Import(
                    module=self.import_text(module),
                    member=self.import_text(member),
                    alias=self.import_text(aliases.get(row, 0)),
                    line=line,
                )
            )
        return imports

    def _aliases_between(self, start: int, end: int) -> dict[int, int]:
        """Return the aliases of some imports, by their rows: texts by number, for the few imports that have one."""
        first, last = np.searchsorted(self._import_renamed, np.array([start, end], dtype=np.uint32)).tolist()
        rows = self._import_renamed[first:last].tolist()
        return dict(zip(rows, self._import_alias[first:last].tolist(), strict=True))

    def import_text(self, number: int) -> str:
        """Return a text of the table of imports by its number: a module, a member or an alias."""
        start, end = (int(offset) for offset in self._import_text_start[number : number + 2])
        return bytes(self._import_texts[start : end - 1]).decode()

    def imported_modules(self) -> dict[str, int]:
        """Return every module that is imported, as written, and how many imports name it."""
        numbers, counts = np.unique(self.import_module, return_counts=True)
        modules = map(self.import_text, numbers.tolist())
        return dict(zip(modules, counts.tolist(), strict=True))


def _starts(text: AnyArray) -> Int64Array:
    """Return the start offset of each line, and the end of the last one."""
    return np.concatenate(([0], np.flatnonzero(text == _NEWLINE) + 1))


def _as_uint32(values: AnyArray) -> NDArray[np.uint32]:
    return values.astype(np.uint32, copy=False)


def _sums(lengths: AnyArray) -> Int64Array:
    sums = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=sums[1:])
    return sums
