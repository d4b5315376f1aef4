"""Compare a line that has a value with a request: how well it fits, and whether another one may be meant as well."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.lookups.prose_values.names import default_function, is_unit, last_part
from sourcelight.engines.deepsearch.lookups.value_lines.candidates import ValueLine
from sourcelight.engines.deepsearch.lookups.value_lines.coverage import (
    MEASURES,
    cover_words,
    covered_by_name,
    has_head,
    is_option,
    is_possible,
    is_timed,
    is_told,
    limits_verb,
    own_words,
    read_names,
    spread_of,
    words_of_file,
)
from sourcelight.engines.deepsearch.lookups.value_lines.kinds import (
    is_of_dimension,
    is_of_kind,
)
from sourcelight.engines.deepsearch.lookups.value_lines.request import TIME_WORDS, ValueRequest
from sourcelight.engines.deepsearch.lookups.value_lines.words import covered_by, extra_parts, is_counterpart, is_form
from sourcelight.engines.deepsearch.source.values import is_counter
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of

_GLUE_TEXT = "auto enable enabled allow use is has should with default defaults cfg info m k"
_GLUE = frozenset(_GLUE_TEXT.split())
"""Parts of names that add nothing to what they name."""


_OWNERS = re.compile(r"^(?:[A-Z]\w*(?:\.|::))+(?=[A-Za-z_]\w*$)")
"""The types before a member: ``Style.`` of ``Style.plain``."""
_SHOWN_KIND = re.compile(r"\d+(?:\.\d+)?\s?(?:ms|s|m|h|d|w|y|sec|min|hours?|days?|minutes?|seconds?)")
_NEGATING_TEXT = "skip ignore omit disable disabled no not non never only except exclude destroy without"
_NEGATING = frozenset(_NEGATING_TEXT.split())
"""Parts of a name that make it that of something else."""
_SWITCHES = frozenset({"enable", "enabled", "use", "with", "build", "allow", "disable", "disabled"})
_ENDS_TEXT = "default info value max min limit option opt setting flag var name t"
_ENDS = frozenset(_ENDS_TEXT.split())
"""Last parts of names that add nothing."""
_OF_EXAMPLE = re.compile(r"(?:^|[/_.-])(?:examples?|samples?|demos?|stubs?|stories)(?:[/_.-])", re.IGNORECASE)
_MIN_WORDS = 3
_MIN_DESCRIBED = 3
"""Words of the question that the texts of a line have if its name has none."""
_WEIGHTS = {"name": 1.0, "value": 0.9, "texts": 0.9, "keys": 0.75, "path": 0.7, "documentation": 0.6, "near": 0.4}
"""Weight of a word by what covers it."""
_OF_SETTING, _OF_EXTRA, _MAX_EXTRAS, _OF_MEASURE = 0.3, 0.06, 2, 0.2
_OF_HEAD, _WEAKER = 0.25, 0.45
_OF_SETTINGS_TEXT = """
config configuration settings setting options option opts properties params parameters defaults constants preferences
"""
_OF_SETTINGS = frozenset(_OF_SETTINGS_TEXT.split())
"""Parts of names of classes that have what a whole program uses."""
_OF_DEFAULTS = re.compile(r"(?i)default")


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
    is_whole, is_near, is_measured
        Whether the name has all words as they are, whether more than the path has them, and whether the name says
        that it is of the dimension that is measured.
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
    is_whole: bool = False
    is_near: bool = True
    is_measured: bool = False

    @property
    def value(self) -> str:
        """The value without quotation marks and the owners of a constant, in lower case."""
        return _OWNERS.sub("", self.line.value).strip("\"'`").casefold()

    @property
    def quality(self) -> tuple[int, float, int, int, int]:
        """The key of the best fit: most words, best covered, with the fewest parts that the question lacks."""
        return len(self.covered), self.weight + _OF_MEASURE * self.is_measured, -self.spread, -self.extras, -self.keys

    def is_rival_of(self, best: ValueFit) -> bool:
        """Return whether a line may be meant as well as the best one: it lacks no word, or one of a comment alone."""
        lacking = best.covered - self.covered
        # What is set to a whole literal holds others, rather than being one.
        is_literal = self.value[:1] in {"{", "["} and best.value[:1] not in {"{", "["}
        if self.value == best.value or is_literal or lacking - best.in_texts or len(lacking) > 1:
            return False

        # Another name is less than one that has all words, or the dimension that is measured: `max_width`.
        is_other = best.is_whole and not self.is_whole and not (self.is_candidate and self.is_near)
        if is_other or (best.is_measured and not self.is_measured):
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
    is_named, is_around = read_names(request, line)
    if not (is_named or is_around) or not is_possible(request, line, is_named=is_named):
        return None

    if not is_named and (_OF_EXAMPLE.search(line.path) is not None or not is_timed(request, line)):
        return None

    words = request.words
    covers = cover_words(request, line)
    if is_named and not request.conditions <= frozenset().union(*covers.values()):
        return None

    allowed = {*request.nouns, *request.repository_words, *request.mentioned, *_GLUE, *FUNCTION_WORDS}
    # The default of an enum, whose name says that it is one of several.
    allowed |= {"style", "kind", "type", "mode"} if line.value.startswith("Self::") else set()
    bare = last_part(line.name) or line.name
    explaining = (*words, *request.optional, *request.mentioned, *request.setting, *request.verbs)
    # The fields of a record of Haskell begin with the letters of its name: `foWikiLinkCount`.
    bare = re.sub(r"^[a-z]{1,3}(?=[A-Z])", "", bare) if line.path.endswith(".hs") else bare
    # Names of a library in C begin with its name: `REDIS_TIMEOUT` of "hiredis".
    first = next(iter(parts_of(bare)), "")
    project = re.sub(r"\W|\.git$", "", line.target.repository.name.rpartition("/")[2]).lower()
    allowed |= {first} if len(first) > _MIN_WORDS and first in project else set()
    extras = [] if is_named else [part for part in extra_parts(bare, explaining, allowed) if not is_unit(part)]
    is_setting = bool(covered_by_name(request, request.setting, line.name))
    weights = [max((_WEIGHTS[source] for source in covers if word in covers[source]), default=0.0) for word in words]
    share = sum(weights) / len(words) if words else 1.0
    has_all_in_name = len(covered_by(words, line.name, related=False)) == len(words)
    return ValueFit(
        line,
        share + _OF_SETTING * is_setting + _OF_HEAD * bool(request.head & covers["name"]) - _OF_EXTRA * len(extras),
        own_words(covers) | (frozenset(words) if is_setting and not words else frozenset()),
        covers["texts"] - covers["name"] - covers["keys"] - covers["path"],
        is_named,
        is_named or _is_candidate(request, line, covers, extras, is_setting=is_setting),
        len(extras),
        spread_of(words, line.path),
        0 if line.match is not None else len(extra_parts(line.keys, explaining, allowed)),
        verbs_in(request, line),
        request.is_default and "default" in parts_of(line.name) and not extras and has_all_in_name and len(words) > 1,
        bool(words) and has_all_in_name,
        _words_in_line(covers) == own_words(covers),
        is_of_dimension(request, parts_of(line.name)),
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
    if _is_of_function(request, line) or (not extras and (_is_verb(request, line) or _is_of_named(request, line))):
        return True
    if request.is_default and _is_of_one_class(request, line):
        return False
    covered = own_words(covers)
    is_described = bool(covers["name"] or covers["texts"] or is_setting)
    is_described = is_described or bool(covers["value"] and covered_by_name(request, request.head, line.name))
    if not is_described or not has_head(request, line, covers):
        return False

    lacking = [word for word in words if word not in covered]
    in_name = covered_by((*words, *request.verbs), line.name, related=False)
    is_near = all(word in covers["documentation"] or word in covers["near"] for word in lacking)
    # Of many words, one may be anywhere in the file.
    is_near = is_near or (len(words) > _MIN_WORDS and bool(covers["name"] and (covers["texts"] or covers["keys"])))
    # One word of three or more may be that of the function or of its documentation; so may one beside what isn't given.
    is_enough = len(words) >= _MIN_WORDS or is_of_setting(request, line)
    if len(lacking) > 1 or (lacking and not (is_near and in_name and is_enough)):
        return False

    # A name with other words is described by its comment or help alone.
    bare = last_part(line.name) or line.name
    is_described = bool(covers["texts"]) and len(covers["texts"] | covers["name"]) > 1
    is_described = is_described and bool(covers["name"] or MEASURES & request.nouns & set(parts_of(bare)))
    # One word alone may mean anything that is related to it, but for the help of an option that has the verb, too.
    is_helped = is_told(request, line) and bool(request.nouns & set(parts_of(bare)))
    is_form_of_name = len(words) != 1 or is_setting or is_helped or _has_form(words[0], bare)
    is_form_of_name = is_form_of_name or limits_verb(request, line) or bool(covers["value"])
    is_vague = not is_form_of_name or (len(words) == 1 and not is_setting and bool(extras))
    is_other = _is_of_another_thing(request, line, covers, extras)
    if is_vague or is_other or (extras and (len(extras) > _MAX_EXTRAS or not is_described)):
        return False
    return _is_specific(request, line, covers)


def _is_of_another_thing(
    request: ValueRequest, line: ValueLine, covers: Mapping[str, frozenset[str]], extras: Sequence[str]
) -> bool:
    """Return whether a part of a name, or its value, says that a line is about something else than its other words."""
    # What isn't destroyed with a public block is no block of what is public.
    if request.kind == "truth" and not _NEGATING.isdisjoint(extras):
        return True
    # The least size is no default one.
    if not request.bound and not {"min", "minimum"}.isdisjoint(parts_of(last_part(line.name) or line.name)):
        return True
    # The version of a formatter is none of its language.
    if is_hidden(line.path) and not set(request.words) <= _words_in_line(covers) | set(parts_of(line.path)):
        return True
    # What an option or a field without a value is set to is said to be its default by its form.
    if not is_option(line) and is_counter(line.name, line.value):
        return True
    return is_counterpart({*request.words, *request.optional, *request.mentioned, *request.verbs}, line.name)


def _words_in_line(covers: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the words that a line itself covers, without those of its path."""
    return own_words({**covers, "path": frozenset()})


