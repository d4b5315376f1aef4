import os
import shutil
from pathlib import Path

import pytest

from repos.catalogs import only
from sourcelight.core.batches import CommitId
from sourcelight.core.errors import RepositoryNotFound, RevisionNotFound
from sourcelight.repos import (
    WORKTREE,
    Catalog,
    ObjectReader,
    Repository,
    WorktreeStatus,
    resolve,
    worktree_status,
    worktree_tree,
)
from sourcelight.testing import RepositoryBuilder, make_repo


def contents(repository: Repository, commit: CommitId) -> dict[bytes, bytes | None]:
    with ObjectReader(repository) as reader:
        tree = reader.tree(commit)
        return {path: reader.read(tree.blob_id(i)) for i, path in enumerate(tree.paths)}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


# snapshots


def test_a_folder_without_git_is_one_commit(tmp_path: Path) -> None:
    write(tmp_path / "pkg-1.0", {"a.py": "1", "d/b.py": "2", "d/__pycache__/b.pyc": "3"})
    (tmp_path / "pkg-1.0" / "link").symlink_to("/etc/passwd")
    repository = only(tmp_path / "pkg-1.0")
    assert (repository.kind, repository.name, repository.git_dir) == ("snapshot", "pkg-1.0", "")
    assert contents(repository, repository.info.commit) == {b"a.py": b"1", b"d/b.py": b"2"}
    assert resolve(repository, "") == resolve(repository, "HEAD") == repository.info.commit
    assert worktree_status(repository).clean
    with pytest.raises(RevisionNotFound):
        resolve(repository, "main")


def test_equal_folders_are_equal_commits_named_as_git_names_content(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, {"a": "1", "b/c": "2"})
    first, second = (only(tmp_path / name) for name in ("one", "two"))
    assert first.info.commit == second.info.commit
    assert first.key != second.key
    repo = make_repo(tmp_path / "git", {"a": "1"})
    with ObjectReader(first) as reader:
        assert reader.tree(first.info.commit).blob_id(0).hex() == repo.git("rev-parse", "HEAD:a")


def test_a_changed_snapshot_is_a_new_commit(tmp_path: Path) -> None:
    write(tmp_path / "pkg", {"a": "1", "b": "b"})
    catalog = Catalog.open(tmp_path / "pkg")
    before = catalog.repositories[0]
    assert not catalog.refresh(thorough=True)
    (tmp_path / "pkg" / "a").write_text("2")
    assert catalog.refresh(thorough=True)
    after = catalog.repositories[0]
    assert after.info.commit != before.info.commit
    assert contents(after, after.info.commit) == {b"a": b"2", b"b": b"b"}
    assert contents(before, before.info.commit) == {b"a": None, b"b": b"b"}, (
        "content that is gone is missing, not wrong"
    )


def test_a_snapshot_that_is_gone_is_skipped(tmp_path: Path) -> None:
    write(tmp_path / "pkg", {"a": "1"})
    make_repo(tmp_path / "app", {"a": "1"})
    catalog = Catalog.open([tmp_path / "pkg", tmp_path / "app"])
    repository = catalog.get("pkg")
    shutil.rmtree(tmp_path / "pkg")
    assert catalog.refresh(thorough=True)
    assert [r.name for r in catalog.repositories] == ["app"]
    with pytest.raises(RepositoryNotFound):
        resolve(repository, "")


def test_a_very_large_file_is_named_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcelight.repos.worktrees.LARGE_BYTES", 100)
    write(tmp_path / "pkg", {"a": "1" * 200})
    repository = only(tmp_path / "pkg")
    with ObjectReader(repository) as reader:
        tree = reader.tree(repository.info.commit)
        assert reader.size(tree.blob_id(0)) == 200
        assert reader.read(tree.blob_id(0)) == b"1" * 200


def test_a_reader_in_another_process_finds_content_by_its_name_alone(tmp_path: Path) -> None:
    write(tmp_path / "pkg", {"a": "1"})
    repository = only(tmp_path / "pkg")
    with ObjectReader(repository) as reader:
        blob_id = reader.tree(repository.info.commit).blob_id(0)
    assert ObjectReader(repository).read(blob_id) == b"1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_not_read(tmp_path: Path) -> None:
    write(tmp_path / "pkg", {"a": "1"})
    os.mkfifo(tmp_path / "pkg" / "pipe")
    assert contents(only(tmp_path / "pkg"), only(tmp_path / "pkg").info.commit) == {b"a": b"1"}


# work trees


