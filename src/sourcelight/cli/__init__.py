"""The command line: commands, their options, and terminal output.

Each command calls the library that a script would call; no search logic lives here. Start with `app`, which registers
the commands of the other modules, or with the module of one command.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; `arguments` default to those of the process."""
    from sourcelight.cli.app import run

    return run(arguments)
