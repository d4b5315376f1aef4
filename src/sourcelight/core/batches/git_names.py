"""Quote and unquote file names as git does.

Git quotes a name with a control character, a double quote or a backslash by C's escapes (``core.quotePath`` of
git-config). Octal escapes are bytes.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(rb'[\x00-\x1f\x7f"\\]')
"""Bytes for which git puts a name in quotes."""

_SPECIAL_OR_HIGH = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
"""These bytes, and those beyond ASCII, which git quotes by default."""

_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
"""A quoted byte: an octal number or a letter behind a backslash."""

_LETTERS = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
_BYTES = {letter: bytes([code]) for code, letter in _LETTERS.items()}


def needs_quotes(name: bytes) -> bool:
    """Return whether git puts a name in quotes."""
    return _SPECIAL.search(name) is not None


def quote_name(name: bytes, *, ascii_only: bool = False) -> bytes:
    """Return a name in quotes; with `ascii_only`, octal escapes replace all other bytes, as git writes by default."""
    return b'"' + (_SPECIAL_OR_HIGH if ascii_only else _SPECIAL).sub(_escape, name) + b'"'


def unquote_name(name: bytes) -> bytes:
    """Unquote a name that may be quoted."""
    if not (len(name) > 1 and name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPED.sub(_byte, name[1:-1])


def unquote_text(name: str) -> str:
    """Unquote a name that may be quoted, as text; invalid UTF-8 is replaced."""
    return unquote_name(name.encode("utf-8", "replace")).decode("utf-8", "replace")


def _escape(match: re.Match[bytes]) -> bytes:
    code = match[0][0]
    return b"\\" + (_LETTERS.get(code) or b"%03o" % code)


def _byte(match: re.Match[bytes]) -> bytes:
    text = match[1]
    return bytes([int(text, 8) & 255]) if len(text) == 3 else _BYTES.get(text, text)
