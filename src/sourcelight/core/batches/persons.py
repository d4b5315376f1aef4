"""Decide which names and addresses are one person, how the person is displayed, and which are programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from sourcelight.core.batches.agents import has_account

Pair = tuple[str, str]
"""Name and address."""

BOT_RULE = (
    "an identity counts as a bot if its name or the local part of its address ends with [bot], (bot), or the word bot "
    "or robot, if it is a known service (dependabot, renovate, greenkeeper, snyk, pre-commit-ci, github-actions, "
    "codecov, weblate, transifex, pyup, mergify, allcontributors, semantic-release, jenkins, travis), or if a coding "
    "assistant commits with its address; an address such as aRobot@… doesn't count beside a name of several words"
)
"""The rule in words, for notices."""

# Only behind a separator: Abbot and Talbot are names of people.
_LAST_WORD = re.compile(r"(?:^|[\s._+-])(?:ro)?bot$")

_LAST_CAPITALIZED = re.compile(r"[a-z](?:Bot|BOT|Robot)$")
"""A last word that only its capital sets off. People have such logins too, beside their own names."""

# Services commit under accounts that bear their name, without a mark, and with suffixes such as -ci.
_SERVICES = re.compile(
    r"(?:dependabot|renovate|greenkeeper|snyk|pre-commit-ci|github-actions?|codecov|weblate|transifex|pyup|mergify|"
    r"allcontributors|semantic-release|jenkins|travis)(?:[\s._-]?(?:ci|io|preview|ro?bot|bot|user|service))*"
)


_NO_LOCALS = frozenset(
    ["admin", "anonymous", "devnull", "email", "me", "name", "no", "no-reply", "nowhere", "none", "noreply", "null",
     "root", "test", "unknown", "user", "username", "you", "your-email", "your.email", "your.name", "your_email",
     "your_name", "youremail", "yourname"]
)  # fmt: skip
_NO_DOMAINS = frozenset(
    ["", "(none)", "domain.com", "email", "email.com", "example.com", "invalid", "local", "localdomain", "localhost",
     "localhost.localdomain", "no.email", "none", "none.com", "none.none", "nowhere", "null", "unknown"]
)  # fmt: skip


def is_placeholder(email: str) -> bool:
    """Return whether an address stands for none, such as ``none@none`` of converters and ``you@example.com`` of guides.

    Several people commit with it, so it tells nothing of who they are.

    Examples
    --------
    >>> [is_placeholder(email) for email in ("none@none", "You@Example.com", "root@localhost", "ada@localhost")]
    [True, True, True, False]
    """
    local, _, domain = email.strip().casefold().partition("@")
    return domain in _NO_DOMAINS and local in _NO_LOCALS


def person_key(name: str, email: str) -> Pair:
    """Return the key that identities of one person share: the address, case-folded, or the name without one.

    Identities without an address, or with a placeholder for one (`is_placeholder`), are distinguished by name.
    """
    # The local part of an address may depend on case by RFC 5321, but no provider in use makes a difference, and people
    # write their own address in several ways.
    address = email.strip().casefold()
    return (name, "") if not address or is_placeholder(address) else ("", address)


def pair_text(pair: Pair) -> str:
    """Write a person as ``Name <address>``."""
    return f"{pair[0]} <{pair[1]}>"


def parse_pair(text: str) -> Pair:
    """Return the name and the address of ``Name <address>``."""
    name, _, email = text.rpartition(" <")
    return name, email.removesuffix(">")


def display_pair(commits: Mapping[Pair, int]) -> Pair:
    """Return the name and address with the most commits; of equal ones the first in the order of texts."""
    # Ties are decided by the texts, so that two runs, and two workers of a cluster, name a person alike.
    return min(commits, key=lambda pair: (-commits[pair], pair))


@lru_cache(maxsize=1 << 16)
def is_bot(name: str, email: str) -> bool:
    """Return whether an identity is a program, by `BOT_RULE`."""
    local = email.partition("@")[0]
    # GitHub's noreply addresses have a number before the login.
    name, local = name.strip(), (local.partition("+")[2] or local).strip()
    for word in (name, local):
        lower = word.lower()
        if lower.endswith(("[bot]", "(bot)")) or _LAST_WORD.search(lower) or _SERVICES.fullmatch(lower):
            return True

    if _LAST_CAPITALIZED.search(name) or (_LAST_CAPITALIZED.search(local) and len(name.split()) < 2):
        return True

    return has_account(email)
