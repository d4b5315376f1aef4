"""Infer the types of Go expressions, as far as members need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.go.packages import GoImport, GoNames, GoRef
from sourcelight.engines.navigation.languages.go.scopes import GoDeclaration, Kind, receiver_arguments
from sourcelight.engines.navigation.model import DeclarationKey, Document

if TYPE_CHECKING:
    from tree_sitter import Node


# Both bound what a file can cost: declarations may refer to each other in a circle, and an attacker can nest
# expressions as deep as the parser allows.
_MAX_STEPS = 24
_MAX_DEPTH = 6
_WRAPPERS = frozenset({"pointer_type", "parenthesized_type", "type_elem", "type_constraint", "negated_type"})
TYPES = frozenset({
    "pointer_type", "parenthesized_type", "slice_type", "array_type", "implicit_length_array_type", "map_type",
    "channel_type", "function_type", "struct_type", "interface_type", "generic_type", "qualified_type",
    "type_identifier",
})  # fmt: skip
# Built-in functions whose result has the type of their first argument. They have no declaration to look up.
_SAME_AS_FIRST = frozenset({b"append", b"min", b"max", b"copy"})
_CALLABLE = frozenset({"function_type", "function_declaration", "method_declaration", "func_literal", "method_elem"})


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


class GoInference(GoNames):
    """Infers types within one call."""

    _steps = 0

    def infer(self, document: Document, node: Node | None, position: int = 0) -> GoType | GoImport | None:
        """Return the type of an expression, or the package that it names; `position` selects one of several results."""
        if node is None or self._steps > _MAX_STEPS:
            return None
        self._steps += 1
        try:
            return self._infer(document, node, position)
        finally:
            self._steps -= 1

    def infer_type(self, document: Document, node: Node | None, position: int = 0) -> GoType | None:
        """Return the type of an expression, or None for a package."""
        inferred = self.infer(document, node, position)
        return inferred if isinstance(inferred, GoType) else None

    def _infer(self, document: Document, node: Node, position: int) -> GoType | GoImport | None:  # noqa: PLR0911 - a case a line
        kind = node.type
        if kind == "identifier":
            return self._type_of_identifier(document, node)
        if kind == "selector_expression":
            return self._type_of_selector(document, node)
        if kind == "call_expression":
            return self._type_of_call(document, node, position)
        if kind == "type_conversion_expression":
            return self._type_of_conversion(document, node, position)
        if kind in {"composite_literal", "type_assertion_expression"}:
            type_node = node.child_by_field_name("type")
            if type_node is not None and not position:
                return GoType(document, type_node)
            return None
        if kind in {"parenthesized_expression", "unary_expression", "slice_expression", "binary_expression"}:
            return self._type_of_operator(document, node)
        if kind == "index_expression":
            return self._type_of_index(document, node)
        if kind == "type_instantiation_expression":
            return self.infer(document, node.child_by_field_name("type"))
        if kind == "func_literal" or kind in TYPES:
            return GoType(document, node)
        return None

    def _type_of_identifier(self, document: Document, node: Node) -> GoType | GoImport | None:
        model = self.model(document)
        if model is None:
            return None
        name = node.text or b""
        path = model.path_to(node.start_byte)
        refs = self.lookup(document, path, name, node.start_byte)
        if refs:
            return self.type_of(refs[0], path)
        # A package is not in any scope, so that a local name that shadows it comes first.
        return self.find_import(document, name)

    def _type_of_selector(self, document: Document, node: Node) -> GoType | None:
        name = node.child_by_field_name("field")
        members = self.select(document, node.child_by_field_name("operand"), (name.text if name else None) or b"")
        return self._type_of_member(members[0]) if members else None

    def select(self, document: Document, operand: Node | None, name: bytes) -> list[GoMember]:
        """Return the members that ``operand.name`` refers to."""
        operand_type = self.infer(document, operand)
        if isinstance(operand_type, GoImport):
            if operand_type.package is not None:
                return [GoMember(ref, {}) for ref in self.member(operand_type.package, name)]
            return []
        return self.members(operand_type, name) if operand_type is not None else []

    def _type_of_member(self, member: GoMember) -> GoType | None:
        member_type = self.type_of(member.ref, [])
        if member_type is not None:
            return replace(member_type, bound_types={**member.bound_types, **member_type.bound_types})
        return None

    def _type_of_operator(self, document: Document, node: Node) -> GoType | GoImport | None:
        operand = node.child_by_field_name("operand") or node.child_by_field_name("left")
        if operand is None and node.named_children:
            operand = node.named_children[0]
        operand_type = self.infer(document, operand)
        sign = node.child_by_field_name("operator")
        if sign is not None and sign.type == "<-" and isinstance(operand_type, GoType):
            return self.element(operand_type, 1)
        return operand_type

    def _type_of_index(self, document: Document, node: Node) -> GoType | GoImport | None:
        operand_type = self.infer(document, node.child_by_field_name("operand"))
        # The grammar can't tell `f[int]`, a generic function, from `a[i]`: the indexed value decides.
        if not isinstance(operand_type, GoType) or operand_type.node.type in _CALLABLE:
            return operand_type
        return self.element(operand_type, 1)

    def _type_of_call(self, document: Document, node: Node, position: int) -> GoType | None:  # noqa: PLR0911 - a case a return
        function = node.child_by_field_name("function")
        if function is None:
            return None
        arguments = node.child_by_field_name("arguments")
        given_arguments = [child for child in arguments.named_children if child.type != "comment"] if arguments else []
        # `[]byte(x)` and `(*T)(x)` are conversions, though the grammar calls them calls.
        if function.type in TYPES or function.type == "parenthesized_expression":
            inner = function.named_children[0] if function.type == "parenthesized_expression" else function
            if inner is not None and (inner.type in TYPES or inner.type == "unary_expression"):
                return self.infer_type(document, inner)
        function_type = self.infer(document, function)
        # Only a name without a declaration is a built-in: `new` and `append` may be redefined.
        if function_type is None and function.type == "identifier" and given_arguments:
            if function.text in {b"new", b"make"}:
                return GoType(document, given_arguments[0])
            if function.text in _SAME_AS_FIRST:
                return self.infer_type(document, given_arguments[0])
            return None
        if not isinstance(function_type, GoType):
            return None
        callee = self.callable(function_type)
        if callee is None:
            return function_type  # a conversion
        return self.result(self._instantiate(callee, document, node, given_arguments), position)

    def _type_of_conversion(self, document: Document, node: Node, position: int) -> GoType | None:
        type_node = node.child_by_field_name("type")
        if type_node is None:
            return None
        # The grammar can't tell `f[int](x)`, a call, from `T[int](x)`: the declaration of the name decides.
        inner = type_node.child_by_field_name("type") if type_node.type == "generic_type" else None
        ref = self._type_ref(document, inner) if inner is not None else None
        if ref is not None and ref.declaration.kind == "function":
            operand = node.child_by_field_name("operand")
            called = GoType(ref.document, ref.declaration.node)
            return self.result(self._instantiate(called, document, type_node, [operand] if operand else []), position)
        return GoType(document, type_node) if not position else None

    def callable(self, go_type: GoType) -> GoType | None:
        """Return the function type behind a type, or None if it can't be called."""
        if go_type.node.type in _CALLABLE:
            return go_type
        if self._is_type_itself(go_type):
            return None
        return next((underlying for underlying in self._underlying(go_type) if underlying.node.type in _CALLABLE), None)

    def _is_type_itself(self, go_type: GoType) -> bool:
        return go_type.node.type in {"type_spec", "type_alias"}

    def result(self, called: GoType, position: int) -> GoType | None:
        """Return the type of a result by its place."""
        results = called.node.child_by_field_name("result")
        if results is None:
            return None
        types = list(_parameters(results)) if results.type == "parameter_list" else [results]
        if position < len(types):
            return GoType(called.document, types[position], called.bound_types)
        return None

    def _instantiate(self, called: GoType, document: Document, node: Node, arguments: list[Node]) -> GoType:
        """Bind the type parameters of a function for one call."""
        model = self.model(called.document)
        if called.node.type != "function_declaration" or model is None:
            return called
        type_parameters = [
            type_parameter
            for declarations_of_name in model.declarations(called.node, None).values()
            for type_parameter in declarations_of_name
            if type_parameter.kind == "typeparameter"
        ]
        if not type_parameters:
            return called
        bound_types = dict(called.bound_types)
        function = node.child_by_field_name("function")
        explicit = node.child_by_field_name("type_arguments")
        if explicit is None and function is not None and function.type == "index_expression":
            explicit_types = list(function.named_children[1:])
        else:
            explicit_types = list(explicit.named_children) if explicit is not None else []
        for type_parameter in type_parameters:
            if type_parameter.position < len(explicit_types):
                bound_types[called.document.key, type_parameter.start] = GoType(
                    document, explicit_types[type_parameter.position]
                )
        parameters = called.node.child_by_field_name("parameters")
        expected = list(_parameters(parameters)) if parameters is not None else []
        by_name = {
            type_parameter.name: (called.document.key, type_parameter.start) for type_parameter in type_parameters
        }
        for parameter, argument in zip(expected, arguments, strict=False):
            # Once all are bound, further arguments are not inferred: nested generic calls would infer each again for
            # every call around it.
            if any(key not in bound_types for key in by_name.values()):
                value = self.infer_type(document, argument)
                if value is not None:
                    self._unify(parameter, value, by_name, bound_types)
        return replace(called, bound_types=bound_types)

    def _unify(
        self,
        expected: Node,
        value: GoType,
        names: Mapping[bytes, DeclarationKey],
        bound_types: dict[DeclarationKey, GoType],
    ) -> None:
        for _ in range(_MAX_DEPTH):
            if expected.type == "type_identifier":
                key = names.get(expected.text or b"")
                if key is not None:
                    bound_types.setdefault(key, value)
                return
            # Pointers are dropped on both sides: members are the same, and Go takes the address of a value itself.
            if expected.type in {"pointer_type", "parenthesized_type"} and expected.named_children:
                expected = expected.named_children[0]
                while value.node.type in {"pointer_type", "parenthesized_type"} and value.node.named_children:
                    value = replace(value, node=value.node.named_children[0])
                continue
            if expected.type == "function_type":
                called = self.callable(value)
                inner = expected.child_by_field_name("result")
                inner_value = self.result(called, 0) if called is not None else None
            elif expected.type in {
                "slice_type",
                "array_type",
                "map_type",
                "channel_type",
                "variadic_parameter_declaration",
            }:
                inner = _element_type(expected)
                inner_value = self.element(value, 1) if expected.type != "variadic_parameter_declaration" else value
            else:
                return
            if inner is None or inner_value is None:
                return
            expected, value = inner, inner_value

    def element(self, container: GoType, position: int) -> GoType | None:  # noqa: PLR0911 - a case a return
        """Return the type that a range or an index yields: 0 its key, 1 its value."""
        sequence = _sequence(container.node)
        if sequence is not None:
            if position < len(sequence):
                return replace(container, node=sequence[position])
            return None
        for underlying in self._underlying(container):
            node = underlying.node
            if node.type == "channel_type":
                return replace(underlying, node=inner) if (inner := _element_type(node)) is not None else None
            if node.type == "map_type" and position == 0:
                key = node.child_by_field_name("key")
                return replace(underlying, node=key) if key is not None else None
            if node.type in {"slice_type", "array_type", "implicit_length_array_type", "map_type"} and position == 1:
                return replace(underlying, node=inner) if (inner := _element_type(node)) is not None else None
            if node.type == "variadic_parameter_declaration" and position == 1:
                return replace(underlying, node=inner) if (inner := _element_type(node)) is not None else None
            if node.type in _CALLABLE:
                return self._yielded_type(underlying, position)
        return None

    def _yielded_type(self, iterator: GoType, position: int) -> GoType | None:
        """Return the type that an iterator function yields."""
        parameters = iterator.node.child_by_field_name("parameters")
        first = next(_parameters(parameters), None) if parameters is not None else None
        inner = first.child_by_field_name("parameters") if first is not None and first.type == "function_type" else None
        types = list(_parameters(inner)) if inner is not None else []
        return replace(iterator, node=types[position]) if position < len(types) else None

    def type_of(self, ref: GoRef, path: list[Node]) -> GoType | None:  # noqa: PLR0911 - a case a return
        """Return the type of a declaration; for a type declaration the type whose node is that declaration."""
        declaration, document = ref.declaration, ref.document
        node = declaration.node
        if declaration.kind == "typeparameter":
            return None
        if declaration.kind in {"function", "method", "type"} or node.type == "variadic_parameter_declaration":
            return GoType(document, node)
        type_node = node.child_by_field_name("type")
        if type_node is not None:
            return GoType(document, type_node)
        if node.type == "type_switch_statement":
            return self._type_of_case(document, node, path)
        if node.type == "range_clause":
            operand_type = self.infer_type(document, node.child_by_field_name("right"))
            if operand_type is None:
                return None
            # Over a channel `range` yields values only, so that its one name is the value and not the index.
            over_channel = any(underlying.node.type == "channel_type" for underlying in self._underlying(operand_type))
            return self.element(operand_type, 1 if over_channel else declaration.position)
        return self._type_of_value(document, node, declaration)

    def _type_of_case(self, document: Document, node: Node, path: list[Node]) -> GoType | None:
        case = next(
            (outer for outer in reversed(path) if outer.type == "type_case" and outer.start_byte > node.start_byte),
            None,
        )
        kinds = case.children_by_field_name("type") if case is not None else []
        # With several types in a case, or in `default`, the name keeps the type of the value: Go specification, "Type
        # switches".
        if len(kinds) == 1:
            return GoType(document, kinds[0])
        return self.infer_type(document, node.child_by_field_name("value"))

    def _type_of_value(self, document: Document, node: Node, declaration: GoDeclaration) -> GoType | None:
        values = node.child_by_field_name("value") or node.child_by_field_name("right")
        if values is None:
            return None
        if values.type == "expression_list":
            expressions = [child for child in values.named_children if child.type != "comment"]
        else:
            expressions = [values]
        if declaration.position < len(expressions) and (len(expressions) > 1 or declaration.position == 0):
            value_type = self.infer_type(document, expressions[declaration.position])
            # `x := T` isn't a value; it doesn't compile, and would have the type's members.
            if value_type is not None and self._is_type_itself(value_type):
                return None
            return value_type
        if expressions and expressions[0].type in {"call_expression", "type_conversion_expression"}:
            return self.infer_type(document, expressions[0], declaration.position)
        return None

    def named_type(self, go_type: GoType) -> tuple[GoRef, Mapping[DeclarationKey, GoType]] | None:
        """Return the declaration of a named type with its bound type parameters, or None for a type literal."""
        node, document, bound_types = go_type.node, go_type.document, go_type.bound_types
        arguments: list[Node] = []
        while node.type in _WRAPPERS or node.type in {"generic_type", "unary_expression"}:
            if node.type == "generic_type":
                arguments_node = node.child_by_field_name("type_arguments")
                arguments = list(arguments_node.named_children) if arguments_node is not None else []
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
            return GoRef(
                document,
                GoDeclaration(kind="type", name=name.text or b"", start=name.start_byte, end=name.end_byte, node=node),
            ), bound_types
        ref = self._type_ref(document, node)
        if ref is None or ref.declaration.kind not in {"type", "typeparameter"}:
            return None
        if ref.declaration.kind == "typeparameter":
            return ref, bound_types
        bindings = dict(bound_types)
        type_node = ref.declaration.node
        model = self.model(ref.document) if arguments else None
        for parameter in (
            d for go_type in (model.declarations(type_node, None) if model else {}).values() for d in go_type
        ):
            if parameter.kind == "typeparameter" and parameter.position < len(arguments):
                bindings[ref.document.key, parameter.start] = GoType(
                    document, arguments[parameter.position], bound_types
                )
        return ref, bindings

    def _type_ref(self, document: Document, node: Node) -> GoRef | None:
        if node.type == "qualified_type":
            package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
        elif node.type == "selector_expression":
            package, name = node.child_by_field_name("operand"), node.child_by_field_name("field")
        else:
            model = self.model(document)
            if node.type not in {"type_identifier", "identifier"} or model is None:
                return None
            refs = self.lookup(document, model.path_to(node.start_byte), node.text or b"", node.start_byte)
            return refs[0] if refs else None
        if package is None or name is None:
            return None
        import_ = self.find_import(document, package.text or b"")
        if import_ is None or import_.package is None:
            return None
        return next(iter(self.member(import_.package, name.text or b"")), None)

    def _underlying(self, go_type: GoType) -> Iterator[GoType]:
        """Yield the type literals of a type: one, or all alternatives of a constraint."""
        pending, seen = [go_type], set[DeclarationKey]()
        for _ in range(_MAX_STEPS):
            if not pending:
                return
            current = pending.pop()
            named_ref = self.named_type(current)
            if named_ref is None:
                node = current.node
                while node.type in _WRAPPERS and node.named_children:
                    node = node.named_children[0]
                yield replace(current, node=node)
                continue
            ref, bound_types = named_ref
            if ref.key in seen:
                continue
            seen.add(ref.key)
            inner = self._definition_of(ref, bound_types)
            pending += [inner] if inner is not None else []

    def _definition_of(self, ref: GoRef, bound_types: Mapping[DeclarationKey, GoType]) -> GoType | None:
        """Return the type that a declared type or type parameter is defined as."""
        declaration = ref.declaration
        if declaration.kind == "typeparameter":
            argument = bound_types.get(ref.key)
            if argument is not None:
                return argument
        inner = declaration.node.child_by_field_name("type")
        return GoType(ref.document, inner, bound_types) if inner is not None else None

    def members(self, go_type: GoType, name: bytes) -> list[GoMember]:
        """Return the fields and methods of that name, of the type itself before embedded ones."""
        # Breadth first, as in the Go specification, "Selectors": the shallowest depth with the name wins, and what is
        # embedded deeper is hidden.
        level, seen = [go_type], set[DeclarationKey]()
        for _ in range(_MAX_DEPTH):
            members: list[GoMember] = []
            deeper: list[GoType] = []
            while level:
                current = level.pop(0)
                named_ref = self.named_type(current)
                if named_ref is None:
                    self._in_literal(current, name, members, deeper)
                    continue
                ref, bound_types = named_ref
                if ref.key in seen:
                    continue
                seen.add(ref.key)
                if ref.declaration.kind == "type":
                    members += [
                        GoMember(method, self._rename_parameters(ref, method, bound_types))
                        for method in self.methods(ref, name)
                    ]
                inner = self._definition_of(ref, bound_types)
                if inner is not None and not members:
                    level.append(inner)
            if members or not deeper:
                return members
            level = deeper
        return []

    def _rename_parameters(
        self, owner: GoRef, method: GoRef, bound_types: Mapping[DeclarationKey, GoType]
    ) -> Mapping[DeclarationKey, GoType]:
        """Bind the type parameters under the names that a method gives them."""
        # `func (l *List[E]) Push(v E)` may call its parameter other than `type List[T any]` does.
        names = receiver_arguments(method.declaration.node) if bound_types else []
        model = self.model(owner.document) if names else None
        by_name = model.declarations(owner.declaration.node, None) if model is not None else {}
        by_position = {
            declaration.position: (owner.document.key, declaration.start)
            for declarations in by_name.values()
            for declaration in declarations
        }
        result = dict(bound_types)
        for position, name in enumerate(names):
            argument = bound_types.get(by_position[position]) if position in by_position else None
            if argument is not None:
                result[method.document.key, name.start_byte] = argument
        return result

    def _in_literal(self, literal: GoType, name: bytes, members: list[GoMember], deeper: list[GoType]) -> None:
        node = literal.node
        while node.type in _WRAPPERS and node.named_children:
            node = node.named_children[0]
        if node.type == "struct_type":
            fields = [field for group in node.named_children for field in group.named_children]
            for element in fields:
                if element.type != "field_declaration":
                    continue
                names = element.children_by_field_name("name")
                kind = element.child_by_field_name("type")
                if not names and kind is not None:
                    last = _type_name(kind)
                    names = [last] if last is not None else []
                    deeper.append(replace(literal, node=kind))
                members += [self._member(literal, element, n) for n in names if n.text == name]
        elif node.type == "interface_type":
            for element in node.named_children:
                label = element.child_by_field_name("name") if element.type == "method_elem" else None
                if label is not None and label.text == name:
                    members.append(self._member(literal, element, label))
                elif element.type == "type_elem":
                    deeper += [replace(literal, node=child) for child in element.named_children]

    @staticmethod
    def _member(literal: GoType, node: Node, name: Node) -> GoMember:
        kind: Kind = "method" if node.type == "method_elem" else "field"
        declaration = GoDeclaration(
            kind=kind, name=name.text or b"", start=name.start_byte, end=name.end_byte, node=node
        )
        return GoMember(GoRef(literal.document, declaration), literal.bound_types)


