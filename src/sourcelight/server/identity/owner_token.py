"""The owner's token: from the environment, from a file of earlier versions, or made by the first start."""

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
_MIN_TOKEN_CHARS = 16
"""Minimum characters of a token that an operator sets: a shorter one could be guessed."""

_NOTE = "first start"


@dataclass(frozen=True, slots=True)
class OwnerToken:
    """A token of the owner that no file stores, as its SHA-256.

    A plain hash is enough because tokens are long random text; `read_owner_token` refuses short ones.
    """

    digest: bytes

    @classmethod
    def of(cls, token: str) -> OwnerToken:
        """Return the hash of `token`."""
        return cls(_digest(token))

    def matches(self, token: str) -> bool:
        """Return whether `token` is the owner's, in constant time."""
        return hmac.compare_digest(self.digest, _digest(token))


@dataclass(frozen=True, slots=True)
class OwnerTokenState:
    """The owner token at the start of a service.

    Parameters
    ----------
    origin
        ``environment``, ``made`` or ``kept``.
    token
        Recognizes the environment's token; None otherwise, since `state.sqlite` stores the others.
    text
        The token itself, when the environment has it or the start created it.
    """

    origin: Literal["environment", "made", "kept"]
    token: OwnerToken | None = None
    text: str = ""


def read_owner_token(state: State, home: str, environ: Mapping[str, str]) -> OwnerTokenState:
    """Return the owner's token: from the environment, else the one in `state`, which may lack one so far.

    Earlier versions had a file ``owner-token`` below `home`. Its hash moves into `state` and the file is deleted; the
    token stays valid.

    Raises
    ------
    ConfigurationError
        When the environment's token is too short or has spaces or non-ASCII characters, or the file is invalid.
    """
    token = environ.get(OWNER_TOKEN_VARIABLE, "")
    if token:
        if len(token) < _MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigurationError(
                f"{OWNER_TOKEN_VARIABLE} must have {_MIN_TOKEN_CHARS} or more printable ASCII characters without spaces"
            )
        return OwnerTokenState("environment", OwnerToken.of(token), token)

    path = Path(home) / _FILE
    if path.exists():
        # Stored before the file is deleted: a crash in between leaves both, and the next start does this again.
        state.tokens.store(OWNER, _read_digest(path), (USER_ALL,), note="taken over from the file owner-token")
        try:
            path.unlink(missing_ok=True)
        except OSError as exc:
            raise ConfigurationError(
                f"{path}: stored in the state, but can't be deleted: {exc.strerror}; delete it"
            ) from exc

    return OwnerTokenState("kept")


def make_owner_token(state: State, owner: OwnerTokenState) -> OwnerTokenState:
    """Return the owner's token as read, or a new one if neither the environment nor `state` has a valid one.

    Two first starts at the same moment agree on one token.
    """
    text = state.tokens.create_first(OWNER, note=_NOTE) if owner.origin == "kept" else ""
    return OwnerTokenState("made", None, text) if text else owner


def _read_digest(path: Path) -> bytes:
    try:
        kind, _, value = path.read_text(encoding="ascii").strip().partition(":")
        digest = bytes.fromhex(value)
    except (OSError, ValueError) as exc:
        raise ConfigurationError(f"{path}: can't be read: {exc}; delete it to create a new owner token") from exc

    if kind != "sha256" or len(digest) != hashlib.sha256().digest_size:
        raise ConfigurationError(f"{path}: has no hash of a token; delete it to create a new owner token")

    return digest


def _digest(token: str) -> bytes:
    # Headers are latin-1 text, and variables may have surrogates. A wrong token must not raise an encoding error.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
