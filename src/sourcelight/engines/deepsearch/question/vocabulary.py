"""The words of questions for facts: nouns, names of languages, names of code."""

from __future__ import annotations

import re

from sourcelight.core.query.languages import find_language
from sourcelight.engines.deepsearch.question.marks import MarkedText

_DECLARED_NOUNS = (
    r"(?:case|data|sealed)[ -]class(?:es)?|case objects?|data sources?|type ?class(?:es)?|rpc methods?|rpcs?"
    r"|messages?|services?|outputs?|resources?|providers?|tables?|views?|ind(?:ex|exes|ices)|triggers?|procedures?"
    r"|procs?|templates?|iterators?|macros?|mixins?|keyframes?|targets?|(?:build )?stages?|options?|traits?|objects?"
    r"|records?|annotations?|protocols?|extensions?|actors?|unions?|modules?|packages?|callbacks?|defmacros?"
    r"|generic functions?|multimethods?|defcustoms?|user options?|custom(?:i[sz]able)? (?:variables?|options?)"
)
"""Nouns of questions for declarations that are no kind of the index."""
NOUNS = {
    r"lines?": "lines",
    r"times?|places?|occurrences?|mentions?|matches|appearances?|instances?|hits?": "occurrences",
    r"call sites?|usages?|uses|references?|calls?|callers?|invocations?": "occurrences",
    r"(?:source|header) files?|files?|scripts?|documents?|pages?|headers?|notebooks?": "files",
    r"repositor(?:y|ies)|repos?|projects?|code ?bases?": "repositories",
    r"functions?|funcs?|subs|subroutines?|defuns?": "function",
    r"methods?": "method",
    r"class(?:es)?|subclass(?:es)?": "class",
    r"structs?|structures?": "struct",
    r"interfaces?": "interface",
    r"enums?|enumerations?": "enum",
    r"constants?": "constant",
    r"variables?|globals?": "variable",
    r"constructors?": "constructor",
    r"fields?": "field",
    r"definitions?|symbols?": "definition",
    r"test cases?|test functions?|test methods?|unit ?tests?(?: blocks?)?|test blocks?|test ?sets?|tests?": "tests",
    r"commits?|changesets?": "commits",
    r"merge commits?|merges": "merges",
    r"authors?|contributors?|people|persons?|developers?|engineers?|committers?|programmers?": "authors",
    r"branch(?:es)?": "branches",
    r"tags?|releases?": "tags",
    r"dependenc(?:y|ies)|third[- ]party (?:packages?|modules?|libraries)|external (?:packages?|modules?"
    r"|libraries)": "dependencies",
    r"dependents?|importers?": "dependents",
    r"folders?|director(?:y|ies)|sub(?:folders?|director(?:y|ies))": "folders",
    r"(?:programming )?languages?": "languages",
    _DECLARED_NOUNS: "declared",
    r"issues?|pull requests?|prs?|bugs?|stars?|forks?|watchers?|downloads?|users?|vulnerabilit(?:y|ies)"
    r"|cves?|reviews?|reviewers?|comments?|errors?|warnings?|statements?|branches of code|words?|characters?"
    r"|bytes?|types?|imports?": "other",
}
"""Things that nouns count; ``other`` can't be counted and is answered in words."""

NOUN = re.compile("|".join(rf"(?P<k{number}>\b(?:{words})\b)" for number, words in enumerate(NOUNS)), re.IGNORECASE)
SYMBOLS = {
    "function",
    "method",
    "class",
    "struct",
    "interface",
    "enum",
    "constant",
    "variable",
    "constructor",
    "field",
    "definition",
}

_COMMON_TEXT = """
python go golang rust java javascript typescript ruby php kotlin swift scala shell bash html css sql yaml json
toml markdown xml cpp c++ c# csharp perl lua haskell elixir erlang tcl protobuf dart groovy julia clojure scss tsx
jsx js ts py dockerfile makefile restructuredtext rst cmake powershell zig nim ocaml f# vue svelte purescript
coffeescript livescript
"""
_COMMON = frozenset(_COMMON_TEXT.split())
_LANGUAGE_WORD = r"[A-Za-z][\w]*(?:\+\+|#)?(?:\s(?:Script|Notebook))?"
_LANGUAGE = (
    re.compile(
        rf"(?<![\w./⟨-])(?P<name>{_LANGUAGE_WORD})(?=\s+(?:source\s+|code\s+|test\s+|header\s+)?(?:files?"
        rf"|code|sources?|scripts?|functions?|funcs?"
        r"|methods?|class(?:es)?|structs?|interfaces?|enums?|tests?|lines?|modules?|repositor(?:y|ies)"
        r"|repos?|projects?|packages?|definitions?|constants?)\b)"
    ),
    re.compile(
        rf"\b(?:written in|code in|implemented in|in|of|with|as|and|or|use|uses|using|how "
        rf"much)\s+(?P<name>{_LANGUAGE_WORD})(?![\w./-])"
    ),
    re.compile(rf"(?<![\w./⟨-])(?P<name>{_LANGUAGE_WORD})(?=\s*(?:,|and|or)\s+⟨G)"),
)

