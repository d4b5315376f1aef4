"""The forms of lines that declare something, by the noun of a question and the language of a file.

A form is a search that anyone can run again, and its rule says in words which lines it finds. Patterns are linear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_START = r"^[ \t]*"


@dataclass(frozen=True, slots=True)
class DeclaredForm:
    """The form of the lines that declare one kind of things in a language.

    Attributes
    ----------
    search
        A regular expression for a search of lines.
    rule
        What it finds, in words: "lines that begin with …".
    name
        Finds the name of what a line declares as its first group. With it, lines of a file with one name count once.
    any_case
        Whether the language reads its keywords in any case.
    """

    search: str
    rule: str
    name: re.Pattern[str] | None = None
    any_case: bool = False


def _make_head(words: str, before: str = "", *, behind: str = r"[ \t]+[\w`]") -> DeclaredForm:
    """Make the form of lines that begin with a word and a name; `before` has the modifiers that may precede it."""
    modifiers = rf"(?:(?:{before})[ \t]+)*" if before else ""
    return DeclaredForm(rf"{_START}{modifiers}(?:{words})\b{behind}", f"lines that begin with {_write_words(words)}")


def _write_words(words: str) -> str:
    *first, last = [word.replace(r"[ \t]+", " ").replace("\\", "") for word in words.split("|")]
    return f"{', '.join(first)} or {last}" if first else last


_SCALA = r"private(?:\[\w+\])?|protected(?:\[\w+\])?|final|sealed|abstract|implicit|lazy|open|override|inline|@\w+"
_KOTLIN = (
    r"public|private|protected|internal|abstract|open|sealed|final|inner|data|enum|annotation|value|inline|expect"
    r"|actual|companion|external|fun|@\w+"
)
_SWIFT = r"public|private|fileprivate|internal|open|final|indirect|package|nonisolated|@\w+"
_DART = r"abstract|base|final|sealed|mixin|interface"
_RUST = r"pub(?:\([^()]*\))?|unsafe|auto"
_OF_JVM = r"public|private|protected|internal|static|final|abstract|sealed|partial|readonly|file|unsafe|strictfp|@\w+"
_D = r"public|private|protected|package|static|final|abstract|export|@\w+"
_CRYSTAL = r"private|abstract"
_JULIA = r"@[\w.]+|Base\.@\w+"
_SQL = (
    r"^[ \t]*create[ \t]+"
    r"(?:(?:or[ \t]+replace|or[ \t]+alter|temp(?:orary)?|unlogged|materialized|unique|global)[ \t]+)*"
)


def _make_statement(words: str) -> Mapping[str, DeclaredForm]:
    """Make the form of the statements of SQL that create something."""
    form = DeclaredForm(
        rf"{_SQL}(?:{words})\b", f"lines that begin with CREATE and {_write_words(words.upper())}", any_case=True
    )
    return {"SQL": form, "PLpgSQL": form}


def _make_block(word: str) -> Mapping[str, DeclaredForm]:
    """Make the form of the blocks of HCL."""
    form = DeclaredForm(rf"^{word}[ \t]+\"", f"lines that begin with {word} and a name")
    return {"HCL": form, "Terraform": form}


def _make_rule(word: str) -> Mapping[str, DeclaredForm]:
    """Make the form of the at-rules of style sheets."""
    form = DeclaredForm(rf"{_START}@{word}[ \t]+[\w-]", f"lines that begin with @{word} and a name")
    return {"CSS": form, "SCSS": form, "Less": form}


_MAKE_TARGET = DeclaredForm(
    r"^[\w\/%-][\w.\/% -]*::?(?:[^=:\n]|$)",
    "names before a colon at the beginning of a line",
    re.compile(r"([\w./%-]{1,200}(?: {1,4}[\w./%-]{1,200}){0,20}) {0,4}:"),
)
DECLARED_FORMS: Mapping[str, Mapping[str, DeclaredForm]] = {
    "function": {
        **_make_statement("function"),
        "CMake": DeclaredForm(rf"{_START}function[ \t]*\(", "lines that begin with function(", any_case=True),
        **_make_rule("function"),
        "Starlark": _make_head("def"),
    },
    "class": {
        "Swift": _make_head("class", _SWIFT, behind=r"[ \t]+[A-Z]"),
        "Dart": _make_head("class", _DART),
        "Crystal": _make_head("class", _CRYSTAL, behind=r"[ \t]+[A-Z]"),
        "Groovy": _make_head("class", _OF_JVM),
        "PowerShell": _make_head("class"),
        "D": _make_head("class", _D),
        "Objective-C": DeclaredForm(
            rf"{_START}@implementation[ \t]+\w+[ \t]*(?:[:{{]|$)", "lines with @implementation"
        ),
    },
    "struct": {
        "Crystal": _make_head("struct", _CRYSTAL, behind=r"[ \t]+[A-Z]"),
        "Julia": _make_head(r"mutable[ \t]+struct|struct", _JULIA),
        "Elixir": _make_head("defstruct", behind=""),
        "Swift": _make_head("struct", _SWIFT), "D": _make_head("struct", _D),
        "Zig": DeclaredForm(
            rf"{_START}(?:pub[ \t]+)?const[ \t]+\w+[ \t]*=[ \t]*(?:(?:extern|packed)[ \t]+)?struct\b",
            "lines that set a constant to a struct",
        ),
    },
    "enum": {
        "Crystal": _make_head("enum", _CRYSTAL, behind=r"[ \t]+[A-Z]"),
        "Groovy": _make_head("enum", _OF_JVM),
        "PowerShell": _make_head("enum"),
        "Swift": _make_head("enum", _SWIFT), "D": _make_head("enum", _D, behind=r"[ \t]+\w+[ \t]*(?:[:{]|$)"),
        "Dart": _make_head("enum"), "Protocol Buffer": _make_head("enum"),
    },
    "interface": {"D": _make_head("interface", _D), "Groovy": _make_head("interface", _OF_JVM)},
    "module": {
        "Crystal": _make_head("module", _CRYSTAL, behind=r"[ \t]+[A-Z]"),
        "Elixir": _make_head("defmodule"),
        "Elm": DeclaredForm(r"^(?:(?:port|effect)[ \t]+)?module[ \t]+[A-Z]", "lines that begin with module"),
        "Erlang": DeclaredForm(r"^-module\(", "lines that begin with -module"),
        "Julia": _make_head("module|baremodule"),
    },
    "package": {"Perl": _make_head("package")},
    "callback": {
        "Elixir": _make_head("@callback|@macrocallback"),
        "Erlang": DeclaredForm(r"^-callback[ \t]", "lines that begin with -callback"),
    },
    "defcustom": {"Emacs Lisp": DeclaredForm(rf"{_START}\(defcustom[ \t]", "lines that begin with (defcustom")},
    "generic function": {
        "Common Lisp": DeclaredForm(rf"{_START}\(defgeneric[ \t]", "lines that begin with (defgeneric")
    },
    "multimethod": {"Clojure": DeclaredForm(rf"{_START}\(defmulti[ \t]", "lines that begin with (defmulti")},
    "variable": _make_block("variable"),
    "output": _make_block("output"),
    "resource": _make_block("resource"),
    "data source": _make_block("data"),
    "provider": _make_block("provider"),
    "message": {"Protocol Buffer": _make_head("message")},
    "service": {"Protocol Buffer": _make_head("service")},
    "rpc": {"Protocol Buffer": _make_head("rpc")},
    "table": _make_statement("table"),
    "view": _make_statement("view"),
    "index": _make_statement("index"),
    "trigger": _make_statement("trigger"),
    "procedure": {**_make_statement("procedure"), "Nim": _make_head("proc")},
    "proc": {"Nim": _make_head("proc")},
    "template": {"Nim": _make_head("template"), "D": _make_head("template", _D)},
    "iterator": {"Nim": _make_head("iterator")},
    "macro": {
        "Clojure": DeclaredForm(rf"{_START}\(defmacro[ \t]", "lines that begin with (defmacro"),
        "Crystal": _make_head("macro", _CRYSTAL),
        "Emacs Lisp": DeclaredForm(
            rf"{_START}\((?:cl-)?defmacro\*?[ \t]", "lines that begin with (defmacro or (cl-defmacro"
        ),
        "Erlang": DeclaredForm(r"^-define\(", "lines that begin with -define"),
        "Julia": _make_head("macro"),
        "Rust": DeclaredForm(rf"{_START}macro_rules![ \t]+\w", "lines that begin with macro_rules!"),
        "C": DeclaredForm(rf"{_START}#[ \t]*define[ \t]+\w", "lines that begin with #define"),
        "C++": DeclaredForm(rf"{_START}#[ \t]*define[ \t]+\w", "lines that begin with #define"),
        "Nim": _make_head("macro"),
        "CMake": DeclaredForm(rf"{_START}macro[ \t]*\(", "lines that begin with macro(", any_case=True),
        "SQL": DeclaredForm(r"^[ \t]*\{%-?[ \t]*macro[ \t]+\w", "lines that begin with {% macro"),
    },
    "mixin": {**_make_rule("mixin"), "Dart": _make_head("mixin", "base")},
    "keyframe": _make_rule("keyframes"),
    "target": {
        "Makefile": _MAKE_TARGET,
        "CMake": DeclaredForm(
            rf"{_START}add_(?:executable|library|custom_target)[ \t]*\(",
            "lines that begin with add_executable(, add_library( or add_custom_target(",
            any_case=True,
        ),
    },
    "stage": {"Dockerfile": DeclaredForm(rf"{_START}FROM[ \t]+[^ \t]", "lines that begin with FROM", any_case=True)},
    "option": {"CMake": DeclaredForm(rf"{_START}option[ \t]*\(", "lines that begin with option(", any_case=True)},
    "trait": {"Rust": _make_head("trait", _RUST), "Scala": _make_head("trait", _SCALA)},
    "object": {"Scala": _make_head("object", f"{_SCALA}|case"), "Kotlin": _make_head("object", _KOTLIN)},
    "case class": {"Scala": _make_head(r"case[ \t]+class", _SCALA)},
    "case object": {"Scala": _make_head(r"case[ \t]+object", _SCALA)},
    "data class": {"Kotlin": _make_head(r"data[ \t]+class", _KOTLIN.replace("|data", ""))},
    "sealed class": {"Kotlin": _make_head(r"sealed[ \t]+class", _KOTLIN.replace("|sealed", ""))},
    "record": {
        "Clojure": DeclaredForm(rf"{_START}\(defrecord[ \t]", "lines that begin with (defrecord"),
        "Erlang": DeclaredForm(r"^-record\(", "lines that begin with -record"),
        "C#": _make_head("record", _OF_JVM),
        "Java": _make_head("record", _OF_JVM, behind=r"[ \t]+[A-Z]\w*[ \t]*[<(]"),
    },
    "annotation": {
        "Java": _make_head("@interface", _OF_JVM.replace(r"|@\w+", "")),
        "Kotlin": _make_head(r"annotation[ \t]+class", _KOTLIN.replace("|annotation", "")),
    },
    "protocol": {
        "Clojure": DeclaredForm(rf"{_START}\(defprotocol[ \t]", "lines that begin with (defprotocol"),
        "Elixir": _make_head("defprotocol"),
        "Swift": _make_head("protocol", _SWIFT),
        "Objective-C": DeclaredForm(
            rf"{_START}@protocol[ \t]+\w+[ \t]*(?:[<{{]|$)", "lines with @protocol and no semicolon"
        ),
    },
    "extension": {"Swift": _make_head("extension", _SWIFT), "Dart": _make_head("extension")},
    "actor": {"Swift": _make_head("actor", _SWIFT)},
    "type class": {"Haskell": DeclaredForm(r"^class[ \t]", "lines that begin with class")},
    "union": {"Zig": DeclaredForm(
        rf"{_START}(?:pub[ \t]+)?const[ \t]+\w+[ \t]*=[ \t]*(?:(?:extern|packed)[ \t]+)?union\b",
        "lines that set a constant to a union",
    )},
}  # fmt: skip
"""The forms of declarations by noun and language. What isn't here can't be counted by the form of a line."""


def noun_of(text: str) -> str:
    """Return the key of a noun of a question in the table of forms: its singular, without what it has before it."""
    noun = text.lower().replace("-", " ").replace("typeclass", "type class").removeprefix("build ")
    noun = noun.removesuffix(" methods").removesuffix(" method")
    if re.match(r"user option|custom", noun) is not None:
        return "defcustom"
    noun = noun.replace("defmacro", "macro")
    if noun in {"indexes", "indices"}:
        return "index"
    return (
        noun.removesuffix("es")
        if noun.endswith("classes")
        else noun.removesuffix("s")
        if not noun.endswith("ss")
        else noun
    )
