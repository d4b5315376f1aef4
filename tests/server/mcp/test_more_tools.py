"""The tools beyond the specification's: answers against git and naive scans, suites, permissions, schemas."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

import sourcelight as sl
from server.mcp.calling import Said, call_tool, over
from server.mcp.calling import call as call_over_http
from server.mcp.conftest import SECRET, Served
from sourcelight.backends.embedded import open_engine
from sourcelight.core.answer_size import DEFAULT_MAX_TOKENS
from sourcelight.core.markup.counts import estimate_tokens
from sourcelight.core.tools.catalog import TOOLS, mcp_tools
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import IndexStore
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Catalog, Viewer
from sourcelight.server.mcp.calls import CallIdentity, ToolRunner
from sourcelight.server.mcp.handshake import INSTRUCTIONS
from sourcelight.server.mcp.protocol import make_server
from sourcelight.server.mcp.suites import SIZE_HINT, list_tools
from sourcelight.testing.repositories import RepositoryBuilder

REPO = "example.org/more/lamps"
NEW = {
    "api_changes", "blame", "callees", "callers", "complexity", "contributors", "count", "dependency_graph", "explain",
    "history_of", "hotspots", "list_refs", "outline", "related_tests", "repo_map", "symbol_history", "verify",
}  # fmt: skip


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    repository_builder = RepositoryBuilder(tmp_path_factory.mktemp("more") / "lamps", origin=f"https://{REPO}.git")
    repository_builder.commit(
        {"lamp.py": "def light(level):\n    return level\n\n\ndef shine():\n    return light(1)\n", "a.md": "# A\n"},
        "start",
    )
    repository_builder.git("tag", "v1.0")
    repository_builder.commit(
        {"lamp.py": "def light(level):\n    return level * 2\n\n\ndef shine():\n    return light(1)\n"}, "double"
    )
    repository_builder.commit(
        {"use.py": "from lamp import shine\n\n\ndef use():\n    shine()\n    shine()\n", "b.md": "light\n"}, "use it"
    )
    repository_builder.git("tag", "v2.0")
    repository_builder.git("branch", "old", "v1.0")
    repository_builder.commit({"use.py": "from lamp import shine\n\n\ndef use():\n    shine()\n"}, "once is enough")
    return repository_builder


@pytest.fixture(scope="module")
def lamps(builder: RepositoryBuilder) -> Iterator[LocalEngine]:
    engine = open_engine([builder.path.parent], index=builder.path.parent.parent / "more-index")
    yield engine
    engine.close()


def ask(engine: LocalEngine, name: str, *, offers_pages: bool = False, **arguments: Any) -> Said:
    runner = ToolRunner(engine)
    server = make_server(mcp_tools("all"), runner, lambda _: CallIdentity(Viewer.owner()), offers_pages=offers_pages)

    async def main() -> Said:
        with anyio.fail_after(60):
            async with Client(server) as client:
                await client.list_tools()  # so that the client checks the structured content against the schema
                return await call_tool(client, name, arguments)

    return anyio.run(main)


def rows(answer: Said) -> list[dict[str, Any]]:
    assert not answer.failed, answer.text
    return [dict(zip(answer.content["columns"], row, strict=True)) for row in answer.content["rows"]]


def test_only_the_suite_of_all_tools_has_them(served: Served) -> None:
    assert set(mcp_tools("all")) - set(mcp_tools()) == NEW

    async def refused(client: Client) -> str:
        with pytest.raises(MCPError) as error:
            await call_tool(client, "count", {"query": "lamp"})
        return str(error.value)

    assert "unknown tool 'count'; available: read_file" in over(served.url, served.tokens["owner"], refused)
    result = call_over_http(f"{served.url}/all", served.tokens["owner"], "count", {"query": "lighthouse"})
    assert not result.failed


def test_counts_are_those_of_a_scan(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    files = {path.name: path.read_text("utf-8") for path in builder.path.iterdir() if path.is_file()}
    expected = {name: count for name, text in files.items() if (count := text.lower().count("light"))}
    answer = ask(lamps, "count", query="light", by=["path"])
    assert {row["path"]: row["matches"] for row in rows(answer)} == expected
    assert answer.content["status"] == "complete"
    assert answer.text.startswith(f"{sum(expected.values())} matches, complete\n")
    assert [row["matches"] for row in rows(ask(lamps, "count", query="light"))] == [sum(expected.values())]
    both = rows(ask(lamps, "count", query="light OR shine", by=["repository", "language"]))
    assert all(row["repository"] == REPO for row in both)
    nothing = ask(lamps, "count", query="nowhere")
    assert (rows(nothing), nothing.content["status"], nothing.text.splitlines()[0]) == (
        [],
        "complete",
        "0 matches, complete",
    )
    assert rows(ask(lamps, "count", query="nowhere", by=["path"])) == []
    first = ask(lamps, "count", query="light", by=["path"], limit=1)
    assert (first.content["limitHit"], first.content["matches"]) == (True, sum(expected.values()))


def test_a_repository_that_matches_by_its_name_is_no_file(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    name = REPO.rpartition("/")[2]
    files = {path.name: path.read_text("utf-8") for path in builder.path.iterdir() if path.is_file()}
    expected = sum(name in text.lower() or name in path for path, text in files.items())
    by_search = rows(ask(lamps, "count", query=f"{name} count:all", by=["repository"]))
    assert [row["files"] for row in by_search] == [expected]
    commits = ask(lamps, "count", query="once type:commit")
    assert [(row["matches"], row["files"]) for row in rows(commits)] == [(1, 0)]
    assert "0 files" not in commits.text


@pytest.mark.parametrize(
    ("query", "revisions"),
    [
        ("nowhere", ["HEAD"]),
        ("repo:lamps lang:python nowhere file:none", ["HEAD"]),
        ("repo:lamps rev:v1.0:v2.0 nowhere", ["v1.0", "v2.0"]),
        ("repo:lamps@v1.0 nowhere OR nothing", ["v1.0"]),
        ("repo:lamps@v1.0 /nowh[e]re/", ["v1.0"]),
        ("repo:none nowhere", []),
    ],
)
def test_a_count_without_a_match_names_the_commits_it_read(
    lamps: LocalEngine, builder: RepositoryBuilder, query: str, revisions: list[str]
) -> None:
    context = ToolContext(lamps, Viewer.owner(), served=True)
    answer = tools.answer(TOOLS["count"], {"query": query}, context)
    assert answer.attributes["matches"] == 0
    expected = {builder.git("rev-parse", f"{revision}^{{commit}}").strip() for revision in revisions}
    assert {oid for oids in answer.attributes["commits"].values() for oid in oids} == expected


def test_blame_is_that_of_git(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    expected = [line.split()[0].lstrip("^") for line in builder.git("blame", "-l", "lamp.py").splitlines()]
    answer = rows(ask(lamps, "blame", repo=REPO, path="lamp.py"))
    assert [row["commit"][:39] for row in answer] == [oid[:39] for oid in expected]
    part = ask(lamps, "blame", repo=REPO, path="lamp.py", startLine=2, endLine=3)
    assert [row["line_number"] for row in rows(part)] == [2, 3]
    assert part.text.splitlines()[1] == "2:     return level * 2"
    assert "lines" in ask(lamps, "blame", repo=REPO, path="lamp.py", startLine=99).text


def test_refs_are_those_of_git(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    lines = builder.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags").splitlines()
    expected = {(name.split("/", 2)[2], oid) for name, _, oid in (line.partition(" ") for line in lines)}
    answer = rows(ask(lamps, "list_refs", repo=REPO))
    assert {(row["name"], row["commit"]) for row in answer} == expected
    assert [row["name"] for row in answer if row["default"]] == [builder.git("symbolic-ref", "--short", "HEAD").strip()]
    dates = [row["commit_date"] for row in answer]
    assert dates == sorted(dates, reverse=True)
    tags = rows(ask(lamps, "list_refs", repo=REPO, kind="tag", query="V2"))
    assert [row["name"] for row in tags] == ["v2.0"]


@pytest.mark.parametrize("text", ["shine()", "level * 2", "light"])
def test_the_history_of_a_text_is_that_of_gits_pickaxe(
    lamps: LocalEngine, builder: RepositoryBuilder, text: str
) -> None:
    expected = builder.git("log", "--format=%H", f"-S{text}").split()
    answer = rows(ask(lamps, "history_of", repo=REPO, text=text))
    assert list(dict.fromkeys(row["commit"] for row in answer)) == expected


def test_the_history_of_lines_is_that_of_git(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    expected = builder.git("log", "-s", "--format=%H", "-L1,2:lamp.py").split()
    answer = rows(ask(lamps, "history_of", repo=REPO, path="lamp.py", startLine=1, endLine=2))
    assert [row["commit"] for row in answer] == expected
    assert [(row["added"], row["removed"]) for row in answer] == [(1, 1), (2, 0)]
    assert answer[0]["subject"] == "double"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "either text, or path and startLine"),
        ({"text": "a", "startLine": 1}, "either text, or path"),
        ({"startLine": 1}, "needs the path"),
        ({"path": "lamp.py", "startLine": 70}, "has 6 lines"),
        ({"path": "lamp.py", "startLine": 3, "endLine": 2}, "before startLine"),
        ({"path": "none.py", "startLine": 1}, "not found"),
    ],
)
def test_a_history_of_nothing_is_refused(lamps: LocalEngine, arguments: dict[str, Any], words: str) -> None:
    answer = ask(lamps, "history_of", repo=REPO, **arguments)
    assert answer.failed
    assert words in answer.text


def test_outlines_and_calls_name_lines(lamps: LocalEngine) -> None:
    outline = ask(lamps, "outline", repo=REPO, path="lamp.py")
    assert [(row["symbol"], row["start_line"], row["end_line"]) for row in rows(outline)] == [
        ("light", 1, 2),
        ("shine", 5, 6),
    ]
    assert "1-2: function def light(level)" in outline.text
    callers = ask(lamps, "callers", repo=REPO, path="lamp.py", symbol="light", depth=2)
    assert [(row["depth"], row["caller"], row["line_number"]) for row in rows(callers)] == [
        (1, "shine", 6),
        (2, "use", 5),
    ]
    assert "6: in shine: return light(1)" in callers.text
    callees = ask(lamps, "callees", repo=REPO, path="use.py", symbol="use")
    assert [(row["callee"], row["callee_path"], row["callee_line"]) for row in rows(callees)] == [
        ("shine", "lamp.py", 5)
    ]
    assert "shine → lamp.py:5" in callees.text


def test_people_and_hotspots_are_counted(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    people = rows(ask(lamps, "contributors", repos=[REPO]))
    authors = Counter(builder.git("log", "--format=%aE").split())
    assert {row["author_email"]: row["commits"] for row in people} == dict(authors)
    changed = Counter(builder.git("log", "--name-only", "--format=", "--no-merges").split())
    hot = rows(ask(lamps, "hotspots", repos=[REPO]))
    assert {row["path"]: row["commits"] for row in hot} == dict(changed)
    assert rows(ask(lamps, "repo_map", repo=REPO))
    assert not ask(lamps, "dependency_graph", repos=[REPO]).failed


def test_a_count_before_the_index_names_what_it_searched(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "lamps", origin=f"https://{REPO}.git")
    # Above 4 MiB, an index takes more than a moment, so that the count doesn't wait for it.
    commit = builder.commit({"lamp.py": "light = 1\n", "large.bin": os.urandom(5 << 20)}, "start")
    location = Catalog.open([tmp_path / "src"]).repositories[0]
    folder = IndexStore(str(tmp_path / "index")).repository_folder(location.key)
    # Another process holds the lock, as one that writes the index does; closing would wait for it.
    with contextlib.ExitStack() as stack, folder.lock(lambda: None):
        code = sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, progress=False)
        stack.callback(code.close)
        answer = ask(code.backend.engine, "count", query="nowhere", offers_pages=True)  # type: ignore[attr-defined]
    assert answer.text.startswith("0 matches, complete\n")
    assert f"(Read from {REPO}@{commit[:12]}" in answer.text


def test_a_definition_is_followed_and_interfaces_are_compared(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    changes = ask(lamps, "symbol_history", repo=REPO, symbol="light", path="lamp.py")
    expected = builder.git("log", "-s", "--format=%H", "-L1,2:lamp.py").split()
    assert [(row["commit"], row["status"]) for row in rows(changes)] == list(
        zip(expected, ["modified", "added"], strict=True)
    )
    assert "modified: light +1 -1 lamp.py:1-2\n" in changes.text
    api = ask(lamps, "api_changes", repo=REPO, base="v1.0", head="v2.0")
    assert [(row["status"], row["module"], row["symbol"]) for row in rows(api)] == [("added", "use", "use")]
    assert "added: use.use def use() (use.py:4)\n" in api.text


def test_complexity_and_related_tests_are_listed(lamps: LocalEngine) -> None:
    functions = ask(lamps, "complexity", repo=REPO, path="lamp.py")
    assert {(row["symbol"], row["cyclomatic"], row["line_number"]) for row in rows(functions)} == {
        ("light", 1, 1),
        ("shine", 1, 5),
    }
    assert "lamp.py:1-2 light: cognitive 0, cyclomatic 1, 2 lines\n" in functions.text
    files = ask(lamps, "complexity", repo=REPO, by="file", limit=1)
    assert len(rows(files)) == 1
    assert re.search(r"\w+\.py: cognitive 0, cyclomatic \d, \d lines, \d functions?, \d commits\n", files.text)
    assert "No results" in ask(lamps, "related_tests", repo=REPO, path="lamp.py").text


def test_a_query_is_explained_without_a_search(lamps: LocalEngine) -> None:
    answer = ask(lamps, "explain", query="repo:lamps light OR (shine")
    assert answer.failed or "light" in answer.text
    answer = ask(lamps, "explain", query="repo:nothing light")
    assert "no repository passes the filters" in answer.text
    glob = ask(lamps, "explain", query="file:*.py light")
    assert glob.failed
    assert r"'*.py' of file: can't be read; this is not a glob: instead of *.py type \.py$" in glob.text
    assert {row["part"] for row in rows(answer)} >= {"scope", "filter", "pattern", "warning"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("count", {"query": "hidden", "by": ["repository"]}),
        ("blame", {"repo": SECRET, "path": "key.py"}),
        ("list_refs", {"repo": SECRET}),
        ("verify", {"repo": SECRET, "markdown": "key.py:1"}),
        ("verify", {"markdown": f"{SECRET}@HEAD:key.py and key.py:1"}),
        ("history_of", {"repo": SECRET, "text": "lamp"}),
        ("history_of", {"repo": SECRET, "path": "key.py", "startLine": 1}),
        ("outline", {"repo": SECRET, "path": "key.py"}),
        ("callers", {"repo": SECRET, "path": "key.py", "symbol": "lamp"}),
        ("repo_map", {"repo": SECRET}),
        ("contributors", {"repos": [SECRET]}),
        ("contributors", {}),
        ("hotspots", {}),
        ("complexity", {"repo": SECRET}),
        ("related_tests", {"repo": SECRET, "path": "key.py"}),
        ("symbol_history", {"repo": SECRET, "symbol": "lamp"}),
        ("api_changes", {"repo": SECRET, "base": "HEAD", "head": "HEAD"}),
        ("dependency_graph", {}),
        ("explain", {"query": f"repo:{SECRET} lamp"}),
    ],
)
def test_a_hidden_repository_is_absent(served: Served, name: str, arguments: dict[str, Any]) -> None:
    hidden = call_over_http(f"{served.url}/all", served.tokens["user"], name, arguments)
    absent = {
        key: str(value).replace("secret", "absent") if key == "repo" else value for key, value in arguments.items()
    }
    if "repo" in arguments:
        other = call_over_http(f"{served.url}/all", served.tokens["user"], name, absent)
        assert hidden.text.replace("secret", "absent") == other.text
    request = str(arguments)
    assert SECRET in request or SECRET not in hidden.text
    assert "key.py" in request or "key.py" not in hidden.text
    assert "'hidden" not in hidden.text


def test_few_places_of_a_description_come_whole(tmp_path: Path) -> None:
    lines = [f"    total = total + weigh_of_the_barrel(number={number})" for number in range(40)]
    text = "\n".join(["def weigh_barrels(total):", *lines, "    return total", ""])
    builder = RepositoryBuilder(tmp_path / "src" / "cellar", origin="https://example.org/more/cellar.git")
    builder.commit({"cellar.py": text}, "start")
    engine = open_engine([builder.path.parent], index=tmp_path / "index")
    try:
        usual = ask(engine, "nls_search", query="weigh barrels")
        few = ask(engine, "nls_search", query="weigh barrels", limit=5)
    finally:
        engine.close()
    assert usual.content["blocks"][0]["chunks"][0]["truncated"]
    assert "return total" not in usual.text
    assert "truncated" not in few.content["blocks"][0]["chunks"][0]
    assert few.text.startswith("# example.org/more/cellar \N{EN DASH} cellar.py\n1: def weigh_barrels(total):\n")
    assert "\n42:     return total\n" in few.text
    assert not few.content["limitHit"]


def test_each_says_when_to_use_it_and_when_not_with_an_example() -> None:
    for name, tool in mcp_tools("all").items():
        assert tool.mcp is not None
        description = tool.mcp.description
        assert "Use it" in description, name
        assert "Example: " in description, name
        other_tools = {word for word in re.findall(r"\w+", description) if word in mcp_tools("all")} - {name}
        assert other_tools or " not " in description.lower(), name
        assert tool.mcp.suite == "all" or not other_tools & NEW, name
        assert estimate_tokens(description) <= 120, name


@pytest.mark.parametrize(("suite", "max_tokens"), [("default", 3_000), ("all", 6_350)])
def test_the_list_of_tools_is_short_and_says_nothing_twice(suite: Literal["default", "all"], max_tokens: int) -> None:
    listing = list_tools(mcp_tools(suite), offers_pages=True, with_structure=False, max_tokens=DEFAULT_MAX_TOKENS)
    assert estimate_tokens(json.dumps(listing["tools"])) <= max_tokens
    counts = Counter(
        (name, value["description"])
        for tool in listing["tools"]
        for name, value in tool["inputSchema"]["properties"].items()
        if "description" in value
    )
    # A cursor has the name of a date, which the instructions explain.
    assert {name for (name, _), times in counts.items() if times > 1} == {"after"}
    explained = set(re.findall(r"\w+", INSTRUCTIONS))
    alike = {"repo", "path", "revision", "revisions", "files", "after", "before", "useRegex", "maxTokens", "cursor"}
    assert alike <= explained
    assert estimate_tokens(INSTRUCTIONS) <= 240


def test_a_size_is_hinted_where_answers_may_be_longer_than_clients_take() -> None:
    def hints(max_tokens: int | None) -> set[int | None]:
        tools = list_tools(mcp_tools(), offers_pages=True, with_structure=False, max_tokens=max_tokens)["tools"]
        return {tool.get("_meta", {}).get(SIZE_HINT) for tool in tools}

    assert hints(DEFAULT_MAX_TOKENS) == {None}
    assert hints(20_000) == {120_000}
    assert hints(None) == {500_000}


def test_schemas_fit_the_validators_of_three_vendors() -> None:
    for tool in mcp_tools("all").values():
        schema = dict(tool.advertised_schema)
        for strict in (_openai_strict(schema), _anthropic(schema), _gemini(schema)):
            assert set(strict["properties"]) == set(schema["properties"])


def _openai_strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Strict function calling: all names are required, optional ones nullable, nothing additional; few keywords."""
    allowed = {"type", "description", "enum", "items", "minimum", "maximum", "properties", "required",
               "additionalProperties"}  # fmt: skip
    properties = {}
    for name, value in schema["properties"].items():
        part_schema = {key: part for key, part in value.items() if key != "minLength"}
        assert set(part_schema) <= allowed, (name, part_schema)
        if name not in schema["required"]:
            part_schema["type"] = [part_schema["type"], "null"]
        properties[name] = part_schema
    strict = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    assert len(properties) <= 100
    return strict


