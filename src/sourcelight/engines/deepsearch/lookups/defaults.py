"""Values of constants, and defaults of parameters and settings, as the lines that set them say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.core.markup import code, count_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.model import Finding, Statement
from sourcelight.engines.deepsearch.lookups.names import (
    MAX_PLACES,
    SHOWN,
    NamedPlace,
    best_places,
    definition_at,
    find_definitions,
    head_of_place,
    noun_of,
    rank_of,
)
from sourcelight.engines.deepsearch.lookups.values import Parameter, parameters_of, read_parameters, value_of
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.tokenizer import parts_of

_VALUED = frozenset({"constant", "variable", "field", "property", "enummember", "module", "function"})
_SHOWN_CHARS = 120
_FILLERS = frozenset({"config", "conf", "cfg", "configuration", "value", "setting", "settings", "option", "default"})
_MAX_CALLS = 200
_DEFAULT_NAMES = re.compile(r"^_*(?:default|defaults|dflt|def|fallback)(?:_?val(?:ue)?|_?v)?$", re.IGNORECASE)
_SETTERS = re.compile(r"^(?:set|set_?default|set_?option|put|default|config|define|register_?option)$", re.IGNORECASE)
_FLAGS = re.compile(
    r"^(?:String|Int|Int64|Int32|Uint|Uint64|Uint32|Bool|Duration|Float64|Float32|StringSlice)(?P<var>Var)?(?P<short>P)?$"
)
"""Functions of Go's ``flag`` and of ``pflag``: name, with P a shorthand, value, usage; with Var a pointer before."""


@dataclass(slots=True)
class ValueCandidate:
    """A value at a place: what it is said to be, the lines that prove it, and the file's rank."""

    value: str
    what: str
    path: str
    evidence: list[FileEvidence]
    rank: int
    repository: str = ""
    verb: str = "is"
    places: list[NamedPlace] = field(default_factory=list)


def find_value(
    work: Work, places: Sequence[NamedPlace], name: str, queries: list[str], notes: list[str]
) -> Finding | None:
    """Return the value of a constant or the like at its definitions; None if no definition gives it a value."""
    texts = FileTexts(work.context)
    candidates = [candidate for place in places if (candidate := value_at(texts, place)) is not None]
    if not candidates:
        return None
    finding = state_values(work, candidates, code(name), "value", queries, notes)
    _follow(work, candidates, finding, notes)
    return finding


def value_at(texts: FileTexts, place: NamedPlace) -> ValueCandidate | None:
    """Return the value that a definition gives its name; None if it gives none that can be read."""
    definition = place.definition
    lines = texts.lines(place.target, place.path)
    if definition.kind not in _VALUED:
        return None
    value = value_of(lines, definition.name, definition.line, place.path)
    if value is None:
        return None
    quote = texts.evidence(
        place.target, place.path, value.begin_line, value.end_line, "definition", 1.0, (definition.name,)
    )
    return ValueCandidate(value.text, "", place.path, [quote], place.rank, place.target.repository.name, places=[place])


def find_parameter_default(
    work: Work, owners: Sequence[NamedPlace], name: str, owner: str, queries: list[str], notes: list[str]
) -> Finding | None:
    """Return the default of a parameter of a function, or of what makes a class; None if no head has the parameter."""
    texts = FileTexts(work.context)
    candidates: list[ValueCandidate] = []
    for place in best_places(owners):
        for head in _heads_of(texts, place):
            candidate = default_at(texts, head, name)
            if candidate is not None:
                candidates.append(candidate)
                break
        else:
            field_value = _field_of(texts, place, name)
            if field_value is not None:
                candidates.append(field_value)
    if not candidates:
        return None
    if all(not candidate.value for candidate in candidates):
        first = candidates[0]
        text = f"{code(name)} of {code(owner)} has no default: {code(first.path)} gives it none"
        return Finding(Statement(text, (first.evidence[0],)), "value", queries=[join_queries(queries)], notes=notes)
    valued = [candidate for candidate in candidates if candidate.value]
    finding = state_values(work, valued, f"The default of {code(name)} of {code(owner)}", "value", queries, notes)
    _follow(work, valued, finding, notes)
    return finding


