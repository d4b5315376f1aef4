"""Describe the definitions that a question names, and read the first sentences of their documentation.

`find_asked_definitions` compares the names of the definitions in the best chunks with the words of a question.
`first_sentence` reads the docstring or the comment of a definition as documentation tools do: without marks of
comments, with names instead of references, and only up to the first tag for a parameter or a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.units import DOCSTRING, comment_start, head_end
from sourcelight.engines.deepsearch.source.documents import has_links_alone
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk
from sourcelight.engines.search.ranking.terms.chunker import lead_start
from sourcelight.engines.search.ranking.terms.tokenizer import terms_of
from sourcelight.engines.symbols.definition_parser import Definition

MAX_DEFINITION_LINES = 10
"""Maximum lines of a definition's head that are cited."""

_OF_TESTS = frozenset({"test", "tests"})
_LESSER_FACTOR = 0.5
"""Factor for a constant beside a function or class, for a declaration beside a definition, and for a definition
outside the best file."""

_EXACT_BONUS = 1000.0
"""Added for a name that the question has, so that it comes before all others."""

_MIN_RELATIVE_SCORE = 0.5
"""Share of the best definition's score below which others aren't described."""

_MIN_SENTENCE_CHARACTERS = 12
"""Characters of a sentence that describes something; shorter ones, such as `Deprecated.`, don't."""

_KINDS = frozenset({"function", "method", "constructor", "class", "interface", "struct", "enum", "constant", "module"})
"""Kinds of definitions that a question may be about."""

# Comments.
_COMMENT_MARKS = re.compile(
    r"^\s*(?:///?|/\*+|\*+/|\*+|#+!?|--|;+|[rRuUbB]?(?:\"\"\"|'''))\s?|(?:(?<!\s)\s+)?(?:(?<!\*)\*+/|\"\"\"|''')\s*$"
)
"""Marks at the beginning and the end of a line of a comment: `/// `, ` * `, `# `, `r\"\"\"`, ` */`."""

_DIRECTIVE = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif|else|endif|define|undef|include|pragma|error)\b")
"""A line for the preprocessor of C, `#ifdef GATE`, which looks like a comment of other languages."""

_FIRST_SENTENCE = re.compile(
    r"(.+?(?<!\s)(?<!\bi\.e)(?<!\be\.g)(?<!\betc)(?<!\bvs)(?<!\bcf)(?<!\bw\.r\.t)[.!?])(?=\s|$)", re.DOTALL
)
"""A sentence, in which the points of `e.g.` and of other abbreviations end nothing."""

# Marks of documentation tools.
_REFERENCE = re.compile(
    r"<(?:see|paramref|typeparamref)\s+(?:cref|name|langword)=[\"'](?:\w:)?(?P<xml>[^\"'<>]+)[\"']\s*/>"
    r"|\{@(?:link|linkplain|code|literal)\s+(?P<javadoc>[^{}]+)\}"
)
"""A reference in a comment of C# or Java: `<see cref="Gate"/>`, `{@link Gate#lift() lifting}`."""

_ELEMENT = re.compile(r"</?(?:summary|remarks|para|p|c|code|b|i|em|strong|tt)\s*/?>", re.IGNORECASE)
"""An element that formats text: `<summary>`, `</c>`."""

_INHERITED = re.compile(r"\{@inheritDoc\}|<inheritdoc\b[^>]*>", re.IGNORECASE)
"""A mark for the documentation of a base class: `{@inheritDoc}`, `<inheritdoc/>`."""

_SUMMARY_TAG = re.compile(r"^[@\\](?:brief|summary|description|short)\b\s*", re.IGNORECASE)
"""A tag before a description: `@brief`, `\\short`."""

_SECTION_TAG = re.compile(
    r"^(?:[@\\][a-zA-Z]\w*|<(?:param|typeparam|returns|value|exception|example|seealso)\b"
    r"|:(?:param|returns?|rtype|type|raises?)\b)"
)
"""The start of a section on parameters, results and the like, which doesn't describe the definition: `@param`,
`<returns>`, `:raises`."""

_NO_SUMMARY = re.compile(r"(?:https?://\S+|[\w.]+\([^()]*\)(?:\s*->.*)?)[.:]?")
"""A first line that describes nothing: an address, or the call that it documents, `lift(gate, level=1)`."""

