"""Tools of a service whose schemas and answers have parts of other types, lack parts, or never end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import sourcelight as sl
from backends.remote.scripted_tools import ScriptedTools, schema, typed
from sourcelight.backends.remote.mcp import request as requests
from sourcelight.core.errors import ProtocolError

pytestmark = pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")

READ = schema("repo", "path", repo="string", path="string", startLine="integer", endLine="integer", revision="string")
FILES = schema("repo", repo="string", path="string", after="string", revision="string")
REPOS = schema("query", query="string", limit="integer", after="string")
SYMBOL = schema("repo", "path", "symbol", repo="string", path="string", symbol="string")
COMPARE = schema("repo", repo="string", base="string", head="string", after="string", first="integer")
COMMITS = schema(repos="array", authors="array", after="string", before="string", count="integer")
QUESTION = schema("question", question="string")


def ask(name: str, its_schema: Mapping[str, Any], payload: Any, method: str, *arguments: Any, **options: Any) -> Any:
    service = ScriptedTools({name: (its_schema, payload if callable(payload) else lambda _: typed(payload))})
    with service.running() as url, sl.connect(url, "token", retries=0) as code:
        return getattr(code, method)(*arguments, **options), service


@pytest.mark.parametrize(
    "properties",
    [
        None,
        [],
        "path",
        {"repo": None, "path": [[]]},
        {"repo": {"type": {}}, "path": {"type": [None, "string"], "anyOf": {"type": "string"}, "oneOf": [3]}},
        {"repo": {"type": "string"}, "path": {"type": "string"}, "limit": {"maximum": "many"}},
        {"repo": {"type": "string"}, "path": {"type": "string"}, "limit": {"maximum": -1, "minimum": 1e308}},
    ],
)
@pytest.mark.parametrize("required", [["repo"], None, "repo", [3, "repo"], {}])
def test_a_schema_of_any_form_is_read_as_far_as_it_can_be(properties: Any, required: Any) -> None:
    """A property that was a list ended the call with an error of Python."""
    its_schema = {"type": "object", "properties": properties, "required": required}
    frame, _ = ask("list_files", its_schema, {"files": [{"path": "a.py"}], "total": 1}, "list_files", "r/x", "src")
    assert list(frame["path"]) == ["a.py"]


ODD: list[Any] = [None, True, -1, 1e308, 10**30, "", "x", [], {}, [None], [[]], [{}], {"text": "x"}, "\x1b[31m\u202e\0"]


def _answer_with(field: str, odd: Any) -> dict[str, Any]:
    source = {"type": "file", "label": "a.py", "link": "/r/x/-/blob/a.py"}
    table = {"title": "Files", "columns": ["path", "count"], "rows": [["a.py", 2]], "total": 1}
    answer: dict[str, Any] = {"url": "https://host/deepsearch/7", "answer": "In a.py.", "sources": [source]}
    answer |= {"tables": [table], "status": "completed", "title": "Where?", "rejected": []}
    if field in {"label", "type"}:
        source[field] = odd
    elif field == "source":
        answer["sources"] = [source, odd]
    elif field == "rows":
        table["rows"] = odd
    else:
        answer[field] = odd
    return answer


@pytest.mark.parametrize(
    "field", ["answer", "sources", "source", "label", "type", "tables", "rows", "stats", "error", "rejected", "title"]
)
def test_an_answer_of_any_form_can_be_shown(field: str) -> None:
    """A source whose type was a list ended `print` with an error of Python."""
    answers = iter([typed(_answer_with(field, odd)) for odd in ODD])
    service = ScriptedTools({"deepsearch": (QUESTION, lambda _: next(answers))})
    headings = []
    with service.running() as url, sl.connect(url, "token", retries=0) as code:
        for number in range(len(ODD)):
            answer = code.deepsearch(f"Where is number {number}?", progress=False)
            texts = [str(answer), answer.to_markdown(), answer.to_html(), *answer._repr_mimebundle_().values()]
            assert not any("\x1b" in text for text in texts)
            assert len(answer.sources) >= len(answer.citations)
            headings.append([list(frame.columns) for frame in answer.tables.values()])
    if field not in {"tables", "rows"}:
        assert headings == [[["path", "count"]]] * len(ODD)


def test_what_is_no_source_or_row_is_counted() -> None:
    table = {"title": "Files", "columns": ["path", "count"], "rows": [["a.py", 2], ["b.py"], "c.py", ["d.py", []]]}
    answer = {"answer": "Two.", "sources": ["x", {"type": "file", "link": "/r/x/-/blob/a.py"}], "tables": [table]}
    result, _ = ask("deepsearch", QUESTION, answer, "deepsearch", "How many?", progress=False)
    assert result.tables["Files"].to_numpy().tolist() == [["a.py", 2]]
    notices = " ".join(result.notices)
    assert "1 entry in sources that can't be read" in notices
    assert "3 entries in a table that can't be read" in notices


@pytest.mark.parametrize("name", ["list_files", "list_repos", "compare_revisions"])
def test_a_cursor_that_comes_back_ends_the_list(name: str) -> None:
    """Ten thousand pages of the same rows were read."""
    cursors = iter(["a", "b", *["a"] * 50])
    key, entry, its_schema, call = {
        "list_files": ("files", {"path": "a.py"}, FILES, ("r/x",)),
        "list_repos": ("repos", {"name": "r/x"}, REPOS, ()),
        "compare_revisions": ("fileDiffs", {"newPath": "a.py", "oldPath": "a.py"}, COMPARE, ("r/x", "v1", "v2")),
    }[name]

    def page(_: Any) -> Any:
        return typed({key: [entry], "pageInfo": {"endCursor": next(cursors), "hasNextPage": True}})

    frame, service = ask(name, its_schema, page, name, *call)
    assert len(service.calls) == 3
    assert frame.attrs["status"] == "limited"


def test_pages_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each new page with a new cursor filled memory, until ten thousand of them."""
    monkeypatch.setattr(requests, "MAX_READ_BYTES", 100_000)
    numbers = iter(range(10_000))

    def page(_: Any) -> Any:
        paths = [{"path": "a" * 1_000} for _ in range(10)]
        return typed({"files": paths, "pageInfo": {"endCursor": str(next(numbers)), "hasNextPage": True}})

    with pytest.raises(ProtocolError, match="more than 100,000 bytes"):
        ask("list_files", FILES, page, "list_files", "r/x")
    assert next(numbers) < 12


