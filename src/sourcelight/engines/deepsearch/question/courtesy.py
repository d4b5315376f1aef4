"""Remove what surrounds a question: greetings, polite openings, remarks about who asks, thanks.

"Hey, I was wondering whether you could tell me when stack.yaml was added, thanks!" asks "when was stack.yaml
added". The words that remain are those of the question, in the order of a direct one. Quoted texts stay as they are.
"""

from __future__ import annotations

import re

MAX_CHARACTERS = 1_000
"""Longer questions hold listings or messages of errors, and stay as they are."""

_MAX_ROUNDS = 8
"""Openings and remarks of one question that are removed."""


def _any_of(phrases: str, **words: str) -> str:
    """Return a regular expression of any of some phrases, one a line; `words` replace words in capitals in them."""
    alternatives = "|".join(phrases.split("\n")[1:-1]).replace(" ", r"\s+")
    for word, pattern in words.items():
        alternatives = alternatives.replace(word, pattern)
    return f"(?:{alternatives})"


_QUESTION_WORD = (
    r"(?:who(?:se|m)?|when|where(?:abouts)?|which|what|why|how|since\s+when|(?:in|at|on|by|from|to|under)\s+(?:which|what"
    r"|whom))"
)
_AUXILIARY = (
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|must|isn't|aren't|wasn't|weren't"
    r"|doesn't|don't|didn't|hasn't|haven't|can't)"
)
_START = rf"(?:{_QUESTION_WORD}|{_AUXILIARY}|list|show|name|count|find|give|explain|describe|summari[sz]e|if|whether)\b"
_STOP = r"(?:\s*[,:;.!\u2026\u2013\u2014]+\s*|\s+-+\s+)"
"""Signs behind an opening that is a sentence, or a part of one."""

