"""Definitions and calls in files that no grammar parses, by the form of a line, such as ``defp name(`` of Elixir.

The line that is cited proves each of them. Files without an ending count by their first line, such as shell scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.markup import count_of, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import make_listing_queries, make_queries, rows_of_code, run_searches
from sourcelight.engines.deepsearch.source.comment_marks import WITHOUT_LONG_TEXTS
from sourcelight.engines.deepsearch.source.definition_forms import NAMED_FORMS, NO_TYPE, SAME_FORMS
from sourcelight.engines.deepsearch.source.function_heads import HEAD_FORMS, WITH_METHODS, function_of, head_at
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA, LISPS
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.engines.symbols.grammars import LANGUAGES

_MAX_ROWS = 2_000
_SWIFT_WORDS = (
    r"(?:(?:@\w+(?:\([^)]*\))?|(?:public|private|fileprivate|internal|open|package)(?:\(set\))?|static|class|final"
    r"|override|mutating|nonmutating|indirect|convenience|required|lazy|weak|unowned|nonisolated|prefix|postfix|infix"
    r"|isolated|distributed)\s+)*"
)
_DART_WORDS = r"(?:(?:abstract|base|final|interface|sealed|mixin|static|external|const|late|covariant)\s+)*"
_KOTLIN_WORDS = (
    r"(?:(?:@[\w.]+(?:\([^()]*\))?|public|private|protected|internal|open|abstract|final|sealed|data|enum|annotation|inner|value"
    r"|inline|fun|override|suspend|operator|infix|tailrec|external|actual|expect|companion|const)\s+)*"
)
_JAVA_WORDS = (
    r"(?:(?:@[\w.]+(?:\([^()]*\))?|public|private|protected|internal|static|final|abstract|sealed|non-sealed|strictfp|partial"
    r"|readonly|ref|unsafe|file|new|case|implicit|lazy|override|inline)\s+)*"
)
_GROOVY_WORDS = r"(?:(?:@[\w.]+(?:\([^()]*\))?|public|private|protected|static|final|abstract|synchronized)\s+)*"
_RUST_WORDS = r"(?:(?:pub(?:\([^)]*\))?|const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*"
# Forms are templates of `str.format`, which reads a doubled brace as one.
_METADATA = LISP_METADATA.replace("{", "{{").replace("}", "}}")
_CRYSTAL_WORDS = r"(?:(?:private|protected|abstract)\s+)*"
_FIELD_WITH_VALUE = (
    rf"\s*{_JAVA_WORDS}(?:const\s+)?(?!{NO_TYPE}\b)[A-Za-z][\w.]*(?:<[^=;()]*>)?"
    r"(?:\[\])?\s+{name}\s*(?P<kind>=)(?!=)"
)
# `{name}` is replaced by the name, and the group `kind` is the keyword that `_KINDS` translates.
_FORMS: Mapping[str, Sequence[str]] = {
    "Shell": (
        r"\s*(?P<kind>function)\s+{name}(?![\w-])",
        r"\s*{name}\s*\(\s*\)",
        r"\s*(?P<kind>alias)\s+(?:-\w\s+)?{name}=",
    ),
    "Swift": (
        rf"\s*{_SWIFT_WORDS}(?P<kind>func|class|struct|enum|protocol|actor|typealias|associatedtype|macro)\s+{{name}}\b",
        rf"\s*{_SWIFT_WORDS}(?P<kind>let|var)\s+{{name}}\s*[:={{{{]",
        r"\s*(?:indirect\s+)?(?P<kind>case)\s+{name}\s*(?:\([^)]*\)\s*)?(?:,|=(?!=)|$)",
    ),
    "Elixir": (
        r"\s*(?P<kind>def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate)\s+{name}(?![\w?!])",
        r"\s*(?P<kind>defmodule|defprotocol)\s+(?:\w+\.)*{name}\s",
        r"\s*(?P<kind>@){name}\s+(?!do\b)\S",
        r"\s*@(?P<kind>type|typep|opaque)\s+{name}\b",
    ),
    "Erlang": (
        r"(?P<kind>{name})\(.*(?:->|,\s*$)",
        r"-(?P<kind>define|record|module)\({name}\b",
        r"-(?P<kind>type|opaque)\s+{name}\(",
    ),
    "Haskell": (
        r"\s*(?:[{{,]\s*)?(?:\({name}\)|{name})\s*(?:,\s*[\w']+\s*)*(?P<kind>::)",
        r"(?:data|newtype)\s.*[{{,]\s*{name}\s*(?P<kind>::)",
        r"(?P<kind>data|newtype|type|class)\s+(?:family\s+|instance\s+)?(?:.*=>\s*)?{name}(?![\w'.])",
        # A constructor behind a bar or an equals sign of its type; a guard has another sign behind it.
        r"\s*(?P<kind>\|)\s*(?=[A-Z]){name}(?![\w'.])(?!.*(?:<-|->|=))",
        r"\s*[|=]?\s*(?P<kind>)(?=[A-Z]){name}\s*\{{\s*[a-z_][\w']*\s*(?:,\s*[a-z_][\w']*\s*)*::",
        r"(?:data|newtype)\s[^=|]*(?P<kind>[=])(?:[^|]*\|)*\s*(?=[A-Z]){name}(?![\w'.])",
    ),
    "Dart": (
        r"\s*(?:const\s+)?(?P<kind>factory)\s+[A-Z]\w*\.{name}\s*\(",
        rf"\s*{_DART_WORDS}(?P<kind>class|enum|mixin|extension|typedef)\s+(?:type\s+)?{{name}}\b",
        rf"\s*{_DART_WORDS}(?!{NO_TYPE}\b)[\w.]+(?:<.*>)?\??\s+(?:(?P<kind>get)\s+|set\s+)?{{name}}\s*(?:<[^()]*>)?\([^;]*$",
        rf"\s*{_DART_WORDS}(?!{NO_TYPE}\b)[\w.]+(?:<.*>)?\??\s+(?P<kind>get)\s+{{name}}\b",
        r"\s*(?P<kind>static const|const)\s+(?:[\w.<>?,\s]+\s)?{name}\s*=(?!=)",
    ),
    "Zig": (
        r"\s*(?:(?:pub|export|inline|noinline|threadlocal|extern(?:\s+\"[^\"]*\")?)\s+)*(?P<kind>fn|const|var)\s+{name}\b",
    ),
    "Lua": (
        r"\s*(?:local\s+)?(?P<kind>function)\s+(?:\w+[.:])*{name}\s*\(",
        r"\s*(?:local\s+)?(?:\w+[.:])*{name}\s*=\s*(?P<kind>function)\b",
        r"\s*(?P<kind>local)\s+{name}\s*(?:<\w+>\s*)?=",
        # A table at the top of a file is filled there; other fields may be set anywhere.
        r"(?:\w+\.)+{name}\s*=\s*\{{",
    ),
    "Perl": (
        r"\s*(?P<kind>sub)\s+{name}\b",
        r"\s*(?P<kind>package)\s+(?:\w+::)*{name}\s*[;{{]",
        # Of the package, or of the file; other variables are those of a function.
        r"(?:\s*our|my|Readonly(?:::\w+)?(?:\s+my|\s+our)?)\s+[$@%]{name}\s*(?P<kind>=)(?![=~])",
        r"\s*use\s+constant\s+{name}\s*(?P<kind>=)>",
        r"\s*(?P<kind>has)\s+['\"]?{name}['\"]?\s*(?:=>|,)",
    ),
    "R": (
        r"\s*[`\"]?{name}[`\"]?\s*(?:<-|=)\s*(?P<kind>function)\b",
        r"\s*set(?P<kind>Class|RefClass|Generic)\(\s*[\"']{name}[\"']",
        r"[`\"]?{name}[`\"]?\s*<-(?P<kind>)",
    ),
    "Julia": (
        r"\s*(?P<kind>function|struct|mutable struct|macro|module|const|abstract type)\s+(?:\w+\.)*{name}\b",
        (
            r"\s*(?:\w+\.)*(?P<kind>{name})\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?:::\s*[\w{{}},.]+\s*)?"
            r"(?:where\s[\w{{}},<: ]+)?=(?![=>])"
        ),
    ),
    "Clojure": (
        (
            rf"\s*\((?P<kind>defn-?|def|defonce|defmacro|defmulti|defprotocol|defrecord|deftype)\s+{_METADATA}"
            r"{name}(?=[\s)]|$)"
        ),
        # A macro of the project's own defines it, at the top of a file: `(defelem button`.
        rf"\((?P<kind>def(?!ault|er\b|in(?!e-))[\w+*!-]*)\s+{_METADATA}(?:#?:|\")?{{name}}(?=[\s)\"]|$)",
    ),
    "Nim": (
        r"\s*(?P<kind>proc|func|method|template|macro|iterator|converter|const|let|var)\s+{name}\b",
        # A type has a word of its own. A constant or a variable of a block is exported, so that it is no assignment.
        (
            r"(?:\s+|type\s+){name}\*?\s*(?:\[[^\[\]]*\]\s*)?(?:\{{\.[^{{}}]*\.\}}\s*)?=\s*(?:ref |ptr )?"
            r"(?P<kind>object|enum|distinct|tuple|concept)\b"
        ),
        r"\s+{name}\*\s*(?:\{{\.[^{{}}]*\.\}}\s*)?(?::\s*[\w\[\], .]+)?(?P<kind>=)(?!=)",
    ),
    "Crystal": (
        rf"\s*{_CRYSTAL_WORDS}(?P<kind>def|macro|fun|class|struct|module|enum|annotation|alias|lib)\s+(?:self\.|\w+::)*{{name}}(?![\w?!])",
        rf"\s*{_CRYSTAL_WORDS}(?:class_)?(?P<kind>getter|property|setter)[?!]?\s+{{name}}(?![\w?!])",
        r"\s*record\s+(?P<kind>){name}\s*(?:,|$)",
        r"\s*(?P<kind>)(?=[A-Z]){name}\s*=(?![=~>])",
    ),
    "Groovy": (
        rf"\s*{_GROOVY_WORDS}(?P<kind>class|interface|enum|trait|def)\s+{{name}}\b",
        # A method or a constructor opens its body on the line; a call with a closure has no type before its name.
        rf"\s*{_GROOVY_WORDS}(?!{NO_TYPE}\b)[\w.]+(?:<[^()]*>)?(?:\[\])?\s+(?P<kind>{{name}})\s*\([^;]*\{{{{(?:[^{{{{}}}}]*\}}}})?\s*$",
        rf"\s*{_GROOVY_WORDS}(?!{NO_TYPE}\b)[\w.]+(?:<[^()]*>)?(?:\[\])?\s+{{name}}\s*(?P<kind>=)(?![=~])",
    ),
    "Elm": (
        r"(?P<kind>type)\s+(?:alias\s+)?{name}(?![\w.])",
        r"(?P<kind>port)\s+{name}\s*:(?!:)",
        r"(?P<kind>module)\s+(?:[A-Z]\w*\.)*{name}\s+exposing\b",
        r"{name}\s*:(?!:)",
        r"\s+(?P<kind>[=|])\s*(?=[A-Z]){name}(?![\w.])",
    ),
    "PowerShell": (r"\s*(?i:(?P<kind>function|filter|class|enum))\s+{name}(?![\w-])",),
    "Vim Script": (
        r"\s*(?P<kind>fu(?:n|nc|nct|nctio|nction)?)!?\s+(?:\w+[:#.])*{name}\s*\(",
        # A part of a list or a dictionary is set later, and `==` compares.
        r"\s*(?P<kind>let|const?)\s+(?:[sgbwt]:)?{name}\s*=(?![=~])",
        r"\s*(?P<kind>com(?:mand)?)!?\s+(?:-\S+\s+)*{name}\s",
        r"\s*(?P<kind>aug(?:roup)?)\s+{name}\s*$",
    ),
    "Emacs Lisp": (
        (
            r"\s*\((?P<kind>(?:cl-)?(?:defun|defmacro|defsubst|defgeneric|defmethod|defstruct)\*?|def(?:advice|alias|class"
            r"|const|custom|face|ine-derived-mode|ine-error|ine-globalized-minor-mode|ine-inline|ine-minor-mode"
            r"|var|var-keymap|var-local))\s+[('#]{{0,2}}{name}(?=[\s)]|$)"
        ),
        # A macro of the project's own defines it, at the top of a file.
        r"\((?P<kind>def(?!ault|er\b|ine-|group\b)[\w-]*)\s+{name}(?=[\s)]|$)",
    ),
    "Python": (r"\s*(?:async\s+)?(?P<kind>def|class)\s+{name}\b", r"{name}\s*(?::[^=]+)?=(?!=)"),
    "Ruby": (r"\s*(?P<kind>def|class|module)\s+(?:self\.|\w+::)*{name}(?![\w?!])",),
    "JavaScript": (
        r"\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?P<kind>function|class|const|let|var)\s*\*?\s*{name}\b",
    ),
    "Kotlin": (
        rf"\s*{_KOTLIN_WORDS}(?P<kind>class|interface|object|typealias)\s+{{name}}\b",
        rf"\s*{_KOTLIN_WORDS}(?P<kind>fun)\s+(?:<[^()]*>\s*)?(?:[\w.]+(?:<[^()]*>)?\??\.)?{{name}}\s*\(",
        rf"\s*{_KOTLIN_WORDS}(?P<kind>val|var)\s+{{name}}\s*(?::[^=]*)?(?:=(?!=)|\bby\b)",
    ),
    "Java": (rf"\s*{_JAVA_WORDS}(?P<kind>class|interface|enum|record)\s+{{name}}\b", _FIELD_WITH_VALUE),
    "C#": (rf"\s*{_JAVA_WORDS}(?P<kind>class|interface|enum|record|struct)\s+{{name}}\b", _FIELD_WITH_VALUE),
    "Rust": (rf"\s*{_RUST_WORDS}(?P<kind>fn|struct|enum|trait|const|static)\s+{{name}}\b",),
    "Scala": (rf"\s*{_JAVA_WORDS}(?P<kind>class|object|trait|enum|def|val|var)\s+{{name}}\b",),
    "PHP": (r"\s*(?:\w+\s+)*(?P<kind>function|class|interface|trait|enum)\s+{name}\b",),
    **NAMED_FORMS,
}
_KINDS = {
    "class": "class", "actor": "class", "struct": "struct", "mutable struct": "struct", "defrecord": "class",
    "deftype": "class", "enum": "enum", "protocol": "interface", "interface": "interface", "trait": "interface",
    "defprotocol": "interface", "implementation": "class", "mixin": "class", "extension": "class", "let": "constant",
    "const": "constant", "static const": "constant", "@": "constant", "define": "constant", "var": "variable",
    "variable": "variable", "output": "module", "provider": "module", "resource": "module",
    "record": "class", "object": "class", "static": "constant",
    "local": "variable", "defonce": "variable", "defcustom": "variable", "defvar": "variable", "defconst": "constant",
    "defvar-local": "variable", "cl-defstruct": "struct", "defstruct": "struct", "defclass": "class",
    "defmodule": "module", "module": "module",
    "package": "module", "case": "enummember", "data": "type", "newtype": "type", "type": "type", "typealias": "type",
    "associatedtype": "type", "typedef": "type", "get": "property", "getter": "property", "setter": "property",
    "property": "property", "annotation": "class", "alias": "type", "lib": "module",
    "|": "constant", "=": "constant", "exception": "type", "abstract type": "type", "NS_ENUM": "enum",
    "NS_OPTIONS": "enum", "union": "class", "message": "class", "service": "class", "table": "type", "view": "type",
    "index": "type", "domain": "type", "schema": "module", "sequence": "type", "library": "module",
    "executable": "module", "custom_target": "module", "@keyframes": "type", "rpc": "method",
    "ARG": "variable", "ENV": "variable", ":": "variable", "contract": "class", "role": "class", "grammar": "class",
    "classdef": "class", "structure": "struct", "class_name": "class", "signal": "variable", "abstract": "type",
    "distinct": "type", "is": "type", ";": "variable", "package body": "module", "event": "type",
    "error": "type", "task": "type", "FROM": "module", "input": "type", "scalar": "type", "fragment": "type",
    "query": "type", "mutation": "type", "directive": "type", "model": "type", "typep": "type", "opaque": "type",
    "has": "property", "Class": "class", "RefClass": "class", "aug": "type", "augroup": "type",
    "define-condition": "class", "defpackage": "module",
}  # fmt: skip
"""Kinds of definitions by their keywords; any other keyword defines a function."""
UNPARSED_LANGUAGES = {
    "Ada", "Awk", "Clojure", "CoffeeScript", "Common Lisp", "Crystal", "D", "Dart", "Elixir", "Elm", "Emacs Lisp",
    "Erlang", "F#", "Fennel", "fish", "Fortran", "Fortran Free Form", "GDScript", "Gleam", "Groovy", "Haskell",
    "Haxe", "Julia", "Lua", "MATLAB", "Nim", "Objective-C", "Objective-C++", "OCaml", "Odin", "Pascal", "Perl",
    "PowerShell", "Prolog", "PureScript", "R", "Racket", "Raku", "Scheme", "Solidity", "Standard ML", "Starlark",
    "Swift", "Tcl", "V", "Vala", "Vim Script", "Visual Basic .NET", "Zig",
}.difference(LANGUAGES)  # fmt: skip
"""Languages of programs whose definitions and imports no grammar reads."""
PROGRAMMING_LANGUAGES = UNPARSED_LANGUAGES | set(LANGUAGES)
_SHEBANG = re.compile(r"#!.*?\b(?P<program>bash|zsh|dash|ksh|sh|fish|python|ruby|node|perl|php|lua|Rscript)[\d.]*\b")
_MODE_OF_EDITOR = re.compile(
    r"(?:\bvim?:.*\b(?:ft|filetype)=|-\*-\s*(?:mode:\s*)?)(?P<program>sh|bash|zsh|shell-script|python|ruby|perl|php|lua)\b"
)
"""A comment in the first line that tells an editor the language of a file."""
_MAX_FIRST_LINE = 200
_PROGRAMS = {
    "python": "Python", "ruby": "Ruby", "node": "JavaScript", "perl": "Perl", "php": "PHP", "lua": "Lua",
    "Rscript": "R",
}  # fmt: skip
NO_CODE = frozenset({
    "AsciiDoc", "CSV", "Diff", "Git Attributes", "Ignore List", "Go Checksums", "Go Module", "HTML", "INI", "JSON",
    "JSON with Comments", "Markdown", "Org", "reStructuredText", "RMarkdown", "SVG", "TeX", "Text", "TOML", "XML",
    "YAML", "Jupyter Notebook", "Cabal Config", "Roff", "Unix Assembly", "RDoc", "Pod", "Textile", "Texinfo",
})  # fmt: skip
"""Languages of documents, data and manifests, which define no names of code."""
HYPHENATED_LANGUAGES = frozenset({
    "Clojure", "Common Lisp", "CSS", "Emacs Lisp", "Fennel", "fish", "HCL", "Less", "Makefile", "Nix", "PowerShell",
    "Dockerfile", "Just", "Racket", "Raku", "Sass", "Scheme", "SCSS", "Shell", "Terraform",
})  # fmt: skip
"""Languages in which a name may have a hyphen, so that ``a-b`` doesn't contain the name ``a``."""
_SIGNED_LANGUAGES = LISPS | {"Fennel", "Raku"}
"""Of these, languages in which a name may begin with a sign; elsewhere, an exclamation mark negates it."""
WITH_SIGNS = frozenset({"R", "Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket"})
"""Languages in which a dot or an arrow is a part of a name, such as ``is.named`` or ``instant->map``."""
_NO_CODE_FILES = re.compile(
    r"(?:^|/)(?:LICEN[SC]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|CHANGELOG|CHANGES|NEWS|README|TODO|UNLICENSE|CODEOWNERS"
    r"|MAINTAINERS)[^/]*$|\.(?:lock|sum|txt|md|rst|1|pem|key|crt|svg|map|snap)$",
    re.IGNORECASE,
)


