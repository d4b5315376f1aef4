"""Look up TypeScript names in blocks, imports and exports.

A lookup gives refs (`TsRef`): declarations in a file. An import is a declaration too, until `TsNames.follow` goes on to
what it imports. `TsValue` is the other word of this room: one thing that an expression may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.languages.typescript import scopes
from sourcelight.engines.navigation.languages.typescript.modules import find_module
from sourcelight.engines.navigation.model import DeclarationKey, Document
from sourcelight.engines.navigation.nodes import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project


MAX_DEPTH = 14
"""Expressions and types inside each other that are followed."""

MAX_ALTERNATIVES = 4
"""Maximum values per expression."""

_MAX_STEPS = 48
"""Maximum modules and imports to follow for one name: hostile modules re-export each other without end."""

_MODULE = re.compile(rb"^(?:import|export)\b", re.MULTILINE)
"""An import or export at the top of a file, which makes it a module."""

_EVERY = scopes.TYPE_KINDS | scopes.VALUE_KINDS


@dataclass(frozen=True, slots=True)
class TsValue:
    """One thing that an expression may be.

    ``instance``: of the class or interface `node`; ``class``: that class itself; ``shape``: an object type; ``object``:
    an object literal; ``function``; ``module``: a file; ``enum`` and ``namespace``; ``array``, ``promise``, ``map``: of
    `items`; ``tuple``: of the types in `node`. `bound_types` maps type parameters to their types there.
    """

    kind: Literal[
        "instance", "class", "shape", "object", "function", "module", "enum", "namespace", "array", "promise", "map",
        "tuple",
    ]  # fmt: skip
    document: Document
    node: Node | None = None
    bound_types: BoundTypes = field(default_factory=dict)
    items: tuple[TsValue, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Identity of the value."""
        span: tuple[int, ...] = ()
        if self.node is not None:
            span = self.node.start_byte, self.node.end_byte
        return self.kind, self.document.key, span, tuple(item.key for item in self.items)


@dataclass(frozen=True, slots=True, eq=False)
class TypeArguments:
    """A type argument at its position, read on first use, because most are never used."""

    document: Document
    node: Node
    bound_types: BoundTypes


BoundTypes = Mapping[DeclarationKey, tuple[TsValue, ...] | TypeArguments]
"""Bindings of type parameters at a position."""


@dataclass(frozen=True, slots=True)
class TsRef:
    """A declaration in a file with bound type parameters; without a declaration the file as a module."""

    document: Document
    binding: scopes.TsBinding | None = None
    bound_types: BoundTypes = field(default_factory=dict)

    @property
    def key(self) -> DeclarationKey:
        """Identity of the type."""
        return self.document.key, self.binding.start if self.binding is not None else -1


def first_distinct(values: Iterable[TsValue]) -> list[TsValue]:
    """Return the first `MAX_ALTERNATIVES` values without repetitions."""
    by_key: dict[object, TsValue] = {}
    for value in values:
        by_key.setdefault(value.key, value)
        if len(by_key) >= MAX_ALTERNATIVES:
            break
    return list(by_key.values())


