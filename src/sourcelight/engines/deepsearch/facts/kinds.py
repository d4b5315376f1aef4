"""Words for kinds of definitions, as their own lines write them: a kind that no line writes isn't said.

The index has one list of kinds for all languages, in which a named type of Go, an alias of TypeScript and a ``typedef``
of C are classes. A reader of Go would call that wrong, so a headline takes the word from the line that it cites.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.query.languages import language_of
from sourcelight.engines.symbols.definition_parser import Definition

_TYPES = frozenset({"class", "struct", "interface", "enum", "union", "record", "trait", "type", "object"})
FUNCTION_KINDS = frozenset({"function", "method", "constructor"})
"""Kinds of what has a body that runs and may have parameters."""
_SCOPES = frozenset({"module", "namespace", "package"})
_VALUES = frozenset({"constant", "variable"})
_OF_TYPES = {
    "class": "class", "struct": "struct", "interface": "interface", "enum": "enum", "union": "union", "trait": "trait",
    "protocol": "protocol", "record": "record", "actor": "actor", "object": "object", "mixin": "mixin", "type": "type",
    "typealias": "type alias", "typedef": "type", "newtype": "type", "data": "type", "using": "type",
    "associatedtype": "associated type", "delegate": "delegate", "message": "message", "service": "service",
    "input": "input type", "table": "table", "view": "view", "defprotocol": "protocol", "defrecord": "record",
    "deftype": "type", "opaque": "type", "module": "module", "annotation": "annotation", "extension": "extension",
}  # fmt: skip
"""Keywords of types, and what their languages call what they define."""
_OF_SCOPES = {
    "module": "module", "mod": "module", "namespace": "namespace", "package": "package", "defmodule": "module",
}  # fmt: skip
_OF_VALUES = {"const": "constant", "constexpr": "constant", "var": "variable"}
_OF_MEMBERS = {
    "Kotlin": "property", "Swift": "property", "TypeScript": "property", "TSX": "property", "PHP": "property",
    "JavaScript": "property", "Python": "attribute",
}  # fmt: skip
_WITH_FIELDS = frozenset({"Go", "Rust", "C", "C++", "Java", "C#", "Objective-C", "Zig", "Dart"})
_WITH_LET = frozenset({"F#", "OCaml"})
_WITH_SIGNATURES = frozenset({"Elm", "Haskell", "PureScript"})
_MACROS = re.compile(r"^\s*(?:#\s*define\b|macro_rules!|\(?defmacrop?\b|macro(?:\s|\s*\())")
_ROUTINES = {
    "template": "template", "macro": "macro", "iterator": "iterator", "converter": "converter", "mixin": "mixin",
    "procedure": "procedure", "proc": "procedure", "trigger": "trigger", "aggregate": "aggregate", "rpc": "",
}  # fmt: skip
"""Keywords of what runs like a function, and isn't called one."""
_WORD = re.compile(r"[@#]?\w+!?")
_CAPITALS = re.compile(r"[A-Z][A-Z\d_]+")
_BRACKETED = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|'[^']*'")
_C_FAMILY = frozenset({"C", "C++", "Objective-C", "Objective-C++", "CUDA"})
_ALL_FUNCTIONS = frozenset(
    {"Kotlin", "Elixir", "Erlang", "Haskell", "Lua", "Zig", "Shell", "R", "Julia", "Perl", "Clojure"}
)
"""Languages that call members of a class or a module functions, too."""
_ALL_METHODS = frozenset({"Ruby", "Java", "C#"})
_WITH_ROUTINES = frozenset({"CSS", "D", "Less", "Nim", "Protocol Buffer", "SCSS", "SQL"})
_CLOJURE_FUNCTION = re.compile(r"\((?:\w+/)?(?:defn-?|defmacro|defmulti|defmethod|fn)\s")
_HEAD_LINES = 8
KEYWORDS = frozenset(
    {"if", "for", "while", "switch", "else", "do", "return", "catch", "try", "sizeof", "case", "until"}
)
"""Words that no language has as names: where a grammar reads one as a function, it has lost its way between ``#if``."""


def kind_in_words(  # noqa: PLR0911, PLR0912 - kinds differ
    definition: Definition, lines: Sequence[str], path: str
) -> str:
    """Return the word of a file's language for a definition, by the words of its line; empty if uncertain.

    Parameters
    ----------
    definition
        A definition as the index or the form of a line has it.
    lines
        The lines of its file.
    path
        Its path, which tells the language.
    """
    if not 0 < definition.line <= len(lines):
        return ""

    line, language = lines[definition.line - 1], language_of(path)
    match = re.search(rf"(?<![\w$]){re.escape(definition.name)}(?![\w$])", line)
    if match is None:
        return ""

    before, after = line[: match.start()], line[match.end() :]
    if _MACROS.match(before):
        return "macro"
    if definition.kind == "enummember":
        return "member of an enum"
    if language == "Solidity" and (keyword := re.search(r"\b(modifier|event|error)\s+$", before)) is not None:
        return keyword[1]
    if definition.kind in _TYPES:
        return _type_in_words(definition, lines, before, after, language)
    if language in _WITH_LET and re.match(r"\s*[:=]", after) is not None:
        return ""  # a value without parameters, which may be a function for all that the line says
    if language in _WITH_SIGNATURES and "->" not in after and "→" not in after:
        return ""  # a value, or a function whose type is written below or has a name of its own
    if definition.kind in FUNCTION_KINDS:
        return _function_in_words(definition, lines, before, after, language)

    words = [word.lower() for word in _WORD.findall(_without_brackets(before))]
    if definition.kind in _SCOPES:
        return next((_OF_SCOPES[word] for word in reversed(words) if word in _OF_SCOPES), "")

    if definition.kind in _VALUES:
        if "static" in words and "final" in words:
            return "constant"
        return next((_OF_VALUES[word] for word in reversed(words) if word in _OF_VALUES), "")

    if definition.kind not in {"field", "property"} or not definition.container:
        return ""

    return _OF_MEMBERS.get(language, definition.kind if language in _WITH_FIELDS else "")


