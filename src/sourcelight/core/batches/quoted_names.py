r"""Names of files in double quotes with C's escapes, as git writes odd ones (``core.quotePath`` of git-config).

Git puts a name in quotes when it holds a control character, a double quote or a backslash; octal escapes are bytes.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(rb'[\x00-\x1f\x7f"\\]')
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
_BYTES = {letter: bytes([code]) for code, letter in _LETTERS.items()}


def is_odd(name: bytes) -> bool:
    """Whether git puts a name in quotes."""
    return _SPECIAL.search(name) is not None


def quote_name(name: bytes) -> bytes:
    """A name in quotes."""
    return b'"' + _SPECIAL.sub(_escape, name) + b'"'


def unquote_name(name: bytes) -> bytes:
    """The name behind one that may stand in quotes."""
    if not (len(name) > 1 and name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPED.sub(_byte, name[1:-1])


def _escape(found: re.Match[bytes]) -> bytes:
    code = found[0][0]
    return b"\\" + (_LETTERS.get(code) or b"%03o" % code)


def _byte(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes([int(text, 8) & 255]) if len(text) == 3 else _BYTES.get(text, text)
