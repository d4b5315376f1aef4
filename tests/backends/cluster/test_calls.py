"""Calls over a cluster: the answers of one machine, whichever workers the repositories are on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from equal_frames import assert_frame_equal
from sourcelight.backends.cluster import tool_calls
from sourcelight.client.portal import call
from sourcelight.core.errors import ClusterError
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.frames.facts import answer_frame

NAMES = ["hub", "gauge", "pytide", "handbook", "board"]
HUB, GAUGE, PYTIDE, HANDBOOK, BOARD = ALL = [f"example.org/tidewatch/{name}" for name in NAMES]
MAILMAP = "Aiko <one@example.org> <aiko@example.org>"
pytestmark = pytest.mark.timeout(240)

CALLS: list[tuple[str, Mapping[str, Any]]] = [
    ("commit_search", {"repos": []}),
    ("commit_search", {"repos": ALL, "messageTerms": ["fix"], "count": 7}),
    ("commit_search", {"repos": [PYTIDE, HUB], "count": 3, "after": "2021-01-01"}),
    ("commit_search", {"repos": [HUB], "revisions": ["HEAD~3", "^HEAD~9"]}),
    ("commit_search", {"repos": ALL, "revisions": ["v1.0"]}),
    ("diff_search", {"repos": [], "pattern": "retry"}),
    ("diff_search", {"repos": ALL, "pattern": "e", "count": 11}),
    ("get_contributor_repos", {"author": "a", "limit": 2}),
    ("get_contributor_repos", {"authors": ["aiko", "nobody"], "minCommits": 2}),
    ("contributors", {"repos": []}),
    ("contributors", {"repos": ALL, "by": ["repository", "month"], "mailmap": MAILMAP}),
    ("contributors", {"repos": ALL, "after": "2100-01-01"}),
    ("churn", {}),
    ("churn", {"repos": ALL, "by": ["author", "year"], "mailmap": MAILMAP}),
    ("churn", {"repos": ALL, "by": ["path", "repository"], "before": "2023-01-01"}),
    ("pickaxe", {"pattern": "retry", "by": ["quarter"]}),
    ("pickaxe", {"pattern": "e", "repos": ALL, "by": ["author", "repository"]}),
    ("hotspots", {"limit": 9}),
    ("hotspots", {"repos": ALL}),
    ("coupling", {"minCommits": 2, "limit": 12}),
    ("identities", {}),
    ("identities", {"repos": ALL, "mailmap": MAILMAP}),
    ("identity_suggestions", {}),
    ("nls_search", {"query": "how are failed requests retried"}),
    ("nls_search", {"query": "repo:hub where is `Station` defined"}),
    ("nls_search", {"query": "lang:python read the tide from a README"}),
    ("nls_search", {"query": "FluxCapacitor"}),
    ("nls_search", {"query": "repo:^nothing$ tide"}),
    ("keyword_search", {"query": "retry"}),
    ("find_references", {"repo": PYTIDE, "path": "src/pytide/client.py", "symbol": "Hub"}),
    ("go_to_definition", {"repo": PYTIDE, "path": "src/pytide/client.py", "symbol": "Hub"}),
    ("callers", {"repo": PYTIDE, "path": "src/pytide/client.py", "symbol": "Hub"}),
    ("symbols", {"repo": PYTIDE}),
    ("outline", {"repo": PYTIDE, "path": "src/pytide/client.py"}),
    ("imports", {"repo": PYTIDE}),
    ("dependency_graph", {}),
    ("dependency_graph", {"repos": [PYTIDE]}),
    ("repo_map", {"repo": PYTIDE}),
    ("blame", {"repo": HUB, "path": "README.md"}),
    ("ownership", {"repo": HUB}),
    ("list_files", {"repo": HUB}),
    ("list_refs", {"repo": HUB}),
    ("history_of", {"repo": HUB, "path": "README.md", "startLine": 1, "endLine": 2}),
    ("count", {"query": "e", "by": ["repository"]}),
    ("verify", {"markdown": "It waits: `example.org/tidewatch/hub:README.md:1`", "repo": HUB}),
    ("list_repos", {"query": ""}),
]


def ids(cases: list[tuple[str, Mapping[str, Any]]]) -> list[str]:
    return [f"{name} {' '.join(map(str, arguments.values()))}"[:60] for name, arguments in cases]


def frame(client: sl.Client, name: str, arguments: Mapping[str, Any]) -> Any:
    return answer_frame(call(client.backend.call, name, arguments))


@pytest.fixture(scope="module", autouse=True)
def warm_definitions(embedded: sl.Client) -> None:
    """Definitions are known, as they are in shards."""
    embedded.search("type:symbol e count:all fork:yes archived:yes")


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=ids(CALLS))
def test_a_call_gives_what_one_machine_gives(
    calm: sl.Client, embedded: sl.Client, name: str, arguments: Mapping[str, Any]
) -> None:
    ours, theirs = frame(calm, name, arguments), frame(embedded, name, arguments)
    assert_frame_equal(ours, theirs, check_categorical=False, check_exact=True)
    assert [str(kind) for kind in ours.dtypes] == [str(kind) for kind in theirs.dtypes]
    assert ours.attrs == theirs.attrs


EXPLAINED = ["tide", "repo:hub lang:go file:api retry OR alarm", "type:symbol e", "type:commit fix", "repo:^none$ x",
             "repo:has.path(README) tide count:all", "fork:yes e timeout:5s"]  # fmt: skip


@pytest.mark.parametrize("query", EXPLAINED)
def test_a_query_is_explained_as_on_one_machine(calm: sl.Client, embedded: sl.Client, query: str) -> None:
    request = SearchRequest(query)
    assert call(calm.backend.explain, request) == call(embedded.backend.explain, request)


def test_what_one_worker_can_not_have_is_refused_by_name(calm: sl.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "GATHER_BYTES", 1_000)
    monkeypatch.setattr(tool_calls, "GATHER_BYTES", 1_000)
    with pytest.raises(ClusterError, match=r"find_references over 7 repositories needs .* keyword_search"):
        calm.find_references(PYTIDE, "src/pytide/client.py", "Hub")
    answer = calm.deepsearch("How long is waited before a failed request is tried again?", cache=False)
    assert answer.status == "failed"
    assert "bytes of shards on one worker" in repr(answer)
    assert len(calm.commit_search(repos=ALL)) > 0


def test_the_page_says_of_every_call_where_it_runs() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "cluster.md"
    table = page.read_text().partition("## Which tool runs where")[2].partition("\n## ")[0]
    assert not [name for name in TOOLS if f"`{name}`" not in table]
