"""Counts of lines, places, files and repositories with a text, and the changed lines with one that are of code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.markup import count_of
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query.file_kinds import is_test
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    cited_line,
    commit_of,
    expression,
    file_conditions,
    files_noun,
    find_rows,
    format_terms,
    join_queries,
    make_pattern,
    make_queries,
    noun_for,
    run_searches,
)
from sourcelight.engines.deepsearch.question.request import FactRequest, Term
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.search.index.view import REASONS
from sourcelight.repos import ObjectReader

_BY_NAME = frozenset({"binary", "too-large"})


def count_texts(work: Work) -> Fact:
    """Count lines, places, files or repositories with a text; of files also those without."""
    request = work.request
    if request.is_negated:
        return _count_without(work)

    # Functions that contain a text aren't counted; the places are, with a note in the answer.
    unit = request.kind if request.kind != "definitions" else "occurrences"
    # "Occurrences of a and b" are occurrences of either, because no text is both.
    every = request.every and len(request.terms) > 1 and unit != "occurrences"
    left_out: list[str] = []
    if unit == "repositories":
        queries, rows = _find_in_repositories(work, left_out, every=every)
    else:
        queries = _line_queries(work, every=every, is_one_line=unit == "lines" and every)
        rows = _find_lines(work, queries, left_out)

    terms = format_terms(request.terms, every=every)
    if request.lacking:
        terms += f", but not {format_terms(request.lacking)}"

    fact = Fact(0, "", join_queries(queries), _counting_rule(request.terms), notes=work.notes, unit=unit)
    counts = _count_by_repository(rows)
    fact.repositories = counts[unit]
    fact.number = sum(fact.repositories.values())
    if unit != "repositories" and _is_within_words(work, len(rows)):
        terms += " as a whole word"

    fact.subject = _subject(work, unit, fact.number, terms)
    if request.kind == "definitions":
        fact.unapplied += [noun_for(kind, 2) for kind in request.symbol_kinds or ("definition",)]

    fact.sentences.append(f"In total: {_format_totals(*(sum(counts[name].values()) for name in _UNITS))}.")
    fact.search_notices += dict.fromkeys(left_out)
    fact.unread += ["large"] if left_out else []
    if request.relation == "call":
        fact.sentences.append("A definition with a parenthesis after the name matches like a call.")

    files = _files_table(work, rows, "matches" if unit != "lines" else "lines")
    has_lines = unit in {"lines", "occurrences"} and request.group != "files"
    fact.tables = [_lines_table(work, rows), files] if has_lines else [files]
    return fact


_UNITS = ("occurrences", "lines", "files", "repositories")
"""The units in which a text is counted."""


def _count_by_repository(rows: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Count what each repository has, in each of `_UNITS`; a row is a line with one or more matches."""
    matches: Counter[str] = Counter()
    for row in rows:
        matches[row["repository"]] += row["match_count"]
    lines = Counter(row["repository"] for row in rows)
    files = Counter(repository for repository, _ in {(row["repository"], row["path"]) for row in rows})
    return dict(zip(_UNITS, (matches, lines, files, Counter(dict.fromkeys(files, 1))), strict=True))


def _lines_table(work: Work, rows: Sequence[dict[str, Any]]) -> Rows:
    table = Rows("Lines", ("repository", "path", "line_number", "line"))
    for row in rows:
        table.add((row["repository"], row["path"], row["line_number"], row["line"]), cited_line(work, row))
    return table


def _is_within_words(work: Work, line_count: int) -> bool:
    """Return whether more lines than those counted have the only term, there as a part of longer words."""
    request = work.request
    if len(request.terms) != 1 or not request.terms[0].is_word or request.lacking or request.relation == "call":
        return False
    pattern = make_pattern((replace(request.terms[0], is_word=False),))
    queries = make_queries(work, f"case:yes type:file {pattern}")
    return len(_find_lines(work.without_notes(), queries, [])) > line_count


def _files_table(work: Work, rows: Sequence[Mapping[str, Any]], unit: str) -> Rows:
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts[row["repository"], row["path"]] += 1 if unit == "lines" else row["match_count"]
    table = Rows("Files", ("repository", "path", unit))
    for (repository, path), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add((repository, path, number), CitedLine(repository, commit_of(work, {"repository": repository}), path))
    return table


