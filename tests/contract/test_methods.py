"""Every public method of a client gives the same over HTTP as in this process: columns, dtypes, rows and facts.

A method that is new has no case here, and fails the first test until it has one.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sourcelight as sl
from contract.test_analyses import CLIENT_PY, normalize
from contract.test_searches import SENT as STREAM_COLUMNS
from contract.test_tools import ALL, HUB, PYTIDE
from equal_frames import assert_frame_equal
from sourcelight.client import AsyncClient, Client
from sourcelight.core.batches import MatchBatch

Call = Callable[[sl.Client], Any]

QUERY = f"repo:^{HUB}$|^{PYTIDE}$ retry count:all"


_PLACE = ["repository", "path", "line_number"]


def _search(code: sl.Client) -> dict[str, Any]:
    result = code.search(QUERY, context_lines=1)
    return {
        "matches": result.matches,
        "spans": result.spans(),
        "repositories": result.repositories[STREAM_COLUMNS],
        "filters": result.filters,
        "skipped": result.skipped,
        "with_blame": result.with_blame(),
        "with_last_change": result.with_last_change(),
        "commits": code.search("type:commit drop count:all").matches,
        "diffs": code.search("type:diff retry count:all").matches,
        "symbols": code.search("type:symbol hub count:all").matches,
        "symbols_of_paths": code.search("type:symbol file:client hub count:all").matches,
        "repos": code.search("type:repo tide count:all").matches,
    }


def _export(code: sl.Client) -> bytes:
    file = io.BytesIO()
    code.export(QUERY, file, format="csv")
    return file.getvalue()


def _explanation(code: sl.Client) -> list[Any]:
    """What queries mean, but for the time that each side gives a search: a service has its own limit."""
    queries = (QUERY, "repo:nothing x", "(lang:go retry) or file:md frame", "type:symbol hub", "type:diff retry")
    explained = [code.explain(query).data for query in queries]
    explained += [code.explain("ret.y hub", pattern_type="regexp").data]
    alternatives = [{**alternative, "timeout_s": None} for data in explained for alternative in data["alternatives"]]
    return [{**data, "alternatives": None} for data in explained] + alternatives


def _answer(answer: sl.DeepSearchAnswer) -> dict[str, Any]:
    return {"text": answer.text, "citations": answer.citations, "sources": answer.sources}


def _search_many(code: sl.Client) -> list[Any]:
    many = code.search_many({"lines": QUERY, "commits": "type:commit drop count:all"})
    return [many.matches, many["commits"].matches]


def _stream(code: sl.Client) -> list[Any]:
    """The lines that come, in whichever order."""
    tables = [pa.Table.from_batches([event.batch]) for event in code.stream(QUERY) if isinstance(event, MatchBatch)]
    rows = pa.concat_tables([table.select([*_PLACE, "line", "start", "end"]) for table in tables]).to_pylist()
    return sorted(rows, key=lambda row: [row[name] for name in _PLACE])


def _stream_references(code: sl.Client) -> list[Any]:
    """The rows that come: near files first from an engine, in the order of the answer from a service."""
    frames = [frame for frame in code.stream_references(PYTIDE, CLIENT_PY, "Hub") if len(frame)]
    return sorted((row for frame in frames for row in frame.astype(object).to_dict("records")), key=str)


CALLS: Mapping[str, Call] = {
    "api_changes": lambda code: code.api_changes(HUB, "v1.0.0", "v2.0.0"),
    "blame": lambda code: code.blame(HUB, "README.md"),
    "bus_factor": lambda code: code.bus_factor(HUB),
    "call_table": lambda code: code.call_table("churn", repos=[HUB], by=["path"]),
    "callees": lambda code: code.callees(PYTIDE, CLIENT_PY, "Hub"),
    "callers": lambda code: code.callers(PYTIDE, CLIENT_PY, "Hub"),
    "churn": lambda code: code.churn(ALL, by=["repository", "author"]),
    "commit_details": lambda code: code.commit_details(HUB, "HEAD"),
    "commit_search": lambda code: code.commit_search(ALL, authors=["aiko"], after="2022-01-01"),
    "compare_revisions": lambda code: code.compare_revisions(HUB, "HEAD~10", "HEAD"),
    "complexity": lambda code: [code.complexity(HUB, "frame"), code.complexity(HUB, by="file", dates=True)],
    "complexity_trend": lambda code: code.complexity_trend(HUB, by="function", points=3),
    "contributors": lambda code: code.contributors(ALL, by=["repository", "year"]),
    "count": lambda code: code.count(QUERY),
    "count_by": lambda code: code.count_by(QUERY, ["repository", "path"]),
    "count_table": lambda code: code.count_table(QUERY, "language"),
    "coupling": lambda code: code.coupling(ALL, min_commits=2),
    "deepsearch": lambda code: _answer(code.deepsearch("Where is Hub defined?", repos=[PYTIDE])),
    "dependency_graph": lambda code: code.dependency_graph(ALL).edges,
    "diff_search": lambda code: code.diff_search("retry", [HUB, PYTIDE]),
    "drill_down": lambda code: [
        code.drill_down(code.churn([HUB], by="path"), 0),
        list(code.drill_down(code.get_contributor_repos("Aiko"), 0)["commit"]),
    ],
    "explain": _explanation,
    "export": _export,
    "find_references": lambda code: code.find_references(PYTIDE, CLIENT_PY, "Hub"),
    "get_contributor_repos": lambda code: code.get_contributor_repos("Aiko"),
    "go_to_definition": lambda code: code.go_to_definition(PYTIDE, CLIENT_PY, "Hub"),
    "history_of": lambda code: code.history_of(HUB, path="README.md", start_line=1, end_line=3),
    "hotspots": lambda code: code.hotspots(ALL, limit=20),
    "identities": lambda code: code.identities(ALL),
    "identity_suggestions": lambda code: code.identity_suggestions(ALL),
    "imports": lambda code: code.imports(PYTIDE),
    "keyword_search": lambda code: code.keyword_search("retry delay"),
    "last_changes": lambda code: code.last_changes(HUB, ["README.md", "frame"]),
    "list_files": lambda code: code.list_files(HUB, "frame"),
    "list_refs": lambda code: code.list_refs(HUB),
    "list_repos": lambda code: code.list_repos(),
    "nls_search": lambda code: code.nls_search("how are frames retried", limit=10),
    "outline": lambda code: code.outline(PYTIDE, CLIENT_PY),
    "ownership": lambda code: code.ownership(HUB, by="directory", exact=True),
    "path_history": lambda code: code.path_history(HUB, "frame/frame.go"),
    "pickaxe": lambda code: code.pickaxe("retry", ALL, by=["author"]),
    "read_file": lambda code: code.read_file(HUB, "README.md", revision="HEAD~2"),
    "related_tests": lambda code: code.related_tests(PYTIDE, "src/pytide/retry.py"),
    "repo_map": lambda code: code.repo_map(PYTIDE),
    "search": _search,
    "search_many": _search_many,
    "stream": _stream,
    "stream_references": _stream_references,
    "survival": lambda code: code.survival(HUB),
    "symbol_history": lambda code: code.symbol_history(HUB, "EncodeFrame"),
    "symbols": lambda code: code.symbols(PYTIDE, path=CLIENT_PY),
    "verify": lambda code: code.verify("README.md:1 and absent.md:3", HUB),
    "view_commit": lambda code: code.view_commit(HUB, "HEAD").files,
    "view_diff": lambda code: code.view_diff(HUB, "HEAD~3", "HEAD").files,
    "view_file": lambda code: code.view_file(HUB, "README.md", (1, 4)).lines,
}
"""One call of each method, with an answer to compare: frames, tables, texts, and lists and mappings of them."""

ELSEWHERE: Mapping[str, str] = {
    "backend": "is what differs",
    "close": "ends the client",
    "aclose": "ends the client",
    "cluster": "is of clusters alone: tests/backends/cluster",
    "services": "is of federations alone: tests/contract/test_federation.py",
    "tools": "what a service advertises: tests/contract/test_service_tools.py",
    "completions": "names for completion: tests/client",
    "last": "the answer before, whichever it was",
    "explore": "a widget over search: tests/browser",
    "deepsearch_cancel": "changes a conversation: tests/contract/test_deepsearch.py",
    "deepsearch_delete": "changes a conversation: tests/contract/test_deepsearch.py",
    "deepsearch_list": "conversations of an account: tests/contract/test_deepsearch.py",
    "deepsearch_read": "a conversation of an account: tests/contract/test_deepsearch.py",
    "deepsearch_reset_link": "changes a conversation: tests/contract/test_deepsearch.py",
    "deepsearch_update": "changes a conversation: tests/contract/test_deepsearch.py",
}
"""Public names without a case here, with the reason or the tests that have them."""

# What a backend says of itself, and how long it took.
_OWN_FACTS = {"endpoint", "backend_id", "requested_at", "duration_ms"}


def test_every_public_method_of_a_client_has_a_case_or_a_reason() -> None:
    for client in (Client, AsyncClient):
        names = {name for name, _ in inspect.getmembers(client) if not name.startswith("_")}
        assert names - set(CALLS) - set(ELSEWHERE) == set(), client
        assert set(CALLS) - names == set(), client
    assert not set(CALLS) & set(ELSEWHERE)


@pytest.fixture(scope="module", autouse=True)
def definitions(embedded: sl.Client, remote: sl.Client) -> None:
    """Wait for the definitions of both sides, which are read in the background."""
    for client in (embedded, remote):
        client.search("type:symbol hub count:all timeout:60s")


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_method_gives_the_same_over_http_as_in_this_process(
    embedded: sl.Client, remote: sl.Client, name: str
) -> None:
    assert_same(CALLS[name](embedded), CALLS[name](remote), name)


def assert_same(ours: Any, theirs: Any, label: str) -> None:
    """Compare two answers, frames with their columns, dtypes, rows and facts."""
    assert type(theirs) is type(ours), label
    match ours:
        case pd.DataFrame():
            assert list(theirs.columns) == list(ours.columns), label
            assert [str(dtype) for dtype in theirs.dtypes] == [str(dtype) for dtype in ours.dtypes], label
            assert_frame_equal(theirs, ours, check_categorical=False, obj=label)
            info = [
                normalize({k: v for k, v in frame.attrs.items() if k not in _OWN_FACTS}) for frame in (theirs, ours)
            ]
            assert info[0] == info[1], label
        case pa.Table():
            assert theirs.schema.names == ours.schema.names, label
            assert theirs.to_pylist() == ours.to_pylist(), label
        case Mapping():
            assert list(theirs) == list(ours), label
            for key, value in ours.items():
                assert_same(value, theirs[key], f"{label} {key}")
        case list():
            assert len(theirs) == len(ours), label
            for index, value in enumerate(ours):
                assert_same(value, theirs[index], f"{label} {index}")
        case _:
            assert theirs == ours, label
