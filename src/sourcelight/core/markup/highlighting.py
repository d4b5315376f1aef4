"""Source code as HTML with colored tokens, by small grammars of families of languages."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Sequence

from sourcelight.core.markup.escaping import escape

_C = """
abstract as async await auto bool boolean break byte case catch chan char class const continue crate data default
defer def delete do double else enum export extends extern false final finally float fn for foreach from func function
go goto if impl implements import in inline int interface internal is let long loop map match mod move mut namespace
new nil null object operator override package private protected pub public range record ref return sealed self short
signed sizeof static string struct super switch template this throw throws trait true try type typedef typeof union
unsafe unsigned use using val var virtual void volatile when where while with yield
"""
_PYTHON = """
False None True and as assert async await break case class continue def del elif else except finally for from global
if import in is lambda match nonlocal not or pass raise return try while with yield
"""
_RUBY = """
alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo require
rescue retry return self super then true undef unless until when while yield
"""
_R = "FALSE Inf NA NULL NaN TRUE break else for function if in next repeat while library require return"
_JULIA = """
abstract baremodule begin break catch const continue do else elseif end export false finally for function global if
import in isa let local macro module mutable nothing primitive quote return struct true try using where while
"""
_SHELL = "case do done elif else esac export fi for function if in local return select then until while"
_SQL = """
add all alter and as asc between by case create delete desc distinct drop else end exists from group having in index
insert into is join left like limit not null on or order outer right select set table then union update values when
where
"""
_HASH_BLOCK = r"#=.*?(?:=#|\Z)|#[^\n]*"
_HASH, _SLASHES, _DASHES = r"#[^\n]*", r"//[^\n]*|/\*.*?(?:\*/|\Z)", r"--[^\n]*|/\*.*?(?:\*/|\Z)"
# A text that is not closed ends with its line, or with the whole; between apostrophes, which mark other things too in
# some languages, it must be closed, and soon.
_LINE = r'"(?:[^"\\\n]|\\.)*"?|' + r"'(?:[^'\\\n]|\\.){0,100}'"
_TRIPLE = r'"""(?:[^\\]|\\.)*?(?:"""|\\?\Z)|' + r"'''(?:[^\\]|\\.)*?(?:'''|\\?\Z)|"
_CODE_TICKS = r"`(?:[^`\\]|\\.)*(?:`|\\?\Z)|"
_LETTER = r'"(?:[^"\\\n]|\\.)*"?|' + r"'(?:[^'\\\n]|\\[^'\n]{1,9}|\\')'"
_C_LIKE = """
cpp cc cxx hpp c++ objc objective-c csharp cs c# go java javascript js jsx typescript ts tsx scala kotlin kt php swift
json
"""


_FAMILIES = {
    "python": (_HASH, _TRIPLE + _LINE, _PYTHON, "python py pyi cython starlark"),
    "ruby": (_HASH, _LINE, _RUBY, "ruby rb"),
    "r": (_HASH, _LINE, _R, "r"),
    "julia": (_HASH_BLOCK, _TRIPLE + _LETTER, _JULIA, "julia"),
    "shell": (_HASH, _LINE, _SHELL, "bash sh shell zsh make makefile yaml yml toml ini dockerfile"),
    "sql": (_DASHES, _LINE, _SQL, "sql"),
    "rust": (_SLASHES, _LETTER, _C, "rust rs c h"),
    "c": (_SLASHES, _CODE_TICKS + _LINE, _C, _C_LIKE),
}  # fmt: skip
_FAMILY_OF = {name: family for family, (*_, names) in _FAMILIES.items() for name in names.split()}
_WITH_BLOCKS = frozenset(family for family, (comments, *_) in _FAMILIES.items() if r"/\*" in comments)
"""Families with comments from ``/*`` to ``*/``."""
Token = tuple[int, int, str]

_MAX_CHARS = 200_000
"""Longer texts are not colored."""


def code_html(text: str, language: str) -> str:
    """Return source text as HTML with the classes ``sl-c`` comment, ``sl-s`` string, ``sl-n`` number, ``sl-k`` keyword.

    Examples
    --------
    >>> code_html("return '<b>'", "python")
    '<span class="sl-k">return</span> <span class="sl-s">&#x27;&lt;b&gt;&#x27;</span>'
    """
    return highlight_code(text, code_tokens(text, language))


def code_tokens(text: str, language: str) -> list[Token]:
    """List comments, strings, numbers and keywords of a text in order, as (start, end, letter).

    The list is empty for an unknown language.
    """
    family = _FAMILY_OF.get(language.lower())
    if family is None or len(text) > _MAX_CHARS:
        return []
    begin_offset = _open_comment_end(text) if family in _WITH_BLOCKS else 0
    comment = [(0, begin_offset, "c")] if begin_offset else []
    matches = _pattern(family).finditer(text, begin_offset)
    return comment + [(token.start(), token.end(), token.lastgroup) for token in matches if token.lastgroup is not None]


def _open_comment_end(text: str) -> int:
    """Return the end of a block comment that began above the text, as in quoted documentation; 0 without one."""
    end = text.find("*/")
    if end < 0 or not text.lstrip().startswith("*") or "/*" in text[:end]:
        return 0
    return end + len("*/")


def line_tokens(lines: Sequence[str], language: str) -> list[list[Token]]:
    """Return tokens of each line, read as one text, so that a string or a comment may go over several lines."""
    by_line: list[list[Token]] = [[] for _ in lines]
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    for start, end, kind in code_tokens("\n".join(lines), language):
        number = bisect.bisect_right(starts, start) - 1
        while number < len(lines) and starts[number] < end:
            first = max(start - starts[number], 0)
            last = min(end - starts[number], len(lines[number]))
            if first < last:
                by_line[number].append((first, last, kind))
            number += 1

    return by_line


def highlight_code(text: str, tokens: Sequence[Token], starts: Sequence[int] = (), ends: Sequence[int] = ()) -> str:
    """Return HTML of a text with its tokens in spans and its matches in ``mark``; tokens and matches may cross.

    Examples
    --------
    >>> highlight_code("if x", [(0, 2, "k")], [1], [4])
    '<span class="sl-k">i</span><mark><span class="sl-k">f</span> x</mark>'
    """
    parts: list[str] = []
    position = 0
    for start, end in sorted(zip(starts, ends, strict=True)):
        first, last = max(start, position), min(end, len(text))
        if first < last:
            parts += [_color(text, tokens, position, first), "<mark>", _color(text, tokens, first, last), "</mark>"]
            position = last

    parts.append(_color(text, tokens, position, len(text)))
    return "".join(parts)


def _color(text: str, tokens: Sequence[Token], start: int, end: int) -> str:
    """Return HTML of a part of a text, with the tokens within it."""
    parts: list[str] = []
    position = start
    for token_start, token_end, kind in tokens[max(bisect.bisect_right(tokens, (start, -1, "")) - 1, 0) :]:
        if token_start >= end:
            break
        first, last = max(token_start, position), min(token_end, end)
        if first < last:
            parts += [escape(text[position:first]), f'<span class="sl-{kind}">{escape(text[first:last])}</span>']
            position = last

    return "".join([*parts, escape(text[position:end])])


@functools.cache
def _pattern(family: str) -> re.Pattern[str]:
    comment, text, words, _ = _FAMILIES[family]
    case = "(?i)" if family == "sql" else ""
    keywords = "|".join(words.split())
    # Names that aren't keywords are skipped, so that words and digits in them don't count.
    return re.compile(
        rf"{case}(?P<c>{comment})|(?P<s>{text})|(?P<k>\b(?:{keywords})\b)|(?P<n>\b\d[\w.]*)|\w+", re.DOTALL
    )
