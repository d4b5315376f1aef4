"""Files in Git LFS: git has a pointer of three lines, and a search says how many of its files are pointers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.testing import RepositoryBuilder


def pointer(content: bytes) -> str:
    """Return the pointer that git has for a content."""
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


FILES = {
    "assets/.gitattributes": "*.csv filter=lfs diff=lfs merge=lfs -text\n",
    "assets/a.csv": pointer(b"needle,1\n" * 100_000),
    "assets/b.csv": pointer(b""),
    "assets/plain.csv": "needle,2\n" * 14,
    "docs/lfs.md": f"needle\n\n{pointer(b'x')}",
    "src/main.py": "needle = 1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    RepositoryBuilder(tmp_path / "src" / "data").commit(FILES)
    # The same text without attributes is no pointer for git either.
    RepositoryBuilder(tmp_path / "src" / "notes").commit({"pointer.txt": pointer(b"y"), "note.txt": "needle\n"})
    return tmp_path / "src"


@pytest.fixture
def code(folder: Path, tmp_path: Path) -> Iterator[sl.Client]:
    with closing(open_engine([folder], index=tmp_path / "index")) as engine:
        engine.refresh(Cancellation())
    with sl.open(folder, index_dir=tmp_path / "index") as client:
        yield client


def titles(result: sl.SearchResult) -> list[str]:
    return list(result.skipped.loc[result.skipped["reason"] == "document-lfs", "title"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("needle", ["2 files in Git LFS"]),
        ("needle file:a.csv", ["1 file in Git LFS"]),
        ("needle file:src", []),
        ("needle repo:notes", []),
        ("needle lang:csv", ["2 files in Git LFS"]),
    ],
)
def test_a_search_counts_the_pointers_of_its_files(code: sl.Client, query: str, expected: list[str]) -> None:
    # Twice: a search of a known shape is answered from its preparation.
    for _ in range(2):
        result = code.search(query)
        assert titles(result) == expected
        assert result.status == "complete"


def test_the_pointer_itself_is_searched(code: sl.Client) -> None:
    result = code.search("git-lfs.github.com file:assets")
    assert set(result.matches["path"]) == {"assets/a.csv", "assets/b.csv"}


def test_the_item_says_what_was_searched(code: sl.Client) -> None:
    skipped = code.search("needle").skipped
    (message,) = skipped.loc[skipped["reason"] == "document-lfs", "message"]
    assert "the pointer was searched" in message
    assert "data" in message


def test_the_first_search_says_it_without_an_index(folder: Path, tmp_path: Path) -> None:
    with sl.open(folder / "data", index_dir=tmp_path / "other") as client:
        result = client.search("needle count:all")
    assert titles(result) == ["2 files in Git LFS"]


def test_content_on_disk_is_no_pointer(folder: Path, tmp_path: Path) -> None:
    """A work tree has the content itself once LFS fetched it."""
    (folder / "data" / "assets" / "a.csv").write_text("needle,1\n" * 3)
    with sl.open(folder / "data", index_dir=tmp_path / "other", worktree=True) as client:
        result = client.search("needle file:a.csv count:all")
    assert (titles(result), len(result.matches)) == ([], 3)