_GREETINGS = _any_of(r"""
(?:hi|hey|hello|hiya|howdy|yo|greetings)(?: (?:there|all|everyone|everybody|folks|team|again|guys|you))?
good (?:morning|afternoon|evening|day)(?: (?:all|everyone|folks|team))?
(?:(?:a|just a|one|here's a|i have a) )?(?:quick|small|short|simple|silly|stupid|dumb|random|last) (?:one|question)
question(?: for you)?
ok(?:ay)?
well
um+
uh+
hmm+
oh
ah
alright
anyway
btw
by the way
excuse me
sorry(?: (?:to bother|to ask|for|if)\b[^,:;.?!]{0,60})?
fyi
for the record
(?:just )?out of (?:pure |sheer )?curiosity
just (?:curious|wondering|checking)
curious
for my (?:own )?(?:information|understanding|curiosity)
""")
_YOU = r"(?:you|someone|somebody|anyone|anybody)"
_TELL = _any_of(r"""
tell(?: me| us)?
say
show me
let me know
check(?: for me)?
remind me
find out(?: for me)?
help me (?:to )?(?:find(?: out)?|figure out|understand|see|work out)
look up
point out
clarify
confirm
""")
_KNOW = (
    r"(?:know|find\s+out|figure\s+out|understand|learn|see|work\s+out|check|remember|recall|tell|determine|confirm"
    r"|ask(?:\s+you)?)"
)
_OPENINGS = _any_of(r"""
(?:can|could|would|will|might) YOU (?:(?:maybe|possibly|perhaps|please|kindly|quickly|be so kind (?:as )?to) )*TELL
(?:do|does|would) (?:YOU|we)(?: guys| all)? (?:(?:happen to|by any chance|perhaps|maybe) )?(?:know|remember|recall)
(?:do|does|would) (?:YOU|we)(?: guys| all)? have (?:any|an) idea
(?:is there )?any(?:one|body)? (?:idea|clue|knows?|chance (?:you|anyone|someone) (?:know|knows|remembers?))
any chance YOU (?:could|can) tell me
(?:i (?:was|am|have been)|i'm|i've been|we're|was|just) (?:(?:just|still|also) )*(?:wondering|curious(?: to know)?)
i (?:(?:just|really|also|do) )?wonder
(?:i|we) (?:(?:would|do|really|just|also|still) )*(?:like|love|want|need|have|wanted) to (?:just )?KNOW
(?:i|we)'d (?:(?:just|really) )*(?:like|love) to (?:just )?KNOW
(?:(?:i'm|i am|we're|we are|i was) )?(?:(?:just|still) )?(?:trying|looking|hoping|need|want) to (?:just )?KNOW
i (?:can't|cannot|can not|couldn't|don't|do not|didn't) (?:(?:seem to|quite|really) )*KNOW
(?:i )?(?:forgot|forget)
(?:i'm |i am )?not (?:(?:quite|entirely|really) )?sure
(?:what|the thing) (?:i|we)(?:'d| would)? (?:like|want|need) to know is
(?:the|my) question is
tell (?:me|us)
remind me
let me know
help me find(?: out)?
show me
""", YOU=_YOU, TELL=_TELL, KNOW=_KNOW)  # fmt: skip
_COULD_TELL = (
    rf"(?:\s+(?:if|whether)\s+(?:{_YOU}|we)\s+(?:could|can|would|might|knows?|happen(?:s|ed)?\s+to\s+know)"
    rf"(?:\s+(?:please|maybe|perhaps))?(?:\s+{_TELL})?)?"
)
_GREETING = re.compile(rf"^{_GREETINGS}(?:{_STOP}|\s+(?=(?:please|{_START}|i\s|i'|any\s|so\s)))", re.IGNORECASE)
_OPENING = re.compile(
    rf"^(?:(?:please|pls|plz|kindly)[\s,]+)?{_OPENINGS}{_COULD_TELL}(?:\s+(?:exactly|please|pls))?"
    rf"(?:{_STOP}|\s+)",
    re.IGNORECASE,
)
_PLEASE = re.compile(
    rf"^(?:(?:please|pls|plz|kindly)[\s,:]+|(?:can|could|would|will)\s+{_YOU}\s+(?:please\s+|kindly\s+)?"
    r"(?=(?:list|name|count|give|find|explain|describe|summari[sz]e)\b))",
    re.IGNORECASE,
)
_DOING = (
    r"(?:(?:just|still|currently|also)\s+)*(?:writing|preparing|drafting|updating|reviewing|researching|compiling"
    r"|collecting|working|putting|asking|new|trying|doing|building|making|creating|debugging|investigating|documenting"
    r"|porting|migrating|upgrading|planning|evaluating|comparing|auditing|learning|studying|onboarding|lost|stuck"
    r"|confused|interested|wondering|curious|supposed|looking|thinking|giving|filling|triaging|hoping|not\s+sure)\b"
)
_ABOUT_ASKER = _any_of(r"""
(?:i'm|i am|i was|i've been|we're|we are|we've been) DOING
(?:i|we) (?:need|want|have|had|would like) (?:it|this|that|to)\b
(?:i|we)'(?:ll|d) (?:need|like|love|have|use) (?:it|this|that|to)\b
i (?:couldn't|can't|cannot|could not) find
i (?:forgot|forget)\b
my (?:boss|team|colleague|manager|company|friend) (?:wants|needs|asked|asks|is)\b
""", DOING=_DOING)  # fmt: skip
_CONTEXT = re.compile(
    rf"^(?:{_ABOUT_ASKER}|(?:for|as\s+part\s+of)\s+(?:a|an|my|our|the)\b|context:|background:)"
    r"(?:[^.?!:;`\"\u201c\n\u2013\u2014]|[.:](?=\S)){1,160}?"
    rf"(?:[.!:;\u2013\u2014]+\s+|\s-+\s|,\s+(?:so\s+|and\s+)?(?={_START})"
    r"|,?\s+and\s+(?=i\s|i'|was\s+wondering))",
    re.IGNORECASE,
)
"""A remark about the one who asks, before the question."""

_PURPOSES = (
    r"(?:guide|talk|post|article|report|audit|docs?|documentation|notes|presentation|ticket|review|changelog|summary"
    r"|slides?|migration|upgrade|paper|thesis|wiki|newsletter|comparison|research)"
)
_REMARKS = _any_of(r"""
ASKER
i ask
(?:it's|this is|that's) for
asking (?:for|because|as)
needed? (?:it |this )?for
for (?:a|an|my|our|the) (?:[\w-]+ ){0,3}PURPOSES
just (?:curious|wondering|checking|asking|out of)
out of curiosity
(?:many )?thanks
thank you
thx|tnx|ty|tia|cheers
please|pls|plz|kindly
by the way
btw|fyi
if possible
if you (?:can|could|know|don't|may|might|happen|remember|mind)
if (?:anyone (?:knows|can)|(?:that's|it's) (?:ok|okay|possible))
do you know
does any(?:one|body) know
any (?:ideas?|clues?|hints?|pointers?|help)
(?:can|could) you (?:tell|help|check)
(?:it |that )?would be (?:great|nice|good|helpful)
(?:much )?appreciated?
no rush
asap
let me know
sorry
(?:couldn't|can't) find
not sure
""", ASKER=_ABOUT_ASKER, PURPOSES=_PURPOSES)  # fmt: skip
_TAIL = re.compile(
    r"(?P<before>[,;.?!\u2013\u2014]|\s-+)\s*"
    rf"(?P<remark>(?:(?:and|as|because|since|but|so)\s+)?{_REMARKS}\b[^`\"\u201c\u201d]{{0,200}})$",
    re.IGNORECASE,
)
"""A remark behind the question, which a sign separates from it."""
_THANKS = (
    r"(?:please|pls|plz|thx|cheers|btw|by\s+the\s+way|do\s+you\s+know|by\s+any\s+chance|if\s+you\s+know"
    r"|thanks(?:\s+(?:a\s+lot|in\s+advance|so\s+much|a\s+bunch))?|thank\s+you(?:\s+(?:very|so)\s+much)?)"
)
_PLAIN_TAIL = re.compile(rf"(?:[,;]?\s+{_THANKS})+[\s!.]*(?=\s*\?*$)", re.IGNORECASE)
_IN_BRACKETS = re.compile(
    r"\s*\((?:i'm|i\s+am|i\s+need|we're|for\s+(?:a|my|our)|asking|just|it's\s+for)\b[^()`\"]{0,160}\)(?=\s*[?.!]*$)",
    re.IGNORECASE,
)

