"""Handlers of `compare_revisions` and `commit_details`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.commit_messages import trailers_of
from sourcelight.core.batches.patches import abbreviate_object_ids, patch_facts
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import RevisionNotFound, SearchIndexError
from sourcelight.core.markup import count_of, fence_around, one_line
from sourcelight.core.notices import Rule
from sourcelight.core.tools.commits import (
    COMMIT_DETAILS,
    COMPARE_REVISIONS,
    CommitDetailsArguments,
    CompareRevisionsArguments,
)
from sourcelight.engines.history import History
from sourcelight.engines.history.compare import Comparison, FileDiff, compare, read_cursor, write_cursor
from sourcelight.engines.history.compare.comparison import EMPTY
from sourcelight.engines.history.compare.patches import decode_patch
from sourcelight.engines.history.history import UNKNOWN
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, Rendered, tail, with_notices
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.diff_items import FILE_ITEMS
from sourcelight.engines.tools.history.histories import open_histories
from sourcelight.engines.tools.history.newest_commits import commit_rows
from sourcelight.engines.tools.rows import join_parts, stamp
from sourcelight.repos import ObjectReader, Repository, resolve

DEFAULT_FIRST, DEFAULT_STAT = 50, 100

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's id of the empty tree. As the base of a comparison, it makes every file of the head new."""

_MAX_PATCH_BYTES = 100_000
_MAX_PAGE_BYTES = 400_000

_MAX_SOURCE_BYTES = 1 << 20
"""Bytes of both contents of a file above which a page leaves out its patch."""

_REPORT_EVERY = 20
_FACTS = {
    "additions": "additions",
    "deletions": "deletions",
    "binary": "binary",
    "mode": "mode",
    "old_mode": "oldMode",
    "object_id": "objectId",
    "old_object_id": "oldObjectId",
    "score": "similarity",
}
REPLACED_BYTES = "U+FFFD may replace bytes that aren't UTF-8; then the patch doesn't apply"


