"""Compare names in code with the words of a question: short forms, endings, units, parts written together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.lookups.prose_values.question import FRAME, VERBS, ValueQuestion
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of, stem
from sourcelight.engines.symbols.definition_parser import Definition

_UNITS_TEXT = """
ms msec millis milliseconds sec secs seconds minutes mins hours days bytes kb mb percent pct num number count
default def dflt initial init value val config cfg conf setting settings option options opt opts const k m
"""
_UNITS = frozenset(_UNITS_TEXT.split())
"""Parts of names that say how a value is measured or used, rather than what it is."""
_LOOSE = FRAME - VERBS - {"key", "keys"}
"""Words of the form of a question that a name may have, too. `levelKey` names a level in a record, and is no level."""
SHORT_FORMS: Mapping[str, str] = {
    "separator": "sep", "delimiter": "delim", "column": "col", "directory": "dir", "number": "num nr", "length": "len",
    "maximum": "max", "minimum": "min", "message": "msg", "environment": "env", "buffer": "buf", "index": "idx",
    "source": "src", "command": "cmd", "temporary": "tmp temp", "character": "char chr", "address": "addr",
    "configuration": "config cfg conf", "parameter": "param", "argument": "arg", "position": "pos", "error": "err",
    "request": "req", "response": "resp res", "connection": "conn", "extension": "ext", "attribute": "attr",
    "function": "func fn", "language": "lang", "colour": "color", "color": "colour", "destination": "dest dst",
    "background": "bg", "foreground": "fg", "automatically": "auto", "automatic": "auto", "password": "passwd pwd",
    "string": "str", "image": "img", "picture": "pic", "button": "btn", "object": "obj", "previous": "prev",
    "random": "rand", "version": "ver", "frequency": "freq", "websocket": "ws", "millisecond": "ms",
    "statistics": "stats",
}  # fmt: skip
"""Short forms of a word, which are the word itself, and another spelling of it."""
_FORMS: Mapping[str, str] = {
    **SHORT_FORMS,
    "separator": "sep delim delimiter", "delimiter": "sep delim separator", "directory": "dir folder",
    "folder": "dir directory", "number": "num", "repetition": "repeat", "attempt": "tries", "wait": "timeout delay",
    "spaces": "indent", "indentation": "indent", "indent": "indentation", "concurrent": "concurrency",
    "parallel": "parallelism", "url": "uri endpoint", "host": "hostname", "verbosity": "verbose", "level": "lvl",
    "expire": "ttl expiry", "expiration": "ttl expiry expires", "multiplier": "mult factor", "nested": "nesting depth",
    "status": "code", "whitespace": "ws",
}  # fmt: skip
"""Short forms, and parts of names that stand for a word where a text gives a value."""
_LIMITING = frozenset({"only", "not", "no", "non", "without", "never", "except", "all", "any"})
"""Small words that make a name that of something else: `no_download`, `originOnly`."""
# Parts of names that add nothing to what they name.
_GLUE = frozenset({"auto", "enable", "enabled", "allow", "use", "is", "has", "should", "with"})
_ENDINGS_TEXT = "s es d ed r er rs ers or ors ing ion ies ied y e al ly ic en ity ive able ment ator ted ting"
_ENDINGS = frozenset(_ENDINGS_TEXT.split())
"""Endings of the forms of a word: `replace` is no form of `reply`."""
OF_TESTS = re.compile(
    r"__typetests__|(?:^|/)ci/|\.(?:tst|test-d)\.ts$"
    r"|(?:^|/)(?:mocks?|__mocks__|stubs?|test_?(?:utils?|helpers?|support|kit))/"
)
"""Code that only tests use, beside the tests themselves."""
_MIN_SHORT, _MIN_ALIKE, _MAX_ENDING = 3, 4, 3


def is_same(word: str, part: str) -> bool:
    """Return whether a part of a name is a word of a question, or a short form of it."""
    if word == part or stem(word) == stem(part) or part in _FORMS.get(word, "").split():
        return True
    if {part, stem_base(part)} & set(_FORMS.get(stem_base(word), "").split()):
        return True
    if len(part) >= _MIN_SHORT and word.startswith(part):
        return True

    alike, rest, longer_rest = split_alike(word, part)
    has_endings = rest in {"", "e", "y", "s"} and longer_rest in _ENDINGS
    return alike >= _MIN_ALIKE and has_endings and abs(len(word) - len(part)) <= _MAX_ENDING


def split_alike(word: str, other: str) -> tuple[int, str, str]:
    """Return how many characters two words begin with alike, and the rests of the shorter and of the longer one."""
    shorter = min(len(word), len(other))
    alike = next((index for index in range(shorter) if word[index] != other[index]), shorter)
    return alike, min(word, other, key=len)[alike:], max(word, other, key=len)[alike:]


def is_key(name: str, value: str) -> bool:
    """Return whether a constant is the key of a setting: ``OPTION_FILE_MODE = "file_mode"`` is no mode.

    A key of one word says so: ``LevelFieldName = "level"`` is no level.
    """
    in_value = {part.lower() for part in parts_of(value.strip("\"'`:"))}
    in_name = {part.lower() for part in parts_of(name)}
    is_of_name = in_value <= in_name and (len(in_value) > 1 or in_name - in_value == {"field", "name"})
    return value[:1] in {'"', "'", "`", ":"} and is_of_name


def last_part(name: str) -> str:
    """Return a name of code without its owners and signs: ``limit`` of ``Pool.limit``."""
    return re.split(r"\.|::?|->|#", name)[-1].lstrip("@$")


def is_written(name: str, bare: str) -> bool:
    """Return whether a question's name is a bare one; a key with hyphens is written in other ways in code."""
    key = last_part(name)
    if "-" not in key:
        return bare == key
    return bare.lstrip("_").replace("-", "").replace("_", "").casefold() == key.replace("-", "").casefold()


