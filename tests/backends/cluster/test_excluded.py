"""What a query excludes by files, history or refs is known on workers alone: a cluster then speaks of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from backends.cluster.questions import searched
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage, StoredShard
from sourcelight.backends.cluster.storage.generation import read_current, write_generation
from sourcelight.core.batches import RepositoryInfo
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

CONTEXTS = """
[contexts.pair]
repositories = ["plain", "replaced@v1"]

[contexts.asked]
query = "repo:r fork:yes"

[repositories.forked]
fork = true
"""
PREDICATES = (
    "repo:has.content(thread) needle",
    "repo:has.content(nowhere) needle",
    "-repo:has.content(thread) needle",
    "repo:has.path(only) needle",
    "-repo:has.path(only) needle",
    "repo:has.file(path:only content:thread) needle",
    "repohasfile:only needle",
    "repo:has.commit.after(2000-01-01) needle",
    "repo:has.commit.after(2100-01-01) needle",
    "repo:has.content(nowhere) type:repo",
    "repo:has.content(thread) type:repo",
    "repo:has.content(thread) type:commit first",
    "repo:has.content(thread) type:diff needle",
    "(repo:has.content(thread) needle) or (repo:has.path(nowhere) thread)",
)
OTHERS = (
    "rev:v1 repo:. needle",
    "repo:^replaced$@v1:nosuch needle",
    "repo:plain@nosuch needle",
    "rev:at.time(2001-01-01) repo:. needle",
    "context:pair needle",
    "context:pair repo:has.content(nowhere) needle",
    "context:asked repo:has.content(thread) needle",
    "visibility:private needle",
    "repo:has.content(thread) fork:only needle",
    "repo:plain needle",
    "file:has.content(needle)",
    "type:symbol needle",
    "file:has.owner(ann)",
    "file:has.contributor(ada) needle",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("excluded")
    old = RepositoryBuilder(folder / "src" / "replaced")
    old.commit({"a.py": "needle = 1\n"}, "first needle")
    old.tag("v1")
    old.commit({"a.py": "needle = 2\n"}, "second needle")
    old.git("replace", old.git("rev-parse", "HEAD:a.py"), old.git("hash-object", "-w", "--stdin", stdin=b"x\n"))
    builder = RepositoryBuilder(folder / "src" / "plain")
    builder.commit({"a.py": "needle, thread\n", "only.py": "thread\n"}, "first needle")
    builder.tag("v1")
    forked = RepositoryBuilder(folder / "src" / "forked")
    forked.commit({"a.py": "needle, thread\n"}, "first needle")
    origin = RepositoryBuilder(folder / "origin")
    origin.commit({"a.py": "needle\n"}, "first needle")
    origin.commit({"b.py": "needle\n"}, "second needle")
    origin.clone(folder / "src" / "shallow", "--depth=1")
    origin.clone(folder / "src" / "partial.git", "--bare", "--filter=blob:none")
    (folder / "src" / "repos.toml").write_text(CONTEXTS, "utf-8")
    return folder / "src"


@pytest.fixture(scope="module")
def both(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sl.Client, sl.Client]]:
    """Clients over a cluster and over one machine."""
    folder = tmp_path_factory.mktemp("both")
    report = build_generation(Catalog.open(source), ShardStorage(str(folder / "shards")))
    assert not report.failures
    cell = Cell(str(folder / "shards"), folder / "caches", ("w1", "w2"))
    try:
        with (
            sl.open_cluster(cell.address, str(folder / "shards")) as clustered,
            sl.open(source, index_dir=folder / "index") as embedded,
        ):
            wait_until(lambda: len(clustered.cluster.workers) == 2, "workers join")
            yield clustered, embedded
    finally:
        cell.close()


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.parametrize("query", [*PREDICATES, *OTHERS])
def test_an_answer_says_the_same_as_that_of_one_machine(both: tuple[sl.Client, sl.Client], query: str) -> None:
    ours, theirs = (client.search(f"{query} count:all") for client in both)
    for name, columns in (
        ("skipped", ["reason", "title", "message", "severity"]),
        ("alerts", ["title", "description"]),
        ("filters", ["kind", "value", "count", "exhaustive"]),
    ):
        tables = [getattr(item, name)[columns].astype(str).to_numpy().tolist() for item in (ours, theirs)]
        assert tables[0] == tables[1], name
    assert ours.status == theirs.status
    assert ours.match_count == theirs.match_count


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteCountWarning")
@pytest.mark.parametrize("query", ["needle", "repo:^partial$ needle", "first", "type:symbol needle", "file:a.py"])
def test_a_count_says_the_same_as_that_of_one_machine(both: tuple[sl.Client, sl.Client], query: str) -> None:
    """Contents that a partial clone lacks are named by a count too."""
    for by in (["repository"], ["repository", "path"], ["language"]):
        frames = [client.count_by(query, by) for client in both]
        assert frames[0].to_dict("list") == frames[1].to_dict("list")
        reports = [[frame.attrs[name] for name in ("status", "reasons", "limit_hit")] for frame in frames]
        assert reports[0] == reports[1]
    totals = [client.count(query) for client in both]
    assert totals[0] == totals[1]


@pytest.mark.timeout(240)
def test_what_a_predicate_leaves_out_is_accounted_for_as_excluded(both: tuple[sl.Client, sl.Client]) -> None:
    engine = both[0].backend.engine  # type: ignore[attr-defined]
    _, search = searched(engine, "repo:has.content(thread) needle count:all")
    assert search.accounting.done == {"plain"}
    assert search.accounting.excluded == {"partial", "replaced", "shallow"}
    _, search = searched(engine, "repo:^(plain|shallow)$@v1:main needle count:all")
    assert search.accounting.done == {"plain", "shallow"}


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
def test_a_repository_that_was_never_built_is_named(source: Path, tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "shards"))
    report = build_generation(Catalog.open(source), storage)
    shard = StoredShard(RepositoryInfo("lost"), problem="the disk was full")
    created = replace(report.generation, entries=(*report.generation.entries, shard))
    write_generation(storage, created, report.generation.id)
    cell = Cell(str(tmp_path / "shards"), tmp_path / "caches", ("w1",))
    try:
        with sl.open_cluster(cell.address, str(tmp_path / "shards")) as code:
            wait_until(lambda: len(code.cluster.workers) == 1, "workers join")
            for query in ("needle repo:plain|lost", "type:repo plain|lost patternType:regexp", "repo:lost needle"):
                result = code.search(query)
                assert result.status == "limited", query
                rows = result.skipped[result.skipped["reason"] == "repository-missing"]
                assert "`lost`: the disk was full" in rows["message"].iloc[0], query
            assert code.search("needle repo:plain").status == "complete"
            assert code.search("context:pair needle repo:plain").status == "complete"
    finally:
        cell.close()


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
def test_directories_that_a_build_could_not_read_are_named(tmp_path: Path) -> None:
    source = tmp_path / "source"
    RepositoryBuilder(source / "plain").commit({"a.txt": "needle"})
    (source / "broken" / ".git" / "objects").mkdir(parents=True)
    storage = ShardStorage(str(tmp_path / "shards"))
    created = build_generation(Catalog.open(source), storage).generation
    assert build_generation(Catalog.open(source), storage).generation == created
    assert read_current(storage) == created
    cell = Cell(str(tmp_path / "shards"), tmp_path / "caches", ("w1",))
    try:
        with (
            sl.open_cluster(cell.address, str(tmp_path / "shards")) as clustered,
            sl.open(source, index_dir=tmp_path / "index") as embedded,
        ):
            wait_until(lambda: len(clustered.cluster.workers) == 1, "workers join")
            ours, theirs = clustered.search("needle"), embedded.search("needle")
            assert str(source / "broken") in theirs.skipped["message"].iloc[0]
            assert ours.skipped["message"].tolist() == theirs.skipped["message"].tolist()
            assert ours.status == theirs.status
    finally:
        cell.close()
