"""Encode typed events as bytes of the stream, in the exact form that existing clients accept.

An event is one ``event`` line and one ``data`` line, which end with LF and have one blank after the colon. There are no
comments or ids. JSON is one line of UTF-8 in which ``<``, ``>``, ``&``, U+2028 and U+2029 are escaped.
"""

from __future__ import annotations

from typing import Any, Literal

from sourcelight.core.wire import events
from sourcelight.core.wire.events import Json

ChunkText = Literal["both", "context", "content"]
"""The key, or both keys, of a chunk's text."""

MAX_EVENT_BYTES = 10 * 1024 * 1024
"""Maximum bytes of an event, with its framing, that existing clients read."""

_RARE_ESCAPES = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def frame(name: str, data: bytes) -> bytes:
    """Return the bytes of an event whose JSON is ready; `data` holds no newline."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def encode(event: events.Event, *, chunk_text: ChunkText = "both") -> bytes:
    """Return the bytes of one event. Text that is not Unicode (half a surrogate pair) becomes U+FFFD."""
    name, value = _event(event, chunk_text)
    return frame(name, dump(value))


def encode_match(match: events.Match, *, chunk_text: ChunkText = "both") -> Json:
    """Return the JSON value of one match."""
    match match:
        case events.ContentMatch():
            return _content(match, chunk_text)
        case events.PathMatch():
            return _path(match)
        case events.SymbolMatch():
            return _symbols(match)
        case events.RepoMatch():
            return _repo(match)
        case events.CommitMatch():
            return _commit(match)
        case events.UnknownMatch():
            return dict(match.raw)


def dump(value: Json) -> bytes:
    """Return JSON in one line with the stream's escapes."""
    import orjson

    try:
        return escape(orjson.dumps(value))
    except orjson.JSONEncodeError:
        # Only after a failure: half surrogate pairs are rare, and mending walks through the whole value.
        return escape(orjson.dumps(_mend(value)))


def escape(json: bytes) -> bytes:
    """Add the stream's escapes to JSON text; they only ever replace characters inside strings."""
    # One after another, as each event is escaped here: a loop over a table takes twice as long.
    json = json.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
    # Both separators begin with these bytes, and most JSON has neither.
    if not json.isascii() and b"\xe2\x80" in json:
        for raw, escaped in _RARE_ESCAPES:
            json = json.replace(raw, escaped)
    return json


def _mend(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mend(item) for item in value]
    return value


def _non_empty(**values: Any) -> dict[str, Any]:
    """Return the pairs whose value is not empty, zero or False."""
    return {key: value for key, value in values.items() if value}


def _event(event: events.Event, chunk_text: ChunkText) -> tuple[str, Json]:  # noqa: PLR0911 - one for each kind
    match event:
        case events.Matches():
            return "matches", [encode_match(match, chunk_text=chunk_text) for match in event.matches]
        case events.Progress():
            return "progress", _progress(event)
        case events.Filters():
            return "filters", [_filter(item) for item in event.filters]
        case events.Alert():
            return "alert", _alert(event)
        case events.UnknownEvent():
            return event.name, event.data
        case events.ErrorEvent():
            return "error", {"message": event.message}
        case _:
            return "done", {}


def _progress(event: events.Progress) -> Json:
    value: dict[str, Any] = {"done": event.done}
    if event.repositories_count is not None:
        value["repositoriesCount"] = event.repositories_count

    value["matchCount"] = event.match_count
    value["durationMs"] = event.duration_ms
    value["skipped"] = [encode_skipped(item) for item in event.skipped]
    value |= _non_empty(trace=event.trace)
    return value


def encode_skipped(item: events.Skipped) -> Json:
    """Return an item of skipped work as JSON."""
    value: dict[str, Any] = {
        "reason": item.reason,
        "title": item.title,
        "message": item.message,
        "severity": item.severity,
    }
    if item.suggested is not None:
        value["suggested"] = {"title": item.suggested.title, "queryExpression": item.suggested.query_expression}
    return value


def _filter(item: events.SuggestedFilter) -> Json:
    return {
        "value": item.value,
        "label": item.label,
        "count": item.count,
        "exhaustive": item.exhaustive,
        "kind": item.kind,
    }


def _alert(alert: events.Alert) -> Json:
    value: dict[str, Any] = {"title": alert.title}
    value |= _non_empty(description=alert.description, kind=alert.kind)
    value["proposedQueries"] = [_proposal(proposal) for proposal in alert.proposed_queries] or None
    return value


