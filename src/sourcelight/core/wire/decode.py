"""Decode the JSON of an event to typed values; tolerates fields that services omit, add or rename.

Absent and null mean the same. A value with an unexpected type counts as absent. Unknown keys are ignored; unknown
events and types of matches are kept as they arrived. Only text that isn't JSON raises an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire.events import (
    Alert,
    ChunkMatch,
    CommitMatch,
    ContentMatch,
    Done,
    ErrorEvent,
    Event,
    Filters,
    Json,
    LineMatch,
    Location,
    Match,
    Matches,
    PathMatch,
    Progress,
    ProposedQuery,
    QuerySuggestion,
    Range,
    RepoMatch,
    Skipped,
    SuggestedFilter,
    SymbolItem,
    SymbolMatch,
    UnknownEvent,
    UnknownMatch,
)
from sourcelight.core.wire.sse import RawEvent

_EXCERPT_CHARACTERS = 120

_Object = Mapping[str, Any]

_MAX_DIGITS = 19


def decode_event(event: RawEvent) -> Event:
    """Read the JSON of a raw event.

    Raises
    ------
    ProtocolError
        If the data of a known event is not JSON. An unknown event keeps such data as text.
    """
    reader = _EVENTS.get(event.name)
    if reader is None:
        try:
            return UnknownEvent(event.name, load(event.name, event.data))
        except ProtocolError:
            return UnknownEvent(event.name, event.data.decode(errors="replace"))

    if event.name == "done":
        return Done()

    return reader(load(event.name, event.data))


def decode_matches(data: bytes) -> tuple[Match, ...]:
    """Read the array of a ``matches`` event; null is an empty one."""
    return _matches(load("matches", data)).matches


def decode_match(value: Json) -> Match:
    """Read one match object. One without a type is a content match, as clients in the field take it."""
    o = _object(value)
    kind = o.get("type")
    if kind is None:
        kind = "content"
    reader = _MATCHES.get(kind) if isinstance(kind, str) else None
    return UnknownMatch(str(kind), dict(o)) if reader is None else reader(o)


def load(name: str, data: bytes) -> Json:
    """Parse JSON; nothing at all is null. `name` is the event's, for the error."""
    import orjson

    if not data.strip():
        return None

    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass

    try:
        # Half a surrogate pair and invalid UTF-8 are errors to orjson only.
        return json.loads(data.decode(errors="replace"))
    except (ValueError, RecursionError) as exc:
        excerpt = data[:_EXCERPT_CHARACTERS].decode(errors="replace")
        raise ProtocolError(
            f"the data of event {name!r} is not JSON: {excerpt!r}", event=name, excerpt=excerpt
        ) from exc


def _content(o: _Object) -> ContentMatch:
    return ContentMatch(
        path_matches=_ranges(o, "pathMatches"),
        line_matches=tuple(map(_line_match, _items(o, "lineMatches"))),
        chunk_matches=tuple(map(_chunk_match, _items(o, "chunkMatches"))),
        **_file_facts(o),
    )


def _ranges(o: _Object, key: str) -> tuple[Range, ...]:
    return tuple(Range(_location(r.get("start")), _location(r.get("end"))) for r in map(_object, _items(o, key)))


def _location(value: Json) -> Location:
    o = _object(value)
    return Location(_int(o, "offset"), _int(o, "line"), _int(o, "column"))


def _line_match(value: Json) -> LineMatch:
    o = _object(value)
    pairs = tuple((p[0], p[1]) for p in (_numbers(item, 2) for item in _items(o, "offsetAndLengths")))
    return LineMatch(_text(o, "line"), _int(o, "lineNumber"), pairs)


def _chunk_match(value: Json) -> ChunkMatch:
    o = _object(value)
    start = _location(o.get("contentStart"))

    # Without ranges, the match gets the first line: its text arrived, only the position in it is unknown.
    ranges = _ranges(o, "ranges") if isinstance(o.get("ranges"), list) else (Range(start, start),)
    return ChunkMatch(
        # Documented as `context`, sent as `content`: either will do.
        content=_text(o, "content") or _text(o, "context"),
        content_start=start,
        ranges=ranges,
        content_truncated=_flag(o, "contentTruncated"),
    )


def _file_facts(o: _Object) -> dict[str, Any]:
    return {
        "repository": _text(o, "repository"),
        # Services of 2021 have the keys `name` and `version`.
        "path": _text(o, "path") or _text(o, "name"),
        "branches": _texts(o, "branches"),
        "commit": _text(o, "commit") or _text(o, "version"),
        "language": _text(o, "language"),
        **_repository_facts(o),
    }


def _repository_facts(o: _Object) -> dict[str, Any]:
    return {
        "repository_id": _int(o, "repositoryID"),
        "repo_stars": _int(o, "repoStars"),
        "repo_last_fetched": _text(o, "repoLastFetched"),
    }


def _path(o: _Object) -> PathMatch:
    return PathMatch(path_matches=_ranges(o, "pathMatches"), **_file_facts(o))


def _symbol(o: _Object) -> SymbolMatch:
    return SymbolMatch(symbols=tuple(map(_symbol_item, _items(o, "symbols"))), **_file_facts(o))


def _symbol_item(value: Json) -> SymbolItem:
    o = _object(value)
    line = o.get("line")
    return SymbolItem(
        name=_text(o, "name"),
        kind=_text(o, "kind"),
        url=_text(o, "url"),
        container_name=_text(o, "containerName"),
        line=None if line is None else _number(line),
    )


