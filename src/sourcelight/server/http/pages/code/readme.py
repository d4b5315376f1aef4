"""The README of a directory as HTML without active content; relative links lead to files of the same commit."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from sourcelight.core.batches.results import file_url
from sourcelight.core.markup import clean_markdown, escape, literal
from sourcelight.core.markup.clean_markdown import MAX_CHARACTERS
from sourcelight.core.markup.markdown import to_html

_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt))?", re.IGNORECASE)
_MARKDOWN = (".md", ".markdown")
_WEB = re.compile(r"https?://", re.IGNORECASE)

_SAFE = "/#?=&;%+,:@!~*'$-._"
"""Characters of an address that no Markdown takes for its own; brackets and spaces are percent-encoded."""


def readme_path(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the path of the README among the entries of a directory, or None if there is none.

    One in Markdown comes first, then the first by name. A link or a submodule is none: it may lead anywhere.
    """
    paths = [
        row["path"] for row in entries if row["kind"] == "file" and _README.fullmatch(posixpath.basename(row["path"]))
    ]
    return min(paths, key=lambda path: (not path.lower().endswith(_MARKDOWN), path), default=None)


def readme_html(lines: Sequence[str], location: Mapping[str, str], prefix: str) -> str:
    """Return the HTML of a README.

    Parameters
    ----------
    lines
        Its lines.
    location
        Its `repository`, `commit` and `path`.
    prefix
        Prefix of all addresses of the service.
    """
    text = "\n".join(lines)
    if not location["path"].lower().endswith(_MARKDOWN):
        truncation_note = "\n(truncated)" if len(text) > MAX_CHARACTERS else ""
        return f'<pre tabindex="0">{escape(text[:MAX_CHARACTERS] + truncation_note)}</pre>'

    def resolve(address: str) -> str:
        if _WEB.match(address):
            return address
        path = _path_of(address, location["path"])
        if path:
            return file_url(prefix, location["repository"], location["commit"], path)
        return ""

    def render_link(label: str, address: str) -> str | None:
        target = quote(address, safe=_SAFE)
        if label.strip() and resolve(target):
            return f"[{literal(label)}]({target})"
        return None

    def show_link(label: str, _address: str, target: str) -> str:
        rel = ' rel="noreferrer nofollow"' if _WEB.match(target) else ""
        return f'<a href="{escape(target)}"{rel}>{label}</a>' if target else label

    # The page has one heading of the first level, and the README one of the second above it.
    return to_html(clean_markdown(text, None, render_link, drop_tags=True), resolve, top=3, show_link=show_link)


def _path_of(address: str, readme: str) -> str:
    """Return the path in the repository that a relative address leads to; empty: none."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""

    path = unquote(parts.path)
    if parts.scheme or parts.netloc or not path or "\0" in path:
        return ""

    folder = "" if path.startswith("/") else posixpath.dirname(readme)
    normalized = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
    if normalized in {"", "."} or normalized.startswith("../") or normalized == "..":
        return ""
    return normalized
