"""Lines of an answer about single pieces of evidence, each with its citation.

    - 2024-05-02, Ada: “Close the gate at high tide” [E3]
    - `lift`, a function of `Gate`: “Lift the gate by one step.” [E1]
    - `gate.lift(level)` in `main` [E2]

All texts of a repository are quoted by `inline` or `code`, which remove secrets and active markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, EvidenceLedger, FileEvidence
from sourcelight.engines.deepsearch.evidence.relevant.passages import RelevantPassage
from sourcelight.engines.deepsearch.evidence.surroundings import DefinitionExcerpt, paragraph_of
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article, kind_in_words
from sourcelight.engines.deepsearch.markdown import inline, person_name
from sourcelight.engines.deepsearch.redaction import redact

_MAX_LINE_CHARACTERS = 200
"""Maximum characters of a line of code that is shown unchanged."""

_MAX_USE_CHARACTERS = 160
"""Maximum characters of a line that uses a name, beside the name of what it is in."""

_MAX_SUMMARY_CHARACTERS = 160
"""Maximum characters of a definition's description, where several passages are listed."""

_MAX_DESCRIPTION_CHARACTERS = 300
"""Maximum characters of a definition's description, where it stands alone."""

_MAX_QUOTED_CHARACTERS = 400
"""Maximum characters of a sentence, or a paragraph of a document, that is quoted."""

_CUT_START = re.compile(r"\A[a-z][^.!?]*[.!?]\s+(?=[A-Z`*])")
_CUT_END = re.compile(r"(?<=[.!?])\s[^.!?]*[^.:!?\s)\"'`*]\Z")
"""The rest of a sentence at the beginning, and a beginning of one at the end, beside a whole sentence."""

_TEST_NAME = re.compile(r"test|spec|should|scenario|benchmark", re.IGNORECASE)
"""A part of the names of tests: other names in their files are helpers and data."""

_WHOLE = re.compile(r"[A-Z`*].*[.:!?]\W?", re.DOTALL)
"""A paragraph that was not cut at either end."""


def write_commit(commit: CommitEvidence, ledger: EvidenceLedger) -> str:
    """Write a commit: its date, author and subject."""
    return f"- {commit.date[:10]}, {person_name(commit.author)}: {quote_subject(commit)} [{ledger.add(commit)}]"


def quote_subject(commit: CommitEvidence) -> str:
    """Quote the subject of a commit, with the note about it."""
    quotation = f"“{inline(commit.subject)}”"
    return f"{quotation}, {commit.note}" if commit.note else quotation


def write_passage(passage: RelevantPassage, ledger: EvidenceLedger) -> str:
    """Write one passage with the reason why it is relevant."""
    if passage.is_line:
        return _write_line(passage, ledger)
    if passage.line:
        return _write_quotation(passage, ledger)

    evidence = passage.evidence
    name = f"{code(passage.name)} in " if passage.name else ""
    description = _quote(passage.description, _MAX_SUMMARY_CHARACTERS)
    text = f"{name}{code(evidence.path)}{description} [{ledger.add(evidence)}]."
    if passage.sentence is not None:
        return f"{text} {_write_sentence_inside(passage.sentence, ledger)}"
    if passage.words:
        text += f" Matches {join_words([code(word) for word in passage.words])}."
    return text


def _write_sentence_inside(sentence: RelevantPassage, ledger: EvidenceLedger) -> str:
    """Write a sentence of a definition that is named before it."""
    citation = ledger.add(sentence.evidence)
    # Readers don't see lines of a notebook's JSON: the citation has the cell.
    line = "It has" if is_jupyter(sentence.evidence.path) else f"Line {sentence.line:,}"
    return f"{line}{_quote_sentence(sentence)} [{citation}]."


def _quote_sentence(sentence: RelevantPassage) -> str:
    if sentence.is_code:
        return f": {code(redact(sentence.description)[:_MAX_LINE_CHARACTERS])}"
    return _quote(sentence.description, _MAX_QUOTED_CHARACTERS)


