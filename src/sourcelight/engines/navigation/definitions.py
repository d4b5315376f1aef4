"""Finding what a name in a file means.

Which of all definitions of a name is meant, where no rule tells: ranked by where they stand and what they are.

What a name means by the scopes of its own file, for languages that have a grammar and no resolver.

A definition is in scope where what holds it encloses the use: members inside their class, all else below the top. What
local variables and parameters hide is not known, so an answer is less sure than one of a resolver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.locations import line_of, offset_of
from sourcelight.engines.navigation.model import (
    Document,
    Occurrence,
    ResolvedDefinition,
    TimeSpent,
    check_time,
    time_limit,
)
from sourcelight.engines.navigation.named import NamedDefinition, files_with, named, outline_of, plain_occurrences
from sourcelight.engines.navigation.scip import precise_definitions
from sourcelight.engines.symbols import LANGUAGES

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace
    from sourcelight.engines.symbols import Definition


MOST_RANKED = 400
"""Definitions of one name that are ranked."""

_FARTHEST = 8
_TYPES = frozenset({"function", "class", "struct", "interface", "enum", "method"})


def ranked(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace, *, most: int = 10
) -> list[ResolvedDefinition]:
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
        ResolvedDefinition(one.document, one.start, one.end, one.kind, "name", _belief(count, place), reason)
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
    document: Document, occurrence: Occurrence, one: NamedDefinition, imported: frozenset[tuple[str, str, bytes]]
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


SCORE = 0.75
_SELF = (b"this.", b"self.", b"$this->", b"self::", b"static::", b"$this?->", b"this?.", b"self&.")
_MEMBERS_NEED_SELF = frozenset({"PHP"})
_MEMBERS = frozenset({"method", "constructor", "field", "property", "constant", "enummember"})
_HOLDERS = frozenset({"class", "object", "interface", "module", "trait", "enum", "struct"})


def in_same_file(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace
) -> list[ResolvedDefinition]:
    """Give what a name means by the scopes of its file, the innermost first; empty where they don't tell."""
    outline = outline_of(document, workspace)
    shown = name.decode(errors="replace")
    if not any(one.name == shown for one in outline):
        return []
    text = document.text
    line = line_of(text, occurrence.start)
    own_receiver = text[: occurrence.start].endswith(_SELF)
    if occurrence.role == "attribute" and not own_receiver:
        return []
    found: list[tuple[int, Definition]] = []
    for one in outline:
        if one.name != shown:
            continue
        if one.offset == occurrence.start:
            found = [(0, one)]
            break
        holders = list(_holders(outline, one))
        if not all(holder.begin_line <= line <= holder.end_line for holder in holders):
            continue
        member = bool(holders) and holders[0].kind in _HOLDERS and one.kind in _MEMBERS
        if member if own_receiver else not (member and document.language in _MEMBERS_NEED_SELF):
            found.append((len(holders), one))
    found.sort(key=lambda pair: -pair[0])
    return [
        ResolvedDefinition(
            document, one.offset, one.offset + len(name), one.kind, "scope", SCORE, "declared around it in this file"
        )
        for _, one in found
    ]


def _holders(outline: list[Definition], one: Definition) -> list[Definition]:
    """Give what holds a definition, the nearest first."""
    found: list[Definition] = []
    while one.parent >= 0 and len(found) < len(outline):
        one = outline[one.parent]
        found.append(one)
    return found


MOST_CANDIDATES = 10
"""Definitions given for a name without a position."""

MOST_VOTERS = 200
"""Occurrences of a name in a file that are resolved when no position is given."""

MOST_SECONDS = 1.2
"""CPU time after which the rules of a language are given up for one question: the file is hostile, or generated."""

_TIME = "The names of {} take too long to resolve; {}."

_WEIGHTS = {"function": 3.0, "method": 3.0, "class": 3.0, "struct": 3.0, "interface": 3.0, "enum": 3.0,
            "constructor": 3.0, "module": 2.0, "namespace": 2.0, "package": 2.0, "field": 1.5, "property": 1.5,
            "parameter": 0.7}  # fmt: skip
_LATER = 0.3


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """What is asked for: a name in a file, maybe on a 1-based line and at a column in code points."""

    document: Document
    name: str
    line_number: int | None = None
    column: int | None = None


