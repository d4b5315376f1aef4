"""A cluster answers as one machine does, over HTTP too, and refuses by name what it can't."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from backends.cluster.questions import searched
from server.served import serving
from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.results import ranking
from sourcelight.repos import Viewer
from sourcelight.server.http.settings import load_settings

HUB = "example.org/tidewatch/hub"
PYTIDE = "example.org/tidewatch/pytide"
SECRET = "example.org/tidewatch/handbook"
QUERIES = (
    "tide count:all",
    "e count:all fork:yes archived:yes",
    "type:repo o",
    "type:symbol e count:all",
    "type:commit fix",
    "type:diff e count:all",
    "def OR class count:all",
    "repo:hub@v1.0:main e",
    "repo:has.path(README) tide count:all",
    "select:repo tide",
    "select:file tide",
    "count:5 e",
    "/ti.e\\b/ count:all",
    "type:path md",
    "nosuchthinganywhere",
    "rev:at.time(2024-01-01) e repo:board",
    "file:has.content(tide) e count:20",
    "repo:^nothing$ x",
    "tide type:symbol type:path type:file count:all",
    "select:repo hub",
)


@pytest.fixture(autouse=True)
def long_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank all files however busy the machine is: those found after the window follow in the order of their arrival."""
    monkeypatch.setattr(ranking, "WINDOW_S", 60.0)


def rows(result: sl.SearchResult) -> list[tuple[object, ...]]:
    frame = result.matches
    names = [name for name in ("type", "repository", "revision", "path", "line_number", "line") if name in frame]
    return list(frame[names].astype(str).itertuples(index=False, name=None))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("query", QUERIES)
def test_rows_and_their_order_are_those_of_one_machine(query: str, clustered: sl.Client, embedded: sl.Client) -> None:
    embedded.search("type:symbol e count:all fork:yes archived:yes")  # definitions are known, as they are in shards
    ours, theirs = clustered.search(query), embedded.search(query)
    assert rows(ours) == rows(theirs)
    assert ours.status == theirs.status
    if theirs.status == "complete":  # else each worker went on until it had enough, and saw more files on its way
        assert list(ours.skipped["reason"]) == list(theirs.skipped["reason"])
    assert list(ours.alerts["title"]) == list(theirs.alerts["title"])


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "query",
    [
        "(tide count:3) or (board count:2)",
        "(e count:3) or (o count:2)",
        "(e count:7) or (tide)",
        "(e count:7) or (tide count:all)",
        "(e count:3 lang:python) or (e count:4) or (board count:1)",
        "(type:path e count:3) or (type:path md count:2)",
        "(type:symbol e count:5) or (tide count:2)",
        "(repo:hub e count:30) or (e count:20)",
        "(select:repo e count:2) or (tide count:2)",
        "(type:repo e count:2) or (tide count:2)",
    ],
)
def test_counts_of_alternatives_hold_for_the_whole_cluster(
    query: str, clustered: sl.Client, embedded: sl.Client
) -> None:
    embedded.search("type:symbol e count:all fork:yes archived:yes")  # definitions are known, as they are in shards
    ours, theirs = clustered.search(query), embedded.search(query)
    counts = [len(result.matches.query("type == 'repo'")) for result in (ours, theirs)]
    assert counts[0] == counts[1]
    # One machine gives repositories by alternative, a cluster by name.
    assert sorted(rows(ours)[: counts[0]]) == sorted(rows(theirs)[: counts[0]])
    assert rows(ours)[counts[0] :] == rows(theirs)[counts[0] :]
    assert (ours.status, ours.match_count) == (theirs.status, theirs.match_count)


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "query",
    [
        "(type:commit e count:3) or (type:commit o count:2)",
        "(type:commit e count:3) or (tide count:2)",
        "(type:diff e count:9) or (type:commit e count:4)",
    ],
)
def test_counts_of_alternatives_hold_for_commits(query: str, clustered: sl.Client, embedded: sl.Client) -> None:
    ours, theirs = clustered.search(query), embedded.search(query)
    assert sorted(commits(ours)) == sorted(commits(theirs))  # one machine gives them by alternative, a cluster by name
    assert (ours.status, ours.match_count) == (theirs.status, theirs.match_count)


