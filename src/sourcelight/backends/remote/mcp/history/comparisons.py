"""`compare_revisions` of a service: the changed files between two revisions, from patches or lists of files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.backends.remote.mcp.history.entries import Entry, UnparsedText, row_of
from sourcelight.backends.remote.mcp.history.texts import parse_comparison
from sourcelight.backends.remote.mcp.payloads import keep_text, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.backends.remote.mcp.text_forms import means_empty
from sourcelight.core.batches.patches import patch_facts
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of_rows

_MAX_PAGES = 10_000
"""Maximum pages of one comparison, because a broken service may return cursors forever."""

_MAX_FILES = 100  # of a page, as services document it
_USUAL_PAGES = frozenset({50, 100})  # of compare_revisions, without and with the largest `first`
_HEX = re.compile(r"[0-9a-f]{40}")
"""A commit."""


async def compare_revisions(request: ToolRequest) -> ToolResult:
    """Return the changed files between two revisions, all of them or a page."""
    arguments = request.arguments
    try:
        comparison = await read_comparison(request, dict(arguments))
    except UnparsedText as exc:
        return keep_text(request.name, exc.text, repository=arguments["repo"])

    rows = comparison.rows
    is_short = bool(arguments.get("stat"))
    lacks_patches = not is_short and any(row["patch"] is None and not row["binary"] for row in rows)
    truncated_count = sum(row["truncated"] for row in rows)
    missing_notice = ""
    complete = not comparison.has_more and not lacks_patches and truncated_count == 0
    if complete:
        missing_notice = _missing_notice(comparison, arguments)
        complete = not missing_notice

    # Notices are those of the last page, but files of any page may be truncated: count them here instead.
    messages = [text for text in notices(comparison.last_page) if "are truncated to" not in text]
    if truncated_count:
        messages.append(f"The service truncates the patches of {count_of(truncated_count, 'file')}.")

    if missing_notice:
        messages.append(missing_notice)

    if arguments.get("first") is None and not comparison.has_more:
        # All pages were read, so a notice about the next page would mislead.
        messages = [text for text in messages if "endCursor" not in text]

    if is_short:
        # A service without a short form sends patches, whose lines have been counted by now.
        rows = [{**row, "patch": None} for row in rows]

    return ToolResult(
        columns="file_diffs",
        table=table_of_rows("file_diffs", rows),
        attributes=_comparison_info(comparison, arguments),
        complete=complete,
        notices=tuple(messages),
    )


@dataclass(frozen=True, slots=True)
class ComparisonPages:
    """File diffs of all pages that were read, as rows, and the last page with facts about the whole."""

    rows: Sequence[Mapping[str, Any]]
    last_page: Mapping[str, Any]

    @property
    def page_info(self) -> Mapping[str, Any]:
        """The cursors of the last page; empty if the service sends none."""
        info: Mapping[str, Any] = self.last_page.get("pageInfo") or {}
        return info

    @property
    def has_more(self) -> bool:
        """Whether the service has more pages."""
        return bool(self.page_info.get("hasNextPage"))

    @property
    def totals(self) -> Mapping[str, Any]:
        """Files and changed lines of the whole comparison; empty if the service doesn't count them."""
        totals: Mapping[str, Any] = self.last_page.get("totals") or {}
        return totals


def _missing_notice(comparison: ComparisonPages, arguments: Mapping[str, Any]) -> str:
    """Return a notice if a comparison that looks complete may not be; else an empty text."""
    row_count, totals = len(comparison.rows), comparison.totals
    missing = int(totals.get("files") or 0) - row_count
    if missing > 0 and "first" not in arguments and "after" not in arguments:
        return f"The service counts {count_of(missing, 'file')} more than it returns."

    # Without a page, totals or a limit, only a usual page size hints that there are more files.
    says_size = comparison.page_info or totals or "limitHit" in comparison.last_page
    if not says_size and row_count in _USUAL_PAGES:
        return f"The service returns {row_count:,} files, which may be as many as it returns at once."

    return ""


