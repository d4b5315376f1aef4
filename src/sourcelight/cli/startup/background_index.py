"""The index that a search lacked: built after the answer, by a process that the prompt doesn't wait for.

Such a process is started for people alone: on a terminal, but not by a CI job, in a notebook, or as the first process
of a container, which would end with it. One runs at a time for a directory of indexes. Whenever it is killed, indexes
that it has finished stay, and searches read the others from their repositories.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sourcelight.cli.output import StatusLine, say
from sourcelight.core.errors import ConfigurationError, SourcelightError
from sourcelight.core.markup import one_line
from sourcelight.repos.file_locks import lock_file
from sourcelight.repos.private_files import make_private_folder, open_private

if TYPE_CHECKING:
    from sourcelight.client.blocking_searches import BlockingSearches
    from sourcelight.engines.execution import LocalEngine

MODULE = "sourcelight.cli.startup.background_index"
"""Module that the process runs."""

SETTING = "SOURCELIGHT_INDEX"
"""Environment variable with the time of indexing."""

RETRY_S = 600.0
"""Seconds after which what couldn't be indexed is tried again."""

_NICE = 10
"""As of workers in the background: at the lowest priority, a busy machine would never finish an index."""

_MAX_NOTE_BYTES = 4096
_MAX_REASON_CHARS = 500
_NOT_FOR_PEOPLE = ("CI", "JPY_PARENT_PID")
"""Environment variables of CI jobs, and of what runs in a notebook."""


class IndexTime(StrEnum):
    """When a command builds the index that its search lacks."""

    BACKGROUND = "background"
    WAIT = "wait"
    NEVER = "never"


def index_time(option: str) -> IndexTime:
    """Return the time of an option, else of the environment, else the one that fits the terminal.

    Raises
    ------
    ConfigurationError
        For another value in the environment.
    """
    setting = option or os.environ.get(SETTING, "")
    if setting:
        try:
            return IndexTime(setting)
        except ValueError:
            raise ConfigurationError(f"{SETTING} must be background, wait or never; got {setting!r}") from None

    is_for_people = (
        os.name == "posix"
        and os.getpid() != 1
        and not any(name in os.environ for name in _NOT_FOR_PEOPLE)
        and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    )
    return IndexTime.BACKGROUND if is_for_people else IndexTime.WAIT


def finish_index(client: BlockingSearches, when: IndexTime) -> None:
    """Wait for the index that a search lacked, or leave it to a process, or do without."""
    if not client.backend.local or when is IndexTime.NEVER:
        return

    from sourcelight.backends.embedded import EmbeddedBackend
    from sourcelight.core.cancellation import Cancellation
    from sourcelight.engines.execution import LocalEngine

    backend = client.backend
    if not isinstance(backend, EmbeddedBackend) or not backend.engine.indexing.is_running:
        return

    sys.stdout.flush()
    engine = backend.engine
    if when is IndexTime.BACKGROUND and isinstance(engine, LocalEngine):
        leave_index(engine)
        return

    line = StatusLine()
    try:
        for item in engine.indexing.wait(Cancellation()):
            line.show(f"indexing for the next search, Ctrl-C stops: {item.message}")
    finally:
        line.clear()


def leave_index(engine: LocalEngine) -> None:
    """Start a process that builds the indexes that an engine lacks, and say so; nothing while another one runs."""
    note_file = _note_path(engine)
    try:
        make_private_folder(note_file.parent)
        with open_private(note_file, "a+b") as file, lock_file(file, _refuse):
            file.seek(0)
            name, _, reason = file.read(_MAX_NOTE_BYTES).decode(errors="replace").partition("\n")
            age_s = time.time() - os.fstat(file.fileno()).st_mtime
    except _Busy:
        return

    if name == _digest_of_missing(engine) and age_s < RETRY_S:
        say(f"still without an index: {reason or 'it could not be built'}; `sourcelight index` tries again")
        return

    from sourcelight.engines.storage import worker_pool

    # The process takes the lock again, and ends at once if another one was faster.
    mode = "worktree" if engine.worktree else "committed"
    subprocess.Popen(
        [*worker_pool.python_command(MODULE), mode, *engine.catalog.paths],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": worker_pool.import_path()},
        # Signals of this terminal don't reach it.
        start_new_session=True,
    )
    say("an index for faster searches is being built in the background (--index never: without)")


def main() -> None:
    """Build the missing indexes below the directories of the command line, unless another process does."""
    from sourcelight.backends.embedded import index_folder, open_engine

    mode, *paths = sys.argv[1:]
    if hasattr(os, "nice"):
        os.nice(_NICE)
    note_file = _note_beside(Path(index_folder()))
    with contextlib.suppress(_Busy), open_private(note_file, "a+b") as file, lock_file(file, _refuse):
        file.truncate(0)
        file.flush()
        engine = open_engine(paths, worktree=mode == "worktree", index_now=False)
        reason = ""
        try:
            report = engine.update()
        except (SourcelightError, OSError) as error:
            reason = str(error)
        else:
            reason = next((f"{name}: {text}" for name, text in sorted(report.failures.items())), "")

        if not engine.is_indexed():
            file.write(f"{_digest_of_missing(engine)}\n{one_line(reason, _MAX_REASON_CHARS)}".encode())


class _Busy(Exception):
    """Another process builds indexes, or is about to start one that does."""


def _refuse() -> None:
    raise _Busy


def _note_path(engine: LocalEngine) -> Path:
    return _note_beside(engine.store.folder)


def _note_beside(folder: Path) -> Path:
    """Return the file that the process locks; it has what the last one couldn't index, and the reason."""
    return folder.with_name(f"{folder.name}-background")


def _digest_of_missing(engine: LocalEngine) -> str:
    """Return a hash of the repositories without an index and their commits."""
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    missing = sorted(
        f"{target.repository.key} {target.commit}" for target in targets if not engine.store.is_current(target)
    )
    return hashlib.sha256("\n".join(missing).encode()).hexdigest()


if __name__ == "__main__":
    main()
