"""Which folder an import path means, and which files of a folder make one package."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.golang.builds import built
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.project import Project
    from sourcelight.engines.navigation.resolver import Resolver
    from sourcelight.engines.navigation.workspace import Workspace

_CLAUSE = re.compile(rb"^package[ \t]+(\w+)", re.MULTILINE)
_MODULE = re.compile(rb'^module[ \t]+"?([^\s"]+)', re.MULTILINE)
_VERSION = re.compile(rb"v\d+")
_STANDARD = "std"


@dataclass(frozen=True, slots=True)
class Package:
    """A package: a folder of a project, and the name in the package clause of its files."""

    project: Project
    folder: bytes
    name: bytes

    def documents(self) -> list[Document]:
        """Give its files: those that are built on Linux first, tests last."""
        return [self.project.document_at(number) for number in _files(self.project, self.folder).get(self.name, ())]


def package_name(document: Document) -> bytes:
    """Give the name in the package clause of a file."""
    found = _CLAUSE.search(document.text)
    return found[1] if found else b""


def _files(project: Project, folder: bytes) -> Mapping[bytes, list[int]]:
    """Numbers of the files of a folder by package name, in the order in which they are to be asked."""

    def made() -> dict[bytes, list[int]]:
        found: dict[bytes, list[tuple[tuple[bool, bool, int], int]]] = {}
        for document in project.folder(folder):
            if document.path.endswith(b".go"):
                text = document.text
                clause = _CLAUSE.search(text)
                if clause is not None:
                    test = document.path.endswith(b"_test.go")
                    rank = not built(document.path, text[: clause.start()]), test, document.number
                    found.setdefault(clause[1], []).append((rank, document.number))
        return {name: [number for _, number in sorted(held)] for name, held in found.items()}

    return project.remember(("go-folder", folder), made)


def modules_of(project: Project) -> list[tuple[str, bytes]]:
    """Give module path and folder of every go.mod, the longest path first."""

    def made() -> list[tuple[str, bytes]]:
        found = []
        for document in project.documents((b"go.mod",)):
            folder, _, base = document.path.rpartition(b"/")
            named = _MODULE.search(document.text) if base == b"go.mod" else None
            if named is not None and b"/testdata" not in folder:
                found.append((named[1].decode(errors="replace"), folder))
        if not any(folder == b"" for _, folder in found):
            found.append((project.name, b""))
        return sorted(found, key=lambda pair: (-len(pair[0]), pair))

    return project.remember("go-modules", made)


def import_path(document: Document) -> str:
    """Give the path under which other files import the folder of this one; empty when no module holds it."""
    folder = document.path.rpartition(b"/")[0]
    for module, root in sorted(modules_of(document.project), key=lambda pair: -len(pair[1])):
        if folder == root or not root or folder.startswith(root + b"/"):
            rest = folder[len(root) :].strip(b"/").decode(errors="replace")
            path = f"{module}/{rest}" if rest else module
            return path.removeprefix(f"{_STANDARD}/")
    return ""


def find_folder(
    project: Project, path: bytes, workspace: Workspace, resolver: Resolver
) -> tuple[Project, bytes] | None:
    """Give the project and folder that an import path means; None for what is in no repository."""
    wanted = path.decode(errors="replace")
    folders = project.folders()
    for folder in (b"vendor/" + path, b"src/" + path if path.split(b"/")[0].count(b".") == 0 else b""):
        if folder and folder in folders:
            return project, folder
    found = _within(project, wanted)
    if found is not None:
        return project, found
    parts = wanted.split("/")
    for length in range(len(parts), 0, -1):
        for other, root in workspace.providers(project, resolver, "/".join(parts[:length])):
            folder = _joined(root, "/".join(parts[length:]))
            if folder in other.folders():
                return other, folder
    for other, root in workspace.providers(project, resolver, _STANDARD) if "." not in parts[0] else ():
        folder = _joined(root, wanted)
        if folder in other.folders():
            return other, folder
    return None


def _within(project: Project, wanted: str) -> bytes | None:
    for module, root in modules_of(project):
        if wanted == module or wanted.startswith(module + "/"):
            folder = _joined(root, wanted[len(module) + 1 :])
            if folder in project.folders():
                return folder
        elif module == _STANDARD and (folder := _joined(root, wanted)) in project.folders():
            return folder
    return None


def _joined(root: bytes, rest: str) -> bytes:
    return b"/".join(part for part in (root, rest.encode()) if part)


def packages_in(project: Project, folder: bytes) -> Iterator[Package]:
    """Give the packages of a folder that can be imported."""
    for name in sorted(_files(project, folder), key=lambda name: (name.endswith(b"_test"), name == b"main", name)):
        yield Package(project, folder, name)


def usual_name(path: bytes) -> bytes:
    """Give the package name that an import path most often means."""
    parts = [part for part in path.split(b"/") if part]
    last = parts[-1] if parts else b""
    if _VERSION.fullmatch(last) and len(parts) > 1:
        last = parts[-2]
    last = re.sub(rb"\.v\d+$", b"", last)
    return last.removeprefix(b"go-").removesuffix(b"-go").removesuffix(b".go").replace(b"-", b"_")


def seen_by(document: Document) -> list[Document]:
    """Give the files whose package-level names a file sees, its own first where it declares a name itself."""
    folder = document.path.rpartition(b"/")[0]
    name = package_name(document)
    others = Package(document.project, folder, name).documents()
    if document.path.endswith(b"_test.go"):
        return others
    return [d for d in others if d == document or not d.path.endswith(b"_test.go")]
