"""The cells of Jupyter notebooks: nbformat 4, and nbformat 3 with its worksheets.

Like any reader of nbformat, this one joins the strings of a source. It also remembers the place of each string in the
file. A missing or invalid part, such as a source that is a number, is read as empty: a broken cell must not hide the
others.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.cells.json_places import JsonNode, JsonScalar, JsonString, read_json, unescape
from sourcelight.core.cells.model import CellDocument, CellText, Fragment
from sourcelight.core.cells.strings import (
    LineStrings,
    StringRun,
    StringTable,
    UnknownPlaces,
    count_strings,
    join_lines,
    load_json,
    run_of,
    string_table,
)
from sourcelight.core.query.fields import CODE, MARKDOWN, OUTPUT, RAW
from sourcelight.core.query.languages import find_language

_SOURCES = ("source", "input")
_SOURCE_TYPES = frozenset({str, list, type(None)})

_WORKSHEETS_BEFORE = 4
"""The first version of nbformat without worksheets."""

_KINDS = {"code": CODE, "markdown": MARKDOWN, "heading": MARKDOWN, "html": MARKDOWN, "raw": RAW}

_READABLE_DATA = ("text/plain", "text/markdown", "text/latex")
"""Mime types of outputs that people read as text. HTML, JSON and images are for programs."""


_ESCAPES = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)")


class NoNotebook(ValueError):
    """Raised for JSON without the lists of a notebook."""


def read_notebook(data: bytes, *, with_outputs: bool = True) -> CellDocument:
    """Return the cells of a notebook.

    Raises
    ------
    InvalidJson
        The data isn't JSON, or is too large.
    NoNotebook
        The JSON has no cells.
    """
    try:
        return _read_quickly(data, with_outputs=with_outputs)
    except UnknownPlaces:
        document = read_slowly(data)
        if with_outputs:
            return document
        return dataclasses.replace(document, texts=document.sources)


def quick_text(data: bytes, kinds: frozenset[str]) -> bytes | None:
    """Return all lines of all texts of some kinds, or None for a notebook that needs the slow reader.

    Without the places of strings, it takes a third of the time of `read_notebook`.
    """
    root = load_json(data)
    if type(root) is not dict:
        return None

    sheets = root.get("worksheets") if _is_old(root) else [root]
    if type(sheets) is not list or (not _is_old(root) and type(root.get("cells")) is not list):
        return None

    texts: list[str] = []
    try:
        for sheet in sheets:
            cells = sheet.get("cells") if type(sheet) is dict else None
            for cell in cells if type(cells) is list else ():
                source = cell.get("source", cell.get("input")) if type(cell) is dict else 0
                if type(source) not in _SOURCE_TYPES:
                    return None  # a malformed cell is counted where cells are read
                separator = "\n" if _is_old(root) else ""
                if _kind_of(cell) in kinds:
                    texts.append(separator.join(run_of(source, 0).strings))
                outputs = cell.get("outputs") if OUTPUT in kinds else None
                if type(outputs) is list:
                    texts += (separator.join(run.strings) for run in _OutputWalk(0).runs(outputs))

        return "\n".join(texts).encode()
    except UnknownPlaces:
        return None


def read_slowly(data: bytes) -> CellDocument:
    """Return the cells of any notebook, also with repeated keys, invalid bytes or errors that other readers accept."""
    root = read_json(data)
    if not isinstance(root, dict):
        raise NoNotebook("it has no cells")

    version = _number(data, root.get(b"nbformat"))
    file = _NotebookFile(data, is_old=version is not None and version < _WORKSHEETS_BEFORE)
    if file.is_old:
        cells = [cell for sheet in _items(root.get(b"worksheets")) for cell in _items(_get(sheet, b"cells"))]
        is_notebook = isinstance(root.get(b"worksheets"), list)
    else:
        cells, is_notebook = list(_items(root.get(b"cells"))), isinstance(root.get(b"cells"), list)

    if not is_notebook:
        raise NoNotebook("it has no cells")

    language = file.kernel_language(root.get(b"metadata"))
    texts: list[CellText] = []
    malformed = 0
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            malformed += 1
            continue

        kind = _KINDS.get(file.text(cell.get(b"cell_type")).decode("utf-8", "replace"), RAW)
        # nbformat 3 has other keys for the source of code and its language.
        source = cell.get(b"source", cell.get(b"input"))
        malformed += not _is_source(data, source)
        own_language = find_language(file.text(cell.get(b"language")).decode("utf-8", "replace")) or language
        language = language or own_language
        joined_text = file.join([_strings(source)])
        of_cell = [CellText(number, kind, own_language, *joined_text)] if joined_text[0] else []
        output = file.join(_output_texts(_items(cell.get(b"outputs")))) if kind == CODE else (b"", ())
        if output[0]:
            of_cell.append(CellText(number, OUTPUT, own_language, *output))

        # Keys are sorted in most notebooks, so outputs come before their source.
        texts += sorted(of_cell, key=lambda text: text.file_start)

    return CellDocument(texts=tuple(texts), language=language, cells=len(cells), malformed=malformed)


def _kind_of(cell: dict[str, Any]) -> str:
    cell_type = cell.get("cell_type")
    return _KINDS.get(cell_type, RAW) if type(cell_type) is str else RAW


def _is_old(root: dict[str, Any]) -> bool:
    version = root.get("nbformat")
    return type(version) is int and 0 <= version < _WORKSHEETS_BEFORE


def _read_quickly(data: bytes, *, with_outputs: bool) -> CellDocument:
    """Return the cells of a notebook that is plain JSON of a bounded size.

    Raises
    ------
    UnknownPlaces
        The notebook needs the slow reader.
    """
    root = load_json(data)
    if type(root) is not dict:
        raise UnknownPlaces

    # The table has the places of all strings in the order of the file. The parsed values come in the same order, so
    # counting strings while walking them leads from a value to its place.
    table = string_table(data)
    is_old = _is_old(root)
    language = _language_named(_kernel_names(root.get("metadata")))
    reader = _QuickReader(data, table, language, with_outputs=with_outputs, is_old=is_old)
    number = 0
    is_notebook = False
    for key, value in root.items():
        number += 1
        if key == ("worksheets" if is_old else "cells") and type(value) is list:
            is_notebook = True
            number = reader.add_sheets(value, number) if is_old else reader.add_cells(value, number)
        else:
            number += count_strings(value)

    # JSON parsers drop the earlier values of a repeated key, and the numbers of all later strings would be wrong.
    if not is_notebook or number != len(table.starts) or number != len(table.ends):
        raise UnknownPlaces

    return CellDocument(tuple(reader.texts), reader.language, reader.cells, reader.malformed, weight=table.nbytes)


@dataclass(slots=True)
class _QuickReader:
    """Collects the texts of cells while it numbers the strings of their values."""

    data: bytes
    table: StringTable
    language: str
    with_outputs: bool
    is_old: bool = False
    texts: list[CellText] = field(default_factory=list)
    cells: int = 0
    malformed: int = 0
    _file: _NotebookFile | None = None

    def add_sheets(self, sheets: list[Any], number: int) -> int:
        """Add the cells of worksheets; `number` is that of their first string. Return the one after their last."""
        for sheet in sheets:
            if type(sheet) is not dict:
                number += count_strings(sheet)
                continue
            for key, value in sheet.items():
                number += 1
                is_list = key == "cells" and type(value) is list
                number = self.add_cells(value, number) if is_list else number + count_strings(value)

        return number

    def add_cells(self, cells: list[Any], number: int) -> int:
        """Add a list of cells; the numbers are those of `add_sheets`."""
        for cell in cells:
            self.cells += 1
            if type(cell) is not dict:
                self.malformed += 1
                number += count_strings(cell)
                continue

            self.malformed += type(cell.get("source", cell.get("input"))) not in _SOURCE_TYPES
            kind = _kind_of(cell)
            language = self.language
            if "language" in cell:
                language_string = cell["language"]
                language = (find_language(language_string) if type(language_string) is str else None) or language
                self.language = self.language or language

            for key, value in cell.items():
                number += 1
                # The most frequent case, without the call: a notebook may have a million strings.
                if type(value) is str and key not in _SOURCES:
                    number += 1
                elif key == "source" or (key == "input" and "source" not in cell):
                    run = run_of(value, number)
                    self._add(kind, language, (run,))
                    number += len(run.strings) if run.strings else count_strings(value)
                elif key == "outputs" and kind == CODE and self.with_outputs and type(value) is list:
                    walk = _OutputWalk(number)
                    self._add(OUTPUT, language, walk.runs(value))
                    number = walk.number
                elif value:
                    number += count_strings(value)

        return number

    def _add(self, kind: str, language: str, runs: Iterable[StringRun]) -> None:
        """Add the text of runs of strings, unless it is empty."""
        runs = tuple(runs)
        lines = [_with_newlines(run) for run in runs] if self.is_old else runs
        joined_text: tuple[bytes, LineStrings | tuple[Fragment, ...]] | None = join_lines(lines, self.table)
        if joined_text is None:
            self._file = self._file or _NotebookFile(self.data, is_old=self.is_old)
            starts, ends = self.table.starts, self.table.ends
            joined_text = self._file.join(
                [
                    JsonString(int(starts[index]), int(ends[index]))
                    for index in range(run.first, run.first + len(run.strings))
                ]
                for run in runs
            )

        if joined_text[0]:
            self.texts.append(CellText(self.cells, kind, language, *joined_text))


def _with_newlines(run: StringRun) -> StringRun:
    """Return the strings of a run with the newlines that writers of nbformat 2 left out, and some of nbformat 3."""
    strings = run.strings
    if len(strings) < 2 or strings[0].endswith(("\n", "\r")):
        return run
    return StringRun([*(f"{string}\n" for string in strings[:-1]), strings[-1]], run.first)


@dataclass(slots=True)
class _OutputWalk:
    """Reads outputs; `number` is that of the next string."""

    number: int

    def runs(self, outputs: list[Any]) -> Iterator[StringRun]:
        """Yield the text of each output, like `_output_texts`."""
        for output in outputs:
            if type(output) is not dict:
                self.number += count_strings(output)
                continue

            for key, value in output.items():
                self.number += 1
                if key == "data" and type(value) is dict:
                    for mime, content in value.items():
                        self.number += 1
                        if mime in _READABLE_DATA:
                            yield run_of(content, self.number)
                        self.number += count_strings(content)
                    continue

                if key in {"text", "evalue"}:
                    yield run_of(value, self.number)
                elif key == "traceback":
                    run = run_of(value, self.number)
                    # Lines of a traceback are separate strings without newlines; each is a run, which starts on a line
                    # of its own.
                    yield from (StringRun([line], run.first + index) for index, line in enumerate(run.strings))

                self.number += 1 if type(value) is str else count_strings(value)


def _kernel_names(metadata: Any) -> Iterator[str]:
    if type(metadata) is dict:
        for group, key in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
            values = metadata.get(group)
            name = values.get(key) if type(values) is dict else None
            yield name if type(name) is str else ""


def _language_named(names: Iterable[str]) -> str:
    """Return the display name of the first known language; empty without one."""
    return next((language for name in names if (language := find_language(name))), "")


def _get(node: JsonNode, key: bytes) -> JsonNode | None:
    return node.get(key) if isinstance(node, dict) else None


def _items(node: JsonNode | None) -> Iterable[JsonNode]:
    return node if isinstance(node, list) else ()


def _strings(node: JsonNode | None) -> list[JsonString]:
    """Return the strings of a source: one, or a list of them."""
    items = [node] if isinstance(node, JsonString) else _items(node)
    return [item for item in items if isinstance(item, JsonString)]


def _is_source(data: bytes, node: JsonNode | None) -> bool:
    """Return whether a node is a valid source: a text, a list of lines, null, or absent."""
    if isinstance(node, list):
        return all(isinstance(item, JsonString) for item in node)
    is_null = isinstance(node, JsonScalar) and data[node.start : node.end] == b"null"
    return node is None or is_null or isinstance(node, JsonString)


def _output_texts(outputs: Iterable[JsonNode]) -> Iterator[list[JsonString]]:
    """Yield the text of each output, as runs of strings to join, in the order of the file."""
    for output in outputs:
        if not isinstance(output, dict):
            continue
        # ``text`` is the key of streams; in nbformat 3, of any output.
        runs = [_strings(output.get(b"text")), _strings(output.get(b"evalue"))]
        runs += [[line] for line in _strings(output.get(b"traceback"))]
        data = output.get(b"data")
        if isinstance(data, dict):
            runs += [_strings(data.get(mime.encode())) for mime in _READABLE_DATA]
        yield from sorted(filter(None, runs), key=lambda run: run[0].start)


def _number(data: bytes, node: JsonNode | None) -> int | None:
    # `isdigit` first: the digits of a hostile number may be megabytes.
    text = data[node.start : node.end] if isinstance(node, JsonScalar) else b""
    return int(text) if text.isdigit() and len(text) < 4 else None


@dataclass(slots=True)
class _NotebookFile:
    """The bytes of a notebook, and where its lines end; `is_old` for nbformat 2 and 3."""

    data: bytes
    is_old: bool = False
    _newlines: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._newlines = [match.start() for match in re.finditer(b"\n", self.data)]

    def line_of(self, position: int) -> int:
        """Return the 1-based line of a byte."""
        return bisect.bisect_right(self._newlines, position) + 1

    def _breaks(self, string: JsonString) -> tuple[int, ...]:
        escapes = _ESCAPES.finditer(self.data, string.start, string.end)
        # Newlines inside a JSON string are escapes: these are the places where lines of the cell begin in the file.
        ends = tuple(escape.end() for escape in escapes if escape[0][1:].lower() in {b"n", b"u000a"})
        return ends[:-1] if ends and ends[-1] == string.end else ends

    def text(self, node: JsonNode | None) -> bytes:
        """Return the text of a string; empty for anything else."""
        if isinstance(node, JsonString):
            return unescape(self.data[node.start : node.end])
        return b""

    def kernel_language(self, metadata: JsonNode | None) -> str:
        """Return the display name of the kernel's language; empty for none, or an unknown one."""
        if not isinstance(metadata, dict):
            return ""

        language_names = [
            _get(metadata.get(b"language_info", {}), b"name"),
            _get(metadata.get(b"kernelspec", {}), b"language"),
            _get(metadata.get(b"kernelspec", {}), b"name"),
        ]
        return _language_named(self.text(name).decode("utf-8", "replace") for name in language_names)

    def join(self, runs: Iterable[list[JsonString]]) -> tuple[bytes, tuple[Fragment, ...]]:
        """Join strings; each run of them starts on a line of its own."""
        parts: list[bytes] = []
        fragments: list[Fragment] = []
        size = 0
        for run in runs:
            if parts and any(string.end > string.start for string in run) and not parts[-1].endswith(b"\n"):
                parts.append(b"\n")
                size += 1

            # By the first string: writers either ended all strings of a source with a newline, or none.
            first = unescape(self.data[run[0].start : run[0].end]) if self.is_old and len(run) > 1 else b"\n"
            is_separated = not first.endswith((b"\n", b"\r"))
            for position, string in enumerate(run):
                if is_separated and position:
                    parts.append(b"\n")
                    size += 1

                text = unescape(self.data[string.start : string.end])
                # If newlines were left out, an empty string is an empty line.
                if text or is_separated:
                    line = self.line_of(string.start)
                    breaks = self._breaks(string) if b"\n" in text[:-1] else ()
                    fragments.append(Fragment(string.start, string.end, line, size, is_json=True, breaks=breaks))
                    parts.append(text)
                    size += len(text)

        return b"".join(parts), tuple(fragments)
