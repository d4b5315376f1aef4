"""Read the groups of a count: superlatives, "per author", and bounds such as "more than ten commits".

A question is a `MarkedText` here: ``⟨G1⟩`` replaces the name of a language and ``⟨N1⟩`` a name of code, and " · "
(`GAP`) is the place of a part that is taken. "Which author has the most Go commits?" has the text
"· author has the most ⟨G0⟩ commits". Each form takes its words out of that text; other readers take the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.marks import GAP, MarkedText
from sourcelight.engines.deepsearch.question.request import Threshold
from sourcelight.engines.deepsearch.question.vocabulary import NOUN, kind_of_noun

# "which file has `foo` the most", "the repository that uses it least often"
_FINAL_MOST = re.compile(
    r"\b(?:the\s+)?(?P<top>most|least|fewest)(?:\s+(?:often|frequently|times))?(?=[\W·]*$)", re.IGNORECASE
)

# "the largest Go source files", "which file is the longest"
_SIZES = "largest|longest|biggest|smallest|shortest"
_BY_SIZE = re.compile(
    rf"\b(?:the\s+)?(?P<before>{_SIZES})\s+(?=(?:⟨G\d+⟩\s+)?(?:source\s+)?files?\b)"
    rf"|\b(?:is|are)\s+(?:the\s+)?(?P<size>{_SIZES})\b(?=[\W·]*$)",
    re.IGNORECASE,
)

# "the most frequently changed files", "which folders were changed the most often"
_OFTEN_CHANGED = re.compile(
    r"\b(?:the\s+)?most\s+(?:frequently\s+|often\s+)?(?:changed|modified|edited|touched)\s+(?=(?:files?|folders?|director(?:y|ies))\b)"
    r"|\b(?:(?:was|were|is|are|has|have|been|get|gets)\s+)*(?:changed|changes?|modified|edited|touched)\s+(?:the\s+)?most"
    r"(?:\s+(?:often|frequently))?\b",
    re.IGNORECASE,
)

# "commits per author", "files of each language", "commits broken down by month"
_PER = re.compile(
    r"\b(?:per|by|(?:for|in|of|from) each|(?:grouped|broken down|split) by)\s+"
    r"(?P<noun>authors?|contributors?|developers?|person"
    r"|repository|repo|files?|languages?|folders?|director(?:y|ies)|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)

# "which author has the most commits", "the repository with the fewest Go files"
_SUPERLATIVE = re.compile(
    r"\b(?:(?P<top>most|highest number of|largest number of|greatest number of|fewest|least|lowest number of)\s+)",
    re.IGNORECASE,
)

# "authors with more than ten commits", "files that have at most 1,000 lines"
_BOUND = re.compile(
    r"\b(?:(?:with|have|has|having|made|that|who|which|wrote|authored)\s+)*(?P<how>(?<!no )more than|over|at least"
    r"|(?<!no )fewer than|(?<!no )less than|under|at most|up to|exactly|only|just|no more than"
    r"|no fewer than|no less than)\s+(?P<number>\d[\d,]*|one|two|three"
    r"|four|five|six|seven|eight|nine|ten)\s+",
    re.IGNORECASE,
)
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip

# Other pairs, such as the tag with the most branches, have no count.
_GROUPS = {"authors", "files", "repositories", "folders", "languages"}
_MEASURES = {"commits", "lines", "files", "occurrences", "authors", "merges"}

# A mark of a language or a name of code may precede the noun: "the most Go commits".
_MEASURE = re.compile(rf"\s*(?:⟨[GN]\d+⟩\s*)?(?P<noun>{NOUN.pattern})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of a count, as in "which author has the most commits". Values are those of a `FactRequest`.

    Attributes
    ----------
    group
        The groups: ``authors``.
    measure
        The kind that is counted for each group: ``commits``. Empty if the remaining text says it.
    is_top
        Whether the question asks for the group with the most, or with the fewest.
    is_fewest
        Whether that is the group with the fewest.
    threshold
        Bounds of the measure of a group, as in "more than ten commits"; None without bounds.
    """

    group: str
    measure: str = ""
    is_top: bool = False
    is_fewest: bool = False
    threshold: Threshold | None = None


def take_group(marked_text: MarkedText, *, is_list: bool) -> Grouping | None:
    """Take the words for the groups of a count out of a text; None, and the same text, without groups.

    Only a list (`is_list`) can ask for the largest group: "how many" before a superlative asks for something else.
    """
    forms = [_take_per, _take_bound]
    if is_list:
        forms = [_take_final_most, _take_size, _take_changes, _take_per, _take_superlative, _take_bound]

    for take_form in forms:
        grouping = take_form(marked_text)
        if grouping is not None:
            return grouping

    return None


