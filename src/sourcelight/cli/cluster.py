"""The command `worker`, and the parts of `index` and `serve` for a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.options import Tls, parse_size
from sourcelight.cli.output import DONE, FAILED, StatusLine, print_line, say, say_warnings
from sourcelight.core.markup.counts import count_of, size_text

if TYPE_CHECKING:
    from sourcelight.backends.cluster.build.generations import BuildProgress
    from sourcelight.engines.execution import Engine, Limits


def worker_command(
    *,
    scheduler: Annotated[str, typer.Option(metavar="URL", help="tls://HOST:PORT, or tcp:// on loopback.")],
    storage: Annotated[str, typer.Option(metavar="URL", help="Shards of the cluster: a directory or an fsspec URL.")],
    cache_dir: Annotated[Path, typer.Option(metavar="DIRECTORY", help="Local directory of this worker only.")],
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Stable name of the worker; ZONE/NAME spreads replicas over zones.")
    ],
    cache_size: Annotated[
        Optional[str],  # noqa: UP045 - see options
        typer.Option(metavar="SIZE", help="Maximum size of the cache, such as 200GB.  [default: no limit]"),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to bind.  [default: loopback, for a scheduler there]")
    ] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Port to bind; 0 selects a free one.")
    ] = 0,
    build_threads: Annotated[
        int, typer.Option(min=1, max=256, metavar="NUMBER", help="Repositories to build at the same time.")
    ] = 1,
    tls: Tls = None,
) -> int:
    """Run a worker of a cluster.

    A worker stores, searches and builds shards. Runs until a signal stops it or its scheduler ends. Let your process
    supervisor restart it.
    """
    return run_worker(
        scheduler,
        storage,
        cache_dir,
        name,
        cache_size=cache_size,
        host=host,
        port=port,
        build_threads=build_threads,
        tls=tls,
    )


def tls_files(directory: Path | None) -> dict[str, str] | None:
    """Return the files of the directory that ``--tls`` names, or None without one."""
    if directory is None:
        return None
    files = {name: directory.expanduser() / f"{name}.pem" for name in ("ca", "cert", "key")}
    missing = [path.name for path in files.values() if not path.is_file()]
    if missing:
        raise typer.BadParameter(f"--tls: {directory} has no {', '.join(missing)}")
    return {name: os.fspath(path) for name, path in files.items()}


def build(
    paths: Sequence[str],
    cluster: Sequence[str],
    storage: str | None,
    build_dir: Path | None,
    workers: int | None,
    tls: Path | None,
) -> int:
    """Build the shards of all repositories below `paths`; fail when one can't be built."""
    from sourcelight.backends.cluster.build.generations import build_generation
    from sourcelight.backends.cluster.storage import ShardStorage
    from sourcelight.backends.cluster.transport.connections import check_address
    from sourcelight.backends.embedded import data_home
    from sourcelight.repos import Catalog, ServicePolicy
    from sourcelight.repos.state import FILE_NAME, State

    if not storage:
        raise typer.BadParameter("--cluster needs --storage, the location of the shards")
    if len(cluster) > 1:
        raise typer.BadParameter("only one cluster can build: pass --cluster once")

    for address in cluster:
        check_address(address, tls_files(tls))

    line = StatusLine()

    def paint(progress: BuildProgress) -> None:
        line.show(f"building {progress.done}/{progress.total} shards  {progress.repository}: {progress.outcome}")

    # A service will offer these shards, so names and privacy are recorded as a service records them.
    with State(str(data_home() / FILE_NAME)) as state:
        catalog = Catalog.open(paths, policy=ServicePolicy(state.repositories))
        try:
            report = build_generation(
                catalog,
                ShardStorage(storage),
                cluster=cluster[0] if cluster else "",
                tls=tls_files(tls),
                work=None if build_dir is None else build_dir.expanduser().resolve(),
                workers=workers or 1,
                progress=paint,
            )
        finally:
            line.clear()

    say_warnings(catalog)
    for name, reason in sorted(report.failures.items()):
        say(f"{name}: {reason}")

    size = sum(entry.size for entry in report.generation.searchable)
    print_line(
        f"generation {report.generation.number}: built {count_of(len(report.built), 'shard')}, {len(report.current)} "
        f"already current, {len(report.failures)} failed, {len(report.removed)} removed ({size_text(size)} in total)"
    )
    return FAILED if report.failures else DONE


def engine_opener(
    cluster: Sequence[str], storage: str | None, tls: Path | None, *, paths: Sequence[Path]
) -> Callable[[Limits], Engine]:
    """Return a function that opens the engine of a cluster with the limits of a service."""
    if paths:
        raise typer.BadParameter("the repositories of a cluster are in --storage: omit PATH with --cluster")
    if not cluster or not storage:
        raise typer.BadParameter("pass --cluster and --storage together")

    def open_engine(limits: Limits) -> Engine:
        from sourcelight.backends.cluster.connection import ClusterConnection
        from sourcelight.backends.cluster.engine import ClusterEngine

        return ClusterEngine(ClusterConnection(cluster, storage, tls=tls_files(tls)), limits=limits)

    return open_engine


def run_worker(
    scheduler: str,
    storage: str,
    cache_dir: Path,
    name: str,
    *,
    cache_size: str | None,
    host: str,
    port: int,
    build_threads: int,
    tls: Path | None,
) -> int:
    """Run a worker until a signal stops it."""
    import asyncio

    from sourcelight.backends.cluster.worker.process import work

    asyncio.run(  # noqa: TID251 - a process of its own, and no notebook
        work(
            scheduler,
            storage=storage,
            cache=cache_dir.expanduser(),
            name=name,
            cache_bytes=None if cache_size is None else parse_size("--cache-size", cache_size),
            host=host,
            port=port,
            threads=build_threads,
            tls=tls_files(tls),
        )
    )
    return DONE
