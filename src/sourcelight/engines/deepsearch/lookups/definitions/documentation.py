"""The first sentence of a definition's documentation, with the lines that it stands on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence, without_markup
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.deepsearch.source.comments import MAX_LINE_CHARACTERS
from sourcelight.engines.deepsearch.source.line_kinds import LISPS
from sourcelight.engines.deepsearch.source.paragraphs import ProseParagraph, Sentence, comment_paragraphs
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_LINES, _MAX_SENTENCE_LINES = 60, 8
"""Lines around a name in which its documentation begins, and lines of its first sentence."""

_WITH_TEXT_BELOW = LISPS | {"Python"}
_WITH_TEXTS_ABOVE = frozenset({"Elixir", "Julia"})
"""Languages whose documentation is a text, with blank lines between its paragraphs."""

_ATTRIBUTE = re.compile(r"\s*(?:@|#\[|\[\w|-spec\b|template\b|\"\"\"|\*/|-\}|\{\.)|\s*[\w.]+\s*::")
_MARK = re.compile(r"\s*(?:/{2,3}|\*|#+|;+|%+|--\|?)\s*")
_TEXT_ALONE = re.compile(r"\s*\"(?P<text>[^\"\\]{1,300})\"\s*")
"""A text that is a line by itself, as a short documentation in a Lisp is."""

_TAG = re.compile(r"[@\\<:#]")
"""The beginning of a section on parameters and results, or of a directive: neither describes the definition."""

_MIN_WORDS = 3


def summary_of(lines: Sequence[str], definition: Definition, language: str) -> Sentence | None:
    """Return the first sentence of a definition's documentation; None without one, or if it can't be told for sure.

    Parameters
    ----------
    lines
        The file.
    definition
        A definition in it, by a grammar or by the form of its line.
    language
        The display name of its language.
    """
    summary = first_sentence(lines, definition)
    sentence = _find_lines(lines, definition, summary) if summary else _by_marks(lines, definition.line, language)
    if sentence is None or _TAG.match(sentence.text) is not None or len(sentence.text.split()) < _MIN_WORDS:
        return None
    return sentence


def _find_lines(lines: Sequence[str], definition: Definition, summary: str) -> Sentence | None:
    """Return a summary with the lines of the comment or docstring that have it."""
    beginning = " ".join(summary.split()[:_MIN_WORDS])
    first = comment_start(lines, definition.begin_line - 1) + 1
    last = min(head_end(lines, definition), len(lines), first + _MAX_LINES)
    for number in range(first, last + 1):
        two_lines = [line[:MAX_LINE_CHARACTERS] for line in lines[number - 1 : number + 1]]
        if beginning not in without_markup(" ".join(two_lines)):
            continue

        # The words may begin on this line or on the next one.
        begin_line = number if beginning.split()[0] in lines[number - 1] else number + 1
        end_line = min(begin_line + len(summary) // 60 + 1, last, begin_line + _MAX_SENTENCE_LINES)
        return Sentence(summary.lstrip("|^ "), begin_line, max(begin_line, end_line))

    return None


def _by_marks(lines: Sequence[str], line: int, language: str) -> Sentence | None:
    """Return the first sentence of the comment above a line, or of the text below it in languages with such texts."""
    paragraphs = [paragraph for paragraph in comment_paragraphs(lines, language) if not paragraph.is_trailing]
    if language in _WITH_TEXT_BELOW:
        below = [paragraph for paragraph in paragraphs if line < paragraph.begin_line <= line + 2]
        if below:
            return below[0].sentences[0]

        for number, text in enumerate(lines[line : line + 2], line + 1):
            match = _TEXT_ALONE.fullmatch(text)
            if match is not None:
                return Sentence(match["text"], number, number)

    block = _block_above(lines, line, paragraphs, may_have_blanks=language in _WITH_TEXTS_ABOVE)
    return None if block is None else block.sentences[0]


def _block_above(
    lines: Sequence[str], line: int, paragraphs: Sequence[ProseParagraph], *, may_have_blanks: bool
) -> ProseParagraph | None:
    """Return the first paragraph of the comment that ends right above a line; None without such a comment."""
    first: ProseParagraph | None = None
    for paragraph in reversed(paragraphs):
        if paragraph.begin_line > line:
            continue

        between = lines[paragraph.end_line : (first.begin_line if first is not None else line) - 1]
        is_joined = all(
            _ATTRIBUTE.match(text) if first is None else _MARK.fullmatch(text) or (may_have_blanks and not text.strip())
            for text in between
        )
        if not is_joined or line - paragraph.begin_line > _MAX_LINES:
            break
        first = paragraph

    return first
