"""Comparisons against ``git diff -M``, byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, RevisionNotFound, ToolError
from sourcelight.engines.history.compare import Comparison, compare, read_cursor, write_cursor
from sourcelight.engines.history.compare import comparison as module
from sourcelight.repos import Catalog, Repository
from sourcelight.testing import RepositoryBuilder


def open_repository(builder: RepositoryBuilder) -> Repository:
    return Catalog.open(builder.path).repositories[0]


def git_diff(builder: RepositoryBuilder, base: str, head: str) -> bytes:
    argv = ["git", "-c", "core.quotePath=false", "diff", "-M", "--full-index", "--submodule=short", base, head]
    return subprocess.run(argv, cwd=builder.path, capture_output=True, check=True).stdout


def text_of(comparison: Comparison) -> bytes:
    return b"".join(diff.patch or b"" for diff in comparison.all_diffs())


@pytest.fixture(scope="module")
def many_kinds(tmp_path_factory: pytest.TempPathFactory) -> tuple[RepositoryBuilder, str, str]:
    """Two commits between which every kind of change happens."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("kinds") / "repo")
    lines = [f"line {n}\n" for n in range(60)]
    repo.write(
        {
            "moved.py": "".join(lines),
            "moved and changed.py": "".join(["def f():\n", *lines]),
            "gone.txt": "one\ntwo",
            "image.bin": b"\0\1\2" * 50,
            "becomes-link": "target\n",
            "binary-link": b"\0",
            "mode.sh": "#!/bin/sh\n",
            "empty": "",
            b"caf\xe9.txt": "latin name\n",
            'quo"te\t.txt': "x\n",
            'quo"te and blank.txt': "x\n",
            "naïve.txt": "x\n",
            "++ signs.txt": "-- a\n++ b\ndiff --git a/x b/x\n@@ -1 +1 @@\n",
        }
    )
    base = repo.commit(None, "base")
    repo.git("mv", "moved.py", "moved to.py")
    repo.git("mv", "moved and changed.py", "sub-moved.py")
    repo.write(
        {
            "sub-moved.py": "".join(["def f():\n", *lines[:30], "new  \n", *lines[31:]]),
            "gone.txt": None,
            "image.bin": b"\0\1\3" * 50,
            "becomes-link": None,
            "binary-link": None,
            "new.txt": "no newline at the end",
            b"caf\xe9.txt": "latin name\nmore\n",
            'quo"te\t.txt': "y\n",
            'quo"te and blank.txt': "y\n",
            "naïve.txt": "y\n",
            "++ signs.txt": "++ b\n-- a\ndiff --git a/x b/y\n@@ -1 +2 @@\n",
            "empty": None,
            "empty too": "",
        }
    )
    repo.symlink("becomes-link", "new.txt")
    repo.symlink("binary-link", "new.txt")
    repo.file("mode.sh").chmod(0o755)
    repo.git("add", "-A")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{base},module")
    repo.git("commit", "-q", "-m", "head", env=identity())
    return repo, base, repo.head


