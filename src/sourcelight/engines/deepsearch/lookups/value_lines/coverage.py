"""Find what covers each word of a request around a line that has a value: its name, texts, keys, path or neighbors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sourcelight.engines.deepsearch.lookups.prose_values.names import is_key, last_part
from sourcelight.engines.deepsearch.lookups.value_lines.candidates import ValueLine
from sourcelight.engines.deepsearch.lookups.value_lines.kinds import (
    is_of_kind,
    is_of_measure,
    words_of_value,
)
from sourcelight.engines.deepsearch.lookups.value_lines.request import SIZE_WORDS, TIME_WORDS, ValueRequest
from sourcelight.engines.deepsearch.lookups.value_lines.words import covered_by, is_form
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of

_STATES = frozenset({"current", "last", "next", "prev", "previous"})
"""Parts of a name of what changes while a program runs."""
_COUNTED = frozenset({"count", "num", "number", "size", "bytes", "length", "limit", "amount"})
_REPEATED = frozenset({"retries", "retry", "attempts", "attempt", "tries"})
_COUNTS_TEXT = "max min maximum minimum n number num count total limit amount size length len bytes"
MEASURES = TIME_WORDS | SIZE_WORDS - frozenset(_COUNTS_TEXT.split())
"""Parts of names that say what is measured, rather than that something is."""
_OF_FILES = frozenset({"file", "filename", "path"})
_OWN = ("name", "value", "texts", "keys", "path")
"""Texts that belong to the line itself."""


def is_possible(request: ValueRequest, line: ValueLine, *, is_named: bool) -> bool:
    """Return whether a line has a default if one is asked for, no variable, and a value of the kind."""
    # Two dashes make a variable of Emacs the package's own.
    is_alias = last_part(line.value.strip("()")) == last_part(line.name)
    is_internal = not is_named and "--" in line.name and line.path.endswith(".el")
    if is_alias or is_internal or (not is_named and is_key(line.name, line.value)):
        return False
    is_alone = request.is_default and len(request.words) == 1 and not (is_named or request.setting)
    # What a thing has at the moment is no default.
    is_current = not is_named and "current" in {part.lower() for part in parts_of(line.name)} - set(request.words)
    if is_current or (is_alone and _is_of_anything(line)):
        return False

    is_variable = line.match is not None and not line.is_default
    if not line.is_default and (request.is_default or (is_variable and not is_named)):
        return False
    parts = set(parts_of(line.name))
    is_counted = request.kind == "time" and not _COUNTED.isdisjoint(parts) and TIME_WORDS.isdisjoint(parts)
    if not is_named and is_counted and _WITH_TIME.search(line.value) is None and _REPEATED.isdisjoint(parts):
        return False
    has_measure = is_of_measure(request, parts) and _has_bound(request, line)
    if not is_named and (not has_measure or (_STATES & parts) - {*request.words, *request.optional}):
        return False
    is_digit = request.kind == "truth" and line.path.endswith(".vim") and line.value in {"0", "1"}
    return is_digit or is_of_kind(request.kind, line.value)


_BOUND_WORDS = {
    "max": re.compile(
        r"max|limit|(?:^|[^a-z])cap(?:$|[^a-z])|most|largest|biggest|longest|highest|upper|up to|ceiling|no more|exceed"
        r"|threshold",
        re.IGNORECASE,
    ),
    "min": re.compile(r"min|least|smallest|shortest|lowest|lower|floor|no less|threshold", re.IGNORECASE),
}  # fmt: skip
"""Words that call a value a greatest or least one, in its name or around it."""


def _has_bound(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a line calls its value a bound, if a question asks for one; any number is a size."""
    texts = f"{line.name} {line.text} {line.keys} {line.documentation}"
    return not request.bound or _BOUND_WORDS[request.bound].search(texts) is not None


def _is_of_anything(line: ValueLine) -> bool:
    """Return whether a constant of one word is called no default: ``RELEASE`` is that of anything."""
    match = line.match
    if match is None or match.binding.form != "assigned" or match.parameter_of is not None or match.is_called_default:
        return False
    return len(parts_of(line.name)) == 1 and "default" not in line.text.lower()


def cover_words(request: ValueRequest, line: ValueLine) -> dict[str, frozenset[str]]:
    """Return the words that each text around a line covers."""
    words = request.words
    name = " ".join([line.name, *_aliases(line)])
    in_name = covered_by((*words, *request.setting), name) & frozenset(words)
    return {
        "name": in_name | covered_by(words, name),
        "value": words_of_value(words, line.value) | words_of_file(request, line),
        "texts": covered_by(words, line.text),
        "keys": covered_by(words, line.keys),
        "path": covered_by(words, line.path, related=False),
        "documentation": covered_by(words, line.documentation, related=False),
        "near": covered_by(words, line.near, related=False),
    }


