"""Callers that no call graph shows: lines that have the form of a call of a name, or of a use of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import (
    find_rows,
    join_queries,
    make_queries,
    row_evidence,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import UNPARSED_LANGUAGES, reader_of, whole_name
from sourcelight.engines.deepsearch.lookups.calls.calls_by_form import LineForm, language_in, state_calls_by_form
from sourcelight.engines.deepsearch.lookups.definitions.blocks import is_address
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.source.call_forms import (
    WITH_TYPES_FIRST,
    has_call,
    has_construction,
    has_reference,
    has_variable,
)
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS

_USES = re.compile(r"\b(?:us(?:e|es|ed|ing|ages?)|refer(?:s|red|ences?|enced)?)\b", re.IGNORECASE)
_TYPES = frozenset({"class", "struct", "interface", "enum", "type", "module"})


def asks_for_uses(work: Work) -> bool:
    """Return whether a question asks what uses a name: a type is used without a call."""
    return _USES.search(work.inquiry.question) is not None


def are_types(locations: Sequence[DefinitionLocation]) -> bool:
    """Return whether all of some definitions are types or modules."""
    return all(location.definition.kind in _TYPES for location in locations)


def find_lines_with_calls(
    work: Work,
    locations: Sequence[DefinitionLocation],
    name: str,
    path: str = "",
    name_rows: Sequence[Mapping[str, Any]] | None = None,
) -> Finding | None:
    """Return the lines that call a name, or use it, by their form; None if none has such a form.

    Parameters
    ----------
    work
        The request under way.
    locations
        The definitions of the name; none if no form of a definition is known.
    name
        The name.
    path
        The file, or the end of its path, that a question asks about; empty for all files.
    name_rows
        The lines with the name, if a search has given them; None to search for them.
    """
    searches = make_queries(work, f"case:yes type:file /{escape_regexp(name)}/")
    if name_rows is None:
        name_rows = run_searches(work, searches)
    rows = [row for row in name_rows if row["type"] == "content" and not _is_prose(row)]
    rows = [row for row in rows if not path or row["path"] == path or row["path"].endswith(f"/{path}")]
    finding = _mentions(work, name, locations, rows, [join_queries(searches)]) if rows else None
    return finding if finding is not None and finding.lists_uses else None


def defines_by_form(work: Work, row: Mapping[str, Any], name: str) -> bool:
    """Return whether the form of a line defines a name where no grammar does, such as a further clause in Elixir."""
    language = language_in(work, row["repository"], row["path"])
    define = reader_of(language, name) if language in UNPARSED_LANGUAGES else None
    return define is not None and define(row["line"] or "") is not None


def find_by_form(work: Work, name: str, callables: Sequence[DefinitionLocation], queries: list[str]) -> Finding | None:
    """State that nothing calls it, if no other line has the name."""
    searches = make_queries(work, f"case:yes type:file /{escape_regexp(name)}/")
    # A file that no grammar could parse is searched all the same.
    result = find_rows(work, searches)
    work.notes += result.notes
    defining = {(location.target.repository.name, location.path, location.definition.line) for location in callables}
    other_rows = [
        row
        for row in result.lines
        if (row["repository"], row["path"], row["line_number"]) not in defining
        # A line of a notebook's JSON may be a whole cell, with a call below the definition.
        or (is_jupyter(row["path"]) and (row["line"] or "").count(name) > 1)
    ]
    code_rows = [row for row in other_rows if not _is_prose(row)]
    # A prototype in a header, or a further clause, is no use.
    declared_rows = [row for row in code_rows if _is_declaration(work, row, name)]
    if len(declared_rows) < len(code_rows):
        # A line may call it in a way that no grammar shows, such as by a macro or in a shell script.
        finding = _mentions(work, name, callables, other_rows, [*queries, join_queries(searches)])
        # After an incomplete search, lines that call it are certain, and a list of all lines isn't.
        return finding if not result.notes or (finding is not None and finding.lists_uses) else None

    if result.notes:
        return None

    lines = {location.path: (location.target, location.definition.line) for location in reversed(callables)}
    for row in declared_rows:
        target = work.inquiry.pins.of(row["repository"])
        if target is not None:
            lines.setdefault(row["path"], (target, row["line_number"]))

    if len(lines) > MAX_NAMED:
        return None

    evidence = tuple(
        work.texts.evidence(target, path, line, line, "definition", 1.0, (name,))
        for path, (target, line) in sorted(lines.items())
    )
    defined = "its definition" if len(callables) + len(declared_rows) == 1 else "its definitions"
    prose = ", and comments and documents" if len(declared_rows) < len(other_rows) else ""
    paths = join_words([code(path) for path in sorted(lines)])
    text = f"No searched line has {code(name)} except {defined} in {paths}{prose}: nothing there calls it by name"
    finding = Finding(
        Statement(text, evidence), "callers", queries=[*queries, join_queries(searches)], is_negative=True
    )
    finding.method.append("The search can't find names that code builds at run time, or calls from other programs.")
    return finding


_METHOD = re.compile(r"\s*[-+]\s*\(")


def _is_declaration(work: Work, row: Mapping[str, Any], name: str) -> bool:
    """Return whether a line surely defines or declares a name: without a keyword, a call may look like a definition."""
    language = language_in(work, row["repository"], row["path"])
    is_sure = language not in {*WITH_TYPES_FIRST, "Groovy"} or _METHOD.match(row["line"] or "") is not None
    return is_sure and defines_by_form(work, row, name)


def _is_prose(row: Mapping[str, Any]) -> bool:
    """Return whether a line is a comment as a whole, or of a document: neither calls anything."""
    return COMMENT.match(row["line"] or "") is not None or DOCUMENTS.search(row["path"]) is not None


_FUNCTIONS = frozenset({"function", "method", "constructor"})
_NO_PLAIN_WORD = re.compile(r"[A-Za-z\d]+[_-]\w|[a-z]+[A-Z]|[A-Z][A-Z\d]*[a-z]+[A-Z]")
"""The beginning of a name that is no word of prose or of another variable."""


def is_no_plain_word(name: str) -> bool:
    """Return whether a name is neither a word of prose nor one that other things are likely to have."""
    return _NO_PLAIN_WORD.match(name.strip("_")) is not None


def _forms_of_uses(work: Work, name: str, locations: Sequence[DefinitionLocation]) -> list[LineForm]:
    """Return the forms of lines that answer a question about some definitions, the best one first."""
    are_functions = bool(locations) and all(location.definition.kind in _FUNCTIONS for location in locations)
    if is_address(name):
        return [has_reference]

    is_word = not is_no_plain_word(name)
    if not locations and is_word:
        return [has_construction]
    if are_functions:
        # What is handed on is called elsewhere; a variable may have the name of a function that is one word.
        return [has_call] if is_word else [has_call, has_reference]
    if not asks_for_uses(work):
        return [has_construction, has_reference]
    return [has_reference] if locations else [has_reference, has_variable]


def _are_references(work: Work, name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether any of some lines of code has a name that isn't in a list of names or a text."""
    return any(
        has_reference(row["line"] or "", name, language_in(work, row["repository"], row["path"])) for row in rows
    )


