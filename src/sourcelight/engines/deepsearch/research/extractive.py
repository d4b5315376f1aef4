"""The researcher without a model: it states facts that lines or counts prove, or ranks, selects and quotes.

A question is read first for an analysis, a lookup and a count. If none answers it, the best passages are shown.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.cancellation import WorkLimitReached
from sourcelight.core.markup.counts import count_of
from sourcelight.engines.deepsearch.evidence.claims import is_proven, without_secrets
from sourcelight.engines.deepsearch.evidence.commits import HistoryEvidence
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, FileEvidence
from sourcelight.engines.deepsearch.evidence.pins import StepRequest, run_step
from sourcelight.engines.deepsearch.evidence.scorers import GraphScorer, HistoryScorer, RepositoryScorer
from sourcelight.engines.deepsearch.facts.answering import name_folder_of_repository
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.absence.words import (
    absent_phrases,
    absent_words,
    has_unread_files,
    is_name_in,
)
from sourcelight.engines.deepsearch.lookups.answering import find_lookup
from sourcelight.engines.deepsearch.lookups.project.answering import as_count_request
from sourcelight.engines.deepsearch.lookups.project.commit_descriptions import spellings_of_project
from sourcelight.engines.deepsearch.lookups.project.described_commits import find_described_commit
from sourcelight.engines.deepsearch.lookups.project.releases import find_first_tag
from sourcelight.engines.deepsearch.lookups.project.subject_paths import (
    name_counted_path,
    name_subject_paths,
    name_word_path,
    names_kind_of_path,
    says_event,
)
from sourcelight.engines.deepsearch.places.name_marks import mark_names
from sourcelight.engines.deepsearch.question.event_wording import event_of_release, expand_event_wording
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.question.translation import read_foreign_question
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.counting import FactsDraft, answer_analysis, count
from sourcelight.engines.deepsearch.research.layout import (
    CUT_REASON,
    CUT_SHORT,
    Findings,
    followups,
    lay_out,
    write_cut_draft,
    write_finding,
)
from sourcelight.engines.deepsearch.research.protocol import Draft, Paragraph, ResearchBudget
from sourcelight.engines.deepsearch.research.questions import (
    as_english,
    names_before,
    nearest_spellings,
    read_question,
    respell,
    unread_words,
)
from sourcelight.engines.deepsearch.research.selection import select_evidence
from sourcelight.engines.execution import natural_language
from sourcelight.engines.search.ranking import Ranking, Scorer
from sourcelight.engines.search.ranking.question import RankQuery

_MAX_RANKED = 400
"""Chunks that are ranked: tests and documents are far behind code, and are quoted, too."""

_MAX_COMMITS = 3
"""Commits that are shown for a question about history."""

_MAX_PATHS_OF_HISTORY = 3
"""Best files whose history is read."""

_ENGLISH_ONLY = "Questions are read in English. This one was not understood, so its words were searched as they are."

_WHY = re.compile(r"\b(?:why|how)\b", re.IGNORECASE)
"""Words of questions about an event that ask for more than a person or a date."""


@dataclass(slots=True)
class ExtractiveResearcher:
    """Deterministic: the same index, question and pins give the same text. Only the time in the statistics differs."""

    budget: ResearchBudget = field(default_factory=ResearchBudget)

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        """Research a question; see `Researcher.research`."""
        remote = run_step("research", _step_request(inquiry), inquiry.context, emit)
        if remote is not None:
            remote_draft: Draft = remote.value
            return remote_draft

        started_s = time.monotonic()
        draft = self._write_draft(inquiry, budget or self.budget, emit)
        draft.stats["time_millis"] = round((time.monotonic() - started_s) * 1000)
        draft.stats.setdefault("tool_calls", 1)
        return draft

    def counted_draft(self, inquiry: ResearchRequest, emit: Emit) -> Draft | None:
        """Answer a question by facts alone; None if facts don't answer it."""
        remote = run_step("facts", _step_request(inquiry), inquiry.context, emit)
        if remote is not None:
            remote_draft: Draft | None = remote.value
            return remote_draft

        result = self._facts_in_time(inquiry, self.budget, emit)
        return result.draft if result is not None and result.is_whole else None

    def evidence(self, inquiry: ResearchRequest, emit: Emit) -> tuple[list[FileEvidence], list[CommitEvidence]]:
        """Return quotes and commits: the first evidence for a model."""
        remote = run_step("evidence", _step_request(inquiry), inquiry.context, emit)
        if remote is not None:
            remote_evidence: tuple[list[FileEvidence], list[CommitEvidence]] = remote.value
            return remote_evidence

        findings = self._find_in_time(inquiry, self.budget, emit)
        if findings is None:
            return [], []
        commits = [] if findings.past is None else list(findings.past.commits)
        return findings.quotes, commits

    def find(self, inquiry: ResearchRequest, budget: ResearchBudget, emit: Emit) -> Findings:
        """Find evidence in local repositories."""
        context = inquiry.context
        question, intents = read_question(inquiry)

        past = HistoryEvidence(context.local, inquiry.pins, context.cancellation, context.observer)
        past.prepare(is_asked=intents.history)

        scorers = (RepositoryScorer(), HistoryScorer(past.ranker), GraphScorer(context.local))
        ranking = _rank(inquiry, question, scorers)

        work = Work(FactRequest("lookup"), inquiry, emit)
        spellings = nearest_spellings(work, ranking)
        if spellings:
            question = respell(question, spellings)
            ranking = _rank(inquiry, question, scorers)

        best = "nothing"
        if ranking.files:
            best = f"{ranking.files[0].path} first of {ranking.matched_files:,} files"
        emit(ResearchEvent("turn", {"tool": "nls_search", "query": inquiry.question, "result": best}))
        context.cancellation.check()

        if intents.history:
            paths = [(file.target, file.path) for file in ranking.files[:_MAX_PATHS_OF_HISTORY]]
            past.find(question, question.names or names_before(inquiry), paths, _MAX_COMMITS)
            commits = count_of(len(past.commits), "commit")
            emit(ResearchEvent("turn", {"tool": "commit_search", "result": f"{commits} selected"}))

        findings = select_evidence(work, question, intents, ranking, past, budget)
        # A name that no file has is said to be absent, whatever spelling the places have.
        names = [word for word in spellings if is_name_in(word, inquiry.question)]
        absent_names = absent_words(work, names) if names else ()
        absent = tuple(dict.fromkeys([*absent_names, *findings.absent])) or absent_phrases(work)
        has_unread = bool(absent) and has_unread_files(work, absent[0])
        return replace(findings, spellings=spellings, absent=absent, has_unread_files=has_unread)

    def _facts_in_time(self, inquiry: ResearchRequest, budget: ResearchBudget, emit: Emit) -> FactsDraft | None:
        """Answer by facts; None if that takes too much processor time."""
        try:
            with inquiry.context.cancellation.work_limit(budget.facts_s):
                return _answer_by_facts(inquiry, emit)
        except WorkLimitReached:
            return None

    def _find_in_time(self, inquiry: ResearchRequest, budget: ResearchBudget, emit: Emit) -> Findings | None:
        """Find evidence; None if that takes too much processor time."""
        try:
            with inquiry.context.cancellation.work_limit(budget.passages_s):
                return self.find(inquiry, budget, emit)
        except WorkLimitReached:
            return None

    def _write_draft(self, inquiry: ResearchRequest, budget: ResearchBudget, emit: Emit) -> Draft:
        """Answer a question by facts, or show the best passages, or both if the facts need them to be understood."""
        foreign = read_foreign_question(inquiry.words)
        if foreign is not None:
            if not foreign.english:
                return self._write_unread_draft(inquiry, budget, emit)
            inquiry = as_english(inquiry, foreign.english)

        facts_draft = self._facts_in_time(inquiry, budget, emit)
        result = facts_draft or FactsDraft(Draft(parts=[Paragraph(CUT_SHORT)], stats={"cut_short": CUT_REASON}))
        if result.is_whole and not _needs_code(result.request, inquiry):
            return result.draft

        draft = result.draft
        is_whole = result.is_whole
        findings = self._find_in_time(inquiry, budget, emit)
        if findings is None:
            return draft if is_whole else write_cut_draft(inquiry)
        if facts_draft is None:
            # What was not looked up may say something else.
            findings = replace(findings, stated=None, absent=())

        unread = unread_words(result.request, inquiry)
        stated = findings.stated
        if stated is not None and not is_whole and not findings.absent and is_proven(stated):
            draft = write_finding(without_secrets(stated), inquiry)
            is_whole = True

        lay_out(findings, inquiry, draft, lead=not is_whole, is_counted=is_whole, unread=unread)
        if facts_draft is None:
            draft.confident = draft.stats["confident"] = False
        draft.followups = followups(findings.ranking, findings.defined, findings.intents)
        return draft

    def _write_unread_draft(self, inquiry: ResearchRequest, budget: ResearchBudget, emit: Emit) -> Draft:
        """Show the best passages for a question in another language, which nothing else can answer."""
        # Words of its grammar are in no file: that says nothing about what is asked.
        findings = self._find_in_time(inquiry, budget, emit)
        if findings is None:
            return write_cut_draft(inquiry)

        findings = replace(findings, absent=())
        draft = Draft(parts=[Paragraph(_ENGLISH_ONLY)])
        lay_out(findings, inquiry, draft, unread=unread_words(None, inquiry))
        draft.confident = False
        draft.stats["confident"] = False
        draft.followups = followups(findings.ranking, findings.defined, findings.intents)
        return draft


