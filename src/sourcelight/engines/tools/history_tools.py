"""The tools about history: `commit_search`, `diff_search`, `compare_revisions`, `get_contributor_repos`.

The work stands in `sourcelight.engines.tools.history`, which loads with the first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.engines.tools.context import Arguments, Tool, ToolContext
from sourcelight.engines.tools.handler import PartialResult, SplitHandler

_ROOM = "sourcelight.engines.tools.history"
_SERVED_COUNTS = {"commit_search": ("count", 100), "diff_search": ("count", 50), "compare_revisions": ("first", 100),
                  "get_contributor_repos": ("limit", 100)}  # fmt: skip
_SERVED_AUTHORS = 5


def _work(module: str, name: str) -> Any:
    return getattr(import_module(f"{_ROOM}.{module}"), name)


def _tool(
    name: str,
    title: str,
    description: str,
    properties: Mapping[str, Any],
    required: list[str],
    place: tuple[str, str, str],
) -> Tool:
    module, run, render = place

    def running(arguments: Arguments, context: ToolContext) -> ToolResult:
        if context.served:
            _check_limits(name, arguments)
        answer: ToolResult = _work(module, run)(arguments, context)
        return answer

    def rendering(answer: ToolResult, context: ToolContext) -> tuple[dict[str, Any], str]:
        rendered: tuple[dict[str, Any], str] = _work(module, render)(answer, context)
        return rendered

    def steps() -> Any:
        work = _work(module, run)
        if not isinstance(work, SplitHandler):
            return None

        def part(arguments: Arguments, context: ToolContext) -> PartialResult:
            if context.served:
                _check_limits(name, arguments)
            return work.part(arguments, context)

        return SplitHandler(part, work.join)

    schema = {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
    return Tool(name, title, description, schema, running, rendering, steps=steps)


def _check_limits(name: str, arguments: Arguments) -> None:
    argument, most = _SERVED_COUNTS[name]
    value = arguments.get(argument)
    if value is not None and value > most:
        raise ToolError(f"{name}: {argument} is {value}; it has to be 1 to {most}", tool=name, argument=argument)
    authors = arguments.get("authors", ())
    if name == "get_contributor_repos" and len(authors) > _SERVED_AUTHORS:
        message = f"{name}: authors has {len(authors)} items; at most {_SERVED_AUTHORS} are taken"
        raise ToolError(message, tool=name, argument="authors")


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_REPOS = _texts("Exact names of the repositories, such as github.com/owner/name; list_repos finds them.")
_REVISIONS = _texts(
    "Branches, tags or commits: what is behind any of them is searched, but not what is behind one with ^ before it. "
    "Default: the default branch. Example: v2.0 and ^v1.0."
)
_AFTER = {
    "type": "string",
    "description": "Only commits after this committer date: 2024-06-28, 2024-06-28T15:00:00Z, yesterday, 2 weeks ago.",
}
_BEFORE = {"type": "string", "description": "Only commits before this committer date; forms as for after."}
_USE_REGEX = {
    "type": "boolean",
    "description": "Read texts as RE2 regular expressions with regard to case; default: literal, in any case.",
}
_FILES = _texts("Globs (src/**/*.py, *.md) or path prefixes (docs/); the file has it as its new or old name.")
_AUTHORS = _texts("Parts of the author's name or address; any of them counts.")


def _count(of: str, default: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": f"Most {of} to give; default {default}, at most {most}."}


TOOLS: tuple[Tool, ...] = (
    _tool(
        "commit_search",
        "Search commits",
        "Find commits by words in their messages, by author, by text in the lines they changed, by files and by date; "
        "newest first. Values of one list are alternatives; different lists must all hold. Use it to learn when and "
        "why something was done. For the changed lines themselves use diff_search; for all that differs between two "
        "versions use compare_revisions. Example: repos [github.com/owner/name], messageTerms [fix, bug], authors "
        "[ada@example.org], after 3 months ago.",
        {
            "repos": _REPOS,
            "messageTerms": _texts("Texts in the commit message; any of them counts."),
            "authors": _AUTHORS,
            "contentTerms": _texts("Texts in an added or removed line; any of them counts."),
            "files": _FILES,
            "after": _AFTER,
            "before": _BEFORE,
            "count": _count("commits", 50, 100),
            "useRegex": _USE_REGEX,
            "revisions": _REVISIONS,
        },
        ["repos"],
        ("commits", "search_commits", "render_commits"),
    ),
    _tool(
        "diff_search",
        "Search changed lines",
        "Find added and removed lines that match a text, with the hunks around them; newest commit first. Messages "
        "are not searched, and merges have no changes of their own. Use it to find when code appeared or vanished: "
        "set added or removed for one side. For code as it is now use keyword_search. Example: pattern TODO, repos "
        "[github.com/owner/name], removed true, author ada.",
        {
            "pattern": {"type": "string", "minLength": 1, "description": "Text to find within one changed line."},
            "repos": _REPOS,
            "added": {"type": "boolean", "description": "Look at added lines only; with removed too: at both."},
            "removed": {"type": "boolean", "description": "Look at removed lines only; with added too: at both."},
            "author": {"type": "string", "description": "Part of the author's name or address."},
            "authors": _AUTHORS,
            "files": _FILES,
            "after": _AFTER,
            "before": _BEFORE,
            "count": _count("commits", 20, 50),
            "useRegex": _USE_REGEX,
            "revisions": _REVISIONS,
            "changes": {
                "type": "string",
                "enum": ["lines", "count"],
                "description": "lines: a matching line was added or removed (default). count: the number of matches in "
                "the file went up or down, so that moved lines do not count.",
            },
        },
        ["pattern", "repos"],
        ("diffs", "search_diffs", "render_diffs"),
    ),
    _tool(
        "compare_revisions",
        "Compare two revisions",
        "Show what differs between two revisions, file by file, as git's diff does. For one commit give base as "
        "<commit>~1 and head as <commit>. Large comparisons come in pages: pass endCursor back as after. To find "
        "commits use commit_search first.",
        {
            "repo": {"type": "string", "minLength": 1, "description": "Name of the repository."},
            "base": {
                "type": "string",
                "minLength": 1,
                "description": "Older branch, tag or commit; ~2 or ^ may follow.",
            },
            "head": {
                "type": "string",
                "minLength": 1,
                "description": "Newer branch, tag or commit; ~2 or ^ may follow.",
            },
            "first": _count("files", 50, 100),
            "after": {"type": "string", "description": "endCursor of the page before."},
        },
        ["repo", "base", "head"],
        ("comparison", "compare_revisions", "render_comparison"),
    ),
    _tool(
        "get_contributor_repos",
        "Find where someone contributes",
        "List the repositories in which someone has commits, with how many and from when to when; most commits first. "
        "Use it to learn who knows what. The name or address may be given in part and in any case.",
        {
            "author": {"type": "string", "minLength": 1, "description": "Part of the author's name or address."},
            "authors": _texts("Several of them, any of which counts; at most 5."),
            "limit": _count("repositories", 20, 100),
            "minCommits": {
                "type": "integer",
                "minimum": 1,
                "description": "Fewest commits of a repository; default 1.",
            },
            "useRegex": _USE_REGEX,
        },
        [],
        ("commits", "contributor_repos", "render_contributor_repos"),
    ),
)
