"""The names of the best files of a ranking, and whether the first one is named for what a question describes.

A file is named for a place if its name has a word of the description, and no other of the best files has one that the
path of the first lacks: `sorters.lua` isn't where the fzy algorithm is while there is `fzy.lua`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.query.file_kinds import is_type_stub
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.lookups.described_places.concepts import (
    Description,
    split_joined,
    words_of_file,
    words_of_name,
)
from sourcelight.engines.search.ranking import RankedFile, Ranking

_MAX_FILES = 8
"""Best files whose names are compared."""
_USUAL_SHARE = 0.2
"""The share of a question's weight that the name of a file usually has."""
_MIN_LEAD, _MIN_LEAD_OF_FEW, _MIN_LEAD_OF_LONG_NAME = 0.02, 0.2, 0.3
"""The lead of the file in the ranking: usually, with less than the usual share, and if its name has other words, too.

Of 559 questions for places whose files are known, 129 have such a file, and it is right in all of them.
"""
_MAX_SCORE_OF_SAME, _MAX_SCORE_OF_FURTHER = 0.5, 0.35
"""The score of a file, as a share of the best one, up to which its name doesn't matter: one with the same words of the
question, or with a further one."""
_MIN_SCORE, _MIN_SCORE_OF_UNNAMED, _MIN_LEAD_OF_SHARE = 0.6, 0.7, 0.2
"""The share of the best score that a file needs to come first for its name, also if the best file's name has no word of
the question, and the lead in the weight of the question's words.

Of 559 questions, the file that comes first is another one for 56: right for 24 of them, and for 12 without this.
"""
_MIN_SCORE_OF_IMPLEMENTATION = 0.8
_DECLARATION, _IMPLEMENTATION = (
    re.compile(r"(?:\.(?:h|hh|hpp|hxx|mli)|_intf\.ml)$"),
    re.compile(r"(?:\.(?:c|cc|cpp|cxx|m|mm)|(?<!_intf)\.ml)$"),
)
_KINDS_OF_CODE = frozenset({"code", "config"})
NEGATED = re.compile(r"\b(?:not|instead of|without|(?:other|rather) than|besides|except|unlike|like)\b", re.IGNORECASE)
"""Words behind which a question says what the place isn't."""
_CLAUSE = re.compile(r"\b(?:which|whose|when|if|while|before|after|once|unless|because|so)\b", re.IGNORECASE)
"""The beginning of a clause: a word in it is seldom the one that a file is named for.

"The middleware that recovers from panics" says in its clause what it is.
"""


@dataclass(frozen=True, slots=True)
class RankedName:
    """A file of a ranking, and the words of a description in its path.

    Attributes
    ----------
    file
        The file.
    in_name, in_folder
        Concepts of the description in its name, and in the directories above it.
    extra
        Words of its name that the description lacks.
    share
        The share of the description's weight in its name.
    """

    file: RankedFile
    in_name: frozenset[int]
    in_folder: frozenset[int]
    extra: int
    share: float

    def rivals(self, first: RankedName) -> bool:
        """Return whether its name has the words of the best file's or a further one, and its text is about as good."""
        score = self.file.score / first.file.score
        # `builtin.jq` beside `builtin.c`: the ending alone tells them apart, which is no word of a question.
        is_twin = _stem_of(self.file.path) == _stem_of(first.file.path)
        has_same = (is_twin or score > _MAX_SCORE_OF_SAME) and first.in_name <= self.in_name
        return has_same or (score > _MAX_SCORE_OF_FURTHER and self.adds_to(first))

    def adds_to(self, other: RankedName) -> bool:
        """Return whether its name has a concept that the path of another file lacks."""
        return bool(self.in_name - other.in_name - other.in_folder)


def answering_files(ranking: Ranking) -> list[RankedFile]:
    """Return the files that may be a place, best first: no tests, examples, documents or declarations."""
    files = [file for file in ranking.files if file.kind in _KINDS_OF_CODE and is_answer(file.path)]
    return [file for file in files if not any(_implements(other, file) for other in files[:_MAX_FILES])]


def _implements(file: RankedFile, declaration: RankedFile) -> bool:
    """Return whether a file has what a header or an interface with its name declares, and is nearly as good."""
    is_pair = _DECLARATION.search(declaration.path) is not None and _IMPLEMENTATION.search(file.path) is not None
    has_same_name = _stem_of(file.path) == _stem_of(declaration.path) and file.target == declaration.target
    return is_pair and has_same_name and file.score >= _MIN_SCORE_OF_IMPLEMENTATION * declaration.score


def _stem_of(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].removesuffix("_intf")


def is_answer(path: str) -> bool:
    """Return whether a file may be the place: not a test, an example, or declarations of what another file has."""
    return rank_of(path).is_of_project and not is_type_stub(path)


def read_names(
    files: Sequence[RankedFile], description: Description, weights: Sequence[float], common: frozenset[str]
) -> list[RankedName]:
    """Read the names of the best files; words in `common`, such as that of the repository, say nothing in them."""
    names, parts = [], description.parts
    for file in files[:_MAX_FILES]:
        words = split_joined(words_of_file(file.path), parts)
        in_name = description.coverage(words, weak=False)
        in_folder = description.coverage(words_of_name(file.path.rpartition("/")[0]), weak=False)
        extra = description.extra_words([word for word in words if word not in common])
        share = sum(weights[index] for index in in_name) / sum(weights)
        names.append(RankedName(file, in_name, in_folder, extra, share))
    return names


def is_named(names: Sequence[RankedName], lead: float, text: str, description: Description) -> bool:
    """Return whether the first of some files is named for what a question describes, and no other one is.

    Parameters
    ----------
    names
        The best files, best first.
    lead
        The lead of the first over the second, as a share of its score.
    text
        The words of the question that describe the place.
    description
        What they say.
    """
    if NEGATED.search(text) is not None:
        return False
    first = names[0]
    is_rivaled = any(other.rivals(first) for other in names[1:])
    head = _CLAUSE.split(text)[0].lower()
    is_in_head = any(description.concepts[index].word in head for index in first.in_name)
    least = _MIN_LEAD if first.share >= _USUAL_SHARE else _MIN_LEAD_OF_FEW
    least = _MIN_LEAD_OF_LONG_NAME if first.extra else least
    return is_in_head and lead >= least and not is_rivaled


def first_by_name(names: Sequence[RankedName]) -> RankedFile | None:
    """Return the file that is named for a place, with no other word, and nearly the best; None for the first itself."""
    if not names or names[0].file.score <= 0.0:
        return None
    first = names[0]
    for name in names[1:]:
        score = name.file.score / first.file.score
        leads = score >= _MIN_SCORE and name.share > first.share + _MIN_LEAD_OF_SHARE
        is_alone = score >= _MIN_SCORE_OF_UNNAMED and not first.in_name and name.adds_to(first)
        if not name.extra and (leads or is_alone):
            return name.file
    return None
