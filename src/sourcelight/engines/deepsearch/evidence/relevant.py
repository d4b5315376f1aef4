"""The most relevant passages of a ranking: three definitions or texts, with their own descriptions.

A file is ranked by all of it; of the best files, the definitions are ranked here: by their names, their documentation,
and the relevant share of their bodies. The longest function of a file has every word, and is seldom the one that is
asked about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sourcelight.core.batches import CommitId
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts, best_window
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence, is_lesser
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk, Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, parts_of, terms_of
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.repos import RepositoryKey

PLACES = 3
_PER_FILE = 2
_WORDS = 4
_WINDOW = 15
_MIN_BASE = 3
_FILES = 8
_MAX_FILE_LINES = 20_000
_MAX_DEFINITIONS = 2_000
_USUAL_LINES = 25
_SATURATION, _LENGTH = 1.2, 0.75
_BY_NAME, _BY_BODY, _BY_DOCUMENTATION, _BY_FILE, _BY_CHUNK = 1.6, 1.0, 0.8, 0.8, 0.3
"""Shares of a passage's score, set once and not tuned.

Of 48 questions about twelve repositories, the first was right for 34 and one of three for 41; the definition with
most words of the best chunks, as it was before, gave 27 and 31.
"""
_STUB = 0.5
"""Factor for files that only declare types, and for methods of the language such as ``__init__``."""
_STUB_FILES = (".pyi", ".d.ts", ".d.mts", ".d.cts")
_KINDS = frozenset({"function", "method", "constructor", "class", "interface", "struct", "enum", "module"})


@dataclass(frozen=True, slots=True)
class RelevantPassage:
    """A definition with the first sentence of its documentation, and the words of the question in it.

    One line that is shown unchanged (`is_line`) has no name, and `description` says why it is shown. A sentence that
    is quoted from elsewhere has the `line` that it begins on, and the name of what it is in; `line` is 0 for others.
    It is code if `is_code`, and is from the documentation of its definition if `is_documentation`.
    """

    evidence: FileEvidence
    name: str
    description: str
    words: tuple[str, ...]
    is_line: bool = False
    line: int = 0
    is_code: bool = False
    is_documentation: bool = False


def find_relevant(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], chunks: Sequence[RankedChunk]
) -> list[RelevantPassage]:
    """Return the best passages of the best files: definitions, else the best lines of a file."""
    by_file: dict[tuple[RepositoryKey, CommitId, str], list[RankedChunk]] = {}
    for chunk in chunks:
        by_file.setdefault((chunk.target.repository.key, chunk.target.commit, chunk.path), []).append(chunk)

    file_scores = {(file.target.repository.key, file.target.commit, file.path): file.score for file in ranking.files}
    files = [key for key in file_scores if key in by_file] or list(by_file)
    visible = [key for key in files if not is_hidden_file(key[2])][:_FILES]
    total = sum(weights.values())
    if total <= 0.0:
        return []

    candidates: list[tuple[float, int, _Candidate]] = []
    for order, key in enumerate(visible):
        file = _ReadFile.of(texts, by_file[key][0].target, key[2], weights)
        score = _BY_FILE * file_scores.get(key, 0.0)
        candidates += [(score + item.score, order, item) for item in _candidates(file, by_file[key], total)]

    candidates.sort(key=lambda item: (-item[0], item[1], item[2].begin_line))
    selected: list[_Candidate] = []
    for _, _, candidate in candidates:
        same = [item for item in selected if item.file is candidate.file]
        if len(same) < _PER_FILE and not any(item.touches(candidate) for item in same):
            selected.append(candidate)
        if len(selected) == PLACES:
            break

    return [_describe(texts, candidate, ranking, weights) for candidate in selected]


def with_document(
    passages: Sequence[RelevantPassage], documents: Sequence[RelevantPassage], words: Collection[str]
) -> list[RelevantPassage]:
    """Return places with a document as the last one if it has a word of the question that no place of code has.

    A word in the path of a place counts as its own.

    Parameters
    ----------
    passages
        Places of code, best first.
    documents
        Passages of documents, best first.
    words
        The rarest words that the question is about.
    """
    of_code = {word for passage in passages for word in passage.words}
    paths = " ".join(passage.evidence.path for passage in passages).casefold()
    missing = {word for word in words if word not in of_code and word.casefold() not in paths}
    document = next((item for item in documents if missing.intersection(item.words)), None)
    if document is None:
        return list(passages)
    return [*passages[: PLACES - 1], document]


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file, and the terms of the question on its lines: of each term, the lines (from 1) that have it."""

    target: Target
    path: str
    lines: Sequence[str]
    term_lines: Mapping[str, list[int]]
    weights: Mapping[str, float]
    definitions: Sequence[Definition]

    @classmethod
    def of(cls, texts: FileTexts, target: Target, path: str, weights: Mapping[str, float]) -> _ReadFile:
        """Read a file, up to a maximum number of lines."""
        lines = texts.lines(target, path)
        term_lines: dict[str, list[int]] = {}
        cache: dict[bytes, tuple[str, ...]] = {}
        for number, line in enumerate(lines[:_MAX_FILE_LINES], 1):
            for token in TOKEN.findall(line.encode()):
                terms = cache.get(token)
                if terms is None:
                    terms = tuple(set(terms_of(token.decode("utf-8", "replace"))) & weights.keys())
                    cache[token] = terms
                for term in terms:
                    term_lines.setdefault(term, []).append(number)

        definitions = texts.engine.store.definitions_of(target, path)
        definition_list = (
            [definition for definition in definitions.definitions() if definition.kind in _KINDS]
            if definitions is not None
            else []
        )
        return cls(target, path, lines, term_lines, weights, definition_list[:_MAX_DEFINITIONS])

    def count(self, begin_line: int, end_line: int) -> Mapping[str, int]:
        """Count the terms on some lines."""
        return {
            term: count
            for term, numbers in self.term_lines.items()
            if (count := sum(begin_line <= number <= end_line for number in numbers))
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """Lines that may be shown, with their definition, if they have one."""

    file: _ReadFile
    begin_line: int
    end_line: int
    score: float
    chunk: RankedChunk
    definition: Definition | None = None

    def touches(self, other: _Candidate) -> bool:
        """Return whether one contains the other, or both have one name: such chunks are redundant."""
        names = [candidate.definition.name for candidate in (self, other) if candidate.definition is not None]
        same_name = len(names) > 1 and names[0] == names[1]
        return same_name or (self.begin_line <= other.end_line and other.begin_line <= self.end_line)


def _candidates(file: _ReadFile, chunks: Sequence[RankedChunk], total: float) -> Iterator[_Candidate]:
    """Rank the definitions of a file; without any that is about the question, its best lines."""
    has_definition = False
    for definition in file.definitions:
        if is_lesser(file.lines, definition):
            continue

        start = comment_start(file.lines, definition.begin_line - 1) + 1
        counts = file.count(start, definition.end_line)
        if not counts:
            continue

        chunk = max((item for item in chunks if item.begin_line <= definition.line <= item.end_line),
                    key=lambda item: item.score, default=None)  # fmt: skip
        score = _score(file, definition, counts, total) + _BY_CHUNK * (chunk.score if chunk is not None else 0.0)
        if definition.name.startswith("__") or file.path.endswith(_STUB_FILES):
            score *= _STUB

        has_definition = True
        yield _Candidate(file, start, definition.end_line, score, chunk or chunks[0], definition)

    chunk = chunks[0]
    inside = any(
        candidate.begin_line <= chunk.end_line and chunk.begin_line <= candidate.end_line
        for candidate in file.definitions
    )
    if has_definition and inside:
        return

    first, last = best_window(file.lines[chunk.begin_line - 1 : chunk.end_line], file.weights, _WINDOW)
    first_line, end = chunk.begin_line + first, chunk.begin_line + last
    counts = file.count(first_line, end)
    score = _BY_BODY * sum(file.weights[term] for term in counts) / total * 0.8 + _BY_CHUNK * chunk.score
    yield _Candidate(file, first_line, end, score, chunk)


def _score(file: _ReadFile, definition: Definition, counts: Mapping[str, int], total: float) -> float:
    """Score a definition: its name, its documentation, and its body, each as a share of the question's weight."""
    weights = file.weights
    name_terms = _terms(definition.name)
    name = sum(weights[term] for term in name_terms & weights.keys() if not term.startswith("=")) / total
    word_terms = [term for term in name_terms if not term.startswith("=")]
    precision = sum(term in weights for term in word_terms) / max(len(word_terms), 1)
    container = _terms(definition.container) & weights.keys()
    name = name * (0.6 + 0.4 * precision) + 0.3 * sum(weights[term] for term in container - name_terms) / total
    length = max(definition.end_line - definition.begin_line + 1, 4)
    norm = 1.0 - _LENGTH + _LENGTH * math.sqrt(length / _USUAL_LINES)
    body = sum(
        weights[term] * (_SATURATION + 1.0) * count / (count + _SATURATION * norm) for term, count in counts.items()
    ) / (total * (_SATURATION + 1.0))
    summary = _terms(first_sentence(file.lines, definition)) & weights.keys()
    documentation = sum(weights[term] for term in summary) / total
    return _BY_NAME * name + _BY_BODY * body + _BY_DOCUMENTATION * documentation


def _describe(
    texts: FileTexts, candidate: _Candidate, ranking: Ranking, weights: Mapping[str, float]
) -> RelevantPassage:
    """Return a passage as evidence: a head with its comment, or its lines."""
    file, definition, chunk = candidate.file, candidate.definition, candidate.chunk
    if definition is None:
        evidence = texts.evidence(file.target, file.path, candidate.begin_line, candidate.end_line, "body", chunk.score)
        return RelevantPassage(evidence, "", "", _words(evidence.text, ranking, weights))

    lines = file.lines
    text = "\n".join(lines[definition.begin_line - 1 : definition.end_line])
    summary = first_sentence(lines, definition)
    start = end = definition.line
    if summary:
        # A quotation must come from the cited lines: the comment above, or the docstring.
        start = min(start, comment_start(lines, definition.begin_line - 1) + 1)
        end = max(end, min(head_end(lines, definition), len(lines)))
        start = start if end - start < MAX_LINES else definition.line
        end = min(end, start + MAX_LINES - 1)

    evidence = texts.evidence(file.target, file.path, start, end, "definition", chunk.score, (definition.name,))
    words = _words(text, ranking, weights)
    return RelevantPassage(evidence, definition.name, summary, words, is_documentation=bool(summary))


def _terms(text: str) -> set[str]:
    return {term for token in TOKEN.findall(text.encode()) for term in terms_of(token.decode("utf-8", "replace"))}


def _words(text: str, ranking: Ranking, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the question's words that a text contains, also with the ending of a plural or verb; the rarest first."""
    present = sorted(_terms(text) & weights.keys(), key=lambda term: (-weights[term], term))
    lowered = text.casefold()
    forms = {form for token in re.findall(r"\w+", text) for part in {token, *parts_of(token)} for form in _forms(part)}
    words = []
    for term in present:
        word = ranking.question.source_texts.get(term, term)
        # A part of a requested name is in many texts: the name itself is not. A stem alone may be another word.
        is_there = bool(_forms(word) & forms) if word.isalpha() and word.islower() else word.casefold() in lowered
        if is_there and not term.startswith("="):
            words.append(word)

    return tuple(dict.fromkeys(words))[:_WORDS]


def _forms(word: str) -> set[str]:
    """Return a word in lower case, and what it may be the plural or a form of."""
    word = word.casefold()
    forms = {word}
    if word.endswith("ies"):
        forms.add(f"{word[:-3]}y")
    elif word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        forms |= {word[:-2], word[:-1]}
    elif word.endswith("s") and not word.endswith("ss"):
        forms.add(word[:-1])

    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= _MIN_BASE:
            forms |= {base, f"{base}e"} | ({base[:-1]} if base[-1] == base[-2] else set())

    return {form for form in forms if len(form) >= _MIN_BASE} | {word}
