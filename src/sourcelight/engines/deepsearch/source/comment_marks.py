"""Recognize what begins and ends a comment, and a text of several lines, in each language.

A language is told by its display name or, where only a path is at hand, by the ending of the path. Nothing is parsed:
marks are counted line by line, and where a mark may be code or a part of a text, it begins no comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommentMarks:
    """The marks of the comments of a language: up to the end of a line, around a block, around a text."""

    line: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()


_C_BLOCK = (("/*", "*/"),)
_SLASHES = CommentMarks(("//",), _C_BLOCK)
_HASH = CommentMarks(("#",))
_ML = CommentMarks((), (("(*", "*)"),))
MARKS_OF: Mapping[str, CommentMarks] = {
    **dict.fromkeys(
        (
            "C", "C++", "C#", "Dart", "Go", "Groovy", "Gradle", "Haxe", "Java", "JavaScript", "Kotlin", "Objective-C",
            "Objective-C++", "Protocol Buffer", "Rust", "SCSS", "Scala", "Svelte", "Swift", "TSX", "TypeScript", "Vue",
            "Verilog", "SystemVerilog", "Zig", "D", "JSX",
        ),
        _SLASHES,
    ),
    **dict.fromkeys(
        (
            "Awk", "CMake", "Crystal", "Dockerfile", "Makefile", "Nix", "R", "Shell", "Tcl", "TOML", "YAML", "fish",
            "CoffeeScript",
        ),
        _HASH,
    ),
    "PHP": CommentMarks(("//", "#"), _C_BLOCK),
    "INI": CommentMarks(("#", ";")),
    "Terraform": CommentMarks(("#", "//"), _C_BLOCK),
    "Python": CommentMarks(("#",), (), ('"""', "'''")),
    "Elixir": CommentMarks(("#",), (), ('"""',)),
    "Julia": CommentMarks(("#",), (("#=", "=#"),), ('"""',)),
    "Nim": CommentMarks(("#",), (("#[", "]#"),), ('"""',)),
    "GraphQL": CommentMarks(("#",), (), ('"""',)),
    "Ruby": CommentMarks(("#",), (("=begin", "=end"),)),
    "Perl": CommentMarks(("#",), (("=head", "=cut"), ("=over", "=cut"), ("=pod", "=cut"), ("=item", "=cut"))),
    "PowerShell": CommentMarks(("#",), (("<#", "#>"),)),
    "Haskell": CommentMarks(("--",), (("{-", "-}"),)),
    "Elm": CommentMarks(("--",), (("{-", "-}"),)),
    "PureScript": CommentMarks(("--",), (("{-", "-}"),)),
    "Lua": CommentMarks(("--",), (("--[[", "]]"), ("--[=[", "]=]"))),
    "SQL": CommentMarks(("--",), _C_BLOCK),
    "Ada": CommentMarks(("--",)),
    "OCaml": _ML,
    "Standard ML": _ML,
    "F#": CommentMarks(("//",), (("(*", "*)"),)),
    "Pascal": CommentMarks(("//",), (("{", "}"), ("(*", "*)"))),
    "Erlang": CommentMarks(("%",), (), ('"""',)),
    "TeX": CommentMarks(("%",)),
    "MATLAB": CommentMarks(("%",)),
    "Prolog": CommentMarks(("%",), _C_BLOCK),
    "Clojure": CommentMarks((";",), (), ('"',)),
    "Emacs Lisp": CommentMarks((";",), (), ('"',)),
    "Common Lisp": CommentMarks((";",), (("#|", "|#"),), ('"',)),
    "Scheme": CommentMarks((";",), (("#|", "|#"),), ('"',)),
    "Racket": CommentMarks((";",), (("#|", "|#"),), ('"',)),
    "Vim Script": CommentMarks(('"',)),
    "Visual Basic .NET": CommentMarks(("'",)),
    "Fortran Free Form": CommentMarks(("!",)),
    "CSS": CommentMarks((), _C_BLOCK),
    "HTML": CommentMarks((), (("<!--", "-->"),)),
    "XML": CommentMarks((), (("<!--", "-->"),)),
}  # fmt: skip
"""By the display name of a language. One without an entry has no comment that is certain."""