def _answer_by_facts(inquiry: ResearchRequest, emit: Emit) -> FactsDraft:
    """Answer by an analysis, by lines that prove the answer, or by a count."""
    inquiry = name_folder_of_repository(inquiry)
    analysis = answer_analysis(inquiry, emit)
    if analysis is not None:
        return analysis

    release = _find_release(inquiry, emit)
    if release is not None:
        return release

    inquiry = mark_names(inquiry, emit)
    finding = find_lookup(inquiry, emit)
    if finding is not None:
        return FactsDraft(write_finding(finding, inquiry), is_whole=True)
    return _answer_by_history(inquiry, emit)


def _find_release(inquiry: ResearchRequest, emit: Emit) -> FactsDraft | None:
    """Answer which release first had something by the first tag with the commit that added it."""
    event = event_of_release(inquiry.words)
    if not event:
        return None

    result = _answer_by_history(mark_names(inquiry.with_words(event), emit), emit)
    commits = [item for item in result.draft.ledger.items if isinstance(item, CommitEvidence)]
    if not commits or not _is_stated(result):
        return None
    finding = find_first_tag(inquiry, commits[0], emit)
    return None if finding is None else FactsDraft(write_finding(finding, inquiry), is_whole=True)


def _answer_by_history(inquiry: ResearchRequest, emit: Emit) -> FactsDraft:
    """Answer by a count, by the commit that a question describes, or by the file or directory that it describes."""
    for words in (inquiry.words, expand_event_wording(_with_pronoun(inquiry))):
        inquiry = inquiry.with_words(words)
        of_project = as_count_request(inquiry, emit)
        if of_project is not inquiry:
            return count(of_project, emit)

    of_path = _count_of_path(inquiry, emit) if names_kind_of_path(inquiry.words) else None
    if of_path is not None:
        return of_path

    result = count(inquiry, emit)
    # Other lines may have gone long after the commit that says so.
    if _is_stated(result) and _LAST_REMOVED.search(_first_text(result.draft)) is None:
        return result

    of_counted = name_counted_path(inquiry)
    if of_counted is not None and _is_stated(in_path := count(of_counted, emit)):
        return in_path

    described = find_described_commit(inquiry, emit)
    commits = {item.commit for item in result.draft.ledger.items if isinstance(item, CommitEvidence)}
    is_same = described is not None and any(item.commit in commits for item in described.headline.evidence)
    if described is not None and not (is_same and _is_stated(result)):
        return FactsDraft(write_finding(without_secrets(described), inquiry), is_whole=True)
    return (None if _is_stated(result) else _count_of_path(inquiry, emit)) or result


