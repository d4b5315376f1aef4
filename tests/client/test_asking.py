"""Queries put together, explained, run side by side and counted: the same over every backend."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sourcelight as sl
from client.scripted import COMPLETE, LIMITED, ScriptedBackend, batch, progress, run
from sourcelight.client.search.queries import everything
from sourcelight.client.search.search_many import ManyResult
from sourcelight.core.query.narrowing import narrow
from sourcelight.core.wire.events import Done
from sourcelight.core.wire.request import SearchRequest
from sourcelight.testing.repositories import RepositoryBuilder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    for name in ("one", "two"):
        RepositoryBuilder(folder / name, origin=f"https://example.org/a/{name}.git").commit(
            {"src/a.py": "old(1)\nnew(2)\nold(3)\n", "b.go": "new(1) <b>\n", "src/c.py": "foo bar\n"}, "x"
        )
    return folder


def test_a_query_shows_its_tree() -> None:
    query = sl.parse_query('repo:a -file:b "foo bar" or /x/', "keyword")
    assert json.loads(json.dumps(query.canonical()))["op"] in {"and", "or"}
    assert "repo:a\n" in repr(query)
    assert repr(sl.parse_query("")) == "Query('', standard)\n  (empty)"
    assert sl.parse_query("").canonical() is None


def test_expressions_are_taken_wherever_text_is(code: sl.Client, tmp_path: Path) -> None:
    expression = sl.q.exact_repo("example.org/a/one") & sl.q.text("foo bar")
    assert len(code.search(expression)) == 1
    assert code.count(expression) == 1
    assert len([e for e in code.stream(expression) if type(e).__name__ == "MatchBatch"]) == 1
    assert code.export(expression, tmp_path / "x.jsonl").rows == 1
    assert code.search(expression).query == str(expression)
    assert "example\\.org/a/one" in str(code.explain(expression).data["query"])


def test_an_explanation_says_what_a_query_comes_down_to(code: sl.Client) -> None:
    explanation = code.explain("repo:one lang:python old( or new(")
    assert explanation.data["alternatives"]
    assert "example.org/a/one" in explanation.text
    assert explanation.note == ""
    displayed = explanation._repr_mimebundle_()
    assert displayed["text/plain"] == repr(explanation)
    json.dumps(explanation.data)
    assert "<table>" in displayed["text/html"]


def test_an_explanation_is_safe_to_show(code: sl.Client) -> None:
    explanation = code.explain("<script>alert(1)</script>\x1b[31m or x")
    assert "<script" not in explanation._repr_mimebundle_()["text/html"]
    assert "\x1b" not in explanation._repr_mimebundle_()["text/html"] + repr(explanation)
    assert explanation.warnings == code.explain(explanation.data["query"]).warnings


def test_a_service_is_explained_from_the_tree_alone() -> None:
    client = sl.Client(ScriptedBackend(COMPLETE)).explain("foo or bar", pattern_type="keyword")
    assert "scripted doesn't report which" in client.text
    assert client.data["tree"] == sl.parse_query("foo or bar", "keyword").canonical()
    assert "report which" in client._repr_mimebundle_()["text/html"]
    with pytest.raises(sl.QueryError):
        sl.Client(ScriptedBackend(COMPLETE)).explain("/(/")


def test_many_searches_give_one_labelled_answer(code: sl.Client) -> None:
    result = code.search_many({"old": "old(", "new": "new(", "none": "nothing"})
    assert list(result.matches.columns[:2]) == ["name", "type"]
    assert result.matches["name"].dtype == "category"
    assert result.matches.groupby("name", observed=True)["match_count"].sum().to_dict() == {"old": 4, "new": 4}
    assert list(result.searches.columns) == [c.name for c in sl.columns_of("searches")]
    assert result.searches[["name", "matches", "status"]].to_numpy().tolist() == [
        ["old", 4, "complete"],
        ["new", 4, "complete"],
        ["none", 0, "complete"],
    ]
    assert (result.status, result.match_count, len(result)) == ("complete", 8, len(result.matches))
    assert result["old"].match_count == 4
    assert isinstance(code.last, ManyResult)
    assert len(result.spans()) == 8
    assert result.spans()["row"].max() == len(result) - 1
    assert "old: 4 matches" in repr(result)
    assert "<td>new</td>" in result._repr_mimebundle_()["text/html"]


def test_many_searches_write_their_names(code: sl.Client, tmp_path: Path) -> None:
    result = code.search_many(["old(", "new("])
    result.to_parquet(tmp_path / "x.parquet")
    result.to_csv(tmp_path / "x.csv")
    result.to_jsonl(tmp_path / "x.jsonl")
    assert set(pq.read_table(tmp_path / "x.parquet")["name"].to_pylist()) == {"old(", "new("}
    assert (tmp_path / "x.csv").read_text().splitlines()[0].replace('"', "").startswith("name,type,")
    assert json.loads((tmp_path / "x.jsonl").read_text().splitlines()[0])["name"] == "old("
    empty = code.search_many(["nothing", "nothing at all"])
    empty.to_csv(tmp_path / "empty.csv")
    assert len(empty.matches) == 0


def test_a_search_among_many_that_fails_stops_no_other(code: sl.Client) -> None:
    result = code.search_many({"bad": "/(/", "good": "old("})
    assert result.searches["status"].tolist() == ["failed", "complete"]
    assert result.status == "failed"
    assert result.reasons[0].startswith("bad: ")
    with pytest.raises(sl.QueryError) as caught:
        code.search_many(["/(/", "/[/"])
    assert caught.value.result.status == "failed"


def test_the_status_of_many_is_the_worst() -> None:
    class Turns(ScriptedBackend):
        async def stream(self, request: SearchRequest) -> Any:
            self.script = list(LIMITED if request.query == "b" else COMPLETE)
            async for event in super().stream(request):
                yield event

    result = sl.Client(Turns(COMPLETE)).search_many(["a", "b"])
    assert result.status == "limited"
    assert result.reasons == ("b: shard-match-limit: result limit hit",)
    assert result.skipped["title"].tolist()[0] == "result limit hit (search b)"


def test_searches_that_ended_before_an_interrupt_are_kept() -> None:
    class Turns(ScriptedBackend):
        async def stream(self, request: SearchRequest) -> Any:
            self.script = list(COMPLETE) if request.query == "a" else [batch(0), "wait"]
            async for event in super().stream(request):
                yield event

    backend = Turns(COMPLETE)
    client = sl.AsyncClient(backend)

    async def interrupted() -> None:
        task = asyncio.create_task(client.search_many(["a", "b", "c"], concurrency=1))
        assert await asyncio.to_thread(backend.waiting.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(interrupted())
    last = client.last
    assert isinstance(last, ManyResult)
    assert last.searches["status"].tolist() == ["complete", "interrupted", "interrupted"]
    assert last.searches["rows"].tolist() == [20, 10, 0]
    assert last.status == "interrupted"


def test_progress_of_many_counts_searches(code: sl.Client) -> None:
    seen: list[Any] = []
    code.search_many(["old(", "new("], progress=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].unit, seen[-1].phase) == (2, 2, "searches", "complete")


@pytest.mark.parametrize(("queries", "error"), [([], ValueError), (["a", "a"], ValueError), ("a", TypeError)])
def test_queries_without_clear_names_are_refused(queries: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sl.Client(ScriptedBackend(COMPLETE)).search_many(queries)


def test_counts_by_columns_are_those_of_the_rows(code: sl.Client) -> None:
    for query in ("old(", "old( OR new(", "(old( repo:one) or (new( file:b)", "type:path src"):
        frame = code.search(query, pattern_type="keyword").matches
        for by in (["path"], ["repository", "language"], ["language", "path", "repository"], ["type"], ["revision"]):
            counts = code.count_by(query, by=by, pattern_type="keyword")
            assert list(counts.columns) == [*by, "matches", "files"]
            expected = frame.groupby(by, observed=True)["match_count"].sum()
            assert counts["matches"].sum() == expected.sum(), (query, by)
            assert sorted(counts["matches"]) == sorted(expected[expected > 0]), (query, by)
            assert counts.attrs["status"] == "complete"
            assert counts.attrs["matches"] == expected.sum()


def test_a_count_with_a_limit_is_what_was_asked_for(code: sl.Client) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert code.count("new( count:1") == 1
        assert code.count_by("new( count:1", "repository").attrs["status"] == "partial"
        assert code.count("new( count:all") == 4
    with pytest.raises(ValueError, match="twice"):
        code.count_by("new(", by=["path", "path"])


def test_a_count_that_the_engine_answers_is_drawn(code: sl.Client) -> None:
    seen: list[Any] = []
    assert code.count("new(", progress=seen.append) == 4
    assert (seen[-1].phase, seen[-1].done) == ("complete", 4)


def test_everything_reaches_every_alternative() -> None:
    for text in ("a or b", "(repo:x a) or (repo:y b)", "x (a)or c", "foo bar"):
        query = sl.parse_query(everything(text, "keyword"), "keyword")
        assert all(alternative.count_limit(default=1) is None for alternative in query.plan), text
    assert everything("foo count:3", "standard") == "foo count:3"
    assert everything("/(/", "standard") == "count:all /(/"
    query = sl.parse_query("(a file:x) or (b file:y)", "keyword")
    assert all(
        len(alternative.all("repo")) == 1 for alternative in sl.parse_query(narrow(query, [("repo", "^r s$")])).plan
    )


def test_an_empty_script_counts_nothing() -> None:
    assert sl.Client(ScriptedBackend([progress(), Done()])).count("foo") == 0
