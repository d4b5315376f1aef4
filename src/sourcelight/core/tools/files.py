"""Tools about files, repositories and text: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.merge import Merge, found_chunks
from sourcelight.core.tools.tool import Arguments, Cursor, Limit, McpText, Number, Repo, Revision, Scope, Text, Tool

_REPOSITORY = Column("repository", "dict32", "name of the repository")
_REVISION = Column("revision", "dict32", "requested revision; empty for the default branch")
_COMMIT = Column("commit", "dict32", "resolved commit, 40 hex digits", "the service did not say")

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
        Column("kind", "dict8", "file, directory, symlink or submodule", "the service did not say"),
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
        Column("repository_id", "int64", "its number at the service", "the service did not say"),
        Column("stars", "int64", "stars at its code host; 0 when unknown", unit="stars"),
        Column("description", "string", "what its owner says of it; may be empty"),
        Column("fork", "bool", "whether it is a fork", "the service did not say"),
        Column("archived", "bool", "whether it is archived", "the service did not say"),
        Column("private", "bool", "whether only some may see it", "the service did not say"),
        Column("topics", "strings", "topics given to it"),
        Column("last_fetched", "timestamp", "when it was last brought up to date, UTC", "unknown"),
        Column("commit", "string", "commit that a search of the default revision reads", "the service did not say"),
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
            "the service did not say",
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


class ReadFileArguments(Arguments, frozen=True):
    """Arguments of `read_file`."""

    repo: Repo
    path: Annotated[Text, Meta(description="Path of the file in the repository.")]
    start_line: Annotated[
        Number | None, Meta(description="First line to give, counted from 1. Without it: the first of the file.")
    ] = None
    end_line: Annotated[
        Number | None, Meta(description="Last line to give, itself included. Without it: the last of the file.")
    ] = None
    revision: Revision = None


class ListFilesArguments(Arguments, frozen=True):
    """Arguments of `list_files`."""

    repo: Repo
    path: Annotated[str | None, Meta(description="Path of the folder. Without it: the top of the repository.")] = None
    revision: Revision = None
    after: Annotated[Cursor | None, Meta(description="endCursor of an earlier answer: what comes after it.")] = None


class ListReposArguments(Arguments, frozen=True):
    """Arguments of `list_repos`."""

    query: Annotated[
        str,
        Meta(
            description="Text that the name has to contain; upper and lower case are the same. No regular expression."
        ),
    ]
    limit: Annotated[
        Annotated[Limit, Meta(le=10_000)] | None,
        Meta(description=f"Most repositories in one answer; {DEFAULT_PAGE} without it."),
    ] = None
    after: Annotated[Cursor | None, Meta(description="endCursor of an earlier answer: what comes after it.")] = None
    before: Annotated[Cursor | None, Meta(description="startCursor of an earlier answer: what comes before it.")] = None


class KeywordSearchArguments(Arguments, frozen=True):
    """Arguments of `keyword_search`."""

    query: Annotated[
        Text,
        Meta(
            description="Terms and filters, such as: repo:owner/name file:\\.go$ parseConfig, or (repo:a OR repo:b) "
            '"not found" /err(or)?/.'
        ),
    ]


BEST_PLACES = 10
"""Places that `nls_search` of a client gives unless it is asked for more or fewer."""


class NlsSearchArguments(Arguments, frozen=True):
    """Arguments of `nls_search`."""

    query: Annotated[
        Text,
        Meta(
            description="What is looked for, in a few words, and filters, such as: repo:owner/name retry failed "
            "requests."
        ),
    ]
    limit: Annotated[
        Annotated[Limit, Meta(le=1000)] | None,
        Meta(description="Most places to give, the best first, of any files; 15 files of 3 places each without it."),
    ] = None


READ_FILE = Tool(
    "read_file",
    ReadFileArguments,
    "file_lines",
    Scope.REPOSITORY,
    McpText(
        "Read a file",
        "Read a text file of a repository, each line with its number. A file of more than 131,072 bytes has to be "
        "read in parts: give startLine and endLine. Use it for a file whose path is known, from a search or from "
        "list_files; to find text in many files use keyword_search.",
    ),
    immediate=True,
)
LIST_FILES = Tool(
    "list_files",
    ListFilesArguments,
    "files",
    Scope.REPOSITORY,
    McpText(
        "List a folder",
        "List what one folder of a repository holds: folders first (their paths end with /), then files. It does not "
        "go into folders; call it again with the path of one. To find files by name anywhere, use keyword_search with "
        "a file: filter.",
    ),
    immediate=True,
)
LIST_REPOS = Tool(
    "list_repos",
    ListReposArguments,
    "repository_list",
    Scope.CATALOG,
    McpText(
        "List repositories",
        "List the repositories whose name contains a text, by name. Use it first when the exact name of a repository "
        "is not known: the other tools need it. An empty text lists all of them.",
    ),
    immediate=True,
)

_FILTERS = (
    "Filters: repo: and file: take regular expressions (repo:^github\\.com/owner/name$ is exactly one repository), "
    "rev: takes a branch, tag or commit and needs a repo: beside it, and a - in front of repo: or file: leaves out "
    "what matches."
)
_LIMITS = "At most 15 files are given, the best first, and at most 3 places in each; narrow the query for others."

KEYWORD_SEARCH = Tool(
    "keyword_search",
    KeywordSearchArguments,
    "found_chunks",
    Scope.SEARCH,
    McpText(
        "Find exact text",
        "Find files that hold all terms of a query, in their text or path; upper and lower case are the same. "
        'Put "double quotes" around text to be found as it stands, /slashes/ around a regular expression, and use AND, '
        f"OR and parentheses for anything else. {_FILTERS} {_LIMITS} Use it when the words of the code are known; "
        "nls_search is for questions in plain language.",
    ),
    merge=Merge(found_chunks),
)
NLS_SEARCH = Tool(
    "nls_search",
    NlsSearchArguments,
    "found_chunks",
    Scope.RANKING,
    McpText(
        "Find code by a description",
        "Find the parts of code that fit a description best. Words match in all their forms, and not all of them have "
        f"to be there. {_FILTERS} {_LIMITS} Use it to find where something is done when the names in the code are not "
        "known; keyword_search is for exact text.",
    ),
    merge=Merge(found_chunks),
    reads="repositories",
)

TOOLS: tuple[Tool[Any], ...] = (READ_FILE, LIST_FILES, LIST_REPOS, KEYWORD_SEARCH, NLS_SEARCH)
