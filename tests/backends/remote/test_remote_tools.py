"""Tools of services asked over MCP: answers of every generation, fitted arguments, pages, faults."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from typing import Any

import mcp_types as types
import pytest

import sourcelight as sl
from backends.remote.scripted_tools import ScriptedTools, schema, text, typed
from sourcelight.backends.remote.mcp.text_forms import parse_files
from sourcelight.core.errors import ToolError, UnsupportedTool
from sourcelight.display.notebook import ProgressSnapshot

COMMIT = "0123456789abcdef0123456789abcdef01234567"
READ = schema("repo", "path", repo="string", path="string", startLine="integer", endLine="integer", revision="string")
FILES = schema("repo", repo="string", path="string", revision="string")
REPOS = schema("query", query="string", limit="integer", after="string", before="string")
QUERY = schema("query", query="string")
SYMBOL = schema("repo", "path", "symbol", repo="string", path="string", symbol="string", revision="string")
QUICK: dict[str, Any] = {"backoff_s": 0.001, "connect_timeout_s": 2.0, "retries": 1}


def service_of(name: str, its_schema: Any, reply: Any) -> ScriptedTools:
    """A service of one tool that always replies the same, or what a function of the arguments gives."""
    return ScriptedTools({name: (its_schema, reply if callable(reply) else lambda _: reply)})


def ask(service: ScriptedTools, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of a client of the service."""
    with service.running() as url, sl.connect(url, "a-token", **QUICK) as code:
        return getattr(code, method)(*args, **options)


# Generations of payloads

BLOB = f"https://host/r/x@{COMMIT}/-/blob/a%20b.go"
FILE_FORMS = {
    "typed": typed({"content": "3: x\n4: \n5: y\n6: ", "url": f"{BLOB}%3FL3-5"}),
    "typed, as text": typed({"content": "3: x\n4: \n5: y\n6: ", "url": f"{BLOB}?L3-5"}, as_text=True),
    "text": text(f"URL: {BLOB}?L3-5\n3: x\n4: \n5: y\n6: "),
    "plain text": text(f"URL: {BLOB}%3FL3-5\n3: x\n4: \n5: y\n6: ", structured=False),
    "ours": typed(
        {
            "content": "3: x\n4: \n5: y\n",
            "url": BLOB,
            "path": "a b.go",
            "commit": COMMIT,
            "totalLines": 9,
            "limitHit": False,
            "truncated": False,
        }
    ),
}


@pytest.mark.parametrize("form", FILE_FORMS)
def test_a_file_is_read_in_every_form(form: str) -> None:
    frame = ask(service_of("read_file", READ, FILE_FORMS[form]), "read_file", "r/x", "a b.go", 3, 5)
    assert list(zip(frame["line_number"], frame["line"], strict=True)) == [(3, "x"), (4, ""), (5, "y")]
    assert set(frame["commit"]) == {COMMIT}
    assert set(frame["path"]) == {"a b.go"}
    assert frame.attrs["status"] == "complete"


CHUNK = {"startLine": 4, "endLine": 7, "content": "4: a\n5: # r \u2013 no heading\n6: c\n7: "}
BLOCK = {"type": "file", "repo": "r", "file": "p.go", "url": f"https://host/r@{COMMIT}/-/blob/p.go", "chunks": [CHUNK]}
NAMED = {"type": "file", "repo": "r", "file": "q", "url": "https://host/r/-/blob/q", "chunks": None}
LINES = "4: a\n5: # r \u2013 no heading\n6: c\n"
FOUND_FORMS = {
    "typed": typed({"blocks": [BLOCK, NAMED]}),
    "typed, as text": typed({"blocks": [BLOCK, NAMED]}, as_text=True),
    "text": text(f"# r \u2013 p.go\n{LINES}\n# r \u2013 q\n"),
    "plain text": text(f"# r \u2013 p.go\n{LINES}\n# r \u2013 q\n", structured=False),
}


@pytest.mark.parametrize("form", FOUND_FORMS)
def test_what_was_found_is_read_in_every_form(form: str) -> None:
    frame = ask(service_of("nls_search", QUERY, FOUND_FORMS[form]), "nls_search", "words")
    assert list(frame["path"]) == ["p.go", "q"]
    assert frame["chunk"][0] == "a\n# r \u2013 no heading\nc"
    assert (frame["start_line"][0], frame["end_line"][0]) == (4, 6)
    assert frame["chunk"].isna()[1]
    assert frame.attrs["status"] == "complete"


