"""The handler of `compare_revisions`: the files that differ between two revisions, all or by pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.batches.patches import abbreviate_object_ids, patch_facts
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import SearchIndexError
from sourcelight.core.markup import count_of, fence_around, one_line
from sourcelight.core.tools.commits import COMPARE_REVISIONS, CompareRevisionsArguments
from sourcelight.engines.history import History
from sourcelight.engines.history.compare import Comparison, FileDiff, compare, read_cursor, write_cursor
from sourcelight.engines.history.compare.comparison import EMPTY
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, Rendered, tail, with_notices
from sourcelight.engines.tools.history.diffs import file_diffs
from sourcelight.engines.tools.history.diffs.items import FILE_ITEMS
from sourcelight.engines.tools.rows import join_parts
from sourcelight.repos import Repository, resolve

DEFAULT_FIRST = 50
"""Files of a served page without a limit."""
DEFAULT_STAT = 100
"""As `DEFAULT_FIRST`, of a page without patches."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's id of the empty tree. As the base of a comparison, it makes every file of the head new."""

_KEYS_BESIDE_PATCH = {
    "additions": "additions",
    "deletions": "deletions",
    "binary": "binary",
    "mode": "mode",
    "old_mode": "oldMode",
    "object_id": "objectId",
    "old_object_id": "oldObjectId",
    "score": "similarity",
}
"""Columns of a file that its patch may lack, and their keys in a payload."""


def _compare_revisions(arguments: CompareRevisionsArguments, context: ToolContext) -> ToolResult:
    """Compare two revisions: a page of files when served or requested, else all of them."""
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    base = EMPTY
    if arguments.base != EMPTY_TREE:
        base = resolve(repository, arguments.base)

    head = resolve(repository, arguments.head)
    start = 0
    if arguments.cursor:
        # The cursor names both commits: a branch that moved between two pages would skip or repeat files.
        start = read_cursor(arguments.cursor, base, head)

    comparison = compare(repository, base, head, context.cancellation, history=_stored_history(repository, context))
    page = _read_page(comparison, arguments, start, context)
    notices = [*comparison.notices, *_page_notices(page)]
    attributes: dict[str, Any] = {
        "repository": repository.name,
        "base": base,
        "head": head,
        "base_revision": arguments.base,
        "head_revision": arguments.head,
        "relation": comparison.relation,
        "total_files": page.total,
        "end_cursor": None if page.is_last else write_cursor(base, head, page.end),
    }
    if page.left_out:
        attributes |= _totals(None, None)
    elif page.is_last and not start:
        attributes |= _totals(
            additions=sum(diff.additions or 0 for diff in page.diffs),
            deletions=sum(diff.deletions or 0 for diff in page.diffs),
        )
    elif context.served:
        totals = comparison.totals(context.cancellation)
        if totals is None:
            attributes |= _totals(None, None)
            notices.append("The changed files are too large together for their lines to be counted.")
        else:
            attributes |= _totals(*totals)

    diffs = page.diffs
    if arguments.stat:
        # After missing patches were counted: these are dropped because they were not requested.
        diffs = [replace(diff, patch=None) for diff in diffs]

    return ToolResult(
        columns="file_diffs",
        table=file_diffs.diff_table(comparison, diffs, page.is_cut),
        attributes=attributes,
        complete=page.is_last and not page.missing and not page.left_out and not any(page.is_cut),
        notices=tuple(notices),
    )


def _totals(additions: int | None, deletions: int | None) -> dict[str, int | None]:
    """Return the attributes that count the lines of all files; None if they weren't counted."""
    return {"total_additions": additions, "total_deletions": deletions}


@dataclass(frozen=True, slots=True)
class _Page:
    """Some files of a comparison.

    Attributes
    ----------
    diffs
        The files.
    is_cut
        Whether the patch of each is truncated.
    start
        Position of the first one among all files.
    total
        Number of all files.
    left_out
        Files without a patch, because the patches of all are too large together.
    missing
        Files without a patch, because the clone lacks their contents.
    """

    diffs: list[FileDiff]
    is_cut: list[bool]
    start: int
    total: int
    left_out: int
    missing: int

    @property
    def end(self) -> int:
        """Position after the last file."""
        return self.start + len(self.diffs)

    @property
    def is_last(self) -> bool:
        """Whether no file follows."""
        return self.end >= self.total


def _read_page(comparison: Comparison, arguments: CompareRevisionsArguments, start: int, context: ToolContext) -> _Page:
    limit = arguments.limit
    if limit is None and context.served:
        limit = DEFAULT_STAT if arguments.stat else DEFAULT_FIRST

    total = len(comparison.changes)
    left_out = 0
    if limit is None and not start:
        diffs = file_diffs.with_progress(comparison.all_diffs(context.cancellation), total, context)
        # Pages read each of their files, however large all are together; only a whole comparison leaves files out.
        left_out = comparison.left_out
    else:
        end = total if limit is None else start + limit
        selected = comparison.changes[start:end]
        diffs = file_diffs.with_progress(comparison.diffs(selected, context.cancellation), len(selected), context)

    is_cut = [False] * len(diffs)
    if context.served and not arguments.stat:
        diffs = _take_fitting(diffs)
        is_cut = [file_diffs.patch_bytes(diff) > file_diffs.MAX_PATCH_BYTES for diff in diffs]

    without_patch = sum(diff.patch is None for diff in diffs)
    return _Page(
        diffs=diffs, is_cut=is_cut, start=start, total=total, left_out=left_out, missing=without_patch - left_out
    )


