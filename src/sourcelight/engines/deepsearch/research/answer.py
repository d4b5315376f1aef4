"""From a draft to an answer: citations checked, text written, sources listed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote as percent

from sourcelight.core.batches.results import repository_url
from sourcelight.engines.deepsearch import citations, markdown
from sourcelight.engines.deepsearch.citations import Citation
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.redaction import redact
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import CountTable, Draft, Heading, Paragraph

_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?=\s|$)|\n|$)")
_BEFORE_CITED = re.compile(rf"\s*{markdown.CITED.pattern}", re.IGNORECASE)
UNVERIFIED = "(unverified)"


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Something that an answer rests on: ``search``, ``file``, ``repository`` or ``commit``."""

    type: str
    label: str
    link: str
    repository: str = ""
    commit: str = ""
    path: str = ""
    begin_line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class AnswerSegment:
    """A heading, a line or a block of an answer, and the repositories that it speaks of or cites.

    By these, what a reader may not see is left out when an answer is read.
    """

    kind: str
    text: str
    repositories: tuple[str, ...] = ()


def joined(segments: Iterable[AnswerSegment]) -> str:
    """Write segments as Markdown; a heading with nothing below it is left out."""
    blocks: list[str] = []
    heading = ""
    for segment in segments:
        if segment.kind == "heading":
            heading = segment.text
            continue
        if heading:
            blocks.append(f"{heading}\n")
            heading = ""
        blocks.append(segment.text if segment.kind == "line" else f"{segment.text}\n")
    return "\n".join(_spaced(blocks)).strip("\n") + "\n" if blocks else ""


def _spaced(blocks: Sequence[str]) -> list[str]:
    """Put an empty line between the last of some lines and what follows them."""
    found: list[str] = []
    for at, block in enumerate(blocks):
        single = not block.endswith("\n")
        last = at + 1 == len(blocks) or blocks[at + 1].endswith("\n")
        found.append(f"{block}\n" if single and last else block)
    return found


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """An answer as it is kept.

    `rejected` are citations that were taken out, `invented` ids that were cited although no tool gave them.
    """

    segments: tuple[AnswerSegment, ...]
    citations: tuple[Citation, ...]
    rejected: tuple[Citation, ...]
    sources: tuple[AnswerSource, ...]
    followups: tuple[str, ...]
    tables: tuple[CountTable, ...]
    stats: Mapping[str, Any] = field(default_factory=dict)
    invented: tuple[str, ...] = ()

    @property
    def markdown(self) -> str:
        """The answer."""
        return joined(self.segments)


def finish(draft: Draft, inquiry: ResearchRequest, emit: Emit) -> FinishedAnswer:
    """Check every citation of a draft and write its Markdown; nothing that was rejected is in it."""
    wanted = _cited(draft)
    checked: dict[str, Citation] = {}
    named = [(name, item) for name in wanted if (item := draft.ledger.get(name)) is not None]
    results = citations.checked([item for _, item in named], inquiry.pins, inquiry.context)
    for (name, item), citation in zip(named, results, strict=True):
        checked[name] = citation
        if citation.accepted:
            emit(ResearchEvent("evidence", {"id": name, "label": item.label, "status": citation.status}))
    segments = _written(draft, checked, inquiry)
    accepted = tuple(citation for citation in checked.values() if citation.accepted)
    rejected = tuple(citation for citation in checked.values() if not citation.accepted)
    invented = tuple(name for name in wanted if name not in checked)
    stats = {
        **draft.stats,
        "citations": len(accepted),
        "citations_moved": sum(citation.status == "moved" for citation in accepted),
        "citations_rejected": len(rejected) + len(invented),
        "unverified_sentences": sum(segment.text.count(UNVERIFIED) for segment in segments),
    }
    return FinishedAnswer(
        tuple(segments),
        accepted,
        rejected,
        tuple(_sources(draft, inquiry, accepted)),
        tuple(draft.followups),
        tuple(draft.tables),
        stats,
        invented,
    )


def _cited(draft: Draft) -> list[str]:
    found: list[str] = []
    for part in draft.parts:
        if isinstance(part, Paragraph):
            for match in markdown.CITED.finditer(part.text):
                found += [name.strip().upper() for name in match[1].split(",")]
        elif not isinstance(part, Heading):
            found.append(part.evidence)
    return list(dict.fromkeys(found))


