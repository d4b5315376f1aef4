"""Answer a question for a value that it describes: find the only value whose name and surroundings have its words.

Every word of the question must be in the name of the value, in the names around it (file, class, function), or in
the comments about it, and the name has no word of its own. Several values leave the question to the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE
from sourcelight.engines.deepsearch.lookups.defaults import follow_constant, state_values
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate, verb_after
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, Binding, is_measure, read_bindings
from sourcelight.engines.deepsearch.lookups.prose_values.comments import in_block_comment
from sourcelight.engines.deepsearch.lookups.prose_values.documents import contradicts, find_stated, is_null
from sourcelight.engines.deepsearch.lookups.prose_values.measured import find_measured_default
from sourcelight.engines.deepsearch.lookups.prose_values.names import (
    OF_TESTS,
    asks_whether,
    count_small_words,
    default_function,
    has_noun,
    is_key,
    is_same,
    is_unit,
    is_written,
    last_part,
    owner_of,
    search_words,
    words_in_name,
)
from sourcelight.engines.deepsearch.lookups.prose_values.question import ValueQuestion, read_value_question
from sourcelight.engines.deepsearch.lookups.prose_values.surroundings import (
    BindingMatch,
    is_of_case,
    is_set_in_shell,
    look_around,
    sets_again,
    without_second_readings,
)
from sourcelight.engines.deepsearch.lookups.recount import code_lines
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of

_MAX_ROWS, _MAX_CANDIDATES, _MAX_FILES = 12_000, 240, 80

_MARKUP = re.compile(
    r"\.(?:razor|cshtml|html?|xhtml|xaml|axaml|xml|svg|erb|jsp|aspx|j2|tpl|tmpl|mustache|proto)$", re.IGNORECASE
)
"""Documents whose attributes are arguments."""
_YES_OR_NO = re.compile(r"\W*(?:is|are|does|do|will)\b", re.IGNORECASE)
_ASKS_FOR_THING = re.compile(
    r"\W*(?:(?:at|on|in|with|from|to|for|after|up\s+to)\s+)?(?:which|how|what\s+(?!is\b|are\b|was\b|does\b|do\b)\w)",
    re.IGNORECASE,
)
"""A question for a number or a thing, which neither "true" nor "false" answers."""
_TYPED_OPTION = re.compile(r"(?<![\w-])--[A-Za-z]")
"""An option as a command line has it."""
_ENDS_WITH_TIME = re.compile(
    r"(?<!at a )\btime(?=\s*(?:$|[?.,]|(?:of|for|in|by|before|between|after|until|per|to)\b))", re.IGNORECASE
)
_TIME = re.compile(
    r"time|durat|delay|second|minute|hour|milli|period|interval|expir|ttl|(?<![a-z])(?:ms|secs?|age|wait|days?|until)(?![a-z])",
    re.IGNORECASE,
)
"""Words of a name or a value that is a time."""
_OF_MEASURE = re.compile(
    r"(?i:\b(?P<measure>size|width|height|length|limit|count|depth|timeout|delay|interval|capacity)"
    r"(?:\s+(?:set|defined|configured|by\s+default))?\W*$)"
)
"""The end of a question for a measure, which no text without a number is."""
_WORD_OR_TEXT = re.compile(r"[\"'`]\D*|:?[a-z]+")
_BOOLEANS = frozenset(
    ["true", "false", "yes", "no", "on", "off", "0", "1", "t", "nil", "none", "null", "undefined", "f"]
)


def find_prose_value(work: Work, name: str = "", owner: str = "", setting: str = "") -> Finding | None:
    """Return the value that a question describes; None if it describes none, or several that no line tells apart.

    Parameters
    ----------
    work
        The question, and the repositories.
    name
        The name that the question gives, which no other name may replace: `char` is not `charset`. Empty for none.
    owner
        The class or function that the question gives, which must be around the value. A word of prose counts as all
        others do.
    setting
        The name of a setting of this owner, which may be a word of the form of a question, such as "mode".
    """
    queries: list[str] = []
    work = work.without_notes()
    question = read_value_question(work.inquiry.words, work.inquiry.pins.short_names)
    if question is None:
        return None
    # What words alone describe is left to `value_lines`.
    if not (question.names or name or owner or setting):
        return None

    # "Options" is a word of the form of a question, but here it is the name of a class.
    if re.fullmatch(r"[A-Z]\w*", owner) is not None:
        further = [text for text in (setting, owner) if text and text not in question.names]
        further = [text for text in further if text == owner or text.lower() not in question.words]
        question = replace(question, names=(*question.names, *further))

    matches = [item for item in _find(work, question, queries) if not _is_alias(item, owner, setting)]
    best = _best(question, [item for item in matches if item.is_whole])
    values = {item.binding.value for item in best}

    # One name that has two values in two places is both.
    names = {item.binding.name for item in best}
    # Parameters of a name in several functions are several things.
    are_constants = all(_is_constant(item) and item.parameter_of is None for item in best)
    are_several = are_constants or (question.is_default and _are_of_defaults(best))
    is_clear = len(values) == 1 or (1 < len(values) <= MAX_NAMED and len(names) == 1 and are_several)
    is_stated = (
        is_clear
        and not _has_rival(question, best[0], matches)
        and not is_set_in_shell(best[0], matches)
        and not (question.is_default and is_of_case(work.texts, best[0]))
        and _is_asked(question, best[0], name, work.inquiry.question)
    )
    if question.is_default and (not is_stated or is_null(best[0].binding.value)):
        # "None" in code often means that something else sets it.
        documented = find_stated(work, question, queries)
        if documented and _may_answer(question, documented[0], matches, work.inquiry.question):
            return state_values(work, documented, documented[0].subject, queries, verb="is")
        # A variable of the name may be nothing until the option that is typed, such as `--colors`, sets it.
        is_stated = is_stated and bool(question.names) and _TYPED_OPTION.search(work.inquiry.question) is None

    if not is_stated:
        return find_measured_default(work, question, queries)

    first = best[0]
    candidates = [_candidate(work.texts, item) for item in best if item.binding.name == first.binding.name]
    subject, verb = candidates[0].subject, candidates[0].verb
    finding = state_values(work, candidates, subject, queries, verb=verb)
    if len(values) == 1 and verb == "is set to" and sets_again(work.texts, first, matches):
        text = f"{finding.headline.text}; other lines of the file set it, too"
        finding.headline = Statement(text, finding.headline.evidence)
    follow_constant(work, candidates, finding)
    return finding


def _may_answer(
    question: ValueQuestion, documented: ValueCandidate, matches: Sequence[BindingMatch], text: str
) -> bool:
    """Return whether a documented value is of the kind that is asked for, and isn't older than the code."""
    value, subject = documented.value, documented.subject
    if is_null(value) or not _is_of_asked_kind(question, subject, value, text, is_named=bool(question.names)):
        return False

    return not any(
        contradicts(value, item.binding.value)
        for item in matches
        if item.is_prepared and code(item.binding.name.lstrip("@$")) in subject
    )