def _compare_revisions(arguments: CompareRevisionsArguments, context: ToolContext) -> ToolResult:
    """Compare two revisions: a page of files when served or requested, else all of them."""
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    base = EMPTY if arguments.base == EMPTY_TREE else resolve(repository, arguments.base)
    head = resolve(repository, arguments.head)
    cursor = arguments.cursor

    # The cursor names both commits: a branch that moved between two pages would skip or repeat files.
    start = read_cursor(cursor, base, head) if cursor else 0
    comparison = compare(repository, base, head, context.cancellation, history=_stored_history(repository, context))
    page = _read_page(comparison, arguments, start, context)
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
    notices = [*comparison.notices, *_page_notices(page)]
    if page.left_out:
        attributes["total_additions"] = attributes["total_deletions"] = None
    elif page.is_last and not start:
        attributes["total_additions"] = sum(diff.additions or 0 for diff in page.diffs)
        attributes["total_deletions"] = sum(diff.deletions or 0 for diff in page.diffs)
    elif context.served:
        totals = comparison.totals(context.cancellation)
        attributes["total_additions"], attributes["total_deletions"] = totals or (None, None)
        if totals is None:
            notices.append("The changed files are too large together for their lines to be counted.")

    complete = page.is_last and not page.missing and not page.left_out and not any(page.is_cut)
    # After counting missing patches: these are dropped because they were not requested.
    diffs = [replace(diff, patch=None) for diff in page.diffs] if arguments.stat else page.diffs
    return ToolResult(
        columns="file_diffs",
        table=diff_table(comparison, diffs, page.is_cut),
        attributes=attributes,
        complete=complete,
        notices=tuple(notices),
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """Files of a comparison from `start`, and which of their patches are truncated.

    `left_out` counts files without a patch because all are too large together, `missing` those without content.
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
    is_whole = limit is None and not start
    if is_whole:
        diffs = _with_progress(comparison.all_diffs(context.cancellation), total, context)
    else:
        selected = comparison.changes[start:] if limit is None else comparison.changes[start : start + limit]
        diffs = _with_progress(comparison.diffs(selected, context.cancellation), len(selected), context)

    is_cut = [False] * len(diffs)
    if context.served and not arguments.stat:
        diffs, is_cut = _fitting(diffs)

    # Pages read each of their files, however large all are together; only a whole comparison leaves files out.
    left_out = comparison.left_out if is_whole else 0
    missing = sum(diff.patch is None for diff in diffs) - left_out
    return _Page(diffs, is_cut, start, total, left_out, missing)


def _page_notices(page: _Page) -> list[str]:
    notices = []
    if page.left_out:
        notices.append(f"{page.left_out:,} files are too large together, and have no patch; ask for them by pages.")

    if page.missing:
        files = count_of(page.missing, "file")
        notices.append(f"The contents of {files} are missing from this clone and have no patch.")

    notices += _cut_notices(sum(page.is_cut))
    if not page.is_last:
        range_text = f"Files {page.start + 1:,} to {page.end:,} of {page.total:,} are shown"
        notices.append(f"{range_text}; pass endCursor as after for the next.")

    return notices


def _cut_notices(count: int) -> list[str]:
    text = f"The patches of {count_of(count, 'file')} are truncated to {_MAX_PATCH_BYTES:,} bytes each."
    return [text] if count else []


def _stored_history(repository: Repository, context: ToolContext) -> History | None:
    """Return the stored history of the repository, or None: it speeds up a comparison, which works without it."""
    try:
        return context.local.history.open(repository)
    except (SearchIndexError, OSError):
        return None


def _with_progress(diffs: Iterable[FileDiff], total: int, context: ToolContext) -> list[FileDiff]:
    reported = []
    for diff in diffs:
        reported.append(diff)
        if context.observer is not None and len(reported) % _REPORT_EVERY == 0:
            context.observer(ToolProgress(stage="comparing", done=len(reported), total=total, detail="files"))
    return reported


def _fitting(diffs: Sequence[FileDiff]) -> tuple[list[FileDiff], list[bool]]:
    """Return as many diffs as fit a served page, at least one, and which of their patches must be truncated."""
    remaining_bytes = _MAX_PAGE_BYTES
    fitting: list[FileDiff] = []
    for diff in diffs:
        remaining_bytes -= min(len(diff.patch or b""), _MAX_PATCH_BYTES)
        # A page without a file would give its own cursor again.
        if fitting and remaining_bytes < 0:
            break
        fitting.append(diff)

    return fitting, [len(diff.patch or b"") > _MAX_PATCH_BYTES for diff in fitting]


def diff_table(comparison: Comparison, diffs: Sequence[FileDiff], truncated: Sequence[bool]) -> Any:
    """Return rows of the table ``file_diffs``."""
    changes = [diff.change for diff in diffs]
    patches = [_text(diff, is_truncated=short) for diff, short in zip(diffs, truncated, strict=True)]
    return tables.table(
        "file_diffs",
        {
            "repository": comparison.repository.name,
            "base": comparison.base,
            "head": comparison.head,
            "position": [change.ordinal for change in changes],
            "path": [change.path.decode("utf-8", "replace") for change in changes],
            "old_path": [change.old_path.decode("utf-8", "replace") for change in changes],
            "status": [change.status for change in changes],
            "score": [change.score for change in changes],
            "additions": [diff.additions for diff in diffs],
            "deletions": [diff.deletions for diff in diffs],
            "binary": [diff.binary for diff in diffs],
            "mode": [change.mode for change in changes],
            "old_mode": [change.old_mode for change in changes],
            "object_id": [change.object_id for change in changes],
            "old_object_id": [change.old_object_id for change in changes],
            "patch": pa.array(patches, pa.string()),
            "truncated": list(truncated),
        },
        len(diffs),
    )


def _text(diff: FileDiff, *, is_truncated: bool) -> str | None:
    if diff.patch is None:
        return None
    if is_truncated:
        # After a line: half a line, or half a letter of UTF-8, would look like a change.
        end = diff.patch.rfind(b"\n", 0, _MAX_PATCH_BYTES) + 1
        diff = replace(diff, patch=diff.patch[: end or _MAX_PATCH_BYTES])
    return decode_patch(diff)


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
    line_totals = "" if totals["additions"] is None else f", +{totals['additions']} -{totals['deletions']}"
    base, head = attributes["base_revision"], attributes["head_revision"]
    counts = f"{count_of(totals['files'], 'file')}{line_totals}"
    title = one_line(f"Comparing {base}..{head} in {attributes['repository']} ({counts})")
    cursor_lines = [f"endCursor: {attributes['end_cursor']}"] if attributes["end_cursor"] else []
    return payload, with_notices("\n".join([title, "", *texts, *cursor_lines]) + "\n", answer)


def _file_payload(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file as an object, without an old path that is the same and without a missing patch."""
    payload = {} if row["old_path"] == row["path"] else {"oldPath": row["old_path"]}
    payload |= {"newPath": row["path"], "status": row["status"]}
    if row["patch"] is not None:
        payload["patch"] = row["patch"]

    payload |= _beside_patch(row)
    if row["truncated"]:
        payload["truncated"] = True
    return payload


def _file_texts(row: Mapping[str, Any], *, has_patches: bool) -> Iterator[str]:
    """Yield the heading of a file, and its patch as a fenced diff."""
    name = one_line(row["path"] if row["path"] == row["old_path"] else f"{row['old_path']} → {row['path']}")
    counts = "" if row["additions"] is None else f"+{row['additions']} -{row['deletions']}"
    if has_patches:
        yield f"{name} ({', '.join(filter(None, (row['status'], counts)))})"
    else:
        yield join_parts([name, "" if row["status"] == "modified" else f"({row['status']})", counts])

    if row["patch"]:
        notes = "".join(f"({note})\n" for note in _patch_notes(row))
        patch = abbreviate_object_ids(row["patch"]).removesuffix("\n")
        fence = fence_around(patch, 3)
        yield f"{fence}diff\n{patch}\n{fence}\n{notes}"


def _beside_patch(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a file that can't be read from its patch."""
    patch_attributes = {} if row["patch"] is None else patch_facts(row["patch"], is_whole=not row["truncated"])
    patch_attributes.setdefault("binary", False)
    return {
        key: row[name]
        for name, key in _FACTS.items()
        if row[name] is not None and row[name] != patch_attributes.get(name)
    }


def _page_keys(answer: ToolResult, totals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the start of a page, the next cursor, and the totals of all pages; empty for a comparison on one page."""
    attributes = answer.attributes
    positions = answer.table.column("position").to_pylist()
    offset = positions[0] if positions else 0
    if not offset and attributes["end_cursor"] is None:
        return {}

    page = {"hasNextPage": False}
    if attributes["end_cursor"] is not None:
        page = {"endCursor": attributes["end_cursor"], "hasNextPage": True}

    keys = {"totals": totals, "pageInfo": page}
    return {"offset": offset, **keys} if offset else keys


def _patch_notes(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why a patch can't be applied."""
    if row["truncated"]:
        yield "the patch is truncated"
    if row["binary"] and "\nBinary files " in row["patch"]:
        yield "the contents of a binary file are left out of the patch"
    if "\ufffd" in row["patch"]:
        yield REPLACED_BYTES


def _commit_details(arguments: CommitDetailsArguments, context: ToolContext) -> ToolResult:
    """Return the files that a commit changed against its first parent; attributes describe the commit."""
    histories = open_histories("commit_details", context, [arguments.repo], [arguments.revision])
    if not histories.selections:
        raise RevisionNotFound(arguments.repo, arguments.revision)

    snapshot = histories.selections[0]
    history, (oid,) = snapshot.history, snapshot.commits
    number = history.position(oid)
    assert number is not None  # noqa: S101 - opened histories hold their commits
    (row,) = commit_rows(snapshot, _single_number(number)).to_pylist()
    base = row["parents"][0] if row["parents"] else EMPTY
    comparison = compare(snapshot.repository, base, oid, context.cancellation, history=history)
    if context.served:
        page_diffs = _page_diffs(comparison, history, number, context)
    else:
        page_diffs = comparison.all_diffs(context.cancellation)
    diffs = _with_progress(page_diffs, len(comparison.changes), context)
    notices = list(histories.notices)
    long = sum(diff.patch is None for diff in diffs) if context.served else comparison.left_out
    if long:
        notices.append(f"{long:,} patches are left out: they are long, or their contents are missing from this clone.")

    if len(row["parents"]) > 1:
        notices.append(Rule("This is a merge: its files are compared with its first parent.", "merges"))

    attributes = {name: stamp(value) if name.endswith("_date") else value for name, value in row.items()}
    attributes["trailers"] = [
        {"token": trailer.token, "value": trailer.value} for trailer in trailers_of(row["message"])
    ]
    attributes["revision"] = arguments.revision
    complete = histories.complete and all(diff.patch is not None for diff in diffs)
    table = diff_table(comparison, diffs, [False] * len(diffs))
    return ToolResult(
        columns="file_diffs", table=table, attributes=attributes, complete=complete, notices=tuple(notices)
    )


def _page_diffs(comparison: Comparison, history: History, number: int, context: ToolContext) -> Iterator[FileDiff]:
    """Yield diffs of all files, with a patch if the page has room for it; other files have counts of the history."""
    changes, paths = history.changes, history.paths
    counts = {
        paths[changes.path[index]]: (
            int(changes.additions[index]),
            int(changes.deletions[index]),
            bool(changes.binary[index]),
        )
        for index in np.flatnonzero(changes.commit == number).tolist()
    }
    remaining_bytes = _MAX_PAGE_BYTES
    with ObjectReader(comparison.repository) as reader:
        for change in comparison.changes:
            contents = [name for name in (change.object_id, change.old_object_id) if name.strip("0")]
            # Sizes come from object headers: no content is read for a file whose patch will be left out.
            size = sum(reader.size(bytes.fromhex(name)) or 0 for name in contents)
            unchanged = change.object_id == change.old_object_id  # its patch is a header alone
            if unchanged or (remaining_bytes > 0 and size <= _MAX_SOURCE_BYTES):
                (diff,) = comparison.diffs([change], context.cancellation)
                remaining_bytes -= len(diff.patch or b"")
                yield diff
                continue

            additions, deletions, binary = counts.get(change.path, (UNKNOWN, UNKNOWN, False))
            is_known = additions != UNKNOWN
            yield FileDiff(
                change=change,
                additions=additions if is_known else None,
                deletions=deletions if is_known else None,
                binary=binary,
                patch=None,
            )


def _single_number(number: int) -> Any:
    return np.array([number])


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(COMPARE_REVISIONS, _compare_revisions, _render_comparison, FILE_ITEMS),
    Handler(COMMIT_DETAILS, _commit_details),
)
