"""Answers from an index file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Found
from sourcelight.engines.navigation.scip.decode import ScipError, last_descriptor
from sourcelight.engines.navigation.scip.index import (
    MAX_COMMITTED_BYTES,
    MAX_COMMITTED_OCCURRENCES,
    NAMES,
    ScipIndex,
    given_path,
)
from sourcelight.repos import ObjectReader

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Document, Occurrence
    from sourcelight.engines.navigation.project import Project
    from sourcelight.engines.navigation.workspace import Workspace

_REASON = "index file of the compiler"


def index_of(project: Project, workspace: Workspace) -> ScipIndex | None:
    """Give the index file of a project: the one handed over for its commit, else the one in its files; read once.

    One that can't be read is told in a notice, and the rules answer.
    """
    found: ScipIndex | str | None = project.remember("scip", lambda: _read(project, workspace))
    if isinstance(found, str):
        workspace.notice("scip", found)
        return None
    if found is not None and found.left_out:
        parts = [f"{count:,} {what}" for what, count in sorted(found.left_out.items())]
        workspace.notice("scip", f"The SCIP index of {project.name} fits this commit but for {' and '.join(parts)}.")
    return found


def _read(project: Project, workspace: Workspace) -> ScipIndex | str | None:
    given = given_path(workspace.navigator.store.folder, project.key, project.commit)
    try:
        data = given.read_bytes()
        name = given.name
        limit = None
    except OSError:
        document = project.first(NAMES)
        if document is None:
            return None
        name = document.shown_path
        with ObjectReader(project.target.repository) as reader:
            size = reader.size(document.blob_id) or 0
            held = reader.read(document.blob_id, MAX_COMMITTED_BYTES) if size <= MAX_COMMITTED_BYTES else None
        if held is None:
            return f"The SCIP index {name} of {project.name} is missing or larger than {MAX_COMMITTED_BYTES:,} bytes."
        data, limit = held, MAX_COMMITTED_OCCURRENCES
    try:
        return ScipIndex.read(project, data, limit)
    except ScipError as error:
        return f"The SCIP index {name} of {project.name} can't be used: {error}."


def precise_definitions(document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[Found]:
    """Give the definitions that an index file has for an occurrence; nothing without one.

    An answer counts only if the text at the definition is the symbol's own name, or the name that is used: indexers
    have been seen to mix up names that a package exports again.
    """
    index = index_of(document.project, workspace)
    spot = index.at(document.path, occurrence.start) if index is not None else None
    if index is None or spot is None:
        return []
    used = document.text[occurrence.start : occurrence.end]
    named = last_descriptor(spot.symbol).encode()
    found = []
    for path, defined in index.defined(document.path, spot):
        target = document.project.document(path)
        if target is None:
            continue
        text = target.text[defined.start : defined.end]
        if defined.start == defined.end or not text:
            found.append(Found(target, 0, 0, "module", "scip", 1.0, _REASON))
        elif text == used and (not named or named in {text, b"__init__"} or spot.symbol.startswith("local ")):
            found.append(Found(target, defined.start, defined.end, _kind(spot.symbol), "scip", 1.0, _REASON))
    return found


def _kind(symbol: str) -> str:
    if symbol.startswith("local "):
        return "variable"
    for ending, kind in (("().", "function"), ("#", "class"), ("/", "module"), (")", "parameter"), (":", "module")):
        if symbol.endswith(ending):
            return kind
    return "variable"


def precise_symbols_at(
    document: Document, definitions: Sequence[Found], name: bytes, workspace: Workspace
) -> Mapping[int, bool] | None:
    """Tell of each occurrence that an index file knows in a document whether it means one of the definitions."""
    index = index_of(document.project, workspace)
    if index is None or document.path not in index.spots:
        return None
    wanted = set()
    for one in definitions:
        if one.document.project is document.project:
            spot = index.at(one.document.path, one.start)
            if spot is not None and one.document.text[spot.start : spot.end] == name:
                wanted.add(index.key(one.document.path, spot))
    if not wanted:
        return None
    return {start: index.key(document.path, spot) in wanted for start, spot in index.spots[document.path].items()}
