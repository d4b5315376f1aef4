"""Values of constants, and defaults of parameters and settings, from the lines that set them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries
from sourcelight.engines.deepsearch.lookups.definitions.branches import condition_text
from sourcelight.engines.deepsearch.lookups.definitions.declarations import (
    FIELD_FORMS,
    find_declarations,
    find_field_line,
    is_declared_elsewhere,
)
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    SPACE,
    TAB,
    DefinitionLocation,
    ValueCandidate,
    best_locations,
    describe_location,
    head_at,
    shown_value,
    verb_after,
)
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, with_overloads
from sourcelight.engines.deepsearch.lookups.delegates import find_delegated_default
from sourcelight.engines.deepsearch.lookups.passed_defaults import find_body_default, find_passed_default
from sourcelight.engines.deepsearch.source.fallbacks import replaces_absent
from sourcelight.engines.deepsearch.source.line_kinds import LISPS
from sourcelight.engines.deepsearch.source.values import (
    attribute_value,
    haskell_value,
    is_of_itself,
    lisp_value,
    parameters_of,
    value_of,
)

_STRING = re.compile(r"^'([^'\"\\\\]*)'$")
"""A string in single quotation marks that says the same in double ones."""

_VALUED = frozenset({"constant", "variable", "field", "property", "enummember", "module", "function"})
_LANGUAGE_WORD = re.compile(r"(?i:true|false|none|nil|null|nullptr|undefined|self|this|default|auto|infinity|nan)")
_WITH_ONE_CONSTRUCTOR = frozenset({"Python", "Ruby", "JavaScript", "TypeScript", "TSX", "JSX", "PHP", "Crystal"})
"""Languages whose classes have one constructor, and whose heads have the values of parameters."""
_WITH_DEFAULTS = _WITH_ONE_CONSTRUCTOR | {
    "C++", "C#", "CoffeeScript", "Dart", "Elixir", "Groovy", "Julia", "Kotlin", "Nim", "R", "Scala", "Swift",
}  # fmt: skip
"""Languages whose heads of functions have the values of parameters."""
_LEFT_OPEN = "..."
"""The value in stubs and overloads of Python for a default that they don't repeat."""
_BODY_LINES = 60
"""Lines of a function without a grammar that may replace what its caller leaves out."""


def find_value(work: Work, locations: Sequence[DefinitionLocation], name: str, queries: list[str]) -> Finding | None:
    """Return the value of a constant or the like at its definitions; None if no definition gives it a value."""
    texts = work.texts
    every = with_overloads(texts, locations)
    candidates = [candidate for location in every if (candidate := value_at(texts, location)) is not None]
    if not candidates:
        return None

    finding = state_values(work, candidates, code(name), queries)
    _add_assignments(texts, candidates, every, finding)
    follow_constant(work, candidates, finding)
    return finding


def _add_assignments(
    texts: FileTexts,
    candidates: Sequence[ValueCandidate],
    definitions: Sequence[DefinitionLocation],
    finding: Finding,
) -> None:
    """State that other lines of the file set a variable, too, so that the first one doesn't decide its value."""
    location = candidates[0].locations[0]
    # A constant may have another value on another platform.
    if location.definition.kind not in {"variable", "field", "property", "constant"}:
        return

    definition_lines = {other.definition.line for other in definitions if other.path == location.path}
    name = re.escape(location.definition.name)
    assigned = re.compile(
        rf"(?<![\w$.])(?:(?:self|this|cls|@)(?:\.|->)?)?{name}(?:\s*+:\s*+[\w<>&'][\w<>&' ]{{0,39}})?"
        rf"\s*+(?:[-+*/%|&^]|<<|>>|\|\||&&|\?\?)?=(?![=>~])|\bglobal\s+{name}\b"
    )
    lines = texts.lines(location.target, location.path)
    if language_of(location.path) in LISPS:
        setter = r"\((?:set[qf](?:-default|-local)?|set!|(?:cl-)?(?:incf|decf)|reset!|swap!|alter-var-root)\s+(?:#')?"
        pushed = r"\((?:cl-)?push(?:new)?\s.{0,200}\s"
        assigned = re.compile(rf"(?:{setter}|{pushed}){name}(?=[\s)]|$)")

    if any(assigned.search(line) is not None for index, line in enumerate(lines, 1) if index not in definition_lines):
        finding.headline = Statement(
            f"{finding.headline.text}; other lines of the file set it, too", finding.headline.evidence
        )


