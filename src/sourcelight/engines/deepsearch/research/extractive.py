"""The researcher without a model: it ranks, selects and quotes, and adds no statements.

Follow-up questions, made from the names and files that an answer cites.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup.counts import count_of
from sourcelight.engines.deepsearch.evidence.commits import ASKING, HistoryEvidence
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, FileEvidence
from sourcelight.engines.deepsearch.evidence.pins import StepRequest, run_step
from sourcelight.engines.deepsearch.evidence.quotes import QUOTES, FileTexts, QuoteSelector
from sourcelight.engines.deepsearch.evidence.relevant import PLACES, RelevantPassage, find_relevant, with_document
from sourcelight.engines.deepsearch.evidence.scorers import GraphScorer, HistoryScorer, RepositoryScorer
from sourcelight.engines.deepsearch.evidence.surroundings import DefinitionExcerpt, find_asked_definitions
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.absence.spellings import nearest_spelling
from sourcelight.engines.deepsearch.lookups.absence.words import absent_words
from sourcelight.engines.deepsearch.lookups.answering import find_lookup
from sourcelight.engines.deepsearch.lookups.project.answering import as_count_request
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.places.choice import find_places
from sourcelight.engines.deepsearch.places.subject import mark_hyphenated
from sourcelight.engines.deepsearch.question import QuestionIntents, intents_of, is_follow_up, key_words, with_follow_up
from sourcelight.engines.deepsearch.question.events import WHEN, WHO
from sourcelight.engines.deepsearch.question.marks import GAP, MarkedText
from sourcelight.engines.deepsearch.question.reading import ignored_words
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.question.translation import read_foreign_question
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.counting import answer_analysis, count
from sourcelight.engines.deepsearch.research.layout import HOW, Findings, lay_out, write_finding
from sourcelight.engines.deepsearch.research.protocol import Draft, Paragraph, ResearchBudget
from sourcelight.engines.execution import natural_language
from sourcelight.engines.search.ranking import RankedChunk, RankedFile, Ranking, Scorer
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.tools import call

MAX_QUESTIONS = 3


def followups(ranking: Ranking, defined: Sequence[DefinitionExcerpt], intents: QuestionIntents) -> list[str]:
    """Suggest up to three questions about results that were not shown."""
    questions: list[str] = []
    if defined:
        name = defined[0].definition.name
        if not intents.usage:
            questions.append(f"Where is `{name}` used?")
        if not intents.history:
            questions.append(f"When and why was `{name}` last changed?")
        if not intents.tests:
            questions.append(f"Which tests cover `{name}`?")
    defined_paths = {definition.path for definition in defined}
    other_file = next((file for file in ranking.files if file.kind == "code" and file.path not in defined_paths), None)
    if other_file is not None:
        questions.append(f"What does `{other_file.path}` do?")
    return questions[:MAX_QUESTIONS]


WEAK = 0.25
"""Share of the question's weight in the best chunks below which there is no answer."""

