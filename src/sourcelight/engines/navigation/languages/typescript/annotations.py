"""Read the type expressions of TypeScript."""

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

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session

_SAME = frozenset({
    b"Partial", b"Readonly", b"Required", b"NonNullable", b"Pick", b"Omit", b"Exclude", b"Extract", b"DeepReadonly",
    b"ThisType", b"NoInfer", b"UnwrapNestedRefs",
})  # fmt: skip
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

    def member_refs(self, value: TsValue, name: bytes) -> list[TsRef]:
        """Return the members of a value by name."""
        raise NotImplementedError

    def values_of(self, ref: TsRef) -> list[TsValue]:
        """Return the possible values of a declaration."""
        raise NotImplementedError

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

        key = (
            subject,
            document.key,
            node.start_byte,
            node.end_byte,
            node.type,
            id(bound_types) if bound_types else 0,
        )
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

    def _annotation_values(self, document: Document, node: Node, bound_types: BoundTypes) -> Iterable[TsValue]:  # noqa: PLR0911 - a case a kind of type
        # `readonly T[]`, `(T)`, `: T`: wrappers without a meaning for members.
        while node.type in _INNER and node.named_children:
            node = node.named_children[-1]

        kind = node.type
        if kind in {"type_identifier", "identifier", "nested_type_identifier"}:
            return self._named_type_values(document, node, [], bound_types)

        if kind == "generic_type":
            arguments = node.child_by_field_name("type_arguments")
            name = node.child_by_field_name("name")
            type_arguments = (
                [child for child in arguments.named_children if child.type != "comment"]
                if arguments is not None
                else []
            )
            return self._named_type_values(document, name, type_arguments, bound_types) if name is not None else []

        if kind in {"union_type", "intersection_type"}:
            return [
                value for child in node.named_children for value in self.annotation_values(document, child, bound_types)
            ]

        if kind == "object_type":
            mapped = next((child for child in node.named_children if child.type == "index_signature"), None)
            inner = self._mapped_members(document, mapped, bound_types) if mapped is not None else []
            return [TsValue("shape", document, node, bound_types), *inner]

        if kind == "array_type":
            return [
                TsValue(
                    "array",
                    document,
                    node,
                    bound_types,
                    tuple(self.annotation_values(document, node.named_children[0], bound_types)),
                )
            ]

        if kind == "tuple_type":
            return [TsValue("tuple", document, node, bound_types)]
        if kind in _FUNCTIONS:
            return [TsValue("function", document, node, bound_types)]
        if kind == "type_query":
            return self.infer(document, node.named_children[0] if node.named_children else None, bound_types)
        if kind == "lookup_type":
            return self._lookup_type(document, node, bound_types)

        if kind == "conditional_type":
            # Which branch holds needs a type checker; a member of either may be meant.
            branches = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
            return [value for branch in branches for value in self.annotation_values(document, branch, bound_types)]

        if kind == "this_type":
            return self.this(document, node)

        return []

    def _mapped_members(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        """Return the members of ``T``, which ``[K in keyof T]: …`` has."""
        clause = next((child for child in node.named_children if child.type == "mapped_type_clause"), None)
        kind = clause.child_by_field_name("type") if clause is not None else None
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
            return [item for value in values for item in value.items]

        return [v for value in values for ref in self.member_refs(value, unquote(key)) for v in self.values_of(ref)]

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
        parameters = function.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            pattern = parameter.child_by_field_name("pattern")
            if pattern is not None and pattern.type == "this":
                return self.annotation_values(document, parameter.child_by_field_name("type"), {})
        return []

    def _named_type_values(
        self, document: Document, name: Node, arguments: list[Node], bound_types: BoundTypes
    ) -> Iterable[TsValue]:
        refs = self.type_refs(document, name)
        if refs:
            return [value for ref in refs for value in self.of_type(ref, document, arguments, bound_types)]
        return self._built_in_type(document, name, arguments, bound_types)

    def type_refs(self, document: Document, name: Node) -> list[TsRef]:
        """Return the declarations of a named type, imports followed."""
        if name.type in {"nested_type_identifier", "member_expression", "nested_identifier"}:
            holder = name.child_by_field_name("module") or name.child_by_field_name("object")
            last = name.child_by_field_name("name") or name.child_by_field_name("property")
            holders = self.infer(document, holder) if holder is not None else []
            members = [
                r
                for value in holders
                for r in self.member_refs(value, (last.text if last is not None else None) or b"")
            ]
            return self.follow(members)

        refs = self.lookup(document, name.text or b"", name.start_byte, as_type=True)
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
            default, constraint = (binding.node.child_by_field_name(field) for field in ("value", "constraint"))
            return self.annotation_values(ref.document, default, bound_types) or self.annotation_values(
                ref.document, constraint, bound_types
            )

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
        for position, parameter in enumerate(type_parameters(ref.binding.node) if ref.binding is not None else ()):
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
        text = name.text or b""
        if not arguments:
            return []
        if text in _SAME:
            return self.annotation_values(document, arguments[0], bound_types)

        if text in _ARRAYS:
            return [
                TsValue(
                    "array",
                    document,
                    name,
                    bound_types,
                    tuple(self.annotation_values(document, arguments[0], bound_types)),
                )
            ]

        if text in _PROMISES:
            return [
                TsValue(
                    "promise",
                    document,
                    name,
                    bound_types,
                    tuple(self.annotation_values(document, arguments[0], bound_types)),
                )
            ]

        if text in _MAPS:
            return [
                TsValue(
                    "map",
                    document,
                    name,
                    bound_types,
                    tuple(self.annotation_values(document, arguments[-1], bound_types)),
                )
            ]

        inner = self.annotation_values(document, arguments[0], bound_types)
        if text == b"Awaited":
            return self.unwrap_promises(inner)
        if text == b"ReturnType":
            return [value for function in inner for value in self.return_values(function)]
        if text == b"InstanceType":
            return [replace(value, kind="instance") for value in inner if value.kind == "class"]

        return []

    @staticmethod
    def unwrap_promises(values: list[TsValue]) -> list[TsValue]:
        """Unwrap promises."""
        return [item for value in values for item in (value.items if value.kind == "promise" else (value,))][
            :MAX_ALTERNATIVES
        ]


def merge_bound_types(first: BoundTypes, second: BoundTypes) -> BoundTypes:
    """Join two bindings of type parameters."""
    if not first:
        return second
    return {**first, **second} if second else first