def value_at(texts: FileTexts, location: DefinitionLocation) -> ValueCandidate | None:
    """Return the value that a definition gives its name; None if it gives none that can be read."""
    definition = location.definition
    lines = texts.lines(location.target, location.path)
    if definition.kind not in _VALUED:
        return None

    value = value_of(lines, definition.name, definition.line, location.path)
    if location.path.endswith((".hs", ".elm")):
        value = haskell_value(lines, definition.name, definition.line)
    elif location.path.endswith((".clj", ".cljs", ".cljc", ".el", ".lisp")):
        value = lisp_value(lines, definition.name, definition.line)
    elif location.path.endswith((".ex", ".exs")):
        value = value or attribute_value(lines, definition.name, definition.line, location.path)

    if value is None or value.text == _LEFT_OPEN or is_of_itself(definition.name, value.text):
        return None

    quote = texts.evidence(
        location.target, location.path, value.begin_line, value.end_line, "definition", 1.0, (definition.name,)
    )
    return ValueCandidate(
        value.text,
        code(definition.name),
        location.path,
        [quote],
        location.rank,
        location.target.repository.name,
        locations=[location],
    )


def find_parameter_default(
    work: Work, owners: Sequence[DefinitionLocation], name: str, owner: str, queries: list[str]
) -> Finding | None:
    """Return the default of a parameter of a function or constructor; None if no head has the parameter."""
    texts = work.texts
    candidates: list[ValueCandidate] = []
    overloads: list[DefinitionLocation] = []
    for location in best_locations(owners):
        overloads += (heads := with_overloads(texts, heads_of(texts, location)))
        of_heads = [candidate for head in heads if (candidate := default_at(texts, head, name)) is not None]
        candidates += of_heads
        if not of_heads:
            # Dataclasses and the like have no constructor in the source; their fields are its parameters.
            field_value = _field_of(texts, location, name)
            field_value = field_value or find_delegated_default(work, location, name)
            if field_value is not None:
                candidates.append(field_value)

    if not any(candidate.value for candidate in candidates) and is_declared_elsewhere(owners):
        declarations = find_declarations(work, owner, queries)
        overloads += declarations
        of_declarations = [default_at(texts, head, name) for head in declarations]
        candidates += [candidate for candidate in of_declarations if candidate is not None]

    if not any(candidate.value for candidate in candidates):
        of_bodies = [
            *(find_body_default(texts, head, name) for head in overloads),
            *(find_passed_default(texts, owner_location, overloads, name) for owner_location in best_locations(owners)),
        ]
        candidates += [candidate for candidate in of_bodies if candidate is not None]

    if not candidates:
        return None

    # A required parameter is an answer too: better than silence, and a line proves it.
    if all(not candidate.value for candidate in candidates):
        # Another function of the name may call this one with a value, or its body may replace what is absent.
        if len(overloads) > 1 or any(_replaces(texts, head, name) for head in overloads):
            return None
        if not all(_is_proof_of_none(location) for location in best_locations(owners)):
            return None
        first = candidates[0]
        text = f"{code(name)} of {code(owner)} has no default in {code(first.path)}"
        return Finding(
            Statement(text, (first.evidence[0],)), "value", queries=[join_queries(queries)], notes=work.notes
        )

    valued = [candidate for candidate in candidates if candidate.value]
    finding = state_values(work, valued, f"The default of {code(name)} of {code(owner)}", queries)
    follow_constant(work, valued, finding)
    return finding


def _is_proof_of_none(owner: DefinitionLocation) -> bool:
    """Return whether a parameter without a value in its head has no default.

    Java, Go, C and others have no values in heads: a factory, a builder or a null check gives the default. So may a
    factory beside the constructor of a class.
    """
    language = language_of(owner.path)
    is_function = owner.definition.kind in FUNCTION_KINDS
    return language in _WITH_DEFAULTS and (is_function or language in _WITH_ONE_CONSTRUCTOR)