def commits(result: sl.SearchResult) -> list[tuple[object, ...]]:
    frame = result.matches
    names = [name for name in ("type", "repository", "commit", "path", "line_number", "line") if name in frame]
    return list(frame[names].astype(str).itertuples(index=False, name=None))


def test_repositories_named_by_one_of_several_alternatives_are_all_found(
    clustered: sl.Client, embedded: sl.Client
) -> None:
    query = "(hub type:repo) or (board type:repo)"  # one machine gives them by alternative, a cluster by name
    assert sorted(rows(clustered.search(query))) == sorted(rows(embedded.search(query)))


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "query",
    [
        "repo:hub@nosuch tide",
        "repo:nosuchrepository tide",
        "(repo:hub tide count:1) or (repo:pytide tide count:2)",
        "(repo:hub tide count:1) or (repo:pytide tide count:all)",
        "select:file.owners tide count:all fork:yes archived:yes",
        "file:has.owner(nobody) tide",
        "type:diff select:file.owners e count:all",
        "committer:ann tide",
        "committer:ann nosuchthinganywhere",
        "Nosuchthing case:yes",
    ],
)
def test_what_is_missing_and_warned_of_is_said_in_the_same_words(
    query: str, clustered: sl.Client, embedded: sl.Client
) -> None:
    ours, theirs = clustered.search(query), embedded.search(query)
    assert ours.status == theirs.status
    for name, columns in (
        ("skipped", ["reason", "title", "message", "severity"]),
        ("alerts", ["title", "description"]),
    ):
        tables = [getattr(item, name)[columns].astype(str).to_numpy().tolist() for item in (ours, theirs)]
        assert tables[0] == tables[1]
    # One machine stops at once when it has enough; workers that had begun saw more.
    if theirs.status == "complete":
        assert ours.filters.astype(str).to_numpy().tolist() == theirs.filters.astype(str).to_numpy().tolist()


