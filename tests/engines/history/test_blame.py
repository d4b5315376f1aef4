"""Blame of one file, and the replay of a whole repository, against ``git blame``."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from engines.history.histories import build_many_kinds
from sourcelight.core.batches import CommitId
from sourcelight.core.batches.git_names import unquote_name
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, GitFailed
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.engines.history.blame import FileBlame, Ownership, blame_file, line_ownership
from sourcelight.engines.history.blame.hunks import read_hunks
from sourcelight.engines.history.blame.line_origins import line_count, unchanged_lines
from sourcelight.engines.history.blame.ownership import load_ownership
from sourcelight.repos import Catalog, Repository
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import identity


def open_repository(builder: RepositoryBuilder) -> Repository:
    return Catalog.open(builder.path).repositories[0]


def porcelain(builder: RepositoryBuilder, path: bytes) -> list[str]:
    """The commit of each line, as ``git blame`` says."""
    argv: list[str | bytes] = ["git", "blame", "--porcelain", "HEAD", "--", path]
    text = subprocess.run(argv, cwd=builder.path, capture_output=True, check=True).stdout
    heads = [line for line in text.split(b"\n") if len(line.split(b" ")[0]) == 40 and not line.startswith(b"\t")]
    return [head[:40].decode() for head in heads]


def replayed(builder: RepositoryBuilder, folder: Path) -> tuple[Ownership, dict[bytes, list[str]]]:
    repository = open_repository(builder)
    store = LocalHistoryStore(folder, workers=1)
    store.update([repository])
    history = store.open(repository)
    owned = line_ownership(history, repository, builder.head)
    return owned, {path: [history.oid(int(c)) for c in file.lines] for path, file in owned.files.items()}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A history of edits, renames, branches and merges, by a fixed dice."""
    dice = random.Random(5)  # noqa: S311 - a fixed dice
    repo = RepositoryBuilder(tmp_path_factory.mktemp("blame") / "repo")
    texts = {f"f{n}.py": [f"file {n} line {k}" for k in range(40)] for n in range(4)}

    def edit(name: str) -> dict[str, str]:
        lines = texts[name]
        position = dice.randrange(len(lines))
        lines[position : position + dice.randrange(3)] = [
            f"{name} {dice.random():.6f}" for _ in range(dice.randrange(1, 4))
        ]
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
    repository = open_repository(grown)
    LocalHistoryStore(tmp_path, workers=1).update([repository])
    code = (
        "import sys\n"
        "from sourcelight.core.cancellation import Cancellation\n"
        "from sourcelight.engines.history import LocalHistoryStore\n"
        "from sourcelight.engines.history.blame import line_ownership\n"
        "from sourcelight.repos import Catalog\n"
        "repository = Catalog.open(sys.argv[1]).repositories[0]\n"
        "stop = Cancellation()\n"
        "if sys.argv[4] == 'cancelled': stop.cancel()\n"
        "history = LocalHistoryStore(sys.argv[2]).open(repository)\n"
        "owned = line_ownership(history, repository, sys.argv[3], cancellation=stop)\n"
        "print(sorted((p, f.blob, f.exact, f.lines.tolist()) for p, f in owned.files.items()), owned.left_out)\n"
    )

    def run_blame(state: str) -> str:
        argv = [sys.executable, "-c", code, str(grown.path), str(tmp_path), grown.head, state]
        return subprocess.run(argv, capture_output=True, check=True, text=True).stdout

    first = run_blame("free")
    # A replay would stop at once.
    assert run_blame("cancelled") == first
    (cache_file,) = tmp_path.glob(f"*/own-{grown.head}")
    cache_file.write_bytes(cache_file.read_bytes()[:-9])
    assert run_blame("free") == first


def test_after_new_commits_the_replay_goes_on_from_what_was_kept(grown: RepositoryBuilder, tmp_path: Path) -> None:
    repo = grown.clone(tmp_path / "clone")
    repository = open_repository(repo)
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    states: list[int] = []
    first = line_ownership(store.open(repository), repository, repo.head, progress=lambda _, of: states.append(of))
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
    later = line_ownership(history, repository, repo.head, progress=lambda _, of: later_states.append(of))
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
    events: list[tuple[int, int]] = []
    blame = blame_file(
        open_repository(grown), grown.head, path, len(expected), progress=lambda *done: events.append(done)
    )
    assert oids(blame) == expected
    assert events[-1] == (len(expected), len(expected))
    assert set(blame.path) == {path, b"f3.py"}
    assert {commit.author for commit in blame.commits} == {"Ada Example"}
    assert all(commit.commit_time >= 1_700_000_000 and commit.summary for commit in blame.commits)
    assert any(commit.boundary for commit in blame.commits)
    assert blame_file(open_repository(grown), grown.head, path, len(expected)) is blame


