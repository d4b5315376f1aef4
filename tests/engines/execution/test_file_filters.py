"""Each filter on files decides in every kind of search: none may ignore one that another takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sourcelight as sl
from sourcelight.client import Client
from sourcelight.core.query.fields import FILE_FIELDS
from sourcelight.testing import make_repo

EXAMPLES = {"file": (r"file:\.py$", r"file:\.go$"), "lang": ("lang:python", "lang:go")}
"""For each filter on files, one that passes ``tide.py`` alone, and one that passes ``tide.go`` alone."""

SEARCHES = {
    "file": "type:file tide",
    "path": "type:path tide",
    "symbol": "type:symbol tide",
    "diff": "type:diff tide",
}


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("repositories")
    make_repo(folder / "coast", {"tide.py": "def tide():\n    return 1\n", "tide.go": "package a\n\nfunc tide() {}\n"})
    with sl.open(folder) as client:
        yield client


def test_each_filter_on_files_has_an_example() -> None:
    assert set(EXAMPLES) == set(FILE_FIELDS)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("name", FILE_FIELDS)
def test_a_search_takes_it(code: Client, name: str, kind: str) -> None:
    query, example = SEARCHES[kind], EXAMPLES[name][0]

    def paths(text: str) -> set[str]:
        return set(code.search(text, progress=False).matches["path"].dropna())

    assert paths(query) == {"tide.py", "tide.go"}
    assert paths(f"{query} {example}") == {"tide.py"}
    assert paths(f"{query} -{example}") == {"tide.go"}


@pytest.mark.parametrize("name", FILE_FIELDS)
def test_ranked_search_takes_it(code: Client, name: str) -> None:
    assert set(code.nls_search("tide return")["path"]) == {"tide.py", "tide.go"}
    assert set(code.nls_search(f"tide return {EXAMPLES[name][0]}")["path"]) == {"tide.py"}


@pytest.mark.parametrize("name", FILE_FIELDS)
def test_commits_take_it(code: Client, name: str) -> None:
    python, go = EXAMPLES[name]
    assert len(code.search(f"type:commit {python}", progress=False).matches) == 1
    assert len(code.search(f"type:commit -{python} -{go}", progress=False).matches) == 0
