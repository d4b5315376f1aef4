"""Counts of classes that inherit from another one, read from their heads, also those with macros."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.markup import code, count_of
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
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
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES, UNPARSED_LANGUAGES
from sourcelight.engines.deepsearch.question.request import Term
from sourcelight.engines.deepsearch.source.class_heads import MAX_ATTRIBUTE_LINES, Subtype, opening_of, read_subtype
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS, is_outside_comments, lines_of_code
from sourcelight.engines.search import Target

# Selects lines by the index, and too many of them: `read_subtype` decides. Braces are doubled for `str.format`.
_HEIR = (
    r"^[ \t]*((@[\w.]+(\([^)\n]*\))?|export|default|declare|public|protected|private|fileprivate|internal|package"
    r"|abstract|final|sealed|non-sealed|open|data|static|strictfp|partial|readonly|unsafe|ref|new|file|indirect|inner|value|inline"
    r"|annotation|case|implicit|companion|fun|base|enum|template[ \t]*<[^\n]*>)[ \t]+)*"
    r"(class|interface|struct|enum|record|trait|protocol|actor|extension|object|mixin)[ \t]+(\[\[[^\]\n]*\]\][ \t]*)*"
    r"[\w.:]+[^{{;\n]*[^{{;\n\w](?:{names})\b"
    r"|^[ \t]*(unsafe[ \t]+)?impl\b[^{{;\n]*[^{{;\n\w](?:{names})\b[^{{;\n]*[ \t]for[ \t]"
    r"|^[ \t]*#\[derive\([^\n]*\b(?:{names})\b"
    r"|=[ \t]*(::)?Class\.new\([^\n]*\b(?:{names})\b"
)

_CONTINUED = (
    r"^[ \t]*(\)[^{{;\n]*:|(extends|implements|with)\b|[:,])[^{{;\n]*[^{{;\n\w](?:{names})\b"
    r"|^[ \t]+([\w.]+\.)?(?:{names})(\[[^\n]*\])?,?[ \t]*$"
)
"""Lines that continue with the head of a class: ``) : Base()``, ``implements Base``, or a base alone."""
_NO_SOURCE = re.compile(rf"\.(?:mkd|api)$|{DOCUMENTS.pattern}", re.IGNORECASE)
_OF_PAGES = (".astro", ".vue", ".svelte")
_WITH_LONG_TEXTS = frozenset({"Python", "JavaScript", "TypeScript", "TSX"})
"""Languages whose texts over several lines often have examples."""
_TYPES = frozenset({"class", "interface", "struct", "enum", "module"})


def count_subclasses(work: Work) -> Fact:
    """Count classes, or requested structs, enums and so on, whose declarations name another type as a base."""
    request, bases = work.request, _bases(work)
    names = "|".join(escape_regexp(term.text).replace("/", r"\/") for term in bases)
    queries = make_queries(work, f"case:yes type:file /{_HEIR.format(names=names)}/")
    terms = frozenset(term.text for term in bases)
    continued = make_queries(work, f"case:yes type:file /{_CONTINUED.format(names=names)}/")
    rows = [*run_searches(work, queries), *run_searches(work, continued)]
    heads = list(_read_heads(work, rows, terms))
    kinds = {_SAME_KINDS.get(kind, kind) for kind in request.symbol_kinds} - {"class"}
    if "class" not in request.symbol_kinds and kinds:
        heads = _of_kinds(work, heads, kinds)

    subtypes = _subtypes(heads)
    noun = request.symbol_kinds[0] if kinds else "class"

    # Readers don't call an object of Kotlin or a record of Java a class.
    if noun == "class" and not all(
        re.search(r"\bclass\b", row["line"] or "", re.IGNORECASE) for row, _ in subtypes.values()
    ):
        noun = "type"

    fact = Fact(
        len(subtypes), _subject(work, noun, subtypes), join_queries([*queries, *continued]), notes=work.notes,
        unit="definitions",
    )  # fmt: skip
    fact.unread = _unread_languages(work, names)
    if filled_heads := find_filled_heads(work, names, {key[:3] for key in subtypes}):
        fact.subject += _mention_filled_heads(filled_heads)
        fact.is_open = True

    fact.rule = (
        "Counts declarations of classes, and in Rust `impl` and `derive`. Bounds of type parameters aren't bases, and "
        "classes that inherit indirectly don't count."
    )
    fact.repositories = Counter(row["repository"] for row, _ in subtypes.values())
    table = Rows("Classes", ("repository", "path", "line_number", "symbol", "line"))
    for row, head in subtypes.values():
        values = (row["repository"], row["path"], row["line_number"], head.name, row["line"])
        table.add(values, cited_line(work, row))

    fact.tables = [table]
    return fact


_OTHER_HEADS = UNPARSED_LANGUAGES - {"CoffeeScript", "Crystal", "D", "Dart", "Groovy", "Haxe", "Swift", "Vala"}
"""Languages whose types name their bases in forms that aren't read, as ``(defclass gate (valve))``."""


