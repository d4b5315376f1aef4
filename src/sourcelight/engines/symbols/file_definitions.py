"""The definitions of a file; a notebook is parsed by cells, in the language of the kernel or the chunk.

Cells of one language are one *program*: their texts one after the other, so that a definition in a cell is known in the
next. Definitions are found in the program, and then moved to their places in the file.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.core.cells import UnreadableNotebook, read_cells
from sourcelight.core.cells.magics import mask_script
from sourcelight.core.cells.programs import Program, programs_of
from sourcelight.engines.symbols.definition_parser import (
    COLUMNS,
    MAX_SECONDS,
    FileDefinitions,
    language_for,
    parse_tree,
    text_definitions,
)
from sourcelight.engines.symbols.grammars import CELL_FORMATS, GRAMMARS, LANGUAGES
from sourcelight.engines.symbols.import_parser import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = {"Jupyter Notebook": "x.ipynb", "RMarkdown": "x.qmd"}
"""A path by which the cells of each format are read."""

_OFFSET = COLUMNS.index("offset")
_LINE = COLUMNS.index("line")
_BEGIN_LINE = COLUMNS.index("begin_line")
_END_LINE = COLUMNS.index("end_line")
_PARENT = COLUMNS.index("parent")

_ENTRY_BYTES = 256
"""Bytes that the code of a notebook takes in memory beside its text, about."""

_SENTINEL = b"\n_\n"
"""A statement after a cell: if the parser reads it as one of its own, the cell has closed all brackets and quotes."""

_BRACKETS = {"(": ")", "[": "]", "{": "}", "string_start": "string_end"}
"""Pairs of nodes, of which one without the other means a syntax error."""


@dataclass(frozen=True, slots=True)
class ProgramDefinitions:
    """A program and its definitions, at their places in its text.

    A cell that would break the next one, such as by an open bracket, is blank in the program; its own definitions are
    kept.
    """

    program: Program
    definitions: FileDefinitions


def read_programs(cell_format: str, data: bytes, *, max_seconds: float = MAX_SECONDS) -> list[ProgramDefinitions]:
    """Return the programs of a file, that in the language with most code first.

    Raises
    ------
    UnreadableNotebook
        If the file is broken, too large or not a notebook.
    """
    deadline = time.monotonic() + max_seconds
    document = read_cells(_NAMES[cell_format], data, with_outputs=False)
    return [_find_definitions(program, deadline) for program in programs_of(document, data, LANGUAGES)]


def definitions(language: str, data: bytes, *, max_seconds: float = MAX_SECONDS) -> FileDefinitions:
    """Find the definitions in a file; offsets and lines refer to the file.

    No content raises an error: `FileDefinitions.incomplete` says why definitions may be missing.

    Parameters
    ----------
    language
        Display name; without a grammar there are no definitions. A notebook is parsed by its cells.
    data
        The bytes of the file; invalid UTF-8 is allowed.
    max_seconds
        Seconds after which parsing stops.
    """
    if language not in CELL_FORMATS:
        return text_definitions(language, data, max_seconds=max_seconds)
    if not data.strip():
        return FileDefinitions()

    try:
        programs = read_programs(language, data, max_seconds=max_seconds)
    except UnreadableNotebook:
        return FileDefinitions(incomplete="unparsable")

    return _join([_to_file(program.program, program.definitions) for program in programs])


def imports(language: str, data: bytes) -> list[Import]:
    """Find the imports of a file, as `definitions` does along the way."""
    return definitions(language, data).imports


@dataclass(frozen=True, slots=True)
class NotebookCode:
    """Code of a notebook.

    Attributes
    ----------
    code
        The code in the main language of the notebook, with its definitions; None without a grammar for it.
    size
        Approximate bytes of that code.
    is_readable
        False if the file is broken, or only its name looks like a notebook.
    """

    code: ProgramDefinitions | None
    size: int
    is_readable: bool = True


def read_code(cell_format: str, data: bytes) -> NotebookCode:
    """Read the code of a notebook."""
    if not data:
        return NotebookCode(None, _ENTRY_BYTES)

    try:
        programs = read_programs(cell_format, data)
    except UnreadableNotebook:
        return NotebookCode(None, _ENTRY_BYTES, is_readable=False)

    if not programs:
        return NotebookCode(None, _ENTRY_BYTES)
    return NotebookCode(programs[0], _ENTRY_BYTES + len(programs[0].program.text))


def _find_definitions(program: Program, deadline: float) -> ProgramDefinitions:
    """Find the definitions of a program: its cells together, and each cell that would spoil the others alone."""
    open_cells = _open_cells(program, deadline) if program.language == "Python" else []
    visible = program.without(frozenset(open_cells)) if open_cells else program
    parts = [text_definitions(program.language, visible.text, max_seconds=_seconds_until(deadline))]
    for number in open_cells:
        start, end = program.spans[number]
        of_cell = text_definitions(program.language, program.text[start:end], max_seconds=_seconds_until(deadline))
        parts.append(_shift(of_cell, start, program.line_at(start)))

    return ProgramDefinitions(visible, _join(parts))


def _seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _open_cells(program: Program, deadline: float) -> list[int]:
    """Return the cells with an error that reaches beyond their end, by their places in `Program.spans`."""
    tree = parse_tree(program.language, program.text, deadline)
    if tree is None or not tree.root_node.has_error:
        return []

    numbers = []
    for number, (start, end) in enumerate(program.spans):
        text = program.text[start:end]
        tree = parse_tree(program.language, text + _SENTINEL, deadline)
        if tree is None:
            break
        if tree.root_node.has_error and not _is_closed(tree.root_node, len(text) + 1):
            numbers.append(number)

    return numbers


def _is_closed(root: Node, sentinel: int) -> bool:
    """Return whether code with errors ends before the statement at the byte `sentinel`."""
    last = root.named_children[-1] if root.named_children else None
    if last is None or last.type != "expression_statement" or last.start_byte != sentinel:
        return False

    # The parser recovers from errors: it may skip an unclosed quote or bracket and read the rest as code.
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error and _has_open_bracket(node):
            return False
        pending += [child for child in node.children if child.has_error]

    return True


def _has_open_bracket(node: Node) -> bool:
    types = [child.type for child in node.children]
    return any(types.count(opening) > types.count(closing) for opening, closing in _BRACKETS.items())


def _shift(table: FileDefinitions, offset: int, lines: int) -> FileDefinitions:
    """Return definitions of a part of a text at their places in the whole."""
    rows = table.rows.copy()
    rows[:, _OFFSET] += offset
    rows[:, (_LINE, _BEGIN_LINE, _END_LINE)] += lines
    imports = [replace(statement, line=statement.line + lines) for statement in table.imports]
    return replace(table, rows=rows, imports=imports)


def _to_file(program: Program, table: FileDefinitions) -> FileDefinitions:
    """Return definitions of a program at their places in the file."""
    rows = table.rows.copy()
    rows[:, _OFFSET] = program.file_offsets(rows[:, _OFFSET])
    for column in (_LINE, _BEGIN_LINE, _END_LINE):
        rows[:, column] = program.file_lines[rows[:, column].astype(np.int64) - 1]
    imports = [replace(statement, line=int(program.file_lines[statement.line - 1])) for statement in table.imports]
    return replace(table, rows=rows, imports=imports)


def _join(parts: Sequence[FileDefinitions]) -> FileDefinitions:
    """Return the definitions of several parts of a file in the order of their names."""
    if len(parts) == 1:
        return parts[0]

    names: list[bytes] = []
    containers: list[bytes] = []
    imports: list[Import] = []
    tables = [FileDefinitions().rows]
    for part in parts:
        rows = part.rows.copy()
        # Parents count within their part; `len(names)` rows of earlier parts come first. 0 stays 0: no parent.
        rows[rows[:, _PARENT] > 0, _PARENT] += len(names)
        tables.append(rows)
        names += part.names
        containers += part.containers
        imports += part.imports

    rows = np.concatenate(tables)
    order = np.argsort(rows[:, _OFFSET], kind="stable")

    # A parent is the index of its row plus one, and 0 for none. Sorting moves the rows, so parents are renumbered.
    new_places = np.zeros(len(order) + 1, dtype=np.uint32)
    new_places[order + 1] = np.arange(1, len(order) + 1)
    rows = rows[order]
    rows[:, _PARENT] = new_places[rows[:, _PARENT]]
    reasons = [part.incomplete for part in parts if part.incomplete]
    return FileDefinitions(
        names=[names[number] for number in order.tolist()],
        containers=[containers[number] for number in order.tolist()],
        rows=rows,
        incomplete=reasons[0] if reasons else "",
        imports=sorted(imports, key=lambda statement: statement.line),
    )


def has_errors(language: str, data: bytes, *, max_seconds: float) -> bool:
    """Return whether a grammar lost its way in a text, so that `text_definitions` may lack some.

    Parameters
    ----------
    language
        Display name; a language without a grammar has no errors.
    data
        The bytes of the file; invalid UTF-8 is allowed.
    max_seconds
        Seconds after which parsing stops, which counts as an error.
    """
    if language not in GRAMMARS or not data.strip():
        return False
    tree = parse_tree(language_for(language, data), mask_script(data, language), time.monotonic() + max_seconds)
    return tree is None or tree.root_node.has_error
