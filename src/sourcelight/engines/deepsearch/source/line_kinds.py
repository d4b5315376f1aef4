"""Kinds of lines by their words alone: comments, imports, documents, and the lines of a file that are code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

IMPORT = re.compile(
    r"\s*(?:import|from|use|using|require(?:_relative)?|include|#\s*include|export\s+\{)\b|.*=\s*require\("
)
IMPORT_STATEMENT = re.compile(
    r"\s*(?:from\s+[\w.]+\s+import\b|import\b(?:\s*\($|(?!\s*\())|#\s*include\b|using\s+(?:static\s+)?[\w.]+\s*;"
    r"|use\s+[\w\\:]+(?:\{|[;,]|\s+as\b)|require(?:_relative)?\s*\(?\s*['\"]|package\s+[\w.]+;?\s*$"
    r"|(?:const|let|var)\s+[\w${},: ]{1,200}=\s*require\(|export\s+(?:\*|\{[^{}]{0,500}\})\s+from\b"
    r"|alias\s+[A-Z][\w.]*\s*$|open\s+[A-Z][\w.]*\s*$|library\([\w.]*\)\s*$|(?:export|S3method|importFrom)\([\w.,]*\)$)"
)
"""A line that imports or exports names, or begins to; not one that only has such a word."""
COMMENT = re.compile(r"\s*(?:#(?!\s*(?:define|if|elif)|\[)|//|/\*|\*(?:[\s*/]|$)|--(?:\s|$)|;|\"\"\"|''')")
"""The beginning of a comment; not an attribute of Rust (``#[``), a pointer (``*p``) or a decrement (``--i``)."""
ANY_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|\"\"\"|''')")
"""The beginning of a comment or a documentation text in some language, where more is read than shown."""
_NO_CODE = re.compile(r"\s*(?:#(?!\[)|//|/\*|\*(?:[\s/]|$)|--\s|;|<!--)")
"""A line without code. Lines of the preprocessor are none here, and docstrings are told by their quotation marks."""
_LINE_COMMENT = re.compile(r"(?:^|(?<=\s))//")
_WHOLE_COMMENT = re.compile(r"\s*(?:#|%|--\s)")
_HASH_COMMENTS = re.compile(
    r"\.(?:py|pyi|rb|rake|ru|cr|sh|bash|zsh|fish|bats|ps[md]?1|pl|pm|t|psgi|r|jl|nims?|nimble|exs?|coffee|mk|toml"
    r"|ya?ml|cfg|ini|conf|gemspec|podspec|nix|cmake)$"
    r"|(?:^|/)[^/.]+$",
    re.IGNORECASE,
)
"""Paths of languages whose comments begin with a hash; a path without an ending is a script or a Makefile."""
_DASH_COMMENTS = re.compile(r"\.(?:lua|hs|elm|purs|sql|adb|ads|vhdl?)$")
"""Paths of languages whose comments begin with two dashes."""
_OTHER_COMMENTS = ((re.compile(r"\.(?:f|for|f90|f95|f03|f08)$", re.IGNORECASE), "!"), (re.compile(r"\.[eh]rl$"), "%"))
"""Paths of Fortran and Erlang, with the mark of their comments."""
DOCUMENTS = re.compile(
    r"\.(?:md|mdx|mdown|markdown|rst|adoc|asciidoc|txt|rd|rdoc|pod|org|textile|tex|texi|texinfo|creole)$"
    r"|(?:^|/)(?:changelog|changes|news)$",
    re.IGNORECASE,
)
"""Paths of documents."""
_ENVIRONMENT = (
    r"(?:(?:environ(?:\.get|\.setdefault|\.pop)?\s*[\[(]|[gG]et[eE]nv\s*\(|LookupEnv\s*\(|ENV\s*\[|ENV\.fetch\s*\("
    r"|process\.env\[|env::var(?:_os)?\s*\(|GetEnvironmentVariable\s*\(|(?:get|fetch)_env!?\s*\(|\$_(?:ENV|SERVER)\s*\["
    r"|\.environment\s*\[|(?:lookupEnv|getEnv)\s+|getEnvVarOwned\s*\([^,]*,)\s*[\"'`]|process\.env\.|\$ENV\{[\"']?)"
)
VARIABLE = re.compile(_ENVIRONMENT + r"([A-Za-z_][A-Za-z0-9_]*+)(?![$%#{])[\"'`]?(\]\s*=(?!=))?")
"""A variable of the environment by its name, and whether it is set there."""
LISPS = frozenset({"Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket"})
LISP_METADATA = r"(?:\^(?:\{[^{}]*\}|[^\s{]\S*)\s+)*"
"""A regular expression for what Clojure has between the keyword and the name of a definition: ``^:private``."""
_BLOCK_COMMENTS: Mapping[str, tuple[str, str]] = {
    "Haskell": ("{-", "-}"), "Elm": ("{-", "-}"), "PureScript": ("{-", "-}"), "OCaml": ("(*", "*)"),
    "F#": ("(*", "*)"), "Nim": ("#[", "]#"), "Julia": ("#=", "=#"), "Lua": ("--[[", "]]"), "PowerShell": ("<#", "#>"),
    "CMake": ("#[[", "]]"),
}  # fmt: skip
"""The marks around a comment of several lines, by language."""
_LINE_COMMENTS: Mapping[str, str] = {"Erlang": "%", "Vim Script": '"', "Lua": "--", "Elm": "--", "F#": "//"}
"""The mark of a comment in languages whose mark is code elsewhere."""
_WITHOUT_BLOCKS = frozenset({
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


TAB_SIZE = 4
"""Columns of a tab where lines with tabs are compared with lines with spaces."""


def indent_width(line: str, *, tab_size: int = 1) -> int:
    """Return the columns before the first letter of a line; a tab goes to the next multiple of `tab_size`."""
    expanded = line.expandtabs(tab_size)
    return len(expanded) - len(expanded.lstrip())


def lines_of_code(lines: Iterable[str], language: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, from 1, without comments and multi-line strings."""
    until = ""
    for number, line in enumerate(lines, 1):
        if language in LISPS:
            # A hash reads a set, and texts go over several lines, so that leaving out one of them unbalances quotes.
            if not line.lstrip().startswith(";"):
                yield number, line
            continue

        if until:
            until = "" if until in line else until
            continue

        if language == "Perl" and re.match(r"__(?:END|DATA)__\s*$|=[a-z]", line) is not None:
            # Documentation ends with its own mark, and what follows the end of a program is text.
            until = "=cut" if line.startswith("=") else "\0"
            continue

        is_comment = _is_comment(line, language)
        if not is_comment:
            yield number, line

        if language in _WITH_TEMPLATES and not is_comment and line.count("`") % 2:
            until = "`"
        else:
            until = _find_end(line, language)


def _is_comment(line: str, language: str) -> bool:
    """Return whether a line begins with a comment."""
    opening = _BLOCK_COMMENTS.get(language, ("", ""))[0]
    text = line.lstrip()
    # In the languages of ML, this is the operator between parentheses.
    is_block = opening != "" and text.startswith(opening) and not text.startswith("(*)")
    mark = _LINE_COMMENTS.get(language, "")
    return is_block or (mark != "" and text.startswith(mark)) or _NO_CODE.match(line) is not None


def _find_end(line: str, language: str) -> str:
    """Return what ends the comment or text that a line opens and leaves open; empty for none."""
    opening, end = _BLOCK_COMMENTS.get(language, ("", ""))
    if opening and line.count(opening) > line.count(end):
        return end

    # "// text/*, json" opens no block.
    line = _LINE_COMMENT.split(line, maxsplit=1)[0]
    has_blocks = language not in _WITHOUT_BLOCKS
    if has_blocks and line.count("/*") > line.count("*/") and re.search(r"[\"'`][^\"'`]*/\*", line) is None:
        return "*/"
    # Marks in a comment, such as those of edoc, open no text.
    is_comment = _WHOLE_COMMENT.match(line) is not None
    return (
        ""
        if is_comment or language in WITHOUT_LONG_TEXTS
        else next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
    )


def is_outside_comments(line: str, above: Sequence[str]) -> bool:
    """Return whether a line neither begins a comment nor is within a block comment of the lines above."""
    text = "\n".join(above)
    return _NO_CODE.match(line) is None and text.rfind("/*") <= text.rfind("*/")


def comment_mark_of(path: str) -> str:
    """Return what begins a comment that ends with its line, in the language of a path."""
    if _HASH_COMMENTS.search(path) is not None:
        return "#"
    other = next((mark for pattern, mark in _OTHER_COMMENTS if pattern.search(path) is not None), "")
    if other:
        return other
    return "--" if _DASH_COMMENTS.search(path) is not None else "//"


def comment_end_at(text: str, position: int, mark: str) -> int:
    """Return the position behind the comment that begins at one, with the mark of its language; the same for none."""
    if text.startswith(mark, position):
        return len(text)
    if mark == "//" and text.startswith("/*", position):
        end = text.find("*/", position + 2)
        return len(text) if end < 0 else end + 2
    return position


def is_in_code_block(line: str, above: Sequence[str], path: str) -> bool:
    """Return whether a line of a document is code: in a fence, typed at a prompt, or indented in reStructuredText."""
    if sum(line_above.lstrip().startswith(("```", "~~~")) for line_above in above) % 2:
        return True
    is_indented = path.endswith(".rst") and line.startswith("    ") and "``" not in line
    return is_indented or line.lstrip().startswith((">>>", "$ "))


def macro_lines(lines: Sequence[str], line: int) -> Sequence[str]:
    """Return the lines of a file up to the last one of a macro, which begins on a line (from 1) and may go on."""
    while line < len(lines) and lines[line - 1].rstrip().endswith("\\"):
        line += 1
    return lines[:line]
