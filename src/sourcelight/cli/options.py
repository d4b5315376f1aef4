"""Options that several commands share, and option values that need parsing."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from sourcelight.core.errors import ConfigurationError

# Typer of the oldest supported release reads `Optional[X]` and not `X | None`, so UP045 is off for absent options.

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B?)", re.IGNORECASE)
"""``1.5 GB``, ``200M`` or a number of bytes."""


class PatternType(StrEnum):
    """Pattern type of a query without patternType:."""

    STANDARD = "standard"
    KEYWORD = "keyword"
    REGEXP = "regexp"
    LITERAL = "literal"
    AST_GREP = "ast-grep"


Paths = Annotated[
    Optional[list[Path]],  # noqa: UP045 - see above
    typer.Argument(
        metavar="PATH",
        help="Directories; includes every git repository below. Without a repository, searches the files on disk.",
        show_default=False,
    ),
]
Worktree = Annotated[
    bool, typer.Option("--worktree", help="Search work trees as they are on disk, with uncommitted changes.")
]
Query = Annotated[
    str, typer.Argument(metavar="QUERY", help="The query, in quotes. Put -- before a query that starts with a dash.")
]
ServiceUrl = Annotated[
    Optional[str],  # noqa: UP045 - see above
    typer.Option(
        "--url", metavar="URL", help="Address of a service; SRC_ACCESS_TOKEN has its token.  [env: SRC_ENDPOINT]"
    ),
]
PatternTypeOption = Annotated[
    PatternType, typer.Option("--pattern-type", help="Pattern type, unless the query has patternType:.")
]
ClusterAddress = Annotated[
    Optional[list[str]],  # noqa: UP045 - see above
    typer.Option(
        "--cluster",
        metavar="URL",
        help="Scheduler: tls://HOST:PORT, or tcp:// on loopback. Repeat it for two cells with a replica each.",
    ),
]
ShardStorage = Annotated[
    Optional[str],  # noqa: UP045 - see above
    typer.Option("--storage", metavar="URL", help="Shards of a cluster: a directory or an fsspec URL."),
]
Tls = Annotated[
    Optional[Path],  # noqa: UP045 - see above
    typer.Option(
        "--tls",
        metavar="DIRECTORY",
        help="Directory with ca.pem, cert.pem and key.pem: an administrator's certificate, not a user's.",
    ),
]


def parse_size(option: str, text: str) -> int:
    """Return the bytes of a size such as ``200GB``.

    Raises
    ------
    typer.BadParameter
        When `text` isn't a size; the message names `option`.
    """
    match = _SIZE.fullmatch(text.strip())
    unit = "" if match is None else match[2].upper()
    unit = unit if unit in _UNITS else f"{unit}B"
    size = 0 if match is None or unit not in _UNITS else int(float(match[1]) * _UNITS[unit])
    if size < 1:
        raise typer.BadParameter(f"{option}: {text!r} is not a size; write it like 200GB or 500MB")
    return size


def read_duration(option: str, text: str) -> float:
    """Return the seconds of a length of time such as ``90d``, ``12h``, ``30m``, ``2w``.

    Raises
    ------
    ConfigurationError
        If `text` is not a duration; the message names `option`.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", text.strip())
    if match is None:
        raise ConfigurationError(f"{option} must be a number with s, m, h, d or w, such as 90d; got {text!r}")
    return float(int(match[1]) * _SECONDS[match[2]])


def path_texts(paths: list[Path] | None, default: str = "") -> tuple[str, ...]:
    """Return the paths of a command as text; `default`, if any, when there are none."""
    return tuple(str(path) for path in paths) if paths else (default,) * bool(default)
