"""Captures of a query in one file: definitions, put into their holders and in order, and imports.

A *capture* is a node of the syntax tree that the query of a language names, see `definition_queries`. A *holder* is a
capture that other definitions are in, such as a class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from sourcelight.engines.symbols.grammars import KINDS, load_grammar

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NAME_BYTES = 1024
"""Maximum bytes of a name; longer ones are dropped."""

DECLARATION = 1
"""Flag of a prototype: the function has its body elsewhere."""

# Kinds of definitions, and further captures of `definition_queries`: local, scope, typedef, declaration and outer.
_FUNCTIONS = frozenset({"function", "method", "constructor", "local"})
_CLASSES = frozenset({"class", "struct", "interface", "enum", "object", "scope", "typedef"})
_HOLDERS = _FUNCTIONS | _CLASSES | {"module", "namespace"}
"""Captures that other definitions may be in."""

_VALUES = frozenset({"variable", "constant", "field", "property"})
"""Kinds that only the outermost code, modules and classes define; in functions they are local variables."""

_NAMED_BY_TYPEDEF = frozenset({"struct", "class", "enum", "typedef"})
"""Kinds of C that a typedef around them names."""

_KIND_OF_CAPTURE = {"typedef": "class", "declaration": "function"}
"""Kinds of captures that are no kinds of definitions."""

_KIND_CODES = {name: KINDS.index(_KIND_OF_CAPTURE.get(name, name)) for name in (*KINDS, *_KIND_OF_CAPTURE)}
"""Index in `KINDS` of each kind and capture."""

_MAX_QUERY_STATES = 1 << 16
"""Unfinished matches that a query keeps at a time; tree-sitter drops the oldest beyond."""

_PYTHON_DEFINITIONS = {"function_definition": "function", "class_definition": "class"}
"""Kinds by the types of Python's nodes."""

_PYTHON_BODY_WORDS = re.compile(rb"\b(?:def|class|import|type)\b")
"""Words without which the body of a function has no definition and no import."""

_PYTHON_SIMPLE_STATEMENTS = frozenset(
    {"comment", "return_statement", "pass_statement", "assert_statement", "raise_statement"}
)
"""Statements that define and import nothing."""


class Capture(NamedTuple):
    """A definition as the query captures it.

    Captures sort by `start`, then the longest first, so its end is negated. `kind` is a kind of definitions, or another
    name in `definition_queries`. `name` is empty for a node that only holds definitions.
    """

    start: int
    negated_end: int
    name_start: int
    kind: str
    name: bytes
    container: bytes


class Captures:
    """The captures of one file.

    Attributes
    ----------
    imports
        The nodes of import statements.
    """

    def __init__(self, data: bytes) -> None:
        self.imports: list[Node] = []
        self._data = data
        # By the offset of the name: the capture, and the number of the pattern in the query that it is from.
        self._by_name: dict[int, tuple[int, Capture]] = {}
        self._unnamed: list[Capture] = []
        # A decorated definition begins with its decorator, as editors show it: that start by the definition's own.
        self._outer_starts: dict[int, int] = {}

    def definitions(self) -> list[Capture]:
        """Return all captures but those of imports."""
        captures = [capture for _, capture in self._by_name.values()]
        if self._outer_starts:
            captures = [
                capture._replace(start=self._outer_starts[capture.start])
                if capture.start in self._outer_starts
                else capture
                for capture in captures
            ]
        return captures + self._unnamed

    def run_query(self, language: str, roots: Iterable[Node]) -> None:
        """Add what the query of a language captures below some nodes."""
        from tree_sitter import QueryCursor

        cursor = QueryCursor(load_grammar(language)[1], match_limit=_MAX_QUERY_STATES)
        # No progress_callback here: with one, tree-sitter 0.26.1 for Python crashes the process. Size bounds the time.
        for pattern, nodes_by_name in chain.from_iterable(map(cursor.matches, roots)):
            names = nodes_by_name.pop("name", None)
            if names is not None:
                self._add_named(pattern, names[0], nodes_by_name)
            elif "import" in nodes_by_name:
                self.imports += nodes_by_name["import"][:1]
            elif nodes_by_name:
                kind, nodes = nodes_by_name.popitem()
                start, end = nodes[0].byte_range
                self._unnamed.append(Capture(start, -end, start, kind, b"", b""))

    def _add_named(self, pattern: int, name: Node, nodes_by_name: dict[str, list[Node]]) -> None:
        """Add one match of the query; `nodes_by_name` has its other captures."""
        containers = nodes_by_name.pop("container", None) if len(nodes_by_name) > 1 else None
        if not nodes_by_name:
            return

        kind, nodes = nodes_by_name.popitem()
        name_start = name.start_byte
        if kind == "outer":
            self._outer_starts[name_start] = nodes[0].start_byte
            return

        # Several patterns of the query may capture one name; the first pattern in the query wins.
        if name_start in self._by_name and self._by_name[name_start][0] <= pattern:
            return

        name_text = self._first_line(name)
        if name_text:
            container = self._first_line(containers[0]) if containers is not None else b""
            start, end = nodes[0].byte_range
            self._by_name[name_start] = pattern, Capture(start, -end, name_start, kind, name_text, container)

    def read_python(self, root: Node) -> list[Node]:
        """Add functions and classes of Python without the query, and return the nodes that are left for it.

        Most text is in functions without a nested definition or import. The query would visit every node of them, which
        takes a quarter of the time of parsing.
        """
        remaining = []
        pending = [root]
        while pending:
            for node in pending.pop().named_children:
                if node.type in _PYTHON_SIMPLE_STATEMENTS:
                    continue

                definition = _python_definition(node)
                name = self._first_line(definition.name) if definition is not None else b""
                if definition is None or not name:
                    remaining.append(node)
                    continue

                start, end = definition.node.byte_range
                if start != node.start_byte:
                    self._outer_starts[start] = node.start_byte

                # -1 comes before every pattern of the query, so the query can't replace this capture.
                name_start = definition.name.start_byte
                capture = Capture(start, -end, name_start, definition.kind, name, b"")
                self._by_name[name_start] = -1, capture
                if definition.kind == "class":
                    pending.append(definition.body)
                # Most function bodies define nothing; a search in their bytes spares the query over them, which is most
                # of the time.
                elif _PYTHON_BODY_WORDS.search(self._data, definition.body.start_byte, end):
                    remaining.append(definition.body)

        return remaining

    def _first_line(self, node: Node) -> bytes:
        """Return the first line of a name; empty if it is too long to be one."""
        start, end = node.byte_range
        name = self._data[start:end].split(b"\n", 1)[0].strip()
        return name if len(name) <= MAX_NAME_BYTES else b""