def test_chunks_of_a_text_are_told_apart_by_their_numbers() -> None:
    (file,) = parse_files("# r \u2013 p\n8: h\n9: i\n3: c\n4: d\n4: d\n7: g\n")
    fragments = [(8, ["h", "i"]), (3, ["c", "d"]), (4, ["d"]), (7, ["g"])]
    assert [(chunk.first, chunk.lines) for chunk in file.chunks] == fragments


@pytest.mark.parametrize("words", ["No results.\n\nNo results found.", ""])
def test_nothing_found_is_an_empty_frame_of_the_same_columns(words: str) -> None:
    frame = ask(service_of("nls_search", QUERY, text(words)), "nls_search", "words")
    assert len(frame) == 0
    assert tuple(frame.columns) == tuple(c.name for c in sl.columns_of("found_chunks"))


def test_an_answer_as_large_as_the_limits_is_not_taken_for_all() -> None:
    blocks = [{**NAMED, "file": f"f{k}"} for k in range(15)]
    with pytest.warns(sl.IncompleteResultWarning, match="at most 15 files"):
        frame = ask(service_of("nls_search", QUERY, typed({"blocks": blocks})), "nls_search", "words", limit=None)
    assert frame.attrs["status"] == "limited"
    ten = ask(service_of("nls_search", QUERY, typed({"blocks": blocks})), "nls_search", "words")
    assert (len(ten), ten.attrs["status"]) == (10, "partial"), "ten were asked for, and more came"


REPO_TEXT = "github.com/a/b [\u2605120] - A thing - with dashes\nc\nd - plain\n"
MORE = "\n(more results available - set a higher limit if you want to see more)"


def test_repositories_are_read_from_text() -> None:
    frame = ask(service_of("list_repos", schema("query", query="string"), text(REPO_TEXT)), "list_repos")
    assert list(frame["repository"]) == ["github.com/a/b", "c", "d"]
    assert list(frame["stars"]) == [120, 0, 0]
    assert list(frame["description"]) == ["A thing - with dashes", "", "plain"]
    assert frame["fork"].isna().all()


def test_a_cut_list_without_pages_is_limited() -> None:
    with pytest.warns(sl.IncompleteResultWarning, match="more results available"):
        frame = ask(service_of("list_repos", schema("query", query="string"), text(REPO_TEXT + MORE)), "list_repos")
    assert frame.attrs["status"] == "limited"


@pytest.mark.parametrize("words", ["... (truncated, 500 more lines)", "\u2026 and 500 more"])
def test_a_line_that_stands_for_more_files_is_no_file(words: str) -> None:
    with pytest.warns(sl.IncompleteResultWarning, match="500 more"):
        frame = ask(service_of("list_files", FILES, text(f"src/\na.go\n{words}\n")), "list_files", "r")
    assert (list(frame["path"]), frame.attrs["status"]) == (["src/", "a.go"], "limited")


def test_folders_are_read_in_every_form() -> None:
    rows = [{"path": "src/", "isDirectory": True}, {"path": "a.go", "isDirectory": False}]
    for reply in (typed({"files": rows}), text("src/\na.go\n")):
        frame = ask(service_of("list_files", FILES, reply), "list_files", "r")
        assert list(frame["path"]) == ["src/", "a.go"]
        assert list(frame["is_directory"]) == [True, False]


def test_definitions_and_references_of_other_services_find_their_line() -> None:
    code = "10: \n11: // doc\n12: func Do() {\n13: }\n"
    definition = {
        "repo": "r",
        "path": "d.go",
        "rev": COMMIT,
        "chunks": [{"startLine": 10, "endLine": 13, "content": code}],
    }
    for reply in (typed({"definitions": [definition]}), text(f"# r \u2013 d.go\n{code}")):
        service = service_of("go_to_definition", SYMBOL, reply)
        with service.running() as url, sl.connect(url, "t") as client:
            answer = _call(client, "go_to_definition", repo="r", path="u.go", symbol="Do")
        (row,) = answer.table.to_pylist()
        assert (row["line_number"], row["line"], row["start"], row["end"]) == (12, "func Do() {", 5, 7)
        assert (row["start_line"], row["end_line"], row["rank"]) == (10, 13, 1)


