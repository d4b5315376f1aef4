"""From a name to what declares it: blocks, the package, dot imports, other packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.golang.packages import (
    Package,
    find_folder,
    package_name,
    packages_in,
    seen_by,
    usual_name,
)
from sourcelight.engines.navigation.golang.scopes import Declaration, GoModel, Import
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.resolver import Resolver
    from sourcelight.engines.navigation.workspace import Workspace

# What a file has to look like to be parsed for a declaration: cheaper by far than parsing every file of a package.
_DECLARES = rb"^(?:func[ \t]+NAME\b|(?:type|var|const)\b[^\n]*\bNAME\b|[ \t]+(?:\w+[ \t]*,[ \t]*)*NAME\b)"
_DECLARES_METHOD = rb"^func[ \t]*\([^)\n]*\bOWNER\b[^)\n]*\)[ \t]*NAME\b"


@dataclass(frozen=True, slots=True)
class Ref:
    """A declaration in a file."""

    document: Document
    declaration: Declaration

    @property
    def place(self) -> tuple[tuple[str, str, bytes], int]:
        """What makes two the same."""
        return self.document.key, self.declaration.start


@dataclass(frozen=True, slots=True)
class Imported:
    """A package as a file knows it; `package` is None for what is in no repository."""

    imported: Import
    package: Package | None


class Names:
    """Looks up names within one call."""

    def __init__(self, workspace: Workspace, resolver: Resolver) -> None:
        self.workspace = workspace
        self.resolver = resolver
        self._packages: dict[tuple[str, str, bytes, bytes], Package | None] = {}

    def model(self, document: Document) -> GoModel | None:
        """Give the parsed file."""
        found = self.workspace.model(document)
        return found if isinstance(found, GoModel) else None

    def package(self, document: Document, path: bytes) -> Package | None:
        """Give the package that an import path means in a file."""
        key = document.project.key, document.project.commit, document.path.rpartition(b"/")[0], path
        if key not in self._packages:
            place = find_folder(document.project, path, self.workspace, self.resolver)
            self._packages[key] = next(packages_in(*place), None) if place is not None else None
        return self._packages[key]

    def imported(self, document: Document, name: bytes) -> Imported | None:
        """Give the package that a name means in a file; None when no import has that name."""
        model = self.model(document)
        if model is None:
            return None
        plain = [held for held in model.imports if not held.alias]
        for held in model.imports:
            if held.alias == name:
                return Imported(held, self.package(document, held.path))
        plain.sort(key=lambda held: usual_name(held.path) != name)
        for held in plain:
            package = self.package(document, held.path)
            if (package.name if package is not None else usual_name(held.path)) == name:
                return Imported(held, package)
        return next(
            (Imported(held, None) for held in plain if held.path.rpartition(b"/")[2] == name),
            None,
        )

    def plain(self, document: Document, path: list[Node], name: bytes, offset: int) -> list[Ref]:
        """Give what a name on its own means at a place; imports are `imported`'s."""
        model = self.model(document)
        if model is None:
            return []
        found = model.local(path, name, offset)
        if found is not None:
            return [Ref(document, found)]
        own = model.top.get(name)
        refs = [Ref(document, made) for made in own or ()]
        refs += [ref for ref in self.declared(seen_by(document), name) if ref.document != document]
        if refs or own:
            return refs
        for held in model.imports:
            if held.alias == b"." and (package := self.package(document, held.path)) is not None:
                refs += self.member(package, name)
        return refs

    def member(self, package: Package, name: bytes) -> list[Ref]:
        """Give what a package declares under a name."""
        return list(self.declared(package.documents(), name))

    def declared(self, documents: list[Document], name: bytes) -> Iterator[Ref]:
        """Give the package-level declarations of a name in these files; only files that look like it are parsed."""
        looks = re.compile(_DECLARES.replace(b"NAME", re.escape(name)), re.MULTILINE)
        for document in documents:
            text = document.text
            if name in text and looks.search(text) and (model := self.model(document)) is not None:
                for made in model.top.get(name, ()):
                    yield Ref(document, made)

    def methods(self, ref: Ref, name: bytes) -> list[Ref]:
        """Give the methods of that name of a declared type."""
        owner = ref.declaration.name
        looks = re.compile(
            _DECLARES_METHOD.replace(b"OWNER", re.escape(owner)).replace(b"NAME", re.escape(name)), re.MULTILINE
        )
        folder = ref.document.path.rpartition(b"/")[0]
        documents = Package(ref.document.project, folder, package_name(ref.document)).documents()
        found = []
        for document in documents:
            text = document.text
            if name in text and looks.search(text) and (model := self.model(document)) is not None:
                found += [Ref(document, made) for made in model.methods.get(owner, {}).get(name, ())]
        return found