def _unread_languages(work: Work, names: str) -> list[str]:
    """Return the languages with other heads whose files have one of the names, which may be bases there."""
    rows = run_searches(work, make_queries(work, f"case:no type:file /{_NAMES.format(names=names)}/"))
    return sorted({language_of(row["path"]) or "" for row in rows} & _OTHER_HEADS)


def _of_kinds(
    work: Work, heads: Sequence[tuple[dict[str, Any], Subtype]], kinds: set[str]
) -> list[tuple[dict[str, Any], Subtype]]:
    """Return the heads that declare one of some kinds; for a head without a keyword, the index has the kind."""
    kinds_by_name = _declared_kinds(work, {head.name for _, head in heads if not head.kind})
    return [
        (row, head)
        for row, head in heads
        if kinds & ({head.kind} if head.kind else kinds_by_name.get((row["repository"], head.name), set()))
    ]


def _subtypes(
    heads: Sequence[tuple[dict[str, Any], Subtype]],
) -> dict[tuple[str, str, str, int], tuple[dict[str, Any], Subtype]]:
    """Return the first head of each type, by repository, path, name and line.

    A type of Rust can have several `impl` blocks for one trait, and a class of C# several parts: they count once, under
    line 0. Elsewhere, classes of one name in a file are within different ones.
    """
    subtypes: dict[tuple[str, str, str, int], tuple[dict[str, Any], Subtype]] = {}
    for row, head in heads:
        is_one = row["path"].endswith(".rs") or re.search(r"\bpartial\b", row["line"] or "") is not None
        line = 0 if is_one else row["line_number"] or 0
        subtypes.setdefault((row["repository"], row["path"], head.name, line), (row, head))
    return subtypes


def _subject(work: Work, noun: str, subtypes: Collection[tuple[str, str, str, int]]) -> str:
    """Say what the number counts, such as ``classes of `*.py` name `Base` as a base in their declarations``."""
    count = len(subtypes)
    tested = sum(is_test(path) for _, path, _, _ in subtypes)
    of_tests = f", {tested:,} of them in tests," if 0 < tested < count and work.request.tests is None else ""
    verb, declarations = ("names", "its declaration") if count == 1 else ("name", "their declarations")
    return (
        f"{noun_for(noun, count)}{file_conditions(work)}{of_tests} {verb} {format_terms(_bases(work))} as a base in "
        f"{declarations}"
    )


def _bases(work: Work) -> list[Term]:
    """Return the requested bases as heads name them: `Error` for `Http::Error`."""
    return [replace(term, text=re.split(r"::|\.|\\", term.text)[-1]) for term in work.request.terms]


def _read_heads(
    work: Work, rows: Sequence[dict[str, Any]], terms: frozenset[str]
) -> Iterator[tuple[dict[str, Any], Subtype]]:
    """Yield the rows on which a head with one of the bases begins, and the type that it declares."""
    texts = work.texts
    code_numbers: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        target, number = work.inquiry.pins.of(row["repository"]), row["line_number"]
        if target is None or _NO_SOURCE.search(row["path"]):
            continue

        lines = texts.lines(target, row["path"])
        head = read_subtype(row["line"] or "", terms, row["path"], lines[number : number + MAX_ATTRIBUTE_LINES])

        # An example in a docstring or a template declares nothing.
        language = "TypeScript" if row["path"].endswith(_OF_PAGES) else language_of(row["path"])
        if head is not None and language in _WITH_LONG_TEXTS:
            key = row["repository"], row["path"]
            if key not in code_numbers:
                code_numbers[key] = {line_number for line_number, _ in lines_of_code(lines, language)}
            if number not in code_numbers[key]:
                continue

        if head is not None:
            if not head.is_declared or _is_definition(texts, target, row, head.name):
                yield row, head
        elif (opening := opening_of(lines, number)) is not None:
            # The head begins above, and the base is on a later line of it.
            head = read_subtype(" ".join(lines[opening - 1 : number]), terms, row["path"])
            first_row = {**row, "line_number": opening, "line": lines[opening - 1]}
            if head is not None and _is_definition(texts, target, first_row, head.name):
                yield first_row, head