def oids(blame: FileBlame) -> list[str]:
    return [blame.commits[position].oid for position in blame.commit]


def test_blame_of_what_is_not_there_fails(grown: RepositoryBuilder) -> None:
    with pytest.raises(GitFailed):
        blame_file(open_repository(grown), grown.head, b"--help", 1)


def test_both_stop_on_request(grown: RepositoryBuilder, tmp_path: Path) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    repository = open_repository(grown)
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    with pytest.raises(Cancelled):
        blame_file(repository, grown.head, b"f0.py", 1, cancellation=cancellation)
    parent = grown.git("rev-parse", "HEAD~1")
    with pytest.raises(Cancelled):
        line_ownership(store.open(repository), repository, CommitId(parent), cancellation=cancellation)


def test_quoted_names_are_read() -> None:
    names = {b"a b": b"a b", rb'"a\"b\\\t\303\251"': 'a"b\\\té'.encode(), b'"': b'"'}
    assert {name: unquote_name(name) for name in names} == names


def test_hunks_are_those_of_a_diff_without_context(tmp_path: Path) -> None:
    dice = random.Random(16)  # noqa: S311 - a fixed dice
    repo = RepositoryBuilder(tmp_path / 'odd "name"\\ here')
    texts = [_few_words(dice) for _ in range(30)] + [b"", b"no end", b"@@ -1 +1 @@\n-x\n", b"\0\1\n", b"\r\n\n"]
    repo.commit({f"{index:02}": text for index, text in enumerate(texts)})
    blobs = [bytes.fromhex(repo.git("rev-parse", f"HEAD:{index:02}")) for index in range(len(texts))]
    pairs = [(blobs[dice.randrange(len(texts))], blobs[dice.randrange(len(texts))]) for _ in range(1500)]
    result = read_hunks(open_repository(repo), pairs)
    distinct = list(dict.fromkeys(pairs))
    heads = _heads_of_git(repo, distinct)
    for number, (old, new) in enumerate(distinct):
        assert result[old, new].tolist() == heads.get(number, [])
        first, second = (texts[blobs.index(blob)].split(b"\n") for blob in (old, new))
        positions = unchanged_lines(result[old, new], line_count(texts[blobs.index(old)])).tolist()
        assert len(positions) == line_count(texts[blobs.index(new)])
        assert all(first[location] == second[index] for index, location in enumerate(positions) if location >= 0)


def _heads_of_git(repo: RepositoryBuilder, pairs: list[tuple[bytes, bytes]]) -> dict[int, list[list[int]]]:
    """The hunks of each pair that differs, of one diff for all: a process for each took ten times as long."""
    sides = (
        "".join(f"100644 blob {pair[side].hex()}\t{number:06}\n" for number, pair in enumerate(pairs))
        for side in (0, 1)
    )
    trees = [repo.git("mktree", stdin=side.encode()) for side in sides]
    heads: dict[int, list[list[int]]] = {}
    current: list[list[int]] = []
    for line in repo.git("diff", "-U0", "--text", "--no-renames", *trees).encode().split(b"\n"):
        if line.startswith(b"diff --git "):
            current = heads.setdefault(int(line[-6:]), [])
        elif line.startswith(b"@@ -"):
            current.append(_numbers(line))
    return heads


def _numbers(head: bytes) -> list[int]:
    sides = [part[1:].split(b",") for part in head.split(b" ")[1:3]]
    (old, removed), (new, added) = ((int(side[0]), int(side[1]) if len(side) > 1 else 1) for side in sides)
    return [old - (removed > 0), removed, new - (added > 0), added]


def _few_words(dice: random.Random) -> bytes:
    """A text of few different lines, indented at random: there is more than one shortest way to edit it."""
    return b"".join(b" " * dice.randrange(3) + dice.choice([b"end", b"", b"x = 1", b"y"]) + b"\n" for _ in range(40))


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """Edits of repeated lines before an end of some KB that stays, and more and more lines that are all the same."""
    dice = random.Random(8)  # noqa: S311 - a fixed dice
    repo = RepositoryBuilder(tmp_path_factory.mktemp("ambiguous") / "repo")
    end = b"".join(b"end\n\n  x = %d\n" % (index % 3) for index in range(150))
    texts = {f"f{index}": _few_words(dice) for index in range(12)}

    def edited() -> dict[str, bytes]:
        for name in dice.sample(sorted(texts), 6):
            lines = texts[name].splitlines(keepends=True)
            for _ in range(2):
                position = dice.randrange(len(lines))
                lines[position : position + dice.randrange(6)] = _few_words(dice).splitlines(keepends=True)[
                    : dice.randrange(6)
                ]
            texts[name] = b"".join(lines)
        return {name: text + end for name, text in texts.items()}

    for number in range(12):
        repo.commit({**edited(), "repeated": b"x\n" * (600 + number)})
    return repo


