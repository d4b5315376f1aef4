"""Answer a question for a place that it describes, by the only file or definition that its words fit.

A definition fits if its name has half of the words, and its name, the names around it and the first sentence of its
documentation have all. It also fits if all words of its name are among those of the question. A file fits by its path
and its first comment. If two fit equally well, nothing is stated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.misfits import is_misfit
from sourcelight.engines.deepsearch.explanations.question import read_explanation
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.definitions.search import state_definitions
from sourcelight.engines.deepsearch.lookups.described_places.candidates import (
    PlaceCandidate,
    find_named_definitions,
    find_named_files,
    with_bodies,
    with_documentation,
)
from sourcelight.engines.deepsearch.lookups.described_places.concepts import (
    Description,
    forms_of,
    is_participle,
    read_description,
    split_joined,
    words_of_file,
    words_of_name,
)
from sourcelight.engines.deepsearch.lookups.described_places.definition_scores import is_declared
from sourcelight.engines.deepsearch.lookups.described_places.sentences import state_beginning
from sourcelight.engines.deepsearch.lookups.described_places.wording import PlaceQuestion, read_place_question
from sourcelight.engines.deepsearch.markdown import inline

_MIN_CONCEPTS = 2
_MAX_EXTRA = 1
"""Words of a name that a description lacks: with more, the name is of something narrower."""
_MAX_QUOTE = 300
_BEGINNING = 10
"""First words of a sentence, which say what is done."""
_TAIL_CHARACTERS = 20
"""Characters at the end of a sentence that tell where the next one begins."""

_ATTRIBUTES_TEXT = """
args arguments callback config count default defaults duration enabled error event exception flag id info interval level
limit mode name option options params result size state stats status test timeout
"""
_ATTRIBUTES = frozenset(_ATTRIBUTES_TEXT.split())
"""Last words of names that are of what a thing has, rather than of the thing, such as `key_rotation_duration`."""

_ARTICLE = re.compile(r"(?:the|an?|our|its) ", re.IGNORECASE)
_CLAUSE = re.compile(r"\s(?:which|whether|how|when|where|if)\s", re.IGNORECASE)
"""A clause that says what is sought, so that the words before it are not enough."""


def find_described_place(work: Work) -> Finding | None:
    """State where the only file or definition is that a question describes; None for none or several."""
    question = read_place_question(work.inquiry.words)
    if question is None or question.asks_callers:
        return None

    description = _description_of(work, question)
    if description is None:
        return None

    definition = _choose_definition(work, description, question)
    is_of_files = question.noun in {"file", "any"}
    files = find_named_files(work, description, question.word) if is_of_files else []
    file = _choose_file(work.texts, files, description, question)
    if file is not None and (definition is None or question.noun == "file" or definition.path != file.path):
        # Where a definition elsewhere fits as well, none of both is the only one.
        is_rivaled = (
            definition is not None and definition.path != file.path and not description.required <= file.by_name
        )
        return None if is_rivaled else _state_file(work.texts, file, files, description)
    if definition is None or _is_declared(work, definition, question) or _has_misfit(work, definition, description):
        return None
    return _state_definition(work, definition, description)


def _is_declared(work: Work, item: PlaceCandidate, question: PlaceQuestion) -> bool:
    """Return whether a place only says what others do, and no type is sought."""
    if item.location is None or question.noun == "type":
        return False
    lines = work.texts.lines(item.target, item.path)
    return is_declared(item.location.definition, work.texts.iter_definitions(item.target, item.path), lines)


def _has_misfit(work: Work, item: PlaceCandidate, description: Description) -> bool:
    """Return whether the sentence that would be quoted says something else of the same things.

    A description is a set of words. "Remove the shards before firing" has those of "removes the shards after firing".
    """
    sentence, explanation = item.sentence, read_explanation(work.inquiry.words, {})
    if sentence is None or explanation is None or not description.required <= item.by_text:
        return False

    # What is done stands at the beginning: "completes the sync by accepting assignments" assigns nothing.
    acts = {index for index in description.required if is_participle(description.concepts[index].word)}
    beginning = words_of_name(sentence.text)[:_BEGINNING]
    if acts - item.by_name - description.coverage(beginning, weak=False):
        return True

    lines = work.texts.lines(item.target, item.path)[sentence.begin_line - 1 : sentence.end_line + 1]
    following = " ".join(" ".join(lines).split()).partition(sentence.text[-_TAIL_CHARACTERS:])[2]
    return is_misfit(sentence.text, item.name, following, explanation)


def find_described_name(work: Work) -> str:
    """Return the name of the only function that a question for callers describes; empty for none or several."""
    question = read_place_question(work.inquiry.words)
    if question is None or not question.asks_callers:
        return ""
    description = _description_of(work, question)
    candidate = None if description is None else _choose_definition(
        work, description, question
    )  # fmt: skip
    return "" if candidate is None else candidate.name


def _description_of(work: Work, question: PlaceQuestion) -> Description | None:
    repository_words = work.inquiry.pins.name_words
    has_verb = question.noun in {"file", "type"}
    description = read_description(question.text, repository_words, begins_with_verb=has_verb)
    if description is not None and question.clause and len(description.required) < _MIN_CONCEPTS:
        description = read_description(question.text + question.clause, repository_words) or description
    return description


def _choose_definition(work: Work, description: Description, question: PlaceQuestion) -> PlaceCandidate | None:
    """Return the only definition that fits a description."""
    required = description.required
    if len(required) < _MIN_CONCEPTS:
        return None

    definitions = find_named_definitions(work, description, question.noun)
    verb = question.passive_verb
    acting = [item for item in definitions if not verb or verb not in words_of_name(item.name)]
    candidates = with_documentation(work.texts, acting, description)
    for fits in (_is_named_for, _is_documented_for):
        fitting = [item for item in candidates if fits(item, required)]
        if fitting:
            only = _only(fitting)
            return None if only is None or _is_beside(only, candidates, description) else only

    in_question = [item for item in candidates if _is_spelled(item, question, description)]
    if len({(item.name.lower(), item.path) for item in in_question}) == 1:
        return in_question[0]
    if _CLAUSE.search(question.text) is not None:
        return None
    verbs = frozenset(index for index in required if is_participle(description.concepts[index].word))
    is_thing = not verbs and _ARTICLE.match(question.text) is not None
    only = _only([item for item in candidates if _is_within(item, required, verbs, is_thing=is_thing)])
    # A related verb says something else of the other words, as `write_bytes` does of bytes that are printed.
    is_related = only is not None and not verbs <= description.coverage(words_of_name(only.name), weak=False)
    return None if only is None or is_related or _has_named_rival(only, candidates, description) else only


def _is_named_for(item: PlaceCandidate, required: frozenset[int]) -> bool:
    """Return whether a definition has half of a description in its name, and the rest in what stands around it."""
    in_name = item.by_name & required
    is_half = 2 * len(in_name) >= len(required) and len(in_name) >= _MIN_CONCEPTS
    return is_half and item.extra <= _MAX_EXTRA and required <= item.by_all


def _is_spelled(item: PlaceCandidate, question: PlaceQuestion, description: Description) -> bool:
    """Return whether a question has all words of a long name, one of them as what is done."""
    words = words_of_name(item.name)
    forms = frozenset(form for word in words for form in forms_of(word))
    return description.spells(words) and any(forms_of(verb) & forms for verb in question.verbs)


def _is_beside(item: PlaceCandidate, candidates: Sequence[PlaceCandidate], description: Description) -> bool:
    """Return whether a definition without a documentation is of something beside the place that a question describes.

    Its name ends with what the thing has, such as a duration, or has related words for one of two alone. Or another
    definition has the words with its file, which is named for them: `expand` in `tabs.rs` rather than `expand_tabs`.
    """
    words, required = words_of_name(item.name), description.required
    if required <= item.by_text:
        return False
    if item.extra and words[-1] in _ATTRIBUTES and not description.coverage(words[-1:]):
        return True
    if len(required) <= _MIN_CONCEPTS and not required <= description.coverage(words, weak=False):
        return True
    complete = [other for other in candidates if not other.extra and required <= other.by_all]
    return _has_named_rival(item, complete, description)


def _has_named_rival(item: PlaceCandidate, candidates: Sequence[PlaceCandidate], description: Description) -> bool:
    """Return whether a definition elsewhere has the words of a name with its file, which is named for some of them."""
    in_name = item.by_name & description.required
    return any(
        other.path != item.path
        and in_name <= other.by_name | other.by_surroundings
        and bool(description.coverage(words_of_file(other.path), weak=False))
        and not description.extra_words(words_of_file(other.path))
        for other in candidates
    )


def _is_documented_for(item: PlaceCandidate, required: frozenset[int]) -> bool:
    """Return whether the first sentence of a definition's documentation has a whole description of three words."""
    return required <= item.by_text and len(item.by_text) > _MIN_CONCEPTS and item.extra <= _MAX_EXTRA


