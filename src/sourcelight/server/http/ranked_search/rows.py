"""Rows of a ranked search: the lines of the best chunks of a file that share a word with the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.schema import schema_of
from sourcelight.core.code_points import offsets_in_text
from sourcelight.core.wire.request import SearchRequest

_CHUNK_COLUMNS = ["repository", "revision", "path", "commit", "start_line", "chunk"]
_PATH_COLUMNS: Mapping[str, list[Any]] = {
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
"""Words of a question that are marked in the lines, those with the most weight."""


@dataclass(slots=True)
class FileChunks:
    """A file with its ranked chunks: the number of the first line of each, and its lines."""

    repository: str
    revision: str
    path: str
    commit: CommitId
    chunks: list[tuple[int, list[str]]] = field(default_factory=list)


def ranked_files(table: Any) -> list[FileChunks]:
    """Return the files of a ranked answer, in the order of their best chunk."""
    files: dict[tuple[str, str, str], FileChunks] = {}
    for row in table.select(_CHUNK_COLUMNS).to_pylist():
        key = row["repository"], row["revision"] or "", row["path"]
        if key not in files:
            files[key] = FileChunks(*key, commit=CommitId(row["commit"] or ""))
        if row["start_line"] is not None:
            files[key].chunks.append((row["start_line"], (row["chunk"] or "").split("\n")))

    return list(files.values())


def word_pattern(question: str) -> re.Pattern[str]:
    """Return the words of a question and their stems, as one expression."""
    from sourcelight.engines.search.ranking.question import analyze

    analyzed = analyze(question)
    terms = sorted(analyzed.terms, key=lambda term: -analyzed.terms[term])[:_MAX_WORDS]
    forms = {*terms, *(analyzed.source_texts.get(term, term) for term in terms)}
    words = [form for form in forms if _WORD.fullmatch(form)]

    # The longest word comes first: `re` takes the first alternative that matches, not the longest.
    words.sort(key=lambda word: (-len(word), word))
    return re.compile("|".join(words), re.IGNORECASE)


@dataclass(slots=True)
class _RankedLine:
    """A line, its number and offset in the file, and its spans."""

    number: int
    text: str
    offset: int
    spans: list[tuple[int, int]]


def file_rows(
    file: FileChunks,
    words: re.Pattern[str],
    request: SearchRequest,
    attributes: Mapping[str, Any],
    file_offsets: Sequence[int],
) -> Any:
    """Return the rows of a file: the lines of its chunks with a word of the question, or else their first line."""
    import pyarrow as pa

    from sourcelight.core.query.languages import language_of

    available = {start + index: line for start, lines in file.chunks for index, line in enumerate(lines)}
    numbers = sorted(available)

    # Without the file, offsets count from the first line of the first chunk.
    sizes = [len(available[number].encode()) + 1 for number in numbers]
    offsets = dict(zip(numbers, accumulate(sizes, initial=0), strict=False))
    offsets |= {number: file_offsets[number - 1] for number in numbers if number <= len(file_offsets)}
    rows = _matching_lines(available, offsets, words)
    columns = _line_columns(rows) if rows else dict(_PATH_COLUMNS)
    if request.chunk_matches and rows:
        columns |= _chunk_columns(rows, available, offsets, request)

    info = attributes.get(file.repository)
    count = max(len(rows), 1)
    columns |= {
        "repository": [file.repository] * count,
        "repository_id": [0 if info is None else info.id] * count,
        "revision": [file.revision] * count,
        "commit": [file.commit] * count,
        "path": [file.path] * count,
        "language": [language_of(file.path)] * count,
    }
    return pa.RecordBatch.from_pydict(columns, schema=schema_of(columns))


def _line_columns(rows: Sequence[_RankedLine]) -> dict[str, list[Any]]:
    # The starts and ends of each row in turn.
    offsets = [offsets_in_text(row.text, [point for span in row.spans for point in span]) for row in rows]
    return {
        "type": ["content"] * len(rows),
        "line_number": [row.number for row in rows],
        "line": [row.text for row in rows],
        "start": [[start for start, _ in row.spans] for row in rows],
        "end": [[end for _, end in row.spans] for row in rows],
        "match_count": [len(row.spans) for row in rows],
        "line_offset": [row.offset for row in rows],
        "byte_start": [row_offsets[::2] for row_offsets in offsets],
        "byte_end": [row_offsets[1::2] for row_offsets in offsets],
    }


def _matching_lines(
    available: Mapping[int, str], offsets: Mapping[int, int], words: re.Pattern[str]
) -> list[_RankedLine]:
    """Return the lines with a word of the question, or else the first line with text as one span."""
    lines = []
    for number, text in sorted(available.items()):
        spans = [match.span() for match in words.finditer(text)]
        lines.append(_RankedLine(number=number, text=text, offset=offsets[number], spans=spans))

    matching = [line for line in lines if line.spans]
    if matching or not lines:
        return matching

    # A chunk may fit by its definitions or synonyms alone; clients need a line with a span to show it.
    first = next((line for line in lines if line.text.strip()), lines[0])
    first.spans = [(len(first.text) - len(first.text.lstrip()), len(first.text.rstrip()))]
    return [first] if first.spans[0][1] > first.spans[0][0] else []


@dataclass(slots=True)
class _LineRange:
    """Lines of a chunk, from 1, both included."""

    first: int
    last: int


def _with_context(number: int, context_lines: int, available: Mapping[int, str]) -> _LineRange:
    """Return a line with the available lines around it, up to `context_lines` on each side."""
    first = last = number
    while number - first < context_lines and first - 1 in available:
        first -= 1
    while last - number < context_lines and last + 1 in available:
        last += 1
    return _LineRange(first, last)


def _chunk_columns(
    matching: Sequence[_RankedLine], available: Mapping[int, str], offsets: Mapping[int, int], request: SearchRequest
) -> dict[str, Any]:
    """Return the chunk columns: each line with its context; lines whose contexts touch share a chunk."""
    from sourcelight.engines.search.scan.chunks import truncate_line

    chunks: list[_LineRange] = []
    chunk_of_row: list[_LineRange] = []
    for row in matching:
        lines = _with_context(row.number, request.context_lines, available)

        # Rows of one chunk share its range, so that a later row extends the chunk of earlier rows too.
        if chunks and lines.first <= chunks[-1].last + 1:
            chunks[-1].last = lines.last
        else:
            chunks.append(lines)

        chunk_of_row.append(chunks[-1])

    columns: dict[str, list[Any]] = {"chunk": [], "chunk_start_line": [], "chunk_offset": [], "truncated": []}
    for chunk in chunk_of_row:
        texts = [available[number] for number in range(chunk.first, chunk.last + 1)]
        is_long = request.max_line_len > 0 and any(len(text.encode()) > request.max_line_len for text in texts)
        if is_long:
            texts = [truncate_line(text.encode(), request.max_line_len).decode("utf-8", "replace") for text in texts]
        columns["chunk"].append("\n".join(texts))
        columns["chunk_start_line"].append(chunk.first)
        columns["chunk_offset"].append(offsets[chunk.first])
        columns["truncated"].append(is_long)

    return columns
