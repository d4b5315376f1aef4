"""Analyses of history: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.blame import DIRECTORY, Depth, FileKinds, JoinAddresses, Mailmap
from sourcelight.core.tools.commits import (
    AGENT_COMMITS,
    AUTHOR,
    AUTHOR_EMAIL,
    BOT,
    FIRST_DATE,
    LAST_DATE,
    PATH,
    REPOSITORY,
    UNSAID,
)
from sourcelight.core.tools.merge import SEPARATE_SERVICES, Merge, commits, coupling, hotspots
from sourcelight.core.tools.merge_groups import (
    by_author,
    churn,
    contributors,
    identities,
    identity_suggestions,
    pickaxe,
    without_author,
)
from sourcelight.core.tools.tool import (
    Arguments,
    Limit,
    McpText,
    Number,
    Scope,
    Text,
    Tool,
    UseRegex,
    choice,
    client_only,
    describe,
)

_ADDITIONS = Column("additions", "int64", "lines added", unit="lines")
_DELETIONS = Column("deletions", "int64", "lines removed", unit="lines")
_COMMITS = Column("commits", "int64", "commits", unit="commits")
_NOT_COUNTED = "lines is False"

_PERIODS = ("day", "week", "month", "quarter", "year")
"""Periods by which commits are grouped."""


def _period(null: str) -> tuple[Column, Column]:
    return (
        Column("period", "timestamp", "start of the day, week, month, quarter or year by committer date, UTC", null),
        Column("period_end", "timestamp", "its end, which is the start of the next, UTC", null),
    )


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "contributors": (
        Column("repository", "dict32", "name of the repository", "not grouped by repository"),
        *_period("not grouped by time"),
        AUTHOR,
        AUTHOR_EMAIL,
        Column("commits", "int64", "commits written, merges included", unit="commits"),
        Column("merges", "int64", "merges among them", unit="commits"),
        Column("co_authored", "int64", "further commits whose Co-authored-by trailers name the person", unit="commits"),
        Column("additions", "int64", "lines added", _NOT_COUNTED, unit="lines"),
        Column("deletions", "int64", "lines removed", _NOT_COUNTED, unit="lines"),
        Column("files", "int64", "distinct files changed", f"{_NOT_COUNTED}, or {UNSAID}", unit="files"),
        FIRST_DATE,
        LAST_DATE,
        BOT,
        AGENT_COMMITS,
    ),
    "churn": (
        Column("repository", "dict32", "name of the repository", "not grouped by repository"),
        Column("commit", "dict32", "commit, 40 hex digits", "not grouped by commit"),
        Column("directory", "dict32", DIRECTORY, "not grouped by directory"),
        Column("path", "dict32", "file", "not grouped by path"),
        Column(
            "file_kind",
            "dict8",
            "source, documentation, vendored, generated or lock, by path, attributes and content",
            "not grouped by file_kind",
        ),
        Column("author", "dict32", "author's name, as the mailmap has it", "not grouped by author"),
        Column("author_email", "dict32", "author's address, as the mailmap has it", "not grouped by author"),
        *_period("not grouped by time"),
        _ADDITIONS,
        _DELETIONS,
        Column("changes", "int64", "changes of single files", unit="changes"),
        _COMMITS,
        Column("authors", "int64", "distinct authors", unit="authors", summable=False),
        AGENT_COMMITS,
    ),
    "hotspots": (
        REPOSITORY,
        PATH,
        Column(
            "commits", "int64", "commits that changed the file under any of its names, merges excluded", unit="commits"
        ),
        Column("authors", "int64", "distinct authors of these commits", unit="authors", summable=False),
        _ADDITIONS,
        _DELETIONS,
        Column(
            "lines", "int64", "lines of the current file", "the file is binary or its content missing", unit="lines"
        ),
        Column("score", "float64", "commits times the logarithm of lines, of the highest such product, 0 to 1"),
        FIRST_DATE,
        LAST_DATE,
        AGENT_COMMITS,
    ),
    "coupling": (
        REPOSITORY,
        PATH,
        Column("other_path", "dict32", "the file that changes with it"),
        Column("shared_commits", "int64", "commits that changed both", unit="commits"),
        Column("commits", "int64", "commits that changed path", unit="commits"),
        Column("other_commits", "int64", "commits that changed other_path", unit="commits"),
        Column("degree", "float64", "shared_commits of the mean of commits and other_commits, 0 to 1"),
        LAST_DATE,
    ),
    "pickaxe": (
        Column("repository", "dict32", "name of the repository", "not grouped by repository"),
        *_period("not grouped by time"),
        Column("author", "dict32", "author's name, as the mailmap has it", "not grouped by author"),
        Column("author_email", "dict32", "author's address, as the mailmap has it", "not grouped by author"),
        Column("added", "int64", "added lines that match", unit="lines"),
        Column("removed", "int64", "removed lines that match", unit="lines"),
        Column("net", "int64", "added minus removed", unit="lines"),
        Column(
            "total",
            "int64",
            "net of this and all earlier periods",
            "not grouped by time alone",
            unit="lines",
            summable=False,
            instead="net",
        ),
        Column("commits", "int64", "commits with such lines", unit="commits"),
        FIRST_DATE,
        LAST_DATE,
        AGENT_COMMITS,
    ),
    "identities": (
        Column("name", "string", "name as commits have it"),
        Column("email", "string", "address as commits have it"),
        Column("canonical_name", "string", "name as the mailmap has it"),
        Column("canonical_email", "string", "address as the mailmap has it"),
        Column("commits", "int64", "commits written, merges included", unit="commits"),
        Column("commits_as_committer", "int64", "commits committed", unit="commits"),
        Column("co_authored", "int64", "commits whose Co-authored-by trailers name the person", unit="commits"),
        FIRST_DATE,
        LAST_DATE,
        Column("repositories", "strings", "repositories with such commits"),
        BOT,
        Column("agent", "dict32", "coding assistant that the identity belongs to; empty for none"),
    ),
    "identity_suggestions": (
        Column("group", "int32", "number of the set of identities that may be one person, most commits first"),
        Column("name", "string", "name, as the mailmap has it"),
        Column("email", "string", "address, as the mailmap has it"),
        Column("commits", "int64", "commits written, merges included", unit="commits"),
        Column("canonical_name", "string", "name under which the set would be counted: the one with most commits"),
        Column("canonical_email", "string", "address under which it would be counted"),
        Column("reason", "string", "what it has in common with the other identities of the set"),
        Column("mailmap_line", "string", "line of a mailmap that accepts it; empty for the proper identity"),
    ),
}


_Repos: TypeAlias = Annotated[tuple[str, ...] | None, describe("Exact names of repositories; none: all.")]
_Revisions: TypeAlias = Annotated[
    tuple[str, ...] | None,
    client_only(
        "Branches, tags or commits; commits that any of them reaches count, but not those that one with ^ "
        "before it reaches. None: the default branch."
    ),
]
_After: TypeAlias = Annotated[str | None, describe("Only commits after this committer date.")]
_Before: TypeAlias = Annotated[str | None, describe("Only commits before this committer date.")]
_Files: TypeAlias = Annotated[tuple[str, ...] | None, describe("Globs or path prefixes.")]
_Rows: TypeAlias = Annotated[Limit | None, describe("Most rows; none: all.")]
_Lines: TypeAlias = Annotated[
    bool | None,
    Meta(description="Whether to count changed lines and files; false: only commits, fast before the history is read."),
]
_MaxFiles: TypeAlias = Annotated[
    Annotated[int, Meta(ge=2)] | None,
    Meta(description="Commits with more files are ignored; default 30."),
]


class ContributorsArguments(Arguments, frozen=True):
    """Arguments of `contributors`."""

    repos: _Repos = None
    by: Annotated[
        tuple[Annotated[str, choice("repository", *_PERIODS)], ...] | None,
        describe("Further grouping beside authors."),
    ] = None
    after: _After = None
    before: _Before = None
    revisions: _Revisions = None
    file_kinds: FileKinds = None
    mailmap: Mailmap = None
    join_addresses: JoinAddresses = None
    lines: _Lines = None


class ChurnArguments(Arguments, frozen=True):
    """Arguments of `churn`."""

    repos: _Repos = None
    by: Annotated[
        tuple[
            Annotated[str, choice("repository", "commit", "directory", "path", "file_kind", "author", *_PERIODS)],
            ...,
        ]
        | None,
        Meta(description="Grouping; default: directory."),
    ] = None
    depth: Depth = None
    after: _After = None
    before: _Before = None
    revisions: _Revisions = None
    file_kinds: FileKinds = None
    mailmap: Mailmap = None
    join_addresses: JoinAddresses = None


class PickaxeArguments(Arguments, frozen=True):
    """Arguments of `pickaxe`."""

    pattern: Annotated[Text, Meta(description="Text to find within one changed line.")]
    repos: _Repos = None
    by: Annotated[
        tuple[Annotated[str, choice("repository", "author", *_PERIODS)], ...] | None,
        Meta(description="Grouping; default: month."),
    ] = None
    files: _Files = None
    after: _After = None
    before: _Before = None
    use_regex: UseRegex = None
    revisions: _Revisions = None
    mailmap: Mailmap = None
    join_addresses: JoinAddresses = None


class HotspotsArguments(Arguments, frozen=True):
    """Arguments of `hotspots`."""

    repos: _Repos = None
    files: _Files = None
    after: _After = None
    before: _Before = None
    revisions: _Revisions = None
    limit: _Rows = None
    join_addresses: JoinAddresses = None
    file_kinds: FileKinds = None


class CouplingArguments(Arguments, frozen=True):
    """Arguments of `coupling`."""

    repos: _Repos = None
    after: _After = None
    before: _Before = None
    revisions: _Revisions = None
    min_commits: Annotated[Number | None, Meta(description="Minimum number of commits together; default 5.")] = None
    min_degree: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None, Meta(description="Minimum degree; default 0.3.")
    ] = None
    max_files: _MaxFiles = None
    file_kinds: FileKinds = None
    limit: _Rows = None


class CommitsBehindArguments(Arguments, frozen=True):
    """Arguments of `commits_behind`."""

    repos: Annotated[tuple[str, ...], Meta(description="Exact names of repositories; none: all.")]
    of: Annotated[str, choice("churn", "hotspots", "coupling"), Meta(description="The analysis that the row is of.")]
    path: Annotated[str | None, Meta(description="The row's path.")] = None
    other_path: Annotated[str | None, Meta(description="The row's other path, of coupling.")] = None
    directory: Annotated[str | None, Meta(description="The row's directory, of churn.")] = None
    file_kind: Annotated[str | None, Meta(description="The row's kind of file, of churn.")] = None
    authors: Annotated[tuple[str, ...] | None, Meta(description="Names and addresses of the row's author.")] = None
    depth: Depth = None
    files: _Files = None
    after: _After = None
    before: _Before = None
    revisions: _Revisions = None
    file_kinds: FileKinds = None
    max_files: _MaxFiles = None


class IdentitiesArguments(Arguments, frozen=True):
    """Arguments of `identities`."""

    repos: _Repos = None
    mailmap: Mailmap = None


class IdentitySuggestionsArguments(Arguments, frozen=True):
    """Arguments of `identity_suggestions`."""

    repos: _Repos = None
    mailmap: Mailmap = None
    join_addresses: JoinAddresses = None


CONTRIBUTORS = Tool(
    name="contributors",
    arguments=ContributorsArguments,
    columns="contributors",
    scope=Scope.REPOSITORIES,
    mcp=McpText(
        "List contributors",
        "List who wrote commits of repositories, most first: commits, lines, files, first and last date. Use it for "
        "who knows a repository; get_contributor_repos starts from a person, blame from a file. Example: after 1 year "
        "ago, by [month].",
        suite="all",
    ),
    merge=Merge(contributors, exclusive=True),
)
CHURN = Tool(
    name="churn",
    arguments=ChurnArguments,
    columns="churn",
    scope=Scope.REPOSITORIES,
    merge=Merge(churn, exclusive=True, reword=by_author, restore=without_author),
)
PICKAXE = Tool(
    name="pickaxe",
    arguments=PickaxeArguments,
    columns="pickaxe",
    scope=Scope.REPOSITORIES,
    merge=Merge(pickaxe, exclusive=True),
)
HOTSPOTS = Tool(
    name="hotspots",
    arguments=HotspotsArguments,
    columns="hotspots",
    scope=Scope.REPOSITORIES,
    mcp=McpText(
        "Find hotspots",
        "List the files that change most and are long, with commits, authors, lines. Use it for where work and bugs "
        "go; commit_search with files has the commits. Example: after 6 months ago, limit 20.",
        suite="all",
    ),
    merge=Merge(hotspots, exclusive=True),
)
COUPLING = Tool(
    name="coupling",
    arguments=CouplingArguments,
    columns="coupling",
    scope=Scope.REPOSITORIES,
    merge=Merge(coupling, exclusive=True),
)
COMMITS_BEHIND = Tool(
    name="commits_behind",
    arguments=CommitsBehindArguments,
    columns="commits",
    scope=Scope.REPOSITORIES,
    merge=Merge(commits, exclusive=True),
)
IDENTITIES = Tool(
    name="identities",
    arguments=IdentitiesArguments,
    columns="identities",
    scope=Scope.REPOSITORIES,
    merge=Merge(identities, exclusive=True),
)
IDENTITY_SUGGESTIONS = Tool(
    name="identity_suggestions",
    arguments=IdentitySuggestionsArguments,
    columns="identity_suggestions",
    scope=Scope.REPOSITORIES,
    merge=Merge(identity_suggestions, exclusive=True, loss=SEPARATE_SERVICES),
)

TOOLS: tuple[Tool[Any], ...] = (
    CONTRIBUTORS,
    CHURN,
    PICKAXE,
    HOTSPOTS,
    COUPLING,
    COMMITS_BEHIND,
    IDENTITIES,
    IDENTITY_SUGGESTIONS,
)