def _repo(o: _Object) -> RepoMatch:
    metadata = _object(o.get("metadata"))
    return RepoMatch(
        repository=_text(o, "repository"),
        repository_matches=_ranges(o, "repositoryMatches"),
        branches=_texts(o, "branches"),
        description=_text(o, "description"),
        description_matches=_ranges(o, "descriptionMatches"),
        fork=_flag(o, "fork"),
        archived=_flag(o, "archived"),
        private=_flag(o, "private"),
        # Null is a key without a value: a tag.
        metadata={k: v if isinstance(v, str) else None for k, v in metadata.items()},
        topics=_texts(o, "topics"),
        **_repository_facts(o),
    )


def _commit(o: _Object) -> CommitMatch:
    triples = tuple((t[0], t[1], t[2]) for t in (_numbers(item, 3) for item in _items(o, "ranges")))
    return CommitMatch(
        type=_text(o, "type"),
        repository=_text(o, "repository"),
        oid=_text(o, "oid"),
        label=_text(o, "label"),
        url=_text(o, "url"),
        detail=_text(o, "detail"),
        message=_text(o, "message"),
        author_name=_text(o, "authorName"),
        author_date=_text(o, "authorDate"),
        committer_name=_text(o, "committerName"),
        committer_date=_text(o, "committerDate"),
        content=_text(o, "content"),
        ranges=triples,
        **_repository_facts(o),
    )


_MATCHES: dict[str, Callable[[_Object], Match]] = {
    "content": _content,
    "path": _path,
    "symbol": _symbol,
    "repo": _repo,
    "commit": _commit,
    "diff": _commit,
}


def _matches(value: Json) -> Matches:
    return Matches(tuple(map(decode_match, value)) if isinstance(value, list) else ())


def _progress(value: Json) -> Progress:
    o = _object(value)
    count, matches, skipped = o.get("repositoriesCount"), o.get("matchCount"), o.get("skipped")
    return Progress(
        done=_flag(o, "done"),
        match_count=_count(matches),
        duration_ms=_int(o, "durationMs"),
        repositories_count=None if count is None else _number(count),
        skipped=tuple(map(_decode_skipped, [skipped] if isinstance(skipped, dict) else _items(o, "skipped"))),
        trace=_text(o, "trace"),
    )


def _decode_skipped(value: Json) -> Skipped:
    # In any form, an item means that something was left out.
    o = {"reason": value} if isinstance(value, str) else _object(value)
    suggested = o.get("suggested")
    s = _object(suggested)
    return Skipped(
        reason=_text(o, "reason"),
        title=_text(o, "title"),
        message=_text(o, "message"),
        severity=_text(o, "severity") or "info",
        suggested=QuerySuggestion(_text(s, "title"), _text(s, "queryExpression"))
        if isinstance(suggested, dict)
        else None,
    )


def _filters(value: Json) -> Filters:
    return Filters(tuple(map(_filter, value)) if isinstance(value, list) else ())


def _filter(value: Json) -> SuggestedFilter:
    o = _object(value)
    # Older services have `limitHit`, which means the opposite.
    exhaustive = _flag(o, "exhaustive") if "exhaustive" in o else o.get("limitHit") is False
    return SuggestedFilter(
        value=_text(o, "value"),
        label=_text(o, "label"),
        count=_int(o, "count"),
        exhaustive=exhaustive,
        kind=_text(o, "kind"),
    )


def _alert(value: Json) -> Alert:
    o = _object(value)
    return Alert(
        title=_text(o, "title"),
        description=_text(o, "description"),
        kind=_text(o, "kind"),
        proposed_queries=tuple(map(_decode_proposed, _items(o, "proposedQueries"))),
    )


def _decode_proposed(value: Json) -> ProposedQuery:
    o = _object(value)
    annotations = tuple((_text(a, "name"), str(a.get("value", ""))) for a in map(_object, _items(o, "annotations")))
    return ProposedQuery(_text(o, "query"), _text(o, "description"), annotations)


def _error(value: Json) -> ErrorEvent:
    return ErrorEvent(value if isinstance(value, str) else _text(_object(value), "message"))


def _decode_done(_: Json) -> Done:
    return Done()


_EVENTS: dict[str, Callable[[Json], Event]] = {
    "matches": _matches,
    "progress": _progress,
    "filters": _filters,
    "alert": _alert,
    "error": _error,
    "done": _decode_done,
}


def _text(o: _Object, key: str) -> str:
    value = o.get(key)
    return value if isinstance(value, str) else ""


def _texts(o: _Object, key: str) -> tuple[str, ...]:
    return tuple(item for item in _items(o, key) if isinstance(item, str))


def _flag(o: _Object, key: str) -> bool:
    return o.get(key) is True


def _int(o: _Object, key: str) -> int:
    return _number(o.get(key))


def _number(value: Json) -> int:
    # Also of a bool, which is an int in Python: a column needs a number.
    if isinstance(value, int):
        return int(value)
    # A huge float would become an integer of hundreds of digits, which no column can hold.
    return int(value) if isinstance(value, float) and abs(value) < 2**63 else 0


def _numbers(value: Json, size: int) -> tuple[int, ...]:
    numbers = [_number(v) for v in value[:size]] if isinstance(value, list) else []
    # Always `size` numbers, so that callers can unpack them whatever the service sent.
    return tuple(numbers + [0] * (size - len(numbers)))


def _count(value: Json) -> int:
    # A count may arrive as text. The length is limited, because the text may have millions of digits.
    is_digits = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < _MAX_DIGITS
    return int(str(value)) if is_digits else _number(value)


def _items(o: _Object, key: str) -> list[Any]:
    value = o.get(key)
    return value if isinstance(value, list) else []


def _object(value: Json) -> _Object:
    return value if isinstance(value, dict) else {}
