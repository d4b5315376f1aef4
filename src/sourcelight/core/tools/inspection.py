"""Tools that count, list, explain and verify: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from sourcelight.core.batches.schema import AGENT, Column
from sourcelight.core.tools.commits import AUTHOR, AUTHOR_EMAIL, COMMIT, PATH, REPOSITORY
from sourcelight.core.tools.tool import (
    Arguments,
    Limit,
    McpText,
    Number,
    Repo,
    Revision,
    Scope,
    Text,
    Tool,
    UseRegex,
    choice,
    client_only,
    describe,
)

Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
_ABSENT = "not in the citation, or rejected"
COUNT_BY = ("repository", "language", "path")

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "counts": (
        Column("repository", "dict32", "name of the repository", "not counted by repository"),
        Column("language", "dict32", "display name of the language", "not counted by language, or unknown"),
        Column("path", "dict32", "path in the repository, with /", "not counted by path"),
        Column("matches", "int64", "matches", unit="matches"),
        Column("files", "int64", "files with matches", unit="files"),
    ),
    "query_parts": (
        Column("alternative", "int32", "number of the alternative of the query, from 1", "a warning about the query"),
        Column("part", "dict8", "filter, pattern, scope or warning"),
        Column("text", "string", "the part as it is read"),
        Column("meaning", "string", "its effect, or for a warning the advice"),
        Column("matching_files", "int64", "files that it passes by itself", "not known", unit="files", summable=False),
        Column(
            "matching_repositories",
            "int64",
            "repositories that it passes by itself",
            "not known",
            unit="repositories",
            summable=False,
        ),
    ),
    "refs": (
        REPOSITORY,
        Column("name", "string", "short name, such as main or v1.0"),
        Column("kind", "dict8", "branch or tag"),
        Column("commit", "string", "commit that it leads to, 40 hex digits"),
        Column("commit_date", "timestamp", "committer date of that commit, UTC", "the commit can't be read"),
        Column("subject", "string", "first line of that commit's message", "the commit can't be read"),
        Column("default", "bool", "whether searches read it by default"),
    ),
    "text_history": (
        REPOSITORY,
        COMMIT,
        Column("commit_date", "timestamp", "committer date, UTC"),
        AUTHOR,
        AUTHOR_EMAIL,
        Column("subject", "string", "first paragraph of the message on one line"),
        PATH,
        Column("added", "int64", "lines added: those with the text, or of the range", unit="lines"),
        Column("removed", "int64", "lines removed: those with the text, or of the range", unit="lines"),
        AGENT,
    ),
    "citations": (
        Column("text_line", "int32", "1-based line of the citation in the text"),
        Column("citation", "string", "the citation as written"),
        Column("quoted", "bool", "whether the text quotes the code that it cites"),
        Column("repository", "dict32", "name of the repository", _ABSENT),
        Column("commit", "dict32", "commit that it was checked against, 40 hex digits", _ABSENT),
        Column("path", "string", "path of the file", _ABSENT),
        Column("start_line", "int32", "1-based first line", _ABSENT),
        Column("end_line", "int32", "1-based last line", _ABSENT),
        Column("status", "dict8", "verified, moved (the cited text is elsewhere) or rejected"),
        Column("reason", "string", "why it was moved or rejected; empty for a verified one"),
        Column("new_path", "string", "new file of a moved citation", "not moved"),
        Column("new_start_line", "int32", "new first line of a moved citation", "not moved, or a whole file"),
        Column("new_end_line", "int32", "new last line of a moved citation", "not moved, or a whole file"),
    ),
}


class CountArguments(Arguments, frozen=True):
    """Arguments of `count`."""

    query: Annotated[Text, describe("Query as for keyword_search, such as: repo:owner/name lang:go fmt.Errorf.")]
    by: Annotated[
        tuple[Annotated[str, choice(*COUNT_BY)], ...] | None,
        describe("Columns to count by; none: one number."),
    ] = None
    exhaustive: Annotated[bool | None, Meta(description="Default true.")] = None
    limit: Annotated[Limit | None, describe("Most rows, those with most matches first; none: all.")] = None


class ExplainArguments(Arguments, frozen=True):
    """Arguments of `explain`."""

    query: Annotated[Text, describe("Query as for keyword_search.")]
    pattern_type: Annotated[str | None, client_only("Meaning of its patterns; default: keyword.")] = None
    default_count: Annotated[
        Number | None,
        client_only("Matches after which a search stops where the query has no count:."),
    ] = None
    timeout_s: Annotated[Seconds | None, client_only("Time limit of the search, in seconds.")] = None


class ListRefsArguments(Arguments, frozen=True):
    """Arguments of `list_refs`."""

    repo: Repo
    query: Annotated[str | None, describe("Text that the name must contain, in any case; none: all.")] = None
    kind: Annotated[Annotated[str, choice("branch", "tag")] | None, describe("Only branches, or only tags.")] = None
    limit: Annotated[Limit | None, describe("Most refs, the newest first; none: all.")] = None


class HistoryOfArguments(Arguments, frozen=True):
    """Arguments of `history_of`."""

    repo: Repo
    text: Annotated[
        str | None, describe("Text within one line; commits count that change how often it occurs in a file.")
    ] = None
    path: Annotated[str | None, Meta(description="File; with text also a glob or prefix.")] = None
    start_line: Annotated[Number | None, describe("First of the lines to follow, counted from 1.")] = None
    end_line: Annotated[Number | None, describe("Last of them; without it: startLine alone.")] = None
    use_regex: UseRegex = None
    revision: Revision = None
    limit: Annotated[Limit | None, describe("Most commits, the newest first; none: all.")] = None


class VerifyArguments(Arguments, frozen=True):
    """Arguments of `verify`."""

    markdown: Annotated[Text, describe("Text with citations: links, path:12, path:3-9, path#L3-L9, quotes.")]
    repo: Annotated[
        str | None, describe("Repository for citations without one; without it: the one that has the file.")
    ] = None
    revision: Revision = None


COUNT = Tool(
    name="count",
    arguments=CountArguments,
    columns="counts",
    scope=Scope.SEARCH,
    mcp=McpText(
        "Count matches",
        "Count all matches of a keyword_search query: one number, or by repository, language or path, and whether it "
        "is complete. Use it for how many and in which; keyword_search shows 15 files. Not for commits. Example: query "
        "'lang:python print(', by [repository].",
        suite="all",
    ),
)
EXPLAIN = Tool(
    name="explain",
    arguments=ExplainArguments,
    columns="query_parts",
    scope=Scope.SEARCH,
    mcp=McpText(
        "Explain a query",
        "Show how a keyword_search query is read, what each filter leaves, and likely mistakes. Use it when a query "
        "finds nothing or too much; not to search. Example: query 'repo:nme foo OR bar'.",
        suite="all",
    ),
)
LIST_REFS = Tool(
    name="list_refs",
    arguments=ListRefsArguments,
    columns="refs",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "List branches and tags",
        "List branches and tags, newest first, with commit, date, subject. Use it for which releases there are; not "
        "for commits (commit_search). Example: kind tag, query v2.",
        suite="all",
    ),
)
HISTORY_OF = Tool(
    name="history_of",
    arguments=HistoryOfArguments,
    columns="text_history",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Follow a text or lines through history",
        "List the commits that added or removed a text (moves don't count), or, given path and startLine, changed "
        "lines of a file; newest first. Use it for when something changed and by whom; diff_search shows the lines, "
        "blame who wrote the current ones. Example: text max_retries, path src/.",
        suite="all",
    ),
)

VERIFY = Tool(
    name="verify",
    arguments=VerifyArguments,
    columns="citations",
    scope=Scope.ACROSS,
    mcp=McpText(
        "Verify citations",
        "Check citations of code in Markdown: links, path:12, path:3-9, path#L3-L9, code blocks beside one. Each is "
        "verified, moved (to where) or rejected (why). Use it on an answer before you give it; not to find code. "
        "Example: markdown 'See src/app.py:12'.",
        suite="all",
    ),
    reads="",
)

TOOLS: tuple[Tool[Any], ...] = (COUNT, EXPLAIN, LIST_REFS, HISTORY_OF, VERIFY)
