"""Asking several services at once: what each answers, or what went wrong with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sourcelight.client.federation.service import Service
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import Answer, CallObserver, CallProgress
from sourcelight.core.errors import SearchFailed, SourcelightError, TimedOut
from sourcelight.core.query.quoting import quote_value
from sourcelight.core.query.regexps import escape_name
from sourcelight.core.wire.events import ErrorEvent
from sourcelight.core.wire.request import SearchRequest

T = TypeVar("T")
_CALLS_ARE_SILENT = 10  # a tool may work for minutes without a word, where a search tells every few seconds


@dataclass(frozen=True, slots=True)
class Told(Generic[T]):
    """What became of asking one service: `value`, or `fault`."""

    service: Service
    value: T | None
    fault: SourcelightError | None
    elapsed_s: float


async def ask_all(services: Sequence[Service], ask: Callable[[Service], Awaitable[T]]) -> list[Told[T]]:
    """Ask all of them at once; cancelling ends all, and waits until they have ended."""

    async def one(service: Service) -> Told[T]:
        began = time.monotonic()
        try:
            value = await ask(service)
        except SourcelightError as fault:
            return Told(service, None, fault, time.monotonic() - began)
        return Told(service, value, None, time.monotonic() - began)

    tasks = [asyncio.create_task(one(service)) for service in services]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def answers(told: Sequence[Told[T]]) -> list[tuple[Told[T], T]]:
    """What was answered.

    Raises
    ------
    SourcelightError
        When nothing was: the fault of the first, with those of the others as its notes.
    """
    found = [(one, one.value) for one in told if one.value is not None]
    faults = [(one.service.name, one.fault) for one in told if one.fault is not None]
    if found or not faults:
        return found
    raise first_of(faults)


def first_of(faults: Sequence[tuple[str, SourcelightError]]) -> SourcelightError:
    """The first of some services' faults, with the others that say something else as its notes."""
    first = faults[0][1]
    for name, fault in faults[1:]:
        if str(fault) != str(first):
            first.add_note(f"{name}: {fault}")
    return first


def did_not_answer(service: Service, fault: SourcelightError) -> str:
    """A notice that a service is missing in an answer."""
    return f"{service.name} did not answer: {fault}"


async def call_one(
    service: Service, name: str, arguments: Mapping[str, Any], observer: CallObserver | None, silence_s: float
) -> Answer:
    """Call a tool of one service; one that is not in this process has to say something now and then.

    Raises
    ------
    TimedOut
        When it was silent for ten times `silence_s` seconds.
    """
    if service.backend.local:
        return await service.backend.call(name, arguments, observer)
    loop = asyncio.get_running_loop()
    longest_s = silence_s * _CALLS_ARE_SILENT
    try:
        async with asyncio.timeout(longest_s) as clock:

            def heard(at: CallProgress) -> None:
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(again)
                if observer is not None:
                    observer(at)

            def again() -> None:
                with suppress(RuntimeError):  # over meanwhile
                    clock.reschedule(loop.time() + longest_s)

            return await service.backend.call(name, arguments, heard)
    except TimeoutError:
        raise TimedOut(f"it said nothing for {longest_s:g} s") from None


async def repositories_at(service: Service, names: Sequence[str] = ()) -> set[str]:
    """Names of the repositories that a service has, of `names` only if some are given."""
    if not names or service.backend.local:
        found = {facts.name for facts in await service.backend.repositories()}
        return found & set(names) if names else found
    pattern = f"^(?:{'|'.join(escape_name(name) for name in names)})$"
    query = f"repo:{quote_value(pattern)} type:repo count:all fork:yes archived:yes"
    found = set()
    async with aclosing(service.backend.stream(SearchRequest(query))) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                column = event.batch.column(event.batch.schema.get_field_index("repository"))
                found.update(column.unique().to_pylist())
            elif isinstance(event, ErrorEvent):
                raise SearchFailed(f"could not say which repositories it has: {event.message}")
    return found & set(names)


class SummedProgress:
    """The progress of several calls as one: units add up, the newest stage stands for all.

    Parameters
    ----------
    observer
        Who is told; None: nobody.
    """

    def __init__(self, observer: CallObserver | None) -> None:
        self._observer = observer
        self._latest: dict[str, CallProgress] = {}

    def of(self, name: str) -> CallObserver:
        """The observer of the call at the service `name`."""

        def heard(at: CallProgress) -> None:
            self._latest[name] = at
            if self._observer is not None:
                known = list(self._latest.values())
                done, total = sum(one.done for one in known), sum(one.total for one in known)
                # Rows that are told on the way may come from several services, so none are.
                self._observer(CallProgress(at.stage, done, total, f"{name}: {at.detail}" if at.detail else name))

        return heard
