"""The syntax rules of Java.

A rule reads the nodes around one identifier: for ``count`` in ``void add(int count)``, `declaration_at` finds a
parameter of the type ``int``, and for ``parse`` in ``reader.parse()``, `use_of` finds a called member of ``reader``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation import nodes
from sourcelight.engines.navigation.languages import java_packages
from sourcelight.engines.navigation.languages.declared import (
    NO_OWNER,
    TYPES,
    Declaration,
    DeclarationRef,
    ModuleRef,
    NameUse,
    ParameterCount,
    TypeStep,
    declare,
    parameter_mismatch,
)
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

_CLASSES = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "record_declaration": "class",
    "annotation_type_declaration": "interface",
}
_BODIES = frozenset({"class_body", "interface_body", "enum_body", "annotation_type_body", "enum_body_declarations"})
_CODE = {
    "method_declaration": "method",
    "constructor_declaration": "constructor",
    "compact_constructor_declaration": "constructor",
    "annotation_type_element_declaration": "method",
}
_SCOPES = frozenset({
    "block", "constructor_body", "for_statement", "enhanced_for_statement", "lambda_expression", "catch_clause",
    "try_with_resources_statement", "switch_block_statement_group", "switch_rule", "program", *_CODE, *_BODIES,
})  # fmt: skip
_HOLDERS = frozenset({"class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
                      "annotation_type_declaration", "object_creation_expression", "enum_constant"})  # fmt: skip
"""Nodes with a class body; objects and constants of enums may have one too."""

_SPACE = re.compile(rb"\s+")
"""Blanks and newlines, which may be around the dots of a name."""

_IDENTIFIER = re.compile(rb"[\w$\x80-\xff]+")
"""``count`` or ``access$000``; letters beyond ASCII count too."""

_MAX_TYPE_STEPS = 8
"""Maximum type expressions inside each other; types of hostile code nest without end."""


class JavaRules:
    """Java."""

    names: tuple[str, ...] = ("Java",)
    identifiers: Collection[str] = frozenset({"identifier", "type_identifier"})
    classes: Collection[str] = _HOLDERS
    extensions: Collection[str] = ()
    members_in_scope = True
    separate_function_names = True
    members_span_files = False

    def declaration_at(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Return the declaration of an identifier, or None if it declares nothing."""
        leaf = path[-1]
        parent = path[-2] if len(path) > 1 else leaf
        kind = parent.type
        if kind in _CLASSES or kind in _CODE:
            if not nodes.is_field(parent, "name", leaf):
                return None
            owner = _owner(path[:-2])
            scope = nodes.nearest(path, _SCOPES, len(path) - 2) or path[0]
            result = parent.child_by_field_name("type") if kind in _CODE else None
            declared_kind = _CLASSES.get(kind) or _CODE[kind]
            return declare(declared_kind, leaf, parent, scope, declared_type=result, owner=owner)

        if kind == "variable_declarator" and nodes.is_field(parent, "name", leaf):
            return self._variable(path)
        if kind in {"formal_parameter", "catch_formal_parameter", "resource", "enhanced_for_statement"}:
            if nodes.is_field(parent, "name", leaf):
                return self._typed_declaration(path)
            return None
        if kind in {"instanceof_expression", "record_pattern_component"} and nodes.is_field(parent, "name", leaf):
            declared_type = parent.child_by_field_name("right") or parent.child_by_field_name("type")
            return _local(path, "variable", declared_type)
        if kind in {"type_pattern", "record_pattern_component"} and leaf.type == "identifier":
            return _local(path, "variable", parent.named_children[0])

        # `(a, b) -> …` and `a -> …`: parameters without a type, which have no node of their own.
        if kind == "inferred_parameters" or (
            kind == "lambda_expression" and nodes.is_field(parent, "parameters", leaf)
        ):
            scope = nodes.nearest(path, {"lambda_expression"}) or parent
            return declare("parameter", leaf, parent, scope)

        if kind == "enum_constant" and nodes.is_field(parent, "name", leaf):
            holder = nodes.nearest(path, {"enum_declaration"})
            scope = nodes.nearest(path, _BODIES) or path[0]
            owner = NO_OWNER if holder is None else holder.start_byte
            enum_name = nodes.field_of(holder, "name")
            return declare("enummember", leaf, parent, scope, declared_type=enum_name, owner=owner)

        # In `<T extends B>` only the first child is declared; `B` is a use. The scope is the class or method around the
        # list.
        if kind == "type_parameter" and leaf.start_byte == parent.named_children[0].start_byte:
            scope = path[-4] if len(path) > 3 else path[0]
            return declare("typeparameter", leaf, parent, scope)

        # The grammar has no field for a label; it is the identifier at the start of the statement.
        if kind == "labeled_statement" and leaf.start_byte == parent.start_byte:
            return declare("variable", leaf, parent, parent)

        return None

    def _variable(self, path: Sequence[Node]) -> Declaration | None:
        outer, declarator, leaf = path[-3:]
        declared_type = outer.child_by_field_name("type")
        value = declarator.child_by_field_name("value")
        if outer.type == "spread_parameter":
            # The grammar has no field for the type: it is the first node behind annotations and `final`.
            types = [child for child in outer.named_children if child.type != "modifiers"]
            declared_type = types[0] if types else None
            scope = nodes.nearest(path, _SCOPES) or outer
            return declare("parameter", leaf, outer, scope, declared_type=declared_type)

        if outer.type in {"field_declaration", "constant_declaration"}:
            scope = nodes.nearest(path, _BODIES) or path[0]
            owner = _owner(path[:-2])
            return declare("field", leaf, outer, scope, declared_type=declared_type, value=value, owner=owner)

        return _local(path, "variable", declared_type, value)

    def _typed_declaration(self, path: Sequence[Node]) -> Declaration:
        leaf = path[-1]
        parent = path[-2]
        declared_type = parent.child_by_field_name("type")
        value = parent.child_by_field_name("value")
        if parent.type == "enhanced_for_statement":
            is_inferred = nodes.text_of(declared_type) == b"var"
            return declare(
                "variable",
                leaf,
                parent,
                parent,
                visible=leaf.start_byte,
                declared_type=declared_type,
                value=value if is_inferred else None,
                is_element=is_inferred,
            )

        # `catch (A | B e)`: members are looked up in the first type only.
        if parent.type == "catch_formal_parameter":
            declared_type = nodes.first_child(nodes.child_of_type(parent, "catch_type"))

        # A component of a record header is a field with an accessor, not only a parameter (JLS 8.10.3).
        if parent.type == "formal_parameter" and len(path) > 3 and path[-4].type == "record_declaration":
            record = path[-4]
            return declare("field", leaf, parent, record, declared_type=declared_type, owner=record.start_byte)

        scope = nodes.nearest(path, _SCOPES) or parent
        kind = "variable" if parent.type == "resource" else "parameter"
        return declare(kind, leaf, parent, scope, declared_type=declared_type, value=value)

    def use_of(self, path: Sequence[Node]) -> NameUse:
        """Return how an identifier is used."""
        leaf = path[-1]
        parent = path[-2] if len(path) > 1 else leaf
        imported = nodes.nearest(path, {"import_declaration", "package_declaration"})
        if imported is not None:
            return NameUse(
                role="import", path=tuple(_dotted_parts(imported.named_children[0], leaf.end_byte)), is_import=True
            )

        kind = parent.type
        is_type = leaf.type == "type_identifier" or kind in {"marker_annotation", "annotation"}
        receiver = None
        is_called = False
        count = None
        if kind == "method_invocation" and nodes.is_field(parent, "name", leaf):
            receiver = parent.child_by_field_name("object")
            is_called = True
            count = _count_arguments(parent)
        elif kind == "field_access" and nodes.is_field(parent, "field", leaf):
            receiver = parent.child_by_field_name("object")
        elif kind in {"method_reference", "scoped_type_identifier", "scoped_identifier"}:
            first = parent.named_children[0]
            # The first name of `a.b.c` has no receiver; it is looked up like a plain name.
            if first.start_byte != leaf.start_byte:
                receiver = first
                is_called = kind == "method_reference"
        elif kind == "element_value_pair" and nodes.is_field(parent, "key", leaf):
            annotation = nodes.nearest(path, {"annotation"})
            return NameUse(role="keyword", receiver=nodes.field_of(annotation, "name"), is_called=True)

        if receiver is None:
            return NameUse(is_called=is_called, argument_count=count, is_type=is_type)
        return NameUse(
            role="attribute",
            receiver=receiver,
            path=tuple(_dotted_parts(parent, leaf.end_byte)),
            is_called=is_called,
            argument_count=count,
            is_type=is_type,
        )

    def type_step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911, PLR0912 - a case a return
        """Return where the type of an expression comes from."""
        kind = node.type
        if kind == "this":
            return TypeStep("this", node)
        if kind == "super":
            return TypeStep("super", node)
        if kind in {"identifier", "type_identifier"}:
            # `var` is a type name for the grammar; the type then comes from the initial value.
            if nodes.text_of(node) == b"var":
                return TypeStep("auto", node)
            return TypeStep("name", node)

        if kind in {"method_invocation", "field_access"}:
            field = "name" if kind == "method_invocation" else "field"
            name = node.child_by_field_name(field)
            if name is not None and name.type == "this":
                return TypeStep("this", node)
            return TypeStep("name", name)

        if kind in {"object_creation_expression", "cast_expression", "array_creation_expression"}:
            return TypeStep("type", node.child_by_field_name("type"))
        if kind == "parenthesized_expression":
            # Damaged code can have an empty pair of parentheses.
            return TypeStep("same", nodes.first_child(node))
        if kind == "array_access":
            return TypeStep("element", node.child_by_field_name("array"))
        if kind == "assignment_expression":
            return TypeStep("same", node.child_by_field_name("left"))
        if kind == "ternary_expression":
            # One branch is enough, because both have a common type.
            return TypeStep("same", node.child_by_field_name("consequence"))
        if kind in {"scoped_type_identifier", "scoped_identifier"}:
            return TypeStep("name", node.named_children[-1])
        if kind in {"generic_type", "array_type"}:
            return TypeStep("type", node)

        return None

    def type_leaf(self, node: Node) -> Node | None:
        """Return the identifier that names a type."""
        for _ in range(_MAX_TYPE_STEPS):
            if node.type in {"type_identifier", "identifier"}:
                return node

            if node.type == "scoped_type_identifier":
                node = node.named_children[-1]
            elif node.type in {"generic_type", "annotated_type"} and node.named_children:
                children = [child for child in node.named_children if not child.type.endswith("annotation")]
                node = children[0]
            elif node.type in _CLASSES:
                return node.child_by_field_name("name")
            else:
                return None

        return None

    def arguments(self, node: Node) -> list[Node]:
        """Return the arguments of a type."""
        if node.type == "array_type":
            element = node.child_by_field_name("element")
            return [element] if element is not None else []

        arguments: list[Node] = []
        for argument in nodes.children_of(nodes.child_of_type(node, "type_arguments")):
            # `? extends T` has the members of T.
            bound = nodes.last_child(argument) if argument.type == "wildcard" else None
            arguments.append(bound or argument)
        return arguments

    def supertypes(self, node: Node) -> list[Node]:
        """Return the supertypes of a class, or the bounds of a type parameter."""
        if node.type == "object_creation_expression":
            named_type = node.child_by_field_name("type")
            return [named_type] if named_type is not None else []

        if node.type == "enum_constant":
            # A constant with a body extends its enum, which is around the list of constants.
            enum = node.parent.parent if node.parent is not None else None
            name = nodes.field_of(enum, "name")
            return [name] if name is not None else []

        types: list[Node] = []
        for child in node.named_children:
            if child.type == "superclass":
                types += child.named_children
            elif child.type in {"super_interfaces", "extends_interfaces"}:
                for type_list in child.named_children:
                    types += type_list.named_children
            elif child.type == "type_bound":
                types += child.named_children

        return types

    def implied_class(self, path: Sequence[Node]) -> Node | None:  # noqa: ARG002 - no code is outside of its class
        """Return None: all methods are inside their class."""
        return None

    def parameters(self, node: Node) -> ParameterCount | None:
        """Count the parameters of a method."""
        parameters = node.child_by_field_name("parameters")
        if parameters is None:
            return None
        kinds = [child.type for child in parameters.named_children]
        count = kinds.count("formal_parameter") + kinds.count("spread_parameter")
        return ParameterCount(count, fits_others="spread_parameter" in kinds)

    def lookup_outside(
        self,
        names: NameResolver,
        document: Document,
        name: bytes,
        use: NameUse,
        offset: int,  # noqa: ARG002 - the same for all of a file
    ) -> list[DeclarationRef]:
        """Return the declarations that imports, the file's package and wildcards make visible."""
        shown_name = name.decode(errors="replace")
        stars = []
        for statement in imports_of(document, names.session.workspace):
            if statement.member == shown_name:
                refs = self._lookup_in(names, document, statement.module.encode(), name)
                fitting_refs = [ref for ref in refs if not use.is_called or ref.declaration.kind not in TYPES]
                if fitting_refs:
                    return _sort_by_parameters(self, fitting_refs, use)
            elif statement.member == "*":
                stars.append(statement.module.encode())

        # A method that isn't in scope can only come from `import static C.*`; a package has no methods.
        if not use.is_called:
            refs = self._lookup_in(names, document, java_packages.package_of(document), name)
            if refs:
                return [replace(ref, rule="scope", reason="in the same package") for ref in refs]

        for star in stars:
            refs = self._lookup_in(names, document, star, name)
            if refs:
                return _sort_by_parameters(self, refs, use)

        return []

    def _lookup_in(self, names: NameResolver, document: Document, holder: bytes, name: bytes) -> list[DeclarationRef]:
        """Return the declarations of a name in a package or class; an empty holder is the package without a name."""
        path = (*holder.split(b"."), name) if holder else (name,)
        return [ref for ref in java_packages.lookup_qualified(names, document, path) if isinstance(ref, DeclarationRef)]

    def lookup_qualified(
        self,
        names: NameResolver,
        document: Document,
        path: tuple[bytes, ...],
        offset: int,  # noqa: ARG002 - see above
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the classes that a dotted name means, or the members of one."""
        return java_packages.lookup_qualified(names, document, path)

    def import_target(self, names: NameResolver, document: Document, module: str, member: str) -> Document | None:
        """Return the file of an imported class, or the first of a package."""
        parts = tuple(module.encode().split(b"."))
        if member and member != "*":
            parts = *parts, member.encode()

        refs = java_packages.lookup_qualified(names, document, parts)
        if refs:
            return refs[0].document
        if member == "*":
            return java_packages.first_file_of(names, document, b".".join(parts))
        return None

    def module_names(self, document: Document) -> Collection[str]:
        """Return the package of a file."""
        package = java_packages.package_of(document).decode(errors="replace")
        return (package,) if package else ()

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the packages of a repository."""
        return {name.decode(errors="replace"): True for name in java_packages.packages(project) if name}


def _local(path: Sequence[Node], kind: str, declared_type: Node | None, value: Node | None = None) -> Declaration:
    leaf = path[-1]
    scope = nodes.nearest(path, _SCOPES) or path[0]
    return declare(kind, leaf, path[-2], scope, visible=leaf.start_byte, declared_type=declared_type, value=value)


def _owner(path: Sequence[Node]) -> int:
    """Return the first byte of the innermost class, `NO_OWNER` inside code and at the top level."""
    for node in reversed(path):
        if node.type in _HOLDERS:
            return node.start_byte
        if node.type in {"block", "constructor_body", "lambda_expression"}:
            return NO_OWNER
    return NO_OWNER


def _dotted_parts(node: Node, end: int) -> Iterator[bytes]:
    """Yield the parts of a dotted name up to a byte; nothing if a part isn't a name, as a call isn't."""
    text = nodes.text_of(node)[: end - node.start_byte]
    parts = _SPACE.sub(b"", text).split(b".")
    if all(_IDENTIFIER.fullmatch(part) for part in parts):
        yield from parts


def _count_arguments(call: Node) -> int | None:
    """Return the number of arguments of a call, or None if it has no list of them."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:
        return None
    return sum("comment" not in child.type for child in arguments.named_children)


def _sort_by_parameters(language: JavaRules, refs: list[DeclarationRef], use: NameUse) -> list[DeclarationRef]:
    return sorted(refs, key=lambda ref: parameter_mismatch(language, ref.declaration, use))
