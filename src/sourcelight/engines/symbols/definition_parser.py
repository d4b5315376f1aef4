"""Parse the definitions in one file with tree-sitter.

A grammar gives a tree also for text with errors, and one query over it finds definitions and imports. Texts on which
this would take long are not read: large ones, ones that parse slowly, and ones with so many loose tokens in a node that
the query, which can't be stopped, would take a time that is quadratic in them. What is left out has a reason, and no
text raises an error.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cells.magics import mask_script
from sourcelight.engines.symbols.captures import DECLARATION, Captures, OrderedDefinition, order_definitions
from sourcelight.engines.symbols.grammars import GRAMMARS, KINDS, load_grammar
from sourcelight.engines.symbols.import_parser import Import, read_imports

if TYPE_CHECKING:
    from tree_sitter import Tree

MAX_FILE_BYTES = 1024 * 1024
"""Bytes above which a file is not parsed: generated or bundled text, at 10 MB/s."""

MAX_SECONDS = 5.0
"""Seconds after which parsing a file stops; only text that is made to be slow takes that long."""

COLUMNS = ("offset", "line", "begin_line", "end_line", "parent", "kind", "flags")
"""Columns of `FileDefinitions.rows`."""

_READ_BYTES = 2 * 1024
"""Bytes per read of the parser. Each `node.text` is a read as well: it takes 7 µs, but 2 ms with reads of 64 KiB."""

_MAX_LOOSE_TOKENS = 4096
"""Tokens of one node that the grammar could not join, above which a query would take too long."""

_MAX_UNCHECKED_BYTES = 8 * 1024
"""Size up to which a text is too short to have so many tokens in one node that a query is slow."""

_CPP = re.compile(rb"^[ \t]*(?:class|namespace|template|using|public:|private:|protected:)(?![\w-])", re.MULTILINE)
"""The start of a line of C++ that is no line of C."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition.

    `offset` is the byte offset of the name, `line` its 1-based line, `column` the 0-based byte of the name in that
    line (-1 without the text). `begin_line` and `end_line` enclose the whole definition, decorators included. `parent`
    is the index of the enclosing definition in its file, -1 for none. `container` is the name of the class or module
    around it, even if that is in another file.
    """

    name: str
    kind: str
    container: str
    offset: int
    line: int
    begin_line: int
    end_line: int
    parent: int = -1
    declaration: bool = False
    column: int = -1


def _no_rows() -> NDArray[np.uint32]:
    return np.zeros((0, len(COLUMNS)), dtype=np.uint32)


@dataclass(slots=True)
class FileDefinitions:
    """The definitions of one file, in the order of where they begin.

    `rows` has the columns `COLUMNS`: byte offset of the name, its line, first and last line of the whole (all lines
    1-based), index of the parent plus one (0: none), index of the kind in `KINDS`, and flags. `incomplete` is the
    reason why there may be more: ``too-large``, ``timed-out`` or ``unparsable``. `imports` is what the file imports, in
    order.
    """

    names: list[bytes] = field(default_factory=list)
    containers: list[bytes] = field(default_factory=list)
    rows: NDArray[np.uint32] = field(default_factory=_no_rows)
    incomplete: str = ""
    imports: list[Import] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def definitions(self, data: bytes | None = None) -> Iterator[Definition]:
        """Yield the definitions one by one; with the file's text they have columns."""
        rows = zip(self.names, self.containers, self.rows.tolist(), strict=True)
        return (_definition(name, container, row, data) for name, container, row in rows)

    def named_on(self, line: int) -> list[Definition]:
        """Return the definitions whose name is on a line."""
        return self._rows_where(self.rows[:, COLUMNS.index("line")] == line)

    def around(self, line: int) -> list[Definition]:
        """Return the definitions that a line is within."""
        starts, ends = (self.rows[:, COLUMNS.index(column)] for column in ("begin_line", "end_line"))
        return self._rows_where((starts <= line) & (ends >= line))

    def _rows_where(self, mask: NDArray[np.bool_]) -> list[Definition]:
        numbers = np.flatnonzero(mask).tolist()
        return [_definition(self.names[n], self.containers[n], self.rows[n].tolist(), None) for n in numbers]


def _definition(name: bytes, container: bytes, row: Sequence[int], data: bytes | None) -> Definition:
    offset, line, begin_line, end_line, parent, kind, flags = row
    column = -1 if data is None else offset - (data.rfind(b"\n", 0, offset) + 1)
    return Definition(
        name=name.decode(errors="replace"),
        kind=KINDS[kind],
        container=container.decode(errors="replace"),
        offset=offset,
        line=line,
        begin_line=begin_line,
        end_line=end_line,
        parent=parent - 1,
        declaration=bool(flags & DECLARATION),
        column=column,
    )


