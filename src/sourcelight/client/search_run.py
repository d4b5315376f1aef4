"""One search under way: what was asked, what arrived, and how it ended.

Steps of a search that a client awaits: to its end, to a part without events, and work that nothing breaks off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing
from typing import Any

from sourcelight.client.backend import Backend
from sourcelight.client.progress import painting
from sourcelight.client.provenance import now
from sourcelight.client.result import SearchResult
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.errors import SearchFailed, SourcelightError, StreamBroken
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.notebook import SearchState


class SearchRun:
    """A search from its request to its status.

    Parameters
    ----------
    backend
        What answers.
    request
        What is asked.

    `held`, where it is set, gives at an interrupt what the backend has but did not give yet.
    """

    def __init__(self, backend: Backend, request: SearchRequest) -> None:
        self.backend = backend
        self.request = request
        self.state = SearchState(request.query, pattern_type=request.effective_pattern_type, display=request.display)
        self.asked_at = now()
        self.batches: list[Any] = []
        self.facts: dict[str, RepositoryInfo] = {}
        self.held: Callable[[], Iterable[MatchBatch]] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._result: SearchResult | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield events as they arrive; set the status at the end, whatever the end is.

        Raises
        ------
        SourcelightError
            The error of the backend, with the rows so far as its `result`.
        SearchFailed
            After the last event, when the service said that the search failed.
        """
        seen = 0
        self.loop = asyncio.get_running_loop()
        try:
            async with aclosing(self.backend.stream(self.request)) as source:
                async for event in source:
                    seen += 1
                    self.state.update(event)
                    if isinstance(event, MatchBatch):
                        self.facts.update((f.name, f) for f in event.repositories)
                    yield event
            if self.batches:
                await self._arrange()
            if not self.state.done:
                raise StreamBroken("the stream ended without its last event", events_seen=seen)  # noqa: TRY301
            self.state.finish()
            if self.state.status == "failed":
                raise SearchFailed("; ".join(self.state.reasons))  # noqa: TRY301 - one place attaches the result
        except (asyncio.CancelledError, GeneratorExit):
            # GeneratorExit: the reader left its loop early, which counts as an interrupt.
            for event in self.held() if self.held else ():
                self.state.update(event)
                self.facts.update((f.name, f) for f in event.repositories)
                self.batches.append(event.batch)
            self.state.interrupt()
            raise
        except SourcelightError as exc:
            self.state.fail(str(exc))
            exc.result = self.result()
            raise
        except BaseException as exc:
            self.state.fail(f"{type(exc).__name__}: {exc}")
            raise

    async def _arrange(self) -> None:
        """Put the kept rows into the order of the backend, if it has one."""
        arrange = getattr(self.backend, "arranged", None)
        if arrange is None or not self.state.done:
            return
        batches, services = await arrange()
        self.batches[:] = batches
        self.state.update(services)

    async def whole(self) -> SearchResult:
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
        over = self.state.phase != "running"
        made = SearchResult(
            self.request,
            self.backend.name,
            self.state,
            tuple(self.batches),
            tuple(self.facts.values()),
            answerer=self.backend,
            asked_at=self.asked_at,
        )
        made._loop = self.loop  # noqa: SLF001 - one room; where the lines around a match can be asked for later
        if over:
            self._result = made
        return made


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


async def settled(run: SearchRun, work: Awaitable[Any]) -> Any:
    """Await a part of a search that sends no events; its failure or cancellation is that of the search."""
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
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