def _take_final_most(marked_text: MarkedText) -> Grouping | None:
    """Take "which file" and "the most" of "which file has `foo` the most"."""
    text = marked_text.text
    if _FINAL_MOST.search(text) is None:
        return None

    # The group is the first word that isn't taken.
    start = len(text) - len(text.lstrip(GAP))
    group = NOUN.match(text, start)
    if group is None or kind_of_noun(group) not in {"files", "repositories"}:
        return None

    superlative = marked_text.remove(_FINAL_MOST)
    marked_text.text = GAP + _kept_words(group) + marked_text.text[group.end() :]
    return Grouping(
        kind_of_noun(group), "occurrences", is_top=True, is_fewest=superlative is not None and _is_fewest(superlative)
    )


def _take_size(marked_text: MarkedText) -> Grouping | None:
    """Take "the largest files", whose measure is lines."""
    match = marked_text.remove(_BY_SIZE)
    if match is None:
        return None

    size = match["size"] or match["before"]
    marked_text.remove(r"\b(?:source\s+)?files?\b")
    return Grouping("files", "lines", is_top=True, is_fewest=size.lower() in {"smallest", "shortest"})


def _take_changes(marked_text: MarkedText) -> Grouping | None:
    """Take "the most often changed files" or folders, whose measure is commits."""
    if marked_text.remove(_OFTEN_CHANGED) is None:
        return None

    folders = marked_text.remove(r"\b(?:top\s+|sub)?(?:folders?|director(?:y|ies))\b")
    marked_text.remove(r"\b(?:source\s+)?files?\b")
    return Grouping("files" if folders is None else "folders", "commits", is_top=True)


def _take_per(marked_text: MarkedText) -> Grouping | None:
    """Take "per author", or "by month"."""
    match = marked_text.remove(_PER)
    if match is None:
        return None

    word = match["noun"].lower().rstrip("s")
    noun = NOUN.fullmatch(word)

    # Days, weeks, months and years are groups that nothing counts, and so no nouns of the vocabulary.
    return Grouping(f"{word}s" if noun is None else kind_of_noun(noun))


def _take_superlative(marked_text: MarkedText) -> Grouping | None:
    """Take "author" and "the most commits" of "which author has the most commits"."""
    match = _SUPERLATIVE.search(marked_text.text)
    if match is None:
        return None

    kinds = _take_group_and_measure(marked_text, match)
    return None if kinds is None else Grouping(*kinds, is_top=True, is_fewest=_is_fewest(match))


def _take_bound(marked_text: MarkedText) -> Grouping | None:
    """Take "authors" and "more than ten commits" of "authors with more than ten commits"."""
    match = _BOUND.search(marked_text.text)
    if match is None:
        return None

    kinds = _take_group_and_measure(marked_text, match)
    return None if kinds is None else Grouping(*kinds, threshold=_read_threshold(match))


def _take_group_and_measure(marked_text: MarkedText, comparison: re.Match[str]) -> tuple[str, str] | None:
    """Take a comparison with the group before it and the measure behind it; return the kinds of both."""
    text = marked_text.text
    group = NOUN.search(text[: comparison.start()])

    # The comparison ends with white space, with which the measure begins.
    measure = _MEASURE.match(text, comparison.end() - 1)
    if group is None or measure is None:
        return None

    kinds = kind_of_noun(group), kind_of_noun(measure)
    if kinds[0] not in _GROUPS or kinds[1] not in _MEASURES:
        return None

    before_group, after_group = text[: group.start()], text[group.end() : comparison.start()]
    marks, after_measure = text[measure.start() : measure.start("noun")], text[measure.end() :]
    marked_text.text = f"{before_group}{GAP}{_kept_words(group)}{after_group}{GAP}{marks}{after_measure}"
    return kinds


def _is_fewest(superlative: re.Match[str]) -> bool:
    return superlative["top"].lower().startswith(("few", "least", "low"))


def _kept_words(group: re.Match[str]) -> str:
    """Return the words of a group that remain in the text: "headers", which as a group would mean all files.

    The answer then names them as a condition that wasn't applied.
    """
    if kind_of_noun(group) != "files" or re.fullmatch(r"files?", group[0], re.IGNORECASE) is not None:
        return ""

    return group[0] + GAP


def _read_threshold(bound: re.Match[str]) -> Threshold:
    """Return the bounds that a match of `_BOUND` says, both inclusive: "more than ten" is at least 11."""
    number = _NUMBERS.get(bound["number"].lower()) or int(bound["number"].replace(",", ""))
    comparison = bound["how"].lower()
    if comparison in {"more than", "over"}:
        return Threshold(minimum=number + 1)

    if comparison in {"at least", "no fewer than", "no less than"}:
        return Threshold(minimum=number)

    if comparison in {"fewer than", "less than", "under"}:
        return Threshold(maximum=number - 1)

    if comparison in {"exactly", "only", "just"}:
        return Threshold(minimum=number, maximum=number)

    # "At most", "up to", "no more than".
    return Threshold(maximum=number)