def _comparison_info(comparison: ComparisonPages, arguments: Mapping[str, Any]) -> dict[str, Any]:
    page, totals = comparison.last_page, comparison.totals
    info = {
        "repository": arguments["repo"],
        "base": (page.get("base") or {}).get("oid", ""),
        "head": (page.get("head") or {}).get("oid", ""),
        "base_revision": arguments["base"],
        "head_revision": arguments["head"],
        "relation": page.get("relation", ""),
        "total_files": totals.get("files"),
        "end_cursor": comparison.page_info.get("endCursor"),
        "total_additions": totals.get("additions"),
        "total_deletions": totals.get("deletions"),
    }
    if not totals and not comparison.page_info and "limitHit" in page and "after" not in arguments:
        info |= _totals(comparison.rows)

    return info


def _totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, int | None]:
    """Return the totals of a complete comparison; those of lines are None if the patch of a file is unknown."""
    totals: dict[str, int | None] = {"total_files": len(rows)}
    for name in ("additions", "deletions"):
        counts = [row[name] for row in rows]
        totals[f"total_{name}"] = None if None in counts else sum(counts)
    return totals


async def read_comparison(request: ToolRequest, arguments: dict[str, Any]) -> ComparisonPages:
    """Read the file diffs of `compare_revisions`, page after page unless `arguments` have a limit.

    Raises
    ------
    UnparsedText
        For a text in an unknown form.
    """
    limit: int | None = arguments.get("first")
    accepted = await request.accepted_arguments("compare_revisions")
    size = accepted.name_of("first")
    if "stat" not in accepted:
        arguments.pop("stat", None)

    if limit is None and size is not None:
        arguments[size] = accepted.maximums.get(size) or _MAX_FILES

    rows: list[dict[str, Any]] = []
    comparison = ComparisonPages(rows, {})
    cursors = {arguments.get("after")}
    for _ in range(_MAX_PAGES):
        value = (await request.ask(arguments, "compare_revisions")).read(("fileDiffs",))
        page = _to_payload(value, arguments) if isinstance(value, str) else value
        for position, entry in enumerate(page.get("fileDiffs") or (), int(page.get("offset") or len(rows))):
            rows.append(_file_diff(arguments["repo"], page, entry, position))

        comparison = ComparisonPages(rows, page)
        request.report("comparing", len(rows), int(comparison.totals.get("files") or 0), "files")
        cursor = comparison.page_info.get("endCursor")
        if limit is not None or not comparison.has_more or not cursor or cursor in cursors:
            break

        cursors.add(cursor)
        arguments["after"] = cursor

    return comparison


def _to_payload(text: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the text of a comparison as a typed payload; raise `UnparsedText` for an unknown form."""
    if means_empty(text):
        return {"fileDiffs": [], "pageInfo": {"hasNextPage": False}}

    comparison = parse_comparison(text)
    if comparison is None:
        raise UnparsedText(text)

    payload: dict[str, Any] = {"fileDiffs": comparison.entries}
    for name, oid in (("base", comparison.base), ("head", comparison.head)):
        if _HEX.fullmatch(oid):
            payload[name] = {"oid": oid}

    has_more = bool(comparison.cursor or comparison.notes)
    is_page = len(comparison.entries) in _USUAL_PAGES or len(comparison.entries) == arguments.get("first")
    if has_more:
        payload["pageInfo"] = {"endCursor": comparison.cursor or None, "hasNextPage": True}
    elif not is_page:
        payload["limitHit"] = False

    if comparison.notes:
        payload["notices"] = comparison.notes
    return payload


def _file_diff(repo: str, page: Mapping[str, Any], entry: Entry, position: int) -> dict[str, Any]:
    row = row_of(entry, "file_diffs")
    path, old = entry.get("newPath"), entry.get("oldPath")
    row |= {
        "repository": repo,
        "base": (page.get("base") or {}).get("oid", ""),
        "head": (page.get("head") or {}).get("oid", ""),
        "path": path or old,
        "old_path": old or path,
        "truncated": bool(entry.get("truncated")),
        "binary": bool(entry.get("binary")),
        "status": str(entry.get("status") or "modified"),
    }
    if row["patch"] is not None:
        for name, value in patch_facts(row["patch"], is_whole=not row["truncated"]).items():
            if row[name] is None or (name == "binary" and not row[name]):
                row[name] = value

    if row["position"] is None:
        row["position"] = position
    return row
