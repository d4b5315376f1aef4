"""Subjects of commits: those of git's log, without merges, sweeps and paths that git escapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.repos import Catalog, Repository, resolve
from sourcelight.repos.processes.commit_subjects import MAX_PATHS, MAX_SUBJECT_BYTES, CommitSubject, read_subjects
from sourcelight.testing import RepositoryBuilder


def repository_at(path: Path) -> Repository:
    return Catalog.open(path).repositories[0]


def subjects_of(path: Path) -> list[CommitSubject]:
    repository = repository_at(path)
    return read_subjects(repository, resolve(repository, ""), Cancellation())


def test_subjects_come_newest_first_with_the_paths_that_each_changed(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "books")
    repo.commit({"a.py": "1\n", "folder/b b.py": "1\n", "é.py": "1\n"}, "Begin the books\n\nThe body is not read.")
    repo.commit({"a.py": "2\n"}, "Round\nhalves")
    repo.commit({"a.py": None}, "x" * 2 * MAX_SUBJECT_BYTES)
    assert subjects_of(repo.path) == [
        CommitSubject(b"x" * MAX_SUBJECT_BYTES, (b"a.py",)),
        CommitSubject(b"Round halves", (b"a.py",)),
        CommitSubject(b"Begin the books", (b"a.py", b"folder/b b.py", "é.py".encode())),
    ]


def test_merges_sweeps_and_escaped_paths_are_left_out(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "books")
    repo.commit({f"{number}.py": "1\n" for number in range(MAX_PATHS + 1)}, "Sweep")
    repo.commit({'quoted".py': "1\n", "0.py": "2\n"}, "Quote")
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"1.py": "2\n"}, "Aside")
    repo.git("checkout", "-q", "main")
    repo.commit({"2.py": "2\n"}, "Ahead")
    repo.merge("side", "Merge the side")
    assert {(entry.subject, entry.paths) for entry in subjects_of(repo.path)} == {
        (b"Ahead", (b"2.py",)),
        (b"Aside", (b"1.py",)),
        (b"Quote", (b"0.py",)),
    }


def test_a_history_without_its_commits_gives_what_can_be_read(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "books")
    repo.commit({"a.py": "1\n"}, "First")
    repo.commit({"a.py": "2\n"}, "Second")
    repository = repository_at(repo.path)
    assert read_subjects(repository, "0" * 40, Cancellation()) == []
    shallow = repo.clone(tmp_path / "shallow", "--depth=1")
    assert subjects_of(shallow.path) == [CommitSubject(b"Second", (b"a.py",))]


def test_reading_can_be_cancelled(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "books")
    repo.commit({"a.py": "1\n"}, "First")
    repository = repository_at(repo.path)
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        read_subjects(repository, resolve(repository, ""), cancellation)
