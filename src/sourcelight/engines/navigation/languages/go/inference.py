"""Infer the types of Go expressions, as far as members need them.

A named type leads to its *underlying* types: the literals, such as a struct, that it is defined as. `GoType` and the
reading of literals are in `type_syntax`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.go import type_syntax
from sourcelight.engines.navigation.languages.go.packages import GoImport, GoNames, GoRef
from sourcelight.engines.navigation.languages.go.scopes import GoDeclaration, make_declaration, receiver_arguments
from sourcelight.engines.navigation.languages.go.type_syntax import GoMember, GoNamedType, GoType
from sourcelight.engines.navigation.model import DeclarationKey, Document
from sourcelight.engines.navigation.nodes import children_of, code_of, field_text, first_child, nearest_index, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


# Both bound what a file can cost: declarations may refer to each other in a circle, and an attacker can nest
# expressions as deep as the parser allows.
_MAX_STEPS = 24
_MAX_DEPTH = 6
"""Types within types that are looked into, which may be circular."""

_SAME_AS_FIRST = frozenset({b"append", b"min", b"max", b"copy"})
"""Built-in functions whose result has the type of their first argument. They have no declaration to look up."""


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
        if kind == "func_literal" or kind in type_syntax.TYPES:
            return GoType(document, node)
        return None

    def _type_of_identifier(self, document: Document, node: Node) -> GoType | GoImport | None:
        model = self.model(document)
        if model is None:
            return None

        name = text_of(node)
        path = model.path_to(node.start_byte)
        refs = self.lookup(document, path, name, node.start_byte)
        if refs:
            return self.type_of(refs[0], path)

        # A package is not in any scope, so that a local name that shadows it comes first.
        return self.find_import(document, name)

    def _type_of_selector(self, document: Document, node: Node) -> GoType | None:
        members = self.select(document, node.child_by_field_name("operand"), field_text(node, "field"))
        return self._type_of_member(members[0]) if members else None

    def select(self, document: Document, operand: Node | None, name: bytes) -> list[GoMember]:
        """Return the members that ``operand.name`` refers to."""
        operand_type = self.infer(document, operand)
        if isinstance(operand_type, GoImport):
            if operand_type.package is None:
                return []
            return [GoMember(ref, {}) for ref in self.member(operand_type.package, name)]

        return self.members(operand_type, name) if operand_type is not None else []

    def _type_of_member(self, member: GoMember) -> GoType | None:
        member_type = self.type_of(member.ref, [])
        if member_type is not None:
            return replace(member_type, bound_types={**member.bound_types, **member_type.bound_types})
        return None

    def _type_of_operator(self, document: Document, node: Node) -> GoType | GoImport | None:
        operand = node.child_by_field_name("operand") or node.child_by_field_name("left") or first_child(node)
        operand_type = self.infer(document, operand)

        # `<-channel` gives what the channel carries.
        sign = node.child_by_field_name("operator")
        if sign is not None and sign.type == "<-" and isinstance(operand_type, GoType):
            return self.element(operand_type, 1)
        return operand_type

    def _type_of_index(self, document: Document, node: Node) -> GoType | GoImport | None:
        operand_type = self.infer(document, node.child_by_field_name("operand"))
        # The grammar can't tell `f[int]`, a generic function, from `a[i]`: the indexed value decides.
        if not isinstance(operand_type, GoType) or operand_type.node.type in type_syntax.CALLABLE:
            return operand_type
        return self.element(operand_type, 1)

    def _type_of_call(self, document: Document, node: Node, position: int) -> GoType | None:
        function = node.child_by_field_name("function")
        if function is None:
            return None

        # `[]byte(x)` and `(*T)(x)` are conversions, though the grammar calls them calls.
        converted = first_child(function) if function.type == "parenthesized_expression" else function
        if converted is not None and (converted.type in type_syntax.TYPES or converted.type == "unary_expression"):
            return self.infer_type(document, converted)

        arguments = code_of(node.child_by_field_name("arguments"))
        function_type = self.infer(document, function)
        # Only a name without a declaration is a built-in: `new` and `append` may be redefined.
        if function_type is None and function.type == "identifier" and arguments:
            return self._type_of_built_in(document, text_of(function), arguments[0])
        if not isinstance(function_type, GoType):
            return None

        callee = self.callable(function_type)
        if callee is None:
            # The call of a type that is no function converts its argument to it.
            return function_type
        return self.result(self._instantiate(callee, document, node, arguments), position)

    def _type_of_built_in(self, document: Document, name: bytes, argument: Node) -> GoType | None:
        if name in {b"new", b"make"}:
            return GoType(document, argument)
        if name in _SAME_AS_FIRST:
            return self.infer_type(document, argument)
        return None

    def _type_of_conversion(self, document: Document, node: Node, position: int) -> GoType | None:
        type_node = node.child_by_field_name("type")
        if type_node is None:
            return None

        # The grammar can't tell `f[int](x)`, a call, from `T[int](x)`: the declaration of the name decides.
        inner = type_node.child_by_field_name("type") if type_node.type == "generic_type" else None
        ref = self._type_ref(document, inner) if inner is not None else None
        if ref is not None and ref.declaration.kind == "function":
            operand = node.child_by_field_name("operand")
            arguments = [operand] if operand is not None else []
            called = GoType(ref.document, ref.declaration.node)
            return self.result(self._instantiate(called, document, type_node, arguments), position)

        return GoType(document, type_node) if not position else None

    def callable(self, go_type: GoType) -> GoType | None:
        """Return the function type behind a type, or None if it can't be called."""
        if go_type.node.type in type_syntax.CALLABLE:
            return go_type
        if type_syntax.is_declaration(go_type):
            return None

        for underlying in self._underlying(go_type):
            if underlying.node.type in type_syntax.CALLABLE:
                return underlying
        return None

    def result(self, called: GoType, position: int) -> GoType | None:
        """Return the type of a result by its place."""
        results = called.node.child_by_field_name("result")
        if results is None:
            return None

        types = list(type_syntax.parameter_types(results)) if results.type == "parameter_list" else [results]
        if position < len(types):
            return GoType(called.document, types[position], called.bound_types)
        return None

    def _instantiate(self, called: GoType, document: Document, node: Node, arguments: list[Node]) -> GoType:
        """Bind the type parameters of a function for one call."""
        if called.node.type != "function_declaration":
            return called
        type_parameters = self._type_parameters(called.document, called.node)
        if not type_parameters:
            return called

        bound_types = dict(called.bound_types)
        keys = {parameter.name: (called.document.key, parameter.start) for parameter in type_parameters}
        type_arguments = type_syntax.type_arguments_of(node)
        for type_parameter in type_parameters:
            if type_parameter.position < len(type_arguments):
                argument_type = GoType(document, type_arguments[type_parameter.position])
                bound_types[keys[type_parameter.name]] = argument_type

        parameters = type_syntax.parameter_types(called.node.child_by_field_name("parameters"))
        for parameter, argument in zip(parameters, arguments, strict=False):
            # Once all are bound, further arguments are not inferred: nested generic calls would infer each again for
            # every call around it.
            if all(key in bound_types for key in keys.values()):
                break
            value = self.infer_type(document, argument)
            if value is not None:
                self._unify(parameter, value, keys, bound_types)

        return replace(called, bound_types=bound_types)

    def _type_parameters(self, document: Document, node: Node) -> list[GoDeclaration]:
        """Return the type parameters of the declaration of a function or type."""
        model = self.model(document)
        if model is None:
            return []

        parameters: list[GoDeclaration] = []
        for declarations in model.declarations(node, None).values():
            parameters += [declaration for declaration in declarations if declaration.kind == "typeparameter"]
        return parameters

    def _unify(
        self,
        expected: Node,
        value: GoType,
        names: Mapping[bytes, DeclarationKey],
        bound_types: dict[DeclarationKey, GoType],
    ) -> None:
        """Bind type parameters so that `value` has the type `expected`; each round goes one type deeper."""
        for _ in range(_MAX_DEPTH):
            inner: Node | None
            inner_value: GoType | None
            if expected.type == "type_identifier":
                key = names.get(text_of(expected))
                if key is not None:
                    bound_types.setdefault(key, value)
                return

            if expected.type in type_syntax.POINTERS:
                # Pointers are dropped on both sides: members are the same, and Go takes the address of a value itself.
                inner, inner_value = first_child(expected), type_syntax.drop_pointers(value)
            elif expected.type == "function_type":
                called = self.callable(value)
                inner = expected.child_by_field_name("result")
                inner_value = self.result(called, 0) if called is not None else None
            elif expected.type == "variadic_parameter_declaration":
                # Of `...T`, each argument is one T.
                inner, inner_value = type_syntax.element_type(expected), value
            elif expected.type in {"slice_type", "array_type", "map_type", "channel_type"}:
                inner, inner_value = type_syntax.element_type(expected), self.element(value, 1)
            else:
                return

            if inner is None or inner_value is None:
                return
            expected, value = inner, inner_value

    def element(self, container: GoType, position: int) -> GoType | None:
        """Return the type that a range or an index yields: 0 its key, 1 its value."""
        sequence = type_syntax.sequence_types(container.node)
        if sequence is not None:
            return replace(container, node=sequence[position]) if position < len(sequence) else None

        for underlying in self._underlying(container):
            part = type_syntax.part_of(underlying.node, position)
            if part is not None:
                return replace(underlying, node=part)

        return None

    def type_of(self, ref: GoRef, path: list[Node]) -> GoType | None:
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
            return self._type_of_range(document, node, declaration.position)

        return self._type_of_value(document, node, declaration)

    def _type_of_range(self, document: Document, node: Node, position: int) -> GoType | None:
        operand_type = self.infer_type(document, node.child_by_field_name("right"))
        if operand_type is None:
            return None

        # Over a channel `range` yields values only, so that its one name is the value and not the index.
        over_channel = any(underlying.node.type == "channel_type" for underlying in self._underlying(operand_type))
        return self.element(operand_type, 1 if over_channel else position)

    def _type_of_case(self, document: Document, node: Node, path: list[Node]) -> GoType | None:
        index = nearest_index(path, {"type_case"})
        types: list[Node] = []
        if index is not None and path[index].start_byte > node.start_byte:
            types = path[index].children_by_field_name("type")

        # With several types in a case, or in `default`, the name keeps the type of the value: Go specification, "Type
        # switches".
        if len(types) == 1:
            return GoType(document, types[0])
        return self.infer_type(document, node.child_by_field_name("value"))

    def _type_of_value(self, document: Document, node: Node, declaration: GoDeclaration) -> GoType | None:
        values = node.child_by_field_name("value") or node.child_by_field_name("right")
        if values is None:
            return None

        expressions = code_of(values) if values.type == "expression_list" else [values]
        if declaration.position < len(expressions) and (len(expressions) > 1 or declaration.position == 0):
            value_type = self.infer_type(document, expressions[declaration.position])
            # `x := T` isn't a value; it doesn't compile, and would have the type's members.
            if value_type is not None and type_syntax.is_declaration(value_type):
                return None
            return value_type

        # `a, b := f()`: a name for each result.
        if expressions and expressions[0].type in {"call_expression", "type_conversion_expression"}:
            return self.infer_type(document, expressions[0], declaration.position)

        return None

    def _named_type(self, go_type: GoType) -> GoNamedType | None:
        """Return the declaration of a named type, or None for a type literal."""
        node, document, bound_types = go_type.node, go_type.document, go_type.bound_types
        arguments: list[Node] = []
        while node.type in type_syntax.WRAPPERS or node.type in {"generic_type", "unary_expression"}:
            if node.type == "generic_type":
                arguments = children_of(node.child_by_field_name("type_arguments"))
                inner = node.child_by_field_name("type")
            else:
                inner = first_child(node)
            if inner is None:
                return None
            node = inner

        if node.type in {"type_spec", "type_alias"}:
            name = node.child_by_field_name("name")
            if name is None:
                return None
            return GoNamedType(GoRef(document, make_declaration("type", name, node)), bound_types)

        ref = self._type_ref(document, node)
        if ref is None or ref.declaration.kind not in {"type", "typeparameter"}:
            return None
        if ref.declaration.kind == "typeparameter" or not arguments:
            return GoNamedType(ref, bound_types)

        bindings = dict(bound_types)
        for parameter in self._type_parameters(ref.document, ref.declaration.node):
            if parameter.position < len(arguments):
                argument_type = GoType(document, arguments[parameter.position], bound_types)
                bindings[ref.document.key, parameter.start] = argument_type

        return GoNamedType(ref, bindings)

    def _type_ref(self, document: Document, node: Node) -> GoRef | None:
        """Return the declaration that the name of a type means."""
        if node.type == "qualified_type":
            package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
        elif node.type == "selector_expression":
            package, name = node.child_by_field_name("operand"), node.child_by_field_name("field")
        else:
            model = self.model(document)
            if node.type not in {"type_identifier", "identifier"} or model is None:
                return None
            refs = self.lookup(document, model.path_to(node.start_byte), text_of(node), node.start_byte)
            return refs[0] if refs else None

        if package is None or name is None:
            return None
        go_import = self.find_import(document, text_of(package))
        if go_import is None or go_import.package is None:
            return None
        refs = self.member(go_import.package, text_of(name))
        return refs[0] if refs else None

    def _underlying(self, go_type: GoType) -> Iterator[GoType]:
        """Yield the type literals of a type: one, or all alternatives of a constraint."""
        pending = [go_type]
        seen: set[DeclarationKey] = set()
        for _ in range(_MAX_STEPS):
            if not pending:
                return

            current = pending.pop()
            named_type = self._named_type(current)
            if named_type is None:
                yield replace(current, node=type_syntax.unwrap(current.node))
                continue

            if named_type.ref.key not in seen:
                seen.add(named_type.ref.key)
                definition = type_syntax.definition_of(named_type)
                if definition is not None:
                    pending.append(definition)

    def members(self, go_type: GoType, name: bytes) -> list[GoMember]:
        """Return the fields and methods of that name, of the type itself before embedded ones."""
        # Breadth first, as in the Go specification, "Selectors": the shallowest depth with the name wins, and what is
        # embedded deeper is hidden.
        level = [go_type]
        seen: set[DeclarationKey] = set()
        for _ in range(_MAX_DEPTH):
            members: list[GoMember] = []
            deeper_types: list[GoType] = []
            while level:
                current = level.pop(0)
                named_type = self._named_type(current)
                if named_type is None:
                    members += type_syntax.members_in_literal(current, name)
                    if not members:
                        deeper_types += type_syntax.embedded_types(current)
                    continue

                if named_type.ref.key in seen:
                    continue
                seen.add(named_type.ref.key)
                members += self._methods_of(named_type, name)
                definition = type_syntax.definition_of(named_type)
                if definition is not None and not members:
                    level.append(definition)

            if members or not deeper_types:
                return members
            level = deeper_types

        return []

    def _methods_of(self, owner: GoNamedType, name: bytes) -> list[GoMember]:
        """Return the methods of that name of a declared type."""
        if owner.ref.declaration.kind != "type":
            return []
        return [GoMember(method, self._bound_in(method, owner)) for method in self.methods(owner.ref, name)]

    def _bound_in(self, method: GoRef, owner: GoNamedType) -> Mapping[DeclarationKey, GoType]:
        """Return the bound types of a method's owner, also under the names that the method gives the parameters."""
        if not owner.bound_types:
            return {}

        # `func (l *List[E]) Push(v E)` may call its parameter other than `type List[T any]` does.
        names = receiver_arguments(method.declaration.node)
        if not names:
            return owner.bound_types

        bound_types = dict(owner.bound_types)
        for parameter in self._type_parameters(owner.ref.document, owner.ref.declaration.node):
            argument = owner.bound_types.get((owner.ref.document.key, parameter.start))
            if argument is not None and parameter.position < len(names):
                bound_types[method.document.key, names[parameter.position].start_byte] = argument
        return bound_types
