"""Ranked search as a stream: ``t=nls``, and ``patternType:nls`` in the query."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches import CommitId, Event, MatchBatch
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.batches.schema import matches_schema
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError, RepositoryError, ToolError
from sourcelight.core.query.fields import duration_s
from sourcelight.core.tools.files import NLS_SEARCH, READ_FILE
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import RANKED, SearchRequest, display_limit, match_limit
from sourcelight.repos import Viewer

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.execution.results.tally import Tally
    from sourcelight.engines.tools import ToolContext

_PATTERN_TYPE = re.compile(r"(?i)(?<!\S)patterntype:(\S+)")
_BOUND = re.compile(r"(?i)(?<!\S)(count|timeout):(\S+)")
_MAX_FILES = 50
_MAX_WORDS = 100


def is_ranked(request: SearchRequest) -> bool:
    """Return whether a request asks for ranked search; a ``patternType:`` in the query wins."""
    pattern_types = _PATTERN_TYPE.findall(request.query)
    return (pattern_types[-1].lower() if pattern_types else request.pattern_type) == RANKED


def ranked_events(
    engine: Engine, request: SearchRequest, viewer: Viewer, cancellation: Cancellation
) -> Iterator[Event]:
    """Yield the best files for a description, best first, with the lines that share a word with it.

    Rows are made from the ranked chunks, so no path is written as a query.

    Raises `QueryError` for invalid filters, and for a text without a word to search for.
    """
    from sourcelight.engines import tools
    from sourcelight.engines.execution.natural_language import split_filters
    from sourcelight.engines.execution.results.tally import Tally
    from sourcelight.engines.tools import ToolContext

    started = time.monotonic()
    description = _Description.parse(request.query)
    cancellation.limit(
        engine.limits.timeout_s(description.shorter_s(request.timeout_s), has_count=description.has_count)
    )
    context = ToolContext(engine, viewer, cancellation)
    answer = tools.answer(NLS_SEARCH, {"query": description.text}, context)
    files = _files(answer.table)
    repositories = {repository.name: repository.info for repository in engine.catalog.visible(viewer)}
    words = _words(split_filters(description.text)[1])
    tally = Tally()
    count = sys.maxsize if description.count is None else description.count
    display = count if request.display < 0 else min(count, request.display)
    sent_count = 0
    for file in files[:_MAX_FILES]:
        cancellation.check()
        offsets = _line_offsets(context, file) if request.chunk_matches or context.engine.holds_files else []
        batch = first_matches(_batch(file, words, request, repositories, offsets), count - tally.matches)

        # Checked before the tally counts the file: the first rows of a repository carry its description.
        is_new = file.repository not in tally.repositories
        tally.add(batch)
        visible = first_matches(batch, display - sent_count)
        if visible.num_rows:
            sent_count += match_count(visible)
            yield MatchBatch(
                visible, (repositories[file.repository],) if is_new and file.repository in repositories else ()
            )

        if tally.matches >= count:
            break

    skipped = _skipped_parts(answer, len(files), tally.matches, count, request.display)
    yield from _last_events(answer, tally, skipped, time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _Description:
    """The text of a ranked query, without the filters that bound its answer; a bound without a number is None."""

    text: str
    has_count: bool
    count: int | None
    timeout_s: float | None

    @classmethod
    def parse(cls, query: str) -> _Description:
        """Remove ``patternType:``, ``count:`` and ``timeout:`` from a query, because ranking doesn't know them."""
        query = _PATTERN_TYPE.sub(" ", query)
        bounds = {name.lower(): value for name, value in _BOUND.findall(query)}
        count = bounds.get("count", "")
        return cls(
            text=" ".join(_BOUND.sub(" ", query).split()),
            has_count="count" in bounds,
            count=int(count) if count.isdecimal() else None,
            timeout_s=duration_s(bounds.get("timeout", "")),
        )

    def shorter_s(self, timeout_s: float | None) -> float | None:
        """Return the shorter of two timeouts, in seconds, or None without any."""
        return min((seconds for seconds in (timeout_s, self.timeout_s) if seconds is not None), default=None)


