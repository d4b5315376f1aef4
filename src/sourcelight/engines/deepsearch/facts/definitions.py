"""Counts of definitions, from the index and, in languages without a grammar, by the forms of lines.

The noun of a count is that of the language: in the index every named type is a class, which a reader of Go or
TypeScript counts none of. What a reader may have meant beside it, such as methods beside functions, is counted, too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.markup import count_of, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article, kind_of_row
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    cited_line,
    file_conditions,
    format_terms,
    join_queries,
    make_queries,
    noun_for,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import (
    FunctionHeads,
    documents_with_code,
    find_heads,
    rule_without_grammar,
    unparsed_languages,
)
from sourcelight.engines.deepsearch.question.request import FactRequest

_KINDS_OF_TYPES = frozenset({"class", "struct", "interface", "enum"})
_NOT_CLASSES = frozenset({"type", "type alias", "associated type", "struct", "interface", "trait", "enum", "union"})
_MACRO = re.compile(r"\s*#\s*define\b")


def count_definitions(work: Work) -> Fact:
    """Count definitions of some kinds, from the index of definitions."""
    request = work.request
    pattern, kinds = _symbol_pattern(request), request.symbol_kinds
    queries = [
        query
        for kind in kinds or ("",)
        for query in make_queries(work, f"type:symbol {pattern}{f' select:symbol.{kind}' if kind else ''}")
    ]
    rows = _of_containers(work, run_searches(work, queries))

    # The grammar of C gives macros with parameters as functions.
    macros = [row for row in rows if _MACRO.match(row["line"] or "")] if kinds == ("function",) else []
    if macros:
        rows = [row for row in rows if not _MACRO.match(row["line"] or "")]

    unparsed = unparsed_languages(work)
    is_of_functions = kinds in {("function",), ("method",)} and request.kind == "definitions" and not request.relation
    heads = find_heads(work, unparsed) if is_of_functions else FunctionHeads()
    if is_of_functions and kinds == ("function",) and not (rows or macros or heads.number):
        of_methods = count_definitions(
            replace(work.without_notes(), request=replace(request, symbol_kinds=("method",)))
        )
        if of_methods.number:
            # Ruby and Java have no others, and who asks for functions there means methods.
            of_methods.sentences.append("No function outside of a class is defined there.")
            return of_methods

    rows, noun, left_out = _keep_kinds(rows, kinds)
    number = len(rows) + heads.number
    condition = f" {_RELATIONS.get(request.relation, '')} {format_terms(request.terms)}" if request.relation else ""
    fact = Fact(
        number,
        f"{noun_for(kinds[0], number) if heads.rules else noun}{condition} {'are' if number != 1 else 'is'} defined"
        f"{file_conditions(work)}{f': {join_words(heads.rules)}' if heads.rules and not rows else ''}",
        join_queries([*(queries if rows or not heads.rules else ()), *heads.queries]),
        f"Counts the definitions in the index, including nested ones. {rule_without_grammar(heads)}",
        notes=work.notes,
        unit="definitions",
    )
    fact.unread = [*(name for name in unparsed if name not in heads.languages), *documents_with_code(work)]
    fact.is_least = heads.is_least
    fact.sentences += [*left_out, *heads.sentences]
    rows = [*rows, *heads.rows]
    if macros:
        verb = "are" if len(macros) != 1 else "is"
        fact.sentences.append(f"{count_of(len(macros), 'macro')} with parameters {verb} left out.")

    _add_other_kinds(work, fact, pattern)
    fact.repositories = Counter(row["repository"] for row in rows)
    if request.kind in {"files", "repositories"}:
        _by_place(work, fact, rows)

    table = Rows("Definitions", ("repository", "path", "line_number", "symbol", "symbol_kind"))
    for row in rows:
        table.add(tuple(row[column] for column in table.columns), cited_line(work, row))

    fact.tables = [table]
    return fact


_RELATIONS = {
    "name": "named",
    "prefix": "with names that start with",
    "suffix": "with names that end with",
    "part": "with names that contain",
    "member": "of",
}


def _symbol_pattern(request: FactRequest) -> str:
    """Return the pattern of names in a search for definitions; a member has any name."""
    names = "|".join(escape_regexp(term.text) for term in request.terms)
    return {
        "name": f"case:yes /^({names})$/",
        "define": f"case:yes /^({names})$/",
        "prefix": f"case:yes /^({names})/",
        "suffix": f"case:yes /({names})$/",
        "part": f"/({names})/",
    }.get(request.relation, "/.*/")


def _of_containers(work: Work, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the members of the classes that a request names; all rows if it asks for no members."""
    if work.request.relation != "member":
        return rows

    containers = {term.text for term in work.request.terms}
    return [row for row in rows if (row["container"] or "").rpartition(".")[2] in containers]


