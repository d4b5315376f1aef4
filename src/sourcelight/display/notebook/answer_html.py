"""Answers of deep search as Markdown, text and HTML.

An answer isn't trusted: nothing in it runs, and links lead only to the service. Every text is escaped before tags are
added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sourcelight.core.batches.results import place_name
from sourcelight.core.markup import (
    NO_MATH,
    clean_markdown,
    code,
    count_of,
    escape,
    link,
    one_line,
    own_address,
    to_html,
    visible,
    without_tags,
)
from sourcelight.core.markup.highlighting import code_html
from sourcelight.display.notebook.html_pages import html_page
from sourcelight.display.notebook.views.links import LinkResolver

_STYLE = """<style>
.sl-answer{color:var(--jp-ui-font-color1,inherit);font-size:13px;max-width:100ch}
.sl-answer .sl-head{border-left:4px solid var(--sl-color);padding:2px 8px;margin-bottom:4px}
.sl-answer pre{font-family:var(--jp-code-font-family,monospace);white-space:pre;tab-size:4;margin:4px 0 8px;
padding:6px 8px !important;overflow-x:auto;background:var(--jp-cell-editor-background,rgba(127,127,127,.12)) !important;
border:1px solid var(--jp-cell-editor-border-color,rgba(127,127,127,.3)) !important}
.sl-answer pre code{background:none !important}
.sl-answer .sl-c{font-style:italic;
color:color-mix(in srgb,var(--jp-mirror-editor-comment-color,light-dark(#3f7166,#8ab4a8)) 60%,currentColor)}
.sl-answer .sl-s{color:var(--jp-mirror-editor-string-color,light-dark(#a32117,#ff9d8a))}
.sl-answer .sl-n{color:var(--jp-mirror-editor-number-color,light-dark(#066,#7fd6d6))}
.sl-answer .sl-k{color:var(--jp-mirror-editor-keyword-color,light-dark(#00724a,#7fd39b));font-weight:600}
.sl-answer code{font-family:var(--jp-code-font-family,monospace)}
.sl-answer table{border-collapse:collapse}
.sl-answer th,.sl-answer td{text-align:left !important;vertical-align:top;padding:2px 8px}
.sl-answer summary{cursor:pointer;font-weight:600;margin:6px 0}
.sl-answer .sl-paragraph{margin:1em 0}
.sl-answer .sl-cited{display:inline}
.sl-answer .sl-cited>summary{display:inline;font-weight:400;margin:0}
.sl-answer .sl-cited>summary>span{text-decoration:underline dotted;
color:var(--jp-content-link-color,light-dark(#1858c4,#7fb0ff))}
.sl-answer .sl-cited:not([open])::details-content{display:none}
.sl-answer blockquote{margin:4px 0;padding-left:8px;border-left:4px solid rgba(127,127,127,.4)}
</style>"""
_URL_CHARS = "/:?#@!$&'*+,;=%~-._"
_ANSWERED, _IN_PART, _PLACES, _UNCERTAIN = "answered", "answered in part", "closest places", "uncertain"
_COLORS = {
    _ANSWERED: "var(--jp-success-color1,#388e3c)",
    _IN_PART: "var(--jp-warn-color1,#f57c00)",
    _PLACES: "var(--jp-info-color1,#1976d2)",
    "running": "var(--jp-info-color1,#1976d2)",
    "interrupted": "var(--jp-warn-color1,#f57c00)",
    _UNCERTAIN: "var(--jp-warn-color1,#f57c00)",
    "failed": "var(--jp-error-color1,#d32f2f)",
}

METHOD_SECTIONS = frozenset({"Method", "Searched"})
"""Titles of sections about the method of an answer. They are collapsed, because few readers need them first."""

OPEN_LINES = 24
"""Number of lines of an answer above which its sections are collapsed: about a screen with headings and margins."""

# Code, which has no links, or a link to an address without a host.
_RELATIVE = re.compile(r"`[^`\n]*`|\[((?:\\.|[^\[\]\\\n]){0,400})\]\((/[^\s()]*)\)")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
"""The first or last line of a block of code."""

_MAX_LABEL_CHARS = 300
"""Characters of the label of a source."""

_MAX_QUESTION_CHARS = 2_000
"""Characters of a question above its answer: it may be a whole issue."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The parts of an answer's display.

    `questions` have `question`, `answer` (Markdown), `sources` (label and link) and `rejected`. `turns` are the steps
    so far, for a view without an answer. In this process, `base_url` and `url` are empty, and `links` has the code
    hosts and directories of repositories.
    """

    status: str
    title: str
    questions: Sequence[Mapping[str, Any]]
    turns: Sequence[tuple[str, str]] = ()
    base_url: str = ""
    url: str = ""
    links: LinkResolver = field(default_factory=LinkResolver)

    @property
    def heading(self) -> str:
        """The word above the answer: of a finished one, whether it states a fact, lists places, or is uncertain."""
        if self.status != "complete":
            return self.status

        stats: Mapping[str, Any] = {}
        if self.questions:
            stats = self.questions[-1].get("stats") or {}

        if stats.get("confident") is False:
            return _UNCERTAIN
        if stats.get("states_fact") is False:
            return _PLACES
        return _IN_PART if stats.get("complete") is False else _ANSWERED

    @property
    def shows_turns(self) -> bool:
        """Whether to show the steps, because there is no answer yet."""
        return bool(self.turns) and not any(question.get("answer") for question in self.questions)


def answer_markdown(view: AnswerView) -> str:
    """Return the questions, answers and sources as Markdown, ready for a file; hidden characters are shown."""
    parts = []
    for question in view.questions:
        text = _with_addresses(question.get("answer") or "", view)
        answer_text = visible(text).strip() or f"({view.status}: no answer yet)"
        parts.append(f"# {_inert(question.get('question') or '', _MAX_QUESTION_CHARS)}\n\n{answer_text}\n")

        source_list = _source_list(question)
        if source_list:
            parts.append(f"## Sources\n\n{source_list}")

        rejected = "".join(f"- {code(label)}\n" for label in _removed_citations(question))
        if rejected:
            parts.append(f"## Removed citations\n\n{rejected}")

    if view.shows_turns:
        turns = "".join(f"- {_inert(turn, _MAX_LABEL_CHARS)}\n" for turn in _turn_lines(view))
        parts.append(f"## So far\n\n{turns}")

    return "\n".join(parts)


def _inert(text: str, width: int) -> str:
    """Return text on one line of Markdown, without links, images and tags: another account may have written it."""
    # Behind a word it stays a paragraph: a fence would take several lines.
    return clean_markdown(f"x {one_line(text.strip(), width)}").removeprefix("x").strip()


def _with_addresses(text: str, view: AnswerView) -> str:
    """Return Markdown whose links to files and commits work outside a notebook: to a service or a code host.

    Without either, only the label remains, which has the repository, the path and the lines.
    """

    def address(match: re.Match[str]) -> str:
        label, url = match.groups()
        if url is None:
            return match[0]
        href = _address_of(url, view, in_notebook=False)
        return f"[{label}](<{href}>)" if href else f"({label})"

    return _replace_links(text, address)


def _replace_links(text: str, address: Callable[[re.Match[str]], str]) -> str:
    """Replace links to addresses without a host, outside of fenced code."""
    lines, fence = [], ""
    for line in text.splitlines(keepends=True):
        opening = _FENCE.match(line)
        if opening and not fence:
            fence = opening[1]
        # A fence ends with at least as many characters as it began with, and nothing else in the line (CommonMark,
        # fenced code).
        elif opening and opening[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence:
            line = _RELATIVE.sub(address, line)  # noqa: PLW2901 - the same line

        lines.append(line)

    return "".join(lines)


def _address_of(url: str, view: AnswerView, *, in_notebook: bool) -> str:
    """Return the target of a link in an answer, or an empty text. Links of JupyterLab work only in a notebook."""
    address = own_address(url, view.base_url)
    if not address.startswith("/"):
        return address
    # In this process, there is no server for a relative address.
    links = view.links.of_address(address)
    return next((link.href for link in links if in_notebook or link.kind != "lab"), "")


def _source_list(question: Mapping[str, Any]) -> str:
    """Return the sources that the answer doesn't link to, as a Markdown list."""
    items = [f"- [{code(label)}]({quote(url, safe=_URL_CHARS)})\n" for label, url in _source_links(question)]
    return "".join(items)


def _source_links(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return label and link of the sources that other services list; answers of sourcelight cite them in the text."""
    if question.get("researcher"):
        return []
    answer = str(question.get("answer") or "")
    links = []
    for source in question.get("sources") or ():
        url = str(source.get("link") or "")
        if url and f"]({url})" not in answer:
            label = str(source.get("label") or url)
            links.append((one_line(label, _MAX_LABEL_CHARS), url))

    return links


def _removed_citations(question: Mapping[str, Any]) -> list[str]:
    """Return the labels of citations that the check removed from the answer, with the reasons."""
    return [one_line(str(source.get("label") or ""), _MAX_LABEL_CHARS) for source in question.get("rejected") or ()]


def _turn_lines(view: AnswerView) -> list[str]:
    return [one_line(f"{label}: {text}", _MAX_LABEL_CHARS) for label, text in view.turns]


def answer_text(view: AnswerView) -> str:
    """Return the text for a plain terminal."""
    citation_count = 0
    for question in view.questions:
        for source in question.get("sources") or ():
            if source.get("type") in {"file", "commit"}:
                citation_count += 1

    head = f"Deep search: {view.heading}, {count_of(citation_count, 'citation')}"
    return f"{head}\n\n{answer_markdown(view)}".rstrip("\n")


def answer_html(view: AnswerView) -> str:
    """Return the HTML for a notebook."""
    conversation_link = f" \u00b7 {link('conversation', view.url)}" if view.url else ""
    color = _COLORS.get(view.heading, "inherit")
    head = (
        f'<div class="sl-head" role="status" style="--sl-color:{color}">'
        f"<b>{escape(view.heading)}</b>{conversation_link}</div>"
    )
    return f'{_STYLE}<div class="sl-answer {NO_MATH}">{head}{_body(view, 3, in_notebook=True)}</div>'


def answer_page(view: AnswerView) -> str:
    """Return a whole page that needs nothing else."""
    return html_page(view.title, f'{_STYLE}<main class="sl-answer">{_body(view, 1)}</main>')


def _body(view: AnswerView, top: int, *, in_notebook: bool = False) -> str:
    def resolve(url: str) -> str:
        return _address_of(url, view, in_notebook=in_notebook)

    parts = []
    for question in view.questions:
        heading = escape(one_line(question.get("question") or "", _MAX_QUESTION_CHARS))
        answer = to_html(
            question.get("answer") or "",
            resolve,
            top=top,
            open_lines=OPEN_LINES,
            collapsed_titles=METHOD_SECTIONS,
            show_link=_citation_shower(question),
        )
        parts.append(f"<h{top}>{heading}</h{top}>{answer}")

        source_list = _source_list(question)
        if source_list:
            parts.append(f"<p>Sources:</p>{to_html(source_list, resolve, top=top)}")

        rejected = "".join(f"<li>{escape(label)}</li>" for label in _removed_citations(question))
        if rejected:
            parts.append(f"<p>Removed citations:</p><ul>{rejected}</ul>")

    if view.shows_turns:
        steps = "".join(f"<li>{escape(turn)}</li>" for turn in _turn_lines(view))
        parts.append(f"<p>So far:</p><ul>{steps}</ul>")

    return "".join(parts)


def _citation_shower(question: Mapping[str, Any]) -> Callable[[str, str, str], str]:
    """Return a function that renders a citation as a link, or as expandable lines; its tooltip is the full label.

    Without a service, there is no page of the file to link to.
    """
    excerpts = {source.get("link"): source for source in question.get("sources") or () if source.get("excerpt")}

    def show(label: str, address: str, target: str) -> str:
        name = place_name(address)
        words, title = label, ""
        if name:
            # The name of the file is enough in a sentence; the label has the repository and the path.
            words, title = escape(name), f' title="{escape(without_tags(label))}"'

        if target:
            return f'<a href="{escape(target)}"{title}>{words}</a>'

        source = excerpts.get(address)
        if source is None:
            return f"<span{title}>({words})</span>" if name else f"({label})"

        language = str(source.get("path") or "").rpartition(".")[2].lower()[:30]
        lines = code_html(visible(str(source["excerpt"])), language)
        return (
            f'<details class="sl-cited"><summary{title}><span>{words}</span></summary>'
            f'<pre tabindex="0"><code>{lines}</code></pre></details>'
        )

    return show
