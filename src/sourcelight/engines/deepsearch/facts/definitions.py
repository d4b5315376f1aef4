"""Counts of definitions, of classes that inherit from another one, and of tests."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import count_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    commit_of,
    file_conditions,
    format_terms,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    run_searches,
)

# Selects lines by the index, and too many of them: `read_subtype` decides. Braces are doubled for `str.format`.
_HEIR = (
    r"^[ \t]*((export|default|public|protected|private|internal|abstract|final|sealed|open|data|static)[ \t]+)*"
    r"(class|interface|struct|enum|record|trait)[ \t]+\w+[^{{;\n]*[^{{;\n\w](?:{names})\b"
    r"|^[ \t]*(unsafe[ \t]+)?impl\b[^{{;\n]*[^{{;\n\w](?:{names})\b[^{{;\n]*[ \t]for[ \t]"
    r"|^[ \t]*#\[derive\([^\n]*\b(?:{names})\b"
)
_MACRO = re.compile(r"\s*#\s*define\b")

MAX_ATTRIBUTE_LINES = 8
"""Lines below ``#[derive(…)]`` in which the head of what derives is looked for."""

_HEAD = re.compile(r"\b(?P<kind>class|interface|struct|enum|record|trait)\s+(?P<name>\w+)(?P<rest>.*)")
_IMPL = re.compile(r"\s*(?:unsafe\s+)?impl\b(?P<base>.*?)\sfor\s+(?P<type>.*)")
_DERIVE = re.compile(r"\s*#\[derive\((?P<bases>[^)\n]*)")
_DERIVING = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(?P<kind>struct|enum|union)\s+(?P<name>\w+)")
_KINDS = {"record": "class", "trait": "interface"}


def count_definitions(work: Work) -> Fact:
    """Count definitions of some kinds, from the index of definitions."""
    request = work.request
    names = "|".join(escape_regexp(term.text) for term in request.terms)
    pattern = {
        "": "/.*/",
        "name": f"case:yes /^({names})$/",
        "define": f"case:yes /^({names})$/",
        "prefix": f"case:yes /^({names})/",
        "suffix": f"case:yes /({names})$/",
        "part": f"/({names})/",
        "member": "/.*/",
    }.get(request.relation, "/.*/")
    notes: list[str] = []
    kinds = request.symbol_kinds
    queries = [
        q
        for kind in kinds or ("",)
        for q in make_queries(work, f"type:symbol {pattern}{f' select:symbol.{kind}' if kind else ''}")
    ]
    rows = run_searches(work, queries, notes)
    containers = {term.text for term in request.terms} if request.relation == "member" else None
    if containers is not None:
        rows = [row for row in rows if (row["container"] or "").rpartition(".")[2] in containers]
    # The grammar of C gives macros with parameters as functions.
    macros = [row for row in rows if kinds == ("function",) and _MACRO.match(row["line"] or "")]
    rows = [row for row in rows if row not in macros] if macros else rows
    per = Counter(row["symbol_kind"] for row in rows)
    noun = " and ".join(noun_for(kind, 2) for kind in kinds) if kinds else "definitions"
    if len(rows) == 1:
        noun = kinds[0] if kinds else "definition"
    condition = ""
    if request.relation:
        phrase = {
            "name": "named",
            "prefix": "with names that start with",
            "suffix": "with names that end with",
            "part": "with names that contain",
            "member": "of",
        }
        condition = f" {phrase.get(request.relation, '')} {format_terms(request.terms)}"
    fact = Fact(
        len(rows),
        f"{noun}{file_conditions(work)}{condition} {'are' if len(rows) != 1 else 'is'} defined",
        join_queries(queries),
        notes=notes,
        unit="definitions",
    )
    fact.rule = (
        "Definitions count as the index of definitions has them, nested ones included; languages without a "
        "grammar have none."
    )
    if macros:
        fact.sentences.append(
            f"Of the rows of the query, those that are no macros count: {count_of(len(macros), 'macro')} with "
            f"parameters {'are' if len(macros) != 1 else 'is'} left out."
        )
    if kinds == ("function",) and containers is None:
        other_rows = run_searches(work, make_queries(work, f"type:symbol {pattern} select:symbol.method"), notes)
        if other_rows:
            pronoun = "them" if len(rows) != 1 else "it"
            fact.subject += f", and {count_of(len(other_rows), 'method')} beside {pronoun}"
            fact.sentences.append("Methods of classes are no functions here: ask for methods to have them listed.")
    if kinds == ("class",) and not per:
        other_rows = run_searches(work, make_queries(work, f"type:symbol {pattern} select:symbol.struct"), notes)
        if other_rows:
            fact.sentences.append(f"There are {count_of(len(other_rows), 'struct')}, which count apart.")
    if containers is not None:
        fact.sentences.append("Of the rows of the query, those with that container count.")
    fact.repositories = Counter(row["repository"] for row in rows)
    if request.kind in {"files", "repositories"}:
        _by_place(work, fact, rows)
    table = Rows("Definitions", ("repository", "path", "line_number", "symbol", "symbol_kind"))
    for row in rows:
        table.add(
            (row["repository"], row["path"], row["line_number"], row["symbol"], row["symbol_kind"]),
            CitedLine(row["repository"], commit_of(work, row), row["path"], row["line_number"] or 1),
        )
    fact.tables = [table]
    return fact


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
    fact.sentences = [f"They have {count_of(len(rows), 'definition')} of it."]


