"""A running service on a loopback port, over a scripted engine or a real one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from starlette.applications import Starlette

from server.loopback_tls import TLS
from sourcelight.core.batches import Event
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.explanation import Explanation
from sourcelight.core.tools.tool import A
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.engine import StepRunner
from sourcelight.engines.execution.indexes.first_indexing import FirstIndexing
from sourcelight.engines.execution.protocol import Limits, ToolHandler
from sourcelight.engines.search import IndexReport
from sourcelight.engines.search.model import GroupBy
from sourcelight.engines.tools import Conversations
from sourcelight.repos import Catalog, Viewer
from sourcelight.repos.state import State
from sourcelight.server.http.app import create_app
from sourcelight.server.http.listener import address_of, bind
from sourcelight.server.http.pacing import Cadence
from sourcelight.server.http.run import HttpServer
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.stream import StreamLimits

TOKEN = "slo_a-token-made-up-for-tests"
BOUND_S = 30.0
"""Seconds that a step may take on a busy machine: the first request of MCP imports for over a second of a core."""

Script = Callable[[SearchRequest, Viewer, Cancellation], Iterator[Event]]


@dataclass
class ScriptedEngine:
    """Plays a script for each search and notes what it was asked and when its generators were released."""

    script: Script
    requests: list[SearchRequest] = field(default_factory=list)
    viewers: list[Viewer] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    catalog: Catalog = field(default_factory=lambda: Catalog.from_repositories(()))
    limits: Limits = field(default_factory=Limits)
    indexing: FirstIndexing = field(default_factory=FirstIndexing)
    report: IndexReport | None = None
    holds_files: bool = False
    step_runner: StepRunner | None = None

    def stream(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        self.requests.append(request)
        self.viewers.append(viewer)
        return self._play(request, viewer, cancellation)

    def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> None:
        """Each search takes a thread."""

    def _play(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        self.begun.set()
        try:
            yield from self.script(request, viewer, cancellation)
        finally:
            self.released.set()

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """There is nothing that could change."""

    def count(
        self,
        request: SearchRequest,
        by: Sequence[GroupBy],
        viewer: Viewer,
        cancellation: Cancellation,
        on_skipped: Callable[[tuple[Skipped, ...]], None] | None = None,
    ) -> None:
        """Only the stream answers."""

    def explain(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation | None = None) -> Explanation:
        raise NotImplementedError

    def run_tool(self, handler: ToolHandler[A], arguments: A, context: Any) -> ToolResult:
        return handler.run(arguments, context)

    def close(self) -> None:
        """It has no threads."""


@dataclass
class Service:
    """A running service: its address, its application, its server, and a client that bears the owner's token."""

    url: str
    app: Starlette
    server: HttpServer
    client: httpx2.Client
    thread: threading.Thread

    def search(self, query: str = "x", **params: Any) -> httpx2.Response:
        return self.client.get("/.api/search/stream", params={"q": query} | params)

    def stop(self) -> None:
        self.server.should_exit = True


Serve = Callable[..., Service]


@contextlib.contextmanager
def running(
    engine: Any,
    settings: Settings | None = None,
    cadence: Cadence | None = None,
    limits: StreamLimits | None = None,
    bind_host: str = "127.0.0.1",
    state: State | None = None,
    conversations: Conversations | None = None,
    change_shortcut: Callable[[Any], Any] = lambda shortcut: shortcut,
) -> Iterator[Service]:
    app = create_app(
        engine,
        settings or Settings(),
        state=state,
        owner_token=TOKEN,
        bind_host=bind_host,
        cadence=cadence,
        limits=limits,
        conversations=conversations,
    )
    app.state.shortcut = change_shortcut(app.state.shortcut)
    listener = bind("127.0.0.1", 0)
    url = address_of(listener)
    server = HttpServer(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    headers = {"Authorization": f"token {TOKEN}", "Accept-Encoding": "identity"}
    client = httpx2.Client(base_url=url, headers=headers, timeout=BOUND_S, trust_env=False, verify=TLS)
    try:
        with client:
            yield Service(url, app, server, client, thread)
    finally:
        server.should_exit = True
        thread.join(15)
        listener.close()
        assert not thread.is_alive()