def _is_alias(item: BindingMatch, owner: str, setting: str) -> bool:
    """Return whether a binding gives an owner another name, which says nothing of its parameter or setting."""
    name, value = item.binding.name, item.binding.value
    is_of_owner = bool(setting) and name == last_part(owner) and setting.casefold() not in owner.casefold()
    is_name = re.fullmatch(r"[A-Za-z_][\w.:']*", value) is not None and value.lower() not in _BOOLEANS
    return is_of_owner and is_name and not is_null(value)


def _are_of_defaults(items: Sequence[BindingMatch]) -> bool:
    """Return whether each binding is in a function of its own that is called a default: of a LAN, of a WAN."""
    functions = [default_function(item.holders) for item in items]
    names = {function.name for function in functions if function is not None}
    return None not in functions and len(names) == len(items)


def _is_asked(question: ValueQuestion, item: BindingMatch, name: str, text: str) -> bool:
    """Return whether a question is for the value of a binding, rather than for something that its words are about."""
    binding = item.binding
    asked_name = "" if " " in name else last_part(name.strip("`@$"))
    if asked_name and binding.name.lstrip("@$").casefold() != asked_name.casefold():
        return False

    is_own_key = (question.is_default or not item.is_named) and is_key(binding.name, binding.value)
    if is_own_key or not _is_of_asked_kind(question, binding.name, binding.value, text, is_named=item.is_named):
        return False

    if question.is_default or item.is_named or question.bound:
        # One word without an owner is the name of many things: a counter or a title is no default.
        is_short = len(parts_of(binding.name)) == 1 and len({*question.words, *question.mentioned}) < 2
        is_vague = is_short and not question.names and not question.nouns
        is_of_anything = is_vague and item.parameter_of is None and binding.form == "assigned"
        return item.is_called_default or not (question.is_default and is_of_anything)

    # What holds if nothing is given is no answer to what is used.
    if item.parameter_of is not None or binding.form == "fallback":
        return False

    # A key of a literal has a value there; a word alone doesn't say that this literal is meant.
    if binding.form == "entry" and not set(question.words) - item.in_name:
        return False

    # A variable of a function has a value for a moment; only its own name asks for that.
    return item.is_prepared