def _add_other_kinds(work: Work, fact: Fact, pattern: str) -> None:
    """Mention definitions that a reader may have meant too: methods beside functions, structs beside classes."""
    kinds, is_member = work.request.symbol_kinds, work.request.relation == "member"

    def count(kind: str) -> int:
        queries = make_queries(work, f"type:symbol {pattern} select:symbol.{kind}")
        return len(_of_containers(work, run_searches(work, queries)))

    methods = count("method") if kinds == ("function",) and not is_member else 0
    if methods:
        fact.subject += f", in addition to {count_of(methods, 'method')}"
        fact.sentences.append("Methods of classes don't count as functions. Ask for methods to list them.")

    # Some languages call it a method.
    constructors = count("constructor") if kinds == ("method",) else 0
    if constructors:
        fact.subject += f", in addition to {count_of(constructors, 'constructor')}"

    structs = count("struct") if kinds == ("class",) and not fact.number else 0
    if structs:
        fact.sentences.append(f"The code also defines {count_of(structs, 'struct')}.")

    if is_member:
        fact.sentences.append("Only rows whose container has this name count.")


def _keep_kinds(rows: list[dict[str, Any]], kinds: Sequence[str]) -> tuple[list[dict[str, Any]], str, list[str]]:
    """Keep definitions that their language calls so; also return the noun, and a sentence on the others.

    In the index every named type is a class. A reader of Go or TypeScript counts none of these as one.
    """
    noun = " and ".join(noun_for(kind, 2) for kind in kinds) if kinds else "definitions"
    sentences: list[str] = []
    words: set[str] = set()
    if kinds and set(kinds) <= _KINDS_OF_TYPES:
        word_of_rows = [kind_of_row(row) for row in rows]
        words = set(word_of_rows)
        other_kinds = words & _NOT_CLASSES if kinds == ("class",) else set()
        if other_kinds:
            rows = [row for row, word in zip(rows, word_of_rows, strict=True) if word not in other_kinds]
            words -= other_kinds
            alternatives = " or ".join(in_words_with_article(word) for word in sorted(other_kinds))
            sentences.append(f"Rows that the code declares as {alternatives} don't count.")

    if len(rows) == 1:
        noun = kinds[0] if kinds else "definition"

    if len(kinds) == 1 and len(words) == 1 and all(words):
        noun = noun_for(next(iter(words)), len(rows))

    return rows, noun, sentences


def _by_place(work: Work, fact: Fact, rows: Sequence[dict[str, Any]]) -> None:
    """Count the files or repositories that define something, instead of the definitions."""
    of_files = work.request.kind == "files"
    positions = {(row["repository"], row["path"]) for row in rows}
    every = work.request.every and len(work.request.terms) > 1
    if every:
        names = {term.text for term in work.request.terms}
        defined: dict[str | tuple[str, str], set[str]] = defaultdict(set)
        for row in rows:
            defined[(row["repository"], row["path"]) if of_files else row["repository"]].add(row["symbol"])
        positions = {position for position in positions if defined[position if of_files else position[0]] == names}
        rows = [row for row in rows if (row["repository"], row["path"]) in positions]

    per = Counter(repository for repository, _ in positions)
    fact.repositories = per if of_files else Counter(dict.fromkeys(per, 1))
    fact.number, fact.unit = sum(fact.repositories.values()), work.request.kind
    noun = noun_for("file" if of_files else "repository", fact.number)
    verb = "define" if fact.number != 1 else "defines"
    fact.subject = f"{noun}{file_conditions(work)} {verb} {format_terms(work.request.terms, every=every)}"
    fact.sentences = [f"In total: {count_of(len(rows), 'definition')}."]
