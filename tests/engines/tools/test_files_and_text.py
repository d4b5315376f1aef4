"""The tools as Python calls them: nothing is cut, and answers are tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import PathNotFound, RepositoryNotFound, RevisionNotFound, ToolError, UnsupportedTool
from sourcelight.core.tools.catalog import COLUMNS, TOOLS
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext, call, render
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

ONE = "example.org/team/one"
BIG = "".join(f"line {number} lamp\n" for number in range(12_000))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    folder = tmp_path_factory.mktemp("python")
    builder = RepositoryBuilder(folder / "one", origin=f"https://{ONE}.git")
    builder.commit({"big.txt": BIG, "src/a.py": "def lamp():\n    pass\n"}, "start")
    builder.commit({f"many/{number:02}.txt": "lamp\n" * 3 + "\n\n\n\nlamp\n" for number in range(30)}, "grow")
    RepositoryBuilder(folder / "outer").commit({"x": "lamp\n"}, "start")
    (folder / "plain").mkdir()
    (folder / "plain" / "deep").mkdir()
    (folder / "plain" / "deep" / "note.txt").write_text("a lantern\n", encoding="utf-8")
    return builder


@pytest.fixture(scope="module")
def engine(built: RepositoryBuilder) -> LocalEngine:
    folder = built.path.parent
    return open_engine([folder, folder / "plain"], index=folder.parent / "python-index")


def ask(engine: LocalEngine, name: str, **arguments: Any) -> ToolResult:
    answer = call(name, arguments, ToolContext(engine, Viewer.owner()))
    assert answer.table.column_names == [column.name for column in COLUMNS[answer.columns]]
    return answer


def test_a_large_file_is_read_whole(engine: LocalEngine, built: RepositoryBuilder) -> None:
    answer = ask(engine, "read_file", repo=ONE, path="big.txt")
    assert "".join(f"{line}\n" for line in answer.table.column("line").to_pylist()) == BIG
    assert answer.table.column("line_number").to_pylist() == list(range(1, 12_001))
    assert set(answer.table.column("commit").to_pylist()) == {built.head}
    assert (answer.complete, answer.attributes["total_lines"]) == (True, 12_000)


def test_an_empty_answer_has_the_same_columns(engine: LocalEngine) -> None:
    assert ask(engine, "list_repos", query="nothing").table.num_rows == 0
    assert ask(engine, "keyword_search", query="nothing-at-all").table.num_rows == 0
    assert ask(engine, "nls_search", query="zzyzx").table.num_rows == 0


def test_everything_is_found(engine: LocalEngine) -> None:
    answer = ask(engine, "keyword_search", query=f"repo:{ONE} lamp")
    assert answer.complete
    assert sum(answer.table.column("match_count").to_pylist()) == 12_000 + 1 + 30 * 4
    paths = answer.table.column("path").to_pylist()
    assert sum(path.startswith("many/") for path in paths) == 60
    (big,) = (row for row in answer.table.to_pylist() if row["path"] == "big.txt")
    assert (big["start_line"], big["end_line"], big["chunk"]) == (1, 12_000, BIG.removesuffix("\n"))
    assert not any(answer.table.column("truncated").to_pylist())
    few = ask(engine, "keyword_search", query=f"repo:{ONE} lamp file:many count:3")
    assert not few.complete
    assert few.notices


def test_descriptions_find_the_best_first(engine: LocalEngine) -> None:
    answer = ask(engine, "nls_search", query="lanterns")
    assert answer.table.column("path").to_pylist() == ["deep/note.txt"]
    scores = ask(engine, "nls_search", query="lamp line").table.column("score").to_pylist()
    assert scores == sorted(scores, reverse=True)


def test_folders_without_git_are_read(engine: LocalEngine) -> None:
    answer = ask(engine, "list_files", repo="plain")
    assert answer.table.select(["path", "kind"]).to_pylist() == [{"path": "deep/", "kind": "directory"}]
    assert ask(engine, "read_file", repo="plain", path="deep/note.txt").table.column("line").to_pylist() == [
        "a lantern"
    ]
    with pytest.raises(PathNotFound, match=r"deep/note\.text; did you mean deep/note\.txt"):
        ask(engine, "read_file", repo="plain", path="deep/note.text")
    with pytest.raises(PathNotFound, match=r"deep/NOTE\.TXT; did you mean deep/note\.txt"):
        ask(engine, "read_file", repo="plain", path="deep/NOTE.TXT")


def test_submodules_are_named(engine: LocalEngine, built: RepositoryBuilder) -> None:
    outer = RepositoryBuilder(built.path.parent / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(built.path), "inner")
    outer.commit({"y": "\n"}, "take it")
    answer = ask(engine, "list_files", repo="outer", revision="main")
    rows = {row["path"]: row["kind"] for row in answer.table.to_pylist()}
    assert rows == {"inner/": "submodule", ".gitmodules": "file", "x": "file", "y": "file"}
    for name in ("list_files", "read_file"):
        with pytest.raises(ToolError, match=f"inner is a submodule at commit {built.head}"):
            ask(engine, name, repo="outer", path="inner", revision="main")


def test_faults_are_of_the_error_tree(engine: LocalEngine) -> None:
    with pytest.raises(RepositoryNotFound):
        ask(engine, "list_files", repo="none")
    with pytest.raises(RevisionNotFound):
        ask(engine, "list_files", repo=ONE, revision="v9")
    with pytest.raises(UnsupportedTool, match="unknown tool 'grep'; available: read_file, "):
        ask(engine, "grep")
    with pytest.raises(UnsupportedTool, match="deep search is not available"):
        ask(engine, "deepsearch", question="why?")
    with pytest.raises(ToolError, match="limit must be 1 to 10000, got 0") as error:
        ask(engine, "list_repos", query="", limit=0)
    assert (error.value.tool, error.value.argument) == ("list_repos", "limit")


def test_pages_meet_without_gaps(engine: LocalEngine) -> None:
    rows = ask(engine, "list_repos", query="").table.column("repository").to_pylist()
    seen: list[str] = []
    after = ""
    while True:
        page = ask(engine, "list_repos", query="", limit=1, **({"after": after} if after else {}))
        seen += page.table.column("repository").to_pylist()
        if not page.attributes["has_next_page"]:
            break
        after = page.attributes["end_cursor"]
    assert seen == rows == sorted(rows)
    last = ask(engine, "list_repos", query="", limit=1, before=after)
    assert last.table.column("repository").to_pylist() == [seen[-3]]


def test_addresses_are_escaped(engine: LocalEngine) -> None:
    context = ToolContext(engine, Viewer.owner(), served=True, base_url="https://h/sub")
    payload, _ = render(TOOLS["list_repos"], call("list_repos", {"query": "one"}, context), context)
    assert payload["repos"][0]["url"] == f"https://h/sub/{ONE}"


def test_names_of_any_characters(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "odd", origin="https://example.org/a/odd.git")
    builder.commit({"a b/c?d#e%f.txt": "lamp\r\n", "ü.txt": "x"}, "start")
    engine = open_engine([tmp_path], index=tmp_path / "index")
    context = ToolContext(engine, Viewer.owner(), served=True)
    arguments = {"repo": "example.org/a/odd", "path": "a b/c?d#e%f.txt"}
    payload, _ = render(TOOLS["read_file"], call("read_file", arguments, context), context)
    assert payload["url"] == f"/example.org/a/odd@{builder.head}/-/blob/a%20b/c%3Fd%23e%25f.txt"
    assert payload["content"] == "1: lamp\r\n"


def test_places_of_two_branches_that_overlap_are_one_chunk(engine: LocalEngine) -> None:
    query = f"repo:{ONE} lamp file:many"
    both = ask(engine, "keyword_search", query=f"(repo:{ONE} file:many/0 lamp) OR (repo:{ONE} file:many /la.p/)")
    expected = ask(engine, "keyword_search", query=query)
    columns = ["path", "start_line", "end_line", "chunk"]
    assert sorted(map(repr, both.table.select(columns).to_pylist())) == sorted(
        map(repr, expected.table.select(columns).to_pylist())
    )
    rows = ask(engine, "keyword_search", query="(file:a\\.py$ lamp) OR (file:src pass)").table.to_pylist()
    assert [(row["path"], row["start_line"], row["end_line"]) for row in rows] == [("src/a.py", 1, 2)]