def _replaces(texts: FileTexts, head: DefinitionLocation, name: str) -> bool:
    """Return whether the body of a function may give a parameter a value that its caller leaves out."""
    lines, definition = texts.lines(head.target, head.path), head.definition
    # Without a grammar, the end of a body isn't known.
    end = definition.end_line if definition.end_line > definition.line else definition.line + _BODY_LINES
    return replaces_absent(lines, definition.line + 1, end, name.lstrip("$"))


_CONSTRUCTORS = frozenset({"__init__", "initialize", "constructor", "__new__", "new"})


def heads_of(texts: FileTexts, location: DefinitionLocation) -> list[DefinitionLocation]:
    """Return the functions whose parameters are meant: the function itself, or the constructors of a class."""
    if location.definition.kind in FUNCTION_KINDS:
        return [location]

    heads = []
    for definition in texts.iter_definitions(location.target, location.path):
        within = location.definition.begin_line <= definition.line <= location.definition.end_line
        if not within or definition.container.rpartition(".")[2] != location.definition.name:
            continue

        if definition.kind == "constructor" or definition.name in _CONSTRUCTORS:
            heads.append(DefinitionLocation(location.target, location.path, definition))

    return heads


def default_at(texts: FileTexts, head: DefinitionLocation, name: str) -> ValueCandidate | None:
    """Return the default that the head of a function gives a parameter, empty for none; None without the parameter."""
    lines = texts.lines(head.target, head.path)
    read = parameters_of(lines, head.definition.name, head.definition.line, head.path)
    if read is None:
        return None

    parameters, _ = read
    for parameter in parameters:
        # PHP writes `$name`; the sign isn't part of the spoken name.
        if parameter.name.lstrip("$") != name.lstrip("$"):
            continue

        value = parameter.value
        # Ruby's keyword parameters (`limit: 10`) look like types to the reader of parameters.
        if (
            not value
            and head.path.endswith(".rb")
            and (keyword := re.match(rf"{re.escape(name)}:\s*(\S.*)$", parameter.text))
        ):
            value = keyword[1]

        if value == _LEFT_OPEN:
            return None

        evidence = texts.evidence(
            head.target, head.path, parameter.line, parameter.line, "definition", 1.0, (head.definition.name,)
        )
        return ValueCandidate(
            value, "", head.path, [evidence], head.rank, head.target.repository.name, locations=[head]
        )

    return None


def _field_of(texts: FileTexts, location: DefinitionLocation, name: str) -> ValueCandidate | None:
    """Return the value that the body of a class gives to a field."""
    if location.definition.kind in {"function", "method"}:
        return None

    if language_of(location.path) in FIELD_FORMS:
        field = find_field_line(texts, location, name)
        return None if field is None else value_at(texts, field)

    for definition in texts.iter_definitions(location.target, location.path):
        if (
            definition.name == name
            and definition.container.rpartition(".")[2] == location.definition.name
            and definition.kind in _VALUED
        ):
            candidate = value_at(texts, DefinitionLocation(location.target, location.path, definition))
            if candidate is not None and definition.kind != "function":
                return candidate

    return None


def follow_constant(work: Work, candidates: Sequence[ValueCandidate], finding: Finding) -> None:
    """Add the value of the constant, if a default value is the name of one."""
    value = candidates[0].value
    if len({candidate.value for candidate in candidates}) != 1 or re.fullmatch(r"[A-Za-z_][\w.]*", value) is None:
        return

    # Words of the language are no names, and a short plain word may be a parameter or a local variable.
    if _LANGUAGE_WORD.fullmatch(value) or (value.isalpha() and value.islower()):
        return

    locations = find_definitions(work, value, [])
    near = [
        location
        for location in locations
        if location.target.repository.name == candidates[0].repository and location.rank == 0
    ]
    valued = [value_candidate for location in near if (value_candidate := value_at(work.texts, location)) is not None]
    if len({value_candidate.value for value_candidate in valued}) != 1:
        return

    constant = valued[0]
    line, condition = constant.evidence[0].begin_line, _condition_of(work, constant)
    finding.headline = Statement(
        f"{finding.headline.text}; {code(value)} is set to {code(shown_value(constant.value))} "
        f"in {code(constant.path)}, line {line:,}{f', and {condition}' if condition else ''}",
        (*finding.headline.evidence, constant.evidence[0]),
    )
    finding.quotes.append(constant.evidence[0])