def _heads_of(texts: FileTexts, place: NamedPlace) -> list[NamedPlace]:
    """Return the functions whose parameters are meant: the function itself, or what makes an object of a class."""
    if place.definition.kind in {"function", "method", "constructor"}:
        return [place]
    definitions = texts.engine.store.definitions_of(place.target, place.path)
    heads = []
    for definition in definitions.each() if definitions is not None else ():
        within = place.definition.begin_line <= definition.line <= place.definition.end_line
        if not within or definition.container.rpartition(".")[2] != place.definition.name:
            continue
        if definition.kind == "constructor" or definition.name in {
            "__init__",
            "initialize",
            "constructor",
            "__new__",
            "new",
        }:
            heads.append(NamedPlace(place.target, place.path, definition))
    return heads


def default_at(texts: FileTexts, head: NamedPlace, name: str) -> ValueCandidate | None:
    """Return the default that the head of a function gives a parameter, empty for none; None without the parameter."""
    lines = texts.lines(head.target, head.path)
    read = parameters_of(lines, head.definition.name, head.definition.line, head.path)
    if read is None:
        return None
    parameters, _ = read
    for parameter in parameters:
        if parameter.name != name:
            continue
        value = parameter.value
        if (
            not value
            and head.path.endswith(".rb")
            and (keyword := re.match(rf"{re.escape(name)}:\s*(\S.*)$", parameter.text))
        ):
            value = keyword[1]
        evidence = texts.evidence(
            head.target, head.path, parameter.line, parameter.line, "definition", 1.0, (head.definition.name,)
        )
        return ValueCandidate(value, "", head.path, [evidence], head.rank, head.target.repository.name, places=[head])
    return None


def _field_of(texts: FileTexts, place: NamedPlace, name: str) -> ValueCandidate | None:
    """Return the value that the body of a class gives to a field."""
    if place.definition.kind in {"function", "method"}:
        return None
    definitions = texts.engine.store.definitions_of(place.target, place.path)
    for definition in definitions.each() if definitions is not None else ():
        if (
            definition.name == name
            and definition.container.rpartition(".")[2] == place.definition.name
            and definition.kind in _VALUED
        ):
            candidate = value_at(texts, NamedPlace(place.target, place.path, definition))
            if candidate is not None and definition.kind != "function":
                return candidate
    return None


def _follow(work: Work, candidates: Sequence[ValueCandidate], finding: Finding, notes: list[str]) -> None:
    """Where the value is the name of a constant, add what that one is."""
    value = candidates[0].value
    if len({candidate.value for candidate in candidates}) != 1 or re.fullmatch(r"[A-Za-z_][\w.]*", value) is None:
        return
    places = find_definitions(work, value, "", notes, [])
    texts = FileTexts(work.context)
    near = [place for place in places if place.target.repository.name == candidates[0].repository and place.rank == 0]
    valued = [found for place in near if (found := value_at(texts, place)) is not None]
    if len({each.value for each in valued}) != 1:
        return
    constant = valued[0]
    finding.headline = Statement(
        f"{finding.headline.text}, which is {code(_shorten(constant.value))}",
        (*finding.headline.evidence, constant.evidence[0]),
    )
    finding.quotes.append(constant.evidence[0])