def _written(draft: Draft, checked: Mapping[str, Citation], inquiry: ResearchRequest) -> list[AnswerSegment]:
    found: list[AnswerSegment] = []
    names = sorted({pin.repository for pin in inquiry.pins})
    base_url = inquiry.context.base_url
    for part in draft.parts:
        if isinstance(part, Heading):
            found.append(AnswerSegment("heading", f"## {part.text}"))
        elif isinstance(part, Paragraph) and draft.researcher != "extractive":
            # One piece, since none of it can be said to rest on one repository alone.
            shown = markdown.written_by_model(redact(_marked(part.text, checked)), checked, base_url)
            about = {citation.evidence.repository for citation in checked.values()} | set(part.about)
            found.append(AnswerSegment("block", shown.rstrip("\n"), tuple(sorted(about))))
        elif isinstance(part, Paragraph):
            for kind, piece in _pieces(part.text):
                cited = [
                    name.strip().upper() for match in markdown.CITED.finditer(piece) for name in match[1].split(",")
                ]
                about = {checked[name].evidence.repository for name in cited if name in checked}
                about |= {name for name in names if name in piece} | set(part.about)
                shown = markdown.with_citations(piece, checked, base_url)
                found.append(AnswerSegment(kind, shown, tuple(sorted(about))))
        else:
            citation = checked.get(part.evidence)
            if citation is not None and citation.accepted:
                found.append(
                    AnswerSegment("block", markdown.quote(citation, base_url), (citation.evidence.repository,))
                )
    return found


def _pieces(text: str) -> list[tuple[str, str]]:
    """Cut a paragraph where it may be cut: lists and tables at lines, the rest between paragraphs."""
    if "```" in text:
        return [("block", text)]
    found: list[tuple[str, str]] = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = block.split("\n")
        if len(lines) > 1 and all(line.startswith(("- ", "* ", "|")) for line in lines):
            found += [("line", line) for line in lines]
        elif block.startswith("#"):
            found.append(("heading", block))
        elif block.strip():
            found.append(("line" if block.startswith(("- ", "* ")) else "block", block))
    return found


def _marked(text: str, checked: Mapping[str, Citation]) -> str:
    """Mark sentences none of whose citations held; code in fences is left as it is."""

    def judge(found: re.Match[str]) -> str:
        sentence = found[0]
        names = [name.strip().upper() for match in markdown.CITED.finditer(sentence) for name in match[1].split(",")]
        if not names or any(name in checked and checked[name].accepted for name in names):
            return sentence
        ending = sentence[len(sentence.rstrip()) :]
        bare = _BEFORE_CITED.sub("", sentence).rstrip()
        stop = bare[-1:] if bare[-1:] in {".", "!", "?"} else ""
        return f"{bare.removesuffix(stop)} {UNVERIFIED}{stop}{ending}"

    pieces = re.split(r"(```.*?(?:```|\Z))", text, flags=re.DOTALL)
    return "".join(piece if piece.startswith("```") else _SENTENCE.sub(judge, piece) for piece in pieces)


def _sources(draft: Draft, inquiry: ResearchRequest, accepted: tuple[Citation, ...]) -> list[AnswerSource]:
    base = inquiry.context.base_url
    found = [
        AnswerSource("search", query, f"{base}/search?q={percent('patterntype:nls ' + query)}")
        for query in draft.searches
    ]
    cited = {citation.evidence.repository for citation in accepted}
    found += [
        AnswerSource("repository", pin.repository, repository_url(base, pin.repository), pin.repository, pin.commit)
        for pin in inquiry.pins
        if pin.repository in cited
    ]
    for citation in accepted:
        item = citation.evidence
        if isinstance(item, FileEvidence):
            label = f"{item.repository}/{item.path}@{item.commit[:7]}?L{item.begin_line}-{item.end_line}"
            found.append(
                AnswerSource(
                    "file",
                    label,
                    item.link(base),
                    item.repository,
                    item.commit,
                    item.path,
                    item.begin_line,
                    item.end_line,
                )
            )
        else:
            found.append(AnswerSource("commit", item.label, item.link(base), item.repository, item.commit))
    return list(dict.fromkeys(found))
