"""Tools about commits and changes: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from sourcelight.core.batches.schema import AGENT, Column
from sourcelight.core.tools.merge import Merge, commits, contributor_repositories, diff_lines
from sourcelight.core.tools.tool import (
    Arguments,
    Cursor,
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

UNSAID = "not provided by the service"

WHOLE_PATCHES = "compare_revisions gives whole patches"
"""End of a notice of `diff_search` that a client drops after it has read the whole patches."""

MISSING = "its content is missing from the clone"

REPOSITORY = Column("repository", "dict32", "name of the repository")
REVISION = Column("revision", "dict32", "requested revision; empty for the default branch")
COMMIT = Column("commit", "dict32", "commit, 40 hex digits")
PATH = Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD")
OLD_PATH = Column("old_path", "dict32", "path before the change; the same as path unless renamed or copied")
AUTHOR = Column("author", "dict32", "author's name, as the mailmap has it")
AUTHOR_EMAIL = Column("author_email", "dict32", "author's address, as the mailmap has it")
BOT = Column("bot", "bool", "whether the author counts as a program, by the rule in the notices", UNSAID)
AGENT_COMMITS = Column(
    "agent_commits",
    "int64",
    "commits that name a coding assistant; a lower bound, because squash merges lose trailers",
    UNSAID,
    unit="commits",
)
FIRST_DATE = Column("first_date", "timestamp", "committer date of the oldest of these commits, UTC")
LAST_DATE = Column("last_date", "timestamp", "committer date of the newest of these commits, UTC")

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "commits": (
        REPOSITORY,
        COMMIT,
        Column("subject", "string", "first paragraph of the message on one line"),
        AUTHOR,
        AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date, UTC"),
        Column(
            "author_utc_offset_min",
            "int32",
            "minutes that the author's clock was east of UTC",
            UNSAID,
            unit="minutes",
            summable=False,
        ),
        Column("committer", "dict32", "committer's name, as the mailmap has it", UNSAID),
        Column("committer_email", "dict32", "committer's address, as the mailmap has it", UNSAID),
        Column("commit_date", "timestamp", "committer date, UTC", UNSAID),
        Column(
            "commit_utc_offset_min",
            "int32",
            "minutes that the committer's clock was east of UTC",
            UNSAID,
            unit="minutes",
            summable=False,
        ),
        Column("message", "string", "whole commit message, without surrounding white space"),
        Column("parents", "strings", "parent commits, 40 hex digits, in order", UNSAID),
        Column("files", "int32", "changed files; 0 for a merge", UNSAID, unit="files"),
        Column("additions", "int64", "lines added; 0 for a merge", f"{UNSAID}, or {MISSING}", unit="lines"),
        Column("deletions", "int64", "lines removed; 0 for a merge", f"{UNSAID}, or {MISSING}", unit="lines"),
        Column("co_authors", "strings", "Co-authored-by trailers, as Name <address>"),
        BOT,
        AGENT,
        Column("agent_traces", "strings", "evidence: author, trailers and lines of the message", UNSAID),
        Column("reviewers", "strings", "Reviewed-by, Acked-by and Approved-by trailers, as Name <address>", UNSAID),
        Column("url", "string", "address of the commit at the service, or relative to it"),
    ),
    "diff_lines": (
        REPOSITORY,
        COMMIT,
        Column("subject", "dict32", "first paragraph of the message on one line"),
        AUTHOR,
        AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date, UTC"),
        Column("commit_date", "timestamp", "committer date, UTC", UNSAID),
        PATH,
        OLD_PATH,
        Column("side", "dict8", "added or removed"),
        Column("line_number", "int32", "1-based line, in the new file; of a removed line, in the old one"),
        Column("line", "string", "text of the line without its sign and newline; invalid UTF-8 as U+FFFD"),
        Column("start", "list", "start of each match, code points into line"),
        Column("end", "list", "end of each match (exclusive), code points into line"),
        AGENT,
    ),
    "file_diffs": (
        REPOSITORY,
        Column("base", "dict32", "older commit, 40 hex digits; empty before the first commit"),
        Column("head", "dict32", "newer commit, 40 hex digits"),
        Column("position", "int32", "number of the file in the comparison, from 0"),
        Column("path", "string", "path in the newer commit (of a deleted file, in the older), with /"),
        Column("old_path", "string", "path in the older commit; the same as path unless renamed or copied"),
        Column("status", "dict8", "added, deleted, modified, renamed, copied or type changed"),
        Column("score", "int32", "likeness of a renamed or copied file, percent", f"another status, or {UNSAID}"),
        Column("additions", "int32", "lines added; 0 for a binary file", MISSING, unit="lines"),
        Column("deletions", "int32", "lines removed; 0 for a binary file", MISSING, unit="lines"),
        Column("binary", "bool", "whether its first 8,000 bytes have a NUL; attributes such as `-diff` don't count"),
        Column("mode", "dict8", "git's mode in the newer commit, octal; 000000 without a file", UNSAID),
        Column("old_mode", "dict8", "git's mode in the older commit, octal; 000000 without a file", UNSAID),
        Column("object_id", "string", "content in the newer commit, 40 hex digits; zeros without a file", UNSAID),
        Column("old_object_id", "string", "content in the older commit, 40 hex digits; zeros without a file", UNSAID),
        Column(
            "patch", "string", "the diff in git's format, with three lines of context; invalid UTF-8 as U+FFFD", MISSING
        ),
        Column("truncated", "bool", "whether a limit truncated the patch"),
    ),
    "contributor_repositories": (
        REPOSITORY,
        Column("commits", "int64", "commits of the requested authors, merges included", unit="commits"),
        FIRST_DATE,
        LAST_DATE,
        Column("authors", "strings", "people who matched, as Name <address>, most commits first"),
        AGENT_COMMITS,
    ),
    "last_changes": (
        REPOSITORY,
        PATH,
        COMMIT,
        AUTHOR,
        AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date of that commit, UTC"),
        Column("commit_date", "timestamp", "committer date of that commit, UTC"),
        Column("subject", "string", "first paragraph of its message on one line"),
        Column(
            "changed_commits",
            "int64",
            "commits that changed the file or directory under this name, merges excluded",
            unit="commits",
        ),
        AGENT,
    ),
}

RepoName: TypeAlias = Annotated[Text, describe("Name of the repository.")]
_Repos: TypeAlias = Annotated[
    tuple[str, ...],
    describe("Exact names of the repositories, such as github.com/owner/name; list_repos finds them."),
]
_Revisions: TypeAlias = Annotated[
    tuple[str, ...] | None,
    describe(
        "Branches, tags or commits: commits that any of them reaches are searched, but not those that one with ^ "
        "before it reaches. Default: the default branch. Example: v2.0 and ^v1.0."
    ),
]
_After: TypeAlias = Annotated[
    str | None,
    describe("Only commits after this committer date: 2024-06-28, 2024-06-28T15:00:00Z, yesterday, 2 weeks ago."),
]
_Before: TypeAlias = Annotated[str | None, describe("Only commits before this committer date; forms as for after.")]
_Files: TypeAlias = Annotated[
    tuple[str, ...] | None,
    describe("Globs (src/**/*.py, *.md) or path prefixes (docs/); the file has it as its new or old name."),
]
_Authors: TypeAlias = Annotated[
    tuple[str, ...] | None, describe("Parts of the author's name or address; any of them counts.")
]


class CommitSearchArguments(Arguments, frozen=True):
    """Arguments of `commit_search`."""

    repos: _Repos
    message_terms: Annotated[tuple[str, ...] | None, describe("Texts in the commit message; any of them counts.")] = (
        None
    )
    authors: _Authors = None
    content_terms: Annotated[
        tuple[str, ...] | None, describe("Texts in an added or removed line; any of them counts.")
    ] = None
    files: _Files = None
    after: _After = None
    before: _Before = None
    limit: Annotated[Limit | None, describe("Most commits to give; default 50, at most 100.")] = field(
        default=None, name="count"
    )
    use_regex: UseRegex = None
    revisions: _Revisions = None


class DiffSearchArguments(Arguments, frozen=True):
    """Arguments of `diff_search`."""

    pattern: Annotated[Text, describe("Text to find within one changed line.")]
    repos: _Repos
    added: Annotated[bool | None, describe("Search only added lines; with removed too: both.")] = None
    removed: Annotated[bool | None, describe("Search only removed lines; with added too: both.")] = None
    author: Annotated[str | None, describe("Part of the author's name or address.")] = None
    authors: _Authors = None
    files: _Files = None
    after: _After = None
    before: _Before = None
    limit: Annotated[Limit | None, describe("Most commits to give; default 20, at most 50.")] = field(
        default=None, name="count"
    )
    use_regex: UseRegex = None
    revisions: _Revisions = None
    changes: Annotated[
        Annotated[str, choice("lines", "count")] | None,
        client_only(
            "lines: a matching line was added or removed (default). count: the number of matches in "
            "the file went up or down, so that moved lines do not count."
        ),
    ] = None


class CompareRevisionsArguments(Arguments, frozen=True):
    """Arguments of `compare_revisions`."""

    repo: RepoName
    base: Annotated[Text, describe("Older branch, tag or commit; ~2 or ^ may follow.")]
    head: Annotated[Text, describe("Newer branch, tag or commit; ~2 or ^ may follow.")]
    limit: Annotated[Limit | None, describe("Most files to give; default 50, at most 100.")] = field(
        default=None, name="first"
    )
    cursor: Annotated[Cursor | None, Meta(description="endCursor of a page.")] = field(default=None, name="after")
    stat: Annotated[
        bool | None, describe("Only which files, and how many lines were added and removed; no patches.")
    ] = None


class GetContributorReposArguments(Arguments, frozen=True):
    """Arguments of `get_contributor_repos`."""

    author: Annotated[Text | None, describe("Part of the author's name or address.")] = None
    authors: Annotated[tuple[str, ...] | None, describe("Several of them, any of which counts; at most 5.")] = None
    limit: Annotated[Limit | None, describe("Most repositories to give; default 20, at most 100.")] = None
    min_commits: Annotated[Number | None, describe("Fewest commits of a repository; default 1.")] = None
    use_regex: UseRegex = None


class LastChangesArguments(Arguments, frozen=True):
    """Arguments of `last_changes`."""

    repo: RepoName
    paths: Annotated[tuple[str, ...], Meta(description="Paths of files and directories.")]
    revision: Annotated[str | None, Meta(description="Branch, tag or commit; none: the default branch.")] = None


class CommitDetailsArguments(Arguments, frozen=True):
    """Arguments of `commit_details`."""

    repo: RepoName
    revision: Annotated[str, Meta(description="Commit, branch or tag.")]


COMMIT_SEARCH = Tool(
    name="commit_search",
    arguments=CommitSearchArguments,
    columns="commits",
    scope=Scope.REPOSITORIES,
    mcp=McpText(
        "Search commits",
        "Find commits by message, author (parts of name or address), text in changed lines (contentTerms), files and "
        "date; newest first. Values of a list are alternatives, lists must all hold. Use it for when and why; "
        "diff_search has the lines, compare_revisions two versions. Example: repos [github.com/owner/name], "
        "messageTerms [fix, bug], authors [ada], after 3 months ago.",
    ),
    merge=Merge(commits),
    mcp_maximum={"count": 100},
)
DIFF_SEARCH = Tool(
    name="diff_search",
    arguments=DiffSearchArguments,
    columns="diff_lines",
    scope=Scope.REPOSITORIES,
    mcp=McpText(
        "Search changed lines",
        "Find added or removed lines with a text, with their hunks, newest commit first; not messages, not merges. "
        "Use it for when code appeared or disappeared (added or removed: one side); keyword_search has the current "
        "code. Example: pattern TODO, repos [github.com/owner/name], removed true, author ada.",
    ),
    merge=Merge(diff_lines, total_is_rows=False),
    mcp_maximum={"count": 50},
)
COMPARE_REVISIONS = Tool(
    name="compare_revisions",
    arguments=CompareRevisionsArguments,
    columns="file_diffs",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Compare two revisions",
        "Show the differences between two revisions, like git diff; stat: only files and numbers of lines. Use it for "
        "a commit (base <commit>~1) or releases (stat first); commit_search finds commits. Example: base v1.0, head "
        "v2.0, stat true.",
    ),
    mcp_maximum={"first": 100},
)
GET_CONTRIBUTOR_REPOS = Tool(
    name="get_contributor_repos",
    arguments=GetContributorReposArguments,
    columns="contributor_repositories",
    scope=Scope.REPOSITORIES,
    mcp=McpText(
        "Find where someone contributes",
        "List repositories with commits of a person: how many, first and last date. Parts of a name or address, in "
        "any case. Use it for what a person knows; commit_search lists the commits. Example: author ada.",
        advertised_as_required=("author",),
    ),
    merge=Merge(contributor_repositories),
    mcp_maximum={"limit": 100, "authors": 5},
)
LAST_CHANGES = Tool(name="last_changes", arguments=LastChangesArguments, columns="last_changes", scope=Scope.REPOSITORY)
COMMIT_DETAILS = Tool(
    name="commit_details", arguments=CommitDetailsArguments, columns="file_diffs", scope=Scope.REPOSITORY
)

TOOLS: tuple[Tool[Any], ...] = (
    COMMIT_SEARCH,
    DIFF_SEARCH,
    COMPARE_REVISIONS,
    GET_CONTRIBUTOR_REPOS,
    LAST_CHANGES,
    COMMIT_DETAILS,
)


def contributor_drill_down(authors: Sequence[str], *, use_regex: bool) -> dict[str, Any]:
    """Return how a row of `get_contributor_repos` leads to its commits: a call, its arguments, those of columns."""
    arguments = {"authors": list(authors), **({"useRegex": True} if use_regex else {})}
    return {"call": "commit_search", "arguments": arguments, "columns": {"repos": "repository"}}