def language_at(texts: FileTexts, target: Target, path: str) -> str:
    """Return the language of a file: by its path, else by the program that its first line names; empty for none."""
    # A template of a file is in the language of what is made from it.
    language = language_of(path.removesuffix(".in")) if path.endswith(".sql.in") else language_of(path)
    if path.endswith(".h") and _is_of_objective_c(texts.lines(target, path)):
        return "Objective-C"
    if language or "." in path.rpartition("/")[2].lstrip("."):
        return language
    first = next(iter(texts.lines(target, path)), "")[:_MAX_FIRST_LINE]
    match = _SHEBANG.match(first) or _MODE_OF_EDITOR.search(first)
    return "" if match is None else _PROGRAMS.get(match["program"], "Shell")


_OBJECTIVE_C = re.compile(r"\s*(?:@(?:interface|protocol|class|import|end|property)\b|#\s*import\b)")
_MAX_HEADER_LINES = 400


def _is_of_objective_c(lines: Sequence[str]) -> bool:
    """Return whether a header, whose name is one of C, has declarations that only Objective-C has."""
    return any(_OBJECTIVE_C.match(line) is not None for line in lines[:_MAX_HEADER_LINES])


def holder_by_form(work: Work, row: Mapping[str, Any]) -> str:
    """Return the name of the function around a line of a file that no grammar reads; empty if that is uncertain."""
    target = work.inquiry.pins.of(row["repository"])
    language = "" if target is None else language_at(work.texts, target, row["path"])
    if target is None or language not in UNPARSED_LANGUAGES:
        return ""

    lines = work.texts.code_lines(target, row["path"], language)
    return enclosing_function(lines, row["line_number"], language)


