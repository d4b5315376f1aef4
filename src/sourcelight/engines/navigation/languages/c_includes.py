"""Find the headers that a file of C or C++ includes, transitively, by the ends of paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import imports_of

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project

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
