"""Rows of a ranked search: the lines of the best chunks of a file that share a word with the question.

A ranked search finds chunks (runs of lines), but the stream protocol sends lines with spans. This module selects the
lines to send: those with a word of the question in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.events import RepositoryInfo
from sourcelight.core.batches.schema import schema_of
from sourcelight.core.code_points import offsets_in_text
from sourcelight.core.wire.request import SearchRequest

if TYPE_CHECKING:
    import pyarrow as pa

_Columns: TypeAlias = dict[str, list[Any]]
"""Values of the rows of a file, by column of the ``matches`` schema."""

_CHUNK_COLUMNS = ["repository", "revision", "path", "commit", "start_line", "chunk"]
_PATH_COLUMNS: _Columns = {
    "type": ["path"],
    "line_number": [None],
    "line": [None],
    "start": [[]],
    "end": [[]],
    "match_count": [1],
    "line_offset": [None],
    "byte_start": [[]],
    "byte_end": [[]],
}
"""The row of a file without a line to show."""

_WORD = re.compile(r"\w+")
_MAX_WORDS = 100
"""Words of a question that are marked, those with the most weight: each line is searched for all of them."""


@dataclass(frozen=True, slots=True)
class ChunkLines:
    """Lines of a file that were found together; `start_line` is the number of the first."""

    start_line: int
    lines: list[str]


@dataclass(slots=True)
class FileChunks:
    """A file with its ranked chunks, the best first."""

    repository: str
    revision: str
    path: str
    commit: CommitId
    chunks: list[ChunkLines] = field(default_factory=list)

    def lines_by_number(self) -> dict[int, str]:
        """Return the lines of all chunks by their numbers, in the order of the file."""
        lines: dict[int, str] = {}
        for chunk in self.chunks:
            lines.update(enumerate(chunk.lines, chunk.start_line))
        return dict(sorted(lines.items()))


def ranked_files(table: pa.Table) -> list[FileChunks]:
    """Return the files of a ranked answer, in the order of their best chunk."""
    files: dict[tuple[str, str, str], FileChunks] = {}
    for row in table.select(_CHUNK_COLUMNS).to_pylist():
        key = row["repository"], row["revision"] or "", row["path"]
        if key not in files:
            files[key] = FileChunks(*key, commit=CommitId(row["commit"] or ""))

        if row["start_line"] is not None:
            lines = (row["chunk"] or "").split("\n")
            files[key].chunks.append(ChunkLines(row["start_line"], lines))

    return list(files.values())


def word_pattern(question: str) -> re.Pattern[str]:
    """Return the words of a question and their stems, as one expression."""
    from sourcelight.engines.search.ranking.question import analyze

    analyzed = analyze(question)
    terms = sorted(analyzed.terms, key=lambda term: -analyzed.terms[term])[:_MAX_WORDS]
    forms = set(terms)
    for term in terms:
        forms.add(analyzed.source_texts.get(term, term))

    # The longest word comes first: `re` takes the first alternative that matches, not the longest.
    words = [form for form in forms if _WORD.fullmatch(form)]
    words.sort(key=lambda word: (-len(word), word))
    return re.compile("|".join(words), re.IGNORECASE)


def file_rows(
    file: FileChunks,
    words: re.Pattern[str],
    request: SearchRequest,
    repositories: Mapping[str, RepositoryInfo],
    file_offsets: Sequence[int],
) -> pa.RecordBatch:
    """Return the rows of a file: the lines of its chunks with a word of the question, or else their first line.

    A file without a line to show has one row, of its path.

    Parameters
    ----------
    file
        The file and its chunks.
    words
        The words of the question, as `word_pattern` returns them.
    request
        Says whether rows have chunks, with how much context, and how long a line of them may be.
    repositories
        Attributes of repositories, by name.
    file_offsets
        Offset of each line in the file, in bytes; empty if the file can't be read.
    """
    import pyarrow as pa

    from sourcelight.core.query.languages import language_of

    available = file.lines_by_number()
    offsets = _line_offsets(available, file_offsets)
    lines = _lines_to_show(available, offsets, words)
    columns = dict(_PATH_COLUMNS)
    if lines:
        columns = _line_columns(lines)
        if request.chunk_matches:
            columns |= _chunk_columns(lines, available, offsets, request)

    info = repositories.get(file.repository) or RepositoryInfo(file.repository)
    count = max(len(lines), 1)
    columns |= {
        "repository": [file.repository] * count,
        "repository_id": [info.id] * count,
        "revision": [file.revision] * count,
        "commit": [file.commit] * count,
        "path": [file.path] * count,
        "language": [language_of(file.path)] * count,
    }
    return pa.RecordBatch.from_pydict(columns, schema=schema_of(columns))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line to show: its number (from 1), its byte offset in the file, and its spans in code points."""

    number: int
    text: str
    offset: int
    spans: list[tuple[int, int]]


