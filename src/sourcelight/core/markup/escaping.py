"""Make text from repositories and services safe and visible."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

# C0 without tab and newline, DEL, C1 (8-bit escape sequences of terminals), soft hyphen, Arabic letter mark, zero
# width and bidirectional controls, line and paragraph separator, interlinear marks, tags and lone surrogates: all of
# them change what a reader sees without being seen.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_SCHEMES = frozenset({"http", "https"})


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def visible(text: str) -> str:
    r"""Replace what is not seen but acts: terminal escapes, bidirectional and zero-width characters.

    Controls become their picture (ESC: U+241B), the rest ``U+XXXX`` in angle brackets. Tab and newline stay.

    Examples
    --------
    >>> visible("a\x1b[31mb\u202ec")
    'a␛[31mb⟨U+202E⟩c'
    """
    return _UNSEEN.sub(_picture, text)


def one_line(text: str, width: int) -> str:
    """`visible` text on one line of at most `width` characters; an ellipsis tells that it was cut."""
    shown = visible(text[: width + 1]).replace("\n", "\u240a").replace("\t", " ")
    return shown if len(shown) <= width else shown[: max(width - 1, 0)] + "\u2026"


def code(text: str) -> str:
    """Show a name or a short text in a code span of Markdown."""
    plain = " ".join(visible(text).split())
    fence = "`"
    while fence in plain:
        fence += "`"
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{space}{plain}{space}{fence}" if plain else "` `"


def escape(text: str) -> str:
    """HTML text or attribute value that shows `text` literally, hidden characters made visible.

    Examples
    --------
    >>> escape('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return html.escape(visible(text), quote=True)


def highlight(text: str, starts: Sequence[int], ends: Sequence[int]) -> str:
    """HTML of `text` with each span in ``mark``.

    Parameters
    ----------
    text
        Untrusted text.
    starts, ends
        Spans in code points, in any order; parts outside of the text are ignored and overlaps are joined.

    Examples
    --------
    >>> highlight("a<b>c", [1], [4])
    'a<mark>&lt;b&gt;</mark>c'
    """
    pieces: list[str] = []
    at = 0
    for start, end in sorted(zip(starts, ends, strict=True)):
        low, high = max(start, at), min(end, len(text))
        if low >= high:
            continue
        pieces += [escape(text[at:low]), "<mark>", escape(text[low:high]), "</mark>"]
        at = high
    pieces.append(escape(text[at:]))
    return "".join(pieces)


def link(text: str, url: str) -> str:
    """HTML link to an http or https address, opened in a new tab; any other address gives the text alone."""
    shown = escape(text)
    if _UNSEEN.search(url) or any(c.isspace() for c in url):
        return shown
    try:
        parts = urlsplit(url)
    except ValueError:
        return shown
    if parts.scheme.lower() not in _SCHEMES or not parts.netloc:
        return shown
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{shown}</a>'
