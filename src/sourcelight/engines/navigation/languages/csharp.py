"""The syntax rules of C#.

A rule reads the nodes around one identifier: for ``count`` in ``void Add(int count)``, `declaration_at` finds a
parameter of the type ``int``, and for ``Parse`` in ``reader.Parse<T>()``, `use_of` finds a called member of ``reader``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation import nodes
from sourcelight.engines.navigation.languages import csharp_namespaces
from sourcelight.engines.navigation.languages.declared import (
    NO_OWNER,
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

_CLASSES = {
    "class_declaration": "class", "struct_declaration": "struct", "interface_declaration": "interface",
    "enum_declaration": "enum", "record_declaration": "class", "delegate_declaration": "class",
}  # fmt: skip
_MEMBERS = {
    "method_declaration": "method", "constructor_declaration": "constructor", "property_declaration": "property",
    "event_declaration": "event", "enum_member_declaration": "enummember", "destructor_declaration": "method",
}  # fmt: skip
_SCOPES = frozenset({
    "block", "for_statement", "foreach_statement", "lambda_expression", "catch_clause", "using_statement",
    "compilation_unit", "declaration_list", "enum_member_declaration_list", "local_function_statement",
    "switch_section", "method_declaration", "constructor_declaration", "anonymous_method_expression",
})  # fmt: skip
_LOCALS = {
    "parameter": "parameter", "declaration_pattern": "variable", "catch_declaration": "variable",
    "declaration_expression": "variable",
}  # fmt: skip
_SPACE = re.compile(rb"\s+")
"""Blanks and newlines, which may be around the dots of a name."""

_IDENTIFIER = re.compile(rb"[\w@\x80-\xff]+")
"""``count``, or ``@class`` for a name that is a keyword; letters beyond ASCII count too."""

_TYPE_FIELDS = ("type", "returns")
"""Fields of nodes that only a type can have."""

_TYPE_HOLDERS = frozenset({"base_list", "type_argument_list", "attribute", "nullable_type", "array_type"})
"""Nodes whose children are types."""

_MAX_TYPE_STEPS = 8
"""Maximum type expressions inside each other; types of hostile code nest without end."""


class CSharpRules:
    """C#."""

    names: tuple[str, ...] = ("C#",)
    identifiers: Collection[str] = frozenset({"identifier", "implicit_parameter"})
    classes: Collection[str] = frozenset(_CLASSES)
    extensions: Collection[str] = ()
    members_in_scope = True
    separate_function_names = False
    members_span_files = True

    def declaration_at(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Return the declaration of an identifier, or None if it declares nothing."""
        if len(path) < 3:
            return None

        leaf = path[-1]
        parent = path[-2]
        kind = parent.type
        if leaf.type == "implicit_parameter":
            return declare("parameter", leaf, leaf, parent)

        if kind in _CLASSES or kind in _MEMBERS:
            if not nodes.is_field(parent, "name", leaf):
                return None
            declared_type = None
            if kind in _MEMBERS:
                declared_type = parent.child_by_field_name("returns") or parent.child_by_field_name("type")
            declared_kind = _CLASSES.get(kind) or _MEMBERS[kind]
            return _member(path, declared_kind, index=len(path) - 2, declared_type=declared_type)

        if kind == "variable_declarator" and nodes.is_field(parent, "name", leaf):
            return self._variable(path)

        if kind in _LOCALS and nodes.is_field(parent, "name", leaf):
            outer = path[-4] if kind == "parameter" and len(path) > 3 else None
            # A parameter of a record declares a public property, which code elsewhere uses.
            if outer is not None and outer.type == "record_declaration":
                return declare(
                    "property",
                    leaf,
                    parent,
                    outer,
                    declared_type=parent.child_by_field_name("type"),
                    owner=outer.start_byte,
                    owner_name=nodes.text_of(outer.child_by_field_name("name")),
                )

            scope = nodes.nearest(path, _SCOPES) or path[0]
            return declare(_LOCALS[kind], leaf, parent, scope, declared_type=parent.child_by_field_name("type"))

        if kind == "foreach_statement" and nodes.is_field(parent, "left", leaf):
            declared_type = parent.child_by_field_name("type")
            # With `var`, the type is an element of the collection; otherwise it is written.
            is_inferred = declared_type is not None and declared_type.type == "implicit_type"
            return declare(
                "variable",
                leaf,
                parent,
                parent,
                declared_type=declared_type,
                value=parent.child_by_field_name("right"),
                is_element=is_inferred,
            )

        if kind == "local_function_statement" and nodes.is_field(parent, "name", leaf):
            scope = nodes.nearest(path, _SCOPES, len(path) - 2) or path[0]
            return declare("function", leaf, parent, scope, declared_type=parent.child_by_field_name("type"))

        if kind == "type_parameter" and nodes.is_field(parent, "name", leaf) and len(path) > 3:
            return declare("typeparameter", leaf, parent, path[-4])

        return None

    def _variable(self, path: Sequence[Node]) -> Declaration:
        outer, declarator, leaf = path[-3:]
        declared_type = outer.child_by_field_name("type")

        # The grammar has no field for the initial value: it is the first node behind the name.
        values = [child for child in declarator.named_children if child.start_byte > leaf.end_byte]
        value = values[0] if values else None
        statement = path[-4] if len(path) > 3 else outer
        if statement.type in {"field_declaration", "event_field_declaration"}:
            return _member(path, "field", index=len(path) - 4, declared_type=declared_type, value=value)

        scope = nodes.nearest(path, _SCOPES) or path[0]
        return declare(
            "variable", leaf, declarator, scope, visible=leaf.start_byte, declared_type=declared_type, value=value
        )

    def use_of(self, path: Sequence[Node]) -> NameUse:
        """Return how an identifier is used."""
        leaf = path[-1]
        parent = path[-2] if len(path) > 1 else leaf
        imported = nodes.nearest(path, {"using_directive"})

        # First, because a namespace in a `using` looks like any other qualified name.
        if imported is not None:
            return NameUse(role="import", path=_dotted_parts(parent, leaf), is_import=True)

        kind = parent.type
        receiver = None
        expression = leaf

        # In `a.Parse<T>()`, the name has a separate node inside the accessed node.
        if kind == "generic_name" and len(path) > 2:
            expression = parent
            parent = path[-3]
            kind = parent.type

        if kind == "member_access_expression" and nodes.is_field(parent, "name", expression):
            receiver = parent.child_by_field_name("expression")
            expression = parent
        elif kind == "qualified_name" and nodes.is_field(parent, "name", expression):
            receiver = parent.child_by_field_name("qualifier")
            expression = parent
        # `a?.B`: the receiver is the condition of the expression around it.
        elif kind == "member_binding_expression":
            access = nodes.nearest(path, {"conditional_access_expression"})
            receiver = nodes.field_of(access, "condition")
            expression = parent
        elif kind == "assignment_expression" and nodes.is_field(parent, "left", leaf):
            literal = path[-3] if len(path) > 3 else parent
            creation = path[-4] if literal.type == "initializer_expression" and len(path) > 4 else None
            # `new Options { Name = … }`: a member of the new object, not a variable in scope.
            if creation is not None and creation.type == "object_creation_expression":
                return NameUse(role="keyword", fields_of=creation.child_by_field_name("type"))

        call = _call_of(expression)
        is_called = call is not None
        count = None if call is None else _count_arguments(call)
        is_type = _is_type(expression)
        if receiver is None:
            return NameUse(is_called=is_called, argument_count=count, is_type=is_type)

        return NameUse(
            role="attribute",
            receiver=receiver,
            fields_of=None,
            path=_dotted_parts(expression, leaf),
            is_called=is_called,
            argument_count=count,
            is_type=is_type,
        )

    def type_step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911 - a case a return
        """Return the step that leads to the type of an expression."""
        kind = node.type
        if kind in {"this", "this_expression"}:
            return TypeStep("this", node)
        if kind in {"base", "base_expression"}:
            return TypeStep("super", node)
        if kind == "implicit_type":
            return TypeStep("auto", node)
        if kind == "identifier":
            return TypeStep("name", node)

        if kind in {"member_access_expression", "qualified_name"}:
            name = node.child_by_field_name("name")
            if name is not None and name.type == "generic_name":
                name = name.named_children[0]
            return TypeStep("name", name)

        if kind == "invocation_expression":
            return TypeStep("same", node.child_by_field_name("function"))
        if kind in {"object_creation_expression", "cast_expression", "as_expression"}:
            return TypeStep("type", node.child_by_field_name("type") or node.child_by_field_name("right"))
        if kind in {"parenthesized_expression", "await_expression", "postfix_unary_expression"}:
            return TypeStep("same", nodes.first_child(node))
        if kind == "element_access_expression":
            return TypeStep("element", node.child_by_field_name("expression"))
        if kind in {"generic_name", "nullable_type", "array_type"}:
            return TypeStep("type", node)

        return None

    def type_leaf(self, node: Node) -> Node | None:
        """Return the identifier that names a type."""
        for _ in range(_MAX_TYPE_STEPS):
            if node.type == "identifier":
                return node

            name_node: Node | None = None
            if node.type in {"qualified_name", "alias_qualified_name"} or node.type in _CLASSES:
                name_node = node.child_by_field_name("name")
            elif node.type in {"generic_name", "nullable_type", "array_type", "ref_type"} and node.named_children:
                name_node = node.named_children[0]
                arguments = self.arguments(node)
                # Code uses the value inside, after `await` or `.Value`.
                if nodes.text_of(name_node) in {b"Task", b"ValueTask", b"Lazy"} and arguments:
                    name_node = arguments[0]

            if name_node is None:
                return None

            node = name_node

        return None

    def arguments(self, node: Node) -> list[Node]:
        """Return the arguments of a type."""
        if node.type == "array_type":
            return node.named_children[:1]
        return nodes.children_of(nodes.child_of_type(node, "type_argument_list"))

    def supertypes(self, node: Node) -> list[Node]:
        """Return the supertypes of a class."""
        return nodes.children_of(nodes.child_of_type(node, "base_list"))

    def implied_class(self, path: Sequence[Node]) -> Node | None:  # noqa: ARG002 - no code is outside of its class
        """Return None: all methods are inside their class."""
        return None

    def parameters(self, node: Node) -> ParameterCount | None:
        """Count the parameters of a method; with defaults or ``params`` fewer or more will do."""
        parameters = node.child_by_field_name("parameters")
        if parameters is None:
            return None
        count = sum(child.type == "parameter" for child in parameters.named_children)
        # By text, because default values have several kinds of nodes. Only one thing matters: another number of
        # arguments may fit.
        text = nodes.text_of(parameters)
        return ParameterCount(count, fits_others=b"=" in text or b"params " in text)

    def lookup_outside(
        self,
        names: NameResolver,
        document: Document,
        name: bytes,
        use: NameUse,  # noqa: ARG002 - the same for all of a file
        offset: int,  # noqa: ARG002 - the same for all of a file
    ) -> list[DeclarationRef]:
        """Return the types of the file's namespaces, of those around them, and of imported ones."""
        return csharp_namespaces.lookup_visible(names, document, name)

    def lookup_qualified(
        self,
        names: NameResolver,
        document: Document,
        path: tuple[bytes, ...],
        offset: int,  # noqa: ARG002 - see above
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the type with a qualified name."""
        return csharp_namespaces.lookup_qualified(names, document, path)

    def import_target(self, names: NameResolver, document: Document, module: str, member: str) -> Document | None:  # noqa: ARG002 - namespaces are used whole
        """Return the first file of a namespace, or the file of a type."""
        return csharp_namespaces.import_target(names, document, module)

    def module_names(self, document: Document) -> Collection[str]:
        """Return the namespaces of a file."""
        return tuple(name.decode(errors="replace") for name in csharp_namespaces.namespaces(document))

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the namespaces of a repository."""
        return {
            name.decode(errors="replace"): number for name, number in csharp_namespaces.first_files(project).items()
        }


def _member(
    path: Sequence[Node], kind: str, *, index: int, declared_type: Node | None, value: Node | None = None
) -> Declaration:
    leaf = path[-1]
    scope = nodes.nearest(path, _SCOPES, index) or path[0]
    holder = nodes.nearest(path, _CLASSES, index)
    holder_name = nodes.field_of(holder, "name")
    owner = NO_OWNER
    if holder is not None:
        owner = holder.start_byte
        # A constant of an enum is a value of the enum.
        if kind == "enummember":
            declared_type = holder_name

    return declare(
        kind,
        leaf,
        path[index],
        scope,
        declared_type=declared_type,
        value=value,
        owner=owner,
        owner_name=nodes.text_of(holder_name),
    )


def _call_of(expression: Node) -> Node | None:
    """Return the call of an expression, or None if it isn't called."""
    call = expression.parent
    if call is None or call.type != "invocation_expression" or not nodes.is_field(call, "function", expression):
        return None
    return call


def _count_arguments(call: Node) -> int | None:
    """Return the number of arguments of a call, or None if it has no list of them."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:
        return None
    return sum(child.type == "argument" for child in arguments.named_children)


def _is_type(expression: Node) -> bool:
    """Return whether an expression stands where only a type can."""
    holder = expression.parent
    if holder is None:
        return False
    return holder.type in _TYPE_HOLDERS or any(nodes.is_field(holder, field, expression) for field in _TYPE_FIELDS)


def _dotted_parts(node: Node, leaf: Node) -> tuple[bytes, ...]:
    text = nodes.text_of(node)[: leaf.end_byte - node.start_byte]
    parts = _SPACE.sub(b"", text).split(b".")
    # Parts with calls or indexes aren't names; the receiver's type decides instead.
    if all(_IDENTIFIER.fullmatch(part) for part in parts):
        return tuple(parts)
    return ()
