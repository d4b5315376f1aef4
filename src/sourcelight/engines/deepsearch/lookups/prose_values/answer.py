"""Answer a question for a value that it describes: find the only value whose name and surroundings have its words.

Every word of the question must be in the name of the value, in the names around it (file, class, function), or in
the comments about it, and the name has no word of its own. Several values leave the question to the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE
from sourcelight.engines.deepsearch.lookups.defaults import state_values
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate
from sourcelight.engines.deepsearch.lookups.initial_values import spreads
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, Binding, read_bindings
from sourcelight.engines.deepsearch.lookups.prose_values.documents import find_stated, is_null
from sourcelight.engines.deepsearch.lookups.prose_values.question import (
    ValueQuestion,
    has_noun,
    has_word,
    read_value_question,
    search_words,
    words_in_name,
)
from sourcelight.engines.deepsearch.lookups.recount import code_lines
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_ROWS, _MAX_CANDIDATES, _MAX_FILES = 12_000, 240, 80
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_CONSTRUCTORS = frozenset({"__init__", "initialize", "constructor", "__construct", "init", "new"})
_PREPARED = re.compile(r"default|dflt|setting|initial", re.IGNORECASE)
_COMMENT_ABOVE = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|\"\"\"|''')")
_TRAILING = re.compile(r"(?://|/\*|\s#|\s--\s|\s;;?\s)(.*)")
_AROUND_LINES, _HEAD_LINES, _COMMENT_LINES = 12, 40, 200


@dataclass(slots=True)
class _BindingMatch:
    """A binding that may be the answer, with the words of the question that its names and its comments have."""

    binding: Binding
    target: Target
    path: str
    line: int
    in_name: frozenset[str]
    holders: list[Definition] = field(default_factory=list)
    parameter_of: Definition | None = None
    in_names_around: frozenset[str] = frozenset()
    is_prepared: bool = False
    is_whole: bool = False
    is_named: bool = False


def find_prose_value(work: Work, queries: list[str], notes: list[str]) -> Finding | None:
    """Return the value that a question describes; None if it describes none, or several that no line tells apart."""
    repository_names = {re.split(r"[/+]", pin.repository)[-1] for pin in work.inquiry.pins}
    question = read_value_question(work.inquiry.scope.remaining_text or work.inquiry.question, repository_names)
    if question is None:
        return None
    texts = FileTexts(work.context)
    matches = _find(work, texts, question, queries, notes)
    best = _best(question, [item for item in matches if item.is_whole])
    values = {item.binding.value for item in best}
    is_stated = len(values) == 1 and not _has_rival(question, best[0], matches)
    if question.is_default and (not is_stated or is_null(best[0].binding.value)):
        # "None" in code often means that something else sets it.
        documented = find_stated(work, texts, question, queries, notes)
        if documented and not is_null(documented[0].value):
            return state_values(work, documented, documented[0].subject, "value", queries, notes, verb="is")
        is_stated = is_stated and bool(question.names)
    if not is_stated:
        return None
    first = best[0]
    candidates = [_candidate(texts, item) for item in best if item.binding.name == first.binding.name]
    subject = candidates[0].subject
    verb = "is" if subject.startswith("The ") else "is set to"
    return state_values(work, candidates, subject, "value", queries, notes, verb=verb)


def _find(
    work: Work, texts: FileTexts, question: ValueQuestion, queries: list[str], notes: list[str]
) -> list[_BindingMatch]:
    """Return the bindings whose names have no other words than the question, and whose surroundings have the rest."""
    matches: list[_BindingMatch] = []
    for row in _rows(work, question, queries, notes):
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
            code_by_file[key] = {number for number, _ in code_lines(texts, work, *key)}
        is_code = item.line in code_by_file[key]
        if item.binding.form == "macro":
            # Lines of the preprocessor look like comments of other languages.
            is_code = not _in_block_comment(texts.lines(item.target, item.path), item.line)
        if is_code and _look_around(texts, question, item):
            code_matches.append(item)
    return code_matches


def _has_rival(question: ValueQuestion, best: _BindingMatch, matches: Sequence[_BindingMatch]) -> bool:
    """Return whether the name of another value has more words of the question, though the code around it lacks some."""
    return any(
        not item.is_whole
        and best.in_name < item.in_name
        and (item.is_prepared or not question.is_default)
        and item.binding.value != best.binding.value
        for item in matches
    )


def _in_block_comment(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is in a comment of C that began above it."""
    for text in reversed(lines[max(0, number - 1 - _COMMENT_LINES) : number - 1]):
        opening, closing = text.rfind("/*"), text.rfind("*/")
        if opening != closing:
            return opening > closing
    return False


