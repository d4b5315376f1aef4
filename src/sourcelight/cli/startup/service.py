"""Run the service over HTTP: listen, answer first requests, open the engine, index.

Imports no framework of commands, which would delay the first answer; `serve` has the commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sourcelight.cli.output import DONE, print_line, say, say_warnings
from sourcelight.core.markup.counts import count_of

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine, Limits, LocalEngine
    from sourcelight.repos.state import State
    from sourcelight.server.http.front import Application
    from sourcelight.server.http.settings import Settings
    from sourcelight.server.identity.owner_token import OwnerTokenState
    from sourcelight.server.mcp.opening import ToolSources


class ServeOptions(NamedTuple):
    """Options of ``serve``, with the defaults for a directory."""

    paths: tuple[str, ...] = (".",)
    host: str = "127.0.0.1"
    port: int = 7080
    config: str | None = None
    worktree: bool = False


def serve(options: ServeOptions, open_cluster_engine: Callable[[Limits], Engine] | None = None) -> int:
    """Serve until a signal stops it.

    Answers first requests as soon as callers can be recognized, opens the engine meanwhile, and indexes in the
    background.
    """
    from sourcelight.server.http.listener import address_of, bind, is_loopback

    with bind(options.host, options.port) as listener:
        # Imported while clients can connect already.
        from sourcelight.backends.embedded.factory import data_home
        from sourcelight.repos.state import FILE_NAME, State
        from sourcelight.server.http.front import create_front
        from sourcelight.server.http.middleware.credential_uses import USES_FILE_NAME, CredentialUses
        from sourcelight.server.http.run import run
        from sourcelight.server.http.settings import load_settings
        from sourcelight.server.identity import read_owner_token
        from sourcelight.server.mcp.opening import EngineOpening

        home = data_home()
        settings = load_settings(options.config, os.environ)
        with State(str(home / FILE_NAME), actor="service") as state:
            owner = read_owner_token(state, str(home), os.environ)
            _set_up_log(settings)
            start = _ServiceStart(options, settings, state, owner, address_of(listener), open_cluster_engine)
            with closing(EngineOpening(start.open, is_shared=True)) as opening:
                start.app = create_front(
                    opening,
                    settings,
                    state=state,
                    is_on_this_machine=open_cluster_engine is None,
                    owner_token=owner.token,
                    bind_host=options.host,
                    uses=CredentialUses(
                        str(home / USES_FILE_NAME), settings.credential_uses_bytes, settings.credential_uses_files
                    ),
                )
                if not is_loopback(options.host):
                    say(
                        f"listening on {options.host} without TLS: anyone who reaches this machine can send requests, "
                        "and tokens are not encrypted; put a TLS proxy in front of it"
                    )

                for name in settings.unserved:
                    say(f"this version ignores the setting {name}: it lacks the feature; remove the setting")

                run(start.app, listener, opening)

    return DONE


def _set_up_log(settings: Settings) -> None:
    import logging

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    if settings.log_format == "json":
        from sourcelight.server.http.requests import JsonFormatter

        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


class _ServiceStart:
    """Opens the engine of a service that already listens.

    Parameters
    ----------
    options
        What to serve.
    settings, state, owner
        The site configuration, accounts, and the owner's token.
    address
        Where the service listens.
    open_cluster_engine
        Opens the engine of a cluster; None: the engine of the directories in `options`.
    """

    app: Application

    def __init__(
        self,
        options: ServeOptions,
        settings: Settings,
        state: State,
        owner: OwnerTokenState,
        address: str,
        open_cluster_engine: Callable[[Limits], Engine] | None,
    ) -> None:
        self._options = options
        self._settings = settings
        self._state = state
        self._owner = owner
        self._address = address
        self._open_cluster_engine = open_cluster_engine

    def open(self, closers: ExitStack) -> ToolSources:
        """Open the engine in a separate thread, and then let the application answer all requests."""
        # Imported while clients already have their first answers.
        from sourcelight.backends.embedded.factory import open_conversations
        from sourcelight.core.arrays import keep_pandas_out
        from sourcelight.server.http.app import open_app
        from sourcelight.server.mcp.opening import ToolSources

        keep_pandas_out()
        settings = self._settings
        local: LocalEngine | None = None
        engine: Engine
        if self._open_cluster_engine is not None:
            engine = self._open_cluster(self._open_cluster_engine)
        else:
            engine = local = self._open_local()

        closers.callback(engine.close)
        conversations = open_conversations(
            self._state, sharing=settings.deepsearch_sharing, model=settings.deepsearch_model
        )
        closers.callback(conversations.close)
        open_app(self.app, engine, settings, self._state, conversations=conversations)
        self._announce(engine)
        if local is not None:
            local.start_indexing(partial(end_indexing, local))

        return ToolSources(engine, conversations)

    def _open_cluster(self, open_engine: Callable[[Limits], Engine]) -> Engine:
        from sourcelight.server.http.app import search_limits
        from sourcelight.server.http.huge_pages import warm_up

        engine = open_engine(search_limits(self._settings))
        warm_up(engine)
        return engine

    def _open_local(self) -> LocalEngine:
        from sourcelight.backends.embedded import open_engine
        from sourcelight.repos import ServicePolicy
        from sourcelight.server.http.app import search_limits

        settings = self._settings
        return open_engine(
            self._options.paths,
            worktree=self._options.worktree,
            policy=ServicePolicy(self._state.repositories, settings.default_visibility, settings.trusted_paths),
            limits=search_limits(settings),
            max_file_size=settings.max_file_size_bytes,
            index_now=False,
        )

    def _announce(self, engine: Engine) -> None:
        from sourcelight.server.identity import make_owner_token

        settings = self._settings
        for name in settings.unknown_tools:
            say(f"mcp.tools.disabled names {name!r}, which isn't a tool of this version; correct or remove it")

        say_warnings(engine.catalog)
        print_line(f"sourcelight serves {count_of(len(engine.catalog.repositories), 'repository')} on {self._address}")
        # Not before: a service without a repository ends with its error, and shows no token.
        _print_owner(make_owner_token(self._state, self._owner))
        if settings.mcp_enabled:
            print_line(f"MCP clients connect to {settings.external_url or self._address}/.api/mcp")

        sys.stdout.flush()


def _print_owner(owner: OwnerTokenState) -> None:
    if owner.origin == "made":
        print_line(f"owner token (shown only once): {owner.text}")
    elif owner.origin == "kept":
        print_line("owner token: as printed at the first start; `sourcelight admin token create owner` creates another")
    else:
        print_line("owner token: from SOURCELIGHT_OWNER_TOKEN")


def end_indexing(engine: LocalEngine) -> None:
    """Report skipped files of the first indexing, load the files of a first search, and build the other tables."""
    from sourcelight.server.http.huge_pages import warm_up

    failure = engine.indexing.failure
    if failure is not None:
        say(f"indexing failed: {failure}")
        return

    for name, reason in sorted(engine.report.failures.items() if engine.report is not None else ()):
        say(f"can't index {name}: {reason}")

    warm_up(engine)
    _start_background(engine)


def _start_background(engine: LocalEngine) -> None:
    """Start to build definitions, terms and histories, which searches and questions would wait for."""
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    engine.definitions.start(targets)
    engine.term_updates.start(targets)
    engine.histories.start(engine.default_histories)
