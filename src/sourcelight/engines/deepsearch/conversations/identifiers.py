"""Parse and make identifiers of conversations.

Read tokens: shaped like a UUID, made from a secret, so that a link can be shown again without being kept.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from sourcelight.core.errors import ToolError

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_PATH = re.compile(r"/deepsearch/(?:shared/)?([^/]+)/?")
_PORTS = {"http": 80, "https": 443}
_FORMS = "the address of a conversation (…/deepsearch/<token> or …/deepsearch/shared/<token>), or its read token"
_MAX_CHARACTERS = 2000
"""Characters of an identifier: a longer one is a text by mistake."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A read token, in lower case, or the number that its owner uses."""

    token: str = ""
    number: int = 0


def parse_identifier(text: str, base_url: str = "") -> Identifier:
    """Parse an identifier.

    Parameters
    ----------
    text
        An address, a relative address, a read token, or a number.
    base_url
        The address of this service. Empty without one: a full address then needs a read token, which opens the same
        conversation on every service.

    Raises
    ------
    ToolError
        For anything else, and for an address of another host; nothing is ever fetched.
    """
    stripped = text.strip()
    if len(stripped) > _MAX_CHARACTERS:
        raise _refusal("it is too long")

    name = stripped.partition("#")[0].partition("?")[0].removesuffix(".md")
    if name.startswith("/") or "://" in name:
        name = _last_part(name, base_url)
    if _UUID.fullmatch(name):
        return Identifier(token=name.lower())
    if not _NUMBER.fullmatch(name):
        raise _refusal("not a conversation identifier")
    if "://" in stripped and not base_url:
        raise _refusal("this address belongs to a service, but this client has local repositories")
    return Identifier(number=int(name))


def _last_part(address: str, base_url: str) -> str:
    """Return what an address of a conversation ends with: its read token, or its number."""
    # The number of another service's conversation may exist here, too, and would open the wrong one.
    if "://" in address and base_url and _host(address) != _host(base_url):
        raise _refusal("this address belongs to another service")

    path = address if address.startswith("/") else _path_below(address, base_url)
    match = _PATH.fullmatch(path)
    if match is None or (path.startswith("/deepsearch/shared/") and not _UUID.fullmatch(match[1])):
        raise _refusal("this is not the address of a conversation")
    return match[1]


def _refusal(reason: str) -> ToolError:
    return ToolError(f"{reason}; give {_FORMS}", tool="deepsearch_read", argument="identifier")


def _host(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower())
    except ValueError:
        raise _refusal("this address can't be parsed") from None


def _path_below(url: str, base_url: str) -> str:
    path = urlsplit(url).path
    prefix = urlsplit(base_url).path.rstrip("/") if base_url else ""
    return path.removeprefix(prefix) if prefix else path


def read_token(secret: bytes, conversation: int, generation: int) -> str:
    """Return the read token of a conversation; another generation has another token."""
    text = f"{conversation}.{generation}".encode()
    raw = hmac.new(secret, b"deepsearch read token\0" + text, hashlib.sha256).digest()[:16]
    return str(uuid.UUID(bytes=raw, version=4))


def digest(token: str) -> bytes:
    """Return the hash that is stored for a read token."""
    return hashlib.sha256(token.lower().encode()).digest()
