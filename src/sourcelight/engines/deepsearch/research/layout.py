"""Lay out the findings of a search: the parts of an answer, with the lines that prove them.

The answer begins with what is certain: names that no file has, then the most relevant commit or the best passages. The
sections behind it show the evidence by kind, and what was searched. A weak search says so first and calls nothing an
answer. A finding is a sentence with its quotes, the details below a heading, and how they were found. `adopt_parts`
takes the parts of one draft over into another, whose evidence has other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.engines.deepsearch.evidence.claims import UNREAD
from sourcelight.engines.deepsearch.evidence.commits import HistoryEvidence
from sourcelight.engines.deepsearch.evidence.model import (
    CommitEvidence,
    EvidenceLedger,
    FileEvidence,
    Finding,
    Statement,
)
from sourcelight.engines.deepsearch.evidence.relevant.passages import RelevantPassage
from sourcelight.engines.deepsearch.evidence.surroundings import DefinitionExcerpt
from sourcelight.engines.deepsearch.markdown import CITED, in_sentence, inline, person_name
from sourcelight.engines.deepsearch.question import QuestionIntents
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research.evidence_lines import (
    quote_subject,
    write_commit,
    write_definition,
    write_document,
    write_overview,
    write_passage,
    write_test,
    write_unit,
    write_use,
)
from sourcelight.engines.deepsearch.research.protocol import NO_MODEL, Draft, Paragraph, Part, Quote
from sourcelight.engines.deepsearch.research.search_scope import format_searched, list_pins, scope_lines
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import stem

HOW = re.compile(r"\W*(?:how\s+(?:does|do|is|are|can)|explain|what\s+happens|describe)\b", re.IGNORECASE)
"""The start of a question for an explanation: "How does a lock open?"."""

_MAX_FOLLOW_UPS = 3
"""Maximum questions that are suggested."""

_MAX_QUESTION_CHARACTERS = 200
"""Maximum characters of the question that are repeated: it may be a whole issue."""

_SECTION_PARTS = 2
"""Parts of a section with one paragraph: its heading and the paragraph."""

_NO_WORD = "No direct answer found."
_NO_ANSWER = "No direct answer found: few words of the question occur together."

_COMPLETE_UNITS = frozenset({"tests", "throws", "callers"})
"""Units whose sentence is about all of them, such as "It has one caller": it is uncertain if a file wasn't read.

