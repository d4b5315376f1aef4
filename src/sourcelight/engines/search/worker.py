"""The worker process that builds indexes and side tables, one request at a time.

Started as ``python -m sourcelight.engines.search.worker``. Each line on standard input is a request, each line on
standard output an event (`progress`, `done`, `failed`), all JSON. The process ends when its input does. It uses pipes
and not `multiprocessing`, which would import the caller's main module: a notebook has none.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeAlias

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.errors import SearchIndexError
from sourcelight.engines.search.index.build import BuildOptions, FileTree, build
from sourcelight.engines.search.index.folder import PROTECTED, TextIndexFolder
from sourcelight.engines.search.side_tables import TableBuildOptions
from sourcelight.engines.storage.folder import reason_of
from sourcelight.repos import Repository

TableBuild: TypeAlias = Callable[[TextIndexFolder, TableBuildOptions], tuple[int, int] | None]

MODULE = "sourcelight.engines.search.worker"
"""Module that a worker process runs."""

_OBJECTS_BETWEEN_COLLECTIONS = 250_000
"""New objects after which garbage is looked for. Builds make no cycles, and to look after 700 objects, as Python does,
takes 3 percent of a build."""


def request_line(folder: Path, repository: Repository, settings: dict[str, Any]) -> bytes:
    """Encode a request to build an index; `settings` are the fields of `BuildOptions` that are data."""
    request = {"folder": str(folder), "repository": asdict(repository), "settings": settings}
    return json.dumps(request, default=list).encode() + b"\n"


def table_line(folder: Path, settings: dict[str, Any], kind: str = "symbols") -> bytes:
    """Encode a request to build a side table; `settings` are the fields of `TableBuildOptions` that are data."""
    return json.dumps({"folder": str(folder), "table": settings, "kind": kind}).encode() + b"\n"


def build_locked(
    folder: TextIndexFolder, repository: Repository, options: BuildOptions, tree: FileTree | None = None
) -> tuple[int, int] | None:
    """Build one index under its lock; returns files and bytes read, None when another process was first."""
    from sourcelight.engines.search.index.blob_reader import BlobReader

    with folder.lock(options.check_cancelled):
        if not options.rebuild and is_built(folder, options.commit, options.max_file_size, options.revision):
            return None
        with BlobReader(repository) as reader:
            result = build(folder, reader, options, tree)
            return result.read_files, result.read_bytes


def is_built(folder: TextIndexFolder, commit: str, max_file_size: int, revision: str) -> bool:
    """Return whether a folder has the index of a commit, or False for a damaged manifest.

    A default revision needs a protected view: it is never deleted, and all of its documents are in shards.
    """
    try:
        manifest = folder.manifest()
    except (SearchIndexError, OSError):
        return False

    view = manifest.view_of(commit)
    if view is None or manifest.max_file_size != max_file_size:
        return False

    return view.protected or revision not in PROTECTED


def main() -> None:
    """Serve requests until the input ends."""
    # Ctrl-C reaches every process of a terminal. The parent decides whether to stop, and kills this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, events)


def _serve(requests: IO[bytes], events: IO[bytes]) -> None:
    def send(event: dict[str, Any]) -> None:
        events.write(json.dumps(event).encode() + b"\n")
        events.flush()

    def check_cancelled() -> None:
        """Do nothing: a worker is stopped by killing it."""

    def on_progress(files: int, size: int) -> None:
        send({"event": "progress", "files": files, "bytes": size})

    callbacks: dict[str, Any] = {"check_cancelled": check_cancelled, "on_progress": on_progress}

    for line in requests:
        request = json.loads(line)
        folder = TextIndexFolder(Path(request["folder"]))
        try:
            if "table" in request:
                table_options = TableBuildOptions(**request["table"], **callbacks)
                totals = _build_table(request["kind"])(folder, table_options)
            else:
                options = BuildOptions(**request["settings"], **callbacks)
                totals = build_locked(folder, _repository(request["repository"]), options)
        except Exception as error:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            send({"event": "failed", "reason": reason_of(error)})
        else:
            send({"event": "done", "read": totals})


def _build_table(kind: str) -> TableBuild:
    # Parsers of languages are a third of what a worker would load, and a text index needs none.
    if kind == "terms":
        from sourcelight.engines.search.ranking.terms import term_files

        return term_files.build_table
    from sourcelight.engines.search import definition_tables

    return definition_tables.build_table


def _repository(raw: dict[str, Any]) -> Repository:
    info = RepositoryInfo(**{**raw.pop("info"), "topics": ()})
    return Repository(info=info, **raw)


if __name__ == "__main__":
    main()
