"""Answer a question for a place by the best file of a ranking, if the names and comments in it say what is sought.

Two leads are added: that of the file over the next one in the ranking, and that of its best definition over those of
other files in how much of the question its name, its documentation and the names around it have. The definition is
stated if the ranking puts it first in the file, too. Else the sentence names the file, and definitions in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.evidence.relevant.files import ScoredFile
from sourcelight.engines.deepsearch.evidence.relevant.lines import RankedLines
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.explanations.misfits import directions_in
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.lookups.described_places.candidates import (
    has_longer_name,
    header_of,
    is_of_noun,
)
from sourcelight.engines.deepsearch.lookups.described_places.concepts import (
    Description,
    read_description,
    split_joined,
    words_of_file,
    words_of_name,
)
from sourcelight.engines.deepsearch.lookups.described_places.definition_scores import (
    ScoredPlace,
    WordWeights,
    is_declared,
    score_all,
    stateable_definitions,
    weigh_words,
)
from sourcelight.engines.deepsearch.lookups.described_places.file_names import (
    NEGATED,
    RankedName,
    answering_files,
    first_by_name,
    is_named,
    read_names,
)
from sourcelight.engines.deepsearch.lookups.described_places.sentences import (
    MAX_STATED,
    documentation_at,
    state_beginning,
    state_in_file,
    state_named_file,
    state_place,
)
from sourcelight.engines.deepsearch.lookups.described_places.wording import PlaceQuestion
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.search.ranking import RankedFile, Ranking
from sourcelight.engines.symbols.definition_parser import Definition

_MIN_SHARE, _MIN_SUM = 0.45, 0.85
"""The share of a question's weight in the best definition, and the sum of its lead and of twice the file's lead.

`docs/design/deepsearch.md` says what they give for questions that chose them, and for others.
"""
_MIN_DEFINITION = 0.5
"""The share of a question's weight in a definition that is stated."""
_MIN_OWN = 0.35
"""The part of it that its name and documentation have, without the names around it."""
_MIN_OF_TWO = 0.95
"""The share of a question's weight in the best definition if the question has two words."""
_OF_DOCUMENTS = re.compile(
    r"\b(?:docs?|document\w*|descri\w+|explain\w*|tutorials?|guides?|readme|manual|changelog|pages?|examples?|posts?"
    r"|licen[cs]e|instructions?|policy|policies|mention\w*|listed|written)\b",
    re.IGNORECASE,
)
"""Words of questions for documents."""
_ACT = re.compile(
    r"(?:the|an?|our|its) (?:[\w-]+ )?(?P<act>checks?|guards?|[a-z]+(?:tion|ment|ing)) "
    r"(?:against|for|of|on|that|to|whether|when)\b",
    re.IGNORECASE,
)
"""A noun of what is done: "the check against entries that escape" is no function that tells what entries are."""
_RANKING_FACTOR = 2.0
"""Factor of a file's lead in the ranking: it is the better witness of the two."""
_MIN_CONCEPTS = 2
_MIN_HEADER = 0.5
"""The share of a question's weight in the first comment of a file that is quoted."""


def _is_clear(share: float, rival: float, lead: float, words: int) -> bool:
    """Return whether the best definition of a file and the file itself lead far enough, by the words of a question."""
    # One of two words is none of what is sought: "where does it read .env files" is no question for any reader.
    least = _MIN_SHARE if words > _MIN_CONCEPTS else _MIN_OF_TWO
    return words >= _MIN_CONCEPTS and share >= least and (share - rival) + _RANKING_FACTOR * lead >= _MIN_SUM


def _state_spelled(
    work: Work, question: PlaceQuestion, measure: WordWeights, of_file: Sequence[ScoredPlace], lines: RankedLines
) -> Finding | None:
    """Write where the best definition of the best file is if all words of its name are in the question."""
    item = next((item for item in of_file if item.definition is not None and item.definition is lines.definition), None)
    words = [] if item is None else words_of_name(item.name)
    is_in_question = measure.description.spells(words) and bool(measure.description.coverage(words, weak=False))
    if item is None or not is_in_question or not _fits(item, question) or NEGATED.search(question.text) is not None:
        return None
    return _state(work, question, measure, [replace(item, share=1.0, own_share=1.0)], item.definition)


