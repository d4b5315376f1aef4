"""A list of scores from an embedder that a caller passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import sourcelight as sl
from sourcelight.engines.search.ranking.embedding import Embedder
from sourcelight.testing import RepositoryBuilder

BODY = "\n".join(f"    cache.step({number})" for number in range(6))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("code") / "shop")
    repo.commit({f"app/{name}.py": f"def {name}(cache):\n{BODY}\n" for name in ("alpha", "beta", "gamma")})
    return repo.path


def near(word: str, seen: list[Sequence[str]]) -> Embedder:
    """An embedder for which only texts with a word are near a question."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        seen.append(texts)
        return [[1.0, 0.0] if not number or word in text else [0.0, 1.0] for number, text in enumerate(texts)]

    return embed


def test_an_embedder_decides_between_pieces_that_words_find_equal(folder: Path, tmp_path: Path) -> None:
    """It is asked once, for the question and the best pieces below their paths."""
    seen: list[Sequence[str]] = []
    first = {}
    for word in ("beta", "gamma"):
        with sl.open(folder, index_dir=tmp_path, embedder=near(word, seen), progress=False) as code:
            first[word] = code.nls_search("steps of the cache").iloc[0]["path"]
    assert first == {"beta": "app/beta.py", "gamma": "app/gamma.py"}
    question, *texts = seen[0]
    assert question == "steps of the cache"
    assert sorted(text.partition("\n")[0] for text in texts) == ["app/alpha.py", "app/beta.py", "app/gamma.py"]
    assert len(seen) == 2


@pytest.mark.parametrize("answer", [np.zeros(3), np.zeros((1, 3)), np.full((4, 2), np.nan)])
def test_an_embedder_that_returns_no_rows_is_a_clear_error(folder: Path, tmp_path: Path, answer: object) -> None:
    with (
        sl.open(folder, index_dir=tmp_path, embedder=lambda _: answer, progress=False) as code,
        pytest.raises(sl.ConfigurationError, match="a row of finite numbers for each"),
    ):
        code.nls_search("steps of the cache")