def is_parsed(texts: FileTexts, target: Target, path: str) -> bool:
    """Return whether the index has every definition of a file.

    A notebook has those of its cells, in the languages of their own; one without any may be in an unknown language.
    """
    in_cells = is_jupyter(path)
    is_of_grammar = language_of(path) in LANGUAGES and language_at(texts, target, path) in LANGUAGES
    if not is_of_grammar and not in_cells:
        return False
    definitions = texts.indexed_definitions(target, path)
    return definitions is not None and not definitions.incomplete and bool(len(definitions) or not in_cells)


def is_unread_code(texts: FileTexts, target: Target, path: str) -> bool:
    """Return whether a file may define names, and no grammar has parsed it."""
    language = language_of(path)
    # `changeset.ex` is no list of changes.
    is_document = _NO_CODE_FILES.search(path) is not None and language not in PROGRAMMING_LANGUAGES
    return not (language in NO_CODE or is_document or is_parsed(texts, target, path))


def unparsed_languages(work: Work) -> list[str]:
    """Return the languages of searched files whose definitions and imports are not in the index."""
    rows = run_searches(work, make_listing_queries(work))
    return sorted({row["language"] for row in rows if row["path"]} & UNPARSED_LANGUAGES)


@dataclass(slots=True)
class FunctionHeads:
    """Functions of languages without a grammar, by the form of a line.

    `languages` are those of which all functions are counted, `rules` say how, and `rows` are the lines. It is a least
    number if lines with such a form were left out.
    """

    number: int = 0
    languages: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    is_least: bool = False


