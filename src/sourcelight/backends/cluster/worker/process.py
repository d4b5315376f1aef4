"""A worker process: Dask's worker with our operations, loaded by ``--preload``, until it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import click

from sourcelight.backends.cluster.storage.objects import ShardStorage
from sourcelight.backends.cluster.transport import connections
from sourcelight.backends.cluster.transport.exchange import serve_orders
from sourcelight.backends.cluster.worker.handler import RequestHandler
from sourcelight.core.errors import WorkersUnreachable

PRELOAD = "sourcelight.backends.cluster.worker.process"
START_S = 30.0
"""Seconds to reach the scheduler, which may start after its workers."""

_handlers: WeakKeyDictionary[Any, RequestHandler] = WeakKeyDictionary()
"""Request handlers of the workers in this process."""

SWITCH_S = 0.001
"""Seconds after which a thread that computes lets another one continue: at 0.005, which Python has, a message waits for
several times that until it is sent, since each call of the system gives the turn away."""

_QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "2s"}
"""Dask samples stacks every 10 ms and the machine every 500: four fifths of what an idle worker costs."""


async def work(
    scheduler: str,
    *,
    storage: str,
    cache: str | os.PathLike[str],
    name: str,
    cache_bytes: int | None = None,
    host: str = "",
    port: int = 0,
    threads: int = 1,
    tls: Mapping[str, str] | None = None,
) -> None:
    """Serve as a worker until the process is stopped or the scheduler ends.

    Parameters
    ----------
    scheduler
        Its address; ``tls://``, or ``tcp://`` on loopback.
    storage, cache, cache_bytes
        URL of the shards, a folder of this worker alone, and the bytes that it may take; None: no bound.
    name
        What places shards on this worker: it must stay the same when the worker starts again. ``zone/name`` says that
        it is in a zone.
    host, port
        Where it listens; an empty host: loopback for a scheduler there, else refused.
    threads
        For tasks of Dask (builds); searches have threads of their own.
    tls
        Files ``ca``, ``cert`` and ``key``.

    Raises
    ------
    ConfigurationError
        If the address is invalid or not encrypted.
    WorkersUnreachable
        When the scheduler does not answer.
    """
    connections.require_distributed()
    connections.check_address(scheduler, tls)
    import dask
    from distributed import Worker

    dask.config.set(_QUIET)
    # A loop that sends beside a searching thread waits up to one interval at each system call.
    sys.setswitchinterval(SWITCH_S)

    scheme = scheduler.partition("://")[0]
    listen = host or _loopback(scheduler)

    # Raises for a public address without certificates: who reaches a worker can run code on it.
    connections.check_listening(scheme, listen)
    arguments = ["--sourcelight-storage", storage, "--sourcelight-cache", os.fspath(cache)]
    if cache_bytes:
        arguments += ["--sourcelight-cache-bytes", str(cache_bytes)]

    options = {"security": security} if (security := connections.security_of(tls)) is not None else {}
    worker = Worker(
        scheduler,
        name=name,
        nthreads=threads,
        host=f"{scheme}://{listen}:{port}",
        preload=[PRELOAD],
        preload_argv=[arguments],
        dashboard=False,
        **options,
    )
    try:
        # Dask itself tries forever to reach its scheduler.
        await asyncio.wait_for(worker, START_S)
    except (OSError, TimeoutError) as error:
        raise WorkersUnreachable(scheduler, str(error) or "no answer") from error

    loop = asyncio.get_running_loop()
    call_on_signals(loop, lambda: loop.create_task(worker.close(reason="told to stop")))
    await worker.finished()


def call_on_signals(loop: asyncio.AbstractEventLoop, on_signal: Callable[[], object]) -> None:
    """Call `on_signal` in the loop at SIGINT and SIGTERM; only in the main thread."""
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, on_signal)
        except NotImplementedError:  # the loops of Windows have no signals
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))


def _loopback(scheduler: str) -> str:
    from sourcelight.core.errors import ConfigurationError

    host = scheduler.partition("://")[2]
    if connections.is_loopback(connections.host_of(host)):
        return "[::1]" if host.startswith("[") else "127.0.0.1"
    raise ConfigurationError(
        "the scheduler is on another machine; pass --host, the address on which this worker listens"
    )


@click.command()
@click.option("--sourcelight-storage", required=True)
@click.option("--sourcelight-cache", required=True)
@click.option("--sourcelight-cache-bytes", type=int, default=0)
def dask_setup(worker: Any, sourcelight_storage: str, sourcelight_cache: str, sourcelight_cache_bytes: int) -> None:
    """Accept orders of services on this worker."""
    handler = RequestHandler(ShardStorage(sourcelight_storage), sourcelight_cache, sourcelight_cache_bytes or None)
    _handlers[worker] = handler
    serve_orders(worker, handler)


def dask_teardown(worker: Any) -> None:
    """Stop running work."""
    handler = _handlers.pop(worker, None)
    if handler is not None:
        handler.close()
