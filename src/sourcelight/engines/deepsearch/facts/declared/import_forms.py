"""Imports of a file, by the forms of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_MAX_LINE = 500
"""Characters of a line in which an import is looked for."""

_ECMA = (
    r"\s*(?:import|export)\b[^'\"]*\bfrom\s*['\"](?P<module>[^'\"]+)['\"]",
    r"\s*import\s*['\"](?P<module>[^'\"]+)['\"]",
    r".*\b(?:require|import)\(\s*['\"](?P<module>[^'\"]+)['\"]\s*\)",
    r"\s*\}\s*from\s*['\"](?P<module>[^'\"]+)['\"]",
)
_JVM = (r"\s*import\s+(?:static\s+)?(?P<module>\w+(?:\.\w+)*(?:\.\*)?)",)
_C = (r"\s*#\s*(?:include|import)\s*(?P<module><[^>]+>|\"[^\"]+\")",)
_FORMS: Mapping[str, Sequence[str]] = {
    "Python": (
        r"\s*from\s+(?P<module>[\w.]+)\s+import\b",
        r"\s*import\s+(?P<module>[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*)",
    ),
    "JavaScript": _ECMA, "TypeScript": _ECMA, "TSX": _ECMA,
    "Java": _JVM, "Kotlin": _JVM, "Groovy": _JVM,
    "C": _C, "C++": _C, "Objective-C": _C, "Objective-C++": _C, "Cuda": _C,
    "C#": (r"\s*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?(?P<module>[A-Z_][\w.]*(?:<[^;]*>)?)\s*;",),
    "Ruby": (r"\s*(?:require|require_relative|load)\s*\(?\s*['\"](?P<module>[^'\"]+)['\"]",),
    "Perl": (r"\s*(?:use|require)\s+(?P<module>[A-Za-z_]\w*(?:::\w+)*)(?=[\s;(])",),
    "PHP": (r"use\s+(?:function\s+|const\s+)?(?P<module>\\?\w+(?:\\\w+)*(?:\\\{[^}]*\})?)(?:\s+as\s+\w+)?\s*;",),
    "Haskell": (r"import\s+(?:safe\s+)?(?:qualified\s+)?(?:\"[^\"]*\"\s+)?(?P<module>[A-Z][\w.]*)",),
    "Swift": (
        (r"(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|internal|private|fileprivate|package)\s+)?import\s+"
        r"(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?(?P<module>[\w.]+)"),
    ),
    "Dart": (r"(?:import|export|part)\s+(?!of\b)['\"](?P<module>[^'\"]+)['\"]",),
    "R": (
        r".*?\b(?:library|require|requireNamespace|loadNamespace)\(\s*[\"']?(?P<module>[A-Za-z][\w.]*)[\"']?\s*[,)]",
    ),
    "Elixir": (r"\s*(?:alias|import|require|use)\s+(?P<module>[A-Z]\w*(?:\.\w+)*(?:\.\{[^}]*\})?)",),
    "Lua": (r".*\brequire\s*\(?\s*['\"](?P<module>[^'\"]+)['\"]",),
    "Scala": (r"\s*import\s+(?P<module>[\w.]+(?:\.\{[^}]*\}|\.[_*])?)",),
}  # fmt: skip
"""The forms of lines that import something, by language; of a list in one line, the whole."""
_OPEN = (r"\s*open\s+(?P<module>[A-Z][\w.]*)",)
_PARTIAL_FORMS: Mapping[str, Sequence[str]] = {
    "Erlang": (r"-(?:include|include_lib)\(\s*\"(?P<module>[^\"]+)\"", r"-import\(\s*(?P<module>\w+)\s*,"),
    "OCaml": (r"\s*(?:open!?|include)\s+(?P<module>[A-Z][\w.]*)",), "F#": _OPEN,
    "Elm": (r"import\s+(?P<module>[A-Z][\w.]*)",), "PureScript": (r"import\s+(?P<module>[A-Z][\w.]*)",),
    "Nim": (r"\s*(?:import|from|include)\s+(?P<module>[\w./]+(?:\s*,\s*[\w./]+)*)",),
    "Crystal": (r"\s*require\s+\"(?P<module>[^\"]+)\"",),
    "Julia": (r"\s*(?:using|import)\s+(?P<module>\.*\w[\w.]*(?:\s*,\s*\w[\w.]*)*)",),
    "PowerShell": (
        r"\s*(?i:import-module|using\s+module)\s+(?:-Name\s+)?[\"']?(?P<module>[\w./\\-]+)",
        r"\s*\.\s+[\"']?(?P<module>[\w.$/\\{}()-]+\.ps1)",
    ),
    "Zig": (r".*@import\(\"(?P<module>[^\"]+)\"\)",),
    "D": (r"\s*(?:(?:public|static|private)\s+)*import\s+(?P<module>[\w.]+(?:\s*,\s*[\w.]+)*)\s*[;:]",),
    "Fortran Free Form": (r"(?i)\s*use\b(?:\s*,\s*(?:non_)?intrinsic)?(?:\s*::)?\s+(?P<module>[a-z]\w*)",),
    "Starlark": (r"load\(\s*\"(?P<module>[^\"]+)\"",),
    "Solidity": (r"\s*import\b[^\"']*[\"'](?P<module>[^\"']+)[\"']",),
    "Emacs Lisp": (r".*\(require\s+'(?P<module>[\w-]+)",),
    "Protocol Buffer": (r"\s*import\s+(?:public\s+|weak\s+)?\"(?P<module>[^\"]+)\"",),
    "SCSS": (r"\s*@(?:use|import|forward)\s+[\"'](?P<module>[^\"']+)[\"']",),
    "Gleam": (r"import\s+(?P<module>[\w/]+)",), "Haxe": (r"\s*(?:import|using)\s+(?P<module>[\w.]+)",),
    "Shell": (r"\s*(?:source|\.)\s+(?P<module>[^\s;&|]+)",),
    "Clojure": (
        r".*?[\[(](?P<module>[a-z][\w-]*(?:\.[\w*+!-]+)+)(?=[\s\])])",
        r".*?\(require\s+'\[?(?P<module>[\w.-]+)",
    ),
}  # fmt: skip
"""Forms of languages in which an import may go over several lines or have further forms: these are some of them."""
_LISTED = frozenset({"Python", "Nim", "Julia", "D"})
"""Languages in which one statement imports several modules."""
_RUST_USE = re.compile(
    r"\s*(?:pub(?:\([^)]*\))?[ \t]+)?"
    r"(?:use[ \t]+(?P<path>(?:::)?\w+(?:::\w+)*(?:::\{[^{}]*\}|::\*)?)|extern[ \t]+crate[ \t]+(?P<crate>\w+))"
)
_GO_IMPORT = re.compile(r"(?:import\s+)?(?:[\w.]+\s+)?\"(?P<module>[^\"\s]+)\"\s*$")


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """A module that a line imports: its name as it is written, and the line, from 1."""

    name: str
    line: int


def imports_in(lines: Sequence[tuple[int, str]], language: str) -> list[ImportedModule] | None:
    """Return what a file imports, by the forms of its lines; None for a language whose forms aren't known.

    Parameters
    ----------
    lines
        The lines of code with their numbers, from 1, without those of comments.
    language
        The language of the file. Of some, not all forms are known: see `reads_all`.
    """
    if language == "Go":
        return list(_go_imports(lines))
    if language == "Rust":
        return _rust_imports(lines)

    forms = _FORMS.get(language) or _PARTIAL_FORMS.get(language)
    if forms is None:
        return None

    patterns = [re.compile(form) for form in forms]
    modules = []
    for number, line in lines:
        match = next((match for pattern in patterns if (match := pattern.match(line[:_MAX_LINE]))), None)
        if match is None:
            continue
        names = match["module"].split(",") if language in _LISTED else [match["module"]]
        modules += [ImportedModule(re.split(r"\s+as\s+", name.strip())[0], number) for name in names]

    return modules


def names_module(module: str, name: str) -> bool:
    """Return whether what a line imports is a module of a name, or something below it: ``cats.data`` for cats."""
    # Packages of JavaScript name their own parts with a hash.
    module, name = module.strip('"<>').lstrip("#"), name.strip('"<>')
    if any(module == name or module.startswith(f"{name}{separator}") for separator in (".", "/", "::", "\\")):
        return True
    return re.split(r"/|::", module.rstrip("/"))[-1] == name


def reads_all(language: str) -> bool:
    """Return whether the forms of a language find all imports of a file that stand on one line each."""
    return language in _FORMS or language in {"Go", "Rust"}


def has_forms(language: str) -> bool:
    """Return whether any form of an import is known of a language."""
    return reads_all(language) or language in _PARTIAL_FORMS


def _go_imports(lines: Sequence[tuple[int, str]]) -> Iterator[ImportedModule]:
    in_list = False
    for number, line in lines:
        text = line[:_MAX_LINE].split("//")[0].strip()
        if in_list and text == ")":
            in_list = False
        elif re.match(r"import\s*\($", text):
            in_list = True
        elif (in_list or text.startswith("import")) and (match := _GO_IMPORT.match(text)) is not None:
            yield ImportedModule(match["module"], number)
        elif re.match(r"(?:func|type|var|const)\b", text):
            return


def _rust_imports(lines: Sequence[tuple[int, str]]) -> list[ImportedModule]:
    modules = []
    for number, line in lines:
        match = _RUST_USE.match(line[:_MAX_LINE])
        if match is not None:
            modules.append(ImportedModule(match["crate"] or match["path"].removeprefix("::"), number))
    return modules
