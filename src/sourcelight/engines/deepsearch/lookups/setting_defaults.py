"""Defaults of a name wherever code gives them: constants, registrations of settings, parameters of all functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import reader_of
from sourcelight.engines.deepsearch.lookups.defaults import (
    default_at,
    detail_of,
    find_value,
    follow_constant,
    state_values,
    value_at,
)
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate
from sourcelight.engines.deepsearch.lookups.definitions.search import definition_at, find_definitions
from sourcelight.engines.deepsearch.lookups.registrations import find_registrations
from sourcelight.engines.deepsearch.question.lookups.value_wording import read_constant_phrases
from sourcelight.engines.deepsearch.source.functions import name_before_list, swift_head
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of
from sourcelight.engines.symbols.definition_parser import Definition

_FILLERS = frozenset({"config", "conf", "cfg", "configuration", "value", "setting", "settings", "option", "default"})
_NULLS = frozenset({"none", "nil", "null", "undefined", "nullptr"})
_MAX_ROWS, _HEAD_LINES = 200, 40
"""Lines of a search, and lines above a parameter in which the head of its function begins."""
_MAX_LINE = 500
"""Characters of a line in which a parameter or a head is looked for."""


def find_setting(work: Work, name: str, owner: str, queries: list[str]) -> Finding | None:
    """Return the default that a program gives to a setting: by a constant of that name, or where it is registered."""
    # Options are written as `--name`, symbols of Ruby as `:name`.
    name = name.lstrip("-:")
    constants = [] if owner else default_constants(work, name, queries)
    registered = find_registrations(work, name, queries)
    if owner:
        registered = [
            candidate
            for candidate in registered
            if owner.lower() in re.split(r"[/.]", candidate.path.lower())
            or f"/{candidate.path.lower()}".endswith(f"/{owner.lower()}")
        ]
        # A flag of a file that may be meant has no value yet.
        registered = [item for item in registered if re.search(r"[./]", owner) or item.value.strip("\"'`")]

    # A constant that is named as the default is stronger evidence than a registration.
    candidates = _lowest(constants) or _lowest(registered)
    if not candidates:
        return None

    finding = state_values(work, candidates, candidates[0].subject, queries, verb=candidates[0].verb)
    if constants:
        finding.details += [
            detail_of(candidate, names_repository=len(work.inquiry.pins) > 1) for candidate in registered[:MAX_DETAILS]
        ]

    follow_constant(work, candidates, finding)
    return finding


def _lowest(candidates: Sequence[ValueCandidate]) -> list[ValueCandidate]:
    lowest = min((candidate.rank for candidate in candidates), default=0)
    return [candidate for candidate in candidates if candidate.rank == lowest]


def default_constants(work: Work, name: str, queries: list[str]) -> list[ValueCandidate]:
    """Find constants named as the default of a setting, such as ``DEFAULT_TIMEOUT``."""
    words = [part.lower() for part in parts_of(name)]
    if not words:
        return []

    searches = make_queries(work, f"case:no type:symbol /{escape_regexp(words[0])}/")
    queries += searches
    candidates: list[ValueCandidate] = []
    for row in run_searches(work, searches):
        parts = [part.lower() for part in parts_of(row["symbol"] or "")]
        if "default" not in parts or [part for part in parts if part not in _FILLERS] != words:
            continue

        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue

        definition = definition_at(work.texts, target, row["path"], row["symbol"], row["line_number"])
        if definition is None or definition.kind not in {"constant", "variable", "field", "enummember"}:
            continue

        candidate = value_at(work.texts, DefinitionLocation(target, row["path"], definition))
        if candidate is not None:
            candidates.append(candidate)

    # Constants of several names are defaults of several things: to choose one would be a guess.
    names = {candidate.subject for candidate in candidates}
    return candidates if len(names) == 1 else []


def find_any_default(work: Work, name: str, queries: list[str], *, scope: str = "") -> Finding | None:
    """Return the default of a parameter by the heads of all functions that give it one, if they agree on up to three.

    Tests and examples don't count. With a scope, only functions do whose path, class or name has all of its words.
    """
    if not name.isidentifier():
        return None

    texts = work.texts
    searches = make_queries(work, rf"case:yes type:file /\b{escape_regexp(name)}\s*(:[^=\n]*)?=/")
    queries += searches
    candidates: dict[tuple[str, str, int], ValueCandidate] = {}
    rows = [row for row in run_searches(work, searches) if row["type"] == "content"]
    for row in [row for row in rows if rank_of(row["path"]) == 0][:_MAX_ROWS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue

        head = _head_by_form(texts, target, row["path"], row["line_number"], name)
        if head is not None:
            candidate = default_at(texts, DefinitionLocation(target, row["path"], head), name)
            if candidate is not None and head.name.lower() == "param":
                # The block of a function or of a script, which is no function itself.
                candidate = replace(candidate, locations=[])
            if candidate is not None and candidate.value:
                candidates[row["repository"], row["path"], head.line] = candidate

        for definition in texts.iter_definitions(target, row["path"]):
            is_near = definition.line <= row["line_number"] <= definition.line + _HEAD_LINES
            if definition.kind not in FUNCTION_KINDS or not is_near or row["line_number"] > definition.end_line:
                continue
            if (row["repository"], row["path"], definition.line) in candidates:
                continue
            candidate = default_at(texts, DefinitionLocation(target, row["path"], definition), name)
            if candidate is not None and candidate.value:
                candidates[row["repository"], row["path"], definition.line] = candidate

    words = {part.lower() for part in parts_of(scope)}
    valued = [candidate for candidate in candidates.values() if _words_around(candidate) >= words]
    # In a place that prose describes, "None" often means that something else there sets it.
    is_of_prose = bool(words) or (name.isalpha() and name.islower() and f"`{name}`" not in work.inquiry.question)
    if is_of_prose and all(candidate.value.lower() in _NULLS for candidate in valued):
        return None
    if not valued or len({candidate.value for candidate in valued}) > MAX_NAMED:
        return None

    # Of functions that have such a parameter: that of a setting or of another program may be something else.
    subject = f"The default of the parameter {code(name)}"
    return state_values(work, valued, subject, queries)


_WITH_HEADS = frozenset({"Crystal", "Dart", "Groovy", "Nim", "PowerShell"})
"""Languages without a grammar whose heads of functions have a list in brackets with the values of parameters."""


def _head_by_form(texts: FileTexts, target: Target, path: str, number: int, name: str) -> Definition | None:
    """Return the function in whose head a line gives a parameter a value, in a language that no grammar reads."""
    if path.endswith(".swift"):
        return swift_head(texts.lines(target, path), number)

    language = language_of(path)
    if language not in _WITH_HEADS:
        return None

    lines = texts.lines(target, path)
    line = lines[number - 1] if number <= len(lines) else ""
    parameter = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line[:_MAX_LINE])
    before = None if parameter is None else name_before_list(lines, number, parameter.start())
    if before is None:
        return None

    function, head_line = before
    if language == "PowerShell":
        is_block = function.lower() == "param"
        return Definition(function, "function", "", 0, head_line, head_line, number) if is_block else None

    define = reader_of(language, function)
    kind = None if define is None else define(lines[head_line - 1][:_MAX_LINE])
    return Definition(function, "function", "", 0, head_line, head_line, number) if kind == "function" else None


def _words_around(candidate: ValueCandidate) -> set[str]:
    """Return the words in the path, the classes and the names of the functions of a default, in lower case."""
    names = [candidate.path, *(f"{item.definition.name} {item.definition.container}" for item in candidate.locations)]
    tokens = re.findall(r"\w+", " ".join(names))
    return {part.lower() for token in tokens for part in parts_of(token)}


_WITH_BARE_CALLS = frozenset({"Ruby", "Crystal", "Groovy", "Elixir", "CoffeeScript"})
"""Languages whose calls need no brackets, so that a class may set a property by ``max_length 140``."""


def is_set_otherwise(work: Work, name: str, finding: Finding | None) -> bool:
    """Return whether lines outside of tests give a name another value than the default of a function's parameter."""
    if finding is None or not finding.headline.text.startswith("The default of ") or not name.isidentifier():
        return False

    pattern = rf"^\s*{escape_regexp(name)}\s+(?:-?\d|[\"':]\w|true\b|false\b|nil\b)"
    value = re.compile(rf"\s*{re.escape(name)}\s+([^\s,]+)")
    for row in find_rows(work, make_queries(work, f"case:yes type:file /{pattern}/")).lines:
        if rank_of(row["path"]) or language_of(row["path"]) not in _WITH_BARE_CALLS:
            continue
        match = value.match((row["line"] or "")[:200])
        if match is not None and match[1] not in finding.headline.text:
            return True

    return False


