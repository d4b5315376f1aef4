"""Histories kept on disk: what is new is added, what is broken is said, and nothing half done counts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.history.histories import build_many_kinds, git_log, literal, oids, open_history, repository_of
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, IndexDamaged, SearchIndexError
from sourcelight.engines.history import ALL_REFS, History, HistoryProgress, LocalHistoryStore
from sourcelight.engines.history.search.find import find_commits, find_diffs
from sourcelight.engines.history.search.query import CommitFilter, CommitQuery, DiffQuery, PatternTerm
from sourcelight.engines.history.store import compaction, update
from sourcelight.engines.storage.folder import manifest_bytes, read_manifest
from sourcelight.testing import RepositoryBuilder, make_repo


@pytest.fixture
def store(tmp_path: Path) -> LocalHistoryStore:
    return LocalHistoryStore(tmp_path / "store")


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path / "repo")
    for number in range(5):
        builder.commit({"a.txt": f"needle {number}\n"}, f"change {number}")
    return builder


def commits_with(history: History, text: str, *revisions: str) -> set[str]:
    query = DiffQuery(commits=CommitFilter(revisions=revisions), tree=PatternTerm(literal(text)))
    return oids(history, find_diffs(history, query).commits)


def segments(history: History) -> int:
    return len(history.segments)


def same(first: History, second: History, revision: str) -> None:
    """Both answer alike for what is behind `revision`."""
    for text in ("needle", "line", "e", "more", "Subproject"):
        assert commits_with(first, text, revision) == commits_with(second, text, revision)
    behind = CommitQuery(commits=CommitFilter(revisions=(revision,)))
    assert oids(first, find_commits(first, behind)) == oids(second, find_commits(second, behind))
    assert first.changes.additions.sum() == second.changes.additions.sum() or segments(first) != segments(second)


def test_new_commits_are_a_further_segment(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    previous = open_history(store, repo.path)
    repo.commit({"a.txt": "needle again\n", "b.txt": "needle 3\n"}, "more")
    assert not store.is_current(repository_of(repo.path))
    report = store.update([repository_of(repo.path)])
    assert (report.built, report.commits) == (("repo",), 1)
    history = store.open(repository_of(repo.path))
    assert (segments(previous), segments(history)) == (1, 2)
    assert commits_with(history, "needle 3") == git_log(repo.path, "-Gneedle 3")
    assert len(previous.commits) == 5  # a snapshot stays as it is
    assert store.update([repository_of(repo.path)]).current == ("repo",)


def test_many_small_updates_answer_as_one_build(tmp_path: Path, store: LocalHistoryStore) -> None:
    repo = build_many_kinds(tmp_path / "kinds")
    everything = open_history(LocalHistoryStore(tmp_path / "whole"), repo.path)
    for number in range(0, len(everything.commits), 2):
        open_history(store, repo.path, everything.oid(number))
    history = open_history(store, repo.path)
    assert 1 < segments(history) <= compaction.MAX_SEGMENTS
    same(history, everything, repo.head)
    for number in range(len(everything.commits)):
        mine = history.position(everything.oid(number))
        assert mine is not None
        parents = [
            everything.oid(int(p))
            for p in everything.commits.parents[slice(*everything.commits.parent_starts[number : number + 2])]
        ]
        parent_numbers = history.commits.parents[slice(*history.commits.parent_starts[mine : mine + 2])]
        assert [history.oid(int(p)) for p in parent_numbers] == parents
        assert history.message(mine) == everything.message(number)
        assert (
            history.identities.names[history.commits.author[mine]]
            == everything.identities.names[everything.commits.author[number]]
        )
        assert lines_of(history, mine) == lines_of(everything, number)


def lines_of(history: History, commit: int) -> list[tuple[bytes, bytes]]:
    changes = history.changes
    return [
        (history.paths[int(changes.path[change])], history.line(row))
        for change in range(*history.commits.change_starts[commit : commit + 2].tolist())
        for row in range(*changes.row_starts[change : change + 2].tolist())
    ]


def test_all_refs_can_be_read_and_kept_apart(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    repo.branch("side", start="HEAD~2")
    side = repo.commit({"side.txt": "needle aside\n"}, "aside")
    repo.tag("v1", message="one")
    repo.switch("main")
    assert open_history(store, repo.path).position(side) is None
    history = open_history(store, repo.path, *ALL_REFS)
    assert {"HEAD", "refs/heads/main", "refs/heads/side", "refs/tags/v1"} <= set(history.tips)
    assert commits_with(history, "aside", side) == {side}
    assert commits_with(history, "aside", repo.head) == set()
    assert commits_with(history, "needle", side) == git_log(repo.path, "-Gneedle", revisions=["side"])


def test_a_rewritten_branch_leaves_what_it_left_behind(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    previous = open_history(store, repo.path)
    old = repo.head
    repo.git("reset", "-q", "--hard", "HEAD~2")
    new = repo.commit({"a.txt": "needle rewritten\n"}, "rewritten")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    history = open_history(store, repo.path)
    assert commits_with(history, "needle", new) == git_log(repo.path, "-Gneedle")
    assert len(commits_with(previous, "needle", old)) == 5
    # Two of six commits are left behind, and with them more than a quarter of the rows: they are dropped.
    assert history.position(old) is None


def test_what_git_no_longer_has_is_not_read_twice(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    repo.branch("side")
    repo.commit({f"{n}.txt": "few\n" for n in range(2)}, "left behind")
    open_history(store, repo.path, "refs/heads/side")
    repo.switch("main")
    repo.git("branch", "-D", "side")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    repo.commit({"a.txt": "needle next\n"}, "next")
    history = open_history(store, repo.path)
    assert len(history.commits) == len(set(oids(history, range(len(history.commits)))))
    assert commits_with(history, "needle", repo.head) == git_log(repo.path, "-Gneedle")


def test_segments_are_joined_when_they_are_many(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    for number in range(12):
        repo.commit({"a.txt": f"needle more {number}\n"}, f"more {number}")
        history = open_history(store, repo.path)
        assert segments(history) <= compaction.MAX_SEGMENTS
    assert commits_with(history, "needle") == git_log(repo.path, "-Gneedle")
    assert len(history.commits) == 17
    files = {path.name for path in (store.folder / repository_of(repo.path).key).iterdir()}
    assert len([name for name in files if name.startswith("segment-")]) == segments(history)


def test_an_empty_repository_has_an_empty_history(store: LocalHistoryStore, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "one", {"a": "x\n"})
    repository = repository_of(repo.path)
    repo.git("update-ref", "-d", "HEAD")
    report = store.update([repository])
    assert not report.built
    assert list(report.failures) == ["one"]
    with pytest.raises(SearchIndexError, match="not built"):
        store.open(repository)


def test_a_folder_without_git_is_a_failure_with_a_reason(store: LocalHistoryStore, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.txt").write_text("x\n")
    report = store.update([repository_of(tmp_path / "plain")])
    assert report.failures == {"plain": "it is a directory without git, and has no history"}


def test_missing_objects_are_listed_and_the_rest_is_read(
    store: LocalHistoryStore, repo: RepositoryBuilder, tmp_path: Path
) -> None:
    clone = repo.clone(tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    repository = repository_of(clone.path)
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    report = store.update([repository])
    history = store.open(repository)
    assert not report.failures
    assert report.incomplete == {repository.name: int(history.commits.unread.sum())}
    assert history.commits.unread.all()
    assert [history.paths.text(int(p)) for p in history.changes.path] == ["a.txt"] * 5
    assert set(history.changes.additions.tolist()) == {-1}
    assert len(find_commits(history, CommitQuery())) == 5


def test_a_commit_between_others_may_be_unreadable(
    store: LocalHistoryStore, repo: RepositoryBuilder, tmp_path: Path
) -> None:
    clone = repo.clone(tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    blob = repo.git("rev-parse", "HEAD~2:a.txt")
    present = [b for n in range(5) if (b := repo.git("rev-parse", f"HEAD~{n}:a.txt")) != blob]
    for oid in present:
        raw = subprocess.run(["git", "cat-file", "blob", oid], cwd=repo.path, capture_output=True, check=True).stdout
        assert clone.git("hash-object", "-w", "--stdin", stdin=raw) == oid
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    history = open_history(store, clone.path)
    unread = {history.message(int(i)) for i in history.commits.unread.nonzero()[0]}
    assert unread == {"change 2", "change 3"}
    assert {history.message(history.position(c) or 0) for c in commits_with(history, "needle")} == {
        "change 0",
        "change 1",
        "change 4",
    }


def test_a_shallow_clone_says_so_and_is_read_anew_when_deepened(
    store: LocalHistoryStore, repo: RepositoryBuilder, tmp_path: Path
) -> None:
    clone = repo.clone(tmp_path / "shallow", "--depth=2")
    history = open_history(store, clone.path)
    assert (len(history.commits), history.shallow) == (2, "shallow")
    clone.git("fetch", "-q", "--unshallow")
    assert len(open_history(store, clone.path).commits) == 5
    assert not open_history(store, clone.path).shallow


def test_mailmap_is_applied_by_git_and_renewed(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    repo.commit({"b": "x\n"}, "by bob", author="bob <old@example.org>")
    history = open_history(store, repo.path)
    assert "bob" in history.identities.mapped_names
    repo.commit({".mailmap": "Bob Builder <bob@example.org> <old@example.org>\n"}, "names")
    history = open_history(store, repo.path)
    index = list(history.identities.names).index("bob")
    assert (history.identities.mapped_names[index], history.identities.mapped_emails[index]) == (
        "Bob Builder",
        "bob@example.org",
    )
    lines = repo.git("shortlog", "-sne", "HEAD").splitlines()
    assert any("Bob Builder <bob@example.org>" in line for line in lines)
    assert len(set(history.identities.person_emails)) == len(lines)


def test_progress_counts_commits_and_a_stop_keeps_what_was(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    events: list[HistoryProgress] = []
    store.update([repository_of(repo.path)], progress=events.append)
    assert (events[-1].commits_done, events[-1].commits_total) == (5, 5)
    repo.commit({"a.txt": "later\n"}, "later")
    cancellation = Cancellation()
    cancellation.cancel()
    report = store.update([repository_of(repo.path)], cancellation=cancellation)
    assert report.cancelled
    assert len(store.open(repository_of(repo.path)).commits) == 5


def test_a_damaged_file_is_never_trusted_and_built_anew(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    open_history(store, repo.path)
    repository = repository_of(repo.path)
    folder = store.folder / repository.key
    segment = next(path for path in folder.iterdir() if path.name.startswith("segment-"))
    segment.write_bytes(segment.read_bytes()[:-9])
    new = LocalHistoryStore(store.folder)
    with pytest.raises(IndexDamaged):
        new.open(repository)
    assert len(open_history(new, repo.path).commits) == 5
    (folder / "manifest.json").write_text("{")
    local_history_store = LocalHistoryStore(store.folder)
    with pytest.raises(IndexDamaged):
        local_history_store.open(repository)
    assert len(open_history(local_history_store, repo.path).commits) == 5


def test_another_format_or_git_is_read_anew(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    open_history(store, repo.path)
    manifest = store.folder / repository_of(repo.path).key / "manifest.json"
    content = read_manifest(manifest)
    manifest.write_bytes(manifest_bytes(content | {"made_with": "git 1"}))
    new = LocalHistoryStore(store.folder)
    assert new.update([repository_of(repo.path)]).built == ("repo",)
    assert read_manifest(manifest)["made_with"] == content["made_with"]


def test_a_git_too_old_is_named(
    store: LocalHistoryStore, repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = repository_of(repo.path)
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.17.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(old.parent))
    update.patch_settings.cache_clear()
    try:
        report = store.update([repository])
    finally:
        update.patch_settings.cache_clear()
    assert "git 2.17.1 is too old; version 2.31 or newer is required" in report.failures["repo"]
    assert issubclass(GitFailed, Exception)


@pytest.fixture(scope="module")
def long_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare repository of 400 commits, so that worker processes read it."""
    path = tmp_path_factory.mktemp("long") / "long.git"
    lines = [b"feature done\n"]
    for number in range(1, 401):
        message = f"commit {number}".encode()
        text = "".join(f"line {number % 7} {index}\n" for index in range(number % 50 + 1)).encode()
        lines.append(
            b"commit refs/heads/main\nmark :%d\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%b\n"
            % (number, 1_700_000_000 + number, len(message), message)
        )
        lines.append(b"M 100644 inline file-%d.txt\ndata %d\n%b\n" % (number % 20, len(text), text))
    lines.append(b"done\n")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=path, input=b"".join(lines), check=True)
    return path


