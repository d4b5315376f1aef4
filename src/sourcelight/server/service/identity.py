"""Who is asking: the owner's token, and the reading of credentials from a request.

A token is accepted from the ``Authorization`` header alone (``token T``, ``Bearer T``, or Basic with the token as user
name, which is what a browser's prompt sends). It is not accepted from the address: addresses end up in logs,
histories and referrers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sourcelight.core.errors import ConfigurationError

OWNER_TOKEN_VARIABLE = "SOURCELIGHT_OWNER_TOKEN"  # noqa: S105 - the name of a variable, not a token
_FILE = "owner-token"
_SHORTEST = 16


@dataclass(frozen=True, slots=True)
class OwnerToken:
    """The owner's token as its SHA-256, which is enough to recognise it.

    A plain hash is enough because tokens are long random text; `read_owner_token` refuses short ones.
    """

    digest: bytes

    @classmethod
    def of(cls, token: str) -> OwnerToken:
        """The recogniser of `token`."""
        return cls(_digest(token))

    def matches(self, token: str) -> bool:
        """Whether `token` is the owner's; takes the same time whatever was given."""
        return hmac.compare_digest(self.digest, _digest(token))


@dataclass(frozen=True, slots=True)
class OwnerTokenState:
    """What a start found or made: `text` is the token itself, known only when given or just made.

    `origin` is ``environment``, ``made`` or ``kept``; `path` is the file that holds the hash, empty for
    ``environment``.
    """

    token: OwnerToken
    origin: Literal["environment", "made", "kept"]
    text: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a request acts for; `name` is ``owner`` or ``anonymous``."""

    name: Literal["owner", "anonymous"]


OWNER = Identity("owner")
ANONYMOUS = Identity("anonymous")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is turned away: HTTP status and the plain text of the answer."""

    status: int
    text: str


NO_CREDENTIAL = Refusal(401, "Private mode requires authentication.")
WRONG_TOKEN = Refusal(401, "Invalid access token.")
MALFORMED = Refusal(401, "Invalid Authorization header.")
SUDO = Refusal(403, "Sudo access tokens are not offered by this service.")


def read_owner_token(home: str, environ: Mapping[str, str]) -> OwnerTokenState:
    """The owner's token: from the environment, else the one kept below `home`, else a new one.

    Only a hash is kept, in a file that its user alone may read (mode 0600). Two first starts at the same moment agree
    on one token: the file appears whole or not at all, and the later start uses what it finds.

    Raises
    ------
    ConfigurationError
        When the environment's token is too short or holds blanks or non-ASCII, or the file can't be used.
    """
    given = environ.get(OWNER_TOKEN_VARIABLE, "")
    if given:
        if len(given) < _SHORTEST or not given.isascii() or not given.isprintable() or " " in given:
            raise ConfigurationError(
                f"environment variable {OWNER_TOKEN_VARIABLE} is no safe token; accepted: {_SHORTEST} or more "
                "printable ASCII characters without blanks"
            )
        return OwnerTokenState(OwnerToken.of(given), "environment", given)
    path = Path(home) / _FILE
    text = f"slo_{secrets.token_urlsafe(32)}"
    token = OwnerToken.of(text)
    try:
        if path.exists() or not _keep(path, f"sha256:{token.digest.hex()}\n"):
            return OwnerTokenState(_kept(path), "kept", "", str(path))
    except OSError as fault:
        raise ConfigurationError(f"{path}: the owner token can't be kept there: {fault.strerror}") from fault
    return OwnerTokenState(token, "made", text, str(path))


def _keep(path: Path, content: str) -> bool:
    """Write a new private file in one step; False when another start was faster."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{_FILE}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(content)
        try:
            # A link, unlike a renaming, fails when the name is taken; mkstemp has given the file mode 0600.
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:
            temporary.replace(path)  # a file system without links
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _kept(path: Path) -> OwnerToken:
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            path.chmod(0o600)
        kind, _, value = path.read_text(encoding="ascii").strip().partition(":")
        digest = bytes.fromhex(value)
    except (OSError, ValueError) as fault:
        raise ConfigurationError(f"{path}: can't be read: {fault}; delete it to make a new owner token") from fault
    if kind != "sha256" or len(digest) != hashlib.sha256().digest_size:
        raise ConfigurationError(f"{path}: holds no hash of a token; delete it to make a new owner token")
    return OwnerToken(digest)


def identify(authorization: str | None, owner: OwnerToken) -> Identity | Refusal:
    """The identity behind an ``Authorization`` header, or why it is refused.

    No header, an empty one and one of an unknown scheme are anonymous; whether anonymous readers may go on is the
    caller's to decide. A wrong token is refused even where anonymous readers are welcome.
    """
    header = (authorization or "").strip()
    scheme, _, rest = header.partition(" ")
    scheme, rest = scheme.lower(), rest.strip()
    if scheme == "token-sudo":
        return SUDO
    if scheme == "basic":
        token = _basic(rest)
    elif scheme in {"token", "bearer"}:
        token = rest
    else:
        return ANONYMOUS
    if not token or any(blank in token for blank in " \t,"):
        return MALFORMED
    return OWNER if owner.matches(token) else WRONG_TOKEN


def _basic(value: str) -> str:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return user or password


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def authorize(authorization: str | None, owner: OwnerToken, *, public: bool) -> Identity | Refusal:
    """As `identify`; anonymous readers are refused unless `public`."""
    identity = identify(authorization, owner)
    return NO_CREDENTIAL if identity == ANONYMOUS and not public else identity
