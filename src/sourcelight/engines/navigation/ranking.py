"""Rank the definitions of a name where no rule decides, by location and kind.

The weights were set on Python repositories that the rules were developed on, and checked on others.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import Document, Occurrence, ResolvedDefinition
from sourcelight.engines.navigation.named import NamedDefinition, definitions_named, imports_of

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace

MAX_RANKED = 400
"""Maximum definitions of one name to rank."""

_MAX_DISTANCE = 8
_TYPES = frozenset({"function", "class", "struct", "interface", "enum", "method"})


def rank_definitions(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace, *, limit: int = 10
) -> list[ResolvedDefinition]:
    """Return the definitions of a name, most likely first.

    Definitions of other repositories count only if the same repository has none.
    """
    candidates = definitions_named(document.project, name, workspace)
    if not candidates:
        for other in workspace.other_projects(document.project):
            candidates += definitions_named(other, name, workspace)
            if len(candidates) >= MAX_RANKED:
                break

    if len(candidates) > MAX_RANKED:
        workspace.notice("ranked", f"Only {MAX_RANKED} of {len(candidates):,} definitions of the name were ranked.")
        candidates = candidates[:MAX_RANKED]

    imported = frozenset(_imported_files(document, workspace))
    same_language = [
        candidate for candidate in candidates if family(candidate.document.language) == family(document.language)
    ]
    ordered = sorted(
        same_language or candidates,
        key=lambda candidate: (
            -_rank_score(document, occurrence, candidate, imported),
            candidate.document.path,
            candidate.start,
        ),
    )
    count = len(ordered)
    reason = f"{'the only definition' if count == 1 else f'best of {count} definitions'} of that name"
    return [
        ResolvedDefinition(
            document=candidate.document,
            start=candidate.start,
            end=candidate.end,
            kind=candidate.kind,
            rule="name",
            score=_score_of_rank(count, rank),
            reason=reason,
        )
        for rank, candidate in enumerate(ordered[:limit])
    ]


def _score_of_rank(count: int, rank: int) -> float:
    """Return the score at a rank; rough measurements: a single candidate is right more often than the best of many."""
    return round((0.6 if count == 1 else 0.45 if count <= 3 else 0.35) / (1 + rank), 3)


def family(language: str) -> str:
    """Return one name for languages that can call each other."""
    if language in {"TypeScript", "TSX", "JavaScript"}:
        return "JavaScript"
    return "C" if language in {"C++", "Objective-C"} else language


def _rank_score(
    document: Document, occurrence: Occurrence, candidate: NamedDefinition, imported: frozenset[tuple[str, str, bytes]]
) -> float:
    score = 3.0 if candidate.document.project.key == document.project.key else 0.0
    score -= 0.35 * min(_distance(document.path, candidate.document.path), _MAX_DISTANCE)
    score += 2.0 * (candidate.document.key in imported)
    score += 2.0 * (candidate.kind in _TYPES)
    if occurrence.role == "attribute":
        if candidate.is_member:
            score += 1.5
        elif candidate.is_variable:
            score -= 1.0

    if occurrence.is_called and candidate.kind in {"function", "method"}:
        score += 1.0

    candidate_is_test, is_in_test = is_test(candidate.document.path), is_test(document.path)
    is_same_file = candidate.document == document

    # Code seldom uses definitions of tests; another test file may share a helper.
    if candidate_is_test and not is_in_test:
        score -= 4.0
    elif candidate_is_test and not is_same_file:
        score -= 1.5

    if is_same_file:
        score += 1.0 if occurrence.role == "attribute" else 4.0

    return score - 0.25 * candidate.declaration


def _distance(path: bytes, other_path: bytes) -> int:
    """Count the directories to go up and down from one file to the other."""
    left, right = path.split(b"/")[:-1], other_path.split(b"/")[:-1]
    common = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        common += 1
    return len(left) + len(right) - 2 * common


def is_test(path: bytes) -> bool:
    """Return whether a path looks like a test's."""
    parts = path.lower().split(b"/")
    base = parts[-1]
    return (
        any(part in {b"test", b"tests", b"testing", b"__tests__", b"spec"} for part in parts[:-1])
        or base.startswith(b"test_")
        or b"_test." in base
        or b".test." in base
        or b".spec." in base
    )


def _imported_files(document: Document, workspace: Workspace) -> Collection[tuple[str, str, bytes]]:
    """Return the keys of the files that a file imports."""
    resolver = resolver_of(document.language)
    if resolver is None:
        return ()

    def find() -> frozenset[tuple[str, str, bytes]]:
        targets = (
            resolver.import_target(document, statement.module, statement.member, workspace)
            for statement in imports_of(document, workspace)
        )
        return frozenset(target.key for target in targets if target is not None)

    return document.project.remember(("imported", document.number), find)