def text_definitions(language: str, data: bytes, *, max_seconds: float = MAX_SECONDS) -> FileDefinitions:
    """Find the definitions in a text.

    A text with syntax errors gives the definitions that the parser recovers. No text raises an error:
    `FileDefinitions.incomplete` has the reason. A C header that looks like C++ is parsed as C++.

    Parameters
    ----------
    language
        Display name; without a grammar there are no definitions.
    data
        The bytes of the file; invalid UTF-8 is allowed.
    max_seconds
        Seconds after which parsing stops.
    """
    if language not in GRAMMARS or not data.strip():
        return FileDefinitions()
    if len(data) > MAX_FILE_BYTES:
        return FileDefinitions(incomplete="too-large")

    language = language_for(language, data)
    data = mask_script(data, language)
    deadline = time.monotonic() + max_seconds
    tree = parse_tree(language, data, deadline)
    if tree is None:
        return FileDefinitions(incomplete="timed-out")
    if len(data) > _MAX_UNCHECKED_BYTES and tree.root_node.has_error and _is_unparsable(tree):
        return FileDefinitions(incomplete="unparsable")

    captures = Captures(data)
    roots = captures.read_python(tree.root_node) if language == "Python" else [tree.root_node]
    captures.run_query(language, roots)
    ordered = order_definitions(captures.definitions(), GRAMMARS[language].constructor)
    file_definitions = _to_rows(ordered, data, "unparsable" if tree.root_node.is_error else "")
    file_definitions.imports = read_imports(language, captures.imports, data)
    return file_definitions


def language_for(language: str, data: bytes) -> str:
    """Return the language that a text is parsed as: the C grammar would turn the classes of a `.h` file into errors."""
    return "C++" if language == "C" and _CPP.search(data) else language


class _Parsers(threading.local):
    """Parsers, which no two threads may share."""

    def __init__(self) -> None:
        self.by_language: dict[str, Any] = {}


_parsers = _Parsers()


def parse_tree(language: str, data: bytes, deadline: float) -> Tree | None:
    """Parse a text; return None when that is not done at `deadline` (of `time.monotonic`)."""
    parser = _parsers.by_language.get(language)
    if parser is None:
        from tree_sitter import Parser

        # Loading a grammar takes up to a second, once per process; it must not count as parsing time.
        started_s = time.monotonic()
        parser = _parsers.by_language[language] = Parser(load_grammar(language)[0])
        deadline += time.monotonic() - started_s

    if time.monotonic() >= deadline:
        return None

    timed_out = False

    def has_timed_out(*_: object) -> bool:
        nonlocal timed_out
        timed_out = timed_out or time.monotonic() > deadline
        return timed_out

    try:
        tree: Tree = parser.parse(
            lambda position, _: data[position : position + _READ_BYTES], progress_callback=has_timed_out
        )
    except ValueError:  # the parser raises it when the callback stops it
        parser.reset()
        return None

    return tree


def _is_unparsable(tree: Tree) -> bool:
    """Return whether a node holds thousands of tokens that the grammar could not join.

    A query over them takes time that grows with the square of their number and, unlike parsing, can't be stopped.
    """
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if node.child_count - node.named_child_count > _MAX_LOOSE_TOKENS:
            return True
        pending += [child for child in node.named_children if child.has_error]
    return False


def _to_rows(ordered: list[OrderedDefinition], data: bytes, incomplete: str) -> FileDefinitions:
    """Return the definitions as rows, with lines instead of byte ranges."""
    if not ordered:
        return FileDefinitions(incomplete=incomplete)

    starts, ends, name_starts, parents, kinds, flags, names, containers = zip(*ordered, strict=True)
    # All byte offsets become line numbers by one binary search: counting newlines per definition is quadratic in large
    # files.
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)

    # An end is exclusive: the last byte decides the last line. An empty node has no last byte, so its start counts.
    last_bytes = np.maximum(np.array(ends) - 1, np.array(starts))
    lines = np.searchsorted(newlines, np.concatenate((name_starts, starts, last_bytes))) + 1
    count = len(ordered)
    rows = np.empty((count, len(COLUMNS)), dtype=np.uint32)
    rows[:, 0] = name_starts
    rows[:, 1], rows[:, 2], rows[:, 3] = lines.reshape(3, count)
    rows[:, 4] = parents
    rows[:, 5] = kinds
    rows[:, 6] = flags
    return FileDefinitions(names=list(names), containers=list(containers), rows=rows, incomplete=incomplete)