# Documents.
_RULE = re.compile(r"[=~^*\"'#+`|:-]{3,}.*")
"""A line below a title or between rows of a table: `=====`, `--- | ---`."""

_NO_TEXT = (".. ", "#", "|", "[")
"""Starts of lines of documents that are no text: directives, titles, tables, links."""


@dataclass(frozen=True, slots=True)
class DefinitionExcerpt:
    """A definition that a question is about: its file, its lines, and the first sentence of its documentation."""

    target: Target
    path: str
    definition: Definition
    score: float
    evidence: FileEvidence
    description: str


@dataclass(frozen=True, slots=True)
class _NamedDefinition:
    """A definition in one of the best chunks, and how well its name fits a question."""

    target: Target
    path: str
    definition: Definition
    score: float
    chunk_rank: int

    @property
    def order(self) -> tuple[float, int, int]:
        """The key that puts the best first; of equal ones that of the better chunk, and the first one of a file."""
        return -self.score, self.chunk_rank, self.definition.line


def find_asked_definitions(
    texts: FileTexts, chunks: Sequence[RankedChunk], weights: Mapping[str, float], names: Sequence[str], limit: int
) -> list[DefinitionExcerpt]:
    """Return the definitions in the best chunks whose names match the question best, best first.

    A name that the question spells in full comes before all others, then those in the file of the best chunk. One
    that shares but one of its words with the question is taken from that file alone: elsewhere it is about something
    else as a rule.

    Parameters
    ----------
    texts
        The files.
    chunks
        The best chunks, best first.
    weights
        Weights of the question's terms.
    names
        Names of code in the question.
    limit
        Maximum definitions.
    """
    candidates = sorted(_fitting_definitions(texts, chunks, weights, frozenset(names)), key=lambda item: item.order)
    excerpts: list[DefinitionExcerpt] = []
    seen: set[tuple[str, str]] = set()
    min_score = _MIN_RELATIVE_SCORE * candidates[0].score if candidates else 0.0
    for candidate in candidates:
        key = candidate.target.repository.name, candidate.definition.name
        if len(excerpts) < limit and key not in seen and candidate.score >= min_score:
            seen.add(key)
            excerpts.append(excerpt_of(texts, candidate.target, candidate.path, candidate.definition, candidate.score))

    return excerpts


def _fitting_definitions(
    texts: FileTexts, chunks: Sequence[RankedChunk], weights: Mapping[str, float], names: frozenset[str]
) -> Iterator[_NamedDefinition]:
    """Yield the definitions in some chunks whose names have enough in common with a question."""
    for rank, chunk in enumerate(chunks):
        is_in_best_file = (chunk.target, chunk.path) == (chunks[0].target, chunks[0].path)
        lines = texts.lines(chunk.target, chunk.path)
        for definition in _definitions_in(texts, chunk):
            terms = frozenset(terms_of(definition.name)) if definition.name else frozenset()
            shared_terms = sorted(terms & weights.keys())
            is_exact = definition.name in names
            is_about = len(shared_terms) > 1 or (bool(shared_terms) and (is_in_best_file or len(terms) == 1))
            if not (is_about or is_exact):
                continue

            precision = 0.5 + 0.5 * len(shared_terms) / max(len(terms), 1)
            score = sum(weights[term] for term in shared_terms) * precision * (0.5 + 0.5 * chunk.score)
            score *= _LESSER_FACTOR if is_lesser(lines, definition) else 1.0
            score *= 1.0 if is_in_best_file else _LESSER_FACTOR
            score += _EXACT_BONUS if is_exact else 0.0
            yield _NamedDefinition(chunk.target, chunk.path, definition, score, rank)


def _definitions_in(texts: FileTexts, chunk: RankedChunk) -> Iterator[Definition]:
    """Yield the definitions whose names are in a chunk."""
    for definition in texts.iter_definitions(chunk.target, chunk.path):
        if definition.kind in _KINDS and chunk.begin_line <= definition.line <= chunk.end_line:
            yield definition


