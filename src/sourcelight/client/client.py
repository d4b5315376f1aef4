"""The client, awaited. All of its logic is here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from sourcelight.client.backend import Backend
from sourcelight.client.completions import Completions
from sourcelight.client.methods import Methods
from sourcelight.client.overview import ShowsOverview
from sourcelight.client.progress import IncompleteResultWarning, warn
from sourcelight.client.provenance import asked_for, forget, now, provenance
from sourcelight.client.searches import SearchMethods
from sourcelight.client.stop_button import watch
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.completeness import Status, call_status
from sourcelight.core.errors import Cancelled
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.tools.tool import A, Tool
from sourcelight.display.notebook import CallState, ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.client.federation import FederatedBackend

_SHOWN_AFTER_S = 0.5  # most calls are over sooner, and a bar below each cell would say nothing


@refuses_former_names("Client")
class AsyncClient(ShowsOverview, SearchMethods, Methods):
    """Searches code. `sourcelight.aopen` and `sourcelight.aconnect` make one.

    Parameters
    ----------
    backend
        What answers.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._last_frame: DataFrame | None = None

    async def __aenter__(self) -> Self:
        """Use the client in ``async with``; it is closed at the end."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Give back connections, threads and files; the client can't be used afterwards."""
        forget(self._backend)
        await self._backend.aclose()

    @property
    def backend(self) -> Backend:
        """What answers."""
        return self._backend

    @property
    def cluster(self) -> Any:
        """The cluster that answers (`sourcelight.backends.cluster.engine.ClusterView`); None where none does."""
        return getattr(self._backend, "cluster", None)

    @property
    def completions(self) -> Completions:
        """Names of repositories, authors and other values that results contained; sends no request."""
        self._known.add("repository", getattr(self._backend, "names", tuple)())  # what this process knows anyway
        return self._known

    @property
    def last(self) -> Any:
        """The newest result of any kind; None before the first.

        A `SearchResult`, an `Export`, a `DeepSearchAnswer`, or the DataFrame of a tool. Of one that was interrupted or
        failed, it has what arrived; a tool that reports no rows while it runs leaves None.
        """
        return self._read_last()

    async def repositories(self) -> Any:
        """DataFrame of the repositories that can be searched, by name; columns as in ``columns_of("repositories")``."""
        from sourcelight.display.frames.facts import repositories_frame

        asked_at, began = now(), time.monotonic()
        reasons: tuple[str, ...] = ()
        if self.services:
            facts, owners, reasons = await cast("FederatedBackend", self._backend).listed()
            frame = repositories_frame(facts, owners=owners)
        else:
            frame = repositories_frame(await self._backend.repositories())
            reasons = tuple(getattr(self._backend, "unreadable", tuple)())
        status = "limited" if reasons else "complete"
        if reasons:
            warn(IncompleteResultWarning(f"repositories: {'; '.join(reasons)}"))
        duration_s = time.monotonic() - began
        told = provenance(self._backend, status=status, reasons=reasons, asked_at=asked_at, duration_s=duration_s)
        frame.attrs.update({"call": "repositories", **told})
        return frame

    async def _call(self, tool: Tool[A], arguments: A, progress: ProgressChoice = None) -> DataFrame:
        """Return the DataFrame of a tool; warns of an answer that a limit cut though the caller asked for all.

        Parameters
        ----------
        tool
            Definition of the tool.
        arguments
            Its arguments; those that are None are not sent.
        progress
            As in `search`.

        Raises
        ------
        Cancelled
            When a Stop button ended the call: nothing of it is kept.
        """
        from sourcelight.display.frames.facts import answer_frame, partial_frame

        name, given = tool.name, arguments.to_wire()
        state = CallState(_called(name, given))
        asked_at = now()
        answer: ToolResult | None = None
        self._last_frame = None
        self._read_last = lambda: self._last_frame

        async def work() -> None:
            nonlocal answer
            try:
                answer = await self._backend.call(name, given, state.update)
            except asyncio.CancelledError:
                state.interrupt()
                self._last_frame = partial_frame(state.rows, {"call": name, "query": asked_for(name, given)})
                raise
            except Exception as exc:
                state.fail(str(exc))
                raise
            state.finish(answer, _status(tool, answer, given))

        await watch(state, work(), progress, _SHOWN_AFTER_S, client=self)
        if answer is None:
            raise Cancelled(f"{name} was stopped")
        self._known.learn(answer.table)
        status = _status(tool, answer, given)
        if status == "limited":
            warn(IncompleteResultWarning(f"{name}: {'; '.join(answer.notices) or 'there is more than was given'}"))
        told = provenance(
            self._backend,
            status=status,
            reasons=() if answer.complete else answer.notices,
            asked_at=asked_at,
            duration_s=state.elapsed_s,
        )
        facts = {"call": name, "query": asked_for(name, given), **told}
        frame: DataFrame = answer_frame(answer, facts, status=status)
        self._last_frame = frame
        return frame


def _status(tool: Tool[Any], answer: ToolResult, given: Mapping[str, Any]) -> Status:
    """What an answer comes to: a part that was asked for is no limit, nor is a page."""
    return call_status(complete=answer.complete, rows=answer.table.num_rows, limit=tool.requested_rows(given))


def _called(name: str, arguments: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"{name}({shown})"
