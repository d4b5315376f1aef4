"""`serve` and `mcp`: run the service over HTTP, or the tools over standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.index import start_background
from sourcelight.cli.options import ClusterAddress, Paths, ShardStorage, Tls, Worktree, path_texts
from sourcelight.cli.output import DONE, print_line, say, say_warnings
from sourcelight.core.errors import ConfigurationError, SourcelightError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.tool import DEFAULT_MAX_TOKENS, MAX_TOKENS, MIN_TOKENS

if TYPE_CHECKING:
    import socket

    from sourcelight.engines.execution import Engine, Limits, LocalEngine
    from sourcelight.server.identity.authentication import OwnerTokenState
    from sourcelight.server.mcp.handshake import EarlyAnswers
    from sourcelight.server.mcp.suites import StdioOptions


def serve_command(
    paths: Paths = None,
    *,
    host: Annotated[
        str, typer.Option(help="Address to bind. Put a TLS proxy in front before you bind a public address.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to bind; 0 selects a free one.")] = 7080,
    config: Annotated[
        Optional[Path],  # noqa: UP045 - see options
        typer.Option(metavar="FILE", help="Site configuration, a JSON file."),
    ] = None,
    worktree: Worktree = False,
    cluster: ClusterAddress = None,
    storage: ShardStorage = None,
    tls: Tls = None,
) -> int:
    """Serve searches over HTTP.

    The clients are notebooks, scripts, browsers and other programs that speak the protocols of search and MCP.
    SOURCELIGHT_OWNER_TOKEN sets the owner's token; without it, the first start creates and prints one. Each search
    sees the newest commits of branches. Stop with Ctrl-C or SIGTERM. With --cluster and --storage, serves
    the repositories of a cluster; omit PATH then.
    """
    config_file = str(config) if config else None
    if storage or cluster:
        from sourcelight.cli.cluster import engine_opener

        opener = engine_opener(cluster or [], storage, tls, paths=paths or [])
        return serve([], host=host, port=port, config=config_file, worktree=worktree, open_cluster_engine=opener)
    return serve(path_texts(paths, "."), host=host, port=port, config=config_file, worktree=worktree)


def mcp_command(
    context: typer.Context,
    paths: Paths = None,
    *,
    tools: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Tools to offer: default, all, or comma-separated names."),
    ] = "all",
    max_tokens: Annotated[
        int,
        typer.Option(metavar="N", help="Maximum tokens per answer, at least 300; 0 means no limit."),
    ] = DEFAULT_MAX_TOKENS,
    structured: Annotated[
        bool, typer.Option("--structured", help="Send structured content in addition to text, for programs.")
    ] = False,
    committed: Annotated[
        bool, typer.Option("--committed", help="Search the last commits, without uncommitted changes.")
    ] = False,
    worktree: Annotated[
        bool, typer.Option("--worktree", help="Search work trees as they are on disk; the default.")
    ] = False,
) -> int:
    """Offer the MCP tools over standard input and output.

    For an MCP client that starts this command. Answers at once, and indexes PATH (default: the current directory) in
    the background. Searches work trees as they are on disk, without ignored files. Needs no token, because the client
    runs as you.
    """
    from sourcelight.server.mcp.suites import StdioOptions, named_tools

    if worktree and committed:
        raise ConfigurationError("--worktree and --committed exclude each other")
    if max_tokens and not MIN_TOKENS <= max_tokens <= MAX_TOKENS:
        raise ConfigurationError(f"--max-tokens must be {MIN_TOKENS} to {MAX_TOKENS}, or 0, got {max_tokens}")
    names = tuple(name.strip() for name in tools.split(",") if name.strip())
    named_tools(names)
    options = StdioOptions(names, max_tokens or None, structured)
    return serve_stdio_tools(path_texts(paths, "."), options, worktree=not committed, early=context.obj)


def serve(
    paths: Sequence[str],
    *,
    host: str,
    port: int,
    config: str | None,
    worktree: bool,
    open_cluster_engine: Callable[[Limits], Engine] | None = None,
) -> int:
    """Serve until a signal stops it; indexes in the background, so that clients can connect at once."""
    from sourcelight.server.http.listener import bind

    with bind(host, port) as listener:
        _serve_on(
            listener,
            paths,
            host=host,
            config=config,
            worktree=worktree,
            open_cluster_engine=open_cluster_engine,
        )
    return DONE


def _serve_on(
    listener: socket.socket,
    paths: Sequence[str],
    *,
    host: str,
    config: str | None,
    worktree: bool,
    open_cluster_engine: Callable[[Limits], Engine] | None,
) -> None:
    """Load the service and run it; who connects meanwhile waits."""
    import logging

    from sourcelight.backends.embedded import data_home, open_engine
    from sourcelight.backends.embedded.factory import open_conversations
    from sourcelight.core.arrays import keep_pandas_out
    from sourcelight.repos import ServicePolicy
    from sourcelight.repos.state import FILE_NAME, State
    from sourcelight.server.http.app import create_app, search_limits
    from sourcelight.server.http.listener import address_of
    from sourcelight.server.http.middleware.credential_uses import USES_FILE_NAME, CredentialUses
    from sourcelight.server.http.requests import JsonFormatter
    from sourcelight.server.http.run import run, warm_up
    from sourcelight.server.http.settings import load_settings
    from sourcelight.server.identity import read_owner_token

    keep_pandas_out()
    settings = load_settings(config, os.environ)
    with State(str(data_home() / FILE_NAME), actor="service") as state:
        owner = read_owner_token(state, str(data_home()), os.environ)
        local: LocalEngine | None = None
        if open_cluster_engine is not None:
            engine = open_cluster_engine(search_limits(settings))
            warm_up(engine)
        else:
            engine = local = open_engine(
                paths,
                worktree=worktree,
                policy=ServicePolicy(state.repositories, settings.default_visibility, settings.trusted_paths),
                limits=search_limits(settings),
                max_file_size=settings.max_file_size_bytes,
                index_now=False,
            )
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        if settings.log_format == "json":
            for handler in logging.getLogger().handlers:
                handler.setFormatter(JsonFormatter())
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        conversations = open_conversations(state, sharing=settings.deepsearch_sharing, model=settings.deepsearch_model)
        app = create_app(
            engine,
            settings,
            state=state,
            owner_token=owner.token,
            bind_host=host,
            conversations=conversations,
            uses=CredentialUses(
                str(data_home() / USES_FILE_NAME), settings.credential_uses_bytes, settings.credential_uses_files
            ),
        )
        for name in settings.unknown_tools:
            say(f"mcp.tools.disabled names {name!r}, which isn't a tool of this version")
        for name in settings.unserved:
            say(f"this version ignores the setting {name}: it has no such feature")
        say_warnings(engine.catalog)
        address = address_of(listener)
        _announce(engine, owner, host=host, address=address)
        if settings.mcp_enabled:
            print_line(f"MCP clients connect to {settings.external_url or address}/.api/mcp")
        sys.stdout.flush()
        if local is not None:
            local.start_indexing(partial(_end_indexing, local))
        try:
            run(app, listener)
        finally:
            conversations.close()
            engine.close()


def _announce(engine: Engine, owner: OwnerTokenState, *, host: str, address: str) -> None:
    from sourcelight.server.http.listener import is_loopback

    if not is_loopback(host):
        say(
            f"listening on {host}: everyone who reaches this machine can try to use it, and tokens travel "
            "unencrypted; put a TLS proxy in front of it"
        )
    print_line(f"sourcelight serves {count_of(len(engine.catalog.repositories), 'repository')} on {address}")
    if owner.origin == "made":
        print_line(f"owner token (shown only once): {owner.text}")
    elif owner.origin == "kept":
        print_line("owner token: as printed at the first start; `sourcelight admin token create owner` creates another")
    else:
        print_line("owner token: from SOURCELIGHT_OWNER_TOKEN")


def serve_stdio_tools(
    paths: Sequence[str], options: StdioOptions, *, worktree: bool, early: EarlyAnswers | None = None
) -> int:
    """Answer messages until standard input ends; text for people goes to standard error.

    `early` answers already; None starts it here.
    """
    import logging
    from contextlib import ExitStack

    if early is None:
        from sourcelight.server.mcp.handshake import EarlyAnswers
        from sourcelight.server.mcp.suites import stdio_tool_list

        early = EarlyAnswers(lambda: stdio_tool_list(options))
        early.start()
    # Imported while the client already has its first answers.
    from sourcelight.server.mcp.opening import EngineOpening, ToolSources
    from sourcelight.server.mcp.protocol import serve_stdio

    def open_sources(closers: ExitStack) -> ToolSources:
        # Imported while the client already has its first answers.
        from sourcelight.backends.embedded import data_home, open_engine
        from sourcelight.backends.embedded.factory import open_conversations
        from sourcelight.core.arrays import keep_pandas_out
        from sourcelight.repos.state import FILE_NAME, State

        keep_pandas_out()
        try:
            engine = open_engine(paths, worktree=worktree, index_now=False)
            closers.callback(engine.close)
            state = closers.enter_context(State(str(data_home() / FILE_NAME)))
            conversations = open_conversations(state)
            closers.callback(conversations.close)
        except SourcelightError as exc:
            say(str(exc))
            raise
        for warning in engine.catalog.warnings:
            say(warning)
        engine.start_indexing(lambda: _end_indexing(engine))
        return ToolSources(engine, conversations)

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    _end_with_reader()
    with closing(EngineOpening(open_sources)) as opening:
        serve_stdio(opening, options, early)
    return DONE


def _end_with_reader() -> None:
    """End this process normally once its standard output has no reader: the thread that reads the input never would."""
    if sys.platform == "win32":
        return
    import select
    import threading

    poller = select.poll()
    # Registered without events, the poll returns only on an error or after the reader has closed the pipe. It watches
    # a copy of the descriptor, because the SDK makes standard output lead to standard error.
    poller.register(os.dup(sys.stdout.fileno()), 0)

    def wait() -> None:
        poller.poll()
        # Indexes and state are safe from a kill at any moment, and workers end with their input.
        os._exit(DONE)

    threading.Thread(target=wait, name="sourcelight-reader", daemon=True).start()


def _end_indexing(engine: LocalEngine) -> None:
    """Say what the first indexing left out; load what a first search would wait for, and build the rest."""
    from sourcelight.server.http.run import warm_up

    failure = engine.indexing.failure
    if failure is not None:
        say(f"indexing failed: {failure}")
        return
    for name, reason in sorted(engine.report.failures.items() if engine.report is not None else ()):
        say(f"{name}: can't index it: {reason}")
    warm_up(engine)
    start_background(engine)