def _call(client: sl.Client, name: str, **arguments: Any) -> Any:
    from sourcelight.client.portal import call

    return call(client.backend.call, name, arguments)


FILE_LINK = f"/r/x@{COMMIT}/-/blob/a.go?L3-9"
READ_TEXT = f"""---
title: How it retries
share_url: https://host/deepsearch/1
created: 2026-01-02T03:04:05Z
updated: 2026-01-02T03:05:05Z
---
# How are frames retried?

With a **delay**.

## Sources

- [r/x](/r/x)
- [r/x/a.go](/r/x@{COMMIT}/-/blob/a.go?L3-9)

# And then?

Nothing.
"""
READ_TYPED = {
    "title": "How it retries",
    "status": "completed",
    "questions": [
        {
            "question": "How are frames retried?",
            "answer": "With a **delay**.",
            "sources": [
                {"type": "repository", "label": "r/x", "link": "/r/x"},
                {"type": "file", "label": "r/x/a.go", "link": FILE_LINK},
            ],
        },
        {"question": "And then?", "answer": "Nothing.", "sources": []},
    ],
}


@pytest.mark.parametrize("reply", [text(READ_TEXT), typed(READ_TYPED)], ids=["text", "typed"])
def test_conversations_are_read_in_every_form(reply: Any) -> None:
    service = service_of("deepsearch_read", schema("identifier", identifier="string"), reply)
    with service.running() as url, sl.connect(url, "t") as client:
        answer = _call(client, "deepsearch_read", identifier="1")
    assert answer.attributes["title"] == "How it retries"
    requests = [(q["question"], q["answer"]) for q in answer.attributes["questions"]]
    assert requests == [("How are frames retried?", "With a **delay**."), ("And then?", "Nothing.")]
    repository, file = answer.table.to_pylist()
    assert (repository["type"], repository["repository"]) == ("repository", "r/x")
    assert (file["path"], file["commit"], file["start_line"], file["end_line"]) == ("a.go", COMMIT, 3, 9)


def test_a_conversation_without_a_question_is_empty() -> None:
    reply = text("---\ntitle: A draft\n---\nNothing asked yet.\n")
    service = service_of("deepsearch_read", schema("identifier", identifier="string"), reply)
    with service.running() as url, sl.connect(url, "t") as client:
        answer = _call(client, "deepsearch_read", identifier="1")
    assert answer.attributes["title"] == "A draft"
    assert not answer.attributes["questions"]
    assert answer.table.num_rows == 0


def test_an_unfinished_question_says_where_to_read_on() -> None:
    words = "Link: https://host/deepsearch/7\n\nStill working: call deepsearch_read with this identifier."
    service = ScriptedTools(
        {"read_file": (READ, lambda _: text(""))},
        elsewhere={
            "/.api/mcp/deepsearch": {"deepsearch": (schema("question", question="string"), lambda _: text(words))}
        },
    )
    with service.running() as url, sl.connect(url, "t") as client:
        answer = _call(client, "deepsearch", question="How?")
    assert not answer.complete
    assert (answer.attributes["status"], answer.attributes["url"]) == ("processing", "https://host/deepsearch/7")


@pytest.mark.parametrize("reply", [text(""), typed({"answer": "", "sources": []})])
def test_nothing_is_no_answer_to_a_question(reply: types.CallToolResult) -> None:
    """It was complete, "no answer yet", and stored for the next time."""
    service = service_of("deepsearch", schema("question", question="string"), reply)
    with service.running() as url, sl.connect(url, "t") as client:
        answer = client.deepsearch("How?")
    assert answer.status == "failed"
    assert answer.notices


# Arguments


def test_arguments_are_fitted_to_what_the_server_takes() -> None:
    service = service_of(
        "get_contributor_repos",
        schema("authors", authors="array", limit={"type": "integer", "maximum": 100}),
        typed({"repos": []}),
    )
    with service.running() as url, sl.connect(url, "t") as client:
        _call(client, "get_contributor_repos", author="ada")
    assert service.calls == [("get_contributor_repos", {"authors": ["ada"], "limit": 100})]


def test_what_the_server_cannot_take_is_an_error_that_names_what_it_takes() -> None:
    with pytest.raises(ToolError, match=r"doesn't accept revision; it accepts repo, path") as caught:
        ask(
            service_of("list_files", schema("repo", repo="string", path="string"), typed({"files": []})),
            "list_files",
            "r",
            revision="v1",
        )
    assert caught.value.accepted == ("repo", "path")


