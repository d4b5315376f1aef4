"""Counts and words as text: a number with its noun, a size in bytes, lists, sentences, and tokens for a model.

Sentences need the plural of the nouns of this package; questions of people have any noun, in either form. The rules
follow the spelling alone, with short lists for the nouns of programs that have none: `alias`, `axes`, `redis`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

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

_IRREGULAR = {"person": "people", "child": "children"}
"""Plurals that have no rule."""

_VOWELS = frozenset("aeiou")

_IRREGULAR_PLURALS = {
    "analyses": "analysis", "axes": "axis", "bases": "base", "halves": "half", "indices": "index", "knives": "knife",
    "leaves": "leaf", "matrices": "matrix", "men": "man", "quizzes": "quiz", "shelves": "shelf", "vertices": "vertex",
    **{plural: noun for noun, plural in _IRREGULAR.items()},
}  # fmt: skip
"""Plurals that nouns of a question may have, beside those with a rule."""

_SINGULAR_IN_S = frozenset({
    "alias", "always", "as", "atlas", "bias", "canvas", "chaos", "cosmos", "does", "gas", "has", "https", "ios",
    "jenkins", "keras", "kubernetes", "kudos", "macos", "nats", "news", "pandas", "postgres", "series", "species",
    "was", "yes",
})  # fmt: skip
"""Words that end with an "s" and are no plurals, beside those that end with "ss", "us" or "is"."""

_PLURAL_IN_VOWEL = frozenset({"apis", "clis", "cpus", "emojis", "gpus", "guis", "menus", "uris", "wikis"})
"""Plurals that end as a singular does."""

_WITH_ES = re.compile(
    r"(?:ss|sh|x|zz|[^ai]ch|[eo]ach"  # classes, hashes, boxes, branches, breaches; not caches
    r"|(?:ali|bi|canv|atl)as|^gas"
    r"|(?:^b|cens|corp|foc|stat|vir)us)es$"  # statuses; not clauses
)
"""Plurals whose "es" is no part of the noun."""

_WITH_IE = re.compile(r"(?:cook|mov|zomb|self|bird|p[iy]x|prair|calor|brown)ies$|^(?:d|l|p|t)ies$")
"""Plurals whose "ie" is a part of the noun."""


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


def plural(noun: str) -> str:
    """Return the plural of an English noun; of several words, the last one changes.

    Examples
    --------
    >>> plural("match"), plural("changed file"), plural("person"), plural("day")
    ('matches', 'changed files', 'people', 'days')
    """
    head, _, last = noun.rpartition(" ")
    if head:
        return f"{head} {plural(last)}"
    if last in _IRREGULAR:
        return _IRREGULAR[last]
    if last.endswith("y") and last[-2:-1] not in _VOWELS:
        return f"{last[:-1]}ies"

    return f"{last}es" if last.endswith(("s", "x", "z", "ch", "sh")) else f"{last}s"


def singular(noun: str) -> str:
    """Return the singular of an English noun in lower case; one in the singular, and what is no plural, as it is.

    Examples
    --------
    >>> singular("queries"), singular("branches"), singular("caches"), singular("redis"), singular("statuses")
    ('query', 'branch', 'cache', 'redis', 'status')
    """
    if noun in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[noun]
    if not noun.endswith("s") or len(noun) < 3 or noun in _SINGULAR_IN_S:
        return noun
    if noun in _PLURAL_IN_VOWEL:
        return noun[:-1]
    if noun.endswith(("ss", "us", "is")):
        return noun
    if noun.endswith("ies") and _WITH_IE.search(noun) is None:
        return f"{noun[:-3]}y"
    return noun[:-2] if _WITH_ES.search(noun) is not None else noun[:-1]
