"""Rewrite everyday questions for a person or a date as the forms that they are read by.

"Who came up with the dim flag?" is "who added the dim flag", "when did A become B" is "when was A renamed to B", and
"how old is X" is "when was X added". The subject stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcelight.engines.deepsearch.question.marks import GAP

MAX_CHARACTERS = 300
"""Longer questions stay as they are."""

_WORDS: Mapping[str, str] = {
    "WHEN": r"""
when(?: exactly)?|since when|in (?:which|what) (?:commit|year|month)|how long ago|(?:on|at) (?:which|what) (?:date|day)
""",
    "SINCE": "since (?:when|which commit|what commit)",
    "WHO": r"""
who(?: (?:exactly|originally|first|initially|actually))?
(?:which|what) (?:person|developer|dev|contributor|author|commit|change|pr|pull request|patch)(?: (?:first|originally))?
""",
    "PEOPLE": r"""
we|they|you(?: guys)?|it|this|people|somebody|someone|anyone|anybody|·
(?:the|this|our) (?:whole )?(?:project|repo(?:sitory)?|code ?base|library|lib|tool|app|package|team|people|folks|guys)
(?:the|this|our) (?:whole )?(?:authors?|maintainers?|developers?|devs)
""",
    "PERSON": r"""
one|person|people|developer|dev|author|contributor|committer|guy|human|maintainer|engineer|individual
""",
    "CONTRIBUTED": r"""
came up with(?: the idea (?:of|for))?|thought (?:of|up)|contributed|invented|brought in(?:to being)?|put in
brought (?:us|about)|built(?: in)?|authored|coded(?: up)?|shipped|landed|devised|designed|gave us|originated
conceived|first wrote
(?:is|are|was|were) behind(?: the (?:addition|introduction|idea) of)?|(?:is|was) to (?:thank|blame) for
(?:is|was) responsible for (?:adding|introducing|writing|the (?:addition|introduction) of)
did the (?:work|implementation) (?:for|on|of)|made the (?:change|commit|patch|pr) (?:that|which) added
(?:had|has) the idea (?:of|for|to add)
""",
    "THING": r"""
flag|option|switch|(?:sub-?)?command|chart|module|plugin|middleware|validator|function|method|class|script|file|page|api
helper|adapter|driver|exporter|parser|lexer|formatter|resolver|decoder|encoder|backend|frontend|logo|icon|theme|feature
template|component|widget|endpoint|handler|hook|rule|check|test|linter|workflow|action|provider|macro|operator|type
interface|trait|struct|setting|document|guide|example|dashboard|report|tool|extension|integration|client|wrapper
""",
    "BEGIN": r"""
us(?:e|ing)|support(?:ing)?|ship(?:ping)?|hav(?:e|ing)|provid(?:e|ing)|offer(?:ing)?|includ(?:e|ing)|depend(?:ing)? on
""",
    "GET": r"""
get|gain|add|introduce|adopt|acquire|implement|include|receive|obtain|pick up|bring in|ship(?: with)?|come with|grow
learn(?: (?:to|about))?|put in|(?:start|begin) (?:to )?BEGIN
""",
    "COME": r"""
show(?:ed)? up|appear(?:ed)?|c[ao]me (?:in|along|about|into (?:being|existence|play)|to be)|land(?:ed)?|arriv(?:e|ed)
pop(?:ped)? up|(?:get|got|been|be) (?:added|merged|introduced|created|implemented|in|included|shipped|born)
ma(?:k|d)e (?:it in(?:to (?:the )?\S+)?|its? (?:first )?(?:appearance|debut|way in))|debut(?:ed)?|emerge[ds]?
start(?:ed)? (?:to )?exist(?:ing)?|start being (?:supported|used|available)|enter(?:ed)?
become (?:available|possible|supported)
""",
    "GONE": r"""
removed|deleted|dropped|ditched|scrapped|killed(?: off)?|axed|thrown (?:out|away)|taken out|retired|nuked
""",
    "GO": r"disappear(?:ed)?|vanish(?:ed)?|go|go(?:ne)? away|went away|leave|left|die|(?:get|got|been|be) (?:GONE)",
    "REMOVE": r"""