def test_a_list_where_the_server_takes_one_is_an_error() -> None:
    service = service_of("get_contributor_repos", schema("author", author="string"), typed({"repos": []}))
    with service.running() as url, sl.connect(url, "t") as client:
        _call(client, "get_contributor_repos", authors=["ada"])
        with pytest.raises(ToolError, match="accepts one authors, got 2"):
            _call(client, "get_contributor_repos", authors=["ada", "grace"])
    assert service.calls == [("get_contributor_repos", {"author": "ada"})]


# Where a tool is


def test_a_tool_that_is_missing_here_is_found_on_another_endpoint() -> None:
    read = (READ, lambda _: FILE_FORMS["text"])
    service = ScriptedTools(
        {"keyword_search": (QUERY, lambda _: text(""))}, elsewhere={"/.api/mcp/all": {"read_file": read}}
    )
    assert len(ask(service, "read_file", "r/x", "a b.go", 3, 5)) == 3


def test_names_of_old_services_are_understood() -> None:
    service = ScriptedTools({"sg_read_file": (READ, lambda _: FILE_FORMS["text"])}, paths=("/.api/mcp/v1",))
    assert len(ask(service, "read_file", "r/x", "a b.go", 3, 5)) == 3
    assert service.calls[0][0] == "sg_read_file"


def test_a_tool_that_is_nowhere_is_refused_with_what_there_is() -> None:
    with pytest.raises(UnsupportedTool, match=r"no tool 'nls_search'; it has read_file") as caught:
        ask(service_of("read_file", READ, text("")), "nls_search", "words")
    assert caught.value.accepted == ("read_file",)


def test_an_analysis_says_why_no_service_answers_it() -> None:
    with (
        service_of("read_file", READ, text("")).running() as url,
        sl.connect(url, "t") as client,
        pytest.raises(UnsupportedTool, match="doesn't offer 'blame'"),
    ):
        _call(client, "blame", repo="r", path="p")


# Everything, page after page


def test_all_pages_are_fetched_unless_one_is_wanted() -> None:
    def page(arguments: dict[str, Any]) -> Any:
        first = int(arguments.get("after", 0))
        names = [{"name": f"r{k:03}"} for k in range(first, min(first + 3, 8))]
        return typed({"repos": names, "pageInfo": {"endCursor": str(first + 3), "hasNextPage": first + 3 < 8}})

    service = service_of("list_repos", REPOS, page)
    frame = ask(service, "list_repos")
    assert list(frame["repository"]) == [f"r{k:03}" for k in range(8)]
    assert (frame.attrs["status"], len(service.calls)) == ("complete", 3)
    part = ask(service, "list_repos", limit=3)
    assert (len(part), part.attrs["status"], part.attrs["end_cursor"]) == (3, "partial", "3")


def file_of(lines: int, max_lines: int, *, honest: bool = True) -> Any:
    """A service that gives `most` lines of a file at once."""

    def reply(arguments: dict[str, Any]) -> Any:
        first, last = arguments.get("startLine", 1), min(arguments.get("endLine", lines), lines)
        if last - first + 1 > max_lines:
            return text(f"file is too large ({lines} lines), use startLine and endLine", error=True)
        content = "".join(f"{k}: line {k}\n" for k in range(first, last + 1))
        total = {"totalLines": lines} if honest else {}
        return typed({"content": content if honest else f"{content}{last + 1}: ", "url": BLOB, **total})

    return reply


@pytest.mark.parametrize("honest", [True, False])
def test_a_large_file_is_read_in_parts(honest: bool) -> None:  # noqa: FBT001 - a parameter of the test
    service = service_of("read_file", READ, file_of(2_500, 700, honest=honest))
    frame = ask(service, "read_file", "r/x", "a b.go")
    assert list(frame["line_number"]) == list(range(1, 2_501))
    assert frame["line"].iloc[-1] == "line 2500"
    assert frame.attrs["status"] == "complete"
    frame = ask(service, "read_file", "r/x", "a b.go", 100, 1_200)
    assert (frame["line_number"].iloc[0], frame["line_number"].iloc[-1]) == (100, 1_200)


