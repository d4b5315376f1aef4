"""Describe the surroundings of the best quotes: definitions and their docstrings, and documentation."""

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

LESSER = 0.5
"""Factor for a constant beside a function or class, for a declaration beside a definition, and for a definition
outside the best file."""

_KINDS = frozenset({"function", "method", "constructor", "class", "interface", "struct", "enum", "constant", "module"})
_MARKS = re.compile(r"^\s*(?:///?|/\*+|\*+/|\*+|#+!?|--|;+|[rRuUbB]?(?:\"\"\"|'''))\s?|\s*(?:\*+/|\"\"\"|''')\s*$")
_SENTENCE = re.compile(
    r"(.+?(?<!\s)(?<!\bi\.e)(?<!\be\.g)(?<!\betc)(?<!\bvs)(?<!\bcf)(?<!\bw\.r\.t)[.!?])(?=\s|$)", re.DOTALL
)
_REFERENCE = re.compile(
    r"<(?:see|paramref|typeparamref)\s+(?:cref|name|langword)=[\"'](?:\w:)?(?P<xml>[^\"'<>]+)[\"']\s*/>"
    r"|\{@(?:link|linkplain|code|literal)\s+(?P<javadoc>[^{}]+)\}"
)
"""A name in a comment of C# or Java, as their documentation tools read it."""
_ELEMENT = re.compile(r"</?(?:summary|remarks|para|p|c|code|b|i|em|strong|tt)\s*/?>", re.IGNORECASE)
_INHERITED = re.compile(r"\{@inheritDoc\}|<inheritdoc\b[^>]*>", re.IGNORECASE)
_SUMMARY_TAG = re.compile(r"^[@\\](?:brief|summary|description|short)\b\s*", re.IGNORECASE)
_TAG = re.compile(
    r"^(?:[@\\][a-zA-Z]\w*|<(?:param|typeparam|returns|value|exception|example|seealso)\b"
    r"|:(?:param|returns?|rtype|type|raises?)\b)"
)
"""Starts a comment's section on parameters, results and the like, which doesn't describe the definition."""
_DIRECTIVE = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif|else|endif|define|undef|include|pragma|error)\b")
"""A line for the preprocessor of C, which looks like a comment of other languages."""
_MIN_SAID = 12


@dataclass(frozen=True, slots=True)
class DefinitionExcerpt:
    """A definition that a question is about: its file, its lines, and the first sentence of its documentation."""

    target: Target
    path: str
    definition: Definition
    score: float
    evidence: FileEvidence
    description: str


def find_asked_definitions(
    texts: FileTexts, chunks: Sequence[RankedChunk], weights: Mapping[str, float], names: Sequence[str], limit: int
) -> list[DefinitionExcerpt]:
    """Return the definitions in the best chunks whose names match the question best, best first.

    A name that the question spells in full comes before all others, then those in the file of the best chunk. One
    that shares but one of its words with the question is taken from that file alone: elsewhere it is about something
    else as a rule.
    """
    candidates: list[tuple[float, int, Target, str, Definition]] = []
    exact = frozenset(names)
    for chunk_index, chunk in enumerate(chunks):
        definitions = texts.definitions(chunk.target, chunk.path)
        lines = texts.lines(chunk.target, chunk.path)
        for definition in definitions.definitions() if definitions is not None else ():
            if definition.kind not in _KINDS or not chunk.begin_line <= definition.line <= chunk.end_line:
                continue

            terms = frozenset(terms_of(definition.name)) if definition.name else frozenset()
            common_terms = sorted(terms & weights.keys())
            shared_weight = sum(weights[term] for term in common_terms)
            fit = 0.5 + 0.5 * len(common_terms) / max(len(terms), 1)
            value = shared_weight * fit * (0.5 + 0.5 * chunk.score) * (LESSER if is_lesser(lines, definition) else 1.0)
            at_best = (chunk.target, chunk.path) == (chunks[0].target, chunks[0].path)
            value *= 1.0 if at_best else LESSER
            value += 1000.0 if definition.name in exact else 0.0
            fits = len(common_terms) > 1 or (common_terms and (at_best or len(terms) == 1))
            if fits or definition.name in exact:
                candidates.append((value, chunk_index, chunk.target, chunk.path, definition))

    candidates.sort(key=lambda item: (-item[0], item[1], item[4].line))
    excerpts: list[DefinitionExcerpt] = []
    used_keys: set[tuple[str, str]] = set()
    for value, _, target, path, definition in candidates:
        key = target.repository.name, definition.name
        if len(excerpts) < limit and key not in used_keys and (not excerpts or value >= 0.5 * excerpts[0].score):
            used_keys.add(key)
            excerpts.append(_definition_excerpt(texts, target, path, definition, value))

    return excerpts