def rule_without_grammar(heads: FunctionHeads) -> str:
    """Say what counts as a function in the files that no grammar reads."""
    if not heads.rules:
        return "Languages without a grammar have none there."
    return f"Languages without a grammar have none there; in their files, these count: {join_words(heads.rules)}."


def find_heads(work: Work, languages: Sequence[str]) -> FunctionHeads:
    """Find the functions of languages that no grammar reads, where the form of a line tells them.

    If a question asks for methods, those languages count whose functions are methods.
    """
    heads = FunctionHeads()
    is_of_methods = work.request.symbol_kinds == ("method",)
    for language in languages:
        form = HEAD_FORMS.get(language)
        if form is None or (is_of_methods and language not in WITH_METHODS):
            continue

        queries = make_queries(
            work, f"lang:{quote_value(language)} type:file case:yes /{form.search}/", languages=False
        )
        lines = [row for row in run_searches(work, queries) if row["type"] == "content"]
        rows = rows_of_code(work, lines, language)
        number = len(rows) if form.clause is None else _count_clauses(work, rows, language)
        if number is None:
            continue

        heads.languages.append(language)
        if not number:
            continue

        heads.number += number
        heads.rules.append(f"{form.rule} ({language})")
        heads.queries += queries
        heads.rows += [
            {**row, "symbol": (row["line"] or "").strip(), "symbol_kind": work.request.symbol_kinds[0]} for row in rows
        ]
        if len(rows) < len(lines):
            # What is a comment or a text of several lines is read without a grammar.
            heads.is_least = True
            left_out = count_of(len(lines) - len(rows), "line")
            heads.sentences.append(f"Left out: {left_out} that may be in a comment or a text.")
        if number < len(rows):
            heads.sentences.append("Several clauses of one function count once.")

    return heads


