"""A moment of long work as a drawing: the bar, the line of numbers, the notices."""

from __future__ import annotations

from typing import Any

from sourcelight.core.markup import NO_MATH, escape, one_line, visible
from sourcelight.display.notebook.programs import style
from sourcelight.display.notebook.state import Phase, ProgressSnapshot

_WORDS: dict[Phase, tuple[str, str]] = {
    "running": ("Searching", "\u2026"),
    "complete": ("Complete", "\u2713"),
    "partial": ("Partial", "\u2713"),
    "limited": ("Limited", "\u26a0"),
    "unparsed": ("Unparsed", "\u26a0"),
    "interrupted": ("Interrupted", "\u25a0"),
    "failed": ("Failed", "\u2717"),
}
"""Word and sign of each phase. While a search runs, its activity replaces the word."""

_SEVERITIES = {"warn": "warning", "warning": "warning", "error": "error"}
"""Kinds of notices by the words of services; any other is ``info``."""

_MAX_NOTICES = 8
"""Notices that are listed; the box stays lower than an output that notebooks fold."""

Node = str | list[Any]
"""Text, or tag, attributes and children: a widget sets these in the browser, a page is their HTML."""


def progress_parts(snapshot: ProgressSnapshot) -> list[Node]:
    """Return the parts of the box, always three; wide or long ones are truncated."""
    return [_bar(snapshot), _status(snapshot), _notices(snapshot)]


def progress_html(snapshot: ProgressSnapshot, name: str = "") -> str:
    """Return the box as plain HTML with its style.

    Parameters
    ----------
    snapshot
        The moment.
    name
        Becomes a class of the page, for a widget that hides it; hexadecimal digits. Empty: nothing hides the page.
    """
    kind = f"sl-page-{name}" if name else "sl-page"
    parts = "".join(map(html_of, progress_parts(snapshot)))
    return f'<style>{style("progress")}</style><div class="sl-p {kind}">{parts}</div>'


def _bar(snapshot: ProgressSnapshot) -> Node:
    """Return the bar: determinate only where a total is known, full at the end."""
    attributes = {
        "class": f"sl-bar sl-{snapshot.phase}",
        "role": "progressbar",
        "aria-label": f"{_word(snapshot)}: {one_line(snapshot.title, 80)}",
    }
    fraction = snapshot.fraction
    if snapshot.phase == "running" and fraction is None:
        return element("div", {**attributes, "aria-busy": "true"}, element("div", {"class": "sl-unknown"}))

    if snapshot.phase == "complete" or fraction is None:
        fraction = 1.0
    percent = round(100 * fraction)
    attributes |= {"aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": f"{percent}"}
    return element("div", attributes, element("div", {"style": f"width:{percent}%"}))


def _word(snapshot: ProgressSnapshot) -> str:
    if snapshot.phase == "running":
        return snapshot.activity
    word, _ = _WORDS[snapshot.phase]
    return word


def _status(snapshot: ProgressSnapshot) -> Node:
    """Return the line of words and numbers, announced politely to screen readers."""
    _, sign = _WORDS[snapshot.phase]
    suffix = f" of {snapshot.total:,}" if snapshot.total else ""
    # A narrow space keeps a number and its unit in one line.
    fields = " \u00b7 ".join(f"{value}\u202f{name}" for name, value in snapshot.fields)
    attributes = {"class": f"sl-status {NO_MATH} sl-{snapshot.phase}", "role": "status", "aria-live": "polite"}
    return element(
        "div",
        attributes,
        element("b", {"class": "sl-word"}, element("span", {"aria-hidden": "true"}, sign), f" {_word(snapshot)}"),
        " ",
        element("b", {}, f"{snapshot.done:,}"),
        f"{suffix} {snapshot.unit} \u00b7 {fields}",
        element("br"),
        element("code", {}, one_line(snapshot.title, 200)),
    )


def _notices(snapshot: ProgressSnapshot) -> Node:
    """Draw skipped work and alerts; empty without any."""
    if not snapshot.notices:
        return ""

    items = []
    for severity, text in snapshot.notices[:_MAX_NOTICES]:
        kind = _SEVERITIES.get(severity, "info")
        items.append(element("li", {"class": f"sl-{kind}"}, element("b", {}, kind), f" {one_line(text, 400)}"))

    hidden_count = len(snapshot.notices) - _MAX_NOTICES
    if hidden_count > 0:
        items.append(element("li", {}, f"and {hidden_count} more"))

    return element("ul", {"class": f"sl-notes {NO_MATH}", "aria-label": "Skipped work and alerts"}, *items)


def element(tag: str, attributes: dict[str, str] | None = None, *children: Node) -> Node:
    """Return a node.

    Parameters
    ----------
    tag, attributes
        From this package, never from a repository or a service, because they aren't escaped.
    children
        In their order.
    """
    visible_attributes = {name: visible(value) for name, value in (attributes or {}).items()}
    visible_children: list[Node] = []
    for child in children:
        visible_children.append(visible(child) if isinstance(child, str) else child)
    return [tag, visible_attributes, visible_children]


def html_of(node: Node) -> str:
    """Return the HTML of a node."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, children = node
    if tag == "br":
        return "<br>"

    attribute_texts = [f' {name}="{escape(value)}"' for name, value in attributes.items()]
    content = "".join(map(html_of, children))
    return f"<{tag}{''.join(attribute_texts)}>{content}</{tag}>"
