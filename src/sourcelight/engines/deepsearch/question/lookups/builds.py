"""Read questions that a manifest or another build file answers: packages, their versions, fields, scripts, options.

The forms are tried in order. A word that a form doesn't know makes it fail, so that no condition is dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.lookups.build_commands import (
    NAME,
    NOUN,
    PACKAGE,
    SUBJECT,
    VERB,
    make_pattern,
)
from sourcelight.engines.deepsearch.question.lookups.build_fields import FIELDS
from sourcelight.engines.deepsearch.question.lookups.packages import read_free_package_question

_NO_PACKAGE_TEXT = """
it is are was were this that there they them we you i the a an any anything which what who one its our your these
those code program
version versions package packages library libraries crate crates gem gems module modules project dependency
dependencies deps chart plugin plugins repo repository app tool build test tests ci docs dev development production
runtime file files function class method itself python external direct optional peer other others third-party
role wrapper minimum lowest oldest
"""
_NO_PACKAGE = frozenset(_NO_PACKAGE_TEXT.split())
_OF_WORK = frozenset(["test", "tests", "docs", "examples", "benchmarks"])
_QUALIFIERS = (
    r"(?:direct|external|third[\s-]party|hard|required|mandatory|normal|regular|npm|cargo|python|ruby|maven|declared"
    r"|dev(?:elopment)?|test(?:ing)?|optional|peer|build|runtime|run-time|production|docs?|documentation|indirect"
    r"|transitive)"
)
_OF_GROUP = {
    "dev": "dev", "development": "dev", "test": "test", "testing": "test", "tests": "test", "optional": "optional",
    "peer": "peer", "build": "build", "runtime": "runtime", "run-time": "runtime", "production": "runtime",
    "imported": "runtime", "required": "required", "mandatory": "required", "must": "required", "hard": "required",
    "docs": "doc", "doc": "doc", "documentation": "doc", "direct": "direct", "indirect": "indirect",
    "transitive": "indirect", "suggested": "suggested",
}  # fmt: skip
_CONDITION = (
    r"(?:\s+(?:(?:as|of|for|in|by|on|from|with|during|when|to|according)\s+)+(?:(?:an?|the|its|our)\s+)?(?P<tail>"
    r"[\w./@+-]+(?:\s+[\w./@+-]+){0,3}))?"
)
_AUX = r"(?:is|are|does|do|can|should|must|will|was|were|has|have)"


@dataclass(frozen=True, slots=True)
class BuildQuestion:
    """A question for a value of a build file.

    Attributes
    ----------
    kind
        ``dependency``, ``license``, ``version``, ``features``, ``script``, ``scripts``, ``target``, ``binaries``,
        ``edition``, ``backend``, ``command`` or ``option``.
    name
        The package, script or option; empty for a field.
    owner
        The package whose manifest is meant, or a file; empty without one.
    group
        The list that is asked for, such as ``dev``; empty for any.
    asks
        ``version``, ``listed``, ``use`` or ``need``. A package that no manifest lists may still be in use.
    is_free, subject
        Whether its subject is of no form, and the words of that subject, such as ``listener``, by which one of several
        manifests may be chosen.
    """

    kind: str
    name: str = ""
    owner: str = ""
    group: str = ""
    asks: str = ""
    is_free: bool = False
    subject: tuple[str, ...] = ()


_VERSION_OF = (
    # "Which version of guava is used in the tests?", "what versions of text does the cli package allow"
    make_pattern(
        rf"(?:(?:which|what)\s+(?:(?:is|are)\s+the\s+)?|the\s+)?(?:(?:minimum|minimal|lowest|oldest|required|exact|allowed|supported)\s+)*"
        rf"(?:version(?:s|\s+range|\s+constraints?|\s+bounds?|\s+requirements?)?|releases?|range)\s+(?:of|for|on)\s+(?:the\s+)?"
        rf"(?P<name>{PACKAGE})(?:\s+{NOUN})?(?:\s+{_AUX})?(?:\s+{SUBJECT})?(?:\s+{_AUX})?"
        rf"(?:\s+{VERB})?{_CONDITION}"
    ),
    # "Which Kotlin version does it use?", "which pandoc versions are allowed by pandoc-server"
    make_pattern(
        rf"(?:which|what)\s+(?:(?:is|are)\s+the\s+)?(?:(?:minimum|minimal|lowest|oldest|required|allowed|supported)\s+)*"
        rf"(?P<name>{PACKAGE})(?:\s+{NOUN})?\s+versions?(?:\s+range)?(?:\s+{_AUX})?(?:\s+{SUBJECT})?"
        rf"(?:\s+{VERB})?{_CONDITION}"
    ),
    # "Which Dart SDK does the http package need?"
    make_pattern(
        rf"(?:which|what)\s+(?P<name>[A-Za-z.+#]+)\s+(?:sdk|tools?|toolchain|compiler|standard)(?:\s+versions?)?\s+{_AUX}"
        rf"(?:\s+{SUBJECT})?\s+{VERB}{_CONDITION}"
    ),
    # "the minimum version of numpy", "numpy version"
    make_pattern(
        rf"(?:(?:the\s+)?(?:minimum|minimal|lowest|oldest|required)\s+)?(?P<name>{PACKAGE})\s+"
        rf"(?:version|version\s+constraint|version\s+requirement)(?:\s+(?:used|required|needed|allowed))?{_CONDITION}"
    ),
    # "How new must numpy be", "what does it pin werkzeug to"
    make_pattern(
        rf"(?:to\s+)?(?:which|what)\s+version\s+(?:is|does\s+(?:it\s+)?pin)\s+(?:the\s+)?(?P<name>{PACKAGE})"
        rf"(?:\s+{NOUN})?(?:\s+(?:pinned|locked|fixed|set))?\s+(?:to|at){_CONDITION}"
    ),
)
_LISTED = (
    # "Is tempfile a dev dependency?", "Is ext-json required?"
    make_pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{PACKAGE})(?:\s+{NOUN})?\s+(?:only\s+)?(?:listed\s+)?(?:as\s+)?(?:an?|one\s+of\s+(?:the|its)|among\s+(?:the|its)|in\s+the)\s+"
        rf"(?P<group>(?:{_QUALIFIERS}[\s-]+)*)(?:dependenc(?:y|ies)|requirements?|deps?){_CONDITION}"
    ),
    make_pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{PACKAGE})(?:\s+{NOUN})?\s+(?P<group>optional|required|mandatory|indirect|a\s+must){_CONDITION}"
    ),
    make_pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{PACKAGE})(?:\s+{NOUN})?\s+(?P<group>suggested|imported|listed|declared)(?:\s+as\s+an?"
        rf"\s+dependency)?(?:\s+(?:by|in)(?:\s+(?P<tail>[\w./@+-]+))?)?"
    ),
    # "Does it depend on tokio?", "does the api package require lodash"
    make_pattern(
        rf"(?:does|do)\s+(?:(?!depend\b|require\b|list\b|rely\b|declare\b){SUBJECT}\s+)?"
        rf"(?:(?:directly|still|actually|really|also|currently)\s+)*(?:depend\s+(?:up)?on|require|list|rely\s+on|declare)\s+"
        rf"(?:(?:an?|the|on)\s+)*(?P<name>{PACKAGE})(?:\s+{NOUN})?{_CONDITION}"
    ),
    make_pattern(
        rf"(?:is\s+there|does\s+(?:it\s+)?have|has\s+it|have\s+we)\s+an?y?\s+(?P<group>(?:{_QUALIFIERS}\s+)*)dependency\s+(?:up)?on\s+"
        rf"(?:the\s+)?(?P<name>{PACKAGE})(?:\s+{NOUN})?{_CONDITION}"
    ),
)
_USED = (
    # "Does it use the rand crate?": the code may use what no manifest lists, such as a module of the language.
    make_pattern(
        rf"(?:does|do)\s+(?:{SUBJECT}\s+)?(?:(?:still|actually|really|also|currently)\s+)*"
        rf"(?:use|need|pull\s+in|build\s+on)\s+(?:(?:an?|the|any)\s+)?(?P<name>{PACKAGE})"
        rf"(?:\s+{NOUN})?{_CONDITION}"
    ),
    make_pattern(rf"(?:is|are)\s+(?:the\s+)?(?P<name>{PACKAGE})(?:\s+{NOUN})?\s+(?:used|needed){_CONDITION}"),
)
_CONDITIONAL = (
    # "On which platform is jeepney needed?", "for which Python versions is tomli required"
    make_pattern(
        rf"(?:on|for|in|with|under)\s+(?:which|what)\s+(?:platforms?|systems?|operating\s+systems?|os(?:es)?|targets?"
        rf"|python\s+versions?|versions?\s+of\s+python|frameworks?|profiles?|conditions?|circumstances)\s+(?:is|are)"
        rf"\s+(?:the\s+)?(?P<name>{PACKAGE})(?:\s+{NOUN})?\s+(?:needed|required|used|installed|listed|included)"
    ),
)
_KEY = (
    # A name that no word of prose looks like, or one in a file that the question names.
    make_pattern(
        rf"(?:what|which)(?:\s+(?:is|are))?(?:\s+the)?(?:\s+(?:value\s+of|setting))?\s+(?P<name>`[\w.-]+`|(?-i:[a-z]+(?:[-_][a-z]+)+|[a-z]+[A-Z]\w*))(?:\s+(?:setting|value|option|key|field))?"
        rf"(?:\s+(?:of|in|for|does|is|are|set\s+to))*(?:\s+(?:the\s+)?(?P<owner>[\w./-]+?)(?:\s+{NOUN})?)?(?:\s+(?:set|have|use|declare|configured|to|in))*"
    ),
    make_pattern(
        r"(?:what|which)(?:\s+is)?(?:\s+the)?(?:\s+value\s+of)?\s+(?P<name>`[\w.-]+`|[\w.-]+)(?:\s+(?:setting|key|option|field|value))?(?:\s+set\s+to)?\s+in\s+(?:the\s+)?`?(?P<owner>[\w./-]*\w\.(?:toml|json|ya?ml|ini|cfg|properties|gradle|kts|editorconfig))`?(?:\s+set\s+to)?"
    ),
)
"""A key of a file of configuration. Tried after all other forms, because code may have the name, too."""
_OF_OTHERS = re.compile(
    r"\b(?:dependenc(?:y|ies)|deps|third[\s-]party|vendored|packages|libraries|crates|gems|modules|plugins)\b",
    re.IGNORECASE,
)
"""Words for what others wrote: the license of the project is not theirs."""
_VAGUE_TAIL_TEXT = """
it the this that project repo repository package library crate gem build code here least manifest now app dependency
requirement currently general dependencies module requirements compatible supported bundled referenced configured
shipped included linked pinned specified declared locked role wrapper applied fine ok okay acceptable possible good work
works
"""
_VAGUE_TAIL = frozenset(_VAGUE_TAIL_TEXT.split())


_WORK = frozenset(["use", "using", "run", "running", "compile", "install"])


def read_build_question(words: str) -> BuildQuestion | None:
    """Read a question without its repository names and its question mark; None for another one."""
    for kind, patterns in FIELDS:
        for pattern in patterns:
            match = pattern.match(words)
            if match is not None and (question := _of_field(kind, match)) is not None:
                return question

    for asks, patterns in (("version", _VERSION_OF), ("listed", _LISTED), ("use", _USED), ("condition", _CONDITIONAL)):
        for pattern in patterns:
            match = pattern.match(words)
            if match is not None and (question := _of_package(asks, match)) is not None:
                return question

    return None


def read_free_question(words: str) -> BuildQuestion | None:
    """Read a question for a package whose subject no form knows; None for another one."""
    question = read_free_package_question(words)
    if question is None or question.name.lower() in _NO_PACKAGE:
        return None
    return BuildQuestion(
        "dependency",
        question.name,
        group=question.group,
        asks=question.asks,
        is_free=True,
        subject=question.subject,
    )


def read_key_question(words: str) -> BuildQuestion | None:
    """Read a question for the value of a key, such as `appVersion`, that no other form takes."""
    match = next((match for pattern in _KEY if (match := pattern.match(words)) is not None), None)
    return _of_field("key", match) if match is not None else None


def _of_field(kind: str, match: re.Match[str]) -> BuildQuestion | None:
    groups = match.groupdict()
    name = _bare(groups.get("name") or groups.get("other") or "")
    owner = _bare(groups.get("owner") or "")
    if kind == "license" and _OF_OTHERS.search(match[0]) is not None:
        return None

    # What tests or documents have is in manifests of their own.
    if owner.lower() in _OF_WORK and kind not in {"command", "tested", "extra", "script", "target"}:
        return None

    # "How do I install plugins" is about them.
    if owner.lower() in _NO_PACKAGE and kind != "command":
        owner = ""

    group = (groups.get("group") or "").strip().lower()
    is_default = kind == "features" and (group == "default" or match[0].lower().endswith("by default"))
    return BuildQuestion(kind, name, owner, "default" if is_default else "")


def _of_package(asks: str, match: re.Match[str]) -> BuildQuestion | None:
    groups = match.groupdict()
    name = _bare(groups["name"])
    owner = _bare(groups.get("owner") or "")
    # Only one language has a name of one letter.
    if name.lower() in _NO_PACKAGE or (len(name) < 2 and name != "R"):
        return None

    if owner.lower() in _NO_PACKAGE | _VAGUE_TAIL:
        owner = ""

    words = re.findall(r"[\w-]+", (groups.get("group") or "").lower())
    named_groups = [_OF_GROUP[word] for word in words if word in _OF_GROUP]
    tail = [word for word in re.findall(r"[\w./@+-]+", (groups.get("tail") or "").lower()) if word not in _VAGUE_TAIL]
    for word in tail:
        if word in _WORK:
            continue  # "needed to use this"
        if word in _OF_GROUP:
            named_groups.append(_OF_GROUP[word])
        elif not owner and re.fullmatch(NAME, word):
            owner = word  # "by pandoc-server", "in the Gemfile"
        elif word not in {"a", "an", "the", "by", "in", "for", "as", "of", "dependency", "only"}:
            return None

    if len(set(named_groups)) > 1:
        return None

    if asks == "use" and re.search(r"\bneed(?:ed)?\b", match[0]) is not None:
        asks = "need"

    return BuildQuestion("dependency", name, owner, "".join(named_groups[:1]), asks)


def _bare(text: str) -> str:
    return text.strip().strip("`\"'“”").strip()
