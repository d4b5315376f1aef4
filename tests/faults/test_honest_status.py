"""Whatever an answer leaves out is an item of `skipped`, in the library and over HTTP alike."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from server.running_service import TOKEN, running
from sourcelight.backends.embedded import EmbeddedBackend, open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

NOTES = "[repositories.forked]\nfork = true\n[repositories.old]\narchived = true\n"


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Engine over repositories that each lack something."""
    folder = tmp_path_factory.mktemp("lacking")
    source = folder / "src"
    builder = RepositoryBuilder(source / "one")
    builder.commit({"a.txt": "needle\n" * 30, "b.bin": b"needle\0", "large.txt": "needle\n" * 20_000, "c.txt": "x\n"})
    builder.write({"a.txt": "needle, changed\n", "new.txt": "needle\n"})
    for name in ("forked", "old", "gone"):
        RepositoryBuilder(source / name).commit({"a.txt": "needle\n"})
    repository_builder = RepositoryBuilder(folder / "origin")
    repository_builder.commit({"here.txt": "needle\n"})
    repository_builder.git("config", "uploadpack.allowFilter", "true")
    repository_builder.clone(source / "partial", "--filter=blob:none", "--no-checkout")
    broken = RepositoryBuilder(source / "broken")
    broken.commit({"a.txt": "needle\n"})
    shutil.rmtree(broken.path / ".git" / "objects")
    (source / "repos.toml").write_text(NOTES, "utf-8")
    engine = open_engine([source], index=folder / "index", max_file_size=100_000)
    shutil.rmtree(source / "gone")
    return engine


@pytest.fixture(scope="module")
def clients(lacking: LocalEngine) -> Iterator[dict[str, sl.Client]]:
    backend: Any = EmbeddedBackend(lacking)
    with running(lacking) as service, sl.Client(backend) as embedded, sl.connect(service.url, TOKEN) as remote:
        yield {"embedded": embedded, "remote": remote}


@pytest.mark.parametrize("side", ["embedded", "remote"])
@pytest.mark.parametrize(
    ("query", "options", "reason", "part"),
    [
        ("needle count:3", {}, "shard-match-limit", "count:"),
        ("needle", {"limit": 2}, "display", "2 are shown"),
        ("needle", {}, "repository-fork", "forked"),
        ("needle", {}, "excluded-archive", "old"),
        ("needle", {}, "document-binary", "name only"),
        ("needle", {}, "document-too-large", "search.maxFileSize"),
        ("needle", {}, "document-missing", "partial"),
        ("needle", {}, "worktree-changes", "files of work trees were not searched; HEAD was"),
        ("needle", {}, "repository-gone", "gone"),
        ("needle", {}, "repository-unreadable", "broken"),
        ("repo:one@no-such-branch needle", {}, "repository-missing", "no-such-branch"),
    ],
)
def test_what_is_left_out_is_said(
    clients: dict[str, sl.Client], side: str, query: str, options: dict[str, Any], reason: str, part: str
) -> None:
    result = clients[side].search(query, **options)
    rows = result.skipped[result.skipped["reason"] == reason]
    assert len(rows) == 1, list(result.skipped["reason"])
    assert part in rows["message"].iloc[0]
    assert rows["title"].iloc[0]
    assert rows["severity"].iloc[0] in {"info", "warn"}


def test_both_sides_say_the_same(clients: dict[str, sl.Client]) -> None:
    for query in ("needle", "needle count:3", "needle type:path", "nothing-like-this", "repo:one needle"):
        results = {
            side: [tuple(row) for row in client.search(query).skipped[["reason", "title", "message"]].to_numpy()]
            for side, client in clients.items()
        }
        assert results["embedded"] == results["remote"]


def test_only_limits_that_hide_matches_make_an_answer_limited(clients: dict[str, sl.Client]) -> None:
    for client in clients.values():
        assert client.search("needle count:3").status == "limited"
        assert client.search("needle", limit=1).status == "limited"
        assert client.search("x repo:one file:c.txt fork:yes archived:yes type:path").status != "failed"


def test_nothing_left_out_is_complete_with_no_item(code: sl.Client) -> None:
    result = code.search("needle count:all")
    assert (result.status, result.reasons, len(result.skipped)) == ("complete", (), 0)


def test_a_repository_without_a_commit_is_told_and_leaves_an_answer_whole(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "repositories" / "one").commit({"a.txt": "needle\n"})
    RepositoryBuilder(tmp_path / "repositories" / "empty")
    with warnings.catch_warnings(), sl.open(tmp_path / "repositories", index_dir=tmp_path / "index") as code:
        warnings.simplefilter("error")
        result = code.search("needle")
        assert (result.status, result.match_count, code.count("needle")) == ("complete", 1, 1)
        assert result.skipped[["reason", "title", "severity"]].to_numpy().tolist() == [
            ["repository-empty", "1 empty", "info"]
        ]
        assert "no commit yet" in result.skipped["message"].iloc[0]


def test_a_single_changed_file_is_counted_in_the_singular(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repositories" / "one")
    repo.commit({"a.txt": "needle\n"})
    repo.write({"a.txt": "needle, changed\n"})
    with sl.open(tmp_path / "repositories", index_dir=tmp_path / "index") as code:
        (message,) = code.search("needle").skipped["message"]
    assert message.startswith("1 modified, deleted or untracked file of work trees was not searched; HEAD was. ")


def test_a_linked_work_tree_is_named_and_leaves_an_answer_whole(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repositories" / "one")
    repo.commit({"a.txt": "needle\n"})
    repo.git("worktree", "add", "-q", "-b", "side", "../one-side")
    with sl.open(tmp_path / "repositories", index_dir=tmp_path / "index") as code:
        result = code.search("needle")
        assert (result.status, result.match_count, code.count("needle")) == ("complete", 1, 1)
        (item,) = result.skipped[["reason", "title", "severity", "message"]].to_numpy().tolist()
        assert item[:3] == ["worktree-linked", "1 linked work tree", "info"]
        assert str(tmp_path / "repositories" / "one-side") in item[3]


def test_a_damaged_index_is_built_anew(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "one").commit({"a.txt": "needle\n" * 100})
    open_engine([tmp_path / "src"], index=tmp_path / "index")
    shards = [file for file in (tmp_path / "index").rglob("*") if file.is_file()]
    assert shards
    for file in shards:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    new: Any = EmbeddedBackend(open_engine([tmp_path / "src"], index=tmp_path / "index"))
    with sl.Client(new) as client:
        assert len(client.search("needle count:all")) == 100
