"""Read the subject of a question: its names, the relation that it asks for, and the weight of other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, MAX_TOKEN_BYTES, TOKEN, stem, terms_of

_KIND = (
    r"(?:the\s+)?(?:(?:function|method|class|struct|interface|trait|macro|constant|variable|type|module|helper)\s+)?"
)
_NAME = r"[`'\"“]?(?P<name>[A-Za-z_$@][\w$]*(?:(?:\.|::|->|#|-)[A-Za-z_$][\w$]*)*[!?]?)[`'\"”]?(?:\(\))?"
_VERBS_OF_USE = (
    r"(?:used|called|referenced|invoked|needed|read|consumed|instantiated|created|constructed|built|checked|handled"
    r"|applied)"
)
_FORMS: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (kind, re.compile(text, re.IGNORECASE))
    for kind, text in (
        ("raise", rf"\b(?:raise|throw|rescue|catche)[sd]?\b\s+(?:an?\s+)?{_KIND}{_NAME}"),
        ("raise", rf"\b(?:panics?\s+with|returns?)\s+(?:an?\s+)?{_KIND}{_NAME}"),
        ("raise", rf"\b{_KIND}{_NAME}\s+(?:error\s+|exception\s+|get\s+)?(?:raised|thrown|returned|caught)\b"),
        (
            "inherit",
            (
                rf"\b(?:subclass(?:es)?|implement(?:ation|er|or)s?|descendants|children"
                rf"|derived\s+\w+)\s+of\s+{_KIND}{_NAME}"
            ),
        ),
        (
            "inherit",
            (
                rf"\b(?:implements?|inherits?(?:\s+from)?|extends?|subclass(?:es)?|derives?\s+from"
                rf"|conforms?\s+to)\s+{_KIND}{_NAME}"
            ),
        ),
        ("use", rf"\b(?:callers?|usages?|uses|call\s+sites?|references?|occurrences)\s+(?:of|to)\s+{_KIND}{_NAME}"),
        (
            "use",
            (
                rf"\bwhere\b.*?\b(?:is|are|does|do|we|it"
                rf"|they)\s+{_KIND}{_NAME}\s+(?:\w+\s+)?(?:get\s+)?{_VERBS_OF_USE}\b"
            ),
        ),
        (
            "use",
            (
                rf"\b(?:who|what|which\s+\w+|where\s+do(?:es)?\s+\w+)\s+(?:uses?|calls?|references?|invokes?"
                rf"|instantiates?)\s+{_KIND}{_NAME}"
            ),
        ),
        ("define", rf"\b(?:which|what)\s+file\b.*?\b(?:is|has|contains|defines|declares|for)\s+{_KIND}{_NAME}"),
        ("define", rf"\bwhere(?:'s|\s+is|\s+are|\s+can\s+\w+\s+find)\s+{_KIND}{_NAME}(?:\s+\w+)?\W*$"),
    )
)  # fmt: skip
"""Forms of questions for the place of a name, with what they ask of it; special forms come first."""
_CODE_NAME = re.compile(r"\w*(?:_\w|[a-z\d][A-Z]|[A-Z]{2}|[!?]$|\.|::)|[@$]")
_NO_NAMES_TEXT = """
it this that there they them the a an any anything something everything what which who one code error errors exception
exceptions file files class function method test tests default used library project repo
"""
_NO_NAMES = frozenset(_NO_NAMES_TEXT.split())
_VERSION = re.compile(
    r"\bversions?\b|\b(?:which|what)\s+(?:minimum\s+)?(?:python|node(?:\.?js)?|ruby|php|java|jdk|go|rust|cmake"
    r"|gcc|clang|c\+\+|dotnet|\.net"
    r"|scala|kotlin|elixir|otp|swift|xcode|gradle|terraform)s?\b.*\b(?:need\w*|requir\w*|support\w*|target\w*"
    r"|test\w*|use[sd]?|run\w*|built?)\b",
    re.IGNORECASE,
)
_NOISE_TEXT = """
use used using set need get have give given does run when work come make show tell find want happen declare declared
defined define listed list current currently it repo repository project anything anyone actually exactly none nothing
"""
_NOISE = frozenset(map(stem, _NOISE_TEXT.split()))
"""Words that say nothing of a place; they count only where nothing else is left."""
_DEFAULT = re.compile(
    r"\bdefaults?\b|\b(?:when|if)\s+(?:i|you|we|it|nothing|none|not|no)\b.*\b(?:set|given|configured?|specif\w+"
    r"|passed?|none"
    r"|nothing)\b|\bunless\b|\bout of the box\b|\binitial(?:ly)?\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\b(?:default|value|max(?:imum|imal)?|min(?:imum|imal)?|limit|size|timeout|length|width|height|number|code"
    r"|status"
    r"|how\s+(?:long|big|large|many|much|wide|often|deep|high)|which\s+port|set\s+to|equals?|initial\w*)\b",
    re.IGNORECASE,
)
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "max": ("maximum",), "maximum": ("max",), "min": ("minimum",), "minimum": ("min",), "big": ("size",),
    "wide": ("width",), "long": ("timeout", "length", "duration"), "often": ("frequency", "interval"),
    "gem": ("spec",), "dotnet": ("net", "framework", "sdk"), "licence": ("license",), "dependency": ("require",),
    "ci": ("workflow", "matrix"), "supported": ("support", "engine", "classifier"), "dev": ("development",),
    "docker": ("from", "image"), "jdk": ("java",),
    "linter": (
        "eslint", "rubocop", "ruff", "golangci", "ktlint", "clippy", "credo", "phpstan", "flake", "pylint", "biome",
        "detekt",
    ),
    "formatter": (
        "prettier", "black", "rustfmt", "scalafmt", "spotless", "gofmt", "gofumpt", "dprint", "biome", "csharpier",
    ),
    "bundler": ("vite", "rollup", "webpack", "tsup", "esbuild", "parcel", "tsdown", "unbuild"),
}  # fmt: skip
_TEST_FRAMEWORKS_TEXT = """
xunit nunit mstest tunit jest vitest mocha ava jasmine pytest nose junit testng spock kotest rspec minitest phpunit pest
exunit catch2 gtest googletest doctest scalatest munit utest specs2 weaver busted bats tap hspec tasty testify ginkgo
quick nimble
"""
_TEST_FRAMEWORKS = _TEST_FRAMEWORKS_TEXT.split()
_QUANTITIES: Mapping[str, tuple[str, ...]] = {
    r"how\s+long": ("timeout", "duration", "delay", "interval", "ttl", "seconds", "millis", "age", "period", "expiry"),
    r"how\s+(?:big|large)": ("size", "length", "limit", "capacity", "bytes", "max"),
    r"how\s+wide": ("width", "columns"),
    r"how\s+(?:often|frequently)": ("interval", "frequency", "period", "cron"),
    r"how\s+many": ("max", "limit", "count", "num", "size", "attempts"),
    r"how\s+deep": ("depth",),
}
"""Nouns of names for what a question measures."""


_DIFFERENCE = re.compile(r"\bdiffer(?:s|ent|ences?)?\b|\bvs\b|\bversus\b|\bcompared?\b", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\benv(?:ironment)?\s+var(?:iable)?s?\b|\bfrom\s+the\s+env(?:ironment)?\b", re.IGNORECASE)


MAX_KNOWN_TOKENS = 1 << 14
"""Tokens whose terms a subject remembers: one to two megabytes."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a question.

    Attributes
    ----------
    text
        The question.
    weights
        Weight of each of its terms in what is searched.
    relation
        What it asks of `name`: ``raise``, ``inherit``, ``use`` or ``define``; empty without a name.
    name
        The name as it is written.
    asks_version, asks_default, asks_value
        Whether it asks for a version, for what holds when nothing is set, or for any value.
    """

    text: str
    weights: Mapping[str, float]
    relation: str = ""
    name: str = ""
    asks_version: bool = False
    asks_default: bool = False
    asks_value: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)
    _by_token: dict[bytes, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def total(self) -> float:
        """The weight of all terms."""
        return sum(self.weights.values())

    def terms_in(self, text: str) -> set[str]:
        """Return the terms of the question that a text has, also as parts of names."""
        terms: set[str] = set()
        for token in TOKEN.findall(text.encode()):
            terms_of_token = self._by_token.get(token)
            if terms_of_token is None:
                terms_of_token = self._add_token(token)
            terms |= terms_of_token
        return terms

    def _add_token(self, token: bytes) -> frozenset[str]:
        """Remember the terms of the question that a token has: files repeat their tokens."""
        present = set(terms_of(token.decode("utf-8", "replace")))
        terms = frozenset(
            (present & self.weights.keys()) | {self.aliases[term] for term in present & self.aliases.keys()}
        )
        if len(self._by_token) < MAX_KNOWN_TOKENS and len(token) <= MAX_TOKEN_BYTES:
            self._by_token[token] = terms
        return terms

    def share_of(self, terms: set[str]) -> float:
        """Return the share of the question's weight that some terms have."""
        return sum(self.weights[term] for term in terms if term in self.weights) / self.total if self.total else 0.0


