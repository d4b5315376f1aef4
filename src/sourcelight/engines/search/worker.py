"""A worker process: builds the indexes it is told to, one after another, and tells how far it is.

Started as ``python -m sourcelight.engines.search.worker``. Each line on standard input is an order, each line on
standard output an event (`progress`, `done`, `failed`), all JSON. It ends when its input does. Plain pipes, so that
nothing of the caller's main module is imported here.
"""

from __future__ import annotations

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
from sourcelight.engines.search import side_tables
from sourcelight.engines.search.index.build import BuildOptions, BuildResult, FileTree, build
from sourcelight.engines.search.index.folder import PROTECTED, IndexFolder
from sourcelight.engines.storage.folder import reason_of
from sourcelight.repos import Repository

TableBuild: TypeAlias = Callable[[IndexFolder, side_tables.TableBuildOptions], tuple[int, int] | None]

MODULE = "sourcelight.engines.search.worker"
"""What a worker process runs."""


def order_line(folder: Path, repository: Repository, settings: dict[str, Any]) -> bytes:
    """Write an order; `settings` are the fields of `BuildOptions` that are data."""
    order = {"folder": str(folder), "repository": asdict(repository), "settings": settings}
    return json.dumps(order, default=list).encode() + b"\n"


def table_line(folder: Path, settings: dict[str, Any], kind: str = "symbols") -> bytes:
    """Write an order for a table beside a shard; `settings` are the fields of `TableOrder` that are data."""
    return json.dumps({"folder": str(folder), "table": settings, "kind": kind}).encode() + b"\n"


def _build_table(kind: str) -> TableBuild:
    if kind == "terms":
        from sourcelight.engines.search.ranking import term_files

        return term_files.build_table
    return side_tables.build_table


def _repository(raw: dict[str, Any]) -> Repository:
    facts = RepositoryInfo(**{**raw.pop("facts"), "topics": ()})
    return Repository(facts=facts, **raw)


def build_locked(
    folder: IndexFolder, repository: Repository, order: BuildOptions, tree: FileTree | None = None
) -> BuildResult | None:
    """Build one index under its lock; None when another builder had done it by then."""
    from sourcelight.repos import ObjectReader

    with folder.locked(order.stop):
        if not order.afresh and is_built(folder, order.commit, order.max_file_size, order.revision):
            return None
        with ObjectReader(repository) as reader:
            return build(folder, reader, order, tree)


def is_built(folder: IndexFolder, commit: str, max_file_size: int, revision: str) -> bool:
    """Tell whether the folder answers for a commit; damage that shows in the manifest means no.

    A default revision needs a view of its own kind, which stays and leaves nothing to git.
    """
    try:
        manifest = folder.manifest()
    except (SearchIndexError, OSError):
        return False
    view = manifest.view_of(commit)
    if view is None or manifest.max_file_size != max_file_size:
        return False
    return view.protected or revision not in PROTECTED


def _serve(orders: IO[bytes], events: IO[bytes]) -> None:
    def send(event: dict[str, Any]) -> None:
        events.write(json.dumps(event).encode() + b"\n")
        events.flush()

    def stop() -> None:
        """Do nothing: whoever wants a worker to stop kills it."""

    def tell(files: int, size: int) -> None:
        send({"event": "progress", "files": files, "bytes": size})

    for line in orders:
        raw = json.loads(line)
        folder = IndexFolder(Path(raw["folder"]))
        try:
            if "table" in raw:
                table = side_tables.TableBuildOptions(**raw["table"], stop=stop, tell=tell)
                read = _build_table(raw["kind"])(folder, table)
                send({"event": "done", "read": read})
                continue
            order = BuildOptions(**raw["settings"], stop=stop, tell=tell)
            built = build_locked(folder, _repository(raw["repository"]), order)
        except Exception as fault:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            send({"event": "failed", "reason": reason_of(fault)})
            continue
        send({"event": "done", "built": None if built is None else asdict(built)})


def main() -> None:
    """Serve orders until the input ends."""
    # Ctrl-C reaches all processes of a terminal: whether to stop is for the one that gave the orders to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, events)


if __name__ == "__main__":
    main()
