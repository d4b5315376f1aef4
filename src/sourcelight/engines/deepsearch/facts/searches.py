"""Searches that anyone can run again: how a request is written as one, run, and put in words.

A fact rests on searches whose queries stand beside it. `make_queries` writes them from a pattern and the filters of the
question, one per language, since filters of a query all have to hold. `find_rows` runs them and notes all that they
left out, because a count without it would look complete. The other functions write patterns (`make_pattern`), name the
conditions of a count in a sentence (`file_conditions`), and quote the lines of rows (`row_evidence`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.batches import MatchBatch, conform
from sourcelight.core.cells.json_lines import with_cell_line
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import QueryError
from sourcelight.core.markup import code, count_of, plural
from sourcelight.core.query import parse
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.narrowing import add_filter
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.core.wire.events import Alert, Done, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.facts.model import CitedLine, Work
from sourcelight.engines.deepsearch.facts.paths import test_files
from sourcelight.engines.deepsearch.question.file_kinds import ANY_FOLDER
from sourcelight.engines.deepsearch.question.request import FactRequest, Term, any_path
from sourcelight.engines.deepsearch.question.scope import repository_filter
from sourcelight.engines.deepsearch.requests import ResearchEvent


def make_queries(work: Work, text: str, *, languages: bool = True) -> list[str]:
    """Write the queries for a pattern: one for each language of the question if there are several, else one.

    Without `languages`, files of all languages are searched.
    """
    filters = make_filters(work, languages=languages)
    separate_languages = work.request.languages if languages and len(work.request.languages) > 1 else ()
    language_filters = [f"lang:{quote_value(language)}" for language in separate_languages] or [""]
    scope = f"{_repository_filter_of(work)} {work.inquiry.filters} count:all".strip()
    patterns = [" ".join(filter(None, (language_filter, filters, text))) for language_filter in language_filters]
    return [add_filter(parse(pattern, "standard"), scope) for pattern in patterns]


def make_listing_queries(work: Work, *, languages: bool = True) -> list[str]:
    """Write the searches that list files: without any filter of files, a query would list repositories."""
    is_filtered = bool(make_filters(work, languages=languages)) or (languages and bool(work.request.languages))
    return make_queries(work, "type:path" if is_filtered else "type:path file:.", languages=languages)


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
    if work.inquiry.filters or not work.request.paths:
        return ""
    # `work.names` are the repositories with the path: no filter is needed if these are all.
    pinned_names = {pin.repository for pin in work.inquiry.pins}
    return "" if len(work.names) == len(pinned_names) else repository_filter(work.names)


_MISSING_FILES = "document-missing"
"""The reason of files that a clone lacks, or that can't be read."""


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
    is_cut: bool = False

    @property
    def reads_all(self) -> bool:
        """Whether every file that can be read was searched."""
        return not self.notes or self.lacks_only_files

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The rows that are lines of files."""
        return [row for row in self.rows if row["type"] == "content"]


@dataclass(frozen=True, slots=True)
class _Lack:
    """A cause of missing rows: its reason for programs, and a note for readers."""

    reason: str
    note: str


@dataclass(slots=True)
class _SearchOutput:
    """The rows of one search, what it lacks, and notices about large files, each in the order of its events."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    lacks: list[_Lack] = field(default_factory=list)
    large_files: list[str] = field(default_factory=list)
    is_cut: bool = False


def find_rows(work: Work, queries: Sequence[str], *, max_rows: int | None = None) -> SearchRows:
    """Run searches; raises what the engine raises, such as `QueryError`.

    Parameters
    ----------
    work
        The request under way.
    queries
        The searches.
    max_rows
        Rows of lines and definitions of which more are of no use to the caller: a search with more ends early, and the
        result says ``is_cut``. None: all rows are read.
    """
    rows: list[dict[str, Any]] = []
    lacks: list[_Lack] = []
    large_files: list[str] = []
    for query in queries:
        output = _run_search(work, query, max_rows)
        rows += output.rows
        lacks += output.lacks
        large_files += output.large_files
        count = f"more than {count_of(max_rows or 0, 'row')}" if output.is_cut else count_of(len(rows), "row")
        work.emit(ResearchEvent("turn", {"tool": "keyword_search", "query": query, "result": count}))
        if output.is_cut:
            return SearchRows([], [], [], is_cut=True)

    lacks_only_files = {lack.reason for lack in lacks} == {_MISSING_FILES}
    is_cut = max_rows is not None and sum(row["type"] != "path" for row in rows) > max_rows
    return SearchRows(
        rows, [lack.note for lack in lacks], large_files, lacks_only_files=lacks_only_files, is_cut=is_cut
    )


