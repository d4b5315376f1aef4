"""Previews of diffs: patches of stored changes, made from the contents in the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.patches import CONTEXT_LINES, MAX_FILES, PreviewFile, read_hunks, write_preview
from sourcelight.core.cancellation import Stopped
from sourcelight.engines.history.compare import FileChange
from sourcelight.engines.history.compare.patches import make_patch
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import RowPlaces
from sourcelight.repos.handles import UnusableRepository, open_handle

if TYPE_CHECKING:
    import pygit2

ABSENT = "/dev/null"
_MAX_CHARS = 256 * 1024
_STATUS = {"A": "added", "C": "copied", "D": "deleted", "M": "modified", "R": "renamed", "T": "type changed"}


def file_change(history: History, change: int) -> FileChange:
    """Return a stored change as the comparison knows changes."""
    changes = history.changes
    status = chr(int(changes.status[change]))
    return FileChange(
        ordinal=0,
        status=_STATUS.get(status, "modified"),
        score=int(changes.score[change]) if status in "RC" else None,
        path=history.paths[int(changes.path[change])],
        old_path=history.paths[int(changes.old_path[change])],
        mode=f"{int(changes.new_mode[change]):06o}",
        old_mode=f"{int(changes.old_mode[change]):06o}",
        object_id=changes.new_blob[change].tobytes().hex(),
        old_object_id=changes.old_blob[change].tobytes().hex(),
    )


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
    ) -> dict[str, Any]:
        """Return the columns ``preview`` (of each commit) and ``preview_line`` (of each row).

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
        starts = np.searchsorted(commit_of_row, np.arange(len(commits) + 1)).tolist()
        for index, commit in enumerate(commits.tolist()):
            if self._handle is None or stopped():
                break

            changed_rows = range(starts[index], starts[index + 1])
            numbered_rows = list(map(rows.numbered_row, changed_rows))
            matched_lines: dict[int, set[tuple[str, int]]] = {}
            for change, sign, number in numbered_rows:
                matched_lines.setdefault(change, set()).add((sign, number))

            visible = list(matched_lines) or _changes_of(history, commit, every())[:MAX_FILES]
            preview = write_preview(list(self._files(history, visible, matched_lines)))
            if preview is None or len(preview[0]) > _MAX_CHARS:
                continue

            texts[index], positions = preview
            file_of = {change: number for number, change in enumerate(visible)}
            for row, (change, sign, number) in zip(changed_rows, numbered_rows, strict=True):
                lines[row] = positions.get((file_of[change], sign, number))

        return {"preview": pa.array(texts, pa.string()), "preview_line": pa.array(lines, pa.int32())}

    @cached_property
    def _handle(self) -> pygit2.Repository | None:
        try:
            return open_handle(self.git_dir)
        except UnusableRepository:
            return None

    def _files(
        self, history: History, changes: Sequence[int], matched_lines: dict[int, set[tuple[str, int]]]
    ) -> Iterator[PreviewFile]:
        # Files beyond the limit are not shown, so their patches are not needed.
        for change in changes[:MAX_FILES]:
            file = file_change(history, change)
            patch = None if self._handle is None else make_patch(self._handle, file, CONTEXT_LINES).patch
            yield PreviewFile(
                old_path=ABSENT if file.added else file.old_path.decode("utf-8", "replace"),
                path=ABSENT if file.deleted else file.path.decode("utf-8", "replace"),
                hunks=tuple(read_hunks((patch or b"").decode("utf-8", "replace"))),
                matched_lines=frozenset(matched_lines[change]) if change in matched_lines else None,
            )


def _changes_of(history: History, commit: int, every: Int64Array) -> list[int]:
    changes: list[int] = every[history.changes.commit[every] == commit].tolist()
    return changes
