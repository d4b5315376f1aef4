"""Rewrite ways to ask for a value or a default as the forms that questions for them are read by.

"Which value has X in Y", "how long is X by default" and "which X does Y use if none is given" ask for what
"what is X set to in Y" and "what is the default of X in Y" do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NAME = r"(?:`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|(?:--?|:|\$|@)?[A-Za-z_*][\w#$.:*?!-]{0,80}+)"
_MARKED = (
    r"(?:`[^`\n]{1,80}`|--?[a-z][\w-]{1,60}|\$\w{1,60}|(?-i:[A-Za-z]\w{0,60}_\w{1,60}|[A-Z][A-Z\d]{2,40}"
    r"|[a-z]{1,40}[A-Z]\w{0,60}|[A-Z][a-z\d]{1,40}[A-Z]\w{0,60}))"
)
"""A name that can't be a word of prose."""
_PLACE = (
    r"(?P<place>(?:the )?(?:`[^`\n]{1,80}`|[\w./:@#-]{1,80}+)"
    r"(?: (?!by default|if\b|when\b|is\b)[\w./:@#-]{1,60}+){0,3})"
)
_VALUE_NOUN = r"(?:value|number|string|text|setting|default|default value)"
_UNGIVEN = (
    r"(?:by default"
    r"|(?:if|when|unless) (?:none|nothing|no \w{1,20}|i|you|we|they|it|one|not|otherwise|told otherwise)\b.{0,60}"
    r"|(?:if|when) .{0,40}\b(?:not|omitted|missing|absent|unset|don'?t|doesn'?t)\b.{0,40}|without (?:one|any|a value))"
)
_HAS = (
    r"(?:does|do|has|have|is) (?:the )?(?:constant |variable |option |setting |key )?"
    rf"(?P<name>{_NAME})(?: (?:have|get|take|set to))?"
)
_OF_LISP = r"(?:\*[a-z][\w-]{1,60}\*|:[a-z][\w-]{1,60}\??)"
_MARKED_OR_DASHED = rf"(?:{_MARKED}|[a-z]\w{{0,40}}(?:--?\w{{1,40}}){{1,6}}|{_OF_LISP})"
_FILE = (
    r"(?:(?:[\w.-]{1,60}/){0,12}+"
    r"(?:(?:[\w-]{1,60}(?:\.[\w-]{1,40}){0,3})?\.[A-Za-z][\w-]{0,20}|Makefile|Dockerfile))"
)
_WHAT_IS_USED = r"(?:what|which value)(?: is|'s|s)? (?:used|taken|it|the value|does it (?:use|have|default to))"
_USES = r"(?:use|have|get|take|assume|fall back to|pick)"
_PARAMETER_NOUN = r"(?: (?:parameter|argument|option|field|setting|attribute))?"
_DEFAULT_IN, _DEFAULT_OF = r"what is the default of \g<name> in \g<place>", r"what is the default of \g<name>"
_SET_IN, _SET_TO = r"what is \g<name> set to in \g<place>", r"what is \g<name> set to"


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """A way to ask, and the usual form of its question, with the groups of the first."""

    pattern: re.Pattern[str]
    usual: str


def _rewriting(pattern: str, usual: str) -> _Rewriting:
    return _Rewriting(re.compile(rf"^{pattern}$", re.IGNORECASE), usual)


