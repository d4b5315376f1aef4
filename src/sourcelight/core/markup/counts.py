"""Counts and words as text: a number with its noun, a size in bytes, lists, sentences, and tokens for a model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from sourcelight.core.markup.nouns import plural

_WAIT_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_MAX_WAIT_S = 1e9

_PIECE = re.compile(
    r"[A-Z]?[a-z]{1,7}"  # a word, or seven letters of a longer one; the space before it belongs to it
    r"|[A-Z]{1,3}"
    r"|[0-9]{1,3}"  # cl100k and o200k take digits three at a time
    r"|\n[ \t]*|[ \t]{2,}"
    r"|[!-/:-@\[-`{-~]{1,2}"
    r"|[^\x00-\x7f]"
)
# Object ids have no words in them: 24.2 tokens in 40 digits, 4.3 in 7, in both vocabularies.
_HEX = re.compile(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}\b")
_TOKENS_PER_HEX_DIGIT = 0.6
"""Tokens of a long number in hexadecimal digits, such as a commit, divided by its digits."""

_EAST_ASIAN = re.compile(r"[\u2e80-\uffff]")
"""Characters of which tokenizers have one or two in a token."""

_BEYOND_BMP = re.compile(r"[\U00010000-\U0010ffff]")
"""Characters that take up to three tokens, such as emoji."""


def count_of(count: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_of(1, "file"), count_of(2_000, "repository")
    ('1 file', '2,000 repositories')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def format_wait(seconds: float) -> str:
    """Return a wait in the largest unit of which it has two, rounded up.

    Examples
    --------
    >>> format_wait(0.2), format_wait(90), format_wait(7_200)
    ('1 second', '90 seconds', '2 hours')
    """
    size, unit = next((size, unit) for size, unit in _WAIT_UNITS if seconds >= 2 * size or size == 1)
    return count_of(max(1, math.ceil(min(seconds, _MAX_WAIT_S) / size)), unit)


def capitalize(text: str) -> str:
    """Return `text` as a sentence begins; the name of a filter keeps its spelling.

    Examples
    --------
    >>> capitalize("unknown language"), capitalize("rev: applies to repositories")
    ('Unknown language', 'rev: applies to repositories')
    """
    return text if ":" in text.partition(" ")[0] else f"{text[:1].upper()}{text[1:]}"


def join_lines(text: str) -> str:
    r"""Return a message of several lines, which may have a list, as one line.

    Examples
    --------
    >>> join_lines("Not searched:\n- `a`\n- `b`\nAsk again.")
    'Not searched: `a`, `b`; Ask again.'
    """
    result = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if result.endswith(":"):
            separator = " "
        elif line.startswith("- "):
            separator = ", "
        else:
            separator = "; "
        result = f"{result}{separator}{line.removeprefix('- ')}" if result else line
    return result


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return words as an enumeration.

    Examples
    --------
    >>> join_words(["a"]), join_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def join_first(words: Sequence[str], limit: int) -> str:
    """Join the first words; "others" stands for the rest, for a sentence without a number.

    Examples
    --------
    >>> join_first(["a", "b", "c"], 2), join_first(["a", "b"], 2)
    ('a, b and others', 'a and b')
    """
    return join_words([*words[:limit], *(["others"] if len(words) > limit else [])])


def join_names(names: Sequence[str], limit: int = 3) -> str:
    """Join a few names as in a sentence; of more, return the first ones and how many more there are.

    Examples
    --------
    >>> join_names(["a", "b", "c"], 2), join_names(["a", "b"], 2)
    ('a, b and 1 more', 'a and b')
    """
    if len(names) <= limit:
        return join_words(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"


def size_text(size_bytes: int) -> str:
    """Return a size as people read it, such as ``3.2 MB``."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is; rather too many than too few."""
    hex_digits = sum(len(run) for run in _HEX.findall(text))
    remaining = _HEX.sub("", text) if hex_digits else text
    piece_count = len(_PIECE.findall(remaining))

    # An emoji is up to three tokens, an ideograph up to two.
    if remaining.isascii():
        rare = 0
    else:
        rare = 2 * len(_BEYOND_BMP.findall(remaining)) + len(_EAST_ASIAN.findall(remaining)) // 2
    return piece_count + rare + math.ceil(hex_digits * _TOKENS_PER_HEX_DIGIT)