_VERB = r"(?:is|are|was|were|has|have|had|can|could|will|should|must)"
_SUBJECT = rf"(?P<subject>(?!(?:{_AUXILIARY})\b)(?:(?!(?:that|which|who|whose|{_VERB})\b)\S+\s+){{1,9}}?)"
_INDIRECT = re.compile(
    r"^(?P<ask>(?:where(?:abouts)?|when|why|since\s+when|how(?:\s+(?:old|long|often|big|far)|(?!\s+(?:many|much|\w+ly)\b))|in\s+(?:which|what)\s+\w+"
    rf"|what(?=\s+(?:the|an?|its?|this|that|they|your|our|\S+'s)\s)))\s+{_SUBJECT}(?P<verb>{_VERB})\b(?!['\u2019])(?P<rest>[\s\S]*)$",
    re.IGNORECASE,
)
"""An indirect question, whose verb follows its subject: "when stack.yaml was added"."""
_INDIRECT_COUNT = re.compile(r"^(?P<ask>how\s+many\s+(?:\S+\s+){1,6}?)there\s+(?P<verb>is|are|were)\b", re.IGNORECASE)
_WHETHER = re.compile(
    rf"^(?:if|whether)(?:\s+or\s+not)?\s+{_SUBJECT}(?P<verb>{_VERB})\s+(?P<rest>[\s\S]+)$", re.IGNORECASE
)
_PRESENT = (
    r"(?:uses|supports|needs|requires|depends|imports|works|has|contains|comes|runs|ships|exports|provides|includes|lists"
    r"|defines|handles|allows)"
)
_WHETHER_VERB = re.compile(
    rf"^(?:if|whether)(?:\s+or\s+not)?\s+(?P<subject>the\s+\w+(?:\s+\w+)?|[\w.-]+)\s+(?P<verb>{_PRESENT})\s+(?P<rest>[\s\S]+)$",
    re.IGNORECASE,
)
_LIVES = re.compile(
    rf"^(?P<ask>where|how(?!\s+(?:many|much|long|old|often|big|far)\b)|(?:which|what)\s+\w+(?=\s+(?:it|this|that|the)\s))\s+{_SUBJECT}(?P<verb>listens|lives|sits|resides|goes|comes|gets|does|{_PRESENT[3:-1]})\b(?P<rest>[\s\S]*)$",
    re.IGNORECASE,
)
_NOUN = re.compile(r"^(?:the|its|your|our)\s+(?!(?:question|issue|problem)\b)", re.IGNORECASE)
_TYPESET = re.compile(r"(?<=\w)[\u2019\u02bc](?=\w)")
_CONTRACTIONS = {
    "whats": "what is", "what's": "what is", "wheres": "where is", "where's": "where is", "whos": "who is",
    "who's": "who is", "hows": "how is", "how's": "how is", "whens": "when is", "when's": "when is",
    "which's": "which is", "why's": "why is", "what're": "what are", "where're": "where are", "who're": "who are",
    "who'd": "who had", "who've": "who have", "when'd": "when did", "where'd": "where did", "how'd": "how did",
    "why'd": "why did", "isnt": "is", "isn't": "is", "arent": "are", "aren't": "are", "doesnt": "does",
    "doesn't": "does", "dont": "do", "don't": "do", "didnt": "did", "didn't": "did", "hasnt": "has", "hasn't": "has",
    "wasnt": "was", "wasn't": "was", "werent": "were", "weren't": "were", "cant": "can", "can't": "can",
    "haven't": "have", "havent": "have", "there's": "there is", "theres": "there is",
}  # fmt: skip
"""Contractions that begin a question. A negation asks the same: "isn't x on by default" is "is x on by default"."""
_CONTRACTION = re.compile(
    rf"^({'|'.join(sorted(map(re.escape, _CONTRACTIONS), key=len, reverse=True))})(?=\s)", re.IGNORECASE
)
_HAS_DONE = re.compile(
    r"^who is\s+(?=(?:been|written|made|done|contributed|touched|changed|worked|committed|added|got|had)\b(?!\s+by\b))",
    re.IGNORECASE,
)
_JOINT = re.compile(r"^(?:so|but|and|also|exactly),?\s+(?=\w)", re.IGNORECASE)
_ASKS = re.compile(
    rf"\W*(?:{_START}|(?:so|and|but|also|exactly|the|there|default|value|minimum|maximum|max|min|number|version|definition"
    r"|callers?|usages?|parameters|arguments|latest|newest|first|last|dependencies)\b"
    rf"|(?:in|for|with|on|at|of)\s+(?:\S+\s+){{0,4}}\S+,\s+{_START})",
    re.IGNORECASE,
)