def _count_clauses(work: Work, rows: Sequence[dict[str, Any]], language: str) -> int | None:
    """Return how many functions some clauses belong to, by name and number of parameters; None if one can't be read."""
    functions = set()
    for row in rows:
        target = work.inquiry.pins.of(row["repository"])
        head = "" if target is None else head_at(work.texts.lines(target, row["path"]), row["line_number"])
        function = function_of(language, head)
        if function is None:
            return None
        functions.add((row["repository"], row["path"], function))

    return len(functions)


_DEFINING = (
    r"^[ \t]*(?:export |public |async |pub |static )*(?:def|class|function|func|fn|interface|struct)"
    r"[ \t]+[A-Za-z_]\w*[ \t]*[(:{<]"
)


def documents_with_code(work: Work) -> list[str]:
    """Return the languages of documents that define something in blocks of code, as in a course."""
    ending = r"\.(?:md|mdx|markdown|rmd|qmd|rst|adoc|org|tex)$"
    rows = run_searches(work, make_queries(work, f"type:file case:yes file:{ending} /{_DEFINING}/"))
    return sorted({language_of(row["path"]) or "document" for row in rows if row["type"] == "content"})


_NAME = r"[^\s\"`()\[\]{},;/\\]{1,80}"
"""A name of a language that allows signs in names, and names of signs alone."""


