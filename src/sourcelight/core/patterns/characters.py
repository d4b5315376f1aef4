r"""Sets of characters of a pattern: the members of ``k`` where case is ignored, of ``[^a-z]``, of ``\pL``.

google-re2 decides what a set holds. Its answer is read off by matching all characters that may be members.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import re2

from sourcelight.core.patterns.tree import Chars

MAX_WIDE = 16
"""Non-ASCII members that a class names one by one; a class with more holds "any non-ASCII character"."""

_MAX_CHARACTER_BYTES = 4
"""Bytes of the longest character in UTF-8."""

_FOLD_EXTRA = {"k": (0x212A,), "s": (0x17F,)}
"""Characters beyond ASCII that RE2 takes for a letter where case is ignored: the Kelvin sign, the long s."""

_CHARACTER_ESCAPE = re.compile(r"\\[xpP0-7]")
r"""Escapes that may name a character beyond ASCII: ``\x{e9}``, ``\pL``, ``\351``."""


@functools.lru_cache(maxsize=1024)
def character(code: int, *, fold: bool) -> Chars:
    """Return the set of characters that one written character matches."""
    if code >= 128:
        return _folded_wide(code) if fold else Chars(0, (code,))

    letter = chr(code).lower()
    if fold and letter.isalpha():
        both_cases = 1 << ord(letter) | 1 << ord(letter.upper())
        return Chars(both_cases, _FOLD_EXTRA.get(letter, ()))
    return Chars(1 << code)


@functools.lru_cache(maxsize=1024)
def char_class(source: str, *, fold: bool) -> Chars:
    r"""Return the set of a class such as ``[^a-z]``, ``\pL`` or ``\W``."""
    raw = source.encode()
    narrow = _narrow_members(raw, fold=fold)
    options = _options(fold=fold)
    if source.isascii() and not _CHARACTER_ESCAPE.search(source):
        # Without names of other characters these come in by negation (then a snowman does) or by folding only.
        regexp = re2.compile(raw, options)
        if regexp.search("\N{SNOWMAN}".encode()):
            return Chars(narrow, None)
        return Chars(narrow, tuple(code for code in (0x17F, 0x212A) if regexp.search(chr(code).encode())))

    # Neighbors match together: one match for a script of thousands of letters, which is too many at once.
    return Chars(narrow, _members(re2.compile(b"(?:" + raw + b")+", options), _every_wide_character()))


@functools.lru_cache(maxsize=4096)
def _folded_wide(code: int) -> Chars:
    source = re2.escape(chr(code).encode())
    narrow = _narrow_members(source, fold=True)
    wide = _members(re2.compile(source, _options(fold=True)), _cased_wide_characters())
    if wide is None:
        return Chars(narrow, None)
    return Chars(narrow, tuple(sorted({*wide, code})))


def _narrow_members(source: bytes, *, fold: bool) -> int:
    mask = 0
    for match in re2.compile(source, _options(fold=fold)).finditer(bytes(range(128))):
        mask |= 1 << match.start()
    return mask


def _members(regexp: Any, haystack: bytes) -> tuple[int, ...] | None:
    """Return the characters of `haystack` that match, or None if they are more than `MAX_WIDE`."""
    codes: list[int] = []
    for match in regexp.finditer(haystack):
        run = match.group()
        # Too many for sure: a long run isn't decoded only to be counted.
        if len(run) > _MAX_CHARACTER_BYTES * MAX_WIDE:
            return None

        codes.extend(map(ord, run.decode("utf-8", "surrogatepass")))
        if len(codes) > MAX_WIDE:
            return None

    return tuple(codes)


def _options(*, fold: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not fold
    return options


@functools.cache
def _cased_wide_characters() -> bytes:
    # Scripts with case are in these blocks; leaving out ideographs and syllables makes one look-up 0.3 ms.
    ranges = ((0x80, 0x3400), (0xA000, 0xAC00), (0xF900, 0x20000))
    codes = np.concatenate([np.arange(start, end, dtype="<u4") for start, end in ranges])
    return codes.tobytes().decode("utf-32-le").encode()


@functools.cache
def _every_wide_character() -> bytes:
    # Encoded surrogates are included: RE2 reads them as characters.
    codes = np.arange(0x80, 0x110000, dtype="<u4")
    return codes.tobytes().decode("utf-32-le", "surrogatepass").encode("utf-8", "surrogatepass")