def _is_of_asked_kind(question: ValueQuestion, name: str, value: str, text: str, *, is_named: bool) -> bool:
    """Return whether a value may answer: yes or no to "is it", a measure to "how many", a thing to "which mode"."""
    if _YES_OR_NO.match(text) is not None:
        return value.strip("\"'`").lower() in _BOOLEANS

    # "The max idle time" isn't the number of idle things, nor the number of a state, FETCHING = 2, how long that takes.
    if not has_noun(question, name) and _TIME.search(f"{name} {value}") is None:
        is_lasting = text.lower().startswith("how long") and not is_named
        if is_lasting or _ENDS_WITH_TIME.search(text) is not None:
            return False

    # "How many" has no text without a number for an answer.
    if question.nouns and re.match(r"[\"'`](?!\d)", value) is not None:
        return False

    # The tab itself is no tab size, nor is the name of a pool its size.
    measure = None if is_named else _OF_MEASURE.search(text)
    if measure is not None and _WORD_OR_TEXT.fullmatch(value) is not None:
        return value[0] not in "\"'`" and measure["measure"].lower() in name.lower()

    # "Which delimiters does it detect" isn't whether it detects them.
    return is_named or value.lower() not in {"true", "false"} or not (asks_whether(name) or _ASKS_FOR_THING.match(text))


def _find(work: Work, question: ValueQuestion, queries: list[str]) -> list[BindingMatch]:
    """Return the bindings whose names have no other words than the question, and whose surroundings have the rest."""
    texts = work.texts
    matches: list[BindingMatch] = []
    for row in _rows(work, question, queries):
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue

        lines = texts.lines(target, row["path"])
        number = row["line_number"]
        if not 0 < number <= len(lines):
            continue

        for binding in read_bindings(lines, number, row["path"]):
            item = _match(question, binding, target, row["path"], number)
            if item is not None:
                matches.append(item)

        if len(matches) > _MAX_CANDIDATES:
            return []

    if len({item.path for item in matches}) > _MAX_FILES:
        return []

    code_by_file: dict[tuple[str, str], set[int]] = {}
    code_matches = []
    for item in matches:
        work.inquiry.context.cancellation.check()
        key = item.target.repository.name, item.path
        if key not in code_by_file:
            code_by_file[key] = {number for number, _ in code_lines(work, *key)}

        is_code = item.line in code_by_file[key]
        if item.binding.form == "macro":
            # Lines of the preprocessor look like comments of other languages.
            is_code = not in_block_comment(texts.lines(item.target, item.path), item.line)

        if is_code and look_around(texts, question, item):
            code_matches.append(item)

    return without_second_readings(code_matches)


