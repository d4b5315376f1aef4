"""Markdown and source code as HTML, safe for untrusted text: nothing in it acts.

It supports headings, paragraphs, lists, quotations, tables, fenced code and rules; within a line, code, strong and
emphasized text, links, a backslash before punctuation, and ``&lt;``. Everything else is text, also HTML and images.
A link is written only if `resolve` allows its address; otherwise its label is plain text. Time and depth are bounded
for any text.

Code is colored in one pass from left to right, with one expression for each family of languages: no grammar, no state,
time proportional to the text. Text that no expression matches stays plain.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sourcelight.core.markup.escaping import escape
from sourcelight.core.markup.highlighting import code_html

Resolve: TypeAlias = Callable[[str], str]
"""Maps the address in a text to the one that a reader may follow; empty if there is none."""
ShowLink: TypeAlias = Callable[[str, str, str], str]

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")
_BULLET = re.compile(r"( {0,9})(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_DIVIDER = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_PLAIN = re.compile(r"[^\\`\[*_]+")
_STOP = re.compile(r"[.,;:!?)]+")
_TICKS = re.compile(r"`+")
_BRACKETS = re.compile(r"\\.|[\[\]]", re.DOTALL)
_MAX_ADDRESS_CHARS = 8_000
_MAX_DEPTH = 8
_UNFOLDING = '<div class="sl-paragraph">'


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
    lines = text.replace("\r\n", "\n").split("\n")
    blocks = _Blocks(resolve, top, show_link)
    return blocks.html(lines, 0) if open_lines <= 0 else blocks.collapse(lines, open_lines, collapsed_titles)


@dataclass(slots=True)
class _Blocks:
    resolve: Resolve
    top: int
    show_link: ShowLink | None = None

    def html(self, lines: Sequence[str], depth: int) -> str:
        out: list[str] = []
        index = 0
        while index < len(lines):
            line = lines[index]
            if not line.strip():
                index += 1
            elif fence := _FENCE.fullmatch(line):
                index = self._code(lines, index, fence, out)
            elif heading := _HEADING.fullmatch(line):
                level = min(self.top - 1 + len(heading[1]), 6)
                out.append(f"<h{level}>{self._inline(heading[2])}</h{level}>\n")
                index += 1
            elif _RULE.fullmatch(line):
                out.append("<hr>\n")
                index += 1
            elif line.lstrip().startswith(">") and depth < _MAX_DEPTH:
                index = self._quotation(lines, index, depth, out)
            elif _BULLET.fullmatch(line) and depth < _MAX_DEPTH:
                index = self._list(lines, index, depth, out)
            elif (
                "|" in line
                and index + 1 < len(lines)
                and "|" in lines[index + 1]
                and _DIVIDER.fullmatch(lines[index + 1])
            ):
                index = self._table(lines, index, out)
            else:
                index = self._paragraph(lines, index, out)
        return "".join(out)

    def collapse(self, lines: Sequence[str], open_lines: int, titles: Collection[str] = ()) -> str:
        """Show a text with its second-level sections folded, except the first ones that fit.

        Sections of some `titles` are always folded.
        """
        starts = [index for index in _section_starts(lines) if index]
        out = [self.html(lines[: starts[0]] if starts else lines, 0)]
        visible_lines = starts[0] if starts else 0
        is_open = True
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
            heading = _HEADING.fullmatch(lines[start])
            is_aside = heading is not None and heading[2].strip() in titles
            visible_lines += 0 if is_aside else end - start
            is_open = is_open and visible_lines <= open_lines
            if is_open and not is_aside:
                out.append(self.html(lines[start:end], 0))
                continue
            title = self._inline(heading[2]) if heading is not None else ""
            out.append(f"<details><summary>{title}</summary>\n{self.html(lines[start + 1 : end], 0)}</details>\n")
        return "".join(out)

    def _inline(self, text: str) -> str:
        return inline_html(text.strip(), self.resolve, self.show_link)

    def _code(self, lines: Sequence[str], index: int, fence: re.Match[str], out: list[str]) -> int:
        marker = fence[1]
        end = index + 1
        while end < len(lines) and not _closes(lines[end], marker):
            end += 1
        word = "".join(letter for letter in fence[2] if letter.isalnum() or letter in "+-_.#")[:30]
        name = f' class="language-{escape(word)}"' if word else ""
        body = "\n".join(lines[index + 1 : end])
        out.append(f'<pre tabindex="0"><code{name}>{code_html(body, word)}</code></pre>\n')
        return end + 1

    def _quotation(self, lines: Sequence[str], index: int, depth: int, out: list[str]) -> int:
        inner: list[str] = []
        while index < len(lines) and lines[index].lstrip().startswith(">"):
            inner.append(lines[index].lstrip()[1:].removeprefix(" "))
            index += 1
        out.append(f"<blockquote>\n{self.html(inner, depth + 1)}</blockquote>\n")
        return index

    def _list(self, lines: Sequence[str], index: int, depth: int, out: list[str]) -> int:
        first = _BULLET.fullmatch(lines[index])
        assert first is not None  # noqa: S101 - the caller looked
        margin, numbered = len(first[1]), first[2] is not None
        items: list[list[str]] = []
        while index < len(lines):
            line = lines[index]
            match = _BULLET.fullmatch(line)
            if match and len(match[1]) <= margin:
                if (match[2] is not None) != numbered or len(match[1]) < margin or _RULE.fullmatch(line):
                    break
                items.append([match[3]])
            elif not line.strip():
                following = lines[index + 1] if index + 1 < len(lines) else ""
                if not following.startswith(" " * (margin + 2)) and not _BULLET.fullmatch(following):
                    break
                items[-1].append("")
            elif line.startswith(" " * (margin + 2)):
                items[-1].append(line[margin + 2 :])
            else:
                break
            index += 1
        tag = "ol" if numbered else "ul"
        start = f' start="{int(first[2])}"' if numbered and int(first[2]) != 1 else ""
        items_html = "".join(f"<li>{self._item(item, depth)}</li>\n" for item in items)
        out.append(f"<{tag}{start}>\n{items_html}</{tag}>\n")
        return index

    def _item(self, lines: list[str], depth: int) -> str:
        html = self.html(lines, depth + 1).rstrip("\n")
        if html.startswith("<p>") and html.count("<p>") == 1:  # a tight item isn't a paragraph
            html = html.removeprefix("<p>").replace("</p>", "", 1)
        if html.startswith(_UNFOLDING) and html.endswith("</div>") and html.count("<div") == 1:
            html = html.removeprefix(_UNFOLDING).removesuffix("</div>")
        return html

    def _table(self, lines: Sequence[str], index: int, out: list[str]) -> int:
        head = _cells(lines[index])
        index += 2
        rows: list[list[str]] = []
        while index < len(lines) and lines[index].strip() and "|" in lines[index]:
            cells = _cells(lines[index])
            rows.append([*cells, *[""] * len(head)][: len(head)])
            index += 1
        top = "".join(f'<th scope="col">{self._inline(cell)}</th>' for cell in head)
        body = "".join(f"<tr>{''.join(f'<td>{self._inline(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
        out.append(f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n")
        return index

    def _paragraph(self, lines: Sequence[str], index: int, out: list[str]) -> int:
        paragraph = [lines[index]]
        index += 1
        while index < len(lines) and lines[index].strip() and not _begins_block(lines[index]):
            paragraph.append(lines[index])
            index += 1
        html = inline_html(chr(10).join(line.strip() for line in paragraph), self.resolve, self.show_link)
        # `<details>` is a block element, and HTML ends a `<p>` before any block.
        out.append(f"{_UNFOLDING}{html}</div>\n" if "<details" in html else f"<p>{html}</p>\n")
        return index


def _section_starts(lines: Sequence[str]) -> list[int]:
    """Return the offsets of second-level headings, without those in fenced code."""
    starts: list[int] = []
    marker = ""
    for index, line in enumerate(lines):
        if marker:
            marker = "" if _closes(line, marker) else marker
        elif fence := _FENCE.fullmatch(line):
            marker = fence[1]
        elif (heading := _HEADING.fullmatch(line)) and len(heading[1]) == 2:
            starts.append(index)
    return starts


def _closes(line: str, marker: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(marker) and bare == marker[0] * len(bare)


def _begins_block(line: str) -> bool:
    bare = line.lstrip()
    return bool(
        bare.startswith((">", "```", "~~~", "|")) or _HEADING.fullmatch(line) or _BULLET.fullmatch(line)
        or _RULE.fullmatch(line)
    )  # fmt: skip


def _cells(line: str) -> list[str]:
    """Cut a row at its bars; one behind a backslash, or within code, is text."""
    cells, cell, position, ticks = [], "", 0, ""
    text = line.strip().removeprefix("|")
    while position < len(text):
        letter = text[position]
        if ticks and text.startswith("\\|", position):  # the one escape that tables have within code
            cell += "|"
            position += 2
            continue
        if letter == "\\" and not ticks and position + 1 < len(text):
            cell += text[position : position + 2]
            position += 2
            continue
        if letter == "`" and (run := _TICKS.match(text, position)):
            if not ticks:
                ticks = run[0] if run[0] in text[run.end() :] else ""
            elif run[0] == ticks:
                ticks = ""
            cell += run[0]
            position = run.end()
            continue
        if letter == "|" and not ticks:
            cells.append(cell)
            cell = ""
        else:
            cell += letter
        position += 1
    return [*cells, cell] if cell.strip() else cells


def inline_html(text: str, resolve: Resolve, show_link: ShowLink | None = None) -> str:
    """Return HTML of a piece of text without blocks."""
    return _Line(text, resolve, show_link).html(0, len(text), 0)


class _Line:
    """One text, read from left to right; anything that isn't valid markup stays text."""

    def __init__(self, text: str, resolve: Resolve, show_link: ShowLink | None = None) -> None:
        self.text = text
        self.resolve = resolve
        self.show_link = show_link
        # Runs of backquotes by length, and the partner of each bracket: found once, because a search for the partner
        # of each would take quadratic time in a text full of opening brackets.
        self.ticks: dict[int, list[int]] = {}
        for run in _TICKS.finditer(text):
            self.ticks.setdefault(len(run[0]), []).append(run.start())
        self.partners: dict[int, int] = {}
        open_positions: list[int] = []
        for match in _BRACKETS.finditer(text):
            if match[0] == "[":
                open_positions.append(match.start())
            elif match[0] == "]" and open_positions:
                self.partners[open_positions.pop()] = match.start()

    def html(self, position: int, end: int, depth: int) -> str:
        out: list[str] = []
        missing: set[str] = set()  # markers without an end: no later search for it has to scan the text again
        text = self.text
        while position < end:
            letter = text[position]
            if match := _PLAIN.match(text, position, end):
                # The only entity to decode is the one that `clean_markdown` writes.
                out.append(escape(match[0].replace("&lt;", "<")))
                position = match.end()
            elif letter == "\\" and position + 1 < end and text[position + 1] in string.punctuation:
                out.append(escape(text[position + 1]))
                position += 2
            elif letter == "`":
                position = self._code(position, end, out)
            elif letter == "[" and (link := self._link(position, end, depth)):
                out.append(link[0])
                position = link[1]
            elif letter in "*_" and (strong := self._emphasis(position, end, depth, missing)):
                out.append(strong[0])
                position = strong[1]
            else:
                out.append(escape(letter))
                position += 1
        return "".join(out)

    def _code(self, position: int, end: int, out: list[str]) -> int:
        run = _TICKS.match(self.text, position, end)
        assert run is not None  # noqa: S101 - the caller saw one
        closing_ticks = self.ticks.get(len(run[0]), [])
        while closing_ticks and closing_ticks[0] < run.end():
            closing_ticks.pop(0)
        if not closing_ticks or closing_ticks[0] >= end:
            out.append(escape(run[0]))
            return run.end()
        content = self.text[run.end() : closing_ticks[0]].replace("\n", " ")
        if content.startswith(" ") and content.endswith(" ") and content.strip():
            content = content[1:-1]
        out.append(f"<code>{escape(content)}</code>")
        return closing_ticks[0] + len(run[0])

    def _link(self, position: int, end: int, depth: int) -> tuple[str, int] | None:
        if depth >= _MAX_DEPTH:
            return None
        text, close = self.text, self.partners.get(position, end)
        if close >= end or text[close : close + 2] != "](":
            return None
        close_paren = text.find(")", close + 2, min(end, close + 2 + _MAX_ADDRESS_CHARS))
        if close_paren < 0:
            return None
        parts = text[close + 2 : close_paren].split()
        address = parts[0].strip("<>") if parts else ""
        target = self.resolve(address) if address else ""
        # HTML has no links within links, so none in the label resolves.
        label = _Line(text[position + 1 : close], lambda _: "").html(0, close - position - 1, depth + 1)
        if self.show_link is not None:
            return self._with_stop(self.show_link(label, address, target), close_paren + 1, end)
        if not target:
            return label, close_paren + 1
        return f'<a href="{escape(target)}">{label}</a>', close_paren + 1

    def _with_stop(self, html: str, position: int, end: int) -> tuple[str, int]:
        """Take the stop behind a link that unfolds into its first line: behind the lines it would begin the next."""
        if not html.endswith("</details>") or (punctuation := _STOP.match(self.text, position, end)) is None:
            return html, position
        return html.replace("</summary>", f"{escape(punctuation[0])}</summary>", 1), punctuation.end()

    def _emphasis(self, position: int, end: int, depth: int, missing: set[str]) -> tuple[str, int] | None:
        text, letter = self.text, self.text[position]
        marker = letter * 2 if text.startswith(letter * 2, position) else letter
        text_start = position + len(marker)
        before = text[position - 1] if position else " "
        if depth >= _MAX_DEPTH or marker in missing or text_start >= end or text[text_start].isspace():
            return None
        # Names such as `snake_case` aren't emphasis.
        if letter == "_" and (before.isalnum() or before == "_"):
            return None
        close = text.find(marker, text_start + 1, end)
        while close > 0 and text[close - 1] == "\\":
            close = text.find(marker, close + 1, end)
        if close < 0:
            missing.add(marker)
            return None
        after = text[close + len(marker)] if close + len(marker) < len(text) else " "
        if text[close - 1].isspace() or (letter == "_" and after.isalnum()):
            return None
        tag = "strong" if len(marker) == 2 else "em"
        return f"<{tag}>{self.html(text_start, close, depth + 1)}</{tag}>", close + len(marker)
