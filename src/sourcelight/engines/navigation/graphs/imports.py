"""Imports of files, and the graph of repositories that import each other.

A language's resolver finds the file that an import means, in this repository or in another one. Where it finds none,
the import is of a package that no visible repository has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of, tables_of
from sourcelight.engines.symbols import LANGUAGES, Import

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

_SEPARATORS = {"Go": "/", "Rust": "::", "PHP": "\\"}
"""Signs between the parts of a module's name, in languages where it is no dot."""


@dataclass(frozen=True, slots=True)
class FileImport:
    """An import in a file, and its target file if that is known."""

    document: Document
    statement: Import
    target: Document | None


def imports_in(project: Project, workspace: Workspace) -> Iterator[list[FileImport]]:
    """Yield the imports of a project, file by file in order of paths."""
    targets: dict[tuple[bytes, str, str, str], Document | None] = {}

    def find_target(document: Document, statement: Import) -> Document | None:
        resolver = resolver_of(document.language)
        if resolver is None:
            return None

        # The target of an import depends on the directory of the file, so files of one directory share it.
        directory = document.path.rpartition(b"/")[0]
        key = directory, document.language, statement.module, statement.member
        if key not in targets:
            targets[key] = resolver.import_target(document, statement.module, statement.member, workspace)
        return targets[key]

    for document in _importing_documents(project, workspace):
        workspace.budget.check()
        statements = imports_of(document, workspace)
        if statements:
            yield [FileImport(document, statement, find_target(document, statement)) for statement in statements]


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
        importers: defaultdict[_EdgeKey, set[int]] = defaultdict(set)
        counts: Counter[_EdgeKey] = Counter()
        for file_imports in imports_in(project, workspace):
            for file_import in file_imports:
                key = _edge_key(project, file_import)
                if key is not None:
                    importers[key].add(file_import.document.number)
                    counts[key] += 1

        edges = [
            Edge(
                source=project.name,
                target=key.target,
                module=key.module,
                external=key.external,
                files=len(importers[key]),
                imports=count,
            )
            for key, count in counts.items()
        ]
        yield sorted(edges, key=lambda edge: (edge.external, -edge.imports, edge.target, edge.module))


class _EdgeKey(NamedTuple):
    """The fields of an edge by which imports are counted together."""

    target: str
    module: str
    external: bool


def _edge_key(project: Project, file_import: FileImport) -> _EdgeKey | None:
    """Return the edge that an import of a project belongs to, or None for an import within the project."""
    language, module = file_import.document.language, file_import.statement.module
    top = top_module(language, module)
    target = file_import.target
    if target is not None:
        is_within = target.project.key == project.key
        return None if is_within else _EdgeKey(target.project.name, top, external=False)

    # Without a target, a relative import still means a file of this project, not another package.
    if not top or _is_relative(language, module, top):
        return None
    return _EdgeKey(top, top, external=True)


def _is_relative(language: str, module: str, top: str) -> bool:
    if module.startswith((".", '"', "/")):
        return True
    # The whole first part: `supertest` and `crates` are packages.
    return language == "Rust" and top in {"self", "super", "crate"}


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
