"""Every tool about files and text, over HTTP in both families of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

import sourcelight as sl
from server.mcp.calling import FAMILIES, Said, call, call_tool, over
from server.mcp.conftest import BIG_LINE, ONE, SECRET, Served
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.tools.catalog import mcp_tools
from sourcelight.testing import RepositoryBuilder

SPEC = {
    "commit_search", "compare_revisions", "deepsearch", "deepsearch_read", "diff_search", "find_references",
    "get_contributor_repos", "go_to_definition", "keyword_search", "list_files", "list_repos", "nls_search",
    "read_file",
}  # fmt: skip


def ask(served: Served, name: str, family: str = FAMILIES[0], *, who: str = "owner", **arguments: Any) -> Said:
    return call(served.url, served.tokens[who], name, arguments, family)


@pytest.mark.parametrize("family", FAMILIES)
def test_listed_tools_are_plain_and_described(served: Served, family: str) -> None:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = over(served.url, served.tokens["owner"], work, family)
    assert {tool.name for tool in tools} <= SPEC
    for tool in tools:
        schema = tool.input_schema
        assert tool.description
        assert set(schema) == {"type", "properties", "required"}
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
        for name, item in schema["properties"].items():
            assert item["type"] in {"string", "integer", "boolean", "array"}
            # The list leaves out what the instructions of the server say; the reference has every description.
            described = mcp_tools()[tool.name].input_schema["properties"][name]["description"]
            assert described
            assert item.get("description", described) == described
        is_read_only = tool.name != "deepsearch"
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (is_read_only, False)
        # The protocol gives the hint a meaning only for tools that change something.
        assert tool.annotations.destructive_hint is (None if is_read_only else False)
        assert tool.output_schema is None


def test_schemas_require_what_the_specification_requires(served: Served) -> None:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    required = {tool.name: tool.input_schema["required"] for tool in over(served.url, TOKEN, work)}
    assert required == {
        "read_file": ["repo", "path"],
        "list_files": ["repo"],
        "list_repos": ["query"],
        "keyword_search": ["query"],
        "nls_search": ["query"],
        "go_to_definition": ["repo", "path", "symbol"],
        "find_references": ["repo", "path", "symbol"],
        "commit_search": ["repos"],
        "diff_search": ["pattern", "repos"],
        "compare_revisions": ["repo", "base", "head"],
        "get_contributor_repos": ["author"],
    } | {name: required[name] for name in required if name.startswith("deepsearch")}


def test_unknown_arguments_are_refused_though_no_schema_says_so(served: Served) -> None:
    refused = ask(served, "read_file", repo=ONE, path="README.md", lines=3)
    assert refused.failed
    assert "read_file has no argument 'lines'; it takes repo, path, startLine" in refused.text


@pytest.mark.parametrize("family", FAMILIES)
def test_null_and_whole_floats_stand_for_optional_numbers(served: Served, family: str) -> None:
    answer = ask(served, "read_file", family, repo=ONE, path="README.md", startLine=1.0, endLine=None, revision=None)
    assert answer.content["content"].startswith("1: # One")
    assert not ask(served, "list_repos", family, query="", limit=5.0, after=None).failed
    assert not ask(served, "get_contributor_repos", family, authors=["nobody"], minCommits=None).failed
    for name, bad in (("startLine", 1.5), ("startLine", True), ("startLine", "1"), ("path", None)):
        arguments: dict[str, Any] = {"repo": ONE, "path": "README.md"} | {name: bad}
        assert ask(served, "read_file", family, **arguments).failed


def test_an_absent_repository_names_visible_ones_like_it(served: Served) -> None:
    assert f"did you mean {ONE}" in ask(served, "list_files", repo="example.org/team/on").text
    hidden = ask(served, "list_files", who="user", repo="example.org/team/secre")
    assert hidden.failed
    assert SECRET not in hidden.text


@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_is_read_with_line_numbers(served: Served, family: str) -> None:
    answer = ask(served, "read_file", family, repo=ONE, path="README.md")
    url = f"{served.service.url}/{ONE}@{served.commits[1]}/-/blob/README.md"
    assert answer.content == {
        "content": "1: # One\n2: \n3: A lamp in the tower.\n",
        "url": url,
        "totalLines": 3,
        "limitHit": False,
    }
    assert answer.text == f"URL: {url}\n1: # One\n2: \n3: A lamp in the tower.\n"


def test_a_range_and_a_revision_are_read(served: Served) -> None:
    answer = ask(served, "read_file", repo=ONE, path="/src//lamp.py", startLine=2, revision="HEAD~1")
    assert answer.content["content"] == "2:     pass\n"
    assert answer.content["url"].endswith(f"@{served.commits[0]}/-/blob/src/lamp.py?L2-2")
    answer = ask(served, "read_file", repo=ONE, path="src/lamp.py", startLine=2, endLine=9_999)
    numbers = [int(line.partition(":")[0]) for line in answer.content["content"].splitlines()]
    assert (numbers, answer.content["totalLines"]) == (list(range(2, 64)), 63)
    assert ask(served, "read_file", repo=ONE, path="empty.txt").content["content"] == ""
    assert ask(served, "read_file", repo=ONE, path="latin.txt").content["content"] == "1: caf\ufffd lamp\n"
    assert ask(served, "read_file", repo=ONE, path="bad-\ufffd.txt").content["content"] == "1: lamp\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "big.txt"}, ("154,000 bytes", "131,072", "startLine", "endLine")),
        (
            {"path": "big.txt", "startLine": 1, "endLine": 6_999},
            ("lines 1 to 6999", "startLine", "lines 1 to 5957 fit"),
        ),
        ({"path": "wide.txt", "startLine": 1, "endLine": 1}, ("line 1 alone", "keyword_search")),
        ({"path": "binary.bin"}, ("binary", "10 bytes")),
        ({"path": "src"}, ("directory", "list_files")),
        ({"path": "src/lamb.py"}, ("not found", "src/lamp.py")),
        ({"path": "README.md/x"}, ("README.md is a file",)),
        ({"path": "../one/README.md"}, ("not found",)),
        ({"path": "README.md", "startLine": 9}, ("startLine is 9", "3 lines")),
        ({"path": "README.md", "startLine": 3, "endLine": 2}, ("endLine 2", "before startLine 3")),
        ({"path": "README.md", "startLine": 0}, ("startLine must be 1 or more", "got 0")),
        ({"path": "README.md", "startLine": "1"}, ("startLine", "integer", "str")),
        ({"path": "README.md", "lines": 3}, ("no argument 'lines'", "startLine, endLine, revision")),
        ({"path": "README.md", "revision": "v9"}, ("revision not found", f"{ONE}@v9")),
        ({"path": "README.md", "repo": "example.org/team/none"}, ("repository not found: example.org/team/none",)),
        ({}, ("needs the argument 'path'",)),
    ],
)
def test_what_cannot_be_read_is_told(served: Served, arguments: dict[str, Any], words: tuple[str, ...]) -> None:
    answer = ask(served, "read_file", **({"repo": ONE} | arguments))
    assert answer.failed
    assert answer.content is None
    for word in words:
        assert word in answer.text


def test_the_largest_range_that_fits_is_read(served: Served) -> None:
    answer = ask(served, "read_file", repo=ONE, path="big.txt", startLine=1, endLine=5957)
    assert not answer.failed
    assert answer.content["content"].count("\n") == 131_072 // len(BIG_LINE) == 5957


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_is_listed_folders_first(served: Served, family: str) -> None:
    answer = ask(served, "list_files", family, repo=ONE)
    names = [entry["path"] for entry in answer.content["files"]]
    folders = [entry["path"] for entry in answer.content["files"] if entry["isDirectory"]]
    assert folders == ["docs/", "many/", "src/"] == names[:3]
    assert names[3:] == sorted(names[3:])
    assert {"README.md", "bad-\ufffd.txt", "latest"} <= set(names)
    assert answer.text.splitlines() == names
    assert answer.content["commit"] == served.commits[1]
    below = ask(served, "list_files", family, repo=ONE, path="src/deep/")
    assert below.content["files"] == [{"path": "src/deep/er/", "isDirectory": True}]
    previous = ask(served, "list_files", family, repo=ONE, revision=served.commits[0], path="src")
    assert previous.content["files"] == [{"path": "src/lamp.py", "isDirectory": False}]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RepositoryBuilder, Service]]:
    folder = tmp_path_factory.mktemp("crowded")
    builder = RepositoryBuilder(folder / "src" / "crowd", origin="https://example.org/team/crowd.git")
    builder.commit({f"{number:04}.txt": "lamp\n" for number in range(2_300)} | {"z/z.txt": "lamp\n"}, "many")
    engine = open_engine([folder / "src"], index=folder / "index", index_now=False)
    with running(engine) as service:
        yield builder, service
    engine.close()


def test_a_crowded_folder_is_listed_in_pages(crowded: tuple[RepositoryBuilder, Service]) -> None:
    builder, service = crowded
    expected = ["z/", *builder.git("ls-tree", "--name-only", "HEAD").split("\n")[:-1]]
    url, arguments, listing = f"{service.url}/.api/mcp", {"repo": "example.org/team/crowd"}, []
    for range_text in ("1 to 1,000 of 2,301", "1,001 to 2,000 of 2,301", ""):
        answer = call(url, TOKEN, "list_files", arguments)
        listing += [file["path"] for file in answer.content["files"]]
        assert answer.content["limitHit"] is bool(range_text)
        if range_text:
            assert f"Entries {range_text} are shown" in answer.text
            assert f"endCursor: {answer.content['pageInfo']['endCursor']}" in answer.text
            arguments = arguments | {"after": answer.content["pageInfo"]["endCursor"]}
        else:
            assert "pageInfo" not in answer.content
    assert listing == expected
    with sl.connect(service.url, TOKEN) as code:
        frame = code.list_files("example.org/team/crowd")
        assert (list(frame["path"]), frame.attrs["status"]) == (expected, "complete")
    assert "is not a cursor" in call(url, TOKEN, "list_files", arguments | {"after": "x"}).text
    assert "another directory or commit" in call(url, TOKEN, "list_files", arguments | {"path": "z"}).text


def test_what_is_no_folder_is_told(served: Served) -> None:
    assert "read_file reads it" in ask(served, "list_files", repo=ONE, path="README.md").text
    assert "did you mean src" in ask(served, "list_files", repo=ONE, path="scr").text
    link = ask(served, "read_file", repo=ONE, path="latest")
    assert link.content["content"] == "1: src/lamp.py\n"
    assert "symbolic link" in link.content["notice"]


@pytest.mark.parametrize("family", FAMILIES)
def test_repositories_are_listed_in_pages(served: Served, family: str) -> None:
    answer = ask(served, "list_repos", family, query="TEAM/")
    assert [repo["name"] for repo in answer.content["repos"]] == [ONE, SECRET]
    entry = dict(answer.content["repos"][0])
    assert (len(entry.pop("commit")), entry.pop("lastFetched")[-1], entry.pop("id") > 0) == (40, "Z", True)
    assert entry.pop("codeHostUrl") == f"https://{ONE}"
    assert entry == {
        "name": ONE,
        "description": "Lamps and\n towers",
        "stars": 7,
        "url": f"{served.service.url}/{ONE}",
        "private": False,
        "fork": False,
        "archived": False,
    }
    assert answer.text.splitlines()[0] == f"{ONE} [★7] - Lamps and towers"
    first = ask(served, "list_repos", family, query="team", limit=1)
    page = first.content["pageInfo"]
    assert (page["hasNextPage"], page["hasPreviousPage"], first.content["limitHit"]) == (True, False, True)
    assert "more results available" in first.text
    second = ask(served, "list_repos", family, query="team", limit=1, after=page["endCursor"])
    assert [repo["name"] for repo in second.content["repos"]] == [SECRET]
    assert second.content["pageInfo"]["hasPreviousPage"]
    back = ask(served, "list_repos", family, query="team", before=second.content["pageInfo"]["startCursor"])
    assert [repo["name"] for repo in back.content["repos"]] == [ONE]
    assert ask(served, "list_repos", family, query="nothing").text.startswith("No results.\n\nNo results found.")
    assert "not a cursor" in ask(served, "list_repos", family, query="", after="xx").text


@pytest.mark.parametrize("family", FAMILIES)
def test_keywords_are_found_with_their_surroundings(served: Served, family: str) -> None:
    answer = ask(served, "keyword_search", family, query=f"repo:^{ONE}$ class lighthouse")
    (block,) = answer.content["blocks"]
    assert (block["type"], block["repo"], block["file"]) == ("file", ONE, "src/lamp.py")
    assert "rev" not in block
    assert block["url"] == f"{served.service.url}/{ONE}@{served.commits[1]}/-/blob/src/lamp.py"
    assert block["chunks"] == [
        {
            "startLine": 1,
            "endLine": 4,
            "content": "1: class Lamp:\n2:     def light(self):\n3:         return 'lighthouse'\n4: # beam\n",
        }
    ]
    assert (answer.content["matchCount"], answer.content["limitHit"]) == (2, False)
    assert answer.text == f"# {ONE} – src/lamp.py\n{block['chunks'][0]['content']}"  # noqa: RUF001 - as rendered


def test_the_language_of_keywords_is_the_services(served: Served) -> None:
    def files(query: str) -> list[str]:
        answer = ask(served, "keyword_search", query=query)
        assert not answer.failed, answer.text
        return sorted(block["file"] for block in answer.content["blocks"])

    assert files("\"return 'lighthouse'\"") == ["src/lamp.py"]
    assert files("/func Be[a]m/") == ["src/deep/er/beam.go"]
    assert files("(motor OR package) -file:go$") == ["docs/guide.md"]
    assert files(f"(repo:{ONE} OR repo:nothing) motor turned") == ["docs/guide.md"]
    assert files(f"repo:{ONE} rev:HEAD~1 pass") == ["src/lamp.py"]
    assert files("key.py") == ["key.py"]
    assert ask(served, "keyword_search", query="file:guide").content["blocks"][0]["chunks"] is None


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("rev:HEAD x", ("rev:", "repo:")),
        ("type:commit x", ("type:commit", "commit_search")),
        ("/a(/", ("regexp", "missing closing")),
        ("lang:nothing x", ("unknown language",)),
        (" ", ("query is empty",)),
        ("", ("query is empty",)),
    ],
)
def test_queries_at_fault_are_told(served: Served, query: str, words: tuple[str, ...]) -> None:
    answer = ask(served, "keyword_search", query=query)
    assert answer.failed
    for word in words:
        assert word in answer.text


def test_served_searches_are_limited_and_say_so(served: Served) -> None:
    answer = ask(served, "keyword_search", query="lamp file:many")
    blocks = answer.content["blocks"]
    assert len(blocks) == 15
    assert {len(block["chunks"]) for block in blocks} == {3}
    assert blocks[0]["chunksLeftOut"] == 1
    assert answer.content["limitHit"]
    assert "15 files" in answer.content["notice"]
    assert "15 files" in answer.text
    (long,) = ask(served, "keyword_search", query="lantern").content["blocks"]
    line = long["chunks"][0]["content"].removeprefix("1: ").rstrip("\n")
    assert len(line) <= 256
    assert "lantern" in line
    assert line[0] == line[-1] == "…"
    assert long["chunks"][0]["truncated"]
    (lines,) = ask(served, "keyword_search", query="beam file:lamp").content["blocks"]
    assert max(len(chunk["content"]) for chunk in lines["chunks"]) <= 1024 + 5 * 64
    (wide,) = ask(served, "keyword_search", query="file:big lighthouse").content["blocks"]
    assert len(wide["chunks"]) == 1
    assert wide["chunks"][0]["truncated"]


@pytest.mark.parametrize("family", FAMILIES)
def test_descriptions_are_found_in_other_forms(served: Served, family: str) -> None:
    answer = ask(served, "nls_search", family, query="which motors rotate the beam")
    assert answer.content["blocks"][0]["file"] == "docs/guide.md"
    assert answer.content["blocks"][0]["score"] == 1.0
    assert answer.content["blocks"][0]["chunks"][0]["content"] == "1: Rotating beams are turned by a motor.\n"
    assert "no words" in ask(served, "nls_search", family, query="repo:one").text
    assert ask(served, "nls_search", family, query="zzyzx").content["notice"] == "No file has these words: zzyzx."


def test_an_invisible_repository_is_an_absent_one(served: Served) -> None:
    for name, arguments in (
        ("read_file", {"repo": SECRET, "path": "key.py"}),
        ("list_files", {"repo": SECRET}),
        ("keyword_search", {"query": f"repo:^{SECRET}$ lamp"}),
        ("nls_search", {"query": f"repo:^{SECRET}$ lamp"}),
        ("list_repos", {"query": SECRET}),
    ):
        absent = {key: value.replace("secret", "sacred") for key, value in arguments.items()}
        hidden = call(served.url, served.tokens["user"], name, arguments)
        missing = call(served.url, served.tokens["user"], name, absent)
        assert hidden.text == missing.text.replace("sacred", "secret"), name
        assert hidden.content == missing.content, name
        seen = call(served.url, served.tokens["reader"], name, arguments)
        assert SECRET in f"{seen.text}{seen.content}", name
    everything = ask(served, "keyword_search", who="user", query="lighthouse").content["blocks"]
    assert {block["repo"] for block in everything} == {ONE}


@pytest.mark.parametrize("family", FAMILIES)
def test_old_names_are_understood_and_unknown_ones_refused(served: Served, family: str) -> None:
    assert not ask(served, "sg_list_repos", family, query="").failed

    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="unknown tool 'read_files'; available: read_file, ") as error:
            await client.call_tool("read_files", {})
        assert error.value.error.code == -32602

    over(served.url, served.tokens["owner"], work, family)


def test_deep_search_is_refused_by_name_where_there_is_none(served: Served) -> None:
    for name, arguments in (("deepsearch", {"question": "why?"}), ("deepsearch_read", {"identifier": "x"})):
        answer = ask(served, name, **arguments)
        assert answer.failed
        assert answer.text.startswith(f"{name}: deep search is not available here")


def test_many_calls_share_one_connection(served: Served) -> None:
    async def work(client: Client) -> list[Said]:
        return [await call_tool(client, "list_repos", {"query": "one"}) for _ in range(20)]

    assert len({answer.text for answer in over(served.url, served.tokens["mcp"], work)}) == 1
