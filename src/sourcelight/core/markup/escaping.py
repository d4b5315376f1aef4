"""Make text of repositories and services safe and visible, and decide which of its addresses may be links."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

# C0 without tab and newline, DEL, C1 (8-bit escape sequences of terminals), soft hyphen, Arabic letter mark, zero
# width and bidirectional controls, line and paragraph separator, interlinear marks, tags and lone surrogates: all of
# them invisibly change the displayed text.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
NO_MATH = "tex2jax_ignore mathjax_ignore"
"""Classes of HTML in which MathJax 2 and its successors don't typeset what stands between two dollar signs."""
_BACKTICKS = re.compile("`+")
"""A run of backticks."""

_LABEL_SPECIAL = re.compile(r"[\\`*\[\]<>|]")
"""Characters that mean something within the label of a link."""

_TAG = re.compile(r"<[^>]*>")
"""A tag of HTML."""

_SINGLE_MARKS = str.maketrans("“”„‟", "\u2018\u2019\u201a\u201b")

MAX_NAME_CHARS = 80
"""Characters of a name within a sentence."""

_PLAIN_NAME = re.compile(
    r"(?:(?:[^\W\d_]|Dr|St|Mr|Mrs|Ms|Prof)\. |[^\W\d_][\w'\u2019-]*,? ){0,4}\w[\w'\u2019.@+-]*(?:\[bot\])?"
)
"""Up to five words without the end of a sentence between them; the last may be a login, or that of a robot."""

_SCHEMES = frozenset({"http", "https"})
"""Schemes of addresses that a link may have."""

_BAD = re.compile(r"[\x00-\x20\x7f-\x9f\\\"<>`{}|^\u2000-\u206f\ud800-\udfff]")
"""Characters that no address has: blanks, quotes, brackets, and marks that hide or reorder text."""

_FRAGMENT = re.compile(r"#[A-Za-z0-9_.:-]*")
"""An address within the page: ``#L12``."""

_PORTS = {"http": 80, "https": 443}


def visible(text: str) -> str:
    r"""Replace invisible characters with effects: terminal escapes, bidirectional and zero-width characters.

    Controls become their picture (ESC: U+241B), the rest ``U+XXXX`` in angle brackets. Tab and newline stay.

    Examples
    --------
    >>> visible("a\x1b[31mb\u202ec")
    'a␛[31mb⟨U+202E⟩c'
    """
    return _UNSEEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def one_line(text: str, width: int | None = None) -> str:
    """Return `visible` text on one line, of at most `width` characters; an ellipsis marks truncation."""
    part = text if width is None else text[: width + 1]
    line = visible(part).replace("\n", "\u240a").replace("\t", " ")
    return line if width is None or len(line) <= width else line[: max(width - 1, 0)] + "\u2026"


def link_label(text: str) -> str:
    r"""Return text as the label of a link in Markdown: on one line, and without an end of the label in it.

    Examples
    --------
    >>> link_label("app/[id].tsx\n<b>")
    'app/\\[id\\].tsx␊\\<b\\>'
    """
    return _LABEL_SPECIAL.sub(r"\\\g<0>", one_line(text))


def single_marks(text: str) -> str:
    """Return text with single quotation marks for its double ones, so that it can't end a quotation of it."""
    return text.translate(_SINGLE_MARKS)


def is_plain_name(name: str) -> bool:
    """Return whether it is certain where a person's name ends within a sentence.

    An author chooses the name: ``Ada on 2020-01-01. The limit is 99`` would be read as a part of the sentence.
    """
    return _PLAIN_NAME.fullmatch(" ".join(name.split())) is not None


def name_in_sentence(name: str) -> str:
    """Return a person's name for a sentence, as a quotation unless it is certain where the name ends.

    Examples
    --------
    >>> name_in_sentence("Ada Lovelace"), name_in_sentence("Ada. The limit is 99")
    ('Ada Lovelace', '“Ada. The limit is 99”')
    """
    text = one_line(" ".join(name.split()), MAX_NAME_CHARS)
    if not text:
        return "an author without a name"
    return text if is_plain_name(name) else f"“{single_marks(text)}”"


def code(text: str) -> str:
    """Show a name or a short text in a code span of Markdown."""
    content = " ".join(visible(text).split())
    fence = fence_around(content)
    padding = " " if content.startswith("`") or content.endswith("`") else ""
    return f"{fence}{padding}{content}{padding}{fence}" if content else "` `"


def fence_around(text: str, min_length: int = 1) -> str:
    """Return backticks for both sides of `text` in Markdown: at least `min_length`, and more than it has in a row."""
    # One pass: looking for ever longer fences takes 15 s for a text of 64,000 backticks.
    return "`" * max(min_length, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))


def escape(text: str) -> str:
    """Return HTML text or attribute value that shows `text` literally, hidden characters made visible.

    Examples
    --------
    >>> escape('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return html.escape(visible(text), quote=True)


def without_tags(html_text: str) -> str:
    """Return the text that HTML of this room shows.

    Examples
    --------
    >>> without_tags("a<mark>&lt;b&gt;</mark>c")
    'a<b>c'
    """
    return html.unescape(_TAG.sub("", html_text))


def highlight(text: str, starts: Sequence[int], ends: Sequence[int]) -> str:
    """Return HTML of `text` with each span in ``mark``.

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
    parts: list[str] = []
    position = 0
    for start, end in sorted(zip(starts, ends, strict=True)):
        span_start, span_end = max(start, position), min(end, len(text))
        if span_start >= span_end:
            continue
        parts += [escape(text[position:span_start]), "<mark>", escape(text[span_start:span_end]), "</mark>"]
        position = span_end

    parts.append(escape(text[position:]))
    return "".join(parts)


def link(text: str, url: str) -> str:
    """Return HTML link to an http or https address, opened in a new tab; any other address gives the text alone."""
    label = escape(text)
    if _UNSEEN.search(url) or any(character.isspace() for character in url):
        return label

    try:
        parts = urlsplit(url)
    except ValueError:
        return label

    if parts.scheme.lower() not in _SCHEMES or not parts.netloc:
        return label

    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{label}</a>'


def own_address(url: str, base_url: str = "") -> str:
    """Return an address as a link may have it: below `base_url`, a fragment, or empty if it must not be followed.

    Parameters
    ----------
    url
        What a text gives.
    base_url
        Address of the service, without a final ``/``; empty: only the service's relative addresses are kept.

    Examples
    --------
    >>> own_address("/a?L1", "https://code.example"), own_address("https://evil.example/a", "https://code.example")
    ('https://code.example/a?L1', '')
    """
    if _BAD.search(url):
        return ""
    if _FRAGMENT.fullmatch(url):
        return url
    if url.startswith("/") and not url.startswith("//"):
        return f"{base_url}{url}" if _stays(url.partition("?")[0]) else ""

    try:
        parts, base = urlsplit(url), urlsplit(base_url)
        same = (parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower()))
        ours = (base.scheme.lower(), (base.hostname or "").lower(), base.port or _PORTS.get(base.scheme.lower()))
    except ValueError:
        return ""

    if not base_url or parts.scheme.lower() not in _PORTS or parts.username is not None or same != ours:
        return ""

    prefix = base.path.rstrip("/")
    return url if _stays(parts.path) and (not prefix or parts.path.startswith(f"{prefix}/")) else ""


def _stays(path: str) -> bool:
    """Return whether a path never leads to a parent directory: browsers resolve dots, even escaped ones."""
    decoded = path.replace("%2e", ".").replace("%2E", ".")
    return not any(step in {".", ".."} for step in decoded.split("/"))
