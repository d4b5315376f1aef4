"""Read questions for a place that they describe: "which file handles server-sent events?", "who calls the hex parser?".

The words of the form are left out; the rest describes what is sought. A question about history, a default or a number
isn't one of these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcelight.engines.deepsearch.lookups.described_places.concepts import is_participle

_MAX_CHARACTERS = 200
_FILE = (
    r"(?:source files?|header files?|files?|modules?|packages?|scripts?|components?|templates?|playbooks?|stylesheets?)"
)
_TYPE = r"(?:class(?:es)?|structs?|types?|traits?|interfaces?|objects?|enums?|protocols?|records?|contracts?)"
_FUNCTION = (
    r"(?:functions?|methods?|macros?|procedures?|routines?|helpers?|subroutines?|predicates?|procs?|fixtures?|subs?)"
)
_BIT = r"(?:bit|part|piece|place|chunk|section|spot)"
_CODE = rf"(?:{_BIT} of (?:the |our |its )?(?:code|source|codebase|code base)|code|logic|{_BIT})"
_THING = r"(?:exceptions?|filters?|hooks?|middlewares?|decorators?|pipes?)"
_DOER = (
    r"(?:adapters?|annotations?|attributes?|backends?|controllers?|converters?|decoders?|drivers?|encoders?|formatters?"
    r"|handlers?|loaders?|matchers?|parsers?|plugins?|polic(?:y|ies)|providers?|readers?|rules?|serializers?|services?"
    r"|strateg(?:y|ies)|validators?|views?|widgets?|workflows?|writers?)"
)
"""Nouns of what does something by itself, as a verb behind them says: "which rule finds empty loops"."""
_THAT = r"(?: (?:that|which|where|for|of|to|responsible for|in charge of|behind))?"
_BE = r"(?:is|are|was|were|does|do|did|has|have|can|could|should|would|will)"
_FIND = r"(?:do|can|would|could|should) (?:i|we|you) (?:find|see|look for|look at)"
_WHERE = r"where(?:abouts)?(?: exactly| in (?:the |this )?(?:code|codebase|code base|repo|project))?"
_CALLER = rf"(?:code|{_BIT}|functions?|methods?|files?|modules?|class(?:es)?|places?|callers?)"
_CALL = r"(?:calls?|uses?|invokes?|makes? use of|relies on|depends on)"
_LOOK = r"(?:find|show me|locate|point me (?:to|at)|i(?:'m| am) looking for|looking for)"
_FORMS: tuple[tuple[str, str], ...] = (
    (
        "callers",
        rf"(?:from )?where(?:abouts)? {_BE} (?P<text>.+?) (?:get |gets |being )?(?:called|used|invoked)(?: from)?",
    ),
    ("callers", rf"(?:who|what|(?:which|what) {_CALLER})(?: else)? {_CALL} (?P<text>(?:the|our|its|that|this) .+)"),
    ("file", rf"in (?:which|what) {_FILE} {_FIND}(?: the {_CODE}{_THAT})? (?P<text>.+)"),
    ("file", rf"in (?:which|what) {_FILE} {_BE} the {_CODE}{_THAT} (?P<text>.+)"),
    ("file", rf"(?:in )?(?:which|what) {_FILE}(?: (?:holds|has|contains|houses) the {_CODE}{_THAT})? (?P<text>.+)"),
    ("type", rf"(?:in )?(?:which|what) {_TYPE} (?P<text>.+)"),
    ("function", rf"(?:in )?(?:which|what) {_FUNCTION} (?P<text>.+)"),
    ("any", rf"(?:which|what) {_CODE}{_THAT} (?P<text>.+)"),
    ("any", rf"(?:in )?(?:which|what) (?P<text>{_THING} .+)"),
    ("any", rf"(?:which|what) (?P<text>{_DOER} (?!(?:is|was|does)\b)\w+s\b.+)"),
    ("any", rf"where(?:abouts)?(?: exactly)? {_FIND}(?: the {_CODE}{_THAT})? (?P<text>.+)"),
    ("any", rf"{_WHERE} {_BE} the {_CODE}{_THAT} (?P<text>.+)"),
    ("any", rf"{_WHERE} {_BE} (?P<text>.+)"),
    ("any", rf"{_LOOK}(?: the {_CODE}{_THAT})? (?P<text>.+)"),
    ("any", rf"the (?:{_CODE}|thing) (?:that|which) (?P<text>.+)"),
)
_PATTERNS = tuple((kind, re.compile(rf"^{form}$", re.IGNORECASE)) for kind, form in _FORMS)
_OF_OTHERS = re.compile(
    r"\b(?:by default|defaults? to|unless|if (?:i|you|we) (?:don'?t|do not)|licen[cs]e[ds]?|depend(?:s|encies|ency)"
    r"|installed|tests?|tested|documented|set to|(?:is|are) (?:named|called)|raise[sd]?|throw(?:s|n)?(?! away| out)"
    r"|imports|inherits|extends|subclass\w*|committed|authors?|most (?:often|recently|of all))\b"
    r"|^(?:(?:is|are|was|were|has|have|had|got)\s)?(?:the\s)?"
    r"(?:last|first|newest|oldest|most|fewest|largest|biggest|longest|smallest|shortest)\b"
    r"|^(?:file )?(?:extension|name|version|engine|format|type|path|size)s? (?:is|are|do|does|did|should|will)\b"
    r"|^(?:does|do|is|are) .*\bversions?$|\b(?:defined|declared)(?: (?:in|at|inside|within) \S+)?$"
    r"|^(?:an? |some |any |the )?(?:code |usage )?(?:examples?|samples?|usages?|demos?)\b|^it an error\b",
    re.IGNORECASE,
)
"""Words of questions for defaults, numbers, packages, uses, names and examples."""
_OF_HISTORY = re.compile(
    r"\b(?:was|were|did|has|have|had|got)\b(?:(?!\b(?:that|which|when|if)\b).)*"
    r"\b(?:renamed|moved|deleted|removed|added|introduced|changed|released|created)\b",
    re.IGNORECASE,
)
"""Events in the life of the code, rather than behavior of the code."""
_OF_USES = re.compile(
    rf"^(?:in )?(?:(?:which|what) (?:{_FILE}|{_TYPE}|{_FUNCTION})"
    r"|where(?:abouts)? (?:do|does|can|should) (?:we|i|you|they))"
    r" (?:includes?|imports?|pulls? in|requires?|references?|mentions?|refers? to|uses?|calls?|invokes?)\b",
    re.IGNORECASE,
)
"""A question for lines that use something."""
_BEHIND = re.compile(
    r"^(?P<text>.{8,}?)\s*[-\u2013\u2014,;:]+\s*(?:so )?(?:(?:in )?(?P<where>where(?:abouts)?)"
    rf"|(?:in )?(?:which|what) (?:(?P<file>{_FILE})|(?P<type>{_TYPE})|(?P<function>{_FUNCTION})))"
    r"(?: (?:is|are|has|have|holds|does|do|can i find))? (?:that|it|those|this|these|they|them)\b[\w ,]{0,30}$",
    re.IGNORECASE,
)
"""A question behind what it asks about: "the parser of flags, what file is that in?"."""
_THAT_DOES = re.compile(rf"^the (?:{_CODE}|thing|one)(?: in here)? (?:that|which|where) ", re.IGNORECASE)
_FILE_NOUN = re.compile(rf"(?:in )?(?:which|what) (?:source )?(?P<noun>{_FILE})", re.IGNORECASE)
_OF_CALLERS_ALONE = re.compile(
    r"\b(?:commits?|authors?|by default|unless|how (?:many|much)|versions?|renamed|removed|last|first|most)\b",
    re.IGNORECASE,
)
_OF_CALLED = re.compile(r"\b(?:gets?|got|is|are|being) (?:called|invoked|referenced)(?: from)?$", re.IGNORECASE)
"""The end of a question for the callers of a name, which no place with its words answers."""
_OF_VALUE = re.compile(
    r"(?:does|do|did|is|are|was|were|can|will|should|must|would)\b"
    r"(?!.*\b(?:lives?|in|happens?|done|handled|implemented|located|kept|found)$)"
    r"(?!(?<=is) (?:(?:an?|for) |the .* (?:that|which|for [a-z]+ing)\b)"
    r"(?!.*\b[a-z]+(?:ed|en)(?: (?:to|from|by|into|with|at|on))?$))"
    r"(?!(?<=does) (?:all )?(?:the )?(?:[a-z-]+ ){0,2}[a-z-]+(?:ing|ion|age|ment|work|stuff)"
    r"(?: (?:of|to|for|on) .*)?$)",
    re.IGNORECASE,
)
"""A file that something reads or needs is no place of code: "which file does it read from".

