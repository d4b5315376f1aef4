"""Turn a draft into an answer: check citations, write the text, list the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from urllib.parse import quote as percent

from sourcelight.core.batches.results import repository_url
from sourcelight.engines.deepsearch import citations, markdown
from sourcelight.engines.deepsearch.citations import Citation
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, Evidence, FileEvidence
from sourcelight.engines.deepsearch.redaction import redact
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import CountTable, Draft, Heading, Paragraph, Quote

UNVERIFIED = "(unverified)"
"""The mark of a model's sentence that nothing proves."""

_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?=\s|$)|\n|$)")
"""A sentence, or a line without a full stop; the point in `a.py` ends none."""

_FENCED = re.compile(r"(```.*?(?:```|\Z))", re.DOTALL)
"""A block of code in Markdown."""

_BEFORE_CITED = re.compile(rf"\s*{markdown.CITED.pattern}", re.IGNORECASE)
"""A citation with the space before it: `` [E3, E7]``."""

_ITEM = re.compile(r"[-*] |\||\d{1,3}\. ")
"""The start of an item of a list or of a row of a table: `- `, `* `, `12. `, `|`."""

_CODE = re.compile(r"`([^`\n]+)`")
"""Code in a sentence: `` `lift(level)` ``."""

_NAME = re.compile(r"[^\W\d]\w*")

_NUMBER = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?(?![\w.]*\w)")
"""A number by itself: `30`, `1,000`, `0.5`, but neither `v2` nor `1.2.3`."""

_SEPARATORS = str.maketrans("", "", ",_")


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

    if not blocks:
        return ""
    return "\n".join(_add_spaces(blocks)).strip("\n") + "\n"


def _add_spaces(blocks: Sequence[str]) -> list[str]:
    """Insert an empty line after the last of some lines."""
    spaced: list[str] = []
    for block, next_block in zip_longest(blocks, blocks[1:], fillvalue="\n"):
        is_line = not block.endswith("\n")
        is_last = next_block.endswith("\n")
        spaced.append(f"{block}\n" if is_line and is_last else block)
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


def finish(draft: Draft, inquiry: ResearchRequest, emit: Emit) -> FinishedAnswer:
    """Check every citation of a draft and write its Markdown without rejected ones."""
    cited_names = _cited_names(draft)
    checked = _check(draft, cited_names, inquiry)
    for name, citation in checked.items():
        if citation.accepted:
            label = citation.evidence.label
            emit(ResearchEvent("evidence", {"id": name, "label": label, "status": citation.status}))

    writer = _SegmentWriter(draft, checked, inquiry)
    segments = writer.write()
    accepted = tuple(citation for citation in checked.values() if citation.accepted)
    rejected = tuple(citation for citation in checked.values() if not citation.accepted)
    invented = tuple(name for name in cited_names if name not in checked)
    stats = {
        **draft.stats,
        "citations": len(accepted),
        "citations_moved": sum(citation.status == "moved" for citation in accepted),
        "citations_rejected": len(rejected) + len(invented),
        "unverified_sentences": writer.unverified,
    }
    return FinishedAnswer(
        segments=tuple(segments),
        citations=accepted,
        rejected=rejected,
        sources=tuple(_sources(draft, inquiry, accepted)),
        followups=tuple(draft.followups),
        tables=tuple(draft.tables),
        stats=stats,
        invented=invented,
    )


def _check(draft: Draft, names: Sequence[str], inquiry: ResearchRequest) -> dict[str, Citation]:
    """Check the evidence that a draft cites; ids without evidence are left out."""
    items: dict[str, Evidence] = {}
    for name in names:
        item = draft.ledger.get(name)
        if item is not None:
            items[name] = item

    results = citations.check_citations(list(items.values()), inquiry.pins, inquiry.context)
    return dict(zip(items, results, strict=True))


