"""Addresses of schedulers, and what encrypts the way to them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from sourcelight.core.errors import ConfigurationError, MissingExtra, WorkersUnreachable


def require_distributed() -> None:
    """Raise `MissingExtra` where Dask distributed is not installed."""
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtra("sourcelight[cluster]", "a cluster") from error


def check_address(address: str, tls: Mapping[str, str] | None) -> None:
    """Raise `ConfigurationError` for an address that is none, is not encrypted off this machine, or wants files."""
    scheme, mark, rest = address.partition("://")
    if not mark or scheme not in {"tcp", "tls"} or not rest:
        raise ConfigurationError(
            f"{address!r} is no address of a scheduler: use tls://HOST:PORT, or tcp:// on loopback"
        )
    if scheme == "tcp" and not is_loopback(host_of(rest)):
        raise ConfigurationError(f"{address} is not encrypted: use tls:// with certificates for other machines")
    if scheme == "tls" and not tls:
        raise ConfigurationError(f"{address} wants certificates: name the files ca, cert and key")


def check_listening(scheme: str, host: str) -> None:
    """Raise `ConfigurationError` where a worker without certificates would listen to other machines.

    Whoever reaches its port can have it run code.
    """
    if scheme != "tls" and not is_loopback(host):
        raise ConfigurationError(
            f"a worker without certificates listens on loopback alone, not on {host}: use tls:// with certificates"
        )


def is_loopback(host: str) -> bool:
    """Whether `host` is an address of this machine's loopback, or its name; names that begin like one are not."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(place: str) -> str:
    """The host of ``HOST:PORT``."""
    host, colon, port = place.rpartition(":")
    return host if colon and port.isdigit() else place


def security_of(tls: Mapping[str, str] | None) -> Any:
    """Dask's security settings from the files ``ca``, ``cert`` and ``key``; None without any."""
    if not tls:
        return None
    missing = [name for name in ("ca", "cert", "key") if not tls.get(name)]
    if missing:
        raise ConfigurationError(f"TLS needs the files ca, cert and key; {missing[0]} is not given")
    from distributed.security import Security

    names = {"tls_ca_file": tls["ca"], "require_encryption": True}
    for role in ("client", "worker", "scheduler"):
        names[f"tls_{role}_cert"], names[f"tls_{role}_key"] = tls["cert"], tls["key"]
    return Security(**names)


def dask_client(scheduler: str, tls: Mapping[str, str] | None) -> Any:
    """Dask's own client of a scheduler; raises `WorkersUnreachable`."""
    require_distributed()
    from distributed import Client

    security = security_of(tls)
    options = {} if security is None else {"security": security}
    try:
        return Client(scheduler, timeout="5s", set_as_default=False, **options)
    except (OSError, TimeoutError) as error:
        raise WorkersUnreachable(scheduler, str(error) or "no answer") from error
