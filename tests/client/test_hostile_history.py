"""Histories of any bytes asked together: every call answers, here and over HTTP, and says what git says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from engines.history.hostile import NAMES, build_hostile, raw_commit
from server.served import serving
from sourcelight.cli import main
from sourcelight.core.errors import QueryError, ToolError
from sourcelight.lab.reports import changes, contributors
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import git_environment

TOKEN = "slo_the-owner-of-the-test"
TEXT = b"needle one\nxb needle\n\tneedle\tnext\nplain\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    build_hostile(root / "hostile")
    RepositoryBuilder(root / "plain").commit({"a.py": "needle one\n"}, "plain needle")
    names = RepositoryBuilder(root / "names")
    raw_commit(names, b"add needle", files=dict.fromkeys(NAMES, b"needle\nkept\n"))
    raw_commit(names, b"change \xff needle", files=dict.fromkeys(NAMES, b"needle two\nkept\n"))
    raw_commit(names, b"fewer", files=dict.fromkeys(NAMES[:4], b"kept\n"), mode=b"100664")
    lines = RepositoryBuilder(root / "lines")
    raw_commit(lines, b"add", files={b"a": TEXT})
    raw_commit(lines, b"change", files={b"a": TEXT.replace(b"one", b"two")})
    return root


@pytest.fixture(scope="module")
def embedded(folder: Path) -> Iterator[sl.Client]:
    with sl.open(folder) as client:
        yield client


@pytest.fixture(scope="module")
def remote(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    home = tmp_path_factory.mktemp("service")
    with serving(str(folder), home=home, token=TOKEN) as (_, address), sl.connect(address, TOKEN) as client:
        yield client


@pytest.fixture(params=["embedded", "remote"])
def code(request: pytest.FixtureRequest) -> sl.Client:
    client = request.getfixturevalue(request.param)
    assert isinstance(client, sl.Client)
    return client


def log(folder: Path, name: str, *arguments: str) -> set[str]:
    argv = ["git", "-C", str(folder / name), "log", "--format=%H", *arguments]
    done = subprocess.run(argv, capture_output=True, check=True, env=git_environment(), timeout=60)
    return set(done.stdout.decode().split())


def test_commits_of_all_repositories_are_found(code: sl.Client, folder: Path) -> None:
    result = code.search("type:commit count:all").matches
    for name in ("hostile", "plain", "names", "lines"):
        assert set(result["commit"][result["repository"] == name].astype(str)) == log(folder, name), name
    broken = code.search("type:commit /change . needle/ count:all").matches
    assert list(broken["line"]) == ["change \ufffd needle"]


def test_each_changed_line_has_the_path_of_its_own_file(code: sl.Client) -> None:
    result = code.search("type:diff repo:^names$ needle count:all").matches
    displayed = [name.decode("utf-8", "replace") for name in NAMES]
    expected = [(name, "added", "needle") for name in displayed]
    expected += [
        (name, side, text) for name in displayed for side, text in (("removed", "needle"), ("added", "needle two"))
    ]
    expected += [(name, "removed", "needle two") for name in displayed]
    rows = zip(result["path"].astype(str), result["side"].astype(str), result["line"], strict=True)
    assert sorted(rows) == sorted(expected)


def test_calls_over_several_repositories_answer(code: sl.Client, folder: Path) -> None:
    commits = code.commit_search(["hostile", "plain", "names", "lines"], limit=100)
    assert set(commits["commit"].astype(str)) >= log(folder, "names") | log(folder, "plain")
    assert len(code.commit_search(["hostile"], message_terms=["caf\ufffd"], limit=100)) > 1
    assert set(code.diff_search("needle", ["plain", "names", "lines"])["repository"].astype(str)) == {
        "plain",
        "names",
        "lines",
    }


def test_a_sum_of_whole_histories_takes_in_all(embedded: sl.Client, folder: Path) -> None:
    repos = ["hostile", "plain", "names", "lines"]
    assert embedded.contributors(repos)["commits"].sum() == sum(len(log(folder, name)) for name in repos)
    for call in (embedded.churn, embedded.hotspots, embedded.identities):
        frame: Any = call(repos)
        assert len(frame), call
    for oid in log(folder, "hostile"):
        assert embedded.commit_details("hostile", oid).attrs["commit"] == oid
    assert len(embedded.blame("names", NAMES[0].decode())) == 1


def test_reports_are_made(embedded: sl.Client) -> None:
    assert "Ada" in contributors(embedded, ["hostile", "plain", "names"]).to_markdown()
    assert changes(embedded, "hostile", "HEAD~60", "HEAD").to_markdown()


def test_the_command_line_prints_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "type:commit needle count:all", str(folder)]) == 0
    assert "change \ufffd needle" in capsys.readouterr().out


@pytest.mark.parametrize("pattern", [r"needle\s", r"\Wneedle", "[^a]b", r"[[:space:]]needle", r"one$", "(^|x)needle"])
def test_patterns_that_may_match_a_newline_are_found_in_lines(code: sl.Client, folder: Path, pattern: str) -> None:
    expected = log(folder, "lines", "-E", f"-G{pattern}")
    assert expected
    diffs = code.diff_search(pattern, ["lines"], use_regex=True)
    assert set(diffs["commit"].astype(str)) == expected
    queried = code.search(f"type:diff repo:^lines$ case:yes /{pattern}/ count:all").matches
    assert set(queried["commit"].astype(str)) == expected
    assert sorted(diffs["line"]) == sorted(queried["line"])


def test_pickaxe_counts_the_lines_that_diff_search_finds(embedded: sl.Client) -> None:
    for pattern in (r"needle\s", r"\Wneedle", "[^a]b"):
        diffs = embedded.diff_search(pattern, ["lines"], use_regex=True)
        commits = embedded.pickaxe(pattern, ["lines"], use_regex=True)
        assert commits["added"].sum() + commits["removed"].sum() == len(diffs) > 0


NEWLINES: list[Callable[[sl.Client], Any]] = [
    lambda code: code.diff_search(r"one\nxb", use_regex=True),
    lambda code: code.diff_search("one\nxb"),
    lambda code: code.diff_search("one", authors=["A\nB"]),
    lambda code: code.diff_search(r"(\n|\r\n)+", use_regex=True),
    lambda code: code.commit_search(["lines"], content_terms=["one\nxb"]),
    lambda code: code.search(r"type:diff /one\nxb/"),
    lambda code: code.search(r"type:diff NOT /one\nxb/ needle"),
    lambda code: code.search(r"type:commit author:one\nxb needle"),
]


@pytest.mark.parametrize("ask", NEWLINES)
def test_what_needs_a_newline_to_match_is_an_error_and_not_an_empty_answer(
    code: sl.Client, ask: Callable[[sl.Client], Any]
) -> None:
    with pytest.raises((ToolError, QueryError), match="newline"):
        ask(code)


def test_messages_may_be_searched_across_lines(code: sl.Client) -> None:
    assert len(code.search(r"type:commit /second line\n\nbody/ count:all").matches) == 2
