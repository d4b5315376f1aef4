"""Members of TypeScript values, and the types that type parameters are bound to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.typescript.annotations import TsAnnotations, merge_bound_types
from sourcelight.engines.navigation.languages.typescript.names import (
    BoundTypes,
    TsRef,
    TsValue,
    TypeArguments,
)
from sourcelight.engines.navigation.languages.typescript.scopes import (
    CLASSES,
    FUNCTIONS,
    TsBinding,
    binding,
    declared_by,
    parameters_of,
    type_parameters,
    unquote,
)
from sourcelight.engines.navigation.model import DeclarationKey, Document

if TYPE_CHECKING:
    from tree_sitter import Node


_MAX_BASES = 24
_SIGNATURES = frozenset({
    "property_signature", "method_signature", "public_field_definition", "field_definition", "method_definition",
    "abstract_method_signature",
})  # fmt: skip


class TsMembers(TsAnnotations):
    """Look up members."""

    def member_refs(self, value: TsValue, name: bytes) -> list[TsRef]:
        """Return the members of a value by name, without following imports."""
        return self._members(value, name, set())

    def _members(self, value: TsValue, name: bytes, visited: set[object]) -> list[TsRef]:
        if value.key in visited or len(visited) > _MAX_BASES:
            return []

        # Wrong or unfinished code can have classes that extend each other.
        visited.add(value.key)
        node = value.node
        if value.kind == "module":
            return self.find_exports(value.document, name)
        if node is None:
            return []

        members = [TsRef(value.document, member, value.bound_types) for member in self._own_members(value, node, name)]
        if members:
            return members

        for base in self._bases(value, node):
            members = self._members(base, name, visited)
            if members:
                return members

        return []

    def overridden(self, value: TsValue, name: bytes) -> list[TsRef]:
        """Return the members that a member of a class or interface implements or overrides, in all of its bases."""
        members: list[TsRef] = []
        visited: set[object] = {value.key}
        pending = [value]
        while pending and len(visited) <= _MAX_BASES:
            current = pending.pop(0)
            if current.node is None:
                continue

            for base in [*self._bases(current, current.node), *self._implemented_interfaces(current, current.node)]:
                if base.key not in visited and base.node is not None:
                    visited.add(base.key)
                    pending.append(base)
                    members += [
                        TsRef(base.document, member, base.bound_types)
                        for member in self._own_members(base, base.node, name)
                    ]

        return members

    def _implemented_interfaces(self, value: TsValue, node: Node) -> Iterator[TsValue]:
        heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
        for clause in heritage.named_children if heritage is not None and value.kind == "instance" else ():
            for kind in clause.named_children if clause.type == "implements_clause" else ():
                yield from self.annotation_values(value.document, kind, value.bound_types)

    def _own_members(self, value: TsValue, node: Node, name: bytes) -> list[TsBinding]:
        model = self.model(value.document)
        if model is None:
            return []

        # The kind is part of the key: static members belong to the class, others to its instances.
        key = node.start_byte, node.end_byte, value.kind
        members = model.members.get(key)
        if members is None:
            members = {}
            for member in _members_of(value.kind, node):
                members.setdefault(member.name, []).append(member)
            model.members[key] = members

        return members.get(name, [])

    def _bases(self, value: TsValue, node: Node) -> Iterator[TsValue]:
        document = value.document
        if value.kind in {"instance", "class"} and node.type in CLASSES:
            yield from self._class_bases(value, node)
        elif node.type == "interface_declaration":
            for clause in node.named_children:
                for base in clause.named_children if clause.type in {"extends_type_clause", "extends_clause"} else ():
                    yield from self.annotation_values(document, base, value.bound_types)
            name = node.child_by_field_name("name")
            if name is not None:
                # TypeScript merges all declarations of an interface, and of a class with the same name.
                yield from self._merged_declarations(document, node, name, value.bound_types)
        # Members of a spread object come after the object's own, which win in any order: usually they override.
        elif value.kind == "object":
            for child in node.named_children:
                if child.type == "spread_element" and child.named_children:
                    yield from self.infer(document, child.named_children[0], value.bound_types)

    def _merged_declarations(
        self, document: Document, node: Node, name: Node, bound_types: BoundTypes
    ) -> Iterator[TsValue]:
        """Yield other declarations of the same interface."""
        for ref in self.lookup(document, name.text or b"", node.start_byte, as_type=True):
            binding = ref.binding
            if (
                binding is not None
                and binding.kind in {"interface", "class"}
                and binding.node.start_byte != node.start_byte
            ):
                yield TsValue("instance", document, binding.node, bound_types)

    def _class_bases(self, value: TsValue, node: Node) -> Iterator[TsValue]:
        document = value.document
        heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
        for clause in heritage.named_children if heritage is not None else ():
            # The grammar of JavaScript has no clause, but the base itself.
            base = clause.child_by_field_name("value") if clause.type == "extends_clause" else clause
            if clause.type == "implements_clause" or base is None:
                continue

            arguments = clause.child_by_field_name("type_arguments")
            type_arguments = list(arguments.named_children) if arguments is not None else []
            for base_value in self.infer(document, base, value.bound_types):
                if base_value.kind == "class" and base_value.node is not None:
                    ref = TsRef(base_value.document, TsBinding("class", b"", 0, 0, base_value.node))
                    bound_types = merge_bound_types(
                        base_value.bound_types, self.bound_to(ref, document, type_arguments, value.bound_types)
                    )
                    yield TsValue(value.kind, base_value.document, base_value.node, bound_types)
                else:
                    yield base_value

        name = node.child_by_field_name("name")
        if name is not None and value.kind == "instance":
            yield from self._merged_declarations(document, node, name, value.bound_types)


def _members_of(kind: str, node: Node) -> Iterator[TsBinding]:
    """Yield the members that a class, interface, object, enum or namespace declares."""
    if kind in {"instance", "class"} and node.type in CLASSES:
        yield from _in_class(node, static=kind == "class")
    elif kind in {"instance", "shape"}:
        yield from _signatures(node.child_by_field_name("body") or node)
    elif kind == "object":
        yield from _pairs(node)
    elif kind == "enum":
        yield from _enum_members(node)
    elif kind == "namespace":
        yield from _in_namespace(node)


def _in_class(node: Node, *, static: bool) -> Iterator[TsBinding]:
    body = node.child_by_field_name("body")
    fallbacks: list[TsBinding] = []
    for child in body.named_children if body is not None else ():
        if child.type in _SIGNATURES:
            key = child.child_by_field_name("name") or child.child_by_field_name("property")
            if key is not None and is_static(child) is static:
                member = TsBinding("member", unquote(key), key.start_byte, key.end_byte, child)
                # Getters before setters, implementations before signatures: readers want to see the code.
                if child.type == "method_signature" or any(part.type == "set" for part in child.children):
                    fallbacks.append(member)
                else:
                    yield member

            if not static and child.type == "method_definition" and key is not None and key.text == b"constructor":
                yield from _parameter_fields(child)

    yield from fallbacks
    if not static and body is not None:
        yield from _this_fields(body)


def is_static(node: Node) -> bool:
    """Return whether a member is static."""
    return any(child.type == "static" for child in node.children)


def _parameter_fields(constructor: Node) -> Iterator[TsBinding]:
    """Yield the parameters of a constructor that are also fields."""
    parameters = constructor.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        # A modifier declares a field of the same name (TypeScript handbook, parameter properties).
        marks = {child.type for child in parameter.children}
        pattern = parameter.child_by_field_name("pattern")
        if marks & {"accessibility_modifier", "readonly", "override_modifier"} and pattern is not None:
            yield binding("member", pattern, parameter)


def _this_fields(body: Node) -> Iterator[TsBinding]:
    """Yield the fields that methods assign to ``this``, as in JavaScript; each at its first assignment."""
    if b"this." not in (body.text or b""):
        return

    seen: set[bytes] = set()
    pending = list(reversed(body.named_children))
    while pending:
        node = pending.pop()
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is not None and left.type == "member_expression":
                holder = left.child_by_field_name("object")
            else:
                holder = None
            key = left.child_by_field_name("property") if left is not None and holder is not None else None
            if holder is not None and holder.type == "this" and key is not None and key.text not in seen:
                seen.add(key.text or b"")
                yield binding("member", key, node)

        # Nested classes and function declarations have a `this` of their own.
        if node.type not in CLASSES and node.type != "function_declaration":
            pending += reversed(node.named_children)


def _signatures(body: Node) -> Iterator[TsBinding]:
    for child in body.named_children:
        if child.type in _SIGNATURES:
            key = child.child_by_field_name("name")
            if key is not None:
                yield TsBinding("member", unquote(key), key.start_byte, key.end_byte, child)


def _pairs(node: Node) -> Iterator[TsBinding]:
    for child in node.named_children:
        key = child.child_by_field_name("key") or child.child_by_field_name("name")
        if child.type == "shorthand_property_identifier":
            yield binding("member", child, child)
        elif key is not None and key.type != "computed_property_name":
            yield TsBinding("member", unquote(key), key.start_byte, key.end_byte, child)


def _enum_members(node: Node) -> Iterator[TsBinding]:
    body = node.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        key = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        if key is not None:
            yield TsBinding("member", unquote(key), key.start_byte, key.end_byte, child)


def _in_namespace(node: Node) -> Iterator[TsBinding]:
    body = node.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        yield from declared_by(child)


MutableBoundTypes = dict[DeclarationKey, tuple[TsValue, ...] | TypeArguments]


class TsGenerics(TsMembers):
    """Bind type parameters; `infer` reads expressions."""

    def instantiate(self, function: TsValue, document: Document, call: Node, *, callbacks: bool = True) -> TsValue:
        """Bind the type parameters of a function for one call."""
        node = function.node
        declared_parameters = list(type_parameters(node)) if node is not None else []
        if node is None or not declared_parameters:
            return function

        bindings: MutableBoundTypes = dict(function.bound_types)
        arguments = call.child_by_field_name("type_arguments")
        for type_parameter, type_node in zip(
            declared_parameters, arguments.named_children if arguments is not None else (), strict=False
        ):
            bindings[function.document.key, type_parameter.start] = TypeArguments(document, type_node, {})

        if arguments is None:
            names = {
                type_parameter.name: (function.document.key, type_parameter.start)
                for type_parameter in declared_parameters
            }
            argument_list = call.child_by_field_name("arguments")
            if argument_list is not None:
                argument_values = [child for child in argument_list.named_children if child.type != "comment"]
            else:
                argument_values = []
            for parameter, argument in zip(parameters_of(node), argument_values, strict=False):
                expected = parameter.child_by_field_name("type")
                # Inferring a callback may need the parameter types that are bound here, so the caller may leave
                # callbacks out.
                is_informative = callbacks or argument.type not in FUNCTIONS
                if is_informative and expected is not None and any(name in (expected.text or b"") for name in names):
                    self.unify(expected, self.infer(document, argument), names, bindings)

            for type_parameter in declared_parameters:
                key = function.document.key, type_parameter.start
                if key not in bindings:
                    default = type_parameter.node.child_by_field_name("value")
                    if default is not None:
                        bindings[key] = TypeArguments(function.document, default, bindings)

        return replace(function, bound_types=bindings)

    def unify(
        self, expected: Node, values: list[TsValue], names: dict[bytes, DeclarationKey], bindings: MutableBoundTypes
    ) -> None:
        """Bind type parameters so that `values` have the type `expected`."""
        # Bounded, since each round goes one type deeper, and types of hostile files nest without end.
        for _ in range(6):
            if not values:
                return

            kind = expected.type
            if (
                kind in {"type_annotation", "parenthesized_type", "readonly_type", "optional_type"}
                and expected.named_children
            ):
                expected = expected.named_children[0]
            elif kind == "type_identifier":
                key = names.get(expected.text or b"")
                if key is not None:
                    bindings.setdefault(key, tuple(values))
                return
            elif kind == "array_type":
                expected, values = expected.named_children[0], [item for value in values for item in value.items]
            elif kind in {"union_type", "intersection_type"}:
                for child in expected.named_children:
                    self.unify(child, values, names, bindings)
                return
            elif kind == "function_type":
                result = expected.child_by_field_name("return_type")
                if result is None:
                    return
                expected, values = result, [returned for value in values for returned in self.return_values(value)]
            elif kind == "generic_type":
                self._unify_generic(expected, values, names, bindings)
                return
            else:
                return

    def _unify_generic(
        self, expected: Node, values: list[TsValue], names: dict[bytes, DeclarationKey], bindings: MutableBoundTypes
    ) -> None:
        arguments = expected.child_by_field_name("type_arguments")
        given_types = list(arguments.named_children) if arguments is not None else []
        items = [item for value in values for item in value.items]
        if items and given_types:
            # The last type argument has the elements: `Array<T>`, but also the values of `Map<K, T>`.
            self.unify(given_types[-1], items, names, bindings)

        for value in values:
            if value.kind == "instance" and value.node is not None:
                for parameter, argument in zip(type_parameters(value.node), given_types, strict=False):
                    values_of_parameter = self.meaning(value.bound_types, (value.document.key, parameter.start))
                    if values_of_parameter:
                        self.unify(argument, values_of_parameter, names, bindings)
