"""The syntax rules of C and C++.

A rule reads the nodes around one identifier: for ``count`` in ``int add(int count)``, `declaration_at` finds a
parameter of the type ``int``, and for ``next`` in ``list->next``, `use_of` finds a member of ``list``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation import nodes
from sourcelight.engines.navigation.languages.c_lookup import (
    TAGGED,
    find_header,
    has_storage_class,
    header_names,
    lookup,
    provided_headers,
)
from sourcelight.engines.navigation.languages.declared import (
    NAMED_OWNER,
    NO_OWNER,
    TYPES,
    Declaration,
    DeclarationRef,
    ModuleRef,
    NameUse,
    ParameterCount,
    TypeStep,
    declare,
)
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

_SPECIFIERS = {"struct_specifier": "struct", "union_specifier": "class", "class_specifier": "class",
               "enum_specifier": "enum"}  # fmt: skip
_SCOPES = frozenset({
    "compound_statement", "function_definition", "for_statement", "for_range_loop", "lambda_expression",
    "translation_unit", "namespace_definition", "template_declaration", "catch_clause", "field_declaration_list",
    "preproc_function_def", "if_statement", "while_statement", "switch_statement",
})  # fmt: skip
_DECLARATIONS = frozenset({
    "declaration", "function_definition", "parameter_declaration", "optional_parameter_declaration",
    "field_declaration", "type_definition", "for_range_loop", "condition_clause",
})  # fmt: skip
_SAME_TYPE = frozenset({
    "parenthesized_expression", "pointer_expression", "unary_expression", "assignment_expression",
    "subscript_expression", "conditional_expression",
})  # fmt: skip
"""Expressions that have about the type of an operand: pointers and arrays have the members of what they lead to."""

_IDENTIFIERS = frozenset({
    "identifier", "field_identifier", "type_identifier", "statement_identifier", "namespace_identifier",
})  # fmt: skip
_ALIASED = frozenset({"type_definition", "alias_declaration", "type_parameter_declaration"})
"""Nodes that declare a type that is named without ``struct``."""

_NAMED_TYPES = frozenset({"type_identifier", "namespace_identifier", "identifier"})

_MAX_NESTED = 8
"""Maximum types, names or declarators inside each other; those of hostile code nest without end."""


class CRules:
    """C and C++."""

    names: tuple[str, ...] = ("C", "C++")
    identifiers: Collection[str] = _IDENTIFIERS
    classes: Collection[str] = frozenset(_SPECIFIERS)
    extensions: Collection[str] = ()
    members_in_scope = True
    separate_function_names = False
    members_span_files = True

    def declaration_at(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Return the declaration of an identifier, or None if it declares nothing."""
        if len(path) < 2:
            return None

        leaf = path[-1]
        parent = path[-2]
        kind = parent.type
        if kind in _SPECIFIERS:
            # `struct s x;` uses a tag, `struct s { … }` declares it.
            if not nodes.is_field(parent, "name", leaf) or parent.child_by_field_name("body") is None:
                return None
            return self._make_declaration(
                path, _SPECIFIERS[kind], node=parent, index=len(path) - 2, visible=leaf.start_byte
            )

        if kind == "enumerator" and nodes.is_field(parent, "name", leaf):
            enum = nodes.nearest(path, {"enum_specifier"})
            scope = nodes.nearest(path, _SCOPES) or path[0]
            # Members of `enum class` need their enum before `::`; members of a plain enum are names of the scope around
            # it.
            owner = NO_OWNER
            if enum is not None and b"class" in nodes.text_of(enum)[: len("enum class  ")]:
                owner = enum.start_byte
            enum_name = nodes.field_of(enum, "name")
            return declare("enummember", leaf, parent, scope, declared_type=enum_name, owner=owner)

        if kind in {"preproc_def", "preproc_function_def"} and nodes.is_field(parent, "name", leaf):
            macro_kind = "constant" if kind == "preproc_def" else "function"
            return declare(macro_kind, leaf, parent, path[0])
        if kind == "preproc_params":
            return declare("parameter", leaf, parent, path[-3])

        if kind == "labeled_statement" and nodes.is_field(parent, "label", leaf):
            # Labels have function scope (C standard, scopes of identifiers).
            scope = nodes.nearest(path, {"function_definition"}) or path[0]
            return declare("variable", leaf, parent, scope)

        if kind in {"namespace_definition", "alias_declaration"} and nodes.is_field(parent, "name", leaf):
            declared_type = parent.child_by_field_name("type")
            declared_kind = "namespace" if declared_type is None else "class"
            return self._make_declaration(
                path, declared_kind, node=parent, index=len(path) - 2, declared_type=declared_type
            )

        if kind == "type_parameter_declaration":
            scope = nodes.nearest(path, {"template_declaration"}) or parent
            return declare("typeparameter", leaf, parent, scope)

        return self._declarator(path)

    def _declarator(self, path: Sequence[Node]) -> Declaration | None:
        """Climb from a name through pointers, arrays and parameters to its declaration."""
        leaf = path[-1]
        index = len(path) - 2
        child = leaf
        value: Node | None = None
        is_function = False
        owner_name = b""
        while index > 0:
            node = path[index]
            kind = node.type
            if kind == "qualified_identifier" and nodes.is_field(node, "name", child):
                qualifier = node.child_by_field_name("scope")
                # The climb starts inside, so the first qualifier is the innermost: the class in `space::Class::method`.
                if not owner_name and qualifier is not None:
                    owner_name = nodes.text_of(self.type_leaf(qualifier))
            elif kind == "init_declarator" and nodes.is_field(node, "declarator", child):
                value = node.child_by_field_name("value")
            elif kind.endswith("declarator"):
                inner = node.child_by_field_name("declarator") or nodes.first_child(node)
                # In `int (*f)(void)` the name is nested in declarators; the climb must come from the declared name and
                # not from a parameter.
                if inner is None or inner.start_byte != child.start_byte or inner.end_byte != child.end_byte:
                    return None
                is_function = is_function or (
                    kind == "function_declarator" and child.type != "parenthesized_declarator"
                )
            else:
                break

            child = node
            index -= 1

        node = path[index]
        if node.type not in _DECLARATIONS or not nodes.is_field(node, "declarator", child):
            return None

        # `A::b = 1` assigns a static member, which its class has declared.
        if owner_name and not is_function:
            return None

        return self._declaration_of_declarator(path, index, value, function=is_function, owner_name=owner_name)

    def _declaration_of_declarator(  # noqa: PLR0911 - a case a return
        self, path: Sequence[Node], index: int, value: Node | None, *, function: bool, owner_name: bytes
    ) -> Declaration | None:
        leaf, node = path[-1], path[index]
        declared_type = node.child_by_field_name("type")
        if node.type == "type_definition":
            return self._make_declaration(
                path, "class", node=node, index=index, declared_type=declared_type, visible=leaf.start_byte
            )

        if node.type in {"parameter_declaration", "optional_parameter_declaration"}:
            scope = nodes.nearest(path, {"function_definition", "lambda_expression", "template_declaration"}, index)
            holder = scope if scope is not None and _heads(scope, node) else path[index - 1]
            return declare("parameter", leaf, node, holder, declared_type=declared_type)

        if node.type == "for_range_loop":
            right = node.child_by_field_name("right")
            # With `auto`, the type is an element of the range; otherwise it is written.
            is_inferred = declared_type is not None and declared_type.type == "placeholder_type_specifier"
            return declare(
                "variable",
                leaf,
                node,
                node,
                visible=leaf.start_byte,
                declared_type=declared_type,
                value=right,
                is_element=is_inferred,
            )

        if function:
            declaration = self._make_declaration(
                path,
                "function",
                node=node,
                index=index,
                declared_type=declared_type,
                is_prototype=node.type != "function_definition",
            )
            if owner_name:
                # A method outside of its class knows the class by name alone.
                return declare(
                    "method",
                    leaf,
                    node,
                    declaration.scope,
                    declared_type=declared_type,
                    owner=NAMED_OWNER,
                    owner_name=owner_name,
                )

            return declaration

        if node.type == "field_declaration":
            return self._make_declaration(path, "field", node=node, index=index, declared_type=declared_type)

        scope = nodes.nearest(path, _SCOPES, index) or path[0]
        is_top_level = scope.type in {"translation_unit", "namespace_definition"}

        # At the top level, other files see the name through a header, so order doesn't matter.
        visible = 0 if is_top_level else leaf.start_byte
        return declare(
            "variable",
            leaf,
            node,
            scope,
            visible=visible,
            declared_type=declared_type,
            value=value,
            is_prototype=is_top_level and has_storage_class(node, b"extern"),
        )

    def _make_declaration(
        self,
        path: Sequence[Node],
        kind: str,
        *,
        node: Node,
        index: int,
        declared_type: Node | None = None,
        visible: int = 0,
        is_prototype: bool = False,
    ) -> Declaration:
        leaf = path[-1]
        scope = nodes.nearest(path, _SCOPES, index) or path[0]
        holder = nodes.nearest(path, {*_SPECIFIERS, "compound_statement"}, index)
        owner = NO_OWNER
        owner_name = b""
        if holder is not None and holder.type in _SPECIFIERS and kind not in {"struct", "enum", "class"}:
            owner = holder.start_byte
            owner_name = nodes.text_of(holder.child_by_field_name("name"))
            if kind == "function":
                kind = "method"

        if scope.type in {"translation_unit", "namespace_definition", "field_declaration_list"}:
            visible = 0

        # In C, a struct inside a struct is visible in the whole file.
        if kind in TYPES and scope.type == "field_declaration_list":
            scope = path[0]

        return declare(
            kind,
            leaf,
            node,
            scope,
            visible=visible,
            declared_type=declared_type,
            owner=owner,
            owner_name=owner_name,
            is_prototype=is_prototype,
        )

    def use_of(self, path: Sequence[Node]) -> NameUse:
        """Return how an identifier is used."""
        leaf = path[-1]
        parent = path[-2] if len(path) > 1 else leaf
        kind = parent.type
        is_type = leaf.type in {"type_identifier", "namespace_identifier"}
        if kind == "field_designator":
            return NameUse(role="keyword", fields_of=_literal_type(path))

        receiver = None
        expression = leaf
        if kind == "field_expression" and nodes.is_field(parent, "field", leaf):
            receiver = parent.child_by_field_name("argument")
            expression = parent
        elif kind == "qualified_identifier" and nodes.is_field(parent, "name", leaf):
            receiver = parent.child_by_field_name("scope")
            expression = parent

        call = _call_of(expression, path)
        is_called = call is not None
        count = None if call is None else _count_arguments(call)
        if receiver is None:
            # Tags have a name space of their own (C standard, name spaces of identifiers): `struct s` never means a
            # typedef `s`.
            preferred_nodes = TAGGED if kind in _SPECIFIERS else _ALIASED
            return NameUse(
                is_called=is_called,
                argument_count=count,
                is_type=is_type,
                preferred_nodes=preferred_nodes if is_type else (),
            )

        return NameUse(
            role="attribute",
            receiver=receiver,
            fields_of=None,
            path=(b"", nodes.text_of(leaf)),
            is_called=is_called,
            argument_count=count,
            is_type=is_type,
        )

    def type_step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911 - a case a return
        """Return the step that leads to the type of an expression."""
        kind = node.type
        if kind == "this":
            return TypeStep("this", node)
        if kind == "placeholder_type_specifier":
            return TypeStep("auto", node)
        if kind in _IDENTIFIERS:
            return TypeStep("name", node)
        if kind == "field_expression":
            return TypeStep("name", node.child_by_field_name("field"))
        if kind == "call_expression":
            return TypeStep("same", node.child_by_field_name("function"))
        if kind in {"qualified_identifier", "template_function", "template_type"}:
            return TypeStep("same", node.child_by_field_name("name"))
        if kind in {"cast_expression", "compound_literal_expression", "new_expression"}:
            return TypeStep("type", node.child_by_field_name("type"))

        if kind in _SAME_TYPE:
            # In this order: the operand of a unary expression, the target of an assignment, the first result of a
            # condition.
            for field in ("argument", "left", "consequence"):
                operand = node.child_by_field_name(field)
                if operand is not None:
                    return TypeStep("same", operand)
            return TypeStep("same", nodes.first_child(node))

        if kind in {"type_descriptor", *_SPECIFIERS}:
            return TypeStep("type", node)

        return None

    def type_leaf(self, node: Node) -> Node | None:
        """Return the identifier that names a type."""
        for _ in range(_MAX_NESTED):
            if node.type in _NAMED_TYPES:
                return node

            if node.type in {"type_descriptor", "sized_type_specifier"}:
                inner = node.child_by_field_name("type")
            elif node.type in {*_SPECIFIERS, "template_type", "qualified_identifier", "alias_declaration"}:
                inner = node.child_by_field_name("name")
            else:
                return None

            if inner is None:
                return None

            node = inner

        return None

    def arguments(self, node: Node) -> list[Node]:
        """Return the arguments of a template."""
        return nodes.children_of(node.child_by_field_name("arguments"))

    def supertypes(self, node: Node) -> list[Node]:
        """Return the base classes of a class."""
        # Beside the bases, the clause has `public` and `virtual`.
        kinds = {"type_identifier", "template_type", "qualified_identifier"}
        return [
            child for child in nodes.children_of(nodes.child_of_type(node, "base_class_clause")) if child.type in kinds
        ]

    def implied_class(self, path: Sequence[Node]) -> Node | None:
        """Return the class that is named before the ``::`` of a function."""
        function = nodes.nearest(path, {"function_definition"})
        name = _inner_declarator(nodes.field_of(function, "declarator"), "qualified_identifier")
        # In `space::Class::method`, each name but the first is inside the one before.
        for _ in range(_MAX_NESTED):
            inner = nodes.field_of(name, "name")
            if inner is None or inner.type != "qualified_identifier":
                break
            name = inner

        return nodes.field_of(name, "scope")

    def parameters(self, node: Node) -> ParameterCount | None:
        """Count the parameters of a function."""
        parameter_list = nodes.field_of(_inner_declarator(node, "function_declarator"), "parameters")
        if parameter_list is None:
            return None

        kinds = [child.type for child in nodes.code_of(parameter_list)]
        # Anything else is a default value or `...`, with which the number of arguments may differ.
        fits_others = any(kind != "parameter_declaration" for kind in kinds)
        return ParameterCount(len(kinds), fits_others)

    def lookup_outside(
        self, names: NameResolver, document: Document, name: bytes, use: NameUse, offset: int
    ) -> list[DeclarationRef]:
        """Return the declarations of included headers; definitions come before their prototypes."""
        members = self._enclosing_members(names, document, name=name, use=use, offset=offset)
        return members or lookup(names, document, name, use)

    def _enclosing_members(
        self, names: NameResolver, document: Document, *, name: bytes, use: NameUse, offset: int
    ) -> list[DeclarationRef]:
        """Return the members that the body of ``Type::name`` uses without a receiver."""
        model = names.model(document) if document.language == "C++" else None
        scope = self.implied_class(model.path_to(offset)) if model is not None else None
        if scope is None or scope.start_byte <= offset < scope.end_byte:
            return []
        return names.members_of(document, scope, name, use)

    def lookup_qualified(
        self, names: NameResolver, document: Document, path: tuple[bytes, ...], offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the top-level declarations of a name in visible files."""
        return list(self.lookup_outside(names, document, path[-1], NameUse(), offset))

    def import_target(self, names: NameResolver, document: Document, module: str, member: str) -> Document | None:  # noqa: ARG002 - a header is included whole
        """Return the header that an include means."""
        return find_header(names.session, document, module)

    def module_names(self, document: Document) -> Collection[str]:
        """Return the names under which a header can be included."""
        return header_names(document.path)

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the headers of a repository."""
        return provided_headers(project)


def _inner_declarator(node: Node | None, kind: str) -> Node | None:
    """Return the declarator of a type inside pointers and other declarators."""
    for _ in range(_MAX_NESTED):
        if node is None or node.type == kind:
            return node
        node = node.child_by_field_name("declarator")
    return None


def _heads(scope: Node, parameter: Node) -> bool:
    """Return whether a parameter belongs to the function itself, and not to a function pointer among its parameters."""
    body = scope.child_by_field_name("body")
    if body is None or parameter.start_byte > body.start_byte:
        return False

    depth = 0
    node = parameter.parent
    while node is not None and node.start_byte >= scope.start_byte and node.type != "function_definition":
        depth += node.type == "parameter_list"
        node = node.parent

    return depth == 1


def _literal_type(path: Sequence[Node]) -> Node | None:
    """Return the type of the outermost literal around a designator; inner ones are not followed."""
    depth = 0
    for node in reversed(path[:-1]):
        if node.type == "initializer_list":
            depth += 1
        elif node.type in {"declaration", "compound_literal_expression"}:
            return node.child_by_field_name("type") if depth <= 2 else None
    return None


def _call_of(expression: Node, path: Sequence[Node]) -> Node | None:
    """Return the call of an expression; both are on `path`, which leads from the root to the name in the expression."""
    for node in reversed(path[1:-1]):
        if node.type == "call_expression":
            return node if nodes.is_field(node, "function", expression) else None
        # Only nodes that begin with the expression can be a call of it; any other has it as an argument.
        if node.start_byte != expression.start_byte:
            return None
        expression = node

    return None


def _count_arguments(call: Node) -> int | None:
    """Return the number of arguments of a call, or None if it has no list of them."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:
        return None
    return sum(child.type != "comment" for child in arguments.named_children)
