"""Words of code and of questions: identifiers, the parts they are made of, stems, and joined forms.

``getEnvironProxies`` and ``get_environ_proxies`` give the same terms: the stems of their parts, and one joined form
(``=getenvironproxies``) that stands for the name as a whole.

Cutting a file into chunks: some lines each, from the start of one definition to the start of another.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

RULES = 1
"""Raised by one whenever a text would give other terms than before."""

TOKEN = re.compile(rb"[0-9A-Za-z_\x80-\xff]{2,}")
"""What is taken from a text. One-letter names say nothing to a reader."""

LONGEST_TOKEN = 64
"""Bytes above which a token is no name: encoded data."""

MOST_DIGITS = 6
"""Digits above which a number is no word: checksums, times, identifiers of machines."""

_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+[uUlL]*|[0-9a-fA-F_]+[uUlL]*")
_OTHER = re.compile(r"[^\W_]+")

_FUNCTION_WORDS = """
a about above after all also am an and any anyone are as at be because been before being below between both but by
can cannot could did do does doing done down during each either etc ever every for from further had has have having
he her here hers him his how however i if in into is isn it its itself just let like many may me might more most
much must my neither no nor not now of off on once one only onto or other our out over own per please rather same
shall she should since so some someone something such than that the their them then there these they this those
through thus to too under until up upon us using very via was we were what when where whether which while who whom
whose why will with within without would yet you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that say how a sentence is built; neither indexed nor looked for."""


class _Stems(threading.local):
    """A stemmer, which no two threads may share, and what it said."""

    def __init__(self) -> None:
        import Stemmer

        self.stemmer: Any = Stemmer.Stemmer("english", 0)
        self.known: dict[str, str] = {}

    def of(self, word: str) -> str:
        """Give the stem of a word in lower case."""
        known = self.known
        found = known.get(word)
        if found is None:
            if len(known) > _MOST_KNOWN:
                known.clear()
            found = known[word] = self.stemmer.stemWord(word)
        return found


_MOST_KNOWN = 200_000
_stems = _Stems()


def stem(word: str) -> str:
    """Give the English stem (Snowball) of a word in lower case."""
    return _stems.of(word)


def parts_of(name: str) -> list[str]:
    """Cut a name at changes of case, digits and signs, in lower case."""
    if name.isascii():
        return [part.lower() for part in _PART.findall(name)]
    return [part.casefold() for part in _OTHER.findall(name)]


def joined(parts: Iterable[str]) -> str:
    """Give the form that stands for a whole name."""
    return "=" + "".join(parts)


def terms_of(name: str) -> tuple[str, ...]:
    """Give the terms of a name: stems of its parts, and its joined form when it has more than one part.

    Function words and single letters give none by themselves. A number that is no word gives nothing.
    """
    if name[0] in "0123456789" and _NUMBER.fullmatch(name) and (len(name) > MOST_DIGITS or name[:2] in {"0x", "0X"}):
        return ()
    parts = parts_of(name)
    terms = [stem(part) for part in parts if len(part) > 1 and part not in FUNCTION_WORDS]
    if len(parts) > 1:
        terms.append(joined(parts))
    return tuple(terms)


LEAST_LINES = 8
MOST_LINES = 64
_LOOK_BACK = 16
_MOST_COMMENT = 30

_LEADS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"@", b"%%")
"""How lines begin that stand above a definition and belong to it: comments, decorators, attributes."""

_NOT_LEADS = (b"#include", b"#endif", b"#if", b"#else", b"#define", b"#undef", b"#pragma", b"#!")
_HEADING = re.compile(rb"#{1,6} |={1,6} |[^\s`|>*-].{0,100}$")
_UNDERLINE = re.compile(rb"([=~^*\"'#+`-])\1{3,}\s*$")


def cut(lines: Sequence[bytes], begins: Sequence[int], *, prose: bool = False) -> list[tuple[int, int]]:
    """Cut a file.

    Parameters
    ----------
    lines
        The lines of the file.
    begins
        Lines, from 0, at which definitions begin.
    prose
        Whether the file is a text with headings, which are cut at in place of definitions.

    Returns
    -------
    list of (int, int)
        First line and the one after the last, from 0; together all lines, at most `MOST_LINES` each.
    """
    count = len(lines)
    if count and not lines[-1]:
        count -= 1
    if not count:
        return []
    starts = _headings(lines, count) if prose else sorted({with_lead(lines, begin) for begin in begins})
    bounds = [0]
    for start in starts:
        if start - bounds[-1] >= LEAST_LINES and start < count:
            bounds.append(start)
    if len(bounds) > 1 and count - bounds[-1] < LEAST_LINES // 2:
        bounds.pop()
    bounds.append(count)
    found: list[tuple[int, int]] = []
    for low, high in pairwise(bounds):
        found += _halved(lines, low, high)
    return found


def _halved(lines: Sequence[bytes], low: int, high: int) -> list[tuple[int, int]]:
    """Cut what is too long, at an empty line where there is one."""
    found = []
    while high - low > MOST_LINES:
        middle = low + MOST_LINES
        for place in range(middle, middle - _LOOK_BACK, -1):
            if not lines[place].strip():
                middle = place
                break
        found.append((low, middle))
        low = middle
    found.append((low, high))
    return found


def with_lead(lines: Sequence[bytes] | Sequence[str], begin: int) -> int:
    """Give the line at which the comments above a definition begin; both count from 0."""
    at = begin
    while at > 0 and begin - at < _MOST_COMMENT:
        line = lines[at - 1].strip()
        text = line.encode("utf-8", "replace") if isinstance(line, str) else line
        if not text.startswith(_LEADS) or text.startswith(_NOT_LEADS):
            break
        at -= 1
    return at


def _headings(lines: Sequence[bytes], count: int) -> list[int]:
    found = []
    for at in range(1, count):
        line = lines[at]
        if line.startswith((b"#", b"= ", b"== ", b"=== ")) and _HEADING.match(line):
            found.append(at)
        elif line and line[0] in b"=~^*\"'#+`-" and _UNDERLINE.match(line) and lines[at - 1].strip():
            found.append(at - 1)
    return found
