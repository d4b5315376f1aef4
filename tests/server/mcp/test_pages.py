"""Answers within a number of tokens: pages that together are the whole answer, over the SDK's own client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from server.mcp.calling import Said, call_tool
from server.running_service import TOKEN, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.answer_size import DEFAULT_MAX_TOKENS
from sourcelight.core.markup.counts import estimate_tokens
from sourcelight.core.tools.catalog import mcp_tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.server.http.settings import Settings
from sourcelight.server.mcp.calls import CallIdentity, ToolRunner
from sourcelight.server.mcp.protocol import make_server
from sourcelight.testing.repositories import RepositoryBuilder

ONE = "example.org/pages/one"
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "read_file": {"repo": ONE, "path": "long.py"},
    "list_files": {"repo": ONE, "path": "many"},
    "list_repos": {"query": "example"},
    "keyword_search": {"query": f"repo:{ONE} lamp file:many"},
    "nls_search": {"query": f"repo:{ONE} lamp file:many"},
    "go_to_definition": {"repo": ONE, "path": "use.py", "symbol": "lamp"},
    "find_references": {"repo": ONE, "path": "long.py", "symbol": "lamp"},
    "commit_search": {"repos": [ONE]},
    "diff_search": {"repos": [ONE], "pattern": "lamp"},
    "compare_revisions": {"repo": ONE, "base": "HEAD~12", "head": "HEAD"},
    "get_contributor_repos": {"author": "a"},
}
ITEMS: Mapping[str, Callable[[Mapping[str, Any]], list[Any]]] = {
    "read_file": lambda content: content["content"].splitlines(),
    "list_files": lambda content: content["files"],
    "list_repos": lambda content: content["repos"],
    "keyword_search": lambda content: [(b["file"], c["content"]) for b in content["blocks"] for c in b["chunks"]],
    "nls_search": lambda content: [(b["file"], c["content"]) for b in content["blocks"] for c in b["chunks"]],
    "go_to_definition": lambda content: content["definitions"],
    "find_references": lambda content: [(r["path"], c["ranges"]) for r in content["references"] for c in r["chunks"]],
    "commit_search": lambda content: [commit["oid"] for commit in content["commits"]],
    "diff_search": lambda content: [
        (result["oid"], file["newPath"], line)
        for result in content["results"]
        for file in result["files"]
        for hunk in file["hunks"]
        for line in hunk["lines"]
    ],
    "compare_revisions": lambda content: ["".join(file["patch"] for file in content["fileDiffs"])],
    "get_contributor_repos": lambda content: content["repos"],
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    folder = tmp_path_factory.mktemp("pages")
    builder = RepositoryBuilder(folder / "one", origin=f"https://{ONE}.git")
    long = "def lamp():\n    return 1\n\n\n" + "".join(f"beam{n} = lamp()  # beam number {n}\n" for n in range(700))
    builder.commit({"long.py": long, "use.py": "from long import lamp\n\nlamp()\n", "README.md": "# One\n"}, "start")
    for number in range(14):
        body = "".join(f"lamp_{number}_{n} = 'the lamp of tower {n}'\n" for n in range(40))
        builder.commit({f"many/file{number:02}.py": body}, f"tower {number}\n\n" + "It shines. " * 30)
    for number in range(12):
        other = RepositoryBuilder(folder / f"other{number}", origin=f"https://example.org/pages/other{number:02}.git")
        other.commit({"a.txt": "nothing\n"}, "start")
    with_index = open_engine([folder], index=folder.parent / "pages-index")
    yield with_index
    with_index.close()


def over(engine: LocalEngine, work: Callable[[Client], Any], **options: Any) -> Any:
    server = make_server(
        mcp_tools(), ToolRunner(engine, **options), lambda _: CallIdentity(Viewer.owner()), offers_pages=True
    )

    async def main() -> Any:
        with anyio.fail_after(60):
            async with Client(server) as client:
                return await work(client)

    return anyio.run(main)


def pages(engine: LocalEngine, name: str, tokens: int, max_pages: int = 200) -> tuple[Said, list[Said]]:
    async def work(client: Client) -> tuple[Said, list[Said]]:
        everything = await call_tool(client, name, ARGUMENTS[name])
        parts: list[Said] = []
        cursor: dict[str, Any] = {}
        while not parts or (cursor and len(parts) < max_pages):
            parts.append(await call_tool(client, name, {**ARGUMENTS[name], "maxTokens": tokens, **cursor}))
            assert not parts[-1].failed, parts[-1].text
            following = parts[-1].content.get("nextCursor")
            cursor = {"cursor": following} if following else {}
        return everything, parts

    result: tuple[Said, list[Said]] = over(engine, work)
    return result


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_pages_together_are_the_whole_answer(engine: LocalEngine, name: str) -> None:
    full_answer, parts = pages(engine, name, 1200)
    items = ITEMS[name]
    assert not full_answer.failed
    merged = [item for part in parts for item in items(part.content)]
    if name == "compare_revisions":
        merged = ["".join(merged)]
    assert merged == items(full_answer.content)
    assert len(parts) > 1 or estimate_tokens(full_answer.text) < 1200


@pytest.mark.parametrize("name", sorted(ITEMS))
@pytest.mark.parametrize("tokens", [600, 2000])
def test_no_page_is_longer_than_asked_and_each_counts_the_rest(engine: LocalEngine, name: str, tokens: int) -> None:
    _, parts = pages(engine, name, tokens, max_pages=3)
    for part in parts:
        assert estimate_tokens(part.text) <= tokens
        if "nextCursor" not in part.content:
            continue
        assert part.content["limitHit"]
        assert part.content["nextCursor"] in part.text
        (noun, left), (_, remaining) = part.content["leftOut"].items()
        assert left > 0 or "rest of the last one" in part.text
        assert remaining > 0
        assert noun in part.text.lower()


def test_an_own_cursor_of_a_tool_goes_on_where_a_page_is_cut(engine: LocalEngine) -> None:
    async def work(client: Client) -> list[str]:
        names: list[str] = []
        after: dict[str, Any] = {}
        while True:
            answer = await call_tool(client, "list_repos", {"query": "", "maxTokens": 900, **after})
            names += [repo["name"] for repo in answer.content["repos"]]
            info = answer.content["pageInfo"]
            if not info["hasNextPage"]:
                return names
            after = {"after": info["endCursor"]}

    assert len(over(engine, work)) == 13


def test_a_cursor_of_another_answer_is_refused(engine: LocalEngine) -> None:
    async def work(client: Client) -> list[Said]:
        first = await call_tool(client, "read_file", {**ARGUMENTS["read_file"], "maxTokens": 1000})
        cursor = first.content["nextCursor"]
        return [
            await call_tool(client, "read_file", {"repo": ONE, "path": "many/file00.py", "cursor": cursor}),
            await call_tool(client, "read_file", {**ARGUMENTS["read_file"], "revision": "HEAD~1", "cursor": cursor}),
            await call_tool(client, "read_file", {**ARGUMENTS["read_file"], "cursor": "xx"}),
            await call_tool(client, "read_file", {**ARGUMENTS["read_file"], "maxTokens": 5}),
            await call_tool(client, "read_file", {**ARGUMENTS["read_file"], "maxTokens": "many"}),
        ]

    other, former, bad, few, wrong = over(engine, work)
    assert "has changed" in other.text
    assert "has changed" in former.text
    assert "not a cursor" in bad.text
    assert "maxTokens must be 300 to" in few.text
    assert "must be of type integer" in wrong.text
    assert all(answer.failed for answer in (other, former, bad, few, wrong))


def test_a_line_that_alone_is_too_long_is_cut(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "one", origin=f"https://{ONE}.git")
    line = " ".join(f"word{n}" for n in range(3000))
    builder.commit({"wide.txt": f"{line}\nend\n"}, "start")
    engine = open_engine([tmp_path], index=tmp_path / "index")

    async def work(client: Client) -> list[Said]:
        parts: list[Said] = []
        cursor: dict[str, Any] = {}
        while True:
            arguments = {"repo": ONE, "path": "wide.txt", "maxTokens": 2000, **cursor}
            parts.append(await call_tool(client, "read_file", arguments))
            if "nextCursor" not in parts[-1].content:
                return parts
            cursor = {"cursor": parts[-1].content["nextCursor"]}

    parts = over(engine, work)
    text = "".join(line.partition(": ")[2] for part in parts for line in part.content["content"].split("\n"))
    assert text == f"{line}end"
    assert len(parts) > 3


def test_by_default_answers_have_no_more_tokens_than_the_service_says(engine: LocalEngine) -> None:
    async def work(client: Client) -> Said:
        return await call_tool(client, "read_file", ARGUMENTS["read_file"])

    full_answer, limited_answer = over(engine, work), over(engine, work, max_tokens=DEFAULT_MAX_TOKENS)
    assert (
        estimate_tokens(full_answer.text)
        > DEFAULT_MAX_TOKENS
        >= estimate_tokens(limited_answer.text)
        > DEFAULT_MAX_TOKENS * 0.9
    )
    text_only = over(engine, work, max_tokens=DEFAULT_MAX_TOKENS, with_structure=False)
    assert text_only.content is None


def test_a_service_names_the_arguments_where_it_cuts_and_clients_get_everything(engine: LocalEngine) -> None:
    import sourcelight as sl

    with running(engine, settings=Settings(mcp_default_max_tokens=500)) as service:
        with sl.connect(service.url, TOKEN) as code:
            assert len(code.read_file(ONE, "long.py")) == 704
            assert len(code.list_repos()) == 13
            assert len(code.find_references(ONE, "long.py", "lamp")) > 700
        answer = service.client.post(
            "/.api/mcp",
            headers={
                "Authorization": f"token {TOKEN}",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2025-11-25",
            },
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        )
        assert "maxTokens" in answer.text