def _state_named(
    work: Work, question: PlaceQuestion, description: Description, of_file: Sequence[ScoredPlace], lines: RankedLines
) -> Finding | None:
    """Write that a file is named for what is sought, with the definitions in it that have most of it."""
    target, path = lines.file.target, lines.file.path
    texts, name = work.texts, words_of_file(path)
    parts = [
        (item, DefinitionLocation(target, path, item.definition)) for item in of_file if item.definition is not None
    ]
    if question.noun == "type":
        same = [location for item, location in parts if _fits(item, question) and words_of_name(item.name) == name]
        if same:
            return state_place(work, same[0])
    if question.noun == "function" or (question.noun == "type" and parts):
        return None
    # A tutorial is named for what it tells of, which code does, and an interface for what others do.
    if name[-1:] == ["interface"] and "interface" not in question.text.lower():
        return None
    if DOCUMENTS.search(path) is not None and _OF_DOCUMENTS.search(question.text) is None:
        return None

    strong = [(item, location) for item, location in parts if item.own_share >= _MIN_OWN]
    locations = list({item.name: location for item, location in reversed(strong)}.values())[::-1]
    # Definitions that have the words, and say something else of them, tell what the file is about.
    if any(_is_past(item, question) for item, _ in strong) or any(
        _turns_around(sentence.text, question.text, description)
        for location in locations
        if (sentence := documentation_at(texts, location)) is not None
    ):
        return None
    words = description.words_in(split_joined(name, description.parts))
    # A file may be named for a minor word, and have other functions for it.
    locations = locations if strong and strong[0][0].own_share >= _MIN_DEFINITION else []
    return state_in_file(work, locations[:MAX_STATED]) if locations else state_named_file(texts, lines, words)


def _describe(work: Work, question: PlaceQuestion) -> Description | None:
    has_verb = question.noun in {"file", "type"}
    words = work.inquiry.pins.name_words
    return read_description(question.text + question.clause, words, begins_with_verb=has_verb)


@dataclass(frozen=True, slots=True)
class PlaceFiles:
    """The files of a ranking that may be the place that a question describes.

    Attributes
    ----------
    question
        The question.
    measure
        What it describes, with the weights of its words.
    ranked
        The files, best first; at least one.
    names
        The names of the best ones.
    by_name
        The file that comes first for its name; None if the best one does.
    """

    question: PlaceQuestion
    measure: WordWeights
    ranked: Sequence[RankedFile]
    names: Sequence[RankedName]
    by_name: RankedFile | None

    @property
    def first(self) -> RankedFile:
        """The file that comes first for its name, else the best one."""
        return self.by_name or self.ranked[0]


def read_place_files(work: Work, question: PlaceQuestion, ranking: Ranking) -> PlaceFiles | None:
    """Read the files of a ranking for a question for a place; None for a question for callers, and without a file."""
    description = None if question.asks_callers else _describe(work, question)
    ranked = answering_files(ranking)
    if description is None or not ranked:
        return None
    measure = WordWeights(description, weigh_words(description, ranking.idf))
    names = read_names(ranked, description, measure.weights, work.inquiry.pins.name_words)
    return PlaceFiles(question, measure, ranked, names, first_by_name(names))


def find_best_file(
    work: Work, place_files: PlaceFiles, candidates: Sequence[RankedLines], files: Sequence[ScoredFile]
) -> Finding | None:
    """State the best file of a ranking as the place that a question describes; None unless it is far the best.

    Parameters
    ----------
    work
        The request under way.
    place_files
        The question, and the files that may be the place.
    candidates
        The definitions and lines of the best files, best first.
    files
        The best files.
    """
    question, measure, ranked = place_files.question, place_files.measure, place_files.ranked
    paths = {file.path for file in ranked}
    visible = [file for file in files if file.path in paths]
    is_first = bool(visible) and visible[0].path == ranked[0].path
    if ranked[0].score <= 0.0 or not is_first or place_files.by_name is not None:
        return None

    lead = 1.0 - ranked[1].score / ranked[0].score if len(ranked) > 1 else 1.0
    description = measure.description
    definitions = [stateable_definitions(file, candidates) for file in visible]
    scored = sorted(score_all(work.texts, visible, definitions, measure), key=lambda item: item.order)
    of_file = [item for item in scored if item.file is visible[0]]
    fitting = [item for item in of_file if _fits(item, question)]
    if question.noun == "type":
        fitting = [item for item in fitting if not _is_part(item, description)]
    if fitting and _lacks_act(fitting[0], question, description):
        fitting = []
    rival = max((item.share for item in scored if item.file is not visible[0]), default=0.0)
    ranked_first = next((item for item in definitions[0] if _is_of_kind(item, question)), None)
    if not definitions[0] and _is_only_one(fitting) and len(description.coverage(words_of_name(fitting[0].name))) > 1:
        # No grammar ranked the definitions of the file, and the name of one has two of the words.
        ranked_first = fitting[0].definition
    is_clear = bool(fitting) and _is_clear(fitting[0].share, rival, lead, len(description.concepts))
    finding = _state(work, question, measure, fitting, ranked_first) if is_clear else None
    if finding is None and candidates[0].file is visible[0]:
        finding = _state_spelled(work, question, measure, of_file, candidates[0])
    is_named_for = is_named(place_files.names, lead, question.text + question.clause, description)
    if finding is None and is_named_for and not has_longer_name(work, description, visible[0].path):
        lines = next(item for item in candidates if item.file is visible[0])
        finding = _state_named(work, question, description, of_file, lines)
    return finding


def _fits(item: ScoredPlace, question: PlaceQuestion) -> bool:
    """Return whether a place is of the kind that a question asks for; a definition in it is a place of a file."""
    definition = item.definition
    if definition is not None and question.noun != "type":
        file = item.file
        if is_declared(definition, file.definitions, file.lines):
            return False
    is_other = _is_past(item, question) or _is_failure(item, question)
    return not is_other and _is_of_kind(definition, question)


