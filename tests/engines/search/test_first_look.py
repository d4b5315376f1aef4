"""A first look at a commit tells a large one from a small one, as the list of all its files would."""

from __future__ import annotations

import pytest

from sourcelight.engines.search.updates import has_more_blobs
from sourcelight.repos import Catalog, ObjectReader
from sourcelight.testing.repositories import RepositoryBuilder


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ObjectReader:
    folder = tmp_path_factory.mktemp("look")
    files = {f"d{number % 5}/e{number % 3}/{number}.txt": f"{number // 2}\n" for number in range(60)}
    RepositoryBuilder(folder).commit(files | {"top.txt": "top\n"}, "start")
    return ObjectReader(Catalog.open([folder]).repositories[0])


@pytest.mark.parametrize("limit", [25, 29, 30, 31, 32, 100])
def test_it_counts_distinct_contents(reader: ObjectReader, limit: int) -> None:
    commit = reader.repository.info.commit
    data = reader.tree(commit).blob_ids
    distinct = {data[start : start + 20] for start in range(0, len(data), 20)}
    assert len(distinct) == 31
    assert has_more_blobs(reader, commit, limit) == (len(distinct) > limit)


def test_it_ends_after_as_many_directories(reader: ObjectReader) -> None:
    # The commit has 21 directories: what isn't seen in a few is left to the list of all files.
    assert not has_more_blobs(reader, reader.repository.info.commit, 4)
