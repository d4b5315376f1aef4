"""Answers of text searches: chunks of files, best files first, truncated to the limits of a served answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolProgress, ToolResult, file_url
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.json_lines import cell_text, context_lines
from sourcelight.core.completeness import is_limiting
from sourcelight.core.query.build import files_query
from sourcelight.core.tools.chunk_table import chunk_heads, chunk_schema, table_of_batches
from sourcelight.core.wire.events import Alert, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, file_heading, number_lines, tail, with_notices

MAX_FILES = 15
MAX_CHUNKS = 3
MAX_CHUNK_CHARACTERS = 1024
MAX_LINE_CHARACTERS = 256

MAX_CHARACTERS = MAX_FILES * MAX_CHUNKS * MAX_CHUNK_CHARACTERS
"""Maximum number of characters in all chunks of an answer."""

_ELLIPSIS = "…"
_FILE_KEY = ("repository", "revision", "commit", "path")


@dataclass(slots=True)
class ResultChunk:
    """One chunk of a file, or a file that matched only by its path (`first_line` 0).

    `matches` is None if they were not counted. `match_starts` maps lines to the code point at which their first match
    starts.
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
    query = files_query(text)
    request = SearchRequest(query, pattern_type="keyword", chunk_matches=True, context_lines=1, cells=True)
    chunks = _ChunkResult(context)
    events = context.engine.stream(request, context.viewer, context.cancellation)
    with closing(events):  # type: ignore[type-var]  # the engine returns a generator
        for event in events:
            if isinstance(event, MatchBatch):
                chunks.batches.append(_with_cell_text(event.batch))
                chunks.files += len(MatchRows(event.batch).files())
                # One file more than is shown proves that there are more, and the search stops there.
                if context.served and chunks.files > MAX_FILES:
                    break
            elif isinstance(event, Progress):
                chunks.report(event)
            elif isinstance(event, Alert):
                chunks.notices.append(f"{event.title}: {event.description}".rstrip(": "))

    context.cancellation.check()
    if not context.served:
        return chunks.all_as_table(text)

    return shortened_answer(
        text, chunks.chunks(), chunks.notices, is_complete=chunks.is_complete and chunks.files <= MAX_FILES
    )


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
        if event.done:
            limiting = [item for item in event.skipped if is_limiting(item)]
            self.notices += [_one_line(item) for item in limiting]
            self.is_complete = not limiting

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


def _with_cell_text(batch: Any) -> Any:
    """Return a batch in which chunks of notebooks have the text of cells; matches outside of cells have none."""
    import pyarrow as pa

    rows = MatchRows(batch)
    if not any(is_jupyter(path or "") for path in rows.column("path").dictionary.to_pylist()):
        return batch

    files = zip(*(rows.texts(name) for name in _FILE_KEY), strict=True)
    first_lines = rows.column("chunk_start_line").to_pylist()
    keys = list(zip(files, first_lines, strict=True))
    texts = rows.texts("chunk")
    cells = rows.column("cell").to_pylist() if "cell" in rows else [None] * len(rows)
    columns = (rows.column(name).to_pylist() for name in ("line_number", "line", "start", "end"))
    lines_by_chunk: dict[Any, dict[int, str]] = {}
    for key, cell, (number, line, starts, ends) in zip(keys, cells, zip(*columns, strict=True), strict=True):
        if is_jupyter(key[0][-1] or ""):
            lines = lines_by_chunk.setdefault(key, {})
            line_of_cell = None if cell is None or line is None else cell_text(line, starts or (), ends or ())
            if line_of_cell is not None:
                lines[number] = line_of_cell.text

    for row, key in enumerate(keys):
        if key not in lines_by_chunk:
            continue

        lines = lines_by_chunk[key]
        text = texts[row]
        if not lines or text is None:
            texts[row] = None
            continue

        around = dict(context_lines(enumerate(text.split("\n"), first_lines[row]))) | lines
        first_lines[row] = min(around)
        texts[row] = "\n".join(around.get(number, "") for number in range(min(around), max(around) + 1))

    schema = batch.schema
    for name, column in (("chunk", texts), ("chunk_start_line", first_lines)):
        index = schema.get_field_index(name)
        batch = batch.set_column(index, schema.field(index), pa.array(column, schema.field(index).type))

    return batch


def _one_line(item: Skipped) -> str:
    return " ".join(item.message.replace("\n", " ").split()) or item.title


