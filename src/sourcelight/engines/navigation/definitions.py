"""Find the definitions of a name in a file.

An index file of a compiler answers first, then the rules of the language, then a ranking of equal names. A language
with a grammar but without a resolver has only the scopes of its definitions: local variables and parameters that hide
a name are unknown there, so the score is lower.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.locations import file_line, file_spans, line_of, offset_of
from sourcelight.engines.navigation.model import Document, Occurrence, ResolvedDefinition, SymbolQuery
from sourcelight.engines.navigation.named import code_occurrences, files_with, outline_of, plain_occurrences
from sourcelight.engines.navigation.parsed_file import TimeSpent, check_time, time_limit
from sourcelight.engines.navigation.ranking import rank_definitions
from sourcelight.engines.navigation.scip import precise_definitions
from sourcelight.engines.symbols import LANGUAGES

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace
    from sourcelight.engines.symbols import Definition


SAME_FILE_SCORE = 0.75
"""Score of a definition that only the scopes of its file decide; below that of the rules of a language."""

_SELF_RECEIVERS = (b"this.", b"self.", b"$this->", b"self::", b"static::", b"$this?->", b"this?.", b"self&.")
"""Texts before a name by which it is a member of the object that the code is part of."""

_MEMBERS_NEED_SELF = frozenset({"PHP"})
"""Languages in which a name alone is never a member."""

_MEMBERS = frozenset({"method", "constructor", "field", "property", "constant", "enummember"})
_CONTAINERS = frozenset({"class", "object", "interface", "module", "trait", "enum", "struct"})
"""Kinds of members, and of what has members."""

MAX_CANDIDATES = 10
"""Maximum definitions per query."""

MAX_VOTERS = 200
"""Maximum occurrences of a name that vote when the query has no position."""

MAX_RESOLVE_S = 1.2
"""CPU seconds after which a query gives up the rules of a language: the file is hostile or generated."""

_TIME_NOTICE = "The names of {} take too long to resolve; {}."

_WEIGHTS = {"function": 3.0, "method": 3.0, "class": 3.0, "struct": 3.0, "interface": 3.0, "enum": 3.0,
            "constructor": 3.0, "module": 2.0, "namespace": 2.0, "package": 2.0, "field": 1.5, "property": 1.5,
            "parameter": 0.7}  # fmt: skip
"""Weights of votes by the kind of definition: people ask for functions and classes by name. Other kinds have 1."""

_LATER_ANSWER_WEIGHT = 0.3
"""Weight of the second and third answer of an occurrence, which are alternatives of its first one."""

_BINDING_WEIGHT = 0.5
"""Weight of an occurrence that binds the name: it resolves to itself, and so says less about the other uses."""


def resolve_in_file(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace
) -> list[ResolvedDefinition]:
    """Return the definitions in scope in the file, innermost first; empty if scopes don't decide."""
    outline = outline_of(document, workspace)
    shown_name = name.decode(errors="replace")
    namesakes = [definition for definition in outline if definition.name == shown_name]
    if not namesakes:
        return []

    text = document.text
    is_on_self = text[: occurrence.start].endswith(_SELF_RECEIVERS)

    # A member of another object: without types the class is unknown, so the scopes of this file can't decide.
    if occurrence.role == "attribute" and not is_on_self:
        return []

    # The occurrence may be a definition itself.
    at_occurrence = [definition for definition in namesakes if definition.offset == occurrence.start]
    if at_occurrence:
        return [_in_scope(document, at_occurrence[0], name)]

    line = line_of(text, occurrence.start)
    by_depth: list[tuple[int, Definition]] = []
    for definition in namesakes:
        scopes = _enclosing(outline, definition)
        if not all(scope.begin_line <= line <= scope.end_line for scope in scopes):
            continue

        is_member = bool(scopes) and scopes[0].kind in _CONTAINERS and definition.kind in _MEMBERS
        can_be_meant = is_member
        if not is_on_self:
            can_be_meant = not is_member or document.language not in _MEMBERS_NEED_SELF
        if can_be_meant:
            by_depth.append((len(scopes), definition))

    # The innermost scope hides outer ones of the same name.
    by_depth.sort(key=lambda pair: -pair[0])
    return [_in_scope(document, definition, name) for _, definition in by_depth]


