"""Read questions that a manifest or another build file answers: packages, their versions, fields, scripts, options.

The forms are tried in order. A word that a form doesn't know makes it fail, so that no condition is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TICKED = r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|(?<!\w)'[^'\n]+'(?!\w)"
_NAME = r"@?[A-Za-z][\w.+-]*(?:[/:@]+[\w.+-]+)*"
_PACKAGE = rf"(?:{_TICKED}|{_NAME})"
_NOUN = (
    r"(?:packages?|librar(?:y|ies)|crates?|gems?|modules?|dependenc(?:y|ies)|charts?|sub-?charts?|plugins?|providers?"
    r"|projects?|workspaces?|extensions?|pods?|frameworks?|(?:npm|nuget|pip|pypi|hex|cargo|maven|go|composer)\s+packages?)"
)
_NO_PACKAGE_TEXT = """
it this that there they them we you i the a an any anything which what who one its our your these those code program
version versions package packages library libraries crate crates gem gems module modules project dependency
dependencies deps chart plugin plugins repo repository app tool build test tests ci docs dev development production
runtime file files function class method itself python external direct optional peer other others third-party
"""
_NO_PACKAGE = frozenset(_NO_PACKAGE_TEXT.split())
_VERB = (
    r"(?:(?:depend|relie|rel[iy])(?:s|ed|ing)?\s+(?:up)?on|need(?:s|ed)?|require[sd]?|us(?:e|es|ed|ing)|allow(?:s|ed)?"
    r"|support(?:s|ed)?|pin(?:s|ned)?(?:\s+to)?|list(?:s|ed)?|want(?:s|ed)?|declare[sd]?|specif(?:y|ies|ied)"
    r"|accept(?:s|ed)?|expect(?:s|ed)?|install(?:s|ed)?|build(?:s)?\s+(?:with|against|on)|test(?:s|ed)?\s+with"
    r"|imports?|imported|suggests?|suggested|work(?:s)?\s+with|run(?:s)?\s+(?:on|with)|pull(?:s|ed)?\s+in|set(?:s)?|have|has|permit(?:s|ted)?|target(?:s|ed)?)"
)
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
    r"(?:\s+(?:(?:as|of|for|in|by|on|from|with|during|when|to)\s+)+(?:(?:an?|the|its|our)\s+)?(?P<tail>"
    r"[\w./@+-]+(?:\s+[\w./@+-]+){0,3}))?"
)
_AUX = r"(?:is|are|does|do|can|should|must|will|was|were|has|have)"
_NOT_OWNER = (
    rf"(?!(?:{_VERB}|depend|rely|is|are|does|do|has|in|by|for|as|on|of|to|it|under|licen[cs]ed|released|published"
    r"|distributed|available|used|use|define|declare|offer|enabled?|defined|there|exposed?|written|import|run|pull|still"
    r"|actually|really|also|currently|directly)\b)"
)
_OWNER = rf"{_NOT_OWNER}(?:(?:the|this|our)\s+)?(?:(?P<owner>{_PACKAGE})(?:\s+(?P<owner_noun>{_NOUN}))?|{_NOUN})"
_SUBJECT = rf"(?:it|this|that|we|you|they|(?:the|this)\s+(?:code|app|build|tool|program)|{_OWNER})"
"""The thing that needs a package: a word without a name, or the package that has the manifest."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"^{text}$", re.IGNORECASE)


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
    """

    kind: str
    name: str = ""
    owner: str = ""
    group: str = ""
    asks: str = ""


_VERSION_OF = (
    # "Which version of guava is used in the tests?", "what versions of text does the cli package allow"
    _pattern(
        rf"(?:(?:which|what)\s+(?:(?:is|are)\s+the\s+)?|the\s+)?(?:(?:minimum|minimal|lowest|oldest|required|exact|allowed|supported)\s+)*"
        rf"(?:version(?:s|\s+range|\s+constraints?|\s+bounds?|\s+requirements?)?|releases?|range)\s+(?:of|for|on)\s+(?:the\s+)?"
        rf"(?P<name>{_PACKAGE})(?:\s+{_NOUN})?(?:\s+{_AUX})?(?:\s+{_SUBJECT})?(?:\s+{_AUX})?"
        rf"(?:\s+{_VERB})?{_CONDITION}"
    ),
    # "Which Kotlin version does it use?", "which pandoc versions are allowed by pandoc-server"
    _pattern(
        rf"(?:which|what)\s+(?:(?:is|are)\s+the\s+)?(?:(?:minimum|minimal|lowest|oldest|required|allowed|supported)\s+)*"
        rf"(?P<name>{_PACKAGE})(?:\s+{_NOUN})?\s+versions?(?:\s+range)?(?:\s+{_AUX})?(?:\s+{_SUBJECT})?"
        rf"(?:\s+{_VERB})?{_CONDITION}"
    ),
    # "Which Dart SDK does the http package need?"
    _pattern(
        rf"(?:which|what)\s+(?P<name>[A-Za-z.+#]+)\s+(?:sdk|tools?|toolchain|compiler|standard)(?:\s+versions?)?\s+{_AUX}"
        rf"(?:\s+{_SUBJECT})?\s+{_VERB}{_CONDITION}"
    ),
    # "the minimum version of numpy", "numpy version"
    _pattern(
        rf"(?:(?:the\s+)?(?:minimum|minimal|lowest|oldest|required)\s+)?(?P<name>{_PACKAGE})\s+"
        rf"(?:version|version\s+constraint|version\s+requirement)(?:\s+(?:used|required|needed|allowed))?{_CONDITION}"
    ),
    # "How new must numpy be", "what does it pin werkzeug to"
    _pattern(
        rf"(?:to\s+)?(?:which|what)\s+version\s+(?:is|does\s+(?:it\s+)?pin)\s+(?:the\s+)?(?P<name>{_PACKAGE})"
        rf"(?:\s+{_NOUN})?(?:\s+(?:pinned|locked|fixed|set))?\s+(?:to|at){_CONDITION}"
    ),
)
_LISTED = (
    # "Is tempfile a dev dependency?", "Is ext-json required?"
    _pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{_PACKAGE})(?:\s+{_NOUN})?\s+(?:only\s+)?(?:listed\s+)?(?:as\s+)?(?:an?|one\s+of\s+(?:the|its)|among\s+(?:the|its)|in\s+the)\s+"
        rf"(?P<group>(?:{_QUALIFIERS}[\s-]+)*)(?:dependenc(?:y|ies)|requirements?|deps?){_CONDITION}"
    ),
    _pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{_PACKAGE})(?:\s+{_NOUN})?\s+(?P<group>optional|required|mandatory|indirect|a\s+must){_CONDITION}"
    ),
    _pattern(
        rf"(?:is|are)\s+(?:the\s+)?(?P<name>{_PACKAGE})(?:\s+{_NOUN})?\s+(?P<group>suggested|imported|listed|declared)(?:\s+as\s+an?"
        rf"\s+dependency)?(?:\s+(?:by|in)(?:\s+(?P<tail>[\w./@+-]+))?)?"
    ),
    # "Does it depend on tokio?", "does the api package require lodash"
    _pattern(
        rf"(?:does|do|did)\s+(?:(?!depend\b|require\b|list\b|rely\b|declare\b){_SUBJECT}\s+)?"
        rf"(?:(?:directly|still|actually|really|also|currently)\s+)*(?:depend\s+(?:up)?on|require|list|rely\s+on|declare)\s+"
        rf"(?:(?:an?|the|on)\s+)*(?P<name>{_PACKAGE})(?:\s+{_NOUN})?{_CONDITION}"
    ),
    _pattern(
        rf"(?:is\s+there|does\s+(?:it\s+)?have|has\s+it|have\s+we)\s+an?y?\s+(?P<group>(?:{_QUALIFIERS}\s+)*)dependency\s+(?:up)?on\s+"
        rf"(?:the\s+)?(?P<name>{_PACKAGE})(?:\s+{_NOUN})?{_CONDITION}"
    ),
)
_USED = (
    # "Does it use the rand crate?": the code may use what no manifest lists, such as a module of the language.
    _pattern(
        rf"(?:does|do|did)\s+(?:{_SUBJECT}\s+)?(?:(?:still|actually|really|also|currently)\s+)*"
        rf"(?:use|need|pull\s+in|build\s+on|work\s+with)\s+(?:(?:an?|the|any)\s+)?(?P<name>{_PACKAGE})"
        rf"(?:\s+{_NOUN})?{_CONDITION}"
    ),
    _pattern(rf"(?:is|are)\s+(?:the\s+)?(?P<name>{_PACKAGE})(?:\s+{_NOUN})?\s+(?:used|needed){_CONDITION}"),
)
_HOW_TO = r"how\s+(?:(?:do|can|should|would|could|must)\s+(?:i|you|we|one)\s+|to\s+)"
_LICENSE = (
    _pattern(
        r"(?:(?:under\s+)?(?:which|what)(?:\s+is|\s+are)?(?:\s+in)?(?:\s+the)?\s+|(?:the\s+)?)(?:software\s+|open[\s-]source\s+)?(?P<name>licen[cs]e)s?"
        rf"(?:\s+(?:does|do|is|are|has|of|for|in))*(?:\s+{_SUBJECT})?(?:\s+(?:use|have|under|licensed|released|published|distributed|available|used|it|by|declare))*"
        r"(?:\s+(?:under|by|for))?"
    ),
    _pattern(
        rf"(?:how|under\s+(?:which|what)\s+terms)\s+(?:is|are)\s+{_SUBJECT}\s+(?P<name>licen[cs]ed|distributed|released)"
    ),
    _pattern(r"how\s+(?:is|are)\s+(?:it\s+)?(?P<name>licen[cs]ed)"),
)
_FIELDS: Sequence[tuple[str, Sequence[re.Pattern[str]]]] = (
    ("license", _LICENSE),
    (
        "features",
        (
            _pattern(
                rf"(?:(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+)?(?P<group>default\s+)?(?:cargo\s+)?features"
                rf"(?:\s+(?:does|do|are|is|of|in|for))*(?:\s+{_SUBJECT})?(?:\s+(?:define|declare|have|offer|enabled|enable|defined|there|by\s+default|available|exposed?))*"
            ),
        ),
    ),
    (
        "edition",
        (
            _pattern(
                rf"(?:which|what)(?:\s+is\s+the)?\s+(?:(?:rust\s+|cargo\s+)?edition)(?:\s+of\s+rust)?(?:\s+(?:does|do|is|are|of|for))*"
                rf"(?:\s+{_SUBJECT})?(?:\s+(?:use|used|set|target|written|in|have|to|on))*"
            ),
        ),
    ),
    (
        "backend",
        (
            _pattern(
                rf"(?:which|what)(?:\s+is\s+the)?\s+(?:python\s+)?(?:build|packaging)[\s-](?:backend|system)(?:\s+(?:does|do|is|are|of|for|used|by))*"
                rf"(?:\s+{_SUBJECT})?(?:\s+(?:use|used|set|have|by|build))*"
            ),
        ),
    ),
    (
        "script",
        (
            _pattern(
                r"what\s+(?:does|do|happens\s+(?:on|when\s+i\s+run|with))\s+(?:running\s+)?(?:the\s+)?`?(?:npm|yarn|pnpm|bun|composer)\s+(?:run(?:-script)?\s+)?(?P<name>[\w:.-]+)`?"
                r"(?:\s+(?:script|command))?(?:\s+(?:do|run|execute|call))?(?:\s+in)?"
            ),
            _pattern(
                r"(?:what|which)\s+(?:test\s+|build\s+|lint\s+)?commands?\s+(?:does|do|is|are)\s+(?:it\s+)?(?:run|executed|used|called)\s+(?:with|by|on|for)\s+"
                r"`?(?:npm|yarn|pnpm|bun|composer)\s+(?:run\s+)?(?P<name>[\w:.-]+)`?(?:\s+in)?"
            ),
            _pattern(
                r"what\s+(?:does|do)\s+(?:the\s+)?`?(?P<name>[\w:.-]+)`?\s+(?:npm\s+|package\.json\s+|yarn\s+|composer\s+)?script"
                r"(?:\s+(?:do|run|execute|call))?(?:\s+in(?:\s+(?:the\s+)?package\.json)?)?"
            ),
            _pattern(
                r"(?:which|what)\s+commands?\s+(?:does|do|is|are)\s+(?:the\s+)?(?:npm\s+)?(?:script\s+)?`?(?:npm\s+run\s+)?(?P<name>[\w:.-]+)`?\s+"
                r"(?:npm\s+)?script(?:\s+(?:run|execute|call))?(?:\s+in)?"
            ),
        ),
    ),
    (
        "scripts",
        (
            _pattern(
                r"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+(?:npm\s+|package\.json\s+|composer\s+)?(?P<name>scripts)"
                r"(?:\s+(?:does|do|are|is|it|there|define[sd]?|declared?|have|offer|available|listed|in|the|its|of|package\.json))*"
            ),
        ),
    ),
    (
        "target",
        (
            _pattern(
                r"what\s+(?:does|do|happens\s+(?:on|when\s+i\s+run|with))\s+(?:running\s+)?(?:the\s+)?`?make\s+(?P<name>[\w./-]+)`?"
                r"(?:\s+(?:target|command))?(?:\s+(?:do|run|execute|call|build))?(?:\s+in)?"
            ),
            _pattern(
                r"what\s+(?:does|do)\s+(?:the\s+)?`?(?P<name>[\w./-]+)`?\s+(?:make|makefile)\s+(?:target|rule)(?:\s+(?:do|run|execute|call))?(?:\s+in)?"
            ),
            _pattern(
                r"what\s+(?:does|do)\s+(?:the\s+)?(?:make\s+|makefile\s+)?(?:target|rule)\s+`?(?P<name>[\w./-]+)`?(?:\s+(?:of|in)\s+(?:the\s+)?makefile)?"
                r"(?:\s+(?:do|run|execute|call))?(?:\s+in)?"
            ),
        ),
    ),
    (
        "binaries",
        (
            _pattern(
                r"(?:(?:which|what|list)(?:\s+is|\s+are)?(?:\s+all)?(?:\s+the)?\s+)(?:name\s+of\s+the\s+)?(?P<name>binar(?:y|ies)|executables?|console\s+scripts?|entry\s+points?|command[\s-]line\s+(?:programs?|tools?|commands?))"
                r"(?:\s+name)?(?:\s+(?:does|do|are|is|it|there|of|for|in|by))*(?:\s+(?:define|declare|install|installed|build|built|have|provide|provided|called|named|offer|ship|shipped|defined|declared|produce|register))*"
            ),
        ),
    ),
    (
        "image",
        (
            _pattern(
                r"(?:which|what)(?:\s+is)?(?:\s+the)?\s+(?:docker\s+|container\s+)?(?P<name>base\s+image)(?:\s+(?:does|do|is|are|used|by|of|for|in|it|the|docker|dockerfile|image|container|use|have|build|from))*"
            ),
            _pattern(r"(?:which|what)\s+image\s+(?:does|is)\s+(?:the\s+)?(?P<name>dockerfile)(?:\s+(?:start|build|built|derive|based|use|from|on))*"),
        ),
    ),
    (
        "tested",
        (
            _pattern(
                r"(?:which|what)\s+(?:versions\s+of\s+(?P<name>[a-z.+#]+)|(?P<other>[a-z.+#]+)\s+versions)\s+(?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|the\s+ci|workflows?)"
                r"(?:\s+(?:test|tests|tested|run|runs|use|uses|in|by|on|with|against|the|ci|matrix|github|actions|workflows?))*"
            ),
            _pattern(
                r"(?:which|what)\s+(?P<name>operating\s+systems?|os(?:es)?|platforms?)\s+(?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|workflows?)"
                r"(?:\s+(?:test|tests|tested|run|runs|use|uses|in|by|on|with|against|the|ci|matrix|github|actions|workflows?))*"
            ),
        ),
    ),
    (
        "command",
        (
            _pattern(
                rf"{_HOW_TO}(?:(?:run|execute|start|launch)\s+)?(?:(?:the|its|all|these)\s+)*(?:(?:unit|whole|full|automated)\s+)?"
                r"(?P<name>test)s?(?:\s+suite)?(?:\s+(?:it|this(?:\s+project)?|the\s+project))?(?:\s+locally)?"
            ),
            _pattern(
                rf"{_HOW_TO}(?P<name>build|compile|install)(?:\s+(?:it|this|everything|(?:the|this)\s+(?:project|package|library|code|app|program|crate|gem|tool)|(?P<owner>{_PACKAGE})))?"
                r"(?:\s+(?:from\s+(?:the\s+)?sources?|locally))?"
            ),
            _pattern(r"how\s+(?:are|is)\s+(?:(?:the|its)\s+)?(?:unit\s+)?(?P<name>test)s?(?:\s+suite)?\s+(?:run|executed|started)"),
            _pattern(
                r"(?:which|what)(?:\s+is\s+the)?\s+commands?\s+(?:runs?|executes?|starts?|(?:to|for)\s+(?:run(?:ning)?|execut(?:e|ing)))\s+(?:the\s+)?(?:unit\s+)?(?P<name>test)s?(?:\s+suite)?"
            ),
            _pattern(r"(?:which|what)(?:\s+is\s+the)?\s+commands?\s+(?:builds?|(?:to|for)\s+build(?:ing)?)\s+(?:it|this|(?:the\s+)?(?:project|code))"),
        ),
    ),
    (
        "frameworks",
        (
            _pattern(r"what\s+(?:framework\s+)?(?:does|do)(?:\s+it)?\s+(?P<name>target)"),
            _pattern(
                rf"(?:which|what)(?:\s+are)?(?:\s+the)?\s+(?:\.net\s+)?(?:target\s+)?frameworks?(?:\s+(?:does|do|are|is|of|for))*(?:\s+{_SUBJECT})?(?:\s+(?:support|supported|target|targeted|have|use|build|built|for))*"
            ),
        ),
    ),
    (
        "manager",
        (
            _pattern(
                r"(?:which|what)(?:\s+is\s+the)?\s+(?:version\s+of\s+the\s+)?(?P<name>package\s+manager)(?:\s+(?:does|do|is|are|it|of|for|in|used|use|by|need|required|the|project))*"
            ),
        ),
    ),
    (
        "flags",
        (
            _pattern(
                rf"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+(?:cabal\s+)(?:package\s+)?flags(?:\s+(?:does|do|are|is|of|in))*(?:\s+{_SUBJECT})?(?:\s+(?:have|define|declare|there|defined))*"
            ),
            _pattern(r"(?:which|what)\s+flags\s+(?:does|do)\s+(?P<owner>[\w.-]+\.cabal)\s+(?:have|define|declare)"),
        ),
    ),
    (
        "platform",
        (
            _pattern(
                rf"(?:(?:what|which)(?:\s+is)?(?:\s+the)?\s+)?(?:minimum|oldest|lowest|min|minimal)(?:\s+supported)?\s+(?P<name>ios|macos|tvos|watchos|visionos)(?:\s+(?:version|deployment\s+target))?(?:\s+(?:of|for|does|is|supported|required|by))*(?:\s+{_SUBJECT})?(?:\s+(?:support|require|need))*"
            ),
            _pattern(
                rf"(?:what|which)\s+(?:version\s+of\s+)?(?P<name>ios|macos|tvos|watchos|visionos)(?:\s+version)?\s+(?:does|is)(?:\s+{_SUBJECT})?(?:\s+(?:support|require|need|required|supported|run|on|target))+"
            ),
        ),
    ),
    (
        "extra",
        (
            _pattern(
                r"(?:which|what)(?:\s+packages)?\s+(?:does|do|is|are)\s+(?:in\s+)?(?:the\s+)?`?(?P<name>[\w-]+)`?\s+(?:extra|optional\s+group)(?:\s+(?:of|in|for|install|require|add|pull|need|contain|include|list|bring|have))*"
            ),
            _pattern(
                rf"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+(?:optional\s+)?extras(?:\s+(?:does|do|are|is|of|in|for|there))*(?:\s+{_SUBJECT})?(?:\s+(?:have|define|declare|offer|there|defined|available))*"
            ),
        ),
    ),
    (
        "version",
        (
            _pattern(
                r"(?:what|which)(?:\s+is)?(?:\s+the)?\s+(?:current\s+|latest\s+|package\s+|crate\s+|own\s+)?version(?:\s+number)?\s+(?:of\s+)?(?:is\s+)?(?:it|this|the\s+(?:package|library|crate|gem|project|module))(?:\s+(?:at|on|now))?"
            ),
            _pattern(r"(?:what|which)(?:\s+is)?(?:\s+the)?\s+(?:current|latest|package|crate|own|gem)\s+version(?:\s+(?:number|of|in))*"),
            _pattern(r"(?:what|which)\s+version(?:\s+of|\s+in)*\s+is\s+(?:this|it|that)"),
            _pattern(r"(?:what|which)(?:\s+is)?\s+the\s+version(?:\s+number)?(?:\s+of)?"),
        ),
    ),
)  # fmt: skip
_KEY = (
    # A name that no word of prose looks like, or one in a file that the question names.
    _pattern(
        rf"(?:what|which)(?:\s+(?:is|are))?(?:\s+the)?(?:\s+(?:value\s+of|setting))?\s+(?P<name>`[\w.-]+`|(?-i:[a-z]+(?:[-_][a-z]+)+|[a-z]+[A-Z]\w*))(?:\s+(?:setting|value|option|key|field))?"
        rf"(?:\s+(?:of|in|for|does|is|are|set\s+to))*(?:\s+(?:the\s+)?(?P<owner>[\w./-]+?)(?:\s+{_NOUN})?)?(?:\s+(?:set|have|use|declare|configured|to|in))*"
    ),
    _pattern(
        r"(?:what|which)(?:\s+is)?(?:\s+the)?(?:\s+value\s+of)?\s+(?P<name>`[\w.-]+`|[\w.-]+)(?:\s+(?:setting|key|option|field|value))?(?:\s+set\s+to)?\s+in\s+(?:the\s+)?`?(?P<owner>[\w./-]*\w\.(?:toml|json|ya?ml|ini|cfg|properties|gradle|kts|editorconfig))`?(?:\s+set\s+to)?"
    ),
)
"""A key of a file of configuration. Tried after all other forms, because code may have the name, too."""
_VAGUE_TAIL_TEXT = """
it the this that project repo repository package library crate gem build code here least manifest now app dependency
requirement currently general dependencies module requirements
"""
_VAGUE_TAIL = frozenset(_VAGUE_TAIL_TEXT.split())


def read_build_question(words: str) -> BuildQuestion | None:
    """Read a question without its repository names and its question mark; None for another one."""
    for kind, patterns in _FIELDS:
        for pattern in patterns:
            match = pattern.match(words)
            if match is not None and (question := _of_field(kind, match)) is not None:
                return question
    for asks, patterns in (("version", _VERSION_OF), ("listed", _LISTED), ("use", _USED)):
        for pattern in patterns:
            match = pattern.match(words)
            if match is not None and (question := _of_package(asks, match)) is not None:
                return question
    return None


def read_key_question(words: str) -> BuildQuestion | None:
    """Read a question for the value of a key, such as `appVersion`, that no other form takes."""
    match = next((match for pattern in _KEY if (match := pattern.match(words)) is not None), None)
    return _of_field("key", match) if match is not None else None


def _of_field(kind: str, match: re.Match[str]) -> BuildQuestion | None:
    groups = match.groupdict()
    name = _bare(groups.get("name") or groups.get("other") or "")
    owner = _bare(groups.get("owner") or "")
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
    if name.lower() in _NO_PACKAGE or len(name) < 2:
        return None
    if owner.lower() in _NO_PACKAGE:
        owner = ""
    words = re.findall(r"[\w-]+", (groups.get("group") or "").lower())
    named_groups = [_OF_GROUP[word] for word in words if word in _OF_GROUP]
    tail = [word for word in re.findall(r"[\w./@+-]+", (groups.get("tail") or "").lower()) if word not in _VAGUE_TAIL]
    for word in tail:
        if word in _OF_GROUP:
            named_groups.append(_OF_GROUP[word])
        elif not owner and re.fullmatch(_NAME, word):
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
