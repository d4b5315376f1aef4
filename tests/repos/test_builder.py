from pathlib import Path

from sourcelight.testing import make_repo


def test_the_same_calls_make_the_same_commit(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "x = 1\n", "docs/b.md": b"\xff\n"}
    first, second = (make_repo(tmp_path / name, files) for name in ("one", "two"))
    assert first.head == second.head
    assert first.commit({"a.py": None}) == second.commit({"a.py": None})


def test_names_may_be_any_bytes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", {b"caf\xe9.txt": "x"})
    assert repo.git("ls-tree", "-z", "--name-only", "HEAD") == "caf\udce9.txt\0"
