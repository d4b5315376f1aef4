import os
from pathlib import Path

import pytest

from repos.catalogs import only
from sourcelight.core.batches import CommitId
from sourcelight.core.errors import RevisionNotFound
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.repos import Catalog, ObjectReader
from sourcelight.testing import RepositoryBuilder, make_repo


def test_a_tree_lists_what_git_lists(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {"b/x.py": "1", "b.py": "2", "a/b/c": "3", b"caf\xe9": b"\xff\0", "B": "4"})
    (tmp_path / "r" / "b.py").chmod(0o755)
    repo.symlink("link", "b.py")
    repo.commit()
    listing = repo.git("ls-tree", "-r", "-z", "HEAD").split("\0")[:-1]
    expected = sorted(
        (os.fsencode(path), bytes.fromhex(meta.split()[2]), int(meta.split()[0], 8))
        for meta, path in (line.split("\t") for line in listing)
        if not meta.startswith("12")
    )
    with ObjectReader(only(tmp_path)) as reader:
        tree = reader.tree(repo.head)
        assert [(p, tree.blob_id(i), tree.modes[i]) for i, p in enumerate(tree.paths)] == expected
        assert (tree.symlinks, tree.submodules, tree.missing, len(tree)) == (1, 0, 0, 5)
        assert dict(zip(tree.paths, (text for _, text in reader.blobs(row[1] for row in expected)), strict=True)) == {
            b"B": b"4", b"a/b/c": b"3", b"b.py": b"2", b"b/x.py": b"1", b"caf\xe9": b"\xff\0",
        }  # fmt: skip
        assert reader.size(expected[-1][1]) == 2


def test_a_missing_object_is_none_and_a_missing_commit_is_not_found(tmp_path: Path) -> None:
    make_repo(tmp_path / "r", {"a": "1"})
    reader = ObjectReader(only(tmp_path))
    assert reader.read(b"\1" * 20) is None
    assert reader.size(b"\1" * 20) is None
    for commit in ("1" * 40, "zz", "", "-"):
        with pytest.raises(RevisionNotFound):
            reader.tree(CommitId(commit))


def test_a_closed_reader_reads_again(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {"a": "1"})
    reader = ObjectReader(only(tmp_path))
    first = reader.tree(repo.head)
    reader.close()
    assert reader.tree(repo.head) == first


def test_a_partial_clone_gives_what_it_holds_and_fetches_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "origin", {"a": "1\n", "b": "2\n"})
    repo.clone(tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    repository = only(tmp_path / "partial")
    assert repository.incomplete == "partial clone"
    with ObjectReader(repository) as reader:
        tree = reader.tree(repo.head)
        assert tree.paths == [b"a", b"b"]
        assert [reader.read(tree.blob_id(i)) for i in range(2)] == [None, None]


@pytest.mark.parametrize("extension", ["partialClone = origin", "noop-v1 = true", "compatObjectFormat = sha256"])
def test_extensions_that_change_nothing_for_readers_are_read(tmp_path: Path, extension: str) -> None:
    """Git of late writes them with format 1 of its repositories, which libgit2 refused as damage."""
    repo = make_repo(tmp_path / "r", {"a": "needle\n"})
    head = repo.head
    repo.git("config", "core.repositoryformatversion", "1")
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(f"[extensions]\n\t{extension}\n")
    repository = only(tmp_path / "r")
    assert repository.incomplete == ("partial clone" if "partial" in extension else "")
    with ObjectReader(repository) as reader:
        assert reader.read(reader.tree(head).blob_id(0)) == b"needle\n"
    assert LocalHistoryStore(tmp_path / "index", workers=1).update([repository]).built == (repository.name,)


@pytest.mark.parametrize("setting", ["[extensions]\n\tfuture = 1", "[core]\n\trepositoryformatversion = 7"])
def test_formats_of_the_future_are_unsupported_and_not_damage(tmp_path: Path, setting: str) -> None:
    repo = make_repo(tmp_path / "r", {"a": "1\n"})
    repo.git("config", "core.repositoryformatversion", "1")
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(setting + "\n")
    make_repo(tmp_path / "good", {"a": "1\n"})
    (skipped,) = Catalog.open([tmp_path]).skipped
    assert skipped.reason == "unsupported"
    assert "libgit2 can't read" in skipped.message


def test_a_treeless_clone_counts_the_folders_it_lacks(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "origin", {"d/a": "1\n", "b": "2\n"})
    repo.clone(tmp_path / "treeless", "--filter=tree:1", "--no-checkout")
    with ObjectReader(only(tmp_path / "treeless")) as reader:
        tree = reader.tree(repo.head)
    assert (tree.paths, tree.missing) == ([b"b"], 1)


def test_a_shallow_clone_is_searched_for_what_it_holds(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "origin", {"a": "1"})
    first = repo.head
    repo.commit({"a": "2"})
    repo.clone(tmp_path / "shallow", "--depth=1")
    repository = only(tmp_path / "shallow")
    assert repository.incomplete == "shallow"
    with ObjectReader(repository) as reader:
        assert reader.tree(repo.head).paths == [b"a"]
        with pytest.raises(RevisionNotFound):
            reader.tree(first)


def test_a_damaged_blob_is_none_and_the_others_stay_readable(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {"a": "one\n", "b": "two\n"})
    name = repo.git("rev-parse", "HEAD:a")
    location = tmp_path / "r" / ".git" / "objects" / name[:2] / name[2:]
    location.chmod(0o644)
    location.write_bytes(b"not zlib")
    with ObjectReader(only(tmp_path)) as reader:
        tree = reader.tree(repo.head)
        assert [reader.read(tree.blob_id(i)) for i in range(2)] == [None, b"two\n"]


def test_nested_trees_that_name_endless_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = RepositoryBuilder(tmp_path / "r")
    name = repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = repo.git("mktree", stdin="".join(f"100644 blob {name}\tf{n}\n" for n in range(10)).encode())
    for _ in range(30):
        tree = repo.git("mktree", stdin="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    commit = repo.git("-c", "user.name=A", "-c", "user.email=a@b", "commit-tree", tree, "-m", "bomb")
    repo.git("update-ref", "refs/heads/main", commit)
    monkeypatch.setattr("sourcelight.repos.objects.trees.MAX_FILES", 1000)
    with ObjectReader(only(tmp_path)) as reader, pytest.raises(Exception, match="more than 1,000 files"):
        reader.tree(CommitId(commit))


def test_an_object_store_borrowed_from_another_repository_is_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "origin", {"a": "1"})
    repo.git("clone", "-q", "--shared", str(tmp_path / "origin"), str(tmp_path / "borrows"))
    with ObjectReader(only(tmp_path / "borrows")) as reader:
        assert reader.read(reader.tree(repo.head).blob_id(0)) == b"1"
