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
    text = re.sub(
        r",? (?:and|at|in) (?:at )?(?:which|what) (?:version|tag|release|range)s?(?: of it)?$",
        "",
        text,
        flags=re.IGNORECASE,
    )
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
    has_use = bool(question_words & {"use", "used", "uses"}) and bool(question_words & {"for", "with", "to"})
    return fitting[0] if len(fitting) == 1 and (has_noun or has_use) else ""


_OF_PLUGINS = re.compile(
    r"(?:which|what) (?:leiningen|lein|gradle|maven|sbt|rebar3?|build|mill|version catalog) plugins "
    r"(?:(?:does|do|are|is) ){1,2}(?:the |our |its |this )?(?P<owner>[\w./-]{1,80}?)? ?"
    r"(?:build |project )?(?:use|used|declared?|applied|apply|list|listed|need|needed|have|has|pull in|there|require)s?"
    r"(?: (?:by|in) .{1,60})?",
    re.IGNORECASE,
)


def read_plugin_owner(words: str) -> str | None:
    """Return whose plugins of a build a question asks for, empty for the project's; None for another question."""
    match = _OF_PLUGINS.fullmatch(words)
    return None if match is None else match["owner"] or ""


_TESTED = re.compile(
    r"^(?P<on>(?:on|in|against|under|with|for|across) )?(?:how many|which|what) (?:different )?(?:versions? of )?"
    r"(?P<name>[\w.+#-]{1,30}|operating systems?)(?P<noun> (?:versions?|releases?|images?|flavou?rs))? "
    r"(?:(?:does|do|are|is|will|has|the|our|its|we|they|it|unit|integration|molecule|all|being) ){1,4}"
    r"(?P<subject>ci|tox|tests?|tested|run|build|built|workflows?|pipelines?)(?P<rest>(?: [\w-]+){0,6})$",
    re.IGNORECASE,
)
"""A matrix in other words: "on how many Go versions do we run CI", "which Java versions does CI run on"."""


def read_tested(words: str) -> str:
    """Return what a matrix of workflows has several of, such as ``go`` or ``os``; empty for another question."""
    match = _TESTED.match(words)
    text = "" if match is None else f"{match['subject']}{match['rest']}".lower()
    if match is None or re.search(r"\b(?:ci|tox|tests?|tested|workflows?|pipelines?)\b", text) is None:
        return ""
    # Without a preposition, "which rspec do the tests use" asks for a version.
    has_versions = (match["noun"] or "").endswith("s") and re.search(r"\b(?:ci|tox)\b", text) is not None
    if not match["on"] and not (has_versions or re.search(r" (?:on|against|under)$", text)):
        return ""
    return re.sub(r"(?<=[A-Za-z]{2})s$", "", match["name"].lower().removesuffix(" "))


_MAX_OBJECTS = 3
_ACTIONS = re.compile(
    r"^(?:which|what) (?:(?:third[ -]party|external|github|ci|other|different|official|reusable) )*actions? "
    r"(?P<rest>.{3,120})$",
    re.IGNORECASE,
)
_USED_FOR = re.compile(
    r"^what (?:does|do) (?:the |its |our )?(?:ci|github actions|(?:[\w.-]{1,40} )?(?:workflows?|pipelines?)) use "
    r"(?:for|to) (?P<rest>.{3,80})$",
    re.IGNORECASE,
)
_OF_WORKFLOW = re.compile(
    r"\s+(?:in|by|of|during|for|from) (?:the |its |our )?(?:[\w.-]{1,40} ){0,3}?"
    r"(?:workflows?|pipelines?|ci|github actions)(?: files?| workflows?| jobs?)?(?=$|\s|,)",
    re.IGNORECASE,
)
_AND_VERSION = re.compile(r",? (?:and )?(?:at|in|with|and) (?:which|what) versions?(?: of it)?$", re.IGNORECASE)
_ACTION_VERBS = {
    "sets": "setup", "set": "setup", "setting": "setup", "installs": "setup", "install": "setup", "installing": "setup",
    "configures": "setup", "provides": "setup", "uploads": "upload", "upload": "upload", "uploading": "upload",
    "downloads": "download", "publishes": "publish", "publish": "publish", "publishing": "publish", "pushes": "publish",
    "deploys": "deploy", "deploy": "deploy", "deploying": "deploy", "builds": "build", "building": "build",
    "caches": "cache", "caching": "cache", "lints": "lint", "lint": "lint", "linting": "lint", "checks": "check",
    "check": "check", "releases": "release", "release": "release", "releasing": "release", "creates": "create",
    "runs": "", "handles": "", "does": "", "logs": "login", "signs": "sign", "reports": "", "scans": "scan",
    "comments": "comment", "labels": "label", "tests": "test", "generates": "generate", "measures": "",
}  # fmt: skip
"""Verbs for what an action does, and the word for each in its name or in its step."""
_ACTION_GRAMMAR_TEXT = """
are is do does the a an used use uses rely relies on in by up it its our this that project repo repository we they
referenced pulled called show appear occur depend depends need needs needed run out from for to and with of files file
step steps jobs job all any there have has workflow workflows ci github pipeline pipelines being get
"""
_ACTION_GRAMMAR = frozenset(_ACTION_GRAMMAR_TEXT.split())


def read_action_purpose(words: str) -> tuple[str, str] | None:
    """Return what an action of a workflow has to do, as a verb and an object; both are empty for all actions."""
    match = _ACTIONS.match(words) or _USED_FOR.match(words)
    if match is None:
        return None

    rest = _OF_WORKFLOW.sub("", _AND_VERSION.sub("", match["rest"]))
    tokens = [token.strip(",").lower() for token in rest.split()]
    verb = next((_ACTION_VERBS[token] for token in tokens if token in _ACTION_VERBS), None)
    objects = [token for token in tokens if token not in _ACTION_GRAMMAR and token not in _ACTION_VERBS]
    if len(objects) > _MAX_OBJECTS or (verb is None and objects and match.re is _ACTIONS):
        return None
    return verb or "", " ".join(objects)
