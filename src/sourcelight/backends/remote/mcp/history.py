"""`commit_search`, `diff_search`, `compare_revisions` and `get_contributor_repos` of a service.

Changed lines that match, from diffs as services give them: hunks, or patches of whole files. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sourcelight.backends.remote.mcp.paging import DatedPages, Entry, everything, instant
from sourcelight.backends.remote.mcp.payloads import bounds, is_cut, notices, taken
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import PatternError, ProtocolError, RepositoryError, RevisionNotFound, ToolError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.regexps import file_pattern
from sourcelight.core.tools.catalog import COLUMNS, table_of

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Which changed lines a call of `diff_search` asks for."""

    pattern: CompiledPattern
    signs: tuple[str, ...]
    files: tuple[CompiledPattern, ...]
    by_count: bool

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> LineFilter:
        """Read the arguments.

        Raises
        ------
        ToolError
            For a pattern that RE2 refuses.
        """
        regexp = bool(arguments.get("useRegex"))
        try:
            pattern = compile_pattern(
                arguments["pattern"], kind="regexp" if regexp else "literal", case_sensitive=regexp
            )
            files = tuple(
                compile_pattern(
                    text if regexp else file_pattern(text), kind="regexp", case_sensitive=True, whole_text=True
                )
                for text in arguments.get("files") or ()
                if regexp or file_pattern(text) != "^"
            )
        except PatternError as error:
            raise ToolError(f"diff_search: {error}", tool="diff_search") from error
        added, removed = bool(arguments.get("added")), bool(arguments.get("removed"))
        signs = ("+", "-") if added == removed else ("+",) if added else ("-",)
        return cls(pattern, signs, files, arguments.get("changes") == "count")

    def wants(self, *paths: str) -> bool:
        """Whether a file under these names is asked for."""
        return not self.files or any(file.find(path.encode()) for file in self.files for path in paths)

    def rows(self, hunks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Matching lines of a file's hunks."""
        found = [row for hunk in hunks for row in self._of_hunk(hunk)]
        if self.by_count:
            counts = {"added": 0, "removed": 0}
            for row in found:
                counts[row["side"]] += len(row["start"])
            if counts["added"] == counts["removed"]:
                return []
        return [row for row in found if ("+" if row["side"] == "added" else "-") in self.signs]

    def _of_hunk(self, hunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        old, new = int(hunk.get("oldStart") or 0), int(hunk.get("newStart") or 0)
        for text in hunk.get("lines") or ():
            sign, line = text[:1], text[1:]
            if sign in {"+", "-"} and (spans := self._spans(line)):
                yield {
                    "side": "added" if sign == "+" else "removed",
                    "line_number": new if sign == "+" else old,
                    "line": line,
                    "start": [start for start, _ in spans],
                    "end": [end for _, end in spans],
                }
            if sign in {"+", "-", " "}:
                old += sign != "+"
                new += sign != "-"

    def _spans(self, line: str) -> list[tuple[int, int]]:
        data = line.encode()
        return [(len(data[:a].decode()), len(data[:b].decode())) for a, b in self.pattern.find(data)]


def hunks_of(patch: str) -> list[dict[str, Any]]:
    """Hunks of a file's patch."""
    found: list[dict[str, Any]] = []
    for line in patch.split("\n"):
        if head := _HUNK.match(line):
            found.append({"oldStart": int(head[1]), "newStart": int(head[2]), "lines": []})
        elif found and line[:1] in {"+", "-", " "}:
            found[-1]["lines"].append(line)
    return found


_MOST_PAGES = 10_000
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name for a tree without files
_MOST_FILES = 100  # of a page, as services document it
_MOST_REPOSITORIES = 100
# Names of payloads that are not the camelCase of a column.
_COLUMNS = {
    "repo": "repository",
    "name": "repository",
    "oid": "commit",
    "authorName": "author",
    "committerName": "committer",
    "committerDate": "commit_date",
    "firstCommit": "first_date",
    "lastCommit": "last_date",
    "newPath": "path",
    "filesChanged": "files",
    "authorUtcOffset": "author_utc_offset_min",
    "commitUtcOffset": "commit_utc_offset_min",
    "ordinal": "position",
    "similarity": "score",
}
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


def _row(entry: Entry, columns: str) -> dict[str, Any]:
    """Values of an entry by column, dates as moments in UTC."""
    row: dict[str, Any] = {}
    for column in COLUMNS[columns]:
        row[column.name] = None
    for key, value in entry.items():
        name = _COLUMNS.get(key) or _HUMP.sub(lambda found: f"_{found[1].lower()}", key)
        if name in row and value is not None:
            row[name] = value
    for column in COLUMNS[columns]:
        if column.type == "timestamp" and isinstance(row[column.name], str):
            row[column.name] = instant(row[column.name])
    return row


def _table(columns: str, rows: list[dict[str, Any]]) -> Any:
    return table_of(columns, len(rows), **{c.name: [row[c.name] for row in rows] for c in COLUMNS[columns]})


def _commit_date(entry: Entry) -> datetime | None:
    return instant(entry.get("committerDate") or entry.get("commitDate"))


async def _commit_search(asked: ToolRequest) -> ToolResult:
    found = await everything(asked, "commits", _commit_date)
    rows = [_commit(asked, entry) for entry in found.entries]
    rows.sort(key=lambda row: -row["commit_date"].timestamp() if row["commit_date"] else 0.0)
    return ToolResult("commits", _table("commits", rows), _facts(asked, found), found.complete, tuple(found.notices))


def _commit(asked: ToolRequest, entry: Entry) -> dict[str, Any]:
    row = _row(entry, "commits")
    subject, body = str(entry.get("subject") or ""), str(entry.get("body") or "").strip("\n")
    row["message"] = row["message"] or (f"{subject}\n\n{body}" if body else subject)
    row["subject"] = subject
    for date, offset in (("author_date", "author_utc_offset_min"), ("commit_date", "commit_utc_offset_min")):
        moment = row[date]
        if row[offset] is None and moment is not None and moment.utcoffset() is not None:
            row[offset] = int(moment.utcoffset().total_seconds() // 60)
    if isinstance(row["files"], list):
        row["files"] = len(row["files"])
    row["url"] = asked.relative(str(entry.get("url") or ""))
    row["co_authors"] = row["co_authors"] or []
    return row


async def _diff_search(asked: ToolRequest) -> ToolResult:
    wanted = LineFilter.of(asked.arguments)
    found = await everything(asked, "results", _commit_date)
    rows: list[dict[str, Any]] = []
    for done, entry in enumerate(found.entries):
        if _is_cut(entry):
            asked.tell("reading whole diffs", done, len(found.entries), str(entry.get("repo") or ""))
            files = await _whole_diff(asked, entry, found)
            entry = {**entry, "files": files}  # noqa: PLW2901 - the same commit with all of its files
        rows += _lines(entry, wanted)
    rows = _newest_first(rows, asked)
    facts = {"pattern": asked.arguments["pattern"], **_facts(asked, found)}
    return ToolResult("diff_lines", _table("diff_lines", rows), facts, found.complete, tuple(found.notices))


def _is_cut(entry: Entry) -> bool:
    files = entry.get("files") or ()
    return bool(entry.get("filesLeftOut")) or any(
        file.get("hunksLeftOut") or any(hunk.get("truncated") for hunk in file.get("hunks") or ()) for file in files
    )


async def _whole_diff(asked: ToolRequest, entry: Entry, found: DatedPages) -> list[Mapping[str, Any]]:
    """Files of a commit with all of their hunks; those that the search gave where these can't be had."""
    oid = str(entry["oid"])
    given = {"repo": entry["repo"], "head": oid}
    try:
        try:
            rows, value = await _compared(asked, {**given, "base": f"{oid}~1"})
        except (RevisionNotFound, ToolError):  # a first commit
            rows, value = await _compared(asked, {**given, "base": _EMPTY_TREE})
    except (ToolError, RepositoryError) as exc:
        files = list(entry.get("files") or ())
        hunks = sum(int(file.get("hunksLeftOut") or 0) for file in files)
        cut = sum(bool(hunk.get("truncated")) for file in files for hunk in file.get("hunks") or ())
        found.complete = False
        found.notices[
            f"{entry['repo']}@{oid[:7]} has more matching lines than the service gives: it leaves out "
            f"{int(entry.get('filesLeftOut') or 0):,} files and {hunks:,} hunks, and cuts {cut:,} hunks ({exc})."
        ] = None
        return files
    short = [row for row in rows if row["truncated"] or (row["patch"] is None and not row["binary"])]
    if short:
        changed = sum((row["additions"] or 0) + (row["deletions"] or 0) for row in short)
        found.complete = False
        found.notices[
            f"{entry['repo']}@{oid[:7]}: the service cuts the patches of {len(short):,} of {len(rows):,} files, which "
            f"have {changed:,} changed lines; matching lines may be missing."
        ] = None
    if (value.get("pageInfo") or {}).get("hasNextPage"):
        found.complete = False
        found.notices[f"{entry['repo']}@{oid[:7]} has more than {len(rows):,} files, the rest was not read."] = None
    return [{"oldPath": row["old_path"], "newPath": row["path"], "hunks": hunks_of(row["patch"] or "")} for row in rows]


def _lines(entry: Entry, wanted: LineFilter) -> Iterator[dict[str, Any]]:
    """Matched lines of a commit's diff."""
    commit = _row(entry, "diff_lines")
    for file in entry.get("files") or ():
        path = str(file.get("newPath") or file.get("path") or file.get("oldPath"))
        old_path = str(file.get("oldPath") or path)
        if wanted.wants(path, old_path):
            place = {**commit, "path": path, "old_path": old_path}
            for line in wanted.rows(file.get("hunks") or ()):
                yield {**place, **line}


def _newest_first(rows: list[dict[str, Any]], asked: ToolRequest) -> list[dict[str, Any]]:
    """Rows in the order in which the repositories were asked for; the service gives its newest first over all."""
    repos = asked.arguments.get("repos") or ()
    order = {name: at for at, name in enumerate([repos] if isinstance(repos, str) else repos)}
    return sorted(rows, key=lambda row: order.get(str(row["repository"]), len(order)))


async def _compare_revisions(asked: ToolRequest) -> ToolResult:
    rows, value = await _compared(asked, dict(asked.arguments))
    page = value.get("pageInfo") or {}
    base, head, totals = (value.get(name) or {} for name in ("base", "head", "totals"))
    facts = {
        "repository": asked.arguments["repo"],
        "base": base.get("oid", ""),
        "head": head.get("oid", ""),
        "base_revision": asked.arguments["base"],
        "head_revision": asked.arguments["head"],
        "relation": value.get("relation", ""),
        "total_files": totals.get("files"),
        "end_cursor": page.get("endCursor"),
        "total_additions": totals.get("additions"),
        "total_deletions": totals.get("deletions"),
    }
    missing = any(row["patch"] is None and not row["binary"] for row in rows)
    complete = not page.get("hasNextPage") and not missing and not any(row["truncated"] for row in rows)
    said = notices(value)
    if asked.arguments.get("first") is None and not page.get("hasNextPage"):
        said = tuple(text for text in said if "endCursor" not in text)  # of a page, and this is all of them
    return ToolResult("file_diffs", _table("file_diffs", rows), facts, complete, said)


async def _compared(asked: ToolRequest, given: dict[str, Any]) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """File diffs, page after page unless a number is wanted, and the last page."""
    wanted: int | None = given.get("first")
    size = taken(await asked.schema("compare_revisions"), "first")
    if wanted is None and size is not None:
        given[size] = bounds(await asked.schema("compare_revisions"), size)[1] or _MOST_FILES
    rows: list[dict[str, Any]] = []
    value: Mapping[str, Any] = {}
    for _ in range(_MOST_PAGES):
        read = (await asked.ask(given, "compare_revisions")).read(("fileDiffs",))
        if isinstance(read, str):
            raise ProtocolError(
                "the service answered compare_revisions with text that is not known to this version", excerpt=read[:120]
            )
        value = read
        rows += [_file_diff(given["repo"], value, entry, len(rows)) for entry in value.get("fileDiffs") or ()]
        page = value.get("pageInfo") or {}
        asked.tell("comparing", len(rows), int((value.get("totals") or {}).get("files") or 0), "files")
        if wanted is not None or not page.get("hasNextPage") or not page.get("endCursor"):
            break
        given["after"] = page["endCursor"]
    return rows, value


def _file_diff(repo: str, value: Mapping[str, Any], entry: Entry, position: int) -> dict[str, Any]:
    row = _row(entry, "file_diffs")
    path, old = entry.get("newPath"), entry.get("oldPath")
    row |= {
        "repository": repo,
        "base": (value.get("base") or {}).get("oid", ""),
        "head": (value.get("head") or {}).get("oid", ""),
        "path": path or old,
        "old_path": old or path,
        "truncated": bool(entry.get("truncated")),
        "binary": bool(entry.get("binary")),
        "status": str(entry.get("status") or "modified"),
    }
    row["position"] = position if row["position"] is None else row["position"]
    return row


async def _get_contributor_repos(asked: ToolRequest) -> ToolResult:
    given = dict(asked.arguments)
    schema = await asked.schema()
    size = taken(schema, "limit")
    if "limit" not in given and size is not None:
        given[size] = bounds(schema, size)[1] or _MOST_REPOSITORIES
    value = (await asked.ask(given)).read(("repos",))
    if isinstance(value, str):
        raise ProtocolError(
            "the service answered get_contributor_repos with text that is not known to this version",
            excerpt=value[:120],
        )
    entries = list(value.get("repos") or ())
    rows = [_row(entry, "contributor_repositories") for entry in entries]
    authors = given.get("authors") or ([given["author"]] if given.get("author") else [])
    facts = {"authors": authors, "total": value.get("totalCount", len(rows))}
    cut = is_cut(value) if "limitHit" in value else len(rows) == given.get(size or "limit", 20)
    said = notices(value) or (("The service gives no more than these.",) if cut else ())
    left_out = [str(entry.get("name")) for entry in entries if entry.get("authorsLeftOut")]
    if left_out:
        said = (*said, f"Only the first authors of {', '.join(left_out[:5])} are named.")
        cut = True
    return ToolResult("contributor_repositories", _table("contributor_repositories", rows), facts, not cut, said)


def _facts(asked: ToolRequest, found: DatedPages) -> dict[str, Any]:
    """What was asked as the service understood it, and how many commits there are."""
    repos = asked.arguments.get("repos") or ()
    told = {
        name: found.facts[name] for name in ("after", "before") if asked.arguments.get(name) and name in found.facts
    }
    total = len(found.entries) if found.complete else found.facts.get("totalCount")
    return {"repositories": [repos] if isinstance(repos, str) else list(repos), "total": total, **told}


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "commit_search": _commit_search,
    "diff_search": _diff_search,
    "compare_revisions": _compare_revisions,
    "get_contributor_repos": _get_contributor_repos,
}