def _anthropic(schema: dict[str, Any]) -> dict[str, Any]:
    """Names of arguments match a pattern, and the schema is an object of JSON Schema 2020-12."""
    assert schema["type"] == "object"
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in schema["properties"])
    return schema


def _gemini(schema: dict[str, Any]) -> dict[str, Any]:
    """A subset of OpenAPI: no references, no unions, no ``additionalProperties``; arrays say their items."""
    for value in schema["properties"].values():
        assert isinstance(value["type"], str)
        assert not {"$ref", "anyOf", "oneOf", "allOf", "additionalProperties"} & set(value)
        assert value["type"] != "array" or value["items"]["type"] == "string"
        assert "enum" not in value or value["type"] == "string"
    assert "additionalProperties" not in schema
    return schema


def test_long_answers_are_cut_without_being_asked(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "long", origin="https://example.org/more/long.git")
    builder.commit({"long.py": "".join(f"value_{n} = {n}  # number {n}\n" for n in range(3000))}, "start")
    long = open_engine([tmp_path], index=tmp_path / "index")
    answer = ask(long, "blame", repo="example.org/more/long", path="long.py")
    assert estimate_tokens(answer.text) <= DEFAULT_MAX_TOKENS
    assert answer.content["leftOut"]["lines"] > 0
    following = ask(long, "blame", repo="example.org/more/long", path="long.py", cursor=answer.content["nextCursor"])
    assert rows(following)[0]["line_number"] == rows(answer)[-1]["line_number"] + 1


