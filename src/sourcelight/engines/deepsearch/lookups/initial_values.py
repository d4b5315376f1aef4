"""Defaults that code assigns: constants named in prose, members set where things are made ready, merged literals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, FileEvidence, Finding
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.deepsearch.lookups.defaults import find_parameter_default, heads_of, state_values, value_at
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate
from sourcelight.engines.deepsearch.lookups.definitions.search import (
    definition_at,
    find_definitions,
    split_name,
    with_overloads,
)
from sourcelight.engines.deepsearch.lookups.recount import code_lines
from sourcelight.engines.deepsearch.question.lookups import Lookup
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.deepsearch.source.test_customs import is_in_test_module
from sourcelight.engines.deepsearch.source.values import (
    in_one_line,
    is_counter,
    parameters_of,
    read_expression,
    value_of,
)
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of
from sourcelight.engines.symbols.definition_parser import Definition

_NUMBER_WORDS = frozenset({"number", "num", "nr", "no", "n", "count", "amount"})
_SMALL_WORDS = frozenset({"of", "the", "a", "an", "in", "for", "to", "per"})
_FILLERS = frozenset({"config", "conf", "cfg", "configuration", "value", "setting", "settings", "option", "options"})
_SAME = {"maximum": "max", "minimum": "min", "dflt": "default", "len": "length", "secs": "seconds"}
_CONSTANTS = frozenset({"constant", "variable", "field", "enummember", "property"})
_PREPARING = re.compile(r"default|settings|config|option", re.IGNORECASE)
_LITERAL = re.compile(
    r"-?\d[\w.]*(?:\s*(?:\*|<<|\+|-)\s*[\d.]+)*|\"[^\"]*\"|'[^']*'|`[^`$]*`|(?i:true|false|none|nil|null|undefined)|Infinity"
)
_MERGED = re.compile(r"\.\.\.\s*\w|\bObject\.assign\(|\bdefaults?\b", re.IGNORECASE)
_MAX_ROWS = 200
_LITERAL_LINES = 40


def normal_words(text: str) -> list[str]:
    """Return the words of a name or of prose that tell it apart: singular, without "number of" and fillers."""
    words = []
    for part in (part.lower() for word in re.split(r"[\s-]+", text) for part in parts_of(word)):
        if part in _NUMBER_WORDS or part in _SMALL_WORDS or part in _FILLERS:
            continue
        word = _SAME.get(part, part)
        words.append(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)
    return words


def find_constant_of(work: Work, text: str, queries: list[str]) -> Finding | None:
    """Return the value of the only constant named like a phrase such as "read buffer size".

    A constant that is called a default comes before one that is not. Different values in the best files are left to
    the ranking: no line tells which of them is meant.
    """
    words = normal_words(text)
    if not words:
        return None

    searches = make_queries(work, f"case:no type:symbol /{escape_regexp(max(words, key=len))}/")
    queries += searches
    candidates: list[tuple[bool, ValueCandidate]] = []
    for row in run_searches(work, searches):
        parts = normal_words(row["symbol"] or "")
        is_default = "default" in parts
        name_words = sorted(word for word in words if word != "default")

        # One word, such as `size`, is in the names of too many constants to mean one of them.
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue

        # Constants of C begin with the name of their project.
        project = normal_words(target.repository.name.rpartition("/")[2])
        if project and parts[: len(project)] == project and parts != project:
            parts = parts[len(project) :]

        if sorted(part for part in parts if part != "default") != name_words or (
            len(name_words) < 2 and not is_default
        ):
            continue

        definition = definition_at(work.texts, target, row["path"], row["symbol"], row["line_number"])
        if definition is None or definition.kind not in _CONSTANTS:
            continue

        # A member of an enum is one of several values; only its own name makes it a default.
        if definition.kind == "enummember" and not is_default:
            continue

        candidate = value_at(work.texts, DefinitionLocation(target, row["path"], definition))
        # Values set by tests aren't the program's.
        if candidate is None or candidate.rank:
            continue

        is_set = _LITERAL.fullmatch(candidate.value) and not is_counter(row["symbol"] or "", candidate.value)
        if candidate.value and (is_default or is_set):
            candidates.append((not is_default, candidate))

    if not candidates:
        return None

    best = min((lacks_default, candidate.rank) for lacks_default, candidate in candidates)
    selected = [item for lacks_default, item in candidates if (lacks_default, item.rank) == best]
    return _state_one(work, selected, queries)


def find_initial_value(work: Work, text: str, owner: str, queries: list[str]) -> Finding | None:
    """Return the value that code gives to a setting before anyone else does; None if no line is certain.

    Members count that a function for settings or defaults sets to a literal, literals that replace an absent option
    (``options.size || 10``), keys of literals that options are merged into, and defaults in the documentation of
    parameters. With an `owner`, only names inside it count.
    """
    words = normal_words(text)
    if not words or any(not word.isalnum() for word in words):
        return None

    # The words may be in another order, with others such as num_ and _count: they are compared below.
    name = rf"\b\w*{escape_regexp(max(words, key=len))}\w*\b"
    pattern = (
        rf"(?:\.|->){name}\s*=|\b{name}\s*=\s*[\w$@.?]*{name}\b|^\s*[{{,]?\s*[\"']?{name}[\"']?\s*(?::|=>?)"
        rf"|\[[\w.]*{name}\s*="
        rf"|^\s*{_OPTIONS_CALL}\s+[\"':]?{name}[\"']?\s*(?::|=>)"
    )
    searches = make_queries(work, f"case:no type:file /{pattern}/")
    queries += searches
    rows = [row for row in run_searches(work, searches) if row["type"] == "content"]

    # Longer lines are minified or generated: a reader couldn't check a quote of them.
    rows = [row for row in rows if rank_of(row["path"]).is_code and len(row["line"] or "") < 1_000]
    matcher = re.compile(
        rf"(?P<documented>\[[\w.]*?(?P<parameter>{name})\s*=)"
        rf"|(?P<name>{name})[\"']?\s*(?P<sign>:(?![:=])|=>|=(?!=))",
        re.IGNORECASE,
    )
    candidates = [
        candidate for row in rows[:_MAX_ROWS] for candidate in _candidates_at(work, row, matcher, words, owner)
    ]
    order: Mapping[str, int] = {"merged": 0, "set": 0, "fallback": 0, "documented": 1}
    best = min((order[kind] for kind, _ in candidates), default=0)
    return _state_one(work, [item for kind, item in candidates if order[kind] == best], queries)


def find_parameter_of(work: Work, text: str, owner: str, queries: list[str]) -> Finding | None:
    """Return the default of the only parameter named like a phrase, of the only class or function named like another.

    "The max nesting level of the queue formatter" is ``maxNestingLevel`` of ``QueueFormatter``.
    """
    words, owner_words = normal_words(text), normal_words(owner)
    if len(words) < 2 or not owner_words:
        return None

    texts = work.texts
    searches = make_queries(work, f"case:no type:symbol /{escape_regexp(max(owner_words, key=len))}/")
    queries += searches
    locations = {}
    for row in run_searches(work, searches):
        target = work.inquiry.pins.of(row["repository"])
        if target is None or rank_of(row["path"]) or normal_words(row["symbol"] or "") != owner_words:
            continue
        definition = definition_at(texts, target, row["path"], row["symbol"], row["line_number"])
        if definition is not None and definition.kind in {"class", "struct", *FUNCTION_KINDS}:
            location = DefinitionLocation(target, row["path"], definition)
            locations[row["repository"], row["path"], row["line_number"]] = location

    if len(locations) != 1:
        return None

    location = next(iter(locations.values()))
    names = set()
    for head in with_overloads(texts, heads_of(texts, location)):
        read = parameters_of(texts.lines(head.target, head.path), head.definition.name, head.definition.line, head.path)
        names |= {parameter.name.lstrip("$") for parameter in (read[0] if read is not None else ())}

    alike = [name for name in names if normal_words(name) == words]
    if len(alike) != 1:
        return None

    return find_parameter_default(work, [location], alike[0], location.definition.name, queries)


def find_assigned_value(work: Work, name: str, owner: str, queries: list[str]) -> Finding | None:
    """Return the value of a local name that exactly one line of code outside of tests assigns; None for several."""
    searches = make_queries(work, f"case:yes type:file /{escape_regexp(name)}/")
    queries += searches
    assigned = re.compile(rf"(?<![\w$]){re.escape(name)}\s*(?:[-+*/|&^]|<<|>>|:)?=(?![=~>])")
    rows = [
        row
        for row in run_searches(work, searches)
        if row["type"] == "content" and rank_of(row["path"]).is_code and assigned.search((row["line"] or "")[:1_000])
    ]
    rows = [row for row in rows if language_of(row["path"]) in PROGRAMMING_LANGUAGES]
    if len(rows) != 1 or re.match(rf"\s*{re.escape(name)}\s*=", rows[0]["line"] or "") is None:
        return None

    row = rows[0]
    target = work.inquiry.pins.of(row["repository"])
    number, path = row["line_number"], row["path"]
    is_code = any(line == number for line, _ in code_lines(work, row["repository"], path))
    value = value_of(work.texts.lines(target, path), name, number, path) if target is not None and is_code else None
    if target is None or value is None or (owner and not is_in_scope(path, "", owner)):
        return None

    evidence = work.texts.evidence(target, path, value.begin_line, value.end_line, "definition", 1.0, (name,))
    candidate = ValueCandidate(value.text, code(name), path, [evidence], 0, row["repository"], "is set to")
    return _state_one(work, [candidate], queries)


def is_file(scope: str) -> bool:
    """Return whether a scope is written as a path or as a name of a file."""
    return "/" in scope or _FILE_ENDING.search(scope.strip("`")) is not None


def is_in_scope(path: str, container: str, scope: str) -> bool:
    """Return whether the path and the class of a definition have all words of a scope, such as "the queue handler"."""
    if is_file(scope):
        return path == scope or path.endswith(f"/{scope}")

    names = (*path.split("/"), container)
    present = {word for name in names for word in normal_words(name)}
    words = normal_words(scope)
    if re.search(r"\.|::", scope) is not None:
        # In the name of a module, as "Mill.Config", no word is a filler.
        present |= {part.lower() for name in names for part in parts_of(name)}
        words += [part.lower() for part in parts_of(scope)]

    return bool(words) and present.issuperset(words)


_FILE_ENDING = re.compile(r"\.(?:[a-z]\w*|R|Rmd|PL)$")
"""The end of a file's name; a capital letter begins a part of a module's name."""


def are_calls_in_scope(
    work: Work, finding: Finding | None, definitions: Sequence[DefinitionLocation], lookup: Lookup
) -> bool:
    """Return whether a scope such as "the reader" is where a function is defined, or where all of its calls are.

    Of a function that others share their name with, calls that match by name alone may be calls of the others.
    """
    (owner, simple), scope = split_name(lookup.name), lookup.owner
    if finding is None or not (scope or owner):
        return True
    has_rivals = False
    if definitions and re.match(rf"`{re.escape(simple)}` .{{0,40}}by name ", finding.headline.text) is not None:
        positions = {(item.path, item.definition.line) for item in definitions}
        all_definitions = find_definitions(work.without_notes(), simple, [], unparsed=True)
        has_rivals = any(
            item.rank.is_code and (item.path, item.definition.line) not in positions for item in all_definitions
        )
    if not scope:
        return not has_rivals
    in_scope = [is_in_scope(location.path, location.definition.container, scope) for location in definitions]
    if in_scope and all(in_scope) and not has_rivals:
        return True

    lines = [item for statement in finding.details for item in statement.evidence if isinstance(item, FileEvidence)]
    return (
        bool(lines)
        and len(finding.details) < MAX_DETAILS
        and all(is_in_scope(line.path, " ".join(line.symbols), scope) for line in lines)
    )


def _state_one(work: Work, candidates: Sequence[ValueCandidate], queries: list[str]) -> Finding | None:
    """State candidates of one value; None for several that no line tells apart."""
    if not candidates or len({candidate.value for candidate in candidates}) > 1:
        return None

    first = candidates[0]
    return state_values(
        work,
        candidates,
        first.subject,
        queries,
        verb="is set to" if not first.subject.startswith("The") else "is",
    )


def _candidates_at(
    work: Work, row: Mapping[str, Any], matcher: re.Pattern[str], words: Sequence[str], owner: str
) -> Iterator[tuple[str, ValueCandidate]]:
    """Yield the default that a line gives to a name with the requested words, and how the line gives it.

    How is ``documented``, ``fallback`` (of an absent option), ``merged`` (options are merged into it) or ``set``.
    """
    texts = work.texts
    target = work.inquiry.pins.of(row["repository"])
    match = matcher.search(row["line"])
    if target is None or match is None:
        return

    number, path = row["line_number"], row["path"]
    name = match["parameter"] or match["name"]
    if sorted(normal_words(name)) != sorted(words) or is_in_test_module(texts.lines(target, path), number, path):
        return

    lines = texts.lines(target, path)
    holders = _holders(texts, target, path, lines, number)
    binding = _binding_around(lines, number, language_of(path) or "") if not holders else ""
    names = {definition.name for definition in holders} | {definition.container for definition in holders} | {binding}
    if owner and owner.casefold() not in {name.casefold() for name in names}:
        return

    evidence = texts.evidence(target, path, number, number, "definition", 1.0, (name,))
    default = partial(ValueCandidate, path=path, evidence=[evidence], rank=0, repository=row["repository"])
    if match["documented"]:
        value = re.match(r"\s*([^\]\n]{1,80})\]", row["line"][match.end("documented") :])
        if value is not None:
            yield "documented", default(value[1], f"The documentation says that the default of {code(name)}")
        return

    expression = read_expression(lines, number - 1, match.end(), path, ",;", ends_with_line=True)
    is_on_line = expression is not None and expression.line == number - 1
    value_text = in_one_line(expression.text.rstrip(",;")) if expression is not None and is_on_line else ""
    if match["sign"] == "=" and (fallback := _fallback_of(name, value_text)):
        yield "fallback", default(fallback, f"The default of {code(name)}")
        return
    if _LITERAL.fullmatch(value_text) is None:
        return

    enclosing = next((definition for definition in holders if definition.kind in FUNCTION_KINDS), None)
    owners = [] if enclosing is None else [DefinitionLocation(target, path, enclosing)]
    is_set = default(value_text, code(name), verb="is set to", locations=owners)
    member = re.search(r"([A-Za-z_]\w*(?:\.|->))$", row["line"][: match.start("name")])
    if match["sign"] != "=":
        if _is_merged(lines, number - 1):
            yield "merged", is_set
    # Other functions set it to what someone asked for.
    elif member is not None and enclosing is not None and _PREPARING.search(enclosing.name):
        yield "set", replace(is_set, subject=code(f"{member[1]}{name}"))
    elif member is None and _OF_DEFAULTS.search(binding) is not None:
        yield "set", is_set


_OF_DEFAULTS = re.compile(r"^def(?:ault)?(?:[A-Z_]|s?$)|Defaults?$|_defaults?$")
_WITH_RECORDS = frozenset({"Elm", "F#", "Haskell", "OCaml", "PureScript"})
"""Languages that no grammar reads, in which a record gives its fields values by a sign of equality."""


def _binding_around(lines: Sequence[str], number: int, language: str) -> str:
    """Return the name of the function or value around a line in languages of records; empty in others."""
    if language not in _WITH_RECORDS:
        return ""
    return enclosing_function(list(lines_of_code(lines, language)), number, language)


def _fallback_of(name: str, expression: str) -> str:
    """Return the literal that replaces an absent option of this name; empty for another expression."""
    option = rf"(?:[\w$@]+(?:\??\.|->))*[$@]?{re.escape(name)}|[\w$@.]+\[[\"':]{re.escape(name)}[\"']?\]"
    match = re.fullmatch(rf"(?:{option})\s*(?:\|\||\?\?|\bor\b)\s*({_LITERAL.pattern})", expression)
    return match[1] if match is not None else ""


def _holders(texts: FileTexts, target: Target, path: str, lines: Sequence[str], number: int) -> list[Definition]:
    """Return the definitions around a line, with the comments above their heads, the smallest first."""
    enclosing = [
        definition
        for definition in texts.iter_definitions(target, path)
        if definition.begin_line <= number <= definition.end_line
        or (
            number < definition.begin_line <= number + _LITERAL_LINES
            and comment_start(lines, definition.begin_line - 1) < number
        )
    ]
    return sorted(enclosing, key=lambda definition: definition.end_line - definition.begin_line)


def _is_merged(lines: Sequence[str], index: int) -> bool:
    """Return whether the literal around a line takes over options, or is called a default."""
    depth = 0
    for number in range(index, max(-1, index - _LITERAL_LINES), -1):
        text = lines[number]
        for letter in reversed(text if number != index else text[: len(text) - len(text.lstrip())]):
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                return _MERGED.search(text) is not None or spreads(lines, index)

    return _is_of_options_call(lines, index)


_OPTIONS_CALL = r"(?:define_\w{0,20}options?|(?:set_)?defaults?(?:_options?)?)"
"""A call of Ruby that declares options with their defaults: ``define_options pretty: false``."""
BEGINS_OPTIONS = re.compile(rf"\s*{_OPTIONS_CALL}\s+[\"':]?\w+[\"']?\s*(?::|=>)")


def _is_of_options_call(lines: Sequence[str], index: int) -> bool:
    """Return whether a line (from 0) has an argument of a call without brackets that declares options."""
    for number in range(index, max(-1, index - _LITERAL_LINES), -1):
        if BEGINS_OPTIONS.match(lines[number][:200]) is not None:
            return True
        if number == 0 or not lines[number - 1].rstrip().endswith(","):
            return False

    return False


def spreads(lines: Sequence[str], index: int) -> bool:
    """Return whether a literal continues, behind one of its lines, with what it takes over."""
    depth = 0
    for number in range(index, min(len(lines), index + _LITERAL_LINES)):
        if depth == 0 and re.match(r"\s*\.\.\.\s*[A-Za-z_]", lines[number]):
            return True
        for letter in lines[number]:
            depth += (letter in "([{") - (letter in ")]}")
            if depth < 0:
                return False

    return False
