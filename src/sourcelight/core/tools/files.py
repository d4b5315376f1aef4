"""Tools about files, repositories and text: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.merge import Merge, found_chunks
from sourcelight.core.tools.tool import (
    Arguments,
    Cursor,
    Limit,
    McpText,
    Number,
    Repo,
    Revision,
    Scope,
    Text,
    Tool,
    describe,
)

_REPOSITORY = Column("repository", "dict32", "name of the repository")
_REVISION = Column("revision", "dict32", "requested revision; empty for the default branch")
_COMMIT = Column("commit", "dict32", "resolved commit, 40 hex digits", "not provided by the service")

UNPARSED = "unparsed"
"""Columns of the text of a service that the client can't parse, whatever the tool."""

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    UNPARSED: (Column("text", "string", "text of the service, which this version of the client can't parse"),),
    "files": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        Column("path", "string", "path in the repository; directories end with /; invalid UTF-8 as U+FFFD"),
        Column("is_directory", "bool", "whether it is a directory or a submodule"),
        Column("kind", "dict8", "file, directory, symlink or submodule", "not provided by the service"),
    ),
    "file_lines": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD"),
        Column("line_number", "int32", "1-based line in the file"),
        Column("line", "string", "text of the line without its newline; invalid UTF-8 as U+FFFD"),
    ),
    "repository_list": (
        _REPOSITORY,
        Column("repository_id", "int64", "its number at the service", "not provided by the service"),
        Column("stars", "int64", "stars at its code host; 0 when unknown", unit="stars"),
        Column("description", "string", "description by its owner; may be empty"),
        Column("fork", "bool", "whether it is a fork", "not provided by the service"),
        Column("archived", "bool", "whether it is archived", "not provided by the service"),
        Column("private", "bool", "whether access to it is restricted", "not provided by the service"),
        Column("topics", "strings", "topics given to it"),
        Column("last_fetched", "timestamp", "when it was last brought up to date, UTC", "unknown"),
        Column("commit", "string", "commit that a search of the default revision reads", "not provided by the service"),
        Column("url", "string", "where its code host shows it", "unknown"),
    ),
    "found_chunks": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD"),
        Column("start_line", "int32", "1-based line on which the chunk starts", "only the path matched"),
        Column("end_line", "int32", "1-based line on which the chunk ends", "only the path matched"),
        Column("chunk", "string", "the matched lines with those around them", "only the path matched"),
        Column(
            "match_count",
            "int32",
            "matches in the chunk; 0 when only the path matched",
            "not provided by the service",
            unit="matches",
        ),
        Column("score", "float64", "rank of the chunk, higher is better", "not a ranked search"),
        Column("truncated", "bool", "whether a limit truncated the chunk or one of its lines"),
        Column("chunks_left_out", "int32", "chunks of the same file that a limit left out", unit="chunks"),
        Column("url", "string", "address of the file at the service, or relative to it"),
    ),
}

DEFAULT_PAGE = 50
"""Repositories in one answer over MCP, unless the caller asks for another number."""

BEST_PLACES = 10
"""Places that `nls_search` of a client gives unless it is asked for more or fewer."""

_FILTERS = (
    "Filters take regexes: repo:^github\\.com/owner/name$, file:\\.go$, -file:test; rev: takes a branch, tag or commit "
    "beside repo:. The best 15 files, 3 places each."
)


class ReadFileArguments(Arguments, frozen=True):
    """Arguments of `read_file`."""

    repo: Repo
    path: Annotated[Text, describe("Path of the file in the repository.")]
    start_line: Annotated[
        Number | None, describe("First line to give, counted from 1. Without it: the first of the file.")
    ] = None
    end_line: Annotated[
        Number | None, describe("Last line to give, itself included. Without it: the last of the file.")
    ] = None
    revision: Revision = None


