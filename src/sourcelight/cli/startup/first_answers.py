"""Command lines that are understood without the framework of commands, which takes more time than first answers.

`mcp` answers its client before its command line is parsed; `serve` listens before. Anything but plain words is for the
framework, with its help and its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sourcelight.cli.startup.search import SearchCommand
    from sourcelight.cli.startup.service import ServeOptions
    from sourcelight.server.mcp.handshake import EarlyAnswers

_SAME_LIST = frozenset({"--committed", "--worktree"})
_MAX_PORT = 65_535
"""The largest port of TCP."""

_MAX_LIMIT = 1_000_000_000
"""The largest value of an option that is read here; others are left to the framework and its messages."""


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

    read = _read_words(words, _SERVE_READERS)
    if read is None:
        return None
    paths, values = read
    return ServeOptions(tuple(map(_path, paths)) or (".",), **values)


def read_search_options(words: Sequence[str]) -> tuple[str, SearchCommand] | None:
    """Return the query and the options of ``sourcelight search``, or None where the framework has to read `words`.

    Parameters
    ----------
    words
        What follows ``search`` on the command line: the query, directories, and the options that can't be misused.
    """
    from sourcelight.cli.startup.search import SearchCommand, is_directory

    read = _read_words(words, _SEARCH_READERS)
    # A directory as the query is probably meant as PATH, which the framework's errors say.
    if read is None or not read[0] or is_directory(read[0][0]):
        return None
    (query, *paths), values = read
    return query, SearchCommand(paths=tuple(map(_path, paths)), **values)


def _read_words(
    words: Sequence[str], readers: Mapping[str, tuple[str, Callable[[str], Any]]]
) -> tuple[list[str], dict[str, Any]] | None:
    """Return the texts that are no options, and the values of options by the name of each; None if any may be wrong."""
    texts: list[str] = []
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            texts.append(word)
            continue

        option, has_value, value = word.partition("=")
        if option not in readers:
            return None

        name, reader = readers[option]
        if reader is bool:
            is_right, value = not has_value, option
        else:
            value = value if has_value else next(rest, "")
            # The framework has its own rules for whether an option is a value, and for `-n=5`.
            is_right = not value.startswith("-") and not (has_value and not option.startswith("--"))

        if not is_right or not value or name in values:
            return None

        try:
            values[name] = reader(value)
        except ValueError:
            return None

    return texts, values


def _path(text: str) -> str:
    from pathlib import Path

    # The framework makes paths of these words, too: `./a/` is `a`.
    return str(Path(text))


def _port(text: str) -> int:
    # Digits only; `int` would accept more.
    if not (text.isascii() and text.isdigit() and int(text) <= _MAX_PORT):
        raise ValueError(text)
    return int(text)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MAX_LIMIT):
        raise ValueError(text)
    return int(text)


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return read


_WORKTREE = ("worktree", bool)
_SERVE_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "--host": ("host", str),
    "--port": ("port", _port),
    "--config": ("config", _path),
    "--worktree": _WORKTREE,
}
"""The setting of each option of ``serve``, and the function that reads its value."""

_SEARCH_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "-n": ("limit", _limit),
    "--limit": ("limit", _limit),
    "--format": ("output_format", _one_of("table", "jsonl", "csv")),
    "--index": ("index", _one_of("background", "wait", "never")),
    "--pattern-type": ("pattern_type", _one_of("standard", "keyword", "regexp", "literal", "ast-grep")),
    "--worktree": _WORKTREE,
}
"""The same for ``search``."""
