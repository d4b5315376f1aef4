"""Objects and refs that git's own commands don't write, but a copied git directory may have."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import sourcelight
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.repos import Catalog, matching_refs
from sourcelight.repos.isolation import isolated_directory
from sourcelight.repos.objects.commits import LAST_SECOND
from sourcelight.testing import RepositoryBuilder, make_repo

PEOPLE = "author A <a@example.org> {date} +0000\ncommitter C <c@example.org> {date} +0000\n"


def write_object(repo: RepositoryBuilder, kind: str, data: bytes) -> str:
    return repo.git("hash-object", "-w", "-t", kind, "--literally", "--stdin", stdin=data)


def point_main_at(repo: RepositoryBuilder, commit: str) -> None:
    # `git update-ref` refuses a commit that it can't parse.
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(commit + "\n")


@pytest.mark.parametrize(
    "line",
    [b"z" * 40, b"", b"abcd", b"\xff" * 40, b" " * 40, b"1" * 20 + b" " * 20, b"A" * 40, b"1" * 41, b"1" * 64],
    ids=["letters", "empty", "short", "bytes", "spaces", "half", "upper", "odd", "long"],
)
def test_a_commit_without_a_tree_id_hides_no_other_repository(tmp_path: Path, line: bytes) -> None:
    """It ended the start of the service: anybody whose git directory is served could stop it."""
    make_repo(tmp_path / "served" / "good", {"a.py": "needle = 1\n"})
    bad = make_repo(tmp_path / "served" / "bad", {"a.py": "needle = 2\n"})
    people = PEOPLE.format(date=1_700_000_000).encode()
    point_main_at(bad, write_object(bad, "commit", b"tree " + line + b"\n" + people + b"\nm\n"))
    catalog = Catalog.open([tmp_path / "served"])
    assert [repository.name for repository in catalog.repositories] == ["good"]
    assert any("bad" in item.path for item in catalog.skipped)


@pytest.mark.parametrize(
    "head",
    [b"ref: refs/heads/ma\0in", b"ref: \0", b"ref: ../../../etc/passwd", b"ref: refs/heads/../../config", b"\xff" * 30],
    ids=["NUL", "only NUL", "outside", "inside", "bytes"],
)
def test_a_head_that_names_no_ref_hides_no_other_repository(tmp_path: Path, head: bytes) -> None:
    """A NUL in it ended the start of the service."""
    make_repo(tmp_path / "served" / "good", {"a.py": "needle = 1\n"})
    bad = make_repo(tmp_path / "served" / "bad", {"a.py": "needle = 2\n"})
    (bad.path / ".git" / "HEAD").write_bytes(head + b"\n")
    catalog = Catalog.open([tmp_path / "served"])
    names = [repository.name for repository in catalog.repositories]
    assert "good" in names
    # The other one is read from a branch that exists, or skipped with a reason.
    assert "bad" in names or any("bad" in item.path for item in catalog.skipped)


@pytest.mark.parametrize("name", [b"refs/heads/\xff\xfe", b"refs/heads/main\x80"])
def test_a_head_of_other_bytes_than_utf8_ends_no_search_of_others(tmp_path: Path, name: bytes) -> None:
    """The number of changed files of its work tree raised UnicodeDecodeError, in every search beside it."""
    make_repo(tmp_path / "served" / "good", {"a.py": "needle = 1\n"})
    bad = make_repo(tmp_path / "served" / "bad", {"a.py": "needle = 2\n"})
    git = os.fsencode(bad.path / ".git")
    Path(os.fsdecode(git + b"/" + name)).write_text(bad.head + "\n")
    (bad.path / ".git" / "HEAD").write_bytes(b"ref: " + name + b"\n")
    with sourcelight.open(tmp_path / "served", index_dir=tmp_path / "index", background_index=False) as code:
        assert sorted(code.search("needle").matches["repository"]) == ["bad", "good"]


def test_a_branch_that_can_not_be_read_is_an_error_of_its_repository(tmp_path: Path) -> None:
    make_repo(tmp_path / "served" / "good", {"a.py": "needle = 1\n"})
    bad = make_repo(tmp_path / "served" / "bad", {"a.py": "needle = 2\n"})
    with sourcelight.open(tmp_path / "served", index_dir=tmp_path / "index", background_index=False) as code:
        code.commit_search(["bad"])
        point_main_at(bad, f"{bad.head}{bad.head}")
        result = code.search("needle")
        assert "good" in list(result.matches["repository"])
        with pytest.raises(sourcelight.SourcelightError):
            code.compare_revisions("bad", "HEAD", "HEAD~1")


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sourcelight.Client]:
    """A repository with a tag at each of some impossible dates, and a subject of two megabytes."""
    folder = tmp_path_factory.mktemp("dated")
    repo = make_repo(folder / "repo", {"a.py": "needle = 1\n"})
    dates = {"huge": str((1 << 63) - 1), "huger": "9" * 30, "negative": "-1", "word": "NaN", "none": ""}
    for number, (name, date) in enumerate(dates.items()):
        blob = write_object(repo, "blob", b"needle = %d\n" % (number + 2))
        tree = write_object(repo, "tree", b"100644 a.py\0" + bytes.fromhex(blob))
        head = f"tree {tree}\nparent {repo.head}\n{PEOPLE.format(date=date)}\n{name}" + "x" * 2_000_000 + "\n"
        commit = write_object(repo, "commit", head.encode())
        repo.git("update-ref", "refs/heads/main", commit)
        repo.git("update-ref", f"refs/tags/{name}", commit)
    with sourcelight.open(repo.path, index_dir=folder / "index", progress=False) as client:
        yield client


def test_refs_are_listed_whatever_the_dates_of_their_commits(dated: sourcelight.Client) -> None:
    """One tag at a date that Python can't hold made all refs of a repository unreadable."""
    refs = dated.list_refs("repo", kind="tag").set_index("name")
    last = datetime.fromtimestamp(LAST_SECOND, UTC)
    epoch = datetime.fromtimestamp(0, UTC)
    dates = refs["commit_date"].to_dict()
    assert dates == {"huge": last, "huger": last, "negative": epoch, "word": epoch, "none": epoch}
    assert refs["subject"].str.len().max() <= 1_000, "a subject of megabytes is cut"