class TsNames:
    """Look up names within one call."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._globals: dict[tuple[str, str, bytes], list[TsRef]] = {}

    def model(self, document: Document) -> scopes.TsModel | None:
        """Return the parsed file, or None if it has another language or can't be parsed."""
        return self.session.parsed_file(document, scopes.TsModel)

    def lookup(self, document: Document, name: bytes, offset: int, *, as_type: bool = False) -> list[TsRef]:
        """Return the declarations of a plain name at an offset, imports not followed."""
        model = self.model(document)
        if model is None:
            return []

        path = model.path_to(offset)
        # Types and values have separate names in TypeScript. Incomplete code puts one where the other belongs: any
        # declaration is a better answer than none.
        kinds = scopes.TYPE_KINDS if as_type else scopes.VALUE_KINDS
        bindings = model.local(path, name, kinds) or model.local(path, name, _EVERY)
        if bindings:
            return [TsRef(document, binding) for binding in bindings]

        return self._global(document, name)

    def _global(self, document: Document, name: bytes) -> list[TsRef]:
        """Return the global declarations of a name in declaration files."""
        project = document.project
        key = project.key, project.commit, name
        if key not in self._globals:
            self._globals[key] = self._declared_globally(project, name)
        return self._globals[key]

    def _declared_globally(self, project: Project, name: bytes) -> list[TsRef]:
        for number in project.remember("ts-globals", lambda: _global_files(project)):
            other = project.document_at(number)
            # A search of bytes is far cheaper than a parse, and few declaration files have the name.
            model = self.model(other) if name in other.text else None
            if model is not None:
                global_bindings = model.declarations(model.root).get(name)
                if global_bindings:
                    return [TsRef(other, binding) for binding in global_bindings]

        return []

    def module(self, document: Document, module: bytes) -> Document | None:
        """Return the file of a module specifier."""
        return find_module(document, module, self.session)

    def follow(self, refs: list[TsRef]) -> list[TsRef]:
        """Follow imports to the end; an import without a target stays."""
        by_key: dict[object, TsRef] = {}
        for ref in refs:
            for target in self._import_targets(ref, set()):
                by_key.setdefault(target.key, target)
        return list(by_key.values())

    def _import_targets(self, ref: TsRef, visited: set[object]) -> list[TsRef]:
        binding = ref.binding
        if binding is None or binding.kind != "import" or not binding.module:
            return [ref]

        # Modules may re-export each other in a circle.
        if ref.key in visited or len(visited) > _MAX_STEPS:
            return []

        visited.add(ref.key)
        target = self.module(ref.document, binding.module)
        if target is None:
            return [ref]
        if binding.member == b"*":
            return [TsRef(target)]

        # `import a = require("a")` is noted as the member `=`: what a module assigns to `export =` is its default.
        member = b"default" if binding.member == b"=" else binding.member
        refs = self.find_exports(target, member, visited)
        # `esModuleInterop`: a default import of a CommonJS module is the module itself.
        if not refs and binding.member in {b"default", b"="}:
            return [TsRef(target)]

        return refs or [ref]

    def find_exports(self, document: Document, name: bytes, visited: set[object] | None = None) -> list[TsRef]:
        """Return the exports of a module by name."""
        visited = set() if visited is None else visited
        key = "exported", document.key, name
        if key in visited or len(visited) > _MAX_STEPS:
            return []

        visited.add(key)
        exports = self.exports(document)
        refs: list[TsRef] = []
        for exported in exports.get(name, ()):
            refs += self._import_targets(TsRef(document, exported), visited)
        if refs or name == b"default":
            return refs

        for star in exports.get(b"*", ()):
            target = self.module(document, star.module)
            inner = self.find_exports(target, name, visited) if target is not None else []
            if inner:
                return inner

        return []

    def exports(self, document: Document) -> scopes.Declared:
        """Return the exports of a module by name; ``*`` has the modules that it re-exports."""
        model = self.model(document)
        if model is None:
            return {}

        if model.exports is None:
            exports: scopes.Declared = {}
            for name, binding in _exports(model):
                exports.setdefault(name, []).append(binding)
            model.exports = exports

        return model.exports


def _global_files(project: Project) -> list[int]:
    """Return the numbers of the declaration files that declare globals."""
    return [document.number for document in project.documents((b".d.ts",)) if _is_global(document)]


def _is_global(document: Document) -> bool:
    """Return whether a declaration file declares globals: it isn't a module, or has ``declare global``."""
    text = document.text
    return b"declare global" in text or _MODULE.search(text) is None


def _exports(model: scopes.TsModel) -> Iterator[tuple[bytes, scopes.TsBinding]]:
    pending = list(reversed(model.root.named_children))
    while pending:
        node = pending.pop()
        if node.type == "ERROR":
            pending += reversed(node.named_children)
        elif node.type == "export_statement":
            yield from _statement_exports(model, node)
        elif node.type == "expression_statement" and node.named_children:
            yield from _assigned_exports(model, node.named_children[0])


