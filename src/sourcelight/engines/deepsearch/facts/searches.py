"""Searches that anyone can run again: how a request is written as one, run, and put in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches import MatchBatch, conform
from sourcelight.core.cells.json_lines import with_cell_line
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import QueryError
from sourcelight.core.markup import code, count_of, plural
from sourcelight.core.query import parse
from sourcelight.core.query.narrowing import add_filter
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.core.wire.events import Alert, Done, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import CitedLine, Work
from sourcelight.engines.deepsearch.facts.paths import test_files
from sourcelight.engines.deepsearch.question.request import Term, any_path
from sourcelight.engines.deepsearch.question.scope import repository_filter
from sourcelight.engines.deepsearch.requests import ResearchEvent


def make_queries(work: Work, text: str, *, languages: bool = True) -> list[str]:
    """Write the searches for a text: one, or one for each of several languages, since filters all have to hold."""
    names = work.request.languages if languages and len(work.request.languages) > 1 else ("",)
    filters = make_filters(work, languages=languages)
    queries = []
    for name in names:
        pattern_text = " ".join(part for part in (f"lang:{quote_value(name)}" if name else "", filters, text) if part)
        scope = f"{_repository_filter_of(work)} {work.inquiry.filters} count:all".strip()
        queries.append(add_filter(parse(pattern_text, "standard"), scope))

    return queries


def make_listing_queries(work: Work, *, languages: bool = True) -> list[str]:
    """Write the searches that list files: without any filter of files, a query would list repositories."""
    bare = not make_filters(work, languages=languages) and not (languages and work.request.languages)
    return make_queries(work, "type:path file:." if bare else "type:path", languages=languages)


def make_filters(work: Work, *, languages: bool = True) -> str:
    """Write the filters of a request: passed filters, repositories of the question, its paths and languages."""
    request = work.request
    parts = [f"file:{quote_value(any_path(request.paths))}"] if request.paths else []
    parts += [f"-file:{quote_value(path.pattern)}" for path in request.without]
    if request.tests is not None:
        parts.append(f"{'' if request.tests else '-'}file:{quote_value(test_files(request))}")

    if languages and len(request.languages) == 1:
        parts.append(f"lang:{quote_value(request.languages[0])}")

    return " ".join(parts)


def _repository_filter_of(work: Work) -> str:
    """Restrict a search to the repositories that have a path named in the question; reading others would be wasted."""
    names = work.names
    if (
        work.inquiry.filters
        or not work.request.paths
        or len(names) == len({pin.repository for pin in work.inquiry.pins})
    ):
        return ""

    return repository_filter(names)


@dataclass(frozen=True, slots=True)
class SearchRows:
    """The result of searches: rows, and what the searches left out.

    Attributes
    ----------
    rows
        Rows of all kinds, in the order of the searches.
    notes
        Why rows are missing; empty if none is.
    large_files
        Notices about large files, which are searched only by name.
    lacks_only_files
        Whether all that `notes` say is that files aren't in the clone, or can't be read: every other one was searched.
    """

    rows: list[dict[str, Any]]
    notes: list[str]
    large_files: list[str]
    lacks_only_files: bool = False

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The rows that are lines of files."""
        return [row for row in self.rows if row["type"] == "content"]


_MISSING_FILES = "document-missing"
"""The reason of files that a clone lacks, or that can't be read."""


def find_rows(work: Work, queries: Sequence[str]) -> SearchRows:
    """Run searches; raises what the engine raises, such as `QueryError`."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    large_files: list[str] = []
    reasons: list[str] = []
    context = work.inquiry.context
    for query in queries:
        request = SearchRequest(query, pattern_type="standard", cells=True)
        batches: list[Any] = []
        finished = False
        with closing(context.engine.stream(request, context.viewer, context.cancellation)) as events:  # type: ignore[type-var]
            for event in events:
                if isinstance(event, MatchBatch):
                    batches.append(event.batch)
                elif isinstance(event, Progress) and event.done:
                    reasons += [item.reason for item in event.skipped if is_limiting(item)]
                    # Notes are shown as text, where the mark of code would be a letter.
                    limits = [item.message for item in event.skipped if is_limiting(item)]
                    notes += [_sentence_of(message).rstrip(".").replace("`", "") for message in limits]
                    large = [item.message for item in event.skipped if item.reason.endswith("too-large")]
                    large_files += [_sentence_of(message) for message in large]
                elif isinstance(event, Alert) and event.kind != "info":
                    notes.append(event.title)
                    reasons.append("alert")

                finished = finished or isinstance(event, Done)

        context.cancellation.check()

        # Without `Done` the stream was cut, and a count would look complete.
        if not finished:
            notes.append("The search did not finish.")
            reasons.append("unfinished")

        query_rows = conform(batches).to_pylist() if batches else []
        rows += [with_cell_line(row) for row in query_rows]
        count = count_of(len(rows), "row")
        work.emit(ResearchEvent("turn", {"tool": "keyword_search", "query": query, "result": count}))

    return SearchRows(rows, notes, large_files, lacks_only_files=set(reasons) == {_MISSING_FILES})


def run_searches(
    work: Work, queries: Sequence[str], notes: list[str], left_out: list[str] | None = None
) -> list[dict[str, Any]]:
    """Run searches of one step of several; see `find_rows`.

    Adds why rows are missing to `notes` of all steps, and notices about large files to `left_out`.
    """
    result = find_rows(work, queries)
    notes += result.notes
    if left_out is not None:
        left_out += result.large_files
    return result.rows


def _sentence_of(message: str) -> str:
    """Write a search's report of skipped files, a line and a list, as a sentence."""
    head, *names = message.strip().split("\n")
    name_list = ", ".join(name.strip().removeprefix("- ") for name in names if name.strip())
    return f"{' '.join(head.split()).rstrip(':').removesuffix(', in')}{f' ({name_list})' if name_list else ''}."


