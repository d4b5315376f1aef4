"""The sample fleet is the same on every machine, and holds what tests and tutorials rely on."""

from __future__ import annotations

import ast
import os
import tomllib
from pathlib import Path

import pytest

import build
from git_output import git_bytes
from weave import read_history

HEADS = {
    "board": "7d0b413a34f2b0960e6d32004e633283503f34d6",
    "gauge": "1538ca9a6bc50f9c6282876a242bb8f854f0e954",
    "handbook.git": "ae4586827188ab1034e315b68bb7444d0d20c9be",
    "hub": "36a4a499ba0b37d4b7d315dde4fd927030e0bd3a",
    "pytide": "fefd4ebb57054e3e720a043761e2ac64cd74b4a6",
    "hub-fork": "98a7103401d7c65c142a511a68d37f8fed72f9cb",
    "collector.git": "0b05a5cb1efb548716e86b5e690e8ab87c2d2a3d",
}
MAIN = ["board", "gauge", "handbook.git", "hub", "pytide"]


def blobs(repository: Path) -> dict[bytes, bytes]:
    rows = git_bytes(repository, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]
    pairs = (row.split(b"\t", 1) for row in rows)
    return {
        path: git_bytes(repository, "cat-file", "blob", attributes.split()[2].decode()) for attributes, path in pairs
    }


def test_every_machine_makes_the_same_commits(fleet: Path) -> None:
    result = {name: git_bytes(fleet / name, "rev-parse", "HEAD").decode().strip() for name in HEADS}
    assert result == HEADS


@pytest.mark.parametrize("name", MAIN)
def test_a_main_repository_has_thirty_to_eighty_commits(fleet: Path, name: str) -> None:
    assert 30 <= int(git_bytes(fleet / name, "rev-list", "--count", "HEAD")) <= 80


@pytest.mark.parametrize("name", HEADS)
def test_git_finds_no_fault(fleet: Path, name: str) -> None:
    git_bytes(fleet / name, "fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("name", ["board", "gauge", "hub", "pytide", "hub-fork"])
def test_work_trees_are_clean(fleet: Path, name: str) -> None:
    assert git_bytes(fleet / name, "status", "--porcelain") == b""


def test_woven_files_name_only_commits_that_exist() -> None:
    value = tomllib.loads((build.FLEET / "fleet.toml").read_text("utf-8"))["repositories"]
    names: dict[str, set[str]] = {}
    mentioned: dict[str, set[str]] = {}
    for name in value:
        home = value[name].get("fork_of", name)
        entries = read_history((build.FLEET / name / "history.txt").read_text("utf-8"))
        names.setdefault(home, set()).update(entry.name for entry in entries)
        files, _ = build.read_repository(name, {})
        mentioned.setdefault(home, set()).update(*(file.names for file in files))
    assert {home: sorted(mentioned[home] - names[home]) for home in mentioned} == {home: [] for home in mentioned}


@pytest.mark.parametrize("name", ["pytide", "handbook.git"])
def test_python_files_parse_in_every_state(fleet: Path, name: str) -> None:
    rows = git_bytes(fleet / name, "rev-list", "--objects", "HEAD").decode(errors="replace").splitlines()
    states = [row.split(" ", 1) for row in rows if row.endswith(".py")]
    assert states
    for blob, path in states:
        ast.parse(git_bytes(fleet / name, "cat-file", "blob", blob), path)


def test_the_fleet_holds_hard_files(fleet: Path) -> None:
    handbook, board = blobs(fleet / "handbook.git"), blobs(fleet / "board")
    assert len(handbook[b"archive/levels-2021.csv"]) > 2 * 1024 * 1024
    assert b"\0" in handbook[b"assets/logo.png"]
    assert b"archive/pegel-stra\xdfe.txt" in handbook
    assert handbook[b"archive/pegel-stra\xdfe.txt"].startswith(b"Pegel Hafenstra\xdfe, 1987\r\n")
    assert "docs/検潮所.md".encode() in handbook
    assert max(map(len, board[b"dist/board.min.js"].split(b"\n"))) > 64 * 1024


def test_histories_hold_what_history_tools_must_cope_with(fleet: Path) -> None:
    hub = fleet / "hub"
    parents = [line.split() for line in git_bytes(hub, "log", "--format=%P").decode().splitlines()]
    assert max(map(len, parents)) == 4
    kinds = git_bytes(hub, "for-each-ref", "--format=%(objecttype)", "refs/tags").decode().split()
    assert set(kinds) == {"tag", "commit"}
    assert b"refs/heads/release-1.2" in git_bytes(hub, "for-each-ref")
    assert len(git_bytes(hub, "log", "--format=%an", "--author=bot").splitlines()) >= 6
    assert b"Co-authored-by: " in git_bytes(hub, "log", "--format=%B")
    assert b"R0" in git_bytes(hub, "log", "-M", "--raw", "--format=").replace(b"R100", b"R0")
    assert b"Mara Lindqvist <mlind@oldmail.example>" in git_bytes(hub, "log", "--format=%an <%ae>")
    assert b"mlind" not in git_bytes(hub, "log", "--format=%aN <%aE>")
    rise_and_fall = git_bytes(fleet / "pytide", "log", "--format=%s", "-Sfetch_levels", "--", "*client.py").decode()
    assert rise_and_fall.splitlines()[0] == "Remove fetch_levels"


def test_a_fork_shares_history_with_its_parent(fleet: Path) -> None:
    base = git_bytes(fleet / "hub-fork", "rev-parse", "HEAD~2").decode().strip()
    git_bytes(fleet / "hub", "merge-base", "--is-ancestor", base, "HEAD")


def test_an_existing_repository_is_left_alone(fleet: Path) -> None:
    with pytest.raises(SystemExit, match="exists"):
        build.build(fleet)


def test_the_hosts_git_settings_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[core]\n\tautocrlf = true\n[init]\n\tdefaultBranch = trunk\n[commit]\n\tgpgsign = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", os.devnull)
    assert build.build(tmp_path / "fleet") == HEADS