def find_setting(work: Work, name: str, owner: str, queries: list[str], notes: list[str]) -> Finding | None:
    """Return the default that a program gives to a setting: by a constant of that name, or where it is registered."""
    texts = FileTexts(work.context)
    name = name.lstrip("-:")
    constants = [] if owner else _default_constants(work, texts, name, queries, notes)
    registered = _find_registrations(work, texts, name, queries, notes)
    if owner:
        registered = [each for each in registered if owner.lower() in re.split(r"[/.]", each.path.lower())]
    candidates = _lowest(constants) or _lowest(registered)
    if not candidates:
        return None
    finding = state_values(work, candidates, candidates[0].what, "value", queries, notes, verb=candidates[0].verb)
    if constants:
        finding.places += [_place_of(each, several=len(work.inquiry.pins) > 1) for each in registered[:MAX_PLACES]]
    _follow(work, candidates, finding, notes)
    return finding


def _lowest(candidates: Sequence[ValueCandidate]) -> list[ValueCandidate]:
    lowest = min((candidate.rank for candidate in candidates), default=0)
    return [candidate for candidate in candidates if candidate.rank == lowest]


def _default_constants(
    work: Work, texts: FileTexts, name: str, queries: list[str], notes: list[str]
) -> list[ValueCandidate]:
    """Find constants whose names say that they are the default of a setting, such as ``DEFAULT_TIMEOUT``."""
    words = [part.lower() for part in parts_of(name)]
    if not words:
        return []
    searches = make_queries(work, f"case:no type:symbol /{escape_regexp(words[0])}/")
    queries += searches
    candidates: list[ValueCandidate] = []
    for row in run_searches(work, searches, notes):
        parts = [part.lower() for part in parts_of(row["symbol"] or "")]
        if "default" not in parts or [part for part in parts if part not in _FILLERS] != words:
            continue
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue
        definition = definition_at(texts, target, row["path"], row["symbol"], row["line_number"])
        if (
            target is None
            or definition is None
            or definition.kind not in {"constant", "variable", "field", "enummember"}
        ):
            continue
        candidate = value_at(texts, NamedPlace(target, row["path"], definition))
        if candidate is not None:
            candidate.what = code(definition.name)
            candidates.append(candidate)
    names = {candidate.what for candidate in candidates}
    return candidates if len(names) == 1 else []


