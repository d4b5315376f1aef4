"""Blame of one file, and the replay of a whole repository, against ``git blame``."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from engines.history.histories import build_many_kinds
from sourcelight.core.batches import Cancellation
from sourcelight.core.batches.quoted_names import unquote_name
from sourcelight.core.errors import Cancelled, GitFailed
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.engines.history.blame import FileBlame, Ownership, blame_file, own
from sourcelight.engines.history.blame.mixing import same_lines
from sourcelight.repos import Catalog, Repository
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import identity


def opened(builder: RepositoryBuilder) -> Repository:
    return Catalog.open(builder.path).repositories[0]


def porcelain(builder: RepositoryBuilder, path: bytes) -> list[str]:
    """The commit of each line, as ``git blame`` says."""
    argv: list[str | bytes] = ["git", "blame", "--porcelain", "HEAD", "--", path]
    said = subprocess.run(argv, cwd=builder.path, capture_output=True, check=True).stdout
    heads = [line for line in said.split(b"\n") if len(line.split(b" ")[0]) == 40 and not line.startswith(b"\t")]
    return [head[:40].decode() for head in heads]


def replayed(builder: RepositoryBuilder, folder: Path) -> tuple[Ownership, dict[bytes, list[str]]]:
    repository = opened(builder)
    store = LocalHistoryStore(folder, workers=1)
    store.update([repository])
    history = store.open(repository)
    owned = own(history, repository, builder.head)
    return owned, {path: [history.oid(int(c)) for c in file.lines] for path, file in owned.files.items()}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A history of edits, renames, branches and merges, by a fixed dice."""
    dice = random.Random(5)  # noqa: S311 - a fixed dice
    repo = RepositoryBuilder(tmp_path_factory.mktemp("blame") / "repo")
    texts = {f"f{n}.py": [f"file {n} line {k}" for k in range(40)] for n in range(4)}

    def edit(name: str) -> dict[str, str]:
        lines = texts[name]
        at = dice.randrange(len(lines))
        lines[at : at + dice.randrange(3)] = [f"{name} {dice.random():.6f}" for _ in range(dice.randrange(1, 4))]
        return {name: "\n".join(lines) + "\n"}

    repo.commit({name: "\n".join(lines) + "\n" for name, lines in texts.items()})
    for _ in range(6):
        repo.commit(edit(dice.choice(list(texts))))
    repo.git("mv", "f3.py", "renamed é.py")
    texts["renamed é.py"] = texts.pop("f3.py")
    repo.commit(edit("renamed é.py"))
    repo.branch("side")
    repo.commit(edit("f0.py"))
    repo.commit({"only side.py": "a\nb\nc"})
    repo.switch("main")
    repo.commit(edit("f1.py"))
    repo.merge("side")
    repo.git("checkout", "-q", "-b", "both")
    texts["f2.py"].append("from a branch")
    repo.commit({"f2.py": "\n".join(texts["f2.py"]) + "\n"})
    repo.switch("main")
    repo.commit({"f2.py": "\n".join(["from main", *texts["f2.py"][:-1]]) + "\n", "bin": b"\0\1", "empty": ""})
    repo.merge("both")
    return repo


def test_the_replay_says_what_git_blame_says(grown: RepositoryBuilder, tmp_path: Path) -> None:
    owned, lines = replayed(grown, tmp_path / "history")
    assert set(owned.files) == {b"f0.py", b"f1.py", b"f2.py", "renamed é.py".encode(), b"only side.py", b"empty"}
    assert owned.left_out == 1
    assert owned.inexact == []
    for path, commits in lines.items():
        assert commits == porcelain(grown, path), path


def test_octopus_merges_second_roots_and_odd_names_are_replayed_too(tmp_path: Path) -> None:
    repo = build_many_kinds(tmp_path / "repo")
    owned, lines = replayed(repo, tmp_path / "history")
    assert {b"one.txt", b"three.txt", b"caf\xe9.txt", b"src.py"} <= set(owned.files)
    for path, commits in lines.items():
        if owned.files[path].exact:
            assert commits == porcelain(repo, path), path
    assert owned.inexact == []


def test_another_process_reads_what_was_replayed_from_disk(grown: RepositoryBuilder, tmp_path: Path) -> None:
    repository = opened(grown)
    LocalHistoryStore(tmp_path, workers=1).update([repository])
    code = (
        "import sys\n"
        "from sourcelight.core.batches import Cancellation\n"
        "from sourcelight.engines.history import LocalHistoryStore\n"
        "from sourcelight.engines.history.blame import own\n"
        "from sourcelight.repos import Catalog\n"
        "repository = Catalog.open(sys.argv[1]).repositories[0]\n"
        "stop = Cancellation()\n"
        "if sys.argv[4] == 'cancelled': stop.cancel()\n"
        "owned = own(LocalHistoryStore(sys.argv[2]).open(repository), repository, sys.argv[3], cancellation=stop)\n"
        "print(sorted((p, f.blob, f.exact, f.lines.tolist()) for p, f in owned.files.items()), owned.left_out)\n"
    )

    def asked(state: str) -> str:
        argv = [sys.executable, "-c", code, str(grown.path), str(tmp_path), grown.head, state]
        return subprocess.run(argv, capture_output=True, check=True, text=True).stdout

    first = asked("free")
    # A replay would stop at once.
    assert asked("cancelled") == first
    (kept,) = tmp_path.glob(f"*/own-{grown.head}")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert asked("free") == first


