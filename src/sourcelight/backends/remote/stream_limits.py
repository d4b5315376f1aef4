"""Bounds of what a stream may make a client keep besides its rows: alerts, errors, skipped items and filters.

A hostile service can send such items for hours, or 20 million of them in one event. What exceeds a bound is counted and
reported as skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from sourcelight.core.markup.counts import count_of
from sourcelight.core.wire.events import Alert, ErrorEvent, Filters, Progress, ProposedQuery, Skipped, SuggestedFilter

# Bounds for hostile services, far above what an answer has for its reader.
MAX_ALERTS = 1_000

MAX_ITEMS = 10_000
"""Skipped items of one event, and suggested filters."""

MAX_KEPT_CHARS = 4 << 20
"""Characters of all alerts of a stream, of the skipped items of one event, and of the filters."""

_MAX_LABEL_CHARS = 2_000
"""Characters of a title, a query or another short text."""

_MAX_TEXT_CHARS = 20_000
"""Characters of a message or a description."""

_MAX_PROPOSED = 20
"""Proposed queries of an alert, and annotations of one of them."""

_ITEM_CHARS = 16
"""Characters that an empty item counts, so that a flood of them isn't free."""

_Event = TypeVar("_Event", Alert | ErrorEvent, Progress)
_Item = TypeVar("_Item", bound=SuggestedFilter | Skipped)


class ItemLimits:
    """Cuts the items of one stream to their bounds, and counts those that it drops."""

    def __init__(self) -> None:
        self._alerts = 0
        self._alert_chars = 0
        self._has_error = False
        self._dropped_alerts = 0
        self._dropped_filters = 0

    def cut_alert(self, event: Alert | ErrorEvent) -> Alert | ErrorEvent | None:
        """Return an alert or error with texts of bounded length, or None for one more than are kept.

        The first error is always kept, so that a flood of alerts can't hide a failed search.
        """
        short: Alert | ErrorEvent
        if isinstance(event, ErrorEvent):
            short = _short_error(event)
            is_error = True
        else:
            short = _short_alert(event)
            is_error = short.kind == "error"

        chars = self._alert_chars + _chars_of(short)
        is_over = self._alerts >= MAX_ALERTS or chars > MAX_KEPT_CHARS
        if is_over and (self._has_error or not is_error):
            self._dropped_alerts += 1
            return None

        self._has_error |= is_error
        self._alerts += 1
        self._alert_chars = chars
        return short

    def cut_filters(self, event: Filters) -> Filters:
        """Return the first suggested filters, with texts of bounded length."""
        filters = _first_of(map(_short_filter, event.filters[:MAX_ITEMS]))
        self._dropped_filters = len(event.filters) - len(filters)
        return Filters(tuple(filters))

    def report_dropped(self) -> Iterator[Skipped]:
        """Yield an item for each kind of dropped events."""
        if self._dropped_alerts:
            title = f"{count_of(self._dropped_alerts, 'alert')} of the service not kept"
            yield Skipped("alerts-not-kept", title, f"A search keeps {MAX_ALERTS:,} alerts and errors.", "warn")
        if self._dropped_filters:
            title = f"{count_of(self._dropped_filters, 'suggested filter')} not kept"
            yield Skipped("filters-not-kept", title, f"A search keeps {MAX_ITEMS:,} suggested filters.", "warn")


def cut_progress(event: Progress) -> Progress:
    """Return statistics with a bounded number of skipped items of bounded length; one more item counts the others."""
    skipped = _first_of(map(_short_skipped, event.skipped[:MAX_ITEMS]))
    dropped = len(event.skipped) - len(skipped)
    if dropped:
        title = f"{count_of(dropped, 'more item')} of skipped work not kept"
        skipped.append(Skipped("skipped-not-kept", title, severity="warn"))
    return replace(event, skipped=tuple(skipped), trace=event.trace[:_MAX_LABEL_CHARS])


def without_secrets(event: _Event, hide: Callable[[str], str]) -> _Event:
    """Return an event without the credentials that a service may have quoted in its texts for people."""
    if isinstance(event, ErrorEvent):
        return replace(event, message=hide(event.message))
    if isinstance(event, Alert):
        return replace(event, title=hide(event.title), description=hide(event.description))
    skipped = (replace(item, title=hide(item.title), message=hide(item.message)) for item in event.skipped)
    return replace(event, skipped=tuple(skipped))


def _first_of(items: Iterable[_Item]) -> list[_Item]:
    """Return the first items, as long as their texts together are within `MAX_KEPT_CHARS`."""
    first_items: list[_Item] = []
    chars = 0
    for item in items:
        chars += _chars_of(item)
        if chars > MAX_KEPT_CHARS:
            break
        first_items.append(item)
    return first_items


def _short_error(event: ErrorEvent) -> ErrorEvent:
    return ErrorEvent(_short(event.message, _MAX_TEXT_CHARS) or "the service gives no reason")


def _short_alert(event: Alert) -> Alert:
    return Alert(
        title=_short(event.title),
        description=_short(event.description, _MAX_TEXT_CHARS),
        kind=_short(event.kind),
        proposed_queries=tuple(map(_short_proposal, event.proposed_queries[:_MAX_PROPOSED])),
    )


def _short_proposal(item: ProposedQuery) -> ProposedQuery:
    annotations = [(_short(name), _short(value)) for name, value in item.annotations[:_MAX_PROPOSED]]
    return ProposedQuery(query=_short(item.query), description=_short(item.description), annotations=tuple(annotations))


def _short_filter(item: SuggestedFilter) -> SuggestedFilter:
    return replace(item, value=_short(item.value), label=_short(item.label), kind=_short(item.kind))


def _short_skipped(item: Skipped) -> Skipped:
    suggested = item.suggested
    if suggested is not None:
        query = _short(suggested.query_expression)
        suggested = replace(suggested, title=_short(suggested.title), query_expression=query)

    return Skipped(
        reason=_short(item.reason),
        title=_short(item.title),
        message=_short(item.message, _MAX_TEXT_CHARS),
        severity=_short(item.severity),
        suggested=suggested,
    )


def _short(text: str, limit: int = _MAX_LABEL_CHARS) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1]}\u2026"


def _chars_of(item: Alert | ErrorEvent | SuggestedFilter | Skipped) -> int:
    """Return about how many characters an item keeps."""
    return _ITEM_CHARS + len(repr(item))
