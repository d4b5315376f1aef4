"""Votes of tests: a test that matches a question votes for the file that it is named after.

Names of tests are sentences about behavior, often in the words of a question, where the code has other words. The name
of the file says which code the test is about:

    test_tank.py, tank_test.go, tank-spec.ts    tank.py, tank.go, tank.ts
    RainTankTest.java, RainTankIT.java          RainTank.java, rain_tank.py

Only the best chunks vote, which are the same with a limit and without one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sourcelight.core.arrays import Float64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, run_starts
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.paths import KINDS, path_words
from sourcelight.engines.search.scan.opened_commit import OpenedCommit

MIN_VOTE = 0.5
"""Share of the best chunk's score below which a chunk of a test doesn't vote, so that few files are looked at."""

MAX_TESTED = 6
"""Maximum files that share the vote of a test's name. A name that more files have, such as `index`, says too little."""

_TEST = KINDS.index("test")
_CODE = frozenset({KINDS.index("code"), KINDS.index("aside")})

_AFFIX = re.compile(r"^tests?(?=[_.-])|(?<=[_.-])(?:tests?|spec)$|(?:Tests?|Spec|IT)$")
"""Marks of a test in the name of a file: `test_tank`, `tank_test`, `tank-spec`, `TankTest`, `TankIT`."""


def scores_of_tests(collection: ChunkCollection, words: WordScores, top: float) -> Float64Array:
    """Score files by the best chunk of the test named after them, as a fraction of `top`, the best score."""
    scores: Float64Array = np.zeros(collection.files)
    if top <= 0.0:
        return scores

    for test_file, test_score in _matching_tests(collection, words, MIN_VOTE * top).items():
        target, view_file = collection.view_file(test_file)
        snapshot = collection.open_terms[target].snapshot
        tested = tested_files(snapshot).get(view_file, ())
        for tested_file in tested:
            file = int(collection.file_numbers[target][tested_file])
            # -1: the collection leaves this file out.
            if file >= 0:
                # A test named for several files is weaker evidence for each.
                vote = test_score / top / len(tested)
                scores[file] = max(float(scores[file]), vote)

    return scores


def tested_files(snapshot: OpenedCommit) -> Mapping[int, Sequence[int]]:
    """Return the files of code that each test file is named after; both by their numbers in the view."""
    return snapshot.remember("tested files", lambda: _find_tested_files(snapshot))


def _matching_tests(collection: ChunkCollection, words: WordScores, min_score: float) -> Mapping[int, float]:
    """Return the files of tests with a chunk of at least `min_score`, each with the score of its best chunk."""
    chunks = (words.chunks >= min_score).nonzero()[0]
    files = collection.file_of.take(chunks)
    is_test = collection.kinds.take(files) == _TEST
    chunks = chunks[is_test]
    files = files[is_test]
    if not len(files):
        return {}

    # Chunks are numbered file by file, so each file is one run.
    starts = run_starts(files)
    best_scores = np.maximum.reduceat(words.chunks.take(chunks), starts)
    return dict(zip(files.take(starts).tolist(), best_scores.tolist(), strict=True))


def _find_tested_files(snapshot: OpenedCommit) -> Mapping[int, Sequence[int]]:
    kinds = path_words(snapshot).kind.tolist()
    stems = [_stem(path) for path in snapshot.view.path_texts()]

    code_files: defaultdict[str, list[int]] = defaultdict(list)
    for file, stem in enumerate(stems):
        if kinds[file] in _CODE:
            code_files[_join_words(stem)].append(file)

    tested: dict[int, Sequence[int]] = {}
    for file, stem in enumerate(stems):
        if kinds[file] == _TEST:
            files = code_files.get(_join_words(_AFFIX.sub("", stem)), ())
            if 0 < len(files) <= MAX_TESTED:
                tested[file] = files

    return tested


def _stem(path: str) -> str:
    """Return the name of a file up to its first dot."""
    name = path.rpartition("/")[2]
    return name.partition(".")[0]


def _join_words(stem: str) -> str:
    """Return a name without what separates its words."""
    # `RainTankTest` is named after `rain_tank`: languages and projects separate words in their own ways.
    return stem.replace("_", "").replace("-", "").lower()
