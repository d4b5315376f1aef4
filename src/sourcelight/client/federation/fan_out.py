"""Ask several services at once, and page through one list of their repositories.

`list_repos` is sorted by name, so a page stays the same wherever a repository is.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from sourcelight.client.federation.service import Service
from sourcelight.core.batches import SERVICE, MatchBatch
from sourcelight.core.batches.results import CallObserver, ToolProgress, ToolResult
from sourcelight.core.errors import SearchFailed, SourcelightError, TimedOut, ToolError
from sourcelight.core.query.regexps import escape_name
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.core.tools.merge import MergedTable, Parts, join
from sourcelight.core.wire.events import ErrorEvent
from sourcelight.core.wire.request import SearchRequest

T = TypeVar("T")
_CALLS_ARE_SILENT = 10  # a tool may work for minutes silently, while a search reports every few seconds


@dataclass(frozen=True, slots=True)
class ServiceReply(Generic[T]):
    """The reply of one service: `value`, or `error`."""

    service: Service
    value: T | None
    error: SourcelightError | None
    elapsed_s: float


async def ask_all(services: Sequence[Service], ask: Callable[[Service], Awaitable[T]]) -> list[ServiceReply[T]]:
    """Call all services at once; cancellation ends all calls and waits for them."""

    async def ask_one(service: Service) -> ServiceReply[T]:
        began = time.monotonic()
        try:
            value = await ask(service)
        except SourcelightError as exc:
            return ServiceReply(service=service, value=None, error=exc, elapsed_s=time.monotonic() - began)
        return ServiceReply(service=service, value=value, error=None, elapsed_s=time.monotonic() - began)

    tasks = [asyncio.create_task(ask_one(service)) for service in services]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        # Waits until cancelled calls have closed their connections.
        await asyncio.gather(*tasks, return_exceptions=True)


def answers(replies: Sequence[ServiceReply[T]]) -> list[tuple[ServiceReply[T], T]]:
    """Return the replies of all services.

    Raises
    ------
    SourcelightError
        If no service answered: the error of the first, with the errors of the others as notes.
    """
    pairs = [(reply, reply.value) for reply in replies if reply.value is not None]
    errors = [(reply.service.name, reply.error) for reply in replies if reply.error is not None]
    if pairs or not errors:
        return pairs
    raise first_of(errors)


def first_of(errors: Sequence[tuple[str, SourcelightError]]) -> SourcelightError:
    """Return the first of some services' errors, with different ones of the others as its notes."""
    first = errors[0][1]
    for name, error in errors[1:]:
        if str(error) != str(first):
            # A note and no group of exceptions: callers catch `SourcelightError`, and a traceback shows notes.
            first.add_note(f"{name}: {error}")
    return first


def did_not_answer(service: Service, error: SourcelightError) -> str:
    """Return a notice that a service is missing in an answer."""
    return f"{service.name} did not answer: {error}"


async def call_one(
    service: Service, name: str, arguments: Mapping[str, Any], observer: CallObserver | None, idle_timeout_s: float
) -> ToolResult:
    """Call a tool of one service; a remote one must send something within the idle timeout.

    Raises
    ------
    TimedOut
        When it was silent for ten times `idle_timeout_s` seconds.
    """
    # No timeout: a local engine can't hang silently, and a first indexing may take minutes.
    if service.backend.local:
        return await service.backend.call(name, arguments, observer)

    loop = asyncio.get_running_loop()
    longest_s = idle_timeout_s * _CALLS_ARE_SILENT
    try:
        async with asyncio.timeout(longest_s) as clock:

            def on_progress(event: ToolProgress) -> None:
                with suppress(RuntimeError):
                    # Observers are called from other threads, and a timeout may only be moved on its own loop.
                    loop.call_soon_threadsafe(move_deadline)
                if observer is not None:
                    observer(event)

            def move_deadline() -> None:
                with suppress(RuntimeError):  # over meanwhile
                    clock.reschedule(loop.time() + longest_s)

            return await service.backend.call(name, arguments, on_progress)
    except TimeoutError:
        raise TimedOut(f"it sent nothing for {longest_s:g} s") from None