def kind_of_row(row: Mapping[str, Any]) -> str:
    """Return what the language of a row calls its definition, by the words of its line."""
    definition = Definition(row["symbol"] or "", row["symbol_kind"] or "", "", 0, 1, 1, 1)
    kind = kind_in_words(definition, [row["line"] or ""], row["path"])
    # A name behind the body of a type, as in C: `} entry_t;`.
    return kind or ("type" if language_of(row["path"]) in {"C", "C++", "Objective-C"} else "")


def in_words_with_article(kind: str) -> str:
    """Return a kind with its article, such as "a class" or "an interface"; empty for none."""
    return f"{'an' if re.match('[aeio]', kind) else 'a'} {kind}" if kind else ""


def _without_brackets(text: str) -> str:
    """Return a text without brackets and quotes: the ``class`` of a template's parameter isn't a keyword."""
    while (shorter := _BRACKETED.sub(" ", text)) != text:
        text = shorter
    return text


def _type_in_words(definition: Definition, lines: Sequence[str], before: str, after: str, language: str) -> str:
    if language == "Go":
        word = re.match(r"(?:\[.*\])?\s+(struct|interface)\b", after)
        return word[1] if word is not None else "type"

    words = _WORD.findall(_without_brackets(before))
    keywords = [word.lower() for word in words if word.lower() in _OF_TYPES]
    if "@interface" in words:
        return "annotation" if language in {"Java", "Groovy"} else "class"

    if not keywords:
        # The name of a C type may stand behind its body: `} entry_t;`.
        first_line = lines[definition.begin_line - 1] if 0 < definition.begin_line <= len(lines) else ""
        return "type" if re.match(r"\s*typedef\b", first_line) else ""

    if "typedef" in keywords:
        return "type"
    if keywords[-1] in {"class", "struct"} and len(keywords) > 1 and keywords[-2] in {"enum", "record", "annotation"}:
        return _OF_TYPES[keywords[-2]]

    return _OF_TYPES[keywords[-1]]


def _function_in_words(  # noqa: PLR0911 - languages differ
    definition: Definition, lines: Sequence[str], before: str, after: str, language: str
) -> str:
    if re.search(r"\b(?:get|set)\s+$", before) and language in {"JavaScript", "TypeScript", "TSX", "Dart"}:
        return "property"

    keyword = next((word.lower() for word in re.findall(r"\w+", before)[::-1] if word.lower() in _ROUTINES), "")
    if language in _WITH_ROUTINES and keyword:
        return _ROUTINES[keyword]

    above = "\n".join(lines[max(0, definition.begin_line - 1) : definition.line])
    if language == "Python" and re.search(r"@(?:\w+\.)*(?:cached_)?property\b|@\w+\.setter\b", above):
        return "property"
    if language == "Dart" and re.search(r"\bfactory\s", before) is not None:
        return "constructor"
    if definition.kind == "constructor" or definition.name == definition.container.rpartition(".")[2]:
        return "constructor"
    if language in _C_FAMILY and not before.strip() and _CAPITALS.fullmatch(definition.name):
        # A macro that is called at the top of a file looks like a function without a type.
        return ""
    if language == "Clojure" and _CLOJURE_FUNCTION.search(before) is None:
        return ""  # what a macro of the project's own defines
    if language in _ALL_METHODS or (language == "Objective-C" and re.match(r"\s*[-+]\s*\(", before) is not None):
        return "method"
    if language in _ALL_FUNCTIONS:
        return "function"
    if language == "Rust" and definition.kind == "method":
        head = "\n".join(lines[definition.line - 1 : definition.line - 1 + _HEAD_LINES]).partition("{")[0]
        return "method" if re.search(r"\bself\b", head) else "function"
    if definition.kind == "method" and re.match(r"[\"']?\s*[:=]", after):
        return "function"  # of an object, in JavaScript

    return definition.kind


_MACRO = re.compile(r"[A-Z][A-Z\d]*(?:_[A-Z\d]+)+")


def is_macro(name: str, path: str) -> bool:
    """Return whether a function of C is likely a macro: `if MILL_LIKELY(x) {` looks like the head of a function."""
    return _MACRO.fullmatch(name) is not None and language_of(path) in {"C", "C++", "Objective-C"}
