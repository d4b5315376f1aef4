import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, NoRepositories, RepositoryNotFound
from sourcelight.repos import Catalog, ObjectReader, ServicePolicy, Viewer, resolve, worktree_status
from sourcelight.repos.state import State
from sourcelight.testing import RepositoryBuilder, make_repo
from sourcelight.testing.repositories import BareBuilder


def names(catalog: Catalog) -> list[str]:
    return [repository.name for repository in catalog.repositories]


def test_work_trees_bare_ones_and_nested_ones_are_found_at_any_depth(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "team" / "app", {"a": "1"})
    make_repo(tmp_path / "team" / "app" / "third" / "inner", {"b": "1"})
    app.clone(tmp_path / "mirrors" / "deep" / "app2.git", "--mirror")
    catalog = Catalog.open([tmp_path])
    assert {(r.name, bool(r.worktree)) for r in catalog.repositories} == {
        ("app", True),
        ("inner", True),
        ("app2", False),
    }
    assert catalog.skipped == ()
    assert catalog.warnings == ()


def test_the_home_folder_and_git_folders_may_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    monkeypatch.setenv("HOME", str(tmp_path))
    (by_home,) = Catalog.open("~").repositories
    (by_git_dir,) = Catalog.open(tmp_path / "app" / ".git").repositories
    assert by_home == by_git_dir
    assert by_home.worktree == str(tmp_path / "app")


def test_linked_work_trees_are_one_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    repo.git("worktree", "add", "-q", "-b", "side", "../app-side")
    catalog = Catalog.open([tmp_path])
    (repository,) = catalog.repositories
    assert repository.worktree == str(tmp_path / "app")
    (linked,) = catalog.skipped
    assert (linked.path, linked.reason) == (str(tmp_path / "app-side"), "linked")
    assert str(tmp_path / "app") in linked.message
    catalog.refresh()
    assert catalog.skipped == (linked,)
    # Two ways to the same directory leave out nothing.
    (tmp_path / "again").symlink_to(tmp_path / "app")
    assert Catalog.open([tmp_path / "app", tmp_path / "again"]).skipped == ()


def test_a_linked_work_tree_alone_is_read_at_its_own_head(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "main" / "app", {"a": "1"})
    (tmp_path / "side").mkdir()
    repo.git("worktree", "add", "-q", "-b", "side", "../../side/app")
    side = RepositoryBuilder(tmp_path / "side" / "app")
    head = side.commit({"a": "2"})
    (repository,) = Catalog.open([tmp_path / "side"]).repositories
    assert repository.info.commit == head != repo.head
    assert resolve(repository, "") == head
    assert repository.key == Catalog.open([tmp_path / "main"]).repositories[0].key


def test_a_submodule_is_its_own_repository_once(tmp_path: Path) -> None:
    make_repo(tmp_path / "elsewhere" / "lib", {"l": "1"})
    app = make_repo(tmp_path / "src" / "app", {"a": "1"})
    app.git("submodule", "--quiet", "add", str(tmp_path / "elsewhere" / "lib"), "lib")
    app.commit()
    catalog = Catalog.open([tmp_path / "src"])
    assert [(r.name, r.worktree) for r in catalog.repositories] == [
        ("app", str(tmp_path / "src" / "app")),
        ("lib", str(tmp_path / "src" / "app" / "lib")),
    ]
    with ObjectReader(catalog.get("app")) as reader:
        tree = reader.tree(app.head)
    assert (tree.paths, tree.submodules) == ([b".gitmodules", b"a"], 1)


def test_links_in_a_circle_and_twice_given_paths_change_nothing(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    (tmp_path / "app" / "up").symlink_to(tmp_path)
    (tmp_path / "again").symlink_to(tmp_path / "app")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "broken").symlink_to("nowhere")
    catalog = Catalog.open([tmp_path / "app", tmp_path, tmp_path / "again"])
    assert names(catalog) == ["app"]
    assert catalog.warnings == ()