def _subject(work: Work, unit: str, number: int, terms: str) -> str:
    """Say what has the terms, such as ``files in src contain `x` ``."""
    called = work.request.relation == "call"
    # A definition, a comment and a function of another class have the name before a bracket, too.
    terms += " followed by `(`, as in calls and definitions" if called else ""
    if unit == "occurrences":
        return f"{noun_for('occurrence', number)} of {terms}{file_conditions(work)}"

    verb = ("has" if called else "contains") if number == 1 else ("have" if called else "contain")
    if unit == "files":
        return f"{files_noun(work, number)}{file_conditions(work, languages=False)} {verb} {terms}"

    noun = noun_for({"lines": "line", "repositories": "repository"}[unit], number)
    return f"{noun}{file_conditions(work)} {verb} {terms}"


def _line_queries(work: Work, *, every: bool, is_one_line: bool) -> list[str]:
    """Return searches for lines with the terms; with `is_one_line`, one line must have every term."""
    request = work.request
    called = request.relation == "call"
    pattern = _one_line(request) if is_one_line else make_pattern(request.terms, called=called, every=every)
    lacking = "".join(f" NOT /{expression(term, called=called)}/" for term in request.lacking)
    return make_queries(work, f"case:yes type:file {pattern}{lacking}")


def _find_lines(work: Work, queries: Sequence[str], left_out: list[str]) -> list[dict[str, Any]]:
    return [row for row in run_searches(work, queries, left_out) if row["type"] == "content"]


def _find_in_repositories(work: Work, left_out: list[str], *, every: bool) -> tuple[list[str], list[dict[str, Any]]]:
    """Find the lines of repositories that hold any (or every one) of some texts and none of others, in any files."""
    request = work.request
    called = request.relation == "call"
    queries: list[str] = []
    rows: list[dict[str, Any]] = []
    having: list[set[str]] = []
    for terms in [(term,) for term in request.terms] if every else [request.terms]:
        term_queries = make_queries(work, f"case:yes type:file {make_pattern(terms, called=called)}")
        lines = _find_lines(work, term_queries, left_out)
        having.append({row["repository"] for row in lines})
        queries += term_queries
        rows += lines

    names = set.intersection(*having)
    if request.lacking and names:
        term_queries = make_queries(work, f"case:yes type:file {make_pattern(request.lacking, called=called)}")
        names -= {row["repository"] for row in _find_lines(work, term_queries, left_out)}
        queries += term_queries

    return queries, [row for row in rows if row["repository"] in names]


def _counting_rule(terms: Sequence[Term]) -> str:
    whole_words = [term for term in terms if term.is_word]
    if not whole_words:
        return "Matches the text as written, case-sensitive, also within longer words."
    if len(whole_words) == len(terms):
        return "Matches whole words, case-sensitive."
    return "Case-sensitive. Quoted text also matches within longer words; other text matches only whole words."


def _count_without(work: Work) -> Fact:
    """Count the files that contain none of several texts."""
    request = work.request
    called = request.relation == "call"
    negations = " ".join(f"NOT /{expression(term, called=called)}/" for term in request.terms)
    queries = make_queries(work, f"case:yes type:file {negations}")
    lacking = {(row["repository"], row["path"]) for row in run_searches(work, queries) if row["path"]}
    lacking -= _find_in_bytes(work, lacking)
    per = Counter(repository for repository, _ in lacking)
    rule = f"{_counting_rule(request.terms)} Binary and large files are searched by their bytes, as in `git grep -L`."
    fact = Fact(len(lacking), "", join_queries(queries), rule, notes=work.notes, unit="files")
    fact.repositories = per
    verb = "don't contain" if len(lacking) != 1 else "doesn't contain"
    fact.subject = (
        f"{files_noun(work, len(lacking))}{file_conditions(work, languages=False)} {verb} {format_terms(request.terms)}"
    )
    table = Rows("Files", ("repository", "path"))
    for repository, path in sorted(lacking):
        table.add((repository, path), CitedLine(repository, commit_of(work, {"repository": repository}), path))

    fact.tables = [table]
    return fact


