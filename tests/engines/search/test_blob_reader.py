"""A build reads the same files with git as with libgit2, also where git stops in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sourcelight.core.errors import GitFailed
from sourcelight.engines.search.index import blob_reader
from sourcelight.engines.search.index.blob_reader import BlobReader
from sourcelight.repos import Catalog, ObjectReader, Repository
from sourcelight.repos.processes.blob_process import BlobProcess
from sourcelight.testing.repositories import RepositoryBuilder

LIMIT = 5000
ABSENT = b"\x01" * 20


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A packed repository with files of all sizes, one of them lost and one changed in the work tree."""
    monkeypatch.setattr(blob_reader, "MIN_PROCESS_BYTES", 0)
    monkeypatch.setattr(blob_reader, "BATCH_FILES", 7)
    builder = RepositoryBuilder(tmp_path / "source")
    files = {f"{number:02}.txt": f"text {number}\n" * (number * 7) for number in range(40)}
    builder.commit(files | {"large.txt": "x" * (LIMIT + 1), "binary": "a\0b"}, "start")
    builder.git("gc", "-q")
    builder.commit({"lost.txt": "gone"}, "second")
    blob = builder.git("rev-parse", "HEAD:lost.txt").strip()
    (builder.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return Catalog.open([tmp_path]).repositories[0]


def ids_of(repository: Repository) -> list[bytes]:
    with ObjectReader(repository) as reader:
        data = reader.tree(repository.info.commit).blob_ids
    return [*(data[start : start + 20] for start in range(0, len(data), 20)), ABSENT]


def read_all(kind: type[ObjectReader], repository: Repository) -> list[tuple[bytes, bytes | None]]:
    with kind(repository) as reader:
        return list(reader.blobs(ids_of(repository), LIMIT))


def test_git_reads_what_libgit2_reads(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[bytes, int] = {}
    read = BlobProcess.read

    def note(self: BlobProcess, requested: Any) -> Iterator[tuple[bytes, bytes | None]]:
        sizes.update(requested)
        return read(self, requested)

    monkeypatch.setattr(BlobProcess, "read", note)
    contents = read_all(BlobReader, repository)
    assert contents == read_all(ObjectReader, repository)
    assert [blob_id for blob_id, _ in contents] == ids_of(repository)
    # Lost, absent and too large.
    assert sum(content is None for _, content in contents) == 3
    assert len(sizes) == len(contents) - 3


@pytest.mark.parametrize("answers", [0, 1, 6, 7, 30])
def test_a_process_that_ends_early_costs_no_file(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    read, count = BlobProcess.read, 0

    def end(self: BlobProcess, sizes: Any) -> Iterator[tuple[bytes, bytes | None]]:
        nonlocal count
        for item in read(self, sizes):
            if count == answers:
                self.kill()
                raise GitFailed(["git"], -9, "it ended")
            count += 1
            yield item

    monkeypatch.setattr(BlobProcess, "read", end)
    assert read_all(BlobReader, repository) == read_all(ObjectReader, repository)
    assert count == answers


def test_a_few_files_need_no_process(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_reader, "MIN_PROCESS_BYTES", 1 << 20)
    monkeypatch.setattr(BlobProcess, "__init__", lambda *_: pytest.fail("git was started"))
    assert read_all(BlobReader, repository) == read_all(ObjectReader, repository)


def test_a_repository_without_objects_is_read_here(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.txt").write_text("a\n", "utf-8")
    repository = Catalog.open([tmp_path / "plain"]).repositories[0]
    assert [content for _, content in read_all(BlobReader, repository)] == [b"a\n", None]


def test_contents_of_all_sizes_are_read_in_any_number_of_reads(tmp_path: Path) -> None:
    files = {"empty": "", "line": "one\n", "open": "no newline", "large": "ab\n" * 1_500_000}
    # More than two requests of names, each asked for while earlier answers are still to come.
    files |= {f"{number}.txt": f"{number}\n" * (number % 50) for number in range(1700)}
    RepositoryBuilder(tmp_path / "source").commit(files, "start")
    repository = Catalog.open([tmp_path]).repositories[0]
    with ObjectReader(repository) as reader:
        expected = {blob_id: content for blob_id, content in reader.blobs(ids_of(repository)) if content is not None}
    sizes = {blob_id: len(content) for blob_id, content in expected.items()}
    process = BlobProcess(repository)
    try:
        assert dict(process.read({ABSENT: 3, **sizes, bytes([2]) * 20: 47})) == {
            ABSENT: None, **expected, bytes([2]) * 20: None
        }  # fmt: skip
        assert dict(process.read(sizes)) == expected
    finally:
        process.close()
