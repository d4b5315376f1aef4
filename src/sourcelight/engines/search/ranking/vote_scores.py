"""Votes of tests: a test that a question matches says that the file it is named after answers it.

Names of tests are sentences about behavior, often in the words of a question, where the code has other words. Only the
best chunks vote, which are the same with a limit and without one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from sourcelight.core.arrays import Float64Array
from sourcelight.engines.search.ranking.bm25 import WordScores
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.paths import KINDS, path_words
from sourcelight.engines.search.scan.corpus import OpenedCommit

MIN_VOTE = 0.5
"""Share of the best chunk's score below which a chunk of a test doesn't vote, so that few files are looked at."""

MAX_TESTED = 6
"""Files beyond which the name of a test says nothing; its vote is shared between fewer."""

_AFFIX = re.compile(r"^tests?(?=[_.-])|(?<=[_.-])(?:tests?|spec)$|(?:Tests?|Spec|IT)$")
"""Marks of a test in the name of a file: `test_tank`, `tank_test`, `tank-spec`, `TankTest`, `TankIT`."""

_TEST = KINDS.index("test")
_CODE = frozenset({KINDS.index("code"), KINDS.index("aside")})


def vote_scores(collection: ChunkCollection, words: WordScores, top: float) -> Float64Array:
    """Score files by the best chunk of the test that is named after them, as a share of `top`, the best of all."""
    scores: Float64Array = np.zeros(collection.files)
    if top <= 0.0:
        return scores
    chunks = (words.chunks >= MIN_VOTE * top).nonzero()[0]
    files = collection.file_of.take(chunks)
    is_test = collection.kinds.take(files) == _TEST
    best: dict[int, float] = {}
    for file, value in zip(files[is_test].tolist(), words.chunks.take(chunks[is_test]).tolist(), strict=True):
        best[file] = max(value, best.get(file, 0.0))
    for file, value in best.items():
        number = collection.block_of_file(file)
        block = collection.blocks[number]
        tested = tested_files(collection.open_terms[block.target].snapshot)
        partners = tested.get(int(block.files[file - collection.file_base[number]]), ())
        # A test that several files may be named for says less about each.
        for partner in partners:
            scored_file = int(collection.file_numbers[block.target][partner])
            if scored_file >= 0:
                scores[scored_file] = max(float(scores[scored_file]), value / top / len(partners))
    return scores


def tested_files(snapshot: OpenedCommit) -> Mapping[int, Sequence[int]]:
    """Return the files of code that each test file is named after; both by their numbers in the view."""
    return snapshot.remember("tested files", lambda: _tested_files(snapshot))


def _tested_files(snapshot: OpenedCommit) -> Mapping[int, Sequence[int]]:
    view, kinds = snapshot.view, path_words(snapshot).kind.tolist()
    paths = bytes(view.path_text).decode("utf-8", "replace").split("\n")[1 : view.files + 1]
    code: dict[str, list[int]] = {}
    for file, path in enumerate(paths):
        if kinds[file] in _CODE:
            code.setdefault(_bare(_stem(path)), []).append(file)
    tested = {
        file: code.get(_bare(_AFFIX.sub("", _stem(path))), ())
        for file, path in enumerate(paths)
        if kinds[file] == _TEST
    }
    return {file: files for file, files in tested.items() if 0 < len(files) <= MAX_TESTED}


def _stem(path: str) -> str:
    """Return the name of a file up to its first dot."""
    return path.rpartition("/")[2].partition(".")[0]


def _bare(stem: str) -> str:
    # `RainTankTest` is named after `rain_tank`: languages and projects separate words in their own ways.
    return stem.replace("_", "").replace("-", "").lower()