ditch|scrap|kill(?: off)?|axe|nuke|retire|purge|eliminate|abandon|discontinue|sunset|drop|remove|delete|get rid of
(?:move|get|migrate|come) off(?: of)?
throw (?:out|away)|kick out|strip out|rip out|pull out|take out|cut(?: out)?|toss(?: out)?|dump|chuck(?: out)?|trash|zap
stop (?:using|shipping|having|providing|including|offering)|do away with|part with|move away from|switch away from
""",
    "REMOVED": r"""
ditched|scrapped|killed(?: off)?|axed|nuked|retired|purged|eliminated|abandoned|discontinued|sunset(?:ted)?|got rid of
gotten rid of|threw (?:out|away)|thrown (?:out|away)|kicked out|stripped out|ripped out|pulled out|took out|taken out
cut(?: out)?|tossed(?: out)?|dumped|chucked(?: out)?|trashed|zapped|did away with|done away with
stopped (?:using|shipping|having|providing|including|offering)
""",
    "UNSUPPORT": r"""
stop(?:ped)? supporting|end(?:ed)? support for|quit supporting|cease[ds]? to support|drop(?:ped)? support for
""",
    "DO": r"""
build|handle|read|write|parse|produce|make|create|output|speak|understand|generate|support|export|import|emit|accept
""",
    "TOUCH": r"""
(?:touch|chang|edit|modif|updat|work|tweak|alter|commit|fiddl|mess|revis)\w*(?: (?:on|to|with|in))?
""",
    "MAIN": "main|primary|key|lead|leading|principal|chief|driving|biggest|top|most important",
    "MOST": "(?:the )?(?:most|bulk|majority|lion's share|largest part|biggest part|biggest chunk)",
    "NAMED": r"""
become|became|turn(?:ed)? into|(?:get |got )?(?:renamed|called|changed) (?:in)?to|moved (?:in)?to|start being called
""",
    "TO": "(?:in)?to",
    "RELEASE": "(?:which|what) (?:release|version|tag)",
    "OFFERING": r"""