def find_unparsed(work: Work, name: str, *, parsed: bool = False) -> Iterator[tuple[Target, str, Definition]]:
    """Yield the definitions of a name in files that no grammar parses, the first of each kind in a file.

    With `parsed`, in all files: a grammar may miss a definition without losing its way in the file.
    """
    texts = work.texts
    if not re.fullmatch(_NAME, name):
        return

    rows = run_searches(work, make_queries(work, f"case:yes type:file /{escape_regexp(name)}/"))
    is_parsed_by_path: dict[tuple[str, str], bool] = {}
    seen: set[tuple[str, str, str]] = set()
    code_numbers: dict[tuple[str, str], set[int]] = {}
    for row in islice(_may_define(rows, name), _MAX_ROWS):
        target, key = work.inquiry.pins.of(row["repository"]), (row["repository"], row["path"])
        if target is None or len(row["line"] or "") > 500:
            continue

        if key not in is_parsed_by_path:
            is_parsed_by_path[key] = not parsed and not is_unread_code(texts, target, row["path"])

        if is_parsed_by_path[key]:
            continue

        language = language_at(texts, target, row["path"])
        define = reader_of(language, name)
        kind = None if define is None else define(row["line"])
        lines = texts.lines(target, row["path"])
        if kind is None or (*key, kind) in seen or _is_in_text(lines, row["line_number"], language):
            continue

        if key not in code_numbers:
            code_numbers[key] = {number for number, _ in texts.code_lines(target, row["path"], language)}
        if row["line_number"] not in code_numbers[key]:
            continue

        before = "\n".join(lines[: row["line_number"] - 1])
        if parsed and before.rfind("/*") > before.rfind("*/"):
            continue

        seen.add((*key, kind))
        number = row["line_number"]
        column = row["line"].find(name)
        yield target, row["path"], Definition(name, kind, "", 0, number, number, number, column=column)


