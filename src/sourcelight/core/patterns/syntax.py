"""RE2's syntax read into a small tree.

google-re2 decides what is valid and what a character class holds; this reader only has to agree on the shape. What it
can't read becomes `UnknownNode`, which stands for any text at all, so that every analysis of the tree stays a superset.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import re2

MAX_WIDE = 16
"""Non-ASCII members that a class names one by one; a class with more holds "any non-ASCII character"."""

MAX_NESTING = 100

AnchorKind: TypeAlias = Literal["line-start", "line-end", "text-start", "text-end", "word", "not-word"]

_ASCII = (1 << 128) - 1
_NEWLINE = 1 << 10

_PLACES: dict[tuple[str, bool], AnchorKind] = {
    ("^", True): "line-start",
    ("^", False): "text-start",
    ("$", True): "line-end",
    ("$", False): "text-end",
}

_WORD = re.compile(r"\w+", re.ASCII)
"""Characters that mean themselves."""

_ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_FOLD_EXTRA = {"k": (0x212A,), "s": (0x17F,)}


@dataclass(frozen=True, slots=True)
class Chars:
    """One code point out of a set.

    `narrow` has bit n set when ASCII character n is a member; `wide` names the other members, None when there are many
    (then any other character may be one).
    """

    narrow: int
    wide: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class AnyByte:
    r"""One byte of any value: ``\C``."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place without width."""

    kind: AnchorKind


@dataclass(frozen=True, slots=True)
class Concat:
    """One part after the other; no part is the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `low` to `high` times; `high` None is without end."""

    part: Node
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class UnknownNode:
    """Any text, newlines and no text included."""


Node: TypeAlias = Chars | AnyByte | Anchor | Concat | Alternate | Repeat | UnknownNode


class _Unreadable(Exception):
    """The pattern left the syntax that this reader knows."""


@dataclass(frozen=True, slots=True)
class ParsedPattern:
    """A pattern's tree, its source with every capturing group made plain, and whether no repetition is lazy."""

    tree: Node
    plain_source: bytes | None
    greedy: bool = True


def parse(source: str, *, fold: bool, multi_line: bool) -> ParsedPattern:
    """Read a pattern that google-re2 accepts; `fold` and `multi_line` are the flags ``i`` and ``m`` at its start."""
    reader = _SyntaxReader(source, fold=fold, multi_line=multi_line)
    try:
        tree = reader.alternation(0)
        # A closing parenthesis that opens nothing: this reader has lost the shape.
        if reader.position != len(source):
            return ParsedPattern(UnknownNode(), None)
    except (_Unreadable, RecursionError, IndexError, ValueError, re2.error):
        return ParsedPattern(UnknownNode(), None)

    return ParsedPattern(tree, reader.without_captures().encode(), greedy=reader.greedy)


def literal_tree(text: str, *, fold: bool) -> Node:
    """Return the tree of a plain text."""
    return Concat(tuple(character(ord(letter), fold=fold) for letter in text))


@functools.lru_cache(maxsize=1024)
def character(code: int, *, fold: bool) -> Chars:
    """Return the set of characters that one written character matches."""
    if code >= 128:
        return _folded_wide(code) if fold else Chars(0, (code,))
    letter = chr(code).lower()
    if fold and letter.isalpha():
        return Chars(1 << ord(letter) | 1 << ord(letter.upper()), _FOLD_EXTRA.get(letter, ()))
    return Chars(1 << code)


@functools.lru_cache(maxsize=4096)
def _folded_wide(code: int) -> Chars:
    source = re2.escape(chr(code).encode())
    wide = _members(re2.compile(source, _options(fold=True)), _cased_wide_characters())
    narrow = _narrow_members(source, fold=True)
    return Chars(narrow, None if wide is None else tuple(sorted({*wide, code})))


def _members(regexp: Any, haystack: bytes) -> tuple[int, ...] | None:
    codes: list[int] = []
    for match in regexp.finditer(haystack):
        codes.extend(map(ord, _characters(match.group())))
        if len(codes) > MAX_WIDE:
            return None
    return tuple(codes)


def _characters(run: bytes) -> str:
    if len(run) > 4 * MAX_WIDE:
        return " " * (MAX_WIDE + 1)  # many: not decoded only to be counted
    return run.decode("utf-8", "surrogatepass")