One that is something, or does some work, may be: "which class is a map without cases", "which file does the hashing".
"""
_OF_NAMES_ALONE = re.compile(
    r"(?:(?:does|do|is|are|and|or|the|an?|lines?|defines?|defined|declares?|declared|lives?|resides?|sits?|located"
    r"|implements?|implemented|holds?|contains?|has|in|function|class|method|module|called"
    r"|(?-i:(?=[\w$.:?!-]*?(?:_\w|[a-z\d][A-Z]|\w::\w|\w\.\w|-\w*-))[\w$.:?!-]+))(?:[\s,]+|$))+",
    re.IGNORECASE,
)
"""A question that names what it asks for: a place that has the parts of `should_format` is not the one."""
_IN = re.compile("in ", re.IGNORECASE)
_SUBJECT = re.compile(r"^(?:it|this|that|we|you|they|i) (?!is |are )", re.IGNORECASE)
_NOUN_OF_FUNCTION = re.compile(rf"^(?:the|our|its|that|this) {_FUNCTION} (?:that|which|for|to) ", re.IGNORECASE)
_RELATIVE = re.compile(
    r"(?<=\w)\s(?:the|our|its|it|we|they)\s[\w-]+(?:\s[\w-]+)?\s(?:is|are|was|gets)\s.*$", re.IGNORECASE
)
"""A relative clause behind a noun without a pronoun: "the tree the router is built on"."""
_REMARK = re.compile(
    r"\s*\([^()]*\)|,\s*(?:apart from|except|outside|not counting|besides|other than)\s.*$"
    r"|\s(?:outside|apart from|except)\s(?:of\s)?(?:the\s|its\s)?(?:tests?|specs?)\b.*$",
    re.IGNORECASE,
)
"""A remark that says more, or that tests don't count, which they never do."""


