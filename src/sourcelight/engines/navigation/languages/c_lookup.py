"""The declarations of C and C++ that a file sees in other files, through headers.

A header declares ``int wait(int seconds);``, and any file of its repository may have the body. So a name means the
declarations in the file and its headers, then bodies that a header announces. Headers that a file includes are found
transitively, by the ends of their paths.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.declared import CODE, TYPES, Declaration, DeclarationRef, NameUse, misfit
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project


TAGGED = frozenset({"struct_specifier", "union_specifier", "class_specifier", "enum_specifier"})
"""Nodes that declare a type with a keyword before its name: ``struct s``."""

MAX_INCLUDED = 600
"""Maximum files that includes of one file lead to."""

_HEADERS = (b".h", b".hh", b".hpp", b".hxx", b".inc", b".ipp", b".def", b".c", b".cc")
_MAX_PARTS = 6
"""Parts at the end of a path by which a header is found."""

_STANDARD = frozenset(
    b"assert.h ctype.h errno.h fcntl.h float.h inttypes.h limits.h locale.h math.h pthread.h setjmp.h signal.h"
    b" stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h time.h unistd.h wchar.h"
    b" string vector map memory utility algorithm functional set iostream sstream".split()
)


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


def included_files(session: Session, document: Document) -> Mapping[object, Document]:
    """Return the files that a file includes, transitively, by their keys; at most `MAX_INCLUDED`."""

    def follow_includes() -> dict[object, Document]:
        files: dict[object, Document] = {document.key: document}
        pending = [document]
        while pending and len(files) < MAX_INCLUDED:
            # Breadth first: within the limit, direct includes come before distant ones.
            current = pending.pop(0)
            for header in _directly(session, current):
                if header.key not in files:
                    files[header.key] = header
                    pending.append(header)

        return files

    included = document.project.remember(("c-includes", document.number), follow_includes)
    if len(included) >= MAX_INCLUDED:
        session.workspace.notice(
            "includes", f"Only {MAX_INCLUDED} files that {document.shown_path} includes were followed."
        )

    return included


def _directly(session: Session, document: Document) -> list[Document]:
    """Return the headers that a file includes itself."""
    if document.project.snapshot is None and not document.text:
        return []

    headers = []
    for statement in imports_of(document, session.workspace):
        header = find_header(session, document, statement.module)
        if header is not None:
            headers.append(header)

    return headers


def find_header(session: Session, document: Document, module: str) -> Document | None:
    """Return the file of an include: beside the file, by the end of its path, or in other repositories."""
    is_angled = module.startswith("<")
    target = module.strip('<>"').encode()
    parts = [part for part in target.split(b"/") if part != b"."]
    directory = document.path.split(b"/")[:-1]
    if not is_angled:
        directory_parts = [*directory]
        for part in parts:
            if part == b"..":
                directory_parts = directory_parts[:-1]
            else:
                directory_parts.append(part)
        beside = document.project.document(b"/".join(directory_parts))
        if beside is not None:
            return beside

    name_parts = [part for part in parts if part != b".."]
    if not name_parts:
        return None

    ending = b"/".join(name_parts)
    numbers = _by_ending(document.project).get(ending, ())

    # `<string.h>` means the system's header even if a repository has a file of that name; `"string.h"` means the file.
    if numbers and not (is_angled and _is_standard(ending)):
        best = min(numbers, key=lambda number: (document.distance_to(document.project.paths[number]), number))
        return document.project.document_at(best)

    header_name = ending.decode(errors="replace")
    if _is_standard(ending):
        return None

    for other, number in session.providers(document.project, header_name):
        return other.document_at(number)

    return None


def _is_standard(ending: bytes) -> bool:
    """Return whether a header is of the C library or the system: a repository seldom replaces those."""
    return ending in _STANDARD or ending.startswith((b"sys/", b"linux/", b"netinet/", b"arpa/", b"bits/"))


def _by_ending(project: Project) -> Mapping[bytes, list[int]]:
    """Return numbers of headers by every end of their paths."""

    def index_headers() -> dict[bytes, list[int]]:
        by_ending: dict[bytes, list[int]] = {}
        for number, path in enumerate(project.paths):
            # Headers of C++ may have no extension, as in its standard library.
            if path.endswith(_HEADERS) or b"." not in path.rpartition(b"/")[2]:
                parts = path.split(b"/")
                # Include directories of the build are unknown, so any end of a path may name the header.
                for length in range(1, min(len(parts), _MAX_PARTS) + 1):
                    by_ending.setdefault(b"/".join(parts[-length:]), []).append(number)

        return by_ending

    return project.remember("c-headers", index_headers)


def header_names(path: bytes) -> Collection[str]:
    """Return the names under which a header can be included: the ends of its path."""
    if not path.endswith(_HEADERS):
        return ()
    parts = path.decode(errors="replace").split("/")[-_MAX_PARTS:]
    return tuple("/".join(parts[index:]) for index in range(len(parts)))


def provided_headers(project: Project) -> Mapping[str, int]:
    """Return the headers that other repositories may include, by the ends of their paths; the shortest path first."""
    headers: dict[str, int] = {}
    ordered = sorted(
        (number for number, path in enumerate(project.paths) if path.endswith((b".h", b".hh", b".hpp", b".hxx"))),
        key=lambda number: (project.paths[number].count(b"/"), number),
    )
    for number in ordered:
        for name in header_names(project.paths[number]):
            headers.setdefault(name, number)

    return headers
