"""Which of all definitions of a name is meant, where no rule tells: ranked by where they stand and what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document, Found, Occurrence
from sourcelight.engines.navigation.named import Named, named

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace

MOST_RANKED = 400
"""Definitions of one name that are ranked."""

_FARTHEST = 8
_TYPES = frozenset({"function", "class", "struct", "interface", "enum", "method"})


def ranked(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace, *, most: int = 10
) -> list[Found]:
    """Give the definitions of a name, the likeliest for this use first.

    Definitions of the same repository come first; others count only where it has none. Weights are those of
    the design note, set on repositories of Python.
    """
    candidates = named(document.project, name, workspace)
    if not candidates:
        for other in workspace.others(document.project):
            candidates += named(other, name, workspace)
            if len(candidates) >= MOST_RANKED:
                break
    if len(candidates) > MOST_RANKED:
        workspace.notice("ranked", f"Only {MOST_RANKED} of {len(candidates):,} definitions of one name were ranked.")
        candidates = candidates[:MOST_RANKED]
    imported = frozenset(workspace.imported_files(document))
    same_language = [one for one in candidates if family(one.document.language) == family(document.language)]
    ordered = sorted(
        same_language or candidates,
        key=lambda one: (-_score(document, occurrence, one, imported), one.document.path, one.start),
    )
    count = len(ordered)
    reason = f"{'the only definition' if count == 1 else f'best of {count} definitions'} of that name"
    return [
        Found(one.document, one.start, one.end, one.kind, "name", _belief(count, place), reason)
        for place, one in enumerate(ordered[:most])
    ]


def _belief(count: int, place: int) -> float:
    """Give a score: a single candidate is likelier right than the best of many, as measured roughly."""
    return round((0.6 if count == 1 else 0.45 if count <= 3 else 0.35) / (1 + place), 3)


def family(language: str) -> str:
    """Give one name to languages that call each other."""
    if language in {"TypeScript", "TSX", "JavaScript"}:
        return "JavaScript"
    return "C" if language in {"C++", "Objective-C"} else language


def _score(
    document: Document, occurrence: Occurrence, one: Named, imported: frozenset[tuple[str, str, bytes]]
) -> float:
    score = 3.0 if one.document.project.key == document.project.key else 0.0
    score -= 0.35 * min(_distance(document.path, one.document.path), _FARTHEST)
    score += 2.0 * (one.document.key in imported)
    score += 2.0 * (one.kind in _TYPES)
    if occurrence.role == "attribute":
        if one.is_member:
            score += 1.5
        elif one.is_variable:
            score -= 1.0
    if occurrence.called and one.kind in {"function", "method"}:
        score += 1.0
    theirs, ours = is_test(one.document.path), is_test(document.path)
    same = one.document == document
    if theirs and not ours:
        score -= 4.0
    elif theirs and not same:
        score -= 1.5
    if same:
        score += 1.0 if occurrence.role == "attribute" else 4.0
    return score - 0.25 * one.declaration


def _distance(one: bytes, other: bytes) -> int:
    """Count the folders to go up and down from one file to the other."""
    left, right = one.split(b"/")[:-1], other.split(b"/")[:-1]
    common = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        common += 1
    return len(left) + len(right) - 2 * common


def is_test(path: bytes) -> bool:
    """Tell whether a path looks like that of a test."""
    parts = path.lower().split(b"/")
    base = parts[-1]
    return (
        any(part in {b"test", b"tests", b"testing", b"__tests__", b"spec"} for part in parts[:-1])
        or base.startswith(b"test_")
        or b"_test." in base
        or b".test." in base
        or b".spec." in base
    )
