"""Resolving the names of TypeScript and JavaScript files."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sourcelight.engines.navigation.languages.typescript.context import TsInference, is_intrinsic
from sourcelight.engines.navigation.languages.typescript.members import is_static
from sourcelight.engines.navigation.languages.typescript.modules import module_names, packages_of
from sourcelight.engines.navigation.languages.typescript.names import TsRef, TsValue
from sourcelight.engines.navigation.languages.typescript.scopes import (
    CLASSES,
    FUNCTIONS,
    IDENTIFIERS,
    TsBinding,
    TsModel,
    binding,
    parsed,
    unquoted,
)
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

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MOST_SECONDS = 2.0
"""Time after which parsing a file is given up."""

_REASONS: Mapping[How, str] = {
    "scope": "in scope",
    "import": "followed the import",
    "type": "type of what holds the name",
}
_MEMBERS = frozenset({
    "property_signature", "method_signature", "public_field_definition", "field_definition", "method_definition",
    "abstract_method_signature", "enum_assignment", "enum_body",
})  # fmt: skip
_TAGS = frozenset({"jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element"})
_SHOWN = {"label": "variable", "catch": "variable", "type": "class", "default": "variable", "import": "module"}
_FIELDS = frozenset({"property_signature", "public_field_definition", "field_definition", "assignment_expression"})


class TypeScriptLanguage(Identifiers):
    """TypeScript, TSX and JavaScript; a `resolver.Resolver`."""

    languages: Collection[str] = ("TypeScript", "TSX", "JavaScript")
    identifiers: Collection[str] = IDENTIFIERS
    renaming: ClassVar[re.Pattern[bytes] | None] = re.compile(rb"\bas\s+([\w$\x80-\xff]+)")
    renamers: ClassVar[Collection[str]] = frozenset({
        "import_specifier", "export_specifier", "namespace_import", "namespace_export", "import_clause",
        "import_statement", "export_statement",
    })  # fmt: skip

    def build(self, language: str, text: bytes) -> TsModel | None:
        """Parse a file."""
        tree = parsed(language, text, time.monotonic() + MOST_SECONDS)
        return None if tree is None else TsModel(text, tree)

    def occurrence(self, model: ParsedFile, node: Node) -> Occurrence:  # noqa: ARG002 - its kind tells
        """Say what an identifier is used as."""
        return _occurrence(node)

    def resolve(self, document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the definitions of an occurrence."""
        model = workspace.model(document)
        if not isinstance(model, TsModel):
            return []
        path = model.path_to(occurrence.start)
        if path[-1].type not in IDENTIFIERS:
            return []
        refs, how = _TsLookup(self._types(workspace), document, model, path).answer()
        found: dict[object, ResolvedDefinition] = {}
        for ref in refs:
            made = _found(ref, how)
            found.setdefault(made.place, made)
        return list(found.values())

    def same(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give all declarations that are merged under one name, overloads included."""
        types = self._types(workspace)
        model = types.model(found.document)
        if model is None or found.kind == "module":
            return [found]
        path = model.path_to(found.start)
        name = path[-1].text or b""
        parent = path[-2] if len(path) > 1 else path[-1]
        if parent.type in _MEMBERS and len(path) > 2:
            body = path[-3]
            made = [
                binding("member", key, child)
                for child in body.named_children
                if (key := child.child_by_field_name("name")) is not None and key.text == name
                if is_static(child) == is_static(parent)
            ]
        else:
            made = [ref.binding for ref in types.lookup(found.document, name, found.start) if ref.binding is not None]
            made += [r.binding for r in types.lookup(found.document, name, found.start, as_type=True) if r.binding]
        others = {one.start: _found(TsRef(found.document, one), "scope") for one in made}
        others.pop(found.start, None)
        return [found, *(one.because(found.how, found.reason, found.score) for one in others.values())]

    def overridden(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the members of classes and interfaces that a member implements or overrides, up to the top."""
        return workspace.remember(("overridden", found.place), lambda: self._overridden(found, workspace))

    def _overridden(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        types = self._types(workspace)
        model = types.model(found.document)
        path = model.path_to(found.start) if model is not None and found.kind != "module" else []
        if len(path) < 4 or path[-2].type not in _MEMBERS:
            return ()
        holder = path[-4]
        if holder.type not in CLASSES and holder.type != "interface_declaration":
            return ()
        value = TsValue("class" if is_static(path[-2]) else "instance", found.document, holder)
        return [_found(ref, "type") for ref in types.overridden(value, path[-1].text or b"")]

    def _types(self, workspace: Workspace) -> TsInference:
        """What was inferred once in a call is not inferred again."""
        return workspace.remember("typescript", lambda: TsInference(workspace, self))

    def module_names(self, document: Document) -> Collection[str]:
        """Give the names under which other files may import a file."""
        return module_names(document)

    def imported(self, document: Document, module: str, member: str, workspace: Workspace) -> Document | None:  # noqa: ARG002 - a module is imported whole
        """Give the file that an import means."""
        return self._types(workspace).module(document, module.encode())

    def provides(self, project: Project) -> Mapping[str, Any]:
        """Give the packages that other repositories can import."""
        return packages_of(project).folders


def _occurrence(node: Node) -> Occurrence:
    role: Role = "name"
    called = False
    parent = node.parent
    binds = node.type == "shorthand_property_identifier_pattern"
    if parent is not None:
        kind = parent.type
        whole = node
        if kind in {"member_expression", "nested_type_identifier", "nested_identifier"} and _is_last(parent, node):
            role, whole = "attribute", parent
        elif kind in {"import_specifier", "import_clause", "namespace_import", "export_specifier"}:
            role = "import"
        elif kind in {"pair", "jsx_attribute", "pair_pattern"} or node.type == "shorthand_property_identifier":
            role = "keyword"
        name = parent.child_by_field_name("name") or parent.child_by_field_name("pattern")
        binds = binds or (
            name is not None
            and name.start_byte == node.start_byte
            and (kind in _MEMBERS or kind.endswith(("declaration", "declarator", "parameter", "_signature")))
        )
        call = whole.parent
        called = call is not None and call.type in {"call_expression", "new_expression"} and _calls(call, whole)
    return Occurrence(node.start_byte, node.end_byte, role, binds, called)


def _is_last(parent: Node, node: Node) -> bool:
    last = parent.child_by_field_name("property") or parent.child_by_field_name("name")
    return last is not None and last.start_byte == node.start_byte


def _calls(call: Node, node: Node) -> bool:
    function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    return function is not None and function.start_byte == node.start_byte and function.end_byte == node.end_byte


class _TsLookup:
    """One occurrence, with the nodes from the top down to it."""

    def __init__(self, types: TsInference, document: Document, model: TsModel, path: list[Node]) -> None:
        self.types = types
        self.document = document
        self.model = model
        self.path = path
        self.leaf = path[-1]
        self.name = self.leaf.text or b""
        self.parent = path[-2] if len(path) > 1 else path[-1]

    def answer(self) -> tuple[list[TsRef], How]:  # noqa: PLR0911 - a case a return
        """Give what the occurrence means, and by which rules."""
        kind = self.parent.type
        if kind in {"member_expression", "nested_type_identifier", "nested_identifier"} and _is_last(
            self.parent, self.leaf
        ):
            return self._attribute()
        if kind in {"import_specifier", "export_specifier"}:
            return self._specifier()
        if kind in {"pair", "pair_pattern", "jsx_attribute"} and self.leaf.type == "property_identifier":
            return self._key(), "type"
        if self.leaf.type == "shorthand_property_identifier_pattern":
            return self._key() or self._own("variable"), "type"
        if self.leaf.type == "shorthand_property_identifier":
            plain, how = self._plain()
            return [*plain, *self._contextual_key(len(self.path) - 2)], how
        if self.leaf.type in {"property_identifier", "private_property_identifier"}:
            return self._member(), "scope"
        return self._plain()

    def _own(self, kind: str) -> list[TsRef]:
        made = TsBinding(
            "variable" if kind == "variable" else "member",
            self.name,
            self.leaf.start_byte,
            self.leaf.end_byte,
            self.parent,
        )
        return [TsRef(self.document, made)]

    def _plain(self) -> tuple[list[TsRef], How]:
        if self.parent.type in _TAGS and is_intrinsic(self.leaf):
            return self.types.intrinsic(self.document, self.name), "type"
        as_type = self.leaf.type == "type_identifier"
        refs = self.types.lookup(self.document, self.name, self.leaf.start_byte, as_type=as_type)
        own = [r for r in refs if r.binding is not None and r.binding.start == self.leaf.start_byte]
        refs = own + [r for r in refs if r not in own]
        return self._ended(refs, "scope")

    def _ended(self, refs: list[TsRef], how: How) -> tuple[list[TsRef], How]:
        followed = self.types.follow([self._through_require(ref) for ref in refs])
        elsewhere = any(ref.document != self.document or ref.binding is None for ref in followed)
        imports = any(ref.binding is not None and ref.binding.kind == "import" for ref in refs)
        return followed, "import" if elsewhere or imports else how

    def _through_require(self, ref: TsRef) -> TsRef:
        """``const { a } = require("./b")`` is an import."""
        made = ref.binding
        if made is None or made.kind != "variable" or len(made.steps) != 1 or made.steps[0].kind != "key":
            return ref
        if made.start == self.leaf.start_byte:
            return ref
        value = made.node.child_by_field_name("value")
        found = self.types.infer(ref.document, value) if value is not None and value.type == "call_expression" else []
        if not found or found[0].kind != "module":
            return ref
        inner = self.types.exported(found[0].document, made.steps[0].key)
        return inner[0] if inner else ref

    def _attribute(self) -> tuple[list[TsRef], How]:
        holder = self.parent.child_by_field_name("object") or self.parent.child_by_field_name("module")
        values = self.types.infer(self.document, holder)
        found = [ref for value in values for ref in self.types.member_refs(value, self.name)]
        how: How = "import" if values and values[0].kind == "module" else "type"
        return self.types.follow(found), how

    def _specifier(self) -> tuple[list[TsRef], How]:
        outer = next((n for n in reversed(self.path) if n.type in {"import_statement", "export_statement"}), None)
        source = outer.child_by_field_name("source") if outer is not None else None
        name = self.parent.child_by_field_name("name")
        if source is not None and name is not None:
            made = TsBinding(
                "import",
                self.name,
                self.leaf.start_byte,
                self.leaf.end_byte,
                self.parent,
                (),
                unquoted(source),
                unquoted(name),
            )
            return self.types.follow([TsRef(self.document, made)]), "import"
        if name is not None and name.start_byte != self.leaf.start_byte:
            return self._own("variable"), "scope"
        refs = self.types.lookup(self.document, self.name, self.model.root.start_byte)
        return self._ended(refs, "scope")

    def _key(self) -> list[TsRef]:
        """A key of an object literal, of a destructuring, or of a JSX element."""
        kind = self.parent.type
        if kind == "jsx_attribute":
            props = self.types.props(self.document, self.path[:-1])
            return [ref for value in props for ref in self.types.member_refs(value, self.name)]
        if kind == "pair":
            return self._contextual_key(len(self.path) - 3) or self._own("member")
        return self._destructured()

    def _contextual_key(self, at: int) -> list[TsRef]:
        """The property that is expected under the name, for the object literal ``path[at]``."""
        if at < 1 or self.path[at].type != "object":
            return []
        expected = self.types.contextual(self.document, self.path[: at + 1])
        return [ref for value in expected for ref in self.types.member_refs(value, self.name)]

    def _destructured(self) -> list[TsRef]:
        """The property that a pattern takes."""
        top = next((i for i in range(len(self.path) - 1, -1, -1) if not _in_pattern(self.path[i])), 0)
        holder = self.path[top]
        held = self._pattern_value(holder, top)
        steps = self._steps(top)
        for step in steps:
            held = self.types.stepped(held, step)
        return [ref for value in held for ref in self.types.follow(self.types.member_refs(value, self.name))]

    def _pattern_value(self, holder: Node, at: int) -> list[TsValue]:
        name = next(
            (b for bindings in self.model.declared_in(self.path[: at + 1]) for b in bindings if b.node == holder), None
        )
        if name is None:
            return []
        whole = TsBinding(name.kind, b"", holder.start_byte, holder.start_byte, holder)
        return self.types.values_of(TsRef(self.document, whole))

    def _steps(self, top: int) -> list[Any]:
        from sourcelight.engines.navigation.languages.typescript.scopes import bound

        pattern = self.path[top + 1]
        for name, steps in bound(pattern):
            if name.start_byte == self.leaf.start_byte or (
                self.parent.type == "pair_pattern" and self.parent.start_byte <= name.start_byte < self.parent.end_byte
            ):
                depth = sum(1 for node in self.path[top + 1 :] if node.type in {"pair_pattern", "array_pattern"})
                inner = len(steps) - 1 if self.leaf.type == "shorthand_property_identifier_pattern" else depth - 1
                return list(steps[:inner])
        return []

    def _member(self) -> list[TsRef]:
        """A member where it is declared; a method of an object literal is what is expected there."""
        if self.parent.type == "method_definition" and len(self.path) > 2 and self.path[-3].type == "object":
            expected = self._contextual_key(len(self.path) - 3)
            if expected:
                return expected
        return self._own("member")


def _in_pattern(node: Node) -> bool:
    return node.type in {
        "object_pattern", "array_pattern", "pair_pattern", "object_assignment_pattern", "assignment_pattern",
        "rest_pattern", "property_identifier", "shorthand_property_identifier_pattern", "identifier",
    }  # fmt: skip


def _found(ref: TsRef, how: How) -> ResolvedDefinition:
    made = ref.binding
    if made is None:
        return ResolvedDefinition(ref.document, 0, 0, "module", how, SCORES[how], _REASONS[how])
    if made.kind == "import":
        source = made.module.decode(errors="replace")
        reason = f"imported from {source}, which is in no repository here"
        return ResolvedDefinition(ref.document, made.start, made.end, "module", "import", 0.6, reason)
    return ResolvedDefinition(ref.document, made.start, made.end, _kind(made), how, SCORES[how], _REASONS[how])


def _kind(made: TsBinding) -> str:
    if made.kind == "member":
        if made.node.type in {"method_definition", "method_signature", "abstract_method_signature"}:
            return "method"
        if made.node.type in {"enum_assignment", "property_identifier"}:
            return "enummember"
        return "field" if made.node.type in _FIELDS else "property"
    if made.kind == "variable":
        value = made.node.child_by_field_name("value")
        if value is not None and value.type in FUNCTIONS:
            return "function"
        if value is not None and value.type in CLASSES:
            return "class"
    return _SHOWN.get(made.kind, made.kind)
