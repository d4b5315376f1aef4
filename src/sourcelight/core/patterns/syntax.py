"""Read RE2's syntax into a tree.

google-re2 decides what is valid and what a character class holds; this reader only has to agree on the shape. What it
can't read becomes `UnknownNode`, which stands for any text at all, so that every analysis of the tree stays a superset.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import re2

from sourcelight.core.patterns.characters import char_class, character
from sourcelight.core.patterns.tree import (
    NEWLINE_BIT,
    Alternate,
    Anchor,
    AnchorKind,
    AnyByte,
    Chars,
    Concat,
    Node,
    ParsedPattern,
    Repeat,
    UnknownNode,
)

MAX_NESTING = 100
"""Maximum depth of groups: analyses recurse over the tree, and Python's own limit is 1,000 calls."""

_ASCII = (1 << 128) - 1
"""All ASCII characters, as bits of `Chars.narrow`."""

# Anchors by their character, without and with the flag `m`, and by the letter behind a backslash.
_SINGLE_LINE_ANCHORS: dict[str, AnchorKind] = {"^": "text-start", "$": "text-end"}
_MULTI_LINE_ANCHORS: dict[str, AnchorKind] = {"^": "line-start", "$": "line-end"}
_ESCAPED_ANCHORS: dict[str, AnchorKind] = {"A": "text-start", "z": "text-end", "b": "word", "B": "not-word"}

_WORD = re.compile(r"\w+", re.ASCII)
"""Characters that mean themselves: ``error_code`` in ``error_code: [0-9]+``."""

_COUNT = re.compile("0|[1-9][0-9]*")
"""A number in a repetition: the 2 in ``a{2,}``. RE2 reads other braces, such as ``{a}`` or ``{01}``, as text."""

_REPETITION_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_OCTAL_DIGITS = frozenset("01234567")


def parse(source: str, *, fold: bool, multi_line: bool) -> ParsedPattern:
    """Read a pattern that google-re2 accepts; `fold` and `multi_line` are the flags ``i`` and ``m`` at its start."""
    reader = _SyntaxReader(source, fold=fold, multi_line=multi_line)
    try:
        tree = reader.read_alternation(0)
        # A closing parenthesis that opens nothing: this reader has lost the shape.
        if reader.position != len(source):
            return ParsedPattern(UnknownNode(), None)
    except (_Unreadable, RecursionError, IndexError, ValueError, re2.error):
        return ParsedPattern(UnknownNode(), None)

    return ParsedPattern(tree, reader.without_captures().encode(), greedy=reader.greedy)


def literal_tree(text: str, *, fold: bool) -> Node:
    """Return the tree of a literal."""
    return Concat(tuple(character(ord(letter), fold=fold) for letter in text))


class _Unreadable(Exception):
    """The pattern left the syntax that this reader knows."""


class _Repetition(NamedTuple):
    """What ``*``, ``+``, ``?`` or ``{2,5}`` says, and the position behind it; `high` None is without end."""

    low: int
    high: int | None
    end: int


