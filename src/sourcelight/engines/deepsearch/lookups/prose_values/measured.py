"""Defaults of a function whose parameter a question only describes: "how many times does `retry` try?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.defaults import find_parameter_default, heads_of
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, best_locations
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, with_overloads
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import is_measure
from sourcelight.engines.deepsearch.lookups.prose_values.names import has_word, is_same, words_in_name
from sourcelight.engines.deepsearch.lookups.prose_values.question import ValueQuestion
from sourcelight.engines.deepsearch.source.values import parameters_of
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of

_OWNER = r"(?P<owner>`[^`\n]{1,80}`|[A-Za-z_][\w.:]{1,80})"
_NOUNS = r"(?P<nouns>[a-z][\w-]{2,40}(?:\s+[a-z][\w-]{2,40}){0,2})"
_MEASURED = re.compile(
    rf"\b(?P<kind>how\s+(?:many|much)|what|which)\s+{_NOUNS}\s+(?:does|do|will|can|may)\s+(?:the\s+)?{_OWNER}",
    re.IGNORECASE,
)
_LASTING = re.compile(rf"\bhow\s+long\s+(?:does|do|will|can|may)\s+(?:the\s+)?{_OWNER}\s+\w+", re.IGNORECASE)
_DONE = re.compile(
    rf"\W*(?:does|do|will)\s+(?:the\s+)?{_OWNER}\s+(?P<words>[a-z][\w -]{{2,80}}?)\s+by\s+default\W*$", re.IGNORECASE
)
_TIMES = frozenset({"timeout", "delay", "duration", "wait", "interval", "ttl"})
"""Parts of names that say how long something takes."""
_MAX_HEADS, _DOCUMENTED_LINES = 6, 80


def find_measured_default(work: Work, question: ValueQuestion, queries: list[str]) -> Finding | None:
    """Return the default of the only parameter that a question about a function describes; None for none or several.

    The parameter has the words behind "how many" or "which" in its name, or in the line of the documentation that is
    about it. "How long" asks for a timeout, and "does it trim lines" for a parameter that is true or false.
    """
    texts = work.texts
    description = _read_description(" ".join(work.inquiry.words.split())) if question.is_default else None
    if description is None:
        return None

    locations = best_locations(find_definitions(work, description.owner, queries, unparsed=True))
    if not locations or len(locations) > _MAX_HEADS:
        return None

    by_name: set[str] = set()
    by_text: set[str] = set()
    for location in locations:
        for head in with_overloads(texts, heads_of(texts, location)):
            lines = texts.lines(head.target, head.path)
            read = parameters_of(lines, head.definition.name, head.definition.line, head.path)
            parameters = [item for item in (read[0] if read is not None else ()) if description.accepts(item.value)]
            names = [item.name.lstrip("$") for item in parameters]
            by_name |= {name for name in names if _is_described(question, description, name)}
            if description.kind in {"number", "thing"}:
                text = _documentation(lines, head)
                by_text |= {name for name in names if _is_about(text, name, description.words)}

    candidates = by_name or by_text
    if len(candidates) != 1:
        return None

    return find_parameter_default(work, locations, candidates.pop(), description.owner, queries)


@dataclass(frozen=True, slots=True)
class _ParameterQuestion:
    """A function, and what a question says of one of its parameters.

    The kind is ``number``, ``thing``, ``time`` or ``choice``, by the values that may answer.
    """

    owner: str
    kind: str
    words: tuple[str, ...]

    def accepts(self, value: str) -> bool:
        """Return whether a default may answer the question."""
        is_choice = value.casefold() in {"true", "false"}
        if self.kind == "choice":
            return is_choice
        if self.kind in {"thing", "time"}:
            return bool(value) and not is_choice
        return _is_number(value)


def _read_description(text: str) -> _ParameterQuestion | None:
    """Read a question for a parameter that it doesn't name; None for another one."""
    match = _LASTING.search(text)
    if match is not None:
        return _ParameterQuestion(_bare(match["owner"]), "time", ())

    match = _DONE.match(text)
    if match is not None:
        words = tuple(word for word in match["words"].lower().split() if word not in FUNCTION_WORDS or word == "all")
        return _ParameterQuestion(_bare(match["owner"]), "choice", words)

    match = _MEASURED.search(text)
    if match is None:
        return None

    kind = "number" if match["kind"].lower().startswith("how") else "thing"
    return _ParameterQuestion(_bare(match["owner"]), kind, tuple(match["nouns"].lower().split()))


def _bare(owner: str) -> str:
    return owner.strip("`").removesuffix("()")


def _is_described(question: ValueQuestion, description: _ParameterQuestion, name: str) -> bool:
    """Return whether the name of a parameter is what a question describes."""
    parts = parts_of(name)
    if description.kind == "time":
        return any(part in _TIMES for part in parts)
    if description.kind != "choice":
        return all(any(is_same(noun, part) for part in parts) for noun in description.words)

    choice = replace(question, words=description.words, further=(), head=frozenset(), names=(), bound="")
    present = words_in_name(choice, name)
    if not present:
        return False

    # "Fetch all rows" is `fetchall`: the last noun may be what the function has anyway.
    missing = [word for word in description.words if word not in present]
    return not missing or (len(missing) == 1 < len(present) and missing[0] == description.words[-1])


def _is_number(value: str) -> bool:
    """Return whether a default may be a number: a text is none."""
    return bool(value) and is_measure(value) and value[0] not in "\"'`"


def _documentation(lines: Sequence[str], head: DefinitionLocation) -> Sequence[str]:
    """Return the comments above a head, and the lines below it, where a docstring is."""
    definition = head.definition
    start = max(comment_start(lines, definition.begin_line - 1), definition.begin_line - 1 - _DOCUMENTED_LINES)
    end = max(definition.end_line, definition.line)
    return lines[start : min(end, definition.line + _DOCUMENTED_LINES)]


def _is_about(lines: Sequence[str], name: str, nouns: Sequence[str]) -> bool:
    """Return whether a line of documentation begins with a parameter and has some words behind it."""
    item = re.compile(
        rf"[\s*#'/-]{{0,12}}(?:[@:]?param\s+)?(?:\{{[^{{}}]{{0,40}}\}}\s*)?[`*]{{0,2}}{re.escape(name)}[`*]{{0,2}}"
        r"\s*(?:\([^()]{0,40}\))?\s*(?::|-|\u2013|\s)(?!\s*=)(?P<text>.*)"
    )
    texts = [match["text"] for line in lines if len(line) <= 300 and (match := item.match(line)) is not None]
    return any(all(has_word(text, noun) for noun in nouns) for text in texts if "=" not in text)
