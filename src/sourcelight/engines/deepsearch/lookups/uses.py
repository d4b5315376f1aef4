"""Lines that use a name: in tests, in examples and documents, and the keys of settings and of the environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.file_kinds import TEST_FILES, is_test
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import (
    MAX_DETAILS,
    MAX_LINES,
    MAX_NAMED,
    FileEvidence,
    Finding,
    Statement,
)
from sourcelight.engines.deepsearch.evidence.units import fit_to_units
from sourcelight.engines.deepsearch.facts.kinds import KEYWORDS, is_macro
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, row_evidence, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import holder_by_form
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.lookups.definitions.search import definition_at, find_definitions, split_name
from sourcelight.engines.deepsearch.lookups.manifests.requirement import keys_around
from sourcelight.engines.deepsearch.source.function_heads import has_function_head
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS, IMPORT, VARIABLE, is_in_code_block
from sourcelight.engines.symbols.definition_parser import Definition

_EXAMPLES = re.compile(r"(^|/)(?:_?examples?|samples?|demos?|docs_src|tutorials?|cookbook)(/|[._-])", re.IGNORECASE)
_LOGS = re.compile(r"(?:^|/)(?:changes|changelog|history|news|upgrading|release)[^/]*$|/changelogs?/", re.IGNORECASE)
FUNCTIONS = frozenset({"function", "method", "constructor", "class"})
_KEY_FILES = r"\.(?:toml|ya?ml|json|jsonc|json5|ini|cfg|conf|properties|env)$|(^|/)\.[\w-]+rc$|(^|/)\.env"
_AROUND_LINES = 24
_LOCKS = re.compile(r"(?:^|/)(?:[\w.-]*lock[\w.-]*|npm-shrinkwrap\.json)$", re.IGNORECASE)
_OPENED = ("[", "{", "(", "|", ">", "|-", ">-", "\\", '"""')


def find_tests(work: Work, locations: Sequence[DefinitionLocation], name: str) -> Finding | None:
    """Return the lines of test files that name a definition, or a statement that no test does if that is certain."""
    simple = split_name(name)[1]
    queries = make_queries(work, f"case:yes type:file file:{quote_value(TEST_FILES)} {whole_word(simple)}")
    rows = [row for row in run_searches(work, queries) if row["type"] == "content"]
    using = [row for row in rows if not IMPORT.match(row["line"]) and not COMMENT.match(row["line"])]
    if not using:
        by_path = None if _has_public_twin(work, simple) else _state_named_files(work, simple)
        # After an incomplete search, no match proves nothing; and some languages have tests beside the code.
        if by_path is not None or rows or work.notes or _has_tests_beside_code(work) or not _has_tests(work):
            return by_path
        return _state_no_tests(simple, queries)

    defining = {(location.target.repository.name, location.path, location.definition.line) for location in locations}
    using = [row for row in using if (row["repository"], row["path"], row["line_number"]) not in defining] or using
    first_uses = _first_uses(work, using, simple)
    statements = [state_use(work, row, holder) for row, holder in first_uses[: MAX_DETAILS + MAX_NAMED]]
    holder_names = join_words([location_in(row, holder) for row, holder in first_uses[:MAX_NAMED]])
    files = count_of(len({(row["repository"], row["path"]) for row in using}), "test file")
    verb = "has" if len(using) == 1 else "have"
    beside = ""
    if len(using) < len(rows):
        is_defined_there = any((row["repository"], row["path"], row["line_number"]) in defining for row in rows)
        beside = f"Besides {'definitions, ' if is_defined_there else ''}imports and comments, "

    text = (
        f"{beside}{count_of(len(using), 'line')} of {files} {verb} the name {code(simple)}, such as in {holder_names}"
    )
    evidence = tuple(item for statement in statements[:MAX_NAMED] for item in statement.evidence)
    stated = {(row["repository"], row["path"], row["line_number"]) for row in using}
    line_count = recount.count_with(work, stated, rf"(?<!\w){re.escape(simple)}(?!\w)")
    finding = Finding(
        Statement(text, evidence), "tests", queries=[join_queries(queries)], heading="In tests", notes=work.notes
    )
    finding.recounts = frozenset({line_count, len(recount.files_in(stated))})
    finding.details = statements
    finding.quotes = [quote_around(work, first_uses[0][0])]
    finding.method.append("Imports and comments don't count, but other things with the same name do.")
    return finding


