"""Read a question for a value: its content words, the kind of value, and whether it is a default."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sourcelight.engines.deepsearch.lookups.prose_values.question import FRAME, VERBS, split_names
from sourcelight.engines.deepsearch.lookups.value_lines.wording import (
    asks_for_default,
    is_of_another_kind,
    normalize,
    setting_words,
    split_clauses,
    verbs_of,
    without_default,
)
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of, stem

_MAX_CHARACTERS, _MAX_WORDS, _MIN_TOKENS = 260, 9, 2
_PREPOSITION = (
    r"(?:(?:at|on|in|with|from|to|for|of|under|above|below|beyond|over|after|by|up to|down to|against|through)\s+)?"
)
_ARTICLES = r"(?:(?:the|a|an|its|our|your|their|this|exact|actual|current|precise)\s+)*"
_MEASURED = re.compile(
    rf"\W*(?:and |so )?{_PREPOSITION}(?P<form>how\s+(?:long|often|frequently|soon|old|late|many|much|big|large"
    rf"|small|wide|high|tall"
    r"|deep|deeply|far|fast|loud|strict|thick|quickly))\b(?P<rest>.*)",
    re.IGNORECASE,
)
_THING = re.compile(rf"\W*(?:and |so )?{_PREPOSITION}(?P<form>what|which|whats)\b(?P<rest>.*)", re.IGNORECASE)
_TRUTH = re.compile(r"\W*(?:and |so )?(?:is|are|does|do|will|has|have|can)\b(?P<rest>.*)", re.IGNORECASE)
_MANNER = re.compile(r"\W*(?:and |so )?how\s+(?:is|are|does|do|will)\b(?P<rest>.*)", re.IGNORECASE)
_NOUN_PHRASE = re.compile(
    rf"\W*{_ARTICLES}(?=.{{0,60}}\b(?:default|value|initial|maximum|minimum|max|min)\b)(?!.*\b(?:is|are|does|do"
    rf"|did|was)\b)(?P<rest>\S.*)",
    re.IGNORECASE,
)
_ON_OR_OFF = re.compile(
    r"\b(?:on or off|off or on|enabled or disabled|disabled or enabled|true or false|false or true|yes or no"
    r"|(?:turned |switched )?on by default|(?:turned |switched )?off by default)\b",
    re.IGNORECASE,
)
_ASKED_NOUN = re.compile(
    rf"\s*(?:['\u2019]s|is|are|was|were)?\s*{_ARTICLES}"
    r"(?P<noun>.*?)(?=\s+(?:of|for|in|on|to|at|by|when|if|does|do|did|is|are|was|has|have|can|may|will|must"
    r"|should|that|with"
    r"|from|per|between|before|after|set|used|gets?|inside|within|a|an|the|we|you|i|it|one|uses?|applies|counts?"
    r"|marks?"
    r"|separates?|starts?|ends?|begins?|limits?|goes|comes|belongs?)\b|\s*[?.,(]|\s*$)",
    re.IGNORECASE,
)
_LIMITING = re.compile(
    r"\b(?:at most|at least|max\w*|min\w*|limit|allowed|permitted|tolerated?|before|up to|per|each|every|single|one"
    r"|at a time|at once|wide|deep|high|long|tall|apart|concurrent\w*|parallel)\b",
    re.IGNORECASE,
)
"""Words of a question for a limit; without them, "how many" counts things."""
_BOUNDS = (
    ("min", re.compile(r"\b(?:min(?:imum|imal(?:ly)?)?|at least|smallest|shortest|lowest|fewest)\b", re.IGNORECASE)),
    ("max", re.compile(r"\b(?:max(?:imum|imal(?:ly)?)?|at most|largest|biggest|longest|highest)\b", re.IGNORECASE)),
)
_AT_ONCE = re.compile(
    r"\b(?:at once|at a time|at the same time|simultaneously|in parallel|concurrently)\b", re.IGNORECASE
)
_OF_PROJECT = re.compile(r"\b(?:function|method|file|class|project|repo\w*|module)\b", re.IGNORECASE)
_OF_UNITS = re.compile(
    r"\W*(?:which|what)\s+(?:(?!is\b|are\b)[\w-]+\s+){0,2}(?:modules?|files?|functions?|methods?|classes|class|packages?|crates?"
    r"|gems?|tests?|tasks?|scripts?|components?|places?|parts?|lines?)\b",
    re.IGNORECASE,
)
"""A question for units of code, which are no values."""
_OF_TIME = re.compile(r"\s+(?:\w+\s+)?(?:seconds|minutes|hours|days|ms|milliseconds|time)\b", re.IGNORECASE)
_OF_THING = re.compile(r"\s+(?:is|are)\s+(?!it\b|they\b)\w", re.IGNORECASE)
_TIME_WORDS_TEXT = """
timeout duration delay interval ttl age period expiry expires expire lifetime lifespan wait deadline latency retention
seconds secs ms millis milliseconds minutes hours days time grace backoff keepalive sleep poll every debounce throttle
"""
TIME_WORDS = frozenset(_TIME_WORDS_TEXT.split())
"""Parts of names that say how long or how often something happens."""
_SIZE_WORDS_TEXT = """
size length limit capacity bytes max len maximum width height columns cols rows depth level levels nesting distance
radius count num number total n amount min minimum rate speed threshold factor concurrency parallelism
"""
SIZE_WORDS = frozenset(_SIZE_WORDS_TEXT.split())
_TIMES_TEXT = "time timeout duration delay interval ttl age period expiry lifetime deadline retention"
_NUMBERS_TEXT = """
size count limit depth threshold ratio percentage factor width height length radius capacity number concurrency
parallelism rate
"""
_LIMIT = re.compile(r"\b(?:limit\b(?!\s+of\s+time)|max(?:imum)? (?:number|amount|count)\b)", re.IGNORECASE)
_OF_LIMIT = frozenset({"max", "maximum", "limit", "cap", "most"})
_GENERIC_TEXT = """
server servers app service daemon process client ui gui tui user users system items things entries elements results
records objects names cases macro string text literal code
"""
_GENERIC = frozenset([*_GENERIC_TEXT.split(), "window", "pane", "panel", "sidebar", "requests"])
_DIMENSION_NAMES = {"wide": "width", "tall": "height", "high": "height"}
"""Words for what anything is, or belongs to, in the code of one program."""
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(_TIMES_TEXT.split(), "time"), **dict.fromkeys(_NUMBERS_TEXT.split(), "number"), "port": "port",
}  # fmt: skip
_EMPTY_HEAD_TEXT = """
value values string default defaults setting settings option options kind sort type number amount name thing flag
parameter argument constant variable field key initial actual maximum minimum max min limit
"""
_EMPTY_HEAD = frozenset(_EMPTY_HEAD_TEXT.split())
_LIGHT_TEXT = """
keep keeps kept hold holds assume assumes assumed pick picks picked choose chosen send sends sent receive accept accepts
expect expects listen listens bind binds live lives last lasts stay stays wait waits remain remains try tries tried go
goes come comes turn turned switch switched ship ships shipped leave leaves left open opens look looks looked print
prints printed perform performs performed fall falls back treat treats treated consider considered counts counted
get gets getting got find finds found put puts become becomes happen let lets see seen add adds write writes read reads
return returns returned end ends mean means meant enabled disabled enforce enforced force forced apply applied appear
appears shown displayed listed straight fresh install installation ordinarily normally stock factory preset built
fallback currently exactly
existing
available respective own whole single several certain various yet anyway really usually typically automatically
unasked explicit explicitly default defaults defaulted pass passed passing given giving set setting said told say
stands represents represent denotes stop stops stopped begin begins began roughly approximately ideally actually
specify specified omitted provided supplied configured customised customized overridden override choose chose
how which what is are does do at on off in out box new newly use used uses using isn doesn don wasn aren hasn didn one
cli terminal plain simple regular ordinary normal tool app application program project codebase repo repository code
"""
_LIGHT = frozenset(_LIGHT_TEXT.split())
"""Words of a question that say nothing of what the value is, beside those of the frame."""
_CODE = re.compile(
    r"`(?P<quoted>[^`\n]{1,80})`|(?<![\w/.-])(?P<flag>--?[a-zA-Z][\w-]*)"
    r"|(?P<name>[@$]?[A-Za-z_][\w$]*(?:(?:\.|::?|->|\#)[A-Za-z_][\w$]*)*(?:\(\))?)"
)
_MARKED = re.compile(r"_\w|[a-z\d][A-Z]|[A-Z]{2}[a-z]|\w\.\w|:|->|\#|\(\)|[@$]|^[A-Z][A-Z\d]*_[A-Z\d_]+$")
_MEASURES = {
    "long": TIME_WORDS, "often": TIME_WORDS, "frequently": TIME_WORDS, "soon": TIME_WORDS, "old": TIME_WORDS,
    "late": TIME_WORDS, "quickly": TIME_WORDS, "fast": TIME_WORDS | SIZE_WORDS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ValueRequest:
    """A question for a value that words describe.

    Attributes
    ----------
    words
        Content words, lower case: one line and what belongs to it must have all of them.
    optional
        Verbs and nouns of the form of the question, which a name may have, too.
    names
        Names of code, and options such as ``--port``, without their dashes.
    head
        Words of the requested thing: the name, the key or the texts of the line itself must have one.
    nouns
        Parts of names that fit what is measured, such as ``timeout`` for "how long".
    kind
        ``truth``, ``number``, ``time``, ``port`` or ``thing``.
    is_default
        Whether it asks for what holds if nothing is set.
    mentioned
        Words of the question that are those of the searched repositories' names.
    setting
        Words for what isn't given: ``size`` of "when no size is passed".
    repository_words
        Words of the names of the searched repositories.
    conditions
        Content words behind the names, which say where or when a value is meant: "on Windows".
    verbs
        Words that say what something does: if a line that may be meant has one, another line isn't meant.
    measure
        The adjective of "how long" or "how wide"; empty for another question.
    bound
        ``max`` or ``min`` for a question for a greatest or least value, else empty.
    """

    words: tuple[str, ...]
    optional: tuple[str, ...]
    names: tuple[str, ...]
    head: frozenset[str]
    nouns: frozenset[str]
    kind: str
    is_default: bool
    mentioned: frozenset[str]
    setting: frozenset[str] = frozenset()
    repository_words: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    measure: str = ""
    bound: str = ""


def read_request(text: str, repository_names: Collection[str] = ()) -> ValueRequest | None:
    """Read a question; None if it asks for no value.

    Parameters
    ----------
    text
        The question.
    repository_names
        Names of the searched repositories, whose words every line may have.
    """
    text = normalize(text)
    if len(text) > _MAX_CHARACTERS:
        return None

    bare, clause = split_clauses(text)
    is_default = asks_for_default(bare, clause)
    is_of_unit = not is_default and _OF_UNITS.match(bare) is not None
    if is_of_another_kind(bare, is_default=is_default) or is_of_unit:
        return None

    is_switch = _ON_OR_OFF.search(bare) is not None
    bare = without_default(bare)
    form = _read_form(bare, is_default=is_default, is_switch=is_switch)
    if form is None:
        return None

    names, words = _split(bare)
    names = tuple(dict.fromkeys([*names, *_split(clause)[0]]))
    of_repositories = {part for name in repository_names for part in (name.lower(), *parts_of(name))}
    content = [word for word in words if _is_content(word)]
    # The name of a project may be two words as one.
    of_repositories |= {word for word in content if any(_is_end_of(word, name) for name in repository_names)}
    # What something does is said in many words, but for "how many times does it retry".
    verbs = verbs_of(bare)
    required = tuple({stem(word): word for word in reversed(content) if word not in of_repositories}.values())[::-1]
    if not names and _are_alone(required, verbs):
        # "Is a bucket created": a word of the project's name says which thing is meant.
        required = tuple(dict.fromkeys(content))
    if form.kind == "truth" and len(required) > 1:
        required = tuple(word for word in required if word != "mode") or required
    setting = setting_words(clause)
    # "What is X?" asks for a meaning; other look-ups read values of a name alone.
    tokens = [token for token in bare.lower().split() if any(word in token for word in required)]
    is_limit = form.kind == "thing" and _LIMIT.search(bare) is not None
    if form.kind == "thing" and not (is_default or form.measure or is_limit) and len(tokens) < _MIN_TOKENS:
        return None

    # "What does it run with no command": the setting alone, whose constant is called a default.
    required = required if required or names else tuple(sorted(setting))
    if not (required or names) or len(required) > _MAX_WORDS:
        return None

    head_words = [word for word in _split(form.head)[1] if word not in _EMPTY_HEAD and word not in FUNCTION_WORDS]
    head = frozenset(word for word in head_words if word not in of_repositories and word not in _LIGHT)
    verbs = frozenset() if "times" in head_words else verbs
    verbs = verbs - head if len(head) == 1 else verbs
    kind = "number" if is_limit else _kind_of(form, head_words)
    is_at_once = _AT_ONCE.search(bare) is not None
    end = max((bare.rfind(name) + len(name) for name in names), default=len(bare))
    return ValueRequest(
        tuple(word for word in required if word not in verbs) or required,
        tuple(
            dict.fromkeys(
                [word for word in words if word not in required and word not in FUNCTION_WORDS]
                + (["active", "concurrent", "parallel", "simultaneous"] if is_at_once else [])
            )
        ),
        names,
        _last_of(head_words, head - verbs or head) if form.kind == "thing" else head - verbs or head,
        _nouns_of(kind, form.measure, is_limit=is_limit),
        kind,
        is_default,
        frozenset(word for word in content if word in of_repositories),
        setting,
        frozenset(of_repositories),
        frozenset(word for word in _split(bare[end:])[1] if word in required and word not in verbs),
        frozenset(word for word in verbs if word in required),
        form.measure,
        next((bound for bound, pattern in _BOUNDS if pattern.search(bare) is not None), ""),
    )


def _are_alone(words: Sequence[str], verbs: Collection[str]) -> bool:
    """Return whether words only say what is done, not what it is done to."""
    return all(word in verbs and word.endswith("ed") for word in words)


def _nouns_of(kind: str, measure: str, *, is_limit: bool) -> frozenset[str]:
    """Return the nouns that a line may have instead of the head of a question."""
    if kind == "time":
        return TIME_WORDS

    return _OF_LIMIT if is_limit else _MEASURES.get(measure, SIZE_WORDS if measure else frozenset())


def _kind_of(form: _Form, head_words: Sequence[str]) -> str:
    """Return the kind of the value: of a thing, that of the last word of the head that names one."""
    if form.kind != "thing":
        return form.kind

    return next((_KINDS[word] for word in reversed(head_words) if word in _KINDS), form.kind)


def loosened_requests(request: ValueRequest) -> Iterator[ValueRequest]:
    """Yield a request without words that may go unsaid: the program itself, or what is counted in a setting's place.

    "How many items does the page show", "how many spaces does a tab become when no size is passed".
    """
    words = tuple(word for word in request.words if word not in _GENERIC)
    # A timeout alone is that of anything: "which timeout do requests have".
    is_measure = len(words) == 1 and words[0] in TIME_WORDS | SIZE_WORDS
    if words and words != request.words and not request.names and not is_measure:
        yield replace(request, words=words, head=request.head - _GENERIC)

    if request.measure in _DIMENSION_NAMES and not words and not request.names:
        yield replace(request, words=(_DIMENSION_NAMES[request.measure],), head=frozenset())

    settled = tuple(word for word in request.words if word not in request.head)
    if request.setting and request.head and settled and not request.names:
        yield replace(request, words=settled, head=request.setting)


def _last_of(words: Sequence[str], head: frozenset[str]) -> frozenset[str]:
    """Return the last noun of the requested thing: the level of "log level"."""
    return frozenset([word for word in words if word in head][-1:])


class _Form(NamedTuple):
    """The form of a question: the kind of value, what is measured, and the text of the requested thing."""

    kind: str
    measure: str = ""
    head: str = ""


def _read_form(text: str, *, is_default: bool, is_switch: bool) -> _Form | None:
    """Return the form of a question; None if it asks for no value."""
    measured = _MEASURED.match(text)
    if measured is not None:
        return _read_measure(text, measured, is_default=is_default)

    asked_match = _THING.match(text)
    if asked_match is not None:
        return _Form("thing", head=_asked_noun(asked_match["rest"]))

    if _TRUTH.match(text) is not None:
        return _Form("truth") if is_default or is_switch else None
    if _MANNER.match(text) is not None:
        return _Form("thing") if is_default else None

    phrase = _NOUN_PHRASE.match(text)
    return _Form("thing", head=_asked_noun(phrase["rest"])) if phrase is not None and " " in text else None


def _read_measure(text: str, measured: re.Match[str], *, is_default: bool) -> _Form | None:
    """Return the form of a question for how much of something; None if it counts things of the project."""
    measure, following = measured["form"].split()[-1].lower(), measured["rest"]
    is_many = measure in {"many", "much"}
    is_limit = _LIMITING.search(text) is not None or _OF_TIME.match(following) is not None
    if is_many and not is_default and not is_limit and not _split(text)[0]:
        return None
    if measure in {"long", "old", "often"} and _OF_PROJECT.search(following[:40]) is not None:
        return None

    is_time = (measure in _MEASURES and measure != "fast") or _OF_TIME.match(following) is not None
    is_thing = is_many or _OF_THING.match(following) is not None
    return _Form("time" if is_time else "number", measure, _asked_noun(following) if is_thing else "")


def _asked_noun(text: str) -> str:
    noun = _ASKED_NOUN.match(text)
    return noun["noun"] if noun is not None else ""


def _is_end_of(word: str, name: str) -> bool:
    """Return whether the name of a repository begins or ends with a word: ``bigpool`` with "pool"."""
    bare = name.rpartition("/")[2].removesuffix(".git").lower()
    # A plural is a word of its own beside the name of all: a chart of `helm-charts`.
    is_part = any(part.startswith(word) and len(part) - len(word) > 1 for part in parts_of(bare))
    return len(word) >= _MIN_PART and bare != word and (is_part or bare.startswith(word) or bare.endswith(word))


_MIN_PART = 4


def _is_content(word: str) -> bool:
    is_of_frame = word in FUNCTION_WORDS or word in _LIGHT or (word in FRAME and word not in _CONTENT)
    return len(word) > 1 and not is_of_frame


_CONTENT_TEXT = "mode listen class method user users follow follows count sort"
_CONTENT = frozenset(_CONTENT_TEXT.split()) - VERBS
"""Words of the frame of other questions that tell values apart here."""


def _split(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of code in a text, and its other words in lower case."""
    names, words = split_names(text, _CODE, _MARKED)
    # A dash at the end of `--quiet-` is one of the sentence.
    bare_names = [name.rstrip("-") for name in names]
    return tuple(name for name in dict.fromkeys(bare_names) if name), words