def test_a_list_of_tools_ends_when_its_cursor_comes_back() -> None:
    service = ScriptedTools({"list_repos": (REPOS, lambda _: typed({"repos": []}))}, tool_cursor="again")
    with service.running() as url, sl.connect(url, "token", retries=0) as code:
        assert "list_repos" in list(code.tools)
    assert service.listing <= 8


CHUNK = {"startLine": 3, "content": "3: x\n4: Hub()\n", "ranges": [{"line": 4, "start": 0, "end": 3}]}


@pytest.mark.parametrize("chunk", [None, 3, {}, {"content": ["4: Hub()"]}, {"content": 4}, {"content": "Hub()"}])
@pytest.mark.parametrize("name", ["find_references", "keyword_search"])
def test_a_chunk_that_cannot_be_read_is_counted(name: str, chunk: Any) -> None:
    """Its lines were left out of a complete table."""
    entry = {"repo": "r/x", "path": "a.py", "rev": "", "url": "/r/x/-/blob/a.py", "chunks": [CHUNK, chunk]}
    if name == "find_references":
        payload = {"references": [entry], "limitHit": False}
        frame, _ = ask(name, SYMBOL, payload, name, "r/x", "a.py", "Hub")
    else:
        frame, _ = ask(name, schema("query", query="string"), {"blocks": [entry], "limitHit": False}, name, "Hub")
    assert len(frame) == 1
    assert frame.attrs["status"] == "limited"
    assert "1 chunk without lines that can be read" in " ".join(frame.attrs["notices"])


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ({"content": "", "totalLines": 0}, "complete"),
        ({"content": ""}, "complete"),
        ({"content": "", "totalLines": 54}, "limited"),
        ({"content": None, "totalLines": 54}, "limited"),
        ({"content": None}, "limited"),
        ({"content": ["1: x"], "totalLines": [None]}, "limited"),
        ({"content": "1: x\n", "totalLines": 1}, "complete"),
    ],
)
def test_a_file_without_lines_is_complete_only_where_it_is_empty(payload: Any, status: str) -> None:
    frame, _ = ask("read_file", READ, {"url": "", "path": "a.py", **payload}, "read_file", "r/x", "a.py")
    assert frame.attrs["status"] == status


def test_an_analysis_of_malformed_commits_names_the_tool_that_sent_them() -> None:
    """It ended with an error of Arrow, because the answer belonged to a request within the request."""
    commits = [{"oid": "0" * 40, "repo": "r/x", "authorDate": "2026-01-02T03:04:05Z", "parents": [float("1e308")]}]
    commits[0]["namesAgents"] = commits[0]["authorName"] = [["x"]]
    with pytest.raises(ProtocolError, match=r"contributors: the service's answer to commit_search is malformed"):
        ask("commit_search", COMMITS, {"commits": commits, "limitHit": False}, "contributors", ["r/x"])