def has_row(work: Work, queries: Sequence[str], accept: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return whether searches have a row of a line that `accept` takes; they end at the first one."""
    for query in queries:
        row_count, is_accepted = 0, False
        with _stream(work, query) as events:
            for event in events:
                if not isinstance(event, MatchBatch):
                    continue
                rows = conform([event.batch]).to_pylist()
                row_count += len(rows)
                is_accepted = any(row["type"] == "content" and accept(row) for row in rows)
                if is_accepted:
                    break

        work.inquiry.context.cancellation.check()
        count = f"{count_of(row_count, 'row')} or more" if is_accepted else count_of(row_count, "row")
        work.emit(ResearchEvent("turn", {"tool": "keyword_search", "query": query, "result": count}))
        if is_accepted:
            return True

    return False


def _stream(work: Work, query: str) -> closing[Any]:
    """Begin a search; leaving the block ends it."""
    context = work.inquiry.context
    request = SearchRequest(query, pattern_type="standard", cells=True)
    return closing(context.engine.stream(request, context.viewer, context.cancellation))


MAX_SEARCH_ROWS = 500_000
_MAX_SEARCH_BYTES = 256 << 20
"""Rows of a search, and bytes of their columns, that a question reads: each row takes two kilobytes more."""


def _run_search(work: Work, query: str, max_rows: int | None) -> _SearchOutput:
    """Run a search to its end, or until it has too many rows; raises `Cancelled`, and without `max_rows` at a limit."""
    output = _SearchOutput()
    batches: list[Any] = []
    all_count = row_count = byte_count = 0
    is_finished = False
    with _stream(work, query) as events:
        for event in events:
            if isinstance(event, MatchBatch):
                batches.append(event.batch)
                all_count, byte_count = all_count + event.batch.num_rows, byte_count + event.batch.nbytes
                if all_count > MAX_SEARCH_ROWS or byte_count > _MAX_SEARCH_BYTES:
                    work.context.cancellation.end_work("a search has too many rows")
                if max_rows is not None:
                    kinds = event.batch.column("type").to_pylist()
                    row_count += len(kinds) - kinds.count("path")
                    if row_count > max_rows:
                        break
            elif isinstance(event, Progress) and event.done:
                output.lacks += [_lack_of(item) for item in event.skipped if is_limiting(item)]
                output.large_files += [_sentence_of(item.message) for item in event.skipped if _is_too_large(item)]
            elif isinstance(event, Alert) and event.kind != "info":
                output.lacks.append(_Lack("alert", event.title))

            is_finished = is_finished or isinstance(event, Done)

    work.inquiry.context.cancellation.check()
    if max_rows is not None and row_count > max_rows:
        return _SearchOutput(is_cut=True)

    # Without `Done` the stream was cut, and a count would look complete.
    if not is_finished:
        output.lacks.append(_Lack("unfinished", "The search did not finish."))

    output.rows = [with_cell_line(row) for row in conform(batches).to_pylist()] if batches else []
    return output


def _lack_of(item: Skipped) -> _Lack:
    """Describe what a search skipped. Notes are shown as text, where the mark of code would be a letter."""
    return _Lack(item.reason, _sentence_of(item.message).rstrip(".").replace("`", ""))


def _is_too_large(item: Skipped) -> bool:
    return item.reason.endswith("too-large")


def run_searches(work: Work, queries: Sequence[str], left_out: list[str] | None = None) -> list[dict[str, Any]]:
    """Run searches of one step of several; see `find_rows`.

    Adds why rows are missing to the notes of the work, and notices about large files to `left_out`.
    """
    result = find_rows(work, queries)
    work.notes += result.notes
    if left_out is not None:
        left_out += result.large_files
    return result.rows


def _sentence_of(message: str) -> str:
    """Write a search's report of skipped files, a line and a list, as a sentence."""
    head, *items = message.strip().split("\n")
    sentence = " ".join(head.split()).rstrip(":").removesuffix(", in")
    names = [item.strip().removeprefix("- ") for item in items if item.strip()]
    return f"{sentence} ({', '.join(names)})." if names else f"{sentence}."


def join_queries(queries: Sequence[str]) -> str:
    """Show searches side by side."""
    return "  +  ".join(queries)


def expression(term: Term, *, called: bool = False) -> str:
    """Write a text as a regular expression between slashes: literally, as a whole word, or as a call."""
    escaped = escape_regexp(term.text).replace("/", r"\/").replace("\n", r"\n")
    is_word = term.is_word or called
    # Next to punctuation, as in `--flag`, `\b` would require a letter before it.
    word_start = r"\b" if is_word and re.match(r"\w", term.text) else ""
    word_end = r"\b" if is_word and re.search(r"\w$", term.text) else ""
    call = r"[ \t]*\(" if called else ""
    return f"{word_start}{escaped}{word_end}{call}"


def make_pattern(terms: Sequence[Term], *, called: bool = False, every: bool = False) -> str:
    """Write a pattern of a search for any (or every) one of some texts."""
    expressions = [expression(term, called=called) for term in terms]
    if len(expressions) == 1:
        return f"/{expressions[0]}/"
    if every:
        conditions = " and ".join(f"/{text}/" for text in expressions)
        return f"({conditions})"
    return f"/(?:{'|'.join(expressions)})/"


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

    if ANY_FOLDER in request.without:
        parts.append(" at the top level")
    without = [code(path.glob) for path in request.without if path != ANY_FOLDER]
    if without:
        parts.append(f" outside of {' and '.join(without)}")

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
    work: Work, row: Mapping[str, Any], role: str = "usage", score: float = 0.0,
    symbols: tuple[str, ...] = (),
) -> FileEvidence | None:  # fmt: skip
    """Make evidence of the line that a row of a search is of; None for a repository that isn't pinned."""
    target, line = work.inquiry.pins.of(row["repository"]), row["line_number"]
    return None if target is None else work.texts.evidence(target, row["path"], line, line, role, score, symbols)


