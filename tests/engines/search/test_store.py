from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.search.naive import naive_rows, rows_of
from sourcelight.core.batches import CommitId
from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, SearchIndexError
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, IndexStore, SearchOptions, Target, TextQuery, updates, worker
from sourcelight.repos import Catalog, RepositoryKey
from sourcelight.testing import RepositoryBuilder

FILES: dict[str, str | bytes | None] = {
    "a.py": "import os\nfoo\n",
    "lib/foo.c": "int foo;\n",
    "bin": b"\0foo",
    "big.txt": b"foo\n" * 1000,
    "e.md": "",
}
QUERY = TextQuery(FileTerm(compile_pattern("foo", kind="literal", case_sensitive=True)))


def targets_of(*paths: Path, revision: str = "") -> list[Target]:
    return [Target(repository, revision) for repository in Catalog.open([str(path) for path in paths]).repositories]


def texts(store: IndexStore, targets: list[Target], query: TextQuery = QUERY) -> list[Any]:
    return rows_of(store.search(targets, query, SearchOptions(), Cancellation()))


def naive(files: dict[str, str | bytes | None], query: TextQuery = QUERY) -> list[Any]:
    raw = {name.encode(): data if isinstance(data, bytes) else (data or "").encode() for name, data in files.items()}
    return naive_rows(raw, query)


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(str(tmp_path / "index"), max_file_size=2000, workers=1)


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path / "code" / "one")
    builder.commit(FILES)
    return builder


PADDING: dict[str, str | bytes | None] = {f"padding/{number}": f"{number}\n" for number in range(401)}
"""So many files that a worker process builds the index of a repository."""


def test_a_repository_is_indexed_and_searched(store: IndexStore, repo: RepositoryBuilder) -> None:
    targets = targets_of(repo.path)
    assert not store.is_current(targets[0])
    seen: list[IndexProgress] = []
    report = store.update(targets, progress=seen.append)
    assert report.built == ("one",)
    assert seen[-1].repositories_done == seen[-1].repositories_total == 1
    assert store.is_current(targets[0])
    assert texts(store, targets) == naive(FILES)
    assert store.update(targets).current == ("one",)


def test_files_matched_by_name_only_are_counted(store: IndexStore, repo: RepositoryBuilder) -> None:
    targets = targets_of(repo.path)
    store.update(targets)
    parts = list(store.search(targets, QUERY, SearchOptions(), Cancellation()))
    assert parts[-1].skipped == {"one": {"binary": 1, "too-large": 1}}
    assert parts[-1].repositories_done == ("one",)


def test_worker_processes_build_the_same(tmp_path: Path, repo: RepositoryBuilder) -> None:
    repo.commit(PADDING)
    two = RepositoryBuilder(tmp_path / "code" / "two")
    two.commit({"x.txt": "foo\n"} | PADDING)
    targets = targets_of(repo.path, two.path)
    store = IndexStore(str(tmp_path / "index"), max_file_size=2000, workers=2)
    report = store.update(targets)
    assert set(report.built) == {"one", "two"}, report
    assert texts(store, targets[:1]) == naive(FILES)


def test_a_moved_ref_needs_only_its_new_blobs(store: IndexStore, repo: RepositoryBuilder) -> None:
    for number in range(20):
        repo.write({f"more/{number}.txt": f"foo {number}\n"})
    repo.commit()
    store.update(targets_of(repo.path))
    repo.commit({"new.py": "foo foo\n", "a.py": None})
    targets = targets_of(repo.path)
    assert not store.is_current(targets[0])
    report = store.update(targets)
    assert report.files == 1
    files = {**FILES, **{f"more/{n}.txt": f"foo {n}\n" for n in range(20)}, "new.py": "foo foo\n"}
    del files["a.py"]
    assert texts(store, targets) == naive(files)


def test_an_open_client_keeps_its_commit_until_it_asks_for_the_new_one(
    store: IndexStore, repo: RepositoryBuilder
) -> None:
    old = targets_of(repo.path)
    store.update(old)
    snapshot, _ = store.open(old[0])
    repo.commit({"new.py": "foo\n"})
    store.update(targets_of(repo.path))
    assert snapshot.shards[0].text(0) is not None
    assert texts(store, targets_of(repo.path)) == naive({**FILES, "new.py": "foo\n"})


