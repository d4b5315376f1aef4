"""Spans of time in a question, as bounds of committer dates in UTC."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from sourcelight.core.query.dates import parse_date
from sourcelight.engines.deepsearch.question.marks import MarkedText

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_YEAR = r"(?:19|20)\d\d"
_DATE = (
    rf"(?:{_YEAR}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?|{_YEAR}[-/.]\d\d?(?![\d.-])|{_MONTH}\s+\d{{1,2}}(?:st"
    rf"|nd|rd|th)?,?\s+{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}|{_MONTH},?\s+(?:of\s+)?{_YEAR}"
    rf"|q[1-4]\s+(?:of\s+)?{_YEAR}"
    rf"|(?:the\s+year\s+)?{_YEAR}(?![\d.-])|yesterday|today|(?:\d+|an?|one|two|three|six)\s+(?:day|week"
    rf"|month|year)s?\s+ago)"
)
_BETWEEN = re.compile(rf"\b(?:between|from)\s+({_DATE})\s+(?:and|to|until|through|till)\s+({_DATE})", re.IGNORECASE)
_SINCE = re.compile(
    rf"\b(?:since|from|starting(?: in| from)?)\s+(?:the\s+(?:start"
    rf"|beginning)\s+of\s+)?({_DATE})(?:\s+on(?:wards?)?\b)?",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"\bafter\s+(?:the\s+end\s+of\s+)?({_DATE})", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|prior to|earlier than)\s+({_DATE})", re.IGNORECASE)
_UNTIL = re.compile(rf"\b(?:until|till|up to|by the end of|through)\s+(?:the\s+end\s+of\s+)?({_DATE})", re.IGNORECASE)
_IN = re.compile(rf"\b(?:in|during|on|of|for|within)\s+({_DATE})", re.IGNORECASE)
_RECENT = re.compile(
    r"\b(?:in|during|over|within|for)\s+the\s+(?:last|past|previous)\s+(?:(\d+|two|three|six"
    r"|twelve)\s+)?(day|week|month|year)s?\b",
    re.IGNORECASE,
)
_THIS = re.compile(r"\b(?:(in|during|since|before|after)\s+)?(this|last)\s+(week|month|year)\b", re.IGNORECASE)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "six": 6, "twelve": 12}
_DAYS = {"day": 1, "week": 7}


@dataclass(frozen=True, slots=True)
class Period:
    """A span of committer dates: from `start` on, and before `end`; None: open.

    If `is_relative`, it was counted from today, so that the same words mean another span tomorrow.
    """

    start: datetime | None = None
    end: datetime | None = None
    is_relative: bool = False

    @property
    def text(self) -> str:
        """The span in words."""
        if self.start is None or self.end is None:
            start = f"since {_format_date(self.start)}" if self.start is not None else ""
            return start or (f"before {_format_date(self.end)}" if self.end is not None else "")
        last_day = self.end - timedelta(days=1)
        if self.start <= last_day and self.end.time() == self.start.time() == time():
            return f"from {_format_date(self.start)} to {_format_date(last_day)}"
        return f"from {_format_date(self.start)} and before {_format_date(self.end)}"

    @property
    def after(self) -> str:
        """The exclusive bound that `commit_search` takes; empty for none."""
        # git stores whole seconds, so one second before the start excludes nothing else.
        return "" if self.start is None else _instant(self.start - timedelta(seconds=1))

    @property
    def before(self) -> str:
        """As `after`."""
        return "" if self.end is None else _instant(self.end)

    def intersect(self, second: Period) -> Period:
        """Return the part that both spans share."""
        starts = [period.start for period in (self, second) if period.start is not None]
        end_dates = [period.end for period in (self, second) if period.end is not None]
        return Period(max(starts, default=None), min(end_dates, default=None), self.is_relative or second.is_relative)


def take_period(marked_text: MarkedText, now: datetime) -> Period:
    """Take all spans of time out of a question."""
    # Longer forms first: "between May and June" also has the form of "in May", which would leave "June" behind.
    period = Period()
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Period]], ...] = (
        (_BETWEEN, lambda match: Period(_span(match[1], now)[0], _span(match[2], now)[1])),
        (_RECENT, lambda match: Period(_ago(match[1], match[2], now), None)),
        (_THIS, lambda match: _relate(match[1], _this(match[2], match[3], now))),
        (_SINCE, lambda match: Period(_span(match[1], now)[0], None)),
        (_AFTER, lambda match: Period(_span(match[1], now)[1], None)),
        (_BEFORE, lambda match: Period(None, _span(match[1], now)[0])),
        (_UNTIL, lambda match: Period(None, _span(match[1], now)[1])),
        (_IN, lambda match: Period(*_span(match[1], now))),
    )
    for pattern, reader in readers:
        while (match := pattern.search(marked_text.text)) is not None:
            try:
                span = reader(match)
                moves = pattern in {_RECENT, _THIS} or re.search(r"today|yesterday|\bago\b", match[0], re.IGNORECASE)
                period = period.intersect(replace(span, is_relative=bool(moves)))
            except (ValueError, OverflowError):
                # "In 32 May" isn't a date: the words stay in the question, and the answer names them as ignored.
                break
            marked_text.remove(pattern)

    return period


def _span(text: str, now: datetime) -> tuple[datetime, datetime]:  # noqa: PLR0911 - one for each form of date
    """Return the first instant of a date and the one after it; raises ValueError."""
    text = " ".join(text.lower().replace(",", " ").split()).removeprefix("the year ")
    if match := re.fullmatch(_YEAR, text):
        return _months(int(match[0]), 1, 12)
    if match := re.fullmatch(rf"q([1-4]) (?:of )?({_YEAR})", text):
        return _months(int(match[2]), 3 * int(match[1]) - 2, 3)
    if match := re.fullmatch(rf"({_YEAR})[-/.](\d\d?)", text):
        return _months(int(match[1]), int(match[2]), 1)
    if match := re.fullmatch(rf"({_MONTH}) (?:of )?({_YEAR})", text):
        return _months(int(match[2]), _MONTHS[match[1].rstrip(".")], 1)
    if match := re.fullmatch(rf"({_YEAR}-\d\d-\d\dt\d\d:\d\d)(:\d\d)?z?", text):
        start = datetime.fromisoformat(match[1] + (match[2] or ":00")).replace(tzinfo=UTC)
        return start, start
    if text == "today":
        start = _midnight(now)
        return start, start + timedelta(days=1)

    parts = text.split()
    if parts[0] in _NUMBERS:
        text = " ".join([str(_NUMBERS[parts[0]]), *parts[1:]])

    start = parse_date(text.replace(" of ", " ").replace(".", ""), now)
    return start, start + timedelta(days=1)


def _months(year: int, month: int, count: int) -> tuple[datetime, datetime]:
    last = month - 1 + count
    return datetime(year, month, 1, tzinfo=UTC), datetime(year + last // 12, last % 12 + 1, 1, tzinfo=UTC)


def _ago(number: str | None, unit: str, now: datetime) -> datetime:
    count = 1 if number is None else _NUMBERS.get(number.lower()) or int(number)
    unit = unit.lower()
    if unit in _DAYS:
        return _midnight(now) - timedelta(days=count * _DAYS[unit])

    months = now.year * 12 + now.month - 1 - count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)

    # A month before 31 March is the last day of February.
    day = min(now.day, calendar.monthrange(year, month + 1)[1])
    return _midnight(now).replace(year=year, month=month + 1, day=day)


def _midnight(moment: datetime) -> datetime:
    """Return the start of a day: days, weeks, months and years are counted in whole days."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _this(which: str, unit: str, now: datetime) -> Period:
    """Calendar weeks (from Monday), months and years."""
    midnight = _midnight(now)
    last, unit = which.lower() == "last", unit.lower()
    if unit == "week":
        start = midnight - timedelta(days=now.weekday() + 7 * last)
        return Period(start, start + timedelta(days=7))
    if unit == "year":
        return Period(*_months(now.year - last, 1, 12))

    months = now.year * 12 + now.month - 1 - last
    return Period(*_months(months // 12, months % 12 + 1, 1))


def _relate(preposition: str | None, span: Period) -> Period:
    """Return the period that a preposition makes of a span: "since last year" is still going on."""
    match (preposition or "in").lower():
        case "since":
            return Period(span.start, None)
        case "before":
            return Period(None, span.start)
        case "after":
            return Period(span.end, None)
        case _:
            return span


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_date(moment: datetime) -> str:
    midnight = moment.hour == moment.minute == moment.second == 0
    return moment.strftime("%Y-%m-%d") if midnight else moment.strftime("%Y-%m-%d %H:%M")
