"""Answer an MCP client before the command line is parsed, which takes more time than the answers.

Imports nothing but `server.mcp.handshake`, which imports as little.
"""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.server.mcp.handshake import EarlyAnswers, read_tool_list

_SAME_LIST = frozenset({"--committed", "--worktree"})


def start_early_answers(words: Sequence[str]) -> EarlyAnswers | None:
    """Start to answer the client of ``sourcelight mcp``; None where `words` may change the answers, or be wrong.

    Parameters
    ----------
    words
        What follows ``mcp`` on the command line: directories, and options that leave the list of tools as it is.

    Raises
    ------
    BrokenPipeError
        The client no longer reads.
    """
    options = {word for word in words if word.startswith("-")}
    if not options <= _SAME_LIST or options == _SAME_LIST:
        return None
    early = EarlyAnswers(read_tool_list)
    early.start()
    return early
