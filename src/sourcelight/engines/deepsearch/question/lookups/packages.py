"""Read questions for packages whose subject no form knows: "which version of Kerberos.NET does the listener reference".

These are tried after all forms. They read word by word what is asked, of which package and for what purpose; the other
words are the subject, by which one of several manifests may be chosen. A question for a version has one of three
beginnings: "which version of X", "which X version" and "does … use X, and which version".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.lookups.build_commands import NAME, NOUN, PACKAGE

_MAX_WORDS, _MAX_NAME_WORDS = 30, 3
_AUXILIARIES_TEXT = "is are was were be been does do did can could should must will has have get gets would"
_AUXILIARIES = frozenset(_AUXILIARIES_TEXT.split())
_ARTICLES = frozenset(["a", "an", "the", "its", "our", "their", "any", "some", "this", "these"])
_VERSION_WORDS = frozenset(["version", "versions", "release", "releases", "range", "constraint", "constraints"])
_ADJECTIVES_TEXT = """
minimum minimal min lowest oldest least maximum required exact allowed supported compatible current pinned which what
"""
_ADJECTIVES = frozenset(_ADJECTIVES_TEXT.split())
_VERBS_TEXT = """
depend depends rely relies need needs needed require requires required use uses used install installs installed
reference references list lists listed declare declares include includes pull pulls pulled link links ship ships bundle
bundles pin pins want wants expect expects specify specifies add adds looks look asks ask work works download downloads
bundled referenced configured shipped included linked pinned declared specified chosen locked imported targeted
build builds built compiled applied run runs allow allows accept accepts support supports permit permits
"""
_VERBS = frozenset(_VERBS_TEXT.split())
_PREPOSITIONS_TEXT = """
on upon of for in by at to from with as against via during when while within inside under that which where or
"""
_PREPOSITIONS = frozenset(_PREPOSITIONS_TEXT.split())
_VAGUE_TEXT = """
it this that they we you here there project repo repository package library crate gem module code app application tool
program main own only still actually really also currently directly now least itself dependency dependencies
requirement requirements build-time time compile compilation runtime-only default suite suites run running
fine ok okay acceptable possible good valid ends up users user people consumers
developed written against minimum lowest oldest
"""
_VAGUE = frozenset(_VAGUE_TEXT.split())
"""Words of a subject that choose no manifest."""
_GROUPS = {
    "dev": "dev", "development": "dev", "developers": "dev", "test": "test", "tests": "test", "testing": "test",
    "optional": "optional", "peer": "peer", "runtime": "runtime", "production": "runtime", "docs": "doc", "doc": "doc",
    "documentation": "doc", "indirect": "indirect", "transitive": "indirect",
}  # fmt: skip
"""Words for the purpose of a list."""
_OF_DEPENDENCY = re.compile(
    r"\b(?:dependenc|requirement|requir|need|used|listed|install|optional|indirect|bundled|shipped|extra\b)"
)
_AND_VERSION = re.compile(
    r",? (?:and|and if so|if so),? (?:(?:in|at|with) )?(?:which|what) (?:versions?|ranges?)"
    r"(?: (?:of it|does it use|is it))?$",
    re.IGNORECASE,
)
_ONLY = re.compile(r"\b(dev|development|test|runtime|peer|docs?)-only\b", re.IGNORECASE)
_NOUNS = re.compile(rf"(?:{NOUN}|actions?|images?|sdk|toolchain|compiler|language)", re.IGNORECASE)
_NAMES = re.compile(rf"(?:{PACKAGE}|{NAME}|(?i:\.net))")

_WHAT, _THE = r"(?:what(?:'s|\u2019s| is| are| was)?|which is)", "(?:the )?"
_PACKAGES = r"(?:(?:third[\s-]party |external )?(?:packages?|librar(?:y|ies)|modules?|crates?|gems?|dependencies))"
_NAMED_OWNER = r"`?@?[\w.+/-]+`?"
_OF_MANIFEST = (
    r"(?: (?:package|crate|module|library|gem|pod|podspec|gemspec|rockspec|project|workspace|subproject|target|chart"
    r"|manifest|file|app|plugin))?"
)
# "What does it depend on?", "List the dev dependencies".
_DEPENDENCY_TEXTS = (
    "what (?:does|do) (?:it )?(?P<name>depend) (?:up)?on",
    (
        rf"(?:what|(?:which|what) {_PACKAGES}) (?:does|do) (?:the )?(?P<of>{_NAMED_OWNER}){_OF_MANIFEST} "
        "(?P<name>depend) (?:up)?on"
    ),
    (
        rf"(?:{_WHAT} |list )(?:all )?(?:its |the )?(?:direct |runtime )?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)[\s-]+)?(?P<name>dependencies|deps) "
        rf"(?:of|in|for) (?:the )?(?P<of>{_NAMED_OWNER}){_OF_MANIFEST}"
    ),
    rf"(?:which|what) {_PACKAGES} (?:does|do) (?:it )?(?P<name>depend) (?:up)?on",
    rf"(?:which|what) {_PACKAGES} (?:does|do|is|are) (?:it )?(?P<name>require|need|use)d?(?: by)?",
    (
        rf"(?:what|(?:which|what) {_PACKAGES}) (?:does|do|is|are) (?:it |(?P<of>{_NAMED_OWNER}) )?"
        "(?P<owner>suggest)(?:ed)?(?: by)?(?P<name>)"
    ),
    (
        rf"(?:what are|which are|list|show) (?:me )?(?:all )?{_THE}(?:direct |runtime )?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build|indirect)[\s-]+)?(?P<name>dependencies)"
        "(?: (?:of|in|for))?"
    ),
    (
        rf"(?:{_WHAT} (?:its |the )?)?(?P<owner>dev(?:elopment)?|test|peer|optional|build)[\s-]+"
        rf"(?P<name>dependencies|deps) (?:of|in|for) (?:the )?(?P<of>{_NAMED_OWNER})"
        "(?: (?:package|crate|module|library))?"
    ),
    (
        rf"(?:{_WHAT} (?:its |the )?)?(?:(?:direct|runtime|external|third[\s-]party|package) )?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)[\s-]+)?"
        "(?:(?:nuget|npm|pip|pypi|gem|cargo|hex|pub|maven|gradle|composer|cabal|swift|python|go|ruby|rust|node) )?"
        "(?P<name>dependencies|deps)(?: (?:of|in|for))?"
    ),
    (
        "(?:does|do) (?:it )?(?:have|need|require) (?:any )?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build)[\s-]+)?(?:external |third[\s-]party |runtime )?"
        "(?P<name>dependencies|deps)"
    ),
    (
        rf"(?:how many|(?:what is )?{_THE}number of) (?:direct |runtime |external |third[\s-]party )?"
        r"(?:(?P<owner>dev(?:elopment)?|test|peer|optional|build|indirect)[\s-]+)?(?P<name>dependencies|deps)"
        rf"(?: (?:(?:does|do) (?P<subject>{_NAMED_OWNER}(?: project)?)?(?: ?(?:have|need|require|list))?"
        r"|(?:are|is) there|"
        rf"(?:of|in|for) (?P<of>{_NAMED_OWNER})))?"
    ),
    (
        "(?:which|what) (?:(?:of )?(?:the |its )?dependencies|deps|packages|crates|gems) (?:are|is) "
        "(?:(?:only )?(?:for|used for|needed for|used in|only for|in) )?"
        "(?P<owner>optional|dev(?:elopment)?|peer|test)(?:s|ing)?(?P<name>)(?: (?:only|ones|dependencies))?"
    ),
    (
        "(?:(?:list|show) (?:me )?)?(?:the |all )?(?:packages?|librar(?:y|ies)|crates?|gems?|modules?) "
        "(?:(?:that|which) )?(?:it|this) (?:depends on|uses|needs|requires)(?P<name>)"
    ),
)
DEPENDENCY_FORMS = tuple(re.compile(rf"^{text}$", re.IGNORECASE) for text in _DEPENDENCY_TEXTS)
"""The forms of questions for all packages of a manifest, or of a list such as that for development."""


@dataclass(frozen=True, slots=True)
class FreePackageQuestion:
    """A question about a package with a free subject.

    Attributes
    ----------
    name
        The package; its words are joined by dashes.
    asks
        ``version``, ``listed`` or ``use``.
    group
        The purpose that its words name, such as ``test``; empty for none or several.
    subject
        The other words of the subject, in lower case.
    """

    name: str
    asks: str
    group: str
    subject: tuple[str, ...]


def read_free_package_question(words: str) -> FreePackageQuestion | None:
    """Read a question for a package by its words; None for another question."""
    without_version = _AND_VERSION.sub("", words)
    tokens = [token.strip(",") for token in _ONLY.sub(r"\1 only", without_version).split(" ")]
    if tokens[0].lower() == "from" and len(tokens) > 1:
        tokens = tokens[1:]
    if not 2 < len(tokens) <= _MAX_WORDS:
        return None

    first = tokens[0].lower()
    if first in {"which", "what"}:
        return _read_version(tokens)

    asks = "version" if without_version != words else ""
    if first in {"does", "do", "did", "must", "should"}:
        return _read_relation(tokens, asks)
    if first in {"is", "are"}:
        return _read_listed(tokens, asks)
    return None


def _read_version(tokens: Sequence[str]) -> FreePackageQuestion | None:
    """Read "which version of X …" or "which X version …"."""
    index = next((index for index, token in enumerate(tokens[:8]) if token.lower() in _VERSION_WORDS), 0)
    if not index:
        return None

    # "Which version range of X".
    while index + 1 < len(tokens) and tokens[index + 1].lower() in _VERSION_WORDS:
        index += 1

    is_behind = index + 1 < len(tokens) and tokens[index + 1].lower() in {"of", "for"}
    if is_behind:
        if any(token.lower() not in _ADJECTIVES | _ARTICLES | _AUXILIARIES for token in tokens[:index]):
            return None
        end = _end_of_name(tokens, index + 2)
        return _make(tokens[index + 2 : end], tokens[end:], "version")

    return _make(tokens[1:index], tokens[index + 1 :], "version")


def _read_relation(tokens: Sequence[str], asks: str) -> FreePackageQuestion | None:
    """Read "does … depend on X …"."""
    index = next((index for index, token in enumerate(tokens) if index and token.lower() in _VERBS), 0)
    if not index:
        return None

    start = index + 1
    while start < len(tokens) and tokens[start].lower() in _PREPOSITIONS:
        start += 1

    end = _end_of_name(tokens, start)
    verb = tokens[index].lower()
    asks = asks or ("use" if verb.startswith(("use", "need")) else "listed")
    return _make(tokens[start:end], [*tokens[1:index], *tokens[end:]], asks)


def _read_listed(tokens: Sequence[str], asks: str) -> FreePackageQuestion | None:
    """Read "is X only used in tests" and the like."""
    end = _end_of_name(tokens, 1)
    rest = tokens[end:]
    if _OF_DEPENDENCY.search(" ".join(rest).lower()) is None:
        return None
    is_of_list = any("dependenc" in token.lower() for token in rest)
    return _make(tokens[1:end], rest, asks or ("listed" if is_of_list else "use"))


def _end_of_name(tokens: Sequence[str], start: int) -> int:
    """Return where the words of a name end: at a verb, a preposition or a word of grammar behind the first of them."""
    index = start
    while index < len(tokens) and tokens[index].lower() in _ARTICLES:
        index += 1

    index += 1
    stops = _AUXILIARIES | _VERBS | _PREPOSITIONS | _ARTICLES | _VAGUE | _GROUPS.keys()
    while index < len(tokens) and tokens[index].lower() not in stops:
        index += 1

    return min(index, len(tokens))


def _make(name_tokens: Sequence[str], rest: Sequence[str], asks: str) -> FreePackageQuestion | None:
    """Make the question of the words of a name and of all others; None where the name can't be one of a package."""
    names = [token for token in name_tokens if token.lower() not in _ARTICLES | _ADJECTIVES | _AUXILIARIES]
    while len(names) > 1 and _NOUNS.fullmatch(names[-1]) is not None:
        names.pop()
    while len(names) > 1 and _NOUNS.fullmatch(names[0]) is not None:
        names.pop(0)

    bare = [name.strip("`\"'“”") for name in names]
    is_name = 0 < len(names) <= _MAX_NAME_WORDS and all(_NAMES.fullmatch(name) is not None for name in names)
    if not is_name or len("".join(bare)) < 2 or bare[0].lower() in _VAGUE | _PREPOSITIONS | _GROUPS.keys():
        return None

    grammar = _AUXILIARIES | _ARTICLES | _VERBS | _PREPOSITIONS | _VAGUE | _ADJECTIVES
    words = [word.strip("`\"'“”").removesuffix("'s").lower() for word in rest]
    groups = {_GROUPS[word] for word in words if word in _GROUPS}
    subject = tuple(word for word in words if word and word not in grammar and word not in _GROUPS)
    return FreePackageQuestion("-".join(bare), asks, next(iter(groups)) if len(groups) == 1 else "", subject)


