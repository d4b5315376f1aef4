"""Answers of text searches: chunks of files, best files first.

A served answer, which is one over MCP, is read by a language model: it has the best chunks of the first files, cut to
the limits below. Any other has all chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolProgress, ToolResult, file_url
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.completeness import is_limiting
from sourcelight.core.markup import count_of
from sourcelight.core.query.build import files_query
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.chunk_table import chunk_heads, table_of_batches, with_cell_text
from sourcelight.core.wire.events import Alert, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.tools.context import ToolContext

# Limits of a served answer, as mcp.md 3 gives them.
MAX_FILES = 15
MAX_CHUNKS = 3
"""Maximum number of chunks per file."""
MAX_CHUNK_CHARACTERS = 1024
"""Characters of a chunk, as services document it."""

MAX_LINE_CHARACTERS = 256
"""Characters of a line in a chunk."""

MAX_CHARACTERS = MAX_FILES * MAX_CHUNKS * MAX_CHUNK_CHARACTERS
"""Maximum number of characters in all chunks of an answer."""

_ELLIPSIS = "…"
_MIN_MATCH_CHARACTERS = 40
"""Characters that a cut line shows from the start of its first match on: enough for most names."""
_CHARACTERS_BEFORE_MATCH = 80
"""Characters before the first match in a line that is cut on its left."""

_MAX_TERM_SPANS = 20
"""Spans of a line that are read for its terms: enough to tell terms apart; a line of 1 MB may have a million spans."""

FILE_KEY = ("repository", "revision", "commit", "path")
"""Columns that tell the files of chunks apart."""


@dataclass(slots=True)
class ResultChunk:
    """One chunk of a file, or a file that matched only by its path (`first_line` 0).

    Attributes
    ----------
    repository, revision, commit, path
        The file.
    first_line
        Number of the first line.
    text
        The lines.
    matches
        Number of matches; None if they were not counted.
    terms
        Number of different matched texts.
    score
        The score of a ranked search; None otherwise.
    match_starts
        By number of a line, the code point at which its first match starts.
    truncated
        Whether `text` lacks characters of the chunk.
    left_out
        Number of chunks of the file that the answer lacks.
    """

    repository: str
    revision: str
    commit: str
    path: str
    first_line: int = 0
    text: str = ""
    matches: int | None = 0
    terms: int = 0
    score: float | None = None
    match_starts: dict[int, int] = field(default_factory=dict)
    truncated: bool = False
    left_out: int = 0

    @property
    def file(self) -> tuple[str, str, str, str]:
        """The file that the chunk is of."""
        return self.repository, self.revision, self.commit, self.path

    @property
    def last_line(self) -> int:
        """Number of the last line."""
        return self.first_line + self.text.count("\n")


def search_chunks(text: str, context: ToolContext) -> ToolResult:
    """Find the files that satisfy a keyword query.

    Raises
    ------
    QueryError
        The query can't be parsed.
    ToolError
        The query searches for something other than files.
    """
    request = SearchRequest(files_query(text), pattern_type="keyword", chunk_matches=True, context_lines=1, cells=True)
    result = _ChunkResult(context)
    events = context.engine.stream(request, context.viewer, context.cancellation)
    with closing(events):  # type: ignore[type-var]  # the engine returns a generator
        for event in events:
            if isinstance(event, MatchBatch):
                result.batches.append(with_cell_text(event.batch))
                result.files += len(MatchRows(event.batch).files())
                # One file more than is shown proves that there are more, and the search stops there.
                if context.served and result.files > MAX_FILES:
                    break
            elif isinstance(event, Progress):
                result.report(event)
            elif isinstance(event, Alert):
                result.notices.append(f"{event.title}: {event.description}".rstrip(": "))

    context.cancellation.check()
    if not context.served:
        return result.all_as_table(text)

    is_complete = result.is_complete and result.files <= MAX_FILES
    return shortened_answer(text, result.chunks(), result.notices, is_complete=is_complete)


@dataclass(slots=True)
class _ChunkResult:
    """The rows of a stream so far."""

    context: ToolContext
    batches: list[Any] = field(default_factory=list)
    files: int = 0
    notices: list[str] = field(default_factory=list)
    is_complete: bool = True

    def report(self, event: Progress) -> None:
        """Report progress, and record skipped work."""
        if self.context.observer is not None:
            self.context.observer(ToolProgress(stage="searching", done=event.match_count, total=0, detail="matches"))
        if not event.done:
            return

        for item in event.skipped:
            if is_limiting(item):
                self.notices.append(_one_line(item))
                self.is_complete = False

    def chunks(self) -> Iterator[ResultChunk]:
        """Yield the chunks of all files in the order of arrival."""
        for batch in self.batches:
            yield from chunks_of(batch)

    def all_as_table(self, text: str) -> ToolResult:
        """Return all chunks as a table, built from columns because there may be a million."""
        table = table_of_batches(self.batches)
        return ToolResult(
            columns="found_chunks",
            table=table,
            attributes={"query": text},
            complete=self.is_complete,
            notices=tuple(dict.fromkeys(self.notices)),
        )


def _one_line(item: Skipped) -> str:
    return " ".join(item.message.replace("\n", " ").split()) or item.title


def chunks_of(batch: Any) -> Iterator[ResultChunk]:
    """Yield the chunks of a batch of matches with chunk columns, in its order."""
    rows = MatchRows(batch)
    if not len(rows):
        return

    heads = chunk_heads(rows).tolist()
    locations = list(zip(*(rows.texts(name, heads) for name in FILE_KEY), strict=True))
    texts = rows.texts("chunk", heads)
    first_lines = rows.numbers("chunk_start_line")
    counts = rows.numbers("match_count")
    matched_lines = _MatchedTexts(rows)
    ends = [*heads[1:], len(rows)]
    for index, (start, end) in enumerate(zip(heads, ends, strict=True)):
        repository, revision, commit, path = (value or "" for value in locations[index])
        text = texts[index]
        if text is None:
            yield ResultChunk(repository, revision, commit, path)
            continue

        yield ResultChunk(
            repository=repository,
            revision=revision,
            commit=commit,
            path=path,
            first_line=int(first_lines[start]),
            text=text,
            matches=int(counts[start:end].sum()),
            terms=matched_lines.count_terms(start, end),
            match_starts=matched_lines.match_starts(start, end),
        )


class _MatchedTexts:
    """The matched lines of a batch, and where their matches are."""

    def __init__(self, rows: MatchRows) -> None:
        self._numbers = rows.column("line_number").to_pylist()
        self._texts = rows.texts("line")
        self._starts = rows.column("start").to_pylist()
        self._ends = rows.column("end").to_pylist()

    def match_starts(self, first_row: int, end_row: int) -> dict[int, int]:
        """Return the start of the first match of each line, by its number."""
        match_starts = {}
        for row in range(first_row, end_row):
            starts = self._starts[row]
            if starts:
                match_starts[self._numbers[row]] = starts[0]
        return match_starts

    def count_terms(self, first_row: int, end_row: int) -> int:
        """Return the number of different matched texts, in any case."""
        terms: set[str] = set()
        for row in range(first_row, end_row):
            text = self._texts[row] or ""
            starts = self._starts[row] or []
            ends = self._ends[row] or []
            for start, end in zip(starts[:_MAX_TERM_SPANS], ends[:_MAX_TERM_SPANS], strict=True):
                terms.add(text[start:end].casefold())
        return len(terms)


def shortened_answer(
    query: str,
    chunks: Iterable[ResultChunk],
    notices: Sequence[str],
    *,
    is_complete: bool,
    per_file: int = MAX_CHUNKS,
    characters: int = MAX_CHUNK_CHARACTERS,
    cut_notice: str = "",
) -> ToolResult:
    """Return the best chunks of the first files, cut as served answers are.

    Parameters
    ----------
    query
        The text of the query.
    chunks
        Chunks, grouped by file, best file first.
    notices
        Notices to add.
    is_complete
        Whether `chunks` are all chunks.
    per_file
        Maximum number of chunks per file.
    characters
        Maximum number of characters per chunk.
    cut_notice
        The notice about files that are not shown; empty for the default one.
    """
    best_chunks: list[ResultChunk] = []
    files = 0
    left_out = 0
    for _, group in groupby(chunks, key=lambda chunk: chunk.file):
        if files == MAX_FILES:
            is_complete = False
            break

        files += 1
        of_file = sorted(group, key=_rank_in_file)
        best = of_file[:per_file]
        more_of_file = len(of_file) - len(best)
        for chunk in best:
            _cut_chunk(chunk, characters)
            chunk.left_out = more_of_file

        best_chunks += best
        left_out += more_of_file

    messages = list(notices)
    if not cut_notice and not is_complete and files == MAX_FILES:
        cut_notice = f"Only the best {MAX_FILES} files are shown; more match. Narrow the query to see others."

    if cut_notice:
        messages.append(cut_notice)

    if left_out:
        messages.append(
            f"Not shown: {count_of(left_out, 'further place')} in these files; read_file shows whole files."
        )

    matches = sum(chunk.matches or 0 for chunk in best_chunks)
    attributes = {"query": query, "matches": matches, "files": files}
    is_cut = left_out > 0 or any(chunk.truncated for chunk in best_chunks)
    return ToolResult(
        columns="found_chunks",
        table=table_of_chunks(best_chunks),
        attributes=attributes,
        complete=is_complete and not is_cut,
        notices=tuple(dict.fromkeys(messages)),
    )


def _rank_in_file(chunk: ResultChunk) -> tuple[float, int, int, int]:
    """Return a key for sorting: chunks with more different terms come first, then chunks with more matches."""
    return -(chunk.score or 0.0), -chunk.terms, -(chunk.matches or 0), chunk.first_line


def _cut_chunk(chunk: ResultChunk, characters: int) -> None:
    """Shorten the text of a chunk to a number of characters, and each line to its limit."""
    lines = chunk.text.split("\n")
    cut_lines: list[str] = []
    remaining = characters
    for number, line in enumerate(lines, chunk.first_line):
        # Around the match, because a minified line may have it far from its start.
        shortened_line = _cut_line(line, chunk.match_starts.get(number, 0))
        remaining -= len(shortened_line) + 1
        if remaining < 0 and cut_lines:
            break
        cut_lines.append(shortened_line)

    text = "\n".join(cut_lines)
    chunk.truncated = text != chunk.text
    chunk.text = text


def _cut_line(line: str, match_start: int) -> str:
    """Return a line cut to the limit, so that it shows its first match."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line

    # Both sides may get an ellipsis.
    width = MAX_LINE_CHARACTERS - 2 * len(_ELLIPSIS)
    start = 0
    if match_start >= width - _MIN_MATCH_CHARACTERS:
        start = min(match_start - _CHARACTERS_BEFORE_MATCH, len(line) - width)

    cut_line = line[start : start + width]
    if start:
        cut_line = _ELLIPSIS + cut_line
    if start + width < len(line):
        cut_line += _ELLIPSIS
    return cut_line


def table_of_chunks(chunks: Sequence[ResultChunk]) -> Any:
    """Return chunks as the table ``found_chunks``, in their order."""
    return table_of_rows("found_chunks", [_table_row(chunk) for chunk in chunks])


def _table_row(chunk: ResultChunk) -> dict[str, Any]:
    row: dict[str, Any] = {
        "repository": chunk.repository,
        "revision": chunk.revision,
        "commit": chunk.commit or None,
        "path": chunk.path,
        "match_count": chunk.matches,
        "score": chunk.score,
        "truncated": chunk.truncated,
        "chunks_left_out": chunk.left_out,
        "url": file_url("", chunk.repository, chunk.commit, chunk.path),
    }
    # A file that matched by its path has no lines: these columns are null.
    if chunk.first_line:
        row["start_line"] = chunk.first_line
        row["end_line"] = chunk.last_line
        row["chunk"] = chunk.text

    return row
