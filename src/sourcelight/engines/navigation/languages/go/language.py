"""The rules of Go for looking up names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.language import Cursor, Language, NameLookup, Ref, Renames, Session, Usage
from sourcelight.engines.navigation.languages.go import packages, scopes
from sourcelight.engines.navigation.languages.go.inference import GoInference
from sourcelight.engines.navigation.languages.go.type_syntax import GoType
from sourcelight.engines.navigation.model import Document, ResolutionRule, Role
from sourcelight.engines.navigation.nodes import field_text, is_field
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project

_KINDS = {"import": "package", "label": "variable"}
_AROUND_CALLED = frozenset({
    "parenthesized_expression", "index_expression", "type_instantiation_expression", "generic_type",
})  # fmt: skip
_TYPE_KINDS = {"struct_type": "struct", "interface_type": "interface"}


class GoLanguage(Language):
    """Go."""

    names = ("Go",)
    identifiers = scopes.IDENTIFIERS
    has_declared_types = True
    calls_convert = True
    renames = Renames(
        re.compile(rb"^[ \t]*(?:import[ \t]+)?([\w\x80-\xff]+)[ \t]+[\"`]", re.MULTILINE), frozenset({"import_spec"})
    )

    def parse(self, name: str, text: bytes, deadline: float) -> scopes.GoModel | None:
        """Parse a file."""
        tree = parse_tree(name, text, deadline)
        return None if tree is None else scopes.GoModel(text, tree)

    def usage(self, cursor: Cursor) -> Usage:
        """Return how an identifier is used, as its parent node shows."""
        return _usage(cursor.node)

    def lookup(self, document: Document, cursor: Cursor, session: Session) -> Sequence[Ref]:
        """Return the declarations and packages that a name refers to."""
        if not isinstance(cursor.parsed, scopes.GoModel):
            return []
        return GoLookup(GoInference(session), document, cursor.parsed, cursor).refs()

    def bindings(self, ref: Ref, session: Session) -> Sequence[Ref]:
        """Return the declarations of a package-level name for all systems that the package is built for."""
        inference = GoInference(session)
        model = inference.model(ref.document)
        if model is None or ref.kind in {"package", "parameter"}:
            return []

        name = ref.document.text[ref.start : ref.end]
        if not any(declaration.start == ref.start for declaration in model.top.get(name, ())):
            return []

        directory = ref.document.path.rpartition(b"/")[0]
        package = packages.GoPackage(ref.document.project, directory, packages.package_name(ref.document))
        return [_to_ref(member, "scope") for member in inference.member(package, name)]

    def module_names(self, document: Document) -> Collection[str]:
        """Return the import path of a file."""
        path = packages.import_path(document)
        return (path,) if path else ()

    def import_target(self, document: Document, module: str, member: str, session: Session) -> Document | None:  # noqa: ARG002 - a package is imported whole
        """Return the first file of the package that an import means."""
        package = GoInference(session).package(document, module.encode())
        if package is None:
            return None

        documents = package.documents()
        return documents[0] if documents else None

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the modules that other repositories can import, with their directories."""
        return dict(reversed(packages.modules_of(project)))


def _usage(node: Node) -> Usage:
    parent = node.parent
    if parent is None:
        return Usage()

    role: Role = "name"
    # `a.b` is called as a whole when its last name is.
    expression = node
    kind = parent.type
    if kind in {"selector_expression", "qualified_type"}:
        last = parent.child_by_field_name("field") or parent.child_by_field_name("name")
        if last is not None and last.start_byte == node.start_byte:
            role, expression = "attribute", parent
    elif kind == "import_spec":
        role = "import"
    elif kind == "literal_element" and _is_key(parent):
        role = "keyword"

    return Usage(role, is_binding=_is_binding(node, parent), is_called=_is_called(expression))


def _is_binding(node: Node, parent: Node) -> bool:
    if parent.type == "qualified_type":
        return False
    if parent.type != "expression_list" or parent.parent is None:
        return is_field(parent, "name", node)

    # `a, b := f()` binds; `a, b = f()` assigns.
    statement = parent.parent
    defines = statement.type == "short_var_declaration" or any(child.type == ":=" for child in statement.children)
    return defines and is_field(statement, "left", parent)


def _is_called(expression: Node) -> bool:
    """Return whether an expression is the function of a call, also with type arguments or in parentheses."""
    outer = expression.parent
    while outer is not None and outer.type in _AROUND_CALLED and outer.named_children[0] == expression:
        expression, outer = outer, outer.parent

    if outer is None:
        return False

    # One argument after type arguments, `f[int](x)`, is a conversion in the grammar; `callees` drops those of types.
    field = "type" if outer.type == "type_conversion_expression" and expression.type == "generic_type" else "function"
    return outer.child_by_field_name(field) == expression


def _is_key(element: Node) -> bool:
    outer = element.parent
    return outer is not None and outer.type == "keyed_element" and is_field(outer, "key", element)