def _is_within(item: PlaceCandidate, required: frozenset[int], verbs: frozenset[int], *, is_thing: bool) -> bool:
    """Return whether a name has no other words than a description, its first one, and two thirds of all."""
    location = item.location
    # A type is a thing, and does nothing by itself.
    is_function = location is not None and (is_thing or location.definition.kind in {*FUNCTION_KINDS, "macro"})
    in_name = item.by_name & required
    has_verb = min(required) in in_name and verbs <= in_name
    is_most = len(in_name) >= _MIN_CONCEPTS and 3 * len(in_name) >= 2 * len(required)
    return is_function and item.extra == 0 and has_verb and is_most


def _only(candidates: Sequence[PlaceCandidate]) -> PlaceCandidate | None:
    """Return the candidate that fits best; None if another one fits as well."""
    if not candidates:
        return None
    ordered = sorted(candidates, key=_order)
    best, rivals = ordered[0], [item for item in ordered[1:] if _order(item)[:2] == _order(ordered[0])[:2]]
    # Overloads, and a type with its constructor, are one thing.
    is_only = all((item.name.lower(), item.path) == (best.name.lower(), best.path) for item in rivals)
    return best if is_only else None


def _order(item: PlaceCandidate) -> tuple[int, int, str, int]:
    line = 0 if item.location is None else item.location.definition.line
    return -len(item.by_name), item.extra, item.path, line