def _may_define(rows: Iterable[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines that may define a name: a limit on all lines with it would leave out the definition of `Bloc`."""
    readers: dict[str, Callable[[str], str | None] | None] = {}
    for row in rows:
        if row["type"] != "content":
            continue
        language = language_of(row["path"])
        if language not in readers:
            readers[language] = reader_of(language, name)
        define = readers[language]
        # The name of a header, of a template or of a script doesn't tell its language.
        is_unsure = not language or row["path"].endswith((".h", ".in"))
        if is_unsure or (define is not None and define(row["line"] or "") is not None):
            yield row


_MAX_FORM_CHARACTERS = 1_000
"""Characters of a line that are compared with the forms of definitions, some of which take quadratic time."""


def reader_of(language: str, name: str) -> Callable[[str], str | None] | None:
    """Return a function that gives the kind of what a line defines under a name; None for an unknown language."""
    forms = _FORMS.get(SAME_FORMS.get(language, language))
    if forms is None:
        return None

    # Behind a sign, such as that of `put!`, no word ends.
    end = r"(?!\w)"
    patterns = [re.compile(form.replace(r"{name}\b", f"{{name}}{end}").format(name=re.escape(name))) for form in forms]

    def read(line: str) -> str | None:
        line = line[:_MAX_FORM_CHARACTERS]
        match = next((match for pattern in patterns if (match := pattern.match(line))), None)
        return None if match is None else _kind_of(language, match.groupdict().get("kind") or "", line)

    return read


_OWN_KINDS: Mapping[tuple[str, str], str] = {
    # A target, or a class of a style sheet.
    **dict.fromkeys(product(("CSS", "SCSS", "Less", "Makefile", "Just"), ("",)), "type"),
    **dict.fromkeys(product(("Python", "Lua", "R"), ("",)), "variable"),
    # Behind a name and a type.
    **dict.fromkeys(product(("C#", "Groovy", "Java", "Nim"), ("=",)), "variable"),
    ("D", "="): "constant",
    **dict.fromkeys(product(("Kotlin", "Scala"), ("val", "var")), "variable"),
    **dict.fromkeys(product(("Vim Script",), ("let", "con", "cons")), "variable"),
    **dict.fromkeys(product(("OCaml", "F#"), ("let", "and")), "function"),
    ("Haskell", ""): "constant", ("Haskell", "class"): "interface", ("Clojure", "def"): "variable",
    **dict.fromkeys(product(("HCL", "Terraform"), ("data",)), "module"),
    **dict.fromkeys(product(("HCL", "Terraform"), ("output", "variable")), "variable"),
}  # fmt: skip
"""Kinds of the definitions of a language by a keyword, or by none, that it uses in its own way."""

_ELISP_FUNCTION = re.compile(
    r"(?:cl-)?def(?:un|macro|subst|generic|method)\*?|def(?:alias|advice|ine-(?:inline|minor-mode|derived-mode"
    r"|globalized-minor-mode))"
)
"""Keywords of Emacs Lisp that define a function or a command."""


def _kind_of(language: str, keyword: str, line: str) -> str:
    """Return the kind of a definition by its keyword, which some languages use in their own way."""
    # A face, an error, or what a macro of the project's own defines.
    if language == "Emacs Lisp" and keyword not in _KINDS and _ELISP_FUNCTION.fullmatch(keyword) is None:
        return "variable"
    if language == "Crystal" and not keyword:
        return "struct" if line.lstrip().startswith("record") else "constant"
    if language == "Groovy" and keyword == "def" and re.search(r"\bdef\s+\w+\s*(?:=|$)", line) is not None:
        return "variable"
    if language == "Zig" and keyword == "const":
        types = ("struct", "enum")
        return next((kind for kind in types if re.search(rf"=\s*(?:\w+\s+)?{kind}\b", line)), "constant")

    if language == "Kotlin" and keyword not in {"val", "var"} and re.search(r"\benum\s+class\b", line):
        return "enum"
    # SQL is written in small letters or in capitals.
    return _OWN_KINDS.get((language, keyword)) or _KINDS.get(keyword) or _KINDS.get(keyword.lower(), "function")


def _is_in_text(lines: Sequence[str], number: int, language: str) -> bool:
    """Return whether a line is within a text of several lines, as an example in the documentation of Elixir is."""
    if language in WITHOUT_LONG_TEXTS:
        return False

    before = "\n".join(lines[: number - 1])
    return before.count('"""') % 2 == 1 or before.count("~S'''") > before.count("\n'''")


def whole_name(name: str, language: str) -> str:
    """Return a pattern of a name as a whole in a language: where names have hyphens, none precedes or follows it."""
    letters = r"\w-" if language in HYPHENATED_LANGUAGES else r"\w"
    if language in _SIGNED_LANGUAGES:
        letters = r"\w*!?-"
    return rf"(?<![{letters}]){re.escape(name)}(?![{letters}])"