_HOLDER = r"(?: (?:package|crate|module|gem|chart|project|library))?"
_MARKED_NAME = rf"`?(?:{NAME})`?"
"""A name, which the reader of a question may have put between backquotes."""
_PACKAGE_NOUN = r"(?:packages?|librar(?:y|ies)|crates?|gems?|modules?|clients?|drivers?|bindings?|sdks?)"
_LIST_NOUN = r"(?:(?:runtime|external|third[- ]party|direct|dev|test|optional|peer|build) )*(?:dependencies|deps)"
_RANGE_OF = (
    r"(?:what(?:'s| is)|which is) the (?:(?:semver|version|dependency|allowed) )*(?:(?P<group>peer|dev|optional) )?"
    r"(?:(?:semver|version|dependency|allowed) )*(?:range|version|constraint|requirement)s? (?:for|of|on)"
)
_ON_RUNTIME = (
    r"(?:on|for|with|under) (?:an? )?(?:(?:old|older|new|newer|recent|all|every|any) )?"
    r"(?:(?:python|node|php|ruby)s? ?[\d.+x<>=]*|\d\.\d+)(?: versions?)?(?: (?:too|only|and (?:later|newer|up|older)))?"
)
_REPHRASED = (
    (
        rf"(?:are there|has it(?: got)?|does it have) (?:any|zero|no) (?P<list>{_LIST_NOUN})(?: at all)?",
        "does it have {list}",
    ),
    (r"is (?:it|this) (?:dependency[- ]free|free of dependencies)", "does it have dependencies"),
    (rf"any dependency on (?P<name>{_MARKED_NAME})", "is there a dependency on {name}"),
    (
        (
            rf"is (?P<name>{_MARKED_NAME}) (?:an? )?(?:direct|declared)(?: dependency)?,? or (?:is it )?(?:an? |only )*"
            r"(?:indirect|transitive)(?: (?:one|dependency))?"
        ),
        "is {name} a direct dependency",
    ),
    (
        (
            r"(?:is there |does )?anything (?:in (?:here|there|it|this) )?(?:that )?(?:pulls?|brings?|drags?) in "
            r"(?:the )?`?(?P<name>(?-i:[a-z][a-z\d.@/-]+))`?"
        ),
        "which {name} is used",
    ),
    (r"(?:what|who) (?:pulls|brings|drags) in (?:the )?`?(?P<name>(?-i:[a-z][a-z\d.@/-]+))`?", "which {name} is used"),
    (
        r"what (?:comes?|gets? installed|is installed|do i get) with (?:the )?(?P<name>[\w-]+) extra",
        "which packages does the {name} extra install",
    ),
    (
        rf"is (?P<name>{_MARKED_NAME}) (?:pinned|fixed)(?: (?:to|at) (?:an? )?(?:(?:exact|specific|fixed) )?version)?",
        "which version of {name} is used",
    ),
    (
        rf"is (?P<name>{_MARKED_NAME}) (?:pulled in|used|needed|required|listed) directly",
        "is {name} a direct dependency",
    ),
    # "Which zstd library is in go.mod"
    (
        rf"(?:which|what) (?P<name>{_MARKED_NAME}) {_PACKAGE_NOUN} is in (?:the )?(?P<file>[\w./-]+)",
        "which version of {name} is in {file}",
    ),
    (
        rf"what does (?:the )?lock[- ]?file (?:say about|have for|pin for) (?P<name>{_MARKED_NAME})",
        "which version of {name} is in the lock file",
    ),
    (
        rf"{_RANGE_OF} (?P<name>{_MARKED_NAME}) (?:in|of) (?:the )?(?P<owner>[\w@./-]+){_HOLDER}",
        "which version of {name} does the {owner} package list{group}",
    ),
    (rf"{_RANGE_OF} (?P<name>{_MARKED_NAME})", "which version of {name} is used{group}"),
    # "Is tomli needed on Python 3.12"
    (
        (
            rf"(?:is (?P<name>{_MARKED_NAME}) (?:(?:only|still|even) )?(?:needed|required|installed|used)"
            rf"|(?:do|does) (?:i|we|you|one|it) (?:(?:still|even) )?need (?P<other>{_MARKED_NAME})) {_ON_RUNTIME}"
        ),
        "under which conditions is {name} needed",
    ),
)
"""Other ways to ask, and the forms that are read."""
_BESIDES = re.compile(
    rf",? (?:besides?|other than|apart from|aside from|except(?: for)?|beyond|in addition to|not counting|on top of) "
    rf"(?:the )?(?:(?:normal|usual|regular|other|runtime|main) )?{_MARKED_NAME}(?: itself)?$",
    re.IGNORECASE,
)
"""A package at the end that an answer may leave out: a list has it all the same."""


