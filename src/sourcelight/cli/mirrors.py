"""`clone`: keep mirrors of repositories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.output import DONE, FAILED, StatusLine, print_line, say
from sourcelight.core.markup import visible

if TYPE_CHECKING:
    from sourcelight.core.batches.overview import CloneProgress


def clone_command(
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="Addresses of git repositories.")],
    *,
    dest: Annotated[
        Optional[Path],  # noqa: UP045 - see options
        typer.Option(
            metavar="DIRECTORY", help="Destination directory of the mirrors.  [default: a directory of sourcelight]"
        ),
    ] = None,
) -> int:
    """Keep bare mirrors of repositories: clone new ones, update existing ones.

    Prints the directory of each mirror, which you can pass to search, index or serve.
    """
    return clone_repositories(urls, str(dest) if dest else "")


def clone_repositories(urls: Sequence[str], destination: str) -> int:
    """Clone or update each; one that fails doesn't stop the others."""
    from sourcelight.backends.embedded import mirrors_folder
    from sourcelight.core.errors import RepositoryError
    from sourcelight.repos import clone

    status = DONE
    for url in urls:
        line = StatusLine()

        def paint(progress: CloneProgress, line: StatusLine = line) -> None:
            line.show(f"{progress.url}: {progress.step} {progress.done:,}/{progress.total:,}")

        try:
            directory = clone(url, destination or str(mirrors_folder()), progress=paint)
        except RepositoryError as exc:
            line.clear()
            say(str(exc))
            status = FAILED
        else:
            line.clear()
            print_line(visible(directory))
    return status
