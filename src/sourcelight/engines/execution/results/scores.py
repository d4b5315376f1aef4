"""Scores of files by their matches, and the order that follows; `ranking` says what counts for how much.

All functions take arrays with one entry for each match. Record batches and raw matches both have them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, UInt8Array
from sourcelight.engines.search.definition_lookup import DefinitionPositions
from sourcelight.engines.symbols import KINDS

BOTH_ENDS, ONE_END = 500.0, 50.0
"""Scores of a match that begins and ends where words do, and of one that only begins or only ends there."""

NAME, NAME_END, IN_NAME = 7000.0, 5500.0, 4000.0
"""Scores of a match in the name of a definition: the whole name, its start or end, or a part within."""

PHRASE = 20.0
NOVEL_SHARE = 0.9
"""Share of the third best score from which a file of another kind takes the third place."""

_STARS, _ORDER = 100.0, 10.0
"""Weights of the stars of a repository, and of the path of a file."""

KIND_SCORES = {
    "class": 10.0, "struct": 9.5, "enum": 9.0, "interface": 8.0, "type": 8.0, "function": 7.0, "method": 7.0,
    "field": 5.5, "constant": 5.0, "variable": 4.0,
}  # fmt: skip
_WEIGHTS = np.array([KIND_SCORES.get(kind, 1.0) for kind in KINDS])
_TEST = re.compile(r"(^|/)(tests?|testing|testdata|__tests__|spec|fixtures)/|(^|/)test_[^/]*$|[_.-](test|spec)\.\w+$")
"""Paths of tests."""

_VENDORED = re.compile(r"(^|/)(vendor|node_modules|third[_-]?party|external|deps)/")
"""Paths of code that others wrote."""

_GENERATED = re.compile(
    r"\.pb\.go$|_pb2(_grpc)?\.py$|\.min\.(js|css)$|\.(js|css)\.map$|[._]generated\.|zz_generated|"
    r"(^|/)(package-lock\.json|yarn\.lock|go\.sum|Cargo\.lock|poetry\.lock)$"
)
"""Paths of files that a program wrote."""

# A table of all byte values: one gather answers for every span of a batch. Bytes from 0x80 count as letters, since most
# text that isn't ASCII is words.
_WORD = np.zeros(257, dtype=np.bool_)
_WORD[np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", np.uint8)] = True
_WORD[0x80:256] = True
# File and offset share one integer, so that one `searchsorted` finds a position in all files. Offsets are below 4 GiB.
_FAR = 1 << 32


def word_scores(
    text: UInt8Array, line_start: Int64Array, line_end: Int64Array, start: Int64Array, end: Int64Array
) -> Float64Array:
    """Return the score of each match from the bytes before and after it; all bounds are bytes of the text."""

    def is_word(offsets: Int64Array) -> BoolArray:
        inside = (offsets >= line_start) & (offsets < line_end)
        return np.asarray(inside & _WORD[text[np.clip(offsets, 0, len(text) - 1)]])

    # A word boundary, as RE2's \b has it: one side is a word character and the other is not.
    at_start = is_word(start - 1) != is_word(start)
    at_end = is_word(end - 1) != is_word(end)
    return np.where(at_start & at_end, BOTH_ENDS, np.where(at_start | at_end, ONE_END, 1.0))


def name_scores(paths: Sequence[str], file: Int64Array, start: Int64Array, end: Int64Array) -> Float64Array:
    """Return the score of each path from the matches in it, in code points; `file` indexes `paths`."""
    score = np.zeros(len(paths), dtype=np.float64)
    base = np.array([path.rfind("/") + 1 for path in paths], dtype=np.int64)
    size = np.array([len(path) for path in paths], dtype=np.int64)
    at_start, at_end = start == base[file], end == size[file]
    within = start >= base[file]
    match_score = np.select(
        [at_start & at_end, (at_start | at_end) & within, within], [NAME, NAME_END, IN_NAME], ONE_END
    )
    np.maximum.at(score, file, match_score)
    return score


def definition_scores(
    definitions: DefinitionPositions, file_of: Int64Array, file: Int64Array, start: Int64Array, end: Int64Array
) -> Float64Array:
    """Return the score of each match from the name of a definition that it is in; 0 without one.

    Parameters
    ----------
    definitions
        Definitions of some files, at least one.
    file_of
        Number of the file of each definition.
    file, start, end
        Number of the file of each match, and its bytes in that file.
    """
    # By file, then by offset, as `searchsorted` below requires.
    order = np.lexsort((definitions.start, file_of))
    positions = file_of[order] * _FAR + definitions.start[order]

    # The last definition that begins before the end of the match. Names don't overlap, so it is the only candidate.
    last = np.searchsorted(positions, file * _FAR + end) - 1
    definition = order[np.maximum(last, 0)]
    is_in_name = (last >= 0) & (file_of[definition] == file) & (definitions.end[definition] > start)
    at_start, at_end = start == definitions.start[definition], end == definitions.end[definition]
    match_score = np.where(at_start & at_end, NAME, np.where(at_start | at_end, NAME_END, IN_NAME))
    scores: Float64Array = np.where(is_in_name, match_score + 100 * _WEIGHTS[definitions.kind[definition]], 0.0)
    return scores


def place_scores(stars: int, paths: Sequence[str]) -> Float64Array:
    """Return the part of each file's score that comes from the repository's stars and the path."""
    scores: Float64Array = _ORDER * np.array([_path_score(path) for path in paths], dtype=np.float64)
    return scores + _STARS * float(np.log10(1 + max(stars, 0))) / 6


@lru_cache(maxsize=1 << 16)
def _path_score(path: str) -> float:
    """Return the score of a path, from 0 to 1."""
    if _GENERATED.search(path):
        score = 0.0
    elif _VENDORED.search(path):
        score = 0.25
    elif _TEST.search(path):
        score = 0.5
    else:
        score = 0.9

    return score + 0.1 / (1 + len(path) - path.rfind("/") - 1)


def best_first(score: Float64Array, paths: Sequence[str]) -> Int64Array:
    """Return the files, which are in order of repositories and paths, from the best to the worst."""
    # Stable: equal scores keep their order.
    return _with_novelty(np.argsort(-score, kind="stable"), score, paths)


def _with_novelty(order: Int64Array, score: Float64Array, paths: Sequence[str]) -> Int64Array:
    """Move a file of a new kind to third place when it scores about as well as the file there."""
    if len(order) < 4:
        return order

    def ending(file_index: int) -> str:
        return paths[file_index].rpartition("/")[2].rpartition(".")[2]

    seen = {ending(int(order[0])), ending(int(order[1]))}
    third = int(order[2])
    if ending(third) not in seen:
        return order

    # Third place only, and only for an almost equal score: the two best stay, and a reader sees another kind of file.
    enough = score[third] * NOVEL_SHARE
    for position in range(3, len(order)):
        index = int(order[position])
        if score[index] < enough:
            break
        if ending(index) not in seen:
            return np.concatenate((order[:2], [index], order[2:position], order[position + 1 :]))

    return order
