"""Encode typed events as bytes of the stream, in the exact form that existing clients accept.

An event is one ``event`` line and one ``data`` line, which end with LF and have one blank after the colon. There are no
comments or ids. JSON is one line of UTF-8 in which ``<``, ``>``, ``&``, U+2028 and U+2029 are escaped.
"""

from __future__ import annotations

from typing import Any, Literal

from sourcelight.core.wire.events import (
    Alert,
    ChunkMatch,
    CommitMatch,
    ContentMatch,
    ErrorEvent,
    Event,
    Filters,
    Json,
    Location,
    Match,
    Matches,
    PathMatch,
    Progress,
    Range,
    RepoMatch,
    Skipped,
    SymbolMatch,
    UnknownEvent,
    UnknownMatch,
)

ChunkText = Literal["both", "context", "content"]
"""The key, or both keys, of a chunk's text."""

MAX_EVENT_BYTES = 10 * 1024 * 1024
"""Maximum bytes of an event, with its framing, that existing clients read."""

_ESCAPES = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
_RARE_ESCAPES = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def frame(name: str, data: bytes) -> bytes:
    """Return the bytes of an event whose JSON is ready; `data` holds no newline."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def encode(event: Event, *, chunk_text: ChunkText = "both") -> bytes:
    """Return the bytes of one event. Text that is not Unicode (half a surrogate pair) becomes U+FFFD."""
    name, value = _event(event, chunk_text)
    return frame(name, dump(value))


def encode_match(match: Match, *, chunk_text: ChunkText = "both") -> Json:
    """Return the JSON value of one match."""
    match match:
        case ContentMatch():
            return _content(match, chunk_text)
        case PathMatch():
            return _file(match) | _non_empty(pathMatches=_ranges(match.path_matches))
        case SymbolMatch():
            return _file(match) | {"symbols": [_symbol(symbol) for symbol in match.symbols]}
        case RepoMatch():
            return _repo(match)
        case CommitMatch():
            return _commit(match)
        case UnknownMatch():
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
    for raw, escaped in _ESCAPES:
        json = json.replace(raw, escaped)
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
    return [_mend(item) for item in value] if isinstance(value, list | tuple) else value


def _non_empty(**values: Any) -> dict[str, Any]:
    """Return the pairs whose value is not empty, zero or False."""
    return {key: value for key, value in values.items() if value}


def _event(event: Event, chunk_text: ChunkText) -> tuple[str, Json]:
    match event:
        case Matches():
            return "matches", [encode_match(match, chunk_text=chunk_text) for match in event.matches]
        case Progress():
            return "progress", _progress(event)
        case Filters():
            return "filters", [
                {
                    "value": item.value,
                    "label": item.label,
                    "count": item.count,
                    "exhaustive": item.exhaustive,
                    "kind": item.kind,
                }
                for item in event.filters
            ]
        case Alert():
            return "alert", _alert(event)
        case UnknownEvent():
            return event.name, event.data
        case _:
            return ("error", {"message": event.message}) if isinstance(event, ErrorEvent) else ("done", {})


def _progress(event: Progress) -> Json:
    value: dict[str, Any] = {"done": event.done}
    if event.repositories_count is not None:
        value["repositoriesCount"] = event.repositories_count

    value |= {
        "matchCount": event.match_count,
        "durationMs": event.duration_ms,
        "skipped": [encode_skipped(item) for item in event.skipped],
    }
    return value | _non_empty(trace=event.trace)


def encode_skipped(s: Skipped) -> Json:
    """Return an item of skipped work as JSON."""
    value: dict[str, Any] = {"reason": s.reason, "title": s.title, "message": s.message, "severity": s.severity}
    if s.suggested is not None:
        value["suggested"] = {"title": s.suggested.title, "queryExpression": s.suggested.query_expression}
    return value


def _alert(alert: Alert) -> Json:
    proposed = [
        _non_empty(description=proposed_query.description)
        | {"query": proposed_query.query}
        | _non_empty(annotations=[{"name": name, "value": value} for name, value in proposed_query.annotations])
        for proposed_query in alert.proposed_queries
    ]
    return (
        {"title": alert.title}
        | _non_empty(description=alert.description, kind=alert.kind)
        | {"proposedQueries": proposed or None}
    )


def _ranges(ranges: tuple[Range, ...]) -> list[Json]:
    return [{"start": _location(range_.start), "end": _location(range_.end)} for range_ in ranges]


def _location(location: Location) -> Json:
    return {"offset": location.offset, "line": location.line, "column": location.column}


def repository_json(
    repository: str, repository_id: int = 0, repo_stars: int = 0, repo_last_fetched: str = ""
) -> dict[str, Any]:
    """Return the keys of a match about its repository."""
    return {"repositoryID": repository_id, "repository": repository} | _non_empty(
        repoStars=repo_stars, repoLastFetched=repo_last_fetched
    )


def _file(match: ContentMatch | PathMatch | SymbolMatch) -> dict[str, Any]:
    return (
        {"type": match.type, "path": match.path}
        | _repository(match)
        | _non_empty(branches=list(match.branches), commit=match.commit, language=match.language)
    )


def _repository(match: ContentMatch | PathMatch | SymbolMatch | RepoMatch | CommitMatch) -> dict[str, Any]:
    return repository_json(match.repository, match.repository_id, match.repo_stars, match.repo_last_fetched)


def _content(match: ContentMatch, chunk_text: ChunkText) -> Json:
    lines = [
        {
            "line": line_match.line,
            "lineNumber": line_match.line_number,
            "offsetAndLengths": line_match.offset_and_lengths,
        }
        for line_match in match.line_matches
    ]
    chunks = [_chunk(chunk_match, chunk_text) for chunk_match in match.chunk_matches]
    return (
        _file(match)
        | _non_empty(pathMatches=_ranges(match.path_matches))
        # Null when line matches are used (streaming search API, content match).
        | {"hunks": None}
        | _non_empty(lineMatches=lines, chunkMatches=chunks)
    )


def _chunk(chunk: ChunkMatch, chunk_text: ChunkText) -> Json:
    # Documented as `context`, sent as `content` by services, so both are sent unless the client is known to read one.
    keys = ("context", "content") if chunk_text == "both" else (chunk_text,)
    return (
        dict.fromkeys(keys, chunk.content)
        | {"contentStart": _location(chunk.content_start), "ranges": _ranges(chunk.ranges)}
        | _non_empty(contentTruncated=chunk.content_truncated)
    )


def _symbol(symbol: Any) -> Json:
    value = {
        "url": symbol.url,
        "name": symbol.name,
        "containerName": symbol.container_name,
        "kind": symbol.kind,
    }
    return value if symbol.line is None else value | {"line": symbol.line}


def _repo(match: RepoMatch) -> Json:
    return (
        {"type": match.type}
        | _repository(match)
        | _non_empty(
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
    )


def _commit(match: CommitMatch) -> Json:
    return (
        {"type": match.type, "label": match.label, "url": match.url, "detail": match.detail}
        | _repository(match)
        | {
            "oid": match.oid,
            "message": match.message,
            "authorName": match.author_name,
            "authorDate": match.author_date,
            "committerName": match.committer_name,
            "committerDate": match.committer_date,
            "content": match.content,
            "ranges": match.ranges,
        }
    )
