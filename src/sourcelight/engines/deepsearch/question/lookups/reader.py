"""Read questions that a line of code answers: where something is defined, its value or default, its callers.

A `Lookup` is only a proposal. `lookups` finds the lines that prove an answer, or leaves the question to the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.lookups.builds import (
    BuildQuestion,
    read_build_question,
    read_free_question,
    read_key_question,
)
from sourcelight.engines.deepsearch.question.lookups.caller_wording import expand_caller_wording
from sourcelight.engines.deepsearch.question.lookups.forms import FORMS
from sourcelight.engines.deepsearch.question.lookups.member_wording import read_member_question
from sourcelight.engines.deepsearch.question.lookups.package_wording import NeedQuestion, read_need
from sourcelight.engines.deepsearch.question.lookups.packages import expand_yes_or_no, rephrase, without_alternative
from sourcelight.engines.deepsearch.question.lookups.purpose_wording import read_action_purpose, read_tested
from sourcelight.engines.deepsearch.question.lookups.value_wording import (
    expand_value_wording,
    name_in_brackets,
    name_value,
    quote_place,
)
from sourcelight.engines.deepsearch.question.lookups.word_order import order_words, without_noun
from sourcelight.engines.deepsearch.question.marks import GAP
from sourcelight.engines.deepsearch.question.wording import expand_wording, mend_spelling

_RUNTIMES = {
    "python": "python", "go": "go", "golang": "go", "rust": "rust", "node": "node", "node.js": "node", "nodejs": "node",
    "ruby": "ruby", "java": "java", "php": "php", "jdk": "java", "swift": "swift", "elixir": "elixir", "dart": "dart",
    "zig": "zig", "dotnet": "dotnet", ".net": "dotnet", "ghc": "ghc", "lua": "lua", "msrv": "rust", "r": "r",
    "perl": "perl", "cmake": "cmake", "terraform": "terraform", "flutter": "flutter", "ocaml": "ocaml",
    "julia": "julia", "crystal": "crystal", "nim": "nim", "erlang": "erlang", "otp": "erlang", "scala": "scala",
    "kotlin": "kotlin", "c++": "c++", "powershell": "powershell", "emacs": "emacs",
    "elm": "elm", "ansible": "ansible", "autoconf": "autoconf", "automake": "automake", "meson": "meson",
    "gradle": "gradle",
    "maven": "maven", "sbt": "sbt", "bazel": "bazel", "mill": "mill", "cabal": "cabal", "dune": "dune",
    "solidity": "solidity", "solc": "solidity", "gleam": "gleam",
    "kubernetes": "kubernetes", "k8s": "kubernetes",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question that lines of code answer.

    Attributes
    ----------
    kind
        ``definition``, ``existence``, ``value``, ``default``, ``configured``, ``callers``, ``callees``, ``bases``,
        ``members``, ``difference``, ``tests``, ``example``, ``parameters``, ``purpose``, ``key``, ``environment``,
        ``variable``, ``worded_members``, ``throws``, ``dependency``, ``dependencies``, ``needs``, ``actions``,
        ``field``, ``runtime``, ``imports``, ``defining_line`` or ``line``.
    name
        The subject as written, without quotation marks: a definition, a setting, a package or a language. Of a
        ``variable``, its purpose. Of ``worded_members``, the question for the members of an enum.
    owner
        Of a default, the function, class or program that has it; of a difference, the other name; of a dependency, the
        package in a repository with several. Empty without one.
    symbol_kind
        The noun next to the name, such as ``class``; empty without one.
    path, line
        Of a line, its file and number; of imports, the file, and `name` is a module that it may import.
    bound
        Of a default in prose, ``max`` or ``min`` if the question asks for the largest or smallest value.
    is_prose
        Of a default, whether `name` is a phrase such as "read buffer size" rather than a name.
    group, asks, is_free, subject
        Of a package or a field, as of `BuildQuestion`; the kind of a ``field`` is its `symbol_kind`.
    """

    kind: str
    name: str = ""
    owner: str = ""
    symbol_kind: str = ""
    path: str = ""
    line: int = 0
    bound: str = ""
    is_prose: bool = False
    group: str = ""
    asks: str = ""
    is_free: bool = False
    subject: tuple[str, ...] = ()

    @property
    def is_of_place(self) -> bool:
        """Whether no value answers it: "which tests use X", "on which line is max_size defined"."""
        return self.kind in _OF_USES or (self.kind == "definition" and re.fullmatch("[a-z]+", self.name) is None)