def test_caches_of_tools_are_not_walked(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    make_repo(tmp_path / "app" / "node_modules" / "dep", {"b": "1"})
    assert names(Catalog.open([tmp_path])) == ["app"]
    assert names(Catalog.open([tmp_path / "app" / "node_modules"])) == ["dep"]


def test_what_cant_be_read_is_skipped_with_its_reason(tmp_path: Path) -> None:
    make_repo(tmp_path / "good", {"a": "1"})
    RepositoryBuilder(tmp_path / "empty")
    torn = make_repo(tmp_path / "torn", {"a": "1"})
    shutil.rmtree(tmp_path / "torn" / ".git" / "objects")
    damaged = make_repo(tmp_path / "lost", {"a": "1"})
    name = damaged.git("rev-parse", "HEAD^{tree}")
    (tmp_path / "lost" / ".git" / "objects" / name[:2] / name[2:]).unlink()
    make_repo(tmp_path / "garbled", {"a": "1"})
    (tmp_path / "garbled" / ".git" / "config").write_bytes(b"[core\nx")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / ".git").write_text("gitdir: /nowhere/at/all\n")
    (tmp_path / "headless" / ".git").mkdir(parents=True)
    (tmp_path / "headless" / ".git" / "config").write_text("")
    RepositoryBuilder(tmp_path / "sha256", object_format="sha256").commit({"a": "1"})
    make_repo(tmp_path / "reftable", {"a": "1"}).git("config", "core.repositoryformatversion", "1")
    with (tmp_path / "reftable" / ".git" / "config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n")
    catalog = Catalog.open([tmp_path, tmp_path / "absent"])
    assert names(catalog) == ["good"]
    assert {Path(skip.path).name: skip.reason for skip in catalog.skipped} == {
        "absent": "not found",
        "empty": "empty",
        "torn": "corrupt",
        "lost": "corrupt",
        "garbled": "corrupt",
        "dangling": "corrupt",
        "headless": "corrupt",
        "sha256": "unsupported",
        "reftable": "unsupported",
    }
    assert all(skip.message for skip in catalog.skipped)
    assert torn.path.exists()


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A folder that everyone may read, and this process for a while only everyone's rights (where it can)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextlib.contextmanager
def rights_of_nobody() -> Iterator[None]:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_unreadable_folders_are_skipped_and_those_of_others_are_read(foreign: Path) -> None:
    head = make_repo(foreign / "good", {"a": "1"}).head
    hidden = make_repo(foreign / "hidden", {"a": "1"})
    (hidden.path / ".git").chmod(0)
    partly = make_repo(foreign / "partly", {"a": "1"})
    (partly.path / ".git" / "config").chmod(0)
    (foreign / "locked").mkdir(mode=0)
    try:
        with rights_of_nobody():
            catalog = Catalog.open([foreign])
            with ObjectReader(catalog.get("good")) as reader:
                assert reader.tree(head).paths == [b"a"]
            assert worktree_status(catalog.get("good")).clean
            with pytest.raises(NoRepositories, match="unreadable"):
                Catalog.open(foreign / "locked")
    finally:
        for path in (hidden.path / ".git", partly.path / ".git" / "config", foreign / "locked"):
            path.chmod(0o755)
    assert names(catalog) == ["good"]
    assert {Path(skip.path).name: skip.reason for skip in catalog.skipped} == {
        "hidden": "unreadable",
        "partly": "unreadable",
        "locked": "unreadable",
    }


def test_nothing_at_all_says_what_was_seen(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "empty")
    with pytest.raises(NoRepositories, match="no commit yet") as caught:
        Catalog.open([tmp_path])
    assert list(caught.value.skipped) == [str(tmp_path / "empty")]
    for path in (tmp_path / "absent", tmp_path / "empty" / "none"):
        with pytest.raises(NoRepositories):
            Catalog.open(path)
    with pytest.raises(NoRepositories):
        Catalog.open([])


