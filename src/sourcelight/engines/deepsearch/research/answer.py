"""Turn a draft into an answer: check citations, write the text, list the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote as percent

from sourcelight.core.batches.results import repository_url
from sourcelight.engines.deepsearch import citations, markdown
from sourcelight.engines.deepsearch.citations import Citation
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, Evidence, FileEvidence
from sourcelight.engines.deepsearch.redaction import redact
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import CountTable, Draft, Heading, Paragraph

_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?=\s|$)|\n|$)")
_BEFORE_CITED = re.compile(rf"\s*{markdown.CITED.pattern}", re.IGNORECASE)
_ITEM = re.compile(r"[-*] |\||\d{1,3}\. ")
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?(?![\w.]*\w)")
_SEPARATORS = str.maketrans("", "", ",_")
UNVERIFIED = "(unverified)"


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """A source of an answer: ``search``, ``file``, ``repository`` or ``commit``."""

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

    By these, what a reader may not see is left out when an answer is read. `names` are those of the definitions that it
    cites, for questions that follow.
    """

    kind: str
    text: str
    repositories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def join_segments(segments: Iterable[AnswerSegment]) -> str:
    """Join segments as Markdown; a heading without content is left out."""
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

    return "\n".join(_add_spaces(blocks)).strip("\n") + "\n" if blocks else ""