def is_lesser(lines: Sequence[str], definition: Definition) -> bool:
    """Return whether a definition is a constant, or only a declaration."""
    if definition.kind == "constant":
        return True
    last_line = lines[definition.end_line - 1] if 0 < definition.end_line <= len(lines) else ""
    return definition.kind in {"function", "method"} and last_line.rstrip().endswith(";")


def is_of_test(definition: Definition) -> bool:
    """Return whether a definition is one of a test in a file of code, as modules of Rust have them."""
    words = re.split(r"\W+", f"{definition.container} {definition.name}".lower())
    return bool(_OF_TESTS.intersection(words)) or definition.name.lower().startswith("test_")


def excerpt_of(texts: FileTexts, target: Target, path: str, definition: Definition, score: float) -> DefinitionExcerpt:
    """Return a definition with its head, and the comment above if both are short."""
    lines = texts.lines(target, path)
    start = lead_start(lines, definition.begin_line - 1) + 1
    end = min(head_end(lines, definition), start + MAX_DEFINITION_LINES - 1, len(lines))
    end = max(end, min(definition.line, len(lines)))
    if end - start >= MAX_DEFINITION_LINES:
        start = definition.begin_line

    evidence = texts.evidence(target, path, start, end, "definition", score, (definition.name,))
    return DefinitionExcerpt(target, path, definition, score, evidence, first_sentence(lines, definition))


def first_sentence(lines: Sequence[str], definition: Definition) -> str:
    """Return the first sentence of a definition's docstring or of the comment above; empty if none."""
    for block in (_docstring_of(lines, definition), _comment_above(lines, definition)):
        text = without_markup(" ".join(_lines_before_tags(block)))
        match = _FIRST_SENTENCE.match(text)
        sentence = (text if match is None else match[1]).strip()
        if len(sentence) >= _MIN_SENTENCE_CHARACTERS:
            return sentence

    return ""


def _docstring_of(lines: Sequence[str], definition: Definition) -> Sequence[str]:
    """Return the lines of a definition's docstring; empty without one."""
    body_of_head = lines[definition.line : head_end(lines, definition)]
    start = next((index for index, line in enumerate(body_of_head) if DOCSTRING.match(line)), len(body_of_head))
    return body_of_head[start:]


def _comment_above(lines: Sequence[str], definition: Definition) -> Sequence[str]:
    """Return the lines of the comment above a definition, without decorators and attributes."""
    start = comment_start(lines, definition.begin_line - 1)
    above = lines[start : definition.begin_line - 1]
    return [line for line in above if not line.lstrip().startswith(("@", "#["))]


def _lines_before_tags(block: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the first paragraph of a comment without marks, up to its first tag."""
    directives = [index for index, line in enumerate(block) if _DIRECTIVE.match(line)]
    has_text = False
    for line in block[directives[-1] + 1 :] if directives else block:
        # Twice: a line may have a mark at both ends.
        text = _COMMENT_MARKS.sub("", _COMMENT_MARKS.sub("", line)).strip()
        text = _SUMMARY_TAG.sub("", text)
        if _SECTION_TAG.match(text) or (has_text and not text):
            return
        if text and (has_text or not _NO_SUMMARY.fullmatch(text)):
            has_text = True
            yield text


def without_markup(text: str) -> str:
    """Return the words of a comment as a documentation tool shows them: names instead of references, no elements."""
    text = _REFERENCE.sub(lambda match: _label_of(match["xml"] or match["javadoc"]), text)
    return " ".join(_ELEMENT.sub(" ", _INHERITED.sub("", text)).split()).removeprefix("! ")


def _label_of(reference: str) -> str:
    """Return the text of a reference: its label if it has one, else the name that it refers to."""
    target, _, label = reference.strip().partition(" ")
    return label.strip() if label and "(" not in target else reference.strip().lstrip("#")


def paragraph_of(evidence: FileEvidence) -> str:
    """Return the text of a piece of documentation, without headings and markup."""
    paragraph: list[str] = []
    for line in evidence.text.split("\n"):
        text = line.strip()
        is_text = text and not has_links_alone(text) and not _RULE.fullmatch(text) and not text.startswith(_NO_TEXT)
        if is_text:
            paragraph.append(text)
        elif paragraph:
            break

    return " ".join(paragraph)
