"""Read the files of a question once each: lines that can be quoted, with the definitions in them.

All steps of an answer read files by one `FileTexts`, so that their quotes agree on what a line is: text without the
carriage return at its end, and of a notebook the source of a cell, never its JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.cells.json_lines import source_lines
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.pins import Pins, StepRequest, run_step
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition, FileDefinitions, text_definitions
from sourcelight.engines.tools import ToolContext

_FENCE_NAMES = {
    "py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "rb": "ruby", "rs": "rust", "go": "go",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin", "scala": "scala",
    "cs": "csharp", "php": "php", "sh": "bash", "md": "markdown", "rst": "rst", "json": "json", "yml": "yaml",
    "yaml": "yaml", "toml": "toml", "jsx": "jsx", "tsx": "tsx", "sql": "sql", "html": "html", "css": "css",
}  # fmt: skip
"""The name of a language behind the fence of a block of code in Markdown, by the ending of a file."""

_CELL_FENCES = {
    "Python": "python", "Markdown": "markdown", "R": "r", "Julia": "julia", "JavaScript": "javascript",
    "TypeScript": "typescript", "Ruby": "ruby", "Rust": "rust", "Go": "go", "C": "c", "C++": "cpp", "Java": "java",
    "Kotlin": "kotlin", "Scala": "scala", "C#": "csharp", "F#": "fsharp", "PHP": "php", "Shell": "bash", "SQL": "sql",
}  # fmt: skip
"""The same by the display name of a language, as cells of notebooks have it."""

MAX_CACHED_BYTES = 256 << 20
_LINE_BYTES = 60
"""Memory of the lines of a question's files, and of a line besides its text: a file of short lines takes 30
times its size."""


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


@dataclass(slots=True)
class FileTexts:
    """The lines of files at pinned commits, each file read once, unless all of them take too much memory."""

    context: ToolContext
    _cached_bytes: int = 0
    _lines_by_file: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    _indexed_by_file: dict[tuple[str, str, str], FileDefinitions | None] = field(default_factory=dict)
    _definitions_by_file: dict[tuple[str, str, str], FileDefinitions] = field(default_factory=dict)
    _code_by_file: dict[tuple[str, str, str, str], list[tuple[int, str]]] = field(default_factory=dict)

    @property
    def engine(self) -> LocalEngine:
        """The engine that reads them."""
        return self.context.local

    def lines(self, target: Target, path: str) -> list[str]:
        """Return a file's lines; none if it can't be read."""
        # Whatever looks at many lines asks for them one by one.
        self.context.cancellation.check()
        key = target.repository.key, target.commit, path
        lines = self._lines_by_file.get(key)
        if lines is None:
            lines = self._read_lines(target, path)
            size = sum(map(len, lines)) + _LINE_BYTES * len(lines)
            if self._cached_bytes + size > MAX_CACHED_BYTES:
                self._clear()
            self._cached_bytes += size
            self._lines_by_file[key] = lines
        return lines

    def _clear(self) -> None:
        """Drop all files: whatever is asked for again is read again."""
        for cache in (self._lines_by_file, self._indexed_by_file, self._definitions_by_file, self._code_by_file):
            cache.clear()
        self._cached_bytes = 0

    def _read_lines(self, target: Target, path: str) -> list[str]:
        remote = run_step("lines", StepRequest.from_pins(Pins((target,)), path=path), self.context)
        if remote is not None:
            remote_lines: list[str] = remote.value
            return remote_lines
        return lines_of(path, self.engine.read_file(target, path, self.context.cancellation) or b"")

    def code_lines(self, target: Target, path: str, language: str) -> list[tuple[int, str]]:
        """Return a file's lines of code with their numbers, as `lines_of_code`."""
        lines = self.lines(target, path)
        key = target.repository.key, target.commit, path, language
        code = self._code_by_file.get(key)
        if code is None:
            code = self._code_by_file[key] = list(lines_of_code(lines, language))
        return code

    def indexed_definitions(self, target: Target, path: str) -> FileDefinitions | None:
        """Return a file's definitions in the index; None if it hasn't parsed the file."""
        self.context.cancellation.check()
        key = target.repository.key, target.commit, path
        if key not in self._indexed_by_file:
            self._indexed_by_file[key] = self.engine.store.definitions_of(target, path)
        return self._indexed_by_file[key]

    def definitions(self, target: Target, path: str) -> FileDefinitions | None:
        """Return a file's definitions, parsed now if the index has none; None for a notebook that it hasn't parsed.

        The lines of the definitions refer to `lines`; offsets may differ from the file's.
        """
        indexed = self.indexed_definitions(target, path)
        if indexed is not None or is_jupyter(path):
            return indexed

        key = target.repository.key, target.commit, path
        parsed = self._definitions_by_file.get(key)
        if parsed is None:
            text = "\n".join(self.lines(target, path)).encode()
            parsed = self._definitions_by_file[key] = text_definitions(language_of(path), text)
        return parsed

    def iter_definitions(self, target: Target, path: str) -> Iterator[Definition]:
        """Yield a file's definitions in the order of where they begin; none if they can't be read."""
        parsed = self.definitions(target, path)
        return iter(()) if parsed is None else parsed.definitions()

    def definitions_around(self, target: Target, path: str, line: int) -> list[Definition]:
        """Return the definitions around a line (from 1), the smallest first."""
        parsed = self.definitions(target, path)
        around = [] if parsed is None else parsed.around(line)
        return sorted(around, key=lambda item: item.end_line - item.begin_line)

    def evidence(self, target: Target, path: str, start: int, end: int, role: str, score: float = 0.0,
                 symbols: tuple[str, ...] = ()) -> FileEvidence:  # fmt: skip
        """Make evidence of the lines from `start` to `end`, from 1, both included."""
        text = "\n".join(self.lines(target, path)[start - 1 : end])
        return FileEvidence(target.repository.name, target.commit, path, start, end, text, role, score, symbols)

    def read_line(self, target: Target, path: str, line: int) -> FileEvidence:
        """Make evidence of one line (from 1) that proves what a sentence says."""
        return self.evidence(target, path, line, line, "read", 1.0)


def fence_name(path: str, language: str = "") -> str:
    """Return the name of a file's language; empty if unknown. Cells of a notebook have a `language` of their own."""
    if language:
        # The notebook names it, so that it may be any text.
        return _CELL_FENCES.get(language, "")
    return _FENCE_NAMES.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "")