def _choose_file(
    texts: FileTexts, candidates: Sequence[PlaceCandidate], description: Description, question: PlaceQuestion
) -> PlaceCandidate | None:
    """Return the only file whose path and first comment have a description."""
    required = description.required
    candidates = [item for item in candidates if item.by_name]
    fitting = [item for item in candidates if required <= item.by_all and (item.extra == 0 or len(item.by_name) > 1)]
    if question.noun != "file":
        fitting = [item for item in fitting if required <= item.by_text]
    else:
        fitting = fitting or with_bodies(texts, candidates, description)
    # One word is the name of a file, and nothing beside it.
    if len(required) < _MIN_CONCEPTS and (question.noun != "file" or any(item.extra for item in fitting)):
        return None
    return _only(fitting)


def _state_definition(work: Work, item: PlaceCandidate, description: Description) -> Finding | None:
    """Write where a definition is; by the sentence of its documentation if that has all that is sought."""
    location, sentence = item.location, item.sentence
    if location is None:
        return None

    finding = state_definitions(work.without_notes(), item.name, [location], [])
    if sentence is not None and description.required <= item.by_text:
        lines = work.texts.evidence(item.target, item.path, sentence.begin_line, sentence.end_line, "definition", 1.0)
        evidence = (lines, *finding.headline.evidence)
        text = (
            f"The documentation of {code(item.name)} in {code(item.path)}, line {sentence.begin_line:,}, says: "
            f"“{inline(sentence.text, _MAX_QUOTE)}”"
        )
        finding.headline = Statement(text, evidence)
        finding.method = []
    return finding


def _state_file(
    texts: FileTexts, file: PlaceCandidate, files: Sequence[PlaceCandidate], description: Description
) -> Finding | None:
    """Write that a file is named for what is sought, or how it begins."""
    sentence = file.sentence
    if sentence is not None and file.by_text >= description.required:
        return state_beginning(texts, file.target, file.path, sentence)

    stated = file.by_path
    # Words of a body alone are no name: half of a description must be in the path as it is written.
    is_half = 2 * len(stated & description.required) >= len(description.required)
    if not stated or not is_half or sum(stated <= other.by_path for other in files) > 1:
        return None
    in_path = split_joined(words_of_name(file.path.rpartition(".")[0]), description.parts)
    # An interface says what others do.
    if in_path[-1:] == ["interface"] and "interface" not in [concept.word for concept in description.concepts]:
        return None
    words = [code(word) for word in description.words_in(in_path)]
    noun = "word" if len(words) == 1 else "words"
    evidence = texts.evidence(file.target, file.path, 1, 1, "definition", 1.0)
    text = f"{code(file.path)} is the only file of code outside of tests whose path has the {noun} {join_words(words)}"
    finding = Finding(Statement(text, (evidence,)), "place")
    finding.method = ["Chosen by its path, without tests and documents. Initials of words in a row count as them."]
    return finding
