"""Names of processes that work on questions, and whether one still does."""

from __future__ import annotations

import os
import secrets
import socket


def new_boot() -> str:
    """Name this process, never to be the name of another."""
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(8)}"


def is_alive(boot: str) -> bool:
    """Tell whether the process of that name may still run; True when that can't be told."""
    host, _, rest = boot.rpartition("/")[0].rpartition("/")
    if not rest.isdigit():
        return False
    if host != socket.gethostname() or os.name != "posix":
        return True
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
