"""C and C++: what declares and what uses, and which headers a file sees."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.languages.c_includes import find_header, header_names, provided_headers, seen_files
from sourcelight.engines.navigation.languages.declared import (
    CODE,
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
_TOP = frozenset({"translation_unit", "namespace_definition", "declaration_list", "linkage_specification"})
_DECLARATIONS = frozenset({
    "declaration", "function_definition", "parameter_declaration", "optional_parameter_declaration",
    "field_declaration", "type_definition", "for_range_loop", "condition_clause",
})  # fmt: skip
_OUTER = frozenset({"function_declarator"})
_THROUGH = frozenset({"parenthesized_expression", "pointer_expression", "unary_expression"})
_IDENTIFIERS = frozenset({
    "identifier", "field_identifier", "type_identifier", "statement_identifier", "namespace_identifier",
})  # fmt: skip
_TAGGED = frozenset(_SPECIFIERS)
_ALIASED = frozenset({"type_definition", "alias_declaration", "type_parameter_declaration"})
_NAMED_TYPES = frozenset({"type_identifier", "namespace_identifier", "identifier"})


class CRules:
    """C and C++."""

    names: tuple[str, ...] = ("C", "C++")
    identifiers: Collection[str] = _IDENTIFIERS
    classes: Collection[str] = frozenset(_SPECIFIERS)
    adds: Collection[str] = ()
    members_plain = True
    functions_apart = False
    scattered = True

    def declared(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Give what an identifier declares."""
        if len(path) < 2:
            return None
        leaf, parent = path[-1], path[-2]
        kind = parent.type
        if kind in _SPECIFIERS:
            if not is_field(parent, "name", leaf) or parent.child_by_field_name("body") is None:
                return None
            return self._made(path, _SPECIFIERS[kind], parent, len(path) - 2, visible=leaf.start_byte)
        if kind == "enumerator" and is_field(parent, "name", leaf):
            around = nearest(path, {"enum_specifier"})
            scope = nearest(path, _SCOPES) or path[0]
            owner = around.start_byte if around is not None and b"class" in text_of(around)[:12] else -1
            held = around.child_by_field_name("name") if around is not None else None
            return Declaration("enummember", leaf.start_byte, leaf.end_byte, parent, scope, 0, held, owner=owner)
        if kind in {"preproc_def", "preproc_function_def"} and is_field(parent, "name", leaf):
            named = "constant" if kind == "preproc_def" else "function"
            return Declaration(named, leaf.start_byte, leaf.end_byte, parent, path[0])
        if kind == "preproc_params":
            return Declaration("parameter", leaf.start_byte, leaf.end_byte, parent, path[-3])
        if kind == "labeled_statement" and is_field(parent, "label", leaf):
            scope = nearest(path, {"function_definition"}) or path[0]
            return Declaration("variable", leaf.start_byte, leaf.end_byte, parent, scope)
        if kind in {"namespace_definition", "alias_declaration"} and is_field(parent, "name", leaf):
            held = parent.child_by_field_name("type")
            return self._made(path, "namespace" if held is None else "class", parent, len(path) - 2, held)
        if kind == "type_parameter_declaration":
            scope = nearest(path, {"template_declaration"}) or parent
            return Declaration("typeparameter", leaf.start_byte, leaf.end_byte, parent, scope)
        return self._declarator(path)

    def _declarator(self, path: Sequence[Node]) -> Declaration | None:
        """Climb from a name through pointers, arrays and parameters to what declares it."""
        leaf = path[-1]
        at = len(path) - 2
        child = leaf
        value: Node | None = None
        function = False
        owner_name = b""
        while at > 0:
            node = path[at]
            kind = node.type
            if kind == "qualified_identifier" and is_field(node, "name", child):
                held = node.child_by_field_name("scope")
                owner_name = owner_name or text_of(self.type_leaf(held) if held is not None else None)
            elif kind == "init_declarator" and is_field(node, "declarator", child):
                value = node.child_by_field_name("value")
            elif kind.endswith("declarator"):
                inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
                if inner is None or inner.start_byte != child.start_byte or inner.end_byte != child.end_byte:
                    return None
                function = function or (kind == "function_declarator" and child.type != "parenthesized_declarator")
            else:
                break
            child = node
            at -= 1
        node = path[at]
        if node.type not in _DECLARATIONS or not is_field(node, "declarator", child):
            return None
        if owner_name and not function:
            return None
        return self._of_declaration(path, at, value, function=function, owner_name=owner_name)

    def _of_declaration(  # noqa: PLR0911 - a case a return
        self, path: Sequence[Node], at: int, value: Node | None, *, function: bool, owner_name: bytes
    ) -> Declaration | None:
        leaf, node = path[-1], path[at]
        held = node.child_by_field_name("type")
        if node.type == "type_definition":
            return self._made(path, "class", node, at, held, leaf.start_byte)
        if node.type in {"parameter_declaration", "optional_parameter_declaration"}:
            scope = nearest(path, {"function_definition", "lambda_expression", "template_declaration"}, at)
            holder = scope if scope is not None and _heads(scope, node) else path[at - 1]
            return Declaration("parameter", leaf.start_byte, leaf.end_byte, node, holder, type=held)
        if node.type == "for_range_loop":
            right = node.child_by_field_name("right")
            return Declaration(
                "variable", leaf.start_byte, leaf.end_byte, node, node, leaf.start_byte,
                held, right, part=held is not None and held.type == "placeholder_type_specifier",
            )  # fmt: skip
        if function:
            made = self._made(path, "function", node, at, held, sketch=node.type != "function_definition")
            if owner_name:
                return Declaration(
                    "method", made.start, made.end, node, made.scope, 0, held, owner=-2, owner_name=owner_name
                )
            return made
        if node.type == "field_declaration":
            return self._made(path, "field", node, at, held)
        scope = nearest(path, _SCOPES, at) or path[0]
        top = scope.type in {"translation_unit", "namespace_definition"}
        visible = 0 if top else leaf.start_byte
        sketch = top and any(child.type == "storage_class_specifier" and child.text == b"extern"
                             for child in node.named_children)  # fmt: skip
        return Declaration("variable", leaf.start_byte, leaf.end_byte, node, scope, visible, held, value, sketch=sketch)

    def _made(
        self,
        path: Sequence[Node],
        kind: str,
        node: Node,
        at: int,
        held: Node | None = None,
        visible: int = 0,
        *,
        sketch: bool = False,
    ) -> Declaration:
        leaf = path[-1]
        scope = nearest(path, _SCOPES, at) or path[0]
        holder = nearest(path, {*_SPECIFIERS, "compound_statement"}, at)
        owner, owner_name = -1, b""
        if holder is not None and holder.type in _SPECIFIERS and kind not in {"struct", "enum", "class"}:
            owner, owner_name = holder.start_byte, text_of(holder.child_by_field_name("name"))
            kind = "method" if kind == "function" else kind
        if scope.type in {"translation_unit", "namespace_definition", "field_declaration_list"}:
            visible = 0
        if kind in TYPES and scope.type == "field_declaration_list":
            scope = path[0]
        return Declaration(
            kind, leaf.start_byte, leaf.end_byte, node, scope, visible, held,
            owner=owner, owner_name=owner_name, sketch=sketch,
        )  # fmt: skip

    def use(self, path: Sequence[Node]) -> NameUse:
        """Tell how an identifier is used."""
        leaf, parent = path[-1], path[-2] if len(path) > 1 else path[-1]
        kind = parent.type
        typed = leaf.type in {"type_identifier", "namespace_identifier"}
        if kind == "field_designator":
            return NameUse(role="keyword", fields_of=_literal_type(path))
        receiver, whole = None, leaf
        if kind == "field_expression" and is_field(parent, "field", leaf):
            receiver, whole = parent.child_by_field_name("argument"), parent
        elif kind == "qualified_identifier" and is_field(parent, "name", leaf):
            receiver, whole = parent.child_by_field_name("scope"), parent
        called, count = False, -1
        for at in range(len(path) - 2, 0, -1):
            if path[at].type == "call_expression" and is_field(path[at], "function", whole):
                called, count = True, _count(path[at])
            if path[at].start_byte != whole.start_byte or path[at].type == "call_expression":
                break
            whole = path[at]
        if receiver is None:
            prefers = _TAGGED if kind in _SPECIFIERS else _ALIASED
            return NameUse(called=called, count=count, typed=typed, prefers=prefers if typed else ())
        return NameUse("attribute", receiver, None, (b"", leaf.text or b""), called=called, count=count, typed=typed)

    def step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911 - a case a return
        """Tell where the type of an expression comes from."""
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
            held = node.child_by_field_name("type")
            return TypeStep("type", held)
        if kind in _THROUGH or kind in {"assignment_expression", "subscript_expression", "conditional_expression"}:
            for field in ("argument", "left", "consequence"):
                if (held := node.child_by_field_name(field)) is not None:
                    return TypeStep("same", held)
            return TypeStep("same", node.named_children[0] if node.named_children else None)
        if kind in {"type_descriptor", *_SPECIFIERS}:
            return TypeStep("type", node)
        return None

    def type_leaf(self, node: Node) -> Node | None:
        """Give the identifier that names a type."""
        for _ in range(8):
            if node.type in _NAMED_TYPES:
                return node
            if node.type in {"type_descriptor", "sized_type_specifier"}:
                held = node.child_by_field_name("type")
            elif node.type in {*_SPECIFIERS, "template_type", "qualified_identifier", "alias_declaration"}:
                held = node.child_by_field_name("name")
            else:
                return None
            if held is None:
                return None
            node = held
        return None

    def arguments(self, node: Node) -> list[Node]:
        """Give the arguments of a template."""
        held = node.child_by_field_name("arguments")
        return list(held.named_children) if held is not None else []

    def supertypes(self, node: Node) -> list[Node]:
        """Give what a class is derived from."""
        held = next((child for child in node.named_children if child.type == "base_class_clause"), None)
        kinds = {"type_identifier", "template_type", "qualified_identifier"}
        return [child for child in held.named_children if child.type in kinds] if held is not None else []

    def implied(self, path: Sequence[Node]) -> Node | None:
        """Give the class that is named before the ``::`` of a function."""
        around = nearest(path, {"function_definition"})
        held = around.child_by_field_name("declarator") if around is not None else None
        for _ in range(8):
            if held is None or held.type == "qualified_identifier":
                break
            held = held.child_by_field_name("declarator")
        for _ in range(8):
            inner = held.child_by_field_name("name") if held is not None else None
            if inner is None or inner.type != "qualified_identifier":
                break
            held = inner
        return held.child_by_field_name("scope") if held is not None and held.type == "qualified_identifier" else None

    def parameters(self, node: Node) -> tuple[int, bool] | None:
        """Count the parameters of a function."""
        held: Node | None = node
        for _ in range(8):
            if held is None or held.type == "function_declarator":
                break
            held = held.child_by_field_name("declarator")
        listed = held.child_by_field_name("parameters") if held is not None else None
        if listed is None:
            return None
        kinds = [child.type for child in listed.named_children if child.type != "comment"]
        return len(kinds), any(kind != "parameter_declaration" for kind in kinds)

    def outside(
        self, meanings: NameResolver, document: Document, name: bytes, use: NameUse, offset: int
    ) -> list[DeclarationRef]:
        """Give what included headers declare, definitions of what they only announce before that."""
        found = self._of_class_around(meanings, document, name, use, offset)
        if found:
            return found
        from sourcelight.engines.navigation.languages.inference import fitting

        seen = seen_files(meanings.session, document)
        inside: list[DeclarationRef] = []
        elsewhere: list[DeclarationRef] = []
        announced = False
        for where, start, kind, _, _ in meanings.in_project(document.project, name):
            if (use.typed and kind in CODE) or (use.called and kind in {"field", "method"} and where != document):
                continue
            known = where.key in seen or where == document
            # What a header calls a struct without saying more is completed wherever its body stands.
            completes = use.prefers == _TAGGED and kind in TYPES
            if not known and kind not in {"function", "variable"} and not completes:
                continue
            made = meanings.declaration(where, name, start)
            if made is None or made.owner != -1 or made.owner_name or (where == document and made.scope.parent):
                continue
            announced |= known
            reason = "in an included file" if known else "announced in an included file"
            (inside if known else elsewhere).append(
                DeclarationRef(where, made, "scope" if where == document else "import", reason)
            )
        if any(not ref.made.sketch for ref in inside):
            elsewhere = []
        bodies = [ref for ref in elsewhere if not ref.made.sketch and not _static(ref.made.node)]
        return sorted(
            [*(bodies if announced or use.prefers == _TAGGED else ()), *inside],
            key=lambda ref: (
                fitting(ref.made, use, apart=False) if use.typed else ref.made.kind in TYPES,
                ref.made.sketch,
                ref.document != document,
                -_common(ref.document.path, document.path),
                ref.document.path,
                ref.made.start,
            ),
        ) or self._of_other_repositories(meanings, document, name, seen)

    def _of_class_around(
        self, meanings: NameResolver, document: Document, name: bytes, use: NameUse, offset: int
    ) -> list[DeclarationRef]:
        """Members that the body of ``Type::name`` sees by themselves."""
        model = meanings.model(document) if document.language == "C++" else None
        scope = self.implied(model.path_to(offset)) if model is not None else None
        if scope is None or scope.start_byte <= offset < scope.end_byte:
            return []
        return meanings.members_of(document, scope, name, use)

    def _of_other_repositories(
        self, meanings: NameResolver, document: Document, name: bytes, seen: Mapping[object, Document]
    ) -> list[DeclarationRef]:
        projects = {held.project.key: held.project for held in seen.values()}
        found = []
        for project in projects.values():
            if project.key != document.project.key:
                for where, start, _, _, _ in meanings.in_project(project, name):
                    made = meanings.declaration(where, name, start) if where.key in seen else None
                    if made is not None and made.owner == -1:
                        found.append(DeclarationRef(where, made, "import", "in an included file"))
                bodies = [
                    DeclarationRef(where, made, "import", "announced in an included file")
                    for where, start, kind, _, sketch in meanings.in_project(project, name)
                    if kind == "function" and not sketch and where.key not in seen
                    and (made := meanings.declaration(where, name, start)) is not None and not _static(made.node)
                ]  # fmt: skip
                if found and all(ref.made.sketch for ref in found):
                    found = bodies + found
        return found

    def qualified(
        self, meanings: NameResolver, document: Document, path: tuple[bytes, ...], offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Give what stands in a namespace: anything of that name at the top of a file that is seen."""
        return list(self.outside(meanings, document, path[-1], NameUse(), offset))

    def import_target(self, meanings: NameResolver, document: Document, module: str, member: str) -> Document | None:  # noqa: ARG002 - a header is included whole
        """Give the header that an include means."""
        return find_header(meanings.session, document, module)

    def module_names(self, document: Document) -> Collection[str]:
        """Give the names under which a header can be included."""
        return header_names(document.path)

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Give the headers of a repository."""
        return provided_headers(project)


def _heads(scope: Node, parameter: Node) -> bool:
    """Tell whether a parameter is one of the function's own, not of a function pointer among them."""
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
    """The type of the outermost literal around a designator; inner ones are not followed."""
    depth = 0
    for node in reversed(path[:-1]):
        if node.type == "initializer_list":
            depth += 1
        elif node.type in {"declaration", "compound_literal_expression"}:
            return node.child_by_field_name("type") if depth <= 2 else None
    return None


def _count(call: Node) -> int:
    held = call.child_by_field_name("arguments")
    return sum(child.type != "comment" for child in held.named_children) if held is not None else -1


def _static(node: Node) -> bool:
    return any(child.type == "storage_class_specifier" and child.text == b"static" for child in node.named_children)


def _common(one: bytes, other: bytes) -> int:
    """Count the folders that two paths share."""
    count = 0
    for left, right in zip(one.split(b"/")[:-1], other.split(b"/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count
