"""Turn rows of DataFrames into links, comparisons and files, and find the backend that they came from.

A row is known by the columns that say where it is (`rows_of`), whatever table it is of. Calls to the backend block,
also inside a running event loop. They have a progress bar, which appears only if they take long.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.client import AsyncClient, Backend, IncompleteResultWarning, SearchResult
from sourcelight.client import Client as BlockingClient
from sourcelight.client.methods.views import links_of
from sourcelight.client.portal import call
from sourcelight.client.progress import painting
from sourcelight.client.provenance import backend_of
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.batches.results import CallObserver
from sourcelight.core.cells.json_lines import cell_text, has_json_line
from sourcelight.core.errors import ToolError
from sourcelight.display.frames.comparison import GRAINS, compare_frames
from sourcelight.display.frames.facts import answer_frame
from sourcelight.display.notebook import CallState, ProgressChoice
from sourcelight.display.notebook.views import LinkResolver
from sourcelight.display.notebook.views.file_view import FileContent, FileView

if TYPE_CHECKING:
    from pandas import DataFrame


Client = BlockingClient | AsyncClient

KINDS = ("service", "host", "lab")
"""Kinds of links: to a page of the service, of the code host, or to a file that JupyterLab opens."""

_COLUMNS = ("repository", "commit", "path", "line_number", "start_line", "type", "url")
"""Columns that say where a row is."""

_SHOW_AFTER_S = 0.5
"""Seconds of work without a progress bar: most calls are faster, and a bar that flashes distracts."""


def add_links(frame: DataFrame, backend: Backend, kind: str | None) -> DataFrame:
    """Return the rows with ``link`` and ``link_kind``; see `CodeAccessor.link`."""
    import pandas as pd

    if kind is not None and kind not in KINDS:
        raise ToolError(
            f"link: kind must be {' or '.join(KINDS)}, got {kind!r}", tool="link", argument="kind", accepted=KINDS
        )

    resolver = resolver_for(backend)
    # A service links to its own pages unless hosts are requested.
    if kind == "host" and not backend.local:
        hosts = {info.name: info.url for info in call(backend.repositories) if info.url}
        resolver = replace(resolver, hosts=hosts)

    links = [_best_link(resolver, row, kind) for row in rows_of(frame)]
    # A shallow copy: only columns are added, so the values of a large frame can be shared.
    linked_frame = frame.copy(deep=False)
    linked_frame["link"] = pd.array([address for address, _ in links], dtype="str")
    linked_frame["link_kind"] = pd.Categorical([link_kind for _, link_kind in links], categories=list(KINDS))
    return linked_frame


def resolver_for(backend: Backend) -> LinkResolver:
    """Return the resolver of links for the repositories of a backend."""
    return call(links_of, backend)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the location columns of each row of a frame, null as None."""
    columns = [name for name in _COLUMNS if name in frame.columns]
    locations = frame[columns].astype("object")
    locations = locations.where(locations.notna(), None)
    return [dict(zip(columns, row, strict=True)) for row in locations.itertuples(index=False)]


def _best_link(resolver: LinkResolver, row: dict[str, Any], kind: str | None) -> tuple[str | None, str | None]:
    """Return address and kind of the first link of a row that is of `kind`; both None if it has none."""
    links = list(resolver.of(row))
    has_path, has_commit = bool(row.get("path")), bool(row.get("commit"))
    if has_commit and not has_path:
        links += resolver.commit(row["repository"] or "", row["commit"])

    link = next((link for link in links if kind in {None, link.kind}), None)
    if link is not None:
        return link.href, link.kind

    is_of_repository = not has_path and not has_commit and bool(row["repository"])
    address = resolver.repository(row["repository"]) if is_of_repository and kind is None else None
    return (address, "host") if address else (None, None)


