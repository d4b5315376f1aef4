"""Choose the lines that are shown first: by the name that a question asks about, by values, by build files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.passages import PLACES, RelevantPassage
from sourcelight.engines.deepsearch.explanations.subject import (
    Subject,
    asks_environment,
    names_to_compare,
    read_subject,
)
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.places.assigned_values import find_values
from sourcelight.engines.deepsearch.places.build_files import (
    BuildLine,
    asks_own_version,
    find_own_version,
    find_settings,
    may_be_built,
)
from sourcelight.engines.deepsearch.places.code_lines import find_environment, find_named
from sourcelight.engines.deepsearch.redaction import is_hidden_file, redact
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.question import RankQuery

_MIN_VERSION, _MIN_SETTING, _MIN_VALUE = 0.55, 0.8, 0.55
"""Minimum scores of lines that precede ranked passages, set once on questions about six repositories."""
_BLOCK_CHARACTERS = 80
_COUNTS = re.compile(r"\W*(?:how\s+many|number\s+of|count)\b", re.IGNORECASE)
_SKIPPED = re.compile(
    r"\W*(?:why|how\s+(?:does|do|can|is|are|should|would)|what\s+happens|explain|describe|who)\b", re.IGNORECASE
)
"""Questions that a single line of a file can't answer."""


def find_places(work: Work, question: RankQuery, idf: Mapping[str, float]) -> list[RelevantPassage]:
    """Return the lines that a question points at, best first; none if it points at none.

    Parameters
    ----------
    work
        The request under way.
    question
        The analyzed question.
    idf
        How rare each of its terms is.
    """
    subject = read_subject(work.inquiry.question, question, idf)
    passages = _find_named(work, subject, question.files)
    if passages:
        return passages
    if _SKIPPED.match(subject.text) is not None or not subject.weights:
        return []
    if asks_own_version(subject, work.names):
        return _show_lines(work.texts, find_own_version(work))

    settings = find_settings(work, subject) if may_be_built(subject) else []
    least = _MIN_VERSION if subject.asks_version else _MIN_SETTING
    best = [line for line in settings if line.score >= least and (line.is_version or not subject.asks_version)]
    if best:
        return _show_lines(work.texts, best)

    # "How many classes" counts, "how many retries by default" asks for a value.
    is_value = subject.asks_default or (subject.asks_value and _COUNTS.match(subject.text) is None)
    return _passages(work, find_values(work, subject, question.names, _MIN_VALUE)) if is_value else []


def _find_named(work: Work, subject: Subject, files: Sequence[str]) -> list[RelevantPassage]:
    """Return the lines with the names of a question: variables of the environment, two to compare, or one."""
    if asks_environment(subject.text):
        return _passages(work, find_environment(work, subject))

    if compared := names_to_compare(subject.text)[:PLACES]:
        rows_by_name = (find_named(work, replace(subject, relation="define", name=name)) for name in compared)
        heads = [head for rows in rows_by_name if (head := next(iter(rows), None)) is not None]
        if len(heads) > 1:
            return _passages(work, heads)

    return _passages(work, find_named(work, subject, files)) if subject.relation else []


def _show_lines(texts: FileTexts, lines: Iterable[BuildLine]) -> list[RelevantPassage]:
    passages: list[RelevantPassage] = []
    for line in lines:
        if len(passages) == PLACES:
            break
        passages.append(_passage(texts, line.target, line.path, line.line, _reason(line)))
    return passages


def _reason(line: BuildLine) -> str:
    """Name the block of a line, since `default = true` alone says nothing; else say no more than the line shows."""
    if line.block:
        return f"is in {code(redact(line.block)[:_BLOCK_CHARACTERS])}"
    if line.is_whole:
        return "sets it"
    # The line of another package may have one word of the question.
    return "has a version" if line.is_version else "has words of the question"


def _passages(work: Work, rows: Iterable[tuple[Mapping[str, Any], str]]) -> list[RelevantPassage]:
    passages: list[RelevantPassage] = []
    for row, reason in rows:
        target = work.inquiry.pins.of(row["repository"])
        if target is None or is_hidden_file(row["path"]):
            continue
        passages.append(_passage(work.texts, target, row["path"], row["line_number"], reason))
        if len(passages) == PLACES:
            break

    return passages


def _passage(texts: FileTexts, target: Target, path: str, line: int, reason: str) -> RelevantPassage:
    evidence = texts.read_line(target, path, line)
    return RelevantPassage(evidence, "", reason, (), is_line=True)
