"""Counts as text: a number with its noun, a size in bytes, and lists of words."""

from __future__ import annotations

from collections.abc import Sequence

_IRREGULAR = {"person": "people", "child": "children"}
_VOWELS = frozenset("aeiou")


def count_of(count: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_of(1, "file"), count_of(2_000, "repository")
    ('1 file', '2,000 repositories')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


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


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return words as an enumeration.

    Examples
    --------
    >>> join_words(["a"]), join_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def list_names(names: Sequence[str], limit: int = 5) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> list_names(["a", "b", "c"], 2), list_names(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    suffix = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{suffix}"


def size_text(size_bytes: int) -> str:
    """A size as people read it, such as ``3.2 MB``."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