def _is_of_function(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a line is the measured parameter of the function that is named: "how long a fetch takes"."""
    function = line.match.parameter_of if line.match is not None else None
    is_measure = bool(request.nouns) and set(parts_of(line.name)) <= request.nouns
    if function is None or not is_measure or not request.measure:
        return False
    asked_words = {*request.words, *request.verbs}
    return set(parts_of(function.name)) == asked_words


def is_hidden(path: str) -> bool:
    """Return whether a file is that of a tool, such as ``.scalafmt.conf``."""
    return path.rpartition("/")[2].startswith(".")


def _is_verb(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether an option is called what a question asks whether it is done: "does a panel expand"."""
    is_done = bool(request.verbs) and set(parts_of(line.name)) <= set(request.verbs)
    is_prepared = line.match is not None and (line.match.parameter_of is not None or is_option(line))
    keys = covered_by(request.words, f"{line.keys} {line.text}", related=False)
    return request.kind == "truth" and is_done and is_prepared and len(keys) == len(request.words)


def _is_of_named(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a member of a named class is the requested thing: "how many files does `Rotation` keep"."""
    is_head = bool(request.head) and request.head <= covered_by_name(request, request.head, line.name)
    return not request.words and bool(request.names) and is_head and request.kind != "thing"


def _is_of_one_class(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a constant belongs to a class that a question says nothing of: it is no default of all."""
    match = line.match
    if match is None or match.binding.form != "assigned" or not line.name.isupper() or match.is_called_default:
        return False
    holder = next((holder for holder in match.holders if holder.kind not in FUNCTION_KINDS), None)
    explaining = (*request.words, *request.optional, *request.mentioned, *request.verbs, *request.repository_words)
    parts = parts_of(holder.name) if holder is not None else []
    return bool(parts) and not (_OF_SETTINGS & set(parts)) and not covered_by(explaining, " ".join(parts))


def is_of_setting(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a name is what isn't given, and nothing else: ``resolver`` of "when no resolver is given"."""
    return bool(request.setting) and all(
        is_unit(part) or any(is_form(word, part) for word in request.setting) for part in parts_of(line.name)
    )


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
    if not _names_head(request, line, covers["value"]):
        return False

    in_name = covered_by((*words, *request.setting, *request.verbs), line.name, related=False)
    exact_words = in_name.union(*(covered_by(words, text, related=False) for text in (line.text, line.keys, line.path)))
    exact_words = (exact_words | covers["value"]) & {*words, *request.verbs}
    related_words = own_words(covers)
    # Most words that the name, the texts, the keys and the path lack are about something else.
    is_few = len(exact_words) * 2 < len(words) or len(related_words) * 3 < len(words) * 2
    if is_few and not (in_name and is_of_setting(request, line)):
        return False

    if len(words_of_file(request, line)) == len(words):
        return True
    if not in_name and is_option(line) and request.nouns & set(parts_of(line.name)):
        # The help of an option that counts, or that says how long something takes.
        has_help = len(words) > 1 or is_told(request, line)
        return has_help and len(related_words) == len(words) and bool(exact_words)
    if not in_name:
        shows_kind = request.kind in {"time", "port"} and _SHOWN_KIND.fullmatch(line.value.strip("\"'`")) is not None
        has_all = len(exact_words) > 1 and len(related_words) == len(words)
        return len(words) > 1 and (len(exact_words) >= _MIN_DESCRIBED or has_all or (bool(exact_words) and shows_kind))
    return len(words) > 1 or _is_marked(request, line)


def _names_head(request: ValueRequest, line: ValueLine, of_value: frozenset[str]) -> bool:
    """Return whether a name ends with the requested thing: a multiplier of the sample rate is no rate."""
    # An option may have one letter, and its name in its texts.
    name = line.name if len(line.name) > 1 else line.text
    in_head = covered_by_name(request, request.head, name)
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
    is_enum = line.value.startswith("Self::")
    return is_enum or not (in_head and parts) or parts[-1] in _ENDS or bool(covered_by(explaining, parts[-1]))


def _is_marked(request: ValueRequest, line: ValueLine) -> bool:
    """Return whether a name of one word of the question says that it is a default, a switch or a measure."""
    parts = set(parts_of(line.name))
    is_switch = request.kind == "truth" and bool(parts & _SWITCHES)
    further = (*request.verbs, *request.optional)
    is_done = bool(covered_by(further, line.name, related=False)) or is_told(request, line)
    match = line.match
    # "The default number of lines" of the only parameter or option of this name.
    is_parameter = match is not None and match.parameter_of is not None
    is_asked = "default" in request.optional and (is_option(line) or is_parameter)
    is_called_default = match is not None and (match.is_called_default or default_function(match.holders) is not None)
    is_called_default = is_called_default or "default" in parts or _OF_DEFAULTS.search(line.keys) is not None
    return is_called_default or is_switch or is_done or is_asked or bool(parts & request.nouns) or bool(request.setting)
