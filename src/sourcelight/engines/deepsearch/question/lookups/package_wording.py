"""Read everyday questions about what a project needs, word by word, where no form of a sentence fits.

"Which crates are only pulled in on Windows", "what does the client need at run time" and "which Swift do I need" have
a thing that is asked for, words of grammar, and at most one word that is neither: the package that is meant. A second
word of that kind makes it a question about something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.lookups.build_commands import NAME, RUNTIME
from sourcelight.engines.deepsearch.question.lookups.purpose_wording import read_plugin_owner, read_purpose

_MAX_WORDS = 24
_THINGS_TEXT = """
dependencies dependency deps dep packages package libraries library libs crates gems modules subcharts sub-charts
charts rocks shards eggs pods jars requirements
"""
_THINGS = frozenset(_THINGS_TEXT.split())
_ONE_THING = frozenset(["package", "library", "crate", "gem", "module"])
_QUALIFIERS_TEXT = """
other external third-party outside direct runtime production npm cargo pypi python ruby rust go golang elm dart maven
gradle composer php hex nuget java kotlin haskell hackage perl cpan lua nim ocaml opam swift node crystal clojure julia
erlang elixir r cran hard additional further extra
"""
_QUALIFIERS = frozenset(_QUALIFIERS_TEXT.split())
_GRAMMAR_TEXT = """
a an the its our your their this that these those it we you i they one people users user me us them there here is are
was were be been being does do did can could should must will would has have had to of for in on by at from with as
into onto out when while if so and then which what all any every each just only merely solely purely really actually
currently now today still also else already itself themselves directly explicitly exactly have get got gets getting
time together besides beside apart aside except than current bare away very across through via under over within
throughout
pull-requests
"""
_GRAMMAR = frozenset(_GRAMMAR_TEXT.split())
_WITHOUT_AUXILIARY = frozenset(
    ["needed", "required", "used", "supported", "i", "we", "you", "it", "this", "allowed", "to", "work", "works"]
)
"""Words that may follow a name without a verb before it: "the oldest Python I can use", "the minimum CMake needed"."""
_SUBJECT_NOUNS_TEXT = """
project projects repo repository codebase code build builds app application tool program library package packages crate
crates gem module plugin thing chart part component workspace manifest subproject root member parts end file
top-level main whole wrapper sub subpackage sub-package site website folder directory
"""
_SUBJECT_NOUNS = frozenset(_SUBJECT_NOUNS_TEXT.split())
_COUNTED_THINGS = frozenset(["dependencies", "deps", "crates", "gems", "requirements", "third-party", "external"])
"""Words for packages of others in a question for a number: a project has packages and libraries of its own, too."""
_VERBS_TEXT = """
need needs needed require requires required depend depends rely relies use uses used pull pulls pulled bring brings
brought drag drags dragged declare declares declared list lists listed want wants wanted install installed build builds
building built compile compiles compiled link links linked run runs running work works add adds added include includes
included ship ships rest sit sits expect expects upon top against import imports insist insists accept accepts allow
allows allowed support supports supported permit permits permitted fetch fetches fetched carry carries take takes ask
asks download downloads get
targeted reference references referenced say says said claim claims promise promises written come comes make
making get pin pins pinned lock locks locked fixed insisted tested specify specifies call calls resolve resolves
"""
_VERBS = frozenset(_VERBS_TEXT.split())
_NEED_VERBS_TEXT = "need needs needed require requires required depend depends install installed rely pull add"
_NEED_VERBS = frozenset(_NEED_VERBS_TEXT.split())
_AUXILIARIES = frozenset(
    ["is", "are", "does", "do", "did", "must", "should", "will", "would", "can", "have", "has", "get", "gets", "only"]
)
_GROUP_WORDS = {
    "runtime": "", "production": "", "prod": "", "dev": "dev", "development": "dev", "developing": "dev",
    "developers": "dev", "hacking": "dev", "contributing": "dev", "contributors": "dev", "test": "test",
    "tests": "test", "testing": "test", "docs": "doc", "documentation": "doc", "peer": "peer", "optional": "optional",
    "optionally": "optional", "build-time": "build", "compile-time": "build", "weak": "weak",
}  # fmt: skip
"""Words for the purpose of a list. What is needed at run time is in the list without a name."""
_DETERMINERS = frozenset(["the", "this", "our", "its", "that", "your"])
_OF_DOCS, _SITES = frozenset(["docs", "documentation"]), frozenset(["site", "website", "folder", "directory"])
"""Words for a directory of documents with a manifest of its own: "the docs site"."""
_SYSTEMS = {
    "windows": "windows", "linux": "linux", "macos": "macos", "mac": "macos", "osx": "macos", "unix": "unix",
    "ios": "ios", "android": "android", "wasm": "wasm", "webassembly": "wasm", "freebsd": "freebsd",
}  # fmt: skip
_VERSION_WORDS_TEXT = """
version versions release releases range constraint constraints bound bounds pin requirement sdk compiler toolchain
language interpreter runtime framework standard edition
"""
_VERSION_WORDS = frozenset(_VERSION_WORDS_TEXT.split())
_EXTREMES = {
    "oldest": "min", "lowest": "min", "minimum": "min", "minimal": "min", "earliest": "min", "least": "min",
    "smallest": "min", "min": "min", "newest": "max", "latest": "max", "highest": "max", "maximum": "max",
    "greatest": "max", "max": "max",
}  # fmt: skip
_RUNTIME = re.compile(rf"^{RUNTIME}$", re.IGNORECASE)
_COMPARED = re.compile(
    r",? (?:that|which|but) (?:[\w-]+ ){1,6}(?:doesn'?t|does not|don'?t|do not|isn'?t|aren'?t)(?: \w+)?$", re.IGNORECASE
)
"""The end of "what do the tests need that the program doesn't"."""
_WITHOUT_OTHERS = re.compile(
    r",? \(?(?:not|no|without|excluding)(?: the)? (?:dev\w*|tests?|optional)(?: ones| dependencies| deps)?\)?$",
    re.IGNORECASE,
)
"""The end of "what does it depend on (not dev)": lists for other work are named apart anyway."""
_ASIDES = re.compile(
    r"\b(?:no matter what|these days|right now|at the moment|out of the box|for sure|officially|formally)\b",
    re.IGNORECASE,
)
_ONE_WORD = (
    (_COMPARED, ""),
    (_WITHOUT_OTHERS, ""),
    (re.compile(r"\bpull requests?\b", re.IGNORECASE), "pull-requests"),
    (re.compile(r"\brun[ -]time\b", re.IGNORECASE), "runtime"),
    (re.compile(r"\b(build|compile|third) (time|party)\b", re.IGNORECASE), r"\1-\2"),
    # "Which collections does galaxy.yml depend on": what some managers call their packages.
    (
        re.compile(
            r"^(which|what) (?:other )?(?:systems|collections|roles|subspecs|pods|ports) "
            r"(?=(?:does|do|is|are) .{1,80}\b(?:depend|rely|require|need|pull)\w*\b)",
            re.IGNORECASE,
        ),
        r"\1 dependencies ",
    ),
    (re.compile(r"\b(?:flavou?r|variant) of the \w+\b", re.IGNORECASE), "package"),
    (re.compile(r"\b(?P<name>[\w/-]+) subspec\b(?: (?:in|of) the podspec)?", re.IGNORECASE), r"\g<name>"),
    (re.compile(r"\bin order to\b", re.IGNORECASE), "to"),
    (re.compile(r"\b(?:at (?:the )?(?:very )?(?:least|minimum)|minimally|as a minimum)\b", re.IGNORECASE), ""),
    (_ASIDES, ""),
)
_WITHOUT_QUESTION = re.compile(
    r"^(?=(?:the )?(?:oldest|newest|lowest|minimum|earliest|latest|min) )(?:the )?", re.IGNORECASE
)
"""The beginning of a question that leaves out "which": "oldest Ansible release this still works with"."""
_AS_DECLARED = re.compile(
    r",? (?:as (?:declared|stated|listed)|and (?:at|in|with)? ?(?:which|what) (?:version|tag|release)s?)$",
    re.IGNORECASE,
)
_OF_PROJECT = re.compile(
    r"\b(?:of|in|from|within|inside)\s+(?:this|the|our|its|the same)\s+(?:own\s+|same\s+|whole\s+)?"
    r"(?:project|workspace|repo|repository|build|monorepo|code ?base|solution)\b|\b(?:sibling|in-house|internal)\b",
    re.IGNORECASE,
)
"""Words for modules of the project itself: "which other crates of this workspace"."""
_POSSESSIVE = re.compile(
    rf"^(?:what|which)(?:'s|\s+is|\s+are)?\s+(?:the\s+)?(?P<owner>{NAME})['\u2019]s\s+(?P<name>{NAME})\s+"
    r"(?:(?:version|dependency)\s+)?(?:version|range|constraint|requirement|pin|bound)s?$",
    re.IGNORECASE,
)
_HAS_ANY = re.compile(
    r"(?:does|do) (?:the )?`?(?P<owner>[\w@./-]{2,80})`?"
    r"(?: (?:chart|package|crate|module|gem|library|plugin|project))? "
    r"(?:have|need|require|declare|list|pull in|depend on) any "
    r"(?:(?:third[ -]party|external|runtime|direct|other) ){0,2}"
    r"(?:dependencies|deps|sub-?charts?|packages|libraries|crates|gems)",
    re.IGNORECASE,
)
"""A yes-or-no question whose answer is a list, or that there is none."""
_OF_PACKAGE = re.compile(
    r"what (?:does|do) (?:(?:in |the |this |its |our )?(?:[a-z]+ )?(?:package|gem|crate|rock|library|podspec|gemspec"
    r"|rockspec|manifest|package-requires|project)|it|this)? ?"
    r"(?:require|need|depend (?:up)?on|pull in|list|declare|rely on)",
    re.IGNORECASE,
)
"""All that the package of a project needs; the name of the repository is taken out of a question first."""
_NAME_ALONE = re.compile(rf"`?(?P<name>{NAME})`?")
_MIN_NAME = 2
_OF_CODE_TEXT = """
value values default defaults setting settings option options type types kind name names file files function functions
class classes method methods line lines port key keys flag flags number size path paths variable variables constant
argument arguments parameter parameters error errors exception field fields format encoding algorithm protocol
"""
_OF_CODE = frozenset(_OF_CODE_TEXT.split())
"""Words of questions for code, which are no names of packages: "what value does X have"."""


@dataclass(frozen=True, slots=True)
class NeedQuestion:
    """A question about what a project needs.

    Attributes
    ----------
    kind
        ``list``, ``internal``, ``version``, ``runtime``, ``newest`` or ``purpose``.
    name
        The package or the language of a version, or a purpose such as ``test``; empty for a list.
    owner
        The package that needs it; empty for the project.
    group
        The list that is meant, such as ``dev``; empty for what is always needed.
    system
        The only system on which something is needed; empty for any.
    """

    kind: str
    name: str = ""
    owner: str = ""
    group: str = ""
    system: str = ""


@dataclass(slots=True)
class _Words:
    """The parts of a question: its lists, its systems, and the words that are no grammar."""

    groups: set[str]
    systems: set[str]
    unknown: list[str]
    has_verb: bool = False
    has_version_word: bool = False
    is_need: bool = False
    is_depending: bool = False
    is_only: bool = False


def read_need(words: str) -> NeedQuestion | None:
    """Read an everyday question about what is needed; None for another one."""
    if (need := _read_whole(words)) is not None:
        return need
    for pattern, replacement in _ONE_WORD:
        words = pattern.sub(replacement, words)

    if purpose := read_purpose(words):
        return NeedQuestion("purpose", purpose)

    words = _AS_DECLARED.sub("", _WITHOUT_QUESTION.sub("which ", words))
    is_internal = _OF_PROJECT.search(words) is not None
    tokens = [token for text in _OF_PROJECT.sub(" ", words).split() if (token := text.strip(",`\"'“”"))]
    is_many = " ".join(tokens[:2]).lower() == "how many"
    if not 2 < len(tokens) <= _MAX_WORDS or not (is_many or tokens[0].lower() in {"which", "what"}):
        return None

    tokens = tokens[2 if is_many else 1 :]
    if is_many:
        # The sentence that lists them gives their number, too; files and modules are counted elsewhere.
        is_list = any(token.lower() in _COUNTED_THINGS for token in tokens[:4])
        return _read_list(tokens, is_internal=False) if is_list and not is_internal else None
    if tokens[0].lower() in {"is", "are"} and len(tokens) > 1 and tokens[1].lower() == "the":
        tokens = tokens[2:]

    return _read_list(tokens, is_internal=is_internal) or (None if is_internal else _read_version(tokens))


def _read_whole(words: str) -> NeedQuestion | None:
    """Read a question of one of the forms that have all of their words."""
    if (match := _POSSESSIVE.match(words)) is not None:
        return NeedQuestion("version", match["name"], match["owner"])
    if (match := _HAS_ANY.fullmatch(words) or _OF_PACKAGE.fullmatch(words)) is not None:
        return NeedQuestion("list", "", match.groupdict().get("owner") or "")
    if (owner := read_plugin_owner(words)) is not None:
        return NeedQuestion("list", "", "" if owner.lower() in _GRAMMAR | _SUBJECT_NOUNS else owner, "plugin")
    return None


_OF_PACKAGES = re.compile(
    r"^(?:and )?(?:(?:at|in|with|on|from) )?(?:which|what|whats|the|min\w*|oldest)\b.*\b(?:versions?|releases?|ranges?"
    r"|constraints?|depend(?:s|ency|encies)?|deps?|requires?|required|requirement|pins?|pinned|package|library|crate|gem|jar"
    r"|bound|catalog|lock(?:ed)?|references?d?|we need|tag)\b",
    re.IGNORECASE,
)
_NO_CONTENT_TEXT = (
    "which what whats list tag catalog pinned pins number set exact given checked check file please we're upon"
)
_NO_CONTENT = _GRAMMAR | _SUBJECT_NOUNS | _QUALIFIERS | _THINGS | _ONE_THING | _VERBS | _VERSION_WORDS | _AUXILIARIES
_NO_CONTENT |= _EXTREMES.keys() | set(_NO_CONTENT_TEXT.split())


def read_package_words(words: str) -> tuple[str, ...]:
    """Return the words of a question about packages that may name one, its list or its manifest; empty for another."""
    if _OF_PACKAGES.match(words) is None or len(words.split()) > _MAX_WORDS:
        return ()
    tokens = [token.strip(",.?!`\"'“”()").removesuffix("'s").lower() for token in words.split()]
    return tuple(dict.fromkeys(token for token in tokens if len(token) > 1 and token not in _NO_CONTENT))


def _read_list(tokens: Sequence[str], *, is_internal: bool) -> NeedQuestion | None:
    """Read a question for all packages that something needs."""
    index = 0
    qualifiers: list[str] = []
    while index < len(tokens) and tokens[index].lower() in _QUALIFIERS | _GROUP_WORDS.keys():
        qualifiers.append(tokens[index].lower())
        index += 1

    # "Which crate is only pulled in on unix" is about all of them.
    has_system = any(token.lower() in _SYSTEMS for token in tokens)
    has_thing = index < len(tokens) and tokens[index].lower() in (_THINGS | _ONE_THING if has_system else _THINGS)
    rest = tokens[index + 1 :] if has_thing else tokens
    # "Which package provides X" asks for one of them, and "which packages use X" for those on the other side.
    if has_thing and (not rest or rest[0].lower() not in _AUXILIARIES | {"in"}):
        return None

    read = _classify(rest)
    if has_thing:
        read.groups |= {_GROUP_WORDS[word] for word in qualifiers if word in _GROUP_WORDS}

    groups, owners = read.groups - {""}, read.unknown
    read.has_verb = read.has_verb or (has_thing and tokens[index].lower() in _COUNTED_THINGS)
    is_of_purpose = has_thing or (bool(read.groups) and (read.is_need or read.is_only) and not read.has_version_word)
    is_of_purpose = is_of_purpose or (read.is_depending and bool(read.unknown) and not read.has_version_word)
    is_of_purpose = is_of_purpose or (read.is_need and read.is_only and bool(read.systems))
    if (
        not (is_of_purpose and (read.has_verb or read.is_only))
        or len(owners) > 1
        or len(groups) > 1
        or len(read.systems) > 1
    ):
        return None
    if is_internal and not has_thing:
        return None

    owner = owners[0] if owners else ""
    system = next(iter(read.systems), "")
    if system and not (has_thing or read.is_only):
        return None
    kind = "internal" if is_internal else "list"
    return NeedQuestion(kind, "", owner, next(iter(groups), ""), system)


def _classify(tokens: Sequence[str]) -> _Words:
    """Sort the words of a question into what they say."""
    read = _Words(set(), set(), [])
    previous = ""
    for index, token in enumerate(tokens):
        word = token.lower().removesuffix("'s")
        before, previous = previous, word
        if word in _SUBJECT_NOUNS and before in _DETERMINERS:
            continue  # "this build" builds nothing
        if word in _OF_DOCS and [*tokens, ""][index + 1].lower() in _SITES:
            read.unknown.append(token)
        elif word in _GROUP_WORDS:
            read.groups.add(_GROUP_WORDS[word])
            # "Which rspec do they test with"
            read.has_verb = read.has_verb or [*tokens, ""][index + 1].lower() in {"with", "against"}
        elif word in _SYSTEMS:
            read.systems.add(_SYSTEMS[word])
        elif word in _VERBS:
            read.has_verb = True
            read.is_need = read.is_need or word in _NEED_VERBS
            read.is_depending = read.is_depending or word in {"depend", "depends", "rely", "relies"}
        elif word in _EXTREMES:
            read.has_verb = True
        elif word in {"only", "just", "solely", "merely", "exclusively"}:
            read.is_only = True
        elif word in _VERSION_WORDS:
            read.has_version_word = True
        elif word not in _GRAMMAR | _SUBJECT_NOUNS | _QUALIFIERS | _THINGS:
            read.unknown.append(token.removesuffix("'s"))

    return read


def _read_version(tokens: Sequence[str]) -> NeedQuestion | None:
    """Read a question for the version of a language or a package: "which Swift do I need", "which clap is used"."""
    extreme, remaining = _take_extreme(tokens)
    match = _NAME_ALONE.fullmatch(remaining[0]) if len(remaining) > 1 else None
    if match is None or (len(match["name"]) < _MIN_NAME and match["name"] != "R"):
        return None

    following = next((token.lower() for token in remaining[1:] if token.lower() not in _VERSION_WORDS), "")
    read = _classify(remaining[1:])
    # `packages` reads "which version of X", which an action or a lock file may answer, too.
    read.has_version_word = read.has_version_word or tokens[0].lower() in _VERSION_WORDS
    # "Which states can the wheel have" asks for kinds of a thing.
    has_verb = read.has_verb or re.search(r"\bmust (?:i|we|you|one) have$", " ".join(tokens).lower()) is not None
    # "The minimum Terraform the module says it needs"
    is_asked = following in _AUXILIARIES | _WITHOUT_AUXILIARY or (bool(extreme) and following == "the")
    if not (is_asked and has_verb) or len(read.unknown) > 1 or read.systems:
        return None
    return _of_name(match["name"], read, extreme)


_TAKEN = _EXTREMES.keys() | {"supported", "required", "recent", "most"}


def _take_extreme(tokens: Sequence[str]) -> tuple[str, list[str]]:
    """Return which end of a range a question asks for, ``min`` or ``max``, and its words from the name on."""
    extreme, index = "", 0
    while index < len(tokens) and tokens[index].lower() in _TAKEN:
        extreme = _EXTREMES.get(tokens[index].lower(), extreme)
        index += 1

    remaining = [token for token in tokens[index:] if token.lower() != "possible"]
    # "Version of Node", "release of X".
    if len(remaining) > 2 and remaining[0].lower() in _VERSION_WORDS and remaining[1].lower() in {"of", "for"}:
        remaining = remaining[2:]
    while remaining and remaining[0].lower() in {"the", "a"}:
        remaining = remaining[1:]
    return extreme, remaining


def _of_name(name: str, read: _Words, extreme: str) -> NeedQuestion | None:
    """Return the question for the version of a name; None for a word of grammar."""
    owner = read.unknown[0] if read.unknown else ""
    if _RUNTIME.match(name) is not None:
        kind = "newest" if extreme == "max" else "runtime"
        return NeedQuestion(kind, name.lower(), owner) if not read.groups else None

    is_word = (
        name.lower() in _OF_CODE | _GRAMMAR | _SUBJECT_NOUNS | _THINGS | _VERBS | _VERSION_WORDS | _EXTREMES.keys()
    )
    groups = read.groups - {""}
    # `packages` reads questions that say "version".
    if is_word or extreme == "max" or read.has_version_word or not groups <= {"test", "dev"} or len(groups) > 1:
        return None
    return NeedQuestion("version", name, owner, next(iter(groups), ""))
