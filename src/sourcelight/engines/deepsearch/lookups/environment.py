"""Environment variables that code reads: all of them, or the variable that some words describe."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_listing_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE, language_at
from sourcelight.engines.deepsearch.lookups.recount import rows_of_code
from sourcelight.engines.deepsearch.lookups.uses import (
    FUNCTIONS,
    definition_around,
    holder_of,
    is_code,
    location_in,
    quote_around,
    state_use,
)
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS, VARIABLE
from sourcelight.engines.deepsearch.source.values import parameters_of

_CHECKED = re.compile(r"[\"']([A-Za-z_]\w*)[\"']\s+(?:not\s+)?in\s+(?:os\.)?environ\b")
"""A variable that is searched for in the environment of Python."""
_BY_PARAMETER = re.compile(
    r"(?:environ(?:\.get)?\s*[\[(]|[gG]et[eE]nv\s*\(|LookupEnv\s*\(|ENV\s*\[|ENV\.fetch\s*\(|process\.env\[|env::var(?:_os)?\s*\()"
    r"\s*&?([A-Za-z_]\w*)\s*[\]),]"
)
"""A variable whose name another one holds."""
_VAGUE_HELPERS = frozenset({"get", "set", "read", "find", "main", "open", "load"})
_GRAMMAR = frozenset({"the", "a", "an", "of", "for", "in", "its", "number"})


@dataclass(slots=True)
class _Variables:
    """The first line that reads each variable by name, the searches, and whether other variables are read, too."""

    first_rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    is_unresolved: bool = False
    is_elsewhere: bool = False
    scripts: int = 0
    programs: int = 0


def list_environment(work: Work) -> Finding | None:
    """Return the variables of the environment that code reads by name."""
    variables = _read_variables(work)
    first_rows = variables.first_rows

    # In a script of a shell, no line tells a variable of the environment from another one.
    if not first_rows or variables.scripts > variables.programs:
        return None

    names = sorted(first_rows)
    name_list = join_words([code(name) for name in names[:MAX_DETAILS]])

    # No number: a library may read others, by forms that no list of functions has.
    these = "this environment variable" if len(names) == 1 else "these environment variables"
    these = "these environment variables and others" if len(names) > MAX_DETAILS else these
    text = f"Code reads {these} by name: {name_list}"
    text += "; tests, examples or documents read others" if variables.is_elsewhere else ""
    text += "; other reads use names that no line spells out" if variables.is_unresolved else ""
    text += "; shell scripts were not read" if variables.scripts else ""
    statements = [
        Statement(f"{code(name)}: {statement.text}", statement.evidence)
        for name in names[:MAX_DETAILS]
        for statement in [state_use(work, first_rows[name], "")]
    ]
    evidence = tuple(item for statement in statements[:MAX_NAMED] for item in statement.evidence)
    finding = Finding(
        Statement(text, evidence),
        "environment",
        queries=[join_queries(variables.queries)],
        notes=work.notes,
        heading="Locations",
    )
    finding.details = statements
    finding.method.append("Covers code outside of tests and examples, without names that code builds at run time.")
    return finding


def _read_variables(work: Work) -> _Variables:
    anything = (
        r"\benviron(ment)?\b|[gG]et_?[eE]nv|LookupEnv\s*\(|\bENV(\[|\.fetch|\{)|process\.env\b|env::var|GetEnvironmentVariable"
        r"|lookupEnv|fetch_env"
    )
    queries = make_queries(work, f"case:yes type:file /{anything}/")
    rows = [row for row in run_searches(work, queries) if row["type"] == "content"]
    first_rows: dict[str, dict[str, Any]] = {}
    helpers: dict[str, None] = {}
    is_unresolved = False
    ordered = sorted(filter(is_code, rows), key=lambda row: (row["path"], row["line_number"]))
    code_lines = rows_of_code(work, ordered)
    for row in code_lines:
        for match in VARIABLE.finditer(row["line"]):
            if not match[2]:
                first_rows.setdefault(match[1], row)
        for match in _CHECKED.finditer(row["line"]):
            first_rows.setdefault(match[1], row)
        for match in _BY_PARAMETER.finditer(row["line"]):
            helper = _helper_around(work, row, match[1])
            is_unresolved = is_unresolved or not helper
            helpers |= {helper: None} if helper else {}

    for helper in helpers:
        called = make_queries(work, rf"case:yes type:file /\b{escape_regexp(helper)}\(\s*[\"'][A-Za-z_]/")
        queries += called
        for row in sorted(run_searches(work, called), key=lambda row: (row["path"], row["line_number"] or 0)):
            call_match = re.search(rf"\b{re.escape(helper)}\(\s*[\"']([A-Za-z_]\w*)[\"']", row["line"] or "")
            if call_match is not None and rank_of(row["path"]).is_of_project and not DOCUMENTS.search(row["path"]):
                first_rows.setdefault(call_match[1], row)

    # Tests and examples read their own variables, which aren't the program's.
    of_code = {(row["repository"], row["path"], row["line_number"]) for row in code_lines}
    other = [row for row in rows if (row["repository"], row["path"], row["line_number"]) not in of_code]
    scripts, programs = _count_scripts(work)
    elsewhere = {match[1] for row in other for match in VARIABLE.finditer(row["line"]) if not match[2]}
    return _Variables(first_rows, queries, is_unresolved, bool(elsewhere - first_rows.keys()), scripts, programs)


def _count_scripts(work: Work) -> tuple[int, int]:
    """Return how many files of code are scripts of a shell, and how many are not."""
    counts = Counter[bool]()
    for row in run_searches(work, make_listing_queries(work)):
        target = work.inquiry.pins.of(row["repository"])
        if row["path"] and target is not None and rank_of(row["path"]).is_code:
            language = language_at(work.texts, target, row["path"])
            counts[language == "Shell"] += bool(language) and language not in NO_CODE
    return counts[True], counts[False]


def find_variable(work: Work, words: str) -> Finding | None:
    """Return where the variable is read whose name has all words of a text; None for none, or for several."""
    variables = _read_variables(work)
    parts = [_bare(word) for word in re.findall(r"\w+", words.lower()) if word not in _GRAMMAR]
    names = [name for name in variables.first_rows if all(part in _bare(name.lower()) for part in parts)]
    if not parts or len(names) != 1:
        return None

    name, row = names[0], variables.first_rows[names[0]]
    location = f"{location_in(row, holder_of(work, row))}, line {row['line_number']:,}"
    statement = state_use(work, row, "")
    text = f"{code(name)} is read from the environment in {location}: {code(row['line'].strip()[:160])}"
    finding = Finding(
        Statement(text, statement.evidence), "environment", queries=[join_queries(variables.queries)], notes=work.notes
    )
    finding.quotes = [quote_around(work, row)]
    finding.method.append(
        f"It is the only one of {count_of(len(variables.first_rows), 'variable')} with "
        f"{join_words([code(part) for part in parts])} in its name."
    )
    return finding


def _bare(word: str) -> str:
    """Return a word without underscores and the ending of a plural."""
    text = word.replace("_", "")
    return text[:-1] if len(text) > 3 and text.endswith("s") and not text.endswith("ss") else text


def _helper_around(work: Work, row: Mapping[str, Any], parameter: str) -> str:
    """Return the function around a line that is given the name of a variable as its first parameter; else nothing."""
    around = definition_around(work, row, lambda entry: entry.kind in FUNCTIONS and entry.kind != "class")
    target = work.inquiry.pins.of(row["repository"])
    if around is None or target is None or len(around.name) < 3 or around.name in _VAGUE_HELPERS:
        return ""
    read = parameters_of(work.texts.lines(target, row["path"]), around.name, around.line, row["path"])
    names = [entry.name for entry in read[0] if entry.name not in {"self", "cls"}] if read is not None else []
    return around.name if names[:1] == [parameter] else ""
