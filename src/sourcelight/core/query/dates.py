"""Dates of queries and tools: one grammar, always an instant in UTC. Durations of queries: in seconds.

The forms of absolute dates are tried in one order, and each must be the whole text; only a month by its name may stand
within other words. What is left is read as a day, such as ``last monday`` or ``3 weeks ago``, as a clock time, or as a
day and a clock time after it. What is ambiguous has one fixed reading: UTC without a zone, the month first between
slashes, the day first between dots, and for a name the latest such day or month that is over.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

ACCEPTED = (
    "accepted: 2024-06-28, 2024-06-28T15:00:00Z, 2024.06.28, 6/28/2024, 28.6.2024, june 28 2024, 28 june 2024, "
    "seconds since 1970, today, yesterday, 5 days ago, last thursday, last month, 3pm"
)
_MAX_CHARS = 200
"""Characters of a date; no form of a date has as many."""

_YEAR_OR_MONTH = re.compile(r"(?:19|20)\d\d(-\d\d)?", re.ASCII)
"""``2026`` or ``2026-03``."""

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_WEEKDAYS |= {name.lower(): number for number, name in enumerate(calendar.day_abbr)} | {
    "tues": 1,
    "wednes": 2,
    "thurs": 3,
}
_NUMBERS = {"a": 1, "an": 1} | {
    name: number
    for number, name in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)
}
_SECONDS_OF_UNIT = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
# Go's syntax for durations, which the reference has; both characters for micro are in use.
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))+)\Z", re.ASCII)
_DURATION_PART = re.compile(r"(\d++(?:\.\d*+)?|\.\d++)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
"""A part of a duration: ``1.5h``."""

# The nanoseconds of a duration are an int64 in Go.
_MAX_DURATION_S = 2**63 / 1e9
_UNITS = "minute|hour|day|week|month|year"
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"

_EPOCH = re.compile(r"(\d{5,})(?: ([+-])(\d\d)(\d\d))?")
"""Seconds since 1970, as git writes them: ``1767225600 +0100``."""

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?)? ?([Zz]|([+-])(\d\d):?(\d\d))?", re.ASCII
)
"""``2026-03-02``, ``2026-03-02T09:05:40Z`` or ``2026-03-02 09:05:40 +01:00``."""

_MAIL = re.compile(
    rf"[a-z]{{3}}, (\d{{1,2}}) ({_MONTH}) (\d{{4}}) (\d\d):(\d\d):(\d\d) (?:([+-])(\d\d)(\d\d)|gmt|utc)", re.IGNORECASE
)
"""The form of e-mail: ``Mon, 2 Mar 2026 09:05:40 +0100``."""

_DOTTED = re.compile(r"(\d{4})\.(\d\d)\.(\d\d)", re.ASCII)
"""``2026.03.02``."""

_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
"""``3/2/2026``, the month first."""

_GERMAN = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)
"""``2.3.2026``, the day first."""

_MONTH_FIRST = re.compile(rf"\b({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE | re.ASCII)
"""``March 2nd, 2026``."""

_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+({_MONTH}),?\s+(\d{{4}})\b", re.IGNORECASE | re.ASCII)
"""``2 March 2026``."""

_AGO = re.compile(rf"(\d{{1,6}}|{'|'.join(_NUMBERS)})\s+({_UNITS})s?\s+ago", re.ASCII)
"""``3 weeks ago`` or ``a year ago``."""

_LAST = re.compile(r"(?:(?:last|past|previous)\s+)?([a-z]+)", re.ASCII)
"""``last monday``, ``yesterday``."""

_CLOCK = re.compile(r"(?:at\s+)?(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*(am|pm)?", re.ASCII)
"""``at 9:05 pm``."""


def date_advice(text: str) -> str:
    """Return the accepted forms of a date, for a text in none of them; for a year or a month, its first day too.

    Examples
    --------
    >>> date_advice("2020").partition(";")[0], date_advice("2020-05").partition(";")[0]
    ('write 2020-01-01 for the start of 2020', 'write 2020-05-01 for the start of 2020-05')
    """
    period = text.strip()
    match = _YEAR_OR_MONTH.fullmatch(period)
    if match is None:
        return ACCEPTED
    return f"write {period}{'-01' if match[1] else '-01-01'} for the start of {period}; {ACCEPTED}"


def current_time() -> datetime:
    """Return the time that relative dates count from."""
    return datetime.now(tz=UTC)


def parse_date(text: str, now: datetime) -> datetime:
    """Return the instant that `text` names, in UTC.

    Forms without a zone are in UTC. A weekday means the latest one before today, a month the first day of the latest
    one that is over. Days, weeks, months and years ago are cut to midnight; minutes and hours keep the clock.

    Parameters
    ----------
    text
        A date in one of the forms of `ACCEPTED`.
    now
        The present with its zone; relative dates count back from it.

    Raises
    ------
    ValueError
        The text isn't a date, or is the present; the message names the accepted forms.
    """
    now = now.astimezone(UTC)
    stripped = text.strip()
    try:
        moment = None if len(stripped) > _MAX_CHARS else _absolute(stripped) or _relative(stripped.lower(), now)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"invalid date format: {text[:_MAX_CHARS]!r}; {date_advice(text)}") from error

    # A text that adds nothing to the present is taken for a mistake, as in "0 days ago".
    if moment is None or moment == now:
        raise ValueError(f"invalid date format: {text[:_MAX_CHARS]!r}; {date_advice(text)}")

    return moment.astimezone(UTC)


def _absolute(text: str) -> datetime | None:
    for pattern, read in _FORMS:
        match = pattern.fullmatch(text)
        if match is not None:
            return read(match)

    match = _MONTH_FIRST.search(text)
    if match is not None:
        return datetime(int(match[3]), _MONTHS[match[1].lower()], int(match[2]), tzinfo=UTC)

    match = _DAY_FIRST.search(text)
    if match is not None:
        return datetime(int(match[3]), _MONTHS[match[2].lower()], int(match[1]), tzinfo=UTC)

    return None


def _epoch(match: re.Match[str]) -> datetime:
    return datetime.fromtimestamp(int(match[1]), UTC).replace(tzinfo=_zone(match[2], match[3], match[4]))


def _zone(sign: str | None, hours: str | None, minutes: str | None) -> timezone:
    if sign is None or hours is None or minutes is None:
        return UTC
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


def _iso(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    return datetime(year, month, day, hour, minute, second, tzinfo=_zone(match[8], match[9], match[10]))


def _mail(match: re.Match[str]) -> datetime:
    day, month, year = int(match[1]), _MONTHS[match[2].lower()], int(match[3])
    zone = _zone(match[7], match[8], match[9])
    return datetime(year, month, day, int(match[4]), int(match[5]), int(match[6]), tzinfo=zone)


def _day(order: str) -> Callable[[re.Match[str]], datetime]:
    year, month, day = (order.index(part) + 1 for part in "ymd")
    return lambda match: datetime(int(match[year]), int(match[month]), int(match[day]), tzinfo=UTC)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], datetime]], ...] = (
    (_EPOCH, _epoch),
    (_ISO, _iso),
    (_MAIL, _mail),
    (_DOTTED, _day("ymd")),
    (_SLASHED, _day("mdy")),
    (_GERMAN, _day("dmy")),
)
"""Absolute forms of a date, in the order in which they are tried."""


def _relative(text: str, now: datetime) -> datetime | None:
    day, remaining = _relative_day(text, now)
    if day is None:
        clock = _CLOCK.fullmatch(text)
        if clock is None:
            return None
        moment = _time_of_day(now, clock)
        # A clock time means its latest occurrence in the past, as in git's date formats.
        return moment if moment is None or moment <= now else moment - timedelta(days=1)

    if not remaining:
        return day

    clock = _CLOCK.fullmatch(remaining)
    return None if clock is None else _time_of_day(day, clock)


def _relative_day(text: str, now: datetime) -> tuple[datetime | None, str]:
    """Return the day (or moment) that `text` begins with, and what follows it."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match = _AGO.match(text)
    if match is not None:
        return _back(now, _NUMBERS.get(match[1]) or int(match[1]), match[2]), text[match.end() :].strip()

    match = _LAST.match(text)
    if match is None:
        return None, text

    return _day_of(match[1], now, today, prefixed=match.group() != match[1]), text[match.end() :].strip()