_ENDING = re.compile(r"[\s?.!,;:·]+$")
_OPENING = re.compile(
    r"^(?:[\s,;:·]|in\s*(?=,)|(?:please|can you tell me|tell me|could you tell me|do you know)\b)+", re.IGNORECASE
)
_OF_NUMBER = re.compile(
    r"\bdefault(?:\s+(?:value|setting))?\s+(?:of|for)\s+(?:the\s+)?(?:number|amount|count)\b", re.IGNORECASE
)
"""A parameter of this name, not the number of the things named after it."""

_POSSESSIVE = re.compile(
    r"(?<=\b(?:of|in|to|on)\s)((?:the\s+)?[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$~][\w$]*)*)'s\s+"
    r"(?=[\w$]+(?:\s+(?:function|method))?$)"
)
"""An owner before the last name of a question: "Response's initialize"."""
_OF_TESTS = re.compile(
    r"^(?P<start>.{0,120}?\b)(?:do|does)(?: ?'s| the| its| our| their| in)?(?: (?P<owner>[\w./-]{1,60})'s)? "
    r"(?:unit )?tests?(?: of| for| in)? "
    r"(?P<verb>use|need|require|reference|depend on|run with)(?P<rest>(?: .{1,60})?)$",
    re.IGNORECASE,
)
"""Tests as the subject of what manifests list: "which version of X do the tests use". "Do hub's tests use" comes as
"do in tests use", "do the tests of hub use" without the name, and "do the core's tests use" has a package as owner."""
_DEPLOYMENT = re.compile(
    r"\b(?P<system>ios|macos|osx|tvos|watchos) (?:deployment )?target(?: version)?\b", re.IGNORECASE
)
"""A system as a target of a pod, which is the oldest version that it requires."""
_AT_LEAST = re.compile(
    r"(?<= )(?:(?:at|as)(?: the| a)?(?: very)? (?:least|minimum)|minimally)$"
    r"|(?<=needs )at least$|(?<=requires )at least$",
    re.IGNORECASE,
)
"""An ending that asks for the least version, which is the one that manifests have."""
_FOR_WORK = re.compile(
    r" (?:for (?:building|compiling|running|installing)|to (?:build|compile|run|install))"
    r"(?: (?!(?:tests?|docs?|documentation|examples?|benchmarks?)$)[\w.+-]{1,60})?$",
    re.IGNORECASE,
)
"""An ending of a question for a version that says for which work it is needed."""
_DEFINED_WITH_NOUN = re.compile(
    r"^(?P<start>[Ww]here(?: is|'s)) the (?P<name>(?:[A-Z][a-z0-9]{1,40}){2,6}) "
    r"(?:rule|check|linter|plugin|middleware|component|widget|handler|model|service|helper|command|job|hook|mixin)s? "
    r"(?=(?:defined|declared|implemented)$)",
)
"""A definition with a noun of the project behind its name: "where is the UnusedArgument rule defined"."""
_FILE_OF = re.compile(
    r"^(?:which|what) file(?: is|'s) (?:the )?(?:class |struct |module |interface |function |method |enum )?"
    r"(?P<name>(?-i:(?:[A-Z][a-z0-9]{1,40}){2,6})) in$",
    re.IGNORECASE,
)
"""A question for the file of a definition: "which file is the class ReadBuffer in"."""
_ATTRIBUTE = re.compile(r"(?<![\w`'\"@./$])@(?P<name>[a-z_]\w{1,80})(?![\w`/@:-]|\.\w)")
"""A name with the sign of Elixir's attributes and Ruby's variables: "what is @defaults set to"."""
_ON_TOP = re.compile(r"\b(?<=[\w-] )(?:builds?|sits?|layers?) on top of\b", re.IGNORECASE)
"""Words for needing a package: "does hooks build on top of core"."""
_OF_WORKFLOW = re.compile(
    r"\b(?:does|do) (?:the |its |our )?(?:[\w.-]{1,40} ){0,2}(?:workflows?|pipelines?|ci)(?: files?)? "
    r"(?:use|run|need)\b",
    re.IGNORECASE,
)
"""A workflow as the subject of an action: "which version of actions/checkout does the release workflow use"."""
_PAIR = re.compile(
    r"\b(?:are|of|is) (?:the )?`?(?P<first>[\w$.:*-]{2,80})`?(?:,| and| or) `?(?P<second>[\w$.:*-]{2,80})",
    re.IGNORECASE,
)
_OF_USES = frozenset({"callers", "callees", "bases", "tests", "example", "throws", "imports", "line"})
"""Kinds of questions that no value answers."""
_OF_ONE = frozenset({"value", "configured", "default", "definition", "callers"})
_MAX_CHARACTERS = 300
"""Nested repetitions take time on long texts, and a question that one line answers is short."""
_MIN_CHARACTERS = 3
"""Characters of a plain word that can be the name of a function; "who calls it?" asks for none."""
_OF_VALUE = re.compile(r"value|\bset to$|\binitiali[sz]ed\b|\binitially$", re.IGNORECASE)
"""Words that ask for a value, so that a plain word is a name as well."""
_CODE_ALONE = frozenset({"value", "configured", "purpose"})
"""Kinds that a plain word without a mark of code doesn't ask for."""
_MANIFEST = re.compile(
    r"\.(?:json|jsonc|toml|ya?ml|xml|gradle|kts|mod|txt|in|cabal|gemspec|podspec|rockspec|lock|props|\w+proj|sbt|opam|cfg|ini"
    r"|nimble|bazel|cmake|config|edn|lockfile)$|(?:^|/)(?:project\.clj|setup\.py|mix\.exs|Package\.swift|rebar\.config|DESCRIPTION)$",
    re.IGNORECASE,
)
"""Files that list packages rather than import modules."""
_WHOLE = frozenset(
    ["main", "root", "top-level", "whole", "package", "crate", "library", "module", "gem", "app", "tool", "code"]
)
"""Words for all of a project, in the place of the name of a package."""
_PRONOUNS = frozenset(["it", "this", "that", "there", "they", "them", "what", "which", "who", "one"])


