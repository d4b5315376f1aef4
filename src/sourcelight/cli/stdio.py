"""`mcp`: the tools over standard input and output, for a client that starts this program itself."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from sourcelight.cli.indexing import shown_on, start_background
from sourcelight.cli.outcomes import DONE, say
from sourcelight.cli.printing import StatusLine


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