def count_subclasses(work: Work) -> Fact:
    """Count classes, or the structs, enums and so on that are asked for, whose heads name another one as a base."""
    request = work.request
    names = "|".join(escape_regexp(term.text).replace("/", r"\/") for term in request.terms)
    queries = make_queries(work, f"case:yes type:file /{_HEIR.format(names=names)}/")
    notes: list[str] = []
    terms = frozenset(term.text for term in request.terms)
    texts = FileTexts(work.context)
    candidates = []
    for row in run_searches(work, queries, notes):
        target = work.inquiry.pins.of(row["repository"])
        lines = [] if target is None else texts.lines(target, row["path"])
        following = lines[row["line_number"] : row["line_number"] + MAX_ATTRIBUTE_LINES]
        head = read_subtype(row["line"] or "", terms, row["path"], following)
        if head is not None:
            candidates.append((row, head))
    kinds = {_SAME_KINDS.get(kind, kind) for kind in request.symbol_kinds} - {"class"}
    if "class" not in request.symbol_kinds and kinds:
        kinds_by_name = _declared_kinds(work, {head.name for _, head in candidates if not head.kind}, notes)
        candidates = [
            (row, head)
            for row, head in candidates
            if kinds & ({head.kind} if head.kind else kinds_by_name.get((row["repository"], head.name), set()))
        ]
    subtypes: dict[tuple[str, str, str], tuple[dict[str, Any], Subtype]] = {}
    # A type of Rust can have several `impl` blocks for one trait, and counts once.
    for row, head in candidates:
        subtypes.setdefault((row["repository"], row["path"], head.name), (row, head))
    count, noun = len(subtypes), request.symbol_kinds[0] if kinds else "class"
    fact = Fact(
        count,
        f"{noun_for(noun, count)}{file_conditions(work)} "
        f"{'name' if count != 1 else 'names'} {format_terms(request.terms)} as a base in "
        f"{'their heads' if count != 1 else 'its head'}",
        join_queries(queries),
        notes=notes,
        unit="definitions",
    )
    fact.rule = (
        "Of the rows of the query, heads on one line count, in Rust also those of `impl` and `derive`; bounds of type "
        "parameters are no bases, and what inherits from one of these in turn does not count."
    )
    fact.repositories = Counter(row["repository"] for row, _ in subtypes.values())
    table = Rows("Classes", ("repository", "path", "line_number", "symbol", "line"))
    for row, head in subtypes.values():
        table.add(
            (row["repository"], row["path"], row["line_number"], head.name, row["line"]),
            CitedLine(row["repository"], commit_of(work, row), row["path"], row["line_number"] or 1),
        )
    fact.tables = [table]
    return fact