def read_lookup(text: str) -> Lookup | None:
    """Read a question without its repository names; None if no line of code can answer it alone."""
    words = _squeeze(_ENDING.sub("", _OPENING.sub("", text.replace(GAP.strip(), " ").replace("\u2019", "'"))))
    if len(words) > _MAX_CHARACTERS:
        return None

    # A preposition is left over if the repository name after it was removed.
    words = re.sub(r"\b(of|in|for|by|from) in\b", r"\1", words)
    words = _FILE_OF.sub(r"where is \g<name> defined", words)
    words = re.sub(r" (?:of|in|for|from|within|by)$", "", words)

    # "Response's initialize" is one name, unless a noun follows it: "Response's status parameter".
    words = _POSSESSIVE.sub(r"\1.", words)
    words = _OF_TESTS.sub(
        lambda match: (
            f"{match['start']}does {match['owner'] or 'it'} {match['verb'].replace('reference', 'use')}{match['rest']}"
            " in the tests"
        ),
        words,
    )
    words = _AT_LEAST.sub("", words)
    if " version" in words:
        words = _FOR_WORK.sub("", words)

    words = words.replace("swift-tools-version", "swift tools version")
    words = _DEPLOYMENT.sub(r"\g<system> version", words)
    words = _ON_TOP.sub("depend on", words)
    words = _ATTRIBUTE.sub(r"`\g<name>`", words)
    action, tested = read_action_purpose(words), read_tested(words)
    words = _OF_WORKFLOW.sub("does it need", words)
    if (match := _DEFINED_WITH_NOUN.match(words)) is not None:
        words = f"{match['start']} {match['name']} {words[match.end() :]}"

    words = re.sub(
        r" in (?=(?:defines|declares|implements|calls|invokes|requires?|needs?|uses?|pinned|locked|by)\b)", " ", words
    )
    words = expand_caller_wording(_squeeze(expand_value_wording(expand_wording(rephrase(words)))))
    # "Minimum Go to build it" is no default of that name.
    need = read_need(words) if re.match(r"(?:the )?(?:oldest|newest|minimum|lowest) ", words, re.IGNORECASE) else None
    # A name in brackets says more than the words before it.
    lookup = _match(usual) if (usual := name_in_brackets(words)) else None
    lookup = lookup or (_of_need(need) if need is not None else _match(words) or _match(quote_place(words)))

    # Spelling is corrected only if nothing fits, because names in code may look like mistakes.
    if lookup is None and (mended := _squeeze(expand_wording(mend_spelling(words)))) != words:
        lookup = _match(mended)

    lookup = lookup or _match_rewritten(words)
    if lookup is None and action is not None:
        lookup = Lookup("actions", action[1], group=action[0])
    if lookup is None and tested:
        lookup = Lookup("field", tested, symbol_kind="tested")
    if lookup is None and (need := read_need(words)) is not None:
        lookup = _of_need(need)
    if lookup is None:
        lookup = _read_yes_or_no(words, without_alternative(words))

    # A subject that no form knows may choose one of several manifests.
    free_question = read_free_question(words) if lookup is None else None
    if lookup is None and free_question is None:
        lookup = _read_yes_or_no(words, expand_yes_or_no(words))
    if lookup is None and free_question is None and read_member_question(words) is not None:
        return Lookup("worded_members", words)
    if lookup is None and free_question is None and (usual := name_value(words)) != words:
        lookup = _match(usual) or _match(quote_place(usual))
    return _of_build(free_question) if free_question is not None else _unless_of_two(words, lookup)


