"""Rankings of parts of the files made one of all: nobody to exchange numbers with, and the parts put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.search.ranking.bm25 import idf_of
from sourcelight.engines.search.ranking.model import Exchange, RankedChunk, RankedFile, Ranking, Share
from sourcelight.engines.search.ranking.question import Question

COVERING = 8
"""Best chunks that say how much of a question they contain."""


@dataclass(frozen=True, slots=True)
class Alone:
    """There are no other parts."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """The numbers themselves."""
        return list(numbers)

    def most(self, numbers: Sequence[float]) -> list[float]:
        """The numbers themselves."""
        return list(numbers)


ALONE: Exchange = Alone()


def coverage(question: Question, idf: Mapping[str, float], chunks: int, held: frozenset[str]) -> float:
    """Share of the question's weight that the best of so many chunks hold; `held` are the terms in these."""
    absent = idf_of(chunks, 0)
    whole = found = 0.0
    required = question.terms.keys() - question.optional
    for term, weight in question.terms.items():
        if term not in required and (required or term not in idf):
            continue
        mass = weight * idf.get(term, absent)
        whole += mass
        if term in held:
            found += mass
    return found / whole if whole else 0.0


def joined(
    question: Question, parts: Sequence[Ranking], files: int | None, per_file: int | None
) -> tuple[Ranking, list[tuple[int, int]]]:
    """Put rankings of parts together, whose numbers were exchanged.

    Parameters
    ----------
    question
        What was asked.
    parts
        Each with its `share`, and within the same limits.
    files, per_file
        Most files, and most chunks of each; None: no limit.

    Returns
    -------
    Ranking, list of (int, int)
        The ranking of all, and for each of its chunks the part that it came from and its place there.
    """
    entries = [
        ((-score, *_name(chunk)), part, place)
        for part, ranking in enumerate(parts)
        for place, (chunk, score) in enumerate(zip(ranking.chunks, _shared(ranking).chunk_scores, strict=True))
    ]
    entries.sort()  # of one file, chunks of equal scores stand in their order already
    chosen: list[tuple[int, int]] = []
    taken: dict[tuple[int, int], int] = {}
    for _, part, place in entries:
        file = part, parts[part].chunks[place].file
        if files is not None and file not in taken and len(taken) >= files:
            continue
        if per_file is not None and taken.get(file, 0) >= per_file:
            continue
        taken[file] = taken.get(file, 0) + 1
        chosen.append((part, place))

    def by_score(file: tuple[int, int]) -> tuple[float, tuple[str, str, str]]:
        ranking = parts[file[0]]
        return -_shared(ranking).file_scores[file[1]], _name(ranking.files[file[1]])

    ordered = sorted(taken, key=by_score)
    places = {file: at for at, file in enumerate(ordered)}
    chunks = []
    for part, place in chosen:
        chunk = parts[part].chunks[place]
        chunks.append(replace(chunk, file=places[part, chunk.file]))
    idf = dict(parts[0].idf) if parts else {}
    best = sorted(one for ranking in parts for one in _shared(ranking).best)
    held = frozenset(term for *_, terms in best[:COVERING] for term in terms)
    searched = sum(ranking.searched_chunks for ranking in parts)
    missing = [question.shown[t] for t in question.terms if t not in idf and t not in question.optional]
    whole = Ranking(
        question,
        tuple(chunks),
        tuple(parts[part].files[file] for part, file in ordered),
        sum(ranking.matched_files for ranking in parts),
        sum(ranking.matched_chunks for ranking in parts),
        sum(ranking.searched_files for ranking in parts),
        coverage(question, idf, searched, held) if searched else 0.0,
        tuple(dict.fromkeys(missing)),
        {name: why for ranking in parts for name, why in ranking.failed.items()},
        idf,
        searched,
    )
    return whole, chosen


def _shared(ranking: Ranking) -> Share:
    return ranking.share or Share()


def _name(one: RankedChunk | RankedFile) -> tuple[str, str, str]:
    return one.target.repository.name, one.target.revision, one.path