def _has_public_twin(work: Work, name: str) -> bool:
    """Return whether `get` is defined beside `_get`: a file `test_get.py` is named after the first."""
    public = name.strip("_")
    return public not in {"", name} and bool(find_definitions(work.without_notes(), public, [], unparsed=True))


def _state_named_files(work: Work, name: str) -> Finding | None:
    """State which test files are named after a definition, such as ``UrlParserTest.php``; None for none."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    if not words:
        return None

    # The whole name, between signs and the words of a test: the file of `CacheStore` isn't one of `Cache`.
    around = "(?:tests?|specs?|suite|it)"
    spelling = "[_-]?".join(words)
    pattern = rf"(^|/)(?:{around}[_-]?)?{spelling}(?:[._-]?{around})?\.[^/]*$"
    searches = make_queries(work, f"type:path file:{quote_value(TEST_FILES)} file:{quote_value(pattern)}")
    rows = [row for row in run_searches(work, searches) if row["path"] and not DOCUMENTS.search(row["path"])]
    if not rows:
        return None

    evidence = []
    for row in rows[:MAX_DETAILS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is not None:
            last = min(_AROUND_LINES, len(work.texts.lines(target, row["path"])))
            evidence.append(work.texts.evidence(target, row["path"], 1, max(1, last), "usage", 1.0))

    names = [code(row["path"]) for row in rows[:MAX_NAMED]]
    ending = ", and more" if len(rows) > MAX_NAMED else ""
    verb = "is named like a test" if len(rows) == 1 else "are named like tests"
    text = f"{join_words(names)}{ending} {verb} of {code(name)}"
    finding = Finding(Statement(text, tuple(evidence)), "tests", queries=[join_queries(searches)], notes=work.notes)
    finding.quotes = evidence[:1]
    finding.method.append("The names of the files say so, and no other line of a test file has the name.")
    return finding


def _has_tests(work: Work) -> bool:
    """Return whether any searched file has the path of a test: without one, none of them says nothing."""
    return bool(run_searches(work, make_queries(work, f"type:path file:{quote_value(TEST_FILES)}")))


def _state_no_tests(name: str, queries: Sequence[str]) -> Finding:
    text = f"No searched test file has the name {code(name)}"
    method = ["Test files are recognized by their paths. Tests may still use it through other names."]
    return Finding(Statement(text), "tests", queries=[join_queries(queries)], is_negative=True, method=method)


def _first_uses(work: Work, rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[Mapping[str, Any], str]]:
    """Return the first use in each function with its name, first those of functions that are named after it."""
    lowered_name = name.casefold().strip("_")

    def is_named_after(holder: str) -> bool:
        # `test_read_all` and `testReadAll` are both named after `readAll`.
        lowered_holder = holder.casefold() if "_" in lowered_name else holder.casefold().replace("_", "")
        return bool(lowered_name) and lowered_name in lowered_holder

    uses = [(row, holder_of(work, row) or holder_by_form(work, row)) for row in rows]
    uses.sort(key=lambda use: (not is_named_after(use[1]), not use[1], use[0]["path"], use[0]["line_number"]))
    first_uses: dict[tuple[str, str], tuple[Mapping[str, Any], str]] = {}
    for row, holder in uses:
        first_uses.setdefault((row["path"], holder), (row, holder))

    return list(first_uses.values())


_BESIDE_CODE = r"^[ \t]*(?:#\[(?:cfg\(test\)|(?:\w+::)*test\b)|test[ \t]+(?:\"|\w*[ \t]*\{)|unittest[ \t]*\{)"


def _has_tests_beside_code(work: Work) -> bool:
    """Return whether a file without the path of a test contains tests, as in Rust, Zig and doctests."""
    queries = make_queries(work, f"case:yes type:file -file:{quote_value(TEST_FILES)} /{_BESIDE_CODE}/")
    return any(row["type"] == "content" for row in run_searches(work, queries))


def find_example(work: Work, locations: Sequence[DefinitionLocation], name: str) -> Finding | None:
    """Return lines that use a definition: examples first, then documents, tests, and other code."""
    simple = split_name(name)[1]
    queries = make_queries(work, f"case:yes type:file {whole_word(simple)}")
    rows = [row for row in run_searches(work, queries) if row["type"] == "content"]
    defining = {(location.target.repository.name, location.path) for location in locations}
    word = re.escape(simple)

    # An annotation, a call, a member, a type with parameters or a literal: what text in prose is not.
    usage_pattern = re.compile(
        rf"(?<![\w$])(?:@{word}\b|{word}\s*[(<{{]|{word}(?:\.|::)\w|new\s+{word}\b|[=(,:]\s*&?{word}\s*[,)\]}};]|{word}!)"
    )
    # Code inside of a macro defines names that no grammar reports.
    heading = re.compile(
        rf"\s*(?:\w+\s+){{0,4}}(?:defp?|defmacrop?|fn|fun|func|function|sub|proc|class|struct|module)\s+(?:self\.)?{word}\b"
    )
    using = []
    for row in rows:
        line = row["line"]
        is_definition = heading.match(line) is not None or (
            (row["repository"], row["path"]) in defining and _is_definition(work, row, simple)
        )
        if usage_pattern.search(line) is None or IMPORT.match(line) or is_definition:
            continue

        is_document = DOCUMENTS.search(row["path"]) is not None
        if (is_document and (_LOGS.search(row["path"]) or not _is_in_code_block(work, row))) or (
            not is_document and COMMENT.match(line)
        ):
            continue

        using.append(row)

    if not using:
        return None

    using.sort(key=lambda row: (_example_rank(row["path"]), row["path"].count("/"), row["path"], row["line_number"]))
    firsts: dict[str, dict[str, Any]] = {}
    for row in using:
        firsts.setdefault(row["path"], row)

    first_rows = list(firsts.values())
    row = first_rows[0]
    line = row_evidence(work, row)
    location_text = f"{location_in(row, holder_of(work, row))}, line {row['line_number']:,}"

    # The line is shown, so that a reader sees whether another thing of this name is meant.
    text = f"A line that uses the name {code(simple)} is in {location_text}: {code(row['line'].strip()[:160])}"
    finding = Finding(
        Statement(text, (line,) if line else ()), "example", queries=[join_queries(queries)], notes=work.notes
    )
    finding.quotes = [quote_around(work, row)]
    finding.heading = "More uses"
    finding.details = [state_use(work, use_row, holder_of(work, use_row)) for use_row in first_rows[1:MAX_DETAILS]]
    finding.method.append("Examples come first, then code in documents, tests, and other code.")
    return finding


def is_code(row: Mapping[str, Any]) -> bool:
    """Return whether a line is code outside of tests, examples, documents and comments."""
    return (
        rank_of(row["path"]).is_of_project
        and DOCUMENTS.search(row["path"]) is None
        and COMMENT.match(row["line"]) is None
    )


def _example_rank(path: str) -> int:
    if is_test(path):
        return 2
    if _EXAMPLES.search(path):
        return 0
    return 1 if DOCUMENTS.search(path) else 3 + rank_of(path)


def find_key_uses(work: Work, name: str, *, of_calls: bool = False) -> Finding | None:
    """Return the lines of code that have the key of a setting or a variable of the environment, or may call it so."""
    queries = make_queries(work, f"case:yes type:file {whole_word(name)}")
    rows = [row for row in run_searches(work, queries) if row["type"] == "content"]
    key = re.compile(rf"[\"'`]-{{0,2}}{re.escape(name)}[\"'`=\s:,]|process\.env\.{re.escape(name)}\b")
    using = recount.rows_of_code(work, (row for row in rows if is_code(row) and key.search(row["line"])))
    if not (using := recount.calls_by_text(name, rows, using) if of_calls else using):
        return None

    def reads(row: Mapping[str, Any]) -> bool:
        return any(match[1] == name and not match[2] for match in VARIABLE.finditer(row["line"]))

    key_access = re.compile(
        rf"(?:(?:get|pop|lookup|fetch|find|read|has|setting|option|flag|env|conf|param)\w{{0,60}}\s*\(|\[)\s*[\"'`]-{{0,2}}{re.escape(name)}"
        rf"[\"'`]\s*[\]),]|[\"'`]{re.escape(name)}[\"'`]\s+in\b",
        re.IGNORECASE,
    )
    # A line that asks for the key comes before one that lists it.
    using.sort(
        key=lambda row: (
            not reads(row),
            key_access.search(row["line"]) is None,
            rank_of(row["path"]),
            row["path"],
            row["line_number"],
        )
    )
    statements = [state_use(work, row, holder_of(work, row)) for row in using[: MAX_DETAILS + 1]]
    verb = "is read from the environment" if reads(using[0]) else "is a quoted key"
    first = using[0]
    location_text = f"{location_in(first, holder_of(work, first))}, line {first['line_number']:,}"
    text = f"{code(name)} {verb} in {location_text}: {code(first['line'].strip()[:160])}"
    finding = Finding(
        Statement(text, statements[0].evidence),
        "key",
        queries=[join_queries(queries)],
        notes=work.notes,
        heading="Other lines",
    )
    finding.quotes = [quote_around(work, first)]
    finding.details = statements[1:]
    finding.method.append("Covers code outside of tests and examples, without keys that code builds at run time.")
    return finding


def find_configured(work: Work, name: str) -> Finding | None:
    """Return what files of configuration set a key to; None if none has it."""
    section, _, simple = name.rpartition(".")
    # Files of properties have the whole name on a line.
    key = f"(?:{escape_regexp(name)}|{escape_regexp(simple)})" if section else escape_regexp(simple)
    pattern = rf"^\s*(?:export )?[\"']?{key}[\"']?\s*[:=]"
    queries = make_queries(work, f"case:yes type:file file:{quote_value(_KEY_FILES)} /{pattern}/")
    rows = [row for row in run_searches(work, queries) if row["type"] == "content"]
    values: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        match = re.match(pattern, row["line"])
        if match is None or _LOCKS.search(row["path"]):
            continue
        if section and name not in match[0] and not _is_in_section(work, row, section):
            continue
        value = re.sub(r"(?:^|\s)[#;].*$", "", row["line"][match.end() :]).strip().rstrip(",").strip()
        values.append((value, row))

    if not values or any(not value or value.endswith(_OPENED) for value, _ in values):
        return None

    values.sort(
        key=lambda entry: (
            not rank_of(entry[1]["path"]).is_of_project,
            entry[1]["path"].count("/"),
            entry[1]["path"],
            entry[1]["line_number"],
        )
    )
    statements = []
    for value, row in values:
        line = row_evidence(work, row)
        repository_text = f" of {code(row['repository'])}" if len(work.inquiry.pins) > 1 else ""
        text = f"{code(value[:160])} in {code(row['path'])}{repository_text}, line {row['line_number']:,}"
        statements.append(Statement(text, (line,) if line else ()))

    displayed_statements = statements[:MAX_NAMED]
    verb = (
        "is set to"
        if len(values) == 1
        else f"is set on {count_of(len(values), 'line')}{', including' if len(values) > MAX_NAMED else ':'}"
    )
    text = f"{code(name)} {verb} {'; '.join(entry.text for entry in displayed_statements)}"
    evidence = tuple(item for entry in displayed_statements for item in entry.evidence)
    finding = Finding(
        Statement(text, evidence),
        "configured",
        queries=[join_queries(queries)],
        notes=work.notes,
        heading="Other lines",
    )
    stated = {(row["repository"], row["path"], row["line_number"]) for _, row in values}
    line_count = recount.count_with(work, stated, rf"(?<![\w$]){re.escape(simple)}(?![\w$])")
    finding.recounts = frozenset({line_count})
    finding.details = statements[MAX_NAMED:MAX_DETAILS]
    return finding


def _is_in_section(work: Work, row: Mapping[str, Any], section: str) -> bool:
    """Return whether the tables or mappings around a line end with the requested section."""
    target = work.inquiry.pins.of(row["repository"])
    if target is None:
        return False
    parts = section.split(".")
    return keys_around(row["path"], work.texts.lines(target, row["path"]), row["line_number"])[-len(parts) :] == parts


def whole_word(name: str) -> str:
    """Write a pattern of a name as a whole word."""
    left, right = ("\\b" if re.match(r"\w", name) else ""), ("\\b" if re.search(r"\w$", name) else "")
    return f"/{left}{escape_regexp(name)}{right}/"


def definition_around(work: Work, row: Mapping[str, Any], accept: Callable[[Definition], bool]) -> Definition | None:
    """Return the smallest definition around a line that `accept` takes; None for none."""
    target = work.inquiry.pins.of(row["repository"])
    around = [] if target is None else work.texts.definitions_around(target, row["path"], row["line_number"])
    return next((item for item in around if accept(item) and not is_macro(item.name, row["path"])), None)


def holder_of(work: Work, row: Mapping[str, Any], *, with_head: bool = False) -> str:
    """Return the name of the function around a line; empty at the top of a file.

    With `with_head`, the line may be the first one of the function or class: a class has its base there.
    """
    line = row["line_number"]
    around = definition_around(
        work,
        row,
        lambda item: item.kind in FUNCTIONS and (with_head or item.line != line) and item.name not in KEYWORDS,
    )
    target = work.inquiry.pins.of(row["repository"])
    if around is None or target is None:
        return ""
    # Beside an error, a grammar may read a value as a function.
    lines = work.texts.lines(target, row["path"])[around.line - 1 :]
    is_sure = around.kind == "class" or has_function_head(lines, around.name, language_of(row["path"]) or "")
    return around.name if is_sure else ""


def _is_definition(work: Work, row: Mapping[str, Any], name: str) -> bool:
    target = work.inquiry.pins.of(row["repository"])
    return target is not None and definition_at(work.texts, target, row["path"], name, row["line_number"]) is not None


def _is_in_code_block(work: Work, row: Mapping[str, Any]) -> bool:
    """Return whether a line of a document is code: in a fence, indented, or typed at a prompt."""
    target = work.inquiry.pins.of(row["repository"])
    if target is None:
        return False
    return is_in_code_block(row["line"], work.texts.lines(target, row["path"])[: row["line_number"] - 1], row["path"])


def quote_around(work: Work, row: Mapping[str, Any]) -> FileEvidence:
    """Return the whole unit around a line: its function if that is short, else some lines."""
    texts = work.texts
    target = work.inquiry.pins.of(row["repository"])
    assert target is not None  # noqa: S101 - rows come from searches of the pins
    lines = texts.lines(target, row["path"])
    line = row["line_number"]
    units = list(texts.iter_definitions(target, row["path"]))

    # What follows the function around the line is about something else.
    around = definition_around(work, row, lambda definition: definition.kind in FUNCTIONS)
    first_line, last_line = (1, len(lines)) if around is None else (around.begin_line, min(around.end_line, len(lines)))
    start, end = fit_to_units(
        lines, max(first_line, line - 2), min(last_line, line + 6), units, row["path"].rpartition(".")[2]
    )
    if end - start >= _AROUND_LINES:  # a long list or call is one unit: keep the lines around this one
        start, end = max(start, line - 2), min(end, line + 6)

    return texts.evidence(target, row["path"], start, min(end, start + MAX_LINES - 1), "usage", 1.0)


def location_in(row: Mapping[str, Any], holder: str) -> str:
    """Write the file of a line, and the function around it if there is one."""
    return f"{code(holder)} of {code(row['path'])}" if holder else code(row["path"])


def state_use(work: Work, row: Mapping[str, Any], holder: str) -> Statement:
    """Write where a line is, and the line itself."""
    line = row_evidence(work, row)
    return Statement(f"{location_in(row, holder)}: {code(row['line'].strip()[:160])}", (line,) if line else ())
