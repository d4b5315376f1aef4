"""Searches of commits and changed lines: the same rows from both backends, and those of git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import sourcelight as sl
from equal_frames import assert_frame_equal

QUERIES = [
    "type:commit fix",
    "type:commit retry OR backoff",
    "type:commit repo:hub -message:add",
    "type:commit author:a file:\\.py$",
    r"type:commit /\w+ing/ count:20",
    "type:diff retry",
    "type:diff retry select:commit.diff.removed",
    "type:diff checksum lang:c",
    "type:diff retry AND delay",
    "type:diff file:README",
    "type:diff e count:30",
    "type:commit no such words anywhere",
    "type:commit select:repo fix",
]


@pytest.mark.parametrize("query", QUERIES)
def test_commits_are_the_same_from_both(embedded: sl.Client, other: sl.Client, query: str) -> None:
    local, remote = (client.search(query) for client in (embedded, other))
    assert (local.status, local.match_count) == (remote.status, remote.match_count)
    keys = ["repository", "commit", "path", "side", "line_number"]
    frames = [r.matches.astype({"path": "str", "side": "str"}).sort_values(keys) for r in (local, remote)]
    mine, theirs = (frame.reset_index(drop=True) for frame in frames)
    assert_frame_equal(mine, theirs, check_categorical=False, check_dtype=False)
    assert set(local.skipped["reason"]) == set(remote.skipped["reason"])


def _git(fleet: Path, *arguments: str) -> set[str]:
    results: set[str] = set()
    for folder in (path for path in fleet.iterdir() if path.is_dir() and path.name != "hub-fork"):
        argv = ["git", "log", "--format=%H", *arguments, "HEAD"]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        results.update(done.stdout.split())
    return results


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("type:commit retry case:yes count:all", ["-F", "--grep=retry"]),
        ("type:diff retry case:yes count:all", ["-Gretry"]),
        ("type:diff author:@example case:yes return count:all", ["-Greturn", "--author=@example"]),
    ],
)
def test_commits_are_those_of_git(embedded: sl.Client, fleet: Path, query: str, arguments: list[str]) -> None:
    assert set(embedded.search(query).matches["commit"].astype(str)) == _git(fleet, *arguments)
