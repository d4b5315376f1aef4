from pathlib import Path

from sourcelight.testing import RepositoryBuilder, make_repo


def test_the_same_calls_make_the_same_commit(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "x = 1\n", "docs/b.md": b"\xff\n"}
    first, second = (make_repo(tmp_path / name, files) for name in ("one", "two"))
    assert first.head == second.head
    assert first.commit({"a.py": None}) == second.commit({"a.py": None})


def test_names_may_be_any_bytes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {b"caf\xe9.txt": "x"})
    assert repo.git("ls-tree", "-z", "--name-only", "HEAD") == "caf\udce9.txt\0"


def test_the_head_is_what_git_says_however_it_is_stored(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {"a.py": "x = 1\n"})
    heads = [repo.head]
    repo.git("pack-refs", "--all")
    heads.append(repo.head)
    repo.switch(repo.head)
    heads.append(repo.head)
    assert heads == [repo.git("rev-parse", "HEAD")] * 3
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = RepositoryBuilder(tmp_path / "side")
    assert side.commit({"b.py": "y = 1\n"}) == side.head == side.git("rev-parse", "HEAD") != repo.head
    long = RepositoryBuilder(tmp_path / "long", object_format="sha256")
    assert long.commit({"a.py": "x = 1\n"}) == long.git("rev-parse", "HEAD")
