"""The evidence of the extractive researcher: what a ranking has to show, within the budget of quoted lines.

`select_evidence` is called once a question was ranked and its commits were found. The layout then writes the findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.commits import HistoryEvidence
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.quote_selector import QUOTES, QuoteSelector
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.files import read_best_files
from sourcelight.engines.deepsearch.evidence.relevant.lines import RankedLines, best_file_first, rank_lines
from sourcelight.engines.deepsearch.evidence.relevant.passages import (
    PLACES,
    RelevantPassage,
    describe_lines,
    select_lines,
)
from sourcelight.engines.deepsearch.evidence.surroundings import (
    DefinitionExcerpt,
    excerpt_of,
    find_asked_definitions,
    paragraph_of,
)
from sourcelight.engines.deepsearch.explanations.question import weigh_denied
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.absence.words import absent_words, without_modifiers
from sourcelight.engines.deepsearch.lookups.described_places.best_file import find_best_file, read_place_files
from sourcelight.engines.deepsearch.lookups.described_places.wording import read_place_question
from sourcelight.engines.deepsearch.passages.entries import state_entry
from sourcelight.engines.deepsearch.places.choice import find_places
from sourcelight.engines.deepsearch.question import QuestionIntents, key_words
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.explanation import add_sentences, explain
from sourcelight.engines.deepsearch.research.layout import HOW, Findings
from sourcelight.engines.deepsearch.research.protocol import ResearchBudget
from sourcelight.engines.execution import natural_language
from sourcelight.engines.search.ranking import RankedChunk, RankedFile, Ranking
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.tools import call

WEAK = 0.25
"""Share of the question's weight in the best chunks below which there is no answer."""

_MAX_TESTS = 2
"""Quotes of tests beside the code: they show that there are some, and don't replace the code."""

_MAX_DOCUMENTS = 2
"""Quotes of documents, for the same reason."""

_MAX_USES = 5
"""Lines that use the definition."""

_MAX_USES_OF_FILE = 2
"""Uses from one file, so that several places of use are seen."""

_MAX_USES_READ = 60
"""Uses that are read to choose from: definitions, imports and tests among them are not shown."""

_KEPT_LINES = 32
"""Lines of the budget that quotes of code leave to tests and documents."""

_LINES_BESIDE_CODE = 8
"""Lines of a quote of a test or a document."""

_QUOTES_BESIDE_HISTORY = 4
"""Quotes of code where commits answer the question."""

_MAX_DEFINED = 2
"""Definitions that are described."""

_MAX_DEFINING_CHUNKS = 20
"""Best chunks in which these definitions are looked for."""

_MIN_OVERVIEW, _MIN_DOCUMENT = 0.5, 0.3
"""Share of the question's weight in a paragraph of a document that introduces an explanation, and that is listed."""

_DATA = frozenset({"", "Text", "JSON", "YAML", "XML", "CSV", "TOML", "INI", "HTML", "SVG", "Diff", "Markdown"})
"""Languages of files of tests that have no tests."""

_RARE = 0.9
"""Share of the rarest word's weight from which another word counts as being as rare."""