def rephrase(words: str) -> str:
    """Write a question about packages in the form that is read for it; others stay as they are."""
    for pattern, form in _REPHRASED:
        match = re.fullmatch(pattern, words, re.IGNORECASE)
        if match is not None:
            groups = {name: text or "" for name, text in match.groupdict().items()}
            groups["name"] = groups.get("name") or groups.get("other", "")
            if groups.get("group"):
                groups["group"] = f" as a {groups['group']} dependency"
            return form.format(**groups)
    return _BESIDES.sub("", words) if _DEPENDS.search(words) is not None else words


_DEPENDS = re.compile(
    r"^(?:what|which) .*\b(?:depends? (?:up)?on|dependencies|need|require|pull in|install)\b", re.IGNORECASE
)
_ALTERNATIVE = re.compile(
    r"(?:\s+no matter what)?,?\s+or\s+(?=(?:is|are|only|just|merely|not|optional\w*|for|in|an?|dev\w*|tests?|runtime"
    r"|peer|direct|indirect|transitive\w*|vendored|bundled|does|do|can|could|something|build\w*|required|nice)\b)"
    r"[\w\s-]{1,60}$",
    re.IGNORECASE,
)
"""The other half of "is it needed to run, or only for tests": the line that lists a package decides."""
_TO_RUN = re.compile(r" (?:to|for|when) (?:run|use|install|running|using|installing)(?: it)?$", re.IGNORECASE)
_YES_OR_NO = (
    (
        # "Is mockito just for development in the core package?", "is nio-ssl only there for the tests"
        re.compile(
            rf"^(?:is|are) (?:the )?(?P<name>{NAME})(?: (?:package|library|crate|gem|dependency))? "
            r"(?:(?:really|actually|only|just|merely|purely|solely|exclusively|there|used|needed|required|meant|present"
            r"|listed|around|something (?:it|we) (?:use|need)s?|installed) ){0,4}"
            r"(?:for|in|during|by|as) (?:the |its |a )?"
            r"(?P<group>dev|development|developing|developers|tests?|testing|documentation|docs)"
            r"(?: (?:suite|code|purposes?|only|work|dependency))?"
            rf"(?: (?:in|of|by|for) (?:the )?(?P<owner>[\w@./-]+){_HOLDER})?$",
            re.IGNORECASE,
        ),
        "is {name} a {group} dependency",
    ),
    (
        re.compile(
            rf"^(?:is|are) (?:the )?(?P<name>{NAME}) (?:something|a package|a library|one) (?:that )?"
            r"(?:it|this|we|the project) (?P<group>directly )?(?:depends?|rel(?:y|ies)) "
            r"(?:up)?on(?P<group2> directly)?(?P<owner>)$",
            re.IGNORECASE,
        ),
        "is {name} a {group} dependency",
    ),
)
"""Yes-or-no questions, and the forms that say the same."""


def expand_yes_or_no(words: str) -> str:
    """Write a yes-or-no question about a package in the form that is read; other words stay as they are."""
    for pattern, form in _YES_OR_NO:
        match = pattern.match(words)
        if match is None:
            continue
        groups = match.groupdict()
        group = (groups["group"] or groups.get("group2") or "").strip().lower()
        group = {"directly": "direct", "developing": "development", "developers": "development"}.get(group, group)
        group = {"tests": "test", "testing": "test", "docs": "documentation"}.get(group, group)
        text = form.format(name=match["name"], group=group, owner=match["owner"] or "").replace("  ", " ")
        of_owner = f" of {match['owner']}" if match["owner"] and "{owner}" not in form else ""
        return f"{text}{of_owner}"

    return words


def without_alternative(words: str) -> str:
    """Return a yes-or-no question without the other half that it offers: "or is it optional"."""
    return _TO_RUN.sub("", _ALTERNATIVE.sub("", words))
