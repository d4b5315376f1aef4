"""Spans of time in a question, as bounds of committer dates in UTC.

A phrase such as "since May 2023" has a preposition and a date. The date covers a span (a day, a month, a quarter, a
year), and the preposition says which of its two ends bounds the period.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from sourcelight.core.query.dates import parse_date
from sourcelight.engines.deepsearch.question.marks import MarkedText

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "six": 6, "twelve": 12}
_DAYS_OF_UNIT = {"day": 1, "week": 7}
_MONTHS_OF_UNIT = {"month": 1, "year": 12}

# Names of months by length: "sep" would take the beginning of "september".
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_YEAR = r"(?:19|20)\d\d"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"

# Forms of a date. They have no groups, since the patterns of phrases below count their own.
_DATE_FORMS = (
    # 2023-05-31, 2023-05-31T12:30Z
    rf"{_YEAR}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?",
    # 2023-05, 2023/5
    rf"{_YEAR}[-/.]\d\d?(?![\d.-])",
    # May 31st, 2023
    rf"{_MONTH}\s+{_NTH},?\s+{_YEAR}",
    # 31 of May 2023
    rf"{_NTH}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}",
    # May of 2023
    rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}",
    # Q2 2023
    rf"q[1-4]\s+(?:of\s+)?{_YEAR}",
    # the year 2023
    rf"(?:the\s+year\s+)?{_YEAR}(?![\d.-])",
    "yesterday",
    "today",
    # three weeks ago
    r"(?:\d+|an?|one|two|three|six)\s+(?:day|week|month|year)s?\s+ago",
)
_DATE = "(?:" + "|".join(_DATE_FORMS) + ")"

# between May 2022 and June 2023
_BETWEEN = re.compile(rf"\b(?:between|from)\s+({_DATE})\s+(?:and|to|until|through|till)\s+({_DATE})", re.IGNORECASE)
# since the start of 2023; from May 2023 onwards
_SINCE = re.compile(
    r"\b(?:since|from|starting(?: in| from)?)\s+(?:the\s+(?:start|beginning)\s+of\s+)?"
    rf"({_DATE})(?:\s+on(?:wards?)?\b)?",
    re.IGNORECASE,
)
# after the end of 2023
_AFTER = re.compile(rf"\bafter\s+(?:the\s+end\s+of\s+)?({_DATE})", re.IGNORECASE)
# prior to 2023-05-31
_BEFORE = re.compile(rf"\b(?:before|prior to|earlier than)\s+({_DATE})", re.IGNORECASE)
# by the end of 2023
_UNTIL = re.compile(rf"\b(?:until|till|up to|by the end of|through)\s+(?:the\s+end\s+of\s+)?({_DATE})", re.IGNORECASE)
# in Q2 2023
_IN = re.compile(rf"\b(?:in|during|on|of|for|within)\s+({_DATE})", re.IGNORECASE)
# in the last three months; during the past week
_RECENT = re.compile(
    r"\b(?:in|during|over|within|for)\s+the\s+(?:last|past|previous)\s+"
    r"(?:(\d+|two|three|six|twelve)\s+)?(day|week|month|year)s?\b",
    re.IGNORECASE,
)
# this week; since last year
_CALENDAR_UNIT = re.compile(r"\b(?:(in|during|since|before|after)\s+)?(this|last)\s+(week|month|year)\b", re.IGNORECASE)

# Longer forms first: "from 2021 to 2023" also has the form of "from 2021", which would leave "to 2023" behind.
_PHRASES = (_BETWEEN, _RECENT, _CALENDAR_UNIT, _SINCE, _AFTER, _BEFORE, _UNTIL, _IN)
_COUNTED_FROM_TODAY = re.compile(r"today|yesterday|\b(?:ago|last|past|previous|this)\b", re.IGNORECASE)


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
        if self.start is None:
            if self.end is None:
                return ""
            return f"before {_format_date(self.end)}"

        if self.end is None:
            return f"since {_format_date(self.start)}"

        last_day = self.end - timedelta(days=1)
        has_whole_days = self.start.time() == self.end.time() == time()
        if has_whole_days and self.start <= last_day:
            return f"from {_format_date(self.start)} to {_format_date(last_day)}"

        return f"from {_format_date(self.start)} and before {_format_date(self.end)}"

    @property
    def after(self) -> str:
        """The exclusive bound that `commit_search` takes; empty for none."""
        if self.start is None:
            return ""

        # git stores whole seconds, so one second before the start excludes nothing else.
        return _format_instant(self.start - timedelta(seconds=1))

    @property
    def before(self) -> str:
        """The exclusive upper bound that `commit_search` takes; empty for none."""
        if self.end is None:
            return ""

        return _format_instant(self.end)

    def intersect(self, second: Period) -> Period:
        """Return the part that both spans share."""
        start, end = self.start, self.end
        if start is None or (second.start is not None and second.start > start):
            start = second.start

        if end is None or (second.end is not None and second.end < end):
            end = second.end

        return Period(start, end, self.is_relative or second.is_relative)


def take_period(marked_text: MarkedText, now: datetime) -> Period:
    """Remove all spans of time from a question, and return what they have in common."""
    period = Period()
    for phrase in _PHRASES:
        match = phrase.search(marked_text.text)
        while match is not None:
            try:
                span = _read_phrase(match, now)
            except (ValueError, OverflowError):
                # "In 32 May" isn't a date: the words stay in the question, and the answer names them as ignored.
                break

            is_relative = _COUNTED_FROM_TODAY.search(match[0]) is not None
            period = period.intersect(replace(span, is_relative=is_relative))
            marked_text.remove(phrase)
            match = phrase.search(marked_text.text)

    return period


def _read_phrase(match: re.Match[str], now: datetime) -> Period:  # noqa: PLR0911 - one for each phrase
    """Return the period of a match of one of `_PHRASES`; raises ValueError or OverflowError for no date."""
    phrase = match.re
    if phrase is _RECENT:
        return Period(start=_count_back(match[1] or "1", match[2], now))

    if phrase is _CALENDAR_UNIT:
        span = _calendar_span(match[2], match[3], now)
        return _relate(match[1] or "in", span)

    span = _span_of_date(match[1], now)
    if phrase is _BETWEEN:
        return Period(span.start, _span_of_date(match[2], now).end)

    if phrase is _SINCE:
        return _relate("since", span)

    if phrase is _AFTER:
        return _relate("after", span)

    if phrase is _BEFORE:
        return _relate("before", span)

    if phrase is _UNTIL:
        return Period(end=span.end)

    return span


def _relate(preposition: str, span: Period) -> Period:
    """Return the period that a preposition makes of a span: "since last year" is still going on."""
    match preposition.lower():
        case "since":
            return Period(start=span.start)
        case "before":
            return Period(end=span.start)
        case "after":
            return Period(start=span.end)
        case _:
            return span


def _span_of_date(text: str, now: datetime) -> Period:
    """Return the day, month, quarter or year that a text names; raises ValueError.

    An instant such as 2023-05-31T12:30 is a span without length, so that "since" and "before" it have its second.
    """
    text = " ".join(text.lower().replace(",", " ").split()).removeprefix("the year ")
    match = re.fullmatch(_YEAR, text)
    if match is not None:
        return _months_from(datetime(int(match[0]), 1, 1, tzinfo=UTC), 12)

    match = re.fullmatch(rf"q([1-4]) (?:of )?({_YEAR})", text)
    if match is not None:
        first_month = 3 * int(match[1]) - 2
        return _months_from(datetime(int(match[2]), first_month, 1, tzinfo=UTC), 3)

    match = re.fullmatch(rf"({_YEAR})[-/.](\d\d?)", text)
    if match is not None:
        return _months_from(datetime(int(match[1]), int(match[2]), 1, tzinfo=UTC), 1)

    match = re.fullmatch(rf"({_MONTH}) (?:of )?({_YEAR})", text)
    if match is not None:
        month = _MONTHS[match[1].rstrip(".")]
        return _months_from(datetime(int(match[2]), month, 1, tzinfo=UTC), 1)

    match = re.fullmatch(rf"({_YEAR}-\d\d-\d\dt\d\d:\d\d(?::\d\d)?)z?", text)
    if match is not None:
        instant = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
        return Period(instant, instant)

    return _day_of_date(text, now)


def _day_of_date(text: str, now: datetime) -> Period:
    """Return the day that a text names, such as "3 weeks ago" or "31 may 2023"; raises ValueError."""
    if text == "today":
        day = _midnight(now)
    else:
        words = text.split()
        if words[0] in _NUMBERS:
            words[0] = str(_NUMBERS[words[0]])
            text = " ".join(words)

        day = parse_date(text.replace(" of ", " ").replace(".", ""), now)

    return Period(day, day + timedelta(days=1))


def _count_back(number: str, unit: str, now: datetime) -> datetime:
    """Return the start of the day that is so many days, weeks, months or years before today."""
    number, unit = number.lower(), unit.lower()
    count = _NUMBERS[number] if number in _NUMBERS else int(number)
    if unit in _DAYS_OF_UNIT:
        return _midnight(now) - timedelta(days=count * _DAYS_OF_UNIT[unit])

    return _add_months(_midnight(now), -count * _MONTHS_OF_UNIT[unit])


def _calendar_span(which: str, unit: str, now: datetime) -> Period:
    """Return this or the last calendar week (from Monday), month or year."""
    today, unit = _midnight(now), unit.lower()
    is_last = which.lower() == "last"
    if unit == "week":
        start = today - timedelta(days=today.weekday())
        if is_last:
            start -= timedelta(days=7)
        return Period(start, start + timedelta(days=7))

    start = today.replace(day=1)
    if unit == "year":
        start = start.replace(month=1)

    length = _MONTHS_OF_UNIT[unit]
    if is_last:
        start = _add_months(start, -length)
    return _months_from(start, length)


def _months_from(start: datetime, count: int) -> Period:
    """Return the span of so many months that begins at a moment."""
    return Period(start, _add_months(start, count))


def _add_months(moment: datetime, count: int) -> datetime:
    """Return the same day of the month so many months later, or earlier if `count` is negative."""
    year, month_index = divmod(moment.year * 12 + moment.month - 1 + count, 12)
    month = month_index + 1

    # A month before 31 March is the last day of February.
    day = min(moment.day, calendar.monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)


def _midnight(moment: datetime) -> datetime:
    """Return the start of a day: days, weeks, months and years are counted in whole days."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _format_instant(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_date(moment: datetime) -> str:
    """Return a day, and the time of the day if it is not midnight."""
    if moment.hour == moment.minute == moment.second == 0:
        return moment.strftime("%Y-%m-%d")

    return moment.strftime("%Y-%m-%d %H:%M")
