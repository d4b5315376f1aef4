"""Ranked search as a stream: ``t=nls``, and ``patternType:nls`` in the query.

The tool `nls_search` ranks all at once. Its best files are then sent one by one, like those of any other search, until
as many matches are sent as the request and the query allow; counts go on to the end.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError, QueryError, RepositoryError, ToolError
from sourcelight.core.query.dates import duration_s
from sourcelight.core.tools.files import NLS_SEARCH, READ_FILE
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import RANKED, SearchRequest, display_limit, match_limit
from sourcelight.repos import Viewer
from sourcelight.server.http.ranked_search.rows import FileChunks, file_rows, ranked_files, word_pattern

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.execution.results.tally import Tally
    from sourcelight.engines.tools import ToolContext

_PATTERN_TYPE = re.compile(r"(?i)(?<!\S)patterntype:(\S+)")

_BOUND = re.compile(r"(?i)(?<!\S)(count|timeout):(\S+)")
"""The filters of ``retry count:20 timeout:5s`` that bound the answer."""

_MAX_FILES = 50
"""Files of an answer: the best ones are meant to be read, not counted."""

_MAX_DIGITS = 18
"""Digits of ``count:``: longer numbers are beyond every answer, and Python refuses to read the longest."""


def is_ranked(request: SearchRequest) -> bool:
    """Return whether a request asks for ranked search; a ``patternType:`` in the query wins."""
    pattern_types = _PATTERN_TYPE.findall(request.query)
    if pattern_types:
        return str(pattern_types[-1]).lower() == RANKED
    return request.pattern_type == RANKED


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
    if not description.text:
        raise QueryError("the query has no words", query=request.query, hint="describe the code in words")

    requested_s = description.shorter_s(request.timeout_s)
    cancellation.limit(engine.limits.timeout_s(requested_s, has_count=description.has_count))
    context = ToolContext(engine, viewer, cancellation)
    answer = tools.answer(NLS_SEARCH, {"query": description.text}, context)
    files = ranked_files(answer.table)
    _, question = split_filters(description.text)
    limits = _MatchLimits.of(description, request)
    tally = Tally()
    yield from _file_events(files[:_MAX_FILES], request, question=question, limits=limits, tally=tally, context=context)

    skipped = _skipped_parts(answer, len(files), tally.matches, limits.count, request.display)
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
        count = None
        count_text = bounds.get("count", "")
        if count_text.isdecimal() and len(count_text) <= _MAX_DIGITS:
            count = int(count_text)

        return cls(
            text=" ".join(_BOUND.sub(" ", query).split()),
            has_count="count" in bounds,
            count=count,
            timeout_s=duration_s(bounds.get("timeout", "")),
        )

    def shorter_s(self, timeout_s: float | None) -> float | None:
        """Return the shorter of this timeout and another one, in seconds, or None without any."""
        if timeout_s is None:
            return self.timeout_s
        if self.timeout_s is None:
            return timeout_s
        return min(timeout_s, self.timeout_s)


@dataclass(frozen=True, slots=True)
class _MatchLimits:
    """Maximum matches that count, and that are sent."""

    count: int
    display: int

    @classmethod
    def of(cls, description: _Description, request: SearchRequest) -> _MatchLimits:
        count = sys.maxsize if description.count is None else description.count
        return cls(count, count if request.display < 0 else min(count, request.display))


def _file_events(
    files: Sequence[FileChunks],
    request: SearchRequest,
    *,
    question: str,
    limits: _MatchLimits,
    tally: Tally,
    context: ToolContext,
) -> Iterator[MatchBatch]:
    """Yield the matches of each file within the limits, and count them in the tally."""
    visible_repositories = context.engine.catalog.visible(context.viewer)
    repositories = {repository.name: repository.info for repository in visible_repositories}
    words = word_pattern(question)
    # Over a cluster they cost a request for each file, and only chunks need them.
    needs_offsets = request.chunk_matches or context.engine.holds_files
    sent_count = 0
    for file in files:
        context.cancellation.check()
        offsets = _line_offsets(context, file) if needs_offsets else []
        batch = first_matches(file_rows(file, words, request, repositories, offsets), limits.count - tally.matches)
        is_first_of_repository = file.repository not in tally.repositories
        tally.add(batch)

        visible = first_matches(batch, limits.display - sent_count)
        if visible.num_rows:
            sent_count += match_count(visible)
            # The first rows of a repository carry its description.
            info = repositories.get(file.repository) if is_first_of_repository else None
            yield MatchBatch(visible, () if info is None else (info,))
        if tally.matches >= limits.count:
            return


def _skipped_parts(answer: ToolResult, file_count: int, match_count: int, count: int, display: int) -> list[Skipped]:
    """Return the parts that the answer leaves out, with reasons."""
    skipped = []
    if not answer.complete:
        for notice in answer.notices or ("Some repositories were not searched in full.",):
            skipped.append(Skipped("ranked-search", "not searched in full", notice, severity="warn"))

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


def _line_offsets(context: ToolContext, file: FileChunks) -> list[int]:
    """Return the offset of each line of a file; empty if it can't be read."""
    from sourcelight.engines.search import Target

    if not context.engine.holds_files:
        return _line_offsets_by_tool(context, file)
    repository = context.engine.catalog.get(file.repository, context.viewer)
    data = context.local.store.read(Target(repository, file.revision, file.commit), file.path) or b""
    return _offsets_of(data.split(b"\n"))


def _line_offsets_by_tool(context: ToolContext, file: FileChunks) -> list[int]:
    """Return the offsets for files in another process. An invalid byte counts as the three of U+FFFD, as sent."""
    from sourcelight.engines import tools

    numbers = list(file.lines_by_number())
    if not numbers:
        return []

    arguments = {
        "repo": file.repository,
        "revision": file.commit,
        "path": file.path,
        "startLine": 1,
        "endLine": numbers[-1],
    }
    try:
        answer = tools.call(READ_FILE.name, arguments, context)
    except (ToolError, RepositoryError, ClusterError):
        return []

    return _offsets_of([line.encode() for line in answer.table.column("line").to_pylist()])


def _offsets_of(lines: Sequence[bytes]) -> list[int]:
    """Return where each line starts, and where the one after the last would."""
    sizes = [len(line) + 1 for line in lines]
    return list(accumulate(sizes, initial=0))