def _match_rewritten(words: str) -> Lookup | None:
    """Read a question without a noun of one language beside its name, or in another order of its words."""
    rewritten = (text for text in (without_noun(words), order_words(words)) if text != words)
    return next(filter(None, map(_match, rewritten)), None)


def _unless_of_two(words: str, lookup: Lookup | None) -> Lookup | None:
    """Return a lookup; None if a question asks the same of two names, and it has one: "what are A and B set to"."""
    pair = _PAIR.search(words)
    if lookup is None or pair is None or lookup.kind not in _OF_ONE or lookup.owner:
        return lookup
    return None if pair["second"] == lookup.name.strip("`") else lookup


def _read_yes_or_no(words: str, plain_words: str) -> Lookup | None:
    """Read a yes-or-no question about a package by other words; None for another one, or for the same words."""
    if plain_words == words or re.match(r"(?:is|are|does|do)\b", words, re.IGNORECASE) is None:
        return None
    lookup = _match(plain_words)
    return lookup if lookup is not None and lookup.kind == "dependency" else None


def _of_need(need: NeedQuestion) -> Lookup | None:
    """Return the lookup of a question about what a project needs."""
    if need.kind == "list" and not need.system:
        return Lookup("dependencies", need.owner or "dependencies", need.group)
    if need.kind == "version":
        return Lookup("dependency", need.name, need.owner, group=need.group, asks="which")
    if need.kind in {"runtime", "newest"}:
        name = _RUNTIMES[need.name]
        return (
            Lookup("runtime", name, need.owner)
            if need.kind == "runtime"
            else Lookup("needs", name, need.owner, "newest")
        )
    if need.kind == "purpose":
        return Lookup("needs", need.name, symbol_kind="purpose")
    kind = "system" if need.system else "internal"
    return Lookup("needs", need.system, need.owner, kind)


def _squeeze(text: str) -> str:
    """Return a text with single spaces, as the forms have them."""
    return " ".join(text.split())


def _match(words: str) -> Lookup | None:
    """Return the lookup of the first form that the question has."""
    for kind, patterns in FORMS:
        # Lines and languages have narrower forms than packages.
        if kind == "existence" and (question := read_build_question(words)) is not None:
            return _of_build(question)
        if kind == "value" and (question := read_key_question(words)) is not None:
            return _of_build(question)
        for pattern in patterns:
            match = pattern.match(words)
            lookup = match and _make(kind, match)
            if lookup:
                return lookup

    return None


