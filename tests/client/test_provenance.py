"""Every frame says where it came from, in small flat JSON without a credential, and leads back to what answered."""

from __future__ import annotations

import gc
import inspect
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sourcelight as sl
from client.scripted import COMPLETE, LIMITED, ScriptedBackend
from sourcelight.client.methods import BlockingMethods
from sourcelight.client.provenance import backend_id_of, backend_of
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.frames import table_schema

ALWAYS = {"endpoint", "backend_id", "status", "limit_hit", "requested_at", "version"}
R = "github.com/weave-fleet/weave-py"


def check(frame: pd.DataFrame, code: sl.Client) -> None:
    """What holds for the attrs of every frame."""
    attrs = frame.attrs
    results = {name: attrs.get(name) for name in ALWAYS}
    assert None not in results.values(), results
    assert attrs["endpoint"] == "embedded"
    assert attrs.get("query") or attrs.get("call")
    assert attrs["version"] == sl.__version__
    assert all(isinstance(value, str | int | bool) for value in results.values())
    assert len(json.dumps({str(k): v for k, v in attrs.items()})) < 65_536
    assert backend_of({str(k): v for k, v in attrs.items()}) is code.backend


def test_every_frame_of_a_search_says_where_it_came_from(embedded: sl.Client) -> None:
    result = embedded.search("func count:5")
    frames = [
        result.matches, result.progress, result.filters, result.skipped, result.alerts, result.repositories,
        result.spans(), result.with_last_change(), embedded.count_by("func", by="language"), embedded.list_repos(),
    ]  # fmt: skip
    for frame in frames:
        check(frame, embedded)
        assert "duration_ms" in frame.attrs
    assert result.attrs["query"] == "func count:5"
    assert (result.status, result.attrs["limit_hit"]) == ("partial", True)
    many = embedded.search_many({"a": "func count:3", "b": "import count:3"})
    for frame in (many.matches, many.searches, many["b"].matches):
        check(frame, embedded)


def _last_request(code: sl.Client) -> dict[str, Any]:
    """A call of every method that gives a frame, by its name."""
    result = code.search("type:symbol new count:1", timeout_s=60).matches
    repository, path, symbol = (str(result[name][0]) for name in ("repository", "path", "symbol"))
    commits = code.commit_search([repository], limit=2)
    base, head = str(commits["commit"].iloc[-1]), str(commits["commit"].iloc[0])
    location = (repository, path, symbol)
    return {
        "list_repos": (), "list_files": (repository,), "read_file": (repository, path), "keyword_search": (symbol,),
        "nls_search": ("where are things counted",), "commit_search": ([repository],),
        "diff_search": ("import", [repository]), "compare_revisions": (repository, base, head),
        "get_contributor_repos": ("a",), "blame": (repository, path), "commit_details": (repository, head),
        "last_changes": (repository, [path]), "ownership": (repository,), "bus_factor": (repository,),
        "survival": (repository,), "contributors": ([repository],), "churn": ([repository],),
        "pickaxe": ("import", [repository]), "hotspots": ([repository],), "coupling": ([repository],),
        "identities": ([repository],), "identity_suggestions": ([repository],), "go_to_definition": location,
        "find_references": location, "symbols": (repository,), "outline": (repository, path), "imports": (repository,),
        "dependency_graph": (), "repo_map": (repository,), "callers": location, "callees": location,
        "history_of": (repository, "import"), "list_refs": (repository,), "verify": (f"`{path}:1`", repository),
        "path_history": (repository, path), "symbol_history": (repository, symbol, path), "complexity": (repository,),
        "api_changes": (repository, base, head), "related_tests": (repository, path), "deepsearch_list": (),
        "complexity_trend": (repository,),
        "drill_down": (code.contributors([repository]), 0),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_method_that_gives_a_frame_says_where_it_came_from(embedded: sl.Client) -> None:
    request = _last_request(embedded)
    changes = {"deepsearch_update", "deepsearch_cancel", "deepsearch_delete", "deepsearch_reset_link"}
    exceptions = {"deepsearch", "deepsearch_read", *changes}
    public = {name for name in dir(BlockingMethods) if not name.startswith("_")} - exceptions
    kinds = {name: str(inspect.signature(getattr(BlockingMethods, name)).return_annotation) for name in public}
    assert {name for name, kind in kinds.items() if kind in {"DataFrame", "DependencyGraph"}} == set(request)
    for name, arguments in request.items():
        answer = getattr(embedded, name)(*arguments)
        frame = answer.edges if name == "dependency_graph" else answer
        check(frame, embedded)
        assert frame.attrs["call"]
    reply = embedded.deepsearch("where are things counted?", cache=False)
    for frame in (reply.sources, reply.citations, reply.steps):
        assert backend_of({str(k): v for k, v in frame.attrs.items()}) is embedded.backend


def test_provenance_survives_a_parquet_file(embedded: sl.Client, tmp_path: Path) -> None:
    frame = embedded.count_by("func", by="language")
    frame.to_parquet(tmp_path / "counts.parquet")
    assert pd.read_parquet(tmp_path / "counts.parquet").attrs == frame.attrs


def test_a_frame_leads_to_what_answered_as_long_as_it_lives() -> None:
    client, second = (sl.Client(ScriptedBackend(events)) for events in (COMPLETE, LIMITED))
    for item in (client, second):
        item.backend.name = "alone"  # unlike those of other tests, which nobody closed
    attrs = client.search("foo").attrs
    assert backend_of(attrs) is client.backend
    assert backend_of({"endpoint": "alone"}) is client.backend  # as of a file that another process wrote
    backend_id_of(second.backend)
    with pytest.raises(sl.ClientNotFound, match="2 others are open"):
        backend_of({"endpoint": "alone"})
    client.close()
    assert backend_of(attrs) is second.backend
    del item, second, client
    gc.collect()
    with pytest.raises(sl.ClientNotFound, match=r"client of this DataFrame \(alone\) is not open"):
        backend_of(attrs)
    with pytest.raises(sl.ClientNotFound, match="no endpoint"):
        backend_of({})


def test_what_opens_a_conversation_is_not_told() -> None:
    answer = ToolResult("conversations", pa.Table.from_pylist([], schema=table_schema(COLUMNS["conversations"])))
    frame = sl.Client(ScriptedBackend([], answers=[answer])).deepsearch_list(text="x")
    assert frame.attrs["query"] == "deepsearch_list(text='x')"