def _in_scope(document: Document, definition: Definition, name: bytes) -> ResolvedDefinition:
    return ResolvedDefinition(
        document=document,
        start=definition.offset,
        end=definition.offset + len(name),
        kind=definition.kind,
        rule="scope",
        score=SAME_FILE_SCORE,
        reason="declared in an enclosing scope of the file",
    )


def _enclosing(outline: list[Definition], definition: Definition) -> list[Definition]:
    """Return the definitions around a definition, nearest first."""
    enclosing: list[Definition] = []
    # The second condition ends a cycle of parents, which a damaged table of definitions could have.
    while definition.parent >= 0 and len(enclosing) < len(outline):
        definition = outline[definition.parent]
        enclosing.append(definition)
    return enclosing


def occurrences_in(document: Document, name: bytes, workspace: Workspace) -> Sequence[Occurrence]:
    """Return the uses of a name in a file: identifiers where its language can be read, else whole words."""
    resolver = resolver_of(document.language)
    model = workspace.parsed_file(document) if resolver is not None else None
    if resolver is not None and model is not None:
        try:
            with time_limit(MAX_RESOLVE_S):
                return resolver.occurrences(model, name)
        except TimeSpent:
            workspace.notice("time", _TIME_NOTICE.format(document.shown_path, "whole words count as uses"))
            return list(plain_occurrences(document.text, name))

    syntax = workspace.syntax_of(document)
    if syntax is not None:
        return list(code_occurrences(syntax, document.language, name))
    return list(plain_occurrences(document.text, name))


MAX_FILE_S = 5.0
"""CPU seconds of the thread in which the uses of a name in one file are resolved: thousands of uses take less."""


def is_file_spent(document: Document, started_s: float, workspace: Workspace) -> bool:
    """Return whether the names of a file took too long since a time of the thread, of which a notice tells.

    Each name is looked up from the root of the tree, so that deep nesting makes a file of one line take hours.
    """
    if time.thread_time() - started_s < MAX_FILE_S:
        return workspace.budget.is_spent
    workspace.notice("time", _TIME_NOTICE.format(document.shown_path, "not every one was resolved"))
    return True


def queried_occurrences(query: SymbolQuery, workspace: Workspace) -> Sequence[Occurrence]:
    """Return the occurrences that a query selects: all in the file, all on a line, or the one at a column."""
    occurrences = occurrences_in(query.document, query.name.encode(), workspace)
    if query.line_number is None:
        return occurrences

    document = query.document
    content = document.content
    spans = file_spans(document, [(occurrence.start, occurrence.end) for occurrence in occurrences])
    if query.column is not None:
        offset = offset_of(content, query.line_number, query.column)
        for occurrence, (start, end) in zip(occurrences, spans, strict=True):
            if offset is not None and start <= offset <= end:
                return [occurrence]

    line_start = offset_of(content, query.line_number, 0)
    if line_start is None:
        return []

    next_line = offset_of(content, query.line_number + 1, 0)
    line_end = len(content) + 1 if next_line is None else next_line
    on_line = []
    for occurrence, (start, _) in zip(occurrences, spans, strict=True):
        if line_start <= start < line_end:
            on_line.append(occurrence)
    return on_line


def resolve(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace
) -> Sequence[ResolvedDefinition]:
    """Return the definitions of one occurrence, best first: by an index file, by rules, then by rank."""
    # A compiler's index is exact for its commit. The rules add definitions that it lacks, such as those in other
    # languages.
    precise = precise_definitions(document, occurrence, workspace)
    by_rule = resolve_by_rules(document, occurrence, workspace)
    if precise:
        precise_keys = {definition.key for definition in precise}
        return [*precise, *(definition for definition in by_rule if definition.key not in precise_keys)]
    return by_rule or resolve_by_rank(document, occurrence, name, workspace)


