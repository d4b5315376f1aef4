"""Compare a line that has a value with a request: what covers each word, and whether the value is of the kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.lookups.prose_values.names import default_function, is_key, is_unit, last_part
from sourcelight.engines.deepsearch.lookups.value_lines.candidates import ValueLine
from sourcelight.engines.deepsearch.lookups.value_lines.kinds import (
    is_of_kind,
    is_of_measure,
    words_of_value,
)
from sourcelight.engines.deepsearch.lookups.value_lines.request import SIZE_WORDS, TIME_WORDS, ValueRequest
from sourcelight.engines.deepsearch.lookups.value_lines.words import covered_by, extra_parts, is_counterpart, is_form
from sourcelight.engines.deepsearch.source.values import is_counter
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of

_GLUE_TEXT = "auto enable enabled allow use is has should with default defaults cfg m k"
_GLUE = frozenset(_GLUE_TEXT.split())
"""Parts of names that add nothing to what they name."""


@dataclass(slots=True)
class ValueFit:
    """A line with a value, and the words of the question by what covers them.

    Attributes
    ----------
    line
        The line.
    weight
        How well the words are covered: most by the name, least by the path.
    covered, in_texts
        Words that the name, the comments, the keys or the path have; those that only comments and help texts have.
    is_named, is_candidate
        Whether the question has the name, and whether the line may be stated, rather than be another reading alone.
    extras, keys
        Parts of the name, and of the keys above it, that the question doesn't explain.
    spread
        Parts of the directories beside the words that they cover.
    verbs
        Verbs of the question that its name or its texts have.
    is_exact
        Whether the name is the default of all words, and of nothing else.
    """

    line: ValueLine
    weight: float
    covered: frozenset[str]
    in_texts: frozenset[str]
    is_named: bool
    is_candidate: bool
    extras: int
    spread: int
    keys: int
    verbs: frozenset[str]
    is_exact: bool = False

    @property
    def value(self) -> str:
        """The value without quotation marks, in lower case."""
        return self.line.value.strip("\"'`").casefold()

    @property
    def quality(self) -> tuple[int, float, int, int, int]:
        """The key of the best fit: most words, best covered, with the fewest parts that the question lacks."""
        return len(self.covered), self.weight, -self.spread, -self.extras, -self.keys

    def is_rival_of(self, best: ValueFit) -> bool:
        """Return whether a line may be meant as well as the best one: it lacks no word, or one of a comment alone."""
        lacking = best.covered - self.covered
        # What is set to a whole literal holds others, rather than being one.
        is_literal = self.value[:1] in {"{", "["} and best.value[:1] not in {"{", "["}
        if self.value == best.value or is_literal or lacking - best.in_texts or len(lacking) > 1:
            return False

        # A comment of its own that lacks a word of the best one's says that another thing is meant.
        if lacking and self.line.text and lacking <= best.in_texts and not covered_by(tuple(lacking), self.line.text):
            return False
        # What only a path or a key says of a line is less than its name.
        if not self.is_candidate and best.weight - self.weight > _WEAKER:
            return False

        # What lies in a nearer directory or below nearer keys, or has a name of fewer other words, is meant.
        nearness = self.spread - best.spread, self.extras - best.extras, self.keys - best.keys
        return next((difference < 0 for difference in nearness if difference), True)


def fit_line(request: ValueRequest, line: ValueLine) -> ValueFit | None:
    """Return how the words of a request cover a line; None if it can't be meant, or its value is of another kind."""
    is_named, is_around = _read_names(request, line)
    if not (is_named or is_around) or not _is_possible(request, line, is_named=is_named):
        return None

    words = request.words
    covers = _cover(request, line)
    if is_named and not request.conditions <= frozenset().union(*covers.values()):
        return None

    allowed = {*request.nouns, *request.repository_words, *request.mentioned, *_GLUE, *FUNCTION_WORDS}
    bare = last_part(line.name) or line.name
    explaining = (*words, *request.optional, *request.mentioned, *request.setting, *request.verbs)
    # The fields of a record of Haskell begin with the letters of its name: `foWikiLinkCount`.
    bare = re.sub(r"^[a-z]{1,3}(?=[A-Z])", "", bare) if line.path.endswith(".hs") else bare
    extras = [] if is_named else [part for part in extra_parts(bare, explaining, allowed) if not is_unit(part)]
    is_setting = bool(_of_name(request, request.setting, line.name))
    weights = [max((_WEIGHTS[source] for source in covers if word in covers[source]), default=0.0) for word in words]
    share = sum(weights) / len(words) if words else 1.0
    return ValueFit(
        line,
        share + _OF_SETTING * is_setting + _OF_HEAD * bool(request.head & covers["name"]) - _OF_EXTRA * len(extras),
        _own_words(covers) | (frozenset(words) if is_setting and not words else frozenset()),
        covers["texts"] - covers["name"] - covers["keys"] - covers["path"],
        is_named,
        is_named or _is_candidate(request, line, covers, extras, is_setting=is_setting),
        len(extras),
        _spread(words, line.path),
        0 if line.match is not None else len(extra_parts(line.keys, explaining, allowed)),
        verbs_in(request, line),
        request.is_default
        and "default" in parts_of(line.name)
        and not extras
        and len(covered_by(words, line.name, related=False)) == len(words) > 1,
    )