def _statement_exports(model: scopes.TsModel, node: Node) -> Iterator[tuple[bytes, scopes.TsBinding]]:
    default = any(child.type == "default" for child in node.children)
    declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
    source = node.child_by_field_name("source")
    module = scopes.unquote(source) if source is not None else b""
    if declaration is not None:
        for binding in scopes.declared_by(declaration):
            yield (b"default" if default else binding.name), binding
    elif value is not None:
        yield b"default", _default_binding(model, value)
    elif module and any(child.type == "*" for child in node.children):
        yield b"*", scopes.TsBinding("import", b"*", node.start_byte, node.end_byte, node, (), module, b"*")

    for child in node.named_children:
        if child.type == "namespace_export" and child.named_children:
            shown_name = child.named_children[0]
            imported = _exported_import(scopes.unquote(shown_name), shown_name, node=child, module=module, member=b"*")
            yield imported.name, imported
        elif child.type == "export_clause":
            for specifier in child.named_children:
                yield from _specifier_exports(model, specifier, module)

    if any(child.type == "=" for child in node.children) and node.named_children:
        yield b"default", _default_binding(model, node.named_children[-1])


def _specifier_exports(
    model: scopes.TsModel, specifier: Node, module: bytes
) -> Iterator[tuple[bytes, scopes.TsBinding]]:
    """Yield the export of ``a`` or ``a as b`` in ``export { … }``, which may have a module to re-export from."""
    name = specifier.child_by_field_name("name")
    if name is None:
        return

    exported_name = scopes.unquote(specifier.child_by_field_name("alias") or name)
    if module:
        yield (
            exported_name,
            _exported_import(exported_name, name, node=specifier, module=module, member=scopes.unquote(name)),
        )
        return

    for root_binding in model.declarations(model.root).get(scopes.unquote(name), ()):
        yield exported_name, root_binding


def _exported_import(exported_name: bytes, name: Node, *, node: Node, module: bytes, member: bytes) -> scopes.TsBinding:
    return scopes.TsBinding(
        kind="import",
        name=exported_name,
        start=name.start_byte,
        end=name.end_byte,
        node=node,
        module=module,
        member=member,
    )


def _default_binding(model: scopes.TsModel, value: Node) -> scopes.TsBinding:
    if value.type == "identifier":
        root_bindings = model.declarations(model.root).get(text_of(value))
        if root_bindings:
            return root_bindings[0]
    name = value.child_by_field_name("name")
    return scopes.binding("default", name or value, value)


def _assigned_exports(model: scopes.TsModel, node: Node) -> Iterator[tuple[bytes, scopes.TsBinding]]:
    """Yield exports by assignment: ``exports.a =``, ``module.exports =``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type != "assignment_expression" or left is None or right is None or left.type != "member_expression":
        return

    holder, name = left.child_by_field_name("object"), left.child_by_field_name("property")
    if holder is None or name is None:
        return

    if text_of(left) == b"module.exports":
        if right.type == "object":
            yield from _object_exports(model, right)
        yield b"default", _default_binding(model, right)
    elif text_of(holder) in {b"exports", b"module.exports"}:
        yield text_of(name), scopes.binding("member", name, node)


def _object_exports(model: scopes.TsModel, literal: Node) -> Iterator[tuple[bytes, scopes.TsBinding]]:
    """Yield the exports of ``module.exports = { a, b: … }``."""
    for child in literal.named_children:
        key = child.child_by_field_name("key") or child.child_by_field_name("name")
        if child.type == "shorthand_property_identifier":
            for root_binding in model.declarations(model.root).get(text_of(child), ()):
                yield root_binding.name, root_binding
        elif key is not None:
            yield scopes.unquote(key), scopes.binding("member", key, child)