def occurrences_in(document: Document, name: bytes, workspace: Workspace) -> Sequence[Occurrence]:
    """Give the uses of a name in a file: identifiers where its language can be read, else whole words."""
    resolver = resolver_of(document.language)
    model = workspace.parsed(document) if resolver is not None else None
    if resolver is not None and model is not None:
        return resolver.occurrences(model, name)
    return plain_occurrences(document.text, name)


def asked_occurrences(asked: SymbolQuery, workspace: Workspace) -> Sequence[Occurrence]:
    """Give the occurrences that a question means: all of the name, those of a line, or the one at a column."""
    found = occurrences_in(asked.document, asked.name.encode(), workspace)
    if asked.line_number is None:
        return found
    text = asked.document.text
    if asked.column is not None:
        offset = offset_of(text, asked.line_number, asked.column)
        at = [o for o in found if offset is not None and o.start <= offset <= o.end]
        if at:
            return at[:1]
    low, high = offset_of(text, asked.line_number, 0), offset_of(text, asked.line_number + 1, 0)
    return [o for o in found if low is not None and low <= o.start and (high is None or o.start < high)]


def resolve(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace
) -> Sequence[ResolvedDefinition]:
    """Give the definitions of one occurrence, best first: by an index file, by rules, then by rank."""
    precise = precise_definitions(document, occurrence, workspace)
    found = by_rules(document, occurrence, workspace)
    if precise:
        places = {one.place for one in precise}
        return [*precise, *(one for one in found if one.place not in places)]
    return found or by_rank(document, occurrence, name, workspace)