def find_phrase_constant(work: Work) -> Finding | None:
    """Return the literal value of the only name that is made of the words that a question asks for."""
    phrases, holder = read_constant_phrases(work.inquiry.words.strip(" ?.!"))
    for phrase in phrases:
        words = [_LONG_FORMS.get(word, word) for word in phrase]
        spelling = "[_-]?".join(words)
        queries = make_queries(work, rf"case:no type:file /(^|[^A-Za-z\d]){spelling}\b/")
        form = re.compile(
            rf"(?<![A-Za-z\d])(?P<name>_?k?{spelling})(?![\w-])[^=:\n]{{0,30}}(?:[:=]|\s\S)", re.IGNORECASE
        )
        rows = [row for row in run_searches(work, queries)[:_MAX_ROWS] if rank_of(row["path"]) == 0]
        names = {match["name"] for row in rows for match in form.finditer((row["line"] or "")[:_MAX_LINE])}
        constants = {name for name in names if name.isupper()}
        names = constants if len(constants) == 1 else names
        if len(names) != 1:
            continue
        name = names.pop()
        locations = [item for item in find_definitions(work, name, queries, unparsed=True) if item.rank.is_code]
        if holder:
            parts = holder.split()
            locations = [item for item in locations if all(part in _text_around(item) for part in parts)]
        finding = find_value(work, locations, name, queries) if locations else None
        if finding is not None and _LITERAL.search(finding.headline.text) is not None:
            return finding
    return None


_LONG_FORMS = {"max": "max(?:imum|imal)?", "min": "min(?:imum|imal)?"}
_LITERAL = re.compile(
    r"^`[^`]+` is set to `+ ?(?:-?\d[\d_]+[.\w]*(?:\s*(?:\*|<<)\s*\d[\d_]*)*|-?\d+\.\d+\w?|[2-9]|\d+\s*\*[\d_* ]+"
    r"|@?b?[\"'](?:[^\"'`]|\\.)+[\"'](?:\.freeze)?) ?`+,(?!.*other lines of the file)"
)
"""A value that a program doesn't count up from, nor switches."""


def _text_around(location: DefinitionLocation) -> str:
    return f"{location.path} {location.definition.container}".lower()