def _write_line(passage: RelevantPassage, ledger: EvidenceLedger) -> str:
    """Write a line of code, and why it is shown."""
    evidence = passage.evidence
    line = ""
    if evidence.text.strip():
        line = code(redact(evidence.text.strip())[:_MAX_LINE_CHARACTERS])
    reason = f" It {passage.description}." if passage.description else ""
    return f"{_locate(evidence.path, evidence.begin_line)}: {line} [{ledger.add(evidence)}].{reason}"


def _write_quotation(passage: RelevantPassage, ledger: EvidenceLedger) -> str:
    """Write a sentence as a quotation with its line."""
    evidence = passage.evidence
    unit = f" (in {code(passage.name)})" if passage.name else ""
    return f"{_locate(evidence.path, passage.line)}{unit}{_quote_sentence(passage)} [{ledger.add(evidence)}]."


def _locate(path: str, line: int) -> str:
    # Readers don't see lines of a notebook's JSON: the citation has the cell.
    if is_jupyter(path):
        return code(path)
    return f"{code(path)}, line {line:,}"


def _quote(text: str, limit: int) -> str:
    """Return a colon and a quotation; empty without a text."""
    return f": “{inline(text, limit)}”" if text else ""


def write_definition(excerpt: DefinitionExcerpt, ledger: EvidenceLedger) -> str:
    """Write a definition: its kind, what it is in, and its description."""
    definition = excerpt.definition
    # The kind is read from the line with the definition's number, so the lines above the excerpt are empty.
    lines_above = [""] * (excerpt.evidence.begin_line - 1)
    lines = [*lines_above, *excerpt.evidence.text.split("\n")]

    text = code(definition.name)
    kind = in_words_with_article(kind_in_words(definition, lines, excerpt.path))
    if kind:
        text += f", {kind}"
    if definition.container:
        text += f" of {code(definition.container)}"
    text += _quote(excerpt.description, _MAX_DESCRIPTION_CHARACTERS)
    return f"- {text} [{ledger.add(excerpt.evidence)}]"


def write_use(use: FileEvidence, ledger: EvidenceLedger) -> str:
    """Write a line that uses a name, and the definition that it is in."""
    scope = f" in {code(use.symbols[0])}" if use.symbols else ""
    return f"{code(use.text.strip()[:_MAX_USE_CHARACTERS])}{scope} [{ledger.add(use)}]"


def write_document(document: FileEvidence, ledger: EvidenceLedger) -> str:
    """Write the paragraph of a document that fits the question, or its path without one."""
    paragraph = paragraph_of(document)
    text = code(document.path)
    if paragraph:
        sentences = _CUT_END.sub("", _CUT_START.sub("", paragraph))
        text = f"“{inline(sentences, _MAX_QUOTED_CHARACTERS)}”"
    return f"- {text} [{ledger.add(document)}]"


def write_overview(documents: Sequence[FileEvidence], ledger: EvidenceLedger) -> str:
    """Quote the first paragraph of a document that is whole; empty without one."""
    for document in documents:
        paragraph = paragraph_of(document)
        if _WHOLE.fullmatch(paragraph):
            return f"Overview{_quote(paragraph, _MAX_DESCRIPTION_CHARACTERS)} [{ledger.add(document)}]"
    return ""


def write_unit(passages: Sequence[RelevantPassage], ledger: EvidenceLedger) -> str:
    """Write the first definition of some passages, one with documentation if there is any; empty without one."""
    definitions = [passage for passage in passages if passage.name]
    with_documentation = [passage for passage in definitions if passage.is_documentation]
    for unit in (*with_documentation, *definitions):
        evidence = unit.evidence
        # A sentence from a body doesn't describe its definition.
        description = _quote(unit.description, _MAX_DESCRIPTION_CHARACTERS) if unit.is_documentation else ""
        return f"Definition: {code(unit.name)} in {code(evidence.path)}{description} [{ledger.add(evidence)}]"
    return ""


def write_test(test: FileEvidence, ledger: EvidenceLedger) -> str:
    """Write a test: its name, if a definition there has that of a test, and its file."""
    name = next((f"{code(symbol)} in " for symbol in test.symbols if _TEST_NAME.search(symbol)), "")
    return f"Test: {name}{code(test.path)} [{ledger.add(test)}]"