def join_queries(queries: Sequence[str]) -> str:
    """Show searches side by side."""
    return "  +  ".join(queries)


def expression(term: Term, *, called: bool = False) -> str:
    """Write a text as a regular expression: literally, or as a whole word."""
    # Patterns are written between slashes. Next to punctuation, as in `--flag`, `\b` would require a letter before it.
    escaped = escape_regexp(term.text).replace("/", r"\/").replace("\n", r"\n")
    prefix = r"\b" if (term.is_word or called) and re.match(r"\w", term.text) else ""
    right = r"\b" if (term.is_word or called) and re.search(r"\w$", term.text) else ""
    return f"{prefix}{escaped}{right}" + (r"[ \t]*\(" if called else "")


def make_pattern(terms: Sequence[Term], *, called: bool = False, every: bool = False) -> str:
    """Write a pattern of a search for any (or every) one of some texts."""
    expressions = [f"/{expression(term, called=called)}/" for term in terms]
    if len(expressions) == 1:
        return expressions[0]
    if every:
        return f"({' and '.join(expressions)})"
    return f"/(?:{'|'.join(expression(term, called=called) for term in terms)})/"


def format_terms(terms: Sequence[Term], *, every: bool = False) -> str:
    """Name texts in a sentence."""
    return (" and " if every else " or ").join(code(term.text) for term in terms)


def noun_for(noun: str, number: int) -> str:
    """Return the form of a noun that belongs to a number."""
    return noun if number == 1 else plural(noun)


def files_noun(work: Work, number: int) -> str:
    """Describe files by language, such as "Go files"."""
    return f"{' or '.join(work.request.languages)} {noun_for('file', number)}".strip()


def file_conditions(work: Work, *, languages: bool = True) -> str:
    """Describe which files a count is restricted to."""
    request = work.request
    parts = []
    if request.languages and languages:
        parts.append(f" in {' or '.join(request.languages)} files")

    if request.tests is not None:
        parts.append(" in tests" if request.tests else " outside of tests")

    if request.paths:
        preposition = "of" if all(path.glob.startswith("*.") for path in request.paths) else "in"
        parts.append(f" {preposition} {' or '.join(code(path.glob) for path in request.paths)}")

    if request.without:
        parts.append(f" outside of {' and '.join(code(path.glob) for path in request.without)}")

    if work.revision:
        parts.append(f" at {code(work.revision)}")

    return "".join(parts)


def commit_of(work: Work, row: dict[str, Any]) -> str:
    """Return the commit that a row of a search is of."""
    target = work.inquiry.pins.of(row["repository"])
    return row.get("commit") or (target.commit if target is not None else "")


def cited_line(work: Work, row: dict[str, Any]) -> CitedLine:
    """Return the line that a row of a search is of; the first line for a path."""
    return CitedLine(row["repository"], commit_of(work, row), row["path"], row["line_number"] or 1)


def row_evidence(
    work: Work, texts: FileTexts, row: Mapping[str, Any], role: str = "usage", score: float = 0.0,
    symbols: tuple[str, ...] = (),
) -> FileEvidence | None:  # fmt: skip
    """Make evidence of the line that a row of a search is of; None for a repository that isn't pinned."""
    target, line = work.inquiry.pins.of(row["repository"]), row["line_number"]
    return None if target is None else texts.evidence(target, row["path"], line, line, role, score, symbols)


def rows_evidence(
    work: Work, texts: FileTexts, rows: Iterable[Mapping[str, Any]], symbols: tuple[str, ...] = ()
) -> tuple[FileEvidence, ...]:
    """Make evidence of the lines of several rows, as uses."""
    evidence = (row_evidence(work, texts, row, symbols=symbols) for row in rows)
    return tuple(item for item in evidence if item is not None)


def is_readable(work: Work) -> bool:
    """Return whether the filters of a question can be put into a search."""
    try:
        make_listing_queries(work)
    except QueryError:
        return False
    return True
