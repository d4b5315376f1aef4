"""A section of a document whose title is what a question asks: "Raising timeout errors" for "How can I raise …?"."""

from __future__ import annotations

import re

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.misfits import lacks_limits
from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion, count_negations
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.passages.asked_file import AskedFile
from sourcelight.engines.deepsearch.passages.choice import INSTRUCTION, best_documents
from sourcelight.engines.deepsearch.passages.instructions import PREPOSITIONS
from sourcelight.engines.deepsearch.source.documents import DocumentSection, first_paragraph, sections_of
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

_MAX_EXTRA = 1
"""Words of its own that a title may have, such as an adjective."""

_MAX_QUOTED, _MAX_TITLE, _QUOTED_LINES = 300, 80, 14
_WORD = re.compile(r"[\w'-]+")
_NAME_ALONE = re.compile(r"\W*\w*(?:_\w+|[a-z][A-Z]\w*)\W*")
"""A title that is a name of code, such as that of an event: its section describes the name."""

_NO_SENTENCE = re.compile(r"\s*(?:[-*+•>|]|\d{1,2}[.)]\s|```|~~~| {4}|\t)")
"""The beginning of a list, a table, a quotation or a block of code."""


def state_section(texts: FileTexts, explanation: ExplanationQuestion, ranking: Ranking) -> Finding | None:
    """Return what the only section with the question as its title says first; None without one, or with several.

    Parameters
    ----------
    texts
        The files that are read.
    explanation
        The question.
    ranking
        What is ranked for it; its best documents are read.
    """
    if explanation.kind != "how":
        return None

    matches = [
        (file, section)
        for file in best_documents(texts, ranking)
        for section in sections_of(file.path, file.lines)
        if _is_title_of(section.title, explanation)
    ]
    if len(matches) != 1:
        return None

    file, section = matches[0]
    end = min(section.end_line, section.begin_line + _QUOTED_LINES - 1)
    if end <= section.begin_line:
        return None

    evidence = texts.evidence(file.target, file.path, section.begin_line, end, "doc", 1.0)
    finding = Finding(Statement(_write(file, section, end, explanation), (evidence,)), "explanation")
    finding.quotes = [evidence]
    finding.method.append("The section was chosen by its title. Code was not run or followed.")
    return finding


def _is_title_of(title: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a title has all words of a question, and hardly any other."""
    subject = explanation.subject
    if _NAME_ALONE.fullmatch(title) is not None or not explanation.is_all_in(title):
        return False

    asked_words = {word.lower() for word in _WORD.findall(explanation.subject.text)}
    own_words = {word.lower() for word in _WORD.findall(title)} - asked_words
    own_nouns = [word for word in own_words if word not in FUNCTION_WORDS and not subject.terms_in(word)]
    # "Dyeing wool for children" isn't about all wool.
    is_narrower = bool(own_nouns) and bool(PREPOSITIONS & own_words)
    return len(own_nouns) <= _MAX_EXTRA and not is_narrower and not lacks_limits(title, explanation)


def _write(file: AskedFile, section: DocumentSection, end: int, explanation: ExplanationQuestion) -> str:
    """Write the first paragraph of a section if it says how; else its title, above its lines."""
    path, title = code(file.path), inline(section.title, _MAX_TITLE)
    paragraph = first_paragraph(file.path, file.lines, section.begin_line + 1, end)
    if paragraph is None:
        return f"{path} has the section “{title}”"

    before = file.lines[section.begin_line : paragraph.begin_line - 1]
    is_first = not any(_NO_SENTENCE.match(line) for line in before)
    is_instruction = INSTRUCTION.search(paragraph.text) is not None
    if not is_first or not is_instruction or count_negations(paragraph.text) != explanation.negations:
        return f"{path} has the section “{title}”"

    return f"{path} says under “{title}”: “{inline(paragraph.text, _MAX_QUOTED)}”"
