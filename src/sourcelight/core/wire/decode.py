"""Decode the JSON of an event to typed values; tolerates fields that services omit, add or rename.

Absent and null mean the same. A value with an unexpected type counts as absent. Unknown keys are ignored; unknown
events and types of matches are kept as they arrived. Only text that isn't JSON raises an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire import events
from sourcelight.core.wire.events import Json
from sourcelight.core.wire.sse import RawEvent

_EXCERPT_CHARACTERS = 120
"""Characters of data that isn't JSON that an error quotes."""

_Object = Mapping[str, Any]
"""An object of JSON."""

_MAX_DIGITS = 19
"""Digits of a count that arrives as text: a text may have millions, and 64 bits have at most 19."""


def decode_event(event: RawEvent) -> events.Event:
    """Read the JSON of a raw event.

    Raises
    ------
    ProtocolError
        If the data of a known event is not JSON. An unknown event keeps such data as text.
    """
    reader = _EVENTS.get(event.name)
    if reader is None:
        try:
            return events.UnknownEvent(event.name, load(event.name, event.data))
        except ProtocolError:
            return events.UnknownEvent(event.name, event.data.decode(errors="replace"))

    if event.name == "done":
        return events.Done()

    return reader(load(event.name, event.data))


def decode_matches(data: bytes) -> tuple[events.Match, ...]:
    """Read the array of a ``matches`` event; null is an empty one."""
    return _matches(load("matches", data)).matches


def decode_match(value: Json) -> events.Match:
    """Read one match object. One without a type is a content match, as clients in the field take it."""
    record = _object(value)
    kind = record.get("type")
    if kind is None:
        kind = "content"
    if not isinstance(kind, str) or kind not in _MATCHES:
        return events.UnknownMatch(str(kind), dict(record))
    return _MATCHES[kind](record)


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


def _content(record: _Object) -> events.ContentMatch:
    return events.ContentMatch(
        path_matches=_ranges(record, "pathMatches"),
        line_matches=tuple(map(_line_match, _items(record, "lineMatches"))),
        chunk_matches=tuple(map(_chunk_match, _items(record, "chunkMatches"))),
        **_file_facts(record),
    )


def _ranges(record: _Object, key: str) -> tuple[events.Range, ...]:
    return tuple(map(_range, _items(record, key)))


def _range(value: Json) -> events.Range:
    record = _object(value)
    return events.Range(_location(record.get("start")), _location(record.get("end")))


def _location(value: Json) -> events.Location:
    record = _object(value)
    return events.Location(_int(record, "offset"), _int(record, "line"), _int(record, "column"))


def _line_match(value: Json) -> events.LineMatch:
    record = _object(value)
    pairs = []
    for item in _items(record, "offsetAndLengths"):
        offset, length = _numbers(item, 2)
        pairs.append((offset, length))
    return events.LineMatch(_text(record, "line"), _int(record, "lineNumber"), tuple(pairs))


def _chunk_match(value: Json) -> events.ChunkMatch:
    record = _object(value)
    start = _location(record.get("contentStart"))

    if isinstance(record.get("ranges"), list):
        ranges = _ranges(record, "ranges")
    else:
        # The match gets the first line: its text arrived, only the position in it is unknown.
        ranges = (events.Range(start, start),)
    return events.ChunkMatch(
        # Documented as `context`, sent as `content`: either will do.
        content=_text(record, "content") or _text(record, "context"),
        content_start=start,
        ranges=ranges,
        content_truncated=_flag(record, "contentTruncated"),
    )


def _file_facts(record: _Object) -> dict[str, Any]:
    return {
        "repository": _text(record, "repository"),
        # Services of 2021 have the keys `name` and `version`.
        "path": _text(record, "path") or _text(record, "name"),
        "branches": _texts(record, "branches"),
        "commit": _text(record, "commit") or _text(record, "version"),
        "language": _text(record, "language"),
        **_repository_facts(record),
    }


def _repository_facts(record: _Object) -> dict[str, Any]:
    return {
        "repository_id": _int(record, "repositoryID"),
        "repo_stars": _int(record, "repoStars"),
        "repo_last_fetched": _text(record, "repoLastFetched"),
    }


def _path(record: _Object) -> events.PathMatch:
    return events.PathMatch(path_matches=_ranges(record, "pathMatches"), **_file_facts(record))


def _symbol(record: _Object) -> events.SymbolMatch:
    return events.SymbolMatch(symbols=tuple(map(_symbol_item, _items(record, "symbols"))), **_file_facts(record))


def _symbol_item(value: Json) -> events.SymbolItem:
    record = _object(value)
    return events.SymbolItem(
        name=_text(record, "name"),
        kind=_text(record, "kind"),
        url=_text(record, "url"),
        container_name=_text(record, "containerName"),
        line=_optional_int(record, "line"),
    )


def _repo(record: _Object) -> events.RepoMatch:
    metadata = {}
    for name, text in _object(record.get("metadata")).items():
        # Null is a key without a value: a tag.
        metadata[name] = text if isinstance(text, str) else None

    return events.RepoMatch(
        repository=_text(record, "repository"),
        repository_matches=_ranges(record, "repositoryMatches"),
        branches=_texts(record, "branches"),
        description=_text(record, "description"),
        description_matches=_ranges(record, "descriptionMatches"),
        fork=_flag(record, "fork"),
        archived=_flag(record, "archived"),
        private=_flag(record, "private"),
        metadata=metadata,
        topics=_texts(record, "topics"),
        **_repository_facts(record),
    )