def _parameters(parameters: Node) -> Iterator[Node]:
    """Yield the type of each parameter or result, once per name."""
    for parameter in parameters.named_children:
        if parameter.type == "variadic_parameter_declaration":
            yield parameter
        elif parameter.type == "parameter_declaration":
            kind = parameter.child_by_field_name("type")
            names = len(parameter.children_by_field_name("name"))
            if kind is not None:
                yield from [kind] * max(names, 1)


def _element_type(node: Node) -> Node | None:
    for name in ("element", "value", "type"):
        inner = node.child_by_field_name(name)
        if inner is not None:
            return inner
    return None


def _sequence(node: Node) -> list[Node] | None:
    """Return the types that `iter.Seq` and `iter.Seq2` yield: the standard library is seldom indexed."""
    type_node = node.child_by_field_name("type") if node.type == "generic_type" else None
    arguments = node.child_by_field_name("type_arguments") if type_node is not None else None
    if type_node is None or arguments is None or type_node.text not in {b"iter.Seq", b"iter.Seq2"}:
        return None
    return list(arguments.named_children)


def _type_name(node: Node) -> Node | None:
    """Return the name under which a struct embeds a type."""
    while node.type != "type_identifier":
        inner = node.child_by_field_name("name") or node.child_by_field_name("type")
        if inner is None:
            inner = node.named_children[0] if node.named_children else None
        if inner is None:
            return None
        node = inner
    return node