def select_evidence(
    work: Work, question: RankQuery, intents: QuestionIntents, ranking: Ranking, past: HistoryEvidence,
    budget: ResearchBudget,
) -> Findings:  # fmt: skip
    """Select the quotes, definitions, uses, tests and documents of a ranking, beside the commits found before."""
    inquiry = work.inquiry
    texts = work.texts
    code_chunks = _lead_first([chunk for chunk in ranking.chunks if _is_body(chunk, intents)], ranking.files)
    docs_chunks = [chunk for chunk in ranking.chunks if chunk.kind == "docs"]
    best_chunks = code_chunks or list(ranking.chunks)

    place_question = read_place_question(inquiry.words)
    # Lines with a name that the question has are found by that name, whatever the ranking says.
    asks_place = place_question is not None and not place_question.asks_callers and not question.names
    explained = explain(work, ranking)
    weights = _weights(question, ranking) if asks_place else weigh_denied(_weights(question, ranking), question.text)
    best_files = read_best_files(texts, ranking, weights, best_chunks, explained.sentences)
    candidates = rank_lines(best_files, with_tests=intents.tests)
    place_files = None if place_question is None else read_place_files(work, place_question, ranking)
    in_order = (
        best_file_first(candidates, None if place_files is None else place_files.first) if asks_place else candidates
    )
    best_lines = select_lines(in_order)
    relevant = describe_lines(texts, ranking, weights, best_lines)

    max_quotes = _QUOTES_BESIDE_HISTORY if past.commits else QUOTES
    chooser = QuoteSelector(texts, weights, budget.quoted_lines - _KEPT_LINES)
    quotes = chooser.choose(_put_passage_first(best_chunks, best_lines), "body", max_quotes)

    # Tests and documents may take the lines that quotes of code had to leave.
    chooser.most_lines = budget.quoted_lines

    if question.names:
        defining_chunks = [chunk for chunk in code_chunks if chunk.kind == "code"][:_MAX_DEFINING_CHUNKS]
        defined = find_asked_definitions(texts, defining_chunks, weights, question.names, _MAX_DEFINED)
    else:
        defined = _definitions_of(texts, best_lines[:_MAX_DEFINED])
    absent = _absent_words(work, ranking)

    if code_chunks and docs_chunks and not intents.docs:
        documents = select_lines(rank_lines(read_best_files(texts, ranking, weights, docs_chunks)))
        passages = describe_lines(texts, ranking, weights, documents)
        relevant = _with_document(relevant, passages, key_words(question, _rarest(ranking)))

    relevant = add_sentences(relevant, explained)
    stated = (
        explained.stated
        or (None if place_files is None else find_best_file(work, place_files, candidates, best_files))
        or (state_entry(work) if place_question is None else None)
    )

    # Lines that the question points at are an answer, whatever the ranking says.
    lines = find_places(work, question, ranking.idf)
    if explained.is_told_by_sentences:
        lines = [*explained.lines, *lines]
    if lines:
        first = relevant[:1] if asks_place else []
        relevant = [*first, *_put_first(lines, relevant[len(first) :])][:PLACES]

    findings = Findings(
        ranking,
        intents,
        weak=_is_weak(ranking) and not lines and not (intents.history and past.is_about(question)),
        quotes=quotes,
        defined=defined,
        past=past,
        relevant=relevant,
        absent=absent,
        stated=stated,
    )
    if findings.weak:
        return findings

    test_chunks = [chunk for chunk in ranking.chunks if chunk.kind == "test" and _is_program(chunk.path)]
    tests = [] if intents.tests else chooser.choose(test_chunks, "test", _MAX_TESTS, window=_LINES_BESIDE_CODE)
    docs = [] if intents.docs else chooser.choose(docs_chunks, "doc", _MAX_DOCUMENTS, window=_LINES_BESIDE_CODE)

    overviews: list[FileEvidence] = []
    if subject := explained.subject:
        docs = _documents_about(subject, docs, _MIN_DOCUMENT)
        overviews = _documents_about(subject, docs, _MIN_OVERVIEW)

    uses: list[FileEvidence] = []
    if defined and (intents.usage or question.names or HOW.match(inquiry.question)):
        uses = _find_uses(defined[0], inquiry, texts, work.emit)

    return replace(findings, tests=tests, docs=docs, overviews=overviews, uses=uses)


def _is_program(path: str) -> bool:
    """Return whether a file of a test has code: fixtures are data, and test nothing."""
    return language_of(path) not in _DATA


def _documents_about(subject: Subject, documents: Sequence[FileEvidence], min_share: float) -> list[FileEvidence]:
    """Return the documents whose paragraph has a share of what a question is about."""
    return [
        document for document in documents if subject.share_of(subject.terms_in(paragraph_of(document))) >= min_share
    ]


def _absent_words(work: Work, ranking: Ranking) -> tuple[str, ...]:
    """Return the words that no searched file has, and that matter to the question."""
    question = ranking.question
    absent = absent_words(work, key_words(question, ranking.unknown))
    return without_modifiers(absent, key_words(question, _words_of(question)), work.inquiry.question)


def _words_of(question: RankQuery) -> list[str]:
    """Return the words of a question, without guesses such as two of them joined."""
    return [word for term, word in question.source_texts.items() if term not in question.optional]


def _weights(question: RankQuery, ranking: Ranking) -> Mapping[str, float]:
    """Weigh the terms of the question: rare ones much, absent ones nothing."""
    return {term: weight * ranking.idf.get(term, 0.0) for term, weight in question.terms.items() if term in ranking.idf}


def _is_body(chunk: RankedChunk, intents: QuestionIntents) -> bool:
    """Return whether a chunk may be quoted as an answer; tests and documents only if the question asks for them."""
    if chunk.kind == "test":
        return intents.tests

    if chunk.kind == "docs":
        return intents.docs

    return chunk.kind in {"code", "config", "vendored"}


