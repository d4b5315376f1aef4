"""The declarations of C and C++ that a file sees in other files, through headers.

A header declares ``int wait(int seconds);``, and any file of its repository may have the body. So a name means the
declarations in the file and its headers, then bodies that a header announces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.c_includes import included_files
from sourcelight.engines.navigation.languages.declared import CODE, TYPES, Declaration, DeclarationRef, NameUse, misfit
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

TAGGED = frozenset({"struct_specifier", "union_specifier", "class_specifier", "enum_specifier"})
"""Nodes that declare a type with a keyword before its name: ``struct s``."""


def lookup(names: NameResolver, document: Document, name: bytes, use: NameUse) -> list[DeclarationRef]:
    """Return the top-level declarations that a file sees; definitions come before their prototypes."""
    included = included_files(names.session, document)
    visible_refs, hidden_refs = _top_level_refs(names, document, name=name, use=use, included=included)
    is_announced = bool(visible_refs) or use.preferred_nodes == TAGGED

    # The compiler would use a visible definition, so others of that name are unrelated.
    if not is_announced or any(not ref.declaration.is_prototype for ref in visible_refs):
        hidden_refs = []

    refs = [ref for ref in hidden_refs if _can_be_linked(ref.declaration)] + visible_refs
    if not refs:
        return _declarations_elsewhere(names, document, name, included)

    def rank(ref: DeclarationRef) -> tuple[object, ...]:
        if use.is_type:
            kind_rank = misfit(ref.declaration, use, separate_function_names=False)
        else:
            kind_rank = int(ref.declaration.kind in TYPES)

        return (
            kind_rank,
            ref.declaration.is_prototype,
            ref.document != document,
            # Of several definitions, the one in the nearest directory is most likely linked with this file.
            -_common(ref.document.path, document.path),
            ref.document.path,
            ref.declaration.start,
        )

    return sorted(refs, key=rank)


def _top_level_refs(
    names: NameResolver, document: Document, *, name: bytes, use: NameUse, included: Mapping[object, Document]
) -> tuple[list[DeclarationRef], list[DeclarationRef]]:
    """Return the declarations of a name in visible files, and in other files, which a header may declare."""
    visible_refs: list[DeclarationRef] = []
    hidden_refs: list[DeclarationRef] = []
    for other, start, kind, _, _ in names.definitions_in(document.project, name):
        # A check by kind before the file is parsed: common names have thousands of definitions.
        if (use.is_type and kind in CODE) or (use.is_called and kind in {"field", "method"} and other != document):
            continue

        is_visible = other.key in included or other == document
        # A header may name a struct without its body, which can be in any file.
        completes = use.preferred_nodes == TAGGED and kind in TYPES
        if not is_visible and kind not in {"function", "variable"} and not completes:
            continue

        declaration = names.declaration(other, name, start)
        if declaration is None or declaration.is_member or declaration.owner_name:
            continue
        # The scopes of this file have been looked at before.
        is_local = other == document and declaration.scope.parent is not None
        if is_local:
            continue

        if other == document:
            visible_refs.append(DeclarationRef(other, declaration, "scope", "in an included file"))
        elif is_visible:
            visible_refs.append(DeclarationRef(other, declaration, "import", "in an included file"))
        else:
            hidden_refs.append(DeclarationRef(other, declaration, "import", "announced in an included file"))

    return visible_refs, hidden_refs


def _declarations_elsewhere(
    names: NameResolver, document: Document, name: bytes, seen: Mapping[object, Document]
) -> list[DeclarationRef]:
    """Return the declarations of a name in other repositories, whose headers (`seen`) are included."""
    projects = {header.project.key: header.project for header in seen.values()}
    projects.pop(document.project.key, None)
    refs: list[DeclarationRef] = []
    for project in projects.values():
        for other, start, _, _, _ in names.definitions_in(project, name):
            declaration = names.declaration(other, name, start) if other.key in seen else None
            if declaration is not None and not declaration.is_member:
                refs.append(DeclarationRef(other, declaration, "import", "in an included file"))

        # Headers of another repository have prototypes; the bodies are in files that are not included.
        if refs and all(ref.declaration.is_prototype for ref in refs):
            refs = _bodies_in(names, project, name, seen) + refs

    return refs


def _bodies_in(
    names: NameResolver, project: Project, name: bytes, seen: Mapping[object, Document]
) -> list[DeclarationRef]:
    """Return the bodies of a function in the files of a repository that are not among `seen`."""
    refs = []
    for other, start, kind, _, is_announcement in names.definitions_in(project, name):
        if kind != "function" or is_announcement or other.key in seen:
            continue
        declaration = names.declaration(other, name, start)
        if declaration is not None and not has_storage_class(declaration.node, b"static"):
            refs.append(DeclarationRef(other, declaration, "import", "announced in an included file"))

    return refs


def has_storage_class(declaration: Node, name: bytes) -> bool:
    """Return whether a declaration has a storage class: ``static``, or ``extern`` for what another file defines."""
    return any(child.type == "storage_class_specifier" and child.text == name for child in declaration.named_children)


def _can_be_linked(declaration: Declaration) -> bool:
    """Return whether other files can use a definition: a ``static`` one is local (C standard, linkages)."""
    return not declaration.is_prototype and not has_storage_class(declaration.node, b"static")


def _common(path: bytes, other_path: bytes) -> int:
    """Count the directories that two paths share."""
    count = 0
    for left, right in zip(path.split(b"/")[:-1], other_path.split(b"/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count
