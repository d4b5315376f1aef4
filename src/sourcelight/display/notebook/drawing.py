"""Drawings: elements as plain lists; a widget sets them in the browser, and a page is their HTML: one code for both.

A node is a text, or a list of a tag, its attributes and its children. Hidden characters of texts and values are visible
in it; texts become text in the browser's document and are escaped in HTML, so they are never markup.
"""

from __future__ import annotations

from typing import Any

from sourcelight.core.markup import escape, visible

Node = str | list[Any]


def element(tag: str, attributes: dict[str, str] | None = None, *children: Node) -> Node:
    """A node.

    Parameters
    ----------
    tag, attributes
        Named by our own code, never by what was found.
    children
        In their order.
    """
    values = {name: visible(value) for name, value in (attributes or {}).items()}
    return [tag, values, [visible(child) if isinstance(child, str) else child for child in children]]


def html_of(node: Node) -> str:
    """The HTML of a node."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, children = node
    names = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    if tag == "br":
        return "<br>"
    return f"<{tag}{names}>{''.join(map(html_of, children))}</{tag}>"