def _commit(record: _Object) -> events.CommitMatch:
    ranges = []
    for item in _items(record, "ranges"):
        line, character, length = _numbers(item, 3)
        ranges.append((line, character, length))

    return events.CommitMatch(
        type=_text(record, "type"),
        repository=_text(record, "repository"),
        oid=_text(record, "oid"),
        label=_text(record, "label"),
        url=_text(record, "url"),
        detail=_text(record, "detail"),
        message=_text(record, "message"),
        author_name=_text(record, "authorName"),
        author_date=_text(record, "authorDate"),
        committer_name=_text(record, "committerName"),
        committer_date=_text(record, "committerDate"),
        content=_text(record, "content"),
        ranges=tuple(ranges),
        **_repository_facts(record),
    )


_MATCHES: dict[str, Callable[[_Object], events.Match]] = {
    "content": _content,
    "path": _path,
    "symbol": _symbol,
    "repo": _repo,
    "commit": _commit,
    "diff": _commit,
}
"""The function that reads each type of match."""


def _matches(value: Json) -> events.Matches:
    return events.Matches(tuple(map(decode_match, _list(value))))


def _progress(value: Json) -> events.Progress:
    record = _object(value)
    skipped = record.get("skipped")
    # Whatever is no list says that something was left out, too: a single item, its text, a number of them, true.
    items = skipped if isinstance(skipped, list) else [skipped] if skipped else []
    return events.Progress(
        done=_flag(record, "done"),
        match_count=_count(record.get("matchCount")),
        duration_ms=_int(record, "durationMs"),
        repositories_count=_optional_int(record, "repositoriesCount"),
        skipped=tuple(map(decode_skipped, items)),
        trace=_text(record, "trace"),
    )


def decode_skipped(value: Json) -> events.Skipped:
    """Return an item of skipped work from JSON."""
    # In any form, an item means that something was left out.
    record = {"reason": value} if isinstance(value, str) else _object(value)
    suggested = record.get("suggested")
    suggestion = None
    if isinstance(suggested, dict):
        suggestion = events.QuerySuggestion(_text(suggested, "title"), _text(suggested, "queryExpression"))

    return events.Skipped(
        reason=_text(record, "reason"),
        title=_text(record, "title"),
        message=_text(record, "message"),
        severity=_text(record, "severity") or "info",
        suggested=suggestion,
    )


def _filters(value: Json) -> events.Filters:
    return events.Filters(tuple(map(_filter, _list(value))))


def _filter(value: Json) -> events.SuggestedFilter:
    record = _object(value)
    if "exhaustive" in record:
        exhaustive = _flag(record, "exhaustive")
    else:
        # Older services have `limitHit`, which means the opposite.
        exhaustive = record.get("limitHit") is False

    return events.SuggestedFilter(
        value=_text(record, "value"),
        label=_text(record, "label"),
        count=_int(record, "count"),
        exhaustive=exhaustive,
        kind=_text(record, "kind"),
    )


def _alert(value: Json) -> events.Alert:
    record = _object(value)
    return events.Alert(
        title=_text(record, "title"),
        description=_text(record, "description"),
        kind=_text(record, "kind"),
        proposed_queries=tuple(map(_decode_proposed, _items(record, "proposedQueries"))),
    )


def _decode_proposed(value: Json) -> events.ProposedQuery:
    record = _object(value)
    annotations = []
    for item in map(_object, _items(record, "annotations")):
        annotations.append((_text(item, "name"), str(item.get("value", ""))))
    return events.ProposedQuery(_text(record, "query"), _text(record, "description"), tuple(annotations))


def _error(value: Json) -> events.ErrorEvent:
    if isinstance(value, str):
        return events.ErrorEvent(value)
    return events.ErrorEvent(_text(_object(value), "message"))


def _decode_done(_: Json) -> events.Done:
    return events.Done()


_EVENTS: dict[str, Callable[[Json], events.Event]] = {
    "matches": _matches,
    "progress": _progress,
    "filters": _filters,
    "alert": _alert,
    "error": _error,
    "done": _decode_done,
}
"""The function that reads each event."""


def _text(record: _Object, key: str) -> str:
    value = record.get(key)
    if isinstance(value, str):
        return value
    return ""


def _texts(record: _Object, key: str) -> tuple[str, ...]:
    return tuple(item for item in _items(record, key) if isinstance(item, str))


def _flag(record: _Object, key: str) -> bool:
    return record.get(key) is True


def _int(record: _Object, key: str) -> int:
    return _number(record.get(key))


def _optional_int(record: _Object, key: str) -> int | None:
    value = record.get(key)
    if value is None:
        return None
    return _number(value)


def _number(value: Json) -> int:
    # Also of a bool, which is an int in Python: a column needs a number.
    if isinstance(value, int):
        return int(value)
    # A huge float would become an integer of hundreds of digits, which no column can hold.
    if isinstance(value, float) and abs(value) < 2**63:
        return int(value)
    return 0


def _numbers(value: Json, size: int) -> tuple[int, ...]:
    """Return the first numbers of a list; always `size`, so that callers can unpack them."""
    numbers = [_number(number) for number in _list(value)[:size]]
    missing = size - len(numbers)
    return (*numbers, *[0] * missing)


def _count(value: Json) -> int:
    # A count may arrive as text.
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < _MAX_DIGITS:
        return int(value)
    return _number(value)


def _items(record: _Object, key: str) -> list[Any]:
    return _list(record.get(key))


def _list(value: Json) -> list[Any]:
    if isinstance(value, list):
        return value
    return []


def _object(value: Json) -> _Object:
    if isinstance(value, dict):
        return value
    return {}
