"""Members of values: of classes with what they extend, interfaces, object types and literals, modules, enums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.typescript.annotations import Annotations, merged
from sourcelight.engines.navigation.typescript.scopes import CLASSES, Binding, binding, declared_by, unquoted
from sourcelight.engines.navigation.typescript.values import Known, Ref, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_BASES = 24
_SIGNATURES = frozenset({
    "property_signature", "method_signature", "public_field_definition", "field_definition", "method_definition",
    "abstract_method_signature",
})  # fmt: skip


class Members(Annotations):
    """Looks up members."""

    def member_refs(self, value: Value, name: bytes) -> list[Ref]:
        """Give the members of a value by name, imports not followed."""
        return self._members(value, name, set())

    def _members(self, value: Value, name: bytes, visited: set[object]) -> list[Ref]:
        if value.place in visited or len(visited) > _MOST_BASES:
            return []
        visited.add(value.place)
        node = value.node
        if value.kind == "module":
            return self.exported(value.document, name)
        if node is None:
            return []
        found = [Ref(value.document, made, value.known) for made in self._own(value, node, name)]
        if found:
            return found
        for base in self._bases(value, node):
            found = self._members(base, name, visited)
            if found:
                return found
        return []

    def _own(self, value: Value, node: Node, name: bytes) -> list[Binding]:
        kind = value.kind
        if kind in {"instance", "class"} and node.type in CLASSES:
            return list(self._in_class(node, name, static=kind == "class"))
        if kind in {"instance", "shape"}:
            body = node.child_by_field_name("body") or node
            return [made for made in _signatures(body) if made.name == name]
        if kind == "object":
            return [made for made in _pairs(node) if made.name == name]
        if kind == "enum":
            return [made for made in _enum_members(node) if made.name == name]
        if kind == "namespace":
            return [made for made in _in_namespace(node) if made.name == name]
        return []

    def _in_class(self, node: Node, name: bytes, *, static: bool) -> Iterator[Binding]:
        body = node.child_by_field_name("body")
        late: list[Binding] = []
        for child in body.named_children if body is not None else ():
            if child.type in _SIGNATURES:
                key = child.child_by_field_name("name") or child.child_by_field_name("property")
                if key is not None and unquoted(key) == name and _is_static(child) is static:
                    made = binding("member", key, child)
                    # Getters before setters, what is implemented before what is only announced.
                    if child.type == "method_signature" or any(c.type == "set" for c in child.children):
                        late.append(made)
                    else:
                        yield made
                if not static and child.type == "method_definition" and key is not None and key.text == b"constructor":
                    yield from (made for made in _constructed(child) if made.name == name)
        yield from late
        if not static and body is not None:
            yield from (made for made in _assigned_this(body, name))

    def _bases(self, value: Value, node: Node) -> Iterator[Value]:
        document = value.document
        if value.kind in {"instance", "class"} and node.type in CLASSES:
            yield from self._class_bases(value, node)
        elif node.type == "interface_declaration":
            for clause in node.named_children:
                for base in clause.named_children if clause.type in {"extends_type_clause", "extends_clause"} else ():
                    yield from self.annotated(document, base, value.known)
            name = node.child_by_field_name("name")
            if name is not None:
                yield from self._merged(document, node, name, value.known)
        elif value.kind == "object":
            for child in node.named_children:
                if child.type == "spread_element" and child.named_children:
                    yield from self.infer(document, child.named_children[0], value.known)

    def _merged(self, document: Document, node: Node, name: Node, known: Known) -> Iterator[Value]:
        """Other declarations of the same interface."""
        for ref in self.lookup(document, name.text or b"", node.start_byte, as_type=True):
            made = ref.binding
            if made is not None and made.kind in {"interface", "class"} and made.node.start_byte != node.start_byte:
                yield Value("instance", document, made.node, known)

    def _class_bases(self, value: Value, node: Node) -> Iterator[Value]:
        document = value.document
        heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
        for clause in heritage.named_children if heritage is not None else ():
            base = clause.child_by_field_name("value") if clause.type == "extends_clause" else clause
            if clause.type == "implements_clause" or base is None:
                continue
            arguments = clause.child_by_field_name("type_arguments")
            given = list(arguments.named_children) if arguments is not None else []
            for found in self.infer(document, base, value.known):
                if found.kind == "class" and found.node is not None:
                    ref = Ref(found.document, Binding("class", b"", 0, 0, found.node))
                    known = merged(found.known, self.bound_to(ref, document, given, value.known))
                    yield Value(value.kind, found.document, found.node, known)
                else:
                    yield found
        name = node.child_by_field_name("name")
        if name is not None and value.kind == "instance":
            yield from self._merged(document, node, name, value.known)


def _is_static(node: Node) -> bool:
    return any(child.type == "static" for child in node.children)


def _constructed(constructor: Node) -> Iterator[Binding]:
    """Parameters of a constructor that are fields too."""
    held = constructor.child_by_field_name("parameters")
    for parameter in held.named_children if held is not None else ():
        marks = {child.type for child in parameter.children}
        pattern = parameter.child_by_field_name("pattern")
        if marks & {"accessibility_modifier", "readonly", "override_modifier"} and pattern is not None:
            yield binding("member", pattern, parameter)


def _assigned_this(body: Node, name: bytes) -> Iterator[Binding]:
    """Fields that a method assigns, as JavaScript declares them."""
    if b"this." + name not in (body.text or b""):
        return
    waiting = list(reversed(body.named_children))
    while waiting:
        node = waiting.pop()
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            holder = (
                left.child_by_field_name("object") if left is not None and left.type == "member_expression" else None
            )
            key = left.child_by_field_name("property") if left is not None and holder is not None else None
            if holder is not None and holder.type == "this" and key is not None and key.text == name:
                yield binding("member", key, node)
                return
        if node.type not in CLASSES and node.type != "function_declaration":
            waiting += reversed(node.named_children)


def _signatures(body: Node) -> Iterator[Binding]:
    for child in body.named_children:
        if child.type in _SIGNATURES:
            key = child.child_by_field_name("name")
            if key is not None:
                yield Binding("member", unquoted(key), key.start_byte, key.end_byte, child)


def _pairs(node: Node) -> Iterator[Binding]:
    for child in node.named_children:
        key = child.child_by_field_name("key") or child.child_by_field_name("name")
        if child.type == "shorthand_property_identifier":
            yield binding("member", child, child)
        elif key is not None and key.type != "computed_property_name":
            yield Binding("member", unquoted(key), key.start_byte, key.end_byte, child)


def _enum_members(node: Node) -> Iterator[Binding]:
    body = node.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        key = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        if key is not None:
            yield Binding("member", unquoted(key), key.start_byte, key.end_byte, child)


def _in_namespace(node: Node) -> Iterator[Binding]:
    body = node.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        yield from declared_by(child)
