"""Read the type expressions of TypeScript.

`TsAnnotations` turns a type expression into values: the things that an expression of the type may be (`TsValue`). A
type parameter means nothing by itself, so that each question brings *bound types*: what the parameters stand for there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.typescript.names import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    BoundTypes,
    TsNames,
    TsRef,
    TsValue,
    TypeArguments,
    first_distinct,
)
from sourcelight.engines.navigation.languages.typescript.scopes import CLASSES, type_parameters, unquote
from sourcelight.engines.navigation.model import DeclarationKey, Document
from sourcelight.engines.navigation.nodes import child_of_type, children_of, code_of, field_of, first_child, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session

# Types of the standard library by what a value of them has.
_SAME = frozenset({
    b"Partial", b"Readonly", b"Required", b"NonNullable", b"Pick", b"Omit", b"Exclude", b"Extract", b"DeepReadonly",
    b"ThisType", b"NoInfer", b"UnwrapNestedRefs",
})  # fmt: skip
"""Types with the members of their first argument, or some of them."""

_ARRAYS = frozenset({
    b"Array", b"ReadonlyArray", b"Set", b"ReadonlySet", b"Iterable", b"Iterator", b"IterableIterator", b"Generator",
    b"AsyncIterable", b"AsyncGenerator", b"AsyncIterableIterator", b"ArrayLike", b"WeakSet",
})  # fmt: skip
_PROMISES = frozenset({b"Promise", b"PromiseLike"})
_MAPS = frozenset({b"Map", b"WeakMap", b"ReadonlyMap", b"Record"})

_INNER = frozenset({
    "type_annotation", "parenthesized_type", "readonly_type", "optional_type", "constraint", "default_type",
    "omitting_type_annotation", "opting_type_annotation",
})  # fmt: skip
"""Nodes around a type that don't change its members."""

_FUNCTIONS = frozenset({"function_type", "constructor_type"})


