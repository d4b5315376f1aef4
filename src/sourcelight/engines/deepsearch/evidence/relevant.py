"""The most relevant places of a ranking: three, each of another file, with what they say of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.heads import comment_start, head_end
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts, best_window
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence, is_lesser
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search.ranking import RankedChunk, Ranking
from sourcelight.engines.search.ranking.tokenizer import TOKEN, terms_of
from sourcelight.engines.symbols.definition_parser import Definition

PLACES = 3
_WORDS = 4
_WINDOW = 15
_NAMED_FACTOR = 3.0
_KINDS = frozenset({"function", "method", "constructor", "class", "interface", "struct", "enum", "module"})


@dataclass(frozen=True, slots=True)
class RelevantPlace:
    """A place: its definition, the first sentence of its documentation, and the question's words that it has."""

    evidence: FileEvidence
    name: str
    description: str
    words: tuple[str, ...]


def find_relevant(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], chunks: Sequence[RankedChunk]
) -> list[RelevantPlace]:
    """Return the best place of each of the best files, in the order of the files."""
    by_file: dict[tuple[str, str, str], list[RankedChunk]] = {}
    for chunk in chunks:
        by_file.setdefault((chunk.target.repository.key, chunk.target.commit, chunk.path), []).append(chunk)
    order = [(file.target.repository.key, file.target.commit, file.path) for file in ranking.files]
    files = [key for key in order if key in by_file] or list(by_file)
    visible = [key for key in files if not is_hidden_file(key[2])]
    defining = [key for key in visible if not _only_prototypes(texts, by_file[key])]
    return [_place(texts, by_file[key], ranking, weights) for key in (defining or visible)[:PLACES]]


def _only_prototypes(texts: FileTexts, chunks: Sequence[RankedChunk]) -> bool:
    """Return whether the best lines of a file are declarations of what is defined elsewhere, as in headers of C."""
    chunk = chunks[0]
    lines = texts.lines(chunk.target, chunk.path)
    definitions = texts.engine.store.definitions_of(chunk.target, chunk.path)
    listed = (
        []
        if definitions is None
        else [
            definition
            for definition in definitions.each()
            if definition.kind in _KINDS and chunk.begin_line <= definition.line <= chunk.end_line
        ]
    )
    return bool(listed) and all(is_lesser(lines, definition) for definition in listed)


def _place(
    texts: FileTexts, chunks: Sequence[RankedChunk], ranking: Ranking, weights: Mapping[str, float]
) -> RelevantPlace:
    """Choose the definition that has most of the question: in its name above all, else the best lines."""
    best: tuple[float, RankedChunk, Definition] | None = None
    for number, chunk in enumerate(chunks[:PLACES]):
        lines = texts.lines(chunk.target, chunk.path)
        definitions = texts.engine.store.definitions_of(chunk.target, chunk.path)
        for definition in definitions.each() if definitions is not None else ():
            if definition.kind not in _KINDS or not chunk.begin_line <= definition.line <= chunk.end_line:
                continue
            if is_lesser(lines, definition):
                continue
            body = "\n".join(lines[definition.begin_line - 1 : min(definition.end_line, definition.begin_line + 80)])
            by_name, by_body = _weight(definition.name, weights), _weight(body, weights)
            score = (_NAMED_FACTOR * by_name + by_body) * (0.9**number)
            if best is None or score > best[0] + 1e-12:
                best = score, chunk, definition
    if best is None or best[0] <= 0.0:
        chunk = chunks[0]
        lines = texts.lines(chunk.target, chunk.path)
        first, last = best_window(lines[chunk.begin_line - 1 : chunk.end_line], weights, _WINDOW)
        evidence = texts.evidence(
            chunk.target, chunk.path, chunk.begin_line + first, chunk.begin_line + last, "body", chunk.score
        )
        return RelevantPlace(evidence, "", "", _words(evidence.text, ranking, weights))
    _, chunk, definition = best
    lines = texts.lines(chunk.target, chunk.path)
    text = "\n".join(lines[definition.begin_line - 1 : definition.end_line])
    summary = first_sentence(lines, definition)
    start = end = definition.line
    if summary:
        # A quotation must come from the cited lines: the comment above, or the docstring.
        start = min(start, comment_start(lines, definition.begin_line - 1) + 1)
        end = max(end, min(head_end(lines, definition), len(lines)))
        start = start if end - start < MAX_LINES else definition.line
        end = min(end, start + MAX_LINES - 1)
    evidence = texts.evidence(chunk.target, chunk.path, start, end, "definition", chunk.score, (definition.name,))
    return RelevantPlace(evidence, definition.name, summary, _words(text, ranking, weights))


def _terms(text: str) -> set[str]:
    return {term for token in TOKEN.findall(text.encode()) for term in terms_of(token.decode("utf-8", "replace"))}


def _weight(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights[term] for term in sorted(_terms(text) & weights.keys()))


def _words(text: str, ranking: Ranking, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the question's words that a text has as they are written, or with another ending; the rarest first."""
    present = sorted(_terms(text) & weights.keys(), key=lambda term: (-weights[term], term))
    folded = text.casefold()
    words = []
    for term in present:
        word = ranking.question.shown.get(term, term)
        # A part of a requested name is in many texts: the name itself is not.
        is_there = word.casefold() in folded or (word.isalpha() and word.islower() and term in folded)
        if is_there and not term.startswith("="):
            words.append(word)
    return tuple(dict.fromkeys(words))[:_WORDS]