def test_two_revisions_share_their_blobs(store: IndexStore, repo: RepositoryBuilder) -> None:
    repo.tag("v1")
    repo.commit({"late.py": "foo\n"})
    head, tag = targets_of(repo.path)[0], targets_of(repo.path, revision="v1")[0]
    assert store.update([head, tag]).failures == {}
    for target, files in ((head, {**FILES, "late.py": "foo\n"}), (tag, FILES)):
        assert store.is_current(target)
        assert texts(store, [target]) == naive(files)
    assert sum(entry.documents for entry in store.repository_folder(head.repository.key).manifest().shards) == 4


def test_other_settings_mean_another_index(store: IndexStore, repo: RepositoryBuilder) -> None:
    targets = targets_of(repo.path)
    store.update(targets)
    wider = IndexStore(str(store.folder), max_file_size=100_000, workers=1)
    assert not wider.is_current(targets[0])
    assert wider.update(targets).built == ("one",)
    assert not store.is_current(targets[0])
    assert len(texts(wider, targets)) == len(naive(FILES)) + 1000


def test_a_target_without_index_is_named(store: IndexStore, repo: RepositoryBuilder) -> None:
    targets = targets_of(repo.path)
    (part,) = store.search(targets, QUERY, SearchOptions(), Cancellation())
    assert "not indexed" in part.failed["one"]
    with pytest.raises(SearchIndexError, match="not indexed"):
        store.count(targets, QUERY, ["repository"], Cancellation())


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _flip_head(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[30] ^= 0xFF
    file.write_bytes(data)


def _older(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[8] = 0
    file.write_bytes(data)


@pytest.mark.parametrize("harm", [_truncate, _flip_head, _older, Path.unlink])
@pytest.mark.parametrize("kind", ["shard", "view"])
def test_a_harmed_file_is_noticed_and_built_anew(
    store: IndexStore, repo: RepositoryBuilder, kind: str, harm: Callable[[Path], None]
) -> None:
    targets = targets_of(repo.path)
    store.update(targets)
    (file,) = store.folder.glob(f"*/{kind}-*")
    harm(file)
    index_store = IndexStore(str(store.folder), max_file_size=2000, workers=1)
    with pytest.raises(IndexDamaged):
        index_store.open(targets[0])
    assert not index_store.is_current(targets[0])
    assert index_store.update(targets).built == ("one",)
    assert texts(index_store, targets) == naive(FILES)


def test_an_altered_byte_is_found_by_a_full_check(store: IndexStore, repo: RepositoryBuilder) -> None:
    targets = targets_of(repo.path)
    store.update(targets)
    (file,) = store.folder.glob("*/shard-*")
    data = bytearray(file.read_bytes())
    data[data.index(b"import os")] = ord("X")
    file.write_bytes(data)
    assert store.status()[0].damaged == ""
    assert "damaged" in store.status(verify=True)[0].damaged
    assert not store.is_current(targets[0])
    assert store.update(targets).built == ("one",)
    assert store.status(verify=True)[0].damaged == ""
    assert texts(store, targets) == naive(FILES)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"format": 0}', b'{"format": 1, "shards": 3}', b"\xff"])
def test_a_harmed_manifest_is_built_anew(store: IndexStore, repo: RepositoryBuilder, text: bytes) -> None:
    targets = targets_of(repo.path)
    store.update(targets)
    (manifest,) = store.folder.glob("*/manifest.json")
    manifest.write_bytes(text)
    assert not store.is_current(targets[0])
    assert store.status()[0].damaged
    assert store.update(targets).built == ("one",)
    assert texts(store, targets) == naive(FILES)


def test_a_repository_that_cannot_be_read_does_not_stop_the_others(
    store: IndexStore, repo: RepositoryBuilder, tmp_path: Path
) -> None:
    good = targets_of(repo.path)[0]
    broken = replace(
        good, repository=replace(good.repository, git_dir=str(tmp_path / "gone"), key=RepositoryKey("gone"))
    )
    broken = replace(broken, repository=replace(broken.repository, info=replace(good.repository.info, name="gone")))
    report = store.update([replace(broken, commit=CommitId("1" * 40)), good])
    assert report.built == ("one",)
    assert set(report.failures) == {"gone"}


def test_a_worker_that_dies_is_the_failure_of_one_repository(
    tmp_path: Path, repo: RepositoryBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(PADDING)
    two = RepositoryBuilder(tmp_path / "code" / "two")
    two.commit({"x.txt": "foo\n"} | PADDING)
    request_line = worker.request_line

    def poisoned(folder: Path, repository: Any, settings: dict[str, Any]) -> bytes:
        return b"not an order\n" if repository.name == "one" else request_line(folder, repository, settings)

    monkeypatch.setattr(updates, "request_line", poisoned)
    store = IndexStore(str(tmp_path / "index"), workers=1)
    report = store.update(targets_of(repo.path, two.path))
    assert report.built == ("two",)
    assert "ended with status 1" in report.failures["one"]


def test_a_limit_names_what_was_not_indexed(tmp_path: Path, repo: RepositoryBuilder) -> None:
    two = RepositoryBuilder(tmp_path / "code" / "two")
    two.commit({"x.txt": "foo\n"})
    targets = targets_of(repo.path, two.path)
    free = IndexStore(str(tmp_path / "free"))
    free.update(targets[:1])
    limit = free.disk_bytes() + 1000
    store = IndexStore(str(tmp_path / "index"), max_bytes=limit)
    report = store.update(targets)
    assert "max_bytes" in report.failures["two"]
    assert report.built == ("one",)
    assert store.disk_bytes() <= limit


def test_pruning_frees_what_is_no_longer_wanted(tmp_path: Path, store: IndexStore, repo: RepositoryBuilder) -> None:
    two = RepositoryBuilder(tmp_path / "code" / "two")
    two.commit({"x.txt": "foo\n"})
    targets = targets_of(repo.path, two.path)
    store.update(targets)
    before = store.disk_bytes()
    freed = store.prune([targets[0].repository.key])
    assert freed == before - store.disk_bytes() > 0
    assert [status.repository for status in store.status()] == ["one"]
    assert not store.is_current(targets[1])
    assert texts(store, targets[:1]) == naive(FILES)


def test_a_cancelled_update_keeps_the_former_index(store: IndexStore, repo: RepositoryBuilder) -> None:
    old = [replace(target, commit=repo.head) for target in targets_of(repo.path)]
    store.update(old)
    repo.commit({"new.py": "foo\n"})
    cancellation = Cancellation()
    cancellation.cancel()
    report = store.update(targets_of(repo.path), cancellation=cancellation)
    assert report.cancelled
    assert report.built == ()
    assert texts(store, old) == naive(FILES)


def test_cancelling_ends_the_workers(tmp_path: Path, repo: RepositoryBuilder) -> None:
    repo.commit(PADDING)
    store = IndexStore(str(tmp_path / "index"), workers=1)
    cancellation = Cancellation()
    two = RepositoryBuilder(tmp_path / "code" / "two")
    two.commit({"x.txt": "foo\n"} | PADDING)
    targets = targets_of(repo.path, two.path)
    report = store.update(targets, progress=lambda _: cancellation.cancel(), cancellation=cancellation)
    assert report.cancelled
    assert len(report.built) == 1
    assert len(store.update(targets).current) == 1


def test_files_of_dead_builders_are_cleared_away(store: IndexStore, repo: RepositoryBuilder) -> None:
    store.update(targets_of(repo.path))
    (manifest,) = store.folder.glob("*/manifest.json")
    (manifest.parent / "tmp-1-abc").write_bytes(b"x" * 100)
    (manifest.parent / ("shard-" + "0" * 32)).write_bytes(b"x" * 100)
    repo.commit({"new.py": "foo\n"})
    store.update(targets_of(repo.path))
    names = {path.name for path in manifest.parent.iterdir()} - {"manifest.json", "lock"}
    assert names == store.repository_folder(RepositoryKey(manifest.parent.name)).manifest().names


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = "import sys, sourcelight.engines.search; print({'numpy', 'pyarrow', 'pygit2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout.strip() == b"set()"