def _day_of(word: str, now: datetime, today: datetime, *, prefixed: bool) -> datetime | None:
    """Return the day of one word; `prefixed` if ``last`` or a similar word precedes it, as units need."""
    back = {"today": 0, "yesterday": 1}.get(word)
    if word in _WEEKDAYS:
        # `or 7`: on a Monday, "monday" is the one a week ago.
        back = (today.weekday() - _WEEKDAYS[word]) % 7 or 7

    if back is not None:
        return today - timedelta(days=back)

    if word in _MONTHS:
        # The latest such month that is over.
        year = today.year - (_MONTHS[word] >= today.month)
        return today.replace(year=year, month=_MONTHS[word], day=1)

    return _back(now, 1, word) if prefixed and word in _UNITS.split("|") else None


def _back(now: datetime, number: int, unit: str) -> datetime:
    if unit in {"minute", "hour"}:
        return now - timedelta(**{f"{unit}s": number})

    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in {"day", "week"}:
        return today - timedelta(**{f"{unit}s": number})

    # Counted in months from year 0, so that crossing a year needs no special case; `min` then avoids 31 February.
    months = today.year * 12 + today.month - 1 - number * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    last = calendar.monthrange(year, month + 1)[1] if year > 0 else 1
    return today.replace(year=year, month=month + 1, day=min(today.day, last))


def _time_of_day(day: datetime, clock: re.Match[str]) -> datetime | None:
    hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
    if clock[4] is None and clock[2] is None:
        return None

    if clock[4] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if clock[4] == "pm" else 0)

    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)


def duration_s(value: str) -> float | None:
    """Return the seconds of a duration such as ``1m30s``, or None if it isn't one. A unit is required."""
    if _DURATION.match(value) is None:
        return None
    seconds = sum(float(number) * _SECONDS_OF_UNIT[unit] for number, unit in _DURATION_PART.findall(value))
    if seconds >= _MAX_DURATION_S:
        return None
    return -seconds if value.startswith("-") else seconds
