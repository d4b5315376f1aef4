"""Imports of files, and the graph of repositories that import each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import (
    Document,
)
from sourcelight.engines.navigation.named import (
    imports_of,
    tables_of,
)
from sourcelight.engines.symbols import LANGUAGES, Import

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FileImport:
    """An import in a file, and its target file if that is known."""

    document: Document
    statement: Import
    target: Document | None


def imports_in(project: Project, workspace: Workspace) -> Iterator[list[FileImport]]:
    """Yield the imports of a project, file by file in order of paths."""
    targets: dict[tuple[bytes, str, str, str], Document | None] = {}
    for document in _importing_documents(project, workspace):
        workspace.budget.check()
        resolver = resolver_of(document.language)
        file_imports = []
        for statement in imports_of(document, workspace):
            target = None
            if resolver is not None:
                # The target of an import depends on the directory of the file, so files of one directory share it.
                key = document.path.rpartition(b"/")[0], document.language, statement.module, statement.member
                if key not in targets:
                    targets[key] = resolver.import_target(document, statement.module, statement.member, workspace)
                target = targets[key]
            file_imports.append(FileImport(document, statement, target))

        if file_imports:
            yield file_imports


def _importing_documents(project: Project, workspace: Workspace) -> Iterator[Document]:
    """Return the files that import something; all that have a grammar while tables are not complete."""
    tables = tables_of(project, workspace)
    snapshot = project.snapshot
    if snapshot is None or any(table is None for table in tables):
        notice = f"The import tables of {project.name} are not complete yet; its files were parsed."
        workspace.notice("symbols-pending", notice)
        for number in range(len(project.paths)):
            document = project.document_at(number)
            if document.language in LANGUAGES:
                yield document
        return

    numbers: list[int] = []
    for shard, table in enumerate(tables):
        if table is not None:
            placement = snapshot.placement(shard)
            # Files with equal content share a document, so the mask of documents becomes one of files.
            importing_documents = table.importing[placement.documents]
            numbers += placement.files[importing_documents].tolist()

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
    """Yield the edges of each project, heaviest first; imports within a project aren't edges."""
    for project in projects:
        files: dict[tuple[str, str, bool], set[int]] = defaultdict(set)
        counts: dict[tuple[str, str, bool], int] = defaultdict(int)
        for file_imports in imports_in(project, workspace):
            for file_import in file_imports:
                if file_import.target is not None and file_import.target.project.key == project.key:
                    continue

                # Without a target, a relative import still means a file of this project, not another package.
                top = top_module(file_import.document.language, file_import.statement.module)
                is_relative = file_import.statement.module.startswith((".", '"', "/")) or (
                    # The whole first part: `supertest` and `crates` are packages.
                    file_import.document.language == "Rust" and top in {"self", "super", "crate"}
                )
                if file_import.target is None and is_relative:
                    continue
                if file_import.target is None and not top:
                    continue

                target = file_import.target.project.name if file_import.target is not None else top
                key = target, top, file_import.target is None
                files[key].add(file_import.document.number)
                counts[key] += 1

        edges = [
            Edge(
                source=project.name,
                target=target,
                module=module,
                external=external,
                files=len(files[target, module, external]),
                imports=count,
            )
            for (target, module, external), count in counts.items()
        ]
        yield sorted(edges, key=lambda edge: (edge.external, -edge.imports, edge.target, edge.module))


_SEPARATORS = {"Go": "/", "Rust": "::", "PHP": "\\"}


def top_module(language: str, module: str) -> str:
    """Return the part of a module's name by which it is installed: the first, and for Go the host, owner and name."""
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