_REWRITINGS = (
    # "Which value does retries have in Client if I don't pass it?", "Which value has retries by default in Client?"
    _rewriting(rf"(?:which|what) {_VALUE_NOUN} {_HAS} {_UNGIVEN} in {_PLACE}", _DEFAULT_IN),
    _rewriting(rf"(?:which|what) {_VALUE_NOUN} {_HAS} (?:in|inside|within|of) {_PLACE} {_UNGIVEN}", _DEFAULT_IN),
    _rewriting(rf"(?:which|what) {_VALUE_NOUN} {_HAS} {_UNGIVEN}", _DEFAULT_OF),
    # "What value has the constant bits in dict.mjs?", "Which string is USER_AGENT?"
    _rewriting(rf"(?:which|what) {_VALUE_NOUN} {_HAS} (?:in|inside|within) {_PLACE}", _SET_IN),
    _rewriting(rf"(?:which|what) {_VALUE_NOUN} {_HAS.replace(_NAME, _MARKED)}", _SET_TO),
    # "Which logger does New use if none is given?", "Which level is used by default in Client?"
    _rewriting(
        rf"(?:which|what) (?P<name>{_NAME}) (?:does|do|will) (?P<place>(?:the )?{_NAME}(?: (?!{_USES})\w{{1,30}})?) "
        rf"{_USES} {_UNGIVEN}",
        _DEFAULT_IN,
    ),
    _rewriting(
        rf"(?:which|what) (?P<name>{_MARKED}) is (?:used|taken|assumed) (?:in|by) {_PLACE} {_UNGIVEN}", _DEFAULT_IN
    ),
    _rewriting(rf"(?:which|what) (?P<name>{_MARKED}) is (?:used|taken|assumed) {_UNGIVEN}", _DEFAULT_OF),
    # "How long is stuck_after by default?"
    _rewriting(
        r"how (?:long|large|big|many|much|high|often|wide|small|old|far|deep) (?:is|are) (?:the )?"
        rf"(?P<name>{_MARKED}) {_UNGIVEN}",
        _DEFAULT_OF,
    ),
    # "What does offset default to in peek of peek_member.hpp?"
    _rewriting(
        rf"what (?:does|do) (?:the )?(?P<name>{_NAME}){_PARAMETER_NOUN} default to "
        rf"(?:in|for|of|on|within|inside) {_PLACE}",
        _DEFAULT_IN,
    ),
    # "What is the initial value of MAX_RETRIES?": what its line sets it to.
    _rewriting(
        r"what(?: is|'s|s| was) the (?:initial|starting) value of (?:the )?"
        rf"(?:constant |variable |option |setting |key )?(?P<name>{_MARKED_OR_DASHED})",
        _SET_TO,
    ),
    # A value in a class or a module: "what is the value of fetch in Minion::Iterator".
    _rewriting(
        r"what(?: is|'s|s) the (?:current )?value of (?:the )?(?:constant |variable |option |setting |key )?"
        rf"(?P<name>{_NAME}) (?:in|inside|within) {_PLACE}",
        _SET_IN,
    ),
    _rewriting(rf"what (?:does|do) (?:the )?(?P<name>{_NAME}) equal (?:in|inside|within) {_PLACE}", _SET_IN),
    _rewriting(rf"what (?:does|do) (?:the )?(?P<name>{_MARKED}) equal", _SET_TO),
    # A file before or behind the name: "in limits.go, what is LIMIT", "LIMIT in limits.go".
    _rewriting(
        rf"(?:which|what) {_VALUE_NOUN} is (?P<name>{_NAME}) (?:given|assigned|set to) (?:in|inside|within) {_PLACE}",
        _SET_IN,
    ),
    _rewriting(
        rf"(?:in|inside|within) {_PLACE}, ?what(?: is|'s|s) (?:the value of )?(?P<name>{_MARKED_OR_DASHED})"
        r"(?: set to)?",
        _SET_IN,
    ),
    _rewriting(rf"(?P<name>{_MARKED_OR_DASHED}) in (?P<place>{_FILE})", _SET_IN),
    # Nothing is given: "if I do not set length in get_jobs, what is used", "log.erl: which size is the default".
    _rewriting(
        rf"(?:if|when) (?:i|you|we|they|one) (?:don'?t|do not|doesn'?t) (?:set|pass|give|specify) (?:the |a )?"
        rf"(?P<name>{_NAME}){_PARAMETER_NOUN} (?:in|to|for|of) {_PLACE}, ?{_WHAT_IS_USED}",
        _DEFAULT_IN,
    ),
    _rewriting(rf"(?P<place>{_NAME}|{_FILE}): ?(?:which|what) (?P<name>{_NAME}) is the default", _DEFAULT_IN),
    _rewriting(
        rf"what(?: is|'s|s) (?P<place>(?:the )?(?:{_FILE}|{_MARKED}))'s default (?P<name>{_NAME}){_PARAMETER_NOUN}",
        _DEFAULT_IN,
    ),
    # "Which version does AC_PREREQ ask for in configure.ac?"
    _rewriting(
        rf"(?:which|what) (?:version|value|number) (?:does|do) (?P<name>{_MARKED}) (?:ask|set|give|require|have)"
        rf"(?: for)?(?: in)? {_PLACE}",
        _SET_IN,
    ),
)
_LATELY = re.compile(
    r"(?<=\w) (?:these days|at the moment|right now|at present|currently|nowadays|now|today|initially|exactly"
    r"|actually)$",
    re.IGNORECASE,
)
"""An ending that asks for what the searched commit has, as each question does."""
_OWNER_OF_PLACE = re.compile(r"(?<= )(?P<owner>(?:in|inside|for|of) (?:the )?[\w./-]{1,60})'s(?= \w)")
_THIS = rf"(?:the )?(?P<name>{_MARKED_OR_DASHED}){_PARAMETER_NOUN}"
_BESIDE = re.compile(
    r"^(?P<asks>(?:what|which|how|does|do|is|are|after|at|to|in|up|for|on)\b.{1,200}?),? \((?:see |i\.e\. )?"
    rf"{_THIS}\)(?P<rest>.{{0,80}})$",
    re.IGNORECASE,
)
"""A name in brackets beside what it is for: "how many minutes between two checks (check_interval)"."""
_OF_OTHERS = re.compile(
    r"\b(?:calls?|called|callers?|commits?|author|implements?|subclass\w*|defined"
    r"|(?:which|what) (?:func|class|file|method)\w*)\b",
    re.IGNORECASE,
)
"""Words of a question for something else than the value of a name."""
_OF_DEFAULT = re.compile(rf"\bdefaults?\b|\b{_UNGIVEN}|\bout of the box\b", re.IGNORECASE)
_TRUTH = "(?:set|on|off|enabled|disabled|true|false)"
_UNITS = "(?:(?:milli|micro)?seconds|minutes|hours|days|bytes|bits|characters)"
_IS_WHAT = r"(?: value| ?(?:-+|:|,) what(?: is|'s|s) (?:it|that|its value)(?: set to)?| is(?: set to)? what)"
_NO_OTHER = (
    r"(?!.*\b(?:uses?|used|using|functions?|methods?|returns?|call\w*|default|subclass\w*|tests?|who|when|where"
    r"|why|depend\w*|if|unless|happens?|commits?|defined|declared|number of|types?"
    r"|differences?|than|before|after|ago|was|were)\b)"
)
"""No word of a question for something else than the value of a name."""
_WORDS = r"(?:[\w/-]{1,30} )"
_HEAD = (
    r"(?!(?:purpose|meaning|role|reason|effect|point|class(?:es)?|structs?|files?|lines?|modules?|scope|visibility|signature"
    r"|definition|location|members?|parameters?|arguments?|history|author|parent|base|documentation|of|in|for|with|by|on|at|from|as|about"
    r"|to|elements|entries|name|is|are|does|do) )[\w/-]{1,30} "
)
"""The noun of what a question asks for, which may be the value of a name."""
_HOLDS = (
    r"(?:holds?|contains?|ha(?:ve|s)|gives?|stands?(?: for)?|represents?|refers? to|points? to|equals?|set to"
    r"|specif(?:y|ies)|carr(?:y|ies)|stores?|amounts? to)"
)
_ASKS_NOUN = rf"{_NO_OTHER}(?:what|which) (?:{_WORDS}{{0,5}}{_HEAD})?"
_NAMED_ALONE = (
    # "MAX_SIZE value", "MAX_SIZE - what is it?", "MAX_SIZE is what?", "MAX_SIZE in the reader".
    _rewriting(rf"{_THIS}{_IS_WHAT}", _SET_TO),
    _rewriting(rf"{_THIS} (?:in|inside|of|from) {_PLACE}{_IS_WHAT}?", _SET_IN),
    _rewriting(rf"what (?:does|do) {_THIS} (?:stand|come to|amount to|say|hold)", _SET_TO),
    _rewriting(rf"what(?: is|'s|s) (?:the )?(?P<name>{_OF_LISP})(?: set to)?", _SET_TO),
    _rewriting(rf"(?:what(?: is|'s|s| are)|how many(?: are)?) the {_UNITS} (?:of|in|for) {_THIS}", _SET_TO),
    _rewriting(rf"(?:is|are) {_THIS} {_TRUTH}(?: or {_TRUTH})? by default (?:in|inside|for|of) {_PLACE}", _DEFAULT_IN),
    _rewriting(rf"(?:is|are) {_THIS} {_TRUTH}(?: or {_TRUTH})? {_UNGIVEN}", _DEFAULT_OF),
    _rewriting(rf"{_THIS} by default", _DEFAULT_OF),
    # "What is the line ending constant CRLF_MARK?", "which separator does LIST_SEP hold?", "how long is RETRY_WAIT?".
    _rewriting(
        rf"{_NO_OTHER}(?:what|which)(?: is|'s|s| are) {_WORDS}{{0,6}}{_HEAD}(?:is |are )?(?P<name>{_MARKED})"
        r"(?: constant| variable| macro| setting)?(?: set to| equal to)?",
        _SET_TO,
    ),
    _rewriting(
        rf"{_ASKS_NOUN}(?:does|do|is|are) (?:the )?(?P<name>{_MARKED}) {_HOLDS}",
        _SET_TO,
    ),
    _rewriting(rf"how \w{{1,12}} {_WORDS}{{0,3}}(?:is|are) (?:the )?(?P<name>{_MARKED})(?: set to)?", _SET_TO),
    _rewriting(
        rf"{_ASKS_NOUN}(?:is|are) (?:stored|kept|held|set|hidden|given|behind|in)"
        rf" (?:(?:in|by|as|under|behind|inside) )?(?:the )?(?P<name>{_MARKED})(?: constant| variable| macro| setting)?",
        _SET_TO,
    ),
    _rewriting(rf"{_NO_OTHER}(?:what|which) {_WORDS}{{0,6}}{_HEAD}(?:is|are) (?P<name>{_MARKED})", _SET_TO),
    _rewriting(rf"to (?:what|which value) is {_THIS} set", _SET_TO),
    _rewriting(rf"(?:give me|i need|show me|what(?: is|'s|s)) (?:the value of )?{_THIS}(?:'s value)?", _SET_TO),
    # "What is --port when it's not given?", "if I don't pass --port, what's used?".
    _rewriting(
        rf"what(?: is|'s|s) {_THIS} (?:{_UNGIVEN}|(?:when|if) (?:it|that|one)(?: is|'s|s) (?:not|n't) \w{{1,20}})",
        _DEFAULT_OF,
    ),
    _rewriting(
        r"(?:if|when) (?:i|you|we|they|one|no one) ?(?:don'?t|do not|doesn'?t|never)? (?:set|pass|give|specify|use)s?"
        rf" (?:a )?{_THIS}, ?{_WHAT_IS_USED}",
        _DEFAULT_OF,
    ),
    # "What does get_jobs use for length if I don't pass it?"
    _rewriting(
        rf"what (?:does|do|will) (?:the )?(?P<place>{_NAME})(?: (?:function|method|constructor|class))?"
        rf" (?:use|take|assume|have) (?:for|as) (?:the |its )?(?P<name>{_NAME}){_PARAMETER_NOUN} {_UNGIVEN}",
        _DEFAULT_IN,
    ),
)
"""Ways to ask for the value of a name with few words around it, after all forms that ask for other things."""
_IN_PLACE = (
    r"(?:in|inside|within|of|for|on) (?P<place>(?:the |an? )?(?:`[^`\n]{1,80}`|[\w./:@#*-]{1,80}+)"
    r"(?:(?:'s)?(?: (?:of|in))? [\w./:@#*-]{1,60}+){0,3})"
)
_PLACED = (
    # "What is decimals set to in the returns token?", "what is the default of max in the ref record?".
    _rewriting(
        rf"what (?:is|are|was) (?:the )?(?P<name>{_NAME}){_PARAMETER_NOUN} (?:set|equal|initiali[sz]ed) to {_IN_PLACE}",
        "value",
    ),
    _rewriting(
        rf"what(?: is|'s|s) (?:the )?(?:initial |starting )?value of (?:the )?(?P<name>{_NAME}) {_IN_PLACE}", "value"
    ),
    _rewriting(rf"what(?: is|'s|s) (?:the )?(?P<name>{_MARKED}) {_IN_PLACE}", "value"),
    _rewriting(
        rf"what(?: is|'s|s) (?:the )?default(?: value| setting)? (?:(?:of|for) )?(?:the )?(?P<name>{_NAME})"
        rf"{_PARAMETER_NOUN} {_IN_PLACE}",
        "default",
    ),
    _rewriting(rf"what(?: is|'s|s) (?:the )?(?P<name>{_MARKED}) by default {_IN_PLACE}", "default"),
)
"""Questions for a name in a place of several words; what they ask for is the second part of each."""
_MAX_CHARACTERS = 240