def _cited_names(draft: Draft) -> list[str]:
    names: list[str] = []
    for part in draft.parts:
        if isinstance(part, Paragraph):
            names += _ids_in(part.text)
        elif not isinstance(part, Heading):
            names.append(part.evidence)
    return list(dict.fromkeys(names))


@dataclass(slots=True)
class _SegmentWriter:
    """Writes the parts of a draft as segments, and counts the sentences that it marks as unverified."""

    draft: Draft
    checked: Mapping[str, Citation]
    inquiry: ResearchRequest
    unverified: int = 0

    def write(self) -> list[AnswerSegment]:
        """Return the segments."""
        segments: list[AnswerSegment] = []
        for part in self.draft.parts:
            if isinstance(part, Heading):
                segments.append(AnswerSegment("heading", f"## {part.text}"))
            elif isinstance(part, Quote):
                segments += self._write_quote(part)
            elif self.draft.is_by_model:
                segments.append(self._write_model_text(part, has_headline=part is self.draft.parts[0]))
            else:
                segments += self._write_text(part)
        return segments

    def _write_quote(self, quote: Quote) -> list[AnswerSegment]:
        citation = self.checked.get(quote.evidence)
        if citation is None or not citation.accepted:
            return []
        text = markdown.quote(citation, self._base_url)
        return [AnswerSegment("block", text, (citation.evidence.repository,))]

    def _write_model_text(self, paragraph: Paragraph, *, has_headline: bool) -> AnswerSegment:
        """Write text of a model as one segment, since none of it can be said to rest on one repository alone.

        A model's answer is one paragraph, which begins with its claim; what follows is the engine's own.
        """
        marker = _ClaimMarker(self.checked, expects_headline=has_headline)
        text = marker.mark(paragraph.text)
        self.unverified += marker.count

        rendered = markdown.render_model_text(redact(text), self.checked, self._base_url)
        about = {*paragraph.about, *(citation.evidence.repository for citation in self.checked.values())}
        names = _definitions_of(_ids_in(paragraph.text), self.checked)
        return AnswerSegment("block", rendered.rstrip("\n"), tuple(sorted(about)), names)

    def _write_text(self, paragraph: Paragraph) -> list[AnswerSegment]:
        """Write text of the engine, block by block."""
        repositories = {pin.repository for pin in self.inquiry.pins}
        segments = []
        for kind, block in _split_blocks(paragraph.text):
            ids = _ids_in(block)
            cited_repositories = [self.checked[name].evidence.repository for name in ids if name in self.checked]
            about = {*paragraph.about, *cited_repositories}
            # No fact rests on this: a line that spells a repository's name is hidden with it, even one of our own.
            about.update(name for name in repositories if name in block)
            rendered = markdown.link_citations(block, self.checked, self._base_url)
            names = _definitions_of(ids, self.checked)
            segments.append(AnswerSegment(kind, rendered, tuple(sorted(about)), names))
        return segments

    @property
    def _base_url(self) -> str:
        return self.inquiry.context.base_url


def _ids_in(text: str) -> list[str]:
    """Return the ids that a text cites: E3 and E7 of ``[E3, e7]``."""
    ids: list[str] = []
    for match in markdown.CITED.finditer(text):
        ids += [name.strip().upper() for name in match[1].split(",")]
    return ids


def _accepted_evidence(names: Sequence[str], checked: Mapping[str, Citation]) -> list[Evidence]:
    """Return the evidence of the ids whose citation was accepted."""
    return [checked[name].evidence for name in names if name in checked and checked[name].accepted]


def _definitions_of(names: Sequence[str], checked: Mapping[str, Citation]) -> tuple[str, ...]:
    """Return the names of the definitions that ids cite."""
    definitions: list[str] = []
    for item in _accepted_evidence(names, checked):
        if isinstance(item, FileEvidence) and item.role == "definition":
            definitions += item.symbols[:1]
    return tuple(dict.fromkeys(definitions))


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
            is_item = not block.startswith("|") and _ITEM.match(block)
            blocks.append(("line" if is_item else "block", block))

    return blocks


