"""Count what the form of a line declares: the messages of a file of Protocol Buffers, the variables of Terraform."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.facts.declared.forms import DECLARED_FORMS, DeclaredForm, noun_of
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    cited_line,
    file_conditions,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    rows_of_code,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES, UNPARSED_LANGUAGES
from sourcelight.engines.symbols.grammars import LANGUAGES

_OF_ANY_LANGUAGE = frozenset({"module", "package"})
"""Nouns with a meaning in nearly every language: only that of the language with the most files counts."""


def count_declarations(work: Work) -> Fact | None:
    """Count the lines that declare what a question names; None if no searched language has a form for it.

    What a grammar knows, such as classes, is counted by the index wherever a grammar reads a searched file.
    """
    request = work.request
    is_of_index = request.kind == "definitions"
    if request.relation or (is_of_index and len(request.symbol_kinds) != 1):
        return None

    noun = request.symbol_kinds[0] if is_of_index else noun_of(request.subject)
    forms = DECLARED_FORMS.get(noun, {})
    files = run_searches(work, make_listing_queries(work))
    languages = {row["language"] for row in files if row["path"]}
    of_code = Counter(row["language"] for row in files if row["path"] and row["language"] in PROGRAMMING_LANGUAGES)
    if noun in _OF_ANY_LANGUAGE and (not of_code or of_code.most_common(1)[0][0] not in forms):
        return None
    if _is_beside_the_code(work, noun, forms, files):
        return None
    if not languages & forms.keys() or (is_of_index and languages & set(LANGUAGES)):
        return None

    rows: list[dict[str, Any]] = []
    queries: list[str] = []
    rules: list[str] = []
    unsure = 0
    for language in sorted(languages & forms.keys()):
        lines = _find_lines(work, language, forms[language])
        if not lines.rows:
            continue
        rows += lines.rows
        queries += lines.queries
        of_language = f" ({language})" if len(languages & forms.keys()) > 1 else ""
        rules.append(f"{forms[language].rule}{of_language}")
        unsure += lines.left_out

    if not rows:
        return None

    # "How many halt templates are there" asks for those with this name.
    name = request.ignored[0] if len(request.ignored) == 1 and request.paths and not is_of_index else ""
    with_name = [row for row in rows if name and re.match(rf"\s*\S+\s+`?{re.escape(name)}(?![\w-])", row["line"] or "")]
    if with_name:
        rows, work.request = with_name, replace(request, ignored=())

    fact = Fact(
        len(rows),
        f"{noun_for(noun, len(rows))}{f' called {code(name)}' if with_name else ''} "
        f"{'are' if len(rows) != 1 else 'is'} defined{file_conditions(work)}: "
        f"{join_words(rules)}",
        join_queries(queries),
        "Counts lines by their form, outside of comments.",
        notes=work.notes,
        unit=f"{noun_for(noun, 2)}",
    )
    fact.is_least = bool(unsure)
    if unsure:
        fact.sentences.append(f"Left out: {count_of(unsure, 'line')} that may be in a comment or a text.")
    if is_of_index:
        fact.unread = sorted(languages & UNPARSED_LANGUAGES - forms.keys())

    fact.repositories = Counter(row["repository"] for row in rows)
    table = Rows("Declarations", ("repository", "path", "line_number", "line"))
    for row in rows:
        line = (row["line"] or "").strip()
        table.add((row["repository"], row["path"], row["line_number"], line), cited_line(work, row))

    fact.tables = [table]
    return fact


def add_declarations(work: Work, fact: Fact) -> None:
    """Add to a count of the index the lines of languages without a grammar, where a form tells what is asked for."""
    request = work.request
    if request.kind != "definitions" or request.relation or len(request.symbol_kinds) != 1 or not fact.tables:
        return

    work = replace(work, notes=fact.notes)
    kind = request.symbol_kinds[0]
    forms = {} if kind in {"function", "method"} else DECLARED_FORMS.get(kind, {})
    for language in [name for name in fact.unread if name in forms]:
        lines = _find_lines(work, language, forms[language])
        fact.unread.remove(language)
        fact.number = (fact.number or 0) + len(lines.rows)
        fact.is_least = fact.is_least or bool(lines.left_out)
        fact.repositories.update(row["repository"] for row in lines.rows)
        fact.sentences.append(f"In {language}, {forms[language].rule} count.")
        for row in lines.rows:
            values = (row["repository"], row["path"], row["line_number"], (row["line"] or "").strip(), kind)
            fact.tables[0].add(values, cited_line(work, row))


_PLAIN_NOUNS = frozenset({
    "annotation", "extension", "index", "message", "mixin", "object", "option", "output", "procedure", "protocol",
    "provider", "record", "resource", "service", "stage", "table", "target", "template", "trigger", "view",
})  # fmt: skip
"""Nouns that mean something else in most programs: options of a command, services of an application."""
_MIN_SHARE = 0.2
"""Share of the files of code that must be in a language for such a noun to have its meaning there."""


def _is_beside_the_code(
    work: Work, noun: str, forms: Mapping[str, DeclaredForm], files: Sequence[Mapping[str, Any]]
) -> bool:
    """Return whether a plain noun is asked of a whole project that is written in other languages."""
    if noun not in _PLAIN_NOUNS or work.request.paths or work.request.languages:
        return False

    languages = [row["language"] for row in files if row["path"]]
    code_languages = [language for language in languages if language in forms or language in PROGRAMMING_LANGUAGES]
    return sum(language in forms for language in code_languages) < _MIN_SHARE * len(code_languages)


@dataclass(frozen=True, slots=True)
class _DeclaringLines:
    """The lines of a language that declare something: searches, rows, and how many may be comments or texts."""

    queries: list[str]
    rows: list[dict[str, Any]]
    left_out: int


def _find_lines(work: Work, language: str, form: DeclaredForm) -> _DeclaringLines:
    """Find the lines of code with a form; those that declare the same name in a file count once."""
    case = "no" if form.any_case else "yes"
    queries = make_queries(work, f"lang:{quote_value(language)} type:file case:{case} /{form.search}/", languages=False)
    matches = [row for row in run_searches(work, queries) if row["type"] == "content"]

    names: set[tuple[str, str, str]] = set()
    rows = []
    code_rows = rows_of_code(work, matches, language)
    for row in code_rows:
        file = (row["repository"], row["path"])
        match = None if form.name is None else form.name.match(row["line"] or "")
        name = f"line {row['line_number']}" if match is None else match[1]
        if (*file, name) in names:
            continue

        names.add((*file, name))
        rows.append(row)

    return _DeclaringLines(queries, rows, len(matches) - len(code_rows))
