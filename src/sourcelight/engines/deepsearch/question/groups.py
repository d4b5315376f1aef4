"""Read the groups of a count: superlatives, "per author", and bounds such as "more than ten commits"."""

from __future__ import annotations

import re
from typing import Any

from sourcelight.engines.deepsearch.question.marks import MarkedText
from sourcelight.engines.deepsearch.question.request import Threshold
from sourcelight.engines.deepsearch.question.vocabulary import NOUN, kind_of_noun

_SUPERLATIVE = re.compile(
    r"\b(?:(?P<top>most|highest number of|largest number of|greatest number of|fewest|least|lowest number of)\s+)",
    re.IGNORECASE,
)
_PER = re.compile(
    r"\b(?:per|by|(?:for|in|of|from) each|(?:grouped|broken down|split) by)\s+"
    r"(?P<noun>authors?|contributors?|developers?|person"
    r"|repository|repo|files?|languages?|folders?|director(?:y|ies)|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_SIZES = "largest|longest|biggest|smallest|shortest"
_BY_SIZE = re.compile(
    rf"\b(?:the\s+)?(?P<before>{_SIZES})\s+(?=(?:⟨G\d+⟩\s+)?(?:source\s+)?files?\b)"
    rf"|\b(?:is|are)\s+(?:the\s+)?(?P<size>{_SIZES})\b(?=[\W·]*$)",
    re.IGNORECASE,
)
_OFTEN_CHANGED = re.compile(
    r"\b(?:the\s+)?most\s+(?:frequently\s+|often\s+)?(?:changed|modified|edited|touched)\s+(?=(?:files?|folders?|director(?:y|ies))\b)"
    r"|\b(?:(?:was|were|is|are|has|have|been|get|gets)\s+)*(?:changed|changes?|modified|edited|touched)\s+(?:the\s+)?most"
    r"(?:\s+(?:often|frequently))?\b",
    re.IGNORECASE,
)
_MAX_HOLDING = re.compile(
    r"\b(?:the\s+)?(?P<top>most|least|fewest)(?:\s+(?:often|frequently|times))?(?=[\W·]*$)", re.IGNORECASE
)
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
_GROUPS = {"authors", "files", "repositories", "folders", "languages"}
_MEASURES = {"commits", "lines", "files", "occurrences", "authors", "merges"}


def take_group(marked_text: MarkedText, *, is_list: bool) -> dict[str, Any]:
    """Take the group of a count, and whether the question asks for the largest group."""
    fields: dict[str, Any] = {}
    if is_list and _MAX_HOLDING.search(marked_text.text) is not None:
        group = NOUN.match(marked_text.text, len(marked_text.text) - len(marked_text.text.lstrip(" ·")))
        if group is not None and kind_of_noun(group) in {"files", "repositories"}:
            few = marked_text.remove(_MAX_HOLDING)
            marked_text.text = f" · {_kept_group_words(group)}{marked_text.text[group.end() :]}"
            is_fewest = few is not None and few["top"].lower() != "most"
            return {"is_top": True, "is_fewest": is_fewest, "group": kind_of_noun(group), "kind": "occurrences"}

    if is_list and (match := marked_text.remove(_BY_SIZE)) is not None:
        small = (match["size"] or match["before"] or "").lower() in {"smallest", "shortest"}
        marked_text.remove(r"\b(?:source\s+)?files?\b")
        return {"is_top": True, "is_fewest": small, "group": "files", "kind": "lines"}

    if is_list and marked_text.remove(_OFTEN_CHANGED) is not None:
        folders = marked_text.remove(r"\b(?:top\s+|sub)?(?:folders?|director(?:y|ies))\b")
        marked_text.remove(r"\b(?:source\s+)?files?\b")
        return {"is_top": True, "group": "files" if folders is None else "folders", "kind": "commits"}

    if (match := marked_text.remove(_PER)) is not None:
        word = match["noun"].lower().rstrip("s")
        noun = NOUN.fullmatch(word)
        return {"group": f"{word}s" if noun is None else kind_of_noun(noun)}

    return fields | _take_comparison(marked_text, is_list=is_list)


def _take_comparison(marked_text: MarkedText, *, is_list: bool) -> dict[str, Any]:
    """Take "which author has the most commits" and "authors with more than ten commits"."""
    fields: dict[str, Any] = {}
    for pattern in (_SUPERLATIVE, _BOUND):
        match = pattern.search(marked_text.text)
        if match is None:
            continue

        noun = re.compile(rf"\s*(?:⟨[GN]\d+⟩\s*)?(?P<noun>{NOUN.pattern})", re.IGNORECASE).match(
            marked_text.text, match.end() - 1
        )
        group = NOUN.search(marked_text.text[: match.start()])
        if noun is None or group is None:
            continue

        measure, group_kind = kind_of_noun(noun), kind_of_noun(group)
        if measure not in _MEASURES or group_kind not in _GROUPS:
            continue

        if pattern is _SUPERLATIVE:
            if not is_list:
                continue
            fields |= {"is_top": True, "is_fewest": match["top"].lower().startswith(("few", "least", "low"))}
        else:
            fields["threshold"] = _read_threshold(match)

        marks_before = marked_text.text[noun.start() : noun.start("noun")]
        marked_text.text = (
            marked_text.text[: group.start()]
            + f" · {_kept_group_words(group)}"
            + marked_text.text[group.end() : match.start()]
            + " · "
            + marks_before
            + marked_text.text[noun.end() :]
        )
        return fields | {"group": group_kind, "kind": measure}

    return fields


def _kept_group_words(group: re.Match[str]) -> str:
    """Keep "headers" in the text, so that it is named: as a group it would mean all files."""
    is_plain = kind_of_noun(group) != "files" or re.fullmatch(r"files?", group[0], re.IGNORECASE) is not None
    return "" if is_plain else f"{group[0]} · "


def _read_threshold(match: re.Match[str]) -> Threshold:
    number = _NUMBERS.get(match["number"].lower()) or int(match["number"].replace(",", ""))
    comparison = match["how"].lower()
    if comparison in {"more than", "over"}:
        return Threshold(number + 1)
    if comparison in {"fewer than", "less than", "under"}:
        return Threshold(None, number - 1)
    if comparison in {"exactly", "only", "just"}:
        return Threshold(number, number)

    return Threshold(number) if comparison in {"at least", "no fewer than", "no less than"} else Threshold(None, number)
