"""Counts of tests, by the custom of each language that has files.

A custom is a search, and a rule that leaves out lines that only look like tests. A project may define tests in forms of
its own, such as macros: then the count is a least one, or nothing is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.markup import code, count_of, join_first, join_words
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    cited_line,
    file_conditions,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES, unparsed_languages
from sourcelight.engines.deepsearch.source.test_customs import TEST_CUSTOMS, keep_tests

_MANY_CUSTOMS = frozenset({"C", "C++", "F#", "Haskell", "OCaml", "Scala"})
"""Languages whose test frameworks have macros or functions of their own."""


def count_tests(work: Work) -> Fact:
    """Count tests, by the custom of each language that is there."""
    files = [row for row in run_searches(work, make_listing_queries(work)) if row["path"]]
    file_counts = Counter(row["language"] for row in files)
    names = "|".join(escape_regexp(term.text) for term in work.request.terms)
    tests = _find_tests(work, file_counts, names)
    rows = tests.rows
    fact = Fact(
        len(rows),
        f"{noun_for('test', len(rows))} {'are' if len(rows) != 1 else 'is'} defined{file_conditions(work)}"
        f"{_in_words(tests.counts, tests.languages)}",
        join_queries(tests.queries) or join_queries(make_listing_queries(work)),
        notes=work.notes,
        unit="tests",
    )
    if tests.languages and not rows and not names:
        place_table = _test_places(work)
        if place_table.total:
            return _without_custom(work, fact, place_table, sum(file_counts.values()))

    if not tests.languages:
        # In no language whose tests have a form that is known: zero would be a guess.
        fact.unread = sorted(file_counts.keys() & PROGRAMMING_LANGUAGES) or ["other"]
        return fact

    customs = {custom.language for custom in TEST_CUSTOMS}
    fact.unread = [language for language in unparsed_languages(work) if language not in customs]
    rules = "; ".join(f"{number:,} {rule} ({language})" for language, rule, number in tests.counts)
    fact.rule = (
        "Counts tests as written, so a test with parameters counts once: "
        f"{rules or 'no language has a known convention'}."
    )
    in_other_forms = _languages_with_other_tests(files, tests)
    if rows and in_other_forms:
        fact.is_least = True
        fact.sentences.append(
            f"Some {join_words(in_other_forms)} files are named like tests but have no test of a known form."
        )

    own_forms = {} if names else _own_forms(work, tests.languages)
    if own_forms and rows:
        fact.is_least = True
        forms = join_first([code(f"{form}(") for form in sorted(own_forms)], MAX_NAMED)
        fact.sentences.append(f"Lines that begin with {forms} may define tests, too, and don't count.")
    elif own_forms:
        fact.unread = sorted({*fact.unread, *own_forms.values()})

    if tests.local_functions:
        fact.sentences.append(
            f"{count_of(tests.local_functions, 'function')} inside "
            f"{'other functions are' if tests.local_functions > 1 else 'another function is'} left out."
        )

    if names:
        fact.sentences.append("Only rows whose name or line contains the text count.")

    fact.repositories = Counter(row["repository"] for row in rows)
    fact.tables = [_tests_table(work, rows)]
    return fact


@dataclass(slots=True)
class _TestRows:
    """Tests of all languages that have a custom and files.

    `counts` has language, rule and number for each custom with a test; `local_functions` are functions that are named
    like tests and that no runner calls.
    """

    languages: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    counts: list[tuple[str, str, int]] = field(default_factory=list)
    local_functions: int = 0


def _find_tests(work: Work, file_counts: Mapping[str, int], names: str) -> _TestRows:
    """Find tests by the customs of the languages that have files; with `names`, a pattern, those that match it."""
    tests = _TestRows()
    for custom in TEST_CUSTOMS:
        language = custom.language
        if not file_counts.get(language) or (work.request.languages and language not in work.request.languages):
            continue

        tests.languages.append(language)
        # Where macros define the tests, functions that are named like tests help them.
        if language == "C" and _own_forms(work, (language,)):
            continue
        queries = make_queries(work, f"lang:{quote_value(language)} {custom.search}", languages=False)
        rows = run_searches(work, queries)
        rows = keep_tests(language, rows)
        if names:
            rows = [row for row in rows if re.search(names, row["symbol"] or row["line"] or "")]

        if language == "Python":
            # No runner calls a function within another one: it is often a helper that is named `test`.
            called = [row for row in rows if not _is_local(row)]
            tests.local_functions += len(rows) - len(called)
            rows = called

        if language == "Swift":
            # An attribute on a separate line marks the function below as a test.
            attributes = [row for row in rows if "@Test" in (row["line"] or "") and "func" not in (row["line"] or "")]
            above = {(row["path"], row["line_number"] + 1) for row in attributes}
            rows = [row for row in rows if (row["path"], row["line_number"]) not in above]

        if rows:
            tests.queries += queries
            rule = custom.describe(row["line"] or "" for row in rows)
            tests.counts.append((language, rule, len(rows)))
            tests.rows += rows

    return tests


_OWN_MACRO = re.compile(r"(?P<name>TEST_(?!(?:[FP]|CASE\w*|SUITE\w*|GROUP\w*|MAIN)\s*\()\w+)\s*\(")
"""A macro that is named like those of test frameworks for C++, at the beginning of a line."""
_OWN_WRAPPER = re.compile(r"[ \t]{0,40}(?P<name>(?:test|it)[A-Z]\w*)\s*\(\s*[\"'`]")
"""A function that is named like those of test frameworks for JavaScript, called with the name of a test."""
_OWN_DART = re.compile(r"[ \t]{0,40}(?P<name>test(?!Widgets\b)[A-Z]\w*)\s*\(")
_OWN_ECMASCRIPT = (r"/^[ \t]*(?:test|it)[A-Z]\w*\s*\(/", _OWN_WRAPPER)
_OWN_FORMS = (
    ("C++", r"/^TEST_\w+\s*\(/", _OWN_MACRO),
    ("C", r"/^[A-Z_]*TEST[A-Z_]*\s*\(\w/", re.compile(r"(?P<name>[A-Z_]*TEST[A-Z_]*)\s*\(")),
    ("JavaScript", *_OWN_ECMASCRIPT),
    ("TypeScript", *_OWN_ECMASCRIPT),
    ("Dart", r"/^[ \t]*test[A-Z]\w*\s*\(/", _OWN_DART),
)
"""For each language, a search for lines with forms of a project's own, and the form in a line."""