def _is_candidate(
    request: ValueRequest,
    line: ValueLine,
    covers: Mapping[str, frozenset[str]],
    extras: Sequence[str],
    *,
    is_setting: bool,
) -> bool:
    """Return whether a line that isn't named has what a sentence needs: all words, and the thing in its name."""
    words = request.words
    covered = _own_words(covers)
    if not (covers["name"] or covers["texts"] or is_setting) or not _has_head(request, line, covers):
        return False

    lacking = [word for word in words if word not in covered]
    in_name = covered_by((*words, *request.verbs), line.name, related=False)
    is_near = all(word in covers["documentation"] or word in covers["near"] for word in lacking)
    # Of many words, one may be anywhere in the file.
    is_near = is_near or (len(words) > _MIN_WORDS and bool(covers["name"] and covers["texts"]))
    # One word of three or more may be that of the function or of its documentation.
    if len(lacking) > 1 or (lacking and not (is_near and in_name and len(words) >= _MIN_WORDS)):
        return False

    # A name with other words is described by its comment or help alone.
    bare = last_part(line.name) or line.name
    is_described = bool(covers["texts"]) and len(covers["texts"] | covers["name"]) > 1
    is_described = is_described and bool(covers["name"] or _MEASURES & request.nouns & set(parts_of(bare)))
    # What isn't destroyed with a public block is no block of what is public.
    is_narrower = request.kind == "truth" and not _NEGATING.isdisjoint(extras)
    is_narrower = is_narrower or is_counterpart(
        {*request.words, *request.optional, *request.mentioned, *request.verbs}, line.name
    )
    # What an option or a field without a value is set to is said to be its default by its form.
    is_narrower = is_narrower or (not is_option(line) and is_counter(line.name, line.value))
    # One word alone may mean anything that is related to it, but for the help of an option that has the verb, too.
    is_helped = _is_told(request, line) and bool(request.nouns & set(parts_of(bare)))
    is_form_of_name = len(words) != 1 or is_setting or is_helped or _has_form(words[0], bare)
    is_vague = not is_form_of_name or (len(words) == 1 and not is_setting and bool(extras))
    if is_vague or is_narrower or (extras and (len(extras) > _MAX_EXTRAS or not is_described)):
        return False
    return _is_specific(request, line, covers)


def verbs_in(request: ValueRequest, line: ValueLine) -> frozenset[str]:
    """Return the verbs of a request that the name or the texts of a line have; none for a value of another kind."""
    is_possible = bool(request.verbs) and is_of_kind(request.kind, line.value)
    return covered_by(tuple(request.verbs), f"{line.name} {line.text}", related=False) if is_possible else frozenset()


def _has_form(word: str, name: str) -> bool:
    return any(is_form(word, part) for part in parts_of(name))


