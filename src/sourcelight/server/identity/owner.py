"""The owner's first token: given by the environment, taken over from an earlier version, or made at the first start."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sourcelight.core.errors import ConfigurationError
from sourcelight.repos.state import OWNER, USER_ALL, State

OWNER_TOKEN_VARIABLE = "SOURCELIGHT_OWNER_TOKEN"  # noqa: S105 - the name of a variable, not a token
_FILE = "owner-token"
_SHORTEST = 16
_NOTE = "first start"


@dataclass(frozen=True, slots=True)
class OwnerToken:
    """A token of the owner that no file keeps, as its SHA-256, which is enough to recognise it.

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
    """What a start found or made.

    Parameters
    ----------
    origin
        ``environment``, ``made`` or ``kept``.
    token
        Recognises the environment's token; None otherwise, since `state.sqlite` keeps the others.
    text
        The token itself, known only when given or just made.
    """

    origin: Literal["environment", "made", "kept"]
    token: OwnerToken | None = None
    text: str = ""


def read_owner_token(state: State, home: str, environ: Mapping[str, str]) -> OwnerTokenState:
    """The owner's token: from the environment, else one that `state` keeps, else a new one.

    A file ``owner-token`` below `home`, as earlier versions kept it, is taken over into `state` and deleted: the token
    goes on working. Two first starts at the same moment agree on one token.

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
        return OwnerTokenState("environment", OwnerToken.of(given), given)
    path = Path(home) / _FILE
    if path.exists():
        state.tokens.keep(OWNER, _kept(path), (USER_ALL,), note="taken over from the file owner-token")
        try:
            path.unlink(missing_ok=True)
        except OSError as fault:
            raise ConfigurationError(f"{path}: is taken over, but can't be deleted: {fault.strerror}") from fault
    text = state.tokens.create_first(OWNER, note=_NOTE)
    return OwnerTokenState("made", None, text) if text else OwnerTokenState("kept")


def _kept(path: Path) -> bytes:
    try:
        kind, _, value = path.read_text(encoding="ascii").strip().partition(":")
        digest = bytes.fromhex(value)
    except (OSError, ValueError) as fault:
        raise ConfigurationError(f"{path}: can't be read: {fault}; delete it to make a new owner token") from fault
    if kind != "sha256" or len(digest) != hashlib.sha256().digest_size:
        raise ConfigurationError(f"{path}: holds no hash of a token; delete it to make a new owner token")
    return digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
