"""Globs and path prefixes of tools as RE2."""

from __future__ import annotations

import re

from sourcelight.core.query.regexps import escape_regexp

_GLOB = re.compile(r"[*?\[]")


def file_pattern(text: str) -> str:
    """RE2 of a path prefix (whole names of folders) or of a glob.

    In a glob ``*`` and ``?`` stay within one name and ``**`` goes over folders; one without a slash is for names in
    any folder, and one that begins with a slash counts from the top.
    """
    trimmed = text.removeprefix("./").lstrip("/")
    if not trimmed:
        return "^"
    if _GLOB.search(trimmed) is None:
        prefix = escape_regexp(trimmed.rstrip("/"))
        return f"^{prefix}/" if trimmed.endswith("/") else f"^{prefix}(?:/|$)"
    anchor = "^" if text.startswith("/") or "/" in trimmed.rstrip("/") else "(?:^|/)"
    ending = "" if trimmed.endswith("/") else "$"
    return anchor + glob_regexp(trimmed) + ending


def glob_regexp(text: str) -> str:
    """RE2 of a glob, without anchors: ``*`` and ``?`` stay within one name, ``**`` goes over directories."""
    out = []
    at = 0
    while at < len(text):
        if text.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif text.startswith("**", at):
            out.append(".*")
            at += 2
        elif text[at] == "*":
            out.append("[^/]*")
            at += 1
        elif text[at] == "?":
            out.append("[^/]")
            at += 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            inner = text[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out.append("[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]")
            at = end + 1
        else:
            out.append(escape_regexp(text[at]))
            at += 1
    return "".join(out)
