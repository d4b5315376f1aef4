"""Letters that equal k and s when case is ignored, in sets and beside each other: the index leaves no match out."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import re2

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, IndexStore, SearchOptions, Target, TextQuery
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

LETTERS = ("s", "S", "\u017f", "k", "\u212a", "_")
TEXTS = ["".join(letters) for letters in itertools.product(LETTERS, repeat=3)]
SETS = (
    "[\u017f_]",
    "[\u017fs]",
    "\u017f",
    "s",
    "[\u212a_]",
    "[\u212a\u017f]",
    "[s_]",
    "(\u017f|_)",
    "(?i:s)",
    "(?i:\u017f_)",
    "[^a-zA-Z]",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexStore, tuple[Target, ...]]:
    """A file for each text, so that posting lists tell them apart."""
    folder: Path = tmp_path_factory.mktemp("twins")
    builder = RepositoryBuilder(folder / "one")
    builder.commit({f"{number}.txt": f"ma{text}tu\n{'filling ' * 2500}\n" for number, text in enumerate(TEXTS)})
    store = IndexStore(str(folder / "index"), workers=1)
    targets = tuple(Target(repository) for repository in Catalog.open([str(builder.path)]).repositories)
    store.update(targets)
    return store, targets


@pytest.mark.parametrize("case_sensitive", [True, False])
@pytest.mark.parametrize("first", SETS)
def test_a_set_with_a_twin_finds_what_re2_finds(
    index: tuple[IndexStore, tuple[Target, ...]], first: str, *, case_sensitive: bool
) -> None:
    store, targets = index
    for second in SETS:
        source = f"ma{first}{second}"
        pattern = compile_pattern(source, kind="regexp", case_sensitive=case_sensitive)
        parts = store.search(targets, TextQuery(FileTerm(pattern)), SearchOptions(), Cancellation())
        paths = {row["path"] for part in parts for batch in part.batches for row in batch.to_pylist()}
        truth = re2.compile(source if case_sensitive else f"(?i){source}")
        assert paths == {f"{i}.txt" for i, text in enumerate(TEXTS) if truth.search(f"ma{text}tu")}, source
