"""One file, shown at the line of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.client import Backend
from sourcelight.client.portal import call
from sourcelight.display.frames.facts import answer_frame
from sourcelight.display.notebook.views.file_view import FileFacts, FileView
from sourcelight.lab.accessor.linking import known_places, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame


def opened(frame: DataFrame, row: int, backend: Backend) -> FileView:
    """The file of a row; see `CodeAccessor.open`."""
    place = row % len(frame)
    told = rows_of(frame.iloc[[place]])[0]
    arguments = {"repo": told["repository"], "path": told["path"]}
    if told.get("commit"):
        arguments["revision"] = told["commit"]
    lines = answer_frame(call(backend.call, "read_file", arguments, None))
    commit = str(told.get("commit") or lines.attrs.get("commit") or "")
    line = int(told.get("line_number") or 0)
    texts = lines["line"].astype("object").tolist()
    facts = FileFacts(
        told["repository"], commit, told["path"], texts, line, line, _spans(frame, place), known_places(backend)
    )
    return FileView(facts, lines)


def _spans(frame: DataFrame, place: int) -> tuple[list[int], list[int]]:
    """Spans of a row: lists of a search, or the one of `groups`; none elsewhere."""
    if not {"start", "end"} <= set(frame.columns):
        return [], []
    start, end = frame["start"].iloc[place], frame["end"].iloc[place]
    try:
        return list(start), list(end)
    except TypeError:
        return ([int(start)], [int(end)]) if start == start and start is not None else ([], [])  # noqa: PLR0124 - null