A line proves itself even if other files could not be read.
"""

_CALL_PREFIX = "code."
"""The beginning of a query that is a call of the library, and no search."""

CUT_REASON = "reading the searched files took too long"
CUT_SHORT = (
    "This answer is incomplete: reading the searched files took too long, so counts and look-ups are missing. "
    "Name a repository or a path to search less."
)
"""The first paragraph of an answer whose facts were not looked up to the end."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The evidence for a question, before it is laid out.

    Attributes
    ----------
    ranking
        The ranked files and chunks.
    intents
        What the question asks for, such as uses or the history.
    weak
        Whether few words of the question occur together, so that nothing is taken for an answer.
    quotes
        The best chunks.
    defined, uses, tests, docs
        Definitions that the question is about, lines that use them, and files of tests and documentation.
    past
        Commits, if the question asks for the history.
    relevant
        The passages of the first paragraphs, best first.
    absent
        Names of the question that no searched file has.
    has_unread_files
        Whether some files could not be searched for them.
    spellings
        For each word that no file has the similar word that was searched instead.
    stated
        The finding that answers the question in a sentence, if any.
    """

    ranking: Ranking
    intents: QuestionIntents
    weak: bool
    quotes: list[FileEvidence] = field(default_factory=list)
    defined: list[DefinitionExcerpt] = field(default_factory=list)
    uses: list[FileEvidence] = field(default_factory=list)
    tests: list[FileEvidence] = field(default_factory=list)
    docs: list[FileEvidence] = field(default_factory=list)
    overviews: list[FileEvidence] = field(default_factory=list)
    past: HistoryEvidence | None = None
    relevant: list[RelevantPassage] = field(default_factory=list)
    absent: tuple[str, ...] = ()
    has_unread_files: bool = False
    spellings: Mapping[str, str] = field(default_factory=dict)
    stated: Finding | None = None


def lay_out(
    findings: Findings,
    inquiry: ResearchRequest,
    draft: Draft,
    *,
    lead: bool = True,
    is_counted: bool = False,
    unread: Sequence[str] | None = None,
) -> None:
    """Write the findings as the parts of an answer.

    Parameters
    ----------
    findings
        The evidence.
    inquiry
        The question.
    draft
        The answer so far, to which the parts are added.
    lead
        Whether the answer begins with the best passages; False below facts that answer the question.
    is_counted
        Whether the draft has such facts. Their section about what was searched is replaced.
    unread
        Words of the question that were not understood; None if all were.
    """
    if is_counted:
        del draft.parts[-_SECTION_PARTS:]

    # An answer that begins with unread parts is not reliable.
    is_read = unread is None
    draft.confident = is_counted or (is_read and not findings.weak)
    past = findings.past.commits if findings.past is not None else []
    if lead:
        _write_lead(findings, past, inquiry, draft, unread)
    if past:
        draft.add_section("History", _lines(write_commit(commit, draft.ledger) for commit in past))

    # The first passages have these definitions already.
    passages = findings.relevant if lead and not past else ()
    _write_evidence(findings, draft, {(passage.name, passage.evidence.path) for passage in passages})
    # The first paragraph has these words already.
    _write_unmatched_words(findings.ranking, findings.absent if lead else (), draft)
    draft.add_section("Searched", Paragraph("\n".join(_format_searched(findings, inquiry)), says_no_model=True))

    draft.searches.append(" ".join(inquiry.question.split()))
    draft.stats |= {
        "coverage": round(findings.ranking.coverage, 4),
        "files_searched": findings.ranking.searched_files,
        "files_matched": findings.ranking.matched_files,
        "confident": draft.confident,
    }
    draft.stats.setdefault("states_fact", False)


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
    other_files = [file for file in ranking.files if file.kind == "code" and file.path not in defined_paths]
    if other_files:
        questions.append(f"What does `{other_files[0].path}` do?")

    return questions[:_MAX_FOLLOW_UPS]


def _write_lead(
    findings: Findings,
    past: Sequence[CommitEvidence],
    inquiry: ResearchRequest,
    draft: Draft,
    unread: Sequence[str] | None,
) -> None:
    """Write the first paragraphs and, for a question such as "How does a lock open?", an explanation in steps."""
    draft.parts.extend(Paragraph(text) for text in _lead(findings, past, draft.ledger, unread))
    if not findings.weak and HOW.match(inquiry.question):
        steps = _steps(findings, draft.ledger)
        if steps:
            draft.add_section("At a glance", _lines(steps))


def _write_unmatched_words(ranking: Ranking, reported: Collection[str], draft: Draft) -> None:
    """Write which words of the question no file has, besides those that are `reported` already."""
    words = [word for word in ranking.unknown if word not in reported]
    if words:
        # Inside other words they don't match.
        noun = "words" if len(words) > 1 else "word"
        draft.add_section(
            "Not found", Paragraph(f"No file has the {noun} {join_words([code(word) for word in words])}.")
        )


def _write_evidence(findings: Findings, draft: Draft, placed: Collection[tuple[str, str]]) -> None:
    """Write definitions, quotes, uses, tests and documents; `placed` are names and paths of definitions left out."""
    ledger = draft.ledger
    excerpts = [excerpt for excerpt in findings.defined if (excerpt.definition.name, excerpt.path) not in placed]
    if excerpts and not findings.weak:
        draft.add_section("Definition", _lines(write_definition(excerpt, ledger) for excerpt in excerpts))

    if findings.quotes:
        title = "Closest code" if findings.weak else "How it works"
        draft.add_section(title, *_quotes(findings.quotes, ledger))

    if findings.uses:
        draft.add_section("Used by", _lines(f"- {write_use(use, ledger)}" for use in findings.uses))

    if findings.tests:
        draft.add_section("Tests", *_quotes(findings.tests, ledger))

    if findings.docs:
        draft.add_section("Documentation", _lines(write_document(document, ledger) for document in findings.docs))


def _quotes(items: Iterable[FileEvidence], ledger: EvidenceLedger) -> list[Quote]:
    return [Quote(ledger.add(item)) for item in items]


def _lines(lines: Iterable[str]) -> Paragraph:
    return Paragraph("\n".join(lines))


def _lead(
    findings: Findings, past: Sequence[CommitEvidence], ledger: EvidenceLedger, unread: Sequence[str] | None = None
) -> list[str]:
    """Write the first paragraphs: what is absent, then the most relevant passages, and nothing that is not certain."""
    paragraphs = []
    subjects = " ".join(commit.subject for commit in past).casefold()
    absent = [word for word in findings.absent if word.casefold() not in subjects]
    if absent:
        words = join_words([code(word) for word in absent], "or")
        limit = " (some files couldn't be read, and weren't searched)" if findings.has_unread_files else ""
        paragraphs.append(f"No searched file has {words}{limit}.")

    if past and not findings.weak:
        paragraphs.append(_lead_with_commit(past[0], ledger, unread))
        return paragraphs

    if not findings.relevant:
        paragraphs.append(_NO_WORD)
        return paragraphs

    passages = [write_passage(passage, ledger) for passage in findings.relevant]
    paragraphs.append(f"{_NO_ANSWER} Most relevant:" if findings.weak else "Most relevant:")
    paragraphs.append("\n".join(f"{number}. {passage}" for number, passage in enumerate(passages, 1)))
    return paragraphs


def _lead_with_commit(commit: CommitEvidence, ledger: EvidenceLedger, unread: Sequence[str] | None) -> str:
    """Write the most relevant commit, and which `unread` words of the question are not in its subject."""
    sentence = (
        f"Most relevant: the commit of {commit.date[:10]} by {person_name(commit.author)}, {quote_subject(commit)} "
        f"[{ledger.add(commit)}]."
    )
    if unread is None:
        return sentence

    # Words that the commit's subject has were understood, as far as the commit goes.
    missing = [word for word in unread if not _has_word(commit.subject, word)]
    if unread and not missing:
        return sentence

    words = join_words([code(word) for word in missing]) or "its subject"
    was = "were" if len(missing) > 1 else "was"
    return f"This can't be answered as asked, because {words} {was} not understood. {sentence}"


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a word, also with another ending."""
    stems = {stem(part.lower()) for part in re.findall(r"\w+", text)}
    return all(stem(part.lower()) in stems for part in re.findall(r"\w+", word))


