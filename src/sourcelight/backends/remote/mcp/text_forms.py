"""Parse the plain text that some services send instead of typed objects. No I/O.

A heading is ``#``, a repository, a dash and a path. Each line of a file begins with its number, so no line of code can
be taken for a heading. A number that doesn't follow the previous one starts a new chunk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_HEADING = re.compile(r"# (.+) \u2013 (.+)")
"""The line above the lines of a file: its repository and its path, with an en dash between."""

# Nine digits: a column of line numbers holds no more, and `int` refuses thousands.
_LINE = re.compile(r"(\d{1,9}): ?(.*)", re.DOTALL)
_REPOSITORY = re.compile(r"(\S+)(?: \[\u2605(\d{1,9})\])?(?: - (.*))?")
"""A repository in a list: ``owner/name [★12] - description``."""

_NOTE = re.compile(r"\((.*)\)")
"""A remark of the service about its list."""

_ELLIPSIS = re.compile(r"(?:\.\.\.|\u2026)(?=\s|\(|$)")
"""The start of a line that stands for more lines: ``... (truncated, 500 more lines)``."""

_BULLET = re.compile(r"^[-*\u2022] ")
"""The mark of an item of a list."""

_FENCE = re.compile(r"```\w*")
"""The line before or after code."""

_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
"""The start of a page of HTML or XML."""

_SENTENCE = re.compile(r"[A-Z][^/\n]*(?: [^/\n ]+){3}[.!]")
"""A sentence, which no list has as a line: at least four words, a capital letter and a full stop."""

_MAX_EMPTY_LINES = 3
"""Lines of an answer without rows: services add a hint or two to the sentence. A longer text may be a file."""

_NOTHING = re.compile(
    r"\s*(?:no\s[^\n]*\b(?:results?|match(?:es)?|repositor(?:y|ies)|files?|entries|commits?|references?|definitions?"
    r"|contributors?|changes|diffs?|found)\b|symbol not found)",
    re.IGNORECASE,
)
"""A text that means an empty answer: ``No results found.``"""

_TROUBLE = re.compile(
    r"tim(?:ed|e) ?-?out|error|fail|unavailable|could ?n[o']t|can(?:no|')t|denied|permission|rate|missing|backend|later"
    r"|unauthori[sz]ed|not ready|incomplete",
    re.IGNORECASE,
)
"""Words of a sentence that gives the reason for an empty answer, rather than stating that it is empty."""


@dataclass(slots=True)
class TextChunk:
    """Consecutive lines of a file; `first` is the number of the first line."""

    first: int
    lines: list[str] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + len(self.lines) - 1

    def has_line(self, number: int) -> bool:
        """Return whether the line of that number is in the chunk."""
        return self.first <= number <= self.last

    def line(self, number: int) -> str:
        """Return the line of that number, which the chunk must have."""
        return self.lines[number - self.first]


@dataclass(slots=True)
class TextFile:
    """A file of an answer with its chunks; without a chunk, only the path matched."""

    repository: str
    path: str
    chunks: list[TextChunk] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ListedRepository:
    """A line of a list of repositories."""

    name: str
    stars: int
    description: str


def means_empty(text: str) -> bool:
    """Return whether a text is an answer without rows: empty, or a sentence such as ``No results found.``."""
    line_count = sum(bool(line.strip()) for line in text.split("\n"))
    if line_count == 0:
        return True
    # A longer text that begins with "No" may be a file, and one with a word of trouble is an error.
    return line_count <= _MAX_EMPTY_LINES and _NOTHING.match(text) is not None and _TROUBLE.search(text) is None


def is_no_list(text: str) -> bool:
    """Return whether a text is JSON, HTML or a sentence, rather than a list with one name per line."""
    if _PAGE.match(text) is not None or _SENTENCE.fullmatch(text.strip()) is not None:
        return not means_empty(text)

    try:
        return not isinstance(json.loads(text), str | int | float)
    except ValueError:
        return False
    except RecursionError:  # thousands of brackets
        return True


def parse_files(text: str) -> list[TextFile]:
    """Parse files with their chunks, in the order of the text."""
    files: list[TextFile] = []
    for line in text.split("\n"):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            files.append(TextFile(heading[1], heading[2]))
        elif files:
            _add_numbered_line(files[-1].chunks, line)
    return files


def parse_chunks(text: str) -> list[TextChunk]:
    """Parse chunks of numbered lines; skips other lines."""
    chunks: list[TextChunk] = []
    for line in text.split("\n"):
        _add_numbered_line(chunks, line)
    return chunks


def _add_numbered_line(chunks: list[TextChunk], line: str) -> None:
    """Append a line to the last chunk, or to a new one if its number doesn't follow; skip a line without a number."""
    match = _LINE.fullmatch(line)
    if match is None:
        return

    number = int(match[1])
    if not chunks or number != chunks[-1].last + 1:
        chunks.append(TextChunk(number))
    chunks[-1].lines.append(match[2])


def unnumbered_lines(text: str) -> tuple[str, ...]:
    """Return the lines that are neither numbered nor headings: sentences of the service about the answer."""
    sentences = []
    for line in text.split("\n"):
        stripped = line.strip()
        is_code = any(form.fullmatch(stripped) for form in (_LINE, _HEADING, _FENCE))
        if stripped and not is_code:
            sentences.append(_without_parentheses(stripped))
    return tuple(sentences)


def _without_parentheses(line: str) -> str:
    note = _NOTE.fullmatch(line)
    return line if note is None else note[1]


def parse_notes(text: str) -> tuple[str, ...]:
    """Return the notes in parentheses at the end of a text."""
    messages: list[str] = []
    for line in reversed(text.rstrip().split("\n")):
        note = _NOTE.fullmatch(line.strip())
        if note is not None:
            messages.append(note[1])
        elif line.strip():
            break

    return tuple(reversed(messages))


def parse_repositories(text: str) -> tuple[list[ListedRepository], tuple[str, ...]]:
    """Parse a list of repositories, and return it with the lines that are about the list."""
    if means_empty(text):
        return [], ()

    repositories: list[ListedRepository] = []
    about: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            continue

        match = None if _NOTE.fullmatch(stripped) else _REPOSITORY.fullmatch(_BULLET.sub("", stripped))
        if match is None:
            about.append(_without_parentheses(stripped))
        else:
            repositories.append(ListedRepository(match[1], int(match[2] or 0), match[3] or ""))

    return repositories, tuple(about)


def parse_paths(text: str) -> tuple[list[str], tuple[str, ...]]:
    """Parse a list of paths, one a line, and return it with the lines that are about the list.

    A path may look like a sentence. So the list is the first paragraph, without a line before it that ends in a colon;
    everything after the list is about it.
    """
    if means_empty(text):
        return [], ()

    lines = text.strip("\n").split("\n")
    title = lines[0].strip()
    if title.endswith(":") and (" " in title or len(lines) > 1):
        lines = "\n".join(lines[1:]).strip("\n").split("\n")

    end = _end_of_list(lines)
    paths = lines[:end]
    if paths and all(_BULLET.match(line) for line in paths):
        paths = [_BULLET.sub("", line) for line in paths]

    about = tuple(_without_parentheses(line.strip()) for line in lines[end:] if line.strip())
    return paths, about


def _end_of_list(lines: Sequence[str]) -> int:
    """Return the index of the first empty line or note, or the number of lines."""
    for index, line in enumerate(lines):
        if not line.strip() or _NOTE.fullmatch(line.strip()) or _ELLIPSIS.match(line.strip()):
            return index
    return len(lines)