def _of_build(question: BuildQuestion) -> Lookup | None:
    """Return the lookup of a question about manifests, or a version of a language; None for another subject."""
    runtime = _RUNTIMES.get(question.name.lower())
    if runtime is not None and question.asks == "version" and not question.group:
        # "The wrapper" or a file says where it is written; what other subjects need may be another version.
        is_manifest = re.compile(r"\S*\.\S+|(?:rock|gem|pod)spec")
        file = next((word for word in question.subject if is_manifest.fullmatch(word) is not None), "")
        other_words = set(question.subject) - {"wrapper", "root", "top", "main", file}
        # Beside the kind of a manifest, one word may name the package.
        if len(other_words) <= (file != ""):
            return Lookup("runtime", runtime, question.owner or file)
        if len(other_words) > 1 and file:
            return None
    if question.kind == "dependency":
        return Lookup(
            "dependency",
            question.name,
            question.owner,
            group=question.group,
            asks=question.asks,
            is_free=question.is_free,
            subject=question.subject,
        )

    name = (
        question.name
        if question.kind in {"script", "target", "platform", "key", "tested", "extra", "feature", "command", "image"}
        else ""
    )
    return Lookup("field", name, question.owner, question.kind, group=question.group)


def _make(kind: str, match: re.Match[str]) -> Lookup | None:  # noqa: PLR0911 - one for each kind
    """Make the lookup of a form; None if its words are prose after all."""
    groups = {name: text or "" for name, text in match.groupdict().items()}
    if kind == "line":
        return Lookup("line", path=groups["path"].strip("`"), line=int(groups["line"]))
    if kind == "imports":
        name, path = _bare(groups.get("name", "")), groups["path"].strip("`")
        # A name in quotation marks without an ending is a package: "does `dns-cli` depend on X".
        if name and (_MANIFEST.search(path) is not None or re.search(r"\.\w{1,10}$", path) is None):
            return None
        if not name and _MANIFEST.search(path) is not None:
            return Lookup("dependencies", path)
        if not name and "/" not in path and "." not in path:
            # What is called like no file may be a package.
            is_package = re.search(r"\bdepend (?:up)?on$", match[0], re.IGNORECASE) is not None
            return Lookup("dependencies", path) if is_package else None
        is_use = (groups.get("verb") or "").lower().startswith(("use", "depend", "pull"))
        return Lookup("imports", name, path=path, asks="use" if is_use else "")
    if kind == "dependencies":
        return _make_dependencies(groups)

    name, owner = _bare(groups["name"]), _bare(groups.get("owner", ""))
    if not name or name.lower() in _PRONOUNS:
        return None
    if kind == "runtime":
        return Lookup("runtime", _RUNTIMES[name.lower()])
    if kind == "scoped_value":
        return Lookup("value", name.removesuffix("()"), owner)
    if kind == "configured_of":
        # "The line-length of ruff" is the key `ruff.line-length`, as nested tables are joined.
        return Lookup("configured", f"{owner}.{name}")
    if kind == "prose":
        return _make_prose(name, owner, groups["bound"])

    return _make_named(kind, name, owner, groups, match[0])


def _make_dependencies(groups: Mapping[str, str]) -> Lookup:
    subject = _bare(groups.get("subject") or groups.get("of") or "")
    is_general = subject.lower() in _PRONOUNS | _WHOLE or subject.lower().endswith(("project", "have"))
    return Lookup(
        "dependencies", subject if subject and not is_general else "dependencies", _bare(groups.get("owner", ""))
    )


def _make_prose(name: str, owner: str, bound: str) -> Lookup | None:
    bound = bound.lower()[:3]
    # The forms of a default come first, and rejected this name.
    if " " not in name and bound == "def":
        return None
    return Lookup("default", name, owner, bound="" if bound == "def" else bound, is_prose=True)


def _make_named(kind: str, name: str, owner: str, groups: Mapping[str, str], question: str) -> Lookup | None:
    # "The default number of retries": the words after it name the value.
    if kind == "default" and name.lower() in {"number", "amount", "count"} and not _OF_NUMBER.search(question):
        return None

    noun = (groups.get("kind") or groups.get("after") or "").lower()
    is_plain_word = groups["name"] == name and re.fullmatch(r"[A-Za-z][a-z]*", name) is not None

    # "What is authentication?" is prose; so is "who calls back?".
    is_prose = is_plain_word and not groups.get("kind") and _OF_VALUE.search(question) is None
    if is_prose and (kind in _CODE_ALONE or (kind == "callers" and len(name) < _MIN_CHARACTERS)):
        return None

    return Lookup(kind, name.removesuffix("()"), owner.removesuffix("()"), noun)


def _bare(text: str) -> str:
    return text.strip().strip("`\"'“”").strip()
