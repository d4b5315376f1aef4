"""Analyses of history: what clients offer beside the service's tools.

The work stands in `sourcelight.engines.tools.history`, which loads with the first call. Every answer names, in its
attribute ``drill_down``, the call that lists the commits behind a row; `sourcelight.core.batches.results` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.query.file_kinds import FILE_KINDS
from sourcelight.engines.tools.context import Analysis, Arguments, ToolContext
from sourcelight.engines.tools.handler import SplitHandler

_ROOM = "sourcelight.engines.tools.history"
_PERIODS = ["day", "week", "month", "quarter", "year"]


def _analysis(name: str, module: str, properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> Analysis:
    def work() -> Any:
        return getattr(import_module(f"{_ROOM}.{module}"), name)

    def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        answer: ToolResult = work()(arguments, context)
        return answer

    def steps() -> Any:
        found = work()
        return found if isinstance(found, SplitHandler) else None

    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    return Analysis(name, schema, run, steps)


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _texts(description: str, choices: list[str] | None = None) -> dict[str, Any]:
    items = {"type": "string"} | ({"enum": choices} if choices else {})
    return {"type": "array", "items": items, "description": description}


def _number(description: str, least: int = 1) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": description}


_REPO = _text("Name of the repository.", minLength=1)
_REPOS = _texts("Exact names of repositories; none: all.")
_PATH = _text("File or folder; none: everything.")
_REVISION = _text("Branch, tag or commit; none: the default branch.")
_REVISIONS = _texts(
    "Branches, tags or commits; what is behind any of them counts, but not what is behind one with ^ before it. "
    "None: the default branch."
)
_DATES = {
    "after": _text("Only commits after this committer date."),
    "before": _text("Only commits before this committer date."),
}
_MAILMAP = _text("Lines of a mailmap that join identities, beside the repository's own.")
_JOIN = {
    "type": "boolean",
    "description": "Take identities with the same address, whatever its case, for one person; default true.",
}
_PEOPLE = {"mailmap": _MAILMAP, "joinAddresses": _JOIN}
_FILE_KINDS = _texts("Kinds of files that count; none: all.", list(FILE_KINDS))
_DEPTH = _number("How many names deep folders are told apart; default 1.")
_LIMIT = _number("Most rows; none: all.")
_USE_REGEX = {"type": "boolean", "description": "Read the pattern as RE2 with regard to case."}
_EXACT = {"type": "boolean", "description": "Prove every line to be that of git blame, in two to three times the time."}
_FILES = _texts("Globs or path prefixes.")

_CHURN_BY = ["repository", "commit", "directory", "path", "file_kind", "author", *_PERIODS]

ANALYSES: tuple[Analysis, ...] = (
    _analysis(
        "blame",
        "blame",
        {"repo": _REPO, "path": _text("Path of the file.", minLength=1), "revision": _REVISION},
        ("repo", "path"),
    ),
    _analysis(
        "ownership",
        "blame",
        {
            "repo": _REPO,
            "path": _PATH,
            "revision": _REVISION,
            "by": _text("What lines are counted for.", enum=["total", "directory", "file"]),
            "depth": _DEPTH,
            "exact": _EXACT,
            "fileKinds": _FILE_KINDS,
            **_PEOPLE,
        },
        ("repo",),
    ),
    _analysis(
        "bus_factor",
        "blame",
        {
            "repo": _REPO,
            "path": _PATH,
            "revision": _REVISION,
            "depth": _DEPTH,
            "exact": _EXACT,
            "fileKinds": _FILE_KINDS,
            **_PEOPLE,
        },
        ("repo",),
    ),
    _analysis(
        "survival",
        "blame",
        {"repo": _REPO, "path": _PATH, "revision": _REVISION, "exact": _EXACT},
        ("repo",),
    ),
    _analysis(
        "contributors",
        "contributions",
        {
            "repos": _REPOS,
            "by": _texts("What is told apart beside authors.", ["repository", *_PERIODS]),
            **_DATES,
            "revisions": _REVISIONS,
            "fileKinds": _FILE_KINDS,
            **_PEOPLE,
        },
    ),
    _analysis(
        "churn",
        "contributions",
        {
            "repos": _REPOS,
            "by": _texts(
                "What is told apart; default: directory.",
                _CHURN_BY,
            ),
            "depth": _DEPTH,
            **_DATES,
            "revisions": _REVISIONS,
            "fileKinds": _FILE_KINDS,
            **_PEOPLE,
        },
    ),
    _analysis(
        "pickaxe",
        "diffs",
        {
            "pattern": _text("Text to find within one changed line.", minLength=1),
            "repos": _REPOS,
            "by": _texts("What is told apart; default: month.", ["repository", "author", *_PERIODS]),
            "files": _FILES,
            **_DATES,
            "useRegex": _USE_REGEX,
            "revisions": _REVISIONS,
            **_PEOPLE,
        },
        ("pattern",),
    ),
    _analysis(
        "hotspots",
        "hotspots",
        {
            "repos": _REPOS,
            "files": _FILES,
            **_DATES,
            "revisions": _REVISIONS,
            "limit": _LIMIT,
            "joinAddresses": _JOIN,
            "fileKinds": _FILE_KINDS,
        },
    ),
    _analysis(
        "coupling",
        "hotspots",
        {
            "repos": _REPOS,
            **_DATES,
            "revisions": _REVISIONS,
            "minCommits": _number("Fewest commits together; default 5."),
            "minDegree": {"type": "number", "minimum": 0, "maximum": 1, "description": "Least degree; default 0.3."},
            "maxFiles": _number("Commits with more files count for no pair; default 30.", 2),
            "fileKinds": _FILE_KINDS,
            "limit": _LIMIT,
        },
    ),
    _analysis(
        "commits_behind",
        "behind",
        {
            "repos": _REPOS,
            "of": _text("The analysis that the row is of.", enum=["churn", "hotspots", "coupling"]),
            "path": _text("The row's path."),
            "otherPath": _text("The row's other path, of coupling."),
            "directory": _text("The row's directory, of churn."),
            "fileKind": _text("The row's kind of file, of churn."),
            "authors": _texts("Names and addresses of the row's author."),
            "depth": _DEPTH,
            "files": _FILES,
            **_DATES,
            "revisions": _REVISIONS,
            "fileKinds": _FILE_KINDS,
            "maxFiles": _number("Commits with more files count for no pair; default 30.", 2),
        },
        ("repos", "of"),
    ),
    _analysis(
        "last_changes",
        "comparison",
        {"repo": _REPO, "paths": _texts("Paths of files."), "revision": _REVISION},
        ("repo", "paths"),
    ),
    _analysis("identities", "identities", {"repos": _REPOS, "mailmap": _MAILMAP}),
    _analysis("identity_suggestions", "identities", {"repos": _REPOS, **_PEOPLE}),
    _analysis(
        "commit_details",
        "comparison",
        {"repo": _REPO, "revision": _text("Commit, branch or tag.")},
        ("repo", "revision"),
    ),
)
