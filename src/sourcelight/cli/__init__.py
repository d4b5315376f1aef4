"""The command line: commands, their options, and how answers look in a terminal.

No logic lives here: each command calls what a script would call. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status; `arguments` default to those of the process."""
    from sourcelight.cli.app import run

    return run(arguments)
