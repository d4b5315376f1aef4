"""Tokens and client registration from a sign-in, and the file that stores them for one service.

Only the person who signed in can read the file.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcelight.backends.remote.endpoint import Secret
from sourcelight.core.errors import SignInFailed

_EARLY_S = 60.0  # a token that is about to end would end on its way


def _end_after(lasts: Any) -> float | None:
    """Return the time after so many seconds; None for a value that is no number of them, or too large for a clock."""
    # JSON's `true` is an int in Python.
    is_number = isinstance(lasts, int | float) and not isinstance(lasts, bool)
    return time.time() + lasts if is_number and abs(lasts) < _MAX_PERIOD_S else None


_MAX_PERIOD_S = 1e10
"""Seconds up to which a lifetime counts, 300 years: a larger one is a mistake of the server."""

_LOCK_OLD_S = 30.0
"""Seconds after which a lock is taken from its owner: it waits for one request, so its process has died."""

_LOCK_LOOK_S = 0.05
"""Seconds between two looks at the lock of another process."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The registration of this program at the authorization server."""

    client_id: str
    client_secret: Secret | None = None
    redirect_uri: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one person at one service; `ends_at` is in seconds since 1970, None if unknown."""

    access: Secret
    refresh: Secret | None = None
    ends_at: float | None = None
    scope: str = ""

    @property
    def fresh(self) -> bool:
        """Whether the access token stays valid long enough to be used."""
        return self.ends_at is None or time.time() < self.ends_at - _EARLY_S

    @classmethod
    def read(cls, answer: Mapping[str, Any], previous: Tokens | None = None) -> Tokens:
        """Return the tokens of a token endpoint's answer (RFC 6749, 5.1); an omitted refresh token stays the same.

        Raises
        ------
        SignInFailed
            When the answer holds no usable token.
        """
        access, kind = answer.get("access_token"), str(answer.get("token_type") or "")
        if not isinstance(access, str) or not access or kind.casefold() != "bearer":
            raise SignInFailed("the authorization server returned no bearer token")

        # RFC 6749, 6: a server that issues no new refresh token leaves the old one valid.
        refresh = previous.refresh if previous else None
        new_refresh = answer.get("refresh_token")
        if isinstance(new_refresh, str) and new_refresh:
            refresh = Secret(new_refresh)

        previous_scope = previous.scope if previous else ""
        scope = str(answer.get("scope") or previous_scope)
        return cls(Secret(access), refresh, _end_after(answer.get("expires_in")), scope)


def sign_in_folder() -> Path:
    """Return the directory of tokens: below ``SOURCELIGHT_HOME``, else in the user's data directory."""
    import platformdirs

    home = os.environ.get("SOURCELIGHT_HOME")
    return (Path(home).expanduser() if home else Path(platformdirs.user_data_dir("sourcelight"))) / "sign-in"


class TokenCache:
    """Tokens and registration for one service, client and scope, shared by all processes of the user.

    Parameters
    ----------
    url
        Address of the service.
    client_id
        Client that an administrator made; empty: this program registers itself.
    scope
        What is asked for.
    folder
        Where the file belongs; None: `sign_in_folder`.
    """

    def __init__(self, url: str, client_id: str = "", scope: str = "", folder: Path | None = None) -> None:
        name = hashlib.sha256(f"{url}\n{client_id}\n{scope}".encode()).hexdigest()[:24]
        self._url = url
        self._folder = folder or sign_in_folder()
        self.path = self._folder / f"{name}.json"

    def __repr__(self) -> str:
        return f"TokenCache({self._url!r})"

    def load(self) -> tuple[Registration | None, Tokens | None]:
        """Return the stored tokens; an unreadable file counts as missing."""
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            # The name is a hash of the address. A copied or renamed file must not send a token to another service.
            if stored["url"] != self._url:
                return None, None

            registration, data = stored.get("client"), stored.get("tokens")
            registration = registration and Registration(
                registration["client_id"],
                _secret(registration.get("client_secret")),
                registration.get("redirect_uri", ""),
            )
            tokens = data and Tokens(
                Secret(data["access_token"]),
                _secret(data.get("refresh_token")),
                data.get("ends_at"),
                data.get("scope", ""),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None, None

        return registration or None, tokens or None

    def store(self, registration: Registration, tokens: Tokens | None) -> None:
        """Store both tokens; other users can never read the file, not even during the write."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(OSError):  # a file system without permissions
            self._folder.chmod(0o700)

        # By process, so two that write at once don't share a file. A leftover of a killed process with the same id is
        # removed, because `O_EXCL` refuses existing files, and with them links that others prepared.
        new = self.path.with_suffix(f".{os.getpid()}.new")
        with suppress(FileNotFoundError):
            new.unlink()

        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(_stored_tokens(self._url, registration, tokens), file)

        new.replace(self.path)

    def forget(self) -> None:
        """Delete the file."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Lock out other processes during a renewal: a refresh token works once."""
        lock = self.path.with_suffix(".lock")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            try:
                # `O_EXCL` instead of `flock`: it works on network file systems, in coroutines of one process, and on
                # Windows.
                os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                break
            except FileExistsError:
                with suppress(FileNotFoundError):
                    # A renewal is one request, which takes seconds at most.
                    if time.time() - lock.stat().st_mtime > _LOCK_OLD_S:  # its process died
                        lock.unlink()
                        continue

            await asyncio.sleep(_LOCK_LOOK_S)

        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                lock.unlink()


def _secret(value: Any) -> Secret | None:
    return Secret(value) if isinstance(value, str) and value else None


def _stored_tokens(url: str, registration: Registration, tokens: Tokens | None) -> dict[str, Any]:
    client = {"client_id": registration.client_id, "redirect_uri": registration.redirect_uri}
    if registration.client_secret is not None:
        client["client_secret"] = registration.client_secret.reveal()

    stored: dict[str, Any] = {"url": url, "client": client}
    if tokens is not None:
        stored["tokens"] = {
            "access_token": tokens.access.reveal(),
            "refresh_token": tokens.refresh.reveal() if tokens.refresh is not None else None,
            "ends_at": tokens.ends_at,
            "scope": tokens.scope,
        }

    return stored
