"""Paths of Rust, such as ``crate::config::Config``, followed from module to module to their declarations.

A path begins in a crate, in a module, or at a name that a ``use`` brings into scope. Each part is then looked up in the
modules or types that the part before it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sourcelight.engines.navigation.languages.declared import TYPES, Declaration, DeclarationRef, ModuleRef, NameUse
from sourcelight.engines.navigation.languages.rust.crates import child_file, crate_root, crates, parent_file
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of
from sourcelight.engines.navigation.nodes import nearest

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.languages.inference import NameResolver

_MAX_USES = 12
"""Imports of imports that are followed; a longer chain is a circle, or hostile."""

_MAX_SCOPES = 2
"""Meanings of one part of a path: a type and a value, which have namespaces of their own.

More would multiply with each part of the path.
"""

_SELF_CLASSES = frozenset({"struct_item", "union_item", "enum_item", "trait_item", "impl_item"})
"""Nodes in which ``Self`` is a type."""


class RustModule(NamedTuple):
    """A module: its file, and its node there; None for the module that is the whole file."""

    document: Document
    node: Node | None = None


RustScope: TypeAlias = "DeclarationRef | RustModule"
"""Meaning of a part of a path: a type or another declaration, or a module."""


class _PathStart(NamedTuple):
    """Scopes in which a path begins, and the parts of the path to look up in them."""

    scopes: list[RustScope]
    remaining: tuple[bytes, ...]


class RustPaths:
    """Follows paths within one call.

    A name of a file is followed once: several imports by `*` would otherwise multiply with each import that leads on.
    """

    def __init__(self, names: NameResolver) -> None:
        self._names = names
        self._imports: dict[tuple[Document, bytes], list[DeclarationRef | ModuleRef]] = {}

    def lookup(
        self, document: Document, name: bytes, offset: int, *, is_called: bool
    ) -> list[DeclarationRef | ModuleRef]:
        """Return what a name without a path means that the file doesn't declare: imports, crates and macros.

        Parameters
        ----------
        offset
            Byte of the name in the file.
        is_called
            Whether it is called: then it means no module.
        """
        if self._names.model(document) is None:
            return []
        if name == b"Self":
            return self._self_type(document, offset)

        imported = self._follow_uses(document, name, 0)
        if imported:
            return imported

        if not is_called:
            # An empty part behind the name, because a crate is a start for further parts only.
            start = self._start(document, (name, b""), offset, 0)
            modules = [scope for scope in start.scopes if isinstance(scope, RustModule)]
            return [ModuleRef(module.document) for module in modules if module.node is None]

        return list(self._macros(document, name))

    def follow(self, document: Document, path: tuple[bytes, ...], offset: int) -> list[DeclarationRef | ModuleRef]:
        """Return the declarations of a path that is used at an offset."""
        return self._follow(document, path, offset, 0)

    def file_of_import(self, document: Document, module: str, member: str) -> Document | None:
        """Return the file that a `use` or a `mod` names."""
        if module == "self" and member:
            return child_file(document, member.encode())

        path = _parts(module)
        if member and member != "*":
            path.append(member.encode())

        # The last parts may be a type or a function: the longest prefix that leads to a file counts.
        for length in range(len(path), 0, -1):
            refs = self._follow(document, tuple(path[:length]), 0, 0)
            if refs:
                return refs[0].document

        return None

    def _self_type(self, document: Document, offset: int) -> list[DeclarationRef | ModuleRef]:
        """Return the type of the `impl` or trait around an offset: `Self` is declared nowhere."""
        model = self._names.model(document)
        if model is None:
            return []

        class_node = nearest([*model.path_to(offset), model.root], _SELF_CLASSES)
        leaf = None if class_node is None else self._names.rules.type_leaf(class_node)
        return [] if leaf is None else list(self._names.refs_at(document, leaf.start_byte))

    def _macros(self, document: Document, name: bytes) -> Iterator[DeclarationRef]:
        """Yield macros of the repository with a name."""
        # Macros by `macro_rules!` are visible by textual order or `#[macro_use]` (Rust reference, macros by example),
        # so any of the repository may be meant.
        for other, start, kind, _, _ in self._names.definitions_in(document.project, name):
            declaration = self._names.declaration(other, name, start) if kind == "function" else None
            if declaration is not None and declaration.node.type == "macro_definition":
                yield DeclarationRef(
                    document=other, declaration=declaration, rule="import", reason="macro of the repository"
                )

    def _follow_uses(self, document: Document, name: bytes, depth: int) -> list[DeclarationRef | ModuleRef]:
        """Follow the `use` declarations of a file for a name."""
        key = document, name
        if depth > _MAX_USES:
            return []

        if key not in self._imports:
            # While the name is followed, it leads nowhere: an import can't bring in what it starts with.
            self._imports[key] = []
            self._imports[key] = self._read_uses(document, name, depth)

        return self._imports[key]

    def _read_uses(self, document: Document, name: bytes, depth: int) -> list[DeclarationRef | ModuleRef]:
        """Read the `use` declarations of a file for a name, named ones first."""
        shown_name = name.decode(errors="replace")
        globs: list[str] = []
        for statement in imports_of(document, self._names.session.workspace):
            visible_name = statement.alias or statement.member or statement.module.rpartition("::")[2]
            if statement.member == "*":
                globs.append(statement.module)
            elif visible_name == shown_name and statement.module != "self":
                path = _parts(statement.module)
                if statement.member:
                    path.append(statement.member.encode())
                refs = self._follow(document, tuple(path), 0, depth + 1)
                if refs:
                    return refs

        # After the named imports, which hide names of a glob import (Rust reference, glob imports).
        for module in globs:
            refs = self._follow(document, (*module.encode().split(b"::"), name), 0, depth + 1)
            if refs:
                return refs

        return []

    def _follow(
        self, document: Document, path: tuple[bytes, ...], offset: int, depth: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Follow a path; `depth` counts the imports that led to it."""
        if not path or depth > _MAX_USES:
            return []

        scopes, remaining = self._start(document, path, offset, depth)
        for name in remaining:
            next_scopes: list[RustScope] = []
            for scope in scopes[:_MAX_SCOPES]:
                next_scopes += self._lookup_in(scope, name, depth)
            scopes = next_scopes

        refs: list[DeclarationRef | ModuleRef] = []
        for scope in scopes:
            if isinstance(scope, DeclarationRef):
                refs.append(
                    DeclarationRef(
                        document=scope.document,
                        declaration=scope.declaration,
                        rule="import",
                        reason="followed the path",
                    )
                )
            # A module inside of a file has no file of its own to refer to.
            elif scope.node is None:
                refs.append(ModuleRef(scope.document))

        return refs

    def _start(self, document: Document, path: tuple[bytes, ...], offset: int, depth: int) -> _PathStart:
        """Return where a path begins: by a keyword, by a name of the file, by an import, or in a crate."""
        first, remaining = path[0], path[1:]
        if first == b"crate":
            return _PathStart([RustModule(crate_root(document))], remaining)
        if first in {b"self", b"super"}:
            return self._start_in_module(document, path, offset)
        if first == b"Self":
            return _PathStart(_as_scopes(self._self_type(document, offset)), remaining)
        return _PathStart(self._start_at_name(document, path, offset, depth), remaining)

    def _start_at_name(self, document: Document, path: tuple[bytes, ...], offset: int, depth: int) -> list[RustScope]:
        """Return what the first name of a path means: a name of the file, an import, or a crate."""
        model = self._names.model(document)
        if model is None:
            return []

        first, has_more = path[0], len(path) > 1
        declarations = [declaration for declaration in model.declarations(first) if _can_start(declaration)]
        if declarations and (has_more or offset == 0):
            scopes: list[RustScope] = []
            for declaration in declarations:
                scopes += self._scope_of(document, declaration)
            return scopes

        imported = self._follow_uses(document, first, depth) if has_more else []
        if imported:
            return _as_scopes(imported)
        return list(self._crates_named(document, first))

    def _start_in_module(self, document: Document, path: tuple[bytes, ...], offset: int) -> _PathStart:
        """Return the module that ``self`` or ``super`` means; each further ``super`` goes up one more module."""
        remaining = path[1:]
        module: RustModule | None = self._module_at(document, offset)
        while path[0] == b"super" and module is not None:
            module = self._parent(module)
            if not remaining or remaining[0] != b"super":
                break
            remaining = remaining[1:]

        return _PathStart([] if module is None else [module], remaining)

    def _crates_named(self, document: Document, name: bytes) -> Iterator[RustModule]:
        """Yield a crate of the same repository, or else crates of other repositories that the manifest names."""
        root_number = crates(document.project).get(name)
        if root_number is not None:
            yield RustModule(document.project.document_at(root_number))
            return

        shown_name = name.decode(errors="replace")
        for other, number in self._names.session.providers(document.project, shown_name):
            yield RustModule(other.document_at(number))

    def _module_at(self, document: Document, offset: int) -> RustModule:
        """Return the module of a file around an offset; 0 means the whole file."""
        model = self._names.model(document)
        path = model.path_to(offset) if model is not None and offset else []
        # `nearest` leaves the last node out, which may be the module itself.
        return RustModule(document, nearest([*path, *path[-1:]], {"mod_item"}))

    def _parent(self, module: RustModule) -> RustModule | None:
        """Return the module around a module, or None for the root of a crate."""
        document, node = module
        if node is None:
            parent = parent_file(document)
            return None if parent is None else RustModule(parent)

        model = self._names.model(document)
        path = model.path_to(node.start_byte) if model is not None else []
        outer_modules = [outer for outer in path if outer.type == "mod_item" and outer.start_byte < node.start_byte]
        return RustModule(document, outer_modules[-1] if outer_modules else None)

    def _scope_of(self, document: Document, declaration: Declaration) -> Iterator[RustScope]:
        """Yield a declaration; for a module its scope."""
        if declaration.kind != "module":
            yield DeclarationRef(document=document, declaration=declaration, rule="scope", reason="in scope")
        elif not declaration.is_prototype:
            yield RustModule(document, declaration.node)
        else:
            file = child_file(document, document.text[declaration.start : declaration.end])
            if file is not None:
                yield RustModule(file)

    def _lookup_in(self, scope: RustScope, name: bytes, depth: int) -> list[RustScope]:
        """Return what a name means in a type or in a module."""
        if isinstance(scope, DeclarationRef):
            members: list[RustScope] = []
            for body in self._names.type_bodies(self._names.type_of_class(scope)):
                members += _as_scopes(self._names.members(body, name, NameUse()))
            return members

        return self._declared_in(scope, name) or _as_scopes(self._follow_uses(scope.document, name, depth + 1))

    def _declared_in(self, module: RustModule, name: bytes) -> list[RustScope]:
        """Return the declarations of a name in a module, but not in modules inside of it."""
        model = self._names.model(module.document)
        if model is None:
            return []

        module_node = model.root if module.node is None else module.node
        scopes: list[RustScope] = []
        for declaration in model.declarations(name):
            if declaration.is_member:
                continue

            # Nodes of two parses are different objects, so they are compared by their place.
            node = declaration.scope
            if node.start_byte == module_node.start_byte and node.type == module_node.type:
                scopes += self._scope_of(module.document, declaration)

        return scopes


def _parts(path: str) -> list[bytes]:
    return [part for part in path.encode().split(b"::") if part]


def _can_start(declaration: Declaration) -> bool:
    """Return whether a path may begin with the name of a declaration."""
    return not declaration.is_member and (declaration.kind in TYPES or declaration.kind in {"module", "function"})


def _as_scopes(refs: Iterable[DeclarationRef | ModuleRef]) -> list[RustScope]:
    return [RustModule(ref.document) if isinstance(ref, ModuleRef) else ref for ref in refs]
