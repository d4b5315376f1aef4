"""Addresses to clone from, alone and as a list that a team keeps, and the credentials in them.

The size of a list is checked before it is read. An invalid line is rejected, and the other lines still count. A list
that others can edit must not choose directories of this machine, so local paths need the operator's permission.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from urllib.parse import unquote, urlsplit, urlunsplit

from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.repos.git.environment import LOCAL, NETWORK
from sourcelight.repos.handles import open_handle
from sourcelight.repos.isolation import isolated_directory

_ACCEPTED = "https://…, ssh://…, user@host:path, git://…, file://… or a local directory"

MAX_LIST_BYTES = 4 * 1024 * 1024
"""Bytes of a list of addresses."""

MAX_ADDRESSES = 10_000
"""Addresses of a list; each of them is fetched again and again."""

MAX_ADDRESS_BYTES = 2048
"""Bytes of an address: proxies and servers accept few longer ones."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A checked URL, its credentials apart; `local` is the directory it leads to on this machine, if any."""

    url: str
    user: str = ""
    password: str = ""
    local: str = ""

    @contextlib.contextmanager
    def source(self) -> Iterator[str]:
        """Yield the URL or directory that git fetches from.

        The git that serves a local directory obeys the configuration there, and may fetch missing objects with a
        command that it names. So a local directory is served from an isolated one over its objects.
        """
        if not self.local:
            yield self.url
            return

        with contextlib.ExitStack() as stack:
            try:
                git_dir = os.path.join(self.local, ".git")
                git_dir = open_handle(git_dir if os.path.isdir(git_dir) else self.local).path
                directory = stack.enter_context(isolated_directory(git_dir, with_refs=True))
            except RepositoryError as error:
                message = f"{self.url} does not appear to be a git repository that can be read: {error}"
                raise GitFailed(["git", "clone", self.url], 128, message) from error
            yield pathlib.Path(directory).as_uri()

    @property
    def protocols(self) -> tuple[str, ...]:
        """Transports that may be used for it."""
        return LOCAL if self.local else NETWORK


def parse_remote(url: str) -> Remote:
    """Check a URL against the accepted forms, and take its credentials out."""
    text = url.strip()
    # A text with a leading dash would be an option of git; control characters could add lines to its protocol.
    if not text or text.startswith("-") or re.search(r"[\x00-\x1f\x7f]", text):
        raise _to_error(text)

    local = os.path.abspath(os.path.expanduser(text))
    if "://" not in text and os.path.isdir(local):
        return Remote(local, local=local)

    if "://" not in text:
        scp = re.fullmatch(r"(?:[A-Za-z0-9_.+-]+@)?(?!-)[A-Za-z0-9_.\[\]-]+:(?![:-])(\S.*)", text)
        if not scp or text.partition(":")[0].startswith("-"):
            raise _to_error(text)
        if "@" in scp[1].partition("/")[0]:  # user:token@host/path, which would make a name of the token
            raise _to_error("")
        return Remote(text)

    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _to_error("") from error

    scheme = parts.scheme.lower()
    if scheme not in {"https", "ssh", "git", "file"} or host.startswith("-") or "::" in text.partition("://")[0]:
        raise _to_error(text)
    if scheme == "file":
        path = unquote(text[len("file://") :])
        return Remote(text, local=path if path.startswith("/") else "//" + path)
    if not host:
        raise _to_error(text)
    if parts.query:  # it may carry a token, and would be stored in the mirror
        raise _to_error("")

    address = f"[{host}]" if ":" in host else host
    address += f":{port}" if port else ""
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if re.search(r"[\x00-\x1f\x7f]", user + password) or user.startswith("-"):
        raise _to_error("")
    if scheme == "ssh":
        return Remote(urlunsplit((scheme, f"{user}@{address}" if user else address, parts.path, "", "")))

    return Remote(urlunsplit((scheme, address, parts.path, "", "")), user, password)


def check_address(address: str, *, allow_local: bool) -> str:
    """Return an address to clone from without its user and password, for display and storage.

    Parameters
    ----------
    address
        As for `clone`.
    allow_local
        Whether directories of this machine are accepted.

    Raises
    ------
    RepositoryError
        If it is invalid; the message quotes no part of it.
    """
    try:
        remote = parse_remote(address)
    except RepositoryError:
        raise RepositoryError(f"not an address to clone from; accepted: {_ACCEPTED}") from None
    if remote.local and not allow_local:
        raise RepositoryError("the address is a local directory; pass --allow-local to accept it")
    return remote.url


def credential_environment(remote: Remote) -> dict[str, str]:
    """Return the environment that answers git's question for user and password on this host alone."""
    if not remote.user:
        return {}

    parts = urlsplit(remote.url)
    # The secret travels in the environment, so it is in no argument, and the helper is bound to one host: a redirect
    # gets no password.
    answer = 'printf "username=%s\\npassword=%s\\n" "$SOURCELIGHT_USER" "$SOURCELIGHT_SECRET"'
    return {
        "SOURCELIGHT_USER": remote.user,
        "SOURCELIGHT_SECRET": remote.password,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"credential.{parts.scheme}://{parts.netloc}.helper",
        "GIT_CONFIG_VALUE_0": f'!f() {{ test "$1" = get && {answer}; }}; f',
    }


def _to_error(text: str) -> RepositoryError:
    redacted = re.sub(r"//[^/]*@", "//", text)[:200]
    return RepositoryError(f"not a URL to clone from: {redacted!r}; accepted: {_ACCEPTED}")


@dataclass(frozen=True, slots=True)
class AddressList:
    """The lines of a list.

    Attributes
    ----------
    addresses
        Addresses as written, with credentials, by their form without; in the order of lines.
    rejected
        Numbers of lines without an address, from 1, with a reason that quotes nothing of the line.
    """

    addresses: dict[str, str]
    rejected: dict[int, str]


def read_addresses(file: IO[bytes], *, allow_local: bool) -> AddressList:
    """Read a list; empty lines and lines that start with ``#`` are left out, and each address counts once.

    Parameters
    ----------
    file
        The list, in UTF-8.
    allow_local
        Whether directories of this machine are accepted.

    Raises
    ------
    RepositoryError
        If the list has more than 4 MiB or 10,000 addresses: nothing of it is used then.
    """
    content = file.read(MAX_LIST_BYTES + 1)
    if len(content) > MAX_LIST_BYTES:
        raise RepositoryError(f"the list of addresses has more than {MAX_LIST_BYTES:,} bytes; split it")

    addresses: dict[str, str] = {}
    rejected: dict[int, str] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue

        try:
            address = _decode(text)
            addresses.setdefault(check_address(address, allow_local=allow_local), address)
        except RepositoryError as error:
            rejected[number] = str(error)

        if len(addresses) + len(rejected) > MAX_ADDRESSES:
            raise RepositoryError(f"the list has more than {MAX_ADDRESSES:,} addresses; split it")

    return AddressList(addresses, rejected)


def _decode(text: bytes) -> str:
    if len(text) > MAX_ADDRESS_BYTES:
        raise RepositoryError(f"the address is longer than {MAX_ADDRESS_BYTES:,} bytes")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise RepositoryError("the address is not UTF-8 text") from None
