"""Find the crates of a project and the files of their modules.

A crate is what Cargo builds: a library or a program. Its root file declares its modules by ``mod name;``, each of which
is a file ``name.rs`` or ``name/mod.rs``, and declares further ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project

_ROOTS = frozenset({b"mod.rs", b"lib.rs", b"main.rs"})
_SECTION = re.compile(rb"^\[+([\w.-]+)\]+", re.MULTILINE)
"""A heading of a manifest: ``[package]``."""

_NAME = re.compile(rb'^name\s*=\s*"([^"]+)"', re.MULTILINE)
"""``name = "retry"``."""

_PATH = re.compile(rb'^path\s*=\s*"([^"]+)"', re.MULTILINE)
"""``path = "src/lib.rs"``."""

_MOD = rb"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+NAME[ \t]*;"

_MAX_PARENTS = 32
"""Maximum modules inside each other; files of hostile code may declare each other."""

_MAX_SIBLINGS = 100
"""Maximum files of a directory to search for the declaration of a module."""


def crates(project: Project) -> Mapping[bytes, int]:
    """Return the crates of a project by the names that paths have, with the number of the root file."""
    return project.remember("rust-crates", lambda: _read_crates(project))


def _read_crates(project: Project) -> dict[bytes, int]:
    roots: dict[bytes, int] = {}
    for document in project.documents((b"Cargo.toml",)):
        directory, _, base = document.path.rpartition(b"/")
        if base != b"Cargo.toml":
            continue

        sections = _sections(document.text)
        package, library = sections.get(b"package", b""), sections.get(b"lib", b"")
        name = _NAME.search(library) or _NAME.search(package)
        if name is None:
            continue

        root_path = _PATH.search(library)
        paths = [root_path[1]] if root_path else [b"src/lib.rs", b"src/main.rs"]
        root = project.first([_join(directory, path) for path in paths])
        if root is not None:
            # `-` in the name of a package is `_` in paths.
            roots.setdefault(name[1].replace(b"-", b"_"), root.number)

    return roots


def _sections(text: bytes) -> dict[bytes, bytes]:
    """Return the sections of a manifest by heading; the last one of a name wins."""
    headings = list(_SECTION.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {heading[1]: text[heading.end() : end] for heading, end in zip(headings, ends, strict=False)}


def child_file(document: Document, name: bytes) -> Document | None:
    """Return the file of ``mod name;`` in a file."""
    directory, _, base = document.path.rpartition(b"/")
    paths = [_join(directory, name + b".rs"), _join(directory, name + b"/mod.rs")]
    if base not in _ROOTS and document.number not in crates(document.project).values():
        # Modules of `a.rs` are in the directory `a`.
        below = _join(directory, base.removesuffix(b".rs"))
        paths = [_join(below, name + b".rs"), _join(below, name + b"/mod.rs"), *paths]
    return document.project.first(paths)


def parent_file(document: Document) -> Document | None:
    """Return the file of the module around a file's, or None for the root of a crate."""
    return document.project.remember(("rust-parent", document.number), lambda: _parent_of(document))


def _parent_of(document: Document) -> Document | None:
    directory, _, base = document.path.rpartition(b"/")
    if base in {b"lib.rs", b"main.rs"} or document.number in crates(document.project).values():
        return None

    if base == b"mod.rs":
        directory = directory.rpartition(b"/")[0]

    paths = [_join(directory, root) for root in (b"mod.rs", b"lib.rs", b"main.rs")]
    paths.append(directory + b".rs")
    parent = document.project.first([path for path in paths if path != document.path])
    if parent is not None or base == b"mod.rs":
        return parent

    # Tests, examples and programs are crates of their own, whose roots have any name.
    declares = re.compile(_MOD.replace(b"NAME", re.escape(base.removesuffix(b".rs"))), re.MULTILINE)
    rust_files = [file for file in document.project.documents_in(directory) if file.path.endswith(b".rs")]
    siblings = [file for file in rust_files if file != document]
    for sibling in siblings[:_MAX_SIBLINGS]:
        if declares.search(sibling.text):
            return sibling
    return None


def crate_root(document: Document) -> Document:
    """Return the file of the crate's root module."""
    for _ in range(_MAX_PARENTS):
        parent = parent_file(document)
        if parent is None:
            break
        document = parent
    return document


def _join(directory: bytes, name: bytes) -> bytes:
    return directory + b"/" + name if directory else name
