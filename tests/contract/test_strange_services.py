"""Services that behave oddly: nothing that may lack something is called complete, and no row is lost without a word."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
import pytest

import sourcelight as sl
from backends.remote.scripted_tools import ScriptedTools, schema, text, typed
from contract.generations import LIST, QUERY, READ, REPOS, REPOSITORY, SYMBOL, content, progress, sse
from contract.test_generations import client_of
from sourcelight.core.errors import ProtocolError, SearchFailed, ServiceError, SourcelightError, StreamBroken
from sourcelight.testing.scripted_service import RESET, ScriptedReply, ScriptedService

QUICK: dict[str, Any] = {"backoff_s": 0.001, "connect_timeout_s": 5.0, "retries": 1, "idle_timeout_s": 5.0}
_VALUES = [content(path=f"{number}.txt", line="tide \u706f") for number in range(3)]
MATCHES = ("matches", json.dumps(_VALUES, ensure_ascii=False).encode())
DONE: tuple[str, Any] = ("done", {})
FULL = sse(MATCHES, progress(3), DONE)
_CUT = FULL.index("\u706f".encode()) + 1
_REVERSED = {
    "content": "tide",
    "contentStart": {"offset": 0, "line": 0, "column": 0},
    "ranges": [{"start": {"offset": 4, "line": 0, "column": 4}, "end": {"offset": 1, "line": 0, "column": 1}}],
}
_DEFINITIONS = {"type": "symbol", "path": "a.go", "repository": REPOSITORY}
_TIMED_OUT = {"reason": "shard-timeout", "title": "1 timed out", "message": "", "severity": "warn"}


def final(**fields: Any) -> tuple[str, Any]:
    return "progress", {"done": True, "matchCount": 3, "durationMs": 1, "skipped": []} | fields


def chunked(data: bytes, size: int) -> ScriptedReply:
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    steps = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    return ScriptedReply([*steps, b"0\r\n\r\n"], headers={"Transfer-Encoding": "chunked"})


def packed(*members: bytes) -> ScriptedReply:
    return ScriptedReply(list(members), headers={"Content-Encoding": "gzip"})


WHOLE = {
    "cut inside a character": ScriptedReply([FULL[:_CUT], FULL[_CUT:]]),
    "chunks of a byte": chunked(FULL, 1),
    "gzip": packed(gzip.compress(FULL)),
    "gzip in members": packed(gzip.compress(sse(MATCHES)), gzip.compress(sse(progress(3)) + sse(DONE))),
    "gzip in members at once": packed(gzip.compress(sse(MATCHES)) + gzip.compress(sse(progress(3), DONE))),
    "gzip in members, cut": packed(
        (both := gzip.compress(sse(MATCHES)) + gzip.compress(sse(progress(3), DONE)))[: len(both) // 2 + 1],
        both[len(both) // 2 + 1 :],
    ),
    "gzip with padding": packed(gzip.compress(FULL) + b"\0" * 50),
    "comments": ScriptedReply([b": keep\n\n" * 50 + FULL.replace(b"\n\n", b"\n\n: ping\n\n")]),
    "ids and retries": ScriptedReply([b"retry: 10\nid: 4\n\n" + FULL]),
    "final statistics twice": ScriptedReply([sse(MATCHES, progress(3), progress(3), DONE)]),
    "done without data": ScriptedReply([sse(MATCHES, progress(3)) + b"event: done\n\n"]),
    "a reset after done": ScriptedReply([FULL, RESET]),
    "odd filters and alerts": ScriptedReply([sse(("filters", {"a": 1}), MATCHES, final(), ("alert", None), DONE)]),
}
LIMITED = {
    "no statistics": (ScriptedReply([sse(MATCHES, DONE)]), "no-final-progress"),
    "nothing but done": (ScriptedReply([sse(DONE)]), "no-final-progress"),
    "statistics after the final ones": (
        ScriptedReply([sse(MATCHES, progress(3), progress(3, done=False), DONE)]), "no-final-progress",
    ),
    "a smaller count later": (ScriptedReply([sse(MATCHES, progress(100), progress(0), DONE)]), "97 matches of 100"),
    "a larger count before": (
        ScriptedReply([sse(MATCHES, progress(50, done=False), progress(3), DONE)]), "47 matches of 50",
    ),
    "a reason taken back": (
        ScriptedReply([sse(MATCHES, progress(3, skipped=(_TIMED_OUT,)), progress(3), DONE)]), "shard-timeout",
    ),
    "a count as text": (ScriptedReply([sse(MATCHES, final(matchCount="77"), DONE)]), "74 matches of 77"),
    "a count with a point": (ScriptedReply([sse(MATCHES, final(matchCount=77.0), DONE)]), "74 matches of 77"),
    "skipped is an object": (ScriptedReply([sse(MATCHES, final(skipped=_TIMED_OUT), DONE)]), "shard-timeout"),
    "skipped are texts": (ScriptedReply([sse(MATCHES, final(skipped=["shard-timeout"]), DONE)]), "shard-timeout"),
    "skipped without a reason": (ScriptedReply([sse(MATCHES, final(skipped=[{"title": "2 late"}]), DONE)]), "2 late"),
    "matches is an object": (ScriptedReply([sse(("matches", _VALUES[0]), progress(1), DONE)]), "unreadable-match"),
    "a match is null": (ScriptedReply([sse(("matches", [None, *_VALUES]), progress(4), DONE)]), "unreadable-match"),
    "a range that ends before it starts": (
        ScriptedReply([sse(("matches", [content(lineMatches=None, chunkMatches=[_REVERSED])]), progress(1), DONE)]),
        "unreadable-match",
    ),
    "definitions without a name": (
        ScriptedReply([sse(("matches", [_DEFINITIONS | {"symbols": [None, {"kind": "CLASS"}]}]), progress(2), DONE)]),
        "no name of a definition",
    ),
    "no definitions": (
        ScriptedReply([sse(("matches", [_DEFINITIONS | {"symbols": None}]), progress(0), DONE)]),
        "no name of a definition",
    ),
    "a commit of nothing": (
        ScriptedReply([sse(("matches", [{"type": "commit", "repository": "r", "oid": 5}]), progress(1), DONE)]),
        "no commit",
    ),
    "a name in capitals": (ScriptedReply([sse(("Matches", _VALUES), MATCHES, progress(6), DONE)]), "3 matches of 6"),
}  # fmt: skip
BROKEN: Mapping[str, tuple[ScriptedReply, type[SourcelightError], int]] = {
    "no done": (ScriptedReply([sse(MATCHES, progress(3))]), StreamBroken, 3),
    "a reset": (ScriptedReply([sse(MATCHES, progress(3)), RESET]), StreamBroken, 3),
    "a short body": (ScriptedReply([FULL], headers={"Content-Length": str(len(FULL) - 30)}), StreamBroken, 3),
    "an error": (ScriptedReply([sse(("error", {"message": "lost"}), MATCHES, progress(3), DONE)]), SearchFailed, 3),
    "nothing": (ScriptedReply([]), StreamBroken, 0),
    "no content": (ScriptedReply([], status=204), ServiceError, 0),
    "not modified": (ScriptedReply([], status=304), ServiceError, 0),
    "a page": (ScriptedReply([b"<html></html>"], headers={"Content-Type": "text/html"}), ProtocolError, 0),
    "a page called a stream": (ScriptedReply([b"<html>\n\nevent: don\n\n</html>"]), StreamBroken, 0),
    "an array": (ScriptedReply([b"[]"], headers={"Content-Type": "application/json"}), ProtocolError, 0),
    "another coding": (ScriptedReply([FULL], headers={"Content-Encoding": "br"}), ProtocolError, 0),
}


@pytest.mark.parametrize("form", WHOLE)
def test_odd_streams_are_read_whole(form: str) -> None:
    with ScriptedService(WHOLE[form]) as played, sl.connect(played.url, "t", check=False, **QUICK) as code:
        result = code.search("tide count:all")
    assert (result.status, len(result.matches), len(result.other)) == ("complete", 3, 0)
    assert set(result.matches["line"]) == {"tide \u706f"}


@pytest.mark.parametrize("form", LIMITED)
def test_streams_that_may_lack_something_are_limited(form: str) -> None:
    reply, reason = LIMITED[form]
    with ScriptedService(reply) as played, sl.connect(played.url, "t", check=False, **QUICK) as code:
        result = code.search("tide count:all")
    assert result.status == "limited"
    assert reason in " ".join(result.reasons)


@pytest.mark.parametrize("form", BROKEN)
def test_broken_streams_raise_and_keep_their_rows(form: str) -> None:
    reply, kind, rows = BROKEN[form]
    with (
        ScriptedService(reply) as played,
        sl.connect(played.url, "t", check=False, **QUICK) as code,
        pytest.raises(kind) as raised,
    ):
        code.search("tide count:all")
    assert raised.value.result is not None
    assert len(raised.value.result.matches) == rows
    assert raised.value.result.status == "failed"


_TEXTS = {"type": "array", "items": {"type": "string"}}
SCHEMAS: Mapping[str, dict[str, Any]] = {
    "read_file": READ,
    "list_files": LIST,
    "list_repos": REPOS,
    "nls_search": QUERY,
    "go_to_definition": SYMBOL,
    "find_references": SYMBOL,
    "commit_search": schema("repos", repos=_TEXTS, messageTerms=_TEXTS, count="integer"),
    "diff_search": schema("pattern", "repos", pattern="string", repos=_TEXTS, count="integer"),
    "compare_revisions": schema("repo", "base", "head", repo="string", base="string", head="string", first="integer"),
    "get_contributor_repos": schema("author", author="string", limit="integer"),
}
CALLS: Mapping[str, Callable[[sl.Client], Any]] = {
    "read_file": lambda code: code.read_file(REPOSITORY, "log.txt"),
    "list_files": lambda code: code.list_files(REPOSITORY),
    "list_repos": lambda code: code.list_repos(""),
    "nls_search": lambda code: code.nls_search("tide"),
    "go_to_definition": lambda code: code.go_to_definition(REPOSITORY, "a.py", "f"),
    "find_references": lambda code: code.find_references(REPOSITORY, "a.py", "f"),
    "commit_search": lambda code: code.commit_search([REPOSITORY], message_terms=["x"]),
    "diff_search": lambda code: code.diff_search("x", [REPOSITORY]),
    "compare_revisions": lambda code: code.compare_revisions(REPOSITORY, "a", "b"),
    "get_contributor_repos": lambda code: code.get_contributor_repos(["ada"]),
}
_IMAGE = types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")
_LINK = types.ResourceLink(type="resource_link", name="rows", uri="https://host/rows.csv")
_LISTS = ("files", "repos", "blocks", "commits", "results", "fileDiffs", "definitions", "references")


def text_block(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def blocks(*content: Any, structured: Mapping[str, Any] | None = None) -> types.CallToolResult:
    structured = None if structured is None else dict(structured)
    return types.CallToolResult(content=list(content), structured_content=structured)


ODD_ANSWERS: Mapping[str, Callable[[], types.CallToolResult]] = {
    "an image": lambda: blocks(_IMAGE),
    "a link": lambda: blocks(_LINK),
    "nothing and an image": lambda: blocks(text_block("No results found."), _IMAGE),
    "no content": blocks,
    "an empty text": lambda: blocks(text_block("")),
    "an empty object": lambda: blocks(text_block("{}"), structured={}),
    "another object": lambda: blocks(text_block('{"answer": 42}'), structured={"answer": 42}),
    "null": lambda: blocks(text_block("null")),
    "an error page": lambda: blocks(text_block("<html><body><h1>502 Bad Gateway</h1></body></html>")),
    "texts in place of lists": lambda: typed(dict.fromkeys(_LISTS, "oops") | {"content": 7}),
    "nulls in lists": lambda: typed({key: [None, 3] for key in _LISTS}),
    "other types inside": lambda: typed({key: [{"chunks": 4, "commits": []}] for key in _LISTS}),
    "a service that rebuilds": lambda: text("The search index is being rebuilt, try again later."),
    "a backend that is away": lambda: text("No response from the search backend, results may be missing."),
    "a timeout": lambda: text("No files could be searched because the backend timed out."),
}


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.parametrize("form", ODD_ANSWERS)
def test_odd_answers_of_tools_are_never_complete(form: str) -> None:
    reply = ODD_ANSWERS[form]
    tools = {name: (arguments, lambda _: reply()) for name, arguments in SCHEMAS.items()}
    played = ScriptedTools(tools, stream=lambda _: sse(("error", {"message": "no search today"}), DONE))
    with client_of(played) as code:
        frames = {name: ask(code) for name, ask in CALLS.items()}
    for name, frame in frames.items():
        assert frame.attrs["status"] in {"limited", "unparsed"}, name
        assert frame.attrs["notices"], name


def test_an_embedded_file_is_read_as_text() -> None:
    answer = f"# {REPOSITORY} \u2013 gauge.go\n3: tide\n"
    resource = types.TextResourceContents(uri="file:///answer", mime_type="text/plain", text=answer)
    reply = blocks(types.EmbeddedResource(type="resource", resource=resource))
    with client_of(ScriptedTools({"nls_search": (QUERY, lambda _: reply)})) as code:
        frame = code.nls_search("tide")
    assert frame[["repository", "path", "chunk"]].to_dict("records") == [
        {"repository": REPOSITORY, "path": "gauge.go", "chunk": "tide"}
    ]
    assert frame.attrs["status"] == "complete"


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.parametrize("form", ["an image", "nothing and an image", "no content", "an empty text"])
def test_a_tool_of_the_service_alone_says_what_was_not_read(form: str) -> None:
    reply = ODD_ANSWERS[form]
    with client_of(ScriptedTools({"code_finder": (QUERY, lambda _: reply())})) as code:
        frame = code.tools.code_finder("tide")
    assert frame.attrs["status"] == "limited"


@pytest.mark.parametrize("words", ["No results.\n\nNo results found.\n", "No files found", "no matching commits"])
def test_nothing_is_an_answer(words: str) -> None:
    with client_of(ScriptedTools({"nls_search": (QUERY, lambda _: text(words))})) as code:
        frame = code.nls_search("tide")
    assert (frame.attrs["status"], len(frame)) == ("complete", 0)
