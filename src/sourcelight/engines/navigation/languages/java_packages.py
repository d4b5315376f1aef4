"""The packages of Java: which a file is in and sees, and the classes in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.declared import TYPES, DeclarationRef, ModuleRef, NameUse
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

_PACKAGE = re.compile(rb"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.MULTILINE)
"""``package org.example.net;``"""

_MAX_HEAD = 8192
"""Bytes at the start of a file in which a package clause is searched: a licence comment fits in."""


def lookup_qualified(
    names: NameResolver, document: Document, path: tuple[bytes, ...]
) -> list[DeclarationRef | ModuleRef]:
    """Return the classes that a dotted name means, or the members of one."""
    if not path:
        return []

    # The longest package first, as packages and nested classes look alike: `a.b.C` may be class `C` of package
    # `a.b`, or class `C` inside `b`.
    for split in range(len(path) - 1, -1, -1):
        package = b".".join(path[:split])
        names_inside = path[split:]
        for project in _projects(names, document, package):
            refs = _lookup_in_package(names, project, package, names_inside)
            if refs:
                return list(refs)

    return []


def _lookup_in_package(
    names: NameResolver, project: Project, package: bytes, path: tuple[bytes, ...]
) -> list[DeclarationRef]:
    if package not in packages(project):
        return []

    refs: list[DeclarationRef] = []
    for other, start, kind, container, _ in names.definitions_in(project, path[0]):
        if kind in TYPES and not container and package_of(other) == package:
            declaration = names.declaration(other, path[0], start)
            if declaration is not None:
                refs.append(DeclarationRef(other, declaration, rule="import", reason="followed the import"))

    for name in path[1:]:
        # Other declarations of the same class are copies, such as in tests; one body has the members.
        bodies = names.type_bodies(names.type_of_class(refs[0])) if refs else []
        if not bodies:
            return []
        members = names.members(bodies[0], name, NameUse())
        refs = [replace(member, rule="import") for member in members]

    return refs


def first_file_of(names: NameResolver, document: Document, package: bytes) -> Document | None:
    """Return the first file of a package that a file sees."""
    for project in _projects(names, document, package):
        # A look-up in a set, before the files are gone through.
        if package not in packages(project):
            continue
        for first_file in _first_files(project):
            if package_of(first_file) == package:
                return first_file

    return None


def package_of(document: Document) -> bytes:
    """Return the package of a file; empty without a package clause."""
    return document.project.remember(("java-package", document.number), lambda: _read_package(document))


def _read_package(document: Document) -> bytes:
    # Only the head, and without parsing: this is asked of a file in every directory.
    match = _PACKAGE.search(document.text[:_MAX_HEAD])
    if match is None:
        return b""
    return match[1]


def packages(project: Project) -> frozenset[bytes]:
    """Return the packages of a project; reads one file per directory."""
    return project.remember("java-packages", lambda: frozenset(map(package_of, _first_files(project))))


def _first_files(project: Project) -> Iterator[Document]:
    """Yield the first Java file of each directory: by convention, all files there belong to one package."""
    for numbers in project.directories().values():
        java_files = [number for number in numbers if project.paths[number].endswith(b".java")]
        if java_files:
            yield project.document_at(java_files[0])


def _projects(names: NameResolver, document: Document, package: bytes) -> Iterator[Project]:
    # The same project first: its classes shadow classes of other repositories with the same package.
    yield document.project
    if package:
        for other, _ in names.session.providers(document.project, package.decode()):
            yield other