def _lead_first(chunks: list[RankedChunk], files: Sequence[RankedFile]) -> list[RankedChunk]:
    """Put the best chunk of the best file first: files are ranked by more than one chunk."""
    for file in files:
        first = next((chunk for chunk in chunks if (chunk.target, chunk.path) == (file.target, file.path)), None)
        if first is not None:
            return [first, *(chunk for chunk in chunks if chunk is not first)]
    return chunks


def _put_passage_first(chunks: Sequence[RankedChunk], best_lines: Sequence[RankedLines]) -> list[RankedChunk]:
    """Put the chunks with lines of the first passage first, so that the first quote shows it, or its overview."""
    # Sorting is stable: the others stay in their order.
    return sorted(chunks, key=lambda chunk: [_rank_beside(chunk, lines) for lines in best_lines[:1]])


def _rank_beside(chunk: RankedChunk, lines: RankedLines) -> int:
    """Return 0 for a chunk with the overview of some ranked lines, 1 with these lines, 2 for another one."""
    is_same_file = (chunk.target, chunk.path) == (lines.file.target, lines.file.path)
    for rank, part in enumerate((lines.overview, range(lines.begin_line, lines.end_line + 1))):
        if is_same_file and chunk.begin_line < part.stop and part.start <= chunk.end_line:
            return rank
    return 2


def _definitions_of(texts: FileTexts, best_lines: Sequence[RankedLines]) -> list[DefinitionExcerpt]:
    """Return the first definitions among the best lines."""
    return [
        excerpt_of(texts, lines.file.target, lines.file.path, lines.definition, lines.score)
        for lines in best_lines
        if lines.definition is not None
    ]


def _is_weak(ranking: Ranking) -> bool:
    """Return whether the best chunks have so little of the question that they don't answer it."""
    names = ranking.question.names
    has_no_name = bool(names) and all(name in ranking.unknown for name in names)
    return not ranking.chunks or ranking.coverage < WEAK or has_no_name


def _rarest(ranking: Ranking) -> list[str]:
    """Return the words of a question that are about as rare as the rarest one."""
    rarity = max(ranking.idf.values(), default=0.0)
    spellings = ranking.question.source_texts
    return [spellings.get(term, term) for term, idf in ranking.idf.items() if idf >= _RARE * rarity]


def _with_document(
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


def _put_first(lines: Sequence[RelevantPassage], ranked: Sequence[RelevantPassage]) -> list[RelevantPassage]:
    """Return lines that a question points at and then ranked passages, without those that contain such a line."""
    passages = [passage for passage in ranked if not any(_has_line(passage.evidence, line.evidence) for line in lines)]
    return [*lines, *passages][:PLACES]


def _has_line(passage: FileEvidence, line: FileEvidence) -> bool:
    is_same_file = (passage.repository, passage.path) == (line.repository, line.path)
    return is_same_file and passage.begin_line <= line.begin_line <= passage.end_line


def _find_uses(
    defined: DefinitionExcerpt, inquiry: ResearchRequest, texts: FileTexts, emit: Emit
) -> list[FileEvidence]:
    """Return uses of a definition outside of tests; none if they can't be read."""
    name = defined.definition.name
    repository = defined.target.repository.name
    arguments = {"repo": repository, "path": defined.path, "symbol": name, "limit": _MAX_USES_READ}
    if defined.target.revision:
        arguments["revision"] = defined.target.commit

    try:
        answer = call("find_references", arguments, replace(inquiry.context, served=False))
    except (RepositoryError, SourcelightError):
        inquiry.context.cancellation.check()
        return []

    rows = answer.table.to_pylist()
    result = count_of(len(rows), "reference")
    emit(ResearchEvent("turn", {"tool": "find_references", "query": name, "result": result}))

    uses: list[FileEvidence] = []
    counts: Counter[str] = Counter()
    for row in rows:
        path, line = row["path"], row["line_number"]
        target = inquiry.pins.of(row["repository"], row["commit"] or "")
        if target is None or row["role"] in {"definition", "import"}:
            continue

        if natural_language.kind_of(path) != "code" or counts[path] >= _MAX_USES_OF_FILE:
            continue

        counts[path] += 1
        container = (row["container"],) if row["container"] else ()
        uses.append(texts.evidence(target, path, line, line, "usage", row["score"] or 0.0, container))
        if len(uses) == _MAX_USES:
            break

    return uses
