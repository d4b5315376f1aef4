"""Select quotes from ranked chunks: the best ones, no near duplicates, few of one file.

The lines of a chunk that are most relevant to a question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.cells.json_lines import source_lines
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.pins import Pins, StepRequest, run_step
from sourcelight.engines.deepsearch.evidence.units import fit_to_units
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.line_kinds import IMPORT_STATEMENT
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, terms_of
from sourcelight.engines.symbols.definition_parser import FileDefinitions, text_definitions
from sourcelight.engines.tools import ToolContext

WINDOW = 15
"""Lines of one quote, without the header of its definition."""

_FENCE_NAMES = {
    "py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "rb": "ruby", "rs": "rust", "go": "go",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin", "scala": "scala",
    "cs": "csharp", "php": "php", "sh": "bash", "md": "markdown", "rst": "rst", "json": "json", "yml": "yaml",
    "yaml": "yaml", "toml": "toml", "jsx": "jsx", "tsx": "tsx", "sql": "sql", "html": "html", "css": "css",
}  # fmt: skip


_CELL_FENCES = {
    "Python": "python", "Markdown": "markdown", "R": "r", "Julia": "julia", "JavaScript": "javascript",
    "TypeScript": "typescript", "Ruby": "ruby", "Rust": "rust", "Go": "go", "C": "c", "C++": "cpp", "Java": "java",
    "Kotlin": "kotlin", "Scala": "scala", "C#": "csharp", "F#": "fsharp", "PHP": "php", "Shell": "bash", "SQL": "sql",
}  # fmt: skip


def best_window(lines: Sequence[str], weights: Mapping[str, float], size: int = WINDOW) -> tuple[int, int]:
    """Return first and last line (from 0) of the window with the greatest weight; the earliest of equal ones.

    A term counts in full in the first line that has it and a quarter in others, so that a window that speaks of
    everything asked wins over one that repeats a word. Empty lines at its ends are left out.
    """
    count = len(lines)
    if count <= size:
        return _trim(lines, 0, count - 1)

    window_terms = [
        {term for token in TOKEN.findall(line.encode()) for term in terms_of(token.decode("utf-8", "replace"))}
        & weights.keys()
        for line in lines
    ]
    best, best_start = -1.0, 0
    for start in range(count - size + 1):
        counts: dict[str, int] = {}
        for line in window_terms[start : start + size]:
            for term in line:
                counts[term] = counts.get(term, 0) + 1

        # In the order of `weights`, not of a set, because the order of the sum decides its last bits.
        value = sum(weights[term] * (1.0 + 0.25 * min(counts[term] - 1, 3)) for term in weights if term in counts)
        # Sums of floats in another order differ in the last bits; a tie must go to the earliest window on every
        # machine.
        if value > best + 1e-12:
            best, best_start = value, start

    return _trim(lines, best_start, best_start + size - 1)


def _trim(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while last > first and not lines[last].strip():
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    return first, last


def lines_of(path: str, data: bytes) -> list[str]:
    """Split a file into lines of text: invalid UTF-8 as U+FFFD, no carriage returns at the ends.

    Of a Jupyter notebook they are the sources of its cells at their lines in the file; any other line is empty.
    """
    sources = source_lines(path, data)
    raw_lines = data.split(b"\n") if sources is None else sources.lines
    lines = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in raw_lines]
    if lines and not lines[-1]:
        lines.pop()
    return lines


QUOTES = 8
MAX_QUOTED_LINES = 120
PER_FILE = 4
_ALIKE = 0.75
_COMMENT = re.compile(r"\s*(?:/[/*]|\*)")
_PROTOTYPE = re.compile(r"[A-Za-z_][\w\s*]*[\s*]\w+\([^{}]*\)[^{}]*;\s*$")
_MIN_DECLARED, _MOSTLY = 4, 0.8


@dataclass(slots=True)
class FileTexts:
    """The lines of files at pinned commits, each file read once."""

    context: ToolContext
    _lines_by_file: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    _definitions_by_file: dict[tuple[str, str, str], FileDefinitions] = field(default_factory=dict)

    @property
    def engine(self) -> LocalEngine:
        """The engine that reads them."""
        return self.context.local

    def lines(self, target: Target, path: str) -> list[str]:
        """Return a file's lines; none if it can't be read."""
        key = target.repository.key, target.commit, path
        if key not in self._lines_by_file:
            pins = Pins((target,))
            result = run_step("lines", StepRequest.from_pins(pins, path=path), self.context)
            if result is None:
                data = self.engine.read_file(target, path, self.context.cancellation)
                self._lines_by_file[key] = lines_of(path, data or b"")
            else:
                self._lines_by_file[key] = result.value

        return self._lines_by_file[key]

    def definitions(self, target: Target, path: str) -> FileDefinitions | None:
        """Return a file's definitions, parsed now while the index has none; None for a notebook that it hasn't parsed.

        The lines of the definitions refer to `lines`; offsets may differ from the file's.
        """
        indexed = self.engine.store.definitions_of(target, path)
        if indexed is not None or is_jupyter(path):
            return indexed

        key = target.repository.key, target.commit, path
        if key not in self._definitions_by_file:
            text = "\n".join(self.lines(target, path)).encode()
            self._definitions_by_file[key] = text_definitions(language_of(path), text)

        return self._definitions_by_file[key]

    def evidence(self, target: Target, path: str, start: int, end: int, role: str, score: float = 0.0,
                 symbols: tuple[str, ...] = ()) -> FileEvidence:  # fmt: skip
        """Make evidence of lines `start` to `end`."""
        text = "\n".join(self.lines(target, path)[start - 1 : end])
        return FileEvidence(target.repository.name, target.commit, path, start, end, text, role, score, symbols)


@dataclass(slots=True)
class QuoteSelector:
    """Selects quotes until the limit of lines is used."""

    texts: FileTexts
    weights: Mapping[str, float]
    most_lines: int = MAX_QUOTED_LINES
    quoted: int = 0
    _names: list[frozenset[bytes]] = field(default_factory=list)
    _per_file: dict[tuple[str, str], int] = field(default_factory=dict)
    _selected_ranges: list[tuple[str, str, int, int]] = field(default_factory=list)

    def choose(self, chunks: Sequence[RankedChunk], role: str, limit: int, *, window: int = 15) -> list[FileEvidence]:
        """Select up to `limit` quotes from chunks, best first; prototypes only as a last resort."""
        return self._select(chunks, role, limit, window, bare=False) or self._select(
            chunks, role, limit, window, bare=True
        )

    def _select(
        self, chunks: Sequence[RankedChunk], role: str, limit: int, window: int, *, bare: bool
    ) -> list[FileEvidence]:
        quotes: list[FileEvidence] = []
        for chunk in chunks:
            if len(quotes) >= limit or self.quoted >= self.most_lines:
                break
            quote = self._quote(chunk, role, window, bare=bare)
            if quote is not None:
                quotes.append(quote)

        return quotes

    def _quote(self, chunk: RankedChunk, role: str, window: int, *, bare: bool) -> FileEvidence | None:
        file = chunk.target.repository.name, chunk.path
        # Before the file is read: hidden files must not reach memory that a model or page sees.
        if is_hidden_file(chunk.path) or self._per_file.get(file, 0) >= PER_FILE:
            return None

        lines = self.texts.lines(chunk.target, chunk.path)[chunk.begin_line - 1 : chunk.end_line]
        if _only_declares(lines) and not bare:
            return None

        names = frozenset(TOKEN.findall("\n".join(lines).encode()))
        lines = _without_imports(lines)
        if not any(line.strip() for line in lines):
            return None
        if any(_likeness(names, other_names) > _ALIKE for other_names in self._names):
            return None

        first, last = best_window(lines, self.weights, min(window, self.most_lines - self.quoted))
        start, end = self._fit(chunk, chunk.begin_line + first, chunk.begin_line + last)
        start += _leading_imports(self.texts.lines(chunk.target, chunk.path)[start - 1 : end])

        # After fitting, since two chunks that don't overlap may grow into the same function.
        if self.overlaps(*file, start, end):
            return None

        quote = self.texts.evidence(chunk.target, chunk.path, start, end, role, chunk.score, chunk.symbols)
        self._names.append(names)
        self.take(quote)
        return quote

    def _fit(self, chunk: RankedChunk, first: int, last: int) -> tuple[int, int]:
        """Return the whole units around some lines of a chunk; for documents, the lines unchanged."""
        if chunk.kind == "docs":
            return first, last
        definitions = self.texts.definitions(chunk.target, chunk.path)
        units = list(definitions.definitions()) if definitions is not None else []
        lines = self.texts.lines(chunk.target, chunk.path)
        start, end = fit_to_units(lines, first, last, units, fence_name(chunk.path))
        return start, min(end, start + MAX_LINES - 1)

    def overlaps(self, repository: str, path: str, start: int, end: int) -> bool:
        """Return whether some of these lines are quoted already."""
        return any(
            (repository, path) == (existing[0], existing[1]) and start <= existing[3] and existing[2] <= end
            for existing in self._selected_ranges
        )

    def take(self, quote: FileEvidence) -> None:
        """Count a quote from any source."""
        file = quote.repository, quote.path
        self._per_file[file] = self._per_file.get(file, 0) + 1
        self._selected_ranges.append((*file, quote.begin_line, quote.end_line))
        self.quoted += quote.end_line - quote.begin_line + 1


def _only_declares(lines: Sequence[str]) -> bool:
    """Return whether lines are prototypes, as in C headers, without a definition."""
    code_lines = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    declaration_count = sum(_PROTOTYPE.match(line) is not None for line in code_lines)
    return declaration_count >= _MIN_DECLARED and declaration_count >= _MOSTLY * len(code_lines)


def _without_imports(lines: Sequence[str]) -> list[str]:
    """Return lines with empty ones for imports: they name what is used, and explain nothing."""
    code_lines = []
    end = ""
    for line in lines:
        is_import = end != "" or IMPORT_STATEMENT.match(line) is not None
        if end:
            end = "" if end in line else end
        elif is_import:
            end = _open_bracket(line)
        code_lines.append("" if is_import else line)

    return code_lines


def _leading_imports(lines: Sequence[str]) -> int:
    """Return how many lines precede the first one that is neither an import nor empty; 0 if there is none."""
    code_lines = _without_imports(lines)
    return next((number for number, line in enumerate(code_lines) if line.strip()), 0)


def _open_bracket(line: str) -> str:
    """Return the bracket that closes the list of names that an import opens; empty if its line has them all."""
    for opening, closing in (("(", ")"), ("{", "}")):
        if line.count(opening) > line.count(closing):
            return closing
    return ""


def _likeness(first: frozenset[bytes], second: frozenset[bytes]) -> float:
    union_size = len(first | second)
    return len(first & second) / union_size if union_size else 0.0


def fence_name(path: str, language: str = "") -> str:
    """Return the name of a file's language; empty if unknown. Cells of a notebook have a `language` of their own."""
    if language:
        # The notebook names it, so that it may be any text.
        return _CELL_FENCES.get(language, "")
    return _FENCE_NAMES.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "")