_MAX_FORM = 300
"""Characters of a line that are compared with such a form."""


def _own_forms(work: Work, languages: Collection[str]) -> dict[str, str]:
    """Return what a project may define tests with beside a framework, such as ``TEST_XML``, with its language."""
    forms: dict[str, str] = {}
    for language, text, form in _OWN_FORMS:
        if language not in languages:
            continue
        queries = make_queries(work, f"lang:{quote_value(language)} type:file case:yes {text}", languages=False)
        for row in run_searches(work, queries):
            match = form.match((row["line"] or "")[:_MAX_FORM])
            if match is not None and (language == "C++" or is_test(row["path"])):
                forms[match["name"]] = language

    return forms


def _languages_with_other_tests(files: Sequence[dict[str, Any]], tests: _TestRows) -> list[str]:
    """Return the languages of files that are named like tests and have none of a known form."""
    without_tests = _MANY_CUSTOMS - {language for language, _, _ in tests.counts}
    languages = {row["language"] for row in files if row["language"] in without_tests and is_test(row["path"])}
    return sorted(languages) if languages & set(tests.languages) else []


def _tests_table(work: Work, rows: Sequence[dict[str, Any]]) -> Rows:
    table = Rows("Tests", ("repository", "path", "line_number", "test"))
    for row in rows:
        test = row["symbol"] or (row["line"] or "").strip()
        table.add((row["repository"], row["path"], row["line_number"], test), cited_line(work, row))
    return table


def _is_local(row: dict[str, Any]) -> bool:
    """Return whether a function of Python is within another function, or a method within a class of one."""
    container = row["container"] or ""
    return bool(container) if row["symbol_kind"] == "function" else "." in container and "test" not in container.lower()


_NAMED_AS_TEST = r"^[ \t]*(?:#[ \t]*define[ \t]+)?\w*(?:TEST|Test)\w*[ \t]*\("


def _test_places(work: Work) -> Rows:
    """Return the files, functions and macros that are named after tests, a file once."""
    searches = (
        make_queries(work, "type:path file:test"),
        make_queries(work, "type:symbol /test/ select:symbol.function"),
        make_queries(work, f"type:file case:yes /{_NAMED_AS_TEST}/"),
    )
    table = Rows("Places", ("repository", "path", "line_number", "line"))
    seen: set[tuple[str, str]] = set()
    for row in (row for queries in searches for row in run_searches(work, queries)):
        path = row["path"] or ""
        name = path if row["type"] == "path" else row["symbol"] or row["line"] or ""
        if (row["repository"], path) in seen or "test" not in _OTHER_WORDS.sub("", name).lower():
            continue
        if language_of(path) not in PROGRAMMING_LANGUAGES:
            continue
        seen.add((row["repository"], path))
        citation = cited_line(work, row)
        table.add((row["repository"], path, row["line_number"] or 1, (row["line"] or "").strip()), citation)

    return table


_OTHER_WORDS = re.compile(r"(?:la|con|pro|at|grea|fas|newes|oldes|sho|lon|highes)test", re.IGNORECASE)
"""Words that only end with "test", such as "latest"."""


def _without_custom(work: Work, fact: Fact, place_table: Rows, files: int) -> Fact:
    """State that no test has a known form where names say that there are some: zero would be wrong."""
    first = place_table.rows[0][1]
    other_count = place_table.total - 1
    further = f" and {count_of(other_count, 'other file')}" if other_count else ""
    fact.number = None
    fact.subject = (
        f"No test of a known form was found in {count_of(files, 'file')}{file_conditions(work)}, but {code(first)}"
        f"{further} {'have test names in their paths' if other_count else 'has a test name in its path'} or code"
    )
    fact.is_open = True
    fact.rule = "The number of tests in these files is unknown, because test frameworks have different conventions."
    fact.tables = [place_table]
    return fact


def _in_words(counts: Sequence[tuple[str, str, int]], languages: Sequence[str]) -> str:
    """Say by which customs tests were counted: in another sense, a project may have more or fewer."""
    if not counts:
        return f" by the test conventions of {join_words(list(dict.fromkeys(languages)))}" if languages else ""
    if len(counts) > 2:
        return f", by the test conventions of {join_words([language for language, _, _ in counts])}"
    return f": {' and '.join(f'{number:,} {rule}' if len(counts) > 1 else rule for _, rule, number in counts)}"