_SAME_KINDS = {"trait": "interface", "protocol": "interface", "record": "class"}


def _declared_kinds(work: Work, names: set[str], notes: list[str]) -> dict[tuple[str, str], set[str]]:
    """Return the kinds of the definitions of names, by repository and name."""
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    if names:
        pattern = "|".join(escape_regexp(name) for name in sorted(names))
        for row in run_searches(work, make_queries(work, f"case:yes type:symbol /^({pattern})$/"), notes):
            kinds[row["repository"], row["symbol"]].add(row["symbol_kind"])
    return kinds


_TESTS: tuple[tuple[str, str, str], ...] = (
    (
        "Python",
        r"type:symbol case:yes file:(^|/)(test_[^/]*|[^/]*_tests?|tests?)\.py$ /^test/ select:symbol.function",
        "functions whose names start with test, in files named as tests",
    ),
    (
        "Python",
        r"type:symbol case:yes file:(^|/)(test_[^/]*|[^/]*_tests?|tests?)\.py$ /^test/ select:symbol.method",
        "methods of such names and files",
    ),
    (
        "Go",
        # The rule of `go help testfunc`: no lower-case letter follows `Test`.
        r"type:symbol case:yes file:_test\.go$ /^Test([^a-z]|$)/ select:symbol.function",
        "functions named Test…, in files that end in _test.go",
    ),
    (
        "JavaScript",
        r"type:file case:yes /^[ \t]*(?:it|test)(?:\.\w+)*(?:\([^)]*\))?\(/",
        "lines that begin with it( or test(",
    ),
    (
        "TypeScript",
        r"type:file case:yes /^[ \t]*(?:it|test)(?:\.\w+)*(?:\([^)]*\))?\(/",
        "lines that begin with it( or test(",
    ),
    ("TSX", r"type:file case:yes /^[ \t]*(?:it|test)(?:\.\w+)*(?:\([^)]*\))?\(/", "lines that begin with it( or test("),
    (
        "Java",
        r"type:file case:yes /^[ \t]*@(?:Parameterized|Repeated)?Test\b/",
        "lines that begin with @Test, @ParameterizedTest or @RepeatedTest",
    ),
    ("Kotlin", r"type:file case:yes /^[ \t]*@(?:Parameterized|Repeated)?Test\b/", "as for Java"),
    ("Scala", r"type:file case:yes /^[ \t]*(?:@Test\b|test\()/", "lines that begin with @Test or test("),
    ("Rust", r"type:file case:yes /^[ \t]*#\[(?:\w+::)*test\b/", "lines with #[test]"),
    (
        "Ruby",
        r"type:file case:yes /^[ \t]*(?:it|specify|test)\s+[\"']|^[ \t]*def\s+test_/",
        "lines that begin with it, specify, test or def test_",
    ),
    ("Tcl", r"type:file case:yes /^[ \t]*test\s+[{\"]/", "lines that begin with test"),
    ("C", r"type:symbol case:yes /^test_|_test$/ select:symbol.function", "functions named test_… or …_test"),
    ("C++", r"type:file case:yes /^[ \t]*(?:TEST(?:_[FP])?|TYPED_TEST|TEST_CASE)\s*\(/", "lines that begin with TEST("),
)


