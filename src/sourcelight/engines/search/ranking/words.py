"""Words of code and of questions: identifiers, the parts they are made of, stems, and joined forms.

``getEnvironProxies`` and ``get_environ_proxies`` give the same terms: the stems of their parts, and one joined form
(``=getenvironproxies``) that stands for the name as a whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
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