def resolve_by_rules(document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
    """Return the definitions that the rules of the file's language find.

    Languages without a resolver have the scopes of the file alone.
    """
    resolver = resolver_of(document.language)
    if resolver is None and document.language in LANGUAGES:
        return resolve_in_file(document, occurrence, document.text[occurrence.start : occurrence.end], workspace)
    if resolver is None or workspace.parsed_file(document) is None:
        return []
    return resolver.resolve(document, occurrence, workspace)


def resolve_by_rank(
    document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace
) -> Sequence[ResolvedDefinition]:
    """Return the ranked definitions of a name; for a language without a grammar its first occurrence."""
    # A resolver found that the name comes from a package that isn't here. Definitions of equal names would be wrong.
    if (document.key, occurrence.start) in workspace.outside:
        workspace.notice("outside", f"{name.decode(errors='replace')} is defined in no repository here.")
        return []

    candidates = rank_definitions(document, occurrence, name, workspace)
    if document.language in LANGUAGES or candidates:
        return candidates

    occurrence_in_text = next(plain_occurrences(document.text, name), None)
    if occurrence_in_text is None:
        return []

    reason = f"first occurrence; {document.language or 'this kind of file'} has no grammar here"
    return [
        ResolvedDefinition(
            document=document,
            start=occurrence_in_text.start,
            end=occurrence_in_text.end,
            kind="string",
            rule="text",
            score=0.1,
            reason=reason,
        )
    ]


def definitions_of(query: SymbolQuery, workspace: Workspace) -> list[ResolvedDefinition]:
    """Return up to `MAX_CANDIDATES` definitions for a query, best first.

    Without a position each occurrence of the name in the file votes for its definitions. Functions and classes weigh
    more than variables, because people ask for those by name.
    """
    with time_limit(MAX_RESOLVE_S):
        try:
            return _definitions_of(query, workspace)
        except TimeSpent:
            pass

    workspace.notice("time", _TIME_NOTICE.format(query.document.shown_path, "definitions are ranked by name"))
    name = query.name.encode()
    any_occurrence = next(plain_occurrences(query.document.text, name), Occurrence(0, 0))

    # Ranking by name reads tables only, so half of the time is enough for an answer that isn't empty.
    with time_limit(MAX_RESOLVE_S / 2):
        try:
            return list(resolve_by_rank(query.document, any_occurrence, name, workspace))[:MAX_CANDIDATES]
        except TimeSpent:
            return []


def _definitions_of(query: SymbolQuery, workspace: Workspace) -> list[ResolvedDefinition]:
    voters = queried_occurrences(query, workspace)
    if not voters:
        return _rank_absent_name(query, workspace)

    # Bounded: a generated file may have a name a hundred thousand times, and each vote resolves a scope.
    if len(voters) > MAX_VOTERS:
        workspace.notice(
            "voters", f"{query.name} occurs {len(voters):,} times here; the first {MAX_VOTERS} were resolved."
        )

    ballot = _vote(query, voters[:MAX_VOTERS], workspace)
    ordered = ballot.by_votes()
    if ballot.unresolved is not None and len(ordered) < MAX_CANDIDATES:
        ranked = resolve_by_rank(query.document, ballot.unresolved, query.name.encode(), workspace)
        ordered += [answer for answer in ranked if answer.key not in ballot.answers]

    if query.column is None and len(ordered) > 1:
        ordered = [_share_score(answer, ballot.votes) for answer in ordered]

    return _bodies_first(ordered[:MAX_CANDIDATES], workspace)[:MAX_CANDIDATES]


def _vote(query: SymbolQuery, voters: Sequence[Occurrence], workspace: Workspace) -> _Ballot:
    """Return the votes of occurrences, as many as there is time for.

    Raises `TimeSpent` if there was time for none.
    """
    ballot = _Ballot()
    for occurrence in voters:
        workspace.budget.check()
        if workspace.budget.is_spent:
            workspace.notice("time", "The time limit ended before every occurrence was resolved.")
            break

        try:
            check_time()
            answers = precise_definitions(query.document, occurrence, workspace)
            answers = answers or resolve_by_rules(query.document, occurrence, workspace)
        except TimeSpent:
            if not ballot.answers:
                raise
            path = query.document.shown_path
            workspace.notice("time", _TIME_NOTICE.format(path, "not every occurrence was resolved"))
            break

        ballot.add(occurrence, answers)

    return ballot


class _Ballot:
    """Votes of occurrences for definitions, by the key of the definition.

    Without a column all occurrences vote: the query probably asks for the most common meaning of the name.

    Attributes
    ----------
    votes
        The weights of the votes for each definition.
    answers
        Each definition, as the occurrence that is surest of it resolves to it.
    unresolved
        The first occurrence that no rule resolves; None if all are resolved.
    """

    def __init__(self) -> None:
        self.votes: dict[object, list[float]] = {}
        self.answers: dict[object, ResolvedDefinition] = {}
        self.unresolved: Occurrence | None = None

    def add(self, occurrence: Occurrence, answers: Sequence[ResolvedDefinition]) -> None:
        """Count the votes of an occurrence for its three most likely definitions."""
        if not answers:
            self.unresolved = self.unresolved or occurrence
            return

        weight = _BINDING_WEIGHT if occurrence.is_binding else 1.0
        for rank, answer in enumerate(answers[:3]):
            existing = self.answers.get(answer.key)
            if existing is None or existing.score < answer.score:
                self.answers[answer.key] = answer

            vote = weight if rank == 0 else weight * _LATER_ANSWER_WEIGHT
            self.votes.setdefault(answer.key, []).append(vote)

    def by_votes(self) -> list[ResolvedDefinition]:
        """Return the definitions, the one with the most votes first."""
        return sorted(
            self.answers.values(),
            key=lambda answer: (-sum(self.votes[answer.key]) * _WEIGHTS.get(answer.kind, 1.0), -answer.score),
        )


def _bodies_first(ordered: Sequence[ResolvedDefinition], workspace: Workspace) -> list[ResolvedDefinition]:
    """Put the body of a function before its prototype: readers want to see the code."""
    existing = {definition.key: definition for definition in reversed(ordered)}
    result: dict[object, ResolvedDefinition] = {}
    for definition in ordered:
        if definition.key in result:
            continue

        for body in _bodies_of(definition, ordered, workspace):
            result.setdefault(body.key, existing.get(body.key, body))
        result.setdefault(definition.key, definition)

    return list(result.values())


def _bodies_of(
    definition: ResolvedDefinition, ordered: Sequence[ResolvedDefinition], workspace: Workspace
) -> list[ResolvedDefinition]:
    """Return the bodies of a prototype; if none is known, the ranked ones. Empty for other definitions."""
    resolver = resolver_of(definition.document.language)
    if resolver is None or definition.kind not in {"function", "method"} or not _is_prototype(definition, workspace):
        return []

    bindings = [other for other in resolver.bindings(definition, workspace) if not _is_prototype(other, workspace)]
    if bindings:
        return [replace(other, reason="body of the prototype") for other in bindings]
    return [other for other in ordered if other.kind == definition.kind and not _is_prototype(other, workspace)]


def _is_prototype(definition: ResolvedDefinition, workspace: Workspace) -> bool:
    return any(row.offset == definition.start and row.declaration for row in outline_of(definition.document, workspace))


def _share_score(definition: ResolvedDefinition, votes: dict[object, list[float]]) -> ResolvedDefinition:
    """Multiply the score of one of several candidates by its share of the votes."""
    total = sum(sum(weights) for weights in votes.values())
    votes_for_it = sum(votes.get(definition.key, [0.0]))
    if not votes_for_it or not total:
        return definition
    return replace(definition, score=round(definition.score * votes_for_it / total, 3))


def _rank_absent_name(query: SymbolQuery, workspace: Workspace) -> list[ResolvedDefinition]:
    """Record where a name that isn't in the file occurs, and rank its definitions."""
    name = query.name.encode()
    paths = []
    for number, document in enumerate(files_with(query.document.project, name, workspace)):
        if number >= MAX_CANDIDATES:
            paths.append("…")
            break
        paths.append(document.shown_path)

    scope = f"line {query.line_number} of " if query.line_number is not None else ""
    if query.line_number is not None and occurrences_in(query.document, name, workspace):
        document = query.document
        occurrences = occurrences_in(document, name, workspace)
        lines = [str(file_line(document, line_of(document.text, occurrence.start))) for occurrence in occurrences]
        location = f"it is on line {', '.join(lines[:MAX_CANDIDATES])}"
    elif paths:
        location = f"in this repository it occurs in {', '.join(paths)}"
    else:
        location = "nor anywhere else in this repository"

    workspace.notice("absent", f"{query.name} does not occur in {scope}{query.document.shown_path}; {location}.")
    return list(rank_definitions(query.document, Occurrence(0, 0), name, workspace, limit=MAX_CANDIDATES))