def _is_past(item: ScoredPlace, question: PlaceQuestion) -> bool:
    """Return whether a definition is called as what was done, which is the verb at the end of a question."""
    return bool(question.passive_verb) and question.passive_verb in words_of_name(item.name)


def _is_failure(item: ScoredPlace, question: PlaceQuestion) -> bool:
    """Return whether a definition makes the error for what was detected, and detects nothing itself."""
    container = "" if item.definition is None else item.definition.container
    failures = _FAILURES.intersection(words_of_name(f"{container} {item.name}"))
    return bool(failures) and _FAILURES.isdisjoint(words_of_name(question.text))


_FAILURES = frozenset({"error", "errors", "exception", "exceptions"})


def _is_of_kind(definition: Definition | None, question: PlaceQuestion) -> bool:
    """Return whether a definition, or a file if there is none, is of the kind that a question asks for."""
    if question.noun in {"file", "any"}:
        return True
    return definition is not None and is_of_noun(definition.kind, question.noun)


def _state(
    work: Work, question: PlaceQuestion, measure: WordWeights, scored: Sequence[ScoredPlace],
    ranked_first: Definition | None,
) -> Finding | None:  # fmt: skip
    """Write a sentence about the best of some places of one file; None if none can be written."""
    texts = work.texts
    best = scored[0]
    is_first = best.definition is not None and ranked_first is not None and ranked_first.name == best.definition.name
    # `parse_block` is the place rather than `parse_block_end`, if a question has no word for the end.
    is_first = is_first and not any(_is_shorter(item, best) for item in scored[1:])
    if best.definition is not None and is_first and best.share >= _MIN_DEFINITION and best.own_share >= _MIN_OWN:
        location = DefinitionLocation(best.file.target, best.file.path, best.definition)
        sentence = documentation_at(texts, location)
        if sentence is not None and _turns_around(sentence.text, question.text, measure.description):
            return None
        return state_in_file(work, [location]) if question.noun == "file" else state_place(work, location)
    if question.noun in {"function", "type"}:
        return None

    header = header_of(texts, best.file.target, best.file.path)
    if best.definition is None and header is not None and measure.share([], words_of_name(header.text)) >= _MIN_HEADER:
        return state_beginning(texts, best.file.target, best.file.path, header)

    # Definitions with few of the words prove nothing: the file may be another one's neighbor.
    strong = [item.definition for item in scored if item.definition is not None and item.own_share >= _MIN_DEFINITION]
    by_name = {definition.name: definition for definition in reversed(strong)}
    locations = [DefinitionLocation(best.file.target, best.file.path, item) for item in reversed(by_name.values())]
    if len(locations) == 1 and question.noun == "any":
        return state_place(work, locations[0])
    return state_in_file(work, locations[:MAX_STATED]) if locations else None


def _is_only_one(fitting: Sequence[ScoredPlace]) -> bool:
    """Return whether the first of some places has more of a question than any with another name."""
    return bool(fitting) and not any(
        item.name != fitting[0].name and item.own_share >= fitting[0].own_share for item in fitting[1:]
    )


def _lacks_act(item: ScoredPlace, question: PlaceQuestion, description: Description) -> bool:
    """Return whether a question asks for an act, such as "the check for …", and a definition does another one."""
    match = _ACT.match(question.text)
    if match is None or item.definition is None:
        return False
    acts = {index for index, concept in enumerate(description.concepts) if concept.word == match["act"].lower()}
    text = words_of_name(first_sentence(item.file.lines, item.definition))
    return bool(acts - description.coverage(words_of_name(item.name)) - description.coverage(text, weak=False))


def _is_shorter(item: ScoredPlace, best: ScoredPlace) -> bool:
    """Return whether a place has as much of a question as the best one, in a name that is the beginning of its name."""
    is_equal = item.definition is not None and item.own_share >= best.own_share
    name, words = words_of_name(item.name), words_of_name(best.name)
    return is_equal and len(name) < len(words) and words[: len(name)] == name


def _is_part(item: ScoredPlace, description: Description) -> bool:
    """Return whether a definition is within a type whose name has a further word of a question: that is the place."""
    container = "" if item.definition is None else item.definition.container.rpartition(".")[2]
    is_type = any(other.name == container and is_of_noun(other.kind, "type") for other in item.file.definitions)
    in_name = description.coverage(words_of_name(item.name))
    return is_type and not description.coverage(words_of_name(container), weak=False) <= in_name


def _turns_around(text: str, question: str, description: Description) -> bool:
    """Return whether a text has words of a question on the other sides of a direction, such as "into"."""

    def words_in(part: str) -> set[int]:
        return set(description.coverage(words_of_name(part), weak=False))

    in_text = list(directions_in(text, words_in))
    return any(
        left & other_right and right & other_left
        for left, right in directions_in(question, words_in)
        for other_left, other_right in in_text
    )
