"""Questions about one name in an order of words that no form has: "RESOLUTION is set to what in src/clock.jl?".

A question is rewritten if it has one name of code (two for a default: a parameter and its owner), at most one path, and
else only words of a closed list for what it asks. Any other word may restrict it or ask for something else, so that it
stays as it is. The name and the path are kept as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = re.compile(
    r"`[^`\s]{2,80}`"
    r"|(?:[A-Za-z_$][\w$]*(?:\.|::|#|->))*(?:\w*_\w+|_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z\d]+[A-Z]\w*|[A-Z]{3,}[A-Z\d]*)(?:\(\))?"
    r"|[A-Za-z_]\w*(?:::|\.)[A-Za-z_]\w*(?:\(\))?"
    r"|[a-z]\w*(?:-\w+){2,}|\*[\w-]+\*"
)
_PATH = re.compile(
    r"`?(?:[\w.@+-]{1,60}/){0,12}[\w.@+-]{1,80}\.[A-Za-z]\w{0,9}`?|(?:[\w.@+-]{1,60}/){1,12}[\w.@+-]{0,80}"
)
_KIND_TEXT = """
    function functions method methods class struct exception error constant variable macro type interface trait enum
    module field property procedure proc template
"""
_KIND = frozenset(_KIND_TEXT.split())
_COMMON_TEXT = """
    a an the is are was be of in for to at on and what what's whats which who where where's wheres how it its this that
    does do did can could would you i i'm we me my our please tell show find give look looking need want know currently
    now moment exact exactly actual actually there here code codebase library source repo repository project file files
    called named name defaults
"""
_COMMON = frozenset(_COMMON_TEXT.split()) | _KIND
_OF_VALUE_TEXT = """
    set value equal equals hold holds contain contains have has assigned initialized initialised defined many much long
    seconds second minutes minute hours hour days milliseconds bytes characters lines string number integer int float
    boolean bool url uri text list regex pattern
"""
_OF_VALUE = frozenset(_OF_VALUE_TEXT.split())
_NO_NAMES = _COMMON | _OF_VALUE
"""Words that may be written as names are: URL."""
_OF_PLACE_TEXT = """
    defined definition declared declaration implemented implementation located live lives living written line lookup
"""
_OF_PLACE = frozenset(_OF_PLACE_TEXT.split())
_USES = frozenset({"use", "uses", "used", "reference", "references"})
_ACTIVE = frozenset({
    "call", "calls", "use", "uses", "invoke", "invokes", "caller", "callers", "reference", "references",
})  # fmt: skip
"""Words before the name of what is called: "what calls open_gate"."""
_PASSIVE = frozenset({"called", "invoked", "used"})
"""Words behind it: "where is open_gate called"."""
_OF_CALLS = _ACTIVE | _PASSIVE | {"by", "from", "get", "gets"}
_OF_DEFAULT_TEXT = """
    default by value if when none nothing no given passed specified provided omitted omit leave out unset left use uses
    used get gets with without argument parameter option setting keyword calling setting's parameter's fallback
"""
_OF_DEFAULT = frozenset(_OF_DEFAULT_TEXT.split())
_ASKS_PLACE = _OF_PLACE | {"where", "find", "file", "files"}
_SAYS_DEFAULT = re.compile(r"\bdefaults?\b|\b(?:none|nothing|not) (?:is )?(?:given|passed|specified|provided|set)\b")
_SAYS_VALUE = re.compile(
    r"\b(?:set|value|equals?|holds?|assigned|initiali[sz]ed)\b|\b(?:which|what|how many|how long)\b"
)
_MAX_CHARACTERS = 200


def order_words(text: str) -> str:
    """Return a question about one name as the form that is read; the question itself if it isn't such a one."""
    tokens = [token.strip(",;:?!") for token in text.split()] if len(text) <= _MAX_CHARACTERS else []
    names, paths, words = _parts_of([token for token in tokens if re.search(r"\w", token) is not None])
    if not 1 <= len(names) <= 2 or len(paths) > 1:
        return text

    within = f" in {paths[0]}" if paths else ""
    lower = " ".join(words)
    if len(names) == 2 or _SAYS_DEFAULT.search(lower) is not None:
        return _as_default(text, tokens, names, words, within)
    (name,) = names
    form = ""
    if _is_within(words, _OF_CALLS) and _calls(tokens, name):
        # Each call is stated with its file, so that a directory restricts nothing that a reader doesn't see.
        return f"what {'uses' if _USES & set(words) else 'calls'} {name}"
    if _is_within(words, _OF_PLACE) and set(words) & _ASKS_PLACE:
        form = f"where is {name} defined"
    elif _is_within(words, _OF_VALUE) and _asks_value(words) and _SAYS_VALUE.search(lower) is not None:
        form = f"what is {name} set to"
    return f"{form}{within}" if form else text


