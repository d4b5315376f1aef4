"""Read how a question for a value is worded: what isn't given, verbs, other kinds of questions."""

from __future__ import annotations

import re

from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

_NOT_GIVEN = (
    r"(?:isn't|is not|aren't|are not|wasn't|don't|do not|doesn't|does not|didn't|hasn't|haven't|never|no one|nothing"
    r"|none|(?:pass|give|set|specify|provide|supply|hand over|have|with)(?: it| them| me)? no|no-?body"
    r"|omit\w*|absent|missing|unset|left (?:out|alone|off|unset|blank|empty)|no \w+(?: \w+)? (?:is"
    r"|are|was))"
)
_CLAUSE = re.compile(
    rf",?\s*\b(?:(?:if|when|whenever|where|as long as|provided|in case"
    rf"|and) (?=(?:(?!\band\b)[^,?]){{0,60}}\b{_NOT_GIVEN}\b)[^,?]{{1,120}}"
    r"|unless [^,?]{1,120}|(?:without|before|until) (?:any(?:one|body|thing)?|an?|me|us|you|the|passing|setting"
    r"|giving"
    r"|specifying|configuring|touching|changing|someone|somebody|being|explicit\w*|further|extra|overriding"
    r"|customi[sz]\w+|options?|arguments?|flags?)\b[^,?]{0,100}"
    r"|(?:if|when) (?:i|you|we|one) (?:only|just|simply|merely|leave|omit|skip|forget|say nothing|do nothing"
    r"|touch nothing)[^,?]{0,100}"
    r"|with (?:no|nothing) [^,?]{1,80}|(?:with|under|in) (?:the )?(?:default|stock|standard|factory) (?:settings?"
    r"|config\w*|options?|setup))",
    re.IGNORECASE,
)
"""A clause that says that nothing is given; the names in it are those of the setting."""
_GIVE = (
    r"(?:pass|give|set|specify|provide|supply|pick|choose|define|configure|hand|say|name|write|type|mention"
    r"|request|ask for)"
    r"(?:s|d|ed|ing|es|ting|sing)?(?: it| them| one| in)?"
)
_NOT_GIVEN_NOUN = (
    re.compile(
        r"\bno (?:explicit |custom |such |other |own )?(?P<noun>[\w-]+(?: [\w-]+)?) (?:is|are|was|were|gets?|has)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_GIVE} (?:no|a|an|any|the|my own|your own|its own|their own)(?: explicit| custom| own"
        rf"| such)* (?P<noun>[\w-]+(?: [\w-]+)?)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:without (?:a|an|any|the)|with no)(?: explicit| custom| own| such)* (?P<noun>[\w-]+(?: [\w-]+)?)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:if|when|unless|where) (?:the |a |an |its )?(?P<noun>[\w-]+(?: [\w-]+)?) (?:is|are|was|isn't|aren't"
        r"|wasn't)(?: not)? ",
        re.IGNORECASE,
    ),
)
"""Nouns of a clause that says that something isn't given."""
_BY_DEFAULT = re.compile(
    r"\b(?:by default|out of the box|per default|as a default|as standard|as shipped|by itself|on its own"
    r"|to begin with|at first|to start with|straight away|in a fresh (?:install\w*|setup|checkout|project)"
    r"|after a fresh install\w*|initially|normally|ordinarily)\b",
    re.IGNORECASE,
)
_DEFAULT_WORD = re.compile(
    r"\b(?:defaults?(?: (?:value|setting|to))?|defaulting|stock|factory|preset|fall(?:s)? back (?:to|on)"
    r"|fallback|assumes?|assumed)\b",
    re.IGNORECASE,
)
_LED = re.compile(
    r"(?P<lead>(?:if|when|while|with|in|for|on) [^,:?]{3,120}?(?=\s(?:how|what|which)\b)"
    r"|[^,:?]{3,120}[,:])\s*(?:and |so |then )?(?P<asks>(?:(?:at|on|in|with|from|to|for|after|under|up to)\s+)?"
    r"(?:how|what|which|is|are|does|do|will)\b.*)$",
    re.IGNORECASE,
)
"""A question with a clause or a place before it."""
_SKIPPED = re.compile(
    r"\W*(?:why|who|whose|whom|when|explain|describe|list|find|show|tell|give|where)\b"
    r"|\W*how (?:do|can|could|should|would|to|come) (?:i|you|we|one|a user)\b"
    r"|\W*(?:is|are|was|were) there\b|\W*what happens\b|\W*(?:which|what) (?:commit|release|author|person)s?\b"
    r"|.*\b(?:differences?|differ|examples?|versus|vs|licen[cs]e\w*)\b",
    re.IGNORECASE,
)
"""Questions that no value of a line answers."""
_OF_CODE = re.compile(r"\W*(?:which|what) (?:file|class|function|method)s?\b", re.IGNORECASE)
"""Questions for places, unless they ask for a default."""
_OF_OTHERS = re.compile(
    r"\b(?:in total|altogether|overall|exist|commits?|authors?|contributors?|committed|written by|renamed|deleted"
    r"|call(?:s|ed|ers?)|invoke[sd]?|referenc\w+|import(?:s|ed)|inherit\w*|extends?|implements?|implemented"
    r"|subclass\w*|defined"
    r"|declared|located|mentioned|depend(?:s|ed)?|dependenc\w+|released?|history|needs?|needed|requires?|required"
    r"|pulls?\s+in|pulled\s+in|modules?|packages?|crates?|gems?|bump\w*|added|introduced|removed"
    r"|changed"
    r"|modified|touched|maintain\w*|tested|tests?|covered)\b"
    r"|\bhow many (?:[^\s,]{1,40} ){0,2}(?:files?|lines?|directories|folders?) (?:that )?(?:are |do not |don't |that )?"
    r"(?:below|beneath|under|in|inside|within|contain|mention|lack|have|with|match|end)\b",
    re.IGNORECASE,
)
"""Words of questions for people, times, places, counts and history, unless they ask for a default."""
_OF_ANOTHER_TIME = re.compile(
    r"\b(?:in|before|after|since|until|during|by|as of|prior to)\s+(?:the )?(?:(?:19|20)\d\d|v?\d+\.\d[\w.]*"
    r"|release|version|last)\b|\b(?:used to|previously|formerly|originally|earlier|no longer|any ?more|still"
    r"|once was)\b",
    re.IGNORECASE,
)
_NO_SETTING_TEXT = """
anything nothing something one value values option options argument arguments flag flags setting settings parameter
parameters none given set passed told user users anyone config configuration else other otherwise explicit
"""
_NO_SETTING = frozenset(_NO_SETTING_TEXT.split())
_SPELLINGS = (
    (re.compile(r"\b(what|which) (?:kind|sort|type) of\b", re.IGNORECASE), r"\1"),
    (re.compile(r"^(\W*(?:what|which|how|where))'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"(?<=\w)'s\b(?=\s+[\w@`])"), ""),
    (re.compile(r"\b(?:cap|ceiling|upper (?:limit|bound))\b", re.IGNORECASE), "limit"),
    (
        re.compile(
            r"\bhow long(?= (?:can|may|must|should|could|is|are|will)\b[^,]{0,40}\b(?:texts?|strings?|names?|lines?"
            r"|passwords?|titles?|labels?|keys?|paths?|urls?|tokens?|slugs?|comments?|words?|messages?|identifiers?"
            r"|ids?|descriptions?)\b(?!.*\b(?:wait|take|last|live|stay|valid|cached|stored|kept|shown|visible)))",
            re.IGNORECASE,
        ),
        "how large",
    ),
    (
        re.compile(
            r",? in (?:(?:milli|micro)?seconds|pixels|px|ms|(?:kilo|mega)?bytes|minutes|hours|days|percent|points)"
            r"(?=\s*(?:$|[,.?(]|by default|if\b|when\b|unless\b))",
            re.IGNORECASE,
        ),
        "",
    ),
    (re.compile(r"\bcommand[- ]lines?\b", re.IGNORECASE), "cli"),
    (
        re.compile(r"\b(shut(?= down)|time(?= out)|back(?= off)|clean(?= up)|start(?= up))s? (\w+)", re.IGNORECASE),
        r"\1\2",
    ),
    (re.compile(r"\b(?:http|response|return|reply) codes?\b", re.IGNORECASE), "status code"),
    (re.compile(r"\s(?:on disk|in memory|on screen|here)\b", re.IGNORECASE), ""),
    (re.compile(r"\b(?:tr(?:y|ies|ied)|attempt(?:s|ed)?|done|do|does) (?:it )?again\b", re.IGNORECASE), "retry"),
)
"""Spellings that a question may have, and the usual one."""


def asks_for_default(text: str, clause: str) -> bool:
    """Return whether a question asks for what holds if nothing is set."""
    return bool(clause) or _BY_DEFAULT.search(text) is not None or _DEFAULT_WORD.search(text) is not None


def is_of_another_kind(text: str, *, is_default: bool) -> bool:
    """Return whether a question asks for people, times, locations or counts, or for the values of another commit."""
    # A function may have the name of a word that describes nothing: the default count of `both`.
    is_of_name = text.rpartition(" of ")[2] in FUNCTION_WORDS
    if is_of_name or _OF_ANOTHER_TIME.search(text) is not None or _SKIPPED.match(text) is not None:
        return True
    return not is_default and (_OF_OTHERS.search(text) is not None or _OF_CODE.match(text) is not None)


def normalize(text: str) -> str:
    """Return a question in one line, with one spelling for what is asked in several."""
    text = " ".join(text.replace("\u2019", "'").split()).rstrip(" ?.!")
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text


def split_clauses(text: str) -> tuple[str, str]:
    """Return a question without the clauses that say that nothing is given, and these clauses.

    What is said before the question, as in "when batching is on, how long does it wait", is put behind it.
    """
    clause = " ".join(match[0] for match in _CLAUSE.finditer(text))
    bare = _CLAUSE.sub(" ", text).strip(" ,:")
    led = _LED.match(bare)
    if led is not None:
        bare = f"{led['asks']} {led['lead'].rstrip(',:')}"
    return bare, clause


def without_default(text: str) -> str:
    """Return a question without "by default" and the like."""
    return _BY_DEFAULT.sub(" ", text).strip(" ,:")


def setting_words(clause: str) -> frozenset[str]:
    """Return the words for what isn't given, in a clause that says so."""
    nouns = [match["noun"].lower() for pattern in _NOT_GIVEN_NOUN for match in pattern.finditer(clause)]
    words = {word for noun in nouns for word in noun.split()}
    words = {part for word in words for part in re.split(r"[-_]", word)}
    return frozenset(word for word in words if len(word) > 2 and word not in FUNCTION_WORDS and word not in _NO_SETTING)


_VERB = (
    re.compile(
        r"\b(?:do|does|may|can|will|should|must|might)\s+(?:(?:it|i|we|you|they)\s+(?P<after>[a-z]+)"
        r"|(?:(?:the|a|an|its|each|every|any|this)\s+)?(?:[\w·-]+\s+){1,4}?(?P<verb>[a-z]+)(?=\s+(?:with|in|into|on|at"
        r"|to|for|from|of|by|as|up|out|off|down|over|before|after|between|when|if|while|until|the|a|an|its)\b|\s*$))",
        re.IGNORECASE,
    ),
    re.compile(
        r"^\W*(?:how\s+(?:many|much)|which|what)\s+(?:[\w·-]+\s+){1,3}?(?P<verb>[a-z]+)(?=\s+(?:the|a|an|its|into"
        r"|to|each|every)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:is|are|gets?|be)\s+(?:(?:the|a|an|each|every|any|only"
        r"|not)\s+)?(?:[\w·-]+\s+){0,3}?(?P<verb>(?!speed|seed|feed|need|embed|shed)[a-z]{2,}ed|written"
        r"|drawn|hidden|read)(?=\s+(?:by|with"
        r"|in|into|on|at|to|for|from|as|per|before|after|when|if)\b|\s*$)",
        re.IGNORECASE,
    ),
)
_AUXILIARY = re.compile(r"\b(?:does|do|is|are|may|can|will|gets?)\b", re.IGNORECASE)


def verbs_of(text: str) -> frozenset[str]:
    """Return the verbs of what a question asks: they say what something does, and not which thing it is."""
    verbs: set[str] = set()
    for index, pattern in enumerate(_VERB):
        if index == 1 and _AUXILIARY.search(text) is not None:
            continue
        match = pattern.search(text)
        if match is not None:
            verbs |= {verb.lower() for verb in match.groups() if verb}
    if _AUXILIARY.search(text) is not None:
        # "Does it keep letters in": behind "does", a verb has no ending.
        verbs = {verb for verb in verbs if re.search(r"[^su]s$", verb) is None}
    return frozenset(verbs)