def test_a_head_without_its_branch_falls_back_to_another(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    head = repo.head
    repo.git("symbolic-ref", "HEAD", "refs/heads/gone")
    repo.git("branch", "master", head)
    catalog = Catalog.open(tmp_path)
    assert catalog.repositories[0].info.commit == head
    assert "main is searched instead" in catalog.warnings[0]


def test_a_head_whose_commit_is_lost_is_damage_even_beside_a_sound_branch(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    repo.git("branch", "sound")
    (tmp_path / "app" / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
    with pytest.raises(NoRepositories, match="corrupt: the commit that HEAD names"):
        Catalog.open(tmp_path)


def test_a_part_of_a_repository_means_all_of_it(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"docs/deep/a": "1"})
    catalog = Catalog.open(tmp_path / "app" / "docs" / "deep")
    assert [r.worktree for r in catalog.repositories] == [str(tmp_path / "app")]
    assert "the whole repository is searched" in catalog.warnings[0]


def test_files_beside_repositories_stay_unsearched_when_the_last_repository_goes(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "one").commit({"a.txt": "x\n"})
    (tmp_path / "notes.txt").write_text("no part of any repository\n", "utf-8")
    untracked = tmp_path / "one" / "settings.env"
    untracked.write_text("no part of any commit\n", "utf-8")
    folder, repository = Catalog.open(tmp_path), Catalog.open(tmp_path / "one")
    shutil.rmtree(tmp_path / "one" / ".git")
    for catalog in (folder, repository):
        assert catalog.refresh()
        assert catalog.repositories == ()

    RepositoryBuilder(tmp_path / "two").commit({"a.txt": "x\n"})
    assert folder.refresh()
    assert [repository.name for repository in folder.repositories] == ["two"]


def test_files_beside_repositories_stay_unsearched_after_a_restart(tmp_path: Path) -> None:
    """All accounts could read the files that were left when a service started again."""
    state, root = State(), tmp_path / "src"
    RepositoryBuilder(root / "one").commit({"a.txt": "x\n"})
    (root / "notes.txt").write_text("no part of any repository\n", "utf-8")
    policy = ServicePolicy(state.repositories)
    assert len(Catalog.open(root, policy=policy).repositories) == 1
    shutil.rmtree(root / "one")
    with pytest.raises(NoRepositories, match="its repositories are gone"):
        Catalog.open(root, policy=policy)

    # Another directory of files is still a snapshot, and so is this one to a user of this machine.
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("x\n", "utf-8")
    assert len(Catalog.open(tmp_path / "files", policy=policy).repositories) == 1
    assert len(Catalog.open(root).repositories) == 1
    RepositoryBuilder(root / "two").commit({"a.txt": "x\n"})
    assert [repository.name for repository in Catalog.open(root, policy=policy).repositories] == ["two"]


def test_an_untracked_folder_in_a_repository_is_a_snapshot(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    repo.write({"env/lib/site/x.py": "1"})
    (repository,) = Catalog.open(tmp_path / "app" / "env" / "lib").repositories
    assert (repository.kind, repository.name) == ("snapshot", "lib")


def test_facts_come_from_git(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"}, origin="https://me:secret@git.example.org/team/app.git")
    (tmp_path / "app" / ".git" / "description").write_text("Unnamed repository; edit this file 'description'…\n")
    (tmp_path / "app" / ".git" / "FETCH_HEAD").write_text("")
    os.utime(tmp_path / "app" / ".git" / "FETCH_HEAD", (4_000_000_000, 4_000_000_000))
    (repository,) = Catalog.open(tmp_path).repositories
    info = repository.info
    assert info.name == "git.example.org/team/app"
    assert info.url == "https://git.example.org/team/app"
    assert info.description == ""
    assert info.last_fetched == "2096-10-02T07:06:40Z"
    assert info.commit == repo.head
    assert 0 < info.id < 2**31
    assert "secret" not in repr(repository)
    (tmp_path / "app" / ".git" / "description").write_text("Payments\n")
    repeated = Catalog.open(tmp_path).repositories[0].info
    assert (repeated.description, repeated.id) == ("Payments", info.id)


def test_equal_names_are_told_apart_and_said(tmp_path: Path) -> None:
    for folder in ("a/app", "b/app", "c/fork"):
        make_repo(tmp_path / folder, {"a": folder}, origin="git@git.example.org:team/app.git")
    catalog = Catalog.open([tmp_path])
    base = "git.example.org/team/app"
    assert names(catalog) == [base, f"{base} (b/app)", f"{base} (fork)"]
    assert catalog.get(base).worktree == str(tmp_path / "a" / "app")
    assert len(catalog.warnings) == 2
    assert all(str(tmp_path / "a" / "app") in warning for warning in catalog.warnings)
    assert len({r.info.id for r in catalog.repositories}) == 3


def test_folders_of_one_name_are_told_apart_by_the_folders_above(tmp_path: Path) -> None:
    for folder in ("a/tornado/repo", "b/tornado/repo", "c/tornado/repo", "click/repo"):
        make_repo(tmp_path / folder, {"a": folder})
    assert names(Catalog.open([tmp_path])) == ["c/tornado/repo", "click/repo", "repo", "tornado/repo"]


def test_a_private_repository_can_not_be_told_from_an_absent_one(tmp_path: Path) -> None:
    make_repo(tmp_path / "open", {"a": "1"})
    make_repo(tmp_path / "secret", {"a": "1"})
    (tmp_path / "repos.toml").write_text("[repositories.secret]\nprivate = true\n")
    catalog = Catalog.open([tmp_path])
    assert [r.name for r in catalog.visible(Viewer.anonymous())] == ["open"]
    assert [r.name for r in catalog.visible(Viewer.owner())] == ["open", "secret"]
    with pytest.raises(RepositoryNotFound) as hidden:
        catalog.get("secret", Viewer.anonymous())
    with pytest.raises(RepositoryNotFound) as absent:
        catalog.get("absent", Viewer.anonymous())
    assert str(hidden.value).replace("secret", "absent") == str(absent.value)
    assert vars(hidden.value).keys() == vars(absent.value).keys()
    assert catalog.get("secret").info.private


def test_a_cancelled_walk_stops(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        Catalog.open([tmp_path], cancellation=cancellation)


def test_progress_ends_with_the_whole_count(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    seen: list[tuple[int, int]] = []
    Catalog.open([tmp_path], progress=lambda folders, count: seen.append((folders, count)))
    assert seen[-1] == (2, 1)


# refresh


def test_nothing_moved_is_no_change(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    catalog = Catalog.open([tmp_path])
    before = catalog.repositories
    assert not catalog.refresh()
    assert not catalog.refresh(thorough=True)
    assert catalog.repositories == before


def test_commits_resets_and_switches_are_noticed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    first = repo.head
    catalog = Catalog.open([tmp_path])
    for step in range(3):  # quick ones, within one tick of the clock
        head = repo.commit({"a": f"{step + 2}"})
        assert catalog.refresh()
        assert catalog.repositories[0].info.commit == head
    repo.git("reset", "-q", "--hard", first)
    assert catalog.refresh()
    assert catalog.repositories[0].info.commit == first
    repo.branch("side")
    head = repo.commit({"b": "1"})
    repo.git("pack-refs", "--all")
    assert catalog.refresh()
    assert catalog.repositories[0].info.commit == head


def test_a_brief_look_notices_every_commit(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    first = repo.head
    bare = BareBuilder(tmp_path / "bare.git")
    repo.git("push", "-q", str(bare.path), "main")
    empty = RepositoryBuilder(tmp_path / "later")
    catalog = Catalog.open([tmp_path])

    def settled() -> None:
        """Let the time stamps of what was written grow old enough to be trusted."""
        bound = time.monotonic() + 5
        while not catalog.is_unchanged():
            assert time.monotonic() < bound
            threading.Event().wait(0.02)
            catalog.refresh(brief=True)

    def seen(name: str, commit: str) -> None:
        assert catalog.refresh(brief=True)
        assert catalog.get(name).info.commit == commit
        settled()
        assert not catalog.refresh(brief=True)

    settled()
    seen("app", repo.commit({"a": "2"}))
    repo.git("reset", "-q", "--hard", first)
    seen("app", first)
    repo.git("pack-refs", "--all")
    catalog.refresh(brief=True)
    settled()
    repo.git("switch", "-q", "-c", "deep/side")
    head = repo.commit({"b": "1"})
    seen("app", head)
    repo.git("push", "-q", "--force", str(bare.path), "HEAD:refs/heads/main")
    bare.git("pack-refs", "--all")
    seen("bare", head)
    seen("later", empty.commit({"a": "1"}))


def test_a_forced_push_and_a_rewritten_history_are_noticed(tmp_path: Path) -> None:
    bare = BareBuilder(tmp_path / "app.git")
    builder = make_repo(tmp_path / "work" / "one", {"a": "1"})
    builder.git("push", "-q", str(bare.path), "main")
    catalog = Catalog.open([bare.path])
    reader = ObjectReader(catalog.repositories[0])
    tree = reader.tree(builder.head)
    two = make_repo(tmp_path / "work" / "two", {"a": "other"})
    two.git("push", "-q", "--force", str(bare.path), "main")
    bare.git("reflog", "expire", "--expire=now", "--all")
    bare.git("gc", "-q", "--prune=now")
    assert catalog.refresh()
    assert catalog.repositories[0].info.commit == two.head
    assert reader.tree(two.head).paths == [b"a"]
    assert reader.read(tree.blob_id(0)) in {None, b"1"}


def test_a_deleted_repository_turns_into_a_skipped_one_and_comes_back(tmp_path: Path) -> None:
    make_repo(tmp_path / "keep", {"a": "1"})
    make_repo(tmp_path / "app", {"a": "1"})
    catalog = Catalog.open([tmp_path])
    repository = catalog.get("app")
    reader = ObjectReader(repository)
    tree = reader.tree(repository.info.commit)
    shutil.rmtree(tmp_path / "app")
    assert reader.read(tree.blob_id(0)) in {None, b"1"}
    with pytest.raises(RepositoryNotFound):
        resolve(repository, "")
    assert catalog.refresh()
    assert names(catalog) == ["keep"]
    repo = make_repo(tmp_path / "app", {"a": "2"})
    assert catalog.refresh()
    assert catalog.get("app").info.commit == repo.head


def test_a_repository_recreated_between_two_looks_is_noticed(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    catalog = Catalog.open(tmp_path / "app")
    shutil.rmtree(tmp_path / "app")
    head = make_repo(tmp_path / "app", {"a": "2"}).head
    assert catalog.refresh()
    assert catalog.get("app").info.commit == head


def test_new_repositories_and_first_commits_are_noticed(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"})
    catalog = Catalog.open([tmp_path])
    new = RepositoryBuilder(tmp_path / "deep" / "new")
    assert catalog.refresh()
    assert [skip.reason for skip in catalog.skipped] == ["empty"]
    new.commit({"a": "1"})
    assert catalog.refresh()
    assert names(catalog) == ["app", "new"]
    assert catalog.skipped == ()


def test_many_threads_refresh_at_once(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    catalog = Catalog.open([tmp_path])
    head = repo.commit({"a": "2"})
    heads: list[str] = []

    def look() -> None:
        catalog.refresh()
        heads.append(catalog.get("app").info.commit)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert heads == [head] * 8
