"""The sections of a document, and the first paragraph of prose in each.

Markdown is parsed for its blocks. Everything else is read as reStructuredText, AsciiDoc or plain text: a line of marks
below a title makes it a heading, and empty lines separate blocks. A section begins at a heading and ends before the
next heading of its level. A block is prose if enough words are left without its markup.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MAX_LINES, _MAX_LINE_CHARACTERS = 2_000, 2_000
"""Maximum lines of a document that are read, and characters of a line: what a person looks for stands above."""
_MAX_TEXT = 20 * _MAX_LINE_CHARACTERS
"""Characters of a paragraph whose markup is read."""
_MARKDOWN = re.compile(r"\.(?:md|markdown|mdx|mkd|rmd|qmd)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A heading with the lines up to the next heading of its level or above; the lines before all headings have none.

    `begin_line` is the line of the heading; both lines count from 1.
    """

    title: str
    level: int
    begin_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class DocumentParagraph:
    """A paragraph without markup, and its lines, from 1."""

    text: str
    begin_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading: its source text, its level from 1, and its line from 1."""

    text: str
    level: int
    line: int


@dataclass(frozen=True, slots=True)
class _ParagraphLines:
    """A paragraph: its first and its last line, from 1."""

    begin_line: int
    end_line: int


def sections_of(path: str, lines: Sequence[str]) -> list[DocumentSection]:
    """Return the sections of a document in the order of their headings."""
    lines = lines[:_MAX_LINES]
    headings = list(_markdown_headings(lines) if _MARKDOWN.search(path) else _underlined_headings(lines))
    sections = []
    for index, heading in enumerate(headings):
        following = (other.line - 1 for other in headings[index + 1 :] if other.level <= heading.level)
        end = _last_line_with_text(lines, heading.line, next(following, len(lines)))
        sections.append(DocumentSection(without_markup(heading.text), heading.level, heading.line, end))
    return sections


def first_paragraph(path: str, lines: Sequence[str], start: int, end: int) -> DocumentParagraph | None:
    """Return the first paragraph of prose in the lines `start` to `end`; badges, images and tables aren't prose.

    Headings end it: the paragraph of a section is its own, or that of its first subsection.
    """
    lines = lines[:_MAX_LINES]
    blocks = _markdown_blocks(lines) if _MARKDOWN.search(path) else _plain_blocks(lines)
    for block in blocks:
        if block.begin_line < start or block.end_line > end:
            continue

        block_lines = lines[block.begin_line - 1 : block.end_line]
        # A backslash at the end of a line is a line break.
        text = without_markup(" ".join(line.strip().removesuffix("\\") for line in block_lines))
        if _is_prose("\n".join(block_lines), text):
            return DocumentParagraph(text, block.begin_line, block.end_line)

    return None


def _last_line_with_text(lines: Sequence[str], start: int, end: int) -> int:
    """Return the last line of a section that isn't empty; its heading if all others are."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


# Markdown.


@dataclass(frozen=True, slots=True)
class _MarkdownBlock:
    """A heading or a paragraph outside of lists and quotes; `level` is 0 for a paragraph."""

    level: int
    begin_line: int
    end_line: int
    text: str


def _markdown_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    for block in _parse_markdown(lines):
        if block.level > 0:
            yield _Heading(block.text, block.level, block.begin_line)


def _markdown_blocks(lines: Sequence[str]) -> Iterator[_ParagraphLines]:
    for block in _parse_markdown(lines):
        if block.level == 0:
            yield _ParagraphLines(block.begin_line, block.end_line)


def _parse_markdown(lines: Sequence[str]) -> Iterator[_MarkdownBlock]:
    tokens = _parser().parse("\n".join(line[:_MAX_LINE_CHARACTERS] for line in lines))
    for token, content in itertools.pairwise(tokens):
        if token.type not in {"heading_open", "paragraph_open"} or token.level > 0 or token.map is None:
            continue

        level = int(token.tag.removeprefix("h")) if token.type == "heading_open" else 0
        # The parser counts lines from 0, and its end is exclusive.
        yield _MarkdownBlock(level, token.map[0] + 1, token.map[1], content.content)


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 20})
    # Only blocks: nothing here needs the markup within a line, whose parsing can take quadratic time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


# reStructuredText, AsciiDoc and plain text.

_UNDERLINE = re.compile(r"([=~^*\"'#+`:.-])\1{2,}\s*$")
"""A line of one mark below a title: ``=====``."""
_ASCIIDOC = re.compile(r"(={1,6}) (\S.*)$")
"""A heading of AsciiDoc: ``== Gates``."""
_DIRECTIVE = ".. "


