"""Mark words for kinds of files that projects tell by their names, as in "how many feature files are there".

A word counts as an ending where a searched file has it: "fsproj files" are ``*.fsproj``. Others stand for names by a
custom, such as workflows and Dockerfiles. An answer names the paths that it counts, so that the reader sees what was
taken for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sourcelight.engines.deepsearch.question.marks import Mark, MarkedText
from sourcelight.engines.deepsearch.question.request import PathScope, QuestionPaths
from sourcelight.engines.deepsearch.question.vocabulary import language_named

_COUNTED = re.compile(r"\b(?:how many|(?:number|count) of|count|list(?: all)?|which|what)\b", re.IGNORECASE)
_BY_ENDING = re.compile(r"(?<![\w⟨./*-])(?P<word>[A-Za-z][\w+-]{0,14})\s+(?=(?:tests?\s+|specs?\s+)?files\b)")
_TAIL = re.compile(r"[._-]\w{1,30}(?:\.\w{1,10}){0,2}")
_TESTS_BY_TAIL = re.compile(r"(⟨P\d+⟩)\s+(?:test|spec|source)\s+(?=files\b)")
IN_BRACKETS = re.compile(
    r"(?P<asks>\bhow many)(?:\s+[\w-]{1,30}){0,4}\s+files\s+"
    r"\(\*?(?P<ending>[._-]\w{1,30}(?:\.\w{1,10}){0,2})(?:\s+files)?\)"
    r"(?:\s+(?:are|is)\s+(?:there|(?:checked|committed|tracked|stored)(?:\s+in)?)\b(?!\s+\w))?",
    re.IGNORECASE,
)
"""A kind of files with its ending in brackets: "insta snapshot files (.snap)"."""
_ABBREVIATIONS = frozenset(["cpp", "js", "jsx", "py", "ts", "tsx"])
"""Endings that people also say for a language: "cpp files" have the ending, and "C++ files" may be headers."""
_MAX_ENDINGS = 4
"""Words that may be endings: each is looked for among the paths of all repositories."""
_NO_ENDING_TEXT = """
source test tests header many the these those all other of in config configuration documentation hidden binary
"""
_NO_ENDING = frozenset(_NO_ENDING_TEXT.split())
"""Words before "files" that say something else of them."""
_WORKFLOWS = ".github/workflows/*.y*ml"
_NO_PARTS = r"(?! (?:jobs?|steps?|runs?|files?)\b)"
"""Words for parts of workflows: a count of files is none of them."""
_TEMPLATES = r"slim erb haml pug jade hbs mustache twig ejs j2 eex heex leex liquid njk tmpl tpl gohtml cshtml jinja2"
_TEMPLATE_NOUN = r"(?:templates?|views?|partials?|layouts?)"
_CUSTOMS: Mapping[str, Sequence[str]] = {
    **{rf"\.?{ending} {_TEMPLATE_NOUN}": (f"*.{ending}",) for ending in _TEMPLATES.split()},
    rf"jinja {_TEMPLATE_NOUN}": ("*.j2", "*.jinja", "*.jinja2"),
    rf"handlebars {_TEMPLATE_NOUN}": ("*.hbs", "*.handlebars"),
    r"(?:jest |insta )?snapshot files": ("*.snap",),
    rf"(?:(?:github )?(?:actions? |ci )|github )workflows?(?: files?)?{_NO_PARTS}": (_WORKFLOWS,),
    rf"(?:workflow files|workflows(?= (?:use|run|call|install|contain|mention)\b)){_NO_PARTS}": (_WORKFLOWS,),
    rf"(?<=many )workflows{_NO_PARTS}": (_WORKFLOWS,),
    r"dockerfiles?(?: files?)?": ("Dockerfile", "Dockerfile.*", "*.Dockerfile", "*.dockerfile"),
    r"gemfiles": ("Gemfile", "*.gemfile"),
    r"makefiles(?: files?)?": ("Makefile", "GNUmakefile", "makefile"),
    r"(?:rspec |jasmine |crystal )?spec files?": (
        *(
            f"*_spec.{ending}"
            for ending in ("rb", "lua", "cr", "js", "coffee", "sh", "exs", "moon", "vim", "nim", "rs")
        ),
        *(
            f"*.spec.{ending}"
            for ending in ("ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue", "coffee", "php")
        ),
        "*Spec.*",
    ),
    r"(?:common )?test suites?": ("*_SUITE.erl",),
    r"opam packages?": ("*.opam",),
    r"(?:cabal|haskell) packages?": ("*.cabal",),
    r"(?:maven )?pom files?|poms": ("pom.xml",),
    r"gemspecs?": ("*.gemspec",),
    r"podspecs?": ("*.podspec",),
    r"rockspecs?": ("*.rockspec",),
    r"c# projects?|csproj projects?": ("*.csproj",),
    r"f# projects?|fsproj projects?": ("*.fsproj",),
    r"(?:database )?migration files?": ("migrations/", "migrate/"),
}
"""Names that people use for files, and the paths that projects give them by custom."""
_NAMED = tuple(
    (re.compile(rf"(?<![\w⟨./*-])(?:{words})(?![\w/.⟩-])", re.IGNORECASE), globs) for words, globs in _CUSTOMS.items()
)


ANY_FOLDER = PathScope("any directory", "/", "*/", is_file=False)
"""The files of all directories; those without them are the ones at the top level."""

_HEADERS, _HEADERS_GLOB = r"\.(?:h|hh|hpp|hxx)$", "*.{h,hh,hpp,hxx}"


def mark_file_kinds(marked_text: MarkedText, paths: QuestionPaths) -> None:
    """Replace words for kinds of files, in a question for a number or a list, by the paths that exist of them."""
    if _COUNTED.search(marked_text.text) is None:
        return

    for pattern, globs in _NAMED:
        match = pattern.search(marked_text.text)
        existing = [glob for glob in globs if match is not None and paths.find(glob) is not None]
        if match is not None and existing:
            marks = " or ".join(marked_text.add(Mark("P", glob, glob)) for glob in existing)
            marked_text.text = f"{marked_text.text[: match.start()]}files of {marks}{marked_text.text[match.end() :]}"

    _mark_tails(marked_text, paths)
    words = [match["word"] for match in _BY_ENDING.finditer(marked_text.text)]
    if len(words) <= _MAX_ENDINGS:
        marked_text.mark(_BY_ENDING, "P", lambda match: _ending_of(match["word"], paths), "word")


def _mark_tails(marked_text: MarkedText, paths: QuestionPaths) -> None:
    """Read the end of names before "files", such as ``_spec.lua``, as all files with it, if no file is called so."""
    for number, mark in enumerate(marked_text.marks):
        if mark.kind not in {"N", "P"} or _TAIL.fullmatch(mark.text) is None or paths.find(mark.text) is not None:
            continue
        if paths.find(f"*{mark.text}") is not None:
            name = f"⟨P{number}⟩"
            marked_text.marks[number] = replace(mark, kind="P", text=f"*{mark.text}")
            marked_text.text = marked_text.text.replace(f"⟨{mark.kind}{number}⟩", name)
            marked_text.text = _TESTS_BY_TAIL.sub(r"\1 ", marked_text.text)


def _ending_of(word: str, paths: QuestionPaths) -> str | None:
    """Return the ending that a word means: as it is written, or in lower case; None for a language or no ending."""
    is_language = language_named(word) is not None and word.lower() not in _ABBREVIATIONS
    if word.lower() in _NO_ENDING or is_language:
        return None
    return next((f"*.{ending}" for ending in (word, word.lower()) if paths.find(f"*.{ending}") is not None), None)


def all_headers(noun: str) -> PathScope:
    """Return the headers of C and C++ in any directory."""
    return PathScope(noun, _HEADERS, _HEADERS_GLOB, is_file=True, exists=False)


def headers_of(folder: PathScope) -> PathScope:
    """Return the headers at any depth of a directory."""
    return replace(
        folder,
        source_text=f"header files in {folder.source_text}",
        pattern=f"{folder.pattern}.*{_HEADERS}",
        glob=f"{folder.glob}**/{_HEADERS_GLOB}",
        is_file=True,
    )
