"""Type expressions of Go, and their parts: members of a literal, elements, parameters, embedded types.

A type (`GoType`) is a type expression in a file. A type parameter means nothing by itself, so that a type also has its
*bound types*: what the parameters stand for there. Nothing here looks up a name: that is `inference`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.go.packages import GoRef
from sourcelight.engines.navigation.languages.go.scopes import Kind, make_declaration
from sourcelight.engines.navigation.model import DeclarationKey, Document
from sourcelight.engines.navigation.nodes import children_of, field_text, first_child

if TYPE_CHECKING:
    from tree_sitter import Node

WRAPPERS = frozenset({"pointer_type", "parenthesized_type", "type_elem", "type_constraint", "negated_type"})
"""Nodes around a type that don't change its members."""

TYPES = frozenset({
    "pointer_type", "parenthesized_type", "slice_type", "array_type", "implicit_length_array_type", "map_type",
    "channel_type", "function_type", "struct_type", "interface_type", "generic_type", "qualified_type",
    "type_identifier",
})  # fmt: skip
"""Nodes that are type expressions."""

POINTERS = frozenset({"pointer_type", "parenthesized_type"})
_INDEXED = frozenset(
    {"map_type", "slice_type", "array_type", "implicit_length_array_type", "variadic_parameter_declaration"}
)
CALLABLE = frozenset({"function_type", "function_declaration", "method_declaration", "func_literal", "method_elem"})


@dataclass(frozen=True, slots=True)
class GoType:
    """A type expression in a file, with the types that its type parameters are bound to."""

    document: Document
    node: Node
    bound_types: Mapping[DeclarationKey, GoType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoMember:
    """A field or method, with the types that type parameters are bound to at its declaration."""

    ref: GoRef
    bound_types: Mapping[DeclarationKey, GoType]


@dataclass(frozen=True, slots=True)
class GoNamedType:
    """The declaration of a type, with the types that its type parameters are bound to."""

    ref: GoRef
    bound_types: Mapping[DeclarationKey, GoType]


def is_declaration(go_type: GoType) -> bool:
    """Return whether a type is the declaration of a type, to which the name of a type leads, and no value's type."""
    return go_type.node.type in {"type_spec", "type_alias"}


def unwrap(node: Node) -> Node:
    """Return the type expression inside pointers, parentheses and constraints."""
    while node.type in WRAPPERS and node.named_children:
        node = node.named_children[0]
    return node


def drop_pointers(go_type: GoType) -> GoType:
    """Return the type that a pointer, or several, point to."""
    node = go_type.node
    while node.type in POINTERS and node.named_children:
        node = node.named_children[0]
    return replace(go_type, node=node)


def definition_of(named_type: GoNamedType) -> GoType | None:
    """Return the type that a declared type or type parameter is defined as."""
    ref, bound_types = named_type.ref, named_type.bound_types
    if ref.declaration.kind == "typeparameter":
        argument = bound_types.get(ref.key)
        if argument is not None:
            return argument

    definition = ref.declaration.node.child_by_field_name("type")
    return GoType(ref.document, definition, bound_types) if definition is not None else None


def _fields_of(struct: Node) -> list[Node]:
    fields: list[Node] = []
    for group in struct.named_children:
        fields += [child for child in group.named_children if child.type == "field_declaration"]
    return fields


def members_in_literal(literal: GoType, name: bytes) -> list[GoMember]:
    """Return the fields of a struct type, or the methods of an interface type, of that name."""
    node = unwrap(literal.node)
    members: list[GoMember] = []
    if node.type == "struct_type":
        for element in _fields_of(node):
            labels = element.children_by_field_name("name")
            if not labels:
                # An embedded field goes by the name of its type.
                type_name = _type_name(element.child_by_field_name("type"))
                labels = [type_name] if type_name is not None else []
            members += [_member("field", label, element, literal) for label in labels if label.text == name]
    elif node.type == "interface_type":
        for element in node.named_children:
            label = element.child_by_field_name("name")
            if element.type == "method_elem" and label is not None and label.text == name:
                members.append(_member("method", label, element, literal))

    return members


def _member(kind: Kind, name: Node, node: Node, literal: GoType) -> GoMember:
    return GoMember(GoRef(literal.document, make_declaration(kind, name, node)), literal.bound_types)


def embedded_types(literal: GoType) -> list[GoType]:
    """Return the types that a struct or interface type embeds: their members are its members too."""
    node = unwrap(literal.node)
    embedded: list[Node] = []
    if node.type == "struct_type":
        for element in _fields_of(node):
            field_type = element.child_by_field_name("type")
            if field_type is not None and element.child_by_field_name("name") is None:
                embedded.append(field_type)
    elif node.type == "interface_type":
        for element in node.named_children:
            if element.type == "type_elem":
                embedded += element.named_children

    return [replace(literal, node=child) for child in embedded]


def type_arguments_of(call: Node) -> list[Node]:
    """Return the type arguments of a call ``f[A, B](x)``."""
    explicit = call.child_by_field_name("type_arguments")
    function = call.child_by_field_name("function")
    # With one argument, `f[A]`, the grammar sees the index of a list.
    if explicit is None and function is not None and function.type == "index_expression":
        return function.named_children[1:]
    return children_of(explicit)


def parameter_types(parameters: Node | None) -> Iterator[Node]:
    """Yield the type of each parameter or result, once per name."""
    for parameter in children_of(parameters):
        if parameter.type == "variadic_parameter_declaration":
            yield parameter
        elif parameter.type == "parameter_declaration":
            kind = parameter.child_by_field_name("type")
            names = len(parameter.children_by_field_name("name"))
            if kind is not None:
                yield from [kind] * max(names, 1)


def _yielded_type(iterator: Node, position: int) -> Node | None:
    """Return the type that an iterator function yields: ``func(yield func(K, V) bool)``."""
    callback = next(parameter_types(iterator.child_by_field_name("parameters")), None)
    if callback is None or callback.type != "function_type":
        return None

    types = list(parameter_types(callback.child_by_field_name("parameters")))
    return types[position] if position < len(types) else None


def part_of(literal: Node, position: int) -> Node | None:
    """Return the type that a range over a literal type, or an index of it, yields: 0 its key, 1 its value."""
    if literal.type == "channel_type":
        return element_type(literal)
    if literal.type in CALLABLE:
        return _yielded_type(literal, position)
    if literal.type == "map_type" and position == 0:
        return literal.child_by_field_name("key")
    if literal.type in _INDEXED and position == 1:
        return element_type(literal)
    return None


def element_type(node: Node) -> Node | None:
    """Return the type of the elements of a list, map or channel."""
    for name in ("element", "value", "type"):
        inner = node.child_by_field_name(name)
        if inner is not None:
            return inner
    return None


def sequence_types(node: Node) -> list[Node] | None:
    """Return the types that `iter.Seq` and `iter.Seq2` yield: the standard library is seldom indexed."""
    if node.type != "generic_type" or field_text(node, "type") not in {b"iter.Seq", b"iter.Seq2"}:
        return None
    arguments = node.child_by_field_name("type_arguments")
    return arguments.named_children if arguments is not None else None


def _type_name(node: Node | None) -> Node | None:
    """Return the name under which a struct embeds a type."""
    while node is not None and node.type != "type_identifier":
        node = node.child_by_field_name("name") or node.child_by_field_name("type") or first_child(node)
    return node