def _skipped_parts(answer: ToolResult, file_count: int, match_count: int, count: int, display: int) -> list[Skipped]:
    """Return the parts that the answer leaves out, with reasons."""
    skipped = []
    if not answer.complete:
        notices = answer.notices or ("Some repositories were not searched in full.",)
        skipped += [
            Skipped(reason="ranked-search", title="not searched in full", message=notice, severity="warn")
            for notice in notices
        ]

    if match_count >= count:
        skipped.append(match_limit(count))
    elif file_count > _MAX_FILES:
        skipped.append(Skipped("shard-match-limit", "result limit hit", f"The best {_MAX_FILES} files are shown."))

    if 0 <= display < match_count:
        skipped.append(display_limit(display, match_count))

    return skipped


def _last_events(answer: ToolResult, tally: Tally, skipped: Sequence[Skipped], elapsed_s: float) -> Iterator[Event]:
    """Yield the events after the last file."""
    filters = tally.filters(exhaustive=not skipped, forks=0, archived=0)
    if filters:
        yield Filters(filters)

    yield Progress(
        done=True,
        match_count=tally.matches,
        duration_ms=round(elapsed_s * 1000),
        repositories_count=len(tally.repositories) or None,
        skipped=tuple(skipped),
    )
    if answer.complete and answer.notices:
        yield Alert("Ranked search", "\n".join(answer.notices), "info")

    yield Done()


@dataclass(slots=True)
class _RankedFile:
    """A file with its ranked chunks: the number of the first line of each, and its lines."""

    repository: str
    revision: str
    commit: CommitId
    path: str
    chunks: list[tuple[int, list[str]]]


def _files(table: Any) -> list[_RankedFile]:
    """Return the files of a table ``found_chunks``, in the order of their best chunk."""
    names = ("repository", "revision", "commit", "path", "start_line", "chunk")
    files: dict[tuple[str, str, str], _RankedFile] = {}
    columns = (table.column(name).to_pylist() for name in names)
    for repository, revision, commit, path, start_line, chunk in zip(*columns, strict=True):
        key = repository, revision or "", path
        file = files.setdefault(
            key,
            _RankedFile(
                repository=repository, revision=revision or "", commit=CommitId(commit or ""), path=path, chunks=[]
            ),
        )
        if start_line is not None:
            file.chunks.append((start_line, (chunk or "").split("\n")))

    return list(files.values())


