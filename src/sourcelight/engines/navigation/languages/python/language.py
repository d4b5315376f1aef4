"""Resolving the names of Python files."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sourcelight.engines.navigation.languages.python.inference import PythonInference
from sourcelight.engines.navigation.languages.python.names import PythonRef, find_module, modules_of
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope, dotted
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

_KINDS = {"function": "function", "class": "class", "parameter": "parameter"}
_SHOWN = {"scope": "in scope", "import": "followed the import", "type": "type of what stands before the dot"}


_OF_MODULES = frozenset({b"__name__", b"__file__", b"__doc__", b"__package__", b"__spec__", b"__path__"})


class PythonLanguage(Identifiers):
    """Python and its stub files; a `resolver.Resolver`."""

    languages: Collection[str] = ("Python",)
    identifiers: Collection[str] = frozenset({"identifier"})
    renaming: ClassVar[re.Pattern[bytes] | None] = re.compile(rb"\bas[\s\\]+([\w\x80-\xff]+)")
    renamers: ClassVar[Collection[str]] = frozenset({"aliased_import"})

    def build(self, language: str, text: bytes) -> PythonModel | None:
        """Parse a file."""
        tree = parse_tree(language, text, time.monotonic() + MOST_SECONDS)
        return None if tree is None else PythonModel(text, tree)

    def occurrence(self, model: ParsedFile, node: Node) -> Occurrence:  # noqa: ARG002 - its kind tells
        """Say what an identifier is used as."""
        return _occurrence(node)

    def resolve(self, document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the definitions of an occurrence."""
        model = workspace.model(document)
        if not isinstance(model, PythonModel):
            return []
        path = model.path_to(occurrence.start)
        if path[-1].type != "identifier":
            return []
        types = PythonInference(workspace, self)
        refs, how = _PythonLookup(types, document, model, path).answer()
        found: dict[object, ResolvedDefinition] = {}
        for ref in refs:
            made = _found(ref, how)
            found.setdefault(made.place, made)
        return list(found.values())

    def same(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give all places that bind the variable, function or attribute that `found` binds."""
        model = workspace.model(found.document)
        if not isinstance(model, PythonModel) or found.kind == "module":
            return [found]
        path = model.path_to(found.start)
        types = PythonInference(workspace, self)
        scope, name = model.scope_along(path), path[-1].text or b""
        parent = path[-2] if len(path) > 1 else path[-1]
        if parent.type == "attribute":
            owner = types.method_owner(found.document, scope)
            members = types.attribute_bindings(owner, name) if owner is not None else []
        elif scope.kind == "class":
            ref = types.class_ref(found.document, scope)
            members = types.attribute_bindings(ref, name) if ref is not None else []
        else:
            members = [PythonRef(found.document, b) for b in scope.bindings.get(name, [])]
        made = [_found(ref, "scope").because(found.how, found.reason, found.score) for ref in members]
        return [found, *(other for other in made if other.place != found.place)]

    def module_names(self, document: Document) -> Collection[str]:
        """Give the dotted names of a file."""
        names = modules_of(document.project).names
        held = names.get(document.number)
        return () if held is None else (held[1].decode(errors="replace"),)

    def imported(self, document: Document, module: str, member: str, workspace: Workspace) -> Document | None:
        """Give the file that an import means: the member if that is a module itself, else the module."""
        name = module.lstrip(".")
        level = len(module) - len(name)
        if member and member != "*":
            joined = f"{name}.{member}" if name else member
            found = find_module(document, joined.encode(), level, workspace, self)
            if found:
                return found[0]
        found = find_module(document, name.encode(), level, workspace, self)
        return found[0] if found else None

    def provides(self, project: Project) -> Mapping[str, Any]:
        """Give the top-level modules that other repositories can import."""
        return modules_of(project).shared


def _occurrence(node: Node) -> Occurrence:
    role: Role = "name"
    binding = called = False
    parent = node.parent
    if parent is not None:
        kind = parent.type
        outer = parent
        if kind == "attribute":
            named = parent.child_by_field_name("attribute")
            role = "attribute" if named is not None and named.start_byte == node.start_byte else "name"
        elif kind == "keyword_argument":
            named = parent.child_by_field_name("name")
            role = "keyword" if named is not None and named.start_byte == node.start_byte else "name"
        elif kind in {"dotted_name", "aliased_import"}:
            role = "import"
        elif kind in {"function_definition", "class_definition"}:
            binding = True
        if kind in {"attribute", "call"}:
            called = _is_called(outer if role == "attribute" else node)
        if not binding:
            binding = _is_target(node if role != "attribute" else parent)
    return Occurrence(node.start_byte, node.end_byte, role, binding, called)


def _is_called(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "call":
        return False
    function = parent.child_by_field_name("function")
    return function is not None and function.start_byte == node.start_byte and function.end_byte == node.end_byte


def _is_target(node: Node) -> bool:
    """Tell whether an expression is assigned to."""
    while (parent := node.parent) is not None and parent.type in {"pattern_list", "tuple_pattern", "list_pattern"}:
        node = parent
    if parent is None or parent.type not in {"assignment", "for_statement", "for_in_clause", "parameters"}:
        return False
    left = parent.child_by_field_name("left")
    return parent.type == "parameters" or (left is not None and left.start_byte == node.start_byte)


class _PythonLookup:
    """One occurrence, with the nodes from the top down to it."""

    def __init__(self, types: PythonInference, document: Document, model: PythonModel, path: list[Node]) -> None:
        self.types = types
        self.document = document
        self.model = model
        self.path = path
        self.leaf = path[-1]
        self.name = self.leaf.text or b""
        self.parent = path[-2] if len(path) > 1 else path[-1]

    def answer(self) -> tuple[list[PythonRef], How]:
        """Give what the occurrence means, and by which rules."""
        kind = self.parent.type
        if kind == "attribute" and self._is_field("attribute"):
            return self._attribute()
        if kind == "keyword_argument" and self._is_field("name"):
            return self._keyword(), "type"
        around = next((n for n in reversed(self.path[:-1]) if n.type.startswith("import_")), None)
        if around is not None and kind in {"dotted_name", "aliased_import"}:
            return self._imported(around), "import"
        return self._plain()

    def _is_field(self, field: str) -> bool:
        node = self.parent.child_by_field_name(field)
        return node is not None and node.start_byte == self.leaf.start_byte

    @property
    def scope(self) -> PythonScope:
        return self.model.scope_along(self.path)

    def _plain(self) -> tuple[list[PythonRef], How]:
        scope = self.scope
        own = [b for b in scope.bindings.get(self.name, []) if b.start == self.leaf.start_byte]
        if own:
            fixture = self.types.fixture(self.document, scope, self.name) if own[0].kind == "parameter" else None
            bound = PythonRef(self.document, own[0])
            return ([fixture, bound], "import") if fixture is not None else self._ended([bound], "scope")
        if self.name in scope.globals:
            scope = scope.module
        if scope.kind == "class" and self.parent.type == "decorator":
            held = scope.bindings.get(self.name, [])
            getters = [b for b in held if b.start < self.leaf.start_byte]
            if getters:
                return [PythonRef(self.document, getters[0])], "scope"
        refs = self.types.lookup(self.document, scope, self.name, self.leaf.start_byte)
        if not refs and self.name in _OF_MODULES:
            return [PythonRef(self.document)], "scope"
        if refs and refs[0].binding is not None and refs[0].binding.kind == "parameter":
            held_by = refs[0].binding.scope
            if held_by.kind == "function" and refs[0].document is self.document:
                return refs, "scope"
        return self._ended(refs, "scope")

    def _ended(self, refs: list[PythonRef], how: How) -> tuple[list[PythonRef], How]:
        """Follow imports; say so if there were any."""
        imports = bool(refs) and refs[0].binding is not None and refs[0].binding.kind in {"import", "from"}
        elsewhere = bool(refs) and refs[0].document != self.document
        return self.types.follow(refs), "import" if imports or elsewhere else how

    def _attribute(self) -> tuple[list[PythonRef], How]:
        holder = self.parent.child_by_field_name("object")
        scope = self.scope
        own = self._own_attribute(scope)
        if own is not None:
            return [own], "type"
        found: list[PythonRef] = []
        how: How = "type"
        outside = 0
        values = self.types.infer(self.document, scope, holder)
        for value in values:
            if value.kind == "module":
                how = "import"
            found += self.types.members(value, self.name)
            outside += value.kind in {"outside", "container"}
        if not found and outside and outside == len(values):
            self.types.workspace.outside.add((self.document.key, self.leaf.start_byte))
        return self.types.follow(found), how

    def _own_attribute(self, scope: PythonScope) -> PythonRef | None:
        """Give ``self.x`` where it is assigned: it binds itself."""
        if not _is_target(self.parent):
            return None
        holder = scope.enclosing_class
        for binding in self.types.attributes(holder).get(self.name, []) if holder is not None else ():
            if binding.start == self.leaf.start_byte:
                return PythonRef(self.document, binding)
        return None

    def _keyword(self) -> list[PythonRef]:
        call = next(
            (n for n in reversed(self.path[:-2]) if n.type in {"call", "class_definition", "class_pattern"}), None
        )
        if call is None or call.type != "call":
            return []
        at = next(i for i, n in enumerate(self.path) if n.id == call.id)
        scope = self.model.scope_along(self.path[: at + 1])
        found: list[PythonRef] = []
        for value in self.types.infer(self.document, scope, call.child_by_field_name("function")):
            found += self.types.parameter_named(value, self.name)
        return found

    def _imported(self, statement: Node) -> list[PythonRef]:
        if statement.type == "import_from_statement":
            return self._from(statement)
        if statement.type != "import_statement":
            return []
        if self.parent.type == "aliased_import" and self._is_field("alias"):
            name = self.parent.child_by_field_name("name")
            return self._modules((name.text if name is not None else None) or b"", 0)
        return self._modules(self._prefix(self.parent), 0)

    def _prefix(self, node: Node) -> bytes:
        """Give a dotted name up to and with the leaf."""
        return self.model.text[node.start_byte : self.leaf.end_byte]

    def _modules(self, module: bytes, level: int) -> list[PythonRef]:
        found = [PythonRef(document) for document in self.types.modules(self.document, module, level)[:1]]
        if found:
            return found
        own = self.model.scope_along(self.path).bindings.get(self.name, [])
        return [PythonRef(self.document, b) for b in own if b.start == self.leaf.start_byte]

    def _from(self, statement: Node) -> list[PythonRef]:
        source = statement.child_by_field_name("module_name")
        if source is not None and source.start_byte <= self.leaf.start_byte < source.end_byte:
            level = dotted(source)[1]
            start = self.parent if self.parent.type == "dotted_name" else source
            return self._modules(self._prefix(start), level)
        scope = self.model.scope_along(self.path)
        for held in scope.bindings.values():
            for binding in held:
                if binding.node.start_byte <= self.leaf.start_byte < binding.node.end_byte and binding.kind == "from":
                    return self.types.follow([PythonRef(self.document, binding)])
        return []


def _found(ref: PythonRef, how: How) -> ResolvedDefinition:
    binding = ref.binding
    if binding is None:
        return ResolvedDefinition(ref.document, 0, 0, "module", how, SCORES[how], _SHOWN.get(how, how))
    kind, score, reason = _kind(binding), SCORES[how], _SHOWN.get(how, how)
    if binding.kind in {"import", "from"}:
        source = b"." * binding.level + binding.module
        score, reason = 0.6, f"imported from {source.decode(errors='replace')}, which is in no repository here"
    return ResolvedDefinition(ref.document, binding.start, binding.end, kind, how, score, reason)


def _kind(binding: PythonBinding) -> str:
    if binding.kind == "function" and binding.scope.kind == "class":
        return "method"
    if binding.kind == "variable" and (binding.scope.kind == "class" or _names_attribute(binding)):
        return "field"
    if binding.kind in {"import", "from"}:
        return "module"
    return _KINDS.get(binding.kind, "variable")


def _names_attribute(binding: PythonBinding) -> bool:
    left = binding.node.child_by_field_name("left")
    return left is not None and left.type == "attribute"
