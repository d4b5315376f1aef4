"""Lines of code that throw or raise an exception by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.markup.highlighting import Token, line_tokens
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.definitions.search import split_name
from sourcelight.engines.deepsearch.lookups.uses import (
    holder_of,
    is_code,
    location_in,
    quote_around,
    state_use,
    whole_word,
)
from sourcelight.engines.deepsearch.source.literals import TEXT

_KEYWORD = r"(?:throw|raise|rethrow|THROW)"
_RAISING = (".py", ".pyi", ".rb", ".ex", ".exs", ".ml", ".mli")

_COMMENT_BEHIND = re.compile(r"\s(?:#|//)\s")


class _ThrowForm:
    """The forms of lines that throw or raise an exception of a name, each searched in linear time."""

    def __init__(self, name: str) -> None:
        self.name = re.compile(rf"{re.escape(name)}(?![\w$])")
        prefix = r"(?:new\s{1,9})?\\?(?:[\w$]{1,80}(?:\.|::|\\)){0,9}\.?"
        exception = prefix + self.name.pattern
        self._keyword = re.compile(rf"\b{_KEYWORD}\b")
        self._direct = re.compile(rf"\b{_KEYWORD}\b\s*+(?:\(\s*+)?{exception}")
        self._fallback = re.compile(rf"(?:\?|:|\|\||\bor\b|\belse\b|\bfrom\b)\s*+{exception}")

    def is_in(self, text: str) -> bool:
        """Return whether a text has the exception behind a keyword, or as an alternative: ``throw x ?? new Gate``."""
        keyword = self._keyword.search(text)
        if keyword is None:
            return False
        return self._direct.search(text) is not None or self._fallback.search(text, keyword.end()) is not None

    def is_behind_keyword(self, text: str) -> bool:
        """Return whether a text has the name anywhere behind a keyword."""
        keyword = self._keyword.search(text)
        return keyword is not None and self.name.search(text, keyword.end()) is not None


_TokensByFile: TypeAlias = dict[tuple[str, str], list[list[Token]]]


def find_throws(work: Work, name: str) -> Finding | None:
    """Return the lines of code that throw or raise an exception; None if none does by its name."""
    simple = split_name(name)[1]
    queries = make_queries(work, f"case:yes type:file {whole_word(simple)}")
    rows: list[dict[str, Any]] = []
    other_rows: list[dict[str, Any]] = []
    for row in run_searches(work, queries):
        if row["type"] == "content" and language_of(row["path"]) in PROGRAMMING_LANGUAGES:
            (rows if is_code(row) else other_rows).append(row)

    form = _ThrowForm(simple)
    tokens: _TokensByFile = {}
    throwing = [row for row in rows if _throws(work, row, form, tokens)]

    # What is left out belongs into the sentence, or its number is another one than a reader counts.
    scope = "outside of tests and examples " if any(_throws(work, row, form, tokens) for row in other_rows) else ""
    # What only tests and examples throw is an answer, too, if the sentence says so.
    if not throwing:
        scope, rows = "in tests and examples ", other_rows
        throwing = [row for row in rows if _throws(work, row, form, tokens)]

    if not throwing:
        return None

    stated = {(row["repository"], row["path"], row["line_number"]) for row in throwing}
    least = "at least " if _lines_with_keyword(work, rows, form) - stated else ""
    finding = _state_throws(work, simple, throwing, f"{scope}on {least}")
    finding.queries, finding.notes = [join_queries(queries)], work.notes
    line_count = recount.count_with(work, stated, form.name.pattern)
    finding.recounts = frozenset({line_count, len(recount.files_in(stated))})
    return finding


def _lines_with_keyword(work: Work, rows: Sequence[Mapping[str, Any]], form: _ThrowForm) -> set[recount.Location]:
    """Return the lines of code that have a keyword before a name: unless all of them count, there may be more."""
    return {
        (repository, path, number)
        for repository, path in {(row["repository"], row["path"]) for row in rows}
        for number, line in recount.code_lines(work, repository, path)
        if form.name.search(line) is not None
        and form.is_behind_keyword(TEXT.sub('""', _COMMENT_BEHIND.split(line, maxsplit=1)[0]))
    }


def _state_throws(work: Work, name: str, rows: list[dict[str, Any]], scope: str) -> Finding:
    """State which lines throw an exception; `scope` says outside of which files, and on at least how many."""
    rows.sort(key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))
    detailed = [(row, holder_of(work, row)) for row in rows[:MAX_DETAILS]]
    statements = [state_use(work, row, holder) for row, holder in detailed]
    locations = list(dict.fromkeys(location_in(row, holder) for row, holder in detailed))
    files = count_of(len({(row["repository"], row["path"]) for row in rows}), "file")
    verb = "raised" if rows[0]["path"].endswith(_RAISING) else "thrown"

    # "By name": a variable or a function may hold the exception, and what is thrown then has another name.
    text = f"{code(name)} is {verb} by name {scope}{count_of(len(rows), 'line')} of {files}"
    are_all = len(locations) <= MAX_NAMED and len(rows) <= len(detailed)
    text += f"{':' if are_all else ', such as in'} {join_words(locations[:MAX_NAMED])}"
    evidence = tuple(item for statement in statements[:MAX_NAMED] for item in statement.evidence)
    finding = Finding(Statement(text, evidence), "throws", heading="Lines")
    finding.quotes = [quote_around(work, rows[0])]
    finding.details = statements
    finding.method.append(
        "Covers code outside of tests and examples, without exceptions that another function creates."
    )
    return finding


def _throws(work: Work, row: Mapping[str, Any], form: _ThrowForm, tokens: _TokensByFile) -> bool:
    """Return whether a form says that a line throws or raises something, which is no argument and in no text.

    The keyword may be on a line above: ``raise (``, ``throw new``, ``throw x ?``.
    """
    target = work.inquiry.pins.of(row["repository"])
    number = row["line_number"]
    lines = [] if target is None else work.texts.lines(target, row["path"])
    above = [line.strip() for line in lines[max(0, number - 3) : number - 1]]
    before = ""
    for line in above:
        blanked = TEXT.sub('""', line)
        before = f"{before} {blanked}" if re.search(r"(?:\b(?:throw|raise|new)|[(?:,])$", blanked) is not None else ""

    key = row["repository"], row["path"]
    if key not in tokens:
        tokens[key] = line_tokens(lines, row["path"].rpartition(".")[2])
    line = _blank_comments(lines[number - 1], tokens[key][number - 1]) if lines else row["line"]
    text = f"{before} {TEXT.sub(chr(34) * 2, line.strip())}"
    return form.is_in(text) and not form.is_in(before)


def _blank_comments(line: str, tokens: Sequence[Token]) -> str:
    """Return a line without its comments and its parts of texts over several lines, such as docstrings."""
    for start, end, kind in tokens:
        if kind in {"c", "s"}:
            line = f"{line[:start]}{' ' * (end - start)}{line[end:]}"
    return line