_WHEREABOUTS = re.compile(r"^whereabouts\b", re.IGNORECASE)


def bare_question(text: str) -> str:
    """Return a question without greetings, polite words and remarks, in the order of a direct question.

    Apostrophes are straight, and a contraction at its start is written out. A text without a question in it, or one
    that is too long for a question, stays as it is.
    """
    if len(text) > MAX_CHARACTERS:
        return text

    bare = _without_remarks(_TYPESET.sub("'", text).strip())
    bare, is_indirect = _without_openings(bare)
    if is_indirect:
        bare = _as_direct(bare)

    bare = _CONTRACTION.sub(lambda match: _CONTRACTIONS[match[1].lower()], bare)
    bare = _HAS_DONE.sub("who has ", bare)
    bare = _WHEREABOUTS.sub("where", bare)
    return bare if re.search(r"\w", bare) is not None else text


def _without_openings(text: str) -> tuple[str, bool]:
    """Return a text without its openings, and whether one of them makes the rest an indirect question."""
    is_indirect = False
    for _ in range(_MAX_ROUNDS):
        opening = _OPENING.match(text)
        match = opening or _GREETING.match(text) or _CONTEXT.match(text) or _PLEASE.match(text)
        is_sentence = match is not None and re.search(r"\w\s*$", match[0]) is None
        if match is None or not (is_sentence or _asks(text[match.end() :])):
            break
        is_indirect = is_indirect or (match is opening and not is_sentence)
        text = _JOINT.sub("", text[match.end() :].lstrip())

    return text, is_indirect


def _asks(text: str) -> bool:
    """Return whether a text begins as a question does, or as its opening."""
    patterns = (_ASKS, _CONTRACTION, _OPENING, _GREETING, _PLEASE, _CONTEXT)
    return any(pattern.match(text) is not None for pattern in patterns)


def _without_remarks(text: str) -> str:
    """Return a text without thanks and remarks behind the question."""
    for _ in range(_MAX_ROUNDS):
        shorter = _PLAIN_TAIL.sub("", _IN_BRACKETS.sub("", text))
        tail = _TAIL.search(shorter)
        if tail is not None and _may_end(shorter[: tail.start()]):
            sign = "?" if tail["before"] == "?" else ""
            shorter = f"{shorter[: tail.start()].rstrip()}{sign}"
        if shorter == text or re.search(r"\w", shorter) is None:
            break
        text = shorter

    return text


def _may_end(text: str) -> bool:
    """Return whether a question may end here: outside of quotation marks, and behind some words."""
    is_open = any(text.count(sign) % 2 for sign in '`"') or text.count("\u201c") > text.count("\u201d")
    return not is_open and len(text.split()) > 1


def _as_direct(text: str) -> str:
    """Return an indirect question in the order of a direct one."""
    if (match := _INDIRECT_COUNT.match(text)) is not None:
        return f"{match['ask']}{match['verb']} there{text[match.end() :]}"
    if (match := _WHETHER.match(text)) is not None:
        return f"{match['verb']} {match['subject']}{match['rest']}"
    if (match := _WHETHER_VERB.match(text)) is not None:
        return f"does {match['subject']} {_base_form(match['verb'])} {match['rest']}"
    if (match := _INDIRECT.match(text)) is not None:
        return f"{match['ask']} {match['verb']} {match['subject'].strip()}{match['rest']}"
    if (match := _LIVES.match(text)) is not None:
        return f"{match['ask']} does {match['subject']}{_base_form(match['verb'])}{match['rest']}"
    return f"what is {text}" if _NOUN.match(text) is not None else text


def _base_form(verb: str) -> str:
    """Return the form of a verb behind "does"."""
    verb = verb.lower()
    return {"has": "have", "does": "do", "goes": "go"}.get(verb, verb.removesuffix("s"))
