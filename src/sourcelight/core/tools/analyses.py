"""Columns of tables about commits, diffs, comparisons, contributors and analyses of history."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

_UNSAID = "the service did not say"
_MISSING = "its content is missing from the clone"

_DIRECTORY = (
    "directory with all below it (`src/`; `/` is the whole repository), or the files of one alone (`src/*`; `/*`: the "
    "files at the top)"
)

_REPOSITORY = Column("repository", "dict32", "name of the repository")
_REVISION = Column("revision", "dict32", "revision as it was asked for; empty for the default branch")
_COMMIT = Column("commit", "dict32", "commit, 40 hex digits")
_PATH = Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD")
_OLD_PATH = Column("old_path", "dict32", "path before the change; the same as path unless renamed or copied")
_AUTHOR = Column("author", "dict32", "author's name, as the mailmap has it")
_AUTHOR_EMAIL = Column("author_email", "dict32", "author's address, as the mailmap has it")
_BOT = Column("bot", "bool", "whether the author counts as a program, by the rule in the notices", _UNSAID)
_FIRST = Column("first_date", "timestamp", "committer date of the oldest of these commits, UTC")
_LAST = Column("last_date", "timestamp", "committer date of the newest of these commits, UTC")
_ADDITIONS = Column("additions", "int64", "lines added")
_DELETIONS = Column("deletions", "int64", "lines removed")
_COMMITS = Column("commits", "int64", "commits")
_EXACT = Column("exact", "bool", "whether `git blame` without options is proven to say the same of every line")


def _period(null: str) -> tuple[Column, Column]:
    return (
        Column("period", "timestamp", "start of the day, week, month, quarter or year by committer date, UTC", null),
        Column("period_end", "timestamp", "its end, which is the start of the next, UTC", null),
    )


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "commits": (
        _REPOSITORY,
        _COMMIT,
        Column("subject", "string", "first paragraph of the message on one line"),
        _AUTHOR,
        _AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date, UTC"),
        Column(
            "author_utc_offset", "int32", "minutes that the author's clock was east of UTC", _UNSAID, summable=False
        ),
        Column("committer", "dict32", "committer's name, as the mailmap has it", _UNSAID),
        Column("committer_email", "dict32", "committer's address, as the mailmap has it", _UNSAID),
        Column("commit_date", "timestamp", "committer date, UTC", _UNSAID),
        Column(
            "commit_utc_offset", "int32", "minutes that the committer's clock was east of UTC", _UNSAID, summable=False
        ),
        Column("message", "string", "whole commit message without the white space around it"),
        Column("parents", "strings", "commits before it, 40 hex digits, in order", _UNSAID),
        Column("files", "int32", "changed files; 0 for a merge", _UNSAID),
        Column("additions", "int64", "lines added; 0 for a merge", f"{_UNSAID}, or {_MISSING}"),
        Column("deletions", "int64", "lines removed; 0 for a merge", f"{_UNSAID}, or {_MISSING}"),
        Column("co_authors", "strings", "Co-authored-by trailers, as Name <address>"),
        _BOT,
        Column("url", "string", "address of the commit at the service, or relative to it"),
    ),
    "diff_lines": (
        _REPOSITORY,
        _COMMIT,
        Column("subject", "dict32", "first paragraph of the message on one line"),
        _AUTHOR,
        _AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date, UTC"),
        Column("commit_date", "timestamp", "committer date, UTC", _UNSAID),
        _PATH,
        _OLD_PATH,
        Column("side", "dict8", "added or removed"),
        Column(
            "line_number", "int32", "1-based line, in the new file; of a removed line, in the old one", summable=False
        ),
        Column("line", "string", "text of the line without its sign and newline; invalid UTF-8 as U+FFFD"),
        Column("start", "list", "start of each match, code points into line"),
        Column("end", "list", "end of each match (exclusive), code points into line"),
    ),
    "file_diffs": (
        _REPOSITORY,
        Column("base", "dict32", "older commit, 40 hex digits; empty before the first commit"),
        Column("head", "dict32", "newer commit, 40 hex digits"),
        Column("ordinal", "int32", "number of the file in the comparison, from 0", summable=False),
        Column("path", "string", "path in the newer commit (of a deleted file, in the older), with /"),
        Column("old_path", "string", "path in the older commit; the same as path unless renamed or copied"),
        Column("status", "dict8", "added, deleted, modified, renamed, copied or type changed"),
        Column(
            "score",
            "int32",
            "likeness of a renamed or copied file, percent",
            f"another status, or {_UNSAID}",
            summable=False,
        ),
        Column("additions", "int32", "lines added; 0 for a binary file", _MISSING),
        Column("deletions", "int32", "lines removed; 0 for a binary file", _MISSING),
        Column("binary", "bool", "whether git takes it for binary"),
        Column("mode", "dict8", "git's mode in the newer commit, octal; 000000 without a file", _UNSAID),
        Column("old_mode", "dict8", "git's mode in the older commit, octal; 000000 without a file", _UNSAID),
        Column("object_id", "string", "content in the newer commit, 40 hex digits; zeros without a file", _UNSAID),
        Column("old_object_id", "string", "content in the older commit, 40 hex digits; zeros without a file", _UNSAID),
        Column(
            "patch", "string", "the diff as git words it, three lines around changes; invalid UTF-8 as U+FFFD", _MISSING
        ),
        Column("truncated", "bool", "whether a limit cut the patch"),
    ),
    "contributor_repositories": (
        _REPOSITORY,
        Column("commits", "int64", "commits of the authors asked for, merges included"),
        _FIRST,
        _LAST,
        Column("authors", "strings", "who matched, as Name <address>, most commits first"),
    ),
    "blame_lines": (
        _REPOSITORY,
        _REVISION,
        _PATH,
        Column("line_number", "int32", "1-based line in the file", summable=False),
        Column("line", "string", "text of the line without its newline; invalid UTF-8 as U+FFFD"),
        Column("commit", "dict32", "commit that brought the line as it is, 40 hex digits"),
        _AUTHOR,
        _AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date of that commit, UTC"),
        Column("commit_date", "timestamp", "committer date of that commit, UTC"),
        Column("subject", "dict32", "first paragraph of that commit's message on one line"),
        Column("original_path", "dict32", "path of the file in that commit"),
        Column("original_line_number", "int32", "1-based line in that commit's file", summable=False),
        Column("boundary", "bool", "whether history ends there (a first commit, or the edge of a shallow clone)"),
        _BOT,
    ),
    "last_changes": (
        _REPOSITORY,
        _PATH,
        _COMMIT,
        _AUTHOR,
        _AUTHOR_EMAIL,
        Column("author_date", "timestamp", "author date of that commit, UTC"),
        Column("commit_date", "timestamp", "committer date of that commit, UTC"),
        Column("subject", "string", "first paragraph of its message on one line"),
        Column("changed_commits", "int64", "commits that changed the file under this name, merges excluded"),
    ),
    "ownership": (
        _REPOSITORY,
        Column("path", "dict32", f"file, or {_DIRECTORY}, as `by` asks"),
        _AUTHOR,
        _AUTHOR_EMAIL,
        Column("lines", "int64", "lines of today's text that the author's commits brought"),
        Column("share", "float64", "part of all lines of path, 0 to 1", summable=False),
        Column("oldest_date", "timestamp", "committer date of the oldest of these lines, UTC"),
        Column("newest_date", "timestamp", "committer date of the newest of these lines, UTC"),
        _BOT,
        _EXACT,
    ),
    "contributors": (
        Column("repository", "dict32", "name of the repository", "not grouped by repository"),
        *_period("not grouped by time"),
        _AUTHOR,
        _AUTHOR_EMAIL,
        Column("commits", "int64", "commits written, merges included"),
        Column("merges", "int64", "merges among them"),
        Column("co_authored", "int64", "further commits whose Co-authored-by trailers name the person"),
        _ADDITIONS,
        _DELETIONS,
        Column("files", "int64", "distinct files changed", _UNSAID),
        _FIRST,
        _LAST,
        _BOT,
    ),
    "churn": (
        Column("repository", "dict32", "name of the repository", "not grouped by repository"),
        Column("commit", "dict32", "commit, 40 hex digits", "not grouped by commit"),
        Column("directory", "dict32", _DIRECTORY, "not grouped by directory"),
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
        Column("changes", "int64", "changes of single files"),
        _COMMITS,
        Column("authors", "int64", "distinct authors", summable=False),
    ),
    "hotspots": (
        _REPOSITORY,
        _PATH,
        Column("commits", "int64", "commits that changed the file under any of its names, merges excluded"),
        Column("authors", "int64", "distinct authors of these commits", summable=False),
        _ADDITIONS,
        _DELETIONS,
        Column("lines", "int64", "lines of the file today", "the file is binary or its content missing"),
        Column(
            "score",
            "float64",
            "commits times the logarithm of lines, of the highest such product, 0 to 1",
            summable=False,
        ),
        _FIRST,
        _LAST,
    ),
    "coupling": (
        _REPOSITORY,
        _PATH,
        Column("other_path", "dict32", "the file that changes with it"),
        Column("commits_together", "int64", "commits that changed both"),
        Column("commits", "int64", "commits that changed path"),
        Column("other_commits", "int64", "commits that changed other_path"),
        Column(
            "degree", "float64", "commits_together of the mean of commits and other_commits, 0 to 1", summable=False
        ),
        _LAST,
    ),
    "bus_factor": (
        _REPOSITORY,
        Column("path", "dict32", _DIRECTORY),
        Column(
            "bus_factor",
            "int32",
            "fewest authors who own more than half of the lines together; 0 without lines",
            summable=False,
        ),
        Column("lines", "int64", "lines of today's text, those of bots left out"),
        Column("authors", "int64", "authors with at least one of these lines", summable=False),
        Column("owners", "strings", "these fewest authors, as Name <address>, most lines first"),
        Column("share", "float64", "part of the lines that they own, 0 to 1", summable=False),
        _EXACT,
    ),
    "survival": (
        _REPOSITORY,
        Column("year", "int32", "year of birth by committer date, UTC", summable=False),
        Column("added", "int64", "lines that commits of the year added, merges left out"),
        Column("alive", "int64", "lines of today's text that were born in the year"),
        Column("share", "float64", "alive of all lines of today's text, 0 to 1", summable=False),
        _EXACT,
    ),
    "pickaxe": (
        Column("repository", "dict32", "name of the repository", "not grouped by repository"),
        *_period("not grouped by time"),
        Column("author", "dict32", "author's name, as the mailmap has it", "not grouped by author"),
        Column("author_email", "dict32", "author's address, as the mailmap has it", "not grouped by author"),
        Column("added", "int64", "added lines that match"),
        Column("removed", "int64", "removed lines that match"),
        Column("net", "int64", "added less removed"),
        Column(
            "total",
            "int64",
            "net of this and all earlier periods",
            "not grouped by time alone",
            summable=False,
            instead="net",
        ),
        Column("commits", "int64", "commits with such lines"),
        _FIRST,
        _LAST,
    ),
    "identities": (
        Column("name", "string", "name as commits have it"),
        Column("email", "string", "address as commits have it"),
        Column("proper_name", "string", "name as the mailmap has it"),
        Column("proper_email", "string", "address as the mailmap has it"),
        Column("commits", "int64", "commits written, merges included"),
        Column("committed", "int64", "commits committed"),
        Column("co_authored", "int64", "commits whose Co-authored-by trailers name the person"),
        _FIRST,
        _LAST,
        Column("repositories", "strings", "repositories with such commits"),
        _BOT,
    ),
    "identity_suggestions": (
        Column(
            "group",
            "int32",
            "number of the set of identities that may be one person, most commits first",
            summable=False,
        ),
        Column("name", "string", "name, as the mailmap has it"),
        Column("email", "string", "address, as the mailmap has it"),
        Column("commits", "int64", "commits written, merges included"),
        Column("proper_name", "string", "name under which the set would be counted: the one with most commits"),
        Column("proper_email", "string", "address under which it would be counted"),
        Column("reason", "string", "what the identity shares with others of the set"),
        Column("mailmap_line", "string", "line of a mailmap that accepts it; empty for the proper identity"),
    ),
}