def stem_base(word: str) -> str:
    """Return a word without the plural's ending."""
    return word[:-1] if len(word) > _MIN_SHORT and word.endswith("s") and not word.endswith("ss") else word


def has_word(text: str, word: str) -> bool:
    """Return whether a text has a word, also inside a longer one, or a short form of it."""
    lower = text.lower()
    if any(len(form) > _MIN_SHORT - 1 and form in lower for form in (word, stem(word))):
        return True
    return any(is_same(word, part) for token in set(re.findall(r"\w+", text)) for part in parts_of(token))


def words_in_name(question: ValueQuestion, name: str) -> frozenset[str] | None:
    """Return the words of a question that a name has; None if the name has a word that the question lacks."""
    present: set[str] = set()
    has_bound = False
    for number, part in enumerate(parts_of(name)):
        if len(part) == 1 and part != "n" and not part.isdigit() and not number:
            continue  # as in `m_width` and `kLimit`

        # `getLimit` is a function, unless the question gets something, too.
        if number == 0 and part in {"get", "make", "create"} and part not in question.further:
            return None

        matching = {word for word in (*question.words, *question.further) if is_same(word, part)}
        present |= matching
        if part in {"max", "maximum", "limit", "cap", "min", "minimum", "most", "least"}:
            is_min = part in {"min", "minimum", "least"}
            if question.bound and (question.bound == "min") != is_min:
                return None
            has_bound = True
            if not question.bound and part not in question.nouns and not matching:
                return None
            continue

        if matching or _adds_nothing(question, part):
            continue

        initials = _words_with_initials(question, part)
        if initials:
            present |= initials
            continue

        joined_words = _joined_words(question, part)
        if joined_words is None:
            return None

        present |= joined_words[0]
        has_bound = has_bound or joined_words[1]

    return None if question.bound and not has_bound else frozenset(present)


def _adds_nothing(question: ValueQuestion, part: str) -> bool:
    """Return whether a part of a name tells no value apart: a unit, a small word, or a part of its owner's name."""
    is_small_word = part in FUNCTION_WORDS and part not in _LIMITING and len(part) > 1
    if is_small_word or part in _UNITS or part in question.nouns or part in _GLUE:
        return True
    # In the name of another value, a word such as "file", or of the repository's name, is a difference as any.
    if not (question.is_default or question.bound):
        return False
    if part in _LOOSE or _is_of_repository(question, part):
        return True
    # The name of a class repeats in the names of its members: `indicatorInterval` of `ProgressIndicator`.
    return any(part in parts_of(token) for name in question.names for token in re.findall(r"\w+", name))


def _is_of_repository(question: ValueQuestion, part: str) -> bool:
    """Return whether a part of a name is the repository's, as ``INI_`` of ``inih`` is."""
    words = question.repository_words
    return any(
        word == part or (len(part) >= _MIN_SHORT and part in word and len(word) - len(part) < 3) for word in words
    )


def count_small_words(name: str) -> int:
    """Count the parts of a name that a question needn't have: ``after`` of ``retry_after_codes``."""
    return sum(part in FUNCTION_WORDS or part in _GLUE for part in parts_of(name))


def is_unit(part: str) -> bool:
    """Return whether a part of a name says how something is measured or used, rather than what it is."""
    return part in _UNITS or part in FRAME


def has_noun(question: ValueQuestion, name: str) -> bool:
    """Return whether a name has a noun for what the question measures: of "how many", such as ``size``."""
    return any(part in question.nouns for part in parts_of(name))