@pytest.mark.parametrize("query", ["e", "type:diff e", "type:symbol e"])
def test_counts_are_those_of_one_machine_and_come_without_a_word(
    query: str, clustered: sl.Client, embedded: sl.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    embedded.search("type:symbol e count:all fork:yes archived:yes")
    for by in ("repository", "language", "path"):
        ours, theirs = clustered.count_by(query, by=by), embedded.count_by(query, by=by)
        assert ours.astype(str).to_numpy().tolist() == theirs.astype(str).to_numpy().tolist()
    assert "aligned" not in capfd.readouterr().err


@pytest.mark.parametrize("query", ["tide timeout:0s", "e count:all timeout:1ms"])
def test_time_that_is_over_is_no_fault_of_a_worker(query: str, clustered: sl.Client) -> None:
    ours = clustered.search(query)
    assert "backend-missing" not in set(ours.skipped["reason"])
    assert ours.status == "limited"
    if ours.match_count:
        assert "shard-timeout" in set(ours.skipped["reason"])
        assert not ours.skipped["suggested_query"].isna().all()
    else:
        assert list(ours.alerts["title"]) == ["Timed out while searching"]
        assert ours.alerts["proposed_queries"].iloc[0][0].startswith("timeout:")


def test_every_shard_of_a_plan_is_accounted_for(clustered: sl.Client) -> None:
    engine = clustered.backend.engine  # type: ignore[attr-defined]
    for query in ("e count:all", "repo:hub@nosuch e", "repo:has.path(nosuch) e", "e count:3"):
        searched(engine, query)


def test_what_a_viewer_may_not_see_is_never_asked_of_a_worker(clustered: sl.Client) -> None:
    engine = clustered.backend.engine  # type: ignore[attr-defined]
    stranger = Viewer("stranger", sees_private=True, only=frozenset({HUB}))
    results = set()
    for event in engine.stream(SearchRequest("e count:all"), stranger, Cancellation()):
        if isinstance(event, MatchBatch):
            results |= set(event.batch.column("repository").to_pylist())
    assert results == {HUB}
    table = engine.count(SearchRequest("e type:file"), ["repository"], stranger, Cancellation())
    assert table.column("repository").to_pylist() == [HUB]


def test_a_search_that_is_dropped_leaves_nothing_running(clustered: sl.Client) -> None:
    engine = clustered.backend.engine  # type: ignore[attr-defined]
    for _ in range(20):
        events = engine.stream(SearchRequest("e count:all"), Viewer.owner(), Cancellation())
        next(events)
        events.close()
    fleet: ClusterConnection = engine.fleet

    async def tasks() -> int:
        return len([task for task in asyncio.all_tasks() if "Streams" in repr(task.get_coro())])

    wait_until(lambda: fleet.run(tasks()) == 0, "all streams end", 10.0)
    assert clustered.search("tide count:all").status == "complete"


def test_the_view_of_a_cluster_gives_dask_and_places(clustered: sl.Client) -> None:
    view = clustered.cluster
    assert set(view.workers) == {"w1", "w2", "w3"}
    assert len(view.replicas(HUB)) == 2
    assert view.client.submit(sum, [1, 2], workers=view.replicas(HUB)).result(timeout=30) == 3
    with pytest.raises(sl.RepositoryNotFound):
        view.replicas("nosuch")
    assert "3 workers" in repr(view)


@pytest.mark.timeout(240)
def test_a_service_over_a_cluster_gives_the_same_rows(
    cell: Cell, shards: str, embedded: sl.Client, tmp_path: Path
) -> None:
    arguments = ["--cluster", cell.address, "--storage", shards]
    token = "slo_owner-of-the-cluster"
    with (
        serving(*arguments, home=tmp_path, token=token, is_forked=True) as (_, address),
        sl.connect(address, token) as remote,
    ):
        for query in QUERIES[:3]:
            assert sorted(rows(remote.search(query))) == sorted(rows(embedded.search(query)))
        assert list(remote.list_files(HUB)["path"]) == list(embedded.list_files(HUB)["path"])
        keys = ["repository", "path", "line_number"]
        result = (item.find_references(PYTIDE, "src/pytide/client.py", "Hub") for item in (remote, embedded))
        ours, theirs = (sorted(map(tuple, item[keys].astype(str).to_numpy())) for item in result)
        assert ours == theirs
        ours, theirs = (list(item.commit_search(repos=[HUB, PYTIDE])["commit"]) for item in (remote, embedded))
        assert ours == theirs


def test_the_page_does_what_it_says(cell: Cell, clustered: sl.Client, shards: str) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "cluster.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    block = block.replace("tcp://127.0.0.1:8786", cell.address).replace("~/shards", shards)
    names: dict[str, Any] = {}
    exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own page
    try:
        assert len(names["code"].search("tide count:all").matches) == len(clustered.search("tide count:all").matches)
    finally:
        names["code"].close()


def test_the_manifests_of_the_docs_are_valid(tmp_path: Path) -> None:
    folder = Path(__file__).resolve().parents[3] / "docs" / "kubernetes"
    paths = [path for path in folder.glob("*.yaml") if path.name != "kustomization.yaml"]  # no object of a cluster
    results = [item for path in paths for item in yaml.safe_load_all(path.read_text())]
    assert {item["kind"] for item in results} == {"ConfigMap", "Deployment", "Service", "StatefulSet"}
    for item in results:
        kubernetes_validate.validate(item, "1.30", strict=True)
    (site,) = (item["data"]["site.json"] for item in results if item["kind"] == "ConfigMap")
    (tmp_path / "site.json").write_text(site)
    # Requests for other host names are refused, that of the Service among them unless it is the service's address.
    assert load_settings(str(tmp_path / "site.json")).external_url == "http://sourcelight"
    assert "sourcelight" in {item["metadata"]["name"] for item in results if item["kind"] == "Service"}
    served = next(
        item for item in results if item["kind"] == "StatefulSet" and item["metadata"]["name"] == "sourcelight"
    )
    command = served["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[command.index("--config") + 1] == "/site/site.json"


def test_addresses_that_are_not_encrypted_are_refused_off_loopback(shards: str) -> None:
    for address in ("tcp://10.0.0.1:8786", "10.0.0.1:8786", "http://127.0.0.1:1", "tls://"):
        with pytest.raises(sl.ConfigurationError):
            sl.open_cluster(address, shards)
    with pytest.raises(sl.ConfigurationError, match="no shards"):
        sl.open_cluster("tcp://127.0.0.1:1", str(Path(shards) / "empty"))
    with pytest.raises(sl.ConfigurationError, match="address of its scheduler and the URL"):
        sl.open_cluster("tcp://127.0.0.1:1", "")