def _line_offsets(available: Mapping[int, str], file_offsets: Sequence[int]) -> dict[int, int]:
    """Return the byte offset of each line by its number.

    Lines that `file_offsets` lacks count from the first line of the first chunk.
    """
    offsets = {}
    chunk_offset = 0
    for number, text in available.items():
        if number <= len(file_offsets):
            offsets[number] = file_offsets[number - 1]
        else:
            offsets[number] = chunk_offset

        chunk_offset += len(text.encode()) + 1

    return offsets


def _lines_to_show(available: Mapping[int, str], offsets: Mapping[int, int], words: re.Pattern[str]) -> list[_Line]:
    """Return the lines with a word of the question, or else the first line with text as one span."""
    lines = []
    for number, text in available.items():
        spans = [match.span() for match in words.finditer(text)]
        if spans:
            lines.append(_Line(number, text, offsets[number], spans))

    if lines:
        return lines

    # A chunk may fit by its definitions or synonyms alone; clients need a line with a span to show it.
    for number, text in available.items():
        if text.strip():
            indent = len(text) - len(text.lstrip())
            return [_Line(number, text, offsets[number], [(indent, len(text.rstrip()))])]

    return []


def _line_columns(lines: Sequence[_Line]) -> _Columns:
    """Return the columns of the lines and their spans."""
    columns: _Columns = {
        "type": ["content"] * len(lines),
        "line_number": [line.number for line in lines],
        "line": [line.text for line in lines],
        "match_count": [len(line.spans) for line in lines],
        "line_offset": [line.offset for line in lines],
        "start": [],
        "end": [],
        "byte_start": [],
        "byte_end": [],
    }
    for line in lines:
        starts = [start for start, _ in line.spans]
        ends = [end for _, end in line.spans]
        byte_offsets = offsets_in_text(line.text, starts + ends)
        columns["start"].append(starts)
        columns["end"].append(ends)
        columns["byte_start"].append(byte_offsets[: len(starts)])
        columns["byte_end"].append(byte_offsets[len(starts) :])

    return columns


def _chunk_columns(
    lines: Sequence[_Line], available: Mapping[int, str], offsets: Mapping[int, int], request: SearchRequest
) -> _Columns:
    """Return the columns of the chunk of each line: the line with its context."""
    columns: _Columns = {"chunk": [], "chunk_start_line": [], "chunk_offset": [], "truncated": []}
    for chunk in _chunk_ranges(lines, request.context_lines, available):
        texts = [available[number] for number in range(chunk.first, chunk.last + 1)]
        short_texts = _truncate(texts, request.max_line_len)
        columns["chunk"].append("\n".join(short_texts))
        columns["chunk_start_line"].append(chunk.first)
        columns["chunk_offset"].append(offsets[chunk.first])
        columns["truncated"].append(short_texts != texts)

    return columns


@dataclass(slots=True)
class _LineRange:
    """Numbers of lines, from 1, both included."""

    first: int
    last: int


def _chunk_ranges(lines: Sequence[_Line], context_lines: int, available: Mapping[int, str]) -> list[_LineRange]:
    """Return the range of the chunk of each line; lines whose contexts touch share a chunk."""
    ranges: list[_LineRange] = []
    for line in lines:
        extended = _with_context(line.number, context_lines, available)

        # Lines of one chunk share one object, so that a later line extends the range of the earlier ones too.
        if ranges and extended.first <= ranges[-1].last + 1:
            ranges[-1].last = extended.last
            ranges.append(ranges[-1])
        else:
            ranges.append(extended)

    return ranges


def _with_context(number: int, context_lines: int, available: Mapping[int, str]) -> _LineRange:
    """Return a line with the available lines around it, up to `context_lines` on each side."""
    first = last = number
    while number - first < context_lines and first - 1 in available:
        first -= 1
    while last - number < context_lines and last + 1 in available:
        last += 1
    return _LineRange(first, last)


def _truncate(texts: list[str], max_line_bytes: int) -> list[str]:
    """Return lines with at most so many bytes each; 0: as they are."""
    from sourcelight.engines.search.scan.chunks import truncate_line

    if max_line_bytes <= 0:
        return texts
    return [truncate_line(text.encode(), max_line_bytes).decode("utf-8", "replace") for text in texts]