@dataclass(frozen=True, slots=True)
class PlaceQuestion:
    """A question for a place that it describes.

    Attributes
    ----------
    noun
        What is sought: ``file``, ``type``, ``function`` or ``any``.
    text
        The words that describe it.
    asks_callers
        Whether the question is for lines that call what is described, rather than for its place.
    clause
        A relative clause that says more of it; empty for none.
    word
        The noun for a file in the question, such as ``script``.
    """

    noun: str
    text: str
    asks_callers: bool = False
    clause: str = ""
    word: str = ""

    @property
    def passive_verb(self) -> str:
        """The verb at the end of "where are options parsed", which isn't what `parsed_options` does; empty for none."""
        last = self.text.rpartition(" ")[2].lower()
        return last if self.noun in {"any", "function"} and is_participle(last) else ""

    @property
    def verbs(self) -> list[str]:
        """The words that say what is done: "rewrites the method", "it finds the root", "the trust is evaluated"."""
        words = _SUBJECT.sub("", self.text).lower().split()
        is_active = bool(words) and (len(words) < len(self.text.split()) or words[0].endswith("s"))
        return [*words[:is_active], *filter(is_participle, words[1:])]


def read_place_question(text: str) -> PlaceQuestion | None:
    """Read a question; None if it is for no place, or names what it asks for as history, a default or a number."""
    words = " ".join(text.replace("\u2019", "'").split()).strip(" ?.!:")
    if len(words) > _MAX_CHARACTERS or "`" in words or _OF_CALLED.search(words) is not None:
        return None
    words = re.sub(r"\b(where|what|which|who|file|class|function)'s\b", r"\1 is", words, flags=re.IGNORECASE)
    words = _as_usual(_REMARK.sub("", words))
    for kind, pattern in _PATTERNS:
        match = pattern.match(words)
        if match is None:
            continue
        described = match["text"].strip()
        if kind == "callers":
            if _OF_CALLERS_ALONE.search(described) is not None:
                return None
            return PlaceQuestion("function", _NOUN_OF_FUNCTION.sub("", described), asks_callers=True)
        is_of_value = kind != "any" and not _IN.match(words) and _OF_VALUE.match(described) is not None
        if (
            is_of_value
            or _OF_NAMES_ALONE.fullmatch(described)
            or _OF_OTHERS.search(described)
            or _OF_HISTORY.search(words)
            or _OF_USES.search(words)
        ):
            return None

        clause = _RELATIVE.search(described) if kind == "file" else None
        head = described if clause is None or clause.start() < len(described) // 4 else described[: clause.start()]
        noun = _FILE_NOUN.match(words)
        word = noun["noun"].lower().removesuffix("s") if noun is not None and kind == "file" else ""
        return PlaceQuestion(kind, head, clause=described[len(head) :], word=word)

    return None


def _as_usual(words: str) -> str:
    """Return a question with its question word first."""
    match = _BEHIND.match(words)
    if match is None:
        return words
    described = _THAT_DOES.sub("", match["text"])
    noun = match["file"] or match["type"] or match["function"]
    if noun:
        has = "" if described != match["text"] else "has "
        return f"which {noun} {has}{described}"
    return f"where is {'the code that ' if described != match['text'] else ''}{described}"
