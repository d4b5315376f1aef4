"""A file that may answer a question: its lines, its language, and the definitions around and between its lines.

Each sentence and statement of a file asks which definitions are around it. So the file is divided once at the lines
where a definition begins or has ended, with the definitions around the lines of each part.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.source.comments import MAX_LINES
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_DEFINITIONS = 2_000
"""Definitions of a file that are compared with a line."""

_MAX_COMMENT_LINES = 12
"""Lines above and below a sentence in which its comment is looked for."""

_MAX_FIRST_LINE = 200
"""Characters of the first line in which an interpreter is named."""

_DOCUMENTS = frozenset({"Markdown", "reStructuredText", "AsciiDoc", "Text", "Pod", ""})
"""Languages of files that are prose as a whole."""

_SHEBANG = re.compile(r"#!\s*\S*?(?:\benv\s+)?\b(?P<interpreter>[a-z]+)[\d.]*\s*$")
"""The first line of a script: `#!/usr/bin/env python3`."""

_INTERPRETERS = {"python": "Python", "ruby": "Ruby", "perl": "Perl", "node": "JavaScript"}
"""Languages by interpreter; all others are those of a shell."""

_DEPRECATED = re.compile(r"\bdeprecated\b", re.IGNORECASE)


class _Parts(NamedTuple):
    """The first line of each part of a file, ascending, and the definitions around its lines, the innermost first."""

    begin_lines: list[int]
    definitions: list[list[Definition]]


class _NameLines(NamedTuple):
    """The lines of the names of all definitions, ascending, and the index of each definition in the file's."""

    lines: list[int]
    indices: list[int]


@dataclass(frozen=True)
class AskedFile:
    """A file with what is read of it.

    Attributes
    ----------
    target, path
        The file.
    lines
        Its first lines.
    definitions
        The definitions whose names are on these lines.
    kind, score
        Its kind and its score in the ranking.
    """

    target: Target
    path: str
    lines: Sequence[str]
    definitions: Sequence[Definition]
    kind: str
    score: float

    @classmethod
    def of(cls, texts: FileTexts, target: Target, path: str, kind: str, score: float) -> AskedFile:
        """Read a file."""
        lines = texts.lines(target, path)[:MAX_LINES]
        parsed = texts.indexed_definitions(target, path)
        definitions = list(parsed.definitions())[:_MAX_DEFINITIONS] if parsed is not None else []
        within = [definition for definition in definitions if definition.line <= len(lines)]
        return cls(target, path, lines, within, kind, score)

    @property
    def language(self) -> str:
        """The display name of its language; of a script without an extension, by its first line."""
        language = language_of(self.path) or ""
        if language or not self.lines:
            return language
        shebang = _SHEBANG.match(self.lines[0][:_MAX_FIRST_LINE])
        return "" if shebang is None else _INTERPRETERS.get(shebang["interpreter"], "Shell")

    @property
    def is_document(self) -> bool:
        """Whether it is prose as a whole."""
        return self.language in _DOCUMENTS

    def enclosing(self, line: int) -> Sequence[Definition]:
        """Return the definitions around a line, the innermost first."""
        index = bisect_right(self._parts.begin_lines, line) - 1
        return self._parts.definitions[index] if index >= 0 else ()

    def between(self, first: int, last: int) -> list[Definition]:
        """Return the definitions whose names are on some lines, both included, in the order of `definitions`."""
        lines, indices = self._name_lines
        selected = indices[bisect_left(lines, first) : bisect_right(lines, last)]
        return [self.definitions[index] for index in sorted(selected)]

    @cached_property
    def _parts(self) -> _Parts:
        """The parts of the file, between the lines at which a definition begins or has ended."""
        by_begin = sorted(enumerate(self.definitions), key=lambda item: item[1].begin_line)
        ends = {definition.end_line + 1 for definition in self.definitions}
        borders = sorted(ends | {definition.begin_line for definition in self.definitions})
        around: list[list[Definition]] = []
        active: dict[int, Definition] = {}
        position = 0
        for border in borders:
            while position < len(by_begin) and by_begin[position][1].begin_line <= border:
                index, definition = by_begin[position]
                active[index] = definition
                position += 1

            active = {index: definition for index, definition in active.items() if definition.end_line >= border}
            in_order = [active[index] for index in sorted(active)]
            around.append(sorted(in_order, key=lambda item: (item.end_line - item.begin_line, -item.begin_line)))

        return _Parts(borders, around)

    @cached_property
    def _name_lines(self) -> _NameLines:
        """The definitions by the lines of their names."""
        indices = sorted(range(len(self.definitions)), key=lambda index: self.definitions[index].line)
        return _NameLines([self.definitions[index].line for index in indices], indices)

    def is_deprecated(self, begin_line: int, end_line: int) -> bool:
        """Return whether the comment around some lines calls what it describes deprecated."""
        above = reversed(self.lines[max(0, begin_line - 1 - _MAX_COMMENT_LINES) : begin_line - 1])
        below = self.lines[end_line : end_line + _MAX_COMMENT_LINES]
        around = [*takewhile(ANY_COMMENT.match, above), *takewhile(ANY_COMMENT.match, below)]
        return any(_DEPRECATED.search(line) for line in [*self.lines[begin_line - 1 : end_line], *around])
