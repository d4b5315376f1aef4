"""Weights of the rankings that are combined, and of kinds of files, by the length of the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import Float64Array
from sourcelight.engines.search.ranking.paths import KINDS
from sourcelight.engines.search.ranking.question import RankQuery

SHORT, LONG = 4, 10
"""Words up to which a question is short, and from which it is long."""

FEW, SENTENCE = 3, 7
"""Words up to which a question is a name or a topic, and from which one passage may have all of it: in between, the
best chunk of a file, its comments, and the votes of tests and commits count more and more."""


@dataclass(frozen=True, slots=True)
class ListWeights:
    """By how much each list counts, and each sort of file.

    Attributes
    ----------
    best, second, third, full_name
        A file's three best chunks, and the whole of it.
    exact, possible
        A definition that bears a name of the question, or its only word.
    names, names_long
        The name of the file, for short questions and for long ones.
    definition_names
        The name of a definition, for short questions; none for long ones.
    imported_short, imported_long
        How many files import the file, for short questions and for long ones.
    best_alone
        Weight of the best chunk, added to the sum over all words; by the length of the question.
    tested
        A test that is named after the file and matches the question, by its length: see `FEW`.
    subjects
        Commits that changed the file and whose subjects match the question, by its length as well.
    changes
        The subjects of all commits that changed the file, as one text, by the length of the question as well. The more
        of the question a comment has word for word, the less these two count.
    comments
        A comment that has words of the question one after another, by its length as well.
    file_short, file_long
        Weight of a file's score relative to a chunk's score, for short and for long questions.
    repeat_short, repeat_long
        Factor of each further chunk of a file.
    mentioned
        A file that the question names.
    test, test_requested, docs, docs_requested, config, vendored, changelog, aside
        Factors of kinds of files, for questions that ask for tests or documentation and for others.
    """

    best: float = 1.0
    second: float = 0.3
    third: float = 0.2
    full_name: float = 0.5
    exact: float = 0.3
    possible: float = 2.0
    names: float = 0.6
    names_long: float = 0.0
    definition_names: float = 0.4
    imported_short: float = 0.2
    imported_long: float = 0.1
    best_alone: float = 2.0
    tested: float = 0.15
    subjects: float = 0.35
    changes: float = 0.85
    comments: float = 1.5
    file_short: float = 1.5
    file_long: float = 0.6
    repeat_short: float = 0.5
    repeat_long: float = 1.0
    mentioned: float = 0.5
    test: float = 0.45
    test_requested: float = 0.9
    docs: float = 0.5
    docs_requested: float = 1.0
    config: float = 0.4
    vendored: float = 0.3
    changelog: float = 0.15
    aside: float = 0.8

    def of_kinds(self, question: RankQuery) -> Float64Array:
        """Return the factor of each of `paths.KINDS`."""
        test = self.test_requested if question.asks_tests else self.test
        docs = self.docs_requested if question.asks_docs else self.docs
        factors = {"code": 1.0, "test": test, "docs": docs, "config": self.config, "vendored": self.vendored}
        factors["aside"] = self.aside
        return np.array([factors.get(kind, self.changelog) for kind in KINDS])

    def of_length(self, words: int) -> LengthWeights:
        """Return the weights for a question of so many words.

        A short question is about a file; of a long one, such as a report of a bug, the best places count.
        """
        share = min(max((LONG - words) / (LONG - SHORT), 0.0), 1.0)
        sentence = min(max((words - FEW) / (SENTENCE - FEW), 0.0), 1.0)

        def between(long: float, short: float) -> float:
            return long + share * (short - long)

        return LengthWeights(
            file=between(self.file_long, self.file_short),
            repeat=between(self.repeat_long, self.repeat_short),
            names=between(self.names_long, self.names),
            definition_names=between(0.0, self.definition_names),
            imported=between(self.imported_long, self.imported_short),
            best_alone=self.best_alone * sentence,
            tested=self.tested * sentence,
            subjects=self.subjects * sentence,
            # Squared: the histories of many files have the few words of a topic.
            changes=self.changes * sentence * sentence,
            comments=self.comments * sentence,
        )


class LengthWeights(NamedTuple):
    """The weights that depend on the length of a question: see `ListWeights`."""

    file: float
    repeat: float
    names: float
    definition_names: float
    imported: float
    best_alone: float
    tested: float
    subjects: float
    changes: float
    comments: float
