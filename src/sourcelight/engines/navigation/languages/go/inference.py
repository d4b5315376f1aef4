"""Types of Go expressions, as far as members need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.go.packages import GoImport, GoNames, GoRef
from sourcelight.engines.navigation.languages.go.scopes import GoDeclaration, Kind, receiver_arguments
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from tree_sitter import Node

Place = tuple[tuple[str, str, bytes], int]

_MOST_STEPS = 24
_MOST_DEPTH = 6
_WRAPPERS = frozenset({"pointer_type", "parenthesized_type", "type_elem", "type_constraint", "negated_type"})
TYPES = frozenset({
    "pointer_type", "parenthesized_type", "slice_type", "array_type", "implicit_length_array_type", "map_type",
    "channel_type", "function_type", "struct_type", "interface_type", "generic_type", "qualified_type",
    "type_identifier",
})  # fmt: skip
_SAME_AS_FIRST = frozenset({b"append", b"min", b"max", b"copy"})
_CALLABLE = frozenset({"function_type", "function_declaration", "method_declaration", "func_literal", "method_elem"})


@dataclass(frozen=True, slots=True)
class GoType:
    """A type: its expression, the file that it stands in, and what type parameters mean there."""

    document: Document
    node: Node
    known: Mapping[Place, GoType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoMember:
    """A field or method, with what type parameters mean at its declaration."""

    ref: GoRef
    known: Mapping[Place, GoType]


class GoInference(GoNames):
    """Infers types within one call."""

    _steps = 0

    def infer(self, document: Document, node: Node | None, place: int = 0) -> GoType | GoImport | None:
        """Give the type of an expression, or the package that it names; of several results, the one at `place`."""
        if node is None or self._steps > _MOST_STEPS:
            return None
        self._steps += 1
        try:
            return self._infer(document, node, place)
        finally:
            self._steps -= 1

    def typed(self, document: Document, node: Node | None, place: int = 0) -> GoType | None:
        """Give the type of an expression; None for a package."""
        found = self.infer(document, node, place)
        return found if isinstance(found, GoType) else None

    def _infer(self, document: Document, node: Node, place: int) -> GoType | GoImport | None:  # noqa: PLR0911 - a case a line
        kind = node.type
        if kind == "identifier":
            return self._of_identifier(document, node)
        if kind == "selector_expression":
            return self._of_selector(document, node)
        if kind == "call_expression":
            return self._of_call(document, node, place)
        if kind in {"composite_literal", "type_assertion_expression", "type_conversion_expression"}:
            named = node.child_by_field_name("type")
            return GoType(document, named) if named is not None and not place else None
        if kind in {"parenthesized_expression", "unary_expression", "slice_expression", "binary_expression"}:
            return self._of_operator(document, node)
        if kind == "index_expression":
            return self._of_index(document, node)
        if kind == "type_instantiation_expression":
            return self.infer(document, node.child_by_field_name("type"))
        if kind == "func_literal" or kind in TYPES:
            return GoType(document, node)
        return None

    def _of_identifier(self, document: Document, node: Node) -> GoType | GoImport | None:
        model = self.model(document)
        if model is None:
            return None
        name = node.text or b""
        path = model.path_to(node.start_byte)
        refs = self.plain(document, path, name, node.start_byte)
        if refs:
            return self.type_of(refs[0], path)
        return self.imported(document, name)

    def _of_selector(self, document: Document, node: Node) -> GoType | None:
        name = node.child_by_field_name("field")
        found = self.selected(document, node.child_by_field_name("operand"), (name.text if name else None) or b"")
        return self._of_member(found[0]) if found else None

    def selected(self, document: Document, operand: Node | None, name: bytes) -> list[GoMember]:
        """Give what ``operand.name`` means."""
        held = self.infer(document, operand)
        if isinstance(held, GoImport):
            return [GoMember(ref, {}) for ref in self.member(held.package, name)] if held.package is not None else []
        return self.members(held, name) if held is not None else []

    def _of_member(self, member: GoMember) -> GoType | None:
        found = self.type_of(member.ref, [])
        return replace(found, known={**member.known, **found.known}) if found is not None else None

    def _of_operator(self, document: Document, node: Node) -> GoType | GoImport | None:
        operand = node.child_by_field_name("operand") or node.child_by_field_name("left")
        if operand is None and node.named_children:
            operand = node.named_children[0]
        held = self.infer(document, operand)
        sign = node.child_by_field_name("operator")
        if sign is not None and sign.type == "<-" and isinstance(held, GoType):
            return self.element(held, 1)
        return held

    def _of_index(self, document: Document, node: Node) -> GoType | GoImport | None:
        held = self.infer(document, node.child_by_field_name("operand"))
        if not isinstance(held, GoType) or held.node.type in _CALLABLE:
            return held
        return self.element(held, 1)

    def _of_call(self, document: Document, node: Node, place: int) -> GoType | None:  # noqa: PLR0911 - a case a return
        function = node.child_by_field_name("function")
        if function is None:
            return None
        arguments = node.child_by_field_name("arguments")
        given = [child for child in arguments.named_children if child.type != "comment"] if arguments else []
        if function.type in TYPES or function.type == "parenthesized_expression":
            inner = function.named_children[0] if function.type == "parenthesized_expression" else function
            if inner is not None and (inner.type in TYPES or inner.type == "unary_expression"):
                return self.typed(document, inner)
        held = self.infer(document, function)
        if held is None and function.type == "identifier" and given:
            if function.text in {b"new", b"make"}:
                return GoType(document, given[0])
            return self.typed(document, given[0]) if function.text in _SAME_AS_FIRST else None
        if not isinstance(held, GoType):
            return None
        called = self.callable(held)
        if called is None:
            return held  # a conversion
        return self.result(self._instantiated(called, document, node, given), place)

    def callable(self, held: GoType) -> GoType | None:
        """Give the function behind a type; None when it is none."""
        if held.node.type in _CALLABLE:
            return held
        if self._is_type_itself(held):
            return None
        return next((t for t in self._underlying(held) if t.node.type in _CALLABLE), None)

    def _is_type_itself(self, held: GoType) -> bool:
        return held.node.type in {"type_spec", "type_alias"}

    def result(self, called: GoType, place: int) -> GoType | None:
        """Give the type of a result by its place."""
        results = called.node.child_by_field_name("result")
        if results is None:
            return None
        found = list(_parameters(results)) if results.type == "parameter_list" else [results]
        return GoType(called.document, found[place], called.known) if place < len(found) else None

    def _instantiated(self, called: GoType, document: Document, node: Node, given: list[Node]) -> GoType:
        """Add what the type parameters of a function mean in one call."""
        model = self.model(called.document)
        if called.node.type != "function_declaration" or model is None:
            return called
        held = [
            made
            for declared in model.declared(called.node, None).values()
            for made in declared
            if made.kind == "typeparameter"
        ]
        if not held:
            return called
        known = dict(called.known)
        function = node.child_by_field_name("function")
        explicit = node.child_by_field_name("type_arguments")
        if explicit is None and function is not None and function.type == "index_expression":
            named = list(function.named_children[1:])
        else:
            named = list(explicit.named_children) if explicit is not None else []
        for made in held:
            if made.place < len(named):
                known[called.document.key, made.start] = GoType(document, named[made.place])
        parameters = called.node.child_by_field_name("parameters")
        wanted = list(_parameters(parameters)) if parameters is not None else []
        by_name = {made.name: (called.document.key, made.start) for made in held}
        for parameter, argument in zip(wanted, given, strict=False):
            mentioned = set((parameter.text or b"").replace(b"*", b" ").split()) or by_name
            if mentioned and any(key not in known for key in by_name.values()):
                value = self.typed(document, argument)
                if value is not None:
                    self._unify(parameter, value, by_name, known)
        return replace(called, known=known)

    def _unify(self, wanted: Node, value: GoType, names: Mapping[bytes, Place], known: dict[Place, GoType]) -> None:
        for _ in range(_MOST_DEPTH):
            if wanted.type == "type_identifier":
                place = names.get(wanted.text or b"")
                if place is not None:
                    known.setdefault(place, value)
                return
            if wanted.type in {"pointer_type", "parenthesized_type"} and wanted.named_children:
                wanted = wanted.named_children[0]
                while value.node.type in {"pointer_type", "parenthesized_type"} and value.node.named_children:
                    value = replace(value, node=value.node.named_children[0])
                continue
            if wanted.type == "function_type":
                called = self.callable(value)
                inner = wanted.child_by_field_name("result")
                found = self.result(called, 0) if called is not None else None
            elif wanted.type in {
                "slice_type",
                "array_type",
                "map_type",
                "channel_type",
                "variadic_parameter_declaration",
            }:
                inner = _inner(wanted)
                found = self.element(value, 1) if wanted.type != "variadic_parameter_declaration" else value
            else:
                return
            if inner is None or found is None:
                return
            wanted, value = inner, found

    def element(self, held: GoType, place: int) -> GoType | None:  # noqa: PLR0911 - a case a return
        """Give what a range over a type, or an index into it, yields: 0 its key, 1 its value."""
        sequence = _sequence(held.node)
        if sequence is not None:
            return replace(held, node=sequence[place]) if place < len(sequence) else None
        for found in self._underlying(held):
            node = found.node
            if node.type == "channel_type":
                return replace(found, node=inner) if (inner := _inner(node)) is not None else None
            if node.type == "map_type" and place == 0:
                key = node.child_by_field_name("key")
                return replace(found, node=key) if key is not None else None
            if node.type in {"slice_type", "array_type", "implicit_length_array_type", "map_type"} and place == 1:
                return replace(found, node=inner) if (inner := _inner(node)) is not None else None
            if node.type == "variadic_parameter_declaration" and place == 1:
                return replace(found, node=inner) if (inner := _inner(node)) is not None else None
            if node.type in _CALLABLE:
                return self._yielded(found, place)
        return None

    def _yielded(self, iterator: GoType, place: int) -> GoType | None:
        """What a function to range over passes on."""
        parameters = iterator.node.child_by_field_name("parameters")
        first = next(_parameters(parameters), None) if parameters is not None else None
        inner = first.child_by_field_name("parameters") if first is not None and first.type == "function_type" else None
        held = list(_parameters(inner)) if inner is not None else []
        return replace(iterator, node=held[place]) if place < len(held) else None

    def type_of(self, ref: GoRef, path: list[Node]) -> GoType | None:  # noqa: PLR0911 - a case a return
        """Give the type of what is declared; for a type, a type that says so by being its declaration."""
        made, document = ref.declaration, ref.document
        node = made.node
        if made.kind == "typeparameter":
            return None
        if made.kind in {"function", "method", "type"} or node.type == "variadic_parameter_declaration":
            return GoType(document, node)
        named = node.child_by_field_name("type")
        if named is not None:
            return GoType(document, named)
        if node.type == "type_switch_statement":
            return self._of_case(document, node, path)
        if node.type == "range_clause":
            held = self.typed(document, node.child_by_field_name("right"))
            if held is None:
                return None
            over_channel = any(t.node.type == "channel_type" for t in self._underlying(held))
            return self.element(held, 1 if over_channel else made.place)
        return self._of_value(document, node, made)

    def _of_case(self, document: Document, node: Node, path: list[Node]) -> GoType | None:
        case = next((n for n in reversed(path) if n.type == "type_case" and n.start_byte > node.start_byte), None)
        kinds = case.children_by_field_name("type") if case is not None else []
        if len(kinds) == 1:
            return GoType(document, kinds[0])
        return self.typed(document, node.child_by_field_name("value"))

    def _of_value(self, document: Document, node: Node, made: GoDeclaration) -> GoType | None:
        values = node.child_by_field_name("value") or node.child_by_field_name("right")
        if values is None:
            return None
        given = (
            [c for c in values.named_children if c.type != "comment"] if values.type == "expression_list" else [values]
        )
        if made.place < len(given) and (len(given) > 1 or made.place == 0):
            found = self.typed(document, given[made.place])
            if found is not None and self._is_type_itself(found):
                return None
            return found
        if given and given[0].type == "call_expression":
            return self.typed(document, given[0], made.place)
        return None

    def named(self, held: GoType) -> tuple[GoRef, Mapping[Place, GoType]] | None:
        """Give the declaration of a named type, and what its type parameters mean; None for a type literal."""
        node, document, known = held.node, held.document, held.known
        arguments: list[Node] = []
        while node.type in _WRAPPERS or node.type in {"generic_type", "unary_expression"}:
            if node.type == "generic_type":
                given = node.child_by_field_name("type_arguments")
                arguments = list(given.named_children) if given is not None else []
                inner = node.child_by_field_name("type")
            else:
                inner = node.named_children[0] if node.named_children else None
            if inner is None:
                return None
            node = inner
        if node.type in {"type_spec", "type_alias"}:
            name = node.child_by_field_name("name")
            if name is None:
                return None
            return GoRef(document, GoDeclaration("type", name.text or b"", name.start_byte, name.end_byte, node)), known
        ref = self._type_ref(document, node)
        if ref is None or ref.declaration.kind not in {"type", "typeparameter"}:
            return None
        if ref.declaration.kind == "typeparameter":
            return ref, known
        meant = dict(known)
        declared = ref.declaration.node
        model = self.model(ref.document) if arguments else None
        for made in (d for held in (model.declared(declared, None) if model else {}).values() for d in held):
            if made.kind == "typeparameter" and made.place < len(arguments):
                meant[ref.document.key, made.start] = GoType(document, arguments[made.place], known)
        return ref, meant

    def _type_ref(self, document: Document, node: Node) -> GoRef | None:
        if node.type == "qualified_type":
            package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
        elif node.type == "selector_expression":
            package, name = node.child_by_field_name("operand"), node.child_by_field_name("field")
        else:
            model = self.model(document)
            if node.type not in {"type_identifier", "identifier"} or model is None:
                return None
            refs = self.plain(document, model.path_to(node.start_byte), node.text or b"", node.start_byte)
            return refs[0] if refs else None
        if package is None or name is None:
            return None
        held = self.imported(document, package.text or b"")
        if held is None or held.package is None:
            return None
        return next(iter(self.member(held.package, name.text or b"")), None)

    def _underlying(self, held: GoType) -> Iterator[GoType]:
        """The type literals that a type comes down to: one, but for the alternatives of a constraint."""
        waiting, seen = [held], set[Place]()
        for _ in range(_MOST_STEPS):
            if not waiting:
                return
            one = waiting.pop()
            named = self.named(one)
            if named is None:
                node = one.node
                while node.type in _WRAPPERS and node.named_children:
                    node = node.named_children[0]
                yield replace(one, node=node)
                continue
            ref, known = named
            if ref.place in seen:
                continue
            seen.add(ref.place)
            inner = self._behind(ref, known)
            waiting += [inner] if inner is not None else []

    def _behind(self, ref: GoRef, known: Mapping[Place, GoType]) -> GoType | None:
        """One step from a declared type or type parameter to what it stands for."""
        made = ref.declaration
        if made.kind == "typeparameter":
            meant = known.get(ref.place)
            if meant is not None:
                return meant
        inner = made.node.child_by_field_name("type")
        return GoType(ref.document, inner, known) if inner is not None else None

    def members(self, held: GoType, name: bytes) -> list[GoMember]:
        """Give the fields and methods of that name, those of the type itself before those it embeds."""
        level, seen = [held], set[Place]()
        for _ in range(_MOST_DEPTH):
            found: list[GoMember] = []
            deeper: list[GoType] = []
            while level:
                one = level.pop(0)
                named = self.named(one)
                if named is None:
                    self._in_literal(one, name, found, deeper)
                    continue
                ref, known = named
                if ref.place in seen:
                    continue
                seen.add(ref.place)
                if ref.declaration.kind == "type":
                    found += [GoMember(method, self._renamed(ref, method, known)) for method in self.methods(ref, name)]
                inner = self._behind(ref, known)
                if inner is not None and not found:
                    level.append(inner)
            if found or not deeper:
                return found
            level = deeper
        return []

    def _renamed(self, owner: GoRef, method: GoRef, known: Mapping[Place, GoType]) -> Mapping[Place, GoType]:
        """What the type parameters mean under the names that a method has for them."""
        names = receiver_arguments(method.declaration.node) if known else []
        model = self.model(owner.document) if names else None
        held = model.declared(owner.declaration.node, None) if model is not None else {}
        by_place = {d.place: (owner.document.key, d.start) for made in held.values() for d in made}
        renamed = dict(known)
        for place, name in enumerate(names):
            meant = known.get(by_place[place]) if place in by_place else None
            if meant is not None:
                renamed[method.document.key, name.start_byte] = meant
        return renamed

    def _in_literal(self, held: GoType, name: bytes, found: list[GoMember], deeper: list[GoType]) -> None:
        node = held.node
        while node.type in _WRAPPERS and node.named_children:
            node = node.named_children[0]
        if node.type == "struct_type":
            fields = [field for group in node.named_children for field in group.named_children]
            for one in fields:
                if one.type != "field_declaration":
                    continue
                names = one.children_by_field_name("name")
                kind = one.child_by_field_name("type")
                if not names and kind is not None:
                    last = _type_name(kind)
                    names = [last] if last is not None else []
                    deeper.append(replace(held, node=kind))
                found += [self._member(held, one, n) for n in names if n.text == name]
        elif node.type == "interface_type":
            for one in node.named_children:
                label = one.child_by_field_name("name") if one.type == "method_elem" else None
                if label is not None and label.text == name:
                    found.append(self._member(held, one, label))
                elif one.type == "type_elem":
                    deeper += [replace(held, node=child) for child in one.named_children]

    @staticmethod
    def _member(held: GoType, node: Node, name: Node) -> GoMember:
        kind: Kind = "method" if node.type == "method_elem" else "field"
        made = GoDeclaration(kind, name.text or b"", name.start_byte, name.end_byte, node)
        return GoMember(GoRef(held.document, made), held.known)


def _parameters(held: Node) -> Iterator[Node]:
    """The type of each parameter or result, one for each name."""
    for parameter in held.named_children:
        if parameter.type == "variadic_parameter_declaration":
            yield parameter
        elif parameter.type == "parameter_declaration":
            kind = parameter.child_by_field_name("type")
            names = len(parameter.children_by_field_name("name"))
            if kind is not None:
                yield from [kind] * max(names, 1)


def _inner(node: Node) -> Node | None:
    for name in ("element", "value", "type"):
        found = node.child_by_field_name(name)
        if found is not None:
            return found
    return None


def _sequence(node: Node) -> list[Node] | None:
    """What the standard library's iterators yield; its source is seldom at hand."""
    named = node.child_by_field_name("type") if node.type == "generic_type" else None
    arguments = node.child_by_field_name("type_arguments") if named is not None else None
    if named is None or arguments is None or named.text not in {b"iter.Seq", b"iter.Seq2"}:
        return None
    return list(arguments.named_children)


def _type_name(node: Node) -> Node | None:
    """The name under which a type is embedded."""
    while node.type != "type_identifier":
        inner = node.child_by_field_name("name") or node.child_by_field_name("type")
        if inner is None:
            inner = node.named_children[0] if node.named_children else None
        if inner is None:
            return None
        node = inner
    return node
