"""What stands around the best quotes: definitions and what is said of them, uses, tests, documents, commits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk
from sourcelight.engines.search.ranking.tokenizer import terms_of, with_lead
from sourcelight.engines.symbols.definition_parser import Definition

MOST_DEFINITION_LINES = 10

LESSER = 0.5
"""What counts so much less: a constant beside what does something, what is only declared beside what is defined, and
what stands elsewhere beside what is in the best file."""

_KINDS = frozenset({"function", "method", "constructor", "class", "interface", "struct", "enum", "constant", "module"})
_DOCSTRING = re.compile(r"""^\s*[rRuUbB]?(\"\"\"|''')""")
_MARKS = re.compile(r"^\s*(?:///?|/\*+|\*+/|\*+|#+!?|--|;+|[rRuUbB]?(?:\"\"\"|'''))\s?|\s*(?:\*+/|\"\"\"|''')\s*$")
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s|$)", re.DOTALL)
_LEAST_SAID = 12


@dataclass(frozen=True, slots=True)
class DefinitionExcerpt:
    """A definition that a question is about: its file, its lines, and the first sentence said of it."""

    target: Target
    path: str
    definition: Definition
    score: float
    evidence: FileEvidence
    said: str


def definitions_asked(
    texts: FileTexts, chunks: Sequence[RankedChunk], weights: Mapping[str, float], names: Sequence[str], most: int
) -> list[DefinitionExcerpt]:
    """Give the definitions in the best chunks whose names meet the question best, best first.

    A name that the question has as it stands comes before all others, then those in the file of the best chunk. One
    that shares but one of its words with the question is taken from that file alone: elsewhere it is about something
    else as a rule.
    """
    found: list[tuple[float, int, Target, str, Definition]] = []
    exact = frozenset(names)
    for place, chunk in enumerate(chunks):
        held = texts.engine.store.definitions_of(chunk.target, chunk.path)
        lines = texts.lines(chunk.target, chunk.path)
        for each in held.each() if held is not None else ():
            if each.kind not in _KINDS or not chunk.begin_line <= each.line <= chunk.end_line:
                continue
            terms = frozenset(terms_of(each.name)) if each.name else frozenset()
            shared = sorted(terms & weights.keys())
            met = sum(weights[term] for term in shared)
            fit = 0.5 + 0.5 * len(shared) / max(len(terms), 1)
            value = met * fit * (0.5 + 0.5 * chunk.score) * (LESSER if _is_lesser(lines, each) else 1.0)
            at_best = (chunk.target, chunk.path) == (chunks[0].target, chunks[0].path)
            value *= 1.0 if at_best else LESSER
            value += 1000.0 if each.name in exact else 0.0
            fits = len(shared) > 1 or (shared and (at_best or len(terms) == 1))
            if fits or each.name in exact:
                found.append((value, place, chunk.target, chunk.path, each))
    found.sort(key=lambda item: (-item[0], item[1], item[4].line))
    chosen: list[DefinitionExcerpt] = []
    seen: set[tuple[str, str]] = set()
    for value, _, target, path, each in found:
        key = target.repository.name, each.name
        if len(chosen) < most and key not in seen and (not chosen or value >= 0.5 * chosen[0].score):
            seen.add(key)
            chosen.append(_defined(texts, target, path, each, value))
    return chosen


def _is_lesser(lines: Sequence[str], definition: Definition) -> bool:
    if definition.kind == "constant":
        return True
    last = lines[definition.end_line - 1] if 0 < definition.end_line <= len(lines) else ""
    return definition.kind in {"function", "method"} and last.rstrip().endswith(";")


def _defined(texts: FileTexts, target: Target, path: str, definition: Definition, score: float) -> DefinitionExcerpt:
    lines = texts.lines(target, path)
    begin = with_lead(lines, definition.begin_line - 1) + 1
    end = min(_head_end(lines, definition), begin + MOST_DEFINITION_LINES - 1, len(lines))
    end = max(end, min(definition.line, len(lines)))
    if end - begin >= MOST_DEFINITION_LINES:
        begin = definition.begin_line
    names = (definition.name,)
    evidence = texts.evidence(target, path, begin, end, "definition", score, names)
    return DefinitionExcerpt(target, path, definition, score, evidence, first_sentence(lines, definition))


def _head_end(lines: Sequence[str], definition: Definition) -> int:
    """Give the last line of a definition's head: its signature, and the docstring that follows it."""
    at = definition.line
    last = min(definition.end_line, len(lines))
    while at < last and not re.search(r"[:{;=]\s*(?:#.*|//.*)?$", lines[at - 1]):
        at += 1
    if at < last and (opened := _DOCSTRING.match(lines[at])):
        at += 1
        mark = opened[1]
        if lines[at - 1].count(mark) < 2:
            while at < last and mark not in lines[at]:
                at += 1
            at += 1
    return min(at, last)


def first_sentence(lines: Sequence[str], definition: Definition) -> str:
    """Give the first sentence of what a definition's docstring, or the comment above it, says; empty for none."""
    head = _head_end(lines, definition)
    docstring: list[str] = []
    for at in range(definition.line, head):
        if docstring or _DOCSTRING.match(lines[at]):
            docstring.append(lines[at])
    above = with_lead(lines, definition.begin_line - 1)
    comment = [line for line in lines[above : definition.begin_line - 1] if not line.lstrip().startswith(("@", "#["))]
    for block in (docstring, comment):
        text = " ".join(part for part in (_MARKS.sub("", _MARKS.sub("", line)).strip() for line in block) if part)
        found = _SENTENCE.match(text)
        said = (found[1] if found is not None else text).strip()
        if len(said) >= _LEAST_SAID:
            return said
    return ""


def paragraph_of(evidence: FileEvidence) -> str:
    """Give what a piece of documentation says, without its headings and marks."""
    kept: list[str] = []
    for line in evidence.text.split("\n"):
        plain = line.strip()
        if not plain or re.fullmatch(r"[=~^*\"'#+`|:-]{3,}.*", plain) or plain.startswith((".. ", "#", "|", "[")):
            if kept:
                break
            continue
        kept.append(plain)
    return " ".join(kept)
