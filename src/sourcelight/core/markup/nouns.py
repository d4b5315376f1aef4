"""English nouns in the singular and the plural.

Sentences need the plural of our own nouns; questions of people have any noun, in either form. The rules follow the
spelling alone, with short lists for the nouns of programs that have none: `alias`, `axes`, `redis`.
"""

from __future__ import annotations

import re

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
