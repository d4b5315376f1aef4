"""`clone`: bare mirrors of remote repositories."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.cli.outcomes import DONE, FAILED, say, tell
from sourcelight.cli.printing import StatusLine
from sourcelight.core.errors import RepositoryError
from sourcelight.core.markup import visible


def clone(urls: Sequence[str], into: str) -> int:
    """Clone or update each; one that fails does not stop the others."""
    from sourcelight.backends.embedded import mirrors_folder
    from sourcelight.repos import CloneProgress
    from sourcelight.repos import clone as clone_mirror

    status = DONE
    for url in urls:
        line = StatusLine()

        def paint(progress: CloneProgress, line: StatusLine = line) -> None:
            line.show(f"{progress.url}: {progress.step} {progress.done:,}/{progress.total:,}")

        try:
            folder = clone_mirror(url, into or str(mirrors_folder()), progress=paint)
        except RepositoryError as fault:
            line.clear()
            say(str(fault))
            status = FAILED
        else:
            line.clear()
            tell(visible(folder))
    return status
