"""Who calls a function, and what it calls, to a depth.

What repositories import: of each file, and of each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.definitions import SymbolQuery, resolve
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.locations import line_of
from sourcelight.engines.navigation.model import Document, How, Occurrence, ResolvedDefinition
from sourcelight.engines.navigation.named import (
    NamedDefinition,
    enclosing,
    imports_of,
    of_definition,
    outline_of,
    tables_of,
)
from sourcelight.engines.navigation.references import References
from sourcelight.engines.symbols import LANGUAGES, Import

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace


MOST_CALLS = 5000
"""Calls that are given; beyond, the answer is not complete and says so."""

_IDENTIFIERS = frozenset({"identifier", "field_identifier", "property_identifier", "type_identifier", "name"})
_CALLABLE = frozenset({"function", "method", "constructor", "class", "struct"})

Key = tuple[tuple[str, str, bytes], int]


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call: who calls (None: the top of the file), where, and what is called; `depth` is 1 for direct calls."""

    depth: int
    caller: NamedDefinition | None
    document: Document
    occurrence: Occurrence
    callee: NamedDefinition | ResolvedDefinition
    how: How
    score: float


def callers(asked: SymbolQuery, depth: int, workspace: Workspace) -> Iterator[CallSite]:
    """Yield the calls of a function, then those of the functions that call it, and so on.

    A function that calls itself, directly or over others, is asked once.
    """
    waiting = [(asked, 1)]
    known: set[Key] = set()
    given = 0
    while waiting:
        question, level = waiting.pop(0)
        search = References(question, workspace)
        for found in search.found():
            called = [one for one in found if one.occurrence.called and not one.is_definition]
            around = enclosing(found[0].document, [one.occurrence.start for one in called], workspace)
            for one, caller in zip(called, around, strict=True):
                given += 1
                if given > MOST_CALLS:
                    workspace.notice("limit", f"The first {MOST_CALLS:,} calls are given; there are more.")
                    return
                yield CallSite(level, caller, one.document, one.occurrence, search.definitions[0], one.how, one.score)
                if caller is None or level >= depth or (caller.document.key, caller.start) in known:
                    continue
                known.add((caller.document.key, caller.start))
                waiting.append((_of(caller), level + 1))


def callees(asked: SymbolQuery, depth: int, workspace: Workspace) -> Iterator[CallSite]:
    """Yield the calls in the bodies of what is asked for, then those in the bodies of what these call, and so on."""
    search = References(asked, workspace)
    search.prepare()
    waiting: list[tuple[NamedDefinition, int]] = []
    known: set[Key] = set()
    for one in search.definitions:
        held = body_of(one, workspace)
        if held is not None:
            waiting.append((held, 1))
            known.add((held.document.key, held.start))
    given = 0
    while waiting:
        caller, level = waiting.pop(0)
        for occurrence in calls_in(caller):
            workspace.budget.check()
            name = caller.document.text[occurrence.start : occurrence.end]
            for one in resolve(caller.document, occurrence, name, workspace)[:1]:
                given += 1
                if given > MOST_CALLS:
                    workspace.notice("limit", f"The first {MOST_CALLS:,} calls are given; there are more.")
                    return
                held = body_of(one, workspace)
                yield CallSite(level, caller, caller.document, occurrence, held or one, one.how, one.score)
                if held is None or level >= depth or one.how == "name" or (held.document.key, held.start) in known:
                    continue
                known.add((held.document.key, held.start))
                waiting.append((held, level + 1))


def _of(one: NamedDefinition) -> SymbolQuery:
    text = one.document.text
    low = text.rfind(b"\n", 0, one.start) + 1
    name = text[one.start : one.end].decode(errors="replace")
    return SymbolQuery(
        one.document, name, line_of(text, one.start), len(text[low : one.start].decode(errors="replace"))
    )


def body_of(one: ResolvedDefinition, workspace: Workspace) -> NamedDefinition | None:
    """Give the whole definition that a place names, if it is one that can be called."""
    if one.kind in {"module", "parameter"}:
        return None
    for row in outline_of(one.document, workspace):
        if row.offset == one.start and row.kind in _CALLABLE:
            return of_definition(one.document, row)
    return None


def calls_in(one: NamedDefinition) -> list[Occurrence]:
    """Give the names that are called between the first and the last line of a definition, in order."""
    import time

    from sourcelight.engines.symbols import LANGUAGES, parse_tree

    document = one.document
    text = document.text
    tree = parse_tree(document.language, text, time.monotonic() + 2.0) if document.language in LANGUAGES else None
    if tree is None:
        return []
    found = []
    waiting = [tree.root_node]
    first, last = one.begin_line - 1, one.end_line - 1
    while waiting:
        node = waiting.pop()
        if node.end_point[0] < first or node.start_point[0] > last:
            continue
        waiting += reversed(node.named_children)
        if "call" not in node.type and "invocation" not in node.type and node.type != "new_expression":
            continue
        if node.start_point[0] < first:
            continue
        called = next(
            (
                held
                for field in ("function", "name", "method", "constructor", "macro")
                if (held := node.child_by_field_name(field)) is not None
            ),
            None,
        )
        while called is not None and called.type not in _IDENTIFIERS:
            inner = [child for child in called.named_children if "argument" not in child.type]
            called = inner[-1] if inner and called.type not in {"call", "call_expression"} else None
        if called is not None:
            member = text[called.start_byte - 1 : called.start_byte] in {b".", b">", b":"}
            role = "attribute" if member else "name"
            found.append(Occurrence(called.start_byte, called.end_byte, role, called=True))  # type: ignore[arg-type]
    return sorted(found, key=lambda occurrence: occurrence.start)


_SEPARATORS = {"Go": "/", "Rust": "::", "PHP": "\\"}


@dataclass(frozen=True, slots=True)
class FileImport:
    """An import in a file, and the file that it means, if that is known."""

    document: Document
    stated: Import
    target: Document | None


def imports_in(project: Project, workspace: Workspace) -> Iterator[list[FileImport]]:
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
                    targets[key] = resolver.import_target(document, stated.module, stated.member, workspace)
                target = targets[key]
            found.append(FileImport(document, stated, target))
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
