"""The result of a search: tables, a status, and a display with escaped text."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from sourcelight.client.portal import call
from sourcelight.client.provenance import now, provenance
from sourcelight.core.arguments import checks_methods
from sourcelight.core.backend import Backend, no_folder
from sourcelight.core.batches import MATCHES, SERVICE, Column, RepositoryInfo, ServiceStatus
from sourcelight.core.completeness import Status, cut_text
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.extras import require_notebook
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.wire.events import Alert
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.frames import columns_of
from sourcelight.display.frames import facts as frames
from sourcelight.display.frames.export import MatchWriter, text_or_path
from sourcelight.display.frames.sql import SqlTables, sql_tables
from sourcelight.display.frames.tables import explode, matches_table, to_pandas, to_polars
from sourcelight.display.notebook import ProgressChoice, SearchState
from sourcelight.display.notebook.many_state import ManyState
from sourcelight.display.notebook.result_text import PAGE, ResultView, result_text
from sourcelight.display.notebook.views import LinkResolver

if TYPE_CHECKING:
    from sourcelight.display.frames.tables import Frame, Table
    from sourcelight.display.notebook.widgets.explorer import Explorer
    from sourcelight.display.notebook.widgets.facets import FacetPanel


class ResultParts(NamedTuple):
    """Attributes that a result of several searches takes from them."""

    batches: tuple[Any, ...]
    infos: tuple[RepositoryInfo, ...]
    source: Backend | None
    asked_at: str


@refuses_former_names("SearchResult")
@checks_methods
class SearchResult:
    """The answer to a search; made by a client, never by hand.

    Tables are built on first use, and then cached. `repr` is stable: no times and no addresses.

    Attributes
    ----------
    status
        ``complete``, ``partial`` (the part that ``count:`` or `display` asked for), ``limited`` (something that was
        asked for is missing), ``interrupted`` or ``failed``; `sourcelight.core.completeness` has the rule.
    reasons
        Why the status is not ``complete``; empty when it is.
    query
        Text of the query.
    match_count
        Matches in this result.
    display_rows
        How many rows its display shows, 10 unless changed.
    """

    display_rows: int = PAGE

    def __init__(
        self,
        request: SearchRequest,
        backend: str,
        state: SearchState | ManyState,
        batches: tuple[Any, ...],
        infos: tuple[RepositoryInfo, ...],
        answerer: Backend | None = None,
        asked_at: str = "",
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        rerun: Callable[[str], Coroutine[Any, Any, SearchResult]] | None = None,
    ) -> None:
        self.request = request
        self.backend = backend
        self.query = request.query
        self.status: Status = state.status
        self.reasons: tuple[str, ...] = state.reasons
        self.match_count = state.matches
        self._progress, self._filters = state.progress, state.filters
        self._skipped, self._alerts = state.skipped, state.alerts
        self._batches = batches
        self._infos = infos
        self._services = state.services
        self._other = state.other
        self._answerer = self._source = answerer
        self._asked_at = asked_at or now()

        # The loop of the client's connections: the explorer requests lines around a match through it later.
        self._loop = loop
        self._rerun = rerun
        self._elapsed_s = state.elapsed_s

    def __len__(self) -> int:
        """Return rows of `matches`."""
        return sum(batch.num_rows for batch in self._batches)

    @cached_property
    def arrow(self) -> Table:
        """Arrow table of matches, with the columns of `matches`."""
        return matches_table(self._batches, served=self._served)

    @property
    def _parts(self) -> ResultParts:
        return ResultParts(batches=self._batches, infos=self._infos, source=self._source, asked_at=self._asked_at)

    @property
    def _served(self) -> bool:
        """Whether several services answered, so that rows have the name of theirs."""
        return bool(self._services)

    @property
    def _columns(self) -> tuple[Column, ...]:
        visible = tuple(column for column in MATCHES if column.is_visible)
        return (SERVICE, *visible) if self._served else visible

    @cached_property
    def matches(self) -> Frame:
        """DataFrame with one row per matched line, path, repository, symbol, commit line or diff line.

        Columns, units and what null means: ``sourcelight.columns_of("matches")``; they are the same for an empty
        answer. Rows are in the order of arrival; all rows of a file are together, in line order. Of several services
        (`federate`), a first column ``service`` says which one each row is of.
        `DataFrame.attrs` says where they came from: `attrs`.
        """
        return to_pandas(self.arrow, self._columns, self.attrs)

    @property
    def attrs(self) -> dict[str, str | int]:
        """Small flat values about the answer, as frames and files carry them; never a credential.

        ``query``, ``pattern_type``, ``endpoint`` (``embedded``, or the service's address), ``backend_id`` (leads back
        to the client, in this process), ``status``, ``reasons``, ``limit_hit``, ``matches``, ``requested_at`` (RFC
        3339, UTC), ``duration_ms``, ``version``; and ``cut`` where a limit of matches was reached: which part this is.
        """
        origin: dict[str, str | int] = (
            {"endpoint": self.backend, "status": self.status}
            if self._source is None
            else provenance(
                self._source,
                status=self.status,
                reasons=self.reasons,
                asked_at=self._asked_at,
                duration_s=self._elapsed_s,
            )
        )
        request_attrs = {"query": self.query, "pattern_type": self.request.pattern_type}
        limit_text = cut_text(self.match_count, self._skipped)
        return {**request_attrs, **origin, "matches": self.match_count, **({"cut": limit_text} if limit_text else {})}

    @cached_property
    def progress(self) -> Frame:
        """DataFrame of the service's statistics, one row per statement, the newest 10,000, the last one at the end."""
        return self._with_source(frames.progress_frame(self._progress))

    @cached_property
    def filters(self) -> Frame:
        """DataFrame of suggested filters with counts."""
        return self._with_source(frames.filters_frame(self._filters))

    @cached_property
    def skipped(self) -> Frame:
        """DataFrame of work that was left out, one row per reason."""
        return self._with_source(frames.skipped_frame(self._skipped))

    @cached_property
    def other(self) -> Frame:
        """DataFrame of matches that don't become rows: of unknown types, or with a field that can't be read.

        Columns as in ``columns_of("other")``. It has at most 10,000 rows; `skipped` has the number of all.
        """
        return self._with_source(frames.other_frame(self._other))

    @cached_property
    def alerts(self) -> Frame:
        """DataFrame of alerts from the service."""
        return self._with_source(frames.alerts_frame(self._alerts))

    @cached_property
    def services(self) -> Frame:
        """DataFrame of services, one row each: status, rows, and rows that other services also had.

        A federation has a row for each service, whether or not it answered; other clients have one row. Columns as
        in ``columns_of("services")``.
        """
        service_status = ServiceStatus(
            name=self.backend,
            endpoint=self.backend,
            status=self.status,
            reasons=self.reasons,
            matches=self.match_count,
            rows=len(self),
            duplicates=0,
            elapsed_s=self._elapsed_s,
        )
        return self._with_source(frames.services_frame(self._services or (service_status,)))

    @cached_property
    def repositories(self) -> Frame:
        """DataFrame of the repositories with matches, by name, with their counts."""
        # Counted from the batches, since `matches` may never be built: a million rows take seconds as a DataFrame.
        from sourcelight.display.frames.aggregates import MatchCounter

        counter = MatchCounter(["repository"])
        for batch in self._batches:
            counter.add(batch)

        counts = {row["repository"]: row["matches"] for row in counter.table().to_pylist()}
        names = {info.name for info in self._infos}

        # Services may send matches of a repository without sending its attributes.
        nameless = [RepositoryInfo(name) for name in counts if name is not None and name not in names]
        return self._with_source(frames.repositories_frame([*self._infos, *nameless], counts))

    def _with_source(self, frame: Frame) -> Frame:
        frame.attrs.update(self.attrs)
        return frame

    def spans(self) -> Frame:
        """Return DataFrame with one row per match: where it is and its text; `row` leads back to `matches`."""
        return to_pandas(explode(self.arrow), columns_of("spans"), self.attrs)

    def explore(self) -> Explorer:
        """Return an explorer of the rows: filters by repository, language, path and text, orders, and lines of context.

        A widget that handles 100,000 rows; outside of a notebook, it has the text of this result.
        """
        from sourcelight.client.search.explorer_source import ResultSource, explorer

        return explorer(ResultSource(self, self._view(), self._answerer, self._loop))

    def facets(self) -> FacetPanel:
        """Return a panel with the suggested filters as check boxes: `query` has the checked ones, `search()` runs it.

        Several of one kind are alternatives. Outside of a notebook it is a text; `filters` is the table.
        """
        require_notebook("anywidget", "the panel of facets")
        from sourcelight.client.search.explanation import add_facets
        from sourcelight.display.notebook.widgets.facets import FacetPanel

        kind = self.request.pattern_type
        return FacetPanel(self._filters, lambda selected: add_facets(self.query, selected, kind), self._search_again)

    def _search_again(self, query: str) -> SearchResult:
        if self._rerun is None:
            raise UnsupportedTool("this result doesn't come from a single search, so it can't be repeated")
        return call(self._rerun, query)

    def with_blame(self, *, progress: ProgressChoice = None) -> Frame:
        """Return `matches` with the commit that introduced each matched line.

        Blocks, also inside a running event loop. With an `AsyncClient`, await `joins.with_blame` instead.

        Parameters
        ----------
        progress
            As in `Client.search`.

        Returns
        -------
        DataFrame
            `matches` with the columns ``blame_commit``, ``blame_author``, ``blame_author_email``,
            ``blame_author_date``, ``blame_commit_date`` and ``blame_subject``; null if a row is not a line of a
            file in a commit.

        Raises
        ------
        UnsupportedTool
            When the service has no blame.
        """
        from sourcelight.client.search import joins

        return call(
            joins.join_with_progress, "with_blame()", joins.with_blame, self._backend_or_raise(), self.matches, progress
        )

    def with_last_change(self, *, progress: ProgressChoice = None) -> Frame:
        """Return `matches` with the last commit that changed each file.

        Blocks like `with_blame`.

        Parameters
        ----------
        progress
            As in `Client.search`.

        Returns
        -------
        DataFrame
            `matches` with columns such as ``last_commit``, ``last_author`` and ``last_subject``; null if a row has
            no file in a commit.

        Raises
        ------
        UnsupportedTool
            When the service doesn't list last changes.
        """
        from sourcelight.client.search import joins

        return call(
            joins.join_with_progress,
            "with_last_change()",
            joins.with_last_change,
            self._backend_or_raise(),
            self.matches,
            progress,
        )

    def _backend_or_raise(self) -> Backend:
        if self._answerer is None:
            raise UnsupportedTool("this result doesn't come from a single search, so it has no backend for history")
        return self._answerer

    def to_polars(self) -> Any:
        """Return `matches` as a polars DataFrame; needs polars."""
        return to_polars(self.arrow)

    def to_parquet(self, target: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write `matches` as Parquet, with `attrs` as metadata.

        Parameters
        ----------
        target
            Path, or an open binary file.
        """
        self._write(target, "parquet")

    def to_jsonl(self, target: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write `matches` as one JSON object per line, without nulls; `sourcelight.read_matches` reads it.

        Parameters
        ----------
        target
            Path, or an open binary file.
        """
        self._write(target, "jsonl")

    def to_csv(self, target: str | os.PathLike[str] | IO[bytes], *, spreadsheet: bool = False) -> None:
        """Write `matches` as CSV; `sourcelight.read_matches` gives the same frame back.

        Parameters
        ----------
        target
            Path, or an open binary file.
        spreadsheet
            Whether the file is for people who open it in a spreadsheet: text that begins with ``= + - @``, a tab or a
            line end then gets an apostrophe in front, so that no committed text runs as a formula. Such a file no
            longer has the same text.
        """
        self._write(target, "csv", spreadsheet=spreadsheet)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, rows: int = 1_000) -> str:
        """Return a page for people, to be sent on; with `path`, write it and return the path.

        It has the status, the skipped items and the first rows as in a cell; it is self-contained and has no scripts.
        Links lead to the service or the code hosts, never to this machine. For programs there are `to_csv`, `to_jsonl`
        and `to_parquet`.

        Parameters
        ----------
        path
            File to write.
        rows
            Rows at most; the page says how many there are.
        """
        from sourcelight import __version__
        from sourcelight.display.notebook.result_view import result_page

        # Links to local directories would show the paths of this machine to readers of the page.
        view = replace(self._view(), page=max(rows, 0), links=self._links(no_folder))
        origin = f"Searched {self._asked_at} by sourcelight {__version__}"
        return text_or_path(result_page(view, origin), path)

    def _write(self, target: str | os.PathLike[str] | IO[bytes], kind: str, *, spreadsheet: bool = False) -> None:
        writer = MatchWriter(target, kind, served=self._served, spreadsheet=spreadsheet)
        try:
            for batch in self._batches:
                writer.write(batch)
        except BaseException:
            writer.discard()
            raise

        writer.finish(metadata(self.attrs))

    def _view(self) -> ResultView:
        return ResultView(
            query=self.query,
            status=self.status,
            reasons=self.reasons,
            matches=self.match_count,
            batches=self._batches,
            skipped=self._skipped,
            alerts=self._alerts,
            infos=self._infos,
            links=self.links,
            page=self.display_rows,
            services=self._services,
        )

    @property
    def links(self) -> LinkResolver:
        """Resolver of links for rows: at the service, at their code host, or in JupyterLab."""
        # Only a backend of this process may link to local directories; a service must not.
        return self._links(no_folder if self._answerer is None else self._answerer.features.folder_of)

    def _links(self, folder_of: Callable[[str], str]) -> LinkResolver:
        hosts = {fact.name: fact.url for fact in self._infos if fact.url}
        if self._services:
            addresses = {service.name: service.endpoint for service in self._services if "://" in service.endpoint}
            return LinkResolver(base_url="", hosts=hosts, folder_of=folder_of, services=addresses)
        base_url = self.backend if "://" in self.backend else ""
        return LinkResolver(base_url, hosts, folder_of)

    def __repr__(self) -> str:
        return result_text(self._view())

    def __iter__(self) -> Iterator[Any]:
        # Without this, Python would iterate by `__len__` and fail with a message about `__getitem__`.
        raise TypeError("a SearchResult is not a sequence: iterate over .matches.itertuples() or client.stream(query)")

    def __getitem__(self, key: Any, /) -> Any:
        raise TypeError(f"a SearchResult has no items: its rows are the DataFrame .matches, as in .matches[{key!r}]")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        from sourcelight.display.notebook.result_view import result_html

        view = self._view()
        return {"text/plain": result_text(view), "text/html": result_html(view)}


@sql_tables.register
def sql_tables_of_result(result: SearchResult) -> SqlTables:
    """Return the tables that a result has in SQL."""
    return SqlTables(
        result.arrow,
        result.attrs,
        lambda: {
            "repositories": result.repositories,
            "skipped": result.skipped,
            "alerts": result.alerts,
            "filters": result.filters,
            "progress": result.progress,
        },
    )


def metadata(attrs: dict[str, str | int]) -> dict[str, str]:
    """Return an answer's attributes as metadata of a file; pandas reads them as the `attrs` of the frame."""
    return {**{f"sourcelight.{name}": str(value) for name, value in attrs.items()}, "PANDAS_ATTRS": json.dumps(attrs)}


@dataclass(frozen=True, slots=True)
class Export:
    """A file that a search was written to.

    Attributes
    ----------
    path
        Path of the file; of the partial file after an interrupt.
    rows, matches
        Numbers of rows in the file and of matches.
    status, reasons
        Whether the file is complete, and if not, why.
    alerts
        Alerts that the reader must know.
    """

    path: str
    rows: int
    matches: int
    status: Status
    reasons: tuple[str, ...]
    alerts: tuple[Alert, ...] = ()