def chunks_of(batch: Any) -> Iterator[ResultChunk]:
    """Yield the chunks of a batch of matches with chunk columns, in its order."""
    rows = MatchRows(batch)
    if not len(rows):
        return

    heads = chunk_heads(rows).tolist()
    locations = list(zip(*(rows.texts(name, heads) for name in _FILE_KEY), strict=True))
    firsts, texts = rows.numbers("chunk_start_line"), rows.texts("chunk", heads)
    lines, starts, ends = (rows.column(name).to_pylist() for name in ("line_number", "start", "end"))
    words, counts = rows.texts("line"), rows.numbers("match_count")
    for index, (start, end) in enumerate(zip(heads, [*heads[1:], len(rows)], strict=True)):
        repository, revision, commit, path = (value or "" for value in locations[index])
        text = texts[index]
        if text is None:
            yield ResultChunk(repository, revision, commit, path)
            continue

        match_starts: dict[int, int] = {}
        terms: set[str] = set()
        for row in range(start, end):
            spans = list(zip(starts[row] or (), ends[row] or (), strict=True))
            if spans:
                match_starts[lines[row]] = spans[0][0]
                # The first 20 spans are enough to distinguish terms; a line of a megabyte may have a million spans.
                terms.update((words[row] or "")[start:end].casefold() for start, end in spans[:20])

        yield ResultChunk(
            repository=repository,
            revision=revision,
            commit=commit,
            path=path,
            first_line=int(firsts[start]),
            text=text,
            matches=int(counts[start:end].sum()),
            terms=len(terms),
            match_starts=match_starts,
        )


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
    files = left_out = 0
    for _, group in groupby(chunks, key=lambda chunk: chunk.file):
        if files == MAX_FILES:
            is_complete = False
            break

        files += 1
        # Chunks with more different terms come first, then chunks with more matches.
        of_file = sorted(
            group, key=lambda chunk: (-(chunk.score or 0.0), -chunk.terms, -(chunk.matches or 0), chunk.first_line)
        )
        best = of_file[:per_file]
        left_out += len(of_file) - len(best)
        for chunk in best:
            _cut_chunk(chunk, characters)
            chunk.left_out = len(of_file) - len(best)

        best_chunks += best

    messages = list(notices)
    if cut_notice or (not is_complete and files == MAX_FILES):
        default = f"Only the best {MAX_FILES} files are shown; more match. Narrow the query to see others."
        messages.append(cut_notice or default)

    if left_out:
        messages.append(f"{left_out} further places in these files are not shown; read_file shows whole files.")

    attributes = {"query": query, "matches": sum(chunk.matches or 0 for chunk in best_chunks), "files": files}
    is_cut = left_out > 0 or any(chunk.truncated for chunk in best_chunks)
    return ToolResult(
        columns="found_chunks",
        table=table_of_chunks(best_chunks),
        attributes=attributes,
        complete=is_complete and not is_cut,
        notices=tuple(dict.fromkeys(messages)),
    )


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


def _cut_line(line: str, match_at: int) -> str:
    """Return a line cut to the limit, so that it shows its first match."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    inner = MAX_LINE_CHARACTERS - 2 * len(_ELLIPSIS)
    # The window shows at least 40 characters of a match near its end, or 80 before the match.
    start = 0 if match_at < inner - 40 else min(match_at - 80, len(line) - inner)
    line_part = line[start : start + inner]
    return f"{_ELLIPSIS if start else ''}{line_part}{_ELLIPSIS if start + inner < len(line) else ''}"


def table_of_chunks(chunks: Sequence[ResultChunk]) -> Any:
    """Return chunks as the table ``found_chunks``, in their order."""
    import pyarrow as pa

    has_lines = [chunk.first_line > 0 for chunk in chunks]
    values: dict[str, list[Any]] = {
        "repository": [chunk.repository for chunk in chunks],
        "revision": [chunk.revision for chunk in chunks],
        "commit": [chunk.commit or None for chunk in chunks],
        "path": [chunk.path for chunk in chunks],
        "start_line": [
            chunk.first_line if has_text else None for chunk, has_text in zip(chunks, has_lines, strict=True)
        ],
        "end_line": [chunk.last_line if has_text else None for chunk, has_text in zip(chunks, has_lines, strict=True)],
        "chunk": [chunk.text if has_text else None for chunk, has_text in zip(chunks, has_lines, strict=True)],
        "match_count": [chunk.matches for chunk in chunks],
        "score": [chunk.score for chunk in chunks],
        "truncated": [chunk.truncated for chunk in chunks],
        "chunks_left_out": [chunk.left_out for chunk in chunks],
        "url": [file_url("", chunk.repository, chunk.commit, chunk.path) for chunk in chunks],
    }
    schema = chunk_schema()
    columns = [
        pa.array(values[has_text.name], pa.string()).dictionary_encode().cast(has_text.type)
        if pa.types.is_dictionary(has_text.type)
        else pa.array(values[has_text.name], has_text.type)
        for has_text in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def render_chunks(answer: ToolResult, context: ToolContext) -> tuple[dict[str, Any], str]:
    """Return the chunks as JSON blocks by file, and as text."""
    blocks: list[dict[str, Any]] = []
    text: list[str] = []
    rows = answer.table.to_pylist()
    for location, group in groupby(rows, key=lambda row: [row[name] for name in _FILE_KEY]):
        repository, revision, _, path = location
        of_file = list(group)
        block: dict[str, Any] = {
            "type": "file",
            "repo": repository,
            "file": path,
            **({"rev": revision} if revision else {}),
            "url": context.link(of_file[0]["url"]),
        }
        score = of_file[0]["score"]
        if score is not None:
            block["score"] = round(score, 6)

        heading = f"{file_heading(repository, path)}\n"
        chunk_rows = [row for row in of_file if row["chunk"] is not None]
        chunks = [_chunk_payload(row) for row in chunk_rows]
        if len({row["score"] for row in chunk_rows}) > 1:
            for chunk, row in zip(chunks, chunk_rows, strict=True):
                chunk["score"] = round(row["score"], 6)

        block["chunks"] = chunks or None
        if of_file[0]["chunks_left_out"]:
            block["chunksLeftOut"] = of_file[0]["chunks_left_out"]

        blocks.append(block)
        text.append(heading + "".join(chunk["content"] for chunk in chunks))

    # A ranked search counts no matches.
    counts = [row["match_count"] for row in rows if row["match_count"] is not None]
    count = {"matchCount": sum(counts)} if counts or not rows else {}
    payload = {"blocks": blocks, **count, **tail(answer)}
    return payload, with_notices("\n".join(text) or NOTHING, answer)


def _chunk_payload(row: dict[str, Any]) -> dict[str, Any]:
    chunk = {
        "startLine": row["start_line"],
        "endLine": row["end_line"],
        "content": number_lines(row["start_line"], row["chunk"].split("\n")),
    }
    return chunk | ({"truncated": True} if row["truncated"] else {})
