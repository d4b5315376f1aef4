"""Markdown and source code as HTML, safe for untrusted text: nothing in it acts.

markdown-it-py parses CommonMark with tables. This module writes the tags of the tokens that it knows; everything else,
such as HTML and images, is text. A link is written only if `resolve` allows its address; otherwise its label is plain
text. The parser bounds depth and time, and wide tables remain text.

`highlighting` colors the code of a block.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from sourcelight.core.markup.escaping import escape
from sourcelight.core.markup.highlighting import code_html

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Resolve: TypeAlias = Callable[[str], str]
"""Maps the address in a text to the one that a reader may follow; empty if there is none."""

ShowLink: TypeAlias = Callable[[str, str, str], str]

_STOP = re.compile(r"[.,;:!?)]+")
"""Punctuation behind a link."""

_MAX_CELLS = 256  # a table of 20,000 columns takes the parser 4 s
_TAGS = {
    "blockquote_open": "<blockquote>\n",
    "blockquote_close": "</blockquote>\n",
    "bullet_list_open": "<ul>\n",
    "bullet_list_close": "</ul>\n",
    "ordered_list_close": "</ol>\n",
    "list_item_open": "<li>",
    "hr": "<hr>\n",
    "table_open": "<table>\n",
    "table_close": "</table>\n",
    "thead_open": "<thead>",
    "thead_close": "</thead>\n",
    "tbody_open": "<tbody>\n",
    "tbody_close": "</tbody>\n",
    "tr_open": "<tr>",
    "th_open": '<th scope="col">',
    "th_close": "</th>",
    "td_open": "<td>",
    "td_close": "</td>",
    "em_open": "<em>",
    "em_close": "</em>",
    "strong_open": "<strong>",
    "strong_close": "</strong>",
    "softbreak": "\n",
    "hardbreak": "<br>\n",
}
"""HTML of the tokens without content."""


def to_html(
    text: str,
    resolve: Resolve,
    *,
    top: int = 1,
    open_lines: int = 0,
    collapsed_titles: Collection[str] = (),
    show_link: ShowLink | None = None,
) -> str:
    r"""Return HTML of a Markdown text.

    Parameters
    ----------
    text
        Untrusted Markdown.
    resolve
        Returns the address that a link may lead to; empty for none.
    top
        Level of the highest heading; lower headings follow, down to 6.
    open_lines
        Lines of Markdown after which sections of the second level are folded, each below its heading; 0 folds none.
    collapsed_titles
        Headings of sections that are always folded, if `open_lines` is not 0.
    show_link
        Gives the HTML of a link from the HTML of its label, its address as written, and where it leads (empty for
        nowhere). None: a link, or the label alone.

    Examples
    --------
    >>> to_html("see <b>`x`</b> at [here](/a) or [there](javascript:x)", lambda url: url if url[0] == "/" else "")
    '<p>see &lt;b&gt;<code>x</code>&lt;/b&gt; at <a href="/a">here</a> or there</p>\n'
    """
    has_tables = all(line.count("|") <= _MAX_CELLS for line in text.split("\n"))
    tokens = _parser(has_tables=has_tables).parse(text)
    writer = _HtmlWriter(resolve, top, show_link)
    if open_lines <= 0:
        return writer.blocks(tokens)
    return writer.collapse(tokens, text, open_lines, collapsed_titles)


def inline_html(text: str, resolve: Resolve, show_link: ShowLink | None = None) -> str:
    """Return HTML of a piece of text without blocks."""
    (token,) = _parser(has_tables=False).parseInline(text)
    return _HtmlWriter(resolve, 1, show_link).inline(token.children or [])


@functools.cache
def _parser(*, has_tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Indented text isn't code, because messages of services are indented.
    unused = ["autolink", "code", "html_block", "html_inline", "image", "reference"]
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).disable(unused)
    parser.validateLink = lambda _: True  # type: ignore[method-assign, assignment]  # `resolve` decides
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser.enable("table") if has_tables else parser


@dataclass(slots=True)
class _HtmlWriter:
    """Writes tokens as HTML, and tokens of unknown types as text."""

    resolve: Resolve
    top: int
    show_link: ShowLink | None = None

    def blocks(self, tokens: Sequence[Token]) -> str:
        parts: list[str] = []
        is_after_tight = False
        for position, token in enumerate(tokens):
            if is_after_tight and token.nesting >= 0:
                parts.append("\n")

            is_after_tight = token.hidden and token.nesting < 0
            match token.type:
                case "inline":
                    parts.append(self._paragraph(token, tokens[position - 1]))
                case "paragraph_open" | "paragraph_close":
                    pass
                case "heading_open" | "heading_close":
                    level = min(self.top - 1 + int(token.tag[1]), 6)
                    parts.append(f"<h{level}>" if token.nesting > 0 else f"</h{level}>\n")
                case "ordered_list_open":
                    start = token.attrs.get("start")
                    parts.append(f'<ol start="{int(start)}">\n' if start is not None else "<ol>\n")
                case "list_item_close":
                    parts[-1] = parts[-1].removesuffix("\n")
                    parts.append("</li>\n")
                case "tr_close":
                    parts.append("</tr>" if tokens[position + 1].type == "thead_close" else "</tr>\n")
                case "fence":
                    parts.append(_fence(token))
                case _:
                    parts.append(_TAGS.get(token.type) or escape(token.content))

        return "".join(parts)

    def collapse(self, tokens: Sequence[Token], text: str, open_lines: int, titles: Collection[str] = ()) -> str:
        """Show a text with its second-level sections folded, except the first sections that fit.

        Sections of some `titles` are always folded, and their lines don't count.
        """
        before, *sections = _split_sections(tokens, text)
        parts = [self.blocks(before.tokens)]
        visible_lines, is_open = before.line_count, True
        for section in sections:
            heading = section.tokens[1]
            is_aside = heading.content.strip() in titles
            visible_lines += 0 if is_aside else section.line_count
            is_open = is_open and visible_lines <= open_lines
            if is_open and not is_aside:
                parts.append(self.blocks(section.tokens))
            else:
                title = self.inline(heading.children or [])
                content = self.blocks(section.tokens[3:])  # the heading is three tokens
                parts.append(f"<details><summary>{title}</summary>\n{content}</details>\n")

        return "".join(parts)

    def _paragraph(self, token: Token, opening: Token) -> str:
        html = self.inline(token.children or [])
        if opening.type != "paragraph_open" or opening.hidden:
            return html
        # `<details>` is a block element, and HTML ends a `<p>` before any block.
        if "<details" in html:
            return f'<div class="sl-paragraph">{html}</div>\n'
        return f"<p>{html}</p>\n"

    def inline(self, tokens: Sequence[Token]) -> str:
        parts: list[str] = []
        outer: list[str] = []
        address = ""
        for token in tokens:
            match token.type:
                case "link_open":
                    outer, parts, address = parts, [], str(token.attrs.get("href", ""))
                case "link_close":
                    outer.append(self._link("".join(parts), address))
                    parts = outer
                case "code_inline":
                    parts.append(f"<code>{escape(token.content)}</code>")
                case "text" if parts and parts[-1].endswith("</details>") and (mark := _STOP.match(token.content)):
                    # A stop after a link that unfolds belongs to its first line, not after its last one.
                    parts[-1] = parts[-1].replace("</summary>", f"{escape(mark[0])}</summary>", 1)
                    parts.append(escape(token.content[mark.end() :]))
                case _:
                    parts.append(_TAGS.get(token.type) or escape(token.content))

        return "".join(parts)

    def _link(self, label: str, address: str) -> str:
        target = self.resolve(address) if address else ""
        if self.show_link is not None:
            return self.show_link(label, address, target)
        return f'<a href="{escape(target)}">{label}</a>' if target else label


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of a text: its tokens, and how many lines of Markdown it has."""

    tokens: Sequence[Token]
    line_count: int


def _split_sections(tokens: Sequence[Token], text: str) -> Iterator[_Section]:
    """Yield what is before the first second-level heading that a line precedes, then each section from its heading."""
    start, start_line = 0, 0
    for position, token in enumerate(tokens):
        is_heading = token.type == "heading_open" and token.tag == "h2" and not token.level
        if is_heading and token.map and token.map[0]:
            yield _Section(tokens[start:position], token.map[0] - start_line)
            start, start_line = position, token.map[0]

    yield _Section(tokens[start:], text.count("\n") + 1 - start_line)


def _fence(token: Token) -> str:
    word = "".join(letter for letter in token.info.partition(" ")[0] if letter.isalnum() or letter in "+-_.#")[:30]
    name = f' class="language-{escape(word)}"' if word else ""
    return f'<pre tabindex="0"><code{name}>{code_html(token.content.removesuffix(chr(10)), word)}</code></pre>\n'