to (?:have|contain|include|ship(?: with)?|support|get|offer|come with|bring|provide)
that (?:had|has|have|contained|contains|included|includes|shipped|supported|supports|came with)
""",
    "IS": "is|are|was|were|has|have",
}
"""Phrases for the words in capitals of the forms: any of those between bars or on several lines."""
_FORMS_TEXT = """
WHEN (?:did|IS) OLD(?: file)? NAMED (?![`"]?(?:v?-?[0-9]|true\\b|false\\b))NEW => when was OLD renamed to NEW
WHO (?:turned|changed|renamed|moved) OLD(?: file)? TO NEW => WHO renamed OLD to NEW
WHEN did PEOPLE UNSUPPORT X => when was support for X dropped
WHO UNSUPPORT X => WHO dropped support for X
WHEN (?:was|were) support for X (?:REMOVED|GONE|ended|stopped|withdrawn) => when was support for X dropped
WHEN did support for X (?:end|stop|cease|GO) => when was support for X dropped
WHEN did X stop being supported => when was support for X dropped
WHEN did PEOPLE (?:move|switch|migrate|go|change|convert) (?:over )?from X (?:over )?to Y => when was X replaced by Y
WHEN did PEOPLE (?:drop|ditch|swap|trade|exchange|dump) X (?:for|in favou?r of) Y => when was X replaced by Y
WHEN did PEOPLE (?:finally )?REMOVE X => when was X removed
WHO (?:finally )?REMOVED X => WHO removed X
WHO took X (?:off|out of|from) Y => WHO removed X from Y
WHO took X (?:out|away) => WHO removed X
WHEN (?:IS) X (?:been )?(?:finally )?REMOVED => WHEN was X removed
WHEN did X (?:finally )?GO => when was X removed
who (?:IS) (?:the )?MAIN (?:PERSON|driver|brain|force|mind|hand)s? (?:behind|of|for|on|in|working on) X => \
who wrote most of X
(?:who|which PERSON) (?:(?:has|have) )?(?:wrote|written|did|done|authored|coded) MOST \
(?:of(?: the)?(?: (?:code|lines|work) (?:on|in|of|for|to))?|(?:code|lines|work) (?:on|in|of|for|to)) X => \
who wrote most of X
who (?:mostly|mainly|primarily) (?:wrote|authored|coded|built|developed) X => who wrote most of X
by whom (?:was|is) (?:most of )?X (?:mostly |mainly )?(?:written|authored) => who wrote most of X
who (?:was|is) the (?:last|latest|most recent) PERSON (?:to|who|that) (?:have )?TOUCH X => who last changed X
who (?:most recently|recently|last) (?:(?:has|have) )?TOUCH X => who last changed X
who (?:(?:has|have) )?TOUCH X (?:last|most recently|lately)(?: of all)? => who last changed X
when did (?:PEOPLE|anything|something) last TOUCH X => when was X last changed
when did X last (?:change|see (?:a change|any changes|an update)) => when was X last changed
(?:when|how long ago) was the last time (?:(?:that )?(?:PEOPLE|anything|something) )?TOUCH X => when was X last changed
(?:when|how long ago) was the last time (?:that )?X (?:was|got|has been) TOUCH => when was X last changed
how long ago was X (?:last )?TOUCH => when was X last changed
how old (?:is|are) X => when was X added
what is the age of X => when was X added
how long (?:has|have) PEOPLE (?:had|supported|used|shipped|offered|been (?:using|supporting)) X => when was X added
how long (?:has|have) X (?:been (?:around|there|in(?: .*)?|available|supported|part of .*)|existed) => when was X added
how long has there been X => when was X added
SINCE (?:do|does|did|has|have) PEOPLE (?:have|had|support(?:ed)?|used?|offer|ship|include|come with) X => \
when was X added
SINCE (?:IS) there (?:been )?X => when was X added
SINCE (?:IS) X (?:been )?(?:in|there|around|available|supported|possible|part of \\S+|in use) => when was X added
since when (?:can|could|does|do) PEOPLE (?:be able to )?DO X => when was X added
since when (?:can|could|does|do|is|are) (?:PEOPLE (?:be able to )?)?X => when was X added
WHEN (?:IS) FILE (?:split|spun|broken|factored|carved) (?:off|out) => when was FILE added
WHEN did PEOPLE (?:(?:start|begin) using|switch to|move to|upgrade to|go to|get to|adopt) NAME VERSION => \
when was NAME updated to VERSION
WHEN did PEOPLE (?:bump|upgrade|update|raise|move|switch) X to Y => when was X updated to Y
WHEN did PEOPLE (?:(?:first|finally|originally|initially) )?GET X => when was X added
WHEN (?:did|IS) X (?:(?:first|finally|originally|initially) )?COME => WHEN was X added
WHEN did X (?:(?:first|finally) )?COME (?:in|on|for|to|into) Y => WHEN was X added in Y
WHEN did X (?:move|go|migrate) TO Y => WHEN was X moved to Y
WHO (?:was|is) (?:the )?first (?:PERSON )?to (?:mention|use|add|introduce|write|have|need) X => WHO added X
who (?:is|was) (?:mainly|mostly|primarily|chiefly) responsible for X => who wrote most of X
who (?:maintains|owns|develops) most of X => who wrote most of X
WHO CONTRIBUTED X => WHO added X
whose (?:idea|work|doing|contribution|brainchild|baby|fault|code) (?:IS) (?:it to add )?X => who added X
"""
"""A form and its rewriting a line. X and Y stand for subjects, OLD, NEW, NAME and FILE for single words."""
_RELEASE_FORMS_TEXT = """
(?:in )?RELEASE (?:first|originally) (?:had|has|contained|included|shipped(?: with)?|came with|got|supported) X => \
who added X
(?:in )?RELEASE (?:first )?(?:introduced|added|brought(?: in)?) X => who added X
RELEASE (?:was|is) (?:the )?first (?:one )?(?:OFFERING|with) X => who added X
(?:which|what) (?:was|is) the first (?:release|version|tag) (?:OFFERING|with) X => who added X
(?:since|as of|from) RELEASE (?:do we have|(?:is|are) there|does it (?:have|support)|can (?:we|you|i) use) X => \
who added X
(?:since|as of|from) RELEASE (?:IS) X (?:been )?(?:available|supported|there|included|around|in) => who added X
(?:(?:in|with) )?RELEASE (?:was|were) X (?:first )?(?:added|introduced|included|shipped|released|implemented) => \
who added X
(?:(?:in|with) )?RELEASE did X (?:first )?COME => who added X
(?:(?:in|with) )?RELEASE (?:was|were) support for X GONE => who dropped support for X
(?:(?:in|with) )?RELEASE (?:was|were) X GONE => who removed X
(?:(?:in|with) )?RELEASE did X GO => who removed X
RELEASE (?:dropped|ended|removed) support for X => who dropped support for X
RELEASE (?:removed|dropped|deleted|REMOVED) X => who removed X
"""
"""Questions for a release, and those for the commit that it has to contain."""
_SLOTS = {
    "X": r"(?P<x>\S.*?)",
    "Y": r"(?P<y>\S.*?)",
    "OLD": r"(?P<old>\S+)",
    "NEW": r"(?P<new>(?![-+]?\d|[\"'`]|(?:true|false|on|off|yes|no|none|null|nil)\b)\S+|`[^`\s]+`)",
    "NAME": r"(?P<name>\S+)",
    "FILE": r"(?P<file>`?[\w./-]{1,80}\.\w{1,10}`?)",
    "VERSION": r"(?P<version>v?\d[\w.+-]*)",
}
_MADE = (
    "WHO (?:made|did|wrote|created) (?P<x>(?:the(?! (?:most|last|first|fewest))|a|an|that|this|our) .{1,80}\\b"
    "(?:THING)s?(?: (?:for|in|of|on) .{1,60})?) => WHO added X"
)
"""A thing that is made; "who made the parser faster" is about no addition."""


def _compile(form: str) -> tuple[re.Pattern[str], str]:
    """Return the regular expression of a form, and what it is rewritten to."""
    pattern, _, template = form.partition(" => ")
    for _ in range(3):
        # Phrases may have words in capitals, too.
        pattern = re.sub(r"\b[A-Z]+(?=s?\b)", lambda match: _phrases(match[0]), pattern)
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), template


def _phrases(word: str) -> str:
    if word in _SLOTS:
        return _SLOTS[word]
    if word not in _WORDS:
        return word
    alternatives = "|".join(_WORDS[word].strip().split("\n"))
    return f"(?P<{word.lower()}>{alternatives})" if word in {"WHO", "WHEN"} else f"(?:{alternatives})"


_FORMS = tuple(_compile(form) for form in (*_FORMS_TEXT.strip().split("\n"), _MADE))
_RELEASE_FORMS = tuple(_compile(form) for form in _RELEASE_FORMS_TEXT.strip().split("\n"))
_ASKED_AGAIN = re.compile(
    r"(?:,\s*(?:(?:and|&|or)\s+)?|\s+(?:and|&|or)\s+)(?:why|what\s+for|for\s+what\s+reason|how\s+come|(?:by\s+)?whom?|when"
    r"|(?:(?:in|on|at|with|by)\s+)?(?:what|which)\s+(?:day|date|commit|year|month|author|person|pr))"
    r"(?:\s+(?:was|were|did|is|has|have)(?:\s+(?:that|it|this|they|them|the\s+\w+))?(?:\s+(?:been|first))?"
    r"(?:\s+(?:added|done|made|introduced|written|created|committed|removed|dropped|changed|renamed|happen(?:ed)?"
    r"|land(?:ed)?|come\s+(?:in|about)|merged|gone?|appear|show\s+up))?"
    r"|\s+(?:added|did|made|wrote|built|implemented|introduced|created|removed|dropped|changed|committed|renamed)"
    r"(?:\s+(?:it|that|this|them|so))?)?[\s?.!]*$",
    re.IGNORECASE,
)
"""The end of a question that asks for more of the same commit: ", and when was it added"."""
_COMMA_TAIL = re.compile(
    r"\s*,\s*(?:and\s+)?(?:when|by\s+whom|in\s+(?:which|what)\s+commit|who)[\s?.!]*$", re.IGNORECASE
)
_FILLERS = re.compile(
    r"\s+(?:in\s+the\s+first\s+place|for\s+the\s+first\s+time|exactly|actually|in\s+the\s+end|back\s+then|in\s+here"
    r"|(?:to|into|in|from)\s+(?:the|this|our)\s+(?:repo(?:sitory)?|project|code\s?base|code|library|tree|source(?:\s+tree)?)"
    r"|(?:to|from)\s+it)+$",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"^(?:which|what)\s+(?:change|pr|pull\s+request|patch|changeset)(?=\s+(?:\w+ed|made|brought|took|got|broke|taught|let)\b)",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"(?:who|when|since\s+when|(?:in\s+)?(?:which|what)\s+commit|by\s+whom|what\s+(?:is|was)\s+the\s+(?:last|first|latest))\b",
    re.IGNORECASE,
)


_SECOND_PART = re.compile(
    r"(?:,\s*)?\band\s+(?:(?:by\s+)?whom?|when|which\s+(?:author|person|developer))"
    r"(?:\s+(?:was|were|has|have|did))?(?:\s+(?:it|they|them|that|this))?(?:\s+(?:been|first))*\s+(?P<verb>[a-z]+)"
    r"(?:\s+(?:it|them|that|this))?[\s?.!·]*$",
    re.IGNORECASE,
)
"""The other half of a question for a person and a date: "…, and who added it"."""
_SAME_ASKED = re.compile(
    r"(?:,\s*|\s+)(?:and|&)\s+(?:(?:by\s+)?whom?|when|(?:by\s+)?which\s+(?:author|person|developer)"
    r"|(?:in|by|with)\s+(?:which|what)\s+commit|on\s+(?:which|what)\s+(?:date|day))"
    r"(?:\s+(?:was|were|has|have|did))?(?:\s+(?:it|they|them|that|this))?(?:\s+(?:been|first|originally))*"
    r"(?:\s+(?:done|do|did|made|make|wrote|written|write|commit(?:ted)?|author(?:ed)?|land(?:ed)?|happen(?:ed)?))?"
    r"(?:\s+(?:it|them|that|this|so|(?:the|this|that)\s+(?:commit|change)))?[\s?.!·]*$",
    re.IGNORECASE,
)
"""The end of a question for an event that asks nothing new: a commit has a person and a date."""


def without_second_part(text: str) -> str:
    """Return a question for a person or a date without an end that asks for the other: ", and who wrote it"."""
    second = _SECOND_PART.search(text)
    if second is None or second["verb"].lower().removesuffix("ed") not in text[: second.start()].lower():
        second = _SAME_ASKED.search(text)
    return text if second is None else f"{text[: second.start()]}{GAP}"


def expand_event_wording(text: str) -> str:
    """Return a question for a person or a date in the words of a form; other questions stay as they are."""
    if len(text) > MAX_CHARACTERS:
        return text

    words = _CHANGE.sub("which commit", text.strip().rstrip(" ?.!"))
    # Two of them at most: ", who wrote it, when".
    shorter = _COMMA_TAIL.sub("", _ASKED_AGAIN.sub("", _ASKED_AGAIN.sub("", words)))
    shorter = _FILLERS.sub("", shorter).strip(f" ,{GAP}")
    if len(shorter.split()) < 2:
        return text

    for pattern, template in _FORMS:
        match = pattern.fullmatch(shorter)
        if match is not None:
            return _rewrite(match, template)

    return shorter if shorter != text.strip().rstrip(" ?.!") and _EVENT.match(shorter) is not None else text


def event_of_release(text: str) -> str:
    """Return the question for the commit that a question for a release is about; empty for other questions."""
    if len(text) > MAX_CHARACTERS:
        return ""
    words = _FILLERS.sub("", text.strip().rstrip(" ?.!")).strip(f" ,{GAP}")
    for pattern, template in _RELEASE_FORMS:
        match = pattern.fullmatch(words)
        if match is not None:
            return _rewrite(match, template)
    return ""


def _rewrite(match: re.Match[str], template: str) -> str:
    """Return a template with the parts of a match; a date is asked for by "when"."""
    parts = {name: value for name, value in match.groupdict().items() if value is not None}
    when = parts.get("when", "")
    if when and re.match(r"(?:in|on|at)\b", when, re.IGNORECASE) is None:
        parts["when"] = "when"
    return " ".join(re.sub(r"\b[A-Z]+\b", lambda word: parts.get(word[0].lower(), word[0]), template).split())
