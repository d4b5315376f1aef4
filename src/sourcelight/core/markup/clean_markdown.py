"""Untrusted Markdown, parsed as CommonMark and written again from its tree.

What comes out holds headings, paragraphs, lists, quotations, tables, code, rules and emphasis, and no link, image, tag,
entity, reference or bare address of its own, whatever another renderer would take these for: patterns that look for
such things in the text miss what a parser sees. Pure; the size is bounded, and so is depth, by the parser.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sourcelight.core.markup.escaping import code, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

RenderText: TypeAlias = Callable[[str], str]
"""From literal text to inline Markdown."""

RenderLink: TypeAlias = Callable[[str, str], str | None]
"""From the label (as text) and the address of a link to its Markdown; None: the label alone, as text."""

MAX_CHARACTERS = 100_000
_CUT = "\n\n(The rest of this text is left out: it has more than 100,000 characters.)"
# Possessive, since shorter runs of an underline fail as the longest does, in quadratic time.
_LINE_PREFIX = re.compile(r"#{1,6}(?=\s|$)|[-+>](?=\s|$)|>|[-=]++(?=[-= \t]*$)|:?-+:?(?=\s*$)|\d{1,9}(?=[.)](?:\s|$))")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]{1,30}")
_TICKS = re.compile(r"`+")
# Renderers beyond CommonMark support bare addresses, formulas, attributes and more; `!` and `&` depend on the next
# characters.
_SPECIAL = re.compile(r"[\\`*\[\]|$~{}]|&(?=[#\w])|!(?=\[|$)|(?<!\w)_|_(?!\w)")
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,30}://|www\.|(?:mailto|xmpp):)[^\s<>`\[\]|]+|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+",
    re.IGNORECASE,
)


_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[a-zA-Z][^<>]*>", re.DOTALL)


def clean_markdown(
    text: str,
    render_text: RenderText | None = None,
    render_link: RenderLink | None = None,
    *,
    drop_tags: bool = False,
) -> str:
    r"""Return Markdown of the same looks as `text` that does nothing, in any renderer.

    Links and images become their labels, tags are shown as text, addresses are code.

    Parameters
    ----------
    text
        Untrusted Markdown; a text of more than 100,000 characters is truncated, and ends with a note.
    render_text
        Writes literal text outside of code; None: `literal`. Its result is used unchanged.
    render_link
        Writes links and images; None: none of them.
    drop_tags
        Whether tags and comments are left out, for texts that use them for layout; the text between them remains.

    Examples
    --------
    >>> clean_markdown("see **[this][r]** ![x](http://evil) <img>\n\n[r]: http://evil")
    'see **this** x &lt;img>\n'
    """
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + _CUT
    from markdown_it.tree import SyntaxTreeNode

    writer = _Writer(render_text or literal, render_link or (lambda _label, _address: None), drop_tags=drop_tags)
    lines = writer.blocks(SyntaxTreeNode(_parser().parse(text)).children)
    return "\n".join(lines) + "\n" if lines else ""


def literal(text: str) -> str:
    """Escape text within a line of Markdown, so that it is shown literally."""
    texts: list[str] = []
    position = 0
    text = visible(text).replace("\n", " ")
    for match in _ADDRESS.finditer(text):
        address = match[0].rstrip(".,;:!?)*_\"'\\")
        texts += [_escape(text[position : match.start()]), code(address) if address else ""]
        position = match.start() + len(address)

    return join_inline([*texts, _escape(text[position:])])


def join_inline(texts: Sequence[str]) -> str:
    """Join Markdown within a line; a space separates two code spans, whose ticks would form one longer run.

    Examples
    --------
    >>> join_inline(["`a`", "", "``<b>``"])
    '`a` ``<b>``'
    """
    result: list[str] = []
    for text in filter(None, texts):
        if result and text.startswith("`") and result[-1].endswith("`"):
            result.append(" ")
        result.append(text)
    return "".join(result)


def _escape(text: str) -> str:
    # Not every renderer knows a backslash before `<`; all know the entity.
    return _SPECIAL.sub(r"\\\g<0>", text).replace("<", "&lt;")


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 20}).enable(["table", "strikethrough"])
    # Each link is seen as one, so that no other renderer finds a link in remaining text.
    parser.validateLink = lambda _: True  # type: ignore[method-assign, assignment]
    return parser


class _Writer:
    """Writes a tree as Markdown: blocks as lists of lines, inline content as text."""

    def __init__(self, render_text: RenderText, render_link: RenderLink, *, drop_tags: bool) -> None:
        self._text = render_text
        self._link = render_link
        self._drop_tags = drop_tags

    def blocks(self, nodes: Sequence[SyntaxTreeNode], *, tight: bool = False) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            block = self._block(node)
            if lines and block and not tight:
                lines.append("")
            lines += block
        return lines

    def _block(self, node: SyntaxTreeNode) -> list[str]:  # noqa: PLR0911 - one for each kind
        match node.type:
            case "heading":
                heading = self._inline(node, one_line=True).replace("#", "\\#")
                return [f"{'#' * int(node.tag[1])} {heading}"] if heading else []
            case "fence" | "code_block":
                return _fence(node.content, node.info if node.type == "fence" else "")
            case "hr":
                return ["***"]
            case "blockquote":
                return [f"> {line}".rstrip() for line in self.blocks(node.children)]
            case "bullet_list" | "ordered_list":
                return self._list(node)
            case "table":
                return self._table(node)
            case "html_block" if self._drop_tags:
                # Only for looks: anything else remains text.
                text = html.unescape(_TAG.sub("", node.content))
                return _guard("\n".join(self._text(line.strip()) for line in text.split("\n") if line.strip()))
            case "html_block":
                return _guard("\n".join(self._text(line.strip()) for line in node.content.strip("\n").split("\n")))
            case _:
                return _guard(self._inline(node))

    def _list(self, node: SyntaxTreeNode) -> list[str]:
        tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
        number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else -1
        lines: list[str] = []
        for item in node.children:
            marker = "-" if number < 0 else f"{number}."
            number += number >= 0
            inner = self.blocks(item.children, tight=tight) or [""]
            if lines and not tight:
                lines.append("")
            margin = " " * (len(marker) + 1)
            lines += [f"{marker} {inner[0]}".rstrip(), *(f"{margin}{line}".rstrip() for line in inner[1:])]

        return lines

    def _table(self, node: SyntaxTreeNode) -> list[str]:
        rows = [
            [self._inline(cell, one_line=True, in_table=True) for cell in row.children]
            for part in node.children
            for row in part.children
        ]
        head = node.children[0].children[0].children
        styles = [str(cell.attrs.get("style", "")).rpartition(":")[2] for cell in head]
        rules = [{"left": ":--", "right": "--:", "center": ":-:"}.get(style, "---") for style in styles]
        return [f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]]]

    def _inline(self, node: SyntaxTreeNode, *, one_line: bool = False, in_table: bool = False) -> str:
        parts = [part for child in node.children for part in self._inline_parts(child, in_table=in_table)]
        text = join_inline(parts).strip()
        return " ".join(text.replace("\\\n", " ").split("\n")) if one_line else text

    def _inline_parts(self, node: SyntaxTreeNode, *, in_table: bool) -> list[str]:
        match node.type:
            case "text" | "text_special" | "html_inline":
                is_dropped = self._drop_tags and node.type == "html_inline"
                return [self._text(node.content)] if node.content and not is_dropped else []
            case "code_inline":
                span = _code_span(node.content)
                return [span.replace("|", "\\|") if in_table else span]
            case "softbreak":
                return ["\n"]
            case "hardbreak":
                return ["\\\n"]
            case "link" | "image":
                return self._link_parts(node, in_table=in_table)
            case _:
                inner = [part for child in node.children for part in self._inline_parts(child, in_table=in_table)]
                marker = {"em": "*", "strong": "**", "s": "~~"}.get(node.type, "")
                return [marker, *inner, marker] if marker and "".join(inner).strip() else inner

    def _link_parts(self, node: SyntaxTreeNode, *, in_table: bool) -> list[str]:
        address = str(node.attrs.get("href" if node.type == "link" else "src", ""))
        link_text = self._link("".join(map(_text_of, node.children)), address)
        if link_text is not None:
            return [link_text]
        return [part for child in node.children for part in self._inline_parts(child, in_table=in_table)]


def _text_of(node: SyntaxTreeNode) -> str:
    if node.children:
        return "".join(map(_text_of, node.children))
    return " " if node.type in {"softbreak", "hardbreak"} else node.content


def _guard(text: str) -> list[str]:
    """Return lines of a paragraph that don't begin like another block."""
    lines = filter(None, (line.strip(" \t") for line in text.split("\n")))
    return [_LINE_PREFIX.sub(_escape_prefix, line, count=1) if _LINE_PREFIX.match(line) else line for line in lines]


def _escape_prefix(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def _code_span(text: str) -> str:
    content = visible(text.replace("\n", " "))
    longest = max((len(run) for run in _TICKS.findall(content)), default=0)
    runs = {len(run) for run in _TICKS.findall(content)}
    fence = "`" * next(size for size in range(1, longest + 2) if size not in runs)
    pad = " " if content[:1] in {"`", " "} or content[-1:] in {"`", " "} else ""
    return f"{fence}{pad}{content}{pad}{fence}" if content.strip() else ""


def _fence(content: str, info: str) -> list[str]:
    lines = visible(content).removesuffix("\n").split("\n")
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    language = _LANGUAGE.match(info.strip())
    return [f"{fence}{language[0] if language else ''}", *lines, fence]
