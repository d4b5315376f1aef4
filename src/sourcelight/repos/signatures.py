"""Who wrote a commit and when, read as git reads it, however broken the line in the commit is.

Source of the rules: git's `ident.c` (what counts as a date), `date.c` (what an offset means) and `pretty.c` (what is
shown where a line can't be read), checked against the command in the tests.
"""

from __future__ import annotations

import re

LAST_SECOND = 253_402_300_799
"""The last second of the year 9999. Dates of later years are taken for it: neither Python nor pandas can hold them."""

_DATE = re.compile(rb"(\d+) ([+-]\d+)")
_MOST_OFFSET = (1 << 31) - 1
_MOST_DIGITS = 20


def parse_instant(date: bytes) -> tuple[int, int]:
    """Read what git gives for ``%ad`` with ``--date=raw``: seconds since 1970 and minutes east of UTC.

    Where git finds no date it gives none, or 0, and shows the commit as one of 1970; so does this.
    """
    found = _DATE.fullmatch(date)
    return (parse_seconds(found[1]), parse_offset(found[2])) if found is not None else (0, 0)


def parse_seconds(digits: bytes) -> int:
    """Read seconds since 1970; 0 for what is no number, `LAST_SECOND` for anything later."""
    if not digits.isdigit():
        return 0
    return LAST_SECOND if len(digits) > _MOST_DIGITS else min(int(digits), LAST_SECOND)


def parse_offset(text: bytes) -> int:
    """Read a time zone such as ``-0730`` as minutes east of UTC: hours are all digits but the last two.

    So ``+051800`` is 518 hours, as for git; 0 for what is no number, or too big for git.
    """
    digits = text[1:]
    if text[:1] not in {b"+", b"-"} or not digits.isdigit() or len(digits) > _MOST_DIGITS:
        return 0
    number = int(digits)
    if number >= _MOST_OFFSET:
        return 0
    hours, minutes = divmod(number, 100)
    return (hours * 60 + minutes) * (-1 if text[:1] == b"-" else 1)


def split_identity(text: bytes) -> tuple[bytes, bytes]:
    """Part ``Name <address>`` into its two: git's names hold no ``<``, its addresses may."""
    name, bracket, email = text.partition(b"<")
    return name.rstrip(b" "), email.removesuffix(b">") if bracket else b""


def as_text(raw: bytes) -> str:
    """Bytes of git as text, invalid UTF-8 as U+FFFD.

    Git has changed them to UTF-8 where the commit names its encoding and the bytes fit it, and passes on all else.
    """
    return raw.decode("utf-8", "replace")
