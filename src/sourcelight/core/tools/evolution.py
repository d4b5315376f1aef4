"""Tools about the evolution of one thing: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from sourcelight.core.batches.schema import AGENT, Column
from sourcelight.core.tools import commits
from sourcelight.core.tools.tool import Arguments, Limit, McpText, Revision, Scope, Text, Tool

_COMMIT_COLUMNS = (
    Column("subject", "dict32", "first paragraph of the message on one line"),
    commits.AUTHOR,
    commits.AUTHOR_EMAIL,
    Column("author_date", "timestamp", "author date, UTC"),
    Column("commit_date", "timestamp", "committer date, UTC"),
)
_MESSAGE_COLUMNS = (
    Column("message", "dict32", "whole commit message, without surrounding white space"),
    Column("references", "strings", "issues, requests and advisories that the message names, as written there"),
    commits.BOT,
    AGENT,
    Column("url", "dict32", "address of the commit at the service, or relative to it"),
)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "path_history": (
        commits.REPOSITORY,
        commits.COMMIT,
        *_COMMIT_COLUMNS,
        Column("status", "dict8", "added, deleted, modified, renamed or type changed"),
        Column("path", "dict32", "path of the file after the change (of a deleted file, before it), with /"),
        commits.OLD_PATH,
        Column("score", "int32", "likeness of a renamed file, percent", "another status"),
        Column("additions", "int64", "lines added; 0 for a binary file", commits.MISSING, unit="lines"),
        Column("deletions", "int64", "lines removed; 0 for a binary file", commits.MISSING, unit="lines"),
        *_MESSAGE_COLUMNS,
    ),
    "symbol_history": (
        commits.REPOSITORY,
        commits.COMMIT,
        *_COMMIT_COLUMNS,
        Column(
            "status",
            "dict8",
            "added, modified, moved (from another file), renamed (its name changed), or file renamed (its text did not "
            "change)",
        ),
        Column("symbol", "dict32", "qualified name after the change, with dots"),
        Column("old_symbol", "dict32", "qualified name before the change; the same unless moved or renamed"),
        Column("path", "dict32", "path of its file after the change, with /"),
        commits.OLD_PATH,
        Column("line_number", "int32", "1-based first line of the definition after the change"),
        Column("end_line", "int32", "1-based last line of the definition after the change"),
        Column(
            "score", "int32", "lines that both texts share, of the mean of both, percent", "neither moved nor renamed"
        ),
        Column("additions", "int64", "lines of the definition that were added", unit="lines"),
        Column("deletions", "int64", "lines of the definition that were removed", unit="lines"),
        *_MESSAGE_COLUMNS,
    ),
    "api_changes": (
        commits.REPOSITORY,
        Column("base", "dict32", "older commit, 40 hex digits"),
        Column("head", "dict32", "newer commit, 40 hex digits"),
        Column("language", "dict8", "Go, Java, Python or TypeScript"),
        Column("status", "dict8", "added, removed, changed (another signature), or moved (to another module)"),
        Column(
            "module",
            "dict32",
            "unit that other code imports: Python module, directory of a Go package, Java package, TypeScript file",
        ),
        Column("symbol", "string", "qualified name in the module, with dots"),
        Column("kind", "dict8", "kind of definition"),
        Column("signature", "string", "declaration in head, without body and values; overloads a line each", "removed"),
        Column("old_signature", "string", "declaration in base, likewise", "added"),
        Column("path", "dict32", "file in head", "removed"),
        Column("line_number", "int32", "1-based line of the name in head", "removed"),
        Column("old_path", "dict32", "file in base", "added"),
        Column("old_line_number", "int32", "1-based line of the name in base", "added"),
    ),
}


class ApiChangesArguments(Arguments, frozen=True):
    """Arguments of `api_changes`."""

    repo: commits.RepoName
    base: Annotated[Text, Meta(description="Older branch, tag or commit.")]
    head: Annotated[Text, Meta(description="Newer branch, tag or commit.")]
    path: Annotated[str | None, Meta(description="Directory or file to look at; none: all.")] = None


class PathHistoryArguments(Arguments, frozen=True):
    """Arguments of `path_history`."""

    repo: commits.RepoName
    path: Annotated[
        str,
        Meta(description="Path of a file or directory, as it is called at the revision; empty or .: all files."),
    ]
    revision: Revision = None
    limit: Annotated[Limit | None, Meta(description="Maximum number of changes, newest first; none: all.")] = None


class SymbolHistoryArguments(Arguments, frozen=True):
    """Arguments of `symbol_history`."""

    repo: commits.RepoName
    symbol: Annotated[
        Text, Meta(description="Name of the definition; Client.send or send:12, a line, tells one of several.")
    ]
    path: Annotated[str | None, Meta(description="File that has it at the revision; none: any file.")] = None
    revision: Revision = None
    limit: Annotated[Limit | None, Meta(description="Maximum number of changes, newest first; none: all.")] = None


PATH_HISTORY = Tool(name="path_history", arguments=PathHistoryArguments, columns="path_history", scope=Scope.REPOSITORY)

SYMBOL_HISTORY = Tool(
    name="symbol_history",
    arguments=SymbolHistoryArguments,
    columns="symbol_history",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Follow a definition",
        "List the commits that changed a function or class, also through moves between files and new names. Use it for "
        "who changed it, when and why; history_of is for any text. Example: symbol Client.send, limit 20.",
        suite="all",
    ),
)

API_CHANGES = Tool(
    name="api_changes",
    arguments=ApiChangesArguments,
    columns="api_changes",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Compare public interfaces",
        "List public symbols of Go, Java, Python or TypeScript that were added, removed, moved or got another "
        "signature between two revisions. Use it for what breaks callers; compare_revisions has the diff. Example: "
        "base v1.0, head v2.0.",
        suite="all",
    ),
)

TOOLS: tuple[Tool[Any], ...] = (PATH_HISTORY, SYMBOL_HISTORY, API_CHANGES)