# More than these are not read for one question: a repository of pictures has thousands.
_MAX_FILES, _MAX_FILE_BYTES, _MAX_BYTES = 2_000, 32 << 20, 512 << 20


def _find_in_bytes(work: Work, files: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the files, among files that matched without their text, whose bytes contain it.

    The index has no text of binary and large files: a search without a text gives all of them.
    """
    context = work.inquiry.context
    if not context.engine.holds_files:
        return set()

    called = work.request.relation == "call"
    patterns = [
        compile_pattern(expression(term, called=called), kind="regexp", case_sensitive=True)
        for term in work.request.terms
    ]
    having, unread = set(), 0
    file_count, byte_count = 0, 0
    for repository, path in sorted(files):
        target = work.inquiry.pins.of(repository)
        view = None if target is None else context.local.store.open(target)[0].view
        number = None if view is None else view.file_number(path.encode("utf-8", "surrogateescape"))
        if target is None or view is None or number is None or REASONS[int(view.reason[number])] not in _BY_NAME:
            continue

        context.cancellation.check()
        data = None
        if file_count < _MAX_FILES and byte_count < _MAX_BYTES:
            with ObjectReader(target.repository) as reader:
                data = reader.read(bytes.fromhex(view.blob_id(number)), _MAX_FILE_BYTES)

        if data is None:
            unread += 1
            continue

        file_count, byte_count = file_count + 1, byte_count + len(data)
        if any(pattern.find_document(data) for pattern in patterns):
            having.add((repository, path))

    if unread:
        work.notes.append(f"{count_of(unread, 'binary or large file')} could not be read, and may contain the text.")

    return having


def _one_line(request: FactRequest) -> str:
    first, *remaining = [expression(term, called=request.relation == "call") for term in request.terms]
    if len(remaining) == 1:
        return f"/{first}.*{remaining[0]}|{remaining[0]}.*{first}/"
    return f"/{'.*'.join([first, *remaining])}/"


def _format_totals(matches: int, lines: int, files: int, repositories: int) -> str:
    counts = [f"{count_of(matches, 'match')}", f"on {count_of(lines, 'line')}"]
    counts += [f"in {count_of(files, 'file')}", f"of {count_of(repositories, 'repository')}"]
    return " ".join(counts)


def describe_remaining_lines(work: Work, notes: list[str], *, case: str) -> str:
    """End a sentence about a removed line: the name is gone only if no line has it."""
    queries = make_queries(work, f"case:{case} type:file {make_pattern(work.request.terms)}")
    result = find_rows(work, queries)
    notes += result.notes
    lines = result.lines
    if not lines:
        return "; no searched line has it anymore" if not notes else ""
    return f"; {count_of(len(lines), 'line')} still {'have' if len(lines) != 1 else 'has'} it"


_OF_MENTION = re.compile(r"\b(?:mention|document|test|use[sd]?|call(?:s|ed)?|text|word)", re.IGNORECASE)
"""Words that ask for any line with a text, not for what was added."""

_ASIDE = re.compile(
    r"(?:^|/)(?:bench(?:es|marks?)?|_{0,2}perf(?:ormance)?(?:[-_]?tests?|[-_]?testing)?_{0,2}|examples?|samples?|demos?"
    r"|experiments?)/",
    re.IGNORECASE,
)
"""Paths of code that shows or measures other code."""


def first_rows_of_code(work: Work, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Return the changed lines that tell when something was added, newest first, and where the others are.

    A document speaks of `mill set` years before there is such a command, and a benchmark calls what another branch has.
    So a line of code counts before others, if there is one in the repository of the first line, and words say so.
    Within a commit, the line of code is named.
    """
    if not rows or work.request.event != "added" or _OF_MENTION.search(work.inquiry.words) is not None:
        return rows, ""
    first = rows[-1]
    in_code = [
        row
        for row in rows
        if DOCUMENTS.search(row["path"]) is None and not is_test(row["path"]) and _ASIDE.search(row["path"]) is None
    ]
    if not any(row["repository"] == first["repository"] for row in in_code):
        return rows, ""
    is_code_first = any(row["commit"] == first["commit"] for row in in_code)
    return in_code, "" if is_code_first else " outside of tests, benchmarks, examples and documents"
