"""`worker`, and the cluster's side of `index` and `serve`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sourcelight.cli.output import DONE, FAILED, StatusLine, say, tell
from sourcelight.core.markup.sizes import size_text

if TYPE_CHECKING:
    from sourcelight.backends.cluster.build.generations import BuildProgress
    from sourcelight.engines.execution import Limits, LocalEngine

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B?)", re.IGNORECASE)


def tls_files(folder: Path | None) -> dict[str, str] | None:
    """The files of the folder that ``--tls`` names; None without one."""
    if folder is None:
        return None
    files = {name: folder.expanduser() / f"{name}.pem" for name in ("ca", "cert", "key")}
    missing = [path.name for path in files.values() if not path.is_file()]
    if missing:
        raise typer.BadParameter(f"--tls: {folder} has no {', '.join(missing)}")
    return {name: os.fspath(path) for name, path in files.items()}


def build(
    paths: Sequence[str],
    cluster: Sequence[str],
    storage: str | None,
    work: Path | None,
    workers: int | None,
    tls: Path | None,
) -> int:
    """Build the shards of all repositories below `paths`; fails when one could not be built."""
    from sourcelight.backends.cluster.build.generations import build_generation
    from sourcelight.backends.cluster.storage import ShardStorage
    from sourcelight.backends.cluster.transport.connections import check_address
    from sourcelight.backends.embedded import data_home
    from sourcelight.repos import Catalog, ServicePolicy
    from sourcelight.repos.state import FILE_NAME, State

    if not storage:
        raise typer.BadParameter("--cluster needs --storage: where the shards are kept")
    if len(cluster) > 1:
        raise typer.BadParameter("one cluster builds; name one --cluster")
    for address in cluster:
        check_address(address, tls_files(tls))
    line = StatusLine()

    def paint(progress: BuildProgress) -> None:
        line.show(f"building {progress.done}/{progress.total} shards  {progress.repository}: {progress.outcome}")

    # Names and privacy are remembered as for a service, since a service will offer what is built here.
    with State(str(data_home() / FILE_NAME)) as state:
        catalog = Catalog.open(paths, policy=ServicePolicy(state.repositories))
        try:
            report = build_generation(
                catalog,
                ShardStorage(storage),
                cluster=cluster[0] if cluster else "",
                tls=tls_files(tls),
                work=None if work is None else work.expanduser().resolve(),
                workers=workers or 1,
                progress=paint,
            )
        finally:
            line.clear()
    for warning in catalog.warnings:
        say(warning)
    for skipped in catalog.skipped:
        say(f"{skipped.path}: {skipped.message}")
    for name, why in sorted(report.failures.items()):
        say(f"{name}: {why}")
    size = sum(entry.size for entry in report.generation.searchable)
    tell(
        f"generation {report.generation.number}: {len(report.built)} shards built, {len(report.current)} already "
        f"current, {len(report.failures)} failed, {len(report.gone)} gone ({size_text(size)} in all)"
    )
    return FAILED if report.failures else DONE


def opened(
    cluster: Sequence[str], storage: str | None, tls: Path | None, *, paths: Sequence[Path]
) -> Callable[[Limits], LocalEngine]:
    """What opens the engine of a cluster once the service's bounds are known."""
    if paths:
        raise typer.BadParameter("a cluster has its repositories in storage: give no PATH beside --cluster")
    if not cluster or not storage:
        raise typer.BadParameter("--cluster and --storage belong together")

    def engine(limits: Limits) -> LocalEngine:
        from sourcelight.backends.cluster.connection import ClusterConnection
        from sourcelight.backends.cluster.engine import ClusterEngine

        return ClusterEngine(ClusterConnection(cluster, storage, tls=tls_files(tls)), limits=limits)

    return engine


def work(
    scheduler: str,
    storage: str,
    cache: Path,
    name: str,
    *,
    cache_size: str | None,
    host: str,
    port: int,
    threads: int,
    tls: Path | None,
) -> int:
    """Serve as a worker until told to stop."""
    from sourcelight.backends.cluster.worker.process import work as serve

    asyncio.run(  # noqa: TID251 - a process of its own, and no notebook
        serve(
            scheduler,
            storage=storage,
            cache=cache.expanduser(),
            name=name,
            cache_bytes=None if cache_size is None else _bytes(cache_size),
            host=host,
            port=port,
            threads=threads,
            tls=tls_files(tls),
        )
    )
    return DONE


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    unit = "" if match is None else match[2].upper()
    if match is None or (unit if unit in _UNITS else f"{unit}B") not in _UNITS:
        raise typer.BadParameter(f"{text!r} is no size; write it as 200GB or 500MB")
    return int(float(match[1]) * _UNITS[unit if unit in _UNITS else f"{unit}B"])
