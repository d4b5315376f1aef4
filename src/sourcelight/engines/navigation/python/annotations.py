"""What annotations allow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.python.members import Members
from sourcelight.engines.navigation.python.names import Ref
from sourcelight.engines.navigation.python.scopes import Binding, Scope
from sourcelight.engines.navigation.python.values import DEPTH, MOST, Value, distinct
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

_BUILTINS = frozenset({b"str", b"int", b"float", b"bytes", b"bool", b"object", b"complex", b"bytearray"})
_FIRST = frozenset({b"Optional", b"Annotated", b"Final", b"ClassVar", b"Required", b"NotRequired", b"ReadOnly",
                    b"Awaitable", b"AsyncContextManager", b"ContextManager", b"AbstractContextManager",
                    b"AbstractAsyncContextManager", b"TypeGuard", b"InitVar"})  # fmt: skip
_LISTS = frozenset({b"List", b"list", b"Sequence", b"Iterable", b"Iterator", b"Set", b"set", b"FrozenSet",
                    b"frozenset", b"Tuple", b"tuple", b"Deque", b"deque", b"Collection", b"Generator",
                    b"AsyncIterator", b"AsyncIterable", b"AsyncGenerator", b"MutableSequence", b"MutableSet",
                    b"AbstractSet", b"Reversible", b"KeysView"})  # fmt: skip
_MAPS = frozenset({b"Dict", b"dict", b"Mapping", b"MutableMapping", b"DefaultDict", b"defaultdict", b"OrderedDict",
                   b"ChainMap", b"WeakValueDictionary"})  # fmt: skip


class Annotations(Members):
    """Reads annotations."""

    depth = 0

    def annotated(self, document: Document, scope: Scope, node: Node | None, offset: int = -1) -> list[Value]:
        """Give the instances that an annotation allows."""
        if node is None or self.depth >= DEPTH:
            return []
        offset = node.start_byte if offset < 0 else offset
        self.depth += 1
        try:
            return distinct(self._allowed(document, scope, node, offset))
        finally:
            self.depth -= 1

    def _allowed(self, document: Document, scope: Scope, node: Node, offset: int) -> list[Value]:  # noqa: PLR0911 - one return for each rule
        kind = node.type
        if kind in {"type", "parenthesized_expression", "union_type"}:
            return [v for c in node.named_children for v in self.annotated(document, scope, c, offset)]
        if kind == "binary_operator":
            return [v for c in node.named_children for v in self.annotated(document, scope, c, offset)]
        if kind == "string":
            return self._quoted(document, scope, node, offset)
        if kind in {"generic_type", "subscript"}:
            return self._generic(document, scope, node, offset)
        if kind in {"identifier", "attribute", "member_type"}:
            if (node.text or b"").rpartition(b".")[2] == b"Self":
                holder = scope.enclosing_class
                ref = self.class_ref(document, holder) if holder is not None else None
                return [Value("instance", ref)] if ref is not None else []
            return self._named(document, scope, node, offset)
        return []

    def _named(self, document: Document, scope: Scope, node: Node, offset: int) -> list[Value]:
        """Give instances of a named class, or what an alias stands for."""
        refs: list[Ref]
        if node.type == "identifier":
            refs = self.lookup(document, scope, node.text or b"", offset)
        else:
            name = node.child_by_field_name("attribute") or node.named_children[-1]
            holder = node.child_by_field_name("object") or node.named_children[0]
            refs = [r for v in self.infer(document, scope, holder, offset) for r in self.members(v, name.text or b"")]
        if not refs and node.type == "identifier" and (node.text or b"") in _BUILTINS:
            return [Value("outside")]
        found: list[Value] = []
        for end in self.follow(refs)[:MOST]:
            binding = end.binding
            if binding is None:
                continue
            if self.is_outside(end):
                found.append(Value("outside"))
                continue
            if binding.kind == "class":
                found.append(Value("instance", end))
            elif binding.kind == "variable":
                right = binding.node.child_by_field_name("right")
                if right is not None and right.type == "call":
                    found += self._made_type(end, binding, right)
                else:
                    found += self.annotated(end.document, binding.scope, right)
            if found:
                break
        return found

    def _made_type(self, ref: Ref, binding: Binding, call: Node) -> list[Value]:
        """Give what a TypeVar is bound to, or a NewType made from."""
        function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        name = ((function.text if function is not None else None) or b"").rpartition(b".")[2]
        for argument in arguments.named_children if arguments is not None else ():
            key = argument.child_by_field_name("name")
            if name == b"TypeVar" and argument.type == "keyword_argument" and key is not None and key.text == b"bound":
                return self.annotated(ref.document, binding.scope, argument.child_by_field_name("value"))
        if name == b"NewType" and arguments is not None and len(arguments.named_children) > 1:
            return self.annotated(ref.document, binding.scope, arguments.named_children[1])
        return []

    def _quoted(self, document: Document, scope: Scope, node: Node, offset: int) -> list[Value]:
        text = (node.text or b"").strip(b"\"'rRbBuU \n")
        if not text or len(text) > 1000:
            return []
        tree = parse_expression(text)
        return self.annotated(document, scope, tree, offset) if tree is not None else []

    def _generic(self, document: Document, scope: Scope, node: Node, offset: int) -> list[Value]:  # noqa: PLR0911 - one return for each rule
        parts = node.named_children
        if not parts:
            return []
        base, arguments = parts[0], parts[1:]
        if len(arguments) == 1 and arguments[0].type == "type_parameter":
            arguments = arguments[0].named_children
        name = (base.text or b"").rpartition(b".")[2]
        if name == b"Union":
            return [v for a in arguments for v in self.annotated(document, scope, a, offset)]
        if name in _FIRST:
            inner = self.annotated(document, scope, arguments[0] if arguments else None, offset)
            return [Value("generator", items=tuple(inner))] if name.endswith(b"ContextManager") and inner else inner
        if name == b"Coroutine":
            return self.annotated(document, scope, arguments[-1] if arguments else None, offset)
        if name in {b"Type", b"type"}:
            inner = self.annotated(document, scope, arguments[0] if arguments else None, offset)
            return [Value("class", v.ref) for v in inner if v.kind == "instance"]
        if name in _LISTS:
            wanted = arguments if name.lower() == b"tuple" else arguments[:1]
            items = [v for a in wanted for v in self.annotated(document, scope, a, offset)]
            return [Value("container", items=tuple(items))]
        if name in _MAPS:
            items = self.annotated(document, scope, arguments[-1] if len(arguments) > 1 else None, offset)
            keys = self.annotated(document, scope, arguments[0] if arguments else None, offset)
            return [Value("container", items=tuple(items), keys=tuple(keys))]
        return self.annotated(document, scope, base, offset)


def parse_expression(text: bytes) -> Node | None:
    """Parse a quoted annotation on its own."""
    tree = parse_tree("Python", text, time.monotonic() + 1.0)
    root = tree.root_node if tree is not None else None
    statement = root.named_children[0] if root is not None and root.named_children else None
    if statement is None or statement.type != "expression_statement" or not statement.named_children:
        return None
    return statement.named_children[0]
