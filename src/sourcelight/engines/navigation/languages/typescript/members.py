"""Members of TypeScript values, and the types that type parameters are bound to.

`TsMembers` finds the members of a value in its declaration, then in its bases. `TsGenerics` binds the type parameters
of a called function: it compares the types of its parameters with the arguments of the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.typescript import scopes
from sourcelight.engines.navigation.languages.typescript.annotations import TsAnnotations, items_of, merge_bound_types
from sourcelight.engines.navigation.languages.typescript.names import BoundTypes, TsRef, TsValue, TypeArguments
from sourcelight.engines.navigation.model import DeclarationKey, Document
from sourcelight.engines.navigation.nodes import child_of_type, children_of, code_of, field_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_BASES = 24
"""Maximum classes and interfaces to look at for one member: hostile code extends without end."""

_MAX_UNIFY_STEPS = 6
"""Maximum types inside each other to compare with an argument: types of hostile code nest without end."""

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
        if value.kind != "instance":
            return

        for clause in children_of(child_of_type(node, "class_heritage")):
            if clause.type == "implements_clause":
                for interface in clause.named_children:
                    yield from self.annotation_values(value.document, interface, value.bound_types)

    def _own_members(self, value: TsValue, node: Node, name: bytes) -> list[scopes.TsBinding]:
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
        if value.kind in {"instance", "class"} and node.type in scopes.CLASSES:
            yield from self._class_bases(value, node)
        elif node.type == "interface_declaration":
            for clause in node.named_children:
                if clause.type in {"extends_type_clause", "extends_clause"}:
                    for base in clause.named_children:
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
        for ref in self.lookup(document, text_of(name), node.start_byte, as_type=True):
            binding = ref.binding
            if (
                binding is not None
                and binding.kind in {"interface", "class"}
                and binding.node.start_byte != node.start_byte
            ):
                yield TsValue("instance", document, binding.node, bound_types)

    def _class_bases(self, value: TsValue, node: Node) -> Iterator[TsValue]:
        document = value.document
        for clause in children_of(child_of_type(node, "class_heritage")):
            if clause.type == "implements_clause":
                continue

            # The grammar of JavaScript has no clause, but the base itself.
            base = clause.child_by_field_name("value") if clause.type == "extends_clause" else clause
            if base is None:
                continue

            type_arguments = children_of(field_of(clause, "type_arguments"))
            for base_value in self.infer(document, base, value.bound_types):
                if base_value.kind == "class" and base_value.node is not None:
                    ref = TsRef(base_value.document, scopes.TsBinding("class", b"", 0, 0, base_value.node))
                    bound_types = merge_bound_types(
                        base_value.bound_types, self.bound_to(ref, document, type_arguments, value.bound_types)
                    )
                    yield TsValue(value.kind, base_value.document, base_value.node, bound_types)
                else:
                    yield base_value

        name = node.child_by_field_name("name")
        if name is not None and value.kind == "instance":
            yield from self._merged_declarations(document, node, name, value.bound_types)


def _members_of(kind: str, node: Node) -> Iterator[scopes.TsBinding]:
    """Yield the members that a class, interface, object, enum or namespace declares."""
    if kind in {"instance", "class"} and node.type in scopes.CLASSES:
        yield from _in_class(node, static=kind == "class")
    elif kind in {"instance", "shape"}:
        yield from _signatures(node.child_by_field_name("body") or node)
    elif kind == "object":
        yield from _pairs(node)
    elif kind == "enum":
        yield from _enum_members(node)
    elif kind == "namespace":
        yield from _in_namespace(node)


def _in_class(node: Node, *, static: bool) -> Iterator[scopes.TsBinding]:
    body = node.child_by_field_name("body")
    fallbacks: list[scopes.TsBinding] = []
    for child in children_of(body):
        if child.type in _SIGNATURES:
            key = child.child_by_field_name("name") or child.child_by_field_name("property")
            if key is not None and is_static(child) is static:
                member = scopes.TsBinding("member", scopes.unquote(key), key.start_byte, key.end_byte, child)
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


def _parameter_fields(constructor: Node) -> Iterator[scopes.TsBinding]:
    """Yield the parameters of a constructor that are also fields."""
    for parameter in children_of(field_of(constructor, "parameters")):
        # A modifier declares a field of the same name (TypeScript handbook, parameter properties).
        marks = {child.type for child in parameter.children}
        pattern = parameter.child_by_field_name("pattern")
        if marks & {"accessibility_modifier", "readonly", "override_modifier"} and pattern is not None:
            yield scopes.binding("member", pattern, parameter)


def _this_fields(body: Node) -> Iterator[scopes.TsBinding]:
    """Yield the fields that methods assign to ``this``, as in JavaScript; each at its first assignment."""
    if b"this." not in text_of(body):
        return

    seen: set[bytes] = set()
    pending = list(reversed(body.named_children))
    while pending:
        node = pending.pop()
        if node.type == "assignment_expression":
            field = _field_of_this(node.child_by_field_name("left"))
            if field is not None and text_of(field) not in seen:
                seen.add(text_of(field))
                yield scopes.binding("member", field, node)

        # Nested classes and function declarations have a `this` of their own.
        if node.type not in scopes.CLASSES and node.type != "function_declaration":
            pending += reversed(node.named_children)


def _field_of_this(target: Node | None) -> Node | None:
    """Return the name ``x`` of a target ``this.x``."""
    if target is None or target.type != "member_expression":
        return None
    holder = target.child_by_field_name("object")
    if holder is None or holder.type != "this":
        return None
    return target.child_by_field_name("property")


def _signatures(body: Node) -> Iterator[scopes.TsBinding]:
    for child in body.named_children:
        if child.type in _SIGNATURES:
            key = child.child_by_field_name("name")
            if key is not None:
                yield scopes.TsBinding("member", scopes.unquote(key), key.start_byte, key.end_byte, child)


def _pairs(node: Node) -> Iterator[scopes.TsBinding]:
    for child in node.named_children:
        key = child.child_by_field_name("key") or child.child_by_field_name("name")
        if child.type == "shorthand_property_identifier":
            yield scopes.binding("member", child, child)
        elif key is not None and key.type != "computed_property_name":
            yield scopes.TsBinding("member", scopes.unquote(key), key.start_byte, key.end_byte, child)


def _enum_members(node: Node) -> Iterator[scopes.TsBinding]:
    for child in children_of(field_of(node, "body")):
        key = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        if key is not None:
            yield scopes.TsBinding("member", scopes.unquote(key), key.start_byte, key.end_byte, child)


def _in_namespace(node: Node) -> Iterator[scopes.TsBinding]:
    for child in children_of(field_of(node, "body")):
        yield from scopes.declared_by(child)


MutableBoundTypes = dict[DeclarationKey, tuple[TsValue, ...] | TypeArguments]


class TsGenerics(TsMembers):
    """Bind type parameters; `infer` reads expressions."""

    def instantiate(self, function: TsValue, document: Document, call: Node, *, callbacks: bool = True) -> TsValue:
        """Bind the type parameters of a function for one call."""
        node = function.node
        if node is None:
            return function
        declared_parameters = list(scopes.type_parameters(node))
        if not declared_parameters:
            return function

        bindings: MutableBoundTypes = dict(function.bound_types)
        keys = {parameter.name: (function.document.key, parameter.start) for parameter in declared_parameters}
        type_arguments = call.child_by_field_name("type_arguments")
        if type_arguments is not None:
            # `f<Item>(…)` says what the parameters stand for.
            for type_parameter, argument in zip(declared_parameters, type_arguments.named_children, strict=False):
                bindings[keys[type_parameter.name]] = TypeArguments(document, argument, {})
            return replace(function, bound_types=bindings)

        for parameter, argument in zip(scopes.parameters_of(node), code_of(field_of(call, "arguments")), strict=False):
            # Inferring a callback may need the parameter types that are bound here, so the caller may leave
            # callbacks out.
            if not callbacks and argument.type in scopes.FUNCTIONS:
                continue
            expected = parameter.child_by_field_name("type")
            if expected is not None and any(name in text_of(expected) for name in keys):
                self.unify(expected, self.infer(document, argument), keys, bindings)

        for type_parameter in declared_parameters:
            default = type_parameter.node.child_by_field_name("value")
            if default is not None:
                bindings.setdefault(keys[type_parameter.name], TypeArguments(function.document, default, bindings))

        return replace(function, bound_types=bindings)

    def unify(
        self, expected: Node, values: list[TsValue], names: dict[bytes, DeclarationKey], bindings: MutableBoundTypes
    ) -> None:
        """Bind type parameters so that `values` have the type `expected`."""
        for _ in range(_MAX_UNIFY_STEPS):
            if not values:
                return

            kind = expected.type
            if (
                kind in {"type_annotation", "parenthesized_type", "readonly_type", "optional_type"}
                and expected.named_children
            ):
                expected = expected.named_children[0]
            elif kind == "type_identifier":
                key = names.get(text_of(expected))
                if key is not None:
                    bindings.setdefault(key, tuple(values))
                return
            elif kind == "array_type":
                expected, values = expected.named_children[0], items_of(values)
            elif kind in {"union_type", "intersection_type"}:
                for child in expected.named_children:
                    self.unify(child, values, names, bindings)
                return
            elif kind == "function_type":
                result = expected.child_by_field_name("return_type")
                if result is None:
                    return
                expected, values = result, self.return_values_of_all(values)
            elif kind == "generic_type":
                self._unify_generic(expected, values, names, bindings)
                return
            else:
                return

    def _unify_generic(
        self, expected: Node, values: list[TsValue], names: dict[bytes, DeclarationKey], bindings: MutableBoundTypes
    ) -> None:
        arguments = children_of(field_of(expected, "type_arguments"))
        items = items_of(values)
        if items and arguments:
            # The last type argument has the elements: `Array<T>`, but also the values of `Map<K, T>`.
            self.unify(arguments[-1], items, names, bindings)

        for value in values:
            if value.kind != "instance" or value.node is None:
                continue
            for parameter, argument in zip(scopes.type_parameters(value.node), arguments, strict=False):
                values_of_parameter = self.meaning(value.bound_types, (value.document.key, parameter.start))
                if values_of_parameter:
                    self.unify(argument, values_of_parameter, names, bindings)