def _find_registrations(
    work: Work, texts: FileTexts, name: str, queries: list[str], notes: list[str]
) -> list[ValueCandidate]:
    """Find calls that give a setting its default, by the name of the parameter or by what is known of the call."""
    quoted = rf"(\"-{{0,2}}{escape_regexp(name)}\"|'-{{0,2}}{escape_regexp(name)}'|:{escape_regexp(name)}\b)"
    searches = make_queries(work, f"case:yes type:file /{quoted}/")
    queries += searches
    rows = [row for row in run_searches(work, searches, notes) if row["type"] == "content"]
    rows = [row for row in rows if rank_of(row["path"]) < 2 and len(row["line"] or "") < 1_000]
    candidates: list[ValueCandidate] = []
    heads: dict[tuple[str, str], tuple[int, FileEvidence] | None] = {}
    for row in rows[:_MAX_CALLS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue
        candidate = _registration_at(work, texts, target, row["path"], row["line_number"], name, heads, notes)
        if candidate is not None:
            candidates.append(candidate)
    defaults = [candidate for candidate in candidates if candidate.verb == "is"]
    return defaults or candidates


def _registration_at(  # noqa: PLR0911, PLR0912 - one for each form of call
    work: Work,
    texts: FileTexts,
    target: Target,
    path: str,
    line: int,
    name: str,
    heads: dict[tuple[str, str], tuple[int, FileEvidence] | None],
    notes: list[str],
) -> ValueCandidate | None:
    lines = texts.lines(target, path)
    text = lines[line - 1]
    at = re.search(rf"[\"':]-{{0,2}}{re.escape(name)}(?![\w-])", text)
    if at is None:
        return None
    call = _call_around(lines, line - 1, at.start())
    if call is None:
        return None
    callee, call_line, column, is_bracketed = call
    if is_bracketed:
        read = read_parameters(lines, call_line, column, path)
        if read is None:
            return None
        arguments, last_line = read
    else:
        arguments, last_line = _bare_arguments(lines, call_line, column, path), line
    if last_line - call_line > 30:
        return None
    quote = texts.evidence(target, path, call_line + 1, last_line, "definition", 1.0, (callee,))
    position = next((index for index, each in enumerate(arguments) if _is_name(each.text, name)), None)
    if position is None:
        return None
    subject = f"The default of {code(name)}"
    for argument in arguments:
        keyword = re.match(r"(?:default|default_value|defaultValue)\s*(?:=(?!=)|:|=>)\s*(\S.*)$", argument.text)
        if keyword is not None and position == 0:
            return ValueCandidate(keyword[1], subject, path, [quote], rank_of(path), target.repository.name)
    flag = _FLAGS.match(callee)
    if flag is not None and path.endswith(".go"):
        index = position + (2 if flag["short"] else 1)
        if position == (1 if flag["var"] else 0) and index < len(arguments):
            return ValueCandidate(arguments[index].text, subject, path, [quote], rank_of(path), target.repository.name)
    if _SETTERS.match(callee) and position == 0 and len(arguments) == 2:
        return ValueCandidate(
            arguments[1].text, code(name), path, [quote], rank_of(path), target.repository.name, "is set to"
        )
    if callee not in {"set", "get", "put"} and is_bracketed:
        head = _default_parameter(work, texts, target, callee, heads, notes)
        if head is not None and position == 0 and head[0] < len(arguments) and head[0] > 0:
            return ValueCandidate(
                arguments[head[0]].text, subject, path, [quote, head[1]], rank_of(path), target.repository.name
            )
    return None


def _is_name(text: str, name: str) -> bool:
    listed = re.fullmatch(r"(?:\w+\s*=\s*)?\[(.*)\]", text)
    items = [text] if listed is None else re.split(r"\s*,\s*", listed[1])
    return any(re.fullmatch(rf"[\"':]?-{{0,2}}{re.escape(name)}[\"']?", item) is not None for item in items)


def _call_around(lines: Sequence[str], line: int, column: int) -> tuple[str, int, int, bool] | None:
    """Return the call that a place is in: its name, the place behind its bracket, and whether it has one."""
    depth = 0
    for number in range(line, max(-1, line - 6), -1):
        text = lines[number]
        position = (column if number == line else len(text)) - 1
        while position >= 0:
            letter = text[position]
            if letter in ")]}":
                depth += 1
            elif letter in "([{":
                if depth == 0 and letter == "[" and re.search(r"(?:^|[(,=:])\s*$", text[:position]) is not None:
                    # A list of names for one setting: keys=["jobs", "workers"].
                    position -= 1
                    continue
                if depth == 0:
                    name = re.search(r"([A-Za-z_$][\w$]*)\s*$", text[:position])
                    return (name[1], number, position + 1, True) if letter == "(" and name is not None else None
                depth -= 1
            position -= 1
        if number == line:
            bare = re.match(r"\s*(?:[\w.]+\.)?([A-Za-z_]\w*)\s+$", text[:column])
            if bare is not None and depth == 0:
                return bare[1], number, column, False
    return None


def _bare_arguments(lines: Sequence[str], line: int, column: int, path: str) -> list[Parameter]:
    """Read the arguments of a call without brackets, as Ruby has them, on one line."""
    read = read_parameters([f"{lines[line]})"], 0, column, path)
    if read is None and (comment := re.match(r"(.*?)\s+#.*$", lines[line])) is not None:
        read = read_parameters([f"{comment[1]})"], 0, column, path)
    return [] if read is None else read[0]


def _default_parameter(
    work: Work,
    texts: FileTexts,
    target: Target,
    callee: str,
    heads: dict[tuple[str, str], tuple[int, FileEvidence] | None],
    notes: list[str],
) -> tuple[int, FileEvidence] | None:
    """Return the number of the parameter of a function or macro that is called default, and its head."""
    key = target.repository.key, callee
    if key in heads:
        return heads[key]
    heads[key] = None
    for place in find_definitions(work, callee, "", notes, []):
        if place.target.repository.key != target.repository.key:
            continue
        read = parameters_of(texts.lines(place.target, place.path), callee, place.definition.line, place.path)
        if read is None:
            continue
        for index, parameter in enumerate(read[0]):
            if _DEFAULT_NAMES.match(parameter.name or parameter.text):
                line = place.definition.line
                evidence = texts.evidence(place.target, place.path, line, read[1], "definition", 1.0, (callee,))
                heads[key] = index, evidence
                return heads[key]
    return None


def state_values(
    work: Work,
    candidates: Sequence[ValueCandidate],
    subject: str,
    unit: str,
    queries: list[str],
    notes: list[str],
    verb: str = "is",
) -> Finding:
    """Write one value with its place, or up to three where the definitions differ."""
    lowest = min(candidate.rank for candidate in candidates)
    best = [candidate for candidate in candidates if candidate.rank == lowest]
    by_value: dict[str, ValueCandidate] = {}
    for candidate in best:
        by_value.setdefault(candidate.value, candidate)
    several = len(work.inquiry.pins) > 1
    if len(by_value) == 1:
        first = best[0]
        verb = "is set to" if verb == "is" and not subject.startswith("The ") else verb
        text = f"{subject} {verb} {code(_shorten(first.value))}, in {_where(first, several=several)}"
        if len(best) > 1:
            text += f" and {count_of(len(best) - 1, 'further place')}"
        evidence = tuple(first.evidence)
    else:
        visible = list(by_value.values())[:SHOWN]
        parts = [f"{code(_shorten(each.value))} in {_where(each, several=several)}" for each in visible]
        number = f"{len(by_value)} values" if len(by_value) <= SHOWN else f"{len(by_value)} values, among them"
        text = f"{subject} has {number}: {'; '.join(parts)}".replace("among them:", "among them")
        evidence = tuple(each.evidence[0] for each in visible)
    finding = Finding(Statement(text, evidence), unit, queries=[join_queries(queries)], notes=notes)
    finding.quotes = _quotes(work, best[0])
    remaining = [each for each in candidates if each.evidence[0] not in evidence][:MAX_PLACES]
    finding.places = [_place_of(each, several=several) for each in remaining]
    return finding


def _place_of(candidate: ValueCandidate, *, several: bool) -> Statement:
    where = _where(candidate, several=several)
    return Statement(f"{code(_shorten(candidate.value))} in {where}", (candidate.evidence[0],))


def _quotes(work: Work, candidate: ValueCandidate) -> list[FileEvidence]:
    if candidate.places and candidate.places[0].definition.kind in {"function", "method", "constructor"}:
        texts = FileTexts(work.context)
        head, line = head_of_place(texts, candidate.places[0]), candidate.evidence[0].begin_line
        if head.begin_line <= line <= head.end_line:
            return [head]
        place = candidate.places[0]
        first, last = max(place.definition.line, line - 2), min(place.definition.end_line, line + 2)
        return [texts.evidence(place.target, place.path, first, last, "definition", 1.0, (place.definition.name,))]
    return list(candidate.evidence)


def _where(candidate: ValueCandidate, *, several: bool) -> str:
    of = f" of {code(candidate.repository)}" if several else ""
    line = f", line {candidate.evidence[0].begin_line:,}"
    holder = candidate.places[0].definition if candidate.places else None
    container = ""
    if holder is not None and holder.kind in {"function", "method", "constructor"}:
        container = (
            f" (the {noun_of(holder)} {code(holder.name)}{f' of {code(holder.container)}' if holder.container else ''})"
        )
    return f"{code(candidate.path)}{of}{line}{container}"


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1].rstrip()}…"