def _rows(work: Work, question: ValueQuestion, queries: list[str], notes: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of code that bind a name which may be meant."""
    words = [escape_regexp(word) for word in search_words(question)]
    words += [escape_regexp(re.split(r"\.|::|->|#", name)[-1]) for name in question.names]
    if not words:
        return
    any_word = f"(?:{'|'.join(dict.fromkeys(words))})"
    pattern = rf"{any_word}[\w.-]*[\"'\])]{{0,3}}(?:\s*[=:|?<,(\[{{-]|\s+[\"'\w@(\[{{?|:=*])"
    searches = make_queries(work, f"case:no type:file /{pattern}/")
    queries += searches
    rows = [row for row in run_searches(work, searches, notes) if row["type"] == "content"]
    rows = [row for row in rows if rank_of(row["path"]) == 0 and len(row["line"] or "") <= MAX_LINE]
    rows = [row for row in rows if language_of(row["path"]) not in NO_CODE and not DOCUMENTS.search(row["path"])]
    if len(rows) <= _MAX_ROWS:
        yield from rows


def _match(question: ValueQuestion, binding: Binding, target: Target, path: str, line: int) -> _BindingMatch | None:
    """Return a binding whose name may be meant: it is written in the question, or has no other words."""
    bare = binding.name.lstrip("@$")
    if any(bare == re.split(r"\.|::|->|#", name)[-1].lstrip("@$") for name in question.names):
        return _BindingMatch(binding, target, path, line, frozenset(question.words), is_named=True)
    present = words_in_name(question, binding.name)
    is_measured = has_noun(question, binding.name)
    if present is None or (question.head and not present & question.head and not is_measured):
        return None
    if not (present or is_measured or question.bound):
        return None
    return _BindingMatch(binding, target, path, line, present)


def _look_around(texts: FileTexts, question: ValueQuestion, item: _BindingMatch) -> bool:
    """Set where a binding is, and whether the code around it has the other words; return whether it may be meant."""
    lines = texts.lines(item.target, item.path)
    definitions = texts.definitions(item.target, item.path)
    around = [
        definition
        for definition in (definitions.definitions() if definitions is not None else ())
        if definition.begin_line <= item.line <= definition.end_line and definition.name != item.binding.name
    ]
    item.holders = sorted(around, key=lambda definition: definition.end_line - definition.begin_line)
    if item.binding.form in {"assigned", "entry"} and _read_bracket(lines, item):
        return False
    names = [item.path, *(f"{holder.name} {holder.container}" for holder in item.holders)]
    if item.parameter_of is not None:
        names.append(item.parameter_of.name)
    names.append(lines[item.line - 1][: item.binding.column])
    item.is_prepared = _is_prepared(lines, item, names)
    name_text = " ".join(names)
    item.in_names_around = frozenset(word for word in question.words if has_word(name_text, word))
    owners = [name for name in question.names if not _is_last(name, item.binding.name)]
    if not all(_has_name(name_text, owner) for owner in owners):
        return False
    missing = [word for word in question.words if word not in item.in_name and word not in item.in_names_around]
    comments = _comments_about(lines, item) if missing else ""
    item.is_whole = item.is_named or all(has_word(comments, word) for word in missing)
    return True


def _is_last(name: str, bound: str) -> bool:
    return re.split(r"\.|::|->|#", name)[-1].lstrip("@$") == bound.lstrip("@$")


def _has_name(text: str, name: str) -> bool:
    return all(
        re.search(rf"(?<![A-Za-z\d]){re.escape(part)}(?![A-Za-z\d])", text, re.IGNORECASE) is not None
        for part in re.split(r"\.|::|->|#", name)
        if part
    )


_FUNCTION_HEAD = re.compile(
    r"\b(?:func|function|def|defp|defmacro|fn|fun|sub|proc)\s+(?:\([^()]*\)\s*)?(?:[\w.]+[.:])?(?P<name>\w+[!?]?)\s*"
    r"(?:<[^<>]*>|\[[^\[\]]*\])?\s*$|(?P<named>[\w.]+)\s*(?:<-|[:=])\s*(?:async\s+)?function\s*$"
    r"|\b(?P<init>init|constructor|__construct)[?!]?\s*(?:<[^<>]*>)?\s*$"
)
_CALLED = re.compile(r"[\w\])]\s*(?:<[^<>]*>)?\s*$")
_OF_CONDITION = re.compile(
    r"\b(?:if|elif|while|for|foreach|switch|unless|until|catch|return|when|in|and|or|not|const|var|let|import|type)\s*$"
)
_REGISTERING = re.compile(r"(?i)(?:option|config|setting|default|flag|attr|field|column|property|param)\w*[.!]?\s*$")


def _read_bracket(lines: Sequence[str], item: _BindingMatch) -> bool:
    """Set the function in whose list of parameters a binding stands; return whether it is in a call instead.

    A call gives a value for itself alone, unless it registers a setting.
    """
    depth = 0
    for number in range(item.line, max(0, item.line - _HEAD_LINES), -1):
        text = lines[number - 1][: item.binding.column] if number == item.line else lines[number - 1][:MAX_LINE]
        for position in range(len(text) - 1, -1, -1):
            letter = text[position]
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                before = text[:position]
                if letter != "(":
                    return False
                head = _FUNCTION_HEAD.search(before)
                name = next((group for group in head.groups() if group), "") if head is not None else ""
                holder = next(
                    (other for other in item.holders if other.kind in _FUNCTIONS and other.line == number), None
                )
                if holder is None and name:
                    holder = Definition(name, "function", "", 0, number, number, item.line)
                if holder is not None and (name or re.search(rf"{re.escape(holder.name)}\s*(?:<[^<>]*>)?\s*$", before)):
                    item.parameter_of = holder
                    return False
                if _OF_CONDITION.search(before) is not None or _REGISTERING.search(before) is not None:
                    return False
                return _CALLED.search(before) is not None
    return False


def _is_prepared(lines: Sequence[str], item: _BindingMatch, names: Sequence[str]) -> bool:
    """Return whether a binding is what holds if no one sets another value.

    It is called a default or a setting, is a constant of the file or a class, or is set where the name has no value.
    """
    if item.parameter_of is not None or item.binding.form in {"fallback", "macro"}:
        return True
    opening = _opening_line(lines, item)
    if any(_PREPARED.search(text) is not None for text in (item.binding.name, *names, opening)):
        return True
    if item.binding.form == "entry":
        # A literal that takes over what someone sets has the defaults; another one has values of any kind.
        return spreads(lines, item.line - 1) or re.search(r"\.\.\.\s*\w|\bassign\(|\bmerge\w*\(", opening) is not None
    bare = item.binding.name.lstrip("@$")
    above = lines[max(0, item.line - 3) : item.line - 1]
    if any(re.match(r"\s*(?:\}\s*)?(?:if|unless|when|elif|else\s+if)\b", text) and bare in text for text in above):
        return True
    around = next((holder for holder in item.holders if holder.kind in _FUNCTIONS), None)
    if around is not None and (around.kind == "constructor" or around.name in _CONSTRUCTORS):
        return True
    return not any(holder.kind in _FUNCTIONS or holder.kind == "enum" for holder in item.holders)


def _opening_line(lines: Sequence[str], item: _BindingMatch) -> str:
    """Return the line that opens the literal around an entry; empty outside of one."""
    depth = 0
    for number in range(item.line, max(0, item.line - _HEAD_LINES), -1):
        text = lines[number - 1][: item.binding.column] if number == item.line else lines[number - 1]
        for letter in reversed(text):
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                return text
    return ""


def _comments_about(lines: Sequence[str], item: _BindingMatch) -> str:
    """Return the comments at a binding and above it, those of its function, and its line in their documentation."""
    parts = []
    trailing = _TRAILING.search(lines[item.line - 1][item.binding.column :])
    if trailing is not None:
        parts.append(trailing[1])
    number = item.line - 1
    while number > 0 and item.line - number <= _AROUND_LINES and _COMMENT_ABOVE.match(lines[number - 1]):
        parts.append(lines[number - 1])
        number -= 1
    for holder in item.holders[:2]:
        start = comment_start(lines, holder.begin_line - 1)
        parts += lines[max(start, holder.begin_line - 1 - _HEAD_LINES) : holder.begin_line - 1]
        if holder.kind in _FUNCTIONS or item.parameter_of is not None:
            body = lines[holder.line : min(holder.end_line, holder.line + 3 * _HEAD_LINES)]
            parts += _docstring(body)
    return "\n".join(parts)


def _docstring(body: Sequence[str]) -> list[str]:
    """Return the lines of the first text in three quotation marks of a body."""
    mark, text = "", []
    for line in body:
        matches = re.search(r"\"\"\"|'''", line)
        if not mark and matches is not None:
            mark = matches[0]
            text.append(line)
            if line.count(mark) > 1:
                return text
        elif mark:
            text.append(line)
            if mark in line:
                return text
    return text if mark else []


def _best(question: ValueQuestion, matches: Sequence[_BindingMatch]) -> list[_BindingMatch]:
    """Return the bindings that fit best: named ones, with most words in their names, prepared as defaults."""
    if not matches:
        return []
    # What another candidate is the value of is stated with its own value.
    binding_names = {item.binding.name for item in matches}
    pool = [item for item in matches if item.binding.value not in binding_names] or list(matches)
    if question.is_default:
        pool = [item for item in pool if item.is_prepared]

    def order(item: _BindingMatch) -> tuple[bool, int, int]:
        return item.is_named, len(item.in_name & question.head), len(item.in_name)

    if not pool:
        return []
    best = max(order(item) for item in pool)
    best_matches = [item for item in pool if order(item) == best]
    if len({item.binding.value for item in best_matches}) > 1:
        # Of several values of one name, the one in the named file or class is meant.
        best_matches = [item for item in best_matches if _is_located(question, item)] or best_matches
    return best_matches


def _is_located(question: ValueQuestion, item: _BindingMatch) -> bool:
    """Return whether the question has words beside the name, and all of them are in the names around."""
    words = set(question.words) if item.is_named else set(question.words) - item.in_name
    return bool(words) and item.in_names_around >= words


def _candidate(texts: FileTexts, item: _BindingMatch) -> ValueCandidate:
    binding = item.binding
    evidence = texts.evidence(item.target, item.path, item.line, binding.end_line, "definition", 1.0, (binding.name,))
    holders: list[DefinitionLocation] = []
    if item.parameter_of is not None:
        subject = f"The default of {code(binding.name)} of {code(item.parameter_of.name)}"
        holders = [DefinitionLocation(item.target, item.path, item.parameter_of)]
    elif binding.form == "fallback":
        subject = f"The default of {code(binding.name)}"
    else:
        subject = code(binding.name)
    verb = "is" if subject.startswith("The ") else "is set to"
    return ValueCandidate(
        binding.value, subject, item.path, [evidence], 0, item.target.repository.name, verb, locations=holders
    )