@checks_arguments
def compare_results(before: Any, after: Any, *, by: str = "line") -> DataFrame:
    """Compare two results of searches: of two revisions, two times, two queries.

    Two lines are the same if their repository, path, kind and text are equal. If a text occurs several times in a file,
    its lines are paired in their order. So a line that only moved within its file is kept, and the lines of a renamed
    file are removed and added.

    Parameters
    ----------
    before, after
        `SearchResult`, or DataFrames with the columns of `SearchResult.matches`.
    by
        ``line``, ``file`` or ``repository``: the unit to compare.

    Returns
    -------
    DataFrame
        One row per line (file, repository) of either side: ``change`` (removed, added or kept), where it is, and
        ``line_number`` and ``match_count`` on both sides; columns as in ``columns_of("comparison")``. Rows go by
        repository, path and line. ``attrs`` have ``added``, ``removed``, ``kept``, both queries and both statuses.

    Warns
    -----
    IncompleteResultWarning
        If one of the results is not complete: its missing rows look removed or added.
    """
    if by not in GRAINS:
        raise ToolError(
            f"compare_results: by must be one of {', '.join(GRAINS)}, got {by!r}", argument="by", accepted=tuple(GRAINS)
        )

    frames = {"before": _match_frame(before), "after": _match_frame(after)}
    comparison: DataFrame = compare_frames(frames["before"], frames["after"], by)
    incomplete = [
        f"{name}: {frame.attrs['status']} ({frame.attrs.get('reasons') or 'no reason given'})"
        for name, frame in frames.items()
        if frame.attrs.get("status", "complete") != "complete"
    ]
    if incomplete:
        warnings.warn(IncompleteResultWarning(f"compare_results: {'; '.join(incomplete)}"), stacklevel=2)

    return comparison


def _match_frame(side: Any) -> Any:
    """Return the matches of one side of a comparison; raises `ToolError` if they aren't rows of files."""
    import pandas as pd

    frame = side.matches if isinstance(side, SearchResult) else side
    missing = {"repository", "path"}.difference(frame.columns if isinstance(frame, pd.DataFrame) else ())
    if missing:
        raise ToolError(f"compare_results: one side has no column {', '.join(sorted(missing))}")
    return frame


def backend_for(frame: DataFrame, client: Client | None) -> Backend:
    """Return the backend for a frame: the backend of `client`, or the frame's origin.

    Raises
    ------
    ClientNotFound
        If that backend is closed.
    """
    return backend_of(frame.attrs) if client is None else client.backend


def run_with_progress(
    title: str, work: Callable[[CallObserver], Awaitable[DataFrame]], rows: int, progress: ProgressChoice
) -> DataFrame:
    """Return the result of `work`, with a progress bar meanwhile; blocks, also inside a running event loop."""
    return call(_watch, title, work, rows, progress)


async def _watch(
    title: str, work: Callable[[CallObserver], Awaitable[DataFrame]], rows: int, progress: ProgressChoice
) -> DataFrame:
    state = CallState(title)
    async with painting(state, progress, after_s=_SHOW_AFTER_S):
        try:
            frame = await work(state.update)
        except Exception as exc:
            state.fail(str(exc))
            raise
        except BaseException:
            # An interrupt, too, has to end the progress bar.
            state.interrupt()
            raise

        notices = tuple(frame.attrs.get("notices", ()))
        state.end(rows, notices, status="limited" if notices else "complete")

    return frame


def open_row(frame: DataFrame, row: int, backend: Backend) -> FileView:
    """Return the file of a row; see `CodeAccessor.open`."""
    # Negative rows count from the end, as in Python.
    position = row % len(frame)
    location = rows_of(frame.iloc[[position]])[0]
    arguments = {"repo": location["repository"], "path": location["path"]}
    if location.get("commit"):
        arguments["revision"] = location["commit"]

    lines = answer_frame(call(backend.call, "read_file", arguments, None))
    commit = str(location.get("commit") or lines.attrs.get("commit") or "")
    line = int(location.get("line_number") or location.get("start_line") or 0)
    texts = lines["line"].astype("object").tolist()
    content = FileContent(
        repository=location["repository"],
        commit=commit,
        path=location["path"],
        lines=texts,
        first=line,
        last=line,
        spans=_displayed_spans(frame.iloc[position].to_dict(), _spans(frame, position)),
        links=resolver_for(backend),
    )
    return FileView(content, lines)


def _displayed_spans(row: Mapping[Any, Any], spans: tuple[list[int], list[int]]) -> tuple[list[int], list[int]]:
    """Convert spans of a line of a notebook file to spans of the displayed line of its cell."""
    if not has_json_line(row):
        return spans
    visible = cell_text(str(row.get("line") or ""), *spans)
    if visible is None:
        return spans
    return visible.starts, visible.ends


def _spans(frame: DataFrame, row_index: int) -> tuple[list[int], list[int]]:
    """Return the spans of a row: all spans of a match, one for a row of `groups`, none for other DataFrames."""
    import pandas as pd

    if not {"start", "end"} <= set(frame.columns):
        return [], []
    start = frame["start"].iloc[row_index]
    end = frame["end"].iloc[row_index]
    try:
        return list(start), list(end)
    except TypeError:
        # A number, or a null.
        if pd.isna(start):
            return [], []
        return [int(start)], [int(end)]
