"""Listen on an address: the first thing that a service does, before it loads the application.

A client that connects while the service starts waits for its answer, and isn't refused. So this module imports no
framework.
"""

from __future__ import annotations

import ipaddress
import os
import socket

from sourcelight.core.errors import ConfigurationError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
#: Connections that the system accepts before the service takes them.
_BACKLOG = 128


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 selects a free one.

    Raises
    ------
    ConfigurationError
        When the port is in use or needs more permissions, or this machine doesn't have the address.
    """
    name = host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, OverflowError) as exc:
        raise ConfigurationError(f"--host {host} --port {port}: can't resolve this address ({exc})") from exc

    listener = socket.socket(family, kind, protocol)
    try:
        # On Windows this option would let two processes share a port.
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as exc:
        listener.close()
        raise ConfigurationError(
            f"can't listen on {host}:{port}: {exc.strerror or exc}; choose another port with --port (0: any free port)"
        ) from exc

    return listener


def address_of(listener: socket.socket) -> str:
    """Return the address of a bound socket, such as ``http://127.0.0.1:7080``."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