def state_values(
    work: Work,
    candidates: Sequence[ValueCandidate],
    subject: str,
    queries: list[str],
    verb: str = "is",
) -> Finding:
    """Write one value with its location, or up to three if the definitions differ."""
    # A class that repeats a constant of another one, as in `LIMIT = Pool.LIMIT`, has no other value.
    origins = [item for item in candidates if code(re.split(r"\.|::|->", item.value)[-1]) not in subject]
    candidates = origins or candidates
    lowest = min(candidate.rank for candidate in candidates)
    best = [candidate for candidate in candidates if candidate.rank == lowest]
    by_value: dict[str, ValueCandidate] = {}
    for candidate in best:
        by_value.setdefault(_STRING.sub(r'"\1"', candidate.value), candidate)

    names_repository = len(work.inquiry.pins) > 1
    condition = ""
    if len(by_value) == 1:
        first = best[0]
        verb = verb_after(subject) if verb == "is" else verb
        location_text = describe_location(first, names_repository=names_repository)
        text = f"{subject} {verb} {code(shown_value(first.value))}, in {location_text}"
        if len(best) > 1:
            text += ", and the same in other places" if len(best) > 2 else ", and the same in another place"
        if SPACE in shown_value(first.value):
            text += f" ({SPACE} is a space)"
        if TAB in shown_value(first.value):
            text += f" ({TAB} is a tab)"
        # What replaces an absent argument is a default, though its line is under a condition.
        conditions = [] if subject.startswith("The ") else [_condition_of(work, item) for item in best]
        condition = conditions[0] if conditions and all(conditions) else ""
        text += f"; {condition}" if condition else ""
        evidence = tuple(first.evidence)
        # `util` is a directory of tools in one project, and of the program in another one.
        rivals = [item for item in candidates if lowest == 0 and item.rank == 1 and item.value != first.value]
        if rivals and verb == "is set to":
            text += f"; {code(rivals[0].path)} has another value"
            evidence += (rivals[0].evidence[0],)
    else:
        visible = list(by_value.values())[:MAX_NAMED]
        parts = [
            f"{code(shown_value(candidate.value))} in {describe_location(candidate, names_repository=names_repository)}"
            for candidate in visible
        ]
        # No number: a value that depends on the platform or on a build may be set elsewhere, too.
        among = ":" if len(by_value) <= MAX_NAMED else ", including"
        text = f"{subject} has several values{among} {'; '.join(parts)}"
        evidence = tuple(candidate.evidence[0] for candidate in visible)

    finding = Finding(
        Statement(text, evidence), "value", queries=[join_queries(queries)], notes=work.notes, condition=condition
    )
    finding.quotes = _quotes(work, best[0])
    remaining = [candidate for candidate in candidates if candidate.evidence[0] not in evidence][:MAX_DETAILS]
    finding.details = [detail_of(candidate, names_repository=names_repository) for candidate in remaining]
    return finding


def _condition_of(work: Work, candidate: ValueCandidate) -> str:
    """Return what a sentence says of the condition around the line of a value; empty for none."""
    target = work.inquiry.pins.of(candidate.repository)
    if target is None:
        return ""
    return condition_text(work.texts.lines(target, candidate.path), candidate.evidence[0].begin_line, candidate.path)


def detail_of(candidate: ValueCandidate, *, names_repository: bool) -> Statement:
    """State one more value with its location, for the lines below a headline."""
    location_text = describe_location(candidate, names_repository=names_repository)
    return Statement(f"{code(shown_value(candidate.value))} in {location_text}", (candidate.evidence[0],))


def _quotes(work: Work, candidate: ValueCandidate) -> list[FileEvidence]:
    if candidate.locations and candidate.locations[0].definition.kind in FUNCTION_KINDS:
        head, line = head_at(work.texts, candidate.locations[0]), candidate.evidence[0].begin_line
        if head.begin_line <= line <= head.end_line:
            return [head]
        location = candidate.locations[0]
        first, last = max(location.definition.line, line - 2), min(location.definition.end_line, line + 2)
        return [
            work.texts.evidence(
                location.target, location.path, first, last, "definition", 1.0, (location.definition.name,)
            )
        ]

    return list(candidate.evidence)