def _underlined_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Yield the headings of a document; the first mark below a title is that of the first level, and so on."""
    level_of_mark: dict[str, int] = {}
    for number, line in enumerate((line[:_MAX_LINE_CHARACTERS] for line in lines), 1):
        asciidoc = _ASCIIDOC.match(line)
        if asciidoc is not None:
            yield _Heading(asciidoc[2], len(asciidoc[1]), number)
            continue

        title = lines[number - 2].strip() if number > 1 else ""
        underline = _UNDERLINE.match(line)
        if underline is None or not any(map(str.isalnum, title)):
            continue
        # The line must be about as long as the title, or it is a rule between paragraphs.
        if len(line.strip()) >= len(title) - 1:
            level = level_of_mark.setdefault(underline[1], len(level_of_mark) + 1)
            yield _Heading(title[:_MAX_LINE_CHARACTERS], level, number - 1)


def _plain_blocks(lines: Sequence[str]) -> Iterator[_ParagraphLines]:
    """Yield the blocks that empty lines separate, without headings, and without directives and their content."""
    begin_line = 0  # of the current block; 0 between blocks
    is_directive = False
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            # What is indented after a directive is its content.
            is_directive = line.lstrip().startswith(_DIRECTIVE) or (is_directive and line.startswith((" ", "\t")))
            is_indented = line.startswith(("  ", "\t"))
            if begin_line == 0 and not is_directive and not is_indented:
                begin_line = number
        elif begin_line > 0:
            if not any(_UNDERLINE.match(text) or _ASCIIDOC.match(text) for text in lines[begin_line - 1 : number - 1]):
                yield _ParagraphLines(begin_line, number - 1)
            begin_line = 0


# Markup within a line.

_HTML = re.compile(r"<[^<>]{0,500}>")
_IMAGE = re.compile(r"!\[[^\]\[]{0,300}\](?:\([^()]{0,500}\)|\[[^\]\[]{0,100}\])")
"""``![A gate](gate.png)``, ``![A gate][picture]``."""
_LINK = re.compile(r"\[([^\]\[]{0,300})\](?:\([^()]{0,500}\)|\[[^\]\[]{0,100}\])")
"""``[gates](gates.md)``, ``[gates][page]``."""
_LABEL = re.compile(r"\[([^\]\[\n]{2,100})\](?![(:])")
"""A link whose address stands elsewhere in the document: ``[gates]``."""
_RST_LINK = re.compile(r"`([^`<]{1,200})<[^<>]{0,500}>`_{1,2}")
"""A link of reStructuredText: a label, then an address in angle brackets, all between backquotes."""
_RST_ROLE = re.compile(r":[\w.+:-]{1,40}:`([^`]{1,200})`")
"""A role of reStructuredText: ``:class:`` and a name between backquotes."""
_EMPHASIS = re.compile(
    r"(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|`{1,3}"
)
"""The marks of ``**gate**``, ``_gate_`` and code, not the underscore within ``open_gate``."""


def without_markup(text: str) -> str:
    """Return the words of a text in Markdown or reStructuredText: labels of links, no images, elements or emphasis."""
    text = _HTML.sub(" ", text[:_MAX_TEXT])
    text = _IMAGE.sub(" ", text)
    for link in (_LINK, _LABEL, _RST_LINK, _RST_ROLE):
        text = link.sub(r"\1", text)
    return " ".join(_EMPHASIS.sub("", text).split())


def has_links_alone(text: str) -> bool:
    """Return whether a text is made of links of Markdown, such as an entry of a table of contents."""
    without_links = _LINK.sub("", text)
    return without_links != text and not any(map(str.isalpha, without_links))


# Prose.

_MIN_LETTERS, _MIN_WORDS = 20, 4
"""Letters and words of the shortest sentence that tells something: ``Opens and closes the gates.``"""
_NO_PROSE = re.compile(r"\s*(?:\.\. |:\w[\w ]{0,30}:|\||[-=~^*_]{3,}\s*$|\[\S+\]:)")
"""A directive, ``:field: value``, a row of a table, a rule, or the address of a link: ``[gates]: gates.md``."""
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_SYLLABLES_AND_IDEOGRAPHS = ("\u3040", "\u9fff")
"""The first and the last letter of Japanese and Chinese, which have no spaces between words."""


def _is_prose(source_text: str, text: str) -> bool:
    """Return whether a paragraph, with and without its markup, says something besides badges and links."""
    if _NO_PROSE.match(source_text) or _LIST_ITEM.match(source_text):
        return False

    start, end = _SYLLABLES_AND_IDEOGRAPHS
    has_words = len(text.split()) >= _MIN_WORDS or any(start <= letter <= end for letter in text)
    unlinked = without_markup(_LINK.sub(" ", _IMAGE.sub(" ", source_text)))
    letters = sum(map(str.isalpha, unlinked))
    # A paragraph of fewer letters may be prose if half of it is no link.
    has_letters = letters >= min(_MIN_LETTERS, len(text) // 2 + 1) and letters >= len(text) // 4
    return has_words and has_letters
