"""Any ASGI application on a loopback port."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import uvicorn

BOUND_S = 5.0


@contextlib.contextmanager
def served(app: Any, listener: socket.socket | None = None, tls: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run `app` until the block ends; gives its address. `tls` has the files `cert` and `key` of a certificate."""
    listener = listener or socket.create_server(("127.0.0.1", 0))
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

    config = uvicorn.Config(
        app,
        log_level="critical",
        lifespan="on",
        timeout_graceful_shutdown=1,
        ssl_certfile=tls["cert"] if tls else None,
        ssl_keyfile=tls["key"] if tls else None,
    )
    server = Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        assert started.wait(BOUND_S)
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(BOUND_S)
        listener.close()