def _words_with_initials(question: ValueQuestion, part: str) -> frozenset[str]:
    """Return the neighbors of a question that a part such as ``ht`` abbreviates: "hash table"."""
    for start in range(len(question.words) - len(part) + 1 if len(part) > 1 else 0):
        words = question.words[start : start + len(part)]
        if "".join(word[0] for word in words) == part:
            return frozenset(words)
    return frozenset()


def _joined_words(question: ValueQuestion, part: str) -> tuple[set[str], bool] | None:
    """Read a part such as ``maxupval`` as words of the question in a row; None if it has another word."""
    rest, has_bound = part, False
    for prefix, bound in (("max", "max"), ("min", "min"), ("default", ""), ("num", "")):
        if rest.startswith(prefix) and len(rest) > len(prefix) + 1 and bound in {"", question.bound or "max"}:
            rest, has_bound = rest.removeprefix(prefix), has_bound or bool(bound)

    present: set[str] = set()
    while rest:
        prefix_match = max(
            (
                (length, word)
                for word in (*question.words, *question.further)
                for length in range(min(len(word), len(rest)), _MIN_SHORT - 1, -1)
                if rest.startswith(word[:length])
            ),
            default=None,
        )
        if prefix_match is None:
            return (present, has_bound) if rest in _UNITS and present else None

        present.add(prefix_match[1])
        rest = rest[prefix_match[0] :]
        rest = "" if rest in {"s", "es", "ing", "ed"} else rest

    return present, has_bound


def search_words(question: ValueQuestion) -> Iterator[str]:
    """Yield the beginnings of names to look for: of the words of the value itself if the question has any."""
    # Sorted, so that each process writes the same query.
    for word in sorted(question.head) or (*question.words, *question.further):
        # Most short forms are beginnings; the others are listed.
        yield word[: max(_MIN_ALIKE, len(word) - _MAX_ENDING)] if len(word) > _MIN_ALIKE else word
        if len(word) > _MIN_ALIKE + 1:
            yield word[:_MIN_ALIKE]
        yield from (form for form in _FORMS.get(word, _FORMS.get(stem_base(word), "")).split())

    if question.nouns:
        yield from (noun for noun in sorted(question.nouns) if len(noun) > _MIN_SHORT)


_SETTING = re.compile(
    r"(?i)(?<![a-z])(?:set|with|override|update|use|patch|change)_?(?:option|config|setting|attr|field|param)\w*\s*$"
)
_SETTING_IN_R = re.compile(r"(?<![\w.])options\s*$")


def sets_option(before: str, path: str) -> bool:
    """Return whether the call whose name ends a text sets an option for the code around it.

    ``override_settings(`` and ``set_option(`` do, and ``options(`` of R.
    """
    return _SETTING.search(before) is not None or (
        path.endswith((".R", ".r")) and _SETTING_IN_R.search(before) is not None
    )


def asks_whether(name: str) -> bool:
    """Return whether a name says whether something holds, such as ``is_version_specified``."""
    return re.match(r"[@$_]*(?:is|has|was|should|can)(?:_|[A-Z])", name) is not None


def default_function(holders: Sequence[Definition]) -> Definition | None:
    """Return the nearest function around a value, if its name says that it gives defaults."""
    function = next((holder for holder in holders if holder.kind in FUNCTION_KINDS), None)
    return function if function is not None and "default" in function.name.lower() else None


def owner_of(declared_line: int, holders: Sequence[Definition]) -> str:
    """Return the words for the function whose shorter form passes a value on; empty for another value."""
    function = next((holder for holder in holders if holder.kind in FUNCTION_KINDS), None)
    return f" of {code(function.name)}" if declared_line and function is not None else ""


_FURTHER = r"(?:Builder|Config(?:uration)?|Options?|Opts|Settings|Impl|Defaults?|Params)?"
"""The end of the name of a class that has the values of another one."""


def has_name(text: str, name: str) -> bool:
    """Return whether a text has each part of a name, or a class with the values of one."""
    return all(
        re.search(rf"(?<![A-Za-z\d]){re.escape(part)}{_FURTHER}(?![A-Za-z\d])", text, re.IGNORECASE) is not None
        for part in re.split(r"\.|::?|->|#", name)
        if part
    )


def is_of_inner_type(holders: Sequence[Definition], owner: str) -> bool:
    """Return whether a value is of a type within the requested one: ``Pool.limit`` is none of ``Pool::Query``."""
    types = [holder for holder in holders if holder.kind not in FUNCTION_KINDS]
    if not types:
        return False
    name, outer = last_part(owner), {*(item.name for item in types[1:]), *types[0].container.split(".")}
    is_same = re.fullmatch(rf"(?:{re.escape(name)})?{_FURTHER}", types[0].name, re.IGNORECASE) is not None
    return name in outer and not is_same
