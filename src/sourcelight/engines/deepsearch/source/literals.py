"""Distinguish literals, such as texts and regular expressions, and comments from the code beside them.

A sign may begin a literal, a comment, or an operator: a slash divides, a hash may be within a word of a shell, a
percent sign opens a list of Ruby. Which one it is depends on the language, by the ending of the path, and on what
precedes it. Where that isn't certain, nothing is returned, so that no value is read from half of a literal.

Text of repositories is hostile: patterns here are linear, and read a bounded part of a line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sourcelight.engines.deepsearch.source.comment_marks import comment_end_at

TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|`[^`]*+`")
"""A text in quotation marks of any of the three kinds."""
_MAX_LETTERS = 1_000
"""Letters of a literal beyond which it isn't read."""
_MAX_BEFORE = 40
"""Letters before a sign that tell what it is: a word, or a sign that an operand follows."""
_SIGNS = "/%~"
"""Signs that may begin a literal; in Perl, any sign behind a word may."""
_PAIRED = {"(": ")", "[": "]", "{": "}", "<": ">"}
"""The closing delimiter of each that has another one."""

# Languages, by the endings of paths.
_RUBY = re.compile(
    r"\.(?:rb|gemspec|rake|ru|podspec|cr|coffee)$"
    r"|(?:^|/)(?:Gem|Rake|Pod|Guard|Vagrant|Brew|Danger|Fast|Cap|App)file$"
)
_PERL = re.compile(r"\.(?:pl|pm|t|psgi)$")
_ELIXIR = re.compile(r"\.exs?$")
_JAVASCRIPT = re.compile(r"\.(?:[cm]?[jt]s|[jt]sx|vue|svelte)$")
_SHELLS_AND_SETTINGS = re.compile(r"\.(?:sh|bash|zsh|fish|bats|ya?ml|cfg|ini|conf|ps[md]?1)$", re.IGNORECASE)
"""Paths of languages in which a hash within a word is a part of it."""
_MAKE = re.compile(r"(?:^|/)(?:GNU)?[Mm]akefile$")
_UNKNOWN = re.compile(r"(?:^|/)[^/.]+$")
"""Paths without an ending, whose language isn't known by their name."""

# Literals.
_SLASHES = re.compile(r"/(?:[^/\\#]|\\.|#\{[^{}]*+\}|#)*+/")
"""A regular expression of Ruby or Perl, `/gates?/`; an expression within braces, `#{a / b}`, may have slashes."""
_SLASHES_OF_JAVASCRIPT = re.compile(r"/(?:[^/\\\[]|\\.|\[(?:[^\]\\]|\\.)*+\])++/")
"""A regular expression of JavaScript, in which a class may have slashes: `/[/]gate/`."""

_PERCENT = re.compile(r"%(?:[rwWiIqQxs][(\[{<|!/]|[(\[{<|!])")
"""The beginning of a literal of Ruby: `%w[`, `%r{`, `%(`."""

_SIGIL = re.compile(r"~[a-zA-Z]{1,10}[(\[{<|/]")
"""The beginning of a sigil of Elixir: `~r/`, `~w(`."""

_OPERATOR = re.compile(r"(?:^|[^\w$@%&>-])(?P<word>qr|q[qwx]?|m|s|tr|y)$")
"""A word of Perl before a literal, whose next letter delimits it: `qw(`, `m{`, `s/`."""

_NO_DELIMITERS = "/=,;)]}>$-"
"""Signs behind such a word that delimit no literal: ``y => 1`` has a key. Slashes are read apart."""

_OF_TWO_PARTS = frozenset({"s", "tr", "y"})
"""Words of Perl whose literal has two parts: `s/gate/dam/`."""

_BEFORE_OPERAND = re.compile(r"(?:^|[(\[{,=!&|?:;+*~>-]|\b(?:and|or|not|if|unless|when|in|return|then|else))\s*$")
"""Text before an operand, where a slash begins a regular expression: `= `, `(`, `return `."""


def without_texts(line: str) -> str:
    """Return a line whose texts in quotation marks are blank, so that columns stay."""
    return TEXT.sub(lambda match: " " * len(match[0]), line)


def quoted_at(text: str, position: int) -> str | None:
    """Return a text with its quotation marks; None if it doesn't end on this line."""
    letter = text[position]
    mark = letter * 3 if letter != "`" and text.startswith(letter * 3, position) else letter
    index = position + len(mark)
    while index < len(text):
        if text[index] == "\\" and mark != "`":
            index += 2
        elif text.startswith(mark, index):
            return text[position : index + len(mark)]
        else:
            index += 1

    return None


class LiteralPart(NamedTuple):
    """A comment, or a literal without quotation marks: what is kept of it, and where it ends on its line."""

    text: str
    end: int


