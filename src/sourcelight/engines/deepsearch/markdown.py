"""Markdown of answers: text of repositories shown as text, citations as links, quotes in fences."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcelight.core.markup import clean_markdown, code, join_inline, literal, visible
from sourcelight.engines.deepsearch.citations import Citation
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, FileEvidence
from sourcelight.engines.deepsearch.redaction import redact

CITED = re.compile(r"\[(E\d{1,6}(?:\s*,\s*E\d{1,6})*)\]", re.IGNORECASE)

_WITH_SPACE = re.compile(rf"(\s*){CITED.pattern}", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|!~])")
_FENCE_NAMES = {
    "py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "rb": "ruby", "rs": "rust", "go": "go",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin", "scala": "scala",
    "cs": "csharp", "php": "php", "sh": "bash", "md": "markdown", "rst": "rst", "json": "json", "yml": "yaml",
    "yaml": "yaml", "toml": "toml", "jsx": "jsx", "tsx": "tsx", "sql": "sql", "html": "html", "css": "css",
}  # fmt: skip


def inline(text: str, limit: int = 300) -> str:
    """Show text of a repository within a line of Markdown: one line, nothing in it acts, secrets are gone."""
    line = " ".join(visible(redact(text)).split())
    if len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    return _SPECIAL.sub(r"\\\1", line)


def fence_code(text: str, path: str) -> str:
    """Show lines of a file."""
    lines = visible(redact(text))
    fence = "```"
    while fence in lines:
        fence += "`"
    extension = path.rpartition("/")[2].rpartition(".")[2].lower()
    return f"{fence}{_FENCE_NAMES.get(extension, '')}\n{lines}\n{fence}"


def link_to(citation: Citation, base_url: str) -> str:
    """Show a citation as a link."""
    item = citation.evidence
    return f"[{_SPECIAL.sub(_escaped, item.label)}]({_address(item.link(base_url))})"


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0] in "#_~!" else f"\\{match[0]}"


def _address(url: str) -> str:
    """Make an address that Markdown takes whole."""
    return url.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


def quote(citation: Citation, base_url: str) -> str:
    """Show evidence with its lines."""
    item = citation.evidence
    head = link_to(citation, base_url)
    if isinstance(item, CommitEvidence):
        byline = f"{head} {inline(item.author, 80)}, {item.date[:10]}: “{inline(item.subject)}”"
        return f"- {byline}"
    names = ", ".join(code(name) for name in item.symbols[:3])
    return f"{head}{f' {names}' if names else ''}\n\n{fence_code(item.text, item.path)}"


def link_citations(text: str, citations: Mapping[str, Citation], base_url: str) -> str:
    """Put links in the place of ``[E7]``; ids of what was rejected, or is not known, go."""

    def links(match: re.Match[str]) -> str:
        names = [name.strip().upper() for name in match[2].split(",")]
        accepted = [citations[name] for name in names if name in citations and citations[name].accepted]
        links = " ".join(link_to(citation, base_url) for citation in accepted)
        return match[1] + links if links else ""

    return _WITH_SPACE.sub(links, text)


def render_model_text(text: str, citations: Mapping[str, Citation], base_url: str) -> str:
    """Write a model's Markdown anew, from its tree: ids of citations that hold become links, and nothing else does."""

    def render_text(text_run: str) -> str:
        rendered: list[str] = []
        position = 0
        for match in _WITH_SPACE.finditer(text_run):
            links = link_citations(match[0], citations, base_url)
            rendered += [literal(text_run[position : match.start()]), links]
            position = match.end()
        return join_inline([*rendered, literal(text_run[position:])])

    def render_link(label: str, _: str) -> str | None:
        cited = f"[{label}]"
        return link_citations(cited, citations, base_url) if CITED.fullmatch(cited) else None

    return clean_markdown(text, render_text, render_link)


def first_lines(item: FileEvidence) -> str:
    """The first line of evidence that says something."""
    return next((line.strip() for line in item.text.split("\n") if line.strip()), "")
