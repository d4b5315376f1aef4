"""What is kept between and within calls is bounded by bytes of source, whatever is asked."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from sourcelight.engines.navigation import Navigator
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.parsed_file import is_time_spent, time_limit
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import make_repo

BODY = "def f():\n    return 1\n" * 200
ROOM = 5 * len(BODY)


@pytest.fixture
def navigator(tmp_path: Path) -> Navigator:
    """Forty files, and room for about five."""
    make_repo(tmp_path / "code" / "many", {f"f{number}.py": f"n = {number}\n{BODY}" for number in range(40)})
    catalog = Catalog.open(tmp_path / "code")
    store = IndexStore(str(tmp_path / "index"), workers=1)
    store.update([Target(repository, "", repository.info.commit) for repository in catalog.repositories])
    return Navigator(catalog, store, cache_bytes=ROOM)


def documents(navigator: Navigator) -> list[Document]:
    """All files."""
    project = navigator.workspace(Viewer.owner()).project(navigator.catalog.repositories[0].name)
    return list(project.documents((b".py",)))


def test_parsed_files_are_kept_up_to_so_many_bytes_of_source(navigator: Navigator) -> None:
    workspace = navigator.workspace(Viewer.owner())
    alive = []
    for document in documents(navigator):
        model = workspace.parsed_file(document)
        alive.append(weakref.ref(model))
        assert 0 < sum(entry.source_bytes for entry in navigator.parsed_files.values()) <= ROOM
    del model
    gc.collect()
    assert sum(item() is not None for item in alive) <= ROOM // len(BODY)
    assert alive[-1]() is not None


def test_the_file_asked_for_last_is_kept_although_it_is_larger_than_the_room(navigator: Navigator) -> None:
    navigator = Navigator(navigator.catalog, navigator.store, cache_bytes=10)
    workspace = navigator.workspace(Viewer.owner())
    first, second = documents(navigator)[:2]
    workspace.parsed_file(first)
    workspace.parsed_file(second)
    assert navigator.parsed_files.get((second.blob_id, "Python")) is not None
    assert navigator.parsed_files.get((first.blob_id, "Python")) is None


def test_what_a_call_remembers_goes_with_the_files_that_it_is_of(navigator: Navigator) -> None:
    workspace = navigator.workspace(Viewer.owner())
    files = documents(navigator)
    result: list[int] = []

    def make() -> object:
        result.append(len(result))
        return object()

    workspace.remember("key", make)
    workspace.remember("key", make)
    assert len(result) == 1
    for document in files:
        workspace.parsed_file(document)
    workspace.remember("key", make)
    assert len(result) == 2


def test_an_inner_limit_does_not_lengthen_the_outer_one() -> None:
    with time_limit(-1.0):
        with time_limit(60.0):
            assert is_time_spent()
        assert is_time_spent()
    with time_limit(60.0):
        with time_limit(-1.0):
            assert is_time_spent()
        assert not is_time_spent()
    assert not is_time_spent()
