"""Decide which names and addresses are one person, and how the person is displayed."""

from __future__ import annotations

from collections.abc import Mapping

Pair = tuple[str, str]
"""Name and address."""


def person_key(name: str, email: str) -> Pair:
    """What people with the same address have in common: the address in any case; without one, the name too.

    Two identities without an address share nothing, so they are told apart by their names.
    """
    address = email.strip().casefold()
    return ("", address) if address else (name, "")


def shown_pair(commits: Mapping[Pair, int]) -> Pair:
    """The name and address with the most commits; of equal ones the first in the order of texts."""
    return min(commits, key=lambda pair: (-commits[pair], pair))
