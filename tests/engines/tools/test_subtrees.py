"""Commits of merged subtrees name their paths from another root; analyses have them where the merge put them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import AUTHOR, identity


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A repository with a library that came as a subtree, was moved on with it, and was changed here."""
    root = tmp_path_factory.mktemp("subtrees")
    library = RepositoryBuilder(root / "elsewhere" / "library")
    library.commit({"README.md": "library\n", "include/lib.h": "one\n", "Makefile": "all:\n"}, "library 1")
    repo = RepositoryBuilder(root / "src" / "app")
    repo.commit({"README.md": "app\n", "src/app.c": "main\n", "doc/index.md": "words\n"}, "app 1")
    repo.git("fetch", "-q", library.path.as_uri(), "main:first")
    _put_below(repo, "first", "deps/lib")
    repo.commit({"src/app.c": "main\nmore\n"}, "app 2")
    library.commit({"README.md": "library\ntwo\n", "include/lib.h": "one\ntwo\n"}, "library 2")
    repo.git("fetch", "-q", library.path.as_uri(), "main:second")
    _put_below(repo, "second", "deps/lib")
    repo.commit({"deps/lib/include/lib.h": "one\ntwo\nours\n"}, "change the library")
    return repo


def _put_below(repo: RepositoryBuilder, branch: str, folder: str) -> None:
    """Merge another history below a folder, as git subtree does."""
    env = identity(AUTHOR, AUTHOR, repo._date)
    repo._date += 3600
    repo.git("merge", "-q", "-s", "ours", "--no-commit", "--allow-unrelated-histories", branch, env=env)
    if (repo.path / folder).exists():
        repo.git("rm", "-rqf", folder)
    repo.git("read-tree", f"--prefix={folder}/", "-u", branch)
    repo.git("commit", "-q", "--no-verify", "-m", f"put {branch} below {folder}", env=env)


def test_only_folders_are_shown_that_the_tree_has(code: sl.Client, repo: RepositoryBuilder) -> None:
    folders = {f"{line}/" for line in repo.git("ls-tree", "-rd", "--name-only", "HEAD").splitlines()}
    churn = set(code.churn("app", by="directory")["directory"])
    assert churn == {"/*", "deps/", "doc/", "src/"}
    assert churn - {"/*"} <= folders
    deep = code.churn("app", by="directory", depth=3).set_index("directory")
    assert [deep.loc["deps/lib/include/", name] for name in ("additions", "commits")] == [3, 3]


def test_all_changed_lines_are_still_counted(code: sl.Client, repo: RepositoryBuilder) -> None:
    rows = [line.split("\t") for line in repo.git("log", "--numstat", "--format=").splitlines() if line]
    assert code.churn("app", by="directory")["additions"].sum() == sum(int(row[0]) for row in rows)


def test_files_of_the_subtree_are_not_those_of_the_same_name_here(code: sl.Client) -> None:
    files = code.churn("app", by="path").set_index("path")
    assert files.loc["README.md", "commits"] == 1
    assert files.loc["deps/lib/README.md", "commits"] == 2
    hot = code.hotspots("app").set_index("path")
    assert hot.loc["README.md", "commits"] == 1
    assert hot.loc["deps/lib/include/lib.h", "commits"] == 3
    pairs = code.coupling("app", min_commits=2)
    assert ("deps/lib/README.md", "deps/lib/include/lib.h") in set(zip(pairs["path"], pairs["other_path"], strict=True))


def test_a_row_leads_to_the_commits_of_the_subtree(code: sl.Client) -> None:
    churn = code.churn("app", by="directory")
    row = churn.index[churn["directory"] == "deps/"][0]
    assert sorted(code.drill_down(churn, row)["subject"]) == ["change the library", "library 1", "library 2"]
    assert churn.loc[row, "commits"] == 3


def test_a_history_that_was_merged_at_the_top_stays_there(tmp_path: Path) -> None:
    other = RepositoryBuilder(tmp_path / "elsewhere" / "other")
    other.commit({"b/b.py": "b\n"}, "b")
    repo = RepositoryBuilder(tmp_path / "src" / "app")
    repo.commit({"a/a.py": "a\n"}, "a")
    repo.git("fetch", "-q", other.path.as_uri(), "main:other")
    env = identity(AUTHOR, AUTHOR, repo._date)
    repo.git("merge", "-q", "--allow-unrelated-histories", "-m", "join", "other", env=env)
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as client:
        assert set(client.churn("app", by="directory")["directory"]) == {"a/", "b/"}
