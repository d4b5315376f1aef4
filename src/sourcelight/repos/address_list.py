"""A list of addresses to clone from, one on each line: a file that a team keeps, so others than the operator write it.

It is bounded before it is read, and a line that is no address costs that line alone. What others write may not choose
directories of this machine: these count only where the operator allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from sourcelight.core.errors import RepositoryError
from sourcelight.repos.remotes import check_address

MAX_LIST_BYTES = 4 * 1024 * 1024
MAX_ADDRESSES = 10_000
MAX_ADDRESS_BYTES = 2048


@dataclass(frozen=True, slots=True)
class AddressList:
    """The lines of a list.

    Attributes
    ----------
    addresses
        Addresses as they stand there, credentials included, by the form without credentials; in the order of lines.
    rejected
        Numbers of lines that are no address, from 1, with the reason; it has no part of the line.
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
        raise RepositoryError(f"the list of addresses has more than {MAX_LIST_BYTES:,} bytes")
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
            raise RepositoryError(f"the list has more than {MAX_ADDRESSES:,} addresses")
    return AddressList(addresses, rejected)


def _decode(text: bytes) -> str:
    if len(text) > MAX_ADDRESS_BYTES:
        raise RepositoryError(f"longer than {MAX_ADDRESS_BYTES:,} bytes")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise RepositoryError("not in UTF-8") from None