def test_exact_means_what_git_blame_says_and_nothing_else_says_so(ambiguous: RepositoryBuilder, tmp_path: Path) -> None:
    repository = open_repository(ambiguous)
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    history = store.open(repository)
    rough = line_ownership(history, repository, ambiguous.head, exact=False)
    thorough = line_ownership(history, repository, ambiguous.head, exact=True)
    otherwise = []
    for path, file in thorough.files.items():
        reply = porcelain(ambiguous, path)
        assert [history.oid(int(commit)) for commit in file.lines] == reply, path
        if [history.oid(int(commit)) for commit in rough.files[path].lines] != reply:
            otherwise.append(path)
            assert not rough.files[path].exact
    assert thorough.inexact == []
    # Else this history shows nothing: its stored hunks have to be others than those of git blame.
    assert otherwise
    # What was proven stays so when it is asked for without proof, also after it was read from disk.
    assert line_ownership(history, repository, ambiguous.head, exact=False) is thorough
    ownership = load_ownership(history, ambiguous.head)
    assert ownership is not None
    assert ownership.thorough
    assert ownership.inexact == []
    assert ownership.origins == thorough.origins


def test_two_files_that_come_from_one_are_both_followed(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    first, second = ([f"{name} {index}" for index in range(40)] for name in ("one", "two"))
    repo.commit({"module.py": "\n".join(first + second) + "\n", "other.py": "print()\n"})
    repo.commit({"module.py": None, "package/one.py": "\n".join([*first, *second[:20], "new"]) + "\n",
                 "package/two.py": "\n".join([*first[:20], *second, "new too"]) + "\n",
                 "package/three.py": "nothing of it\n"})  # fmt: skip
    repo.commit({"package/two.py": "\n".join(["first", *first[:20], *second]) + "\n"})
    owned, lines = replayed(repo, tmp_path / "history")
    for path, commits in lines.items():
        assert commits == porcelain(repo, path), path
        assert len(set(commits)) == (2 if path in {b"package/one.py", b"package/two.py"} else 1)
    assert b"package/three.py" not in owned.inexact


def test_contents_that_are_missing_prove_nothing(ambiguous: RepositoryBuilder, tmp_path: Path) -> None:
    clone = ambiguous.clone(tmp_path / "clone")
    repository = open_repository(clone)
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    _unpack(clone)
    blob = clone.git("rev-parse", "HEAD~1:f0")
    (clone.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository = open_repository(clone)
    history = store.open(repository)
    owned = line_ownership(history, repository, clone.head, exact=True)
    assert b"f0" in owned.inexact
    assert {b"f1", b"f2"} & set(owned.inexact) == set()
    for path, file in owned.files.items():
        if file.exact:
            assert [history.oid(int(commit)) for commit in file.lines] == porcelain(ambiguous, path), path


def _unpack(repo: RepositoryBuilder) -> None:
    """Make each object a file of its own."""
    folder = repo.path / ".git" / "objects"
    for pack in (folder / "pack").glob("*.pack"):
        moved = repo.path.parent / pack.name
        pack.replace(moved)
        with moved.open("rb") as file:
            subprocess.run(["git", "unpack-objects", "-q"], cwd=repo.path, stdin=file, check=True)


def test_blame_runs_nothing_that_the_repository_configures(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({"a.txt": "1\n"})
    repo.commit({"a.txt": "1\n2\n"})
    harm = tmp_path / "harm"
    repo.git("config", "diff.evil.textconv", f"touch {harm}; cat")
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "info" / "attributes").write_text("* diff=evil\n")
    repository = open_repository(repo)
    assert len(blame_file(repository, repo.head, b"a.txt", 2).commits) == 2
    store = LocalHistoryStore(tmp_path / "history", workers=1)
    store.update([repository])
    line_ownership(store.open(repository), repository, repo.head, exact=True)
    assert not harm.exists()
    # The trap works: git by itself falls into it.
    subprocess.run(["git", "blame", "HEAD", "--", "a.txt"], cwd=repo.path, capture_output=True, check=True)
    assert harm.exists()
