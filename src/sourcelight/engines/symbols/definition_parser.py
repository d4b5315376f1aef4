"""Parse the definitions in one file with tree-sitter."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cells.magics import mask_script
from sourcelight.engines.symbols.grammars import GRAMMARS, KINDS, load_grammar
from sourcelight.engines.symbols.import_parser import Import, read_imports

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_FILE_BYTES = 1024 * 1024
"""Bytes above which a file is not parsed: generated or bundled text, at 10 MB/s."""

MAX_SECONDS = 5.0
"""Seconds after which parsing a file stops; only text that is made to be slow takes that long."""

MAX_NAME_BYTES = 1024
"""Maximum bytes of a name; longer ones are dropped."""

DECLARATION = 1
"""Flag of a prototype: the function has its body elsewhere."""

COLUMNS = ("offset", "line", "begin_line", "end_line", "parent", "kind", "flags")

_FUNCTIONS = frozenset({"function", "method", "constructor", "local"})
_CLASSES = frozenset({"class", "struct", "interface", "enum", "object", "scope", "typedef"})
_HOLDERS = _FUNCTIONS | _CLASSES | {"module", "namespace"}
_VALUES = frozenset({"variable", "constant", "field", "property"})
_NAMED_BY_TYPEDEF = frozenset({"struct", "class", "enum", "typedef"})
_UNTITLED = frozenset({"local", "scope"})
_SHOWN_AS = {"typedef": "class", "declaration": "function"}
_CODES = {name: KINDS.index(_SHOWN_AS.get(name, name)) for name in (*KINDS, *_SHOWN_AS)}

_READ_BYTES = 2 * 1024
"""Bytes per read of the parser. Each `node.text` is a read as well: it takes 7 µs, but 2 ms with reads of 64 KiB."""

_MAX_QUERY_STATES = 1 << 16
_MAX_UNCHECKED_BYTES = 8 * 1024
_MAX_LOOSE_TOKENS = 4096
_CPP = re.compile(rb"^[ \t]*(?:class|namespace|template|using|public:|private:|protected:)(?![\w-])", re.MULTILINE)
_PYTHON_DEFINITIONS = {"function_definition": "function", "class_definition": "class"}

_HOLDS_NAMES = re.compile(rb"\b(?:def|class|import|type)\b")
_SIMPLE = frozenset({"comment", "return_statement", "pass_statement", "assert_statement", "raise_statement"})


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
    1-based), place of the parent plus one (0: none), place of the kind in `KINDS`, and flags. `incomplete` is the
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
        for name, container, row in zip(self.names, self.containers, self.rows.tolist(), strict=True):
            offset, line, begin_line, end_line, parent, kind, flags = row
            column = -1 if data is None else offset - (data.rfind(b"\n", 0, offset) + 1)
            yield Definition(
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

    nodes: list[Node] = []
    ordered = _order_definitions(_capture(language, tree, data, nodes), GRAMMARS[language].constructor)
    file_definitions = _to_rows(ordered, data, "unparsable" if tree.root_node.is_error else "")
    file_definitions.imports = read_imports(language, nodes, data)
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


_Capture = tuple[int, int, int, str, bytes, bytes]
"""First byte, negated end, byte of the name, kind, name, container."""


def _capture(language: str, tree: Tree, data: bytes, imported: list[Node]) -> list[_Capture]:
    """Run the query: one entry for each named node; imports are added to `imported`."""
    from tree_sitter import QueryCursor

    by_place: dict[int, tuple[int, _Capture]] = {}
    outer: dict[int, int] = {}
    unnamed: list[_Capture] = []
    cursor = QueryCursor(load_grammar(language)[1], match_limit=_MAX_QUERY_STATES)
    roots = [tree.root_node]
    if language == "Python":
        roots = _python_parts(tree.root_node, data, by_place, outer)

    # No progress_callback here: with one, tree-sitter 0.26.1 for Python crashes the process. Size bounds the time.
    for pattern, captures in chain.from_iterable(map(cursor.matches, roots)):
        names = captures.pop("name", None)
        if names is None:
            if "import" in captures:
                imported += captures["import"][:1]
            elif captures:
                kind, nodes = captures.popitem()
                start, end = nodes[0].byte_range
                unnamed.append((start, -end, start, kind, b"", b""))
            continue

        container = captures.pop("container", None) if len(captures) > 1 else None
        if not captures:
            continue

        kind, nodes = captures.popitem()
        name_start, name_end = names[0].byte_range
        if kind == "outer":
            outer[name_start] = nodes[0].start_byte
            continue

        # Several patterns of the query may capture one name; the first pattern in the query wins.
        if name_start in by_place and by_place[name_start][0] <= pattern:
            continue

        name = _first_line(data[name_start:name_end])
        if not name:
            continue

        container_name = b""
        if container is not None:
            start, end = container[0].byte_range
            container_name = _first_line(data[start:end])

        start, end = nodes[0].byte_range
        by_place[name_start] = pattern, (start, -end, name_start, kind, name, container_name)

    entries = [entry for _, entry in by_place.values()]
    if outer:
        entries = [(outer.get(entry[0], entry[0]), *entry[1:]) for entry in entries]

    return entries + unnamed


def _python_parts(
    root: Node, data: bytes, by_place: dict[int, tuple[int, _Capture]], outer: dict[int, int]
) -> list[Node]:
    """Read functions and classes of Python without the query, and give the nodes that are left for it.

    Most text is in functions without a nested definition or import. The query would visit every node of them, which
    takes a quarter of the time of parsing.
    """
    remaining = []
    pending = [root]
    while pending:
        for node in pending.pop().named_children:
            kind = node.type
            if kind in _SIMPLE:
                continue

            definition = node.child_by_field_name("definition") if kind == "decorated_definition" else node
            captured = _PYTHON_DEFINITIONS.get(definition.type) if definition is not None else None
            name = definition.child_by_field_name("name") if captured is not None and definition is not None else None
            body = definition.child_by_field_name("body") if name is not None and definition is not None else None
            if captured is None or definition is None or name is None or body is None or name.type != "identifier":
                remaining.append(node)
                continue

            start, end = definition.byte_range
            if captured == "function" and definition.has_error:
                remaining.append(node)
                continue

            name_start, name_end = name.byte_range
            name_bytes = _first_line(data[name_start:name_end])
            if not name_bytes:
                remaining.append(node)
                continue

            # A decorated definition begins with its decorator, as editors show it.
            if definition is not node:
                outer[start] = node.start_byte

            # -1 comes before every pattern of the query, so the query can't replace this entry.
            by_place[name_start] = -1, (start, -end, name_start, captured, name_bytes, b"")
            if captured == "class":
                pending.append(body)
            # Most function bodies define nothing; a search in their bytes spares the query over them, which is most of
            # the time.
            elif _HOLDS_NAMES.search(data, body.start_byte, end):
                remaining.append(body)

    return remaining


def _first_line(name: bytes) -> bytes:
    """Return the first line of a name; empty if it is not a name."""
    name = name.split(b"\n", 1)[0].strip()
    return name if len(name) <= MAX_NAME_BYTES else b""


_Ordered = tuple[int, int, int, int, int, int, bytes, bytes]
"""First byte, end, byte of the name, parent plus one, kind code, flags, name, container."""


class _Holder(NamedTuple):
    """A node that may contain definitions: its end, kind, index among the definitions plus one (0: none), and name."""

    end: int
    kind: str
    position: int = 0
    name: bytes = b""


_NO_HOLDER = _Holder(0, "")


def _order_definitions(captures: list[_Capture], constructor: bytes) -> list[_Ordered]:
    """Sort the definitions, find what holds each, and drop what only functions see."""
    # By start, then the longest first: a holder comes before what it holds, so one stack is enough.
    captures.sort(key=itemgetter(0, 1, 2))
    entries: list[_Ordered] = []
    values: set[tuple[int, bytes]] = set()
    stack = [_NO_HOLDER]
    for start, negated_end, name_start, captured, name, container in captures:
        end = -negated_end
        # The first entry is a sentinel that never ends: everything without another holder is in the file.
        while len(stack) > 1 and stack[-1].end <= start:
            stack.pop()

        holder = stack[-1]
        if captured in _UNTITLED:
            named_holder = (
                _Holder(end=end, kind=captured, position=0, name=name) if captured == "scope" else _nearest_named(stack)
            )
            stack.append(_Holder(end, captured, named_holder.position, named_holder.name))
            continue

        # In ``typedef struct node {…} node_t`` the struct isn't a member of the typedef: both have the same container.
        if holder.kind == "typedef" and captured in _NAMED_BY_TYPEDEF:
            holder = stack[-2]

        kind = _kind_within(captured, holder.kind)
        if constructor and name == constructor and kind == "method":
            kind = "constructor"

        named_parent = _nearest_named(stack) if holder.kind == "local" else holder
        if kind in _VALUES:
            # Local variables are dropped, and of several assignments to one name only the first defines it.
            if holder.kind in _FUNCTIONS or (named_parent.position, name) in values:
                continue
            values.add((named_parent.position, name))

        flags = DECLARATION if captured == "declaration" else 0
        entries.append(
            (start, end, name_start, named_parent.position, _CODES[kind], flags, name, container or named_parent.name)
        )
        if kind in _HOLDERS and not flags:
            stack.append(_Holder(end, kind, len(entries), name))

    return entries


def _kind_within(kind: str, holder: str) -> str:
    if holder not in _CLASSES:
        return kind
    if kind in {"function", "declaration"}:
        return "method"
    return "field" if kind == "variable" else kind


def _nearest_named(stack: list[_Holder]) -> _Holder:
    return next(holder for holder in reversed(stack) if holder.kind != "local")


def _to_rows(ordered: list[_Ordered], data: bytes, incomplete: str) -> FileDefinitions:
    """Turn byte ranges into lines."""
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