async def repositories_at(service: Service, names: Sequence[str] = ()) -> set[str]:
    """Return names of the repositories of a service; only of `names` if given."""
    if not names or service.backend.local:
        local_names = {info.name for info in await service.backend.repositories()}
        return local_names & set(names) if names else local_names

    # One search for all names: a service of thousands of repositories isn't listed for a few.
    pattern = f"^(?:{'|'.join(escape_name(name) for name in names)})$"
    query = f"repo:{quote_value(pattern)} type:repo count:all fork:yes archived:yes"
    local_names = set()
    async with aclosing(service.backend.stream(SearchRequest(query))) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                column = event.batch.column(event.batch.schema.get_field_index("repository"))
                local_names.update(column.unique().to_pylist())
            elif isinstance(event, ErrorEvent):
                raise SearchFailed(f"couldn't list its repositories: {event.message}")

    return local_names & set(names)


class SummedProgress:
    """The combined progress of several calls: units add up, the newest stage applies to all.

    Parameters
    ----------
    observer
        Callback for progress, or None.
    """

    def __init__(self, observer: CallObserver | None) -> None:
        self._observer = observer
        self._latest: dict[str, ToolProgress] = {}

    def of(self, name: str) -> CallObserver:
        """Return the observer of the call at the service `name`."""

        def on_progress(event: ToolProgress) -> None:
            self._latest[name] = event
            if self._observer is not None:
                reports = list(self._latest.values())
                done, total = sum(report.done for report in reports), sum(report.total for report in reports)
                # Rows in progress may come from several services, so none are reported.
                self._observer(
                    ToolProgress(event.stage, done, total, f"{name}: {event.detail}" if event.detail else name)
                )

        return on_progress


def page_of(parts: Parts, arguments: Mapping[str, Any]) -> tuple[MergedTable, dict[str, Any]]:
    """Return the requested page of all repositories of all services by name, and the cursor of the next one.

    Raises
    ------
    ToolError
        If the cursor is invalid.
    """
    merged = join(parts, ("repository",))
    names = merged.table["repository"].to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    names = [names[index] for index in order]
    after, before, limit = arguments.get("after"), arguments.get("before"), arguments.get("limit")

    # The cursor is a name and not a position, so pages stay right while repositories come and go.
    # Right of the name, so that the last repository of the previous page isn't repeated.
    start = bisect_right(names, _name(after, "after")) if after else 0
    end = max(bisect_left(names, _name(before, "before")), start) if before else len(names)
    if limit is not None and end - start > limit:
        start, end = (end - limit, end) if before and not after else (start, start + limit)

    page = names[start:end]
    attributes = {
        "total": len(names),
        "start_cursor": _cursor(page[0]) if page else None,
        "end_cursor": _cursor(page[-1]) if page else None,
        "has_previous_page": start > 0,
        "has_next_page": end < len(names),
    }
    table = merged.table.take(pa.array(np.array(order[start:end], np.int64)))

    # A repository of several services is one row, which names them all.
    owners: dict[str, list[str]] = {}
    for service, part in parts:
        for repository in part["repository"].to_pylist():
            owners.setdefault(repository, []).append(service)

    index = table.schema.get_field_index(SERVICE.name)
    services = pa.array([", ".join(owners[name]) for name in page], pa.string()).dictionary_encode()
    table = table.set_column(index, SERVICE.name, services.cast(table.schema.field(index).type))
    return MergedTable(table, merged.duplicates, start > 0 or end < len(names)), attributes


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _name(cursor: str, argument: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ToolError(
            f"list_repos: {argument} is not a cursor of this federation; pass start_cursor or end_cursor of an earlier "
            "answer unchanged",
            tool="list_repos",
            argument=argument,
        ) from None
