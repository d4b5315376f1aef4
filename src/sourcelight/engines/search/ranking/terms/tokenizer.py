"""Split code and questions into terms.

``getEnvironProxies`` and ``get_environ_proxies`` have the same terms: the stems of their parts, and one joined form
(``=getenvironproxies``) for the whole name.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

RULES = 3
"""Version of the rules here and in `chunker`: raise it when a text gets other terms or chunks."""

TOKEN = re.compile(rb"[0-9A-Za-z_\x80-\xff]{2,}")
"""Tokens of a text. One-letter names have no meaning."""

ONLY_WORDS = bytes(byte if TOKEN.fullmatch(bytes([byte, byte])) else 0x20 for byte in range(256))
"""Table for `bytes.translate`: replaces every byte outside of tokens by a space."""

MIN_TOKEN_BYTES = 2
"""Minimum bytes of a token, as `TOKEN` says."""

MAX_TOKEN_BYTES = 64
"""Maximum bytes of a token; a longer one isn't a name but encoded data."""

MAX_DIGITS = 6
"""Maximum digits of a number that counts as a word; longer ones are checksums, times or machine ids."""

_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
"""A part of an ASCII name: `URLs`, `HTTP` and `Error` of `HTTPError`, `get` and `Proxies` of `getProxies`, `64`."""

_PARTS_OR_NEWLINE = re.compile(rf"{_PART.pattern}|\n")

_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+[uUlL]*|[0-9a-fA-F_]+[uUlL]*")
"""A number of source code, or hexadecimal digits: `0x1F`, `10_000UL`, `9fceb02d`."""

_OTHER = re.compile(r"[^\W_]+")
"""A part of a name that isn't ASCII, whose cases aren't split: `größe` of `max_größe`."""

_JOINED = "="
"""The start of a joined form. No token contains it, so a joined form differs from every stem."""

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
"""Grammatical words; neither indexed nor searched."""

_MAX_CACHED_STEMS = 200_000


class _Stems(threading.local):
    """A stemmer, which threads can't share, and a cache of stems."""

    def __init__(self) -> None:
        import Stemmer

        self.stemmer: Any = Stemmer.Stemmer("english", 0)
        self.stems: dict[str, str] = {}

    def of(self, word: str) -> str:
        """Return the stem of a word in lower case."""
        stems = self.stems
        cached = stems.get(word)
        if cached is None:
            if len(stems) > _MAX_CACHED_STEMS:
                stems.clear()
            cached = stems[word] = self.stemmer.stemWord(word)
        return cached


_stems = _Stems()


def stem(word: str) -> str:
    """Return the English stem (Snowball) of a word in lower case."""
    return _stems.of(word)


def parts_of(name: str) -> list[str]:
    """Split a name at changes of case, digits and punctuation; return lower-case parts."""
    if name.isascii():
        return [part.lower() for part in _PART.findall(name)]
    return [part.casefold() for part in _OTHER.findall(name)]


def joined_form(parts: Iterable[str]) -> str:
    """Return the parts of a name as one term, such as ``=getenvironproxies``."""
    return _JOINED + "".join(parts)


def is_joined_form(term: str) -> bool:
    """Return whether a term is a whole name of several words, which are terms of their own, too."""
    return term.startswith(_JOINED)


def terms_of(name: str) -> tuple[str, ...]:
    """Return the terms of a name: stems of its parts, and its joined form when it has more than one part.

    Function words, single letters and numbers that aren't words have no terms.
    """
    if name[0] in "0123456789" and _NUMBER.fullmatch(name) and (len(name) > MAX_DIGITS or name[:2] in {"0x", "0X"}):
        return ()
    parts = parts_of(name)
    terms = [stem(part) for part in parts if len(part) > 1 and part not in FUNCTION_WORDS]
    if len(parts) > 1:
        terms.append(joined_form(parts))
    return tuple(terms)


def terms_of_names(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the terms of several non-empty names, three times as fast as `terms_of`."""
    # One search over all names, joined by newlines, which no name contains.
    parts = _PARTS_OR_NEWLINE.findall("\n".join([*(name if name.isascii() else "" for name in names), ""]))
    cache: dict[str, str] = {}
    position = 0
    lowered = " ".join(parts).lower().split(" ")
    for name in names:
        end = lowered.index("\n", position)
        parts, position = lowered[position:end], end + 1
        if not parts or (name[0] in "0123456789" and _NUMBER.fullmatch(name)):
            yield terms_of(name)
            continue

        terms = []
        for part in parts:
            term = cache.get(part)
            if term is None:
                term = cache[part] = stem(part) if len(part) > 1 and part not in FUNCTION_WORDS else ""
            if term:
                terms.append(term)

        if len(parts) > 1:
            terms.append(joined_form(parts))

        yield tuple(terms)


def stems_in_order(text: bytes) -> list[str]:
    """Return the stems of the words of a text in their order, without function words and joined forms."""
    return [term for token in TOKEN.findall(text) for term in _plain_terms(token)]


@functools.lru_cache(maxsize=1 << 14)
def _plain_terms(token: bytes) -> tuple[str, ...]:
    # The texts of a repository have the same words again and again.
    parts = parts_of(token.decode("utf-8", "replace"))
    return tuple(stem(part) for part in parts if len(part) > 1 and part not in FUNCTION_WORDS)


def definition_terms(name: str) -> tuple[str, ...]:
    """Return the terms of a definition's name, including function words such as ``Either``, and letters."""
    return terms_of(name) or (joined_form([name.lower()]),)
