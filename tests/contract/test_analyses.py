"""Every analysis answers alike on all backends: the same rows, facts and errors, also by URL."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

import sourcelight as sl
from contract.test_tools import ALL, GAUGE, HUB, PYTIDE, frame, ids
from equal_frames import assert_frame_equal
from sourcelight.client import Client
from sourcelight.core.notices import subjects_of
from sourcelight.core.tools.catalog import analysis_tools
from sourcelight.lab.reports import Report, changes, contributors, file

CLIENT_PY = "src/pytide/client.py"

CALLS: list[tuple[str, Mapping[str, Any]]] = [
    ("symbols", {"repo": PYTIDE, "path": CLIENT_PY}),
    ("outline", {"repo": PYTIDE, "path": CLIENT_PY}),
    ("outline", {"repo": PYTIDE, "path": CLIENT_PY, "revision": "HEAD~5"}),
    ("imports", {"repo": PYTIDE}),
    ("imports", {"repo": HUB, "path": "frame"}),
    ("dependency_graph", {"repos": ALL}),
    ("dependency_graph", {"repos": [HUB]}),
    ("repo_map", {"repo": PYTIDE}),
    ("callers", {"repo": PYTIDE, "path": CLIENT_PY, "symbol": "Hub"}),
    ("callees", {"repo": PYTIDE, "path": CLIENT_PY, "symbol": "Hub"}),
    ("last_changes", {"repo": HUB, "paths": ["README.md", "frame"]}),
    ("commit_details", {"repo": HUB, "revision": "HEAD"}),
    ("blame", {"repo": HUB, "path": "README.md"}),
    ("blame", {"repo": PYTIDE, "path": CLIENT_PY, "revision": "HEAD~5"}),
    ("ownership", {"repo": HUB}),
    ("ownership", {"repo": GAUGE, "by": "directory", "exact": True}),
    ("bus_factor", {"repo": HUB}),
    ("survival", {"repo": GAUGE}),
    ("contributors", {"repos": ALL}),
    ("contributors", {"repos": ALL, "by": ["repository", "year"], "after": "2022-01-01"}),
    ("contributors", {"repos": [HUB], "mailmap": "Somebody <aiko@example.org>"}),
    ("churn", {"repos": ALL}),
    ("churn", {"repos": [PYTIDE], "by": ["path", "author"]}),
    ("pickaxe", {"pattern": "retry", "repos": ALL}),
    ("pickaxe", {"pattern": "func", "repos": [HUB], "by": ["author"]}),
    ("hotspots", {"repos": ALL}),
    ("hotspots", {"repos": [HUB], "limit": 3}),
    ("coupling", {"repos": ALL, "minCommits": 2}),
    ("commits_behind", {"repos": [HUB], "of": "churn", "path": "README.md"}),
    ("count", {"query": "retry", "by": ["repository", "path"]}),
    ("count", {"query": "retry OR hub", "limit": 3, "by": ["language"]}),
    ("explain", {"query": f"repo:^{HUB}$ retry timeout:5s"}),
    ("list_refs", {"repo": HUB}),
    ("verify", {"repo": HUB, "markdown": "README.md:1, README.md:99999 and absent.md:3"}),
    ("history_of", {"repo": HUB, "text": "retry"}),
    ("history_of", {"repo": HUB, "path": "README.md", "startLine": 1, "endLine": 3}),
    ("blame", {"repo": HUB, "path": "README.md", "startLine": 2, "endLine": 4}),
    ("path_history", {"repo": GAUGE, "path": "src/wire.c"}),
    ("path_history", {"repo": HUB, "path": "frame", "revision": "v2.0.0", "limit": 5}),
    ("path_history", {"repo": HUB, "path": "", "limit": 20}),
    ("symbol_history", {"repo": HUB, "symbol": "EncodeFrame"}),
    ("api_changes", {"repo": HUB, "base": "v1.0.0", "head": "v2.0.0"}),
    ("complexity", {"repo": HUB}),
    ("complexity", {"repo": PYTIDE, "by": "file", "dates": True, "limit": 4}),
    ("complexity_trend", {"repo": HUB, "points": 5}),
    ("complexity_trend", {"repo": HUB, "revisions": ["v1.0.0", "v2.0.0"], "by": "file"}),
    ("related_tests", {"repo": PYTIDE, "path": "src/pytide/retry.py"}),
    ("commit_search", {"repos": ALL, "authors": ["aiko"], "after": "2022-01-01"}),
    ("find_references", {"repo": PYTIDE, "path": CLIENT_PY, "symbol": "Hub"}),
    ("nls_search", {"query": "how are frames retried", "limit": 10}),
    ("identities", {"repos": ALL}),
    ("identity_suggestions", {"repos": ALL}),
]
FAULTS: list[tuple[str, Mapping[str, Any], type[Exception]]] = [
    ("blame", {"repo": "example.org/absent", "path": "x"}, sl.RepositoryNotFound),
    ("blame", {"repo": HUB, "path": "absent"}, sl.PathNotFound),
    ("blame", {"repo": HUB, "path": "README.md", "revision": "absent"}, sl.RevisionNotFound),
    ("blame", {"repo": HUB, "path": "README.md", "colour": "red"}, sl.ToolError),
    ("ownership", {"repo": HUB, "by": "moon"}, sl.ToolError),
    ("path_history", {"repo": HUB, "path": "absent"}, sl.PathNotFound),
    ("symbol_history", {"repo": HUB, "symbol": "Absent"}, sl.ToolError),
    ("pickaxe", {"pattern": "(", "repos": [HUB], "useRegex": True}, sl.ToolError),
    ("churn", {"repos": [HUB], "after": "the day before never"}, sl.ToolError),
]
_EMPTY = {"identity_suggestions"}  # nobody of the fleet has two identities
# What a backend itself says of a call, and how long it took.
_OWN = {"endpoint", "backend_id", "requested_at", "duration_ms"}


def settled_frame(client: sl.Client, name: str, arguments: Mapping[str, Any]) -> Any:
    """The answer once its tables are there: each backend builds them in the background, in its own time."""
    ends_s = time.monotonic() + 60
    while True:
        answer = frame(client, name, arguments)
        is_early = any("not complete yet" in notice for notice in answer.attrs.get("notices", ()))
        if not is_early or time.monotonic() > ends_s:
            return answer
        time.sleep(0.2)


def test_every_analysis_is_compared_and_is_a_method_of_clients() -> None:
    assert {name for name, _ in CALLS} == set(analysis_tools())
    without = {"commits_behind"}  # which `drill_down` calls
    assert [name for name in analysis_tools() if name not in without and not hasattr(Client, name)] == []


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=ids(CALLS))
def test_all_backends_give_the_same_rows_and_facts(
    embedded: sl.Client, other: sl.Client, name: str, arguments: Mapping[str, Any]
) -> None:
    ours, theirs = (settled_frame(client, name, arguments) for client in (embedded, other))
    assert len(ours) > 0 or name in _EMPTY
    assert_frame_equal(ours, theirs, check_categorical=False)
    assert [str(dtype) for dtype in ours.dtypes] == [str(dtype) for dtype in theirs.dtypes]
    results = {key: value for key, value in ours.attrs.items() if key not in _OWN}
    assert normalize({key: value for key, value in theirs.attrs.items() if key not in _OWN}) == normalize(results)
    assert subjects_of(theirs.attrs["notices"]) == subjects_of(ours.attrs["notices"])


@pytest.mark.parametrize(("name", "arguments", "error"), FAULTS, ids=ids(FAULTS))
def test_all_backends_refuse_with_the_same_error_and_words(
    embedded: sl.Client, other: sl.Client, name: str, arguments: Mapping[str, Any], error: type[Exception]
) -> None:
    texts = []
    for client in (embedded, other):
        with pytest.raises(error) as caught:
            frame(client, name, arguments)
        assert type(caught.value) is error
        texts.append((str(caught.value), {k: v for k, v in vars(caught.value).items() if k != "__notes__"}))
    assert texts[0] == texts[1]


def test_matches_are_joined_with_blame_and_last_changes_by_url(embedded: sl.Client, remote: sl.Client) -> None:
    merged = []
    for client in (embedded, remote):
        result = client.search(f"repo:^{HUB}$ retry count:all")
        merged.append((result.with_blame(), result.with_last_change()))
    keys = ["repository", "path", "line_number"]
    for frames in zip(*merged, strict=True):
        columns = [name for name in frames[0] if name.startswith(("blame_", "last_"))]
        assert frames[0][columns].notna().any().all()
        ours, theirs = (frame.sort_values(keys).reset_index(drop=True)[[*keys, *columns]] for frame in frames)
        assert_frame_equal(ours, theirs, check_categorical=False)


def test_a_row_leads_to_its_commits_by_url(embedded: sl.Client, remote: sl.Client) -> None:
    ours, theirs = (client.drill_down(client.churn([HUB], by="path"), 0) for client in (embedded, remote))
    assert len(ours) > 0
    assert_frame_equal(ours, theirs, check_categorical=False)


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning", "ignore:.*:UserWarning")
@pytest.mark.parametrize("kind", ["contributors", "changes", "file"])
def test_reports_are_the_same_by_url(embedded: sl.Client, remote: sl.Client, kind: str) -> None:
    def report(client: sl.Client) -> Report:
        if kind == "file":
            return file(client, HUB, "frame/frame.go")
        return contributors(client, HUB) if kind == "contributors" else changes(client, HUB, "HEAD~10", "HEAD")

    ours, theirs = report(embedded), report(remote)
    assert theirs.complete
    assert [(metric.name, metric.value) for metric in ours.metrics] == [(m.name, m.value) for m in theirs.metrics]
    assert list(ours.tables) == list(theirs.tables)
    for name, table in ours.tables.items():
        assert_frame_equal(table, theirs.tables[name], check_categorical=False)


def normalize(value: Any) -> Any:
    """Facts as JSON has them, which knows no tuples."""
    if isinstance(value, Mapping):
        return {str(key): normalize(item) for key, item in value.items()}
    return [normalize(item) for item in value] if isinstance(value, list | tuple) else value