def test_worker_processes_read_the_same(long_history: Path, tmp_path: Path) -> None:
    first, second = (LocalHistoryStore(tmp_path / str(n), workers=n) for n in (1, 2))
    histories = [open_history(store, long_history) for store in (first, second)]
    same(histories[0], histories[1], histories[0].tips["HEAD"])
    out = subprocess.run(
        ["git", "log", "--numstat", "--format=", "HEAD"], cwd=long_history, capture_output=True, check=True
    )
    numbers = [line.split("\t") for line in out.stdout.decode().splitlines()]
    assert int(histories[0].changes.additions.sum()) == sum(int(a) for a, _, _ in numbers)
    assert int(histories[0].changes.deletions.sum()) == sum(int(d) for _, d, _ in numbers)


_BUILDER = """
import sys
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.repos import Catalog
store = LocalHistoryStore(sys.argv[1], workers=2)
print("ready", flush=True)
def told(progress):
    print(progress.commits_done, flush=True)
report = store.update(Catalog.open([sys.argv[2]]).repositories, progress=told)
print("built", report.built, report.current, report.failures, flush=True)
"""


def builder(store: Path, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BUILDER, str(store), str(path)], stdout=subprocess.PIPE, start_new_session=True
    )


@pytest.mark.skipif(os.name == "nt", reason="kills a process group")
@pytest.mark.parametrize("lines", [1, 4])
def test_a_kill_at_any_moment_leaves_nothing_that_counts(long_history: Path, tmp_path: Path, lines: int) -> None:
    process = builder(tmp_path / "store", long_history)
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    store = LocalHistoryStore(tmp_path / "store")
    history = open_history(store, long_history)
    assert len(history.commits) == 400
    names = {path.name for path in (store.folder / repository_of(long_history).key).iterdir()}
    assert len(names) == 3
    assert {"manifest.json", "lock"} < names


