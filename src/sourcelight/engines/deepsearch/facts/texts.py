"""Counts of lines, places, files and repositories with a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sourcelight.engines.deepsearch.facts.model import Fact, LineOf, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    commit_of,
    expression,
    files_noun,
    kinds_of_files,
    pattern_of,
    plural,
    queries_of,
    run,
    said_terms,
    shown,
)
from sourcelight.engines.deepsearch.question.request import FactRequest, Term


def content(work: Work) -> Fact:
    """Count lines, places, files or repositories with a text; of files also those without."""
    request = work.request
    if request.is_negated:
        return _absence(work)
    called = request.relation == "call"
    # Which functions hold a text is not counted: the places themselves are, and the answer says so.
    unit = request.kind if request.kind != "definitions" else "occurrences"
    # "Occurrences of a and b" are those of either: no place is both.
    every = request.every and len(request.terms) > 1 and unit != "occurrences"
    notes: list[str] = []
    beside: list[str] = []
    if unit == "repositories":
        queries, rows = _of_repositories(work, notes, beside, every=every)
    else:
        is_one_line = unit == "lines" and every
        pattern = _one_line(request) if is_one_line else pattern_of(request.terms, called=called, every=every)
        lacking = "".join(f" NOT /{expression(term, called=called)}/" for term in request.lacking)
        queries = queries_of(work, f"case:yes type:file {pattern}{lacking}")
        rows = _lines_of(work, queries, notes, beside)
    said = said_terms(request.terms, every=every)
    if request.lacking:
        said += f", but not {said_terms(request.lacking)}"
    fact = Fact(0, "", shown(queries), _how(request.terms), notes=notes, unit=unit)
    lines = Rows("Lines", ("repository", "path", "line_number", "line"))
    matches: Counter[str] = Counter()
    files: Counter[tuple[str, str]] = Counter()
    for row in rows:
        number = row["match_count"]
        matches[row["repository"]] += number
        files[row["repository"], row["path"]] += 1 if unit == "lines" else number
        lines.add(
            (row["repository"], row["path"], row["line_number"], row["line"]),
            LineOf(row["repository"], commit_of(work, row), row["path"], row["line_number"] or 1),
        )
    by_line, by_file = Counter(row["repository"] for row in rows), Counter(name for name, _ in files)
    of = {
        "lines": by_line,
        "occurrences": matches,
        "files": by_file,
        "repositories": Counter(dict.fromkeys(by_file, 1)),
    }
    if request.kind == "definitions":
        fact.unapplied += [plural(kind, 2) for kind in request.symbol_kinds or ("definition",)]
    fact.repositories = of[unit]
    fact.number = sum(fact.repositories.values())
    nouns = {"lines": "line", "occurrences": "place", "files": "file", "repositories": "repository"}
    many = fact.number != 1
    verb = ("call" if called else "contain") if many else ("calls" if called else "contains")
    fact.subject = f"{plural(nouns[unit], fact.number)}{kinds_of_files(work)} {verb} {said}"
    if unit == "files":
        fact.subject = f"{files_noun(work, fact.number)}{kinds_of_files(work, languages=False)} {verb} {said}"
    elif unit == "occurrences":
        noun = "call" if called else "occurrence"
        fact.subject = f"{plural(noun, fact.number)} of {said}{kinds_of_files(work)} {'are' if many else 'is'} there"
    fact.more.append(f"They are {_parts(sum(matches.values()), len(rows), len(files), len(by_file))}.")
    fact.beside += dict.fromkeys(beside)
    if called:
        fact.more.append("Lines that define the name with a parenthesis behind it match as calls do.")
    table = Rows("Files", ("repository", "path", "matches" if unit != "lines" else "lines"))
    for (repository, path), number in sorted(files.items(), key=lambda item: (-item[1], item[0])):
        table.add((repository, path, number), LineOf(repository, commit_of(work, {"repository": repository}), path))
    fact.tables = [table] if "files" in {unit, request.group} or unit == "repositories" else [lines, table]
    return fact


def _lines_of(work: Work, queries: Sequence[str], notes: list[str], beside: list[str]) -> list[dict[str, Any]]:
    return [row for row in run(work, queries, notes, beside) if row["type"] == "content"]


def _of_repositories(
    work: Work, notes: list[str], beside: list[str], *, every: bool
) -> tuple[list[str], list[dict[str, Any]]]:
    """Find the lines of repositories that hold any (or every one) of some texts and none of others, in any files."""
    request = work.request
    called = request.relation == "call"
    queries: list[str] = []
    rows: list[dict[str, Any]] = []
    having: list[set[str]] = []
    for terms in [(term,) for term in request.terms] if every else [request.terms]:
        own = queries_of(work, f"case:yes type:file {pattern_of(terms, called=called)}")
        lines = _lines_of(work, own, notes, beside)
        having.append({row["repository"] for row in lines})
        queries += own
        rows += lines
    names = set.intersection(*having)
    if request.lacking and names:
        own = queries_of(work, f"case:yes type:file {pattern_of(request.lacking, called=called)}")
        names -= {row["repository"] for row in _lines_of(work, own, notes, beside)}
        queries += own
    return queries, [row for row in rows if row["repository"] in names]


def _how(terms: Sequence[Term]) -> str:
    words = [term for term in terms if term.is_word]
    if not words:
        return "Texts count as they are written, with regard to case, also within longer words."
    if len(words) == len(terms):
        return "Texts count as whole words, with regard to case."
    return "Upper and lower case matter; what is quoted counts also within longer words, the rest as whole words."


def _absence(work: Work) -> Fact:
    """Count the files in which none of some texts is."""
    request = work.request
    called = request.relation == "call"
    own = " ".join(f"NOT /{expression(term, called=called)}/" for term in request.terms)
    queries = queries_of(work, f"case:yes type:file {own}")
    notes: list[str] = []
    found = {(row["repository"], row["path"]) for row in run(work, queries, notes) if row["path"]}
    per = Counter(repository for repository, _ in found)
    fact = Fact(len(found), "", shown(queries), _how(request.terms), notes=notes, unit="files")
    fact.repositories = per
    verb = "don't contain" if len(found) != 1 else "doesn't contain"
    fact.subject = (
        f"{files_noun(work, len(found))}{kinds_of_files(work, languages=False)} {verb} {said_terms(request.terms)}"
    )
    table = Rows("Files", ("repository", "path"))
    for repository, path in sorted(found):
        table.add((repository, path), LineOf(repository, commit_of(work, {"repository": repository}), path))
    fact.tables = [table]
    return fact


def _one_line(request: FactRequest) -> str:
    first, *rest = [expression(term, called=request.relation == "call") for term in request.terms]
    if len(rest) == 1:
        return f"/{first}.*{rest[0]}|{rest[0]}.*{first}/"
    return f"/{'.*'.join([first, *rest])}/"


def _parts(matches: int, lines: int, files: int, repositories: int) -> str:
    pieces = [f"{matches:,} {plural('match', matches)}", f"on {lines:,} {plural('line', lines)}"]
    pieces += [f"in {files:,} {plural('file', files)}", f"of {repositories:,} {plural('repository', repositories)}"]
    return " ".join(pieces)
