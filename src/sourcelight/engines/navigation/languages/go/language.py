"""Resolving the names of Go files."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sourcelight.engines.navigation.languages.go.inference import GoInference, GoType
from sourcelight.engines.navigation.languages.go.packages import (
    GoImport,
    GoPackage,
    GoRef,
    import_path,
    modules_of,
    package_name,
)
from sourcelight.engines.navigation.languages.go.scopes import IDENTIFIERS, GoDeclaration, GoModel, Kind
from sourcelight.engines.navigation.model import (
    SCORES,
    Document,
    How,
    Identifiers,
    Occurrence,
    ParsedFile,
    ResolvedDefinition,
    Role,
)
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MOST_SECONDS = 2.0
"""Time after which parsing a file is given up."""

_REASONS: Mapping[How, str] = {
    "scope": "in scope",
    "import": "followed the import",
    "type": "type of what stands before the dot",
}
_KINDS = {"import": "package", "label": "variable"}
_SHAPES = {"struct_type": "struct", "interface_type": "interface"}


class GoLanguage(Identifiers):
    """Go; a `resolver.Resolver`."""

    languages: Collection[str] = ("Go",)
    identifiers: Collection[str] = IDENTIFIERS
    renaming: ClassVar[re.Pattern[bytes] | None] = re.compile(
        rb"^[ \t]*(?:import[ \t]+)?([\w\x80-\xff]+)[ \t]+[\"`]", re.MULTILINE
    )
    renamers: ClassVar[Collection[str]] = frozenset({"import_spec"})

    def build(self, language: str, text: bytes) -> GoModel | None:
        """Parse a file."""
        tree = parse_tree(language, text, time.monotonic() + MOST_SECONDS)
        return None if tree is None else GoModel(text, tree)

    def occurrence(self, model: ParsedFile, node: Node) -> Occurrence:  # noqa: ARG002 - its kind tells
        """Say what an identifier is used as."""
        return _occurrence(node)

    def resolve(self, document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the definitions of an occurrence."""
        model = workspace.model(document)
        if not isinstance(model, GoModel):
            return []
        path = model.path_to(occurrence.start)
        if path[-1].type not in IDENTIFIERS:
            return []
        found: dict[object, ResolvedDefinition] = {}
        for made in _GoLookup(GoInference(workspace, self), document, model, path).answer():
            found.setdefault(made.place, made)
        return list(found.values())

    def same(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the declarations of one name for all systems that it is built for."""
        types = GoInference(workspace, self)
        model = types.model(found.document)
        if model is None or found.kind in {"package", "parameter"}:
            return [found]
        name = found.document.text[found.start : found.end]
        if not any(made.start == found.start for made in model.top.get(name, ())):
            return [found]
        folder = found.document.path.rpartition(b"/")[0]
        package = GoPackage(found.document.project, folder, package_name(found.document))
        others = [
            _found(ref, "scope").because(found.how, found.reason, found.score) for ref in types.member(package, name)
        ]
        return [found, *(other for other in others if other.place != found.place)]

    def module_names(self, document: Document) -> Collection[str]:
        """Give the import path of a file."""
        path = import_path(document)
        return (path,) if path else ()

    def imported(self, document: Document, module: str, member: str, workspace: Workspace) -> Document | None:  # noqa: ARG002 - a package is imported whole
        """Give the first file of the package that an import means."""
        package = GoInference(workspace, self).package(document, module.encode())
        return next(iter(package.documents()), None) if package is not None else None

    def provides(self, project: Project) -> Mapping[str, Any]:
        """Give the modules that other repositories can import."""
        return dict(reversed(modules_of(project)))


def _occurrence(node: Node) -> Occurrence:
    role: Role = "name"
    binding = called = False
    parent = node.parent
    if parent is not None:
        kind = parent.type
        whole = node
        if kind in {"selector_expression", "qualified_type"}:
            last = parent.child_by_field_name("field") or parent.child_by_field_name("name")
            if last is not None and last.start_byte == node.start_byte:
                role, whole = "attribute", parent
        elif kind == "import_spec":
            role = "import"
        elif kind == "literal_element" and _is_key(parent):
            role = "keyword"
        binding = any(child.start_byte == node.start_byte for child in parent.children_by_field_name("name")) and (
            kind != "qualified_type"
        )
        if kind == "expression_list" and parent.parent is not None:
            outer = parent.parent
            left = outer.child_by_field_name("left")
            defines = outer.type == "short_var_declaration" or any(child.type == ":=" for child in outer.children)
            binding = defines and left is not None and left.start_byte == parent.start_byte
        call = whole.parent
        called = (
            call is not None
            and call.type == "call_expression"
            and (function := call.child_by_field_name("function")) is not None
            and function.start_byte == whole.start_byte
            and function.end_byte == whole.end_byte
        )
    return Occurrence(node.start_byte, node.end_byte, role, binding, called)


def _is_key(element: Node) -> bool:
    outer = element.parent
    key = outer.child_by_field_name("key") if outer is not None and outer.type == "keyed_element" else None
    return key is not None and key.start_byte == element.start_byte


class _GoLookup:
    """One occurrence, with the nodes from the top down to it."""

    def __init__(self, types: GoInference, document: Document, model: GoModel, path: list[Node]) -> None:
        self.types = types
        self.document = document
        self.model = model
        self.path = path
        self.leaf = path[-1]
        self.name = self.leaf.text or b""
        self.parent = path[-2] if len(path) > 1 else path[-1]

    def answer(self) -> list[ResolvedDefinition]:  # noqa: PLR0911 - a case a return
        """Give what the occurrence means."""
        kind = self.parent.type
        if self.leaf.type == "field_identifier" and kind != "selector_expression":
            return self._own_member()
        if kind == "selector_expression" and self.leaf.type == "field_identifier":
            return self._selected()
        if kind == "qualified_type" and self.leaf.type == "type_identifier":
            package = self.parent.child_by_field_name("package")
            held = self.types.imported(self.document, (package.text if package else None) or b"")
            return self._in_package(held)
        if kind == "import_spec":
            return self._package(next((i for i in self.model.imports if i.node == self.parent), None))
        if self.leaf.type == "package_identifier" and kind == "package_clause":
            return [_module(self.document, "scope")]
        if kind == "literal_element" and _is_key(self.parent):
            keyed = self._key()
            if keyed:
                return keyed
        return self._plain()

    def _plain(self) -> list[ResolvedDefinition]:
        start = self.leaf.start_byte
        if self.leaf.type != "package_identifier":
            refs = self.types.plain(self.document, self.path, self.name, start)
            own = [ref for ref in refs if ref.document == self.document and ref.declaration.start == start]
            refs = own or refs
            if refs:
                return [_found(ref, "scope") for ref in refs]
        held = self.types.imported(self.document, self.name)
        return self._package(held.imported) if held is not None else []

    def _package(self, imported: Any) -> list[ResolvedDefinition]:
        if imported is None:
            return []
        package = self.types.package(self.document, imported.path)
        if package is not None:
            documents = package.documents()
            named = [d for d in documents if d.path.rpartition(b"/")[2] in {b"doc.go", package.name + b".go"}]
            if documents:
                return [_module((named or documents)[0], "import")]
        node = imported.node.child_by_field_name("name") or imported.node.child_by_field_name("path")
        source = imported.path.decode(errors="replace")
        reason = f"imported from {source}, which is in no repository here"
        return [ResolvedDefinition(self.document, node.start_byte, node.end_byte, "package", "import", 0.6, reason)]

    def _in_package(self, held: GoImport | None) -> list[ResolvedDefinition]:
        if held is None or held.package is None:
            return []
        return [_found(ref, "import") for ref in self.types.member(held.package, self.name)]

    def _selected(self) -> list[ResolvedDefinition]:
        operand = self.parent.child_by_field_name("operand")
        held = self.types.infer(self.document, operand)
        if isinstance(held, GoImport):
            return self._in_package(held)
        if held is None:
            return []
        return [_found(member.ref, "type") for member in self.types.members(held, self.name)]

    def _own_member(self) -> list[ResolvedDefinition]:
        """A field, or a method of a type or an interface, where it is declared."""
        kind: Kind = "method" if self.parent.type in {"method_declaration", "method_elem"} else "field"
        made = GoDeclaration(kind, self.name, self.leaf.start_byte, self.leaf.end_byte, self.parent)
        return [_found(GoRef(self.document, made), "scope")]

    def _key(self) -> list[ResolvedDefinition]:
        """A field that a composite literal sets."""
        held = self._literal_type(len(self.path) - 3)
        if held is None:
            return []
        members = self.types.members(held, self.name)
        return [_found(member.ref, "type") for member in members if member.ref.declaration.kind == "field"]

    def _literal_type(self, at: int) -> GoType | None:
        """The type of the literal around ``path[at]``; inner ones may leave out theirs."""
        steps: list[int] = []
        while at > 0:
            node = self.path[at]
            if node.type == "composite_literal":
                kind = node.child_by_field_name("type")
                held = GoType(self.document, kind) if kind is not None else None
                for place in reversed(steps):
                    held = self.types.element(held, place) if held is not None else None
                return held
            if node.type == "literal_element" and self.path[at + 1].type == "literal_value":
                steps.append(0 if _is_key(node) else 1)
            at -= 1
        return None


def _module(document: Document, how: How) -> ResolvedDefinition:
    return ResolvedDefinition(document, 0, 0, "module", how, SCORES[how], _REASONS[how])


def _found(ref: GoRef, how: How) -> ResolvedDefinition:
    made = ref.declaration
    return ResolvedDefinition(ref.document, made.start, made.end, _kind(made), how, SCORES[how], _REASONS[how])


def _kind(made: GoDeclaration) -> str:
    if made.kind == "type":
        inner = made.node.child_by_field_name("type")
        return _SHAPES.get(inner.type, "class") if inner is not None else "class"
    return _KINDS.get(made.kind, made.kind)
