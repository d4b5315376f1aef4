"""The code of a line: without its texts and comments, but with the code that a text may have in it.

A name in a message is no call. In many languages, a text may have code between braces, such as ``"#{lift(gate)}"`` of
Ruby, which is code all the same. A line is read by itself, so what begins on a line above is the caller's concern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_LINE = 1_000
"""Characters of a line that are read."""

_OWN_TEXTS_ALONE = re.compile(r"(?!)")
"""A pattern for no text, where each text may have code."""

WITH_LISTS = frozenset({"HCL", "Terraform"})
"""Languages in which a list of names refers to what they name, and in which each text may have code."""

_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
"""Texts between quotation marks of both kinds."""

_TEXTS_BESIDE_PRIMES = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<![\w')\]])'(?:[^'\\]|\\[^'\s]{1,8}|\\')'")
"""Texts and characters where a prime may be a part of a name, a transposed matrix, a variable of a type or a quote."""

_WITH_PRIMES = frozenset({
    "Haskell", "PureScript", "Elm", "OCaml", "F#", "Julia", "Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket",
})  # fmt: skip
_SENTENCES = re.compile(r"``[^`]*\s[^`]*``|`[^`]*\s[^`]*`")
_WITH_SENTENCES = frozenset({"F#", "Kotlin", "Scala", "Swift"})
"""Languages in which a name between back quotes may be a sentence: ``let ``isValid rejects a slash`` () =``."""

_HASH_BRACES, _DOLLAR_BRACES = re.compile(r"#\{([^{}]*)\}"), re.compile(r"\$\{([^{}]*)\}")
_IN_BRACKETS = r"\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\)"
_CODE_IN_TEXTS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("Ruby", "Crystal", "Elixir", "CoffeeScript"), _HASH_BRACES),
    **dict.fromkeys(("Dart", "Kotlin", "Groovy", "Scala", "Haxe"), _DOLLAR_BRACES),
    **dict.fromkeys(("PowerShell", "Julia"), re.compile(rf"\${_IN_BRACKETS}")),
    "Swift": re.compile(rf"\\{_IN_BRACKETS}"),
}
"""Code within texts in double quotation marks, by language."""
_SHELL_TEXTS = re.compile(r"\"(?:[^\"\\$`]|\\.|\$(?!\())*\"|'[^']*'")
"""Texts of a shell that run no command."""


_DASHED_COMMENT = r"\s--\s.*|\{-(?!#)[^-]*-\}"
_ML_COMMENT = r"\(\*(?!\))[^*]*\*\)"
_SLASHES, _HASH = r"(?:^|\s)//.*", r"(?:^|\s)#.*"
_ANY_COMMENT = r"\s(?://|#).*"
"""Comments of languages that aren't listed: ``x = 1  # one``."""

_COMMENTS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "C", "C++", "C#", "Cuda", "D", "Dart", "Go", "Groovy", "Haxe", "Java", "JavaScript", "Kotlin",
            "Objective-C", "Objective-C++", "Rust", "Scala", "Solidity", "Swift", "TSX", "TypeScript", "V", "Vala",
            "Zig",
        ),
        _SLASHES,
    ),
    **dict.fromkeys(
        (
            "Awk", "CMake", "CoffeeScript", "Crystal", "Elixir", "GDScript", "Julia", "Nim", "Perl", "PowerShell",
            "Python", "R", "Raku", "Ruby", "Shell", "Starlark", "Tcl", "fish",
        ),
        _HASH,
    ),
    "Haskell": _DASHED_COMMENT, "Elm": _DASHED_COMMENT, "PureScript": _DASHED_COMMENT, "Lua": r"\s--.*",
    "OCaml": _ML_COMMENT, "F#": rf"{_ML_COMMENT}|\s//.*", "Erlang": r"\s%.*", "Vim Script": r"\s\"(?!\").*",
    "Fortran": r"!.*", "Fortran Free Form": r"!.*", "SQL": r"\s--.*", "MATLAB": r"\s%.*", "Ada": r"\s--.*",
    "Clojure": r"\s;.*", "Common Lisp": r"\s;.*", "Emacs Lisp": r"\s;.*", "Scheme": r"\s;.*", "Racket": r"\s;.*",
}  # fmt: skip
"""Comments at the end of a line or within it, by language."""


def bare_code(line: str, language: str) -> str:
    """Return the beginning of a line without its texts, names that are sentences, and comments."""
    texts = _texts_of(line, language)
    code_in_text = _CODE_IN_TEXTS.get(language)
    without_texts = texts.sub(
        '""' if code_in_text is None else lambda text: _code_within(text[0], code_in_text), line[:MAX_LINE]
    )
    if language in _WITH_SENTENCES:
        without_texts = _SENTENCES.sub('""', without_texts)
    return re.sub(_COMMENTS.get(language, _ANY_COMMENT), "", without_texts)


def _texts_of(line: str, language: str) -> re.Pattern[str]:
    """Return the pattern for the texts of a line that have no code outside of their braces."""
    if language in WITH_LISTS and "${" in line:
        return _OWN_TEXTS_ALONE
    if language == "Shell":
        return _SHELL_TEXTS
    return _TEXTS_BESIDE_PRIMES if language in _WITH_PRIMES else _TEXTS


def _code_within(text: str, form: re.Pattern[str]) -> str:
    """Return the code within a text, each part in brackets; a text in single quotation marks has none."""
    return " ".join(['""', *(f"({part})" for part in form.findall(text))]) if text.startswith('"') else '""'


_RUNS_TEXT = re.compile(r"\s*(?:\w+\s+)?(?:trap|eval)\b|.*\s-c\s")
"""Commands of a shell that run a text: `trap "stop" EXIT`, `sh -c "stop"`."""


def without_shell_texts(line: str) -> str:
    """Return a line of a shell script without the texts that nothing runs, such as those of messages."""
    if len(line) > MAX_LINE or _RUNS_TEXT.match(line) is not None:
        return line
    return _SHELL_TEXTS.sub('""', line)