def _steps(findings: Findings, ledger: EvidenceLedger) -> list[str]:
    """Write an explanation in the order of a reader: overview, where it is used, the step asked about, tests.

    Each line quotes a document, a docstring, code or the header of a test at the cited location.
    """
    steps = [write_overview(findings.overviews, ledger)]
    steps += [f"Use: {write_use(use, ledger)}" for use in findings.uses[:1]]
    steps.append(write_unit(findings.relevant, ledger))
    steps += [write_test(test, ledger) for test in findings.tests[:1]]

    lines = [f"- {step}" for step in steps if step]
    # A single line explains nothing that the first passages don't.
    return lines if len(lines) > 1 else []


def _format_searched(findings: Findings, inquiry: ResearchRequest) -> list[str]:
    ranking = findings.ranking
    files = f"{ranking.matched_files:,} of {count_of(ranking.searched_files, 'file')}"
    passages = count_of(ranking.matched_chunks, "passage")
    question = inline(inquiry.question, _MAX_QUESTION_CHARACTERS)
    lines = [f"“{question}”: {files} share words with the question ({passages})."]

    lines.append(f"Searched {list_pins(inquiry.pins)}.")
    for name, reason in sorted(ranking.failed.items()):
        lines.append(f"{inline(name)} was not searched in full: {inline(reason)}.")
    for name, reason in sorted(inquiry.pins.failed.items()):
        lines.append(f"{inline(name)} could not be searched: {inline(reason)}.")
    for word, nearest in findings.spellings.items():
        lines.append(f"No file has {code(word)}, so the search used {code(nearest)}.")
    if findings.past is not None:
        lines += findings.past.notes

    lines += scope_lines(None, inquiry.scope)
    return [*(f"- {line}" for line in lines), NO_MODEL]