def part_at(text: str, position: int, start: int, path: str, comment_mark: str) -> LiteralPart | None:
    """Return the comment or literal that begins at a place of a line, which ends there for none.

    Parameters
    ----------
    text
        The line.
    position
        The place, from 0.
    start
        Where the expression around it begins on this line, from 0.
    path
        The file, whose ending tells the language.
    comment_mark
        What begins a comment in that language.

    Returns
    -------
    LiteralPart | None
        None if a comment or a literal may begin there and it isn't certain.
    """
    comment_end = comment_end_at(text, position, comment_mark)
    if comment_end > position:
        is_comment = comment_mark != "#" or _begins_comment(text, position, path)
        if is_comment is None:
            return None
        if is_comment:
            return LiteralPart("", comment_end)

    literal = _literal_at(text, position, start, path)
    return None if literal is None else LiteralPart(literal, position + len(literal))


def _begins_comment(text: str, position: int, path: str) -> bool | None:
    """Return whether a hash begins a comment in a language with such comments; None where that isn't certain."""
    before = text[:position][-1:]
    if not before.strip() or before in "([{,;":
        return True
    if _SHELLS_AND_SETTINGS.search(path) is not None:
        return before in "&|)<>"
    if _UNKNOWN.search(path) is not None and not (_MAKE.search(path) or _RUBY.search(path)):
        return None
    if _PERL.search(path) is not None and before in "$qrwxmsy":
        return None  # the last index of an array, or a literal between hashes
    return True


def _literal_at(text: str, position: int, start: int, path: str) -> str | None:
    """Return the literal that begins at a place of a line; empty for none, None if its end isn't certain."""
    letter = text[position]
    is_perl = _PERL.search(path) is not None
    if letter not in _SIGNS and not is_perl:
        return ""

    before = text[max(start, position - _MAX_BEFORE) : position]
    operator = _OPERATOR.search(before) if is_perl else None
    word = "" if operator is None else operator["word"]
    if word and letter not in _NO_DELIMITERS:
        return None if word in _OF_TWO_PARTS else _read_to_delimiter(text, position, position)
    if letter == "/":
        return _slashes_at(text, position, before, word, path)
    if letter == "%" and _RUBY.search(path) is not None:
        return _percent_literal_at(text, position, before)
    if letter == "~" and _ELIXIR.search(path) is not None:
        sigil = _SIGIL.match(text, position)
        return "" if sigil is None else _read_to_delimiter(text, position, sigil.end() - 1)
    return ""


def _slashes_at(text: str, position: int, before: str, word: str, path: str) -> str | None:
    """Return the literal between slashes; `word` is a word of Perl for it, at the end of the text `before` it."""
    if _JAVASCRIPT.search(path) is not None:
        literal = _match(_SLASHES_OF_JAVASCRIPT, text, position) if _BEFORE_OPERAND.search(before) else ""
        return literal or ""
    if _PERL.search(path) is not None or _RUBY.search(path) is not None:
        return _slashes_of_ruby_or_perl(text, position, before, word)
    if _UNKNOWN.search(path) is None:
        return ""

    # A script may be one of Ruby or Perl: only a hash within slashes makes a difference.
    literal = _match(_SLASHES, text, position)
    return None if "#" in literal and _BEFORE_OPERAND.search(before) is not None else ""


def _slashes_of_ruby_or_perl(text: str, position: int, before: str, word: str) -> str | None:
    if word in _OF_TWO_PARTS:
        return None

    literal = _match(_SLASHES, text, position)
    if word or _BEFORE_OPERAND.search(before) is not None:
        return literal or None

    # "union /a/, /b/" has an argument, and "width /2" a half.
    may_be_argument = before[-1:].isspace() and not text[position + 1 : position + 2].isspace()
    return None if may_be_argument and "#" in literal else ""


def _percent_literal_at(text: str, position: int, before: str) -> str | None:
    """Return the literal of Ruby behind a percent sign, which may divide instead."""
    opening = _PERCENT.match(text, position)
    if opening is None:
        return ""

    is_literal = opening[0][1].isalpha() or _BEFORE_OPERAND.search(before) is not None
    return _read_to_delimiter(text, position, opening.end() - 1) if is_literal else ""


def _read_to_delimiter(text: str, position: int, opening: int) -> str | None:
    """Return the literal whose delimiter opens at a place; None if a hash or its length makes its end uncertain."""
    mark = text[opening]
    closing = _PAIRED.get(mark, mark)
    end = min(len(text), opening + _MAX_LETTERS)
    depth = 0
    index = opening
    while index < end:
        letter = text[index]
        if letter == "\\":
            index += 1
        elif letter == closing and index > opening and (mark == closing or depth == 1):
            return text[position : index + 1]
        elif letter in (mark, closing):
            depth += 1 if letter == mark else -1
        index += 1

    return None if end < len(text) or "#" in text[opening:] else ""


def _match(pattern: re.Pattern[str], text: str, position: int) -> str:
    """Return the literal of a form at a place; empty for none."""
    match = pattern.match(text, position, position + _MAX_LETTERS)
    return "" if match is None else match[0]
