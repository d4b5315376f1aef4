"""The command line: commands, their options, and terminal output.

Each command calls the library that a script would call; no search logic lives here. Start with `app`, which registers
the commands of the other modules, or with the module of one command.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

_OBJECTS_BETWEEN_COLLECTIONS = 250_000
"""Objects that a process that only searches makes before Python looks for garbage. Loading modules makes 115,000 that
stay, and looking through them again and again took a twelfth of the time of a small search, once still 45 ms."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; `arguments` default to the process's arguments."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words, is_process=arguments is None)
    except KeyboardInterrupt:
        # Ctrl-C while modules load, before a command handles it.
        from sourcelight.cli.output import INTERRUPTED, say

        say("interrupted")
        return INTERRUPTED


def _run(words: Sequence[str], *, is_process: bool) -> int:
    command = words[0] if words else ""

    # `app` and its framework take as long to load as a small search, or as a client's first two answers. So usual
    # calls of three commands are answered without it; any other option, and --help, is its matter.
    status = None
    early_answers = None
    if command == "search":
        status = _search(words[1:], is_process=is_process)
    elif command == "serve":
        status = _serve(words[1:])
    elif command == "mcp":
        from sourcelight.cli.startup.first_answers import start_early_answers

        try:
            early_answers = start_early_answers(words[1:])
        except BrokenPipeError:
            return 0

    if status is not None:
        return status

    from sourcelight.cli.app import run

    return run(words, early_answers)


def _search(words: Sequence[str], *, is_process: bool) -> int | None:
    """Search without `app`; return None for options that need it. A process ends here, with the status."""
    if is_process:
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)

    from sourcelight.cli.startup.first_answers import read_search_options

    options = read_search_options(words)
    if options is None:
        return None

    from sourcelight.cli.output import DONE, NO_MATCH, exit_status
    from sourcelight.cli.startup.search import search

    query, command = options
    status = exit_status(lambda: search(query, command))
    if is_process and status in {DONE, NO_MATCH}:
        _end_process(status)
    return status


def _serve(words: Sequence[str]) -> int | None:
    """Run a service without `app`; return None for options that need it."""
    from sourcelight.cli.startup.first_answers import read_serve_options

    options = read_serve_options(words)
    if options is None:
        return None

    from sourcelight.cli.output import exit_status
    from sourcelight.cli.startup.service import serve

    return exit_status(lambda: serve(options))


def _end_process(status: int) -> NoReturn:
    """End the process without taking its modules apart, which is a seventh of the time of a small search."""
    atexit._run_exitfuncs()  # noqa: SLF001 - Python has no other way to run them all and then stop
    sys.stderr.flush()
    os._exit(status)
