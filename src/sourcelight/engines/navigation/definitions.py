"""Finding what a name in a file means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.candidates import files_with, plain_occurrences
from sourcelight.engines.navigation.model import Document, Found, Occurrence
from sourcelight.engines.navigation.named import outline_of
from sourcelight.engines.navigation.parsed import TimeSpent, check_time, time_limit
from sourcelight.engines.navigation.places import line_of, offset_of
from sourcelight.engines.navigation.ranking import ranked
from sourcelight.engines.navigation.registry import resolver_of
from sourcelight.engines.navigation.same_file import in_same_file
from sourcelight.engines.navigation.scip import precise_definitions
from sourcelight.engines.symbols import LANGUAGES

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace

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
class Asked:
    """What is asked for: a name in a file, maybe on a 1-based line and at a column in code points."""

    document: Document
    name: str
    line_number: int | None = None
    column: int | None = None


def occurrences_in(document: Document, name: bytes, workspace: Workspace) -> Sequence[Occurrence]:
    """Give the uses of a name in a file: identifiers where its language can be read, else whole words."""
    resolver = resolver_of(document.language)
    model = workspace.model(document) if resolver is not None else None
    if resolver is not None and model is not None:
        return resolver.occurrences(model, name)
    return plain_occurrences(document.text, name)


def asked_occurrences(asked: Asked, workspace: Workspace) -> Sequence[Occurrence]:
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


def resolve(document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace) -> Sequence[Found]:
    """Give the definitions of one occurrence, best first: by an index file, by rules, then by rank."""
    precise = precise_definitions(document, occurrence, workspace)
    found = by_rules(document, occurrence, workspace)
    if precise:
        places = {one.place for one in precise}
        return [*precise, *(one for one in found if one.place not in places)]
    return found or by_rank(document, occurrence, name, workspace)


def by_rules(document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[Found]:
    """Give what the rules of the file's language say; nothing where they don't lead anywhere.

    Languages without a resolver have the scopes of the file alone.
    """
    resolver = resolver_of(document.language)
    if resolver is None and document.language in LANGUAGES:
        return in_same_file(document, occurrence, document.text[occurrence.start : occurrence.end], workspace)
    if resolver is None or workspace.model(document) is None:
        return []
    return resolver.resolve(document, occurrence, workspace)


def by_rank(document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace) -> Sequence[Found]:
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
    return [Found(document, first.start, first.end, "string", "text", 0.1, reason)]


def definitions_of(asked: Asked, workspace: Workspace) -> list[Found]:
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


def _definitions_of(asked: Asked, workspace: Workspace) -> list[Found]:
    name = asked.name.encode()
    voters = asked_occurrences(asked, workspace)
    if not voters:
        return _elsewhere(asked, workspace)
    if len(voters) > MOST_VOTERS:
        workspace.notice(
            "voters", f"{asked.name} occurs {len(voters):,} times here; the first {MOST_VOTERS} were looked at."
        )
    votes: dict[object, list[float]] = {}
    found: dict[object, Found] = {}
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


def _bodies_first(ordered: Sequence[Found], workspace: Workspace) -> list[Found]:
    """Put what a prototype announces before it: who asks for a definition wants to see what it does."""
    placed: dict[object, Found] = {}
    for one in ordered:
        for body in _bodies(one, ordered, workspace) if one.place not in placed else ():
            known = next((other for other in ordered if other.place == body.place), body)
            placed.setdefault(body.place, known)
        placed.setdefault(one.place, one)
    return list(placed.values())


def _bodies(one: Found, ordered: Sequence[Found], workspace: Workspace) -> list[Found]:
    """Give the definitions that a prototype announces, or else those ranked; nothing for what is no prototype."""
    resolver = resolver_of(one.document.language)
    if resolver is None or one.kind not in {"function", "method"} or not _is_prototype(one, workspace):
        return []
    same = [other for other in resolver.same(one, workspace) if not _is_prototype(other, workspace)]
    if not same:
        return [other for other in ordered if other.kind == one.kind and not _is_prototype(other, workspace)]
    return [replace(other, reason="announced by the prototype that was found") for other in same]


def _is_prototype(one: Found, workspace: Workspace) -> bool:
    return any(row.offset == one.start and row.declaration for row in outline_of(one.document, workspace))


def _shared(one: Found, votes: dict[object, list[float]]) -> Found:
    """Lower the score of one of several candidates to its share of the votes."""
    total = sum(sum(held) for held in votes.values())
    own = sum(votes.get(one.place, [0.0]))
    return one if not own or not total else replace(one, score=round(one.score * own / total, 3))


def _elsewhere(asked: Asked, workspace: Workspace) -> list[Found]:
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
