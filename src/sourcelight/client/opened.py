"""Which clients are open in this process, for a magic that was not told which one to use."""

from __future__ import annotations

import threading
import weakref
from itertools import count
from typing import Any

_lock = threading.Lock()
_order = count()
_clients: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def opened(client: Any) -> None:
    """A blocking client was made."""
    with _lock:
        _clients[client] = next(_order)


def closed(client: Any) -> None:
    """It was closed."""
    with _lock:
        _clients.pop(client, None)


def age(client: Any) -> int:
    """Which client this was, counted from 0; -1 for one that is closed, or no client at all."""
    with _lock:
        try:
            return _clients.get(client, -1)
        except TypeError:  # neither hashable nor to be referred to weakly: no client
            return -1