def _has_rival(question: ValueQuestion, best: BindingMatch, matches: Sequence[BindingMatch]) -> bool:
    """Return whether the name of another value has more words of the question, though the code around it lacks some."""
    return any(
        not item.is_whole
        and best.in_name < item.in_name
        and (item.is_prepared or not question.is_default)
        and item.binding.value != best.binding.value
        for item in matches
    )


def _rows(work: Work, question: ValueQuestion, queries: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of code that bind a name which may be meant."""
    words = [escape_regexp(word) for word in search_words(question)]
    words += [escape_regexp(last_part(name)).replace("-", "[-_]?") for name in question.names]
    if not words:
        return

    any_word = f"(?:{'|'.join(dict.fromkeys(words))})"
    binding = r"[\"'\])}]{0,3}(?:\s*[=:|?<,(\[{-]|\s+[\"'\w@(\[{?|:=*])"
    # The first line of an option that the calls below describe ends with its name; a method may replace what is absent.
    replaced = r"[\"'\])}]{0,3}\.(?:unwrap_or|getOrElse|orElse|map_or)\("
    # A star behind a name of Nim exports it.
    pattern = rf"{any_word}[\w.-]*\*?(?:{binding}|[\"']\)\s*$|{replaced})"
    searches = make_queries(work, f"case:no type:file /{pattern}/")
    queries += searches
    rows = [row for row in run_searches(work, searches) if row["type"] == "content"]
    rows = [row for row in rows if rank_of(row["path"]).is_code and not OF_TESTS.search(row["path"])]
    rows = [row for row in rows if len(row["line"] or "") <= MAX_LINE]
    rows = [row for row in rows if language_of(row["path"]) not in NO_CODE and not DOCUMENTS.search(row["path"])]
    rows = [row for row in rows if not _MARKUP.search(row["path"])]
    if len(rows) <= _MAX_ROWS:
        yield from rows


def _match(question: ValueQuestion, binding: Binding, target: Target, path: str, line: int) -> BindingMatch | None:
    """Return a binding whose name may be meant: it is written in the question, or has no other words."""
    bare = binding.name.lstrip("@$")
    if any(is_written(name, bare) for name in question.names):
        words = frozenset(question.words) - question.conditions
        return BindingMatch(binding, target, path, line, words, is_named=True)

    # Names such as `__hash__` belong to the language, and their words to no question.
    if re.fullmatch(r"__\w+__", bare) is not None or (question.nouns and not is_measure(binding.value)):
        return None

    present = words_in_name(question, binding.name)
    is_measured = has_noun(question, binding.name)
    if present is None or (question.head and not present & question.head and not is_measured):
        return None
    if not (present or is_measured or question.bound):
        return None

    return BindingMatch(binding, target, path, line, present)


def _best(question: ValueQuestion, matches: Sequence[BindingMatch]) -> list[BindingMatch]:
    """Return the bindings that fit best: named ones, with most words in their names, prepared as defaults."""
    if not matches:
        return []

    # What another candidate is the value of is stated with its own value.
    binding_names = {item.binding.name for item in matches}
    origins = [
        item for item in matches if item.binding.value not in binding_names and _last_name(item) not in binding_names
    ]
    pool = origins or list(matches)
    if question.is_default:
        pool = [item for item in pool if item.is_prepared]

    def order(item: BindingMatch) -> tuple[bool, int, int, int]:
        small_words = count_small_words(item.binding.name)
        return item.is_named, len(item.in_name & question.head), len(item.in_name), -small_words

    if not pool:
        return []

    best = max(order(item) for item in pool)
    best_matches = [item for item in pool if order(item) == best]
    if len({item.binding.value for item in best_matches}) > 1:
        # Of several values of one name, the one in the named file or class is meant.
        best_matches = [item for item in best_matches if _is_located(question, item)] or best_matches

    for tie_break in (
        lambda item: _count_written(question, item),
        lambda item: _is_called_default(question, item),
        _is_constant,
        lambda item: _count_exact(question, item),
        lambda item: _is_in_named(question, item),
    ):
        if len({item.binding.value for item in best_matches}) > 1:
            best_score = max(tie_break(item) for item in best_matches)
            best_matches = [item for item in best_matches if tie_break(item) == best_score]

    return best_matches


def _last_name(item: BindingMatch) -> str:
    """Return the last part of a value that is a name with owners: ``Limit`` of ``Settings.Limit``; empty otherwise."""
    value = item.binding.value
    return last_part(value) if re.fullmatch(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+", value) is not None else ""


def _count_written(question: ValueQuestion, item: BindingMatch) -> int:
    """Count the words of a question that a name has as they are written: `env` is a short form of "environment"."""
    parts = parts_of(item.binding.name)
    return sum(word in parts for word in question.words)


def _is_called_default(question: ValueQuestion, item: BindingMatch) -> int:
    """Return 1 for a binding of what is called a default, if a question asks for one, else 0."""
    return int(question.is_default and item.is_called_default)


def _is_constant(item: BindingMatch) -> int:
    """Return 1 for a binding that no function changes, else 0."""
    bare = item.binding.name.lstrip("@$_")
    return int(item.binding.form in {"macro", "fallback"} or item.parameter_of is not None or bare == bare.upper())


def _count_exact(question: ValueQuestion, item: BindingMatch) -> int:
    """Count the words of a question that the names around a binding have as whole parts: "ftp" isn't ``sftp``."""
    names = " ".join([item.path, *(f"{holder.name} {holder.container}" for holder in item.holders)])
    parts = {part for token in re.findall(r"\w+", names) for part in parts_of(token)}
    return sum(word in parts for word in question.words)


def _is_in_named(question: ValueQuestion, item: BindingMatch) -> int:
    """Return 1 for a binding in a class or module whose name has no other words than the question, else 0."""
    words = {*question.words, *question.mentioned}
    names = [holder.name for holder in item.holders if holder.kind not in FUNCTION_KINDS]
    return int(
        any(
            all(is_unit(part) or any(is_same(word, part) for word in words) for part in parts_of(name))
            for name in names
        )
    )


def _is_located(question: ValueQuestion, item: BindingMatch) -> bool:
    """Return whether the question has words beside the name, and all of them are in the names around."""
    words = set(question.words) if item.is_named else set(question.words) - item.in_name
    return bool(words) and item.in_names_around >= words


def _candidate(texts: FileTexts, item: BindingMatch) -> ValueCandidate:
    binding = item.binding
    begin_line = binding.begin_line or item.line
    evidence = [
        texts.evidence(item.target, item.path, first, last, "definition", 1.0, (binding.name,))
        for first, last in ((begin_line, binding.end_line), (binding.declared_line, binding.declared_line))
        if first
    ]
    holders: list[DefinitionLocation] = []
    around = item.parameter_of or default_function(item.holders)
    if around is not None:
        holders = [DefinitionLocation(item.target, item.path, around)]

    if item.parameter_of is not None:
        subject = f"The default of {code(binding.name)} of {code(item.parameter_of.name)}"
    elif binding.form == "fallback":
        subject = f"The default of {code(binding.name)}{owner_of(binding.declared_line, item.holders)}"
    else:
        subject = code(binding.name)

    name, verb = item.target.repository.name, verb_after(subject)
    return ValueCandidate(binding.value, subject, item.path, evidence, 0, name, verb, locations=holders)
