"""Tools about the lines of a revision and who brought them: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from sourcelight.core.batches.schema import AGENT, Column
from sourcelight.core.query.file_kinds import FILE_KINDS
from sourcelight.core.tools import commits
from sourcelight.core.tools.tool import Arguments, McpText, Number, Scope, Text, Tool, choice, client_only, describe

DIRECTORY = (
    "directory with all below it (`src/`; `/` is the whole repository), or the files of one alone (`src/*`; `/*`: the "
    "files at the top)"
)
_EXACT = Column("exact", "bool", "whether every line provably equals `git blame` without options")
_AGENT_LINES = Column(
    "agent_lines",
    "int64",
    "current lines whose commits name a coding assistant; a lower bound",
    commits.UNSAID,
    unit="lines",
)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "blame_lines": (
        commits.REPOSITORY,
        commits.REVISION,
        commits.PATH,
        Column("line_number", "int32", "1-based line in the file"),
        Column("line", "string", "text of the line without its newline; invalid UTF-8 as U+FFFD"),
        Column("commit", "dict32", "commit that introduced the line in its current form, 40 hex digits"),
        commits.AUTHOR,
        commits.AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date of that commit, UTC"),
        Column("commit_date", "timestamp", "committer date of that commit, UTC"),
        Column("subject", "dict32", "first paragraph of that commit's message on one line"),
        Column("original_path", "dict32", "path of the file in that commit"),
        Column("original_line_number", "int32", "1-based line in that commit's file"),
        Column("boundary", "bool", "whether history ends there (a first commit, or the edge of a shallow clone)"),
        commits.BOT,
        AGENT,
    ),
    "ownership": (
        commits.REPOSITORY,
        Column("path", "dict32", f"file, or {DIRECTORY}, as `by` asks"),
        commits.AUTHOR,
        commits.AUTHOR_EMAIL,
        Column("lines", "int64", "current lines that the author's commits introduced", unit="lines"),
        Column("share", "float64", "part of all lines of path, 0 to 1"),
        Column("oldest_date", "timestamp", "committer date of the oldest of these lines, UTC"),
        Column("newest_date", "timestamp", "committer date of the newest of these lines, UTC"),
        commits.BOT,
        _EXACT,
        _AGENT_LINES,
    ),
    "bus_factor": (
        commits.REPOSITORY,
        Column("path", "dict32", DIRECTORY),
        Column(
            "bus_factor",
            "int32",
            "fewest authors who own more than half of the lines together; 0 without lines",
            unit="authors",
            summable=False,
        ),
        Column("lines", "int64", "current lines, without those of bots", unit="lines"),
        Column("authors", "int64", "authors with at least one of these lines", unit="authors", summable=False),
        Column("owners", "strings", "these fewest authors, as Name <address>, most lines first"),
        Column("share", "float64", "part of the lines that they own, 0 to 1"),
        _EXACT,
        _AGENT_LINES,
    ),
    "survival": (
        commits.REPOSITORY,
        Column("year", "int32", "year in which lines were added, by committer date, UTC"),
        Column("added", "int64", "lines that commits of the year added, merges left out", unit="lines"),
        Column("surviving_lines", "int64", "current lines that commits of the year added", unit="lines"),
        Column("share", "float64", "share of surviving_lines in all current lines, 0 to 1"),
        _EXACT,
        _AGENT_LINES,
    ),
}

Depth: TypeAlias = Annotated[
    Number | None, Meta(description="Path components by which directories are grouped; default 1.")
]
FileKinds: TypeAlias = Annotated[
    tuple[Annotated[str, choice(*FILE_KINDS)], ...] | None,
    client_only("Kinds of files that count; none: all."),
]
Mailmap: TypeAlias = Annotated[
    str | None,
    client_only("Lines of a mailmap that join identities, beside the repository's own."),
]
JoinAddresses: TypeAlias = Annotated[
    bool | None,
    client_only("Take identities with the same address, whatever its case, for one person; default true."),
]
_Below: TypeAlias = Annotated[str | None, Meta(description="File or directory; none: everything.")]
_Revision: TypeAlias = Annotated[str | None, describe("Branch, tag or commit; none: the default branch.")]
_Exact: TypeAlias = Annotated[
    bool | None, Meta(description="Check every line against git blame; takes two to three times as long.")
]


class BlameArguments(Arguments, frozen=True):
    """Arguments of `blame`."""

    repo: commits.RepoName
    path: Annotated[Text, describe("Path of the file.")]
    revision: _Revision = None
    start_line: Annotated[Number | None, describe("First line, counted from 1; none: the first.")] = None
    end_line: Annotated[Number | None, describe("Last line, itself included; none: the last.")] = None


class OwnershipArguments(Arguments, frozen=True):
    """Arguments of `ownership`."""

    repo: commits.RepoName
    path: _Below = None
    revision: _Revision = None
    by: Annotated[
        Annotated[str, choice("total", "directory", "file")] | None, Meta(description="Unit to count lines by.")
    ] = None
    depth: Depth = None
    exact: _Exact = None
    file_kinds: FileKinds = None
    mailmap: Mailmap = None
    join_addresses: JoinAddresses = None


class BusFactorArguments(Arguments, frozen=True):
    """Arguments of `bus_factor`."""

    repo: commits.RepoName
    path: _Below = None
    revision: _Revision = None
    depth: Depth = None
    exact: _Exact = None
    file_kinds: FileKinds = None
    mailmap: Mailmap = None
    join_addresses: JoinAddresses = None


class SurvivalArguments(Arguments, frozen=True):
    """Arguments of `survival`."""

    repo: commits.RepoName
    path: _Below = None
    revision: _Revision = None
    exact: _Exact = None


BLAME = Tool(
    name="blame",
    arguments=BlameArguments,
    columns="blame_lines",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Blame lines",
        "Show which commit introduced each line of a file, when and by whom, as git blame does. Use it for who wrote "
        "the current lines; history_of has earlier changes. Example: path src/app.py, "
        "startLine 10, endLine 20.",
        suite="all",
    ),
)
OWNERSHIP = Tool(name="ownership", arguments=OwnershipArguments, columns="ownership", scope=Scope.REPOSITORY)
BUS_FACTOR = Tool(name="bus_factor", arguments=BusFactorArguments, columns="bus_factor", scope=Scope.REPOSITORY)
SURVIVAL = Tool(name="survival", arguments=SurvivalArguments, columns="survival", scope=Scope.REPOSITORY)

TOOLS: tuple[Tool[Any], ...] = (BLAME, OWNERSHIP, BUS_FACTOR, SURVIVAL)