_EXTENSIONS_TEXT = """
py pyi pyx go rs c h cc cpp cxx hpp hh m mm java kt kts scala js jsx mjs cjs ts tsx rb php cs swift lua pl pm sh
bash zsh ps1 sql html htm css scss less vue md rst txt adoc json yaml yml toml ini cfg conf xml proto gradle cmake
mk tcl ex exs erl hs ml jl dart groovy ipynb lock log csv tsv mod sum in am ac bin png svg gradle bat def
cr nim nims nimble zig zon clj cljs cljc edn fs fsi fsx csproj fsproj vbproj props targets R Rmd qmd mli mll mly opam
hrl eex heex lhs cabal elm purs el lisp scm rkt vim fish tf hcl nix sol svelte astro erb haml podspec gemspec rockspec
sbt moon inl ipp tcc cu cuh glsl mdx org asciidoc po patch jpg jpeg gif ico ttf woff2 bzl cbl f90 pas dpr raku
"""
_EXTENSIONS = frozenset(_EXTENSIONS_TEXT.split())
_FILE_NAMES_TEXT = """
Makefile Dockerfile CODEOWNERS LICENSE README CHANGELOG CONTRIBUTING NOTICE AUTHORS Gemfile Rakefile Procfile
.mailmap .gitignore .gitattributes .editorconfig .clang-format Jenkinsfile Vagrantfile COPYING NEWS
"""
_FILE_NAMES = frozenset(_FILE_NAMES_TEXT.split())
_PATH = re.compile(r"(?<![\w⟨@/.-])(?:\.{0,2}/)?[\w.+@-]*[\w+/-][\w.+@/-]*")
_GLOB = re.compile(
    r"(?<![\w⟨@/.*+-])(?:[\w.*+-]{1,100}/){0,20}(?!\*\.\w+(?![\w*]))[\w.+-]{0,100}\*[\w.*+-]{0,100}(?<!\.)"
)
_BEFORE_GLOB = re.compile(
    r"\b(?:(?:that|which)\s+)?(?:named|called|match|matching|like)\s+(?:as\s+)?(?=[\w./+-]{0,100}\*)", re.IGNORECASE
)
_ENDING = re.compile(
    r"(?<![\w/*.`])(?:\*\.|\.(?=[\w.]+\s+(?:files?|scripts?|documents?|extensions?)\b))"
    r"(\w{1,10}(?:\.\w{1,10}){0,2})\b"
)
_EMAIL = re.compile(r"[\w.+\[\]-]+@[\w.-]+\.\w+")
_NAME = re.compile(
    r"(?<![\w⟨./@-])(?:(?:[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$~]\w*)+|[A-Za-z]*_\w*|\w+_\w*|@?[a-z]+[A-Z]\w*"
    r"|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z][A-Z0-9]+[a-z]\w*|[A-Z][A-Z0-9]{2,})(?:\(\))?|[A-Za-z]\w*\(\))(?![\w/-])"
)
MARKERS = frozenset({"TODO", "FIXME", "XXX", "HACK"})
_PLAIN_CAPITALS = frozenset(
    {
        "API",
        "HTTP",
        "HTTPS",
        "URL",
        "JSON",
        "XML",
        "SQL",
        "HTML",
        "CSS",
        "AND",
        "NOT",
        "ALL",
        "TOML",
        "YAML",
        "PHP",
        "LOC",
        "CSV",
        "HEAD",
        "UTC",
        "CVE",
        "PRS",
        "OR",
    }
)


def kind_of_noun(match: re.Match[str]) -> str:
    """Return the unit of a match of `NOUN`."""
    number = next(int(name[1:]) for name, text in match.groupdict().items() if text and name[1:].isdigit())
    return list(NOUNS.values())[number]


def is_path(text: str, *, strict: bool = False) -> bool:
    """Return whether a word has the form of a path or file name; `strict` rejects HTTP/2."""
    base = text.rpartition("/")[2]
    if base in _FILE_NAMES:
        return True
    stem, dot, ending = base.rpartition(".")
    return (
        text.endswith("/")
        or ("/" in text and not strict)
        or bool(dot and stem and (ending in _EXTENSIONS or ending.lower() in _EXTENSIONS))
    )


def mark_paths(marked_text: MarkedText) -> None:
    """Mark paths, names of files, directories that end with a slash, and endings such as ``*.go``."""
    # "Named" before a glob says no more than the glob, and would make its letters a name.
    marked_text.text = _BEFORE_GLOB.sub("of ", marked_text.text)
    marked_text.mark(_GLOB, "P", lambda match: match[0])
    marked_text.mark(_ENDING, "P", lambda match: f"*.{match[1]}")

    def path(match: re.Match[str]) -> str | None:
        text = match[0].rstrip(".")
        if "://" in text or text in {"and/or", "read/write", "his/her"} or not is_path(text):
            return None
        return text.removeprefix("./") if _EMAIL.fullmatch(text) is None else None

    marked_text.mark(_PATH, "P", path)


def mark_names(marked_text: MarkedText) -> None:
    """Mark words that can only be names of code: joined by signs, with inner capitals, in all capitals."""

    def name(match: re.Match[str]) -> str | None:
        text = match[0]
        if text in _PLAIN_CAPITALS or text.rstrip("s") in MARKERS or _EMAIL.match(marked_text.text, match.start()):
            return None
        if find_language(text) is not None and text.lower() in _COMMON:
            return None
        return text.removesuffix("()")

    marked_text.mark(_NAME, "N", name)


def language_named(word: str) -> str | None:
    """Return the language that a word of prose names; None for other words, also those that are only endings."""
    language = find_language(word)
    if language is None or not (word.lower() in _COMMON or (word == language and word != "Text")):
        return None
    return language


def mark_languages(marked_text: MarkedText) -> None:
    """Mark names of languages by their position in the sentence."""

    def language(match: re.Match[str]) -> str | None:
        return language_named(match["name"])

    for pattern in (*_LANGUAGE, *_LANGUAGE):  # twice, since a mark makes room for its neighbour
        marked_text.mark(pattern, "G", language, "name")
