"""Split code and questions into terms, and files into chunks that start at definitions.

``getEnvironProxies`` and ``get_environ_proxies`` have the same terms: the stems of their parts, and one joined form
(``=getenvironproxies``) for the whole name.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from sourcelight.engines.search.ranking.terms.borders import WITHIN, best_border, line_states

RULES = 3
"""Version of these rules: raise it when a text gets other terms or chunks."""

TOKEN = re.compile(rb"[0-9A-Za-z_\x80-\xff]{2,}")
"""Tokens of a text. One-letter names have no meaning."""

ONLY_WORDS = bytes(byte if TOKEN.fullmatch(bytes([byte, byte])) else 0x20 for byte in range(256))
"""Table for `bytes.translate`: replaces every byte outside of tokens by a space."""

MIN_TOKEN_BYTES, MAX_TOKEN_BYTES = 2, 64
"""Bytes of a token; a longer one isn't a name but encoded data."""

MAX_DIGITS = 6
"""Maximum digits of a number that counts as a word; longer ones are checksums, times or machine ids."""

_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PARTS_OR_NEWLINE = re.compile(rf"{_PART.pattern}|\n")
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
"""Grammatical words; neither indexed nor searched."""


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


_MAX_CACHED_STEMS = 200_000
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
    return "=" + "".join(parts)


def terms_of(name: str) -> tuple[str, ...]:
    """Return the terms of a name: stems of its parts, and its joined form when it has more than one part.

    Function words and single letters have no terms of their own. A number that isn't a word has none.
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


MIN_CHUNK_LINES = 8
MAX_CHUNK_LINES = 64
_MIN_CUT_LINES = 24
_MAX_LEAD_LINES = 60

_LEADS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"@", b"%%")
"""Starts of lines above a definition that belong to it: comments, decorators, attributes."""

_NOT_LEADS = (
    b"#include", b"#endif", b"#if", b"#else", b"#define", b"#undef", b"#pragma", b"#!",
    b"# %%", b"#%%", b"// %%", b"-- %%",  # the line that starts a cell of a percent script
)  # fmt: skip
_HEADING = re.compile(rb"#{1,6} |={1,6} |[^\s`|>*-].{0,100}$")
_FENCE = re.compile(rb" {0,3}(```+|~~~+)")
_CELL = re.compile(rb'\s*"(?:cell_type|attachments)":')
_UNDERLINE = re.compile(rb"([=~^*\"'#+`-])\1{3,}\s*$")


def cut_chunks(
    lines: Sequence[bytes], definition_lines: Sequence[int], *, prose: bool = False, language: str = ""
) -> list[tuple[int, int]]:
    """Cut a file into chunks.

    Parameters
    ----------
    lines
        The lines of the file.
    definition_lines
        Lines, from 0, at which definitions begin.
    prose
        Whether to cut at headings or cells instead of definitions.
    language
        Display name of the language; empty: unknown.

    Returns
    -------
    list of (int, int)
        First line and the line after the last, from 0; together they cover the file. At most `MAX_CHUNK_LINES` each,
        unless that would cut a longer comment or string.
    """
    count = len(lines)
    if count and not lines[-1]:
        count -= 1
    if not count:
        return []
    starts = _heading_lines(lines, count) if prose else sorted({lead_start(lines, line) for line in definition_lines})
    boundaries = [0]
    for start in starts:
        if start - boundaries[-1] >= MIN_CHUNK_LINES and start < count:
            boundaries.append(start)
    # A tiny last chunk joins the one before: it would rank by its few words alone.
    if len(boundaries) > 1 and count - boundaries[-1] < MIN_CHUNK_LINES // 2:
        boundaries.pop()
    boundaries.append(count)
    chunks: list[tuple[int, int]] = []
    for start_line, end_line in pairwise(boundaries):
        chunks += _split_long(lines, start_line, end_line, language)
    return chunks


def _split_long(lines: Sequence[bytes], start: int, end: int, language: str) -> list[tuple[int, int]]:
    """Cut a chunk that is too long, between two statements."""
    if end - start <= MAX_CHUNK_LINES:
        return [(start, end)]
    chunks = []
    offset = start
    states = line_states(lines, start, end, language)
    while end - start > MAX_CHUNK_LINES:
        middle = best_border(lines, states, offset, range(start + _MIN_CUT_LINES, start + MAX_CHUNK_LINES + 1))
        if middle is None:
            further = range(start + MAX_CHUNK_LINES + 1, min(start + 4 * MAX_CHUNK_LINES, end))
            middle = next((index for index in further if states[index - offset] < WITHIN), further.stop)
        if middle >= end:
            break
        chunks.append((start, middle))
        start = middle
    chunks.append((start, end))
    return chunks


def lead_start(lines: Sequence[bytes] | Sequence[str], first_line: int) -> int:
    """Return the line at which the comments above a definition begin; both count from 0."""
    line_index = first_line
    while line_index > 0:
        text = _bytes_of(lines[line_index - 1])
        if text.endswith(b"*/") and not text.startswith(b"/*"):
            above = _block_start(lines, line_index - 1, first_line)
            if above is None:
                break
            line_index = above
        elif text.startswith(_LEADS) and not text.startswith(_NOT_LEADS):
            line_index -= 1
        else:
            break
        if first_line - line_index > _MAX_LEAD_LINES:
            # A chunk must not begin inside a comment: a part of a comment is worse than none.
            return first_line
    return line_index


def _block_start(lines: Sequence[bytes] | Sequence[str], last: int, first_line: int) -> int | None:
    """Return the line that opens the comment which line `last` closes; None when it is too far above."""
    for index in range(last - 1, max(first_line - _MAX_LEAD_LINES, 0) - 1, -1):
        text = _bytes_of(lines[index])
        if b"*/" in text:
            return None
        if b"/*" in text:
            return index if text.startswith(b"/*") else None
    return None


def _bytes_of(line: bytes | str) -> bytes:
    text = line.strip()
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def _heading_lines(lines: Sequence[bytes], count: int) -> list[int]:
    if lines[0].strip() == b"{":
        return _cell_lines(lines, count)
    heading_lines = []
    fence = b""
    for line_index in range(1, count):
        line = lines[line_index]
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            # In a block of code, a line like a heading is a comment.
            fence = b"" if fence else mark[1]
        elif fence:
            continue
        elif line.startswith((b"#", b"= ", b"== ", b"=== ")) and _HEADING.match(line):
            heading_lines.append(line_index)
        elif line and line[0] in b"=~^*\"'#+`-" and _UNDERLINE.match(line) and lines[line_index - 1].strip():
            heading_lines.append(line_index - 1)
    return heading_lines


def _cell_lines(lines: Sequence[bytes], count: int) -> list[int]:
    """Return the lines at which the cells of a notebook begin."""
    return [index - 1 for index in range(2, count) if _CELL.match(lines[index]) and lines[index - 1].strip() == b"{"]
