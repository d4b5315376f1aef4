"""`serve` and `mcp`: run the service over HTTP, or the tools over standard input and output.

The commands read options; `startup.service` runs the service. `mcp` answers its client before the engine is imported,
and indexes in the background.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.options import ClusterAddress, Paths, ShardStorage, Tls, Worktree, path_texts
from sourcelight.cli.output import DONE, say
from sourcelight.cli.startup.service import ServeOptions, end_indexing, serve
from sourcelight.core.answer_size import DEFAULT_MAX_TOKENS, MAX_TOKENS, MIN_TOKENS
from sourcelight.core.errors import ConfigurationError, SourcelightError

if TYPE_CHECKING:
    from sourcelight.server.mcp.handshake import EarlyAnswers
    from sourcelight.server.mcp.suites import StdioOptions


def serve_command(
    paths: Paths = None,
    *,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST", help="Address to bind. Put a TLS proxy in front before you bind a public address."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Port to bind; 0 selects a free one.")
    ] = 7080,
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
    options = ServeOptions(
        paths=path_texts(paths, "."), host=host, port=port, config=str(config) if config else None, worktree=worktree
    )
    if storage or cluster:
        from sourcelight.cli.cluster import engine_opener

        return serve(options, engine_opener(cluster or [], storage, tls, paths=paths or []))
    return serve(options)


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
        raise ConfigurationError("pass --worktree or --committed, not both")
    if max_tokens and not MIN_TOKENS <= max_tokens <= MAX_TOKENS:
        raise ConfigurationError(f"--max-tokens must be {MIN_TOKENS} to {MAX_TOKENS}, or 0, got {max_tokens}")

    names = tuple(name.strip() for name in tools.split(",") if name.strip())
    named_tools(names)
    options = StdioOptions(names, max_tokens or None, structured)
    return serve_stdio_tools(path_texts(paths, "."), options, worktree=not committed, early=context.obj)


def serve_stdio_tools(
    paths: Sequence[str], options: StdioOptions, *, worktree: bool, early: EarlyAnswers | None = None
) -> int:
    """Answer messages until standard input ends; text for people goes to standard error.

    `early` answers already; None starts it here.
    """
    import logging

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

        engine.start_indexing(lambda: end_indexing(engine))
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
