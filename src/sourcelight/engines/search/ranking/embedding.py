"""A list of scores from an embedder: how near the best chunks are to the question.

No embedder is a dependency: a caller passes a function that turns texts into vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sourcelight.core.arrays import Float64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ConfigurationError
from sourcelight.engines.search.ranking.model import ScoreRequest, Scores

Embedder: TypeAlias = Callable[[Sequence[str]], Any]
"""Returns a vector for each of some texts: an array of rows, or lists of numbers."""

MAX_TEXT_CHARACTERS = 2_000
"""Characters of a text that are embedded: models read a few hundred words."""


@dataclass(slots=True)
class EmbeddingScorer:
    """Scores the files of the best chunks by the cosine of chunk and question: 1 the nearest of them, 0 the farthest.

    Parameters
    ----------
    embedder
        Called once for each question, with the question and the best chunks, each below its path.
    name
        Names the list in explanations of a rank.
    weight
        Share of the list among all added lists; benchmarks/ranking.py compares weights.
    """

    embedder: Embedder
    name: str = "embedding"
    weight: float = 0.05

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return the scores of files, zero for those without a chunk among the best, or None for less than two chunks.

        Raises
        ------
        ConfigurationError
            When the embedder returns no row of finite numbers for each text.
        """
        if len(request.chunks) < 2:
            return None

        numbers = {(target.repository.key, target.commit): number for number, target in enumerate(request.targets)}
        texts, positions = [request.question.text], []
        for chunk in request.chunks:
            cancellation.check()
            number = numbers[chunk.target.repository.key, chunk.target.commit]
            snapshot = request.snapshots[number]
            lines = (snapshot.text_of(chunk.path) or b"").split(b"\n")[chunk.begin_line - 1 : chunk.end_line]
            text = b"\n".join(lines).decode("utf-8", "replace")
            texts.append(f"{chunk.path}\n{text}")
            positions.append((number, snapshot.view.file_number(chunk.path.encode())))

        near = _nearness(self.embedder, [text[:MAX_TEXT_CHARACTERS] for text in texts])
        scores = [np.zeros(snapshot.view.files) for snapshot in request.snapshots]
        for (number, file), value in zip(positions, near.tolist(), strict=True):
            if file is not None:
                scores[number][file] = max(scores[number][file], value)

        return scores


def _nearness(embedder: Embedder, texts: Sequence[str]) -> Float64Array:
    """Return how near each text is to the first one, from 0 to 1."""
    vectors = np.asarray(embedder(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ConfigurationError(
            f"the embedder returned an array of the shape {vectors.shape} for {len(texts)} texts; it must return a "
            "row of finite numbers for each"
        )

    lengths = np.linalg.norm(vectors, axis=1)
    cosines = (vectors[1:] @ vectors[0]) / np.maximum(lengths[1:] * lengths[0], np.finfo(np.float64).tiny)
    spread = float(np.ptp(cosines))
    nearness: Float64Array = (cosines - cosines.min()) / spread if spread else np.zeros(len(cosines))
    return nearness
