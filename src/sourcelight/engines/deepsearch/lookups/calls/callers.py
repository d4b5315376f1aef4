"""Callers of a function: from the call graph, or the lines that have its name, with a line of code per call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.cells.json_lines import with_cell_line
from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.kinds import KEYWORDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import is_parsed, is_unread_code
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.calls.callees import call_graph, is_call
from sourcelight.engines.deepsearch.lookups.calls.calls_by_form import language_in
from sourcelight.engines.deepsearch.lookups.calls.uses_by_form import (
    are_types,
    asks_for_uses,
    defines_by_form,
    find_by_form,
    find_lines_with_calls,
    is_no_plain_word,
)
from sourcelight.engines.deepsearch.lookups.definitions.blocks import address_of
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, best_locations
from sourcelight.engines.deepsearch.lookups.definitions.search import definition_at
from sourcelight.engines.deepsearch.source.call_forms import OPTIONAL_BRACKETS, has_call
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS, IMPORT
from sourcelight.engines.deepsearch.source.test_customs import is_in_test_module

_CALLABLE = frozenset({"function", "method", "constructor", "class", "struct"})
_MAX_DEFINITIONS = 3
_MAX_NAMESAKES = 20
"""Definitions of a name without a grammar, above which nothing is said of its callers: a sentence about the name."""
_MIN_NAMESAKES = 2
"""Callers of one name, from which on a sentence names their classes, or else their files."""


def find_callers(work: Work, locations: Sequence[DefinitionLocation], name: str) -> Finding | None:
    """Return the callers of a function, or what uses a type; None if its callers are uncertain."""
    best = best_locations(locations)
    if not best or len(best) > _MAX_NAMESAKES:
        return None

    address = address_of(work.texts, best)
    if address:
        return find_lines_with_calls(work, [], address)

    callables = [location for location in best if location.definition.kind in _CALLABLE]
    if not callables or (asks_for_uses(work) and are_types(best)):
        return find_by_form(work, best[0].definition.name, best, [])

    simple = callables[0].definition.name
    # In Vim script, the path of a file is a part of the name, and `s:load` is another function than `tree#load`.
    if "#" in name and all(language_of(location.path) == "Vim Script" for location in callables):
        simple = name
    # Elsewhere, a function of Erlang is called by the name of its module, and `connect` is the name of others, too.
    if ":" in name and all(language_of(location.path) == "Erlang" for location in callables):
        simple = name

    are_parsed = all(is_parsed(work.texts, location.target, location.path) for location in callables)
    if not are_parsed or len(callables) > _MAX_DEFINITIONS:
        return find_by_form(work, simple, callables, [])

    return _find_by_graph(work, callables, name)


def _find_by_graph(work: Work, callables: Sequence[DefinitionLocation], name: str) -> Finding | None:
    """Return the callers of functions that a grammar reads."""
    simple = callables[0].definition.name
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    counts: Counter[tuple[str, str, int]] = Counter()
    queries: list[str] = []
    complete = True
    for location in callables:
        answer = call_graph(work, "callers", location, queries)
        if answer is None:
            return None

        complete = complete and answer.complete
        on_line: Counter[tuple[str, str, int]] = Counter()
        for row in map(with_cell_line, answer.table.to_pylist()):
            if is_call(row, simple):
                key = row["caller_repository"], row["caller_path"], row["line_number"]
                rows.setdefault(key, row)
                on_line[key] += 1

        counts |= on_line  # a call that may be of two definitions is one call

    if not rows:
        return find_by_form(work, simple, callables, queries)

    for key, row in rows.items():
        row["calls"] = counts[key]

    name_rows = run_searches(work, make_queries(work, f"case:yes type:file /{escape_regexp(simple)}/"))
    other_lines = _other_lines(work, simple, rows.keys(), name_rows)
    is_of_code = not any(rank_of(path) for _, path, _ in rows)
    is_only_one = len(callables) == 1
    are_missing = any(line.has_call and (is_only_one or line.is_unread) for line in other_lines)
    # Calls of tests alone would hide what the code does with the name, such as register it.
    is_hidden = all(rank_of(path) for _, path, _ in rows) and any(rank_of(line.key[1]).is_code for line in other_lines)
    # The graph has calls with brackets or a receiver alone.
    are_missing = are_missing or (_may_be_bare(callables) and any(rank_of(line.key[1]).is_code for line in other_lines))
    if is_no_plain_word(simple) and (is_hidden or (is_of_code and are_missing)):
        # Where types aren't declared, a receiver tells nothing: all calls of the only thing of the name count. So do
        # those of files that no grammar could read.
        by_form = find_lines_with_calls(work, callables, simple, name_rows=name_rows)
        if by_form is not None:
            return by_form

    is_whole = complete and not work.notes and not any(line.is_unread for line in other_lines)

    # Lines of tests say nothing of the project's code, but may call a function of a test, or the one that tests call.
    is_of_tests = all(rank_of(location.path) for location in callables) or all(rank_of(path) for _, path, _ in rows)
    number = sum(is_of_tests or rank_of(line.key[1]).is_code for line in other_lines)
    return _state(
        work,
        list(rows.values()),
        name,
        callables,
        queries,
        is_whole=is_whole,
        other_lines=number,
        # Tests in another language may call it: no call graph follows a method of Java into Scala.
        excludes_tests=number < len(other_lines),
    )


def _may_be_bare(callables: Sequence[DefinitionLocation]) -> bool:
    """Return whether a name alone may be a call of one of some definitions."""
    return any(language_of(location.path) in OPTIONAL_BRACKETS for location in callables)


_WITHOUT_TYPES = frozenset({"JavaScript", "PHP", "Python", "Ruby"})
"""Languages in which nothing declares the type of a receiver."""


@dataclass(frozen=True, slots=True)
class _OtherLine:
    """A line with a name that isn't among the calls of the graph.

    Attributes
    ----------
    key
        Repository, path and line.
    is_unread
        Whether it may call the function where no grammar reads it.
    has_call
        Whether it has the form of a call, outside of tests, in a language that declares no types or an unread file.
    """

    key: tuple[str, str, int]
    is_unread: bool
    has_call: bool


def _other_lines(
    work: Work,
    name: str,
    calls: Collection[tuple[str, str, int]],
    name_rows: Sequence[Mapping[str, Any]],
) -> list[_OtherLine]:
    """Return the lines of code with a name that neither define, import nor surely call it."""
    other_lines: list[_OtherLine] = []
    # No owner before it: a member of something else may have the name, which navigation tells apart.
    # A name in brackets, as in `client['read']()`, is one that navigation doesn't follow.
    call = re.compile(rf"(?<![\w$.>:'\"]){re.escape(name)}\(|\[['\"]{re.escape(name)}['\"]\]\(")
    word = re.compile(rf"\b{re.escape(name)}\b")
    for row in name_rows:
        target, key = work.inquiry.pins.of(row["repository"]), (row["repository"], row["path"], row["line_number"])
        if row["type"] != "content" or target is None or key in calls or DOCUMENTS.search(row["path"]):
            continue
        if word.search(row["line"] or "") is None:
            continue
        if COMMENT.match(row["line"]) or IMPORT.match(row["line"]) or defines_by_form(work, row, name):
            continue
        if definition_at(work.texts, target, row["path"], name, row["line_number"]) is None:
            is_call = rank_of(row["path"]).is_code and call.search(row["line"] or "") is not None
            language = language_in(work, row["repository"], row["path"])
            is_unread = is_unread_code(work.texts, target, row["path"])
            may_call = (language in _WITHOUT_TYPES or is_unread) and rank_of(row["path"]).is_code
            line = _OtherLine(
                key=key,
                is_unread=is_call or is_unread,
                has_call=may_call and has_call(row["line"] or "", name, language),
            )
            other_lines.append(line)

    return other_lines


def _state(
    work: Work,
    rows: list[dict[str, Any]],
    name: str,
    callables: Sequence[DefinitionLocation],
    queries: Sequence[str],
    *,
    is_whole: bool,
    other_lines: int,
    excludes_tests: bool,
) -> Finding:
    for row in rows:
        row["rank"] = _rank(work, row)
    rows.sort(key=lambda row: (row["rank"], row["caller_path"], row["line_number"]))
    main = [row for row in rows if not row["rank"]] or rows
    is_partly_tests = len(main) < len(rows)
    by_caller: dict[tuple[str, str, str, int], dict[str, Any]] = {}
    for row in main:
        _name_caller(work, row)
        key = (row["caller_repository"], row["caller_path"], row["caller"] or "", row["caller_line"] or 0)
        by_caller.setdefault(key, row)

    _add_containers(work, main)

    # Overloads share a name and a file: the name stands once for all of them.
    row_of_name: dict[str, dict[str, Any]] = {}
    for row, caller in zip(by_caller.values(), _distinct_callers(list(by_caller.values())), strict=True):
        row_of_name.setdefault(caller, row)

    visible = list(row_of_name.values())[: 2 * MAX_NAMED]
    statements = [_statement(work, row) for row in visible]
    evidence = tuple(item for statement in statements[:MAX_NAMED] for item in statement.evidence)
    name_list = join_words(list(row_of_name)[: len(visible)])
    if len(row_of_name) > len(visible):
        name_list = f"{len(by_caller):,} places, including {name_list}"

    count = _count_calls(main, callables[0].definition.name)
    is_whole = is_whole and count.is_confirmed

    # A call that only shares the name may be of something else: of another class, of a library.
    by_name = any(row["how"] in {"name", "text"} for row in main)
    by = "called by name in" if by_name or len(callables) > 1 else "called by"
    file_count = count_of(len({(row["caller_repository"], row["caller_path"]) for row in main}), "file")
    outside = " outside of tests and examples" if is_partly_tests or excludes_tests else ""
    is_least = not is_whole or (other_lines and _may_be_bare(callables))
    counts = f"{'at least ' if is_least else ''}{count.text} in {file_count}{outside}"
    if other_lines:
        # A name that is passed on is called elsewhere. No number: what is code in a notebook or a text is not certain.
        counts += "; other lines have the name, too"

    text = f"{code(name)} is {by} {name_list} ({counts})"
    finding = Finding(Statement(text, evidence), "callers", queries=list(queries), heading="Used by")
    files_again = recount.files_in({(row["caller_repository"], row["caller_path"], row["line_number"]) for row in main})
    finding.recounts = frozenset({count.recount, len(files_again), len(by_caller)})
    finding.details = [_statement(work, row) for row in main[:MAX_DETAILS]]
    if len(main) > MAX_DETAILS:
        finding.method.append(f"The list has the first {MAX_DETAILS} of {len(main):,} lines with calls.")

    if is_partly_tests:
        in_tests = sum(row["calls"] for row in rows if row["rank"])
        finding.method.append(f"Tests and examples have {count_of(in_tests, 'more call')}.")

    finding.method += _reservations(len(callables), by_name=by_name, is_whole=is_whole)
    return finding


def _rank(work: Work, row: Mapping[str, Any]) -> int:
    """Return 0 for a caller in code; more for one in tests, also those within a file of code, and in examples."""
    target = work.inquiry.pins.of(row["caller_repository"])
    rank = rank_of(row["caller_path"])
    if rank or target is None:
        return rank
    path = row["caller_path"]
    return 2 if is_in_test_module(work.texts.lines(target, path), row["line_number"], path) else 0


@dataclass(frozen=True, slots=True)
class _CallCount:
    """The number of calls on some lines: in words, as counted again, and whether both counts agree."""

    text: str
    recount: int
    is_confirmed: bool


def _count_calls(rows: Sequence[Mapping[str, Any]], name: str) -> _CallCount:
    """Count the calls on lines that the call graph gives, and again by the name on these lines."""
    calls = sum(row["calls"] for row in rows)
    pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    name_count = sum(len(pattern.findall(row["line"] or "")) for row in rows)
    number = min(calls, name_count) or calls

    # A method reference or a function that is passed on has no bracket, and neither has a call in Ruby.
    bracketed = re.compile(rf"{pattern.pattern}\s*(?:\?\.|!)?\s*(?:\(|(?:::)?<[^<>()]*>\s*\(|\[[^\[\]()]*\]\()")
    are_calls = sum(len(bracketed.findall(row["line"] or "")) for row in rows) >= number
    references = "1 call or reference" if number == 1 else f"{number:,} calls or references"
    text = count_of(number, "call") if are_calls else references
    return _CallCount(text, min(number, name_count), name_count == calls)


def _reservations(definition_count: int, *, by_name: bool, is_whole: bool) -> list[str]:
    """Say what makes a list of callers uncertain, a sentence each."""
    reservations = []
    if by_name:
        reservations.append("Some calls match only by name, so they may call another function of this name.")

    if definition_count > 1:
        reservations.append(
            f"{definition_count} definitions have this name, and the list has the calls of all of them."
        )

    if not is_whole:
        reservations.append("There may be more calls, because not every file with the name could be parsed.")

    return reservations


_MACRO = re.compile(r"[A-Z][A-Z\d_]*")
_OF_MACROS = frozenset({"C", "C++", "Objective-C", "Objective-C++", "Cuda"})
_MACRO_HEAD = re.compile(r"(?P<head>[A-Z][A-Z\d_]*\(\s*\w+(?:\s*,\s*\w+)*\s*\))\s*\{?\s*$")
"""The head of a function that a macro defines, such as a test: `TEST(Parser, Empty) {`."""
_MAX_HEAD = 300


def _name_caller(work: Work, row: dict[str, Any]) -> None:
    """Name the function around a call by the lines before it, where a macro in its head confused the grammar."""
    repository, path = row["caller_repository"], row["caller_path"]
    language = language_in(work, repository, path)
    if language in _OF_MACROS and _MACRO.fullmatch(row["caller"] or "") is not None:
        row["caller"] = _head_of_macro(work, row)
        return
    if row["caller"] and row["caller"] not in KEYWORDS:
        return

    lines = recount.code_lines(work, repository, path)
    row["caller"] = enclosing_function(lines, row["line_number"], language)


def _head_of_macro(work: Work, row: Mapping[str, Any]) -> str:
    """Return the macro and its arguments in the first column above a call; empty if another line is there."""
    before = [
        line
        for number, line in recount.code_lines(work, row["caller_repository"], row["caller_path"])
        if number <= row["line_number"] and line[:1].strip() and not line.startswith(("{", "#"))
    ]
    head = _MACRO_HEAD.match(before[-1][:_MAX_HEAD]) if before else None
    return "" if head is None else head["head"]


_MEMBER_SIGNS = {"C++": "::", "Rust": "::", "PHP": "::", "Ruby": "#"}
"""Signs between a class and its method, other than a dot."""


def _add_containers(work: Work, rows: Sequence[dict[str, Any]]) -> None:
    """Add the class to the name of each caller that another one has, too."""
    positions_by_caller: dict[str, set[tuple[str, str, int]]] = {}
    for row in rows:
        position = (row["caller_repository"], row["caller_path"], row["caller_line"] or 0)
        positions_by_caller.setdefault(row["caller"], set()).add(position)

    for row in rows:
        repository, path, caller = row["caller_repository"], row["caller_path"], row["caller"]
        target = work.inquiry.pins.of(repository)
        if target is None or not caller or len(positions_by_caller[caller]) < _MIN_NAMESAKES:
            continue

        definition = definition_at(work.texts, target, path, caller, row["caller_line"] or 0)
        if definition is not None and definition.container:
            sign = _MEMBER_SIGNS.get(language_in(work, repository, path), ".")
            row["caller_in"] = f"{definition.container}{sign}{caller}"


def _known_caller(row: Mapping[str, Any]) -> str:
    """Name the function of a call; empty if no function around it is known."""
    if not row["caller"] or row["caller"] in KEYWORDS:
        return ""
    return code(row.get("caller_in") or row["caller"])


def _caller(row: Mapping[str, Any]) -> str:
    """Name the function of a call, or where it is if there is none with a name."""
    # Not "the top level": where a grammar lost its way, the function around a call isn't known.
    return _known_caller(row) or f"code of {code(row['caller_path'])}"


def _distinct_callers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the function of each call, with its file where functions of one name are in several files."""
    files_by_caller: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        files_by_caller.setdefault(_caller(row), set()).add((row["caller_repository"], row["caller_path"]))

    callers = []
    for row in rows:
        caller = _caller(row)
        files = files_by_caller[caller]
        if _known_caller(row) and len(files) >= _MIN_NAMESAKES:
            caller += f" in {code(row['caller_path'])}"
            if len({repository for repository, _ in files}) > 1:
                caller += f" of {code(row['caller_repository'])}"

        callers.append(caller)

    return callers


def _statement(work: Work, row: Mapping[str, Any]) -> Statement:
    target = work.inquiry.pins.of(row["caller_repository"])
    text = f"{_known_caller(row) or 'code'} in {code(row['caller_path'])}: {code((row['line'] or '').strip()[:160])}"
    if target is None:
        return Statement(text)

    line = row["line_number"]
    symbols = (row["caller"],) if row["caller"] else ()
    return Statement(text, (work.texts.evidence(target, row["caller_path"], line, line, "usage", 0.0, symbols),))
