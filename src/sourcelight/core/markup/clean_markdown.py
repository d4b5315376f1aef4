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
"""Characters of a text that are parsed."""

_CUT = "\n\n(The rest of this text is left out: it has more than 100,000 characters.)"

# Possessive, since shorter runs of an underline fail as the longest does, in quadratic time.
_LINE_PREFIX = re.compile(r"#{1,6}(?=\s|$)|[-+>](?=\s|$)|>|[-=]++(?=[-= \t]*$)|:?-+:?(?=\s*$)|\d{1,9}(?=[.)](?:\s|$))")
"""The start of a line that makes it another block: ``# Title``, ``- item``, ``> quotation``, ``=====``, ``1. item``."""

_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]{1,30}")
"""The language behind the fence of a code block: ``c++``."""

_TICKS = re.compile(r"`+")
"""A run of backticks."""

# Renderers beyond CommonMark support bare addresses, formulas, attributes and more; `!` and `&` depend on the next
# characters. Some take the `==` of a highlight before the backticks of code, and cut the code in two.
_SPECIAL = re.compile(r"[\\`*\[\]|$~{}^]|=(?==)|(?<==)=|&(?=[#\w])|!(?=\[|$)|(?<![^\W_])_|_(?![^\W_])")
"""Characters to escape: the asterisks of ``*this*``, the ``&`` of ``&lt;``, ``==``; not the ``_`` of ``a_b``."""

_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,30}://|www\.|(?:mailto|xmpp):)[^\s<>`\[\]|]+|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+",
    re.IGNORECASE,
)
"""``https://example.org/a``, ``www.example.org``, ``mailto:a@example.org`` or ``a@example.org``."""

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[a-zA-Z][^<>]*>", re.DOTALL)
"""``<br>``, ``</p>`` or a comment, which may have no end."""

_RULES = {"left": ":--", "right": "--:", "center": ":-:"}
"""Cells of the line below the head of a table, by alignment."""

_MARKERS = {"em": "*", "strong": "**", "s": "~~"}
"""Marks around a text, by markdown-it's name of the node."""


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
    from markdown_it.tree import SyntaxTreeNode

    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + _CUT

    writer = _Writer(render_text or literal, render_link or _no_link, drop_tags=drop_tags)
    tree = SyntaxTreeNode(_parser().parse(text))
    lines = writer.blocks(tree.children)
    if not lines:
        return ""
    return "\n".join(lines) + "\n"


def _no_link(label: str, address: str) -> None:
    del label, address


def literal(text: str) -> str:
    """Escape text within a line of Markdown, so that it is shown literally."""
    text = visible(text).replace("\n", " ")
    texts: list[str] = []
    position = 0
    for match in _ADDRESS.finditer(text):
        # As renderers read it: punctuation behind an address ends a sentence.
        address = match[0].rstrip(".,;:!?)*_\"'\\")
        texts.append(_escape(text[position : match.start()]))
        if address:
            texts.append(code(address))
        position = match.start() + len(address)

    texts.append(_escape(text[position:]))
    return join_inline(texts)


