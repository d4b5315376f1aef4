"""Rewrite wordings of questions for callers and places as the two forms that are read for them.

"Is parse_url used anywhere?" and "List all callers of parse_url" come out as "what calls parse_url", and "Which class
defines parse_url?" as "where is parse_url defined". A plain word is a name only beside a verb of calls: what "uses
authentication" is a question for prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.query.languages import language_of

_KIND = (
    r"(?:functions?|subs?|(?:sub)?routines?|methods?|class(?:es)?|structs?|interfaces?|enums?|traits?|types?|constants?"
    r"|variables?|macros?|modules?|fields?|procedures?|constructors?|commands?|components?|helpers?|predicates?"
    r"|propert(?:y|ies)|attributes?|getters?|setters?|mixins?|hooks?|decorators?|annotations?|exceptions?|errors?|events?"
    r"|protocols?|extensions?|records?|objects?|aliases|alias|locals?|local values?|data sources?|resources?|inputs?"
    r"|modifiers?|contracts?|input variables?|listeners?|handlers?|middlewares?|services?|models?|widgets?|filters?"
    r"|validators?|tasks?|(?:named )?templates?|partials?)"
)
_PART = r"[A-Za-z_$][\w$]*[?!]?(?:(?:\.|::?|->|#)[A-Za-z_$~][\w$]*[?!]?)*(?:\(\))?"
_TICKED = r"`[^`\n]+`"
_WITH_NOUN = r"[A-Z]\w+[ ](?:class|struct|type|enum|interface|trait|module|component)"
_ADDRESS = r"(?:var|local|module|data)\.[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)?"
_MARKED = (
    rf"(?-i:{_ADDRESS}"
    r"|(?=\w*(?:_\w|[a-z\d][A-Z]|[A-Z][A-Z]|\d)|_\w|\w+[?!](?=[ ]|$)|\w+(?:\.|::?|->|#)\w|\w+\(\)"
    rf"|{_WITH_NOUN}){_PART}|[A-Za-z]\w*(?:(?:-+\w+){{2,}}|--\w+)(?:[<>=*+?!]{{1,2}}(?=[ ]|$))?"
    rf"|[A-Za-z]\w*(?:-\w+)*(?:\.\w+(?:-\w+)*)+|[A-Z][a-z]+-[A-Z]\w+|{_TICKED})"
)
"""A name that no word of prose looks like: with an underscore, a capital inside, a sign or a noun behind it.

