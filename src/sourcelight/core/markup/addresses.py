"""Which addresses in an untrusted text may be followed."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_BAD = re.compile(r"[\x00-\x20\x7f-\x9f\\\"<>`{}|^\u2000-\u206f\ud800-\udfff]")
_FRAGMENT = re.compile(r"#[A-Za-z0-9_.:-]*")
_PORTS = {"http": 80, "https": 443}


def own_address(url: str, base_url: str = "") -> str:
    """An address as a link may have it: below `base_url`, a fragment, or empty where it must not be followed.

    Parameters
    ----------
    url
        What a text gives.
    base_url
        Address of the service, without a final ``/``; empty: only the service's own, relative addresses stand.

    Examples
    --------
    >>> own_address("/a?L1", "https://code.example"), own_address("https://evil.example/a", "https://code.example")
    ('https://code.example/a?L1', '')
    """
    if _BAD.search(url):
        return ""
    if _FRAGMENT.fullmatch(url):
        return url
    if url.startswith("/") and not url.startswith("//"):
        return f"{base_url}{url}" if _stays(url.partition("?")[0]) else ""
    try:
        parts, own = urlsplit(url), urlsplit(base_url)
        same = (parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower()))
        ours = (own.scheme.lower(), (own.hostname or "").lower(), own.port or _PORTS.get(own.scheme.lower()))
    except ValueError:
        return ""
    if not base_url or parts.scheme.lower() not in _PORTS or parts.username is not None or same != ours:
        return ""
    prefix = own.path.rstrip("/")
    return url if _stays(parts.path) and (not prefix or parts.path.startswith(f"{prefix}/")) else ""


def _stays(path: str) -> bool:
    """Whether a path leads nowhere up: a browser resolves dots, escaped ones too."""
    plain = path.replace("%2e", ".").replace("%2E", ".")
    return not any(step in {".", ".."} for step in plain.split("/"))