def test_a_file_that_is_cut_with_a_notice_is_read_to_its_end() -> None:
    def reply(arguments: dict[str, Any]) -> Any:
        first, last = arguments.get("startLine", 1), min(arguments.get("endLine", 200), 450)
        content = "".join(f"{k}: x\n" for k in range(first, last + 1))
        return typed({"content": content, "url": BLOB, "totalLines": 450, "truncated": "endLine" not in arguments})

    frame = ask(service_of("read_file", READ, reply), "read_file", "r/x", "a b.go")
    assert list(frame["line_number"]) == list(range(1, 451))
    assert frame.attrs["status"] == "complete"


DIFFS = schema("repos", "pattern", repos="array", pattern="string")
REVISIONS = schema("repo", "base", "head", repo="string", base="string", head="string")
HUNK = "@@ -0,0 +1 @@\n+lift the gate\n"


@pytest.mark.parametrize(
    ("error", "lines"),
    [("rate limit exceeded, try again", 0), ("unknown revision or path not in the working tree", 1)],
)
def test_a_commit_is_compared_with_nothing_only_if_it_has_no_parent(error: str, lines: int) -> None:
    """After another error, all lines of the repository would count as added by this commit."""
    commit = {"repo": "r", "oid": "a" * 40, "committerDate": "2026-01-01T00:00:00Z", "subject": "s", "filesLeftOut": 1}
    service = service_of("diff_search", DIFFS, lambda _: typed({"results": [{**commit, "files": []}]}))

    def compare(arguments: dict[str, Any]) -> Any:
        if arguments["base"].endswith("~1"):
            return text(error, error=True)
        return typed({"fileDiffs": [{"newPath": "gate.py", "patch": HUNK}]})

    service.tools = {**service.tools, "compare_revisions": (REVISIONS, compare)}
    with service.running() as url, sl.connect(url, "t") as client:
        answer = _call(client, "diff_search", repos=["r"], pattern="gate")
    assert answer.table.num_rows == lines
    assert answer.complete == (lines > 0)
    assert (error in " ".join(answer.notices)) == (lines == 0)


COMMITS = schema("repos", repos="array", after="string", before="string", count={"type": "integer", "maximum": 4})


def commits_of(dates: list[int]) -> Any:
    """A service with a commit at each of these minutes, newest first."""

    def reply(arguments: dict[str, Any]) -> Any:
        before = arguments.get("before", "9")
        all_of_them = [
            {
                "repo": arguments["repos"][0],
                "oid": f"{index:040x}",
                "authorName": "ada",
                "authorEmail": "ada@x",
                "authorDate": f"2026-01-01T0{index // 60}:{index % 60:02}:00+02:00",
                "committerDate": f"2026-01-01T0{index // 60}:{index % 60:02}:00Z",
                "subject": f"commit {k}",
                "body": "",
                "url": f"https://host/r/-/commit/{index:040x}",
            }
            for k, index in enumerate(sorted(dates, reverse=True))
        ]
        older = [c for c in all_of_them if c["committerDate"] < before]
        size = arguments.get("count", 4)
        return typed({"commits": older[:size], "limitHit": len(older) > size})

    return reply


def test_commits_are_walked_by_date_and_each_is_given_once() -> None:
    service = service_of("commit_search", COMMITS, commits_of(list(range(0, 30, 2))))
    with service.running() as url, sl.connect(url, "t") as client:
        answer = _call(client, "commit_search", repos=["r1", "r2"])
        rows = answer.table.to_pylist()
        assert (len(rows), answer.complete) == (30, True)
        dates = [r["commit_date"] for r in rows]
        assert dates == sorted(dates, reverse=True)
        assert len({(r["repository"], r["commit"]) for r in rows}) == 30
        assert (rows[0]["author_utc_offset_min"], rows[0]["commit_utc_offset_min"], rows[0]["message"]) == (
            120,
            0,
            "commit 0",
        )
        part = _call(client, "commit_search", repos=["r1"], count=6)
        assert (part.table.num_rows, part.complete) == (6, False)


