"""Commits of any bytes, against what git says of each."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from engines.history.histories import literal, oids, open_history
from engines.history.hostile import build_hostile, raw_commit
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.engines.history import History, LocalHistoryStore
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import find_commits
from sourcelight.engines.history.search.query import AnyPattern, CommitFilter, CommitQuery
from sourcelight.repos.objects.commits import LAST_SECOND
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import git_environment


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    return build_hostile(tmp_path_factory.mktemp("hostile") / "repo")


@pytest.fixture(scope="module")
def history(repo: RepositoryBuilder, tmp_path_factory: pytest.TempPathFactory) -> History:
    return open_history(LocalHistoryStore(tmp_path_factory.mktemp("store")), repo.path)


def git_says(path: Path, field: str, *options: str) -> dict[str, str]:
    """A field of each commit as ``git log`` prints it, U+FFFD for what is no UTF-8."""
    argv = [
        "git",
        "--git-dir",
        str(path / ".git"),
        "-c",
        "mailmap.blob=HEAD:.mailmap",
        "log",
        "-z",
        "--encoding=UTF-8",
        *options,
    ]
    argv.append(f"--format=%H{field}")
    done = subprocess.run(argv, capture_output=True, check=True, env=git_environment(TZ="UTC"), timeout=60)
    text = done.stdout.decode("utf-8", "replace")
    return {record[:40]: record[40:] for record in text.split("\0") if record}


def column(history: History, name: str) -> dict[str, object]:
    rows = tables.commit_batch(history, CommitNumbers(np.arange(len(history.commits))))
    return dict(zip(rows.column("commit").to_pylist(), rows.column(name).to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("name", "field"),
    [("author", "%an"), ("author_email", "%ae"), ("committer", "%cn"), ("committer_email", "%ce"), ("subject", "%s")],
)
def test_a_column_says_what_git_says(repo: RepositoryBuilder, history: History, name: str, field: str) -> None:
    assert column(history, name) == git_says(repo.path, field)


def test_messages_are_those_of_git_without_the_space_around(repo: RepositoryBuilder, history: History) -> None:
    expected = {oid: text.strip(" \t\n\r\v\f") for oid, text in git_says(repo.path, "%B").items()}
    assert column(history, "message") == expected
    assert {history.oid(n): history.message(n) for n in range(len(history.commits))} == expected


@pytest.mark.parametrize("who", ["author", "commit"])
def test_dates_are_read_as_git_reads_them(repo: RepositoryBuilder, history: History, who: str) -> None:
    # Where git finds no date it gives none here, and shows 1970 in its log.
    expected = {oid: text.split(" ") for oid, text in git_says(repo.path, f"%{who[0]}d", "--date=raw").items()}
    seconds = {oid: int(words[0] or 0) for oid, words in expected.items()}
    times = column(history, f"{who}_date")
    assert {oid: int(when.timestamp()) for oid, when in times.items()} == {  # type: ignore[attr-defined]
        oid: min(second, LAST_SECOND) for oid, second in seconds.items()
    }
    offsets = column(history, f"{who}_utc_offset_min")
    for oid, words in expected.items():
        zone = re.fullmatch(r"([+-])(\d+)(\d\d)", words[1]) if len(words) > 1 else None
        minutes = 0 if zone is None else int(f"{zone[1]}{int(zone[2]) * 60 + int(zone[3])}")
        assert offsets[oid] == minutes, words


def test_a_broken_offset_moves_no_instant(history: History) -> None:
    dates = {d.timestamp() for d in column(history, "author_date").values()}  # type: ignore[attr-defined]
    assert 1_700_000_000 in dates
    assert sorted(set(column(history, "author_utc_offset_min").values()))[-2:] == [31_080, 1_288_490_206]  # type: ignore[type-var]


def test_what_is_shown_of_a_message_finds_it(history: History) -> None:
    for text in ("latin caf\ufffd", "broken \ufffd\ufffd bytes", "漢字", "in two \ufffd lines"):
        result = find_commits(history, CommitQuery(commits=CommitFilter(messages=(AnyPattern((literal(text),)),))))
        expected = {oid for oid, message in column(history, "message").items() if text in str(message)}
        assert oids(history, result) == expected != set(), text


def test_segments_with_and_without_broken_texts_are_read_together(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    store = LocalHistoryStore(tmp_path / "store")
    messages = [b"plain\n", b"caf\xe9 \xff\n\nmore \xfe\n", "naïve\n".encode(), b"last \xc3\n"]
    for number, message in enumerate(messages):
        raw_commit(repo, message, files={b"file": b"%d\n" % number})
        history = open_history(store, repo.path)
    assert len(history.segments) == len(messages)
    rows = tables.commit_batch(history, CommitNumbers(np.arange(len(messages))))
    assert rows.column("message").to_pylist() == [m.decode("utf-8", "replace").strip() for m in messages]
    assert rows.column("subject").to_pylist() == ["plain", "caf\ufffd \ufffd", "naïve", "last \ufffd"]
    kinds = {c.name: c.type for c in COLUMNS["commits"]}
    assert kinds["message"] == kinds["subject"] == "string"
    assert str(rows.schema.field("message").type) == str(rows.schema.field("subject").type) == "string"


def test_grafts_count_as_they_stand(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    store = LocalHistoryStore(tmp_path / "store")
    commits = [repo.commit({"a": f"{n}\n"}, f"{n}") for n in range(4)]
    assert len(open_history(store, repo.path).commits) == 4
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/grafts").write_text(f"{commits[3]} {commits[1]}\n")
    repo.commit({"a": "new\n"}, "new")
    history = open_history(store, repo.path)
    reply = git_says(repo.path, " %P")
    rows = tables.commit_batch(history, CommitNumbers(np.arange(len(history.commits))))
    parents = dict(zip(rows.column("commit").to_pylist(), rows.column("parents").to_pylist(), strict=True))
    assert {oid: " ".join(["", *parent_ids]) or " " for oid, parent_ids in parents.items()} == reply
    assert commits[2] not in parents


def test_a_mailmap_maps_broken_people_as_git_maps_them(tmp_path: Path) -> None:
    repo = build_hostile(tmp_path / "repo")
    lines = ["Ada L <al@x> <ada@example.org>", "Mapped <two@x> <a<b@example.org>"]
    lines += ["Blanks <b@x> <  blanks@example.org  >", "Only <o@x> <only@example.org>", "Z <z@x> <zoë@example.org>"]
    raw = "\n".join(lines).encode() + b"\nLat <l@x> <lat\xedn@example.org>\nBr <br@x> <br\xff\xfe@example.org>\n"
    raw_commit(repo, b"mailmap\n", files={b".mailmap": raw})
    history = open_history(LocalHistoryStore(tmp_path / "store"), repo.path)
    assert len(set(history.identities.mapped_names) - set(history.identities.names)) > 5
    for name, field in (("author", "%aN"), ("author_email", "%aE"), ("committer", "%cN"), ("committer_email", "%cE")):
        # Where git finds no person it prints the field as it was asked for.
        messages = {oid: "" if text == field else text for oid, text in git_says(repo.path, field).items()}
        assert column(history, name) == messages, name