def _mention_filled_heads(rows: Sequence[dict[str, Any]]) -> str:
    first, verb = rows[0], "does" if len(rows) == 1 else "do"
    return (
        f"; {count_of(len(rows), 'more line')} {verb} so in a macro or a template, which may declare any number of "
        f"types, such as {code(first['path'])}, line {first['line_number']:,}"
    )


def _is_definition(texts: FileTexts, target: Target, row: Mapping[str, Any], name: str) -> bool:
    """Return whether a header is code: the index has it, or it is outside of comments and long strings."""
    number, path = row["line_number"], row["path"]
    definitions = texts.indexed_definitions(target, path)
    is_known = any(
        definition.name == name and definition.begin_line <= number <= definition.end_line
        for definition in (definitions.definitions() if definitions is not None else ())
        if definition.kind in _TYPES
    )

    # A grammar may miss a head, such as Kotlin's with an annotated constructor.
    before = "\n".join(texts.lines(target, path)[: number - 1])
    is_text = before.count('"""') % 2 == 1 or before.count("'''") % 2 == 1
    return is_known or not (is_text or before.rfind("/*") > before.rfind("*/"))


_SAME_KINDS = {"trait": "interface", "protocol": "interface", "record": "class"}


def _declared_kinds(work: Work, names: set[str]) -> dict[tuple[str, str], set[str]]:
    """Return the kinds of the definitions of names, by repository and name."""
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    if names:
        pattern = "|".join(escape_regexp(name) for name in sorted(names))
        for row in run_searches(work, make_queries(work, f"case:yes type:symbol /^({pattern})$/")):
            kinds[row["repository"], row["symbol"]].add(row["symbol_kind"])
    return kinds


_NAMES = r"\b(?:{names})\b"
_FILLED = (
    r"\b(?:class|struct|interface|enum|record|object)[ \t]+(?:[A-Z][A-Z\d_]*[ \t]+)?\w*(?:{marks})[^;\n]*"
    rf"(?:[:(<]|\b(?:extends|implements|with)\b)[^;\n]*{_NAMES}"
    rf"|\bimpl\b[^;\n]*{_NAMES}[^;\n]*\bfor\b[^;\n]*(?:{{marks}})"
)
_MARKS = r"\$[\w{(]|#\{|\{\{|\{\w+\}|<%|##|%[sr]"
_MARKS_OF: Mapping[str, str] = {
    "Rust": r"\$\w", "C": "##", "C++": "##", "Cuda": "##", "Objective-C++": "##", "PHP": r"\{\{|<%|%[sr]",
}  # fmt: skip
"""Marks for what is written elsewhere; in other languages all. In PHP, ``$`` begins each variable."""


_MAX_HEAD = 500
"""Characters of a line in which these marks are looked for."""


def find_filled_heads(work: Work, names: str, subtypes: Collection[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Return the lines of code whose head names a base for a type whose name is written elsewhere.

    Parameters
    ----------
    work
        The request under way.
    names
        A pattern of the names of bases.
    subtypes
        Repository, path and name of each type that counts already.
    """
    pattern = _FILLED.replace("{marks}", _MARKS).replace("{names}", names)
    return [
        row
        for row in run_searches(work, make_queries(work, f"case:yes type:file /{pattern}/"))
        if row["type"] == "content"
        and _is_filled(row, names)
        and is_code(work, row)
        and not any(
            row["repository"] == repository
            and row["path"] == path
            and re.search(rf"\b{re.escape(name)}\b", row["line"])
            for repository, path, name in subtypes
        )
    ]


def _is_filled(row: Mapping[str, Any], names: str) -> bool:
    language = language_of(row["path"])
    marks = _MARKS_OF.get(language, _MARKS)
    pattern = _FILLED.replace("{marks}", marks).replace("{names}", names)
    return language in PROGRAMMING_LANGUAGES and re.search(pattern, (row["line"] or "")[:_MAX_HEAD]) is not None


def is_code(work: Work, row: Mapping[str, Any]) -> bool:
    """Return whether the line of a row is outside of comments."""
    target = work.inquiry.pins.of(row["repository"])
    if target is None:
        return False
    return is_outside_comments(row["line"] or "", work.texts.lines(target, row["path"])[: row["line_number"] - 1])
