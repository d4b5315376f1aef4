"""Lay out an answer: findings become the parts of a draft, with the lines that prove them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.cells.formats import is_jupyter
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
from sourcelight.engines.deepsearch.evidence.relevant import RelevantPassage
from sourcelight.engines.deepsearch.evidence.surroundings import DefinitionExcerpt, paragraph_of
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article, kind_in_words
from sourcelight.engines.deepsearch.markdown import CITED, in_sentence, inline, person_name
from sourcelight.engines.deepsearch.question import QuestionIntents
from sourcelight.engines.deepsearch.redaction import redact
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research.counting import format_searched, scope_lines
from sourcelight.engines.deepsearch.research.protocol import NO_MODEL, Draft, Paragraph, Part, Quote
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import stem

HOW = re.compile(r"\W*(?:how\s+(?:does|do|is|are|can)|explain|what\s+happens|describe)\b", re.IGNORECASE)

_WHOLE = re.compile(r"[A-Z`*].*[.:!?]\W?", re.DOTALL)
"""A paragraph that was not cut at either end."""

_MAX_FOLLOW_UPS = 3
_LINE_CHARACTERS = 200
_QUOTED_CHARACTERS = 400
_NO_WORD = "No direct answer found: no searched file shares a word with the question."
_NO_WORD_SHORT = "No direct answer found."
_NO_ANSWER = "No direct answer found: few words of the question occur together."


def write_finding(finding: Finding, inquiry: ResearchRequest) -> Draft:
    """Write a finding as an answer."""
    draft = Draft()
    headline = finding.headline

    # A line proves itself even if other files could not be read; a number does not.
    if finding.notes and finding.unit in {"tests", "throws", "callers"}:
        headline = replace(headline, text=f"{UNREAD}{in_sentence(headline.text)}")

    draft.parts.append(Paragraph(f"{_cite(headline, draft)}.", _about(headline, inquiry)))
    draft.parts += [Quote(draft.ledger.add(quote)) for quote in finding.quotes]
    if finding.details:
        draft.add_section(finding.heading, _lines(f"- {_cite(passage, draft)}" for passage in finding.details))

    lines = list(finding.method)
    lines += scope_lines(None, inquiry.scope)
    lines += [f"To reproduce: {code(query)}" for query in finding.queries if query]
    lines += [f"Not read: {inline(note)}" for note in dict.fromkeys(finding.notes)]
    draft.add_section("Method", _lines(f"- {line}" for line in lines or ["See the citations."]))
    draft.add_section("Searched", Paragraph(format_searched(inquiry), says_no_model=True))
    draft.searches += [query for query in finding.queries if not query.startswith("code.")]
    draft.stats |= {
        "tool_calls": 1,
        "unit": finding.unit,
        "changes": False,
        "states_fact": True,
        "complete": not finding.notes,
        "not_applied": [],
    }
    draft.confident = True
    return draft


def adopt_parts(draft: Draft, ledger: EvidenceLedger) -> list[Part]:
    """Return the parts of a draft with its evidence numbered in another ledger."""
    names = {f"E{number}": ledger.add(item) for number, item in enumerate(draft.ledger.items, 1)}

    def rename(match: re.Match[str]) -> str:
        ids = [names.get(name.strip().upper(), "") for name in match[1].split(",")]
        return f"[{', '.join(name for name in ids if name)}]"

    parts: list[Part] = []
    for part in draft.parts:
        if isinstance(part, Paragraph):
            parts.append(replace(part, text=CITED.sub(rename, part.text)))
        else:
            parts.append(Quote(names.get(part.evidence, part.evidence)) if isinstance(part, Quote) else part)

    return parts


def _cite(statement: Statement, draft: Draft) -> str:
    return statement.text + "".join(f" [{draft.ledger.add(item)}]" for item in statement.evidence)


def _about(statement: Statement, inquiry: ResearchRequest) -> tuple[str, ...]:
    """Return the repositories that a sentence is about; a sentence about something missing is about all."""
    names = {item.repository for item in statement.evidence} or {pin.repository for pin in inquiry.pins}
    return tuple(sorted(names))


@dataclass(frozen=True, slots=True)
class Findings:
    """The evidence for a question, before it is laid out."""

    ranking: Ranking
    intents: QuestionIntents
    weak: bool
    quotes: list[FileEvidence] = field(default_factory=list)
    defined: list[DefinitionExcerpt] = field(default_factory=list)
    uses: list[FileEvidence] = field(default_factory=list)
    tests: list[FileEvidence] = field(default_factory=list)
    docs: list[FileEvidence] = field(default_factory=list)
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

    If facts answer it, the last section of the full answer replaces theirs.
    """
    if is_counted:
        del draft.parts[-2:]

    # An answer that begins with unread parts is not reliable.
    draft.confident = is_counted or not (findings.weak or unread is not None)
    past = findings.past.commits if findings.past is not None else []
    if lead:
        texts = _lead(findings, past, draft.ledger, unread)
        # Names that became scope were not searched for: nothing is said of the whole question.
        texts = [_NO_WORD_SHORT if text == _NO_WORD and inquiry.scope.parts else text for text in texts]
        draft.parts += [Paragraph(text) for text in texts]

    if lead and not findings.weak and HOW.match(inquiry.question) and (steps := _steps(findings, draft.ledger)):
        draft.add_section("At a glance", _lines(steps))

    if past:
        draft.add_section("History", _lines(_commit(item, draft.ledger) for item in past))

    # The first passages have these definitions already.
    passages = findings.relevant if lead and not past else ()
    _write_evidence(findings, draft, {(passage.name, passage.evidence.path) for passage in passages})
    absent = findings.absent if lead else ()
    if unreported := [word for word in findings.ranking.unknown if word not in absent]:
        # Inside other words they don't match.
        noun = "words" if len(unreported) > 1 else "word"
        words = join_words([code(word) for word in unreported])
        draft.add_section("Not found", Paragraph(f"No file has the {noun} {words}."))

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
    other_file = next((file for file in ranking.files if file.kind == "code" and file.path not in defined_paths), None)
    if other_file is not None:
        questions.append(f"What does `{other_file.path}` do?")

    return questions[:_MAX_FOLLOW_UPS]