def test_after_new_commits_the_replay_goes_on_from_what_was_kept(grown: RepositoryBuilder, tmp_path: Path) -> None:
    repo = grown.clone(tmp_path / "clone")
    repository = opened(repo)
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    states: list[int] = []
    first = own(store.open(repository), repository, repo.head, progress=lambda _, of: states.append(of))
    texts = {path: (repo.path / path.decode()).read_text() for path in first.files}
    repo.git("checkout", "-q", "-b", "late", "HEAD~3")
    repo.commit({"f1.py": "from an older commit\n" + repo.git("show", "HEAD:f1.py").rstrip("\n") + "\n"})
    repo.switch("main")
    repo.commit({"f0.py": texts[b"f0.py"] + "one more\n", "new.py": "all\nnew\n"})
    repo.git("mv", "f2.py", "moved.py")
    repo.commit(None)
    repo.commit({"f1.py": texts[b"f1.py"] + "on main\n"})
    repo.merge("late")
    store.update([repository])
    history = store.open(repository)
    later_states: list[int] = []
    later = own(history, repository, repo.head, progress=lambda _, of: later_states.append(of))
    for path, file in later.files.items():
        assert [history.oid(int(c)) for c in file.lines] == porcelain(repo, path), path
    assert {path: file.exact for path, file in later.files.items()} == dict.fromkeys(later.files, True)
    # Files that stayed are one state each, others go on from there; what a branch had off an older commit is replayed.
    assert later_states[-1] < states[-1]


def test_a_rename_inside_a_merge_is_followed_but_not_proven(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({"a.txt": "".join(f"{n}\n" for n in range(30)), "b": "1\n"})
    repo.branch("side")
    repo.commit({"a.txt": "".join(f"{n}\n" for n in range(31))})
    repo.switch("main")
    repo.commit({"b": "2\n"})
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side", env=identity("A <a@x>", "A <a@x>", 1_700_000_000))
    repo.git("mv", "a.txt", "moved.txt")
    repo.commit(None, "merge and move")
    owned, lines = replayed(repo, tmp_path / "history")
    assert owned.inexact == [b"moved.txt"]
    assert lines[b"moved.txt"] == porcelain(repo, b"moved.txt")


def test_a_shallow_clone_proves_nothing_at_its_edge(tmp_path: Path) -> None:
    origin = RepositoryBuilder(tmp_path / "origin")
    origin.commit({"old": "1\n2\n", "new": "1\n"})
    origin.commit({"new": "2\n"})
    origin.commit({"new": "2\n3\n"})
    clone = origin.clone(tmp_path / "clone", "--depth", "2")
    owned, lines = replayed(clone, tmp_path / "history")
    assert b"old" in owned.inexact
    assert lines[b"old"] == porcelain(clone, b"old")


def test_blame_of_a_file_is_that_of_git(grown: RepositoryBuilder) -> None:
    path = "renamed é.py".encode()
    expected = porcelain(grown, path)
    told: list[tuple[int, int]] = []
    blame = blame_file(opened(grown), grown.head, path, len(expected), progress=lambda *done: told.append(done))
    assert oids(blame) == expected
    assert told[-1] == (len(expected), len(expected))
    assert set(blame.path) == {path, b"f3.py"}
    assert {commit.author for commit in blame.commits} == {"Ada Example"}
    assert all(commit.commit_time >= 1_700_000_000 and commit.summary for commit in blame.commits)
    assert any(commit.boundary for commit in blame.commits)
    assert blame_file(opened(grown), grown.head, path, len(expected)) is blame


def oids(blame: FileBlame) -> list[str]:
    return [blame.commits[at].oid for at in blame.commit]


def test_blame_of_what_is_not_there_fails(grown: RepositoryBuilder) -> None:
    with pytest.raises(GitFailed):
        blame_file(opened(grown), grown.head, b"--help", 1)


def test_both_stop_on_request(grown: RepositoryBuilder, tmp_path: Path) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    repository = opened(grown)
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    with pytest.raises(Cancelled):
        blame_file(repository, grown.head, b"f0.py", 1, cancellation=cancellation)
    parent = grown.git("rev-parse", "HEAD~1")
    with pytest.raises(Cancelled):
        own(store.open(repository), repository, parent, cancellation=cancellation)


def test_quoted_names_are_read() -> None:
    names = {b"a b": b"a b", rb'"a\"b\\\t\303\251"': 'a"b\\\té'.encode(), b'"': b'"'}
    assert {name: unquote_name(name) for name in names} == names


@pytest.mark.parametrize("size", [3, 900, 3000])
def test_kept_lines_are_really_the_same(size: int) -> None:
    dice = random.Random(size)  # noqa: S311 - a fixed dice
    old = [f"line {dice.randrange(size)}" for _ in range(size)]
    for _ in range(20):
        new = list(old)
        for _ in range(dice.randrange(4)):
            at = dice.randrange(len(new) + 1)
            new[at : at + dice.randrange(5)] = [f"new {dice.random()}"] * dice.randrange(5)
        end = dice.choice(["", "\n"])
        first, second = ("\n".join(lines).encode() + (end.encode() if lines else b"") for lines in (old, new))
        places = same_lines(first, second, len(new)).tolist()
        kept = [(place, at) for at, place in enumerate(places) if place >= 0]
        assert all(old[place] == new[at] for place, at in kept)
        assert [place for place, _ in kept] == sorted({place for place, _ in kept})
        assert len(kept) >= len(old) - 20