_RANKED = 400
_TESTS, _DOCS, _USES, _COMMITS = 2, 2, 5, 3
_KEPT_LINES = 32
_QUOTES_BESIDE_HISTORY = 4
_RESPELLED = 3
_EXAMPLE = re.compile(r"\b(?:examples?|tutorial|sample code)\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"^\W*(?:(?:please|can you|could you|i want to|i'd like to)\s+)*"
    r"(?:(?:show|tell|explain to|teach|give) me|know)\s+(?=\w+\s+\w)",
    re.IGNORECASE,
)
_RARE = 0.9
_WHY = re.compile(r"\b(?:why|how)\b", re.IGNORECASE)


@dataclass(slots=True)
class ExtractiveResearcher:
    """Deterministic: the same index, question and pins give the same bytes."""

    budget: ResearchBudget = field(default_factory=ResearchBudget)

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        """Research a question; see `Researcher.research`."""
        remote = run_step("research", _step_request(inquiry), inquiry.context, emit)
        if remote is not None:
            remote_draft: Draft = remote.value
            return remote_draft
        started_s = time.monotonic()
        draft = Draft()
        foreign = read_foreign_question(inquiry.words)
        if foreign is not None and foreign.english:
            inquiry = _as_english(inquiry, foreign.english)
        is_unread = foreign is not None and not foreign.english
        request = None if is_unread else self._read(inquiry, draft, emit)
        is_counted = "unit" in draft.stats
        if not is_counted or (
            request is not None and request.kind in {"who", "when"} and _wants_code(request, inquiry)
        ):
            findings = self.find(inquiry, budget or self.budget, emit)
            unread = _unread(request, inquiry)
            if is_unread:
                # Words of its grammar are in no file: that says nothing about what is asked.
                findings.absent = ()
                draft.parts.append(Paragraph(_ENGLISH_ONLY))
            lay_out(findings, inquiry, draft, lead=not is_counted, is_counted=is_counted, unread=unread)
            if is_unread:
                draft.confident = draft.stats["confident"] = False
            draft.followups = followups(findings.ranking, findings.defined, findings.intents)
        draft.stats["time_millis"] = round((time.monotonic() - started_s) * 1000)
        draft.stats.setdefault("tool_calls", 1)
        return draft

    def counted_draft(self, inquiry: ResearchRequest, emit: Emit) -> Draft | None:
        """Run the count of a question; None if it asks for no count."""
        remote = run_step("facts", _step_request(inquiry), inquiry.context, emit)
        if remote is not None:
            remote_draft: Draft | None = remote.value
            return remote_draft
        draft = Draft()
        self._read(inquiry, draft, emit)
        return draft if "unit" in draft.stats else None

    def _read(self, inquiry: ResearchRequest, draft: Draft, emit: Emit) -> FactRequest | None:
        """Answer from lines that prove the answer, or by a count; return the request of a count, answered or not."""
        analyzed = answer_analysis(inquiry, draft, emit)
        if analyzed is not None:
            return analyzed
        inquiry = mark_hyphenated(inquiry, emit)
        finding = find_lookup(inquiry, emit)
        if finding is None:
            return count(as_count_request(inquiry, emit), draft, emit)
        write_finding(finding, inquiry, draft)
        return None

    def evidence(self, inquiry: ResearchRequest, emit: Emit) -> tuple[list[FileEvidence], list[CommitEvidence]]:
        """Return quotes and commits: the first evidence for a model."""
        remote = run_step("evidence", _step_request(inquiry), inquiry.context, emit)
        if remote is not None:
            remote_evidence: tuple[list[FileEvidence], list[CommitEvidence]] = remote.value
            return remote_evidence
        findings = self.find(inquiry, self.budget, emit)
        return findings.quotes, list(findings.past.commits) if findings.past is not None else []

    def find(self, inquiry: ResearchRequest, budget: ResearchBudget, emit: Emit) -> Findings:
        """Find evidence in local repositories."""
        context = inquiry.context
        question, intents = _read_question(inquiry)
        past = HistoryEvidence(context.local, inquiry.pins, context.cancellation, context.observer)
        past.prepare(is_asked=intents.history)
        scorers = (RepositoryScorer(), HistoryScorer(past.ranker), GraphScorer(context.local))
        ranking = _rank(inquiry, question, scorers)
        work = Work(FactRequest("lookup"), inquiry, emit)
        spellings = _nearest_spellings(work, ranking)
        if spellings:
            question = _respell(question, spellings)
            ranking = _rank(inquiry, question, scorers)
        best = f"{ranking.files[0].path} first of {ranking.matched_files:,} files" if ranking.files else "nothing"
        emit(ResearchEvent("turn", {"tool": "nls_search", "query": inquiry.question, "result": best}))
        context.cancellation.check()
        findings = Findings(ranking, intents, _is_weak(ranking), past=past, spellings=spellings)
        if intents.history:
            paths = [(file.target, file.path) for file in ranking.files[:3]]
            past.find(question, question.names or _names_before(inquiry), paths, _COMMITS)
            findings.weak = findings.weak and not past.is_about(question)
            commits = count_of(len(past.commits), "commit")
            emit(ResearchEvent("turn", {"tool": "commit_search", "result": f"{commits} selected"}))
        _quote(findings, work, question, budget)
        return findings


_ENGLISH_ONLY = "Questions are read in English. This one was not understood, so its words were searched as they are."


def _as_english(inquiry: ResearchRequest, english: str) -> ResearchRequest:
    """Return a request for the English question that one in another language is read as; the answer says so."""
    note = f"The question was read as “{inline(english)}”"
    scope = replace(inquiry.scope, remaining_text=english, notes=(*inquiry.scope.notes, note))
    return replace(inquiry, question=english, scope=scope)


def _read_question(inquiry: ResearchRequest) -> tuple[RankQuery, QuestionIntents]:
    """Return the question that is ranked, and what it asks for."""
    # Words of the scope say where to look, not what to look for.
    text = inquiry.scope.remaining_text.replace(GAP.strip(), " ") or inquiry.question
    # "Show me how to" asks, and describes nothing.
    question = analyze(_REQUEST.sub("", text))
    if inquiry.previous:
        question = with_follow_up(question, _cited_before(inquiry))
    if _EXAMPLE.search(question.text):
        # Documents show most examples.
        question = replace(question, asks_docs=True)
    intents = intents_of(question)
    if intents.history:
        question = replace(question, optional=question.optional | (ASKING & question.terms.keys()))
    return question, intents


def _cited_before(inquiry: ResearchRequest) -> Sequence[str]:
    """Return the names that the last answer with names cited: one about a person or a date cites a commit alone."""
    return next((turn.cited_names for turn in reversed(inquiry.previous) if turn.cited_names), ())


def _quote(findings: Findings, work: Work, question: RankQuery, budget: ResearchBudget) -> None:
    """Add the quotes, definitions, uses, tests and documents of a ranking to its findings."""
    ranking, intents, inquiry = findings.ranking, findings.intents, work.inquiry
    texts = FileTexts(inquiry.context)
    weights = _weights(question, ranking)
    chooser = QuoteSelector(texts, weights, budget.quoted_lines - _KEPT_LINES)
    code_chunks = _lead_first([chunk for chunk in ranking.chunks if _is_body(chunk, intents)], ranking.files)
    has_commits = findings.past is not None and bool(findings.past.commits)
    limit = _QUOTES_BESIDE_HISTORY if has_commits else QUOTES
    findings.quotes = chooser.choose(code_chunks or ranking.chunks, "body", limit)
    # Tests and documents may take the lines that quotes of code had to leave.
    chooser.most_lines = budget.quoted_lines
    best_chunks = [chunk for chunk in code_chunks if chunk.kind == "code"][:20]
    findings.defined = find_asked_definitions(texts, best_chunks, weights, question.names, 2)
    findings.absent = absent_words(work, key_words(ranking.question, ranking.unknown))
    findings.relevant = find_relevant(texts, ranking, weights, code_chunks or list(ranking.chunks))
    documents = [chunk for chunk in ranking.chunks if chunk.kind == "docs"]
    if code_chunks and documents and not intents.docs:
        passages = find_relevant(texts, ranking, weights, documents)
        findings.relevant = with_document(findings.relevant, passages, key_words(question, _rarest(ranking)))
    _put_first(find_places(work, texts, question, ranking.idf), findings)
    if findings.weak:
        return
    if not intents.tests:
        tests = [chunk for chunk in ranking.chunks if chunk.kind == "test"]
        findings.tests = chooser.choose(tests, "test", _TESTS, window=8)
    if not intents.docs:
        docs = [chunk for chunk in ranking.chunks if chunk.kind == "docs"]
        findings.docs = chooser.choose(docs, "doc", _DOCS, window=8)
    if findings.defined and (intents.usage or question.names or HOW.match(inquiry.question)):
        findings.uses = _uses(findings.defined[0], inquiry, texts, work.emit)


def _rarest(ranking: Ranking) -> list[str]:
    """Return the words of a question that are about as rare as the rarest one."""
    rarity = max(ranking.idf.values(), default=0.0)
    spellings = ranking.question.source_texts
    return [spellings.get(term, term) for term, idf in ranking.idf.items() if idf >= _RARE * rarity]


def _put_first(lines: Sequence[RelevantPassage], findings: Findings) -> None:
    """Put lines that a question points at before ranked passages, without those that contain them."""
    if not lines:
        return

    def is_shown(passage: RelevantPassage) -> bool:
        other = passage.evidence
        return any(
            (line.evidence.repository, line.evidence.path) == (other.repository, other.path)
            and other.begin_line <= line.evidence.begin_line <= other.end_line
            for line in lines
        )

    ranked = [passage for passage in findings.relevant if not is_shown(passage)]
    findings.relevant = [*lines, *ranked][:PLACES]
    findings.weak = False


def _rank(inquiry: ResearchRequest, question: RankQuery, scorers: Sequence[Scorer]) -> Ranking:
    context = inquiry.context
    request = natural_language.RankedSearch(
        question.text, limit=_RANKED, targets=inquiry.pins.targets, scorers=scorers, question=question,
        filters=inquiry.filters,
    )  # fmt: skip
    return natural_language.rank(context.local, request, context.viewer, context.cancellation, context.observer)


def _nearest_spellings(work: Work, ranking: Ranking) -> dict[str, str]:
    """Return the nearest spelling of each word of a question that no file has, such as "colour" for "color"."""
    words = [word for word in ranking.unknown if word.isalpha()][:_RESPELLED]
    nearest = {word: nearest_spelling(work, word) for word in words}
    return {word: spelling for word, spelling in nearest.items() if spelling}


def _respell(question: RankQuery, spellings: Mapping[str, str]) -> RankQuery:
    """Return a question with other spellings of some of its words."""
    text = question.text
    for word, nearest in spellings.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", nearest, text)
    respelled = analyze(text)
    asks_docs, optional = question.asks_docs or respelled.asks_docs, respelled.optional | question.optional
    return replace(respelled, asks_docs=asks_docs, optional=optional)


def _wants_code(request: FactRequest, inquiry: ResearchRequest) -> bool:
    """Return whether an event is easier to understand with code and commits around it."""
    return bool(request.terms or request.ignored or _WHY.search(inquiry.question))


def _step_request(inquiry: ResearchRequest) -> StepRequest:
    previous = tuple(inquiry.previous)
    return StepRequest.from_pins(
        inquiry.pins, question=inquiry.question, filters=inquiry.filters, previous=previous, scope=inquiry.scope
    )


def _names_before(inquiry: ResearchRequest) -> tuple[str, ...]:
    """Return the names that the previous answer cited, if the question is a follow-up."""
    cited_names = _cited_before(inquiry)
    return tuple(name for name in cited_names if name.isidentifier())[:1] if is_follow_up(inquiry.question) else ()


def _is_body(chunk: RankedChunk, intents: QuestionIntents) -> bool:
    body_kinds = (
        {"code", "config", "vendored"} | ({"test"} if intents.tests else set()) | ({"docs"} if intents.docs else set())
    )
    return chunk.kind in body_kinds


def _lead_first(chunks: list[RankedChunk], files: Sequence[RankedFile]) -> list[RankedChunk]:
    """Put the best chunk of the best file first: files are ranked by more than one chunk."""
    for file in files:
        first = next((chunk for chunk in chunks if (chunk.target, chunk.path) == (file.target, file.path)), None)
        if first is not None:
            return [first, *(chunk for chunk in chunks if chunk is not first)]
    return chunks


def _is_weak(ranking: Ranking) -> bool:
    names = ranking.question.names
    absent = bool(names) and all(name in ranking.unknown for name in names)
    return not ranking.chunks or ranking.coverage < WEAK or absent


def _weights(question: RankQuery, ranking: Ranking) -> Mapping[str, float]:
    """Weigh the terms of the question: rare ones much, absent ones nothing."""
    return {term: weight * ranking.idf.get(term, 0.0) for term, weight in question.terms.items() if term in ranking.idf}


def _uses(defined: DefinitionExcerpt, inquiry: ResearchRequest, texts: FileTexts, emit: Emit) -> list[FileEvidence]:
    """Return uses of a definition outside of tests."""
    name = defined.definition.name
    arguments = {"repo": defined.target.repository.name, "path": defined.path, "symbol": name, "limit": 60}
    if defined.target.revision:
        arguments["revision"] = defined.target.commit
    try:
        answer = call("find_references", arguments, replace(inquiry.context, served=False))
    except (RepositoryError, SourcelightError):
        inquiry.context.cancellation.check()
        return []
    rows = answer.table.to_pylist()
    emit(
        ResearchEvent(
            "turn", {"tool": "find_references", "query": name, "result": f"{count_of(len(rows), 'reference')}"}
        )
    )
    uses: list[FileEvidence] = []
    per_file: dict[str, int] = {}
    for row in rows:
        target = inquiry.pins.of(row["repository"], row["commit"] or "")
        if target is None or row["role"] in {"definition", "import"} or len(uses) == _USES:
            continue
        if natural_language.kind_of(row["path"]) != "code" or per_file.get(row["path"], 0) >= 2:
            continue
        per_file[row["path"]] = per_file.get(row["path"], 0) + 1
        line = row["line_number"]
        container = (row["container"],) if row["container"] else ()
        uses.append(texts.evidence(target, row["path"], line, line, "usage", row["score"] or 0.0, container))
    return uses


def _unread(request: FactRequest | None, inquiry: ResearchRequest) -> Sequence[str] | None:
    """Return the words that were not understood in a question for facts; None for another question."""
    if request is None:
        asks = WHO.search(inquiry.question) or WHEN.search(inquiry.question)
        return ignored_words(MarkedText.from_text(inquiry.question)) if asks is not None else None
    if request.kind not in {"who", "when"} and not request.is_list:
        return None
    return tuple(dict.fromkeys((*request.ignored, *([request.period.text] if request.period.text else []))))
