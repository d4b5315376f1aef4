"""`DataFrame.code`: links, context, blame, files and groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.core.arguments import checks_methods
from sourcelight.core.errors import ToolError
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.markup.counts import count_of
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.accessor.rows import Client, backend_for, run_with_progress

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.display.notebook.views.file_view import FileView

_PLACES = frozenset({"path", "commit"})
"""Columns of which a frame needs one beside the repository."""


@refuses_former_names("CodeAccessor")
@checks_methods
class CodeAccessor:
    """Code behind the rows of a frame; every method returns a new frame and leaves the old one unchanged.

    A frame has it when it has a column `repository`, and `path` or `commit`; others have no attribute `code`. What
    answered is found by the frame's `attrs`; `client` names another one.
    """

    def __init__(self, frame: DataFrame) -> None:
        columns = set(frame.columns)
        if "repository" not in columns or not _PLACES & columns:
            raise AttributeError("'DataFrame' has no attribute 'code': it needs columns repository, and path or commit")
        self._frame = frame

    def __repr__(self) -> str:
        return f"<code of {count_of(len(self._frame), 'row')}: link, context, blame, open, groups, diff>"

    def link(self, *, kind: str | None = None, client: Client | None = None) -> DataFrame:
        """Add where each row can be opened.

        Parameters
        ----------
        kind
            ``service``, ``host`` (the code host, known from the remote) or ``lab`` (a file in JupyterLab, relative to
            the notebook); None: the best there is, in this order.
        client
            Client for the repositories' addresses; None: the client that answered.

        Returns
        -------
        DataFrame
            The rows with ``link`` (str, an address; null if none is known) and ``link_kind`` (category).
        """
        from sourcelight.lab.accessor.rows import add_links

        return add_links(self._frame, backend_for(self._frame, client), kind)

    def context(self, lines: int = 3, *, client: Client | None = None, progress: ProgressChoice = None) -> DataFrame:
        r"""Add the lines around each row's line, read at the row's commit.

        Parameters
        ----------
        lines
            Lines on each side; fewer at the ends of a file.
        client
            Client to use; None: the one that answered.
        progress
            As in `Client.search`.

        Returns
        -------
        DataFrame
            The rows with ``context`` (str, lines joined by ``\n``; null for rows that aren't lines of a file, and where
            the file could not be read) and ``context_line_number`` (Int32, 1-based line that `context` begins with).
            ``attrs["notices"]`` names the files that could not be read.
        """
        from sourcelight.client.search.joins import with_context

        if lines < 0:
            raise ToolError(f"context: lines must be at least 0, got {lines}", tool="context", argument="lines")

        self._need("context", "path", "line_number")
        backend = backend_for(self._frame, client)
        title = f"context of {count_of(len(self._frame), 'row')}"
        return run_with_progress(
            title,
            lambda on_progress: with_context(backend, self._frame, lines, on_progress),
            len(self._frame),
            progress,
        )

    def blame(self, *, client: Client | None = None, progress: ProgressChoice = None) -> DataFrame:
        """Add the commit that brought each row's line.

        Returns
        -------
        DataFrame
            The rows with ``blame_commit``, ``blame_author``, ``blame_author_email``, ``blame_author_date``,
            ``blame_commit_date`` and ``blame_subject``; null for rows that aren't lines of a file. ``attrs["notices"]``
            names the files that could not be asked about.

        Raises
        ------
        UnsupportedTool
            If the backend can't tell: a service has no such tool.
        """
        from sourcelight.client.search.joins import with_blame

        self._need("blame", "path", "line_number")
        backend = backend_for(self._frame, client)
        title = f"blame of {count_of(len(self._frame), 'row')}"
        return run_with_progress(
            title, lambda on_progress: with_blame(backend, self._frame, on_progress), len(self._frame), progress
        )

    def open(self, row: int = 0, *, client: Client | None = None) -> FileView:
        """Show the file of a row, with its line marked, at the row's commit.

        Parameters
        ----------
        row
            Place of the row, from 0; negative: from the end.
        client
            Client to use; None: the one that answered.

        Returns
        -------
        FileView
            As `Client.view_file` gives it: it shows itself in a notebook; `lines` are all lines, `links` its places.
        """
        from sourcelight.lab.accessor.rows import open_row

        self._need("open", "path")
        if not -len(self._frame) <= row < len(self._frame):
            raise ToolError(
                f"open: no row {row}; the DataFrame has {count_of(len(self._frame), 'row')}",
                tool="open",
                argument="row",
            )

        return open_row(self._frame, row, backend_for(self._frame, client))

    def groups(
        self, pattern: str | None = None, *, case_sensitive: bool | None = None, typed: bool = True
    ) -> DataFrame:
        """Turn the named groups of the query's regular expression into columns, one row per match.

        Parameters
        ----------
        pattern
            Another regular expression (RE2) to apply to `line`; None: the expressions of the query.
        case_sensitive
            Whether case counts; None: as in the query, and not for a `pattern` of your own.
        typed
            Make a column of numbers where every text of it is written as that number is: ``7`` and ``0.5``, but not
            ``007`` and ``1.10``. Else all are text.

        Returns
        -------
        DataFrame
            ``row`` (int64, place in this frame, from 0), this frame's own columns for the place of a line, ``start``,
            ``end`` (int32, code points into `line`), ``match`` (str), and one column per group: Int64, Float64 or str,
            null if the group took no part. A group with the name of one of these gets ``group_`` in front. A match
            that goes over the end of its line is not found here; ``attrs["unmatched_rows"]`` counts rows without any.

        Raises
        ------
        ToolError
            When there is no named group.
        PatternError
            When RE2 refuses `pattern`.
        """
        from sourcelight.lab.accessor.groups import match_groups

        self._need("groups", "line")
        return match_groups(self._frame, pattern, case_sensitive=case_sensitive, typed=typed)

    def diff(self, other: Any, *, by: str = "line") -> DataFrame:
        """Compare with another result, which is the later one; see `sourcelight.compare_results`."""
        from sourcelight.lab.accessor.rows import compare_results

        return compare_results(self._frame, other, by=by)

    def _need(self, call: str, *columns: str) -> None:
        present = set(self._frame.columns)
        if "start_line" in present:  # chunks have it instead of line_number
            present.add("line_number")
        missing = [name for name in columns if name not in present]
        if missing:
            raise ToolError(f"{call}: the DataFrame has no column {', '.join(missing)}", tool=call)