class GoLookup(NameLookup[GoInference, scopes.GoModel]):
    """The lookup of one name."""

    def refs(self) -> list[Ref]:  # noqa: PLR0911 - a case a return
        """Return the declarations that the name refers to."""
        kind = self.parent.type
        if self.leaf.type == "field_identifier" and kind != "selector_expression":
            return self._declared_member()
        if kind == "selector_expression" and self.leaf.type == "field_identifier":
            return self._select_member()

        if kind == "qualified_type" and self.leaf.type == "type_identifier":
            package_name = field_text(self.parent, "package")
            return self._in_package(self.inference.find_import(self.document, package_name))

        if kind == "import_spec":
            return self._import_spec()
        if self.leaf.type == "package_identifier" and kind == "package_clause":
            return [_module(self.document, "scope")]

        if kind == "literal_element" and _is_key(self.parent):
            key_refs = self._key()
            if key_refs:
                return key_refs

        return self._named_refs()

    def _named_refs(self) -> list[Ref]:
        start = self.leaf.start_byte
        if self.leaf.type != "package_identifier":
            refs = self.inference.lookup(self.document, self.path, self.name, start)
            declarations_here = [
                ref for ref in refs if ref.document == self.document and ref.declaration.start == start
            ]
            refs = declarations_here or refs
            if refs:
                return [_to_ref(ref, "scope") for ref in refs]

        go_import = self.inference.find_import(self.document, self.name)
        if go_import is None:
            return []
        return self._package(go_import.spec)

    def _import_spec(self) -> list[Ref]:
        for spec in self.model.imports:
            if spec.node == self.parent:
                return self._package(spec)
        return []

    def _package(self, spec: scopes.GoImportSpec) -> list[Ref]:
        """Return a file of the package that an import means, or the import itself if no repository has it."""
        package = self.inference.package(self.document, spec.path)
        documents = package.documents() if package is not None else []
        if package is None or not documents:
            node = spec.node.child_by_field_name("name") or spec.path_node
            missing = spec.path.decode(errors="replace")
            start, end = node.start_byte, node.end_byte
            return [Ref(self.document, start, end, kind="package", rule="import", missing_module=missing)]

        # A package has no single file; a reader expects doc.go, or the file with its name.
        likely_names = {b"doc.go", package.name + b".go"}
        likely = [document for document in documents if document.path.rpartition(b"/")[2] in likely_names]
        return [_module((likely or documents)[0], "import")]

    def _in_package(self, go_import: packages.GoImport | None) -> list[Ref]:
        if go_import is None or go_import.package is None:
            return []
        return [_to_ref(ref, "import") for ref in self.inference.member(go_import.package, self.name)]

    def _select_member(self) -> list[Ref]:
        operand = self.parent.child_by_field_name("operand")
        operand_type = self.inference.infer(self.document, operand)
        if isinstance(operand_type, packages.GoImport):
            return self._in_package(operand_type)
        if operand_type is None:
            return []
        return [_to_ref(member.ref, "type") for member in self.inference.members(operand_type, self.name)]

    def _declared_member(self) -> list[Ref]:
        """Return the field or method that is declared here."""
        kind: scopes.Kind = "method" if self.parent.type in {"method_declaration", "method_elem"} else "field"
        return [_to_ref(packages.GoRef(self.document, scopes.make_declaration(kind, self.leaf, self.parent)), "scope")]

    def _key(self) -> list[Ref]:
        """Return the field that a composite literal sets."""
        literal_type = self._literal_type(len(self.path) - 3)
        if literal_type is None:
            return []
        members = self.inference.members(literal_type, self.name)
        return [_to_ref(member.ref, "type") for member in members if member.ref.declaration.kind == "field"]

    def _literal_type(self, index: int) -> GoType | None:
        """Return the type of the literal around ``path[index]``."""
        # In `map[string]T{"a": {…}}`, the inner literal omits its type. `steps` lead from the type of the outer one to
        # it: 0 to the key, 1 to the element.
        steps: list[int] = []
        while index > 0 and self.path[index].type != "composite_literal":
            node = self.path[index]
            if node.type == "literal_element" and self.path[index + 1].type == "literal_value":
                steps.append(0 if _is_key(node) else 1)
            index -= 1

        kind = self.path[index].child_by_field_name("type") if index > 0 else None
        if kind is None:
            return None

        go_type: GoType | None = GoType(self.document, kind)
        for step in reversed(steps):
            if go_type is not None:
                go_type = self.inference.element(go_type, step)
        return go_type


def _module(document: Document, rule: ResolutionRule) -> Ref:
    return Ref(document=document, start=0, end=0, kind="module", rule=rule)


def _to_ref(ref: packages.GoRef, rule: ResolutionRule) -> Ref:
    declaration = ref.declaration
    return Ref(ref.document, declaration.start, declaration.end, _kind(declaration), rule)


def _kind(declaration: scopes.GoDeclaration) -> str:
    if declaration.kind == "type":
        definition = declaration.node.child_by_field_name("type")
        return _TYPE_KINDS.get(definition.type, "class") if definition is not None else "class"
    return _KINDS.get(declaration.kind, declaration.kind)
