"""Which file a module name means: in this repository, then in the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.project import Project
    from sourcelight.engines.navigation.resolver import Resolver
    from sourcelight.engines.navigation.workspace import Workspace

_ENDINGS = (b".py", b".pyi")
_SHARED_ROOTS = frozenset({b"", b"src", b"lib", b"python"})
"""Folders whose modules other repositories can mean; packages below tests or samples are private."""


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules of a project.

    `files` has the numbers of the files of each module by dotted name, each with its root: the nearest folder above
    that is no package. `spaces` are folders that hold packages but are none themselves.
    """

    files: Mapping[bytes, list[tuple[bytes, int]]]
    names: Mapping[int, tuple[bytes, bytes]]
    shared: Mapping[str, bytes]

    def root_of(self, document: Document) -> bytes:
        """Give the root of a file."""
        return self.names[document.number][0] if document.number in self.names else _folder(document.path)


def _folder(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def modules_of(project: Project) -> Modules:
    """Give the module map of a project; made once."""
    return project.remember("python-modules", lambda: _made(project))


def _made(project: Project) -> Modules:
    packages = {_folder(path) for path in project.paths if path.endswith((b"__init__.py", b"__init__.pyi"))}
    roots: dict[bytes, bytes] = {}

    def root(folder: bytes) -> bytes:
        found = roots.get(folder)
        if found is None:
            found = folder
            while found and found in packages:
                found = _folder(found)
            roots[folder] = found
        return found

    files: dict[bytes, list[tuple[bytes, int]]] = {}
    names: dict[int, tuple[bytes, bytes]] = {}
    shared: dict[str, bytes] = {}
    for number, path in enumerate(project.paths):
        if not path.endswith(_ENDINGS):
            continue
        folder, _, base = path.rpartition(b"/")
        stem = base.rpartition(b".")[0]
        top = root(folder)
        within = folder[len(top) :].lstrip(b"/")
        package = within.replace(b"/", b".")
        name = package if stem == b"__init__" else package + b"." + stem if package else stem
        if not name:
            continue
        files.setdefault(name, []).append((top, number))
        names[number] = top, name
        if top in _SHARED_ROOTS:
            shared.setdefault(name.split(b".")[0].decode(errors="replace"), top)
        for space in _SHARED_ROOTS:
            # A folder without __init__.py below the top is a namespace package as well.
            prefix = space + b"/" if space else b""
            if top != space and top.startswith(prefix):
                spaced = top[len(prefix) :].replace(b"/", b".") + b"." + name
                files.setdefault(spaced, []).append((space, number))
    for held in files.values():
        held.sort(key=lambda entry: project.paths[entry[1]].endswith(b".pyi"))
    return Modules(files, names, shared)


def find_module(
    document: Document, module: bytes, level: int, workspace: Workspace, resolver: Resolver
) -> list[Document]:
    """Give the files that an import in `document` means, the best first; empty for what is in no repository."""
    project = document.project
    if level:
        folder = _folder(document.path)
        for _ in range(level - 1):
            folder = _folder(folder)
        found = _in_folder(project, folder, module)
        return [found] if found is not None else []
    modules = modules_of(project)
    held = modules.files.get(module)
    if held:
        own = modules.root_of(document)
        near = sorted(held, key=lambda entry: _distance(own, entry[0]))
        return [project.document_at(number) for _, number in near[:3]]
    sibling = _in_folder(project, _folder(document.path), module)
    if sibling is not None:
        return [sibling]
    return _in_others(project, module, workspace, resolver)


def _distance(own: bytes, root: bytes) -> tuple[int, int]:
    """Order roots: the own one, the top and ``src``, those above, then the others by depth."""
    if root == own:
        return 0, 0
    if root in _SHARED_ROOTS:
        return 1, len(root)
    above = not root or own == root or own.startswith(root + b"/")
    return (2 if above else 3), root.count(b"/")


def _in_folder(project: Project, folder: bytes, module: bytes) -> Document | None:
    base = b"/".join(part for part in (folder, module.replace(b".", b"/")) if part)
    ends = [b"/__init__.py", b"/__init__.pyi"] if not module else [b".py", b"/__init__.py", b".pyi", b"/__init__.pyi"]
    if not module:
        return project.first([(base + end).lstrip(b"/") for end in ends])
    return project.first([base + b"/__init__.py", *(base + end for end in ends)])


def _in_others(project: Project, module: bytes, workspace: Workspace, resolver: Resolver) -> list[Document]:
    top = module.split(b".")[0].decode(errors="replace")
    for other, _ in workspace.providers(project, resolver, top):
        held = [entry for entry in modules_of(other).files.get(module, ()) if entry[0] in _SHARED_ROOTS]
        if held:
            return [other.document_at(held[0][1])]
    return []