def test_more_commits_of_one_second_than_a_page_holds_are_said_to_be_missing() -> None:
    same = service_of("commit_search", COMMITS, commits_of([]))

    def reply(arguments: dict[str, Any]) -> Any:
        rows = [
            {"repo": "r", "oid": f"{k:040x}", "committerDate": "2026-01-01T00:00:00Z", "subject": "s"} for k in range(9)
        ]
        rows = [r for r in rows if str(r["committerDate"]) < arguments.get("before", "9")]
        return typed({"commits": rows[:4], "limitHit": len(rows) > 4})

    same.tools = {"commit_search": (COMMITS, reply)}
    with same.running() as url, sl.connect(url, "t") as client:
        answer = _call(client, "commit_search", repos=["r"])
    assert not answer.complete
    assert "One second" in answer.notices[0]


# Faults


def test_errors_of_tools_have_their_types() -> None:
    messages = {
        "repository not found: r": sl.RepositoryNotFound,
        "revision not found: r@v1": sl.RevisionNotFound,
        "path not found in r@v1: a b.go": sl.PathNotFound,
        "path not found in r: a b.go; did you mean c?": sl.PathNotFound,
        "something else": sl.ToolError,
    }
    for words, kind in messages.items():
        with pytest.raises(kind, match=words.partition(";")[0]) as caught:
            ask(service_of("read_file", READ, text(words, error=True)), "read_file", "r", "a b.go")
        assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("status", "kind"), [(401, sl.Unauthorized), (403, sl.Forbidden), (404, sl.NotFound), (503, sl.ServiceError)]
)
def test_refusals_have_their_types_and_show_no_token(status: int, kind: type[Exception]) -> None:
    service = service_of("read_file", READ, text(""))
    service.refusal = (status, b"no: a-token")
    with pytest.raises(kind) as caught:
        ask(service, "read_file", "r", "p")
    assert type(caught.value) is kind
    displayed = "".join(traceback.format_exception(caught.value))
    assert "a-token" not in displayed
    assert "***" in displayed


def test_a_service_that_is_not_there_is_a_failed_connection() -> None:
    with (
        sl.connect("http://127.0.0.1:1", "t", check=False, **QUICK) as code,
        pytest.raises(sl.ConnectFailed, match=r"127\.0\.0\.1:1"),
    ):
        code.list_repos()


def test_something_else_than_mcp_is_said_to_be_that() -> None:
    service = service_of("read_file", READ, text(""))
    service.refusal = (200, b"<html>hello</html>")
    with pytest.raises(sl.ProtocolError, match="MCP"):
        ask(service, "read_file", "r", "p")


def test_a_fault_inside_a_tool_is_a_protocol_error_and_the_connection_lives() -> None:
    replies: list[Any] = [ValueError("secret detail"), FILE_FORMS["text"]]
    service = service_of("read_file", READ, lambda _: replies.pop(0))
    with service.running() as url, sl.connect(url, "t") as code:
        with pytest.raises(sl.ProtocolError) as caught:
            code.read_file("r/x", "a b.go", 3, 5)
        assert "secret detail" not in str(caught.value)
        assert len(code.read_file("r/x", "a b.go", 3, 5)) == 3
    assert service.listing == 1


@pytest.mark.clock
def test_an_interrupt_returns_at_once_and_hangs_up() -> None:
    service = service_of("read_file", READ, "wait")
    pressed = 0.0

    def look(snapshot: ProgressSnapshot) -> None:
        nonlocal pressed
        if snapshot.phase == "running" and snapshot.unit == "halfway" and not pressed:
            pressed = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    service.tools = {"read_file": (READ, lambda _: "wait")}
    with service.running() as url, sl.connect(url, "t") as code:
        with pytest.raises(KeyboardInterrupt):
            code.read_file("r", "p", progress=look)
        assert time.monotonic() - pressed < 0.3
        event = threading.Event()
        deadline = time.monotonic() + 5
        while not service.hung_up and time.monotonic() < deadline:
            event.wait(0.01)
        assert service.hung_up == ["read_file"]


def test_progress_of_the_service_arrives() -> None:
    seen: list[ProgressSnapshot] = []
    ask(service_of("read_file", READ, FILE_FORMS["text"]), "read_file", "r/x", "a b.go", 3, 5, progress=seen.append)
    assert seen[-1].phase == "complete"


def test_many_calls_share_one_connection() -> None:
    service = service_of("read_file", READ, FILE_FORMS["text"])
    with service.running() as url, sl.connect(url, "t") as code:
        frames: list[int] = []
        threads = [
            threading.Thread(target=lambda: frames.append(len(code.read_file("r/x", "a b.go", 3, 5)))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert frames == [3] * 8
    assert service.listing == 1