class _PythonDefinition(NamedTuple):
    """A function or class of Python: its own node, without decorators, and the parts of it."""

    node: Node
    kind: str
    name: Node
    body: Node


def _python_definition(node: Node) -> _PythonDefinition | None:
    """Return the definition that a statement is; None for any other statement, and for one with syntax errors."""
    definition: Node | None = node
    if node.type == "decorated_definition":
        definition = node.child_by_field_name("definition")
    if definition is None:
        return None

    kind = _PYTHON_DEFINITIONS.get(definition.type)
    if kind is None or (kind == "function" and definition.has_error):
        return None

    name = definition.child_by_field_name("name")
    body = definition.child_by_field_name("body")
    if name is None or body is None or name.type != "identifier":
        return None

    return _PythonDefinition(definition, kind, name, body)


class OrderedDefinition(NamedTuple):
    """A definition of a file; `parent` is the index of the one around it plus one, and 0 for none."""

    start: int
    end: int
    name_start: int
    parent: int
    kind_code: int
    flags: int
    name: bytes
    container: bytes


class _Holder(NamedTuple):
    """A node that may contain definitions.

    `number` is the index of its own definition plus one. A node that is no definition has the number of the one around
    it, or 0.
    """

    end: int
    kind: str
    number: int
    name: bytes


_FILE = _Holder(end=0, kind="", number=0, name=b"")


def order_definitions(captures: list[Capture], constructor: bytes) -> list[OrderedDefinition]:
    """Sort the definitions, find what holds each, and drop what only functions see."""
    # By start, then the longest first: a holder comes before what it holds, so one stack is enough.
    captures.sort(key=itemgetter(0, 1, 2))
    definitions: list[OrderedDefinition] = []
    names_of_values: set[tuple[int, bytes]] = set()
    stack = [_FILE]
    for start, negated_end, name_start, captured, name, container in captures:
        end = -negated_end
        # The file itself is never removed: everything without another holder is in it.
        while len(stack) > 1 and stack[-1].end <= start:
            stack.pop()

        holder = stack[-1]
        if captured == "scope":
            stack.append(_Holder(end, captured, 0, name))
            continue
        if captured == "local":
            around = _nearest_named(stack)
            stack.append(_Holder(end, captured, around.number, around.name))
            continue

        # In ``typedef struct node {…} node_t`` the struct isn't a member of the typedef: both have the same container.
        if holder.kind == "typedef" and captured in _NAMED_BY_TYPEDEF:
            holder = stack[-2]

        kind = _kind_within(captured, holder.kind)
        if constructor and name == constructor and kind == "method":
            kind = "constructor"

        parent = _nearest_named(stack) if holder.kind == "local" else holder
        if kind in _VALUES:
            # Local variables are dropped, and of several assignments to one name only the first defines it.
            if holder.kind in _FUNCTIONS or (parent.number, name) in names_of_values:
                continue
            names_of_values.add((parent.number, name))

        is_declaration = captured == "declaration"
        definition = OrderedDefinition(
            start=start,
            end=end,
            name_start=name_start,
            parent=parent.number,
            kind_code=_KIND_CODES[kind],
            flags=DECLARATION if is_declaration else 0,
            name=name,
            container=container or parent.name,
        )
        definitions.append(definition)
        if kind in _HOLDERS and not is_declaration:
            stack.append(_Holder(end, kind, len(definitions), name))

    return definitions


def _kind_within(kind: str, holder: str) -> str:
    """Return the kind of a definition in a holder: functions and variables of classes are methods and fields."""
    if holder not in _CLASSES:
        return kind
    if kind in {"function", "declaration"}:
        return "method"
    return "field" if kind == "variable" else kind


def _nearest_named(stack: list[_Holder]) -> _Holder:
    return next(holder for holder in reversed(stack) if holder.kind != "local")
