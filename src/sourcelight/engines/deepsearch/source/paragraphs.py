"""Split the prose of a file into paragraphs and sentences, each with its lines: of comments and of documents."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.comments import MAX_LINE_CHARACTERS, ProseLine, prose_lines
from sourcelight.engines.deepsearch.source.documents import DocumentSection, sections_of

_MAX_PARAGRAPH_LINES = 60
"""Lines after which a paragraph ends: an answer cites no more at once."""

_MAX_SENTENCES = 40
_TAG = re.compile(
    r"[@\\:][a-zA-Z]\w*(?=[\s:{(]|$)|<(?:param|returns|exception|remarks|value|typeparam)\b"
    r"|- (?:Parameter|Returns|Throws|Note)"
)
_BULLET = re.compile(r"(?:[-*+•]|\d{1,2}[.)]|\(?[a-z]\))\s+")
_ENTRY = re.compile(r"[\w.-]{1,40}\s+(?:->|=>)\s+\S")
"""A name and what it means, such as a value of a setting."""

_TITLE = re.compile(r"(?:#{1,6}|=head[1-4])\s+(\S.{0,100})$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"[\s=~^*\"'#+`:.|_-]*$")
_END = re.compile(r"[.!?][\"'”)\]*_`]{0,3}(?=\s)")
_NO_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|w\.r\.t|al|No|Fig|Eq)|\s|^)\.$")
"""A full stop after an abbreviation, or after nothing."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of prose without marks of comments, and its lines, from 1."""

    text: str
    begin_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class ProseParagraph:
    """Sentences that stand together.

    Attributes
    ----------
    sentences
        In their order.
    titles
        The headings above it, outermost first, and of a comment none.
    is_trailing
        Whether it is a comment behind code.
    """

    sentences: tuple[Sentence, ...]
    titles: tuple[str, ...] = ()
    is_trailing: bool = False

    @property
    def begin_line(self) -> int:
        """The first line."""
        return self.sentences[0].begin_line

    @property
    def end_line(self) -> int:
        """The last line."""
        return self.sentences[-1].end_line


def comment_paragraphs(lines: Sequence[str], language: str) -> Iterator[ProseParagraph]:
    """Yield the paragraphs of comments and of texts of documentation in a source file."""
    block: list[ProseLine] = []
    titles: tuple[str, ...] = ()
    last_number = 0
    is_fenced = False
    for prose_line in prose_lines(lines, language):
        line = prose_line
        is_fence = _FENCE.match(line.text) is not None
        is_fenced = is_fenced != is_fence if line.number == last_number + 1 else is_fence
        if is_fenced or is_fence:
            # Code within documentation is no prose.
            line = ProseLine(line.number, "")

        # A title is one of its own comment.
        titles = titles if line.number == last_number + 1 else ()
        last_number = line.number
        title = _TITLE.match(line.text)
        if block and (title is not None or _begins_paragraph(line, block)):
            yield from _make_paragraph(block, titles)
            block = []

        if title is not None:
            titles = (title[1],)
        elif line.text:
            block.append(line)

    yield from _make_paragraph(block, titles)


def document_paragraphs(path: str, lines: Sequence[str]) -> Iterator[ProseParagraph]:
    """Yield the paragraphs, list items and rows of tables of a document, with the headings above them."""
    sections = sections_of(path, lines)
    headings = {section.begin_line for section in sections}
    block: list[ProseLine] = []
    is_fenced = False
    for number, line in enumerate([*lines, ""], 1):
        text = line[:MAX_LINE_CHARACTERS].strip()
        is_fence = _FENCE.match(line) is not None
        is_outside = is_fence or is_fenced or number in headings or _RULE.fullmatch(text) is not None
        is_fenced = is_fenced != is_fence
        entry = ProseLine(number, text)
        if block and (is_outside or text.startswith("|") or _begins_paragraph(entry, block)):
            yield from _make_paragraph(block, _titles_at(sections, block[0].number))
            block = []

        if not is_outside:
            block.append(entry)


def _titles_at(sections: Sequence[DocumentSection], number: int) -> tuple[str, ...]:
    return tuple(section.title for section in sections if section.begin_line < number <= section.end_line)


def _begins_paragraph(line: ProseLine, block: Sequence[ProseLine]) -> bool:
    """Return whether a line doesn't go on with the paragraph of the lines before it."""
    before = block[-1]
    # A text that begins behind its mark goes on below.
    is_apart = line.number != before.number + 1 or line.is_trailing != before.is_trailing
    is_marked = any(mark.match(line.text) is not None for mark in (_TAG, _BULLET, _ENTRY))
    return not line.text or is_apart or line.is_trailing or is_marked or len(block) >= _MAX_PARAGRAPH_LINES


def _make_paragraph(block: Sequence[ProseLine], titles: tuple[str, ...] = ()) -> Iterator[ProseParagraph]:
    """Yield the paragraph of some lines, unless they have no words."""
    sentences = tuple(_split_sentences(block)) if block else ()
    if sentences:
        yield ProseParagraph(sentences, titles, block[0].is_trailing)


def _split_sentences(block: Sequence[ProseLine]) -> Iterator[Sentence]:
    """Yield the sentences of consecutive lines, each with the lines that it is on."""
    starts: list[int] = []
    text = ""
    for line in block:
        starts.append(len(text))
        text += f"{line.text} "

    start = 0
    ends = [match.end() for match in _END.finditer(text) if _ends_sentence(text, match)][:_MAX_SENTENCES]
    for end in [*ends, len(text)]:
        sentence = text[start:end].strip()
        if any(map(str.isalpha, sentence)):
            first = bisect.bisect_right(starts, start + len(text[start:end]) - len(text[start:end].lstrip())) - 1
            last = bisect.bisect_left(starts, start + len(text[start:end].rstrip())) - 1
            yield Sentence(sentence, block[first].number, block[max(first, last)].number)
        start = end


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """Return whether a mark ends a sentence: the next word has a capital, and no abbreviation precedes it."""
    after = text[match.end() :].lstrip()[:1]
    return not after.islower() and _NO_END.search(text[max(0, match.start() - 12) : match.start() + 1]) is None
