"""`churn` by commit: the files that each commit changes, with the lines that git counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder


def numstat(folder: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Lines added and removed by commit and new path."""
    command = ["git", "log", "--no-merges", "-M", "--numstat", "-z", "--format=%x01%H"]
    output = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=30).stdout.decode()
    counts = {}
    for block in output.split("\x01")[1:]:
        commit, _, remaining = block.partition("\0")
        fields = iter(remaining.strip("\n").split("\0"))
        for field in fields:
            if field.strip("\n"):
                added, removed, path = field.strip("\n").split("\t", 2)
                if not path:  # a rename: the old name, and the new one behind it
                    next(fields)
                    path = next(fields)
                counts[commit, path] = (int(added), int(removed))
    return counts


def test_rows_are_those_of_numstat(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a.py": "1\n2\n", "lib/b.py": "x\ny\nz\n", "c\td.py": "1\n"}, "begin")
    repo.branch("side")
    repo.switch("side")
    repo.commit({"lib/c.py": "y\n"}, "side", author="Ben <ben@example.org>")
    repo.switch("main")
    repo.commit({"a.py": "1\n3\n", "lib/b.py": None, "lib/new.py": "x\ny\nz\nw\n"}, "move")
    repo.merge("side", "join")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        frame = code.churn(by=["repository", "commit", "path"])
        rows = zip(frame["commit"], frame["path"], frame["additions"], frame["deletions"], strict=True)
        assert {(commit, path): (added, removed) for commit, path, added, removed in rows} == numstat(repo.path)
        churn = code.churn(by=["commit"])
        assert churn["commit"].nunique() == len(churn) == 3
        assert churn["additions"].sum() == frame["additions"].sum()
        with pytest.raises(sl.ToolError):
            code.drill_down(frame, 0)