def count_tests(work: Work) -> Fact:
    """Count tests, by the custom of each language that is there."""
    notes: list[str] = []
    file_counts = Counter(
        row["language"] for row in run_searches(work, make_listing_queries(work), notes) if row["path"]
    )
    queries: list[str] = []
    rows: list[dict[str, Any]] = []
    table = Rows("Tests", ("repository", "path", "line_number", "test"))
    counts: list[tuple[str, str, int]] = []
    names = "|".join(escape_regexp(term.text) for term in work.request.terms)
    for language, text, rule in _TESTS:
        if not file_counts[language] or (work.request.languages and language not in work.request.languages):
            continue
        test_queries = make_queries(work, f"lang:{quote_value(language)} {text}", languages=False)
        matches = run_searches(work, test_queries, notes)
        if names:
            matches = [row for row in matches if re.search(names, row["symbol"] or row["line"] or "")]
        if matches:
            queries += test_queries
            counts.append((language, rule, len(matches)))
            rows += matches
    for row in rows:
        table.add(
            (row["repository"], row["path"], row["line_number"], row["symbol"] or (row["line"] or "").strip()),
            CitedLine(row["repository"], commit_of(work, row), row["path"], row["line_number"] or 1),
        )
    fact = Fact(
        len(rows),
        f"{noun_for('test', len(rows))}{file_conditions(work)} {'are' if len(rows) != 1 else 'is'} defined",
        join_queries(queries) or join_queries(make_listing_queries(work)),
        notes=notes,
        unit="tests",
    )
    fact.rule = (
        "Tests count as they are written, not as they run with parameters: "
        + (
            "; ".join(f"{number:,} {rule} ({language})" for language, rule, number in counts)
            or "no language there has a custom that is known"
        )
        + "."
    )
    if names:
        fact.sentences.append("Of the rows of the query, those whose names or lines hold the text count.")
    fact.repositories = Counter(row["repository"] for row in rows)
    fact.tables = [table]
    return fact


@dataclass(frozen=True, slots=True)
class Subtype:
    """The type that the head of a definition declares: its name, and its kind in the index; empty if there is none."""

    name: str
    kind: str


def read_subtype(line: str, names: frozenset[str], path: str, following: Sequence[str] = ()) -> Subtype | None:
    """Return what has one of `names` as a base by its head, or by an ``impl`` or ``derive`` of Rust.

    Bounds of type parameters, types of parameters and ``where`` clauses name no base.
    """
    # The `>` of an arrow closes no bracket.
    text = without_brackets(line.replace("->", "  "), "<>")
    if path.endswith(".rs"):
        derived = _DERIVE.match(line)
        if derived is not None:
            base_names = {item.strip().rpartition("::")[2] for item in derived["bases"].split(",")}
            head = next((match for other in following if (match := _DERIVING.match(other))), None)
            return Subtype(head["name"], head["kind"]) if head is not None and names & base_names else None
        block = _IMPL.match(text)
        if block is not None:
            subject = re.match(r"\s*&?\s*(?:mut\s+)?(?:\w+::)*(\w+)\s*(?:\{|where\b|$)", block["type"])
            base = block["base"].strip().rpartition("::")[2]
            return Subtype(subject[1], "") if subject is not None and base in names else None
    head = _HEAD.search(text)
    if head is None:
        return None
    bases = re.split(r"\bwhere\b|\{", without_brackets(head["rest"], "[]"))[0]
    if not path.endswith((".py", ".pyi")):
        bases = without_brackets(bases, "()")
    elif "(" in bases:
        # Keyword arguments of a class, such as `metaclass=Base`, are no bases.
        bases = re.sub(r"\b\w+\s*=[^,)]*", "", bases)
    has_base = any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", bases) for name in names)
    return Subtype(head["name"], _KINDS.get(head["kind"], head["kind"])) if has_base else None


def without_brackets(text: str, pair: str) -> str:
    """Return a text without the text in brackets of one kind, nested ones included; single ones remain."""
    opening, closing = map(re.escape, pair)
    pattern = re.compile(rf"{opening}[^{opening}{closing}]*{closing}")
    while (shorter := pattern.sub("", text)) != text:
        text = shorter
    return text