def _with_pronoun(inquiry: ResearchRequest) -> str:
    """Return a question with "it" for the name of the only searched repository: "when did LiveView get a policy"."""
    match = _SUBJECT.match(inquiry.words)
    name = re.sub(r"[^a-z\d]", "", match["name"].lower()) if match is not None else ""
    if match is None or name not in spellings_of_project(inquiry):
        return inquiry.words
    return f"{match['before']}it{inquiry.words[match.end() :]}"


_SUBJECT = re.compile(
    r"(?P<before>(?:when|since when|how long|in (?:which|what) (?:commit|release|version)) (?:did|does|has|do|can) )"
    r"(?:the )?(?P<name>[\w.-]{2,60})(?= )",
    re.IGNORECASE,
)


def _count_of_path(inquiry: ResearchRequest, emit: Emit) -> FactsDraft | None:
    """Answer a question for a person or a date by the history of the file or directory that it describes."""
    results = [result for item in name_subject_paths(inquiry) if _is_stated(result := count(item, emit))]
    if len(results) > 1:
        # A file that got another ending was removed under the last one.
        results = [result for result in results if _REMOVED_BY.search(_first_text(result.draft)) is not None]
    if results:
        # A commit that moves files says nothing of who made what they have.
        is_move = _ADDED_BY_MOVE.search(_first_text(results[0].draft)) is not None
        return results[0] if len(results) == 1 and not is_move else None

    of_word = name_word_path(inquiry)
    if of_word is None:
        return None
    of_path = count(of_word[0], emit)
    return of_path if _is_stated(of_path) and says_event(_first_text(of_path.draft), of_word[1]) else None


