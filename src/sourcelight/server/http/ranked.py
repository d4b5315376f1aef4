"""Ranked search as a stream: ``t=nls``, and ``patternType:nls`` in the query."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.tools.files import NLS_SEARCH
from sourcelight.core.wire.events import Done, Progress, Skipped
from sourcelight.core.wire.request import RANKED, SearchRequest
from sourcelight.repos import Viewer

if TYPE_CHECKING:
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.server.http.producer import SearchEngine

_PATTERN_TYPE = re.compile(r"(?i)(?<!\S)patterntype:(\S+)")
_MAX_FILES = 50


def is_ranked(request: SearchRequest) -> bool:
    """Tell whether a request asks for ranked search; a ``patternType:`` in the query wins."""
    pattern_types = _PATTERN_TYPE.findall(request.query)
    return (pattern_types[-1].lower() if pattern_types else request.pattern_type) == RANKED


def ranked_events(
    engine: SearchEngine, request: SearchRequest, viewer: Viewer, cancellation: Cancellation
) -> Iterator[Event]:
    """Yield the files that fit a description best, best first, with the words that they share with it.

    Raises `QueryError` for filters that can't be read, and for a text without a word to look for.
    """
    from sourcelight.engines import tools
    from sourcelight.engines.search.ranking.question import analyze
    from sourcelight.engines.tools import ToolContext

    started = time.monotonic()
    text = " ".join(_PATTERN_TYPE.sub(" ", request.query).split())
    context = ToolContext(cast("LocalEngine", engine), viewer, cancellation)
    answer = tools.answer(NLS_SEARCH, {"query": text}, context)
    words = [word for word in analyze(text).terms if re.fullmatch(r"\w+", word)]
    matches, repositories = 0, set()
    limit = request.display if request.display >= 0 else None
    files = [place for place, _ in groupby(answer.table.to_pylist(), key=_place)]
    for name, revision, path in dict.fromkeys(files[:_MAX_FILES]):
        cancellation.check()
        if cancellation.expired or (limit is not None and matches >= limit):
            break
        query = f"repo:^{re.escape(name)}${'@' + revision if revision else ''} file:^{re.escape(path)}$ type:file"
        file_request = replace(request, query=f"{query} ({' OR '.join(words)})", pattern_type="keyword")
        with closing(cast("Any", engine.stream(file_request, viewer, cancellation))) as events:
            for event in events:
                if isinstance(event, MatchBatch):
                    repositories.add(name)
                    yield event
                elif isinstance(event, Progress) and event.done:
                    matches += event.match_count
    skipped = tuple(Skipped("ranked-search", "best files", notice) for notice in answer.notices)
    if len(files) > _MAX_FILES:
        skipped += (Skipped("shard-match-limit", "result limit hit", f"The best {_MAX_FILES} files are shown."),)
    yield Progress(
        done=True,
        match_count=matches,
        duration_ms=round((time.monotonic() - started) * 1000),
        repositories_count=len(repositories) or None,
        skipped=skipped,
    )
    yield Done()


def _place(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["repository"], row["revision"] or "", row["path"]
