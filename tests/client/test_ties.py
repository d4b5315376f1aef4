"""Rows with equal numbers are in one order, whatever read them first and however many services answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

ZOE, ANN, BO = "Zoe <zoe@example.com>", "Ann <ann@example.com>", "Bo <bo@example.com>"
TEXT = "one\ntwo\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    # Zoe comes first in one of them, and last in the other.
    for name, authors in (("alpha", (ZOE, BO, ANN)), ("beta", (ANN, BO, ZOE))):
        repository = RepositoryBuilder(root / name, origin=f"https://example.org/{name}.git")
        for index, author in enumerate(authors):
            repository.commit({f"{folder}/{index}.txt": TEXT for folder in "zy"} | {"all.txt": TEXT * (index + 1)},
                              author=author)  # fmt: skip
    return root


@pytest.fixture(scope="module")
def clients(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sl.Client, sl.Client]]:
    with ExitStack() as stack:
        index = tmp_path_factory.mktemp("index")
        everything = stack.enter_context(sl.open(folder, index_dir=index / "whole"))
        parts = {
            name: stack.enter_context(sl.open(folder / name, index_dir=index / name)) for name in ("beta", "alpha")
        }
        yield everything, stack.enter_context(sl.federate(parts))


NAMED = ["example.org/beta", "example.org/alpha"]


@pytest.mark.parametrize("index", [0, 1], ids=["one", "federation"])
def test_files_with_equal_heat_are_in_the_order_of_their_names(
    clients: tuple[sl.Client, sl.Client], index: int
) -> None:
    for repos in (NAMED, NAMED[::-1]):
        rows = clients[index].hotspots(repos)
        keys = list(zip(-rows["score"], rows["repository"], rows["path"], strict=True))
        assert keys == sorted(keys)
        assert len(keys) == 14
        displayed = clients[index].hotspots(repos, limit=5)
        assert list(displayed["path"]) == list(rows["path"][:5])


@pytest.mark.parametrize("index", [0, 1], ids=["one", "federation"])
def test_pairs_with_equal_strength_are_in_the_order_of_their_names(
    clients: tuple[sl.Client, sl.Client], index: int
) -> None:
    rows = clients[index].coupling(NAMED, min_commits=1, min_degree=0.0)
    strength = -rows["shared_commits"] * rows["degree"]
    keys = list(zip(strength, rows["repository"], rows["path"], rows["other_path"], strict=True))
    assert keys == sorted(keys)


@pytest.mark.parametrize("index", [0, 1], ids=["one", "federation"])
def test_authors_of_a_repository_with_equal_counts_are_in_the_order_of_their_names(
    clients: tuple[sl.Client, sl.Client], index: int
) -> None:
    rows = clients[index].get_contributor_repos("example.com")
    assert list(rows["repository"]) == sorted(NAMED)
    assert [list(who) for who in rows["authors"]] == [[ANN, BO, ZOE]] * 2


@pytest.mark.parametrize("name", NAMED)
def test_owners_of_equally_many_lines_are_in_the_order_of_their_names(
    clients: tuple[sl.Client, sl.Client], name: str
) -> None:
    code = clients[0]
    rows = code.ownership(name, by="total")
    assert list(rows["author"]) == ["Ann", "Bo", "Zoe"]
    owners = code.bus_factor(name).set_index("path")["owners"]
    assert list(owners["/"]) == [ANN, BO]
    assert list(owners["y/"]) == [ANN, BO]
    assert list(owners.index) == ["/", "/*", "y/", "z/"]