def identity() -> dict[str, str]:
    names = {f"GIT_{role}_{part}": "ada@x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    return names | {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}


def test_every_kind_of_change_is_worded_as_git_words_it(many_kinds: tuple[RepositoryBuilder, str, str]) -> None:
    repo, base, head = many_kinds
    for first, second in ((base, head), (head, base)):
        assert text_of(compare(open_repository(repo), first, second)) == git_diff(repo, first, second)


def test_the_whole_from_one_git_process_is_the_same(
    many_kinds: tuple[RepositoryBuilder, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, base, head = many_kinds
    created = list(compare(open_repository(repo), base, head).all_diffs())
    # A copy, because a comparison of the same repository would come from the cache.
    shutil.copytree(repo.path, tmp_path / "copy", symlinks=True)
    monkeypatch.setattr(module, "PAGE_FILES", 0)
    streamed = list(compare(open_repository(RepositoryBuilder(tmp_path / "copy")), base, head).all_diffs())
    assert streamed == created
    kinds = {diff.change.status for diff in created}
    assert kinds == {"added", "deleted", "modified", "renamed", "type changed"}


def test_counts_equal_numstat(many_kinds: tuple[RepositoryBuilder, str, str]) -> None:
    repo, base, head = many_kinds
    comparison = compare(open_repository(repo), base, head)
    count = repo.git("diff", "-M", "--numstat", base, head).splitlines()
    added = sum(int(row.split("\t")[0]) for row in count if not row.startswith("-"))
    removed = sum(int(row.split("\t")[1]) for row in count if not row.startswith("-"))
    assert comparison.totals() == (added, removed)
    assert len(comparison.changes) == len(count)
    assert [d.change.path for d in comparison.all_diffs() if d.binary] == [b"binary-link", b"image.bin"]


def test_pages_put_together_are_the_whole(many_kinds: tuple[RepositoryBuilder, str, str]) -> None:
    repo, base, head = many_kinds
    comparison = compare(open_repository(repo), base, head)
    pages = [comparison.page(start, 4) for start in range(0, len(comparison.changes), 4)]
    assert [diff for page in pages for diff in page] == list(comparison.all_diffs())
    assert comparison.page(len(comparison.changes), 4) == []


def test_a_huge_patch_is_whole(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    base = repo.commit({"big.txt": "".join(f"{n}\n" for n in range(100_000))})
    head = repo.commit({"big.txt": "".join(f"{n} changed\n" for n in range(100_000))})
    (diff,) = compare(open_repository(repo), base, head).all_diffs()
    assert (diff.additions, diff.deletions) == (100_000, 100_000)
    assert diff.patch == git_diff(repo, base, head)


def test_how_the_commits_are_related_is_told(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    first = repo.commit({"a": "1\n"})
    second = repo.commit({"a": "2\n"})
    repo.branch("side", start=first)
    side = repo.commit({"b": "1\n"})
    repo.git("checkout", "-q", "--orphan", "other")
    other = repo.commit({"a": "else\n"})
    repository = open_repository(repo)
    pairs = {(first, second): "ahead", (second, first): "behind", (second, side): "diverged",
             (first, other): "unrelated", (first, first): "same"}  # fmt: skip
    for (base, head), relation in pairs.items():
        comparison = compare(repository, base, head)
        assert comparison.relation == relation
        assert bool(comparison.notices) == (relation != "ahead")
        assert text_of(comparison) == git_diff(repo, base, head)


def test_missing_contents_leave_a_diff_without_patch(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    base = repo.commit({"a": "one\n", "b": "two\n" * 9})
    head = repo.commit({"a": "changed\n", "b": "two\n" * 10})
    blob = repo.git("rev-parse", f"{head}:a")
    repo.file(f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    missing, there = compare(open_repository(repo), base, head).all_diffs()
    assert (missing.patch, missing.additions, missing.change.path) == (None, None, b"a")
    assert (there.additions, there.deletions) == (1, 0)


def test_what_is_no_commit_is_refused(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    base = repo.commit({"a": "1\n"})
    with pytest.raises(RevisionNotFound):
        compare(open_repository(repo), base, "12" * 20)


def test_a_comparison_stops_on_request(many_kinds: tuple[RepositoryBuilder, str, str]) -> None:
    repo, base, head = many_kinds
    comparison = compare(open_repository(repo), base, head)
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        comparison.page(0, 5, cancellation)


def test_a_cursor_leads_back_and_no_other_text_does() -> None:
    base, head = "ab" * 20, "cd" * 20
    cursor = write_cursor(base, head, 50)
    assert read_cursor(cursor, base, head) == 50
    with pytest.raises(ToolError, match="belongs to the comparison abababababab"):
        read_cursor(cursor, head, base)
    for text in ("", "50", "not a cursor", cursor[:-3], cursor[:-2] + "zz", "é"):
        with pytest.raises(ToolError, match="not a cursor"):
            read_cursor(text, base, head)


def test_nothing_that_the_repository_configures_is_run(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    base = repo.commit({"a.txt": "1\n", ".gitattributes": "*.txt diff=evil\n"})
    head = repo.commit({"a.txt": "2\n"})
    mark = tmp_path / "ran"
    for key in ("diff.evil.command", "diff.evil.textconv", "diff.external", "core.fsmonitor", "core.pager"):
        repo.git("config", key, f"touch {mark};")
    assert b"+2" in text_of(compare(open_repository(repo), base, head))
    assert not os.path.lexists(mark)


@pytest.mark.parametrize("limit", [0, 300])
def test_a_binary_file_is_one_when_it_is_renamed_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(module, "PAGE_FILES", limit)
    repo = RepositoryBuilder(tmp_path / "repo")
    base = repo.commit({"image.bin": b"\0\1\2" * 50, "text.md": f"words {limit}\n"})
    repo.git("mv", "image.bin", "picture.bin")
    repo.git("mv", "text.md", "prose.md")
    head = repo.commit()
    stat_lines = repo.git("diff", "-M", "--numstat", base, head).splitlines()
    want = {line.partition("=> ")[2] for line in stat_lines if line.startswith("-")}
    assert {
        diff.change.path.decode() for diff in compare(open_repository(repo), base, head).all_diffs() if diff.binary
    } == want
    assert want == {"picture.bin"}
