"""C#: what declares, what uses and what brings in names; namespaces by their declarations."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.languages.declared import (
    TYPES,
    Declaration,
    DeclarationRef,
    ModuleRef,
    NameUse,
    TypeStep,
    is_field,
    nearest,
    text_of,
)
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of

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
_NAMESPACE = re.compile(rb"^[ \t]*namespace[ \t]+([\w.]+)", re.MULTILINE)
_MOST_HEAD = 64 * 1024


class CSharpRules:
    """C#."""

    names: tuple[str, ...] = ("C#",)
    identifiers: Collection[str] = frozenset({"identifier", "implicit_parameter"})
    classes: Collection[str] = frozenset(_CLASSES)
    adds: Collection[str] = ()
    members_plain = True
    functions_apart = False
    scattered = True

    def declared(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Give what an identifier declares."""
        if len(path) < 3:
            return None
        leaf, parent = path[-1], path[-2]
        kind = parent.type
        if leaf.type == "implicit_parameter":
            return Declaration("parameter", leaf.start_byte, leaf.end_byte, leaf, parent)
        if kind in _CLASSES or kind in _MEMBERS:
            if not is_field(parent, "name", leaf):
                return None
            held = None
            if kind in _MEMBERS:
                held = parent.child_by_field_name("returns") or parent.child_by_field_name("type")
            return _member(path, _CLASSES.get(kind) or _MEMBERS[kind], len(path) - 2, held)
        if kind == "variable_declarator" and is_field(parent, "name", leaf):
            return self._variable(path)
        if kind in _LOCALS and is_field(parent, "name", leaf):
            outer = path[-4] if kind == "parameter" and len(path) > 3 else None
            if outer is not None and outer.type == "record_declaration":
                return Declaration(
                    "property", leaf.start_byte, leaf.end_byte, parent, outer, 0, parent.child_by_field_name("type"),
                    owner=outer.start_byte, owner_name=text_of(outer.child_by_field_name("name")),
                )  # fmt: skip
            scope = nearest(path, _SCOPES) or path[0]
            return Declaration(
                _LOCALS[kind], leaf.start_byte, leaf.end_byte, parent, scope, 0, parent.child_by_field_name("type")
            )
        if kind == "foreach_statement" and is_field(parent, "left", leaf):
            held = parent.child_by_field_name("type")
            auto = held is not None and held.type == "implicit_type"
            return Declaration(
                "variable", leaf.start_byte, leaf.end_byte, parent, parent, 0, held,
                parent.child_by_field_name("right"), part=auto,
            )  # fmt: skip
        if kind == "local_function_statement" and is_field(parent, "name", leaf):
            scope = nearest(path, _SCOPES, len(path) - 2) or path[0]
            return Declaration(
                "function", leaf.start_byte, leaf.end_byte, parent, scope, 0, parent.child_by_field_name("type")
            )
        if kind == "type_parameter" and is_field(parent, "name", leaf) and len(path) > 3:
            return Declaration("typeparameter", leaf.start_byte, leaf.end_byte, parent, path[-4])
        return None

    def _variable(self, path: Sequence[Node]) -> Declaration:
        leaf, declarator, outer = path[-1], path[-2], path[-3]
        held = outer.child_by_field_name("type")
        value = next((c for c in declarator.named_children if c.start_byte > leaf.end_byte), None)
        statement = path[-4] if len(path) > 3 else outer
        if statement.type in {"field_declaration", "event_field_declaration"}:
            return _member(path, "field", len(path) - 4, held, value)
        scope = nearest(path, _SCOPES) or path[0]
        return Declaration("variable", leaf.start_byte, leaf.end_byte, declarator, scope, leaf.start_byte, held, value)

    def use(self, path: Sequence[Node]) -> NameUse:
        """Tell how an identifier is used."""
        leaf, parent = path[-1], path[-2] if len(path) > 1 else path[-1]
        imported = nearest(path, {"using_directive"})
        if imported is not None:
            return NameUse(role="import", path=_dotted(parent, leaf), imported=True)
        kind = parent.type
        receiver, whole = None, leaf
        if kind == "generic_name" and len(path) > 2:
            whole, parent = parent, path[-3]
            kind = parent.type
        if kind == "member_access_expression" and is_field(parent, "name", whole):
            receiver, whole = parent.child_by_field_name("expression"), parent
        elif kind == "qualified_name" and is_field(parent, "name", whole):
            receiver, whole = parent.child_by_field_name("qualifier"), parent
        elif kind == "member_binding_expression":
            around = nearest(path, {"conditional_access_expression"})
            receiver = around.child_by_field_name("condition") if around is not None else None
            whole = parent
        elif kind == "assignment_expression" and is_field(parent, "left", leaf):
            literal = path[-3] if len(path) > 3 else parent
            made = path[-4] if literal.type == "initializer_expression" and len(path) > 4 else None
            if made is not None and made.type == "object_creation_expression":
                return NameUse(role="keyword", fields_of=made.child_by_field_name("type"))
        call = whole.parent
        called = call is not None and call.type == "invocation_expression" and is_field(call, "function", whole)
        count = -1
        if called and call is not None:
            listed = call.child_by_field_name("arguments")
            count = sum(one.type == "argument" for one in listed.named_children) if listed is not None else -1
        holder = whole.parent
        typed = holder is not None and (
            is_field(holder, "type", whole) or is_field(holder, "returns", whole) or holder.type in
            {"base_list", "type_argument_list", "attribute", "nullable_type", "array_type"}
        )  # fmt: skip
        if receiver is None:
            return NameUse(called=called, count=count, typed=typed)
        return NameUse("attribute", receiver, None, _dotted(whole, leaf), called=called, count=count, typed=typed)

    def step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911 - a case a return
        """Tell where the type of an expression comes from."""
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
            held = node.child_by_field_name("name")
            return TypeStep(
                "name", held.named_children[0] if held is not None and held.type == "generic_name" else held
            )
        if kind == "invocation_expression":
            return TypeStep("same", node.child_by_field_name("function"))
        if kind in {"object_creation_expression", "cast_expression", "as_expression"}:
            return TypeStep("type", node.child_by_field_name("type") or node.child_by_field_name("right"))
        if kind in {"parenthesized_expression", "await_expression", "postfix_unary_expression"}:
            return TypeStep("same", node.named_children[0] if node.named_children else None)
        if kind == "element_access_expression":
            return TypeStep("element", node.child_by_field_name("expression"))
        if kind in {"generic_name", "nullable_type", "array_type"}:
            return TypeStep("type", node)
        return None

    def type_leaf(self, node: Node) -> Node | None:
        """Give the identifier that names a type."""
        for _ in range(8):
            if node.type == "identifier":
                return node
            held: Node | None = None
            if node.type in {"qualified_name", "alias_qualified_name"} or node.type in _CLASSES:
                held = node.child_by_field_name("name")
            elif node.type in {"generic_name", "nullable_type", "array_type", "ref_type"} and node.named_children:
                held = node.named_children[0]
                inner = self.arguments(node)
                if text_of(held) in {b"Task", b"ValueTask", b"Lazy"} and inner:
                    held = inner[0]
            if held is None:
                return None
            node = held
        return None

    def arguments(self, node: Node) -> list[Node]:
        """Give the arguments of a type."""
        if node.type == "array_type":
            return node.named_children[:1]
        held = next((child for child in node.named_children if child.type == "type_argument_list"), None)
        return list(held.named_children) if held is not None else []

    def supertypes(self, node: Node) -> list[Node]:
        """Give what a class extends and implements."""
        held = next((child for child in node.named_children if child.type == "base_list"), None)
        return list(held.named_children) if held is not None else []

    def implied(self, path: Sequence[Node]) -> Node | None:  # noqa: ARG002 - no code is outside of its class
        """Give nothing: methods stand in their class."""
        return None

    def parameters(self, node: Node) -> tuple[int, bool] | None:
        """Count the parameters of a method; with defaults or ``params`` fewer or more will do."""
        held = node.child_by_field_name("parameters")
        if held is None:
            return None
        count = sum(child.type == "parameter" for child in held.named_children)
        return count, b"=" in text_of(held) or b"params " in text_of(held)

    def outside(
        self,
        meanings: NameResolver,
        document: Document,
        name: bytes,
        use: NameUse,  # noqa: ARG002 - the same for all of a file
        offset: int,  # noqa: ARG002 - the same for all of a file
    ) -> list[DeclarationRef]:
        """Give the types of the own namespace, of those around it, and of those that are used."""
        spaces = [b".".join(parts) for own in namespaces(document) for parts in _ends(own.split(b"."))]
        for one in imports_of(document, meanings.session.workspace):
            if one.alias.encode() == name:
                return [r for r in self.qualified(meanings, document, tuple(one.module.encode().split(b".")), -1)
                        if isinstance(r, DeclarationRef)]  # fmt: skip
            spaces.append(one.module.encode())
        ranked = {space: place for place, space in reversed(list(enumerate(spaces)))}
        found: list[tuple[int, DeclarationRef]] = []
        for project in (document.project, *_others(meanings, document, spaces)):
            for where, start, kind, container, _ in meanings.in_project(project, name):
                if kind not in TYPES or (container and "." not in container and not _is_space(where, container)):
                    continue
                place = min((ranked.get(space, 999) for space in namespaces(where)), default=999)
                made = meanings.declaration(where, name, start) if place < 999 else None
                if made is not None:
                    found.append((place, DeclarationRef(where, made, "import", "in a namespace that is used")))
            if found:
                break
        return [ref for _, ref in sorted(found, key=lambda pair: pair[0])]

    def qualified(
        self,
        meanings: NameResolver,
        document: Document,
        path: tuple[bytes, ...],
        offset: int,  # noqa: ARG002 - see above
    ) -> list[DeclarationRef | ModuleRef]:
        """Give the type that a dotted name means."""
        if not path:
            return []
        space, name = b".".join(path[:-1]), path[-1]
        for project in (document.project, *_others(meanings, document, [space])):
            found: list[DeclarationRef | ModuleRef] = []
            for where, start, kind, _, _ in meanings.in_project(project, name):
                if kind in TYPES and space in namespaces(where):
                    made = meanings.declaration(where, name, start)
                    if made is not None:
                        found.append(DeclarationRef(where, made, "import", "followed the name"))
            if found:
                return found
        return []

    def import_target(self, meanings: NameResolver, document: Document, module: str, member: str) -> Document | None:  # noqa: ARG002 - namespaces are used whole
        """Give the first file of a namespace, or that of a type."""
        wanted = module.encode()
        for project in (document.project, *_others(meanings, document, [wanted])):
            number = _spaces(project).get(wanted)
            if number is not None:
                return project.document_at(number)
        found = self.qualified(meanings, document, tuple(wanted.split(b".")), -1)
        return found[0].document if found else None

    def module_names(self, document: Document) -> Collection[str]:
        """Give the namespaces of a file."""
        return tuple(name.decode(errors="replace") for name in namespaces(document))

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Give the namespaces of a repository."""
        return {name.decode(errors="replace"): number for name, number in _spaces(project).items()}


def _member(path: Sequence[Node], kind: str, at: int, held: Node | None, value: Node | None = None) -> Declaration:
    leaf = path[-1]
    scope = nearest(path, _SCOPES, at) or path[0]
    holder = nearest(path, _CLASSES, at)
    owner = holder.start_byte if holder is not None else -1
    named = text_of(holder.child_by_field_name("name")) if holder is not None else b""
    if holder is not None and kind == "enummember":
        held = holder.child_by_field_name("name")
    return Declaration(
        kind, leaf.start_byte, leaf.end_byte, path[at], scope, 0, held, value, owner=owner, owner_name=named
    )


def _dotted(node: Node, leaf: Node) -> tuple[bytes, ...]:
    text = (node.text or b"")[: leaf.end_byte - node.start_byte]
    parts = re.sub(rb"\s+", b"", text).split(b".")
    return tuple(parts) if all(re.fullmatch(rb"[\w@\x80-\xff]+", part) for part in parts) else ()


def _ends(parts: list[bytes]) -> list[list[bytes]]:
    return [parts[:length] for length in range(len(parts), 0, -1)]


def namespaces(document: Document) -> tuple[bytes, ...]:
    """Give the namespaces that a file declares; one empty name where it declares none."""

    def made() -> tuple[bytes, ...]:
        return tuple(dict.fromkeys(_NAMESPACE.findall(document.text[:_MOST_HEAD]))) or (b"",)

    return document.project.remember(("c-sharp-namespaces", document.number), made)


def _is_space(document: Document, container: str) -> bool:
    return container.encode() in namespaces(document)


def _spaces(project: Project) -> Mapping[bytes, int]:
    """Give the first file of every namespace."""

    def made() -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for document in project.documents((b".cs",)):
            for name in namespaces(document):
                if name:
                    found.setdefault(name, document.number)
        return found

    return project.remember("c-sharp-spaces", made)


def _others(meanings: NameResolver, document: Document, spaces: list[bytes]) -> list[Project]:
    found: dict[str, Project] = {}
    for space in spaces:
        for other, _ in meanings.session.providers(document.project, space.decode(errors="replace")):
            found.setdefault(other.key, other)
    return list(found.values())
