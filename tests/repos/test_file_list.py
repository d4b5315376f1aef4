"""Files of a commit with their sizes: those that reading its directories gives, or None where that must decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.core.batches import CommitId
from sourcelight.repos import Catalog, ObjectReader, Repository
from sourcelight.repos.processes import file_list
from sourcelight.repos.processes.file_list import LACKED, list_files
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryBuilder:
    repo = RepositoryBuilder(tmp_path / "books")
    names = ("a.py", "a/b.py", "a-b.py", "a/é.py", "new\nline", b"z\xff.txt", "tab\t.py", "deep/er/still/x", "empty")
    repo.symlink("link", "a.py")
    files: dict[str | bytes, bytes] = {name: b"text\n" * number for number, name in enumerate(reversed(names))}
    repo.commit(files, "Begin")
    return repo


def repository_at(path: Path) -> Repository:
    return Catalog.open(path).repositories[0]


def test_files_and_sizes_are_those_of_the_directories(repo: RepositoryBuilder) -> None:
    repository = repository_at(repo.path)
    files = list_files(repository, repository.info.commit)
    with ObjectReader(repository) as reader:
        tree = reader.tree(repository.info.commit)
        ids = [tree.blob_id(index) for index in range(len(tree))]
        sizes = [reader.size(name) for name in ids]
    assert tree.symlinks == 1
    assert files is not None
    assert (files.paths, files.blob_ids, files.sizes) == (tree.paths, ids, sizes)


def test_a_content_that_is_lost_has_no_size(repo: RepositoryBuilder) -> None:
    blob_id = repo.git("rev-parse", "HEAD:a/b.py").strip()
    (repo.path / ".git" / "objects" / blob_id[:2] / blob_id[2:]).unlink()
    repository = repository_at(repo.path)
    files = list_files(repository, repository.info.commit)
    assert files is not None
    lacked = [path for path, size in zip(files.paths, files.sizes, strict=True) if size == LACKED]
    assert lacked == [b"a/b.py"]


def test_a_lost_directory_and_an_unknown_commit_are_left_to_the_reader(repo: RepositoryBuilder) -> None:
    repository = repository_at(repo.path)
    assert list_files(repository, CommitId("0" * 40)) is None
    blob_id = repo.git("rev-parse", "HEAD:deep/er").strip()
    (repo.path / ".git" / "objects" / blob_id[:2] / blob_id[2:]).unlink()
    assert list_files(repository, repository.info.commit) is None


@pytest.mark.parametrize(("name", "limit"), [("FREE_ENTRIES", 3), ("MAX_FOLDER_BYTES", 100), ("MAX_PATH_BYTES", 5)])
def test_beyond_a_limit_the_reader_decides(
    repo: RepositoryBuilder, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    repository = repository_at(repo.path)
    monkeypatch.setattr(file_list, name, limit)
    assert list_files(repository, repository.info.commit) is None