Also an address of Terraform, a name of Helm's with a dot, a name with two hyphens, and a command of PowerShell.
"""
_ANY = rf"(?:the )?(?:{_KIND} )?(?:called |named )?(?P<name>{_TICKED}|{_PART})(?: {_KIND})?"
_CODE = rf"(?:the |an? )?(?:{_KIND} )?(?:called |named )?(?P<name>{_MARKED})(?: {_KIND})?"
_OWNER = rf"(?:the )?(?:{_KIND} )?(?P<owner>{_TICKED}|(?-i:(?=[A-Z]|\w*_\w){_PART}))(?: {_KIND})?"
_FILE = r"(?:the )?(?:file )?(?P<file>`[^`\n]+`|(?:[\w@.+-]+/)*[\w@+-]+\.[A-Za-z]\w{0,9})"
_CALLING = r"(?:calls?|invokes?|(?:is|are) (?:calling|invoking))"
_USING = (
    r"(?:uses?|(?:(?:is|are) )?using|references?|refers? to|depends? on|relies on|rely on|mentions?|instantiates?"
    r"|creates?|constructs?|calls?(?: into)?|(?:(?:is|are) )?calling|invokes?|makes? use of|making use of|triggers?"
    r"|touches|goes through|pulls in|includes?|renders?|needs?|reads?|consumes?|accesses|handles?|emits?|dispatches"
    r"|registers?)"
)
_CALLED = r"(?:called|invoked)"
_USED = (
    r"(?:used|needed|included|referenced|referred to|instantiated|created|constructed|mentioned|called|invoked"
    r"|registered|hooked up|bound|wired up|attached|subscribed|consumed|rendered|accessed|dispatched|emitted|applied"
    r"|handled|read)"
)
_MADE = r"(?:instantiated|created|constructed|registered)"
_CLASS = rf"(?:the )?(?:{_KIND} )?(?P<name>(?-i:[A-Z][a-z]\w*))(?: {_KIND})?"
_NOUN = (
    r"(?:(?:other |all )*(?:functions?|methods?|procedures?|(?:sub)?routines?|subs|commands?|code|files?|class(?:es)?"
    r"|modules?|lines?|places?|parts?|types?|structs?|objects?|components?|callers?|macros?|packages?|namespaces?|traits?"
    r"|scripts?|handlers?|controllers?|services?|procs?|defs?|fns?|funcs?|iterators?|templates?|closures?|lambdas?"
    r"|extensions?|plugins?|hooks?|views?|widgets?|models?|tasks?|targets?|rules?|jobs?|cmdlets?|helpers?|predicates?"
    r"|contracts?|operators?|blocks?|protocols?|actors?|routes?|endpoints?|builders?|adapters?|programs?|binaries)"
    r"(?: of (?:the )?(?:code|project|code ?base))?)"
)
_EVERYWHERE = (
    r"(?: (?:in|of|inside|within|across|throughout) (?:the |this |our |all )?(?:whole |entire )?"
    r"(?:code ?base|code|project|repo(?:sitory)?|source(?: code)?|charts?))?"
)
_ANYWHERE = r"(?: (?:anywhere(?: else)?|somewhere|at all|directly|by (?:anything|anyone)|from|left|remaining))?"
_NO_TESTS = (
    r"(?:,? (?:outside(?: of)?|except(?: for)?|apart from|besides|other than|beyond|not counting|excluding)"
    r"(?: in)?(?: the| its| our| their)?(?: own)? (?:unit )?tests?(?: files?| suite| code)?)?"
)
"""Tests at the end of a question: answers leave them out anyway, and say so."""
_END = rf"{_ANYWHERE}{_EVERYWHERE}{_NO_TESTS}"
_ADVERBS = (
    r"(?: (?:still|actually|ever|even|also|really|currently|directly|else|ends? up|ultimately|eventually|in the end"
    r"|exactly|anywhere|in practice))*"
)
_ANYTHING = rf"(?:anything|something|any code|anyone|anybody|someone|any other code|any {_NOUN}|other code)"
_PEOPLE = r"(?:we|they|it|you|i|the code|this code)"
_WHO = (
    rf"(?:(?:who|what|(?:which|what|any) {_NOUN}{_EVERYWHERE})(?: all)?|(?:do|does|is|are|will|would|can) {_ANYTHING}"
    rf"|(?:is|are) there (?:{_ANYTHING}|{_NOUN})(?: (?:that|which|who))?)"
)
"""The subject of a question for callers: who, which module, does anything, is there any code that."""
_SOMEWHERE = r"(?:anywhere(?: else)?|somewhere|at all|by (?:anything|anyone|any code|something))"
_WHERE = rf"(?:by whom|(?:from )?where(?: exactly| else| all)?|(?:in|from) (?:which|what) (?:places?|{_NOUN}))"
_LIST = r"(?:(?:list|show|find|give|get|name|are there|is there)(?: me)? )?(?:all |any )?(?:of )?(?:the )?"


def _compile(*forms: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"^{form}$", re.IGNORECASE) for form in forms)


_CALLERS: Sequence[re.Pattern[str]] = _compile(
    rf"where (?:in|inside|within) {_FILE} (?:is|are|do we|does it) {_CODE} {_USED}",
    rf"where (?:in|inside|within) {_FILE} (?:is|are) {_ANY} {_CALLED}",
    rf"{_WHO}{_ADVERBS} {_CALLING} {_ANY}{_END}",
    rf"{_WHO}{_ADVERBS} {_USING} {_CODE}{_END}",
    rf"{_WHERE} (?:do|does|did|can) (?:{_PEOPLE}|{_ANYTHING}){_ADVERBS} {_USING} {_CODE}{_END}",
    rf"{_WHERE}(?: is| are|'s| does| do| gets)? {_CODE}(?: get| gets| being)?{_ADVERBS} {_USED}{_END}",
    rf"(?:is|are|does|do) {_CODE}(?: get| gets| being)?{_ADVERBS} {_USED} {_SOMEWHERE}{_EVERYWHERE}{_NO_TESTS}",
    rf"(?:which|what) {_NOUN} (?:in|of|inside|within) {_FILE} {_CALLING} {_ANY}",
    rf"(?:which|what) {_NOUN} (?:in|of|inside|within) {_FILE} {_USING} {_CODE}",
    rf"(?:which|what) {_NOUN} {_USING} {_CODE} (?:in|inside|within) {_FILE}",
    rf"(?:who|what) {_USING} {_CODE} (?:in|inside|within) {_FILE}",
    rf"(?:is|are) {_ANY} (?:ever |actually |even |still )?{_CALLED}{_END}",
    rf"{_ANY} (?:is|are|gets?) {_CALLED} (?:from )?(?:where|by (?:what|whom))",
    rf"{_CODE} (?:is|are|gets?) {_USED} (?:from |in )?(?:where|by (?:what|whom))",
    rf"{_LIST}(?:callers|call sites?|calls|invocations) (?:of|to|for) {_ANY}{_END}",
    rf"{_LIST}(?:usages?|uses|users|references) (?:of|to|for) {_CODE}{_END}",
    rf"(?:show|tell)(?: me)? where {_ANY} (?:is|gets) {_CALLED}",
    rf"(?:show|tell)(?: me)? where {_CODE} (?:is|gets) {_USED}",
    rf"(?:from|in|by) (?:which|what) {_NOUN} (?:is|are|gets) {_ANY} {_CALLED}(?: from)?",
    rf"(?:who|what|(?:which|what) {_NOUN}) (?:is|are|gets) {_CODE} {_USED} (?:by|from)",
    rf"where (?:is|are|gets|does) {_CLASS} (?:get )?{_MADE}{_EVERYWHERE}",
    rf"(?:where )?(?:is|are) {_CODE} {_USED} (?:anywhere )?(?:in|inside|within) {_FILE}",
    rf"(?:where|what) are (?:all )?(?:the )?(?:places|lines|spots) (?:where|in which) {_ANY} (?:is|gets) {_CALLED}",
    rf"(?:which|what|how many) callers does {_ANY} have",
    rf"how many {_NOUN} {_CALLING} {_CODE}{_END}",
    rf"(?:who|what|(?:which|what) {_NOUN}) {_CALLING} {_ANY} (?:of|on|from) {_OWNER}",
    rf"where (?:is|are) {_ANY} (?:of|on|from) {_OWNER} {_CALLED}",
)
_HOLDER = (
    r"(?:module|class|namespace|package|directory|folder|file|source file|struct|type|object|header|script|trait|crate)"
)
_TEXT = r"(?:definition|implementation|declaration|source code|code|source|body)"
_DEFINED = r"(?:defined|declared|implemented|located)"
_SOURCE = r"(?:the |this )?(?:code ?base|code|project|repo(?:sitory)?|source(?: code)?|tree)"
_PLACES: Sequence[re.Pattern[str]] = _compile(
    rf"in (?:which|what) {_HOLDER} (?:is|are|do i find|can i find) {_CODE}(?: {_DEFINED})?",
    rf"(?:which|what) {_HOLDER} (?:defines|declares) {_CODE}",
    rf"(?:which|what) (?:source )?file (?:contains|has|holds) (?:the )?{_TEXT} (?:of|for) {_CODE}",
    rf"(?:show me |where is |where can i find |where do i find )(?:the )?{_TEXT} (?:of|for) {_CODE}",
    (
        r"(?:on|at|in) (?:which|what) (?:file and )?(?:(?:on )?(?:which|what) )?line "
        rf"(?:is|does) {_CODE} (?:{_DEFINED}|start|begin)"
    ),
    rf"(?:which|what) (?:file and )?line (?:defines|declares) {_CODE}",
    (
        r"where (?:does|do) (?:the |this )?(?:repository|repo|project|code(?: ?base)?|library|package|crate|gem|app) "
        rf"(?:define|declare|implement) {_CODE}"
    ),
    rf"(?:is|are) {_CODE} (?:still |actually |really |even )?(?:defined|declared|implemented){_ANYWHERE}{_EVERYWHERE}",
    rf"where (?:can|could|do|should|would) (?:i|we|one|you) (?:see|look at|read|view|find|look for) {_CODE}",
    rf"where(?:abouts)? (?:in {_SOURCE} )?(?:does|do) {_CODE} (?:live|reside|sit|come from|hide)(?: in)?{_EVERYWHERE}",
    rf"(?:whereabouts|where in {_SOURCE}|where exactly) (?:is|are) {_CODE}(?: {_DEFINED})?{_EVERYWHERE}",
    rf"where(?:abouts)? (?:is|are) {_CODE} (?:written|kept|found|sitting|living|hiding|coded|set up){_EVERYWHERE}",
    rf"(?:which|what) {_HOLDER} (?:is|are) {_CODE} (?:defined |declared |implemented |kept |written )?in",
    rf"(?:in )?(?:which|what) {_HOLDER} (?:does|do) {_CODE} (?:live|reside|sit|belong|come from)(?: (?:in|to))?",
    rf"(?:which|what) {_HOLDER} (?:has|holds|contains|houses|provides|implements|exports|introduces) {_CODE}",
    rf"(?:find|locate|point me to|show me|i(?:'m| am) looking for|looking for) {_CODE}",
)


def expand_caller_wording(words: str) -> str:
    """Return a question for callers or a place in the form that is read for it; other questions unchanged."""
    for pattern in _CALLERS:
        match = pattern.match(words)
        # A file is imported rather than called.
        if match is not None and not (match["name"].islower() and language_of(match["name"])):
            return _ask_for_callers(match)

    match = next((match for match in (pattern.match(words) for pattern in _PLACES) if match is not None), None)
    return words if match is None else f"where is {_quote_name(match['name'])} defined"


def _ask_for_callers(match: re.Match[str]) -> str:
    groups = match.groupdict()
    name, owner, file = match["name"], groups.get("owner"), groups.get("file")
    if owner:
        name = f"{owner.strip('`')}.{name.strip('`')}"
    return f"what calls {_quote_name(name)} in {file}" if file else f"what calls {_quote_name(name)}"


def _quote_name(name: str) -> str:
    """Put a name between backquotes, so that a sign at its end is a part of it."""
    return f"`{name.strip('`').removesuffix('()')}`"
