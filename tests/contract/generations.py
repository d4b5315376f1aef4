"""Services of each generation, played from what their documentation and recorded answers show, over one repository.

`releases` of a case say which generations know it. ``5.x`` has the stream alone; ``6.8`` has tools named ``sg_…`` with
typed answers on ``/.api/mcp/v1``; ``7.0`` the full suite with typed answers; ``7.6`` answers with text, has a smaller
default suite, the full one on ``/.api/mcp/all``, and tools of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from backends.remote.scripted_tools import ScriptedTools, schema, text, typed

REPOSITORY = "git.example/kiosk"
COMMIT = "5f1d3c7a9b2e4d6081f3a5c7e9b1d3f507294b6d"
LINE_COUNT = 3_300
LINES = [f"{number:05} {'tide gauge ' * 4}" for number in range(1, LINE_COUNT + 1)]
assert sum(len(line) + 1 for line in LINES) > 128 * 1024

READ = schema("repo", "path", repo="string", path="string", startLine="integer", endLine="integer", revision="string")
LIST = schema("repo", repo="string", path="string", revision="string")
REPOS = schema("query", query="string", limit="integer")
QUERY = schema("query", query="string")
SYMBOL = schema("repo", "path", "symbol", repo="string", path="string", symbol="string", revision="string")
URL = f"https://host/{REPOSITORY}@{COMMIT}/-/blob/log.txt"

#: How releases have said, or might say, that a file is cut; the last says nothing at all.
CUT_NOTICES = (
    "(file truncated: use startLine and endLine to read more)",
    "File is larger than 128 KB. Showing lines 1-200 of the file.",
    "[... 3100 more lines ...]",
    "",
)


def _window(arguments: Mapping[str, Any]) -> tuple[int, int]:
    return int(arguments.get("startLine", 1)), min(int(arguments.get("endLine", LINE_COUNT)), LINE_COUNT)


def _numbered(first: int, last: int) -> str:
    return "".join(f"{number}: {LINES[number - 1]}\n" for number in range(first, last + 1))


def read_typed(arguments: dict[str, Any]) -> Any:
    """Of 2026's first months: above 128 KB an error that asks for a range; one line more than was asked for."""
    first, last = _window(arguments)
    if sum(len(line) + 1 for line in LINES[first - 1 : last]) > 128 * 1024:
        return text("file is too large (more than 128KB), use startLine and endLine", error=True)
    return typed({"content": f"{_numbered(first, last)}{last + 1}: ", "url": f"{URL}%3FL{first}-{last}"})


def read_text(notice: str) -> Callable[[dict[str, Any]], Any]:
    """Of 7.6: above 128 KB the first 200 lines of what was asked for, and a notice in the words of the release."""

    def reply(arguments: dict[str, Any]) -> Any:
        first, last = _window(arguments)
        large = sum(len(line) + 1 for line in LINES[first - 1 : last]) > 128 * 1024
        last = min(last, first + 199) if large else last
        tail = f"\n{notice}\n" if large and notice else ""
        return text(f"URL: {URL}\n{_numbered(first, last)}{tail}")

    return reply


def sse(*events: tuple[str, Any]) -> bytes:
    """A stream of events; a value that is bytes stands as it is."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (name.encode(), data if isinstance(data, bytes) else json.dumps(data).encode())
        for name, data in events
    )


def progress(matches: int, *, done: bool = True, skipped: tuple[Any, ...] = ()) -> tuple[str, Any]:
    """A progress event; the last of a search unless `done` is False."""
    return "progress", {"done": done, "matchCount": matches, "durationMs": 7, "skipped": list(skipped)}


def content(path: str = "log.txt", line: str = "tide", number: int = 3, **fields: Any) -> dict[str, Any]:
    """A content match with one matched line."""
    return {
        "type": "content",
        "path": path,
        "repositoryID": 7,
        "repository": REPOSITORY,
        "branches": [""],
        "commit": COMMIT,
        "hunks": None,
        "lineMatches": [{"line": line, "lineNumber": number, "offsetAndLengths": [[0, 4]]}],
        **fields,
    }


_REPOSITORIES = sse(
    ("matches", [{"type": "repo", "repository": REPOSITORY, "repositoryID": 7}]), progress(1), ("done", {})
)


def service(release: str, **options: Any) -> ScriptedTools:
    """A service of a release, with the tools of the documents of its time."""
    notice = options.pop("notice", CUT_NOTICES[0])
    search = options.pop("stream", lambda _: sse(("error", {"message": "no search today"}), ("done", {})))
    options["stream"] = lambda query: _REPOSITORIES if "type:repo" in query["q"] else search(query)
    suite: dict[str, Any] = {
        "read_file": (READ, read_text(notice) if release == "7.6" else read_typed),
        **options.pop("tools", {}),
    }
    if release == "5.x":
        return ScriptedTools({}, paths=(), **options)
    if release == "6.8":
        return ScriptedTools({f"sg_{name}": tool for name, tool in suite.items()}, paths=("/.api/mcp/v1",), **options)
    if release == "7.0":
        return ScriptedTools(suite, **options)
    every = {**suite, **options.pop("on_all", {})}
    deepsearch = options.pop("deepsearch", {})
    return ScriptedTools(suite, elsewhere={"/.api/mcp/all": every, "/.api/mcp/deepsearch": deepsearch}, **options)
