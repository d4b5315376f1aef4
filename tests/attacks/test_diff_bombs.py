"""Commits of two hundred bytes that each change as many files, or as many lines, as a repository can name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from attacks.bombs import append_commit, append_file, branches_of_a_folder, flip_file, flip_folders
from attacks.memory import peak_bytes
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.engines.history.store import allowance
from sourcelight.engines.history.store.allowance import AllowanceUse, Cost, commits_of, split_large
from sourcelight.engines.history.store.worker import ExtractionRequest, extract_to_files
from sourcelight.repos import Catalog
from sourcelight.repos.objects import store_size
from sourcelight.testing import make_repo

MAX_BYTES = 300 << 20
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of a child's memory")

HISTORY = """
from sourcelight.repos import Catalog
from sourcelight.engines.history import LocalHistoryStore
store = LocalHistoryStore(index, workers=1)
report = store.update(Catalog.open(places).repositories)
answer = f"{report.failures} {sorted(report.incomplete.items())}"
"""


def test_commits_that_flip_a_shared_folder_are_unread_and_named(tmp_path: Path) -> None:
    bomb = flip_folders(tmp_path / "bomb", commits=6)
    append_file(bomb, "small.py", b"needle = 1\n", 6)
    action = """
    import warnings; warnings.simplefilter("ignore")
    with sourcelight.open(bomb, index_dir=index, background_index=False, progress=False) as client:
        result = client.search("needle type:diff")
        (skipped,) = result.skipped[result.skipped["reason"] == "history-incomplete"]["message"]
        answer = f"{len(result)} {result.status} {skipped}"
    """
    peak, answer = peak_bytes(action, tmp_path, bomb=str(bomb.path), index=str(tmp_path / "index"))
    assert answer.startswith("1 limited Some changes of 5 commits were not read. They are missing, too large")
    assert re.search(r"- `bomb`: ([0-9a-f]{12}, ){4}[0-9a-f]{12}", answer)
    assert peak < MAX_BYTES, f"{peak:,}"


def test_commits_that_flip_a_large_file_are_unread(tmp_path: Path) -> None:
    bomb = flip_file(tmp_path / "bomb", commits=6)
    peak, answer = peak_bytes(HISTORY, tmp_path, places=[str(bomb.path)], index=str(tmp_path / "index"))
    (unread,) = re.findall(r"\('bomb', (\d+)\)", answer)
    assert 3 <= int(unread) < 6
    assert peak < MAX_BYTES, f"{peak:,}"


def test_reading_ends_when_git_wrote_far_more_than_is_kept(tmp_path: Path) -> None:
    """Each refused commit takes a start of git: thousands of them are not tried one by one."""
    bomb = flip_folders(tmp_path / "bomb", commits=250, files=2_000)
    repo = Catalog.open([bomb.path]).repositories[0]
    (tmp_path / "scratch").mkdir()
    oids = bomb.git("rev-list", "--reverse", "HEAD").split()
    order = ExtractionRequest(
        repo.git_dir, str(tmp_path / "scratch"), 0, tuple(range(250)), tuple(oids), Cost(2_000, 9_999, 9_999), 8 << 20
    )
    files, unread = extract_to_files(order)
    assert (files, len(unread)) == ([], 250)
    effort = (tmp_path / "scratch" / "effort").read_text().split()
    assert len(effort) <= 9, "git was started for each"


def test_an_update_reads_what_came_after_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "FREE_FILES", 4_200)
    bomb = flip_folders(tmp_path / "bomb", commits=3, files=2_000)
    (repository,) = Catalog.open([bomb.path]).repositories
    store = LocalHistoryStore(tmp_path / "index", workers=1)
    assert store.update([repository]).incomplete == {"bomb": 2}
    append_file(bomb, "small.py", b"needle = 1\n", 2)
    assert store.update(Catalog.open([bomb.path]).repositories).incomplete == {"bomb": 2}
    history = store.open(repository)
    assert not history.commits.unread[-1]


def test_folders_that_are_moved_are_read(tmp_path: Path) -> None:
    """A move changes many files, and stores few objects."""
    repo = make_repo(tmp_path / "repo", {f"a/{index}.txt": f"{index}\n" for index in range(1_500)})
    for source, target in ("ab", "bc", "ca"):
        repo.git("mv", source, target)
        repo.commit({}, f"move {source} to {target}")
    report = LocalHistoryStore(tmp_path / "index", workers=1).update(Catalog.open([repo.path]).repositories)
    assert report.incomplete == {}


def test_what_large_commits_may_take_leaves_room_for_others() -> None:
    account = AllowanceUse(Cost(100_000, 100_000, 1 << 30))
    large, small = Cost(40_000, 40_000, 1 << 20), Cost(900, 900, 1 << 10)
    assert [account.spend(large) for _ in range(3)] == [True, False, False]
    assert all(account.spend(small) for _ in range(60))


def test_a_stream_is_cut_so_that_large_commits_are_alone() -> None:
    def commit(number: int, files: int) -> bytes:
        return b"\x01%040d\n\n" % number + b":100644 100644 x\n" * files

    sizes = [1, 2_000, 3, 4, 5_000, 6_000, 7]
    raw = b"".join(commit(number, files) for number, files in enumerate(sizes))
    blocks = list(split_large(raw))
    assert b"".join(block for block, _ in blocks) == raw
    assert [[int(oid) for oid in commits_of(block)] for block, _ in blocks] == [[0], [1], [2, 3], [4], [5], [6]]
    assert [cost.files for _, cost in blocks] == [1, 2_000, 7, 5_000, 6_000, 7]


def test_the_size_of_a_store_counts_what_it_borrows_and_no_holes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {f"{i}.txt": f"{i}\n" for i in range(50)})
    loose = store_size(str(repo.path / ".git"))
    assert loose.objects == 52
    repo.git("gc", "-q", "--prune=now")
    packed = store_size(str(repo.path / ".git"))
    assert packed.objects == 52
    assert 0 < packed.bytes < loose.bytes
    repo.git("clone", "-q", "--shared", ".", str(tmp_path / "borrower"))
    assert store_size(str(tmp_path / "borrower" / ".git")) == packed
    (index,) = (repo.path / ".git" / "objects" / "pack").glob("*.idx")
    with (index.parent / "pack-false.idx").open("wb") as false:
        false.write(index.read_bytes()[:8] + b"\x7f\xff\xff\xff" * 256)
        false.truncate(1 << 36)
    assert store_size(str(repo.path / ".git")).objects < 1_000


def test_owners_of_branches_side_by_side_are_refused_by_name(tmp_path: Path) -> None:
    bomb = branches_of_a_folder(tmp_path / "bomb", branches=150, files=40_000)
    action = """
    import warnings; warnings.simplefilter("ignore")
    with sourcelight.open(bomb, index_dir=index, background_index=False, progress=False) as client:
        try:
            client.ownership("bomb")
        except sourcelight.SourcelightError as error:
            answer = str(error)
    """
    peak, answer = peak_bytes(action, tmp_path, bomb=str(bomb.path), index=str(tmp_path / "index"))
    assert "bomb has" in answer
    assert "parallel branches" in answer
    assert peak < MAX_BYTES, f"{peak:,}"


def test_comparing_commits_that_differ_in_very_many_files_takes_bounded_memory(tmp_path: Path) -> None:
    bomb = flip_folders(tmp_path / "bomb", commits=2, files=2_000_000, wide=1_400)
    action = """
    import warnings; warnings.simplefilter("ignore")
    with sourcelight.open(bomb, index_dir=index, background_index=False, progress=False) as client:
        compared = lambda: client.compare_revisions("bomb", "HEAD~1", "HEAD")
        for ask in (compared, lambda: client.commit_details("bomb", "HEAD")):
            try:
                ask()
            except sourcelight.SourcelightError as error:
                answer += str(error) + "|"
    """
    peak, answer = peak_bytes(action, tmp_path, bomb=str(bomb.path), index=str(tmp_path / "index"))
    first, second, _ = answer.split("|")
    assert "differ in more than 100,0" in first
    assert "differ in more than 100,0" in second
    assert peak < MAX_BYTES, f"{peak:,}"


def test_messages_that_unfold_far_beyond_what_is_stored_are_refused_by_name(tmp_path: Path) -> None:
    bomb = make_repo(tmp_path / "bomb", {"a": "1\n"})
    tree = bomb.git("rev-parse", "HEAD^{tree}")
    for number in range(14):
        append_commit(bomb, tree, number, message=b"x" * (3 << 20))
    peak, answer = peak_bytes(HISTORY, tmp_path, places=[str(bomb.path)], index=str(tmp_path / "index"))
    assert "its commits have more than" in answer
    assert peak < MAX_BYTES, f"{peak:,}"
