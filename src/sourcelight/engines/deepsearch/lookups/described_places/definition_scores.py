"""The definitions of the best files of a ranking, scored by the words of a description that they have.

A definition has words in its name, in the first sentence of its documentation and in the names around it; each word
weighs as much as it is rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.files import ScoredFile
from sourcelight.engines.deepsearch.evidence.relevant.lines import RankedLines
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence, is_of_test
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.lookups.described_places.candidates import (
    header_of,
    is_of_noun,
    read_definitions_by_form,
)
from sourcelight.engines.deepsearch.lookups.described_places.concepts import Description, words_of_file, words_of_name
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_HEAD_LINES = 40
"""Lines of a definition above its name; with more, a grammar was misled, and the comment there is of something else."""
_LIGHT_FACTOR = 0.5
"""Factor for the weight of a word that a name may leave out."""
_MAX_DEFINITIONS = 400
"""Definitions of all files that are compared."""

_INTERFACES = frozenset({"interface", "protocol"})
"""Kinds of types that say what others do. A trait may do some of it."""


@dataclass(frozen=True, slots=True)
class WordWeights:
    """A description with the weights of its words."""

    description: Description
    weights: Sequence[float]

    def share(self, name: Sequence[str], *texts: Sequence[str]) -> float:
        """Return the share of the weight that a name has, by related words too, or that texts have."""
        covered = self.description.coverage(name)
        for text in texts:
            covered |= self.description.coverage(text, weak=False)
        return sum(self.weights[index] for index in covered) / sum(self.weights)


@dataclass(frozen=True, slots=True)
class ScoredPlace:
    """A definition, or a file if there is none, and the share of a question's weight that it has.

    Attributes
    ----------
    file
        Its file.
    share
        The share in its name, its documentation and the names around it.
    own_share
        The share without the names around it.
    definition
        None for the file.
    """

    file: ScoredFile
    share: float
    own_share: float
    definition: Definition | None = None

    @property
    def order(self) -> tuple[float, float, bool]:
        """The key that puts the best first; of equal ones a definition before the file."""
        return -self.share, -self.own_share, self.definition is None

    @property
    def name(self) -> str:
        """The name of the definition; empty for the file."""
        return "" if self.definition is None else self.definition.name


def weigh_words(description: Description, idf: Mapping[str, float]) -> list[float]:
    """Return the weights of the words of a description: those that no file has weigh as much as the rarest one."""
    highest = max(idf.values(), default=1.0)
    weights = []
    for concept in description.concepts:
        weight = max((idf.get(form, 0.0) for form in concept.strong), default=0.0) or highest
        weights.append(weight * _LIGHT_FACTOR if concept.is_optional else weight)
    return weights


def score_all(
    texts: FileTexts,
    files: Sequence[ScoredFile],
    definitions: Sequence[Sequence[Definition]],
    measure: WordWeights,
) -> Iterator[ScoredPlace]:
    """Yield the files, and the definitions in them that have words of the question."""
    number = 0
    for file, parsed in zip(files, definitions, strict=True):
        header = header_of(texts, file.target, file.path)
        words, text = words_of_file(file.path), [] if header is None else words_of_name(header.text)
        folder = words_of_name(file.path.rpartition("/")[0])
        yield ScoredPlace(file, measure.share(words, text, folder), measure.share(words, text))
        by_form = read_definitions_by_form(texts, file.target, file.path, measure.description)
        for definition in parsed or by_form:
            number += 1
            if number <= _MAX_DEFINITIONS:
                yield _measure_definition(file, definition, measure)


def stateable_definitions(file: ScoredFile, candidates: Sequence[RankedLines]) -> list[Definition]:
    """Return the definitions of a file that may be a place, best first: no tests, and no types of one function."""
    functions: dict[str, list[Definition]] = {}
    for definition in file.definitions:
        if definition.kind in FUNCTION_KINDS:
            functions.setdefault(definition.name, []).append(definition)

    definitions = (item.definition for item in candidates if item.file is file and item.definition is not None)
    return [definition for definition in definitions if _may_be_stated(definition, functions)]


def _may_be_stated(definition: Definition, functions: Mapping[str, Sequence[Definition]]) -> bool:
    if is_of_test(definition) or definition.line - definition.begin_line > _MAX_HEAD_LINES:
        return False
    # A container with signs of types is none: a grammar took a function of a class for one of its return type.
    if any(sign in definition.container for sign in "*&<"):
        return False
    owners = functions.get(definition.container.rpartition(".")[2], ())
    return not is_of_noun(definition.kind, "type") or not any(
        owner.begin_line <= definition.line <= owner.end_line for owner in owners
    )


def _measure_definition(file: ScoredFile, definition: Definition, measure: WordWeights) -> ScoredPlace:
    name = words_of_name(definition.name)
    text = words_of_name(first_sentence(file.lines, definition))
    around = [*words_of_name(definition.container), "/", *words_of_name(file.path.rpartition(".")[0])]
    return ScoredPlace(file, measure.share(name, text, around), measure.share(name, text), definition)


def is_declared(definition: Definition, siblings: Iterable[Definition], lines: Sequence[str]) -> bool:
    """Return whether a definition is an interface, or a function of one without a body: something else implements it.

    Parameters
    ----------
    definition
        The definition.
    siblings
        All definitions of its file.
    lines
        The lines of its file.
    """
    if definition.kind not in FUNCTION_KINDS:
        return definition.kind in _INTERFACES
    container = definition.container.rpartition(".")[2]
    is_of_interface = any(
        other.name == container
        and other.kind in {*_INTERFACES, "trait"}
        and other.begin_line <= definition.line <= other.end_line
        for other in siblings
    )
    own_lines = lines[definition.line - 1 : definition.end_line]
    return is_of_interface and not any(sign in line for line in own_lines for sign in ("{", "=>"))
