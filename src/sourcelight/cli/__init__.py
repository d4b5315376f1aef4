"""The command line: commands, their options, and terminal output.

Each command calls the library that a script would call; no search logic lives here. Start with `app`, which registers
the commands of the other modules, or with the module of one command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; `arguments` default to the process's arguments."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    early = None
    if words[:1] == ["serve"]:
        from sourcelight.cli.startup.first_answers import read_serve_options

        if (options := read_serve_options(words[1:])) is not None:
            from sourcelight.cli.output import exit_status
            from sourcelight.cli.startup.service import serve

            return exit_status(lambda: serve(options))

    if words[:1] == ["mcp"]:
        # Before `app`, whose framework alone takes as long as a client's first two answers.
        from sourcelight.cli.startup.first_answers import start_early_answers

        try:
            early = start_early_answers(words[1:])
        except BrokenPipeError:
            return 0

    from sourcelight.cli.app import run

    return run(words, early)