def expand_value_wording(text: str) -> str:
    """Return the usual form of a question for a value or a default; any other question as it is."""
    return _rewrite(text, _REWRITINGS)


def name_value(text: str) -> str:
    """Return the usual form of a question that has little more than a name of code; any other question as it is."""
    bare = _OWNER_OF_PLACE.sub(r"\g<owner>", _LATELY.sub("", text))
    return _rewrite(bare, (*_NAMED_ALONE, *_REWRITINGS))


def name_in_brackets(text: str) -> str:
    """Return the usual form of a question whose value has its name in brackets behind it; empty for another one."""
    match = _BESIDE.match(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None or _OF_OTHERS.search(text) is not None:
        return ""
    is_default = _OF_DEFAULT.search(f"{match['asks']} {match['rest']}") is not None
    return match.expand(_DEFAULT_OF if is_default else _SET_TO)


def _rewrite(text: str, rewritings: Sequence[_Rewriting]) -> str:
    for rewriting in rewritings if len(text) <= _MAX_CHARACTERS else ():
        match = rewriting.pattern.match(text)
        if match is not None:
            # A sign around a name is a part of it: `*mode*`.
            is_marked = re.fullmatch(r"[*:].*", match["name"]) is not None
            usual = rewriting.usual.replace(r"\g<name>", r"`\g<name>`") if is_marked else rewriting.usual
            return match.expand(usual)

    return text


def quote_place(text: str) -> str:
    """Return a question for a name in a place of several words with both in quotation marks; any other as it is."""
    if len(text) > _MAX_CHARACTERS:
        return text

    for rewriting in _PLACED:
        match = rewriting.pattern.match(text)
        if match is not None:
            name, holder = match["name"].strip("`\"'"), match["place"].replace("`", "")
            return f"what is the {rewriting.usual} of `{name}` in `{holder}`"

    return text


_PHRASE = r"(?P<phrase>(?:(?!(?:of|in|for|is|are|the|a|an|to|by|with|on|at)\b)[A-Za-z]{2,24} ){1,3}[A-Za-z]{2,24})"
_PHRASE_PLACE = r"(?: (?:in|of|for) (?:the )?(?P<place>[\w.-]{2,40}(?: [\w.-]{2,40})?))?"
_WHAT_IS = r"(?:what|which)(?: is|'s|s| are) (?:the |our |its )?"
_PHRASES = tuple(
    re.compile(rf"^{text}$", re.IGNORECASE)
    for text in (
        rf"{_WHAT_IS}(?P<noun>name|value|number|length|size) of (?:the )?{_PHRASE}",
        rf"{_WHAT_IS}{_PHRASE}{_PHRASE_PLACE}(?: (?:set to|called|by default))?",
        rf"how (?:long|big|large|wide|high|deep|many|much) (?:is|are) (?:the |our |its )?{_PHRASE}{_PHRASE_PLACE}",
    )
)
_MEASURES = frozenset(["size", "number", "count", "value", "amount", "length", "constant", "setting", "name", "string"])


def read_constant_phrases(text: str) -> tuple[list[list[str]], str]:
    """Return what a constant may be called by the words of a question alone, likeliest first, and the place of it."""
    if len(text) > _MAX_CHARACTERS or re.search(_NO_OTHER, text, re.IGNORECASE) is None:
        return [], ""
    match = next((match for pattern in _PHRASES if (match := pattern.match(text)) is not None), None)
    if match is None:
        return [], ""
    groups = match.groupdict()
    words = [_FULL_WORDS.get(word, word) for word in groups["phrase"].lower().split()]
    noun = (groups.get("noun") or "").lower()
    phrases = [[*words, noun], words] if noun else [words]
    if len(words) > 2 and words[-1] in _MEASURES:
        phrases.append(words[:-1])
    return [phrase for phrase in phrases if len(phrase) > 1], (groups.get("place") or "").lower()


_FULL_WORDS = {"maximum": "max", "minimum": "min", "maximal": "max", "minimal": "min"}
