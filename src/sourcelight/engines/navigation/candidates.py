"""Which files may hold a name: what the text index says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sourcelight.core.cancellation import Halted
from sourcelight.core.patterns.compiled import compile_pattern
from sourcelight.engines.navigation.model import Document, Occurrence
from sourcelight.engines.search.model import All, Atom, TextQuery, plan
from sourcelight.engines.search.scan.evaluate import FleetSearch, Pace

if TYPE_CHECKING:
    from sourcelight.engines.navigation.project import Project
    from sourcelight.engines.navigation.workspace import Workspace


def files_with(project: Project, word: bytes, workspace: Workspace, *also: bytes) -> Iterator[Document]:
    """Give the files that contain a text (and all of `also`), as the index finds them; exact case."""
    if project.snapshot is None:
        workspace.notice("not-indexed", f"{project.name} is not indexed, so its files could not be searched.")
        return
    atoms = tuple(
        Atom(compile_pattern(text.decode(errors="replace"), kind="literal", case_sensitive=True), path=False)
        for text in (word, *also)
    )
    query = TextQuery(atoms[0] if len(atoms) == 1 else All(atoms))
    fleet = workspace.navigator.store.fleet((project.snapshot,))
    search = FleetSearch(fleet, plan(query), lambda: workspace.budget.cancellation.stopped)
    try:
        for found in search.found(Pace()):
            for number in found.content_files.tolist():
                yield project.document_at(number)
    except Halted:
        workspace.budget.check()


def holds(project: Project, word: bytes, workspace: Workspace, *also: bytes) -> bool:
    """Tell whether any file contains these texts."""
    return next(files_with(project, word, workspace, *also), None) is not None


def words_in(text: bytes, name: bytes) -> list[int]:
    """Give the offsets at which a name stands as a whole word; letters beyond ASCII are parts of words."""
    before = rb"(?<![\w\x80-\xff])" if name[:1].isalnum() or name[:1] == b"_" else b""
    after = rb"(?![\w\x80-\xff])" if name[-1:].isalnum() or name[-1:] == b"_" else b""
    return [match.start() for match in re.finditer(before + re.escape(name) + after, text)]


def plain_occurrences(text: bytes, name: bytes) -> Sequence[Occurrence]:
    """Give the whole words of a file that no rule reads: what stands behind a dot is an attribute."""
    found = []
    for start in words_in(text, name):
        end = start + len(name)
        head = text[max(0, start - 2) : start]
        member = head.endswith((b".", b"->", b"::"))
        called = text[end : end + 1] == b"("
        found.append(Occurrence(start, end, "attribute" if member else "name", called=called))
    return found
