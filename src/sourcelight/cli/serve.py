"""`serve`: read the configuration, bind, index, and run the service.

`mcp`: the tools over standard input and output, for a client that starts this program itself.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sourcelight.cli.index import shown_on, start_background
from sourcelight.cli.output import DONE, StatusLine, say, tell

if TYPE_CHECKING:
    from sourcelight.engines.execution import Limits, LocalEngine


def serve(  # noqa: PLR0915 - one step after another
    paths: Sequence[str],
    *,
    host: str,
    port: int,
    config: str | None,
    worktree: bool,
    cluster: Callable[[Limits], LocalEngine] | None = None,
) -> int:
    """Serve until told to stop.

    Everything that can be wrong with the configuration, the token or the port is found before indexing starts.
    """
    from sourcelight.backends.embedded import data_home, open_engine
    from sourcelight.backends.embedded.factory import open_desk
    from sourcelight.repos import ServicePolicy
    from sourcelight.repos.state import FILE_NAME, State
    from sourcelight.server.http.app import create_app, search_limits
    from sourcelight.server.http.middleware import USES_FILE_NAME, CredentialUses
    from sourcelight.server.http.run import address_of, bind, is_loopback, run, warm_up
    from sourcelight.server.http.settings import load_settings
    from sourcelight.server.identity import read_owner_token

    settings = load_settings(config, os.environ)
    listener = bind(host, port)
    with listener, State(str(data_home() / FILE_NAME), actor="service") as state:
        owner = read_owner_token(state, str(data_home()), os.environ)
        line = StatusLine()
        try:
            if cluster is not None:
                engine = cluster(search_limits(settings))
                warm_up(engine)
            else:
                engine = open_engine(
                    paths,
                    worktree=worktree,
                    policy=ServicePolicy(state.repositories, settings.default_visibility, settings.trusted_paths),
                    limits=search_limits(settings),
                    max_file_size=settings.max_file_size_bytes,
                    progress=shown_on(line),
                )
                warm_up(engine)
                start_background(engine)
        finally:
            line.clear()
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        desk = open_desk(state, sharing=settings.deepsearch_sharing, model=settings.deepsearch_model)
        app = create_app(
            engine, settings, state=state, owner_token=owner.token, bind_host=host, conversations=desk,
            uses=CredentialUses(
                str(data_home() / USES_FILE_NAME), settings.credential_uses_bytes, settings.credential_uses_files
            ),
        )  # fmt: skip
        for name in settings.unserved:
            say(f"{name} is set, but this version does not serve what it governs")
        for warning in engine.catalog.warnings:
            say(warning)
        for skipped in engine.catalog.skipped:
            say(f"{skipped.path}: {skipped.message}")
        if not is_loopback(host):
            say(
                f"listening on {host}: everyone who reaches this machine can try to use it, and tokens travel "
                "unencrypted; put a proxy with TLS in front of it"
            )
        count = len(engine.catalog.repositories)
        tell(f"sourcelight serves {count} {'repository' if count == 1 else 'repositories'} on {address_of(listener)}")
        if owner.origin == "made":
            tell(f"owner token (shown this once): {owner.text}")
        elif owner.origin == "kept":
            tell(
                "owner token: the one printed at the first start; `sourcelight admin token create owner` makes another"
            )
        else:
            tell("owner token: as given in SOURCELIGHT_OWNER_TOKEN")
        if settings.mcp_enabled:
            tell(f"MCP clients connect to {settings.external_url or address_of(listener)}/.api/mcp")
        sys.stdout.flush()
        app.state.mcp.preload()
        try:
            run(app, listener)
        finally:
            desk.close()
            engine.close()
    return DONE


def serve_tools(paths: Sequence[str], *, worktree: bool) -> int:
    """Answer messages until standard input ends; everything for people goes to standard error."""
    from sourcelight.backends.embedded import data_home, open_engine
    from sourcelight.backends.embedded.factory import open_desk
    from sourcelight.repos.state import FILE_NAME, State

    line = StatusLine()
    try:
        engine = open_engine(paths, worktree=worktree, progress=shown_on(line))
        start_background(engine)
    finally:
        line.clear()
    for warning in engine.catalog.warnings:
        say(warning)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    from sourcelight.server.mcp.protocol import serve_stdio

    with State(str(data_home() / FILE_NAME)) as state:
        desk = open_desk(state)
        try:
            serve_stdio(engine, conversations=desk)
        finally:
            desk.close()
    return DONE