@pytest.fixture
def dirty(tmp_path: Path) -> RepositoryBuilder:
    repo = make_repo(
        tmp_path / "app",
        {
            "same": "1",
            "changed": "1",
            "gone": "1",
            "d/staged": "1",
            "x": "1",
            ".gitignore": "*.log\nbuild/\n",
            b"\xe9": "1",
        },
    )
    repo.write({
        "changed": "2c", "gone": None, "new/deep/file": "3", "a.log": "no", "build/out": "no", "d/staged": "4",
        "added": "5", b"\xe9": "2", b"\xff": "3",
    })  # fmt: skip
    repo.git("add", "d/staged", "added")
    (tmp_path / "app" / "x").chmod(0o755)
    return repo


def test_the_status_counts_files_that_a_search_of_head_does_not_see(dirty: RepositoryBuilder) -> None:
    repository = only(dirty.path)
    assert worktree_status(repository) == WorktreeStatus(modified=4, untracked=3, deleted=1)
    assert not worktree_status(repository).clean
    dirty.commit()
    dirty.git("checkout", "-q", ".")
    assert worktree_status(repository, refresh=True).clean


def test_a_status_is_kept_for_a_while_in_proportion_to_its_cost(
    dirty: RepositoryBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sourcelight.repos.worktree_changes.STATUS_SHARE", 1_000_000)
    repository = only(dirty.path)
    first = worktree_status(repository)
    dirty.write({"one-more": "1"})
    assert worktree_status(repository) is first
    assert worktree_status(repository, refresh=True).untracked == first.untracked + 1


def test_the_work_tree_is_head_with_its_changes(dirty: RepositoryBuilder) -> None:
    repository = only(dirty.path)
    commit = resolve(repository, WORKTREE)
    assert len(commit) == 40
    assert commit != repository.info.commit
    result = contents(repository, commit)
    assert result == {
        b".gitignore": b"*.log\nbuild/\n", b"added": b"5", b"changed": b"2c", b"d/staged": b"4",
        b"new/deep/file": b"3", b"same": b"1", b"x": b"1", b"\xe9": b"2", b"\xff": b"3",
    }  # fmt: skip
    tree = worktree_tree(repository)
    assert tree.paths == sorted(result)
    assert tree.modes[tree.paths.index(b"x")] == 0o100755
    assert dirty.git("hash-object", "changed") == tree.blob_id(tree.paths.index(b"changed")).hex()


def test_the_same_state_has_the_same_name_and_another_one_another(dirty: RepositoryBuilder) -> None:
    repository = only(dirty.path)
    first = resolve(repository, WORKTREE)
    assert resolve(repository, WORKTREE) == first
    dirty.write({"changed": "7c"})  # same size, perhaps the same tick of the clock
    second = resolve(repository, WORKTREE)
    assert second != first
    with ObjectReader(repository) as reader:
        assert reader.tree(first).paths == reader.tree(second).paths, "a search under way keeps its state"
    assert contents(repository, second)[b"changed"] == b"7c"
    assert contents(repository, first)[b"changed"] is None


def test_a_clean_work_tree_is_its_commit(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1", ".gitignore": "b\n"})
    repo.write({"b": "ignored"})
    assert resolve(only(tmp_path), WORKTREE) == repo.head


def test_a_file_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    repo = make_repo(tmp_path / "app", {"a": "1", "d/b": "2"})
    shutil.rmtree(tmp_path / "app" / "d")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b").write_text("secret")
    repo.write({"a": None})
    repo.symlink("a", str(secret))
    repo.symlink("d", str(tmp_path / "out"))
    repository = only(tmp_path / "app")
    assert contents(repository, resolve(repository, WORKTREE)) == {}


def test_a_configured_work_tree_elsewhere_is_not_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    write(tmp_path / "private", {"key": "secret"})
    repo.git("config", "core.worktree", str(tmp_path / "private"))
    repository = only(tmp_path / "app")
    assert contents(repository, resolve(repository, WORKTREE)) == {b"a": b"1"}
    assert worktree_status(repository).clean


def test_programs_named_by_a_hostile_configuration_never_run(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1", ".gitattributes": "* filter=evil diff=evil\n"})
    mark = tmp_path / "ran"
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.sshCommand",
                "diff.evil.textconv", "core.pager", "core.editor", "core.alternateRefsCommand"):  # fmt: skip
        repo.git("config", key, f"touch {mark}")
    for hook in ("post-index-change", "post-checkout", "fsmonitor-watchman"):
        location = tmp_path / "app" / ".git" / "hooks" / hook
        location.parent.mkdir(exist_ok=True)
        location.write_text(f"#!/bin/sh\ntouch {mark}\n")
        location.chmod(0o755)
    repo.write({"a": "2", "b": "3"})
    catalog = Catalog.open([tmp_path])
    repository = catalog.repositories[0]
    assert worktree_status(repository) == WorktreeStatus(modified=1, untracked=1)
    assert contents(repository, resolve(repository, WORKTREE))[b"a"] == b"2"
    catalog.refresh(thorough=True)
    assert not mark.exists()


def test_a_repository_inside_the_work_tree_is_not_part_of_it(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    make_repo(tmp_path / "app" / "inner", {"b": "1"})
    repository = Catalog.open([tmp_path]).get("app")
    assert contents(repository, resolve(repository, WORKTREE)) == {b"a": b"1"}


# files that git was told not to look at


@pytest.mark.parametrize("version", [2, 3, 4])
def test_hidden_files_count_as_they_stand_on_disk(tmp_path: Path, version: int) -> None:
    names = ["a", "b/long/" + "/".join(["x" * 200] * 10), "b/c", "d/e", "gone", "same", "sparse/off", "sparse/on", "z"]
    repo = make_repo(tmp_path / "r", {name: f"{name[:20]}\n" for name in names})
    if version > 2:
        repo.git("update-index", "--index-version", str(version))
    repo.git("update-index", "--assume-unchanged", "a", names[1], "d/e", "gone", "same")
    if version > 2:
        repo.git("update-index", "--skip-worktree", "sparse/off", "sparse/on", "z")
    write(repo.path, {"a": "changed\n", names[1]: "long\n", "b/c": "plain\n", "sparse/on": "on disk\n", "z": "zz\n"})
    for name in ("gone", "sparse/off"):
        (repo.path / name).unlink()
    (repo.path / "d/e").unlink()
    (repo.path / "d/e").symlink_to("../same")
    repository = only(repo.path)
    on_disk = {
        os.fsencode(path.relative_to(repo.path)): path.read_bytes()
        for path in repo.path.rglob("*")
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts
    }
    assert contents(repository, resolve(repository, WORKTREE)) == on_disk
    hidden_sparse = 1 if version > 2 else 0
    assert worktree_status(repository, refresh=True) == WorktreeStatus(modified=6, deleted=2 - hidden_sparse), (
        "what a sparse checkout leaves out is no change"
    )


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_hidden_files_that_were_staged_count_as_they_are_on_disk(tmp_path: Path, flag: str) -> None:
    repo = make_repo(tmp_path / "r", {"staged": "old\n", "gone": "gone\n"})
    write(repo.path, {"new": "new\n", "staged": "staged\n", "left": "left\n"})
    repo.git("add", "new", "staged", "left")
    repo.git("update-index", flag, "new", "staged", "left")
    (repo.path / "left").unlink()
    repository = only(repo.path)
    on_disk = {b"new": b"new\n", b"staged": b"staged\n", b"gone": b"gone\n"}
    assert contents(repository, resolve(repository, WORKTREE)) == on_disk
    assert worktree_status(repository, refresh=True) == WorktreeStatus(modified=1, untracked=1)


def test_a_sparse_checkout_is_searched_as_it_stands(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {"in/a": "a\n", "out/b": "b\n", "top": "t\n"})
    repo.git("sparse-checkout", "set", "--no-cone", "/in/", "/top")
    repository = only(repo.path)
    assert worktree_status(repository, refresh=True).clean
    assert contents(repository, resolve(repository, WORKTREE)) == {b"in/a": b"a\n", b"top": b"t\n"}
    assert contents(repository, resolve(repository, "HEAD")).keys() == {b"in/a", b"out/b", b"top"}


def test_a_hidden_file_behind_a_link_out_of_the_work_tree_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "secret", {"b": "secret\n"})
    repo = make_repo(tmp_path / "r", {"d/b": "b\n"})
    repo.git("update-index", "--assume-unchanged", "d/b")
    shutil.rmtree(repo.path / "d")
    (repo.path / "d").symlink_to(tmp_path / "secret")
    repository = only(repo.path)
    assert contents(repository, resolve(repository, WORKTREE)) == {}


def test_a_broken_index_hides_nothing(tmp_path: Path) -> None:
    from sourcelight.repos.worktree_changes import hidden_entries

    repo = make_repo(tmp_path / "r", {"a": "a\n", "b": "b\n"})
    repo.git("update-index", "--skip-worktree", "b")
    assert [entry.path for entry in hidden_entries(str(repo.path / ".git"))] == [b"b"]
    raw = (repo.path / ".git/index").read_bytes()
    for index in range(0, len(raw), 7):
        (repo.path / ".git/index").write_bytes(raw[:index])
        assert len(hidden_entries(str(repo.path / ".git"))) <= 1