def test_the_history_of_lines_has_the_dates_that_git_can_not_hold(dated: sourcelight.Client) -> None:
    rows = dated.history_of("repo", path="a.py", start_line=1, end_line=1)
    assert len(rows) == 6
    assert rows["commit_date"].notna().all()


def test_a_search_of_refs_can_be_stopped(tmp_path: Path) -> None:
    """A million refs took 11 s, and a search by a glob of refs three times as much, whatever its time limit."""
    repo = make_repo(tmp_path / "repo", {"a.py": "needle = 1\n"})
    lines = [f"{repo.head} refs/tags/v{number:05d}\n" for number in range(5_000)]
    (repo.path / ".git" / "packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines))
    (repository,) = Catalog.open([repo.path]).repositories
    cancellation = Cancellation()

    def accepts(name: str) -> bool:
        cancellation.cancel()
        return name.startswith("refs/tags/")

    with pytest.raises(Cancelled):
        matching_refs(repository, accepts, cancellation)
    assert len(matching_refs(repository, lambda name: name.startswith("refs/tags/"))) == 5_000


def test_git_gets_the_border_of_a_clone_in_the_order_of_its_own_array(tmp_path: Path) -> None:
    """In another order, git moves half of its array for each line: 5 s of CPU for 400,000, in every process."""
    repo = make_repo(tmp_path / "repo", {"a.py": "needle = 1\n"})
    rng = random.Random(5)  # noqa: S311 - the same names each time, no secrets
    names = [f"{rng.getrandbits(160):040x}" for _ in range(100)]
    (repo.path / ".git" / "shallow").write_text("".join(name + "\n" for name in names))
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    grafts = [f"{names[1]} {names[2]}", f"{names[1]} {names[0]}", names[0]]
    (repo.path / ".git" / "info" / "grafts").write_text("\n".join(grafts) + "\n")
    with isolated_directory(str(repo.path / ".git")) as directory:
        assert Path(directory, "shallow").read_text().split() == sorted(names)
        lines = Path(directory, "info", "grafts").read_text().splitlines()
        assert lines == sorted(grafts, key=lambda line: line[:40])
        assert lines.index(grafts[0]) < lines.index(grafts[1]), "git takes the first of two lines"
