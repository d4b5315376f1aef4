"""Origin of a frame: flat values for its `attrs`, and the way back to its backend.

`DataFrame.attrs` is copied with every operation and written into Parquet files, so it holds texts, numbers and truth
values only, and never a credential.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from sourcelight.core.backend import Backend
from sourcelight.core.errors import ClientNotFound

FEDERATION = "federation of "
"""Prefix of the endpoint of several services; their names follow."""

CLUSTER = "cluster "
"""Prefix of the endpoint of a cluster; the addresses of its schedulers follow."""

_MAX_CHARACTERS = 2_000
"""Characters of a text in the provenance, which is stored with every DataFrame."""

_lock = threading.Lock()
_ids: WeakKeyDictionary[Backend, str] = WeakKeyDictionary()
_open_backends: WeakValueDictionary[str, Backend] = WeakValueDictionary()


def now() -> str:
    """Return the current time in RFC 3339, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def backend_id_of(backend: Backend) -> str:
    """Return an id of a backend by which `backend_of` finds it, as long as it lives in this process."""
    innermost = _innermost(backend)
    with _lock:
        backend_id = _ids.get(innermost)
        if backend_id is None:
            backend_id = _ids[innermost] = secrets.token_hex(4)
            _open_backends[backend_id] = innermost
        return backend_id


def forget(backend: Backend) -> None:
    """Forget a closed backend, so that it gets no more requests."""
    innermost = _innermost(backend)
    with _lock:
        _open_backends.pop(_ids.pop(innermost, ""), None)


def backend_of(attrs: Mapping[Any, Any]) -> Backend:
    """Return the client of a frame by its `attrs`: the same one, or another one at the same address.

    Raises
    ------
    ClientNotFound
        If there is none; the message says what to open.
    """
    endpoint = attrs.get("endpoint")
    if not endpoint:
        raise ClientNotFound("this DataFrame has no origin (its attrs have no endpoint); pass a client (client=…)")

    with _lock:
        backend = _open_backends.get(str(attrs.get("backend_id", "")))
        peers = [candidate for candidate in _open_backends.values() if candidate.name == endpoint]

    if backend is not None:
        return backend
    if len({id(candidate) for candidate in peers}) == 1:
        # Another client at the same address gives the same answers.
        return peers[0]

    if peers:
        raise ClientNotFound(
            f"the client of this DataFrame is closed, and {len(peers)} others are open; pass one as client="
        )

    call_text = "sourcelight.open(…)" if endpoint == "embedded" else f"sourcelight.connect({str(endpoint)!r})"
    if str(endpoint).startswith(FEDERATION):
        call_text = "sourcelight.federate(…)"
    elif str(endpoint).startswith(CLUSTER):
        call_text = "sourcelight.open_cluster(…)"

    raise ClientNotFound(
        f"the client of this DataFrame ({endpoint}) is not open; keep the client of {call_text} open, or "
        "pass one (client=…)"
    )


def _innermost(backend: Backend) -> Backend:
    """Return the innermost backend, below wrappers."""
    return backend.features.inner or backend


def provenance(
    backend: Backend, *, status: str, reasons: tuple[str, ...] = (), asked_at: str = "", duration_s: float | None = None
) -> dict[str, Any]:
    """Return the `attrs` common to all calls.

    Parameters
    ----------
    backend
        The backend that answered.
    status, reasons
        Status of the answer, and the reasons for one that is not complete.
    asked_at
        Time of the request, in RFC 3339; empty: now.
    duration_s
        Seconds until the answer arrived; None: not measured.
    """
    from sourcelight import __version__

    duration = {} if duration_s is None else {"duration_ms": round(duration_s * 1000)}
    return {
        "endpoint": backend.name,
        "backend_id": backend_id_of(backend),
        "status": status,
        "reasons": "; ".join(reasons)[:_MAX_CHARACTERS],
        "limit_hit": status in {"limited", "partial"},
        "requested_at": asked_at or now(),
        **duration,
        "version": __version__,
    }


def describe_call(call: str, arguments: Mapping[str, Any]) -> str:
    """Describe a call for `attrs`; tokens that open a conversation are left out."""
    arguments_text = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if key != "identifier")
    return f"{call}({arguments_text})"[:_MAX_CHARACTERS]