def _words(question: str) -> re.Pattern[str]:
    """Return the words of a question and their stems, as one expression."""
    from sourcelight.engines.search.ranking.question import analyze

    analyzed = analyze(question)
    terms = sorted(analyzed.terms, key=lambda term: -analyzed.terms[term])[:_MAX_WORDS]
    words = {
        form for term in terms for form in (term, analyzed.source_texts.get(term, term)) if re.fullmatch(r"\w+", form)
    }

    # The longest word comes first: `re` takes the first alternative that matches, not the longest.
    return re.compile("|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))), re.IGNORECASE)


@dataclass(slots=True)
class _RankedLine:
    """A line, its number and offset in the file, and its spans."""

    number: int
    text: str
    offset: int
    spans: list[tuple[int, int]]


def _line_offsets(context: ToolContext, file: _RankedFile) -> list[int]:
    """Return the offset of each line of a file; empty if it can't be read."""
    from sourcelight.engines.search import Target

    if not context.engine.holds_files:
        return _line_offsets_by_tool(context, file)
    repository = context.engine.catalog.get(file.repository, context.viewer)
    data = context.local.store.read(Target(repository, file.revision, file.commit), file.path) or b""
    return list(accumulate((len(line) + 1 for line in data.split(b"\n")), initial=0))


def _line_offsets_by_tool(context: ToolContext, file: _RankedFile) -> list[int]:
    """Return the offsets for files in another process. An invalid byte counts as the three of U+FFFD, as sent."""
    from sourcelight.engines import tools

    last_line = max((start + len(lines) - 1 for start, lines in file.chunks), default=0)
    if not last_line:
        return []

    arguments = {"repo": file.repository, "revision": file.commit, "path": file.path, "startLine": 1}
    try:
        answer = tools.call(READ_FILE.name, arguments | {"endLine": last_line}, context)
    except (ToolError, RepositoryError, ClusterError):
        return []

    return list(accumulate((len(line.encode()) + 1 for line in answer.table.column("line").to_pylist()), initial=0))


def _batch(
    file: _RankedFile,
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
    offsets = dict(zip(numbers, accumulate((len(available[n].encode()) + 1 for n in numbers), initial=0), strict=False))
    offsets |= {number: file_offsets[number - 1] for number in numbers if number <= len(file_offsets)}
    rows = _matching_lines(available, offsets, words)
    count = max(len(rows), 1)
    info = attributes.get(file.repository)
    columns: dict[str, Any] = {
        "type": ["content" if rows else "path"] * count,
        "repository": [file.repository] * count,
        "repository_id": [0 if info is None else info.id] * count,
        "revision": [file.revision] * count,
        "commit": [file.commit] * count,
        "path": [file.path] * count,
        "language": [language_of(file.path)] * count,
        "line_number": [row.number for row in rows] or [None],
        "line": [row.text for row in rows] or [None],
        "start": [[start for start, _ in row.spans] for row in rows] or [[]],
        "end": [[end for _, end in row.spans] for row in rows] or [[]],
        "match_count": [len(row.spans) for row in rows] or [1],
        "line_offset": [row.offset for row in rows] or [None],
        "byte_start": [[len(row.text[:start].encode()) for start, _ in row.spans] for row in rows] or [[]],
        "byte_end": [[len(row.text[:end].encode()) for _, end in row.spans] for row in rows] or [[]],
    }
    if request.chunk_matches and rows:
        columns |= _chunk_columns(rows, available, offsets, request)

    schema = matches_schema()
    fields = [schema.field(name) for name in columns]
    arrays = [pa.array(values, field.type.value_type).dictionary_encode().cast(field.type)
              if pa.types.is_dictionary(field.type) else pa.array(values, field.type)
              for field, values in zip(fields, columns.values(), strict=True)]  # fmt: skip
    return pa.record_batch(arrays, names=[field.name for field in fields])


def _matching_lines(
    available: Mapping[int, str], offsets: Mapping[int, int], words: re.Pattern[str]
) -> list[_RankedLine]:
    """Return the lines with a word of the question, or else the first line with text as one span."""
    lines = [
        _RankedLine(
            number=number, text=text, offset=offsets[number], spans=[match.span() for match in words.finditer(text)]
        )
        for number, text in sorted(available.items())
    ]
    matching = [line for line in lines if line.spans]
    if matching or not lines:
        return matching

    # A chunk may fit by its definitions or synonyms alone; clients need a line with a span to show it.
    first = next((line for line in lines if line.text.strip()), lines[0])
    first.spans = [(len(first.text) - len(first.text.lstrip()), len(first.text.rstrip()))]
    return [first] if first.spans[0][1] > first.spans[0][0] else []


def _chunk_columns(
    matching: Sequence[_RankedLine], available: Mapping[int, str], offsets: Mapping[int, int], request: SearchRequest
) -> dict[str, Any]:
    """Return the chunk columns: each line with its context; lines whose contexts touch share a chunk."""
    from sourcelight.engines.search.scan.chunks import truncate_line

    chunks: list[list[int]] = []
    chunk_of_row = []
    for row in matching:
        first, last = row.number, row.number
        while row.number - first < request.context_lines and first - 1 in available:
            first -= 1

        while last - row.number < request.context_lines and last + 1 in available:
            last += 1

        # Rows of one chunk share its list, so that a later row extends the chunk of earlier rows too.
        if chunks and first <= chunks[-1][1] + 1:
            chunks[-1][1] = last
        else:
            chunks.append([first, last])

        chunk_of_row.append(chunks[-1])

    columns: dict[str, list[Any]] = {"chunk": [], "chunk_start_line": [], "chunk_offset": [], "truncated": []}
    for first, last in chunk_of_row:
        lines = [available[number] for number in range(first, last + 1)]
        is_long = request.max_line_len > 0 and any(len(line.encode()) > request.max_line_len for line in lines)
        if is_long:
            lines = [truncate_line(line.encode(), request.max_line_len).decode("utf-8", "replace") for line in lines]
        columns["chunk"].append("\n".join(lines))
        columns["chunk_start_line"].append(first)
        columns["chunk_offset"].append(offsets[first])
        columns["truncated"].append(is_long)

    return columns