def _calls_among(
    work: Work,
    name: str,
    locations: Sequence[DefinitionLocation],
    lines: Sequence[Mapping[str, Any]],
    main: Sequence[Mapping[str, Any]],
    every: int,
) -> Statement | None:
    """State the calls that lines with a name have the form of, those in `main` code first; None without a form."""
    # Another name may be what other lines call.
    alias = re.compile(rf"(?<![\w$]){re.escape(name)}\s+as\s+\w")
    if any(alias.search(row["line"] or "") is not None for row in lines):
        return None

    forms = _forms_of_uses(work, name, locations)
    # Tests may be all that calls it.
    test_rows = [] if main is lines else [row for row in lines if is_test(row["path"])]
    in_main = (state_calls_by_form(work, name, main, every, has_form, test_rows) for has_form in forms)
    headline = next(filter(None, in_main), None)
    # Calls of tests alone would hide lines of code that use the name in a form that isn't known.
    if headline is None and (main is lines or not _are_references(work, name, main)):
        in_all = (state_calls_by_form(work, name, lines, every, has_form) for has_form in forms)
        headline = next(filter(None, in_all), None)
    return headline


def _names_type(line: str, name: str, question: str) -> bool:
    """Return whether a line has a method of one word behind the type of a question: ``LeafEncoder.encode(``."""
    asked_type = None if is_no_plain_word(name) else re.search(rf"\b([A-Z]\w*)(?:\.|::|#){re.escape(name)}\b", question)
    if asked_type is None:
        return False
    owner = rf"\b{asked_type[1]}(?:\([^()]{{0,60}}\))?"
    return re.search(rf"{owner}(?:\.|::|->){re.escape(name)}\b", line[:1_000]) is not None


def _mentions(
    work: Work,
    name: str,
    locations: Sequence[DefinitionLocation],
    rows: Sequence[Mapping[str, Any]],
    queries: list[str],
) -> Finding | None:
    """List the lines of code with a name that has no certain caller, or None."""
    lines = [
        row
        for row in rows
        if re.search(whole_name(name, language_in(work, row["repository"], row["path"])), row["line"] or "")
    ]
    lines = [row for row in lines if not _is_prose(row) and not defines_by_form(work, row, name)]
    # Where lines name the type before the method, others call a method of another type.
    of_type = [row for row in lines if _names_type(row["line"] or "", name, work.inquiry.question)]
    every, lines = len(lines), of_type or lines
    main = [row for row in lines if rank_of(row["path"]).is_code] or lines
    if not main:
        return None

    main.sort(key=lambda row: (row["path"], row["line_number"]))
    statements = []
    for row in main[:MAX_DETAILS]:
        evidence = row_evidence(work, row)
        if evidence is not None:
            statements.append(Statement(f"{code(row['path'])}: {code((row['line'] or '').strip()[:160])}", (evidence,)))

    headline = _calls_among(work, name, locations, lines, main, every)
    if headline is not None:
        finding = Finding(headline, "callers", queries=queries, heading="Lines with the name", lists_uses=True)
        finding.details = statements
        finding.method.append("Calls were found by the name alone: another function of this name may be called there.")
        return finding

    location_list = list(dict.fromkeys(f"{code(row['path'])}, line {row['line_number']:,}" for row in main))[:MAX_NAMED]
    # A colon promises all of them, and comments, texts and tests have the name, too.
    such = f"{':' if len(rows) == len(location_list) else ', such as'} {join_words(location_list)}"
    headline = Statement(
        f"No call of {code(name)} is certain, but other lines have the name{such}",
        tuple(item for statement in statements[:MAX_NAMED] for item in statement.evidence),
    )
    finding = Finding(headline, "callers", queries=queries, heading="Lines with the name")
    finding.details = statements

    if len(rows) > len(statements):
        finding.method.append(
            f"{count_of(len(rows), 'line')} besides definitions {'has' if len(rows) == 1 else 'have'} the name, "
            f"including lines of tests, comments and strings. The list has {len(statements):,} of them."
        )

    return finding