class ListFilesArguments(Arguments, frozen=True):
    """Arguments of `list_files`."""

    repo: Repo
    path: Annotated[str | None, describe("Path of the directory. Without it: the top of the repository.")] = None
    revision: Revision = None
    after: Annotated[Cursor | None, Meta(description="endCursor of a page.")] = None


class ListReposArguments(Arguments, frozen=True):
    """Arguments of `list_repos`."""

    query: Annotated[
        str,
        describe("Text that the name must contain; upper and lower case are the same. No regular expression."),
    ]
    limit: Annotated[
        Annotated[Limit, Meta(le=10_000)] | None,
        describe(f"Most repositories in one answer; {DEFAULT_PAGE} without it."),
    ] = None
    after: Annotated[Cursor | None, Meta(description="endCursor of a page.")] = None
    before: Annotated[Cursor | None, Meta(description="startCursor of a page.")] = None


class KeywordSearchArguments(Arguments, frozen=True):
    """Arguments of `keyword_search`."""

    query: Annotated[
        Text,
        describe(
            "Terms and filters, such as: repo:owner/name file:\\.go$ parseConfig, or (repo:a OR repo:b) "
            '"not found" /err(or)?/.'
        ),
    ]


class NlsSearchArguments(Arguments, frozen=True):
    """Arguments of `nls_search`."""

    query: Annotated[
        Text,
        describe("A few words about the code to find, and filters, such as: repo:owner/name retry failed requests."),
    ]
    limit: Annotated[
        Annotated[Limit, Meta(le=1000)] | None,
        describe(
            "Maximum number of places, best first, of any files; up to 5 are complete, more are cut less than without "
            "it. Without it: 15 files of 3 places each, cut at 1,024 characters."
        ),
    ] = None


READ_FILE = Tool(
    name="read_file",
    arguments=ReadFileArguments,
    columns="file_lines",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Read a file",
        "Read a text file, or its lines startLine to endLine, with line numbers; above 131,072 bytes only by lines. "
        "Use it when the path is known; keyword_search finds text. Example: path "
        "src/app.py, startLine 10, endLine 60.",
    ),
    immediate=True,
)
LIST_FILES = Tool(
    name="list_files",
    arguments=ListFilesArguments,
    columns="files",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "List a directory",
        "List one directory: directories first (they end with /), then files, not recursive. Use it to look around; "
        "keyword_search with file: finds files by name. Example: path src.",
    ),
    immediate=True,
)
LIST_REPOS = Tool(
    name="list_repos",
    arguments=ListReposArguments,
    columns="repository_list",
    scope=Scope.CATALOG,
    mcp=McpText(
        "List repositories",
        "List repositories whose name contains a text (in any case, no regex; empty: all). Use it first: other tools "
        "need exact names. Not for files. Example: query owner/.",
    ),
    immediate=True,
)


KEYWORD_SEARCH = Tool(
    name="keyword_search",
    arguments=KeywordSearchArguments,
    columns="found_chunks",
    scope=Scope.SEARCH,
    mcp=McpText(
        "Find exact text",
        'Find files with all terms of a query in text or path, in any case. "Quoted text", /regex/, AND, OR, '
        f"parentheses. {_FILTERS} Use it when words of the code are known; nls_search takes descriptions. Example: "
        'repo:owner/name file:\\.py$ "not found" (raise OR return).',
    ),
    merge=Merge(found_chunks),
)
NLS_SEARCH = Tool(
    name="nls_search",
    arguments=NlsSearchArguments,
    columns="found_chunks",
    scope=Scope.RANKING,
    mcp=McpText(
        "Find code by a description",
        f"Find code by a description; words match in all forms, and some may be missing. {_FILTERS} Use it when the "
        "names in the code are unknown; a small limit gives complete places. keyword_search takes exact text. Example: "
        "query repo:owner/name retry failed requests, limit 5.",
    ),
    merge=Merge(found_chunks),
    reads="repositories",
)

TOOLS: tuple[Tool[Any], ...] = (READ_FILE, LIST_FILES, LIST_REPOS, KEYWORD_SEARCH, NLS_SEARCH)