_UNITS = frozenset({"seconds", "minutes", "hours", "days", "milliseconds", "bytes"})


def _asks_value(words: Sequence[str]) -> bool:
    """Return whether words ask for a value: "how many seconds", but not how many lines have a name."""
    if "how" in words and not {"many", "much", "long"} & set(words):
        return False
    return bool(set(words) & (_UNITS if "many" in words else _OF_VALUE))


def _calls(tokens: Sequence[str], name: str) -> bool:
    """Return whether a name is what is called: it follows "calls" or "use", or "called" follows it."""
    index = tokens.index(name)
    before, after = ({token.lower() for token in part} for part in (tokens[:index], tokens[index + 1 :]))
    return bool(before & _ACTIVE or after & (_PASSIVE | {"callers", "references"}))


def _parts_of(tokens: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the names, the paths and the other words of a question, these in lower case."""
    names: list[str] = []
    paths: list[str] = []
    words: list[str] = []
    for index, token in enumerate(tokens):
        following = tokens[index + 1].lower() if index + 1 < len(tokens) else ""
        if token.lower() in _NO_NAMES:
            words.append(token.lower())
            continue
        is_noun = index > 0 and re.fullmatch(r"[A-Z][a-z]+", token) is not None and following in _KIND
        if _PATH.fullmatch(token) is not None and re.search(r"/|\.(?![A-Z])\w{1,5}`?$", token) and "(" not in token:
            paths.append(token)
        elif is_noun or _NAME.fullmatch(token) is not None:
            names.append(token)
        else:
            words.append(token.lower())
    return list(dict.fromkeys(names)), paths, words


def _as_default(text: str, tokens: Sequence[str], names: Sequence[str], words: Sequence[str], within: str) -> str:
    """Return a question for a default, of a parameter of an owner if there are two names."""
    if _SAYS_DEFAULT.search(" ".join(words)) is None or not _is_within(words, _OF_DEFAULT | _OF_VALUE):
        return text
    if len(names) == 1:
        return f"what is the default value of {names[0]}{within}"
    # The word before each; none stands before the first.
    before = ["", *map(str.lower, tokens)]
    owners = [name for name in names if before[tokens.index(name)] in {"for", "of", "in", "does", "do", "calling"}]
    if len(owners) != 1:
        return text
    (parameter,) = (name for name in names if name != owners[0])
    return f"what is the default value of {parameter} in {owners[0]}"


def _is_within(words: Sequence[str], special: frozenset[str]) -> bool:
    return all(word in _COMMON or word in special for word in words)


_NOUN = (
    r"(?:protocol|template|message|service|rpc|record|object|case class|case object|data class|data source|resource"
    r"|output|target|task|proc|procedure|iterator|type ?class|functor|mixin|keyframes?|view|table|trigger|union"
    r"|extension|actor|annotation|alias|typedef|stage|namespace|package|delegate|static|global|import|concept|newtype"
    r"|type alias|routine)"
)
_NAME_IN_CODE = r"(?-i:(?=\w*(?:_\w|[a-z\d][A-Z]|\d)|[A-Z]|_)[A-Za-z_][\w.:]{1,80})"
_NOUN_BEFORE = re.compile(rf"\b(?:(?:the|a|an) )?{_NOUN} (?:called |named )?(?={_NAME_IN_CODE}(?: |$))", re.IGNORECASE)
_NOUN_AFTER = re.compile(
    rf"\b(?:(?:the|a|an) )?(?P<name>{_NAME_IN_CODE}) {_NOUN}"
    r"(?= (?:defined|declared|implemented|located|called|invoked)\b|$)",
    re.IGNORECASE,
)
"""A noun of one language beside a name of code: "the message ResourceMetrics", "the setValue template"."""


def without_noun(text: str) -> str:
    """Return a question without a noun of one language beside its name: "the message ResourceMetrics"."""
    return _NOUN_AFTER.sub(r"\g<name>", _NOUN_BEFORE.sub("", text, count=1), count=1)