NO_CODE = re.compile(r"\s*(?:#(?!\[)|//|/\*|\*(?:[\s/]|$)|--\s|;|<!--)")
"""The beginning of a line without code: ``# gate``, ``// gate``, ``* gate``, ``-- gate``, ``<!-- gate``.

Lines of the preprocessor are none here, and docstrings are told by their quotation marks.
"""
_LINE_MARKS: Mapping[str, str] = {
    language: MARKS_OF[language].line[0] for language in ("Erlang", "Vim Script", "Lua", "Elm", "F#")
}
"""Marks of comments up to the end of a line that `NO_CODE` doesn't know, as they are code in other languages."""
_BLOCK_MARKS: Mapping[str, tuple[str, str]] = {
    language: MARKS_OF[language].blocks[0]
    for language in ("Haskell", "Elm", "PureScript", "OCaml", "F#", "Nim", "Julia", "Lua", "PowerShell")
} | {"CMake": ("#[[", "]]")}
"""Marks around a comment of several lines, other than a slash and a star."""
_WITHOUT_SLASH_STAR = frozenset({
    "Python", "Ruby", "Crystal", "Elixir", "Erlang", "Perl", "Shell", "R", "Julia", "Lua", "PowerShell", "Vim Script",
    "Haskell", "OCaml", "Elm", "Nim", "Makefile", "CMake",
    "Dockerfile",
})  # fmt: skip
"""Languages in which a slash and a star begin no comment: they are a part of a text, such as that of a media type."""
WITHOUT_LONG_TEXTS = frozenset({
    "Vim Script", "Lua", "Perl", "Shell", "R", "Ruby", "PowerShell", "Haskell", "Elm", "OCaml", "C", "C++", "Go",
    "Rust", "PHP", "JavaScript", "TypeScript", "TSX", "SQL", "PLpgSQL", "Fortran", "Fortran Free Form", "CMake",
    "Solidity", "MATLAB", "Ada", "Pascal", "Tcl", "Awk", "Objective-C", "Objective-C++", "Zig", "Erlang",
})  # fmt: skip
"""Languages in which three quotation marks in a row are a text and the beginning of another one."""
_WITH_TEMPLATES = frozenset({"JavaScript", "TypeScript", "TSX", "Go"})
"""Languages in which a text between backquotes may go over several lines."""

_LINE_COMMENT = re.compile(r"(?:^|(?<=\s))//")
_COMMENT_OF_SCRIPT = re.compile(r"\s*(?:#|%|--\s)")
"""A comment in a language that may have long texts: ``# gate``, ``% gate`` of Erlang, ``-- gate``."""
_LONG_TEXT_MARKS = ('"""', "'''")
_SLASH_STAR_IN_TEXT = re.compile(r"[\"'`][^\"'`]*/\*")


def begins_comment(line: str, language: str) -> bool:
    """Return whether a line begins with a comment."""
    text = line.lstrip()
    opening = _BLOCK_MARKS[language][0] if language in _BLOCK_MARKS else ""
    # In the languages of ML, `(*)` is the operator between parentheses.
    if opening and text.startswith(opening) and not text.startswith("(*)"):
        return True

    mark = _LINE_MARKS.get(language, "")
    return (mark != "" and text.startswith(mark)) or NO_CODE.match(line) is not None


def open_end(line: str, language: str) -> str:
    """Return the mark that ends the comment or the text that a line opens and leaves open; empty for none.

    Parameters
    ----------
    line
        A line that isn't within a comment or a text.
    language
        Its language.
    """
    if language in _WITH_TEMPLATES and line.count("`") % 2 and not begins_comment(line, language):
        return "`"
    if language in _BLOCK_MARKS:
        opening, end = _BLOCK_MARKS[language]
        if line.count(opening) > line.count(end):
            return end

    # "// text/*, json" opens no block.
    code = _LINE_COMMENT.split(line, maxsplit=1)[0] if "//" in line else line
    if language not in _WITHOUT_SLASH_STAR and _opens_slash_star(code):
        return "*/"
    # Marks in a comment, such as those of edoc, open no text.
    if language in WITHOUT_LONG_TEXTS or _COMMENT_OF_SCRIPT.match(code) is not None:
        return ""
    return next((mark for mark in _LONG_TEXT_MARKS if code.count(mark) % 2), "")


def _opens_slash_star(code: str) -> bool:
    """Return whether a line opens a block that it doesn't end, other than in a text such as ``"text/*"``."""
    return code.count("/*") > code.count("*/") and _SLASH_STAR_IN_TEXT.search(code) is None


# By the ending of a path.

_HASH_PATHS = re.compile(
    r"\.(?:py|pyi|rb|rake|ru|cr|sh|bash|zsh|fish|bats|ps[md]?1|pl|pm|t|psgi|r|jl|nims?|nimble|exs?|coffee|mk|toml"
    r"|ya?ml|cfg|ini|conf|gemspec|podspec|nix|cmake)$"
    r"|(?:^|/)[^/.]+$",
    re.IGNORECASE,
)
"""Paths of languages whose comments begin with a hash; a path without an ending is a script or a Makefile."""
_FORTRAN_PATHS = re.compile(r"\.(?:f|for|f90|f95|f03|f08)$", re.IGNORECASE)
_ERLANG_PATHS = re.compile(r"\.[eh]rl$")
_DASH_PATHS = re.compile(r"\.(?:lua|hs|elm|purs|sql|adb|ads|vhdl?)$")
_MARKS_BY_PATH = ((_HASH_PATHS, "#"), (_FORTRAN_PATHS, "!"), (_ERLANG_PATHS, "%"), (_DASH_PATHS, "--"))


def comment_mark_of(path: str) -> str:
    """Return what begins a comment that ends with its line, in the language of a path; two slashes by default."""
    return next((mark for paths, mark in _MARKS_BY_PATH if paths.search(path) is not None), "//")


def comment_end_at(text: str, position: int, mark: str) -> int:
    """Return the position behind the comment that begins at one; the same position if none begins there.

    Parameters
    ----------
    text
        A line.
    position
        Where a comment may begin, from 0.
    mark
        What begins a comment in the language of the line, as `comment_mark_of` returns it.
    """
    if text.startswith(mark, position):
        return len(text)
    if mark == "//" and text.startswith("/*", position):
        end = text.find("*/", position + 2)
        return len(text) if end < 0 else end + 2
    return position