def _options(*, fold: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not fold
    return options


@functools.cache
def _cased_wide_characters() -> bytes:
    # Scripts with case are in these blocks; leaving out ideographs and syllables makes one look-up 0.3 ms.
    ranges = ((0x80, 0x3400), (0xA000, 0xAC00), (0xF900, 0x20000))
    codes = np.concatenate([np.arange(lo, hi, dtype="<u4") for lo, hi in ranges])
    return codes.tobytes().decode("utf-32-le").encode()


def _narrow_members(source: bytes, *, fold: bool) -> int:
    mask = 0
    for match in re2.compile(source, _options(fold=fold)).finditer(bytes(range(128))):
        mask |= 1 << match.start()
    return mask


@functools.lru_cache(maxsize=1024)
def char_class(source: str, *, fold: bool) -> Chars:
    r"""Ask google-re2 which characters a class such as ``[^a-z]``, ``\pL`` or ``\W`` holds."""
    # google-re2 decides what a class holds: its answer is read off by matching all candidate characters.
    raw = source.encode()
    narrow = _narrow_members(raw, fold=fold)
    options = _options(fold=fold)
    has_escaped_characters = any(
        escape in source for escape in ("\\x", "\\p", "\\P", *(f"\\{digit}" for digit in range(8)))
    )
    if source.isascii() and not has_escaped_characters:
        # Without names of other characters these come in by negation (then a snowman does) or by folding only.
        regexp = re2.compile(raw, options)
        if regexp.search("\N{SNOWMAN}".encode()):
            return Chars(narrow, None)
        return Chars(narrow, tuple(code for code in (0x17F, 0x212A) if regexp.search(chr(code).encode())))

    return Chars(narrow, _members(re2.compile(b"(?:" + raw + b")+", options), _every_wide_character()))


@functools.cache
def _every_wide_character() -> bytes:
    # Encoded surrogates are included: RE2 reads them as characters.
    codes = np.arange(0x80, 0x110000, dtype="<u4")
    return codes.tobytes().decode("utf-32-le", "surrogatepass").encode("utf-8", "surrogatepass")


class _SyntaxReader:
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
        texts: list[str] = []
        last = 0
        for start, end in self.captures:
            texts += (self.source[last:start], "(?:")
            last = end
        return "".join((*texts, self.source[last:], "\\E" if self.open_quote else ""))

    def alternation(self, depth: int) -> Node:
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
            elif char in "*+?" or (char == "{" and self.bounds() is not None):
                self.repeat(items)
            elif word := _WORD.match(self.source, self.position):
                items += [character(ord(letter), fold=self.fold) for letter in word[0]]
                self.position = word.end()
            else:
                items.extend(self.item(char, depth))

        branches.append(Concat(tuple(items)))
        return branches[0] if len(branches) == 1 else Alternate(tuple(branches))

    def bounds(self) -> tuple[int, int | None, int] | None:
        """Read ``{n}``, ``{n,}`` or ``{n,m}``: return minimum, maximum and end; return None for a plain brace."""
        close = self.source.find("}", self.position)
        minimum, comma, maximum = self.source[self.position + 1 : close].partition(",") if close > 0 else ("", "", "")
        numbers = [minimum, maximum] if maximum else [minimum]
        # RE2 takes a brace that is no count, such as {a} or {01}, as plain text.
        if not all(n.isascii() and n.isdigit() and (n == "0" or n[0] != "0") for n in numbers):
            return None
        return int(minimum), (int(maximum) if maximum else None) if comma else int(minimum), close + 1

    def repeat(self, items: list[Node]) -> None:
        if not items:
            raise _Unreadable

        char = self.source[self.position]
        bounds = self.bounds() if char == "{" else None
        minimum, maximum, end = bounds or {"*": (0, None), "+": (1, None), "?": (0, 1)}[char] + (self.position + 1,)

        # Greediness changes the spans and not whether there is a match; it is noted for `never_empty`.
        if self.source[end : end + 1] == "?":
            self.greedy = False
            end += 1

        items[-1] = Repeat(items[-1], minimum, maximum)
        self.position = end

    def item(self, char: str, depth: int) -> tuple[Node, ...]:
        if char == "(":
            return self.group(depth)
        if char == "[":
            return (self.bracket(),)
        if char == "\\":
            return self.escape()

        self.position += 1
        if char == ".":
            return (Chars(_ASCII if self.dot_newline else _ASCII & ~_NEWLINE, None),)
        if char in "^$":
            return (Anchor(_PLACES[char, self.multi_line]),)

        return (character(ord(char), fold=self.fold),)

    def group(self, depth: int) -> tuple[Node, ...]:
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
            if self.flags() == ")":
                # (?i) without a colon applies until the group around it ends, and has no node.
                return ()
        else:
            self.position = start + 1
            self.captures.append((start, self.position))

        inner = self.alternation(depth + 1)
        if self.source[self.position] != ")":
            raise _Unreadable

        self.position += 1
        self.fold, self.multi_line, self.dot_newline = flags
        return (inner,)

    def flags(self) -> str:
        """Apply the flags of ``(?i-s`` and return the character that ends them: a colon or a parenthesis."""
        value = True
        # RE2's flags (https://github.com/google/re2/wiki/Syntax). `U` swaps greedy and ungreedy.
        while (char := self.source[self.position]) not in ":)":
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

            self.position += 1

        self.position += 1
        return char

    def bracket(self) -> Chars:
        # Only the end of the class is searched for; google-re2 decides what it holds. A ] right after [ or [^ is a
        # member.
        start = self.position
        position = start + 1
        if self.source[position] == "^":
            position += 1

        first = position
        while self.source[position] != "]" or position == first:
            if self.source[position] == "\\":
                position += 2
            elif self.source.startswith("[:", position) and (close := self.source.find(":]", position + 2)) >= 0:
                position = close + 2
            else:
                position += 1

        self.position = position + 1
        return char_class(self.source[start : self.position], fold=self.fold)

    def escape(self) -> tuple[Node, ...]:
        start = self.position
        char = self.source[start + 1]
        self.position = start + 2

        if char == "Q":
            close = self.source.find("\\E", self.position)
            text = self.source[self.position : close if close >= 0 else len(self.source)]
            self.position = close + 2 if close >= 0 else len(self.source)
            # RE2 quotes up to the end without \E; `without_captures` adds it, as more text follows there.
            self.open_quote = close < 0
            return tuple(character(ord(letter), fold=self.fold) for letter in text)

        if char in "dDsSwW":
            return (char_class("\\" + char, fold=self.fold),)

        # `\pL` has one letter, `\p{Greek}` a name in braces.
        if char in "pP":
            if self.source[self.position] == "{":
                self.position = self.source.index("}", self.position) + 1
            else:
                self.position = self.position + 1
            return (char_class(self.source[start : self.position], fold=self.fold),)

        if char == "C":
            return (AnyByte(),)

        anchors: dict[str, AnchorKind] = {"A": "text-start", "z": "text-end", "b": "word", "B": "not-word"}
        if char in anchors:
            return (Anchor(anchors[char]),)

        return (character(self.code(char), fold=self.fold),)

    def code(self, char: str) -> int:
        if char == "x":
            if self.source[self.position] == "{":
                start, self.position = self.position + 1, self.source.index("}", self.position) + 1
                return int(self.source[start : self.position - 1], 16)
            self.position += 2
            return int(self.source[self.position - 2 : self.position], 16)

        if char in "01234567":
            digits = char
            while len(digits) < 3 and self.source[self.position : self.position + 1] in tuple("01234567"):
                digits += self.source[self.position]
                self.position += 1
            return int(digits, 8)

        # RE2 has no such escape, or one that this reader does not know.
        if char.isascii() and char.isalnum() and char not in _ESCAPES:
            raise _Unreadable

        return _ESCAPES.get(char, ord(char))


def matches_newline(node: Node) -> bool:
    """Return whether a match can hold a newline."""
    if isinstance(node, Chars):
        return bool(node.narrow & _NEWLINE)

    if isinstance(node, Concat | Alternate):
        # Most parts are characters, which need no call.
        return any(
            bool(part.narrow & _NEWLINE) if isinstance(part, Chars) else matches_newline(part) for part in node.parts
        )

    if isinstance(node, Repeat):
        return node.high != 0 and matches_newline(node.part)

    return isinstance(node, AnyByte | UnknownNode)


def nullable(node: Node) -> bool:
    """Return whether a match can be empty (anchors count as met)."""
    if isinstance(node, Concat):
        return all(map(nullable, node.parts))
    if isinstance(node, Alternate):
        return any(map(nullable, node.parts))
    if isinstance(node, Repeat):
        return node.low == 0 or nullable(node.part)
    return isinstance(node, Anchor | UnknownNode)


def never_empty(syntax: ParsedPattern) -> ParsedPattern | None:
    """Return ``E+`` for ``E*``: the pattern with its non-empty matches alone, or None for any other pattern.

    A greedy ``E*`` tries one more E first, so its non-empty matches are those of ``E+``; a lazy one is empty at once.
    """
    node = syntax.tree
    while isinstance(node, Concat) and len(node.parts) == 1:
        node = node.parts[0]

    source = syntax.plain_source
    if source is None or not source.endswith(b"*") or not syntax.greedy:
        return None

    # Only a single star: its empty matches are not matches here, and with `+` RE2 never produces them.
    if not isinstance(node, Repeat) or (node.low, node.high) != (0, None) or nullable(node.part):
        return None

    return ParsedPattern(Repeat(node.part, 1, None), source[:-1] + b"+")


def anchors(node: Node) -> frozenset[AnchorKind]:
    """Return the kinds of all anchors in the tree."""
    if isinstance(node, Anchor):
        return frozenset((node.kind,))
    if isinstance(node, Concat | Alternate):
        return frozenset(kind for part in node.parts if not isinstance(part, Chars) for kind in anchors(part))
    return anchors(node.part) if isinstance(node, Repeat) else frozenset()


def plain_text(node: Node) -> bytes | None:
    """Return the only text that a tree matches, or None when there are several, or none."""
    parts = node.parts if isinstance(node, Concat) else (node,)
    text = ""
    for part in parts:
        if isinstance(part, Concat):
            inner = plain_text(part)
            if inner is None:
                return None
            text += inner.decode("utf-8", "surrogatepass")
            continue

        # A class of exactly one character, ASCII as a bit set (`narrow`) or beyond it (`wide`).
        if not isinstance(part, Chars) or part.wide is None or part.narrow.bit_count() + len(part.wide) != 1:
            return None

        text += chr(part.wide[0] if part.wide else part.narrow.bit_length() - 1)

    return text.encode("utf-8", "surrogatepass") or None
