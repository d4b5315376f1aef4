"""The sections of a document, and the first paragraph of prose in each."""

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
_MIN_LETTERS, _MIN_WORDS = 20, 3
_MARKDOWN = re.compile(r"\.(?:md|markdown|mdx|mkd|rmd|qmd)$", re.IGNORECASE)
_UNDERLINE = re.compile(r"([=~^*\"'#+`:.-])\1{2,}\s*$")
_ASCIIDOC = re.compile(r"(={1,6}) (\S.*)$")
_HTML = re.compile(r"<[^<>]{0,500}>")
_IMAGE = re.compile(r"!\[[^\]\[]{0,300}\](?:\([^()]{0,500}\)|\[[^\]\[]{0,100}\])")
_LINK = re.compile(r"\[([^\]\[]{0,300})\](?:\([^()]{0,500}\)|\[[^\]\[]{0,100}\])")
_LABEL = re.compile(r"\[([^\]\[\n]{2,100})\](?![(:])")
"""A link whose address stands elsewhere in the document."""
_RST_LINK = re.compile(r"`([^`<]{1,200})<[^<>]{0,500}>`_{1,2}")
_RST_ROLE = re.compile(r":[\w.+:-]{1,40}:`([^`]{1,200})`")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|`{1,3}"
)
_NO_PROSE = re.compile(r"\s*(?:\.\. |:\w[\w ]{0,30}:|\||[-=~^*_]{3,}\s*$|\[\S+\]:)")


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


def has_links_alone(text: str) -> bool:
    """Return whether a text is made of links of Markdown, such as an entry of a table of contents."""
    without_links = _LINK.sub("", text)
    return without_links != text and not any(map(str.isalpha, without_links))


def sections_of(path: str, lines: Sequence[str]) -> list[DocumentSection]:
    """Return the sections of a document in the order of their headings."""
    lines = lines[:_MAX_LINES]
    headings = list(_markdown_headings(lines) if _MARKDOWN.search(path) else _underlined_headings(lines))
    sections = []
    for index, (title, level, line) in enumerate(headings):
        end = next((other[2] - 1 for other in headings[index + 1 :] if other[1] <= level), len(lines))
        sections.append(DocumentSection(without_markup(title), level, line, _without_empty_end(lines, line, end)))
    return sections


def first_paragraph(path: str, lines: Sequence[str], start: int, end: int) -> DocumentParagraph | None:
    """Return the first paragraph of prose in the lines `start` to `end`; badges, images and tables aren't prose.

    Headings end it: the paragraph of a section is its own, or that of its first subsection.
    """
    lines = lines[:_MAX_LINES]
    blocks = _markdown_blocks(lines) if _MARKDOWN.search(path) else _plain_blocks(lines)
    for first, last in blocks:
        if first >= start and last <= end:
            # A backslash at the end of a line is a line break.
            text = without_markup(" ".join(line.strip().removesuffix("\\") for line in lines[first - 1 : last]))
            if _is_prose("\n".join(lines[first - 1 : last]), text):
                return DocumentParagraph(text, first, last)

    return None


def without_markup(text: str) -> str:
    """Return the words of a text in Markdown or reStructuredText: labels of links, no images, elements or emphasis."""
    text = _LINK.sub(r"\1", _IMAGE.sub(" ", _HTML.sub(" ", text[: 20 * _MAX_LINE_CHARACTERS])))
    text = _LABEL.sub(r"\1", text)
    text = _RST_ROLE.sub(r"\1", _RST_LINK.sub(r"\1", text))
    return " ".join(_EMPHASIS.sub("", text).split())


def _is_prose(source_text: str, text: str) -> bool:
    """Return whether a paragraph says something, besides badges and links to other pages."""
    if _NO_PROSE.match(source_text) or re.match(r"\s*(?:[-*+]|\d{1,3}[.)])\s", source_text):
        return False
    unlinked = without_markup(_LINK.sub(" ", _IMAGE.sub(" ", source_text)))
    letters = sum(map(str.isalpha, unlinked))
    # Chinese and Japanese have no spaces between words.
    has_words = len(text.split()) > _MIN_WORDS or any("\u3040" <= letter <= "\u9fff" for letter in text)
    return has_words and letters >= min(_MIN_LETTERS, len(text) // 2 + 1) and letters >= len(text) // 4


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 20})
    # Only blocks: nothing here needs the markup within a line, whose parsing can take quadratic time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _markdown_tokens(lines: Sequence[str]) -> Iterator[tuple[str, int, int, int, str]]:
    """Yield headings and paragraphs outside of lists and quotes: type, level, first and last line, text."""
    tokens = _parser().parse("\n".join(line[:_MAX_LINE_CHARACTERS] for line in lines))
    for token, content in itertools.pairwise(tokens):
        if token.type in {"heading_open", "paragraph_open"} and token.level == 0 and token.map is not None:
            level = int(token.tag[1:]) if token.type == "heading_open" else 0
            yield token.type, level, token.map[0] + 1, token.map[1], content.content


def _markdown_headings(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    for kind, level, first, _, text in _markdown_tokens(lines):
        if kind == "heading_open":
            yield text, level, first


def _markdown_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for kind, _, first, last, _ in _markdown_tokens(lines):
        if kind == "paragraph_open":
            yield first, last


def _underlined_headings(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the headings of reStructuredText, AsciiDoc and plain text: title, level and line."""
    levels: dict[str, int] = {}
    for number, line in enumerate((line[:_MAX_LINE_CHARACTERS] for line in lines), 1):
        asciidoc = _ASCIIDOC.match(line)
        if asciidoc is not None:
            yield asciidoc[2], len(asciidoc[1]), number
            continue
        title = lines[number - 2].strip() if number > 1 else ""
        mark = _UNDERLINE.match(line)
        # The line must be about as long as the title, or it is a rule between paragraphs.
        if mark is not None and title and len(line.strip()) >= len(title) - 1 and any(map(str.isalnum, title)):
            yield title[:_MAX_LINE_CHARACTERS], levels.setdefault(mark[1], len(levels) + 1), number - 1


def _plain_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of blocks that empty lines separate, without directives and their content."""
    first, is_directive = 0, False
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            # What is indented after a directive is its content.
            is_directive = line.lstrip().startswith(".. ") or (is_directive and line[:1] in {" ", "\t"})
            if not is_directive and not line.startswith(("  ", "\t")) and not first:
                first = number
        elif first:
            if not any(_UNDERLINE.match(text) or _ASCIIDOC.match(text) for text in lines[first - 1 : number - 1]):
                yield first, number - 1
            first = 0


def _without_empty_end(lines: Sequence[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end