def test_python_has_them_as_methods(builder: RepositoryBuilder, tmp_path: Path) -> None:
    with sl.open(builder.path, index_dir=tmp_path) as code:
        refs = code.list_refs(REPO, kind="tag")
        assert refs["name"].tolist() == ["v2.0", "v1.0"]
        assert code.history_of(REPO, "shine()").attrs["status"] == "complete"
        assert len(code.blame(REPO, "lamp.py", start_line=2, end_line=2)) == 1


def test_a_count_names_the_commits_that_it_read(lamps: LocalEngine, builder: RepositoryBuilder) -> None:
    def sources(name: str, **arguments: Any) -> Any:
        return ask(lamps, name, offers_pages=True, **arguments).content.get("sources")

    head, parent = builder.git("rev-parse", "HEAD"), builder.git("rev-parse", "v1.0^{commit}")
    for by in ([], ["path"], ["language"], ["repository"]):
        assert sources("count", query="light", by=by) == [{"repo": REPO, "commit": head}]
        assert sources("count", query="repo:lamps light rev:v1.0", by=by) == [{"repo": REPO, "commit": parent}]
    # The commits of history are what was counted, not what was read.
    assert sources("count", query="type:commit fix", by=["repository"]) is None
    assert sources("contributors", repos=[REPO]) == [{"repo": REPO, "commit": head}]