def _is_specific(request: ValueRequest, line: ValueLine, covers: Mapping[str, frozenset[str]]) -> bool:
    """Return whether the words themselves, rather than others that are related to them, lead to a line.

    The longest wait between retries is no number of attempts, and the tag that is used if none is given no version.
    """
    words = request.words
    if _OF_EXAMPLE.search(line.path) is not None or not _names_head(request, line, covers["value"]):
        return False

    in_name = covered_by((*words, *request.setting, *request.verbs), line.name, related=False)
    exact_words = in_name.union(*(covered_by(words, text, related=False) for text in (line.text, line.keys, line.path)))
    exact_words = (exact_words | covers["value"]) & {*words, *request.verbs}
    related_words = _own_words(covers)
    # Most words that the name, the texts, the keys and the path lack are about something else.
    if len(exact_words) * 2 < len(words) or len(related_words) * 3 < len(words) * 2:
        return False

    if not in_name and is_option(line) and request.nouns & set(parts_of(line.name)):
        # The help of an option that counts, or that says how long something takes.
        is_told = len(words) > 1 or _is_told(request, line)
        return is_told and len(related_words) == len(words) and bool(exact_words)
    if not in_name:
        shows_kind = request.kind in {"time", "port"} and _SHOWN_KIND.fullmatch(line.value.strip("\"'`")) is not None
        has_all = len(exact_words) > 1 and len(related_words) == len(words)
        return len(words) > 1 and (len(exact_words) >= _MIN_DESCRIBED or has_all or (bool(exact_words) and shows_kind))
    return len(words) > 1 or _is_marked(request, line)


def _names_head(request: ValueRequest, line: ValueLine, of_value: frozenset[str]) -> bool:
    """Return whether a name ends with the requested thing: a multiplier of the sample rate is no rate."""
    # An option may have one letter, and its name in its texts.
    name = line.name if len(line.name) > 1 else line.text
    in_head = _of_name(request, request.head, name)
    if len(line.name) == 1:
        return bool(in_head)
    if request.kind == "thing" and request.head and not request.setting and not in_head and not request.head & of_value:
        return False

    # A window whose comment says that it is the interval of all this.
    is_told = request.kind == "time" and not TIME_WORDS.isdisjoint(parts_of(line.text))
    if is_told and len(covered_by(request.words, line.text, related=False)) == len(request.words) > 1:
        return True

    parts = [part for part in parts_of(last_part(line.name) or line.name) if not is_unit(part) and not part.isdigit()]
    explaining = (*request.words, *request.setting, *request.optional, *request.nouns)
    return not (in_head and parts) or parts[-1] in _ENDS or bool(covered_by(explaining, parts[-1]))


def _of_name(request: ValueRequest, words: frozenset[str], name: str) -> frozenset[str]:
    """Return which words a name has, also joined with another word of the question: ``tabsize``."""
    return covered_by((*request.words, *request.setting, *words), name, related=False) & words


