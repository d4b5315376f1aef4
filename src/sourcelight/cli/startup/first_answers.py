"""Command lines that are understood without the framework of commands, which takes more time than first answers.

`mcp` answers its client before its command line is parsed; `serve` listens before. Anything but plain words is for the
framework, with its help and its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sourcelight.cli.startup.service import ServeOptions
    from sourcelight.server.mcp.handshake import EarlyAnswers

_SAME_LIST = frozenset({"--committed", "--worktree"})
_MAX_PORT = 65_535


def start_early_answers(words: Sequence[str]) -> EarlyAnswers | None:
    """Start to answer the client of ``sourcelight mcp``; None where `words` may change the answers, or be wrong.

    Parameters
    ----------
    words
        The arguments after ``mcp`` on the command line: directories, and options that don't change the list of tools.

    Raises
    ------
    BrokenPipeError
        The client no longer reads.
    """
    # Imported before all others, and imports little.
    from sourcelight.server.mcp.handshake import EarlyAnswers, read_tool_list

    options = {word for word in words if word.startswith("-")}
    if not options <= _SAME_LIST or options == _SAME_LIST:
        return None
    early = EarlyAnswers(read_tool_list)
    early.start()
    return early


def read_serve_options(words: Sequence[str]) -> ServeOptions | None:
    """Return the options of ``sourcelight serve``, or None where `words` may be wrong, or need the framework.

    Parameters
    ----------
    words
        What follows ``serve`` on the command line: directories, and each of its most frequent options at most once.
    """
    from sourcelight.cli.startup.service import ServeOptions

    paths: list[str] = []
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            paths.append(_path(word))
            continue

        option, has_value, value = word.partition("=")
        if option == "--worktree":
            reader: Callable[[str], Any] | None = None if has_value else bool
            value = option
        else:
            reader = _READERS.get(option)
            value = value if has_value else next(rest, "")
            # The framework has its own rules for whether an option is a value.
            reader = None if value.startswith("-") else reader

        if reader is None or not value or option in values:
            return None

        try:
            values[option] = reader(value)
        except ValueError:
            return None

    return ServeOptions(
        tuple(paths) or (".",), **{option.removeprefix("--"): value for option, value in values.items()}
    )


def _path(text: str) -> str:
    from pathlib import Path

    # The framework makes paths of these words, too: `./a/` is `a`.
    return str(Path(text))


def _port(text: str) -> int:
    # Digits only; `int` would accept more.
    if not (text.isascii() and text.isdigit() and int(text) <= _MAX_PORT):
        raise ValueError(text)
    return int(text)


_READERS: dict[str, Callable[[str], Any]] = {"--host": str, "--port": _port, "--config": _path}