def write_cut_draft(inquiry: ResearchRequest) -> Draft:
    """Write an answer that says only that the question took too much time."""
    draft = Draft([Paragraph(CUT_SHORT)], confident=False)
    draft.add_section("Searched", Paragraph(format_searched(inquiry), says_no_model=True))
    draft.stats |= {"tool_calls": 1, "states_fact": False, "confident": False, "cut_short": CUT_REASON}
    return draft


def write_finding(finding: Finding, inquiry: ResearchRequest) -> Draft:
    """Write a finding as an answer."""
    draft = Draft(confident=True)
    headline = _headline_of(finding)
    draft.parts.append(Paragraph(f"{_cite(headline, draft)}.", _repositories_of(headline, inquiry)))
    draft.parts += [Quote(draft.ledger.add(quote)) for quote in finding.quotes]
    if finding.details:
        draft.add_section(finding.heading, _list([_cite(detail, draft) for detail in finding.details]))

    if method := list(_method_of(finding, inquiry)):
        draft.add_section("Method", _list(method))
    draft.add_section("Searched", Paragraph(format_searched(inquiry), says_no_model=True))
    draft.searches += [query for query in finding.queries if not query.startswith(_CALL_PREFIX)]
    draft.stats |= {
        "tool_calls": 1,
        "unit": finding.unit,
        "changes": False,
        "states_fact": True,
        "complete": not finding.notes,
        "not_applied": [],
    }
    return draft


def _headline_of(finding: Finding) -> Statement:
    """Return the sentence of a finding, with a reservation if files that it is about were not read."""
    headline = finding.headline
    if finding.notes and finding.unit in _COMPLETE_UNITS:
        return replace(headline, text=f"{UNREAD}{in_sentence(headline.text)}")
    return headline


def _method_of(finding: Finding, inquiry: ResearchRequest) -> Iterator[str]:
    """Yield how a finding was made, how to make it again, and what could not be read."""
    yield from finding.method
    yield from scope_lines(None, inquiry.scope)
    yield from (f"To reproduce: {code(query)}" for query in finding.queries if query)
    yield from (f"Not read: {inline(note)}" for note in dict.fromkeys(finding.notes))


def _cite(statement: Statement, draft: Draft) -> str:
    """Return a sentence with links to its evidence, which is added to the draft."""
    links = [f" [{draft.ledger.add(item)}]" for item in statement.evidence]
    return statement.text + "".join(links)


def _repositories_of(statement: Statement, inquiry: ResearchRequest) -> tuple[str, ...]:
    """Return the repositories that a sentence is about; a sentence about something missing is about all."""
    names = {item.repository for item in statement.evidence} or {pin.repository for pin in inquiry.pins}
    return tuple(sorted(names))


def _list(items: list[str]) -> Paragraph:
    return Paragraph("\n".join(f"- {item}" for item in items))


def adopt_parts(draft: Draft, ledger: EvidenceLedger) -> list[Part]:
    """Return the parts of a draft with its evidence numbered in another ledger."""
    new_names = {f"E{number}": ledger.add(item) for number, item in enumerate(draft.ledger.items, 1)}

    def rename(citation: re.Match[str]) -> str:
        names = [new_names.get(name.strip().upper(), "") for name in citation[1].split(",")]
        return f"[{', '.join(name for name in names if name)}]"

    def adopt(part: Part) -> Part:
        if isinstance(part, Paragraph):
            return replace(part, text=CITED.sub(rename, part.text))
        if isinstance(part, Quote):
            return Quote(new_names.get(part.evidence, part.evidence))
        return part

    return [adopt(part) for part in draft.parts]
