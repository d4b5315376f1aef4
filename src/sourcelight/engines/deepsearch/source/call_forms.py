"""Calls by the form of a line, in languages that no grammar reads and where a grammar lost its way."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MAX_CALL_LINE = 1_000
"""Characters of a line in which a call is looked for."""
WITHOUT_BRACKETS = frozenset({"Haskell", "OCaml", "F#", "Elm", "PureScript"})
_CALL_FORMS: Mapping[str, str] = {
    "Elixir": r"(?:(?<![\w@:]){name}\s*\(|\|>\s*(?:\w+\.)*{name}\b|&(?:\w+\.)*{name}/\d)",
    "Perl": r"(?:(?<![\w$@%]){name}\s*\(|->\s*{name}\b|&(?:\w+::)*{name}\b)",
    "Clojure": r"\((?:[\w.-]+/)?{name}(?=[\s)]|$)",
    "Lua": r"(?<![\w]){name}\s*[(\"{{]",
    "Objective-C": r"(?:(?<![\w$]){name}\s*\(|\[[^\]]*\s{name}[:\]])",
    "Swift": r"(?<![\w$]){name}\s*(?:<[^<>()]*>)?\s*[({{]",
    "Vim Script": r"(?<![\w:#.])(?:[sgl]:|<SID>|(?:\w+#)+)?{name}\s*\(",
    # A routine of Nim may be the first word of a command, or behind its first argument.
    "Nim": r"(?:(?<![\w`]){name}\s*\(|(?:^\s*|[:=]\s+|\bawait\s+){name}\s+[\w\"&@\[(]|[\w)\]]\.{name}\b(?!\s*=[^=]))",
    "Dart": r"(?<![\w$]){name}\s*(?:<[^()]*>)?\(",
    # The first word of a command.
    "Shell": (
        r"(?:^\s*|[;&|({{!]\s*|\$\(\s*|`\s*|(?<!\S)(?:then|do|else|if|elif|while|until)\s+){name}(?=[\s;)&|`\"]|$)"
    ),
}
"""Forms of calls, by language; elsewhere a bracket follows the name."""
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_TEXTS_BESIDE_PRIMES = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<![\w')\]])'(?:[^'\\]|\\[^'\s]{1,8}|\\')'")
"""Texts and characters where a prime may be a part of a name, a transposed matrix, a variable of a type or a quote."""
_WITH_PRIMES = frozenset({
    "Haskell", "PureScript", "Elm", "OCaml", "F#", "Julia", "Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket",
})  # fmt: skip
_SHELL_TEXTS = re.compile(r"\"(?:[^\"\\$`]|\\.|\$(?!\())*\"|'[^']*'")
"""Texts of a shell that run no command."""


_DASHED_COMMENT = r"\s--\s.*|\{-(?!#)[^-]*-\}"
_ML_COMMENT = r"\(\*(?!\))[^*]*\*\)"
_COMMENTS: Mapping[str, str] = {
    "Haskell": _DASHED_COMMENT, "Elm": _DASHED_COMMENT, "PureScript": _DASHED_COMMENT, "Lua": r"\s--.*",
    "OCaml": _ML_COMMENT, "F#": rf"{_ML_COMMENT}|\s//.*", "Erlang": r"\s%.*", "Vim Script": r"\s\"(?!\").*",
    "Clojure": r"\s;.*", "Common Lisp": r"\s;.*", "Emacs Lisp": r"\s;.*", "Scheme": r"\s;.*", "Racket": r"\s;.*",
}  # fmt: skip
"""Comments at the end of a line or within it, where neither a hash nor two slashes begin them."""


def has_call(line: str, name: str, language: str) -> bool:
    """Return whether a line of code has the form of a call, outside of texts and comments."""
    texts = _SHELL_TEXTS if language == "Shell" else _TEXTS_BESIDE_PRIMES if language in _WITH_PRIMES else _TEXTS
    bare = re.sub(_COMMENTS.get(language, r"\s(?://|#).*"), "", texts.sub('""', line[:_MAX_CALL_LINE]))
    escaped = re.escape(name)
    if language not in WITHOUT_BRACKETS:
        if re.match(r"\s*@\w", bare) and language == "Elixir":
            return False
        if language in _WITH_TYPES_FIRST and _is_prototype(bare, escaped):
            return False

        if language == "Erlang":
            if bare.startswith("-"):
                return False  # a specification or an attribute
            # The head of a clause begins in the first column, and nothing else does.
            bare = re.sub(rf"^{escaped}\s*\(", "(", bare)

        form = _CALL_FORMS.get(language, r"(?<![\w$]){name}\s*\(").format(name=escaped)
        return re.search(form, bare) is not None

    # A signature, an equation, a pragma or a list of exports doesn't call it.
    if re.match(r"\s*(?:(?:module|val|external|type|exception|infix[lr]?)\b|\{-#)", bare) or re.match(
        rf"\s*{escaped}\b[^=]*(?:::|(?<![=<>/]) ?=(?!=)|\|)|\s*+(?:[,(]\s*+)?{escaped}\s*+(?:[,)]\s*+)?$", bare
    ):
        return False

    return re.search(rf"(?<![\w.']){escaped}(?![\w'])|(?<=[A-Za-z]\.){escaped}(?![\w'])", bare) is not None


_BEFORE_CALLS = frozenset([
    "return", "else", "do", "case", "throw", "co_await", "co_return", "not", "new", "await", "yield", "assert", "in",
    "is", "and", "or",
])  # fmt: skip
"""Keywords that precede a call; any other word before a name is a type."""
_WITH_TYPES_FIRST = frozenset({"C", "C++", "Cuda", "Objective-C++", "Java", "C#"})


def _is_prototype(line: str, escaped_name: str) -> bool:
    """Return whether a word that is no keyword precedes a name, as the type of a declaration does in C or Java."""
    match = re.match(rf"([\w\s*&:<>,]*[\w*&>])\s*(?<!\w){escaped_name}\s*\(", line)
    words = [] if match is None else re.findall(r"\w+", match[1])
    return bool(words) and words[-1] not in _BEFORE_CALLS
