"""Bounds of what a stream may make a client keep besides its rows: alerts, errors, skipped items and filters.

A hostile service can send such items for hours, or 20 million of them in one event. What exceeds a bound is counted and
reported as skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from sourcelight.core.markup.counts import count_of
from sourcelight.core.wire.events import Alert, ErrorEvent, Filters, Progress, ProposedQuery, Skipped, SuggestedFilter

MAX_ALERTS = 1_000
MAX_ITEMS = 10_000
"""Skipped items of one event, and suggested filters."""
MAX_KEPT_CHARS = 4 << 20
"""Characters of all alerts of a stream, of the skipped items of one event, and of the filters."""
_MAX_LABEL_CHARS = 2_000
_MAX_TEXT_CHARS = 20_000
_MAX_PROPOSED = 20

_Item = TypeVar("_Item")


class ItemLimits:
    """Cuts the items of one stream to their bounds, and counts those that it drops."""

    def __init__(self) -> None:
        self._alerts = self._alert_chars = 0
        self._has_error = False
        self._dropped_alerts = self._dropped_filters = 0

    def cut_alert(self, event: Alert | ErrorEvent) -> Alert | ErrorEvent | None:
        """Return an alert or error with texts of bounded length, or None for one more than are kept.

        The first error is always kept, so that a flood of alerts can't hide a failed search.
        """
        short = _short_error(event) if isinstance(event, ErrorEvent) else _short_alert(event)
        is_error = isinstance(short, ErrorEvent) or short.kind == "error"
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
        filters = tuple(_within((item, _chars_of(item)) for item in map(_short_filter, event.filters[:MAX_ITEMS])))
        self._dropped_filters = len(event.filters) - len(filters)
        return Filters(filters)

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
    skipped = tuple(_within((item, _chars_of(item)) for item in map(_short_skipped, event.skipped[:MAX_ITEMS])))
    if dropped := len(event.skipped) - len(skipped):
        title = f"{count_of(dropped, 'more item')} of skipped work not kept"
        skipped = (*skipped, Skipped("skipped-not-kept", title, severity="warn"))
    return replace(event, skipped=skipped, trace=event.trace[:_MAX_LABEL_CHARS])


def _within(items: Iterable[tuple[_Item, int]]) -> Iterator[_Item]:
    """Yield items, each given with its characters, as long as all of them are within the bound."""
    chars = 0
    for item, size in items:
        chars += size
        if chars > MAX_KEPT_CHARS:
            return
        yield item


def _short_error(event: ErrorEvent) -> ErrorEvent:
    return ErrorEvent(_short(event.message, _MAX_TEXT_CHARS) or "the service gives no reason")


def _short_alert(event: Alert) -> Alert:
    proposed = tuple(
        ProposedQuery(
            _short(item.query),
            _short(item.description),
            tuple((_short(name), _short(value)) for name, value in item.annotations[:_MAX_PROPOSED]),
        )
        for item in event.proposed_queries[:_MAX_PROPOSED]
    )
    return Alert(_short(event.title), _short(event.description, _MAX_TEXT_CHARS), _short(event.kind), proposed)


def _short_filter(item: SuggestedFilter) -> SuggestedFilter:
    return replace(item, value=_short(item.value), label=_short(item.label), kind=_short(item.kind))


def _short_skipped(item: Skipped) -> Skipped:
    suggested = item.suggested and replace(
        item.suggested, title=_short(item.suggested.title), query_expression=_short(item.suggested.query_expression)
    )
    message = _short(item.message, _MAX_TEXT_CHARS)
    return Skipped(_short(item.reason), _short(item.title), message, _short(item.severity), suggested)


def _short(text: str, limit: int = _MAX_LABEL_CHARS) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}\u2026"


def _chars_of(item: Alert | ErrorEvent | SuggestedFilter | Skipped) -> int:
    """Return about how many characters an item keeps; an empty one isn't free."""
    return 16 + len(repr(item))
