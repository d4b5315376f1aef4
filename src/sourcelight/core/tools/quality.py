"""Tools about the quality of code: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.commits import PATH, REPOSITORY, RepoName
from sourcelight.core.tools.tool import Arguments, Limit, McpText, Number, Revision, Scope, Text, Tool, choice

# When a column is null.
_FUNCTION_ROW = "a row of a function"
_FILE_ROW = "a row of a file"
_TOTAL_ROW = "a row of a total"
_NO_TOTAL_ROW = "a row of a file or a function"

MAX_TREND_POINTS = 200
"""Commits that one call of `complexity_trend` measures at most."""

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "complexity": (
        REPOSITORY,
        Column("commit", "dict32", "commit that was measured, 40 hex digits"),
        PATH,
        Column("language", "dict8", "language of the file"),
        Column("test", "bool", "whether the file is a test, an example or a benchmark, by its path"),
        Column("symbol", "string", "qualified name of the function, with dots", _FILE_ROW),
        Column("kind", "dict8", "function, method or constructor; file"),
        Column("line_number", "int32", "1-based first line of the function, without decorators; 1 for a file"),
        Column("end_line", "int32", "1-based last line"),
        Column("lines", "int64", "lines from first to last", unit="lines"),
        Column("code_lines", "int64", "those with code; a line can have code and a comment", unit="lines"),
        Column("comment_lines", "int64", "those with a comment or docstring; blank lines are neither", unit="lines"),
        Column("parameters", "int32", "parameters, `self` of Python included", _FILE_ROW, unit="parameters"),
        Column("functions", "int32", "functions of the file", _FUNCTION_ROW, unit="functions"),
        Column(
            "cyclomatic",
            "int64",
            "1 plus the number of decisions (McCabe); of a file the sum of functions, and decisions outside them",
        ),
        Column("cognitive", "int64", "cognitive complexity (SonarSource 1.7); of a file likewise the sum"),
        Column("nesting", "int32", "deepest nesting of control flow", _FILE_ROW, unit="levels", summable=False),
        Column(
            "commits", "int64", "commits that changed the file under any of its names, merges excluded", _FUNCTION_ROW,
            unit="commits",
        ),
        Column("hotspot", "int64", "cognitive times commits", _FUNCTION_ROW),
        Column("oldest_date", "timestamp", "committer date of the oldest of these lines, UTC", "without `dates`"),
        Column("newest_date", "timestamp", "committer date of the newest of these lines, UTC", "without `dates`"),
    ),
    "complexity_trend": (
        REPOSITORY,
        Column("revision", "dict32", "the requested revision; the commit where `revisions` is empty"),
        Column("commit", "dict32", "commit that was measured, 40 hex digits"),
        Column("commit_date", "timestamp", "committer date, UTC"),
        Column("path", "dict32", "path of the file; of a total, the directory or file asked for, empty for all"),
        Column("symbol", "string", "qualified name of the function, with dots", "a row of a file or a total"),
        Column("kind", "dict8", "function, method or constructor; file; total"),
        Column("line_number", "int32", "1-based first line of the function; 1 for a file", _TOTAL_ROW),
        Column("end_line", "int32", "1-based last line", _TOTAL_ROW),
        Column("files", "int32", "files that aren't tests", _FUNCTION_ROW, unit="files"),
        Column("functions", "int32", "functions in them", _FUNCTION_ROW, unit="functions"),
        Column("lines", "int64", "lines, of a total without tests", unit="lines"),
        Column("code_lines", "int64", "those with code", unit="lines"),
        Column("comment_lines", "int64", "those with a comment", unit="lines"),
        Column("cyclomatic", "int64", "1 plus the number of decisions (McCabe); of files and totals the sum"),
        Column("cognitive", "int64", "cognitive complexity (SonarSource 1.7); of files and totals the sum"),
        Column("test_files", "int32", "tests, examples and benchmarks, by their paths", _NO_TOTAL_ROW, unit="files"),
        Column("test_code_lines", "int64", "lines with code in them", _NO_TOTAL_ROW, unit="lines"),
        Column("comment_ratio", "float64", "comment_lines / code_lines", "there is no code"),
        Column("test_ratio", "float64", "test_code_lines / code_lines", f"{_NO_TOTAL_ROW}, or no code"),
    ),
    "related_tests": (
        REPOSITORY,
        Column("commit", "dict32", "commit that was read, 40 hex digits"),
        Column("path", "dict32", "test, example or benchmark, by its path"),
        Column(
            "imports", "int32", "imports of the test that lead to the file; a statement has one for each name",
            unit="imports",
        ),
        Column("names", "strings", "definitions of the file that the test uses, by whatever way it reaches them"),
        Column("line_number", "int32", "1-based line of the first import, or else of the first use", "it has neither"),
        Column(
            "shared_commits", "int64", "commits that changed both, under any of their names, merges excluded",
            unit="commits",
        ),
        Column("commits", "int64", "commits that changed the test", unit="commits"),
    ),
}  # fmt: skip


class ComplexityArguments(Arguments, frozen=True):
    """Arguments of `complexity`."""

    repo: RepoName
    path: Annotated[str | None, Meta(description="File or directory; none: everything.")] = None
    revision: Revision = None
    by: Annotated[
        Annotated[str, choice("function", "file")] | None, Meta(description="Unit of a row; default: function.")
    ] = None
    dates: Annotated[bool | None, Meta(description="Add the dates of the lines, which needs the whole history.")] = None
    limit: Annotated[Limit | None, Meta(description="Maximum number of rows, most complex first; none: all.")] = None


class ComplexityTrendArguments(Arguments, frozen=True):
    """Arguments of `complexity_trend`."""

    repo: RepoName
    path: Annotated[str | None, Meta(description="File or directory; none: everything.")] = None
    revisions: Annotated[
        tuple[str, ...] | None,
        Meta(description="Branches, tags or commits to measure; none: points of the default branch."),
    ] = None
    points: Annotated[
        Annotated[int, Meta(ge=2, le=MAX_TREND_POINTS)] | None,
        Meta(description="Number of commits of the first-parent history to measure, at even times; default 12."),
    ] = None
    by: Annotated[
        Annotated[str, choice("total", "file", "function")] | None,
        Meta(description="Unit of a row at each commit; default: total."),
    ] = None


class RelatedTestsArguments(Arguments, frozen=True):
    """Arguments of `related_tests`."""

    repo: RepoName
    path: Annotated[Text, Meta(description="Path of the file.")]
    revision: Revision = None
    min_commits: Annotated[
        Number | None,
        Meta(
            description="Minimum number of shared commits of a test that neither imports nor uses the file; default 2."
        ),
    ] = None


COMPLEXITY = Tool(
    name="complexity",
    arguments=ComplexityArguments,
    columns="complexity",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Measure complexity",
        "List functions or files, the most complex first, with lines, cyclomatic and cognitive complexity. Use it for "
        "what is hard to read; hotspots is for what changes most. Example: path src, by function, limit 20.",
        suite="all",
    ),
)

COMPLEXITY_TREND = Tool(
    name="complexity_trend", arguments=ComplexityTrendArguments, columns="complexity_trend", scope=Scope.REPOSITORY
)

RELATED_TESTS = Tool(
    name="related_tests",
    arguments=RelatedTestsArguments,
    columns="related_tests",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Find the tests of a file",
        "List the tests that import or use a file, or changed with it. Use it before a change; find_references is for "
        "one name. Example: path src/app.py.",
        suite="all",
    ),
)

TOOLS: tuple[Tool[Any], ...] = (COMPLEXITY, COMPLEXITY_TREND, RELATED_TESTS)