def by_rules(document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
    """Give what the rules of the file's language say; nothing where they don't lead anywhere.

    Languages without a resolver have the scopes of the file alone.
    """
    resolver = resolver_of(document.language)
    if resolver is None and document.language in LANGUAGES:
        return in_same_file(document, occurrence, document.text[occurrence.start : occurrence.end], workspace)
    if resolver is None or workspace.parsed(document) is None:
        return []
    return resolver.resolve(document, occurrence, workspace)


def by_rank(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace
) -> Sequence[ResolvedDefinition]:
    """Give the definitions of the name by rank; those of the text alone where its language has no grammar."""
    if (document.key, occurrence.start) in workspace.outside:
        workspace.notice("outside", f"{name.decode(errors='replace')} is defined in no repository here.")
        return []
    found = ranked(document, occurrence, name, workspace)
    if document.language in LANGUAGES or found:
        return found
    first = next((o for o in plain_occurrences(document.text, name)), None)
    if first is None:
        return []
    reason = f"first occurrence; {document.language or 'this kind of file'} has no grammar here"
    return [ResolvedDefinition(document, first.start, first.end, "string", "text", 0.1, reason)]


def definitions_of(asked: SymbolQuery, workspace: Workspace) -> list[ResolvedDefinition]:
    """Give up to `MOST_CANDIDATES` definitions of what is asked for, best first.

    Without a position each occurrence of the name in the file votes for what it resolves to; functions and classes
    weigh more than variables, since that is what people ask for by name.
    """
    with time_limit(MOST_SECONDS):
        try:
            return _definitions_of(asked, workspace)
        except TimeSpent:
            pass
    workspace.notice("time", _TIME.format(asked.document.shown_path, "definitions are ranked by name"))
    name = asked.name.encode()
    first = next(iter(plain_occurrences(asked.document.text, name)), Occurrence(0, 0))
    with time_limit(MOST_SECONDS / 2):
        try:
            return list(by_rank(asked.document, first, name, workspace))[:MOST_CANDIDATES]
        except TimeSpent:
            return []


def _definitions_of(asked: SymbolQuery, workspace: Workspace) -> list[ResolvedDefinition]:
    name = asked.name.encode()
    voters = asked_occurrences(asked, workspace)
    if not voters:
        return _elsewhere(asked, workspace)
    if len(voters) > MOST_VOTERS:
        workspace.notice(
            "voters", f"{asked.name} occurs {len(voters):,} times here; the first {MOST_VOTERS} were looked at."
        )
    votes: dict[object, list[float]] = {}
    found: dict[object, ResolvedDefinition] = {}
    unresolved: Occurrence | None = None
    for occurrence in voters[:MOST_VOTERS]:
        workspace.budget.check()
        if workspace.budget.spent:
            workspace.notice("time", "The time allowed was used up before every occurrence was resolved.")
            break
        try:
            check_time()
            answers = precise_definitions(asked.document, occurrence, workspace) or by_rules(
                asked.document, occurrence, workspace
            )
        except TimeSpent:
            if not found:
                raise
            workspace.notice("time", _TIME.format(asked.document.shown_path, "not every occurrence was resolved"))
            break
        if not answers:
            unresolved = unresolved or occurrence
            continue
        weight = 0.5 if occurrence.binding else 1.0
        for place, one in enumerate(answers[:3]):
            held = found.get(one.place)
            if held is None or held.score < one.score:
                found[one.place] = one
            votes.setdefault(one.place, []).append(weight * (_LATER if place else 1.0))
    ordered = sorted(found.values(), key=lambda one: (-sum(votes[one.place]) * _WEIGHTS.get(one.kind, 1.0), -one.score))
    if unresolved is not None and len(ordered) < MOST_CANDIDATES:
        held_places = set(found)
        ordered += [one for one in by_rank(asked.document, unresolved, name, workspace) if one.place not in held_places]
    if asked.column is None and len(ordered) > 1:
        ordered = [_shared(one, votes) for one in ordered]
    return _bodies_first(ordered[:MOST_CANDIDATES], workspace)[:MOST_CANDIDATES]


def _bodies_first(ordered: Sequence[ResolvedDefinition], workspace: Workspace) -> list[ResolvedDefinition]:
    """Put what a prototype announces before it: who asks for a definition wants to see what it does."""
    placed: dict[object, ResolvedDefinition] = {}
    for one in ordered:
        for body in _bodies(one, ordered, workspace) if one.place not in placed else ():
            known = next((other for other in ordered if other.place == body.place), body)
            placed.setdefault(body.place, known)
        placed.setdefault(one.place, one)
    return list(placed.values())


def _bodies(
    one: ResolvedDefinition, ordered: Sequence[ResolvedDefinition], workspace: Workspace
) -> list[ResolvedDefinition]:
    """Give the definitions that a prototype announces, or else those ranked; nothing for what is no prototype."""
    resolver = resolver_of(one.document.language)
    if resolver is None or one.kind not in {"function", "method"} or not _is_prototype(one, workspace):
        return []
    same = [other for other in resolver.bindings(one, workspace) if not _is_prototype(other, workspace)]
    if not same:
        return [other for other in ordered if other.kind == one.kind and not _is_prototype(other, workspace)]
    return [replace(other, reason="announced by the prototype that was found") for other in same]


def _is_prototype(one: ResolvedDefinition, workspace: Workspace) -> bool:
    return any(row.offset == one.start and row.declaration for row in outline_of(one.document, workspace))


def _shared(one: ResolvedDefinition, votes: dict[object, list[float]]) -> ResolvedDefinition:
    """Lower the score of one of several candidates to its share of the votes."""
    total = sum(sum(held) for held in votes.values())
    own = sum(votes.get(one.place, [0.0]))
    return one if not own or not total else replace(one, score=round(one.score * own / total, 3))


def _elsewhere(asked: SymbolQuery, workspace: Workspace) -> list[ResolvedDefinition]:
    """Say where a name that is not in the file occurs, and rank its definitions."""
    name = asked.name.encode()
    places = []
    for number, document in enumerate(files_with(asked.document.project, name, workspace)):
        if number >= MOST_CANDIDATES:
            places.append("…")
            break
        places.append(document.shown_path)
    where = f"line {asked.line_number} of " if asked.line_number is not None else ""
    if asked.line_number is not None and occurrences_in(asked.document, name, workspace):
        lines = [str(line_of(asked.document.text, o.start)) for o in occurrences_in(asked.document, name, workspace)]
        held = f"it is on line {', '.join(lines[:MOST_CANDIDATES])}"
    elif places:
        held = f"in this repository it occurs in {', '.join(places)}"
    else:
        held = "nor anywhere else in this repository"
    workspace.notice("absent", f"{asked.name} does not occur in {where}{asked.document.shown_path}; {held}.")
    return list(ranked(asked.document, Occurrence(0, 0), name, workspace, most=MOST_CANDIDATES))