class TsAnnotations(TsNames):
    """Read type expressions; `infer` reads the expressions inside."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.depth = 0
        self._was_truncated = False
        # Keys have the identity of the bound types, which must live as long as the keys.
        self._values: dict[Hashable, tuple[list[TsValue], BoundTypes]] = {}
        self._open: set[Hashable] = set()

    def infer(self, document: Document, node: Node | None, bound_types: BoundTypes | None = None) -> list[TsValue]:
        """Return the possible values of an expression."""
        raise NotImplementedError

    def return_values(self, function: TsValue) -> list[TsValue]:
        """Return the values that a function returns."""
        raise NotImplementedError

    def return_values_of_all(self, functions: Iterable[TsValue]) -> list[TsValue]:
        """Return the values that several functions return, one function after the other."""
        values: list[TsValue] = []
        for function in functions:
            values += self.return_values(function)
        return values

    def member_refs(self, value: TsValue, name: bytes) -> list[TsRef]:
        """Return the members of a value by name."""
        raise NotImplementedError

    def values_of(self, ref: TsRef) -> list[TsValue]:
        """Return the possible values of a declaration."""
        raise NotImplementedError

    def values_of_all(self, refs: Iterable[TsRef]) -> list[TsValue]:
        """Return the possible values of several declarations, one after the other."""
        values: list[TsValue] = []
        for ref in refs:
            values += self.values_of(ref)
        return values

    def members_of_all(self, holders: Iterable[TsValue], name: bytes) -> list[TsRef]:
        """Return the members of several values by name, one value after the other."""
        refs: list[TsRef] = []
        for holder in holders:
            refs += self.member_refs(holder, name)
        return refs

    def annotation_values(self, document: Document, node: Node | None, bound_types: BoundTypes) -> list[TsValue]:
        """Return up to four possible values of a type, the most likely first."""
        if node is not None:
            return self.infer_once("type", document, node, bound_types, self._annotation_values)
        return []

    def infer_once(
        self,
        subject: str,
        document: Document,
        node: Node,
        bound_types: BoundTypes,
        work: Callable[[Document, Node, BoundTypes], Iterable[TsValue]],
    ) -> list[TsValue]:
        """Compute values of a node once; empty beyond `MAX_DEPTH` or in a cycle.

        A result that was truncated by depth or by a cycle isn't cached.
        """
        # A result below the limit depends on how deep the question was asked. Cached, it would be short for the next
        # question, so that answers would depend on the order of questions.
        if self.depth >= MAX_DEPTH:
            self._was_truncated = True
            return []

        key = subject, document.key, node.start_byte, node.end_byte, node.type, id(bound_types) if bound_types else 0
        cached = self._values.get(key)
        if cached is not None:
            return cached[0]
        if key in self._open:
            self._was_truncated = True
            return []

        self._open.add(key)
        was_cut, self._was_truncated = self._was_truncated, False
        self.depth += 1

        try:
            values = first_distinct(work(document, node, bound_types))
            if not self._was_truncated:
                self._values[key] = values, bound_types
        finally:
            self.depth -= 1
            self._was_truncated = self._was_truncated or was_cut
            self._open.discard(key)

        return values

    def _annotation_values(self, document: Document, node: Node, bound_types: BoundTypes) -> Iterable[TsValue]:  # noqa: PLR0911, PLR0912 - a case a kind of type
        # `readonly T[]`, `(T)`, `: T`: wrappers without a meaning for members.
        while node.type in _INNER and node.named_children:
            node = node.named_children[-1]

        kind = node.type
        if kind in {"type_identifier", "identifier", "nested_type_identifier"}:
            return self._named_type_values(document, node, [], bound_types)

        if kind == "generic_type":
            name = node.child_by_field_name("name")
            if name is None:
                return []
            return self._named_type_values(document, name, code_of(field_of(node, "type_arguments")), bound_types)

        if kind in {"union_type", "intersection_type"}:
            return self._values_of_types(document, node.named_children, bound_types)

        if kind == "object_type":
            mapped = child_of_type(node, "index_signature")
            return [
                TsValue("shape", document, node, bound_types),
                *self._mapped_members(document, mapped, bound_types),
            ]

        if kind == "array_type":
            items = self.annotation_values(document, node.named_children[0], bound_types)
            return [TsValue("array", document, node, bound_types, tuple(items))]

        if kind == "tuple_type":
            return [TsValue("tuple", document, node, bound_types)]
        if kind in _FUNCTIONS:
            return [TsValue("function", document, node, bound_types)]
        if kind == "type_query":
            return self.infer(document, first_child(node), bound_types)
        if kind == "lookup_type":
            return self._lookup_type(document, node, bound_types)

        if kind == "conditional_type":
            # Which branch holds needs a type checker; a member of either may be meant.
            branches = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
            return self._values_of_types(document, branches, bound_types)

        if kind == "this_type":
            return self.this(document, node)

        return []

    def _values_of_types(
        self, document: Document, nodes: Iterable[Node | None], bound_types: BoundTypes
    ) -> list[TsValue]:
        """Return the possible values of several types, one after the other."""
        values: list[TsValue] = []
        for node in nodes:
            values += self.annotation_values(document, node, bound_types)
        return values

    def _mapped_members(self, document: Document, signature: Node | None, bound_types: BoundTypes) -> list[TsValue]:
        """Return the members of ``T``, which ``[K in keyof T]: …`` has."""
        kind = field_of(child_of_type(signature, "mapped_type_clause"), "type")
        if kind is None or kind.type != "index_type_query":
            return []
        return self.annotation_values(document, kind.named_children[0], bound_types)

    def _lookup_type(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        if len(node.named_children) < 2:
            return []

        holder, key = node.named_children[:2]
        values = self.annotation_values(document, holder, bound_types)

        # `T[number]` is an element; `T["name"]` is a member.
        if key.type != "literal_type":
            return items_of(values)

        return self.values_of_all(self.members_of_all(values, unquote(key)))

    def this(self, document: Document, node: Node) -> list[TsValue]:
        """Return the values of ``this`` at a node."""
        model = self.model(document)
        path = model.path_to(node.start_byte) if model is not None else []
        for index in range(len(path) - 1, -1, -1):
            outer = path[index]
            if outer.type in CLASSES:
                return [TsValue("instance", document, outer)]
            if outer.type == "interface_declaration":
                return [TsValue("instance", document, outer)]

            # Arrow functions are passed over: they have the `this` of the code around them.
            if outer.type in {"function_declaration", "function_expression", "method_definition"}:
                declared_this = self._declared_this(document, outer)
                if declared_this:
                    return declared_this
                if outer.type == "method_definition" and index and path[index - 1].type == "object":
                    return [TsValue("object", document, path[index - 1])]

        return []

    def _declared_this(self, document: Document, function: Node) -> list[TsValue]:
        for parameter in children_of(field_of(function, "parameters")):
            pattern = parameter.child_by_field_name("pattern")
            if pattern is not None and pattern.type == "this":
                return self.annotation_values(document, parameter.child_by_field_name("type"), {})
        return []

    def _named_type_values(
        self, document: Document, name: Node, arguments: list[Node], bound_types: BoundTypes
    ) -> list[TsValue]:
        refs = self.type_refs(document, name)
        if not refs:
            return self._built_in_type(document, name, arguments, bound_types)

        values: list[TsValue] = []
        for ref in refs:
            values += self.of_type(ref, document, arguments, bound_types)
        return values

    def type_refs(self, document: Document, name: Node) -> list[TsRef]:
        """Return the declarations of a named type, imports followed."""
        if name.type in {"nested_type_identifier", "member_expression", "nested_identifier"}:
            # `a.B` in an annotation has a module and a name; as an expression it has an object and a property.
            holder = name.child_by_field_name("module") or name.child_by_field_name("object")
            member = name.child_by_field_name("name") or name.child_by_field_name("property")
            return self.follow(self.members_of_all(self.infer(document, holder), text_of(member)))

        refs = self.lookup(document, text_of(name), name.start_byte, as_type=True)
        return [ref for ref in self.follow(refs) if ref.binding is None or ref.binding.kind != "import"]

    def of_type(self, ref: TsRef, document: Document, arguments: list[Node], bound_types: BoundTypes) -> list[TsValue]:  # noqa: PLR0911 - a case a kind
        """Return the possible values of a declared type; `arguments` are its type arguments in `document`."""
        binding = ref.binding
        if binding is None:
            return []

        if binding.kind == "typeparameter":
            values = self.meaning(bound_types, ref.key)
            if values:
                return values
            # Unbound, a parameter has at least the members of its default or constraint.
            default = binding.node.child_by_field_name("value")
            constraint = binding.node.child_by_field_name("constraint")
            default_values = self.annotation_values(ref.document, default, bound_types)
            return default_values or self.annotation_values(ref.document, constraint, bound_types)

        if arguments or binding.node.child_by_field_name("type_parameters"):
            inner = self.bound_to(ref, document, arguments, bound_types)
        else:
            inner = {}
        if binding.kind in {"class", "interface", "default"}:
            return [TsValue("instance", ref.document, binding.node, inner)]
        if binding.kind == "type":
            return self.annotation_values(ref.document, binding.node.child_by_field_name("value"), inner)
        if binding.kind == "enum":
            return [TsValue("enum", ref.document, binding.node)]

        return []

    def meaning(self, bound_types: BoundTypes, key: DeclarationKey) -> list[TsValue]:
        """Return the values that a type parameter is bound to."""
        argument = bound_types.get(key, ())
        if isinstance(argument, TypeArguments):
            return self.annotation_values(argument.document, argument.node, argument.bound_types)
        return list(argument)

    def bound_to(self, ref: TsRef, document: Document, arguments: list[Node], bound_types: BoundTypes) -> BoundTypes:
        """Bind the type parameters of a declaration to arguments, or to their defaults."""
        bindings: dict[DeclarationKey, tuple[TsValue, ...] | TypeArguments] = {}
        if ref.binding is None:
            return bindings

        for position, parameter in enumerate(type_parameters(ref.binding.node)):
            default = parameter.node.child_by_field_name("value")
            if position < len(arguments):
                bindings[ref.document.key, parameter.start] = TypeArguments(document, arguments[position], bound_types)
            elif default is not None:
                # A default may name earlier parameters, so it is read in the bindings that are made here.
                bindings[ref.document.key, parameter.start] = TypeArguments(ref.document, default, bindings)

        return bindings

    def _built_in_type(  # noqa: PLR0911 - a case a group of names
        self, document: Document, name: Node, arguments: list[Node], bound_types: BoundTypes
    ) -> list[TsValue]:
        text = text_of(name)
        if not arguments:
            return []
        if text in _MAPS:
            # The last argument: the values of `Map<K, V>` have members of interest, its keys are mostly text.
            items = self.annotation_values(document, arguments[-1], bound_types)
            return [TsValue("map", document, name, bound_types, tuple(items))]

        inner = self.annotation_values(document, arguments[0], bound_types)
        if text in _SAME:
            return inner
        if text in _ARRAYS:
            return [TsValue("array", document, name, bound_types, tuple(inner))]
        if text in _PROMISES:
            return [TsValue("promise", document, name, bound_types, tuple(inner))]
        if text == b"Awaited":
            return unwrap_promises(inner)
        if text == b"ReturnType":
            return self.return_values_of_all(inner)
        if text == b"InstanceType":
            return [replace(value, kind="instance") for value in inner if value.kind == "class"]

        return []


def unwrap_promises(values: Iterable[TsValue]) -> list[TsValue]:
    """Return the first few values, with what promises among them resolve to in their place."""
    unwrapped: list[TsValue] = []
    for value in values:
        if value.kind == "promise":
            unwrapped += value.items
        else:
            unwrapped.append(value)
    return unwrapped[:MAX_ALTERNATIVES]


def items_of(values: Iterable[TsValue]) -> list[TsValue]:
    """Return what the collections and promises among some values contain."""
    items: list[TsValue] = []
    for value in values:
        items += value.items
    return items


def merge_bound_types(first: BoundTypes, second: BoundTypes) -> BoundTypes:
    """Join two bindings of type parameters."""
    if not first:
        return second
    return {**first, **second} if second else first