@dataclass(slots=True)
class _ClaimMarker:
    """Marks the sentences of a model that nothing proves; fenced code stays unchanged.

    Attributes
    ----------
    expects_headline
        Whether the next sentence is the first of the answer.
    count
        Number of the sentences that were marked.
    """

    checked: Mapping[str, Citation]
    expects_headline: bool
    count: int = 0

    def mark(self, text: str) -> str:
        """Return a text with its sentences marked."""
        blocks = [
            block if block.startswith("```") else _SENTENCE.sub(self._mark_sentence, block)
            for block in _FENCED.split(text)
        ]
        return "".join(blocks)

    def _mark_sentence(self, match: re.Match[str]) -> str:
        sentence = match[0]
        if self._is_proven(sentence):
            return sentence

        self.count += 1
        ending = sentence[len(sentence.rstrip()) :]
        text = _BEFORE_CITED.sub("", sentence).rstrip()
        punctuation = text[-1:] if text.endswith((".", "!", "?")) else ""
        return f"{text.removesuffix(punctuation)} {UNVERIFIED}{punctuation}{ending}"

    def _is_proven(self, sentence: str) -> bool:
        names = _ids_in(sentence)
        accepted = _accepted_evidence(names, self.checked)
        is_prose = any(map(str.isalpha, sentence)) and not sentence.lstrip().startswith("#")
        if is_prose and self.expects_headline:
            self.expects_headline = False
            # The first sentence is a claim: the lines that it cites have to prove it, as those of the engine's own do.
            return bool(accepted) and _has_names(sentence, accepted)

        return not names or bool(accepted)


def _has_names(sentence: str, evidence: Sequence[Evidence]) -> bool:
    """Return whether each name that a sentence writes as code, and each number, occurs in what it cites."""
    texts = " ".join([_text_of(item) for item in evidence])
    for code_text in _CODE.findall(sentence):
        if not all(name in texts for name in _NAME.findall(code_text)):
            return False

    # Thousands are written in several ways.
    prose = markdown.CITED.sub(" ", _CODE.sub(" ", sentence))
    values = {number.translate(_SEPARATORS) for number in _NUMBER.findall(prose)}
    digits = set(re.findall(r"\d+(?:\.\d+)?", texts.translate(_SEPARATORS)))
    return values <= digits


def _text_of(item: Evidence) -> str:
    """Return all that evidence says."""
    text = f"{item.text} {item.label}"
    if isinstance(item, CommitEvidence):
        return f"{text} {item.subject} {item.author}"
    return text


def _sources(draft: Draft, inquiry: ResearchRequest, accepted: Sequence[Citation]) -> list[AnswerSource]:
    """List the searches of an answer, the repositories that it cites, and its citations; each once."""
    base_url = inquiry.context.base_url
    sources: list[AnswerSource] = []
    for query in draft.searches:
        link = f"{base_url}/search?q={percent(f'patterntype:nls {query}')}"
        sources.append(AnswerSource("search", query, link))

    repositories = {citation.evidence.repository for citation in accepted}
    for pin in inquiry.pins:
        if pin.repository in repositories:
            link = repository_url(base_url, pin.repository)
            sources.append(AnswerSource("repository", pin.repository, link, pin.repository, pin.commit))

    sources += [_source_of(citation.evidence, base_url) for citation in accepted]
    return list(dict.fromkeys(sources))


def _source_of(item: Evidence, base_url: str) -> AnswerSource:
    if not isinstance(item, FileEvidence):
        return AnswerSource("commit", item.label, item.link(base_url), item.repository, item.commit)

    lines = item.location(f"?L{item.begin_line}-{item.end_line}")
    return AnswerSource(
        type="file",
        label=f"{item.repository}/{item.path}@{item.commit[:7]}{lines}",
        link=item.link(base_url),
        repository=item.repository,
        commit=item.commit,
        path=item.path,
        begin_line=item.begin_line,
        end_line=item.end_line,
    )
