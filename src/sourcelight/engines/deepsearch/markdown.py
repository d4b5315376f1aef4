"""Markdown of answers: repository text shown as text, citations as links, quotes in fences."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcelight.core.markup import (
    MAX_NAME_CHARS,
    clean_markdown,
    code,
    fence_around,
    is_plain_name,
    join_inline,
    link_label,
    literal,
    single_marks,
    visible,
)
from sourcelight.core.markup.counts import count_of
from sourcelight.engines.deepsearch.citations import Citation
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.deepsearch.evidence.quotes import fence_name
from sourcelight.engines.deepsearch.redaction import redact

CITED = re.compile(r"\[(E\d{1,6}(?:\s*,\s*E\d{1,6})*)\]", re.IGNORECASE)

# Starts at the first space of a run only, or long runs without an id would take quadratic time.
_WITH_SPACE = re.compile(rf"(?<!\s)(\s*){CITED.pattern}", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|!~])")


_MAX_PART = 24
"""Characters of a word that is left out where a text is shortened; a longer one, such as a path, is cut."""

_MAX_QUOTED_CHARS = 1_000
"""Characters of a quoted line: a minified file is one line of megabytes."""


def inline(text: str, limit: int = 300) -> str:
    """Format repository text within a line of Markdown: one line, without active markup or secrets.

    Sentences quote it between “ and ”, so its own double quotation marks become single ones: none ends the quotation.
    """
    line = single_marks(" ".join(visible(redact(text)).split()))
    if len(line) > limit:
        words, _, part = line[:limit].rpartition(" ")
        line = (words if words and len(part) <= _MAX_PART else line[: limit - 1]).rstrip() + "…"
    return _SPECIAL.sub(r"\\\1", line)


def person_name(name: str) -> str:
    """Format a person's name within a sentence, quoted unless it is certain where the name ends."""
    text = inline(name, MAX_NAME_CHARS)
    return text if is_plain_name(name) else f"“{text}”"


def fence_code(text: str, path: str, language: str = "") -> str:
    """Format lines of a file as a code block; `language` is the display name of a notebook's language."""
    lines = shorten_lines(visible(redact(text)))
    fence = fence_around(lines, 3)
    return f"{fence}{fence_name(path, language)}\n{lines}\n{fence}"


def shorten_lines(text: str) -> str:
    """Return text with the beginnings of its long lines, and how many characters are missing of each."""
    return "\n".join(map(_shorten, text.split("\n")))


def _shorten(line: str) -> str:
    extra = len(line) - _MAX_QUOTED_CHARS
    return line if extra <= 0 else f"{line[:_MAX_QUOTED_CHARS]}… ({count_of(extra, 'more character')})"


def link_to(citation: Citation, base_url: str) -> str:
    """Format a citation as a link."""
    item = citation.evidence
    return f"[{link_label(item.label)}]({_address(item.link(base_url))})"


def _address(url: str) -> str:
    """Escape an address so that Markdown takes all of it."""
    return url.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


def quote(citation: Citation, base_url: str) -> str:
    """Format evidence with its lines."""
    item = citation.evidence
    head = link_to(citation, base_url)
    if isinstance(item, CommitEvidence):
        return f"- {head} {person_name(item.author)}, {item.date[:10]}: “{inline(item.subject)}”"
    names = ", ".join(code(name) for name in item.symbols[:3])
    return f"{head}{f' {names}' if names else ''}\n\n{fence_code(item.text, item.path, item.language)}"


def link_citations(text: str, citations: Mapping[str, Citation], base_url: str) -> str:
    """Replace ``[E7]`` with links; ids of rejected or unknown evidence are removed."""

    def link_ids(match: re.Match[str]) -> str:
        names = [name.strip().upper() for name in match[2].split(",")]
        accepted = [citations[name] for name in names if name in citations and citations[name].accepted]
        links = " ".join(link_to(citation, base_url) for citation in accepted)
        return match[1] + links if links else ""

    return _WITH_SPACE.sub(link_ids, text)


def render_model_text(text: str, citations: Mapping[str, Citation], base_url: str) -> str:
    """Rewrite a model's Markdown from its tree: only ids of accepted citations become links."""

    def render_text(text_run: str) -> str:
        rendered: list[str] = []
        position = 0
        for match in _WITH_SPACE.finditer(text_run):
            links = link_citations(match[0], citations, base_url)
            rendered += [literal(text_run[position : match.start()]), links]
            position = match.end()
        return join_inline([*rendered, literal(text_run[position:])])

    def render_link(label: str, _: str) -> str | None:
        brackets = f"[{label}]"
        return link_citations(brackets, citations, base_url) if CITED.fullmatch(brackets) else None

    return clean_markdown(text, render_text, render_link)


def in_sentence(text: str) -> str:
    """Return a sentence as it follows a colon."""
    return f"{text[:1].lower()}{text[1:]}" if re.match(r"(?:An?|The|No|There|Each|At)\b", text) else text
