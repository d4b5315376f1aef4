"""Distinguish literals, such as texts and regular expressions, and comments from the code beside them.

A sign may begin a literal, a comment, or an operator: a slash divides, a hash may be within a word of a shell, a
percent sign opens a list of Ruby. Which one it is depends on the language, by the ending of the path, and on what
precedes it. Where that isn't certain, nothing is returned, so that no value is read from half of a literal.

Text of repositories is hostile: patterns here are linear, and read a bounded part of a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sourcelight.engines.deepsearch.source.comment_marks import comment_end_at

TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|`[^`]*+`")
"""A text in quotation marks of any of the three kinds."""
_MAX_LETTERS = 1_000
"""Letters of a literal beyond which it isn't read."""
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

    None if one may begin there and isn't certain. `start` is where the expression around it begins on this line, and
    `comment_mark` what begins a comment in the language of the path.
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


def _literal_at(  # noqa: PLR0911 - one for each kind of literal
    text: str, position: int, start: int, path: str
) -> str | None:
    """Return the literal that begins at a place of a line.

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

    Returns
    -------
    str | None
        The literal; empty if none begins there, None if one may begin whose end isn't certain.
    """
    letter = text[position]
    is_perl = _PERL.search(path) is not None
    if letter not in "/%~" and not is_perl:
        return ""

    before = text[max(start, position - 40) : position]
    operator = _OPERATOR.search(before) if is_perl else None
    if operator is not None and letter not in "/=,;)]}>$-":
        return None if operator["word"] in _OF_TWO_PARTS else _read_to_delimiter(text, position, position)
    if letter == "/" and _JAVASCRIPT.search(path) is not None:
        match = _match(_SLASHES_OF_JAVASCRIPT, text, position) if _BEFORE_OPERAND.search(before) else None
        return "" if match is None else match[0]
    if letter == "/" and (is_perl or _RUBY.search(path) or _UNKNOWN.search(path)):
        return _slashes(text, position, before, operator, path)
    if letter == "%" and _RUBY.search(path) is not None and (match := _PERCENT.match(text, position)) is not None:
        return _read_to_delimiter(text, position, match.end() - 1) if _is_literal(match[0], before) else ""
    if letter == "~" and _ELIXIR.search(path) is not None and (match := _SIGIL.match(text, position)) is not None:
        return _read_to_delimiter(text, position, match.end() - 1)
    return ""


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


def _slashes(text: str, position: int, before: str, operator: re.Match[str] | None, path: str) -> str | None:
    """Return the literal between slashes, behind a text that may end with a word of Perl for it."""
    match = _match(_SLASHES, text, position)
    if _UNKNOWN.search(path) is not None and _RUBY.search(path) is None:
        is_in_doubt = match is not None and "#" in match[0] and _BEFORE_OPERAND.search(before) is not None
        return None if is_in_doubt else ""
    if operator is not None and operator["word"] in _OF_TWO_PARTS:
        return None
    if operator is not None or _BEFORE_OPERAND.search(before) is not None:
        return None if match is None else match[0]

    # "union /a/, /b/" has an argument, and "width /2" a half.
    is_argument = before[-1:].isspace() and not text[position + 1 : position + 2].isspace()
    return None if is_argument and match is not None and "#" in match[0] else ""


def _is_literal(opening: str, before: str) -> bool:
    """Return whether a percent sign begins a literal, rather than divides."""
    return opening[1].isalpha() or _BEFORE_OPERAND.search(before) is not None


def _read_to_delimiter(text: str, position: int, opening: int) -> str | None:
    """Return the literal whose delimiter opens at a place; None if a hash or its length makes its end uncertain."""
    mark = text[opening]
    closing, depth, index = _PAIRED.get(mark, mark), 0, opening
    end = min(len(text), opening + _MAX_LETTERS)
    while index < end:
        letter = text[index]
        if letter == "\\":
            index += 1
        elif letter == closing and (depth == 1 or mark == closing) and index > opening:
            return text[position : index + 1]
        elif letter in (mark, closing):
            depth += 1 if letter == mark else -1
        index += 1

    return None if end < len(text) or "#" in text[opening:] else ""


def _match(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str] | None:
    return pattern.match(text, position, position + _MAX_LETTERS)


_ML = re.compile(r"\.(?:mli?|fsx?|fsi)$")
_ML_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.{1,3})'|\(\*(?!\))(?:[^*]|\*(?!\)))*+\*\)")
"""Texts, characters and comments of OCaml and F#: `"gate"`, `'g'`, `(* gate *)`."""

_IN = re.compile(r"\bin\b(?!')")
"""The end of a binding: `let gate = 1 in`; `in'` is a name."""


def value_before_in(value: str, path: str) -> str | None:
    """Return the value of a binding of ML without ``in`` and what follows; None where another binding is within it."""
    if _ML.search(path) is None:
        return value

    bare = _ML_TEXT.sub(lambda match: " " * len(match[0]), value)
    depth, position = 0, 0
    for match in _IN.finditer(bare):
        between = bare[position : match.start()]
        depth += sum(letter in "([{" for letter in between) - sum(letter in ")]}" for letter in between)
        position = match.end()
        if depth == 0:
            is_nested = re.search(r"\b(?:let|for)\b", bare[: match.start()]) is not None
            return None if is_nested else value[: match.start()].rstrip()

    return value


_DOUBLE_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*+\"")
_DASHES = re.compile(r"--\s")


def value_before_dashes(value: str) -> str:
    """Return the value of an equation of Haskell or Elm without the comment behind it.

    Texts that don't end take time by the square of the length, which the caller bounds.
    """
    bare = _DOUBLE_QUOTED.sub(lambda match: "_" * len(match[0]), value)
    comment = _DASHES.search(bare)
    return (value if comment is None else value[: comment.start()]).strip()


_GIVEN_IN_SQL = re.compile(
    r"\bDEFAULT\s+(?P<value>.+?)(?=\s+(?:NOT\s+NULL|PRIMARY|UNIQUE|CHECK|REFERENCES|COMMENT|CONSTRAINT)\b|$)",
    re.IGNORECASE,
)
"""The default of a column: `DEFAULT 5 NOT NULL`."""

_MODES = frozenset({"IN", "OUT", "INOUT", "VARIADIC"})
"""Words before the name of a parameter of SQL."""


def split_column(text: str) -> tuple[str, str]:
    """Split a column or a parameter of SQL into its name and its default, which is empty for none."""
    words = [word for word in text.split() if word.upper() not in _MODES]
    default = _GIVEN_IN_SQL.search(text)
    name = words[0].strip('"`[]') if words else ""
    return name, "" if default is None else default["value"].strip()


def value_of_style(line: str, name: str) -> str:
    """Return the value that a line of a style sheet gives a custom property or a variable; empty for none."""
    declaration = re.search(rf"(?<![\w-]){re.escape(name)}\s*:\s*(?P<value>[^;{{}}]{{1,500}});", line)
    return "" if declaration is None else declaration["value"]


def join_types(texts: Sequence[str]) -> list[str]:
    """Join what was cut at commas within a type, such as ``Map<String, List<int>> map``."""
    parameter_texts: list[str] = []
    depth = 0
    for text in texts:
        if depth > 0:
            parameter_texts[-1] += f", {text}"
        else:
            parameter_texts.append(text)
        # Arrows, comparisons and shifts aren't brackets.
        bare = re.sub(r"[-=]>|<=|>=|<<=?", "", text)
        depth = max(0, depth + bare.count("<") - bare.count(">"))

    return parameter_texts