def _page_notices(page: _Page) -> list[str]:
    notices = []
    if page.left_out:
        notices.append(f"{page.left_out:,} files are too large together, and have no patch; ask for them by pages.")

    if page.missing:
        files = count_of(page.missing, "file")
        notices.append(f"The contents of {files} are missing from this clone and have no patch.")

    cut_count = sum(page.is_cut)
    if cut_count:
        files = count_of(cut_count, "file")
        notices.append(f"The patches of {files} are truncated to {file_diffs.MAX_PATCH_BYTES:,} bytes each.")

    if not page.is_last:
        range_text = f"Files {page.start + 1:,} to {page.end:,} of {page.total:,} are shown"
        notices.append(f"{range_text}; pass endCursor as after for the next.")

    return notices


def _stored_history(repository: Repository, context: ToolContext) -> History | None:
    """Return the stored history of the repository, or None: it speeds up a comparison, which works without it."""
    try:
        return context.local.history.open(repository)
    except (SearchIndexError, OSError):
        return None


def _take_fitting(diffs: Sequence[FileDiff]) -> list[FileDiff]:
    """Return as many diffs as fit a served page with their patches truncated, at least one."""
    remaining_bytes = file_diffs.MAX_PAGE_BYTES
    fitting: list[FileDiff] = []
    for diff in diffs:
        remaining_bytes -= min(file_diffs.patch_bytes(diff), file_diffs.MAX_PATCH_BYTES)
        # A page without a file would give its own cursor again.
        if fitting and remaining_bytes < 0:
            break
        fitting.append(diff)

    return fitting


def _render_comparison(answer: ToolResult, context: ToolContext) -> Rendered:  # noqa: ARG001 - a renderer
    """Return file diffs as objects, and as fenced diffs."""
    attributes = answer.attributes
    rows = answer.table.to_pylist()
    has_patches = any(row["patch"] is not None for row in rows)
    texts: list[str] = []
    for row in rows:
        texts += _file_texts(row, has_patches=has_patches)

    totals = {
        "files": attributes["total_files"],
        "additions": attributes["total_additions"],
        "deletions": attributes["total_deletions"],
    }
    payload = {
        "repo": attributes["repository"],
        "base": {"rev": attributes["base_revision"], "oid": attributes["base"]},
        "head": {"rev": attributes["head_revision"], "oid": attributes["head"]},
        "relation": attributes["relation"],
        "fileDiffs": [_file_payload(row) for row in rows],
        **_page_keys(answer, totals),
        **tail(answer),
    }
    counts = count_of(totals["files"], "file")
    if totals["additions"] is not None:
        counts += f", +{totals['additions']} -{totals['deletions']}"

    range_text = f"{attributes['base_revision']}..{attributes['head_revision']}"
    title = one_line(f"Comparing {range_text} in {attributes['repository']} ({counts})")
    lines = [title, "", *texts]
    if attributes["end_cursor"]:
        lines.append(f"endCursor: {attributes['end_cursor']}")

    return payload, with_notices("\n".join(lines) + "\n", answer)


def _file_payload(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file as an object, without an old path that is the same and without a missing patch."""
    payload = {}
    if row["old_path"] != row["path"]:
        payload["oldPath"] = row["old_path"]

    payload |= {"newPath": row["path"], "status": row["status"]}
    if row["patch"] is not None:
        payload["patch"] = row["patch"]

    payload |= _beside_patch(row)
    if row["truncated"]:
        payload["truncated"] = True
    return payload


def _file_texts(row: Mapping[str, Any], *, has_patches: bool) -> Iterator[str]:
    """Yield the heading of a file, and its patch as a fenced diff."""
    name = one_line(row["path"])
    if row["old_path"] != row["path"]:
        name = one_line(f"{row['old_path']} → {row['path']}")

    counts = ""
    if row["additions"] is not None:
        counts = f"+{row['additions']} -{row['deletions']}"

    # A list of files without patches says only what is unusual about each; most are modified.
    status = row["status"]
    if has_patches:
        yield f"{name} ({', '.join(filter(None, (status, counts)))})"
    else:
        yield join_parts([name, "" if status == "modified" else f"({status})", counts])

    if row["patch"]:
        notes = "".join(f"({note})\n" for note in file_diffs.patch_notes(row))
        patch = abbreviate_object_ids(row["patch"]).removesuffix("\n")
        fence = fence_around(patch, 3)
        yield f"{fence}diff\n{patch}\n{fence}\n{notes}"


def _beside_patch(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a file that can't be read from its patch."""
    patch_attributes: dict[str, Any] = {}
    if row["patch"] is not None:
        patch_attributes = patch_facts(row["patch"], is_whole=not row["truncated"])

    patch_attributes.setdefault("binary", False)
    payload = {}
    for name, key in _KEYS_BESIDE_PATCH.items():
        value = row[name]
        if value is not None and value != patch_attributes.get(name):
            payload[key] = value
    return payload


def _page_keys(answer: ToolResult, totals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the start of a page, the next cursor, and the totals of all pages; empty for a comparison on one page."""
    attributes = answer.attributes
    positions = answer.table.column("position").to_pylist()
    offset = positions[0] if positions else 0
    if not offset and attributes["end_cursor"] is None:
        return {}

    page: dict[str, Any] = {"hasNextPage": False}
    if attributes["end_cursor"] is not None:
        page = {"endCursor": attributes["end_cursor"], "hasNextPage": True}

    keys: dict[str, Any] = {}
    if offset:
        keys["offset"] = offset
    return keys | {"totals": totals, "pageInfo": page}


HANDLERS: tuple[Handler[Any], ...] = (Handler(COMPARE_REVISIONS, _compare_revisions, _render_comparison, FILE_ITEMS),)
