"""Source code as HTML with colored tokens, by small grammars of families of languages.

A grammar is the forms of comments and strings of a family, and its keywords. They become one regular expression, whose
alternatives are tried at each character, so that a keyword in a string isn't colored. `code_tokens` lists the tokens of
a text; `highlight_code` writes them as HTML, together with matches of a search, which may begin or end within a token.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

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

# Comments. One that is not closed ends with the text.
_HASH_COMMENT = r"#[^\n]*"
"""As in ``# comment``."""
_HASH_BLOCK = rf"#=.*?(?:=#|\Z)|{_HASH_COMMENT}"
"""As in ``#= comment =#`` of Julia, or a line."""
_C_BLOCK = r"/\*.*?(?:\*/|\Z)"
"""As in ``/* comment */``."""
_SLASH_COMMENT = rf"//[^\n]*|{_C_BLOCK}"
"""As in ``// comment``, or a block of C."""
_DASH_COMMENT = rf"--[^\n]*|{_C_BLOCK}"
"""As in ``-- comment``, or a block of C."""

# Strings. One that is not closed ends with its line, or with the text if it may go over lines. Between apostrophes,
# which mark other things too in some languages, it must be closed, and soon.
_DOUBLE_QUOTED = r'"(?:[^"\\\n]|\\.)*"?'
"""As in ``"a \\"string\\""``."""
_SINGLE_QUOTED = r"'(?:[^'\\\n]|\\.){0,100}'"
"""As in ``'string'``."""
_CHARACTER = r"'(?:[^'\\\n]|\\[^'\n]{1,9}|\\')'"
"""As in ``'x'`` and ``'\\u00e9'``; not the lifetime ``'a`` of Rust."""
_TRIPLE_QUOTED = r'"""(?:[^\\]|\\.)*?(?:"""|\\?\Z)|' + r"'''(?:[^\\]|\\.)*?(?:'''|\\?\Z)"
"""Strings between three quotation marks or apostrophes, over several lines."""
_BACKQUOTED = r"`(?:[^`\\]|\\.)*(?:`|\\?\Z)"
"""As in the template ```total: ${count}``` of JavaScript and the raw strings of Go, over several lines."""
_STRINGS = rf"{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}"
_STRINGS_AND_CHARACTERS = rf"{_DOUBLE_QUOTED}|{_CHARACTER}"

_C_LIKE = """
cpp cc cxx hpp c++ objc objective-c csharp cs c# go java javascript js jsx typescript ts tsx scala kotlin kt php swift
json
"""


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The grammar of a family of languages.

    Attributes
    ----------
    comments, strings
        Regular expressions.
    keywords, languages
        Words with spaces between them.
    ignores_case
        Whether keywords may be in capital letters.
    """

    comments: str
    strings: str
    keywords: str
    languages: str
    ignores_case: bool = False

    @property
    def has_c_blocks(self) -> bool:
        """Whether comments may go from ``/*`` to ``*/``."""
        return _C_BLOCK in self.comments


# A longer form stands before the shorter one that matches its beginning.
_GRAMMARS = (
    _Grammar(_HASH_COMMENT, rf"{_TRIPLE_QUOTED}|{_STRINGS}", _PYTHON, "python py pyi cython starlark"),
    _Grammar(_HASH_COMMENT, _STRINGS, _RUBY, "ruby rb"),
    _Grammar(_HASH_COMMENT, _STRINGS, _R, "r"),
    _Grammar(_HASH_BLOCK, rf"{_TRIPLE_QUOTED}|{_STRINGS_AND_CHARACTERS}", _JULIA, "julia"),
    _Grammar(_HASH_COMMENT, _STRINGS, _SHELL, "bash sh shell zsh make makefile yaml yml toml ini dockerfile"),
    _Grammar(_DASH_COMMENT, _STRINGS, _SQL, "sql", ignores_case=True),
    _Grammar(_SLASH_COMMENT, _STRINGS_AND_CHARACTERS, _C, "rust rs c h"),
    _Grammar(_SLASH_COMMENT, rf"{_BACKQUOTED}|{_STRINGS}", _C, _C_LIKE),
)
_GRAMMAR_OF = {language: grammar for grammar in _GRAMMARS for language in grammar.languages.split()}

Token = tuple[int, int, str]
"""Start and end (exclusive) of a token in characters, and its kind: ``c``, ``s``, ``n`` or ``k``, as in `code_html`."""

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
    grammar = _GRAMMAR_OF.get(language.lower())
    if grammar is None or len(text) > _MAX_CHARS:
        return []
    start = _open_comment_end(text) if grammar.has_c_blocks else 0
    open_comment = [(0, start, "c")] if start else []
    matches = _pattern(grammar).finditer(text, start)
    return open_comment + [(match.start(), match.end(), match.lastgroup) for match in matches if match.lastgroup]


def _open_comment_end(text: str) -> int:
    """Return the end of a block comment that began above the text, as in quoted documentation; 0 without one."""
    end = text.find("*/")
    if end < 0 or not text.lstrip().startswith("*") or "/*" in text[:end]:
        return 0
    return end + len("*/")


def line_tokens(lines: Sequence[str], language: str) -> list[list[Token]]:
    """Return tokens of each line, read as one text, so that a string or a comment may go over several lines."""
    by_line: list[list[Token]] = [[] for _ in lines]
    line_starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    for token_start, token_end, kind in code_tokens("\n".join(lines), language):
        index = bisect.bisect_right(line_starts, token_start) - 1
        while index < len(lines) and line_starts[index] < token_end:
            start = max(token_start - line_starts[index], 0)
            end = min(token_end - line_starts[index], len(lines[index]))
            if start < end:
                by_line[index].append((start, end, kind))
            index += 1

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
    for match_start, match_end in sorted(zip(starts, ends, strict=True)):
        # Where matches overlap, the rest of the later one is marked.
        start, end = max(match_start, position), min(match_end, len(text))
        if start < end:
            parts += [_color(text, tokens, position, start), "<mark>", _color(text, tokens, start, end), "</mark>"]
            position = end

    parts.append(_color(text, tokens, position, len(text)))
    return "".join(parts)


def _color(text: str, tokens: Sequence[Token], start: int, end: int) -> str:
    """Return HTML of a part of a text, with the tokens within it."""
    parts: list[str] = []
    position = start
    # The token that begins before the part may reach into it. Tokens don't overlap, so those before that one don't.
    first_index = max(bisect.bisect_right(tokens, (start, -1, "")) - 1, 0)
    for token_start, token_end, kind in tokens[first_index:]:
        if token_start >= end:
            break
        part_start, part_end = max(token_start, position), min(token_end, end)
        if part_start < part_end:
            token_html = f'<span class="sl-{kind}">{escape(text[part_start:part_end])}</span>'
            parts += [escape(text[position:part_start]), token_html]
            position = part_end

    return "".join([*parts, escape(text[position:end])])


@functools.cache
def _pattern(grammar: _Grammar) -> re.Pattern[str]:
    """Return the pattern of all tokens of a grammar, with a group for each kind."""
    flags = re.DOTALL | (re.IGNORECASE if grammar.ignores_case else re.NOFLAG)
    keywords = "|".join(grammar.keywords.split())
    kinds = (
        rf"(?P<c>{grammar.comments})",
        rf"(?P<s>{grammar.strings})",
        rf"(?P<k>\b(?:{keywords})\b)",
        r"(?P<n>\b\d[\w.]*)",
        # Names that aren't keywords are skipped, so that words and digits in them don't count.
        r"\w+",
    )
    return re.compile("|".join(kinds), flags)
