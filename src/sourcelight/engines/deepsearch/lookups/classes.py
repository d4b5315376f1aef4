"""Read the base classes of a class from its head, and the traits of a type of Rust from its blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.kinds import kind_in_words
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, join_queries, make_queries
from sourcelight.engines.deepsearch.facts.subclasses import is_code
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    DefinitionLocation,
    best_locations,
    head_at,
    location_text,
)
from sourcelight.engines.deepsearch.source.values import blank_angles, blank_brackets, parameters_of, split_items

_CLASSES = frozenset({"class", "interface", "struct"})
_MAX_HEAD_LINES = 20
_MAX_BASE_CHARS = 160
_EXTENDS = re.compile(r"\.(?:java|[cm]?[jt]sx?|php|scala|groovy|dart)$")
_COLON = re.compile(r"\.(?:cc|cpp|cxx|hh|hpp|hxx|h|cs|swift|kt|kts)$")
_CLAUSES = re.compile(r"\b(?:extends|implements|with)\s+(.*?)(?=\b(?:extends|implements|with)\b|$)")
_ACCESS = re.compile(r"^(?:(?:public|protected|private|virtual)\s+)+")


def find_bases(work: Work, locations: Sequence[DefinitionLocation], name: str, queries: list[str]) -> Finding | None:
    """Return the bases that the heads of a class name; None if none is a class, or for other languages."""
    texts = work.texts
    if all(location.path.endswith(".rs") for location in locations):
        return _find_traits(work, best_locations(locations), queries)

    classes = [location for location in best_locations(locations) if location.definition.kind in _CLASSES]
    # The name of another type, as in `type A = B & C`, has no head.
    kinds = [
        kind_in_words(location.definition, texts.lines(location.target, location.path), location.path)
        for location in classes
    ]
    if not classes or len(classes) > MAX_NAMED or any(kind.startswith("type") for kind in kinds):
        return None

    sentences, evidence = [], []
    heads = [(location, bases_of(texts.lines(location.target, location.path), location)) for location in classes]
    is_any = any(head is not None and head[0] for _, head in heads)
    for location, head in heads:
        if head is None:
            return None

        bases, last = head
        if not all(map(_is_type, bases)):
            return None

        # In C#, one part of a partial class names the bases for all parts.
        if is_any and not bases and location.path.endswith(".cs"):
            continue

        base_list = join_words([code(base) for base in bases])
        bases_text = f"the base{'s' * (len(bases) > 1)} {base_list}" if bases else "no base class"
        sentences.append(f"{bases_text} in {location_text(work, location)}")
        line = location.definition.line
        evidence.append(texts.evidence(location.target, location.path, line, last, "definition", 1.0, (name,)))

    text = f"The declaration of {code(name)} names {'; '.join(sentences)}"
    finding = Finding(Statement(text, tuple(evidence)), "bases", queries=[join_queries(queries)])
    finding.quotes = [head_at(texts, classes[0])]
    finding.method.append("Lists direct bases, without bases that are added at run time.")
    return finding


_IMPL = re.compile(r"\s*(?:unsafe\s+)?impl\b(?P<trait>.*?)\sfor\s+(?P<type>.*)")
_DERIVE = re.compile(r"\s*#\[derive\((?P<traits>[^)]*)\)\]")
_MAX_IMPL, MAX_TRAITS = 500, 24


def _find_traits(work: Work, locations: Sequence[DefinitionLocation], queries: list[str]) -> Finding | None:
    """Return the traits that ``impl`` blocks of Rust name for a type, and those that it derives; None for none."""
    texts = work.texts
    if len(locations) != 1 or locations[0].definition.kind not in {"class", "struct", "enum"}:
        return None

    location, name = locations[0], locations[0].definition.name
    searches = make_queries(work, rf"case:yes type:file file:\.rs$ /\bimpl\b.*\bfor\b.*\b{escape_regexp(name)}\b/")
    result = find_rows(work, searches)
    evidence: list[FileEvidence] = []
    traits: list[str] = []
    for row in result.rows:
        target, line = work.inquiry.pins.of(row["repository"]), row["line"] or ""
        match = _IMPL.match(line) if len(line) <= _MAX_IMPL else None
        if target is None or match is None or rank_of(row["path"]) != location.rank or not is_code(work, row):
            continue

        subject = re.match(r"&?\s*(?:'\w+\s+)?(?:mut\s+)?(?:\w+::)*(\w+)\s*(?:[<{]|where\b|$)", match["type"])
        trait = _without_parameters(match["trait"])
        if subject is None or subject[1] != name or not trait or trait in traits:
            continue

        traits.append(trait)
        evidence.append(
            texts.evidence(target, row["path"], row["line_number"], row["line_number"], "usage", 1.0, (name,))
        )

    lines = texts.lines(location.target, location.path)
    start = location.definition.line
    while start > 1 and lines[start - 2].lstrip().startswith(("#[", "//")):
        start -= 1

    above = range(start, location.definition.line)
    derives = [(number, match) for number in above if (match := _DERIVE.match(lines[number - 1])) is not None]
    derived = [trait.strip() for _, match in derives for trait in match["traits"].split(",") if trait.strip()]
    evidence += [
        texts.evidence(location.target, location.path, number, location.definition.line, "definition", 1.0, (name,))
        for number, _ in derives
    ]
    parts = [f"implements {join_words([code(trait) for trait in traits[:MAX_TRAITS]])}"] if traits else []
    parts += [f"derives {join_words([code(trait) for trait in derived])}"] if derived else []
    if not parts or len(traits) > MAX_TRAITS:
        return None

    finding = Finding(Statement(f"{code(name)} {' and '.join(parts)}", tuple(evidence)), "bases", notes=result.notes)
    finding.queries = [join_queries([*queries, *searches])]
    finding.method.append("Lists blocks of `impl` by their first line, without blocks that a macro creates.")
    return finding


def _without_parameters(text: str) -> str:
    """Return a trait without the parameters that follow ``impl``."""
    text = text.strip()
    depth = 0
    for index, letter in enumerate(text if text.startswith("<") else ""):
        depth += {"<": 1, ">": -1}.get(letter, 0) * (text[index - 1 : index + 1] != "->")
        if not depth:
            return text[index + 1 :].strip().lstrip("!?")
    return "" if text.startswith("<") else text


def bases_of(  # noqa: PLR0911 - one for each form of head
    lines: Sequence[str], location: DefinitionLocation
) -> tuple[list[str], int] | None:
    """Return the bases of a class as written, and the last line of its head (1-based)."""
    name, line = location.definition.name, location.definition.line
    if location.path.endswith((".py", ".pyi")):
        if re.search(rf"\bclass\s+{re.escape(name)}\s*:", lines[line - 1]):
            return [], line
        parameters = parameters_of(lines, name, line, location.path)
        if parameters is None:
            return None
        arguments, last = parameters
        return [argument.text for argument in arguments if not argument.value], last

    if location.path.endswith(".rb"):
        match = re.search(
            rf"\bclass\s+(?:\w+::)*{re.escape(name)}\b\s*(?:<\s*([\w:.]+(?:\([^)]*\)|\[[^\]]*\])?))?", lines[line - 1]
        )
        return None if match is None else ([match[1]] if match[1] else [], line)

    head = _head_of(lines, name, line)
    if head is None:
        return None

    text, last = head
    if _EXTENDS.search(location.path):
        # `extends` within angle brackets is the bound of a type parameter.
        blanked = blank_angles(blank_brackets(text))
        parts = [text[part.start(1) : part.end(1)] for part in _CLAUSES.finditer(blanked)]
        return [base for part in parts for base in split_items(part)], last

    if _COLON.search(location.path):
        # Blank out the colons of parameters and type bounds, which precede the colon of the bases.
        bare = blank_angles(blank_brackets(text))
        has_colon, after = ":" in bare, text[bare.find(":") + 1 :]
        after = re.split(r"\bwhere\b", after)[0]
        return ([_ACCESS.sub("", base) for base in split_items(after)] if has_colon else []), last

    return None


def _head_of(lines: Sequence[str], name: str, line: int) -> tuple[str, int] | None:
    """Return the text between a name and the brace that opens its body, and the line of the brace."""
    match = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", lines[line - 1])
    if match is None:
        return None

    parts = []
    for number in range(line, min(line + _MAX_HEAD_LINES, len(lines) + 1)):
        text = lines[number - 1][match.end() if number == line else 0 :]
        text = re.sub(r"//.*|/\*.*?(?:\*/|$)", "", text)
        before, brace, _ = text.partition("{")
        parts.append(before)
        if brace or before.rstrip().endswith(";"):
            return " ".join(" ".join(parts).split()).rstrip(";"), number

    return None


def _is_type(text: str) -> bool:
    """Return whether a text looks like one base: a name, with brackets that are closed."""
    pairs = (("(", ")"), ("[", "]"), ("<", ">"), ("{", "}"))
    return re.match(r"[*@\\:]{0,2}[^\W\d]", text) is not None and not (
        len(text) > _MAX_BASE_CHARS
        or re.search(r"/\*|//|;|\*/", text)
        or any(text.count(opening) != text.count(closing) for opening, closing in pairs)
    )