def test_two_processes_build_one_history(long_history: Path, tmp_path: Path) -> None:
    team = [builder(tmp_path / "store", long_history) for _ in range(2)]
    messages = [process.communicate(timeout=60)[0].decode() for process in team]
    assert sum("built ('long.git',)" in text or "built ('long',)" in text for text in messages) == 1, messages
    assert len(LocalHistoryStore(tmp_path / "store").open(repository_of(long_history)).commits) == 400


def test_a_stop_ends_workers_soon(long_history: Path, tmp_path: Path) -> None:
    store, cancellation = LocalHistoryStore(tmp_path / "store", workers=2), Cancellation()

    def on_progress(_progress: HistoryProgress) -> None:
        cancellation.cancel()

    report = store.update([repository_of(long_history)], progress=on_progress, cancellation=cancellation)
    assert report.cancelled
    assert not [t for t in threading.enumerate() if t.name.startswith("history worker")]
    assert len(open_history(store, long_history).commits) == 400


def test_unneeded_histories_can_be_deleted(store: LocalHistoryStore, repo: RepositoryBuilder) -> None:
    open_history(store, repo.path)
    repository = repository_of(repo.path)
    assert store.prune({repository.key}) == 0
    assert store.prune(set()) > 0
    with pytest.raises(SearchIndexError):
        store.open(repository)


@pytest.fixture(autouse=True)
def no_litter(tmp_path: Path) -> Iterator[None]:
    """Temporary files never outlive an update."""
    yield
    remaining = [path for path in tmp_path.glob("store/*/tmp-*") if path.exists()]
    shutil.rmtree(tmp_path, ignore_errors=True)
    assert not remaining