def rows_evidence(
    work: Work, rows: Iterable[Mapping[str, Any]], symbols: tuple[str, ...] = ()
) -> tuple[FileEvidence, ...]:
    """Make evidence of the lines of several rows, as uses."""
    evidence = (row_evidence(work, row, symbols=symbols) for row in rows)
    return tuple(item for item in evidence if item is not None)


def is_readable(work: Work) -> bool:
    """Return whether the filters of a question can be put into a search."""
    try:
        make_listing_queries(work)
    except QueryError:
        return False
    return True


def describe_terms(request: FactRequest, *, in_other_case: bool, of_tests: bool) -> str:
    """Write the texts of a line, their value and their place: "`LIMIT` set to `3` in `mill.py`"."""
    terms = " or ".join(code(term.text) for term in request.terms)
    if request.value:
        terms += f" set to {code(request.value)}"
    if in_other_case:
        terms += " in another case"
    if of_tests:
        terms += " in a test file"
    elif request.paths:
        terms += f" in {' or '.join(code(path.glob.removeprefix('**/')) for path in request.paths)}"
    return terms


def rows_of_code(work: Work, rows: Sequence[dict[str, Any]], language: str = "") -> list[dict[str, Any]]:
    """Return the lines that are code, rather than of a comment or a text of several lines.

    Parameters
    ----------
    rows
        Rows of lines, of any files.
    language
        The language of the files; empty for that of each path, where lines of an unknown one count as code.
    """
    numbers: dict[tuple[str, str], frozenset[int]] = {}
    code_rows = []
    for row in rows:
        file = row["repository"], row["path"]
        target, file_language = work.inquiry.pins.of(row["repository"]), language or language_of(row["path"])
        if target is not None and file_language and file not in numbers:
            lines = work.texts.code_lines(target, row["path"], file_language)
            numbers[file] = frozenset(number for number, _ in lines)
        if not file_language or row["line_number"] in numbers.get(file, ()):
            code_rows.append(row)

    return code_rows
