"""Two results side by side: what came, what went, what stayed."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from sourcelight.client import IncompleteAnswer
from sourcelight.core.errors import CallError
from sourcelight.display.frames.aggregates import GRAINS, compare_frames

if TYPE_CHECKING:
    from pandas import DataFrame


def compare_results(before: Any, after: Any, *, by: str = "line") -> DataFrame:
    """Compare two results of searches: of two revisions, two times, two queries.

    Lines are the same when repository, path, kind and text are; where a text stands in a file several times, its lines
    are paired in their order. So a line that only moved within its file is kept, and the file that was renamed is
    removed and added.

    Parameters
    ----------
    before, after
        `SearchResult`, or DataFrames with the columns of `SearchResult.matches`.
    by
        ``line``, ``file`` or ``repository``: what is looked for on the other side.

    Returns
    -------
    DataFrame
        One row per line (file, repository) of either side: ``change`` (removed, added or kept), where it is, and
        ``line_number`` and ``match_count`` on both sides; columns as in ``columns_of("comparison")``. Rows go by
        repository, path and line. ``attrs`` have ``added``, ``removed``, ``kept``, both queries and both statuses.

    Warns
    -----
    IncompleteAnswer
        When one of the results is not complete: what it lacks looks removed, or added.
    """
    frames = [getattr(each, "matches", each) for each in (before, after)]
    if by not in GRAINS:
        raise CallError(
            f"compare_results: by is {', '.join(GRAINS)}, not {by!r}", argument="by", accepted=tuple(GRAINS)
        )
    for each in frames:
        missing = {"repository", "path"} - set(getattr(each, "columns", ()))
        if missing:
            raise CallError(f"compare_results: a side has no column {', '.join(sorted(missing))}")
    made: DataFrame = compare_frames(frames[0], frames[1], by)
    unsure = [
        f"{name}: {each.attrs.get('status')} ({each.attrs.get('reasons') or 'no reason was given'})"
        for name, each in zip(("before", "after"), frames, strict=True)
        if each.attrs.get("status", "complete") != "complete"
    ]
    if unsure:
        warnings.warn(IncompleteAnswer(f"compare_results: {'; '.join(unsure)}"), stacklevel=2)
    return made
