"""Revisions beside the default one: small on disk, right in what they find, dropped by last use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SearchIndexError
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, IndexStore, SearchOptions, Target, TextQuery
from sourcelight.engines.search.index import build, shard
from sourcelight.repos import Catalog, Repository
from sourcelight.testing.repositories import RepositoryBuilder

WORDS = " ".join(f"word{number}" for number in range(400))


def catalog_of(repo: RepositoryBuilder) -> Repository:
    return Catalog.open([repo.path]).repositories[0]


def find(store: IndexStore, target: Target, text: str) -> list[tuple[str, int, str]]:
    pattern = compile_pattern(text, kind="literal", case_sensitive=False)
    query = TextQuery(FileTerm(pattern, content=True, path=False))
    results = []
    for part in store.search([target], query, SearchOptions(), Cancellation()):
        assert not part.failed
        for batch in part.batches:
            results += [(r["path"], r["line_number"], r["line"]) for r in batch.to_pylist()]
    return sorted(results)


def shard_files(store: IndexStore, repository: Repository) -> list[str]:
    return sorted(path.name for path in (store.folder / repository.key).iterdir() if path.name.startswith("shard-"))


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryBuilder:
    built = RepositoryBuilder(tmp_path / "one")
    files: dict[str, str | bytes] = {f"f{number}.txt": f"{WORDS}\nfile {number} at 0\n" * 4 for number in range(40)}
    files |= {"blob.bin": b"\0at 0", "empty.txt": "", "nonewline.txt": "at 0 without end"}
    built.commit(files)
    for number in range(1, 12):
        built.commit({"f1.txt": f"{WORDS}\nfile 1 at {number}\n", "nonewline.txt": f"at {number} without end"})
    return built


def commit_back(repo: RepositoryBuilder, repository: Repository, back: int) -> Target:
    revision = f"HEAD~{back}"
    return Target(repository, revision, CommitId(repo.git("rev-parse", revision)))


def test_ten_tips_cost_less_than_a_third_of_one(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    store.update([Target(repository, "", repository.info.commit)])
    disk_bytes, files = store.disk_bytes(), shard_files(store, repository)
    targets = [commit_back(repo, repository, back) for back in range(1, 11)]
    assert not store.update(targets).failures
    assert shard_files(store, repository) == files
    assert store.disk_bytes() < 1.3 * disk_bytes + 10 * 16_384  # a view of 43 files is mostly its head
    for back, target in enumerate(targets, 1):
        assert find(store, target, f"at {11 - back}") == sorted(
            [("f1.txt", 2, f"file 1 at {11 - back}"), ("nonewline.txt", 1, f"at {11 - back} without end")]
        )


def test_loose_files_are_searched_like_any_others(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = catalog_of(repo)
    tip = Target(repository, "old", CommitId(repo.git("rev-parse", "HEAD~5")))
    full_store, loose_store = IndexStore(str(tmp_path / "whole")), IndexStore(str(tmp_path / "apart"))
    full_store.update([Target(repository, "", tip.commit)])
    loose_store.update([Target(repository, "", repository.info.commit), tip])
    assert [is_it for is_it in map(shard.is_loose, loose_store.open(tip)[0].view.shards) if is_it]
    for text in ("word7", "at 6", "without end", "file 3", "\n", "nothing of the kind"):
        assert find(loose_store, tip, text) == find(full_store, tip, text)
    assert loose_store.read(tip, "nonewline.txt") == b"at 6 without end"
    assert loose_store.read(tip, "blob.bin") is None
    store = IndexStore(str(tmp_path / "apart"))
    assert find(store, tip, "at 6") == find(full_store, tip, "at 6")
    assert not any(status.damaged for status in store.status(verify=True))


def test_a_far_revision_is_indexed_like_the_default_one(
    repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = catalog_of(repo)
    monkeypatch.setattr(build, "MAX_LOOSE_BYTES", 100)
    store = IndexStore(str(tmp_path / "index"))
    store.update([Target(repository, "", repository.info.commit)])
    before = shard_files(store, repository)
    tip = Target(repository, "old", CommitId(repo.git("rev-parse", "HEAD~5")))
    store.update([tip])
    assert len(shard_files(store, repository)) == len(before) + 1
    assert len(find(store, tip, "at 6")) == 2


def test_a_revision_that_becomes_the_default_one_is_kept_on_disk(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    commit = CommitId(repo.git("rev-parse", "HEAD~3"))
    store.update([Target(repository, "", repository.info.commit), Target(repository, "side", commit)])
    head = Target(repository, "", commit)
    assert not store.is_current(head)
    store.update([head])
    assert store.is_current(head)
    assert store.is_current(Target(repository, "side", commit))
    assert not any(map(shard.is_loose, store.open(head)[0].view.shards))
    assert len(find(store, head, "at 8")) == 2


def test_views_go_by_last_use_and_the_default_one_stays(
    repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    head = Target(repository, "", repository.info.commit)
    targets = [commit_back(repo, repository, back) for back in range(1, 6)]
    store.update([head, *targets])
    folder = store.folder / repository.key
    for age, target in enumerate([targets[0], head, *targets[1:]]):
        view = store.open(target)[0].view.name
        os.utime(folder / view, (1_000_000 + age, 1_000_000 + age))
    monkeypatch.setattr(build, "MAX_VIEWS", 2)
    assert store.prune([repository.key]) > 0
    assert [store.is_current(target) for target in targets] == [False, False, False, True, True]
    assert store.is_current(head)
    assert len(find(store, head, "at 11")) == 2


def test_a_view_in_use_stays_whatever_the_number(
    repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "MAX_VIEWS", 2)
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    targets = [commit_back(repo, repository, back) for back in range(1, 8)]
    store.update([Target(repository, "", repository.info.commit), *targets])
    assert all(store.is_current(target) for target in targets)


def test_rewriting_the_default_one_leaves_no_dead_shards(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    tip = Target(repository, "old", CommitId(repo.git("rev-parse", "HEAD~2")))
    store.update([Target(repository, "", repository.info.commit), tip])
    commit = repo.commit({f"f{number}.txt": f"new {number}\n" * 50 for number in range(40)})
    head = Target(repository, "", commit)
    store.update([head])
    assert len(shard_files(store, repository)) == 1
    assert len(find(store, head, "new 7")) == 50
    store.update([tip])
    assert len(find(store, tip, "at 9")) == 2


def test_a_file_that_git_lost_is_a_fault_of_that_revision_alone(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    head, tip = (
        Target(repository, "", repository.info.commit),
        Target(repository, "x", CommitId(repo.git("rev-parse", "HEAD~2"))),
    )
    store.update([head, tip])
    blob = repo.git("rev-parse", "HEAD~2:f1.txt")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    index_store = IndexStore(str(tmp_path / "index"))
    with pytest.raises(SearchIndexError, match="no longer has a file of this revision"):
        index_store.open(tip)
    assert len(find(index_store, head, "at 11")) == 2


def test_definitions_of_a_loose_file_are_found(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "one")
    repo.commit({"a.py": "def old_name():\n    pass\n", "b.py": "def stays():\n    pass\n"})
    repo.commit({"a.py": "def new_name():\n    pass\n"})
    repository = catalog_of(repo)
    store = IndexStore(str(tmp_path / "index"))
    head, tip = (
        Target(repository, "", repository.info.commit),
        Target(repository, "x", CommitId(repo.git("rev-parse", "HEAD~1"))),
    )
    store.update([head, tip])
    store.update_symbols([head, tip])
    assert store.symbols_current(tip)
    result = store.definitions_of(tip, "a.py")
    assert result is not None
    assert "old_name" in str(result)
    store.update_symbols([head])
    assert IndexStore(str(tmp_path / "index")).symbols_current(tip)
