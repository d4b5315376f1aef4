"""Previews of diffs: a few hunks of each matching commit, as text beside its rows.

A preview is made from the contents in the repository, because the history stores changed lines without the lines around
them. It is cut after a few files and hunks (see `core.batches.patches`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.patches import CONTEXT_LINES, MAX_FILES, PreviewFile, read_hunks, write_preview
from sourcelight.core.cancellation import Stopped
from sourcelight.engines.history.compare import FileChange
from sourcelight.engines.history.compare.changes import STATUSES
from sourcelight.engines.history.compare.patches import make_patch
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import RowPlaces
from sourcelight.repos.handles import UnusableRepository, open_handle

if TYPE_CHECKING:
    import pygit2

ABSENT = "/dev/null"
"""The name of a file on the side of a diff where it doesn't exist, as in git."""

_MAX_CHARS = 256 * 1024
"""Characters of a preview. A commit whose preview is longer, as of minified code, has none."""

_SignedLines: TypeAlias = set[tuple[str, int]]
"""Lines of a file by sign (``-`` or ``+``) and number; of removed lines the number in the old file."""


@dataclass(frozen=True, slots=True)
class PreviewColumns:
    """The preview of each commit, null for none, and the line of the preview that shows each row, null for none."""

    preview: pa.Array
    preview_line: pa.Array


@dataclass
class DiffPreviews:
    """Makes previews of the diffs of one repository.

    Parameters
    ----------
    git_dir
        Its git directory; without a usable directory there are no previews.
    """

    git_dir: str

    def columns(
        self,
        history: History,
        commits: Int64Array,
        every: Callable[[], Int64Array],
        commit_of_row: Int64Array,
        rows: RowPlaces,
        stopped: Stopped,
    ) -> PreviewColumns:
        """Return the previews of some commits.

        Parameters
        ----------
        history, commits
            The commits of a batch.
        every
            Returns the changes that qualify, ascending; a commit without matching lines shows these.
        commit_of_row
            Index of each row's commit in `commits`, ascending.
        rows
            The rows, in the same order.
        stopped
            If it returns True, further commits get no preview.
        """
        texts: list[str | None] = [None] * len(commits)
        lines: list[int | None] = [None] * len(rows.changes)
        # Rows are sorted by commit, so those of a commit are one range.
        row_ranges = np.searchsorted(commit_of_row, np.arange(len(commits) + 1)).tolist()
        for index, commit in enumerate(commits.tolist()):
            if self._handle is None or stopped():
                break

            commit_rows = range(row_ranges[index], row_ranges[index + 1])
            numbered_rows = [rows.numbered_row(row) for row in commit_rows]
            matched_lines = _matched_lines(numbered_rows)
            changes = list(matched_lines) or _changes_of(history, commit, every())
            # Files beyond the limit are not shown, so their patches are not needed.
            changes = changes[:MAX_FILES]
            files = self._files(self._handle, history, changes, matched_lines)
            preview = write_preview(list(files))
            if preview is None or len(preview[0]) > _MAX_CHARS:
                continue

            texts[index], positions = preview
            for row, (change, sign, number) in zip(commit_rows, numbered_rows, strict=True):
                if change in changes:
                    lines[row] = positions.get((changes.index(change), sign, number))

        return PreviewColumns(pa.array(texts, pa.string()), pa.array(lines, pa.int32()))

    @cached_property
    def _handle(self) -> pygit2.Repository | None:
        try:
            return open_handle(self.git_dir)
        except UnusableRepository:
            return None

    def _files(
        self,
        handle: pygit2.Repository,
        history: History,
        changes: Sequence[int],
        matched_lines: dict[int, _SignedLines],
    ) -> Iterator[PreviewFile]:
        for change in changes:
            file = file_change(history, change)
            patch = make_patch(handle, file, CONTEXT_LINES).patch or b""
            yield PreviewFile(
                old_path=ABSENT if file.added else file.old_path.decode("utf-8", "replace"),
                path=ABSENT if file.deleted else file.path.decode("utf-8", "replace"),
                hunks=tuple(read_hunks(patch.decode("utf-8", "replace"))),
                matched_lines=frozenset(matched_lines[change]) if change in matched_lines else None,
            )


def file_change(history: History, change: int) -> FileChange:
    """Return a stored change as the comparison knows changes."""
    changes = history.changes
    status = chr(int(changes.status[change]))
    score = None
    if status in "RC":
        score = int(changes.score[change])

    return FileChange(
        ordinal=0,
        status=STATUSES.get(status, "modified"),
        score=score,
        path=history.paths[int(changes.path[change])],
        old_path=history.paths[int(changes.old_path[change])],
        mode=f"{int(changes.new_mode[change]):06o}",
        old_mode=f"{int(changes.old_mode[change]):06o}",
        object_id=changes.new_blob[change].tobytes().hex(),
        old_object_id=changes.old_blob[change].tobytes().hex(),
    )


def _matched_lines(numbered_rows: Sequence[tuple[int, str, int]]) -> dict[int, _SignedLines]:
    """Return the lines of some rows by their changes, in the order of the rows."""
    matched: dict[int, _SignedLines] = {}
    for change, sign, number in numbered_rows:
        matched.setdefault(change, set()).add((sign, number))
    return matched


def _changes_of(history: History, commit: int, every: Int64Array) -> list[int]:
    changes: list[int] = every[history.changes.commit[every] == commit].tolist()
    return changes