def _add_spaces(blocks: Sequence[str]) -> list[str]:
    """Insert an empty line after the last of some lines."""
    spaced: list[str] = []
    for index, block in enumerate(blocks):
        single = not block.endswith("\n")
        last = index + 1 == len(blocks) or blocks[index + 1].endswith("\n")
        spaced.append(f"{block}\n" if single and last else block)
    return spaced


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """A stored answer.

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
        """The answer as Markdown."""
        return join_segments(self.segments)


def finish(draft: Draft, inquiry: ResearchRequest, emit: Emit) -> FinishedAnswer:
    """Check every citation of a draft and write its Markdown without rejected ones."""
    cited_names = _cited_names(draft)
    checked: dict[str, Citation] = {}
    cited_items = [(name, item) for name in cited_names if (item := draft.ledger.get(name)) is not None]
    results = citations.check_citations([item for _, item in cited_items], inquiry.pins, inquiry.context)
    for (name, item), citation in zip(cited_items, results, strict=True):
        checked[name] = citation
        if citation.accepted:
            emit(ResearchEvent("evidence", {"id": name, "label": item.label, "status": citation.status}))

    segments, unverified = _make_segments(draft, checked, inquiry)
    accepted = tuple(citation for citation in checked.values() if citation.accepted)
    rejected = tuple(citation for citation in checked.values() if not citation.accepted)
    invented = tuple(name for name in cited_names if name not in checked)
    stats = {
        **draft.stats,
        "citations": len(accepted),
        "citations_moved": sum(citation.status == "moved" for citation in accepted),
        "citations_rejected": len(rejected) + len(invented),
        "unverified_sentences": unverified,
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


def _cited_names(draft: Draft) -> list[str]:
    names: list[str] = []
    for part in draft.parts:
        if isinstance(part, Paragraph):
            names += _ids_in(part.text)
        elif not isinstance(part, Heading):
            names.append(part.evidence)
    return list(dict.fromkeys(names))


def _make_segments(
    draft: Draft, checked: Mapping[str, Citation], inquiry: ResearchRequest
) -> tuple[list[AnswerSegment], int]:
    """Return the segments, and how many sentences were marked as unverified."""
    segments: list[AnswerSegment] = []
    unverified = 0
    names = sorted({pin.repository for pin in inquiry.pins})
    base_url = inquiry.context.base_url
    for part in draft.parts:
        if isinstance(part, Heading):
            segments.append(AnswerSegment("heading", f"## {part.text}"))
        elif isinstance(part, Paragraph) and draft.researcher != "extractive":
            # One piece, since none of it can be said to rest on one repository alone.
            # A model's answer is one paragraph, which begins with its claim; what follows is the engine's own.
            text, count = _mark_unverified(part.text, checked, has_headline=part is draft.parts[0])
            unverified += count
            rendered = markdown.render_model_text(redact(text), checked, base_url)
            about = {citation.evidence.repository for citation in checked.values()} | set(part.about)
            names_cited = _definitions_of(_ids_in(part.text), checked)
            segments.append(AnswerSegment("block", rendered.rstrip("\n"), tuple(sorted(about)), names_cited))
        elif isinstance(part, Paragraph):
            for kind, block in _split_blocks(part.text):
                ids = _ids_in(block)
                about = {checked[name].evidence.repository for name in ids if name in checked} | set(part.about)
                # No fact rests on this: a line that spells a repository's name is hidden with it, even one of our own.
                about |= {name for name in names if name in block}
                rendered = markdown.link_citations(block, checked, base_url)
                segments.append(AnswerSegment(kind, rendered, tuple(sorted(about)), _definitions_of(ids, checked)))
        else:
            citation = checked.get(part.evidence)
            if citation is not None and citation.accepted:
                segments.append(
                    AnswerSegment("block", markdown.quote(citation, base_url), (citation.evidence.repository,))
                )

    return segments, unverified


def _ids_in(text: str) -> list[str]:
    return [name.strip().upper() for match in markdown.CITED.finditer(text) for name in match[1].split(",")]


def _definitions_of(names: Sequence[str], checked: Mapping[str, Citation]) -> tuple[str, ...]:
    """Return the names of the definitions that ids cite."""
    accepted = [checked[name].evidence for name in names if name in checked and checked[name].accepted]
    definitions = [item for item in accepted if isinstance(item, FileEvidence) and item.role == "definition"]
    return tuple(dict.fromkeys(symbol for item in definitions for symbol in item.symbols[:1]))


def _split_blocks(text: str) -> list[tuple[str, str]]:
    """Split a paragraph: lists and tables by line, other text by paragraph."""
    if "```" in text:
        return [("block", text)]

    blocks: list[tuple[str, str]] = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = block.split("\n")
        if len(lines) > 1 and all(_ITEM.match(line) for line in lines):
            blocks += [("line", line) for line in lines]
        elif block.startswith("#"):
            blocks.append(("heading", block))
        elif block.strip():
            blocks.append(("line" if block[0] != "|" and _ITEM.match(block) else "block", block))

    return blocks


def _mark_unverified(text: str, checked: Mapping[str, Citation], *, has_headline: bool) -> tuple[str, int]:
    """Mark sentences without an accepted citation, and count them; fenced code stays unchanged."""
    count = 0
    is_first = has_headline

    def judge(sentence_match: re.Match[str]) -> str:
        nonlocal count, is_first
        text_of_sentence = sentence_match[0]
        names = _ids_in(text_of_sentence)
        accepted = [checked[name].evidence for name in names if name in checked and checked[name].accepted]
        is_prose = any(map(str.isalpha, text_of_sentence)) and not text_of_sentence.lstrip().startswith("#")
        is_headline = is_first and is_prose
        is_first = is_first and not is_headline

        if is_headline:
            # The first sentence is a claim: the lines that it cites have to prove it, as those of the engine's own do.
            is_proven = bool(accepted) and _has_names(text_of_sentence, accepted)
        else:
            is_proven = not names or bool(accepted)

        if is_proven:
            return text_of_sentence

        count += 1
        ending = text_of_sentence[len(text_of_sentence.rstrip()) :]
        bare = _BEFORE_CITED.sub("", text_of_sentence).rstrip()
        punctuation = bare[-1:] if bare[-1:] in {".", "!", "?"} else ""
        return f"{bare.removesuffix(punctuation)} {UNVERIFIED}{punctuation}{ending}"

    blocks = re.split(r"(```.*?(?:```|\Z))", text, flags=re.DOTALL)
    return "".join(block if block.startswith("```") else _SENTENCE.sub(judge, block) for block in blocks), count


def _has_names(sentence: str, evidence: Sequence[Evidence]) -> bool:
    """Return whether each name that a sentence writes as code, and each number, occurs in what it cites."""
    texts = " ".join(
        f"{item.text} {item.label}" + (f" {item.subject} {item.author}" if isinstance(item, CommitEvidence) else "")
        for item in evidence
    )
    names = (name for code_text in _CODE.findall(sentence) for name in _NAME.findall(code_text))
    prose = markdown.CITED.sub(" ", _CODE.sub(" ", sentence))

    # Thousands are written in several ways.
    values = {number.translate(_SEPARATORS) for number in _NUMBER.findall(prose)}
    digits = set(re.findall(r"\d+(?:\.\d+)?", texts.translate(_SEPARATORS)))
    return all(name in texts for name in names) and values <= digits


def _sources(draft: Draft, inquiry: ResearchRequest, accepted: tuple[Citation, ...]) -> list[AnswerSource]:
    base = inquiry.context.base_url
    sources = [
        AnswerSource("search", query, f"{base}/search?q={percent('patterntype:nls ' + query)}")
        for query in draft.searches
    ]
    repositories = {citation.evidence.repository for citation in accepted}
    sources += [
        AnswerSource("repository", pin.repository, repository_url(base, pin.repository), pin.repository, pin.commit)
        for pin in inquiry.pins
        if pin.repository in repositories
    ]
    for citation in accepted:
        item = citation.evidence
        if isinstance(item, FileEvidence):
            lines = item.location(f"?L{item.begin_line}-{item.end_line}")
            label = f"{item.repository}/{item.path}@{item.commit[:7]}{lines}"
            sources.append(
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
            sources.append(AnswerSource("commit", item.label, item.link(base), item.repository, item.commit))

    return list(dict.fromkeys(sources))