def _write_evidence(findings: Findings, draft: Draft, placed: Collection[tuple[str, str]]) -> None:
    """Write definitions, quotes, uses, tests and documents; `placed` are names and paths of definitions left out."""
    ledger = draft.ledger
    defined = [
        definition for definition in findings.defined if (definition.definition.name, definition.path) not in placed
    ]
    if defined and not findings.weak:
        draft.add_section("Definition", _lines(_definition(definition, ledger) for definition in defined))

    if findings.quotes:
        title = "Closest code" if findings.weak else "How it works"
        draft.add_section(title, *(Quote(ledger.add(quote)) for quote in findings.quotes))

    if findings.uses:
        draft.add_section("Used by", _lines(f"- {_use(use, ledger)}" for use in findings.uses))

    if findings.tests:
        draft.add_section("Tests", *(Quote(ledger.add(quote)) for quote in findings.tests))

    if findings.docs:
        draft.add_section("Documentation", _lines(_document(document, ledger) for document in findings.docs))


def _lines(lines: Iterable[str]) -> Paragraph:
    return Paragraph("\n".join(lines))


def _commit(item: CommitEvidence, ledger: EvidenceLedger) -> str:
    note = f", {item.note}" if item.note else ""
    return f"- {item.date[:10]}, {person_name(item.author)}: “{inline(item.subject)}”{note} [{ledger.add(item)}]"


