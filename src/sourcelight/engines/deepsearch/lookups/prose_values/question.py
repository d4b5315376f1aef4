"""Read a question for a value: which words its name has, and which words say where it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sourcelight.core.query.languages import language_of
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of

MAX_CHARACTERS, _MAX_WORDS = 300, 12
_IN_DATA = re.compile(r"\w\.(?:json|ya?ml|toml|ini|cfg|conf|properties|xml|lock|csv|editorconfig)\b", re.IGNORECASE)
"""A file of data or configuration: its key is asked for, and the ending of its name is no name in code."""
_FILE = re.compile(r"(?<![\w/.-])[\w/-]+(?:\.[\w-]+)*\.\w{1,8}(?![\w.])")
_OF_OTHERS = re.compile(
    r"\b(?:calls?|called|commits?|committed|accepts?|needed\s+for|extras?|dependenc\w+|authors?|renamed|removed|deleted"
    r"|(?:parameters?|arguments?)\s+(?:does|do|of|for|are)|versions?|mentioned|members|subclass\w*|base\s+(?:class|image)"
    r"|traits?|implement\w*|happened|(?:is|are)\s+there|tested|latest|newest|oldest|(?:has|have)\s+the\s+most|features"
    r"|edition|backend|build\s+system|last\s+\w+|linters?)\b",
    re.IGNORECASE,
)
"""Words of questions for callers, types, history, builds and packages, unless they ask for a default."""
_OF_ANOTHER_TIME = re.compile(
    r"\b(?:in|before|after|since|until|during|by)\s+(?:(?:19|20)\d\d|v?\d+\.\d[\w.]*)\b(?![\w-])|\bused?\s+to\s+be\b"
    r"|\b(?:before|previously|formerly|originally|ever|earlier|once|any\s?more|no\s+longer|next|not)\W*$",
    re.IGNORECASE,
)
"""Conditions that the searched commit doesn't have: what a value was, or what it is not."""
# Questions that no value of a single line answers.
_SKIPPED = re.compile(
    r"\W*(?:why|who|whose|when|explain|describe|show|give|list|find|tell|how\s+(?:does|do|did|can|could|is|are|should"
    r"|would|to|come)|where(?!.*\bdefault))\b"
    r"|\W*what\s+(?:does|do|did)\b.*\b(?:call|calls|invoke|do|return|returns|raise|throw|inherit|extend|implement|import"
    r"|mean|test|depend)\b"
    r"|(?!.*\bdefault).*\bversions?\b.*\b(?:needs?|requires?|supports?|depends?|uses?)\b"
    r"|\W*(?:what|which)\s+(?:\w+\s+)?(?:extends?|implements?|inherits?|calls?|uses|imports?|throws?|raises?|overrides?|tests?"
    r"|covers?|happens|defines?|contains)\b"
    r"|.*\b(?:differences?|differ|examples?|versus|vs)\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(
    r"\bdefaults?\b|\bout\s+of\s+the\s+box\b|\binitial(?:ly)?\b"
    r"|\b(?:when|if|unless|without|until)\b.{0,120}\b(?:set|sets|setting|given|give|configur\w+|specif\w+|pass|passed"
    r"|provid\w+|supplied|choose|chosen|told|tell|ask|asked|say|said|none|nothing|omit\w*|overrid\w+|otherwise|change"
    r"|changed|touch|defin\w+)\b",
    re.IGNORECASE,
)
_MAX_ASKED = re.compile(
    r"\b(?:max(?:imum|imal(?:ly)?)?|at\s+most|up\s+to|largest|greatest|longest|limit\w*)\b", re.IGNORECASE
)
_MIN_ASKED = re.compile(r"\b(?:min(?:imum|imal(?:ly)?)?|at\s+least|smallest|shortest|lowest)\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"\bhow\s+(long|big|large|wide|often|frequently|many|much|deep|deeply|high|tall|far|fast)\b", re.IGNORECASE
)
_ASKED = re.compile(
    r"^\W*(?:and\s+|so\s+)?(?:(?:what|which|whats)(?:['\u2019]?s|\s+is|\s+are|\s+was|\s+does|\s+do|\s+will)?\s+"
    r"|(?:is|are|does|do|will)\s+(?=.*\bdefault\b)|(?:up|down)\s+to\s+(?:what|which)\s+|(?:at|on|in|with|from|to|for)"
    r"\s+(?:what|which)\s+|after\s+(?=how\s)|where\s+(?=.*\bdefault)|(?:the\s+)?(?=default\b|max|min)|how\s+(?=long|big|large|wide|often"
    r"|freq|many|much|deep|high|tall|far|fast))",
    re.IGNORECASE,
)
_OTHER_KINDS = re.compile(
    r"^\W*(?:what|which)(?:['\u2019]s|\s+is|\s+are)?\s+(?:the\s+)?(?:(?:other|unit|public|latest|current|minimum|minimal"
    r"|required|supported|first|last|main|oldest|newest)\s+)*(?:functions?|methods?|class(?:es)?|structs?|interfaces?|tests?|files?|commits?|versions?"
    r"|licen[cs]es?|authors?|people|person|dependenc\w+|packages?|librar\w+|modules?|branch\w*|contributors?|types?"
    r"|lines?|repositor\w+|repos?|languages?|subs?|subroutines?|macros?|callers?|release|frameworks?|purpose|role"
    r"|signature|code)\b(?!\s+(?:name|pattern|size|type|length|limit|path|extension|mode))",
    re.IGNORECASE,
)
"""Questions for something that has a name rather than a value."""
_COUNTED = re.compile(r"\W*how\s+(?:many|much)\b(?!\s+times\s+(?:does|do|is|are|will)\b)", re.IGNORECASE)
_HEAD = re.compile(
    r"(?:\b(?:what|which)(?:['\u2019]?s)?\b|\bhow\s+(?:many|much)\b)\s*"
    r"(?:(?:is|are|was|does|do|the|a|an|current|actual|exact|value|default|maximum|minimum|initial|of|for)\s+)*"
    r"(?P<head>.*?)"
    r"(?=\s+(?:of|for|in|on|to|at|by|when|if|unless|does|do|did|is|are|was|has|have|can|may|will|must|should|that|with"
    r"|from|per|between|before|after|set|used|inside|within)\b|\W*$)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"`(?P<quoted>[^`\n]{1,80})`|(?<![\w/.-])(?P<flag>--[a-z][\w-]*)"
    r"|(?P<name>[@$]?[A-Za-z_][\w$]*(?:(?:\.|::?|->|\#)[A-Za-z_][\w$]*)*(?:\(\))?)"
)
_MARKED = re.compile(r"_\w|[a-z\d][A-Z]|[A-Z]{2}[a-z]|\.|:|->|\#|\(\)|[@$]")
"""A mark of a name of code: an underscore, capitals inside, or a separator."""
_FRAME_TEXT = """
default defaults value values set sets setting settings use uses used using have has give given gives take takes taken
get gets got make makes made do does done run runs work works apply applied happen happens choose chosen option options
parameter parameters argument arguments flag flags key keys constant constants variable variables field fields property
attribute attributes file files class function method module library project program command number amount count
times time seconds second milliseconds millisecond minutes minute hours bytes byte percent percentage enabled enable
disabled disable on off true false initial initially allowed possible configured configure specify specified pass
passed provide provided nothing none anything something otherwise unless told tell want need without change changed
current currently actually exactly exact name called call named long big large wide often many much deep high tall far
fast frequently show shows display displays follow follows kept accept accepts allow allows return returns
start starts listen listens bind binds mode
maximum minimum max min maximal minimal most least largest smallest limit limits up down kind sort of
it its one ones there here be being else user users define defined say says case contain contains hold holds equal
equals
"""
FRAME = frozenset(_FRAME_TEXT.split())
"""Words of the form of a question: a name may have them, but needs none."""
_VERBS_TEXT = """
follow follows accept accepts show shows display displays start starts listen listens bind binds run runs return returns
change apply keep
"""
VERBS = frozenset(_VERBS_TEXT.split())
"""Words of the frame that a name has only if the question has them: `followLinks` is no default of links."""
_NOUNS_TEXT = """
option options parameter parameters argument arguments flag flags key keys constant constants variable variables field
fields property attribute attributes file files class function method module command number amount count time times
seconds second milliseconds minutes hours bytes percent percentage name case kind user users library project program
"""
_NOUNS = frozenset(_NOUNS_TEXT.split())
_MEASURES: Mapping[str, str] = {
    "long": "max timeout duration delay interval ttl age period expiry length lifetime wait seconds secs ms time",
    "big": "size length limit capacity bytes max len", "large": "size length limit capacity bytes max len",
    "wide": "width columns cols", "often": "interval frequency period freq every", "frequently": "interval frequency",
    "many": "max limit count num size attempts number maximum n nr total", "much": "max limit size length bytes amount",
    "deep": "depth max level nesting levels limit", "deeply": "depth max level nesting", "high": "height max",
    "tall": "height", "far": "distance max", "fast": "speed rate interval",
}  # fmt: skip
_CONDITION = re.compile(r"\b(?:if|when|unless|while|once|without|until)\b", re.IGNORECASE)
_LIGHT_VERB = re.compile(
    r"(?P<before>\b(?:is|are|was|were|does|do|will|can|may)(?:\s+\S{1,80}){0,5}?)\s+(?:not\s+)?"
    r"(?:sends?|sent|shown|show|display(?:ed)?|print(?:ed)?|follow(?:ed)?|permitted|tried|perform(?:ed)?|picked|pick"
    r"|listed|try|attempted|enforced?|chosen|choose|assumed?|expected?|ha[sd]|have|need(?:ed)?)"
    r"(?=\s*(?:$|[?.,]|(?:at\s+(?:most|least|once)|by\s+default|in\s+a\s+row|(?:if|when|unless|without)\b)))",
    re.IGNORECASE,
)
"""A verb that says nothing of a value, at the end of what a question asks: "how many hits are shown at most?"."""


@dataclass(frozen=True, slots=True)
class ValueQuestion:
    """A question for a value.

    Attributes
    ----------
    words
        What its name, or the code and comments around it, must have: lower case, without grammar and frame.
    further
        Its other nouns, such as "variables" and "seconds", which a name may have or not.
    repository_words
        Words of the names of the searched repositories, which a name may have, too.
    mentioned
        Words of the question that are those of the repositories' names, too.
    head
        The words of the value itself: its name has at least one of them, if there are any.
    names
        Names of code in the question, as they are written.
    conditions
        Words that say where or when a named value is meant: "on Windows", "in release builds".
    nouns
        Further words that a name may have, by what is measured: of "how long", such as ``timeout``.
    is_default
        Whether it asks for what holds if nothing is set.
    bound
        ``max`` or ``min`` if it asks for the largest or smallest value, else empty.
    """

    words: tuple[str, ...]
    further: tuple[str, ...]
    repository_words: frozenset[str]
    mentioned: frozenset[str]
    head: frozenset[str]
    names: tuple[str, ...]
    conditions: frozenset[str]
    nouns: frozenset[str]
    is_default: bool
    bound: str


def read_value_question(text: str, repository_names: Collection[str] = ()) -> ValueQuestion | None:
    """Read a question; None if it asks for no value.

    Parameters
    ----------
    text
        The question.
    repository_names
        Names of the searched repositories, whose words tell no value apart.
    """
    text = re.sub(r"\b(\w+)n't\b", r"\1 not", " ".join(text.replace("\u2019", "'").split()))
    if len(text) > MAX_CHARACTERS or not _asks_for_value(text):
        return None

    is_default = _DEFAULT.search(text) is not None
    # The ending of a path in code, such as `lua`, is no name of a value either.
    is_of_file = _IN_DATA.search(text) is not None or any(language_of(token) for token in _FILE.findall(text))
    if is_of_file or (not is_default and _OF_OTHERS.search(text) is not None):
        return None

    other = _OTHER_KINDS.match(text)
    # "The VERSION constant" is a name.
    if other is not None and not is_default and not other[0].rpartition(" ")[2].isupper():
        return None
    if _COUNTED.match(text) is not None and not (is_default or _MAX_ASKED.search(text) or _MIN_ASKED.search(text)):
        return None

    bound = "max" if _MAX_ASKED.search(text) is not None else "min" if _MIN_ASKED.search(text) is not None else ""
    # A verb of a condition says when a value holds: "if they are permitted".
    condition = _CONDITION.search(text)
    asked_text = text if condition is None else text[: condition.start()]
    names, plain_words = _split(_LIGHT_VERB.sub(r"\g<before>", asked_text) + text[len(asked_text) :])
    repository_words = {part for name in repository_names for part in (name.lower(), *parts_of(name))}
    words = tuple(
        dict.fromkeys(
            word for word in plain_words if len(word) > 1 and word not in {*FUNCTION_WORDS, *FRAME, *repository_words}
        )
    )
    nouns = frozenset(noun for match in _MEASURED.finditer(text) for noun in _MEASURES[match[1].lower()].split())
    head_match = _HEAD.search(text)
    head_text = head_match["head"] if head_match is not None else ""
    head = frozenset(word for _, head_words in [_split(head_text)] for word in head_words if word in words)
    if not (words or names) or len(words) > _MAX_WORDS:
        return None

    further = [word for word in plain_words if word in _NOUNS or word in VERBS]
    # In back quotes, the words are a name and none of these.
    if re.search(r"\bhow\s+many\s+times\b", text, re.IGNORECASE) is not None and "times" in further:
        further.remove("times")  # attempts, not a time

    further += re.findall(r"(?<![\w.])\w*?(\d)\b", text)
    mentioned = frozenset(word for word in plain_words if word in repository_words)
    end = max((text.rfind(name) + len(name) for name in names), default=len(text))
    return ValueQuestion(
        words,
        tuple(dict.fromkeys(further)),
        frozenset(repository_words),
        mentioned,
        head,
        names,
        frozenset(_split(text[end:])[1]),
        nouns,
        is_default,
        bound,
    )


def _asks_for_value(text: str) -> bool:
    """Return whether a question may ask for a value of the code as it is now."""
    return _ASKED.match(text) is not None and not (_SKIPPED.match(text) or _OF_ANOTHER_TIME.search(text))


def split_names(text: str, token: re.Pattern[str], mark: re.Pattern[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of code in a text, and its other words in lower case.

    Parameters
    ----------
    text
        A question or a part of one.
    token
        What may be a name or a word, with the groups ``quoted``, ``flag`` and ``name``.
    mark
        What a name has and a word of prose lacks.
    """
    names: list[str] = []
    words: list[str] = []
    for match in token.finditer(text):
        name = match["quoted"] or match["flag"] or match["name"]
        if match["quoted"] or match["flag"] or mark.search(name) is not None:
            names.append(name.removesuffix("()").lstrip("-"))
        else:
            words.append(name.lower())

    return tuple(dict.fromkeys(names)), words


def _split(text: str) -> tuple[tuple[str, ...], list[str]]:
    return split_names(text, _CODE, _MARKED)
