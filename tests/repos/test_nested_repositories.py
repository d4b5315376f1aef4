"""Work trees around other repositories: what is in those is theirs, whatever their state."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.core.errors import RepositoryError
from sourcelight.repos import Catalog, Repository, ServicePolicy, Viewer, worktree_status
from sourcelight.repos.state import State
from sourcelight.repos.worktree_changes import changed_paths
from sourcelight.testing import RepositoryBuilder

Damage = Callable[[Path], object]


def _empty(folder: Path) -> None:
    shutil.rmtree(folder / ".git")
    (folder / ".git").mkdir()


def _with_file(folder: Path) -> None:
    """Make the git directory a file that names one elsewhere, which is gone."""
    shutil.rmtree(folder / ".git")
    (folder / ".git").write_text("gitdir: /nowhere\n")


STATES: dict[str, Damage] = {
    "usable": lambda folder: folder,
    "without HEAD": lambda folder: (folder / ".git" / "HEAD").unlink(),
    "without objects": lambda folder: shutil.rmtree(folder / ".git" / "objects"),
    "elsewhere": _with_file,
    "empty": _empty,
}


@pytest.fixture
def outer(tmp_path: Path) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path / "root" / "outer")
    builder.commit({"a.txt": "public\n", "vendor/README": "tracked\n"}, "begin")
    return builder


def nest(outer: RepositoryBuilder, *parts: str) -> Path:
    nested = RepositoryBuilder(outer.path.joinpath(*parts))
    nested.commit({"secret.txt": "private\n", "deep/secret.txt": "private\n"}, "begin")
    (nested.path / "new.txt").write_text("private\n")
    return nested.path


def open_outer(outer: RepositoryBuilder, *, served: bool) -> Repository:
    if served:
        catalog = Catalog.open(outer.path.parent, policy=ServicePolicy(State().repositories))
        return catalog.get("outer", Viewer.owner())
    return Catalog.open(outer.path).get("outer")


@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("folder", ["vendor", "untracked"])
def test_files_of_a_repository_inside_are_not_new_files(
    outer: RepositoryBuilder, folder: str, state: str, *, served: bool
) -> None:
    """Where the outer repository tracks a file, those of the inner one were its untracked files, with their content."""
    STATES[state](nest(outer, folder))
    (outer.path / "mine.txt").write_text("x\n")
    assert changed_paths(open_outer(outer, served=served)) == (set(), set(), {b"mine.txt"})


def test_a_served_work_tree_shows_no_change_inside_another_repository(outer: RepositoryBuilder) -> None:
    nest(outer, "vendor")
    (outer.path / "vendor" / "README").write_text("private\n")
    (outer.path / "vendor" / "staged").write_text("private\n")
    outer.git("update-index", "--add", "vendor/README")
    assert changed_paths(open_outer(outer, served=True)) == (set(), set(), set())
    assert changed_paths(open_outer(outer, served=False)) == ({b"vendor/README"}, set(), set())


def test_a_served_work_tree_shows_nothing_of_a_bare_repository(outer: RepositoryBuilder) -> None:
    nested = nest(outer, "..", "..", "away")
    outer.git("clone", "-q", "--bare", str(nested), str(outer.path / "vendor" / "mirror.git"))
    assert changed_paths(open_outer(outer, served=True)) == (set(), set(), set())
    assert b"vendor/mirror.git/HEAD" in changed_paths(open_outer(outer, served=False))[2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("damage", ["long", "pipe", "link"])
def test_an_error_does_not_name_the_repository_inside(outer: RepositoryBuilder, tmp_path: Path, damage: str) -> None:
    """It had the whole path of the file of rules."""
    rules = nest(outer, "classified") / "deep" / ".gitignore"
    if damage == "long":
        rules.write_text("x\n" * 600_000)
    elif damage == "pipe":
        os.mkfifo(rules)
    else:
        (tmp_path / "elsewhere").write_text("x\n")
        rules.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RepositoryError, match="has rules that can't be read") as caught:
        worktree_status(open_outer(outer, served=True))
    assert "classified" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
def test_a_work_tree_that_is_not_compared_is_named(outer: RepositoryBuilder, tmp_path: Path) -> None:
    """HEAD was searched in its place, and the result was complete."""
    (outer.path / "a.txt").write_text("public, changed\n")
    with sl.open(outer.path, worktree=True, index_dir=tmp_path / "index", background_index=False) as code:
        assert code.search("changed").status == "complete"
        (outer.path / ".gitignore").write_text("x\n" * 600_000)
        result = code.search("public")
        assert result.matches["line"].tolist() == ["public"]
        assert result.status == "limited"
        (reason,) = result.reasons
        assert reason.startswith("unreadable-worktree: 1 unreadable work tree (outer: .gitignore of outer has")
        assert code.search("repo:outer@HEAD public").status == "complete"
        file = code.read_file("outer", "a.txt")
        assert file.attrs["status"] == "limited"
        assert "can't be compared with HEAD" in file.attrs["notices"][0]
        assert code.read_file("outer", "a.txt", revision="HEAD").attrs["status"] == "complete"
        (outer.path / ".gitignore").unlink()
        assert code.search("changed").status == "complete"
