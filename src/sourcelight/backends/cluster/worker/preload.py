"""What makes a Dask worker one of ours: loaded by it with ``--preload``, told its folders on the command line."""

from __future__ import annotations

from typing import Any

import click

from sourcelight.backends.cluster.storage.objects import Storage
from sourcelight.backends.cluster.wiring.serving import serve_orders
from sourcelight.backends.cluster.worker.desk import WorkerDesk


@click.command()
@click.option("--sourcelight-storage", required=True)
@click.option("--sourcelight-cache", required=True)
@click.option("--sourcelight-cache-bytes", type=int, default=0)
def dask_setup(worker: Any, sourcelight_storage: str, sourcelight_cache: str, sourcelight_cache_bytes: int) -> None:
    """Take orders of services on this worker."""
    desk = WorkerDesk(Storage(sourcelight_storage), sourcelight_cache, sourcelight_cache_bytes or None)
    worker.sourcelight = desk
    serve_orders(worker, desk)


def dask_teardown(worker: Any) -> None:
    """Stop what runs."""
    desk = getattr(worker, "sourcelight", None)
    if desk is not None:
        desk.close()
