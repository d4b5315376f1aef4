"""Derive the texts that every match of a pattern contains.

The method is Russ Cox's for trigram indexes (https://swtch.com/~rsc/regexp/regexp4.html): a node keeps all texts that
it can match while these are few; after that, what its matches can start and end with, and a tree of what is between.

==================  =====================================
pattern             every match contains
==================  =====================================
``(get|set)Name``   ``getName`` or ``setName``
``read.*Bytes``     ``read`` and ``Bytes``
``[a-z]+Error``     ``Error``
``wait(For)?Lock``  ``waitForLock`` or ``waitLock``
``(read)?[0-9]+``   nothing
==================  =====================================
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sourcelight.core.boolean import ALWAYS, all_of, any_of
from sourcelight.core.patterns.formula import FOLD_HAZARDS, MIN_TEXT_BYTES, RequiredText, RequiredTree, lower_ascii
from sourcelight.core.patterns.tree import Alternate, Anchor, Chars, Concat, Node, Repeat

# Each of these bounds a product: two parts with 16 texts have 256 texts together.
MAX_TEXTS = 16
"""Maximum number of texts of a node; a node with more is known by its heads and tails."""

MAX_TEXT_BYTES = 64
"""Maximum bytes of a text; a longer one is hardly rarer."""

MAX_MEMBERS = 4
"""Maximum number of characters of a set whose texts are kept: ``[ab]`` is two texts, ``[a-z]`` is any."""

MAX_COPIES = 4
"""Maximum number of copies of a repeated part that are joined: in ``(ab){9}``, ``abababab`` is looked for."""

Texts: TypeAlias = frozenset[bytes]

_EMPTY_TEXT: Texts = frozenset((b"",))
"""The texts of a node that matches only the empty text. As heads or tails, they claim nothing."""

# By code point: the Kelvin sign folds to k, the long s to s.
_FOLDED_HAZARDS = dict(zip([ord(hazard.decode()) for hazard in FOLD_HAZARDS], (b"k", b"s"), strict=True))


def required_texts(tree: Node, *, fold_case: bool = True) -> RequiredTree:
    """Return the formula that the bytes of every match satisfy.

    With `fold_case` these are the folded bytes, with k and s instead of `FOLD_HAZARDS`; else the bytes as they are.
    """
    return _texts_of(tree, fold_case=fold_case).required_tree()


def exact_texts(tree: Node) -> Texts | None:
    """Return all texts that a tree matches, in bytes as they are, its anchors left out, or None if they are many."""
    return _texts_of(tree, fold_case=False).exact


def drops_hazards(tree: Node) -> bool:
    """Return whether `required_texts` wrote k or s for a letter of `FOLD_HAZARDS` that folded bytes may contain."""
    if isinstance(tree, Chars):
        return any(code in _FOLDED_HAZARDS for code in tree.wide or ())
    if isinstance(tree, Concat | Alternate):
        # Most parts are characters of ASCII alone.
        return any(drops_hazards(part) for part in tree.parts if not isinstance(part, Chars) or part.wide)
    return isinstance(tree, Repeat) and drops_hazards(tree.part)


@dataclass(frozen=True, slots=True)
class _KnownTexts:
    """The known texts of the matches of a node.

    Parameters
    ----------
    exact
        All texts that it matches; None if they are too many.
    heads, tails
        Texts of which each match starts, or ends, with one.
    between
        The texts that each match contains besides.
    """

    exact: Texts | None
    heads: Texts
    tails: Texts
    between: RequiredTree

    def required_tree(self) -> RequiredTree:
        if self.exact is not None:
            return _one_of(self.exact)
        return all_of((self.between, _one_of(self.heads), _one_of(self.tails)))


def _exactly(texts: Iterable[bytes]) -> _KnownTexts:
    distinct = frozenset(texts)
    return _KnownTexts(exact=distinct, heads=distinct, tails=distinct, between=ALWAYS)


_NO_TEXT = _exactly((b"",))
_ANY_TEXT = _KnownTexts(exact=None, heads=_EMPTY_TEXT, tails=_EMPTY_TEXT, between=ALWAYS)


def _one_of(texts: Texts) -> RequiredTree:
    # One alternative without a trigram can match anywhere, so the set requires nothing.
    if any(len(text) < MIN_TEXT_BYTES for text in texts):
        return ALWAYS
    return any_of(RequiredText(text) for text in sorted(texts))


def _texts_of(node: Node, *, fold_case: bool) -> _KnownTexts:
    if isinstance(node, Chars):
        return _texts_of_chars(node, fold_case=fold_case)
    if isinstance(node, Anchor):
        # An anchor has no width: in a concatenation it is the empty text.
        return _NO_TEXT
    if isinstance(node, Concat):
        return _texts_of_parts(node.parts, fold_case=fold_case)
    if isinstance(node, Alternate):
        return _either([_texts_of(part, fold_case=fold_case) for part in node.parts])
    if isinstance(node, Repeat):
        return _texts_of_repeat(node, fold_case=fold_case)

    return _ANY_TEXT


def _texts_of_parts(parts: Sequence[Node], *, fold_case: bool) -> _KnownTexts:
    texts = _NO_TEXT
    word: list[bytes] = []
    for part in parts:
        # A word is joined as one text: letter by letter, that was most of the time of compiling an alternation.
        if isinstance(part, Chars):
            exact = _texts_of_chars(part, fold_case=fold_case).exact
            if exact is not None and len(exact) == 1:
                word += exact
                continue
        texts = _join(_with_word(texts, word), _texts_of(part, fold_case=fold_case))
        word = []

    return _with_word(texts, word)


def _with_word(texts: _KnownTexts, word: Sequence[bytes]) -> _KnownTexts:
    """Return the texts followed by characters that are written in one way."""
    if not word:
        return texts
    if max(map(len, texts.tails)) + sum(map(len, word)) <= MAX_TEXT_BYTES:
        return _join(texts, _exactly((b"".join(word),)))
    for character in word:
        texts = _join(texts, _exactly((character,)))
    return texts


@functools.lru_cache(maxsize=4096)
def _texts_of_chars(node: Chars, *, fold_case: bool) -> _KnownTexts:
    if node.wide is None:
        return _ANY_TEXT

    texts = {bytes((code,)) for code in range(128) if node.narrow >> code & 1}
    wide = {code: chr(code).encode("utf-8", "surrogatepass") for code in node.wide}
    if fold_case:
        texts = set(map(lower_ascii, texts))
        # Whatever the context: a set may hold a hazard without k or s, and a pattern may have two side by side.
        for code, letter in _FOLDED_HAZARDS.items():
            if code in wide:
                wide[code] = letter

    texts.update(wide.values())
    if len(texts) > MAX_MEMBERS:
        return _ANY_TEXT
    return _exactly(texts)


def _texts_of_repeat(node: Repeat, *, fold_case: bool) -> _KnownTexts:
    # x{0} is the empty text, whatever x matches.
    if node.high == 0:
        return _NO_TEXT

    single = _texts_of(node.part, fold_case=fold_case)
    if node.low == 0 and node.high == 1:
        return _either([single, _NO_TEXT])
    if node.low == 0:
        return _ANY_TEXT

    # x{n,} holds at least n copies in a row.
    copies = min(node.low, MAX_COPIES)
    texts = single
    for _ in range(copies - 1):
        texts = _join(texts, single)

    if node.low == node.high == copies:
        return texts

    # More copies may follow, so nothing is exact; a match still starts and ends with a copy, and holds all of `texts`.
    return _KnownTexts(exact=None, heads=texts.heads, tails=texts.tails, between=texts.required_tree())


def _join(left: _KnownTexts, right: _KnownTexts) -> _KnownTexts:
    if left.exact == _EMPTY_TEXT:
        return right
    if right.exact == _EMPTY_TEXT:
        return left

    if left.exact is not None and right.exact is not None:
        exact = _cross(left.exact, right.exact)
        if exact is not None:
            return _exactly(exact)

    # What a match holds where the two parts meet: each tail of the left with each head of the right.
    seam = _cross(left.tails, right.heads)
    if seam is None:
        between = all_of((_one_of(left.tails), _one_of(right.heads)))
    elif left.exact is None and right.exact is None:
        between = _one_of(seam)
    else:
        # The seam becomes a head or a tail below. It is required when that ends, in its longest form only.
        between = ALWAYS

    heads = left.heads
    tails = right.tails
    # An exact part is its own head and tail: crossed with those of its neighbor, it gives the new heads or tails.
    if left.exact is not None:
        heads = left.exact if seam is None else seam
    if right.exact is not None:
        tails = right.exact if seam is None else seam

    return _KnownTexts(exact=None, heads=heads, tails=tails, between=all_of((left.between, right.between, between)))


def _cross(left: Texts, right: Texts) -> Texts | None:
    """Return each text of the left followed by each of the right; None if they are too many or too long."""
    if len(left) * len(right) > MAX_TEXTS:
        return None

    texts: set[bytes] = set()
    for head in left:
        texts.update(head + tail for tail in right)
    if max(map(len, texts)) > MAX_TEXT_BYTES:
        return None
    return frozenset(texts)


def _either(branches: list[_KnownTexts]) -> _KnownTexts:
    """Return the known texts of a match of one of several branches."""
    exact = _union([branch.exact for branch in branches])
    if exact is not None:
        return _exactly(exact)

    # Without few heads or tails, the empty text takes their place: it claims nothing.
    return _KnownTexts(
        exact=None,
        heads=_union([branch.heads for branch in branches]) or _EMPTY_TEXT,
        tails=_union([branch.tails for branch in branches]) or _EMPTY_TEXT,
        between=any_of(branch.required_tree() for branch in branches),
    )


def _union(sets: Iterable[Texts | None]) -> Texts | None:
    """Return the texts of all sets; None if they are too many, or if one set is unknown."""
    union: set[bytes] = set()
    for texts in sets:
        if texts is None:
            return None
        union |= texts
        # Checked for each set: an alternation of a thousand words ends after the first few.
        if len(union) > MAX_TEXTS:
            return None

    return frozenset(union)
