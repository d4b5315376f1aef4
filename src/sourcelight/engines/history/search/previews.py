"""Previews of diffs: patches of stored changes, made from the contents in the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches.patches import CONTEXT_LINES, MAX_FILES, PreviewFile, read_hunks, write_preview
from sourcelight.core.cancellation import Stopped
from sourcelight.engines.history.compare import FileChange
from sourcelight.engines.history.compare.patches import make_patch
from sourcelight.engines.history.history import History
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
        rows: tuple[Int64Array, Int64Array, BoolArray, Int64Array],
        stopped: Stopped,
    ) -> dict[str, Any]:
        """Return the columns ``preview`` (of each commit) and ``preview_line`` (of each row).

        Parameters
        ----------
        history, commits
            The commits of a batch.
        every
            Returns the changes that qualify, ascending; a commit without matching lines shows these.
        rows
            Of each row its index into `commits`, its change, whether it was removed, and its line number.
        stopped
            If it returns True, further commits get no preview.
        """
        of_commit, changes, removed, numbers = rows
        texts: list[str | None] = [None] * len(commits)
        lines: list[int | None] = [None] * len(changes)
        starts = np.searchsorted(of_commit, np.arange(len(commits) + 1)) if len(of_commit) else None
        for index, commit in enumerate(commits.tolist()):
            if self._handle is None or stopped():
                break

            changed_rows = range(0) if starts is None else range(int(starts[index]), int(starts[index + 1]))
            matched_lines: dict[int, set[tuple[str, int]]] = {}
            numbered_rows = [
                (int(changes[row]), "-" if removed[row] else "+", int(numbers[row])) for row in changed_rows
            ]
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
            patch = make_patch(self._handle, file, CONTEXT_LINES).patch or b"" if self._handle is not None else b""
            yield PreviewFile(
                old_path=ABSENT if file.added else file.old_path.decode("utf-8", "replace"),
                path=ABSENT if file.deleted else file.path.decode("utf-8", "replace"),
                hunks=tuple(read_hunks(patch.decode("utf-8", "replace"))),
                matched_lines=frozenset(matched_lines[change]) if change in matched_lines else None,
            )


def _changes_of(history: History, commit: int, every: Int64Array) -> list[int]:
    changes: list[int] = every[history.changes.commit[every] == commit].tolist()
    return changes