def _is_marked(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a name of one word of the question says that it is a default, a switch or a measure."""
    parts = set(parts_of(line.name))
    is_switch = request.kind == "truth" and bool(parts & _SWITCHES)
    further = (*request.verbs, *request.optional)
    is_done = bool(covered_by(further, line.name, related=False)) or _is_told(request, line)
    match = line.match
    # "The default number of lines" of the only parameter or option of this name.
    is_parameter = match is not None and match.parameter_of is not None
    is_asked = "default" in request.optional and (is_option(line) or is_parameter)
    is_called_default = match is not None and (match.is_called_default or default_function(match.holders) is not None)
    is_called_default = is_called_default or "default" in parts
    return is_called_default or is_switch or is_done or is_asked or bool(parts & request.nouns) or bool(request.setting)


def _is_told(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether the help of an option has what the question says that something does."""
    verbs = tuple(request.verbs) or request.optional
    return is_option(line) and bool(covered_by(verbs, line.text, related=False))


def _own_words(covers: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(covers[source] for source in _OWN))


_SHOWN_KIND = re.compile(r"\d+(?:\.\d+)?\s?(?:ms|s|m|h|d|w|y|sec|min|hours?|days?|minutes?|seconds?)")
_NEGATING_TEXT = "skip ignore omit disable disabled no not non never only except exclude destroy without"
_NEGATING = frozenset(_NEGATING_TEXT.split())
"""Parts of a name that make it that of something else."""
_STATES = frozenset({"current", "last", "next", "prev", "previous"})
"""Parts of a name of what changes while a program runs."""
_COUNTED = frozenset({"count", "num", "number", "size", "bytes", "length", "limit", "amount"})
_REPEATED = frozenset({"retries", "retry", "attempts", "attempt", "tries"})
_SWITCHES = frozenset({"enable", "enabled", "use", "with", "build", "allow", "disable", "disabled"})
_ENDS = frozenset({"default", "value", "max", "min", "limit", "option", "opt", "setting", "flag", "var", "name", "t"})
"""Last parts of names that add nothing."""
_OF_EXAMPLE = re.compile(r"(?:^|[/_.-])(?:examples?|samples?|demos?|stubs?)(?:[/_.-])", re.IGNORECASE)
_MIN_WORDS = 3
_MIN_DESCRIBED = 3
"""Words of the question that the texts of a line have if its name has none."""
_WEIGHTS = {"name": 1.0, "value": 0.9, "texts": 0.9, "keys": 0.75, "path": 0.7, "documentation": 0.6, "near": 0.4}
"""Weight of a word by what covers it."""
_OF_SETTING, _OF_EXTRA, _MAX_EXTRAS = 0.3, 0.06, 2
_OF_HEAD, _WEAKER = 0.25, 0.45
_COUNTS_TEXT = "max min maximum minimum n number num count total limit amount size length len bytes"
_MEASURES = TIME_WORDS | SIZE_WORDS - frozenset(_COUNTS_TEXT.split())
"""Parts of names that say what is measured, rather than that something is."""
_OWN = ("name", "value", "texts", "keys", "path")
"""Texts that belong to the line itself."""


def _is_possible(request: ValueRequest, line: ValueLine, *, is_named: bool) -> bool:
    """Return whether a line has a default if one is asked for, no variable, and a value of the kind."""
    is_alias = last_part(line.value.strip("()")) == last_part(line.name)
    if is_alias or (not is_named and is_key(line.name, line.value)):
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
    return is_of_kind(request.kind, line.value)


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


def _cover(request: ValueRequest, line: ValueLine) -> dict[str, frozenset[str]]:
    """Return the words that each text around a line covers."""
    words = request.words
    name = " ".join([line.name, *_aliases(line)])
    in_name = covered_by((*words, *request.setting), name) & frozenset(words)
    return {
        "name": in_name | covered_by(words, name),
        "value": words_of_value(words, line.value),
        "texts": covered_by(words, line.text),
        "keys": covered_by(words, line.keys),
        "path": covered_by(words, line.path, related=False),
        "documentation": covered_by(words, line.documentation, related=False),
        "near": covered_by(words, line.near, related=False),
    }


def _aliases(line: ValueLine) -> list[str]:
    """Return the other names of an option: texts of one word in its description."""
    is_option = line.match is not None and line.match.binding.form == "fallback"
    return [text for _, text in line.texts if re.fullmatch(r"-{0,2}[\w-]{1,40}", text)] if is_option else []


def _read_names(request: ValueRequest, line: ValueLine) -> tuple[bool, bool]:
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
            count += last in around

    has_all = count == len(request.names)
    return is_named and has_all, has_all


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z\d]", "", name.casefold())


_WITH_TIME = re.compile(r"\d\s*(?:ms|s|m|h|d)\b|[Ss]econd|[Mm]inute|[Hh]our|[Dd]ay|Duration")


def _has_head(request: ValueRequest, line: ValueLine, covers: Mapping[str, frozenset[str]]) -> bool:
    """Return whether a name, or the help of an option, has the requested thing, or what is measured.

    A comment of a constant is often about more: the size of a body, whose chunks it mentions, is none of chunks.
    """
    parts = {*parts_of(line.name), *parts_of(line.text)}
    # "How often" something is tried again is a number.
    is_timed = bool(parts & TIME_WORDS) or _WITH_TIME.search(line.value) is not None
    is_repeated = request.measure in {"often", "frequently"} and not _REPEATED.isdisjoint(parts)
    if request.kind == "time" and not (is_timed or is_repeated):
        return False

    head = request.head
    if head & (covers["name"] | covers["value"]) or (not head and (request.kind != "thing" or covers["name"])):
        return True
    if not head:
        return bool(covered_by(tuple(request.setting), line.name, related=False))

    names = " ".join([line.name, *_aliases(line)])
    if (
        covered_by(tuple(head), names)
        or _of_name(request, head, names)
        or (is_option(line) and covered_by(tuple(head), f"{line.text} {line.keys}"))
    ):
        return True
    measure = _MEASURES & request.nouns & set(parts_of(line.name))
    return bool(measure) and bool(covers["name"] or covered_by(tuple(head), line.keys, related=False))


def is_option(line: ValueLine) -> bool:
    """Return whether a line is an option with a help text, or a key of configuration."""
    return line.match is None or line.match.binding.form == "fallback"


def _spread(words: Sequence[str], path: str) -> int:
    """Return how many parts the components of a path have beside the words: `prometheus-node` has one of "node"."""
    spread = 0
    for component in path.rpartition("/")[0].split("/"):
        parts = parts_of(component)
        if covered_by(words, component, related=False):
            spread += sum(not covered_by(words, part, related=False) for part in parts)
    return spread