def limits_verb(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a name limits what is done: "how many images does it download" for `maximumDownloads`."""
    parts_of_limit = {"max", "maximum", "limit", "num", "number"} & set(parts_of(line.name))
    is_many = request.measure == "many" and bool(parts_of_limit)
    return is_many and bool(covered_by(tuple(request.verbs), line.name, related=False))


def words_of_file(request: ValueRequest, line: ValueLine) -> frozenset[str]:
    """Return the words that the name of a file has, if a question asks for one and a name says so."""
    is_file = re.fullmatch(r"[\"'][\w./-]*\w\.\w{1,8}[\"']", line.value) is not None
    is_asked = bool(request.head & _OF_FILES) and bool(covered_by_name(request, request.head, line.name))
    return covered_by(request.words, line.value, related=False) if is_file and is_asked else frozenset()


def _aliases(line: ValueLine) -> list[str]:
    """Return the other names of an option: texts of one word in its description."""
    is_option = line.match is not None and line.match.binding.form == "fallback"
    return [text for _, text in line.texts if re.fullmatch(r"-{0,2}[\w-]{1,40}", text)] if is_option else []


def read_names(request: ValueRequest, line: ValueLine) -> tuple[bool, bool]:
    """Return whether a line's name is in the question, and whether all names of the question are around the line."""
    bare = _normalize(last_part(line.name) or line.name)
    aliases = {_normalize(text) for text in _aliases(line)}
    around = {_normalize(part) for part in re.findall(r"[\w$-]+", f"{line.keys} {line.path}")} | {"self", "this", ""}
    is_named, count = False, 0
    for name in request.names:
        last = _normalize(last_part(name))
        if name.startswith(("@", "$")) and last == bare and last_part(name) != last_part(line.name):
            continue  # `$mesh` isn't `$Mesh`

        owners = [_normalize(owner) for owner in re.split(r"\.|::?|->|#", name)[:-1]]
        if last and (last == bare or last in aliases):
            is_named = True
            count += all(owner in around for owner in owners)
        elif last:
            of_value = {_normalize(part) for part in re.findall(r"[\w$-]+", line.value)}
            is_of_setting = set(re.split(r"[-_]", name.lower())) <= request.setting and bool(_aliases_of(request, line))
            count += last in around or any(len(last) > 3 and part.endswith(last) for part in of_value) or is_of_setting

    has_all = count == len(request.names)
    return is_named and has_all, has_all


def _aliases_of(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether the name of what holds if nothing is given has all words of the option that isn't given."""
    parts = parts_of(line.name)
    is_fallback = line.match is not None and line.match.binding.form == "fallback"
    return is_fallback and all(
        any(is_form(word, part) or is_form(part, word) for part in parts) for word in request.setting
    )


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z\d]", "", name.casefold())


_WITH_TIME = re.compile(r"\d\s*(?:ms|s|m|h|d)\b|[Ss]econd|[Mm]inute|[Hh]our|[Dd]ay|Duration")


def is_timed(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a line says that its value is a time, if a question asks for one."""
    parts = {*parts_of(line.name), *parts_of(line.text)}
    # "How often" something is tried again is a number.
    has_time = bool(parts & TIME_WORDS) or _WITH_TIME.search(line.value) is not None
    is_repeated = request.measure in {"often", "frequently"} and not _REPEATED.isdisjoint(parts)
    return request.kind != "time" or has_time or is_repeated


def has_head(request: ValueRequest, line: ValueLine, covers: Mapping[str, frozenset[str]]) -> bool:
    """Return whether a name, or the help of an option, has the requested thing, or what is measured.

    A comment of a constant is often about more: the size of a body, whose chunks it mentions, is none of chunks.
    """
    if limits_verb(request, line):
        return True

    head = request.head
    if head & (covers["name"] | covers["value"]) or (not head and (request.kind != "thing" or covers["name"])):
        return True
    if not head:
        return bool(covered_by(tuple(request.setting), line.name, related=False))

    names = " ".join([line.name, *_aliases(line)])
    if (
        covered_by(tuple(head), names)
        or covered_by_name(request, head, names)
        or (is_option(line) and covered_by(tuple(head), f"{line.text} {line.keys}"))
    ):
        return True
    # A port of `DEFAULT_PORTS`.
    if "default" in line.keys.lower() and covered_by(tuple(head), line.keys, related=False) and covers["name"]:
        return True
    measure = MEASURES & request.nouns & set(parts_of(line.name))
    return bool(measure) and bool(covers["name"] or covered_by(tuple(head), line.keys, related=False))


def is_option(line: ValueLine) -> bool:
    """Return whether a line is an option with a help text, or a key of configuration."""
    return line.match is None or line.match.binding.form == "fallback"


def spread_of(words: Sequence[str], path: str) -> int:
    """Return how many parts the components of a path have beside the words: `prometheus-node` has one of "node"."""
    spread = 0
    for component in path.rpartition("/")[0].split("/"):
        parts = parts_of(component)
        if covered_by(words, component, related=False):
            spread += sum(not covered_by(words, part, related=False) for part in parts)
    return spread


def covered_by_name(request: ValueRequest, words: frozenset[str], name: str) -> frozenset[str]:
    """Return which words a name has, also joined with another word of the question: ``tabsize``."""
    return covered_by((*request.words, *request.setting, *words), name, related=False) & words


def is_told(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether the help of an option has what the question says that something does."""
    verbs = tuple(request.verbs) or request.optional
    return is_option(line) and bool(covered_by(verbs, line.text, related=False))


def own_words(covers: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the words that the texts of a line itself cover, rather than those of its neighbors."""
    return frozenset().union(*(covers[source] for source in _OWN))
