"""Find the crates of a project and the files of their modules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project

_ROOTS = frozenset({b"mod.rs", b"lib.rs", b"main.rs"})
_SECTION = re.compile(rb"^\[+([\w.-]+)\]+", re.MULTILINE)
_NAME = re.compile(rb'^name\s*=\s*"([^"]+)"', re.MULTILINE)
_PATH = re.compile(rb'^path\s*=\s*"([^"]+)"', re.MULTILINE)
_MOD = rb"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+NAME[ \t]*;"
_MAX_PARENTS = 32
_MAX_BESIDE = 100


def crates(project: Project) -> Mapping[bytes, int]:
    """Return the crates of a project by the names that paths have, with the number of the root file."""

    def read_crates() -> dict[bytes, int]:
        roots: dict[bytes, int] = {}
        for document in project.documents((b"Cargo.toml",)):
            directory, _, base = document.path.rpartition(b"/")
            sections = _sections(document.text) if base == b"Cargo.toml" else {}
            package, library = sections.get(b"package", b""), sections.get(b"lib", b"")
            name = _NAME.search(library) or _NAME.search(package)
            if name is None:
                continue

            stated = _PATH.search(library)
            paths = [stated[1]] if stated else [b"src/lib.rs", b"src/main.rs"]
            root = project.first([directory + b"/" + path if directory else path for path in paths])
            if root is not None:
                roots.setdefault(name[1].replace(b"-", b"_"), root.number)

        return roots

    return project.remember("rust-crates", read_crates)


def _sections(text: bytes) -> dict[bytes, bytes]:
    headings = list(_SECTION.finditer(text))
    starts = [*(heading.start() for heading in headings), len(text)]
    return {heading[1]: text[heading.end() : end] for heading, end in zip(headings, starts[1:], strict=True)}


def child_file(document: Document, name: bytes) -> Document | None:
    """Return the file of ``mod name;`` in a file."""
    directory, _, base = document.path.rpartition(b"/")
    own_directory = directory if base in _ROOTS or document.number in crates(document.project).values() else _join(
        directory, base.removesuffix(b".rs")
    )  # fmt: skip
    directories = [own_directory, *([directory] if own_directory != directory else [])]
    return document.project.first(
        [_join(directory, ending) for directory in directories for ending in (name + b".rs", name + b"/mod.rs")]
    )


def parent_file(document: Document) -> Document | None:
    """Return the file of the module around a file's, or None for the root of a crate."""
    return document.project.remember(("rust-parent", document.number), lambda: _parent_of(document))


def _parent_of(document: Document) -> Document | None:
    directory, _, base = document.path.rpartition(b"/")
    if base in {b"lib.rs", b"main.rs"} or document.number in crates(document.project).values():
        return None

    if base == b"mod.rs":
        directory = directory.rpartition(b"/")[0]

    declares = re.compile(
        rb"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+" + re.escape(base[:-3]) + rb"[ \t]*;", re.MULTILINE
    )
    root_paths = [_join(directory, root) for root in (b"mod.rs", b"lib.rs", b"main.rs")]
    parent = document.project.first([path for path in [*root_paths, directory + b".rs"] if path != document.path])
    if parent is not None or base == b"mod.rs":
        return parent

    # Tests, examples and programs are crates of their own, whose roots have any name.
    siblings = [
        candidate
        for candidate in document.project.documents_in(directory)
        if candidate.path.endswith(b".rs") and candidate != document
    ]
    return next((candidate for candidate in siblings[:_MAX_BESIDE] if declares.search(candidate.text)), None)


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
