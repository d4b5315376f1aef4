r"""The cells of Jupyter notebooks: nbformat 4, and nbformat 3 with its worksheets.

This is a notebook of nbformat 4, and one of nbformat 3::

    {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": "python"}},
        "cells": [
            {
                "cell_type": "code",
                "source": ["import os\n", "os.getcwd()"],
                "outputs": [{"data": {"text/plain": ["'/tmp'"]}}],
            }
        ],
    }

    {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "language": "python", "input": ["import os\n"]}]}]}

Like any reader of nbformat, this one joins the strings of a source. It also remembers the place of each string in the
file. A missing or invalid part, such as a source that is a number, is read as empty: a broken cell must not hide the
others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.cells import notebook_nodes
from sourcelight.core.cells.json_places import JsonString
from sourcelight.core.cells.model import CellDocument, CellText
from sourcelight.core.cells.strings import (
    StringRun,
    StringTable,
    UnknownPlaces,
    count_strings,
    join_lines,
    load_json,
    run_of,
    string_table,
)
from sourcelight.core.query.fields import CODE, OUTPUT, RAW
from sourcelight.core.query.languages import find_language

_SOURCE_KEYS = ("source", "input")
"""Keys of the source of a cell; ``input`` is of nbformat 3."""

_SOURCE_TYPES = frozenset({str, list, type(None)})
"""Types of a valid source."""


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
        document = notebook_nodes.read_slowly(data)
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

    is_old = _is_old(root)
    sheets = root.get("worksheets") if is_old else [root]
    if type(sheets) is not list:
        return None
    if not is_old and type(root.get("cells")) is not list:
        return None

    # nbformat 3 has the lines of a text without their newlines.
    separator = "\n" if is_old else ""
    texts: list[str] = []
    try:
        for cell in _cells_of(sheets):
            # A malformed cell is counted where cells are read.
            if type(cell) is not dict or type(_source_of(cell)) not in _SOURCE_TYPES:
                return None

            if _kind_of(cell) in kinds:
                texts.append(separator.join(run_of(_source_of(cell), 0).strings))
            outputs = cell.get("outputs")
            if OUTPUT in kinds and type(outputs) is list:
                for run in _OutputWalk(0).runs(outputs):
                    texts.append(separator.join(run.strings))

        return "\n".join(texts).encode()
    except UnknownPlaces:
        return None


def _cells_of(sheets: list[Any]) -> Iterator[Any]:
    for sheet in sheets:
        cells = sheet.get("cells") if type(sheet) is dict else None
        if type(cells) is list:
            yield from cells


def _source_of(cell: dict[str, Any]) -> Any:
    return cell.get("source", cell.get("input"))


def _kind_of(cell: dict[str, Any]) -> str:
    cell_type = cell.get("cell_type")
    # Any other value may not be hashable.
    if type(cell_type) is str:
        return notebook_nodes.KINDS.get(cell_type, RAW)
    return RAW


def _is_old(root: dict[str, Any]) -> bool:
    version = root.get("nbformat")
    return type(version) is int and 0 <= version < notebook_nodes.FIRST_WITHOUT_WORKSHEETS


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
    language = _kernel_language(root.get("metadata"))
    reader = _QuickReader(data, table, language, with_outputs=with_outputs, is_old=is_old)
    number = 0
    is_notebook = False
    for key, value in root.items():
        # The key is a string, too.
        number += 1
        if is_old and key == "worksheets" and type(value) is list:
            is_notebook = True
            number = reader.add_sheets(value, number)
        elif not is_old and key == "cells" and type(value) is list:
            is_notebook = True
            number = reader.add_cells(value, number)
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
    _file: notebook_nodes.NotebookFile | None = None

    def add_sheets(self, sheets: list[Any], number: int) -> int:
        """Add the cells of worksheets; `number` is that of their first string. Return the one after their last."""
        for sheet in sheets:
            if type(sheet) is not dict:
                number += count_strings(sheet)
                continue
            for key, value in sheet.items():
                number += 1
                if key == "cells" and type(value) is list:
                    number = self.add_cells(value, number)
                else:
                    number += count_strings(value)

        return number

    def add_cells(self, cells: list[Any], number: int) -> int:
        """Add a list of cells; the numbers are those of `add_sheets`."""
        for cell in cells:
            self.cells += 1
            if type(cell) is not dict:
                self.malformed += 1
                number += count_strings(cell)
                continue

            if type(_source_of(cell)) not in _SOURCE_TYPES:
                self.malformed += 1
            kind = _kind_of(cell)
            language = self._language_of(cell)
            for key, value in cell.items():
                number += 1
                # The most frequent case, without the call: a notebook may have a million strings.
                if type(value) is str and key not in _SOURCE_KEYS:
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

    def _language_of(self, cell: dict[str, Any]) -> str:
        """Return the language of a cell; the first that is known is the language of the notebook."""
        if "language" not in cell:
            return self.language

        name = cell["language"]
        language = find_language(name) if type(name) is str else None
        self.language = self.language or language or ""
        return language or self.language

    def _add(self, kind: str, language: str, runs: Iterable[StringRun]) -> None:
        """Add the text of runs of strings, unless it is empty."""
        runs = tuple(runs)
        lines = [_with_newlines(run) for run in runs] if self.is_old else runs
        joined_lines = join_lines(lines, self.table)
        if joined_lines is not None:
            text = CellText(self.cells, kind, language, *joined_lines)
        else:
            # A string with several lines, or with a part of one: the places of its lines are read from the file.
            joined_text = self._notebook_file().join(map(self._places_of, runs))
            text = CellText(self.cells, kind, language, joined_text.text, joined_text.fragments)

        if text.text:
            self.texts.append(text)

    def _notebook_file(self) -> notebook_nodes.NotebookFile:
        if self._file is None:
            self._file = notebook_nodes.NotebookFile(self.data, is_old=self.is_old)
        return self._file

    def _places_of(self, run: StringRun) -> list[JsonString]:
        end = run.first + len(run.strings)
        starts = self.table.starts[run.first : end].tolist()
        ends = self.table.ends[run.first : end].tolist()
        return list(map(JsonString, starts, ends))


def _with_newlines(run: StringRun) -> StringRun:
    """Return the strings of a run with the newlines that writers of nbformat 2 left out, and some of nbformat 3."""
    strings = run.strings
    if len(strings) < 2 or strings[0].endswith(("\n", "\r")):
        return run
    *first_strings, last_string = strings
    lines = [f"{string}\n" for string in first_strings]
    return StringRun([*lines, last_string], run.first)


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
                        if mime in notebook_nodes.READABLE_DATA:
                            yield run_of(content, self.number)
                        self.number += count_strings(content)
                    continue

                if key in {"text", "evalue"}:
                    yield run_of(value, self.number)
                elif key == "traceback":
                    run = run_of(value, self.number)
                    # Lines of a traceback are separate strings without newlines; each is a run, which starts on a line
                    # of its own.
                    for index, line in enumerate(run.strings, start=run.first):
                        yield StringRun([line], index)

                self.number += 1 if type(value) is str else count_strings(value)


def _kernel_language(metadata: Any) -> str:
    """Return the display name of the kernel's language; empty for none, or an unknown one."""
    if type(metadata) is not dict:
        return ""

    for group, key in notebook_nodes.KERNEL_NAMES:
        values = metadata.get(group)
        name = values.get(key) if type(values) is dict else None
        language = find_language(name) if type(name) is str else None
        if language:
            return language
    return ""
