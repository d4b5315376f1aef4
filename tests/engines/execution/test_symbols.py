"""``type:symbol`` beside other types, with predicates and ``select:``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engines.execution.running_queries import alert, final, rows, run
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Filters
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

FILES = {
    "src/retry.py": "class Retry:\n    def retry_all(self):\n        return 1\n\n\ndef helper():\n    return Retry()\n",
    "src/retry.go": "package retry\n\ntype Retry struct {\n\tMost int\n}\n\nfunc RetryAll() {}\n",
    "tests/test_retry.py": "def test_retry():\n    assert helper\n# marker\n",
    ".github/CODEOWNERS": "*.py @ada\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    for name in ("one", "two"):
        RepositoryBuilder(root / name).commit(FILES)
    return root


def symbols_of(events: list[Any]) -> set[tuple[str, str | None, str | None]]:
    return {(r["type"], r["path"], r["symbol"]) for r in rows(events)}


def test_definitions_are_found_by_name(engine: LocalEngine) -> None:
    events = run(engine, "repo:one type:symbol helper")
    assert symbols_of(events) == {("symbol", "src/retry.py", "helper")}
    assert [(r["line_number"], r["line"], r["start"], r["end"]) for r in rows(events)] == [
        (6, "def helper():", [4], [10])
    ]
    assert final(events).match_count == 1
    assert final(events).skipped == ()


def test_definitions_come_beside_lines_and_paths(engine: LocalEngine) -> None:
    events = run(engine, "repo:one type:symbol type:file type:path helper count:all")
    assert symbols_of(events) == {
        ("symbol", "src/retry.py", "helper"),
        ("content", "src/retry.py", None),
        ("content", "tests/test_retry.py", None),
    }
    assert final(events).match_count == 3


def test_kinds_are_suggested_with_counts(engine: LocalEngine) -> None:
    events = run(engine, "repo:one type:symbol retry count:all")
    filters = {f.value: (f.label, f.count) for e in events if isinstance(e, Filters) for f in e.filters}
    assert filters["type:symbol"] == ("Symbols", final(events).match_count)
    assert filters["select:symbol.class"][0] == "Class"
    assert (
        sum(n for value, (_, n) in filters.items() if value.startswith("select:symbol.")) == final(events).match_count
    )


def test_usual_excludes_are_suggested_with_what_they_leave_out(engine: LocalEngine) -> None:
    events = run(engine, "repo:one test_retry count:all")
    last = [e for e in events if isinstance(e, Filters)][-1]
    assert [f.value for f in last.filters if f.kind == "file"] == []
    files = {"src/a_test.go": "x\n", "vendor/x.js": "x x\n", "lib/vendor/y.min.js": "x\n", "a.go": "x\n"}
    assert _excluded_counts(files) == {r"-file:_test\.\w+$": 1, r"-file:(^|/)vendor/": 3, r"-file:\.min\.js$": 1}


def _excluded_counts(files: dict[str, str]) -> dict[str, int]:
    tally = Tally()
    counts = [text.count("x") for text in files.values()]
    columns = {
        "type": pa.array(["content"] * len(files)).dictionary_encode(),
        "repository": pa.array(["one"] * len(files)).dictionary_encode(),
        "path": pa.array(list(files)).dictionary_encode(),
        "match_count": pa.array(counts, pa.int32()),
    }
    tally.add(pa.record_batch(columns))
    result = tally.filters(exhaustive=True, forks=0, archived=0)
    return {f.value: f.count for f in result if f.kind == "file"}


def test_one_kind_can_be_selected(engine: LocalEngine) -> None:
    assert symbols_of(run(engine, "repo:one type:symbol retry select:symbol.class")) == {
        ("symbol", "src/retry.py", "Retry")
    }
    every = run(engine, "repo:one type:symbol retry")
    assert symbols_of(run(engine, "repo:one type:symbol retry select:symbol")) == symbols_of(every)
    assert rows(run(engine, "repo:one type:symbol retry select:content")) == []


def test_definitions_turn_into_files_and_repositories(engine: LocalEngine) -> None:
    paths = {"src/retry.py", "src/retry.go", "tests/test_retry.py"}
    files = run(engine, "repo:one type:symbol retry select:file")
    assert symbols_of(files) == {("path", path, None) for path in paths}
    assert final(files).match_count == 3
    mixed = run(engine, "type:symbol type:file retry select:file count:all")
    assert len(rows(mixed)) == 6
    assert symbols_of(mixed) == symbols_of(files)
    assert [r["type"] for r in rows(run(engine, "type:symbol helper select:repo"))] == ["repo", "repo"]


def test_predicates_hold_for_files_of_definitions(engine: LocalEngine) -> None:
    assert {p for _, p, _ in symbols_of(run(engine, "repo:one type:symbol retry file:has.content(marker)"))} == {
        "tests/test_retry.py"
    }
    assert {p for _, p, _ in symbols_of(run(engine, "repo:one type:symbol retry -file:has.owner(ada)"))} == {
        "src/retry.go"
    }
    assert {p for _, p, _ in symbols_of(run(engine, "repo:one type:symbol retry lang:go"))} == {"src/retry.go"}


def test_alternatives_give_each_definition_once(engine: LocalEngine) -> None:
    events = run(engine, "repo:one type:symbol ((helper file:src) or (helper file:py))")
    assert [r["symbol"] for r in rows(events)] == ["helper"]


def test_without_a_pattern_all_definitions_of_the_repositories_are_found(engine: LocalEngine) -> None:
    without = symbols_of(run(engine, "repo:one type:symbol count:all"))
    assert {kind for kind, _, _ in without} == {"symbol"}
    assert without == symbols_of(run(engine, "repo:one type:symbol /./ count:all"))


def test_selecting_symbols_without_searching_them_is_said(engine: LocalEngine) -> None:
    output = alert(run(engine, "retry select:symbol"))
    assert output is not None
    assert "type:symbol" in output.description


def test_definitions_are_counted_without_lines(engine: LocalEngine) -> None:
    request = SearchRequest("type:symbol retry count:all")
    streamed = final(run(engine, request.query)).match_count
    table = engine.count(request, ["repository"], Viewer.owner(), Cancellation())
    assert table is not None
    assert sum(table.column("matches").to_pylist()) == streamed
    both = SearchRequest("type:symbol type:file retry")
    assert engine.count(both, ["repository"], Viewer.owner(), Cancellation()) is None


def test_a_search_of_definitions_is_explained(engine: LocalEngine) -> None:
    part = engine.explain(SearchRequest("repo:one type:symbol lang:go retry"), Viewer.owner()).alternatives[0]
    assert [(p.text, p.fields) for p in part.patterns] == [("retry", ("symbol",))]
    assert (part.files, part.passing, part.read_bytes) == (4, 1, 0)