class _SyntaxReader:
    r"""Reads a pattern from `position` on; each method reads one construct and moves `position` behind it.

    Attributes
    ----------
    fold, multi_line, dot_newline
        The flags ``i``, ``m`` and ``s`` at the position.
    captures
        Start and end of each opening of a capturing group in the source: ``(`` or ``(?P<name>``.
    open_quote
        Whether the pattern ends in a quote without its end: ``\Qa.b``.
    greedy
        Whether no repetition is lazy.
    """

    def __init__(self, source: str, *, fold: bool, multi_line: bool) -> None:
        self.source = source
        self.position = 0
        self.fold = fold
        self.multi_line = multi_line
        self.dot_newline = False
        self.captures: list[tuple[int, int]] = []
        self.open_quote = False
        self.greedy = True

    def without_captures(self) -> str:
        """Return the source with ``(?:`` for each opening of a capturing group."""
        # RE2 has no back references, so nothing in the pattern needs the number or the name of a group.
        texts: list[str] = []
        copied_to = 0
        for start, end in self.captures:
            texts.append(self.source[copied_to:start])
            texts.append("(?:")
            copied_to = end

        texts.append(self.source[copied_to:])
        if self.open_quote:
            # Callers put more text behind the pattern, which must not become a part of the quote.
            texts.append("\\E")
        return "".join(texts)

    def read_alternation(self, depth: int) -> Node:
        # Most analyses of a tree recurse too, and don't catch a RecursionError: a deeper tree becomes unknown.
        if depth > MAX_NESTING:
            raise _Unreadable

        branches: list[Node] = []
        items: list[Node] = []
        while self.position < len(self.source):
            char = self.source[self.position]
            if char == ")":
                break

            if char == "|":
                self.position += 1
                branches.append(Concat(tuple(items)))
                items = []
                continue

            # Most of a usual pattern is words: they are read at once, not letter by letter.
            word = _WORD.match(self.source, self.position)
            if word is not None:
                items += [character(ord(letter), fold=self.fold) for letter in word[0]]
                self.position = word.end()
                continue

            repetition = self.find_repetition(char)
            if repetition is None:
                items.extend(self.read_item(char, depth))
            elif items:
                items[-1] = Repeat(items[-1], repetition.low, repetition.high)
                self.position = repetition.end
                self.read_laziness()
            else:
                # google-re2 refuses a repetition of nothing, so this reader has lost the shape.
                raise _Unreadable

        branches.append(Concat(tuple(items)))
        if len(branches) == 1:
            return branches[0]
        return Alternate(tuple(branches))

    def find_repetition(self, char: str) -> _Repetition | None:
        """Return the repetition that begins with `char` at the position, or None if none does."""
        if char == "{":
            return self.find_counts()
        if char in _REPETITION_SIGNS:
            low, high = _REPETITION_SIGNS[char]
            return _Repetition(low, high, self.position + 1)
        return None

    def find_counts(self) -> _Repetition | None:
        """Return what ``{2}``, ``{2,}`` or ``{2,5}`` at the position says; None if it is text."""
        close = self.source.find("}", self.position)
        if close < 0:
            return None

        minimum, comma, maximum = self.source[self.position + 1 : close].partition(",")
        if not _COUNT.fullmatch(minimum):
            return None
        if not comma:
            return _Repetition(int(minimum), int(minimum), close + 1)
        if not maximum:
            return _Repetition(int(minimum), None, close + 1)
        if not _COUNT.fullmatch(maximum):
            return None
        return _Repetition(int(minimum), int(maximum), close + 1)

    def read_laziness(self) -> None:
        # Greediness changes the spans and not whether there is a match; it is noted for `never_empty`.
        if self.source.startswith("?", self.position):
            self.greedy = False
            self.position += 1

    def read_item(self, char: str, depth: int) -> tuple[Node, ...]:
        if char == "(":
            return self.read_group(depth)
        if char == "[":
            return (self.read_bracket(),)
        if char == "\\":
            return self.read_escape()

        self.position += 1
        if char == ".":
            newline = NEWLINE_BIT if self.dot_newline else 0
            return (Chars(_ASCII & ~NEWLINE_BIT | newline, None),)
        if char in "^$":
            kinds = _MULTI_LINE_ANCHORS if self.multi_line else _SINGLE_LINE_ANCHORS
            return (Anchor(kinds[char]),)

        return (character(ord(char), fold=self.fold),)

    def read_group(self, depth: int) -> tuple[Node, ...]:
        start = self.position
        # Flags set inside a group end with it.
        flags = (self.fold, self.multi_line, self.dot_newline)
        following = self.source[start + 1 : start + 4]
        if following.startswith(("?P<", "?<")):
            self.position = self.source.index(">", start) + 1
            # Remembered as ranges of the source, which `without_captures` replaces by (?:.
            self.captures.append((start, self.position))
        elif following.startswith("?"):
            self.position = start + 2
            if self.read_flags() == ")":
                # (?i) without a colon applies until the group around it ends, and has no node.
                return ()
        else:
            self.position = start + 1
            self.captures.append((start, self.position))

        inner = self.read_alternation(depth + 1)
        if self.source[self.position] != ")":
            raise _Unreadable

        self.position += 1
        self.fold, self.multi_line, self.dot_newline = flags
        return (inner,)

    def read_flags(self) -> str:
        """Apply the flags of ``(?i-s`` and return the character that ends them: a colon or a parenthesis."""
        value = True
        while True:
            char = self.source[self.position]
            self.position += 1
            # RE2's flags (https://github.com/google/re2/wiki/Syntax). `U` swaps greedy and ungreedy.
            if char in ":)":
                return char
            if char == "-":
                value = False
            elif char == "i":
                self.fold = value
            elif char == "m":
                self.multi_line = value
            elif char == "s":
                self.dot_newline = value
            elif char == "U":
                self.greedy = False
            else:
                raise _Unreadable

    def read_bracket(self) -> Chars:
        # Only the end of the class is searched for; google-re2 decides what it holds. A ] right after [ or [^ is a
        # member.
        start = self.position
        position = start + 1
        if self.source[position] == "^":
            position += 1

        first = position
        while self.source[position] != "]" or position == first:
            position = self._end_of_member(position)

        self.position = position + 1
        return char_class(self.source[start : self.position], fold=self.fold)

    def _end_of_member(self, position: int) -> int:
        r"""Return the position behind a member of a class: ``a``, the two characters of ``\]``, or ``[:alpha:]``."""
        if self.source[position] == "\\":
            return position + 2
        if self.source.startswith("[:", position):
            close = self.source.find(":]", position + 2)
            if close >= 0:
                return close + 2
        return position + 1

    def read_escape(self) -> tuple[Node, ...]:
        start = self.position
        char = self.source[start + 1]
        self.position = start + 2

        if char == "Q":
            text = self.read_quote()
            return tuple(character(ord(letter), fold=self.fold) for letter in text)

        if char in "dDsSwW":
            return (char_class("\\" + char, fold=self.fold),)

        # `\pL` has one letter, `\p{Greek}` a name in braces.
        if char in "pP":
            if self.source[self.position] == "{":
                self.position = self.source.index("}", self.position) + 1
            else:
                self.position += 1
            return (char_class(self.source[start : self.position], fold=self.fold),)

        if char == "C":
            return (AnyByte(),)

        if char in _ESCAPED_ANCHORS:
            return (Anchor(_ESCAPED_ANCHORS[char]),)

        return (character(self.read_code(char), fold=self.fold),)

    def read_quote(self) -> str:
        r"""Return the text of ``\Qa.b\E``, from behind the Q; RE2 quotes up to the end if the E is missing."""
        start = self.position
        close = self.source.find("\\E", start)
        if close < 0:
            self.open_quote = True
            self.position = len(self.source)
            return self.source[start:]

        self.open_quote = False
        self.position = close + 2
        return self.source[start:close]

    def read_code(self, char: str) -> int:
        """Return the code point of an escaped character; `char` comes after the backslash."""
        if char == "x":
            return self.read_hexadecimal()
        if char in _OCTAL_DIGITS:
            return self.read_octal(char)

        # RE2 has no such escape, or one that this reader does not know.
        if char.isascii() and char.isalnum() and char not in _ESCAPES:
            raise _Unreadable

        # A sign that has a meaning, such as \. or \*, means itself behind a backslash.
        return _ESCAPES.get(char, ord(char))

    def read_hexadecimal(self) -> int:
        r"""Read the digits of ``\x41`` or ``\x{1F600}``, from behind the x."""
        start = self.position
        if self.source[start] == "{":
            close = self.source.index("}", start)
            self.position = close + 1
            return int(self.source[start + 1 : close], 16)

        self.position = start + 2
        return int(self.source[start : self.position], 16)

    def read_octal(self, digits: str) -> int:
        r"""Read up to three digits of ``\101``; the first is in `digits`."""
        while len(digits) < 3 and self.position < len(self.source) and self.source[self.position] in _OCTAL_DIGITS:
            digits += self.source[self.position]
            self.position += 1
        return int(digits, 8)
