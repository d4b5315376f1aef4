"""Rank the definitions of a name where no rule decides, by location and kind.

The weights, in the constants below, were set on Python repositories that the rules were developed on, and checked on
others. Only their order of size matters: a definition in the same file outweighs one in the same repository.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sourcelight.core.query.file_kinds import is_test
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import Document, Occurrence, ResolvedDefinition
from sourcelight.engines.navigation.named import NamedDefinition, definitions_named, imports_of

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace

MAX_RANKED = 400
"""Maximum definitions of one name to rank."""

_TYPES = frozenset({"function", "class", "struct", "interface", "enum", "method"})
"""Kinds of definitions that a name more probably means than a variable."""

_SAME_REPOSITORY = 3.0
_SAME_FILE, _SAME_FILE_ATTRIBUTE = 4.0, 1.0
_IMPORTED = 2.0
_TYPE_OR_FUNCTION = 2.0
_CALLED_FUNCTION = 1.0
_ATTRIBUTE_OF_MEMBER, _ATTRIBUTE_OF_VARIABLE = 1.5, -1.0
_TEST_FROM_OUTSIDE, _OTHER_TEST = -4.0, -1.5
"""Code seldom uses definitions of tests; another test file may share a helper."""
_PROTOTYPE = -0.25
_DIRECTORY, _MAX_DISTANCE = -0.35, 8
"""Weight of each directory between the files, as far as the distance counts."""

_ONLY, _BEST_OF_FEW, _BEST_OF_MANY = 0.6, 0.45, 0.35
"""Scores of the first definition, by rough measurements: a single one is right more often than the best of many."""

_MAX_FEW = 3
"""Candidates up to which the best one is probably right."""


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
    own_family = family(document.language)
    same_language = [candidate for candidate in candidates if family(candidate.document.language) == own_family]

    def rank(candidate: NamedDefinition) -> tuple[float, bytes, int]:
        score = _rank_score(document, occurrence, candidate, imported)
        return -score, candidate.document.path, candidate.start

    ordered = sorted(same_language or candidates, key=rank)
    count = len(ordered)
    reason = "the only definition of that name" if count == 1 else f"best of {count} definitions of that name"
    return [
        ResolvedDefinition(
            document=candidate.document,
            start=candidate.start,
            end=candidate.end,
            kind=candidate.kind,
            rule="name",
            score=_score_at(index, count),
            reason=reason,
        )
        for index, candidate in enumerate(ordered[:limit])
    ]


def _score_at(index: int, count: int) -> float:
    """Return the score of the definition at an index of the order."""
    if count == 1:
        first = _ONLY
    elif count <= _MAX_FEW:
        first = _BEST_OF_FEW
    else:
        first = _BEST_OF_MANY
    return round(first / (1 + index), 3)


def family(language: str) -> str:
    """Return one name for languages that can call each other."""
    if language in {"TypeScript", "TSX", "JavaScript"}:
        return "JavaScript"
    return "C" if language in {"C++", "Objective-C"} else language


def _rank_score(
    document: Document, occurrence: Occurrence, candidate: NamedDefinition, imported: frozenset[tuple[str, str, bytes]]
) -> float:
    score = 0.0
    if candidate.document.project.key == document.project.key:
        score += _SAME_REPOSITORY
    score += _DIRECTORY * min(document.distance_to(candidate.document.path), _MAX_DISTANCE)
    if candidate.document.key in imported:
        score += _IMPORTED
    if candidate.kind in _TYPES:
        score += _TYPE_OR_FUNCTION

    if occurrence.role == "attribute" and candidate.is_member:
        score += _ATTRIBUTE_OF_MEMBER
    elif occurrence.role == "attribute" and candidate.is_variable:
        score += _ATTRIBUTE_OF_VARIABLE
    if occurrence.is_called and candidate.kind in {"function", "method"}:
        score += _CALLED_FUNCTION

    is_same_file = candidate.document == document
    if is_same_file:
        score += _SAME_FILE_ATTRIBUTE if occurrence.role == "attribute" else _SAME_FILE
    elif is_test(candidate.document.shown_path):
        score += _OTHER_TEST if is_test(document.shown_path) else _TEST_FROM_OUTSIDE

    if candidate.declaration:
        score += _PROTOTYPE
    return score


def _imported_files(document: Document, workspace: Workspace) -> Collection[tuple[str, str, bytes]]:
    """Return the keys of the files that a file imports."""
    resolver = resolver_of(document.language)
    if resolver is None:
        return ()

    def find() -> frozenset[tuple[str, str, bytes]]:
        keys = set()
        for statement in imports_of(document, workspace):
            target = resolver.import_target(document, statement.module, statement.member, workspace)
            if target is not None:
                keys.add(target.key)
        return frozenset(keys)

    return document.project.remember(("imported", document.number), find)