_LAST_REMOVED = re.compile(r"^A line with .* was last removed by ")
_REMOVED_BY = re.compile(r"` was removed by ")
_ADDED_BY_MOVE = re.compile(
    r"` was added by [^“]{1,200}“[^”]*\b(?:refactor|restructur|reorgani[sz]|mov|renam|monorepo|lerna|relocat)\w*",
    re.IGNORECASE,
)


def _is_stated(result: FactsDraft) -> bool:
    """Return whether facts answer a question, and not by a sentence that no commit did something."""
    return result.is_whole and result.draft.confident and not _says_none(result.draft)


def _says_none(draft: Draft) -> bool:
    """Return whether a draft begins with a sentence that no commit did something: one may still say that it did."""
    return _first_text(draft).startswith("No commit")


def _first_text(draft: Draft) -> str:
    first = draft.parts[0] if draft.parts else None
    return first.text if isinstance(first, Paragraph) else ""


def _needs_code(request: FactRequest | None, inquiry: ResearchRequest) -> bool:
    """Return whether facts about an event are easier to understand with code and commits around them."""
    if request is None or request.kind not in {"who", "when"}:
        return False

    return bool(request.terms or request.ignored or _WHY.search(inquiry.question))


def _rank(inquiry: ResearchRequest, question: RankQuery, scorers: Sequence[Scorer]) -> Ranking:
    context = inquiry.context
    request = natural_language.RankedSearch(
        question.text, limit=_MAX_RANKED, targets=inquiry.pins.targets, scorers=scorers, question=question,
        filters=inquiry.filters,
    )  # fmt: skip
    return natural_language.rank(context.local, request, context.viewer, context.cancellation, context.observer)


def _step_request(inquiry: ResearchRequest) -> StepRequest:
    previous = tuple(inquiry.previous)
    return StepRequest.from_pins(
        inquiry.pins, question=inquiry.question, filters=inquiry.filters, previous=previous, scope=inquiry.scope
    )
