"""Decide which repositories are private. No other module decides it.

Settings of the operator come first. If a repository is private, so is every clone of the same origin. Removing a
setting never publishes anything: a private repository stays private until the operator writes ``private = false``. If
any repository is private and others than the owner may read, a repository that no setting names is private, too.

This module also has the rules that only a service with accounts applies to its repositories.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sourcelight.repos.state.repositories import RepositoryRecord, Visibility

if TYPE_CHECKING:
    from sourcelight.repos.state import RepositoryRegister


@dataclass(frozen=True, slots=True)
class Root:
    """A served directory: its real path, its default visibility, and whether anything below it is private."""

    path: str
    default_visibility: str = ""
    declares_privacy: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A repository to decide about.

    Parameters
    ----------
    origin, claim
        The names it claims, case folded: by its origin, and by `repos.toml`.
    decision
        Setting of the operator: True for private, False for public, None without one.
    record
        The stored record of its path.
    root
        The served directory around it.
    """

    origin: str
    claim: str
    decision: bool | None
    record: RepositoryRecord | None
    root: Root

    @property
    def names(self) -> set[str]:
        """The names that it shares with other clones of the same repository."""
        return {self.origin, self.claim}


def decide(
    candidates: Sequence[Candidate], absent: Iterable[RepositoryRecord], *, default_visibility: str, has_accounts: bool
) -> list[Visibility]:
    """Decide for each candidate, in the order given.

    Parameters
    ----------
    candidates
        All repositories: clones of one origin are as private as the most private one.
    absent
        Stored records of repositories that don't exist now. Their origins stay private.
    default_visibility
        Visibility of repositories that neither a setting nor their root decides; may be empty.
    has_accounts
        Whether others than the owner may read.
    """
    closed = declared_roots(candidates) if has_accounts else frozenset()
    result = []
    for candidate in candidates:
        default = candidate.root.default_visibility or default_visibility
        result.append(_visibility_of(candidate, default, closed))

    private_names: set[str] = set()
    for record in absent:
        if record.visibility == "private":
            private_names |= {record.origin, record.claim}

    # To a fixed point: privacy passes from clone to clone through shared origins and names. Each round makes at least
    # one repository private, so it ends.
    spreads = True
    while spreads:
        spreads = _spread_privacy(candidates, result, private_names)

    return result


def _spread_privacy(candidates: Sequence[Candidate], result: list[Visibility], private_names: set[str]) -> bool:
    """Make clones of private repositories private, in `result`; return whether there were any.

    `private_names` has the names of private repositories that aren't candidates, and gets those of the candidates.
    """
    decided_names: set[str] = set()
    for candidate, visibility in zip(candidates, result, strict=True):
        if visibility != "private":
            continue
        private_names |= candidate.names
        if candidate.decision is not None:
            decided_names |= candidate.names

    spreads = False
    for index, candidate in enumerate(candidates):
        # A stored record doesn't override an operator's public setting; a private setting of another clone does.
        binding = private_names if candidate.decision is None else decided_names
        if result[index] != "private" and not binding.isdisjoint(candidate.names):
            result[index] = "private"
            spreads = True

    return spreads


def declared_roots(candidates: Iterable[Candidate]) -> frozenset[str]:
    """Return the served directories in which anything is or was private."""
    return frozenset(candidate.root.path for candidate in candidates if _shows_privacy(candidate))


def _shows_privacy(candidate: Candidate) -> bool:
    if candidate.root.declares_privacy or candidate.decision:
        return True
    return candidate.record is not None and candidate.record.visibility == "private"


def _visibility_of(candidate: Candidate, default: str, closed: frozenset[str]) -> Visibility:
    if candidate.decision is not None:
        return "private" if candidate.decision else "public"

    record = candidate.record
    if record is not None and record.visibility == "private":
        return "private"
    if default:
        return "undecided" if default == "private" else "public"

    # Below a root without any private repository, new repositories are public, as on a machine of one user.
    if candidate.root.path not in closed:
        return "public"

    # Public only if it was so before with the same origin: another repository may have been moved to this path.
    is_known = record is not None and record.visibility == "public" and record.origin == candidate.origin
    return "public" if is_known else "undecided"


@dataclass(frozen=True, slots=True)
class ServicePolicy:
    """Policy of a service for opening repositories for other readers.

    Parameters
    ----------
    register
        Remembers names and privacy of repositories over restarts.
    default_visibility
        ``private`` or ``public``, of repositories that no setting names; empty: private below a directory in which
        anything is or was private, else public.
    trusted_paths
        Paths outside of the served directories that repositories may read objects from, and that links may lead to.
    """

    register: RepositoryRegister
    default_visibility: Literal["", "private", "public"] = ""
    trusted_paths: tuple[str, ...] = ()
