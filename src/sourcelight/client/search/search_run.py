"""One running search: its request, its rows, and its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.client.progress import painting
from sourcelight.client.provenance import now
from sourcelight.core.backend import Backend
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo, ServiceStatuses
from sourcelight.core.errors import SearchFailed, SourcelightError, StreamBroken
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.notebook.state import SearchState

if TYPE_CHECKING:
    from sourcelight.client.search.result import SearchResult


class SearchRun:
    """A search from its request to its status.

    Parameters
    ----------
    backend
        Backend that answers.
    request
        The query with its limits and options.
    recover
        Called at an interrupt: returns rows that the backend has but did not yield; None: it holds none.
    arrange
        Returns all rows in the backend's order, once the search is over, and how each service ended; None: the rows
        stay as they arrived.
    """

    def __init__(
        self,
        backend: Backend,
        request: SearchRequest,
        *,
        recover: Callable[[], Iterable[MatchBatch]] | None = None,
        arrange: Callable[[], Awaitable[tuple[list[Any], ServiceStatuses]]] | None = None,
    ) -> None:
        self.backend = backend
        self.request = request
        self.state = SearchState(request.query, pattern_type=request.effective_pattern_type, display=request.display)
        self.asked_at = now()
        self.batches: list[Any] = []
        self.infos: dict[str, RepositoryInfo] = {}
        self.recover = recover
        self._arrange = arrange

        # Remembered for results: their methods run later, on the loop on which the backend lives.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._result: SearchResult | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield events as they arrive; always set the status at the end.

        Raises
        ------
        SourcelightError
            The error of the backend, with the rows so far as its `result`.
        SearchFailed
            After the last event, if the service reported that the search failed.
        """
        seen = 0
        self.loop = asyncio.get_running_loop()
        try:
            async with aclosing(self.backend.stream(self.request)) as source:
                async for event in source:
                    seen += 1
                    self._note(event)
                    yield event

            # Only a search that came to its end has all rows, and only then is the order known.
            if self.batches and self._arrange is not None and self.state.done:
                # In place: the explorer and the caller hold this list.
                self.batches[:], services = await self._arrange()
                self.state.update(services)

            if not self.state.done:
                raise StreamBroken("the stream ended without its last event", events_seen=seen)  # noqa: TRY301

            self.state.finish()
            if self.state.status == "failed":
                raise SearchFailed("; ".join(self.state.reasons))  # noqa: TRY301 - one place attaches the result
        except (asyncio.CancelledError, GeneratorExit):
            # GeneratorExit: the reader left its loop early, which counts as an interrupt.
            if self.recover is not None:
                for event in self.recover():
                    self._note(event)
                    self.batches.append(event.batch)

            self.state.interrupt()
            raise
        except SourcelightError as exc:
            self.state.fail(str(exc))
            # Before it leaves: a caller that catches the error gets the rows that had arrived.
            exc.result = self.result()
            raise
        except BaseException as exc:
            self.state.fail(f"{type(exc).__name__}: {exc}")
            raise

    def _note(self, event: Event) -> None:
        """Update the state, and remember the repositories that an event describes."""
        self.state.update(event)
        if isinstance(event, MatchBatch):
            self.infos.update((repository.name, repository) for repository in event.repositories)

    def _rerun(self, query: str) -> Coroutine[Any, Any, SearchResult]:
        """Search the same backend for another query."""
        request = replace(self.request, query=query)
        return SearchRun(self.backend, request, arrange=self._arrange).run_to_end()

    async def run_to_end(self) -> SearchResult:
        """Search to the end, draw meanwhile, and return the result."""
        async with painting(self.state, None), aclosing(self.events()) as events:
            async for event in events:
                if isinstance(event, MatchBatch):
                    self.batches.append(event.batch)
        return self.result()

    def result(self) -> SearchResult:
        """Return the result so far; the same object each time once the search is over."""
        if self._result is not None:
            return self._result

        # Loaded here: a stream of events, such as a command prints, never makes one.
        from sourcelight.client.search.result import SearchResult

        # A result of a running search is a snapshot, so it is made again for the next caller.
        is_over = self.state.phase != "running"
        result = SearchResult(
            self.request,
            self.backend.name,
            self.state,
            tuple(self.batches),
            tuple(self.infos.values()),
            answerer=self.backend,
            asked_at=self.asked_at,
            loop=self.loop,
            rerun=self._rerun,
        )
        if is_over:
            self._result = result

        return result


async def consume(run: SearchRun, take: Callable[[MatchBatch], Awaitable[None]]) -> None:
    """Run a search to its end, and pass its matches to `take`."""
    async with aclosing(run.events()) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                try:
                    await take(event)
                except Exception as exc:
                    run.state.fail(f"{type(exc).__name__}: {exc}")
                    raise


async def await_phase(run: SearchRun, work: Awaitable[Any]) -> Any:
    """Await a step of a search that sends no events; its failure or cancellation ends the search."""
    try:
        return await work
    except asyncio.CancelledError:
        run.state.interrupt()
        raise
    except Exception as exc:
        run.state.fail(str(exc))
        raise


async def unbroken(work: Coroutine[Any, Any, Any]) -> Any:
    """Await work to its end even when this task is cancelled meanwhile; the cancellation follows."""
    task = asyncio.ensure_future(work)
    try:
        # The shield keeps the cancellation away from the inner task, such as a write to a file that must not stop
        # halfway.
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
