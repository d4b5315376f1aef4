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
_SEVERITIES = {"warn": "warning", "warning": "warning", "error": "error"}
_MAX_NOTICES = 8

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
    word = snapshot.activity if snapshot.phase == "running" else _WORDS[snapshot.phase][0]
    names = {
        "class": f"sl-bar sl-{snapshot.phase}",
        "role": "progressbar",
        "aria-label": f"{word}: {one_line(snapshot.title, 80)}",
    }
    fraction = 1.0 if snapshot.phase == "complete" else snapshot.fraction
    if snapshot.phase == "running" and fraction is None:
        return element("div", {**names, "aria-busy": "true"}, element("div", {"class": "sl-unknown"}))

    percent = round(100 * (1.0 if fraction is None else fraction))
    names |= {"aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": f"{percent}"}
    return element("div", names, element("div", {"style": f"width:{percent}%"}))


def _status(snapshot: ProgressSnapshot) -> Node:
    """Return the line of words and numbers, announced politely to screen readers."""
    word, sign = _WORDS[snapshot.phase]
    word = snapshot.activity if snapshot.phase == "running" else word
    suffix = f" of {snapshot.total:,}" if snapshot.total else ""
    fields = " \u00b7 ".join(f"{value}\u202f{name}" for name, value in snapshot.fields)
    names = {"class": f"sl-status {NO_MATH} sl-{snapshot.phase}", "role": "status", "aria-live": "polite"}
    return element(
        "div",
        names,
        element("b", {"class": "sl-word"}, element("span", {"aria-hidden": "true"}, sign), f" {word}"),
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

    if len(snapshot.notices) > _MAX_NOTICES:
        items.append(element("li", {}, f"and {len(snapshot.notices) - _MAX_NOTICES} more"))

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
    values = {name: visible(value) for name, value in (attributes or {}).items()}
    return [tag, values, [visible(child) if isinstance(child, str) else child for child in children]]


def html_of(node: Node) -> str:
    """Return the HTML of a node."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, children = node
    names = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    if tag == "br":
        return "<br>"
    return f"<{tag}{names}>{''.join(map(html_of, children))}</{tag}>"
