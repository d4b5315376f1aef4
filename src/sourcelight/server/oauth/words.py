"""Addresses and headers of the protocol, taken apart and put together."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit


def with_query(address: str, values: Mapping[str, str | None]) -> str:
    """`address` with further query parameters; those it has stay as they are, and None is left out."""
    parts = urlsplit(address)
    more = urlencode({name: value for name, value in values.items() if value is not None})
    return urlunsplit(parts._replace(query="&".join(part for part in (parts.query, more) if part)))


def basic_credentials(header: str) -> tuple[str, str]:
    """Client id and secret of a Basic header, percent-decoded (RFC 6749, 2.3.1); both empty when there are none."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        name, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return unquote(name), unquote(secret)
