"""The changes of a file or directory are those that git's own rename detection follows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.core.batches.commit_messages import references_of
from sourcelight.testing import RepositoryBuilder

WORDS = [f"word{number}" for number in range(400)]


def content(generator: random.Random, lines: int = 12) -> str:
    """A text that is like no other one, so that git sees no copy."""
    return "".join(f"{generator.choice(WORDS)} {generator.random()}\n" for _ in range(lines))


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A line of random edits, renames, deletions and new files under old names."""
    generator = random.Random(5)  # noqa: S311 - no secret
    builder = RepositoryBuilder(tmp_path_factory.mktemp("src") / "line")
    files = {f"a/f{number}.txt": content(generator) for number in range(4)}
    builder.commit(dict(files), "begin")
    for step in range(40):
        path = generator.choice(sorted(files))
        action = generator.choice(["edit", "edit", "move", "move", "delete", "add", "add"])
        if action == "edit" or len(files) < 3:
            files[path] += f"{generator.random()}\n"
            builder.commit({path: files[path]}, f"edit {path} (#{step + 1})")
        elif action == "move":
            new = f"{generator.choice('abc')}/f{generator.randrange(6)}.txt"
            if new in files:
                continue
            files[new] = files.pop(path) + generator.choice(["", "and more\n"])
            builder.commit({path: None, new: files[new]}, f"move {path}")
        elif action == "delete":
            del files[path]
            builder.commit({path: None}, f"delete {path}")
        else:
            new = f"a/f{generator.randrange(6)}.txt"
            if new not in files:
                files[new] = content(generator)
                builder.commit({new: files[new]}, f"add {new}")
    return builder


def test_a_file_has_the_commits_of_git_log_follow(repo: RepositoryBuilder, code: sl.Client) -> None:
    paths = repo.git("ls-files").split("\n")
    assert len(paths) > 2
    for path in paths:
        frame = code.path_history("line", path)
        log = repo.git("log", "--follow", "--format=%H", "--", path).split("\n")
        assert frame["commit"].tolist() == log, path
        numstat = repo.git("log", "--follow", "--numstat", "--format=", "--", path).split("\n")
        pairs = [tuple(map(int, line.split("\t")[:2])) for line in numstat if line]
        name = path
        for row, pair in zip(frame.to_dict("records"), pairs, strict=True):
            if row["path"] != name:  # an older file of the name moved away, which git shows as its deletion
                assert (row["status"], row["old_path"], pair[0]) == ("renamed", name, 0)
                continue
            assert (row["additions"], row["deletions"]) == pair, path
            name = row["old_path"]


def test_all_tools_count_the_same_commits_of_a_file(repo: RepositoryBuilder, code: sl.Client) -> None:
    hotspots = code.hotspots("line", limit=None)
    counts = dict(zip(hotspots["path"], hotspots["commits"], strict=True))
    for path in repo.git("ls-files").split("\n"):
        log = repo.git("log", "--follow", "--format=%H", "--", path).split("\n")
        assert counts[path] == len(log), path
        row = hotspots.index[hotspots["path"] == path][0]
        assert code.drill_down(hotspots, int(row))["commit"].tolist() == log


def test_contributors_of_a_file_are_the_authors_of_its_history(tmp_path: Path) -> None:
    generator = random.Random(13)  # noqa: S311 - no secret
    ours, theirs = content(generator), content(generator)
    builder = RepositoryBuilder(tmp_path / "src" / "people")
    builder.commit({"a.txt": ours}, author="Ada <a@x.org>")
    builder.commit({"b.txt": theirs}, author="Bob <b@x.org>")
    builder.commit({"b.txt": None}, author="Cat <c@x.org>")
    builder.commit({"a.txt": None, "b.txt": ours}, author="Dan <d@x.org>")
    builder.commit({"c.txt": theirs, "b.txt": f"{ours}more\n"}, author="Eve <e@x.org>")
    logs = {path: builder.git("log", "--follow", "--format=%an", "--", path).split("\n") for path in ("b.txt", "c.txt")}
    assert logs["b.txt"] == ["Eve", "Dan", "Ada"]  # not those of an earlier file of the name
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        for name in ("Ada", "Bob", "Cat", "Dan", "Eve"):
            paths = {path for path, authors in logs.items() if name in authors}
            assert set(code.search(f"file:has.contributor(^{name}) type:path").matches["path"]) == paths, name
            assert set(code.search(f"-file:has.contributor(^{name}) type:path").matches["path"]) == {*logs} - paths


def test_a_file_that_is_gone_still_has_a_past(repo: RepositoryBuilder, code: sl.Client) -> None:
    deleted_paths = repo.git("log", "--diff-filter=D", "--no-renames", "--name-only", "--format=").split("\n")
    path = next(path for path in deleted_paths if path and path not in repo.git("ls-files").split("\n"))
    frame = code.path_history("line", path)
    assert not frame.attrs["exists"]
    assert len(frame) >= 2
    with pytest.raises(sl.PathNotFound):
        code.path_history("line", "never/there.txt")


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_the_top_directory_has_all_changes(repo: RepositoryBuilder, code: sl.Client, path: str) -> None:
    frame = code.path_history("line", path)
    statuses = repo.git("log", "-M", "--name-status", "--format=").split("\n")
    assert len(frame) == len([line for line in statuses if line])
    assert list(dict.fromkeys(frame["commit"])) == repo.git("log", "--format=%H").split("\n")