def _proposal(proposal: events.ProposedQuery) -> Json:
    annotations = [{"name": name, "value": value} for name, value in proposal.annotations]
    value = _non_empty(description=proposal.description)
    value["query"] = proposal.query
    value |= _non_empty(annotations=annotations)
    return value


def _ranges(ranges: tuple[events.Range, ...]) -> list[Json]:
    return [{"start": _location(range_.start), "end": _location(range_.end)} for range_ in ranges]


def _location(location: events.Location) -> Json:
    return {"offset": location.offset, "line": location.line, "column": location.column}


def repository_json(
    repository: str, repository_id: int = 0, repo_stars: int = 0, repo_last_fetched: str = ""
) -> dict[str, Any]:
    """Return the keys of a match about its repository."""
    value: dict[str, Any] = {"repositoryID": repository_id, "repository": repository}
    value |= _non_empty(repoStars=repo_stars, repoLastFetched=repo_last_fetched)
    return value


def _file(match: events.ContentMatch | events.PathMatch | events.SymbolMatch) -> dict[str, Any]:
    return (
        {"type": match.type, "path": match.path}
        | _repository(match)
        | _non_empty(branches=list(match.branches), commit=match.commit, language=match.language)
    )


def _repository(
    match: events.ContentMatch | events.PathMatch | events.SymbolMatch | events.RepoMatch | events.CommitMatch,
) -> dict[str, Any]:
    return repository_json(match.repository, match.repository_id, match.repo_stars, match.repo_last_fetched)


def _content(match: events.ContentMatch, chunk_text: ChunkText) -> Json:
    value = _path(match)
    # Null when line matches are used (streaming search API, content match).
    value["hunks"] = None
    lines = [_line(line) for line in match.line_matches]
    chunks = [_chunk(chunk, chunk_text) for chunk in match.chunk_matches]
    value |= _non_empty(lineMatches=lines, chunkMatches=chunks)
    return value


def _path(match: events.ContentMatch | events.PathMatch) -> dict[str, Any]:
    """Return the keys of a file, with the matches in its path."""
    value = _file(match)
    value |= _non_empty(pathMatches=_ranges(match.path_matches))
    return value


def _symbols(match: events.SymbolMatch) -> Json:
    value = _file(match)
    value["symbols"] = [_symbol(symbol) for symbol in match.symbols]
    return value


def _line(line: events.LineMatch) -> Json:
    return {"line": line.line, "lineNumber": line.line_number, "offsetAndLengths": line.offset_and_lengths}


def _chunk(chunk: events.ChunkMatch, chunk_text: ChunkText) -> Json:
    # Documented as `context`, sent as `content` by services, so both are sent unless the client is known to read one.
    value: dict[str, Any] = {}
    if chunk_text in {"both", "context"}:
        value["context"] = chunk.content
    if chunk_text in {"both", "content"}:
        value["content"] = chunk.content
    value["contentStart"] = _location(chunk.content_start)
    value["ranges"] = _ranges(chunk.ranges)
    value |= _non_empty(contentTruncated=chunk.content_truncated)
    return value


def _symbol(symbol: events.SymbolItem) -> Json:
    value: dict[str, Any] = {
        "url": symbol.url,
        "name": symbol.name,
        "containerName": symbol.container_name,
        "kind": symbol.kind,
    }
    if symbol.line is not None:
        value["line"] = symbol.line
    return value


def _repo(match: events.RepoMatch) -> Json:
    value: dict[str, Any] = {"type": match.type}
    value |= _repository(match)
    value |= _non_empty(
        repositoryMatches=_ranges(match.repository_matches),
        branches=list(match.branches),
        description=match.description,
        descriptionMatches=_ranges(match.description_matches),
        fork=match.fork,
        archived=match.archived,
        private=match.private,
        metadata=dict(match.metadata),
        topics=list(match.topics),
    )
    return value


def _commit(match: events.CommitMatch) -> Json:
    value: dict[str, Any] = {"type": match.type, "label": match.label, "url": match.url, "detail": match.detail}
    value |= _repository(match)
    value |= {
        "oid": match.oid,
        "message": match.message,
        "authorName": match.author_name,
        "authorDate": match.author_date,
        "committerName": match.committer_name,
        "committerDate": match.committer_date,
        "content": match.content,
        "ranges": match.ranges,
    }
    return value
