"""Memory that a repository of a few kilobytes can make us take."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import sourcelight
from attacks.bombs import commit_tree, large_file, nested_folders, wide_tree, write_object, write_tree
from attacks.memory import peak_bytes
from sourcelight.core.errors import RepositoryError
from sourcelight.engines.history.people import check_mailmap
from sourcelight.repos import Catalog, ObjectReader, worktree_status
from sourcelight.repos.handles import mailmap_blob
from sourcelight.testing import RepositoryBuilder, make_repo

MAX_BYTES = 300 << 20
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of a child's memory")

SEARCH = """
import warnings; warnings.simplefilter("ignore")
with sourcelight.open(*places, index_dir=index, background_index=False, progress=False) as client:
    result = client.search("needle")
    answer = f"{len(result)} {list(result.skipped['message'])}"
"""

HISTORY = """
from sourcelight.repos import Catalog
from sourcelight.engines.history import LocalHistoryStore
store = LocalHistoryStore(index, workers=1)
report = store.update(Catalog.open(places).repositories)
answer = f"{report.failures} {sorted(report.incomplete.items())}"
"""


def test_tree_bombs_are_refused_by_name_and_the_rest_is_searched(tmp_path: Path) -> None:
    good = make_repo(tmp_path / "good", {"a.txt": "needle\n"})
    bombs = nested_folders(tmp_path / "nested"), wide_tree(tmp_path / "wide")
    locations = [str(repo.path) for repo in (good, *bombs)]
    peak, answer = peak_bytes(SEARCH, tmp_path, places=locations, index=str(tmp_path / "index"))
    assert answer.startswith("1 ")
    assert "`nested`: nested has a path of" in answer
    assert "`wide`: wide lists 4,121,760 files and directories in one commit by repeating the same 480" in answer
    assert peak < MAX_BYTES, f"{peak:,}"


def test_the_history_of_tree_bombs_is_unread(tmp_path: Path) -> None:
    locations = [str(nested_folders(tmp_path / "nested").path), str(wide_tree(tmp_path / "wide").path)]
    peak, answer = peak_bytes(HISTORY, tmp_path, places=locations, index=str(tmp_path / "index"))
    assert answer == "{} [('nested', 1), ('wide', 1)]"
    assert peak < MAX_BYTES, f"{peak:,}"


def test_three_lines_of_a_file_of_400_megabytes_are_read(tmp_path: Path) -> None:
    bomb = large_file(tmp_path / "bomb")
    action = """
    import warnings; warnings.simplefilter("ignore")
    with sourcelight.open(bomb, index_dir=index, background_index=False, progress=False) as client:
        frame = client.read_file("bomb", "large.txt", start_line=29_000_000, end_line=29_000_002)
        answer = list(frame["line"])
        for ask in (lambda: client.read_file("bomb", "large.txt"), lambda: client.blame("bomb", "large.txt")):
            try:
                ask()
            except sourcelight.SourcelightError as error:
                answer.append(str(error))
        answer = " | ".join(answer)
    """
    peak, answer = peak_bytes(action, tmp_path, bomb=str(bomb.path), index=str(tmp_path / "index"))
    *lines, refusal, blame = answer.split(" | ")
    assert len(lines) == 3
    assert all(line.startswith("line ") for line in lines)
    assert "too large to be read at once" in refusal
    assert "too large" in blame
    assert peak < MAX_BYTES, f"{peak:,}"


def test_patches_of_a_huge_commit_are_unread(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "bomb")
    part = b"\n" * (1 << 20)
    blobs = [write_object(repo, b"blob", [part] * 20 + [b"%d" % index], 20 * len(part) + 1) for index in range(4)]
    commit_tree(repo, write_tree(repo, [(b"100644", b"f%d" % index, oid.encode()) for index, oid in enumerate(blobs)]))
    peak, answer = peak_bytes(HISTORY, tmp_path, places=[str(repo.path)], index=str(tmp_path / "index"))
    assert answer == "{} [('bomb', 1)]"
    assert peak < MAX_BYTES, f"{peak:,}"


def test_a_content_that_is_too_large_for_a_patch_leaves_its_commit_unread(tmp_path: Path) -> None:
    bomb = large_file(tmp_path / "bomb", megabytes=40)
    peak, answer = peak_bytes(HISTORY, tmp_path, places=[str(bomb.path)], index=str(tmp_path / "index"))
    assert answer == "{} [('bomb', 1)]"
    assert peak < MAX_BYTES, f"{peak:,}"


def test_a_huge_commit_is_refused_by_name(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "bomb", {"a": "1\n"})
    head = repo.git("rev-parse", "HEAD^{tree}")
    raw = [b"tree %s\nparent %s\nauthor A <a@x> 1700000000 +0000\ncommitter A <a@x> 1700000000 +0000\n\n"
           % (head.encode(), repo.head.encode()), *[b"x" * (1 << 20)] * 400]  # fmt: skip
    commit = write_object(repo, b"commit", raw, sum(map(len, raw)))
    repo.git("update-ref", "refs/heads/main", commit)
    action = """
    from sourcelight.repos import Catalog
    try:
        Catalog.open([bomb])
    except sourcelight.SourcelightError as error:
        answer = str(error).replace(chr(10), " ")
    """
    peak, answer = peak_bytes(action, tmp_path, bomb=str(repo.path))
    assert "bomb" in answer
    assert peak < MAX_BYTES, f"{peak:,}"


def test_folders_that_repeat_a_little_are_read(tmp_path: Path) -> None:
    repo = wide_tree(tmp_path / "repo", wide=40, deep=3)  # 64,000 files of 120 entries
    (repository,) = Catalog.open([repo.path]).repositories
    with ObjectReader(repository) as reader:
        assert len(reader.tree(repository.info.commit)) == 64_000


def test_a_folder_object_that_unfolds_is_not_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a": "1\n"})
    blob = repo.git("rev-parse", "HEAD:a")
    entry = b"100644 a\0" + bytes.fromhex(blob)
    tree = write_object(repo, b"tree", [entry * 10_000] * 100, len(entry) * 1_000_000)
    commit_tree(repo, write_tree(repo, [(b"40000", b"bomb", tree.encode()), (b"100644", b"a", blob.encode())]))
    (repository,) = Catalog.open([repo.path]).repositories
    with ObjectReader(repository) as reader:
        result = reader.tree(repository.info.commit)
    assert (result.paths, result.missing) == ([b"a"], 1)


def test_counting_stops_at_the_limit_of_files(tmp_path: Path) -> None:
    repo = wide_tree(tmp_path / "repo", wide=10, deep=400)
    (repository,) = Catalog.open([repo.path]).repositories
    with ObjectReader(repository) as reader, pytest.raises(RepositoryError, match="more than 5,000,000"):
        reader.tree(repository.info.commit)


@pytest.mark.parametrize("name", [".gitattributes", "folder/.gitignore"])
def test_huge_rules_about_files_are_refused_by_name(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "needle\n", "folder/b.txt": "b\n"})
    (repository,) = Catalog.open([repo.path]).repositories
    assert worktree_status(repository, refresh=True).clean
    repo.write({name: "* text=auto\n" * 200_000})
    with pytest.raises(RepositoryError, match=re.escape(name)):
        worktree_status(repository, refresh=True)
    with sourcelight.open(repo.path, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        assert len(client.search("needle")) == 1


def test_a_pipe_among_rules_about_files_is_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "needle\n"})
    os.mkfifo(repo.path / ".gitattributes")
    (repository,) = Catalog.open([repo.path]).repositories
    with pytest.raises(RepositoryError, match=r"\.gitattributes"):
        worktree_status(repository, refresh=True)


def test_a_huge_mailmap_maps_nobody(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {".mailmap": "Ann <ann@x> Ada Example <ada@example.org>\n"})
    git_dir = str(repo.path / ".git")
    assert check_mailmap(git_dir, [("Ada Example", "ada@example.org")]) == [("Ann", "ann@x")]
    repo.commit({".mailmap": "Ann <ann@x> Ada Example <ada@example.org>\n" * 120_000})
    assert mailmap_blob(git_dir) == ""
    assert check_mailmap(git_dir, [("Ada Example", "ada@example.org")]) == [("Ada Example", "ada@example.org")]