def read_subject(text: str, question: RankQuery, idf: Mapping[str, float]) -> Subject:
    """Read what a question is about; words that no file has weigh as much as rare ones."""
    rarest = max(idf.values(), default=1.0)
    weights = {
        term: weight * idf.get(term, rarest)
        for term, weight in question.terms.items()
        if not term.startswith("=") and (term in idf or term not in question.optional)
    }
    weights = {term: weight for term, weight in weights.items() if term not in _NOISE} or weights
    if _DEFAULT.search(text) is not None:
        weights.setdefault("default", rarest / 2)

    aliases = {
        stem(alias): stem(word)
        for word in re.findall(r"[a-z]+", text.lower())
        for alias in _ALIASES.get(word, ())
        if stem(word) in weights
    }
    for quantity, nouns in _QUANTITIES.items():
        if re.search(rf"\b{quantity}\b", text, re.IGNORECASE):
            weights["~quantity"] = rarest / 2
            aliases |= {stem(noun): "~quantity" for noun in nouns if stem(noun) not in weights}

    if re.search(r"\btest\w*\s+(?:framework|library|runner)", text, re.IGNORECASE):
        weights = {term: weight for term, weight in weights.items() if term != "test"}
        weights["framework"] = rarest
        aliases |= {stem(name): "framework" for name in _TEST_FRAMEWORKS}

    relation, name = "", ""
    for kind, pattern in _FORMS:
        match = pattern.search(text)
        if match is None:
            continue
        # A question mark belongs to a name only within the question.
        name_text = match["name"].rstrip("?") if match.end("name") >= len(text.rstrip()) else match["name"]
        if is_name(name_text, text, of_code=kind != "use"):
            relation, name = kind, name_text
            break

    asks_value, asks_default = _VALUE.search(text) is not None, _DEFAULT.search(text) is not None
    return Subject(text, weights, relation, name, _VERSION.search(text) is not None, asks_default, asks_value, aliases)


def names_to_compare(text: str) -> list[str]:
    """Return the names that a question wants told apart; none for another question."""
    if _DIFFERENCE.search(text) is None:
        return []
    words = re.findall(r"(?<![\w.])[A-Za-z_$@][\w$]*(?:(?:\.|::)\w+)*[!?]?(?!\w)", text.rstrip(" ?"))[1:]
    return [word for word in dict.fromkeys(words) if is_name(word, text, of_code=True) and not word.startswith("What")]


def asks_environment(text: str) -> bool:
    """Return whether a question is about a variable of the environment."""
    return _ENVIRONMENT.search(text) is not None


def is_name(name: str, text: str, *, of_code: bool) -> bool:
    """Return whether a word of a question may be a name of code: quoted, capitalized, or no word of its form.

    With `of_code`, a plain word in small letters is none.
    """
    if name.lower() in _NO_NAMES or name.lower() in FUNCTION_WORDS:
        return False
    is_marked = _CODE_NAME.search(name) is not None or f"`{name}`" in text or name[:1].isupper()
    return is_marked or (len(name) > 3 and not of_code)
