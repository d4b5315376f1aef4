"""The namespaces of C#: which a file declares and sees, and the types in them.

In a file with ``using Company.Text;`` and ``namespace Company.Shop.Orders``, the name ``Parser`` means the first of
``Company.Shop.Orders.Parser``, ``Company.Shop.Parser``, ``Company.Parser`` and ``Company.Text.Parser``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.declared import TYPES, DeclarationRef, ModuleRef
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of

if TYPE_CHECKING:
    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

_NAMESPACE = re.compile(rb"^[ \t]*namespace[ \t]+([\w.]+)", re.MULTILINE)
"""``namespace Company.Product``"""

_MAX_HEAD = 64 * 1024
"""Bytes at the start of a file in which namespaces are searched: in a longer one, the first decide."""


def lookup_visible(names: NameResolver, document: Document, name: bytes) -> list[DeclarationRef]:
    """Return the types of the file's namespaces, of those around them, and of imported ones."""
    visible_namespaces: list[bytes] = []
    for namespace in namespaces(document):
        visible_namespaces += _with_outer(namespace)

    for statement in imports_of(document, names.session.workspace):
        # An alias of the file hides types of all namespaces (C# specification, namespace and type names).
        if statement.alias.encode() == name:
            path = tuple(statement.module.encode().split(b"."))
            refs = lookup_qualified(names, document, path)
            return [ref for ref in refs if isinstance(ref, DeclarationRef)]
        visible_namespaces.append(statement.module.encode())

    ranks: dict[bytes, int] = {}
    for rank, namespace in enumerate(visible_namespaces):
        # The first of equal namespaces wins: the innermost one shadows the others.
        ranks.setdefault(namespace, rank)

    for project in (document.project, *_providing_projects(names, document, visible_namespaces)):
        ranked_refs: list[tuple[int, DeclarationRef]] = []
        for other, start, kind, container, _ in names.definitions_in(project, name):
            spaces = namespaces(other) if kind in TYPES else ()
            # A container that is no namespace is a class: the type is inside of it.
            if container and "." not in container and container.encode() not in spaces:
                continue

            visible_ranks = [ranks[namespace] for namespace in spaces if namespace in ranks]
            if not visible_ranks:
                continue
            declaration = names.declaration(other, name, start)
            if declaration is not None:
                ref = DeclarationRef(other, declaration, rule="import", reason="in an imported namespace")
                ranked_refs.append((min(visible_ranks), ref))

        # The own repository comes first; only if it lacks the type may it come from a dependency.
        if ranked_refs:
            ranked_refs.sort(key=lambda ranked: ranked[0])
            return [ref for _, ref in ranked_refs]

    return []


def lookup_qualified(
    names: NameResolver, document: Document, path: tuple[bytes, ...]
) -> list[DeclarationRef | ModuleRef]:
    """Return the type with a qualified name."""
    if not path:
        return []

    *namespace_parts, name = path
    namespace = b".".join(namespace_parts)
    for project in (document.project, *_providing_projects(names, document, [namespace])):
        refs: list[DeclarationRef | ModuleRef] = []
        for other, start, kind, _, _ in names.definitions_in(project, name):
            if kind in TYPES and namespace in namespaces(other):
                declaration = names.declaration(other, name, start)
                if declaration is not None:
                    refs.append(DeclarationRef(other, declaration, "import", "followed the qualified name"))
        if refs:
            return refs

    return []


def import_target(names: NameResolver, document: Document, module: str) -> Document | None:
    """Return the first file of a namespace, or the file of a type."""
    namespace = module.encode()
    for project in (document.project, *_providing_projects(names, document, [namespace])):
        number = first_files(project).get(namespace)
        if number is not None:
            return project.document_at(number)
    refs = lookup_qualified(names, document, tuple(namespace.split(b".")))
    if refs:
        return refs[0].document
    return None


def _with_outer(namespace: bytes) -> list[bytes]:
    """Return a namespace and all around it, the innermost first: ``a.b``, then ``a``."""
    parts = namespace.split(b".")
    return [b".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def namespaces(document: Document) -> tuple[bytes, ...]:
    """Return the namespaces that a file declares; one empty name where it declares none."""
    return document.project.remember(("c-sharp-namespaces", document.number), lambda: _read_namespaces(document))


def _read_namespaces(document: Document) -> tuple[bytes, ...]:
    # By a regular expression: this runs for every file of a repository, and parsing all would take minutes.
    names = _NAMESPACE.findall(document.text[:_MAX_HEAD])
    return tuple(dict.fromkeys(names)) or (b"",)


def first_files(project: Project) -> Mapping[bytes, int]:
    """Return the first file of every namespace."""
    return project.remember("c-sharp-spaces", lambda: _readfirst_files(project))


def _readfirst_files(project: Project) -> dict[bytes, int]:
    first_files: dict[bytes, int] = {}
    for document in project.documents((b".cs",)):
        for name in namespaces(document):
            if name:
                first_files.setdefault(name, document.number)
    return first_files


def _providing_projects(names: NameResolver, document: Document, namespaces: list[bytes]) -> list[Project]:
    projects: dict[str, Project] = {}
    for namespace in namespaces:
        for other, _ in names.session.providers(document.project, namespace.decode(errors="replace")):
            projects.setdefault(other.key, other)
    return list(projects.values())
