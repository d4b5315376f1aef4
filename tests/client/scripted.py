"""A backend that plays a script: real async generators, no service."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from display.batches_for_tests import lines
from sourcelight.core.backend import Features
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.batches.results import CallObserver, ToolProgress, ToolResult
from sourcelight.core.errors import QueryError, UnsupportedTool
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, QuerySuggestion, Skipped, SuggestedFilter
from sourcelight.core.wire.request import SearchRequest

T = TypeVar("T")
Step = Event | Exception | str
FACTS = RepositoryInfo("r1", 7, stars=3, url="https://host/r1")


def shorten_waits(patch: pytest.MonkeyPatch) -> None:
    """Make event loops sleep a thousandth of their time, so that a running question is read again at once."""
    sleep = asyncio.sleep
    patch.setattr(asyncio, "sleep", lambda delay_s: sleep(delay_s / 1000))


def batch(k: int, rows: int = 10, repository: str = "r1") -> MatchBatch:
    """A batch of matched lines of one file."""
    result = lines(repository, f"f{k}.go", [(i + 1, f"foo {i}", [(0, 3)]) for i in range(rows)])
    return MatchBatch(result, (FACTS,) if k == 0 else ())


def progress(*skipped: Skipped, done: bool = True, matches: int = 0) -> Progress:
    """A progress event."""
    return Progress(done, matches, 5, 1, skipped)


LIMIT = Skipped("shard-match-limit", "result limit hit", "m", "info", QuerySuggestion("increase limit", "count:all"))
FORKS = Skipped("repository-fork", "1 forked", "m", "info", QuerySuggestion("include forked", "fork:yes"))
COMPLETE: list[Step] = [
    batch(0),
    batch(1),
    Filters((SuggestedFilter("repo:r1", "r1", 20, True, "repo"),)),
    progress(),
    Done(),
]
LIMITED: list[Step] = [batch(0), progress(LIMIT, FORKS), Done()]
FAILED: list[Step] = [batch(0), Alert("it broke", "badly", "error"), progress(), Done()]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of its own, as an awaiting caller would."""
    with asyncio.Runner() as runner:
        return runner.run(work)


class ScriptedBackend:
    """Plays `script` for every search: events are yielded, errors raised, ``"wait"`` waits until cancelled.

    `closed` is set when a stream has been closed; `waiting` when one waits.
    """

    name = "scripted"
    local = False
    features = Features()

    def __init__(
        self, script: Sequence[Step], counts: Any = None, answers: Sequence[ToolResult | Exception | str] = ()
    ) -> None:
        self.script = list(script)
        self.counts = counts
        self.answers = list(answers)
        self.partial_tables: list[Any] = []
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.closed = threading.Event()
        self.waiting = threading.Event()
        self.threads: set[int] = set()
        self.requests: list[SearchRequest] = []
        self.sent = 0
        self.down = False

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Play the script."""
        self.requests.append(request)
        self.threads.add(threading.get_ident())
        if not request.query:
            raise QueryError("empty query", query="")
        try:
            for step in self.script:
                await asyncio.sleep(0)
                if isinstance(step, str):
                    self.waiting.set()
                    await asyncio.Event().wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    self.sent += 1
                    yield step
        finally:
            await asyncio.sleep(0)  # cleaning up may await
            self.closed.set()

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:  # noqa: ARG002
        """The counts given, if any."""
        self.requests.append(request)
        return self.counts

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Nothing is known."""
        self.requests.append(request)
        return None

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """The next of `answers`; ``"wait"`` waits until cancelled."""
        self.calls.append((name, arguments))
        self.threads.add(threading.get_ident())
        step = self.answers.pop(0) if self.answers else UnsupportedTool(f"no script for {name}", tool=name)
        if observer is not None:
            observer(ToolProgress("reading", 3, 12, "r1"))
            for rows in self.partial_tables:
                observer(ToolProgress("reading", 3, 12, "r1", rows))
        if isinstance(step, str):
            try:
                self.waiting.set()
                await asyncio.Event().wait()
            finally:
                self.closed.set()
        if isinstance(step, Exception):
            raise step
        assert isinstance(step, ToolResult)
        return step

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """One repository."""
        return (FACTS,)

    async def aclose(self) -> None:
        """Note it."""
        self.down = True
