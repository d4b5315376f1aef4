"""`mcp`: the tools over standard input and output, for a client that starts this program itself."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from sourcelight.cli.indexing import shown_on
from sourcelight.cli.outcomes import DONE, say
from sourcelight.cli.printing import StatusLine


def serve_tools(paths: Sequence[str], *, worktree: bool) -> int:
    """Answer messages until standard input ends; everything for people goes to standard error."""
    from sourcelight.backends.embed import open_engine

    line = StatusLine()
    try:
        engine = open_engine(paths, worktree=worktree, progress=shown_on(line))
        engine.definitions.start([engine.target_of(repository) for repository in engine.catalog.repositories])
        engine.histories.start(engine.default_histories)
    finally:
        line.clear()
    for warning in engine.catalog.warnings:
        say(warning)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    from sourcelight.server.mcp_server.stdio import serve_stdio

    serve_stdio(engine)
    return DONE
