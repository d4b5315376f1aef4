"""Select the quotes of an answer from ranked chunks: the best ones, no near duplicates, few of one file.

Chunks are tried from the best on. Of each, imports are left out, the lines with most of the question are chosen, and
these are widened to whole syntactic units. A quote counts for a limit of lines, which all sections of an answer share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.question_terms import WINDOW, best_window
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts, fence_name
from sourcelight.engines.deepsearch.evidence.units import fit_to_units
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.line_kinds import IMPORT_STATEMENT
from sourcelight.engines.search.ranking import RankedChunk
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN

QUOTES = 8
"""Maximum quotes of code."""

MAX_QUOTED_LINES = 120
"""Maximum lines of all quotes, unless a budget says otherwise."""

PER_FILE = 4
"""Maximum quotes of one file."""

_MAX_LIKENESS = 0.75
"""Share of common names from which two quotes are near duplicates."""

_MIN_PROTOTYPES, _MIN_PROTOTYPE_SHARE = 4, 0.8
"""Number and share of prototypes among the lines of code from which a chunk only declares."""

_COMMENT = re.compile(r"\s*(?:/[/*]|\*)")
"""A line of a comment: `// Opens the gate`, ` * Opens the gate`."""

_MAX_PROTOTYPE = 500
_PROTOTYPE = re.compile(r"[A-Za-z_][\w\s*]*[\s*]\w+\([^{}]*\)[^{}]*;\s*$")
"""A prototype of C: `int gate_open(struct gate *gate);`."""


@dataclass(slots=True)
class QuoteSelector:
    """Selects quotes until the limit of lines is used.

    Attributes
    ----------
    texts
        The files.
    weights
        Weights of the question's terms.
    most_lines
        Maximum lines of all quotes.
    quoted
        Lines quoted so far.
    """

    texts: FileTexts
    weights: Mapping[str, float]
    most_lines: int = MAX_QUOTED_LINES
    quoted: int = 0
    _names_of_quotes: list[frozenset[bytes]] = field(default_factory=list)
    _quotes: list[FileEvidence] = field(default_factory=list)

    def choose(
        self, chunks: Sequence[RankedChunk], role: str, limit: int, *, window: int = WINDOW
    ) -> list[FileEvidence]:
        """Select up to `limit` quotes of `window` lines from chunks, best first; prototypes as a last resort."""
        without_prototypes = self._select(chunks, role, limit, window, with_prototypes=False)
        return without_prototypes or self._select(chunks, role, limit, window, with_prototypes=True)

    def _select(
        self, chunks: Sequence[RankedChunk], role: str, limit: int, window: int, *, with_prototypes: bool
    ) -> list[FileEvidence]:
        quotes: list[FileEvidence] = []
        for chunk in chunks:
            if len(quotes) >= limit or self.quoted >= self.most_lines:
                break
            # Before the file is read: hidden files must not reach memory that a model or page sees.
            if is_hidden_file(chunk.path) or self._count_quotes_of(chunk) >= PER_FILE:
                continue
            quote = self._quote(chunk, role, window, with_prototypes=with_prototypes)
            if quote is not None:
                quotes.append(quote)

        return quotes

    def _count_quotes_of(self, chunk: RankedChunk) -> int:
        """Return how many quotes the file of a chunk has."""
        file = chunk.target.repository.name, chunk.path
        return sum((quote.repository, quote.path) == file for quote in self._quotes)

    def _quote(self, chunk: RankedChunk, role: str, window: int, *, with_prototypes: bool) -> FileEvidence | None:
        """Quote the best lines of a chunk; None if it explains nothing, or nothing that isn't quoted already."""
        lines = self.texts.lines(chunk.target, chunk.path)[chunk.begin_line - 1 : chunk.end_line]
        if _only_declares(lines) and not with_prototypes:
            return None

        code_lines = _without_imports(lines)
        names = frozenset(TOKEN.findall("\n".join(lines).encode()))
        is_duplicate = any(_likeness(names, other) > _MAX_LIKENESS for other in self._names_of_quotes)
        if is_duplicate or not any(line.strip() for line in code_lines):
            return None

        first, last = best_window(code_lines, self.weights, min(window, self.most_lines - self.quoted))
        start, end = self._fit(chunk, chunk.begin_line + first, chunk.begin_line + last)
        quote = self.texts.evidence(chunk.target, chunk.path, start, end, role, chunk.score, chunk.symbols)

        # After fitting, since two chunks that don't overlap may grow into the same function.
        if any(quote.overlaps(other) for other in self._quotes):
            return None

        self._names_of_quotes.append(names)
        self._quotes.append(quote)
        self.quoted += quote.end_line - quote.begin_line + 1
        return quote

    def _fit(self, chunk: RankedChunk, first: int, last: int) -> tuple[int, int]:
        """Return the whole units around some lines of a chunk without imports above; of documents, the same lines."""
        lines = self.texts.lines(chunk.target, chunk.path)
        start, end = first, last
        if chunk.kind != "docs":
            units = list(self.texts.iter_definitions(chunk.target, chunk.path))
            start, end = fit_to_units(lines, first, last, units, fence_name(chunk.path))
            end = min(end, start + MAX_LINES - 1)
        return start + _count_leading_imports(lines[start - 1 : end]), end


def _likeness(names: frozenset[bytes], other: frozenset[bytes]) -> float:
    """Return the share of the names of two texts that both have."""
    all_names = names | other
    return len(names & other) / len(all_names) if all_names else 0.0


def _only_declares(lines: Sequence[str]) -> bool:
    """Return whether lines are prototypes, as in C headers, without a definition."""
    code_lines = [line[:_MAX_PROTOTYPE] for line in lines if line.strip() and not _COMMENT.match(line)]
    prototypes = sum(_PROTOTYPE.match(line) is not None for line in code_lines)
    return prototypes >= _MIN_PROTOTYPES and prototypes >= _MIN_PROTOTYPE_SHARE * len(code_lines)


def _without_imports(lines: Sequence[str]) -> list[str]:
    """Return lines with empty ones for imports: they name what is used, and explain nothing."""
    code_lines = []
    closing_bracket = ""
    for line in lines:
        is_import = closing_bracket != "" or IMPORT_STATEMENT.match(line) is not None
        if closing_bracket:
            closing_bracket = "" if closing_bracket in line else closing_bracket
        elif is_import:
            closing_bracket = _closing_of_open_list(line)
        code_lines.append("" if is_import else line)

    return code_lines


def _closing_of_open_list(line: str) -> str:
    """Return the bracket that closes the list of names that an import opens; empty if its line has them all."""
    for opening, closing in (("(", ")"), ("{", "}")):
        if line.count(opening) > line.count(closing):
            return closing
    return ""


def _count_leading_imports(lines: Sequence[str]) -> int:
    """Return how many lines precede the first one that is neither an import nor empty; 0 if there is none."""
    code_lines = _without_imports(lines)
    return next((number for number, line in enumerate(code_lines) if line.strip()), 0)