def test_a_limit_is_said(code: sl.Client) -> None:
    everything = code.path_history("line", "a")
    part = code.path_history("line", "a", limit=2)
    assert part["commit"].tolist() == everything["commit"].tolist()[:2]
    assert part.attrs["status"] == "partial"
    assert part.attrs["total"] == len(everything)


def test_a_renamed_directory_keeps_its_life_and_moved_files_bring_theirs(tmp_path: Path) -> None:
    generator = random.Random(7)  # noqa: S311 - no secret
    first_text, second_text, third, guest = (content(generator) for _ in range(4))
    builder = RepositoryBuilder(tmp_path / "src" / "moves")
    first = builder.commit(
        {"old/one.txt": first_text, "old/sub/two.txt": second_text, "old/gone.txt": third, "top.txt": "x\n"}, "begin"
    )
    stray = builder.commit({"other/guest.txt": guest}, "a guest elsewhere")
    deleted = builder.commit({"old/gone.txt": None}, "drop a file")
    builder.commit({"top.txt": "y\n"}, "no matter")
    renamed = builder.commit(
        {"old/one.txt": None, "old/sub/two.txt": None, "new/one.txt": first_text, "new/sub/two.txt": second_text},
        "rename all",
    )
    moved = builder.commit({"other/guest.txt": None, "new/guest.txt": guest}, "take the guest in")
    builder.commit({"old/one.txt": content(generator)}, "another directory under the old name")
    edited = builder.commit({"new/one.txt": first_text + "more\n"}, "edit")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        frame = code.path_history("moves", "new")
    assert list(dict.fromkeys(frame["commit"])) == [edited, moved, renamed, deleted, stray, first]
    assert frame.attrs["kind"] == "directory"
    assert set(frame.loc[frame["commit"] == first, "path"]) == {"old/one.txt", "old/sub/two.txt", "old/gone.txt"}


def test_branches_are_followed_apart(tmp_path: Path) -> None:
    generator = random.Random(9)  # noqa: S311 - no secret
    ours, theirs = content(generator), content(generator)
    builder = RepositoryBuilder(tmp_path / "src" / "branches")
    first = builder.commit({"a.txt": ours}, "begin")
    builder.branch("side")
    stranger = builder.commit({"b.txt": theirs}, "another b on a branch")
    builder.commit({"b.txt": None}, "which goes before the merge")
    builder.switch("main")
    renamed = builder.commit({"a.txt": None, "b.txt": ours}, "rename a to b")
    builder.merge("side", "merge the branch")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        ids = code.path_history("branches", "b.txt")["commit"].tolist()
    # One name for all older commits would lose a.txt on main, or take the stranger for the file's own past.
    assert first in ids
    assert renamed in ids
    assert stranger in ids  # it had the name b.txt on the branch that was merged


def test_a_branch_keeps_the_former_name_of_a_file(tmp_path: Path) -> None:
    generator = random.Random(11)  # noqa: S311 - no secret
    text, other = content(generator), content(generator)
    builder = RepositoryBuilder(tmp_path / "src" / "branches")
    stranger = builder.commit({"b.py": other}, "another file under the later name")
    builder.commit({"b.py": None}, "which goes")
    first = builder.commit({"a.py": text}, "begin")
    builder.branch("side")
    builder.switch("main")
    renamed = builder.commit({"a.py": None, "b.py": text}, "rename a to b")
    builder.switch("side")
    # After the rename by date, before it by history: git log --follow looks for b.py alone by then.
    edited = builder.commit({"a.py": text + "more = 1\n"}, "edit a on a branch")
    builder.switch("main")
    builder.merge("side", "merge the branch")
    # Another file takes the free name: the past of that name belongs to both, but they never changed together.
    newcomer = builder.commit({"a.py": content(generator)}, "a new a")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        story = code.path_history("branches", "b.py")["commit"].tolist()
        hotspots = code.hotspots("branches", limit=None).set_index("path")["commits"]
        measured = code.complexity("branches", by="file").set_index("path")["commits"]
        coupling = code.coupling("branches", min_commits=1, min_degree=0)
    assert story == [edited, renamed, first]
    assert stranger not in story
    assert hotspots["b.py"] == measured["b.py"] == 3
    # As in git, an older file of the same name counts: begin, edit, rename and the new file.
    assert hotspots["a.py"] == measured["a.py"] == len({first, edited, renamed, newcomer})
    assert coupling.empty


@pytest.mark.parametrize(
    ("message", "references"),
    [
        ("Fix the counter (#12)", ["#12"]),
        ("Merge request\n\nSee merge request group/demo!7", ["group/demo!7"]),
        ("ABC-12: do it\n\nCloses XY-3, GH-4 and owner/name#5", ["ABC-12", "XY-3", "GH-4", "owner/name#5"]),
        ("Use UTF-8 and SHA-256 in C#7 &#39;", []),
        ("CVE-2024-12345 https://example.org/o/n/issues/26", ["CVE-2024-12345", "https://example.org/o/n/issues/26"]),
        ("#12 again #12, not #0 nor a#b", ["#12"]),
        ("", []),
    ],
)
def test_references_are_taken_as_they_are_written(message: str, references: list[str]) -> None:
    assert references_of(message) == references


def test_references_of_hostile_messages_are_bounded() -> None:
    assert len(references_of(" ".join(f"#{number}" for number in range(1, 100_000)))) == 50
    for text in ("a/" * 200_000, "https://" * 50_000, "-" * 400_000, "A" * 400_000 + "-1", "x#" * 200_000):
        references_of(text)
