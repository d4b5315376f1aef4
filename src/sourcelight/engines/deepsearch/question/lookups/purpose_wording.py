"""Read questions for the package of a purpose: "which testing framework is used", "what do we log with"."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MAX_WORDS = 24
_OTHER_WORDS_TEXT = """
a an the its our your their this that these those it we you i they one people there here is are was were be been
does do did can could should must will would has have had to of in on by at from and which what all any each only just
actually really currently now today still also these days right moment use uses used using rely relies need needs
needed require requires required depend depends pull pulled want wants choose chosen pick picked run runs running
write written build built based bundled bundle shipped included declared listed installed project repo repository
codebase code app application program crate package version versions release range main whole own internal default
external third-party source under hood behind scenes drive drives powers power

"""
_OTHER_WORDS = frozenset(_OTHER_WORDS_TEXT.split())
"""Words of grammar, verbs and nouns that say nothing of the purpose."""
_PURPOSES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(signs.split()), frozenset(further.split()))
    for name, signs, further in (
        (
            "test",
            "test tests testing unittests unit-test unit-tests spec specs",
            "unit suite suites runner harness cases automated",
        ),
        ("logging", "logging logger logs", "log structured messages"),
        ("lint", "lint linting linter linters lints", "style static analysis checker"),
        ("format", "formatter formatting", "code style"),
        (
            "cli",
            "cli command-line arguments argument flags argv",
            "command line parse parses parsing parser options option handle handles handling",
        ),
        ("mock", "mock mocks mocking stubs stubbing", "objects"),
        ("coverage", "coverage", "code test measures measure report reports measured"),
        ("benchmark", "benchmark benchmarks benchmarking", "run runs measure micro"),
        ("bundle", "bundler bundling bundle", "bundles javascript"),
        ("types", "type-checker typechecker type-checking", "static checker"),
        ("http", "http", "client clients requests request make making"),
        ("json", "json", "parse parses parsing parser serialization serialize handle handles"),
        ("yaml", "yaml", "parse parses parsing parser"),
        ("web", "web", "server app"),
        ("orm", "orm", "database mapper"),
        ("ui", "ui", "toolkit frontend terminal"),
        ("async", "async asynchronous", "executor io i/o"),
    )
}
"""Purposes of packages: words that say one, of which a question has at least one, and further words beside them."""
_PURPOSE_NOUNS_TEXT = """
library libraries framework frameworks tool tools package packages crate crates gem gems module modules runner runners
linter linters formatter bundler parser client checker logger harness engine lib libs dependency toolkit orm executor
runtime
"""
_PURPOSE_NOUNS = frozenset(_PURPOSE_NOUNS_TEXT.split())
_USES_FOR = frozenset(["for", "with", "as", "to", "runs", "does", "handles", "parses"])
_OF_TESTS = frozenset(["test", "tests"])
"""Tests as those that use a package of another purpose."""
_TOO_GENERAL = frozenset(["package", "packages", "dependency", "libs", "libraries", "module", "modules", "runtime"])
"""Nouns of a list, or of code: "which module handles http" asks for a place."""


def read_purpose(words: str) -> str:
    """Return the purpose of the package that a question asks for, such as ``test``; empty for another question."""
    text = re.sub(r"\b(unit|command|type)[ -](tests?|line|check\w+)\b", r"\1-\2", words, flags=re.IGNORECASE)
    text = re.sub(r",? (?:and|at|in) (?:at )?(?:which|what) version(?: of it)?$", "", text, flags=re.IGNORECASE)
    tokens = [token.strip(",").lower() for token in text.split()]
    if not 2 < len(tokens) <= _MAX_WORDS or tokens[0] not in {"which", "what"}:
        return ""

    question_words = set(tokens[1:])
    fitting = [
        name
        for name, (signs, further) in _PURPOSES.items()
        if question_words & signs
        and not question_words - signs - further - _PURPOSE_NOUNS - _OTHER_WORDS - _USES_FOR - _OF_TESTS
    ]
    has_noun = bool(question_words & _PURPOSE_NOUNS - _TOO_GENERAL)
    has_use = bool(question_words & {"use", "used", "uses"}) and bool(question_words & {"for", "with"})
    return fitting[0] if len(fitting) == 1 and (has_noun or has_use) else ""
