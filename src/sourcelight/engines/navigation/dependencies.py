"""What repositories import: of each file, and of each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of, tables_of
from sourcelight.engines.navigation.registry import resolver_of
from sourcelight.engines.symbols import LANGUAGES, Import

if TYPE_CHECKING:
    from sourcelight.engines.navigation.project import Project
    from sourcelight.engines.navigation.workspace import Workspace

_SEPARATORS = {"Go": "/", "Rust": "::", "PHP": "\\"}


@dataclass(frozen=True, slots=True)
class Imported:
    """An import in a file, and the file that it means, if that is known."""

    document: Document
    stated: Import
    target: Document | None


def imports_in(project: Project, workspace: Workspace) -> Iterator[list[Imported]]:
    """Yield the imports of a project, file by file in order of paths."""
    targets: dict[tuple[bytes, str, str, str], Document | None] = {}
    for document in _importing(project, workspace):
        workspace.budget.check()
        resolver = resolver_of(document.language)
        found = []
        for stated in imports_of(document, workspace):
            target = None
            if resolver is not None:
                # What an import means depends on the folder it stands in, not on the file.
                key = document.path.rpartition(b"/")[0], document.language, stated.module, stated.member
                if key not in targets:
                    targets[key] = resolver.imported(document, stated.module, stated.member, workspace)
                target = targets[key]
            found.append(Imported(document, stated, target))
        if found:
            yield found


def _importing(project: Project, workspace: Workspace) -> Iterator[Document]:
    """Give the files that import something; all that have a grammar while tables are not complete."""
    tables = tables_of(project, workspace)
    snapshot = project.snapshot
    if snapshot is None or any(table is None for table in tables):
        workspace.notice("symbols-pending", f"Imports of {project.name} are still being found; its files were parsed.")
        for number in range(len(project.paths)):
            document = project.document_at(number)
            if document.language in LANGUAGES:
                yield document
        return
    numbers: list[int] = []
    for shard, table in enumerate(tables):
        if table is not None:
            placement = snapshot.placement(shard)
            held = table.importing[placement.documents]
            numbers += placement.files[held].tolist()
    for number in sorted(numbers):
        yield project.document_at(number)


@dataclass(frozen=True, slots=True)
class Edge:
    """A repository that imports another one, or a module that no visible repository has."""

    source: str
    target: str
    module: str
    external: bool
    files: int
    imports: int


def edges_of(projects: Sequence[Project], workspace: Workspace) -> Iterator[list[Edge]]:
    """Yield the edges of each project, heaviest first; imports within a project are no edges."""
    for project in projects:
        files: dict[tuple[str, str, bool], set[int]] = defaultdict(set)
        counts: dict[tuple[str, str, bool], int] = defaultdict(int)
        for found in imports_in(project, workspace):
            for one in found:
                if one.target is not None and one.target.project.key == project.key:
                    continue
                if one.target is None and one.stated.module.startswith((".", '"', "/", "self", "super", "crate")):
                    continue
                top = top_module(one.document.language, one.stated.module)
                if one.target is None and not top:
                    continue
                target = one.target.project.name if one.target is not None else top
                key = target, top, one.target is None
                files[key].add(one.document.number)
                counts[key] += 1
        edges = [
            Edge(project.name, target, module, external, len(files[target, module, external]), count)
            for (target, module, external), count in counts.items()
        ]
        yield sorted(edges, key=lambda edge: (edge.external, -edge.imports, edge.target, edge.module))


def top_module(language: str, module: str) -> str:
    """Give the part of a module's name by which it is installed: the first, and for Go the host, owner and name."""
    if language == "Go":
        parts = module.split("/")
        return "/".join(parts[:3]) if "." in parts[0] else parts[0]
    if language in {"TypeScript", "TSX", "JavaScript"}:
        parts = module.split("/")
        return "/".join(parts[:2]) if module.startswith("@") else parts[0]
    if language in {"C", "C++"}:
        return module
    if language in {"Java", "Kotlin", "Scala", "C#"}:
        return ".".join(module.split(".")[:2])
    return module.split(_SEPARATORS.get(language, "."), maxsplit=1)[0]