def _lead(
    findings: Findings, past: Sequence[CommitEvidence], ledger: EvidenceLedger, unread: Sequence[str] | None = None
) -> list[str]:
    """Write the first paragraphs: what is absent, then the most relevant passages, and nothing that is not certain."""
    paragraphs = []
    subjects = " ".join(item.subject for item in past).casefold()
    if absent := [word for word in findings.absent if word.casefold() not in subjects]:
        limit = " (some files couldn't be read, and weren't searched)" if findings.has_unread_files else ""
        paragraphs.append(f"No searched file has {', '.join(code(word) for word in absent)}{limit}.")

    if past and not findings.weak:
        commit = past[0]
        note = f", {commit.note}" if commit.note else ""
        relevant = (
            f"Most relevant: the commit of {commit.date[:10]} by {person_name(commit.author)}, "
            f"“{inline(commit.subject)}”{note} [{ledger.add(commit)}]."
        )

        # Words that the commit's subject has were understood, as far as the commit goes.
        missing = None if unread is None else [word for word in unread if not _has_word(commit.subject, word)]
        if unread is not None and (missing or not unread):
            unread = missing or unread
            words = join_words([code(word) for word in unread]) or "its subject"
            was = "were" if len(unread) > 1 else "was"
            relevant = f"This can't be answered as asked, because {words} {was} not understood. {relevant}"

        return [*paragraphs, relevant]

    if not findings.relevant:
        return [*paragraphs, _NO_WORD]

    paragraphs.append(f"{_NO_ANSWER} Most relevant:" if findings.weak else "Most relevant:")
    paragraphs.append(
        "\n".join(f"{number}. {_relevant(passage, ledger)}" for number, passage in enumerate(findings.relevant, 1))
    )
    return paragraphs


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a word, also with another ending."""
    stems = {stem(part.lower()) for part in re.findall(r"\w+", text)}
    return all(stem(part.lower()) in stems for part in re.findall(r"\w+", word))


def _relevant(passage: RelevantPassage, ledger: EvidenceLedger) -> str:
    """Write one passage with the reason why it is relevant."""
    if passage.is_line:
        evidence = passage.evidence
        line = code(redact(evidence.text.strip())[:_LINE_CHARACTERS]) if evidence.text.strip() else ""
        # Readers don't see lines of a notebook's JSON: the citation has the cell.
        number = "" if is_jupyter(evidence.path) else f", line {evidence.begin_line:,}"
        reason = f" It {passage.description}." if passage.description else ""
        return f"{code(evidence.path)}{number}: {line} [{ledger.add(evidence)}].{reason}"

    if passage.line:
        return _quoted_passage(passage, ledger)

    name = f"{code(passage.name)} in " if passage.name else ""
    description = f": “{inline(passage.description, 160)}”" if passage.description else ""
    words = f" Matches {join_words([code(word) for word in passage.words])}." if passage.words else ""
    return f"{name}{code(passage.evidence.path)}{description} [{ledger.add(passage.evidence)}].{words}"


def _quoted_passage(passage: RelevantPassage, ledger: EvidenceLedger) -> str:
    """Write a passage as a quotation with its line."""
    evidence = passage.evidence
    number = "" if is_jupyter(evidence.path) else f", line {passage.line:,}"
    unit = f" (in {code(passage.name)})" if passage.name else ""
    quotation = f"“{inline(passage.description, _QUOTED_CHARACTERS)}”"
    return f"{code(evidence.path)}{number}{unit}: {quotation} [{ledger.add(evidence)}]."


def _steps(findings: Findings, ledger: EvidenceLedger) -> list[str]:
    """Write an explanation in the order of a reader: overview, where it is used, the step asked about, tests.

    Each line quotes a document, a docstring, code or the header of a test at the cited location.
    """
    steps = []
    document = next((candidate for candidate in findings.docs if _WHOLE.fullmatch(paragraph_of(candidate))), None)
    if document is not None:
        steps.append(f"Overview: “{inline(paragraph_of(document), 300)}” [{ledger.add(document)}]")

    steps += [f"Use: {_use(use, ledger)}" for use in findings.uses[:1]]
    described = [passage for passage in findings.relevant if passage.name]
    unit = next((passage for passage in described if passage.description), described[0] if described else None)
    if unit is not None:
        description = f": “{inline(unit.description, 300)}”" if unit.description else ""
        steps.append(
            f"Definition: {code(unit.name)} in {code(unit.evidence.path)}{description} [{ledger.add(unit.evidence)}]"
        )

    for test in findings.tests[:1]:
        name = f"{code(test.symbols[0])} in " if test.symbols else ""
        steps.append(f"Test: {name}{code(test.path)} [{ledger.add(test)}]")

    return [f"- {step}" for step in steps] if len(steps) > 1 else []


def _definition(excerpt: DefinitionExcerpt, ledger: EvidenceLedger) -> str:
    description = f": “{inline(excerpt.description)}”" if excerpt.description else ""
    container = f" of {code(excerpt.definition.container)}" if excerpt.definition.container else ""
    link = f"[{ledger.add(excerpt.evidence)}]"
    lines = [*[""] * (excerpt.evidence.begin_line - 1), *excerpt.evidence.text.split("\n")]
    kind = in_words_with_article(kind_in_words(excerpt.definition, lines, excerpt.path))
    return f"- {code(excerpt.definition.name)}{', ' if kind else ''}{kind}{container}{description} {link}"


def _use(use: FileEvidence, ledger: EvidenceLedger) -> str:
    scope = f" in {code(use.symbols[0])}" if use.symbols else ""
    return f"{code(use.text.strip()[:160])}{scope} [{ledger.add(use)}]"


def _document(chunk: FileEvidence, ledger: EvidenceLedger) -> str:
    paragraph = paragraph_of(chunk)
    text = f"“{inline(paragraph, 400)}”" if paragraph else code(chunk.path)
    return f"- {text} [{ledger.add(chunk)}]"


def _format_searched(findings: Findings, inquiry: ResearchRequest) -> list[str]:
    ranking, pins = findings.ranking, list(inquiry.pins)
    question = inline(inquiry.question, 200)
    counts = (
        f"{ranking.matched_files:,} of {count_of(ranking.searched_files, 'file')} share words with the question "
        f"({count_of(ranking.matched_chunks, 'passage')})"
    )
    lines = [f"- “{question}”: {counts}."]
    pin_texts = [f"{code(pin.repository)} at {code(pin.commit[:12])}" for pin in pins[:10]]
    suffix = f" and {count_of(len(pins) - 10, 'more repository')}" if len(pins) > 10 else ""
    lines.append(f"- Searched {', '.join(pin_texts)}{suffix}.")
    lines += [
        f"- {inline(name)} was not searched in full: {inline(reason)}."
        for name, reason in sorted(ranking.failed.items())
    ]
    lines += [
        f"- {inline(name)} could not be searched: {inline(reason)}."
        for name, reason in sorted(inquiry.pins.failed.items())
    ]
    lines += [
        f"- No file has {code(word)}, so the search used {code(nearest)}."
        for word, nearest in findings.spellings.items()
    ]
    if findings.past is not None:
        lines += [f"- {note}" for note in findings.past.notes]

    lines += [f"- {line}" for line in scope_lines(None, inquiry.scope)]
    lines.append(NO_MODEL)
    return lines
