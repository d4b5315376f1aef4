"""The table ``file_diffs``: one row per file, with its patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sourcelight.core.batches.results import ToolProgress
from sourcelight.engines.history.compare import Comparison, FileDiff
from sourcelight.engines.history.compare.patches import decode_patch
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.history import tables

MAX_PATCH_BYTES = 100_000
"""Bytes of one patch of a served page: a longer one, which is often generated, would leave no room for others."""
MAX_PAGE_BYTES = 400_000
"""Bytes of all patches of a served page."""

REPLACED_BYTES = "U+FFFD may replace bytes that aren't UTF-8; then the patch doesn't apply"
"""The note on a patch that isn't the bytes of git's patch."""

_REPORT_EVERY = 20
"""Files between two reports of progress."""


def with_progress(diffs: Iterable[FileDiff], total: int, context: ToolContext) -> list[FileDiff]:
    """Return all of `diffs`, and report while they are made."""
    reported: list[FileDiff] = []
    for diff in diffs:
        reported.append(diff)
        if context.observer is not None and len(reported) % _REPORT_EVERY == 0:
            context.observer(ToolProgress(stage="comparing", done=len(reported), total=total, detail="files"))
    return reported


def patch_bytes(diff: FileDiff) -> int:
    """Return the bytes of a patch; 0 without one."""
    return len(diff.patch or b"")


def diff_table(comparison: Comparison, diffs: Sequence[FileDiff], truncated: Sequence[bool]) -> Any:
    """Return rows of the table ``file_diffs``."""
    changes = [diff.change for diff in diffs]
    patches = [_patch_text(diff, is_truncated=is_cut) for diff, is_cut in zip(diffs, truncated, strict=True)]
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


def _patch_text(diff: FileDiff, *, is_truncated: bool) -> str | None:
    if diff.patch is None:
        return None
    if is_truncated:
        # After a line: half a line, or half a letter of UTF-8, would look like a change.
        end = diff.patch.rfind(b"\n", 0, MAX_PATCH_BYTES) + 1
        diff = replace(diff, patch=diff.patch[: end or MAX_PATCH_BYTES])
    return decode_patch(diff)


def patch_notes(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why a patch can't be applied."""
    if row["truncated"]:
        yield "the patch is truncated"
    if row["binary"] and "\nBinary files " in row["patch"]:
        yield "the contents of a binary file are left out of the patch"
    if "\ufffd" in row["patch"]:
        yield REPLACED_BYTES
