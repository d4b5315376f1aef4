"""Defaults of a function that a question names with what they measure: "how many times does `retry` try?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.defaults import find_parameter_default, heads_of
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, best_locations
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, with_overloads
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import is_measure
from sourcelight.engines.deepsearch.lookups.prose_values.names import has_word, is_same
from sourcelight.engines.deepsearch.lookups.prose_values.question import ValueQuestion
from sourcelight.engines.deepsearch.source.values import parameters_of
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of

_MEASURED = re.compile(
    r"\b(?:how\s+many|how\s+much)\s+(?P<nouns>[a-z][\w-]{2,40}(?:\s+[a-z][\w-]{2,40}){0,2})\s+(?:does|do|will|can|may)\s+(?:the\s+)?"
    r"(?P<owner>`[^`\n]{1,80}`|[A-Za-z_][\w.:]{1,80})",
    re.IGNORECASE,
)
_MAX_HEADS, _DOCUMENTED_LINES = 6, 80


def find_measured_default(
    work: Work, texts: FileTexts, question: ValueQuestion, queries: list[str], notes: list[str]
) -> Finding | None:
    """Return the default of the only parameter that measures what a question counts; None for none or several.

    The parameter has the words behind "how many" in its name, or in the line of the documentation that is about it.
    """
    match = _MEASURED.search(" ".join(work.inquiry.words.split())) if question.is_default else None
    if match is None:
        return None

    owner, nouns = match["owner"].strip("`").removesuffix("()"), match["nouns"].lower().split()
    locations = best_locations(find_definitions(work, owner, "", notes, queries, unparsed=True))
    if not locations or len(locations) > _MAX_HEADS:
        return None

    by_name: set[str] = set()
    by_text: set[str] = set()
    for location in locations:
        for head in with_overloads(texts, heads_of(texts, location)):
            lines = texts.lines(head.target, head.path)
            read = parameters_of(lines, head.definition.name, head.definition.line, head.path)
            names = [item.name.lstrip("$") for item in (read[0] if read is not None else ()) if _is_number(item.value)]
            by_name |= {
                name for name in names if all(any(is_same(noun, part) for part in parts_of(name)) for noun in nouns)
            }
            text = _documentation(lines, head)
            by_text |= {name for name in names if _is_about(text, name, nouns)}

    candidates = by_name or by_text
    if len(candidates) != 1:
        return None

    return find_parameter_default(work, locations, candidates.pop(), owner, queries, notes)


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