def literal_line(text: str) -> str:
    """Escape text for the start of a line, where ``1.`` or ``#`` would begin a list or a heading; as `literal`."""
    return " ".join(_guard(literal(text)))


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
                return self._heading(node)
            case "fence":
                return _fence(node.content, node.info)
            case "code_block":
                return _fence(node.content)
            case "hr":
                return ["***"]
            case "blockquote":
                return [f"> {line}".rstrip() for line in self.blocks(node.children)]
            case "bullet_list" | "ordered_list":
                return self._list(node)
            case "table":
                return self._table(node)
            case "html_block":
                return self._tags(node.content)
            case _:
                return _guard(self._inline(node))

    def _heading(self, node: SyntaxTreeNode) -> list[str]:
        # A renderer would take signs at the end for a closing sequence.
        text = self._inline(node, one_line=True).replace("#", "\\#")
        if not text:
            return []
        level = int(node.tag.removeprefix("h"))
        return [f"{'#' * level} {text}"]

    def _tags(self, content: str) -> list[str]:
        """Write a block of tags: as text, or without the tags where they are only for layout."""
        if self._drop_tags:
            content = html.unescape(_TAG.sub("", content))

        lines = [line.strip() for line in content.strip("\n").split("\n")]
        texts = [self._text(line) for line in lines if line]
        return _guard("\n".join(texts))

    def _list(self, node: SyntaxTreeNode) -> list[str]:
        tight = _is_tight(node)
        first_number = int(node.attrs.get("start", 1))
        lines: list[str] = []
        for number, item in enumerate(node.children, first_number):
            marker = f"{number}." if node.type == "ordered_list" else "-"
            margin = " " * (len(marker) + 1)
            inner = self.blocks(item.children, tight=tight) or [""]
            if lines and not tight:
                lines.append("")
            lines.append(f"{marker} {inner[0]}".rstrip())
            lines += [f"{margin}{line}".rstrip() for line in inner[1:]]

        return lines

    def _table(self, node: SyntaxTreeNode) -> list[str]:
        # A table has a head with one row, and a body unless it has no other rows.
        head_row = node.children[0].children[0]
        rules = [_rule(cell) for cell in head_row.children]
        lines = [self._row(head_row), _table_line(rules)]
        for body in node.children[1:]:
            lines += [self._row(row) for row in body.children]
        return lines

    def _row(self, row: SyntaxTreeNode) -> str:
        return _table_line([self._inline(cell, one_line=True, in_table=True) for cell in row.children])

    def _inline(self, node: SyntaxTreeNode, *, one_line: bool = False, in_table: bool = False) -> str:
        text = join_inline(self._parts_of_children(node, in_table=in_table)).strip()
        if one_line:
            return text.replace("\\\n", " ").replace("\n", " ")
        return text

    def _parts_of_children(self, node: SyntaxTreeNode, *, in_table: bool) -> list[str]:
        parts: list[str] = []
        for child in node.children:
            parts += self._inline_parts(child, in_table=in_table)
        return parts

    def _inline_parts(  # noqa: PLR0911 - one for each kind
        self, node: SyntaxTreeNode, *, in_table: bool
    ) -> list[str]:
        match node.type:
            case "html_inline" if self._drop_tags:
                return []
            case "text" | "text_special" | "html_inline":
                return [self._text(node.content)] if node.content else []
            case "code_inline":
                span = _code_span(node.content)
                if in_table:
                    span = span.replace("|", "\\|")
                return [span]
            case "softbreak":
                return ["\n"]
            case "hardbreak":
                return ["\\\n"]
            case "link" | "image":
                return self._link_parts(node, in_table=in_table)
            case _:
                inner = self._parts_of_children(node, in_table=in_table)
                marker = _MARKERS.get(node.type, "")
                # Two marks with nothing between them would be shown, or be read as other ones.
                if marker and "".join(inner).strip():
                    return [marker, *inner, marker]
                return inner

    def _link_parts(self, node: SyntaxTreeNode, *, in_table: bool) -> list[str]:
        attribute = "href" if node.type == "link" else "src"
        address = str(node.attrs.get(attribute, ""))
        link_text = self._link("".join(map(_text_of, node.children)), address)
        if link_text is not None:
            return [link_text]
        return self._parts_of_children(node, in_table=in_table)


def _is_tight(node: SyntaxTreeNode) -> bool:
    """Return whether the items of a list follow one another without an empty line."""
    for item in node.children:
        for child in item.children:
            # The parser hides the paragraphs of a tight list: they are shown without space around them.
            if child.type == "paragraph" and not child.hidden:
                return False
    return True


def _rule(cell: SyntaxTreeNode) -> str:
    """Return what is below a cell of a table's head: ``:-:`` if its style is ``text-align:center``."""
    alignment = str(cell.attrs.get("style", "")).rpartition(":")[2]
    return _RULES.get(alignment, "---")


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text_of(node: SyntaxTreeNode) -> str:
    if node.children:
        return "".join(map(_text_of, node.children))
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    return node.content


def _guard(text: str) -> list[str]:
    """Return lines of a paragraph that don't begin like another block."""
    lines = []
    for line in text.split("\n"):
        stripped = line.strip(" \t")
        if _LINE_PREFIX.match(stripped):
            stripped = _LINE_PREFIX.sub(_escape_prefix, stripped, count=1)
        if stripped:
            lines.append(stripped)

    return lines


def _escape_prefix(match: re.Match[str]) -> str:
    # ``1.`` becomes ``1\.``, all others have the backslash before them.
    if match[0].isdigit():
        return f"{match[0]}\\"
    return f"\\{match[0]}"


def _code_span(text: str) -> str:
    content = visible(text.replace("\n", " "))
    if not content.strip():
        return ""

    # The fence has a length that no run of ticks within has.
    runs = {len(run) for run in _TICKS.findall(content)}
    size = 1
    while size in runs:
        size += 1
    fence = "`" * size

    # CommonMark removes one space at each end, and a tick there would belong to the fence.
    if content.startswith(("`", " ")) or content.endswith(("`", " ")):
        content = f" {content} "
    return f"{fence}{content}{fence}"


def _fence(content: str, info: str = "") -> list[str]:
    """Return a block of code; `info` begins with its language, if it has one."""
    text = visible(content).removesuffix("\n")
    longest_run = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    language = _LANGUAGE.match(info.strip())
    first_line = fence
    if language:
        first_line += language[0]
    return [first_line, *text.split("\n"), fence]
