"""Read the annotations of Python: the values that a parameter, variable or result of a type may have.

An annotation allows instances, classes, containers with their items, or something outside of the searched repositories.
Quoted annotations are parsed on their own, and aliases are followed. Depth and the number of alternatives are limited.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.python.members import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    PythonMembers,
    PythonValue,
    first_distinct,
)
from sourcelight.engines.navigation.languages.python.names import PythonRef
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonScope
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.nodes import children_of, field_of, field_text, first_child, text_of
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_QUOTED_BYTES = 1_000
"""Maximum length of a quoted annotation to parse; longer strings are no types."""

_BUILTINS = frozenset({b"str", b"int", b"float", b"bytes", b"bool", b"object", b"complex", b"bytearray"})

_FIRST = frozenset({b"Optional", b"Annotated", b"Final", b"ClassVar", b"Required", b"NotRequired", b"ReadOnly",
                    b"Awaitable", b"AsyncContextManager", b"ContextManager", b"AbstractContextManager",
                    b"AbstractAsyncContextManager", b"TypeGuard", b"InitVar"})  # fmt: skip
"""Generic types that mean their first argument."""

_LISTS = frozenset({b"List", b"list", b"Sequence", b"Iterable", b"Iterator", b"Set", b"set", b"FrozenSet",
                    b"frozenset", b"Tuple", b"tuple", b"Deque", b"deque", b"Collection", b"Generator",
                    b"AsyncIterator", b"AsyncIterable", b"AsyncGenerator", b"MutableSequence", b"MutableSet",
                    b"AbstractSet", b"Reversible", b"KeysView"})  # fmt: skip

_MAPS = frozenset({b"Dict", b"dict", b"Mapping", b"MutableMapping", b"DefaultDict", b"defaultdict", b"OrderedDict",
                   b"ChainMap", b"WeakValueDictionary"})  # fmt: skip


class PythonAnnotations(PythonMembers):
    """Read annotations."""

    depth = 0

    def annotation_values(
        self, document: Document, scope: PythonScope, node: Node | None, offset: int = -1
    ) -> list[PythonValue]:
        """Return the values that an annotation allows."""
        if node is None or self.depth >= MAX_DEPTH:
            return []

        offset = node.start_byte if offset < 0 else offset
        self.depth += 1
        try:
            return first_distinct(self._allowed_values(document, scope, node, offset))
        finally:
            self.depth -= 1

    def _allowed_values(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        kind = node.type
        # `A | B` is a binary operator.
        if kind in {"type", "parenthesized_expression", "union_type", "binary_operator"}:
            return self._values_of_types(document, scope, node.named_children, offset)
        if kind == "string":
            return self._quoted_annotation(document, scope, node, offset)
        if kind in {"generic_type", "subscript"}:
            return self._generic_values(document, scope, node, offset)

        if kind in {"identifier", "attribute", "member_type"}:
            if text_of(node).rpartition(b".")[2] == b"Self":
                return self._instance_around(document, scope)
            return self._class_instances(document, scope, node, offset)

        return []

    def _values_of_types(
        self, document: Document, scope: PythonScope, nodes: Iterable[Node], offset: int
    ) -> list[PythonValue]:
        """Return the values that several annotations allow, one annotation after the other."""
        values: list[PythonValue] = []
        for node in nodes:
            values += self.annotation_values(document, scope, node, offset)
        return values

    def _instance_around(self, document: Document, scope: PythonScope) -> list[PythonValue]:
        """Return an instance of the class around a scope, which ``Self`` means."""
        holder = scope.enclosing_class
        if holder is None:
            return []

        ref = self.class_ref(document, holder)
        return [PythonValue("instance", ref)] if ref is not None else []

    def _class_instances(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        """Return instances of a named class, or the values of an alias."""
        refs: list[PythonRef] = []
        if node.type == "identifier":
            refs = self.lookup(document, scope, text_of(node), offset)
            if not refs and text_of(node) in _BUILTINS:
                return [PythonValue("outside")]
        else:
            name = node.child_by_field_name("attribute") or node.named_children[-1]
            holder = node.child_by_field_name("object") or node.named_children[0]
            for value in self.infer(document, scope, holder, offset):
                refs += self.members(value, text_of(name))

        values: list[PythonValue] = []
        for target in self.follow(refs)[:MAX_ALTERNATIVES]:
            binding = target.binding
            if binding is None:
                continue
            if self.is_outside(target):
                values.append(PythonValue("outside"))
                continue

            if binding.kind == "class":
                values.append(PythonValue("instance", target))
            elif binding.kind == "variable":
                values += self._alias_values(target, binding)

            if values:
                break

        return values

    def _alias_values(self, ref: PythonRef, binding: PythonBinding) -> list[PythonValue]:
        """Return the values of a type that an assignment names: an alias, a TypeVar by its bound, a NewType's base."""
        right = binding.node.child_by_field_name("right")
        if right is None or right.type != "call":
            return self.annotation_values(ref.document, binding.scope, right)

        name = field_text(right, "function").rpartition(b".")[2]
        arguments = children_of(field_of(right, "arguments"))
        if name == b"NewType" and len(arguments) > 1:
            return self.annotation_values(ref.document, binding.scope, arguments[1])

        if name == b"TypeVar":
            for argument in arguments:
                if argument.type == "keyword_argument" and field_text(argument, "name") == b"bound":
                    return self.annotation_values(ref.document, binding.scope, argument.child_by_field_name("value"))

        return []

    def _quoted_annotation(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        text = text_of(node).strip(b"\"'rRbBuU \n")
        if not text or len(text) > _MAX_QUOTED_BYTES:
            return []
        return self.annotation_values(document, scope, parse_expression(text), offset)

    def _generic_values(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:  # noqa: PLR0911 - one return for each rule
        parts = node.named_children
        if not parts:
            return []

        base, arguments = parts[0], parts[1:]
        if len(arguments) == 1 and arguments[0].type == "type_parameter":
            arguments = arguments[0].named_children

        name = text_of(base).rpartition(b".")[2]
        if name == b"Union":
            return self._values_of_types(document, scope, arguments, offset)

        if name in _FIRST:
            inner = self._values_of_types(document, scope, arguments[:1], offset)
            if name.endswith(b"ContextManager") and inner:
                return [PythonValue("generator", items=tuple(inner))]
            return inner

        if name == b"Coroutine":
            # `Coroutine[Yielded, Sent, Returned]`: `await` gives the last.
            return self._values_of_types(document, scope, arguments[-1:], offset)
        if name in {b"Type", b"type"}:
            inner = self._values_of_types(document, scope, arguments[:1], offset)
            return [PythonValue("class", value.ref) for value in inner if value.kind == "instance"]

        if name in _LISTS:
            item_types = arguments if name.lower() == b"tuple" else arguments[:1]
            items = self._values_of_types(document, scope, item_types, offset)
            return [PythonValue("container", items=tuple(items))]

        if name in _MAPS:
            items = self._values_of_types(document, scope, arguments[1:2], offset)
            keys = self._values_of_types(document, scope, arguments[:1], offset)
            return [PythonValue("container", items=tuple(items), keys=tuple(keys))]

        return self.annotation_values(document, scope, base, offset)


def parse_expression(text: bytes) -> Node | None:
    """Parse a quoted annotation on its own."""
    tree = parse_tree("Python", text, time.monotonic() + 1.0)
    statement = first_child(tree.root_node) if tree is not None else None
    if statement is None or statement.type != "expression_statement":
        return None
    return first_child(statement)