def is_lesser(lines: Sequence[str], definition: Definition) -> bool:
    """Return whether a definition is a constant, or only a declaration."""
    if definition.kind == "constant":
        return True
    last = lines[definition.end_line - 1] if 0 < definition.end_line <= len(lines) else ""
    return definition.kind in {"function", "method"} and last.rstrip().endswith(";")


def _definition_excerpt(
    texts: FileTexts, target: Target, path: str, definition: Definition, score: float
) -> DefinitionExcerpt:
    lines = texts.lines(target, path)
    start = lead_start(lines, definition.begin_line - 1) + 1
    end = min(head_end(lines, definition), start + MAX_DEFINITION_LINES - 1, len(lines))
    end = max(end, min(definition.line, len(lines)))
    if end - start >= MAX_DEFINITION_LINES:
        start = definition.begin_line

    names = (definition.name,)
    evidence = texts.evidence(target, path, start, end, "definition", score, names)
    return DefinitionExcerpt(target, path, definition, score, evidence, first_sentence(lines, definition))


def first_sentence(lines: Sequence[str], definition: Definition) -> str:
    """Return the first sentence of a definition's docstring or of the comment above; empty if none."""
    head = head_end(lines, definition)
    docstring: list[str] = []
    for line_index in range(definition.line, head):
        if docstring or DOCSTRING.match(lines[line_index]):
            docstring.append(lines[line_index])

    above = comment_start(lines, definition.begin_line - 1)
    comment = [line for line in lines[above : definition.begin_line - 1] if not line.lstrip().startswith(("@", "#["))]
    for block in (docstring, comment):
        text = without_markup(" ".join(_lines_before_tags(block)))
        match = _SENTENCE.match(text)
        summary = (match[1] if match is not None else text).strip()
        if len(summary) >= _MIN_SAID:
            return summary

    return ""


def without_markup(text: str) -> str:
    """Return the words of a comment as a documentation tool shows them: names instead of references, no elements."""
    text = _REFERENCE.sub(lambda match: _label_of(match["xml"] or match["javadoc"]), text)
    return " ".join(_ELEMENT.sub(" ", _INHERITED.sub("", text)).split()).removeprefix("! ")


def _label_of(reference: str) -> str:
    """Return the text of a reference: its label if it has one, else the name that it refers to."""
    target, _, label = reference.strip().partition(" ")
    return label.strip() if label and "(" not in target else reference.strip().lstrip("#")


def _lines_before_tags(block: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the first paragraph of a comment without marks, up to its first tag."""
    directives = [index for index, line in enumerate(block) if _DIRECTIVE.match(line)]
    has_text = False
    for line in block[directives[-1] + 1 :] if directives else block:
        stripped = _SUMMARY_TAG.sub("", _MARKS.sub("", _MARKS.sub("", line)).strip())
        if _TAG.match(stripped) or (has_text and not stripped):
            return
        if stripped:
            has_text = True
            yield stripped


def paragraph_of(evidence: FileEvidence) -> str:
    """Return the text of a piece of documentation, without headings and markup."""
    lines_left: list[str] = []
    for line in evidence.text.split("\n"):
        stripped = line.strip()
        if (
            not stripped
            or has_links_alone(stripped)
            or re.fullmatch(r"[=~^*\"'#+`|:-]{3,}.*", stripped)
            or stripped.startswith((".. ", "#", "|", "["))
        ):
            if lines_left:
                break
            continue

        lines_left.append(stripped)

    return " ".join(lines_left)
